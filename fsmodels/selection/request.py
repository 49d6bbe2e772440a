"""A requested selection as one object: data, model, parameters, side constraints, solver and options.

``select``, ``path``, the estimators and the what-if questions build a ``Request`` and solve it. A request is immutable:
``changed`` and ``on`` return another one.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import pyomo.environ as pyo

from fsmodels.checks import choice, feature_count, number
from fsmodels.datasets.checks import apply_scaling, dataset, require_unweighted, reweighted
from fsmodels.datasets.dataset import Dataset
from fsmodels.datasets.diagnose import warn_once
from fsmodels.datasets.dialect import quoted
from fsmodels.errors import DataError, NoSelection, ParameterError
from fsmodels.models.classifier import LinearClassifier
from fsmodels.models.components import limit_columns, limit_features
from fsmodels.models.spec import ModelSpec
from fsmodels.selection.catalogue import find, used_parameters
from fsmodels.selection.parameters import PARAMETERS
from fsmodels.selection.rows import (
    KEYWORDS,
    accepts_rows,
    declared,
    number_and_rows,
    read_rows,
    rows_model,
    rows_on_weights,
    set_groups_aside,
    state,
    warn_of_split_categories,
    with_keywords,
)
from fsmodels.selection.selection import Selection
from fsmodels.text import lasting, listed
from solvers import DRIVERS, Memory, Result, SolutionStatus, StopReason, facts_of, interrupt
from solvers import progress as watching
from solvers.clock import Clock, one_clock
from solvers.shared_state import put_off

WEIGHTS = ("sample_weight", "class_weight")


@dataclass(frozen=True, eq=False)
class Request:
    """Requested selection; ``build`` returns the request with its model.

    Attributes
    ----------
    data : Dataset
        After ``prepared`` with weights of samples, and with the groups of ``fair`` set aside; after ``build`` also
        scaled.
    spec : ModelSpec
        The model.
    parameters : dict
        Parameters of the builder; after ``build`` also those that follow from the solver and the data.
    rows : dict
        Side constraints by keyword, as in ``select``.
    options : dict
        Options of the solver.
    weights : dict
        ``sample_weight`` and ``class_weight``, before they are part of the data.
    solver : str, Pyomo solver or None
    scale : str or None
        The scaling of data that are not scaled yet.
    progress : bool
        True if a driver shows its iteration table.
    model : pyo.ConcreteModel or None
        The built model; None before ``build``, and for a method without a model.
    stated : dict or None
        The side constraints of the model as reported; None before ``build``.
    """

    data: Dataset
    spec: ModelSpec
    parameters: Mapping[str, Any] = field(default_factory=dict)
    rows: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    weights: Mapping[str, Any] = field(default_factory=dict)
    solver: Any = None
    scale: str | None = None
    progress: bool = False
    model: pyo.ConcreteModel | None = None
    stated: Mapping[str, Any] | None = None

    @property
    def time_limit(self) -> float | None:
        """Seconds of a solve; None without a limit."""
        seconds = number(self.options.get("time_limit"))
        return seconds if math.isfinite(seconds) else None

    @classmethod
    def of(cls, /, data: Dataset, model: str = "fsp-m", **arguments: Any) -> Request:
        """Return the request for the arguments of ``select``; errors are those of ``select``."""
        return cls(dataset(data), find(model)).changed(**arguments).prepared()

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], space: Dataset, data: Dataset) -> Request:
        """Return the request of a saved selection.

        ``content``: of the JSON file. ``space``: features and scaling of the saved selection. ``data``: its samples.
        Raises DataError: ``data`` are not those of the selection.
        """
        spec, parameters, about = find(content["model"]), dict(content["parameters"]), content["data"]
        kinds = [kind for kind in KEYWORDS if kind in parameters and not isinstance(parameters[kind], int | float)]
        rows = declared({kind: parameters.pop(kind) for kind in kinds})
        if "budget_features" in parameters:
            rows["budget"] = [parameters.pop("budget_features"), *rows.get("budget", [])]
        given = _weighted(dataset(data), about.get("weights") or {})
        for row in rows.get("fair", ()):
            given = given if row[0] in given.aside else set_groups_aside(given, [row])[0]
        if (given.n_samples, len(space.features)) != (about["samples"], about["features"]):
            sizes = f"{about['samples']} samples and {about['features']} features (scaling of {len(space.features)})"
            raise DataError(f'The selection is of {sizes}, and data "{data.name}" are others: give the same data.')
        own = {
            name: value
            for name, value in parameters.items()
            if name in spec.parameters or name in ("max_features", "count")
        }
        scaled = replace(space.apply_scale_to(given), looked_at=True)
        ran = content["solver"] if spec.runs_solver and "solver" in content else {"name": None, "options": {}}
        return cls.of(scaled, spec.name, **{**ran["options"], "solver": ran["name"], **own, **rows})

    def changed(self, /, **arguments: Any) -> Request:
        """Return the request with other arguments of ``select``, besides data and model."""
        if not isinstance(arguments.get("progress", False), bool):
            raise ParameterError(f"progress is {type(arguments['progress']).__name__}: give True or False.")
        arguments = {name: lasting(value) for name, value in arguments.items()}
        number, costs = arguments.pop("budget", None), None
        if not isinstance(number, numbers.Number):
            number, costs = number_and_rows(number)
        if number is not None:
            arguments["budget"] = number
        known = {*self.spec.parameters, *PARAMETERS}
        rows = {kind: arguments.pop(kind) for kind in KEYWORDS if kind in arguments and kind != "budget"}
        rows |= {} if costs is None else {"budget": costs}
        own = {name: arguments.pop(name) for name in ("solver", "scale", "progress") if name in arguments}
        weights = {name: arguments.pop(name) for name in WEIGHTS if name in arguments}
        parameters = {name: arguments.pop(name) for name in list(arguments) if name in known}
        return replace(
            self, parameters={**self.parameters, **parameters}, rows={**self.rows, **rows},
            options={**self.options, **arguments}, weights={**self.weights, **weights}, **own,
        )  # fmt: skip

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of ``select`` besides data, model and scale; only those that differ from their defaults."""
        arguments = {**self.parameters, **self.rows, **self.options, "solver": self.solver}
        if self.parameters.get("budget") is not None and self.rows.get("budget"):
            costs = self.rows["budget"]
            arguments["budget"] = [self.parameters["budget"], *(costs if isinstance(costs, list) else [costs])]
        return {name: value for name, value in arguments.items() if not is_default(name, value)}

    def __getstate__(self) -> dict[str, Any]:
        """Return the state with the model by its name, for workers and for hashes."""
        return {**self.__dict__, "spec": self.spec.name}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, spec=find(state["spec"]))

    def on(self, data: Dataset) -> Request:
        """Return a request without a model for other data, such as a fold."""
        assert self.stated is None
        return replace(self, data=data)

    @property
    def without_samples(self) -> Request:
        """The request for workers, which get the samples of their fold."""
        return self.on(self.data.take([], ""))

    def prepared(self) -> Request:
        """Return the request with weights and groups as parts of the data, and issue the warnings about the data.

        Raises ParameterError, DataError: no weights, or no groups.
        """
        data, rows = reweighted(self.data, **self.weights), self.rows
        if "fair" in rows:
            data, fair = set_groups_aside(data, rows["fair"])
            rows = {**rows, "fair": fair}
        warn_once(data)
        return replace(self, data=data, rows=rows, weights={})

    def takes(self, option: str) -> bool:
        """Return True if the model is solved by a driver with this option."""
        return self.model is not None and option in driver_options(self.model, self.solver)

    def with_memory(self) -> Request:
        """Return the request with a new memory of its driver, if the driver has one."""
        return self.changed(memory=Memory()) if self.takes("memory") else self

    def scaled(self) -> Request:
        """Return the request with prepared and scaled data."""
        ready = self.prepared()
        return replace(ready, data=apply_scaling(ready.data, self.scale))

    def build(self) -> Request:
        """Return the request with scaled data, the model and its side constraints."""
        ready = self.scaled()
        spec, options, data, number = self.spec, dict(self.options), ready.data, self.parameters.get("budget")
        if number is not None and "budget" not in spec.parameters:
            raise ParameterError(
                f"budget got {type(number).__name__} {number!r}, which is for fsmulti: model "
                f'"{spec.name}" takes (costs, limit), on the command line --budget COSTS.csv:LIMIT.',
                parameter="budget",
            )
        spec.check_parameters({**self.options, **self.parameters})
        if not spec.takes_weights:
            require_unweighted(data, f'Model "{spec.name}"')
        wanted = dict(self.parameters)
        count = wanted.pop("count", None)
        by_columns = count is not None and choice("count", count, ["features", "columns"]) == "columns"
        if by_columns:
            self._check_columns(data)
            most_columns, wanted["max_features"] = wanted["max_features"], most_features(data, wanted["max_features"])
        limited = wanted.get("max_features") is not None and "max_features" not in spec.parameters
        rows = read_rows(spec, ready.rows, data, limited=limited)
        most = (
            wanted.pop("max_features", None) if accepts_rows(spec) and "max_features" not in spec.parameters else None
        )
        on_weights = any(row.on_weights for row in rows)
        if (most is not None or any(row.on_sigma for row in rows)) and "sigma" in spec.parameters:
            wanted["sigma"] = True
        parameters = used_parameters(spec, wanted, others=options)
        parameters = spec.choose_form(parameters, data, self.solver, options, on_weights=on_weights)
        if most is not None:
            feature_count(most, data.n_features)  # before a large model is built
        model, stated = spec.build_model(data, parameters), {}
        if model is None and rows:
            model = rows_model(data.features)
        if model is not None:
            stated = state(model, rows)
            if most is not None:
                limit_features(model, most)
                parameters = {**parameters, "max_features": most}
        if by_columns:
            limit_columns(model, data.columns.values(), most_columns)
            parameters = {**parameters, "max_features": most_columns, "count": "columns"}
        built = replace(ready, parameters=parameters, model=model, stated=stated)
        return replace(built, options={"tee": True, **options}) if self.progress and built.takes("tee") else built

    def _check_columns(self, data: Dataset) -> None:
        """Raise ParameterError if a limit on columns is not possible: no limit, no row for it, separate categories."""
        spec, problem = self.spec, ""
        if self.parameters.get("max_features") is None:
            problem = 'count="columns" is the unit of max_features: give max_features too.'
        elif not spec.runs_solver or not accepts_rows(spec) or "budget" in spec.parameters:
            problem = f'Model "{spec.name}" has no row with max_features and cannot count columns: use fsp-m or fs.'
        elif apart := [name for name, category in data.categories.items() if not category.together]:
            problem = (
                f'count="columns" needs categories that are selected together, and {listed(map(quoted, apart))} is '
                "encoded as separate features (apart): encode it without :apart, or count features."
            )
        if problem:
            raise ParameterError(problem, parameter="count")

    def ready(self) -> Request:
        """Build the model, unless Ctrl-C is pressed, and warn of categories whose features it selects separately."""
        with interrupt.raising(), put_off(), watching.doing("building the model"):
            built = self.build()
            warn_of_split_categories(built.spec.name, built.data, built.stated or {})
        return built

    def solve(self, validation: Dataset | None = None, choose_by: str = "objective") -> Selection:
        """Build the model if it is not built, solve it and report; the arguments are those of ``select``."""
        if self.stated is None:
            with interrupt.run(), one_clock():
                return self.ready().solve(validation, choose_by)
        by_error = choice("choose_by", choose_by, ["objective", "validation"]) == "validation"
        if validation is not None:
            dataset(validation)
        if by_error and validation is None:
            raise ParameterError('choose_by="validation" needs data to choose by: give validation=.')
        if by_error and not self.takes("choose_by"):
            able = [name for name, driver in DRIVERS.items() if "choose_by" in driver.options_type.__dataclass_fields__]
            raise ParameterError(
                f'choose_by="validation" is a rule of {listed(able)}, on fsp-m and fsp-lambda: leave it out, and '
                "validation= reports the error."
            )
        with interrupt.run(), one_clock(), watching.doing(self.spec.name):
            return self._solve(validation, by_error)

    def _solve(self, validation: Dataset | None, by_error: bool) -> Selection:
        options = dict(self.options)
        if validation is not None and self.spec.runs_solver:
            validation = self.data.apply_scale_to(validation)
        if by_error:
            options |= {"choose_by": "validation", "validation": validation}
        try:
            result, solution = self.spec.solve_and_read(self.model, self.data, self.parameters, self.solver, options)
        except NoSelection as error:  # of a baseline; callers record the selection
            none = Result(SolutionStatus.INFEASIBLE, StopReason.CONVERGED, options=options, message=str(error))
            error.selection = self._selection(none)
            raise
        found = self._selection(result)
        if solution is None:
            found = replace(found, message=with_keywords(found.message, found.parameters))
        else:
            changes = {part.name: getattr(solution, part.name) for part in fields(solution)}
            classifier = changes.pop("classifier")
            found = replace(found, selected=classifier.selected, classifier=classifier, **changes)
        if self.spec.refit and found.selected:
            found = _refitted(found, self.spec.refit, validation, options.get("time_limit"))
        if validation is not None and found.has_solution:
            with interrupt.finishing():
                found = replace(found, validation_error=found.error(validation))
        return replace(found, chosen_by="validation") if by_error and found.has_solution else found

    def _selection(self, result: Result) -> Selection:
        """Return a selection with the result and without a classifier."""
        stated = dict(self.stated or {})
        parameters = {**self.parameters, **stated, **self.spec.reported_values(self.model)}
        if "budget" in stated and "budget" in self.parameters:
            parameters["budget_features"] = self.parameters["budget"]  # the number, next to the rows of costs
        parameters.pop("sigma", None)  # follows from the side constraints
        return Selection(
            self.spec.name, self.data, parameters, (), None, None, result.bound, result.status, result.stop_reason,
            result, result.message, model=self.model,
        )  # fmt: skip


def most_features(data: Dataset, columns: Any) -> Any:
    """Return the largest number of features in a number of columns; another object is returned for a later error."""
    if not isinstance(columns, int) or columns < 1:
        return columns
    return sum(sorted(map(len, data.columns.values()), reverse=True)[:columns])


def driver_options(model: pyo.ConcreteModel, solver: Any) -> Collection[str]:
    """Return the options of the driver that solves a model; none for a solver of the whole model."""
    chosen = getattr(facts_of(model), "default_solver", None) if solver is None else solver
    driver = DRIVERS.get(chosen) if isinstance(chosen, str) else None
    return () if driver is None else driver.options_type.__dataclass_fields__


def is_default(name: str, value: Any) -> bool:
    """Return True if a value is equivalent to no value."""
    return value is None or (name in KEYWORDS and isinstance(value, list | tuple | Mapping) and not value)


def _weighted(data: Dataset, arguments: Mapping[str, Any]) -> Dataset:
    """Return the data with the weights of a saved selection.

    Raises DataError: the weights were an array, and the data have none.
    """
    column = arguments.get("sample_weight")
    if column is True and data.multiplicity is None:
        raise DataError(
            f'The selection used sample weights, and data "{data.name}" have none: give the data with the same '
            "weights, data.weighted(sample_weight)."
        )
    given = column if isinstance(column, str) else data.multiplicity if column else None
    return data.weighted(given, arguments.get("class_weight"))


def _refitted(found: Selection, model: str, validation: Dataset | None, time_limit: float | None) -> Selection:
    """Solve another model on the selected features, as Bradley, Mangasarian and Street do after every selection.

    After a stopped run or at the time limit the weights of the selection remain.
    """
    if found.stop_reason is not StopReason.INTERRUPTED and not Clock.of_run(time_limit).over:
        data = replace(found.data.select_features(found.selected), looked_at=True)
        if validation is not None:
            validation = validation.select_features(found.selected)
        rows = rows_on_weights(found.parameters, found.data.features, found.selected)
        with watching.doing("fitting the weights on the selected features"):
            request = Request.of(data, model, penalty=found.parameters["penalty"], time_limit=time_limit, **rows)
            again = request.build().solve(validation)
        own = found.classifier
        assert isinstance(own, LinearClassifier)
        proven = again.status is SolutionStatus.OPTIMAL
        if again.objective is not None and (proven or again.objective <= own.error):
            return replace(found, refit=again)
        why = "the time limit was reached"  # the point of the refit may be worse, such as w = 0
    else:
        why = "the run was stopped"
    text = f"The weights are those of the model: {why} before weights were fitted on the selected features."
    return replace(found, message=f"{found.message} {text}".strip())
