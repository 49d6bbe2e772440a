"""The commands of ``fsmodels`` and their options; the help of a command is the docstring of its function.

This module imports neither Pyomo nor pandas, so that help and usage errors appear at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
from click.core import ParameterSource

from fsmodels.selection.parameters import PARAMETERS, REPORT_LIMIT
from fsmodels.text import DEFAULT_SCALING, SCALINGS
from fsmodels.version import __version__

TIME_LIMIT = 120.0  # s, for a run without --time-limit
EACH_LIMIT = 30.0  # s, for each solve of a command with several
SHARED = ("max_features", "C")  # parameters with the same meaning for most models
COMPARED = "fsp-m,fsv,gmeb,rfe,one-norm-svm,relief"
EPILOG = """DATA is a CSV file with a header and one sample per row, a libsvm-format file (.svm, .svm.gz), or the name
of a shipped data set.

Exit codes: 0 solved, or stopped at a limit or by Ctrl-C with a solution; 2 bad input, a solver that is not installed,
or output that cannot be written; 3 no solution.
"""


class Option(click.Option):
    """Option from a declaration such as ``--target COL``, or ``--quiet`` for a flag; ``group``: its heading."""

    group = "Options"

    def __init__(self, declaration: str, text: str, **attributes: Any) -> None:
        flag, _, metavar = declaration.partition(" ")
        name = attributes.pop("name", flag.lstrip("-").replace("-", "_"))
        text += "; may be repeated" if attributes.get("multiple") else ""
        super().__init__(
            [flag, name], metavar=metavar or None, is_flag=None if metavar else True, help=text, **attributes
        )


Several = partial(Option, multiple=True)
Number = partial(Option, type=float)
Count = partial(Option, type=int)
File = partial(Option, type=Path)


class Command(click.Command):
    """Command that returns the values of its options; its help shows them by group.

    ``fixed``: values of options that the command does not have.
    """

    def __init__(self, *names: Any, fixed: dict[str, Any] | None = None, **attributes: Any) -> None:
        super().__init__(*names, **attributes)
        self.fixed = fixed or {}

    def invoke(self, ctx: click.Context) -> SimpleNamespace:
        """Return the values, ``command``, and ``given``: the names of options on the command line."""
        given = {name for name in ctx.params if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE}
        found = {name: list(value) if isinstance(value, tuple) else value for name, value in ctx.params.items()}
        return SimpleNamespace(command=self.name, given=given, **self.fixed, **found)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one section per group."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            if record := parameter.get_help_record(ctx):
                groups.setdefault(getattr(parameter, "group", Option.group), []).append(record)
        for group, records in groups.items():
            with formatter.section(group):
                formatter.write_dl(records)


def parser_error(error: click.ClickException) -> str:
    """Return an error of the parser as one sentence, with a suggestion and the command that shows the help."""
    text, context = error.format_message(), getattr(error, "ctx", None)
    if isinstance(error, click.NoSuchOption) and not error.possibilities and context is not None:
        options = {flag for option in context.command.get_params(context) for flag in option.opts}
        flag = f"-{error.option_name.lstrip('-')}"
        text += f" Did you mean {flag}?" if flag in options else ""
    text += "" if text.endswith((".", "?", "?)")) else "."
    return text if context is None else f"{text} Help: {context.command_path} --help"


def parse(words: Sequence[str]) -> SimpleNamespace:
    """Return the result of ``Command.invoke``, with ``words``.

    Raises ``click.UsageError``; after ``--help`` and ``--version``, ``click.exceptions.Exit``.
    """
    with commands.make_context("fsmodels", list(words)) as context:
        args: SimpleNamespace = commands.invoke(context)
    args.words = list(words)
    return args


def option_of(parameter: str | None, args: SimpleNamespace) -> str:
    """Return the option of the command for a parameter of the library, "" if there is none."""
    name = parameter
    if parameter in PARAMETERS and parameter not in args.given:  # fsmulti has another option for its budget
        name = PARAMETERS[parameter].name
    options = commands.commands[args.command].params
    return next((option.opts[0] for option in options if option.name == name), "")


def data_words(args: SimpleNamespace) -> list[str]:
    """Return the given options for reading the data as arguments."""
    words = []
    for option in _data():
        if isinstance(option, Option) and option.name in args.given:
            value = getattr(args, option.name)
            for one in value if isinstance(value, list) else [value]:
                words += [option.opts[0], str(one)]
    return words


# ---------------------------------------------------------------------------------------------------- values of options


def seconds(text: str) -> float | None:
    """Read a number of seconds, or "none"."""
    if text.lower() == "none":
        return None
    try:
        return float(text)
    except ValueError:
        raise click.BadParameter(f'"{text}" is no number of seconds: give a number, or "none"') from None


def share(text: str) -> float:
    """Read a share: "5%" or "0.05"."""
    try:
        found = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        found = -1.0
    if not found > 0 or (found >= 1 and not text.endswith("%")):
        raise click.BadParameter(f'"{text}" is no share: give 5% or 0.05')
    return found


def grid(text: str) -> int | list[int]:
    """Read a whole number, several with commas between them, or a range with both ends, 1:10 or 1:10:3."""
    try:
        if ":" in text:
            first, last, *step = [int(part) for part in text.split(":")]
            if len(step) > 1:
                raise ValueError
            found = list(range(first, last + 1, *step))
            if not found:
                raise click.BadParameter(f'"{text}" contains no number: give the smaller end first, 1:10')
            return found
        several = [int(part) for part in text.split(",")]
    except ValueError:
        raise click.BadParameter(f'"{text}" is no list of whole numbers: give 5, 1:10 or 1,2,5') from None
    return several if "," in text else several[0]


def values(text: str) -> float | list[float]:
    """Read a number, or several with commas between them."""
    several = numbers(text)
    return several if "," in text else several[0]


def numbers(text: str) -> list[float]:
    """Read numbers with commas between them."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise click.BadParameter(f'"{text}" is no list of numbers: give 10,15,20') from None


# ------------------------------------------------------------------------------------------------------- the options


def _group(title: str, *options: Option) -> list[Option]:
    for option in options:
        option.group = title
    return list(options)


def _table() -> list[Option]:
    return _group(
        "Data",
        Option("--sep MARK", 'separator of columns: , ; | "tab" or "space" (default: detected)'),
        Option("--decimal MARK", "decimal mark, . or , (default: detected)"),
        Option("--thousands MARK", "mark between thousands (default: none)"),
        Option("--encoding NAME", "encoding of a text file (default: utf-8 or cp1252)"),
        Option("--sheet NAME", "sheet of a workbook (default: the only one with cells)"),
        Count("--header N", "line, or row of the sheet, with the names of the columns (default 1)"),
    )


def _data() -> list[click.Parameter]:
    scales = ", ".join([DEFAULT_SCALING, *(method for method in SCALINGS if method != DEFAULT_SCALING)])
    reading = _group(
        "Data",
        Option("--target COL", 'column of the labels (default "target")', default="target"),
        Option("--positive LABEL", "label that becomes +1 (default: the larger of two)"),
        Option("--class-names POS,NEG", "names of class +1 and class -1 in reports (default: the labels)"),
        Several("--drop A,B,..", "leave columns out"),
        Several("--class-weight LABEL:W", "weight of errors in a class (default 1), or balanced: equal total weights"),
        Option("--sample-weight COL", "column with the weight of each row; it is not used as a feature"),
        Several("--one-hot A,B,..", "0/1 features for categories, selected together (A:apart: separately); or all"),
        Option("--impute HOW", "fill in blanks by median, mean or most-frequent (default: a blank is an error)"),
        Several("--interactions A:B:..", "add products A:B of any two of these standardised features, or of all"),
        Option("--bags COL", "rows are instances of the bags in this column; select instances (MILES)"),
        Number("--sigma S", "width of the similarity of a bag to an instance"),
    )
    scale = _group("Data", Option("--scale HOW", f"{scales} (default {DEFAULT_SCALING}; none for libsvm-format files)"))
    return [click.Argument(["data"], metavar="DATA"), *reading, *_table(), *scale]


def _parameters(names: Iterable[str], *, grids: bool) -> list[Option]:
    """Return the options of parameters of models; ``grids``: numbers may have several values."""
    options = []
    for parameter in map(PARAMETERS.__getitem__, names):
        declaration, text, attributes = parameter.declaration, parameter.help, dict(parameter.attributes)
        if grids and "type" in attributes:
            declaration += ",.."
            whole = attributes["type"] is int
            attributes["type"] = grid if whole else values
            text += f"; several values: {'1:10 or 1,2,5' if whole else '0.1,1,10'}"
        options.append(Option(declaration, text, **attributes))
    return _group("Parameters of the models", *options)


def _sides() -> list[Option]:
    grouped = (
        "at most K of each group; the file has the header feature,group; or correlation=R:K: groups of features with "
        "correlations of at least R"
    )
    return _group(
        "Side constraints",
        Several(
            "--row TEXT", '"A <= B", "2 A + C <= 2" (1 if a feature is selected), "w[A] >= 0" (weights)', name="rows"
        ),
        Several("--budget COSTS.csv:LIMIT", "the features cost at most LIMIT; the file has the header feature,cost"),
        Several("--requires A:B", "A only together with B"),
        Several("--excludes A:B", "not both A and B"),
        Several("--force-in A", "A is selected"),
        Several("--force-out A", "A is not selected"),
        Several("--all-or-none A:B:..", "all of the group, or none"),
        Several("--at-most K:A:B:..", "at most K of the group"),
        Several("--at-least K:A:B:..", "at least K of the group"),
        Several("--at-most-of-group GROUPS.csv:K", grouped),
        Option("--hierarchy KIND", "products of --interactions only with both features (strong), or one (weak)"),
        Several("--sign A:+", "weight of A at least 0; A:-, at most 0", name="signs"),
        Several("--fair COL:LIMIT", "mean scores of the groups in column COL, not a feature, differ by at most LIMIT"),
        Option("--keep-fair", "keep the columns of --fair as features"),
    )


def _solver(each: str, limit: float) -> list[Option]:
    of, limit = (f"each {each}", EACH_LIMIT) if each else ("the whole run, including reading", limit)
    limited = f'seconds for {of}, or "none" (default {limit:g})'
    return _group(
        "Solver",
        Option("--solver NAME", "a solver or driver from fsmodels list"),
        Several("--solver-option K=V", "an option of the solver"),
        Number("--gap X", "relative gap at which to stop (default 1e-4)"),
        Option("--time-limit S", limited, type=seconds, default=f"{limit:g}"),
        Count("--seed N", "seed of the solver and of the folds"),
        Count("--threads N", "threads of the solver; for branch-and-cut processes that share its tree"),
    )


def _output() -> list[Option]:
    return _group(
        "Output",
        File("--json FILE", "write the result to a JSON file"),
        Option("--force", "replace a --json file with a solution even if this run has none"),
        Option("--quiet", "print one line instead of the report"),
    )


def _solve(
    each: str = "", parameters: Iterable[str] = PARAMETERS, grids: bool = False, limit: float = TIME_LIMIT
) -> list[click.Parameter]:
    """Return the options of a command that solves.

    ``each``: the unit of the time limit, if not the whole run; ``limit``: the default of the whole run in seconds.
    ``parameters``: of the models. ``grids``: parameters may have several values.
    """
    return [
        _removed("--strict", "--max-features K selects at most K, --budget-features B is the budget of shares"),
        *_data(),
        Option("--model NAME", "a model from fsmodels list (default fsp-m)", default="fsp-m"),
        *_parameters(parameters, grids=grids),
        *_sides(),
        *_solver(each, limit),
        *_output(),
    ]


def _picture(what: str) -> Option:
    return File("--picture FILE", f"draw {what} to a .png, .pdf or .svg file")


def _removed(declaration: str, instead: str) -> Option:
    """Return a removed option, whose error names the alternative."""

    def refuse(context: click.Context, option: click.Parameter, value: object) -> None:
        if value:
            raise click.BadParameter(f"the option was removed. {instead}")

    return Option(declaration, "", callback=refuse, hidden=True, expose_value=False)


def _folds() -> list[Option]:
    return [
        Count("--repeats R", "divide the samples into folds R times (default 1)"),
        Count("--n-jobs N", "workers for the folds (default 1)"),
        File("--memory DIR", "folder for finished folds, which the same command reads again"),
        _removed("--checkpoint FILE", "Use --memory DIR, a folder for finished folds"),
    ]


WITHIN = Option("--within X", "the share (default 1%)", type=share, default="1%")
NOT_WRITTEN: dict[str, Any] = {  # options of data that init does not have, and their defaults
    "scale": None, "bags": None, "sigma": None, "class_weight": [], "sample_weight": None, "interactions": [],
}  # fmt: skip
WORKERS = Count("--n-jobs N", "workers (default 1)", default=1)

# ------------------------------------------------------------------------------------------------------ the commands

commands = click.Group(
    "fsmodels",
    help="Feature selection for support vector machines, with proofs of optimality.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
click.version_option(__version__, message="%(prog)s %(version)s")(commands)


_command = partial(commands.command, cls=Command, epilog=EPILOG)


@_command("list", epilog=None)
def _list() -> None:
    """Show data sets, models and solvers."""


@_command(params=[click.Argument(["model"], required=False, metavar="[NAME]")], epilog=None)
def describe() -> None:
    """Show the problem, the parameters and the solvers of a model.

    Without NAME, list all models. Example: fsmodels describe fsmulti
    """


@_command(
    params=[
        *(option for option in _data() if option.name not in NOT_WRITTEN),
        *_group("Output", Option("--force", "replace files that exist")),
    ],
    fixed={**NOT_WRITTEN, "fair": [], "keep_fair": False, "quiet": False},
    epilog="Exit codes: 0 done; 2 bad input.",
)
def init() -> None:
    """Write a command and a notebook for a table.

    Propose the labels, columns to drop, categories and values for blanks, with a reason for each, and keep the
    options that are given. Write NAME.sh and NAME.ipynb to this folder. Example: fsmodels init patients.csv
    """


@_command(
    params=[
        *_solve(),
        *_group(
            "Held-out error",
            Count("--cv K", "estimate the error by K folds too; the time limit is also for each fold"),
            Number("--test SHARE", "hold out a share of the samples for the error, 0.25, and select on the others"),
            *_folds(),
        ),
        Number("--certify S", "for rfe, filters, one-norm-svm: bound the distance to the best within S more seconds"),
        File("--certificate FILE", "write a proof for fsmodels verify FILE DATA (fsp-m, fsp-lambda)"),
    ]
)
def select() -> None:
    """Select features of a data set.

    Report the classifier and its proven bound. Without --model, fsp-m selects at most 5 features.
    Example: fsmodels select wdbc --model fsp-m --max-features 5
    """


@_command(
    params=[
        Count("--folds K", "solve the path on K folds too, for held-out errors"),
        Option(
            "--choose RULE",
            "report one point: one-se or best by held-out error, or knee by the objective",
            type=click.Choice(["one-se", "best", "knee"]),
        ),
        _picture("the path"),
        WORKERS,
        *_solve(each="point", grids=True),
    ]
)
def path() -> None:
    """Solve for each value of a grid.

    Report objectives, proven intervals and errors as a table.
    Example: fsmodels path wdbc --max-features 1:6 --folds 5 --choose one-se
    """


@_command(
    params=[
        Count("--folds K", "hold out one of K folds at a time"),
        Count("--bootstraps N", "N bootstrap samples (default 20)"),
        _picture("frequencies"),
        WORKERS,
        *_solve(each="run"),
    ]
)
def stability() -> None:
    """Select again on folds or bootstrap samples.

    Report the frequency of each feature and an index of stability.
    Example: fsmodels stability wdbc --max-features 3 --bootstraps 20 --n-jobs 2
    """


@_command(
    params=[
        click.Argument(["selection"], type=Path, metavar="SELECTION"),
        click.Argument(["table"], type=Path, metavar="TABLE"),
        *_table(),
        Option("--unseen HOW", "new level of a category: refuse, or zeros for a row without a level", default="refuse"),
        Option("--target COL", "column of the true labels, to report the error"),
        Several("--id COL", "column that identifies the rows in the output instead of their numbers"),
        File("--out FILE", "write to a file (default: standard output)"),
    ],
    epilog="Exit codes: 0 done; 2 bad input; 3 no classifier.",
)
def predict() -> None:
    """Label new samples by a saved selection.

    Write row, label and score as CSV. SELECTION is a file of select --json or found.save; TABLE has a header and the
    selected features. Example: fsmodels predict x.json new.csv
    """


@_command(
    params=[
        Option("--models A,B,..", f"models from fsmodels list, with commas between them (default {COMPARED})"),
        Count("--cv K", "folds (default 5)", default=5),
        *_folds(),
        _picture("errors against features"),
        *(option for option in _solve(each="fold of each model", parameters=SHARED) if option.name != "model"),
    ],
    fixed={"model": "fsp-m"}  # only parameters of this model are shared
    | {p.name: [] if "multiple" in p.attributes else None for name, p in PARAMETERS.items() if name not in SHARED},
)
def compare() -> None:
    """Compare several models on the same folds.

    Report held-out errors, features, stability, time, and one objective for all selections.
    Example: fsmodels compare wdbc --models fsp-m,rfe,one-norm-svm --cv 5
    """


@_command(
    params=[
        File("--html FILE", "the page to write", required=True),
        Count("--cv K", "folds for the held-out error, or 0 (default 5)", default=5),
        Count("--max-path K", "largest number of features of the path; 0: no path (default: twice --max-features)"),
        Number("--what-if S", "seconds for what-if questions; 0: none (default: those that are left)"),
        WORKERS,
        *_solve(limit=REPORT_LIMIT),
    ]
)
def report() -> None:
    """Select, and write one self-contained HTML page.

    The page has features, held-out errors, the proof, what-if questions, and the command that makes it again.
    Example: fsmodels report wdbc --max-features 3 --html wdbc.html
    """


@_command(
    params=[
        Option("--no-browser", "print the address and do not open the browser"),
        *(option for option in _solve(each="solve") if option.name not in ("json", "force", "quiet")),
    ],
    fixed={"json": None, "force": False, "quiet": False},
)
def app() -> None:
    """Explore selections in the browser.

    Change the size, the rows and the features, and see the proven answer. Needs pip install "fsmodels[app]".
    Example: fsmodels app wdbc --max-features 5
    """


@_command(
    params=[
        Option("--features A,B,..", "the selection", required=True),
        Option("--within X", "decide whether it is within X of the best (5%, 0.05), and stop", type=share),
        *_solve(),
    ]
)
def certify() -> None:
    """Compare a given selection with the best one.

    Prove a bound on the distance under the same limits.
    Example: fsmodels certify wdbc --features mean_area,worst_texture --within 5%
    """


@_command(params=[WITHIN, Count("--limit N", "selections to keep (default 1000)", default=1000), *_solve()])
def near_optimal() -> None:
    """List every selection within a share of the best.

    Prove that there is no other. Example: fsmodels near-optimal cleveland --max-features 5 --within 2%
    """


@_command(params=[WITHIN, *_solve()])
def necessity() -> None:
    """Prove which features every good model needs.

    Each feature is in every good model, in some, or in none. Example: fsmodels necessity cleveland --max-features 5
    """


@_command(
    params=[
        Several("--only NAME", "price only this row of the model"),
        Option("--at X,Y,..", "solve also for other limits of that row", type=numbers),
        *_solve(),
    ]
)
def price() -> None:
    """Prove the price of each side constraint.

    Compare the objective with all side constraints, and without each one.
    Example: fsmodels price wdbc --max-features 5 --excludes worst_area:worst_texture
    """


@_command(
    params=[
        click.Argument(["certificate"], type=Path, metavar="CERTIFICATE"),
        *_data(),
        File("--json FILE", "write the result to a JSON file"),
        Option("--quiet", "print one line"),
    ],
    fixed={"fair": [], "keep_fair": False},
    epilog="Exit codes: 0 it holds; 2 bad input; 3 it does not hold.",
)
def verify() -> None:
    """Check a certificate from the data alone.

    Compute every bound again. CERTIFICATE is a file of --certificate. Example: fsmodels verify c.json patients.csv
    """
