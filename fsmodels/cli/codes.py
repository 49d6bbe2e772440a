"""The exit codes of the command line, and the line on standard error that goes with them."""

import sys

SOLVED, BAD_INPUT, NO_SOLUTION = 0, 2, 3


def complain(what: str, text: str) -> None:
    """Write a line to standard error."""
    print(f"{what}: {text}", file=sys.stderr)
