"""The iteration table that all drivers share, and the progress line of a run."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any

import pandas as pd

from solvers import progress
from solvers.clock import Clock
from solvers.result import relative_gap

logger = logging.getLogger("solvers")

COLUMNS = ["Iter", "Step", "Objective", "Bound", "Incumbent", "Gap", "Cuts", "|S|", "Time"]
WIDTHS = (5, 12, 12, 12, 12, 9, 5, 5, 8)  # of the columns of the log


class Trace:
    """The rows of the iteration table: stored, logged, and with ``tee`` written to standard output.

    Incumbent and bound are in the sense of the model's objective.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        minimize: bool,
        tee: bool,
        callback: Callable[[dict[str, Any]], Any] | None,
        resolution: float = 0.0,
    ):
        self.clock, self.minimize, self.callback, self.resolution = clock, minimize, callback, resolution
        self.rows: list[dict[str, Any]] = []
        self.stopped_by_callback = False
        self._file = sys.stdout if tee else None  # the present one: Pyomo redirects it while a solver runs
        self._write(COLUMNS)

    def _write(self, texts: list[str]) -> None:
        if self._file is not None:
            with progress.paused():
                self._file.write("".join(map(str.rjust, texts, WIDTHS)) + "\n")
                self._file.flush()

    def row(
        self,
        step: str,
        *,
        objective: float | None = None,
        bound: float | None = None,
        incumbent: float | None = None,
        cuts: int = 0,
        support: int | None = None,
    ) -> None:
        """Add a row; a callback that returns True stops the driver."""
        values = (
            len(self.rows),
            step,
            objective,
            bound,
            incumbent,
            relative_gap(incumbent, bound, minimize=self.minimize, resolution=self.resolution),
            cuts,
            support,
            self.clock.elapsed,
        )
        row = dict(zip(COLUMNS, values, strict=True))
        self.rows.append(row)
        if logger.isEnabledFor(logging.INFO):
            logger.info("%s", "  ".join(cells(row)))
        self._write(cells(row))
        if self.callback is not None and self.callback(dict(row)):
            self.stopped_by_callback = True

    def table(self) -> pd.DataFrame:
        """Return the rows as a DataFrame."""
        return pd.DataFrame(self.rows, columns=COLUMNS)


def cells(row: dict[str, Any]) -> list[str]:
    """Return a row as text, in the order of the columns."""

    def number(x: float | None) -> str:
        return "-" if x is None else f"{x:.6g}"

    gap = "-" if row["Gap"] is None else f"{row['Gap']:.2%}"
    support = "-" if row["|S|"] is None else str(row["|S|"])
    return [
        str(row["Iter"]),
        row["Step"],
        *(number(row[c]) for c in ("Objective", "Bound", "Incumbent")),
        gap,
        str(row["Cuts"]),
        support,
        f"{row['Time']:.2f}",
    ]


LONG = 2.0  # s, from which the current step is shown
NAMES = {"prepare": "decomposing the model", "master": "master problem", "subproblem": "subproblem"}


def state_of_run(
    best: float | None,
    bound: float | None,
    sign: float,
    counted: list[str],
    busy: tuple[str, float] | None,
    clock: Clock,
) -> list[str]:
    """Return the state of a run as text: the current step if it takes long, incumbent, bound, gap and counts.

    ``sign``: -1 if the model maximises. ``busy``: the step that is timed, and its start.
    """
    gap = relative_gap(best, bound, minimize=sign > 0)
    since = 0.0 if busy is None else clock.elapsed - busy[1]
    long = [f"{NAMES[busy[0]]} for {since:.0f} s"] if busy is not None and since >= LONG else []
    numbers = [f"best {best:.6g}" if best is not None else "", f"bound {bound:.6g}" if bound is not None else ""]
    together = ", ".join(text for text in [*numbers, "" if gap is None else f"gap {100 * gap:.3g}%"] if text)
    return [*long, *([together] if together else []), *counted]
