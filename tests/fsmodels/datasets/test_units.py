"""The same question gets the same answer: default scaling in Python and on the command line; builders say of units."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import fsmodels as fs
from fsmodels import cli
from fsmodels.errors import DataWarning


def asked(tmp_path, *words):
    out = tmp_path / "out.json"
    assert cli.main(["select", *words, "--quiet", "--json", str(out)]) == 0
    return json.loads(out.read_text("utf-8"))


@pytest.fixture
def skewed():
    """30 samples; b is the best feature once columns are on one footing, and 1e-3 of the size of c."""
    rng = np.random.default_rng(1)
    y = np.where(np.arange(30) % 2 > 0, 1.0, -1.0)
    X = np.column_stack([rng.normal(size=30), 1e-2 * (y + 0.3 * rng.normal(size=30)), 10 * rng.normal(size=30)])
    X[:, 2] += 3 * y
    return fs.Dataset.from_arrays(X, y, features=["a", "b", "c"], name="skewed")


@pytest.mark.parametrize("scale", [None, "none", "minmax", "unit-ball", "standard"])
def test_python_and_the_command_line_give_one_answer(scale, tmp_path, capsys):
    words = [] if scale is None else ["--scale", scale]
    theirs = asked(tmp_path, "bupa", "--model", "fsp-m", "--max-features", "2", *words)
    ours = fs.select(fs.load_dataset("bupa"), "fsp-m", max_features=2, scale=scale).to_dict()
    for key in ("selected", "objective", "weights", "weights_original", "scale"):
        assert ours[key] == theirs[key], key
    assert ours["scale"]["method"] == (scale or "standard")


def test_the_default_is_standard_and_finds_the_feature_that_units_hide(skewed):
    found = fs.select(skewed, max_features=1)
    assert found.selected == ("b",)
    assert found.data.scale.method == "standard"
    assert fs.select(skewed, max_features=1, scale="none").selected == ("c",)
    w, b = found.weights_original["b"], found.bias_original
    np.testing.assert_allclose(skewed.X[:, 1] * w + b, found.decision(skewed), rtol=1e-9)


@pytest.mark.parametrize("method", ["standard", "minmax", "unit-ball", "none"])
def test_scaled_data_are_taken_as_they_are(method, skewed):
    data = skewed.scaled(method)
    found = fs.select(data, max_features=1)
    assert found.data is data
    part = data.take(range(20)).select_features(["a", "c"])
    assert fs.select(part, max_features=1).data is part
    assert fs.select(data, max_features=1, scale=method).data is data


def test_another_scaling_than_the_one_at_hand_is_refused(skewed):
    with pytest.raises(fs.ParameterError, match=r'scaled already \("minmax"\).*Leave scale out'):
        fs.select(skewed.scaled("minmax"), max_features=1, scale="standard")
    for call in (fs.select, fs.path):
        with pytest.raises(fs.ParameterError, match=r'scale=.*"?z-score.*standard, unit-ball, minmax'):
            call(skewed, max_features=[1], scale="z-score")


def test_validation_data_get_the_training_constants(skewed):
    train, held, _ = skewed.split(0.6, 0.4, 0.0, seed=0)
    raw = fs.select(train, max_features=1, validation=held)
    by_hand = fs.select(train.scaled("standard"), max_features=1)
    assert raw.validation_error == by_hand.error(held)
    assert raw.validation_error == np.mean(
        (held.X[:, 1] * raw.weights_original["b"] + raw.bias_original > 0) != (held.y > 0)
    )


def test_a_path_is_on_the_same_footing(skewed):
    table = fs.path(skewed, max_features=[1, 2])
    pd.testing.assert_series_equal(
        table["objective"], fs.path(skewed.scaled("standard"), max_features=[1, 2])["objective"]
    )
    assert table.loc[1, "selected"] == ["b"]
    assert fs.path(skewed, max_features=[1, 2], scale="none").loc[1, "selected"] == ["c"]


def test_the_path_of_gmeb_too_with_weights_for_the_data_as_given(skewed):
    raw, scaled = (fs.gmeb.path(d, R_plus=[0.5], R_minus=[0.5]) for d in (skewed, skewed.scaled("standard")))
    assert raw["selected"].tolist() == scaled["selected"].tolist()
    np.testing.assert_allclose(raw["objective"], scaled["objective"], rtol=1e-9)
    losses = 1 - skewed.y * (skewed.X @ raw.attrs["weights"][0] + raw.attrs["bias"][0])
    assert np.maximum(0, losses).sum() == pytest.approx(raw["objective"].iloc[0], rel=1e-9)


def test_sparse_data_stay_as_they_are_and_sparse(skewed, tmp_path):
    thin = fs.Dataset.from_arrays(sparse.csr_array(skewed.X), skewed.y, features=skewed.features)
    with pytest.warns(DataWarning, match="divided by their largest values"):
        found = fs.select(thin, max_features=1)
    assert found.data.is_sparse
    assert found.data.scale.method == "none"
    assert fs.select(thin, max_features=1, scale="unit-ball").data.scale.method == "unit-ball"
    with pytest.raises(fs.DataError, match="would shift the zeros"):
        fs.select(thin, max_features=1, scale="standard")
    lines = [
        f"{'+1' if label > 0 else '-1'} " + " ".join(f"{j + 1}:{x!r}" for j, x in enumerate(row))
        for label, row in zip(skewed.y, skewed.X.tolist(), strict=True)
    ]
    (tmp_path / "thin.svm").write_text("\n".join(lines) + "\n")
    theirs = asked(tmp_path, str(tmp_path / "thin.svm"), "--model", "fsp-m", "--max-features", "1")
    assert theirs["scale"]["method"] == "none"
    assert theirs["objective"] == pytest.approx(found.objective, rel=1e-9)


def test_embedded_bags_are_not_standardised():
    embedding = fs.instances.embed(fs.instances.load_bags("musk1_bags").scaled("standard"))
    assert fs.select(embedding.data, "one-norm-svm", C=1.0).data is embedding.data


BUILDERS = {
    "l2_svm": lambda d: fs.svm.l2_svm(d),
    "l2_svm_dual": lambda d: fs.svm.l2_svm_dual(d),
    "one_norm_svm": lambda d: fs.svm.one_norm_svm(d),
    "robust_lp": lambda d: fs.svm.robust_lp(d),
    "fsp_m": lambda d: fs.fsp.fsp_m(d, max_features=1),
    "fsp_m, rmp": lambda d: fs.fsp.fsp_m(d, max_features=1, form="rmp"),
    "fsp_lambda": lambda d: fs.fsp.fsp_lambda(d, penalty=1.0),
    "sub": lambda d: fs.fsp.sub(d, sigma=["a"]),
    "rmp": lambda d: fs.fsp.rmp(d, alpha=np.zeros(len(d)), C=1.0),
    "fs": lambda d: fs.concave.fs(d, penalty=0.1),
    "fsv": lambda d: fs.concave.fsv(d, penalty=0.1),
    "fsb": lambda d: fs.concave.fsb(d, penalty=0.1),
    "gmeb": lambda d: fs.gmeb.primal(d, R_plus=1.0, R_minus=1.0),
    "gmeb dual": lambda d: fs.gmeb.dual(d, R_plus=1.0, R_minus=1.0),
    "structural_svm": lambda d: fs.multivariate.structural_svm(d),
    "gmkl": lambda d: fs.kernel.gmkl(d, C=1.0, penalty=1.0),
    "rfe": lambda d: fs.baselines.rfe(d, max_features=1),
    "information_gain": lambda d: fs.baselines.information_gain(d, max_features=1),
}


@pytest.mark.parametrize("builder", BUILDERS)
def test_builders_take_the_data_as_they_are_and_say_once_that_columns_differ(builder, skewed):
    with pytest.warns(DataWarning) as caught:
        BUILDERS[builder](skewed)
    (warning,) = caught
    text = str(warning.message)
    assert '"skewed"' in text
    assert '"c" up to' in text
    assert '"b" up to' in text
    assert 'data.scaled("standard")' in text
    assert 'data.scaled("none")' in text
    assert warning.filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BUILDERS[builder](skewed.scaled("standard"))
        BUILDERS[builder](skewed.scaled("none"))  # somebody said so
        BUILDERS[builder](fs.Dataset.from_arrays(skewed.X * [1, 50, 0.1], skewed.y, features=skewed.features))


def test_a_hundred_times_is_the_least_that_is_said_and_zeros_do_not_count():
    X = np.array([[1.0, 99.0, 0.0], [-0.5, 3.0, 0.0], [0.2, -5.0, 0.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        near = fs.Dataset.from_arrays(X, [1, 0, 1])
        far = fs.Dataset.from_arrays(X * [1, 1.02, 1], [1, 0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fs.svm.l2_svm(near)
    with pytest.warns(DataWarning, match=r"differ by 1e\+02 times.*\"x2\" up to 101, \"x1\" up to 1\)"):
        fs.svm.l2_svm(far)


@pytest.mark.parametrize("features", [1, 2])
def test_what_is_left_of_an_edited_choice_is_solved_in_units_of_one_size(features, need):
    need("scip")
    X = np.array([[0.9, -2.2], [-0.8, 0.9], [0.2, -0.5], [-1.0, 0.5], [-0.9, 0.6], [-0.1, 0.9]])[:, :features]
    y = np.array([1.0, -1.0, -1.0, 1.0, 1.0, 1.0])
    for unit in (1.0, 1e6, 1e9):
        model = fs.concave.fs(fs.Dataset.from_arrays(X / unit, y), penalty=0.9)
        model.w["x1"].setlb(2.8e-4)  # leaves the optimum
        result = fs.solve(model, "scip")
        assert result.status is fs.SolutionStatus.OPTIMAL  # the bound excludes 0: x1 is selected
        assert result.objective == pytest.approx(1.09705882353, rel=1e-9)
