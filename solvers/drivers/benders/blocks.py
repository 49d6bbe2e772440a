"""The parts of a subproblem that no row and no term ties: each is a subproblem of its own, with a value and a cut."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from solvers.drivers.benders.split import SplitModel
from solvers.errors import ModelError


@dataclass
class SubBlock:
    """Connected variables, their rows and terms, and the master's variables in these.

    ``coupling``: rows with variables of the master. ``first``: positions of those among the complicating variables.
    """

    variables: list[Any] = field(default_factory=list)
    rows: list[Any] = field(default_factory=list)
    coupling: list[Any] = field(default_factory=list)
    terms: list[Any] = field(default_factory=list)
    first: list[int] = field(default_factory=list)


def blocks_of(parts: SplitModel) -> list[SubBlock]:
    """Return the connected parts of a subproblem whose rows were walked, in the order of their first variables.

    A variable in no row is a block of its own if it has a cost or is declared as a block, else it is in none. Raises
    ModelError if a row connects two declared blocks; the message names it.
    """
    declared = [{id(v) for v in group} for group in parts.structure.blocks]
    inside = [v for v in parts.structure.variables() if not v.fixed]
    place = {id(v): k for k, v in enumerate(inside)}
    master = {id(v): k for k, v in enumerate(parts.structure.complicating)}
    rows = [*parts.subproblem_rows, *parts.coupling_rows, *parts.subproblem_terms]
    members = [[place[id(v)] for v in parts.variables_of(row) if id(v) in place] for row in rows]
    members += [[place[key] for key in group if key in place] for group in declared]
    ends = np.cumsum([0, *map(len, members)])
    columns = np.fromiter((k for group in members for k in group), dtype=int, count=int(ends[-1]))
    graph = sparse.csr_array((np.ones(len(columns), dtype=np.int8), columns, ends), shape=(len(members), len(inside)))
    full = sparse.block_array([[None, graph], [graph.T, None]], format="csr")
    _, label = csgraph.connected_components(full, directed=False)
    _refuse_tied(parts, rows, inside, full, label)
    used = np.zeros(len(inside), dtype=bool)
    used[columns] = True
    label_of = label[len(members) :]
    number: dict[int, int] = {}
    for k in np.flatnonzero(used).tolist():
        number.setdefault(int(label_of[k]), len(number))
    blocks = [SubBlock() for _ in number]
    for k in np.flatnonzero(used).tolist():
        blocks[number[int(label_of[k])]].variables.append(inside[k])
    kinds = [*("rows" for _ in parts.subproblem_rows), *("coupling" for _ in parts.coupling_rows)]
    kinds += ["terms" for _ in parts.subproblem_terms]
    first: list[dict[int, None]] = [{} for _ in blocks]
    for r, (row, kind) in enumerate(zip(rows, kinds, strict=True)):
        if not members[r] and not blocks:
            blocks, first = [SubBlock()], [{}]
        k = number[int(label[r])] if members[r] else 0  # all its variables are fixed: any block will do
        getattr(blocks[k], kind).append(row)
        if kind == "coupling":
            first[k].update((master[id(v)], None) for v in parts.variables_of(row) if id(v) in master)
    for block, held in zip(blocks, first, strict=True):
        block.first = sorted(held)
    return blocks


def _refuse_tied(parts: SplitModel, rows: list[Any], inside: list[Any], graph: Any, label: np.ndarray) -> None:
    """Raise for two declared blocks that are connected, with the first row on a path between them."""
    count, groups = len(rows), parts.structure.blocks
    owner: dict[int, int] = {}
    for g in range(len(groups)):
        other = owner.setdefault(int(label[count + g]), g)
        if other == g:
            continue
        _, before = csgraph.breadth_first_order(graph, count + g, directed=False)
        way, node = [], count + other
        while node != count + g:
            way.append(node)
            node = int(before[node])
        tie = next(k for k in way if k < count)
        what = f'Row "{rows[tie].name}"' if tie < count - len(parts.subproblem_terms) else f"Objective term {rows[tie]}"
        through = [inside[k - count - len(groups)].name for k in way if k >= count + len(groups)]
        raise ModelError(
            f"{what} ties block {other + 1} to block {g + 1} (by {', '.join(through[:3])}): give what ties them to the "
            "master, or declare them as one block."
        )
