r"""Cuts of a subproblem with squares of switched weights and convex functions, from the multipliers of a solver.

Write the subproblem at x as

.. math::
    q(x) = \min_{w, z}\ f(w, z) \quad \text{s.t. } \ell \le A (w, z) + B x \le u,\ g_k(w, z) \le 0,\
    w, z \text{ in their bounds},\ w_j = 0 \text{ where } x_j = 0

with the complicating x, of which the first n are 0/1 and switch one weight each, and z all other variables. The model
may state the last condition in any form. If it is w_j^2 <= s_j x_j, s_j is the ``square`` of w_j, and may be in rows
and have a cost like the other z. f and g_k are linear or convex quadratic. With multipliers r (r+ on lower, r- on upper
sides) and mu >= 0,

.. math::
    q(x) \ge \ell^\top r^+ - u^\top r^- - r^\top B x + \min_{w, z} \{f(w, z) + \mu^\top g(w, z) - r^\top A (w, z)\}

The nonlinear terms in the minimum are squares of weights that are in no product. All others are replaced by their
tangents at the point of the solver. The rest is, for costs d_k of z, d_j and 1/2 h_j w_j^2 of w, and v = -d on w,

.. math::
    \sum_{z_k} \min_{z_k} d_k z_k + \sum_j x_j \min_{w_j} (\tfrac12 h_j w_j^2 - v_j w_j),

each minimum over the bounds of the variable. A square s_j with the cost d_s increases h_j by 2 d_s, because w_j^2 is
its smallest value. The multipliers of a solver leave d_k for an unbounded z_k near 0 only, so ``RowCut`` moves
multipliers r towards 0, which is always valid, until these minima are finite. If the minimum over w_j is not finite,
with h_j = 0, the coefficient of x_j is -inf: the cut gives no bound at x_j = 1.

Rounding
    With R rows, the error of d_k is at most gamma_(R+2) times the sizes of its terms, ``|c_k| + sum_i |a_ik r_i|``. A
    minimum is concave in d_k, so its least value over the interval of d_k is at one of the ends; this value is used for
    every term. A variable with an infinite bound needs d_k of the right sign, or 0, exactly. If this holds up to
    rounding, there are exact multipliers near: the rows with contributions of the wrong sign, of at least half the size
    less the error, are scaled down by a share of 3 gamma_(R+2), which changes every other term by at most that share of
    its size. ``share_of`` is 8 u (R + 20) and covers both. Several variables with infinite bounds in the same rows are
    repaired together by least squares, then one after another, and the last ones may undo the first to second order.
    Slopes are lowered, because x is at least 0. The slopes of tangents are taken as exact.

Bounds of a master
    Lower bounds of a linear cost over rows and bounds follow from weak duality with the multipliers of an LP solver.
    For multipliers r (r+ on lower, r- on upper sides) of ``l <= A z <= u`` and d = c - A'r,

    .. math:: c^\top z \ge l^\top r^+ - u^\top r^- + \sum_k \min_{z_k} d_k z_k

    over all z within the bounds, for any r. If one of some 0/1 columns F must be 1, the right side increases by
    min { d_j : j in F } if that is above 0, and by the multiplier of the row that states this, sum over F of z_j >= 1.
    Infinite bounds and rounding are handled as above.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from solvers.errors import ModelError
from solvers.facts.structure import Cut
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import either
from solvers.lp.highs import HighsLP, LpStatus
from solvers.model.function import Curve
from solvers.model.linear import LinearRows
from solvers.values import same, state

EPSILON = float(np.finfo(float).eps)
DENSE = 1_000_000  # entries of a projection, which takes 2 s with 5 million
FLAT = 1e-12  # curvatures up to this share of the largest one are rounding


class RowCut:
    """Cut of a subproblem with switched weights, from multipliers; see the module.

    - ``w``: the weights, in the order of the complicating variables that switch them.
    - ``squares``: for each weight w_j the variable s_j of the row w_j^2 <= s_j x_j, if there is one.
    - ``auxiliary``: variables that only state the switches: rows of the user, costs and changed bounds on them are
      rejected.
    """

    def __init__(self, w: list[Any], squares: Sequence[Any] = (), auxiliary: Sequence[Any] = ()) -> None:
        self._w, self._squares, self._auxiliary = w, list(squares), list(auxiliary)
        self._states = [state(v) for v in (*self._squares, *self._auxiliary)]

    def __call__(
        self,
        rows: LinearRows,
        multipliers: np.ndarray,
        curves: Sequence[tuple[float, Curve]] = (),
        at: np.ndarray | None = None,
        links: Any = None,
    ) -> Cut:
        """Return the cut over the complicating variables, after repairing the multipliers.

        - ``rows``: A, the sides and the linear costs.
        - ``curves``: (multiplier, nonlinear function); the multiplier of the objective is 1.
        - ``at``: the point of their tangents.
        - ``links``: B, over all complicating variables; None if they are in no row.

        Raises ModelError if a row, cost or bound is on an auxiliary variable, or the multipliers cannot be repaired.
        """
        column = {id(v): k for k, v in enumerate(rows.variables)}
        w, squares, auxiliary = (
            np.array([column[id(v)] for v in part], dtype=int) for part in (self._w, self._squares, self._auxiliary)
        )
        self._check_form(rows, auxiliary, curves)
        cost, constant, h = rows.cost.copy(), rows.constant, np.zeros(len(w))
        for weight, curve in curves:
            if weight <= 0.0:
                continue
            squares_of_w, rest = curve.apart(w)
            if rest.matrix.nnz and at is None:
                raise ValueError("a function with more than squares of weights needs the point of its tangent")
            slope, level = (rest.slope, rest.constant) if at is None else rest.tangent(at)
            h += weight * squares_of_w
            cost, constant = cost + weight * slope, constant + weight * level
        x_lower, x_upper = rows.x_lower.copy(), rows.x_upper.copy()
        x_lower[[*w, *auxiliary]] = x_upper[[*w, *auxiliary]] = 0.0  # the terms of z only
        others = replace(rows, cost=cost, constant=constant, x_lower=x_lower, x_upper=x_upper)
        bound, r, d, error = _repaired_bound(others, np.asarray(multipliers, dtype=float))
        if not np.isfinite(bound):
            least = least_terms(np.zeros(len(d)), d, error, x_lower, x_upper)
            name = rows.variables[int(np.argmin(least))].name
            raise ModelError(
                f'The multipliers of the edited subproblem prove no bound, because variable "{name}" is unbounded: '
                f"bound it, or solve the whole model with {either(C.MIQCP)}."
            )
        if len(squares):
            h += 2.0 * np.maximum(d[squares] - error[squares], 0.0)
        slopes = least_terms(h, d[w], error[w], rows.x_lower[w], rows.x_upper[w])
        if links is not None:
            own, slopes = slopes, -np.asarray(links.T @ r) - share_of(rows) * np.asarray(abs(links).T @ np.abs(r))
            slopes[: len(own)] += own
        return Cut(bound, slopes)

    def _check_form(self, rows: LinearRows, auxiliary: np.ndarray, curves: Sequence[tuple[float, Curve]]) -> None:
        touched = np.flatnonzero(np.diff(rows.matrix[:, auxiliary].tocsr().indptr))
        named = [f'Row "{rows.rows[k].name}" is' for k in touched]
        bent = [np.abs(curve.slope) + abs(curve.matrix).sum(axis=0).A1 for _, curve in curves if len(auxiliary)]
        costs = sum(bent, np.abs(rows.cost))
        named += [f'The cost of "{rows.variables[k].name}" is' for k in auxiliary if costs[k]]
        stated = [*self._squares, *self._auxiliary]
        changed = [v for v, before in zip(stated, self._states, strict=True) if not same(state(v), before)]
        named += [f'The bound of "{v.name}" is' for v in changed]
        if named:
            raise ModelError(
                f"{named[0]} on a variable that only states the selection, which the cuts do not support: state it on "
                f"the weights or on the binaries that select them, or solve the whole model with {either(C.MIQCP)}."
            )


def least_terms(h: np.ndarray, d: np.ndarray, error: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return the minima of 1/2 h w^2 + d w over the bounds and over d within its error; -inf if unbounded.

    A d of the wrong sign for an infinite bound counts as 0 if it is within its error.
    """
    curved = h > FLAT * max(1.0, float(h.max(initial=0.0)))
    near = (np.abs(d) <= error) & ~curved
    found = []
    for end in (d - error, d + error):
        end = np.where(near & np.isinf(upper), np.maximum(end, 0.0), end)
        end = np.where(near & np.isinf(lower), np.minimum(end, 0.0), end)
        best = np.clip(np.divide(-end, h, out=np.zeros_like(d), where=curved), lower, upper)
        at = np.where(end > 0, lower, np.where(end < 0, upper, 0.0))
        straight = np.where(np.isfinite(at), end * np.where(np.isfinite(at), at, 0.0), -np.inf)
        found.append(np.where(curved, 0.5 * h * best**2 + end * best, straight))
    return np.minimum(*found)


def dual_feasible(rows: LinearRows, multipliers: np.ndarray, z: np.ndarray, *, together: bool = True) -> np.ndarray:
    """Return multipliers of the right signs with reduced costs d >= 0 for z unbounded above, and d <= 0 below.

    A multiplier may always be moved towards 0. If d has the wrong sign by more than rounding, the rows with
    contributions of that sign are scaled down: first for all variables with one infinite bound, then for each free one.
    ``together``: in between, a least-squares step removes d for all free variables together. Scaling for each may not
    do that; but the step may break what scaling repairs.
    """
    r = _right_signs(rows, multipliers)
    up, down = np.isinf(rows.x_upper[z]), np.isinf(rows.x_lower[z])
    entries, free, bounded = rows.matrix.tocoo(), z[up & down], z[up ^ down]
    for _ in range(3):
        r = _scaled_down(rows, entries, r, bounded)
        r = _projected(rows, entries, r, free, bounded) if together else r
        d, error = reduced_costs(rows, r)
        for k in free[np.abs(d[free]) > error[free]].tolist():
            r = _scaled_down(rows, entries, r, np.array([k]))
    return r


def _right_signs(rows: LinearRows, r: np.ndarray) -> np.ndarray:
    r = np.where(np.isfinite(rows.lower), r, np.minimum(r, 0.0))
    return np.where(np.isfinite(rows.upper), r, np.maximum(r, 0.0))


def _projected(rows: LinearRows, entries: Any, r: np.ndarray, free: np.ndarray, bounded: np.ndarray) -> np.ndarray:
    """Return near multipliers for which the reduced costs of the free variables vanish, up to rounding.

    The step of a row is scaled by its room: the multiplier, and what the reduced costs of variables with one infinite
    bound allow. So rows without room keep their multiplier.
    """
    (d, error), room = reduced_costs(rows, r), np.abs(r)
    if (np.abs(d[free]) <= error[free]).all() or not np.isfinite(d).all():
        return r
    inside = np.isin(entries.col, bounded) & (entries.data != 0)
    np.minimum.at(room, entries.row[inside], np.abs(d[entries.col[inside]] / entries.data[inside]))
    movable = np.flatnonzero(room)
    if len(movable) * len(free) > DENSE:
        return r
    part = room[movable, None] * rows.matrix[movable][:, free].toarray()
    sizes = np.abs(part).max(axis=0, initial=0.0)
    sizes[sizes == 0.0] = 1.0
    step = np.zeros(len(r))
    step[movable] = room[movable] * np.linalg.lstsq((part / sizes).T, d[free] / sizes)[0]
    return _right_signs(rows, r + step)


def _scaled_down(rows: LinearRows, entries: Any, r: np.ndarray, group: np.ndarray) -> np.ndarray:
    d = rows.cost - rows.matrix.T @ r
    wrong = np.zeros(len(d))
    low, up = rows.x_lower[group], rows.x_upper[group]
    wrong[group] = np.where(np.isinf(up), np.minimum(d[group], 0.0), 0.0)
    wrong[group] += np.where(np.isinf(low), np.maximum(d[group], 0.0), 0.0)
    part = entries.data * r[entries.row]
    opposes = part * wrong[entries.col] < 0
    at, part = entries.col[opposes], np.abs(part[opposes])
    total = np.bincount(at, weights=part, minlength=len(d))
    factor = np.ones(len(r))
    np.minimum.at(factor, entries.row[opposes], np.maximum(0.0, 1.0 - np.abs(wrong[at]) / total[at]))
    return r * factor


def share_of(rows: LinearRows) -> float:
    """Return the relative rounding error of the terms; see "Rounding" above."""
    return 4 * EPSILON * (len(rows.lower) + 20)


def reduced_costs(rows: LinearRows, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return c - A'r and its errors."""
    size = np.abs(rows.cost) + abs(rows.matrix).T @ np.abs(r)
    return rows.cost - rows.matrix.T @ r, share_of(rows) * size


def lagrangian_bound(m: LinearRows, multipliers: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the bound that multipliers of the rows prove, the reduced costs d, and their rounding errors.

    The bound is -inf if the multipliers cannot be repaired. Shapes: (rows,) -> (), (variables,), (variables,).
    """
    bound, _, d, error = _repaired_bound(m, multipliers)
    return bound, d, error


def _repaired_bound(m: LinearRows, multipliers: np.ndarray) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Return the bound, the repaired multipliers, the reduced costs and their rounding errors."""
    low, up = np.isinf(m.x_lower), np.isinf(m.x_upper)
    ways = (True, False) if (low & up).any() else (False,)
    repaired = [dual_feasible(m, multipliers, np.flatnonzero(low | up), together=way) for way in ways]
    return max((_bound_of(m, r) for r in repaired), key=lambda found: found[0])


def _bound_of(m: LinearRows, r: np.ndarray) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Return the bound of multipliers, the multipliers, the reduced costs and their rounding errors."""
    d, error = reduced_costs(m, r)
    least, up, down = least_terms(np.zeros(len(d)), d, error, m.x_lower, m.x_upper), r > 0, r < 0
    terms = np.concatenate([[m.constant], r[up] * m.lower[up], r[down] * m.upper[down], least])
    size = float(np.abs(terms / len(terms)).sum())  # a sum of finite terms may overflow
    if not size < np.finfo(float).max / len(terms):
        return -np.inf, r, d, error
    return math.fsum(terms) - share_of(m) * size * len(terms), r, d, error


class RowBound:
    """Lower bounds by the rows, bounds and costs of a master; its first ``count`` columns are the 0/1 choices."""

    def __init__(self, master: LinearRows, count: int) -> None:
        self.master, self._count = master, count
        self._columns = np.arange(len(master.cost))
        ones = sparse.csr_matrix(np.where(self._columns < count, 1.0, 0.0))
        self._program = replace(  # the last row is the sum of the choices
            master,
            matrix=sparse.vstack([master.matrix, ones], format="csr"),
            lower=np.append(master.lower, -np.inf),
            upper=np.append(master.upper, np.inf),
        )
        self._lp: HighsLP | None = None
        if len(master.rows):
            self._lp = HighsLP(master.cost, master.x_lower, master.x_upper)
            self._lp.add_rows(self._program.matrix, self._program.lower, self._program.upper)

    def least(
        self, lower: np.ndarray, upper: np.ndarray, among: np.ndarray, time_limit: float | None
    ) -> tuple[float, np.ndarray]:
        """Return a lower bound of the cost within bounds, and a point for branching.

        ``among`` (count,), bool: choices of which at least one must be 1; empty without such a condition. All other
        choices are fixed by the bounds. Return (inf, ``lower``) if no point satisfies the rows.
        """
        sides, last = self._program.lower.copy(), len(self.master.rows)
        sides[last] = float(lower[: self._count].sum()) + 1.0 if among.any() else -np.inf
        multipliers, point = np.zeros(len(sides)), np.clip(0.0, lower, upper)
        if self._lp is not None:
            self._lp.set_bounds(self._columns, lower, upper)
            self._lp.set_sides(np.array([last]), sides[last:], np.array([np.inf]))
            answer = self._lp.solve(time_limit)
            if answer.status is LpStatus.INFEASIBLE:
                return np.inf, lower
            if answer.status is LpStatus.OPTIMAL:
                multipliers, point = answer.multipliers, np.clip(answer.point, lower, upper)
        program = replace(self._program, lower=sides, x_lower=lower, x_upper=upper)
        bound, d, error = lagrangian_bound(program, multipliers)
        if among.any():
            bound += max(0.0, float((d - error)[: self._count][among].min()))
        return bound, point
