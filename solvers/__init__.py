"""HOW to optimise: every Pyomo solver and every decomposition driver by name. Knows nothing of what is modelled."""

from solvers.benders import Benders
from solvers.branch_and_cut import BranchAndCut
from solvers.errors import Error, ModelError, OptionError, SolverError
from solvers.memory import Memory
from solvers.registry import available
from solvers.result import Result, SolutionStatus, StopReason
from solvers.run import solve
from solvers.single_tree import SingleTree
from solvers.structure import Cut, Structure, SubAnswer

OWNER = "fsmodels"  # fsmodels looks for this mark, so that no other package named solvers is taken for ours

__all__ = [
    "Benders",
    "BranchAndCut",
    "Cut",
    "Error",
    "Memory",
    "ModelError",
    "OptionError",
    "Result",
    "SingleTree",
    "SolutionStatus",
    "SolverError",
    "StopReason",
    "Structure",
    "SubAnswer",
    "available",
    "solve",
]
