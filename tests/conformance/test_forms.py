"""Formulation x form x solver x kind of edit, by default options: the optimum of the oracle, or an explained rejection.

The families, the kinds of edits and the oracle are those of ``benchmarks/solvers/soak.py``. Here the samples are plain,
and every installed solver and driver is tried on every family. By default a sample of the cells runs. With ``-m slow``
one cell in 11 runs; FSMODELS_SOAK scales this share, and 11 runs all cells.
"""

import functools
import inspect
import os
import re
import zlib

import numpy as np
import pyomo.environ as pyo
import pytest

import fsmodels as fs
import solvers
from benchmarks.solvers import soak
from benchmarks.solvers.soak_edits import KINDS, Context
from benchmarks.solvers.soak_oracle import Unsure
from solvers.drivers.catalogue import DRIVERS
from solvers.interfaces.registry import SOLVERS
from solvers.model.classes import violation

FAMILIES = {family.name: family for family in soak.FAMILIES}
INSTALLED = [None, *(name for name, spec in SOLVERS.items() if spec.found), *DRIVERS]
SHARE = 220  # one cell in so many by default
SOAK = float(os.environ.get("FSMODELS_SOAK", "1"))
REMEDY = re.compile(
    r"\b(use|state|solve|build|give|installed solvers|get it|instead|leave|write|drop|set|fix|see|relax|deactivate"
    r"|bound (the|its))\b",
    re.I,
)
WITHOUT_ORACLE = {"penalized", "svm_ratio", "svm_unsquared", "sub", "rmp", "group_dual", "group_primal"}
SAMPLES = np.random.default_rng(5).normal(size=(7, 3))
LABELS = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0, -1.0])


def generator(*of):
    return np.random.default_rng(zlib.crc32(repr(of).encode()))


@functools.cache
def edited(name, kind):
    """Return the case of a family and a kind of edit, -1 for none, and its truth; None where it has no such edit."""
    family, rng = FAMILIES[name], generator(name, kind)
    given = family.parameters(rng, SAMPLES, LABELS)
    given |= {"C": 1.0} if "C" in given else {}
    given |= {"penalty": 0.1} if "penalty" in given else {}
    given |= {"intercept": True, "loss": "hinge"} if "max_features" in given or name.startswith("fsp") else {}
    edits = []
    if kind >= 0:
        unit = np.ones(3)
        has = frozenset(family.has.split())
        needs, make = KINDS[kind]
        context = Context(rng, 3, len(LABELS), np.array([0.6, -0.4, 0.3]), 0.1, unit, 1.0, has, given)
        edit = make(context) if set(needs.split()) <= has else None
        if edit is None:
            return None
        edits = [edit]
    case = soak.Case(0, family, SAMPLES, LABELS, given, edits, None)
    try:
        return case, case.truth()
    except Unsure:
        return None


def cells():
    pairs = [(name, who) for name in FAMILIES for who in INSTALLED]
    return [(name, who, kind) for name, who in pairs for kind in range(-1, len(KINDS))]


def judged(name, who, kind):
    """Return what is wrong with a cell."""
    found = edited(name, kind)
    if found is None:
        return []
    case, truth = found
    case.wrong.clear()
    line = soak.solved(case, truth, who, verbose=False)
    if line["outcome"] == "refused" and not REMEDY.search(line["said"]):
        return [f"a rejection without a next step: {line['said']}"]
    return [f"{[e.kind for e in case.edits]}: {wrong}" for wrong in case.wrong]


def failures(some):
    return [(cell, wrong) for cell in some if (wrong := judged(*cell))]


def test_every_builder_is_in_the_matrix():
    families = {"svm": fs.svm, "fsp": fs.fsp, "concave": fs.concave, "gmeb": fs.gmeb, "multivariate": fs.multivariate}
    source = inspect.getsource(soak)
    for family, module in families.items():
        for name in module.__all__:
            builder = getattr(module, name)
            if not inspect.isfunction(builder) or name in WITHOUT_ORACLE:
                continue
            if "ConcreteModel" in str(inspect.signature(builder).return_annotation):
                assert f"fs.{family}.{name}" in source, f"{family}.{name} has no family in benchmarks/solvers/soak.py"


@pytest.mark.filterwarnings("ignore")
def test_a_sample_of_the_matrix():
    assert failures(cell for cell in cells() if generator(cell).integers(SHARE) == 0) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FAMILIES)
def test_a_share_of_the_matrix(name):
    share = max(1, round(11 / SOAK))
    assert failures(c for c in cells() if c[0] == name and generator(c).integers(share) == 0) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", fs.kernel.FORMS)
@pytest.mark.parametrize("build", ["full_fs", "gmkl", "ao_simple", "ao_margin", "ao_efs"])
def test_the_kernel_models_by_every_solver(build, form):
    """Nonconvex models: no solver may claim a bound above the best point, or infeasible, or unbounded."""
    data = fs.Dataset.from_arrays(SAMPLES, LABELS)
    found, refusals = {}, {}
    for who in INSTALLED:
        model = getattr(fs.kernel, build)(data, C=0.5, penalty=0.2, form=form)
        try:
            found[who] = result = fs.solve(model, who, time_limit=5)
        except solvers.Error as refusal:
            refusals[who] = str(refusal)
            continue
        assert result.status.value in ("stationary", "feasible", "optimal", "no_solution"), who
        if result.objective is not None:
            assert result.objective == pytest.approx(pyo.value(model.objective), rel=1e-6), who
            assert violation(model) <= 1e-6, who
    assert [(who, why) for who, why in refusals.items() if not REMEDY.search(why)] == []
    best = min(result.objective for result in found.values() if result.objective is not None)
    assert found[None].objective <= 1.1 * best
    for who, result in found.items():
        assert result.bound is None or result.bound <= best + 1e-6, who
        assert result.status.value != "optimal" or result.objective <= best + 1e-4, who
