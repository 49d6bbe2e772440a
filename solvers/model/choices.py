"""A choice of the integer variables that the rows on them alone allow, for runs that end before they have met one."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from solvers.errors import ModelError, SolverError
from solvers.interfaces.registry import find
from solvers.interfaces.runner import Runner, SolveOptions
from solvers.model.expressions import variables
from solvers.result import SolutionStatus
from solvers.values import INSIDE

SECONDS = 0.5  # a choice takes milliseconds, unless the rows are a puzzle
MANY = 100_000  # terms of rows, beyond which looking at them takes longer than that


def choose(model: Any) -> bool:
    """Put the free integers at the choice with the fewest changes that their own rows allow; tell whether there is one.

    Rows that hold a continuous variable are not looked at: whoever asks checks the whole point.
    """
    rows = []
    for row in model.component_data_objects(pyo.Constraint, active=True, descend_into=INSIDE):
        if not all(v.fixed or v.is_binary() for v in variables(row.body)):
            continue
        held = list(variables(row.body))
        if not all(v.fixed for v in held):
            rows.append((row, held))
    free = list({id(v): v for _, held in rows for v in held if not v.fixed}.values())
    if not free or sum(len(held) for _, held in rows) > MANY:
        return False
    trial = pyo.ConcreteModel(name="first choice")
    trial.variables = pyo.Reference(dict(enumerate(free)), ctype=pyo.Var)
    trial.rows = pyo.Reference(dict(enumerate(row for row, _ in rows)), ctype=pyo.Constraint)
    trial.changes = pyo.Objective(expr=pyo.quicksum(1 - v if (v.value or 0.0) > 0.5 else v for v in free))
    try:
        answer = Runner(find("highs"), SolveOptions()).solve(trial, time_limit=SECONDS, integer=True)
    except (ModelError, SolverError):
        return False
    if not answer.has_point or answer.status not in (SolutionStatus.OPTIMAL, SolutionStatus.FEASIBLE):
        return False
    for v in free:
        v.set_value(round(v.value), skip_validation=True)
    return True
