"""Smooth models with known optima: Hock and Schittkowski's, those of Pyomo's tests, kernel models, GMEB.

``MODELS[group][name]`` is a function without arguments that builds a model, and the known optimum: a number, None if
no optimum is published, or ``INFEASIBLE`` or ``UNBOUNDED``. Variables have the start of the source as their values.

Sources:

- W. Hock, K. Schittkowski, "Test Examples for Nonlinear Programming Codes", Lecture Notes in Economics and Mathematical
  Systems 187, Springer 1981: functions, starts and optima by their numbers.
- The models of the tests of MindtPy in the package Pyomo (BSD licence), once with their integers fixed at the optimum
  of the test and once with them relaxed.
"""

import contextlib
import importlib
import logging
import pkgutil
from functools import cache, partial
from math import log, pi, sqrt

import pyomo.contrib.mindtpy.tests as mindtpy
import pyomo.environ as pyo
from pyomo.common.log import LoggingIntercept
from pyomo.environ import exp, sin

import fsmodels as fs

INFEASIBLE, UNBOUNDED = "infeasible", "unbounded"
R = None  # no bound


def rosenbrock(x, y):
    return 100 * (y - x**2) ** 2 + (1 - x) ** 2


def suzuki(a, b, c, d):
    return a**2 + b**2 + 2 * c**2 + d**2 - 5 * a - 5 * b - 21 * c + 7 * d


def hs100(a, b, c, d, e, f, g):
    first = (a - 10) ** 2 + 5 * (b - 12) ** 2 + c**4 + 3 * (d - 11) ** 2
    return first + 10 * e**6 + 7 * f**2 + g**4 - 4 * f * g - 10 * f - 8 * g


def of_five(a, b, c, d, e):
    return [a**2 + b**2 + c**2 + d**2 + e**2 == 10, b * c == 5 * d * e, a**3 + b**3 == -1]


# number: optimum, start, bounds of all or of each variable, objective, rows
HS = {
    1: (0, (-2, 1), [(R, R), (-1.5, R)], rosenbrock, None),
    4: (8 / 3, (1.125, 0.125), [(1, R), (0, R)], lambda x, y: (x + 1) ** 3 / 3 + y, None),
    5: (
        -(sqrt(3) / 2 + pi / 3), (0, 0), [(-1.5, 4), (-3, 3)],
        lambda x, y: sin(x + y) + (x - y) ** 2 - 1.5 * x + 2.5 * y + 1, None,
    ),
    6: (0, (-1.2, 1), (R, R), lambda x, y: (1 - x) ** 2, lambda x, y: [10 * (y - x**2) == 0]),
    7: (
        -sqrt(3), (2, 2), (R, R), lambda x, y: pyo.log(1 + x**2) - y, lambda x, y: [(1 + x**2) ** 2 + y**2 == 4],
    ),
    10: (-1, (-10, 10), (R, R), lambda x, y: x - y, lambda x, y: [-3 * x**2 + 2 * x * y - y**2 + 1 >= 0]),
    11: (-8.498464223, (4.9, 0.1), (R, R), lambda x, y: (x - 5) ** 2 + y**2 - 25, lambda x, y: [y >= x**2]),
    12: (
        -30, (0, 0), (R, R), lambda x, y: 0.5 * x**2 + y**2 - x * y - 7 * x - 7 * y,
        lambda x, y: [4 * x**2 + y**2 <= 25],
    ),
    14: (
        9 - 2.875 * sqrt(7), (2, 2), (R, R), lambda x, y: (x - 2) ** 2 + (y - 1) ** 2,
        lambda x, y: [x**2 / 4 + y**2 <= 1, x - 2 * y + 1 == 0],
    ),
    15: (306.5, (-2, 1), [(R, 0.5), (R, R)], rosenbrock, lambda x, y: [x * y >= 1, x + y**2 >= 0]),
    18: (
        5, (2, 2), [(2, 50), (0, 50)], lambda x, y: 0.01 * x**2 + y**2, lambda x, y: [x * y >= 25, x**2 + y**2 >= 25],
    ),
    19: (
        -6961.81381, (20.1, 5.84), [(13, 100), (0, 100)], lambda x, y: (x - 10) ** 3 + (y - 20) ** 3,
        lambda x, y: [(x - 5) ** 2 + (y - 5) ** 2 >= 100, (y - 5) ** 2 + (x - 6) ** 2 <= 82.81],
    ),
    22: (
        1, (2, 2), (R, R), lambda x, y: (x - 2) ** 2 + (y - 1) ** 2, lambda x, y: [x + y <= 2, y >= x**2],
    ),
    24: (
        -1, (1, 0.5), (0, R), lambda x, y: ((x - 3) ** 2 - 9) * y**3 / (27 * sqrt(3)),
        lambda x, y: [x / sqrt(3) >= y, x + sqrt(3) * y >= 0, x + sqrt(3) * y <= 6],
    ),
    26: (
        0, (-2.6, 2, 2), (R, R), lambda x, y, z: (x - y) ** 2 + (y - z) ** 4,
        lambda x, y, z: [(1 + y**2) * x + z**4 == 3],
    ),
    27: (
        0.04, (2, 2, 2), (R, R), lambda x, y, z: 0.01 * (x - 1) ** 2 + (y - x**2) ** 2,
        lambda x, y, z: [x + z**2 + 1 == 0],
    ),
    29: (
        -16 * sqrt(2), (1, 1, 1), (R, R), lambda x, y, z: -x * y * z,
        lambda x, y, z: [x**2 + 2 * y**2 + 4 * z**2 <= 48],
    ),
    33: (
        sqrt(2) - 6, (0, 0, 3), [(0, R), (0, R), (0, 5)], lambda x, y, z: (x - 1) * (x - 2) * (x - 3) + z,
        lambda x, y, z: [z**2 >= x**2 + y**2, x**2 + y**2 + z**2 >= 4],
    ),
    34: (
        -log(log(10)), (0, 1.05, 2.9), [(0, 100), (0, 100), (0, 10)], lambda x, y, z: -x,
        lambda x, y, z: [y >= exp(x), z >= exp(y)],
    ),
    36: (
        -3300, (10, 10, 10), [(0, 20), (0, 11), (0, 42)], lambda x, y, z: -x * y * z,
        lambda x, y, z: [x + 2 * y + 2 * z <= 72],
    ),
    39: (-1, (2,) * 4, (R, R), lambda a, b, c, d: -a, lambda a, b, c, d: [b == a**3 + c**2, a**2 - b == d**2]),
    40: (
        -0.25, (0.8,) * 4, (R, R), lambda a, b, c, d: -a * b * c * d,
        lambda a, b, c, d: [a**3 + b**2 == 1, a**2 * d == c, d**2 == b],
    ),
    43: (
        -44, (0,) * 4, (R, R), suzuki,
        lambda a, b, c, d: [
            8 - a**2 - b**2 - c**2 - d**2 - a + b - c + d >= 0,
            10 - a**2 - 2 * b**2 - c**2 - 2 * d**2 + a + d >= 0,
            5 - 2 * a**2 - b**2 - c**2 - 2 * a + b + d >= 0,
        ],
    ),
    60: (
        0.03256820025, (2,) * 3, (-10, 10), lambda x, y, z: (x - 1) ** 2 + (x - y) ** 2 + (y - z) ** 4,
        lambda x, y, z: [x * (1 + y**2) + z**4 == 4 + 3 * sqrt(2)],
    ),
    64: (
        6299.842428, (1,) * 3, (1e-5, R),
        lambda x, y, z: 5 * x + 50000 / x + 20 * y + 72000 / y + 10 * z + 144000 / z,
        lambda x, y, z: [4 / x + 32 / y + 120 / z <= 1],
    ),
    65: (
        0.9535288567, (-5, 5, 0), [(-4.5, 4.5), (-4.5, 4.5), (-5, 5)],
        lambda x, y, z: (x - y) ** 2 + (x + y - 10) ** 2 / 9 + (z - 5) ** 2,
        lambda x, y, z: [x**2 + y**2 + z**2 <= 48],
    ),
    66: (
        0.5181632741, (0, 1.05, 2.9), [(0, 100), (0, 100), (0, 10)], lambda x, y, z: 0.2 * z - 0.8 * x,
        lambda x, y, z: [y >= exp(x), z >= exp(y)],
    ),
    71: (
        17.0140173, (1, 5, 5, 1), (1, 5), lambda a, b, c, d: a * d * (a + b + c) + c,
        lambda a, b, c, d: [a * b * c * d >= 25, a**2 + b**2 + c**2 + d**2 == 40],
    ),
    77: (
        0.24150513, (2,) * 5, (R, R),
        lambda a, b, c, d, e: (a - 1) ** 2 + (a - b) ** 2 + (c - 1) ** 2 + (d - 1) ** 4 + (e - 1) ** 6,
        lambda a, b, c, d, e: [a**2 * d + sin(d - e) == 2 * sqrt(2), b + c**4 * d**2 == 8 + sqrt(2)],
    ),
    78: (-2.91970041, (-2, 1.5, 2, -1, -1), (R, R), lambda a, b, c, d, e: a * b * c * d * e, of_five),
    80: (
        0.0539498478, (-2, 2, 2, -1, -1), [(-2.3, 2.3)] * 2 + [(-3.2, 3.2)] * 3,
        lambda a, b, c, d, e: exp(a * b * c * d * e), of_five,
    ),
    100: (
        680.6300573, (1, 2, 0, 4, 0, 1, 1), (R, R), hs100,
        lambda a, b, c, d, e, f, g: [
            2 * a**2 + 3 * b**4 + c + 4 * d**2 + 5 * e <= 127,
            7 * a + 3 * b + 10 * c**2 + d - e <= 282,
            23 * a + b**2 + 6 * f**2 - 8 * g <= 196,
            4 * a**2 + b**2 - 3 * a * b + 2 * c**2 + 5 * f - 11 * g <= 0,
        ],
    ),
}  # fmt: skip


def hock_schittkowski(number, further=None):
    """Return a model by its number, with a further row of all variables."""
    _, start, bounds, objective, rows = HS[number]
    m = pyo.ConcreteModel(f"HS{number}")
    each = bounds if isinstance(bounds, list) else [bounds] * len(start)
    m.x = pyo.Var(range(len(start)), bounds=dict(enumerate(each)))
    x = list(m.x.values())
    for variable, number in zip(x, start, strict=True):  # the start of 65 is outside the bounds
        variable.set_value(number, skip_validation=True)
    m.cost, m.rows = pyo.Objective(expr=objective(*x)), pyo.ConstraintList()
    for row in [*(rows(*x) if rows else []), *([further(x)] if further else [])]:
        m.rows.add(row)
    return m


def unbounded():
    """Return min -x^3 y over x, y >= 1 with a curved row that bounds neither."""
    m = pyo.ConcreteModel("unbounded")
    m.x = pyo.Var(range(2), bounds=(1, None), initialize=2)
    m.row = pyo.Constraint(expr=m.x[0] ** 2 >= m.x[1])
    m.cost = pyo.Objective(expr=-(m.x[0] ** 3) * m.x[1])
    return m


def of_pyomo(module, kind, fixed):
    """Return a model of MindtPy's tests, with its integers fixed at the optimum of the test or relaxed."""
    with LoggingIntercept(level=logging.ERROR):  # one of them replaces its objective
        m = getattr(importlib.import_module(f"{mindtpy.__name__}.{module}"), kind)()
    if fixed:
        for variable, number in m.optimal_solution.items():
            if not variable.is_continuous():
                variable.fix(round(number))
    pyo.TransformationFactory("core.relax_integer_vars").apply_to(m)
    return m


def pyomo_models():
    """Return the models of MindtPy's tests that do not need further packages."""
    found = {}
    for module in pkgutil.iter_modules(mindtpy.__path__):
        if module.name.startswith("test") or "grey_box" in module.name or module.name == "unit_test":
            continue
        with contextlib.suppress(ImportError):
            held = importlib.import_module(f"{mindtpy.__name__}.{module.name}")
            for kind, made in vars(held).items():
                if isinstance(made, type) and made.__module__ == held.__name__ and issubclass(made, pyo.ConcreteModel):
                    with LoggingIntercept(level=logging.ERROR):
                        known = getattr(made(), "optimal_value", None)
                    name = module.name.removesuffix("_simple")
                    found[f"{name}, fixed"] = (partial(of_pyomo, module.name, kind, True), known)
                    found[f"{name}, relaxed"] = (partial(of_pyomo, module.name, kind, False), None)
    return found


@cache
def table(name, rows):
    """Return standardised rows of a table."""
    whole = fs.load_dataset(name)
    return (whole if rows is None else whole.take(range(rows))).scaled("standard")


def kernel(build, data, rows, kernel):
    """Return a kernel model as rows of Pyomo, for any NLP solver."""
    return getattr(fs.kernel, build)(table(data, rows), C=1.0, penalty=1.0, kernel=kernel, form="algebra")


def gmeb(build, data, rows, **more):
    """Return a model of GMEB."""
    return getattr(fs.gmeb, build)(table(data, rows), **more)


KERNELS, SETS = ("linear", "polynomial", "rbf"), (("bupa", 40), ("cleveland", 40))
RADII = ((2.0, 2.0), (1.0, 3.0))
MODELS = {
    "Hock and Schittkowski": {f"HS{k}": (partial(hock_schittkowski, k), HS[k][0]) for k in HS},
    "Pyomo's tests": pyomo_models(),
    "kernel": {
        f"{build}, {name}, {of}": (partial(kernel, build, name, rows, of), None)
        for build in ("full_fs", "gmkl", "ao_margin")
        for name, rows in SETS
        for of in KERNELS
    },
    "gmeb": {
        **{
            f"{build}, {name}, R = {plus:g}, {minus:g}": (
                partial(gmeb, build, name, None, R_plus=plus, R_minus=minus), None,
            )
            for build in ("nonconvex", "dual")
            for name in ("cleveland", "wdbc")
            for plus, minus in RADII
        },
        **{f"svm_ratio, {name}": (partial(gmeb, "svm_ratio", name, None), None) for name in ("cleveland", "wdbc")},
    },
    "without a solution": {
        **{
            f"HS{k}, x'x <= {limit}": (
                partial(hock_schittkowski, k, lambda x, limit=limit: sum(v**2 for v in x) <= limit), INFEASIBLE,
            )
            for k, limit in ((15, 1), (18, 10), (34, 2), (40, 0.1), (64, 100), (71, 30), (80, 1))
        },
        "unbounded": (unbounded, UNBOUNDED),
    },
}  # fmt: skip
