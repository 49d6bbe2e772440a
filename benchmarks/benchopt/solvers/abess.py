"""Logistic regression of abess with a limit on features."""

import abess  # noqa: F401  (benchopt omits a solver whose imports fail)
from benchmark_utils import Heuristic

from benchmarks.methods import heuristics


class Solver(Heuristic):
    """Selection of abess, which minimises another loss."""

    name = "abess"
    requirements = ["pip::abess"]

    def select(self, X, y, max_features, C):
        return heuristics.abess(X, y, max_features)
