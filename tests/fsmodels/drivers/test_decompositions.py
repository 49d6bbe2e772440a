"""Decompositions: equal to enumeration and the monolith, bounds at every row, limits, edits, textbook models."""

import itertools
import re
from functools import cache

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.gdp import Disjunction

import fsmodels as fs
import solvers
from foreign_models import integers_and_continuous
from model_state import state
from solvers import ModelError, OptionError, SolutionStatus, SolverError, StopReason
from solvers.drivers.benders.base import DecompositionDriver
from solvers.drivers.catalogue import DRIVERS
from solvers.interfaces.registry import DUALS, SOLVERS, names
from solvers.interfaces.registry import Capability as C
from solvers.model.classes import violation

MASTERS = [name for name in names(C.MILP, installed=False) if not SOLVERS[name].untrusted]
SUBS = names(C.QP | C.QCP | DUALS, installed=False)

DECOMPOSITIONS = [name for name, driver in DRIVERS.items() if issubclass(driver, DecompositionDriver)]
PLAIN = {"benders": {"in_out": False}}  # with a tree of relaxations the run ends before these limits
CUTTING = [name for name in DECOMPOSITIONS if name != "branch-and-cut"]  # whose limits are in test_soundness.py


def assert_brackets(table, truth):
    """Bound <= optimum <= incumbent at every row of a minimisation, and both only improve."""
    bound, incumbent = (table[c].dropna().to_numpy(dtype=float) for c in ("Bound", "Incumbent"))
    assert (bound <= truth + 1e-9 * max(1.0, abs(truth))).all()
    assert (incumbent >= truth - 1e-7 * max(1.0, abs(truth))).all()
    assert (np.diff(bound) >= 0).all()
    assert (np.diff(incumbent) <= 0).all()


# Against enumeration and the monolith.


@pytest.mark.parametrize("case", [(40, 6, 2, 1.0), (60, 7, 3, 10.0), (30, 8, 4, 0.1), (25, 5, 5, 100.0)])
@pytest.mark.parametrize("driver", DECOMPOSITIONS)
def test_reaches_the_enumerated_optimum_and_brackets_it_all_along(driver, case, make_data, enumerated):
    rows, n, most, C = case
    data = make_data(rows, n, seed=rows)
    truth = enumerated(data, C=C, max_features=most)
    model = fs.fsp.fsp_m(data, max_features=most, C=C)
    result = fs.solve(model, driver, gap=1e-6)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(truth, rel=1e-6)
    assert_brackets(result.iterations, truth)
    assert violation(model) <= 1e-6
    assert pyo.value(model.objective) == pytest.approx(result.objective, rel=1e-9)


@pytest.mark.parametrize("master", MASTERS)
def test_every_master_solver(master, model, optimum, need):
    result = fs.solve(model, "benders", master_solver=need(master), gap=1e-5)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(optimum, rel=1e-5)
    assert_brackets(result.iterations, optimum)


@pytest.mark.parametrize("sub", SUBS)
@pytest.mark.parametrize("form", fs.fsp.FORMS)
@pytest.mark.parametrize("driver", DECOMPOSITIONS)
def test_every_subproblem_solver(driver, sub, form, data, enumerated, need):
    optimum = enumerated(data, max_features=2)
    model = fs.fsp.fsp_m(data, max_features=2, C=1.0, form=form)
    result = fs.solve(model, driver, sub_solver=need(sub), gap=1e-5)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(optimum, rel=1e-4 if driver == "single-tree" else 1e-5)
    assert_brackets(result.iterations, optimum)


@pytest.mark.parametrize("driver", DECOMPOSITIONS)
def test_a_gap_of_zero_ends(driver, model, optimum):
    result = fs.solve(model, driver, gap=0.0)
    assert result.stop_reason is StopReason.CONVERGED
    assert result.objective == pytest.approx(optimum, rel=1e-8)
    assert result.gap <= 1e-7


@pytest.mark.parametrize("driver", DECOMPOSITIONS)
def test_two_seeds_one_answer_and_one_seed_one_way(driver, eight):
    first, second, again = (
        fs.solve(fs.fsp.fsp_m(eight, max_features=3), driver, seed=seed, threads=1, gap=1e-7) for seed in (1, 2, 2)
    )
    assert first.objective == pytest.approx(second.objective, rel=1e-7)
    assert first.selected == second.selected
    columns = ["Step", "Objective", "Incumbent", "Cuts"]
    assert again.iterations[columns].equals(second.iterations[columns])


def test_master_and_subproblem_can_be_inspected(model):
    driver = solvers.Benders(model, oracle="pyomo", gap=1e-6)
    assert driver.subproblem is not None
    result = driver.solve()
    assert len(driver.master.cuts) == result.iterations["Cuts"].iloc[-1]
    assert pyo.value(driver.master.objective) <= result.objective * (1 + 1e-6)
    assert solvers.Benders(model).subproblem is None  # a fast oracle answers
    assert result.details["inside"] == ["highs"]


# Limits, and leaving the model as it was found.


def stops(model, driver="benders", **options):
    """Solve and return the result, checking that nothing but values changed."""
    before = state(model)
    result = fs.solve(model, driver, gap=1e-6, **options)
    assert state(model) == before
    return result


def assert_incumbent(result, model, truth):
    assert result.status in (SolutionStatus.FEASIBLE, SolutionStatus.OPTIMAL)
    assert truth <= result.objective * (1 + 1e-7)
    assert result.solver == "single-tree" if result.bound is None else result.bound <= truth
    assert pyo.value(model.objective) == pytest.approx(result.objective, rel=1e-6)
    assert violation(model) <= 1e-6
    assert [j for j in model.features if model.sigma[j].value > 0.5] == result.selected


@pytest.mark.parametrize("limit", [1, 2])
@pytest.mark.parametrize("driver", CUTTING)
def test_iteration_limit(driver, limit, model, optimum):
    result = stops(model, driver, iteration_limit=limit, **PLAIN.get(driver, {}))
    assert result.stop_reason is StopReason.ITERATION_LIMIT
    assert len(result.iterations) == limit
    assert_incumbent(result, model, optimum)


@pytest.mark.parametrize("driver", CUTTING)
def test_time_limit_of_nothing(driver, model):
    model.sigma["a"].set_value(1)
    result = stops(model, driver, time_limit=0.0)
    assert result.stop_reason is StopReason.TIME_LIMIT
    assert result.status is SolutionStatus.FEASIBLE  # the trivial point of the model, offered before anything
    assert result.objective == pytest.approx(pyo.value(model.objective))
    assert result.bound < result.objective


def test_time_limit_of_nothing_on_a_model_that_is_not_ours():
    model = facility()
    model.open[0].set_value(1)
    result = stops(model, time_limit=0.0, complicating=model.open)
    assert result.stop_reason is StopReason.TIME_LIMIT
    assert result.status is SolutionStatus.NO_SOLUTION
    assert result.objective is None
    assert "more time" in result.message
    assert model.open[0].value == 1  # no incumbent: the user's values


@pytest.mark.parametrize("driver", CUTTING)
def test_time_limit_during_the_run(driver, model, optimum):
    """The oracle has no time left in the third subproblem."""
    oracle, calls = model.structure.oracle, []

    class Slow:
        def solve(self, point, tolerance, time_limit):
            calls.append(time_limit)
            return None if len(calls) == 3 else oracle.solve(point, tolerance, None)

    model.structure.oracle = Slow()
    result = stops(model, driver, time_limit=3000.0, **PLAIN.get(driver, {}))
    assert result.stop_reason is StopReason.TIME_LIMIT
    assert calls == sorted(calls, reverse=True)  # what is left is handed on
    assert_incumbent(result, model, optimum)


@pytest.mark.parametrize("sub", [None, "clarabel"])
@pytest.mark.parametrize("driver", CUTTING)
def test_callback_stops(driver, sub, model, optimum):
    seen = []
    limit = {"callback": lambda row: seen.append(row) or len(seen) == 2}
    result = stops(model, driver, sub_solver=sub, **limit, **PLAIN.get(driver, {}))
    assert result.stop_reason is StopReason.CALLBACK
    assert [row["Iter"] for row in seen] == [0, 1]
    assert_incumbent(result, model, optimum)


@pytest.mark.parametrize("driver", CUTTING)
def test_ctrl_c_in_a_callback(driver, model, optimum):
    def press(row):
        if row["Iter"] == 1:
            raise KeyboardInterrupt

    result = stops(model, driver, callback=press, **PLAIN.get(driver, {}))
    assert result.stop_reason is StopReason.INTERRUPTED
    assert_incumbent(result, model, optimum)


@pytest.mark.parametrize("sub", [None, "clarabel"])
@pytest.mark.parametrize("call", [1, 4])
def test_ctrl_c_in_a_subproblem(sub, call, model, optimum):
    """At the first call there is w = 0 to give; later the incumbent comes back."""
    driver = solvers.Benders(model, gap=1e-9, sub_solver=sub, in_out=False)
    before, asked, solve = state(model), [], driver._subproblem.solve
    inner = driver._subproblem if sub is None else driver._subproblem.runner.solver
    original = inner.solve

    def press(*args, **kwargs):
        asked.append(1)
        if len(asked) == call:
            raise KeyboardInterrupt
        return original(*args, **kwargs)

    inner.solve = press
    result = driver.solve()
    inner.solve = original
    assert callable(solve)
    assert result.stop_reason is StopReason.INTERRUPTED
    assert state(model) == before
    if call == 1:
        assert result.status is SolutionStatus.FEASIBLE
        assert result.selected == []
        assert result.bound <= optimum
    else:
        assert_incumbent(result, model, optimum)


def test_options_are_checked_before_anything_is_solved(model):
    with pytest.raises(OptionError, match='Did you mean "iteration_limit"'):
        fs.solve(model, "benders", iteration_limits=3)
    for wrong in ({"gap": -1}, {"time_limit": -1}, {"iteration_limit": 0}, {"patience": 0}, {"oracle": "fast"}):
        with pytest.raises(OptionError, match=next(iter(wrong))):
            fs.solve(model, "benders", **wrong)
    with pytest.raises(SolverError, match="MILP"):
        fs.solve(model, "benders", master_solver="clarabel")
    with pytest.raises(SolverError, match="clarabel"):
        fs.solve(model, "benders", sub_solver="highs")
    with pytest.raises(SolverError, match='Did you mean "highs"'):
        fs.solve(model, "benders", master_solver="higs")


# Validation.


def test_validation_keeps_the_classifier_with_the_least_error(model, make_data):
    other = make_data(30, 8, seed=33)
    score, seen = model.structure.score, []

    def recorded(m, data):
        seen.append(score(m, data))
        return seen[-1]

    model.structure.score = recorded
    result = fs.solve(model, "benders", choose_by="validation", validation=other, gap=1e-6)
    assert len(seen) == len(result.iterations)
    assert result.details["validation_error"] == min(seen)
    assert score(model, other) == min(seen)
    assert pyo.value(model.objective) == pytest.approx(result.objective, rel=1e-6)
    assert all(pyo.value(row.expr) for row in model.component_data_objects(pyo.LogicalConstraint, active=True))


@pytest.mark.parametrize("driver", DECOMPOSITIONS)
def test_validation_and_patience(driver, model, make_data):
    choose = {"choose_by": "validation", "validation": make_data(30, 8, seed=33), "gap": 1e-6}
    patient = fs.solve(model, driver, **choose)
    assert model.structure.score(model, choose["validation"]) == patient.details["validation_error"]
    if driver in CUTTING:
        hasty = fs.solve(model, driver, **choose, patience=1)
        assert hasty.stop_reason is StopReason.CONVERGED
        assert len(hasty.iterations) < len(patient.iterations)


# Edits: each ends at the monolith's optimum, or in an error that names it.


@pytest.mark.parametrize("driver", DECOMPOSITIONS)
def test_edits_of_the_subproblem(driver, convex_edit, build, edited_values):
    truth = min(q for s, q in edited_values(convex_edit).items() if sum(s) <= 2)
    model = build()
    convex_edit(model)
    before = state(model)
    result = fs.solve(model, driver, gap=1e-6)
    assert state(model) == before
    if not np.isfinite(truth):
        assert result.status is SolutionStatus.INFEASIBLE
        return
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(truth, rel=1e-6)
    assert result.bound <= truth * (1 + 1e-6)
    assert violation(model) <= 1e-6


def test_edits_of_the_subproblem_reach_what_scip_finds(linear_edit, build, edited_values):
    truth = min(q for s, q in edited_values(linear_edit).items() if sum(s) <= 2)
    model = build()
    linear_edit(model)
    result = fs.solve(model, "scip")
    if np.isfinite(truth):
        assert result.objective == pytest.approx(truth, rel=1e-4)
    else:
        assert result.status is SolutionStatus.INFEASIBLE


@pytest.mark.parametrize("form", [form for form in fs.fsp.FORMS if form != "perspective"])
@pytest.mark.parametrize("driver", DECOMPOSITIONS)
def test_forms_with_a_bound_take_an_edit_that_leaves_it_right_and_refuse_others(
    form, driver, linear_edit, build, edited_values
):
    model = build(form)
    linear_edit(model)
    try:
        result = fs.solve(model, driver, gap=1e-6)
    except ModelError as refusal:
        said = str(refusal)
    else:
        said = ""
    if said:
        assert re.search(r'edits the subproblem.*form="perspective"', said)
        return
    truth = min(q for s, q in edited_values(linear_edit).items() if sum(s) <= 2)
    assert result.objective == pytest.approx(truth, rel=1e-6)
    assert result.bound <= truth * (1 + 1e-6)


@pytest.mark.parametrize("form", [form for form in fs.fsp.FORMS if form != "perspective"])
def test_forms_with_a_bound_refuse_what_may_pass_it(form, build):
    model = build(form)
    model.objective.set_value(model.objective.expr - 3 * model.w["a"])
    with pytest.raises(ModelError, match=r'edits the subproblem.*form="perspective"'):
        fs.solve(model, "branch-and-cut")


@pytest.mark.parametrize("driver", DECOMPOSITIONS)
def test_edits_that_no_cut_covers_are_named(driver, refused_edit, build):
    edit, name = refused_edit
    model = build()
    edit(model)
    before = state(model)
    with pytest.raises(ModelError) as caught:
        fs.solve(model, driver)
    assert name in str(caught.value)
    assert "scip" in str(caught.value)
    assert state(model) == before


@pytest.fixture(scope="module")
def by_scip(build):
    """The optimum of an edited model by SCIP."""

    @cache
    def optimum(form, edit):
        model = build(form)
        edit(model)
        return fs.solve(model, "scip").objective

    return optimum


@pytest.mark.parametrize("driver", DECOMPOSITIONS)
@pytest.mark.parametrize("form", ["perspective", "indicator"])
def test_edits_of_the_master(driver, form, master_edit, build, by_scip):
    model = build(form)
    master_edit(model)
    result = fs.solve(model, driver, gap=1e-6)
    assert solvers.Benders(model).parts.as_built
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(by_scip(form, master_edit), rel=1e-4)
    assert pyo.value(model.objective) == pytest.approx(result.objective, rel=1e-6)


@pytest.mark.parametrize("driver", DECOMPOSITIONS)
def test_an_integer_of_the_users_is_decided_in_the_master(driver, build):
    """Weights above 0.1 for a fee each, and in whole steps of 0.2 beyond."""
    model = build()
    model.steps = pyo.Var(model.features, domain=pyo.NonNegativeIntegers, bounds=(0, 5))
    model.above = pyo.Constraint(model.features, rule=lambda m, j: m.w[j] <= 0.1 + 0.2 * m.steps[j])
    model.below = pyo.Constraint(model.features, rule=lambda m, j: m.w[j] >= -0.1 - 0.2 * m.steps[j])
    model.few = pyo.Constraint(expr=pyo.quicksum(model.steps.values()) <= 4)
    model.objective.set_value(model.objective.expr + 0.3 * pyo.quicksum(model.steps.values()))
    result = fs.solve(model, driver)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(fs.solve(model, "scip").objective, rel=2e-4)


@pytest.mark.parametrize("driver", DECOMPOSITIONS)
def test_choices_that_a_small_number_forbids_are_cut_off(driver, build):
    """No weight is as large as asked for, by 1e-4, beside a big-M of 50."""
    model = build()
    for w in model.w.values():
        w.setlb(-50), w.setub(50)
    model.w["a"].setub(-1e-4)
    model.apart = pyo.Constraint(expr=model.sigma["a"] + model.sigma["b"] <= 1)
    model.either = Disjunction(expr=[[model.w["a"] >= 1e-4], [model.w["b"] >= 1e-4]])
    assert fs.solve(model, driver).status is SolutionStatus.INFEASIBLE
    model.apart.deactivate()
    result = fs.solve(model, driver)
    assert result.objective == pytest.approx(fs.solve(model, "scip").objective, rel=2e-4)


@pytest.mark.parametrize("driver", DECOMPOSITIONS)
def test_maximising_turns_the_subproblem(driver, build):
    model = build()
    model.objective.sense = pyo.maximize
    result = fs.solve(model, driver)
    assert result.status in (SolutionStatus.UNBOUNDED, SolutionStatus.NO_SOLUTION)
    model.objective.set_value(-model.norm - model.C * model.loss - model.w["a"] ** 2)
    result = fs.solve(model, driver)
    model.objective.sense = pyo.minimize
    model.objective.set_value(model.norm + model.C * model.loss + model.w["a"] ** 2)
    assert result.objective == pytest.approx(-fs.solve(model, "scip").objective, rel=2e-4)
    assert result.status is SolutionStatus.OPTIMAL


@pytest.mark.parametrize("driver", DECOMPOSITIONS)
def test_what_is_no_row_is_refused_by_name(driver, build):
    model = build()
    model.one = pyo.SOSConstraint(var=model.sigma, sos=1)
    with pytest.raises(ModelError, match='SOSConstraint "one"'):
        fs.solve(model, driver)
    model = build()
    model.sigma["a"].domain = pyo.UnitInterval
    with pytest.raises(ModelError, match=r'"sigma\[a\]" is not binary'):
        fs.solve(model, driver)


def test_a_quadratic_master_needs_a_solver_for_it(build, need):
    model = build()
    model.fee = pyo.Var(bounds=(0, 2))
    model.charged = pyo.Constraint(expr=model.fee >= 1.5 * model.sigma["b"] + 0.2)
    model.objective.set_value(model.objective.expr + 2 * model.fee**2)
    with pytest.raises(ModelError, match=r"Objective term .* of the master is not linear: .* master_solver=.scip"):
        fs.solve(model, "benders")
    whole = fs.solve(model, "scip")
    result = fs.solve(model, "benders", master_solver="scip")
    assert result.objective == pytest.approx(whole.objective, rel=1e-4)


@pytest.mark.parametrize("driver", DECOMPOSITIONS)
@pytest.mark.parametrize("form", fs.fsp.FORMS)
def test_clashing_rows_are_named(driver, form, build):
    model = build(form)
    model.pair = pyo.Constraint(expr=model.sigma["a"] >= 1)
    model.not_both = pyo.Constraint(expr=model.sigma["a"] + model.sigma["b"] <= 1)
    model.harmless = pyo.Constraint(expr=model.sigma["c"] <= model.sigma["d"])
    model.sigma["b"].fix(1)
    result = fs.solve(model, driver)
    assert result.status is SolutionStatus.INFEASIBLE
    assert result.objective is None
    assert '"pair"' in result.message
    assert '"not_both"' in result.message
    assert "fixed at 1" in result.message
    assert "harmless" not in result.message
    assert "cardinality" not in result.message


def test_a_subproblem_without_solution_anywhere(build):
    model = build()
    model.e = pyo.Constraint(expr=sum(model.xi.values()) <= 1)
    result = fs.solve(model, "benders")
    assert result.status is SolutionStatus.INFEASIBLE
    model.cardinality.deactivate()  # nothing but the subproblem is left
    assert fs.solve(model, "benders").status is SolutionStatus.INFEASIBLE


def test_an_unbounded_subproblem_is_said_to_be_so(build):
    model = build()
    model.objective.set_value(model.objective.expr - 300 * model.b)
    for driver in ("benders", "branch-and-cut"):
        result = fs.solve(model, driver)
        assert (result.objective, result.bound) == (None, None)
        assert "unbounded below" in result.message
        if driver == "benders":  # which asks at what the master allows only
            assert result.status is SolutionStatus.UNBOUNDED
        else:
            assert result.status in (SolutionStatus.UNBOUNDED, SolutionStatus.NO_SOLUTION)


# Textbook models that have nothing to do with SVMs.

DEMAND = [3, 5, 4, 2]
OPEN = [8, 7, 6]
SHIP = [[1, 4, 6], [5, 1, 3], [6, 2, 1], [2, 6, 3]]


def facility(capacity=None, sense=pyo.minimize):
    """Facility location: OPEN costs, SHIP costs a unit, demand DEMAND."""
    m = pyo.ConcreteModel()
    customers, sites = range(4), range(3)
    m.open = pyo.Var(sites, domain=pyo.Binary)
    m.share = pyo.Var(customers, sites, bounds=(0, None))
    m.served = pyo.Constraint(customers, rule=lambda m, i: sum(m.share[i, j] for j in sites) == 1)
    m.only_open = pyo.Constraint(customers, sites, rule=lambda m, i, j: m.share[i, j] <= m.open[j])
    if capacity is not None:
        m.capacity = pyo.Constraint(
            sites, rule=lambda m, j: sum(DEMAND[i] * m.share[i, j] for i in customers) <= capacity * m.open[j]
        )
    cost = sum(OPEN[j] * m.open[j] for j in sites)
    cost += sum(DEMAND[i] * SHIP[i][j] * m.share[i, j] for i in customers for j in sites)
    m.cost = pyo.Objective(expr=cost if sense == pyo.minimize else 100 - cost, sense=sense)
    return m


def cheapest():
    """Uncapacitated: every customer goes to the cheapest open site."""
    subsets = (s for k in (1, 2, 3) for s in itertools.combinations(range(3), k))
    return min(sum(OPEN[j] for j in s) + sum(DEMAND[i] * min(SHIP[i][j] for j in s) for i in range(4)) for s in subsets)


def agrees(model, complicating, truth=None, driver="benders", **options):
    """Solve by decomposition and whole; return the result."""
    whole = fs.solve(model, "scip").objective
    before = state(model)
    result = fs.solve(model, driver, complicating=complicating, gap=1e-6, **options)
    assert state(model) == before
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(whole, rel=1e-5)
    assert truth is None or result.objective == pytest.approx(truth, rel=1e-6)
    assert violation(model) <= 1e-6
    objective = next(model.component_data_objects(pyo.Objective, active=True))
    assert pyo.value(objective) == pytest.approx(result.objective, rel=1e-6)
    if objective.sense == pyo.minimize:
        assert_brackets(result.iterations, result.objective)
    return result


@pytest.mark.parametrize("sub", names(C.LP | C.LP_DUALS, installed=False))
def test_facility_location(sub, need):
    if sub in ("pounce", "ipopt", "cyipopt"):  # with no site open a local solver proves nothing, and is refused by name
        model = facility()
        model.some = pyo.Constraint(expr=sum(model.open.values()) >= 1)
    else:
        model = facility()
    agrees(model, [model.open], truth=cheapest(), sub_solver=need(sub))


@pytest.mark.parametrize("capacity", [6, 7, 14])
@pytest.mark.parametrize("master", ["highs", "scip"])
def test_masters_whose_subproblem_is_infeasible(capacity, master):
    model = facility(capacity)
    result = agrees(model, model.open, master_solver=master)
    assert result.iterations["Objective"].isna().any() or capacity == 14  # a feasibility cut was needed
    assert result.objective >= cheapest() - 1e-6


@pytest.mark.parametrize("driver", DECOMPOSITIONS)
def test_no_master_has_a_subproblem_with_a_solution(driver):
    model = facility(capacity=4)
    result = fs.solve(model, driver, complicating=model.open)
    assert result.status is SolutionStatus.INFEASIBLE
    assert all(name in result.message for name in ("No choice satisfies these together", "served[0]", "capacity[0]"))


@pytest.mark.parametrize("driver", DECOMPOSITIONS)
def test_maximisation(driver):
    model = facility(7, sense=pyo.maximize)
    result = agrees(model, model.open, driver=driver)
    least = fs.solve(facility(7), "highs").objective
    assert result.objective == pytest.approx(100 - least, rel=1e-6)
    bound, incumbent = (result.iterations[c].dropna().to_numpy(dtype=float) for c in ("Bound", "Incumbent"))
    assert (bound >= result.objective - 1e-6).all()
    assert (incumbent <= result.objective + 1e-6).all()
    assert (np.diff(bound) <= 0).all()


@pytest.mark.parametrize("driver", DECOMPOSITIONS)
def test_the_users_rows_variables_and_fixings(driver):
    model = facility(7)
    model.open[1].fix(0)
    agrees(model, model.open, driver=driver)
    model = facility()
    model.open[0].fix(1)
    model.product = pyo.Constraint(expr=model.open[0] * model.share[0, 0] <= 0.5)  # linear while open[0] is fixed
    model.region = pyo.Var([0, 1], domain=pyo.Binary)
    model.pays = pyo.Constraint([0, 1], rule=lambda m, r: m.open[r] + m.open[r + 1] <= 2 * m.region[r])
    model.cost.set_value(model.cost.expr + 5 * model.region[0] + 3 * model.region[1] + 1.5)
    agrees(model, model.open, driver=driver, subproblem=model.share)


@pytest.mark.parametrize("driver", DECOMPOSITIONS)
def test_general_integers_and_continuous_variables_of_the_master(driver):
    m = integers_and_continuous()
    agrees(m, m.k, driver=driver, subproblem=m.y)


@pytest.mark.parametrize("driver", DECOMPOSITIONS)
def test_single_variables_may_complicate(driver):
    """x[2] stays with the subproblem, though x[1] complicates."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var([1, 2], bounds=(0, 4))
    m.x[1].domain = pyo.Integers
    m.row = pyo.Constraint(expr=2 * m.x[1] + 3 * m.x[2] <= 11)
    m.value = pyo.Objective(expr=3 * m.x[1] + 4 * m.x[2], sense=pyo.maximize)
    agrees(m, [m.x[1]], truth=16.0, driver=driver)


def quadratic_plan(domain):
    """Track targets with capacity bought in units (QP subproblem with linear rows)."""
    m = pyo.ConcreteModel()
    target, price = [1.3, 2.6, 0.4], [0.5, 0.2, 0.9]
    m.units = pyo.Var(range(3), domain=domain, bounds=(0, 3))
    m.make = pyo.Var(range(3), bounds=(0, None))
    m.capacity = pyo.Constraint(range(3), rule=lambda m, k: m.make[k] <= 0.9 * m.units[k])
    m.total = pyo.Constraint(expr=sum(m.make.values()) >= 2)
    m.few = pyo.Constraint(expr=sum(m.units.values()) <= 4)
    error = sum((m.make[k] - target[k]) ** 2 for k in range(3))
    m.cost = pyo.Objective(expr=error + sum(price[k] * m.units[k] for k in range(3)))
    return m


@pytest.mark.parametrize("sub", names(C.QP | C.QP_DUALS, installed=False))
def test_general_integers_and_a_quadratic_subproblem(sub, need):
    model = quadratic_plan(pyo.Integers)
    need(sub)
    if sub != "clarabel":  # a local solver proves no infeasibility: start where there is a plan
        model.enough = pyo.Constraint(expr=0.9 * sum(model.units.values()) >= 2)
    agrees(model, model.units, sub_solver=sub)


@pytest.mark.parametrize("build", [lambda: quadratic_plan(pyo.Reals), lambda: capacity_plan()])
def test_continuous_complicating_variables(build):
    model = build()
    agrees(model, model.units)


def capacity_plan():
    """Two-stage LP: capacity now, recourse in three scenarios; the newsvendor with two products."""
    m = pyo.ConcreteModel()
    demand = {(0, 0): 3, (0, 1): 5, (1, 0): 6, (1, 1): 2, (2, 0): 4, (2, 1): 4}
    m.units = pyo.Var([0, 1], bounds=(0, 10))
    m.sold = pyo.Var(list(demand), bounds=(0, None))
    m.limit = pyo.Constraint(list(demand), rule=lambda m, s, k: m.sold[s, k] <= m.units[k])
    m.demand = pyo.Constraint(list(demand), rule=lambda m, s, k: m.sold[s, k] <= demand[s, k])
    m.cost = pyo.Objective(expr=sum(m.units.values()) - sum(m.sold.values()) * 1.8 / 3)
    return m


def test_what_no_cut_is_known_for_is_refused_by_name():
    model = quadratic_plan(pyo.Integers)
    model.cone = pyo.Constraint(expr=model.make[0] ** 2 >= model.make[1] * model.make[2])
    with pytest.raises(ModelError, match='"cone" is quadratic and not convex'):
        fs.solve(model, "benders", complicating=model.units)
    model = quadratic_plan(pyo.Integers)
    model.bilinear = pyo.Constraint(expr=model.make[0] * model.units[1] <= 1)
    with pytest.raises(ModelError, match='"bilinear" is quadratic and not convex'):
        fs.solve(model, "benders", complicating=model.units)
    model = quadratic_plan(pyo.Integers)
    model.ring = pyo.Constraint(expr=model.make[0] ** 2 + model.make[1] ** 2 == 2)
    with pytest.raises(ModelError, match='"ring" is not linear and has two sides'):
        fs.solve(model, "benders", complicating=model.units)
    model = quadratic_plan(pyo.Integers)
    model.make[0].domain = pyo.Integers
    with pytest.raises(ModelError, match=r'"make\[0\]" of the subproblem is integer, so that no cut is valid'):
        fs.solve(model, "benders", complicating=model.units)
    model = quadratic_plan(pyo.Integers)
    model.cost.set_value(model.cost.expr + model.make[0] * model.make[1] * 5)
    for sub in ("clarabel", "pounce"):
        with pytest.raises(ModelError, match="not convex"):
            fs.solve(model, "benders", complicating=model.units, sub_solver=sub)
    model = quadratic_plan(pyo.Integers)
    model.cost.set_value(model.cost.expr + pyo.sin(model.make[0]))
    with pytest.raises(ModelError, match=r"not quadratic.*assume_convex"):
        fs.solve(model, "benders", complicating=model.units, sub_solver="pounce")
    model = quadratic_plan(pyo.Integers)
    model.cost.set_value(model.cost.expr + model.make[0] * model.units[1])
    with pytest.raises(ModelError, match="Objective term"):
        fs.solve(model, "benders", complicating=model.units)


def test_rows_with_variables_of_neither_part_are_refused():
    model = facility()
    model.extra = pyo.Var(bounds=(0, 1))
    model.mixed = pyo.Constraint(expr=model.share[0, 0] <= model.extra)
    with pytest.raises(ModelError, match='Row "mixed"'):
        fs.solve(model, "benders", complicating=model.open, subproblem=model.share)
    with pytest.raises(OptionError, match=r'"open".*another model'):
        fs.solve(model, "benders", complicating=facility().open)


def test_declared_coupling_rows():
    model = facility(7)
    result = fs.solve(model, "benders", complicating=model.open, coupling=[model.only_open, model.capacity])
    assert result.objective == pytest.approx(fs.solve(facility(7), "highs").objective, rel=1e-4)
    with pytest.raises(ModelError, match=r'Row "capacity\[0\]"'):
        fs.solve(model, "benders", complicating=model.open, coupling=model.only_open)


@pytest.mark.parametrize("driver", ["benders", "branch-and-cut"])
def test_an_unbounded_linear_subproblem(driver):
    model = facility()
    model.free = pyo.Var()
    model.below = pyo.Constraint(expr=model.free <= model.share[0, 0])
    model.cost.set_value(model.cost.expr + model.free)
    result = fs.solve(model, driver, complicating=model.open)
    assert (result.status, result.objective, result.bound) == (SolutionStatus.UNBOUNDED, None, None)
    model.none = pyo.Constraint(expr=model.share[0, 0] >= 2)  # with a ray, but without a point to start from
    assert fs.solve(model, driver, complicating=model.open).status is SolutionStatus.INFEASIBLE


@pytest.mark.parametrize("driver", ["benders", "branch-and-cut"])
def test_an_unbounded_master_of_a_bounded_model(driver):
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(domain=pyo.Integers), pyo.Var(bounds=(0, None))
    m.row = pyo.Constraint(expr=m.y >= m.x)
    m.cost = pyo.Objective(expr=2 * m.y - m.x)
    result = fs.solve(m, driver, complicating=m.x, time_limit=600)
    assert (result.status, result.objective) == (SolutionStatus.OPTIMAL, 0.0)
    m.cost.set_value(0.5 * m.y - m.x)
    result = fs.solve(m, driver, complicating=m.x, time_limit=600)
    assert (result.status, result.bound) == (SolutionStatus.UNBOUNDED, None)
    m.half = pyo.Constraint(expr=(0.2, m.x - m.y, 0.8))  # x - y is an integer, or there is no point
    m.z = pyo.Var(domain=pyo.Integers)
    m.same = pyo.Constraint(expr=m.z == m.y)
    assert fs.solve(m, driver, complicating=[m.x, m.z], time_limit=600).status is SolutionStatus.INFEASIBLE


def test_an_optimum_of_zero_is_recognised():
    model = facility()
    model.cost.set_value(model.cost.expr - cheapest())
    result = fs.solve(model, "benders", complicating=model.open)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(0, abs=1e-6)


def test_a_model_without_declared_variables():
    with pytest.raises(OptionError, match="complicating"):
        fs.solve(capacity_plan(), "benders")
    with pytest.raises(OptionError, match="validation"):
        fs.solve(model := facility(), "benders", complicating=model.open, choose_by="validation", validation=object())


@pytest.mark.parametrize("nothing", ["rows", "costs"])
def test_masters_with_nothing_of_their_own(nothing):
    """No master rows, no master costs: variables that the solver never sees get a value all the same."""
    model = facility()
    if nothing == "costs":
        model.cost.set_value(sum(SHIP[i][j] * model.share[i, j] for i in range(4) for j in range(3)))
        model.unused = pyo.Var([0, 1], domain=pyo.Binary)
        model.about = pyo.Constraint(expr=model.unused[0] + model.unused[1] <= 1)
    result = fs.solve(
        model, "benders", complicating=[c for c in (model.open, model.component("unused")) if c is not None]
    )
    assert result.status is SolutionStatus.OPTIMAL
    assert violation(model) <= 1e-6


@pytest.mark.parametrize("driver", ["benders", "branch-and-cut"])
def test_a_disjunction_without_a_solution_is_infeasible(driver):
    X = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [2.0, -1.0]])
    m = fs.fsp.fsp_m(fs.Dataset.from_arrays(X, [1, -1, 1, -1]), max_features=2, form="perspective")
    m.no_errors = pyo.Constraint(m.samples, rule=lambda m, i: m.xi[i] <= 0)
    m.either = Disjunction(expr=[[m.w["x1"] >= 0.1], [m.w["x2"] <= -0.1]])
    for w in m.w.values():
        w.setlb(-50), w.setub(50)
    assert fs.solve(m, driver).status is SolutionStatus.INFEASIBLE
