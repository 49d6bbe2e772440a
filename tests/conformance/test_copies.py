"""A model of every builder and form, pickled, copied and cloned: the same driver solves it, to the same answer."""

import copy
import pickle

import numpy as np
import pyomo.environ as pyo
import pytest

import fsmodels as fs
from fsmodels.models import concave, fsp, gmeb, kernel, multivariate
from parallel import data
from solvers import facts_of
from solvers.model.classes import violation

GMEB = {"R_plus": 2.0, "R_minus": 2.0}
KERNEL = {"C": 1.0, "penalty": 0.1}
SHARE = {"penalty": 0.1}
MOST = {"max_features": 2}
SMALL = 10  # samples, where rows are one for each labelling


def start(d):
    return {"u": np.full(len(d.y), 0.1), "b": 0.0, **KERNEL}


BUILDERS = {
    "l2_svm": lambda d: fs.svm.l2_svm(d),
    "l2_svm_dual": lambda d: fs.svm.l2_svm_dual(d),
    "one_norm_svm": lambda d: fs.svm.one_norm_svm(d),
    "one_norm_svm sigma": lambda d: fs.svm.one_norm_svm(d, sigma=True),
    "robust_lp": lambda d: fs.svm.robust_lp(d),
    **{f"fsp_m {form}": lambda d, form=form: fsp.fsp_m(d, form=form, **MOST) for form in fsp.forms.FORMS},
    **{
        f"fsp_lambda {form}": lambda d, form=form: fsp.fsp_lambda(d, penalty=0.5, form=form) for form in fsp.forms.FORMS
    },
    "fsp_m squared": lambda d: fsp.fsp_m(d, loss="squared-hinge", **MOST),
    "fsp_m without intercept": lambda d: fsp.fsp_m(d, intercept=False, **MOST),
    "sub": lambda d: fsp.sub(d, sigma=["x1", "x2"]),
    "rmp": lambda d: fsp.rmp(d, alpha=np.zeros((1, len(d.y))), C=1.0, max_features=2),
    **{f"fs {form}": lambda d, form=form: concave.fs(d, form=form, **SHARE) for form in concave.FORMS},
    "fs max_features": lambda d: concave.fs(d, max_features=2, **SHARE),
    "fsl": lambda d: concave.fsl(d, **SHARE),
    **{
        f"{name} sigma={sigma}": lambda d, name=name, sigma=sigma: getattr(concave, name)(d, sigma=sigma, **SHARE)
        for name in ("fss", "fsv", "fsb")
        for sigma in (False, True)
    },
    **{f"gmeb {name}": lambda d, name=name: getattr(gmeb, name)(d, **GMEB) for name in ("primal", "dual", "nonconvex")},
    "gmeb sigma": lambda d: gmeb.primal(d, sigma=True, **GMEB),
    "gmeb quotient": lambda d: gmeb.primal(d, form="quotient", **GMEB),
    "gmeb penalized": lambda d: gmeb.penalized(d, C_plus=1.0, C_minus=1.0),
    "gmeb svm_ratio": lambda d: gmeb.svm_ratio(d),
    "gmeb svm_unsquared": lambda d: gmeb.svm_unsquared(d),
    **{
        f"fsmulti {loss} {form}": lambda d, loss=loss, form=form: multivariate.fsmulti(
            d if form != "explicit" else few(), budget=2, loss=loss, form=form
        )
        for loss in ("f1", "prbep", "hamming")
        for form in multivariate.FORMS
    },
    "fsmulti sigma": lambda d: multivariate.fsmulti(d, budget=2, loss="hamming", sigma=True),
    "fsmulti offset": lambda d: multivariate.fsmulti(d, budget=2, loss="hamming", offset=True),
    "fgm": lambda d: multivariate.fgm(d, budget=2),
    "structural_svm": lambda d: multivariate.structural_svm(d),
    **{
        f"kernel {name} {form}": lambda d, name=name, form=form: getattr(kernel, name)(few(), form=form, **KERNEL)
        for name in ("full_fs", "ao_simple", "ao_margin", "ao_efs", "gmkl")
        for form in kernel.FORMS
    },
    "kernel svm": lambda d: kernel.svm(few(), np.full(5, 0.5), C=1.0),
    "kernel fs": lambda d: kernel.fs(few(), **start(few())),
    "kernel xfs": lambda d: kernel.xfs(few(), **start(few())),
    "kernel efs": lambda d: kernel.efs(few(), **start(few())),
}
WAYS = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "deepcopy": copy.deepcopy,
    "clone": lambda model: model.clone(),
}


def few():
    d = data(0)
    return fs.Dataset.from_arrays(d.X[:SMALL], d.y[:SMALL]).scaled("standard")


def answer(model):
    result = fs.solve(model, time_limit=600)
    return result.solver, result.status, result.objective, violation(model)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", BUILDERS)
def test_a_model_can_be_copied_in_every_way(name):
    model = BUILDERS[name](data(0))
    for way, make in WAYS.items():
        made = make(model)
        assert (facts_of(made) is None) == (facts_of(model) is None), way
        held = {id(v) for v in model.component_data_objects(pyo.Var)}
        theirs = [id(v) for v in made.component_data_objects(pyo.Var)]
        assert len(theirs) == len(held), way
        assert not held & set(theirs), way


LONG = ("kernel", "gmeb nonconvex", "fss", "fsv", "fsb", "fsmulti sigma")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n.startswith(LONG) else n for n in BUILDERS]
)
def test_a_copy_of_a_model_is_solved_as_the_model_is(name):
    model = BUILDERS[name](data(0))
    copies = {way: make(model) for way, make in WAYS.items()}
    solver, status, objective, _ = answer(model)
    for way, made in copies.items():
        theirs = answer(made)
        assert theirs[:2] == (solver, status), way
        assert theirs[2] == pytest.approx(objective, rel=1e-6, abs=1e-8), way
        assert theirs[3] <= 1e-6, way
