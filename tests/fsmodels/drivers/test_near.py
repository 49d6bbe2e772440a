"""Every choice within a share of the best, and proofs that stop at a cutoff: against every support."""

import os

import numpy as np
import pyomo.environ as pyo
import pytest

import fsmodels as fs
import solvers
from solvers import Memory, OptionError, SolutionStatus, StopReason

SOAK = float(os.environ.get("FSMODELS_SOAK", "1"))
SHARES = [0.0, 0.01, 0.05, 0.3, 2.0]


@pytest.fixture(scope="module")
def instances(make_data, values_of):
    made = {}

    def instance(seed, n):
        if (seed, n) not in made:
            data = make_data(30 + 5 * n, n, seed=seed)
            made[seed, n] = data, values_of(data)
        return made[seed, n]

    return instance


def random_model(data, values, rng, *, by_cuts):
    """A model with random rows and prices, and the cost of each support that it allows."""
    n = len(data.features)
    price = rng.choice([0.0, 0.3, 1.0], n)
    model = fs.fsp.fsp_lambda(data, penalty=dict(zip(data.features, price.tolist(), strict=True)))
    if by_cuts:
        model.structure.relaxation = None
    rows = [(np.ones(n), int(rng.integers(1, n + 1)))]
    rows += [(rng.integers(-2, 6, n), int(rng.integers(0, 9))) for _ in range(rng.integers(3))]
    sigma = list(model.sigma.values())
    model.rows = pyo.ConstraintList()
    for weights, limit in rows:
        model.rows.add(sum(float(w) * s for w, s in zip(weights, sigma, strict=True)) <= limit)
    allowed = {s: q + float(price @ s) for s, q in values.items() if all(w @ np.array(s) <= b for w, b in rows)}
    return model, allowed


def check(near, allowed, within):
    best = min(allowed.values())
    limit = best + within * abs(best)
    for found in near.choices:
        value = allowed[tuple(found.choice)]
        assert found.objective == pytest.approx(value, rel=1e-6)
        assert found.bound <= value * (1 + 1e-8)
    assert [c.objective for c in near.choices] == sorted(c.objective for c in near.choices)
    listed = {tuple(c.choice) for c in near.choices}
    assert len(listed) == len(near.choices)
    edge = 1e-6 * abs(limit)  # the accuracy of an answer
    assert listed >= {s for s, value in allowed.items() if value < min(near.below, limit) - edge}
    assert listed <= {s for s, value in allowed.items() if value <= limit + edge}


def compared(instances, seed):
    rng = np.random.default_rng(seed)
    data, values = instances(seed % 8, 5 + seed % 3)
    model, allowed = random_model(data, values, rng, by_cuts=seed % 4 == 3)
    within, most = float(rng.choice(SHARES)), int(rng.choice([1, 3, 1000]))
    memory = {"memory": Memory()} if seed % 2 else {}
    if memory and seed % 4 == 1:
        solvers.solve(model, "branch-and-cut", **memory)
    found = solvers.solve(model, "branch-and-cut", within=within, most_choices=most, **memory)
    near = found.details["near"]
    assert found.status is SolutionStatus.OPTIMAL
    assert found.objective == pytest.approx(min(allowed.values()), rel=1e-6)
    check(near, allowed, within)
    assert near.open == 0
    assert near.complete or len(near.choices) == most
    assert len(near.choices) <= most


@pytest.mark.parametrize("seed", range(16))
def test_the_choices_within_a_share_are_those_of_enumeration(instances, seed):
    compared(instances, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 100 + round(300 * SOAK)))
def test_the_choices_within_a_share_are_those_of_enumeration_on_many(instances, seed):
    compared(instances, seed)


def test_what_a_stopped_run_lists_is_right_and_says_what_may_be_missing(instances):
    data, values = instances(2, 8)
    model = fs.fsp.fsp_m(data, max_features=4)
    allowed = {s: q for s, q in values.items() if sum(s) <= 4}
    for limit in (1, 3, 6):
        found = solvers.solve(model, "branch-and-cut", within=0.3, iteration_limit=limit)
        near = found.details["near"]
        assert found.stop_reason is StopReason.ITERATION_LIMIT
        assert not near.complete
        assert near.open > 0
        check(near, allowed, 0.3)


def test_a_cutoff_that_nothing_beats_is_proven_and_one_that_is_beaten_does_no_harm(instances):
    data, values = instances(4, 7)
    best = min(q for s, q in values.items() if sum(s) <= 3)
    model = fs.fsp.fsp_m(data, max_features=3)
    above = solvers.solve(model, "branch-and-cut", cutoff=0.98 * best)
    assert above.bound >= 0.98 * best
    assert above.stop_reason is StopReason.CONVERGED
    assert "no objective is better than the cutoff" in above.message
    below = solvers.solve(model, "branch-and-cut", cutoff=1.02 * best)
    assert below.status is SolutionStatus.OPTIMAL
    assert below.objective == pytest.approx(best, rel=1e-4)
    assert below.message == ""


def test_a_cutoff_leaves_a_tree_that_later_runs_may_believe(instances):
    data, values = instances(5, 7)
    best = min(q for s, q in values.items() if sum(s) <= 3)
    model, memory = fs.fsp.fsp_m(data, max_features=3), Memory()
    solvers.solve(model, "branch-and-cut", cutoff=0.9 * best, memory=memory)
    found = solvers.solve(model, "branch-and-cut", memory=memory)
    assert found.status is SolutionStatus.OPTIMAL
    assert found.objective == pytest.approx(best, rel=1e-4)


def opening_costs(rng):
    """Facilities and clients, a model to be maximised, and what each choice earns, with its sign turned."""
    n, clients = 5, 4
    cost, gain = rng.integers(1, 9, n), rng.integers(1, 9, (n, clients))
    m = pyo.ConcreteModel()
    m.open = pyo.Var(range(n), domain=pyo.Binary)
    m.few = pyo.Constraint(expr=sum(m.open.values()) <= 3)
    m.some = pyo.Constraint(expr=sum(m.open.values()) >= 1)
    m.share = pyo.Var(range(n), range(clients), bounds=(0, 1))
    m.whole = pyo.Constraint(range(clients), rule=lambda m, k: sum(m.share[j, k] for j in range(n)) <= 1)
    m.only = pyo.Constraint(range(n), range(clients), rule=lambda m, j, k: m.share[j, k] <= m.open[j])
    earned = sum(float(gain[j, k]) * m.share[j, k] for j in range(n) for k in range(clients))
    m.profit = pyo.Objective(expr=earned - sum(float(cost[j]) * m.open[j] for j in range(n)), sense=pyo.maximize)
    choices = [tuple(map(float, np.binary_repr(k, n))) for k in range(2**n)]
    worth = {
        s: -float(gain[np.array(s) > 0].max(axis=0).sum() - cost @ s) for s in choices if 1 <= sum(s) <= 3
    }  # minimised
    return m, worth


@pytest.mark.parametrize("seed", range(6))
def test_a_foreign_model_that_maximises(seed):
    model, worth = opening_costs(np.random.default_rng(seed))
    found = solvers.solve(model, "branch-and-cut", complicating=[model.open], within=0.25)
    near, best = found.details["near"], min(worth.values())
    assert found.objective == pytest.approx(-best)
    assert near.complete
    expected = {s: w for s, w in worth.items() if w <= best + 0.25 * abs(best) + 1e-6}
    assert {tuple(c.choice) for c in near.choices} == set(expected)
    assert [c.objective for c in near.choices] == pytest.approx(sorted((-w for w in expected.values()), reverse=True))


def test_shares_that_mean_nothing_and_choices_that_cannot_be_listed_are_refused(instances):
    data, _ = instances(0, 5)
    model = fs.fsp.fsp_m(data, max_features=2)
    with pytest.raises(OptionError, match=r"within=-1 is not allowed"):
        solvers.solve(model, "branch-and-cut", within=-1)
    with pytest.raises(OptionError, match=r"most_choices=0 is not allowed"):
        solvers.solve(model, "branch-and-cut", within=0.1, most_choices=0)
    with pytest.raises(OptionError, match="one process lists the choices"):
        solvers.solve(model, "branch-and-cut", within=0.1, threads=2)
    m = pyo.ConcreteModel()
    m.x, m.y, m.z = pyo.Var(bounds=(0, 1)), pyo.Var(domain=pyo.Binary), pyo.Var(bounds=(0, 1))
    m.row = pyo.Constraint(expr=m.z >= m.x - m.y)
    m.cost = pyo.Objective(expr=m.z - m.x + m.y)
    with pytest.raises(solvers.ModelError, match="is continuous"):
        solvers.solve(m, "branch-and-cut", complicating=[m.x, m.y], within=0.1)
