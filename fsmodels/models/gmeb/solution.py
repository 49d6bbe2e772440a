"""The solution of a GMEB model: the classifier, both forms of its weights, its features, the duality gap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyomo.environ as pyo

from fsmodels.errors import ModelError
from fsmodels.models.gmeb.norm import Moments
from fsmodels.models.proofs.certified import values_of
from fsmodels.weights import FloatArray, used
from solvers.facts import Separable, facts_of

TIGHT = 1e-5  # relative distance at which a cone binds


def classifier(model: pyo.ConcreteModel) -> tuple[FloatArray, float]:
    """Return (w, b) of a solved model of this module, for the data as given: class +1 where w.x + b > 0 (Theorem 19).

    Parameters
    ----------
    model : pyo.ConcreteModel
        With its values loaded; a dual also with its multipliers in ``model.dual``.

    Returns
    -------
    w : ndarray of shape (d,)
        1/unit of the feature.
    b : float

    Raises
    ------
    ModelError
        If the dual has no multipliers, or the model has no values.

    Examples
    --------
    >>> import fsmodels as fs
    >>> model = fs.gmeb.primal(fs.load_dataset("bupa").scaled("standard"), R_plus=2.0, R_minus=2.0)
    >>> result = fs.solve(model)
    >>> w, b = fs.gmeb.classifier(model)
    >>> w.shape
    (6,)
    """
    if model.component("mu") is None:
        if any(v.value is None for v in model.w.values()):
            raise ModelError(f'Model "{model.name}" has no solution loaded: solve it first, with fs.solve(model).')
        return values_of(model.w), float(pyo.value(model.b))
    w = _multipliers(model, model.weight)
    offset = float(model.dual[model.balance])
    return w, offset - float(w @ values_of(model.mean))


def has_multipliers(model: pyo.ConcreteModel) -> bool:
    """Return True if a dual has the multipliers that are its classifier."""
    return all(row in model.dual for row in (*model.weight.values(), model.balance))


def feasible_classifier(model: pyo.ConcreteModel) -> tuple[FloatArray, float]:
    """Return (w, b) of a dual, w shrunk until it satisfies (15); without multipliers w = 0."""
    if not has_multipliers(model):
        labels = model.balance.body.linear_coefs
        signs = sum(float(pyo.value(m.ub)) * y for m, y in zip(model.mu.values(), labels, strict=True))
        return np.zeros(len(model.features)), 1.0 if signs >= 0 else -1.0
    w, b = classifier(model)
    small = w / max(1.0, _worst_ratio(model, w) * (1 + 1e-15))
    return small, b + float((w - small) @ values_of(model.mean))


def scaling(model: pyo.ConcreteModel) -> pd.DataFrame:
    """Return the weights of a solved model in both forms, one row per feature: w = u sigma, s = sigma^2 (14).

    Parameters and errors as for ``classifier``.

    Returns
    -------
    pandas.DataFrame
        Index: features. ``w`` (1/unit), ``s`` (1/unit^2) as in (15); ``u``, ``sigma`` (1/unit) as in (11).

    Examples
    --------
    >>> import fsmodels as fs
    >>> model = fs.gmeb.primal(fs.load_dataset("bupa").scaled("standard"), R_plus=2.0, R_minus=2.0)
    >>> result = fs.solve(model)
    >>> table = fs.gmeb.scaling(model)
    >>> bool((table["u"] ** 2).sum() <= 1 + 1e-6)
    True
    """
    w, _ = classifier(model)
    if model.component("u") is not None:
        u, sigma = values_of(model.u), values_of(model.sigma)
        s = sigma**2
    else:
        s = values_of(model.s) if model.component("mu") is None else _multipliers(model, model.moment)
        sigma = np.sqrt(np.maximum(s, 0.0))
        u = np.divide(w, sigma, out=np.zeros_like(w), where=sigma > 0)
    return pd.DataFrame({"w": w, "s": s, "u": u, "sigma": sigma}, index=list(model.features))


def duality_gap(primal_value: float, dual_value: float) -> float:
    """Return the relative difference of a value of (15) and one of (16), which is >= 0 at feasible points.

    Examples
    --------
    >>> duality_gap(200.0, 199.0)
    0.005
    """
    return (primal_value - dual_value) / max(abs(primal_value), 1e-10 * abs(dual_value), np.finfo(float).tiny)


def _worst_ratio(model: pyo.ConcreteModel, w: FloatArray) -> float:
    """Return the largest ratio of left to right side of the rows of ``gmeb.norm`` at weights w."""
    moments = Moments(values_of(model.v_plus), values_of(model.v_minus))
    return moments.worst(w, pyo.value(model.R_plus), pyo.value(model.R_minus)).ratio


def _multipliers(model: pyo.ConcreteModel, rows: Any) -> FloatArray:
    """Return the multipliers of rows over features; 0 for excluded features."""
    if any(row not in model.dual for row in rows.values()):
        raise ModelError(
            f'Model "{model.name}" has no multipliers of "{rows.name}", which are the classifier: solve it with a '
            "solver that returns duals, such as clarabel."
        )
    return np.array([model.dual[rows[j]] if j in rows else 0.0 for j in model.features], dtype=float)


def by_multiplier(sizes: FloatArray, model: Any) -> list[str]:
    """Return the features with a multiplier; without multipliers, those with a tight cone, as w_j != 0 requires."""
    if all(row in model.dual for row in model.weight.values()):
        w = _multipliers(model, model.weight)
        return [j for j, uses in zip(model.features, used(w, sizes).tolist(), strict=True) if uses]
    values = ((j, model.q[j].value ** 2, 4 * model.mu_1.value * model.r[j].value) for j in model.weight)
    return [j for j, square, product in values if square > 0 and square >= product * (1 - TIGHT)]


def norm_violation(model: pyo.ConcreteModel) -> float:
    """Return the relative violation of the worst row of ``gmeb.norm`` by the weights of a convex primal (15).

    At s_j = 0, w_j = 1e-4 satisfies ``w_j^2 <= s_j t_j`` within 1e-8, so that solvers with this tolerance report a
    value below the optimum as optimal.
    """
    facts = facts_of(model)
    rows = [model.component(name) for name in ("cone", "unit", "second_plus", "second_minus")]
    edited = isinstance(facts, Separable) and facts.own_edits(model)
    if edited or not all(part.active for part in rows if part is not None):
        return 0.0  # the edited rows have another meaning
    return max(0.0, _worst_ratio(model, values_of(model.w)) - 1)
