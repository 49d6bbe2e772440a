"""Folds on other machines, by joblib's backends: equal results, and a memory of finished folds."""

import importlib.util

import joblib
import pytest

import fsmodels as fs

WORDS = {"model": "rfe", "max_features": 2, "cv": 3}


@pytest.fixture(scope="module")
def data():
    return fs.load_dataset("bupa")


@pytest.fixture(scope="module")
def here(data):
    return fs.cross_validate(data, **WORDS).runs.drop(columns="seconds")


def folds(data, folder):
    """Folds by the configured backend, which a second call reads from the memory."""
    found = fs.cross_validate(data, memory=folder, **WORDS)
    assert found.note == ""
    again = fs.cross_validate(data, memory=folder, **WORDS)
    assert again.note == "3 of 3 runs were read from folds."
    assert again.runs.equals(found.runs)
    return found.runs.drop(columns="seconds")


@pytest.mark.skipif(not importlib.util.find_spec("distributed"), reason="distributed is not installed")
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_dask_says_the_same(data, here, tmp_path, n_jobs):
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        if n_jobs is None:
            assert folds(data, tmp_path / "folds").equals(here)
        else:
            found = fs.cross_validate(data, n_jobs=n_jobs, **WORDS)
            assert found.runs.drop(columns="seconds").equals(here)


@pytest.mark.skipif(not importlib.util.find_spec("ray"), reason="ray is not installed")
@pytest.mark.filterwarnings("ignore")
def test_ray_says_the_same(data, here, tmp_path):
    import ray
    from ray.util.joblib import register_ray

    register_ray()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        with joblib.parallel_config(backend="ray"):
            assert folds(data, tmp_path / "folds").equals(here)
    finally:
        ray.shutdown()


def test_a_backend_that_gives_answers_all_at_once_gets_a_handful_at_a_time(data, here, tmp_path):
    """As Ray's and multiprocessing's do."""
    with joblib.parallel_config(backend="multiprocessing", n_jobs=2):
        assert folds(data, tmp_path / "folds").equals(here)
