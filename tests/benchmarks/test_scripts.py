"""Every script of our own questions still runs: one small task of each, as its log would have it."""

import importlib
import json

import numpy as np
import pytest

from benchmarks.__main__ import commands
from benchmarks.comparisons import fsp_exact
from benchmarks.comparisons.best_known import evaluate_runs

TASKS = {
    "ablation": {
        "data": "cleveland", "n": None, "p": None, "M": 4, "C": 1.0, "variant": "with pruning by known cuts",
        "limit": 20.0,
    },
    "first_page": {"set": "cleveland", "M": 2, "fold": 0, "contender": "fsp-m"},
    "foreign_models": {"model": "capacitated 15 x 40, strong", "seed": 0},
    "fsp_benders": {
        "data": "cleveland", "M": 4, "budget": None, "seed": 0, "form": "big-m", "contender": "branch-and-cut",
    },
    "fsp_real": {"data": "cleveland", "C": 1.0, "M": 3, "contender": "all supports", "limit": 30.0},
    "gmeb_rows": {"data": "ionosphere", "R_plus": 2.0, "R_minus": 2.0, "share": 0.3},
    "nlp_solvers": {"group": "Hock and Schittkowski", "model": "HS71", "start": 1, "solver": "cyipopt"},
    "parallel_tree": {
        "data": "cleveland", "n": None, "p": None, "M": 4, "C": 1.0, "how": "replay", "repeat": 0, "limit": 5.0,
    },
    "sparse_rivals": {"part": 1, "data": "cleveland", "share": 0.03, "contender": "ours", "limit": 20.0},
    "two_stage": {"model": "dcap", "scenarios": 10, "contender": "benders", "limit": 20.0},
    "wide": {"data": "gaussian", "n": 500, "p": 1000, "M": 10, "C": 0.01, "contender": "branch-and-cut", "limit": 60.0},
    "ablation_steps": {
        "part": "two-layer", "data": "wdbc", "model": "hamming", "B": 5, "C": 1.0, "variant": "complete", "limit": 60.0,
    },
    "sub_oracle": {
        "samples": 100, "features": 4, "C": 1, "support": "mixed", "seed": 0, "contender": "oracle",
    },
}  # fmt: skip


def script(name):
    """Return the module of a command."""
    return importlib.import_module(commands()[name])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TASKS)
def test_a_task_ends_with_a_record(name, monkeypatch):
    module = script(name)
    for warm in {"warm_up", "first"} & set(vars(module)):  # only seconds ask for it
        monkeypatch.setattr(module, warm, lambda *_, **__: None)
    assert any(set(task) == {*TASKS[name], "protocol"} for task in module.tasks(True))
    record = module.work(**TASKS[name], protocol=module.PROTOCOL)
    json.dumps(record, allow_nan=False)
    assert record


def test_tasks_are_told_from_each_other():
    for name in (*TASKS, "fsp_exact"):
        tasks = [json.dumps(task) for task in script(name).tasks(True)]
        assert len(tasks) == len(set(tasks))


@pytest.mark.parametrize("contender", ["ours", "l1"])
def test_a_contender_of_fsp_exact_is_judged_by_its_data(contender, tmp_path):
    spec = fsp_exact.task(fsp_exact.Instance(1, 60, 6, 2, 1.0, 10), 0, contender)
    fsp_exact.draw(spec | {"data": str(tmp_path / "instance.npz")})
    record = spec | fsp_exact.contend(spec | {"data": str(tmp_path / "instance.npz")}) | {"wall_seconds": 1.0}
    (run,) = fsp_exact.evaluate_runs([record])
    assert run["proven"] is (True if contender == "ours" else None)
    assert not run["wrong"]
    assert run["above"] == pytest.approx(0.0, abs=1e-9)


def test_a_bound_above_the_best_known_is_wrong_and_proves_nothing():
    spec = fsp_exact.task(fsp_exact.Instance(1, 60, 6, 2, 1.0, 10), 0, "SCIP")
    found = {
        "features": 2,
        "wall_seconds": 1.0,
        "peak_mb": 1.0,
        "status": "optimal",
        "objective": 2.0,
        "refit": 2.0,
        "bound": 2.0,
    }
    better = spec | found | {"contender": "RFE", "objective": None, "bound": None, "refit": 1.0}
    run, _ = fsp_exact.evaluate_runs([spec | found, better])
    assert run["wrong"]
    assert not run["proven"]


def test_a_reported_optimum_above_a_better_result_by_more_than_the_gap_is_not_proven():
    run = {"data": "wdbc", "cpu": 1.0, "bound": None, "status": "optimal"}
    found = evaluate_runs([run | {"objective": value} for value in (1.0, 1.0001, 1.0003)], cell=("data",))
    assert [run["proven"] for run in found] == [True, True, False]


@pytest.mark.parametrize("method", ["FSmulti", "l1", "RFE"])
def test_a_fit_of_the_wide_set(method, tmp_path):
    wide = script("multivariate_scale")
    spec = {"shape": [120, 6000, 30], "seed": 0, "folder": str(tmp_path), "labels": "rare", "method": method}
    wide.job(spec | {"method": "data"})
    record = wide.job(spec | {"loss": "f1", "c": 10.0, "gap asked": 0.1, "most": 20})
    assert record["features"] > 0
    assert np.isfinite([*record["test"].values()]).all()


def test_the_spread_of_f1_over_rows_has_its_mean_and_the_bootstraps_error():
    from benchmarks.comparisons.multivariate_scale import page

    random = np.random.default_rng(0)
    true, said = (np.packbits(random.random(400) < share) for share in (0.3, 0.5))
    fit = {"name": "l1", "labels": "rare", "test rows": 397, "true rows": true.tobytes().hex()}
    found = page.spread([fit | {"tuned rows": said.tobytes().hex()}], "l1", "rare")
    y, z = (np.unpackbits(bits)[:397].astype(float) for bits in (true, said))

    def f1(rows):
        return 200.0 * (y[rows] @ z[rows]) / (y[rows] + z[rows]).sum()

    assert found.mean() == pytest.approx(f1(np.arange(397)))
    again = [f1(random.integers(0, 397, 397)) for _ in range(2000)]
    assert found.std(ddof=1) / 397**0.5 == pytest.approx(np.std(again), rel=0.1)
    assert page.spread([], "l1", "rare") is None
