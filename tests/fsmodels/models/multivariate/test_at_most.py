"""FSmulti with at most K features: exchanges under the certified bound, against every support enumerated."""

import itertools

import numpy as np
import pytest

import fsmodels as fs
from fsmodels import multivariate as mv


def on(data, names, C, loss, offset=False):
    """The optimum of (2) on some features."""
    model = mv.structural_svm(data.select_features(names).scaled("none"), C=C, loss=loss, offset=offset)
    return fs.solve(model, gap=1e-7).objective


@pytest.mark.parametrize("loss", ["f1", "hamming", "prbep", "auc"])
@pytest.mark.parametrize("K", [1, 2])
def test_no_exchange_of_one_feature_is_better(loss, K, make_data):
    data, C = make_data(14, 5, seed=K), 60.0
    found = fs.select(data, "fsmulti", max_features=K, C=C, loss=loss, gap=1e-6)
    values = {s: on(data, s, C, loss) for s in itertools.combinations(data.features, K)}
    assert len(found.selected) <= K
    assert found.objective == pytest.approx(min(v for s, v in values.items() if {*found.selected} <= {*s}), rel=1e-5)
    for support, value in values.items():
        if len(set(found.selected) - set(support)) <= 1:
            assert found.objective <= value * (1 + 1e-5)
    assert found.bound <= min(values.values()) * (1 + 1e-7)
    assert found.gap == pytest.approx((found.objective - found.bound) / found.objective)
    assert found.status is (fs.SolutionStatus.OPTIMAL if found.gap <= 1e-6 else fs.SolutionStatus.FEASIBLE)
    assert "no exchange of one feature lowers the objective" in found.message or found.gap <= 1e-6


def test_no_swap_by_hand_beats_it_on_wdbc():
    train, _, test = fs.load_dataset("wdbc").split(seed=0)
    n = len(train)
    found = fs.select(train, "fsmulti", max_features=3, C=n, loss="hamming")
    assert found.objective < 61.1  # truncation and a refit alone: 129.5
    for out, into in itertools.product(found.selected, ["mean_concave_points", "worst_texture", "radius_error"]):
        names = [*(set(found.selected) - {out}), into]
        assert on(found.data, names, n, "hamming") >= found.objective * (1 - 1e-6)
    assert found.error(test) < 0.06
    assert found.result.details["exchanges"] > 0


def test_a_path_over_at_most_so_many_features_and_over_budgets(make_data):
    data = make_data(20, 5, seed=7)
    table = fs.path(data, "fsmulti", max_features=[1, 2, 3], C=40.0)
    for K, row in table.iterrows():
        alone = fs.select(data, "fsmulti", max_features=K, C=40.0)
        assert row["objective"] == pytest.approx(alone.objective, rel=1e-4)
        assert row["n_selected"] <= K
        assert row["bound"] <= row["objective"]
    shares = fs.path(data, "fsmulti", budget=[1, 2, 3], C=40.0)
    assert shares.index.name == "budget"
    for B, row in shares.iterrows():
        assert row["objective"] == pytest.approx(fs.select(data, "fsmulti", budget=B, C=40.0).objective, rel=2e-4)
    assert (shares["objective"] <= table["objective"].to_numpy() * (1 + 1e-4)).all()


def test_a_selection_never_has_more_features_than_allowed(make_data):
    for seed, K in itertools.product(range(2), (1, 3)):
        data = make_data(30, 7, seed=seed)
        assert len(fs.select(data, "fsmulti", max_features=K, C=90.0, loss="hamming").selected) <= K
        assert len(fs.select(data, "fsmulti", budget=K, C=90.0).selected) >= K


def test_no_feature_that_pays_leaves_none(make_data):
    found = fs.select(make_data(20, 5, seed=7), "fsmulti", max_features=2, C=1e-6)
    assert np.allclose(list(found.weights.values()), 0.0, atol=1e-5)
