"""Row generation on models that are no classifier's: robust rows, and polygons around a disc."""

import itertools

import numpy as np
import pyomo.environ as pyo
import pytest

import solvers
from solvers import ModelError, Separable, SolutionStatus, StopReason
from solvers.facts import Cuts, no_cuts

COST, SLACK = np.array([3.0, 2.0, 4.0]), np.array([0.4, 0.3, 0.5])


class Worst:
    """a.x <= 1 for every a between c - s and c + s at the corners: c.x + s.|x| <= 1, one row a corner."""

    def __init__(self):
        self.asked = 0

    def __deepcopy__(self, memo):
        return self

    def start(self):
        return no_cuts(3)

    def separate(self, point):
        self.asked += 1
        a = COST + np.where(point >= 0, SLACK, -SLACK)
        missed = float(a @ point) - 1.0
        return no_cuts(3) if missed <= 0 else Cuts(a[None], np.array([-np.inf]), np.array([1.0]), missed)

    def repair(self, point):
        return point / max(1.0, float((COST + np.where(point >= 0, SLACK, -SLACK)) @ point))


def robust(stated=False, integer=False, curved=True):
    """max of gains less a square, under the rows of every corner."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(3), bounds=(-2, 2), domain=pyo.Integers if integer else pyo.Reals)
    gain = 2 * m.x[0] + m.x[1] + 3 * m.x[2]
    m.gain = pyo.Objective(expr=gain - (sum(v**2 for v in m.x.values()) if curved else 0), sense=pyo.maximize)
    m.own = pyo.Constraint(expr=m.x[0] - m.x[1] <= 1.5)
    if stated:
        corners = [COST + SLACK * np.array(s) for s in itertools.product((-1, 1), repeat=3)]
        m.rows = pyo.Constraint(
            range(8), rule=lambda m, k: sum(float(a) * m.x[j] for j, a in enumerate(corners[k])) <= 1
        )
    else:
        Separable([m.x], [], [], Worst(), default_solver="row-generation", implicit="a separator").attach(m)
    return m


@pytest.mark.parametrize(("integer", "curved"), [(False, True), (False, False), (True, False)])
def test_the_optimum_of_the_model_with_all_rows(integer, curved):
    whole = solvers.solve(robust(True, integer, curved), "scip" if integer else "clarabel" if curved else "highs")
    model = robust(False, integer, curved)
    result = solvers.solve(model, gap=1e-7)
    assert result.solver == "row-generation"
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(whole.objective, rel=1e-5)
    assert result.bound >= whole.objective * (1 - 1e-6)
    assert all(bound >= whole.objective - 1e-6 for bound in result.iterations["Bound"])
    x = np.array([v.value for v in model.x.values()])
    assert COST @ x + SLACK @ np.abs(x) <= 1 + 1e-6
    assert not integer or all(v == round(v) for v in x)


def test_the_users_rows_are_honoured_and_the_model_is_left_as_it_was():
    found = []
    for stated in (False, True):
        m = robust(stated)
        m.pair = pyo.Constraint(expr=m.x[2] <= m.x[0])
        m.x[1].fix(0.25)
        found.append(solvers.solve(m, None if not stated else "clarabel", gap=1e-7).objective)
        assert m.x[1].value == 0.25
        assert {c.name for c in m.component_objects(pyo.Constraint)} == {"own", "pair"} | (
            {"rows"} if stated else set()
        )
    assert found[0] == pytest.approx(found[1], rel=1e-5)


def test_limits_and_clashes():
    result = solvers.solve(robust(), iteration_limit=1)
    assert result.stop_reason is StopReason.ITERATION_LIMIT
    m = robust()
    m.much = pyo.Constraint(expr=m.x[0] + m.x[1] + m.x[2] >= 1.9)
    assert solvers.solve(m).status is SolutionStatus.INFEASIBLE
    m = robust(curved=False)
    for v in m.x.values():
        v.setub(None), v.setlb(None)
    with pytest.raises(ModelError, match="unbounded with the rows so far"):
        solvers.solve(m)


def test_a_model_without_a_separator_is_refused():
    with pytest.raises(ModelError, match="Separable for rows that the model does not state"):
        solvers.solve(robust(stated=True), "row-generation")


def test_ctrl_c_returns_what_was_found(monkeypatch):
    asked = []

    def separate(self, point, plain=Worst.separate):
        asked.append(1)
        if len(asked) == 6:
            raise KeyboardInterrupt
        return plain(self, point)

    monkeypatch.setattr(Worst, "separate", separate)
    result = solvers.solve(robust(), gap=1e-9)
    assert result.stop_reason is StopReason.INTERRUPTED
    assert result.has_solution


class Bands:
    """Rows |x_j| <= 1 with two finite sides, in one row each."""

    def start(self):
        return no_cuts(2)

    def separate(self, point):
        off = np.flatnonzero(np.abs(point) > 1)
        missed = float(np.abs(point).max()) - 1
        return Cuts(np.eye(2)[off], -np.ones(len(off)), np.ones(len(off)), missed) if len(off) else no_cuts(2)

    def repair(self, point):
        return np.clip(point, -1, 1)


@pytest.mark.parametrize("cost", [(-1, -2), (1, 2), (-1, 2)])
def test_rows_with_two_finite_sides_are_taken_on_both(cost):
    m = pyo.ConcreteModel()
    m.x = pyo.Var([0, 1], bounds=(-2, 2))
    m.cost = pyo.Objective(expr=cost[0] * m.x[0] + cost[1] * m.x[1])
    Separable([m.x], [], [], Bands(), default_solver="row-generation", implicit="a separator").attach(m)
    result = solvers.solve(m)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(-3.0, rel=1e-6)
