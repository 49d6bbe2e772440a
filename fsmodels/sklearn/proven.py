"""What is proven about a fit: objective, bound, and a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fsmodels.selection.report import number, percent
from fsmodels.selection.selection import Selection
from solvers import SolutionStatus
from solvers.result import relative_gap

__all__ = ["FitCertificate", "of_selections"]


@dataclass(frozen=True)
class FitCertificate:
    """What is known of the objective, which a fit minimises.

    Attributes
    ----------
    objective : float or None
        What the model pays, recomputed from the data; of several classes with a model each, the sum. None for methods
        that minimise nothing.
    bound : float or None
        No solution of the model has a lower objective; None where nothing is proven.
    gap : float or None
        ``|objective - bound| / |objective|``.
    status : str
        "optimal" where the bound closes the gap, else "stationary" or "feasible".
    message : str
        What the solver or the model says besides.
    """

    objective: float | None
    bound: float | None
    gap: float | None
    status: str
    message: str = ""

    @property
    def sentence(self) -> str:
        """The same in words."""
        if self.objective is None:
            return "A heuristic without an objective: nothing is proven about this selection."
        cost = f"The objective is {number(self.objective)}"
        if self.bound is None or self.gap is None:
            what = "a stationary point: " if self.status == "stationary" else ""
            return f"{cost}, {what}nothing is proven about better ones."
        if self.status == "optimal":
            within = f", to {percent(self.gap)}" if self.gap > 5e-7 else ""
            return f"{cost}, and it is proven that none is lower{within} (bound {number(self.bound)})."
        return f"{cost}; it is proven that none is below {number(self.bound)}, a gap of {percent(self.gap)}."

    def __str__(self) -> str:
        return self.sentence


def of_selections(found: Sequence[Selection]) -> FitCertificate:
    """Return what is proven about selections that are chosen independently: objectives and bounds add up."""
    if len(found) == 1:
        one = found[0]
        return FitCertificate(one.objective, one.bound, one.gap, one.status.value, one.message)
    objectives, bounds = [one.objective for one in found], [one.bound for one in found]
    objective = None if None in objectives else sum(x for x in objectives if x is not None)
    bound = None if None in bounds else sum(x for x in bounds if x is not None)
    weakest = max(found, key=_weakness).status.value
    resolution = sum(one.result.resolution for one in found)
    gap = relative_gap(objective, bound, minimize=True, resolution=resolution)
    return FitCertificate(
        objective, bound, gap, weakest, " ".join(dict.fromkeys(one.message for one in found if one.message))
    )


def _weakness(one: Selection) -> int:
    """Return how little is known: 0 of an optimum, 1 of a stationary point."""
    return 0 if one.status is SolutionStatus.OPTIMAL else 1 if one.status is SolutionStatus.STATIONARY else 2
