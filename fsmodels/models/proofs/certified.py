"""What proves the answers of a model of linear classifiers with slacks: bounds, repaired points, the point w = 0.

A builder says how its weights are read and how a point is put on its components; the mathematics is in ``bounds``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from fsmodels.models.proofs.bounds import slacks
from fsmodels.models.proofs.equilibration import Columns
from solvers.facts import Certificate

__all__ = ["Classified", "Point"]

FloatArray = NDArray[np.float64]

IN_PART = 1e-3  # from 0 and from 1; solvers leave 1e-5 of a whole number


@dataclass(frozen=True)
class Point:
    """A linear classifier on the data in the model's units: w (n,), b, slacks (l,), and which features are selected."""

    w: FloatArray
    b: float
    xi: FloatArray
    used: NDArray[np.bool_]


@dataclass(frozen=True)
class Classified:
    """A model whose rows are ``y_i (w.x_i + b) + xi_i >= 1``, and how to read and to write it.

    - ``columns``, ``y``: the data.
    - ``shares``: model -> what each slack costs, (l,); read anew, as parameters may change.
    - ``read``: model -> (w, used): weights (n,) and selected features as the model's values have them; None where
      features are used in part, as in a relaxation.
    - ``put``: (model, point): write a point on all components.
    - ``lower``: (model, columns, y, multipliers or None) -> lower bound; without one the objective is a sum of what is
      at least 0.
    - ``squared``: whether the squares of the slacks cost that.
    """

    columns: Columns
    y: FloatArray
    shares: Callable[[Any], FloatArray]
    read: Callable[[Any], tuple[FloatArray, NDArray[np.bool_]] | None]
    put: Callable[[Any, Point], None]
    lower: Callable[[Any, Columns, FloatArray, FloatArray | None], float] | None
    squared: bool = False

    def __deepcopy__(self, memo: dict[int, Any]) -> Classified:
        """Return this object, which holds data only: a model's clone shares it."""
        return self

    def certificate(self, rows: list[Any], *, repaired: bool = True) -> Certificate:
        """Return the certificate of a model; ``rows`` are the margins, in the samples' order."""
        bound = None if self.lower is None else self.bound
        repair = self.repair if repaired else None
        return Certificate(rows, bound, repair, self.trivial, nothing, offset)

    def bound(self, model: Any, alpha: FloatArray | None) -> float:
        """Return what multipliers prove."""
        assert self.lower is not None
        return self.lower(model, self.columns, self.y, alpha)

    def repair(self, model: Any) -> None:
        """Give the model's weights their best offset and the slacks they need; w = 0 where they are no numbers."""
        found = self.read(model)
        if found is None:
            return
        w, used = found
        if np.isfinite(w).all():
            self.put(model, Point(*self._slacks(model, np.where(used, w, 0.0)), used))
        else:
            self.trivial(model)

    def trivial(self, model: Any) -> None:
        """Put w = 0 on the model, or what its bounds on w leave that is nearest, with the best offset."""
        none = np.array([_nearest_to_0(v) for v in model.w.values()])
        self.put(model, Point(*self._slacks(model, none), none != 0))

    def _slacks(self, model: Any, w: FloatArray) -> tuple[FloatArray, float, FloatArray]:
        return slacks(self.columns, self.y, self.shares(model), w, _offsets(model), squared=self.squared)


def nothing(model: Any) -> float:
    """Return 0, a bound of every sum of what is at least 0."""
    return 0.0


def offset(model: Any) -> list[Any]:
    """Return the variable of the offset: gamma = -b where the model has it, else b."""
    gamma = model.component("gamma")
    return [model.b if gamma is None else gamma]


def _offsets(model: Any) -> tuple[float, float]:
    """Return the least and the largest offset that the model allows, one number where it is fixed."""
    least, most = _ends(*offset(model))
    return (least, most) if model.component("gamma") is None else (-most, -least)


def _nearest_to_0(v: Any) -> float:
    least, most = _ends(v) if v.is_variable_type() else (0.0, 0.0)
    return min(max(0.0, least), most)


def _ends(v: Any) -> tuple[float, float]:
    if v.fixed:
        return float(v.value), float(v.value)
    return -np.inf if v.lb is None else float(v.lb), np.inf if v.ub is None else float(v.ub)


def write(variables: Any, values: Any) -> None:
    """Set the values of an indexed variable, in order."""
    for v, value in zip(variables.values(), np.asarray(values, dtype=float).tolist(), strict=True):
        v.set_value(value, skip_validation=True)


def weights(model: Any) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Read ``model.w``, of a model without selection."""
    w = np.array([_number(v) for v in model.w.values()])
    return w, np.ones(len(w), dtype=bool)


def by_sigma(model: Any) -> list[str]:
    """Return the features whose sigma is 1."""
    return [j for j in model.features if (model.sigma[j].value or 0.0) > 0.5]


def chosen(model: Any) -> tuple[FloatArray, NDArray[np.bool_]] | None:
    """Read ``model.w`` and ``model.sigma``; None where a feature with a weight is selected in part."""
    w, sigma = weights(model)[0], np.array([_number(v) for v in model.sigma.values()])
    if np.any((np.abs(sigma - np.round(sigma)) > IN_PART) & (w != 0)):
        return None
    return w, sigma > 0.5


def _number(part: Any) -> float:
    value = pyo.value(part, exception=False)
    return np.nan if value is None else float(value)
