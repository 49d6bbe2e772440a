"""A refusal points to what works: the driver of the model, who takes an option, a model by another name."""

import re
from dataclasses import replace
from types import SimpleNamespace

import pyomo.environ as pyo
import pytest

import fsmodels as fs
from fsmodels.cli.select import next_steps
from solvers import SOLVERS, StopReason
from solvers.drivers.catalogue import DRIVERS

DATA = fs.load_dataset("bupa").scaled("standard").take(range(60))


def test_the_models_own_driver_is_named_first():
    with pytest.raises(fs.SolverError, match=r"solvers that can: branch-and-cut \(the driver of the model\), .*scip"):
        fs.solve(fs.fsp.fsp_m(DATA, max_features=2), "highs")
    model = fs.concave.fsb(DATA, penalty=0.1)
    with pytest.raises(fs.SolverError, match=r"solvers that can: alternating \(the driver of the model\)"):
        fs.solve(model, "highs")


def test_an_option_belongs_to_the_drivers_that_take_it():
    with pytest.raises(fs.OptionError) as refusal:
        fs.solve(fs.fsp.fsp_m(DATA, max_features=2), "scip", warm_start=True)
    named = str(refusal.value)
    assert '"warm_start" belongs to the drivers (alternating, multi-start), not to scip' in named
    for name in set(DRIVERS) - {"alternating", "multi-start"}:
        assert name not in named


def test_a_model_without_an_objective_has_none_to_deactivate():
    model = fs.fsp.fsp_m(DATA, max_features=2)
    model.objective.deactivate()
    for solver in ("branch-and-cut", "scip"):
        with pytest.raises(fs.ModelError, match=r"found: none\. Add") as refusal:
            fs.solve(model, solver)
        assert "Deactivate" not in str(refusal.value)


@pytest.mark.parametrize(
    ("word", "named"),
    [
        ("lasso", 'see "one-norm-svm"'),
        ("L1-SVM", 'see "one-norm-svm"'),
        ("linear_svc", "Models:"),
        ("SVC", 'see "svm"'),
        ("svm-rfe", 'see "rfe"'),
        ("fsp_m", 'Did you mean "fsp-m"'),
        ("one-norm", 'Did you mean "one-norm-svm"'),
        ("gmeb-dua", 'Did you mean "gmeb-dual"'),
    ],
)
def test_another_word_for_a_model(word, named):
    with pytest.raises(fs.ParameterError, match=named):
        fs.select(DATA, word, max_features=2)


@pytest.mark.parametrize("word", ["boost", "glass", "forest", "pca", "cat"])
def test_a_word_that_is_near_nothing_gets_no_suggestion(word):
    with pytest.raises(fs.ParameterError) as refusal:
        fs.select(DATA, word, max_features=2)
    assert "Did you mean" not in str(refusal.value)
    assert 'see "' not in str(refusal.value)


@pytest.mark.parametrize("stop", [StopReason.INTERRUPTED, StopReason.TIME_LIMIT])
def test_ctrl_c_is_no_reason_for_another_solver(stop):
    found = fs.select(DATA, "fsp-m", max_features=2, solver="benders", iteration_limit=1)
    found = replace(found, stop_reason=stop)
    asked = SimpleNamespace(solver="benders", json=None)
    assert found.status is not fs.SolutionStatus.OPTIMAL
    said = "\n".join(next_steps(found, asked))
    assert ("own driver" in said) == (stop is StopReason.TIME_LIMIT)


@pytest.mark.parametrize(
    ("model", "words", "solver", "own"),
    [
        ("fsp-m", {"max_features": 2}, "benders", "branch-and-cut"),
        ("fs", {"penalty": 0.1}, "scip", "branch-and-cut"),
        ("gmeb", {"R_plus": 1, "R_minus": 1, "max_features": 2}, "scip", "cutting-plane"),
        ("fsp-m", {"max_features": 2}, None, None),
        ("fss", {"penalty": 0.1}, None, None),
    ],
)
def test_no_solver_is_hinted_at_but_the_models_own(model, words, solver, own):
    """No other was measured to close a gap that this had left."""
    found = fs.select(DATA, model, solver=solver, time_limit=20, **words)
    result = replace(found.result, status=fs.SolutionStatus.FEASIBLE)
    found = replace(found, status=fs.SolutionStatus.FEASIBLE, stop_reason=StopReason.TIME_LIMIT, result=result)
    said = next_steps(found, SimpleNamespace(solver=solver, json=None))
    named = [{*DRIVERS, *SOLVERS} & set(re.split(r"[ ,:]+", step)) for step in said[2:]]
    assert [names for names in named if names] == ([] if own is None else [{own}])
    assert ("no --solver" in "".join(said)) == (own is not None)


@pytest.mark.parametrize("solver", ["branch-and-cut", "benders"])
def test_a_driver_says_that_it_leaves_the_multipliers_empty(solver):
    model = fs.fsp.fsp_m(DATA, max_features=2)
    model.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    model.dual[model.cardinality] = 7.0
    result = fs.solve(model, solver)
    assert len(model.dual) == 0
    assert "No multipliers in model.dual" in result.message
    for v in model.sigma.values():
        v.fix(round(v.value))
    whole = fs.solve(model, "clarabel")
    assert len(model.dual) > 0
    assert "No multipliers" not in whole.message
