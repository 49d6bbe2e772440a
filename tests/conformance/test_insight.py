"""Every question about every model by name: an answer that can be shown, or an error raised on purpose."""

import json
from contextlib import suppress

import matplotlib.pyplot as plt
import numpy as np
import pytest

import fsmodels as fs
from fsmodels.errors import ModelError, ParameterError
from fsmodels.selection.catalogue import MODELS

VALUES = {"max_features": 2, "penalty": 0.1, "R_plus": 0.1, "R_minus": 0.1, "C": 1.0, "budget": 2}
QUESTIONS = [
    {"max_features": 1}, {"max_features": None}, {"C": 2.0}, {"penalty": 0.3}, {"force_in": ["a"]},
    {"excludes": [("b", "c")]}, {"add": {"odd": lambda m: m.sigma["a"] + m.sigma["b"] == 1}}, {"drop": "odd"},
]  # fmt: skip


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(24, 4))
    return fs.Dataset(X, np.where(X[:, 0] + 0.7 * rng.normal(size=24) > 0, 1.0, -1.0), ("a", "b", "c", "d"))


def shown(answer):
    """Use everything that shows an answer."""
    assert repr(answer)
    assert json.dumps(answer.to_dict(), allow_nan=False)
    for name in ("table", "importance", "plot", "_repr_html_"):
        if hasattr(answer, name):
            getattr(answer, name)()
    plt.close("all")


def explored(data, model, **given):
    session = fs.explore(data, model, **given)
    for question in QUESTIONS:
        with suppress(ParameterError, ModelError):
            shown(session.ask(**question))
    session.history()
    return session.answers[0]


def priced(data, model, **given):
    found = fs.select(data, model, requires=[("a", "b")], **given)
    return fs.price_of(found.model, time_limit=0.5)


FUNCTIONS = {
    "certify": lambda data, model, **given: fs.certify(data, ["a", "b"], model, **given),
    "explore": explored,
    "near_optimal": fs.near_optimal,
    "necessity": fs.necessity,
    "price_of": priced,
    "stability": lambda data, model, **given: fs.stability(data, model, folds=2, **given),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", MODELS)
def test_every_question_has_an_answer_or_an_error_of_this_package(model, data):
    given = {name: VALUES[name] for name, required in MODELS[model].parameters.items() if required}
    given |= {"time_limit": 0.5} if MODELS[model].runs_solver else {}
    for function in FUNCTIONS.values():
        with suppress(ParameterError, ModelError):
            shown(function(data, model, **given))


@pytest.mark.parametrize("time_limit", [1e-6, 0.02])
@pytest.mark.parametrize("model", ["fsp-m", "fsp-lambda", "fs"])
def test_near_optimal_lists_the_best_where_time_ends_before_its_list_begins(model, time_limit, data):
    given = {name: VALUES[name] for name, required in MODELS[model].parameters.items() if required}
    found = fs.near_optimal(data, model, time_limit=time_limit, **given)
    assert found[0].objective == pytest.approx(found.best.objective)
    assert found.complete or found.best.stop_reason is fs.StopReason.TIME_LIMIT
    shown(found)


@pytest.mark.parametrize(("model", "given"), [("gmeb", {"R_plus": 0.1, "R_minus": 0.1}), ("fsmulti", {"budget": 2})])
def test_sigma_on_demand_is_enough_for_a_session(model, given, data):
    session = fs.explore(data, model, **given, sigma=True, gap=1e-6)
    free = session.found.objective
    assert session.ask(force_in=["d"]).found.objective >= free * (1 - 1e-6)
    assert "d" in session.found.selected
    shown(fs.necessity(data, model, **given, sigma=True))


def test_a_session_of_fs_takes_a_limit_on_features_and_takes_it_back(data):
    session = fs.explore(data, "fs", penalty=0.05)
    free = session.found
    assert len(session.ask(max_features=1).found.selected) <= 1
    assert session.ask(max_features=None).found.objective == pytest.approx(free.objective)
