r"""The SVM that equals GMEB without scaling: with the norm not squared, and with the ratio of loss and margin.

Problem
    n samples; Theorem 11 without its constant terms, and its convex equivalent:

    .. math::
        \min_{w, b, \xi, \gamma}\ & \tfrac{1}{\gamma} \left(e^\top \xi + \tfrac{1}{2C}\right)              && (18) \\
        \text{s.t.}\ & y_i (w^\top x_i + b) \ge \gamma - \xi_i,\ w^\top w \le 1,\ \xi \ge 0,\ \gamma > 0   && (18)

        \min_{\hat w, \hat b, \hat\xi}\ & \tfrac12 \|\hat w\|_2 + C e^\top \hat\xi                         && (19) \\
        \text{s.t.}\ & y_i (\hat w^\top x_i + \hat b) \ge 1 - \hat\xi_i,\ \hat\xi \ge 0                    && (19)

        \min_{\hat w, \hat b, \hat\xi, t}\ & e^\top \hat\xi + \tfrac{t}{2C}                             && (28) \\
        \text{s.t.}\ & \text{the rows of (19)},\ \|\hat w\|^2 \le t^2,\ t \ge 0                        && (28)

Forms of (18)
    "ratio": as printed. "perspective": (28), which is convex. For f_0(x) / c'x with rows f_i(x) <= 0, Lemma 23 takes y
    = t x and the perspectives t f_i(y/t), and the row c'y = 1. Here x = (w, b, xi, gamma), c'x = gamma and t = 1/gamma,
    so y = (w^, b^, xi^, 1) with w^ = w/gamma, b^ = b/gamma, xi^ = xi/gamma. The objective ``e'xi + 1/(2C)`` becomes
    ``e'xi^ + t/(2C)``. The margins are linear and keep their form, with 1 for gamma. ``w'w - 1 <= 0`` becomes
    ``w^'w^/t - t <= 0``. The domain t > 0 is closed by t = 0, where w^ = 0.
Equivalence (Theorem 20)
    At the minimum of (28) t = ``||w^||``, so (19) is C times (28): w = w^/||w^||, b = b^/||w^||, xi = xi^/||w^||, gamma
    = 1/||w^||. If the optimum of (19) is w^ = 0, (18) has no optimum: its infimum is approached as gamma grows without
    bound. (28) attains it at t = 0.
Symbols
    w, w^ -> ``w`` (features; 1/unit of the feature in (19) and (28)), b -> ``b``, xi -> ``xi`` (samples), gamma ->
    ``gamma``, t and ||w^|| -> ``t``, C -> ``C``, e'xi -> ``loss``.
Source
    Peleg, Meir 2005, "Feature selection by global minimization of a generalization bound": (18), (19), (28), Theorem
    20, Lemma 23.
Deviations
    (19) bounds the norm by ``t`` in a second-order cone. Theorem 20 does not state that the optima differ by a factor
    C. The equality ``c'y + d t = 1`` of (28) fixes the product gamma t at 1, so that it is not a variable here.
Class
    (19) and (28) SOCP; (18) quasiconvex NLP.
Certificate
    (19) and (28) exact: bound and point come from the data (``proofs``); (18) stationary.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyomo.environ as pyo

from fsmodels.checks import choice
from fsmodels.datasets.dataset import Dataset
from fsmodels.models.components import add_rows, by_weight, latex_of, signed, slack_sum, weighted_sum
from fsmodels.models.proofs.bounds import unsquared_bound
from fsmodels.models.proofs.certified import ClassifierProof, Point, read_weights
from fsmodels.models.proofs.equilibration import Columns
from fsmodels.models.shares import slack_weights
from fsmodels.models.svm import cost_of_zero_weights, feature_weights, put, soft_margin, with_proof
from fsmodels.weights import FloatArray, column_sizes
from solvers.facts import Facts

__all__ = ["svm_ratio", "svm_unsquared"]

FORMS = ["ratio", "perspective"]  # of (18)


def svm_unsquared(data: Dataset, *, C: float = 1.0) -> pyo.ConcreteModel:
    """Build the SVM with the norm of w not squared (19).

    Parameters
    ----------
    data : Dataset of shape (n, d)
    C : float
        Weight of the unscaled sum of slacks, above 0; ``model.C`` can be changed between solves.

    Returns
    -------
    pyo.ConcreteModel
        ``w`` (features), ``b``, ``xi`` (samples), ``t`` >= ||w||, rows ``margin`` and ``norm``.

    Raises
    ------
    ParameterError
        If C is not above 0.

    Examples
    --------
    >>> import fsmodels as fs
    >>> fs.solve(fs.gmeb.svm_unsquared(fs.load_dataset("bupa").scaled("standard"), C=1.0)).status.value
    'optimal'
    """
    model = _cone_model("SVM, norm not squared", data, C, "(19)")
    doc = rf"(19) norm and slacks \(\tfrac12 t + C {latex_of(model.loss)}\)"
    model.objective = pyo.Objective(expr=0.5 * model.t + model.C * model.loss, doc=doc)
    return with_proof(
        model,
        data,
        _put,
        unsquared_bound,
        [(1.0, list(model.w.values()))],
        lambda price: 2.0 * price,
        selected=partial(by_weight, column_sizes(data.X)),
        default_solver="clarabel",
    )


def _cone_model(name: str, data: Dataset, C: float, equation: str) -> pyo.ConcreteModel:
    """Return a model with the margins and ``||w|| <= t``, without an objective."""
    model = soft_margin(name, data, C)
    model.t = pyo.Var(domain=pyo.NonNegativeReals, doc=f"{equation} bound on ||w||")
    squares = pyo.quicksum(w**2 for w in model.w.values())
    doc = rf"{equation} ||w|| <= t \(\lVert w \rVert^2 \le t^2\)"
    model.norm = pyo.Constraint(expr=squares <= model.t**2, doc=doc)
    return model


def _put(model: pyo.ConcreteModel, point: Point) -> None:
    put(model, point)
    model.t.set_value(float(np.linalg.norm(point.w)))


def svm_ratio(data: Dataset, *, C: float = 1.0, form: str = "ratio") -> pyo.ConcreteModel:
    """Build the quasiconvex SVM (18): loss over margin, with w in the unit ball; its optimum is that of (19) over C.

    ``data``, ``C`` and errors as for ``svm_unsquared``.

    Parameters
    ----------
    form : {"ratio", "perspective"}
        "ratio": (18) as printed, for NLP solvers. "perspective": its convex form (28), for conic solvers.

    Returns
    -------
    pyo.ConcreteModel
        ``w`` (features), ``b``, ``xi`` (samples), rows ``margin``. "ratio": ``gamma`` and the row ``unit``. If the
        optimum of (19) is w = 0, there is no optimum: gamma then grows without bound. "perspective": ``t`` = 1/gamma
        and the row ``norm``; w, b and xi are those of (18) divided by gamma, which gives the same classification.

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("bupa").scaled("standard")
    >>> fs.solve(fs.gmeb.svm_ratio(data, C=1.0)).status.value
    'stationary'
    >>> fs.solve(fs.gmeb.svm_ratio(data, C=1.0, form="perspective")).status.value
    'optimal'
    """
    if choice("form", form, FORMS) == "perspective":
        return _perspective(data, C)
    model = feature_weights("SVM, ratio", data, C)
    model.xi = pyo.Var(model.samples, domain=pyo.NonNegativeReals, initialize=1.0, doc="(18) slack of sample i")
    model.gamma = pyo.Var(domain=pyo.NonNegativeReals, initialize=1.0, doc="(18) margin, above 0")
    weights, slacks = list(model.w.values()), list(model.xi.values())
    data = data.counting
    doc = r"(18) margin of sample i \(y_i (w^\top x_i + b) \ge \gamma - \xi_i \quad \forall\, i\)"
    terms = [(signed(data), weights), (data.y, model.b), (-np.ones(len(data.y)), model.gamma), (1.0, slacks)]
    add_rows(model, "margin", model.samples, terms, doc, at_least=0.0)
    doc = r"(18) w'w <= 1 \(\lVert w \rVert^2 \le 1\)"
    model.unit = pyo.Constraint(expr=pyo.quicksum(w**2 for w in weights) <= 1, doc=doc)
    s = slack_weights(data)
    model.loss = pyo.Expression(expr=weighted_sum(s, slacks), doc=rf"(18) e'xi \({slack_sum(s)}\)")
    model.objective = pyo.Objective(
        expr=(model.loss + 1 / (2 * model.C)) / model.gamma,
        doc="(18) loss and complexity over the margin "
        rf"\(\frac{{1}}{{\gamma}} \left({latex_of(model.loss)} + \frac{{1}}{{2 C}}\right)\)",
    )
    Facts(selected=partial(by_weight, column_sizes(data.X)), default_solver="pounce").attach(model)
    return model


def _perspective(data: Dataset, C: float) -> pyo.ConcreteModel:
    """Build the convex form (28) of (18)."""
    model = _cone_model("SVM, ratio in perspective form", data, C, "(28)")
    doc = rf"(28) slacks and norm \({latex_of(model.loss)} + \tfrac{{1}}{{2 C}} t\)"
    model.objective = pyo.Objective(expr=model.loss + model.t / (2 * model.C), doc=doc)
    data = data.counting
    columns, cost = Columns.of(data.X), cost_of_zero_weights(data, 1.0)
    w = list(model.w.values())
    change = columns.change([(1.0, w)], (1.0, model.b), 2.0 * float(pyo.value(model.C)) * cost)
    if change is not None:
        change.most = cost
    proof = _PerspectiveProof(columns, data.y, slack_weights(data), read_weights, _put, unsquared_bound, priced=False)
    Facts(
        selected=partial(by_weight, column_sizes(data.X)),
        resolution=proof.resolution,
        certificate=proof.certificate([model.margin]),
        change=change,
        default_solver="clarabel",
    ).attach(model)
    return model


@dataclass(frozen=True)
class _PerspectiveProof(ClassifierProof):
    """Proof of (28) by that of (19), whose objective and multipliers are C times those of (28)."""

    def bound(self, model: Any, alpha: FloatArray | None) -> float:
        C = float(pyo.value(model.C))
        return unsquared_bound(self.columns, self.y, C * self.s, None if alpha is None else C * alpha) / C
