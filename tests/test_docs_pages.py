"""What the pages of docs/ show works as it stands there."""

import contextlib
import doctest
import io
import re
import shlex
from pathlib import Path

import pytest

import fsmodels as fs
from fsmodels.cli.parser import parser
from fsmodels.selection.recipes import MODELS
from solvers import available

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = {page.name: page.read_text("utf-8") for page in sorted(DOCS.glob("*.md"))}
pytestmark = pytest.mark.skipif(not PAGES, reason="tests run without the source tree")


def blocks(text, kind=""):
    found = re.findall(r"^```([\w{}-]*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [body for label, body in found if label == kind]


def commands(text):
    """The words of each command ``fsmodels ...`` of a page; continued lines are one, comments are left out."""
    for line in "\n".join(blocks(text)).replace("\\\n", " ").splitlines():
        command = line.split("&&")[-1].split("#")[0].strip().removeprefix("$ ")
        if command.startswith("fsmodels "):
            yield shlex.split(command)[1:]


@pytest.mark.parametrize("page", [page for page, text in PAGES.items() if any(commands(text))])
def test_every_command_has_options_that_exist(page):
    for words in commands(PAGES[page]):
        if "--help" not in words:
            parser().parse_args(words)


def test_pages_have_commands():
    assert sum(len(list(commands(text))) for text in PAGES.values()) > 8


def test_every_model_and_every_solver_is_in_a_table():
    for page, names in {"models.md": MODELS, "solvers.md": available()["name"]}.items():
        for name in names:
            assert re.search(rf"^\|.*`{re.escape(name)}`", PAGES[page], re.MULTILINE), name


def test_every_helper_of_side_constraints_is_in_its_table():
    shown = re.findall(r"^\| (`.*?) \|", PAGES["edit-a-model.md"], re.MULTILINE)
    named = {name for cell in shown for name in re.findall(r"`(\w+)`", cell)}
    assert named == set(fs.side_constraints.__all__) | {"signs", "fair", "at_most_of_group", "hierarchy"}


def test_the_edited_model_is_solved_as_the_page_says():
    (code,) = blocks(PAGES["edit-a-model.md"], "python")
    names, shown = {}, io.StringIO()
    with contextlib.redirect_stdout(shown):
        exec(code, names)
    result, model = names["result"], names["model"]
    assert result.status.value == "optimal"
    assert "optimal" in shown.getvalue()
    assert len(result.selected) == 3
    assert not {"age", "chol"} <= set(result.selected)
    assert model.w["ca"].value <= 0.5 + 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page, text in PAGES.items() if blocks(text, "pycon")])
def test_sessions_of_python_say_what_happens(page):
    said = []
    session = doctest.DocTestParser().get_doctest("\n".join(blocks(PAGES[page], "pycon")), {"fs": fs}, page, page, 0)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    ran = doctest.DocTestRunner(verbose=False, optionflags=flags).run(session, out=said.append)
    assert not ran.failed, "".join(said)
