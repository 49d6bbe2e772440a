r"""Support vector machines without selection, and components for the other modules.

Problem
    Soft-margin SVM (L2), its dual, and the 1-norm SVM:

    .. math::
        \min_{w, b, \xi}\ & \tfrac12 w^\top w + C \sum_i \xi_i                            && (1) \\
        \text{s.t.}\ & y_i (w^\top x_i + b) + \xi_i \ge 1,\ \xi_i \ge 0 \quad \forall i    && (1)

        \max_\alpha\ & \sum_i \alpha_i - \tfrac12 \sum_j v_j^2,\quad
                       v_j = \sum_i \alpha_i y_i x_{ij}                                   && (3) \\
        \text{s.t.}\ & \sum_i y_i \alpha_i = 0,\ 0 \le \alpha_i \le C                      && (3)

        \min_{p, q, b, \xi}\ & \sum_j (p_j + q_j) + C \sum_i \xi_i                         && (ONSVM) \\
        \text{s.t.}\ & y_i ((p - q)^\top x_i + b) + \xi_i \ge 1,\ p, q, \xi \ge 0          && (ONSVM)

    Robust linear program: A contains the m rows of class +1, B the k rows of class -1, and the plane is w.x = gamma:

    .. math::
        \min_{w, \gamma, y, z}\ & E = \tfrac1m e^\top y + \tfrac1k e^\top z                     && (5) \\
        \text{s.t.}\ & -A w + e \gamma + e \le y,\ B w - e \gamma + e \le z,\ y, z \ge 0        && (5)

    Squared hinge (``loss="squared-hinge"`` of ``l2_svm``, and of FSP): C sum_i xi_i^2 in (1), with the C of liblinear's
    L2-loss SVC. The dual has ``- sum alpha_i^2 / (4C)`` and no upper bound of alpha; ``proofs.svm`` derives it.

    Selection (``sigma=True`` of ``one_norm_svm``): ``p_j + q_j <= M sigma_j``, sigma binary, M = 2 C min(l+, l-). With
    w = 0 the best offset leaves a slack of 2 for each sample of the smaller class, so (ONSVM) has the value M there,
    for every sigma. No optimum has a larger value, and ``p_j + q_j`` is a part of it. M is attained, for example by two
    samples that one feature separates by a distance of 1/C. M is an expression of C, which may change.

    Weights of samples (``Dataset.weighted``): C s_i replaces C in (1), (3) and (ONSVM), in the objective or as the
    upper bound of alpha_i, and the sums of s over the classes replace l+ and l-; in (5) the means have weights
    (``models.shares``). A sample of weight 0 has no row; ``samples`` contains the positions of the others.

    At the optimum y and z are the hinge losses of their class, so E is (4). Both classes have the same weight for any
    sizes: w = 0 has the value 2 at every gamma in [-1, 1], the largest optimum of (5).

Derivation of the dual
    With multipliers alpha >= 0 of the margins and u >= 0 of xi >= 0, the Lagrangian
    ``1/2 w'w + C e'xi - sum alpha_i (y_i (w.x_i + b) + xi_i - 1) - u'xi`` is least at w = v, needs y'alpha = 0
    (b is free) and alpha + u = C, and leaves ``sum alpha - 1/2 v'v``. Pyomo's dual of margin row i is alpha_i.
Symbols
    w -> ``w`` (features; 1/unit of the feature), b -> ``b``, xi -> ``xi`` (samples), alpha -> ``alpha`` (samples),
    v -> ``v`` (features), p, q -> ``p``, ``q`` (features). y_i in {-1, +1}; C multiplies the unscaled sum of slacks.
    In (5): gamma -> ``gamma``, y -> ``y`` (A), z -> ``z`` (B), E -> ``error``; ``b`` is -gamma.
Source
    Aytug 2015, "Feature selection for support vector machines using generalized Benders decomposition": (1), (3),
    (ONSVM). Bradley, Mangasarian, Street 1998, "Feature selection via mathematical programming": (4), (5).
Deviations
    (3) prints min for a maximisation, and no upper bound C (its data are separable). v_j is a variable, so that the
    objective of the dual is diagonal.
Class
    (1) and (3) convex QP, (ONSVM) and (5) LP.
Certificate
    exact, if the solver proves its bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression
from scipy import sparse

from fsmodels.checks import choice, choosing, positive
from fsmodels.datasets.dataset import Dataset
from fsmodels.models.components import (
    add_rows,
    by_ordered_sets,
    changeable,
    index_sets,
    latex_of,
    plane_bound,
    plane_change,
    plane_rows,
    put_plane,
    separating_plane,
    signed,
    slack_sum,
    weighted_sum,
)
from fsmodels.models.proofs.bounds import one_norm_bound, svm_bound
from fsmodels.models.proofs.certified import ClassifierProof, Point, by_sigma, read_selection, read_weights, write
from fsmodels.models.proofs.equilibration import Columns, powers
from fsmodels.models.proofs.svm import HINGE, LOSSES, PLAIN, SQUARED, LossKind
from fsmodels.models.shares import class_shares, slack_weights
from solvers.facts import Change, Facts, Structure

__all__ = ["l2_svm", "l2_svm_dual", "one_norm_svm", "robust_lp"]
__dir__ = __all__.copy  # what <TAB> offers

MAX_BIG_M = 1e5  # in units of the equilibrated columns; a larger M is replaced by ordered sets
C_MEANING = "C weighs the sum of slacks"


def l2_svm(data: Dataset, *, C: float = 1.0, loss: str = HINGE) -> pyo.ConcreteModel:
    """Build the soft-margin SVM (1).

    Parameters
    ----------
    data : Dataset of shape (l, n)
    C : float
        Weight of the unscaled sum of slacks, or of squared slacks, above 0.
    loss : {"hinge", "squared-hinge"}
        C is the price of slacks, or of their squares.

    Returns
    -------
    pyo.ConcreteModel
        ``w`` (features), ``b``, ``xi`` (samples), rows ``margin``.

    Raises
    ------
    ParameterError
        If C is not above 0, or the loss is unknown.

    Examples
    --------
    >>> import fsmodels as fs
    >>> result = fs.solve(fs.svm.l2_svm(fs.load_dataset("bupa").scaled("standard"), C=1.0))
    >>> result.status.value
    'optimal'
    """
    model = soft_margin("L2-SVM", data, C, loss)
    w = list(model.w.values())
    doc = rf"(1) margin and slacks \(\tfrac12 \lVert w \rVert^2 + C {latex_of(model.loss)}\)"
    model.objective = pyo.Objective(expr=half_squares(w) + model.C * model.loss, doc=doc)
    kind = LossKind(loss)
    lower = partial(svm_bound, kind=kind)
    return with_proof(model, data, put, lower, [(1.0, w)], lambda price: price**0.5, kind=kind)


def l2_svm_dual(data: Dataset, *, C: float = 1.0) -> pyo.ConcreteModel:
    """Build the dual (3) of the soft-margin SVM; its optimum equals that of ``l2_svm``.

    ``data``, ``C``, here the upper bound of every alpha, and errors as for ``l2_svm``.

    Returns
    -------
    pyo.ConcreteModel
        ``alpha`` (samples), ``v`` (features; w of the primal at the optimum), rows ``balance`` (its dual is b) and
        ``weight``.

    Examples
    --------
    >>> import fsmodels as fs
    >>> model = fs.svm.l2_svm_dual(fs.load_dataset("bupa").scaled("standard"), C=1.0)
    >>> fs.solve(model).status.value
    'optimal'
    """
    model = pyo.ConcreteModel(name="L2-SVM dual")
    data = index_sets(model, data)
    model.C = weight_of_slacks(C, "(3) C, upper bound of alpha")
    shares = dict(zip(model.samples, slack_weights(data).tolist(), strict=True))
    model.alpha = pyo.Var(
        model.samples,
        bounds=lambda m, i: (0.0, m.C if shares[i] == 1.0 else shares[i] * m.C),
        doc="(3) multiplier of the margin of sample i",
    )
    model.v = pyo.Var(model.features, doc="(3) weight of feature j that alpha gives")
    alpha = list(model.alpha.values())
    doc = r"(3) classes balance \(\sum_i y_i \alpha_i = 0\)"
    model.balance = pyo.Constraint(expr=LinearExpression(linear_coefs=data.y.tolist(), linear_vars=alpha) == 0, doc=doc)
    doc = r"(3) v_j = sum_i alpha_i y_i x_ij \(v_j = \sum_i \alpha_i y_i x_{ij} \quad \forall\, j\)"
    v = list(model.v.values())
    add_rows(model, "weight", range(len(v)), [(signed(data).T, alpha), (-1.0, v)], doc)
    doc = r"(3) \(\sum_i \alpha_i - \tfrac12 \lVert v \rVert^2\)"
    model.objective = pyo.Objective(expr=pyo.quicksum(alpha) - half_squares(v), sense=pyo.maximize, doc=doc)
    Facts(change=_dual_change(model, data, list(shares.values()))).attach(model)
    return model


def _dual_change(model: pyo.ConcreteModel, data: Dataset, shares: list[float]) -> Change | None:
    """Return the change of units for alpha, v and rows by the bound C of alpha; None if none is needed.

    The optimum is at most C times the sum of the shares, which also bounds |v|^2 / 2.
    """
    most = model.C * sum(shares)
    bounds = np.minimum(pyo.value(model.C) * np.array(shares), 1.0)
    reach = np.minimum(abs(signed(data)).T @ bounds, min(1.0, np.sqrt(2.0 * pyo.value(most))))
    alpha, weight = powers(bounds), powers(reach)
    if np.all(alpha == 1.0) and np.all(weight == 1.0):
        return None
    factors = list(zip(model.alpha.values(), (1.0 / alpha).tolist(), strict=True))
    factors += list(zip(model.v.values(), (1.0 / weight).tolist(), strict=True))
    rows = [(model.balance, float(alpha.min())), *zip(model.weight.values(), weight.tolist(), strict=True)]
    return Change(factors, rows=rows, most=most)


def one_norm_svm(data: Dataset, *, C: float = 1.0, sigma: bool = False) -> pyo.ConcreteModel:
    """Build the 1-norm SVM (ONSVM), a linear program whose vertices use few features.

    ``data``, ``C`` and errors as for ``l2_svm``.

    Parameters
    ----------
    sigma : bool
        Add the binaries ``sigma`` (features), with w_j = 0 if sigma_j = 0, for rows on the selection.

    Returns
    -------
    pyo.ConcreteModel
        ``p``, ``q`` (features), ``w`` = p - q (named expression), ``b``, ``xi`` (samples), rows ``margin``. With
        ``sigma=True`` also ``sigma``, the bound ``M`` of every p_j + q_j and the rows ``only_selected``. M is valid for
        the model as built, so rows on other variables than sigma are then rejected. If M is too large for the
        tolerances of solvers, ``only_selected`` consists of ordered sets of type 1, for scip or gurobi.

    Examples
    --------
    >>> import fsmodels as fs
    >>> result = fs.solve(fs.svm.one_norm_svm(fs.load_dataset("bupa").scaled("standard")), "highs")
    >>> result.status.value
    'optimal'
    """
    model = pyo.ConcreteModel(name="1-norm SVM")
    data = index_sets(model, data)
    model.C = weight_of_slacks(C, "(ONSVM) weight of the sum of slacks")
    model.p = pyo.Var(model.features, domain=pyo.NonNegativeReals, doc="(ONSVM) positive part of feature j's weight")
    model.q = pyo.Var(model.features, domain=pyo.NonNegativeReals, doc="(ONSVM) negative part of feature j's weight")
    model.w = pyo.Expression(model.features, rule=lambda m, j: m.p[j] - m.q[j], doc="(ONSVM) weight of feature j")
    model.b = pyo.Var(doc="(ONSVM) offset")
    model.xi = pyo.Var(model.samples, domain=pyo.NonNegativeReals, doc="(ONSVM) slack of sample i")
    X = signed(data)
    stacked = sparse.hstack([X, -X]).tocsr() if sparse.issparse(X) else np.hstack([X, -X])
    doc = r"(ONSVM) margin of sample i \(y_i ((p - q)^\top x_i + b) \ge 1 - \xi_i \quad \forall\, i\)"
    add_margins(model, stacked, data, [*model.p.values(), *model.q.values()], doc)
    model.norm = pyo.Expression(expr=pyo.quicksum([*model.p.values(), *model.q.values()]), doc="(ONSVM) 1-norm of w")
    doc = rf"(ONSVM) 1-norm of the weights and slacks \(\sum_j (p_j + q_j) + C {latex_of(model.loss)}\)"
    model.objective = pyo.Objective(expr=model.norm + model.C * model.loss, doc=doc)
    parts = [(1.0, list(model.p.values())), (-1.0, list(model.q.values()))]
    if not choosing(sigma):
        return with_proof(model, data, _put_parts, one_norm_bound, parts)
    model.M = pyo.Expression(expr=cost_of_zero_weights(data, model.C), doc="(ONSVM) p_j + q_j <= M at every optimum")
    M = float(pyo.value(model.M))
    if MAX_BIG_M * Columns.of(data.counting.X).sizes(M).min() < M:
        by_ordered_sets(model, model.p, "(ONSVM)")
        doc = r"(ONSVM) as only_selected, for q \(\mathrm{SOS1}(q_j, \mathrm{unselected}_j) \quad \forall\, j\)"
        model.only_selected_q = pyo.SOSConstraint(
            model.features, rule=lambda m, j: [m.q[j], m.unselected[j]], sos=1, doc=doc
        )
        return _with_choice(model, data, parts)
    model.sigma = pyo.Var(model.features, domain=pyo.Binary, doc="1 if feature j may have a weight")
    doc = r"w_j = 0 unless sigma_j = 1 \(p_j + q_j \le M \sigma_j \quad \forall\, j\)"
    model.only_selected = pyo.Constraint(
        model.features, rule=lambda m, j: m.p[j] + m.q[j] - m.M.expr * m.sigma[j] <= 0, doc=doc
    )
    return _with_choice(model, data, parts)


def robust_lp(data: Dataset) -> pyo.ConcreteModel:
    """Build the robust linear program (5): the smallest sum of the mean misclassification errors of both classes.

    Parameters
    ----------
    data : Dataset of shape (l, n)

    Returns
    -------
    pyo.ConcreteModel
        ``w`` (features), ``gamma``, ``b`` = -gamma (named expression), ``y`` (A), ``z`` (B), rows ``plane_A`` and
        ``plane_B``; the objective ``error`` is the average distance of misclassified points, unitless.

    Raises
    ------
    DataError
        If a class has no sample.

    Examples
    --------
    >>> import fsmodels as fs
    >>> fs.solve(fs.svm.robust_lp(fs.load_dataset("bupa").scaled("standard"))).status.value
    'optimal'
    """
    model = separating_plane("robust LP", data)
    doc = rf"(5) average misclassification \({latex_of(model.error)}\)"
    model.objective = pyo.Objective(expr=model.error, doc=doc)
    data = data.counting
    columns, shares = Columns.of(data.X), class_shares(data)
    proof = ClassifierProof(columns, data.y, shares, read_weights, put_plane, plane_bound, priced=False)
    certificate, change = proof.certificate(plane_rows(model)), plane_change(model, columns)
    Facts(resolution=proof.resolution, certificate=certificate, change=change).attach(model)
    return model


def soft_margin(name: str, data: Dataset, C: float, loss: str = HINGE) -> pyo.ConcreteModel:
    """Return a model with w, b, xi, the margin rows of (1) and ``loss``, without an objective."""
    choice("loss", loss, list(LOSSES))
    model = feature_weights(name, data, C)
    data = data.counting
    model.xi = pyo.Var(model.samples, domain=pyo.NonNegativeReals, doc="(1) slack of sample i")
    doc = r"(1), (5), (12) margin of sample i \(y_i (w^\top x_i + b) \ge 1 - \xi_i \quad \forall\, i\)"
    add_margins(model, signed(data), data, list(model.w.values()), doc, loss)
    return model


def feature_weights(name: str, data: Dataset, C: float) -> pyo.ConcreteModel:
    """Return a model with the index sets, C, w and b, without rows."""
    model = pyo.ConcreteModel(name=name)
    index_sets(model, data)
    model.C = weight_of_slacks(C, "(1) weight of the sum of slacks")
    model.w = pyo.Var(model.features, doc="(1) effective weight of feature j")
    model.b = pyo.Var(doc="(1) offset")
    return model


def weight_of_slacks(C: float, doc: str) -> pyo.Param:
    """Return C as a mutable parameter, which can be changed between solves: ``model.C = 10``."""
    return changeable(partial(positive, "C", meaning=C_MEANING), C, doc)


def add_margins(
    model: pyo.ConcreteModel, signed_rows: Any, data: Dataset, weights: Sequence[Any], doc: str, loss: str = HINGE
) -> None:
    """Add ``y_i (w.x_i + b) + xi_i >= 1`` as ``margin`` and the sum of slacks as ``loss``; rows are y_i x_i."""
    y, s = data.y, slack_weights(data)
    slacks = list(model.xi.values())
    terms = [(signed_rows, weights), (y, model.b), (1.0, slacks)]
    add_rows(model, "margin", model.samples, terms, doc, at_least=1.0)
    squared = loss == SQUARED
    what = "(1) sum of squared slacks" if squared else "(1), (ONSVM) sum of slacks"
    weighted = "" if data.sample_weight is None else ", times the sample weights"
    doc = rf"{what}{weighted} \({slack_sum(s, squared=squared)}\)"
    model.loss = pyo.Expression(expr=weighted_sum(s, slacks, squared=squared), doc=doc)


def with_proof(
    model: pyo.ConcreteModel,
    data: Dataset,
    put: Any,
    lower: Any,
    parts: list[tuple[float, list[Any]]],
    most: Callable[[float], float] = float,
    kind: LossKind = PLAIN,
    **facts: Any,
) -> pyo.ConcreteModel:
    """Attach the proof of a model with C, w, b and xi, and further ``facts``.

    The value of w = 0 is W^2 = 2 C min(l+, l-), so no weight is above W in (1), or W^2 in (ONSVM): ``most`` of W^2. If
    C is small, all numbers have these sizes, which become the units of w and of the objective.

    ``lower``: (columns, y, prices of slacks, multipliers) -> bound.
    """
    data = data.counting
    columns, s = Columns.of(data.X), slack_weights(data)
    cost = cost_of_zero_weights(data, model.C, kind)
    change = columns.change(parts, (1.0, model.b), most(float(pyo.value(cost))))
    if change is not None:
        change.most = cost
    proof = ClassifierProof(columns, data.y, s, read_weights, put, lower, kind)
    certificate = proof.certificate([model.margin])
    Facts(resolution=proof.resolution, certificate=certificate, change=change, **facts).attach(model)
    return model


def cost_of_zero_weights(data: Dataset, C: Any, kind: LossKind = PLAIN) -> Any:
    """Return the cost of w = 0 with the best offset (``proofs.svm``); an expression if C is a parameter."""
    return kind.cost_of_zero_weights(data.y, slack_weights(data)) * C


def _with_choice(model: pyo.ConcreteModel, data: Dataset, parts: list[tuple[float, list[Any]]]) -> pyo.ConcreteModel:
    """Attach the proof of (ONSVM) with sigma and the structure for decomposition drivers."""
    columns, s, sigma = Columns.of(data.X), slack_weights(data), list(model.sigma.values())
    M, bounded = float(pyo.value(model.M)), model.component("unselected") is None
    change = columns.change(parts, (1.0, model.b), M)
    if change is not None:
        change.most = model.M.expr
        sizes = columns.sizes(M).tolist()
        change.rows += [(row, 1.0 / f) for row, f in zip(model.only_selected.values(), sizes, strict=True) if bounded]
    proof = ClassifierProof(columns, data.y, s, read_selection, _put_choice, one_norm_bound)
    Structure(
        complicating=sigma,
        subproblem=[model.p, model.q, model.b, model.xi, *([] if bounded else [model.unselected])],
        rows=[model.margin],
        coupling=[model.only_selected] if bounded else [model.complement, model.only_selected, model.only_selected_q],
        terms=[model.norm, model.loss],
        switches=[(s, v) for s, *both in zip(sigma, *(variables for _, variables in parts), strict=True) for v in both],
        floor=0.0,
        only_as_built="" if not bounded else "the bound p_j + q_j <= 2 C min(l+, l-)",
        instead="State rows on sigma only, or build it with sigma=False and edit that.",
        selected=by_sigma,
        resolution=proof.resolution,
        certificate=proof.certificate([]),
        change=change,
        default_solver="highs" if bounded else "scip",
    ).attach(model)
    return model


def _put_choice(model: pyo.ConcreteModel, point: Point) -> None:
    _put_parts(model, point)
    write(model.sigma, point.used)
    if model.component("unselected") is not None:
        write(model.unselected, 1.0 - point.used)


def put(model: pyo.ConcreteModel, point: Point) -> None:
    """Write a point on w, b and xi."""
    write(model.w, point.w)
    model.b.set_value(point.b)
    write(model.xi, point.xi)


def _put_parts(model: pyo.ConcreteModel, point: Point) -> None:
    write(model.p, np.maximum(point.w, 0.0))
    write(model.q, np.maximum(-point.w, 0.0))
    model.b.set_value(point.b)
    write(model.xi, point.xi)


def half_squares(variables: Sequence[Any]) -> Any:
    """Return one half of the sum of squares."""
    return 0.5 * pyo.quicksum(v**2 for v in variables)
