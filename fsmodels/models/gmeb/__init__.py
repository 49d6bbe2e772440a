r"""GMEB: feature scaling by global minimisation of a generalisation bound; nonconvex, convex primal and conic dual.

Problem
    x_ij is column j of sample i minus the mean of the column; v+_j and v-_j are the mean squares of x_ij over the
    samples of class +1 and -1. The linear classifier is ``w.x + b`` on columns scaled by sigma >= 0; n samples, n+ and
    n- of the classes:

    .. math::
        \min_{w, \sigma, b, \xi}\ & \tfrac1n e^\top \xi
                                    + \tfrac{C_+ \sqrt{n_+}}{n} \sqrt{\textstyle\sum_j v^+_j \sigma_j^2}
                                    + \tfrac{C_- \sqrt{n_-}}{n} \sqrt{\textstyle\sum_j v^-_j \sigma_j^2}   && (10) \\
        \text{s.t.}\ & y_i (\textstyle\sum_j x_{ij} w_j \sigma_j + b) \ge 1 - \xi_i,\ w^\top w \le 1,\
                       \sigma, \xi \ge 0                                                                   && (10)

        \min_{w, \sigma, b, \xi}\ & e^\top \xi                                                             && (11) \\
        \text{s.t.}\ & \text{the rows of (10)},\ \textstyle\sum_j v^+_j \sigma_j^2 \le R_+,\
                       \textstyle\sum_j v^-_j \sigma_j^2 \le R_-                                           && (11)

    With the effective weights w~_j = w_j sigma_j and s_j = sigma_j^2 (14), (11) is convex:

    .. math::
        \min_{\tilde w, s, b, \xi}\ & e^\top \xi                                                           && (15) \\
        \text{s.t.}\ & y_i (\tilde w^\top x_i + b) \ge 1 - \xi_i,\
                       \textstyle\sum_j \tilde w_j^2 / s_j \le 1                                           && (15) \\
                     & \textstyle\sum_j v^+_j s_j \le R_+,\ \textstyle\sum_j v^-_j s_j \le R_-,\
                       s, \xi \ge 0                                                                        && (15)

        \max_{\mu, \mu_1, \mu_+, \mu_-}\ & e^\top \mu - \mu_1 - R_+ \mu_+ - R_- \mu_-                      && (16) \\
        \text{s.t.}\ & q_j^2 \le 4 \mu_1 r_j,\ q_j = \textstyle\sum_i \mu_i y_i x_{ij},\
                       r_j = \mu_+ v^+_j + \mu_- v^-_j \quad \forall j                                     && (17) \\
                     & \mu^\top y = 0,\ 0 \le \mu \le e,\ \mu_1, \mu_+, \mu_- \ge 0                        && (16)

Forms of the primal
    "conic": ``w_j^2 <= s_j t_j`` and ``sum t <= 1`` are equivalent to the sum of quotients, and imply w_j = 0 where
    s_j = 0. "quotient": the sum as printed, for NLP solvers. These accept violations of bounds of 1e-8, and at s_j =
    -1e-8 the quotient is negative, which allows any w (measured: 103.5 for 147.0 on Cleveland). The rows
    ``(v+_j / R+ + v-_j / R-) s_j >= 1e-7`` prevent that; they take at most d 1e-7 of R+ and R-. Cones do not help NLP
    solvers: a violation of 1e-8 at s_j = 0 is a weight of 1e-4.
Derivation of the dual
    With multipliers mu of the margins, mu_1 of the quotients and mu_+, mu_- of the second moments, minimise the
    Lagrangian of (15). xi >= 0 gives mu <= e, and the free b gives mu'y = 0. There remains, for each feature,
    ``mu_1 w_j^2 / s_j - q_j w_j + r_j s_j`` over w_j and s_j >= 0. For s_j > 0 and mu_1 > 0 it is least at
    ``w_j = q_j s_j / (2 mu_1)``, with the value ``(r_j - q_j^2 / (4 mu_1)) s_j``: bounded below, and then 0 at best, if
    and only if ``q_j^2 <= 4 mu_1 r_j``. For mu_1 = 0 it is bounded only if q_j = 0, which this row implies too.
    Strong duality (Lemma 18): w = 0, xi = e and a small s > 0 satisfy the rows that are not linear strictly.
The primal in the dual's multipliers (Theorem 19)
    Pyomo's multiplier is d objective / d right-hand side. With v_j = v+_j + v-_j and ``q``, ``r`` free of units, the
    rows are ``weight``: sum_i mu_i y_i x_ij - sqrt(v_j) q_j = 0, ``balance``: mu'y = 0 and ``moment``: v_j r_j - mu_+
    v+_j - mu_- v-_j = 0. The derivative of the maximum's Lagrangian by mu_i in (0, 1) is ``1 - y_i (sum_j weight'_j
    x_ij + balance')`` = 0, and by mu_+ > 0 ``-R_+ + sum_j moment'_j v+_j`` = 0. Those by q_j and r_j, with lambda_j >=
    0 of ``q_j^2 <= 4 mu_1 r_j``, give ``sqrt(v_j) weight'_j = 2 lambda_j q_j`` and ``v_j moment'_j = 4 lambda_j
    mu_1``. So the multipliers of ``weight``, ``balance`` and ``moment`` are w~, the offset and s, with the same sign.
Scaling
    A column times c has v c^2, and w~/c and s/c^2 satisfy the same rows with the same losses. The optimum does not
    change. Solvers have absolute tolerances, so they get w~ and s divided by powers of two, and their answers do not
    change either.
Weights of samples
    e'xi becomes s'xi (``models.shares``), and 0 <= mu <= s in (16). Means, v+, v-, n, n+ and n- count each row with its
    multiplicity: 2 is equivalent to repeating the row. The costs of mistakes by class are in s only.
Symbols
    w~ -> ``w`` (features; 1/unit of the feature), sigma~ -> ``s`` (features; 1/unit^2), b -> ``offset`` for centred
    columns, ``b`` = offset - w~.mean for the data as given, xi -> ``xi`` (samples), v+, v- -> ``v_plus``, ``v_minus``,
    the means -> ``mean``, R+, R- -> ``R_plus``, ``R_minus``, C+, C- -> ``C_plus``, ``C_minus``, mu -> ``mu``
    (samples), mu_1, mu_+, mu_- -> ``mu_1``, ``mu_plus``, ``mu_minus``; s of (17) -> ``q`` sqrt(v), the third side of
    K^r -> ``r`` v (features). In (10) and (11): the paper's w -> ``u`` (features), sigma -> ``sigma`` (features), and
    ``w`` = u sigma.
Source
    Peleg, Meir 2005, "Feature selection by global minimization of a generalization bound": (10), (11), (14)-(17),
    Theorems 15, 17 and 19, Lemma 18. The bounds are in ``gmeb.bounds``, (18), (19) and (28) in ``gmeb.svm``.
Deviations
    (10) and (11) have the products w_j sigma_j in one row per feature, so that margins are linear. (10) bounds the
    square roots by variables, whose derivatives exist at 0. The dual has dimensionless variables q and r, and its
    cones are written as q^2 + (mu_1/g - g r)^2 <= (mu_1/g + g r)^2 over n^2, so that entries are of order 1; g
    is a power of two near sqrt(R). In (15), the paper leaves w~_j undefined where s_j = 0; the closure of the quotient
    gives 0. Appendix C prints ``w Sigma w`` for
    ``w Sigma^-1 w`` in (25) and (26). Remark 16 divides the columns by v+_j; eliminating s from (15) without R- gives
    ``sum_j |w~_j| sqrt(v+_j) <= sqrt(R+)``, the 1-norm SVM on columns divided by sqrt(v+_j). The LMI [[diag(s), w~],
    [w~', 1]] >= 0 (Lemma 6) is the same set as the quotients; Pyomo has no LMIs, so there is no such form. A column
    that does not vary has v+_j = v-_j = 0: it is excluded with a warning, its w and s fixed at 0.
Class
    (15) SOCP, as quotients a convex NLP; (16) SOCP; (10) and (11) nonconvex NLP (bilinear).
Certificate
    (15) and (16) exact: bound and point come from the data, by the multipliers and the weights of a solver
    (``gmeb.proof``), for any tolerance; without multipliers the bound is the solver's. (10) and (11) stationary;
    points of (11) are made feasible in the same way.

May import ``fsmodels.models`` and ``fsmodels.models.proofs``, ``fsmodels.datasets``, the ground files and, of
``solvers``, its facts, LPs and boxes; no other family.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression

from fsmodels.datasets.dataset import Dataset
from fsmodels.models.components import add_rows, by_weight, latex_of
from fsmodels.models.gmeb.bounds import MarginBound, ScalingBound, bound_with_scaling, bound_without_scaling
from fsmodels.models.gmeb.build import (
    FORMS,
    add_scaled_classifier,
    bounds_on_moments,
    centred_model,
    dual_change,
    fix_constant,
    moment_proof,
    moment_rows,
    nonconvex_change,
    positive_parameter,
    primal,
    refuse_binaries,
    root_size,
    second_moments,
)
from fsmodels.models.gmeb.columns import Centred, centred
from fsmodels.models.gmeb.grid import path
from fsmodels.models.gmeb.proof import of_dual, of_nonconvex, resolution
from fsmodels.models.gmeb.solution import (
    by_multiplier,
    classifier,
    duality_gap,
    feasible_classifier,
    has_multipliers,
    scaling,
)
from fsmodels.models.gmeb.svm import svm_ratio, svm_unsquared
from fsmodels.models.proofs.equilibration import powers
from solvers.facts import Facts

__all__ = [
    "FORMS",
    "Centred",
    "MarginBound",
    "ScalingBound",
    "bound_with_scaling",
    "bound_without_scaling",
    "centred",
    "classifier",
    "dual",
    "duality_gap",
    "feasible_classifier",
    "has_multipliers",
    "nonconvex",
    "path",
    "penalized",
    "primal",
    "scaling",
    "svm_ratio",
    "svm_unsquared",
]
__dir__ = __all__.copy  # for completion


def nonconvex(data: Dataset, *, R_plus: float, R_minus: float, sigma: bool = False) -> pyo.ConcreteModel:
    """Build the constrained nonconvex form (11), for NLP solvers from several starts; its optimum is that of (15).

    ``data``, ``R_plus``, ``R_minus`` and errors as for ``primal``. ``sigma``: False, because sigma is the paper's scale
    in this model, not a binary.

    Returns
    -------
    pyo.ConcreteModel
        ``u``, ``sigma`` (features; the paper's w and sigma), ``w`` (features) = u sigma by the rows ``effective``,
        ``offset``, ``b``, ``xi`` (samples).

    Examples
    --------
    >>> import fsmodels as fs
    >>> model = fs.gmeb.nonconvex(fs.load_dataset("bupa").scaled("standard"), R_plus=2.0, R_minus=2.0)
    >>> fs.solve(model, "pounce").status.value
    'stationary'
    """
    refuse_binaries("nonconvex", sigma, "its sigma is the scale of a feature, and its solvers are local")
    model, columns = centred_model("GMEB nonconvex", data)
    R_plus, R_minus = bounds_on_moments(model, R_plus, R_minus)
    add_scaled_classifier(model, columns, columns.even(R_plus, R_minus), "(11)")
    second_moments(model, columns, {j: model.sigma[j] ** 2 for j in columns.varying()}, "(11)", r"\sigma_j^2")
    model.objective = pyo.Objective(expr=model.loss, doc=rf"(11) sum of slacks \({latex_of(model.loss)}\)")
    proof = moment_proof(columns)
    factor = powers(proof.sizes(R_plus, R_minus))
    Facts(
        selected=partial(by_weight, columns.sizes),
        resolution=partial(resolution, float(columns.s.sum())),
        certificate=of_nonconvex(model, proof),
        change=nonconvex_change(model, columns, factor, (R_plus, R_minus)),
        default_solver="multi-start",
    ).attach(model)
    return model


def penalized(data: Dataset, *, C_plus: float, C_minus: float) -> pyo.ConcreteModel:
    """Build the penalty form (10), for NLP solvers.

    At an optimum of (10) with the sizes ``size_plus`` and ``size_minus``, (11) with R their squares has the same
    optimum (Lemma 13). Not every R corresponds to some C. ``data`` and errors as for ``primal``.

    Parameters
    ----------
    C_plus, C_minus : float
        Prices of the sizes of the scaled columns over class +1 and -1, above 0; 4 in the bound of Theorem 9.
        ``model.C_plus`` and ``model.C_minus`` can be changed between solves.

    Returns
    -------
    pyo.ConcreteModel
        As for ``nonconvex``, with ``size_plus`` and ``size_minus``.

    Examples
    --------
    >>> import fsmodels as fs
    >>> model = fs.gmeb.penalized(fs.load_dataset("bupa").scaled("standard"), C_plus=1.0, C_minus=1.0)
    >>> fs.solve(model, "pounce").status.value
    'stationary'
    """
    model, columns = centred_model("GMEB penalized", data)
    model.C_plus = positive_parameter("C_plus", C_plus, "C_plus prices the size of class +1", "(10) C+")
    model.C_minus = positive_parameter("C_minus", C_minus, "C_minus prices the size of class -1", "(10) C-")
    add_scaled_classifier(model, columns, columns.even(1.0, 1.0), "(10)")
    model.size_plus = pyo.Var(domain=pyo.NonNegativeReals, initialize=1.0, doc="(10) root of sum_j v+_j sigma_j^2")
    model.size_minus = pyo.Var(domain=pyo.NonNegativeReals, initialize=1.0, doc="(10) root of sum_j v-_j sigma_j^2")
    squares = {j: model.sigma[j] ** 2 for j in columns.varying()}
    moment_rows(
        model, columns, squares, model.size_plus**2, model.size_minus**2, "(10)", r"\sigma_j^2 \le \mathrm{{size}}_{}^2"
    )
    n, shares = columns.plus + columns.minus, [np.sqrt(columns.plus), np.sqrt(columns.minus)]
    prices = model.C_plus * shares[0] * model.size_plus + model.C_minus * shares[1] * model.size_minus
    latex = rf"{latex_of(model.loss)} + C_+ \sqrt{{n_+}} \, \mathrm{{size}}_+ + C_- \sqrt{{n_-}} \, \mathrm{{size}}_-"
    doc = rf"(10) mean slack and sizes \(\tfrac1n \left({latex}\right)\)"
    model.objective = pyo.Objective(expr=(model.loss + prices) / n, doc=doc)
    factor = powers(moment_proof(columns).sizes(1.0, 1.0))
    change = nonconvex_change(model, columns, factor, (1.0, 1.0))
    Facts(selected=partial(by_weight, columns.sizes), change=change, default_solver="multi-start").attach(model)
    return model


def dual(data: Dataset, *, R_plus: float, R_minus: float, sigma: bool = False) -> pyo.ConcreteModel:
    """Build the conic dual (16), (17); its optimum equals that of ``primal``, and its multipliers are the classifier.

    ``data``, ``R_plus``, ``R_minus`` and errors as for ``primal``. ``sigma``: False, because multipliers exist for
    continuous models only.

    Returns
    -------
    pyo.ConcreteModel
        ``mu`` (samples), ``mu_1``, ``mu_plus``, ``mu_minus``, ``q``, ``r`` (features), rows ``weight`` (multiplier: w),
        ``moment`` (s), ``cone`` and ``balance`` (offset), and the suffix ``dual`` for their multipliers.

    Examples
    --------
    >>> import fsmodels as fs
    >>> model = fs.gmeb.dual(fs.load_dataset("bupa").scaled("standard"), R_plus=2.0, R_minus=2.0)
    >>> fs.solve(model).status.value
    'optimal'
    """
    refuse_binaries("dual", sigma, "its weights are multipliers, which cannot occur in rows")
    model, columns = centred_model("GMEB dual", data)
    R_plus, R_minus = bounds_on_moments(model, R_plus, R_minus)
    varying = columns.varying()
    _add_multipliers(model, columns)
    mu, signed = list(model.mu.values()), columns.y[:, None] * columns.X
    position = {j: k for k, j in enumerate(columns.features)}
    n = float(columns.s.sum())
    v = {j: pyo.value(model.v_plus[j]) + pyo.value(model.v_minus[j]) for j in varying}

    def moment(m: pyo.ConcreteModel, j: str) -> Any:  # in this order its multiplier is s_j
        coefs = [v[j], -pyo.value(m.v_plus[j]), -pyo.value(m.v_minus[j])]
        return LinearExpression(linear_coefs=coefs, linear_vars=[m.r[j], m.mu_plus, m.mu_minus]) == 0

    g = root_size(R_plus, R_minus)

    def cone(m: pyo.ConcreteModel, j: str) -> Any:  # 4 mu_1 r = (mu_1/g + g r)^2 - (mu_1/g - g r)^2, over n^2
        q, a, c = m.q[j] / n, m.mu_1 / (g * n), g * m.r[j] / n
        return q**2 + (a - c) ** 2 <= (a + c) ** 2

    at, roots = [position[j] for j in varying], -np.sqrt([v[j] for j in varying])  # multipliers in this order: w_j
    doc = "(17) sqrt(v_j) q_j = sum_i mu_i y_i x_ij; multiplier w_j "
    doc += r"\(\sqrt{v_j} \, q_j = \sum_i \mu_i y_i x_{ij} \quad \forall\, j\)"
    add_rows(model, "weight", varying, [(signed.T[at], mu), (roots, [model.q[j] for j in varying])], doc)
    model.moment = pyo.Constraint(
        varying,
        rule=moment,
        doc="(16) v_j r_j = mu_+ v+_j + mu_- v-_j; multiplier s_j "
        r"\(v_j r_j = \mu_+ v^+_j + \mu_- v^-_j \quad \forall\, j\)",
    )
    doc = r"(16) (q_j, 2 mu_1, r_j) in K^r \(q_j^2 \le 4 \mu_1 r_j \quad \forall\, j\)"
    model.cone = pyo.Constraint(varying, rule=cone, doc=doc)
    doc = r"(16) mu'y = 0; multiplier offset \(\sum_i y_i \mu_i = 0\)"
    model.balance = pyo.Constraint(expr=LinearExpression(linear_coefs=columns.y.tolist(), linear_vars=mu) == 0, doc=doc)
    model.objective = pyo.Objective(
        expr=pyo.quicksum(mu) - model.mu_1 - model.R_plus * model.mu_plus - model.R_minus * model.mu_minus,
        sense=pyo.maximize,
        doc=r"(16) \(\sum_i \mu_i - \mu_1 - R_+ \mu_+ - R_- \mu_-\)",
    )
    model.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    proof = moment_proof(columns)
    Facts(
        selected=partial(by_multiplier, columns.sizes),
        resolution=partial(resolution, float(columns.s.sum())),
        certificate=of_dual(model, proof),
        change=dual_change(model, columns, R_plus, R_minus),
        default_solver="clarabel",
    ).attach(model)
    return model


def _add_multipliers(model: pyo.ConcreteModel, columns: Centred) -> None:
    """Add the variables of the dual (16): the multipliers of (15), q and r."""
    most = dict(zip(model.samples, columns.s.tolist(), strict=True))
    model.mu = pyo.Var(
        model.samples,
        bounds=lambda m, i: (0.0, most[i]),
        initialize=lambda m, i: 0.5 * most[i],
        doc="(16) multiplier of sample i's margin",
    )
    model.mu_1 = pyo.Var(domain=pyo.NonNegativeReals, initialize=1.0, doc="(16) multiplier of sum_j w_j^2 / s_j <= 1")
    model.mu_plus = pyo.Var(domain=pyo.NonNegativeReals, initialize=1.0, doc="(16) multiplier of second_plus")
    model.mu_minus = pyo.Var(domain=pyo.NonNegativeReals, initialize=1.0, doc="(16) multiplier of second_minus")
    model.q = pyo.Var(model.features, initialize=0.0, doc="(17) sum_i mu_i y_i x_ij, over sqrt(v_j)")
    model.r = pyo.Var(
        model.features,
        domain=pyo.NonNegativeReals,
        initialize=1.0,
        doc="(16) mu_+ v+_j + mu_- v-_j, over v_j",
    )
    fix_constant(columns, model.q, model.r)
