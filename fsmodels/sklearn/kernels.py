"""``KernelSelectorClassifier``: weights of the features inside a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fsmodels.sklearn.base import SelectorBase

__all__ = ["KernelSelectorClassifier"]


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

    _kernels = True

    def __init__(
        self,
        model: str = "ao-efs",
        max_features: int | str | None = "auto",
        C: float = 1.0,
        penalty: float | None = None,
        *,
        kernel: str = "rbf",
        degree: int | None = None,
        offset: float | None = None,
        eps: float | None = None,
        start: Any = None,
        svm: str | None = None,
        stop: str | None = None,
        form: str | None = None,
        sigma: bool | None = None,
        scale: str = "standard",
        constraints: Any = None,
        class_weight: Mapping[Any, float] | str | None = None,
        multiclass: str = "each",
        solver: Any = None,
        time_limit: float | None = None,
        gap: float | None = None,
        seed: int | None = None,
        solver_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.model = model
        self.max_features = max_features
        self.C = C
        self.penalty = penalty
        self.kernel = kernel
        self.degree = degree
        self.offset = offset
        self.eps = eps
        self.start = start
        self.svm = svm
        self.stop = stop
        self.form = form
        self.sigma = sigma
        self.scale = scale
        self.constraints = constraints
        self.class_weight = class_weight
        self.multiclass = multiclass
        self.solver = solver
        self.time_limit = time_limit
        self.gap = gap
        self.seed = seed
        self.solver_options = solver_options

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelSelectorClassifier:
        """Select features and fit the classifier.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Numbers in original units; sparse where ``scale`` shifts nothing and the model takes it.
        y : array-like of shape (n_samples,)
            Labels, of two classes or more.
        sample_weight : array-like of shape (n_samples,), optional
            How often each sample counts: 2 is as good as the sample twice, 0 as leaving it out.

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
        self._fit(X, y, sample_weight)
        return self
