"""The estimators: ``SelectorClassifier`` for linear models and baselines, ``KernelSelectorClassifier`` for kernels."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeVar

import numpy as np

from fsmodels.selection.recipes import MODELS
from fsmodels.selection.selection import Selection
from fsmodels.sklearn.base import FloatArray, SelectorBase
from fsmodels.sklearn.request import names_of_models
from fsmodels.sklearn.weighing import weighs

Estimator = TypeVar("Estimator", bound=SelectorBase)


def with_parameters(cls: type[Estimator]) -> type[Estimator]:
    """Add a field for each parameter of a builder of the models of an estimator; None is the builder's default."""
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
        Any name of ``fs.select`` but those of kernels, such as "fsp-m", "fsp-lambda", "one-norm-svm", "fsv", "gmeb",
        "fsmulti", "rfe", "relief". Those of the family of FS that have a second step (fsl, fsv, fss, fsb) classify by
        it: the robust LP on what they select.
    max_features : int, None or "auto"
        The most features, 1..n_features; a model without such a number of its own gets a row on its selection.
        "auto": 5, or as many as there are, where the model needs a number, and no limit elsewhere. None: no limit.
    C : float
        The weight of the sum of slacks.
    penalty : float or mapping feature -> float, optional
        The price of a feature: of fsp-lambda (default 1), lambda of the family of FS (default 0.05), the share of obd
        (default 0.05).
    R_plus, R_minus : float, optional
        Bounds on the classes' second moments, of gmeb (default 2).
    budget, offset : optional
        Of fsmulti: the sum of shares that more features may have, in place of ``max_features``; a column of ones.
    loss : str, optional
        "hinge" or "squared-hinge"; of fsmulti "f1", "prbep", "rec@10", ...
    intercept, form, alpha, mu, delta, step, n_neighbors, sigma : optional
        Further parameters of the builders, as ``fs.select`` takes them: None is the model's own default.
    scale : {"standard", "none", "unit-ball", "minmax"}
        How features are scaled, by constants of the samples that are fitted. Sparse X takes "none" or "unit-ball".
    constraints : mapping, callable, or list of these, optional
        Declarations by the words of ``fs.select``, ``{"excludes": [("a", "b")], "budget": (costs, 10)}``, features by
        name, or by position where X is an array; or a function of the live model, which adds rows to it or returns
        them. A function that is to be pickled is one at the top of a module.
    class_weight : "balanced" or mapping label -> number, optional
        What a mistake costs in a class, 1 where it is not named. Of models that weigh samples: not fsmulti and the
        filters.
    multiclass : {"each"}
        More than two classes: one against the rest, with a selection for each class. ``transform`` keeps all features
        that any class selects.
    solver : str or Pyomo solver, optional
        Any of ``fs.available()``; by default the model's own.
    time_limit : float, optional
        Seconds that a fit may take, building included; what was found by then is kept, with a ``ConvergenceWarning``.
    gap : float, optional
        The relative gap at which a proof is good enough.
    seed : int, optional
        Of the solver, or of the model where that draws at random.
    solver_options : mapping, optional
        Options of the solver, such as ``{"threads": 2}``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    coef_, intercept_ : ndarray of shape (1 or n_classes, n_features) and (1 or n_classes,)
        The classifier, for X in original units.
    selection_ : Selection, or list of them by class
        What ``fs.select`` returns, with weights, table, proof and ``save``.
    model_ : pyo.ConcreteModel, or list of them by class
        The live model with the solution's values. A pickle leaves it out; it is then built again when it is asked for.
    certificate_ : FitCertificate
        What is proven, with a ``sentence``.
    objective_, bound_, gap_, status_
        The same as single numbers; of several classes the sums.
    n_features_in_, feature_names_in_
        As in all of scikit-learn.

    Raises
    ------
    ParameterError
        At ``fit``: a parameter that the model does not use, or a value that is not allowed.

    See Also
    --------
    fsmodels.select : the same for a ``Dataset``, with reports.

    Notes
    -----
    Samples that are equal, label and all, enter a model that weighs samples once, with the weight that they have
    together; so a fit depends neither on their order nor on whether repeats or weights say how often they count.

    There is no ``predict_proba``: wrap the classifier in ``sklearn.calibration.CalibratedClassifierCV``.

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
    The objective is 96.3398, and it is proven that none is lower (bound 96.3398).
    """

    model: str = "fsp-m"
    _: KW_ONLY

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; ``class_weight`` only where it is set or the model takes it."""
        words: dict[str, Any] = super().get_params(deep)
        name = getattr(self, "_listed_as", self.model)
        if words["class_weight"] is None and not weighs(name):
            del words["class_weight"]
        return words

    def set_params(self, **params: Any) -> SelectorClassifier:
        """Set parameters; the model first, on which it depends whether there is a ``class_weight``."""
        if "model" in params:
            before, new = getattr(self, "_listed_as", self.model), params.pop("model")
            super().set_params(model=new)
            self.__dict__.pop("_listed_as", None)
            if not (isinstance(new, str) and new in MODELS):  # which fit refuses, and which says nothing of parameters
                self._listed_as = before
        super().set_params(**params)
        return self

    def _settle(self, found: list[Selection]) -> None:
        super()._settle(found)
        weights = [_original(one, self._names()) for one in found]
        self.coef_ = np.array([w for w, _ in weights])
        self.intercept_ = np.array([b for _, b in weights])


@with_parameters
class KernelSelectorClassifier(SelectorBase):
    """Select features by their weights inside a kernel, and classify by the SVM with that kernel.

    Parameters
    ----------
    model : {"full-fs", "ao-simple", "ao-margin", "ao-efs", "gmkl"}
        How the weights are found: local methods, nothing is proven.
    max_features : int, None or "auto"
        The most features with a weight; "auto" and None: no limit.
    C : float
        The weight of the sum of slacks.
    penalty : float, optional
        mu, the price of a unit of weight; default 1.
    kernel : {"rbf", "polynomial", "linear"}
    degree, offset, eps, start, svm, stop, form, sigma : optional
        Further parameters of the builders, as ``fs.select`` takes them: None is the model's own default.
    scale, constraints, class_weight, multiclass, solver, time_limit, gap, seed, solver_options
        As for ``SelectorClassifier``.

    Attributes
    ----------
    classes_, selection_, model_, certificate_, objective_, bound_, gap_, status_, n_features_in_, feature_names_in_
        As of ``SelectorClassifier``; the weights are ``selection_.weights``.

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


def _original(found: Selection, names: tuple[str, ...]) -> tuple[FloatArray, float]:
    """Return weights of all features and the offset, for data in original units."""
    one = found.refit or found
    weights, b = one.weights_original or {}, one.bias_original
    return np.array([weights.get(name, 0.0) for name in names]), float(b or 0.0)
