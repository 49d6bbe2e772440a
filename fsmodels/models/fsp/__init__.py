r"""Exact feature selection for the SVM: FSP-M, FSP-lambda, their subproblem SUB and relaxed master RMP.

Problem
    With w_j the effective weight (the paper's sigma_j w_j):

    .. math::
        \min_{w, b, \xi, \sigma}\ & \tfrac12 \sum_j w_j^2 + C \sum_i \xi_i \;[+ \sum_j \lambda_j \sigma_j]
                                                                    && \text{(FSP-M), [FSP-}\lambda] \\
        \text{s.t.}\ & y_i (w^\top x_i + b) + \xi_i \ge 1,\ \xi_i \ge 0 \quad \forall i        && (5), (6) \\
                     & w_j = 0 \text{ unless } \sigma_j = 1,\ \sigma_j \in \{0, 1\} \quad \forall j \\
                     & \sum_j \sigma_j \le M                                    && (11), \text{FSP-M only}

    Four ways (``form=``) to write "w_j = 0 unless sigma_j = 1":

    ``bilinear``     w_j = sigma_j u_j (u is the paper's w)                           nonconvex MIQCP
    ``perspective``  w_j^2 <= t_j sigma_j, objective 1/2 sum_j t_j                    MISOCP
    ``big-m``        -W sigma_j <= w_j <= W sigma_j                                   convex MIQP
    ``indicator``    [sigma_j = 1] or [w_j = 0], a pyomo.gdp disjunction             after transformation as big-m
    ``rmp``          eta >= every cut (10) of SUB, which its oracle gives            MILP for each set of cuts

    ``rmp`` has no row of the size of the data; only the decomposition drivers can solve it, because they call the
    oracle.

    With ``loss="squared-hinge"`` all of them have C sum_i xi_i^2 instead of C sum_i xi_i, with the C of liblinear's
    L2-loss SVC. RMP remains a MILP; the other forms are then quadratic.

The bound W
    For fixed sigma, an optimal w and its multipliers satisfy 1/2 w'w + C e'xi = e'alpha - 1/2 w'w, so w'w <= e'alpha.
    As y'alpha = 0 and alpha <= C, e'alpha <= 2 C min(l+, l-): |w_j| <= W = sqrt(2 C min(l+, l-)) at every sigma, also
    with rows on sigma. After an edit of w, b, xi or their costs, ``bilinear`` (W bounds u), ``big-m`` and ``indicator``
    are rejected, unless the same argument still gives W (``fsp.edits``).

    Squared hinge: with xi = alpha / (2C) at the optimum, 1/2 w'w + C xi'xi = e'alpha - alpha'alpha / (4C) - 1/2 w'w and
    C xi'xi = alpha'alpha / (4C) give w'w = e'alpha - alpha'alpha / (2C). Over alpha >= 0 with y'alpha = 0 that is
    largest where alpha is s / l+ on class +1 and s / l- on class -1 (it is concave, and symmetric in the samples of a
    class): 2 s - s^2 l / (2 C l+ l-), at s = 2 C l+ l- / l. So |w_j| <= W = sqrt(2 C l+ l- / l).

    Without an offset (``intercept=False`` fixes b at 0) y'alpha = 0 is not required: e'alpha <= C l, W = sqrt(C l);
    with the squared hinge alpha = C is best, W = sqrt(C l / 2).
Weights of samples
    With a weight s_i for each sample, C s_i replaces C for this sample: in the objective, and as the upper bound of
    alpha_i in the dual of SUB. The derivations above and below do not change. With S+ and S- the sums of s over
    the classes, hinge: W = sqrt(2 C min(S+, S-)). Squared hinge: w'w = e'alpha - sum alpha_i^2 / (2 C s_i), which for a
    given sum t of each class is largest with alpha proportional to s: 2 t - t^2 / (2C) (1/S+ + 1/S-), at its largest
    t = 2 C S+ S- / (S+ + S-), which is also its value: W is its root. Without an offset sqrt(C S) and sqrt(C S / 2),
    S = S+ + S-.
SUB and its cut
    q(sigma) = min of the above for fixed sigma, without lambda. Its Lagrangian dual (the paper's (7)-(9)), with
    v_j = sum_i alpha_i y_i x_ij: the best w_j for multipliers alpha is v_j where sigma_j = 1, so

    .. math::
        q(\sigma) = \max_\alpha \{ \textstyle\sum_i \alpha_i - \tfrac12 \sum_j \sigma_j v_j^2 :
                    y^\top \alpha = 0,\ 0 \le \alpha \le C \}

    and every feasible alpha gives the cut eta >= sum_i alpha_i - 1/2 sum_j sigma_j v_j^2, valid at every sigma in
    [0, 1]^n and tight at the sigma for which alpha is optimal. q is convex, as a maximum of affine functions. With the
    squared hinge sum_i alpha_i^2 / (4C) is subtracted in both, and alpha has no upper bound (``proofs.svm``); the rest
    does not change. ``solvers.facts.row_cut`` derives the same for a SUB with further linear rows.
Symbols
    w -> ``w`` (features; effective weight), b -> ``b``, xi -> ``xi`` (samples), sigma -> ``sigma`` (features; 0/1),
    t -> ``t`` (features), the paper's w -> ``u`` (bilinear), M -> ``max_features``, lambda -> ``penalty`` (features),
    sigma_0 -> ``-eta``. ``norm`` is 1/2 sum w_j^2, ``loss`` is sum xi_i
    or sum xi_i^2.
Source
    Aytug 2015: FSP-M, FSP-lambda, (5)-(15), table 1.
Deviations
    The paper maximises -SUB. Here all problems are minimised: SUB gives the upper bound and RMP the lower bound. (15)
    has lambda_j sigma_j in the objective of the master. The margin (14) of the paper prints alpha_i u_i instead of
    alpha_i y_i. eta >= 0 is an addition to RMP: sigma_0 is free in the paper, and SUB is at least 0. ``bilinear`` keeps
    1/2 sum w_j^2 in the objective (sigma_j u_j^2 = w_j^2 at binary sigma) and bounds u by W. Without this bound scip,
    whose tolerances allow sigma = 1e-7 and u = 1e7, reported 18.05 as optimal instead of 21.28.
Class
    By the form, as in the table: nonconvex MIQCP, MISOCP, convex MIQP; with ``sigma`` fixed a convex QP. SUB: convex
    QP. RMP: MILP.
Certificate
    exact, when the solver proves its bound.

May import ``fsmodels.models`` and ``fsmodels.models.proofs``, ``fsmodels.datasets``, the modules of ``fsmodels`` itself
and, from ``solvers``, facts; no other family, except ``fsmodels.models.fsp.oracle``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression
from scipy import sparse

from fsmodels.checks import choice, feature_count, number, number_array, positive
from fsmodels.datasets.checks import as_given, dataset
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import DataError, ModelError, ParameterError
from fsmodels.models.components import changeable, latex_of
from fsmodels.models.fsp.forms import FORMS, RMP, selecting_svm, svm_cost, weight_bound, with_structure
from fsmodels.models.fsp.oracle import SvmOracle
from fsmodels.models.proofs.bounds import svm_bound
from fsmodels.models.proofs.equilibration import Columns
from fsmodels.models.proofs.svm import HINGE, LOSSES, LossKind, repaired
from fsmodels.models.shares import slack_weights
from fsmodels.models.svm import C_MEANING, cost_of_zero_weights, put, soft_margin, with_proof
from fsmodels.text import as_names, check_known_features, shown
from solvers.facts import Facts

VALUE = 1e-6  # relative gap of ``value``; its goal is a tenth
DUAL_INFEASIBILITY = 1e-6  # allowed for the multipliers of a solver

__all__ = ["FORMS", "RMP", "fsp_lambda", "fsp_m", "rmp", "sub", "value", "weight_bound"]
__dir__ = __all__.copy  # what <TAB> offers


def fsp_m(
    data: Dataset,
    *,
    max_features: int,
    C: float = 1.0,
    form: str = "perspective",
    loss: str = HINGE,
    intercept: bool = True,
) -> pyo.ConcreteModel:
    """Build FSP-M: the best soft-margin SVM on at most M features.

    Parameters
    ----------
    data : Dataset of shape (l, n)
    max_features : int
        The most features, M in 1..n; ``model.max_features`` can be changed between solves.
    C : float
        Weight of the unscaled sum of slacks, above 0.
    form : {"perspective", "bilinear", "big-m", "indicator", "rmp"}
        How "w_j = 0 unless sigma_j = 1" is written; all have the same optimum. "rmp" is for large data and drivers.
    loss : {"hinge", "squared-hinge"}
        Whether C multiplies the sum of slacks or of their squares.
    intercept : bool
        Whether there is an offset b; False fixes it at 0, for data whose classes the origin shall separate.

    Returns
    -------
    pyo.ConcreteModel
        ``sigma`` (features) selects; rows ``margin`` (5), ``cardinality`` (11).

    Notes
    -----
    Source: Aytug 2015, (FSP-M).

    ``model.C`` and ``model.max_features`` can be changed between solves; W follows C.

    Examples
    --------
    >>> import fsmodels as fs
    >>> model = fs.fsp.fsp_m(fs.load_dataset("bupa").scaled("standard"), max_features=2, C=1.0)
    >>> fs.solve(model).status.value
    'optimal'
    """
    n_features = len(dataset(data).features)
    most = partial(feature_count, n_features=n_features, instead=", or a penalty instead (fsp_lambda)")
    most(max_features)  # before a large model is built
    kind = LossKind(loss, intercept)
    model = selecting_svm("FSP-M", data, C, form, kind)
    model.max_features = changeable(most, max_features, "(11) M, most features")
    sigma = list(model.sigma.values())
    doc = r"(11) at most M features \(\sum_j \sigma_j \le \mathrm{max\_features}\)"
    model.cardinality = pyo.Constraint(expr=pyo.quicksum(sigma) <= model.max_features, doc=doc)
    cost, latex = svm_cost(model)
    model.objective = pyo.Objective(expr=cost, doc=rf"(FSP-M) margin and slacks \({latex}\)")
    return with_structure(model, data, form, kind)


def fsp_lambda(
    data: Dataset,
    *,
    penalty: float | Mapping[str, float],
    C: float = 1.0,
    form: str = "perspective",
    loss: str = HINGE,
    intercept: bool = True,
) -> pyo.ConcreteModel:
    """Build FSP-lambda: a soft-margin SVM with a price for each used feature, (15).

    Parameters
    ----------
    data, C, form, loss, intercept
        As for ``fsp_m``.
    penalty : float or mapping feature -> float
        The price of a feature, lambda_j, at least 0, in units of the objective; 0 for a feature that is not in the
        mapping.

    Returns
    -------
    pyo.ConcreteModel
        ``sigma`` (features) selects; ``penalty`` (features) can be changed between solves.

    Raises
    ------
    ParameterError
        If a penalty is negative or not finite, or C is not above 0.
    DataError
        If the mapping names an unknown feature.

    Examples
    --------
    >>> import fsmodels as fs
    >>> model = fs.fsp.fsp_lambda(fs.load_dataset("bupa").scaled("standard"), penalty=2.0)
    >>> fs.solve(model).status.value
    'optimal'
    """
    prices, kind = penalties(dataset(data), penalty), LossKind(loss, intercept)
    model = selecting_svm("FSP-lambda", data, C, form, kind)
    model.penalty = changeable(_price, prices, "(15) lambda_j, price of feature j", model.features)
    cost, latex = svm_cost(model)
    model.objective = pyo.Objective(
        expr=cost + pyo.quicksum(model.penalty[j] * model.sigma[j] for j in model.features),
        doc=rf"(FSP-lambda) margin, slacks and price of the features "
        rf"\({latex} + \sum_j \lambda_j \sigma_j\)",
    )
    return with_structure(model, data, form, kind)


def sub(
    data: Dataset, *, sigma: Iterable[str] | Mapping[str, float], C: float = 1.0, loss: str = HINGE
) -> pyo.ConcreteModel:
    """Build SUB, the SVM for fixed sigma, (5)-(6), (12)-(13).

    Errors as for ``fsp_lambda``.

    Parameters
    ----------
    data, C, loss
        As for ``fsp_m``.
    sigma : names of the selected features, or mapping feature -> value in [0, 1]
        With fractional values the regulariser is 1/2 sum_j w_j^2 / sigma_j, whose optimum is q(sigma).

    Returns
    -------
    pyo.ConcreteModel
        ``w_j`` is fixed at 0 if sigma_j is 0; the duals of ``margin`` are the alpha of the cut (10).

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("bupa").scaled("standard")
    >>> fs.solve(fs.fsp.sub(data, sigma=["mcv", "alkphos"])).status.value
    'optimal'
    """
    dataset(data)
    if isinstance(sigma, str):
        raise DataError(f'sigma: got the text "{sigma}": give a list of features, for example ["{sigma}"].')
    values = dict(sigma) if isinstance(sigma, Mapping) else dict.fromkeys(as_names(sigma, "sigma"), 1.0)
    check_known_features(values, data.features, "sigma")
    for name, value in values.items():
        if not 0.0 <= number(value) <= 1.0:
            raise ParameterError(f"sigma[{name!r}]={shown(value)} is outside [0, 1].")
    model = soft_margin("SUB", data, C, loss)
    for j in model.features:
        if not values.get(j):
            model.w[j].fix(0.0)
    model.norm = pyo.Expression(
        expr=0.5 * pyo.quicksum(model.w[j] ** 2 / s for j, s in values.items() if s), doc="(5) 1/2 sum w_j^2/sigma_j"
    )
    doc = rf"(5) margin and slacks \(\tfrac12 \sum_j w_j^2 / \sigma_j + C {latex_of(model.loss)}\)"
    model.objective = pyo.Objective(expr=model.norm + model.C * model.loss, doc=doc)
    shares, data = np.sqrt([values.get(j, 0.0) for j in model.features]), data.counting
    X = sparse.csr_array(data.X * shares) if sparse.issparse(data.X) else data.X * shares
    kind = LossKind(loss)
    lower = partial(_sub_bound, Columns.of(X), kind)
    return with_proof(model, data, put, lower, [(1.0, list(model.w.values()))], lambda price: price**0.5, kind=kind)


def _sub_bound(
    scaled: Columns, kind: LossKind, columns: Columns, y: np.ndarray, C: np.ndarray, alpha: np.ndarray | None
) -> float:
    """Return a lower bound of SUB, the SVM on the columns times sqrt(sigma)."""
    return svm_bound(scaled, y, C, alpha, kind)


def rmp(
    data: Dataset,
    *,
    alpha: np.ndarray,
    C: float,
    max_features: int | None = None,
    penalty: float | Mapping[str, float] = 0.0,
    loss: str = HINGE,
) -> pyo.ConcreteModel:
    """Build RMP, the relaxed master problem with one cut for each alpha.

    Parameters
    ----------
    data : Dataset of shape (l, n)
    alpha : array of shape (K, l) or (l,)
        Dual points of SUB: 0 <= alpha <= C (with the squared hinge 0 <= alpha) and y'alpha = 0, both with a relative
        tolerance of 1e-6 for solvers.
    C : float
        Weight of the slacks in the bounded problem; a cut is valid only for alpha <= C.
    max_features : int, optional
        M of (11); None for FSP-lambda.
    penalty : float or mapping feature -> float
        lambda_j of FSP-lambda.
    loss : {"hinge", "squared-hinge"}
        As for ``fsp_m``.

    Returns
    -------
    pyo.ConcreteModel
        ``sigma`` (features), ``eta``, rows ``cut``; its optimum is a lower bound of FSP.

    Raises
    ------
    ParameterError
        If alpha does not have the shape of the data, is outside [0, C], or does not balance the classes.

    Notes
    -----
    Source: Aytug 2015, (10), (15), with the opposite sign of sigma_0. eta >= 0 is not in the paper; SUB is at least 0.
    The cuts are valid in spite of rounding: each point is clipped to [0, C], and the class with the larger sum is
    scaled down until y'alpha = 0, so each cut belongs to a feasible point.

    Examples
    --------
    >>> import fsmodels as fs, numpy as np
    >>> data = fs.load_dataset("bupa").scaled("standard")
    >>> model = fs.fsp.rmp(data, alpha=np.zeros(len(data.y)), C=1.0, max_features=2)
    >>> fs.solve(model, "highs").objective
    0.0
    """
    data = as_given(data, weights=True).counting
    C, points = positive("C", C, C_MEANING), np.atleast_2d(number_array("alpha", alpha))
    if points.shape[1] != len(data.y) or not len(points):
        counted = "" if data.sample_weight is None else " of a weight above 0"
        raise ParameterError(
            f"alpha has shape {points.shape} for {len(data.y)} samples{counted}: give one entry per sample, and at "
            "least one row."
        )
    choice("loss", loss, list(LOSSES))
    priced = LossKind(loss).priced(C * slack_weights(data))
    outside = float(np.maximum(-points, points - priced.most).max())
    if not outside <= DUAL_INFEASIBILITY * C:
        most = f"C = {C:g}" if data.sample_weight is None else f"C = {C:g} times the sample weight"
        allowed = "no entry below 0" if priced.squared else f"0 to {most}. Give the C that alpha belongs to"
        raise ParameterError(
            f"alpha is not dual feasible: its entries are from {points.min():.9g} to {points.max():.9g}, and SUB "
            f"allows {allowed}."
        )
    off, total = np.abs(points @ data.y), points.sum(axis=1)
    if not np.all(off <= DUAL_INFEASIBILITY * np.maximum(C, total)):
        raise ParameterError(f"alpha is not dual feasible: sum_i y_i alpha_i is {off.max():.3g}, and SUB needs 0.")
    points = np.array([repaired(point, data.y, priced.most) for point in points])
    model = pyo.ConcreteModel(name="RMP")
    model.features = pyo.Set(initialize=list(data.features), doc="features")
    model.sigma = pyo.Var(model.features, domain=pyo.Binary, doc="(10) 1 if feature j is selected")
    model.eta = pyo.Var(domain=pyo.NonNegativeReals, doc="(10) -sigma_0, value of SUB at least")
    sigma, v = list(model.sigma.values()), np.asarray((points * data.y) @ data.X)

    def cut(m: pyo.ConcreteModel, k: int) -> Any:
        coefs = [1.0, *(0.5 * v[k] ** 2).tolist()]
        return LinearExpression(linear_coefs=coefs, linear_vars=[m.eta, *sigma]) >= priced.gained(points[k])

    gained = r"\sum_i \alpha^k_i" if not priced.squared else r"g(\alpha^k)"
    doc = (
        rf"(10) eta >= sum alpha - 1/2 sum sigma_j v_j^2 "
        rf"\(\eta \ge {gained} - \tfrac12 \sum_j \sigma_j (v^k_j)^2 \quad \forall\, k\)"
    )
    model.cut = pyo.Constraint(range(len(points)), rule=cut, doc=doc)
    if max_features is not None:
        most_features = feature_count(max_features, data.n_features)
        doc = rf"(11) at most M features \(\sum_j \sigma_j \le {most_features}\)"
        model.cardinality = pyo.Constraint(expr=pyo.quicksum(sigma) <= most_features, doc=doc)
    prices = penalties(data, penalty)
    latex = r"\eta + \sum_j \lambda_j \sigma_j" if any(prices.values()) else r"\eta"
    model.objective = pyo.Objective(
        expr=model.eta + pyo.quicksum(prices[j] * model.sigma[j] for j in model.features),
        doc=rf"(10), (15) \({latex}\)",
    )
    Facts().attach(model)
    return model


def value(
    data: Dataset, selected: Iterable[str], *, C: float = 1.0, loss: str = HINGE, time_limit: float | None = None
) -> float | None:
    """Return the objective of FSP-M at one selection: the optimum of the SVM (5)-(6) on the selected features.

    ``data``, ``C``, ``loss`` and errors as for ``fsp_lambda``; ``selected``: names of features, or an empty list;
    ``time_limit`` in seconds.

    Returns
    -------
    float or None
        Attained, and certified to 1e-6; None if the time or the memory does not suffice.

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("bupa").scaled("standard")
    >>> found = fs.select(data, max_features=2)
    >>> bool(abs(value(data, found.selected) / found.objective - 1) < 1e-6)
    True
    """
    price, names = positive("C", C, C_MEANING), as_names(selected, "selected")
    check_known_features(names, dataset(data).features, "selected")
    choice("loss", loss, list(LOSSES))
    if not names:
        return float(cost_of_zero_weights(dataset(data), price, LossKind(loss)))
    data = data.select_features(names).counting
    try:
        answer = SvmOracle(data.X, data.y, price * slack_weights(data), loss).solve(
            np.ones(len(names)), tolerance=0.1 * VALUE, time_limit=time_limit
        )
    except ModelError:  # too large for a dense matrix
        return None
    return answer.value if answer.gap <= VALUE else None


def penalties(data: Dataset, penalty: float | Mapping[str, float]) -> dict[str, float]:
    """Check the penalty and return lambda_j of every feature; see ``fsp_lambda``."""
    if isinstance(penalty, Mapping):
        check_known_features(penalty, data.features, "penalty")
        prices = {j: penalty.get(j, 0.0) for j in data.features}
    else:
        prices = dict.fromkeys(data.features, penalty)
    return {name: _price(price, f" for feature {name!r}") for name, price in prices.items()}


def _price(price: Any, whose: str = "") -> float:
    """Return a price as float, if it is a number of at least 0."""
    found = number(price)
    if not 0 <= found < math.inf:
        raise ParameterError(f"penalty={shown(price)}{whose} is not allowed: use a number of at least 0.")
    return found
