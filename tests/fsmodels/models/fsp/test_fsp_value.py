"""Rivals of FSP report FSP's objective of what they select, so that a selection can be compared with the exact one."""

import json

import numpy as np
import pytest
from scipy import sparse

import fsmodels as fs
from fsmodels import cli
from fsmodels.models.fsp.oracle import SvmOracle
from fsmodels.selection.catalogue import MODELS

RIVALS = {"rfe": {}, "information-gain": {}, "mutual-information": {}, "relief": {}, "one-norm-svm": {}}
DATA = fs.load_dataset("wdbc").take(range(0, 569, 6))


def options(model):
    return {} if model == "one-norm-svm" else {"max_features": 3}


def test_these_are_the_rivals():
    assert {name for name, spec in MODELS.items() if "fsp_objective" in spec.comparison_objectives} == set(RIVALS)


@pytest.mark.parametrize("C", [0.1, 1.0, 50.0])
@pytest.mark.parametrize("model", RIVALS)
def test_it_is_the_whole_models_optimum_on_the_support(model, C):
    found = fs.select(DATA, model, C=C, **options(model))
    few = found.data.select_features(found.selected)
    assert found.fsp_objective == pytest.approx(fs.solve(fs.svm.l2_svm(few, C=C), "clarabel").objective, rel=1e-5)
    w = np.array([found.weights.get(j, 0.0) for j in DATA.features])
    own = 0.5 * w @ w + C * np.maximum(0, 1 - DATA.y * (found.data.X @ w + found.bias)).sum()
    assert found.fsp_objective <= own * (1 + 1e-6)
    assert found.to_dict()["fsp_objective"] == found.fsp_objective
    for report in (repr(found), found._repr_html_()):
        assert f"{found.fsp_objective:.6g} on these features at C = {C:g}" in report


@pytest.mark.parametrize("model", ["rfe", "relief"])
def test_it_is_never_below_the_exact_optimum_of_that_size(model):
    best = fs.select(DATA, "fsp-m", max_features=3)
    assert fs.select(DATA, model, max_features=3).fsp_objective >= best.bound
    assert best.fsp_objective is best.to_dict()["fsp_objective"] is None  # its own objective is that
    assert fs.fsp.value(best.data, best.selected) == pytest.approx(best.objective, rel=1e-6)


def test_no_feature_at_all_costs_the_smaller_class_twice():
    found = fs.select(DATA, "one-norm-svm", C=1e-6)
    assert found.selected == ()
    assert found.fsp_objective == pytest.approx(2e-6 * min((DATA.y > 0).sum(), (DATA.y < 0).sum()))


def test_sparse_data_and_unscaled_columns():
    X = np.round(DATA.X[:, :4] * [1, 1, 0.1, 0.001])
    thin = fs.Dataset.from_arrays(sparse.csr_array(X), DATA.y)
    found = fs.select(thin, "rfe", max_features=2)
    columns = [thin.features.index(j) for j in found.selected]
    assert found.fsp_objective == pytest.approx(SvmOracle(X[:, columns], DATA.y, 1.0).solve([1, 1]).value, rel=1e-5)


def test_what_cannot_be_certified_in_time_is_none_and_shown_nowhere(monkeypatch):
    assert fs.fsp.value(DATA.scaled("standard"), DATA.features[:9], C=10.0, time_limit=0) is None
    monkeypatch.setattr("fsmodels.selection.outcome.FSP_SECONDS", 0.0)
    found = fs.select(DATA, "rfe", max_features=9, C=10.0)
    assert found.fsp_objective is None
    assert "FSP objective" not in repr(found)


def test_bad_arguments_are_refused():
    with pytest.raises(fs.ParameterError, match="C=0"):
        fs.fsp.value(DATA, ["mean_radius"], C=0)
    with pytest.raises(fs.DataError, match="mean_radiu"):
        fs.fsp.value(DATA, ["mean_radiu"])


def test_a_path_of_a_rival_and_the_command_line_have_it(tmp_path, capsys):
    table = fs.path(DATA, "rfe", max_features=[1, 2])
    assert table.loc[2, "fsp_objective"] == fs.select(DATA, "rfe", max_features=2).fsp_objective
    assert "fsp_objective" not in fs.path(DATA, max_features=[1, 2])
    out = tmp_path / "out.json"
    assert cli.main(["select", "bupa", "--model", "rfe", "--max-features", "2", "--json", str(out)]) == 0
    value = json.loads(out.read_text("utf-8"))["fsp_objective"]
    assert f"{value:.6g} on these features" in capsys.readouterr().out
