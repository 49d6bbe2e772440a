"""The command line: ``fsmodels select DATA --model NAME``, ``fsmodels list``.

Exit codes: 0 solved, or stopped at a limit or by Ctrl-C with a solution; 2 bad input, an uninstalled solver, or output
that cannot be written; 3 no solution. SIGTERM does what Ctrl-C does. Reports go to standard output, errors and warnings
to standard error.

May import ``fsmodels.selection``, ``fsmodels.datasets`` and what lies below them.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from fsmodels.cli.result_file import ResultFile
    from fsmodels.datasets.dataset import Dataset

SOLVED, BAD_INPUT, NO_SOLUTION = 0, 2, 3
TIME_LIMIT = 120.0  # s, of a solve for which nobody gave a limit
CONCEPTS = 20  # instances shown


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    ``arguments``: the words after ``fsmodels``; by default those of the process.

    >>> main(["select", "bupa", "--model", "fsp-m", "--max-features", "2", "--quiet"])
    fsp-m on bupa. Solved: 2 of 6 features, objective 275.843, proven optimal: sgpt, sgot
    0
    """
    from fsmodels.cli import streams
    from solvers import interrupt
    from solvers.clock import one_clock

    words = list(sys.argv[1:] if arguments is None else arguments)
    with _sigterm_is_ctrl_c(for_good=arguments is None), streams.guarded() as (out, _):
        with interrupt.run(), one_clock():
            code = _run(words)
        out.flush()
        if out.lost:
            _complain("Error", f"standard output took no more ({out.lost}): the report is not complete.")
            code = code or BAD_INPUT
    return code


@contextmanager
def _sigterm_is_ctrl_c(*, for_good: bool) -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does; ``for_good``, and neither any harm to a process that is about to end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        if for_good:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN if for_good else before)


def _run(words: list[str]) -> int:
    try:
        asked = _parser().parse_args(words)
    except SystemExit as stop:  # --help, --version, or words that argparse refused
        return int(stop.code or 0)
    if asked.command == "list":
        return _list()

    from fsmodels.errors import Error, NoSelection

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            return _select(asked, words, caught)
        except Error as error:
            _complain("Error", str(error))
            return NO_SOLUTION if isinstance(error, NoSelection) else BAD_INPUT
        except (MemoryError, ImportError) as error:
            if isinstance(error, ImportError) and "map segment" not in str(error):  # a library that found no room
                raise
            _complain("Error", "Not enough memory for these data and this model: use fewer rows or columns.")
            return BAD_INPUT
        except KeyboardInterrupt:
            _complain("Error", "stopped by Ctrl-C before there was a solution.")
            return NO_SOLUTION


def _parser() -> argparse.ArgumentParser:
    from fsmodels.datasets.scaling import METHODS
    from fsmodels.datasets.units import DEFAULT
    from fsmodels.selection.parameters import PARAMETERS
    from fsmodels.selection.recipes import MODELS
    from fsmodels.selection.sides import able

    parser = argparse.ArgumentParser(
        prog="fsmodels", description="Feature selection for support vector machines, with proofs of optimality."
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and stop")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("list", help="show data sets, models and solvers", description="Show what there is to use.")
    select = commands.add_parser(
        "select",
        help="select features of a data set",
        description="Select features of a data set and report the classifier and what is proven about it.",
        epilog="Exit codes: 0 solved, or stopped at a limit or by Ctrl-C with a solution; 2 bad input, a solver "
        "that is not installed, or output that cannot be written; 3 no solution. "
        "Example: fsmodels select wdbc --model fsp-m --max-features 5",
    )
    add = select.add_argument
    add(
        "data",
        metavar="DATA",
        help="CSV file with a header and one sample a row, libsvm-format file (.svm, .svm.gz), or a shipped name",
    )
    add("--model", required=True, metavar="NAME", help="a model from fsmodels list, for example fsp-m")
    group = select.add_argument_group("data")
    group.add_argument("--target", default="target", metavar="COL", help='column of the labels (default "target")')
    group.add_argument("--positive", metavar="LABEL", help="label that becomes +1 (default: the larger of two)")
    group.add_argument("--drop", action="append", default=[], metavar="COL", help="leave a column out; may be repeated")
    group.add_argument(
        "--interactions",
        action="append",
        default=[],
        metavar="A:B:..",
        help='add the products of any two of these standardised features as features A:B; "all" for all features',
    )
    group.add_argument(
        "--bags", metavar="COL", help="rows are instances of the bags in this column; instances are selected (MILES)"
    )
    group.add_argument("--sigma", type=float, metavar="S", help="width of the similarity of a bag to an instance")
    scales = ", ".join([DEFAULT, *(method for method in METHODS if method != DEFAULT)])
    group.add_argument("--scale", metavar="HOW", help=f"{scales} (default {DEFAULT}; none for libsvm-format files)")
    group = select.add_argument_group("parameters of the model")
    for parameter in PARAMETERS.values():
        group.add_argument(parameter.flag, help=parameter.help, **parameter.words)
    group.add_argument("--strict", action=_Gone, nargs=0, help=argparse.SUPPRESS)
    others = ", ".join(name for name, recipe in MODELS.items() if not able(recipe))
    others = f" (not for {others})" if others else ""
    group = select.add_argument_group(f"side constraints{others}; each may be repeated")
    group.add_argument(
        "--budget",
        action="append",
        default=[],
        metavar="COSTS.csv:LIMIT",
        help="the selected features cost at most LIMIT; the file has the header feature,cost, and a feature without "
        "a cost is free",
    )
    group.add_argument("--requires", action="append", default=[], metavar="A:B", help="A only together with B")
    group.add_argument("--excludes", action="append", default=[], metavar="A:B", help="not both A and B")
    group.add_argument("--force-in", action="append", default=[], metavar="A", help="A is selected")
    group.add_argument("--force-out", action="append", default=[], metavar="A", help="A is not selected")
    group.add_argument("--all-or-none", action="append", default=[], metavar="A:B:..", help="all of the group, or none")
    group.add_argument("--at-most", action="append", default=[], metavar="K:A:B:..", help="at most K of the group")
    group.add_argument("--at-least", action="append", default=[], metavar="K:A:B:..", help="at least K of the group")
    group.add_argument(
        "--at-most-of-group",
        action="append",
        default=[],
        metavar="GROUPS.csv:K",
        help="at most K of each group; the file has the header feature,group; or correlation=R:K, groups of features "
        "that all correlate by R",
    )
    group.add_argument(
        "--hierarchy",
        metavar="KIND",
        help="products of --interactions only with both of their features (strong), or with one of them (weak)",
    )
    group.add_argument(
        "--sign", action="append", default=[], metavar="A:+", help="weight of A at least 0; A:-, at most 0"
    )
    group.add_argument(
        "--fair",
        action="append",
        default=[],
        metavar="COL:LIMIT",
        help="the mean scores of any two groups of samples differ by LIMIT at most; the column of the groups, numbers "
        "or text, is no feature",
    )
    group.add_argument("--keep-fair", action="store_true", help="the columns of --fair are features too")
    group = select.add_argument_group("solver")
    group.add_argument("--solver", metavar="NAME", help="a solver or driver from fsmodels list")
    group.add_argument(
        "--solver-option", action="append", default=[], metavar="K=V", help="an option of the solver; may be repeated"
    )
    group.add_argument("--gap", type=float, metavar="X", help="relative gap at which to stop (default 1e-4)")
    group.add_argument(
        "--time-limit",
        type=_seconds,
        default=TIME_LIMIT,
        metavar="S",
        help=f'seconds for the whole run, reading included, or "none" (default {TIME_LIMIT:g})',
    )
    group.add_argument("--seed", type=int, metavar="N", help="seed of the solver")
    group.add_argument(
        "--threads", type=int, metavar="N", help="threads of the solver; branch-and-cut: processes that share its tree"
    )
    group = select.add_argument_group("output")
    group.add_argument("--json", type=Path, metavar="FILE", help="write the result to a JSON file")
    group.add_argument(
        "--force", action="store_true", help="let a run without a solution replace a --json file that has one"
    )
    group.add_argument("--quiet", action="store_true", help="print one line instead of table and report")
    return parser


class _Gone(argparse.Action):
    """Name what replaces an option."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        parser.error(
            "--strict is gone: --max-features K selects at most K features, and --budget-features B is the budget of "
            "shares that more features may have"
        )


class _Version(argparse.Action):
    """Look the version up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from fsmodels.version import __version__

        print(f"fsmodels {__version__}")
        parser.exit()


def _seconds(text: str) -> float | None:
    if text.lower() == "none":
        return None
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f'"{text}" is no number of seconds: give one, or "none"') from None


def _complain(what: str, text: str) -> None:
    print(f"{what}: {text}", file=sys.stderr)


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False)


def _select(asked: argparse.Namespace, words: list[str], caught: list[warnings.WarningMessage]) -> int:
    from fsmodels.cli import arguments, hints, loading
    from fsmodels.selection import report
    from fsmodels.selection.parameters import PARAMETERS
    from fsmodels.selection.recipes import MODELS
    from fsmodels.selection.select import select
    from solvers import interrupt

    file = _result_file(asked)
    console = _console()
    with interrupt.raising():
        data, facts, embedding, notes = loading.load(asked)
    for note in notes:
        _complain("Note", note)
    if data.positive_guessed and not (asked.quiet and asked.json is None):  # else no sign is shown
        _complain("Note", report.guess(data))
    _show_warnings(caught)
    if not asked.quiet:
        console.print(_describe(data) if embedding is None else repr(embedding), soft_wrap=True)
    parameters = {name: getattr(asked, p.given_as) for name, p in PARAMETERS.items()}
    parameters["penalty"] = arguments.penalty(parameters["penalty"], data.features)
    shares = parameters.pop("budget")
    sides = {
        "budget": arguments.budgets(asked.budget, shares, data.features),
        "requires": [arguments.pair(text, data.features, "--requires") for text in asked.requires],
        "excludes": [arguments.pair(text, data.features, "--excludes") for text in asked.excludes],
        **{
            kind: [arguments.group(text, data.features, f"--{kind.replace('_', '-')}") for text in getattr(asked, kind)]
            for kind in ("all_or_none", "at_most", "at_least")
        },
        "force_in": asked.force_in,
        "force_out": asked.force_out,
        "at_most_of_group": [arguments.grouped(text, data) for text in asked.at_most_of_group],
        "hierarchy": asked.hierarchy,
        "signs": arguments.signs(asked.sign, data.features),
        "fair": [arguments.fair(text) for text in asked.fair],
    }
    runs_solver = asked.model not in MODELS or MODELS[asked.model].runs_solver
    options = _options(asked, words, runs_solver)
    if not asked.quiet and runs_solver:
        limit = "" if options.get("time_limit") is None else f" for at most {options['time_limit']:g} s"
        console.print(f"Solving {asked.model}{limit}; Ctrl-C stops and keeps the best so far")
    found = select(data, asked.model, **parameters, **sides, solver=asked.solver, progress=not asked.quiet, **options)
    _show_warnings(caught)

    if file is not None:
        content = found.to_dict()
        content["data"] = {**facts, **content["data"]}
        if embedding is not None and found.has_solution:
            content["concepts"] = embedding.concepts(found).to_dict("records")
        if trouble := file.write(content, has_solution=found.has_solution):
            _complain("Note" if not found.has_solution else "Error", trouble)
            if found.has_solution:
                _print(console, report.report(found))
                return BAD_INPUT
    if not found.has_solution:
        _complain("Error", report.headline(found))
        return NO_SOLUTION
    if asked.quiet:
        console.print(report.one_line(found), soft_wrap=True)
        return SOLVED
    _print(console, ["", *report.report(found)])
    if embedding is not None:
        console.print("\nSelected instances, of the file:")
        console.print(embedding.concepts(found).to_string(index=False, max_rows=CONCEPTS), soft_wrap=True)
    if asked.json is not None:
        console.print(f"\nWritten to {asked.json}", soft_wrap=True)
    _print(console, hints.next_steps(found, words))
    return SOLVED


def _print(console: Console, parts: Sequence[Any]) -> None:
    for part in parts:
        console.print(part, soft_wrap=isinstance(part, str))


def _options(asked: argparse.Namespace, words: list[str], runs_solver: bool) -> dict[str, Any]:
    """Return the solver's options; those that were not given only where they make sense."""
    from fsmodels.cli import arguments
    from fsmodels.errors import OptionError

    options = arguments.solver_options(asked.solver_option)
    given = {"gap": asked.gap, "seed": asked.seed, "threads": asked.threads}
    limited = any(word == "--time-limit" or word.startswith("--time-limit=") for word in words)
    if limited or runs_solver:
        given["time_limit"] = asked.time_limit
    for name, value in given.items():
        if value is not None and name in options and (name != "time_limit" or limited):
            raise OptionError(f"{name} is given twice, by --{name.replace('_', '-')} and --solver-option: keep one.")
        if value is not None:
            options.setdefault(name, value)
    return options


def _result_file(asked: argparse.Namespace) -> ResultFile | None:
    from fsmodels.cli import arguments, loading
    from fsmodels.cli.result_file import ResultFile
    from fsmodels.errors import OptionError

    if asked.json is None:
        if asked.force:
            raise OptionError("--force lets the file of --json be replaced: give --json FILE with it.")
        return None
    inputs = [loading.source(asked)[0], *arguments.files(asked.budget, asked.penalty)]
    return ResultFile(asked.json, inputs, force=asked.force)


def _describe(data: Dataset) -> str:
    positives = int((data.y > 0).sum())
    return (
        f"{data.name}: {data.n_samples} samples x {data.n_features} features, scale {data.scale.method}; class +1 is "
        f"{data.positive_label} ({positives} samples)"
    )


def _show_warnings(caught: list[warnings.WarningMessage]) -> None:
    from fsmodels.datasets.dataset import DataWarning

    for warning in caught:
        if issubclass(warning.category, DataWarning):
            _complain("Note", str(warning.message))
    caught.clear()


def _list() -> int:
    from rich.table import Table
    from rich.text import Text

    from fsmodels.datasets.shipped import list_bags, list_datasets
    from fsmodels.selection.parameters import PARAMETERS
    from fsmodels.selection.recipes import MODELS
    from solvers import available

    console = _console()

    def table(title: str, *columns: str, right: Sequence[str] = ()) -> Table:
        made = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0))
        for k, column in enumerate(columns):
            made.add_column(column, justify="right" if column in right else "left", no_wrap=k == 0, overflow="fold")
        return made

    numbers: tuple[str, ...] = ("samples", "features", "class +1")
    data = table("Data sets (or the path of a CSV or .svm file)", "name", *numbers, right=numbers)
    for row in list_datasets().itertuples():
        data.add_row(row.name, str(row.samples), str(row.features), str(row.positives))
    numbers = ("bags", "instances", "attributes", "class +1")
    bags = table("Bags of instances (--bags bag_id)", "name", *numbers, right=numbers)
    for row in list_bags().itertuples():
        bags.add_row(row.name, str(row.bags), str(row.instances), str(row.attributes), str(row.positives))
    models = table("Models", "name", "parameters", "what it is")
    for name, recipe in MODELS.items():
        flags = [
            PARAMETERS[p].flag if required else f"[{PARAMETERS[p].flag}]"
            for p, required in sorted(recipe.parameters.items(), key=lambda item: not item[1])
            if p in PARAMETERS
        ]
        models.add_row(name, Text(" ".join(flags)), recipe.title)
    found = table("Solvers and drivers found", "name", "version", "solves")
    missing = table("Solvers not found", "name", "how to get it")
    for row in available().itertuples():
        if row.found:
            found.add_row(row.name, row.version or "built in", Text(row.solves))
        else:
            missing.add_row(row.name, Text(row.install))
    others = Text(
        "Any other solver that Pyomo knows by name is tried once on small programs and may then stand where these may, "
        "whole or inside a driver (--solver-option master_solver=NAME); docs/solvers.md tells how far it is believed."
    )
    _print(console, [data, "", bags, "", models, "", found, *(["", missing] if missing.row_count else []), "", others])
    return SOLVED
