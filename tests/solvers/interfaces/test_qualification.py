"""Solvers that are not in the table, and solvers that a user registers, with and without the trial problems."""

import gc
import weakref

import highspy
import pyomo.environ as pyo
import pytest
from pyomo.contrib.solver.common.results import SolutionStatus as Claimed
from pyomo.contrib.solver.common.results import TerminationCondition as Termination
from pyomo.contrib.solver.solvers.highs import Highs

import solvers
from solvers import Capability, OptionError, SolutionStatus, SolverError, solve
from solvers.interfaces.qualification import qualify
from solvers.interfaces.registry import SOLVERS, find

C = Capability


class Loader:
    def __init__(self, inner, change):
        self.inner, self.change = inner, change

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def get_duals(self, cons_to_load=None):
        return {row: self.change(row, x) for row, x in self.inner.get_duals(cons_to_load).items()}


def twist(monkeypatch, change):
    """Return a solver object whose results go through ``change(model, results)``, of a class of its own."""

    class Odd(Highs):
        def solve(self, model, **words):
            results = super().solve(model, **words)
            change(model, results)
            return results

    for name, spec in list(SOLVERS.items()):  # or it would be recognised as highs
        if name == "highs":
            monkeypatch.setitem(SOLVERS, name, type(spec)(**{**vars(spec), "interface": "none"}))
    return Odd()


def sense(model):
    return next(model.component_data_objects(pyo.Objective, active=True)).sense


# ---------------------------------------------------------------------------------------------------- not in the table


def honest(model, results):
    """Change nothing."""


def test_an_unlisted_solver_proves_no_optimum_over_integers(monkeypatch):
    m = facility()
    result = solve(m, twist(monkeypatch, honest))
    assert (result.status, result.objective, result.bound) == (SolutionStatus.FEASIBLE, pytest.approx(2), None)
    assert "without a proof: it is not in the table of tested solvers" in result.message
    assert "highs" in result.message
    m.open.domain = pyo.UnitInterval
    result = solve(m, twist(monkeypatch, honest))
    assert (result.status, result.objective) == (SolutionStatus.OPTIMAL, pytest.approx(1.5))


def test_a_wrong_point_of_an_unlisted_solver_is_not_optimal(monkeypatch):
    def change(model, results):
        m.serve.set_value(0.25)

    m = facility()
    m.open.domain = pyo.UnitInterval
    real = Highs.solve

    class Wrong(Highs):
        def solve(self, model, **words):
            results = real(self, model, **words)
            load = results.solution_loader.load_vars
            results.solution_loader.load_vars = lambda *_: (load(), change(model, results))
            return results

    monkeypatch.setitem(SOLVERS, "highs", type(SOLVERS["highs"])(**{**vars(SOLVERS["highs"]), "interface": "none"}))
    assert solve(m, Wrong()).status is not SolutionStatus.OPTIMAL


def test_a_nonlinear_optimum_of_an_unlisted_solver_is_not_proven(monkeypatch):
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(-1, 2))
    m.cost = pyo.Objective(expr=m.x**2 - m.x)

    class Local(type(SOLVERS["clarabel"].make())):
        pass

    monkeypatch.setitem(
        SOLVERS, "clarabel", type(SOLVERS["clarabel"])(**{**vars(SOLVERS["clarabel"]), "interface": "none"})
    )
    result = solve(m, Local())
    assert (result.status, result.objective, result.bound) == (SolutionStatus.FEASIBLE, pytest.approx(-0.25), None)


@pytest.mark.parametrize("integer", [False, True])
@pytest.mark.parametrize("claim", [Termination.provenInfeasible, Termination.unbounded])
def test_a_claim_of_no_solution_by_an_unlisted_solver_is_verified(monkeypatch, claim, integer):
    def change(model, results):
        if results.termination_condition in (Termination.provenInfeasible, Termination.unbounded):
            results.termination_condition, results.solution_status = claim, Claimed.noSolution

    m = pyo.ConcreteModel()
    m.x, m.v = pyo.Var(bounds=(0, 6), domain=pyo.Integers if integer else pyo.Reals), pyo.Var(bounds=(-1, None))
    m.row = pyo.Constraint(expr=m.x >= 1)
    m.cost = pyo.Objective(expr=3 * m.x - 4 * m.v)
    assert solve(m, twist(monkeypatch, change)).status is SolutionStatus.UNBOUNDED
    m.row.set_value(m.x >= 7)
    assert solve(m, twist(monkeypatch, change)).status is SolutionStatus.INFEASIBLE


@pytest.mark.parametrize(
    ("driver", "slot"),
    [
        ("benders", "master_solver"),
        ("benders", "sub_solver"),
        ("branch-and-cut", "lp_solver"),
        ("cutting-plane", "master_solver"),
        ("multi-start", "sub_solver"),
        ("sla", "lp_solver"),
        ("alternating", "blocks"),
    ],
)
def test_an_unlisted_solver_solves_whole_models_only(monkeypatch, driver, slot):
    m, odd = facility(), twist(monkeypatch, honest)
    given = {"complicating": [m.open]} if driver in ("benders", "branch-and-cut") else {}
    if driver in ("sla", "multi-start", "alternating"):
        m.open.domain = pyo.UnitInterval
    given[slot] = [solvers.Block([m.open], solver=odd), solvers.Block([m.serve])] if slot == "blocks" else odd
    with pytest.raises(SolverError, match=r"can solve whole models only. Use one of highs.*solvers.register\("):
        solve(m, driver, **given)


def test_options_that_pyomo_cannot_pass_to_an_unlisted_solver_are_rejected(monkeypatch):
    m, odd = facility(), twist(monkeypatch, honest)
    highspy.Highs.resetGlobalScheduler(True)  # another number of threads is an error of HiGHS until then
    assert solve(m, odd, gap=1e-3, threads=1, time_limit=60).objective == pytest.approx(2)
    with pytest.raises(OptionError, match='"seed" cannot be passed to'):
        solve(m, odd, seed=1)


def test_names_of_the_second_generation_alone_are_found(monkeypatch):
    from pyomo.contrib.solver.common.factory import SolverFactory as SolverFactoryV2

    monkeypatch.setitem(SolverFactoryV2._cls, "only-second", type("Second", (Highs,), {}))
    monkeypatch.setitem(SolverFactoryV2._doc, "only-second", "")
    result = solve(facility(), "only-second")
    assert (result.status, result.objective) == (SolutionStatus.OPTIMAL, pytest.approx(2))  # its class is in the table


def test_an_object_is_not_kept(monkeypatch):
    odd = twist(monkeypatch, honest)
    solve(facility(), odd)
    gone = weakref.ref(odd)
    del odd
    gc.collect()
    assert gone() is None


def test_the_removed_name_gives_its_replacement():
    with pytest.raises(AttributeError, match=r"solvers.probe was removed: solvers.register.*qualify=True"):
        _ = solvers.probe


# -------------------------------------------------------------------------------------------------- the trial problems


def qualified(monkeypatch, change, can=C.LP | C.LP_DUALS | C.MILP):
    odd = twist(monkeypatch, change)
    try:
        return solvers.register("odd", can, make=lambda: odd, qualify=True)
    finally:
        SOLVERS.pop("odd", None)


def test_a_solver_that_passes_is_registered(monkeypatch):
    assert qualified(monkeypatch, honest).name == "odd"


def turned(model, results):
    if results.solution_loader is not None:
        results.solution_loader = Loader(results.solution_loader, lambda row, x: -x)


def without_a_row(model, results):
    if results.solution_loader is not None:
        results.solution_loader = Loader(results.solution_loader, lambda row, x: 0.0 if row.name == "range" else x)


def bound_at_a_limit(model, results):
    if results.termination_condition is Termination.maxTimeLimit and sense(model) == pyo.maximize:
        results.objective_bound = results.incumbent_objective


def opposite_bound(model, results):
    if results.objective_bound is not None:
        results.objective_bound = -results.objective_bound


def always(condition):
    def change(model, results):
        if results.termination_condition in (Termination.provenInfeasible, Termination.unbounded):
            results.termination_condition, results.solution_status = condition, Claimed.noSolution

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (turned, '"LP": multiplier 1.33.* of row one, which should be -1.33'),
        (without_a_row, '"LP": multiplier 0.0 of row range, which should be -1'),
        (bound_at_a_limit, '"MILP stopped at a time limit": bound .*beyond the optimum -7'),
        (opposite_bound, '"LP": bound .*, beyond the optimum'),
        (always(Termination.unbounded), '"infeasible": status unbounded, which should be infeasible'),
        (always(Termination.provenInfeasible), '"unbounded": status infeasible, which should be unbounded'),
        (always(Termination.error), '"unbounded": status no_solution, which should be unbounded'),
    ],
)
def test_a_wrong_answer_is_named_and_the_solver_is_not_registered(monkeypatch, change, words):
    with pytest.raises(SolverError, match=f'Solver "odd" fails the trial problem {words}'):
        qualified(monkeypatch, change)
    assert "odd" not in SOLVERS


def test_trials_of_the_declared_capabilities_only(monkeypatch):
    assert qualified(monkeypatch, turned, C.LP | C.MILP)
    with pytest.raises(SolverError, match="There are trial problems for LP, MILP, convex QP, LP duals, QP duals only"):
        qualified(monkeypatch, honest, C.NLP)


@pytest.mark.parametrize("name", ["highs", "clarabel", "pounce", "scip", "appsi_highs", "glpk", "gurobi"])
def test_the_solvers_of_the_table_pass(name, need):
    qualify(find(need(name)))


# -------------------------------------------------------------------------------------------------- declared by a user


@pytest.fixture
def name():
    yield "mine"
    if "mine" in SOLVERS:
        solvers.forget("mine")


def test_a_declared_solver_is_one_of_the_table(name):
    make = lambda: pyo.SolverFactory("appsi_highs")  # noqa: E731
    solvers.register(
        name, C.LP | C.LP_DUALS | C.MILP, make=make, tight_options={"mip_abs_gap": 0.0}, install="pip install it"
    )
    row = solvers.available().set_index("name").loc[name]
    assert (row.kind, bool(row.found), row.solves) == ("solver", True, "LP, MILP, LP duals")
    assert row.version.startswith("1.")
    m = facility()
    result = solve(m, "benders", complicating=[m.open], master_solver=name, sub_solver=name)
    assert (result.status, result.objective) == (SolutionStatus.OPTIMAL, pytest.approx(2))
    assert result.details["inside"] == ["mine"]
    with pytest.raises(OptionError, match=r'"presolv" is not one of mine.*"presolve"'):
        solve(m, name, presolv="off")
    m.cost.set_value(m.cost.expr + m.serve**2)
    with pytest.raises(SolverError, match=r"does not support convex QP"):
        solve(m, "benders", complicating=[m.open], sub_solver=name)
    assert solvers.forget(name).name == name
    with pytest.raises(SolverError, match='"mine" is not known'):
        solve(m, name)


def test_what_is_declared_counts_without_a_trial(name):
    solvers.register(name, C.MILP, make=lambda: pyo.SolverFactory("appsi_highs"))
    with pytest.raises(SolverError, match='"mine" does not support LP, LP duals'):
        solve(m := facility(), "branch-and-cut", complicating=[m.open], lp_solver=name)


def test_a_declaration_that_means_nothing_is_refused(name):
    with pytest.raises(OptionError, match='"highs" is the name of a solver: choose another'):
        solvers.register("highs", C.LP)
    with pytest.raises(OptionError, match='"benders" is the name of a driver'):
        solvers.register("benders", C.LP)
    with pytest.raises(OptionError, match=r"give a solvers.Capability"):
        solvers.register(name, "LP")
    with pytest.raises(OptionError, match=r'"tight_opts" is not a field of SolverSpec. Did you mean "tight_options"'):
        solvers.register(name, C.LP, tight_opts={})
    with pytest.deprecated_call(match="words= is now common_options="):
        assert solvers.register(name, C.LP, words={"gap": "g"}).common_options == {"gap": "g"}
    solvers.forget(name)
    with pytest.raises(SolverError, match=r'"mines" is not in the table'):
        solvers.forget("mines")
    solvers.register(name, C.LP, install="ask the vendor")  # Pyomo does not know it, here
    with pytest.raises(SolverError, match=r'"mine" is not installed. To get it: ask the vendor'):
        solve(facility(), name)


def facility():
    m = pyo.ConcreteModel()
    m.open, m.serve = pyo.Var(domain=pyo.Binary), pyo.Var(bounds=(0, 2))
    m.need = pyo.Constraint(expr=m.serve >= 1)
    m.only = pyo.Constraint(expr=m.serve <= 2 * m.open)
    m.cost = pyo.Objective(expr=m.open + m.serve)
    return m


def test_find_lists_the_installed_solvers():
    with pytest.raises(SolverError, match=r"Installed: highs"):
        find("no-such-solver")
