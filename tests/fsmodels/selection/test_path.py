"""Paths over parameters: the same optima as one by one, shared bounds, and errors."""

import itertools

import numpy as np
import pytest

import fsmodels as fs
from fsmodels.errors import InfeasibleParameter, ParameterError
from solvers.drivers.branch_cut.memory import Memory


@pytest.fixture
def data(make_data):
    return make_data(60, 6, seed=3)


@pytest.mark.parametrize("solver", [None, "benders", "scip"])
def test_each_point_is_the_enumerated_optimum(data, enumerated, solver):
    table = fs.path(data, max_features=[3, 1, 2], C=[1.0, 10.0], solver=solver)
    assert table.index.names == ["max_features", "C"]
    assert table.index.tolist() == list(itertools.product([1, 2, 3], [1.0, 10.0]))
    for (m, C), row in table.iterrows():
        best = enumerated(data, C=C, max_features=m)
        assert row["objective"] == pytest.approx(best, rel=1e-4)
        assert row["bound"] <= best * (1 + 1e-7)
        assert row["status"] == "optimal"
        assert row["n_selected"] == len(row["selected"]) <= m


def test_a_path_over_the_penalty(data, enumerated):
    table = fs.path(data, "fsp-lambda", penalty=[0.1, 1.0, dict.fromkeys(data.features, 3.0)])
    for penalty, objective in zip([0.1, 1.0, 3.0], table["objective"], strict=True):
        assert objective == pytest.approx(enumerated(data, penalty=dict.fromkeys(data.features, penalty)), rel=1e-4)


def test_side_constraints_and_validation_data(data, enumerated):
    train, _, test = data.split(train=0.7, validation=0, test=0.3, seed=0)
    table = fs.path(train, max_features=[1, 2], force_in=["c"], excludes=[("a", "b")], validation=test)
    assert all("c" in selected for selected in table["selected"])
    best = fs.select(train, max_features=2, force_in=["c"], excludes=[("a", "b")])
    assert table.loc[2, "validation_error"] == best.error(test)


def test_the_second_point_starts_from_the_first(data):
    model = fs.fsp.fsp_m(data, max_features=2)
    memory = Memory()
    fs.solve(model, memory=memory)
    cuts, answers = len(memory.cuts), len(memory.answers)
    assert cuts > 0
    model.max_features = 3
    fs.solve(model, memory=memory)
    assert len(memory.choices) == 2
    assert len(memory.cuts) >= cuts
    assert len(memory.answers) >= answers
    model.C = 5.0  # another subproblem: the cuts go, the choices stay
    fs.solve(model, memory=memory, iteration_limit=1)
    assert len(memory.choices) == 3


def test_memory_of_an_edited_subproblem_is_not_used(data, enumerated):
    model = fs.fsp.fsp_m(data, max_features=2)
    memory = Memory()
    before = fs.solve(model, memory=memory).objective
    model.w["a"].setub(0.01)
    model.w["a"].setlb(-0.01)
    edited = fs.solve(model, memory=memory)
    assert edited.objective == pytest.approx(fs.solve(model).objective, rel=1e-6)
    model.w["a"].setub(None)
    model.w["a"].setlb(None)
    assert fs.solve(model, memory=memory).objective == pytest.approx(before, rel=1e-6)


def test_bounds_are_shared_where_a_point_stopped_early(make_data):
    data = make_data(200, 8, seed=1)
    table = fs.path(data, max_features=[1, 2, 3, 4], iteration_limit=1)
    bounds = table["bound"].to_numpy()
    assert np.all(np.diff(bounds) <= 1e-9)  # what more features cannot reach, fewer cannot either
    assert np.all(table["bound"] <= table["objective"] + 1e-9)


@pytest.mark.parametrize("model", ["rfe", "information-gain", "mutual-information"])
def test_baselines_have_paths_too(data, model):
    table = fs.path(data, model, max_features=[1, 3])
    assert table["n_selected"].tolist() == [1, 3]
    assert table["bound"].isna().all()


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"max_features": 2}, ParameterError, "several values"),
        ({"max_features": []}, ParameterError, "no values"),
        ({"max_features": [2, 2]}, ParameterError, "contains 2 twice"),
        ({"max_features": [0, 1]}, InfeasibleParameter, "max_features=0"),
        ({"max_features": 2, "C": [1.0, -1.0]}, ParameterError, "C=-1.0"),
        ({"max_features": 2, "penalty": [1.0, 2.0]}, ParameterError, "does not use penalty"),
    ],
)
def test_bad_grids(data, arguments, error, words):
    with pytest.raises(error, match=words):
        fs.path(data, **arguments)


@pytest.mark.parametrize("memory", [True, "x", 3])
def test_memory_of_another_kind_is_refused(data, memory):
    with pytest.raises(fs.OptionError, match=r"solvers\.Memory"):
        fs.solve(fs.fsp.fsp_m(data, max_features=2), memory=memory)


def test_large_data_are_not_written_out_as_rows(data, enumerated, monkeypatch):
    monkeypatch.setattr("fsmodels.models.fsp.specs.LARGE", 100)
    found = fs.select(data, max_features=2)
    assert found.model.component("margin") is None
    assert found.objective == pytest.approx(enumerated(data, max_features=2), rel=1e-4)
    assert fs.select(data, max_features=2, form="perspective").model.component("margin") is not None
    assert fs.select(data, max_features=2, solver="benders", sub_solver="clarabel").status.value == "optimal"
    assert fs.select(data, max_features=2, solver="scip").status.value == "optimal"
