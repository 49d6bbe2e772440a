"""From data to a reported selection in one call, with an objective that is recomputed from data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyomo.environ as pyo
from numpy.typing import NDArray

from fsmodels import _reading, _report, side_constraints
from fsmodels._messages import listed
from fsmodels.checks import dataset
from fsmodels.dataset import Dataset
from fsmodels.errors import DataError, ModelError, ParameterError
from fsmodels.recipes import MODELS, Recipe, find, used_parameters
from solvers import Result, SolutionStatus, StopReason, solve
from solvers.registry import DRIVERS
from solvers.result import relative_gap

__all__ = ["Selection", "select"]

FloatArray = NDArray[np.float64]
Pairs = Iterable[tuple[str, str]]

USED = 1e-6  # without a sigma, a feature is selected when |w_j| is above this multiple of the largest
AGREEMENT = 1e-6  # relative: the solver's objective and the one recomputed from the weights


@dataclass(frozen=True, eq=False, repr=False)
class Selection:
    """Selected features, their classifier, and what is proven about them.

    Attributes
    ----------
    name : str
        The model's name in the table.
    data : Dataset
        What the model was built from.
    parameters : dict
        Those of the model, and the side constraints.
    selected : tuple of str
        sigma = 1 where the model has a sigma; else ``|w_j|`` above 1e-6 of the largest. In the order of the data.
    weights : dict
        Feature -> weight on ``data`` as scaled: every selected feature, and any other whose weight is not 0.
    bias : float or None
    objective, bound : float or None
        The formulation's objective, recomputed from ``data``, ``weights`` and ``bias`` without the solver, and a
        proven lower bound on the best one.
    status, stop_reason : SolutionStatus, StopReason
        What you hold, and why the run stopped.
    message : str
        What a person should know: rows that clash, a bound that could not be proven.
    validation_error : float or None
        Share of wrong labels on the validation data.
    result : Result
        The solver's own, with the iteration table of a driver.
    model : pyo.ConcreteModel or None
        The live model with the solution's values; None for a baseline.
    ranking : pandas.Series or None
        Scores of a baseline, best first.
    """

    name: str
    data: Dataset
    parameters: dict[str, Any]
    selected: tuple[str, ...]
    weights: dict[str, float]
    bias: float | None
    objective: float | None
    bound: float | None
    status: SolutionStatus
    stop_reason: StopReason
    result: Result
    message: str = ""
    validation_error: float | None = None
    model: pyo.ConcreteModel | None = None
    ranking: pd.Series | None = None

    @property
    def has_solution(self) -> bool:
        """Whether there is a classifier."""
        return self.bias is not None

    @property
    def gap(self) -> float | None:
        """``(objective - bound) / max(|objective|, 1e-10)``; None without a bound."""
        return relative_gap(self.objective, self.bound)

    @property
    def seconds(self) -> float:
        """Wall-clock time of the solve."""
        return self.result.seconds

    @cached_property
    def _original(self) -> tuple[dict[str, float], float | None]:
        if self.bias is None:
            return {}, None
        w, b = self.data.original_weights(self.weights, self.bias)
        by_name = dict(zip(self.data.features, w.tolist(), strict=True))
        return {name: by_name[name] for name in self.weights}, b

    @property
    def weights_original(self) -> dict[str, float]:
        """The weights for data in original units."""
        return self._original[0]

    @property
    def bias_original(self) -> float | None:
        """The bias for data in original units."""
        return self._original[1]

    @property
    def training_error(self) -> float | None:
        """Share of wrong labels on the data that the model was built from."""
        return self.error(self.data) if self.has_solution else None

    def decision(self, data: Dataset | pd.DataFrame) -> FloatArray:
        """Return w.x + b for each row: above 0 means class +1.

        Parameters
        ----------
        data : Dataset or DataFrame
            A Dataset under any scaling, or a table in original units; columns are found by name.

        Raises
        ------
        ModelError
            If there is no solution.
        DataError
            If a feature is missing.
        """
        if self.bias is None or self.bias_original is None:
            raise ModelError(f"There is no classifier: the solve ended as {self.status.value}. {self.message}".strip())
        names = list(self.weights)
        if isinstance(data, pd.DataFrame):
            there = {str(column) for column in data.columns}
            if missing := [name for name in names if name not in there]:
                raise DataError(f"predict: the table lacks columns ({listed(missing)}): give each selected feature.")
            X = _reading.feature_matrix(data[names], names, _reading.FRAME)
            return np.asarray(X @ np.array(list(self.weights_original.values()))) + self.bias_original
        if not names:
            return np.full(len(data), self.bias)
        X = self.data.select_features(names).apply_scale_to(data).X
        return np.asarray(X @ np.array(list(self.weights.values()))).ravel() + self.bias

    def predict(self, data: Dataset | pd.DataFrame) -> FloatArray:
        """Return the class of each row, -1.0 or +1.0; w.x + b = 0 counts as -1."""
        return np.where(self.decision(data) > 0, 1.0, -1.0)

    def error(self, data: Dataset) -> float:
        """Return the share of wrong labels on other data."""
        return float(np.mean(self.predict(data) != data.y))

    def to_dict(self) -> dict[str, Any]:
        """Return the content of the JSON file; ``null`` (None) where there is none, never NaN.

        ``objective``, ``bound``, ``weights`` and ``bias`` belong to the scaled data, so that the objective can be
        recomputed: ``weights`` holds every weight that is not 0. ``weights_original`` and ``bias_original`` are the
        same classifier for the file's units.
        """
        return _report.contract(self)

    def __repr__(self) -> str:
        return _report.text(self)

    def _repr_html_(self) -> str:
        return _report.html(self)


def select(
    data: Dataset,
    model: str = "fsp-m",
    *,
    max_features: int | None = None,
    C: float | None = None,
    penalty: float | Mapping[str, float] | None = None,
    budget: tuple[Mapping[str, float], float] | Iterable[tuple[Mapping[str, float], float]] = (),
    requires: Pairs = (),
    excludes: Pairs = (),
    force_in: Iterable[str] = (),
    solver: Any = None,
    validation: Dataset | None = None,
    progress: bool = False,
    **options: Any,
) -> Selection:
    """Build a model by name, solve it and report the selection.

    Parameters
    ----------
    data : Dataset
        Scaled or not: ``data.scaled("standard")`` puts features on one footing, which models that compare weights need.
    model : str
        One of ``fsmodels.recipes.MODELS``: svm, one-norm-svm, fsp-m, fsp-lambda, rfe, information-gain,
        mutual-information.
    max_features : int, optional
        The most features, for models that take it.
    C : float, optional
        The weight of the sum of slacks; 1 where it is left out.
    penalty : float or mapping feature -> float, optional
        The price of a feature in the objective (fsp-lambda).
    budget : (costs, limit), or several of them
        ``sum of costs of the selected features <= limit``; a feature without a cost is free.
    requires, excludes : pairs of features
        ``("a", "b")``: a only together with b; not both a and b.
    force_in : features
        These are selected.
    solver : str or Pyomo solver, optional
        Any of ``fs.available()``; by default the one that the model's structure names, or one for its class. A solver
        that takes the whole model gets fsp-m and fsp-lambda with ``form="big-m"``, unless ``form`` is given.
    validation : Dataset, optional
        Other data; the error on it is reported. A driver with an option ``validation`` then also keeps, of the
        classifiers it meets, that of least error on it (Aytug 2015) and not that of least objective.
    progress : bool
        Show the iteration table of a driver while it grows (``tee=True`` shows a solver's own log too).
    **options
        Further parameters of the builder (``form="big-m"``), and options of the solver: ``gap``, ``time_limit``,
        ``seed``, ``threads``, ``tee`` and its own.

    Returns
    -------
    Selection

    Raises
    ------
    ParameterError
        The model is unknown, a parameter is missing, out of range, or one that this model does not use.
    DataError
        A name is no feature.
    ModelError
        Side constraints for a model without ``sigma``.
    SolverError, OptionError
        The solver is unknown, not installed or cannot solve the model; an option is unknown.

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("bupa").scaled("standard")
    >>> found = fs.select(data, "fsp-m", max_features=2, excludes=[("mcv", "drinks")])
    >>> found.selected, found.status.value
    (('sgpt', 'sgot'), 'optimal')
    """
    dataset(data)
    recipe = find(model)
    sides = _side_constraints(model, recipe, budget, requires, excludes, force_in)
    given = {"max_features": max_features, "C": C, "penalty": penalty}
    known = recipe.parameters
    given |= {name: options.pop(name) for name in list(options) if name in known and name not in given}
    parameters = used_parameters(model, recipe, given, others=options)
    if recipe.objective is None:
        return _by_baseline(model, recipe, data, parameters, validation, solver, options)

    whole = solver is not None and not (isinstance(solver, str) and solver in DRIVERS)
    if whole:
        parameters = {**recipe.whole, **parameters}
    built = recipe.build(data, **parameters)
    stated = _state(built, sides)
    chosen = solver or getattr(getattr(built, "structure", None), "default_solver", None)
    driver = DRIVERS.get(chosen) if isinstance(chosen, str) else None
    if driver is not None and progress:
        options = {"tee": True, **options}
    if validation is not None:
        validation = data.apply_scale_to(validation)
        if driver is not None and "validation" in driver.options_type.__dataclass_fields__:
            options = {**options, "validation": validation}
    result = solve(built, solver, **options)
    return _read(model, recipe, data, parameters | stated, built, result, validation)


Sides = list[tuple[str, str, tuple[Any, ...]]]  # function of side_constraints, name on the model, arguments


def _side_constraints(
    model: str, recipe: Recipe, budget: Any, requires: Pairs, excludes: Pairs, force_in: Iterable[str]
) -> Sides:
    budgets = [budget] if isinstance(budget, tuple) and budget and isinstance(budget[0], Mapping) else list(budget)
    sides: Sides = [("budget", "budget", (dict(costs), limit)) for costs, limit in budgets]
    for what, pairs in (("requires", requires), ("excludes", excludes)):
        for pair in pairs:
            if isinstance(pair, str) or len(tuple(pair)) != 2:
                raise ParameterError(f'{what}={pair!r} is no pair of features: give [("a", "b")].')
            a, b = pair
            sides.append((what, f"{what}_{a}_{b}", (a, b)))
    forced = [force_in] if isinstance(force_in, str) else list(force_in)
    if forced:
        sides.append(("force_in", "force_in", tuple(forced)))
    if sides and not recipe.selects:
        able = [name for name, r in MODELS.items() if r.selects]
        raise ModelError(
            f'Model "{model}" has no sigma to constrain, so it cannot take {sides[0][0]}. '
            f"Models that can: {', '.join(able)}."
        )
    return sides


def _state(model: pyo.ConcreteModel, sides: Sides) -> dict[str, Any]:
    """Add the side constraints to the model; return them in words for the report."""
    stated: dict[str, Any] = {}
    for what, name, arguments in sides:
        constraint = getattr(side_constraints, what)(model, *arguments)
        unique, k = name, 1
        while model.component(unique) is not None:
            unique, k = f"{name}_{k + 1}", k + 1
        model.add_component(unique, constraint)
        if what == "budget":
            stated.setdefault(what, []).append({"costs": arguments[0], "limit": float(arguments[1])})
        elif what == "force_in":
            stated[what] = list(arguments)
        else:
            stated.setdefault(what, []).append(list(arguments))
    return stated


def _hinges(data: Dataset, w: FloatArray, b: float) -> float:
    return float(np.maximum(0.0, 1.0 - data.y * (np.asarray(data.X @ w).ravel() + b)).sum())


def _price(penalty: Any, selected: Iterable[str]) -> float:
    if isinstance(penalty, Mapping):
        return float(sum(penalty.get(name, 0.0) for name in selected))
    return float(penalty or 0.0) * len(list(selected))


def _read(
    name: str,
    recipe: Recipe,
    data: Dataset,
    parameters: dict[str, Any],
    model: pyo.ConcreteModel,
    result: Result,
    validation: Dataset | None,
) -> Selection:
    """Read the classifier off the model and recompute its objective from data."""
    status, message, bound = result.status, result.message, result.bound
    selected: tuple[str, ...] = ()
    weights: dict[str, float] = {}
    bias = objective = None
    if result.has_solution and recipe.objective is not None:
        w = np.array([pyo.value(model.w[j]) for j in data.features], dtype=np.float64)
        bias = float(pyo.value(model.b))
        used = np.isin(data.features, result.selected or []) if recipe.selects else np.abs(w) > USED * np.abs(w).max()
        if recipe.selects:
            w[~used] = 0.0
        selected = tuple(np.array(data.features, dtype=object)[used])
        weights = {j: x for j, x, take in zip(data.features, w.tolist(), used | (w != 0), strict=True) if take}
        price = _price(parameters.get("penalty"), selected)
        objective = recipe.objective(w, _hinges(data, w, bias), price, parameters["C"])
        theirs = result.objective
        if theirs is not None and abs(theirs - objective) > AGREEMENT * max(abs(objective), 1.0):
            message = f"{result.solver} reports {theirs:.9g}; its weights give {objective:.9g}. {message}".strip()
            if status is SolutionStatus.OPTIMAL:
                status = SolutionStatus.FEASIBLE
        elif bound is not None:
            bound = min(bound, objective)  # attained, so any excess of the bound is the solver's rounding
        idle = [j for j in selected if abs(weights[j]) <= USED * np.abs(w).max()]
        if idle:
            message = f"Selected, but of no use to the classifier (weight 0): {listed(idle)}. {message}".strip()
    found = Selection(
        name, data, parameters, selected, weights, bias, objective, bound, status, result.stop_reason, result, message,
        model=model,
    )  # fmt: skip
    return _scored(found, validation)


def _by_baseline(
    name: str,
    recipe: Recipe,
    data: Dataset,
    parameters: dict[str, Any],
    validation: Dataset | None,
    solver: Any,
    options: dict[str, Any],
) -> Selection:
    unused = [*(["solver"] if solver is not None else []), *options]
    if unused:
        raise ParameterError(
            f'Model "{name}" is a baseline of its own and runs no solver, so it does not use {listed(unused)}: '
            f"it takes {listed(recipe.parameters)}."
        )
    answer = recipe.build(data, **parameters)
    weights = dict(zip(data.features, answer.weights.tolist(), strict=True))
    result = Result(
        SolutionStatus.FEASIBLE,
        StopReason.CONVERGED,
        selected=list(answer.selected),
        seconds=answer.seconds,
        solver="scikit-learn",
        message="A heuristic: nothing is proven about this selection.",
    )
    found = Selection(
        name,
        data,
        parameters,
        tuple(answer.selected),
        {j: x for j, x in weights.items() if j in answer.selected or x},
        answer.bias,
        None,
        None,
        result.status,
        result.stop_reason,
        result,
        result.message,
        ranking=answer.ranking,
    )
    return _scored(found, validation)


def _scored(found: Selection, validation: Dataset | None) -> Selection:
    if validation is None or not found.has_solution:
        return found
    return replace(found, validation_error=found.error(validation))
