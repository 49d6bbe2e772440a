r"""The subproblem of a decomposition, answered by a fast oracle or by a declarative model and any solver.

Three sources of the same answer, value and cut (``SubAnswer``):

``OracleSubproblem``
    The structure's oracle. Only while the subproblem is as it was built.
``SwitchedSubproblem``
    For structures with switches (a variable is 0 while its binary is 0). The binaries are fixed at 1 in the coupling
    rows and the switched variables are fixed at 0 where the binary is 0, so the compiled rows never change. The cut
    comes from the multipliers of the linear rows through ``structure.cut``, never from multipliers of fixing rows:
    those are worthless at the apex of a cone.
``FixingSubproblem``
    For any other model whose subproblem is linear, or convex quadratic with linear rows. A free copy z of the
    complicating variables x is tied by z = x-bar; the rows' multipliers pi are a subgradient of the value
    q(x) = min { f(y, z) : rows, z = x }, which is convex, so q(x) >= q(x-bar) + pi.(x - x-bar). Where no y exists,
    the distance d(x) = min { |z - x|_1 : rows } is convex too and 0 exactly where q is finite, and the same
    multipliers give d(x-bar) + pi.(x - x-bar) <= 0 (Geoffrion 1972 with Benders' dual replaced by the fixing rows).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr import replace_expressions

from solvers.drivers.benders.blocks import blocks_of
from solvers.drivers.benders.refusals import integers, refusals
from solvers.drivers.benders.relaxation import EndlessSubproblem
from solvers.drivers.benders.split import SplitModel
from solvers.errors import ModelError, SolverError, SolverFailure
from solvers.facts.change import Changed
from solvers.facts.structure import Cut, SubAnswer
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import names
from solvers.interfaces.runner import Answer, Runner
from solvers.model.classes import violation
from solvers.model.linear import LinearRows
from solvers.result import FEASIBLE, SolutionStatus, StopReason
from solvers.values import INSIDE, fixed, give_values, put_back

TIGHT = 1e-5  # relative: what a cut may miss at its own point


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


class _Declarative:
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


class SwitchedSubproblem(_Declarative):
    """The subproblem of a structure with switches; see the module's text."""

    fractional = False

    def __init__(self, parts: SplitModel, runner: Runner) -> None:
        super().__init__(parts, runner)
        if parts.coupling_edits:
            raise ModelError(
                f"{parts.coupling_edits[0]} changes how selection is written, which no cut covers: state what you want "
                f"on other rows, or solve the whole model by name: {', '.join(names(C.MIQCP))}."
            )
        self.model.coupling = pyo.Reference(dict(enumerate(parts.coupling_rows)), ctype=pyo.Constraint)
        self.model.objective = pyo.Objective(expr=self._objective())
        self._never_off = {id(v) for _, v in parts.structure.switches if not may_be_zero(v)}
        self._linear: LinearRows | None = None

    def check_cut(self) -> None:
        """Refuse edits that no cut covers.

        Raises ModelError if the core of the objective is gone or changed, or a row or another term is not linear.
        """
        parts, structure = self.parts, self.parts.structure
        others = [t for t in parts.subproblem_terms if t is not structure.core]
        intact = structure.core_intact() and len(others) == len(parts.subproblem_terms) - 1 and parts.sign > 0
        if structure.cut is None or not intact:
            raise ModelError(
                f'The objective must keep the term "{structure.core.name}" once, as it was built, for a cut to exist; '
                f"the rest of it may be anything linear. Or solve the whole model by name: {', '.join(names(C.MIQCP))}."
            )
        self._linear = LinearRows.of(parts.subproblem_rows, self.variables, others, parts.sign)

    def solve(self, point: np.ndarray, tolerance: float, time_limit: float | None) -> SubAnswer | None:
        """Answer at a binary point of shape (n,)."""
        if self._linear is None:
            self.check_cut()
        rows = self.parts.subproblem_rows
        answer = self.evaluate(point, time_limit, duals=rows)
        if answer is None or answer.value is None:
            return answer
        cut = self.parts.structure.cut(self._linear, answer.values)  # type: ignore[misc, arg-type]
        slack = answer.value - cut.at(point)
        if slack > TIGHT * max(1.0, abs(answer.value)):
            name = self.runner.spec.name
            raise SolverFailure(
                f'sub_solver="{name}" gave multipliers of too little accuracy: their cut misses the '
                f"subproblem's value {answer.value:.6g} by {slack:.1e}. Try {self._others()}.",
                name,
            )
        return SubAnswer(answer.value, min(answer.value, cut.at(point)), cut, answer.load, answer.values)

    def evaluate(self, point: np.ndarray, time_limit: float | None, duals: Sequence[Any] = ()) -> SubAnswer | None:
        """Return the value at a binary point, and the multipliers asked for as ``values``, but no cut."""
        structure = self.parts.structure
        index = {id(v): k for k, v in enumerate(structure.complicating)}
        off = [v for binary, v in structure.switches if point[index[id(binary)]] < 0.5]
        if any(id(v) in self._never_off for v in off):
            return SubAnswer(None, np.inf, self._larger_support(point), lambda: None)
        with fixed([(v, 1.0) for v in structure.complicating]), fixed([(v, 0.0) for v in off]):
            answer = self._in_units(time_limit, list(duals))
            if self._out_of_time(answer):
                return None
            if answer.status is SolutionStatus.INFEASIBLE:
                if self._has_trivial_point():
                    raise self._refuse(replace(answer, message="infeasible, which it is not"), self.model)
                return SubAnswer(None, np.inf, self._larger_support(point), lambda: None)
            give_values(self.variables)
            if not answer.has_point or (duals and not answer.duals):
                raise self._refuse(answer, self.model)
            self._mend()
            value = float(pyo.value(self.model.objective))
            # A row that the solver did not see, because all its variables are fixed, has the multiplier 0.
            multipliers = np.array([answer.duals.get(row, 0.0) for row in duals])
            return SubAnswer(value, -np.inf, None, self._load(), multipliers)

    def _in_units(self, time_limit: float | None, rows: list[Any]) -> Answer:
        """Solve in the units of the structure's change of variables: in others a column may be below tolerances."""
        change = self.parts.structure.change
        if change is None:
            return self.runner.solve(self.model, time_limit=time_limit, duals=rows)
        view = Changed(self.model, change)
        answer = self.runner.solve(view.model, time_limit=time_limit, duals=view.rows_of(rows))
        if answer.has_point:
            view.bring_back()
        return replace(answer, bound=view.bound_of(answer.bound), duals=view.duals_of(rows, answer.duals))

    def _mend(self) -> None:
        """Put the point on its rows where the builder knows how: what it misses by tolerances, its value misses too."""
        certificate = self.parts.structure.certificate
        if certificate is None:
            return
        mine = {id(v) for v in self.variables}
        others = [(v, x) for v, x in self._values() if id(v) not in mine]
        certificate.mend(self._whole, self.model, tempting=False)  # the choice is fixed
        put_back(others)

    def _has_trivial_point(self) -> bool:
        """Tell whether the builder's trivial point satisfies the subproblem, whatever a solver says."""
        certificate, before = self.parts.structure.certificate, self._values()
        if certificate is None:
            return False
        certificate.trivial(self._whole)
        put_back((v, x) for v, x in before if v.fixed)
        found = violation(self.model) <= FEASIBLE
        put_back(before)
        return found

    @property
    def _whole(self) -> Any:
        return self.parts.structure.complicating[0].model()

    def _values(self) -> list[tuple[Any, float | None]]:
        return [(v, v.value) for v in self._whole.component_data_objects(pyo.Var, descend_into=INSIDE)]

    @staticmethod
    def _larger_support(point: np.ndarray) -> Cut:
        """Exclude the point and every smaller support: they fix even more variables at 0."""
        return Cut(1.0, np.where(point < 0.5, -1.0, 0.0))


def may_be_zero(v: Any) -> bool:
    """Tell whether a variable's bounds, or the value it is fixed at, allow 0."""
    if v.fixed:
        return bool(v.value == 0.0)
    low, up = v.bounds
    return (low is None or low <= 0.0) and (up is None or up >= 0.0)


class FixingSubproblem(_Declarative):
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
