"""A model of every builder and form: copies, changed parameters, limits."""

import copy
import inspect
import pickle

import numpy as np
import pyomo.environ as pyo
import pytest

import fsmodels as fs
from fsmodels.models import concave, fsp, gmeb, kernel, multivariate
from parallel import data
from solvers import StopReason, facts_of
from solvers.model.classes import violation

GMEB = {"R_plus": 2.0, "R_minus": 2.0}
KERNEL = {"C": 1.0, "penalty": 0.1}
SHARE = {"penalty": 0.1}
MOST = {"max_features": 2}
SMALL = 10  # samples, where rows are one for each labelling


def start(builder):
    return lambda d, **given: builder(d, u=np.full(len(d.y), 0.1), b=0.0, **given)


BUILDERS = {
    "l2_svm": (fs.svm.l2_svm, {}),
    "l2_svm_dual": (fs.svm.l2_svm_dual, {}),
    "one_norm_svm": (fs.svm.one_norm_svm, {}),
    "one_norm_svm sigma": (fs.svm.one_norm_svm, {"sigma": True}),
    "robust_lp": (fs.svm.robust_lp, {}),
    **{f"fsp_m {form}": (fsp.fsp_m, {"form": form, **MOST}) for form in (*fsp.FORMS, fsp.RMP)},
    **{f"fsp_lambda {form}": (fsp.fsp_lambda, {"form": form, "penalty": 0.5}) for form in fsp.FORMS},
    "fsp_m squared": (fsp.fsp_m, {"loss": "squared-hinge", **MOST}),
    "fsp_m without intercept": (fsp.fsp_m, {"intercept": False, **MOST}),
    "sub": (fsp.sub, {"sigma": ["x1", "x2"]}),
    "rmp": (lambda d, **given: fsp.rmp(d, alpha=np.zeros((1, len(d.y))), **given), {"C": 1.0, **MOST}),
    **{f"fs {form}": (concave.fs, {"form": form, **SHARE}) for form in concave.FORMS},
    "fs max_features": (concave.fs, {**MOST, **SHARE}),
    "fsl": (concave.fsl, SHARE),
    **{
        f"{name} sigma={sigma}": (getattr(concave, name), {"sigma": sigma, **SHARE})
        for name in ("fss", "fsv", "fsb")
        for sigma in (False, True)
    },
    **{f"gmeb {name}": (getattr(gmeb, name), GMEB) for name in ("primal", "dual", "nonconvex")},
    "gmeb sigma": (gmeb.primal, {"sigma": True, **GMEB}),
    "gmeb quotient": (gmeb.primal, {"form": "quotient", **GMEB}),
    "gmeb penalized": (gmeb.penalized, {"C_plus": 1.0, "C_minus": 1.0}),
    "gmeb svm_ratio": (gmeb.svm_ratio, {}),
    "gmeb perspective of svm_ratio": (gmeb.svm_ratio, {"form": "perspective"}),
    "gmeb svm_unsquared": (gmeb.svm_unsquared, {}),
    **{
        f"fsmulti {loss} {form}": (multivariate.fsmulti, {"budget": 2, "loss": loss, "form": form})
        for loss in ("f1", "prbep", "hamming")
        for form in multivariate.FORMS
    },
    "fsmulti sigma": (multivariate.fsmulti, {"budget": 2, "loss": "hamming", "sigma": True}),
    "fsmulti offset": (multivariate.fsmulti, {"budget": 2, "loss": "hamming", "offset": True}),
    "fsmulti power": (multivariate.fsmulti, {"budget": 2, "loss": "hamming", "p": 3.0}),
    "fgm": (multivariate.fgm, {"budget": 2}),
    "fgm power": (multivariate.fgm, {"budget": 2, "p": 3.0}),
    "structural_svm": (multivariate.structural_svm, {}),
    **{
        f"kernel {name} {form}": (getattr(kernel, name), {"form": form, **KERNEL})
        for name in ("full_fs", "ao_simple", "ao_margin", "ao_efs", "gmkl")
        for form in kernel.FORMS
    },
    "kernel svm": (lambda d, C: kernel.svm(d, np.full(5, 0.5), C=C), {"C": 1.0}),
    **{f"kernel {name}": (start(getattr(kernel, name)), KERNEL) for name in ("fs", "xfs", "efs")},
}
LONG = ("kernel", "gmeb nonconvex", "fss", "fsv", "fsb", "fsmulti sigma")
SOLVED = [pytest.param(name, marks=pytest.mark.slow) if name.startswith(LONG) else name for name in BUILDERS]
LOCAL = ("kernel", "gmeb nonconvex", "gmeb penalized", "gmeb svm_ratio", "fss", "fsv", "fsb")  # no proof of the optimum
WAYS = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "deepcopy": copy.deepcopy,
    "clone": lambda model: model.clone(),
}
CHANGED = {"C": 2.0, "penalty": 0.15, "R_plus": 0.5, "R_minus": 0.7, "C_plus": 0.6, "C_minus": 0.4, "max_features": 3,
           "budget": 1}  # fmt: skip
pytestmark = pytest.mark.filterwarnings("ignore")


def build(name, **changed):
    builder, given = BUILDERS[name]
    d = data(0)
    if name.startswith("kernel"):
        d = fs.Dataset.from_arrays(d.X[:SMALL], d.y[:SMALL]).scaled("standard")
    return builder(d, **{**given, **changed})


def answer(model):
    result = fs.solve(model, time_limit=600)
    return result.solver, result.status, result.objective, violation(model)


@pytest.mark.parametrize("name", BUILDERS)
def test_a_model_can_be_copied_in_every_way(name):
    model = build(name)
    for way, make in WAYS.items():
        made = make(model)
        assert (facts_of(made) is None) == (facts_of(model) is None), way
        held = {id(v) for v in model.component_data_objects(pyo.Var)}
        theirs = [id(v) for v in made.component_data_objects(pyo.Var)]
        assert len(theirs) == len(held), way
        assert not held & set(theirs), way


def equal(found, expected, rel=1e-6):
    assert found[:2] == expected[:2]
    assert found[2] == pytest.approx(expected[2], rel=rel, abs=1e-8)
    assert found[3] <= 1e-6


@pytest.mark.parametrize("name", SOLVED)
def test_a_copy_of_a_model_is_solved_as_the_model_is(name):
    """A parameter that is changed on a copy counts there, and not in the model; it may change between solves."""
    model = build(name)
    copies = {way: make(model) for way, make in WAYS.items()}
    expected = answer(model)
    for made in copies.values():
        equal(answer(made), expected)
    values = [v.value for v in model.component_data_objects(pyo.Var)]
    taken = inspect.signature(BUILDERS[name][0]).parameters
    for parameter, value in CHANGED.items():
        held = model.component(parameter)
        if isinstance(held, pyo.Param) and (parameter in taken or "given" in taken):
            before = held.extract_values()
            made = build(name).clone() if name.startswith(LOCAL) else copies["clone"]  # else it starts elsewhere
            made.component(parameter).store_values(dict.fromkeys(before, value))
            equal(answer(made), answer(build(name, **{parameter: value})), 1e-3 if name.startswith(LOCAL) else 1.1e-4)
            made.component(parameter).store_values(before)
            assert held.extract_values() == before
    assert [v.value for v in model.component_data_objects(pyo.Var)] == values


@pytest.mark.parametrize("name", SOLVED)
def test_a_limit_leaves_a_point_of_the_model_and_a_bound(name):
    best = fs.solve(build(name))
    for limit in ({"time_limit": 1e-9}, {"iteration_limit": 1}):
        model = build(name)
        try:
            result = fs.solve(model, **limit)
        except fs.OptionError:  # a solver without iterations that it counts
            continue
        sign = 1.0 if result.objective is None or model.objective.sense == pyo.minimize else -1.0
        room = 1e-6 * (1 + abs(best.objective))
        assert result.stop_reason in (StopReason.TIME_LIMIT, StopReason.ITERATION_LIMIT, StopReason.CONVERGED)
        if result.objective is not None:
            assert violation(model) <= 1e-6
            assert name.startswith(LOCAL) or sign * result.objective >= sign * best.objective - room
        if result.bound is not None:
            assert sign * result.bound <= sign * best.objective + room
