"""Page of results: a Jinja template, records, and a rule for each number that computes it from the records.

    page = Page("concave_tables", globals(), fits=fits)
    page.key("fits", "set", "method", "split")
    page.part("table 1", done=40, of=100, command="python -m benchmarks concave_tables --full")
    page.write(log)

The template ``concave_tables.md.j2`` is Markdown: the title, a paragraph with the answer in two sentences, and
sections:

    # Feature selection by concave minimisation

    The error of FSV is {{ number("less", "{mean:.1f}", method="FSV") }} points lower than that of all features.

    ## Table 1: WPBC

    {{ grid(["method"], [(["FSV"], {"method": "FSV"})], [("error", "error", "{mean:.1f} ± {se:.1f}")]) }}

``fits`` is a list of dictionaries. The JSON file of the page contains it and the rule of every cell, so that a test can
recompute cells. A rule that cannot match raises ValueError: if no record has its field, if two records have the same
pair, or, on a finished page, if no record has a requested value.
"""

import json
import math
import re
import statistics
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

import jinja2

from benchmarks.harness.log import RESULTS, facts_of_runs

DEFAULTS = {"where": {}, "times": 1.0, "minus": None, "pair": ()}  # of a rule; not written to the JSON file
NOTHING = "–"  # text of a cell without records: not computed yet, or not supported by the method


@dataclass(frozen=True)
class Cell:
    """Format string ``form`` for statistics of the field ``value`` over the records that match ``where``.

    A field of a nested dictionary has a dotted path, such as "test.f1". ``form`` may contain n, mean, sd, se (sd /
    sqrt(n)), new (sd sqrt(1 + 1/n), the standard deviation of the mean minus one further value), gmean (geometric
    mean), median, least, most and total. A statistic that is not defined for the values is "?". With ``minus``, another
    ``where``, the values are differences of pairs of records that have equal values of the fields ``pair``. True counts
    as 1, so that "{total:.0f} of {n}" is a count.
    """

    records: str
    value: str
    form: str
    where: dict = field(default_factory=dict)
    times: float = 1.0
    minus: dict | None = None
    pair: tuple = ()

    def __post_init__(self):
        """Check that ``minus`` and ``pair`` are both given or both omitted."""
        if bool(self.pair) != (self.minus is not None):
            raise ValueError(f"{self}: give both minus and pair, the fields that are equal in a pair, or none")

    def rule(self):
        """Return the fields whose values are not the defaults."""
        return {name: value for name, value in asdict(self).items() if name not in DEFAULTS or value != DEFAULTS[name]}

    def text(self, data):
        """Return the text of the cell on the page; ``data`` is name -> records."""
        values = self.values(data[self.records])
        return self.form.format(**summary(values)) if values else NOTHING

    def values(self, records):
        """Return the values of the matching records or pairs, without those that are None."""
        ours = self._matching(records, self.where)
        if self.minus is None:
            return [self.times * value for _, value in ours]
        ours, theirs = self._by_pair(ours), self._by_pair(self._matching(records, self.minus))
        return [self.times * (value - theirs[key]) for key, value in ours.items() if key in theirs]

    def unmatched(self, records):
        """Return why the rule can match no record, for an error message; None if it can match some."""
        for where in (self.where, self.minus or {}):
            for name, wanted in where.items():
                if not any(_same(at(record, name), wanted) for record in records):
                    return f'no record of {self.records} has {wanted!r} in "{name}"'
        if self.minus is not None and not self.values(records):
            sides = (self._matching(records, where) for where in (self.where, self.minus))
            return f"no two records have equal values of {', '.join(self.pair)}" if all(sides) else None
        return None

    def _matching(self, records, where):
        found = [record for record in records if all(_same(at(record, k), wanted) for k, wanted in where.items())]
        requested = [name for name, wanted in where.items() if wanted is not None]
        requested += [*self.pair, *[self.value] * bool(found)]
        for name in requested:
            if records and all(at(record, name) is None for record in records):
                raise ValueError(f'{self}: no record of {self.records} has "{name}"')
        return [(record, float(v)) for record in found if (v := at(record, self.value)) is not None]

    def _by_pair(self, found):
        by = {}
        for record, value in found:
            key = json.dumps([at(record, name) for name in self.pair])
            if key in by:
                raise ValueError(f"{self}: two records have the values {key} of {', '.join(self.pair)}")
            by[key] = value
        return by


class Number(float):
    """A float that is formatted as "?" if it is nan, and without the sign of a negative zero."""

    def __format__(self, form):
        text = "?" if math.isnan(self) else super().__format__(form)
        return text if any(c in "123456789" for c in text) else text.replace("-", "+" if form[:1] == "+" else "")


def summary(values):
    """Return the statistics of values that a format string of a cell may contain."""
    n = len(values)
    sd = statistics.stdev(values) if n > 1 else math.nan
    numbers = {
        "mean": statistics.fmean(values),
        "sd": sd,
        "se": sd / math.sqrt(n),
        "new": sd * math.sqrt(1 + 1 / n),
        "gmean": statistics.geometric_mean(values) if min(values) > 0 else math.nan,
        "median": statistics.median(values),
        "least": min(values),
        "most": max(values),
        "total": math.fsum(values),
    }
    return {"n": n} | {name: Number(value) for name, value in numbers.items()}


def at(record, path):
    """Return the value at a dotted path of a record, or None."""
    for name in path.split("."):
        record = record.get(name) if isinstance(record, dict) else None
    return record


def _same(value, wanted):
    """Return True if two values are equal in JSON, where tuples are lists."""
    return value == (list(wanted) if isinstance(wanted, tuple) else wanted)


class Page:
    """Page of results: a Jinja template and records, which are named lists of dictionaries.

    ``names`` are the ``globals()`` of a module; the template ``NAME.md.j2`` is in its folder. The template may use
    these names, ``page``, ``say``, ``number``, ``table``, ``grid``, ``over``, and the names passed to ``values``.
    """

    def __init__(self, name, names, **records):
        self.name, self.records = name, records
        self.template = Path(names["__file__"]).with_name(f"{name}.md.j2")
        self.parts, self.cells, self.tables, self.keys, self.facts, self.pictures = {}, [], 0, {}, {}, []
        methods = {method.__name__: method for method in (self.say, self.number, self.table, self.grid)}
        self.names = names | methods | {"page": self, "over": over}

    def values(self, **values):
        """Add variables of the template; return the page."""
        self.names |= values
        return self

    def say(self, *cell, **more):
        """Return the text of a ``Cell`` with these arguments, for use in a sentence."""
        return Cell(*cell, **more).text(self.records)

    def number(self, value, form, /, **where):
        """Return the text of a cell over the first list of records."""
        return self.say(next(iter(self.records)), value, form, where)

    def key(self, records, *fields):
        """Set the fields that identify a record. Raises ValueError if two records have the same values."""
        seen = Counter(json.dumps([at(record, name) for name in fields]) for record in self.records[records])
        if twice := [key for key, times in seen.items() if times > 1]:
            fields = ", ".join(fields)
            raise ValueError(f"{self.name}: several records of {records} have the same {fields}: {twice[0]}")
        self.keys[records] = fields

    def part(self, name, done, of, command=None):
        """Set the finished and planned runs of a table or figure, for the index; ``done`` may exceed ``of``."""
        command = command or f"python -m benchmarks {self.name}"
        self.parts[name] = {"done": done, "of": max(done, of), "command": command}

    def table(self, header, rows):
        """Return a table; an entry of a row is a text, a cell, or a list of both, which is joined."""
        shown = [[self._entry(entry, i, j) for j, entry in enumerate(row)] for i, row in enumerate(rows)]
        self.tables += 1
        return markdown_table([_escaped(title) for title in header], shown)

    def grid(self, labels, rows, columns, records=None):
        """Return a table of cells; rows are pairs (texts, where), columns are arguments of ``Column``."""
        records, columns = records or next(iter(self.records)), [Column(*column) for column in columns]
        cells = [[*texts, *(column.entry(records, texts, where) for column in columns)] for texts, where in rows]
        return self.table([*labels, *(column.title for column in columns)], cells)

    def picture(self, file, draw, *values):
        """Add a picture; ``write`` calls ``draw(*values, path)`` with a path in the folder of the page."""
        self.pictures.append((file, draw, values))

    def _entry(self, entry, i, j):
        shown = ""
        for part in entry if isinstance(entry, list) else [entry]:
            text = _escaped(part.text(self.records) if isinstance(part, Cell) else part)
            if isinstance(part, Cell):
                place = {"table": self.tables, "row": i, "column": j, "start": len(shown)}
                self.cells.append(place | {"text": text, "rule": part.rule()})
            shown += text
        return shown

    def write(self, *logs, folder=RESULTS):
        """Write NAME.md and NAME.json, with the facts of the page and of the runs in the logs."""
        folder = Path(folder)
        for file, draw, values in self.pictures:
            draw(*values, folder / file)
        title, answer, *body = self._rendered()
        facts = self.facts | facts_of_runs(*logs)
        open_parts = {name: part for name, part in self.parts.items() if part["done"] < part["of"]}
        for cell in [] if open_parts else self.cells:
            rule = Cell(**cell["rule"])
            if cell["text"] == NOTHING and (why := rule.unmatched(self.records[rule.records])):
                raise ValueError(f"{rule}: {why}; use a text instead of a cell that is always empty")
        head = [title, answer]
        if open_parts:
            missing = ", ".join(f"{name} has {part['done']} of {part['of']}" for name, part in open_parts.items())
            commands = dict.fromkeys(f"`{part['command']}`" for part in open_parts.values())
            head.append(f"Not finished: {missing}; continue with {', '.join(commands)}.")
        listed = "\n".join(f"- {key}: {_plain(value)}" for key, value in facts.items())
        text = "\n\n".join([*head, *body, "## The run", listed]) + "\n"
        data = {"about": facts, "title": title.removeprefix("# "), "answer": answer, "parts": self.parts}
        data |= {"keys": self.keys, "cells": self.cells, **self.records}
        (folder / f"{self.name}.json").write_text(_compact(data))
        (folder / f"{self.name}.md").write_text(text)
        print(f"Written: {folder / self.name}.md and .json")

    def _rendered(self):
        """Return the paragraphs of the rendered template: title, answer and the others."""
        self.cells, self.tables = [], 0
        text = JINJA.from_string(self.template.read_text("utf-8")).render(self.names)
        return [_on_one_line(block) for block in re.split(r"\n\s*\n", text.strip())]


JINJA = jinja2.Environment(undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def _on_one_line(block):
    """Join the lines of a paragraph, or of each item of a list: line breaks of a template have no meaning there."""
    items = [""]
    for line in map(str.strip, block.splitlines()):
        numbered = all(re.match(r"\d+\. ", text) for text in (line, items[-1]))
        if numbered or not items[-1] or line.startswith(("- ", "|", "#", "!")):
            items.append(line)
        else:
            items[-1] += f" {line}"
    return "\n".join(items[1:])


class Column(NamedTuple):
    """Column of a grid: cells with ``value``, ``form``, ``times`` and conditions ``where`` besides those of the row.

    ``value`` may also be a list of texts and tuples (value, form, times), which are joined, or a dictionary whose keys
    are the last texts of the rows.
    """

    title: str
    value: str | list | dict
    form: str = ""
    where: dict = {}  # noqa: RUF012, it is not modified
    times: float = 1.0

    def entry(self, records, texts, where):
        """Return the entry of a row."""
        if isinstance(self.value, dict):
            return self.value.get(texts[-1], NOTHING)
        if isinstance(self.value, str):
            return Cell(records, self.value, self.form, where | self.where, self.times)
        parts = [[part] if isinstance(part, str) else part for part in self.value]
        return [
            part[0] if len(part) == 1 else Cell(records, *part[:2], where | self.where, *part[2:]) for part in parts
        ]


def over(field, values, columns):
    """Return the columns of a grid once for each value of a field; {} in a title is replaced by the value."""
    return [
        column._replace(title=column.title.format(value), where={field: value} | column.where)
        for value in values
        for column in (Column(*column) for column in columns)
    ]


def markdown_table(header, rows):
    """Return a Markdown table with aligned columns, words to the left and numbers to the right."""
    columns = [[str(entry) for entry in column] for column in zip(header, *rows, strict=True)]
    shown, rule = [], []
    for title, *entries in columns:
        width = max(map(len, [title, *entries]))
        words = any(entry[:1].isalpha() or entry[:1] in ("[", "`") for entry in entries)
        shown.append([text.ljust(width) if words else text.rjust(width) for text in (title, *entries)])
        rule.append("-" * (width + 2) if words else "-" * (width + 1) + ":")
    lines = ["| " + " | ".join(row) + " |" for row in zip(*shown, strict=True)]
    return "\n".join([lines[0], f"|{'|'.join(rule)}|", *lines[1:]])


def _escaped(text):
    return str(text).replace("|", "\\|")


def _plain(value):
    """Return the text of a fact."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_plain(inner)}" for name, inner in value.items() if inner is not None) or "not set"
    return ", ".join(map(_plain, value)) if isinstance(value, list | tuple) else str(value)


def _compact(data):
    """Return JSON with one record per line, so that a changed record is one changed line."""
    parts = []
    for key, value in data.items():
        if isinstance(value, list):
            lines = ",\n".join("  " + json.dumps(entry, allow_nan=False) for entry in value)
            value = f"[\n{lines}\n ]" if value else "[]"
        else:
            value = json.dumps(value, allow_nan=False)
        parts.append(f" {json.dumps(key)}: {value}")
    return "{\n" + ",\n".join(parts) + "\n}\n"
