"""Benders drivers on the ball with columns of very different sizes: the cuts are valid for weights of 1e6."""

import numpy as np
import pyomo.environ as pyo
import pytest

import fsmodels as fs
from solvers import SolutionStatus

X = np.array(
    [
        [0.135829643, -0.180330686, 2.67610954e-08], [0, 1.12224995, -1.19390205e-06],
        [0, -0.780082379, 4.53929638e-07], [0, 1.7812818, 1.18584363e-06], [0, 0.973693213, 6.30707582e-07],
        [0, -0.561875747, -8.63576258e-07], [0, -1.60625533, 8.16271505e-07], [0, -1.44620221, 6.09657710e-07],
        [0, 0.4842412, -7.74244397e-08], [-0.971027611, -0.684726608, -6.54984051e-07],
        [0, -0.18932164, 6.83066471e-07],
    ]
)  # fmt: skip
Y = np.array([1.0, -1, 1, 1, 1, -1, 1, 1, -1, -1, 1])
UNITS = {"a": 3.5, "b": 0.97, "c": 1.4e6}


@pytest.mark.parametrize("driver", ["branch-and-cut", "benders"])
def test_no_cut_excludes_the_optimum(driver):
    model = fs.gmeb.primal(fs.Dataset.from_arrays(X, Y, features=list(UNITS)), R_plus=3.0, R_minus=0.3, sigma=True)
    model.size = pyo.Var(list(UNITS), bounds=(0, None))
    model.above = pyo.Constraint(list(UNITS), rule=lambda m, j: m.w[j] <= UNITS[j] * m.size[j])
    model.below = pyo.Constraint(list(UNITS), rule=lambda m, j: -m.w[j] <= UNITS[j] * m.size[j])
    model.total = pyo.Constraint(expr=sum(model.size.values()) <= 0.87)
    result = fs.solve(model, driver)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(5.36333968, rel=1e-6)  # by SCIP and Gurobi; all three features
