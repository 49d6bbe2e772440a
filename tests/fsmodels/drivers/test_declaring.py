"""A Suffix of the user's on a model of ours."""

import pyomo.environ as pyo

import fsmodels as fs
from solvers import explain_split


def test_a_suffix_of_the_user_counts_before_what_the_builder_says(make_data):
    m = fs.fsp.fsp_m(make_data(12, 3, seed=1), max_features=2, C=1.0)
    assert explain_split(m).told_by == "the model's builder"
    assert explain_split(m).blocks[0].cuts == "the builder's oracle"
    m.stage = pyo.Suffix()
    m.stage[m.sigma] = 0
    found = explain_split(m)
    assert found.told_by == 'the Suffix "stage"'
    assert any('"only_selected[' in words for words in found.refused)
