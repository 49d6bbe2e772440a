"""The estimators: ``SelectorClassifier`` for linear models and baselines, ``KernelSelectorClassifier`` for kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from fsmodels.checks import choice
from fsmodels.datasets.dataset import Dataset
from fsmodels.datasets.dialect import ARRAYS
from fsmodels.datasets.read import check_names
from fsmodels.errors import DataError, ParameterError
from fsmodels.selection.catalogue import MODELS
from fsmodels.selection.request import Request
from fsmodels.selection.selection import Selection
from fsmodels.sklearn import request
from fsmodels.sklearn.request import MULTICLASS, names_of_models, request_of, spec_of
from fsmodels.sklearn.weights import FitByModel, checked_weights, distinct, takes_weights
from fsmodels.text import SPARSE_SCALINGS, listed
from fsmodels.weights import FloatArray
from solvers import StopReason
from solvers.clock import Clock
from solvers.shared_state import put_off

LEAST = 1e-3  # s, for a problem after the time limit


@dataclass(eq=False, repr=False)
class SelectorBase(ClassifierMixin, SelectorMixin, BaseEstimator):
    """Base class of the estimators; its fields are the parameters of both."""

    model: str
    max_features: int | str | None = "auto"
    C: float = 1.0
    penalty: float | Mapping[str, float] | None = None
    _: KW_ONLY
    form: str | None = None
    sigma: bool | None = None
    scale: str = "standard"
    constraints: Any = None
    rows: Any = None
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

    @property
    def feature_importances_(self) -> FloatArray:
        """1 for a selected feature and 0 for another, so that ``SelectFromModel`` can keep the selection."""
        return np.asarray(self.get_support(), dtype=float)

    @FitByModel
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Select features and fit the classifier.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Numbers in original units; sparse if ``scale`` does not shift and the model takes sparse data.
        y : array-like of shape (n_samples,)
            Labels, of two classes or more.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each sample: 2 is equivalent to the sample twice, 0 excludes it. Not for fsmulti and the
            filters.

        Returns
        -------
        self

        Raises
        ------
        ParameterError
            A parameter that the model does not use, or a value that is not allowed.
        DataError
            A name in ``constraints`` is no feature.
        NoSelection, SolverError
            Nothing satisfies the constraints; no solution within the limits.
        """
        spec = spec_of(self, kernels=self._kernels)
        if isinstance(self.multiclass, str) and self.multiclass == "shared":
            raise ParameterError(
                'multiclass="shared" was removed. Use multiclass="each", or one model with linked sigma, as in '
                '"More than two classes" of docs/scikit-learn.md.'
            )
        choice("multiclass", self.multiclass, MULTICLASS)
        if not spec.takes_weights and (sample_weight is not None or self.class_weight is not None):
            which = "sample_weight" if sample_weight is not None else "class_weight"
            able = listed(filter(takes_weights, MODELS), len(MODELS))
            raise ParameterError(
                f'{type(self).__name__}(model="{spec.name}") takes no {which}: what it minimises is no sum over '
                f"samples that weights could multiply. Models that take it: {able}."
            )

        check_names([str(name) for name in getattr(X, "columns", ())], ARRAYS)
        X, y = validate_data(self, X, y, dtype=np.float64, accept_sparse="csr" if self._sparse() else False)
        check_classification_targets(y)
        weights = checked_weights(sample_weight, len(y))
        if weights is not None:
            X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise DataError(f"y has one class, {self.classes_[0]!r}: a classifier needs samples of at least 2 classes.")
        whole, functions = self._request()
        if "fair" in whole.rows and weights is not None:
            raise ParameterError("constraints: fair compares means of samples, which sample_weight would not change.")
        if spec.takes_weights and "fair" not in whole.rows:
            X, codes, weights = distinct(X, codes, weights)
        found = self._solved(request.requests_of(whole, X, codes, weights, self), functions)
        self.certificate_ = request.certificate_of(found)
        self._live = [one.model for one in found]
        self.selection_ = found[0] if len(found) == 1 else found
        self._set_fitted(found)
        request.warn_of_limits(found)
        return self

    def _solved(self, requests: list[Request], functions: list[Callable[[Any], Any]]) -> list[Selection]:
        """Solve the requests one after another, each with an equal share of the remaining time."""
        found: list[Selection] = []
        clock = Clock(self.time_limit)
        for k, one in enumerate(requests):
            left = clock.left
            limit = None if left is None else max(left / (len(requests) - k), LEAST)
            found.append(request.solved(one, functions, limit))
            if found[-1].stop_reason is StopReason.INTERRUPTED and k + 1 < len(requests):
                raise KeyboardInterrupt("Interrupted before every class had a selection.")
        return found

    def _set_fitted(self, found: list[Selection]) -> None:
        """Set the fitted attributes."""
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
        """Return the names of the features; x0, x1, ... if X was an array."""
        named = getattr(self, "feature_names_in_", None)
        names = [f"x{j}" for j in range(self.n_features_in_)] if named is None else [str(name) for name in named]
        return tuple(names)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self._support

    def decision_function(self, X: Any) -> FloatArray:
        """Return the decision values: above 0 for the second of two classes; otherwise one column for each class.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64, accept_sparse="csr" if self._sparse() else False)
        data = Dataset(X, np.ones(X.shape[0]), self._names())
        scores = [(one.refit or one).decision(data) for one in self._selections]
        return scores[0] if len(scores) == 1 else np.column_stack(scores)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each sample."""
        scores = self.decision_function(X)
        codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[codes])

    @property
    def model_(self) -> pyo.ConcreteModel | list[pyo.ConcreteModel] | None:
        """The live Pyomo model with the values of the solution, or a list by class; None for a baseline.

        A pickle excludes it; it is then built again on demand, without the values.
        """
        check_is_fitted(self)
        if not hasattr(self, "_live"):
            whole, functions = self._request()
            with put_off():
                self._live = [request.built(whole.on(one.data), functions).model for one in self._selections]
        return self._live[0] if len(self._live) == 1 else self._live

    def _request(self) -> tuple[Request, list[Callable[[Any], Any]]]:
        """Return the request without samples, and the functions in ``constraints``."""
        return request_of(self, spec_of(self, kernels=self._kernels), self._names())

    def _sparse(self) -> bool:
        """Return True if the model and the scaling take sparse X."""
        known = isinstance(self.model, str) and self.model in MODELS
        sparse_scale = isinstance(self.scale, str) and self.scale in SPARSE_SCALINGS
        return known and sparse_scale and not MODELS[self.model].dense_only

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the live models, which cannot leave this process."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_live"}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._sparse()
        return tags


Estimator = TypeVar("Estimator", bound=SelectorBase)


def with_parameters(cls: type[Estimator]) -> type[Estimator]:
    """Add a field for each parameter of the builders of an estimator; None is the default of the builder."""
    for name in names_of_models(kernels=cls._kernels):
        for parameter in MODELS[name].parameters:
            if not hasattr(cls, parameter):
                cls.__annotations__[parameter] = "Any"
                setattr(cls, parameter, None)
    return dataclass(eq=False, repr=False)(cls)


@with_parameters
class SelectorClassifier(SelectorBase):
    """Select features by a linear model of ``fs.select``, and classify by it.

    Parameters
    ----------
    model : str
        A model of ``fs.select`` without a kernel, such as "fsp-m", "fsp-lambda", "one-norm-svm", "fsv", "gmeb",
        "fsmulti", "rfe", "relief". fsl, fsv, fss and fsb classify by their refit, the robust LP on the selected
        features.
    max_features : int, None or "auto"
        The largest number of features, 1..n_features; for a model without such a parameter it is a row on sigma.
        "auto": min(5, n_features) if the model needs a number, otherwise no limit. None: no limit.
    C : float
        The weight of the sum of slacks.
    penalty : float or mapping feature -> float, optional
        The price of a feature: of fsp-lambda (default 1); lambda of the family of FS (default 0.05); the share of obd
        (default 0.05).
    R_plus, R_minus : float, optional
        Bounds on the classes' second moments, of gmeb (default 2).
    budget, offset : optional
        Of fsmulti: the sum of the shares of features, an alternative to ``max_features``; a column of ones.
    loss : str, optional
        "hinge" or "squared-hinge"; of fsmulti "f1", "prbep", "rec@10", ...
    intercept, form, alpha, mu, delta, step, n_neighbors, sigma : optional
        Further parameters of the builders, as in ``fs.select``; None is the default of the model.
    scale : {"standard", "none", "unit-ball", "minmax"}
        Scaling of the features, by constants of the training samples; "none" or "unit-ball" for sparse X.
    constraints : mapping, callable, or list of these, optional
        Side constraints by the parameters of ``fs.select``, ``{"excludes": [("a", "b")], "budget": (costs, 10)}``, with
        features by name, or by position if X is an array; or a function of the live model, which adds rows to it or
        returns them. A function at the top level of a module can be pickled.
    rows : list of str, optional
        Linear rows over features by name, ``["a <= b", "w[a] >= 0"]``, as in ``fs.select``.
    class_weight : "balanced" or mapping label -> number, optional
        Cost of an error in each class, 1 for a class that is not named. Not for fsmulti and the filters.
    multiclass : {"each"}
        More than two classes: each class against the rest, with a selection for each class. ``transform`` keeps the
        features that are selected for any class.
    solver : str or Pyomo solver, optional
        Any of ``fs.available()``; by default that of the model.
    time_limit : float, optional
        Seconds for a fit, including the building of the model; the best selection found by then is kept, with a
        ``ConvergenceWarning``.
    gap : float, optional
        The relative gap at which the solver stops.
    seed : int, optional
        Of the solver, or of the model if it draws at random.
    solver_options : mapping, optional
        Options of the solver, such as ``{"threads": 2}``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    coef_, intercept_ : ndarray of shape (1 or n_classes, n_features) and (1 or n_classes,)
        The classifier, for X in original units.
    feature_importances_ : ndarray of shape (n_features,)
        1 for a selected feature and 0 for another.
    selection_ : Selection, or list of them by class
        The result of ``fs.select``, with weights, table, proof and ``save``.
    model_ : pyo.ConcreteModel, or list of them by class
        The live model with the values of the solution. A pickle excludes it; it is then built again on demand.
    certificate_ : FitCertificate
        The proven bound, with a ``sentence``.
    objective_, bound_, gap_, status_
        The values of ``certificate_``; for several classes the sums.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Raises
    ------
    ParameterError
        At ``fit``: a parameter that the model does not use, or a value that is not allowed.

    See Also
    --------
    fsmodels.select : selection for a ``Dataset``, with reports.

    Notes
    -----
    If the model takes weights, equal samples with equal labels are one sample of the model, with the sum of their
    weights. So a fit does not depend on the order of samples, and a repeated sample is equivalent to a weight.

    There is no ``predict_proba``: wrap the classifier in ``sklearn.calibration.CalibratedClassifierCV``.

    The estimator is a transformer. ``SelectFromModel`` compares ``coef_`` with its mean by default, and so drops
    features with small weights: give it ``importance_getter="feature_importances_"``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fsmodels.sklearn import SelectorClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> X = X[["mean radius", "mean texture", "worst area", "worst texture", "mean smoothness"]]
    >>> found = SelectorClassifier(max_features=2, constraints={"excludes": [("worst area", "mean radius")]}).fit(X, y)
    >>> found.get_feature_names_out().tolist(), round(found.score(X, y), 2)
    (['worst area', 'mean smoothness'], 0.92)
    >>> print(found.certificate_)
    The objective is 96.3398, which is proven optimal (bound 96.3398).
    """

    model: str = "fsp-m"
    _: KW_ONLY

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; ``class_weight`` only if it is set or the model takes it."""
        arguments: dict[str, Any] = super().get_params(deep)
        name = getattr(self, "_listed_as", self.model)
        if arguments["class_weight"] is None and not takes_weights(name):
            del arguments["class_weight"]
        return arguments

    def set_params(self, **params: Any) -> SelectorClassifier:
        """Set parameters, the model first, because ``class_weight`` depends on it."""
        if "model" in params:
            before, new = getattr(self, "_listed_as", self.model), params.pop("model")
            super().set_params(model=new)
            self.__dict__.pop("_listed_as", None)
            if not (isinstance(new, str) and new in MODELS):  # fit raises an error for it
                self._listed_as = before
        super().set_params(**params)
        return self

    def _set_fitted(self, found: list[Selection]) -> None:
        super()._set_fitted(found)
        classifiers, names = [one.refit or one for one in found], self._names()
        weights = [one.weights_original or {} for one in classifiers]
        self.coef_ = np.array([[w.get(name, 0.0) for name in names] for w in weights])
        self.intercept_ = np.array([float(one.bias_original or 0.0) for one in classifiers])


@with_parameters
class KernelSelectorClassifier(SelectorBase):
    """Select features by their weights inside a kernel, and classify by the SVM with that kernel.

    Parameters
    ----------
    model : {"full-fs", "ao-simple", "ao-margin", "ao-efs", "gmkl"}
        The local method that computes the weights; it proves no bound.
    max_features : int, None or "auto"
        The largest number of features with a weight; "auto" and None: no limit.
    C : float
        The weight of the sum of slacks.
    penalty : float, optional
        mu, the price of a unit of weight; default 1.
    kernel : {"rbf", "polynomial", "linear"}
    degree, offset, eps, start, svm, stop, form, sigma : optional
        Further parameters of the builders, as in ``fs.select``; None is the default of the model.
    scale, constraints, rows, class_weight, multiclass, solver, time_limit, gap, seed, solver_options
        As for ``SelectorClassifier``.

    Attributes
    ----------
    classes_, selection_, model_, certificate_, objective_, bound_, gap_, status_, n_features_in_, feature_names_in_
        As in ``SelectorClassifier``; the weights are ``selection_.weights``.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fsmodels.sklearn import KernelSelectorClassifier
    >>> X, y = make_moons(40, noise=0.1, random_state=0)
    >>> found = KernelSelectorClassifier(penalty=0.1, C=10).fit(X, y)
    >>> found.get_support().tolist(), found.score(X, y)
    ([True, True], 1.0)
    """

    model: str = "ao-efs"
    _: KW_ONLY
    kernel: str = "rbf"

    _kernels = True
