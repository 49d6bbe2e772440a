"""A run that a limit ends at once has a point where rows on the features allow one, and none where they do not."""

import numpy as np
import pytest

import fsmodels as fs
from solvers.drivers.catalogue import DRIVERS
from solvers.interfaces.registry import SOLVERS
from solvers.model.classes import violation

MODELS = {
    "fsp-m": {"max_features": 2},
    "fsp-lambda": {"penalty": 0.1},
    "fs": {"penalty": 0.1},
}


def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 4))
    return fs.Dataset.from_arrays(X, np.where(X[:, 0] > 0, 1, -1), features=list("abcd")).scaled("none")


WAYS = [
    *((name, None, {}) for name in MODELS),
    *(("fsp-m", solver, {"form": form}) for solver in ("benders", "branch-and-cut") for form in ("perspective", "rmp")),
    *(("fsp-lambda", "scip", {"form": form}) for form in fs.fsp.FORMS),
    ("fsp-m", "gurobi", {}),
    ("fs", "scip", {}),
]


@pytest.mark.parametrize(("name", "solver", "options"), WAYS)
def test_forced_features_are_in_the_point_of_a_run_without_time(name, solver, options):
    if solver in SOLVERS and not SOLVERS[solver].found:
        pytest.skip(f"{solver} is not installed")
    assert solver is None or solver in SOLVERS or solver in DRIVERS
    costs = {"a": 2.0, "b": 1.0, "c": 3.0, "d": 1.0}
    found = fs.select(
        table(), name, solver=solver, time_limit=0, force_in=["b"], requires=[("b", "d")], budget=(costs, 3.0),
        **MODELS[name], **options,
    )  # fmt: skip
    assert found.stop_reason is fs.StopReason.TIME_LIMIT
    assert set(found.selected) == {"b", "d"}
    assert found.objective is not None
    if options.get("form") != "rmp":
        assert violation(found.model) < 1e-9


@pytest.mark.parametrize("name", MODELS)
def test_rows_that_allow_nothing_give_no_point(name):
    rows = {"force_in": ["b"], "requires": [("b", "d")], "excludes": [("b", "d")]}
    found = fs.select(table(), name, time_limit=0, **rows, **MODELS[name])
    assert found.objective is None
