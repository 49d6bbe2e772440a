"""The four methods of Peleg and Meir 2005, section 6, each at all its points on one training set.

``fit(data, points)`` returns weights W (points, features) and offsets b (points,). Work is shared between points:

- GMEB: ``fs.gmeb.path``, one linear program that is started from the basis of the previous pair.
- SVM: ``SvmOracle``, proven to 1e-7. If no multiplier is at C, the solution is optimal for every larger C.
- RFE: the same SVM; the sets of remaining features are often the same for several C.
- 1-norm SVM: one linear program in which only C changes, started from the previous basis.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

import fsmodels as fs
from fsmodels.models.fsp.oracle import SvmOracle
from solvers.lp.highs import FINEST, HighsLP

FREE = 0.999  # share of C: a multiplier below this is not at its bound, with any tolerance
SLOW = 100  # with more features than this, RFE drops 1% of the remaining ones in a step instead of one
GMEB_VALUES = np.linspace(1.0, 10.0, 7).tolist()


class SvmCache:
    """Linear SVMs of one training set on subsets of its features; calls must have nondecreasing C."""

    def __init__(self, data):
        self.data, self.oracles, self.known = data, {}, {}

    def solve(self, left, C):
        """Return weights (of all features) and offset of the SVM on the features ``left``, an array of positions."""
        key = left.tobytes()
        if key in self.known:
            return self.known[key]
        if C not in self.oracles:
            self.oracles[C] = SvmOracle(self.data.X, self.data.y, C)
        sigma = np.zeros(self.data.n_features)
        sigma[left] = 1.0
        answer = self.oracles[C].solve(sigma)
        if answer.alpha.max() < FREE * C:
            self.known[key] = answer.w, answer.b  # optimal for every larger C, too
        return answer.w, answer.b


def linear_svm(data, points):
    """Solve the linear SVM at each (C,)."""
    svms, everything = SvmCache(data), np.arange(data.n_features)
    order = sorted(range(len(points)), key=lambda k: points[k])
    found = {k: svms.solve(everything, points[k][0]) for k in order}
    return np.vstack([found[k][0] for k in range(len(points))]), np.array([found[k][1] for k in range(len(points))])


def rfe(data, points):
    """Drop the features with the smallest weights, for each (number of remaining features, C)."""
    W, b = np.zeros((len(points), data.n_features)), np.zeros(len(points))
    svms = SvmCache(data)
    for C in sorted({C for _, C in points}):
        wanted = {count: k for k, (count, price) in enumerate(points) if price == C}
        left = np.arange(data.n_features)
        while True:
            w, offset = svms.solve(left, C)
            if len(left) in wanted:
                k = wanted.pop(len(left))
                W[k], b[k] = w, offset
            if not wanted:
                break
            many = min(1 + (len(left) - 1) // SLOW, len(left) - max(wanted))
            left = np.sort(left[np.argsort(np.abs(w[left]), kind="stable")[many:]])
    return W, b


def one_norm_svm(data, points):
    """Solve at each (C,): min sum_j |w_j| + C sum_i xi_i, y_i (w.x_i + b) >= 1 - xi_i, with w the parts p - q."""
    n, d = data.X.shape
    cost = np.ones(1 + n + 2 * d)
    cost[0] = 0.0
    low = np.zeros(len(cost))
    low[0] = -np.inf
    lp = HighsLP(cost, low, np.full(len(cost), np.inf), tolerance=FINEST)
    signed = data.y[:, None] * data.X
    rows = [sparse.csr_array(data.y[:, None]), sparse.eye_array(n), sparse.csr_array(np.hstack([signed, -signed]))]
    lp.add_rows(sparse.hstack(rows, format="csr"), np.ones(n), np.full(n, np.inf))
    W, b = np.zeros((len(points), d)), np.zeros(len(points))
    for k in sorted(range(len(points)), key=lambda k: points[k]):
        cost[1 : 1 + n] = points[k][0]
        lp.set_cost(cost)
        answer = lp.solve()
        if answer.status.value != "optimal":
            raise RuntimeError(f"{data.name}: the 1-norm SVM at C={points[k][0]:g} ended as {answer.status.value}")
        parts = answer.point[1 + n :]
        W[k], b[k] = parts[:d] - parts[d:], answer.point[0]
    return W, b


def gmeb(data, points):
    """Solve at each (R_plus, R_minus) of a full grid, or at one pair."""
    values = [sorted(set(column)) for column in zip(*points, strict=True)]
    table = fs.gmeb.path(data, R_plus=values[0], R_minus=values[1])
    rows = table.index.get_indexer(points)
    return np.array(table.attrs["weights"])[rows], np.array(table.attrs["bias"])[rows]


def prices(number, tame=False):
    """Return values of C = L / (1 - L), or C = L if ``tame``, for equidistant L with 0.02 <= L <= 0.98."""
    share = np.linspace(0.02, 0.98, number)
    return (share if tame else share / (1 - share)).tolist()


def svm_points(d, tame):
    """Return 49 values of C."""
    return [(C,) for C in prices(49, tame)]


def one_norm_points(d, tame):
    """Return 49 values of C; the paper has the same ones for all sets."""
    return [(C,) for C in prices(49)]


def rfe_points(d, tame):
    """Return 7 numbers of features, fewer if d < 7, times 7 values of C."""
    counts = dict.fromkeys(np.rint(np.linspace(1, d, 7)).astype(int).tolist())
    return list(itertools.product(counts, prices(7, tame)))


def gmeb_points(d, tame):
    """Return 7 x 7 pairs."""
    return sorted(itertools.product(GMEB_VALUES, GMEB_VALUES), key=lambda pair: (sum(pair), pair))


@dataclass(frozen=True)
class Method:
    """Method with its grid; ties go to the first of ``points(d, tame)``. ``tame``: smaller values of C."""

    fit: Callable
    points: Callable


METHODS = {
    "SVM": Method(linear_svm, svm_points),
    "1-norm SVM": Method(one_norm_svm, one_norm_points),
    "RFE": Method(rfe, rfe_points),
    "GMEB": Method(gmeb, gmeb_points),
}
