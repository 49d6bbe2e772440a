r"""The generalisation bounds behind GMEB, evaluated for a given classifier, term by term.

Problem
    n samples with ||x_i|| <= r, n+ and n- of the classes, phi(z) = 1 - z/gamma where z <= gamma, else 0. With
    probability at least 1 - delta over the draw of the samples, for every classifier of the class at once:

    .. math::
        P(y f(x) \le 0) \le\ & \tfrac1n \sum_i \phi(y_i f(x_i))
            + \tfrac{2B}{\gamma} \left(\tfrac{\sqrt{n_+}}{n} \sqrt{\textstyle\sum_j v^+_j \tilde\sigma_j^2}
            + \tfrac{\sqrt{n_-}}{n} \sqrt{\textstyle\sum_j v^-_j \tilde\sigma_j^2}\right)
            + \tfrac{\Lambda}{\sqrt n}                                                       && (\text{Theorem 9}) \\
        \Lambda =\ & \tfrac{2r}{\gamma} + K \sqrt{2 \textstyle\sum_j \ln \log_2 (\tilde\sigma_j / \sigma_0)}
            + K (\tfrac2\gamma + 1) \sqrt{2 \ln \tfrac2\delta},\quad
            K = (B \|\tilde\sigma\| + 1) r                                                   && (\text{Theorem 9})

    for f(x) = w' diag(sigma) x + b with ||w|| <= B, |b| <= r, sigma >= 0 and sigma~_j = 2 max(sigma_j, sigma_0);

    .. math::
        P(y f(x) \le 0) \le\ & \tfrac1n \sum_i \phi(y_i f(x_i)) + \tfrac{1}{n C \hat\gamma}
            + \tfrac{\Lambda}{\sqrt n}                                                                    && (8) \\
        \tfrac1C =\ & 4 B \sqrt{\textstyle\sum_j v_j} + 2 r \sqrt n + 2 K \sqrt{2 n \ln \tfrac2\delta},\quad
        \Lambda = K \left(\sqrt{2 \ln \log_2 (\hat\gamma / \gamma_0)} + \sqrt{2 \ln \tfrac2\delta}\right)  && (8)

    for f(x) = w'x + b with ||w|| <= B, |b| <= r, K = (B + 1) r, gamma^ = 2 max(gamma, gamma_0), gamma >= gamma_0.
    v+_j, v-_j and v_j are the mean squares of column j of the data as given, over class +1, class -1 and all samples.
Use
    B, r, sigma_0, gamma_0, delta (and gamma in Theorem 9) must be chosen before the samples are seen. For data of usual
    size the bounds are far above 1: GMEB takes their form, with its own weights, and not their values.
Source
    Peleg, Meir 2005, "Feature selection by global minimization of a generalization bound": Definitions 7 and 8,
    Theorems 9 and 11, appendix A.
Deviations
    Theorem 9 has one symbol, delta, for the scales and the probability; sigma~ is appendix A's. By definition
    sigma~_j >= 2 sigma_0, so that no logarithm is negative. The constants are the theorems', as printed. Appendix A
    proves less than Theorem 9: with its p_i >= 1/(2i)^2, (22) gives ``Lambda = 2r/gamma
    + K (2/gamma + 1) sqrt(2 ln(16/delta) + 4 sum_j ln log2(sigma~_j/sigma_0))``, which is larger. Theorem 11 has
    4B sqrt(sum_j v_j) next to terms that grow with sqrt(n); the Rademacher term of appendix A, without scales, requires
    4B sqrt(n sum_j v_j) instead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fsmodels.checks import number_array, positive, share
from fsmodels.datasets.checks import checked_data
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import ParameterError
from fsmodels.weights import FloatArray

__all__ = ["MarginBound", "ScalingBound", "bound_with_scaling", "bound_without_scaling", "margin_cost"]

WITHIN = 1e-9  # relative: tolerance of ||w|| <= B and similar assumptions


@dataclass(frozen=True)
class ScalingBound:
    """The terms of Theorem 9, all dimensionless; ``total`` is their sum.

    Attributes
    ----------
    margin_cost : float
        Mean of phi over the samples.
    moments_plus, moments_minus : float
        The weighted norms of sigma~ over class +1 and -1, with their factor 2B/gamma.
    offset, scales, confidence : float
        The three parts of Lambda, in the order of the theorem, not yet over sqrt(n).
    n_samples : int
    """

    margin_cost: float
    moments_plus: float
    moments_minus: float
    offset: float
    scales: float
    confidence: float
    n_samples: int

    @property
    def Lambda(self) -> float:  # noqa: N802 - the paper's letter
        """The term that the theorem divides by sqrt(n)."""
        return self.offset + self.scales + self.confidence

    @property
    def total(self) -> float:
        """The bound on the probability of error; above 1 it is trivial."""
        return self.margin_cost + self.moments_plus + self.moments_minus + self.Lambda / math.sqrt(self.n_samples)


@dataclass(frozen=True)
class MarginBound:
    """The terms of Theorem 11, all dimensionless; ``total`` is their sum.

    Attributes
    ----------
    margin_cost : float
        Mean of phi over the samples.
    C : float
        The theorem's constant, the C of (18) and (19).
    hat_gamma : float
        2 max(gamma, gamma_0).
    margins, confidence : float
        The two parts of Lambda, in the order of the theorem, not yet over sqrt(n).
    n_samples : int
    """

    margin_cost: float
    C: float
    hat_gamma: float
    margins: float
    confidence: float
    n_samples: int

    @property
    def complexity(self) -> float:
        """1 / (n C gamma^)."""
        return 1.0 / (self.n_samples * self.C * self.hat_gamma)

    @property
    def Lambda(self) -> float:  # noqa: N802 - the paper's letter
        """The term that the theorem divides by sqrt(n)."""
        return self.margins + self.confidence

    @property
    def total(self) -> float:
        """The bound on the probability of error; above 1 it is trivial."""
        return self.margin_cost + self.complexity + self.Lambda / math.sqrt(self.n_samples)


def bound_with_scaling(
    data: Dataset,
    w: ArrayLike,
    sigma: ArrayLike,
    b: float,
    *,
    r: float,
    sigma_0: float,
    B: float = 1.0,
    gamma: float = 1.0,
    delta: float = 0.05,
) -> ScalingBound:
    """Evaluate Theorem 9 for f(x) = w' diag(sigma) x + b.

    Parameters
    ----------
    data : Dataset of shape (n, d)
        Dense. For a GMEB classifier, centre the columns first and pass its ``offset`` as b.
    w, sigma : array_like of shape (d,)
        ``u`` and ``sigma`` of ``scaling(model)``.
    b : float
    r : float
        Bound on the norm of every possible x, and on |b|.
    sigma_0 : float
        Least scale; smaller scales are replaced by it.
    B : float
        Bound on the norm of w.
    gamma : float
        Margin.
    delta : float
        In (0, 1): the bound holds with probability 1 - delta.

    Raises
    ------
    ParameterError
        A constant that is not positive, or that the classifier or the data exceed; a negative scale; a wrong length.

    Examples
    --------
    >>> data = Dataset.from_arrays([[-1.0], [1.0]], [-1, 1])
    >>> bound = bound_with_scaling(data, [1.0], [1.0], 0.0, r=1.0, sigma_0=1.0)
    >>> bound.margin_cost, round(bound.moments_plus, 12), bound.scales
    (0.0, 2.0, 0.0)
    """
    data, w = _checked(data, w, b, B=B, r=r, delta=delta)
    smallest = positive("sigma_0", sigma_0, "sigma_0 is the least scale")
    width = positive("gamma", gamma, "gamma is a margin")
    scale = _vector("sigma", sigma, data)
    if (scale < 0).any():
        raise ParameterError(f"sigma has the negative scale {scale.min():g}: scales are at least 0.")
    tilde = 2.0 * np.maximum(scale, smallest)
    n, K = len(data.y), (B * float(np.linalg.norm(tilde)) + 1.0) * r

    def moments(sign: int) -> float:
        held = data.X[data.y == sign]
        norm = math.sqrt(float((held**2).sum(axis=0) @ tilde**2))  # sqrt(n+) times the root of sum_j v+_j sigma~_j^2
        return 2.0 * B / width * norm / n

    return ScalingBound(
        margin_cost=margin_cost(data.y * (data.X @ (w * scale) + b), width),
        moments_plus=moments(1),
        moments_minus=moments(-1),
        offset=2.0 * r / width,
        scales=K * math.sqrt(2.0 * float(np.log(np.log2(tilde / smallest)).sum())),
        confidence=K * (2.0 / width + 1.0) * math.sqrt(2.0 * math.log(2.0 / delta)),
        n_samples=n,
    )


def bound_without_scaling(
    data: Dataset,
    w: ArrayLike,
    b: float,
    *,
    r: float,
    gamma: float,
    gamma_0: float,
    B: float = 1.0,
    delta: float = 0.05,
) -> MarginBound:
    """Evaluate Theorem 11 for f(x) = w'x + b (8).

    Errors as for ``bound_with_scaling``, and gamma below gamma_0.

    Parameters
    ----------
    data, w, b, r, B, delta
        As for ``bound_with_scaling``.
    gamma : float
        Margin, at least gamma_0; it may be chosen after seeing the data.
    gamma_0 : float
        Least margin.

    Examples
    --------
    >>> data = Dataset.from_arrays([[-1.0], [1.0]], [-1, 1])
    >>> bound = bound_without_scaling(data, [1.0], 0.0, r=1.0, gamma=1.0, gamma_0=0.5)
    >>> bound.margin_cost, bound.hat_gamma
    (0.0, 2.0)
    """
    data, w = _checked(data, w, b, B=B, r=r, delta=delta)
    width, least = positive("gamma", gamma, "gamma is a margin"), positive("gamma_0", gamma_0, "gamma_0 is a margin")
    if width < least:
        raise ParameterError(f"gamma={gamma!r} is below gamma_0={gamma_0!r}: (8) holds for margins from gamma_0 on.")
    n, K, hat = len(data.y), (B + 1.0) * r, 2.0 * max(width, least)
    doubt = math.log(2.0 / delta)
    second_moments = float((data.X**2).mean(axis=0).sum())
    return MarginBound(
        margin_cost=margin_cost(data.y * (data.X @ w + b), width),
        C=1.0 / (4.0 * B * math.sqrt(second_moments) + 2.0 * r * math.sqrt(n) + 2.0 * K * math.sqrt(2.0 * n * doubt)),
        hat_gamma=hat,
        margins=K * math.sqrt(2.0 * math.log(math.log2(hat / least))),
        confidence=K * math.sqrt(2.0 * doubt),
        n_samples=n,
    )


def margin_cost(margins: FloatArray, gamma: float) -> float:
    """Return the mean of phi (Definition 7): 1 - z/gamma where z <= gamma, else 0.

    >>> margin_cost(np.array([-1.0, 1.0, 3.0]), 2.0)
    0.6666666666666666
    """
    return float(np.maximum(1.0 - margins / gamma, 0.0).mean())


def _vector(name: str, values: ArrayLike, data: Dataset) -> FloatArray:
    vector = number_array(name, values)
    if vector.shape != (data.n_features,) or not np.isfinite(vector).all():
        raise ParameterError(
            f"{name} of shape {vector.shape} is not allowed: give one finite number for each of the "
            f"{data.n_features} features."
        )
    return vector


def _checked(data: Dataset, w: ArrayLike, b: float, *, B: float, r: float, delta: float) -> tuple[Dataset, FloatArray]:
    """Check the assumptions of both theorems; return the data and the weights."""
    data = checked_data(data, who="The bound").require_dense("gmeb")
    positive("B", B, "B bounds the norm of w")
    positive("r", r, "r bounds the norm of every sample")
    share("delta", delta, "delta is the probability that the bound fails", open_below=True)
    weights = _vector("w", w, data)
    if (size := float(np.linalg.norm(weights))) > B * (1 + WITHIN):
        raise ParameterError(f"B={B!r} is below the norm of w, {size:.6g}: the theorem is for ||w|| <= B.")
    norms = np.linalg.norm(data.X, axis=1)
    if (largest := float(norms.max())) > r * (1 + WITHIN):
        raise ParameterError(f"r={r!r} is below the norm of sample {norms.argmax()}, {largest:.6g}: give a larger r.")
    if not abs(b) <= r * (1 + WITHIN):
        raise ParameterError(f"b={b!r} is larger than r={r!r}: the theorem is for |b| <= r.")
    return data, weights
