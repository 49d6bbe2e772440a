"""The matrix of edits as a page."""

from __future__ import annotations

from edit_matrix import KNOWN, Cell
from edits import EDITS
from families import FAMILIES
from fsmodels.selection.catalogue import MODELS

HEAD = """# Constraints on features: the text form, and the support in each family

A *row* is a linear constraint over features by name. A name has the value 1 if the feature is selected and 0 otherwise.
`w[name]` is the weight of the feature in the scaled data.

| row | meaning |
| --- | --- |
| `slope <= oldpeak` | slope only together with oldpeak |
| `thal + ca <= 1` | not both |
| `2 thal + ca <= 2` | coefficients, with or without `*` |
| `1 <= age + sex + chol <= 2` | one or two of three features |
| `slope == oldpeak` | both features or neither |
| `age == 1` | age is selected |
| `w[age] >= 0` | the weight of age is not negative |
| `w[age] == w[chol]` | equal weights |
| `` `mean radius` <= area `` | a name that is not an identifier, as in `DataFrame.query` |

The relations are `<=`, `>=` and `==`. Both sides may contain names and constants. A backtick inside a name is doubled.

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
Reports and JSON contain the text. In messages and in the model the components have the names `rows`, `rows_2`, ...

## Edits supported by each family

`python scripts/draw_rows.py` writes this page. The script applies every edit to every model of the command line (a
*family*), and solves it with the default solver of the family. `tests/conformance/test_edits.py` compares the page
with the results. The data are small, so each result can be compared with the best of all selections.

- **proven**: the result satisfies the edit, and the status `optimal` is correct.
- honoured: the result satisfies the edit, and its objective follows from the data; optimality is not proven.
- refused: an error names the edit and an alternative.
- –: the model has no components for the edit (no sigma, no weights, or no constraints).

The entry also names the solver if it differs from that in the column *by*.

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
