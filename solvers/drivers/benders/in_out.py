r"""The first phase of Benders decomposition with blocks: the relaxed master by in-out separation.

The continuous relaxation of the master is solved with block cuts before the integer master. If the master has no
integer variable, this is the whole algorithm: each point is a solution. Otherwise the first and the last optimum are
rounded (``dive``), which gives a first incumbent.

    min { c.z + sum_g eta_g : the master's rows, eta_g >= every cut of group g },  z = (x, u)

    a. z-in: the point with the largest common slack in rows and bounds. Add the cuts there.
    b. Solve the linear program -> z-out. Its bound follows from its multipliers by weak duality.
    c. Solve the subproblem half-way between z-in and z-out. If the value is lower than at z-in, this point is z-in.
    d. Add the cuts from there that z-out violates. If there are none, solve the subproblem at z-out; if there are none
       again, stop. Otherwise go to b.

At the vertex z-out a subproblem has many optimal multipliers, and those that a solver returns often give weak cuts:
facility location needs hundreds of them, and more with an interior-point solver. At interior points the optimal
multipliers are nearly unique and the cuts are facets, or close to facets (Magnanti and Wong 1981, with z-in as core
point; Ben-Ameur and Neto 2007; Fischetti, Ljubic and Sinnl 2017).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from solvers.drivers.benders.base import DecompositionDriver
from solvers.drivers.benders.block_rows import BlockCuts
from solvers.drivers.benders.block_subproblem import BlockAnswer
from solvers.drivers.benders.master import MISSED, Master
from solvers.drivers.benders.relaxation import UnboundedSubproblem
from solvers.drivers.benders.split import SplitModel
from solvers.drivers.dive import dive
from solvers.facts.row_cut import lagrangian_bound
from solvers.facts.structure import Cut
from solvers.lp.highs import FINEST, HighsLP, LpStatus
from solvers.model.linear import LinearRows
from solvers.result import StopReason
from solvers.values import put_back

FAR = 100.0  # limit of the slack of rows and bounds with one side


@dataclass(frozen=True)
class RelaxedOptimum:
    """An optimum of the relaxed master: z, the eta of each group, and a proven bound."""

    point: np.ndarray
    eta: np.ndarray
    bound: float


class RelaxedMaster:
    """The relaxed master: a linear program over its variables (complicating ones first) and one eta for each group."""

    def __init__(self, parts: SplitModel, groups: int, seed: int) -> None:
        rows = LinearRows.of(parts.master_rows, parts.master_variables, parts.master_terms, parts.sign).scaled()
        self.size, self.n, self.groups = len(parts.master_variables), len(parts.structure.complicating), groups
        self.rows, free = rows, np.full(groups, np.inf)
        self._program = replace(  # the rows of the master, then the cuts
            rows,
            matrix=sparse.hstack([rows.matrix, sparse.csr_array((len(rows.rows), groups))], format="csr"),
            x_lower=np.concatenate([rows.x_lower, -free]),
            x_upper=np.concatenate([rows.x_upper, free]),
            cost=np.concatenate([rows.cost, np.ones(groups)]),
        )
        wide = self._program
        self._lp = HighsLP(wide.cost, wide.x_lower, wide.x_upper, seed=seed, tolerance=FINEST)
        self._lp.add_rows(wide.matrix, rows.lower, rows.upper)
        self._solved = False

    def inside(self, time_limit: float | None = None) -> np.ndarray | None:
        """Return a point with the largest common slack in rows and bounds; None if none was found."""
        rows, size = self.rows, self.size
        norm = np.sqrt(np.asarray((rows.matrix.multiply(rows.matrix)).sum(axis=1)).ravel())
        equal = rows.lower == rows.upper
        lp = HighsLP(
            np.append(np.zeros(size), -1.0),
            np.append(np.full(size, -np.inf), 0.0),
            np.append(np.full(size, np.inf), FAR),
        )
        apart = np.where(rows.x_lower == rows.x_upper, 0.0, 1.0)
        # A share of the distance of two bounds, so that narrow boxes get slack as well as wide ones.
        room = rows.x_upper - rows.x_lower
        share = apart * np.where(np.isfinite(room), np.minimum(room, 1.0), 1.0)
        for matrix, slack, lower, upper in (
            (sparse.csr_array(rows.matrix), np.where(equal, 0.0, norm), rows.lower, rows.upper),
            (sparse.eye_array(size, format="csr"), share, rows.x_lower, rows.x_upper),
        ):
            column, infinite = sparse.csr_array(slack[:, None]), np.full(len(slack), np.inf)
            lp.add_rows(sparse.hstack([matrix, -column]), lower, infinite)
            lp.add_rows(sparse.hstack([matrix, column]), -infinite, upper)
        answer = lp.solve(time_limit)
        return answer.point[:-1] if answer.status is LpStatus.OPTIMAL else None

    def add(self, cuts: BlockCuts, which: np.ndarray) -> None:
        """Add ``eta_g >= cut_g`` for the groups in ``which``."""
        if not len(which):
            return
        count = len(which)
        slopes = cuts.slopes[which]
        gap = sparse.csr_array((count, self.size - self.n))
        eta = sparse.csr_array((np.ones(count), (np.arange(count), which)), shape=(count, self.groups))
        self._add_rows(sparse.hstack([-slopes, gap, eta], format="csr"), cuts.constants[which])

    def add_feasibility(self, cut: Cut) -> None:
        """Add ``0 >= cut``."""
        row = np.concatenate([-cut.coefficients, np.zeros(self.size - self.n + self.groups)])
        self._add_rows(sparse.csr_array(row[None]), np.array([cut.constant]))

    def _add_rows(self, matrix: sparse.csr_array, sides: np.ndarray) -> None:
        now, free = self._program, np.full(len(sides), np.inf)
        self._lp.add_rows(matrix, sides, free)
        self._program = replace(
            now,
            matrix=sparse.vstack([now.matrix, matrix], format="csr"),
            lower=np.concatenate([now.lower, sides]),
            upper=np.concatenate([now.upper, free]),
        )

    def dive(self, point: np.ndarray, integer: np.ndarray, left: Callable[[], float | None]) -> np.ndarray | None:
        """Return a point with integral values near an optimum, as ``dive`` does; ``left``: the time that is left."""
        columns, rows = np.arange(self.size), self.rows

        def solve(lower: np.ndarray, upper: np.ndarray) -> np.ndarray | None:
            self._lp.set_bounds(columns, lower, upper)
            answer = self._lp.solve(left())
            optimal = answer.status is LpStatus.OPTIMAL
            return np.clip(answer.point[: self.size], lower, upper) if optimal else None

        try:
            return dive(point, rows.x_lower, rows.x_upper, integer, solve)
        finally:
            self._lp.set_bounds(columns, rows.x_lower, rows.x_upper)

    def solve(self, time_limit: float | None) -> RelaxedOptimum | LpStatus:
        """Solve; return a status if there is no optimum."""
        answer = self._lp.solve(time_limit)
        if answer.status is not LpStatus.OPTIMAL:
            return answer.status
        self._solved = True
        point = np.clip(answer.point[: self.size], self.rows.x_lower, self.rows.x_upper)
        return RelaxedOptimum(point, answer.point[self.size :], self._proven(answer.multipliers))

    def _proven(self, multipliers: np.ndarray) -> float:
        """Return the Lagrangian bound of the multipliers; those of the cuts of each group are scaled to sum 1."""
        count = len(self.rows.rows)
        cuts, etas = np.maximum(multipliers[count:], 0.0), self._program.matrix[count:, self.size :]
        share = etas.T @ cuts
        if np.any(share <= 0.0):
            return -np.inf
        on = np.diff(etas.indptr) > 0
        cuts[on] /= share[etas.indices]
        return lagrangian_bound(self._program, np.concatenate([multipliers[:count], cuts]))[0]

    @property
    def cuts(self) -> int:
        """The number of cuts."""
        return self._lp.rows - len(self.rows.rows)

    def binding(self) -> np.ndarray:
        """Return a mask of the cuts, oldest first, that are binding at the last optimum."""
        if not self._solved:
            return np.ones(self.cuts, dtype=bool)
        return ~self._lp.slack_rows()[len(self.rows.rows) :]

    def cost_at(self, point: np.ndarray) -> float:
        """Return the cost of the master at a point, without eta."""
        return float(self.rows.cost @ point) + self.rows.constant


MOST = 200  # cuts for each point: with more the linear programs grow and the bounds hardly improve
CLOSE = 1e-5  # relative gap that ends the phase before an integer master
PATIENCE, GAIN = 12, 1e-4  # number of rounds in which the bound must rise by this share of itself


def grouping(cuts: str | int, count: int) -> sparse.csr_array:
    """Return the blocks that share a cut, csr (cuts, blocks): neighbours, in groups of equal size."""
    most = {"multi": MOST, "single": 1}.get(str(cuts)) or int(cuts)
    groups = max(1, min(most, count))
    of = np.arange(count) * groups // max(count, 1)
    return sparse.csr_array((np.ones(count), (of, np.arange(count))), shape=(groups, count))


class InOut:
    """In-out separation for a driver with blocks. ``centre``: z-in; ``solved``: number of solved subproblems.

    ``rounded``: the value of the subproblem at the incumbent, None without an incumbent.
    """

    def __init__(self, driver: DecompositionDriver, master: Master, groups: sparse.csr_array) -> None:
        self.driver, self.master, self.groups, self.solved = driver, master, groups, 0
        self.lp = RelaxedMaster(driver.parts, groups.shape[0], driver.config.seed or 0)
        self.centre: np.ndarray | None = None
        self.rounded: float | None = None
        self._value = np.inf  # at the centre
        self._cuts: list[tuple[BlockCuts, np.ndarray] | BlockAnswer] = []
        self._integers = np.array([not v.is_continuous() and not v.fixed for v in driver.parts.master_variables])
        self.integer = bool(self._integers.any())

    def run(self, tolerance: float) -> None:
        """Run; ``driver.stop`` is the reason to stop."""
        driver, lp = self.driver, self.lp
        point, at_out = lp.inside(driver.clock.left), True  # a
        out: RelaxedOptimum | None = None
        best, stale = -np.inf, 0
        for _ in driver.rounds(done=lambda: self.solved):
            if point is None or (answer := self._solve_subproblem(point, tolerance)) is None:  # c
                break
            added = self._add_violated(point, answer, out)  # d
            value = None if answer.value is None else lp.cost_at(point) + answer.value
            driver.record("relaxed", value, cuts=lp.cuts, support=None)
            if self._converged(best, stale) or (at_out and not added and out is not None):
                break
            if added or out is None:
                with driver.timing("master"):
                    found = lp.solve(driver.clock.left)  # b
                if isinstance(found, LpStatus):
                    break
                first, out = out is None, found
                driver.raise_bound(out.bound)
                if first and self.integer:
                    self._find_incumbent(out, tolerance)
                gained = not np.isfinite(best) or out.bound > best + GAIN * abs(best)
                best, stale = max(best, out.bound), 0 if gained else stale + 1
            at_out = not added or self.centre is None
            point = out.point if at_out else 0.5 * (self.centre + out.point)
        if self.integer and out is not None and driver.stop is StopReason.CONVERGED:
            self._find_incumbent(out, tolerance)

    def _find_incumbent(self, out: RelaxedOptimum, tolerance: float) -> None:
        """Offer the solution at a point with integral values near an optimum of the relaxed master, if one is found."""
        driver = self.driver
        with driver.timing("master"):
            point = self.lp.dive(out.point, self._integers, lambda: driver.clock.left)
        answer = None if point is None else self._solve_subproblem(point, tolerance)
        if point is None or answer is None:
            return
        self._add_violated(point, answer, out)
        value = None if answer.value is None else self.lp.cost_at(point) + answer.value
        if value is not None and self._offer(point, value, answer):
            self.rounded = answer.value
        driver.record("rounded", value, cuts=self.lp.cuts, support=None)

    def _offer(self, point: np.ndarray, value: float, answer: BlockAnswer) -> bool:
        """Offer a solution as incumbent; return True if it is the best so far."""
        variables = self.driver.parts.master_variables
        put_back((v, x) for v, x in zip(variables, point.tolist(), strict=True) if not v.fixed)
        return self.driver.offer(value, variables, answer.load)

    def _solve_subproblem(self, point: np.ndarray, tolerance: float) -> BlockAnswer | None:
        """Solve the subproblem at a point; return None if it is unbounded and the master has integers."""
        self.solved += 1
        try:
            answer = self.driver.solve_subproblem(point[: self.lp.n], tolerance)
        except UnboundedSubproblem:
            if self.integer:
                return None
            raise
        return answer if isinstance(answer, BlockAnswer) else None

    def _add_violated(self, point: np.ndarray, answer: BlockAnswer, out: RelaxedOptimum | None) -> int:
        """Add the cuts of a point that z-out violates (d); return their number."""
        lp = self.lp
        if answer.value is None or answer.cuts is None:
            self._cuts.append(answer)
            for cut in answer.infeasible:
                lp.add_feasibility(cut)
            return len(answer.infeasible)
        value = lp.cost_at(point) + answer.value
        if not self.integer:
            self._offer(point, value, answer)
        if value < self._value:
            self.centre, self._value = point, value
        cuts = answer.cuts.grouped(self.groups)
        which = np.arange(self.groups.shape[0])
        if out is not None:
            which = which[cuts.at(out.point[: lp.n]) > out.eta + MISSED * (1.0 + np.abs(out.eta))]
        lp.add(cuts, which)
        self._cuts.append((cuts, which))
        return len(which)

    def _converged(self, best: float, stale: int) -> bool:
        if not self.integer:
            return self.driver.closed(self.driver.config.gap)
        return stale >= PATIENCE or self._value - best <= CLOSE * abs(self._value)

    def add_binding_to_master(self) -> None:
        """Add the cuts that are binding at the last optimum to the master."""
        bind, at = self.lp.binding(), 0
        for cuts in self._cuts:
            if isinstance(cuts, BlockAnswer):
                for k, cut in enumerate(cuts.infeasible, at):
                    if bind[k]:
                        self.master.add_feasibility_cut(cut)
                at += len(cuts.infeasible)
            else:
                every, which = cuts
                self.master.add_block_cuts(every, which[bind[at : at + len(which)]])
                at += len(which)
