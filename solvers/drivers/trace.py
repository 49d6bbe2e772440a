"""The state of a run that all drivers share: incumbent and bound, iteration table, times, and the progress line."""

from __future__ import annotations

import logging
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pandas as pd

from solvers import progress
from solvers.clock import Clock
from solvers.options import Config
from solvers.result import contradicts, is_closed, relative_gap
from solvers.values import put_back

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


class RunState:
    """Incumbent, bound, iteration table and times of a run; objectives are minimised.

    - ``best``: least objective so far. ``bound``: lower bound of all objectives.
    - ``seconds``: time of each kind of step.
    """

    config: Config
    clock: Clock
    trace: Trace
    sign: float  # -1 for a model that maximises
    resolution: float

    def __init__(self) -> None:
        self.best: float | None = None
        self.bound: float | None = None
        self._kept: tuple[float, float] | None = None  # (validation error, objective) of the point that is loaded
        self._load: Callable[[], None] = lambda: None
        self._contradiction: tuple[float, float] | None = None  # an objective and a bound that contradict each other
        self.seconds = {"prepare": 0.0, "master": 0.0, "subproblem": 0.0}
        self._busy: tuple[str, float] | None = None  # the current step, and its start

    def offer(
        self,
        objective: float,
        variables: Sequence[Any],
        load: Callable[[], None],
        score: float | None = None,
        *,
        latest: bool = False,
    ) -> bool:
        """Offer the values of the model as incumbent; return True for the best so far, by ``score`` if given.

        ``latest``: the point replaces the incumbent, also if its objective is larger.
        """
        key = (0.0 if score is None else score, objective)
        if self.best is None or objective < self.best:
            self.best = objective
            self._check_contradiction(objective, self.bound)
            if self.bound is not None:
                self.bound = min(self.bound, objective)
        if self._kept is not None and key >= self._kept and not latest:
            return False
        better = self._kept is None or score is None or key[0] < self._kept[0]
        values = [(v, v.value) for v in variables]

        def restore() -> None:
            put_back(values)
            load()

        self._kept, self._load = key, restore
        return better

    def raise_bound(self, bound: float | None, *, of_rest: bool = False) -> None:
        """Raise the lower bound; record a contradiction if it exceeds the incumbent by more than rounding.

        ``of_rest``: the bound holds only for points that the incumbent has not excluded, and may exceed the incumbent.
        """
        if bound is not None and math.isfinite(bound) and (self.bound is None or bound > self.bound):
            if not of_rest:
                self._check_contradiction(self.best, bound)
            self.bound = bound if self.best is None else min(bound, self.best)

    def _check_contradiction(self, objective: float | None, bound: float | None) -> None:
        """Record the first objective and bound that contradict each other."""
        if self._contradiction is None and contradicts(objective, bound, self.config.gap, resolution=self.resolution):
            self._contradiction = (objective or 0.0, bound or 0.0)

    def closed(self, gap: float) -> bool:
        """Return whether the relative gap is at most ``gap``."""
        return is_closed(self.best, self.bound, gap, self.resolution)

    def forget(self) -> None:
        """Discard the incumbent and the bound, for a model without an optimum."""
        self.best, self.bound, self._kept, self._contradiction = None, None, None, None
        self._load = lambda: None

    def set_aside(self) -> None:
        """Discard the incumbent; the bound stays."""
        self.best, self._kept, self._load = None, None, lambda: None

    def _signed(self, x: float | None) -> float | None:
        return None if x is None else self.sign * x

    def record(self, step: str, objective: float | None, *, cuts: int, support: int | None) -> None:
        """Add a row to the iteration table, in the sense of the model's objective."""
        self.trace.row(
            step,
            objective=self._signed(objective),
            bound=self._signed(self.bound),
            incumbent=self._signed(self.best),
            cuts=cuts,
            support=support,
        )

    @contextmanager
    def timing(self, what: str) -> Iterator[None]:
        """Add the time of a block of code to that of a step: "prepare", "master" or "subproblem"."""
        start = self.clock.elapsed
        self._busy = what, start
        try:
            yield
        finally:
            self._busy = None
            self.seconds[what] += self.clock.elapsed - start

    def progress_text(self) -> list[str]:
        """Return gap, incumbent, bound, the current step if it takes long, and counts; another thread may call it."""
        best, bound, busy = self._signed(self.best), self._signed(self.bound), self._busy
        gap = relative_gap(best, bound, minimize=self.sign > 0)
        since = 0.0 if busy is None else self.clock.elapsed - busy[1]
        long = [f"{NAMES[busy[0]]} for {since:.0f} s"] if busy is not None and since >= LONG else []
        numbers = [f"best {best:.6g}" if best is not None else "", f"bound {bound:.6g}" if bound is not None else ""]
        together = ", ".join(text for text in ["" if gap is None else f"gap {100 * gap:.3g}%", *numbers] if text)
        return [*([together] if together else []), *long, *self.work_text()]

    def work_text(self) -> list[str]:
        """Return the amount of work so far as text; another thread may call it at any time."""
        return [f"{len(self.trace.rows)} rounds"] if self.trace.rows else []
