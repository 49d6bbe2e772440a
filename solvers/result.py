"""What a solve returns: why it stopped, what you hold, and how good that is."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd


class StopReason(enum.StrEnum):
    """Why the solver or driver stopped."""

    CONVERGED = "converged"
    TIME_LIMIT = "time_limit"
    ITERATION_LIMIT = "iteration_limit"
    INTERRUPTED = "interrupted"
    CALLBACK = "callback"
    SOLVER_ERROR = "solver_error"


class SolutionStatus(enum.StrEnum):
    """What is known of the point that came back."""

    OPTIMAL = "optimal"  # a valid bound closes the gap to what was asked
    STATIONARY = "stationary"  # a local solver's answer: nothing proven
    FEASIBLE = "feasible"  # satisfies the model; the gap says how far it may be from the best
    INFEASIBLE = "infeasible"  # proven: no point satisfies the model
    UNBOUNDED = "unbounded"
    NO_SOLUTION = "no_solution"  # stopped before a point was found


def relative_gap(objective: float | None, bound: float | None, *, minimize: bool = True) -> float | None:
    """Return ``(objective - bound) / max(|objective|, 1e-10)``, 0 at least, or None where either is unknown.

    Examples
    --------
    >>> relative_gap(10.0, 9.0)
    0.1
    """
    if objective is None or bound is None:
        return None
    distance = objective - bound if minimize else bound - objective
    return max(0.0, distance) / max(abs(objective), 1e-10)


@dataclass
class Result:
    """The outcome of one solve; the model holds the incumbent's values.

    Attributes
    ----------
    objective, bound : float or None
        The model's own objective at the incumbent, recomputed from the model, and a proven bound on the best one
        (a lower bound when minimising). None where there is none.
    selected : list of str or None
        Names of the selected features, where the model says which variables select.
    iterations : pandas.DataFrame
        One row an iteration of a driver: Iter, Step, Objective, Bound, Incumbent, Gap, Cuts, ``|S|``, Time (s).
    message : str
        One sentence for a person: what came out, or which rows clash.
    details : dict
        Facts of the solver or driver, for example seconds spent in the subproblem.
    """

    status: SolutionStatus
    stop_reason: StopReason
    objective: float | None = None
    bound: float | None = None
    minimize: bool = True
    selected: list[str] | None = None
    iterations: pd.DataFrame = field(default_factory=pd.DataFrame)
    seconds: float = 0.0
    solver: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    message: str = ""
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def gap(self) -> float | None:
        """Relative distance between objective and bound; None where either is unknown."""
        return relative_gap(self.objective, self.bound, minimize=self.minimize)

    @property
    def has_solution(self) -> bool:
        """Whether the model holds a point worth reading."""
        return self.objective is not None

    def __str__(self) -> str:
        def number(x: float | None) -> str:
            return "none" if x is None else f"{x:.6g}"

        gap = "unknown" if self.gap is None else f"{self.gap:.2%}"
        lines = [
            f"{self.status.value} ({self.stop_reason.value}) by {self.solver} in {self.seconds:.2f} s",
            f"objective {number(self.objective)}, bound {number(self.bound)}, gap {gap}",
        ]
        if self.selected is not None and self.has_solution:
            lines.append(f"selected {len(self.selected)}: {', '.join(self.selected)}")
        if self.message:
            lines.append(self.message)
        return "\n".join(lines)

    __repr__ = __str__
