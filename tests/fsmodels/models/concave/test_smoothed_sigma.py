"""FSV, FSS and FSB with rows on features: every answer keeps them, and enumeration knows the optimum."""

import itertools

import numpy as np
import pyomo.environ as pyo
import pytest

import fsmodels as fs
from solvers import ModelError, SolutionStatus
from solvers.model.classes import violation

PENALTY = 0.1
BUILDERS = {"fsv": fs.concave.fsv, "fss": fs.concave.fss}
COSTS = {"x1": 3.0, "x2": 1.0, "x3": 2.0, "x4": 1.0}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(14, 4))
    y = np.where(X @ [1.0, 1.0, -0.5, 0.0] + 0.7 * rng.normal(size=14) > 0, 1, -1)
    return fs.Dataset.from_arrays(X, y).scaled("standard")


def state(model, rows):
    side = fs.side_constraints
    if rows == "budget":
        model.budget = side.budget(model, COSTS, 3.0)
    elif rows == "pair":
        model.needs, model.one = side.requires(model, "x1", "x4"), side.excludes(model, "x2", "x3")
    elif rows == "group":
        model.group, model.some = side.all_or_none(model, ["x1", "x3"]), side.at_least(model, ["x2", "x4"], 1)
    elif rows == "force":
        model.wanted, model.unwanted = side.force_in(model, "x4"), side.force_out(model, "x1")
    else:
        model.pairs = pyo.Var(domain=pyo.Integers, bounds=(0, 2))
        model.even = pyo.Constraint(expr=sum(model.sigma.values()) == 2 * model.pairs)


ALLOWED = {
    "budget": lambda s: sum(COSTS[j] for j in s) <= 3,
    "pair": lambda s: ("x1" not in s or "x4" in s) and not {"x2", "x3"} <= s,
    "group": lambda s: ("x1" in s) == ("x3" in s) and bool(s & {"x2", "x4"}),
    "force": lambda s: "x4" in s and "x1" not in s,
    "even": lambda s: len(s) % 2 == 0,
}


def enumerated(build, data, rows):
    """The least objective over all supports that the rows allow, each solved whole by scip."""
    supports = itertools.chain.from_iterable(itertools.combinations(data.features, k) for k in range(5))
    allowed = [set(s) for s in supports if ALLOWED[rows](set(s))]
    largest = [s for s in allowed if not any(s < other for other in allowed)]  # others are within these
    found = []
    for support in largest:
        model = build(data, penalty=PENALTY)
        for j in set(data.features) - support:
            model.w[j].fix(0.0)
        found.append(fs.solve(model, "scip").objective)
    return min(found)


@pytest.mark.parametrize("rows", ALLOWED)
@pytest.mark.parametrize("name", BUILDERS)
def test_rows_on_sigma_are_kept_and_the_enumerated_optimum_is_met(name, rows, data):
    model = BUILDERS[name](data, penalty=PENALTY, sigma=True)
    state(model, rows)
    result = fs.solve(model)
    assert ALLOWED[rows](set(result.selected))
    assert all(model.w[j].value == 0.0 for j in data.features if j not in result.selected)
    assert violation(model) <= 1e-9
    assert result.solver == "sla"
    assert result.status is SolutionStatus.STATIONARY
    assert result.bound is None
    assert result.objective == pytest.approx(enumerated(BUILDERS[name], data, rows), rel=1e-6)


@pytest.mark.parametrize("name", BUILDERS)
def test_without_rows_sigma_says_which_weights_there_are(name, data):
    plain, chosen = BUILDERS[name](data, penalty=PENALTY), BUILDERS[name](data, penalty=PENALTY, sigma=True)
    results = fs.solve(plain), fs.solve(chosen)
    assert results[1].objective <= results[0].objective + 1e-9
    assert set(results[1].selected) == {j for j in data.features if chosen.w[j].value}


@pytest.mark.parametrize("name", BUILDERS)
def test_a_budget_on_the_steps_is_left_to_another_solver(name, data):
    model = BUILDERS[name](data, penalty=PENALTY)
    least = 0.0 if name == "fsv" else 0.5  # of each step, at v = 0
    model.budget = pyo.Constraint(expr=sum(COSTS[j] * (model.step[j] - least) for j in data.features) <= 1.2)
    whole, result = fs.solve(model.clone(), "scip"), fs.solve(model)
    assert 'Not by sla: Row "budget" is not linear' in result.message
    assert violation(model) <= 1e-6
    assert result.objective >= whole.objective * (1 - 1e-4)


def test_a_ball_on_the_weights_goes_to_a_local_solver_which_says_why(data):
    model = fs.concave.fsv(data, penalty=PENALTY)
    model.ball = pyo.Constraint(expr=sum(w**2 for w in model.w.values()) <= 1)
    result = fs.solve(model)
    assert sum(w.value**2 for w in model.w.values()) <= 1 + 1e-6
    assert 'Not by sla: Row "ball" is not linear' in result.message
    with pytest.raises(ModelError, match=r'Row "ball" is not linear.*"multi-start"'):
        fs.solve(model, "sla")


def test_a_ridge_beside_rows_on_sigma_keeps_the_rows(data):
    model = fs.concave.fsv(data, penalty=PENALTY, sigma=True)
    model.ridge = pyo.Expression(expr=0.05 * sum(w**2 for w in model.w.values()))
    model.objective.set_value(model.objective.expr + model.ridge)
    state(model, "budget")
    result, whole = fs.solve(model), fs.solve(model.clone(), "scip", time_limit=20)
    assert ALLOWED["budget"](set(result.selected))
    assert result.objective >= whole.bound - 1e-6


# FSB: r is binary, and the rows are on it.


def fsb_enumerated(data, rows, mu):
    """(14) over all r that the rows allow, a linear program each; its least value, and where it is attained."""
    found = []
    for bits in itertools.product([0, 1], repeat=4):
        chosen = {j for j, bit in zip(data.features, bits, strict=True) if bit}
        if not ALLOWED[rows](chosen):
            continue
        model = fs.concave.fsb(data, penalty=PENALTY, mu=mu)
        for r, bit in zip(model.r.values(), bits, strict=True):
            r.fix(bit)
        found.append((fs.solve(model, "highs").objective, chosen))
    return min(found, key=lambda pair: pair[0])


@pytest.mark.parametrize("rows", ALLOWED)
def test_fsb_whole_is_proven_at_its_mu_as_enumeration_says(rows, data):
    model = fs.concave.fsb(data, penalty=PENALTY, sigma=True)
    state(model, rows)
    result = fs.solve(model, "scip")
    best, _ = fsb_enumerated(data, rows, pyo.value(model.mu))
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(best, rel=1e-6)
    assert ALLOWED[rows](set(result.selected))
    assert max(abs(model.w[j].value) for j in data.features if j not in result.selected) <= 1e-6


@pytest.mark.parametrize("rows", ALLOWED)
def test_fsb_alternating_keeps_rows_on_features(rows, data):
    model = fs.concave.fsb(data, penalty=PENALTY, sigma=True)
    state(model, rows)
    result = fs.solve(model)
    best, _ = fsb_enumerated(data, rows, pyo.value(model.mu))
    assert result.solver == ("scip" if rows == "even" else "alternating")  # a variable of one's own is in no block
    assert result.status is (SolutionStatus.OPTIMAL if rows == "even" else SolutionStatus.FEASIBLE)
    assert ALLOWED[rows](set(result.selected))
    assert max(abs(model.w[j].value) for j in data.features if j not in result.selected) <= 1e-6
    assert best - 1e-6 <= result.objective <= best * 1.1 + 1e-6


def test_fsb_with_rows_goes_on_from_a_given_mu_until_it_is_complementary(data):
    model = fs.concave.fsb(data, penalty=PENALTY, sigma=True, mu=0.02)
    model.none = pyo.Constraint(expr=sum(model.sigma.values()) <= 1)
    result = fs.solve(model, "scip")
    assert pyo.value(model.mu) > 0.02
    assert len(result.selected) <= 1
    assert max(abs(model.w[j].value) for j in data.features if j not in result.selected) <= 1e-6


def test_a_point_of_fsb_that_is_not_complementary_is_left_out(data):
    model = fs.concave.fsb(data, penalty=PENALTY, sigma=True)
    model.structure.penalty.values = [0.001, 0.002]  # too small for any complementarity
    model.few = pyo.Constraint(expr=sum(model.sigma.values()) <= 0)
    result = fs.solve(model, "alternating")
    assert "is left out" in result.message
    assert result.status is SolutionStatus.FEASIBLE  # w = 0, which is
    assert violation(model) <= 1e-9
    assert not any(model.w[j].value for j in data.features)


@pytest.mark.parametrize("sweeps", [1, 2])
def test_fsb_with_rows_that_is_cut_off_before_its_mu_is_exact_has_a_point(sweeps):
    """What it has by then has weights of features that are not selected: w = 0 satisfies all rows here."""
    bupa = fs.load_dataset("bupa").scaled("standard")
    found = fs.select(bupa, "fsb", penalty=PENALTY, excludes=[("mcv", "sgpt")], iteration_limit=sweeps)
    assert (found.status, found.selected) == (SolutionStatus.FEASIBLE, ())
    assert "the penalty is not exact" in found.message
    assert "is left out" in found.message


@pytest.mark.parametrize("name", ["fsv", "fss", "fsb"])
def test_by_name_rows_on_features_are_kept(name, data):
    found = fs.select(data, name, penalty=PENALTY, max_features=2, force_in=["x4"], excludes=[("x1", "x2")])
    assert "x4" in found.selected
    assert len(found.selected) <= 2
    assert not {"x1", "x2"} <= set(found.selected)
    assert set(found.classifier.weights) <= set(found.selected)
