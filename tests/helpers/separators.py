"""A model whose rows come from a separator: the disc |x| <= 1 by its tangents."""

import numpy as np
import pyomo.environ as pyo

from solvers import Separable
from solvers.facts import Cuts, no_cuts


class Tangents:
    """|x| <= 1 by tangents."""

    def __deepcopy__(self, memo):
        return self

    def start(self):
        return no_cuts(2)

    def separate(self, point):
        size = float(np.linalg.norm(point))
        return no_cuts(2) if size <= 1 else Cuts(point[None] / size, np.array([-np.inf]), np.array([1.0]), size - 1)

    def repair(self, point):
        return point / max(1.0, float(np.linalg.norm(point)))


def rounded(integer=False):
    m = pyo.ConcreteModel()
    m.x = pyo.Var([0, 1], bounds=(-2, 2), domain=pyo.Integers if integer else pyo.Reals)
    m.cost = pyo.Objective(expr=-m.x[0] - 2 * m.x[1])
    Separable([m.x], [], [], Tangents(), default_solver="row-generation", implicit="a separator").attach(m)
    return m
