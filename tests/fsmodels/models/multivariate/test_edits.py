"""Edits of FSmulti in every form: the optimum of the form that states all labellings, or a refusal with a remedy."""

import functools

import numpy as np
import pyomo.environ as pyo
import pytest

import fsmodels as fs
from fsmodels import multivariate as mv
from labellings import explicit
from solvers import SolutionStatus


@pytest.fixture(scope="module")
def small(make_data):
    data = make_data(8, 5, seed=4, noise=2.0)
    return fs.Dataset.from_arrays(np.asarray(data.X), [1, -1, 1, -1, -1, -1, 1, -1], features=list("abcde"))


@pytest.fixture(scope="module")
def optimum(small):
    """The optimum of an edited model, by the form that states all labellings."""

    @functools.cache
    def of(edit, C):
        model = explicit(small, budget=2, C=C)
        EDITS[edit][0](model)
        return fs.solve(model, "clarabel", gap=1e-8).objective

    return of


def row(expression):
    return lambda m: m.add_component("edit", pyo.Constraint(expr=expression(m)))


def sizes(m):
    m.size = pyo.Var(m.features)
    m.up = pyo.Constraint(m.features, rule=lambda m, j: m.w[j] <= m.size[j])
    m.down = pyo.Constraint(m.features, rule=lambda m, j: -m.w[j] <= m.size[j])
    m.objective.set_value(m.objective.expr + 0.3 * sum(m.size.values()))


def cost(m):
    m.objective.set_value(m.objective.expr + m.C * m.xi + 0.1 * sum(m.d.values()))


def in_a_block(m):
    m.side = pyo.Block()
    m.side.row = pyo.Constraint(expr=m.w["c"] >= 0.01)


def level(m):
    m.level = pyo.Var(bounds=(0, 1))
    m.tie = pyo.Constraint(["a", "b", "c"], rule=lambda m, j: m.d[j] <= m.level)
    m.cap = pyo.Constraint(expr=m.level + 2 * m.d["e"] <= 1)


def loose_level(m):
    m.level = pyo.Var()
    m.tie = pyo.Constraint(["a", "b", "c"], rule=lambda m, j: m.d[j] == m.level)


def parameters(m):
    m.C, m.budget = 3.0, 1


# Each edit, and the component that the lazy form names where it refuses the edit; None: an edit of the shares.
EDITS = {
    "row on w": (row(lambda m: m.w["a"] == m.w["b"]), "edit"),
    "bound of w": (lambda m: m.w["a"].setlb(0.0), "w[a]"),
    "sign of w": (lambda m: setattr(m.w["b"], "domain", pyo.NonPositiveReals), "w[b]"),
    "fixed w": (lambda m: m.w["a"].fix(0.05), "w[a]"),
    "risk": (row(lambda m: m.xi <= 6.0), "edit"),
    "bound of the risk": (lambda m: m.xi.setub(6.0), "xi"),
    "cost": (cost, "objective"),
    "new variable": (sizes, "up[a]"),
    "ball": (row(lambda m: sum(m.w[j] ** 2 for j in m.features) <= 0.002), "edit"),
    "block": (in_a_block, "side.row"),
    "row off": (lambda m: m.shares.deactivate(), "shares"),
    "pair": (row(lambda m: m.d["a"] <= m.d["d"]), None),
    "budget": (row(lambda m: 3 * m.d["a"] + 2 * m.d["b"] + m.d["c"] + 5 * m.d["d"] + m.d["e"] <= 2), None),
    "group": (row(lambda m: m.d["a"] + m.d["b"] == m.d["c"] + m.d["d"]), None),
    "range": (row(lambda m: (0.5, m.d["a"] + m.d["b"] + m.d["c"], 0.8)), None),
    "fixed d": (lambda m: (m.d["b"].fix(0.0), m.d["e"].fix(0.3)), None),
    "bounds of d": (lambda m: (m.d["a"].setlb(0.6), m.d["c"].setub(0.2)), None),
    "level": (level, None),
    "loose level": (loose_level, None),
    "inactive row": (lambda m: (row(lambda m: m.d["a"] <= 0.1)(m), m.edit.deactivate()), None),
    "parameters": (parameters, None),
}


FORMS = [("lazy", 3.0), ("lazy", 200.0), ("stated", 30.0), ("extended", 30.0)]
CASES = [(*form, edit) for form in FORMS for edit in EDITS if form[0] != "lazy" or edit != "row off"]  # it has no row


@pytest.mark.parametrize(("form", "C", "edit"), CASES)
def test_every_edit_is_honoured_or_refused(form, C, edit, small, optimum):
    change, named = EDITS[edit]
    model = mv.fsmulti(small, budget=2, C=C, form=form)
    change(model)
    if form != "stated" and named is not None:
        with pytest.raises(fs.ModelError, match="two-layer") as refusal:
            fs.solve(model, "two-layer")
        assert named in str(refusal.value)
        assert form != "lazy" or 'form="extended" or form="stated"' in str(refusal.value)
    if form == "lazy" and named is not None:
        with pytest.raises(fs.ModelError, match="two-layer"):
            fs.solve(model)
        return
    result, exact = fs.solve(model, gap=5e-6), optimum(edit, C)
    by = {"lazy": "two-layer", "stated": "row-generation", "extended": "clarabel" if named else "two-layer"}
    assert (result.solver, result.status) == (by[form], SolutionStatus.OPTIMAL)
    assert result.objective == pytest.approx(exact, rel=1e-5)
    assert result.bound <= exact * (1 + 1e-6)
    if form != "extended":
        assert (result.iterations["Bound"].dropna() <= exact * (1 + 1e-6)).all()
        assert (result.iterations["Incumbent"].dropna() >= exact * (1 - 1e-5)).all()
    assert result.details.get("violation", 0.0) <= 1e-6
    w = np.array([model.w[j].value or 0.0 for j in small.features])
    assert model.xi.value >= mv.risk(small, w, "f1") - 1e-7
    if form == "lazy":  # the weights and shares on the model have the objective that is reported
        d = {j: v.value for j, v in model.d.items()}
        omega = 0.5 * sum(x**2 / d[j] for j, x in zip(small.features, w, strict=True) if x)
        assert omega == pytest.approx(model.omega.value, rel=1e-9)
        assert omega + model.C.value * mv.risk(small, w, "f1") == pytest.approx(result.objective, rel=1e-9)
