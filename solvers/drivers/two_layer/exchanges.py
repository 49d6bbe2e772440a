r"""Local branching: a mixed-integer program over the cuts so far proposes better selections near a given one.

For ``cost.x + q(sigma)`` over the rows of a master, with cuts for q (``selection``), from a selection sigma*:

.. math::
    \min_{x, \eta}\ c^\top x + \eta \quad \text{s.t. the master's rows, } \eta \ge \text{every cut},\
    \textstyle\sum_{\sigma^*_j = 1} (1 - \sigma_j) + \sum_{\sigma^*_j = 0} \sigma_j \le r

    1. Solve it. Its optimum is a bound for all selections within r switches of sigma*. If it is not below the value of
       sigma*, none is better, and r grows from 2, a single exchange, to 4; then the search ends.
    2. Evaluate q there. If it is better, continue there with r = 2. Otherwise add its cut; go to 1.

Every proposal satisfies all rows; an exchange of two features may violate pairs, groups and equations.
Source: Fischetti, Lodi 2003, "Local branching".
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from solvers.clock import Clock
from solvers.drivers.two_layer.columns import FloatArray
from solvers.facts.structure import Cut, SubAnswer
from solvers.interfaces.runner import SolveOptions
from solvers.lp.mixed import MixedProgram, mixed_solver
from solvers.model.linear import LinearRows

RADII = (2, 4)
BETTER = 1e-6  # relative: the least gain of an exchange
GAP = 1e-6  # relative, of a program
PATIENCE = 30  # evaluations of q without a better value
SECONDS = 5.0  # for a program
MOST = 300  # columns, those of the largest weights; with more the programs take too long


class Exchanges:
    """A search from selections; ``evaluate``: sigma -> tight solution of the subproblem."""

    def __init__(
        self,
        master: LinearRows,
        lower: FloatArray,
        upper: FloatArray,
        columns: int,
        evaluate: Callable[[FloatArray], SubAnswer],
        clock: Clock,
    ) -> None:
        self.master, self.n, self.evaluate, self.clock = master, columns, evaluate, clock
        self.lower, self.upper = np.append(lower, np.zeros(2)), np.append(upper, np.full(2, np.inf))  # x, eta, r
        self.integer = np.array([*(not v.is_continuous() for v in master.variables), False, False])
        self.cuts: list[Cut] = []
        self.best: tuple[float, FloatArray] | None = None
        self._idle = 0

    def run(self, weights: FloatArray) -> FloatArray | None:
        """Return the best selection found from the largest weights; None without one or at the limit."""
        if self.n > MOST:  # fix the others to their lower bounds
            others = np.argsort(-weights, kind="stable")[MOST:]
            self.upper[others] = self.lower[others]
        first = self._propose(np.append(-weights, np.zeros(len(self.lower) - self.n)), None, 0)
        if first is None or not self._tried(first):
            return None
        radius = 0
        while radius < len(RADII) and self._idle < PATIENCE and not self.clock.over:
            assert self.best is not None
            value, here = self.best
            unit = max(abs(value), 1e-300)
            cost = np.append(self.master.cost / unit, [1.0, 0.0])
            there = self._propose(cost, here, RADII[radius], unit)
            if there is None:
                radius += 1
            elif self._tried(there):
                radius = 0
        assert self.best is not None
        return self.best[1]

    def _tried(self, x: FloatArray) -> bool:
        """Evaluate a proposal; return True if it is the best so far."""
        sigma = np.round(x[: self.n])
        answer = self.evaluate(sigma)
        if answer.cut is not None:
            self.cuts.append(answer.cut)
        if answer.value is None:
            return False
        value = self.master.constant + float(self.master.cost @ x[:-2]) + answer.value
        if self.best is not None and value >= self.best[0] - BETTER * abs(self.best[0]):
            self._idle += 1
            return False
        self._idle = 0
        self.best = (value, sigma)
        return True

    def _propose(self, cost: FloatArray, here: FloatArray | None, radius: int, unit: float = 1.0) -> FloatArray | None:
        """Return a proposal; None if no neighbour can be better."""
        limit = SECONDS if self.clock.left is None else min(SECONDS, self.clock.left)
        if limit <= 0.0:
            return None
        rows, upper = self.master, self.upper.copy()
        upper[-1] = np.inf if here is None else radius
        program = MixedProgram(
            mixed_solver(None, "highs"), SolveOptions(), cost, self.lower, upper, np.flatnonzero(self.integer)
        )
        if len(rows.rows):
            matrix = sparse.hstack([sparse.csr_array(rows.matrix), sparse.csr_array((len(rows.rows), 2))])
            program.add_rows(matrix.tocsr(), rows.lower, rows.upper)
        if here is not None:
            near = np.zeros((1 + len(self.cuts), len(self.lower)))
            near[0, : self.n], near[0, -1] = 2.0 * here - 1.0, 1.0  # at least the ones there less the switches
            near[1:, : self.n], near[1:, -2] = [-cut.coefficients / unit for cut in self.cuts], 1.0
            sides = np.array([here.sum(), *(cut.constant / unit for cut in self.cuts)])
            program.add_rows(near, sides, np.full(len(sides), np.inf))
        found = program.solve_to(GAP, limit)
        if found.point is None or here is None or self.best is None:
            return found.point
        least = -np.inf if found.objective is None else self.master.constant / unit + found.objective
        value = self.best[0] / unit
        return None if least >= value - BETTER * abs(value) else found.point
