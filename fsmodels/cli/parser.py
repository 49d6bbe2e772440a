"""The words of the command line: one parser a command, made of groups of options that commands share.

Imports neither Pyomo nor pandas, so that help and refusals come at once.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from fsmodels.cli.honest_words import a_comparison, a_judgement
from fsmodels.cli.values import grid, numbers, seconds, share, values
from fsmodels.datasets.methods import DEFAULT, METHODS
from fsmodels.selection.parameters import PARAMETERS

TIME_LIMIT = 120.0  # s, of a solve for which nobody gave a limit
EACH_LIMIT = 30.0  # s, of each solve of many
SHARED = ("max_features", "C")
EXIT_CODES = (
    "Exit codes: 0 solved, or stopped at a limit or by Ctrl-C with a solution; 2 bad input, a solver that is not "
    "installed, or output that cannot be written; 3 no solution. "
)


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    whole = argparse.ArgumentParser(
        prog="fsmodels", description="Feature selection for support vector machines, with proofs of optimality."
    )
    whole.add_argument("--version", action=_Version, nargs=0, help="show the version and stop")
    commands = whole.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("list", help="show data sets, models and solvers", description="Show what there is to use.")
    describe = commands.add_parser(
        "describe",
        help="what a model minimises, takes and can prove",
        description="Tell a model's problem, parameters, solvers and certificate, and where to read; of all, a line.",
        epilog="Example: fsmodels describe fsmulti",
    )
    describe.add_argument("model", nargs="?", metavar="NAME", help="a model from fsmodels list (default: all)")
    select = commands.add_parser(
        "select",
        help="select features of a data set",
        description="Select features of a data set and report the classifier and what is proven about it.",
        epilog=f"{EXIT_CODES}Example: fsmodels select wdbc --model fsp-m --max-features 5",
    )
    a_solve(select)
    a_judgement(select)
    select.add_argument(
        "--certify",
        type=float,
        metavar="S",
        help="of rfe, filters and one-norm-svm: S more seconds to prove how far their selection is from the best",
    )
    select.add_argument(
        "--certificate",
        type=Path,
        metavar="FILE",
        help="write a proof that fsmodels verify FILE DATA checks (fsp-m, fsp-lambda)",
    )
    _repeated(commands)
    compare = commands.add_parser(
        "compare",
        help="several models on the same folds",
        description="Select by several models on the same folds: held-out errors, features, stability, time, and what "
        "each selection is worth by one objective.",
        epilog=f"{EXIT_CODES}Example: fsmodels compare wdbc --models fsp-m,rfe,one-norm-svm --cv 5",
    )
    a_comparison(compare)
    a_solve(compare, model="", each="fold of each model")
    _report(commands)
    _questions(commands)
    return whole


def a_solve(command: argparse.ArgumentParser, *, model: str | None = None, each: str = "", grids: bool = False) -> None:
    """Add what says which model of which data is solved, and how.

    ``model``: the default, None where one is needed, "" where there are several, which take no parameters but those
    that most have. ``each``: what the time limit is of, where of no whole run.
    ``grids``: parameters may have several values.
    """
    _data(command)
    if model is None:
        command.add_argument(
            "--model", required=True, metavar="NAME", help="a model from fsmodels list, for example fsp-m"
        )
    elif not model:
        command.set_defaults(model="fsp-m")  # whose words the others share
    else:
        command.add_argument(
            "--model", default=model, metavar="NAME", help=f"a model from fsmodels list (default {model})"
        )
    _reading(command)
    _parameters(command, grids=grids, shared=model == "")
    _sides(command)
    _solver(command, each=each)
    _output(command)


def _repeated(commands: Any) -> None:
    """Add the commands that solve many times, and the one that uses what was found."""
    path = commands.add_parser(
        "path",
        help="one selection for each of several values",
        description="Solve for each value of a grid, and report objectives, proven intervals and errors as a table.",
        epilog=f"{EXIT_CODES}Example: fsmodels path wdbc --max-features 1:6 --folds 5 --choose one-se",
    )
    path.add_argument("--folds", type=int, metavar="K", help="walk the path on K folds too, for held-out errors")
    path.add_argument(
        "--choose", metavar="RULE", help="report one point: one-se or best by held-out error, or knee by the objective"
    )
    path.add_argument("--picture", type=Path, metavar="FILE", help="draw the path to a .png, .pdf or .svg file")
    _workers(path)
    a_solve(path, model="fsp-m", each="point", grids=True)
    stability = commands.add_parser(
        "stability",
        help="how much a selection depends on the samples",
        description="Select again on folds or bootstrap samples: how often each feature, and an index of stability.",
        epilog=f"{EXIT_CODES}Example: fsmodels stability wdbc --max-features 3 --bootstraps 20 --n-jobs 2",
    )
    stability.add_argument("--folds", type=int, metavar="K", help="leave out one of K folds at a time")
    stability.add_argument("--bootstraps", type=int, metavar="N", help="N samples with replacement (default 20)")
    stability.add_argument("--picture", type=Path, metavar="FILE", help="draw frequencies to a .png, .pdf or .svg file")
    _workers(stability)
    a_solve(stability, model="fsp-m", each="run")
    predict = commands.add_parser(
        "predict",
        help="labels of new samples by a saved selection",
        description="Decide for the rows of a CSV file, by the file of a selection: row, label and score as CSV.",
        epilog="Exit codes: 0 done; 2 bad input; 3 no classifier. Example: fsmodels predict x.json new.csv",
    )
    predict.add_argument("selection", type=Path, metavar="SELECTION", help="file of select --json, or of found.save")
    predict.add_argument("table", type=Path, metavar="TABLE", help="table with a header and the selected features")
    _table(predict)
    predict.add_argument(
        "--unseen",
        default="refuse",
        metavar="HOW",
        help="a level of a category that the data did not have: refuse, or zeros to decide as of no level",
    )
    predict.add_argument("--target", metavar="COL", help="column of the true labels: report the error")
    predict.add_argument(
        "--id",
        action="append",
        default=[],
        metavar="COL",
        help="column that names the rows, copied to the output in place of their numbers; may be repeated",
    )
    predict.add_argument("--out", type=Path, metavar="FILE", help="write to a file (default: standard output)")


def _report(commands: Any) -> None:
    """Add the command that writes a page."""
    page = commands.add_parser(
        "report",
        help="one HTML page: features, held-out error, proof, what-ifs",
        description="Select, and write one self-contained HTML page: features, held-out errors, the proof, what-ifs, "
        "and the command that makes it again.",
        epilog=f"{EXIT_CODES}Example: fsmodels report wdbc --max-features 3 --html wdbc.html",
    )
    page.add_argument("--html", type=Path, required=True, metavar="FILE", help="the page to write")
    page.add_argument("--cv", type=int, default=5, metavar="K", help="parts for the held-out error, or 0 (default 5)")
    page.add_argument(
        "--max-path", type=int, metavar="K", help="most features to try; 0: only --max-features (default: twice these)"
    )
    page.add_argument(
        "--what-if", type=float, metavar="S", help="seconds for what-ifs; 0: none (default: those of --time-limit)"
    )
    _workers(page)
    a_solve(page, model="fsp-m", each="solve")


def _workers(command: argparse.ArgumentParser) -> None:
    command.add_argument("--n-jobs", type=int, default=1, metavar="N", help="workers (default 1)")


def _questions(commands: Any) -> None:
    """Add the commands that ask more than one answer; each says in a sentence what is proven."""
    certify = commands.add_parser(
        "certify",
        help="how far a selection from elsewhere can be from the best",
        description="Hold a selection from elsewhere against the best under the same limits, with a proven bound.",
        epilog=f"{EXIT_CODES}Example: fsmodels certify wdbc --features mean_area,worst_texture --within 5%%",
    )
    certify.add_argument("--features", required=True, metavar="A,B,..", help="the selection")
    certify.add_argument(
        "--within", type=share, metavar="X", help="stop once it is settled whether it is within X (5%%, 0.05)"
    )
    a_solve(certify, model="fsp-m")
    near = commands.add_parser(
        "near-optimal",
        help="every selection that is about as good as the best",
        description="List every selection within a share of the best, with proof that there is no other.",
        epilog=f"{EXIT_CODES}Example: fsmodels near-optimal cleveland --max-features 5 --within 2%%",
    )
    near.add_argument("--within", type=share, default=0.01, metavar="X", help="the share (default 1%%)")
    near.add_argument("--limit", type=int, default=1000, metavar="N", help="most selections to keep (default 1000)")
    a_solve(near, model="fsp-m")
    necessity = commands.add_parser(
        "necessity",
        help="which features every good model needs",
        description="Prove for each feature whether it is in every good model, in some, or in none.",
        epilog=f"{EXIT_CODES}Example: fsmodels necessity cleveland --max-features 5",
    )
    necessity.add_argument("--within", type=share, default=0.01, metavar="X", help="the share (default 1%%)")
    a_solve(necessity, model="fsp-m")
    price = commands.add_parser(
        "price",
        help="what each side constraint costs",
        description="Prove what side constraints cost: the objective with all of them, and without each.",
        epilog=f"{EXIT_CODES}Example: fsmodels price wdbc --max-features 5 --excludes worst_area:worst_texture",
    )
    price.add_argument(
        "--row", action="append", metavar="NAME", help="a row to ask about, by its name on the model; may be repeated"
    )
    price.add_argument("--at", type=numbers, default=[], metavar="X,Y,..", help="other limits of that row to solve for")
    a_solve(price, model="fsp-m")
    verify = commands.add_parser(
        "verify",
        help="check a certificate from the data alone",
        description="Recompute every bound of a certificate from the data, and say whether it holds.",
        epilog="Exit codes: 0 it holds; 2 bad input; 3 it does not hold. Example: fsmodels verify c.json patients.csv",
    )
    verify.add_argument("certificate", type=Path, metavar="CERTIFICATE", help="a file that a certificate was saved to")
    _data(verify)
    _reading(verify)
    verify.add_argument("--json", type=Path, metavar="FILE", help="write what came out to a JSON file")
    verify.add_argument("--quiet", action="store_true", help="print one line")
    verify.set_defaults(fair=[], keep_fair=False)


def _data(command: argparse.ArgumentParser) -> None:
    """Add where the samples come from."""
    command.add_argument(
        "data",
        metavar="DATA",
        help="CSV file with a header and one sample a row, libsvm-format file (.svm, .svm.gz), or a shipped name",
    )


def _reading(command: argparse.ArgumentParser) -> None:
    """Add how the samples are read and scaled."""
    group = command.add_argument_group("data")
    group.add_argument("--target", default="target", metavar="COL", help='column of the labels (default "target")')
    group.add_argument("--positive", metavar="LABEL", help="label that becomes +1 (default: the larger of two)")
    group.add_argument(
        "--drop", action="append", default=[], metavar="A,B,..", help="leave columns out; may be repeated"
    )
    group.add_argument(
        "--class-weight",
        action="append",
        default=[],
        metavar="LABEL:W",
        help="what a mistake costs in that class (1 where it is not said), or balanced: both classes as much as the "
        "other; may be repeated",
    )
    group.add_argument(
        "--sample-weight", metavar="COL", help="column of how often each row counts, which is then no feature"
    )
    group.add_argument(
        "--one-hot",
        action="append",
        default=[],
        metavar="A,B,..",
        help="make 0/1 features of columns of categories, that are selected together; A:apart for one by one, all for "
        "all columns of text",
    )
    group.add_argument(
        "--impute", metavar="HOW", help="fill blanks in by median, mean or most-frequent (default: refuse them)"
    )
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
    _table(group)
    scales = ", ".join([DEFAULT, *(method for method in METHODS if method != DEFAULT)])
    group.add_argument("--scale", metavar="HOW", help=f"{scales} (default {DEFAULT}; none for libsvm-format files)")


def _table(group: Any) -> None:
    """Add how a file becomes a table, where that is not to be found in it."""
    group.add_argument("--sep", metavar="MARK", help='mark between columns: , ; | or "tab" (default: as found)')
    group.add_argument("--decimal", metavar="MARK", help="decimal mark, . or , (default: as found)")
    group.add_argument("--thousands", metavar="MARK", help="mark between thousands (default: as found)")
    group.add_argument("--encoding", metavar="NAME", help="encoding of a text file (default: utf-8)")
    group.add_argument("--sheet", metavar="NAME", help="sheet of a workbook (default: the one that has cells)")


def _parameters(command: argparse.ArgumentParser, *, grids: bool = False, shared: bool = False) -> None:
    """Add the parameters of the models; ``grids``: several values with commas between, or a range.

    ``shared``: those alone that mean the same to most models.
    """
    group = command.add_argument_group("parameters of the models" if shared else "parameters of the model")
    for name, parameter in PARAMETERS.items():
        if shared and name not in SHARED:
            command.set_defaults(**{parameter.given_as: parameter.words.get("default")})
            continue
        words, told = dict(parameter.words), parameter.help
        if grids and words.get("type") in (int, float):
            words = {**words, "type": grid if words["type"] is int else values, "metavar": f"{words['metavar']},.."}
            told += "; several values: 1:10 or 1,2,5" if words["type"] is grid else "; several values: 0.1,1,10"
        group.add_argument(parameter.flag, help=told, **words)
    group.add_argument("--strict", action=_Gone, nargs=0, help=argparse.SUPPRESS)


def _sides(command: argparse.ArgumentParser) -> None:
    """Add the side constraints."""
    group = command.add_argument_group("side constraints; each may be repeated")
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


def _solver(command: argparse.ArgumentParser, *, each: str = "") -> None:
    """Add the solver, and its limits; ``each``: what the time limit is of, where not of the whole run."""
    default = EACH_LIMIT if each else TIME_LIMIT
    of = f"each {each}" if each else "the whole run, reading included"
    group = command.add_argument_group("solver")
    group.add_argument("--solver", metavar="NAME", help="a solver or driver from fsmodels list")
    group.add_argument(
        "--solver-option", action="append", default=[], metavar="K=V", help="an option of the solver; may be repeated"
    )
    group.add_argument("--gap", type=float, metavar="X", help="relative gap at which to stop (default 1e-4)")
    group.add_argument(
        "--time-limit",
        type=seconds,
        default=default,
        metavar="S",
        help=f'seconds for {of}, or "none" (default {default:g})',
    )
    group.add_argument("--seed", type=int, metavar="N", help="seed of the solver, and of folds")
    group.add_argument(
        "--threads", type=int, metavar="N", help="threads of the solver; branch-and-cut: processes that share its tree"
    )


def _output(command: argparse.ArgumentParser) -> None:
    """Add where the answer goes."""
    group = command.add_argument_group("output")
    group.add_argument("--json", type=Path, metavar="FILE", help="write the result to a JSON file")
    group.add_argument(
        "--force", action="store_true", help="let a run without a solution replace a --json file that has one"
    )
    group.add_argument("--quiet", action="store_true", help="print one line instead of table and report")


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
