"""Functions of FSP for drivers: the oracle of SUB, the point of the next cut, and the validation error.

An edited SUB has the same oracle if it supports the edits (``edits``); otherwise its cut is that of
``solvers.facts.row_cut``. Without edits this is (10) of Aytug: A'r on w is v, the minimum over w_j is -1/2 v_j^2, and
the minima over b and xi are 0 if and only if y'alpha = 0 and alpha <= C. With the squared hinge the minimum over xi_i
is -alpha_i^2 / (4C), and the tangent of ``row_cut`` at xi is the same if alpha = 2 C xi.
"""

from __future__ import annotations

import hashlib
from copy import deepcopy
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyomo.environ as pyo
from scipy import sparse

from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import DataError
from fsmodels.models.classifier import error_rate
from fsmodels.models.fsp.edits import Reader, ReadSub
from fsmodels.models.fsp.oracle import SvmOracle, SvmSolution
from fsmodels.models.fsp.oracle.problem import Rows
from fsmodels.models.proofs.certified import values_of, write_free
from fsmodels.models.proofs.svm import LossKind
from fsmodels.models.shares import slack_weights
from solvers.facts import Adapted, Cut, EditedSub, Inexpressible, LinearRows, RelaxedAnswer, SubAnswer

MOST_ROWS = 200  # of the master: with more the joint relaxation is slow
NEGLIGIBLE = 1e-5  # a smaller suggested sigma is set to 0: the time for SUB depends on the support
SIGMA_TOLERANCE = 1e-6  # distance of sigma from 1; the tolerance of solvers


def one_sided(master: LinearRows) -> Rows | None:
    """Return the rows of the master as <= and =; None if there are too many for a bordered system."""
    lower, upper = master.lower, master.upper
    equal = lower == upper
    below, above = np.isfinite(lower) & ~equal, np.isfinite(upper)
    if int(below.sum() + above.sum()) > MOST_ROWS:
        return None
    matrix = np.vstack([master.matrix[above].toarray(), -master.matrix[below].toarray()])
    return Rows(
        matrix, np.append(upper[above], -lower[below]), np.append(equal[above], np.zeros(int(below.sum()), bool))
    )


class FastSub:
    """Oracle of SUB, as built or with edits, that writes its solution on the variables of the model."""

    def __init__(self, model: pyo.ConcreteModel, data: Dataset, form: str, kind: LossKind) -> None:
        self._model: Any = model
        self._form, self._kind = form, kind
        self._X, self._y, self._s = data.X, data.y, slack_weights(data)
        self._edits: ReadSub | None = None
        C = float(pyo.value(model.C))
        self._C: float | None = C  # of the oracle; None: create it on first use
        self._svm = self._new_oracle(C)
        self._rows: tuple[LinearRows, Rows | None] | None = None  # of the last master
        self._hash: str | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> FastSub:
        """Return the oracle of a clone of the model; the data are shared."""
        memo[id(self)] = copy = self._copy(_C=None)
        copy._model = deepcopy(self._model, memo)
        return copy

    def adapt(self, sub: EditedSub) -> Adapted:
        """Return the oracle of an edited SUB. Raises Inexpressible if it does not support the edits."""
        read = Reader(self._model, self._X, self._y, self._s, self._form, sub, kind=self._kind).read()
        columns, kind = self._X[read.samples], self._kind
        if not (read.root == 1.0).all():
            columns = columns / read.root
        try:
            svm = SvmOracle(
                columns, self._y[read.samples], read.C, kind.loss, free_b=kind.free_b, edits=read.edits
            )  # fmt: skip
        except DataError as error:
            raise Inexpressible(str(error)) from None
        edited = self._copy(_edits=read, _svm=svm)
        return Adapted(edited, edited.relax, edited.detached)

    def detached(self) -> FastSub:
        """Return an oracle with the present parameters and without a model, for other processes."""
        svm = self._oracle()
        return self._copy(_svm=svm, _model=SimpleNamespace(C=self._C))

    def parameters(self) -> tuple[float]:
        """Return the parameters of SUB other than sigma."""
        return (float(pyo.value(self._model.C)),)

    def identity(self) -> str:
        """Return a hash of the data and the loss of SUB."""
        if self._hash is None:
            X = self._X
            parts = [X.data, X.indices, X.indptr] if sparse.issparse(X) else [np.asarray(X)]
            digest = hashlib.sha256(repr((X.shape, self._kind)).encode())
            for part in [*parts, self._y, self._s]:
                digest.update(np.ascontiguousarray(part).tobytes())
            self._hash = digest.hexdigest()
        return self._hash

    def solve(self, point: np.ndarray, tolerance: float, time_limit: float | None) -> SubAnswer:
        """Solve SUB at sigma (n,) in [0, 1] and at the other variables of edited rows; Aytug 2015, (5)-(10)."""
        edits = self._edits
        if edits is not None:
            missing = np.flatnonzero(edits.required & (point[: edits.required.size] < 1 - SIGMA_TOLERANCE))
            if missing.size:
                return SubAnswer(None, np.inf, Cut(1.0, -1.0 * (np.arange(point.size) == missing[0])), _no_solution)
        answer = self._oracle().solve(point, tolerance=tolerance, time_limit=time_limit)
        if answer.bound == np.inf:
            return SubAnswer(None, np.inf, Cut(answer.constant, answer.slopes), _no_solution)
        constant = 0.0 if edits is None else edits.constant
        cut = Cut(answer.constant + constant, answer.slopes)
        return SubAnswer(
            answer.value + constant, answer.bound + constant, cut, lambda: self._load(point, answer), answer
        )  # fmt: skip

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
        rows, svm, constant, required = self._rows[1], self._oracle(), 0.0, None
        if self._edits is not None:
            constant, required = self._edits.constant, np.flatnonzero(self._edits.required)
            lower = lower.copy()
            lower[required] = np.maximum(lower[required], 1.0)
        if rows is None or np.any(lower > upper) or not (np.isfinite(lower).all() and np.isfinite(upper).all()):
            return None
        apart = master.constant + constant
        found = svm.relax(
            master.cost, rows, lower, upper, accuracy=accuracy, enough=enough - apart, time_limit=time_limit
        )  # fmt: skip
        if found is None or found[0].bound == -np.inf:
            return None
        answer, v = found
        cut, slopes = svm.cut(answer.alpha, answer.theta, v)
        reduced_costs = answer.reduced_costs
        if (
            required is not None and required.size
        ):  # the bound for sigma_j = 1 is not valid at 0: no cost may fix sigma_j
            reduced_costs = reduced_costs.copy()
            reduced_costs[required] = 0.0
        return RelaxedAnswer(answer.bound + apart, answer.x, reduced_costs, Cut(cut + constant, slopes))

    def _copy(self, **changes: Any) -> FastSub:
        """Return a copy that shares the data."""
        copy = object.__new__(type(self))
        copy.__dict__ = self.__dict__ | {"_rows": None} | changes
        return copy

    def _oracle(self) -> SvmOracle:
        """Return the oracle for the present C of the model; edits contain their own prices."""
        if self._edits is None:
            C = float(pyo.value(self._model.C))
            if self._C != C:
                self._svm, self._C = self._new_oracle(C), C
        return self._svm

    def _new_oracle(self, C: float) -> SvmOracle:
        return SvmOracle(self._X, self._y, C * self._s, self._kind.loss, free_b=self._kind.free_b)

    def _load(self, point: np.ndarray, answer: SvmSolution) -> None:
        """Write a solution on the model, with the smallest feasible slacks."""
        model, edits, w, b = self._model, self._edits, answer.w, answer.b
        if edits is not None:
            w = w / edits.root + edits.at
        short = np.asarray(1.0 - self._y * (np.asarray(self._X @ w).ravel() + b))
        write_free(model.w, w)
        if not model.b.fixed:
            model.b.set_value(float(b), skip_validation=True)
        if self._form == "rmp":
            eta = answer.value
            if edits is not None:
                eta = 0.5 * float(w @ w) + self._svm.cost_of_slacks(np.maximum(0.0, short))
            model.eta.set_value(eta, skip_validation=True)
            return
        least, has_margin = (0.0, True) if edits is None else (edits.slack_bound, edits.has_margin)
        write_free(model.xi, np.where(has_margin, np.maximum(least, short), least))
        if self._form == "perspective":
            sigma = point[: w.size]
            write_free(model.t, np.divide(w**2, sigma, out=np.zeros_like(w), where=sigma > 0))
        elif self._form == "bilinear":
            write_free(model.u, w)


def carry(cut: Cut, then: tuple[Any, ...], now: tuple[Any, ...]) -> Cut | None:
    r"""Return the cut of a multiple of alpha for another C: t alpha with t = C'/C, so that 0 <= t alpha <= C'.

    With weights s both are C s_i with the same s: other weights are other data (``identity``).

    .. math:: q'(\sigma) \ge t\, e^\top \alpha - \tfrac12 t^2 \sum_j \sigma_j v_j^2

    With the squared hinge, -sum alpha_i^2 / (4C) becomes -t^2 sum alpha_i^2 / (4C'), at least t times the first.
    """
    if then[1:] != now[1:]:
        return None
    t = now[0] / then[0]
    return Cut(t * cut.constant, t * t * cut.coefficients) if t > 0.0 else None


class Reweighting:
    r"""Suggestion of a point with a stronger cut: the best sigma for the present w.

    q(sigma) = min over w of 1/2 sum w_j^2/sigma_j + ..., so for fixed w the best sigma in [0, 1]^n is
    min(1, \|w_j\| / tau), with tau = sqrt(2 lambda_j) for a price, or such that the sum is M.
    """

    def __init__(self, model: pyo.ConcreteModel) -> None:
        self._model = model

    def __call__(self, point: np.ndarray, answer: SubAnswer) -> np.ndarray | None:
        """Return sigma of shape (n,)."""
        model, size = self._model, np.abs(answer.values.w)
        if hasattr(model, "penalty"):
            price = np.array([pyo.value(model.penalty[j]) for j in model.features])
            return np.where(price > 0, np.minimum(1.0, size / np.sqrt(2.0 * np.maximum(price, 1e-300))), 1.0)
        most = float(pyo.value(model.max_features))
        return fill(np.where(fill(size, most) > NEGLIGIBLE, size, 0.0), most)


def fill(size: np.ndarray, total: float) -> np.ndarray:
    """Return min(1, size/tau) with the sum ``total``; if size has fewer non-zeros, 1 for each of them."""
    order = np.sort(size)[::-1]
    if np.count_nonzero(order) <= total:
        return np.where(size > 0, 1.0, 0.0)
    rest = np.cumsum(order[::-1])[::-1]  # sum of the k-th largest and all smaller ones
    full = np.arange(len(order))
    left = total - full
    tau = np.divide(rest, left, out=np.full_like(rest, np.inf), where=left > 0)
    k = int(np.argmax(order <= tau))  # the first k such that no other entry reaches 1
    return np.minimum(1.0, size / tau[k])


def error_of(model: pyo.ConcreteModel, data: Dataset) -> float:
    """Return the error rate of the classifier on the model for ``data``."""
    return error_rate(data, values_of(model.w), pyo.value(model.b))


def _no_solution() -> None:
    """Load nothing, because there is no solution."""
