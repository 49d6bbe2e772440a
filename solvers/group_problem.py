r"""The restricted group problem (16) of Mao and Tsang, solved as a conic program that does not lose its scale.

For K rows ``xi >= q_k + p_k.w`` and T groups of columns, each a set t with its share p_k restricted to it,

.. math::
    \max_{\alpha \ge 0, \theta}\ q^\top \alpha - \theta \quad \text{s.t.} \quad
    \tfrac12 \lVert P_t^\top \alpha \rVert^2 \le \theta \ \ \forall t, \quad e^\top \alpha \le C.

With alpha = a beta, theta = (a s g)^2 / 2, s the size of P and a that of alpha (C where the risk is large, q / s^2
where one row is almost enough), it is a second-order cone program in (g, beta) of entries of order 1:
``||P_t' beta|| / s <= g``, e'beta <= C / a, at the least ``a s^2 g^2 / (2 q_max) - q.beta / q_max``. P_t' itself stands
in the cones: P_t P_t' is singular once K exceeds the size of the group. Measured: 13 to 17 interior-point iterations,
where the printed form takes 20 to 31.

The multiplier of the cone t is (z_t0, z_t), with sum_t z_t0 = a s^2 g / q_max from the derivative by g, and z_t along
-P_t' beta: mu_t = z_t0 / sum z_t0 are the shares of the groups, sum mu = 1, and ``w = -sum_t mu_t P_t' alpha`` the
point of (15).

Source: Mao, Tsang 2013, "A feature selection method for multivariate performance measures", (15), (16).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

FloatArray = NDArray[np.float64]
Groups = Sequence[NDArray[np.intp]]

ACCURACY = 1e-13  # relative, aimed at; the bounds are taken from data, so that a poor answer costs rounds, not truth


@dataclass(frozen=True)
class GroupAnswer:
    """``alpha`` (K,) >= 0 with a sum of at most C, and ``shares`` (T,) >= 0 with the sum 1."""

    alpha: FloatArray
    shares: FloatArray


def solve_groups(
    P: FloatArray, q: FloatArray, groups: Groups, C: float, *, guess: float = 0.0, time_limit: float | None = None
) -> GroupAnswer | None:
    """Solve (16); None where the solver finds no answer.

    Parameters
    ----------
    P : ndarray of shape (K, columns)
        A row of slopes p_k for each cut.
    q : ndarray of shape (K,)
        Their constants.
    groups : list of arrays of columns
        Columns of each group.
    C : float
        The price of xi, above 0.
    guess : float
        What alpha sums to, roughly; 0 where it is not known.
    time_limit : float, optional
        Seconds.

    Examples
    --------
    One cut xi >= 1 - 2 w of one column, C = 1: w = 1/2.

    >>> answer = solve_groups(np.array([[-2.0]]), np.array([1.0]), [np.array([0])], C=1.0)
    >>> answer.alpha.round(6), answer.shares.round(6)
    (array([0.25]), array([1.]))
    """
    K, T = len(q), len(groups)
    size = float(np.sqrt((P**2).sum(axis=1)).max(initial=0.0))
    top = float(q.max(initial=0.0))
    if size == 0.0 or top <= 0.0:  # no cut has a slope, or none is above 0 at w = 0
        alpha = np.zeros(K)
        if top > 0.0:
            alpha[int(np.argmax(q))] = C
        return GroupAnswer(alpha, np.full(T, 1.0 / T))
    # rows of A: -beta <= 0, e'beta <= 1, and for each group (g, P_t' beta / s) in a cone
    tall = [len(t) for t in groups]
    below = np.zeros((sum(tall) + T, K + 1))
    start = np.concatenate([[0], np.cumsum(np.array(tall) + 1)])
    below[start[:-1], 0] = -1.0
    for row, t in zip(start[:-1].tolist(), groups, strict=True):
        below[row + 1 : row + 1 + len(t), 1:] = P[:, t].T / -size
    above = sparse.vstack([sparse.eye_array(K, K + 1, k=1) * -1.0, sparse.csr_array(np.r_[0.0, np.ones(K)][None])])
    A = sparse.vstack([above, sparse.csr_array(below)], format="csc")
    b = np.zeros(A.shape[0])
    unit = min(C, guess if guess > 0 else top / size**2)
    b[K] = C / unit
    cones = [clarabel.NonnegativeConeT(K + 1), *(clarabel.SecondOrderConeT(t + 1) for t in tall)]
    curvature = unit * size**2 / top
    hessian = sparse.csc_array((np.array([curvature]), ([0], [0])), shape=(K + 1, K + 1))
    run = clarabel.DefaultSolver(hessian, np.r_[0.0, -q / top], A, b, cones, _settings(time_limit)).solve()
    beta, z = np.array(run.x[1:]), np.array(run.z[K + 1 :])[start[:-1]]
    if not (np.all(np.isfinite(beta)) and np.all(np.isfinite(z))):
        return None
    return feasible(unit * beta, z, C)


def refined(P: FloatArray, q: FloatArray, d: FloatArray, C: float, time_limit: float | None = None) -> FloatArray:
    """Return w (columns,) of least ``1/2 sum w_j^2 / d_j + C xi`` for given d: a quadratic program, solved to the end.

    The shares of (16) come with an error that the rows' price C magnifies. The value depends on d to second order only.

    Examples
    --------
    >>> refined(np.array([[-2.0]]), np.array([1.0]), np.array([1.0]), C=1.0).round(9)
    array([0.5])
    """
    K, use = len(q), np.flatnonzero(d > 0)
    root = np.sqrt(d[use])
    slopes = (P[:, use] * root).T  # of y = sqrt(d) P' alpha
    size = float(np.abs(slopes).max(initial=0.0))
    w = np.zeros(len(d))
    if size == 0.0 or q.max(initial=0.0) <= 0.0:
        return w
    y, a = len(use), float(q.max()) / size**2  # alpha = a beta, y scaled by a size
    A = sparse.bmat(
        [
            [sparse.eye_array(y), sparse.csr_array(-slopes / size)],
            [None, -sparse.eye_array(K)],
            [None, sparse.csr_array(np.ones((1, K)))],
        ],
        format="csc",
    )
    b = np.r_[np.zeros(y + K), C / a]
    hessian = sparse.block_diag([sparse.eye_array(y), sparse.csc_array((K, K))], format="csc")
    cost = np.r_[np.zeros(y), -q / float(q.max())]
    cones = [clarabel.ZeroConeT(y), clarabel.NonnegativeConeT(K + 1)]
    run = clarabel.DefaultSolver(hessian, cost, A, b, cones, _settings(time_limit)).solve()
    point = np.array(run.x[:y])
    if np.all(np.isfinite(point)):
        w[use] = -root * point * (a * size)
    return w


def _settings(time_limit: float | None) -> clarabel.DefaultSettings:
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads = False, 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = ACCURACY
    if time_limit is not None:
        settings.time_limit = max(time_limit, 1e-3)
    return settings


def feasible(alpha: FloatArray, shares: FloatArray, C: float) -> GroupAnswer:
    """Return multipliers as any solver gives them, put where they must be: alpha >= 0, sum alpha <= C, sum mu = 1."""
    alpha, shares = np.maximum(alpha, 0.0), np.maximum(shares, 0.0)
    total, whole = float(alpha.sum()), float(shares.sum())
    if total > C:
        alpha = alpha * (C / total)
    return GroupAnswer(alpha, shares / whole if whole > 0 else np.full(len(shares), 1.0 / len(shares)))
