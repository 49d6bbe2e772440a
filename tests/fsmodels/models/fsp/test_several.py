"""One selection for several SVMs: against enumeration, by drivers and solvers of the whole model, edited."""

import itertools
import os

import numpy as np
import pyomo.environ as pyo
import pytest
from sklearn.datasets import load_wine

import fsmodels as fs
from fsmodels.models.fsp.several import one_selection

SEEDS = range(8)
SOAK = float(os.environ.get("FSMODELS_SOAK", "1"))


def problems(seed, classes=3, *, weights=True):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(14, 30)), int(rng.integers(3, 7))
    X, label = rng.normal(size=(n, p)), np.arange(n) % classes
    X[:, 0] += label
    X[:, -1] -= 0.7 * (label == 1)
    s = rng.integers(0, 4, size=n).astype(float) if weights and seed % 2 else None
    if s is not None:
        s[:classes] = 1.0
    names = tuple(f"x{j}" for j in range(p))
    return {
        f"c{k}": fs.Dataset(X, np.where(label == k, 1.0, -1.0), names).weighted(s).scaled("standard")
        for k in range(classes)
    }


def by_enumeration(parts, most, price, **words):
    """Return the least sum of the SVMs' optima over all selections, and the selection."""
    features = next(iter(parts.values())).features
    choices = [names for r in range(most + 1) for names in itertools.combinations(features, r)]
    costs = [sum(fs.fsp.value(d, names, **words) for d in parts.values()) + price * len(names) for names in choices]
    return min(costs), choices[int(np.argmin(costs))]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_optimum_is_that_of_enumeration(seed):
    rng, parts = np.random.default_rng(100 + seed), problems(seed)
    most = int(rng.integers(1, len(parts["c0"].features)))
    words = {"C": float(10 ** rng.uniform(-1, 1)), "loss": ["hinge", "squared-hinge"][seed % 3 == 2]}
    price = [0.0, 0.4][seed % 2]
    best, names = by_enumeration(parts, most, price, **words)
    for form, solver in [("perspective", None), ("perspective", "benders"), ("big-m", "branch-and-cut")]:
        model = one_selection(parts, max_features=most, penalty=price, form=form, **words)
        found = fs.solve(model, solver, gap=1e-6)
        assert found.status.value == "optimal"
        assert found.objective == pytest.approx(best, rel=1e-5)
        assert found.bound <= best * (1 + 1e-6)
        assert pyo.value(model.objective) == pytest.approx(found.objective, rel=1e-6)
        assert tuple(found.selected) == names


def test_a_solver_of_the_whole_model_agrees():
    parts = problems(3)
    best, _ = by_enumeration(parts, 2, 0.0, C=1.0)
    found = fs.solve(one_selection(parts, max_features=2, form="big-m"), "scip")
    assert found.objective == pytest.approx(best, rel=1e-4)


def test_two_processes_agree():
    wine = load_wine()
    names = tuple(wine.feature_names)
    parts = {
        k: fs.Dataset(wine.data, np.where(wine.target == k, 1.0, -1.0), names).scaled("standard") for k in range(3)
    }
    alone = fs.solve(one_selection(parts, max_features=4, C=0.05), gap=1e-5)
    dealt = fs.solve(one_selection(parts, max_features=4, C=0.05), gap=1e-5, threads=2)
    assert dealt.objective == pytest.approx(alone.objective, rel=2e-5)
    assert dealt.status.value == alone.status.value == "optimal"


def test_every_cut_of_its_oracle_is_below_the_value_at_every_selection():
    parts = problems(5)
    model = one_selection(parts, max_features=2, C=2.0)
    oracle, n = model.structure.oracle, len(model.sigma)
    rng = np.random.default_rng(0)
    points = [np.array(p, dtype=float) for p in itertools.product([0, 1], repeat=n)]
    values = [oracle.solve(p, 1e-8, None).value for p in points]
    for at in [*points[:: max(1, len(points) // 10)], *rng.uniform(size=(10, n))]:
        cut = oracle.solve(at, 1e-4, None).cut
        assert all(cut.at(p) <= v * (1 + 1e-7) + 1e-9 for p, v in zip(points, values, strict=True))


def test_rows_on_sigma_and_other_numbers_between_solves():
    parts = problems(6)
    model = one_selection(parts, max_features=2)
    first = fs.solve(model, gap=1e-6)
    model.not_that = pyo.Constraint(expr=model.sigma[first.selected[0]] == 0)
    other = fs.solve(model, gap=1e-6)
    assert first.selected[0] not in other.selected
    assert other.objective > first.objective
    model.C, model.max_features = 5.0, 1
    del model.not_that
    best, names = by_enumeration(parts, 1, 0.0, C=5.0)
    again = fs.solve(model, gap=1e-6)
    assert again.objective == pytest.approx(best, rel=1e-5)
    assert tuple(again.selected) == names


def with_sign(parts, form="perspective"):
    model = one_selection(parts, max_features=2, form=form)
    model.sign = pyo.Constraint(expr=model.w["c0", "x0"] >= 1)
    return model


def test_a_row_on_weights_is_honoured_or_refused_by_name():
    parts = problems(0)
    for solver in ("branch-and-cut", "benders"):
        with pytest.raises(fs.ModelError, match=r"sign.*sigma"):
            fs.solve(with_sign(parts), solver)
    with pytest.raises(fs.ModelError, match=r"sign.*perspective"):
        fs.solve(with_sign(parts, "big-m"), "scip")
    values = []
    for pair in itertools.combinations(parts["c0"].features, 2):
        model = with_sign(parts)
        for j, sigma in model.sigma.items():
            sigma.fix(int(j in pair))
        found = fs.solve(model, "clarabel")
        values += [found.objective] if found.has_solution else []
    whole = fs.solve(with_sign(parts))  # goes on to a solver of the whole model, and says so
    assert whole.solver == "scip"
    assert "sign" in whole.message
    assert whole.objective == pytest.approx(min(values), rel=1e-5)


def test_one_data_set_is_fsp_m_itself():
    data = fs.load_dataset("bupa").scaled("standard")
    alone = fs.solve(fs.fsp.fsp_m(data, max_features=2), gap=1e-7)
    found = fs.solve(one_selection({"ill": data}, max_features=2), gap=1e-7)
    assert found.objective == pytest.approx(alone.objective, rel=1e-6)
    assert found.selected == alone.selected


@pytest.mark.parametrize(
    ("change", "words", "said"),
    [
        (lambda parts: {}, {"max_features": 1}, "no data"),
        (lambda parts: {**parts, "c1": parts["c1"].scaled("minmax")}, {"max_features": 1}, '"c1".*other samples'),
        (lambda parts: parts, {}, "max_features and no penalty"),
        (lambda parts: parts, {"max_features": 99}, "max_features=99"),
        (lambda parts: parts, {"penalty": -1}, "penalty=-1"),
        (lambda parts: parts, {"max_features": 1, "form": "bilinear"}, "perspective, big-m"),
    ],
)
def test_what_cannot_be_built_is_refused(change, words, said):
    with pytest.raises(ValueError, match=said):
        one_selection(change(problems(0)), **words)


@pytest.mark.slow
def test_the_optimum_is_that_of_enumeration_at_random():
    for seed in range(1000, 1000 + int(60 * SOAK)):
        test_the_optimum_is_that_of_enumeration(seed)
