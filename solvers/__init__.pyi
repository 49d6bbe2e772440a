from solvers.comparison import SolverComparison, compare
from solvers.drivers.alternating.driver import Alternating
from solvers.drivers.benders.explain import explain_split
from solvers.drivers.benders.multi_tree import Benders
from solvers.drivers.benders.single_tree import SingleTree
from solvers.drivers.branch_cut.branch_and_cut import BranchAndCut
from solvers.drivers.branch_cut.incumbents import NearChoice, NearChoices
from solvers.drivers.branch_cut.memory import Memory
from solvers.drivers.catalogue import DRIVERS, available, forget, register
from solvers.drivers.cutting_plane.integer import MixedCuttingPlane as CuttingPlane
from solvers.drivers.cutting_plane.row_generation import RowGeneration
from solvers.drivers.multi_start import MultiStart
from solvers.drivers.sla.driver import SuccessiveLinearization
from solvers.drivers.two_layer.driver import TwoLayer
from solvers.drivers.two_layer.selection import SelectionOracle
from solvers.drivers.two_layer.support_search import SupportFound, SupportSearch
from solvers.drivers.two_layer.working_set import RowPool
from solvers.errors import Error, ModelError, OptionError, SolverError
from solvers.facts.base import Facts, facts_of
from solvers.facts.blocks import Block, Blocks, OracleBlock, OracleBlocks, PenaltyValues
from solvers.facts.composite import CompositeRisk, RiskRow
from solvers.facts.separable import Separable
from solvers.facts.structure import Cut, Structure, SubAnswer
from solvers.interfaces.registry import SOLVERS, Capability, either
from solvers.interrupt import Cancel
from solvers.model_page import ShownModel, show
from solvers.plugin import register_drivers
from solvers.result import Result, SolutionStatus, StopReason
from solvers.run import Takers, solve, takers

__all__ = [
    "DRIVERS",
    "SOLVERS",
    "Alternating",
    "Benders",
    "Block",
    "Blocks",
    "BranchAndCut",
    "Cancel",
    "Capability",
    "CompositeRisk",
    "Cut",
    "CuttingPlane",
    "Error",
    "Facts",
    "Memory",
    "ModelError",
    "MultiStart",
    "NearChoice",
    "NearChoices",
    "OptionError",
    "OracleBlock",
    "OracleBlocks",
    "PenaltyValues",
    "Result",
    "RiskRow",
    "RowGeneration",
    "RowPool",
    "SelectionOracle",
    "Separable",
    "ShownModel",
    "SingleTree",
    "SolutionStatus",
    "SolverComparison",
    "SolverError",
    "StopReason",
    "Structure",
    "SubAnswer",
    "SuccessiveLinearization",
    "SupportFound",
    "SupportSearch",
    "Takers",
    "TwoLayer",
    "available",
    "compare",
    "either",
    "explain_split",
    "facts_of",
    "forget",
    "register",
    "register_drivers",
    "show",
    "solve",
    "takers",
]
