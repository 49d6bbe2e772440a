"""Conic blocks: cuts and relaxations that are valid, perspectives, and optima equal to enumeration."""

import itertools
import os

import numpy as np
import pyomo.environ as pyo
import pytest
from scipy import sparse

import solvers
from convex_models import convex_model, enumerated
from solvers import SolutionStatus
from solvers.drivers.benders.block_subproblem import BlockSubproblem
from solvers.drivers.benders.declared import structure_of
from solvers.drivers.benders.perspective import diagonal_part
from solvers.drivers.benders.split import SplitModel, split
from solvers.drivers.branch_cut.branch_and_cut import BranchAndCut
from solvers.interfaces.runner import SolveOptions

SOAK = float(os.environ.get("FSMODELS_SOAK", "1"))


def rotated():
    """Return three binaries that switch quadratic terms by rotated cones."""
    m = pyo.ConcreteModel("rotated cones")
    m.b, m.x = pyo.Var(range(3), domain=pyo.Binary), pyo.Var(range(3))
    m.t = pyo.Var(range(3), bounds=(0, None))
    m.cone = pyo.Constraint(range(3), rule=lambda m, j: m.x[j] ** 2 <= m.t[j] * m.b[j])
    m.most = pyo.Constraint(expr=sum(m.b.values()) <= 2)
    linear = sum(c * m.x[j] for j, c in enumerate((1.0, -2.0, 0.5)))
    m.cost = pyo.Objective(expr=sum(m.t.values()) + linear + 0.1 * sum(m.b.values()))
    return m


def regression(p=6, most=2):
    """Return least squares with at most ``most`` coefficients, -10 z <= b <= 10 z."""
    rng = np.random.default_rng(3)
    A = rng.normal(size=(20, p))
    y = A @ np.linspace(1, 0, p) + 0.1 * rng.normal(size=20)
    m = pyo.ConcreteModel("regression")
    m.z, m.b = pyo.Var(range(p), domain=pyo.Binary), pyo.Var(range(p))
    m.above = pyo.Constraint(range(p), rule=lambda m, j: m.b[j] <= 10 * m.z[j])
    m.below = pyo.Constraint(range(p), rule=lambda m, j: m.b[j] >= -10 * m.z[j])
    m.most = pyo.Constraint(expr=sum(m.z.values()) <= most)
    m.cost = pyo.Objective(
        expr=sum((sum(float(A[i, j]) * m.b[j] for j in range(p)) - float(y[i])) ** 2 for i in range(20))
    )
    best = min(float(np.linalg.lstsq(A[:, s], y, rcond=None)[1].sum()) for s in itertools.combinations(range(p), most))
    return m, best


@pytest.mark.parametrize("driver", ["benders", "branch-and-cut"])
def test_regression_with_free_coefficients(driver):
    m, best = regression()
    result = solvers.solve(m, driver)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("driver", ["benders", "branch-and-cut"])
def test_rotated_cones(driver):
    result = solvers.solve(rotated(), driver)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(-1.0 - 0.25 + 0.2, rel=1e-6)  # min t + c x is -c^2 / 4 if b = 1


def test_a_perspective_is_exact_for_a_separable_objective():
    """The relaxation with perspectives of  sum of w_j (y_j - 1)^2 + f z_j,  0 <= y <= 2 z,  has integral optima."""
    m = pyo.ConcreteModel()
    m.z, m.y = pyo.Var(range(3), domain=pyo.Binary), pyo.Var(range(3), bounds=(0, None))
    m.link = pyo.Constraint(range(3), rule=lambda m, j: m.y[j] <= 2 * m.z[j])
    m.cost = pyo.Objective(expr=sum((j + 1) * (m.y[j] - 1) ** 2 + 1.5 * m.z[j] for j in range(3)))
    driver = BranchAndCut(m)
    lp = driver._lp
    found = driver.relaxation(lp.linear, lp.lower, lp.upper, accuracy=1e-8, enough=np.inf, time_limit=None)
    assert found.bound == pytest.approx(1.0 + 1.5 + 1.5, rel=1e-6)
    assert found.point == pytest.approx([0, 1, 1], abs=1e-4)


@pytest.mark.parametrize("size", [3, 8, 70])
def test_the_rest_of_a_quadratic_form_stays_convex(size):
    rng = np.random.default_rng(size)
    F = rng.normal(size=(size, size)) * 10.0 ** rng.uniform(-3, 3, size)
    P, allowed = F.T @ F, rng.random(size) < 0.7
    d = diagonal_part(sparse.csr_array(P), allowed)
    root = np.sqrt(np.diag(P))
    assert np.all(d[~allowed] == 0)
    assert np.all(d >= 0)
    assert np.linalg.eigvalsh((P - np.diag(d)) / np.outer(root, root))[0] > -1e-9


def test_an_infeasible_relaxation_is_proven():
    m = rotated()
    m.far = pyo.Constraint(expr=m.x[0] + m.x[1] >= 5)
    m.near = pyo.Constraint(expr=sum(m.t.values()) <= 1)
    result = solvers.solve(m, "branch-and-cut")
    assert result.status is SolutionStatus.INFEASIBLE


def test_an_integer_in_a_convex_block_is_rejected_by_name():
    m = rotated()
    m.k = pyo.Var(domain=pyo.Integers, bounds=(0, 3))
    m.row = pyo.Constraint(expr=m.x[0] <= m.k)
    complicating = list(m.b.values())
    with pytest.raises(solvers.ModelError, match='"k" of the subproblem is integer'):
        solvers.solve(m, "benders", complicating=complicating)


def assert_cuts_are_valid(seed):
    """Compare the cuts at some points with the values at all integer points."""
    m = convex_model(seed)
    parts = split(m, structure_of(m))
    block = BlockSubproblem(parts, None, SolveOptions())
    x = parts.structure.complicating
    places = [np.array(p, dtype=float) for p in itertools.product(*(range(v.lb, v.ub + 1) for v in x))]
    rng, low, up = np.random.default_rng(seed), *np.array([v.bounds for v in x], dtype=float).T
    answers = [block.solve(p, 1e-7, None) for p in [*places, *rng.uniform(low, up, (2, len(x)))]]
    values = [a.value for a in answers[: len(places)]]
    for answer in answers:
        cuts = answer.infeasible if answer.cuts is None else [answer.cut]
        for cut in cuts:
            for place, value in zip(places, values, strict=True):
                if value is not None:
                    most = value if answer.cuts is not None else 0.0
                    assert cut.at(place) <= most + 1e-5 * (1 + abs(most)) + 1e-9 * np.abs(cut.coefficients).max(
                        initial=0
                    )


def assert_answer_of_enumeration(seed, driver):
    truth, m = enumerated(convex_model(seed)), convex_model(seed)
    result = solvers.solve(m, driver, time_limit=60)
    if isinstance(truth, str):
        assert result.status.value == truth
    elif truth is not None:
        sign = 1.0 if m.cost.sense == pyo.minimize else -1.0
        assert result.status in (SolutionStatus.OPTIMAL, SolutionStatus.FEASIBLE)
        assert result.objective == pytest.approx(truth, rel=2e-4, abs=2e-6)
        assert result.bound is None or sign * result.bound <= sign * truth + 1e-5 * max(1, abs(truth))


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 7, 88, 153])
def test_random_models(seed):
    for driver in ("benders", "branch-and-cut"):
        assert_answer_of_enumeration(seed, driver)


@pytest.mark.parametrize("seed", [2, 3, 5, 6, 7, 88])
def test_cuts_of_random_models(seed):
    assert_cuts_are_valid(seed)


@pytest.mark.slow
def test_many_random_models():
    for seed in range(1000, 1000 + max(1, round(60 * SOAK))):
        for driver in ("benders", "branch-and-cut"):
            assert_answer_of_enumeration(seed, driver)


def test_the_explanation_names_the_source_of_the_cuts():
    split_of = solvers.explain_split(rotated())
    assert split_of.refused == []
    assert {part.cuts for part in split_of.blocks} == {"multipliers of a cone program"}


def test_integers_of_a_subproblem_are_rejected_with_one_search_for_other_solvers(monkeypatch):
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(domain=pyo.Binary), pyo.Var(range(30), domain=pyo.Integers, bounds=(0, 5))
    m.row = pyo.Constraint(range(30), rule=lambda m, k: m.x + m.y[k] >= 2)
    m.cost = pyo.Objective(expr=3 * m.x + sum(m.y.values()))
    searches = []
    monkeypatch.setattr(SplitModel, "solvers", lambda *_, **__: searches.append(1) or "highs")
    with pytest.raises(solvers.ModelError, match="by name: highs"):
        solvers.solve(m, "benders", complicating=m.x)
    assert len(searches) <= 2


def test_multipliers_are_moved_into_the_dual_cones():
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(domain=pyo.Binary), pyo.Var([0, 1], bounds=(0.1, 4))
    m.cost = pyo.Objective(expr=m.y[1] ** 1.5 + m.y[0] * pyo.log(m.y[0] / m.y[1]))
    m.row = pyo.Constraint(expr=pyo.exp(m.y[0] - m.x) + m.y[1] <= 5)
    cones = BlockSubproblem(split(m, structure_of(m)), None, SolveOptions()).rows
    rng, (power, exponents) = np.random.default_rng(0), cones.powers
    assert (len(cones.exponentials), len(power)) == (2, 1)
    p = float(exponents[0])
    for _ in range(200):
        z = cones.in_dual_cone(rng.normal(size=len(cones.side)))
        a, b = np.exp(rng.normal(0, 3, (2, 500)))
        t = rng.normal(0, 4, 500)
        for k in cones.exponentials.tolist():
            assert np.all(z[k : k + 3] @ [b * t, b, b * np.exp(t) + rng.exponential(size=500)] >= -1e-9 * (b + a))
        for sign in (1, -1):
            product = z[power[0] : power[0] + 3] @ [a, b, sign * a**p * b ** (1 - p)]
            assert np.all(product >= -1e-9 * (a + b))


@pytest.mark.parametrize("driver", ["benders", "branch-and-cut"])
def test_a_sparse_entropy_with_an_unbounded_slope_at_0(driver):
    """Tangents do not exist at the optimum of the block, where most shares are 0."""
    rng, n = np.random.default_rng(0), 8
    gain, fee = rng.normal(size=n), rng.uniform(0, 1, n)
    m = pyo.ConcreteModel()
    m.z, m.w = pyo.Var(range(n), domain=pyo.Binary), pyo.Var(range(n), bounds=(0, 1))
    m.link = pyo.Constraint(range(n), rule=lambda m, j: m.w[j] <= m.z[j])
    m.one, m.most = pyo.Constraint(expr=sum(m.w.values()) == 1), pyo.Constraint(expr=sum(m.z.values()) <= 3)
    entropy = sum(w * pyo.log(w) for w in m.w.values())
    m.cost = pyo.Objective(
        expr=entropy
        + sum(float(f) * z - float(g) * w for f, g, z, w in zip(fee, gain, m.z.values(), m.w.values(), strict=True))
    )
    # min { sum w log(w) - g w : sum w = 1 } = -log(sum exp(g)) over the selected columns
    best = min(
        float(fee[list(s)].sum() - np.log(np.exp(gain[list(s)]).sum()))
        for size in (1, 2, 3)
        for s in itertools.combinations(range(n), size)
    )
    result = solvers.solve(m, driver, gap=1e-6)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(best, abs=1e-5)
    assert result.bound <= best + 1e-6
