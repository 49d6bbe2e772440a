"""SUB as an analyst edited it, by the fast oracle: what ``cuts.FastSub`` is to SUB as built."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp

from fsmodels.errors import DataError
from fsmodels.models.fsp.edits import Reader
from fsmodels.models.fsp.oracle.editable import EditableOracle, EditedSolution
from fsmodels.models.fsp.oracle.edited import Clash
from fsmodels.models.fsp.oracle.problem import Rows
from fsmodels.models.fsp.rows import one_sided
from fsmodels.models.proofs.losses import LossKind
from solvers.facts import Adapted, Cut, EditedSub, Inexpressible, LinearRows, RelaxedAnswer, SubAnswer

WHOLE = 1e-6  # from 1; what solvers leave


class EditedFast:
    """Answers for SUB with the edits that it was made for; raises Inexpressible where the oracle takes them not."""

    def __init__(
        self, model: Any, X: Any, y: np.ndarray, s: np.ndarray, form: str, kind: LossKind, sub: EditedSub
    ) -> None:
        self._model, self._form, self._X, self._y = model, form, X, y
        read = self._read = Reader(model, X, y, s, form, sub, kind=kind).read()
        columns = X[read.samples]
        plain = bool((read.root == 1.0).all())
        scaled = columns if plain else sp.csc_array(columns / read.root) if sp.issparse(X) else columns / read.root
        try:
            self._svm = EditableOracle(scaled, y[read.samples], read.C, read.edits, kind.loss, free_b=kind.free_b)
        except DataError as error:
            raise Inexpressible(str(error)) from None
        self._rows: tuple[LinearRows, Rows | None] | None = None  # of the master asked about last

    def solve(self, point: np.ndarray, tolerance: float, time_limit: float | None) -> SubAnswer:
        """Answer at a point of the complicating variables; sigma within [0, 1]."""
        read, n = self._read, self._read.root.size
        missing = np.flatnonzero(read.must & (point[:n] < 1 - WHOLE))
        if missing.size:
            return SubAnswer(None, np.inf, Cut(1.0, -1.0 * (np.arange(point.size) == missing[0])), _nothing)
        answer = self._svm.answer(point, tolerance, time_limit)
        if isinstance(answer, Clash):
            return SubAnswer(None, np.inf, Cut(answer.constant, answer.coefficients), _nothing)
        cut = Cut(answer.constant + read.constant, answer.slopes)
        value, bound = answer.value + read.constant, answer.bound + read.constant
        return SubAnswer(value, bound, cut, lambda: self._load(point, answer), answer)

    def relax(
        self,
        master: LinearRows,
        lower: np.ndarray,
        upper: np.ndarray,
        *,
        accuracy: float,
        enough: float,
        time_limit: float | None,
    ) -> RelaxedAnswer | None:
        """Solve the continuous relaxation of the master with SUB: ``facts.structure.Relaxation``."""
        if self._rows is None or self._rows[0] is not master:
            self._rows = master, one_sided(master)
        rows, read = self._rows[1], self._read
        if read.must.any():
            lower = np.maximum(lower, np.append(read.must, np.zeros(lower.size - read.must.size)))
        if rows is None or np.any(lower > upper) or not (np.isfinite(lower).all() and np.isfinite(upper).all()):
            return None
        apart = master.constant + read.constant
        found = self._svm.relaxed(
            master.cost, rows, lower, upper, accuracy=accuracy, enough=enough - apart, time_limit=time_limit
        )
        if found is None:
            return None
        answer, constant, slopes = found
        # With sigma_j at 1 the bound says nothing of 0: no cost, as it is infeasible there, but none to fix it by.
        reduced_costs = answer.reduced_costs.copy()
        reduced_costs[: read.must.size][read.must] = 0.0
        return RelaxedAnswer(answer.bound + apart, answer.x, reduced_costs, Cut(constant + read.constant, slopes))

    def detached(self) -> EditedFast:
        """Return what answers as this one does, and knows no model: for other processes."""
        copy = EditedFast.__new__(EditedFast)
        copy.__dict__ = self.__dict__ | {"_rows": None, "_model": SimpleNamespace()}
        return copy

    def adapted(self) -> Adapted:
        """Return what drivers ask."""
        return Adapted(self, self.relax, self.detached)

    def _load(self, point: np.ndarray, answer: EditedSolution) -> None:
        model, read = self._model, self._read
        sigma = point[: read.root.size]
        w, b = answer.w / read.root + read.at, answer.b
        _set(model.w, w)
        if not model.b.fixed:
            model.b.set_value(float(b), skip_validation=True)
        if self._form == "rmp":
            model.eta.set_value(0.5 * float(w @ w) + self._loss_of(w, b), skip_validation=True)
            return
        short = 1.0 - self._y * (np.asarray(self._X @ w).ravel() + b)
        _set(model.xi, np.where(read.held, np.maximum(read.floor_of_slack, short), read.floor_of_slack))
        if self._form == "perspective":
            _set(model.t, np.divide(w**2, sigma, out=np.zeros_like(w), where=sigma > 0))
        elif self._form == "bilinear":
            _set(model.u, w)

    def _loss_of(self, w: np.ndarray, b: float) -> float:
        slacks = np.maximum(0.0, 1.0 - self._y * (np.asarray(self._X @ w).ravel() + b))
        return float(self._svm.cost_of_slacks(slacks))


def _nothing() -> None:
    """Load nothing: there is no point."""


def _set(variable: Any, values: np.ndarray) -> None:
    for v, x in zip(variable.values(), values.tolist(), strict=True):
        if not v.fixed:
            v.set_value(x, skip_validation=True)
