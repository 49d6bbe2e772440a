"""The oracle of an edited SUB: ``oracle.SvmOracle`` with the terms and rows of ``problem``, and their cut."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from fsmodels.models.fsp.oracle import SvmOracle, relaxation
from fsmodels.models.fsp.oracle.edited import Clash, EditedQuestion, ask_loop, clash_cut
from fsmodels.models.fsp.oracle.problem import Relaxed, Rows, Terms
from fsmodels.models.proofs.svm import HINGE, Array, unit

COMPILED_ENOUGH = 10.0  # times the tolerance: what the compiled loop may leave before numpy is asked


@dataclass(frozen=True)
class Edits:
    """What SUB says besides: d (l,), (c, c_b) (n + 1,), bounds of w (n,), and rows on all of x, on w and on b."""

    need: Array
    slope: Array
    least: Array
    largest: Array
    rows: Rows


@dataclass(frozen=True)
class EditedSolution:
    """Certified answer for one x: as ``SvmSolution``, with the cut ``constant + slopes.x`` over all of x."""

    value: float
    bound: float
    w: Array
    b: float
    constant: float
    slopes: Array


class EditableOracle(SvmOracle):
    """Solve an edited SUB; x are sigma and, after them, whatever else its rows hold."""

    def __init__(self, X: Any, y: Any, C: Array, edits: Edits, loss: str = HINGE, *, free_b: bool = True) -> None:
        super().__init__(X, y, C, loss, free_b=free_b)
        mean, slope, rows = self._mean, edits.slope.copy(), edits.rows
        weights, offset = rows.beside(mean.size)
        # Sizes of the terms of G and c, which are rounded here.
        self._rounded = np.abs(np.vstack([weights, slope[:-1]])) + np.outer(np.abs([*offset, slope[-1]]), np.abs(mean))
        slope[:-1] -= slope[-1] * mean  # b of the centred data is b + mean.w
        self._own = replace(rows, weights=weights - np.outer(offset, mean), offset=offset)
        self._terms = Terms(self._y, self._loss, edits.need, slope, edits.least, edits.largest)
        self._open = (edits.least != 0.0) | (edits.largest != 0.0)
        self._joined: tuple[Rows, Rows] | None = None  # rows of a master, and with the own ones

    def answer(self, x: Array, tolerance: float, time_limit: float | None) -> EditedSolution | Clash:
        """Solve SUB at x, or return a cut that says why there is no solution."""
        deadline = time.perf_counter() + (math.inf if time_limit is None else time_limit)
        x = np.asarray(x, dtype=float).copy()
        n = self._mean.size
        x[:n] = np.clip(x[:n], 0.0, 1.0)
        support = self._support(x)
        sigma, own, terms = x[support], self._own, self._terms.of(support)
        rows = Rows(
            np.zeros((own.sides.size, support.size)), own.sides - own.matrix @ x, own.equal,
            np.ascontiguousarray(own.beside(n)[0][:, support]), own.offset,
        )  # fmt: skip
        sub = EditedQuestion(self._columns(support), sigma, terms, rows)
        along, left = self._along(support, support.size), deadline - time.perf_counter()
        if along is not None and left > 0:
            ask_loop(along, sub, tolerance, relaxation.most_iterations(self._y.size, support.size, left))
        best = sub.best
        if best.gap > COMPILED_ENOUGH * tolerance:
            clash = None if best.w is not None else sub.find_allowed()
            if clash is None:
                sub.improve(tolerance, deadline)
                if best.w is None:
                    sub.try_point(np.zeros(support.size), 0.0)
                clash = None if best.w is not None else sub.find_allowed()
            if clash is not None:
                cut = clash_cut(clash, own, self._terms)
                if cut is not None and cut.constant + float(cut.coefficients @ x) > 0:
                    return cut
                return _not_here(x, n)
        if best.alpha is None or best.theta is None:
            constant, slopes = -math.inf, np.zeros(x.size)
        else:
            constant, slopes = self.cut_of(best.alpha, best.theta)
        w = np.zeros(n)
        value, b = math.inf, 0.0
        if best.w is not None:
            w[support] = best.w
            value, b = best.value, best.b - float(self._mean @ w)
        return EditedSolution(value, best.bound, w, b, constant, slopes)

    def cost_of_slacks(self, slacks: Array) -> float:
        """Return what slacks of its samples cost."""
        return self._loss.cost(slacks)

    def cut_of(self, alpha: Array, theta: Array) -> tuple[float, Array]:
        r"""Return the cut of multipliers of the margins and of SUB's own rows, less its rounding where x is at least 0.

        With e_j = unit * a_j as in ``proofs.svm``, a_j with the sizes of the terms of G'theta and c too, g_j rises by
        at most \|t*\| e_j + 1/2 e_j^2. A theta that balances the offset is known to unit times the sizes of that sum.
        """
        own, share = self._own, unit(alpha.size, 2 * theta.size)
        size = np.abs(theta)
        if own.offset is not None and (g := np.abs(own.offset)).any():
            sum_of_sizes = float(alpha.sum() + g @ size) + abs(self._terms.slope[-1])
            size = size + np.divide(sum_of_sizes, g, out=np.zeros_like(g), where=own.equal & (g > 0))
        weights, _ = own.beside(self._mean.size)
        signed = self._y * alpha
        v = np.asarray(self._X.T @ signed) - weights.T @ theta - self._terms.slope[:-1]
        if sp.issparse(self._X):
            v -= self._mean * float(signed.sum())
        sizes = self._sizes(alpha) + self._rounded[:-1].T @ size + self._rounded[-1]
        curb, at = self._terms.curb(v)
        slopes = own.matrix.T @ theta - share * (np.abs(own.matrix).T @ size)
        slopes[: v.size] -= curb + share * (np.abs(at) * (sizes + np.abs(at)) + 0.5 * share * sizes**2)
        gained, total = self._terms.gained(alpha), float(np.abs(self._terms.need) @ alpha)
        lost = share * (2 * total + abs(total - gained) + float(np.abs(own.sides) @ size))
        return gained - float(own.sides @ theta) - lost, slopes

    def relaxed(self, *given: Any, **words: Any) -> tuple[Relaxed, float, Array] | None:
        """Do what ``relax`` does, and return the cut too."""
        found = self.relax(*given, **words)
        if found is None or not math.isfinite(found[0].bound):
            return None
        theta = found[0].theta
        return found[0], *self.cut_of(found[0].alpha, theta[theta.size - self._own.sides.size :])

    def _support(self, most: Array) -> Array:
        return np.flatnonzero((most[: self._mean.size] > 0) & self._open)

    def _beside(self, rows: Rows, support: Array) -> Rows:
        """Return the master's rows, and the own ones after them."""
        own = self._own
        if self._joined is None or self._joined[0] is not rows:
            wide = np.zeros((own.sides.size, rows.matrix.shape[1]))
            wide[:, : own.matrix.shape[1]] = own.matrix
            self._joined = (
                rows,
                Rows(
                    np.vstack([rows.matrix, wide]),
                    np.append(rows.sides, own.sides),
                    np.append(rows.equal, own.equal),
                    np.vstack([np.zeros((rows.sides.size, self._mean.size)), own.beside(self._mean.size)[0]]),
                    np.append(np.zeros(rows.sides.size), own.beside(self._mean.size)[1]),
                ),
            )
        joined = self._joined[1]
        if not own.sides.size:
            return rows
        return replace(joined, weights=np.ascontiguousarray(joined.beside(self._mean.size)[0][:, support]))


def _not_here(x: Array, n: int) -> Clash:
    """Return the cut that takes away one 0/1 point of x and no other."""
    on = x > 0.5
    return Clash(1.0 - float(np.sum(on)), np.where(on, 1.0, -1.0))
