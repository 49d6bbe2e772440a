"""Weights of samples on the command line, and in the words of ``select`` and its relatives."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fsmodels as fs
from commands import run
from fsmodels.errors import DataError, ParameterError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to work in, with a CSV file of four features, a column of counts and text labels."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 4))
    label = np.where(X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=40) > 0.6, "ill", "well")
    frame = pd.DataFrame(X, columns=list("abcd")).assign(times=rng.integers(0, 4, size=40), group=label)
    frame.to_csv("patients.csv", index=False)
    return frame


WORDS = ["patients.csv", "--target", "group", "--positive", "ill", "--max-features", 2]


def data_of(frame):
    return fs.Dataset.from_frame(frame, "group", positive="ill")


def test_weights_by_class_and_by_column_are_those_of_select(folder, capsys):
    weigh = ["--class-weight", "ill:3", "--class-weight", "well:0.5", "--sample-weight", "times"]
    code, out, err = run(capsys, "select", *WORDS, "--model", "fsp-m", *weigh, "--json", "x.json")
    assert code == 0, err
    assert "Weights of samples  class_weight well: 0.5, ill: 3; sample_weight times" in out
    told = json.loads(Path("x.json").read_text())
    assert told["data"]["weights"] == {"class_weight": {"well": 0.5, "ill": 3.0}, "sample_weight": "times"}
    assert "times" not in told["scale"]["shift"]
    data = data_of(folder)
    found = fs.select(data, max_features=2, sample_weight="times", class_weight={"ill": 3, "well": 0.5})
    assert told["objective"] == pytest.approx(found.objective, rel=1e-9)
    many = data.select_features(list("abcd")).take(np.repeat(np.arange(40), folder["times"]))
    expected = fs.select(many, max_features=2, class_weight={"ill": 3, "well": 0.5})
    assert told["objective"] == pytest.approx(expected.objective, rel=1e-6)


@pytest.mark.parametrize(
    "command",
    [["path"], ["stability", "--bootstraps", 2], ["near-optimal"], ["necessity"], ["price", "--excludes", "a:b"]],
)
def test_every_command_that_solves_takes_weights(folder, capsys, command):
    name, *more = command
    words = [*WORDS[:-1], "1:2"] if name == "path" else WORDS
    said = ["--class-weight", "balanced", "--sample-weight", "times"]
    code, out, err = run(capsys, name, *words, *more, *said)
    assert code == 0, err
    assert "class_weight balanced; sample_weight times" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--class-weight", "ill"], "write LABEL:W"),
        (["--class-weight", "ill:0"], "a number above 0"),
        (["--class-weight", "ill:x"], "write LABEL:W"),
        (["--class-weight", "balanced", "--class-weight", "ill:2"], "or only balanced"),
        (["--class-weight", "ill:1", "--class-weight", "ill:2"], "twice"),
        (["--class-weight", "sick:1"], '"sick" is no label'),
        (["--sample-weight", "tmes"], 'Did you mean "times"?'),
        (["--sample-weight", "a"], "give 0, which excludes a sample"),
        (["--model", "fsmulti", "--class-weight", "balanced"], 'Model "fsmulti" does not use sample weights'),
        (["--model", "relief", "--sample-weight", "times"], 'Model "relief" does not use sample weights'),
        (["--bags", "times", "--class-weight", "balanced"], "leave one of them out"),
    ],
)
def test_words_of_weights_that_are_wrong(folder, capsys, words, message):
    model = [] if "--model" in words else ["--model", "fsp-m"]
    code, _, err = run(capsys, "select", *WORDS, *model, *words)
    assert code == 2
    assert message in err


def test_what_select_is_given_is_joined_with_what_the_data_have(folder):
    data = data_of(folder).weighted("times")
    joined = fs.select(data, max_features=2, class_weight="balanced").data
    assert joined.weighting.words == {"class_weight": "balanced", "sample_weight": "times"}
    both = data_of(folder).weighted("times", "balanced")
    assert joined.sample_weight.tolist() == both.sample_weight.tolist()
    again = fs.select(both, max_features=2, sample_weight=np.ones(40)).data
    assert again.weighting.by_class == "balanced"
    assert again.multiplicity.tolist() == [1.0] * 40


def test_questions_take_the_words_of_select(folder):
    data, words = data_of(folder), {"sample_weight": "times", "class_weight": "balanced"}
    found = fs.select(data, max_features=2, **words)
    weighted = data.weighted("times", "balanced")
    assert fs.path(data, max_features=[1, 2], **words)["objective"].iloc[1] == pytest.approx(found.objective)
    assert fs.near_optimal(data, max_features=2, **words)[0].objective == pytest.approx(found.objective, rel=1e-5)
    asked = fs.certify(data, found.selected, **words)
    assert asked.objective == pytest.approx(found.objective, rel=1e-5)
    by_words, by_data = (
        fs.cross_validate(d, max_features=2, cv=2, **more) for d, more in ((data, words), (weighted, {}))
    )
    assert by_words.runs["objective"].tolist() == by_data.runs["objective"].tolist()
    numbers = words | {"sample_weight": folder["times"].to_numpy()}
    again = fs.cross_validate(data.select_features(list("abcd")), max_features=2, cv=2, **numbers)
    assert again.runs["objective"].tolist() == by_data.runs["objective"].tolist()
    session = fs.explore(data, max_features=2, **words)
    assert session.ask().found.objective == pytest.approx(found.objective, rel=1e-4)
    assert fs.explore(weighted, max_features=2).ask(C=2.0).found.objective == pytest.approx(
        fs.select(weighted, max_features=2, C=2.0).objective, rel=1e-4
    )


def test_a_selection_from_a_file_builds_its_weighted_model_again(folder, tmp_path):
    data = data_of(folder)
    for words in ({"class_weight": "balanced"}, {"sample_weight": "times"}, {"class_weight": {"ill": 4}}):
        found = fs.select(data, max_features=2, **words)
        found.save(tmp_path / "x.json")
        model = fs.load_selection(tmp_path / "x.json").rebuild(data)
        assert fs.solve(model).objective == pytest.approx(found.objective, rel=1e-5)
    times = folder["times"].to_numpy()
    plain = data.select_features(list("abcd"))
    found = fs.select(plain, max_features=2, sample_weight=times)
    found.save(tmp_path / "x.json")
    saved = fs.load_selection(tmp_path / "x.json")
    assert fs.solve(saved.rebuild(plain.weighted(times))).objective == pytest.approx(found.objective, rel=1e-5)
    with pytest.raises(DataError, match="used sample weights"):
        saved.rebuild(plain)


def test_errors_are_shares_of_wrong_labels_whatever_the_weights(folder):
    data = data_of(folder)
    found = fs.select(data, max_features=2, sample_weight="times", class_weight={"ill": 9})
    wrong = (found.decision(data) > 0) != (folder["group"] == "ill").to_numpy()
    assert 0 < wrong.mean() != np.average(wrong, weights=found.data.sample_weight)
    assert found.training_error == pytest.approx(wrong.mean())


def test_fairness_counts_samples_as_often_as_they_are_given(folder):
    data = data_of(folder).select_features(list("abcd")).with_aside(half=np.arange(40) % 2)
    times = folder["times"].to_numpy()
    many = data.take(np.repeat(np.arange(40), times))
    found = fs.select(data, max_features=3, fair=("half", 0.05), sample_weight=times)
    assert found.objective == pytest.approx(fs.select(many, max_features=3, fair=("half", 0.05)).objective, rel=1e-4)


def test_the_model_alone_refuses_too(folder):
    with pytest.raises(ParameterError, match="fsmulti does not use sample weights"):
        fs.multivariate.fsmulti(data_of(folder).weighted(class_weight="balanced").scaled("standard"), budget=2)
