r"""Generalised Benders decomposition in one tree of a MILP solver: the cuts are lazy constraints.

For min { c(x, u) + q(x) }, q(x) = min { f(y, x) : y in Y(x) } convex in x, some of x integer: a MILP solver runs
branch-and-bound on the master min { c(x, u) + eta : the user's rows, eta >= every cut }, with a callback for each
integer point (x-bar, u-bar, eta-bar) before it becomes the incumbent of the tree:

    0. Before the tree: add cuts at the structure's starting points, if it has any. If the subproblem has blocks, solve
       the relaxed master by in-out separation, as in ``benders``.
    1. Round x-bar. Solve the subproblem there -> q(x-bar) and a cut that is tight there. Answers are kept.
    2. Offer c + q(x-bar) as incumbent, also to the tree (with ``choose_by="validation"``, keep the least validation
       error).
    3. If eta-bar is below q(x-bar), add the lazy constraint eta >= cut. If the subproblem is infeasible, add 0 >= the
       feasibility cut. Both are valid at every x and so in the whole tree. Otherwise the tree has found a solution.
    4. Stop if the bound of the tree meets the incumbent.
    5. If the tree ends and the bounds differ, solve the subproblem at its optimum, add the cut to the master and start
       another tree.

Step 5 is the multi-tree algorithm. If eta is unbounded before the first optimality cut, the first tree finds a feasible
point, and only the bounds of later trees are used. If the master has no integer variable, each tree is one LP. The
bound is that of a relaxation and valid for any set of cuts. The method is finite for integer x in a bounded set,
because each point is evaluated once and its cut is tight there (Geoffrion 1972, theorem 2.4).

Source: Fischetti, Ljubic and Sinnl 2017, "Redesigning Benders decomposition for large-scale facility location", for
lazy Benders cuts in one tree. Their cuts at fractional points are implemented in ``branch-and-cut`` only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression
from pyomo.core.expr.numvalue import is_fixed

from solvers.drivers.base import End
from solvers.drivers.benders.lazy_tree import CandidateReply, LazyTree
from solvers.drivers.benders.multi_tree import Benders, BendersConfig
from solvers.drivers.solver_options import master_solver_options
from solvers.errors import SolverError
from solvers.facts.structure import SubAnswer
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import entry, require
from solvers.interfaces.runner import Answer, Runner
from solvers.model.classes import needs
from solvers.options import SolverObject
from solvers.result import SolutionStatus, StopReason

NODES = 1000  # nodes of the tree between two rows of the table if no new point is found
ROOM = 100.0  # factor by which the units of a tree may be too large or small before another tree starts


@dataclass
class SingleTreeConfig(BendersConfig):
    """Options of ``single-tree``: those of ``benders``; ``iteration_limit`` counts evaluated points.

    Attributes
    ----------
    master_solver : str
        Solver of the tree; it must support lazy constraints.
    """

    master_solver: str | SolverObject = "gurobi"


class SingleTree(Benders):
    """Generalised Benders decomposition of a Pyomo model by lazy constraints in one tree."""

    name = "single-tree"
    title = "models with declared complicating variables (generalised Benders, lazy cuts in one tree of gurobi)"
    options_type = SingleTreeConfig
    config: SingleTreeConfig

    def prepare_master(self, floor: float | None) -> None:
        """Build the master, with every complicating variable in it, and its solver."""
        c = self.config
        self._master = self._new_master(floor)
        model, points = self._master.model, self._master.point_variables
        needed = C.MILP | needs(model)[0]
        try:
            self.parts.check_master(supported=needed in entry(c.master_solver).capabilities)
            spec = require(c.master_solver, C.LAZY_CUTS | needed)
        except SolverError as error:
            raise SolverError(f'{error} Drivers without this need: "branch-and-cut", "benders".') from None
        # The solver ignores variables without rows and cost, and a lazy cut may not contain them.
        nothing = LinearExpression(linear_coefs=[0.0] * (len(points) + 1), linear_vars=[model.eta, *points])
        model.known = pyo.Constraint(expr=(-1.0, nothing, None), doc="no restriction: the variables of all cuts")
        # At an error of 1e-5 in an integer a cut with large coefficients is weak: the tree could keep a violated point.
        self._master_runner = Runner(spec, master_solver_options(c, spec, needed={"LazyConstraints": 1}))
        self._value = 0.0  # of the subproblem at the best point
        self._answers: dict[bytes, SubAnswer] = {}
        self._rows: dict[bytes, Any] = {}  # rows of the master: the cut of each evaluated point
        self._calls = self._stale = 0

    def run(self) -> End:
        """Run the algorithm; the numbers in comments are its steps."""
        self._begin()  # 0
        if self._relax():
            return self.stop, None
        for _ in self.rounds(math.inf):  # ``iteration_limit`` counts evaluated points
            proposal = self._tree()  # 1 to 4
            if self._stop is not None:
                return self._stop, None
            if self._again:
                self._rescale(self._value, ROOM)
                continue
            if proposal.status is SolutionStatus.UNBOUNDED or proposal.undecided:
                if (ended := self._bound_master()) is not None:
                    return ended
                continue
            if proposal.status is SolutionStatus.INFEASIBLE or (not proposal.has_point and self.best is None):
                return self._without_point(proposal)
            complete = proposal.has_point and proposal.stop_reason is StopReason.CONVERGED
            if not complete or self.closed(self.config.gap):
                return proposal.stop_reason, None
            cuts = len(self.master.cuts)
            self._visit()  # 5
            if self._stop is not None:
                return self._stop, None
            if not self._rescale(self._value) and len(self.master.cuts) == cuts:
                return StopReason.CONVERGED, None
        return self.stop, None

    def _start_from(self, point: np.ndarray, answer: SubAnswer) -> None:
        self._answers[_key(point)] = answer
        self._row(point, answer)

    def _tree(self) -> Answer:
        """Run one tree."""
        self._stop: StopReason | None = None
        self._again = False  # whether another tree is needed, with a cut that this one cannot accept
        self._bounded = self._master.bounded  # at the start of this tree
        self._nodes, inside = 0.0, self.seconds["subproblem"]
        try:
            with self.timing("master"):
                tree = LazyTree(self._master_runner, self._master.model, self._candidate, self._progress)
                answer = tree.run(self.clock.left)
        finally:
            self.seconds["master"] -= self.seconds["subproblem"] - inside
        if self._bounded:
            self.raise_bound(self.proven(answer.bound))
        return answer

    def _progress(self, bound: float, nodes: float) -> bool:
        """Raise the bound by that of the tree; return True to stop."""
        if self._bounded:
            self.raise_bound(self.proven(bound))
        if nodes >= self._nodes + NODES:
            self._nodes = nodes
            self.record("tree", None, cuts=len(self.master.cuts), support=None)
        self._stop = StopReason.CONVERGED if self.closed(self.config.gap) else self.stopped()  # 4
        return self._stop is not None

    def _candidate(self, bound: float) -> CandidateReply:
        """Return the reply on an integer point of the tree."""
        if self._progress(bound, 0.0):
            return CandidateReply(stop=True)
        before = self.best
        row, value = self._visit()
        # The solver accepts no cut in a tree that frees eta, or whose variables are all fixed.
        self._again = row is not None and (self._bounded != self._master.bounded or is_fixed(row.body))
        self._again |= self.best is not None and self._master.ill_scaled(self.best, self._value, ROOM)
        if self._again:
            return CandidateReply(stop=True)
        unit = self._master.unit
        instead = (
            [(self.master.eta, value / unit)] if row is not None and value is not None and self.best != before else None
        )
        return CandidateReply(self._stop is not None, row, instead)

    def _visit(self) -> tuple[Any, float | None]:
        """Solve the subproblem at the point of the master; return a violated cut, if any, and the value."""
        c, eta = self.config, self._master.unit * self.master.eta.value
        point, cost = self._master.point(), self._master.cost()
        key = _key(point)
        new = key not in self._answers
        answer = self._answer(point) if new else self._answers[key]  # 1
        if answer is None:
            self._stop = StopReason.TIME_LIMIT
            return None, None
        self._answers[key] = answer
        objective = None if answer.value is None else cost + answer.value
        improves = objective is not None and (self.best is None or objective < self.best)
        if improves:
            self._value = answer.value or 0.0
        better = (new or improves) and self._keep(objective, answer)  # 2
        missed = answer.value is None or eta < answer.bound - 1e-7 * max(1e-10, abs(answer.bound))
        row = self._row(point, answer) if missed or not self._bounded else None  # 3
        if new or improves:
            self.record("candidate", objective, cuts=len(self.master.cuts), support=int(np.sum(point > 0.5)))
        if new:
            self._calls, self._stale = self._calls + 1, 0 if better else self._stale + 1
        out_of_patience = c.validation is not None and c.patience is not None and self._stale >= c.patience
        if self.closed(c.gap) or out_of_patience:
            self._stop = StopReason.CONVERGED
        elif new and self._calls == c.iteration_limit:
            self._stop = StopReason.ITERATION_LIMIT
        else:
            self._stop = self.stopped()
        return row, answer.value

    def _row(self, point: np.ndarray, answer: SubAnswer) -> Any:
        """Return the cut of a point as a row of the master; each point has one row."""
        key = _key(point)
        if key not in self._rows:
            assert answer.cut is not None
            add = self._master.add_feasibility_cut if answer.value is None else self._master.add_cut
            self._rows[key] = add(answer.cut)
        return self._rows[key]


def _key(point: np.ndarray) -> bytes:
    return bytes((np.round(point, 9) + 0.0).tobytes())  # no -0.0
