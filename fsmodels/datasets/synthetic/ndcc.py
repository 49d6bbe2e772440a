r"""NDCC: normally distributed clusters on cubes, among noise.

Problem
    Centres at the vertices of three concentric cubes of the 1-norm. Opposite vertices belong to opposite classes, and
    so do vertices of neighbouring cubes in one direction, so that no hyperplane separates the classes:

    .. math::
        c &= s R_q e_j, \quad y = s (-1)^q          && s = \pm 1,\ q = 0, 1, 2,\ R = (1, 3, 5),\ j = 1, \dots, k \\
        \pi &\sim \operatorname{Dirichlet}(\alpha, \dots, \alpha)   && \text{shares of the } 6k \text{ centres} \\
        (x_1, \dots, x_k) \mid c &\sim N(c, 0.1^2 B_c B_c^\top / k)          && B_c \in R^{k \times k},\
        (B_c)_{ab} \sim N(0, 1) \\
        x_j &\sim N(0, 1)                                                    && j = k + 1, \dots, d

    The shares and covariances of the centres are the same for the training, validation and test part.
Symbols
    d -> ``n_features``, k -> ``n_relevant``, alpha -> ``concentration``, c -> ``centres`` (6 k, k), y of a centre ->
    ``classes`` (6 k,), pi -> ``shares`` (6 k,). No units.
Source
    Thompson 2006, "NDCC: normally distributed clustered datasets on cubes", as Tayal, Coleman, Li, "Primal explicit max
    margin feature selection for nonlinear support vector machines", section 5.1.1 and figure 2 describe it.
Deviations
    The paper does not specify the following:

    - Radii 1, 3 and 5, and the spread 0.1: clusters are ten times narrower than the innermost cube, and a classifier
      by the true centres makes almost no error (none in 20,000 samples at k = 1, 2 and 20).
    - Shares: "some centers generate a relatively small number of points, while others generate a relatively large
      number of points". They are normalised Gamma(alpha) draws. alpha determines the difficulty, as a centre without
      training samples cannot be learned. At alpha = 1, the default, an SVM with an RBF kernel that is tuned on the
      validation part has a test error of 8.3% on the relevant features and 40.8% on all features, means of five seeds;
      the paper has 10.5% (for AO-EFS, which finds the relevant features) and 44.3%. At alpha = 2 both errors are nearer
      to those of the paper; the benchmark ``kernel_tables`` has a table over alpha.
    - Shares that give a class less than a twentieth are drawn again, which is rare for many centres.
    - Noise features have variance 1; standardised data do not depend on it.
    - A part with one class only, which happens for few samples, is drawn again.

Seeds
    The mixture and each part have seed sequences of their own: no part depends on the size of another, and the relevant
    features do not depend on the number of noise features.
"""

from dataclasses import dataclass

import numpy as np

from fsmodels.checks import positive
from fsmodels.datasets.dataset import Dataset
from fsmodels.datasets.synthetic.draws import Seed, Synthetic, check_sizes, draw_parts, generators
from fsmodels.errors import ParameterError
from fsmodels.weights import FloatArray

RADII = (1.0, 3.0, 5.0)
SPREAD = 0.1  # standard deviation of a relevant feature around its centre, on average over centres
LEAST_CONCENTRATION = 0.01  # below it, nearly all samples belong to one centre, hence to one class
LEAST_CLASS = 0.05


@dataclass(frozen=True, eq=False)
class Clusters(Synthetic):
    """Three data sets from one mixture of normal clusters, each of which belongs to one class.

    Attributes
    ----------
    name, train, test, relevant
        As in ``Synthetic``; ``relevant`` are the features of the centres, x1, ..., xk.
    validation : Dataset
        As ``train`` and ``test``.
    centres : ndarray of shape (6 k, k)
        In the relevant features.
    classes : ndarray of shape (6 k,)
        -1 or +1 for each centre.
    shares : ndarray of shape (6 k,)
        Probability of each centre.
    """

    validation: Dataset
    centres: FloatArray
    classes: FloatArray
    shares: FloatArray


def ndcc(
    n_samples: int = 200,
    n_features: int = 120,
    n_relevant: int = 20,
    n_validation: int = 200,
    n_test: int = 1000,
    concentration: float = 1.0,
    seed: Seed = 0,
    name: str | None = None,
) -> Clusters:
    """Draw NDCC data: classes by clusters on three cubes in the relevant features, and noise features.

    Parameters
    ----------
    n_samples, n_validation, n_test : int
        Samples of each part, at least 2; 200, 200 and 1000 in the paper.
    n_features : int
        d, at least ``n_relevant``; 120 in the paper.
    n_relevant : int
        k, at least 1; 20 in the paper.
    concentration : float
        alpha of the shares, at least 0.01; for larger values the shares are more equal and the problem is harder.
    seed : int or numpy.random.SeedSequence
        Of all draws.
    name : str, optional
        Name of the instance; its parts have the suffix /train, /validation or /test.

    Examples
    --------
    >>> clusters = ndcc(seed=1)
    >>> clusters.train.X.shape, clusters.test.X.shape, clusters.n_relevant
    ((200, 120), (1000, 120), 20)
    >>> train = clusters.train.scaled("standard")
    >>> test = train.apply_scale_to(clusters.test)
    """
    check_sizes(n_features, n_relevant, n_samples=n_samples, n_validation=n_validation, n_test=n_test)
    if positive("concentration", concentration, "it is the shape of the Gamma shares") < LEAST_CONCENTRATION:
        raise ParameterError(
            f"concentration={concentration} gives nearly all samples to one centre, hence to one class: use at least "
            f"{LEAST_CONCENTRATION}."
        )
    mixture, *sources = generators(seed, 7)
    centres, classes = _cubes(n_relevant)
    shares = _shares(mixture, classes, concentration)
    factors = SPREAD / np.sqrt(n_relevant) * mixture.standard_normal((len(centres), n_relevant, n_relevant))

    def draw(size: int, source: tuple[np.random.Generator, np.random.Generator]) -> tuple[FloatArray, FloatArray]:
        drawn, noise = source
        which = drawn.choice(len(centres), size, p=shares)
        while len(np.unique(classes[which])) < 2:
            which = drawn.choice(len(centres), size, p=shares)
        known = drawn.standard_normal((size, n_relevant))
        for c in np.unique(which):
            known[which == c] = centres[c] + known[which == c] @ factors[c].T
        return np.hstack([known, noise.standard_normal((size, n_features - n_relevant))]), classes[which]

    title = name or f"ndcc-n{n_samples}-d{n_features}-k{n_relevant}"
    pairs = zip(sources[:3], sources[3:], strict=True)
    parts = draw_parts(draw, pairs, title, train=n_samples, validation=n_validation, test=n_test)
    relevant = parts["train"].features[:n_relevant]
    return Clusters(title, **parts, relevant=relevant, centres=centres, classes=classes, shares=shares)


def _cubes(k: int) -> tuple[FloatArray, FloatArray]:
    """Return the centres (6 k, k) and their classes (6 k,): by cube, then by sign, then by axis."""
    shells = [(s * R, s * (-1.0) ** q) for q, R in enumerate(RADII) for s in (1.0, -1.0)]
    centres = np.vstack([distance * np.eye(k) for distance, _ in shells])
    return centres, np.repeat([label for _, label in shells], k)


def _shares(generator: np.random.Generator, classes: FloatArray, concentration: float) -> FloatArray:
    """Return shares of the centres that give neither class less than ``LEAST_CLASS``."""
    while True:
        shares = generator.dirichlet(np.full(len(classes), concentration))
        if LEAST_CLASS <= shares[classes > 0].sum() <= 1 - LEAST_CLASS:
            return shares
