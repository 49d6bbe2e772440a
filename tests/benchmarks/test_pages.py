"""Every page of results starts with its conclusion, is short, and its numbers follow from its records."""

import importlib
import json
import math
import random
import re
import shutil

import numpy as np
import pytest

from benchmarks.__main__ import commands
from benchmarks.harness import index
from benchmarks.harness.log import LOGS, RESULTS, Log
from benchmarks.harness.run import unfinished, write_pages
from benchmarks.solvers import nlp_solvers

WITHOUT_PAGE = ("index", "readme_picture", "soak", "soak_convex")
PAGES = [path.stem for path in sorted(RESULTS.glob("*.json")) if "parts" in json.loads(path.read_text())]
NUMBER = r"([-+]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?%?|\?)"


def tables(page):
    """Return the tables of a Markdown page as lists of rows of texts, without head and rule."""
    blocks = re.findall(r"(?:^\|.*\n)+", page, flags=re.MULTILINE)
    return [
        [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in block.splitlines()[2:]]
        for block in blocks
    ]


def inward(record, path):
    for name in path.split("."):
        record = (record or {}).get(name)
    return record


def by_hand(rule, records):
    """Return the values of a cell, computed by numpy and independently of the code that wrote the page."""

    def those(where):
        kept = [r for r in records if all(inward(r, k) == v for k, v in where.items())]
        return [r for r in kept if inward(r, rule["value"]) is not None]

    ours = those(rule.get("where", {}))
    values = [inward(r, rule["value"]) for r in ours]
    if rule.get("minus") is not None:  # all combinations of records, so that a duplicate pair would count twice
        values = [
            inward(a, rule["value"]) - inward(b, rule["value"])
            for a in ours
            for b in those(rule["minus"])
            if all(inward(a, f) == inward(b, f) for f in rule["pair"])
        ]
    return rule.get("times", 1.0) * np.array(values, dtype=float)


NUMPY = {
    "n": len,
    "mean": np.mean,
    "sd": lambda v: np.std(v, ddof=1),
    "se": lambda v: np.std(v, ddof=1) / np.sqrt(len(v)),
    "new": lambda v: np.std(v, ddof=1) * np.sqrt(1 + 1 / len(v)),
    "gmean": lambda v: np.exp(np.mean(np.log(v))),
    "median": np.median,
    "least": np.min,
    "most": np.max,
    "total": np.sum,
}


def statistics_of(rule, text):
    """Return (what is said, the statistic, its form) for each place of a cell's form; the rest is literal."""
    pieces = re.split(r"\{(\w+)(?::([^}]*))?\}", rule["form"])
    pattern = NUMBER.join(map(re.escape, pieces[::3]))
    said = re.fullmatch(pattern, text)
    assert said, f"{text} is not {rule['form']}"
    return zip(said.groups(), pieces[1::3], pieces[2::3], strict=True)


def last_place(form, number):
    """Return the unit of the last place that a form shows of a number."""
    digits = int(found.group(1)) if (found := re.search(r"\.(\d+)", form)) else 6
    if form.endswith(("e", "g")):
        size = math.floor(math.log10(abs(number))) if number else 0
        return 10.0 ** (size - digits + form.endswith("g"))
    return 10.0 ** -(digits + 2 * form.endswith("%"))


@pytest.mark.parametrize("name", PAGES)
def test_cells_at_random_follow_from_the_records(name):
    data = json.loads((RESULTS / f"{name}.json").read_text())
    shown = tables((RESULTS / f"{name}.md").read_text())
    filled = [cell for cell in data["cells"] if cell["text"] != "–"]
    for cell in random.Random(name).sample(filled, min(30, len(filled))):
        start = cell.get("start", 0)
        entry = shown[cell["table"]][cell["row"]][cell["column"]]
        assert entry[start : start + len(cell["text"])] == cell["text"]
        rule = cell["rule"]
        values = by_hand(rule, data[rule["records"]])
        for said, statistic, form in statistics_of(rule, cell["text"]):
            if said == "?":
                assert len(values) == 1 or (statistic == "gmean" and min(values) <= 0)
                continue
            number = float(said.rstrip("%").replace(",", "")) / (100 if said.endswith("%") else 1)
            true = float(NUMPY[statistic](values))
            assert number == pytest.approx(true, rel=1e-9, abs=0.51 * last_place(form or ".0f", true))


def pages_of(command):
    """Return the module of a benchmark, and the names of its logs."""
    module = importlib.import_module(commands()[command])
    pages = getattr(module, "PAGES", None) or ((module.page, (module.NAME,)),)
    return module, {name for _, names in pages for name in names}


@pytest.mark.parametrize("command", [name for name in commands() if name not in WITHOUT_PAGE])
def test_pages_are_what_their_logs_give(command, tmp_path):
    module, logs = pages_of(command)
    (tmp_path / "logs").mkdir()
    for name in logs:
        shutil.copy(LOGS / f"{name}.jsonl.xz", tmp_path / "logs")
    write_pages(module, tmp_path)
    written = [path.name for path in tmp_path.iterdir() if path.suffix in (".md", ".json")]
    assert written
    for name in written:
        assert (tmp_path / name).read_text("utf-8") == (RESULTS / name).read_text("utf-8"), name


def test_a_page_does_not_depend_on_the_programs_of_the_machine(monkeypatch):
    log = Log("nlp_solvers")
    parts = nlp_solvers.page(log).parts
    monkeypatch.setattr(nlp_solvers.shutil, "which", lambda name: f"/usr/bin/{name}")
    assert nlp_solvers.PROGRAM in nlp_solvers.contenders()
    assert nlp_solvers.page(log).parts == parts


DONE = ["all_methods", "concave_optimum", "concave_tables", "first_page", "gmeb_tables", "nlp_solvers", "wide"]


@pytest.mark.parametrize("command", DONE)
def test_a_finished_benchmark_does_nothing_again(command):
    module = importlib.import_module(commands()[command])
    assert unfinished(Log(command), module.tasks(False)) == []


@pytest.mark.parametrize("name", PAGES)
def test_no_record_is_there_twice(name):
    data = json.loads((RESULTS / f"{name}.json").read_text())
    for records, fields in data.get("keys", {}).items():
        known = [json.dumps([inward(record, name) for name in fields]) for record in data[records]]
        assert len(known) == len(set(known))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_short_and_begins_with_its_answer(name):
    lines = (RESULTS / f"{name}.md").read_text().splitlines()
    assert len(lines) <= 150
    parts = json.loads((RESULTS / f"{name}.json").read_text())["parts"]
    unfinished = any(part["done"] < part["of"] for part in parts.values())
    assert lines[4].startswith("Not finished: ") == unfinished
    answer = lines[2]
    assert answer[0] not in "#|- "
    assert answer.endswith(".")
    assert len(answer) <= 550, "a few sentences, which the index shows beside those of other pages"


@pytest.mark.parametrize("name", PAGES)
def test_an_answer_begins_with_a_plain_sentence(name):
    """The first sentence has everyday words, no symbols, and at most two numbers."""
    first = re.split(r"(?<=\.) ", json.loads((RESULTS / f"{name}.json").read_text())["answer"])[0]
    assert not set(first) & set("±=+<>()[]_`:"), first
    assert len(re.findall(r"(?<![\w-])\d[\d,.]*(?![\w-])", first)) <= 2, first
    assert len(first.split()) <= 35, first


@pytest.mark.parametrize("name", PAGES)
def test_date_and_versions_are_those_of_the_runs_in_the_log(name):
    about = json.loads((RESULTS / f"{name}.json").read_text())["about"]
    assert {"runs", "date", "versions"} <= set(about)


@pytest.mark.parametrize("name", PAGES)
def test_the_pictures_of_a_page_are_there(name):
    for picture in re.findall(r"^!\[[^]]*\]\(([^)]+)\)", (RESULTS / f"{name}.md").read_text(), re.MULTILINE):
        assert (RESULTS / picture).is_file(), picture


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_in_the_index(name):
    listed = {row.page for row in index.ROWS} | {page for _, page in index.QUESTIONS}
    assert name in listed, "enter it in benchmarks/harness/index.json"


def test_the_index_is_what_the_pages_say():
    assert (RESULTS / "README.md").read_text() == index.text(), "python -m benchmarks index writes it again"


@pytest.mark.parametrize("row", index.ROWS, ids=lambda row: f"{row.paper}: {row.what}")
def test_a_row_of_the_index_leads_to_its_heading(row):
    assert row.page or row.impossible
    if row.page:
        page = (RESULTS / f"{row.page}.md").read_text()
        assert page.count(f"\n## {row.heading}\n") == 1
    if row.page in PAGES and not row.impossible:
        parts = index.about(row.page)["parts"]
        assert row.part in parts
        assert not row.smaller or f"{row.part}, {row.smaller}" in parts


def test_the_index_counts_each_state(monkeypatch):
    parts = {name: {"done": done, "of": 2, "command": "make"} for name, done in (("a", 2), ("b", 1), ("c", 0))}
    monkeypatch.setattr(index, "about", lambda page: {"parts": parts, "answer": "One. Two."})
    parts |= {"a, small": parts["a"], "c, small": parts["b"], "c, coarse": parts["a"], "c, smallest": parts["c"]}
    rows = [index.Row("Paper", f"Table {name}", "first_page", "Heading: one", name) for name in "abc"]
    rows += [index.Row("Paper", name, "first_page", "Heading: one", "c", name) for name in ("small", "smallest")]
    rows += [index.Row("Paper", "small", "first_page", "Heading: one", "a", "small")]
    rows += [index.Row("Paper", "other", "first_page", "Heading: one", part, instead="less") for part in "ab"]
    rows += [index.Row("Paper", "coarse", "first_page", "Heading: one", "c", "coarse", instead=i) for i in ("", "less")]
    rows += [index.Row("Paper", "stopped", "first_page", "Heading: one", "a", censored="at 3 s")]
    monkeypatch.setattr(index, "ROWS", [*rows, index.Row("Paper", "Table d", impossible="lost")])
    assert [row.state()[0] for row in index.ROWS] == [
        "done",
        "partial: 1 of 2 tasks",
        "not begun: 2 tasks",
        "partial: 0 of 2 tasks; small: 1 of 2",
        "not begun: 2 tasks",
        "done",
        "done on substitute data: less",
        "partial: 1 of 2 tasks",
        "done with a smaller protocol: coarse",
        "done on substitute data: less, coarse",
        "censored: at 3 s",
        "impossible: lost",
    ]
    text = index.text()
    counts = "2 done, 2 done on substitute data, 1 done with a smaller protocol"
    counts += ", 1 censored, 3 partial, 2 not begun, 1 impossible"
    assert f"The tables below have 12 entries: {counts}." in text
    missing = "b (1 of 2); c (0 of 2); c, small (1 of 2); c, smallest (0 of 2)"
    assert f"- [first_page](first_page.md): One. Two. Not finished: {missing}.\n" in text
    assert all(f"*{state}*" in text for state in index.STATES)
    assert "[first_page](first_page.md#heading-one)" in text
