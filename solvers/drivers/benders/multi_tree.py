r"""Generalised Benders decomposition, multi-tree: master and subproblem in turn.

For a model min { c(x, u) + q(x) } with q(x) = min { f(y, x) : y in Y(x) } convex in x, x discrete:

    0. Cuts at the structure's starting points, if it has any. Of a subproblem in linear blocks: the relaxed master, by
       in-out separation (``in_out``); without integers that is all.
    1. Solve the master min { c(x, u) + eta : the user's rows, eta >= every cut } -> x-bar; its bound is a lower bound.
    2. Solve the subproblem at x-bar -> q(x-bar), y-bar and a cut tight there; c + q(x-bar) is an upper bound.
       Infeasible: a feasibility cut, back to 1.
    3. Keep the best upper bound (and, with ``validation``, the classifier with the least validation error).
    4. Stop when the bounds meet; otherwise add the cut and go to 1. Of q(x) = q_1(x) + ... + q_B(x), blocks that
       nothing but x ties: eta >= eta_1 + ... + eta_B, and a cut on each (multi-cut); and the cuts half-way to the point
       that was best in 0, which say more about the neighbours of x-bar.

Before the first cut nothing bounds eta: it counts 0, and the master's value bounds nothing. A master that is unbounded
gets its floor from the relaxation of the whole model, or the model is unbounded or infeasible (``relaxation``).

Benders 1962; Geoffrion 1972, theorem 2.4: finite when x takes finitely many values and each cut is tight at its own
point. Birge and Louveaux 1988 for multi-cut. Aytug 2015, table 1, is this algorithm for FSP, with maximisation in place
of minimisation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyomo.environ as pyo

from solvers.drivers.benders.base import DecompositionConfig, DecompositionDriver
from solvers.drivers.benders.block_subproblem import BlockAnswer, BlockSubproblem
from solvers.drivers.benders.in_out import InOut, grouping
from solvers.drivers.benders.master import Master
from solvers.drivers.benders.relaxation import why_unbounded
from solvers.drivers.slots import master_words
from solvers.errors import OptionError
from solvers.facts.structure import SubAnswer
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import require_proofs
from solvers.interfaces.runner import Answer, Runner
from solvers.model.classes import needs
from solvers.model.conflict import clashing_rows
from solvers.options import SolverObject
from solvers.result import BELOW_TOLERANCES, SolutionStatus, StopReason

EASE, SHARE = 1e-2, 0.1  # the gap of masters while cuts say little: at most, and of the gap that is left


@dataclass
class BendersConfig(DecompositionConfig):
    """Options of ``benders``, besides those of every Benders driver. Aytug 2015 used ``iteration_limit=250``.

    Attributes
    ----------
    master_solver : str
        Solver of the master MILP with reliable bounds: highs, scip, gurobi, glpk; cbc is refused.
    master_options : mapping, optional
        Its own options.
    patience : int, optional
        With ``validation``: stop after this number of iterations without a lower error.
    cuts : str or int
        The number of cuts for a subproblem in blocks: "multi", one for each block, or for each of 200 groups of
        neighbours where there are more; "single", one; or a number.
    """

    master_solver: str | SolverObject = "highs"
    master_options: Mapping[str, Any] | None = None
    patience: int | None = None
    cuts: str | int = "multi"


class Benders(DecompositionDriver):
    """Generalised Benders decomposition of a Pyomo model; ``master`` and ``subproblem`` are Pyomo models."""

    name = "benders"
    title = "models with declared complicating variables (generalised Benders, multi-tree)"
    options_type = BendersConfig
    config: BendersConfig

    def prepare_master(self, floor: float | None) -> None:
        """Build the master as a Pyomo model, and a runner with a persistent solver."""
        c = self.config
        self._master = self._new_master(floor)
        spec = require_proofs(c.master_solver, C.MILP | needs(self._master.model)[0])
        self._master_runner = Runner(spec, master_words(c, spec))
        self._exact = self._master_runner.options

    def _new_master(self, floor: float | None) -> Master:
        """Return the master, with a value for each group of blocks."""
        c, inside = self.config, self._subproblem
        if not (c.cuts in ("multi", "single") or (isinstance(c.cuts, int) and c.cuts >= 1)):
            raise OptionError(f'cuts={c.cuts!r} is not allowed: give "multi", "single" or a number of at least 1.')
        self.queried = 0
        self.groups = grouping(c.cuts, inside.count) if isinstance(inside, BlockSubproblem) else None
        return Master(self.parts, floor, 1 if self.groups is None else self.groups.shape[0])

    def _rescale(self, value: float, room: float = 1.0) -> bool:
        """Choose units of the master that suit the incumbent, with ``value`` of the subproblem; return if they change.

        ``room``: factor by which the present units may be too large or small.
        """
        off = self.best is not None and self._master.ill_scaled(self.best, value, room)
        if off:
            self._master.rescale(self.best or 0.0, value)
            self._master_runner = Runner(self._master_runner.spec, self._master_runner.options)
        return off

    @property
    def master(self) -> pyo.ConcreteModel:
        """The relaxed master problem with its cuts."""
        return self._master.model

    def run(self) -> tuple[StopReason, SolutionStatus | None]:
        """Run the algorithm; the numbers in comments are its steps."""
        self._begin()  # 0
        if self._relax():
            return self.stop, None
        for _ in self.rounds(done=lambda: self.queried):
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
            self.queried += 1
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
            self._add_halfway(point)
            if objective is not None and objective == self.best and self._rescale(answer.value or 0.0):
                self._visited.clear()
        return self.stop, None

    def _begin(self) -> None:
        """Add cuts at the structure's starting points."""
        self._master.clear_values()
        self._stale, self._visited = 0, set[bytes]()
        self._centre: np.ndarray | None = None  # of the relaxed master
        self._at_ease = self._at_ease_in_vain = False
        for point in self.structure.starts if self.parts.as_built else []:
            answer = self._answer(point)
            if answer is not None and answer.cut is not None:
                self._start_from(point, answer)

    def _start_from(self, point: np.ndarray, answer: SubAnswer) -> None:
        """Add the cut of a starting point."""
        self._add(answer)

    def _without_point(self, proposal: Answer) -> tuple[StopReason, SolutionStatus | None]:
        """Return the end of the run where the master has no point."""
        if proposal.status is SolutionStatus.INFEASIBLE:
            return StopReason.CONVERGED, SolutionStatus.INFEASIBLE if self.best is None else None
        if proposal.stop_reason is not StopReason.TIME_LIMIT:
            self.message = f"The master was not solved: {proposal.message}."
        return proposal.stop_reason, None

    def _exhausted(
        self, point: np.ndarray, better: bool, proposal: Answer
    ) -> tuple[StopReason, SolutionStatus | None] | None:
        """Return the end of the run where another cut cannot help, None where it can."""
        c, key = self.config, np.round(point, 9).tobytes()
        self._at_ease_in_vain = self._at_ease and key in self._visited
        self._stale = 0 if better else self._stale + 1
        if (stop := self.stopped()) is not None:
            return stop, None
        if key in self._visited and not self._at_ease:
            self.message = BELOW_TOLERANCES
            return StopReason.CONVERGED, None
        if c.patience is not None and c.validation is not None and self._stale >= c.patience:
            return StopReason.CONVERGED, None
        if proposal.stop_reason is not StopReason.CONVERGED:
            return proposal.stop_reason, None
        self._visited.add(key)
        return None

    def proven(self, bound: float | None) -> float | None:
        """Return the bound that a solver's bound on the master proves; one within resolution of 0 is kept."""
        reported = None if bound is None else self._master.unit * bound
        if reported is not None and abs(reported) <= self.resolution:
            return reported
        return self._master.proven(bound, of_point=self._master_runner.spec.proves_optimum)

    def _bound_master(self) -> tuple[StopReason, SolutionStatus | None] | None:
        """Bound the master from below; return the end of the run where that fails."""
        if self.master.component("floor") is None:
            floor, _ = self.find_floor()
            if floor == np.inf:
                return StopReason.CONVERGED, SolutionStatus.INFEASIBLE if self.best is None else None
            if floor > -np.inf:
                self._master.add_floor(floor)
                return None
        if self.clock.over:
            return StopReason.TIME_LIMIT, None
        self.message = why_unbounded(self.parts.master_variables)
        return StopReason.CONVERGED, None

    def _propose(self) -> Answer:
        self._at_ease = self._ease()
        with self.timing("master"):
            return self._master_runner.solve(self.master, time_limit=self.clock.left, integer=True)

    def _ease(self) -> bool:
        """Relax the gap of the master while its cuts are weak; return whether it is relaxed."""
        runner, best, bound = self._master_runner, self.best, self.bound
        gap = self._exact.gap or 0.0
        if self._centre is not None and not self._at_ease_in_vain:
            left = EASE if best is None or bound is None else SHARE * (best - bound) / max(abs(best), 1e-10)
            gap = max(gap, min(EASE, left))
        runner.options = replace(self._exact, gap=gap)
        return gap > (self._exact.gap or 0.0)

    def _answer(self, point: np.ndarray) -> SubAnswer | None:
        return self.solve_subproblem(point, min(1e-7, max(1e-10, self.config.gap / 10)))

    def _relax(self) -> bool:
        """Solve the relaxed master by in-out separation, for blocks; return whether the run has ended."""
        if self.groups is None or not self._master.linear:
            return False
        phase = InOut(self, self._master, self.groups)
        phase.run(min(1e-7, max(1e-10, self.config.gap / 10)))
        self._centre, self.queried = phase.centre, phase.queried
        return self.stop is not StopReason.CONVERGED or (not phase.integer and self.closed(self.config.gap))

    def _add_halfway(self, point: np.ndarray) -> None:
        """Add violated cuts at the point half-way between the master's optimum and the centre of the relaxed master."""
        if self._centre is None or self.stopped() is not None:
            return
        answer = self._answer(0.5 * (point + self._centre[: len(point)]))
        if answer is not None:
            self._add(answer)

    def _add(self, answer: SubAnswer) -> None:
        if isinstance(answer, BlockAnswer) and self.groups is not None:
            for cut in answer.infeasible:
                self._master.add_feasibility_cut(cut)
            # Before the first cut the master's eta says nothing of which cuts it violates.
            every = None if self._master.bounded else np.arange(self.groups.shape[0])
            if answer.cuts is not None:
                self._master.add_block_cuts(answer.cuts.grouped(self.groups), every)
            return
        assert answer.cut is not None
        add = self._master.add_feasibility_cut if answer.value is None else self._master.add_cut
        add(answer.cut)

    def _keep(self, objective: float | None, answer: SubAnswer) -> bool:
        """Keep the point if it is the best so far, by objective or validation error; return whether it is."""
        if objective is None:
            return False
        return self.offer(objective, self.parts.master_variables, answer.load, self.score_of(answer))

    def why_infeasible(self) -> str:
        """Return rows that have no solution together, in words."""
        return clashing_rows(self.parts.master_rows, self.parts.master_variables, self._master_runner)
