"""Weights of samples: a weight of k is as good as the row k times, 0 as leaving it out; else the model refuses."""

import inspect
import itertools
import os

import numpy as np
import pyomo.environ as pyo
import pytest

import fsmodels as fs
from fsmodels import baselines
from fsmodels.errors import DataError, ParameterError
from fsmodels.selection.catalogue import MODELS

SQUARED = "squared-hinge"
WEIGHING = [name for name, spec in MODELS.items() if spec.takes_weights]
GIVEN = {"max_features": 2, "penalty": 0.1, "C": 0.7, "R_plus": 2.0, "R_minus": 2.0}
CLASSES = {1: 2.5}


def pair(seed, rows=26, features=5, classes=CLASSES):
    """The same problem twice: weighted samples, and each row as often as its weight says."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features))
    y = np.where(X[:, 0] - X[:, 1] + rng.normal(size=rows) > 0, 1, -1)
    counts = rng.integers(0, 4, size=rows)
    counts[[y.argmax(), y.argmin()]] = 2
    data = fs.Dataset.from_arrays(X, y)
    many = data.take(np.repeat(np.arange(rows), counts))
    return data.weighted(counts, classes).scaled("standard"), many.weighted(None, classes).scaled("standard")


def given(name):
    return {key: value for key, value in GIVEN.items() if key in MODELS[name].parameters} | (
        {"penalty": 0.3} if name == "obd" else {}
    )


def recomputed(name, found, data, words):
    """The objective of a linear model, from weights, data and counts alone."""
    w = np.array([found.weights.get(j, 0.0) for j in data.features])
    slack = np.maximum(0.0, 1 - data.y * (data.X @ w + found.bias))
    minus, plus = data.weighting.by_class
    g = data.weighting.given
    c = np.where(data.y > 0, plus, minus)
    if name in ("svm", "fsp-m", "fsp-lambda"):
        price = words.get("penalty", 0.0) * len(found.selected) if name == "fsp-lambda" else 0.0
        return 0.5 * w @ w + words["C"] * (g * c) @ slack + price
    if name in ("gmeb", "gmeb-nonconvex"):
        return (g * c) @ slack
    if name == "one-norm-svm":
        return np.abs(w).sum() + words["C"] * (g * c) @ slack
    error = sum(c[rows][0] * np.average(slack[rows], weights=g[rows]) for rows in (data.y > 0, data.y < 0))
    lam, alpha, v = words.get("penalty", 0.0), 5.0, np.abs(w)
    if name in ("robust-lp", "obd"):
        return error
    steps = {
        "fs": len(found.selected), "fsl": len(found.selected), "fsv": (1 - np.exp(-alpha * v)).sum(),
        "fss": (1 / (1 + np.exp(-alpha * v))).sum(),
    }  # fmt: skip
    if name != "fsb":
        return (1 - lam) * error + lam * steps[name]
    mu = found.parameters["mu"]
    return (1 - mu) * (1 - lam) * error + np.minimum(0, (1 - mu) * lam - mu * v).sum() + mu * v.sum()


def omega(found, data, words):
    """Omega of the kernel models, from the classifier, data and weights."""
    c, eps = found.classifier, found.parameters["eps"]
    f, g = c.decision(data), c.decision(data.take(c.rows))
    short = np.maximum(0.0, 1 - data.y * f)
    loss = short - np.minimum(short, 2 * eps) + (np.minimum(short, 2 * eps) ** 2 / (4 * eps) if eps else 0.0)
    return 0.5 * c.a @ (g - c.b) + words["C"] * data.sample_weight @ loss + words["penalty"] * c.z.sum()


@pytest.mark.parametrize("name", MODELS)
def test_a_model_by_name_counts_weights_as_rows_or_refuses(name):
    weighted, many = pair(5)
    exact = MODELS[name].runs_solver and MODELS[name].page != "kernel"
    words = given(name) | ({"gap": 1e-7} if exact else {})
    if name not in WEIGHING:
        with pytest.raises(ParameterError, match="sample weights"):
            fs.select(weighted, name, **words)
        return
    found, expected = (fs.select(data, name, **words) for data in (weighted, many))
    assert found.status is expected.status
    if name == "rfe":  # libsvm stops at 1e-3
        assert found.selected == expected.selected
        assert list(found.weights.values()) == pytest.approx(list(expected.weights.values()), rel=0.05)
        assert found.fsp_objective == pytest.approx(expected.fsp_objective, rel=1e-5)
        return
    local = MODELS[name].page == "kernel"
    assert found.objective == pytest.approx(expected.objective, rel=1e-5 if local else 2e-6)
    if local:
        assert found.selected == expected.selected
        np.testing.assert_allclose(found.decision(many), expected.decision(many), atol=0.01)
        assert (weighted.sample_weight[found.classifier.rows] > 0).all()
        assert found.objective == pytest.approx(omega(found, weighted, words), rel=1e-9)
        return
    if name == "gmeb-dual":
        return
    assert found.objective == pytest.approx(recomputed(name, found, weighted, found.parameters | words), rel=1e-9)
    if found.bound is not None:
        assert found.bound <= expected.objective * (1 + 1e-6)
    assert found.error(many) == found.error(many.weighted())


BUILDERS = {
    "svm.l2_svm": {"C": 0.7}, "svm.one_norm_svm": {"C": 0.7}, "svm.l2_svm_dual": {"C": 0.7}, "svm.robust_lp": {},
    "fsp.fsp_m": {"max_features": 2}, "fsp.fsp_lambda": {"penalty": 0.4}, "fsp.sub": {"sigma": {"x1": 1, "x3": 0.5}},
    "concave.fs": {"penalty": 0.1}, "concave.fsl": {"penalty": 0.1}, "concave.fsb": {"penalty": 0.1},
    "concave.fsv": {"penalty": 0.1}, "concave.fss": {"penalty": 0.1},
    "gmeb.primal": {"R_plus": 2.0, "R_minus": 2.0}, "gmeb.dual": {"R_plus": 2.0, "R_minus": 2.0},
    "gmeb.nonconvex": {"R_plus": 2.0, "R_minus": 2.0}, "gmeb.penalized": {"C_plus": 0.5, "C_minus": 0.5},
    "gmeb.svm_unsquared": {"C": 0.7}, "gmeb.svm_ratio": {"C": 0.7},
}  # fmt: skip


def built(name, data, **words):
    room, function = name.split(".")
    return getattr(getattr(fs, room), function)(data, **words)


PERSPECTIVE = ("gmeb.svm_ratio", {"C": 0.7, "form": "perspective"})


@pytest.mark.parametrize(("name", "words"), [*BUILDERS.items(), PERSPECTIVE])
def test_a_builder_counts_weights_as_rows(name, words):
    weighted, many = pair(8)
    one, other = (built(name, data, **words) for data in (weighted, many))
    found, expected = (fs.solve(model, gap=1e-6) for model in (one, other))
    assert found.objective == pytest.approx(expected.objective, rel=2e-6)
    assert found.status is expected.status
    keys = list(one.samples)
    assert keys == np.flatnonzero(weighted.sample_weight).tolist()  # the rows of the data as given


@pytest.mark.parametrize("loss", ["hinge", SQUARED])
@pytest.mark.parametrize("form", [*fs.fsp.FORMS, fs.fsp.RMP])
def test_every_form_of_fsp_has_the_optimum_of_the_repeated_rows(form, loss):
    weighted, many = pair(11, rows=18, features=4)
    words = {"max_features": 2, "C": 0.8, "loss": loss}
    best = min(fs.fsp.value(many, names, C=0.8, loss=loss) for names in itertools.combinations(many.features, 2))
    ours = min(fs.fsp.value(weighted, names, C=0.8, loss=loss) for names in itertools.combinations(many.features, 2))
    assert ours == pytest.approx(best, rel=1e-6)
    for driver in ("branch-and-cut", "benders"):
        model = fs.fsp.fsp_m(weighted, form=form, **words)
        result = fs.solve(model, driver, gap=1e-7)
        assert result.objective == pytest.approx(best, rel=1e-6)
        assert result.bound <= best * (1 + 1e-7)
        assert result.status.value == "optimal"
    assert fs.fsp.weight_bound(weighted, 0.8, loss) == pytest.approx(fs.fsp.weight_bound(many, 0.8, loss))


def test_what_w_0_costs_and_the_value_of_nothing_count_weights():
    weighted, many = pair(2)
    for loss in ("hinge", SQUARED):
        assert fs.fsp.value(weighted, [], loss=loss) == pytest.approx(fs.fsp.value(many, [], loss=loss))


def edited(model, change):
    """Edit FSP's subproblem, or its rows on sigma."""
    j, k, *_ = model.features
    if change == "sign":
        model.w[j].setlb(0.0)
    elif change == "offset":
        model.b.setub(0.1)
    elif change == "row":
        model.own = pyo.Constraint(expr=model.w[j] + model.w[k] <= 0.3)
    elif change == "ridge":
        model.objective.set_value(model.objective.expr + 0.3 * model.w[k] ** 2)
    elif change == "cost":
        model.objective.set_value(model.objective.expr + 0.2 * model.w[j])
    elif change == "sigma":
        model.own = pyo.Constraint(expr=model.sigma[j] + model.sigma[k] == 1)
    elif change == "C":
        model.C = 2.0
    return model


CHANGES = ["sign", "offset", "row", "ridge", "cost", "sigma", "C"]


def compare_edited(seed, change, form, loss):
    weighted, many = pair(seed, rows=16, features=4)
    words = {"max_features": 2, "C": 0.5, "form": form, "loss": loss}
    found, expected = (
        fs.solve(edited(fs.fsp.fsp_m(data, **words), change), gap=1e-7, time_limit=60) for data in (weighted, many)
    )
    assert found.status is expected.status
    assert found.objective == pytest.approx(expected.objective, rel=2e-6)
    assert found.bound <= expected.objective * (1 + 1e-6)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("form", ["perspective", "rmp"])
def test_edits_of_a_weighted_fsp_are_those_of_the_repeated_rows(change, form):
    compare_edited(21, change, form, "hinge")


@pytest.mark.slow
def test_fsp_fuzzed_against_repeated_rows():
    rng = np.random.default_rng(400)
    for k in range(int(20 * float(os.environ.get("FSMODELS_SOAK", "1")))):
        form = str(rng.choice([*fs.fsp.FORMS, fs.fsp.RMP]))
        change = str(rng.choice(CHANGES if form in ("perspective", "rmp") else ["sigma", "C"]))
        compare_edited(1000 + k, change, form, str(rng.choice(["hinge", SQUARED])))


def test_big_m_keeps_its_bound_with_weights():
    """The bound on w_j is attained by two samples, one of weight 3."""
    data = fs.Dataset.from_arrays([[0.0], [1.0], [1.0]], [-1, 1, 1]).weighted([3, 1, 1]).scaled("none")
    for C in (0.05, 0.2, 5.0):
        W = fs.fsp.weight_bound(data, C)
        best = fs.fsp.value(data, ["x1"], C=C)
        found = fs.solve(fs.fsp.fsp_m(data, max_features=1, C=C, form="big-m"), "branch-and-cut", gap=1e-9)
        assert found.objective == pytest.approx(best, rel=1e-7)
        assert pyo.value(fs.fsp.fsp_m(data, max_features=1, C=C, form="big-m").W) == pytest.approx(W)


def test_class_weights_multiply_the_means_of_the_family_of_fs_and_balanced_is_what_it_is():
    data = pair(3)[1].weighted()
    plain = fs.select(data, "robust-lp").objective
    found = fs.select(data, "robust-lp", class_weight="balanced")
    assert found.objective == pytest.approx(plain)
    assert '"balanced" has no effect' in found.message
    assert fs.select(data, "robust-lp", class_weight={-1: 2, 1: 2}).objective == pytest.approx(2 * plain)
    found = fs.select(data, "fs", penalty=0.9, class_weight={-1: 3})
    assert (found.selected, found.bias) == ((), -1.0)
    assert found.objective == pytest.approx(0.1 * 2.0)


def test_weights_that_leave_one_class_are_refused():
    data = pair(3)[0].take(np.flatnonzero(pair(3)[0].sample_weight >= 0))
    rows = np.flatnonzero((data.y > 0) | (data.sample_weight == 0))
    with pytest.raises(DataError, match="0 for all"):
        fs.svm.l2_svm(data.take(rows))


def test_a_certificate_carries_the_weights():
    weighted, _ = pair(4)
    for loss in ("hinge", SQUARED):
        found = fs.select(weighted, max_features=2, C=0.7, loss=loss)
        for data in (weighted, weighted.weighted(), weighted.unscaled()):
            checked = fs.verify(found.certificate, data)
            assert checked.holds, checked.why
            assert checked.objective == pytest.approx(found.objective)
        with pytest.raises(DataError, match="other sample weights"):
            fs.verify(found.certificate, weighted.weighted(np.arange(1.0, 27)))


def test_two_solves_share_no_memory_where_weights_differ():
    from solvers import Memory

    weighted, _ = pair(9)
    memory = Memory()
    for data in (weighted, weighted.weighted(), weighted):
        model = fs.fsp.fsp_m(data, max_features=2, C=0.7)
        result = fs.solve(model, "branch-and-cut", memory=memory, gap=1e-6)
        fresh = fs.solve(fs.fsp.fsp_m(data, max_features=2, C=0.7), "branch-and-cut", gap=1e-6)
        assert result.objective == pytest.approx(fresh.objective, rel=1e-7)


def arguments(function):
    """Something for each argument that a function of data asks for; None where it is no function of data."""
    first, *rest = inspect.signature(function).parameters.values()
    if first.name != "data":
        return None
    needed = [p for p in rest if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    return {p.name: FILL.get(p.name, np.ones(5) if p.kind is p.POSITIONAL_OR_KEYWORD else 1.0) for p in needed}


FILL = GIVEN | {"alpha": np.zeros(26), "sigma": ["x1"], "budget": 2}
OTHERS = ["fsp.rmp", "baselines.one_norm_svm", "baselines.rfe", "gmeb.path", "gmeb.centred"]  # that weigh
OTHERS += ["baselines.one_norm_size", "baselines.svm_penalty"]
OTHERS += [f"kernel.{name}" for name in ("svm", "full_fs", "gmkl", "ao_simple", "ao_margin", "ao_efs")]
OTHERS += [f"kernel.{name}" for name in ("fs", "xfs", "efs", "omega")]
FAMILIES = [fs.svm, fs.fsp, fs.concave, fs.gmeb, fs.multivariate, fs.kernel, fs.rankings, baselines]
PUBLIC = {
    f"{family.__name__.rsplit('.')[-1]}.{name}": getattr(family, name)
    for family in FAMILIES
    for name in family.__all__
    if inspect.isfunction(getattr(family, name)) and name not in ("weight_bound", "value")
}
LEFT = [key for key, function in PUBLIC.items() if key not in [*BUILDERS, *OTHERS] and arguments(function) is not None]


@pytest.mark.parametrize("name", LEFT)
def test_what_is_not_known_to_weigh_samples_refuses(name):
    with pytest.raises(ParameterError, match="sample weights"):
        PUBLIC[name](pair(6)[0], **arguments(PUBLIC[name]))


def test_there_are_functions_that_refuse():
    assert {"gmeb.bound_with_scaling", "rankings.relief", "multivariate.fsmulti"} <= set(LEFT)


def test_the_grid_of_gmeb_counts_weights_as_rows():
    weighted, many = pair(12)
    words = {"R_plus": [0.5, 2.0], "R_minus": [1.0]}
    one, other = (fs.gmeb.path(data, **words) for data in (weighted, many))
    np.testing.assert_allclose(one["objective"], other["objective"], rtol=1e-6)
    assert one["status"].tolist() == ["optimal"] * 2
    loose = fs.solve(fs.gmeb.primal(weighted, R_plus=2.0, R_minus=1.0)).objective
    assert one["objective"].iloc[1] == pytest.approx(loose, rel=1e-6)


def test_moments_of_gmeb_count_rows_and_not_what_mistakes_cost():
    weighted, many = pair(13)
    for one, other in (("v_plus", "v_plus"), ("v_minus", "v_minus"), ("plus", "plus"), ("minus", "minus")):
        np.testing.assert_allclose(
            getattr(fs.gmeb.centred(weighted), one), getattr(fs.gmeb.centred(many.weighted()), other), rtol=1e-12
        )


@pytest.mark.parametrize("eps", [0.0, 0.5])
def test_the_kernel_svm_and_its_algebra_count_weights_as_rows(eps):
    weighted, many = pair(14, rows=14, features=3)
    words = {"C": 1.3, "eps": eps}
    one, other = (fs.kernel.svm(data, 0.6, **words) for data in (weighted, many))
    found, expected = (fs.solve(model) for model in (one, other))
    assert found.objective == pytest.approx(expected.objective, rel=1e-5)
    assert list(one.samples) == np.flatnonzero(weighted.sample_weight).tolist()
    said = [fs.kernel.omega(data, 0.6, penalty=0.3, **words) for data in (weighted, many)]
    assert said[0] == pytest.approx(said[1], rel=1e-5)
    assert said[0] == pytest.approx(expected.objective + 0.3 * 0.6 * 3, rel=1e-4)


@pytest.mark.parametrize("how", [{"form": "algebra"}, {"form": "reduced"}])
def test_the_ways_to_solve_full_fs_agree_on_weighted_samples(how):
    weighted, _ = pair(15, rows=12, features=2)
    words = {"C": 1.0, "penalty": 0.2}
    found = fs.select(weighted, "full-fs", **words, **how)
    assert found.objective == pytest.approx(fs.select(weighted, "full-fs", **words).objective, rel=1e-3)
    assert found.objective == pytest.approx(omega(found, weighted, words), rel=1e-9)
