"""One fit of one model to two classes: data, model, constraints, solver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from fsmodels.datasets.dataset import Dataset
from fsmodels.datasets.units import on_one_footing
from fsmodels.errors import NoSelection, SolverError
from fsmodels.selection import report
from fsmodels.selection.select import Prepared, prepared
from fsmodels.selection.selection import Selection
from fsmodels.selection.sides import beside, rows_model
from fsmodels.sklearn import constraints
from fsmodels.sklearn.asked import Asked
from solvers import SolutionStatus, StopReason, interrupt
from solvers.clock import own_clock
from solvers.garbage import put_off
from solvers.outside import warn

__all__ = ["SideRows", "TwoClasses", "built", "rebuilt", "refuse_nothing", "solved", "warn_of_limits"]

LIMITS = (StopReason.TIME_LIMIT, StopReason.ITERATION_LIMIT, StopReason.INTERRUPTED)


@dataclass(frozen=True)
class TwoClasses:
    """Two classes: data in original units, or scaled already, and what mistakes cost.

    ``by_class``: in class -1 and in +1, or "balanced". ``within`` (n_samples,): each sample's share of that, of mean 1
    in its class: of those that are several of the user's. Neither counts in a scaling.
    """

    data: Dataset
    by_class: tuple[float, float] | str | None = None
    within: NDArray[np.float64] | None = None

    def footed(self, data: Dataset, scale: str) -> Dataset:
        """Return these data, or what is left of them with columns aside, scaled and weighed."""
        data = on_one_footing(data, scale)
        if self.by_class is None and self.within is None:
            return data
        given = data.multiplicity
        if self.within is not None:
            given = self.within if given is None else given * self.within
        rule = dict(zip((-1, 1), self.by_class, strict=True)) if isinstance(self.by_class, tuple) else self.by_class
        plain = replace(data, negative_label=-1, positive_label=1)  # which the user's labels may be, the other way
        weighed = plain.weighted(given, rule)
        return replace(weighed, negative_label=data.negative_label, positive_label=data.positive_label)


@dataclass(frozen=True)
class SideRows:
    """Side constraints: declarations by the words of ``select``, and functions of the live model."""

    declared: dict[str, Any]
    functions: Sequence[Callable[[Any], Any]]


def built(problem: TwoClasses, asked: Asked, rows: SideRows, time_limit: float | None = None) -> Prepared:
    """Build the model with its side constraints, on data that are scaled here unless they are already."""
    declared = dict(rows.declared)
    data, fair = beside(problem.data, declared.pop("fair", ()))
    words = {**asked.words, **declared}
    if "budget" in asked.words and "budget" in declared:
        costs = declared["budget"]
        words["budget"] = [asked.words["budget"], *(costs if isinstance(costs, list) else [costs])]
    if time_limit is not None:
        words["time_limit"] = time_limit
    footed = problem.footed(data, asked.scale)
    task = prepared(footed, asked.recipe.name, fair=fair, solver=asked.solver, **words, **asked.options)
    if rows.functions:
        if task.model is None:
            task.model = rows_model(task.data.features)
        constraints.apply(rows.functions, task.model)
    return task


def solved(problem: TwoClasses, asked: Asked, rows: SideRows, time_limit: float | None) -> Selection:
    """Build and solve the model of one problem.

    Raises NoSelection, SolverError: nothing was found, and why.
    """
    with interrupt.run(), own_clock():
        with interrupt.raising(), put_off():
            task = built(problem, asked, rows, time_limit)
        found = task.run()
    refuse_nothing(found)
    return found


def refuse_nothing(found: Selection) -> None:
    """Raise NoSelection, SolverError where there is no classifier, KeyboardInterrupt where that is why."""
    if found.has_solution:
        return
    said = report.headline(found)
    if found.stop_reason is StopReason.INTERRUPTED:
        raise KeyboardInterrupt(said)
    raise (NoSelection if found.status is SolutionStatus.INFEASIBLE else SolverError)(said)


def rebuilt(data: Dataset, asked: Asked, rows: SideRows) -> pyo.ConcreteModel | None:
    """Return the model alone, for an estimator that comes from a file or another process."""
    with put_off():
        return built(TwoClasses(data), asked, rows).model


def warn_of_limits(found: Sequence[Selection]) -> None:
    """Warn, as scikit-learn does, where a limit ended a solve before anything else did."""
    from sklearn.exceptions import ConvergenceWarning

    for one in found:
        if one.stop_reason in LIMITS:
            warn(report.headline(one), ConvergenceWarning)
