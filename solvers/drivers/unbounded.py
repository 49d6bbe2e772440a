r"""Proof that a model is unbounded: a feasible point and a ray along which the objective decreases.

Along x + t d, t >= 0, an expression of degree two is  g(x) + t g'(x) d + t^2 d'Q d / 2.  A row with an upper side is
satisfied for all t if the coefficients of t and t^2 are at most 0. The objective decreases without limit if both are at
most 0 and one is negative. The candidates for d are the ray of the linear program

.. math:: \min c d \quad \text{s.t. the finite sides of rows and bounds at 0},\ Q_k d = 0,\ d \in [-1, 1]^n

and the coordinate directions, which are rays of products. The variables of all other expressions are constant along d.
With integers and rational data such a ray of the relaxation is a ray of the convex hull of the integer points, if there
are any (Meyer 1974, theorem 2.1).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyomo.environ as pyo
from pyomo.repn import generate_standard_repn

from solvers.errors import ModelError, SolverError
from solvers.facts.base import facts_of
from solvers.facts.change import Change, Changed
from solvers.interfaces.registry import default_solver, find
from solvers.interfaces.runner import Answer, Runner, SolveOptions
from solvers.model.classes import has_integers, needs, violation
from solvers.model.rewriting import visible
from solvers.model_cache import ModelCache, cached
from solvers.result import FEASIBLE, SolutionStatus
from solvers.values import give_values, kept

SECONDS = 5.0  # s, of a search for a point that refutes infeasibility
ZERO = 1e-9  # share of the sum of the absolute terms that counts as 0 along a ray


def verified(model: Any, time_limit: float | None) -> tuple[SolutionStatus, str]:
    """Return UNBOUNDED, or INFEASIBLE or NO_SOLUTION with the reason; the values of the model stay."""
    try:
        cache = cached(visible(model, find("scip")).model)
        with kept(cache.variables):
            return _verified(cache, time_limit)
    except (ModelError, SolverError) as error:
        return SolutionStatus.NO_SOLUTION, f"A solver reports an unbounded objective, which was not verified: {error}"


def _verified(cache: ModelCache, time_limit: float | None) -> tuple[SolutionStatus, str]:
    answer = _any_point(cache, time_limit)
    if answer.status is SolutionStatus.INFEASIBLE:
        return SolutionStatus.INFEASIBLE, "No point satisfies the model's rows, bounds and integers."
    reason = "A solver reports an unbounded objective, but no feasible point was found from which it decreases."
    give_values(cache.variables)
    if (cache.rows and not answer.has_point) or violation(cache) > FEASIBLE:
        return SolutionStatus.NO_SOLUTION, reason
    if any(_is_descent_ray(cache, ray) for ray in _candidates(cache, time_limit)):
        return SolutionStatus.UNBOUNDED, ""
    reason = "A solver reports an unbounded objective, but no ray was found along which it decreases."
    return SolutionStatus.NO_SOLUTION, f"{reason} Bound the variables of the objective."


def _any_point(cache: ModelCache, time_limit: float | None) -> Answer:
    """Solve without the objective, and leave the point on the model."""
    facts = facts_of(cache.model)  # with the units that suit the tolerances of a solver
    view = Changed(cache.model, Change([]) if facts is None or facts.change is None else facts.change)
    view.model.objective.set_value(0.0)
    runner = Runner(default_solver(needs(view.model)), SolveOptions())
    return view.loaded(runner.solve(view.model, time_limit=time_limit, integer=has_integers(view.model)))


def point_exists(model: Any, time_limit: float | None) -> bool:
    """Return whether a solver finds a feasible point within seconds; the values of the model stay."""
    limit = SECONDS if time_limit is None else min(SECONDS, time_limit)
    try:
        cache = cached(visible(model, find("scip")).model)
        with kept(cache.variables):
            found = _any_point(cache, limit).has_point
            give_values(cache.variables)
            return found and violation(cache) <= FEASIBLE
    except (ModelError, SolverError):
        return False


def may_fall(cache: ModelCache, time_limit: float | None) -> bool:
    """Return whether the model without its ordered sets has a ray along which the objective decreases."""
    ray = _ray(cache, time_limit)
    return ray is not None and float(pyo.value(ray[0].falls)) < -FEASIBLE


def _ray(cache: ModelCache, time_limit: float | None) -> tuple[pyo.ConcreteModel, dict[int, int]] | None:
    """Return the solved linear program of a ray and the positions of its variables; None without a solution."""
    program, places = _ray_program(cache)
    answer = Runner(find("highs"), SolveOptions()).solve(program, time_limit=time_limit)
    return (program, places) if answer.has_point else None


def _ray_program(cache: ModelCache) -> tuple[pyo.ConcreteModel, dict[int, int]]:
    """Return the linear program of a ray, and the positions of its variables ``d`` by the id of the model's.

    Q d = 0 for quadratic parts, and d = 0 for variables of other nonlinear parts.
    """
    model, objective = pyo.ConcreteModel(name="ray"), cache.objectives[0]
    free = {id(v): (k, v) for k, v in enumerate(cache.variables) if not v.fixed}
    model.d = pyo.Var([k for k, _ in free.values()], bounds=(-1, 1), initialize=0.0)
    for k, v in free.values():
        if v.lb is not None:
            model.d[k].setlb(0)
        if v.ub is not None:
            model.d[k].setub(0)
    model.rows = pyo.ConstraintList()

    def along(expression: Any) -> Any:
        repn = generate_standard_repn(expression, quadratic=True)
        for v in repn.nonlinear_vars:
            model.d[free[id(v)][0]].setlb(0), model.d[free[id(v)][0]].setub(0)
        product: dict[int, list[Any]] = {}  # Q d
        for c, (v, w) in zip(repn.quadratic_coefs, repn.quadratic_vars, strict=True):
            product.setdefault(id(v), []).append(c * model.d[free[id(w)][0]])
            product.setdefault(id(w), []).append(c * model.d[free[id(v)][0]])
        for parts in product.values():
            model.rows.add(pyo.quicksum(parts) == 0)
        size = max(map(abs, repn.linear_coefs), default=1.0) or 1.0  # tolerances are absolute
        terms = zip(repn.linear_coefs, repn.linear_vars, strict=True)
        return pyo.quicksum(c / size * model.d[free[id(v)][0]] for c, v in terms)

    for row in cache.rows:
        move = along(row.body)
        if not isinstance(move, int | float):
            model.rows.add((0 if row.has_lb() else None, move, 0 if row.has_ub() else None))
    model.falls = pyo.Objective(expr=(1.0 if objective.sense == pyo.minimize else -1.0) * along(objective.expr))
    return model, {key: k for key, (k, _) in free.items()}


def _candidates(cache: ModelCache, time_limit: float | None) -> Iterator[dict[int, float]]:
    """Yield directions, by the id of the variable."""
    if (ray := _ray(cache, time_limit)) is not None:
        program, places = ray
        found = {key: program.d[k].value or 0.0 for key, k in places.items()}
        yield {key: x for key, x in found.items() if abs(x) > ZERO}
    repn = generate_standard_repn(cache.objectives[0].expr, quadratic=True)
    for v in {id(v): v for pair in repn.quadratic_vars for v in pair}.values():
        yield {id(v): 1.0}
        yield {id(v): -1.0}


def _is_descent_ray(cache: ModelCache, ray: dict[int, float]) -> bool:
    """Return whether the objective decreases along a ray from the model's values and all rows are satisfied."""
    for v in cache.variables:
        step = ray.get(id(v), 0.0)
        if (step > 0.0 and v.ub is not None) or (step < 0.0 and v.lb is not None):
            return False
    for ordered in cache.stated(pyo.SOSConstraint):
        if any(id(v) in ray and abs(v.value) <= ZERO for v in ordered.get_variables()):
            return False
    for row in cache.rows:
        moves = _along(row.body, ray)
        if moves is None or (row.has_ub() and max(moves) > 0.0) or (row.has_lb() and min(moves) < 0.0):
            return False
    objective = cache.objectives[0]
    moves = _along(objective.expr, ray)
    if moves is None:
        return False
    falls = moves if objective.sense == pyo.minimize else (-moves[0], -moves[1])
    return max(falls) <= 0.0 and min(falls) < 0.0


def _along(expression: Any, ray: dict[int, float]) -> tuple[float, float] | None:
    """Return the coefficients of t and t^2 along a ray; None if the expression is not quadratic along it."""
    repn = generate_standard_repn(expression, quadratic=True)
    if any(id(v) in ray for v in repn.nonlinear_vars):
        return None
    slopes = [c * ray.get(id(v), 0.0) for c, v in zip(repn.linear_coefs, repn.linear_vars, strict=True)]
    curvature = []
    for c, (v, w) in zip(repn.quadratic_coefs, repn.quadratic_vars, strict=True):
        a, b = ray.get(id(v), 0.0), ray.get(id(w), 0.0)
        slopes += [c * a * w.value, c * b * v.value]
        curvature.append(c * a * b)
    return _sum(slopes), _sum(curvature)


def _sum(terms: list[float]) -> float:
    total = float(sum(terms))
    return 0.0 if abs(total) <= ZERO * sum(map(abs, terms)) else total
