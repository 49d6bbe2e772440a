"""Curvature by rules: what is claimed holds on samples, and what is known by hand is claimed."""

import numpy as np
import pyomo.environ as pyo
import pytest

from solvers.model.curvature import is_concave


def variables():
    model = pyo.ConcreteModel()
    model.v, model.w = pyo.Var(bounds=(0, None)), pyo.Var(bounds=(0, 3))
    model.free, model.low = pyo.Var(), pyo.Var(bounds=(None, 0))
    model.alpha = pyo.Param(initialize=5.0, mutable=True)
    model.step = pyo.Expression(expr=1 - pyo.exp(-model.alpha * model.v))
    return model


CASES = {  # what is known of it: 1 convex, -1 concave, 0 nothing
    "exponential step": (lambda m: 3 * m.step + 2 * (1 - pyo.exp(-m.w)), -1),
    "sigmoid on v >= 0": (lambda m: 2 / (1 + pyo.exp(-m.alpha * m.v)), -1),
    "sigmoid on v <= 0": (lambda m: 1 / (1 + pyo.exp(-m.low)), 1),
    "sigmoid everywhere": (lambda m: 1 / (1 + pyo.exp(-m.free)), 0),
    "log and root": (lambda m: pyo.log(1 + m.v) + pyo.sqrt(m.w) + m.v**0.3, -1),
    "log of what may be negative": (lambda m: pyo.log(1 + m.free), 0),
    "power": (lambda m: (1 + m.v) ** 1.5 + (m.free - 2) ** 2, 1),
    "odd power": (lambda m: m.free**3, 0),
    "reciprocal": (lambda m: 1 / (1 + m.v), 1),
    "minus reciprocal": (lambda m: -2 / (1 + m.v), -1),
    "square and step": (lambda m: m.step - (m.v + m.free) ** 2, -1),
    "difference": (lambda m: m.step - 1 / (1 + pyo.exp(-m.w)), 0),
    "product": (lambda m: m.v * m.w, 0),
    "saddle": (lambda m: m.v**2 - m.w**2, 0),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_known(case):
    build, known = CASES[case]
    expression = build(variables())
    assert is_concave(expression) == (known == -1)
    assert is_concave(expression, -1.0) == (known == 1)


@pytest.mark.parametrize("case", [case for case, (_, known) in CASES.items() if known])
def test_what_is_claimed_holds_between_random_points(case):
    build, known = CASES[case]
    model, rng = variables(), np.random.default_rng(0)
    expression = build(model)
    ranges = [(model.v, 0, 3), (model.w, 0, 3), (model.free, -3, 3), (model.low, -3, 0)]

    def value(point):
        for (v, _, _), x in zip(ranges, point, strict=True):
            v.set_value(x)
        return pyo.value(expression)

    for _ in range(200):
        a, b = (np.array([rng.uniform(low, high) for _, low, high in ranges]) for _ in range(2))
        assert known * (value((a + b) / 2) - (value(a) + value(b)) / 2) <= 1e-9


def test_a_bound_that_was_widened_takes_the_claim_back():
    model = variables()
    sigmoid = 1 / (1 + pyo.exp(-model.v))
    assert is_concave(sigmoid)
    model.v.domain = pyo.Reals
    model.v.setlb(-1)
    assert not is_concave(sigmoid)
