"""What both estimators do: take data as scikit-learn gives them, fit, decide, and tell which features are selected."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from fsmodels.checks import choice
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import DataError, ParameterError
from fsmodels.selection.recipes import MODELS
from fsmodels.selection.selection import Selection
from fsmodels.sklearn import constraints, proven, running
from fsmodels.sklearn.asked import KERNELS, MOMENTS, MULTICLASS, Asked, asked, recipe_of
from fsmodels.sklearn.compat import SINCE_1_6, CallbackSupport, validated
from fsmodels.words import listed
from solvers.clock import Clock

__all__ = ["SelectorBase"]

FloatArray = NDArray[np.float64]
DENSE = (*MOMENTS, *KERNELS, "mutual-information", "relief")  # models that take no sparse data
SHIFTLESS = ("none", "unit-ball")  # scalings that keep the zeros of sparse data


class SelectorBase(CallbackSupport, ClassifierMixin, SelectorMixin, BaseEstimator):
    """A classifier that selects features by a model of ``fs.select``."""

    _kernels = False
    model: str
    scale: str
    constraints: Any
    multiclass: str
    time_limit: float | None

    def fit(self, X: Any, y: Any) -> SelectorBase:
        """Select features and fit the classifier.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Numbers in original units; sparse where ``scale`` shifts nothing and the model takes it.
        y : array-like of shape (n_samples,)
            Labels, of two classes or more.

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
        return self._fit(X, y)

    def _fit(self, X: Any, y: Any) -> SelectorBase:
        recipe = recipe_of(self, kernels=self._kernels)
        shared = choice("multiclass", self.multiclass, MULTICLASS) == "shared"
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: give one label a sample."
            )
        _check_names(X)
        X, y = validated(self, X, y, reset=True, dtype=np.float64, accept_sparse="csr" if self._sparse() else False)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise DataError(
                f"y holds one class, {self.classes_[0]!r}: a classifier needs samples of at least 2 classes."
            )
        what = asked(self, recipe, X.shape[1])
        features = self._names()
        rows = running.SideRows(*constraints.apart(self.constraints, features))
        problems = self._problems(X, codes, features)
        if shared and len(problems) > 1:
            raise ParameterError(
                f'multiclass="shared" does not exist for model="{recipe.name}": use multiclass="each".'
            )
        found, clock = [], Clock(self.time_limit)
        for k, data in enumerate(problems):
            limit = None if clock.left is None else max(clock.left / (len(problems) - k), 1e-3)
            found.append(running.solved(data, what, rows, limit))
        self.selection_ = found[0] if len(found) == 1 else found
        self._live = [one.model for one in found]
        self._settle(found)
        running.warn_of_limits(found)
        return self

    def _problems(self, X: Any, codes: NDArray[np.intp], features: tuple[str, ...]) -> list[Dataset]:
        """Return the data of two classes, or of each class against the rest."""
        names = self.classes_.tolist()
        if len(names) == 2:
            return [Dataset(X, np.where(codes == 1, 1.0, -1.0), features, "X", *names)]
        rest = {k: tuple(name for j, name in enumerate(names) if j != k) for k in range(len(names))}
        return [
            Dataset(X, np.where(codes == k, 1.0, -1.0), features, f"X/{names[k]}", rest[k], names[k])
            for k in range(len(names))
        ]

    def _settle(self, found: list[Selection]) -> None:
        """Keep what is asked for after a fit."""
        names = np.array(self._names(), dtype=object)
        chosen = {name for one in found for name in one.selected}
        self._support = np.array([name in chosen for name in names])
        self.certificate_ = proven.of_selections(found)
        self.objective_, self.bound_ = self.certificate_.objective, self.certificate_.bound
        self.gap_, self.status_ = self.certificate_.gap, self.certificate_.status

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
        X = validated(self, X, reset=False, dtype=np.float64, accept_sparse="csr" if self._sparse() else False)
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
            self._live = [running.rebuilt(one.data, what, rows) for one in self._selections]
        return self._live[0] if len(self._live) == 1 else self._live

    def _as_fitted(self) -> tuple[Asked, running.SideRows]:
        recipe = recipe_of(self, kernels=self._kernels)
        return asked(self, recipe, self.n_features_in_), running.SideRows(
            *constraints.apart(self.constraints, self._names())
        )

    def _sparse(self) -> bool:
        """Tell whether sparse X can be taken, as the model and the scaling are."""
        known = isinstance(self.model, str) and self.model in MODELS
        return known and self.model not in DENSE and isinstance(self.scale, str) and self.scale in SHIFTLESS

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the live models, which belong to this process."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_live"}

    if SINCE_1_6:

        def __sklearn_tags__(self) -> Any:
            tags = super().__sklearn_tags__()
            tags.input_tags.sparse = self._sparse()
            return tags

    else:

        def _more_tags(self) -> dict[str, Any]:
            return {"X_types": ["2darray", "sparse"] if self._sparse() else ["2darray"], "requires_y": True}


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
