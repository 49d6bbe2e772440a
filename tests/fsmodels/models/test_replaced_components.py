"""A component of the user in place of one of the builder is refused by name before solving."""

import pyomo.environ as pyo
import pytest

import fsmodels as fs


def test_a_row_in_place_of_a_parameter(make_data):
    model = fs.multivariate.fsmulti(make_data(12, 3, seed=1), budget=2)
    name = next(c.local_name for c in model.component_objects(pyo.Param) if c.local_name in ("budget", "C"))
    setattr(model, name, pyo.Constraint(expr=model.w["a"] <= 1))
    with pytest.raises(fs.ModelError, match=f'A .*Constraint has replaced "{name}", a .*Param of the builder'):
        fs.solve(model)


@pytest.mark.parametrize("solver", [None, "benders", "scip"])
def test_a_parameter_or_a_variable_in_place_of_another(make_data, solver):
    for name, new in (("C", pyo.Param(initialize=3.0)), ("b", pyo.Var()), ("loss", pyo.Expression(expr=0.0))):
        model = fs.fsp.fsp_m(make_data(12, 3, seed=1), max_features=2)
        model.del_component(name)
        model.add_component(name, new)
        with pytest.raises(fs.ModelError, match=f'has replaced "{name}", a '):
            fs.solve(model, solver)


def test_a_new_value_and_a_new_objective_are_edits(make_data):
    model = fs.fsp.fsp_m(make_data(12, 3, seed=1), max_features=2)
    model.C = 2.0
    expression = model.objective.expr
    model.del_component("objective")
    model.objective = pyo.Objective(expr=expression)
    clone = model.clone()
    assert fs.solve(clone).objective == pytest.approx(fs.solve(model).objective, rel=1e-6)
