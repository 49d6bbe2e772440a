"""Rows and variables of a model sorted by its blocks, and the starting points of the blocks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import AbsExpression, Expr_ifExpression, MaxExpression, MinExpression

from solvers.drivers.starts import RandomStartsConfig, Start, random_points
from solvers.errors import ModelError, OptionError
from solvers.facts.blocks import Block
from solvers.facts.snapshot import data_of
from solvers.model.classes import violation
from solvers.model.expressions import variables
from solvers.model.function import SmoothFunction, curved_variables
from solvers.model_cache import flat
from solvers.result import FEASIBLE
from solvers.values import INSIDE, bounds_of, put_back

KINKS = (AbsExpression, MaxExpression, MinExpression, Expr_ifExpression)


@dataclass
class Part:
    """A block of the model: its free variables in use, and the rows with any of them.

    ``places``: positions of the variables in the partition's space. ``others``: all other variables of the rows,
    including fixed ones. ``closed``: True if none of these is free, so that the rows involve the block only.
    """

    block: Block
    name: str
    variables: list[Any]
    places: np.ndarray
    rows: list[Any]
    others: list[Any]
    closed: bool


@dataclass
class Partition:
    """The rows and variables of a model, sorted by blocks.

    - ``space``: every free variable in use, also those of no block.
    - ``uncovered``: variables of no block, which are constant.
    - ``idle``: rows without any variable of a block.
    - ``coupling``: rows that do not separate, because two of their variables are not in the same blocks.
    - ``constants``: every fixed variable of the model.
    """

    space: list[Any]
    parts: list[Part]
    uncovered: list[Any]
    idle: list[Any]
    coupling: list[Any]
    constants: list[Any]

    @classmethod
    def of(cls, model: Any, blocks: Sequence[Block], objectives: Sequence[Any]) -> Partition:
        """Sort the active rows of a model; ``objectives`` are all the expressions to be minimised."""
        data = [data_of(block.variables) for block in blocks]
        member: dict[int, int] = {}  # a bit for each block
        for k, held_by_block in enumerate(data):
            for v in held_by_block:
                member[id(v)] = member.get(id(v), 0) | 1 << k
        rows: list[list[Any]] = [[] for _ in blocks]
        around: list[dict[int, Any]] = [{} for _ in blocks]
        used: dict[int, Any] = {}
        idle, coupling = [], []
        for row in model.component_data_objects(pyo.Constraint, active=True, descend_into=True):
            held = {id(v): v for v in variables(row.body)}
            used.update(held)
            masks = {member.get(key, 0) for key, v in held.items() if not v.fixed}
            if not any(masks):
                idle.append(row)
            if len(masks - {0}) > 1:
                coupling.append(row)
            for k in range(len(blocks)):
                if any(mask >> k & 1 for mask in masks):
                    rows[k].append(row)
                    around[k].update(held)
        for expression in objectives:
            used.update({id(v): v for v in variables(expression)})
        space = [v for v in used.values() if not v.fixed]
        place = {id(v): k for k, v in enumerate(space)}
        parts = []
        for k, block in enumerate(blocks):
            mine = [v for v in data[k] if id(v) in place]
            ids = {id(v) for v in mine}
            others = [v for key, v in around[k].items() if key not in ids]
            closed = all(v.fixed for v in others)
            places = np.array([place[id(v)] for v in mine], dtype=int)
            parts.append(Part(block, block.name or _names(data[k]), mine, places, rows[k], others, closed))
        return cls(
            space,
            [part for part in parts if part.variables],
            [v for v in space if id(v) not in member],
            idle,
            coupling,
            [v for v in model.component_data_objects(pyo.Var, descend_into=INSIDE) if v.fixed],
        )

    def read(self) -> np.ndarray:
        """Return the values of the space."""
        return np.array([v.value for v in self.space], dtype=float)

    def apply(self, move: Callable[[Any], None], model: Any) -> np.ndarray:
        """Call a function that sets values of the model, restore constants, and return the point."""
        before = [(v, v.value) for v in self.constants]
        move(model)
        put_back(before)
        return self.read()

    def write(self, x: np.ndarray, places: np.ndarray | None = None) -> None:
        """Set the values of the model to a point, or to some of its entries."""
        where = range(len(self.space)) if places is None else places.tolist()
        for k, value in zip(where, (x if places is None else x[places]).tolist(), strict=True):
            self.space[k].set_value(value, skip_validation=True)


def as_blocks(given: Any, model: Any) -> list[Block]:
    """Return blocks from the option ``blocks``: Blocks, lists of Vars, or Vars.

    Raises OptionError for no block, an empty block, or an object that is not a variable of this model.
    """
    if isinstance(given, str | Block) or not isinstance(given, Sequence) or not given:
        raise OptionError(f"blocks={given!r} is not allowed: give a list with one list of Vars a block.")
    plain = (b if isinstance(b, Block) else Block([b]) for b in given)
    blocks = [replace(b, variables=list(flat(b.variables))) for b in plain]
    for k, block in enumerate(blocks, 1):
        for v in block.variables:
            if getattr(v, "ctype", None) is not pyo.Var:
                raise OptionError(
                    f'Block {k} holds "{v}", which is no Var: give lists of Vars, [[model.x], [model.y]].'
                )
            if v.model() is not model.model():
                raise OptionError(f'Block {k} holds "{v.name}" of another model: give variables of this one.')
        if not data_of(block.variables):
            raise OptionError(f"Block {k} is empty: give it at least one variable, or leave it out.")
    return blocks


def has_kinks(expression: Any) -> bool:
    """Return True if an expression has kinks (abs, min, max, a condition, a step), at which blocks can stop."""
    left = [expression]
    while left:
        node = left.pop()
        if type(node) in KINKS or getattr(node, "name", "") in ("ceil", "floor"):
            return True
        if getattr(node, "is_expression_type", lambda: False)():
            left.extend(node.args)
    return False


def _names(data: Sequence[Any]) -> str:
    return ", ".join(dict.fromkeys(v.parent_component().name for v in data))


@dataclass
class BlockStart(Start):
    """The result of one start."""

    warm: bool = False
    sweeps: int = 0
    solves: int = 0
    settled: bool = False
    ruled: bool = False  # settled by the rule of the algorithm
    stationary: bool = False
    joint: bool = False  # True if the step over all blocks does not leave the point
    inexact: str = ""  # block that was not solved to optimality in the last sweep


def starting_points(
    partition: Partition,
    objectives: Sequence[SmoothFunction],
    config: RandomStartsConfig,
    *,
    warm: bool,
) -> Iterator[tuple[bool, np.ndarray]]:
    """Yield True and the point of the model if ``warm``, then False and each random start.

    Random values are drawn for the variables of later blocks in nonlinear terms with others. If there is none, there
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
    """Return the positions of the variables whose starting values matter: nonlinear ones outside the first block."""
    curved = {k for objective in objectives for k in objective.curved.tolist()}
    place = {id(v): k for k, v in enumerate(partition.space)}
    for row in partition.coupling:
        curved |= {place[id(v)] for v in curved_variables(row.body)}
    first = partition.parts[0].places.tolist() if partition.parts else []
    constant = [place[id(v)] for v in partition.uncovered]
    return np.array(sorted(curved - set(first) - set(constant)), dtype=int)


def check_constants(partition: Partition) -> str:
    """Return the reason if a row of fixed variables is violated, so that no point is feasible; "" otherwise.

    Raises ModelError if a free variable outside all blocks has no value, or its value violates a row that no block
    can change.
    """
    for v in partition.uncovered:
        if v.value is None:
            raise ModelError(
                f'Variable "{v.name}" is in no block and has no value: it is not changed, so give it a value, or put '
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
