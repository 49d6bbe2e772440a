"""The same checks for every model by name: values, bounds, parameters, paths, rows, files, estimator, command line.

A new model is checked here as soon as its ``ModelSpec`` is in the catalogue.
"""

import itertools
import json
import pickle
import shlex

import numpy as np
import pandas as pd
import pytest

import fsmodels as fs
from every_model import FEATURES, parameters_of, samples
from fsmodels.cli import main
from fsmodels.errors import ParameterError
from fsmodels.selection.catalogue import MODELS
from fsmodels.selection.parameters import PARAMETERS
from fsmodels.selection.path import set_parameter
from fsmodels.selection.request import Request
from fsmodels.sklearn import KernelSelectorClassifier, SelectorClassifier

SOLVED = [name for name, spec in MODELS.items() if spec.runs_solver]
KERNELS = [name for name, spec in MODELS.items() if spec.page == "kernel"]
WITHOUT_ROWS = ("gmeb-dual", "gmeb-nonconvex")  # their optimum is that of gmeb, which has a sigma
LOCAL = {"gmeb-nonconvex", "fss", "fsv", "fsb", "obd", *KERNELS}  # the result depends on the start
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def data():
    return samples()


@pytest.fixture(scope="module")
def select(data):
    """Return a function that selects by a model with the same parameters in every test."""
    found = {}

    def run(name, **words):
        key = name, repr(words)
        if key not in found:
            limit = {"time_limit": 60} if MODELS[name].runs_solver else {}
            found[key] = fs.select(data, name, **{**parameters_of(name), **words}, **limit)
        return found[key]

    return run


@pytest.mark.parametrize("name", SOLVED)
def test_the_objective_of_the_solver_is_that_of_the_classifier(name, select):
    found = select(name)
    assert found.result.objective == pytest.approx(found.objective, rel=1e-6)
    assert found.bound is None or found.bound <= found.objective * (1 + 1e-9)
    assert found.status is not fs.SolutionStatus.OPTIMAL or found.gap <= 1e-4


@pytest.mark.parametrize("name", [n for n in MODELS if n not in KERNELS])
def test_weights_in_original_units_decide_the_same(name, data, select):
    found = select(name)
    content, decision = found.to_dict(), found.decision(data)
    for X, units in ((data.X, "_original"), (data.scaled("standard").X, "")):
        w = np.array([content[f"weights{units}"].get(feature, 0.0) for feature in FEATURES])
        assert X @ w + content[f"bias{units}"] == pytest.approx(decision)
    frame = pd.DataFrame(data.X, columns=FEATURES)
    assert found.decision(frame[list(content["weights"])]) == pytest.approx(decision, abs=1e-9)
    assert content["training_error"] == np.mean(np.where(decision > 1e-6, 1, -1) != data.y)
    with pytest.raises(fs.DataError, match="predict: the table lacks columns"):
        found.predict(frame.drop(columns=list(content["weights"])))


@pytest.mark.parametrize("name", [n for n in SOLVED if MODELS[n].selects or n in ("gmeb", "fsmulti", "one-norm-svm")])
def test_the_bound_holds_for_every_support(name, select):
    """Each support is a problem of its own, by rows that force features in and out."""
    free = select(name, **({} if MODELS[name].selects else {"sigma": True}))
    values = []
    for size in range(len(FEATURES) + 1):
        for support in itertools.combinations(FEATURES, size):
            rest = [feature for feature in FEATURES if feature not in support]
            try:
                one = select(name, force_in=list(support), force_out=rest)
            except ParameterError:  # more features than max_features
                continue
            if one.has_solution:
                values.append(one.objective)
    assert len(values) >= 10
    assert free.bound <= min(values) * (1 + 1e-6)
    assert free.objective <= min(values) * (1 + 2e-4)


@pytest.mark.parametrize("name", [n for n in SOLVED if n not in LOCAL])
def test_a_parameter_of_the_built_model_can_be_changed(name, data):
    scaled = data.scaled("standard")
    for parameter, value in parameters_of(name).items():
        model = MODELS[name].build_model(scaled, parameters_of(name))
        if model.component(parameter) is None:  # C of a model in equivalent units, or a limit without a row
            continue
        changed = 3 if parameter == "max_features" else 2.0 * value
        set_parameter(model, parameter, changed, scaled)
        other = MODELS[name].build_model(scaled, parameters_of(name) | {parameter: changed})
        assert fs.solve(model).objective == pytest.approx(fs.solve(other).objective, rel=2e-4), parameter


@pytest.mark.parametrize("name", [n for n in MODELS if n != "information-gain"])  # a tie of features without gain
def test_the_order_of_samples_and_features_and_the_labels_do_not_matter(name, data, select):
    rows, columns = np.random.default_rng(3).permutation(len(data.y)), list(reversed(FEATURES))
    found, close = select(name), {"rel": 1e-3, "abs": 1e-6} if name in LOCAL else {"rel": 2e-4}
    for other in (data.take(rows).select_features(columns), fs.Dataset.from_arrays(data.X, -data.y, features=FEATURES)):
        if name == "fsmulti" and (other.y != data.y[rows]).any():  # its measure counts one class
            continue
        again = fs.select(other, name, **parameters_of(name))
        assert set(again.selected) == set(found.selected)
        assert again.objective == (found.objective and pytest.approx(found.objective, **close))


@pytest.mark.parametrize("name", [n for n in SOLVED if n not in LOCAL])
def test_the_objective_along_a_path_is_monotone(name, data):
    for parameter, sign in MODELS[name].objective_direction.items():
        if sign and parameter in parameters_of(name):
            values = [1, 2, 3] if parameter == "max_features" else [0.1, 0.3, 0.9]
            rest = {key: value for key, value in parameters_of(name).items() if key != parameter}
            path = fs.path(data, name, **{parameter: values}, **rest)
            steps = sign * path["objective"].diff().dropna()
            assert (steps >= -2e-4 * path["objective"].abs().max()).all(), parameter


@pytest.mark.parametrize("name", MODELS)
def test_rows_are_honoured_or_refused_by_name(name, select):
    if name in WITHOUT_ROWS:
        with pytest.raises(fs.ParameterError, match='State them on the model "gmeb"'):
            select(name, force_out=["a"])
        return
    assert "a" not in select(name, force_out=["a"]).selected


@pytest.mark.parametrize("name", MODELS)
def test_a_selection_can_be_pickled(name, select):
    found = select(name)
    again = pickle.loads(pickle.dumps(found))
    assert again.to_dict() == found.to_dict()


@pytest.mark.parametrize("name", MODELS)
def test_a_saved_selection_decides_the_same(name, data, select, tmp_path):
    found = select(name)
    found.save(tmp_path / "x.json")
    again = fs.load_selection(tmp_path / "x.json")
    assert again.decision(data.X) == pytest.approx(found.decision(data), abs=1e-9)
    assert again.decision(data.scaled("minmax")) == pytest.approx(found.decision(data), abs=1e-9)
    assert again.error(data) == found.training_error
    assert (again.selected, again.weights, again.bias) == (found.selected, found.weights, found.bias)
    assert (again.objective, again.bound, again.gap) == (found.objective, found.bound, found.gap)
    assert (again.name, again.status) == (name, found.status.value)
    pd.testing.assert_frame_equal(again.table(), found.table())
    again_dict = {key: value for key, value in again.to_dict().items() if key not in ("features", "kernel")}
    content = json.loads(json.dumps(found.to_dict()))
    assert again_dict == {key: value for key, value in content.items() if key != "kernel"}
    assert repr(again).startswith(f"{name} on data")


@pytest.mark.parametrize("name", MODELS)
def test_a_saved_request_is_built_and_solved_again(name, data, select, tmp_path):
    found = select(name)
    found.save(tmp_path / "x.json")
    saved = fs.load_selection(tmp_path / "x.json")
    again = Request.from_dict(saved.content, saved.data, data).solve()
    model = saved.rebuild(data)
    assert (model is None) == (found.model is None)
    assert model is None or model.name == found.model.name
    assert again.selected == found.selected
    assert again.result.solver == found.result.solver
    assert again.objective == (found.objective and pytest.approx(found.objective, rel=1e-9))
    for key in ("parameters", "solver"):
        assert again.to_dict()[key] == found.to_dict()[key]


@pytest.mark.parametrize("name", MODELS)
def test_the_estimator_selects_as_the_function_does(name, data, select):
    found = select(name)
    kind, close = (KernelSelectorClassifier, 1e-4) if name in KERNELS else (SelectorClassifier, 1e-9)
    words = {key: value for key, value in parameters_of(name).items() if key in kind().get_params()}
    assert words == parameters_of(name)
    frame = pd.DataFrame(data.X, columns=FEATURES)
    estimator = kind(name, **words).fit(frame, np.where(data.y > 0, 1, 0))
    assert tuple(estimator.get_feature_names_out()) == found.selected
    assert estimator.objective_ == (found.objective and pytest.approx(found.objective, rel=close))
    assert estimator.bound_ == (found.bound and pytest.approx(found.bound, rel=close))
    assert estimator.status_ == found.status.value
    decides = found.refit or found
    assert estimator.decision_function(frame) == pytest.approx(decides.decision(data), abs=close)


def options_of(name, given=()):
    """Return the words for the parameters of a model that are not given yet."""
    words = ((PARAMETERS[key].flag, str(value)) for key, value in parameters_of(name).items())
    return [word for pair in words if pair[0] not in given for word in pair]


@pytest.mark.parametrize("name", MODELS)
def test_the_command_line_selects_as_the_function_does(name, data, select, tmp_path, monkeypatch, capsys):
    """What it suggests to try next runs too."""
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(data.X, columns=FEATURES).assign(target=np.where(data.y > 0, "ill", "well"))
    frame.to_csv("data.csv", index=False, float_format="%.17g")
    words = ["select", "data.csv", "--target", "target", "--positive", "ill"]
    assert main([*words, "--model", name, *options_of(name), "--json", "found.json"]) == 0
    out = capsys.readouterr().out
    content, found = json.loads((tmp_path / "found.json").read_text()), select(name)
    assert content["selected"] == list(found.selected)
    close = 1e-4 if name in KERNELS else 1e-9
    assert content["objective"] == (found.objective and pytest.approx(found.objective, rel=close))
    assert content["status"] == found.status.value
    steps = [shlex.split(line.partition(":")[0]) for line in out.split("What to try next")[1].splitlines() if line]
    assert len(steps) >= 1
    for step in steps:
        other = step[step.index("--model") + 1] if "--model" in step else name
        assert main([*words, "--model", other, *options_of(other, step), *step, "--quiet"]) == 0, step
        capsys.readouterr()
