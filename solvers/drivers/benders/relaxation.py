"""Lower bound for an unbounded master: the continuous relaxation of the whole model.

Without cuts a master may be unbounded although the model is bounded: min 2y - x, y >= max(0, x), is min -x before the
first cut. One solve of the relaxation, which has the size of the whole model, decides:

infeasible
    The model is infeasible.
optimal with value v
    Every solution costs at least v. The row ``cost + eta >= v - slack`` bounds the master. It is not used to prove an
    optimum, so slack is larger than any tolerance of a solver.
unbounded
    The model is unbounded or infeasible. With rational data a ray of the relaxation is a ray of the convex hull of the
    integer points, if there are any (Meyer 1974, theorem 2.1), so that any solution decides (``drivers.unbounded``).
    The same holds for a subproblem that is unbounded at one point: by duality of linear and of convex quadratic
    programs it is unbounded wherever it is feasible.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr import replace_expressions

from solvers.drivers.benders.split import SplitModel
from solvers.errors import SolverError
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import either, find
from solvers.interfaces.runner import Runner
from solvers.model.classes import needs
from solvers.result import SolutionStatus, StopReason
from solvers.values import give_values

SLACK = 0.01  # relative to 1 + |v|
CONVEX = ("highs", "clarabel")  # in this order, after the subproblem's own solver


class UnboundedProblem(SolverError):
    """A problem inside is unbounded: the model is unbounded or infeasible."""


class UnboundedSubproblem(UnboundedProblem):
    """The subproblem is unbounded at one point."""


def relax_whole(parts: SplitModel, runner: Runner, time_limit: float | None) -> tuple[float, np.ndarray | None]:
    """Solve the continuous relaxation of the whole model; return a lower bound and the complicating variables.

    The bound is infinite if the model is infeasible, and -inf if no solver decides. Raises UnboundedProblem if the
    relaxation is unbounded.
    """
    model, keys = pyo.ConcreteModel(name="relaxation"), range(len(parts.master_variables))
    model.inside = pyo.Reference(dict(enumerate(parts.structure.variables())), ctype=pyo.Var)
    model.copy = pyo.Var(keys, doc="the master's variables, continuous")
    copies = {}
    for k, v in enumerate(parts.master_variables):
        copies[id(v)] = model.copy[k]
        model.copy[k].setlb(v.lb), model.copy[k].setub(v.ub)
        if v.fixed:
            model.copy[k].fix(v.value)
    model.rows = pyo.Reference(dict(enumerate(parts.subproblem_rows)), ctype=pyo.Constraint)
    others = [*parts.master_rows, *parts.coupling_rows, *parts.linking_rows]
    model.others = pyo.Constraint(range(len(others)), rule=lambda m, r: replace_expressions(others[r].expr, copies))
    cost = pyo.quicksum([*parts.master_terms, *parts.subproblem_terms])
    model.objective = pyo.Objective(expr=parts.sign * replace_expressions(cost, copies))
    needed = needs(model)[0]
    able = [s for s in (runner.spec, *map(find, CONVEX)) if needed in s.capabilities and not s.local]
    for spec in able:
        options = runner.options if spec is runner.spec else replace(runner.options, own={})
        answer = Runner(spec, options).solve(model, time_limit=time_limit)
        if answer.stop_reason is StopReason.INTERRUPTED:
            raise KeyboardInterrupt  # which the solver swallowed
        if answer.status is SolutionStatus.UNBOUNDED and not parts.structure.switches:
            raise UnboundedProblem("The continuous relaxation is unbounded.")
        if answer.status is SolutionStatus.INFEASIBLE:
            return np.inf, None
        if answer.status is SolutionStatus.OPTIMAL and answer.has_point:
            give_values([*model.copy.values(), *model.inside.values()])
            value = float(pyo.value(model.objective))
            point = np.array([pyo.value(model.copy[k]) for k in range(len(parts.structure.complicating))], dtype=float)
            return value - SLACK * (1.0 + abs(value)), point
    return -np.inf, None


def why_unbounded(variables: list[Any]) -> str:
    """Return the message for an unbounded master."""
    free = ", ".join([v.name for v in variables if not v.fixed and None in v.bounds][:3]) or "its variables"
    return f"The master is unbounded: give bounds to {free}, or solve the whole model by name with {either(C.MIQCP)}."
