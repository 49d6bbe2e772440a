"""The examples of docs/your-own-model.md and solvers/README.md, run from top to bottom."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE, README = ROOT / "docs" / "your-own-model.md", ROOT / "solvers" / "README.md"
TEXT = PAGE.read_text("utf-8") if PAGE.is_file() else ""
pytestmark = pytest.mark.skipif(not TEXT, reason="tests run without the source tree")


def run(page):
    names = {"__name__": "page"}
    blocks = re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    for block in blocks:
        exec(compile(block, page.name, "exec", dont_inherit=True), names)
    return len(blocks)


def test_the_readme_runs():
    assert run(README) == 1


def test_the_page_runs(capsys):
    assert run(PAGE) >= 6
    said = capsys.readouterr().out
    assert '"facilities" for Benders drivers (default: the integer variables are decided first)' in said
    assert "block 6 " in said
    assert "10 starts ended between -400 and -100" in said


def test_it_names_the_available_slots():
    for page in (PAGE, README):
        for path in re.findall(r"\]\(((?!http)[^)#]+)\)", page.read_text("utf-8")):
            assert (page.parent / path).is_file(), path
    for word in ("complicating=", "blocks=", "model.stage", "explain_split"):
        assert word in TEXT
