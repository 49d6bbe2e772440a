"""Every formulation shows itself: each objective, row and choice has an equation."""

import inspect
import re

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.gdp import Disjunction
from pyomo.mpec import Complementarity

import fsmodels as fs

RADII = {"R_plus": 1.0, "R_minus": 1.0}
KERNEL = {"C": 1.0, "penalty": 1.0}
AT = KERNEL | {"u": np.linspace(-1, 1, 12), "b": 0.1}
GIVEN = {
    "fsp.fsp_m": {"max_features": 2},
    "fsp.fsp_lambda": {"penalty": 1.0},
    "fsp.sub": {"sigma": ["a"]},
    "fsp.rmp": {"alpha": np.zeros(12), "C": 1.0, "max_features": 2},
    **{f"concave.{name}": {"penalty": 0.1} for name in ("fs", "fss", "fsv", "fsl", "fsb")},
    **{f"gmeb.{name}": RADII for name in ("primal", "dual", "nonconvex")},
    "gmeb.penalized": {"C_plus": 1.0, "C_minus": 1.0},
    "multivariate.fsmulti": {"budget": 2},
    "multivariate.fgm": {"budget": 2},
    **{f"kernel.{name}": KERNEL for name in ("full_fs", "gmkl", "ao_simple", "ao_margin", "ao_efs")},
    **{f"kernel.{name}": AT for name in ("fs", "xfs", "efs")},
    "kernel.svm": {"z": np.ones(3), "C": 1.0},
}
REFUSED = {("gmeb.dual", True), ("gmeb.nonconvex", True)}
OF_GROUPS = {"multivariate.group_primal", "multivariate.group_dual"}  # built from what fsmulti's driver holds
FORMS = {
    "fsp": fs.fsp.FORMS,
    "concave.fs": fs.concave.FORMS,
    "gmeb.primal": fs.gmeb.FORMS,
    "multivariate": fs.multivariate.FORMS,
    "kernel": fs.kernel.FORMS,
}


def builders():
    """Yield each public function that returns a model."""
    for module in ("svm", "fsp", "concave", "gmeb", "multivariate", "kernel"):
        for name in getattr(fs, module).__all__:
            made = getattr(getattr(fs, module), name)
            if inspect.isfunction(made) and "ConcreteModel" in str(inspect.signature(made).return_annotation):
                yield f"{module}.{name}", made


def cases():
    """Yield each builder as it is, with each of its forms, and with sigma or another loss."""
    for name, build in builders():
        takes = inspect.signature(build).parameters
        options = [{}]
        if "form" in takes:
            options += [{"form": form} for form in FORMS.get(name, FORMS.get(name.split(".")[0], ()))]
        if "sigma" in takes and isinstance(takes["sigma"].default, bool):
            options.append({"sigma": True})
        if "loss" in takes and takes["loss"].default == "hinge":
            options.append({"loss": "squared-hinge"})
        for words in options:
            if name not in OF_GROUPS:
                yield name, build, words


CASES = [*cases()]


@pytest.fixture(scope="module")
def data():
    return fs.load_dataset("bupa").scaled("standard")


@pytest.fixture(scope="module")
def small():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3))
    return fs.Dataset.from_arrays(X, np.where(X[:, 0] > 0, 1, -1), ["a", "b", "c"]).scaled("standard")


@pytest.mark.parametrize(("name", "build", "words"), CASES, ids=[f"{n}-{[*w.values()]}" for n, _, w in CASES])
def test_every_component_has_an_equation(small, name, build, words):
    if (name, *words.values()) in REFUSED:
        with pytest.raises(fs.ParameterError):
            build(small, **GIVEN.get(name, {}), **words)
        return
    model = build(small, **GIVEN.get(name, {}), **words)
    shown = fs.show(model)
    by_name = {line.name: line for line in shown.equations}
    kinds = (pyo.Objective, pyo.Constraint, Disjunction, Complementarity, pyo.SOSConstraint, pyo.LogicalConstraint)
    for component in model.component_objects(kinds, descend_into=pyo.Block):
        line = by_name[component.name]
        assert line.size == sum(part.active for part in component.values())
        assert line.remark in ("", f"{len(component) - line.size} of {len(component)} switched off")
        assert line.doc
        if len(component):
            assert re.search(r"\\le|\\ge|=|\\min|\\max|\\perp|SOS|veebar", line.latex), line.latex
        assert line.text == ""
        bare = re.sub(r"\\[{}]", "", line.latex)
        assert bare.count("{") == bare.count("}")
    rows = sum(c.active for c in model.component_data_objects(pyo.Constraint, descend_into=pyo.Block))
    assert shown.headline.endswith(f" {rows:,} rows.")
    assert len(shown._repr_html_()) < 12_000


def test_fsp_m_reads_as_in_the_paper(data):
    said = {line.name: line.latex for line in fs.show(fs.fsp.fsp_m(data, max_features=2)).equations}
    assert said["objective"] == r"\min\; \tfrac12 \sum_j t_j + C \sum_i \xi_i"
    assert said["margin"] == r"y_i (w^\top x_i + b) \ge 1 - \xi_i \quad \forall\, i"
    assert said["only_selected"] == r"w_j^2 \le \sigma_j t_j \quad \forall\, j"
    assert said["cardinality"] == r"\sum_j \sigma_j \le \mathrm{max\_features}"
    assert said["sigma"] == r"\sigma \in \{0, 1\}^{6}"


def test_weights_of_samples_are_in_the_sums(data):
    weighted = data.weighted(np.where(data.y > 0, 2.0, 1.0), None)
    for model in (fs.svm.l2_svm(weighted, loss="squared-hinge"), fs.concave.fs(weighted, penalty=0.1)):
        said = {line.name: line.latex for line in fs.show(model).equations}
        assert r"\sum_i s_i \xi_i^2" in said["objective"] or r"\sum_{i \in A} s_i y_i" in said["objective"]


def test_the_users_rows_and_edits_are_shown_and_marked(data):
    model = fs.fsp.fsp_m(data, max_features=2)
    model.budget = pyo.Constraint(expr=sum((k + 1) * s for k, s in enumerate(model.sigma.values())) <= 8)
    model.pair = fs.side_constraints.requires(model, "sgot", "sgpt")
    model.margin[3].deactivate()
    model.only_selected["sgpt"].set_value(model.w["sgpt"] ** 2 <= 2 * model.sigma["sgpt"])
    model.objective.set_value(model.objective.expr + model.b**2)
    model.w["mcv"].fix(0)
    said = {line.name: line for line in fs.show(model).equations}
    assert (said["budget"].remark, said["budget"].text[:13]) == ("added", "sigma[mcv] + ")
    assert (said["pair"].remark, said["pair"].text) == ("added", "sigma[sgot] <= sigma[sgpt]")
    assert (said["margin"].size, said["margin"].remark) == (344, "1 of 345 switched off")
    assert said["only_selected"].remark == "1 of 6 changed"
    assert said["only_selected"].latex == r"w_j^2 \le \sigma_j t_j \quad \forall\, j"
    assert said["only_selected"].text == "w[sgpt]**2 <= 2*sigma[sgpt]"
    assert said["objective"].remark == "changed"
    assert said["objective"].text.endswith("+ b**2")
    assert said["w"].remark == "1 of 6 fixed"
    assert said["cardinality"].remark == ""


def test_a_model_that_leaves_rows_to_a_driver_says_so(data):
    assert "left to" in fs.show(fs.fsp.fsp_m(data, max_features=2, form="rmp")).unstated
    assert "left to" in fs.show(fs.multivariate.fsmulti(data, budget=2))._repr_html_()
    assert fs.show(fs.fsp.fsp_m(data, max_features=2)).unstated == ""
