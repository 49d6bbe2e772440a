"""Rows without a common solution: a deletion filter.

Drop one row at a time. A row without which the rest is still infeasible is not needed; any other stays. The rows that
stay are an irreducible infeasible set (Chinneck 2008, section 6.2) together with the bounds and fixed variables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyomo.environ as pyo

from solvers.clock import Clock
from solvers.interfaces.registry import find
from solvers.interfaces.runner import Runner, SolveOptions
from solvers.model.expressions import variables
from solvers.result import SolutionStatus

SECONDS = 5.0  # of each trial; a trial without an answer keeps its row
NO_CLASH = "The subproblem has no solution for any choice that the other rows allow."


def clashing_rows(
    rows: Sequence[Any],
    variables_held: Sequence[Any],
    runner: Runner | None = None,
    time_limit: float = 30.0,
    *,
    otherwise: str = NO_CLASH,
) -> str:
    """Return a sentence that names rows and fixed variables without a common solution, or ``otherwise``.

    ``rows``: of the infeasible model. ``variables_held``: their variables. ``runner``: a solver for them, by default
    HiGHS. ``time_limit``: seconds; at the limit the set is still infeasible, but may be larger than necessary.
    """
    clock = Clock(time_limit)
    runner = Runner(find("highs"), SolveOptions()) if runner is None else runner

    def infeasible(tried: Sequence[Any]) -> bool:
        trial = pyo.ConcreteModel(name="clash")
        trial.variables = pyo.Reference(dict(enumerate(variables_held)), ctype=pyo.Var)
        trial.rows = pyo.Reference(dict(enumerate(tried)), ctype=pyo.Constraint)
        trial.objective = pyo.Objective(expr=0.0)
        fresh = Runner(runner.spec, runner.options)
        return fresh.solve(trial, time_limit=SECONDS, integer=True).status is SolutionStatus.INFEASIBLE

    if not infeasible(rows):
        return otherwise
    components = {id(c): c for c in (row.parent_component() for row in rows)}
    needed = list(rows)
    # First whole components, of which a model of dense rows has few, then single rows.
    for drop in [*components.values(), *rows]:
        without = [row for row in needed if row is not drop and row.parent_component() is not drop]
        if clock.over:
            break
        if len(without) < len(needed) and infeasible(without):
            needed = without
    held = {id(v): v for row in needed for v in variables(row.body)}
    fixed = [f"{v.name} fixed at {v.value:g}" for v in held.values() if v.fixed]
    names = ", ".join([f'"{row.name}"' for row in needed] + fixed)
    return f"No choice satisfies these together: {names}. Relax or deactivate one of them."
