"""The table of solvers: all declared capabilities, and errors for all other names."""

import math
from dataclasses import replace
from pathlib import Path

import pyomo.environ as pyo
import pytest
from pyomo.contrib.solver.common.factory import SolverFactory as SolverFactoryV2

import solvers
from solvers import SolutionStatus, SolverError
from solvers.clarabel.interface import Clarabel, LegacyClarabel
from solvers.drivers.catalogue import DRIVERS
from solvers.interfaces import installation
from solvers.interfaces.registry import SOLVERS, default_solver, find, names, recognise, require
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.runner import Runner, SolveOptions

# capability -> (model, its optimum); the duals have a test of their own
MATRIX = {
    C.LP: (lambda t: t.lp(), 11),
    C.MILP: (lambda t: t.milp(), 21),
    C.QP: (lambda t: t.qp(), 0.5),
    C.MIQP: (lambda t: t.qp(pyo.Integers), 1),
    C.QCP: (lambda t: t.qcp(), math.sqrt(6)),
    C.MIQCP: (lambda t: t.qcp(pyo.Integers), 1 + math.sqrt(2)),
    C.NONCONVEX: (lambda t: t.nonconvex(), -2),
    C.NLP: (lambda t: t.nlp(), 2 - 2 * math.log(2)),
    C.MINLP: (lambda t: t.nlp(pyo.Integers), math.e - 2),
    C.SOS: (lambda t: t.sos(), 12),
}


def claims(model_of):
    return [
        pytest.param(
            spec.name,
            capability,
            id=f"{spec.name}-{capability.name}",
            marks=[] if spec.found else [pytest.mark.skip(reason=f"{spec.name} is not installed")],
        )
        for spec in SOLVERS.values()
        for capability in model_of
        if capability in spec.capabilities
    ]


@pytest.mark.parametrize(("solver", "capability"), claims(MATRIX))
def test_a_claimed_class_is_solved_to_the_known_optimum(solver, capability, textbook):
    build, optimum = MATRIX[capability]
    model = build(textbook)
    result = solvers.solve(model, solver)
    local, untrusted = SOLVERS[solver].local, SOLVERS[solver].untrusted and C.MILP in capability
    believed = SolutionStatus.FEASIBLE if untrusted else SolutionStatus.OPTIMAL
    assert result.status is (SolutionStatus.STATIONARY if local else believed), result
    assert result.objective == pytest.approx(optimum, abs=2e-4)
    if local or untrusted:
        assert result.bound is None
    else:
        slack = 1e-6 * max(1, abs(optimum))
        assert result.bound >= optimum - slack if not result.minimize else result.bound <= optimum + slack


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_class_that_is_not_claimed_is_refused_with_the_solvers_that_can(solver, textbook):
    spec = SOLVERS[solver]
    if not spec.found:
        pytest.skip(f"{solver} is not installed")
    alternatives = {C.QP: C.QP, C.NONCONVEX: C.QP, C.QCP: C.QCP}  # what the model alone says of convexity
    for capability, (build, _) in MATRIX.items():
        needed = alternatives.get(capability, capability)
        if needed in spec.capabilities or capability is C.SOS:
            continue
        with pytest.raises(SolverError, match="cannot solve this model") as error:
            solvers.solve(build(textbook), solver)
        assert all(name in str(error.value) for name in names(needed))


def duals_cases():
    """Yield (sense, objective of x, row of x, d objective / d right-hand side), the optimum at the row."""
    up, down = pyo.maximize, pyo.minimize
    linear = [
        (down, lambda x: x, lambda x: x >= 2, 1),
        (up, lambda x: x, lambda x: x <= 3, 1),
        (down, lambda x: -x, lambda x: x <= 3, -1),
        (up, lambda x: -x, lambda x: x >= 2, -1),
        (down, lambda x: 2 * x, lambda x: x == 1, 2),
        (up, lambda x: 2 * x, lambda x: x == 1, 2),
        (down, lambda x: x, lambda x: x >= -5, 1),
    ]
    square = [
        (down, lambda x: x**2, lambda x: x >= 2, 4),
        (up, lambda x: -(x**2), lambda x: x >= 2, -4),
        (down, lambda x: (x - 5) ** 2, lambda x: x <= 3, -4),
        (up, lambda x: -((x - 5) ** 2), lambda x: x <= 3, 4),
        (down, lambda x: x**2, lambda x: x == 3, 6),
        (up, lambda x: -(x**2), lambda x: x == 3, -6),
    ]
    for spec in SOLVERS.values():
        for capability, cases in ((C.LP_DUALS, linear), (C.QP_DUALS, square)):
            if capability in spec.capabilities:
                skip = [] if spec.found else [pytest.mark.skip(reason=f"{spec.name} is not installed")]
                for k, case in enumerate(cases):
                    yield pytest.param(spec.name, *case, id=f"{spec.name}-{capability.name}-{k}", marks=skip)


@pytest.mark.parametrize(("solver", "sense", "objective", "row", "multiplier"), [*duals_cases()])
def test_a_multiplier_is_the_derivative_by_the_right_hand_side(solver, sense, objective, row, multiplier):
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(-10, 10))
    m.row = pyo.Constraint(expr=row(m.x))
    m.cost = pyo.Objective(expr=objective(m.x), sense=sense)
    answer = Runner(find(solver), SolveOptions()).solve(m, duals=[m.row])
    assert answer.duals[m.row] == pytest.approx(multiplier, abs=1e-4)
    assert m.component("dual") is None  # nothing is left on the model


@pytest.mark.solver_with(C.LAZY_CUTS)
def test_a_claim_of_lazy_cuts_means_that_the_interface_takes_them(solver):
    made = find(solver).make()
    assert callable(made.set_callback)
    assert callable(made.cbLazy)


def test_every_capability_is_in_the_matrix_and_every_solver_has_a_tested_claim():
    elsewhere = {C.LP_DUALS, C.QP_DUALS, C.LAZY_CUTS}
    assert set(C) == {*MATRIX, *elsewhere}
    assert {p.values[0] for p in claims(MATRIX)} == set(SOLVERS)
    assert all(spec.interface and spec.install for spec in SOLVERS.values())


def test_every_driver_has_a_test_module_or_folder():
    for driver in DRIVERS.values():
        folder = driver.__module__.split(".")[-2]
        stems = {f"test_{name.replace('-', '_')}" for name in (driver.name, driver.__module__.rsplit(".", 1)[-1])}
        tests = next(folder for folder in Path(__file__).parents if folder.name == "tests")
        found = list(tests.rglob("test_*.py"))
        own = folder != "drivers" and any(path.parent.name == folder for path in found)
        assert own or any(path.stem in stems for path in found), f"{driver.name} has no tests in {stems} or {folder}"


def test_the_names_that_are_promised_are_there():
    promised = {"highs", "clarabel", "pounce", "scip", "gurobi", "ipopt", "cyipopt", "cbc", "glpk"}
    assert promised <= set(SOLVERS)
    assert "benders" in DRIVERS


@pytest.mark.parametrize(("absent", "chosen"), [((), "pounce"), (("pounce",), "ipopt"), (("pounce", "ipopt"), "scip")])
def test_a_local_solver_is_the_default_for_nonlinear_models_before_a_global_one(absent, chosen, monkeypatch):
    for name in absent:
        monkeypatch.setitem(SOLVERS, name, replace(SOLVERS[name], version=lambda: None, fallback=""))
    assert default_solver([C.NLP]).name == chosen


def test_the_table_of_solvers_and_drivers():
    table = solvers.available().set_index("name")
    assert list(table.columns) == ["kind", "found", "version", "install", "solves"]
    assert set(table.index) == {*SOLVERS, *DRIVERS}
    here = table[(table.kind == "solver") & table.found]
    assert {"highs", "clarabel", "pounce", "scip"} <= set(here.index)  # the dependencies of the package
    assert (here.version != "").all()
    missing = table[~table.found]
    assert (missing.install != "").all()
    assert (missing.version == "").all()
    assert (table.solves != "").all()


def test_an_unknown_name_gets_the_nearest_one_and_what_is_installed(textbook):
    with pytest.raises(SolverError, match=r'"higs" is not known. Did you mean "highs"\? Installed: .*scip.*benders'):
        solvers.solve(textbook.lp(), "higs")


def test_a_solver_that_is_not_installed_gets_its_command(textbook, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SolverError, match=r'"glpk" is not installed. To get it: Debian: apt-get install glpk.*highs'):
        solvers.solve(textbook.lp(), "glpk")


def test_a_solver_of_pyomo_that_is_not_installed(textbook):
    with pytest.raises(SolverError, match='"xpress_direct" of Pyomo is not installed'):
        solvers.solve(textbook.lp(), "xpress_direct")


def test_an_object_that_is_not_a_solver(textbook):
    with pytest.raises(SolverError, match=r"solver=3 is neither a name nor a Pyomo solver"):
        solvers.solve(textbook.lp(), 3)


def test_a_missing_capability_is_an_error_with_alternatives():
    with pytest.raises(SolverError, match=r'"highs" does not support convex QP. Installed .*: clarabel'):
        require("highs", C.QP)


def test_scip_is_the_library_and_not_an_executable():
    from pyomo.contrib.solver.solvers.scip.scip_direct import ScipDirect

    assert isinstance(find("scip").make(), ScipDirect)


def test_pounce_is_imported_before_its_lookup_in_pyomo(tmp_path):
    import subprocess
    import sys

    program = (
        "import sys, pyomo.environ as pyo, solvers; assert 'pyomo_pounce' not in sys.modules\n"
        "m = pyo.ConcreteModel(); m.x = pyo.Var(bounds=(1, 2)); m.o = pyo.Objective(expr=m.x**2)\n"
        "print(solvers.solve(m, 'pounce').status)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "stationary", done.stderr


def test_ipopt_is_the_executable_or_cyipopt_and_nothing_else(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with_cyipopt = SOLVERS["cyipopt"].version()
    if with_cyipopt is None:
        with pytest.raises(SolverError, match='"ipopt" is not installed'):
            find("ipopt")
    else:
        spec = find("ipopt")
        assert spec.make is SOLVERS["cyipopt"].make


def test_cyipopt_replaces_ipopt(monkeypatch):
    monkeypatch.setenv("PATH", "")
    real = SOLVERS["cyipopt"]
    monkeypatch.setitem(SOLVERS, "cyipopt", type(real)(**{**vars(real), "version": lambda: "1.5.0"}))
    spec = find("ipopt")
    assert (spec.name, spec.make, spec.context) == ("ipopt", real.make, real.context)


def test_a_solver_object_is_recognised_by_its_interface():
    assert recognise(SolverFactoryV2("highs")).name == "highs"
    assert recognise(pyo.SolverFactory("highs")).name == "highs"
    assert recognise(find("pounce").make()).name == "pounce"
    assert recognise(SolverFactoryV2("ipopt")).name == "ipopt"
    assert recognise(Clarabel()).name == recognise(LegacyClarabel()).name == "clarabel"
    assert recognise(SolverFactoryV2("clarabel")).name == recognise(pyo.SolverFactory("clarabel")).name == "clarabel"
    assert recognise(pyo.SolverFactory("appsi_highs")).name == "appsi_highs"


def test_a_module_of_another_distribution_has_that_version(tmp_path, monkeypatch):
    """cyipopt-wheels provides the module cyipopt."""
    for name in ("mine", "bare"):
        (tmp_path / f"{name}.py").write_text("")
    folder = tmp_path / "mine_wheels-1.2.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: mine-wheels\nVersion: 1.2\n")
    (folder / "top_level.txt").write_text("mine\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert installation.package("mine", "mine")() == "1.2"
    assert installation.package("bare", "bare")() == "unknown"
    assert installation.package("no_such_module", "no_such_module")() is None


def test_a_name_in_capitals_has_a_suggestion():
    model = pyo.ConcreteModel()
    with pytest.raises(SolverError, match='Did you mean "highs"'):
        solvers.solve(model, "HIGHS")
