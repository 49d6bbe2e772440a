"""The selection of a model whose optimum is unique does not depend on the solver or the units of the columns."""

import numpy as np
import pytest

import fsmodels as fs
from fsmodels.models.gmeb.norm import Moments
from fsmodels.models.gmeb.proof import MomentProof

CASES = {
    "gmeb": ({"R_plus": 0.05, "R_minus": 0.05}, ["clarabel", "scip", "pounce", "cutting-plane"]),
    "gmeb-nonconvex": ({"R_plus": 0.05, "R_minus": 0.05}, ["pounce", "scip"]),
    "one-norm-svm": ({"C": 0.05}, ["clarabel", "highs", "scip", "pounce"]),
    "svm": ({"C": 1.0}, ["clarabel", "scip", "pounce"]),
}


@pytest.mark.parametrize("scale", ["standard", "minmax", "unit-ball", "none"])
@pytest.mark.parametrize("name", ["cleveland", "bupa"])
@pytest.mark.parametrize("model", [*CASES])
def test_every_solver_selects_the_same(model, name, scale):
    parameters, solvers = CASES[model]
    data = fs.load_dataset(name)
    found = {s: fs.select(data, model, scale=scale, solver=s, time_limit=5, **parameters) for s in solvers}
    assert len({one.selected for one in found.values()}) == 1, {s: one.selected for s, one in found.items()}


@pytest.mark.parametrize("solver", ["clarabel", "scip", "pounce"])
@pytest.mark.parametrize(("name", "R"), [("cleveland", 5.0), ("wdbc", 0.02), ("wdbc", 1.0)])
def test_gmeb_selects_the_same_at_other_bounds(name, R, solver):
    data = fs.load_dataset(name)
    exact = fs.select(data, "gmeb", R_plus=R, R_minus=R)
    found = fs.select(data, "gmeb", R_plus=R, R_minus=R, solver=solver)
    assert found.selected == exact.selected
    assert found.objective == pytest.approx(exact.objective, rel=1e-4)


def test_a_small_weight_that_lowers_the_loss_is_kept():
    """Both columns vary equally; the second one alone decides a pair of samples, with weight 2e-3 of the first."""
    rng = np.random.default_rng(0)
    first = np.repeat([1.0, -1.0], 50)
    X = np.column_stack([first, rng.permutation(first)])
    y, weights = np.where(first > 0, 1.0, -1.0), np.ones(100)
    proof = MomentProof(Moments(*((X[y == side] ** 2).mean(axis=0) for side in (1, -1))), X, y, weights)
    helpful, w = X.copy(), np.array([1.0, 2e-3])
    helpful[:, 1] = y * np.abs(helpful[:, 1])  # the second column is as good as the first
    good = MomentProof(proof.moments, helpful * [1.0, 5.0], y, weights)
    kept = good.sparse_classifier(w, 0.01, 0.01)
    assert np.count_nonzero(kept.w) == 2
    assert kept.loss <= good.classifier(w, 0.01, 0.01).loss
    assert np.count_nonzero(proof.sparse_classifier(w, 0.01, 0.01).w) == 1
