r"""Proofs from the data for FSmulti (5) and FGM with all rows: a bound from any multipliers, a point from any weights.

Bound
    For alpha >= 0 with sum alpha <= C and c = sum_k alpha_k p^k, p^k the slopes and q^k the sides of the rows, (5)
    costs at least ``alpha.q - 1/2 (the B largest c_j^2)`` (``multivariate``). Of t alpha that is ``t alpha.q - t^2 / 2
    (...)``, largest at ``t = alpha.q / (the B largest c_j^2)``, or where t sum alpha = C.
Point
    The least xi of w is its largest row. The best d has a closed form (``solvers.facts.k_support``); after an edit the
    values of d are kept. t_j = w_j^2 / d_j.
Squared hinges (FGM)
    For alpha >= 0 of the rows ``y_i w.x_i + xi_i >= 1`` and c = sum_i alpha_i y_i x_i the Lagrangian is least at w_j =
    d_j c_j, at the d that takes the B largest c_j^2, and at xi_i = alpha_i / C:

    .. math:: \sum_i \alpha_i - \tfrac12 (\text{the } B \text{ largest } c_j^2) - \tfrac1{2C} \sum_i \alpha_i^2

    is a bound; for t alpha it is largest at t = sum alpha / (the B largest c_j^2 + alpha.alpha / C). The best xi_i of w
    is its hinge. w = 0 costs C n / 2, so that no weight of the optimum exceeds W = sqrt(C n).
Rounding
    With ``unit`` of ``proofs.svm``, c_j is within unit sum_k alpha_k |p_j^k| of its exact value, in (FGM) within unit
    ||x_j|| ||alpha||, and is raised by it; the sums have the relative error unit of the sizes of their terms.
Units
    w_j = f_j u_j with f_j = q_max / max_k |p_j^k|, but at most W = sqrt(2 C q_max), which no weight of the optimum
    exceeds as w = 0 costs C q_max. The unit of xi is q_max. All units are powers of two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike, NDArray

from fsmodels.checks import feature_count, number, number_array, positive, renamed
from fsmodels.datasets.checks import require_unweighted
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import ModelError, ParameterError
from fsmodels.models.multivariate.groups import OFFSET
from fsmodels.models.multivariate.measures import Loss
from fsmodels.models.multivariate.measures import loss as loss_of
from fsmodels.models.proofs.certified import values_of, write
from fsmodels.models.proofs.equilibration import SharedByClones, rounding
from fsmodels.models.proofs.svm import norms, unit
from fsmodels.text import shown
from fsmodels.weights import FloatArray, column_sizes, used
from solvers.facts import Certificate, Change, facts_of, half_conjugate, half_norm
from solvers.result import FEASIBLE

__all__ = [
    "LabellingRows",
    "MarginRows",
    "at_zero",
    "held_weights",
    "in_units",
    "power",
    "put_shares",
    "resolution",
    "units",
    "with_shares",
]


@dataclass(frozen=True, eq=False)
class LabellingRows(SharedByClones):
    """The rows ``w.slopes_k + xi >= sides_k`` of a model: (K, m) and (K,)."""

    slopes: FloatArray
    sides: FloatArray

    def bound(self, model: Any, alpha: FloatArray | None) -> float:
        """Return the bound of multipliers of the rows; without them, of the row that w = 0 violates most."""
        C, budget = float(pyo.value(model.C)), int(pyo.value(model.budget))
        if alpha is None or not np.isfinite(alpha).all():
            alpha = np.zeros(len(self.sides))
            alpha[int(np.argmax(self.sides))] = C
        alpha = np.maximum(alpha, 0.0)
        share = unit(len(alpha), budget)
        total, gain = float(alpha.sum()), float(alpha @ self.sides) - share * float(alpha @ np.abs(self.sides))
        if not gain > 0:
            return 0.0
        cost = half_conjugate(np.abs(alpha @ self.slopes) + share * (alpha @ np.abs(self.slopes)), budget)
        t = (1.0 - share) * min(C / total, gain / (2.0 * cost) if cost > 0 else np.inf)
        return max(0.0, (1.0 - share) * t * gain - (1.0 + share) * t * t * cost)


@dataclass(frozen=True, eq=False)
class MarginRows(SharedByClones):
    """The rows ``y_i w.x_i + xi_i >= 1`` of FGM: y_i x_i (n, m), dense or CSR."""

    rows: Any

    def certificate(self, model: pyo.ConcreteModel) -> Certificate:
        """Return the certificate of a model."""
        return Certificate([model.margin], self.bound, self.repair, partial(at_zero, self.repair))

    def change(self, model: pyo.ConcreteModel) -> Change:
        """Return the change of variables."""
        most, steepest = (float(pyo.value(model.C)) * self.rows.shape[0]) ** 0.5, column_sizes(self.rows)
        factors, rows = in_units(model, units(1.0, steepest, most))
        return Change(factors, rows=rows, most=0.5 * self.rows.shape[0] * model.C)

    def bound(self, model: Any, alpha: FloatArray | None) -> float:
        """Return the bound of multipliers of the rows; without them, of those at w = 0, which are all C."""
        C, budget = float(pyo.value(model.C)), int(pyo.value(model.budget))
        if alpha is None or not np.isfinite(alpha).all():
            alpha = np.full(self.rows.shape[0], C)
        alpha = np.maximum(alpha, 0.0)
        gain, largest = float(alpha.sum()), float(alpha.max())
        if not gain > 0:
            return 0.0
        scaled, share = alpha / largest, unit(len(alpha), budget)  # squares of 1e-200 would be 0
        slopes = np.abs(self.rows.T @ scaled).ravel() + share * norms(self.rows) * float(np.linalg.norm(scaled))
        cost = half_conjugate(slopes, budget) + 0.5 * float(scaled @ scaled) / C
        return 0.5 * (1.0 - share) * (gain / largest) ** 2 / (2.0 * cost)

    def repair(self, model: Any) -> None:
        """Set the shares and slacks of the model's weights; w = 0 if they are not finite."""
        w = with_shares(model)
        write(model.xi, np.maximum(0.0, 1.0 - np.asarray(self.rows @ w).ravel()))

    def resolution(self, model: pyo.ConcreteModel) -> float:
        """Return the rounding error of ``C/2 sum xi_i^2`` at the model's weights."""
        w = values_of(model.w, 0.0)
        return 0.5 * float(pyo.value(model.C)) * self.rows.shape[0] * rounding(column_sizes(self.rows), w, 0.0) ** 2


def at_zero(repair: Callable[[Any], None], model: Any) -> None:
    """Set w = 0, and all else by ``repair``."""
    write(model.w, np.zeros(len(model.w)))
    repair(model)


def with_shares(model: Any, *, own: bool = True) -> FloatArray:
    """Set the shares d and t of the model's weights, which become 0 if they are not finite; return the weights.

    If the model is as built, the shares are the best ones, in closed form. After an edit the best shares may violate a
    row on d. The values of d on the model are then kept, and a weight without a share is set to 0. With ``own=False``
    all weights get their best shares instead: a row on w may require a weight whose share is 0 within the tolerance of
    the solver. If the model has sigma, a weight that is not selected is set to 0, since a share of 1e-7 would allow a
    weight of 3e-4.
    """
    w, d = values_of(model.w), values_of(model.d)
    if not np.isfinite(w).all():
        w = np.zeros(len(w))
    facts = facts_of(model)
    edited = facts is not None and facts.certificate is not None and not facts.certificate.untouched(model)
    selecting = hasattr(model, "sigma")
    if selecting:
        on = values_of(model.sigma) > 0.5
        w, d = np.where(on, w, 0.0), np.where(on, d, 0.0)
    if own and (edited or selecting) and np.isfinite(d).all():
        d = np.clip(d, 0.0, 1.0)
        most, total = int(pyo.value(model.budget)), float(d.sum())
        if most < total <= most * (1.0 + FEASIBLE):  # by a solver's tolerance
            d = d * (most / total)
        w = np.where(d > 0.0, w, 0.0)
    else:
        d = half_norm(_root(model, w), int(pyo.value(model.budget)))[1]
    put_shares(model, w, d)
    return w


def put_shares(model: Any, w: FloatArray, d: FloatArray) -> None:
    """Write w and d, and the smallest feasible values of the other variables of the regulariser."""
    root = _root(model, w)
    if root is not w:
        write(model.size, np.abs(w))
        write(model.root, root)
    write(model.w, w)
    write(model.d, d)
    write(model.t, np.divide(root**2, d, out=np.zeros_like(w), where=w != 0))


def _root(model: Any, w: FloatArray) -> FloatArray:
    """Return ``|w_j|^(p/2)``; for p = 2 w itself, because only the squares are used."""
    p = model.component("p")
    return w if p is None else np.asarray(np.abs(w) ** (pyo.value(p) / 2))


def in_units(model: Any, factor: FloatArray) -> tuple[list[tuple[Any, float]], list[tuple[Any, float]]]:
    """Return the factors of w and t, and those of their rows, for the units of w."""
    factors, rows = [], []
    for f, w, t, cone in zip(factor.tolist(), model.w.values(), model.t.values(), model.cone.values(), strict=True):
        factors += [(w, f), (t, f**2)]
        rows.append((cone, f**-2))
    return factors, rows


def resolution(largest: FloatArray, side: float, slope: float, model: pyo.ConcreteModel) -> float:
    """Return the rounding error of C times the risk at the model's weights, or at 0 without values.

    ``largest`` (ndarray of shape (m,)): of each column. ``side``, ``slope``: the largest side of a row, and sum of
    absolute coefficients of the scores.
    """
    columns, w = held_weights(model)
    sizes = largest[columns]
    return float(pyo.value(model.C)) * (side * rounding(sizes, 0 * w, 0.0) + slope * rounding(sizes, w, 0.0))


def held_weights(model: Any) -> tuple[NDArray[np.intp], FloatArray]:
    """Return the columns whose weights exist, and their values, by default 0.

    Few of millions may exist. The positions of the set take a second per million, one pass over the names 0.1 s.
    """
    held = {j: v.value or 0.0 for j, v in model.w.items()}
    found = [(k, held[j]) for k, j in enumerate(model.features) if j in held] if held else []
    return np.array([k for k, _ in found], dtype=np.intp), np.array([w for _, w in found], dtype=float)


def units(top: float, steepest: FloatArray, most: float) -> FloatArray:
    """Return the units of w: powers of two near ``top`` over the steepest slope of each column, at most ``most``."""
    size = np.minimum(most, top / np.maximum(steepest, top / most))
    return np.ldexp(1.0, np.frexp(size)[1])


OF_FIVE = (
    "B of (5) is budget, the sum of the shares of possibly more features; for at most K features use "
    'fs.select(data, "fsmulti", max_features=K)'
)


def regulariser(w: ArrayLike, budget: int, p: float = 2.0) -> float:
    """Return Omega(w) of (3), the least ``1/2 sum |w_j|^p / d_j`` over d in D.

    Examples
    --------
    >>> regulariser([3.0, -1.0, 1.0], 1)  # half the squared 1-norm
    12.5
    >>> regulariser([3.0, -1.0, 1.0], 3)  # half the squared 2-norm
    5.5
    >>> regulariser([3.0, -1.0, 1.0], 3, p=3.0)  # half the sum of cubes
    14.5
    """
    root = np.abs(np.asarray(w, dtype=float)) ** (power(p) / 2)
    return half_norm(root, feature_count(budget, np.size(w), name="budget"))[0]


def power(p: float) -> float:
    """Return the power of (3) and (4) as a float. Raises ParameterError if it is below 1."""
    if not 1 <= number(p) < np.inf:
        raise ParameterError(f"p={shown(p)} is the power of |w_j| in (4). Give a number of at least 1.", parameter="p")
    return float(p)


def risk(data: Dataset, w: ArrayLike, loss: str | Loss = "f1", *, b: float = 0.0) -> float:
    """Return the risk R, the least slack of weights w of shape (m,) and an offset b.

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("wdbc").scaled("standard")
    >>> round(risk(data, np.zeros(30), "f1") * data.n_samples, 6)
    100.0
    """
    require_unweighted(data, "fsmulti")
    weights, offset = number_array("w", w), number(b)
    if weights.shape != (data.n_features,) or not np.isfinite([*weights, offset]).all():
        raise ParameterError(f"w and b must be finite, w one number for each of the {data.n_features} features.")
    scores = np.asarray(data.X @ weights).ravel() + offset
    return max(0.0, loss_of(loss).most_violated(data.y, scores).value) / data.n_samples


@renamed("max_features", OF_FIVE)
def objective(
    data: Dataset, w: ArrayLike, *, budget: int, C: float = 1.0, loss: str | Loss = "f1", b: float = 0.0
) -> float:
    """Return the objective of (5), ``Omega(w, b) + C R(w, b)``, of any weights of shape (m,); b counts as a weight.

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("wdbc").scaled("standard")
    >>> model = fs.multivariate.fsmulti(data, budget=2, C=10.0, loss="f1")
    >>> result = fs.solve(model)
    >>> w, b = fs.multivariate.classifier(model)
    >>> bool(abs(objective(data, w, budget=2, C=10.0, loss="f1") - result.objective) < 1e-9)
    True
    """
    price, slack = positive("C", C, "C multiplies the slack"), risk(data, w, loss, b=b)
    return regulariser(np.append(np.asarray(w, dtype=float), b), budget) + price * slack


def classifier(model: pyo.ConcreteModel) -> tuple[FloatArray, float]:
    """Return w of shape (m,) and b of a solved model of this module; b is 0 without an offset.

    Raises
    ------
    ModelError
        If the model has no solution.
    """
    if model.xi.value is None if not model.xi.is_indexed() else any(v.value is None for v in model.w.values()):
        raise ModelError(f'Model "{model.name}" has no solution loaded: solve it first, with fs.solve(model).')
    w = np.zeros(len(model.features))
    columns, held = held_weights(model)
    w[columns] = held
    return (w[:-1], float(w[-1])) if OFFSET in model.features else (w, 0.0)


def used_features(data: Dataset, model: pyo.ConcreteModel) -> list[str]:
    """Return the features with a weight."""
    w, _ = classifier(model)
    columns = np.flatnonzero(w)
    take = columns[used(w[columns], column_sizes(data.X[:, columns]))] if len(columns) else columns
    return [data.features[j] for j in take.tolist()]
