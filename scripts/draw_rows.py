"""Run every edit on every family, and write docs/rows-on-features.md: ``python scripts/draw_rows.py``.

``tests/conformance/test_edits.py`` holds the page to what happens; this prints, besides, how each refusal is worded.
"""

from __future__ import annotations

import logging
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "rows-on-features.md"


def main() -> int:
    """Write the page; return 1 where a cell is wrong that is not known to be."""
    sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "helpers")]
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    from edit_matrix import KNOWN, row
    from edit_page import line, page
    from edits import EDITS
    from families import FAMILIES

    rows, new = [], 0
    for family in FAMILIES:
        cells = row(family)
        rows.append(line(family.name, cells))
        for edit, cell in zip(EDITS, cells, strict=True):
            if cell.wrong and (family.name, edit.name) not in KNOWN:
                new = 1
            if cell.wrong or cell.word == "refused":
                print(family.name, edit.name, *cell.wrong, cell.said, sep=" | ")
    PAGE.write_text(page(rows), encoding="utf-8")
    return new


if __name__ == "__main__":
    sys.exit(main())
