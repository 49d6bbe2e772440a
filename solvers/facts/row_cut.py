r"""The cut of a subproblem with squares of switched weights and anything convex, from a solver's multipliers.

Write the subproblem at x as

.. math::
    q(x) = \min_{w, z}\ f(w, z) \quad \text{s.t. } \ell \le A (w, z) + B x \le u,\ g_k(w, z) \le 0,\
    w, z \text{ in their bounds},\ w_j = 0 \text{ where } x_j = 0

with the complicating x, of which the first n are 0/1 and switch one weight each, and z all other variables. How the
model states the last part is its own affair; where it says w_j^2 <= s_j x_j, s_j is the ``square`` of w_j, and may be
in rows and have a cost like any other of z. f and g_k are linear or convex quadratic. With multipliers r (r+ on lower,
r- on upper sides) and mu >= 0,

.. math::
    q(x) \ge \ell^\top r^+ - u^\top r^- - r^\top B x + \min_{w, z} \{f(w, z) + \mu^\top g(w, z) - r^\top A (w, z)\}

What is curved in the minimum are squares of weights, in no product, and else it is put below it by its tangent at the
point that the solver found. That leaves, for costs d_k of z, d_j and 1/2 h_j w_j^2 of w, and v = -d on w,

.. math::
    \sum_{z_k} \min_{z_k} d_k z_k + \sum_j x_j \min_{w_j} (\tfrac12 h_j w_j^2 - v_j w_j),

each minimum over the variable's bounds. A square s_j with the cost d_s makes h_j larger by 2 d_s, as w_j^2 is the least
that it can be. A solver's multipliers leave d_k on an unbounded z_k near 0 only, so ``RowCut`` moves multipliers r
towards 0, which it may do at will, until these minima are finite. Where the minimum over w_j is not, h_j being 0, the
coefficient of x_j is -inf: the cut says nothing where x_j = 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from solvers.errors import ModelError
from solvers.facts.structure import Cut
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import either
from solvers.model.curves import Curve
from solvers.model.linear import LinearRows
from solvers.values import same, state

FLAT = 1e-12  # a curvature up to this, of the largest there is, is rounding


class RowCut:
    """The cut of a subproblem with switched weights, from multipliers; the module's text derives it.

    ``w``: the weights, in the order of the complicating variables that switch them. ``squares``: of each weight w_j the
    variable s_j of the row w_j^2 <= s_j x_j, where there is one. ``auxiliary``: variables that only state what is
    switched: no row of the user, cost or changed bound may be on them.
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

        ``rows``: A, the sides and the linear costs. ``curves``: (multiplier, curved function), 1 for the objective's.
        ``at``: the point of their tangents. ``links``: B, over all complicating variables; by default none is in a row.
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
            slope, level = rest.tangent(_given(at)) if rest.matrix.nnz else (rest.slope, rest.constant)
            h += weight * squares_of_w
            cost, constant = cost + weight * slope, constant + weight * level
        rows = replace(rows, cost=cost)
        z = np.setdiff1d(np.arange(len(rows.variables)), np.concatenate([w, auxiliary]))
        r = _dual_feasible(rows, np.asarray(multipliers, dtype=float), z)
        d = _reduced_costs(rows, r)
        constant += _product(np.maximum(r, 0), rows.lower) - _product(np.maximum(-r, 0), rows.upper)
        constant += _least(rows, d, z)
        if len(squares):
            h += 2.0 * np.maximum(d[squares], 0.0)
        slopes = _least_weights(h, d[w], rows.x_lower[w], rows.x_upper[w])
        if links is not None:
            own, slopes = slopes, -np.asarray(links.T @ r)
            slopes[: len(own)] += own
        return Cut(constant, slopes)

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
                f"{named[0]} on a variable that only writes selection down, which no cut covers: state it on the "
                f"weights or on what selects them, or solve the whole model with {either(C.MIQCP)}."
            )


def _given(at: np.ndarray | None) -> np.ndarray:
    if at is None:
        raise ValueError("a curved function of more than the weights' squares needs the point of its tangent")
    return at


def _least_weights(h: np.ndarray, d: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return the least of 1/2 h w^2 + d w over bounds, for each weight; -inf where there is none."""
    curved = h > FLAT * max(1.0, float(h.max(initial=0.0)))
    best = np.clip(np.divide(-d, h, out=np.zeros_like(d), where=curved), lower, upper)
    end = np.where(d > 0, lower, np.where(d < 0, upper, 0.0))
    straight = np.where(np.isfinite(end), d * np.where(np.isfinite(end), end, 0.0), -np.inf)
    return np.where(curved, 0.5 * h * best**2 + d * best, straight)


def _dual_feasible(rows: LinearRows, multipliers: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return multipliers of the right signs with reduced costs d >= 0 where z is unbounded above, <= 0 where below.

    A multiplier may always be moved towards 0. Where d has the wrong sign, the rows that push it there are scaled down
    just enough: first for all variables with one infinite bound, then for each free one.
    """
    r = np.where(np.isfinite(rows.lower), multipliers, np.minimum(multipliers, 0.0))
    r = np.where(np.isfinite(rows.upper), r, np.maximum(r, 0.0))
    up, down = np.isinf(rows.x_upper[z]), np.isinf(rows.x_lower[z])
    groups = [z[up ^ down], *z[up & down][:, None]]
    entries = rows.matrix.tocoo()
    for _ in range(3):
        for group in groups:
            r = _scaled_down(rows, entries, r, group)
    return r


def _scaled_down(rows: LinearRows, entries: Any, r: np.ndarray, group: np.ndarray) -> np.ndarray:
    d = rows.cost - rows.matrix.T @ r
    wrong = np.zeros(len(d))
    low, up = rows.x_lower[group], rows.x_upper[group]
    wrong[group] = np.where(np.isinf(up), np.minimum(d[group], 0.0), 0.0)
    wrong[group] += np.where(np.isinf(low), np.maximum(d[group], 0.0), 0.0)
    push = entries.data * r[entries.row]
    guilty = push * wrong[entries.col] < 0
    at, push = entries.col[guilty], np.abs(push[guilty])
    total = np.bincount(at, weights=push, minlength=len(d))
    keep = np.ones(len(r))
    np.minimum.at(keep, entries.row[guilty], np.maximum(0.0, 1.0 - np.abs(wrong[at]) / total[at]))
    return r * keep


def _product(r: np.ndarray, side: np.ndarray) -> float:
    used = r > 0
    return float(r[used] @ side[used])


def _reduced_costs(rows: LinearRows, r: np.ndarray) -> np.ndarray:
    """Return c - A'r; rounding of a zero, of a free weight or of a repaired multiplier, counts as zero."""
    d = rows.cost - rows.matrix.T @ r
    size = np.abs(rows.cost) + np.abs(rows.matrix).T @ np.abs(r)
    return np.where(np.abs(d) <= 1e-13 * size, 0.0, d)


def _least(rows: LinearRows, d: np.ndarray, z: np.ndarray) -> float:
    """Return the sum of min d_k z_k over the bounds."""
    d = d[z]
    at = np.where(d > 0, rows.x_lower[z], np.where(d < 0, rows.x_upper[z], 0.0))
    if np.any(np.isinf(at)):
        name = rows.variables[z[np.argmax(np.isinf(at))]].name
        raise ModelError(
            f'The multipliers of the edited subproblem prove no bound, because variable "{name}" has none: bound it, '
            f"or solve the whole model with {either(C.MIQCP)}."
        )
    return float(d @ at)
