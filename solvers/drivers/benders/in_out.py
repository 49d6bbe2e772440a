"""The first phase of Benders with blocks: the relaxed master by in-out separation; see ``relaxed_master``.

Where the master has no integer variable it is the whole algorithm: each point asked is a solution.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from solvers.drivers.benders.base import DecompositionDriver
from solvers.drivers.benders.block_rows import BlockCuts
from solvers.drivers.benders.block_subproblem import BlockAnswer
from solvers.drivers.benders.master import MISSED, Master
from solvers.drivers.benders.relaxation import EndlessSubproblem
from solvers.drivers.benders.relaxed_master import RelaxedMaster, RelaxedOptimum
from solvers.lp.highs import LpStatus
from solvers.values import put_back

MOST = 200  # cuts a point: more make linear programs large, and say little more
CLOSE = 1e-5  # relative distance of value and bound that ends the phase before an integer master
PATIENCE, GAIN = 12, 1e-4  # rounds in which the bound must gain this share of itself


def grouping(cuts: str | int, count: int) -> sparse.csr_array:
    """Return which blocks share a cut, csr (cuts, blocks): neighbours, in groups of one size."""
    most = {"multi": MOST, "single": 1}.get(str(cuts)) or int(cuts)
    groups = max(1, min(most, count))
    of = np.arange(count) * groups // max(count, 1)
    return sparse.csr_array((np.ones(count), (of, np.arange(count))), shape=(groups, count))


class InOut:
    """The phase, of a driver with blocks. ``centre``: z-in, once there is one with a value; ``asked``: how often."""

    def __init__(self, driver: DecompositionDriver, master: Master, groups: sparse.csr_array) -> None:
        self.driver, self.master, self.groups, self.asked = driver, master, groups, 0
        self.lp = RelaxedMaster(driver.parts, groups.shape[0], driver.config.seed or 0)
        self.centre: np.ndarray | None = None
        self._value = np.inf  # at the centre
        self._cuts: list[tuple[BlockCuts, np.ndarray] | BlockAnswer] = []
        variables = driver.parts.master_variables
        self.integer = any(not v.is_continuous() and not v.fixed for v in variables)

    def run(self, tolerance: float) -> None:
        """Run it, and give an integer master the cuts that bind at its end; ``driver.stop`` says why it ended."""
        driver, lp = self.driver, self.lp
        asked, at_out = lp.inside(driver.clock.left), True  # a
        out: RelaxedOptimum | None = None
        best, stale = -np.inf, 0
        for _ in driver.rounds(done=lambda: self.asked):
            if asked is None or (answer := self._ask(asked, tolerance)) is None:  # c
                break
            added = self._take(asked, answer, out)  # d
            value = None if answer.value is None else lp.cost_at(asked) + answer.value
            driver.record("relaxed", value, cuts=lp.cuts, support=None)
            if self._solved(best, stale) or (at_out and not added and out is not None):
                break
            if added or out is None:
                with driver.timing("master"):
                    found = lp.solve(driver.clock.left)  # b
                if isinstance(found, LpStatus):
                    break
                out = found
                driver.raise_bound(out.bound)
                gained = not np.isfinite(best) or out.bound > best + GAIN * abs(best)
                best, stale = max(best, out.bound), 0 if gained else stale + 1
            at_out = not added or self.centre is None
            asked = out.point if at_out else 0.5 * (self.centre + out.point)
        if self.integer:
            self._hand_on()

    def _ask(self, point: np.ndarray, tolerance: float) -> BlockAnswer | None:
        """Ask at a point; an integer master may have no solution where the subproblem has no end, and is asked then."""
        self.asked += 1
        try:
            answer = self.driver.ask(point[: self.lp.n], tolerance)
        except EndlessSubproblem:
            if self.integer:
                return None
            raise
        return answer if isinstance(answer, BlockAnswer) else None

    def _take(self, asked: np.ndarray, answer: BlockAnswer, out: RelaxedOptimum | None) -> int:
        """Take the cuts of a point that z-out violates (d); return how many."""
        lp = self.lp
        if answer.value is None or answer.cuts is None:
            self._cuts.append(answer)
            for cut in answer.infeasible:
                lp.add_feasibility(cut)
            return len(answer.infeasible)
        value = lp.cost_at(asked) + answer.value
        if not self.integer:
            variables = self.driver.parts.master_variables
            put_back((v, x) for v, x in zip(variables, asked.tolist(), strict=True) if not v.fixed)
            self.driver.offer(value, variables, answer.load)
        if value < self._value:
            self.centre, self._value = asked, value
        cuts = answer.cuts.grouped(self.groups)
        which = np.arange(self.groups.shape[0])
        if out is not None:
            which = which[cuts.at(out.point[: lp.n]) > out.eta + MISSED * (1.0 + np.abs(out.eta))]
        lp.add(cuts, which)
        self._cuts.append((cuts, which))
        return len(which)

    def _solved(self, best: float, stale: int) -> bool:
        if not self.integer:
            return self.driver.closed(self.driver.config.gap)
        return stale >= PATIENCE or self._value - best <= CLOSE * abs(self._value)

    def _hand_on(self) -> None:
        """Give the integer master the cuts that bind."""
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
