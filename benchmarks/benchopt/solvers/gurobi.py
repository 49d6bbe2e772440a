"""Gurobi on the whole model."""

import gurobipy  # noqa: F401  (benchopt omits a solver whose imports fail)
from benchmark_utils import ModelSolver


class Solver(ModelSolver):
    """FSP-M with proven big-M values by Gurobi."""

    name = "Gurobi"
    requirements = ["pip::gurobipy"]
    solver = "gurobi"
    form = "big-m"
