r"""Rankings of all features by filters and by elimination, best first.

Problem
    ``information_gain``: :math:`H(y) - H(y \mid x_j)` in bits after the entropy discretisation of Fayyad and Irani
    (IJCAI 1993), as WEKA's ``InfoGainAttributeEval`` does.

    ``mutual_information``: scikit-learn's nearest-neighbour estimate in nats (Ross, PLoS ONE 2014).

    ``relief``: ReliefF for two classes (Kononenko 1994; Robnik-Sikonja, Kononenko 2003). With the k nearest samples of
    the same class, H_i, and of the other class, M_i, in the 1-norm of the features scaled to [0, 1]:

    .. math:: W_j = \frac1n \sum_i \Bigl(\frac1k \sum_{m \in M_i} |x_{ij} - x_{mj}|
                    - \frac1k \sum_{h \in H_i} |x_{ij} - x_{hj}|\Bigr)

    ``kernel_rfe``: recursive elimination with an SVM whose kernel is
    :math:`K(x, x') = \exp(-\lVert x - x' \rVert^2 / \sigma^2)`. With the multipliers u of its dual and a = y u, drop
    the feature k without which :math:`W^2 = a^\top K a` changes least, u as it is, and train again:

    .. math:: k = \arg\min_k \bigl| a^\top K a - a^\top K^{(-k)} a \bigr|,
              \quad K^{(-k)}_{ij} = K_{ij} \exp\bigl((x_{ik} - x_{jk})^2 / \sigma^2\bigr)

    ``r2w2``: scales s = sigma^2 >= 0 of the features for which radius over margin is least (Weston et al. 2000),

    .. math:: \min_{s \ge 0}\ R^2(s)\, W^2(s), \qquad K_{il} = \textstyle\sum_k s_k x_{ik} x_{lk} + \tfrac1{2C} [i = l]

    .. math:: W^2 = \max_{\alpha \ge 0,\ y^\top \alpha = 0} 2 e^\top \alpha
                    - \textstyle\sum_{il} \alpha_i \alpha_l y_i y_l K_{il}, \qquad
              R^2 = \max_{\beta \ge 0,\ e^\top \beta = 1} \textstyle\sum_i \beta_i K_{ii} - \beta^\top K \beta

    W is the inverse of the margin with squared slacks at the price C, and R the radius of the smallest ball around the
    samples. By the envelope theorem ``dW^2/ds_k = -(sum_i alpha_i y_i x_ik)^2`` and ``dR^2/ds_k = sum_i beta_i x_ik^2
    - (sum_i beta_i x_ik)^2``. The features with the smallest s are dropped, and the problem of the remaining features
    is solved again from their s.
Symbols
    sigma -> ``width``, k of ``relief`` -> ``n_neighbors``. Scores are a Series by feature name; its name is that of the
    score, with the unit.
Source
    Aytug 2015, computational results, for information gain. Tayal, Coleman, Li, "Primal explicit max margin feature
    selection for nonlinear support vector machines", section 5.2, for the others; Guyon, Weston, Barnhill, Vapnik 2002,
    "Gene selection for cancer classification using support vector machines", for nonlinear kernels in ``kernel_rfe``;
    Weston, Mukherjee, Chapelle, Pontil, Poggio, Vapnik 2000, "Feature selection for SVMs", for ``r2w2``, (2) of Aytug
    2015 without its penalty.
Deviations
    - The entropy cuts come from a scikit-learn decision tree on the ranks of one feature, fully grown and pruned
      from the root by Fayyad and Irani's minimum description length rule. This is their recursion; among cuts of equal
      entropy the tree may take another one than WEKA. A feature without an accepted cut has gain 0, as in WEKA.
    - Tayal, Coleman and Li bin a feature for its mutual information; the nearest-neighbour estimate needs no bins.
    - They score Relief by the ratio of the mean distances to one nearest miss and hit; ReliefF takes the difference
      over several neighbours. ``n_neighbors=1`` gives the nearest ones of Kira and Rendell.
    - Relief is that of scikit-rebate, with all features numerical: its own detection of categories gives wrong
      distances if there are both kinds. Its hits would include the sample itself if k exceeds the others of its
      class, so k is at most their number. Among neighbours at equal distance it takes any.
    - Weston et al. have hard margins and descend in sigma, whose gradient is 0 at sigma_k = 0. ``r2w2`` is for the
      linear kernel, with squared slacks and s = sigma^2, and makes at most 20 steps of L-BFGS-B in each round.
    - Equal scores keep the order of the columns.
Certificate
    heuristic.

Values outside the documented ranges raise ``ParameterError``; sparse data, or a class of one sample, raise
``DataError`` where they are not supported.

A round of ``kernel_rfe`` costs O(n_sv^2 d) time and O(n_sv^2) memory for n_sv support vectors: K^(-k) is the
exponential of a difference of distances. All 119 rounds on NDCC data with 400 samples and 120 features took 6 s, and
1 s with ``step=0.1``.

Selections that satisfy rows, for methods that rank features.

The model of the rows has a binary ``sigma`` over the features and any rows that a MILP solver accepts. A selection is
allowed if it satisfies the rows and has at most K features. Both rules solve small MILPs, each of which decides whether
an allowed selection exists that contains some features and excludes others.

``best_first`` takes features in the order of the ranking, and skips a feature if no allowed selection contains it
together with those already taken. The result is the lexicographically first allowed selection. It is the selection of
the plain filter if that satisfies the rows.

``eliminated`` drops the worst feature, unless every allowed selection within the remaining features contains it. It
stops at an allowed selection; each step keeps at least one within the remaining features. Then it adds features again
as ``best_first`` does, those dropped last first. Without this step, a budget could leave few expensive features, or
none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyomo.environ as pyo
import scipy
from numpy.typing import NDArray
from pyomo.common.modeling import unique_component_name

from fsmodels.checks import positive, whole
from fsmodels.datasets.checks import checked_data, require_unweighted
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import DataError, ModelError, NoSelection, ParameterError, SolverError
from fsmodels.models.libsvm import svc
from fsmodels.text import listed
from fsmodels.weights import FloatArray
from solvers import SolutionStatus, solve


class Allowed:
    """The selections of at most ``most`` features that the rows of a model on ``sigma`` allow.

    Raises NoSelection if there is none.
    """

    def __init__(self, features: Sequence[str], rows: pyo.ConcreteModel, most: int) -> None:
        sigma = rows.component("sigma") if isinstance(rows, pyo.ConcreteModel) else None
        if sigma is None or list(sigma) != list(features) or not all(s.is_binary() for s in sigma.values()):
            raise ModelError(
                "rows must be a Pyomo model with a binary sigma over the features of the data, in their order."
            )
        self.model = rows.clone()
        self.sigma = self.model.sigma
        names = [row.name for row in self.model.component_objects(pyo.Constraint, active=True)]
        number = pyo.quicksum(self.sigma.values())
        self.model.add_component(unique_component_name(self.model, "most"), pyo.Constraint(expr=number <= most))
        self.model.add_component(unique_component_name(self.model, "fewest"), pyo.Objective(expr=number))
        found = self._solved()
        if found is None:
            raise NoSelection(
                f"No selection with at most {most} features satisfies the rows {listed(names)}: allow more "
                "features, or relax one."
            )
        self.known = found  # an allowed selection with the fixed values

    def fix(self, name: str, value: int) -> bool:
        """Fix a feature in (1) or out (0) if an allowed selection with the fixed values remains; return True then."""
        self.sigma[name].fix(value)
        found = self.known if (name in self.known) == bool(value) else self._solved()
        if found is None:
            self.sigma[name].fix(1 - value)
            return False
        self.known = found
        return True

    def allows(self, selection: set[str]) -> bool:
        """Return True if the selection, which has the fixed values, is allowed."""
        if selection == self.known:
            return True
        before = {j: s.fixed for j, s in self.sigma.items()}
        for j, s in self.sigma.items():
            s.fix(int(j in selection))
        allowed = self._solved() is not None
        for j, s in self.sigma.items():
            if not before[j]:
                s.unfix()
        return allowed

    def _solved(self) -> set[str] | None:
        result = solve(self.model)
        if result.status is SolutionStatus.INFEASIBLE:
            return None
        if not result.has_solution:
            raise SolverError(f"The rows on the selection could not be checked: {result.message}")
        return {j for j, s in self.sigma.items() if pyo.value(s) > 0.5}


def best_first(features: Sequence[str], ranking: Iterable[str], rows: pyo.ConcreteModel, most: int) -> set[str]:
    """Return the allowed selection of at most ``most`` features that is first in the order of a ranking, best first.

    >>> rows = pyo.ConcreteModel()
    >>> rows.sigma = pyo.Var(["a", "b", "c"], domain=pyo.Binary)
    >>> rows.not_both = pyo.Constraint(expr=rows.sigma["a"] + rows.sigma["b"] <= 1)
    >>> sorted(best_first(["a", "b", "c"], ["b", "c", "a"], rows, 2))
    ['b', 'c']
    """
    allowed, taken = Allowed(features, rows, most), set[str]()
    for name in ranking:
        if len(taken) == most:
            break
        if allowed.fix(name, 1):
            taken.add(name)
    return taken


def eliminated(
    features: Sequence[str],
    worst_first: Callable[[list[str]], list[str]],
    rows: pyo.ConcreteModel,
    most: int,
    step: int,
) -> tuple[list[str], dict[str, int]]:
    """Drop the ``step`` worst features in each round until an allowed selection of at most ``most`` features is left.

    Then add dropped features again, the last first, if an allowed selection contains them too.

    ``worst_first`` sorts the remaining features. Returns the selection, and the number of rounds that each feature
    survived.
    """
    allowed, left, rounds = Allowed(features, rows, most), list(features), 0
    survived, dropped = dict.fromkeys(features, 0), list[str]()
    while len(left) > most or not allowed.allows(set(left)):
        budget = step
        for name in worst_first(list(left)):
            if not budget or (len(left) <= most and allowed.allows(set(left))):
                break
            if allowed.fix(name, 0):
                left.remove(name)
                dropped.append(name)
                survived[name] = rounds
                budget -= 1
        rounds += 1
    survived |= dict.fromkeys(left, rounds)
    return sorted(best_first(features, left + dropped[::-1], rows, most)), survived


__all__ = ["information_gain", "kernel_rfe", "mutual_information", "r2w2", "relief"]
__dir__ = __all__.copy  # for completion

HARD_MARGIN_C = 1e10  # C of libsvm, above any multiplier: the squared slacks are part of the kernel matrix
RELATIVE_TOLERANCE = 1e-6
BALL_ITERATIONS = 100_000
ROUND_ITERATIONS = 20  # of L-BFGS-B before features are dropped
NEIGHBOURS = "it is the number of nearest samples"


def information_gain(data: Dataset) -> pd.Series:
    """Rank by information gain H(y) - H(y | x_j) over the minimum description length cuts of each feature.

    Parameters
    ----------
    data : Dataset
        Dense or sparse; the ranking does not depend on scaling.

    Returns
    -------
    pandas.Series
        Gains by feature name, bits, 0..1, best first.

    Examples
    --------
    >>> from fsmodels import load_dataset
    >>> information_gain(load_dataset("wdbc")).index[0]
    'worst_perimeter'
    """
    require_unweighted(data, "information_gain")
    gains = [_gain(_dense_column(data.X, j), data.y) for j in range(data.n_features)]
    return ranked(data, gains, "information gain (bits)")


def mutual_information(data: Dataset, *, n_neighbors: int = 3, seed: int = 0) -> pd.Series:
    """Rank by scikit-learn's nearest-neighbour estimate of the mutual information of x_j and y.

    Parameters
    ----------
    data : Dataset
        Dense.
    n_neighbors : int
        Neighbours of the estimate, 1..n_samples - 1.
    seed : int
        Seed of the noise with which scikit-learn breaks ties between equal values.

    Returns
    -------
    pandas.Series
        Estimates by feature name, nats, best first.

    Examples
    --------
    >>> from fsmodels import load_dataset
    >>> mutual_information(load_dataset("wdbc")).index[0]
    'worst_perimeter'
    """
    from sklearn.feature_selection import mutual_info_classif

    checked_data(data, who="mutual_information").require_dense("mutual_information")
    near = whole("n_neighbors", n_neighbors, 1, data.n_samples - 1, NEIGHBOURS)
    state = whole("seed", seed, 0, 2**32 - 1, "it starts the random numbers")
    scores = mutual_info_classif(data.X, data.y, n_neighbors=near, random_state=state)
    return ranked(data, scores, "mutual information (nats)")


def relief(data: Dataset, *, n_neighbors: int = 10) -> pd.Series:
    """Rank by ReliefF: the difference, in one feature, of the distances to near samples of the other and the own class.

    All samples are used, so that nothing is random. Time O(n^2 d + n k d), 2 s at 400 x 120.

    Parameters
    ----------
    data : Dataset
        Dense, at least two samples of each class; the ranking does not depend on scaling.
    n_neighbors : int
        k nearest hits and misses of each sample, at least 1; fewer if the smaller class has not that many others.

    Returns
    -------
    pandas.Series
        Weights by feature name, -1..1, best first; 0 for a constant feature.

    Examples
    --------
    >>> data = Dataset.from_arrays([[0, 0], [0.25, 1], [1, 0], [0.75, 1]], [-1, -1, 1, 1])
    >>> relief(data, n_neighbors=1).to_dict()
    {'x1': 0.5, 'x2': -1.0}
    """
    from skrebate import ReliefF

    checked_data(data, who="relief").require_dense("relief")
    near = whole("n_neighbors", n_neighbors, 1, None, NEIGHBOURS)
    least = int(np.unique(data.y, return_counts=True)[1].min())
    if least < 2:
        raise DataError("A class has only one sample: Relief needs two samples of each class.")
    scores = np.zeros(data.n_features)
    varies = np.flatnonzero(np.ptp(data.X, axis=0) > 0)  # a range of 0 would divide by 0
    if len(varies):
        filter_ = ReliefF(n_neighbors=min(near, least - 1), categorical_features=[])
        scores[varies] = filter_.fit(data.X[:, varies], data.y).feature_importances_
    return ranked(data, scores, "ReliefF weight")


def kernel_rfe(data: Dataset, *, C: float = 1.0, width: float | None = None, step: int | float = 1) -> pd.Series:
    """Rank by recursive elimination with an RBF kernel: drop the feature of least influence on the margin, train again.

    Parameters
    ----------
    data : Dataset
        Dense and scaled, because features are added in distances.
    C : float
        Cost of slack, above 0.
    width : float, optional
        sigma of the kernel, above 0, in units of the features; by default the square root of their number. It does
        not change during the elimination.
    step : int or float
        Features dropped at a time: a number, or below 1 a fraction of the remaining ones (at least one). The paper
        drops one at a time; 0.1 saves time with many features.

    Returns
    -------
    pandas.Series
        By feature name, the number of features dropped before it, 0..n_features - 1, best first; of features dropped
        at a time the one that changes W^2 more counts as dropped later.

    Examples
    --------
    >>> from fsmodels.datasets.synthetic import ndcc
    >>> clusters = ndcc(n_features=6, n_relevant=2, seed=1)
    >>> sorted(kernel_rfe(clusters.train.scaled("standard"), C=64, width=3).index[:2])
    ['x1', 'x2']
    """
    checked_data(data, who="kernel_rfe").require_dense("kernel_rfe")
    positive("C", C, "C weighs the sum of slacks")
    sigma = math.sqrt(data.n_features) if width is None else positive("width", width, "it is sigma of the RBF kernel")
    check_step(step)

    def influence(left: NDArray[np.intp]) -> FloatArray:
        X = data.X[:, left]
        svm = svc(C, kernel="rbf", gamma=sigma**-2).fit(X, data.y)
        return np.abs(_changes(X[svm.support_], svm.dual_coef_.ravel(), sigma))

    return _eliminate(data, influence, step)


def r2w2(data: Dataset, *, C: float = 1.0, step: int | float = 0.1) -> pd.Series:
    """Rank features by R^2 W^2: minimise radius over margin in their scales, drop the smallest scales, and repeat.

    Parameters
    ----------
    data : Dataset
        Dense and scaled, because features are added in distances. Memory O(n^2).
    C : float
        Cost of squared slack, above 0; the margin is hard in the limit.
    step : int or float
        As in ``kernel_rfe``.

    Returns
    -------
    pandas.Series
        By feature name, the number of features dropped before it, 0..n_features - 1, best first.

    Examples
    --------
    >>> from fsmodels import load_dataset
    >>> r2w2(load_dataset("bupa").scaled("standard")).index[0]
    'sgot'
    """
    checked_data(data, who="r2w2").require_dense("r2w2")
    ridge = 0.5 / positive("C", C, "C weighs the sum of squared slacks")
    check_step(step)
    upper = np.where(np.ptp(data.X, axis=0) > 0, np.inf, 0.0)  # fixes constant features at 0: their gradient is 0
    scales = np.minimum(upper, 1.0)

    def best_scales(left: NDArray[np.intp]) -> FloatArray:
        value = partial(_radius_margin, data.X[:, left], data.y, ridge)
        bounds, options = scipy.optimize.Bounds(0.0, upper[left]), {"maxiter": ROUND_ITERATIONS}
        found = scipy.optimize.minimize(
            value, scales[left], jac=True, bounds=bounds, method="L-BFGS-B", options=options
        )
        scales[left] = found.x
        return scales[left]

    return _eliminate(data, best_scales, step)


def _radius_margin(X: FloatArray, y: FloatArray, ridge: float, s: FloatArray) -> tuple[float, FloatArray]:
    """Return log(R^2 W^2) of the columns X, scaled by the roots of s, and its gradient."""
    K = (X * s) @ X.T + ridge * np.eye(len(y))
    svm = svc(HARD_MARGIN_C, kernel="precomputed", tol=RELATIVE_TOLERANCE).fit(K, y)
    a, beta = np.zeros(len(y)), _smallest_ball(K)
    a[svm.support_] = svm.dual_coef_.ravel()
    margin = float(2.0 * np.abs(a).sum() - a @ K @ a)
    radius = float(beta @ np.diag(K) - beta @ K @ beta)
    spread = beta @ X**2 - (beta @ X) ** 2
    return math.log(radius * margin), spread / radius - (a @ X) ** 2 / margin


def _smallest_ball(K: FloatArray) -> FloatArray:
    """Return the weights (n,) of the centre of the smallest ball around points with the inner products K.

    Weight moves from the nearest point with a weight to the farthest until their squared distances are equal.
    """
    beta, product, squares = np.zeros(len(K)), K[:, 0].copy(), np.diag(K)
    beta[0] = 1.0
    for _ in range(BALL_ITERATIONS):
        distance = squares - 2.0 * product
        far, near = int(np.argmax(distance)), int(np.argmin(np.where(beta > 0, distance, np.inf)))
        gap = distance[far] - distance[near]
        if gap <= RELATIVE_TOLERANCE * squares.max():
            break
        curvature = K[far, far] - 2.0 * K[far, near] + K[near, near]
        move = min(beta[near], 0.5 * gap / curvature)
        beta[far] += move
        beta[near] -= move
        product += move * (K[:, far] - K[:, near])
    return beta


def _eliminate(data: Dataset, scores: Callable[[NDArray[np.intp]], FloatArray], step: int | float) -> pd.Series:
    """Drop the features with the lowest scores in rounds; return the number of features dropped before each one."""
    left = np.arange(data.n_features)
    dropped: list[int] = []
    while len(left) > 1:
        number = int(step) if step >= 1 else max(1, int(step * len(left)))
        worst = np.lexsort((-left, scores(left)))[: min(number, len(left) - 1)]  # of equal ones the last go first
        dropped.extend(left[worst])
        left = np.delete(left, worst)
    outlived = np.empty(data.n_features)
    outlived[[*dropped, *left]] = np.arange(data.n_features)
    return ranked(data, outlived, "features outlived")


def check_step(step: int | float) -> None:
    """Raise ParameterError for a step of elimination that is neither a whole number from 1 nor a fraction below 1."""
    number = isinstance(step, int | float | np.integer) and not isinstance(step, bool)
    if not number or not 0 < step < math.inf or (step >= 1 and step != int(step)):
        raise ParameterError(f"step={step!r} drops no feature: use a whole number from 1, or a fraction below 1.")


def ranked(data: Dataset, scores: Any, name: str) -> pd.Series:
    """Return scores by feature name, best first; equal scores in the order of the columns."""
    ranking = pd.Series(np.asarray(scores, dtype=np.float64), index=list(data.features), name=name)
    return ranking.sort_values(ascending=False, kind="stable")


def _changes(X: FloatArray, a: FloatArray, sigma: float) -> FloatArray:
    """Return a'K(-k)a - a'Ka for each feature k of the rows X; the diagonal of K, which is 1, cancels."""
    from scipy.spatial.distance import pdist, squareform

    pairs = 2.0 * squareform(np.outer(a, a), checks=False)  # i < j, each counted twice
    distances = pdist(X, "sqeuclidean")
    whole = float(pairs @ np.exp(-distances / sigma**2))
    changes = np.empty(X.shape[1])
    for k in range(X.shape[1]):
        # A single exponential of a nonpositive number: the separate factors could overflow or vanish.
        rest = pdist(X[:, [k]], "sqeuclidean")
        rest -= distances
        rest /= sigma**2
        changes[k] = pairs @ np.exp(rest, out=rest) - whole
    return changes


def _dense_column(X: Any, j: int) -> FloatArray:
    column = X[:, [j]]
    return np.asarray(column.toarray() if hasattr(column, "toarray") else column).ravel()


def _entropy(counts: FloatArray) -> float:
    """Return the entropy in bits of class counts."""
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())


def _gain(values: FloatArray, y: FloatArray) -> float:
    """Return the information gain in bits of the accepted cuts of one feature."""
    from sklearn.tree import DecisionTreeClassifier

    ranks = np.unique(values, return_inverse=True)[1].reshape(-1, 1)  # trees use float32, which represents ranks
    tree = DecisionTreeClassifier(criterion="entropy", random_state=0).fit(ranks, y).tree_
    counts = np.rint(tree.value[:, 0, :] * tree.weighted_n_node_samples[:, None])

    def left_over(node: int) -> float:
        left, right = int(tree.children_left[node]), int(tree.children_right[node])
        if left < 0 or not _worth_cutting(counts[node], counts[left], counts[right]):
            return float(counts[node].sum()) * _entropy(counts[node])
        return left_over(left) + left_over(right)

    return max(0.0, _entropy(counts[0]) - left_over(0) / len(y))


def _worth_cutting(both: FloatArray, left: FloatArray, right: FloatArray) -> bool:
    """Return True if the gain of a cut exceeds its description length, by Fayyad and Irani's rule."""
    total = float(both.sum())
    k, k_left, k_right = (int((counts > 0).sum()) for counts in (both, left, right))
    h, h_left, h_right = _entropy(both), _entropy(left), _entropy(right)
    gain = h - (left.sum() * h_left + right.sum() * h_right) / total
    price = math.log2(total - 1) + math.log2(3**k - 2) - (k * h - k_left * h_left - k_right * h_right)
    return bool(gain > price / total)
