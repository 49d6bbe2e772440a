"""The family of FS by name: objectives and (7) recomputed from the JSON file, refits, empty models, paths, commands."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest

import fsmodels as fs
import solvers
from fsmodels.selection.catalogue import MODELS
from fsmodels.selection.request import Request
from robust_reference import least_fs, robust_by_support
from solvers.drivers.catalogue import DRIVERS

FAMILY = ["robust-lp", "fs", "fsl", "fsv", "fss", "obd"]
SMOOTHED = ["fsv", "fss"]
if "alternating" in DRIVERS:
    FAMILY, SMOOTHED = [*FAMILY, "fsb"], [*SMOOTHED, "fsb"]
REFITTED = ["fsl", *SMOOTHED]
EXACT = ["fs", "fsl"]


@pytest.fixture(scope="module")
def data():
    """40 samples, 14 of class +1, features of different sizes."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 4)) * [1, 2, 0.5, 1] + [0, 1, 0, -2]
    y = np.where(X @ [1, -0.5, 1.5, 0.3] + rng.normal(size=40) > 0, 1, -1)
    return fs.Dataset.from_arrays(X, y, features=list("abcd"), name="four").scaled("none")


def hinges(X, y, w, b):
    losses = np.maximum(0.0, 1.0 - y * (X @ w + b))
    return losses[y > 0].mean() + losses[y < 0].mean()


@pytest.fixture(scope="module")
def errors(data):
    """Names of features -> E."""
    found = robust_by_support(data.X, data.y)
    return {frozenset(data.features[j] for j in s): E for s, (E, _) in found.items()}


def recomputed(content, data, mu=None):
    """A model's own objective and (7), from weights, bias and data."""
    w = np.array([(content["weights"] or {}).get(j, 0.0) for j in data.features])
    penalty = content["parameters"].get("penalty", 0.0)
    E, v = hinges(data.X, data.y, w, content["bias"]), np.abs(w)
    used = {
        "fs": len(content["selected"]),
        "fsl": len(content["selected"]),
        "fsv": np.sum(1 - np.exp(-5 * v)),
        "fss": np.sum(1 / (1 + np.exp(-5 * v))),
    }
    name = content["model"]
    own = E if name in ("robust-lp", "obd") else None
    if name in used:
        own = (1 - penalty) * E + penalty * used[name]
    if name == "fsb":
        own = (1 - mu) * (1 - penalty) * E + np.minimum((1 - mu) * penalty, mu * v).sum()
    return own, (1 - penalty) * E + penalty * np.count_nonzero(w)


def selected(data, model, penalty, **options):
    found = fs.select(data, model, penalty=penalty, **options)
    return found, json.loads(json.dumps(found.to_dict(), allow_nan=False))


@pytest.mark.parametrize("scale", ["none", "standard"])
@pytest.mark.parametrize("penalty", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("model", FAMILY)
def test_objectives_follow_from_weights_and_data(model, penalty, scale, data, errors):
    scaled = data.scaled(scale)
    found, content = selected(scaled, model, penalty)
    mu = found.model.mu.value if model == "fsb" else None
    own, seven = recomputed(content, scaled, mu)
    assert content["objective"] == pytest.approx(own, rel=1e-9)
    assert content["fs_objective"] == pytest.approx(seven, rel=1e-9)
    assert found.result.objective == pytest.approx(own, rel=1e-6)
    assert seven >= least_fs(data, penalty) * (1 - 1e-6)  # (7) does not depend on the scale
    if model in EXACT:
        assert seven == pytest.approx(least_fs(data, penalty), rel=1e-5)
        assert content["bound"] <= least_fs(data, penalty) * (1 + 1e-7)
    if model in SMOOTHED:
        assert (content["status"], content["bound"], content["gap"]) == ("stationary", None, None)
    if model == "robust-lp":
        assert content["objective"] == pytest.approx(errors[frozenset("abcd")], abs=1e-7)
        assert content["status"] == "optimal"
    w = np.array([content["weights_original"].get(j, 0.0) for j in data.features])
    assert hinges(data.X, data.y, w, content["bias_original"]) == pytest.approx(
        hinges(scaled.X, scaled.y, np.array([content["weights"].get(j, 0.0) for j in data.features]), content["bias"])
    )


@pytest.mark.parametrize("model", FAMILY)
def test_selected_features_are_those_with_a_weight(model, data):
    found, content = selected(data, model, 0.1)
    assert list(content["selected"]) == [j for j in data.features if content["weights"].get(j)]
    assert 0 < len(found.selected) <= 4
    assert set(content["weights"]) == set(content["selected"])


# Refits.


@pytest.mark.parametrize("scale", ["none", "standard"])
@pytest.mark.parametrize("model", REFITTED)
def test_a_refit_is_the_robust_lp_on_the_selected_features(model, scale, data, errors):
    found, content = selected(data.scaled(scale), model, 0.1)
    refit = content["refit"]
    assert refit["model"] == "robust-lp"
    assert refit["objective"] == pytest.approx(errors[frozenset(content["selected"])], abs=1e-7)
    assert refit["objective"] <= hinges(
        data.X, data.y, np.array([content["weights_original"].get(j, 0.0) for j in data.features]),
        content["bias_original"],
    ) + 1e-9  # fmt: skip
    assert set(refit["weights"]) <= set(content["selected"])
    w = np.array([refit["weights_original"].get(j, 0.0) for j in data.features])
    assert hinges(data.X, data.y, w, refit["bias_original"]) == pytest.approx(refit["objective"], abs=1e-7)
    decision = data.X @ w + refit["bias_original"]
    for where in (data, data.scaled("minmax"), pd.DataFrame(data.X, columns=list(data.features))):
        np.testing.assert_allclose(found.refit.decision(where), decision, atol=1e-8)
    clear = np.abs(decision) > 1e-9  # rounding may not decide about a point on the plane
    np.testing.assert_array_equal(found.refit.predict(data)[clear], np.sign(decision)[clear])
    assert refit["training_error"] == found.refit.error(data)
    w = np.array([content["weights_original"].get(j, 0.0) for j in data.features])
    np.testing.assert_allclose(found.decision(data), data.X @ w + content["bias_original"], atol=1e-8)
    assert content["training_error"] == found.error(data)


@pytest.mark.parametrize("model", [m for m in FAMILY if m not in REFITTED])
def test_models_that_end_with_the_robust_lp_need_no_refit(model, data, errors):
    found, content = selected(data, model, 0.1)
    assert found.refit is content["refit"] is None
    w = np.array([content["weights"].get(j, 0.0) for j in data.features])
    assert hinges(data.X, data.y, w, content["bias"]) == pytest.approx(errors[frozenset(content["selected"])], rel=1e-5)


def test_a_refit_can_differ_from_the_models_own_plane(data):
    """Else the tests above could not tell them apart."""
    found = fs.select(data, "fss", penalty=0.5, alpha=0.5)
    w, again = (np.array([c.weights.get(j, 0.0) for j in data.features]) for c in (found, found.refit))
    assert found.refit.objective < hinges(data.X, data.y, w, found.bias) - 0.01
    assert np.abs(w - again).max() > 0.1
    assert np.abs(found.decision(data) - found.refit.decision(data)).max() > 0.1


@pytest.mark.parametrize("model", REFITTED)
def test_a_refit_that_its_limit_has_cut_off_does_not_replace_better_weights(model, data, monkeypatch):
    """A linear program that is stopped at once has the model's trivial point, w = 0, which decides nothing."""
    whole = Request.of

    def cut(data, model, **given):
        return whole(data, model, **given | ({"time_limit": 1e-9} if model == "robust-lp" else {}))

    monkeypatch.setattr(Request, "of", cut)
    found = fs.select(data, model, penalty=0.1, time_limit=60)
    assert found.selected
    assert found.refit is None
    assert "weights are those of the model: the time limit was reached before" in found.message
    assert found.error(data) <= 0.25  # the larger class alone: 0.35


@pytest.mark.parametrize("scale", ["none", "standard"])
def test_both_planes_are_scored_on_validation_data(scale, data):
    train, validation, _ = data.split(0.5, 0.5, 0.0, seed=4)
    found = fs.select(train.scaled(scale), "fss", penalty=0.5, alpha=0.5, validation=validation)
    content = found.to_dict()
    for plane in (content, content["refit"]):
        w = np.array([plane["weights_original"].get(j, 0.0) for j in data.features])
        wrong = np.where(validation.X @ w + plane["bias_original"] > 0, 1, -1) != validation.y
        assert plane["validation_error"] == pytest.approx(wrong.mean())
    assert found.validation_error == found.error(validation)
    assert found.refit.validation_error == found.refit.error(validation)


# A model without features.


def assert_empty(model, flip, scale, data):
    turned = fs.Dataset.from_arrays(data.X, flip * data.y, features=list(data.features))
    train, validation, _ = turned.split(0.6, 0.4, 0.0, seed=1)
    found, content = selected(train.scaled(scale), model, 0.97, validation=validation)
    larger = 1.0 if (train.y > 0).sum() >= (train.y < 0).sum() else -1.0
    assert larger == -flip
    assert content["selected"] == []
    assert content["weights"] == {}
    assert content["bias"] == content["bias_original"] == larger
    assert content["refit"] is None
    assert content["fs_objective"] == pytest.approx(0.03 * 2)
    assert content["training_error"] == pytest.approx(np.mean(train.y != larger))
    assert content["validation_error"] == pytest.approx(np.mean(validation.y != larger))
    frame = pd.DataFrame(validation.X, columns=list(data.features))
    for where in (validation, frame, frame[["a"]]):
        assert found.predict(where).tolist() == [larger] * len(validation.y)
    assert "larger class" in content["message"]
    assert "larger class" in repr(found)


@pytest.mark.parametrize("flip", [1, -1])
@pytest.mark.parametrize("model", [*EXACT, *SMOOTHED])
def test_an_empty_model_predicts_the_larger_class(model, flip, data):
    assert_empty(model, flip, "none", data)


def test_an_empty_model_on_standardised_data_is_empty_too(data):
    """The solver's zeros are 1e-13 here, in fsv and fss with one order of the classes, in fsb with the other."""
    for model, flip in itertools.product([*EXACT, *SMOOTHED], [1, -1]):
        assert_empty(model, flip, "standard", data)


def test_weights_of_rounding_alone_are_no_features(data, monkeypatch):
    def rounded(model, *given, **options):
        result = solvers.solve(model, *given, **options)
        model.w["a"].set_value(-3e-14), model.v["a"].set_value(3e-14)
        return result

    monkeypatch.setattr("fsmodels.models.spec.solve", rounded)
    found = fs.select(data, "fsv", penalty=0.97)
    assert found.selected == ()
    assert found.fs_objective == pytest.approx(0.03 * 2)
    assert found.bias == -1


def test_zeros_of_an_interior_point_are_no_features(data):
    found = fs.select(data, "fss", penalty=0.97, solver="pounce")
    assert max([0.0, *map(abs, found.weights.values())]) <= 1e-8  # nothing that margins of size 1 could tell
    assert found.selected == ()
    assert found.fs_objective == pytest.approx(0.03 * 2)


def test_a_tie_of_the_classes_is_still_a_prediction():
    flat = fs.Dataset.from_arrays([[1.0], [1.5], [1.0], [1.5]], [1, 1, -1, -1], features=["x"])
    found = fs.select(flat, "robust-lp")
    assert found.objective == pytest.approx(2)
    assert found.training_error == 0.5


# Parameters.


@pytest.mark.parametrize("model", [m for m in FAMILY if m != "robust-lp"])
@pytest.mark.parametrize("penalty", [1.0, -0.2, float("nan"), {"a": 0.1}])
def test_a_lambda_outside_its_range(model, penalty, data):
    with pytest.raises(fs.ParameterError, match=r"penalty=.* is not allowed: .*Give a number from 0 to below 1"):
        fs.select(data, model, penalty=penalty)


@pytest.mark.parametrize("penalty", [1.0, -0.2, float("nan"), {"a": 0.1}])
def test_a_lambda_outside_its_range_where_only_the_report_needs_it(penalty, data):
    with pytest.raises(fs.ParameterError, match=r"penalty=.* is not allowed"):
        fs.select(data, "robust-lp", penalty=penalty)


def test_robust_lp_evaluates_seven_where_lambda_is_given(data, errors):
    E = errors[frozenset("abcd")]
    assert fs.select(data, "robust-lp").fs_objective == pytest.approx(E)
    found = fs.select(data, "robust-lp", penalty=0.25)
    assert found.objective == pytest.approx(E)
    assert found.fs_objective == pytest.approx(0.75 * E + 0.25 * 4)
    assert found.parameters["penalty"] == 0.25


@pytest.mark.parametrize("model", [m for m in FAMILY if m != "robust-lp"])
def test_lambda_is_needed(model, data):
    with pytest.raises(fs.ParameterError, match=r"needs penalty:.*(lambda|nu),? in \[0, 1\)"):
        fs.select(data, model)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"model": "fsv", "C": 1.0}, fs.ParameterError, "does not use C.*penalty"),
        ({"model": "fsv", "max_features": 9}, fs.InfeasibleParameter, r"use 1\.\.4"),
        ({"model": "fs", "max_features": 9}, fs.InfeasibleParameter, r"use 1\.\.4"),
        ({"model": "fsv", "force_in": ["z"]}, fs.DataError, '"z" is not a feature'),
        ({"model": "obd", "requires": [("a", "a")]}, fs.DataError, "is on both sides"),
        ({"model": "fs", "excludes": [("a", "z")]}, fs.DataError, '"z" is not a feature'),
        ({"model": "fs", "solver": "highs"}, fs.ModelError, "scip"),
        ({"model": "fsv", "solver": "highs"}, fs.SolverError, "pounce"),
        ({"model": "fsv", "start": 3}, fs.OptionError, 'Did you mean "starts"'),
        ({"model": "fsv", "alpha": 0.0}, fs.ParameterError, "alpha=0.0"),
        ({"model": "obd", "delta": 0.0}, fs.ParameterError, "delta=0.0"),
        ({"model": "fs", "form": "big-m"}, fs.ParameterError, "form='big-m'"),
    ],
)
def test_refuses_by_name(arguments, error, words, data):
    with pytest.raises(error, match=words):
        fs.select(data, penalty=0.1, **arguments)


def test_further_parameters_and_options_arrive(data):
    steep = fs.select(data, "fsv", penalty=0.1, alpha=50.0, starts=2)
    assert steep.model.alpha.value == 50
    assert len(steep.result.details["starts"]) == 3
    assert steep.objective == pytest.approx(steep.fs_objective, rel=1e-3)  # so steep that it is nearly the step
    assert steep.to_dict()["parameters"] == {"penalty": 0.1, "alpha": 50.0}
    gentle = fs.select(data, "obd", penalty=0.5, delta=2.0)
    assert (
        gentle.result.details["derivatives"].max()
        > fs.select(data, "obd", penalty=0.5).result.details["derivatives"].max()
    )
    assert fs.select(data, "fss", penalty=0.1, solver="pounce").result.solver == "pounce"


def test_a_feature_forced_in_for_nothing_costs_its_price(data):
    """sigma = 1 counts in the model's objective; (7) counts weights that are not 0."""
    noise = np.random.default_rng(0).normal(size=40)
    padded = fs.Dataset.from_arrays(np.column_stack([data.X[:, 0], noise]), data.y, features=["a", "noise"])
    padded = padded.scaled("none")
    found = fs.select(padded, "fs", penalty=0.95, force_in=["noise"])
    assert found.selected == ("noise",)
    own, seven = recomputed(found.to_dict(), padded)
    assert (found.objective, found.fs_objective) == pytest.approx((own, seven), rel=1e-9)


# Paths.

GRID = [0.0, 0.05, 0.3, 0.9]


@pytest.mark.parametrize("model", EXACT)
def test_a_path_over_lambda_is_enumerated_point_by_point(model, data):
    table = fs.path(data, model, penalty=GRID)
    assert table.index.tolist() == GRID
    for penalty, row in table.iterrows():
        assert row["objective"] == pytest.approx(least_fs(data, penalty), rel=1e-5)
        assert row["bound"] <= least_fs(data, penalty) * (1 + 1e-7)
        assert row["status"] == "optimal"
    assert table["n_selected"].is_monotonic_decreasing
    assert table["n_selected"].nunique() == 4


def test_bounds_are_not_shared_across_lambda(data, monkeypatch):
    """A point that stops early at 0.9, with all features, is not proven by the dearer optimum at 0.3."""

    def early(model, *given, **options):
        if model.penalty.value == 0.3:
            return solvers.solve(model, *given, **options)
        for sigma in model.sigma.values():
            sigma.fix(1)
        result = solvers.solve(model, *given, **options)
        for sigma in model.sigma.values():
            sigma.unfix()
        result.status, result.bound = fs.SolutionStatus.FEASIBLE, 0.1
        return result

    monkeypatch.setattr("fsmodels.models.spec.solve", early)
    table = fs.path(data, "fs", penalty=[0.3, 0.9])
    assert table.loc[0.9, "objective"] > table.loc[0.3, "objective"] > least_fs(data, 0.9)
    assert table.loc[0.9, "bound"] == 0.1
    assert table.loc[0.9, "status"] == "feasible"


def test_a_path_over_lambda_and_numbers_of_features(data):
    """The optimum may fall as lambda grows: 0.2 at 0.9 and more than 1 at 0.3."""
    assert least_fs(data, 0.9) < least_fs(data, 0.3)
    table = fs.path(data, "fs", penalty=[0.3, 0.9], max_features=[2, 3])
    assert table.index.names == ["max_features", "penalty"]
    for (most, penalty), row in table.iterrows():
        truth = least_fs(data, penalty, lambda s: len(s) <= most)  # noqa: B023
        assert row["objective"] == pytest.approx(truth, rel=1e-5)
        assert row["bound"] <= truth * (1 + 1e-7)


@pytest.mark.parametrize("model", FAMILY)
def test_a_path_checks_every_lambda_first(model, data, monkeypatch):
    monkeypatch.setattr("fsmodels.models.spec.solve", lambda *_, **__: pytest.fail("solved before it was checked"))
    with pytest.raises(fs.ParameterError, match=r"penalty=1.5 is not allowed: lambda"):
        fs.path(data, model, penalty=[0.1, 1.5])


# The command line.


def test_every_model_of_the_family_is_tested_here():
    assert {name for name, spec in MODELS.items() if spec.exact_model == "fs"} - {"fsb"} == set(FAMILY) - {"fsb"}
