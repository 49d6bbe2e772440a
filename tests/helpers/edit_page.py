"""The matrix of edits as a page."""

from __future__ import annotations

from edit_matrix import KNOWN, Cell
from edits import EDITS
from families import FAMILIES
from fsmodels.selection.recipes import MODELS

HEAD = """# Rows on features, edits of weights: what each family does

Written by `python scripts/draw_rows.py`, which makes every edit on every family of the command line and solves by the
family's default; `tests/fsmodels/test_edit_matrix.py` holds this page to what happens. The data are small, so that an
answer can be compared with that of every support.

- **proven**: the edit is honoured, and status `optimal` is right.
- honoured: the answer satisfies the edit, and its objective is that of the data; that nothing is better is not proven.
- refused: an error names what it is about and says what to do instead.
- –: the model has nothing that this could be stated on: no sigma, no weights, no rows.

After the word: the solver, where it is not the first that the row names.

"""


def page(rows: list[str]) -> str:
    """Return the page in Markdown, with a line for each family."""
    lines = ["| family | by | " + " | ".join(edit.name for edit in EDITS) + " |"]
    lines.append("| --- " * (len(EDITS) + 2) + "|")
    kinds = [f"- {edit.name}: {edit.what}{_words(edit.words)}." for edit in EDITS]
    titles = [f"- `{family.name}`: {MODELS[family.name].title}" for family in FAMILIES]
    return HEAD + "\n".join([*lines, *rows, "", "The edits:", "", *kinds, "", "The families:", "", *titles]) + "\n"


def line(family: str, cells: list[Cell]) -> str:
    """Return the line of a family."""
    by = next((cell.solver for cell in cells if cell.solver), "")
    words = [_told(family, edit.name, cell, by) for edit, cell in zip(EDITS, cells, strict=True)]
    return f"| `{family}` | {by or '–'} | " + " | ".join(words) + " |"


def _told(family: str, edit: str, cell: Cell, by: str) -> str:
    if (family, edit) in KNOWN:
        return f"wrong: {KNOWN[family, edit]}"
    word = {"-": "–", "proven": "**proven**"}.get(cell.word, cell.word)
    return f"{word}, {cell.solver}" if cell.solver and cell.solver != by else word


def _words(words: object) -> str:
    named = ", ".join(f"`{word}=`" for word in words)  # type: ignore[attr-defined]
    return f" ({named})" if named else ""
