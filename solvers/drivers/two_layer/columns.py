r"""The least regularised value over the rows so far and the columns in use: a conic program with a cone per column.

.. math::
    \min_{w, d, t, \xi \ge 0}\ \tfrac12 \textstyle\sum_j t_j + C \xi \quad \text{s.t.} \quad
    \xi \ge q_k + p_k \cdot w \ \forall k, \quad w_j^2 \le d_j t_j, \quad \textstyle\sum_j d_j \le B,\ d \le 1.

This is the problem over groups of B columns (``shares.GroupShares``) with all groups of these columns at once. Measured
on Reuters texts with 40 rows and 15 groups of 50 over 261 columns: half the time, and a value 9% nearer to the optimum,
which groups reach only after hundreds of them have been added one by one.

The unit of w_j is q_max / max_k |p_kj|, but at most W = sqrt(2 C q_max), which no weight of the optimum exceeds. The
objective is divided by C q_max. All entries are then of order 1, for any units of the columns. The multipliers of
the rows are alpha.

``Polytope`` is the feasible set of the shares: rows and boxes over x = (d, other variables of the rows).

.. math:: \{x : A x \le b \text{ (or } = b),\ \ell \le x \le u\}, \qquad \text{at the cost } c^\top x

D itself is one row of ones and the box [0, 1].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from solvers.box.polyhedron import HOLDS, Polyhedron
from solvers.clarabel.engine import solve_qp

FloatArray = NDArray[np.float64]

NEGLIGIBLE = 1e-7  # a share below it is set to 0 where the rows allow it


@dataclass(frozen=True)
class Polytope:
    """Rows ``A x <= b``, with equality where ``equal``, and boxes; A (r, n) is dense.

    ``shares``: number of leading entries of x that are d; ``cost`` (n,) of x.
    """

    A: FloatArray
    b: FloatArray
    equal: NDArray[np.bool_]
    lower: FloatArray
    upper: FloatArray
    cost: FloatArray
    shares: int

    @classmethod
    def of_budget(cls, columns: int, budget: float) -> Polytope:
        """Return D."""
        none = np.zeros(0)
        return cls.of_rows(budget, columns, np.zeros((0, columns)), none, none, np.zeros(columns), np.ones(columns))

    @classmethod
    def of_rows(
        cls,
        budget: float,
        shares: int,
        A: FloatArray,
        low: FloatArray,
        up: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        cost: FloatArray | None = None,
    ) -> Polytope:
        """Return the polytope of ``sum d <= budget`` (its first row), ``low <= A x <= up`` and the boxes."""
        n, same = A.shape[1], low == up
        above, below = np.isfinite(up) & ~same, np.isfinite(low) & ~same
        return cls(
            np.vstack([np.r_[np.ones(shares), np.zeros(n - shares)], A[same], A[above], -A[below]]),
            np.r_[float(budget), up[same], up[above], -low[below]],
            np.repeat([False, True, False], [1, int(same.sum()), int(above.sum() + below.sum())]),
            lower,
            upper,
            np.zeros(n) if cost is None else cost,
            shares,
        )

    @property
    def rows(self) -> Polyhedron:
        """The rows, without the boxes."""
        return Polyhedron(self.A, np.where(self.equal, self.b, -np.inf), self.b)

    def near(self, x: FloatArray) -> FloatArray | None:
        """Return a point of the polytope near x, with negligible shares set to 0 if the rows allow it."""
        x, rows = np.clip(x, self.lower, self.upper), self.rows
        small = (np.arange(len(x)) < self.shares) & (x < NEGLIGIBLE) & (self.lower <= 0.0)
        sparser = np.where(small, 0.0, x)
        return sparser if rows.missed(sparser) <= HOLDS else rows.nearest(x, self.lower, self.upper)


QP_ACCURACY = 1e-9  # of a quadratic program, at most


@dataclass(frozen=True)
class Restricted:
    """A solution of a restricted problem.

    ``alpha`` (K,) >= 0 with a sum of at most C, ``w`` and ``d`` (columns,); ``rest``: the entries of x after d.
    """

    alpha: FloatArray
    w: FloatArray
    d: FloatArray
    rest: FloatArray | None = None


def solve_columns(
    P: FloatArray,
    q: FloatArray,
    budget: int,
    C: float,
    *,
    accuracy: float = 1e-11,
    time_limit: float | None = None,
    within: Polytope | None = None,
) -> Restricted | None:
    """Solve the problem with Clarabel; return None if it finds no solution.

    - ``P`` (ndarray of shape (K, columns)): slopes p_k of each cut.
    - ``q`` (ndarray of shape (K,)): constants of the cuts.
    - ``budget``: B.
    - ``C``: price of xi, above 0.
    - ``accuracy``: of the objective over C q_max.
    - ``time_limit``: seconds.
    - ``within``: feasible set of the shares in place of D, without a cost; ``rest`` has its other variables.

    One cut xi >= 1 - 2 w of one column, C = 1: w = 1/2.

    >>> solution = solve_columns(np.array([[-2.0]]), np.array([1.0]), 1, C=1.0)
    >>> solution.w.round(6), solution.alpha.round(6)
    (array([0.5]), array([0.25]))
    """
    K, F = P.shape
    size, top = largest_row(P), float(q.max(initial=0.0))
    if (alpha := without_slopes(q, C, size)) is not None and within is None:
        return Restricted(alpha, np.zeros(F), np.zeros(F))
    if within is None and budget >= F and (plain := _solve_qp(P, q, C, accuracy, time_limit)) is not None:
        return Restricted(*plain, np.ones(F))
    top = top if top > 0.0 else 1.0
    X = Polytope.of_budget(F, budget) if within is None else within
    n, N = len(X.lower), 2 * F + len(X.lower) + 1  # over w, x = (d, ...), t, xi
    most, steepest = np.sqrt(2.0 * C * top), np.abs(P).max(axis=0)
    unit = np.minimum(most, top / np.maximum(steepest, top / most))  # of w
    cost = np.r_[np.zeros(F + n), 0.5 * unit**2 / (C * top), 1.0]

    def widen(rows: Any) -> Any:
        count = rows.shape[0]
        return sparse.hstack([sparse.csr_array((count, F)), rows, sparse.csr_array((count, F + 1))])

    eye = sparse.eye_array(n, format="csr")
    low = np.flatnonzero(np.isfinite(X.lower) & ((X.lower > 0.0) | (np.arange(n) >= F)))  # the cones imply d >= 0
    up = np.flatnonzero(np.isfinite(X.upper))
    same, below = X.equal, ~X.equal
    A = sparse.vstack(
        [
            widen(sparse.csr_array(X.A[same])),
            sparse.hstack([sparse.csr_array(P * (unit / top)), sparse.csr_array((K, n + F)), np.full((K, 1), -1.0)]),
            widen(sparse.csr_array(X.A[below])),
            widen(eye[up]),
            widen(-eye[low]),
            sparse.csr_array(np.r_[np.zeros(N - 1), -1.0][None]),  # xi >= 0
            _cones(F, n),
        ],
        format="csc",
    )
    b = np.concatenate([X.b[same], -q / top, X.b[below], X.upper[up], -X.lower[low], [0.0], np.zeros(3 * F)])
    equations = int(same.sum())
    linear = [("zero", equations), ("nonnegative", len(b) - equations - 3 * F)]
    kinds = [*(kind for kind in linear if kind[1]), *([("second-order", 3)] * F)]
    found = solve_qp(None, cost, A, b, kinds, accuracy=accuracy, time_limit=time_limit)
    if not found.finite:
        return None
    x = np.clip(found.x[F : F + n], X.lower, X.upper)
    return Restricted(
        feasible_multipliers(C * found.z[equations : equations + K], C),
        unit * found.x[:F],
        x[:F],
        rest=x[F:] if n > F else None,
    )


def solve_shares(P: FloatArray, q: FloatArray, d: FloatArray, C: float, time_limit: float | None) -> Restricted:
    """Minimise ``1/2 sum w_j^2 / d_j + C xi`` over w for given shares d; all multipliers are 0 if that fails.

    >>> solve_shares(np.array([[-2.0]]), np.array([1.0]), np.array([1.0]), 1.0, None).w.round(9)
    array([0.5])
    """
    root, none = np.sqrt(d), np.zeros(len(d))
    scaled = P * root
    if (alpha := without_slopes(q, C, largest_row(scaled))) is not None:
        return Restricted(alpha, none, d)
    found = _solve_qp(scaled, q, C, 1e-10, time_limit)
    return Restricted(np.zeros(len(q)), none, d) if found is None else Restricted(found[0], root * found[1], d)


def _solve_qp(
    P: FloatArray, q: FloatArray, C: float, accuracy: float, time_limit: float | None
) -> tuple[FloatArray, FloatArray] | None:
    """Solve the problem with d = 1, a quadratic program; return multipliers and w, or None if that fails.

    With a large C, -P'alpha is a difference of large numbers, so w is the solver's own. The accuracy that is enough for
    the cones would leave multipliers that prove almost nothing.
    """
    K, F = P.shape
    size, top = largest_row(P), float(q.max(initial=0.0))
    unit = min(top / size, C * size)  # of w, which is at most C size
    curvature = sparse.csc_array(sparse.diags_array(np.r_[np.full(F, unit**2 / (C * top)), 0.0]))
    A = sparse.csc_array(np.vstack([np.c_[P * (unit / top), np.full(K, -1.0)], np.r_[np.zeros(F), -1.0]]))
    cost, b = np.r_[np.zeros(F), 1.0], np.r_[-q / top, 0.0]
    fine = min(accuracy, QP_ACCURACY)
    found = solve_qp(curvature, cost, A, b, [("nonnegative", K + 1)], accuracy=fine, time_limit=time_limit)
    if not found.finite:
        return None
    return feasible_multipliers(C * found.z[:K], C), unit * found.x[:F]


def _cones(F: int, n: int) -> Any:
    """Return the rows of (d + t, 2 w, d - t) in a cone for each column."""
    j, zero = np.arange(F), 3 * np.arange(F)
    rows = np.r_[zero, zero, zero + 1, zero + 2, zero + 2]
    columns = np.r_[F + j, F + n + j, j, F + j, F + n + j]
    return sparse.csr_array(
        (np.repeat([-1.0, -1.0, -2.0, -1.0, 1.0], F), (rows, columns)), shape=(3 * F, 2 * F + n + 1)
    )


def without_slopes(q: FloatArray, C: float, size: float) -> FloatArray | None:
    """Return alpha if w = 0 is optimal, because no cut has a slope or none is above 0 at w = 0; otherwise None."""
    top = float(q.max(initial=0.0))
    if size > 0.0 and top > 0.0:
        return None
    alpha = np.zeros(len(q))
    if top > 0.0:
        alpha[int(np.argmax(q))] = C
    return alpha


def largest_row(P: FloatArray) -> float:
    """Return the largest norm of a row."""
    return float(np.sqrt((P**2).sum(axis=1)).max(initial=0.0))


def feasible_multipliers(alpha: FloatArray, C: float) -> FloatArray:
    """Return multipliers of a solver, corrected to alpha >= 0 and sum alpha <= C."""
    alpha = np.maximum(alpha, 0.0)
    total = float(alpha.sum())
    return alpha * (C / total) if total > C else alpha
