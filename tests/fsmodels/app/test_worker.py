"""The thread that answers the requests of the explorer, without a browser."""

import json
import queue

import pytest

import fsmodels as fs
from fsmodels.app.worker import PanelWorker

FINAL = ("answer", "result", "report", "stopped", "error")


class Panel:
    """A front end without a window: sends requests and collects events."""

    def __init__(self, name, model="fsp-m", given=None):
        self.events, self.count = queue.Queue(), 0
        self.worker = PanelWorker(fs.load_dataset(name), model, given or {}, self.take, f'fs.load_dataset("{name}")')
        self.question = self.worker.welcome()["question"]

    def take(self, event):
        json.dumps(event, allow_nan=False)
        self.events.put(event)

    def submit(self, do="select", **changes):
        self.count += 1
        self.worker.submit({"do": do, "id": self.count, "question": {**self.question, **changes}})

    def answer(self):
        """Return the last event of the last request."""
        while True:
            event = self.events.get(timeout=60)
            if event["id"] == self.count and event["event"] in FINAL:
                return event

    def ask(self, **changes):
        self.submit(**changes)
        return self.answer()

    def ask_more(self, do, **changes):
        self.submit(do, **changes)
        assert self.answer()["event"] == "answer"
        return self.answer()


@pytest.fixture(scope="module")
def cleveland():
    panel = Panel("cleveland")
    yield panel
    panel.worker.close()


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"max_features": 3},
        {"C": 0.1, "force_out": ["ca"]},
        {"rows": ["ca + cp <= 1"], "force_in": ["age"]},
        {"model": "fs", "penalty": 0.3},
        {"model": "fsp-lambda", "penalty": 3.0, "max_features": None},
    ],
    ids=str,
)
def test_answers_are_those_of_a_new_select_and_of_the_code(cleveland, changes):
    event = cleveland.ask(**changes)
    question = {**cleveland.question, **changes}
    if question["model"] == "fs":
        del question["C"]
    found = fs.select(fs.load_dataset("cleveland"), **question)
    assert event["objective"] == pytest.approx(found.objective, rel=1e-6)
    assert [name for name, *_ in event["features"]] == list(found.table().index)
    assert (event["status"], event["question"]) == ("optimal", {**cleveland.question, **changes})
    variables = {}
    exec(event["code"], variables)
    assert variables["found"].selected == found.selected
    assert sum(map(sum, event["confusion"]["counts"])) == 297


def test_going_back_is_immediate(cleveland):
    first = cleveland.ask()
    cleveland.ask(max_features=2)
    again = cleveland.ask()
    assert again["seconds"] < 0.05
    assert again["features"] == first["features"]
    questions = [entry["question"] for entry in again["history"]]
    assert questions.count(cleveland.question) == 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rows": ["ca + nobody <= 1"]}, "nobody"),
        ({"rows": ["ca <"]}, "ca <"),
        ({"max_features": 99}, "max_features"),
        ({"max_features": None}, "max_features"),
        ({"C": -1}, "C"),
        ({"C": "<b>"}, "C"),
        ({"force_in": ["nobody"]}, "nobody"),
        ({"model": "svm"}, "svm"),
        ({"do": "delete"}, "delete"),
    ],
    ids=str,
)
def test_an_error_is_a_text_and_the_next_question_is_answered(cleveland, changes, words):
    event = cleveland.ask(**changes)
    assert event["event"] == "error"
    assert words in event["text"]
    assert cleveland.ask()["status"] == "optimal"


def test_a_request_that_is_no_question_is_an_error(cleveland):
    cleveland.worker.submit({"do": "select", "id": cleveland.count})
    assert cleveland.answer()["event"] == "error"


def test_an_infeasible_question_names_the_conflict(cleveland):
    event = cleveland.ask(max_features=2, force_in=["ca", "cp", "thal"])
    assert (event["status"], event["features"], event["confusion"]) == ("infeasible", [], None)
    assert "max_features=2" in event["text"]


def test_further_questions_use_the_rows_of_the_question(cleveland):
    rows = {"rows": ["ca + cp <= 1"]}
    near = cleveland.ask_more("near_optimal", **rows)
    expected = fs.near_optimal(fs.load_dataset("cleveland"), max_features=5, **rows)
    assert near["text"] == expected.sentence
    assert len(near["table"]) == 1 + len(expected)
    needed = cleveland.ask_more("necessity", **rows)
    roles = fs.necessity(fs.load_dataset("cleveland"), max_features=5, **rows)
    assert needed["table"][0][:2] == ["Feature", "Role"]
    assert [name for name, role, *_ in needed["table"] if role == "in every"] == roles.features("in every")
    tested = cleveland.ask_more("cross_validate", **rows)
    assert tested["text"] == fs.cross_validate(fs.load_dataset("cleveland"), max_features=5, C=1.0, **rows).sentence


def test_a_report_has_the_selection(cleveland):
    event = cleveland.ask_more("report", max_features=2)
    assert event["html"].startswith("<!DOCTYPE html>")
    assert "2 of 13 features" in event["html"]


@pytest.fixture(scope="module")
def wdbc():
    panel = Panel("wdbc", given={"max_features": 12, "C": 10.0})
    yield panel
    panel.worker.close()


def started(panel, **changes):
    """Submit a question that takes long, and wait until there is an incumbent."""
    panel.submit(**changes)
    while True:
        event = panel.events.get(timeout=60)
        if event["event"] == "progress" and event["incumbent"] is not None:
            return event


def test_a_stop_shows_the_incumbent_and_the_bound(wdbc):
    progress = started(wdbc)
    wdbc.worker.submit({"do": "stop"})
    event = wdbc.answer()
    assert event["event"] == "answer"
    assert event["status"] == "feasible"
    assert progress["bound"] <= event["bound"] < event["objective"] <= progress["incumbent"]


def test_the_latest_request_wins(wdbc):
    started(wdbc, C=9.0)
    wdbc.submit(C=8.0)
    wdbc.submit(C=7.0)
    event = wdbc.ask(max_features=2, C=1.0)
    assert event["status"] == "optimal"
    assert event["question"]["max_features"] == 2
    cancelled = [entry["question"]["C"] for entry in event["history"]]
    assert not {9.0, 8.0, 7.0} & set(cancelled)


def test_a_stop_ends_a_request_that_has_not_begun(wdbc):
    started(wdbc, C=9.0)
    wdbc.submit(C=8.0)
    wdbc.worker.submit({"do": "stop"})
    assert wdbc.answer()["event"] in ("stopped", "answer")  # the thread may have begun it
    assert wdbc.ask(max_features=2, C=1.0)["status"] == "optimal"


def test_other_arguments_hold_for_every_question():
    panel = Panel("bupa", given={"max_features": 3, "excludes": [("sgpt", "sgot")], "solver": "scip"})
    for model, penalty in (("fsp-m", None), ("fsp-lambda", 2.0)):
        event = panel.ask(model=model, penalty=penalty)
        names = {name for name, *_ in event["features"]}
        assert not {"sgpt", "sgot"} <= names
        assert "excludes" in event["code"]
    panel.worker.close()
