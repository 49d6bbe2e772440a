"""Commands of ``fsmodels`` in this process."""

from __future__ import annotations

from typing import Any

from fsmodels.cli import main


def run(capsys: Any, *words: Any) -> tuple[int, str, str]:
    """Return the exit code, the standard output and the standard error of a command."""
    code = main([str(word) for word in words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err
