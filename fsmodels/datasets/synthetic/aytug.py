r"""Data sets one and two of Aytug: noise-free classes separated by a hyperplane with few non-zero weights.

Problem
    Draw l samples and a true hyperplane (w, b) with M non-zero weights:

    .. math::
        x_i &= g_i / \lVert g_i \rVert_2, \quad g_i \sim N(0, I_n)      && i = 1, \dots, l \\
        w_j &\sim U(-1, 1) \text{ for } j \in S, \quad w_j = 0 \text{ else}, \quad |S| = M \text{ at random} \\
        y_i &= \operatorname{sign}(w^\top x_i + b)

    A triplet (training, validation, test) shares one (w, b); each part has l samples of its own.
Symbols
    n -> ``n_features``, l -> ``n_samples``, M -> ``n_relevant``, w -> ``w_true`` (n,), b -> ``b_true``. No units.
Source
    Aytug 2015, "Feature selection for support vector machines using Generalized Benders Decomposition", computational
    results: "each observation was normalized to fit in a ball of radius one. We then created a hyperplane with M
    nonzero random coefficients".
Deviations
    The paper does not specify the following:

    - Rows are standard normal before they are normalised to length one, hence uniform over directions.
    - Non-zero weights are uniform on [-1, 1] (a draw of exactly 0 is repeated), not normalised.
    - b = 0: the hyperplane of the paper has coefficients only. Classes are then equally likely.
    - A part with one class only, which happens for few samples, is drawn again.
    - M of data set one is uniform on 1..n-1: the paper has M < n, "selected randomly given n", and each fifth of
      M/n contains roughly 20 percent of its instances.
    - Validation and test parts have the size of the training part, which the paper does not give.

Seeds
    Each instance of data sets one and two has a seed sequence of its own, keyed by (data set, n, l, M of set two,
    number): it does not depend on the others. Each part has a seed sequence of its own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fsmodels.datasets.dataset import Dataset
from fsmodels.datasets.synthetic.draws import Seed, Synthetic, check_sizes, draw_parts, generators
from fsmodels.errors import ParameterError
from fsmodels.weights import FloatArray


@dataclass(frozen=True, eq=False)
class Triplet(Synthetic):
    """Three data sets from one true hyperplane.

    Attributes
    ----------
    name, train, test, relevant
        As in ``Synthetic``; rows have length one, and ``relevant`` are the M features with a true weight.
    validation : Dataset
        As ``train`` and ``test``.
    w_true : ndarray of shape (n_features,)
        Weights of the true hyperplane, M of them not 0.
    b_true : float
        Its bias, 0.
    """

    validation: Dataset
    w_true: FloatArray
    b_true: float


def aytug(
    n_features: int,
    n_samples: int,
    n_relevant: int,
    seed: Seed = 0,
    name: str | None = None,
) -> Triplet:
    """Draw a triplet.

    Parameters
    ----------
    n_features : int
        n, at least 1.
    n_samples : int
        l of each part, at least 2.
    n_relevant : int
        M, 1..n_features.
    seed : int or numpy.random.SeedSequence
        Of all draws.
    name : str, optional
        Name of the triplet; its parts have the suffix /train, /validation or /test.

    Examples
    --------
    >>> triplet = aytug(n_features=20, n_samples=500, n_relevant=5, seed=1)
    >>> len(triplet.train), triplet.n_relevant
    (500, 5)
    """
    check_sizes(n_features, n_relevant, n_samples=n_samples)
    plane, *sources = generators(seed, 4)
    w = np.zeros(n_features)
    w[plane.choice(n_features, n_relevant, replace=False)] = _nonzero_uniform(plane, n_relevant)

    def draw(size: int, generator: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        X = generator.standard_normal((size, n_features))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        return X, np.sign(X @ w)

    title = name or f"aytug-n{n_features}-l{n_samples}-M{n_relevant}"
    parts = draw_parts(draw, sources, title, train=n_samples, validation=n_samples, test=n_samples)
    relevant = tuple(f"x{j + 1}" for j in np.flatnonzero(w))
    return Triplet(title, **parts, relevant=relevant, w_true=w, b_true=0.0)


def _nonzero_uniform(generator: np.random.Generator, size: int) -> FloatArray:
    weights = generator.uniform(-1.0, 1.0, size)
    while not weights.all():
        weights[weights == 0] = generator.uniform(-1.0, 1.0, int((weights == 0).sum()))
    return weights


def data_set_one(
    seed: int = 0,
    n_features: Sequence[int] = (20, 50, 100),
    n_samples: Sequence[int] = (500, 1000, 5000),
    instances: int = 10,
) -> Iterator[Triplet]:
    """Yield data set one: for each n and l, ``instances`` triplets with M random in 1..n-1 (90 by default).

    Parameters
    ----------
    seed : int
        Of all draws; an instance does not depend on the other instances.
    n_features, n_samples : sequence of int
        The n (at least 2) and the l.
    instances : int
        Triplets for each pair.

    Yields
    ------
    Triplet
        Named ``aytug1-n20-l500-0`` and so on.

    Examples
    --------
    >>> first = next(data_set_one())
    >>> first.name, first.train.X.shape
    ('aytug1-n20-l500-0', (500, 20))
    """
    for n in n_features:
        if n < 2:
            raise ParameterError(f"n_features={n} leaves no M below n: use at least 2.")
        for samples in n_samples:
            for k in range(instances):
                key = np.random.SeedSequence(seed, spawn_key=(1, n, samples, k))
                n_relevant = int(np.random.default_rng(key).integers(1, n))
                yield aytug(n, samples, n_relevant, key, f"aytug1-n{n}-l{samples}-{k}")


def data_set_two(
    seed: int = 0,
    n_relevant: Sequence[int] = (20, 100, 200, 400, 600),
    instances: int = 5,
    n_features: int = 800,
    n_samples: int = 1000,
) -> Iterator[Triplet]:
    """Yield data set two: n = 800, l = 1000, and for each M ``instances`` triplets (25 by default).

    Parameters are as in ``data_set_one``; triplets are named ``aytug2-M20-0`` and so on.

    Examples
    --------
    >>> next(data_set_two()).n_relevant
    20
    """
    for relevant in n_relevant:
        for k in range(instances):
            key = np.random.SeedSequence(seed, spawn_key=(2, n_features, n_samples, relevant, k))
            yield aytug(n_features, n_samples, relevant, key, f"aytug2-M{relevant}-{k}")
