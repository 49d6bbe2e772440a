"""Branch-and-cut of fsmodels."""

from benchmark_utils import ModelSolver


class Solver(ModelSolver):
    """FSP-M by the driver ``branch-and-cut``."""

    name = "branch-and-cut"
    solver = "branch-and-cut"
    form = "rmp"
