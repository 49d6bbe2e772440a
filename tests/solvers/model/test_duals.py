"""``model.dual`` after a solve: the derivative by the right-hand side for every solver, or empty with the reason."""

import pyomo.environ as pyo
import pytest

import solvers
from solvers import SolutionStatus, SolverError
from solvers.interfaces.registry import SOLVERS, names
from solvers.interfaces.registry import Capability as C

DOWN, UP = pyo.minimize, pyo.maximize


def with_dual(model):
    model.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    return model


def one_variable(sense, objective, row):
    m = with_dual(pyo.ConcreteModel())
    m.x = pyo.Var(bounds=(-10, 10))
    m.row = pyo.Constraint(expr=row(m.x))
    m.cost = pyo.Objective(expr=objective(m.x), sense=sense)
    return m


@pytest.mark.solver_with(C.LP_DUALS)
@pytest.mark.parametrize(
    ("sense", "objective", "row", "multiplier"),
    [
        (DOWN, lambda x: 2 * x, lambda x: x >= 2, 2),
        (UP, lambda x: 2 * x, lambda x: x <= 3, 2),
        (DOWN, lambda x: -x, lambda x: x <= 3, -1),
        (UP, lambda x: -x, lambda x: x >= 2, -1),
        (DOWN, lambda x: 2 * x, lambda x: x == 1, 2),
        (UP, lambda x: 2 * x, lambda x: x == 1, 2),
        (DOWN, lambda x: x, lambda x: x <= 3, 0),
    ],
)
def test_one_variable_linear(solver, sense, objective, row, multiplier):
    model = one_variable(sense, objective, row)
    result = solvers.solve(model, solver)
    assert dict(model.dual.items()) == {model.row: pytest.approx(multiplier, abs=1e-5)}
    assert "ultiplier" not in result.message


@pytest.mark.solver_with(C.QP_DUALS)
@pytest.mark.parametrize(
    ("sense", "objective", "row", "multiplier"),
    [
        (DOWN, lambda x: x**2, lambda x: x >= 2, 4),
        (UP, lambda x: -(x**2), lambda x: x >= 2, -4),
        (DOWN, lambda x: (x - 5) ** 2, lambda x: x <= 3, -4),
        (UP, lambda x: -((x - 5) ** 2), lambda x: x <= 3, 4),
        (DOWN, lambda x: x**2, lambda x: x == 3, 6),
        (UP, lambda x: -(x**2), lambda x: x == 3, -6),
    ],
)
def test_one_variable_quadratic(solver, sense, objective, row, multiplier):
    model = one_variable(sense, objective, row)
    solvers.solve(model, solver)
    assert dict(model.dual.items()) == {model.row: pytest.approx(multiplier, abs=1e-4)}


def perturbed(build, solver, row, eps=1e-4):
    """Return d objective / d right-hand side of a row by solving at both sides."""
    ends = []
    for step in (eps, -eps):
        model = build()
        model.component(row).set_value(_shifted(model.component(row), step))
        ends.append(solvers.solve(model, solver).objective)
    return (ends[0] - ends[1]) / (2 * eps)


def _shifted(row, step):
    lower, upper = (None if side is None else pyo.value(side) + step for side in (row.lower, row.upper))
    return (lower, row.body, upper)


@pytest.mark.solver_with(C.LP_DUALS)
def test_every_row_of_a_linear_program(solver, textbook):
    model = with_dual(textbook.lp())
    model.slack = pyo.Constraint(expr=model.x - model.y >= -100)
    model.off = pyo.Constraint(expr=model.x <= 1)
    model.off.deactivate()
    solvers.solve(model, solver)
    assert set(model.dual) == {model.first, model.second, model.slack}
    assert model.dual[model.slack] == pytest.approx(0, abs=1e-5)
    assert model.dual[model.first] + model.dual[model.second] * 3 == pytest.approx(2, abs=1e-5)  # degenerate


@pytest.mark.solver_with(C.QP_DUALS)
@pytest.mark.parametrize("sense", [DOWN, UP])
def test_a_convex_quadratic_program_by_finite_differences(solver, sense, textbook):
    def build():
        model = textbook.qp()
        model.off = pyo.Constraint(expr=model.x <= -1)
        model.off.deactivate()
        if sense == UP:
            model.distance.set_value(-model.distance.expr)
            model.distance.sense = UP
        model.side = pyo.Constraint(expr=model.x >= 0.7)
        return model

    model = with_dual(build())
    solvers.solve(model, solver)
    for row in ("row", "side"):
        assert model.dual[model.component(row)] == pytest.approx(perturbed(build, "clarabel", row), abs=1e-3)
    assert abs(model.dual[model.row]) > 0.1
    assert model.off not in model.dual


@pytest.mark.parametrize("sense", [DOWN, UP])
@pytest.mark.parametrize("row", ["disc", "line"])
def test_a_cone_with_clarabel_by_finite_differences(sense, row, textbook):
    def build():
        model = textbook.qcp()
        model.line = pyo.Constraint(expr=model.x - 3 * model.y >= -1)
        if sense == DOWN:
            model.sum.set_value(-model.sum.expr)
            model.sum.sense = DOWN
        return model

    model = with_dual(build())
    assert solvers.solve(model, "clarabel").status is SolutionStatus.OPTIMAL
    slope = perturbed(build, "clarabel", row, 1e-3)
    assert abs(slope) > 0.1
    assert model.dual[model.component(row)] == pytest.approx(slope, rel=1e-3)


def test_a_nonlinear_program_has_those_of_its_stationary_point():
    model = one_variable(DOWN, pyo.exp, lambda x: x >= 1)
    solvers.solve(model, "pounce")
    assert model.dual[model.row] == pytest.approx(2.718282, abs=1e-4)


@pytest.mark.solver_with(C.LP_DUALS)
def test_fixed_integers_and_rows_of_constants(solver):
    """The prices of a linear program with its integers fixed, as analysts ask for them."""
    model = one_variable(DOWN, lambda x: 3 * x, lambda x: x >= 2)
    model.z = pyo.Var(domain=pyo.Binary)
    model.use = pyo.Constraint(expr=model.x + 5 * model.z >= 9)
    model.constant = pyo.Constraint(expr=model.z <= 4)
    model.z.fix(1)
    assert solvers.solve(model, solver).objective == pytest.approx(12, abs=1e-5)
    assert dict(model.dual.items()) == pytest.approx({model.row: 0, model.use: 3, model.constant: 0}, abs=1e-5)
    assert model.z.domain is pyo.Binary


@pytest.mark.solver_with(C.MILP)
def test_a_model_with_integers_has_none(solver, textbook):
    model = with_dual(textbook.milp())
    model.dual[model.first] = 7.0
    result = solvers.solve(model, solver)
    status = SolutionStatus.FEASIBLE if SOLVERS[solver].untrusted else SolutionStatus.OPTIMAL
    assert (result.status, len(model.dual)) == (status, 0)
    assert "No multipliers in model.dual: a model with integer variables has none." in result.message


@pytest.mark.solver_with(C.LP)
def test_a_solver_without_multipliers_names_solvers_with_them(solver, textbook):
    model = with_dual(textbook.lp())
    result = solvers.solve(model, solver)
    if C.LP_DUALS in SOLVERS[solver].capabilities:
        assert len(model.dual) == 2
    else:
        assert len(model.dual) == 0
        assert f"{solver} returns none for LP" in result.message
        assert all(name in result.message for name in names(C.LP_DUALS))


def test_a_quadratic_model_with_a_solver_of_linear_multipliers(textbook, need):
    model = with_dual(textbook.qp())
    result = solvers.solve(model, need("gurobi"))
    assert len(model.dual) == 0
    assert "gurobi returns none for convex QP (installed solvers that do: clarabel, pounce" in result.message


def test_after_a_rewriting_on_a_clone_they_are_not_mapped(textbook):
    model = with_dual(textbook.complementarity())
    model.dual[model.least] = 7.0
    result = solvers.solve(model, "pounce")
    assert result.objective == pytest.approx(5, abs=1e-5)
    assert len(model.dual) == 0
    assert "No multipliers in model.dual: Complementarity was written as rows on a copy" in result.message


def test_ordered_sets_have_none(textbook, need):
    model = with_dual(textbook.sos())
    model.row = pyo.Constraint(expr=model.x[1] + model.x[2] <= 5)
    result = solvers.solve(model, need("gurobi"))
    assert len(model.dual) == 0
    assert "a model with SOSConstraint has none" in result.message


@pytest.mark.solver_with(C.LP_DUALS)
def test_stale_multipliers_are_cleared_when_there_is_no_solution(solver, line):
    with_dual(line)
    solvers.solve(line, solver)
    assert line.dual[line.row] == pytest.approx(1, abs=1e-5)
    line.other = pyo.Constraint(expr=line.x <= 1)
    assert solvers.solve(line, solver).objective is None
    assert len(line.dual) == 0
    line.dual[line.row] = 7.0
    assert solvers.solve(line, solver, time_limit=0).objective is None
    assert len(line.dual) == 0


def test_stale_multipliers_are_cleared_when_the_model_is_refused(textbook):
    model = with_dual(textbook.nlp())
    model.row = pyo.Constraint(expr=model.x <= 2)
    model.dual[model.row] = 7.0
    with pytest.raises(SolverError):
        solvers.solve(model, "highs")
    assert len(model.dual) == 0


def test_the_solver_of_the_models_class_fills_it_too(textbook):
    model = with_dual(textbook.qp())
    assert solvers.solve(model).solver == "clarabel"
    assert model.dual[model.row] == pytest.approx(-1, abs=1e-4)


@pytest.mark.solver_with(C.LP)
@pytest.mark.parametrize("kind", ["none", "export", "inactive", "other"])
def test_without_an_import_suffix_nothing_changes(solver, kind, line):
    if kind == "other":
        line.dual = pyo.Var(initialize=3.0)
    elif kind != "none":
        direction = pyo.Suffix.EXPORT if kind == "export" else pyo.Suffix.IMPORT
        line.dual = pyo.Suffix(direction=direction)
        line.dual[line.row] = 7.0
    if kind == "inactive":
        line.dual.deactivate()
    before = [c.name for c in line.component_objects()]
    result = solvers.solve(line, solver)
    assert result.objective == pytest.approx(2, abs=1e-6)
    assert "ultiplier" not in result.message
    assert [c.name for c in line.component_objects()] == before
    if kind in ("export", "inactive"):
        assert dict(line.dual.items()) == {line.row: 7.0}
    elif kind == "other":
        assert line.dual.value == 3.0


def test_a_cone_at_its_apex_has_none_and_the_message_names_it():
    """w = 0 is all that w^2 <= 0 s allows: no derivative by its right-hand side."""
    model = with_dual(pyo.ConcreteModel())
    model.w, model.s = pyo.Var(bounds=(-5, 5)), pyo.Var(bounds=(0, 1))
    model.cone = pyo.Constraint(expr=model.w**2 <= 0.0)
    model.row = pyo.Constraint(expr=model.s >= 0.5)
    model.cost = pyo.Objective(expr=model.s - model.w)
    result = solvers.solve(model, "clarabel")
    assert model.dual[model.row] == pytest.approx(1, abs=1e-5)
    assert model.cone not in model.dual
    assert 'clarabel returns no multiplier of row "cone".' in result.message
