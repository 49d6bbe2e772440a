r"""Sparse classification of Bertsimas, Pauphilet and Van Parys: k weights of -1 and +1 among p correlated features.

Problem
    Rows of a normal process along the features, and labels by the side of a hyperplane, with optional noise:

    .. math::
        x_i &\sim N(0, \Sigma), \quad \Sigma_{jk} = \rho^{|j - k|}       && i = 1, \dots, n \\
        w_j &\in \{-1, +1\} \text{ for } j \in S, \quad w_j = 0 \text{ else}, \quad |S| = k \text{ at random} \\
        y_i &= \operatorname{sign}(w^\top x_i + \epsilon_i), \quad \epsilon_i \sim N(0, w^\top \Sigma w / \text{snr})

    Each column is then scaled to the norm sqrt(n), without a shift. The weights of the error depend on the data:

    .. math:: C_t = 1000 \cdot 2^t p / (k\, n \max_i \lVert x_i \rVert_2^2), \quad t = 0, 1, \dots
Symbols
    n -> ``n_samples``, p -> ``n_features``, k -> ``n_relevant``, rho -> ``correlation``. No units.
Source
    Bertsimas, Pauphilet, Van Parys 2021, "Sparse classification: a scalable discrete optimization perspective",
    computational results. Their models have no intercept.
Deviations
    - S is uniform over the supports of size k, and each sign is a fair coin.
    - No noise by default: ``snr`` is infinite.
    - The test part, which the paper does not have, is scaled by the norms of the training part.
    - A part with one class only, which happens for few samples, is drawn again.

Seeds
    Each part has a seed sequence of its own, so that it does not depend on the size of the other.
"""

import math
from dataclasses import replace

import numpy as np

from fsmodels.datasets.dataset import Dataset
from fsmodels.datasets.synthetic.draws import Seed, check_sizes, draw_parts, generators
from fsmodels.datasets.synthetic.peleg_meir import Pair
from fsmodels.errors import ParameterError
from fsmodels.weights import FloatArray

PRICE = 1000.0  # of t = 0, in units of p / (k n max |x|^2)


def bertsimas(
    n_samples: int,
    n_features: int = 1000,
    n_relevant: int = 10,
    n_test: int = 1000,
    seed: Seed = 0,
    name: str | None = None,
    correlation: float = 0.3,
    snr: float = math.inf,
) -> Pair:
    """Draw an instance.

    Parameters
    ----------
    n_samples : int
        n, training samples, at least 2; at least 500 in the paper.
    n_features : int
        p, at least ``n_relevant``.
    n_relevant : int
        k, at least 1.
    n_test : int
        Test samples, at least 2.
    seed : int or numpy.random.SeedSequence
        Of all draws.
    name : str, optional
        Name of the pair; its parts have the suffix /train or /test.
    correlation : float
        rho of neighbouring features, between -1 and 1.
    snr : float
        Variance of w.x over that of the noise, above 0; infinite: no noise.

    Examples
    --------
    >>> pair = bertsimas(n_samples=50, n_features=20, n_relevant=3, seed=1)
    >>> pair.train.X.shape, len(pair.relevant), pair.linear_error
    ((50, 20), 3, 0.0)
    >>> bool(np.allclose((pair.train.X**2).mean(axis=0), 1.0))
    True
    """
    check_sizes(n_features, n_relevant, n_samples=n_samples, n_test=n_test)
    if not -1 < correlation < 1:
        raise ParameterError(f"correlation={correlation} is not possible: use a number between -1 and 1.")
    if not snr > 0:
        raise ParameterError(f"snr={snr} is not possible: use a number above 0, or inf for no noise.")
    plane, *sources = generators(seed, 3)
    where = np.sort(plane.choice(n_features, n_relevant, replace=False))
    w = plane.choice([-1.0, 1.0], n_relevant)
    variance = float(w @ correlation ** np.abs(where[:, None] - where) @ w)
    spread = math.sqrt(variance / snr)

    def draw(size: int, generator: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        X = generator.standard_normal((size, n_features))
        X[:, 1:] *= math.sqrt(1 - correlation**2)
        for j in range(1, n_features):
            X[:, j] += correlation * X[:, j - 1]
        return X, np.sign(X[:, where] @ w + spread * generator.standard_normal(size))

    title = name or f"bertsimas-n{n_samples}-p{n_features}-k{n_relevant}"
    parts = draw_parts(draw, sources, title, train=n_samples, test=n_test)
    norms = np.sqrt((parts["train"].X ** 2).mean(axis=0))
    return Pair(
        title,
        **{what: replace(data, X=data.X / norms) for what, data in parts.items()},
        relevant=tuple(f"x{j + 1}" for j in where),
        linear_error=math.atan(1 / math.sqrt(snr)) / math.pi,  # the angle between w.x and w.x + noise
    )


def bertsimas_price(train: Dataset, n_relevant: int, t: int = 0) -> float:
    """Return C_t of the paper for the selection of ``n_relevant`` features.

    Examples
    --------
    >>> pair = bertsimas(n_samples=50, n_features=20, n_relevant=3, seed=1)
    >>> bertsimas_price(pair.train, 3, t=2) == 4 * bertsimas_price(pair.train, 3)
    True
    """
    n, p = train.X.shape
    if not 1 <= n_relevant <= p:
        raise ParameterError(f"n_relevant={n_relevant} is not possible with {p} features: use 1..{p}.")
    return float(PRICE * 2.0**t * p / (n_relevant * n * (train.X**2).sum(axis=1).max()))
