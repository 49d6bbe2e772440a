"""Nodes in which at most one more choice may be switched on: closed by asking the few choices that are left.

Their children would be relaxed one after the other, each with one choice less. The choices themselves are fewer: every
cut bounds each of them, they are asked in the order of these bounds, and each answer's cut bounds those left.
"""

from __future__ import annotations

import numpy as np

from solvers.drivers.tree.incumbents import TIGHT, IncumbentSearch
from solvers.drivers.tree.master import ROWS
from solvers.drivers.tree.node_bounds import NodeBounds
from solvers.facts.structure import Cut

MOST = 30  # choices to ask; where more are left, branching rules several out at once


class Leaves:
    """Closes such nodes of a master whose variables are all binary and complicating."""

    def __init__(self, incumbents: IncumbentSearch, bounds: NodeBounds) -> None:
        self.incumbents, self.bounds, self.lp = incumbents, bounds, incumbents.lp
        lp = self.lp
        whole = lp.size == lp.n and bool(lp.integer.all())
        self._able = whole and bool(np.all((lp.lower >= 0) & (lp.upper <= 1)))
        self._matrix = lp.linear.matrix.toarray() if self._able else np.empty((0, lp.size))
        self._sizes = np.abs(self._matrix)
        self._most = 2.0 * self._sizes.max(axis=1, initial=0.0)

    def bound(self, cut: Cut, lower: np.ndarray, upper: np.ndarray) -> float | None:
        """Return a proven bound on all choices of a node, not below what prunes it; None where it is not closed."""
        lp, incumbents = self.lp, self.incumbents
        free = np.flatnonzero(lower < upper)
        if not self._able or not len(free) or not self._one_at_most(lower, free):
            return None
        pool, cost = incumbents.pool, lp.cost
        steps = np.append(free, -1)  # -1: none of them
        at = lp.value(lower) + np.append(cost[free], 0.0)
        known = np.append(cut.coefficients[free], 0.0) + cut.constant + float(cut.coefficients @ lower)
        bounds = np.where(self._allowed(lower, free), at + np.maximum(known, pool.along(lower, free)), np.inf)
        if np.count_nonzero(bounds < incumbents.cutoff) > MOST:
            return None
        collected = np.inf
        while (k := int(np.argmin(bounds))) >= 0 and bounds[k] < incumbents.cutoff:
            choice = lower.copy()
            if steps[k] >= 0:
                choice[steps[k]] = 1.0
            proven, further = self._settled(choice)
            if proven == -np.inf:
                return None
            if proven < incumbents.cutoff:
                if incumbents.near is None or not incumbents.near.holds(choice):  # asked, and yet not settled
                    return None
                collected, proven = min(collected, proven), np.inf
            if further is not None:
                known = np.append(further.coefficients[free], 0.0) + further.constant + further.coefficients @ lower
                bounds = np.maximum(bounds, at + known)
            bounds[k] = proven
        return min(collected, float(bounds.min()))

    def _settled(self, choice: np.ndarray) -> tuple[float, Cut | None]:
        """Return what is proven of a choice, -inf where nothing is, and a cut near to it; it may become the incumbent.

        Its value is only asked for where its bound does not rule it out, at half the price or less.
        """
        incumbents = self.incumbents
        if not incumbents.knows(choice):
            below = self.bounds.at(choice, incumbents.cutoff)
            if below is not None and below.bound >= incumbents.cutoff:
                return below.bound, below.cut
        answer = incumbents.ask(choice, TIGHT)
        if answer is None or (answer.value is not None and answer.cut is None):
            return -np.inf, None
        incumbents.offer(choice, answer)
        if answer.value is None:
            return np.inf, None
        return self.lp.value(choice) + answer.bound, answer.cut

    def _allowed(self, lower: np.ndarray, free: np.ndarray) -> np.ndarray:
        """Tell which of the choices meet the rows, to rounding; the last is none of the free ones."""
        rows, M = self.lp.linear, self._matrix
        activity = (M @ lower)[:, None] + np.column_stack([M[:, free], np.zeros(len(M))])
        slack = ROWS * (
            1.0 + (self._sizes @ lower)[:, None] + np.column_stack([self._sizes[:, free], np.zeros(len(M))])
        )
        above, below = rows.upper[:, None] + slack, rows.lower[:, None] - slack
        return np.asarray(((activity <= above) & (activity >= below)).all(axis=0))

    def _one_at_most(self, lower: np.ndarray, free: np.ndarray) -> bool:
        """Tell whether some row leaves no room for two more of the free choices."""
        if len(free) == 1:
            return True
        left = self.lp.linear.upper - self._matrix @ lower
        if np.all(self._most <= left):  # most nodes: there is room for any two
            return False
        steps = self._matrix[:, free]
        positive = np.all(steps > 0, axis=1) & np.isfinite(left)
        if not positive.any():
            return False
        two = np.partition(steps[positive], 1, axis=1)[:, :2].sum(axis=1)
        return bool(np.any(two > left[positive] * (1 + 1e-9) + 1e-9))
