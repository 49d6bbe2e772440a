"""Every edit on every family by its default driver: honoured and right, or refused by name; the page says which.

After a change that is meant: ``python scripts/draw_rows.py``, and look at what it has changed.
"""

import re
from pathlib import Path

import pytest

from edit_matrix import KNOWN, matters, row
from edit_page import line, page
from edits import EDITS
from families import FAMILIES
from fsmodels.models.rows import Row
from fsmodels.selection.catalogue import MODELS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "rows-on-features.md"
pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="tests run without the source tree")


def test_every_family_of_the_command_line_is_in_the_table():
    assert {family.name for family in FAMILIES} == set(MODELS)


@pytest.mark.parametrize("family", [f for f in FAMILIES if f.exact], ids=lambda f: f.name)
def test_an_edit_that_is_ignored_would_be_found_out(family):
    assert [edit.name for edit in EDITS if not matters(family, edit)] == []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_edits_are_honoured_or_refused_by_name_as_the_page_says(family):
    cells = row(family)
    print(line(family.name, cells))
    for edit, cell in zip(EDITS, cells, strict=True):
        if (family.name, edit.name) in KNOWN:
            assert cell.wrong, f"{edit.name}: mended, so take it out of KNOWN"
        else:
            assert not cell.wrong, (edit.name, cell)
    assert line(family.name, cells) in PAGE.read_text(encoding="utf-8"), "run: python scripts/draw_rows.py"


def test_the_rows_of_the_page_are_read():
    shown = re.findall(r"^\| `+ ?(.*?) ?`+ \| ", PAGE.read_text(encoding="utf-8").partition("\n## ")[0], re.MULTILINE)
    names = ["slope", "oldpeak", "thal", "ca", "age", "sex", "chol", "area", "mean radius"]
    assert len(shown) == 9
    assert [str(Row.parse(text, names)) for text in shown] == shown


def test_the_rest_of_the_page():
    text = PAGE.read_text(encoding="utf-8")
    rows = [line for line in text.partition("\n## ")[2].splitlines() if line.startswith("| `")]
    assert len(rows) == len(FAMILIES)
    assert page(rows) == text, "run: python scripts/draw_rows.py"
