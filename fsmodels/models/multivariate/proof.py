r"""What the data prove of FSmulti (5) with all its rows: a bound from any multipliers, a point from any weights.

Bound
    For alpha >= 0 with sum alpha <= C and c = sum_k alpha_k p^k, p^k the slopes and q^k the sides of the rows, (5)
    costs at least ``alpha.q - 1/2 (the B largest c_j^2)`` (``multivariate``). Of t alpha that is ``t alpha.q - t^2 / 2
    (...)``, largest at ``t = alpha.q / (the B largest c_j^2)``, or where t sum alpha = C.
Point
    The least xi of w is its largest row, the best d is in closed form (``solvers.facts.k_support``), what it lacks of B
    goes where there is room, and t_j = w_j^2 / d_j.
Units
    w_j = f_j u_j with f_j = q_max / max_k |p_j^k|, or W = sqrt(2 C q_max), which no weight of the optimum exceeds as
    w = 0 costs C q_max, where that is less; xi is measured in q_max. Powers of two, as everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from fsmodels.models.proofs.certified import write
from fsmodels.models.proofs.equilibration import rounding
from solvers.facts import Certificate, Change, half_conjugate, half_norm

__all__ = ["LabellingRows", "resolution"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LabellingRows:
    """The rows ``w.slopes_k + xi >= sides_k`` of a model: (K, m) and (K,)."""

    slopes: FloatArray
    sides: FloatArray

    def __deepcopy__(self, memo: dict[int, Any]) -> LabellingRows:
        """Return these rows, which nobody changes: a model's clone shares them."""
        return self

    def certificate(self, model: pyo.ConcreteModel) -> Certificate:
        """Return the certificate of a model."""
        return Certificate([model.labelling], self.bound, self.repair, self.trivial)

    def change(self, model: pyo.ConcreteModel) -> Change | None:
        """Return the change of variables; None where nothing is to be paid."""
        top, steepest = float(self.sides.max(initial=0.0)), np.abs(self.slopes).max(axis=0)
        most = (2.0 * float(pyo.value(model.C)) * top) ** 0.5
        if not most > 0:
            return None
        factor = _powers(np.minimum(most, top / np.maximum(steepest, top / most))).tolist()
        unit = float(_powers(np.array(top)))
        factors = [(model.xi, unit)]
        rows = [(row, 1 / unit) for row in model.labelling.values()]
        for f, w, t, cone in zip(factor, model.w.values(), model.t.values(), model.cone.values(), strict=True):
            factors += [(w, f), (t, f**2)]
            rows.append((cone, f**-2))
        return Change(factors, rows=rows, most=model.C * top)

    def bound(self, model: Any, alpha: FloatArray | None) -> float:
        """Return what multipliers of the rows prove; without them, those of the row that w = 0 misses most."""
        C, budget = float(pyo.value(model.C)), int(pyo.value(model.budget))
        if alpha is None or not np.isfinite(alpha).all():
            alpha = np.zeros(len(self.sides))
            alpha[int(np.argmax(self.sides))] = C
        alpha = np.maximum(alpha, 0.0)
        total, gain = float(alpha.sum()), float(alpha @ self.sides)
        if not gain > 0:
            return 0.0
        cost = half_conjugate(alpha @ self.slopes, budget)
        t = min(C / total, gain / (2.0 * cost) if cost > 0 else np.inf)
        return max(0.0, t * gain - t * t * cost)

    def repair(self, model: Any) -> None:
        """Give the model's weights the shares and the slack that they need; w = 0 where they are no numbers."""
        w = np.array([np.nan if v.value is None else v.value for v in model.w.values()])
        if not np.isfinite(w).all():
            self.trivial(model)
            return
        budget = int(pyo.value(model.budget))
        d = half_norm(w, budget)[1]
        lack = budget - float(d.sum())
        d += np.diff(np.minimum(np.cumsum(1.0 - d), max(0.0, lack)), prepend=0.0)
        write(model.w, w)
        write(model.d, np.minimum(d, 1.0))
        write(model.t, np.divide(w**2, d, out=np.zeros_like(w), where=w != 0))
        model.xi.set_value(max(0.0, float((self.sides - self.slopes @ w).max(initial=0.0))), skip_validation=True)

    def trivial(self, model: Any) -> None:
        """Put w = 0 on the model."""
        write(model.w, np.zeros(self.slopes.shape[1]))
        self.repair(model)


def resolution(largest: FloatArray, side: float, slope: float, model: pyo.ConcreteModel) -> float:
    """Return what rounding leaves of C times the risk at the model's weights, at none where it has no values.

    ``largest`` (ndarray of shape (m,)): of each column. ``side``, ``slope``: the largest side of a row, and sum of
    absolute coefficients of the scores.
    """
    at = dict(zip(model.features, largest.tolist(), strict=True))
    held = [(at[j], v.value or 0.0) for j, v in model.w.items()]
    sizes, w = np.array([s for s, _ in held]), np.array([x for _, x in held])
    return float(pyo.value(model.C)) * (side * rounding(sizes, 0 * w, 0.0) + slope * rounding(sizes, w, 0.0))


def _powers(size: FloatArray) -> FloatArray:
    """Return powers of two next to sizes."""
    return np.ldexp(1.0, np.frexp(size)[1])
