"""Parameters set after the build take what the builder takes: every model and every parameter that can be changed."""

import math

import numpy as np
import pyomo.environ as pyo
import pytest

import fsmodels as fs
from fsmodels.models.gmeb.svm import svm_ratio, svm_unsquared
from fsmodels.models.multivariate import groups as group_models

HUGE = [1e308, 1e31, 1e-31]
NOT_POSITIVE = [0, -1, math.nan, math.inf, "1", None, True]
NOT_A_SHARE = [-0.1, 1.0, 2, math.nan, math.inf, "0.5"]
NOT_A_COUNT = [0, -1, 5, 1.5, math.nan, "1", 1e308]
NOT_A_PRICE = [-1e-9, math.nan, math.inf, "1"]
SIZE = (NOT_POSITIVE + HUGE, 2.0)
SHARE = (NOT_A_SHARE, 0.25)
COUNT = (NOT_A_COUNT, 1)
BUDGET = ([x for x in NOT_A_COUNT if x != 5], 9)  # beyond the features: all of them

FAMILIES = {
    "l2_svm": (lambda d: fs.svm.l2_svm(d), {"C": SIZE}),
    "l2_svm_dual": (lambda d: fs.svm.l2_svm_dual(d), {"C": SIZE}),
    "one_norm_svm": (lambda d: fs.svm.one_norm_svm(d), {"C": SIZE}),
    "fsp_m": (lambda d: fs.fsp.fsp_m(d, max_features=2), {"C": SIZE, "max_features": COUNT}),
    "fsp_lambda": (lambda d: fs.fsp.fsp_lambda(d, penalty=1.0), {"C": SIZE}),
    "sub": (lambda d: fs.fsp.sub(d, sigma=["a"]), {"C": SIZE}),
    "fs": (lambda d: fs.concave.fs(d, penalty=0.1, max_features=2), {"penalty": SHARE, "max_features": COUNT}),
    "fsl": (lambda d: fs.concave.fsl(d, penalty=0.1), {"penalty": SHARE}),
    "fsv": (lambda d: fs.concave.fsv(d, penalty=0.1), {"penalty": SHARE, "alpha": SIZE}),
    "fss": (lambda d: fs.concave.fss(d, penalty=0.1), {"penalty": SHARE, "alpha": SIZE}),
    "fsb": (lambda d: fs.concave.fsb(d, penalty=0.1), {"penalty": SHARE, "mu": ([0, *NOT_A_SHARE], 0.25)}),
    "gmeb": (lambda d: fs.gmeb.primal(d, R_plus=1.0, R_minus=1.0), {"R_plus": SIZE, "R_minus": SIZE}),
    "gmeb-dual": (lambda d: fs.gmeb.dual(d, R_plus=1.0, R_minus=1.0), {"R_plus": SIZE, "R_minus": SIZE}),
    "gmeb-nonconvex": (lambda d: fs.gmeb.nonconvex(d, R_plus=1.0, R_minus=1.0), {"R_plus": SIZE, "R_minus": SIZE}),
    "svm-unsquared": (lambda d: svm_unsquared(d), {"C": SIZE}),
    "svm-ratio": (lambda d: svm_ratio(d), {"C": SIZE}),
    "svm-ratio, perspective": (lambda d: svm_ratio(d, form="perspective"), {"C": SIZE}),
    "gmeb-priced": (lambda d: fs.gmeb.penalized(d, C_plus=1.0, C_minus=1.0), {"C_plus": SIZE, "C_minus": SIZE}),
    "fsmulti": (lambda d: fs.multivariate.fsmulti(d, budget=2, C=1.0), {"C": SIZE, "budget": BUDGET}),
    "fsmulti, other power": (lambda d: fs.multivariate.fsmulti(d, budget=2, p=3.0), {"C": SIZE, "budget": BUDGET}),
    "fgm": (lambda d: fs.multivariate.fgm(d, budget=2), {"C": SIZE, "budget": BUDGET}),
    "full-fs": (lambda d: fs.kernel.full_fs(d, C=1.0, penalty=1.0), {"C": SIZE, "penalty": SIZE}),
    "gmkl": (lambda d: fs.kernel.gmkl(d, C=1.0, penalty=1.0), {"C": SIZE, "penalty": SIZE}),
    "ao-efs": (
        lambda d: fs.kernel.ao_efs(d, C=1.0, penalty=1.0, form="algebra"),
        {"C": SIZE, "penalty": SIZE},
    ),
}
CASES = [(family, name) for family, (_, names) in FAMILIES.items() for name in names]


@pytest.fixture
def data(make_data):
    return make_data(12, 4, seed=2)


@pytest.mark.parametrize(("family", "name"), CASES)
def test_a_value_that_the_builder_refuses_is_refused_afterwards(family, name, data):
    build, names = FAMILIES[family]
    wrong, right = names[name]
    for model in (build(data), build(data).clone()):
        before = pyo.value(model.component(name))
        for value in wrong:
            with pytest.raises(fs.ParameterError, match=name):
                model.component(name).set_value(value)
            with pytest.raises(fs.ParameterError, match=name):
                model.component(name).value = value
            assert pyo.value(model.component(name)) == before
        setattr(model, name, right)
        assert pyo.value(model.component(name)) == right


@pytest.mark.parametrize("family", FAMILIES)
def test_the_table_has_every_parameter_that_can_be_changed(family, data):
    build, names = FAMILIES[family]
    every = {p.local_name for p in build(data).component_objects(pyo.Param) if p.mutable and not p.is_indexed()}
    assert every == set(names)


def test_each_price_of_a_feature_is_checked(data):
    model = fs.fsp.fsp_lambda(data, penalty={"a": 1.0, "b": 2.0})
    for value in NOT_A_PRICE:
        with pytest.raises(fs.ParameterError, match="penalty"):
            model.penalty["a"] = value
    assert pyo.value(model.penalty["a"]) == 1.0
    model.penalty["c"] = 3
    assert pyo.value(model.penalty["c"]) == 3


def test_restricted_group_problems_check_C():
    groups = group_models.Groups(np.eye(2), np.ones(2), (("a",), ("b",)), ("a", "b"), 1.0)
    model = group_models.group_primal(groups)
    for value in (*NOT_POSITIVE, *HUGE):
        with pytest.raises(fs.ParameterError, match="C="):
            model.C.set_value(value)


def test_numbers_of_numpy_are_numbers(data):
    model = fs.fsp.fsp_m(data, max_features=2)
    model.C, model.max_features = np.float64(0.5), np.int64(1)
    assert len(fs.solve(model).selected) == 1
