"""Smooth objectives: values and slopes by finite differences and by hand; random starts and their report."""

import dataclasses
import math

import numpy as np
import pyomo.environ as pyo
import pytest

from solvers import ModelError, OptionError, SolverError
from solvers.drivers.starts import StartsConfig, draw, spread
from solvers.model.function import SmoothFunction


@pytest.fixture
def model():
    """2 x_0 - 3 x_1 + p exp(-x_1 x_2) + log(x_2) + x_3 / 2 + 7."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(4), initialize=1.0)
    m.p = pyo.Param(initialize=2.0, mutable=True)
    m.step = pyo.Expression(expr=m.p * pyo.exp(-m.x[1] * m.x[2]))
    m.cost = pyo.Objective(expr=2 * m.x[0] - 3 * m.x[1] + m.step + pyo.log(m.x[2]) + m.x[3] / 2 + 7)
    return m


def smooth(model, sign=1.0):
    return SmoothFunction(model.cost.expr, list(model.x.values()), sign)


def by_hand(x, p=2.0):
    return 2 * x[0] - 3 * x[1] + p * math.exp(-x[1] * x[2]) + math.log(x[2]) + x[3] / 2 + 7


POINTS = [np.array([0.3, -0.4, 1.2, 5.0]), np.array([-1.0, 2.0, 0.1, 0.0])]


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("x", POINTS)
def test_values_and_gradients(sign, x, model):
    f = smooth(model, sign)
    assert f.value(x) == pytest.approx(sign * by_hand(x))
    e = math.exp(-x[1] * x[2])
    slope = [2, -3 - 2 * x[2] * e, -2 * x[1] * e + 1 / x[2], 0.5]
    np.testing.assert_allclose(f.gradient(x), sign * np.array(slope), rtol=1e-12)
    steps = 1e-6 * np.eye(4)
    differences = [(f.value(x + h) - f.value(x - h)) / 2e-6 for h in steps]
    np.testing.assert_allclose(f.gradient(x), differences, rtol=1e-6, atol=1e-8)


def test_the_linear_part_and_what_is_curved(model):
    f = smooth(model)
    np.testing.assert_allclose(f.linear, [2, -3, 0, 0.5])
    assert sorted(f.curved.tolist()) == [1, 2]
    np.testing.assert_allclose(smooth(model, -1.0).linear, [-2, 3, 0, -0.5])


def test_a_linear_objective_has_no_curved_part(model):
    model.cost.set_value(3 * model.x[2] - model.x[2] + model.p * model.x[0] + 1)
    f = smooth(model)
    assert f.rest is None
    assert len(f.curved) == 0
    x = POINTS[0]
    np.testing.assert_allclose(f.gradient(x), [2, 0, 2, 0])
    assert f.value(x) == pytest.approx(2 * x[2] + 2 * x[0] + 1)


def test_a_constant_objective(model):
    model.cost.set_value(4.0)
    f = smooth(model)
    assert (f.value(POINTS[0]), f.gradient(POINTS[0]).tolist()) == (4.0, [0, 0, 0, 0])


def test_quadratic_terms_are_curved(model):
    model.cost.set_value(model.x[0] ** 2 - model.x[0] * model.x[1] + model.x[1])
    f = smooth(model)
    x = POINTS[0]
    np.testing.assert_allclose(f.gradient(x), [2 * x[0] - x[1], -x[0] + 1, 0, 0])
    np.testing.assert_allclose(f.linear, [0, 1, 0, 0])


def test_fixed_variables_are_constants(model):
    model.x[1].fix(0.5)
    model.x[3].fix(4.0)
    f = smooth(model)
    x = np.array([0.3, 9.0, 1.2, 9.0])  # what the columns of fixed variables say does not matter
    assert f.value(x) == pytest.approx(by_hand([0.3, 0.5, 1.2, 4.0]))
    assert f.gradient(x)[[1, 3]].tolist() == [0, 0]
    assert f.gradient(x)[2] == pytest.approx(-2 * 0.5 * math.exp(-0.6) + 1 / 1.2)
    assert model.x[1].value == 0.5


def test_a_bilinear_term_with_one_factor_fixed_is_linear(model):
    model.cost.set_value(model.x[0] * model.x[1])
    model.x[0].fix(3.0)
    f = smooth(model)
    assert f.rest is None
    assert f.linear.tolist() == [0, 3, 0, 0]


def test_parameters_count_with_their_values_at_the_time(model):
    x = POINTS[0]
    model.p = 5.0
    assert smooth(model).value(x) == pytest.approx(by_hand(x, 5.0))
    model.p = 0.0  # what it multiplies is gone
    f = smooth(model)
    assert f.value(x) == pytest.approx(by_hand(x, 0.0))
    assert f.gradient(x)[1] == pytest.approx(-3)


def test_no_value_is_an_error(model):
    f = smooth(model)
    for x2 in (0.0, -1.0):
        with pytest.raises(ModelError, match="no value at a point within the rows"):
            f.value(np.array([0, 0, x2, 0]))
    with pytest.raises(ModelError, match="must be smooth"):
        f.gradient(np.zeros(4))


def test_an_infinite_slope_is_an_error(model):
    model.cost.set_value(pyo.sqrt(model.x[0]) + model.x[1])
    f = smooth(model)
    assert f.value(np.zeros(4)) == 0
    with pytest.raises(ModelError, match="must be smooth"):
        f.gradient(np.zeros(4))
    assert f.gradient(np.array([4.0, 0, 0, 0]))[0] == pytest.approx(0.25)


def test_a_kink_is_an_error(model):
    model.cost.set_value(abs(model.x[0]) + model.x[1])
    with pytest.raises(ModelError, match="must be smooth"):
        smooth(model).gradient(np.zeros(4))


def test_there_is_a_slope_near_a_kink(model):
    model.cost.set_value(abs(model.x[0]) + model.x[1])
    assert smooth(model).gradient(np.array([-2.0, 0, 0, 0])).tolist() == [-1, 1, 0, 0]


@pytest.mark.parametrize("kind", ["Expr_if", "ceil"])
def test_what_pyomo_cannot_differentiate_is_an_error(kind, model):
    x = model.x[0]
    model.cost.set_value(pyo.Expr_if(x >= 1, x**2, x**3) if kind == "Expr_if" else pyo.ceil(x) ** 2)
    with pytest.raises(ModelError, match="cannot be differentiated"):
        smooth(model).gradient(np.array([0.5, 0, 0, 0]))


# Starts.


def test_values_are_drawn_between_bounds():
    model = pyo.ConcreteModel()
    spans = [(None, None), (2.0, None), (None, -3.0), (1.0, 4.0), (5.0, 5.0)]
    model.v = pyo.Var(range(5), bounds=lambda m, k: spans[k])
    random = np.random.default_rng(0)
    sample = np.array([draw(list(model.v.values()), random, None) for _ in range(2000)])
    expected = [(-1, 1), (2, 3), (-4, -3), (1, 4), (5, 5)]
    for column, (low, high) in zip(sample.T, expected, strict=True):
        assert low <= column.min() <= low + 0.02 * (high - low)
        assert high - 0.02 * (high - low) <= column.max() <= high
        assert column.mean() == pytest.approx((low + high) / 2, abs=0.05 * max(high - low, 1))
    within = np.array([draw(list(model.v.values()), random, (-1.0, 1.0)) for _ in range(500)])
    assert (np.abs(within) <= 1).all()
    assert within.min() < -0.9 < 0.9 < within.max()


def test_a_domain_is_a_bound():
    model = pyo.ConcreteModel()
    model.v = pyo.Var([0], domain=pyo.NonNegativeReals)
    model.n = pyo.Var([0], domain=pyo.NonPositiveReals)
    model.u = pyo.Var([0], domain=pyo.UnitInterval)
    random = np.random.default_rng(0)
    drawn = np.array([draw([model.v[0], model.n[0], model.u[0]], random, None) for _ in range(200)])
    assert (drawn.min(axis=0) >= [0, -1, 0]).all()
    assert (drawn.max(axis=0) <= [1, 0, 1]).all()


def test_nothing_to_draw():
    assert draw([], np.random.default_rng(0), None).tolist() == []
    assert draw([], np.random.default_rng(0), (0.0, 1.0)).tolist() == []


def test_one_seed_draws_the_same():
    model = pyo.ConcreteModel()
    model.v = pyo.Var(range(6))
    held = list(model.v.values())
    first, second, third = (draw(held, np.random.default_rng(seed), None).tolist() for seed in (1, 1, 2))
    assert first == second != third


@dataclasses.dataclass
class Config(StartsConfig):
    """A driver with one start that is not random."""

    first: bool = True


def test_numbers_of_starts():
    Config(starts=0).check("first")
    Config(starts=3, first=False).check("first")
    with pytest.raises(OptionError, match=r"starts=0 leaves no start: give at least 1, or first=True"):
        Config(starts=0, first=False).check("first")
    for wrong in (-1, 1.5, True, "3", None):
        with pytest.raises(OptionError, match="whole number"):
            Config(starts=wrong).check("first")


def test_ranges_and_tolerances():
    Config(start_range=(-1, 1), tolerance=0).check("first")
    Config(start_range=[0.5, 0.5], tolerance=1e-3).check("first")
    for wrong in ((1, -1), 3, (0, 1, 2), (0, math.inf), (math.nan, 1), "ab"):
        with pytest.raises(OptionError, match="start_range="):
            Config(start_range=wrong).check("first")
    for wrong in (-1.0, math.nan, "tight", None):
        with pytest.raises(OptionError, match="tolerance="):
            Config(tolerance=wrong).check("first")


def test_the_solver_of_linear_programs_is_checked():
    with pytest.raises(SolverError, match='Did you mean "highs"'):
        Config(lp_solver="higs").check("first")
    with pytest.raises(SolverError, match='"pounce" is local'):
        Config(lp_solver="pounce").check("first")


def test_the_spread_of_starts_in_words():
    ends = [3.0, 1.0, 1.0 + 1e-9, 2.0]
    assert spread(ends, 1.0) == "4 starts ended between 1 and 3; 2 of them at the best."
    # minimised inside: of a model that maximises these are -3 and -1, the best -1
    assert spread(ends, -1.0) == "4 starts ended between -3 and -1; 2 of them at the best."
    assert "1 of them at the best: more starts may find better" in spread([1.0, 2.0], 1.0)
    assert spread([1.0, 1.0 + 1e-9], 1.0) == "2 starts ended at 1."
    assert spread([1.0], 1.0) == spread([], 1.0) == ""
