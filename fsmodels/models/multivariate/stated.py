r"""FSmulti (5) as a conic program without its rows on labellings, which an oracle adds where they are violated.

Problem
    (5) with ``w``, ``d``, ``t``, ``xi``, the cones and the budget as Pyomo components, which can be edited in any way:
    rows and bounds on w, d and xi, fixed variables, new variables, another objective. The 2^n - 1 rows

    .. math:: \xi + w \cdot \tfrac1n \textstyle\sum_i (y_i - y'_i) x_i \ge \tfrac1n \Delta(y, y')

    are generated from the most violated labelling at w. Raising xi to the risk R(w) makes any w feasible
    (``drivers.row_generation``).
Bound
    Each problem over some of the rows is a relaxation, also after an edit, and its solver's dual bound is the bound. If
    every point of the edited model is one of (5) at the same cost, multipliers of the rows also prove the
    bound of ``proof`` from the data alone, for any tolerance of the solver; this bound ignores the added rows.
Certificate
    exact: as built by the data, and after an edit by the bound of the conic solver.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyomo.environ as pyo

from fsmodels.models.multivariate.extended import Program
from fsmodels.models.multivariate.labellings import FloatArray, Labels
from fsmodels.models.multivariate.losses import Loss
from fsmodels.models.multivariate.proof import LabellingRows, at_zero, in_units, put_shares, units, with_shares
from fsmodels.models.proofs.certified import values_of, write
from fsmodels.models.proofs.equilibration import SharedByClones
from fsmodels.weights import column_sizes
from solvers.facts import Certificate, Change, Cuts, Separable, no_cuts

__all__ = ["Labellings", "certificate", "change", "load", "put", "repair_whole", "separable"]

LARGE = 1e3  # objectives above it are divided: conic solvers lose accuracy with costs of 1e6


@dataclass(frozen=True, eq=False)
class Labellings(SharedByClones):
    """Separator of (w, d, t, xi) by the most violated row of a loss: columns X (n, m), labels y."""

    X: Any
    y: Labels
    loss: Loss

    def row(self, w: FloatArray) -> tuple[FloatArray, float, float]:
        """Return slopes and side of the worst row ``w.slopes + xi >= side``, and the xi that it requires at w."""
        n = len(self.y)
        scores = np.asarray(self.X @ w, dtype=float).ravel()
        found = self.loss.most_violated(self.y, scores)
        slopes = np.asarray(self.X.T @ found.coefficients.astype(float)).ravel() / n
        return slopes, found.delta / n, found.value / n

    def start(self) -> Cuts:
        """Return the worst row at w = 0."""
        slopes, side, _ = self.row(np.zeros(self.X.shape[1]))
        return _cut(slopes, side, np.inf)

    def separate(self, point: np.ndarray) -> Cuts:
        """Return the worst row if it is violated."""
        slopes, side, least = self.row(point[: self.X.shape[1]])
        missed = least - float(point[-1])
        return _cut(slopes, side, missed / max(1.0, abs(side))) if missed > 0.0 else no_cuts(len(point))

    def repair(self, point: np.ndarray) -> np.ndarray:
        """Raise xi to the risk, and set t from its cones: a solver's tolerance may exceed a small w^2."""
        w, d, t = np.split(point[:-1], 3)
        t = np.divide(w**2, d, out=np.where(w == 0, 0.0, t), where=d > 0)
        return np.concatenate([w, d, t, [max(float(point[-1]), self.row(w)[2])]])

    def load(self, point: np.ndarray) -> None:
        """Do nothing: there is no hidden variable."""


def _cut(slopes: FloatArray, side: float, violation: float) -> Cuts:
    zeros = np.zeros(2 * len(slopes))
    return Cuts(np.concatenate([slopes, zeros, [1.0]])[None], np.array([side]), np.array([np.inf]), violation)


def separable(model: pyo.ConcreteModel, rows: Labellings, **facts: Any) -> Separable:
    """Return the facts of a model that states (5) without its rows on labellings."""
    return Separable(
        visible=[model.w, model.d, model.t, model.xi],
        hidden=[],
        rows=[],
        separator=rows,
        proof=_proof,
        certificate=Certificate(
            [],
            partial(_least, rows),
            partial(_repair, rows),
            partial(at_zero, partial(_repair, rows)),
            others=[partial(_repair, rows, own=False)],
        ),
        change=change(model, rows),
        default_solver="row-generation",
        implicit='an oracle for labellings, by form="stated"',
        remedy='build it with form="extended"',
        **facts,
    )


def _repair(rows: Labellings, model: Any, *, own: bool = True) -> None:
    model.xi.set_value(max(0.0, rows.row(with_shares(model, own=own))[2]), skip_validation=True)


def _proof(model: Any, slopes: np.ndarray, sides: np.ndarray, multipliers: np.ndarray) -> float:
    return LabellingRows(slopes[:, : len(model.w)], sides).bound(model, multipliers)


def _least(rows: Labellings, model: Any, alpha: FloatArray | None) -> float:
    """Return the bound of the single row that w = 0 violates most."""
    slopes, side, _ = rows.row(np.zeros(rows.X.shape[1]))
    return LabellingRows(slopes[None], np.array([side])).bound(model, None)


def change(model: pyo.ConcreteModel, rows: Labellings, *, near: float = 1.0) -> Change | None:
    """Return the change of variables of ``proof``; no slope of a row exceeds the size of its column, roughly.

    None if all units of w are within a factor ``near`` of 1 and the objective is not small: the model in the new
    variables takes as long to build as the model.
    """
    top = max(0.0, rows.row(np.zeros(rows.X.shape[1]))[1])
    cost = float(pyo.value(model.C)) * top
    if not cost > 0:
        return None
    factor = units(top, column_sizes(rows.X), (2.0 * cost) ** 0.5)
    if cost > 1 / near and factor.min() > 1 / near and factor.max() < near:
        return None
    factors, cones = in_units(model, factor)
    factors.append((model.xi, float(2.0 ** np.frexp(top)[1])))
    times = float(2.0 ** -np.frexp(cost)[1]) if cost > LARGE else 1.0
    return Change(factors, rows=cones, most=model.C * top, times=times)


# The extended form.


def certificate(rows: Labellings, program: Program, proving: list[Any]) -> Certificate:
    """Return the certificate of the complete model, from multipliers of the rows that ``program.row`` reads."""
    repair = partial(repair_whole, rows, program)
    return Certificate(
        proving,
        partial(_bound_whole, rows, program),
        repair,
        partial(at_zero, repair),
        others=[partial(repair, own=False)],
    )


def _bound_whole(rows: Labellings, program: Program, model: Any, multipliers: FloatArray | None) -> float:
    found = None if multipliers is None else program.row(np.nan_to_num(multipliers))
    if found is None:
        return _least(rows, model, None)
    n, (delta, g) = len(rows.y), found
    slopes = np.asarray(rows.X.T @ -g).ravel() / n
    return LabellingRows(slopes[None], np.array([delta / n])).bound(model, None)


def repair_whole(rows: Labellings, program: Program, model: Any, *, own: bool = True) -> None:
    """Make the model's weights feasible for the rows as built, with their own or the best shares."""
    w = with_shares(model, own=own)
    put(rows, program, model, w, values_of(model.d), rows.row(w)[2])


def put(rows: Labellings, program: Program, model: Any, w: FloatArray, d: FloatArray, xi: float) -> None:
    """Write a solution to the complete model: w, d, the least t, the slack, and scores, sums and excesses."""
    scores = np.asarray(rows.X @ w, dtype=float).ravel()
    put_shares(model, w, d)
    write(model.s, scores)
    program.put(model, scores)
    model.xi.set_value(max(0.0, xi), skip_validation=True)


def load(rows: Labellings, program: Program, model: Any, columns: Any, w: FloatArray, d: FloatArray, xi: float) -> None:
    """Write a solution to the complete model; weights and shares outside ``columns`` are 0."""
    every, shares = np.zeros((2, len(model.w)))
    every[columns], shares[columns] = w, d
    put(rows, program, model, every, shares, xi)
