"""Which rows of an infeasible master clash: a deletion filter.

Drop one row at a time; a row without which the rest is still infeasible is not needed, any other stays. What stays is
an irreducible infeasible set (Chinneck 2008, section 6.2), of rows together with the variables' bounds and fixings.
"""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from solvers.decomposition import Split
from solvers.expressions import variables
from solvers.interfaces import Runner
from solvers.result import SolutionStatus
from solvers.trace import Clock

SECONDS = 5.0  # of each trial; a trial without an answer keeps its row


def clashing_rows(parts: Split, runner: Runner, time_limit: float = 30.0) -> str:
    """Return a sentence that names the rows (and fixed variables) that cannot hold together.

    Parameters
    ----------
    parts : Split of the infeasible model
    runner : a MILP solver
    time_limit : float
        Seconds; at the limit the set is still infeasible, but may be larger than it need be.
    """
    clock = Clock(time_limit)
    needed = list(parts.master_rows)

    def infeasible(rows: list[Any]) -> bool:
        trial = pyo.ConcreteModel(name="clash")
        trial.variables = pyo.Reference(dict(enumerate(parts.master_variables)), ctype=pyo.Var)
        trial.rows = pyo.Reference(dict(enumerate(rows)), ctype=pyo.Constraint)
        trial.objective = pyo.Objective(expr=0.0)
        fresh = Runner(runner.spec, runner.options)
        return fresh.solve(trial, time_limit=SECONDS, integer=True).status is SolutionStatus.INFEASIBLE

    if not infeasible(needed):
        return "The subproblem has no solution for any choice that the other rows allow."
    for row in list(needed):
        if clock.over:
            break
        without = [r for r in needed if r is not row]
        if infeasible(without):
            needed = without
    held = {id(v): v for row in needed for v in variables(row.body)}
    fixed = [f"{v.name} fixed at {v.value:g}" for v in held.values() if v.fixed]
    names = ", ".join([f'"{row.name}"' for row in needed] + fixed)
    return f"No choice satisfies these together: {names}. Relax or deactivate one of them."
