"""One fit of one model to two classes: data, model, constraints, solver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyomo.environ as pyo

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

__all__ = ["SideRows", "built", "solved", "warn_of_limits"]

LIMITS = (StopReason.TIME_LIMIT, StopReason.ITERATION_LIMIT, StopReason.INTERRUPTED)


@dataclass(frozen=True)
class SideRows:
    """Side constraints: declarations by the words of ``select``, and functions of the live model."""

    declared: dict[str, Any]
    functions: Sequence[Callable[[Any], Any]]


def built(data: Dataset, asked: Asked, rows: SideRows, time_limit: float | None = None) -> Prepared:
    """Build the model with its side constraints, on data that are scaled here unless they are already."""
    declared = dict(rows.declared)
    data, fair = beside(data, declared.pop("fair", ()))
    words = {**asked.words, **declared}
    if "budget" in asked.words and "budget" in declared:
        costs = declared["budget"]
        words["budget"] = [asked.words["budget"], *(costs if isinstance(costs, list) else [costs])]
    if time_limit is not None:
        words["time_limit"] = time_limit
    footed = on_one_footing(data, asked.scale)
    task = prepared(footed, asked.recipe.name, fair=fair, solver=asked.solver, **words, **asked.options)
    if rows.functions:
        if task.model is None:
            task.model = rows_model(task.data.features)
        constraints.apply(rows.functions, task.model)
    return task


def solved(data: Dataset, asked: Asked, rows: SideRows, time_limit: float | None) -> Selection:
    """Build and solve.

    Raises NoSelection, SolverError: nothing was found, and why.
    """
    with interrupt.run(), own_clock():
        with interrupt.raising(), put_off():
            task = built(data, asked, rows, time_limit)
        found = task.run()
    if found.has_solution:
        return found
    said = report.headline(found)
    if found.stop_reason is StopReason.INTERRUPTED:
        raise KeyboardInterrupt(said)
    raise (NoSelection if found.status is SolutionStatus.INFEASIBLE else SolverError)(said)


def rebuilt(data: Dataset, asked: Asked, rows: SideRows) -> pyo.ConcreteModel | None:
    """Return the model alone, for an estimator that comes from a file or another process."""
    with put_off():
        return built(data, asked, rows).model


def warn_of_limits(found: Sequence[Selection]) -> None:
    """Warn, as scikit-learn does, where a limit ended a solve before anything else did."""
    from sklearn.exceptions import ConvergenceWarning

    for one in found:
        if one.stop_reason in LIMITS:
            warn(report.headline(one), ConvergenceWarning)
