"""What tests read of a model."""

import pyomo.environ as pyo


def state(model):
    """Everything of a model but its values: what a solve must not change."""
    return (
        [(v.name, v.fixed, v.bounds, v.domain.name) for v in model.component_data_objects(pyo.Var)],
        [(r.name, r.active, id(r.expr)) for r in model.component_data_objects((pyo.Constraint, pyo.Objective))],
        [c.name for c in model.component_objects()],
    )
