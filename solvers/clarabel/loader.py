"""The solution of one solve, in the words of Pyomo's second generation of solvers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from pyomo.common.collections import ComponentMap, ComponentSet
from pyomo.contrib.solver.common.solution_loader import SolutionLoader
from pyomo.contrib.solver.common.util import NoSolutionError
from pyomo.core.staleflag import StaleFlagManager

from solvers.clarabel.engine import Ending
from solvers.clarabel.program import Program


class ConicSolution(SolutionLoader):
    """Values, multipliers and reduced costs of one solve: they stay what they are when the solver solves again.

    A component that you name and that has no value here is left out: a row at a cone's apex has no multiplier, a
    variable that occurs nowhere no value.
    """

    def __init__(self, model: Any, variables: list[Any], program: Program, ending: Ending) -> None:
        self._pyomo_model = model
        self._variables, self.program, self._ending = variables, program, ending
        used = np.flatnonzero(program.used) if ending.solved else ()
        self._columns = [int(col) for col in used if not variables[col].fixed]

    def get_number_of_solutions(self) -> int:
        """Return 1 where there is an optimum: what is stopped early has no point."""
        return int(self._ending.solved)

    def load_vars(self, vars_to_load: Sequence[Any] | None = None) -> None:
        """Load the values; those of other variables become stale."""
        values = self.get_vars(vars_to_load)
        StaleFlagManager.mark_all_as_stale(delayed=True)
        for variable, value in values.items():
            variable.set_value(value, skip_validation=True)
        StaleFlagManager.mark_all_as_stale(delayed=True)

    def get_vars(self, vars_to_load: Sequence[Any] | None = None) -> Mapping[Any, float]:
        """Return the values of the variables that occur in the model and are not fixed."""
        self._refuse_none()
        values = self.program.values(self._ending.x)
        return _named(((self._variables[col], float(values[col])) for col in self._columns), vars_to_load)

    def get_duals(self, cons_to_load: Sequence[Any] | None = None) -> dict[Any, float]:
        """Return the multipliers of rows, in Pyomo's sign: d objective / d right-hand side."""
        self._refuse_none()
        return dict(_named(self.program.duals(self._ending.x, self._ending.z).items(), cons_to_load))

    def get_reduced_costs(self, vars_to_load: Sequence[Any] | None = None) -> Mapping[Any, float]:
        """Return the reduced costs of the variables that are free to move."""
        self._refuse_none()
        costs = self.program.reduced_costs(self._ending.z).items()
        return _named(((self._variables[col], cost) for col, cost in costs), vars_to_load)

    def _refuse_none(self) -> None:
        if not self._ending.solved:
            raise NoSolutionError(f"Clarabel ended with {self._ending.status}: there is no solution to load.")


def _named(found: Iterable[tuple[Any, float]], names: Sequence[Any] | None) -> ComponentMap:
    wanted = None if names is None else ComponentSet(names)
    return ComponentMap((c, value) for c, value in found if wanted is None or c in wanted)
