"""The textbook models of the solver tests, and one fixture over the solvers by capability.

A test marked ``@pytest.mark.solver_with(Capability.X)`` takes the argument ``solver`` and runs once for each registered
solver that claims X; the only reason to skip is "not installed".
"""

from __future__ import annotations

import random
from types import SimpleNamespace

import pyomo.environ as pyo
import pytest
from pyomo.gdp import Disjunction
from pyomo.mpec import Complementarity, complements

from solvers.interfaces.registry import SOLVERS


def pytest_configure(config):
    config.addinivalue_line("markers", "solver_with(capability): once for each registered solver that claims it")


def pytest_generate_tests(metafunc):
    marker = metafunc.definition.get_closest_marker("solver_with")
    if marker is None:
        return
    able = [s for s in SOLVERS.values() if any(c in s.capabilities for c in marker.args)]
    metafunc.parametrize("solver", [pytest.param(s.name, marks=_skip(s)) for s in able])


def _skip(spec):
    return [] if spec.found else [pytest.mark.skip(reason=f"{spec.name} is not installed: {spec.install}")]


def lp():
    """Maximum 11 at (3, 1)."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, 3)), pyo.Var(bounds=(0, None))
    m.first = pyo.Constraint(expr=m.x + m.y <= 4)
    m.second = pyo.Constraint(expr=m.x + 3 * m.y <= 6)
    m.profit = pyo.Objective(expr=3 * m.x + 2 * m.y, sense=pyo.maximize)
    return m


def milp():
    """Maximum 21 at x = 4, y = 0; the relaxation has 21.33."""
    m = pyo.ConcreteModel()
    m.x, m.y = (pyo.Var(bounds=(0, 10), domain=pyo.Integers) for _ in range(2))
    m.first = pyo.Constraint(expr=6 * m.x + 4 * m.y <= 24)
    m.second = pyo.Constraint(expr=m.x + 2 * m.y <= 6)
    m.profit = pyo.Objective(expr=5 * m.x + 4 * m.y + 1, sense=pyo.maximize)
    return m


def qp(domain=pyo.Reals):
    """Minimum 1/2 at (1/2, 3/2); over the integers 1."""
    m = pyo.ConcreteModel()
    m.x, m.y = (pyo.Var(bounds=(-5, 5), domain=domain) for _ in range(2))
    m.row = pyo.Constraint(expr=m.x + m.y <= 2)
    m.distance = pyo.Objective(expr=(m.x - 1) ** 2 + (m.y - 2) ** 2)
    return m


def qcp(domain=pyo.Reals):
    """Maximum sqrt(6) of x + y in a disc of radius sqrt(3); with x an integer 1 + sqrt(2)."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(-5, 5), domain=domain), pyo.Var(bounds=(-5, 5))
    m.disc = pyo.Constraint(expr=m.x**2 + m.y**2 <= 3)
    m.sum = pyo.Objective(expr=m.x + m.y, sense=pyo.maximize)
    return m


def nonconvex():
    """Minimum -2 at (-1, 2) or (2, -1); a nonconvex QP."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(-1, 2), initialize=-0.5), pyo.Var(bounds=(-1, 2), initialize=1)
    m.row = pyo.Constraint(expr=m.x + m.y >= 1)
    m.product = pyo.Objective(expr=m.x * m.y)
    return m


def nlp(domain=pyo.Reals):
    """Minimum 2 - 2 log 2 at log 2; over the integers e - 2."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(-3, 3), domain=domain, initialize=0)
    m.cost = pyo.Objective(expr=pyo.exp(m.x) - 2 * m.x)
    return m


def sos():
    """Maximum 12 with one of three variables; 24 if the ordered set is ignored."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var([1, 2, 3], bounds=(0, 4))
    m.one = pyo.SOSConstraint(var=m.x, sos=1)
    m.sum = pyo.Objective(expr=m.x[1] + 2 * m.x[2] + 3 * m.x[3], sense=pyo.maximize)
    return m


def complementarity():
    """Maximum 5 at (5, 0): x >= 1, so that y must be 0; 8 if that is ignored."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, 5), initialize=1), pyo.Var(bounds=(0, 3), initialize=0)
    m.least = pyo.Constraint(expr=m.x >= 1)
    m.either = Complementarity(expr=complements(m.x >= 0, m.y >= 0))
    m.sum = pyo.Objective(expr=m.x + m.y, sense=pyo.maximize)
    return m


def disjunction():
    """Minimum 1 at x = 1: x >= 6, or 1 <= x <= 2; 0 if that is ignored."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 10))
    m.choice = Disjunction(expr=[[m.x >= 6], [m.x <= 2, m.x >= 1]])
    m.cost = pyo.Objective(expr=m.x)
    return m


def logical():
    """Minimum 5: the disjunction above, and a statement that costs 4 unless x is the large one; 1 if it is ignored."""
    m = disjunction()
    m.paid, m.price = pyo.BooleanVar(), pyo.Var(domain=pyo.Binary)
    m.paid.associate_binary_var(m.price)
    small = m.choice.disjuncts[1].indicator_var
    m.rule = pyo.LogicalConstraint(expr=small.implies(m.paid))
    m.cost.set_value(m.x + 4 * m.price)
    return m


def market_split(rows=6, columns=40, *, exact=True, sense=pyo.minimize):
    """Hard for its size: with ``exact`` no point is found for hours, otherwise a poor one at once; optimum >= 0."""
    r = random.Random(1)
    sizes = [[r.randrange(100) for _ in range(columns)] for _ in range(rows)]
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(columns), domain=pyo.Binary)
    m.over, m.under = pyo.Var(range(rows), bounds=(0, None)), pyo.Var(range(rows), bounds=(0, None))

    def split(m, i):
        return sum(a * m.x[j] for j, a in enumerate(sizes[i])) + m.over[i] - m.under[i] == sum(sizes[i]) // 2

    m.split = pyo.Constraint(range(rows), rule=split)
    if exact:
        m.over.fix(0), m.under.fix(0)
    slack = pyo.quicksum(m.over.values()) + pyo.quicksum(m.under.values())
    m.slack = pyo.Objective(expr=slack if sense == pyo.minimize else -slack, sense=sense)
    return m


@pytest.fixture(scope="session")
def textbook():
    """The models above, by name."""
    functions = (lp, milp, qp, qcp, nonconvex, nlp, sos, complementarity, disjunction, logical, market_split)
    return SimpleNamespace(**{f.__name__: f for f in functions})


@pytest.fixture
def line():
    """Minimum 2 at x = 2."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 5), initialize=4)
    m.row = pyo.Constraint(expr=m.x >= 2)
    m.cost = pyo.Objective(expr=m.x)
    return m
