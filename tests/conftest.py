"""Small selection problems whose optimum is found by trying every support, and edits of their models.

Fixtures give functions, because tests are collected without packages and cannot import one another. ``fsmodels`` is
imported where a fixture needs it: the tests of ``solvers`` run without it.
"""

from __future__ import annotations

import gc
import importlib.util
import itertools
import os
import signal
import sys
import threading
from functools import cache
from pathlib import Path

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import settings
from pyomo.gdp import Disjunction

import solvers
from solvers import SolutionStatus, progress
from solvers.drivers.catalogue import DRIVERS
from solvers.interfaces.registry import SOLVERS, find
from solvers.interfaces.runner import Runner, SolveOptions

# The package ``benchmarks`` is not installed. This makes it importable if the repository is not on the path.
TREE = Path(__file__).resolve().parents[1]
if "benchmarks" not in sys.modules and (TREE / "benchmarks").is_dir():
    spec = importlib.util.spec_from_file_location("benchmarks", TREE / "benchmarks" / "__init__.py")
    sys.modules["benchmarks"] = importlib.util.module_from_spec(spec)

# A busy machine is no failure. With CI set, random examples are the same in each run: a commit passes or it does not.
settings.register_profile("fsmodels", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("fsmodels")
progress.FIRST = threading.TIMEOUT_MAX  # nor does it write lines of progress into what a test captures

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a job in the background of a script: tests of Ctrl-C would wait
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """A folder of tests is shared out over the cores; not what is named, nor a run with -n, -s, --pdb or on one core.

    Not in ``addopts``, where ``-n`` is an error without pytest-xdist.
    """
    options = config.option
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    told = getattr(options, "numprocesses", 0) is not None or options.tx or options.dist != "no"  # 0: no xdist
    watched = options.usepdb or options.trace or options.capture == "no" or options.collectonly
    whole = any(Path(name).is_dir() for name in config.args)
    if whole and cores > 1 and not told and not watched and not hasattr(config, "workerinput"):
        options.numprocesses, options.dist = cores, "worksteal"
        os.environ.setdefault("OMP_NUM_THREADS", "1")  # idle threads of linear algebra would spin on each other's cores


def pytest_collection_finish():
    """Let workers import the same packages as this process, and collect garbage less often.

    ``python -m pytest`` puts the tree before an installed package, and the tree may not be compiled. Models are many
    small objects; looking through them takes an eighth of a run.
    """
    if Path(solvers.__file__).resolve().parents[1] != TREE:
        sys.path[:] = [path for path in sys.path if Path(path).resolve() != TREE]
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)


def pytest_collection_modifyitems(items):
    """Skip what runs over the drivers where the solver that a driver stands on is not installed."""
    for item in items:
        parameters = getattr(item, "callspec", None)
        for argument in ("driver", "solver"):
            named = parameters.params.get(argument) if parameters else None
            driver = DRIVERS.get(named) if isinstance(named, str) else None
            spec = SOLVERS.get(getattr(driver and driver.options_type, "master_solver", ""))
            if spec is not None and not spec.found:
                item.add_marker(pytest.mark.skip(reason=f"{spec.name} is not installed: {spec.install}"))


def noisy(rows, n, seed, noise=0.5):
    """Two classes that no hyperplane separates, features a, b, c, ..."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, n))
    y = np.where(X @ rng.uniform(-1, 1, n) + noise * rng.normal(size=rows) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    from fsmodels import Dataset

    return Dataset.from_arrays(X, y, features=list("abcdefgh")[:n]).scaled("none")


def supports(n, most=None):
    """Every 0/1 vector of length n with at most so many ones."""
    return [np.array(s, dtype=float) for s in itertools.product((0, 1), repeat=n) if most is None or sum(s) <= most]


def values(data, C=1.0):
    """SUB's value at every support, certified to 1e-9."""
    from fsmodels.models.fsp.oracle import SvmOracle

    oracle = SvmOracle(data.X, data.y, C)
    return {tuple(s): oracle.solve(s, tolerance=1e-9).value for s in supports(len(data.features))}


def best(data, *, C=1.0, max_features=None, penalty=None, allowed=lambda s: True):
    """The optimum of FSP by trying every support."""
    n = len(data.features)
    prices = np.array([0.0 if penalty is None else penalty[j] for j in data.features])
    return min(
        q + prices @ np.array(s)
        for s, q in values(data, C).items()
        if sum(s) <= (n if max_features is None else max_features) and allowed(dict(zip(data.features, s, strict=True)))
    )


@pytest.fixture(scope="session")
def make_data():
    return noisy


@pytest.fixture(scope="session")
def data():
    """18 samples, 4 features."""
    return noisy(18, 4, seed=1)


@pytest.fixture(scope="session")
def every_support():
    return supports


@pytest.fixture(scope="session")
def enumerated():
    return best


@pytest.fixture(scope="session")
def values_of():
    return values


# What an analyst may do to the subproblem. Each edit changes the value at some support, so none can be lost in silence.
LINEAR_EDITS = {
    "row on w": lambda m: m.add_component("e", pyo.Constraint(expr=m.w["a"] >= m.w["b"] + 0.5)),
    "equation on w": lambda m: m.add_component("e", pyo.Constraint(expr=m.w["a"] + m.w["d"] == 0.3)),
    "row on b": lambda m: m.add_component("e", pyo.Constraint(expr=m.b >= 0.7)),
    "range on w and b": lambda m: m.add_component("e", pyo.Constraint(expr=(-0.2, m.b + m.w["c"], 0.1))),
    "bound on w": lambda m: m.w["a"].setub(0.3),
    "bound that forces w": lambda m: m.w["d"].setlb(0.5),
    "sign of w": lambda m: setattr(m.w["b"], "domain", pyo.NonPositiveReals),
    "bound on b": lambda m: m.b.setlb(0.4),
    "fixed b": lambda m: m.b.fix(0.7),
    "bound on xi": lambda m: [m.xi[i].setub(0.8) for i in (3, 5)],
    "fixed xi": lambda m: m.xi[2].fix(0.0),
    "w fixed at 0": lambda m: m.w["c"].fix(0.0),
    "w fixed at 0.7": lambda m: m.w["c"].fix(0.7),
    "sum of xi": lambda m: m.add_component("e", pyo.Constraint(expr=sum(m.xi[i] for i in range(18)) <= 11.5)),
    "least sum of xi": lambda m: m.add_component("e", pyo.Constraint(expr=sum(m.xi[i] for i in range(6)) >= 5)),
    "margins deactivated": lambda m: [m.margin[i].deactivate() for i in range(5)],
    "margin deleted": lambda m: m.margin.__delitem__(3),
    "margins deleted": lambda m: [m.margin.__delitem__(i) for i in (0, 4, 7)],
    "margin changed": lambda m: m.margin[0].set_value(m.w["a"] * 2 + m.b + 2 * m.xi[0] >= 3),
    "margin turned": lambda m: m.margin[1].set_value(m.w["a"] + m.b <= -0.5),
    "another C": lambda m: m.objective.set_value(m.norm + 10 * m.loss),
    "own loss": lambda m: m.loss.set_value(sum(2.0 * x for x in m.xi.values())),
    "linear costs": lambda m: m.objective.set_value(m.objective.expr + 2 * m.w["a"] - 0.5 * m.b + 0.3 * m.xi[1]),
    "negative cost of xi": lambda m: (m.xi[1].setub(3), m.objective.set_value(m.objective.expr - 2 * m.xi[1])),
    "mutable parameter": lambda m: (
        m.add_component("p", pyo.Param(initialize=0.2, mutable=True)),
        m.w["a"].setub(m.p),
    ),
    "block of rows": lambda m: (
        m.add_component("side", pyo.Block()),
        m.side.add_component("e", pyo.Constraint(expr=m.w["a"] + m.w["b"] <= 0.1)),
    ),
    "new objective": lambda m: (
        m.objective.deactivate(),
        m.add_component("mine", pyo.Objective(expr=m.norm + 3.0 * m.xi[0] + sum(m.xi.values()))),
    ),
}


def one_norm(m):
    m.size = pyo.Var(m.features, domain=pyo.NonNegativeReals)
    m.above = pyo.Constraint(m.features, rule=lambda m, j: m.w[j] <= m.size[j])
    m.below = pyo.Constraint(m.features, rule=lambda m, j: -m.w[j] <= m.size[j])


def small_where_selected(m):
    one_norm(m)
    m.small = pyo.Constraint(m.features, rule=lambda m, j: m.size[j] <= 0.2 * m.sigma[j])
    m.objective.set_value(m.objective.expr + 0.3 * sum(m.size.values()))


def tied_offset(m):
    m.far = pyo.Var()
    m.about = pyo.Constraint(expr=m.far == m.b - 0.2 * m.sigma["a"])
    m.near = pyo.Constraint(expr=(-0.1, m.far, 0.1))


# Convex rows and terms, variables of the user's own, and rows on sigma and w: on a copy of the model these are linear.
OWN_EDITS = {
    "ball": lambda m: m.add_component("e", pyo.Constraint(expr=sum(w**2 for w in m.w.values()) <= 0.05)),
    "ball about a point": lambda m: m.add_component(
        "e", pyo.Constraint(expr=(m.w["a"] - 0.4) ** 2 + (m.w["b"] + m.w["c"]) ** 2 + m.b**2 <= 0.2)
    ),
    "two balls": lambda m: (
        m.add_component("e", pyo.Constraint(expr=m.w["a"] ** 2 + m.w["b"] ** 2 <= 0.03)),
        m.add_component("f", pyo.Constraint(expr=-(m.w["c"] ** 2) - m.w["d"] ** 2 >= -0.02)),
    ),
    "ridge": lambda m: m.objective.set_value(m.objective.expr + 0.4 * sum(w**2 for w in m.w.values())),
    "norm twice": lambda m: m.objective.set_value(m.objective.expr + m.norm),
    "norm changed": lambda m: m.norm.set_value(sum(m.w[j] ** 2 for j in m.features)),
    "twice the norm": lambda m: m.objective.set_value(2 * m.norm + m.C * m.loss),
    "weights alike": lambda m: m.objective.set_value(m.objective.expr + 3 * (m.w["a"] - m.w["b"]) ** 2),
    "cost of t": lambda m: m.objective.set_value(m.objective.expr + m.t["a"]),
    "row on t": lambda m: m.add_component("e", pyo.Constraint(expr=sum(m.t.values()) <= 0.05)),
    "squared loss": lambda m: m.objective.set_value(m.norm + m.C * sum(x**2 for x in m.xi.values())),
    "sum of sizes": lambda m: (
        one_norm(m),
        m.add_component("e", pyo.Constraint(expr=sum(m.size.values()) <= 0.4)),
    ),
    "small where selected": small_where_selected,
    "tied offset": tied_offset,
    "weight of another": lambda m: m.add_component("e", pyo.Constraint(expr=m.w["a"] <= 0.1 * m.sigma["b"])),
    "least where selected": lambda m: m.add_component(
        "e", pyo.Constraint(m.features, rule=lambda m, j: m.w[j] >= 0.2 * m.sigma[j])
    ),
    "sum where selected": lambda m: m.add_component(
        "e", pyo.Constraint(expr=sum(m.w[j] - 0.3 * m.sigma[j] for j in m.features) == -0.2)
    ),
    "both signs": lambda m: (
        m.add_component("e", pyo.Constraint(expr=m.w["a"] >= 0.3 * m.sigma["b"])),
        m.add_component("f", pyo.Constraint(expr=m.w["a"] <= 0.2 * m.sigma["c"])),
    ),
}
# Edits that no cut covers: the driver refuses, naming what is given here; the whole model's solver takes them.
REFUSED_EDITS = {
    "nonconvex row": (lambda m: m.add_component("e", pyo.Constraint(expr=m.w["a"] * m.b <= 0.1)), '"e"'),
    "curved row of two sides": (
        lambda m: m.add_component("e", pyo.Constraint(expr=(0.1, m.w["a"] ** 2, 0.2))),
        '"e"',
    ),
    "row that is not quadratic": (lambda m: m.add_component("e", pyo.Constraint(expr=pyo.exp(m.b) <= 2)), '"e"'),
    "curved row on both parts": (
        lambda m: m.add_component("e", pyo.Constraint(expr=m.w["a"] ** 2 <= 0.1 * m.sigma["b"])),
        '"e"',
    ),
    "concave cost": (lambda m: m.objective.set_value(m.objective.expr - m.w["a"] ** 2), "w[a]"),
    "mixed term": (lambda m: m.objective.set_value(m.objective.expr + m.b * m.sigma["a"]), "sigma"),
    "integer w": (lambda m: setattr(m.w["a"], "domain", pyo.Integers), '"w[a]"'),
    "selection deactivated": (lambda m: m.only_selected["a"].deactivate(), "only_selected[a]"),
    "bound on t": (lambda m: m.t["a"].setub(0.1), '"t[a]"'),
    "selection changed": (
        lambda m: m.only_selected["a"].set_value(m.w["a"] ** 2 <= 4 * m.t["a"] * m.sigma["a"]),
        "only_selected[a]",
    ),
}


def logic(m):
    """Of a and b just one, which brings c; without d not c, or a at any rate."""
    m.uses, m.rich = pyo.BooleanVar(m.features), pyo.BooleanVar()
    for j in m.features:
        m.uses[j].associate_binary_var(m.sigma[j])
    m.one = pyo.LogicalConstraint(expr=pyo.exactly(1, m.uses["a"], m.uses["b"]))
    m.brings = pyo.LogicalConstraint(expr=m.uses["b"].implies(m.uses["c"]))
    m.said = pyo.LogicalConstraint(expr=m.rich.equivalent_to(m.uses["a"].land(m.uses["d"])))
    m.either = Disjunction(expr=[[m.sigma["c"] <= m.sigma["d"]], [m.sigma["a"] >= 1]])


# Edits of the master: every solver and driver takes them.
MASTER_EDITS = {
    "requires": lambda m: m.add_component("e", pyo.Constraint(expr=m.sigma["a"] <= m.sigma["d"])),
    "forced in": lambda m: m.sigma["d"].fix(1),
    "forced out": lambda m: m.sigma["a"].fix(0),
    "fixed cost": lambda m: m.objective.set_value(m.objective.expr + 2 * m.sigma["a"] + 1.5),
    "constant": lambda m: m.objective.set_value(m.objective.expr + np.int64(3)),
    "group binary": lambda m: (
        m.add_component("g", pyo.Var(domain=pyo.Binary)),
        m.add_component("e", pyo.Constraint(expr=m.sigma["a"] + m.sigma["b"] + m.sigma["c"] <= 3 * m.g)),
        m.objective.set_value(m.objective.expr + 3 * m.g),
    ),
    "products of pairs": lambda m: (
        m.add_component("apart", pyo.Constraint(expr=m.sigma["a"] * m.sigma["b"] + m.sigma["c"] ** 2 <= 1)),
        m.objective.set_value(m.objective.expr + 2 * m.sigma["a"] * m.sigma["d"] - 3 * m.sigma["c"] * m.sigma["d"]),
    ),
    "logic": logic,
    "more features": lambda m: m.max_features.set_value(3),
    "no cardinality": lambda m: m.cardinality.deactivate(),
}


@pytest.fixture(params=list(LINEAR_EDITS))
def linear_edit(request):
    return LINEAR_EDITS[request.param]


@pytest.fixture(params=[*LINEAR_EDITS, *OWN_EDITS])
def convex_edit(request):
    return (LINEAR_EDITS | OWN_EDITS)[request.param]


@pytest.fixture(params=list(REFUSED_EDITS))
def refused_edit(request):
    return REFUSED_EDITS[request.param]


@pytest.fixture(params=list(MASTER_EDITS))
def master_edit(request):
    return MASTER_EDITS[request.param]


@pytest.fixture(scope="session")
def need():
    """Skip a test whose solver is not installed."""

    def check(name):
        spec = SOLVERS.get(name)
        if spec is not None and not spec.found:
            pytest.skip(f"{name} is not installed: {spec.install}")
        return name

    return check


def value_at(model, support):
    """SUB's value at one support, by Clarabel on the whole model with sigma and the dropped weights fixed."""
    for sigma, w, on in zip(model.sigma.values(), model.w.values(), support, strict=True):
        sigma.fix(on)
        low, up = (w.value, w.value) if w.fixed else (w.lb, w.ub)
        if not on and ((low or 0.0) > 0 or (up or 0.0) < 0):
            return np.inf
        if not on:
            w.fix(0.0)  # which the cone says too, but no solver finds its apex to 1e-6
    answer = Runner(find("clarabel"), SolveOptions()).solve(model)
    assert answer.has_point or answer.status is SolutionStatus.INFEASIBLE
    objective = next(model.component_data_objects(pyo.Objective, active=True))
    return float(pyo.value(objective)) if answer.has_point else np.inf


@pytest.fixture(scope="session")
def build():
    """The model that is edited: at most two of four features."""
    edited = noisy(18, 4, seed=1)
    from fsmodels.models.fsp import fsp_m

    return lambda form="perspective": fsp_m(edited, max_features=2, C=1.0, form=form)


@pytest.fixture(scope="session")
def edited_values(build):
    """SUB's value at every support of an edited perspective model without master costs."""

    @cache
    def evaluate(edit):
        found = {}
        for support in supports(4):
            model = build()
            model.cardinality.deactivate()
            edit(model)
            found[tuple(support)] = value_at(model, support.tolist())
        return found

    return evaluate
