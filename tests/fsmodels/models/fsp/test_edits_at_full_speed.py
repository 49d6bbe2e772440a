"""Edits that FSP's oracle takes, several at a time: by the drivers against Clarabel's program on every support."""

import pyomo.environ as pyo
import pytest

import fsmodels as fs

FORMED = {
    "bound": lambda m: m.w["a"].setub(0.05),
    "row": lambda m: m.add_component("mine", pyo.Constraint(expr=m.w["a"] + m.w["b"] <= 0.1)),
    "margin": lambda m: m.margin[next(iter(m.samples))].deactivate(),
    "ridge": lambda m: m.objective.set_value(m.objective.expr + 0.4 * sum(v**2 for v in m.w.values())),
}


@pytest.mark.parametrize("form", [*fs.fsp.FORMS, "rmp"])
@pytest.mark.parametrize("edit", list(FORMED))
def test_every_form_takes_what_its_bound_on_weights_outlives(form, edit, make_data):
    if (form, edit) == ("rmp", "margin"):  # which it does not state
        return
    data, found = make_data(20, 4, seed=3), []
    for written in ("perspective", form):
        model = fs.fsp.fsp_m(data, max_features=2, C=1.0, form=written)
        FORMED[edit](model)
        found.append(fs.solve(model, "branch-and-cut"))
        assert "oracle" not in found[-1].message
    assert found[1].status is fs.SolutionStatus.OPTIMAL
    assert found[1].objective == pytest.approx(found[0].objective, rel=2e-4)


def test_prices_that_outgrow_the_bound_on_weights_are_refused(make_data):
    model = fs.fsp.fsp_m(make_data(20, 3, seed=1), max_features=2, C=1.0, form="big-m")
    model.objective.set_value(model.objective.expr + 5 * sum(model.xi.values()))
    with pytest.raises(fs.ModelError, match=r'as it was built\. Build it with form="perspective"'):
        fs.solve(model, "branch-and-cut")
