"""The notebooks as stored: outputs of one run from top to bottom, pictures included, assertions out of sight."""

import ast
import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
pytestmark = pytest.mark.skipif(not NOTEBOOKS, reason="tests run without the source tree")
DRAWS = (".plot(", "plt.subplots(", ".plot.bar(")
WALL = 14  # lines of code for a picture


def cells(file):
    """Return the code cells: source, outputs, tags, count."""
    stored = json.loads(file.read_text("utf-8"))
    for cell in stored["cells"]:
        if cell["cell_type"] == "code":
            yield (
                "".join(cell["source"]),
                cell["outputs"],
                cell["metadata"].get("tags", []),
                cell["execution_count"],
            )


@pytest.fixture(params=NOTEBOOKS, ids=lambda file: file.stem)
def notebook(request):
    return [*cells(request.param)]


def test_it_was_run_from_top_to_bottom_without_an_error(notebook):
    assert [count for *_, count in notebook] == list(range(1, len(notebook) + 1))
    assert not [o for _, outputs, *_ in notebook for o in outputs if o["output_type"] == "error"]
    warned = [o for _, outputs, *_ in notebook for o in outputs if o.get("name") == "stderr"]
    assert not warned


def test_every_picture_is_stored(notebook):
    drawn = 0
    for source, outputs, *_ in notebook:
        if any(word in source for word in DRAWS):
            assert [o for o in outputs if "image/png" in o.get("data", {})], source
            drawn += 1
    assert drawn


def test_assertions_are_in_hidden_cells_and_nothing_else_is(notebook):
    for source, outputs, tags, _ in notebook:
        asserts = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Assert)]
        assert ("remove-cell" in tags) == bool(asserts), source
        assert not (asserts and outputs), source


def test_no_wall_of_code_for_a_picture(notebook):
    for source, _, tags, _ in notebook:
        if any(word in source for word in DRAWS) and "hide-input" not in tags:
            assert len(source.splitlines()) <= WALL, source


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_it_opens_with_a_question(file):
    first = json.loads(file.read_text("utf-8"))["cells"][0]
    assert first["cell_type"] == "markdown"
    title = "".join(first["source"]).splitlines()[0]
    assert title.startswith("# ")
    assert title.endswith("?")
