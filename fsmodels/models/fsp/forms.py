r"""Forms of "w_j = 0 unless sigma_j = 1" in FSP, and their structure for drivers; ``fsp`` contains the theory.

Four of them contain SUB. ``form="rmp"`` contains only the relaxed master: sigma, eta and the rows on sigma; the oracle
of SUB provides the cuts (10). No part of it has the size of the data, so it is suitable for 10,000 features and
samples. Edits on sigma are possible, and only the decomposition drivers can solve it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression

from fsmodels.checks import choice, switch
from fsmodels.datasets.checks import dataset
from fsmodels.datasets.dataset import Dataset
from fsmodels.models.components import by_disjunctions, latex_of, write_disjunctions
from fsmodels.models.fsp.sub import FastSub, Reweighting, carry, error_of
from fsmodels.models.proofs.bounds import svm_bound
from fsmodels.models.proofs.certified import ClassifierProof, Point, by_sigma, read_selection, write
from fsmodels.models.proofs.equilibration import Columns
from fsmodels.models.proofs.svm import HINGE, LOSSES, SQUARED, LossKind
from fsmodels.models.shares import slack_weights
from fsmodels.models.svm import (
    cost_of_zero_weights,
    feature_weights,
    half_squares,
    soft_margin,
)
from solvers.facts import Change, RowCut, Structure

UNLESS = "(FSP) w_j = 0 unless sigma_j = 1"
FORMS = ["perspective", "bilinear", "big-m", "indicator"]
RMP = "rmp"
BOUNDS = {  # W
    LossKind(HINGE, True): "sqrt(2 C min(l+, l-))",
    LossKind(HINGE, False): "sqrt(C l)",
    LossKind(SQUARED, True): "sqrt(2 C l+ l- / l)",
    LossKind(SQUARED, False): "sqrt(C l / 2)",
}


def selecting_svm(name: str, data: Dataset, C: float, form: str, kind: LossKind) -> pyo.ConcreteModel:
    """Return the common rows and variables of FSP-M and FSP-lambda in a form."""
    choice("loss", kind.loss, list(LOSSES))
    switch("intercept", kind.free_b, "an offset b")
    stated = choice("form", form, [*FORMS, RMP]) != RMP
    model = soft_margin(name, data, C, kind.loss) if stated else feature_weights(name, data, C)
    if not kind.free_b:
        model.b.fix(0.0)
    if stated:
        W = weight_bound(data, model.C, kind.loss, intercept=kind.free_b)
        model.W = pyo.Expression(expr=W, doc="(FSP) |w_j| <= W at the optimum of every sigma")
    if form != "indicator":
        model.sigma = pyo.Var(model.features, domain=pyo.Binary, doc="(FSP) 1 if feature j is selected")
    if not stated:
        model.eta = pyo.Var(domain=pyo.NonNegativeReals, doc="(10) -sigma_0, value of SUB at least")
        return model
    WRITE[form](model, W)
    if form != "perspective":
        doc = r"(FSP) 1/2 sum w_j^2 \(\tfrac12 \lVert w \rVert^2\)"
        model.norm = pyo.Expression(expr=half_squares(list(model.w.values())), doc=doc)
    return model


def svm_cost(model: pyo.ConcreteModel) -> tuple[Any, str]:
    """Return the objective of SUB, margin and slacks, and its LaTeX."""
    if not hasattr(model, "norm"):
        return model.eta, r"\eta"
    return model.norm + model.C * model.loss, f"{latex_of(model.norm)} + C {latex_of(model.loss)}"


def weight_bound(data: Dataset, C: Any, loss: str = HINGE, *, intercept: bool = True) -> Any:
    """Return W with |w_j| <= W in the optimum of the SVM on any features (proof in ``fsp``).

    ``C``: a number, or a mutable parameter of which the result is an expression.
    """
    kind = LossKind(loss, intercept)
    return ((0.5 if kind.squared else 1.0) * cost_of_zero_weights(dataset(data), C, kind)) ** 0.5


def _perspective(model: pyo.ConcreteModel, W: Any) -> None:
    model.t = pyo.Var(model.features, domain=pyo.NonNegativeReals, doc="(FSP) w_j^2 if sigma_j = 1")
    doc = rf"{UNLESS} \(w_j^2 \le \sigma_j t_j \quad \forall\, j\)"
    model.only_selected = pyo.Constraint(model.features, rule=lambda m, j: m.w[j] ** 2 <= m.t[j] * m.sigma[j], doc=doc)
    t = list(model.t.values())
    norm = LinearExpression(linear_coefs=[0.5] * len(t), linear_vars=t)
    model.norm = pyo.Expression(expr=norm, doc=r"(FSP) 1/2 sum w_j^2 \(\tfrac12 \sum_j t_j\)")


def _bilinear(model: pyo.ConcreteModel, W: Any) -> None:
    model.u = pyo.Var(model.features, bounds=(-W, W), doc="(FSP) w_j of the paper")
    doc = r"(FSP) effective weight sigma_j w_j \(w_j = \sigma_j u_j \quad \forall\, j\)"
    model.only_selected = pyo.Constraint(model.features, rule=lambda m, j: m.w[j] == m.sigma[j] * m.u[j], doc=doc)


def _big_m(model: pyo.ConcreteModel, W: Any) -> None:
    doc = rf"{UNLESS} \(w_j \le W \sigma_j \quad \forall\, j\)"
    model.only_selected = pyo.Constraint(model.features, rule=lambda m, j: m.w[j] <= W * m.sigma[j], doc=doc)
    doc = rf"{UNLESS} \(-W \sigma_j \le w_j \quad \forall\, j\)"
    model.only_selected_below = pyo.Constraint(model.features, rule=lambda m, j: m.w[j] >= -W * m.sigma[j], doc=doc)


def _indicator(model: pyo.ConcreteModel, W: Any) -> None:
    by_disjunctions(model, "(FSP)")
    model.BigM = pyo.Suffix(direction=pyo.Suffix.LOCAL, doc="(FSP) W, for gdp.bigm")
    for j in model.features:
        model.BigM[model.dropped[j].weight] = W


WRITE: dict[str, Callable[[pyo.ConcreteModel, Any], None]] = {
    "perspective": _perspective,
    "bilinear": _bilinear,
    "big-m": _big_m,
    "indicator": _indicator,
}
# Variables of a form in addition to w, b, xi; its coupling components.
_AUXILIARY = {"perspective": ["t"], "bilinear": ["u"], "big-m": [], "indicator": []}
_COUPLING = {form: ["only_selected"] for form in FORMS} | {"big-m": ["only_selected", "only_selected_below"]}


def _put(form: str, kind: LossKind, s: np.ndarray, model: pyo.ConcreteModel, point: Point) -> None:
    """Write a point on the components of a form; the user may have added components with the names of other forms."""
    write(model.w, point.w)
    model.b.set_value(point.b)
    if form == "indicator":
        write_disjunctions(model, point.used)
    else:
        write(model.sigma, point.used)
    if form == RMP:
        cost = kind.priced(float(pyo.value(model.C)) * s).cost(point.xi)
        model.eta.set_value(0.5 * float(point.w @ point.w) + cost)
        return
    write(model.xi, point.xi)
    if form == "perspective":
        write(model.t, point.w**2)
    elif form == "bilinear":
        write(model.u, point.w)


def _change(model: pyo.ConcreteModel, columns: Columns, form: str, most: Any) -> Change | None:
    """Return the change of variables w = f u with rows of one size: t = f^2 t', and w = f w' for w of the paper.

    f is the size of w by the column and by W for the first C. ``most``, the cost of w = 0, is the unit of the
    objective: if it were 1e-6, all differences would be below the tolerances.
    """
    w, W = list(model.w.values()), float(pyo.value(model.W))
    change = columns.change([(1.0, w)], (1.0, model.b), W)
    if change is None:
        return None
    change.most = most
    factor = columns.sizes(W).tolist()
    if form == "indicator":
        return change
    for f, *rows in zip(factor, *(getattr(model, name).values() for name in _COUPLING[form]), strict=True):
        change.rows += [(row, f**-2 if form == "perspective" else 1 / f) for row in rows]
    if form == "perspective":
        change.factors += [(t, f**2) for t, f in zip(model.t.values(), factor, strict=True)]
    elif form == "bilinear":
        change.factors += [(u, f) for u, f in zip(model.u.values(), factor, strict=True)]
    return change


def with_structure(model: pyo.ConcreteModel, data: Dataset, form: str, kind: LossKind) -> pyo.ConcreteModel:
    """Attach the structure for drivers and a snapshot of the built model."""
    data = data.counting
    columns, s = Columns.of(data.X), slack_weights(data)
    sigma, w = list(model.sigma.values()), list(model.w.values())
    fast = FastSub(model, data, form, kind)
    put, lower = partial(_put, form, kind, s), partial(svm_bound, kind=kind)
    proof = ClassifierProof(columns, data.y, s, read_selection, put, lower, kind)
    structure = Structure(
        complicating=sigma,
        subproblem=[],
        switches=list(zip(sigma, w, strict=True)),
        oracle=fast,
        relaxation=fast.relax,
        detached=fast.detached,
        adapt=fast.adapt,
        score=error_of,
        selected=by_sigma,
        suggest=Reweighting(model),
        floor=0.0,
        resolution=proof.resolution,
        parameters=fast.parameters,
        identity=fast.identity,
        carry=carry,
        starts=[np.ones(len(sigma))],
        certificate=proof.certificate([]),
        default_solver="branch-and-cut",
    )
    if form == RMP:
        structure.subproblem = [model.w, model.b, model.eta]
        structure.coupling, structure.implicit = [], 'the cuts of its oracle, by form="rmp"'
        structure.attach(model)
        return model
    auxiliary = [getattr(model, name) for name in _AUXILIARY[form]]
    structure.subproblem = [model.w, model.b, model.xi, *auxiliary]
    structure.rows, structure.terms = [model.margin], [model.norm, model.loss]
    structure.coupling = [getattr(model, name) for name in _COUPLING[form]]
    own = [v for component in auxiliary for v in component.values()]
    structure.cut = RowCut(w, squares=own) if form == "perspective" else RowCut(w, auxiliary=own)
    structure.change = _change(model, columns, form, cost_of_zero_weights(data, model.C, kind))
    if form != "perspective":
        structure.only_as_built = f'the bound |w_j| <= {BOUNDS[kind]} of form="{form}"'
    structure.attach(model)
    return model
