"""Facts that builders attach to their models for drivers and solvers: structure, oracles, cuts and proofs.

May import ``solvers.model``, ``solvers.lp``, ``solvers.box`` and the packages that these import.
"""

from solvers.facts.base import Facts, facts_of
from solvers.facts.blocks import Block, Blocks, Inside, Moved, OracleBlock, OracleBlocks, PenaltyValues
from solvers.facts.certificate import Certificate
from solvers.facts.change import Change
from solvers.facts.composite import CompositeRisk, RiskRow
from solvers.facts.equivalent import EquivalentModel
from solvers.facts.k_support import half_conjugate, half_norm, norm_at, vertices
from solvers.facts.row_cut import RowBound, RowCut
from solvers.facts.separable import Cuts, Separable, no_cuts
from solvers.facts.structure import (
    Adapted,
    Cut,
    EditedSub,
    Inexpressible,
    RelaxedAnswer,
    Structure,
    SubAnswer,
    stages_of,
)
from solvers.model.linear import LinearRows, add_matrix_rows

__all__ = [
    "Adapted",
    "Block",
    "Blocks",
    "Certificate",
    "Change",
    "CompositeRisk",
    "Cut",
    "Cuts",
    "EditedSub",
    "EquivalentModel",
    "Facts",
    "Inexpressible",
    "Inside",
    "LinearRows",
    "Moved",
    "OracleBlock",
    "OracleBlocks",
    "PenaltyValues",
    "RelaxedAnswer",
    "RiskRow",
    "RowBound",
    "RowCut",
    "Separable",
    "Structure",
    "SubAnswer",
    "add_matrix_rows",
    "facts_of",
    "half_conjugate",
    "half_norm",
    "no_cuts",
    "norm_at",
    "stages_of",
    "vertices",
]
