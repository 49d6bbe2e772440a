"""``fs.path``: a selection over a grid of parameters, in which each solve reuses the memory of earlier solves."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from fsmodels.checks import each_once
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import ParameterError
from fsmodels.models.fsp import penalties
from fsmodels.models.spec import ModelSpec
from fsmodels.selection.catalogue import find
from fsmodels.selection.curve import SelectionPath, point_text
from fsmodels.selection.request import Request, most_features
from fsmodels.selection.resampling import Resample, folds_of
from fsmodels.selection.rows import prices
from fsmodels.selection.selection import Selection
from fsmodels.selection.workers import each
from fsmodels.text import iterable, lasting
from solvers import SolutionStatus, StopReason, interrupt
from solvers import progress as watching
from solvers.clock import own_clock
from solvers.interrupt import Cancel
from solvers.result import relative_gap, verdict


def path(
    data: Dataset,
    model: str = "fsp-m",
    *,
    max_features: int | Iterable[int] | None = None,
    C: float | Iterable[float] | None = None,
    penalty: float | Mapping[str, float] | Iterable[Any] | None = None,
    budget: int | Iterable[int] | tuple[Mapping[str, float], float] | Iterable[tuple[Mapping[str, float], float]] = (),
    scale: str | None = None,
    validation: Dataset | None = None,
    folds: Any = None,
    n_jobs: int = 1,
    progress: bool = False,
    cancel: Cancel | None = None,
    **arguments: Any,
) -> SelectionPath:
    """Solve a model for each combination of values, and report them as one table.

    The model is built once; a kernel model is built for each point, with the same start. ``branch-and-cut`` reuses
    cuts, values of supports, pseudo-costs and incumbents of earlier points, which do not depend on ``max_features`` or
    ``penalty``; for another C it reuses the supports. If a point stopped at a limit, the table uses bounds of other
    points: the optimal objective never rises with ``max_features``, and never falls with C or a penalty.

    Parameters
    ----------
    data : Dataset
    model : str
        As in ``select``.
    max_features, C, penalty : a value, or several
        At least one of them is a sequence; the grid is their product. For fsmulti ``budget`` may be a sequence too.
    budget, scale
        As in ``select``.
    validation : Dataset, optional
        Other data for the error of each selection. They do not change the selections.
    folds : int or splitter of scikit-learn, optional
        Solve the path also on each fold, with its own scaling, and report the held-out error ``cv_error`` and its
        standard error ``cv_se`` for ``choose``. A number means stratified folds drawn with ``seed``.
    n_jobs : int
        Workers for the folds, by joblib; the results do not depend on it.
    progress : bool
        Show the current point and its progress.
    cancel : Cancel, optional
        Token that ends the call from another thread, as Ctrl-C does.
    **arguments
        As in ``select``: the side constraints, ``sample_weight``, ``class_weight``, ``solver``, options; ``time_limit``
        is for each point.

    Returns
    -------
    SelectionPath
        A pandas.DataFrame with ``plot``, ``choose``, ``knee``, ``intervals`` and ``table``, indexed by the parameters
        of the grid; columns ``objective``, ``bound``, ``gap``, ``status``, ``n_selected``, ``selected``,
        ``training_error``, ``validation_error`` (with ``validation``), ``cv_error`` and ``cv_se`` (with ``folds``),
        ``seconds``; for rfe, filters and one-norm-svm also ``fsp_objective``; for the family of FS ``fs_objective``
        and, with a refit, ``refit_training_error`` and ``refit_validation_error``. After Ctrl-C with the finished
        points.

    Raises
    ------
    ParameterError
        No parameter has several values, one is given twice, or a value is not allowed.
    DataError, ModelError, SolverError, OptionError
        As ``select`` does.

    Examples
    --------
    >>> import fsmodels as fs
    >>> table = fs.path(fs.load_dataset("bupa"), max_features=[2, 3])
    >>> table["n_selected"].tolist()
    [2, 3]
    """
    if "choose_by" in arguments:
        raise ParameterError("choose_by is a rule of select: path reports optima and, with validation=, their errors.")
    spec = find(model)
    given = {"max_features": max_features, "C": C, "penalty": penalty}
    budget = lasting(budget)
    if "budget" in spec.parameters and not prices(budget):
        given["budget"] = None if budget == () else budget
    else:
        arguments["budget"] = budget
    grids = {name: value for name, value in given.items() if _is_grid(value)}
    arguments |= {name: value for name, value in given.items() if name not in grids}
    request = Request.of(data, model, scale=scale, **arguments)
    grid = {name: _values(name, value, request.data, spec) for name, value in grids.items()}
    if not grid:
        raise ParameterError(
            "path needs several values of at least one parameter: give for example max_features=[1, 2, 5], "
            "C=[0.1, 1, 10] or penalty=[0.5, 1, 2]. For a single point use select, for R_plus and R_minus gmeb.path."
        )
    points = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    parts = [] if folds is None else folds_of(request.data, folds, arguments.get("seed") or 0)
    with interrupt.run(cancel), watching.shown(progress):
        found = _selections(request, points, validation)
        rows = [_label(point) | _row(one, validation) for point, one in zip(points, found, strict=False)]
        runs: dict[int, list[Any]] = {}
        if parts and len(found) == len(points) and found[-1].stop_reason is not StopReason.INTERRUPTED:
            limit = request.time_limit and request.time_limit * len(points)
            solve = partial(_of_fold, request.without_samples, points)
            each(solve, parts, n_jobs, runs.__setitem__, "fold", seconds=limit)
    ordered = spec.runs_solver and not any(isinstance(value, Mapping) for values in grid.values() for value in values)
    direction = {name: spec.objective_direction.get(name) for name in grid} if ordered else {}
    not_less = _not_less(rows, direction)
    _share_bounds(rows, not_less)
    selections = [
        replace(one, model=None, bound=row["bound"], status=SolutionStatus(row["status"]))
        for one, row in zip(found, rows, strict=True)
    ]
    finished = [runs[k] for k in sorted(runs)]
    by_point = None if len(runs) < 2 else [list(of_folds) for of_folds in zip(*finished, strict=True)]
    return SelectionPath.of(rows, list(grid), selections, not_less, by_point and by_point[: len(rows)])


def _selections(request: Request, points: list[dict[str, Any]], validation: Dataset | None) -> list[Selection]:
    """Return the selections at all points; after Ctrl-C, those at the points before it."""
    found: list[Selection] = []
    task: Request | None = None
    with interrupt.run():
        try:
            for point in watching.each(points, "point", point_text, request.time_limit):
                if task is None or not task.spec.reuses_model:
                    with interrupt.raising():
                        task = request.changed(**point).build().with_memory()
                else:
                    for name, value in point.items():
                        set_parameter(task.model, name, value, task.data)
                    task = task.changed(**point)
                with own_clock():
                    found.append(task.solve(validation))
                if found[-1].stop_reason is StopReason.INTERRUPTED or interrupt.pressed():
                    break
        except KeyboardInterrupt:
            if not found:
                raise
    return found


def _of_fold(
    request: Request, points: list[dict[str, Any]], part: Resample
) -> list[tuple[float | None, tuple[str, ...]]]:
    """Return held-out error and features at each point of a fold; (None, ()) without a solution.

    Raises KeyboardInterrupt if Ctrl-C came before the last point.
    """
    found = _selections(request.on(part.train), points, part.held_out)
    if len(found) < len(points) or found[-1].stop_reason is StopReason.INTERRUPTED:
        raise KeyboardInterrupt
    return [(one.validation_error, one.selected if one.has_solution else ()) for one in found]


def _is_grid(value: Any) -> bool:
    return iterable(value) and not isinstance(value, str | Mapping)


def _values(name: str, given: Any, data: Dataset, spec: ModelSpec) -> list[Any]:
    """Return the checked values in ascending order, so that incumbents remain feasible; mappings in the given order."""
    values = [v.item() if isinstance(v, np.generic) else v for v in given]
    for value in values:
        spec.check_value(name, value, data)
    each_once(name, values)
    return values if any(isinstance(value, Mapping) for value in values) else sorted(values)


def set_parameter(model: pyo.ConcreteModel, name: str, value: Any, data: Dataset) -> None:
    """Set a parameter of a built model; do nothing if the model does not contain it."""
    if name == "max_features" and model.component("max_columns") is not None:
        model.max_columns.set_value(value)
        value = most_features(data, value)
    parameter = model.component(name)
    if parameter is None:  # a parameter of the report only
        return
    if parameter.is_indexed():
        parameter.store_values(penalties(data, value))
    else:
        parameter.set_value(value)


def _label(point: dict[str, Any]) -> dict[str, Any]:
    """Return the point with mappings as text, for an index."""
    return {name: str(value) if isinstance(value, Mapping) else value for name, value in point.items()}


def _row(found: Selection, validation: Dataset | None) -> dict[str, Any]:
    row: dict[str, Any] = {
        "objective": found.objective,
        "bound": found.bound,
        "gap": found.gap,
        **{name: getattr(found, name) for name in find(found.name).comparison_objectives},
        "status": found.status.value,
        "n_selected": len(found.selected),
        "selected": list(found.selected),
        "training_error": found.training_error,
    }
    if validation is not None:
        row["validation_error"] = found.validation_error
    if find(found.name).refit:
        row["refit_training_error"] = (found.refit or found).training_error
        if validation is not None:
            row["refit_validation_error"] = (found.refit or found).validation_error
    return row | {"seconds": found.seconds}


def _not_less(rows: list[dict[str, Any]], direction: Mapping[str, int | None]) -> NDArray[np.bool_]:
    """Return a matrix over pairs of points: True if the optimum of the second is at least that of the first.

    ``direction``: sign of the change of the optimum with each parameter. Without it a point is comparable only with
    itself.
    """
    if not direction or None in direction.values():
        return np.eye(len(rows), dtype=bool)
    signed = np.array([[sign * row[name] for name, sign in direction.items()] for row in rows], dtype=float)
    return np.asarray((signed[None, :] >= signed[:, None]).all(axis=2))


def _share_bounds(rows: list[dict[str, Any]], not_less: NDArray[np.bool_]) -> None:
    """Raise each bound to the bounds of points whose optimum cannot be larger."""
    proven = [row["bound"] for row in rows]
    for k, row in enumerate(rows):
        below = [proven[other] for other in np.flatnonzero(not_less[:, k]) if proven[other] is not None]
        if row["objective"] is None or not below:
            continue
        if row["bound"] is None or max(below) > row["bound"]:
            proof = verdict(row["objective"], min(max(below), row["objective"]), gap=0.0)
            row["bound"] = proof.bound
            row["gap"] = relative_gap(row["objective"], row["bound"])
            if row["gap"] == 0.0:
                row["status"] = proof.status.value
