"""The result of a solve, and the rules by which a point is called optimal."""

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
    """Reason why the solver or driver stopped."""

    CONVERGED = "converged"
    TIME_LIMIT = "time_limit"
    ITERATION_LIMIT = "iteration_limit"
    INTERRUPTED = "interrupted"
    CALLBACK = "callback"
    SOLVER_ERROR = "solver_error"


class SolutionStatus(enum.StrEnum):
    """Status of the returned point."""

    OPTIMAL = "optimal"  # a valid bound is within the requested gap
    STATIONARY = "stationary"  # from a local solver, without a proof
    FEASIBLE = "feasible"  # satisfies the model; the gap bounds its distance to the optimum
    INFEASIBLE = "infeasible"  # proven
    UNBOUNDED = "unbounded"
    NO_SOLUTION = "no_solution"  # no point was found


DEFAULT_GAP = 1e-4  # relative
FEASIBLE = 1e-6  # largest violation of a point with status optimal
ALMOST_INTEGER = 1e-4  # distance from an integer below which a value is rounded; solvers return integers within 1e-5
HOPELESS = 1e-3  # largest violation of a point that is returned
ROUNDING = 1e-9  # relative; a smaller requested gap counts as this one
AT_START = "No better point than the start was found: the values of the model are kept."
BELOW_TOLERANCES = "The requested gap is below the tolerances of the solvers that the driver uses: it cannot be proven."
TOLERANCE = 1e-6  # relative; the error of a solver's bound that its tolerances allow


def relative_gap(
    objective: float | None, bound: float | None, *, minimize: bool = True, resolution: float = 0.0
) -> float | None:
    """Return ``(objective - bound) / |objective|``, at least 0, or None if one of them is unknown.

    If both are within ``resolution`` of 0 the gap is 0. An objective of 0 with another bound has a gap of 1e10.

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
    """Return True if the gap between an objective and a lower bound is at most the requested one, or 1e-9.

    >>> is_closed(1.0, 0.99995, 1e-4), is_closed(1e-7, 0.0, 1e-4), is_closed(1e-7, 0.0, 1e-4, resolution=1e-6)
    (True, False, True)
    """
    distance = relative_gap(objective, bound, resolution=resolution)
    return distance is not None and distance <= max(gap, ROUNDING)


def contradicts(
    objective: float | None, bound: float | None, gap: float, *, minimize: bool = True, resolution: float = 0.0
) -> bool:
    """Return True if a bound exceeds an attained objective by more than rounding, so that one of them is wrong.

    If a larger gap was requested, an excess of 1e-6 (relative) is allowed for the tolerances of solvers.

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
    """The status of a point, the bound that is proven, and the reason if a claim of the solver was rejected."""

    status: SolutionStatus
    bound: float | None
    message: str = ""


UNPROVEN = Verdict(SolutionStatus.FEASIBLE, None)  # for the point of a heuristic


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
    who: str = "the solver",
) -> Verdict:
    """Return the status and the bound that are proven for a point; the only function that returns "optimal".

    - ``objective``: recomputed from the model at the point; None without a point.
    - ``bound``: of the optimum, as the solver or driver reports it.
    - ``gap``: the requested relative gap.
    - ``resolution``: the largest objective that counts as 0 in the arithmetic of the instance.
    - ``violation``: the largest violation of a row by the point.
    - ``doubt``: why the point may be feasible to tolerances only; "" if it is exact.
    - ``claim``: the status that the solver or driver reports. "optimal" is confirmed only by a bound that closes the
      gap; "stationary" applies only without such a bound.
    - ``who``: the name of the solver, for the message.

    >>> verdict(1.0, 0.99999).status.value, verdict(1.0, 0.5).status.value, verdict(1.0, 1.1).status.value
    ('optimal', 'feasible', 'feasible')
    """
    without_point = (SolutionStatus.INFEASIBLE, SolutionStatus.UNBOUNDED, SolutionStatus.NO_SOLUTION)
    if claim is SolutionStatus.UNBOUNDED:
        return Verdict(claim, None)
    if objective is None:
        status = claim if claim in without_point else SolutionStatus.NO_SOLUTION
        return Verdict(status, bound if status is SolutionStatus.NO_SOLUTION else None)
    if violation > HOPELESS:
        return Verdict(SolutionStatus.NO_SOLUTION, bound, f"The point of {who} violates the rows by {violation:.1e}.")
    if contradicts(objective, bound, gap, minimize=minimize, resolution=resolution):
        side = "above" if minimize else "below"
        message = (
            f"The bound {bound:.9g} is {side} the objective {objective:.9g} of a feasible point: nothing is proven."
        )
        return Verdict(SolutionStatus.FEASIBLE, None, message)
    if bound is not None:
        bound = min(bound, objective) if minimize else max(bound, objective)
    if claim is SolutionStatus.INFEASIBLE:
        return Verdict(SolutionStatus.FEASIBLE, bound, f"{who} reports infeasible, but a point satisfies the rows.")
    if violation > FEASIBLE:
        message = f"The point of {who} violates the rows by {violation:.1e}, so it is not reported as optimal."
        return Verdict(SolutionStatus.FEASIBLE, bound, message)
    if doubt:
        return Verdict(SolutionStatus.FEASIBLE, bound, f"The point of {who} is not reported as optimal: {doubt}.")
    distance = relative_gap(objective, bound, minimize=minimize, resolution=resolution)
    if distance is not None and distance <= max(gap, ROUNDING):
        return Verdict(SolutionStatus.OPTIMAL, bound)
    if claim is SolutionStatus.STATIONARY:
        return Verdict(SolutionStatus.STATIONARY, bound)
    message = ""
    if claim is SolutionStatus.OPTIMAL:
        proof = "it reports no reliable bound" if distance is None else f"its bound proves a gap of {distance:.1e} only"
        message = f"{who} reports optimal, but {proof}."
    return Verdict(SolutionStatus.FEASIBLE, bound, message)


@dataclass
class Result:
    """The outcome of one solve; the model holds the values of the incumbent.

    Attributes
    ----------
    objective, bound : float or None
        The objective at the incumbent, recomputed from the model, and a proven bound on the optimum (a lower bound when
        minimising). None if there is none.
    selected : list of str or None
        Names of the selected features, if the builder of the model defines them.
    iterations : pandas.DataFrame
        A row for each iteration of a driver: Iter, Step, Objective, Bound, Incumbent, Gap, Cuts, ``|S|``, Time (s).
    message : str
        The outcome in a sentence, or the rows that have no common solution.
    resolution : float
        If the absolute values of objective and bound are at most this, the gap is 0.
    details : dict
        Further data of the solver or driver, for example the seconds spent in the subproblem.
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
        """Relative distance between objective and bound; None if one of them is unknown."""
        return relative_gap(self.objective, self.bound, minimize=self.minimize, resolution=self.resolution)

    @property
    def has_solution(self) -> bool:
        """Whether the model holds a point."""
        return self.objective is not None

    def _numbers(self) -> dict[str, str]:
        """Return objective, bound and gap as text."""
        shown = {
            name: "none" if x is None else f"{x:.6g}"
            for name, x in (("objective", self.objective), ("bound", self.bound))
        }
        return {**shown, "gap": "unknown" if self.gap is None else f"{self.gap:.2%}"}

    def __str__(self) -> str:
        lines = [
            f"{self.status.value} ({self.stop_reason.value}) by {self.solver} in {self.seconds:.2f} s",
            ", ".join(f"{name} {number}" for name, number in self._numbers().items()),
        ]
        if self.selected is not None and self.has_solution:
            lines.append(f"selected {len(self.selected)}: {', '.join(self.selected)}")
        if self.message:
            lines.append(self.message)
        return "\n".join(lines)

    __repr__ = __str__

    @property
    def sentence(self) -> str:
        """The proven distance to the optimum in a sentence, without terms of duality."""
        side, better = ("below", "lower") if self.minimize else ("above", "higher")
        if not self.has_solution:
            sentences = {
                SolutionStatus.INFEASIBLE: "Proven: no point satisfies the model.",
                SolutionStatus.UNBOUNDED: "The objective is unbounded: there is no best point.",
            }
            return sentences.get(self.status, f"No point was found ({self.stop_reason.value}).")
        if self.gap is None:
            return "This point satisfies the model; its distance from the optimum is unknown."
        if self.status is SolutionStatus.OPTIMAL and self.gap <= ROUNDING:
            return f"Proven: no point has a {better} objective."
        percent = f"{max(100 * self.gap, 1e-4):.2g}" if self.gap < 0.1 else f"{100 * self.gap:.1f}"
        return f"Proven: the best possible objective is at most {percent}% {side} this one."

    def summary(self) -> pd.Series:
        """Return status, objective, bound, gap, features and seconds, as a row for a table of several results.

        >>> one = Result(SolutionStatus.OPTIMAL, StopReason.CONVERGED, objective=4.0, bound=4.0, solver="highs")
        >>> pd.DataFrame({"highs": one.summary()}).T["status"].tolist()
        ['optimal']
        """
        features = None if self.selected is None or not self.has_solution else len(self.selected)
        row = {"status": self.status.value, "objective": self.objective, "bound": self.bound, "gap": self.gap}
        row |= {} if features is None else {"features": features}
        return pd.Series({**row, "seconds": round(self.seconds, 2)}, name=self.solver, dtype=object)

    def _repr_html_(self) -> str:
        rows = [
            ("status", f"{self.status.value} ({self.stop_reason.value})"),
            *self._numbers().items(),
            ("time", f"{self.seconds:.2f} s by {self.solver}"),
        ]
        if self.selected is not None and self.has_solution:
            rows.append((f"selected {len(self.selected)}", ", ".join(self.selected)))
        remark = html.paragraph(self.message) if self.message else ""
        return html.paragraph(self.sentence) + html.table(rows) + remark

    def plot(self, over: str = "seconds", ax: Axes | None = None, *, label: str = "") -> Axes:
        """Draw the incumbent and the proven bound over the run.

        Several results can be drawn on the same axes, each with its own colour and ``label``. For a solver without a
        table of iterations only the end of the run is drawn.

        Parameters
        ----------
        over : {"seconds", "iterations"}
            Horizontal axis.
        ax : matplotlib.axes.Axes, optional
            The default is a new figure.
        label : str
            Entry of the legend. Without a label, status and gap are the title.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from solvers.pictures import draw_result

        return draw_result(self, over, ax, label)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out objects of this process, such as a solver object or a memory among the options."""
        return {**self.__dict__, "options": _plain_data(self.options), "details": _plain_data(self.details)}


def _plain_data(value: Any) -> Any:
    """Return a value in which objects other than plain data are replaced by the names of their types."""
    if isinstance(value, Mapping):
        return {key: _plain_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return type(value)(_plain_data(item) for item in value) if type(value) in (list, tuple, set) else str(value)
    plain = (bool, int, float, complex, str, bytes, enum.Enum, np.ndarray, np.generic, pd.DataFrame, pd.Series)
    return value if value is None or isinstance(value, plain) else f"<{type(value).__name__}>"


def recomputed_verdict(result: Result, objective: float, *, doubt: str = "", moved: bool = False) -> Verdict:
    """Return the verdict on a result with an objective recomputed from the data; it is never better than the result.

    ``doubt``: why this objective is not the one of the proof; "" if it is. ``moved``: True if the point was changed, so
    that it is not stationary.

    >>> proven = Result(SolutionStatus.OPTIMAL, StopReason.CONVERGED, objective=1.0, bound=0.99995)
    >>> recomputed_verdict(proven, 1.0 + 1e-9).status.value
    'optimal'
    >>> recomputed_verdict(proven, 1.5, doubt="another objective").status.value
    'feasible'
    """
    bound, claim = result.bound, result.status
    if bound is not None and not doubt:  # the objective is attained, so an excess of the bound is rounding
        bound = min(bound, objective) if result.minimize else max(bound, objective)
    if claim is not SolutionStatus.OPTIMAL:
        return Verdict(SolutionStatus.FEASIBLE if moved else claim, bound)
    gap = result.options.get("gap")
    return verdict(
        objective,
        bound,
        minimize=result.minimize,
        gap=(DEFAULT_GAP if gap is None else gap) + TOLERANCE,  # the accuracy of both objectives
        resolution=result.resolution,
        doubt=doubt,
        claim=claim,
    )
