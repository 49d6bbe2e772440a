"""What a Benders driver would make of a model, before it runs: master, blocks, couplings, and what is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyomo.environ as pyo

from solvers.drivers.benders.blocks import SubBlock, blocks_of
from solvers.drivers.benders.curves import Curves
from solvers.drivers.benders.declared import structure_of
from solvers.drivers.benders.split import SplitModel, adapted, is_declared, split
from solvers.drivers.benders.subproblem import refusals
from solvers.errors import Error, ModelError
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import either
from solvers.model.convexity import is_linear
from solvers.model.logic import written_rows
from solvers.model.unseen import others
from solvers.reading import ModelReading

SHOWN = 6  # names in a line


@dataclass(frozen=True)
class SplitPart:
    """A master or a block: the names of its variables and rows, and of its terms of the objective.

    ``coupling``: a block's rows that hold the master's variables too; ``tied_to``: those. ``cuts``: what a block's cuts
    come from.
    """

    variables: list[str] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)
    terms: list[str] = field(default_factory=list)
    coupling: list[str] = field(default_factory=list)
    tied_to: list[str] = field(default_factory=list)
    cuts: str = ""


@dataclass(frozen=True)
class ExplainedSplit:
    """A model taken apart, to be looked at; printing it shows a summary.

    ``told_by``: what the split follows. ``refused``: why no Benders driver takes the model, in words; empty where one
    does.
    """

    model: str
    told_by: str
    master: SplitPart = field(default_factory=SplitPart)
    blocks: list[SplitPart] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    @property
    def couplings(self) -> list[str]:
        """The names of all rows that hold variables of the master and of a block."""
        return [name for block in self.blocks for name in block.coupling]

    def __repr__(self) -> str:
        master, count = self.master, len(self.blocks)
        lines = [f'"{self.model}" for Benders drivers ({self.told_by})']
        lines.append(f"  master     {_counted(master.variables, 'variable')}; {_counted(master.rows, 'row')}")
        if len(master.terms):
            lines.append(f"             {_number(len(master.terms), 'term')} of the objective")
        shapes: dict[tuple[Any, ...], list[SplitPart]] = {}
        for block in self.blocks:
            key = (len(block.variables), len(block.rows), len(block.coupling), _components(block.tied_to), block.cuts)
            shapes.setdefault(key, []).append(block)
        none = "(not taken apart: see what is refused)" if self.refused else "(nothing follows the master)"
        lines.append(f"  {_number(count, 'block'):<10} {'' if count else none}".rstrip())
        for alike in list(shapes.values())[:SHOWN]:
            block, times = alike[0], f"{len(alike)} x " if len(alike) > 1 else ""
            rows = f"{len(block.rows) + len(block.coupling)} rows"
            words = f"{times}{_counted(block.variables, 'variable')}; {rows}, {len(block.coupling)} of them coupling"
            tied = f"; tied to {', '.join(_components(block.tied_to)[:SHOWN])}" if block.tied_to else ""
            lines.append(f"             {words}{tied}")
            if block.cuts:
                lines.append(f"             cuts: {block.cuts}")
        if len(shapes) > SHOWN:
            lines.append(f"             and {len(shapes) - SHOWN} shapes more")
        lines.append(f"  couplings  {_counted(self.couplings, 'row')}")
        lines.append(f"  refused    {self.refused[0] if self.refused else 'nothing'}")
        lines += [f"             {reason}" for reason in self.refused[1:SHOWN]]
        if len(self.refused) > SHOWN:
            lines.append(f"             and {len(self.refused) - SHOWN} more")
        return "\n".join(lines)

    __str__ = __repr__


def explain_split(
    model: pyo.ConcreteModel,
    *,
    complicating: Any = None,
    blocks: Any = None,
    subproblem: Any = None,
    coupling: Any = None,
    assume_convex: bool = False,
) -> ExplainedSplit:
    """Return how the Benders drivers would take a model apart, without solving anything.

    Parameters
    ----------
    model : pyo.ConcreteModel
    complicating, blocks, subproblem, coupling, assume_convex
        As options of the drivers. Without them a Suffix ``stage`` on the model counts (0: the master, k: block k), then
        what its builder says; else the integer variables are the master's, and the blocks the connected parts of the
        rest.

    Returns
    -------
    ExplainedSplit
        Master, blocks, couplings and what is refused; its ``repr`` is a summary.

    Raises
    ------
    OptionError
        If nothing tells what the master decides, or an option holds what it may not.

    Examples
    --------
    >>> import pyomo.environ as pyo, solvers
    >>> model = pyo.ConcreteModel("plant")
    >>> model.open = pyo.Var(domain=pyo.Binary)
    >>> model.made = pyo.Var([1, 2], bounds=(0, None))
    >>> model.most = pyo.Constraint([1, 2], rule=lambda m, k: m.made[k] <= k * m.open)
    >>> model.gain = pyo.Objective(expr=sum(model.made.values()) - 2 * model.open, sense=pyo.maximize)
    >>> solvers.explain_split(model)
    "plant" for Benders drivers (default: the integer variables are decided first)
      master     1 variable (open); 0 rows
                 1 term of the objective
      2 blocks
                 2 x 1 variable (made); 1 rows, 1 of them coupling; tied to open
                 cuts: multipliers of its linear program
      couplings  2 rows (most)
      refused    nothing
    """
    reading = ModelReading(model)
    structure = structure_of(
        reading, complicating=complicating, blocks=blocks, subproblem=subproblem, coupling=coupling
    )
    declared = structure.built is not None
    sees = partial(is_declared, structure) if declared else lambda component: False
    refused = []
    try:
        if (written := written_rows(reading, sees)) is not None:  # as the drivers do
            reading = ModelReading(model, written)
        mine = [] if written is None else written.components
        refused = [
            f"{name} is not seen: write it as rows, or deactivate it"
            for name in others(reading, lambda c: sees(c) or any(c is part for part in mine))
        ]
        parts, _ = adapted(split(reading, structure))
        parts.check_facts()
    except ModelError as error:
        return ExplainedSplit(model.name, structure.told_by, refused=[*refused, str(error)])
    found, unsure = _blocks(parts)
    refused += [*unsure, *_mixed(parts), *_refused(parts, found, assume_convex)]
    master = SplitPart(_names(parts.master_variables), _names(parts.master_rows), [str(t) for t in parts.master_terms])
    return ExplainedSplit(model.name, structure.told_by, master, [_part(parts, block) for block in found], refused)


def _blocks(parts: SplitModel) -> tuple[list[SubBlock], list[str]]:
    """Return the blocks, of a builder's model the subproblem as a whole, and what is refused of them."""
    structure = parts.structure
    if structure.built is not None:
        rows, coupling = parts.subproblem_rows, [*parts.coupling_rows, *parts.linking_rows]
        terms = parts.subproblem_terms
        return [SubBlock(structure.variables(), rows, coupling, terms, [*range(len(structure.complicating))])], []
    try:
        return blocks_of(parts), []
    except ModelError as error:
        return [], [str(error)]


def _refused(parts: SplitModel, blocks: list[SubBlock], assume_convex: bool) -> list[str]:
    curves = None if parts.structure.switches else Curves.of(parts, blocks, assume_convex=assume_convex)
    return list(refusals(parts, blocks, curves))


def _mixed(parts: SplitModel) -> list[str]:
    """Return what no decomposition can take, in words."""
    try:
        parts.check_separable(either(C.MIQCP))
    except Error as error:
        return [str(error), *(f"{name} is mixed too" for name in parts.mixed[1:])]
    return []


def _part(parts: SplitModel, block: SubBlock) -> SplitPart:
    first = [parts.structure.complicating[k] for k in block.first]
    return SplitPart(
        _names(block.variables),
        _names(block.rows),
        [str(t) for t in block.terms],
        _names(block.coupling),
        _names(first),
        _cuts(parts, block),
    )


def _cuts(parts: SplitModel, block: SubBlock) -> str:
    structure = parts.structure
    if structure.oracle is not None and (parts.as_built or parts.taken):
        return "the builder's oracle"
    if structure.switches:
        return "the builder's, from multipliers"
    flat = all(is_linear(part) for part in [*(r.body for r in (*block.rows, *block.coupling)), *_algebra(block.terms)])
    return "multipliers of its linear program" if flat else "multipliers of a linear program over tangents"


def _algebra(terms: list[Any]) -> list[Any]:
    return [t for t in terms if hasattr(t, "polynomial_degree")]


def _names(components: Iterable[Any]) -> list[str]:
    return [c.name for c in components]


def _components(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of components, each once, in place of those of their data; "..." stands for an index inside."""
    return tuple(dict.fromkeys(_component(name) for name in names))


def _component(name: str) -> str:
    kept, depth = "", 0
    for letter in name:
        depth += letter == "["
        kept += letter if not depth else ""
        depth -= letter == "]"
    return kept


def _counted(names: list[str], word: str) -> str:
    """Return how many there are, and of which components."""
    counts = Counter(_component(name) for name in names)
    shown = [component for component, _ in counts.most_common(SHOWN)]
    more = ", ..." if len(counts) > SHOWN else ""
    inside = f" ({', '.join(shown)}{more})" if names else ""
    return f"{_number(len(names), word)}{inside}"


def _number(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"
