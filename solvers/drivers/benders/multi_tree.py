r"""Generalised Benders decomposition, multi-tree: master and subproblem in turn.

For a model min { c(x, u) + q(x) } with q(x) = min { f(y, x) : y in Y(x) } convex in x, x discrete:

    0. Cuts at the structure's starting points, if it has any.
    1. Solve the master min { c(x, u) + eta : the user's rows, eta >= every cut } -> x-bar; its bound is a lower bound.
    2. Solve the subproblem at x-bar -> q(x-bar), y-bar and a cut tight there; c + q(x-bar) is an upper bound.
       Infeasible: a feasibility cut, back to 1.
    3. Keep the best upper bound (and, with ``validation``, the classifier with the least validation error).
    4. Stop when the bounds meet; otherwise add the cut and go to 1.

Before the first cut nothing bounds eta: it counts 0, and the master's value bounds nothing. A master that is unbounded
gets its floor from the relaxation of the whole model, or the model is unbounded or infeasible (``relaxation``).

Benders 1962; Geoffrion 1972, theorem 2.4: finite when x takes finitely many values and each cut is tight at its own
point. Aytug 2015, table 1, is this algorithm for FSP, with maximisation in place of minimisation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo

from solvers.drivers.benders.base import DecompositionConfig, DecompositionDriver
from solvers.drivers.benders.master import Master
from solvers.drivers.slots import master_words
from solvers.facts.structure import SubAnswer
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.required import require_proofs
from solvers.interfaces.runner import Answer, Runner
from solvers.model.classes import needs
from solvers.model.conflict import clashing_rows
from solvers.options import SolverObject
from solvers.result import SolutionStatus, StopReason


@dataclass
class BendersConfig(DecompositionConfig):
    """Options of ``benders``, besides those of every Benders driver. Aytug 2015 used ``iteration_limit=250``.

    Attributes
    ----------
    master_solver : str
        Solver of the master MILP, one whose optima are such: highs, scip, gurobi, glpk; cbc is refused.
    master_options : mapping, optional
        Its own options.
    patience : int, optional
        With ``validation``: stop after so many iterations without a lower error.
    """

    master_solver: str | SolverObject = "highs"
    master_options: Mapping[str, Any] | None = None
    patience: int | None = None


class Benders(DecompositionDriver):
    """Generalised Benders decomposition of a Pyomo model; ``master`` and ``subproblem`` are Pyomo models to look at."""

    name = "benders"
    title = "models with declared complicating variables (generalised Benders, multi-tree)"
    options_type = BendersConfig
    config: BendersConfig

    def prepare_master(self, floor: float | None) -> None:
        """Build the master as a Pyomo model of its own, and a runner that keeps its solver alive."""
        c = self.config
        self._master = Master(self.parts, floor)
        spec = require_proofs(c.master_solver, C.MILP | needs(self._master.model)[0])
        self._master_runner = Runner(spec, master_words(c, spec))

    def rescale(self, objective: float, value: float) -> None:
        """Give the master units in which an objective is of the size that solvers' tolerances are made for."""
        self._master.rescale(objective, value)
        self._master_runner = Runner(self._master_runner.spec, self._master_runner.options)

    @property
    def master(self) -> pyo.ConcreteModel:
        """The relaxed master problem with its cuts."""
        return self._master.model

    def run(self) -> tuple[StopReason, SolutionStatus | None]:
        """Run the algorithm box; the numbers are its steps."""
        self._begin()  # 0
        for _ in self.rounds():
            proposal = self._propose()  # 1
            if proposal.status is SolutionStatus.UNBOUNDED or proposal.undecided:
                if (ended := self._bound_master()) is not None:
                    return ended
                continue
            if self._master.bounded and proposal.status is not SolutionStatus.INFEASIBLE:
                self.raise_bound(self.proven(proposal.bound))
            if not proposal.has_point:
                return self._without_point(proposal)
            point, cost = self._master.point(), self._master.cost()
            answer = self._answer(point)  # 2
            if answer is None:
                return StopReason.TIME_LIMIT, None
            objective = None if answer.value is None else cost + answer.value
            better = self._keep(objective, answer)  # 3
            self.record("master+sub", objective, cuts=len(self.master.cuts), support=int(np.sum(point > 0.5)))
            if self.closed(self.config.gap):  # 4
                return StopReason.CONVERGED, None
            if (ended := self._exhausted(point, better, proposal)) is not None:
                return ended
            self._add(answer)
            self._rescale_at(objective, answer)
        return self.stop, None

    def _begin(self) -> None:
        """Take cuts at the structure's starting points."""
        self._master.clear_values()
        self._stale, self._visited = 0, set[bytes]()
        for point in self.structure.starts if self.parts.as_built else []:
            answer = self._answer(point)
            if answer is not None and answer.cut is not None:
                self._start_from(point, answer)

    def _start_from(self, point: np.ndarray, answer: SubAnswer) -> None:
        """Add the cut of a starting point."""
        self._add(answer)

    def _without_point(self, proposal: Answer) -> tuple[StopReason, SolutionStatus | None]:
        """Say what a master without a point means."""
        if proposal.status is SolutionStatus.INFEASIBLE:
            return StopReason.CONVERGED, SolutionStatus.INFEASIBLE if self.best is None else None
        if proposal.stop_reason is not StopReason.TIME_LIMIT:
            self.message = f"The master was not solved: {proposal.message}."
        return proposal.stop_reason, None

    def _exhausted(
        self, point: np.ndarray, better: bool, proposal: Answer
    ) -> tuple[StopReason, SolutionStatus | None] | None:
        """Tell why another cut would lead nowhere, if so."""
        c, key = self.config, np.round(point, 9).tobytes()
        self._stale = 0 if better else self._stale + 1
        if (stop := self.stopped()) is not None:
            return stop, None
        if key in self._visited:
            self.message = "The gap asked for is below what the solvers inside resolve: nothing more can be proven."
            return StopReason.CONVERGED, None
        if c.patience is not None and c.validation is not None and self._stale >= c.patience:
            return StopReason.CONVERGED, None
        if proposal.stop_reason is not StopReason.CONVERGED:
            return proposal.stop_reason, None
        self._visited.add(key)
        return None

    def _rescale_at(self, objective: float | None, answer: SubAnswer) -> None:
        """Give the master units of a new incumbent, where those that it has are too far off."""
        if objective is None or objective != self.best:
            return
        value = answer.value or 0.0
        if self._master.ill_scaled(objective, value):
            self.rescale(objective, value)
            self._visited.clear()

    def proven(self, bound: float | None) -> float | None:
        """Return what a solver's bound on the master proves; what the instance cannot tell from 0 stays so."""
        told = None if bound is None else self._master.unit * bound
        if told is not None and abs(told) <= self.resolution:
            return told
        return self._master.proven(bound, of_point=self._master_runner.spec.proves_optimum)

    def _bound_master(self) -> tuple[StopReason, SolutionStatus | None] | None:
        """Give the master what bounds it; where that cannot be, why the run ends."""
        if self.master.component("floor") is None:
            found = self.find_floor()
            if found.status is SolutionStatus.INFEASIBLE:
                return StopReason.CONVERGED, SolutionStatus.INFEASIBLE if self.best is None else None
            if found.status is SolutionStatus.OPTIMAL:
                self._master.add_floor(found.floor)
                return None
        if self.clock.over:
            return StopReason.TIME_LIMIT, None
        self.message = "The master is unbounded: give bounds to the complicating variables."
        return StopReason.CONVERGED, None

    def _propose(self) -> Answer:
        with self.timing("master"):
            return self._master_runner.solve(self.master, time_limit=self.clock.left, integer=True)

    def _answer(self, point: np.ndarray) -> SubAnswer | None:
        return self.ask(point, min(1e-7, max(1e-10, self.config.gap / 10)))

    def _add(self, answer: SubAnswer) -> None:
        assert answer.cut is not None
        add = self._master.add_feasibility_cut if answer.value is None else self._master.add_cut
        add(answer.cut)

    def _keep(self, objective: float | None, answer: SubAnswer) -> bool:
        """Keep the point if it is the best so far, by objective or by validation error; say whether it is."""
        if objective is None:
            return False
        return self.offer(objective, self.parts.master_variables, answer.load, self.score_of(answer))

    def why_infeasible(self) -> str:
        """Name the rows that clash."""
        return clashing_rows(self.parts.master_rows, self.parts.master_variables, self._master_runner)
