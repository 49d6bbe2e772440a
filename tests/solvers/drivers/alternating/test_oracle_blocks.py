"""Oracle blocks: the paper's saddle by algebra and by functions, stops, limits, edits, refusals."""

import copy

import numpy as np
import pyomo.environ as pyo
import pytest

from solvers import ModelError, OptionError, SolutionStatus, StopReason, solve
from solvers.box.minimise import minimise
from solvers.box.problem import residual
from solvers.drivers.alternating.oracle_descent import OracleDescent
from solvers.facts.blocks import Block, Moved, OracleBlock, OracleBlocks

# Tayal, Coleman, Li, sections 4.1 and 4.2: f has a saddle at (1, 1, 1), which is all that blocks {x1, x2}, {x3} can
# reach from x3 = 1. With x1 = xbar1 / y, y shared, the block {x3, y} sees the curvature.


def algebra(*, shared, at=(0.0, 0.0, 1.0)):
    m = pyo.ConcreteModel()
    m.x = pyo.Var([1, 2], initialize=dict(zip([1, 2], at, strict=False)))
    m.x3 = pyo.Var(initialize=at[2])
    m.y = pyo.Var(bounds=(0.5, 2), initialize=1.0)
    s = (m.x[1] / m.y + m.x[2] / m.y if shared else m.x[1] + m.x[2]) - 2
    m.f = pyo.Objective(expr=s**2 - 3 * s * (m.x3 - 1) + (m.x3 - 1) ** 2)
    return m


def test_simple_alternation_reaches_the_saddle():
    m = algebra(shared=False)
    result = solve(m, "alternating", blocks=[[m.x], [m.x3]], starts=0, warm_start=True)
    assert [m.x[1].value, m.x[2].value, m.x3.value] == pytest.approx([1, 1, 1], abs=1e-6)
    assert result.objective == pytest.approx(0.0, abs=1e-12)
    assert result.status is SolutionStatus.STATIONARY


@pytest.mark.parametrize("at", [(0.0, 0.0, 1.0), (1.0, 1.0, 1.0)])
def test_a_shared_variable_leads_away_from_the_saddle(at):
    m = algebra(shared=True, at=at)
    blocks = [Block([m.x, m.y], solver="pounce"), Block([m.x3, m.y], solver="pounce")]
    result = solve(m, "alternating", blocks=blocks, starts=0, warm_start=True, iteration_limit=3)
    assert result.objective < -1
    assert 0.5 - 1e-6 <= m.y.value <= 2 + 1e-6


class Saddle:
    """f over (xbar1, xbar2, x3, y), or over some of its coordinates."""

    def __init__(self, base, free):
        self.base, self.free = base, free

    def value(self, part):
        x = self.base.copy()
        x[self.free] = part
        f, g, _ = saddle(x)
        return f, g[self.free]

    def product(self, part, v):
        x, w = self.base.copy(), np.zeros(4)
        x[self.free], w[self.free] = part, v
        return (saddle(x)[2] @ w)[self.free]


def saddle(x):
    """Value, gradient and Hessian of s^2 - 3 s t + t^2 with s = (x1 + x2) / y - 2, t = x3 - 1."""
    y, total = x[3], x[0] + x[1]
    s, t = total / y - 2, x[2] - 1
    ds = np.array([1 / y, 1 / y, 0, -total / y**2])
    dt = np.array([0.0, 0, 1, 0])
    dds = np.zeros((4, 4))
    dds[0, 3] = dds[1, 3] = dds[3, 0] = dds[3, 1] = -1 / y**2
    dds[3, 3] = 2 * total / y**3
    gradient = (2 * s - 3 * t) * ds + (2 * t - 3 * s) * dt
    cross = np.outer(ds, dt) + np.outer(dt, ds)
    hessian = 2 * np.outer(ds, ds) + 2 * np.outer(dt, dt) - 3 * cross + (2 * s - 3 * t) * dds
    return s**2 - 3 * s * t + t**2, gradient, hessian


BOX = np.array([[-5.0, -5, -5, 0.5], [5.0, 5, 5, 2]])


def step(*free):
    places = np.array(free)

    def move(x, inside):
        function = Saddle(x, places)

        def watch(part, value):
            whole = x.copy()
            whole[places] = part
            return inside.watch(whole, value)

        found = minimise(
            function, x[places], inside.lower[places], inside.upper[places],
            method=inside.method, tolerance=inside.tolerance, iteration_limit=inside.iteration_limit,
            watch=watch, seed=inside.seed,
        )  # fmt: skip
        point = x.copy()
        point[places] = found.point
        return Moved.by(found, point, saddle(x)[0])

    return move


def oracle(*blocks, at=(0.0, 0.0, 1.0, 1.0), **facts):
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(4), initialize=dict(enumerate(at)))
    for k in range(4):
        m.x[k].setlb(BOX[0, k]), m.x[k].setub(BOX[1, k])
    m.free = pyo.Var(initialize=0.0)
    m.f = pyo.Objective(expr=(m.x[0] + m.x[1]) / m.x[3])
    names = ["first", "second", "third"]
    OracleBlocks(
        [m.x],
        [OracleBlock(names[k], step(*free)) for k, free in enumerate(blocks)],
        lambda x: float(saddle(x)[0]),
        lambda x, low, up: residual(x, *saddle(x)[:2], low, up, 1.0),
        **{"boxed": [m.x], "settled": lambda a, b, tolerance: bool(np.abs(a - b).max() <= tolerance), **facts},
    ).attach(m)
    return m


def run(m, **options):
    """Solve, checking that the objective never rises; ``m.f`` is not what the oracles minimise."""
    result = solve(m, **options)
    if len(result.iterations):
        assert (np.diff(result.iterations["Objective"].to_numpy(dtype=float)) <= 1e-9).all()
    return result


def test_oracle_blocks_meet_the_same_saddle_and_leave_it_at_second_order_only():
    stays = oracle([0, 1], [2])
    result = run(stays, method="trust-newton")
    assert result.status is SolutionStatus.STATIONARY
    assert result.objective == pytest.approx(0.0, abs=1e-6)
    for method, leaves in (("l-bfgs-b", False), ("trust-newton", True)):
        result = run(oracle([0, 1, 3], [2, 3], at=(1, 1, 1, 1)), method=method)
        assert (result.objective < -1) == leaves, method


def test_a_seeded_perturbation_leaves_it_too():
    at = np.array([1.0, 1, 1, 1]) + 1e-3 * np.random.default_rng(0).normal(size=4)
    result = run(oracle([0, 1, 3], [2, 3], at=at), tolerance=1e-6)
    assert result.objective < -1


def test_one_block_shows_the_iterations_of_its_method():
    m = oracle([0, 1, 2, 3], at=(0.0, 0.3, 0.4, 1.0))
    result = run(m)
    assert set(result.iterations["Step"]) == {"first"}
    assert len(result.iterations) == result.details["steps"]["iterations"].sum()
    short = run(oracle([0, 1, 2, 3], at=(0.0, 0.3, 0.4, 1.0)), iteration_limit=2)
    assert (short.stop_reason, len(short.iterations)) == (StopReason.ITERATION_LIMIT, 2)


def test_limits_return_the_best_point_so_far():
    m = oracle([0, 1, 3], [2, 3], at=(0.9, 1.2, 1.1, 1.0))
    limited = run(m, iteration_limit=1)
    assert (limited.stop_reason, len(limited.iterations)) == (StopReason.ITERATION_LIMIT, 2)
    asked = run(oracle([0, 1, 3], [2, 3], at=(0.9, 1.2, 1.1, 1.0)), callback=lambda row: row["Step"] == "first")
    assert (asked.stop_reason, len(asked.iterations)) == (StopReason.CALLBACK, 1)
    assert asked.objective == asked.iterations["Objective"].iloc[0]
    none = run(oracle([0, 1, 3], [2, 3]), time_limit=0)
    assert (none.status, none.stop_reason) == (SolutionStatus.NO_SOLUTION, StopReason.TIME_LIMIT)
    assert "before the first incumbent" in none.message


def test_an_interrupt_returns_the_best_point_so_far():
    def interrupt(row):
        if row["Iter"] == 2:
            raise KeyboardInterrupt

    m = oracle([0, 1, 3], [2, 3], at=(0.9, 1.2, 1.1, 1.0))
    result = run(m, callback=interrupt)
    assert result.stop_reason is StopReason.INTERRUPTED
    assert result.objective == pytest.approx(saddle(np.array([v.value for v in m.x.values()]))[0])


def test_a_step_that_raises_its_objective_is_not_taken():
    def worse(x, inside):
        return Moved(x + 0.1, 0.0, 1.0)

    m = oracle([0, 1])
    m.structure.blocks = [OracleBlock("worse", worse), OracleBlock("first", step(0, 1))]
    result = run(m)
    assert result.details["steps"]["taken"].tolist()[:2] == [False, True]
    assert [m.x[2].value, m.x[3].value] == [1.0, 1.0]


def test_the_latest_point_is_kept_where_the_blocks_do_not_minimise_the_objective():
    def away(x, inside):
        return Moved(np.array([0.0, 0.0, 1.0, x[3] + 0.25]), 1.0, 0.0)

    m = oracle([0, 1], keeps_last=True, settled=lambda before, after, tolerance: False, sweeps=3)
    m.structure.blocks = [OracleBlock("away", away), OracleBlock("aside", away, returns=False)]
    result = solve(m)
    assert m.x[3].value == 2.25  # after five of the six steps: the last one may not be returned
    assert result.stop_reason is StopReason.ITERATION_LIMIT


def test_bounds_and_fixed_values_are_the_models_now():
    m = oracle([0, 1, 2, 3], at=(0.0, 0.3, 0.4, 1.0))
    m.x[0].fix(0.25)
    m.x[2].setub(0.5)
    run(m)
    assert m.x[0].value == 0.25
    assert m.x[2].value <= 0.5
    m.x[2].setlb(0.7)
    crossed = solve(m)
    assert crossed.status is SolutionStatus.INFEASIBLE
    assert 'bounds of "x[2]" cross' in crossed.message


EDITS = {
    "row": lambda m: m.add_component("e", pyo.Constraint(expr=m.x[0] <= 1)),
    "objective": lambda m: m.f.set_value(m.f.expr + m.x[0]),
}


@pytest.mark.parametrize(
    ("edit", "named"), [("row", 'row "e" was added'), ("objective", 'the objective "f" was changed')]
)
def test_edits_that_no_step_sees_are_refused(edit, named):
    m = oracle([0, 1], [2])
    EDITS[edit](m)
    with pytest.raises(ModelError, match=f"Here {named}: only bounds and fixed values of x may change"):
        solve(m)


def test_a_variable_that_no_step_keeps_in_its_bounds_must_be_as_built():
    m = oracle([0, 1], [2], boxed=[])
    m.x[0].setub(0.5)
    with pytest.raises(ModelError, match=r'the bounds, domain or fixing of "x\[0\]" were changed'):
        solve(m)


def test_other_solvers_and_options_are_refused():
    for solver in ("pounce", "multi-start", "sla"):
        with pytest.raises(ModelError, match="functions of its structure"):
            solve(oracle([0, 1]), solver)
    with pytest.raises(OptionError, match='Option "starts" is not one of alternating'):
        solve(oracle([0, 1]), starts=3)
    with pytest.raises(OptionError, match="tolerance=0 is not allowed"):
        solve(oracle([0, 1]), tolerance=0)
    with pytest.raises(OptionError, match='Method "newton" is not known'):
        solve(oracle([0, 1]), method="newton")


def test_the_driver_is_the_one_of_its_structure():
    from solvers import Alternating

    assert Alternating.kind_for(oracle([0, 1]), {}) is OracleDescent
    m = algebra(shared=False)
    driver = Alternating(m, blocks=[[m.x], [m.x3]])
    assert Alternating.kind_for(m, {"blocks": [[m.x], [m.x3]]}) is Alternating
    assert isinstance(copy.copy(driver), Alternating)


def test_a_value_that_a_solver_leaves_just_outside_its_bound_is_no_clash():
    m = algebra(shared=True)
    for v in (*m.x.values(), m.x3):
        v.setlb(-5), v.setub(5)
    blocks = [Block([m.x, m.y], solver="pounce"), Block([m.x3, m.y], solver="pounce")]
    result = solve(m, "alternating", blocks=blocks, starts=0, warm_start=True)
    assert result.status is SolutionStatus.STATIONARY
    assert m.x3.value == -5.0
    assert result.objective == pytest.approx(-45.0)  # least over s at x3 = -5: s = -9, f = 81 - 162 + 36


def test_sweeps_go_on_while_the_residual_exceeds_the_tolerance():
    at = (0.0, 0.3, 0.4, 1.0)
    one = solve(oracle([0, 1], [2], at=at, settled=lambda a, b, t: True, keeps_last=True))
    assert one.details["steps"]["sweep"].max() == 1
    assert one.details["residual"] > 1e-3
    assert "Not stationary: one unit of one variable lowers the objective" in one.message
    assert "continue from here with another algorithm" in one.message
    on = run(oracle([0, 1], [2], at=at, settled=lambda a, b, t: True))
    assert on.details["steps"]["sweep"].max() > 1
    assert (on.stop_reason, on.status) == (StopReason.CONVERGED, SolutionStatus.STATIONARY)
    assert on.details["residual"] <= 1e-3
    short = run(oracle([0, 1], [2], at=at), iteration_limit=1)
    assert (short.stop_reason, short.status) == (StopReason.ITERATION_LIMIT, SolutionStatus.FEASIBLE)
    assert "larger iteration_limit= or another method=" in short.message


def test_a_stationary_point_at_the_limit_has_converged():
    at = (0.0, 0.3, 0.4, 1.0)
    whole = run(oracle([0, 1, 2, 3], at=at))
    needed = int(whole.details["steps"]["iterations"].iloc[-1])
    again = run(oracle([0, 1, 2, 3], at=at), iteration_limit=needed)
    assert (again.stop_reason, again.status) == (StopReason.CONVERGED, SolutionStatus.STATIONARY)


def test_an_objective_without_end():
    m = oracle([0, 1], [2])
    m.structure.blocks = [OracleBlock(name, lambda x, inside: Moved(3 * x, 1.0, 0.0)) for name in "ab"]
    m.structure.value = lambda x: -float(x @ x)
    m.x.setlb(None), m.x.setub(None)
    result = solve(m, iteration_limit=1000)
    assert (result.status, result.stop_reason) == (SolutionStatus.UNBOUNDED, StopReason.CONVERGED)
    assert "falls below -1e+20: bound the variables" in result.message
    assert len(result.iterations) < 50


def test_refusals_name_the_remedy():
    m = oracle([0, 1], remedy='build it with form="rows"')
    with pytest.raises(ModelError, match='Use "alternating", or build it with form="rows" to edit or to solve'):
        solve(m, "pounce")
    with pytest.raises(OptionError, match=r'"alternating" takes no blocks here: .*leave blocks= out'):
        solve(m, blocks=[[m.x]])
    m.e = pyo.Constraint(expr=m.x[0] <= 1)
    with pytest.raises(ModelError, match='Build it with form="rows" to edit it'):
        solve(m)
    rows = algebra(shared=False)
    with pytest.raises(OptionError, match=r'"alternating" takes no method here: .* give blocks=\[Block'):
        solve(rows, "alternating", blocks=[[rows.x], [rows.x3]], method="pounce")


def test_a_method_is_no_solver_of_subproblems():
    with pytest.raises(OptionError, match=r'"alternating" takes no sub_solver here: .* method="l-bfgs-b"'):
        solve(oracle([0, 1]), sub_solver="trust-newton")
    rows = algebra(shared=False)
    with pytest.raises(OptionError, match=r'"alternating" takes no sub_solver here: each block has its own, Block\('):
        solve(rows, "alternating", blocks=[[rows.x], [rows.x3]], sub_solver="pounce")
