"""What bounds a node: the structure's own relaxation where it has one, the linear program over cuts where not."""

from __future__ import annotations

import numpy as np

from solvers.drivers.benders.relaxation import why_unbounded
from solvers.drivers.tree.incumbents import Host, IncumbentSearch
from solvers.drivers.tree.master import MasterOptimum
from solvers.errors import SolverError
from solvers.facts.structure import Relaxation, RelaxedAnswer
from solvers.lp.highs import LpStatus
from solvers.result import SolutionStatus

ROWS = 400  # cuts kept in the LP besides one for each column
ACCURATE = 1e-6  # relative gap of bounds at points


class NodeBounds:
    """Relaxations within bounds on the master's variables; what they learn goes to the incumbents' pool of cuts."""

    def __init__(self, driver: Host, incumbents: IncumbentSearch, relaxation: Relaxation | None) -> None:
        self.driver, self.incumbents, self.lp, self._relaxation = driver, incumbents, incumbents.lp, relaxation

    def relax(self, lower: np.ndarray, upper: np.ndarray, accuracy: float, enough: float) -> RelaxedAnswer | None:
        """Ask the structure for the relaxation within bounds; None where it has none or cannot."""
        return self._ask(lower, upper, accuracy, enough) if np.any(lower < upper) else None

    def at(self, choice: np.ndarray, enough: float) -> RelaxedAnswer | None:
        """Bound the master's value at one point, to 1e-6 or until the bound is enough; None as in ``relax``."""
        return self._ask(choice, choice, ACCURATE, enough)

    def _ask(self, lower: np.ndarray, upper: np.ndarray, accuracy: float, enough: float) -> RelaxedAnswer | None:
        if self._relaxation is None:
            return None
        driver = self.driver
        with driver.timing("subproblem"):
            answer = self._relaxation(
                self.lp.linear, lower, upper, accuracy=accuracy, enough=enough, time_limit=driver.clock.left
            )
        self.incumbents.asks += 1
        if answer is not None:
            self.incumbents.pool.add(answer.cut)
        return answer

    def solve(self, lower: np.ndarray, upper: np.ndarray) -> MasterOptimum | LpStatus:
        """Solve the LP over cuts within bounds."""
        if self.lp.cuts > ROWS + self.lp.size:
            self.lp.drop_slack_cuts(keep_last=100)
        with self.driver.timing("master"):
            return self.lp.solve(lower, upper, self.driver.clock.left)

    def add_floor(self, centre: np.ndarray) -> np.ndarray | None:
        """Give the LP what bounds it; return a point of the master near the relaxation's optimum, None if infeasible.

        Raises Endless if the model is unbounded or infeasible. Raises SolverError if nothing is found that bounds the
        LP.
        """
        found = self.driver.find_floor()
        if found.status is SolutionStatus.INFEASIBLE:
            return None
        if found.status is SolutionStatus.NO_SOLUTION or self.lp.floored:
            raise SolverError(why_unbounded(self.lp.variables))
        self.lp.add_floor(found.floor)
        return centre if found.point is None else np.append(found.point, centre[self.lp.n :])
