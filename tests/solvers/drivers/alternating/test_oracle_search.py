"""The search over choices on a least-squares problem that has nothing to do with kernels, against all choices."""

import itertools

import numpy as np
import pyomo.environ as pyo
import pytest

from model_state import state
from solvers import ModelError, OracleBlock, OracleBlocks, SolutionStatus, StopReason, solve
from solvers.box.minimise import minimise, residual
from solvers.drivers.alternating.oracle_search import ChoiceRows
from solvers.facts import Moved
from solvers.interfaces.runner import Runner

A = np.random.default_rng(5).normal(size=(12, 5))
B = A @ np.array([1.0, 0.8, 0.0, 0.6, 0.3]) + 0.1 * np.random.default_rng(6).normal(size=12)


class Fit:
    """|A x - b|^2 + 0.05 sum x over x >= 0."""

    def value(self, x):
        off = A @ x - B
        return float(off @ off + 0.05 * x.sum()), 2 * A.T @ off + 0.05


def chosen(**facts):
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(5), domain=pyo.NonNegativeReals, initialize=0.5)
    model.s = pyo.Var(range(5), domain=pyo.Binary)
    model.fit = pyo.Objective(expr=sum((sum(A[i, j] * model.x[j] for j in range(5)) - B[i]) ** 2 for i in range(12))
                              + 0.05 * sum(model.x.values()))  # fmt: skip

    def step(x, inside):
        found = minimise(Fit(), x, inside.lower, inside.upper, method=inside.method, rows=inside.rows, tolerance=1e-7)
        return Moved.by(found, found.point, Fit().value(x)[0])

    def left(x, low, up, rows=None):
        here = (x, *Fit().value(x), low, up, 1.0)
        return residual(*here) if rows is None else rows.residual(*here)

    OracleBlocks(
        [model.x], [OracleBlock("x", step)], lambda x: Fit().value(x)[0], left, boxed=[model.x], rowed=[model.x],
        switches=list(zip(model.s.values(), model.x.values(), strict=True)), **facts,
    ).attach(model)  # fmt: skip
    return model


def on_choices(model):
    s = model.s
    model.pair = pyo.Constraint(expr=s[0] <= s[2])
    model.not_both = pyo.Constraint(expr=s[1] + s[3] <= 1)
    model.count = pyo.Var(domain=pyo.Integers, bounds=(0, 2))
    model.even = pyo.Constraint(expr=sum(s.values()) == 2 * model.count)


def allowed(s):
    return s[0] <= s[2] and s[1] + s[3] <= 1 and sum(s) % 2 == 0


def enumerated():
    best = np.inf
    for s in itertools.product([0, 1], repeat=5):
        if allowed(s):
            found = minimise(Fit(), np.zeros(5), np.zeros(5), np.where(s, np.inf, 0.0))
            best = min(best, found.value)
    return best


def test_choices_and_their_rows_end_at_the_enumerated_optimum_and_the_model_is_left_as_it_was():
    model = chosen()
    on_choices(model)
    before = state(model)
    result = solve(model, exchanges=10)
    s = [round(v.value) for v in model.s.values()]
    assert allowed(s)
    assert all(x.value == 0.0 for x, on in zip(model.x.values(), s, strict=True) if not on)
    assert result.status is SolutionStatus.FEASIBLE
    assert result.bound is None
    assert result.objective == pytest.approx(enumerated(), rel=1e-4)
    assert state(model) == before


def test_a_row_on_choice_and_point_holds():
    model = chosen()
    model.cap = pyo.Constraint(range(5), rule=lambda m, j: m.x[j] <= 0.7 * m.s[j])
    model.few = pyo.Constraint(expr=sum(model.s.values()) <= 2)
    solve(model)
    for x, s in zip(model.x.values(), model.s.values(), strict=True):
        assert x.value <= 0.7 * s.value + 1e-9
    assert sum(s.value for s in model.s.values()) <= 2


def test_a_row_on_the_point_and_a_continuous_variable_of_ones_own_is_refused():
    model = chosen()
    model.own = pyo.Var()
    model.row = pyo.Constraint(expr=model.own >= model.x[0])
    with pytest.raises(ModelError, match='row "row" was added'):
        solve(model)


def test_without_a_switch_a_row_on_other_variables_is_refused_as_before():
    model = chosen()
    model.structure.switches = []
    model.row = pyo.Constraint(expr=sum(model.s.values()) <= 2)
    with pytest.raises(ModelError, match='row "row" was added'):
        solve(model)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_no_further_program_is_solved_after_an_interruption_or_an_error(error, monkeypatch):
    model = chosen(trivial=np.zeros_like)
    on_choices(model)
    before, choose, raised, late = state(model), ChoiceRows.choose, [], []

    def watched(self, *words):
        late.extend(raised)
        return choose(self, *words)

    def callback(row):
        if row["Incumbent"] is not None:
            raised.append(row)
            raise error

    monkeypatch.setattr(ChoiceRows, "choose", watched)
    if error is KeyboardInterrupt:
        result = solve(model, callback=callback)
        assert result.stop_reason is StopReason.INTERRUPTED
        assert result.has_solution
        assert result.details["residual"] >= 0.0
    else:
        with pytest.raises(error):
            solve(model, callback=callback)
        assert state(model) == before
    assert raised
    assert not late


def test_no_program_takes_longer_than_the_time_that_is_left(monkeypatch):
    model, limits = chosen(), []
    on_choices(model)
    of_runner = Runner.solve

    def recorded(self, *words, time_limit=None, **options):
        limits.append(time_limit)
        return of_runner(self, *words, time_limit=time_limit, **options)

    monkeypatch.setattr(Runner, "solve", recorded)
    solve(model, time_limit=50)
    assert limits
    assert all(limit is not None and limit < 50 for limit in limits)
