r"""Generalised Benders decomposition with many trees: master and subproblem alternate.

For a model min { c(x, u) + q(x) } with q(x) = min { f(y, x) : y in Y(x) } convex in x, x discrete:

    0. Add cuts at the structure's starting points, if it has any. Solve the relaxed master: if there is a relaxation
       (of an oracle, or of one conic block), as the root of a tree of relaxations (``relaxed_tree``); if the subproblem
       has blocks, by in-out separation (``in_out``), without integers stop.
    1. Solve the master min { c(x, u) + eta : the user's rows, eta >= every cut } -> x-bar; its bound is a lower bound.
    2. Solve the subproblem at x-bar -> q(x-bar), y-bar and a cut that is tight there; c + q(x-bar) is an upper bound.
       If it is infeasible, add a feasibility cut and go to 1.
    3. Keep the best upper bound (with ``validation``, the classifier with the least validation error).
    4. Stop if the bounds meet; otherwise add the cut and go to 1. If q(x) = q_1(x) + ... + q_B(x) for independent
       blocks, eta >= eta_1 + ... + eta_B with a cut for each block (multi-cut). Then also add the cuts half-way to the
       best point of 0, which are stronger at the neighbours of x-bar. With a tree of relaxations, branch at some of
       its nodes, twice as many in each iteration, and add its cuts.

Before the first cut eta is unbounded; it is fixed at 0, and the value of the master is no bound. An unbounded master
gets a floor from the relaxation of the whole model, or the model is unbounded or infeasible (``relaxation``).

Sources: Benders 1962; Geoffrion 1972, theorem 2.4 (finite if x has finitely many values and each cut is tight at its
point); Birge and Louveaux 1988 for multi-cut. Aytug 2015, table 1, is this algorithm for FSP, with maximisation instead
of minimisation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo

from solvers.drivers.base import End
from solvers.drivers.benders.base import DecompositionConfig, DecompositionDriver
from solvers.drivers.benders.block_subproblem import BlockAnswer, BlockSubproblem
from solvers.drivers.benders.in_out import InOut, grouping
from solvers.drivers.benders.master import Master
from solvers.drivers.benders.relaxation import why_unbounded
from solvers.drivers.benders.relaxed_tree import RelaxedTree
from solvers.drivers.solver_options import master_solver_options
from solvers.errors import OptionError
from solvers.facts.structure import SubAnswer
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import entry, require_proofs
from solvers.interfaces.runner import Answer, Runner
from solvers.interrupt import finishing
from solvers.model.classes import needs
from solvers.model.conflict import NO_CLASH, clashing_rows
from solvers.model.linear import LinearRows
from solvers.options import SolverObject
from solvers.result import BELOW_TOLERANCES, SolutionStatus, StopReason, is_closed

NODES = 20  # of a tree of relaxations that are branched at after the first iteration, then twice as many each time
NODE = 1e-6  # accuracy of the relaxations in a tree
LOOSE, SHARE = 1e-2, 0.1  # gap of the masters while the cuts are weak: limit, and share of the remaining gap


@dataclass
class BendersConfig(DecompositionConfig):
    """Options of ``benders``, in addition to those of every Benders driver. Aytug 2015 used ``iteration_limit=250``.

    Attributes
    ----------
    master_solver : str
        Solver of the master MILP with reliable bounds: highs, scip, gurobi, glpk. cbc is rejected.
    master_options : mapping, optional
        Its own options.
    patience : int, optional
        With ``validation``: stop after this number of iterations without a lower error.
    cuts : str or int
        Number of cuts for a subproblem in blocks: "multi" for one cut for each block (for each of 200 groups of
        neighbours if there are more blocks), "single" for one cut, or a number.
    in_out : bool
        Solve the relaxed master first; then add cuts half-way to its optimum, or those of a tree of relaxations.
        False: cuts at the optima of the master only, as in Aytug 2015.
    write_master : str or Path, optional
        At the end of the run write the master with its cuts as an LP file. Its optimum is a bound of the model, if the
        run has found one; a model that maximises is written as the minimum of the negative objective. Names of the
        user's variables are kept; those of the master begin with ``master_``.
    """

    master_solver: str | SolverObject = "highs"
    master_options: Mapping[str, Any] | None = None
    patience: int | None = None
    cuts: str | int = "multi"
    in_out: bool = True
    write_master: str | Path | None = None

    def check_own(self) -> None:
        """Check the folder of ``write_master``. Raises OptionError."""
        super().check_own()
        path = self.write_master
        if path is not None and not (Path(path).suffix == ".lp" and Path(path).parent.is_dir()):
            raise OptionError(
                f'write_master="{path}" is not allowed: give a name that ends in .lp, in a folder that exists.'
            )


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
        needed = C.MILP | needs(self._master.model)[0]
        self.parts.check_master(supported=needed in entry(c.master_solver).capabilities)
        spec = require_proofs(c.master_solver, needed)
        self._master_runner = Runner(spec, master_solver_options(c, spec))
        self._exact = self._master_runner.options

    def loop(self) -> End:
        """Run as in the base class, and write the master."""
        try:
            return super().loop()
        finally:
            if self.config.write_master is not None:
                self._write_master(Path(self.config.write_master))

    def _write_master(self, path: Path) -> None:
        """Write the master; the message reports why it could not be written."""
        with finishing():
            try:
                self._master.write(path)
            except (OSError, RuntimeError, ValueError) as error:
                self.add_message(f'The master was not written to "{path}": {error}')

    def _new_master(self, floor: float | None) -> Master:
        """Return the master, with a variable for the value of each group of blocks."""
        c, inside = self.config, self._subproblem
        if not (c.cuts in ("multi", "single") or (isinstance(c.cuts, int) and c.cuts >= 1)):
            raise OptionError(f'cuts={c.cuts!r} is not allowed: give "multi", "single" or a number of at least 1.')
        self._solved = 0
        self.groups = grouping(c.cuts, inside.count) if isinstance(inside, BlockSubproblem) else None
        return Master(self.parts, floor, 1 if self.groups is None else self.groups.shape[0])

    def _rescale(self, value: float, room: float = 1.0) -> bool:
        """Choose units of the master for the incumbent, with ``value`` of the subproblem; return True if they change.

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

    def run(self) -> End:
        """Run the algorithm; the numbers in comments are its steps."""
        self._begin()  # 0
        if not self._start_nodes() and self._relax():
            return self.stop, None
        for _ in self.rounds(done=lambda: self._solved):
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
            self._solved += 1
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
            if self._branch():
                return StopReason.CONVERGED, None
            if objective is not None and objective == self.best and self._rescale(answer.value or 0.0):
                self._visited.clear()
        return self.stop, None

    def _begin(self) -> None:
        """Add cuts at the structure's starting points."""
        self._master.clear_values()
        self._stale, self._visited = 0, set[bytes]()
        self._centre: np.ndarray | None = None  # of the relaxed master
        self._relaxations: RelaxedTree | None = None
        self._to_branch = NODES  # to branch at after the next iteration
        self._loose = self._loose_repeated = False  # the gap of the master, and whether it led to a known point
        for point in self.structure.starts if self.parts.as_built else []:
            answer = self._answer(point)
            if answer is not None and answer.cut is not None:
                self._start_from(point, answer)

    def _start_from(self, point: np.ndarray, answer: SubAnswer) -> None:
        """Add the cut of a starting point."""
        self._add(answer)

    def _without_point(self, proposal: Answer) -> End:
        """Return the end of the run if the master has no point."""
        if proposal.status is SolutionStatus.INFEASIBLE:
            return StopReason.CONVERGED, SolutionStatus.INFEASIBLE if self.best is None else None
        if proposal.stop_reason is not StopReason.TIME_LIMIT:
            self.message = f"The master was not solved: {proposal.message}."
        return proposal.stop_reason, None

    def _exhausted(self, point: np.ndarray, better: bool, proposal: Answer) -> End | None:
        """Return the end of the run if further cuts cannot improve the bounds, otherwise None."""
        c, key = self.config, np.round(point, 9).tobytes()
        self._loose_repeated = self._loose and key in self._visited
        self._stale = 0 if better else self._stale + 1
        if (stop := self.stopped()) is not None:
            return stop, None
        if key in self._visited and not self._loose:
            self.message = BELOW_TOLERANCES
            return StopReason.CONVERGED, None
        if c.patience is not None and c.validation is not None and self._stale >= c.patience:
            return StopReason.CONVERGED, None
        if proposal.stop_reason is not StopReason.CONVERGED:
            return proposal.stop_reason, None
        self._visited.add(key)
        return None

    def proven(self, bound: float | None) -> float | None:
        """Return the bound that a solver's bound of the master proves; a bound within resolution of 0 is kept."""
        reported = None if bound is None else self._master.unit * bound
        if reported is not None and abs(reported) <= self.resolution:
            return reported
        return self._master.proven(bound, of_point=self._master_runner.spec.proves_optimum)

    def _bound_master(self) -> End | None:
        """Bound the master from below; return the end of the run if that fails."""
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
        self._loose = self._choose_gap()
        with self.timing("master"):
            return self._master_runner.solve(self.master, time_limit=self.clock.left, integer=True)

    def _choose_gap(self) -> bool:
        """Choose a larger gap of the master while its cuts are weak; return True if it is larger."""
        runner, best, bound = self._master_runner, self.best, self.bound
        gap = self._exact.gap or 0.0
        if self._centre is not None and not self._loose_repeated:
            left = LOOSE if best is None or bound is None else SHARE * (best - bound) / max(abs(best), 1e-10)
            gap = max(gap, min(LOOSE, left))
        runner.options = replace(self._exact, gap=gap)
        return gap > (self._exact.gap or 0.0)

    def _answer(self, point: np.ndarray) -> SubAnswer | None:
        return self.solve_subproblem(point, self._tolerance)

    @property
    def _tolerance(self) -> float:
        """The relative gap of subproblems."""
        return min(1e-7, max(1e-10, self.config.gap / 10))

    def _relax(self) -> bool:
        """Solve the relaxed master; return True if the run has ended."""
        if not self.config.in_out or not self._master.linear:
            return False
        if self.groups is None:
            return False
        phase = InOut(self, self._master, self.groups)
        phase.run(self._tolerance)
        if phase.integer or self.config.write_master is not None:
            phase.add_binding_to_master()
        self._centre, self._solved = phase.centre, phase.solved
        if phase.rounded is not None:
            self._rescale(phase.rounded)
            self._master.clear_values()
        return self.stop is not StopReason.CONVERGED or (not phase.integer and self.closed(self.config.gap))

    def _start_nodes(self) -> bool:
        """Solve the root of the tree of relaxations, if there is a relaxation; return False otherwise.

        With ``validation`` there is no tree: it proves the optimum before there are incumbents to choose among.
        """
        parts, relaxation = self.parts, self.relaxation
        if relaxation is None or (isinstance(self._subproblem, BlockSubproblem) and self._subproblem.count > 1):
            return False
        if not self.config.in_out or self.config.validation is not None or not self._master.linear:
            return False
        if not any(v.is_integer() for v in parts.master_variables):
            return False
        rows = LinearRows.of(parts.master_rows, parts.master_variables, parts.master_terms, parts.sign).scaled()
        tree = RelaxedTree(rows, relaxation)
        with self.timing("subproblem"):
            found = tree.add(rows.x_lower, rows.x_upper, -np.inf, accuracy=NODE, time_limit=self.clock.left)
        if found is None or not np.isfinite(found.bound):
            return False
        self._relaxations = tree
        self._take_nodes()
        return True

    def _branch(self) -> bool:
        """Branch in the tree of relaxations, and add its cuts; return True if its bound closes the gap."""
        if self._relaxations is None:
            return False
        count, self._to_branch = self._to_branch, 2 * self._to_branch
        for _ in range(count):
            if self.stopped() is not None:
                break
            with self.timing("subproblem"):
                self._relaxations.expand(accuracy=NODE, time_limit=self.clock.left)
            if self.best is not None and is_closed(
                self.best, self._relaxations.bound, self.config.gap, self.resolution
            ):
                break
        self._take_nodes()
        return self.closed(self.config.gap)

    def _take_nodes(self) -> None:
        """Raise the bound by that of the tree, and add its cuts to the master."""
        assert self._relaxations is not None
        if np.isfinite(self._relaxations.bound):
            self.raise_bound(self._relaxations.bound)
        for cut in self._relaxations.cuts:
            self._master.add_cut(cut)
        self._relaxations.cuts.clear()

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
            # Before the first cut eta has no value that could violate cuts.
            every = None if self._master.bounded else np.arange(self.groups.shape[0])
            if answer.cuts is not None:
                self._master.add_block_cuts(answer.cuts.grouped(self.groups), every)
            return
        assert answer.cut is not None
        add = self._master.add_feasibility_cut if answer.value is None else self._master.add_cut
        add(answer.cut)

    def _keep(self, objective: float | None, answer: SubAnswer) -> bool:
        """Keep the point if it is the best so far, by objective or validation error; return True if it is."""
        if objective is None:
            return False
        return self.offer(objective, self.parts.master_variables, answer.load, self.score_of(answer))

    def why_infeasible(self) -> str:
        """Return a sentence with rows that have no common solution: of the master, or of the whole model."""
        parts = self.parts
        reason = clashing_rows(parts.master_rows, parts.master_variables, self._master_runner, otherwise="")
        return reason or self.linear_clash() or NO_CLASH
