r"""One selection for several SVMs: FSP-M and FSP-lambda of more than two classes, one against the rest.

Problem
    Data sets k = 1..K of the same samples and features with labels y^k, such as class k against the rest:

    .. math::
        \min\ & \sum_k \bigl( \tfrac12 \sum_j w_{kj}^2 + C \sum_i s_i \xi_{ki} \bigr) \;[+ \sum_j \lambda_j \sigma_j] \\
        \text{s.t.}\ & y^k_i (w_k^\top x_i + b_k) + \xi_{ki} \ge 1,\ \xi \ge 0 \quad \forall k, i \\
                     & w_{kj} = 0 \text{ unless } \sigma_j = 1,\ \sigma_j \in \{0, 1\} \quad \forall k, j \\
                     & \sum_j \sigma_j \le M

    "w_kj = 0 unless sigma_j = 1" is written as ``w_kj^2 <= t_kj sigma_j`` with 1/2 sum t_kj in the objective
    (``perspective``), or as ``-W_k sigma_j <= w_kj <= W_k sigma_j`` with the W of each SVM (``big-m``).
The subproblem and its cut
    For fixed sigma the K SVMs have nothing in common, so that its value is q(sigma) = sum_k q_k(sigma), each q_k that
    of ``fsp``, convex over [0, 1]^n. Multipliers alpha^k that are feasible for each, v_kj = sum_i alpha^k_i y^k_i x_ij:

    .. math::
        q(\sigma) \ge \sum_k g_k(\alpha^k) - \tfrac12 \sum_j \sigma_j \sum_k v_{kj}^2

    at every sigma, and with equality where all alpha^k are optimal: the sum of the cuts (10). For fixed w the best
    sigma of the relaxation is that of one SVM with the weights sqrt(sum_k w_kj^2).
Symbols
    w -> ``w`` (classes, features), b -> ``b`` (classes), xi -> ``xi`` (classes, samples), t -> ``t`` (classes,
    features), sigma -> ``sigma`` (features), M -> ``max_features``, lambda -> ``penalty`` (features), s the weights of
    the samples.
Source
    Ours: Aytug 2015 has two classes.
Class
    MISOCP, as big-m a convex MIQP; with sigma fixed K convex QPs.
Certificate
    exact, when the solver proves its bound.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression
from scipy import sparse

from fsmodels.checks import choice, feature_count, switch
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import DataError, ParameterError
from fsmodels.models.fsp import penalties
from fsmodels.models.fsp.cuts import Reweighting, carry
from fsmodels.models.fsp.forms import SELECTED, weight_bound
from fsmodels.models.fsp.oracle import SvmOracle
from fsmodels.models.parameters import changeable
from fsmodels.models.proofs.certified import by_sigma
from fsmodels.models.proofs.losses import HINGE, LOSSES, LossKind
from fsmodels.models.rows import index_sets, rows_of, signed, weighted_sum
from fsmodels.models.shares import slack_weights
from fsmodels.models.svm import half_squares, weight_of_slacks
from solvers.facts import Cut, LinearRows, RelaxedAnswer, Structure, SubAnswer

__all__ = ["FORMS", "one_selection"]
__dir__ = __all__.copy  # what <TAB> offers

FORMS = ["perspective", "big-m"]


def one_selection(
    problems: Mapping[Any, Dataset],
    *,
    max_features: int | None = None,
    penalty: float | Mapping[str, float] = 0.0,
    C: float = 1.0,
    form: str = "perspective",
    loss: str = HINGE,
    intercept: bool = True,
) -> pyo.ConcreteModel:
    """Build FSP-M or FSP-lambda, or both in one, of several SVMs that share their selection.

    Parameters
    ----------
    problems : mapping of a name to a Dataset
        The same samples with other labels; their weights may differ, but not which of them are 0.
    max_features : int, optional
        M, 1..n; ``model.max_features`` can be changed between solves.
    penalty : float or mapping feature -> float
        lambda_j, paid once for all SVMs.
    C, loss, intercept
        As for ``fsp_m``, for all SVMs.
    form : {"perspective", "big-m"}

    Returns
    -------
    pyo.ConcreteModel
        ``sigma`` (features) selects; ``w`` (classes, features), rows ``margin`` (classes, samples).

    Raises
    ------
    DataError
        No data, or of other samples or features than the first.
    ParameterError
        As for ``fsp_m``; neither a most of features nor a price.

    Examples
    --------
    >>> import fsmodels as fs
    >>> from fsmodels.models.fsp import several
    >>> bupa = fs.load_dataset("bupa").scaled("standard")
    >>> few = [row for row in range(60)]
    >>> high = fs.Dataset(bupa.X[few], bupa.y[few], bupa.features)
    >>> other = fs.Dataset(bupa.X[few], -bupa.y[few], bupa.features)
    >>> model = several.one_selection({"high": high, "other": other}, max_features=2)
    >>> result = fs.solve(model)
    >>> result.status.value, len(result.selected)
    ('optimal', 2)
    """
    parts = {str(name): data.counting for name, data in problems.items()}
    data = _alike(parts)
    switch("intercept", intercept, "an offset b")
    kind = LossKind(choice("loss", loss, list(LOSSES)), intercept)
    prices = penalties(data, penalty)
    most = partial(feature_count, n_features=data.n_features)
    if max_features is not None:
        most(max_features)
    elif not any(prices.values()):
        raise ParameterError("There is no max_features and no penalty, so nothing would be selected: give one of them.")
    model = pyo.ConcreteModel(name="FSP of several classes")
    model.classes = pyo.Set(initialize=list(parts), doc="classes, each against the rest")
    index_sets(model, data)
    model.C = weight_of_slacks(C, "weight of the sum of slacks")
    model.sigma = pyo.Var(model.features, domain=pyo.Binary, doc=SELECTED)
    model.w = pyo.Var(model.classes, model.features, doc="effective weight of feature j for class k")
    model.b = pyo.Var(model.classes, doc="offset of class k")
    if not intercept:
        model.b.fix(0.0)
    model.xi = pyo.Var(model.classes, model.samples, domain=pyo.NonNegativeReals, doc="slack of sample i, class k")
    _add_margins(model, parts)
    _add_selection(model, parts, choice("form", form, FORMS), kind)
    slacks = [(slack_weights(part), [model.xi[k, i] for i in model.samples]) for k, part in parts.items()]
    total = [weighted_sum(s, xi, squared=kind.squared) for s, xi in slacks]
    model.loss = pyo.Expression(expr=sum(total[1:], total[0]), doc="weighted slacks, or their squares, of all classes")
    model.penalty = pyo.Param(model.features, initialize=prices, mutable=True, doc="lambda_j, price of feature j")
    priced = pyo.quicksum(model.penalty[j] * model.sigma[j] for j in model.features) if any(prices.values()) else 0.0
    model.objective = pyo.Objective(expr=model.norm + model.C * model.loss + priced, doc="margins, slacks, prices")
    if max_features is not None:
        model.max_features = changeable(most, max_features, "M, most features")
        chosen = pyo.quicksum(model.sigma.values())
        model.cardinality = pyo.Constraint(expr=chosen <= model.max_features, doc="at most M features")
    return _with_structure(model, list(parts.values()), form, kind)


def _alike(parts: Mapping[str, Dataset]) -> Dataset:
    """Return the first of several data sets, of which all others have samples and features."""
    if not parts:
        raise DataError("There are no data: give one Dataset for each class.")
    first, *others = parts.values()
    for name, other in zip(list(parts)[1:], others, strict=True):
        if other.features != first.features or other.X.shape != first.X.shape or (other.X != first.X).sum():
            raise DataError(
                f'The data of "{name}" have other samples or features than the first: only labels may differ.'
            )
    return first


def _add_margins(model: pyo.ConcreteModel, parts: Mapping[str, Dataset]) -> None:
    rows = {k: (rows_of(signed(part)), part.y.tolist()) for k, part in parts.items()}
    place = {i: p for p, i in enumerate(model.samples)}
    weights = {k: [model.w[k, j] for j in model.features] for k in parts}

    def margin(m: pyo.ConcreteModel, k: str, i: int) -> Any:
        (coefs, where), sign = rows[k][0][place[i]], rows[k][1][place[i]]
        held = weights[k] if len(where) == len(weights[k]) else [weights[k][j] for j in where]
        return LinearExpression(linear_coefs=[*coefs, sign, 1.0], linear_vars=[*held, m.b[k], m.xi[k, i]]) >= 1.0

    model.margin = pyo.Constraint(model.classes, model.samples, rule=margin, doc="margin of sample i for class k")


def _add_selection(model: pyo.ConcreteModel, parts: Mapping[str, Dataset], form: str, kind: LossKind) -> None:
    doc = "w_kj = 0 unless sigma_j = 1"
    if form == "perspective":
        model.t = pyo.Var(model.classes, model.features, domain=pyo.NonNegativeReals, doc="w_kj^2 where sigma_j = 1")
        t = list(model.t.values())
        model.only_selected = pyo.Constraint(
            model.classes, model.features, rule=lambda m, k, j: m.w[k, j] ** 2 <= m.t[k, j] * m.sigma[j], doc=doc
        )
        norm = LinearExpression(linear_coefs=[0.5] * len(t), linear_vars=t)
    else:
        W = {k: weight_bound(part, model.C, kind.loss, intercept=kind.free_b) for k, part in parts.items()}
        model.W = pyo.Expression(model.classes, rule=lambda m, k: W[k], doc="|w_kj| <= W_k at the optimum")
        model.only_selected = pyo.Constraint(
            model.classes, model.features, rule=lambda m, k, j: m.w[k, j] <= W[k] * m.sigma[j], doc=doc
        )
        model.only_selected_below = pyo.Constraint(
            model.classes, model.features, rule=lambda m, k, j: m.w[k, j] >= -W[k] * m.sigma[j], doc=doc
        )
        norm = half_squares(list(model.w.values()))
    model.norm = pyo.Expression(expr=norm, doc="1/2 sum w_kj^2")


def _with_structure(model: pyo.ConcreteModel, parts: Sequence[Dataset], form: str, kind: LossKind) -> pyo.ConcreteModel:
    """Attach what drivers may use, and remember the model as built."""
    bare = form == "perspective"
    fast = SharedSub(model, parts, form, kind)
    names = ["only_selected"] if bare else ["only_selected", "only_selected_below"]
    structure = Structure(
        complicating=list(model.sigma.values()),
        subproblem=[model.w, model.b, model.xi, *([model.t] if bare else [])],
        rows=[model.margin],
        coupling=[getattr(model, name) for name in names],
        switches=[(model.sigma[j], model.w[k, j]) for k in model.classes for j in model.features],
        terms=[model.norm, model.loss],
        oracle=fast,
        detached=fast.detached,
        selected=by_sigma,
        suggest=Suggested(model),
        floor=0.0,
        parameters=fast.parameters,
        identity=fast.identity,
        carry=carry,
        starts=[np.ones(len(model.sigma))],
        only_as_built="" if bare else 'the bound |w_kj| <= W_k of form="big-m"',
        default_solver="branch-and-cut",
    )
    structure.seal(model)
    return model


class SharedSub:
    """The SVMs of one selection by their oracles, with the answers put on the model's variables; as built only."""

    def __init__(self, model: pyo.ConcreteModel, parts: Sequence[Dataset], form: str, kind: LossKind) -> None:
        self._model: Any = model
        self._form, self._kind, self._X = form, kind, parts[0].X
        self._labels = [(part.y, slack_weights(part)) for part in parts]
        self._made_for = float(pyo.value(model.C))
        self._svms = self._made(self._made_for)

    def __deepcopy__(self, memo: dict[int, Any]) -> SharedSub:
        """Return what belongs to the model's clone; the data, which nobody changes, are shared."""
        copy = SharedSub.__new__(SharedSub)
        memo[id(self)] = copy
        copy.__dict__ = self.__dict__ | {"_model": deepcopy(self._model, memo)}
        return copy

    def solve(self, point: np.ndarray, tolerance: float, time_limit: float | None) -> SubAnswer:
        """Answer at sigma of shape (n,), each in [0, 1]: values, bounds and cuts of all SVMs, added."""
        start, answers = time.perf_counter(), []
        for svm in self._oracles():
            left = None if time_limit is None else max(0.0, time_limit - (time.perf_counter() - start))
            answers.append(svm.solve(point, tolerance=tolerance, time_limit=left))
        value, bound = sum(a.value for a in answers), sum(a.bound for a in answers)
        slopes = -0.5 * np.sum([a.v**2 for a in answers], axis=0)
        cut = Cut(sum(a.constant for a in answers), slopes)
        size = np.sqrt(np.sum([a.w**2 for a in answers], axis=0))
        return SubAnswer(value, bound, cut, lambda: self._load(point, answers), SimpleNamespace(w=size))

    def relax(self, master: LinearRows, lower: np.ndarray, upper: np.ndarray, **_: Any) -> RelaxedAnswer | None:
        """Return None: the relaxation of several SVMs at once is left to the driver's cuts."""
        return None

    def detached(self) -> SharedSub:
        """Return what answers as this one now does, and knows no model: for other processes."""
        copy = SharedSub.__new__(SharedSub)
        copy.__dict__ = self.__dict__ | {"_svms": self._oracles()}
        copy._model = SimpleNamespace(C=self._made_for)
        return copy

    def parameters(self) -> tuple[float]:
        """Return what the value depends on besides sigma."""
        return (float(pyo.value(self._model.C)),)

    def identity(self) -> str:
        """Return what tells these SVMs from others."""
        X = self._X
        held = [X.data, X.indices, X.indptr] if sparse.issparse(X) else [np.asarray(X)]
        told = hashlib.sha256(repr((X.shape, self._kind, len(self._labels))).encode())
        for part in [*held, *(part for pair in self._labels for part in pair)]:
            told.update(np.ascontiguousarray(part).tobytes())
        return told.hexdigest()

    def _oracles(self) -> list[SvmOracle]:
        C = float(pyo.value(self._model.C))
        if self._made_for != C:
            self._svms, self._made_for = self._made(C), C
        return self._svms

    def _made(self, C: float) -> list[SvmOracle]:
        return [SvmOracle(self._X, y, C * s, self._kind.loss, free_b=self._kind.free_b) for y, s in self._labels]

    def _load(self, sigma: np.ndarray, answers: Sequence[Any]) -> None:
        model = self._model
        w = np.array([a.w for a in answers])
        scores = np.array([np.asarray(self._X @ a.w).ravel() + a.b for a in answers])
        y = np.array([labels for labels, _ in self._labels])
        _set(model.w, w)
        _set(model.b, [a.b for a in answers])
        _set(model.xi, np.maximum(0.0, 1.0 - y * scores))
        if self._form == "perspective":
            _set(model.t, np.divide(w**2, sigma, out=np.zeros_like(w), where=sigma > 0))


class Suggested(Reweighting):
    """``Reweighting`` with both a number and a price: the number counts where there is one."""

    def __call__(self, point: np.ndarray, answer: SubAnswer) -> np.ndarray | None:
        """Return sigma of shape (n,)."""
        held: Any = self._model
        names = ["max_features"] if held.component("max_features") is not None else ["penalty", "features"]
        return Reweighting(SimpleNamespace(**{name: getattr(held, name) for name in names}))(point, answer)


def _set(variable: Any, values: Any) -> None:
    for v, x in zip(variable.values(), np.ravel(values).tolist(), strict=True):
        v.set_value(x, skip_validation=True)
