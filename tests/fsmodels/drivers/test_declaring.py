"""A Suffix of the user's on a model of ours."""

import pyomo.environ as pyo

import fsmodels as fs
from solvers import explain_split


def test_a_suffix_of_the_user_counts_before_what_the_builder_says(make_data):
    m = fs.fsp.fsp_m(make_data(12, 3, seed=1), max_features=2, C=1.0)
    assert explain_split(m).source == "the model's builder"
    assert explain_split(m).blocks[0].cuts == "the builder's oracle"
    m.stage = pyo.Suffix()
    m.stage[m.sigma] = 0
    found = explain_split(m)
    assert found.source == 'the Suffix "stage"'
    assert found.refused == []
    assert {part.cuts for part in found.blocks} == {"multipliers of a cone program"}


def test_rows_of_both_parts_and_logic_are_explained(make_data):
    model = fs.fsp.fsp_m(make_data(12, 3, seed=1), max_features=2)
    model.far, model.uses = pyo.Var(), pyo.BooleanVar(["a", "b"])
    for j in ("a", "b"):
        model.uses[j].associate_binary_var(model.sigma[j])
    model.above = pyo.Constraint(expr=model.w["a"] <= model.far)
    model.tied = pyo.Constraint(expr=model.far <= 0.1 * model.sigma["b"])
    model.brings = pyo.LogicalConstraint(expr=model.uses["a"].implies(model.uses["b"]))
    said = explain_split(model)
    assert said.refused == []
    assert "far" in said.blocks[0].variables
    assert "tied" in said.couplings
    assert any("brings" in name for name in said.master.rows)
