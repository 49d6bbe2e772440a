r"""The cut of a subproblem with half the squares of switched weights and anything linear, from a solver's multipliers.

Write the subproblem at x as

.. math::
    q(x) = \min_{w, z}\ \tfrac12 \sum_j w_j^2 + c^\top (w, z) \quad \text{s.t. } \ell \le A (w, z) \le u,\
    w, z \text{ in their bounds},\ w_j = 0 \text{ where } x_j = 0

with the complicating x in {0, 1}^n, one for each weight, and z all other variables. How the model states the last part
(w_j^2 <= t_j x_j and t_j / 2 in the objective, say) is its own affair: the variables for that alone (t) are in no row
of A. For multipliers r (r+ on lower, r- on upper sides) and d = c - A'r, v = -d on w, weak duality:

.. math::
    q(x) \ge \ell^\top r^+ - u^\top r^- + \sum_{z_k} \min_{z_k} d_k z_k
           + \sum_j x_j \min_{w_j} (\tfrac12 w_j^2 - v_j w_j),

each minimum over the variable's bounds. A solver's multipliers leave d_k on an unbounded z_k near 0 only, so ``RowCut``
moves multipliers towards 0, which it may do at will, until these minima are finite.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from solvers.errors import ModelError
from solvers.facts.structure import Cut
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import either
from solvers.model.linear import LinearRows
from solvers.values import same, state


class RowCut:
    """The cut of a subproblem with any linear rows, from their multipliers; the module's text derives it.

    ``w``: the weights, in the order of the complicating variables that switch them. ``auxiliary``: variables that only
    state what is switched: no row of the user, cost or changed bound may be on them.
    """

    def __init__(self, w: list[Any], auxiliary: list[Any]) -> None:
        self._w, self._auxiliary = w, auxiliary
        self._states = [state(v) for v in auxiliary]

    def __call__(self, rows: LinearRows, multipliers: np.ndarray) -> Cut:
        """Return the cut over the complicating variables, after repairing the multipliers.

        Raises ModelError if a row, cost or bound is on an auxiliary variable, or the multipliers cannot be
        repaired.
        """
        column = {id(v): k for k, v in enumerate(rows.variables)}
        w = np.array([column[id(v)] for v in self._w], dtype=int)
        auxiliary = np.array([column[id(v)] for v in self._auxiliary], dtype=int)
        self._check_form(rows, auxiliary)
        z = np.setdiff1d(np.arange(len(rows.variables)), np.concatenate([w, auxiliary]))
        r = _dual_feasible(rows, np.asarray(multipliers, dtype=float), z)
        d = rows.cost - rows.matrix.T @ r
        constant = rows.constant + _product(np.maximum(r, 0), rows.lower) - _product(np.maximum(-r, 0), rows.upper)
        constant += _least(rows, r, z)
        v = -d[w]
        best = np.clip(v, rows.x_lower[w], rows.x_upper[w])
        return Cut(constant, 0.5 * best**2 - v * best)

    def _check_form(self, rows: LinearRows, auxiliary: np.ndarray) -> None:
        touched = np.flatnonzero(np.diff(rows.matrix[:, auxiliary].tocsr().indptr))
        named = [f'Row "{rows.rows[k].name}" is' for k in touched]
        named += [f'The cost of "{rows.variables[k].name}" is' for k in auxiliary if rows.cost[k]]
        changed = [v for v, before in zip(self._auxiliary, self._states, strict=True) if not same(state(v), before)]
        named += [f'The bound of "{v.name}" is' for v in changed]
        if named:
            raise ModelError(
                f"{named[0]} on a variable that only writes selection down, which no cut covers: state it on the "
                f"weights or on what selects them, or solve the whole model with {either(C.MIQCP)}."
            )


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


def _least(rows: LinearRows, r: np.ndarray, z: np.ndarray) -> float:
    """Return the sum of min d_k z_k over the bounds; rounding of a repaired zero counts as zero."""
    d = (rows.cost - rows.matrix.T @ r)[z]
    size = (np.abs(rows.cost) + np.abs(rows.matrix).T @ np.abs(r))[z]
    d = np.where(np.abs(d) <= 1e-13 * size, 0.0, d)
    at = np.where(d > 0, rows.x_lower[z], np.where(d < 0, rows.x_upper[z], 0.0))
    if np.any(np.isinf(at)):
        name = rows.variables[z[np.argmax(np.isinf(at))]].name
        raise ModelError(
            f'The multipliers of the edited subproblem prove no bound, because variable "{name}" has none: bound it, '
            f"try another sub_solver, or solve the whole model with {either(C.MIQCP)}."
        )
    return float(d @ at)
