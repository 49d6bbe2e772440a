"""SCIP on the whole model."""

from benchmark_utils import ModelSolver


class Solver(ModelSolver):
    """FSP-M with proven big-M values by SCIP."""

    name = "SCIP"
    solver = "scip"
    form = "big-m"
