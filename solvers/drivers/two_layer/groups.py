r"""The restricted group problem (15), (16) of Mao and Tsang, solved as a conic program that does not lose its scale.

For K rows ``xi >= q_k + p_k.w`` and T groups of columns, each a set t with its share p_k restricted to it,

.. math::
    \min_{w_t, \xi \ge 0}\ \tfrac12 \Bigl(\textstyle\sum_t \lVert w_t \rVert\Bigr)^2 + C \xi \quad \text{s.t.} \quad
    \xi \ge q_k + \textstyle\sum_t p_{kt} \cdot w_t \ \ \forall k

with a cone for each group and their sum as one variable. With w in units of q_max / (largest ||p_k||), and an objective
in units of the smaller of its two parts there, all entries are of order 1. The multipliers of the rows are alpha; the
norms of the w_t over their sum are the shares mu of (16), where ``w_t = -mu_t P_t' alpha``.

The dual (16), scaled as ``||P_t' beta|| <= gamma``, is smaller, but where C is far above what alpha sums to (separable
data) Clarabel stopped at 1e-2 of it: measured on 80 such instances, 28 ended short of a gap of 1e-5, and none this way.

Source: Mao, Tsang 2013, "A feature selection method for multivariate performance measures", (15), (16).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from solvers.clarabel.arrays import solve_qp
from solvers.drivers.two_layer.columns import largest_row, weighed, without_slopes

FloatArray = NDArray[np.float64]
Groups = Sequence[NDArray[np.intp]]

ACCURACY = 1e-13  # relative, aimed at; the bounds are taken from data, so that a poor answer costs rounds, not truth
NOTHING = 1e-12  # of d


@dataclass(frozen=True)
class GroupAnswer:
    """``alpha`` (K,) >= 0 with a sum of at most C, and ``shares`` (T,) >= 0 with the sum 1."""

    alpha: FloatArray
    shares: FloatArray


def solve_groups(
    P: FloatArray, q: FloatArray, groups: Groups, C: float, *, time_limit: float | None = None
) -> GroupAnswer | None:
    """Solve (15); None where the solver finds no answer.

    ``P``, ``q`` and ``C`` as for ``columns.solve_columns``; ``groups``: columns of each group; ``time_limit``: seconds.

    One cut xi >= 1 - 2 w of one column, C = 1: w = 1/2.

    >>> answer = solve_groups(np.array([[-2.0]]), np.array([1.0]), [np.array([0])], C=1.0)
    >>> answer.alpha.round(6), answer.shares.round(6)
    (array([0.25]), array([1.]))
    """
    K, T = len(q), len(groups)
    size, top = largest_row(P), float(q.max(initial=0.0))
    if (alpha := without_slopes(q, C, size)) is not None:
        return GroupAnswer(alpha, np.full(T, 1.0 / T))
    tall = np.array([len(t) for t in groups])
    W = int(tall.sum())  # variables: w, the T norms, their sum, xi
    members = np.concatenate(groups)
    ones = np.ones(T)
    rows = np.hstack([P[:, members] / size, np.zeros((K, T + 1)), np.full((K, 1), -1.0)])
    start = np.concatenate([[0], np.cumsum(tall + 1)])[:-1]  # of each cone: its norm, then its weights
    places = np.delete(np.arange(W + T), start)
    cones = sparse.csr_array(
        (np.full(W + T, -1.0), (np.r_[start, places], np.r_[W + np.arange(T), np.arange(W)])), shape=(W + T, W + T + 2)
    )
    linear = [np.r_[np.zeros(W), ones, -1.0, 0.0][None], rows, np.r_[np.zeros(W + T + 1), -1.0][None]]
    A = sparse.vstack([sparse.csr_array(np.vstack(linear)), cones], format="csc")
    b = np.r_[0.0, -q / top, 0.0, np.zeros(W + T)]
    unit = (top / size) ** 2
    price = min(unit, C * top)
    n = W + T + 2
    hessian = sparse.csc_array((np.array([unit / price]), ([n - 2], [n - 2])), shape=(n, n))
    cost = np.r_[np.zeros(n - 1), C * top / price]
    kinds = [("zero", 1), ("nonnegative", K + 1), *(("second-order", int(k) + 1) for k in tall)]
    found = solve_qp(hessian, cost, A, b, kinds, accuracy=ACCURACY, time_limit=time_limit)
    if not found.finite:
        return None
    norms = np.sqrt(np.add.reduceat(found.x[:W] ** 2, np.concatenate([[0], np.cumsum(tall)])[:-1]))
    return feasible(found.z[1 : 1 + K] * (price / top), norms, C)


def refined(P: FloatArray, q: FloatArray, d: FloatArray, C: float, time_limit: float | None = None) -> FloatArray:
    """Return w (columns,) of least ``1/2 sum w_j^2 / d_j + C xi`` for given d: a quadratic program, solved to the end.

    The shares of (16) come with an error that the rows' price C magnifies. The value depends on d to second order only.

    >>> refined(np.array([[-2.0]]), np.array([1.0]), np.array([1.0]), C=1.0).round(9)
    array([0.5])
    """
    K, use = len(q), np.flatnonzero(d > NOTHING)
    root, w = np.sqrt(d[use]), np.zeros(len(d))
    slopes = P[:, use] * root  # of w_j / sqrt(d_j)
    size, top = largest_row(slopes), float(q.max(initial=0.0))
    if size == 0.0 or top <= 0.0:
        return w
    unit = top / size
    price = min(unit**2, C * top)  # the objective's, so that neither of its parts is lost
    F = len(use)
    A = sparse.csc_array(np.vstack([np.c_[slopes / size, np.full(K, -1.0)], np.r_[np.zeros(F), -1.0][None]]))
    hessian = sparse.dia_array((np.r_[np.full(F, unit**2 / price), 0.0][None], [0]), shape=(F + 1, F + 1)).tocsc()
    cost, b = np.r_[np.zeros(F), C * top / price], np.r_[-q / top, 0.0]
    found = solve_qp(hessian, cost, A, b, [("nonnegative", K + 1)], accuracy=ACCURACY, time_limit=time_limit)
    point = found.x[:F]
    if np.all(np.isfinite(point)):
        w[use] = root * point * unit
    return w


def feasible(alpha: FloatArray, shares: FloatArray, C: float) -> GroupAnswer:
    """Return multipliers as any solver gives them, put where they must be: alpha >= 0, sum alpha <= C, sum mu = 1."""
    shares = np.maximum(shares, 0.0)
    whole = float(shares.sum())
    return GroupAnswer(weighed(alpha, C), shares / whole if whole > 0 else np.full(len(shares), 1.0 / len(shares)))
