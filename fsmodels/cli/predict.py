"""``fsmodels predict``: labels of new samples by a saved selection."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from fsmodels.cli.output import Guard, ResultFile, complain
from fsmodels.cli.request import dialect
from fsmodels.datasets import tables
from fsmodels.datasets.columns import level
from fsmodels.datasets.dialect import Dialect
from fsmodels.errors import DataError, NoSelection, ParameterError
from fsmodels.selection.report import boundary_note
from fsmodels.selection.saved import SavedSelection, load_selection
from fsmodels.text import listed
from solvers import interrupt


def run(args: SimpleNamespace) -> None:
    """Write row, label and score of each sample. Raises NoSelection: the file has no classifier."""
    out = None if args.out is None else ResultFile(args.out, [args.selection, args.table], option="--out")
    found = load_selection(args.selection)
    table, _ = tables.read_table(args.table, Dialect(**dialect(args)), like=found.data.dialect, used=_used(found))
    if found.classifier is None:
        raise NoSelection(f'"{args.selection}" has no classifier: its run ended as {found.status}.')
    if args.target is not None and args.target not in table.columns:
        raise _no_column(args.target, args, table)
    labels, scores = found.predict(table, args.unseen), found.decision(table, args.unseen)
    names = found.data.class_names
    shown = labels if names is None else np.where(scores > 0, *names)
    rows = pd.DataFrame(_names(args, table) | {"label": shown, "score": scores})
    text = rows.to_csv(index=False, lineterminator="\n")
    if note := boundary_note(found.on_boundary(table, args.unseen)):
        complain("Note", note)
    if out is not None:
        out.put(text)
    else:
        if isinstance(sys.stdout, Guard):
            sys.stdout.exact = True
        with interrupt.finishing():
            print(text, end="")
    if args.target is not None:
        complain("Error of the labels", _error(found, table[args.target], pd.Series(labels)))


def _used(found: SavedSelection) -> set[str]:
    """Return the columns and features from which the selection is computed."""
    parents = found.data.parents
    names = {part for name in found.weights for part in (name, *parents.get(name, ()))}
    return names.union(found.data.columns_of(names))


def _names(args: SimpleNamespace, table: pd.DataFrame) -> dict[str, Any]:
    """Return the columns that identify the rows: their numbers, or the columns of --id."""
    if not args.id:
        return {"row": np.arange(1, len(table) + 1)}
    for k, name in enumerate(args.id):
        if name not in table.columns:
            raise _no_column(name, args, table)
        if name in (*args.id[:k], "label", "score"):
            raise ParameterError(f'--id "{name}" would be a second column "{name}": leave it out, or rename it.')
    return {name: table[name].to_numpy() for name in args.id}


def _no_column(name: str, args: SimpleNamespace, table: pd.DataFrame) -> DataError:
    return DataError(f'There is no column "{name}" in "{args.table}": its columns are {listed(table.columns)}.')


def _error(found: SavedSelection, truth: pd.Series, labels: pd.Series) -> str:
    """Return the error of the labels as text; all labels except the positive one count as the other class."""
    positive = str(found.data.positive_label)
    wrong = int(((truth.map(level) == level(positive)) != (labels.astype(str) == positive)).sum())
    return f"{100 * wrong / len(labels):.3g}% ({wrong} of {len(labels)} samples)"
