"""``fsmodels report``: the page is written whole, or nothing is."""

import hashlib
import json
import shlex

import numpy as np
import pandas as pd
import pytest

import fsmodels as fs
from commands import run
from fsmodels.page import stages


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to work in, with a CSV file of four features and text labels."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 4)) * [1, 10, 1, 1]
    ill = X @ [1, 0.1, 0.4, 0] + 0.5 * rng.normal(size=40) > 0
    frame = pd.DataFrame(X, columns=list("abcd")).assign(id=range(40), group=np.where(ill, "ill", "well"))
    frame.to_csv("p.csv", index=False)
    (tmp_path / "costs.csv").write_text("feature,cost\na,2\nb,1\n")
    (tmp_path / "groups.csv").write_text("feature,group\na,x\nb,x\nc,y\n")
    return tmp_path


DATA = ["p.csv", "--target", "group", "--positive", "ill", "--drop", "id"]
QUICK = ["--max-features", "2", "--cv", "2", "--max-path", "3"]


def test_the_page_tells_data_files_and_the_command(folder, capsys):
    words = ["report", *DATA, *QUICK, "--budget", "costs.csv:2", "--html", "NAME.html", "--json", "r.json"]
    code, out, _ = run(capsys, *words)
    page = (folder / "NAME.html").read_text("utf-8")
    assert code == 0
    assert "fsmodels " + shlex.join(words[:1]) in page
    assert shlex.join(["fsmodels", *words]) in page
    for file in ("p.csv", "costs.csv"):
        assert hashlib.sha256((folder / file).read_bytes()).hexdigest() in page
    assert '<th scope="row" class="words">columns left out</th><td data-label="value" class="unbroken">id</td>' in page
    assert "&#39;costs&#39;: {&#39;a&#39;: 2.0, &#39;b&#39;: 1.0}, &#39;limit&#39;: 2.0" in page
    found = fs.select(fs.Dataset.from_csv("p.csv", "group", "ill", "id"), max_features=2, budget=({"a": 2, "b": 1}, 2))
    assert json.loads((folder / "r.json").read_text())["selected"] == list(found.selected)
    assert "Written to NAME.html, r.json" in out
    assert "Held-out error" in out
    assert "It takes at most" in out


def test_the_page_has_no_local_folder_and_the_names_of_classes(folder, capsys):
    words = ["report", str(folder / "p.csv"), *DATA[1:], *QUICK, "--html", str(folder / "x.html")]
    code, _, _ = run(capsys, *words, "--class-names", "sick,healthy")
    page = (folder / "x.html").read_text("utf-8")
    assert code == 0
    assert str(folder) not in page
    assert shlex.join(["fsmodels", "report", "p.csv", *DATA[1:], *QUICK, "--html", "x.html"]) in page
    assert "predicted sick" in page


def test_quiet_is_one_line(folder, capsys):
    code, out, err = run(capsys, "report", *DATA, *QUICK, "--html", "x.html", "--quiet")
    assert (code, out.count("\n"), err) == (0, 1, "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--html", "p.csv"], '--html "p.csv" is the file "p.csv"'),
        (["--html", "costs.csv", "--budget", "costs.csv:2"], "costs.csv"),
        (["--html", "groups.csv", "--at-most-of-group", "groups.csv:1"], "groups.csv"),
        (["--html", "x.html", "--json", "x.html"], "x.html"),
        (["--html", "no/x.html"], "no such folder"),
        (["--html", "."], "is a folder"),
        (["--html", "x.html", "--cv", "1"], "cv=1"),
        (["--html", "x.html", "--max-path", "7"], "max_path=7"),
        (["--html", "x.html", "--what-if", "-1"], "what_ifs=-1"),
    ],
)
def test_what_cannot_be_done_is_refused_before_it_begins(folder, capsys, words, message):
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    code, _, err = run(capsys, "report", *DATA, "--max-features", "2", *words)
    assert (code, err.count("\n")) == (2, 1)
    assert message in err
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


def test_groups_are_no_place_for_a_json_file_either(folder, capsys):
    code, _, err = run(capsys, "select", *DATA, "--model", "fsp-m", "--max-features", "2", "--json", "groups.csv",
                        "--at-most-of-group", "groups.csv:1")  # fmt: skip
    assert code == 2
    assert "groups.csv" in err


def test_no_selection_leaves_the_page_that_was_there(folder, capsys):
    (folder / "x.html").write_text("old")
    code, _, err = run(capsys, "report", *DATA, *QUICK, "--force-in", "a", "--force-in", "b", "--force-in", "c",
                        "--html", "x.html", "--json", "x.json")  # fmt: skip
    assert code == 3
    assert "No page was written" in err
    assert (folder / "x.html").read_text() == "old"
    assert json.loads((folder / "x.json").read_text())["selected"] is None


@pytest.mark.parametrize("part", ["_errors", "_path", "_what_ifs"])
def test_ctrl_c_writes_what_is_done(folder, capsys, monkeypatch, part):
    def press(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(stages, part, press)
    code, out, _ = run(capsys, "report", *DATA, *QUICK, "--html", "x.html")
    page = (folder / "x.html").read_text("utf-8")
    assert code == 0
    assert "This report was stopped before it was complete." in page
    assert stages.STOPPED in page
    assert stages.STOPPED in out


def test_a_part_that_fails_is_said_and_the_rest_is_there(folder, capsys, monkeypatch):
    def fail(*_):
        raise fs.SolverError("It broke <here>.")

    monkeypatch.setattr(stages, "_errors", fail)
    code, _, _ = run(capsys, "report", *DATA, *QUICK, "--html", "x.html")
    page = (folder / "x.html").read_text("utf-8")
    assert code == 0
    assert "It broke &lt;here&gt;." in page
    assert "Other numbers of features" in page


def test_bags_and_sparse_files_have_pages(folder, capsys):
    code, _, err = run(capsys, "report", "musk1_bags", "--bags", "bag_id", "--model", "one-norm-svm", "-C", "1",
                      "--cv", "2", "--what-if", "0", "--html", "b.html")  # fmt: skip
    assert code == 0, err
    assert "Instances of the selected features" in (folder / "b.html").read_text("utf-8")
    rows = [f"{(-1) ** k} 1:{k % 5 + 1} 2:{(k * 7) % 3} {3 + k % 4}:1\n" for k in range(30)]
    (folder / "s.svm").write_text("".join(rows))
    code, _, err = run(capsys, "report", "s.svm", *QUICK, "--html", "s.html")
    assert code == 0, err
    assert '<th scope="row" class="unbroken">x' in (folder / "s.html").read_text("utf-8")
