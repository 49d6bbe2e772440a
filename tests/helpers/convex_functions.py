"""Functions that are recognised as convex, others that are not, and a model with their variables."""

import pyomo.environ as pyo
from pyomo.environ import exp, log, log10, sin, sqrt

# x, y, z in [0, 3], u, v in [-3, 3].
CONVEX = {
    "exponential of an affine function": lambda m: exp(2 * m.u - m.v + 1),
    "exponential of a convex function": lambda m: exp(m.u**2 + m.size(m.v)),
    "negative logarithm": lambda m: -log(1 + m.x + 2 * m.y),
    "log-sum-exp": lambda m: log(exp(m.u) + 2 * exp(-m.v) + 1),
    "log-sum-exp of convex functions": lambda m: log(exp(m.u**2) + exp(m.size(m.v))),
    "logistic loss": lambda m: 3 * log(1 + exp(-(m.u + 2 * m.v))) + 0.5 * (m.u**2 + m.v**2),
    "entropy": lambda m: m.x * log(m.x) + 2 * m.y * log(3 * m.y),
    "shifted entropy": lambda m: (2 * m.x + m.y) * log(1 + 2 * m.x + m.y),
    "relative entropy": lambda m: m.x * log(m.x / m.y) + m.y * log(m.y / (m.z + 1)),
    "relative entropy as two terms": lambda m: m.x * log(m.x) - m.x * log(m.y) - 2 * m.x + 3 * m.y,
    "relative entropy as a product": lambda m: m.x * (log(m.x) - log(m.y + m.z)),
    "quadratic over linear": lambda m: (m.u - 2 * m.v) ** 2 / (m.x + 1) + m.u**2 / m.y,
    "quadratic over concave": lambda m: (m.u**2 + m.v**2 + 1) / sqrt(m.x),
    "norm": lambda m: sqrt((m.u - 1) ** 2 + 4 * m.v**2 + 0.3),
    "norm of a quadratic form": lambda m: (2 * m.u**2 + 2 * m.u * m.v + m.v**2) ** 0.5,
    "powers": lambda m: m.x**1.5 + m.u**4 + (m.x + m.y) ** 3 + 1 / (1 + m.x) + (1 + m.y) ** -0.5,
    "power of a convex function": lambda m: (1 + m.u**2) ** 1.5 + (exp(m.u) + m.size(m.v)) ** 2,
    "negative root": lambda m: -sqrt(m.x) - (m.y + m.z) ** 0.3,
    "geometric mean": lambda m: -sqrt(m.x * m.y) - sqrt(m.z**2 - m.x * m.z) * 0,
    "posynomial": lambda m: 1 / (m.x * m.y) + exp(m.u) / (m.z * sqrt(m.x)),
    "reciprocal of a negative function": lambda m: -1 / (-1 - m.x) - 2 / (m.u - 4),
    "a quadratic part that is convex as a whole": lambda m: exp(m.u) + m.u**2 + m.u * m.v + m.v**2,
    "a constant base": lambda m: 2**m.u + 0.5 ** (m.v - m.u) + 3,
    "named expression": lambda m: m.named**2 + exp(m.named),
    "common logarithm": lambda m: m.x - log10(m.x + 1),
}
NONCONVEX = {
    "logarithm": lambda m: log(1 + m.x),
    "exponential of a concave function": lambda m: exp(-(m.u**2)),
    "negative exponential": lambda m: -exp(m.u),
    "log of one exponential less another": lambda m: log(exp(m.u) - 0.01 * exp(m.v)),
    "sine": lambda m: sin(m.u) + m.u**2 / 10,
    "negative entropy": lambda m: -m.x * log(m.x),
    "entropy with a negative shift": lambda m: (m.x + 2) * log(m.x + 1),
    "cross term of an entropy": lambda m: m.x * log(m.y + 1),
    "too little entropy": lambda m: m.x * log(m.x) - 2 * m.x * log(m.y),
    "linear over linear": lambda m: m.x / (m.y + 1),
    "indefinite over linear": lambda m: (m.u**2 - m.v**2) / (m.x + 1),
    "quadratic over a sign": lambda m: m.u**2 / m.v,
    "square root": lambda m: sqrt(m.x + m.y),
    "root of an indefinite form": lambda m: sqrt(m.u**2 - m.v**2 + 20),
    "cube on both sides": lambda m: m.u**3,
    "power between 0 and 1": lambda m: m.x**0.7,
    "square of a function of both signs": lambda m: (m.u**2 - 1) ** 2,
    "product": lambda m: m.x * exp(m.y),
    "product of convex functions": lambda m: m.u**2 * m.v**2,
    "reciprocal of a product and a factor": lambda m: m.x / (m.y * m.z),
    "indefinite quadratic part": lambda m: exp(m.u) + m.x * m.y,
    "negative norm": lambda m: -sqrt(m.u**2 + m.v**2),
    "reciprocal on both sides": lambda m: 1 / m.u,
    "inverse square on both sides": lambda m: m.u**-2,
    "hyperbolic tangent": lambda m: pyo.tanh(m.u),
}


def space(size=abs):
    """Variables; ``size``: abs, or the same function with operations that SCIP supports."""
    m = pyo.ConcreteModel()
    m.size = size
    for name in "xyz":
        m.add_component(name, pyo.Var(bounds=(0, 3)))
    for name in "uv":
        m.add_component(name, pyo.Var(bounds=(-3, 3)))
    m.named = pyo.Expression(expr=m.u - m.v)
    return m
