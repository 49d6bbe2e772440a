"""Every page of results says first what came out, is short, and its numbers follow from its records."""

import json
import random
import re

import index
import numpy as np
import pytest
from log import RESULTS

PAGES = [path.stem for path in sorted(RESULTS.glob("*.json")) if "parts" in json.loads(path.read_text())]


def tables(page):
    """Return the tables of a Markdown page as lists of rows of texts, without head and rule."""
    blocks = re.findall(r"(?:^\|.*\n)+", page, flags=re.MULTILINE)
    return [
        [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()[2:]] for block in blocks
    ]


def inward(record, path):
    for name in path.split("."):
        record = (record or {}).get(name)
    return record


def by_hand(rule, records):
    """Return the numbers behind a cell, by numpy and independently of the code that drew the page."""

    def those(where):
        kept = [r for r in records if all(inward(r, k) == v for k, v in where.items())]
        return [r for r in kept if inward(r, rule["value"]) is not None]

    values = [inward(r, rule["value"]) for r in those(rule["where"])]
    if rule["minus"] is not None:
        other = {
            json.dumps([inward(r, f) for f in rule["pair"]]): inward(r, rule["value"]) for r in those(rule["minus"])
        }
        ours = {
            json.dumps([inward(r, f) for f in rule["pair"]]): inward(r, rule["value"]) for r in those(rule["where"])
        }
        values = [ours[key] - other[key] for key in ours if key in other]
    return rule["times"] * np.array(values, dtype=float)


NUMPY = {
    "n": len,
    "mean": np.mean,
    "sd": lambda v: np.std(v, ddof=1),
    "se": lambda v: np.std(v, ddof=1) / np.sqrt(len(v)),
    "median": np.median,
    "least": np.min,
    "most": np.max,
    "total": np.sum,
}


@pytest.mark.parametrize("name", PAGES)
def test_three_cells_at_random_follow_from_the_records(name):
    data = json.loads((RESULTS / f"{name}.json").read_text())
    shown = tables((RESULTS / f"{name}.md").read_text())
    filled = [cell for cell in data["cells"] if cell["text"] != "–"]
    for cell in random.Random(0).sample(filled, min(3, len(filled))):
        assert shown[cell["table"]][cell["row"]][cell["column"]] == cell["text"]
        rule = cell["rule"]
        values = by_hand(rule, data[rule["records"]])
        for said, (statistic, form) in zip(
            re.findall(r"[-+]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?%?|\?", cell["text"]),
            re.findall(r"\{(\w+)(?::([^}]*))?\}", rule["form"]),
            strict=True,
        ):
            if said == "?":
                assert len(values) == 1
                continue
            number = float(said.rstrip("%").replace(",", "")) / (100 if said.endswith("%") else 1)
            decimals = int(found.group(1)) if (found := re.search(r"\.(\d+)", form or ".0")) else 0
            step = 10.0 ** -(decimals + (2 if said.endswith("%") else 0))
            tolerance = 0.51 * step if not (form or "").endswith(("g", "e")) else 0.06 * abs(number) + 1e-12
            assert number == pytest.approx(float(NUMPY[statistic](values)), abs=tolerance + 1e-9)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_short_and_begins_with_its_answer(name):
    lines = (RESULTS / f"{name}.md").read_text().splitlines()
    assert len(lines) <= 150
    parts = json.loads((RESULTS / f"{name}.json").read_text())["parts"]
    unfinished = any(part["done"] < part["of"] for part in parts.values())
    assert lines[2].startswith("Not finished: ") == unfinished
    answer = lines[4 if unfinished else 2]
    assert answer[0] not in "#|- "
    assert answer.endswith(".")


def test_the_index_is_what_the_pages_say():
    assert (RESULTS / "README.md").read_text() == index.text(), "python benchmarks/index.py writes it again"


@pytest.mark.parametrize("row", index.ROWS, ids=lambda row: f"{row.paper}: {row.what}")
def test_a_row_of_the_index_leads_to_its_heading(row):
    assert row.page or row.impossible
    if row.page:
        page = (RESULTS / f"{row.page}.md").read_text()
        assert f"\n## {row.heading}\n" in page
