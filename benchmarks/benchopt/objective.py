"""Objective: the value of the linear SVM on the selected features, and the proven gap."""

from benchopt import BaseObjective

import fsmodels as fs


class Objective(BaseObjective):
    """Minimise 1/2 w'w + C sum of slacks of the linear SVM with at most ``max_features`` features."""

    name = "Sparse linear classification with a limit on features"
    min_benchopt_version = "1.7"
    requirements = []  # fsmodels is installed from the clone, as README.md describes
    parameters = {"max_features": [3, 5], "C": [1.0], "time_limit": [10.0]}
    test_config = {"max_features": 2, "time_limit": 5.0}
    sampling_strategy = "run_once"

    def skip(self, X, y):
        if self.max_features > X.shape[1]:
            return True, f"max_features={self.max_features}, and the data have {X.shape[1]} features"
        return False, None

    def set_data(self, X, y):
        self.X, self.y = X, y
        self.data = fs.Dataset.from_arrays(X, y).scaled("none")

    def get_objective(self):
        return {"X": self.X, "y": self.y, "max_features": self.max_features, "C": self.C, "time_limit": self.time_limit}

    def evaluate_result(self, selected, bound):
        """Return the metrics of a selection (positions) and of a proven lower bound (NaN without a proof)."""
        if len(selected) > self.max_features:
            raise ValueError(f"{len(selected)} features are selected: at most {self.max_features} are allowed")
        value = fs.fsp.value(self.data, [self.data.features[j] for j in selected], C=self.C)
        return {"value": value, "gap": (value - bound) / max(abs(value), 1e-10), "n_features": len(selected)}

    def get_one_result(self):
        return {"selected": [0], "bound": 0.0}
