"""Blocks with integers: integer L-shaped and combinatorial cuts, valid at every point; the whole model's answers."""

import itertools
import os

import numpy as np
import pyomo.environ as pyo
import pytest

import solvers
from solvers import ModelError, SolutionStatus
from solvers.drivers.benders.block_subproblem import BlockSubproblem
from solvers.drivers.benders.declared import structure_of
from solvers.drivers.benders.split import split
from solvers.interfaces.runner import SolveOptions

SOAK = float(os.environ.get("FSMODELS_SOAK", "1"))
N = 4


def staged(seed, *, recourse=True):
    """Return binaries x and two blocks, the first of which has integers; without recourse some x leave it no point."""
    rng = np.random.default_rng(seed)
    m = pyo.ConcreteModel(f"integers {seed}")
    m.x = pyo.Var(range(N), domain=pyo.Binary)
    m.y = pyo.Var([0, 1], range(3), bounds=(0, 6))
    m.y[0, 0].domain, m.y[0, 1].domain = pyo.Integers, pyo.Binary
    m.short = pyo.Var([0, 1], bounds=(0, None if recourse else 0))
    m.rows = pyo.ConstraintList()
    cost = [float(c) * x for c, x in zip(rng.integers(-3, 4, N), m.x.values(), strict=True)]
    for b in (0, 1):
        y = [m.y[b, k] for k in range(3)]
        for _ in range(2):
            a, t = rng.integers(-3, 5, 3), rng.integers(-4, 5, N)
            body = sum(float(c) * v for c, v in zip([*a, *t], [*y, *m.x.values()], strict=True)) + m.short[b]
            m.rows.add(body >= float(rng.integers(0, 5)) + 0.5)
        if not recourse and b == 0:
            m.rows.add(2 * y[0] + 2 * y[1] == 1 + m.x[0] + 2 * m.x[1])  # no integers where x[0] = 0
        cost += [float(k) * v for k, v in zip(rng.integers(-1, 6, 3), y, strict=True)] + [9.0 * m.short[b]]
    m.cost = pyo.Objective(expr=sum(cost))
    return m


def points():
    return [np.array(p, dtype=float) for p in itertools.product((0, 1), repeat=N)]


def values(m, terms):
    """Return the subproblem's value at every point, by HiGHS on the whole model; None without a solution."""
    found = []
    for point in points():
        for v, x in zip(m.x.values(), point.tolist(), strict=True):
            v.fix(x)
        result = solvers.solve(m, "highs", gap=1e-9)
        paid = sum(pyo.value(t) for t in terms)
        found.append(None if result.objective is None else result.objective - paid)
        m.x.unfix()
    return found


def assert_valid(seed, recourse, solver=None):
    m = staged(seed, recourse=recourse)
    parts = split(m, structure_of(m, complicating=m.x))
    sub, truth = BlockSubproblem(parts, solver, SolveOptions()), values(m, parts.master_terms)
    assert not sub.fractional
    for x, here in zip(points(), truth, strict=True):
        answer = sub.solve(x, 1e-9, None)
        assert (answer.value is None) == (here is None)
        if here is None:
            for cut in answer.infeasible:
                assert cut.at(x) > 0
                assert all(q is None or cut.at(p) <= 1e-7 for p, q in zip(points(), truth, strict=True))
            continue
        assert answer.value == pytest.approx(here, abs=1e-5)
        assert answer.cut.at(x) == pytest.approx(here, abs=1e-5)  # tight, beside the cut of the relaxation
        for cuts in (answer.cuts, answer.tight):
            for p, q in zip(points(), truth, strict=True):
                assert q is None or cuts.total().at(p) <= q + 1e-5


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("recourse", [True, False])
def test_cuts_are_valid_at_every_point(seed, recourse):
    assert_valid(seed, recourse)


def test_cuts_by_scip_are_valid_too(need):
    assert_valid(1, True, need("scip"))


@pytest.mark.slow
def test_cuts_of_many_models_with_integers_are_valid():
    for seed in range(max(1, round(25 * SOAK))):
        assert_valid(seed, bool(seed % 2))


@pytest.mark.parametrize("driver", ["benders", "branch-and-cut"])
def test_the_answer_is_the_whole_models(driver):
    for seed in range(6):
        m = staged(seed, recourse=seed % 2 == 0)
        whole = solvers.solve(m.clone(), "highs", gap=1e-9)
        result = solvers.solve(m, driver, complicating=m.x, gap=1e-7)
        assert result.status is whole.status
        if whole.objective is not None:
            assert result.objective == pytest.approx(whole.objective, abs=1e-5)
            assert result.bound == pytest.approx(whole.objective, abs=1e-5)


def test_a_set_without_solution_is_made_small():
    """x[0] alone decides whether the block has a point: the cut says x[0] = 1, and nothing of the rest."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(range(5), domain=pyo.Binary), pyo.Var(domain=pyo.Integers, bounds=(0, 9))
    m.parity = pyo.Constraint(expr=2 * m.y == 1 + m.x[0])
    m.all_held = pyo.Constraint(expr=m.y + sum(m.x.values()) <= 99)
    m.cost = pyo.Objective(expr=m.y + sum(m.x.values()))
    sub = BlockSubproblem(split(m, structure_of(m, complicating=m.x)), None, SolveOptions())
    (cut,) = sub.solve(np.zeros(5), 1e-9, None).infeasible
    assert cut.constant == 1.0
    assert cut.coefficients.tolist() == [-1.0, 0.0, 0.0, 0.0, 0.0]
    assert solvers.solve(m, "benders", complicating=m.x).objective == pytest.approx(2.0)


def test_the_master_keeps_its_point_while_a_block_with_integers_is_asked():
    """What bounds the block from below is found with x free: the incumbent is x as the master has it all the same."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var([0, 1], domain=pyo.Binary, initialize=0), pyo.Var(domain=pyo.Integers, bounds=(0, 9))
    m.need = pyo.Constraint(expr=2 * m.y >= 5 - 3 * m.x[0] - 2 * m.x[1])
    m.away = pyo.Constraint(expr=3 * m.y >= 1 - m.x[0] - m.x[1])
    m.cost = pyo.Objective(expr=m.y + 9 * m.x[0] + 9 * m.x[1])
    sub = BlockSubproblem(split(m, structure_of(m, complicating=m.x)), None, SolveOptions())
    assert sub.solve(np.zeros(2), 1e-9, None).value == pytest.approx(3.0)
    assert [v.value for v in m.x.values()] == [0.0, 0.0]


def test_a_block_whose_relaxation_has_no_end_may_have_no_point():
    m = pyo.ConcreteModel()
    m.x, m.y, m.free = pyo.Var(domain=pyo.Binary), pyo.Var(domain=pyo.Integers, bounds=(0, 9)), pyo.Var()
    m.odd = pyo.Constraint(expr=2 * m.y == 1 + 2 * m.x)
    m.low = pyo.Constraint(expr=m.free <= m.y)
    m.cost = pyo.Objective(expr=m.free + m.x)
    assert solvers.solve(m, "benders", complicating=m.x).status is SolutionStatus.INFEASIBLE
    m.odd.set_value(2 * m.y == 2 + 2 * m.x)
    assert solvers.solve(m, "benders", complicating=m.x).status is SolutionStatus.UNBOUNDED


def test_the_first_cut_of_a_block_with_integers_is_tight_however_high_its_value_without_cuts():
    """Nothing bounds eta before: its 0 is above the value, and says nothing of which cuts are violated."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(domain=pyo.Binary), pyo.Var(domain=pyo.Integers, bounds=(-9, 9))
    m.free, m.share = pyo.Var(), pyo.Var(bounds=(0, 1))
    m.no_point = pyo.Constraint(expr=m.share >= 3 * m.x)  # half-way either: no cut comes from the relaxed master
    m.half = pyo.Constraint(expr=2 * m.y >= -9 + m.x)
    m.low = pyo.Constraint(expr=m.free >= m.y)
    m.cost = pyo.Objective(expr=90 * m.x + 10 * m.free)
    result = solvers.solve(m, "benders", complicating=m.x, gap=1e-6)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(-40.0)


def test_the_relaxation_of_a_curved_block_with_integers_is_asked_without_them():
    m = pyo.ConcreteModel()
    m.x, m.y, m.b = pyo.Var(domain=pyo.Binary), pyo.Var(domain=pyo.Integers, bounds=(0, 9)), pyo.Var(domain=pyo.Binary)
    m.z = pyo.Var()
    m.tie = pyo.Constraint(expr=m.z >= m.y - m.x)
    m.cost = pyo.Objective(expr=(m.z - 0.5) ** 2 + (m.y - 1.4) ** 2 + (m.b - 3) ** 2 + m.x)
    sub = BlockSubproblem(split(m, structure_of(m, complicating=m.x)), None, SolveOptions())
    (lp,) = sub._lps
    y = dict(zip([v.name for v in sub.variables], lp._ask(np.array([1.0]), None).tolist(), strict=True))
    assert [y["y"], y["z"], y["b"]] == pytest.approx([1.4, 0.5, 1.0], abs=1e-4)
    assert (m.y.domain, m.b.domain) == (pyo.Integers, pyo.Binary)
    assert solvers.solve(m, "benders", complicating=m.x).objective == pytest.approx(0.25 + 0.16 + 4.0)


@pytest.mark.parametrize("domains", [*itertools.product([pyo.Integers, pyo.Reals], repeat=2)])
def test_constants_inside_terms_count_once(domains):
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(domain=pyo.Binary), pyo.Var([0, 1], bounds=(0, 9))
    for b in (0, 1):
        m.y[b].domain = domains[b]
    m.need = pyo.Constraint([0, 1], rule=lambda m, b: m.y[b] >= 2 - m.x)
    nothing = (0.0 * m.y[0] + 1) ** 2 + (0.0 * m.y[1] + 2) ** 2  # 5, in a term of each block
    m.cost = pyo.Objective(expr=5 * m.y[0] + 3 * m.y[1] + 2 * m.x + nothing)
    result = solvers.solve(m, "benders", complicating=m.x)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(5 + 3 + 2 + 5)


def test_what_no_cut_is_known_for_is_refused_by_name():
    m = staged(0)
    m.x[2].domain = pyo.Integers
    m.x[2].setub(3)
    with pytest.raises(ModelError, match=r'"y\[0,0\]" of the subproblem is integer, and "x\[2\]" of the master is not'):
        solvers.solve(m, "benders", complicating=m.x)
    assert "not 0/1" in solvers.explain_split(m, complicating=m.x).refused[0]
    m = staged(0)
    m.y[0, 0].setlb(None)
    m.free = pyo.Var()
    m.low = pyo.Constraint(expr=m.free <= m.y[0, 0])
    m.cost.set_value(m.cost.expr + m.free)
    result = solvers.solve(m, "benders", complicating=m.x)
    assert result.status in (SolutionStatus.UNBOUNDED, SolutionStatus.NO_SOLUTION)


def test_what_the_cuts_come_from_is_said():
    m = staged(0)
    said = repr(solvers.explain_split(m, complicating=m.x))
    assert "integer L-shaped" in said
    assert "multipliers of its linear program" in said
