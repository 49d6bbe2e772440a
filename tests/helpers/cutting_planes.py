"""Helpers for tests of cutting planes: bounds of the table compared with the optimum, and a separator."""

import numpy as np
import pyomo.environ as pyo
from scipy import sparse

from solvers.facts.separable import Cuts, no_cuts

INF = np.inf


def brackets(result, optimum, sign=1.0, rel=1e-6):
    """Every bound of the table on its side of the optimum, every incumbent on the other, none getting worse."""
    bound = sign * result.iterations["Bound"].to_numpy(dtype=float)
    bound = bound[~np.isnan(bound)]
    incumbent = sign * result.iterations["Incumbent"].to_numpy(dtype=float)
    incumbent = incumbent[~np.isnan(incumbent)]
    room = rel * max(1.0, abs(optimum))
    assert len(bound)
    assert (bound <= sign * optimum + room).all()
    assert (incumbent >= sign * optimum - room).all()
    assert (np.diff(bound) >= -room).all()
    assert (np.diff(incumbent) <= room).all()


class Norm:
    """Stands for a second-order cone with a hidden bound r on the norm of (x, y), at most the parameter ``most``."""

    def __init__(self, model):
        self.r, self.most, self.asked = model.r, model.most, 0

    def start(self):
        return no_cuts(2)

    def separate(self, point):
        self.asked += 1
        size, most = float(np.hypot(*point)), pyo.value(self.most)
        if size <= most * (1 + 1e-9):
            return no_cuts(2)
        return Cuts(sparse.csr_array((point / size)[None]), np.array([-INF]), np.array([most]), size / most - 1)

    def repair(self, point):
        return point / max(1.0, float(np.hypot(*point)) / pyo.value(self.most) * (1 + 1e-15))

    def load(self, point):
        self.r.set_value(float(np.hypot(*point)))
