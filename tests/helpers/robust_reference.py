"""The robust LP and the optimum of FS by scipy and enumeration, from the data alone."""

import itertools
from functools import cache

import numpy as np
from scipy.optimize import linprog


def robust(X, y):
    """(5): least E and its weights w."""
    rows, n = X.shape
    share = np.where(y > 0, 1 / (y > 0).sum(), 1 / (y < 0).sum())
    A = np.hstack([-y[:, None] * X, y[:, None], -np.eye(rows)])
    bounds = [(None, None)] * (n + 1) + [(0, None)] * rows
    answer = linprog(np.concatenate([np.zeros(n + 1), share]), A_ub=A, b_ub=-np.ones(rows), bounds=bounds)
    assert answer.status == 0
    return answer.fun, answer.x[:n]


def robust_by_support(X, y):
    """Support -> (E, w) on its columns."""
    return _every_support(X.tobytes(), X.shape, X.dtype, tuple(y))


@cache
def _every_support(X, shape, kind, y):
    X, y = np.frombuffer(X, dtype=kind).reshape(shape), np.array(y)
    every = (s for k in range(shape[1] + 1) for s in itertools.combinations(range(shape[1]), k))
    return {s: robust(X[:, list(s)], y) for s in every}


def least_fs(data, penalty, allowed=lambda names: True):
    """The optimum of (7): min over supports of (1 - lambda) E(S) + lambda |S|."""
    return min(
        (1 - penalty) * E + penalty * len(s)
        for s, (E, _) in robust_by_support(data.X, data.y).items()
        if allowed({data.features[j] for j in s})
    )
