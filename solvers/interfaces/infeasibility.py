"""Check of a reported infeasibility by the elastic program of the model, whose rows have slacks.

The program min { sum of slacks } has an optimum for every model. If it is above 0, no point satisfies the rows. A
linear row is divided by its largest coefficient: otherwise the slack of a row with coefficients of 1e-6 is a million
times cheaper than the variables, whose costs then fall below the tolerance of the solver.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyomo.environ as pyo
from pyomo.repn import generate_standard_repn

from solvers.errors import ModelError, SolverError
from solvers.model_cache import ModelCache
from solvers.result import FEASIBLE, SolutionStatus
from solvers.values import bounds_of, kept

SMALL, LARGE = 1e-4, 1e7  # range of coefficients for which a reported infeasibility is not checked


def doubtful(cache: ModelCache) -> bool:
    """Return True if a row is nonlinear, or has a coefficient near a solver's tolerance or its inverse.

    A model with ordered sets is not checked, because the elastic program does not contain them.
    """
    if cache.stated(pyo.SOSConstraint):
        return False
    for row in cache.rows:
        repn = generate_standard_repn(row.body)
        if not repn.is_linear() or any(not SMALL <= abs(c) <= LARGE for c in repn.linear_coefs if c):
            return True
    return False


def surely_infeasible(cache: ModelCache, solved: Callable[[Any], SolutionStatus]) -> bool:
    """Return True if the elastic program confirms a reported infeasibility.

    Certificates of infeasibility, and the rows of a search, hold to tolerances only, which are absolute or relative to
    the size of the iterates. A report is confirmed if the least sum of slacks is solved to optimality and exceeds the
    rounding error. The elastic program has a point unless bounds are crossed: a solver that reports it as infeasible is
    wrong. A cone ``w^2 <= d t`` with a slack is not a cone: if the solver rejects the program, only linear rows get
    slacks.

    ``solved``: solves a model and returns the status. Raises SolverError if the solver fails.
    """
    may_clash = any(low > high for low, high in map(bounds_of, cache.variables))  # although all rows have slacks
    with kept(cache.variables):
        for curved in (True, False):
            elastic = _elastic(cache, curved=curved)
            try:
                status = solved(elastic)
                break
            except ModelError:
                may_clash = True
            except SolverError:
                return False
        else:
            return False
        if status is not SolutionStatus.OPTIMAL:  # a limit confirms nothing
            return status is SolutionStatus.INFEASIBLE and may_clash
        size = max((abs(v.value or 0.0) for v in cache.variables), default=0.0)
        return float(pyo.value(elastic.slacks)) > FEASIBLE * max(1.0, size)


def _elastic(cache: ModelCache, *, curved: bool) -> pyo.ConcreteModel:
    """Return the elastic program; with ``curved`` nonlinear rows have slacks too."""
    model, rows = pyo.ConcreteModel(name="elastic"), cache.rows
    repns = [generate_standard_repn(row.body) for row in rows]
    model.variables = pyo.Reference(dict(enumerate(cache.variables)), ctype=pyo.Var)
    model.up, model.down = (pyo.Var(range(len(rows)), domain=pyo.NonNegativeReals) for _ in range(2))
    for k, repn in enumerate(repns):
        if not curved and not repn.is_linear():
            model.up[k].fix(0.0), model.down[k].fix(0.0)
    units = [max(map(abs, repn.linear_coefs), default=0.0) or 1.0 if repn.is_linear() else 1.0 for repn in repns]
    # A sum in Pyomo shares its list of arguments with ``sum + x``: without a named expression, x would stay in the
    # row of the user.
    model.body = pyo.Expression(range(len(rows)), rule=lambda m, r: rows[r].body)
    model.rows = pyo.Constraint(
        range(len(rows)), rule=lambda m, r: (rows[r].lower, m.body[r] + units[r] * (m.up[r] - m.down[r]), rows[r].upper)
    )
    model.slacks = pyo.Objective(expr=pyo.quicksum([*model.up.values(), *model.down.values()]))
    return model
