r"""The subproblem of a decomposition, answered by a fast oracle or by a declarative model and any solver.

Three sources of the same answer, value and cut (``SubAnswer``):

``OracleSubproblem``
    The structure's oracle. Only while the subproblem is as it was built.
``SwitchedSubproblem``
    For structures with switches (a variable is 0 while its binary is 0): ``switched``.
``FixingSubproblem``
    For any other model whose subproblem is linear, or convex quadratic with linear rows. A free copy z of the
    complicating variables x is tied by z = x-bar; the rows' multipliers pi are a subgradient of the value
    q(x) = min { f(y, z) : rows, z = x }, which is convex, so q(x) >= q(x-bar) + pi.(x - x-bar). Where no y exists,
    the distance d(x) = min { |z - x|_1 : rows } is convex too and 0 exactly where q is finite, and the same
    multipliers give d(x-bar) + pi.(x - x-bar) <= 0 (Geoffrion 1972 with Benders' dual replaced by the fixing rows).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr import replace_expressions

from solvers.drivers.benders.blocks import blocks_of
from solvers.drivers.benders.refusals import integers, refusals
from solvers.drivers.benders.relaxation import EndlessSubproblem
from solvers.drivers.benders.split import SplitModel
from solvers.errors import ModelError, SolverError, SolverFailure
from solvers.facts.structure import Cut, SubAnswer
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import names
from solvers.interfaces.runner import Answer, Runner
from solvers.result import FEASIBLE, SolutionStatus, StopReason
from solvers.values import fixed, give_values


class Subproblem(Protocol):
    """What a driver asks of a subproblem."""

    model: pyo.ConcreteModel | None
    fractional: bool  # whether it answers at fractional points too

    def solve(self, point: np.ndarray, tolerance: float, time_limit: float | None) -> SubAnswer | None:
        """Answer at a point; None when the time ran out before."""
        ...


class OracleSubproblem:
    """The structure's own oracle."""

    model = None
    fractional = True

    def __init__(self, parts: SplitModel) -> None:
        assert parts.structure.oracle is not None
        self._oracle = parts.structure.oracle

    def solve(self, point: np.ndarray, tolerance: float, time_limit: float | None) -> SubAnswer | None:
        """Answer at a point of shape (n,)."""
        return self._oracle.solve(point, tolerance, time_limit)


class Declarative:
    """What both declarative subproblems share: a model of references, solved by name."""

    def __init__(self, parts: SplitModel, runner: Runner) -> None:
        self.parts, self.runner = parts, runner
        self.variables = parts.structure.variables()
        for reason in integers(self.variables):
            raise ModelError(reason)
        model = self.model = pyo.ConcreteModel(name="subproblem")
        model.variables = pyo.Reference(dict(enumerate(self.variables)), ctype=pyo.Var)
        model.rows = pyo.Reference(dict(enumerate(parts.subproblem_rows)), ctype=pyo.Constraint)
        model.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)

    def _objective(self) -> Any:
        return self.parts.sign * pyo.quicksum(self.parts.subproblem_terms)

    def _refuse(self, answer: Answer, model: pyo.ConcreteModel) -> SolverError:
        if answer.status is SolutionStatus.UNBOUNDED and not self.runner.spec.local:
            return EndlessSubproblem("The subproblem is unbounded below: no cut exists.")
        name = self.runner.spec.name
        return SolverFailure(
            f'sub_solver="{name}" did not solve the {model.name} ({answer.message}). Try {self._others()}.', name
        )

    def _others(self) -> str:
        return " or ".join(n for n in names(C.QP | C.QP_DUALS) if n != self.runner.spec.name)

    def _load(self) -> Callable[[], None]:
        values = [v.value for v in self.variables]

        def load() -> None:
            for v, x in zip(self.variables, values, strict=True):
                v.set_value(x, skip_validation=True)

        return load

    @staticmethod
    def _out_of_time(answer: Answer) -> bool:
        if answer.stop_reason is StopReason.INTERRUPTED:
            raise KeyboardInterrupt  # a solver swallowed it; the driver ends the run
        return answer.stop_reason is StopReason.TIME_LIMIT


class FixingSubproblem(Declarative):
    """The subproblem of any model with linear rows; see the module's text."""

    fractional = True

    def __init__(self, parts: SplitModel, runner: Runner) -> None:
        super().__init__(parts, runner)
        complicating = parts.structure.complicating
        for reason in refusals(parts, blocks_of(parts)):
            raise ModelError(reason)
        model, keys = self.model, range(len(complicating))
        model.copy = pyo.Var(keys, doc="free copy of the complicating variables")
        model.above = pyo.Var(keys, domain=pyo.NonNegativeReals)
        model.below = pyo.Var(keys, domain=pyo.NonNegativeReals)
        model.level = pyo.Param(keys, initialize=0.0, mutable=True)
        model.fixing = pyo.Constraint(
            keys, rule=lambda m, k: m.copy[k] + m.above[k] - m.below[k] == m.level[k], doc="copy = given point"
        )
        copies = {id(v): v.value if v.fixed else model.copy[k] for k, v in enumerate(complicating)}
        model.coupling = pyo.Constraint(
            range(len(parts.coupling_rows)), rule=lambda m, r: replace_expressions(parts.coupling_rows[r].expr, copies)
        )
        model.objective = pyo.Objective(expr=self._objective())
        model.distance = pyo.Objective(expr=pyo.quicksum([*model.above.values(), *model.below.values()]))
        model.distance.deactivate()
        self._phase_one: Runner | None = None

    def solve(self, point: np.ndarray, tolerance: float, time_limit: float | None) -> SubAnswer | None:
        """Answer at a point of shape (n,), or with a feasibility cut."""
        model = self.model
        for k, x in enumerate(point):
            model.level[k] = float(x)
        slacks = [*model.above.values(), *model.below.values()]
        with fixed([(s, 0.0) for s in slacks]):
            answer = self._run(self.runner, time_limit)
            if answer is None:
                return None
            if answer.status is not SolutionStatus.INFEASIBLE and not answer.undecided:
                if not answer.has_point or len(answer.duals) < len(point):
                    raise self._refuse(answer, model)
                value = float(pyo.value(model.objective))
                cut = self._supporting(value, answer, point)
                return SubAnswer(value, cut.at(point), cut, self._load())
        found = self._feasibility(point, time_limit)
        if answer.undecided and found is not None and found.cut is not None and found.cut.at(point) <= FEASIBLE:
            raise EndlessSubproblem("The subproblem is unbounded below: no cut exists.")
        return found

    def _feasibility(self, point: np.ndarray, time_limit: float | None) -> SubAnswer | None:
        model = self.model
        if self._phase_one is None:
            self._phase_one = Runner(self.runner.spec, self.runner.options)
        model.objective.deactivate()
        model.distance.activate()
        try:
            answer = self._run(self._phase_one, time_limit)
            if answer is None:
                return None
            if answer.status is SolutionStatus.INFEASIBLE:  # for any value of the complicating variables
                return SubAnswer(None, np.inf, Cut(1.0, np.zeros(len(point))), lambda: None)
            if not answer.has_point or len(answer.duals) < len(point):
                raise self._refuse(answer, model)
            distance = float(pyo.value(model.distance))
            return SubAnswer(None, np.inf, self._supporting(distance, answer, point), lambda: None)
        finally:
            model.distance.deactivate()
            model.objective.activate()

    def _run(self, runner: Runner, time_limit: float | None) -> Answer | None:
        answer = runner.solve(self.model, time_limit=time_limit, duals=list(self.model.fixing.values()))
        give_values([*self.variables, *self.model.copy.values()])
        return None if self._out_of_time(answer) else answer

    def _supporting(self, value: float, answer: Answer, point: np.ndarray) -> Cut:
        slope = np.array([answer.duals[row] for row in self.model.fixing.values()])
        return Cut(value - float(slope @ point), slope)
