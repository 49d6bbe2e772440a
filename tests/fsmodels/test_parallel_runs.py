"""Runs of all models by all solvers at the same time: the answers of runs one after another."""

import os

import pytest

import parallel

SHARE = float(os.environ.get("FSMODELS_SOAK", "1"))
SEEDS = max(1, round(SHARE))


@pytest.fixture(scope="module")
def expected():
    """The runs, and their answers one after another."""
    asked = [parallel.Job(job.model, seed, job.solver) for seed in range(SEEDS) for job in parallel.jobs()]
    return asked, [parallel.run(job) for job in asked]


@pytest.mark.slow
@pytest.mark.parametrize("mode", parallel.MODES)
def test_runs_at_the_same_time_return_the_answers_of_runs_in_turn(mode, expected):
    if mode.startswith("dask"):
        pytest.importorskip("distributed")
    asked, alone = expected
    assert parallel.wrong(asked, alone, parallel.answers(mode, asked)) == []
