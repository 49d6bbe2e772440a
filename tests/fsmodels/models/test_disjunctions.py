"""Disjunctions and logic of the user on the model of a builder: the right optimum, or an error."""

import itertools

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.gdp import Disjunction

import fsmodels as fs
import solvers
from solvers.model.classes import violation

LABELS = [1, 1, -1, -1, 1, -1]
BUILDERS = {
    "svm": lambda data: fs.svm.l2_svm(data, C=1.0),
    "fsp-m": lambda data: fs.fsp.fsp_m(data, C=1.0, max_features=1),
    "robust-lp": fs.svm.robust_lp,
    "gmeb": lambda data: fs.gmeb.primal(data, R_plus=1.0, R_minus=1.0),
}


def edited(build, disjunction):
    X = np.random.default_rng(0).normal(size=(6, 2)) * [1.0, 1e-6]  # columns in units of their own
    model = build(fs.Dataset.from_arrays(X, LABELS))
    w = model.w["x1"]
    w.setlb(-3.0)
    w.setub(3.0)
    if disjunction:
        model.far = Disjunction(expr=[[w >= 0.5], [w <= -0.5]])
    return model, w


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", BUILDERS)
def test_the_better_side_of_a_disjunction_of_a_weight(name):
    each = []
    for lower, upper in ((0.5, 3.0), (-3.0, -0.5)):
        model, w = edited(BUILDERS[name], False)
        w.setlb(lower)
        w.setub(upper)
        each.append(fs.solve(model, "scip").objective)
    model, w = edited(BUILDERS[name], True)
    result = fs.solve(model)
    assert result.objective == pytest.approx(min(each), rel=1e-4)
    assert abs(w.value) >= 0.5 - 1e-6


@pytest.mark.filterwarnings("ignore")
def test_no_point_outside_a_disjunction_is_reported_after_a_failure():
    model, _w = edited(lambda data: fs.gmeb.primal(data, R_plus=1.0, R_minus=1.0, form="quotient"), True)
    model.w["x2"].fix(0.0)
    try:
        result = fs.solve(model, "gurobi")  # takes no quotients
    except solvers.Error:
        return
    assert not result.has_solution or abs(pyo.value(model.w["x1"])) >= 0.5 - 1e-6


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("solver", [None, "scip", "gurobi", "benders"])
def test_contradictory_logic_is_infeasible(solver, need):
    need(solver)
    X = np.random.default_rng(0).normal(size=(6, 2))
    model = fs.fsp.fsp_lambda(fs.Dataset.from_arrays(X, LABELS), C=1.0, penalty=0.1)
    model.uses = pyo.BooleanVar(model.features)
    for j in model.features:
        model.uses[j].associate_binary_var(model.sigma[j])
    model.not_both = pyo.LogicalConstraint(expr=pyo.lnot(pyo.land(*model.uses.values())))
    model.both = pyo.Constraint(expr=pyo.quicksum(model.sigma.values()) >= 2)
    assert fs.solve(model, solver).status is fs.SolutionStatus.INFEASIBLE


LOGIC = {  # and its truth
    "land": (pyo.land, lambda x, y: x and y),
    "implies": (lambda x, y: x.implies(y), lambda x, y: y or not x),
    "exactly": (lambda x, y: pyo.exactly(1, x, y), lambda x, y: x != y),
    "nested": (lambda x, y: pyo.atleast(2, x, pyo.lnot(y), pyo.lor(x, y)), lambda x, y: x),
}


@pytest.mark.parametrize("name", LOGIC)
def test_the_violation_of_logic_is_that_of_its_binaries(name):
    stated, truth = LOGIC[name]
    model = pyo.ConcreteModel()
    model.binary = pyo.Var([0, 1], domain=pyo.Binary)
    model.Y = pyo.BooleanVar([0, 1], initialize=True)
    for k in model.Y:
        model.Y[k].associate_binary_var(model.binary[k])
    model.logic = pyo.LogicalConstraint(expr=stated(model.Y[0], model.Y[1]))
    for x, y in itertools.product([0, 1], repeat=2):
        model.binary[0], model.binary[1] = x, y
        assert violation(model) == (0.0 if truth(bool(x), bool(y)) else 1.0)
