"""The benchmark for benchopt: every solver on small data, by benchopt and on a base class in its place."""

import itertools
import math
import os
import runpy
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pandas as pd
import pytest

import fsmodels as fs

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "benchmarks" / "benchopt"
PROVE = {"branch-and-cut", "SCIP", "Gurobi"}
SMALL = {"n_samples": 40, "n_features": 6, "n_relevant": 2}
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="tests run without the source tree")


class Base:
    """What the benchmark needs of benchopt's base classes."""

    def __init__(self, **given):
        values = getattr(self, "parameters", {})
        vars(self).update({name: first for name, (first, *_) in values.items()} | given)

    def get_seed(self, **words):
        return 0


@pytest.fixture
def load(monkeypatch):
    """Return the function that loads a class of a file of the benchmark; a missing package skips the test."""

    def loaded(path):
        try:
            return runpy.run_path(str(FOLDER / path))
        except ImportError as error:
            pytest.skip(str(error))

    stub, utils = types.ModuleType("benchopt"), types.ModuleType("benchmark_utils")
    stub.BaseObjective = stub.BaseDataset = stub.BaseSolver = Base
    monkeypatch.setitem(sys.modules, "benchopt", stub)
    vars(utils).update(loaded("benchmark_utils/__init__.py"))
    monkeypatch.setitem(sys.modules, "benchmark_utils", utils)
    return lambda path, name: loaded(path)[name]


@pytest.fixture
def objective(load):
    objective = load("objective.py", "Objective")(max_features=2, time_limit=60.0)
    objective.set_data(**load("datasets/simulated.py", "Dataset")(**SMALL).get_data())
    return objective


@pytest.mark.parametrize("file", sorted(FOLDER.glob("solvers/*.py")), ids=lambda file: file.stem)
def test_a_proven_selection_is_the_optimum_of_the_enumeration(load, objective, file):
    solver = load(file, "Solver")()
    solver.set_objective(**objective.get_objective())
    solver.run(None)
    found = objective.evaluate_result(**solver.get_result())
    supports = itertools.combinations(objective.data.features, 2)
    optimum = min(fs.fsp.value(objective.data, support) for support in supports)
    assert 1 <= found["n_features"] <= 2
    assert found["value"] >= optimum * (1 - 1e-6)
    if solver.name in PROVE:
        assert found["value"] == pytest.approx(optimum, rel=2e-4)
        assert -1e-6 <= found["gap"] <= 1e-4
    else:
        assert math.isnan(found["gap"])


def test_the_objective_rejects_too_many_features(objective):
    with pytest.raises(ValueError, match="3 features are selected: at most 2 are allowed"):
        objective.evaluate_result([0, 1, 2], 0.0)
    objective.max_features = 7
    assert objective.skip(objective.X, objective.y) == (True, "max_features=7, and the data have 6 features")


@pytest.mark.filterwarnings("ignore::fsmodels.DataWarning")  # a constant column
def test_shipped_data_sets_are_standardised(load):
    Dataset = load("datasets/shipped.py", "Dataset")
    for name in Dataset.parameters["set"]:
        data = Dataset(set=name).get_data()
        assert abs(data["X"].mean(axis=0)).max() < 1e-9
        assert data["X"].shape[0] <= 1000


def test_benchopt_runs_the_benchmark_and_omits_a_solver_without_its_package(tmp_path):
    pytest.importorskip("benchopt")
    (tmp_path / "gurobipy").mkdir()
    (tmp_path / "gurobipy" / "__init__.py").write_text("raise ImportError('not installed')")
    folder = shutil.copytree(FOLDER, tmp_path / "benchmark", ignore=shutil.ignore_patterns("outputs", "__cache__"))
    words = ["run", str(folder), "-o", "*[max_features=2]", "-d", "simulated[n_samples=40,n_features=6,n_relevant=2]"]
    words += ["-d", "shipped[set=bupa]", "--no-plot", "--no-html", "--no-display", "--output", "small"]
    path = os.pathsep.join([str(tmp_path), str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "benchopt", *words],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    runs = pd.read_parquet(folder / "outputs" / "small.parquet")
    assert {"branch-and-cut", "SCIP", "RFE", "l1"} <= set(runs["solver_name"])
    assert "Gurobi" not in set(runs["solver_name"])
    assert len(set(runs["dataset_name"])) == 2
    assert (runs["objective_n_features"] <= 2).all()
    for _, of in runs.groupby("dataset_name"):
        ours = of[of["solver_name"] == "branch-and-cut"].iloc[0]
        assert ours["objective_gap"] <= 1e-4
        assert ours["objective_value"] <= of["objective_value"].min() * (1 + 1e-4)
