"""Preview of the decomposition of a model by the Benders drivers: master, blocks, couplings, and obstacles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pandas as pd
import pyomo.environ as pyo

from solvers.drivers.benders.block_cones import BlockCones, conic_blocks
from solvers.drivers.benders.blocks import Curves, SubBlock, blocks_of, integers
from solvers.drivers.benders.declared import structure_of
from solvers.drivers.benders.split import SplitModel, adapted, is_declared, split
from solvers.errors import ModelError
from solvers.model.function import is_linear
from solvers.model.rewriting import others, written_rows
from solvers.model_cache import ModelCache
from solvers.user_warnings import warn

SHOWN = 6  # printed reasons, and printed blocks at each end of the table


@dataclass(frozen=True)
class SplitPart:
    """A master or a block: the names of its variables, rows and objective terms.

    ``coupling``: rows of a block that contain variables of the master; ``tied_to``: these variables. ``cuts``: the
    source of the cuts of a block.
    """

    variables: list[str] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)
    terms: list[str] = field(default_factory=list)
    coupling: list[str] = field(default_factory=list)
    tied_to: list[str] = field(default_factory=list)
    cuts: str = ""


@dataclass(frozen=True)
class ExplainedSplit:
    """A decomposed model; printing it shows ``table`` and the obstacles.

    ``source``: the source of the decomposition. ``refused``: the reasons why no Benders driver can solve the model, as
    sentences; empty if one can.
    """

    model: str
    source: str
    master: SplitPart = field(default_factory=SplitPart)
    blocks: list[SplitPart] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    @property
    def told_by(self) -> str:
        """Former name of ``source``."""
        warn("ExplainedSplit.told_by is called source now.", DeprecationWarning)
        return self.source

    @property
    def couplings(self) -> list[str]:
        """The names of all rows that contain variables of the master and of a block."""
        return [name for block in self.blocks for name in block.coupling]

    @property
    def table(self) -> pd.DataFrame:
        """One row for the master and each block: numbers of variables, rows and terms, and the source of the cuts."""
        parts = [self.master, *self.blocks]
        counts = [[len(p.variables), len(p.rows), len(p.coupling), len(p.terms), p.cuts or "-"] for p in parts]
        index = ["master", *(f"block {k}" for k in range(1, len(parts)))]
        return pd.DataFrame(counts, index=index, columns=["variables", "rows", "coupling", "terms", "cuts"])

    def __repr__(self) -> str:
        lines = [f'"{self.model}" for Benders drivers ({self.source})', self.table.to_string(max_rows=2 * SHOWN)]
        lines += [f"refused: {reason}" for reason in self.refused[:SHOWN] or ["nothing"]]
        if len(self.refused) > SHOWN:
            lines.append(f"and {len(self.refused) - SHOWN} more")
        return "\n".join(lines)


def explain_split(
    model: pyo.ConcreteModel,
    *,
    complicating: Any = None,
    blocks: Any = None,
    subproblem: Any = None,
    coupling: Any = None,
    assume_convex: bool = False,
) -> ExplainedSplit:
    """Return the decomposition of a model by the Benders drivers, without a solve.

    Parameters
    ----------
    model : pyo.ConcreteModel
    complicating, blocks, subproblem, coupling, assume_convex
        As options of the drivers. Without them the Suffix ``stage`` of the model decides (0: the master, k: block k),
        then the structure of its builder. Otherwise the master has the integer variables, and the blocks are the
        connected parts of the rest.

    Returns
    -------
    ExplainedSplit
        Master, blocks, couplings and obstacles; ``table`` has the sizes of each part.

    Raises
    ------
    OptionError
        If the variables of the master cannot be determined, or an option contains a wrong variable.

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
             variables  rows  coupling  terms                               cuts
    master           1     0         0      1                                  -
    block 1          1     0         1      1  multipliers of its linear program
    block 2          1     0         1      1  multipliers of its linear program
    refused: nothing
    """
    cache = ModelCache(model)
    structure = structure_of(cache, complicating=complicating, blocks=blocks, subproblem=subproblem, coupling=coupling)
    declared = structure.built is not None
    sees = partial(is_declared, structure) if declared else lambda component: False
    refused: list[str] = []
    try:
        if (written := written_rows(cache, sees)) is not None:  # as the drivers do
            cache = ModelCache(model, written)
        logic = [] if written is None else written.components
        refused += [
            f"{name} is not supported: write it as rows, or deactivate it"
            for name in others(cache, lambda c: sees(c) or any(c is part for part in logic))
        ]
        parts, _ = adapted(split(cache, structure))
        parts.check_facts()
    except ModelError as error:
        return ExplainedSplit(model.name, structure.source, refused=[*refused, str(error)])
    found: list[SubBlock] = []
    try:
        found = [_whole(parts)] if declared else blocks_of(parts)
    except ModelError as error:
        refused.append(str(error))
    try:
        parts.check_separable()
    except ModelError as error:
        refused += [str(error), *(f"{name} is mixed, too" for name in parts.mixed[1:])]
    conic = None if structure.switches else conic_blocks(parts, found)
    if structure.switches:
        refused += [reason for block in found for reason in integers(block.variables, parts)]
    elif conic is None:
        refused += Curves.of(parts, found, assume_convex=assume_convex).refused
    master = SplitPart(_names(parts.master_variables), _names(parts.master_rows), [str(t) for t in parts.master_terms])
    return ExplainedSplit(
        model.name, structure.source, master, [_part(parts, block, conic) for block in found], refused
    )


def _whole(parts: SplitModel) -> SubBlock:
    """Return the subproblem of a builder's model as one block."""
    structure, coupling = parts.structure, [*parts.coupling_rows, *parts.linking_rows]
    first = [*range(len(structure.complicating))]
    return SubBlock(structure.variables(), parts.subproblem_rows, coupling, parts.subproblem_terms, first)


def _part(parts: SplitModel, block: SubBlock, conic: BlockCones | None) -> SplitPart:
    structure = parts.structure
    if structure.oracle is not None and (parts.as_built or parts.taken):
        cuts = "the builder's oracle"
    elif structure.switches:
        cuts = "the builder's, from multipliers"
    elif conic is not None:
        cuts = "multipliers of a cone program"
    else:
        rows = (row.body for row in (*block.rows, *block.coupling))
        flat = all(map(is_linear, (*rows, *block.terms)))
        cuts = "multipliers of its linear program" if flat else "multipliers of a linear program over tangents"
    return SplitPart(
        _names(block.variables),
        _names(block.rows),
        [str(t) for t in block.terms],
        _names(block.coupling),
        [structure.complicating[k].name for k in block.first],
        cuts,
    )


def _names(components: Iterable[Any]) -> list[str]:
    return [c.name for c in components]
