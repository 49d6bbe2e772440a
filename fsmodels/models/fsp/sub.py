"""What FSP's structure offers to drivers: the fast SUB, where its next cut is worth more, and the validation error.

An edited SUB has the same oracle where the edits can be expressed (``edits``); else its cut is that of
``solvers.facts.row_cut``. Without edits that is Aytug's (10): A'r on w is v, the minimum
over w_j is -1/2 v_j^2, and the minima over b and xi are 0 exactly when y'alpha = 0 and alpha <= C. With the squared
hinge the minimum over xi_i is -alpha_i^2 / (4C), and ``row_cut``'s tangent at xi says as much where alpha = 2 C xi.
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
from fsmodels.models.classifier import linear_decision
from fsmodels.models.fsp.edits import Reader
from fsmodels.models.fsp.oracle import SvmOracle
from fsmodels.models.fsp.oracle.editable import EditableOracle, EditedSolution
from fsmodels.models.fsp.oracle.edited import Clash
from fsmodels.models.fsp.oracle.problem import Relaxed, Rows
from fsmodels.models.proofs.svm import LossKind
from fsmodels.models.shares import slack_weights
from solvers.facts import Adapted, Cut, EditedSub, Inexpressible, LinearRows, RelaxedAnswer, SubAnswer

BORDER = 200  # rows of the master beside which the joint relaxation is still fast
NEGLIGIBLE = 1e-5  # a suggested sigma below this is 0: SUB costs what its support costs
WHOLE = 1e-6  # from 1; what solvers leave


def one_sided(master: LinearRows) -> Rows | None:
    """Return the master's rows as <= and =; None where there are too many to border a system with."""
    lower, upper = master.lower, master.upper
    equal = lower == upper
    below, above = np.isfinite(lower) & ~equal, np.isfinite(upper)
    if int(below.sum() + above.sum()) > BORDER:
        return None
    matrix = np.vstack([master.matrix[above].toarray(), -master.matrix[below].toarray()])
    return Rows(
        matrix, np.append(upper[above], -lower[below]), np.append(equal[above], np.zeros(int(below.sum()), bool))
    )


class OracleSub:
    """Part of the fast SUB that edits do not change: rows of the master, and an answer written on the model."""

    _model: Any
    _form: str
    _X: Any
    _y: np.ndarray
    _rows: tuple[LinearRows, Rows | None] | None = None  # of the last master
    _constant = 0.0  # of SUB
    _must: np.ndarray | None = None  # the sigma_j that are 1 in every feasible point

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
        rows, must = self._rows[1], self._must
        if must is not None:
            lower = np.maximum(lower, np.append(must, np.zeros(lower.size - must.size)))
        if rows is None or np.any(lower > upper) or not (np.isfinite(lower).all() and np.isfinite(upper).all()):
            return None
        apart = master.constant + self._constant
        words = {"accuracy": accuracy, "enough": enough - apart, "time_limit": time_limit}
        found = self._relaxed(master.cost, rows, lower, upper, **words)
        if found is None:
            return None
        answer, constant, slopes = found
        reduced_costs = answer.reduced_costs
        if must is not None:  # the bound with sigma_j = 1 is no bound at 0, so that no cost may fix sigma_j
            reduced_costs = reduced_costs.copy()
            reduced_costs[: must.size][must] = 0.0
        return RelaxedAnswer(answer.bound + apart, answer.x, reduced_costs, Cut(constant + self._constant, slopes))

    def _relaxed(self, *given: Any, **words: Any) -> tuple[Relaxed, float, np.ndarray] | None:
        """Return the relaxation without constants, and its cut."""
        raise NotImplementedError

    def _copy(self, **changes: Any) -> Any:
        """Return a copy that shares the data."""
        copy = object.__new__(type(self))
        copy.__dict__ = self.__dict__ | {"_rows": None} | changes
        return copy

    def _write(
        self, sigma: np.ndarray, w: np.ndarray, b: float, eta: float, least: Any = 0.0, held: Any = True
    ) -> None:
        """Write a point on the model; slacks are at ``least``, and where ``held`` at what the margin needs."""
        model = self._model
        _set(model.w, w)
        if not model.b.fixed:
            model.b.set_value(float(b), skip_validation=True)
        if self._form == "rmp":
            model.eta.set_value(eta, skip_validation=True)
            return
        _set(model.xi, np.where(held, np.maximum(least, self._short(w, b)), least))
        if self._form == "perspective":
            _set(model.t, np.divide(w**2, sigma, out=np.zeros_like(w), where=sigma > 0))
        elif self._form == "bilinear":
            _set(model.u, w)

    def _short(self, w: np.ndarray, b: float) -> np.ndarray:
        """Return what the margins lack."""
        return np.asarray(1.0 - self._y * (np.asarray(self._X @ w).ravel() + b))


class FastSub(OracleSub):
    """SUB by the interior-point oracle, with its answer put on the model's variables; valid as built only."""

    def __init__(self, model: pyo.ConcreteModel, data: Dataset, form: str, kind: LossKind) -> None:
        self._model: Any = model
        self._form, self._kind = form, kind
        self._X, self._y, self._s = data.X, data.y, slack_weights(data)
        C = float(pyo.value(model.C))
        self._made_for: float | None = C  # None: made on first use
        self._svm = self._made(C)
        self._hash: str | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> FastSub:
        """Return what belongs to the model's clone, with an oracle of its own; the data are shared."""
        memo[id(self)] = copy = self._copy(_made_for=None)
        copy._model = deepcopy(self._model, memo)
        return copy

    def solve(self, point: np.ndarray, tolerance: float, time_limit: float | None) -> SubAnswer:
        """Answer at sigma of shape (n,), each in [0, 1]; Aytug 2015, (5)-(10)."""
        answer = self._oracle().solve(point, tolerance=tolerance, time_limit=time_limit)
        cut = Cut(answer.constant, answer.slopes)
        return SubAnswer(
            answer.value, answer.bound, cut, lambda: self._write(point, answer.w, answer.b, answer.value), answer
        )

    def _relaxed(self, *given: Any, **words: Any) -> tuple[Relaxed, float, np.ndarray] | None:
        svm = self._oracle()
        found = svm.relax(*given, **words)
        return None if found is None else (found[0], *svm.cut(found[0].alpha, found[1]))

    def adapt(self, sub: EditedSub) -> Adapted:
        """Return what answers for an edited SUB. Raises Inexpressible."""
        edited = EditedFast(self._model, self._X, self._y, self._s, self._form, self._kind, sub)
        return Adapted(edited, edited.relax, edited.detached)

    def detached(self) -> FastSub:
        """Return what answers as this one now does, and knows no model: for other processes."""
        svm = self._oracle()
        return self._copy(_svm=svm, _model=SimpleNamespace(C=self._made_for))

    def parameters(self) -> tuple[float]:
        """Return what SUB's value depends on besides sigma."""
        return (float(pyo.value(self._model.C)),)

    def identity(self) -> str:
        """Return what tells SUB on these data from SUB on others."""
        if self._hash is None:
            X = self._X
            parts = [X.data, X.indices, X.indptr] if sparse.issparse(X) else [np.asarray(X)]
            digest = hashlib.sha256(repr((X.shape, self._kind)).encode())
            for part in [*parts, self._y, self._s]:
                digest.update(np.ascontiguousarray(part).tobytes())
            self._hash = digest.hexdigest()
        return self._hash

    def _oracle(self) -> SvmOracle:
        """Return the oracle for the C that the model has now."""
        C = float(pyo.value(self._model.C))
        if self._made_for != C:
            self._svm, self._made_for = self._made(C), C
        return self._svm

    def _made(self, C: float) -> SvmOracle:
        return SvmOracle(self._X, self._y, C * self._s, self._kind.loss, free_b=self._kind.free_b)


def carry(cut: Cut, then: tuple[Any, ...], now: tuple[Any, ...]) -> Cut | None:
    r"""Return the cut of a multiple of alpha for another C: t alpha with t = C'/C, which keeps 0 <= alpha <= C'.

    With weights s both are C s_i, of the same s: data of others are other ones (``identity``).

    .. math:: q'(\sigma) \ge t\, e^\top \alpha - \tfrac12 t^2 \sum_j \sigma_j v_j^2

    With the squared hinge, -sum alpha_i^2 / (4C) becomes -t^2 sum alpha_i^2 / (4C'), at least t times as much.
    """
    if then[1:] != now[1:]:
        return None
    t = now[0] / then[0]
    return Cut(t * cut.constant, t * t * cut.coefficients) if t > 0.0 else None


class Reweighting:
    r"""Where the relaxation's next cut is likely worth more: the best sigma for the present w.

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
    """Return min(1, size/tau) with tau such that the sum is ``total``, or all ones where size has fewer non-zeros."""
    order = np.sort(size)[::-1]
    if np.count_nonzero(order) <= total:
        return np.where(size > 0, 1.0, 0.0)
    rest = np.cumsum(order[::-1])[::-1]  # sum of the k-th largest and all smaller ones
    full = np.arange(len(order))
    left = total - full
    tau = np.divide(rest, left, out=np.full_like(rest, np.inf), where=left > 0)
    k = int(np.argmax(order <= tau))  # the first k where nothing else reaches 1
    return np.minimum(1.0, size / tau[k])


def error_rate(model: pyo.ConcreteModel, data: Dataset) -> float:
    """Return the share of ``data`` that the classifier on the model gets wrong."""
    w = np.array([pyo.value(v) for v in model.w.values()])
    predicted = np.where(linear_decision(data.X, w, pyo.value(model.b)) > 0, 1.0, -1.0)
    return float(np.mean(predicted != data.y))


class EditedFast(OracleSub):
    """Answers for SUB with the edits that it was made for; raises Inexpressible where the oracle takes them not."""

    def __init__(
        self, model: Any, X: Any, y: np.ndarray, s: np.ndarray, form: str, kind: LossKind, sub: EditedSub
    ) -> None:
        self._model, self._form, self._X, self._y = model, form, X, y
        read = self._read = Reader(model, X, y, s, form, sub, kind=kind).read()
        self._constant, self._must = read.constant, read.must if read.must.any() else None
        columns = X[read.samples]
        plain = bool((read.root == 1.0).all())
        scaled = (
            columns if plain else sparse.csc_array(columns / read.root) if sparse.issparse(X) else columns / read.root
        )
        try:
            self._svm = EditableOracle(scaled, y[read.samples], read.C, read.edits, kind.loss, free_b=kind.free_b)
        except DataError as error:
            raise Inexpressible(str(error)) from None

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

    def _relaxed(self, *given: Any, **words: Any) -> tuple[Relaxed, float, np.ndarray] | None:
        return self._svm.relaxed(*given, **words)

    def detached(self) -> EditedFast:
        """Return what answers as this one does, and knows no model: for other processes."""
        return self._copy(_model=SimpleNamespace())

    def _load(self, point: np.ndarray, answer: EditedSolution) -> None:
        read = self._read
        w, b = answer.w / read.root + read.at, answer.b
        eta = 0.0
        if self._form == "rmp":
            eta = 0.5 * float(w @ w) + float(self._svm.cost_of_slacks(np.maximum(0.0, self._short(w, b))))
        self._write(point[: read.root.size], w, b, eta, read.floor_of_slack, read.held)


def _nothing() -> None:
    """Load nothing: there is no point."""


def _set(variable: Any, values: np.ndarray) -> None:
    for v, x in zip(variable.values(), values.tolist(), strict=True):
        if not v.fixed:
            v.set_value(x, skip_validation=True)
