"""``fsmodels certify, necessity, price, verify``, and ``select --certify``."""

import json
import shlex

import pytest

import fsmodels as fs
from commands import run


def test_certify_answers_in_a_sentence_and_a_file(tmp_path, capsys):
    file = tmp_path / "c.json"
    code, out, _ = run(capsys, "certify", "bupa", "--features", "mcv,sgot", "--within", "5%", "--json", file)
    assert code == 0
    assert "The objective of every model with at most 2 features is at least" in out
    content = json.loads(file.read_text("utf-8"))
    assert content["question"] == "certify"
    assert content["answer"] is False
    assert content["sentence"] in out


def test_necessity_shows_a_table(tmp_path, capsys):
    file = tmp_path / "n.json"
    code, out, _ = run(capsys, "necessity", "bupa", "--max-features", "3", "--json", file)
    assert code == 0
    assert "in every model with at most 3 features" in out
    assert "Price of" in out
    table = out.split("\n\n")[1]
    assert max(map(len, table.splitlines())) <= 80
    assert len(json.loads(file.read_text("utf-8"))["features"]) == 6
    quiet = run(capsys, "necessity", "bupa", "--max-features", "3", "--quiet", "--within", "0.01")
    assert quiet[1].count("\n") == 1


def test_near_optimal_selections_are_listed(tmp_path, capsys):
    file = tmp_path / "o.json"
    words = ["near-optimal", "bupa", "--max-features", "3", "--within", "5%", "--limit", "50"]
    code, out, _ = run(capsys, *words, "--json", file)
    assert code == 0
    content = json.loads(file.read_text("utf-8"))
    assert content["complete"]
    assert "there is no other" in content["sentence"]
    assert content["sentence"] in out
    assert all(", ".join(model["features"]) in out for model in content["models"])


def test_price_of_rows_given_by_options(tmp_path, capsys):
    file = tmp_path / "p.json"
    words = ["price", "bupa", "--max-features", "3", "--excludes", "sgpt:sgot", "--gap", "1e-8"]
    code, out, _ = run(capsys, *words, "--json", file)
    assert code == 0
    assert 'excludes=("sgpt", "sgot") costs 21.3072' in out
    assert {p["row"] for p in json.loads(file.read_text("utf-8"))["prices"]} == {"excludes_sgpt_sgot", "cardinality"}
    code, out, _ = run(capsys, *words, "--only", "cardinality", "--at", "1,2")
    assert code == 0
    assert "excludes" not in out
    assert run(capsys, *words, "--only", "nobody")[0] == 2
    code, _, error = run(capsys, *words, "--row", "cardinality")
    assert code == 2
    assert "--only cardinality" in error
    code, out, _ = run(capsys, *words, "--row", "sgpt + mcv <= 1", "--only", 'rows=["sgpt + mcv <= 1"]')
    assert code == 0
    assert 'rows=["sgpt + mcv <= 1"] costs' in out


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["certify", "bupa", "--features", "mcv,nobody"], "nobody"),
        (["certify", "bupa", "--features", "mcv", "--model", "rfe"], "proves no bound"),
        (["necessity", "bupa"], "--max-features"),
        (["price", "bupa", "--model", "fsp-lambda", "--penalty", "2"], "no active constraint on sigma"),
        (["select", "bupa", "--model", "fsp-m", "--max-features", "2", "--certify", "3"], "leave it out"),
        (["select", "bupa", "--model", "rfe", "--max-features", "2", "--certify", "0"], "seconds above 0"),
        (["verify", "nowhere.json", "bupa"], "cannot be read"),
        (["select", "bupa", "--model", "rfe", "--max-features", "2", "--certificate", "c.json"], "leave it out"),
        (["certify", "bupa", "--features", "mcv", "--within", "5"], "no share"),
    ],
)
def test_what_cannot_be_asked_ends_with_2_and_a_reason(capsys, words, error):
    code, _, err = run(capsys, *words)
    assert code == 2
    assert error in err


def test_select_certifies_a_heuristic(tmp_path, capsys):
    file = tmp_path / "r.json"
    words = ["select", "bupa", "--model", "rfe", "--max-features", "2", "--certify", "20", "--json", file]
    code, out, _ = run(capsys, *words)
    assert code == 0
    assert "above the best possible" in out
    assert json.loads(file.read_text("utf-8"))["certified"]["model"] == "fsp-m"


def test_select_writes_a_certificate_that_verify_confirms(tmp_path, capsys):
    file = tmp_path / "c.json"
    assert run(capsys, "select", "bupa", "--model", "fsp-m", "--max-features", "2", "--certificate", file)[0] == 0
    assert run(capsys, "verify", file, "bupa", "--quiet")[0] == 0
    nowhere = tmp_path / "no" / "c.json"
    code, _, err = run(capsys, "select", "bupa", "--model", "fsp-m", "--max-features", "2", "--certificate", nowhere)
    assert code == 2
    assert "cannot be written" in err


def test_verify_reads_a_certificate_and_says_whether_it_holds(tmp_path, capsys):
    from tests.fsmodels.certificates.test_verify import enumerated

    certificate = enumerated(fs.load_dataset("bupa").scaled("standard"))
    certificate.save(tmp_path / "c.json")
    code, out, _ = run(capsys, "verify", tmp_path / "c.json", "bupa", "--json", tmp_path / "v.json")
    assert code == 0
    assert out.startswith("The certificate holds: objective 275.843")
    assert "  data: bupa\n" in out
    assert "  rows: mcv + alkphos + sgpt" in out
    assert json.loads((tmp_path / "v.json").read_text("utf-8"))["holds"] is True
    assert json.loads((tmp_path / "v.json").read_text("utf-8"))["problem"]["C"] == 1.0
    text = (tmp_path / "c.json").read_text("utf-8").replace('"C":1.0', '"C":1.5')
    (tmp_path / "false.json").write_text(text)
    code, _, err = run(capsys, "verify", tmp_path / "false.json", "bupa")
    assert code == 3
    assert "does not hold" in err
    assert run(capsys, "verify", tmp_path / "c.json", "wdbc")[0] == 2


def test_no_file_of_a_run_is_written_over(tmp_path, capsys):
    data, costs, both = tmp_path / "d.csv", tmp_path / "costs.csv", tmp_path / "both.json"
    data.write_text("a,b,target\n" + "".join(f"{k},{k % 3},{int(k > 5)}\n" for k in range(12)))
    costs.write_text("feature,cost\na,1\n")
    select = ["select", data, "--model", "fsp-m", "--max-features", "1"]
    for words in (
        [*select, "--certificate", data],
        [*select, "--budget", f"{costs}:5", "--certificate", costs],
        [*select, "--certificate", both, "--json", both],
    ):
        before = data.read_text(), costs.read_text()
        code, _, err = run(capsys, *words)
        assert code == 2
        assert "give another file" in err
        assert (data.read_text(), costs.read_text()) == before
    assert run(capsys, *select, "--json", both)[0] == 0
    code, _, err = run(capsys, "predict", both, data, "--out", data)
    assert code == 2
    assert "give another file" in err
    assert data.read_text() == before[0]


def test_hints_do_not_repeat_what_was_for_this_run(capsys):
    words = ["select", "bupa", "--model", "rfe", "--max-features", "2", "--certify", "20"]
    assert "--certify" not in run(capsys, *words)[1].split("What to try next")[1]


def test_the_command_that_checks_a_proof_reads_the_same_data(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"P{k},{k},{k * k % 7},{'ill' if k > 5 else 'well'}\n" for k in range(12))
    (tmp_path / "d.csv").write_text(f"id,a,b,out come\n{rows}")
    words = ["select", "d.csv", "--target", "out come", "--positive", "well", "--drop", "id", "--model", "fsp-m"]
    code, out, _ = run(capsys, *words, "--max-features", "1", "--certificate", "c.json")
    assert code == 0
    command = out.split("what checks it: ")[1].splitlines()[0]
    code, out, _ = run(capsys, *shlex.split(command)[1:])
    assert code == 0
    assert out.startswith("The certificate holds")
