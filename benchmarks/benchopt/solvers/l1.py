"""The 1-norm SVM."""

from benchmark_utils import Heuristic

from benchmarks.methods import heuristics


class Solver(Heuristic):
    """The largest support of liblinear's 1-norm SVM within the limit, by bisection on C."""

    name = "l1"

    def select(self, X, y, max_features, C):
        fits = heuristics.l1_bisection(X, y, max_features, (-5.0, 3.0))
        return heuristics.largest((used for *_, used in fits), max_features)
