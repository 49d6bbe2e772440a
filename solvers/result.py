"""What a solve returns: why it stopped, what you hold, and how good that is."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from solvers import html

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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


DEFAULT_GAP = 1e-4  # relative
FEASIBLE = 1e-6  # largest violation of a point called optimal
HOPELESS = 1e-3  # largest violation of a point worth keeping
ROUNDING = 1e-9  # relative; no smaller gap is asked of a proof
AT_START = "No better point than the start was found: the model's own values are kept."
TOLERANCE = 1e-6  # relative; what a solver's bound may overstate by its tolerances


def relative_gap(
    objective: float | None, bound: float | None, *, minimize: bool = True, resolution: float = 0.0
) -> float | None:
    """Return ``(objective - bound) / |objective|``, 0 at least, or None where either is unknown.

    Two numbers that are both within ``resolution`` of 0 are one to the arithmetic of the instance: their gap is 0. An
    objective of 0 with another bound has a gap of 1e10.

    >>> relative_gap(10.0, 9.0)
    0.1
    >>> relative_gap(2e-12, 0.0), relative_gap(2e-12, 0.0, resolution=1e-11)
    (1.0, 0.0)
    """
    if objective is None or bound is None:
        return None
    distance = objective - bound if minimize else bound - objective
    if distance <= 0 or max(abs(objective), abs(bound)) <= resolution:
        return 0.0
    return distance / max(abs(objective), 1e-10 * abs(bound))


def is_closed(objective: float | None, bound: float | None, gap: float, resolution: float = 0.0) -> bool:
    """Return whether a lower bound has met an objective: within the gap asked for, or 1e-9 where that is smaller.

    >>> is_closed(1.0, 0.99995, 1e-4), is_closed(1e-7, 0.0, 1e-4), is_closed(1e-7, 0.0, 1e-4, resolution=1e-6)
    (True, False, True)
    """
    distance = relative_gap(objective, bound, resolution=resolution)
    return distance is not None and distance <= max(gap, ROUNDING)


def contradicts(
    objective: float | None, bound: float | None, gap: float, *, minimize: bool = True, resolution: float = 0.0
) -> bool:
    """Return whether a bound lies beyond an attained objective by more than rounding: one of the two is wrong.

    What a solver's tolerances let it overstate (1e-6, relative) is rounding where a larger gap was asked for.

    >>> contradicts(1.0, 1.001, 1e-4), contradicts(1.0, 1.0 + 1e-8, 1e-4), contradicts(1.0, 0.5, 1e-4)
    (True, False, False)
    """
    if objective is None or bound is None:
        return False
    excess = bound - objective if minimize else objective - bound
    size = max(abs(objective), abs(bound))
    return excess > max(ROUNDING, min(gap, TOLERANCE)) * size and size > resolution


@dataclass(frozen=True)
class Verdict:
    """What may be said of a point: its status, the bound that stands, and a sentence where a claim was not believed."""

    status: SolutionStatus
    bound: float | None
    message: str = ""


UNPROVEN = Verdict(SolutionStatus.FEASIBLE, None)  # what may be said of a heuristic that minimises nothing


def verdict(
    objective: float | None,
    bound: float | None,
    *,
    minimize: bool = True,
    gap: float = DEFAULT_GAP,
    resolution: float = 0.0,
    violation: float = 0.0,
    doubt: str = "",
    claim: SolutionStatus | None = None,
    who: str = "The solver",
) -> Verdict:
    """Say what is proven of a point; nothing else in the package may call one optimal.

    - ``objective``: the model's own, recomputed at the point; None without a point.
    - ``bound``: said to be a bound on the best objective.
    - ``gap``: relative, as asked for.
    - ``resolution``: absolute: what the instance's arithmetic tells from 0.
    - ``violation``: the largest by which the point misses a row.
    - ``doubt``: why the point may be feasible by tolerances only, "" where it is not.
    - ``claim``: what the solver or driver says. "optimal" counts for nothing without a bound that closes the gap;
      "stationary" stands where none does.
    - ``who``: whose claim it is, for the sentence.

    >>> verdict(1.0, 0.99999).status.value, verdict(1.0, 0.5).status.value, verdict(1.0, 1.1).status.value
    ('optimal', 'feasible', 'feasible')
    """
    nothing = (SolutionStatus.INFEASIBLE, SolutionStatus.UNBOUNDED, SolutionStatus.NO_SOLUTION)
    if claim is SolutionStatus.UNBOUNDED:
        return Verdict(claim, None)
    if objective is None:
        status = claim if claim in nothing else SolutionStatus.NO_SOLUTION
        return Verdict(status, bound if status is SolutionStatus.NO_SOLUTION else None)
    if violation > HOPELESS:
        return Verdict(SolutionStatus.NO_SOLUTION, bound, f"{who}'s point misses the model's rows by {violation:.1e}.")
    if contradicts(objective, bound, gap, minimize=minimize, resolution=resolution):
        side = "above" if minimize else "below"
        words = f"The bound {bound:.9g} lies {side} the objective {objective:.9g} that is attained: nothing is proven."
        return Verdict(SolutionStatus.FEASIBLE, None, words)
    if bound is not None:
        bound = min(bound, objective) if minimize else max(bound, objective)
    if claim is SolutionStatus.INFEASIBLE:
        return Verdict(SolutionStatus.FEASIBLE, bound, f"{who} reports infeasible, but there is a point.")
    if violation > FEASIBLE:
        words = f"{who}'s point misses the model's rows by {violation:.1e}: not called optimal."
        return Verdict(SolutionStatus.FEASIBLE, bound, words)
    if doubt:
        return Verdict(SolutionStatus.FEASIBLE, bound, f"{who}'s point is not called optimal: {doubt}.")
    distance = relative_gap(objective, bound, minimize=minimize, resolution=resolution)
    if distance is not None and distance <= max(gap, ROUNDING):
        return Verdict(SolutionStatus.OPTIMAL, bound)
    if claim is SolutionStatus.STATIONARY:
        return Verdict(SolutionStatus.STATIONARY, bound)
    words = ""
    if claim is SolutionStatus.OPTIMAL:
        proven = (
            "it reports no bound that proves it" if distance is None else f"its bound proves it to {distance:.1e} only"
        )
        words = f"{who} reports optimal; {proven}."
    return Verdict(SolutionStatus.FEASIBLE, bound, words)


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
    resolution : float
        Objective and bound that are both within this of 0 are one number to the arithmetic of the instance.
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
    resolution: float = 0.0
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def gap(self) -> float | None:
        """Relative distance between objective and bound; None where either is unknown."""
        return relative_gap(self.objective, self.bound, minimize=self.minimize, resolution=self.resolution)

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

    @property
    def sentence(self) -> str:
        """What is known of the best objective, for somebody who does not know duality."""
        side, better = ("below", "lower") if self.minimize else ("above", "higher")
        if not self.has_solution:
            words = {
                SolutionStatus.INFEASIBLE: "Proven: no point satisfies the model.",
                SolutionStatus.UNBOUNDED: "There is no best point: the objective has no end.",
            }
            return words.get(self.status, f"No point was found ({self.stop_reason.value}).")
        if self.gap is None:
            return "This point satisfies the model; how far it is from the best is not known."
        if self.status is SolutionStatus.OPTIMAL and self.gap <= ROUNDING:
            return f"Proven: no point has a {better} objective."
        percent = f"{max(100 * self.gap, 1e-4):.2g}" if self.gap < 0.1 else f"{100 * self.gap:.1f}"
        return f"Proven: the best possible objective is at most {percent}% {side} this one."

    def summary(self) -> pd.Series:
        """Return status, objective, bound, gap, features and seconds: a row of a table of several results.

        >>> one = Result(SolutionStatus.OPTIMAL, StopReason.CONVERGED, objective=4.0, bound=4.0, solver="highs")
        >>> pd.DataFrame({"highs": one.summary()}).T["status"].tolist()
        ['optimal']
        """
        features = None if self.selected is None or not self.has_solution else len(self.selected)
        told = {"status": self.status.value, "objective": self.objective, "bound": self.bound, "gap": self.gap}
        told |= {} if features is None else {"features": features}
        return pd.Series({**told, "seconds": round(self.seconds, 2)}, name=self.solver, dtype=object)

    def _repr_html_(self) -> str:
        rows = [
            ("status", f"{self.status.value} ({self.stop_reason.value})"),
            ("objective", "none" if self.objective is None else f"{self.objective:.6g}"),
            ("bound", "none" if self.bound is None else f"{self.bound:.6g}"),
            ("gap", "unknown" if self.gap is None else f"{self.gap:.2%}"),
            ("time", f"{self.seconds:.2f} s by {self.solver}"),
        ]
        if self.selected is not None and self.has_solution:
            rows.append((f"selected {len(self.selected)}", ", ".join(self.selected)))
        remark = html.paragraph(self.message) if self.message else ""
        return html.paragraph(self.sentence) + html.table(rows) + remark

    def plot(self, over: str = "seconds", ax: Axes | None = None, *, label: str = "") -> Axes:
        """Draw how the best objective found and the proven bound meet: what lies between them is left to doubt.

        Several results go onto the same axes one after the other, each in its own colour and with its ``label``. Of a
        solver that reports no iterations the end of the run is drawn.

        Parameters
        ----------
        over : {"seconds", "iterations"}
            What runs to the right.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default on a new figure.
        label : str
            Named in the legend; empty for a single run, whose status and gap are the title.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from solvers.pictures import draw_result

        return draw_result(self, over, ax, label)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what lives in this process only, such as a solver or a memory given as an option."""
        return {**self.__dict__, "options": _travelling(self.options), "details": _travelling(self.details)}


def _travelling(value: Any) -> Any:
    """Return a value with objects that are no plain data replaced by their type's name."""
    if isinstance(value, Mapping):
        return {key: _travelling(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return type(value)(_travelling(item) for item in value) if type(value) in (list, tuple, set) else str(value)
    plain = (bool, int, float, complex, str, bytes, enum.Enum, np.ndarray, np.generic, pd.DataFrame, pd.Series)
    return value if value is None or isinstance(value, plain) else f"<{type(value).__name__}>"


def reread(result: Result, objective: float, *, doubt: str = "", moved: bool = False) -> Verdict:
    """Say what stands of a result where a reader has recomputed the objective of its point: never more than it says.

    ``result``: Result. ``objective``: recomputed from the data that the model was made of. ``doubt``: why that is not
    the objective that the solver proved something about, "" where it is. ``moved``: whether the reader holds another
    point, which is not stationary.

    >>> proven = Result(SolutionStatus.OPTIMAL, StopReason.CONVERGED, objective=1.0, bound=0.99995)
    >>> reread(proven, 1.0 + 1e-9).status.value, reread(proven, 1.5, doubt="another number").status.value
    ('optimal', 'feasible')
    """
    bound, claim = result.bound, result.status
    if bound is not None and not doubt:  # attained, so any excess of the bound is the solver's rounding
        bound = min(bound, objective) if result.minimize else max(bound, objective)
    if claim is not SolutionStatus.OPTIMAL:
        return Verdict(SolutionStatus.FEASIBLE if moved else claim, bound)
    gap = result.options.get("gap")
    return verdict(
        objective,
        bound,
        minimize=result.minimize,
        gap=(DEFAULT_GAP if gap is None else gap) + TOLERANCE,  # both objectives are good to that
        resolution=result.resolution,
        doubt=doubt,
        claim=claim,
    )
