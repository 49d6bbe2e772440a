"""What a run does without after an edit is said, with the row that did it; nothing is said where nothing is lost."""

import pyomo.environ as pyo
import pytest

import fsmodels as fs


@pytest.mark.parametrize("driver", ["branch-and-cut", "benders", "single-tree"])
@pytest.mark.parametrize(
    ("edit", "name"),
    [
        (lambda m: m.add_component("mine", pyo.Constraint(expr=m.w["a"] ** 2 + m.b**2 <= 0.1)), '"mine"'),
        (lambda m: m.xi[3].setub(0.3), '"xi[3]"'),
        (lambda m: m.objective.set_value(m.objective.expr + (m.w["a"] - m.w["b"]) ** 2), '"w[a]"'),
    ],
)
def test_an_edit_of_the_subproblem_is_named_with_the_oracle_that_it_takes_away(driver, edit, name, build):
    model = build()
    edit(model)
    result = fs.solve(model, driver)
    what = "the builder's oracle, which is many times faster"
    assert f"because the model was edited: {what} [" in result.message
    assert name in result.message
    assert name in result.details["dropped"][what]
    assert "cuts and answers of earlier runs" in result.details["dropped"]


@pytest.mark.parametrize("driver", ["branch-and-cut", "benders", "single-tree"])
@pytest.mark.parametrize(
    "edit",
    [
        lambda m: m.add_component("mine", pyo.Constraint(expr=m.b <= 0.1)),
        lambda m: m.add_component("mine", pyo.Constraint(expr=(-0.05, m.w["a"] - m.w["b"] + m.b, 0.1))),
        lambda m: m.add_component("mine", pyo.Constraint(expr=m.w["a"] <= 0.1 * m.sigma["b"])),
        lambda m: m.margin[3].deactivate(),
        lambda m: m.w["a"].setub(0.3),
        lambda m: m.w["a"].setlb(0.05),
        lambda m: m.w["a"].fix(0.1),
        lambda m: m.b.fix(0.2),
        lambda m: m.objective.set_value(m.objective.expr + 0.2 * m.w["a"] ** 2),
        lambda m: m.objective.set_value(m.objective.expr + 0.1 * m.w["a"] + 0.3 * m.xi[2]),
    ],
)
def test_an_edit_that_the_oracle_takes_is_not_said_to_cost_it(driver, edit, build):
    model = build()
    edit(model)
    result = fs.solve(model, driver)
    assert result.status is fs.SolutionStatus.OPTIMAL
    assert "oracle" not in result.message


@pytest.mark.parametrize("driver", ["branch-and-cut", "benders", "scip"])
def test_nothing_is_said_of_a_model_as_built_or_with_rows_on_sigma(driver, build):
    model = build()
    assert "dropped" not in fs.solve(model, driver).details
    model.pair = pyo.Constraint(expr=model.sigma["a"] <= model.sigma["b"])
    result = fs.solve(model, driver)
    assert "dropped" not in result.details
    assert "as built" not in result.message


def test_an_oracle_that_is_not_asked_for_is_not_missed(build):
    model = build()
    model.mine = pyo.Constraint(expr=model.b <= 0.1)
    assert "the builder's oracle" not in fs.solve(model, "benders", oracle="pyomo").message


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda m: m.margin[3].deactivate(), 'row "margin[3]" was deactivated'),
        (lambda m: m.margin.__delitem__(3), "a row or set was deleted"),
        (lambda m: m.margin[3].set_value(m.w["a"] + m.xi[3] >= 0), 'row "margin[3]" was changed'),
        (lambda m: setattr(m.xi[3], "domain", pyo.Reals), '"xi[3]" were widened'),
        (lambda m: m.objective.set_value(m.norm + 9 * m.loss), 'the objective "objective" was changed'),
        (lambda m: m.loss.set_value(2 * m.xi[0]), 'expression "loss" was changed'),
        (lambda m: (m.margin[3].deactivate(), m.margin[4].deactivate()), "and 1 more"),
    ],
)
def test_a_proof_from_the_data_is_missed_by_name(edit, words, build):
    model = build()
    edit(model)
    result = fs.solve(model, "scip")
    assert "the proof from the data [" in result.message
    assert words in result.details["dropped"]["the proof from the data"]


def test_dense_rows_that_are_walked_again_are_among_the_details(data):
    model = fs.svm.l2_svm(data)
    model.margin[2].set_value(model.w["a"] + model.xi[2] >= 0)
    assert fs.solve(model).details["dropped"]["the numbers of dense rows"] == 'row "margin[2]" was changed'
