"""``fsmodels init``: a commented command and a notebook that select features of a table."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fsmodels.cli import request
from fsmodels.cli.app import load_expression
from fsmodels.cli.commands import data_words
from fsmodels.cli.output import ResultFile, show
from fsmodels.datasets import columns
from fsmodels.datasets.dataset import Dataset
from fsmodels.datasets.dialect import Dialect, quoted
from fsmodels.datasets.files import is_svmlight, title
from fsmodels.datasets.tables import named, read_table
from fsmodels.errors import DataWarning, ParameterError
from fsmodels.text import as_names, listed
from solvers.progress import printable
from solvers.shared_state import without_warnings

SECONDS = 60  # time limit of the selection
FOLD_SECONDS = 10  # time limit of each fold


def run(args: SimpleNamespace) -> None:
    """Write the files. Raises DataError: the table cannot be prepared; ParameterError: a file exists."""
    path = request.source(args)
    if is_svmlight(path):
        raise ParameterError(f'"{path}" is in libsvm format and has no columns to prepare: use fsmodels select.')
    script, notebook = (Path(f"{title(path)}{end}") for end in (".sh", ".ipynb"))
    there = [str(file) for file in (script, notebook) if file.exists()]
    if there and not args.force:
        raise ParameterError(f"{listed(there)} would be replaced: move or rename it, or replace it with --force.")
    files = [ResultFile(file, [path], option="File") for file in (script, notebook)]
    args, reasons = proposed(args)
    data = request.loaded(args, signs=False)[0]
    show(request.describe(data))
    reasons = [" ".join(printable(line).split()) for line in (_labels(args, data), *reasons)]
    files[0].put(command_file(args, data, reasons, str(script)))
    files[1].put(json.dumps(notebook_file(args, data, reasons), indent=1, ensure_ascii=False) + "\n")
    show(f"\nWritten to {script}: a command with comments. Run it with: sh {shlex.quote(str(script))}")
    show(f"Written to {notebook}: the same in Python")


def proposed(args: SimpleNamespace) -> tuple[SimpleNamespace, list[str]]:
    """Return the arguments with the options that the table needs, and the reasons."""
    with without_warnings(DataWarning):  # the data are read again, with these options
        table, origin = read_table(request.source(args), Dialect(**request.dialect(args)), unused=args.drop)
    labels = columns.label_columns(table)
    options: dict[str, Any] = {"target": args.target}
    if "target" not in args.given and args.target not in table.columns:
        options["target"] = next(iter(labels), args.target)
    given = [*as_names(args.drop, "drop"), *(word.removesuffix(":apart") for word in args.one_hot)]
    rest = table.drop(columns=[options["target"], *named(given, table.columns)], errors="ignore")
    needed = columns.treatments(rest, origin, most=rest.shape[1])
    by = columns.as_options(needed)
    for name in ("drop", "one_hot"):
        options[name] = [*getattr(args, name), *by.get(name.replace("_", "-"), [])]
    options["impute"] = args.impute or by.get("impute")
    changed = {name for name, value in options.items() if value != getattr(args, name)}
    reasons = [f"{one.column}: --{one.option}, {one.reason}" for one in needed]
    if others := [name for name in labels if name != options["target"]]:
        reasons.insert(0, f"Other columns with two values: {listed(others, 5)}")
    return SimpleNamespace(**{**vars(args), **options, "given": args.given | changed}), reasons


def _labels(args: SimpleNamespace, data: Dataset) -> str:
    """Return a sentence about the labels."""
    other = data.negative_label if isinstance(data.negative_label, tuple) else (data.negative_label,)
    classes = f'class +1 is "{data.positive_label}", class -1 is {listed(map(quoted, other), 5)}'
    return f"{args.target}: --target, the labels; {classes}; --positive changes it"


def _limit(data: Dataset) -> dict[str, Any]:
    """Return the parameters of the model: a limit on features, or on columns if a category has several."""
    parts = data.columns
    most = {"max_features": min(request.FEATURES, len(parts))}
    return most if len(parts) == data.n_features else {**most, "count": "columns"}


def command_file(args: SimpleNamespace, data: Dataset, reasons: Iterable[str], name: str) -> str:
    """Return the text of a file with the command and the reason for each option."""
    words = [*data_words(args)]
    for option, value in _limit(data).items():
        words += [f"--{option.replace('_', '-')}", str(value)]
    words += ["--time-limit", str(SECONDS), "--json", f"{data.name}.json"]
    pairs = [shlex.join(pair) for pair in zip(words[::2], words[1::2], strict=True)]
    result = shlex.quote(f"{data.name}.json")
    comments = [
        f"{request.describe(data)}.",
        f"Written by fsmodels init. Run it with: sh {shlex.quote(name)}",
        "",
        *reasons,
        "--max-features: the largest number of features; with --count columns a category counts once",
        "--time-limit: seconds, after which the best selection so far and its bound are reported",
        f"--json: the result; label new rows with: fsmodels predict {result} new.csv",
        "Add --cv 5 for the error on new samples.",
    ]
    command = " \\\n    ".join([shlex.join(["fsmodels", "select", args.data]), *pairs])
    return "#!/bin/sh\n" + "".join(f"# {line}".rstrip() + "\n" for line in comments) + f"\n{command}\n"


def notebook_file(args: SimpleNamespace, data: Dataset, reasons: Iterable[str]) -> dict[str, Any]:
    """Return the content of a notebook that reads the table, selects, and estimates the error."""
    limit = ", ".join(f"{name}={value!r}" for name, value in _limit(data).items())
    result = f"{data.name}.json"
    heading = [f"# Features of {data.name}", "", *(f"- `{line.replace('`', '')}`" for line in reasons)]
    cells = [
        ("markdown", "\n".join(heading)),
        ("code", f"import fsmodels as fs\n\ndata = {load_expression(args)}\ndata"),
        ("code", f"found = fs.select(data, {limit}, time_limit={SECONDS})\nfound"),
        ("code", "found.plot();"),
        ("markdown", "The error on new samples, by selecting again on five folds:"),
        ("code", f"fs.cross_validate(data, {limit}, time_limit={FOLD_SECONDS})"),
        ("markdown", "Save the selection; `predict` labels the rows of a table with the same columns:"),
        ("code", f"found.save({result!r})\nfs.load_selection({result!r})"),
    ]
    code: dict[str, Any] = {"execution_count": None, "outputs": []}
    return {
        "cells": [
            {"cell_type": kind, "metadata": {}, "source": text, **(code if kind == "code" else {})}
            for kind, text in cells
        ],
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        "nbformat": 4,
        "nbformat_minor": 4,
    }
