r"""The SVM that equals GMEB without scaling: with the norm not squared, and with the ratio of loss and margin.

Problem
    n samples; Theorem 11 without its constant terms, and its convex equivalent:

    .. math::
        \min_{w, b, \xi, \gamma}\ & \tfrac{1}{\gamma} \left(e^\top \xi + \tfrac{1}{2C}\right)              && (18) \\
        \text{s.t.}\ & y_i (w^\top x_i + b) \ge \gamma - \xi_i,\ w^\top w \le 1,\ \xi \ge 0,\ \gamma > 0   && (18)

        \min_{\hat w, \hat b, \hat\xi}\ & \tfrac12 \|\hat w\|_2 + C e^\top \hat\xi                         && (19) \\
        \text{s.t.}\ & y_i (\hat w^\top x_i + \hat b) \ge 1 - \hat\xi_i,\ \hat\xi \ge 0                    && (19)

Equivalence (Theorem 20)
    The perspective of Lemma 23 divides all of (18) by gamma: with w^ = w/gamma, b^ = b/gamma, xi^ = xi/gamma and
    t = 1/gamma its rows are those of (19) and ``||w^|| <= t``, its objective ``e'xi^ + t/(2C)``, at whose minimum t =
    ``||w^||``. So (19) is C times (18), and vice versa: w = w^/||w^||, b = b^/||w^||, xi = xi^/||w^||, gamma =
    1/||w^||. If the optimum of (19) is w^ = 0, (18) has no optimum: its infimum is approached as gamma grows without
    bound.
Symbols
    w, w^ -> ``w`` (features; 1/unit of the feature in (19)), b -> ``b``, xi -> ``xi`` (samples), gamma -> ``gamma``,
    ||w^|| -> ``t``, C -> ``C``, e'xi -> ``loss``.
Source
    Peleg, Meir 2005, "Feature selection by global minimization of a generalization bound": (18), (19), Theorem 20,
    Lemma 23.
Deviations
    (19) bounds the norm by ``t`` in a second-order cone. Theorem 20 does not state that the optima differ by a factor
    C.
Class
    (19) SOCP; (18) quasiconvex NLP.
Certificate
    (19) exact: bound and point come from the data (``proofs``); (18) stationary.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pyomo.environ as pyo

from fsmodels.datasets.dataset import Dataset
from fsmodels.models.components import add_rows, by_weight, latex_of, signed, slack_sum, weighted_sum
from fsmodels.models.proofs.bounds import unsquared_bound
from fsmodels.models.proofs.certified import Point
from fsmodels.models.shares import slack_weights
from fsmodels.models.svm import feature_weights, put, soft_margin, with_proof
from fsmodels.weights import column_sizes
from solvers.facts import Facts

__all__ = ["svm_ratio", "svm_unsquared"]


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
    model = soft_margin("SVM, norm not squared", data, C)
    model.t = pyo.Var(domain=pyo.NonNegativeReals, doc="(19) bound on ||w||")
    squares = pyo.quicksum(w**2 for w in model.w.values())
    model.norm = pyo.Constraint(expr=squares <= model.t**2, doc=r"(19) ||w|| <= t \(\lVert w \rVert^2 \le t^2\)")
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


def _put(model: pyo.ConcreteModel, point: Point) -> None:
    put(model, point)
    model.t.set_value(float(np.linalg.norm(point.w)))


def svm_ratio(data: Dataset, *, C: float = 1.0) -> pyo.ConcreteModel:
    """Build the quasiconvex SVM (18): loss over margin, with w in the unit ball; its optimum is that of (19) over C.

    ``data``, ``C`` and errors as for ``svm_unsquared``.

    Returns
    -------
    pyo.ConcreteModel
        ``w`` (features), ``b``, ``xi`` (samples), ``gamma``, rows ``margin`` and ``unit``; for NLP solvers. If the
        optimum of (19) is w = 0, there is no optimum: gamma then grows without bound.

    Examples
    --------
    >>> import fsmodels as fs
    >>> fs.solve(fs.gmeb.svm_ratio(fs.load_dataset("bupa").scaled("standard"), C=1.0)).status.value
    'stationary'
    """
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
