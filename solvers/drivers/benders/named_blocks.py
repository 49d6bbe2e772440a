"""Blocks as a declarative model over the user's variables and rows, solved by any solver by name at a point."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyomo.environ as pyo

from solvers.drivers.benders.blocks import SubBlock
from solvers.drivers.benders.split import SplitModel
from solvers.interfaces.runner import Answer, Runner
from solvers.result import StopReason
from solvers.values import fixed, give_values


class NamedBlocks:
    """The model of some blocks, built once; the complicating variables are fixed while it is solved."""

    def __init__(self, parts: SplitModel, blocks: Sequence[SubBlock], runner: Runner) -> None:
        self.runner, self._complicating = runner, parts.structure.complicating
        self.variables = [v for block in blocks for v in block.variables]
        model = self.model = pyo.ConcreteModel(name="subproblem")
        rows = [row for block in blocks for row in [*block.rows, *block.coupling]]
        model.variables = pyo.Reference(dict(enumerate(self.variables)), ctype=pyo.Var)
        model.rows = pyo.Reference(dict(enumerate(rows)), ctype=pyo.Constraint)
        model.objective = pyo.Objective(expr=parts.sign * pyo.quicksum(t for block in blocks for t in block.terms))

    def solve(self, point: np.ndarray, time_limit: float | None) -> tuple[Answer, np.ndarray]:
        """Return the answer at a point, and the blocks' variables."""
        with fixed(list(zip(self._complicating, point.tolist(), strict=True))):
            answer = self.runner.solve(self.model, time_limit=time_limit)
        if answer.stop_reason is StopReason.INTERRUPTED:
            raise KeyboardInterrupt  # which the solver swallowed
        give_values(self.variables)
        return answer, np.array([v.value for v in self.variables], dtype=float)
