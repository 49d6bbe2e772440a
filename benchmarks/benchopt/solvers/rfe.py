"""Recursive feature elimination."""

import numpy as np
from benchmark_utils import Heuristic

from benchmarks.methods import heuristics


class Solver(Heuristic):
    """Elimination of the smallest weights of the linear SVM."""

    name = "RFE"

    def select(self, X, y, max_features, C):
        *_, (left, _) = heuristics.elimination(X, y, C, np.arange(X.shape[1]), fewest=max_features)
        return left
