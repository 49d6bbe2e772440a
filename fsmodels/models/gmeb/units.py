"""Numbers of one size for solvers of GMEB: w, s, the multipliers and their rows over powers of two."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo

from fsmodels.models.gmeb.columns import Centred
from fsmodels.models.proofs.equilibration import powers
from fsmodels.weights import FloatArray
from solvers.facts import Change

__all__ = ["dual_change", "nonconvex_change", "primal_change", "root_size"]


def primal_change(
    model: pyo.ConcreteModel, columns: Centred, factor: FloatArray, R: tuple[float, float]
) -> Change | None:
    """Return w = f w', s = f^2 s' and rows of one size; None where they are of one size as they are."""
    sides = powers(np.array(R))
    if np.all(factor == 1.0) and np.all(sides == 1.0):
        return None
    factors = [(model.w[j], f) for j, f in zip(columns.features, factor.tolist(), strict=True)]
    factors += [(model.s[j], f * f) for j, f in zip(columns.features, factor.tolist(), strict=True)]
    rows = [(row, side) for row, side in zip((model.second_plus, model.second_minus), sides.tolist(), strict=True)]
    if model.component("cone") is not None:
        sizes = powers((columns.v_plus + columns.v_minus) * factor**2)
        rows += [(model.cone[j], f) for j, f in zip(columns.features, sizes.tolist(), strict=True) if j in model.cone]
    if model.component("M") is not None:
        inverse = dict(zip(columns.features, (1.0 / factor).tolist(), strict=True))
        rows += [
            (row, inverse[j]) for part in (model.only_selected, model.only_selected_below) for j, row in part.items()
        ]
    if model.component("cap_plus") is not None:
        for part, side in zip((model.cap_plus, model.cap_minus), sides.tolist(), strict=True):
            rows += [(row, side) for row in part.values()]
    return Change(factors, rows=rows)


def nonconvex_change(
    model: pyo.ConcreteModel, columns: Centred, factor: FloatArray, R: tuple[float, float]
) -> Change | None:
    """Return w = f w', sigma = f sigma' and rows of one size; None where they are of one size as they are.

    The rows ``effective`` become w' = u sigma', and those on second moments sum_j v_j f_j^2 sigma'_j^2 / R <= 1.
    """
    sides = powers(np.array(R))
    if np.all(factor == 1.0) and np.all(sides == 1.0):
        return None
    by_feature = dict(zip(columns.features, factor.tolist(), strict=True))
    factors = [(part[j], f) for part in (model.w, model.sigma) for j, f in by_feature.items()]
    rows = [(row, 1.0 / by_feature[j]) for j, row in model.effective.items()]
    rows += list(zip((model.second_plus, model.second_minus), sides.tolist(), strict=True))
    return Change(factors, rows=rows)


def root_size(R_plus: float, R_minus: float) -> float:
    """Return a power of two near sqrt(R), 1 / R = 1 / R+ + 1 / R-, and 1 where that is within a factor of 8 of 1."""
    return 1.0 / float(powers(np.array([1.0 / R_plus + 1.0 / R_minus]) ** -0.5)[0])


def dual_change(model: pyo.ConcreteModel, columns: Centred, R_plus: float, R_minus: float) -> Change | None:
    """Return multipliers and rows of one size; None where they are of one size as they are.

    k of ``gmeb.proof`` is in the order of n sqrt(R) at most, mu_1 and R+ mu_+ of k, and r_j of k / R.
    """
    g = root_size(R_plus, R_minus)
    of_plus, of_minus = (1.0 / powers(g / np.array([R_plus, R_minus]))).tolist()
    size = powers(np.sqrt(columns.v_plus + columns.v_minus))
    if g == of_plus == of_minus == 1.0 and np.all(size == 1.0):
        return None
    factors = [(model.mu_1, g), (model.mu_plus, of_plus), (model.mu_minus, of_minus)]
    factors += [(r, 1.0 / g) for r in model.r.values()]
    rows = []
    for j, f in zip(columns.features, size.tolist(), strict=True):
        if j in model.weight:
            rows += [(model.weight[j], f), (model.moment[j], f * f * g)]
    return Change(factors, rows=rows)
