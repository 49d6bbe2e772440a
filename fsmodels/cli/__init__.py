"""The command line: ``fsmodels select DATA --model NAME``, ``fsmodels list``, and questions beyond one answer.

Exit codes: 0 solved, or stopped at a limit or by Ctrl-C with a solution; 2 bad input, an uninstalled solver, or output
that cannot be written; 3 no solution. SIGTERM and SIGHUP do what Ctrl-C does. Reports go to standard output, errors
and warnings to standard error.

May import ``fsmodels.selection``, ``fsmodels.datasets`` and what lies below them.
"""

from __future__ import annotations

import argparse
import re
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from fsmodels.cli.codes import BAD_INPUT, NO_SOLUTION, complain

AT_ONCE = ("list", "describe", "predict")  # commands that solve nothing


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    ``arguments``: the words after ``fsmodels``; by default those of the process.

    >>> main(["select", "bupa", "--model", "fsp-m", "--max-features", "2", "--quiet"])
    fsp-m on bupa. Solved: 2 of 6 features, objective 275.843, proven optimal: sgpt, sgot
    0
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        from fsmodels.cli import streams
        from solvers import interrupt
        from solvers.clock import one_clock
        from solvers.processes import safe_path

        with _ended_as_by_ctrl_c(for_good=arguments is None), safe_path(), streams.guarded() as (out, _):
            with interrupt.run(), one_clock():
                code = _run(words)
            out.flush()
            if out.lost:
                complain("Error", f"standard output took no more ({out.lost}): the report is not complete.")
                code = code or BAD_INPUT
        return code
    except KeyboardInterrupt:  # before there was a run
        complain("Error", "stopped by Ctrl-C.")
        return NO_SOLUTION


@contextmanager
def _ended_as_by_ctrl_c(*, for_good: bool) -> Iterator[None]:
    """Let SIGTERM and SIGHUP do what Ctrl-C does; ``for_good``, ignore all three at the end of the process.

    SIGHUP stays ignored where it was, as by ``nohup``.
    """
    from solvers.interrupt import ENDING

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    if for_good and signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # set by ``fsmodels/__init__.py``
        signal.signal(signal.SIGINT, signal.default_int_handler)
    before = {n: signal.signal(n, signal.default_int_handler) for n in ENDING if signal.getsignal(n) != signal.SIG_IGN}
    try:
        yield
    finally:
        if for_good:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if for_good else handler)


def _run(words: list[str]) -> int:
    from solvers import interrupt

    try:
        with _whatever_ctrl_c_does(), interrupt.raising():
            from fsmodels.cli.parser import parser
            from fsmodels.errors import Error, NoSelection

            asked = parser().parse_args(words)
    except SystemExit as stop:  # --help, --version, or words that argparse refused
        return int(stop.code or 0)
    except KeyboardInterrupt:
        complain("Error", "stopped by Ctrl-C.")
        return NO_SOLUTION
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            return _command(asked, words, caught)
        except Error as error:
            complain("Error", _as_typed(str(error), asked))
            return NO_SOLUTION if isinstance(error, NoSelection) else BAD_INPUT
        except (MemoryError, ImportError) as error:
            if isinstance(error, ImportError) and "map segment" not in str(error):  # a library that found no room
                raise
            complain("Error", "Not enough memory for these data and this model: use fewer rows or columns.")
            return BAD_INPUT
        except KeyboardInterrupt:
            complain("Error", f"stopped by Ctrl-C{'' if asked.command in AT_ONCE else ' before there was a solution'}.")
            return NO_SOLUTION


def _as_typed(text: str, asked: argparse.Namespace) -> str:
    """Return an error for who typed a command: in his words, without what only Python has, with what was dropped."""
    from solvers.options import PROGRAMS

    words = re.sub(rf" {PROGRAMS}[^.]*\.", "", text)
    words = re.sub(r'(force_in|force_out)=\["([^"]+)"\]', lambda m: f"--{m[1].replace('_', '-')} {m[2]}", words)
    words = re.sub(r'(requires|excludes)=\("([^"]+)", "([^"]+)"\)', r"--\1 \2:\3", words)
    words = re.sub(r"\bmax_features=(\d)", r"--max-features \1", words)
    for name in getattr(asked, "drop", None) or ():
        if f'"{name}"' in words:
            by_itself = ", for --fair makes it no feature by itself" if getattr(asked, "fair", None) else ""
            words += f' "{name}" was left out by --drop {name}: take that away{by_itself}.'
    return words


@contextmanager
def _whatever_ctrl_c_does() -> Iterator[None]:
    """Let an error that Ctrl-C has led to, in the midst of importing something, be Ctrl-C."""
    from solvers import interrupt

    try:
        yield
    except Exception:
        if interrupt.pressed():
            raise KeyboardInterrupt from None
        raise


def _command(asked: argparse.Namespace, words: list[str], caught: list[warnings.WarningMessage]) -> int:
    from solvers import interrupt, progress

    shows = not getattr(asked, "quiet", True)
    with progress.shown(shows), progress.doing("loading"), _whatever_ctrl_c_does(), interrupt.raising():
        from fsmodels.cli import listing, predict, questions, repeated, select

    if asked.command in AT_ONCE:
        with interrupt.raising():
            return {"list": listing.run, "describe": listing.tell, "predict": predict.run}[asked.command](asked)
    if asked.command == "select":
        return select.run(asked, words, caught)
    if asked.command in ("path", "stability"):
        return repeated.run(asked, words, caught)
    if asked.command == "compare":
        with progress.doing("loading"):
            from fsmodels.cli import compare
        return compare.run(asked, words, caught)
    if asked.command == "report":
        with progress.doing("loading"):
            from fsmodels.cli import report
        return report.run(asked, words, caught)
    return questions.run(asked, words, caught)
