"""Where Benders drivers cannot proceed, the message names solvers and drivers that solve the model."""

import re

import pyomo.environ as pyo
import pytest
from pyomo.gdp import Disjunction
from pyomo.mpec import Complementarity, complements

import solvers
from solvers import ModelError, OptionError, SolutionStatus
from solvers.interfaces.registry import SOLVERS

SCENARIOS = [1, 2]


def plant(first=pyo.Binary):
    """Two units x, and for each scenario amounts y and a shortage."""
    m = pyo.ConcreteModel("plant")
    m.x = pyo.Var([1, 2], domain=first, bounds=(0, 1))
    m.y, m.short = pyo.Var(SCENARIOS, [1, 2], bounds=(0, 10)), pyo.Var(SCENARIOS, bounds=(0, 20))
    m.capacity = pyo.Constraint(SCENARIOS, [1, 2], rule=lambda m, s, k: m.y[s, k] <= (3 + k) * m.x[k])
    m.demand = pyo.Constraint(SCENARIOS, rule=lambda m, s: m.y[s, 1] + m.y[s, 2] + m.short[s] >= 3 * s + 0.5)
    operation = sum(m.y[s, 1] + 1.5 * m.y[s, 2] + 4 * m.short[s] for s in SCENARIOS) / 2
    m.cost = pyo.Objective(expr=3 * m.x[1] + 4 * m.x[2] + operation)
    return m


def each(row):
    """Return a function that adds a row for each scenario."""

    def add(m):
        m.row = pyo.Constraint(SCENARIOS, rule=row)

    return add


def costs(term):
    """Return a function that adds a cost for each scenario."""

    def add(m):
        m.cost.expr += sum(term(m, s) for s in SCENARIOS)

    return add


def trucks(m):
    m.trucks = pyo.Var(SCENARIOS, domain=pyo.Integers, bounds=(0, 5))
    m.carried = pyo.Constraint(SCENARIOS, rule=lambda m, s: m.y[s, 1] + m.y[s, 2] <= 2 * m.trucks[s])
    m.cost.expr += 0.2 * sum(m.trucks.values())


def staged(m):
    trucks(m)
    m.stage = pyo.Suffix()
    m.stage[None], m.stage[m.x] = 1, 0


def extra(row):
    """Return a function that adds two variables for the master, which the row of ``row`` connects."""

    def add(m):
        m.u = pyo.Var([1, 2], bounds=(0, 3))
        m.least = pyo.Constraint(expr=m.u[1] + m.u[2] >= m.x[1] + m.x[2])
        m.row = pyo.Constraint(expr=row(m))
        m.cost.expr += m.u[1] + 2 * m.u[2]

    return add


def both(*parts):
    def add(m):
        for part in parts:
            part(m)

    return add


def sets(m):
    m.one = pyo.SOSConstraint(SCENARIOS, var=m.y, index={s: [(s, 1), (s, 2)] for s in SCENARIOS}, sos=1)


def conditions(m):
    m.one = Complementarity(SCENARIOS, rule=lambda m, s: complements(m.y[s, 1] >= 0, m.y[s, 2] >= 0))


def choices(m):
    m.one = Disjunction(
        SCENARIOS, rule=lambda m, s: [[m.y[s, 1] <= 1], [m.y[s, 2] ** 2 <= 1, m.y[s, 1] * m.y[s, 2] <= 1]]
    )


def reserve(m):
    m.reserve = pyo.Var(bounds=(0, 2))
    m.row = pyo.Constraint(SCENARIOS, rule=lambda m, s: m.short[s] <= 20 * m.reserve)
    m.cost.expr += m.reserve


FIRST = {"complicating": "x"}
CASES = {  # domain of the first stage, additions, options
    "integers": (pyo.Binary, trucks, FIRST),
    "integers by a suffix": (pyo.Binary, staged, {}),
    "integers, convex rows": (pyo.Binary, both(trucks, each(lambda m, s: m.y[s, 1] ** 2 <= 16)), FIRST),
    "integers, convex costs": (pyo.Binary, both(trucks, costs(lambda m, s: 0.1 * m.y[s, 1] ** 2)), FIRST),
    "integers, exponential rows": (pyo.Binary, both(trucks, each(lambda m, s: pyo.exp(m.y[s, 1] / 4) <= 2)), FIRST),
    "bilinear rows": (pyo.Binary, each(lambda m, s: m.y[s, 1] * m.y[s, 2] <= 4), {}),
    "bilinear rows of both parts": (pyo.Binary, each(lambda m, s: m.x[1] * m.y[s, 1] + m.y[s, 2] <= 4), {}),
    "bilinear costs": (pyo.Binary, costs(lambda m, s: 0.1 * m.y[s, 1] * m.y[s, 2]), {}),
    "bilinear costs of both parts": (pyo.Binary, costs(lambda m, s: m.x[1] * m.y[s, 1]), {}),
    "concave costs": (pyo.Binary, costs(lambda m, s: -0.05 * m.y[s, 1] ** 2), {}),
    "concave costs, continuous": (pyo.Reals, costs(lambda m, s: -0.05 * m.y[s, 1] ** 2), FIRST),
    "roots": (pyo.Binary, costs(lambda m, s: pyo.sqrt(m.y[s, 1] + 0.01)), {}),
    "roots, continuous": (pyo.Reals, costs(lambda m, s: pyo.sqrt(m.y[s, 1] + 0.01)), FIRST),
    "curved rows, continuous": (pyo.Reals, each(lambda m, s: pyo.sqrt(m.y[s, 1] + 1) <= 1.5), FIRST),
    "logarithms": (pyo.Binary, each(lambda m, s: pyo.log(1 + m.y[s, 1]) * m.y[s, 2] <= 4), {}),
    "absolute values": (pyo.Binary, each(lambda m, s: abs(m.y[s, 1] - m.y[s, 2]) >= 1), {}),
    "two sides": (pyo.Binary, each(lambda m, s: (1, m.y[s, 1] ** 2 + m.y[s, 2] ** 2, 20)), {}),
    "equations": (pyo.Binary, each(lambda m, s: m.y[s, 1] ** 2 + m.short[s] ** 2 == 9), {}),
    "no stages": (pyo.Reals, lambda m: None, {}),
    "no stages, convex costs": (pyo.Reals, costs(lambda m, s: 0.1 * m.y[s, 1] ** 2), {}),
    "no stages, convex rows": (pyo.Reals, each(lambda m, s: m.y[s, 1] ** 2 <= 9), {}),
    "no stages, exponential costs": (pyo.Reals, costs(lambda m, s: pyo.exp(m.y[s, 1] / 10)), {}),
    "a variable of neither part": (pyo.Binary, reserve, {**FIRST, "subproblem": ["y", "short"]}),
    "rows that are not coupling": (pyo.Binary, reserve, {"complicating": ["x", "reserve"], "coupling": "capacity"}),
    "ordered sets": (pyo.Binary, sets, {}),
    "ordered sets, curved": (pyo.Binary, both(sets, each(lambda m, s: pyo.exp(m.y[s, 1] / 4) <= 2)), {}),
    "complementarities": (pyo.Binary, conditions, {}),
    "disjunctions": (pyo.Binary, choices, {}),
    "a bilinear master": (pyo.Binary, extra(lambda m: m.u[1] * m.u[2] >= m.x[1]), {"complicating": ["x", "u"]}),
    "a convex master": (pyo.Binary, extra(lambda m: m.u[1] ** 2 <= 1.5), {"complicating": ["x", "u"]}),
    "an exponential master": (pyo.Binary, extra(lambda m: pyo.exp(m.u[1]) <= 3), {"complicating": ["x", "u"]}),
}  # fmt: skip


def build(name):
    """Return a model and its options."""
    first, add, options = CASES[name]
    m = plant(first)
    add(m)
    found = {k: [getattr(m, v) for v in ([of] if isinstance(of, str) else of)] for k, of in options.items()}
    return m, found


def test_absolute_values_by_scip(need):
    """Pyomo's interface has no entry for abs(x)."""
    m, _ = build("absolute values")
    assert solvers.solve(m, need("scip")).status is SolutionStatus.OPTIMAL


def refusals(name):
    """Yield the message of each driver that refuses a model, and the optimum; the other drivers must reach it."""
    best = solvers.solve(build(name)[0], "scip", gap=1e-7).objective
    for driver in ("benders", "branch-and-cut", *(["single-tree"] if SOLVERS["gurobi"].found else [])):
        m, options = build(name)
        try:
            result = solvers.solve(m, driver, **options)
        except (ModelError, OptionError) as error:
            yield str(error), best
        else:
            assert driver == "single-tree"  # gurobi solves quadratic masters
            assert result.objective == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize("name", CASES)
def test_each_name_in_a_refusal_solves_the_model(name):
    for message, best in dict(refusals(name)).items():
        master = re.search(r'use "(.*)" with master_solver="(.*?)"', message)
        whole = re.search(r"by name: (.*)\.", message)[1]
        proven, _, local = whole.partition(" (global), or ")
        runs = [(master[1], {"master_solver": master[2]})] if master else []
        runs += [(other, {}) for other in proven.split(" or ")]
        for other, own in runs:
            m, options = build(name)
            found = solvers.solve(m, other, **own, **(options if own else {}))
            assert found.status is SolutionStatus.OPTIMAL, other
            assert found.objective == pytest.approx(best, rel=2e-4), other
        for other in local.removesuffix(" (a stationary point)").replace('"', "").split(" or ") if local else ():
            assert solvers.solve(build(name)[0], other).status.value in ("stationary", "feasible", "optimal"), other


def test_a_variable_of_neither_part_is_named():
    m, options = build("a variable of neither part")
    with pytest.raises(ModelError, match=r"Give reserve to complicating= or subproblem="):
        solvers.solve(m, "benders", **options)
    options["complicating"].append(m.reserve)
    assert solvers.solve(m, "benders", **options).status is SolutionStatus.OPTIMAL
