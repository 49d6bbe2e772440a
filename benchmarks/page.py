"""A page of results: the answer first, every number of a table with the rule by which it comes from the records.

    page = Page("concave_tables", "Bradley, Mangasarian and Street 1998", fits=fits)
    page.answer("FSV errs less than all features on both sets. It selects what the paper's does.")
    page.part("table 1", done=40, of=100, command="python benchmarks/concave_tables.py --full")
    page.section("Table 1: WPBC", "Per cent, mean and standard error over five divisions.")
    ours = Cell("fits", "error", "{mean:.1f} ± {se:.1f}", {"method": "FSV"})
    page.table(["method", "paper", "ours"], [["FSV", "4.0", ours]])
    page.write(report.about("pyomo", seeds=[0, 1]))

``fits`` is a list of dictionaries and goes into the JSON file, as does the rule of every cell: a test takes some at
random and computes them again.
"""

import json
import math
import statistics
from dataclasses import asdict, dataclass, field
from pathlib import Path

import report
from log import RESULTS

NOTHING = "–"  # no record: the run has not come there, or the method does not do it


@dataclass(frozen=True)
class Cell:
    """``form`` filled with statistics of ``value`` (dots lead inward: "test.f1") over the records that match ``where``.

    ``form`` knows n, mean, sd, se (sd / sqrt(n)), median, least, most, total; se and sd are "?" for one value. With
    ``minus``, another ``where``, the values are differences of pairs of records that are equal in the fields ``pair``.
    """

    records: str
    value: str
    form: str
    where: dict = field(default_factory=dict)
    times: float = 1.0
    minus: dict | None = None
    pair: tuple = ()

    def text(self, data):
        """Return the cell as the page shows it."""
        values = self.values(data[self.records])
        return self.form.format(**summary(values)) if values else NOTHING

    def values(self, records):
        """Return the values that it is about, unpaired ones and those that are None left out."""
        ours = self._matching(records, self.where)
        if self.minus is None:
            return [self.times * value for value in ours.values()]
        theirs = self._matching(records, self.minus)
        return [self.times * (value - theirs[key]) for key, value in ours.items() if key in theirs]

    def _matching(self, records, where):
        found = {}
        for index, record in enumerate(records):
            value = at(record, self.value)
            if value is not None and all(at(record, name) == wanted for name, wanted in where.items()):
                found[tuple(str(at(record, name)) for name in self.pair) or index] = float(value)
        return found


class Number(float):
    """A float whose "not a number" reads as a question mark."""

    def __format__(self, form):
        return "?" if math.isnan(self) else super().__format__(form)


def summary(values):
    """Return the statistics that a form can name."""
    n = len(values)
    sd = statistics.stdev(values) if n > 1 else math.nan
    numbers = {
        "mean": statistics.fmean(values),
        "sd": sd,
        "se": sd / math.sqrt(n),
        "median": statistics.median(values),
        "least": min(values),
        "most": max(values),
        "total": math.fsum(values),
    }
    return {"n": n} | {name: Number(value) for name, value in numbers.items()}


def at(record, path):
    """Return what is at a dotted path of a record; None where there is nothing."""
    for name in path.split("."):
        record = record.get(name) if isinstance(record, dict) else None
    return record


class Page:
    """Title, two sentences, what is not finished, sections; ``records`` are named lists of dictionaries."""

    def __init__(self, name, title, **records):
        self.name, self.title, self.records = name, title, records
        self.parts, self.cells, self.body, self.tables = {}, [], [], 0
        self.said = ""

    def answer(self, text):
        """Say in two sentences what came out."""
        self.said = text

    def part(self, name, done, of, command):
        """Say how much of a table or figure there is; the index reads it."""
        self.parts[name] = {"done": done, "of": of, "command": command}

    def section(self, heading, *paragraphs):
        """Begin a section."""
        self.body += [f"## {heading}", *paragraphs]

    def text(self, *paragraphs):
        """Add paragraphs."""
        self.body += paragraphs

    def table(self, header, rows):
        """Add a table; the entries of rows are texts or cells."""
        shown = []
        for i, row in enumerate(rows):
            texts = []
            for j, entry in enumerate(row):
                if isinstance(entry, Cell):
                    said = entry.text(self.records)
                    self.cells.append(
                        {"table": self.tables, "row": i, "column": j, "text": said, "rule": asdict(entry)}
                    )
                    entry = said
                texts.append(str(entry))
            shown.append(texts)
        self.tables += 1
        self.body.append(report.table(header, shown))

    def picture(self, path, caption):
        """Add a picture that lies beside the page."""
        self.body.append(f"![{caption}]({Path(path).name})")

    def write(self, facts, folder=RESULTS, **more):
        """Write NAME.md and NAME.json; ``more`` goes into the JSON alone."""
        open_parts = [
            f"{name} has {part['done']} of {part['of']}"
            for name, part in self.parts.items()
            if part["done"] < part["of"]
        ]
        commands = dict.fromkeys(part["command"] for part in self.parts.values() if part["done"] < part["of"])
        head = [f"# {self.title}"]
        if open_parts:
            going_on = ", ".join(f"`{command}`" for command in commands)
            head.append(f"Not finished: {', '.join(open_parts)}; {going_on} goes on.")
        listed = "\n".join(f"- {key}: {value}" for key, value in facts.items())
        text = "\n\n".join([*head, self.said, *self.body, "## The run", listed]) + "\n"
        folder = Path(folder)
        data = {"about": facts, "parts": self.parts, "cells": self.cells, **more, **self.records}
        (folder / f"{self.name}.json").write_text(_compact(data))
        (folder / f"{self.name}.md").write_text(text)
        print(f"Written: {folder / self.name}.md and .json")


def _compact(data):
    """Return JSON with one record a line: small, and a change of one record changes one line."""
    parts = []
    for key, value in data.items():
        if isinstance(value, list):
            lines = ",\n".join("  " + json.dumps(entry) for entry in value)
            value = f"[\n{lines}\n ]" if value else "[]"
        else:
            value = json.dumps(value)
        parts.append(f" {json.dumps(key)}: {value}")
    return "{\n" + ",\n".join(parts) + "\n}\n"
