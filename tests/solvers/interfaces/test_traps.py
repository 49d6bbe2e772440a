"""Known defects of solvers, with at least one test each of the public functions (reasons: docs/decisions)."""

import signal
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.contrib.solver.common.factory import SolverFactory as SolverFactoryV2
from pyomo.contrib.solver.common.results import TerminationCondition
from pyomo.gdp import Disjunct, Disjunction
from pyomo.mpec import Complementarity, complements
from pyomo.network import Arc, Port

import solvers
from pooling import HAVERLY_3, pooling
from solvers import ModelError, OptionError, SolutionStatus, SolverError, StopReason
from solvers.interfaces.registry import SOLVERS, find
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.runner import Runner, SolveOptions
from solvers.model.classes import violation
from solvers.model.rewriting import visible


def state(model):
    """Return what a solve must not change: components, active flags, bounds, fixings."""
    inside = (pyo.Block, Disjunct)
    components = [(c.name, c.ctype, c.active) for c in model.component_objects(descend_into=inside)]
    kinds = (pyo.Constraint, Disjunction, Disjunct, pyo.LogicalConstraint)
    data = [(d.name, d.active) for kind in kinds for d in model.component_data_objects(kind, descend_into=inside)]
    variables = model.component_data_objects(pyo.Var, descend_into=inside)
    return components, data, [(v.name, v.bounds, v.fixed, v.domain) for v in variables]


# ------------------------------------------------------------------------------------------------ quadratic models


@pytest.mark.parametrize("kind", ["qp", "qcp", "nonconvex"])
@pytest.mark.parametrize("domain", [pyo.Reals, pyo.Integers])
def test_highs_is_refused_on_every_quadratic_model(kind, domain, textbook):
    model = getattr(textbook, kind)(*() if kind == "nonconvex" else (domain,))
    with pytest.raises(SolverError, match=r'"highs" cannot solve this model.*Installed solvers that can: .*scip'):
        solvers.solve(model, "highs")
    with pytest.raises(SolverError, match='"highs" cannot solve this model'):
        solvers.solve(model, SolverFactoryV2("highs"))  # the same interface, handed over as an object


def test_clarabel_rejects_a_nonconvex_model_and_names_alternatives(textbook):
    with pytest.raises(ModelError, match=r'"product".*need no convexity: scip.* \(global\); pounce.* \(a local'):
        solvers.solve(textbook.nonconvex(), "clarabel")


def test_without_a_name_a_nonconvex_model_is_solved_globally_and_the_result_says_by_whom(textbook):
    result = solvers.solve(textbook.nonconvex())
    assert (result.solver, result.status) == ("scip", SolutionStatus.OPTIMAL)
    assert result.objective == pytest.approx(-2, abs=1e-5)
    assert "Not by clarabel" in result.message


def test_a_convex_model_gets_clarabel_without_a_name(textbook):
    assert solvers.solve(textbook.qp()).solver == "clarabel"
    assert solvers.solve(textbook.qcp()).solver == "clarabel"


@pytest.mark.solver_with(C.NONCONVEX)
def test_products_of_parameters_with_quadratic_terms(solver):
    model = pyo.ConcreteModel()
    model.p, model.q = pyo.Param(initialize=2.0, mutable=True), pyo.Param(initialize=0.0, mutable=True)
    model.x, model.y = pyo.Var(bounds=(0, 1)), pyo.Var(bounds=(0, 3))
    model.disc = pyo.Constraint(expr=model.p * (model.x + model.p * model.y**2 / model.p) <= model.p * 9)
    model.cost = pyo.Objective(expr=model.p * (model.p * model.x - model.x * model.y) + model.q * (1 - model.y) ** 2)
    # At x = 1, y = sqrt(8): p^2 - p sqrt(8), where that is below the 0 of x = 0.
    assert solvers.solve(model, solver).objective == pytest.approx(4 - 2 * 8**0.5, rel=1e-4)
    model.p.set_value(1.0)
    assert solvers.solve(model, solver).objective == pytest.approx(1 - 8**0.5, rel=1e-4)


@pytest.mark.solver_with(C.LP)
def test_a_row_that_always_holds(solver):
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(1, 2))
    model.nothing = pyo.Constraint(rule=lambda m: pyo.Constraint.Feasible)
    model.least = pyo.Constraint(expr=model.x >= 1.5)
    model.cost = pyo.Objective(expr=model.x)
    assert solvers.solve(model, solver).objective == pytest.approx(1.5, abs=1e-6)


# ---------------------------------------------------------------------------------------- components nobody looks at

HIDDEN = {"complementarity": 5, "disjunction": 1, "logical": 5, "sos": 12}


def refuses(solver, kind):
    """Tell whether a solver cannot take what the component becomes: an ordered set, an NLP, or binaries."""
    needed = {"sos": C.SOS, "complementarity": C.NLP if SOLVERS[solver].local else C.MILP}.get(kind, C.MILP)
    return needed not in SOLVERS[solver].capabilities


@pytest.mark.parametrize("kind", HIDDEN)
@pytest.mark.solver_with(*C)
def test_no_component_is_ignored(solver, kind, textbook):
    """The optimum that counts the component, or a refusal that says which and who can."""
    model = getattr(textbook, kind)()
    before = state(model)
    if refuses(solver, kind):
        with pytest.raises((SolverError, ModelError), match="Installed solvers that"):
            solvers.solve(model, solver)
    else:
        result = solvers.solve(model, solver)
        assert result.objective == pytest.approx(HIDDEN[kind], abs=1e-4)
        believed = SolutionStatus.FEASIBLE if SOLVERS[solver].untrusted else SolutionStatus.OPTIMAL  # all have integers
        assert result.status is (SolutionStatus.STATIONARY if SOLVERS[solver].local else believed)
        assert pyo.value(next(model.component_data_objects(pyo.Objective))) == result.objective
    assert state(model) == before


@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_truth_values_come_back_too(solver, textbook):
    model = textbook.logical()
    solvers.solve(model, solver)
    large, small = (d.indicator_var.value for d in model.choice.disjuncts)
    assert (large, small, model.paid.value) == (False, True, True)
    assert (model.x.value, model.price.value) == pytest.approx((1, 1))


def test_without_a_name_hidden_components_are_solved_too(textbook):
    for kind in ("disjunction", "logical", "sos"):
        result = solvers.solve(getattr(textbook, kind)())
        assert (result.solver, result.objective) == ("scip", pytest.approx(HIDDEN[kind]))


def test_a_disjunction_without_bounds_for_its_big_m_is_an_error(textbook):
    model = textbook.disjunction()
    model.x.setub(None)
    with pytest.raises(ModelError, match=r"highs does not support Disjunction.*Bound its variables"):
        solvers.solve(model, "highs")


def test_an_unknown_kind_of_component_is_rejected_by_name(textbook):
    model = textbook.lp()
    model.left, model.right = Port(), Port()
    model.left.add(model.x, "flow"), model.right.add(model.y, "flow")
    model.pipe = Arc(source=model.left, destination=model.right)
    with pytest.raises(ModelError, match='Arc "pipe"'):
        solvers.solve(model, "highs")


def test_an_inactive_component_does_not_count(textbook):
    model = textbook.disjunction()
    model.choice.deactivate()
    for disjunct in model.choice.disjuncts:
        disjunct.deactivate()
    assert solvers.solve(model, "highs").objective == pytest.approx(0)


# ---------------------------------------------------------------------------- complementarities as ordered sets


def product():
    """Maximum 7 of 2 x + y over x _|_ y: x at most 3 (6), or y at most 7. No bound on x and y, which a big-M needs."""
    m = pyo.ConcreteModel()
    m.x, m.y, m.p = pyo.Var(), pyo.Var(), pyo.Param(initialize=7.0, mutable=True)
    m.first, m.second = pyo.Constraint(expr=m.x <= 3), pyo.Constraint(expr=m.y - 0.5 * m.x <= m.p)
    m.either = Complementarity(expr=complements(m.x >= 0, m.y >= 0))
    m.sum = pyo.Objective(expr=2 * m.x + m.y, sense=pyo.maximize)
    return m


@pytest.fixture(params=["scip", "gurobi"])
def with_sets(request, need):
    return need(request.param)


def seen_by(name, model):
    return visible(model, find(name)).model


def sets_of(model):
    return list(model.component_data_objects(pyo.SOSConstraint, active=True, descend_into=(pyo.Block, Disjunct)))


def test_unbounded_variables_are_no_trouble_to_ordered_sets(with_sets):
    model = product()
    before = state(model)
    assert len(sets_of(seen_by(with_sets, model))) == 1
    for limit, optimum, x in ((7.0, 7.0, 0.0), (2.0, 6.0, 3.0), (6.5, 6.5, 0.0)):
        model.p = limit
        result = solvers.solve(model, with_sets)
        assert result.status is SolutionStatus.OPTIMAL
        assert result.objective == pytest.approx(optimum)
        assert result.bound >= optimum - 1e-6
        assert (model.x.value, model.y.value) == pytest.approx((x, optimum - 2 * x), abs=1e-6)
        assert state(model) == before


def test_who_has_no_ordered_sets_says_who_has():
    model = product()
    before = state(model)
    with pytest.raises(ModelError, match=r"highs does not support Complementarity.*need no bounds: .*scip"):
        solvers.solve(model, "highs")
    assert state(model) == before


# The optimum of max x + y over x, y in [-9, 9] with x + 2 y <= 8 and both sides, one of them with equality.
ONE_SIDED = {
    "both from below": (lambda m: complements(m.x >= 1, m.y >= 2), 6.0),  # (4, 2); (1, 3.5) is worse
    "from above": (lambda m: complements(m.x <= 2, m.y <= 1), 3.0),  # (2, 1)
    "one of each": (lambda m: complements(m.x <= 2, m.y >= -3), 5.0),  # (2, 3)
    "expressions": (lambda m: complements(m.y <= m.x, 3 * m.y + 1 >= 0), 25 / 3),  # (8 2/3, -1/3)
    "a side that is a number": (lambda m: complements(2 + m.x <= 5, m.y - 4 <= 0), 5.5),  # (3, 2.5)
    "with a parameter": (lambda m: complements(m.x >= m.p, m.y >= 2 * m.p), 6.0),
}


def three(build):
    m = pyo.ConcreteModel()
    m.x, m.y, m.p = pyo.Var(bounds=(-9, 9)), pyo.Var(bounds=(-9, 9)), pyo.Param(initialize=1.0, mutable=True)
    m.row = pyo.Constraint(expr=m.x + 2 * m.y <= 8)
    m.either = Complementarity(expr=build(m))
    m.sum = pyo.Objective(expr=m.x + m.y, sense=pyo.maximize)
    return m


@pytest.mark.parametrize("kind", ONE_SIDED)
def test_each_way_to_write_one_side(kind, with_sets):
    build, optimum = ONE_SIDED[kind]
    model = three(build)
    assert len(sets_of(seen_by(with_sets, model))) == 1
    assert solvers.solve(model, with_sets).objective == pytest.approx(optimum)
    assert solvers.solve(model, "highs").objective == pytest.approx(optimum)  # by disjunctions


# What has no single distance: within a range y = 0, at its lower end y >= 0, at its upper end y <= 0; beside an
# equation y is free.
TWO_SIDED = {
    "range": (lambda m: complements(pyo.inequality(-1, m.x, 4), m.y), 4.0),  # (4, 0); (-1, 4.5) is worse
    "equation": (lambda m: complements(m.x == 3, m.y), 5.5),  # (3, 2.5)
}


@pytest.mark.parametrize("kind", TWO_SIDED)
@pytest.mark.parametrize("solver", ["highs", "scip", "gurobi"])
def test_two_sides_go_the_way_of_disjunctions(kind, solver, need):
    build, optimum = TWO_SIDED[kind]
    model = three(build)
    before = state(model)
    assert sets_of(seen_by(need(solver), model)) == []
    assert solvers.solve(model, solver).objective == pytest.approx(optimum, abs=1e-5)
    assert state(model) == before


def test_ordered_sets_and_disjunctions_in_one_model(with_sets):
    model = three(TWO_SIDED["range"][0])
    model.z = pyo.Var(bounds=(0, 5))
    model.other = Complementarity(expr=complements(model.z >= 0, model.x + 0.5 >= 0))  # z = 0, or x = -1/2
    model.sum.set_value(model.x + model.y + 3 * model.z)
    assert len(sets_of(seen_by(with_sets, model))) == 1
    # x = -1/2 lies within the range, so that y = 0, and z = 5; else z = 0 and (4, 0) is best
    assert solvers.solve(model, with_sets).objective == pytest.approx(14.5)
    model.z.setub(1)
    assert solvers.solve(model, with_sets).objective == pytest.approx(4)


def test_complementarities_in_blocks_and_with_an_index(with_sets):
    model = product()
    model.either.deactivate()
    model.side = pyo.Block([1, 2])
    model.side[1].pairs = Complementarity([0], rule=lambda b, k: complements(model.x >= 0, model.y >= 0))
    model.side[2].never = Complementarity(expr=complements(model.x >= 0, 1 - model.x >= 0))
    model.side[2].never.deactivate()
    before = state(model)
    assert len(sets_of(seen_by(with_sets, model))) == 1
    result = solvers.solve(model, with_sets)
    assert result.objective == pytest.approx(7)
    assert (model.x.value, model.y.value) == pytest.approx((0, 7), abs=1e-6)
    assert state(model) == before
    model.side[2].deactivate()
    model.side[1].deactivate()
    assert solvers.solve(model, with_sets).objective == pytest.approx(14.5)  # (3, 8.5)


def test_a_complementarity_in_a_disjunct_holds_there_only(with_sets):
    """Maximum 8 in the other disjunct; 5 where the complementarity holds."""
    model = pyo.ConcreteModel()
    model.x, model.y = pyo.Var(bounds=(0, 5)), pyo.Var(bounds=(0, 3))
    model.case = Disjunct([1, 2])
    model.case[1].either = Complementarity(expr=complements(model.x >= 0, model.y >= 0))
    model.case[2].row = pyo.Constraint(expr=model.x + model.y >= 1)
    model.choice = Disjunction(expr=[model.case[1], model.case[2]])
    model.sum = pyo.Objective(expr=model.x + model.y, sense=pyo.maximize)
    assert solvers.solve(model, "highs").objective == pytest.approx(8)
    assert solvers.solve(model, with_sets).objective == pytest.approx(8)


def test_a_users_own_block_of_the_same_name_is_left_alone(with_sets):
    model = product()
    model.ordered = pyo.Block()
    model.ordered.cap = pyo.Constraint(expr=model.y <= 6.5)
    before = state(model)
    assert solvers.solve(model, with_sets).objective == pytest.approx(6.5)
    assert state(model) == before


def test_a_fixed_variable_in_an_ordered_set(with_sets):
    model = product()
    model.x.fix(2.0)
    assert solvers.solve(model, with_sets).objective == pytest.approx(4)  # y = 0
    assert model.x.fixed
    model.x.fix(0.0)
    assert solvers.solve(model, with_sets).objective == pytest.approx(7)
    model.x.fix(-1.0)
    assert solvers.solve(model, with_sets).status is SolutionStatus.INFEASIBLE


# ---------------------------------------------------------------------------------------------- options and limits


def test_highs_keeps_no_option_from_one_solve_to_the_next(textbook):
    model, highs = textbook.milp(), SolverFactoryV2("highs")
    solvers.solve(model, highs, gap=0.5, presolve="off", time_limit=100, seed=7)

    def option(name):
        return highs._solver_model.getOptionValue(name)[1]

    assert (option("mip_rel_gap"), option("presolve"), option("random_seed")) == (0.5, "off", 7)
    assert solvers.solve(model, highs).objective == pytest.approx(21)
    assert (option("mip_rel_gap"), option("presolve"), option("random_seed")) == (1e-4, "choose", 0)
    assert option("time_limit") == float("inf")


def test_the_time_limit_of_an_lp_counts_from_its_own_solve(monkeypatch):
    n = 40
    model = pyo.ConcreteModel()
    model.ship = pyo.Var(range(n), range(n), bounds=(0, None))
    model.supply = pyo.Constraint(range(n), rule=lambda m, i: sum(m.ship[i, j] for j in range(n)) <= 2)
    model.demand = pyo.Constraint(range(n), rule=lambda m, j: sum(m.ship[i, j] for i in range(n)) >= 1)
    costs = [sum(((i * 7 + j * 13 + k) % 29) * model.ship[i, j] for i in range(n) for j in range(n)) for k in (0, 11)]
    model.cost = pyo.Objective(expr=costs[0])
    highs = SolverFactoryV2("highs")
    solvers.solve(model, highs)
    native = highs._solver_model
    monkeypatch.setattr(type(native), "getRunTime", lambda _: 1e6)  # of all solves so far: its limit counts from 0
    model.cost.set_value(costs[1])
    assert solvers.solve(model, highs, time_limit=600.0).status is SolutionStatus.OPTIMAL
    assert native.getOptionValue("time_limit")[1] == pytest.approx(1e6 + 600.0, abs=300.0, rel=0)


@pytest.mark.parametrize(("solver", "compiles"), [("highs", "add_block"), ("scip", "_create_solver_model")])
def test_what_compiling_takes_is_taken_off_the_time_limit(solver, compiles, textbook, need, monkeypatch):
    made = find(need(solver)).make()
    does = getattr(type(made), compiles)

    def slowly(*args):
        time.sleep(0.5)
        built.append(does(*args))
        return built[-1]

    built = []
    monkeypatch.setattr(type(made), compiles, slowly)
    assert solvers.solve(textbook.milp(), made, time_limit=100.0).status is SolutionStatus.OPTIMAL
    said = (
        made._solver_model.getOptionValue("time_limit")[1]
        if solver == "highs"
        else built[-1][0].getParam("limits/time")
    )
    assert 0.0 < said <= 99.5


MISSPELT = {"highs": "mip_rel_gp", "clarabel": "tol_fea", "pounce": "max_itr", "scip": "limits/tme", "gurobi": "MIPGp"}
MISSPELT |= {"cbc": "rati", "glpk": "nocut", "ipopt": "max_itr", "cyipopt": "max_itr"}
MEANT = {"highs": "mip_rel_gap", "clarabel": "tol_feas", "pounce": "max_iter", "scip": "limits/time"}
MEANT |= {"gurobi": "MIPGap", "cbc": "ratio", "glpk": "cuts", "ipopt": "max_iter", "cyipopt": "max_iter"}
MISSPELT |= {"appsi_highs": "mip_rel_gp", "gurobi_direct": "MIPGp"}
MEANT |= {"appsi_highs": "mip_rel_gap", "gurobi_direct": "MIPGap"}


@pytest.mark.solver_with(C.LP)
def test_an_unknown_option_is_an_error_with_the_nearest_match(solver, textbook):
    with pytest.raises(OptionError) as error:
        solvers.solve(textbook.lp(), solver, **{MISSPELT.get(solver, "nonsense"): 1})
    assert MISSPELT.get(solver, "nonsense") in str(error.value)
    assert MEANT.get(solver, "nonsense") in str(error.value)  # some have no list of their options


@pytest.mark.solver_with(C.LP)
def test_a_misspelt_common_option_is_an_error_for_every_solver(solver, textbook):
    with pytest.raises(OptionError, match="time_limt"):
        solvers.solve(textbook.lp(), solver, time_limt=5)


@pytest.mark.parametrize(
    ("solver", "option"),
    [
        ("highs", "mip_rel_gap"),
        ("scip", "limits/gap"),
        ("gurobi", "MIPGap"),
        ("pounce", "tol"),
        ("ipopt", "tol"),
        ("cyipopt", "tol"),
    ],
)
def test_a_value_that_the_solver_refuses_is_an_error(solver, option, textbook):
    if not SOLVERS[solver].found:
        pytest.skip(f"{solver} is not installed")
    with pytest.raises(OptionError, match=option):
        solvers.solve(textbook.lp(), solver, **{option: "much"})


@pytest.fixture
def cyipopt():
    if SOLVERS["cyipopt"].found is None:
        pytest.skip("cyipopt is not installed")
    return "cyipopt"


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("tol", "much", "Number, not of type String"),
        ("mu_strategy", "best", "not a valid setting"),
        ("linear_solver", "ma99", "Valid Settings"),
        ("print_level", 12, "output_file"),  # more than Pyomo's pipe holds between two callbacks: it hung for ever
    ],
)
def test_an_option_that_ipopt_rejects_is_an_error_with_its_message(option, value, words, cyipopt, textbook):
    with pytest.raises(OptionError, match=f"{option}='?{value}'? is not allowed by cyipopt.*{words}"):
        solvers.solve(textbook.lp(), cyipopt, **{option: value})


def test_a_whole_number_serves_where_ipopt_wants_a_real_one(cyipopt, textbook):
    result = solvers.solve(textbook.lp(), cyipopt, max_cpu_time=60, max_iter=50, mu_strategy="adaptive")
    assert result.objective == pytest.approx(11, abs=1e-4)


def test_rows_without_a_free_variable_are_no_trouble_to_ipopt(cyipopt, textbook):
    model = textbook.qp()
    model.x.fix(1)
    model.row.set_value(model.x <= 2)
    before = state(model)
    assert solvers.solve(model, cyipopt).objective == pytest.approx(0, abs=1e-6)
    assert state(model) == before
    model.row.set_value(model.x <= 0)
    assert solvers.solve(model, cyipopt).status is SolutionStatus.INFEASIBLE
    assert state(model) == before


def rosenbrock(n):
    """Slow for its size: some n / 2 iterations."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(n), bounds=(-2, 2), initialize=-1.2)
    terms = (100 * (m.x[i + 1] - m.x[i] ** 2) ** 2 + (1 - m.x[i]) ** 2 for i in range(n - 1))
    m.cost = pyo.Objective(expr=pyo.quicksum(terms))
    return m


@pytest.mark.solver_with(C.NLP)
def test_the_time_limit_of_a_local_solver_is_wall_clock_time(solver):
    if not SOLVERS[solver].local:
        return
    result = solvers.solve(rosenbrock(1000), solver, time_limit=0.3)
    assert result.stop_reason is StopReason.TIME_LIMIT, result
    assert result.bound is None
    assert result.seconds < 60  # of a busy machine


def test_ctrl_c_gives_back_ipopts_point(cyipopt, monkeypatch):
    from solvers.interfaces.ipopt import NonlinearProgram

    runner, calls, proceed = Runner(find(cyipopt), SolveOptions()), [], NonlinearProgram.intermediate

    def press(program, *state):
        calls.append(state)
        if len(calls) == 5:
            signal.raise_signal(signal.SIGINT)
        return proceed(program, *state)

    monkeypatch.setattr(NonlinearProgram, "intermediate", press)
    before = signal.getsignal(signal.SIGINT)
    answer = runner.solve(rosenbrock(1000))
    assert (answer.stop_reason, answer.has_point) == (StopReason.INTERRUPTED, True)
    assert signal.getsignal(signal.SIGINT) is before
    assert len(calls) == 5


def market_split(rows=5, columns=40):
    """Hard for branch and bound: the least sum of what equations between binaries miss."""
    m, rng = pyo.ConcreteModel(), np.random.default_rng(0)
    a = rng.integers(0, 100, (rows, columns))
    m.x, m.over, m.under = pyo.Var(range(columns), domain=pyo.Binary), pyo.Var(range(rows)), pyo.Var(range(rows))
    for part in (m.over, m.under):
        part.setlb(0)
    m.split = pyo.Constraint(
        range(rows),
        rule=lambda m, i: sum(a[i, j] * m.x[j] for j in range(columns)) + m.over[i] - m.under[i] == a[i].sum() // 2,
    )
    m.cost = pyo.Objective(expr=sum(m.over.values()) + sum(m.under.values()))
    return m


def test_ctrl_c_in_a_tree_of_highs_says_nothing_but_the_result(caplog):
    def press():
        begun = time.process_time()
        while time.process_time() - begun < 1.0:  # of the solver, which a busy machine slows down
            time.sleep(0.02)
        signal.raise_signal(signal.SIGINT)

    pressing = threading.Thread(target=press)
    pressing.start()
    result = solvers.solve(market_split(), "highs", time_limit=600)
    pressing.join()
    assert result.stop_reason is StopReason.INTERRUPTED
    assert result.has_solution
    assert not caplog.records


def test_an_option_of_the_drivers_is_named_as_such(textbook):
    with pytest.raises(OptionError, match=r'"callback" belongs to the drivers \(benders'):
        solvers.solve(textbook.lp(), "highs", callback=print)


@pytest.mark.solver_with(C.LP)
def test_the_common_options_are_accepted_by_every_solver(solver, textbook):
    result = solvers.solve(textbook.lp(), solver, time_limit=60, gap=1e-3, threads=1, seed=3, tee=False)
    assert result.objective == pytest.approx(11, abs=1e-4)


@pytest.mark.solver_with(C.MILP)
def test_the_number_of_threads_may_change_within_a_process(solver, textbook):
    for threads in (1, 2, None, 1):
        options = {} if threads is None else {"threads": threads}
        assert solvers.solve(textbook.milp(), solver, **options).objective == pytest.approx(21)


def test_highs_really_gets_the_other_number_of_threads(textbook):
    runner = Runner(find("highs"), SolveOptions(threads=1))
    runner.solve(textbook.milp(), integer=True)
    runner.options = SolveOptions(threads=2)
    assert runner.solve(textbook.milp(), integer=True).status is SolutionStatus.OPTIMAL
    assert runner.solver._solver_model.getOptionValue("threads")[1] == 2


@pytest.mark.parametrize("tee", [True, False])
def test_scips_log_is_shown_on_request_only_and_never_blocks(tee):
    """A pipe holds 64 kB, and whoever empties it needs the interpreter's lock."""
    program = """
        import importlib.util, sys
        spec = importlib.util.spec_from_file_location("models", sys.argv[1])
        models = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(models)
        import solvers
        solvers.solve(models.market_split(), "scip", tee=sys.argv[2] == "True", time_limit=600,
                      **{"display/freq": 1, "limits/nodes": 500})
        print("ended")
    """
    models = str(Path(__file__).parents[1] / "conftest.py")
    command = [sys.executable, "-c", textwrap.dedent(program), models, str(tee)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    log, end = done.stdout.rsplit("ended", 1)
    assert end == "\n", done.stderr
    assert len(log) > 65536 if tee else log == "", log[:200]
    assert not done.stderr


# -------------------------------------------------------------------------------------------------- what is claimed


@pytest.mark.solver_with(C.NLP)
def test_a_local_solver_claims_no_optimum_and_no_bound(solver, textbook):
    if not SOLVERS[solver].local:
        return
    result = solvers.solve(textbook.qp(), solver)
    assert (result.status, result.stop_reason, result.bound) == (SolutionStatus.STATIONARY, StopReason.CONVERGED, None)
    assert result.objective == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("sense", [pyo.minimize, pyo.maximize])
@pytest.mark.solver_with(C.QP_DUALS)
def test_an_interior_point_solver_stopped_early_proves_nothing(solver, sense):
    if solver == "gurobi_direct":
        pytest.skip("its limit on iterations is another option for each algorithm")
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(20), bounds=(-10, 10), initialize=9)
    model.rows = pyo.Constraint(range(19), rule=lambda m, i: m.x[i] + (i + 1) * m.x[i + 1] >= 1)
    cost = sum((i + 1) * (v - i) ** 2 for i, v in model.x.items())
    model.cost = pyo.Objective(expr=cost if sense == pyo.minimize else -cost, sense=sense)
    result = solvers.solve(model, solver, iteration_limit=2)
    assert result.stop_reason is StopReason.ITERATION_LIMIT
    assert result.bound is None
    assert result.status in (SolutionStatus.NO_SOLUTION, SolutionStatus.FEASIBLE)


@pytest.mark.parametrize("condition", [TerminationCondition.unknown, TerminationCondition.error])
def test_the_bound_of_a_failed_run_does_not_count(condition, textbook, monkeypatch):
    """Gurobi ended with "unknown" and a bound above the optimum, where coefficients span 1e13."""
    answer = Runner._answer
    monkeypatch.setattr(
        Runner, "_answer", lambda self, native, **kw: answer(self, replace(native, condition=condition), **kw)
    )
    model = textbook.milp()
    result = solvers.solve(model, "highs")
    assert result.stop_reason is StopReason.SOLVER_ERROR
    assert result.bound is None
    assert result.has_solution


@pytest.mark.parametrize("sense", [pyo.minimize, pyo.maximize])
@pytest.mark.solver_with(C.MILP)
def test_a_bound_at_a_limit_is_proven_or_none(solver, sense, textbook):
    model = textbook.market_split(exact=False, sense=sense)
    for limit in (0.5, 5.0, 50.0):  # on a busy machine the first can be too short for a point
        result = solvers.solve(model, solver, time_limit=limit, threads=1)
        if result.has_solution:
            break
    assert (result.stop_reason, result.status) == (StopReason.TIME_LIMIT, SolutionStatus.FEASIBLE), result
    sign = 1 if sense == pyo.minimize else -1
    assert sign * result.objective > 0  # the optimum is 0 or a little more
    if result.bound is not None:
        assert sign * result.bound <= 1e-6
        assert result.gap > 0.5


@pytest.mark.parametrize("kind", ["LP", "MILP"])
@pytest.mark.parametrize("feasible", [True, False])
@pytest.mark.solver_with(C.LP)
def test_infeasible_and_unbounded_are_distinguished(solver, feasible, kind):
    if kind == "MILP" and C.MILP not in SOLVERS[solver].capabilities:
        return
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, None), domain=pyo.Integers if kind == "MILP" else pyo.Reals)
    model.y = pyo.Var(bounds=(0, None))
    model.first = pyo.Constraint(expr=model.x - model.y <= 1)
    if not feasible:
        model.second = pyo.Constraint(expr=model.x - model.y >= 2)
    model.cost = pyo.Objective(expr=-model.x - model.y)
    result = solvers.solve(model, solver)
    assert result.stop_reason is StopReason.CONVERGED
    assert result.objective is None
    assert result.bound is None
    if SOLVERS[solver].local and not feasible:  # it cannot prove that there is no point, and says so
        assert result.status is SolutionStatus.NO_SOLUTION
        assert "does not prove" in result.message
    else:
        assert result.status is (SolutionStatus.UNBOUNDED if feasible else SolutionStatus.INFEASIBLE)


def test_no_cbc_is_trusted_with_multipliers():
    assert not SOLVERS["cbc"].capabilities & (C.LP_DUALS | C.QP_DUALS)


def test_numpy_is_seen_by_pyomo():
    from pyomo.common.dependencies import numpy_available

    assert numpy_available


def unbounded_integers(sense, clash=False):
    m = pyo.ConcreteModel()
    m.x, m.v = pyo.Var(bounds=(0, 6), domain=pyo.Integers), pyo.Var(bounds=(-1, None), initialize=4.0)
    m.c = pyo.Constraint(expr=5 * m.x >= 5)
    if clash:
        m.d = pyo.Constraint(expr=2 * m.x == 3)
    m.o = pyo.Objective(expr=sense * (3 * m.x - 4 * m.v), sense=sense)
    return m


@pytest.mark.parametrize("sense", [pyo.minimize, pyo.maximize])
@pytest.mark.parametrize("name", ["highs", "scip", "gurobi", "cbc", "glpk"])
def test_an_unbounded_mixed_integer_model_is_not_infeasible(name, sense, need):
    model = unbounded_integers(sense)
    assert solvers.solve(model, need(name)).status is not SolutionStatus.INFEASIBLE
    if name == "cbc":
        assert solvers.solve(model, name).status is SolutionStatus.UNBOUNDED
        assert model.v.value == 4.0
    clashing = solvers.solve(unbounded_integers(sense, clash=True), name)
    assert clashing.status is SolutionStatus.INFEASIBLE


def cut_off_by_preprocessing():
    """A master with integers without a bound: -327.68 at x = (-1, 9, 4, 3), where cbc's preprocessing leaves -307.2."""
    m = pyo.ConcreteModel()
    m.eta, m.x = pyo.Var(), pyo.Var(range(4), domain=pyo.Integers)
    for k, (low, up) in enumerate([(None, 4), (0, 9), (-1, None), (3, 4)]):
        m.x[k].setlb(low), m.x[k].setub(up)
    value = m.eta + 61.44 * m.x[0] - 20.48 * m.x[2] + 81.92 * m.x[3]
    m.one = pyo.Constraint(expr=0.8 * m.x[0] + 0.8 * m.x[1] + m.x[2] + m.x[3] >= 13)
    m.two = pyo.Constraint(expr=m.eta >= -368.64000000000004)
    m.three = pyo.Constraint(expr=0.3333333333333333 * m.x[1] - m.x[2] >= -1.6666666666666665)
    m.floor = pyo.Constraint(expr=value >= -355.4986666666667)
    m.o = pyo.Objective(expr=value - 61.44)
    return m


@pytest.mark.parametrize("name", ["highs", "glpk", "scip", "gurobi"])
def test_no_optimum_is_cut_off_where_integers_have_no_bound(name, need):
    result = solvers.solve(cut_off_by_preprocessing(), need(name))
    assert result.objective == pytest.approx(-327.68, abs=1e-5)
    assert not find(name).untrusted


@pytest.mark.parametrize("name", ["cbc", "appsi_cbc"])
def test_the_claims_of_an_untrusted_solver_prove_nothing_on_integers(name, need):
    model = cut_off_by_preprocessing()
    need("cbc")
    result = solvers.solve(model, name)
    assert result.status is SolutionStatus.FEASIBLE
    assert result.bound is None
    why = "cuts off optima" if name == "cbc" else "not in the table"
    assert why in result.message
    assert "highs" in result.message
    model.one.set_value(model.x[3] >= 5)
    clashing = solvers.solve(model, name)
    assert (clashing.status, clashing.message[:8]) == (SolutionStatus.INFEASIBLE, "No point")  # by the default solver
    for x in model.x.values():
        x.domain = pyo.Reals
    model.one.set_value(model.x[3] >= 3)
    relaxed = solvers.solve(model, name)  # of a linear program cbc's word counts; appsi_cbc reports no bound
    assert why not in relaxed.message
    assert relaxed.status is (SolutionStatus.OPTIMAL if name == "cbc" else SolutionStatus.FEASIBLE)


@pytest.mark.parametrize("name", ["pounce", "ipopt", "cyipopt"])
def test_a_point_on_large_bounds_satisfies_its_rows(name, need):
    """Ipopt relaxes bounds by 1e-8 of their size, and rows with them unless it is told otherwise."""
    model = pooling(HAVERLY_3)
    for v in model.q.values():
        v.set_value(1.5)
    result = solvers.solve(model, need(name))
    assert result.status is SolutionStatus.STATIONARY
    assert violation(model) <= 1e-6
    told = solvers.solve(model, name, constr_viol_tol=1e-5)
    assert told.options["constr_viol_tol"] == 1e-5


def test_a_log_with_a_line_cut_by_standard_error_is_no_failure(need, tmp_path):
    """POUNCE writes to standard error at its end; under load, Pyomo's parser of the log raised IndexError."""
    solver = find(need("pounce")).make()
    program = tmp_path / "pounce"
    program.write_text(f'#!/bin/sh\n{solver.config.executable.path()} "$@" && echo "  69  9.4 pounce:"\n')
    program.chmod(0o755)
    solver.config.executable = str(program)
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(1, 2), initialize=1.5)
    m.cost = pyo.Objective(expr=m.x**2)
    assert solvers.solve(m, solver).objective == pytest.approx(1)


def test_a_process_that_solves_prints_nothing():
    """highspy 1.16 says who it is as soon as it is made, before any option can be set."""
    code = (
        "import pyomo.environ as pyo, solvers, numpy as np; from solvers.lp.highs import HighsLP;"
        "HighsLP(np.ones(1), np.zeros(1), np.ones(1)).solve();"
        "m = pyo.ConcreteModel(); m.x = pyo.Var(bounds=(0, 1)); m.cost = pyo.Objective(expr=m.x);"
        "solvers.solve(m, 'highs')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize("solver", ["scip", "gurobi"])
def test_a_fixed_value_below_the_tolerances_stays(solver, need):
    """Solvers that see a fixed variable as a column return 1e-10 as 0."""
    need(solver)
    m = pyo.ConcreteModel()
    m.x, m.w, m.s = pyo.Var(bounds=(0, 5)), pyo.Var(), pyo.Var(domain=pyo.Binary)
    m.w.fix(3e-10)
    m.row = pyo.Constraint(expr=m.x**2 + m.w**2 <= m.s + 1)
    m.cost = pyo.Objective(expr=m.s - m.x)
    solvers.solve(m, solver)
    assert (m.w.value, m.w.fixed) == (3e-10, True)
