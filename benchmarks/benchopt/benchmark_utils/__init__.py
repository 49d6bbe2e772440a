"""Common parts of the solvers: models solved to a proof, and heuristics."""

import numpy as np
from benchopt import BaseSolver

import fsmodels as fs


class ModelSolver(BaseSolver):
    """Solve FSP-M by the solver ``solver`` of ``fs.solve``; building the model is not measured."""

    solver = ""
    form = ""

    def set_objective(self, X, y, max_features, C, time_limit):
        data = fs.Dataset.from_arrays(X, y).scaled("none")
        self.model = fs.fsp.fsp_m(data, max_features=max_features, C=C, form=self.form)
        self.time_limit = time_limit

    def warm_up(self):
        data = fs.load_dataset("bupa").take(range(100)).scaled("standard")  # small enough for Gurobi without a licence
        fs.solve(fs.fsp.fsp_m(data, max_features=1, form=self.form), self.solver, time_limit=1.0)

    def run(self, _):
        self.found = fs.solve(self.model, self.solver, gap=1e-4, time_limit=self.time_limit, threads=1)

    def get_result(self):
        names, bound = list(self.model.sigma), self.found.bound
        selected = [names.index(name) for name in self.found.selected or ()]
        return {"selected": selected, "bound": np.nan if bound is None else bound}


class Heuristic(BaseSolver):
    """Select features by ``select(X, y, max_features, C)``, which returns their positions."""

    def set_objective(self, X, y, max_features, C, time_limit):
        self.task = X, y, max_features, C

    def run(self, _):
        self.selected = self.select(*self.task)

    def get_result(self):
        return {"selected": list(self.selected), "bound": np.nan}
