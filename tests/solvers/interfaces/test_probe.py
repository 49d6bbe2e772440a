"""What a probe finds out of a solver that is wrong in one way, what is made of it, and solvers that a user declares."""

import gc
import weakref

import pyomo.environ as pyo
import pytest
from pyomo.contrib.appsi.solvers.highs import Highs as AppsiHighs
from pyomo.contrib.solver.common.results import SolutionStatus as Claimed
from pyomo.contrib.solver.common.results import TerminationCondition as Termination
from pyomo.contrib.solver.solvers.highs import Highs

import solvers
from solvers import Capability, OptionError, SolutionStatus, SolverError, solve
from solvers.interfaces import strangers, trials
from solvers.interfaces.registry import SOLVERS, find
from solvers.interfaces.runner import Runner, SolveOptions

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
        calls = 0

        def solve(self, model, **words):
            type(self).calls += 1
            results = super().solve(model, **words)
            change(model, results)
            return results

    for name, spec in list(SOLVERS.items()):  # or it would be recognised as highs
        if name == "highs":
            monkeypatch.setitem(SOLVERS, name, type(spec)(**{**vars(spec), "interface": "none"}))
    return Odd()


def sense(model):
    return next(model.component_data_objects(pyo.Objective, active=True)).sense


def test_an_honest_one_may_stand_everywhere(monkeypatch):
    odd = twist(monkeypatch, lambda model, results: None)
    probe = solvers.probe(odd)
    assert probe.slots == ["lp_solver", "sub_solver", "master_solver"]
    assert probe.table.right.all()
    assert set(probe.table["class"]) == {"LP", "LP duals", "MILP"}  # HiGHS is not asked for quadratic programs
    asked = type(odd).calls
    assert solvers.probe(odd).slots == probe.slots
    assert type(odd).calls == asked  # once for an object
    assert "it may be lp_solver, sub_solver, master_solver" in str(probe)


@pytest.mark.parametrize(("when", "flips"), [((pyo.minimize,), True), ((pyo.maximize,), False)])
def test_multipliers_of_the_other_sign_are_turned_or_not_used(monkeypatch, when, flips):
    def change(model, results):
        if sense(model) in when and results.solution_loader is not None:
            results.solution_loader = Loader(results.solution_loader, lambda row, x: -x)

    odd = twist(monkeypatch, change)
    spec = solvers.probe(odd).spec
    assert (C.LP_DUALS in spec.capabilities) is flips
    assert spec.flip_duals is flips
    if flips:
        trial = trials.linear(pyo.minimize)
        trial.model.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
        solve(trial.model, odd)
        assert [trial.model.dual[row] for row, _ in trial.multipliers] == pytest.approx(
            [s for _, s in trial.multipliers]
        )
    else:
        with pytest.raises(SolverError, match="LP duals needed"):
            solve(m := facility(), "benders", complicating=[m.open], sub_solver=odd)


def test_multipliers_that_leave_a_row_out_are_not_used(monkeypatch):
    def change(model, results):
        if results.solution_loader is not None:
            results.solution_loader = Loader(results.solution_loader, lambda row, x: 0.0 if row.name == "range" else x)

    spec = solvers.probe(twist(monkeypatch, change)).spec
    assert C.LP in spec.capabilities
    assert C.LP_DUALS not in spec.capabilities


def test_a_bound_beyond_the_optimum_where_it_was_stopped_misleads(monkeypatch):
    def change(model, results):
        if results.termination_condition is Termination.maxTimeLimit and sense(model) == pyo.maximize:
            results.objective_bound = results.incumbent_objective

    odd = twist(monkeypatch, change)
    assert "where it is stopped at a limit, and the optimum is -7" in solvers.probe(odd).spec.misled
    with pytest.raises(SolverError, match=r"cannot solve a master, whose bound is the run's.*stopped at a limit"):
        solve(m := facility(), "benders", complicating=[m.open], master_solver=odd)
    assert solve(facility(), odd).status is SolutionStatus.FEASIBLE


def test_without_a_bound_it_solves_no_master(monkeypatch):
    def change(model, results):
        results.objective_bound = None

    assert solvers.probe(twist(monkeypatch, change)).spec.misled == "Pyomo reports no bound of it"


def test_a_bound_that_is_wrong_at_the_optimum_costs_the_class(monkeypatch):
    def change(model, results):
        if results.objective_bound is not None:
            results.objective_bound = -results.objective_bound

    probe = solvers.probe(twist(monkeypatch, change))
    assert probe.slots == []
    with pytest.raises(SolverError, match="cannot solve this model, which needs MILP"):
        solve(facility(), twist(monkeypatch, change))


WRONG = {
    "infeasible for unbounded": lambda c: Termination.provenInfeasible if c is Termination.unbounded else c,
    "unbounded for infeasible": lambda c: Termination.unbounded if c is Termination.provenInfeasible else c,
    "either way round": lambda c: {
        Termination.unbounded: Termination.provenInfeasible,
        Termination.provenInfeasible: Termination.unbounded,
    }.get(c, c),
    "error": lambda c: Termination.error if c in (Termination.unbounded, Termination.provenInfeasible) else c,
}


@pytest.mark.parametrize("integer", [False, True])
@pytest.mark.parametrize("kind", WRONG)
def test_wrong_words_for_no_solution_are_found_and_put_right(monkeypatch, kind, integer):
    def change(model, results):
        turned = WRONG[kind](results.termination_condition)
        if turned is not results.termination_condition:
            results.termination_condition, results.solution_status = turned, Claimed.noSolution

    odd = twist(monkeypatch, change)
    assert solvers.probe(odd).spec.confuses == C.LP | C.MILP
    for trial in trials.clashing(integer):
        assert solve(trial.model, odd).status is SolutionStatus.INFEASIBLE
    for sense_ in (pyo.minimize, pyo.maximize):
        trial = trials.endless(sense_, integer=integer)
        trial.model.x.set_value(3), trial.model.v.set_value(5)
        assert solve(trial.model, odd).status is SolutionStatus.UNBOUNDED
        assert (trial.model.x.value, trial.model.v.value) == (3, 5)
        trial.model.v.setub(1000)
        assert solve(trial.model, odd).status is SolutionStatus.OPTIMAL


def test_a_failure_on_a_model_with_an_optimum_is_called_neither(monkeypatch):
    odd = twist(monkeypatch, lambda model, results: None)
    spec = solvers.probe(odd).spec
    spec = type(spec)(**{**vars(spec), "confuses": C.LP})
    failing = {"on": True}

    def change(model, results):
        if failing["on"] and model.name == "lp":
            results.termination_condition, results.solution_status = Termination.unbounded, Claimed.noSolution

    other = twist(monkeypatch, change)
    spec = type(spec)(**{**vars(spec), "make": lambda: other, "shared": other})
    answer = Runner(spec, SolveOptions()).solve(trials.linear(pyo.minimize).model)
    assert answer.status is SolutionStatus.NO_SOLUTION


def test_ctrl_c_in_a_probe_leaves_nothing_half_found(monkeypatch):
    pressed = {"now": True}

    class Interrupted(Highs):
        def solve(self, model, **words):
            if pressed["now"] and model.name == "infeasible":
                raise KeyboardInterrupt
            return super().solve(model, **words)

    monkeypatch.setitem(SOLVERS, "highs", type(SOLVERS["highs"])(**{**vars(SOLVERS["highs"]), "interface": "none"}))
    odd = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        solvers.probe(odd)
    pressed["now"] = False
    probe = solvers.probe(odd)
    assert probe.slots == ["lp_solver", "sub_solver", "master_solver"]
    assert (probe.table.asked == "optimum -7").sum() == 1


def test_an_object_goes_when_its_user_lets_it_go(monkeypatch):
    odd = twist(monkeypatch, lambda model, results: None)
    solvers.probe(odd)
    gone = weakref.ref(odd)
    del odd
    gc.collect()
    assert gone() is None


def test_names_of_the_second_generation_alone_are_found(monkeypatch):
    from pyomo.contrib.solver.common.factory import SolverFactory as SolverFactoryV2

    monkeypatch.setitem(SolverFactoryV2._cls, "only-second", type("Second", (Highs,), {}))
    monkeypatch.setitem(SolverFactoryV2._doc, "only-second", "")
    assert solve(facility(), "only-second").objective == pytest.approx(2)


def test_appsi_without_its_legacy_wrapper():
    odd = AppsiHighs()
    assert solvers.probe(odd).slots == ["lp_solver", "sub_solver", "master_solver"]
    m = facility()
    m.slack = pyo.Constraint(expr=m.serve >= 0.5)  # which APPSI's wrapper takes for a suffix
    assert solve(m, odd, time_limit=30, gap=1e-6, threads=1, seed=3).objective == pytest.approx(2)
    assert odd.highs_options == {}
    assert solve(m, "appsi_highs").objective == pytest.approx(2)


def test_the_words_of_programs_are_those_that_they_know(need):
    """By the programs themselves where they are installed."""
    for name in ("highs", "gurobi"):
        options = {n.lower() for n in SOLVERS[need(name)].option_names()}
        assert {w.lower() for w in strangers._PROGRAMS[name].words.values()} <= options


def test_what_the_table_knows_is_told_as_well():
    assert solvers.probe("highs").slots == ["lp_solver", "sub_solver", "master_solver"]
    with pytest.raises(SolverError, match='"higs" is not known'):
        solvers.probe("higs")


# -------------------------------------------------------------------------------------------------- declared by a user


@pytest.fixture
def name():
    yield "mine"
    if "mine" in SOLVERS:
        solvers.forget("mine")


def test_a_declared_solver_is_one_of_the_table(name):
    make = lambda: pyo.SolverFactory("appsi_highs")  # noqa: E731
    solvers.register(name, C.LP | C.LP_DUALS | C.MILP, make=make, tight={"mip_abs_gap": 0.0}, install="pip install it")
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
    with pytest.raises(SolverError, match=r"convex QP.* needed"):
        solve(m, "benders", complicating=[m.open], sub_solver=name)
    assert solvers.forget(name).name == name
    with pytest.raises(SolverError, match='"mine" is not known'):
        solve(m, name)


def test_what_is_declared_counts_without_a_trial(name):
    solvers.register(name, C.MILP, make=lambda: pyo.SolverFactory("appsi_highs"))
    with pytest.raises(SolverError, match='"mine" cannot do this: LP, LP duals needed'):
        solve(m := facility(), "branch-and-cut", complicating=[m.open], lp_solver=name)


def test_a_declaration_that_means_nothing_is_refused(name):
    with pytest.raises(OptionError, match='"highs" is the name of a solver: choose another'):
        solvers.register("highs", C.LP)
    with pytest.raises(OptionError, match='"benders" is the name of a driver'):
        solvers.register("benders", C.LP)
    with pytest.raises(OptionError, match=r"give a solvers.Capability"):
        solvers.register(name, "LP")
    with pytest.raises(OptionError, match=r'"tigth" is nothing that is known of a solver. Did you mean "tight"'):
        solvers.register(name, C.LP, tigth={})
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


def test_find_still_names_what_is_installed():
    with pytest.raises(SolverError, match=r"Installed here: highs"):
        find("no-such-solver")
