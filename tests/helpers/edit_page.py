"""The matrix of edits as a page."""

from __future__ import annotations

from edit_matrix import KNOWN, Cell
from edits import EDITS
from families import FAMILIES
from fsmodels.selection.catalogue import MODELS

HEAD = """# Rows on features: their text form, and what each family does

A row is a linear relation over features by name. A name is 1 if the feature is selected and 0 otherwise; `w[name]` is
the weight of the feature in the scaled data.

| row | meaning |
| --- | --- |
| `slope <= oldpeak` | slope only together with oldpeak |
| `thal + ca <= 1` | not both |
| `2 thal + ca <= 2` | coefficients, with or without `*` |
| `1 <= age + sex + chol <= 2` | one or two of three features |
| `slope == oldpeak` | both or none |
| `age == 1` | age is selected |
| `w[age] >= 0` | the weight of age is not negative |
| `w[age] == w[chol]` | equal weights |
| `` `mean radius` <= area `` | a name that is no identifier, as in `DataFrame.query` |

The relations are `<=`, `>=` and `==`. Both sides may contain names and constants. A backtick in a name is doubled.

```python
import fsmodels as fs

data = fs.load_dataset("cleveland")
found = fs.select(data, max_features=4, rows=["slope <= oldpeak", "2 thal + ca <= 2", "w[age] >= 0"])

model = fs.fsp.fsp_m(data.scaled("standard"), max_features=4)
model.mine = fs.rows.parse("slope <= oldpeak", model)  # a pyo.Constraint
```

`rows=` is a keyword of every function that takes side constraints (`path`, `compare`, `cross_validate`, `explore`,
`necessity`, ...) and a parameter of the estimators. On the command line it is `--row "slope <= oldpeak"`, which may
be repeated. The other keywords (`requires=`, `budget=`, `signs=`, ...) are [short forms of rows](edit-a-model.md).
Reports and JSON contain the text. In messages, and as a component of the model, a row is `rows`, `rows_2`, ...

## What each family does

`python scripts/draw_rows.py` writes this page. It makes every edit on every family of the command line and solves by
the default of the family; `tests/fsmodels/test_edit_matrix.py` compares the page with the results. The data are
small, so that each answer can be compared with the best of all selections.

- **proven**: the answer satisfies the edit, and the status `optimal` is correct.
- honoured: the answer satisfies the edit, and its objective follows from the data; optimality is not proven.
- refused: an error names the edit and an alternative.
- –: the model has no variables for the edit: no sigma, no weights, no rows.

After the result: the solver, if it is not the first of the line.

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
