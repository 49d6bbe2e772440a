"""Common rows and points of FS, its approximations, FSL and FSB."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression

from fsmodels.checks import share
from fsmodels.datasets.dataset import Dataset
from fsmodels.models.components import (
    changeable,
    latex_of,
    plane_change,
    plane_rows,
    put_plane,
    separating_plane,
    write_disjunctions,
)
from fsmodels.models.proofs.certified import ClassifierProof, Point, read_selection, read_weights, write
from fsmodels.models.proofs.equilibration import Columns
from fsmodels.models.shares import class_shares
from solvers.facts import Facts

MEANING = "lambda weighs the number of features against the error"


def bounded_plane(name: str, data: Dataset, penalty: float, *, stated: bool = True) -> pyo.ConcreteModel:
    """Return a model with lambda and the common rows; the rows of the data only if ``stated``."""
    model = separating_plane(name, data, stated=stated)
    model.penalty = changeable(partial(share, "penalty", meaning=MEANING), penalty, "(7) lambda")
    model.v = pyo.Var(model.features, domain=pyo.NonNegativeReals, doc="(7) bound on |w_j|")
    model.v_above_w = pyo.Constraint(
        model.features,
        rule=lambda m, j: LinearExpression(linear_coefs=[1.0, -1.0], linear_vars=[m.w[j], m.v[j]]) <= 0,
        doc=r"(7) w <= v \(w_j \le v_j \quad \forall\, j\)",
    )
    model.v_above_minus_w = pyo.Constraint(
        model.features,
        rule=lambda m, j: LinearExpression(linear_coefs=[1.0, 1.0], linear_vars=[m.w[j], m.v[j]]) >= 0,
        doc=r"(7) -v <= w \(-v_j \le w_j \quad \forall\, j\)",
    )
    return model


def price_features(model: pyo.ConcreteModel, number: str) -> None:
    """Add the objective: the error and the price of the features."""
    model.objective = pyo.Objective(
        expr=(1 - model.penalty) * model.error + model.penalty * model.features_used,
        doc=rf"{number} error and number of features \((1 - \lambda) \left({latex_of(model.error)}\right) "
        rf"+ \lambda {latex_of(model.features_used)}\)",
    )


def certified(model: pyo.ConcreteModel, data: Dataset, facts: Facts) -> pyo.ConcreteModel:
    """Attach facts with a certificate: the point w = 0, and the repair of a point by v = |w| and the best gamma, y, z.

    FSB without sigma has no repair, because r also depends on the price.
    """
    data = data.counting
    columns, shares, selects = Columns.of(data.X), class_shares(data), model.component("sigma") is not None
    smoothed = not selects and model.component("r") is None
    read = read_selection if selects else read_weights
    put = partial(put_point, selecting_component(model))
    proof = ClassifierProof(columns, data.y, shares, read, put, None, priced=False)
    facts.certificate = proof.certificate(plane_rows(model), repaired=selects or smoothed)
    facts.certificate.trivial_if_better = not smoothed
    facts.change = plane_change(
        model, columns, *(part for part in map(model.component, ("v", "u")) if part is not None)
    )
    facts.resolution = proof.resolution
    facts.attach(model)
    return model


def selecting_component(model: pyo.ConcreteModel) -> str:
    """Return the name of the component other than sigma that determines the selection of a built model, or ""."""
    return next((name for name in ("u", "unselected", "selected") if model.component(name) is not None), "")


def put_point(selection: str, model: pyo.ConcreteModel, point: Point) -> None:
    """Write a point on all components of a model, with the smallest v and u."""
    put_plane(model, point)
    write(model.v, np.abs(point.w))
    if selection == "u":
        write(model.u, np.abs(point.w))
        write(model.r, point.used)
    elif selection == "unselected":
        write(model.sigma, point.used)
        write(model.unselected, ~point.used)
    elif selection == "selected":
        write_disjunctions(model, point.used)


def smallest(model: pyo.ConcreteModel) -> None:
    """Set v and u to their smallest values, |w|; larger ones have the same cost if r_j = 1."""
    for w, v, u in zip(model.w.values(), model.v.values(), model.u.values(), strict=True):
        v.set_value(abs(w.value), skip_validation=True)
        u.set_value(abs(w.value), skip_validation=True)


def complementarity_of(model: pyo.ConcreteModel) -> float:
    """Return r'(u - v) + u'(e - r)."""
    sums = zip(model.r.values(), model.u.values(), model.v.values(), strict=True)
    return float(sum(r.value * (u.value - v.value) + u.value * (1 - r.value) for r, u, v in sums))
