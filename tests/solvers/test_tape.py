"""The tape against Pyomo's derivatives and finite differences, on every operation and on random expressions."""

import pickle

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.core.expr.calculus.derivatives import Modes, differentiate
from pyomo.core.expr.numeric_expr import LinearExpression

from solvers import ModelError
from solvers.tape import OPERATIONS, SparseDerivatives, Tape

UNARY = {  # an argument inside the domain for x in (0.1, 0.9)
    **dict.fromkeys(["exp", "log", "log10", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan"], lambda x: x),
    **dict.fromkeys(["sinh", "cosh", "tanh", "asinh", "atanh"], lambda x: x),
    "acosh": lambda x: 1 + x,
}


@pytest.fixture
def model():
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(4), initialize=0.5)
    m.p = pyo.Param(initialize=2.0, mutable=True)
    m.e = pyo.Expression(expr=m.x[0] * m.x[1] + m.p)
    return m


def tape_of(model, *expressions):
    return Tape(expressions, list(model.x.values()), [f"f{k}" for k in range(len(expressions))])


def dense(pattern, entries, shape):
    matrix = np.zeros(shape)
    np.add.at(matrix, pattern, entries)
    return matrix


def full_hessian(tape, x, weights):
    sparse = SparseDerivatives(tape, np.arange(0))
    lower = dense(sparse.hessian_pattern, sparse.hessian(x, weights), (tape.size, tape.size))
    assert np.all(np.triu(lower, 1) == 0)
    return lower + np.tril(lower, -1).T


def by_pyomo(model, expression, x):
    """Value, gradient and Hessian; Pyomo derives the gradient as expressions and each of these by numbers."""
    held = list(model.x.values())
    for v, number in zip(held, x, strict=True):
        v.set_value(number)
    symbols = differentiate(expression, wrt_list=held, mode=Modes.reverse_symbolic)
    numbers = [differentiate(g, wrt_list=held, mode=Modes.reverse_numeric) for g in symbols]
    return pyo.value(expression), np.array([pyo.value(g) for g in symbols]), np.array(numbers, dtype=float)


def check(model, expression, x, rel=1e-9):
    tape, one = tape_of(model, expression), np.ones(1)
    value, gradient, hessian = by_pyomo(model, expression, x)
    size = 1 + max(abs(value), np.abs(gradient).max(), np.abs(hessian).max())
    assert tape.values(x)[0] == pytest.approx(value, rel=rel, abs=rel)
    np.testing.assert_allclose(tape.gradient(x, one), gradient, rtol=rel, atol=rel * size)
    np.testing.assert_allclose(full_hessian(tape, x, one), hessian, rtol=rel, atol=rel * size)
    jacobian = SparseDerivatives(tape, np.array([0]))
    row = dense(jacobian.jacobian_pattern, jacobian.jacobian(x), (1, len(x)))[0]
    np.testing.assert_allclose(row, gradient, rtol=rel, atol=rel * size)


@pytest.mark.parametrize("name", UNARY)
def test_unary_functions_by_finite_differences(name, model):
    """Pyomo does not differentiate the hyperbolic functions of numbers in all versions, so differences serve here."""
    x = np.array([0.3, 0.6, 0.2, 0.8])
    f = getattr(pyo, name)(UNARY[name](model.x[0] * model.x[1] + 0.1 * model.x[2]))
    tape, one, h = tape_of(model, f), np.ones(1), 1e-6
    steps = h * np.eye(4)
    slope = [(tape.values(x + s)[0] - tape.values(x - s)[0]) / (2 * h) for s in steps]
    np.testing.assert_allclose(tape.gradient(x, one), slope, rtol=1e-7, atol=1e-8)
    curvature = [(tape.gradient(x + s, one) - tape.gradient(x - s, one)) / (2 * h) for s in steps]
    np.testing.assert_allclose(full_hessian(tape, x, one), curvature, rtol=1e-6, atol=1e-7)


def test_every_operation_is_tested():
    assert set(OPERATIONS) == {*UNARY, "abs", "product", "quotient", "power"}


@pytest.mark.parametrize(
    "build",
    [
        lambda m: m.x[0] ** m.x[1] + 2 ** m.x[2] + m.x[3] ** -1.5 + m.x[0] ** m.p + m.x[1] ** 1,
        lambda m: m.x[0] / m.x[1] / (m.x[2] + m.x[3]) + 3 / m.x[0] - m.x[1] / 4 + m.x[2] / m.p,
        lambda m: (m.x[0] + m.x[1] + 1) ** 2 * (m.x[0] - m.p * m.x[2]) ** 3,
        lambda m: m.e**2 + pyo.exp(m.e) / m.x[3] - (-m.e) * m.p,
        lambda m: m.x[0] * m.x[0] * m.x[1] * m.x[2] * m.x[3],
        lambda m: LinearExpression(constant=2.0, linear_coefs=[1.0, 2.0, m.p], linear_vars=[m.x[0], m.x[1], m.x[0]]),
        lambda m: pyo.log(pyo.quicksum(pyo.exp((j + 1) * m.x[j]) for j in range(4))),
        lambda m: pyo.sqrt(sum(m.x[j] ** 2 for j in range(4))) + 0 * pyo.log(m.x[0]),
        lambda m: 7.0 + m.p * m.x[3],
        lambda m: pyo.sin(m.p) * m.x[1] ** 2 + m.x[1] * m.x[1] - m.x[1] + m.x[1],
    ],
)
def test_derivatives_equal_those_of_pyomo(build, model):
    check(model, build(model), np.array([0.7, 0.4, 1.3, 0.9]))


def random_expression(rng, leaves, depth):
    if depth == 0 or rng.random() < 0.1:
        return leaves[rng.integers(len(leaves))]
    a, b = (random_expression(rng, leaves, depth - 1) for _ in range(2))
    kind = rng.integers(10)
    if kind < 3:
        return a + rng.normal() * b - 1
    if kind < 5:
        return a * b
    if kind == 5:
        return a / (2 + b**2)
    if kind == 6:
        return (1.5 + pyo.sin(a)) ** (b / 5)
    if kind == 7:
        return pyo.exp(-(a**2)) + pyo.atan(b)
    if kind == 8:
        return pyo.log(1 + a**2) - pyo.cos(b)
    return pyo.sqrt(1 + (a - b) ** 2) / 3


@pytest.mark.parametrize("seed", range(25))
def test_random_expressions(seed, model):
    rng = np.random.default_rng(seed)
    shared = pyo.tan(model.x[0] / 3) + model.e
    f = random_expression(rng, [*model.x.values(), model.e, model.p, shared, 0.5], 4) + model.x[0]
    check(model, f, rng.uniform(-1, 1, 4), rel=1e-7)


def test_several_functions_have_one_jacobian_and_one_hessian_of_their_weighted_sum(model):
    x, weights = np.array([0.7, 0.4, 1.3, 0.9]), np.array([0.0, 2.0, -3.0, 0.5])
    m = model.x
    fs = [pyo.log(m[0]), m[0] * m[1] + m[3], 2 * m[2] - m[3] + 1, pyo.exp(m[1] - m[2]) + model.e]
    tape, sparse = tape_of(model, *fs), None
    found = [by_pyomo(model, f, x) for f in fs]
    sparse = SparseDerivatives(tape, np.array([1, 2, 3]))
    rows = dense(sparse.jacobian_pattern, sparse.jacobian(x), (3, 4))
    np.testing.assert_allclose(rows, [g for _, g, _ in found[1:]], rtol=1e-12)
    assert len(sparse.jacobian_pattern[0]) == 3 + 2 + 3  # without zeros
    expected = sum(w * h for w, (_, _, h) in zip(weights, found, strict=True))
    np.testing.assert_allclose(full_hessian(tape, x, weights), expected, atol=1e-12)
    np.testing.assert_allclose(
        tape.gradient(x, weights), sum(w * g for w, (_, g, _) in zip(weights, found, strict=True)), rtol=1e-12
    )


def test_constants_are_read_again(model):
    tape = Tape([model.p * model.x[0] * model.x[1]], [model.x[0]], ["f"])
    assert tape.values(np.array([3.0])) == [3.0]
    model.p, model.x[1].value = 5.0, 2.0
    tape.load()
    assert tape.values(np.array([3.0])) == [30.0]
    assert tape.gradient(np.array([3.0]), np.ones(1)) == [10.0]
    model.x[1].value = None
    with pytest.raises(ModelError, match=r'"x\[1\]" has no value'):
        tape.load()


def test_a_named_expression_is_evaluated_once(model):
    rows = [pyo.exp(model.e) + k * model.x[k] for k in range(4)]
    assert int(tape_of(model, *rows).nonlinear.sum()) == 2  # one product, one exponential


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda m: pyo.ceil(m.x[0]), "ceil"),
        (lambda m: 1 + pyo.floor(m.x[0]) ** 2, "floor"),
        (lambda m: pyo.Expr_if(m.x[0] >= 1, m.x[0], 0), "Expr_if"),
    ],
)
def test_operations_that_are_not_smooth_are_rejected_by_name(build, name, model):
    with pytest.raises(ModelError, match=f'f0 cannot be differentiated: "{name}" is not a smooth function'):
        tape_of(model, build(model))


def test_an_external_function_is_rejected_by_name(model):
    model.gsl = pyo.ExternalFunction(lambda x: x**2)
    with pytest.raises(ModelError, match=r'"gsl.*" is an external function'):
        tape_of(model, model.gsl(model.x[0]) + 1)


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda x: pyo.log(x - 2), "log(-1.5)"),
        (lambda x: 1 / (x - 0.5), "1 / 0"),
        (lambda x: (x - 1) ** 0.5 + 1, "-0.5 ** 0.5"),
        (lambda x: pyo.exp(2000 * x), "exp(1000)"),
        (lambda x: x + 1, ""),
    ],
)
def test_the_operation_without_a_value_is_named(build, text, model):
    tape = tape_of(model, build(model.x[0]))
    assert np.isfinite(tape.values(np.full(4, 0.5))[0]) == (text == "")
    assert tape.undefined() == text


def test_powers_at_zero(model):
    x = model.x
    tape, at = tape_of(model, x[0] ** 2 + x[1] ** 1.5 + x[2] ** x[3] + x[0] ** 3), np.array([0.0, 0.0, 0.0, 2.0])
    assert tape.gradient(at, np.ones(1)).tolist() == [0, 0, 0, 0]
    assert full_hessian(tape, at, np.ones(1))[0, 0] == 2


def test_a_tape_can_be_sent_to_another_process(model):
    tape, x = tape_of(model, pyo.exp(model.x[0]) / model.x[1]), np.full(4, 0.5)
    assert pickle.loads(pickle.dumps(tape)).gradient(x, np.ones(1)).tolist() == tape.gradient(x, np.ones(1)).tolist()


def test_a_kink(model):
    tape, one = tape_of(model, abs(model.x[0]) - 3 * model.x[1]), np.ones(1)
    assert tape.gradient(np.array([-2.0, 0, 0, 0]), one).tolist() == [-1, -3, 0, 0]
    assert not tape.at_kink()
    tape.values(np.zeros(4))
    assert tape.at_kink()


def test_a_deep_expression_and_a_constant_one(model):
    f = model.x[0]
    for _ in range(3000):
        f = pyo.sin(f)
    assert np.isfinite(tape_of(model, f).gradient(np.full(4, 0.5), np.ones(1))[0])
    tape = tape_of(model, 3, model.p + 1)
    assert tape.values(np.zeros(4)).tolist() == [3, 3]
    assert SparseDerivatives(tape, np.arange(2)).jacobian(np.zeros(4)).tolist() == []
    assert full_hessian(tape, np.zeros(4), np.ones(2)).tolist() == np.zeros((4, 4)).tolist()
