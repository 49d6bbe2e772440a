"""Where the driver that alternates starts from, and what is said of the starts when all have ended."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import pyomo.environ as pyo

from solvers.drivers.alternating.partition import Partition
from solvers.drivers.starts import RandomStartsConfig, Start, random_points
from solvers.errors import ModelError
from solvers.model.classes import violation
from solvers.model.expressions import variables
from solvers.model.function import SmoothFunction, curved_variables
from solvers.result import FEASIBLE
from solvers.values import bounds_of


@dataclass
class BlockStart(Start):
    """The result of one start at one value of the penalty."""

    penalty: float | None = None
    warm: bool = False
    sweeps: int = 0
    solves: int = 0
    settled: bool = False
    ruled: bool = False  # settled by the algorithm's own rule
    stationary: bool = False
    joint: bool = False  # whether no step over all blocks leaves the point either
    inexact: str = ""  # of the last sweep: which block was not solved to optimality


def starting_points(
    partition: Partition,
    objectives: Sequence[SmoothFunction],
    config: RandomStartsConfig,
    *,
    warm: bool,
) -> Iterator[tuple[bool, np.ndarray]]:
    """Yield whether a start is the model's own point, and the start.

    Random values are drawn for the variables of later blocks in nonlinear terms with others; where there is none, there
    is a single random start.
    """
    base = base_point(partition)
    if warm:
        yield True, base
    places = _drawn(partition, objectives)
    held = [partition.space[k] for k in places]
    for _, point in islice(random_points(base, places, held, config), None if len(places) else 1):
        point[places] = [_within(v, x) for v, x in zip(held, point[places].tolist(), strict=True)]
        yield False, point


def base_point(partition: Partition) -> np.ndarray:
    """Return the model's values: within bounds, integers rounded, 0 for missing ones; constants unchanged."""
    constant = {id(v) for v in partition.uncovered}
    return np.array(
        [v.value if id(v) in constant else _within(v, v.value or 0.0) for v in partition.space], dtype=float
    )


def _within(v: Any, x: float) -> float:
    low, up = bounds_of(v)
    if not v.is_continuous():
        x = round(x)
        low, up = (b if math.isinf(b) else whole(b) for b, whole in ((low, math.ceil), (up, math.floor)))
    return float(min(max(x, low), up))


def _drawn(partition: Partition, objectives: Sequence[SmoothFunction]) -> np.ndarray:
    """Return the places of the variables whose starting values matter: curved ones outside the first block."""
    curved = {k for objective in objectives for k in objective.curved.tolist()}
    place = {id(v): k for k, v in enumerate(partition.space)}
    for row in partition.coupling:
        curved |= {place[id(v)] for v in curved_variables(row.body)}
    first = partition.parts[0].places.tolist() if partition.parts else []
    constant = [place[id(v)] for v in partition.uncovered]
    return np.array(sorted(curved - set(first) - set(constant)), dtype=int)


def check_constants(partition: Partition) -> str:
    """Return why no point is feasible where a row of fixed variables is violated; "" otherwise.

    Raises ModelError if a free variable outside all blocks has no value, or its value violates a row that no block
    can change.
    """
    for v in partition.uncovered:
        if v.value is None:
            raise ModelError(
                f'Variable "{v.name}" is in no block and has no value: it stays as it is, so give it a value, or put '
                "it into a block."
            )
    free = {id(v) for v in partition.uncovered}
    for row in partition.idle:
        if violation(rows_only([row])) > FEASIBLE:
            if not any(id(v) in free for v in variables(row.body)):
                return f'Row "{row.name}" does not hold, and all its variables are fixed.'
            raise ModelError(
                f'Row "{row.name}" does not hold, and none of its variables is in a block: give them other values, or '
                "put them into a block."
            )
    return ""


def rows_only(rows: Sequence[Any]) -> pyo.ConcreteModel:
    """Return a model of references to rows."""
    view = pyo.ConcreteModel()
    view.rows = pyo.Reference(dict(enumerate(rows)), ctype=pyo.Constraint)
    return view
