"""What the forms of GMEB share: sets and moments, the classifier and its margins, and the rows on second moments."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression

from fsmodels.checks import positive
from fsmodels.datasets.checks import as_given
from fsmodels.datasets.dataset import Dataset
from fsmodels.models.gmeb.columns import Centred, centred
from fsmodels.models.gmeb.norm import Moments
from fsmodels.models.gmeb.proof import MomentProof
from fsmodels.models.parameters import changeable
from fsmodels.models.sample_rows import keep_rows, rows_of, slack_sum, weighted_sum
from fsmodels.models.shares import slack_weights


def proof_of(columns: Centred) -> MomentProof:
    """Return what proves answers on these columns."""
    return MomentProof(Moments(columns.v_plus, columns.v_minus), columns.X, columns.y, columns.s)


def centred_model(name: str, data: Dataset) -> tuple[pyo.ConcreteModel, Centred]:
    """Return a model with the index sets, means and second moments."""
    columns = centred(as_given(data, weights=True))
    model = pyo.ConcreteModel(name=name)
    model.features = pyo.Set(initialize=list(columns.features), doc="features, in the order of the data's columns")
    rows = range(data.n_samples) if data.counting is data else np.flatnonzero(slack_weights(data)).tolist()
    model.samples = pyo.Set(initialize=rows, doc="samples, in the order of the data's rows")
    shown = {
        "mean": (columns.mean, "mean of feature j, subtracted"),
        "v_plus": (columns.v_plus, "(8) mean square of centred feature j over class +1"),
        "v_minus": (columns.v_minus, "(8) mean square of centred feature j over class -1"),
    }
    for label, (values, doc) in shown.items():
        numbers = dict(zip(columns.features, values.tolist(), strict=True))
        model.add_component(label, pyo.Param(model.features, initialize=numbers, within=pyo.Reals, doc=doc))
    return model, columns


def price_of(name: str, number: float, meaning: str, doc: str) -> pyo.Param:
    """Return a positive parameter that can be changed between solves."""
    return changeable(partial(positive, name, meaning=meaning), number, doc)


def bounds_on_moments(model: pyo.ConcreteModel, R_plus: float, R_minus: float) -> tuple[float, float]:
    """Add R+ and R-; return them as floats."""
    model.R_plus = price_of("R_plus", R_plus, "R_plus bounds the second moments of class +1", "(11) R+")
    model.R_minus = price_of("R_minus", R_minus, "R_minus bounds the second moments of class -1", "(11) R-")
    return float(pyo.value(model.R_plus)), float(pyo.value(model.R_minus))


def add_classifier(model: pyo.ConcreteModel, columns: Centred, number: str) -> None:
    """Add w, offset, b, xi, the margin rows and the loss."""
    model.w = pyo.Var(model.features, initialize=0.0, doc=f"{number} effective weight of feature j")
    model.offset = pyo.Var(initialize=0.0, doc=f"{number} offset for centred columns")
    shift = LinearExpression(
        linear_coefs=[1.0, *(-columns.mean).tolist()], linear_vars=[model.offset, *model.w.values()]
    )
    model.b = pyo.Expression(expr=shift, doc="offset for the data as given: class +1 where w.x + b > 0")
    model.xi = pyo.Var(model.samples, domain=pyo.NonNegativeReals, initialize=1.0, doc=f"{number} slack of sample i")
    varying, slacks = set(columns.varying()), list(model.xi.values())
    weights = [model.w[j] for j in columns.features if j in varying]
    matrix = (columns.y[:, None] * columns.X)[:, [j in varying for j in columns.features]]
    rows = dict(zip(model.samples, zip(rows_of(matrix), columns.y.tolist(), slacks, strict=True), strict=True))

    def margin(m: pyo.ConcreteModel, i: int) -> Any:  # y_i (w.x_i + offset) + xi_i >= 1
        (coefs, _), sign, slack = rows[i]
        return LinearExpression(linear_coefs=[*coefs, sign, 1.0], linear_vars=[*weights, m.offset, slack]) >= 1

    doc = rf"{number} margin of sample i \(y_i (w^\top x_i + \mathrm{{offset}}) \ge 1 - \xi_i \quad \forall\, i\)"
    model.margin = pyo.Constraint(model.samples, rule=margin, doc=doc)
    keep_rows(model.margin, matrix, columns.y, np.ones(len(columns.y)), [*weights, model.offset, *slacks])
    model.loss = pyo.Expression(expr=weighted_sum(columns.s, slacks), doc=rf"{number} e'xi \({slack_sum(columns.s)}\)")


def add_scaled_classifier(model: pyo.ConcreteModel, columns: Centred, s: float, number: str) -> None:
    """Add the classifier whose weights are products; it starts towards the difference of the classes' means."""
    add_classifier(model, columns, number)
    plus, minus = (
        np.average(columns.X[rows], axis=0, weights=columns.s[rows]) for rows in (columns.y > 0, columns.y < 0)
    )
    between = plus - minus
    spread = np.sqrt(columns.v_plus + columns.v_minus)
    towards = np.divide(between, spread, out=np.ones_like(between), where=spread > 0)
    towards = towards / max(float(np.linalg.norm(towards)), 1e-10)
    start = dict(zip(columns.features, towards.tolist(), strict=True))
    model.u = pyo.Var(model.features, bounds=(-1.0, 1.0), initialize=start, doc=f"{number} w_j")
    model.sigma = pyo.Var(
        model.features, domain=pyo.NonNegativeReals, initialize=float(np.sqrt(s)), doc=f"{number} scale of feature j"
    )
    for j in columns.features:
        model.w[j].set_value(start[j] * np.sqrt(s))
    leave_out(columns, model.w, model.u, model.sigma)
    varying = columns.varying()
    doc = r"(14) effective weight \(w_j = \sigma_j u_j \quad \forall\, j\)"
    model.effective = pyo.Constraint(varying, rule=lambda m, j: m.w[j] == m.u[j] * m.sigma[j], doc=doc)
    doc = rf"{number} w'w <= 1 \(\sum_j u_j^2 \le 1\)"
    model.unit = pyo.Constraint(expr=pyo.quicksum(model.u[j] ** 2 for j in varying) <= 1, doc=doc)


def second_moments(model: pyo.ConcreteModel, columns: Centred, s: Any, number: str, latex: str) -> None:
    """Add the rows that bound the second moments by R+ and R-; ``latex`` stands for s_j."""
    moment_rows(model, columns, s, model.R_plus, model.R_minus, number, latex + r" \le R_{}")


def moment_rows(
    model: pyo.ConcreteModel, columns: Centred, s: Any, plus: Any, minus: Any, number: str, latex: str
) -> None:
    """Add sum_j v+_j s_j <= plus and sum_j v-_j s_j <= minus; ``latex`` is that of s_j <= plus, {} being the sign."""
    varying = columns.varying()
    for label, v, bound in (("plus", model.v_plus, plus), ("minus", model.v_minus, minus)):
        held = [(pyo.value(v[j]), s[j]) for j in varying if pyo.value(v[j]) > 0]
        row: Any = pyo.Constraint.Feasible  # a class whose samples all lie on the mean
        if held:
            row = pyo.quicksum(c * x for c, x in held) <= bound
        sign = "+" if label == "plus" else "-"
        doc = rf"{number} second moments of class {sign}1 \(\sum_j v^{sign}_j {latex.format(sign)}\)"
        model.add_component(f"second_{label}", pyo.Constraint(expr=row, doc=doc))


def leave_out(columns: Centred, *variables: Any) -> None:
    """Fix at 0 what belongs to columns that do not vary."""
    for j in set(columns.features) - set(columns.varying()):
        for part in variables:
            part[j].fix(0.0)
