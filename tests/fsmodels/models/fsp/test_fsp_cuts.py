"""Every kind of cut, evaluated at every support: never above SUB's value, and equal to it at its own support."""

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmodels as fs
from fsmodels.errors import ModelError, SolverError
from fsmodels.models.fsp.sub import fill
from solvers.drivers.benders.split import floor_of, split
from solvers.drivers.benders.switched import SwitchedSubproblem
from solvers.interfaces.registry import DUALS, find, names
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.runner import Runner, SolveOptions
from solvers.model.linear import LinearRows

QP_SOLVERS = names(C.QP | C.QCP | DUALS, installed=False)


def declarative(model, solver):
    subproblem = SwitchedSubproblem(split(model, model.structure), Runner(find(solver), SolveOptions()))
    subproblem.check_cut()
    return subproblem


def assert_valid_and_tight(subproblem, truth):
    """Ask at every support, and hold each cut against every value."""
    finite = max(abs(q) for q in truth.values() if np.isfinite(q))
    for home, q in truth.items():
        answer = subproblem.solve(np.array(home), 1e-9, None)
        if answer.value is None:
            assert not np.isfinite(q)
            excluded = [s for s in truth if answer.cut.at(np.array(s)) > 0]
            assert home in excluded
            assert not any(np.isfinite(truth[s]) for s in excluded)
            continue
        assert answer.value == pytest.approx(q, rel=1e-6)
        assert answer.bound <= answer.value
        assert answer.cut.at(np.array(home)) == pytest.approx(q, rel=1e-6, abs=1e-6 * finite)
        for s, value in truth.items():
            assert answer.cut.at(np.array(s)) <= value + 1e-6 * finite


@pytest.mark.parametrize("form", fs.fsp.FORMS)
@pytest.mark.parametrize("solver", ["oracle", *QP_SOLVERS])
def test_cuts_of_the_model_as_built(form, solver, build, data, values_of, need):
    model = build(form)
    subproblem = model.structure.oracle if solver == "oracle" else declarative(model, need(solver))
    assert_valid_and_tight(subproblem, values_of(data))


def test_cuts_of_an_edited_subproblem(convex_edit, build, data, edited_values, values_of):
    truth = edited_values(convex_edit)
    assert any(truth[s] != pytest.approx(q, rel=1e-4) for s, q in values_of(data).items())  # the edit matters
    model = build()
    convex_edit(model)
    assert not split(model, model.structure).as_built
    assert_valid_and_tight(declarative(model, "clarabel"), truth)


@pytest.mark.parametrize("solver", [name for name in QP_SOLVERS if name != "clarabel"])
def test_cuts_of_an_edited_subproblem_by_other_solvers(solver, linear_edit, build, edited_values, need):
    model, truth, refused = build(), edited_values(linear_edit), ""
    linear_edit(model)
    try:
        assert_valid_and_tight(declarative(model, need(solver)), truth)
    except SolverError as error:
        refused = str(error)
    if refused:  # a local solver proves no infeasibility: then it is refused by name
        assert solver in refused
        assert not all(np.isfinite(q) for q in truth.values())


def test_a_floor_of_an_edited_subproblem_is_below_its_values(convex_edit, build, edited_values):
    model = build()
    convex_edit(model)
    floor = floor_of(split(model, model.structure))
    assert floor is None or floor <= min(edited_values(convex_edit).values())


@pytest.mark.parametrize(
    "edit",
    [
        lambda m: m.add_component("e", pyo.Constraint(expr=m.w["a"] + m.w["b"] <= 0.1)),
        lambda m: m.b.fix(0.7),
        lambda m: m.w["a"].setub(0.3),
        lambda m: m.margin[0].deactivate(),
        lambda m: m.objective.set_value(m.norm + 10 * m.loss),
        lambda m: m.objective.set_value(m.objective.expr + 3 * m.xi[0]),
    ],
)
def test_the_floor_stays_where_nothing_makes_it_wrong(edit, build):
    model = build()
    edit(model)
    assert floor_of(split(model, model.structure)) == 0.0


def test_terms_that_may_be_negative_leave_no_floor(build):
    model = build()
    model.objective.set_value(model.objective.expr + model.w["a"])
    assert floor_of(split(model, model.structure)) is None
    model.w["a"].setlb(0)
    assert floor_of(split(model, model.structure)) == 0.0


def linear_rows(model):
    parts = split(model, model.structure)
    return LinearRows.of(parts.subproblem_rows, model.structure.variables(), parts.subproblem_terms, parts.sign)


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), scale=st.sampled_from([1e-3, 0.3, 1.0, 30.0]), noise=st.booleans())
def test_any_multipliers_give_a_valid_cut(seed, scale, noise, build_once, truth_once):
    rng = np.random.default_rng(seed)
    for name, model in build_once.items():
        rows = linear_rows(model)
        r = scale * rng.normal(size=len(rows.rows))
        if noise:
            r = np.abs(r) * (rng.random(len(r)) < 0.5)
        try:
            cut = model.structure.cut(rows, r)
        except ModelError:  # refused, which is valid too
            continue
        for s, q in truth_once[name].items():
            assert cut.at(np.array(s)) <= q + 1e-7 * max(1.0, abs(q)), name


NAMED = {
    "as built": lambda m: None,
    "row on w": lambda m: m.add_component("e", pyo.Constraint(expr=m.w["a"] >= m.w["b"] + 0.5)),
    "range on b": lambda m: m.add_component("e", pyo.Constraint(expr=(0.2, m.b, 0.3))),
    "sums of xi": lambda m: m.add_component("e", pyo.Constraint(expr=(2, sum(m.xi[i] for i in range(9)), 4))),
    "bounds": lambda m: (m.b.setlb(0.1), m.xi[0].setub(0.5), m.w["a"].setub(0.2), m.w["b"].fix(0.1)),
    "costs": lambda m: m.objective.set_value(m.norm + 5 * m.loss + m.b - m.w["c"]),
}


@pytest.fixture(scope="module")
def build_once(build):
    models = {name: build() for name in NAMED}
    for name, model in models.items():
        NAMED[name](model)
    return models


@pytest.fixture(scope="module")
def truth_once(build, edited_values):
    return {name: edited_values(edit) for name, edit in NAMED.items()}


def test_oracle_and_declarative_subproblem_agree_in_alpha_and_cut(build, data):
    """With C small every alpha is unique enough: both cuts are the same affine function."""
    model = build()
    one = model.structure.oracle.solve(np.array([1.0, 0, 0, 1]), 1e-10, None)
    two = declarative(model, "clarabel").solve(np.array([1.0, 0, 0, 1]), 1e-10, None)
    assert two.value == pytest.approx(one.value, rel=1e-7)
    assert two.cut.constant == pytest.approx(one.cut.constant, rel=1e-4)
    np.testing.assert_allclose(two.cut.coefficients, one.cut.coefficients, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("form", fs.fsp.FORMS)
def test_loading_an_answer_satisfies_the_model(form, build, data):
    model = build(form)
    answer = model.structure.oracle.solve(np.array([0, 1.0, 0, 1]), 1e-9, None)
    for v, x in zip(model.sigma.values(), (0, 1, 0, 1), strict=True):
        v.set_value(x)
    answer.load()
    assert pyo.value(model.objective) == pytest.approx(answer.value, rel=1e-12)
    for row in model.component_data_objects(pyo.Constraint, active=True):
        assert row.lslack() >= -1e-9
        assert row.uslack() >= -1e-9


def test_validation_error_counts_what_the_classifier_gets_wrong(build, data):
    model = build()
    for v in model.w.values():
        v.set_value(0.0)
    model.b.set_value(1.0)
    assert model.structure.score(model, data) == pytest.approx(np.mean(data.y < 0))
    model.b.set_value(0.0)  # on the hyperplane: the class -1
    assert model.structure.score(model, data) == pytest.approx(np.mean(data.y > 0))


@given(st.lists(st.just(0.0) | st.floats(1e-6, 100), min_size=1, max_size=8), st.integers(1, 8))
def test_fill_reaches_its_total(size, total):
    size = np.array(size)
    sigma = fill(size, float(total))
    assert np.all((sigma >= 0) & (sigma <= 1))
    assert sigma.sum() <= total + 1e-9
    if np.count_nonzero(size) > total and size.max() < 1e6 * size[size > 0].min():
        assert sigma.sum() == pytest.approx(total)
