"""Rows that couple blocks: pooling problems of the literature, starts without a solution, and what is said of them."""

from dataclasses import replace

import pyomo.environ as pyo
import pytest

import solvers
from pooling import ADHYA_1, HAVERLY_1, POOLING, pooling
from solvers import SolutionStatus, SolverError
from solvers.drivers.alternating import problems
from solvers.interfaces.registry import Capability
from solvers.model.classes import violation

FOUND = (SolutionStatus.STATIONARY, SolutionStatus.FEASIBLE)


def blocks_of(model, order=1):
    return [[model.x, model.y, model.z], [model.q]][::order]


@pytest.mark.parametrize("order", [1, -1], ids=["flows first", "qualities first"])
@pytest.mark.parametrize("name", POOLING)
def test_pooling_problems_end_at_a_feasible_point_and_but_for_one_at_the_best(name, order):
    data = POOLING[name]
    model = pooling(data)
    result = solvers.solve(model, "alternating", blocks=blocks_of(model, order))
    assert result.status in FOUND
    assert violation(model) <= 1e-6
    assert result.objective == pytest.approx(pyo.value(model.cost))
    if data is ADHYA_1:
        assert data.optimum - 1e-3 <= result.objective <= 0.6 * data.optimum
        more = solvers.solve(model, "alternating", blocks=blocks_of(model, order), starts=20, seed=1)
        assert more.objective <= result.objective + 1e-3
    else:
        assert result.objective == pytest.approx(data.optimum, rel=1e-6)


def test_blocks_alone_are_held_fast():
    model = pooling(POOLING["adhya 4"])
    result = solvers.solve(model, "alternating", blocks=blocks_of(model), together=False)
    assert result.objective == pytest.approx(0.0, abs=1e-6)
    assert 'row "mixed[P,0]" couples two blocks' in result.message
    stuck = solvers.solve(model, "alternating", blocks=blocks_of(model, -1), together=False)
    assert stuck.status is SolutionStatus.NO_SOLUTION
    assert 'block "q" has no solution with the other variables fixed' in stuck.message


def test_what_must_be_delivered_is():
    data = replace(HAVERLY_1, least=50.0)
    whole = solvers.solve(pooling(data), "scip")
    for order in (1, -1):
        model = pooling(data)
        result = solvers.solve(model, "alternating", blocks=blocks_of(model, order))
        assert result.status in FOUND
        assert violation(model) <= 1e-6
        assert result.objective == pytest.approx(whole.objective, rel=1e-5)


def test_a_model_without_a_point_is_told_by_the_row_that_is_missed():
    products = {"X": (9, 100, [0.5]), "Y": (15, 200, [1.5])}  # no source is as clean
    model = pooling(replace(HAVERLY_1, products=products, least=10.0))
    result = solvers.solve(model, "alternating", blocks=blocks_of(model), starts=3)
    assert result.status is SolutionStatus.NO_SOLUTION
    assert "has no solution with the other variables fixed" in result.message
    assert "and the step over all blocks found no point: pounce" in result.message
    assert 'violates row "' in result.message


def test_integers_stay_and_are_named():
    model = pooling(HAVERLY_1)
    model.open = pyo.Var(domain=pyo.Binary, initialize=1)
    model.only = pyo.Constraint(expr=model.x["B", "P"] <= 300 * model.open)
    model.cost.set_value(model.cost.expr + 20 * model.open)
    result = solvers.solve(model, "alternating", blocks=[[model.x, model.y, model.z, model.open], [model.q]])
    assert result.status is SolutionStatus.FEASIBLE
    assert '"open" is integer' in result.message
    assert result.objective == pytest.approx(-380.0, rel=1e-6)
    assert model.open.value == 1.0


def test_without_a_local_solver_blocks_go_alone(monkeypatch):
    choose = problems.default_solver

    def none_of_nlp(needed):
        if needed == [Capability.NLP]:
            raise SolverError("none is installed")
        return choose(needed)

    monkeypatch.setattr(problems, "default_solver", none_of_nlp)
    model = pooling(HAVERLY_1)
    result = solvers.solve(model, "alternating", blocks=blocks_of(model))
    assert result.status is SolutionStatus.FEASIBLE
    assert 'row "mixed[P,0]" couples two blocks' in result.message


def test_a_row_over_two_blocks_no_longer_holds_them():
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, None), initialize=1), pyo.Var(bounds=(0, None), initialize=0)
    m.sum = pyo.Constraint(expr=m.x + m.y <= 1)
    m.cost = pyo.Objective(expr=(m.x - 1) ** 2 + (m.y - 1) ** 2)
    result = solvers.solve(m, "alternating", blocks=[m.x, m.y], starts=0, warm_start=True)
    assert result.objective == pytest.approx(0.5, abs=1e-6)
    assert any("together" in step for step in result.iterations["Step"])


def test_a_limit_within_a_step_returns_the_incumbent():
    model = pooling(HAVERLY_1)
    result = solvers.solve(model, "alternating", blocks=blocks_of(model), iteration_limit=2)
    assert result.stop_reason is solvers.StopReason.ITERATION_LIMIT
    assert violation(model) <= 1e-6
