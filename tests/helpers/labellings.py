"""FSmulti (5) with a row for each of the 2^n labellings, in plain Pyomo and without facts: a reference for tests."""

import itertools

import numpy as np
import pyomo.environ as pyo

from fsmodels.errors import ParameterError
from fsmodels.models.multivariate.measures import loss as loss_of


def explicit(data, *, budget, C, loss="f1", offset=False, sigma=False):
    """Return the model; its loss labels samples, at most 12 of them."""
    measure, n = loss_of(loss), data.n_samples
    assert n <= 12
    X = np.asarray(data.X.toarray() if hasattr(data.X, "toarray") else data.X, dtype=float)
    m = pyo.ConcreteModel(name="every labelling")
    m.features = pyo.Set(initialize=[*data.features, *(["(offset)"] if offset else [])])
    X = np.c_[X, np.ones(n)] if offset else X
    m.C, m.budget = pyo.Param(initialize=C, mutable=True), pyo.Param(initialize=budget, mutable=True)
    m.w, m.d = pyo.Var(m.features), pyo.Var(m.features, bounds=(0, 1))
    m.t, m.xi = pyo.Var(m.features, domain=pyo.NonNegativeReals), pyo.Var(domain=pyo.NonNegativeReals)
    m.cone = pyo.Constraint(m.features, rule=lambda m, j: m.w[j] ** 2 <= m.d[j] * m.t[j])
    m.shares = pyo.Constraint(expr=pyo.quicksum(m.d.values()) <= m.budget)
    if sigma:
        m.sigma = pyo.Var(m.features, domain=pyo.Binary)
        m.switch = pyo.Constraint(m.features, rule=lambda m, j: m.d[j] <= m.sigma[j])
    m.labelling = pyo.ConstraintList()
    for signs in itertools.product((-1.0, 1.0), repeat=n):
        try:
            delta = measure.value(data.y, np.array(signs))
        except ParameterError:  # not in Y
            continue
        slopes = X.T @ (data.y - np.array(signs)) / n
        m.labelling.add(sum(a * w for a, w in zip(slopes.tolist(), m.w.values(), strict=True)) + m.xi >= delta / n)
    m.objective = pyo.Objective(expr=0.5 * sum(m.t.values()) + m.C * m.xi)
    return m
