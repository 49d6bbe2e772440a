"""Cuts by block: valid at every point of the first stage, tight at their own, however inexact the multipliers are."""

import itertools
import os

import numpy as np
import pyomo.environ as pyo
import pytest

import solvers
from solvers import ModelError, OptionError, SolutionStatus
from solvers.drivers.benders.block_subproblem import BlockSubproblem
from solvers.drivers.benders.declared import structure_of
from solvers.drivers.benders.in_out import grouping
from solvers.drivers.benders.split import split
from solvers.interfaces.runner import SolveOptions

SOAK = float(os.environ.get("FSMODELS_SOAK", "1"))
N = 3  # binaries of the first stage


def staged(seed, blocks=3, *, recourse=True):
    """Return binaries x and blocks y_b that nothing but x ties; without recourse some x leave a block no point."""
    rng = np.random.default_rng(seed)
    m = pyo.ConcreteModel(f"staged {seed}")
    m.x = pyo.Var(range(N), domain=pyo.Binary)
    m.y = pyo.Var(range(blocks), range(3), bounds=(0, None))
    m.z = pyo.Var(range(blocks), range(2))
    for z in m.z.values():
        z.setlb(float(rng.integers(-3, 0))), z.setub(float(rng.integers(1, 4)))
    m.short = pyo.Var(range(blocks), bounds=(0, None))
    m.rows = pyo.ConstraintList()
    cost = [float(c) * x for c, x in zip(rng.integers(-3, 6, N), m.x.values(), strict=True)]
    for b in range(blocks):
        mine = [m.y[b, k] for k in range(3)] + [m.z[b, k] for k in range(2)]
        for _ in range(3):
            a, t = rng.integers(-3, 4, 5), rng.integers(-4, 5, N) * (rng.random(N) < 0.7)
            body = sum(float(c) * v for c, v in zip(a, mine, strict=True))
            body += sum(float(c) * v for c, v in zip(t, m.x.values(), strict=True)) + (m.short[b] if recourse else 0)
            m.rows.add(body >= float(rng.integers(-3, 4)))
        m.rows.add(sum(mine[:3]) <= 9.0 + 3 * m.x[0])
        c = rng.integers(-2, 6, 5)
        cost += [float(k) * v for k, v in zip(c, mine, strict=True)] + [9.0 * m.short[b]]
        if rng.random() < 0.3:
            m.rows.add(m.z[b, 0] == m.z[b, 1] + m.x[1])
    m.cost = pyo.Objective(expr=sum(cost))
    return m


def asked(m, solver=None, threads=None):
    parts = split(m, structure_of(m))
    return BlockSubproblem(parts, solver, SolveOptions(threads=threads)), parts


def points():
    return [np.array(p, dtype=float) for p in itertools.product((0, 1), repeat=N)]


def values(m, sub):
    """Return q_b at every point, by HiGHS on the model of each block alone; None without a solution."""
    found = []
    for point in points():
        row = []
        for block in sub.blocks:
            alone = pyo.ConcreteModel()
            alone.rows = pyo.Reference(dict(enumerate([*block.rows, *block.coupling])), ctype=pyo.Constraint)
            alone.v = pyo.Reference(dict(enumerate(block.variables)), ctype=pyo.Var)
            alone.cost = pyo.Objective(expr=sum(block.terms) + 0 * block.variables[0])
            for v, value in zip(m.x.values(), point.tolist(), strict=True):
                v.fix(value)
            result = solvers.solve(alone, "highs")
            row.append(result.objective if result.status is SolutionStatus.OPTIMAL else None)
        found.append(row)
    m.x.unfix()
    return found


def assert_valid(sub, truth, places):
    scale = 1e-7
    for x in places:
        answer = sub.solve(x, 1e-9, None)
        if answer.cuts is not None:
            at_x = answer.cuts.at(x)
            assert answer.value == pytest.approx(at_x.sum(), abs=1e-6)  # tight at its own point
            assert answer.bound <= answer.value
            for point, row in zip(points(), truth, strict=True):
                for cut, q in zip(answer.cuts.at(point), row, strict=True):
                    assert q is None or cut <= q + scale * (1 + abs(q))
                if None not in row:
                    assert answer.cut.at(point) <= sum(row) + scale * (1 + abs(sum(row)))
        else:
            assert answer.infeasible
            for cut in answer.infeasible:
                assert cut.at(x) > 0
                for point, row in zip(points(), truth, strict=True):
                    assert None in row or cut.at(point) <= scale


def places(seed):
    rng = np.random.default_rng(seed)
    return [*points(), *rng.uniform(0, 1, (4, N))]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("recourse", [True, False])
def test_cuts_are_valid_at_every_point(seed, recourse):
    m = staged(seed, recourse=recourse)
    sub, _ = asked(m)
    truth = values(m, sub)
    assert sub.count >= 3
    assert_valid(sub, truth, places(seed))


@pytest.mark.parametrize("solver", ["clarabel", "gurobi", "glpk"])
def test_cuts_by_other_solvers_are_valid_too(solver, need):
    m = staged(2)
    sub, _ = asked(m, need(solver))
    assert_valid(sub, values(m, asked(m)[0]), points()[:3])


def shared(seed):
    """Return sites x whose capacity several y share: the rows y <= u x are implied, by optima, rows or bounds."""
    rng = np.random.default_rng(seed)
    m = pyo.ConcreteModel(f"shared {seed}")
    m.x, m.y = pyo.Var(range(N), domain=pyo.Binary), pyo.Var(range(N), range(4), bounds=(0, None))
    m.lost = pyo.Var(range(4), bounds=(0, None))
    need, use = rng.integers(1, 6, 4), rng.uniform(0.5, 2, (N, 4))
    for v in m.y.values():
        if rng.random() < 0.2:
            v.setub(float(rng.uniform(0.5, 4)))
    m.met = pyo.ConstraintList()
    for k in range(4):
        sent = sum(m.y[i, k] for i in range(N)) + m.lost[k]
        m.met.add([sent >= float(need[k]), sent == float(need[k])][rng.integers(2)])
        if rng.random() < 0.3:  # asks for more of y too: then an optimum may hold more than it needs
            m.met.add(m.y[0, k] - m.y[1, k] >= -float(rng.integers(0, 3)))
    room = rng.integers(4, 14, N)
    m.room = pyo.Constraint(
        range(N), rule=lambda m, i: sum(float(use[i, k]) * m.y[i, k] for k in range(4)) <= float(room[i]) * m.x[i]
    )
    cost = rng.uniform(-0.3, 4, (N, 4))
    m.cost = pyo.Objective(
        expr=sum(float(cost[i, k]) * m.y[i, k] for i in range(N) for k in range(4))
        + sum(9.0 * v for v in m.lost.values())
        + sum(3.0 * x for x in m.x.values())
    )
    return m


@pytest.mark.parametrize("seed", range(8))
def test_rows_that_a_binary_first_stage_implies_leave_every_value(seed):
    m = shared(seed)
    sub, _ = asked(m)
    truth = values(m, sub)
    for point, row in zip(points(), truth, strict=True):
        assert sub.solve(point, 1e-9, None).value == pytest.approx(sum(row), abs=1e-6)
    assert_valid(sub, truth, places(seed))


def test_rows_that_a_binary_first_stage_implies_make_a_weak_model_strong():
    rng, f, c = np.random.default_rng(1), range(6), range(10)
    need, cost = rng.integers(1, 9, 10), rng.uniform(1, 9, (6, 10))
    bounds = {}
    for strong in (False, True):
        m = pyo.ConcreteModel()
        m.open, m.y = pyo.Var(f, domain=pyo.Binary), pyo.Var(f, c, bounds=(0, None))
        m.met = pyo.Constraint(c, rule=lambda m, k: sum(m.y[i, k] for i in f) >= float(need[k]))
        m.room = pyo.Constraint(f, rule=lambda m, i: sum(m.y[i, k] for k in c) <= 25 * m.open[i])
        if strong:
            m.only = pyo.Constraint(f, c, rule=lambda m, i, k: m.y[i, k] <= float(need[k]) * m.open[i])
        shipped = sum(float(cost[i, k]) * m.y[i, k] for i in f for k in c)
        m.cost = pyo.Objective(expr=shipped + sum(20.0 * x for x in m.open.values()))
        result = solvers.solve(m, "benders")
        table = result.iterations
        bounds[strong] = table["Bound"][table["Step"] == "relaxed"].max()
        assert result.objective == pytest.approx(solvers.solve(m, "highs").objective, rel=1e-6)
        for v in m.open.values():  # a relaxed first stage implies no such row
            v.domain = pyo.UnitInterval
        whole = solvers.solve(m.clone(), "highs").objective
        assert solvers.solve(m, "benders", complicating=m.open, gap=1e-7).objective == pytest.approx(whole, rel=1e-6)
    assert bounds[False] == pytest.approx(bounds[True], rel=1e-4)


@pytest.mark.slow
def test_cuts_of_many_models_are_valid():
    for seed in range(max(1, round(60 * SOAK))):
        m = staged(seed, recourse=bool(seed % 3))
        sub, _ = asked(m)
        assert_valid(sub, values(m, sub), places(seed))
        m = shared(seed)
        sub, _ = asked(m)
        assert_valid(sub, values(m, sub), places(seed))


def test_multipliers_that_are_wrong_give_valid_cuts_all_the_same():
    """Weak duality: noise on the multipliers costs tightness and no validity."""
    m, rng = staged(4), np.random.default_rng(0)
    for v in m.y.values():
        v.setub(50)  # else a reduced cost of the wrong sign proves nothing
    m.short.setub(99) if hasattr(m.short, "setub") else [v.setub(99) for v in m.short.values()]
    sub, _ = asked(m)
    truth, rows = values(m, sub), sub.rows
    for _ in range(20):
        cuts = rows.cuts(rng.normal(size=len(rows.lower)))
        assert np.all(np.isfinite(cuts.constants))
        for point, row in zip(points(), truth, strict=True):
            assert np.all(cuts.at(point) <= np.array(row, dtype=float) + 1e-9)


def test_groups_are_sums_of_their_blocks():
    m = staged(1, blocks=5)
    sub, _ = asked(m)
    cuts = sub.solve(np.ones(N), 1e-9, None).cuts
    for how, count in (("multi", sub.count), ("single", 1), (2, 2), (99, sub.count)):
        groups = grouping(how, sub.count)
        assert groups.shape == (count, sub.count)
        together = cuts.grouped(groups)
        for x in points():
            assert together.at(x).sum() == pytest.approx(cuts.total().at(x))
    assert grouping("multi", 1001).shape == (200, 1001)


@pytest.mark.parametrize("cuts", ["multi", "single", 2])
@pytest.mark.parametrize("driver", ["benders", "branch-and-cut"])
def test_every_number_of_cuts_ends_at_the_optimum(cuts, driver):
    for seed in range(4):
        m = staged(seed, recourse=seed % 2 == 0)
        whole = solvers.solve(m.clone(), "highs")
        options = {"cuts": cuts} if driver == "benders" else {}
        result = solvers.solve(m, driver, gap=1e-7, **options)
        assert result.status is whole.status
        if whole.objective is not None:
            assert result.objective == pytest.approx(whole.objective, abs=1e-6)


@pytest.mark.parametrize("driver", ["benders", "branch-and-cut", "single-tree"])
def test_an_integer_variable_of_a_block_is_refused_by_name_with_a_solver_that_takes_it(driver):
    m = staged(0)
    m.z[1, 0].domain = pyo.Integers
    with pytest.raises(ModelError, match=r'"z\[1,0\]" of the subproblem is integer.*whole model by name: highs'):
        solvers.solve(m, driver, complicating=m.x)
    assert "is integer" in solvers.explain_split(m, complicating=m.x).refused[0]
    assert solvers.solve(m, "highs").status is SolutionStatus.OPTIMAL


def test_a_number_of_cuts_that_is_none_is_refused():
    for wrong in ("many", 0, 1.5):
        with pytest.raises(OptionError, match="cuts="):
            solvers.solve(staged(0), "benders", cuts=wrong)


def test_facility_location_ends_in_a_few_rounds(need):
    """Interior points' multipliers, which are of no vertex, stalled it."""
    rng = np.random.default_rng(0)
    m = pyo.ConcreteModel()
    m.open, m.share = pyo.Var(range(10), domain=pyo.Binary), pyo.Var(range(10), range(20), bounds=(0, None))
    m.served = pyo.Constraint(range(20), rule=lambda m, k: sum(m.share[i, k] for i in range(10)) == 1)
    m.only = pyo.Constraint(range(10), range(20), rule=lambda m, i, k: m.share[i, k] <= m.open[i])
    cost, price = rng.uniform(1, 9, (10, 20)), rng.uniform(5, 40, 10)
    shipped = sum(float(cost[i, k]) * m.share[i, k] for i in range(10) for k in range(20))
    m.cost = pyo.Objective(expr=shipped + sum(float(price[i]) * m.open[i] for i in range(10)))
    whole = solvers.solve(m, "highs").objective
    for sub in ("highs", "clarabel"):
        result = solvers.solve(m, "benders", sub_solver=need(sub))
        assert result.status is SolutionStatus.OPTIMAL
        assert result.objective == pytest.approx(whole, rel=1e-6)
        assert len(result.iterations) <= 20
