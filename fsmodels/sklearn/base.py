"""What both estimators do: take data as scikit-learn gives them, fit, decide, and tell which features are selected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from fsmodels.checks import choice
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import DataError, ParameterError
from fsmodels.selection.recipes import MODELS
from fsmodels.selection.report import number, percent
from fsmodels.selection.selection import Selection
from fsmodels.sklearn import constraints, request
from fsmodels.sklearn.request import MULTICLASS, recipe_of, words_of
from fsmodels.sklearn.weighing import FitByModel, against_rest, by_class, checked, distinct, weighs
from fsmodels.words import listed
from solvers import SolutionStatus, StopReason
from solvers.clock import Clock
from solvers.result import relative_gap

FloatArray = NDArray[np.float64]
LEAST = 1e-3  # s, of a problem for which none are left
SHIFTLESS = ("none", "unit-ball")  # scalings that keep the zeros of sparse data


@dataclass(eq=False, repr=False)
class SelectorBase(ClassifierMixin, SelectorMixin, BaseEstimator):
    """A classifier that selects features by a model of ``fs.select``; its fields are the parameters of both."""

    model: str
    max_features: int | str | None = "auto"
    C: float = 1.0
    penalty: float | Mapping[str, float] | None = None
    _: KW_ONLY
    form: str | None = None
    sigma: bool | None = None
    scale: str = "standard"
    constraints: Any = None
    class_weight: Mapping[Any, float] | str | None = None
    multiclass: str = "each"
    solver: Any = None
    time_limit: float | None = None
    gap: float | None = None
    seed: int | None = None
    solver_options: Mapping[str, Any] | None = None

    _kernels = False

    if TYPE_CHECKING:  # estimators have a field for each parameter of their models

        def __init__(
            self, model: str = ..., max_features: int | str | None = ..., C: float = ..., penalty: Any = ...,
            **parameters: Any,
        ) -> None: ...  # fmt: skip

    @FitByModel
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Select features and fit the classifier.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Numbers in original units; sparse where ``scale`` shifts nothing and the model takes it.
        y : array-like of shape (n_samples,)
            Labels, of two classes or more.
        sample_weight : array-like of shape (n_samples,), optional
            How often each sample counts: 2 is as good as the sample twice, 0 as leaving it out. Of models that
            weigh samples: not fsmulti and the filters.

        Returns
        -------
        self

        Raises
        ------
        ParameterError
            A parameter that the model does not use, or a value that is not allowed.
        DataError
            A name in ``constraints`` that is no feature.
        NoSelection, SolverError
            Nothing satisfies the constraints; no solution within the limits.
        """
        recipe = recipe_of(self, kernels=self._kernels)
        if isinstance(self.multiclass, str) and self.multiclass == "shared":
            raise ParameterError(
                'multiclass="shared" was removed. Use multiclass="each", or one model with linked sigma, as in '
                '"More than two classes" of docs/scikit-learn.md.'
            )
        choice("multiclass", self.multiclass, MULTICLASS)
        if not recipe.weighs and (sample_weight is not None or self.class_weight is not None):
            which = "sample_weight" if sample_weight is not None else "class_weight"
            able = listed(filter(weighs, MODELS), len(MODELS))
            raise ParameterError(
                f'{type(self).__name__}(model="{recipe.name}") takes no {which}: what it minimises is no sum over '
                f"samples that weights could multiply. Models that take it: {able}."
            )
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: give one label a sample."
            )
        _check_names(X)
        X, y = validate_data(self, X, y, dtype=np.float64, accept_sparse="csr" if self._sparse() else False)
        check_classification_targets(y)
        weights = checked(sample_weight, len(y))
        if weights is not None:
            X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise DataError(
                f"y holds one class, {self.classes_[0]!r}: a classifier needs samples of at least 2 classes."
            )
        what, features = words_of(self, recipe, X.shape[1]), self._names()
        rows = request.SideRows(*constraints.apart(self.constraints, features))
        if "fair" in rows.declared and weights is not None:
            raise ParameterError("constraints: fair compares means of samples, which sample_weight would not change.")
        if recipe.weighs and "fair" not in rows.declared:
            X, codes, weights = distinct(X, codes, weights)
        problems = self._problems(X, codes, features, weights)
        found = self._solved(problems, what, rows)
        self.certificate_ = of_selections(found)
        self._live = [one.model for one in found]
        self.selection_ = found[0] if len(found) == 1 else found
        self._settle(found)
        request.warn_of_limits(found)
        return self

    def _solved(
        self, problems: list[request.TwoClasses], what: dict[str, Any], rows: request.SideRows
    ) -> list[Selection]:
        """Solve one problem after another; of the time, each has its share of what is left."""
        found: list[Selection] = []
        clock = Clock(self.time_limit)
        for k, problem in enumerate(problems):
            left = clock.left
            limit = None if left is None else max(left / (len(problems) - k), LEAST)
            found.append(request.solved(problem, what, rows, limit))
            if found[-1].stop_reason is StopReason.INTERRUPTED and k + 1 < len(problems):
                raise KeyboardInterrupt("Stopped by Ctrl-C before every class had its selection.")
        return found

    def _problems(
        self, X: Any, codes: NDArray[np.intp], features: tuple[str, ...], weights: FloatArray | None
    ) -> list[request.TwoClasses]:
        """Return the data of two classes, or of each class against the rest, with weights that count as rows."""
        names, rule = self.classes_.tolist(), self.class_weight
        costs = None if rule is None else by_class(rule, self.classes_, codes, weights)
        if len(names) == 2:
            data = Dataset(X, np.where(codes == 1, 1.0, -1.0), features, "X", *names)
            pair = None if costs is None else rule if isinstance(rule, str) else (float(costs[0]), float(costs[1]))
            return [request.TwoClasses(data if weights is None else data.weighted(weights), pair)]
        problems = []
        for k, name in enumerate(names):
            rest = tuple(other for other in names if other is not name)
            data = Dataset(X, np.where(codes == k, 1.0, -1.0), features, f"X/{name}", rest, name)
            data = data if weights is None else data.weighted(weights)
            if costs is None:
                problems.append(request.TwoClasses(data))
                continue
            share, pair = against_rest(costs[codes], codes == k, weights)
            means = MODELS[self.model].class_means and isinstance(rule, str)  # weigh both sides the same already
            problems.append(request.TwoClasses(data, None if means else pair, share))
        return problems

    def _settle(self, found: list[Selection]) -> None:
        """Keep what is asked for after a fit."""
        names = np.array(self._names(), dtype=object)
        chosen = {name for one in found for name in one.selected}
        self._support = np.array([name in chosen for name in names])
        self.objective_, self.bound_ = self.certificate_.objective, self.certificate_.bound
        self.gap_, self.status_ = self.certificate_.gap, self.certificate_.status

    @property
    def set_callbacks(self) -> None:
        """Raise AttributeError, so that meta-estimators of scikit-learn do not pass their callbacks on."""
        raise AttributeError(
            f"{type(self).__name__}.set_callbacks was removed. "
            'Use solver_options={"callback": function}: the solver calls it for each row of its table.'
        )

    @property
    def _selections(self) -> list[Selection]:
        return self.selection_ if isinstance(self.selection_, list) else [self.selection_]

    def _names(self) -> tuple[str, ...]:
        """Return the names of the features, x0, x1, ... where X was an array."""
        named = getattr(self, "feature_names_in_", None)
        names = [f"x{j}" for j in range(self.n_features_in_)] if named is None else [str(name) for name in named]
        return tuple(names)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self._support

    def decision_function(self, X: Any) -> FloatArray:
        """Return scores, in the classes' order: above 0 means the second of two classes; of more, the largest counts.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64, accept_sparse="csr" if self._sparse() else False)
        scores = [_scores(one, X, self._names()) for one in self._selections]
        return scores[0] if len(scores) == 1 else np.column_stack(scores)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each sample."""
        scores = self.decision_function(X)
        codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[codes])

    @property
    def model_(self) -> pyo.ConcreteModel | list[pyo.ConcreteModel] | None:
        """The live Pyomo model with the solution's values, a list of one for each class; None for a baseline.

        It is left out of a pickle, and then built again from the data on demand, without the values.
        """
        check_is_fitted(self)
        if not hasattr(self, "_live"):
            what, rows = self._as_fitted()
            self._live = [request.rebuilt(one.data, what, rows) for one in self._selections]
        return self._live[0] if len(self._live) == 1 else self._live

    def _as_fitted(self) -> tuple[dict[str, Any], request.SideRows]:
        recipe = recipe_of(self, kernels=self._kernels)
        return words_of(self, recipe, self.n_features_in_), request.SideRows(
            *constraints.apart(self.constraints, self._names())
        )

    def _sparse(self) -> bool:
        """Tell whether sparse X can be taken, as the model and the scaling are."""
        known = isinstance(self.model, str) and self.model in MODELS
        return known and not MODELS[self.model].dense_only and isinstance(self.scale, str) and self.scale in SHIFTLESS

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the live models, which belong to this process."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_live"}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._sparse()
        return tags


def _check_names(X: Any) -> None:
    """Refuse columns of one name, which constraints could not tell apart."""
    names = list(map(str, getattr(X, "columns", ())))
    if len(set(names)) < len(names):
        twice = [name for name, count in Counter(names).items() if count > 1]
        raise DataError(f"Column names stand twice in X: {listed(twice)}. Give each column a name of its own.")


def _scores(found: Selection, X: Any, features: tuple[str, ...]) -> FloatArray:
    """Return the decisions of a selection, by the model that is solved on what it selects where there is one.

    ``features``: the columns of X, some of which may lie aside in the selection's data.
    """
    one = found.refit or found
    assert one.machine is not None
    names = tuple(one.machine.weights)
    if not names:
        return one.machine.scores(np.empty((X.shape[0], 0)))
    scale = found.data.scale.take(_places(names, found.data.features))
    return one.machine.scores(scale.apply(X[:, _places(names, features)], names))


def _places(names: tuple[str, ...], features: tuple[str, ...]) -> NDArray[np.intp]:
    place = {name: k for k, name in enumerate(features)}
    return np.array([place[name] for name in names], dtype=np.intp)


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
