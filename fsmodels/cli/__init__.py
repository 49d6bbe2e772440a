"""The command line: ``fsmodels select DATA --model NAME``, ``fsmodels list``, and further commands.

Exit codes: 0 solved, or stopped at a limit or by Ctrl-C with a solution; 2 bad input, a missing solver, or output that
cannot be written; 3 no solution. SIGTERM and SIGHUP have the effect of Ctrl-C. Reports go to standard output, errors
and warnings to standard error.

May import ``fsmodels.selection``, ``fsmodels.datasets`` and the packages below them.
"""

from __future__ import annotations

import gc
import importlib
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

AT_ONCE = ("list", "describe", "predict", "init")  # commands that solve nothing
MODULES = {"describe": "listing", "list": "listing"} | dict.fromkeys(["path", "stability", "compare"], "resampled")
MODULES |= dict.fromkeys(["certify", "near-optimal", "necessity", "price", "verify", "report"], "questions")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    ``arguments``: the arguments after ``fsmodels``; by default those of the process.

    >>> main(["select", "bupa", "--model", "fsp-m", "--max-features", "2", "--quiet"])
    fsp-m on bupa. Solved: 2 of 6 features, objective 275.843, proven optimal: sgpt, sgot
    0
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        from fsmodels.cli.output import BAD_INPUT, complain, guarded
        from solvers import interrupt
        from solvers.clock import one_clock
        from solvers.shared_state import safe_path

        with _ended_as_by_ctrl_c(for_good=arguments is None), safe_path(), guarded() as (out, _):
            with interrupt.run(), one_clock():
                code = _run(words)
            out.flush()
            if out.lost:
                complain("Error", f"standard output cannot be written ({out.lost}): the report is not complete.")
                code = code or BAD_INPUT
        if arguments is None:
            gc.freeze()  # the garbage collection at exit would take a tenth of a second
        return code
    except KeyboardInterrupt:  # before there was a run
        print("Error: stopped by Ctrl-C.", file=sys.stderr)
        return 3


@contextmanager
def _ended_as_by_ctrl_c(*, for_good: bool) -> Iterator[None]:
    """Handle SIGTERM and SIGHUP as Ctrl-C; ``for_good``: ignore all three at the end of the process.

    A signal that is ignored already, such as SIGHUP by ``nohup``, stays ignored.
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
    import click

    from fsmodels.cli import commands
    from fsmodels.cli.output import BAD_INPUT, NO_SOLUTION, complain
    from fsmodels.errors import Error, NoSelection
    from solvers import interrupt

    try:
        with interrupt.raising():
            args = commands.parse(words)
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.showwarning = _note
            _command(args)
        return 0
    except click.exceptions.Exit as stop:  # --help, --version
        return stop.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message(), file=sys.stderr)
        return error.exit_code
    except click.ClickException as error:
        complain("Error", commands.parser_error(error))
        return error.exit_code
    except Error as error:
        option = commands.option_of(error.parameter, args)
        complain("Error", f"{error} Option: {option}." if option and option not in str(error) else str(error))
        return NO_SOLUTION if isinstance(error, NoSelection) else BAD_INPUT
    except (Exception, KeyboardInterrupt) as error:
        if isinstance(error, KeyboardInterrupt) or interrupt.pressed():  # Ctrl-C can end an import with another error
            before = "" if words[:1] and words[0] in AT_ONCE else " before there was a solution"
            complain("Error", f"stopped by Ctrl-C{before}.")
            return NO_SOLUTION
        if isinstance(error, MemoryError) or "map segment" in str(error):  # of a library that does not fit
            complain("Error", "Not enough memory for these data and this model: use fewer rows or columns.")
            return BAD_INPUT
        raise


def _note(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Write a warning about the data to standard error; ignore other warnings."""
    from fsmodels.cli.output import complain
    from fsmodels.errors import DataWarning

    if issubclass(category, DataWarning):
        complain("Note", str(message))


def _command(args: SimpleNamespace) -> None:
    """Run a command. Raises Error: the command failed; NoSelection: there is no solution."""
    from solvers import interrupt, progress
    from solvers.shared_state import put_off

    with progress.shown(not getattr(args, "quiet", True)), progress.doing("loading"), interrupt.raising(), put_off():
        module = importlib.import_module(f"fsmodels.cli.{MODULES.get(args.command, args.command)}")
    with interrupt.raising() if args.command in AT_ONCE else nullcontext():
        module.run(args)
