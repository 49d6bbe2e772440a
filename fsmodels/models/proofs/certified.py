"""Certificate of a linear classifier with slacks: lower bounds, repaired points, and the point w = 0.

The builder of a model provides functions that read and write its points; ``bounds`` contains the mathematics.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo

from fsmodels.models.proofs.bounds import slacks
from fsmodels.models.proofs.equilibration import Columns, SharedByClones, rounding
from fsmodels.models.proofs.svm import PLAIN, LossKind
from fsmodels.weights import FloatArray, Mask
from solvers.facts import Certificate

FRACTIONAL = 1e-3  # distance from 0 and from 1; solvers leave 1e-5 of an integer


@dataclass(frozen=True)
class Point:
    """A linear classifier in the units of the model: w (n,), b, slacks (l,), and the selected features (n,)."""

    w: FloatArray
    b: float
    xi: FloatArray
    used: Mask


@dataclass(frozen=True)
class ClassifierProof(SharedByClones):
    """Proof of a model with rows ``y_i (w.x_i + b) + xi_i >= 1``.

    - ``columns``, ``y``: the data.
    - ``s`` (l,): price of one unit of each slack, times the parameter C of the model if ``priced``.
    - ``read``: model -> (w, used), the weights (n,) and the selected features; None if features are partly selected, as
      in a relaxation.
    - ``put``: (model, point); writes a point on all components.
    - ``lower``: (columns, y, prices, multipliers or None) -> lower bound. None: the objective is a sum of non-negative
      terms.
    - ``kind``: the loss of the slacks.
    """

    columns: Columns
    y: FloatArray
    s: FloatArray
    read: Callable[[Any], tuple[FloatArray, Mask] | None]
    put: Callable[[Any, Point], None]
    lower: Callable[[Columns, FloatArray, FloatArray, FloatArray | None], float] | None
    kind: LossKind = PLAIN
    priced: bool = True

    def certificate(self, rows: list[Any], *, repaired: bool = True) -> Certificate:
        """Return the certificate of a model; ``rows`` are the margins in the order of the samples."""
        bound = None if self.lower is None else self.bound
        repair = self.repair if repaired else None
        return Certificate(rows, bound, repair, self.trivial, zero_bound, offset_variable)

    def prices(self, model: Any) -> FloatArray:
        """Return the price of each slack (l,) for the present parameters."""
        return float(pyo.value(model.C)) * self.s if self.priced else self.s

    def bound(self, model: Any, alpha: FloatArray | None) -> float:
        """Return the lower bound that multipliers prove."""
        assert self.lower is not None
        return self.lower(self.columns, self.y, self.prices(model), alpha)

    def repair(self, model: Any) -> None:
        """Set the best offset and the smallest slacks for the weights of the model; w = 0 if these are not finite."""
        found = self.read(model)
        if found is None:
            return
        w, used = found
        if np.isfinite(w).all():
            self.put(model, Point(*self._slacks(model, np.where(used, w, 0.0)), used))
        else:
            self.trivial(model)

    def trivial(self, model: Any) -> None:
        """Set w = 0, or the nearest weights within their bounds, with the best offset."""
        w = np.array([_nearest_to_0(v) for v in model.w.values()])
        self.put(model, Point(*self._slacks(model, w), w != 0))

    def resolution(self, model: Any) -> float:
        """Return the rounding error of the cost of the slacks.

        Slacks that are off by d change the sum of squares by at most 2 d s'xi + S d^2, S the sum of s, and s'xi is at
        most sqrt(S sum_i s_i xi_i^2), where that sum is at most that of w = 0.
        """
        b = pyo.value(model.b, exception=False)
        w = np.nan_to_num(values_of(model.w))
        d, prices = rounding(self.columns.largest, w, 0.0 if b is None else float(b)), self.prices(model)
        total = float(prices.sum())
        if self.kind.squared:
            return d * (2.0 * (total * self.kind.cost_of_zero_weights(self.y, prices)) ** 0.5 + total * d)
        return total * d

    def _slacks(self, model: Any, w: FloatArray) -> tuple[FloatArray, float, FloatArray]:
        return slacks(self.columns, self.y, self.prices(model), w, _offset_bounds(model), squared=self.kind.squared)


def zero_bound(model: Any) -> float:
    """Return 0, a lower bound of a sum of non-negative terms."""
    return 0.0


def offset_variable(model: Any) -> list[Any]:
    """Return the variable of the offset: ``gamma`` = -b in models with that variable, otherwise ``b``."""
    gamma = model.component("gamma")
    return [model.b if gamma is None else gamma]


def _offset_bounds(model: Any) -> tuple[float, float]:
    """Return the bounds of b."""
    least, most = _bounds(*offset_variable(model))
    return (least, most) if model.component("gamma") is None else (-most, -least)


def _nearest_to_0(v: Any) -> float:
    least, most = _bounds(v) if v.is_variable_type() else (0.0, 0.0)
    return min(max(0.0, least), most)


def _bounds(v: Any) -> tuple[float, float]:
    if v.fixed:
        return float(v.value), float(v.value)
    return -np.inf if v.lb is None else float(v.lb), np.inf if v.ub is None else float(v.ub)


def write(variables: Any, values: Any) -> None:
    """Set the values of an indexed variable, in order."""
    for v, value in zip(variables.values(), np.asarray(values, dtype=float).tolist(), strict=True):
        v.set_value(value, skip_validation=True)


def write_free(variables: Any, values: Any) -> None:
    """Set the values of the variables that are not fixed; ``values``: of all of them, in order."""
    for v, value in zip(variables.values(), np.asarray(values, dtype=float).tolist(), strict=True):
        if not v.fixed:
            v.set_value(value, skip_validation=True)


def read_weights(model: Any) -> tuple[FloatArray, Mask]:
    """Return ``model.w`` and True for each feature, for a model without selection."""
    w = values_of(model.w)
    return w, np.ones(len(w), dtype=bool)


def by_sigma(model: Any) -> list[str]:
    """Return the features whose sigma is 1."""
    return [j for j in model.features if (model.sigma[j].value or 0.0) > 0.5]


def read_selection(model: Any) -> tuple[FloatArray, Mask] | None:
    """Return ``model.w`` and the selected features; None if sigma of a feature with a weight is fractional."""
    w, sigma = values_of(model.w), values_of(model.sigma)
    if np.any((np.abs(sigma - np.round(sigma)) > FRACTIONAL) & (w != 0)):
        return None
    return w, sigma > 0.5


def values_of(component: Any, missing: float = np.nan) -> FloatArray:
    """Return the values of an indexed component; ``missing`` for those without a value."""
    values = [pyo.value(part, exception=False) for part in component.values()]
    return np.array([missing if value is None else float(value) for value in values])
