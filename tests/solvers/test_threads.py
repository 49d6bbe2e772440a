"""Threads that read and solve separate models: the same results as one after the other."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.contrib.appsi.utils import collect_vars_and_named_exprs as appsi_parts
from pyomo.contrib.observer.component_collector import collect_components_from_expr
from pyomo.contrib.solver.common.util import collect_vars_and_named_exprs
from pyomo.core.expr.numeric_expr import LinearExpression
from pyomo.core.expr.visitor import identify_mutable_parameters, identify_variables
from pyomo.repn import generate_standard_repn
from scipy.optimize import linprog

import solvers
from solvers.interfaces.registry import find

THREADS = 3


@pytest.fixture
def restless():
    """Let threads take turns a thousand times as often."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def expressions(seed):
    """A model with a row of sums and products, and a dense row; its variables and parameters in order."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(6), initialize=float(seed))
    model.p = pyo.Param(range(6), initialize=1.0 + seed, mutable=True)
    model.x[5].fix(2.0)
    x, p = list(model.x.values()), list(model.p.values())
    row = sum(p[j] * x[j] for j in range(6)) + x[0] * x[1] + x[2] ** 2
    return model, row, LinearExpression(constant=seed, linear_coefs=[seed + 1.0 + j for j in range(6)], linear_vars=x)


def ids(found):
    return [id(one) for one in found]


def quadratic(row):
    return {(id(v), id(w)) for v, w in generate_standard_repn(row, quadratic=True).quadratic_vars}


def read_again_and_again(seed):
    """Read a model of this thread's by every reader; return the names of those that are wrong."""
    model, row, dense = expressions(seed)
    x, p = list(model.x.values()), list(model.p.values())
    model.blank = pyo.Var(range(2))
    unknown = model.blank[0] + model.blank[1]
    right = {
        "all variables": lambda: ids(identify_variables(row)) == ids(x),
        "free variables": lambda: ids(identify_variables(row, include_fixed=False)) == ids(x[:5]),
        "parameters": lambda: ids(identify_mutable_parameters(row)) == ids(p),
        "persistent interfaces": lambda: ids(collect_vars_and_named_exprs(row)[1]) == ids(x),
        "APPSI": lambda: ids(appsi_parts(row)[1]) == ids(x),
        "observers": lambda: set(ids(collect_components_from_expr(row)[1])) == set(ids(x)),
        "dense variables": lambda: ids(dense.linear_vars) == ids(x),
        "dense coefficients": lambda: dense.linear_coefs[0] == seed + 1.0,
        "dense constant": lambda: dense.constant == seed,
        "quadratic": lambda: quadratic(row) == {(id(x[0]), id(x[1])), (id(x[2]), id(x[2]))},
        "nonlinear": lambda: len(generate_standard_repn(row, quadratic=False).nonlinear_vars) == 3,
        "no value": lambda: pyo.value(unknown, exception=False) is None,
        "value": lambda: pyo.value(row, exception=True) == 5 * (1.0 + seed) * seed + 2 * (1.0 + seed) + 2 * seed**2,
    }
    wrong = set()
    for _ in range(40):
        for name, check in right.items():
            try:
                if not check():
                    wrong.add(name)
            except Exception as error:
                wrong.add(f"{name}: {type(error).__name__}")
    return wrong


@pytest.mark.filterwarnings("ignore")
def test_threads_that_read_different_models_do_not_mix_them(restless):
    with ThreadPoolExecutor(THREADS) as executor:
        assert set().union(*executor.map(read_again_and_again, range(12))) == set()


def test_a_dense_row_keeps_its_parts_when_another_is_read_in_between(monkeypatch):
    _, _, first = expressions(1)
    _, _, second = expressions(2)
    build, others = LinearExpression._build_cache, [second]

    def interrupted(row):
        build(row)
        if others:
            build(others.pop())  # as another thread does

    monkeypatch.setattr(LinearExpression, "_build_cache", interrupted)
    assert first.linear_coefs[0] == 2.0


def program(seed):
    """A linear program with sums of Pyomo's, and its optimum by scipy."""
    rng = np.random.default_rng(seed)
    A, c = rng.normal(size=(30, 40)), rng.normal(size=40)
    b = A @ rng.uniform(size=40) + rng.uniform(size=30)
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(40), bounds=(0, 10))
    model.rows = pyo.Constraint(range(30), rule=lambda m, i: sum(A[i, j] * m.x[j] for j in range(40)) <= b[i])
    model.cost = pyo.Objective(expr=sum(c[j] * model.x[j] for j in range(40)))
    return model, A, b, linprog(c, A_ub=A, b_ub=b, bounds=(0, 10)).fun


def missed(seed):
    """Solve a program; return what is wrong with the answer, None where nothing is."""
    model, A, b, optimum = program(seed)
    result = solvers.solve(model, "highs")
    x = np.array([v.value for v in model.x.values()], dtype=float)
    right = result.status.value == "optimal" and result.objective == pytest.approx(optimum, abs=1e-6)
    return None if right and (A @ x - b).max() < 1e-6 else (seed, result.status.value, result.objective, optimum)


def test_threads_that_solve_linear_programs_get_their_optima(restless):
    with ThreadPoolExecutor(THREADS) as executor:
        assert [said for said in executor.map(missed, range(15)) if said] == []


def test_a_solver_object_serves_one_thread_at_a_time(restless):
    highs = find("highs").make()

    def missed_by_object(seed):
        model, A, b, optimum = program(seed)
        result = solvers.solve(model, highs)
        x = np.array([v.value for v in model.x.values()], dtype=float)
        right = result.status.value == "optimal" and result.objective == pytest.approx(optimum, abs=1e-6)
        return None if right and (A @ x - b).max() < 1e-6 else (seed, result.status.value, result.objective, optimum)

    with ThreadPoolExecutor(THREADS) as executor:
        assert [said for said in executor.map(missed_by_object, range(12)) if said] == []
