r"""The papers' synthetic data: Aytug's data sets one and two; types 1 and 2 of Peleg and Meir.

Problem
    ``aytug``, noise-free classes cut by a hyperplane that few features span. Draw l samples and a true hyperplane
    (w, b) with M non-zero weights:

    .. math::
        x_i &= g_i / \lVert g_i \rVert_2, \quad g_i \sim N(0, I_n)      && i = 1, \dots, l \\
        w_j &\sim U(-1, 1) \text{ for } j \in S, \quad w_j = 0 \text{ else}, \quad |S| = M \text{ at random} \\
        y_i &= \operatorname{sign}(w^\top x_i + b)

    A triplet (training, validation, test) shares one (w, b); each part has l samples of its own.

    ``weston``, two groups of three relevant features, of which each sample shows one, among noise of large variance.
    Both classes are equally likely; with probability 0.7 a sample is of case I, else of case II:

    .. math::
        \text{I: }  && x_j \mid y &\sim N(j y, 1),\ j = 1, 2, 3    && x_j \mid y \sim N(0, 1),\ j = 4, 5, 6 \\
        \text{II: } && x_j \mid y &\sim N(0, 1),\ j = 1, 2, 3      && x_j \mid y \sim N((j - 3) y, 1),\ j = 4, 5, 6 \\
                    && x_j &\sim N(0, 20^2),\ j = 7, \dots, 202

    ``peleg_meir``, correlated relevant features among white noise. Both classes are equally likely:

    .. math::
        (x_1, \dots, x_k) \mid y \sim N(y e, \Lambda),\quad \Lambda = V \operatorname{diag}(1, 2, \dots, k) V^\top,
        \quad x_j \sim N(0, 1),\ j = k + 1, \dots, d

    V is a random orthogonal matrix, the same for training and test.
Symbols
    Aytug: n -> ``n_features``, l -> ``n_samples``, M -> ``n_relevant``, w -> ``w_true`` (n,), b -> ``b_true``.
    Peleg, Meir: d -> ``n_features``, n_sel, above k -> ``n_relevant``, n -> ``n_samples``. No units.
Source
    Aytug 2015, "Feature selection for support vector machines using Generalized Benders Decomposition", computational
    results: "each observation was normalized to fit in a ball of radius one. We then created a hyperplane with M
    nonzero random coefficients".

    Peleg, Meir 2005, "Feature selection by global minimization of a generalization bound", section 6.3.1 and table 1;
    their type 1 is that of Weston, Mukherjee, Chapelle, Pontil, Poggio, Vapnik 2000, "Feature selection for SVMs".
Deviations
    Aytug leaves these open; chosen here:

    - Rows are standard normal before they are normalised to length one, hence uniform over directions.
    - Non-zero weights are uniform on [-1, 1] (a draw of exactly 0 is drawn again), not normalised.
    - b = 0: the paper's hyperplane has coefficients only. Classes are then equally likely.
    - A part that came out with one class only (a matter of few samples) is drawn again as a whole.
    - M of data set one is uniform on 1..n-1: the paper says M < n, "selected randomly given n", and that each fifth of
      M/n holds roughly 20 percent of its instances.
    - Validation and test parts have the size of the training part; the paper does not give their size.

    Peleg and Meir:

    - Table 1 says in our copy "x_i y ~ N(y i, 1)"; read as "x_i | y", as elsewhere in that section. As it stands x_i
      would have mean i in both classes and tell nothing.
    - The noise of type 1 is written N(0, 20); 20 is taken as the standard deviation, which section 6.4.1 says it is.
      But the errors in table 3 of SVM and 1-norm SVM come out with ``noise=20**0.5``, the variance, and not with 20.
    - The paper's Bayes errors: 0.4% for type 1 (0.37%, by the best linear classifier and, simulated, by the best of
      all); 9.6% for type 2 with k = 2, which depends on V and lies between 7.9% and 15.9%.
    - V is uniform over orthogonal matrices (Haar); the paper says "a randomly generated unitary matrix".
    - 1000 test samples, which the paper says for type 2 only.
    - A part with one class only is drawn again, as above.

Seeds
    Each instance of data sets one and two has a seed sequence of its own, keyed by (data set, n, l, M of set two,
    number): it is the same whichever others are drawn. Training and test parts are drawn from sequences of their own.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsmodels.checks import positive
from fsmodels.dataset import Dataset
from fsmodels.errors import ParameterError

__all__ = ["Pair", "Triplet", "aytug", "data_set_one", "data_set_two", "peleg_meir", "weston"]

FloatArray = NDArray[np.float64]

WESTON_SHARE = 0.7  # of case I
WESTON_MEANS = np.array([1.0, 2.0, 3.0])  # of the three features of a sample's case, times y
WESTON_NOISE = 20.0  # standard deviation


@dataclass(frozen=True, eq=False)
class Triplet:
    """Three data sets from one true hyperplane.

    Attributes
    ----------
    name : str
        Which instance.
    train, validation, test : Dataset
        n_samples rows of length one each, features x1, ..., xn.
    w_true : ndarray of shape (n_features,)
        Weights of the true hyperplane, M of them not 0.
    b_true : float
        Its bias, 0.
    """

    name: str
    train: Dataset
    validation: Dataset
    test: Dataset
    w_true: FloatArray
    b_true: float

    @property
    def relevant(self) -> tuple[str, ...]:
        """Names of the M features with a true weight."""
        return tuple(name for name, weight in zip(self.train.features, self.w_true, strict=True) if weight)

    @property
    def n_relevant(self) -> int:
        """M, the number of features with a true weight."""
        return int(np.count_nonzero(self.w_true))


def aytug(
    n_features: int,
    n_samples: int,
    n_relevant: int,
    seed: int | np.random.SeedSequence = 0,
    name: str | None = None,
) -> Triplet:
    """Draw one triplet.

    Parameters
    ----------
    n_features : int
        n, at least 1.
    n_samples : int
        l of each part, at least 2, so that there can be two classes.
    n_relevant : int
        M, 1..n_features.
    seed : int or numpy.random.SeedSequence
        One seed, one triplet.
    name : str, optional
        Name of the triplet, and with /train, /validation, /test of its parts.

    Raises
    ------
    ParameterError
        A size outside its range.

    Examples
    --------
    >>> triplet = aytug(n_features=20, n_samples=500, n_relevant=5, seed=1)
    >>> len(triplet.train), triplet.n_relevant
    (500, 5)
    """
    if n_features < 1:
        raise ParameterError(f"n_features={n_features} gives no feature: use at least 1.")
    if n_samples < 2:
        raise ParameterError(f"n_samples={n_samples} cannot hold two classes: use at least 2.")
    if not 1 <= n_relevant <= n_features:
        raise ParameterError(
            f"n_relevant={n_relevant} is not possible with {n_features} features: use 1..{n_features}."
        )
    plane, *parts = _generators(seed, 4)

    w = np.zeros(n_features)
    w[plane.choice(n_features, n_relevant, replace=False)] = _nonzero_uniform(plane, n_relevant)
    title = name or f"aytug-n{n_features}-l{n_samples}-M{n_relevant}"
    names = tuple(f"x{j + 1}" for j in range(n_features))

    def part(what: str, generator: np.random.Generator) -> Dataset:
        return Dataset(*_separated_rows(generator, n_samples, w), names, f"{title}/{what}")

    train, validation, test = (part(what, g) for what, g in zip(("train", "validation", "test"), parts, strict=True))
    return Triplet(title, train, validation, test, w_true=w, b_true=0.0)


def _generators(seed: int | np.random.SeedSequence, number: int) -> list[np.random.Generator]:
    root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    # children by key and not by spawn(), which would count up in a sequence that the caller may use again
    children = [np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, k)) for k in range(number)]
    return [np.random.default_rng(child) for child in children]


def _nonzero_uniform(generator: np.random.Generator, size: int) -> FloatArray:
    weights = generator.uniform(-1.0, 1.0, size)
    while not weights.all():
        weights[weights == 0] = generator.uniform(-1.0, 1.0, int((weights == 0).sum()))
    return weights


def _separated_rows(generator: np.random.Generator, n_samples: int, w: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Rows of length one, uniform over directions, and the side of the hyperplane they lie on; both sides occur."""
    while True:
        X = generator.standard_normal((n_samples, len(w)))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        side = np.sign(X @ w)
        if len(np.unique(side)) == 2 and side.all():  # no row on the hyperplane either
            return X, side


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
        One seed, one data set; an instance does not depend on which others are asked for.
    n_features, n_samples : sequence of int
        The n (at least 2) and the l.
    instances : int
        Triplets for each pair.

    Yields
    ------
    Triplet
        Drawn when asked for; named ``aytug1-n20-l500-0`` and so on.

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


@dataclass(frozen=True, eq=False)
class Pair:
    """A training and a test set from one distribution of which the relevant features are known.

    Attributes
    ----------
    name : str
        Which instance.
    train, test : Dataset
        Features x1, ..., xd.
    relevant : tuple of str
        The features that depend on the class.
    linear_error : float
        Probability that the best linear classifier is wrong, 0..0.5; for ``peleg_meir`` no classifier is better.
    """

    name: str
    train: Dataset
    test: Dataset
    relevant: tuple[str, ...]
    linear_error: float

    @property
    def n_relevant(self) -> int:
        """Number of relevant features."""
        return len(self.relevant)


def weston(
    n_samples: int,
    n_features: int = 202,
    n_test: int = 1000,
    seed: int | np.random.SeedSequence = 0,
    name: str | None = None,
    noise: float = WESTON_NOISE,
) -> Pair:
    """Draw type 1 of Peleg and Meir, which is Weston's linear problem: 6 relevant features, in two cases.

    Parameters
    ----------
    n_samples : int
        Training samples, at least 2, so that there can be two classes; the paper has 10, 20, ..., 50.
    n_features : int
        At least 6, which are relevant; 202 in the paper.
    n_test : int
        Test samples, at least 2.
    seed : int or numpy.random.SeedSequence
        One seed, one pair.
    name : str, optional
        Name of the pair, and with /train, /test of its parts.
    noise : float
        Standard deviation of the other features, above 0. The same draws times another number: standardised data do
        not depend on it.

    Raises
    ------
    ParameterError
        A size outside its range, or noise not above 0.

    Notes
    -----
    Source: Peleg, Meir 2005, 6.3.1, type 1; Weston et al. 2000.

    Examples
    --------
    >>> pair = weston(n_samples=50, seed=1)
    >>> pair.train.X.shape, pair.relevant, round(pair.linear_error, 4)
    ((50, 202), ('x1', 'x2', 'x3', 'x4', 'x5', 'x6'), 0.0037)
    """
    from scipy.optimize import minimize_scalar
    from scipy.stats import norm

    groups, size = 2, len(WESTON_MEANS)
    _check_pair(n_samples, n_test, n_features, groups * size)
    positive("noise", noise, "noise is a standard deviation")

    def relevant(generator: np.random.Generator, y: FloatArray) -> FloatArray:
        first = generator.random(len(y)) < WESTON_SHARE
        means = y[:, None] * WESTON_MEANS
        X = np.hstack([np.where(case[:, None], means, 0.0) for case in (first, ~first)])
        return X + generator.standard_normal(X.shape)

    def error(angle: float) -> float:  # of the weights cos(angle) means, sin(angle) means
        distance = float(np.linalg.norm(WESTON_MEANS))
        wrong = norm.cdf([-distance * np.cos(angle), -distance * np.sin(angle)])
        return float(wrong @ [WESTON_SHARE, 1 - WESTON_SHARE])

    best = float(minimize_scalar(error, bounds=(0.0, np.pi / 2), method="bounded").fun)
    title = name or f"weston-n{n_samples}-d{n_features}"
    return _pair(title, relevant, groups * size, n_features, noise, n_samples, n_test, best, seed)


def peleg_meir(
    n_samples: int,
    n_features: int,
    n_relevant: int,
    n_test: int = 1000,
    seed: int | np.random.SeedSequence = 0,
    name: str | None = None,
) -> Pair:
    """Draw type 2 of Peleg and Meir: correlated relevant features among white noise.

    Parameters
    ----------
    n_samples : int
        Training samples, at least 2; the paper has 100 and, in its figure 1, 200.
    n_features : int
        d; the paper has 1000 and 100.
    n_relevant : int
        n_sel, 1..n_features; the paper has 2 and, in its figure 1, 2, 10 and 20.
    n_test, seed, name
        As for ``weston``.

    Raises
    ------
    ParameterError
        A size outside its range.

    Notes
    -----
    Source: Peleg, Meir 2005, 6.3.1, type 2.

    Examples
    --------
    >>> pair = peleg_meir(n_samples=100, n_features=1000, n_relevant=2, seed=1)
    >>> pair.train.X.shape, pair.relevant
    ((100, 1000), ('x1', 'x2'))
    """
    from scipy.stats import norm, ortho_group

    _check_pair(n_samples, n_test, n_features, n_relevant)
    (turn,) = _generators(seed, 1)
    axes = ortho_group.rvs(n_relevant, random_state=turn) if n_relevant > 1 else np.ones((1, 1))
    spread = np.sqrt(np.arange(1.0, n_relevant + 1))

    def relevant(generator: np.random.Generator, y: FloatArray) -> FloatArray:
        return y[:, None] + (generator.standard_normal((len(y), n_relevant)) * spread) @ axes.T

    error = float(norm.cdf(-np.linalg.norm(axes.sum(axis=0) / spread)))
    title = name or f"peleg-meir-n{n_samples}-d{n_features}-k{n_relevant}"
    return _pair(title, relevant, n_relevant, n_features, 1.0, n_samples, n_test, error, seed)


def _check_pair(n_samples: int, n_test: int, n_features: int, n_relevant: int) -> None:
    for name, number in (("n_samples", n_samples), ("n_test", n_test)):
        if number < 2:
            raise ParameterError(f"{name}={number} cannot hold two classes: use at least 2.")
    if n_relevant < 1:
        raise ParameterError(f"n_relevant={n_relevant} leaves nothing to find: use 1..{n_features}.")
    if n_features < n_relevant:
        raise ParameterError(
            f"n_features={n_features} is not possible with {n_relevant} relevant features: use at least {n_relevant}."
        )


def _pair(
    title: str,
    relevant: Callable[[np.random.Generator, FloatArray], FloatArray],
    n_relevant: int,
    n_features: int,
    noise: float,
    n_samples: int,
    n_test: int,
    error: float,
    seed: int | np.random.SeedSequence,
) -> Pair:
    """Draw the labels, then the relevant columns by ``relevant``, then noise; both classes occur in both parts."""
    names = tuple(f"x{j + 1}" for j in range(n_features))

    def part(what: str, size: int, generator: np.random.Generator) -> Dataset:
        y = generator.choice([-1.0, 1.0], size)
        while len(np.unique(y)) < 2:
            y = generator.choice([-1.0, 1.0], size)
        known = relevant(generator, y)
        X = np.hstack([known, noise * generator.standard_normal((size, n_features - n_relevant))])
        return Dataset(X, y, names, f"{title}/{what}")

    _, *generators = _generators(seed, 3)  # the first is V's
    train, test = (part(*p) for p in zip(("train", "test"), (n_samples, n_test), generators, strict=True))
    return Pair(title, train, test, names[:n_relevant], error)
