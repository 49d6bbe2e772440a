"""Request of an estimator: its checked parameters, its side constraints, its problems, and the certificate of a fit."""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from fsmodels.checks import feature_count, positive
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import ModelError, NoSelection, ParameterError, SolverError
from fsmodels.models.spec import ModelSpec
from fsmodels.selection import report
from fsmodels.selection.catalogue import MODELS, find
from fsmodels.selection.request import Request
from fsmodels.selection.rows import KEYWORDS, free_name, rows_model
from fsmodels.selection.selection import Selection
from fsmodels.sklearn.weights import against_rest, by_class
from fsmodels.text import iterable, listed, short, suggestion
from solvers import SolutionStatus, StopReason, interrupt
from solvers.clock import own_clock
from solvers.result import relative_gap
from solvers.shared_state import put_off
from solvers.user_warnings import warn

AUTO = "auto"
EXAMPLE = '{"excludes": [("x0", "x3")]}'  # of constraints
FEATURES = 5  # the value of "auto" for models that need a number
MULTICLASS = ["each"]

# Parameters of an estimator that are not parameters of a builder.
OF_ESTIMATOR = (
    "model", "max_features", "scale", "constraints", "rows", "class_weight", "multiclass", "solver", "time_limit",
    "gap", "seed", "solver_options",
)  # fmt: skip


def names_of_models(*, kernels: bool) -> list[str]:
    """Return the models that work on a kernel, or those that do not."""
    return [name for name, spec in MODELS.items() if ("kernel" in spec.parameters) == kernels]


def spec_of(estimator: Any, *, kernels: bool) -> ModelSpec:
    """Return the model of an estimator. Raises ParameterError: unknown, or one of the other class."""
    spec = find(estimator.model)
    allowed = names_of_models(kernels=kernels)
    if spec.name not in allowed:
        other = "KernelSelectorClassifier" if not kernels else "SelectorClassifier"
        raise ParameterError(
            f'{type(estimator).__name__} does not take model="{spec.name}": use {other} for it, or one of '
            f"{', '.join(allowed)}."
        )
    return spec


def request_of(
    estimator: Any, spec: ModelSpec, features: tuple[str, ...]
) -> tuple[Request, list[Callable[[pyo.ConcreteModel], Any]]]:
    """Return the request of an estimator without samples and time limit, and the functions in its ``constraints``.

    Raises ParameterError: a parameter that the model does not use, or a value that is not allowed.
    """
    declared, functions = side_constraints(estimator.constraints, estimator.rows, features)
    none = Dataset(np.empty((0, len(features))), np.empty(0), features, looked_at=True)
    request = Request(none, spec, solver=estimator.solver, scale=estimator.scale)
    return request.changed(**_arguments(estimator, spec, len(features))).changed(**declared), functions


def _arguments(estimator: Any, spec: ModelSpec, n_features: int) -> dict[str, Any]:
    """Return the parameters of the model and the options of the solver."""
    who = f'{type(estimator).__name__}(model="{spec.name}")'
    defaults = {name: p.default for name, p in inspect.signature(type(estimator).__init__).parameters.items()}
    arguments: dict[str, Any] = {}
    for name in [name for name in defaults if name != "self" and name not in OF_ESTIMATOR]:
        value = getattr(estimator, name)
        if name in spec.parameters:
            if value is not None:
                arguments[name] = value
        elif not _same(value, defaults[name]):
            peers = names_of_models(kernels="kernel" in spec.parameters)
            users = [other for other in peers if name in MODELS[other].parameters]
            takes = [own for own in spec.parameters if own in defaults]
            also = f"Models that use it: {', '.join(users)}. " if users else ""
            raise ParameterError(
                f"{who} does not use {name}={short(repr(value))}. {also}This one takes {listed(takes)}: "
                f"set {name}={defaults[name]!r}."
            )
    arguments = {**spec.defaults, **arguments}
    if (most := _most(estimator.max_features, spec, arguments, n_features)) is not None:
        arguments["max_features"] = most
    return arguments | _options(estimator)


def _same(value: Any, default: Any) -> bool:
    return value is default or (isinstance(value, str | numbers.Number) and value == default)


def _most(given: Any, spec: ModelSpec, arguments: Mapping[str, Any], n_features: int) -> int | None:
    """Return the largest number of features; "auto" is a number only if the model needs one."""
    if given is None or (isinstance(given, str) and given == AUTO):
        other = spec.alternatives.get("max_features")
        needed = spec.parameters.get("max_features", False) and (other is None or other not in arguments)
        return min(FEATURES, n_features) if needed and given == AUTO else None
    if isinstance(given, str):
        raise ParameterError(f'max_features="{short(given)}" is not allowed: give a whole number, None or "{AUTO}".')
    return feature_count(given, n_features)


def _options(estimator: Any) -> dict[str, Any]:
    """Return the options of the solver; gap and seed are parameters of the model if it has them."""
    given = {} if estimator.solver_options is None else estimator.solver_options
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise ParameterError(
            f'solver_options={short(repr(given))} is not allowed: give a mapping, such as {{"threads": 2}}.'
        )
    own = {name: getattr(estimator, name) for name in ("gap", "seed") if getattr(estimator, name) is not None}
    if twice := [name for name in own if name in given]:
        name = twice[0]
        raise ParameterError(f"{name} is given twice, as {name}={own[name]!r} and in solver_options: leave one out.")
    if estimator.time_limit is not None:
        positive("time_limit", estimator.time_limit, "it is the number of seconds for a fit", any_size=True)

    return {**given, **own}


LIMITS = (StopReason.TIME_LIMIT, StopReason.ITERATION_LIMIT, StopReason.INTERRUPTED)


def requests_of(
    request: Request, X: Any, codes: NDArray[np.intp], weights: NDArray[np.float64] | None, estimator: Any
) -> list[Request]:
    """Return the request for two classes, or one for each class against the rest, on scaled data.

    ``codes`` (n_samples,): places in the classes of the estimator. ``weights``: count as rows.
    """
    classes, rule, features = estimator.classes_, estimator.class_weight, request.data.features
    costs = None if rule is None else by_class(rule, classes, codes, weights)
    names = classes.tolist()

    def scaled(name: str, is_positive: NDArray[np.bool_], negative: Any, positive: Any) -> Request:
        data = Dataset(X, np.where(is_positive, 1.0, -1.0), features, name, negative, positive, looked_at=True)
        return request.on(data if weights is None else data.weighted(weights)).scaled()

    if len(names) == 2:
        one = scaled("X", codes == 1, *names)
        pair = None if costs is None else rule if isinstance(rule, str) else (float(costs[0]), float(costs[1]))
        return [_with_costs(one, pair)]
    requests = []
    for k, name in enumerate(names):
        one = scaled(f"X/{name}", codes == k, tuple(other for other in names if other is not name), name)
        if costs is not None:
            share, pair = against_rest(costs[codes], codes == k, weights)
            # The error of FS is the sum of the mean errors of both classes, which is balanced already.
            balanced = request.spec.class_means and isinstance(rule, str)
            one = _with_costs(one, None if balanced else pair, share)
        requests.append(one)
    return requests


def _with_costs(
    request: Request, by_class: tuple[float, float] | str | None, within: NDArray[np.float64] | None = None
) -> Request:
    """Return the request with costs of errors, which scalings ignore.

    ``by_class``: in class -1 and in +1, or "balanced". ``within`` (n_samples,): the factor of each sample, of mean 1 in
    its class, if that class combines several classes of the user.
    """
    if by_class is None and within is None:
        return request
    data = request.data
    given = data.multiplicity
    if within is not None:
        given = within if given is None else given * within
    rule = dict(zip((-1, 1), by_class, strict=True)) if isinstance(by_class, tuple) else by_class
    plain = replace(data, negative_label=-1, positive_label=1)  # labels of the user may be 1 and -1
    weighted = plain.weighted(given, rule)
    return request.on(replace(weighted, negative_label=data.negative_label, positive_label=data.positive_label))


def side_constraints(
    given: Any, rows: Any, features: Sequence[str]
) -> tuple[dict[str, Any], list[Callable[[pyo.ConcreteModel], Any]]]:
    """Return the side constraints of an estimator: by the parameters of ``select``, and functions of the live model.

    ``given``, ``rows``: the parameters ``constraints`` and ``rows``. Features are named as the data name them, and by
    position where X is an array: 2 is ``"x2"``.

    Raises ParameterError: no mapping, function or list of these, or a keyword that does not exist.
    """
    parts = [] if given is None else list(given) if isinstance(given, list | tuple) else [given]
    parts += [] if rows is None else [{"rows": rows}]
    declared: dict[str, Any] = {}
    functions = []
    for part in parts:
        if callable(part):
            functions.append(part)
            continue
        if not isinstance(part, Mapping):
            raise ParameterError(
                f"constraints={short(repr(part))} is not allowed: give a mapping, such as {EXAMPLE}, a function of "
                "the model, or a list of these."
            )
        for kind, value in part.items():
            if kind not in KEYWORDS:
                raise ParameterError(
                    f'constraints: "{short(str(kind))}" is no kind of side constraint. {suggestion(kind, KEYWORDS)}'
                    f"Kinds: {listed(KEYWORDS, len(KEYWORDS))}."
                )
            if kind in declared:
                raise ParameterError(f'constraints: "{kind}" is given twice: give all of that kind in one list.')
            declared[kind] = _named(kind, value, features)
    return declared, functions


def call(function: Callable[[Any], Any], model: pyo.ConcreteModel) -> None:
    """Call a function with the model, and add the constraints that it returns: one, a list or a mapping by name.

    Raises ModelError: the model has no such component, or the function returns something else.
    """
    called = getattr(function, "__name__", type(function).__name__)
    try:
        made = function(model)
    except AttributeError as error:
        if model.component("sigma") is None and error.name == "sigma":
            raise ModelError(
                f"constraints: {called} uses model.sigma, which this model does not have: add sigma=True."
            ) from error
        raise
    if made is None:
        return
    named = made if isinstance(made, Mapping) else {}
    plain = [made] if _is_component(made) else [] if named else list(made) if iterable(made) else [made]
    pairs = [*named.items(), *((called if called.isidentifier() else "constraint", row) for row in plain)]
    for name, row in pairs:
        component = row if _is_component(row) else _as_row(row, called)
        model.add_component(free_name(model, str(name)), component)


def _named(kind: str, value: Any, features: Sequence[str]) -> Any:
    """Return a value of a keyword with names in place of the positions of features."""

    def name(j: Any) -> Any:
        if not isinstance(j, int | np.integer) or isinstance(j, bool):
            return j
        if not 0 <= j < len(features):
            raise ParameterError(f"constraints: {kind} names feature {j}: positions are 0..{len(features) - 1}.")
        return features[int(j)]

    def names(part: Any) -> Any:
        if isinstance(part, Mapping):
            return {name(j): x for j, x in part.items()}
        if isinstance(part, str) or not iterable(part):
            return name(part)
        return (tuple if isinstance(part, tuple) else list)(map(names, part))

    keyword = KEYWORDS[kind]
    if not keyword.names_features:
        return value
    if not keyword.keys:
        return names(value)
    pairs = keyword.values(kind, value)
    return [(names(pair[0]), *pair[1:]) if isinstance(pair, tuple | list) and pair else pair for pair in pairs]


def _is_component(made: Any) -> bool:
    return getattr(made, "ctype", None) in (pyo.Constraint, pyo.ConstraintList, pyo.Block, pyo.Var, pyo.Param, pyo.Set)


def _as_row(made: Any, called: str) -> pyo.Constraint:
    """Return the constraint of a relation such as ``model.sigma["a"] <= model.sigma["b"]``."""
    if getattr(made, "is_relational", lambda: False)():
        return pyo.Constraint(expr=made)
    raise ModelError(
        f"constraints: {called} returned {type(made).__name__}: return a pyo.Constraint, a relation such as "
        'model.sigma["x0"] <= model.sigma["x1"], a list or a mapping of these, or nothing.'
    )


def built(request: Request, functions: Sequence[Callable[[Any], Any]]) -> Request:
    """Return the built request, whose model has the rows of the functions."""
    task = request.build()
    if functions and task.model is None:
        task = replace(task, model=rows_model(task.data.features))
    for function in functions:
        call(function, task.model)
    return task


def solved(request: Request, functions: Sequence[Callable[[Any], Any]], time_limit: float | None) -> Selection:
    """Build and solve the model of one request.

    Raises NoSelection, SolverError, KeyboardInterrupt: there is no classifier, with the reason.
    """
    limit = {} if time_limit is None else {"time_limit": time_limit}
    with interrupt.run(), own_clock():
        with interrupt.raising(), put_off():
            task = built(request.changed(**limit), functions)
        found = task.solve()
    if found.has_solution:
        return found
    reason = report.headline(found)
    if found.stop_reason is StopReason.INTERRUPTED:
        raise KeyboardInterrupt(reason)
    raise (NoSelection if found.status is SolutionStatus.INFEASIBLE else SolverError)(reason)


def warn_of_limits(found: Sequence[Selection]) -> None:
    """Warn, as scikit-learn does, if a limit ended a solve."""
    from sklearn.exceptions import ConvergenceWarning

    for one in found:
        if one.stop_reason in LIMITS:
            warn(report.headline(one), ConvergenceWarning)


@dataclass(frozen=True)
class FitCertificate:
    """Proof about the objective that a fit minimises.

    Attributes
    ----------
    objective : float or None
        The objective of the model, recomputed from the data; for several classes the sum. None for methods without an
        objective.
    bound : float or None
        Proven lower bound on the objective; None if there is none.
    gap : float or None
        ``|objective - bound| / |objective|``.
    status : str
        "optimal" if the gap is closed, else "stationary" or "feasible".
    message : str
        Message of the solver or the model.
    """

    objective: float | None
    bound: float | None
    gap: float | None
    status: str
    message: str = ""

    @property
    def sentence(self) -> str:
        """The certificate as text."""
        if self.objective is None:
            return "A heuristic without an objective: no bound is proven for this selection."
        cost = f"The objective is {report.number(self.objective)}"
        if self.bound is None or self.gap is None:
            what = "a stationary point; " if self.status == "stationary" else ""
            return f"{cost}, {what}no bound on better points is proven."
        bound = report.number(self.bound)
        if self.status == "optimal":
            within = f" within {report.percent(self.gap)}" if self.gap > 5e-7 else ""
            return f"{cost}, which is proven optimal{within} (bound {bound})."
        return f"{cost}; the proven bound is {bound}, a gap of {report.percent(self.gap)}."

    def __str__(self) -> str:
        return self.sentence


def certificate_of(found: Sequence[Selection]) -> FitCertificate:
    """Return the certificate of independent selections: objectives and bounds are sums."""
    if len(found) == 1:
        one = found[0]
        return FitCertificate(one.objective, one.bound, one.gap, one.status.value, one.message)
    objectives, bounds = [one.objective for one in found], [one.bound for one in found]
    objective = None if None in objectives else sum(x for x in objectives if x is not None)
    bound = None if None in bounds else sum(x for x in bounds if x is not None)
    weakest = max(found, key=_weakness).status
    gap = relative_gap(objective, bound, minimize=True, resolution=sum(one.result.resolution for one in found))
    messages = dict.fromkeys(one.message for one in found if one.message)
    return FitCertificate(objective, bound, gap, weakest.value, " ".join(messages))


def _weakness(one: Selection) -> int:
    """Return 0 for an optimum, 1 for a stationary point, and 2 for any other point."""
    return 0 if one.status is SolutionStatus.OPTIMAL else 1 if one.status is SolutionStatus.STATIONARY else 2
