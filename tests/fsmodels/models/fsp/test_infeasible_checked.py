"""A feasible model with an optimum of 1e13 is not reported as infeasible."""

import numpy as np
import pyomo.environ as pyo
import pytest

import fsmodels as fs
from fsmodels.errors import SolverError

FAR = [
    [7.66495653e-07, -7.48662144e-07, 3.57950071e-07],
    [-1.89216448e-06, -6.79128505e-07, 1.08845201e-06],
    [-2.78395884e-07, 1.11979540e-06, -6.19418485e-07],
    [-1.32336969e-06, 7.07116689e-07, -1.22472130e-06],
    [7.66495653e-07, -7.48662144e-07, 3.57950071e-07],
]


def test_a_feasible_model_with_an_optimum_of_1e13_is_not_infeasible():
    data = fs.Dataset.from_arrays(np.array(FAR), [1, -1, 1, -1, -1])
    m = fs.fsp.fsp_lambda(data, C=1e6, penalty=1e5, form="perspective")
    m.no_slack = pyo.Constraint(expr=m.xi[0] + m.xi[1] + m.xi[2] <= 0)
    m.row_b = pyo.Constraint(expr=m.b <= -0.28998086844908244)
    m.objective.set_value(m.objective.expr - 8e-3 * m.w["x2"] + 1e-3 * m.w["x3"])
    with pytest.raises(SolverError, match="slacks in the rows"):
        fs.solve(m, "branch-and-cut")
