"""What README.md shows works as it stands there."""

import re
import shlex
from pathlib import Path

import pytest

from fsmodels.cli.commands import parse

README = Path(__file__).resolve().parents[2] / "README.md"
TEXT = README.read_text("utf-8") if README.is_file() else ""
pytestmark = pytest.mark.skipif(not TEXT, reason="tests run without the source tree")


def test_the_python_example_reaches_a_proof_within_its_budget(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    names = {}
    exec(code, names)
    result, cost = names["result"], names["cost"]
    assert result.status.value == "optimal"
    assert sum(cost.get(j, 1) for j in result.selected) <= 15
    assert "slope" not in result.selected or "oldpeak" in result.selected
    assert "selected 4" in capsys.readouterr().out


def test_every_command_has_options_that_exist():
    blocks = [
        block for kind, block in re.findall(r"^```(\w*)\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE) if kind == "bash"
    ]
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    commands = [line.split("&&")[-1].split("#")[0] for line in lines if "fsmodels " in line]
    assert len(commands) >= 4
    for command in commands:
        words = shlex.split(command)[1:]
        if "--help" not in words:
            parse(words)


def test_both_commands_of_the_first_screen_are_there():
    top = TEXT[:800]
    assert "python -m pip install . && fsmodels select wdbc --model fsp-m --max-features 5" in top
    assert 'python -m pip install ".[test]" && pytest' in top


def test_the_first_page_is_short():
    assert len(TEXT.splitlines()) <= 120


def test_the_table_and_what_it_says_are_those_of_the_benchmark():
    page = (README.parent / "benchmarks" / "results" / "first_page.md").read_text("utf-8")
    rows = [line for line in page.split("\n## ")[1].splitlines() if line.startswith("|")]
    assert len(rows) > 5
    assert "\n".join(rows) in TEXT
    answer = page.split("\n\n")[1]
    assert len(answer) > 100
    assert " ".join(answer.split()) in " ".join(TEXT.split())


def test_links_lead_to_files():
    for target in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert target.startswith("https://") or (README.parent / target).is_file(), target
