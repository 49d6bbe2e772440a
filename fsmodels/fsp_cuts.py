r"""What FSP's structure offers to drivers: the fast SUB, the cut of any linear SUB, and the validation error.

The cut of an edited SUB
    The user may add linear rows on w, b and xi, bounds, fixings, or other linear costs. Write SUB at sigma as

    .. math::
        \min_{w, z}\ \tfrac12 \sum_j w_j^2 + c^\top (w, z) \quad \text{s.t. } \ell \le A (w, z) \le u,\
        w, z \text{ in their bounds},\ w_j = 0 \text{ where } \sigma_j = 0

    with z = (b, xi). For multipliers r (r+ on lower, r- on upper sides) and d = c - A'r, v = -d on w, weak duality:

    .. math::
        q(\sigma) \ge \ell^\top r^+ - u^\top r^- + \sum_{z_k} \min_{z_k} d_k z_k
                  + \sum_j \sigma_j \min_{w_j} (\tfrac12 w_j^2 - v_j w_j),

    each minimum over the variable's bounds. Without edits this is Aytug's (10): A'r on w is v, the minimum is
    -1/2 v_j^2, and the minima over b and xi are 0 exactly when y'alpha = 0 and alpha <= C. A solver's multipliers meet
    these two only nearly, so ``Cuts`` lowers the alpha of margins, which it may do at will, until they hold exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo

from fsmodels.dataset import Dataset
from fsmodels.svm_oracle import SvmOracle
from solvers.errors import ModelError
from solvers.linear_rows import LinearRows
from solvers.structure import Cut, SubAnswer


class FastSub:
    """SUB by the interior-point oracle, with its answer put on the model's variables; valid as built only."""

    def __init__(self, model: pyo.ConcreteModel, data: Dataset, form: str) -> None:
        self._model, self._form = model, form
        self._svm = SvmOracle(data.X, data.y, float(model.C))
        self._X, self._y = data.X, data.y

    def solve(self, point: np.ndarray, tolerance: float, time_limit: float | None) -> SubAnswer:
        """Answer at sigma of shape (n,), each in [0, 1]; Aytug 2015, (5)-(10)."""
        answer = self._svm.solve(point, tolerance=tolerance, time_limit=time_limit)
        cut = Cut(float(answer.alpha.sum()), -0.5 * answer.v**2)
        return SubAnswer(answer.value, answer.bound, cut, lambda: self._load(point, answer.w, answer.b), answer)

    def _load(self, sigma: np.ndarray, w: np.ndarray, b: float) -> None:
        model = self._model
        slack = np.maximum(0.0, 1.0 - self._y * (np.asarray(self._X @ w).ravel() + b))
        _set(model.w, w)
        _set(model.xi, slack)
        model.b.set_value(float(b), skip_validation=True)
        if self._form == "perspective":
            _set(model.t, np.divide(w**2, sigma, out=np.zeros_like(w), where=sigma > 0))
        elif self._form == "bilinear":
            _set(model.u, w)
        elif self._form == "indicator":
            for j, s in zip(model.features, sigma.tolist(), strict=True):
                model.dropped[j].binary_indicator_var.set_value(round(1.0 - s))


class Cuts:
    """The cut of SUB with any linear rows, from their multipliers; the module's text derives it."""

    def __init__(self, model: pyo.ConcreteModel) -> None:
        self._model = model

    def __call__(self, rows: LinearRows, multipliers: np.ndarray) -> Cut:
        """Return the cut over sigma, after repairing the multipliers.

        Raises
        ------
        ModelError
            If a row holds t or u, which belong to the form, or the multipliers cannot be repaired.
        """
        model = self._model
        column = {id(v): k for k, v in enumerate(rows.variables)}
        w = np.array([column[id(v)] for v in model.w.values()])
        xi = np.array([column[id(v)] for v in model.xi.values()])
        b = column[id(model.b)]
        others = np.setdiff1d(np.arange(len(rows.variables)), np.concatenate([w, xi, [b]]))
        r = self._repaired(rows, np.asarray(multipliers, dtype=float).copy(), xi, b)
        d = rows.cost - rows.matrix.T @ r
        if np.any(rows.matrix[:, others].count_nonzero()) or np.any(rows.cost[others]):
            raise ModelError(
                "A row or cost on t or u edits how selection is written, which no cut covers: state it on w or sigma, "
                "or solve the whole model with scip or gurobi."
            )
        z = np.append(xi, b)
        constant = rows.constant + _product(np.maximum(r, 0), rows.lower) - _product(np.maximum(-r, 0), rows.upper)
        constant += _least(d[z], rows.x_lower[z], rows.x_upper[z])
        v = -d[w]
        best = np.clip(v, rows.x_lower[w], rows.x_upper[w])
        return Cut(constant, 0.5 * best**2 - v * best)

    def _repaired(self, rows: LinearRows, r: np.ndarray, xi: np.ndarray, b: int) -> np.ndarray:
        r = np.where(np.isfinite(rows.lower), r, np.minimum(r, 0.0))
        r = np.where(np.isfinite(rows.upper), r, np.maximum(r, 0.0))
        position = {id(row): k for k, row in enumerate(rows.rows)}
        built = [(i, position[id(m)]) for i, m in enumerate(self._model.margin.values()) if id(m) in position]
        sample = np.array([i for i, _ in built], dtype=int)
        margin = np.array([k for _, k in built], dtype=int)
        d = rows.cost - rows.matrix.T @ r
        # xi_i without upper bound needs d >= 0, that is alpha_i <= C: lower alpha_i.
        excess = np.where(np.isinf(rows.x_upper[xi[sample]]), np.maximum(0.0, -d[xi[sample]]), 0.0)
        r[margin] = np.maximum(0.0, r[margin] - excess)
        # A free b needs d_b = 0, that is y'alpha = 0: scale down the class that weighs more.
        d_b = rows.cost[b] - (rows.matrix[:, [b]].T @ r).item()
        side = np.sign(d_b) * -1.0  # d_b < 0: too much weight on y = +1
        if (d_b < 0 and np.isinf(rows.x_upper[b])) or (d_b > 0 and np.isinf(rows.x_lower[b])):
            signs = np.asarray(rows.matrix[margin][:, [b]].todense()).ravel()
            heavy = margin[signs * side > 0]
            weight = float(r[heavy].sum())
            if weight < abs(d_b):
                raise ModelError(
                    "The multipliers of the edited subproblem are not dual feasible: try another sub_solver."
                )
            r[heavy] *= 1.0 - abs(d_b) / weight
        return r


def error_rate(model: pyo.ConcreteModel, data: Dataset) -> float:
    """Return the share of ``data`` that the classifier on the model gets wrong; 0 counts as the class -1."""
    w = np.array([pyo.value(v) for v in model.w.values()])
    predicted = np.where(np.asarray(data.X @ w).ravel() + pyo.value(model.b) > 0, 1.0, -1.0)
    return float(np.mean(predicted != data.y))


def selected(model: pyo.ConcreteModel) -> list[str]:
    """Return the features with sigma = 1."""
    return [j for j in model.features if pyo.value(model.sigma[j]) > 0.5]


def _set(variable: Any, values: np.ndarray) -> None:
    for v, x in zip(variable.values(), values.tolist(), strict=True):
        v.set_value(x, skip_validation=True)


def _product(r: np.ndarray, side: np.ndarray) -> float:
    used = r > 0
    return float(r[used] @ side[used])


def _least(d: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> float:
    """Return the sum of min d_k z_k over the bounds; rounding of a repaired zero counts as zero."""
    d = np.where(np.abs(d) <= 1e-12 * max(1.0, float(np.abs(d).max(initial=0.0))), 0.0, d)
    at = np.where(d > 0, lower, np.where(d < 0, upper, 0.0))
    if np.any(np.isinf(at)):
        raise ModelError("The multipliers of the edited subproblem are not dual feasible: try another sub_solver.")
    return float(d @ at)
