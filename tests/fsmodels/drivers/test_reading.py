"""How often a solve walks the user's model."""

import sys
from contextlib import contextmanager

import numpy as np
import pytest
from pyomo.core.base.block import BlockData

import fsmodels as fs
import solvers

WALKS = ("component_data_objects", "component_objects", "block_data_objects")


@contextmanager
def walks(monkeypatch, model):
    """Count the walks over a model's components by file, those of Pyomo itself too, but not walks within a walk."""
    counted = []

    def told(name, walk):
        def walked(self, *args, **options):
            caller = sys._getframe(1).f_globals["__name__"]
            if self is model and caller != BlockData.__module__:
                counted.append("pyomo" if caller.startswith("pyomo.") else name)
            return walk(self, *args, **options)

        return walked

    with monkeypatch.context() as patch:
        for name in WALKS:
            patch.setattr(BlockData, name, told(name, getattr(BlockData, name)))
        yield counted


def svm(data):
    return fs.svm.l2_svm(data)


def fsp(data):
    return fs.fsp.fsp_m(data, max_features=2, C=1.0)


@pytest.mark.parametrize(
    ("build", "solver", "ours", "most"),
    [
        (svm, None, 4, 5),
        (fs.svm.robust_lp, None, 2, 10),  # Pyomo's interface to HiGHS reads it twice, in four walks each
        (fs.svm.one_norm_svm, None, 2, 10),
        (fs.svm.one_norm_svm, "cutting-plane", 4, 4),
        (fsp, "branch-and-cut", 4, 4),  # again where it begins to solve: it may have been made long before
        (fsp, "benders", 4, 4),
        (fsp, "single-tree", 4, 4),
        (fsp, "scip", 2, 8),
    ],
)
def test_a_solve_reads_the_model_once(build, solver, ours, most, data, need, monkeypatch):
    if solver in solvers.interfaces.registry.SOLVERS:
        need(solver)
    model = build(data)
    with walks(monkeypatch, model) as counted:
        assert fs.solve(model, solver).has_solution
    assert 0 < len([name for name in counted if name != "pyomo"]) <= ours
    assert len(counted) <= most


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    y = np.where(np.arange(30) % 2, 1.0, -1.0)
    return fs.Dataset.from_arrays(rng.normal(size=(30, 4)) + 0.7 * y[:, None] * [1, 1, 0, 0], y)
