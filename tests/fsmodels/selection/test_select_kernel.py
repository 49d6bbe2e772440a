"""Kernel models by name: the JSON file alone decides and gives Omega; limits, z = 0, reports, refusals."""

import json

import numpy as np
import pandas as pd
import pytest

import fsmodels as fs
from fsmodels.models.kernel.specs import KernelSpec
from fsmodels.selection.catalogue import MODELS
from solvers import SolutionStatus, StopReason

KERNELS = [name for name, spec in MODELS.items() if isinstance(spec, KernelSpec)]
FACTOR, SHIFT = np.array([1, 20, 0.5, 1, 3, 0.1]), np.array([0, 1, 0, -2, 0, 5])


@pytest.fixture(scope="module")
def chess():
    """60 samples in units of their own; of 6 features the first two decide by the sign of their product."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 6))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    return fs.Dataset.from_arrays(X * FACTOR + SHIFT, y, features=list("abcdef"), name="chess")


@pytest.fixture(scope="module")
def scaled(chess):
    return chess.scaled("standard")


def parameters(model):
    return {"C": 0.5 if model == "ao-efs" else 2.0, "penalty": 0.5}


def rbf(A, B, z):
    """The kernel (13), entry by entry."""
    return np.array([[np.exp(-((z * (a - b)) ** 2).sum()) for b in B] for a in A])


def by_json(content, X, features, vectors, weights, bias, kernel=rbf):
    """Decision values from the JSON file and the rows of the data."""
    z = np.array([content[weights].get(j, 0.0) for j in features])
    K = kernel(X, vectors[content["kernel"]["support_vectors"]], z)
    return K @ np.array(content["kernel"]["coefficients"]) + content[bias]


def smooth(m, eps):
    """The hinge (8), case by case."""
    if eps == 0:
        return np.maximum(0.0, 1.0 - m)
    return np.where(m < 1 - 2 * eps, 1 - m - eps, np.where(m < 1, (1 - m) ** 2 / (4 * eps), 0.0))


def plain(found):
    return json.loads(json.dumps(found.to_dict(), allow_nan=False))


@pytest.mark.parametrize("model", KERNELS)
def test_the_json_alone_decides_and_gives_omega(model, chess, scaled):
    found = fs.select(scaled, model, **parameters(model))
    content = plain(found)
    assert {"a", "b"} <= set(content["selected"])
    assert set(content["weights"]) == set(content["selected"]) == set(content["weights_original"])
    largest = max(content["weights"].values())
    assert min(content["weights"].values()) >= 0.01 * largest
    assert content["kernel"]["name"] == "rbf"
    assert content["kernel"]["constant"] is None

    f = by_json(content, scaled.X, scaled.features, scaled.X, "weights", "bias")
    assert found.decision(scaled) == pytest.approx(f, abs=1e-9)
    raw = by_json(content, chess.X, chess.features, chess.X, "weights_original", "bias_original")
    assert raw == pytest.approx(f, abs=1e-9)
    assert content["training_error"] == np.mean(np.where(f > 0, 1, -1) != scaled.y)

    C, mu, eps = (content["parameters"][name] for name in ("C", "penalty", "eps"))
    assert eps == (0.0 if model == "gmkl" else 0.5)
    a, rows = np.array(content["kernel"]["coefficients"]), content["kernel"]["support_vectors"]
    norm = a @ (f[rows] - content["bias"])
    omega = 0.5 * norm + C * smooth(scaled.y * f, eps).sum() + mu * sum(content["weights"].values())
    assert content["objective"] == pytest.approx(omega, rel=1e-9)
    assert content["objective"] == pytest.approx(
        fs.kernel.omega(scaled, content["weights"], C=C, penalty=mu, eps=eps), rel=1e-5
    )
    assert content["bound"] is content["gap"] is None
    assert content["status"] in ("stationary", "feasible")
    assert {"scikit-learn", "scipy"} <= set(content["versions"])
    assert "highs" not in content["versions"]


@pytest.mark.parametrize("model", KERNELS)
def test_predicts_data_under_any_scaling_and_tables_in_original_units(model, chess, scaled):
    train, other = scaled.take(range(40)), chess.take(range(40, 60))
    found = fs.select(train, model, validation=other, **parameters(model))
    expected = found.decision(train.apply_scale_to(other))
    assert found.decision(other) == pytest.approx(expected, abs=1e-9)
    assert found.decision(other.scaled("minmax")) == pytest.approx(expected, abs=1e-9)
    frame = pd.DataFrame(other.X, columns=list(other.features))[list(found.selected)[::-1]]
    assert found.decision(frame) == pytest.approx(expected, abs=1e-9)
    assert np.array_equal(found.predict(frame), np.where(expected > 0, 1.0, -1.0))
    assert found.validation_error == found.error(other) == np.mean(found.predict(frame) != other.y)
    assert found.measure(other, ["error"])["error"] == pytest.approx(100 * found.validation_error)
    assert np.array_equal(fs.kernel.classifier(found.model).predict(other), found.predict(other))
    with pytest.raises(fs.DataError, match=f"predict: the table lacks columns .{found.selected[0]}"):
        found.predict(frame.drop(columns=found.selected[0]))


@pytest.mark.parametrize(("kernel", "scale", "exact"), [
    ("polynomial", "standard", False), ("polynomial", "none", True), ("linear", "unit-ball", True),
    ("linear", "standard", False),
])  # fmt: skip
def test_other_kernels_have_original_weights_only_where_nothing_is_shifted(kernel, scale, exact, chess):
    data = chess.scaled("standard").scaled(scale) if scale == "standard" else chess.scaled(scale)
    found = fs.select(data, "gmkl", C=1.0, penalty=0.01, kernel=kernel, start=0.1)
    content = plain(found)
    degree, offset = (2, 1.0) if kernel == "polynomial" else (1, 0.0)
    assert {key: content["kernel"][key] for key in ("name", "degree", "offset")} == {
        "name": "polynomial", "degree": degree, "offset": offset,
    }  # fmt: skip

    def entries(A, B, z):
        return (offset + (A * z**2) @ B.T) ** degree

    f = by_json(content, data.X, data.features, data.X, "weights", "bias", entries)
    assert found.decision(data) == pytest.approx(f, rel=1e-6, abs=1e-6)
    assert (content["weights_original"] is not None) == (content["bias_original"] is not None) == exact
    if exact:
        raw = by_json(content, chess.X, data.features, chess.X, "weights_original", "bias_original", entries)
        assert raw == pytest.approx(f, rel=1e-6, abs=1e-6)
    else:
        assert "none" in repr(found)


@pytest.mark.parametrize("model", KERNELS)
def test_no_weights_is_the_larger_class_and_says_so(model, scaled):
    rows = np.r_[np.flatnonzero(scaled.y > 0)[:9], np.flatnonzero(scaled.y < 0)[:16]]
    data = scaled.take(rows)
    found = fs.select(data, model, C=0.1, penalty=100.0)
    content = plain(found)
    assert (content["selected"], content["weights"], content["weights_original"]) == ([], {}, {})
    assert content["kernel"]["constant"] == -1
    assert "every sample gets the label of the larger class (-1: 16 of 25)" in content["message"]
    assert content["message"].count("All weights are 0") == 1
    assert set(found.predict(scaled)) == {-1.0}
    assert set(found.predict(pd.DataFrame(index=range(3)))) == {-1.0}
    assert content["training_error"] == pytest.approx(9 / 25)
    eps = content["parameters"]["eps"]
    assert found.objective == pytest.approx(fs.kernel.omega(data, 0.0, C=0.1, penalty=100.0, eps=eps), rel=1e-5)


@pytest.mark.parametrize("model", KERNELS)
@pytest.mark.parametrize("row", [0, 1, 3])
def test_a_run_that_is_stopped_keeps_its_incumbent_with_the_svm_on_it(model, row, scaled, monkeypatch):
    from solvers.drivers.trace import Trace

    add = Trace.row

    def interrupted(self, *arguments, **values):
        add(self, *arguments, **values)
        if len(self.rows) > row:
            raise KeyboardInterrupt

    monkeypatch.setattr(Trace, "row", interrupted)
    found = fs.select(scaled, model, **parameters(model))
    assert found.stop_reason in (StopReason.INTERRUPTED, StopReason.CONVERGED)
    assert found.stop_reason is StopReason.INTERRUPTED or row == 3
    eps = found.parameters["eps"]
    again = fs.kernel.omega(scaled, found.weights, eps=eps, **parameters(model))
    assert found.objective == pytest.approx(again, rel=1e-5)
    if abs(found.objective - found.result.objective) > 1e-6 * found.objective:
        said = f"{found.objective:.9g} with the SVM solved again; alternating reports {found.result.objective:.9g}."
        assert said in found.message


def test_a_limit_before_the_first_svm_returns_the_svm_at_the_start(scaled):
    found = fs.select(scaled, "ao-margin", C=1.0, penalty=1.0, time_limit=1e-9)
    assert (found.status, found.stop_reason) == (SolutionStatus.FEASIBLE, StopReason.TIME_LIMIT)
    start = dict.fromkeys(scaled.features, 2.0 / np.sqrt(2.0 * len(scaled.features)))
    assert found.weights == pytest.approx(start)
    assert found.objective == pytest.approx(fs.kernel.omega(scaled, start, C=1.0, penalty=1.0), rel=1e-3)
    assert "the trivial point of the model" in repr(found)


def test_small_weights_are_0_in_the_classifier_too(scaled):
    start = {"a": 1.0, "b": 1.0, "c": 0.009, "d": 0.005}
    found = fs.select(scaled, "full-fs", C=2.0, penalty=0.5, start=start, callback=lambda row: True)
    assert found.stop_reason is StopReason.CALLBACK
    assert found.weights == {"a": 1.0, "b": 1.0}
    assert "below 0.01 of the largest count as 0 (2 here)" in found.message
    assert found.objective == pytest.approx(fs.kernel.omega(scaled, {"a": 1, "b": 1}, C=2.0, penalty=0.5), rel=1e-6)
    assert found.objective == pytest.approx(found.model.kernel_problem.value(point(found.model)), rel=1e-9)


def point(model):
    parts = [*model.u.values(), model.b, *model.z.values(), model.margin]
    return np.array([v.value for v in parts])


def test_a_point_that_small_weights_moved_is_called_stationary_only_where_it_is(scaled, monkeypatch):
    from fsmodels.models.kernel import specs as kernel

    values = parameters("full-fs")
    whole = fs.select(scaled, "full-fs", form="reduced", **values)
    assert whole.status is SolutionStatus.STATIONARY
    top = max(whole.weights, key=whole.weights.get)
    monkeypatch.setattr(kernel, "used", lambda z: z == z.max())
    cut = fs.select(scaled, "full-fs", form="reduced", **values)
    assert cut.selected == (top,)
    assert cut.status is SolutionStatus.FEASIBLE


def test_the_algebra_goes_to_any_nlp_solver_and_recomputes(scaled):
    few = scaled.take(range(14)).select_features(["a", "b", "c"])
    found = fs.select(few, "full-fs", C=2.0, penalty=0.2, form="algebra", solver="pounce")
    assert found.result.solver == "pounce"
    again = fs.kernel.omega(few, found.weights, C=2.0, penalty=0.2)
    assert found.objective == pytest.approx(again, rel=1e-4)
    assert set(found.weights) == set(found.selected)


def test_a_path_starts_each_point_afresh(scaled):
    table = fs.path(scaled, "ao-simple", C=2.0, penalty=[0.5, 100.0, 1.0])
    assert table.loc[100.0, "selected"] == []
    for mu in (0.5, 1.0):
        found = fs.select(scaled, "ao-simple", C=2.0, penalty=mu)
        assert table.loc[mu, "objective"] == pytest.approx(found.objective, rel=1e-9)
    table = fs.path(scaled, "gmkl", C=[0.001, 2.0], penalty=0.5)
    assert table["n_selected"].iloc[0] == 0 < table["n_selected"].iloc[1]
    with pytest.raises(fs.ParameterError, match="penalty=0 is not allowed: mu"):
        fs.path(scaled, "gmkl", C=2.0, penalty=[0, 1])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"penalty": 1.0}, fs.ParameterError, r"needs C: weight of the"),
        ({"C": 1.0}, fs.ParameterError, r"needs penalty: mu, the price of a unit of weight"),
        ({"C": 1.0, "penalty": -1.0}, fs.ParameterError, "penalty=-1.0 is not allowed: mu"),
        ({"C": 1.0, "penalty": {"a": 1.0}}, fs.ParameterError, "one penalty for all features, mu: give a number"),
        ({"C": 0.0, "penalty": 1.0}, fs.ParameterError, "C=0.0"),
        ({"C": 1.0, "penalty": 1.0, "max_features": 0}, fs.InfeasibleParameter, "max_features=0 selects no feature"),
        ({"C": 1.0, "penalty": 1.0, "force_in": ["zz"]}, fs.DataError, '"zz" is not a feature'),
        ({"C": 1.0, "penalty": 1.0, "kernel": "rfb"}, fs.ParameterError, "kernel=.rfb. is not known: use one of rbf"),
        ({"C": 1.0, "penalty": 1.0, "start": 0.0}, fs.ParameterError, "strict local minimum"),
        ({"C": 1.0, "penalty": 1.0, "solver": "pounce"}, fs.ModelError, "functions of its kernel matrix"),
        ({"C": 1.0, "penalty": 1.0, "method": "lbfgs"}, fs.OptionError, "lbfgs"),
    ],
)
def test_refuses_by_name(arguments, error, message, scaled):
    with pytest.raises(error, match=message):
        fs.select(scaled, "ao-margin", **arguments)


def test_reports_speak_of_kernel_weights(scaled):
    found = fs.select(scaled, "ao-margin", **parameters("ao-margin"))
    for shown in (repr(found), found._repr_html_()):
        assert "kernel weight" in shown
        assert "(bias)" not in shown
        assert "support vectors of 60 samples" in shown
    assert max(map(len, repr(found).splitlines()[1:])) <= 80
