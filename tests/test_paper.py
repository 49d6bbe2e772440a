"""The paper has the form of its journal, and its example works as it stands there."""

import re
from pathlib import Path

import pytest

PAPER = Path(__file__).resolve().parents[1] / "paper" / "paper.md"
TEXT = PAPER.read_text("utf-8") if PAPER.is_file() else ""
SECTIONS = ["Summary", "Statement of need", "State of the field", "Software design", "Functionality"]
pytestmark = pytest.mark.skipif(not TEXT, reason="tests run without the source tree")


def test_fields_sections_and_length():
    yaml = pytest.importorskip("yaml")
    _, fields, body = TEXT.split("---\n", 2)
    fields = yaml.safe_load(fields)
    assert set(fields) == {"title", "tags", "authors", "affiliations", "date", "bibliography"}
    assert (PAPER.parent / fields["bibliography"]).is_file()
    assert {author["affiliation"] for author in fields["authors"]} == {of["index"] for of in fields["affiliations"]}
    assert re.findall(r"^# (.*)$", re.sub(r"```.*?```", "", body, flags=re.DOTALL), re.MULTILINE) == [
        *SECTIONS, "Acknowledgements", "References",
    ]  # fmt: skip
    assert 750 <= len(body.split()) <= 1500


def test_every_citation_is_in_the_bibliography_and_every_entry_is_cited():
    entries = re.findall(r"^@\w+\{(\w+),$", (PAPER.parent / "paper.bib").read_text("utf-8"), re.MULTILINE)
    assert len(entries) == len(set(entries))
    assert set(re.findall(r"@(\w+)", TEXT)) == set(entries)


def test_the_figure_exists_and_is_cited():
    ((label, path),) = re.findall(r"!\[[^\]]*\\label\{(.*?)\}\]\((.*?)\)", TEXT)
    assert (PAPER.parent / path).is_file()
    assert rf"\autoref{{{label}}}" in TEXT


def test_the_example_is_proven_and_satisfies_its_rule(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    names = {}
    exec(code, names)
    result = names["result"]
    assert result.status.value == "optimal"
    assert len(result.selected) <= 3
    assert "worst_texture" not in result.selected or "mean_texture" in result.selected
    assert str(result.objective) in capsys.readouterr().out
