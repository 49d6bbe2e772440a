"""The state of a model, for comparisons in tests."""

import pyomo.environ as pyo
from pyomo.repn import generate_standard_repn


def state(model):
    """Everything of a model but its values: what a solve must not change."""
    return (
        [(v.name, v.fixed, v.bounds, v.domain.name) for v in model.component_data_objects(pyo.Var)],
        [(r.name, r.active, id(r.expr)) for r in model.component_data_objects((pyo.Constraint, pyo.Objective))],
        [c.name for c in model.component_objects()],
    )


def linear(expression):
    """An expression as ({variable: coefficient}, constant)."""
    repn = generate_standard_repn(expression, quadratic=False)
    assert repn.is_linear()
    coefs = zip([v.name for v in repn.linear_vars], repn.linear_coefs, strict=True)
    return {name: c for name, c in coefs if c}, repn.constant
