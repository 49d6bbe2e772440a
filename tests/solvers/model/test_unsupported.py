"""Every driver with every kind of component: unsupported components are rejected by name."""

import logging

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.contrib.piecewise import PiecewiseLinearFunction
from pyomo.contrib.pynumero.interfaces.external_grey_box import ExternalGreyBoxBlock
from pyomo.dae import ContinuousSet, DerivativeVar
from pyomo.gdp import Disjunct, Disjunction
from pyomo.mpec import Complementarity, complements
from pyomo.network import Arc, Port
from scipy import sparse

import solvers
from solvers.drivers.catalogue import DRIVERS
from solvers.errors import Error
from solvers.facts.blocks import Moved, OracleBlock, OracleBlocks
from solvers.facts.composite import CompositeRisk, RiskRow
from solvers.facts.separable import Cuts, Separable, no_cuts
from solvers.interfaces.registry import SOLVERS


def plain():
    """Minimum -6 of -x - 2y at (2, 2)."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, 2), initialize=1.0), pyo.Var(bounds=(0, 2), initialize=1.0)
    m.row = pyo.Constraint(expr=m.x + m.y <= 10)
    m.cost = pyo.Objective(expr=-m.x - 2 * m.y)
    return m


def by_oracle():
    """The same without its row, solved by a function."""
    m = plain()
    del m.row
    value = lambda x: -x[0] - 2 * x[1]  # noqa: E731
    step = lambda x, inside: Moved(inside.upper.copy(), value(x), value(inside.upper))  # noqa: E731
    OracleBlocks([m.x, m.y], [OracleBlock("up", step)], value, lambda x, low, up: 0.0, boxed=[m.x, m.y]).attach(m)
    return m


def by_risk():
    """The same as -x - 2y over a squared norm at most what two layers allow; nobody needs its optimum."""
    m = pyo.ConcreteModel()
    m.w, m.risk = pyo.Var([0, 1]), pyo.Var(domain=pyo.NonNegativeReals)
    m.omega = pyo.Var(domain=pyo.NonNegativeReals)
    m.cost = pyo.Objective(expr=m.omega + m.risk)
    m.x, m.y = pyo.Reference(m.w[0]), pyo.Reference(m.w[1])

    def load(columns, w, d, risk):
        m.w.set_values({0: 0.0, 1: 0.0} | dict(zip(columns.tolist(), w.tolist(), strict=True)))
        m.omega.set_value(0.5 * float(w @ w)), m.risk.set_value(risk)

    def worst(v):
        i = int(np.argmax(1 - v))
        u = np.zeros(2)
        u[i] = 1.0
        return RiskRow(u, 1.0)

    CompositeRisk(sparse.csr_array(np.eye(2)), worst, 2, 1.0, load).attach(m)
    return m


class RowToFind:
    """x + y <= 10, in twice as many words."""

    def start(self):
        return no_cuts(2)

    def separate(self, point):
        over = float(point.sum()) - 10.0
        return Cuts(-np.ones((1, 2)), np.array([-10.0]), np.array([np.inf]), over) if over > 0 else no_cuts(2)

    def repair(self, point):
        return None


def by_rows():
    """The same without its row, which a separator stands for."""
    m = plain()
    del m.row
    Separable([m.x, m.y], [], [], RowToFind(), implicit="a separator, by this builder").attach(m)
    return m


def bound(m, v):
    v.setub(1)


def row(m, v):
    m.extra = pyo.Constraint(expr=v <= 1)


def row_list(m, v):
    m.extra = pyo.ConstraintList()
    m.extra.add(v <= 3)
    m.extra.add(v <= 1)


def row_in_blocks(m, v):
    m.extra = pyo.Block([1, 2])
    m.extra[2].inner = pyo.Block()
    m.extra[2].inner.row = pyo.Constraint(expr=v <= 1)


def reference_to_row(m, v):
    row_in_blocks(m, v)
    m.again = pyo.Reference(m.extra[2].inner.row)


def fixing(m, v):
    v.fix(1)


def integer(m, v):
    v.setub(1.5)
    v.domain = pyo.Integers


def gaps(m, v):
    m.levels = pyo.Set(initialize=[0, 0.5, 1])
    v.domain = m.levels


def disjunction(m, v):
    m.extra = Disjunction(expr=[[v <= 1], [v <= 0.5]])


def disjunction_in_block(m, v):
    m.inner = pyo.Block()
    m.inner.extra = Disjunction(expr=[[v <= 1], [v <= 0.5]])


def lone_disjunct(m, v):
    m.extra = Disjunct()
    m.extra.row = pyo.Constraint(expr=v <= 1)
    m.extra.indicator_var.fix(True)


def logical(m, v):
    m.b, m.flag = pyo.Var(domain=pyo.Binary), pyo.BooleanVar()
    m.flag.associate_binary_var(m.b)
    m.link = pyo.Constraint(expr=v <= 2 - m.b)
    m.extra = pyo.LogicalConstraint(expr=m.flag)


def logical_list(m, v):
    m.b, m.flag = pyo.Var(domain=pyo.Binary), pyo.BooleanVar()
    m.flag.associate_binary_var(m.b)
    m.link = pyo.Constraint(expr=v <= 2 - m.b)
    m.extra = pyo.LogicalConstraintList()
    m.extra.add(m.flag)


def complementarity(m, v):
    m.slack = pyo.Var(bounds=(0, 5))
    m.extra = Complementarity(expr=complements(m.slack >= 0, v <= 1))


def ordered_set(m, v):
    m.pair = pyo.Var([0, 1], bounds=(0, 1))
    m.pair[0].setlb(1)
    m.link = pyo.Constraint(expr=v <= 1 + m.pair[1])
    m.extra = pyo.SOSConstraint(var=m.pair, sos=1)


def piecewise(m, v):
    m.z = pyo.Var(bounds=(0, 1))
    v.setlb(0), v.setub(2)
    m.extra = pyo.Piecewise(m.z, v, pw_pts=[0, 0.5, 2], f_rule=[0, 0.5, 2], pw_constr_type="EQ", pw_repn="SOS2")


def piecewise_function(m, v):
    m.extra = PiecewiseLinearFunction(points=[0, 1, 2], function=lambda x: x)
    m.link = pyo.Constraint(expr=m.extra(v) <= 1)


def arc(m, v):
    m.z = pyo.Var(bounds=(0, 1))
    m.start, m.end = Port(initialize={"flow": m.z}), Port(initialize={"flow": v})
    m.extra = Arc(source=m.start, destination=m.end)


def derivative(m, v):
    m.t = ContinuousSet(bounds=(0, 1))
    m.z = pyo.Var(m.t, bounds=(0, 1))
    m.extra = DerivativeVar(m.z)
    m.link = pyo.Constraint(expr=v <= 1 + m.extra[0] ** 2)


def grey_box(m, v):
    m.extra = ExternalGreyBoxBlock()


def second_objective(m, v):
    m.extra = pyo.Objective(expr=v)


def no_objective(m, v):
    m.cost.deactivate()


def sense(m, v):
    m.cost.sense = pyo.maximize


def other_objective(m, v):
    m.cost.deactivate()
    m.extra = pyo.Objective(expr=sum(v for v in m.component_data_objects(pyo.Var, descend_into=False)))


def expression(m, v):
    m.cost.set_value(m.cost.expr + 2 * v)


def switched_off(m, v):
    m.extra = Disjunction(expr=[[v <= 1], [v <= 0.5]])
    m.extra.deactivate()


CAPPED = {"x": -5.0, "y": -4.0}
SAME = {"x": -6.0, "y": -6.0}
KINDS = {  # edit: the optimum where it acts on x and on y; what a refusal names
    bound: (CAPPED, '"x"|"y"|w['),
    fixing: (CAPPED, '"x"|"y"|w['),
    row: (CAPPED, "extra"),
    row_list: (CAPPED, "extra"),
    row_in_blocks: (CAPPED, "extra"),
    reference_to_row: (CAPPED, "extra"),
    integer: (CAPPED, '"x"|"y"|w[|MILP'),
    gaps: (CAPPED, '"x"|"y"|w['),
    disjunction: (CAPPED, "extra|Disjunction"),
    disjunction_in_block: (CAPPED, "extra|Disjunction"),
    lone_disjunct: (CAPPED, "extra"),
    logical: (CAPPED, 'extra|LogicalConstraint|"b"'),  # b is binary, and of the subproblem where x complicates
    logical_list: (CAPPED, 'extra|LogicalConstraint|"b"'),
    complementarity: (CAPPED, "extra|Complementarity"),
    ordered_set: (CAPPED, "extra|SOS"),
    piecewise: (CAPPED, "extra|SOS"),
    piecewise_function: (CAPPED, "extra"),
    arc: (CAPPED, "extra"),
    derivative: (None, "extra"),
    grey_box: (None, "extra"),
    second_objective: (None, "extra"),
    no_objective: (None, "objective"),
    sense: ({"x": 0.0, "y": 0.0}, "cost"),
    other_objective: ({"x": 0.0, "y": 0.0}, "extra|cost"),
    expression: ({"x": -4.0, "y": -2.0}, "cost"),
    switched_off: (SAME, "extra_disjuncts"),  # a disjunct stays active: solvers that refuse it may, drivers do not
}
CALLS = {
    "benders": (plain, lambda m: {"complicating": m.x}),
    "branch-and-cut": (plain, lambda m: {"complicating": m.x}),
    "single-tree": (plain, lambda m: {"complicating": m.x}),
    "sla": (plain, lambda m: {}),
    "alternating": (plain, lambda m: {"blocks": [[v] for v in m.component_data_objects(pyo.Var)]}),
    "multi-start": (plain, lambda m: {}),
    "cutting-plane": (plain, lambda m: {}),
    "two-layer": (by_risk, lambda m: {}),
    "row-generation": (by_rows, lambda m: {}),
    "functions": (by_oracle, lambda m: {}),
    "highs": (plain, lambda m: {}),
    "scip": (plain, lambda m: {}),
    "clarabel": (plain, lambda m: {}),
    "pounce": (plain, lambda m: {}),
}


def test_every_driver_is_in_the_table():
    assert set(CALLS) >= set(DRIVERS)


@pytest.mark.parametrize("name", ["x", "y"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("call", CALLS)
def test_what_is_not_honoured_is_refused_by_name(call, kind, name, caplog):
    if call == "single-tree" and not SOLVERS["gurobi"].found:
        pytest.skip("gurobi is not installed")
    caplog.set_level(logging.CRITICAL, logger="pyomo")
    build, options = CALLS[call]
    m = build()
    kind(m, next(iter(getattr(m, name).values())))
    optimum, named = KINDS[kind]
    solver = "alternating" if call == "functions" else call
    try:
        result = solvers.solve(m, solver, **options(m))
    except Error as error:
        refusal = str(error)
    else:
        refusal = ""
    if refusal:
        assert kind is not switched_off or call not in DRIVERS
        assert any(word in refusal for word in named.split("|")), refusal
    elif build is by_risk:
        assert kind is switched_off
    else:
        assert optimum is not None, result
        assert result.objective == pytest.approx(optimum[name], abs=1e-4), result
