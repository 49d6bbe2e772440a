r"""The subproblem of a decomposition, answered by a fast oracle or by a declarative model and any solver.

Three sources of the same answer, value and cut (``SubAnswer``):

``OracleSubproblem``
    The structure's oracle. Only while the subproblem is as it was built.
``SwitchedSubproblem``
    For structures with switches (a variable is 0 while its binary is 0): ``switched``.
``BlockSubproblem``
    For any other model, by its blocks: ``block_subproblem``.

``refusals`` lists what a subproblem of any model may not hold, for the drivers and for ``explain_split``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import numpy as np
import pyomo.environ as pyo

from solvers.drivers.benders.blocks import SubBlock
from solvers.drivers.benders.curves import Curves
from solvers.drivers.benders.relaxation import EndlessSubproblem
from solvers.drivers.benders.split import SplitModel
from solvers.errors import ModelError, SolverError, SolverFailure
from solvers.facts.structure import SubAnswer
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import names
from solvers.interfaces.runner import Answer, Runner
from solvers.result import SolutionStatus, StopReason


def integers(variables: Iterable[Any]) -> Iterator[str]:
    """Yield a message for each integer variable of a subproblem: multipliers bound only its relaxation."""
    for v in variables:
        if not v.is_continuous() and not v.fixed:
            yield (
                f'Variable "{v.name}" of the subproblem is integer, so that no cut is valid: make it complicating, or '
                f"solve the whole model by name: highs where all rows are linear, else {', '.join(names(C.MIQCP))}."
            )


def refusals(parts: SplitModel, blocks: list[SubBlock], curves: Curves | None) -> Iterator[str]:
    """Yield the rows and terms without a known cut, each with its name and an alternative."""
    for block in blocks:
        yield from integers(block.variables)
    if curves is not None:  # None: a subproblem with switches
        yield from curves.refused


class Subproblem(Protocol):
    """The interface between a driver and a subproblem."""

    model: pyo.ConcreteModel | None
    fractional: bool  # whether it answers at fractional points too

    def solve(self, point: np.ndarray, tolerance: float, time_limit: float | None) -> SubAnswer | None:
        """Solve at a point; return None when time is up."""
        ...


class OracleSubproblem:
    """The structure's own oracle."""

    model = None
    fractional = True

    def __init__(self, parts: SplitModel) -> None:
        assert parts.structure.oracle is not None
        self._oracle = parts.structure.oracle

    def solve(self, point: np.ndarray, tolerance: float, time_limit: float | None) -> SubAnswer | None:
        """Solve at a point of shape (n,)."""
        return self._oracle.solve(point, tolerance, time_limit)


class Declarative:
    """Base of the declarative subproblems: a model of references, solved by a named solver."""

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
