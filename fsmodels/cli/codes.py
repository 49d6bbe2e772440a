"""The exit codes of the command line, and the line on standard error that goes with them."""

import sys

SOLVED, BAD_INPUT, NO_SOLUTION = 0, 2, 3


def complain(what: str, text: str) -> None:
    """Write a line to standard error. Controls become escapes here too, as a live display bypasses ``Guard``."""
    from solvers.display import printable

    print(printable(f"{what}: {text}"), file=sys.stderr)
