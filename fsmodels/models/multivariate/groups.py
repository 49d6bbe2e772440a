r"""The restricted group problem of FSmulti as Pyomo models: the primal over groups of features, and its MKL dual.

Problem
    T groups of features (d_t in {0, 1}, B ones) and K labellings y^k, each a row ``xi >= p^k.w + q^k``:

    .. math::
        \min_{w_1, ..., w_T, \xi \ge 0}\ & \tfrac12 \Bigl(\textstyle\sum_t \lVert w_t \rVert\Bigr)^2 + C \xi \quad
            \text{s.t.}\ \xi \ge \textstyle\sum_t p_t^k \cdot w_t + q^k \quad \forall k                   && (15) \\
        \max_{\alpha \ge 0, \theta}\ & -\theta + \textstyle\sum_k \alpha_k q^k \quad
            \text{s.t.}\ \tfrac12 \Bigl\lVert \textstyle\sum_k \alpha_k p_t^k \Bigr\rVert^2 \le \theta \ \forall t,\
            \textstyle\sum_k \alpha_k \le C                                                                && (16)
Derivation
    With ``norm_t >= ||w_t||`` and multipliers alpha of the rows, the Lagrangian of (15) is linear in xi, so that
    sum alpha <= C. Over w_t it is least at ``w_t = -mu_t sum_k alpha_k p_t^k``: by homogeneity, a unit of norm_t gains
    ``S ||c_t||``, with S the sum of the norms and c_t = sum_k alpha_k p_t^k. This gives ``1/2 S^2 - S max_t ||c_t||``,
    whose minimum is ``-1/2 max_t ||c_t||^2`` = -theta. The multipliers of the T rows of (16) are the shares mu; their
    sum is 1 by the derivative by theta.
Symbols
    w_t -> ``w`` (groups x their features), ||w_t|| -> ``norm`` (groups), xi -> ``xi``, alpha -> ``alpha`` (cuts),
    theta -> ``theta``, sum_k alpha_k p_tj^k -> ``c`` (groups x features), p^k -> rows of ``P`` (K x features; class
    +1 less class -1 in units of the features), q^k -> ``q`` (units of Delta / n).
Source
    Mao, Tsang 2013, "A feature selection method for multivariate performance measures", (15), (16), Corollary 1.
Deviations
    The sums over k are variables ``c`` with a row each: the Gram matrices of (16), which the paper updates, are
    singular once K exceeds the size of a group.
Class
    (15) SOCP; (16) convex QCQP.
Certificate
    exact for these groups and labellings, if the solver proves its bound.

FSmulti with binaries: sigma selects the features that may have a weight, under any rows, by the Benders drivers.

Problem
    .. math::
        \min_{\sigma \in \{0, 1\}^m}\ q(\sigma), \qquad
        q(\sigma) = \min_{d,\ w,\ \xi}\ \tfrac12 \textstyle\sum_j w_j^2 / d_j + C \xi
        \quad \text{s.t. the rows of (5)},\ \textstyle\sum_j d_j \le B,\ 0 \le d_j \le \sigma_j

    under any rows on sigma. If ``sum sigma <= B`` is among them (``max_features`` of ``fs.select``), d = sigma and this
    is (23), the best weights on at most B features. Otherwise B is the budget of (5), shared by the features with
    sigma_j = 1.
Method
    sigma is complicating, and an oracle evaluates q (``solvers.drivers.two_layer.selection``, with the cut and the
    relaxation). The default is ``branch-and-cut``: nodes are bounded by the relaxation of (5) with the rows, which
    is that of Lemma 2; incumbents are found by rounding and by exchanges that satisfy the rows.
Certificate
    exact if the tree is completed; at a limit the bound is that of the open nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike, NDArray
from pyomo.core.expr.numeric_expr import LinearExpression

from fsmodels.checks import positive
from fsmodels.errors import ModelError, ParameterError
from fsmodels.models.components import changeable
from fsmodels.models.multivariate.labellings import FloatArray
from fsmodels.models.proofs.certified import values_of, write, zero_bound
from solvers import Result, RowPool, SelectionOracle
from solvers.facts import Certificate, CompositeRisk, Facts, RiskRow, Structure, half_norm, norm_at, vertices

__all__ = ["Groups", "group_dual", "group_primal", "groups_of"]

Put = Callable[[Any, FloatArray, FloatArray, float], None]  # (model, w, d, xi): write a solution to the model
ROW_TOLERANCE = 1e-6  # of a row, relative to its side or to 1
OFFSET = "(offset)"  # name of the feature that is 1 everywhere


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups and labellings from which (15) and (16) are built.

    Attributes
    ----------
    P : ndarray of shape (K, p)
        p^k of each labelling, over the features in use.
    q : ndarray of shape (K,)
    groups : tuple of tuples of str
        Features of each group.
    features : tuple of str
        Features of the columns of P.
    C : float
    """

    P: FloatArray
    q: FloatArray
    groups: tuple[tuple[str, ...], ...]
    features: tuple[str, ...]
    C: float

    def __post_init__(self) -> None:
        P, q = np.atleast_2d(np.asarray(self.P, dtype=float)), np.asarray(self.q, dtype=float)
        if P.shape != (len(q), len(self.features)):
            raise ParameterError(
                f"P has the shape {P.shape} and there are {len(q)} cuts over {len(self.features)} features: give one "
                "row a cut, one column a feature."
            )
        unknown = {name for group in self.groups for name in group} - set(self.features)
        if unknown:
            raise ParameterError(f"The groups name {sorted(unknown)[0]!r}, which is not among the features.")
        object.__setattr__(self, "P", P)
        object.__setattr__(self, "q", q)

    @classmethod
    def from_columns(cls, P: ArrayLike, q: ArrayLike, groups: Sequence[Sequence[int]], C: float) -> Groups:
        """Return groups given by positions of columns, which are also their names."""
        names = tuple(str(j) for j in range(np.shape(P)[1]))
        return cls(np.asarray(P), np.asarray(q), tuple(tuple(names[j] for j in t) for t in groups), names, C)


def groups_of(result: Result, features: Sequence[str]) -> Groups:
    """Return the groups and labellings of the last restricted problem of a solve of ``fsmulti``.

    The driver solves over all groups of the features in use at once. The groups whose mean is its d are enough for the
    same optimum.

    Parameters
    ----------
    result : Result
        Of ``fs.solve(model)``, or the ``result`` of a Selection.
    features : sequence of str
        Of the data.

    Raises
    ------
    ModelError
        If the result is not one of the driver "two-layer", or the model restricts d.

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("wdbc").scaled("standard")
    >>> result = fs.solve(fs.multivariate.fsmulti(data, budget=2, C=10.0, loss="f1"))
    >>> groups = fs.multivariate.groups_of(result, data.features)
    >>> dual = fs.solve(fs.multivariate.group_dual(groups))
    >>> bool(result.bound - 1e-6 <= dual.objective <= result.objective + 1e-6)
    True
    """
    working = result.details.get("working_set")
    if working is None:
        raise ModelError(
            f'The result of "{result.solver}" has no groups: solve fsmulti with the driver "two-layer", its default.'
        )
    if working["restricted"]:
        raise ModelError(
            "The result has no groups: rows, bounds or values of d restrict the shares, and (15) and (16) do not "
            "contain these."
        )
    known = [*features, OFFSET]  # the offset is the last column of a model that has one
    names = [str(known[j]) for j in working["columns"].tolist()]
    places = working["groups"] or vertices(working["d"], working["B"])[0]
    groups = tuple(tuple(names[j] for j in t.tolist()) for t in places)
    return Groups(working["P"], working["q"], groups, tuple(names), working["C"])


def group_primal(groups: Groups) -> pyo.ConcreteModel:
    """Build (15).

    Returns
    -------
    pyo.ConcreteModel
        ``w`` (group, feature), ``norm`` (groups), ``xi``, rows ``row`` (cuts; multipliers: alpha) and ``cone``
        (groups); ``C`` can be changed between solves.

    Examples
    --------
    >>> import fsmodels as fs
    >>> groups = fs.multivariate.Groups([[-2.0, 0.0]], [1.0], (("a", "b"),), ("a", "b"), C=1.0)
    >>> model = fs.multivariate.group_primal(groups)
    >>> result = fs.solve(model)
    >>> round(pyo.value(model.w[0, "a"]), 5), round(result.objective, 5)
    (0.5, 0.125)
    """
    model, members = _model("FSmulti groups, primal", groups)
    model.w = pyo.Var(members, initialize=0.0, doc="(15) w_t: weights of group t")
    model.norm = pyo.Var(model.groups, domain=pyo.NonNegativeReals, initialize=0.0, doc="(15) ||w_t||")
    model.xi = pyo.Var(domain=pyo.NonNegativeReals, initialize=0.0, doc="(15) slack: the risk")
    model.cone = pyo.Constraint(
        model.groups,
        rule=lambda m, t: pyo.quicksum(m.w[t, j] ** 2 for j in groups.groups[t]) <= m.norm[t] ** 2,
        doc=r"(15) norm_t is no less than ||w_t|| \(\lVert w_t \rVert^2 \le \mathrm{norm}_t^2 \quad \forall\, t\)",
    )
    column = {name: k for k, name in enumerate(groups.features)}

    def row(m: pyo.ConcreteModel, k: int) -> Any:
        slopes = [float(groups.P[k, column[j]]) for t, j in members]
        body = LinearExpression(linear_coefs=[1.0, *(-s for s in slopes)], linear_vars=[m.xi, *m.w.values()])
        return body >= float(groups.q[k])

    doc = r"(15) the risk of labelling k \(\xi \ge q_k + \sum_t w_t^\top p_t^k \quad \forall\, k\)"
    model.row = pyo.Constraint(model.cuts, rule=row, doc=doc)
    doc = r"(15) half the squared norm, C xi \(\tfrac12 \left(\sum_t \mathrm{norm}_t\right)^2 + C \xi\)"
    model.objective = pyo.Objective(expr=0.5 * pyo.quicksum(model.norm.values()) ** 2 + model.C * model.xi, doc=doc)
    Facts().attach(model)
    return model


def group_dual(groups: Groups) -> pyo.ConcreteModel:
    """Build (16), a maximisation; its optimum equals that of ``group_primal``.

    Returns
    -------
    pyo.ConcreteModel
        ``alpha`` (cuts), ``theta``, ``c`` (group, feature), rows ``combine`` (their definition), ``sphere`` (groups;
        multipliers: the shares mu) and ``weight``; ``C`` can be changed between solves.

    Examples
    --------
    >>> import fsmodels as fs
    >>> groups = fs.multivariate.Groups([[-2.0, 0.0]], [1.0], (("a", "b"),), ("a", "b"), C=1.0)
    >>> round(fs.solve(fs.multivariate.group_dual(groups)).objective, 5)
    0.125
    """
    model, members = _model("FSmulti groups, dual", groups)
    model.alpha = pyo.Var(model.cuts, domain=pyo.NonNegativeReals, initialize=0.0, doc="(16) alpha_k >= 0")
    model.theta = pyo.Var(initialize=0.0, doc="(16) the largest of the T values")
    model.c = pyo.Var(members, initialize=0.0, doc="(16) sum_k alpha_k p_t^k")
    column = {name: k for k, name in enumerate(groups.features)}
    alpha = list(model.alpha.values())

    def combine(m: pyo.ConcreteModel, t: int, j: str) -> Any:
        slopes = groups.P[:, column[j]].tolist()
        return LinearExpression(linear_coefs=[*slopes, -1.0], linear_vars=[*alpha, m.c[t, j]]) == 0.0

    doc = "(16) the sum over labellings of group t and feature j "
    doc += r"\(c_{tj} = \sum_k \alpha_k p^k_{tj} \quad \forall\, t, j\)"
    model.combine = pyo.Constraint(members, rule=combine, doc=doc)
    model.sphere = pyo.Constraint(
        model.groups,
        rule=lambda m, t: 0.5 * pyo.quicksum(m.c[t, j] ** 2 for j in groups.groups[t]) <= m.theta,
        doc="(16) 1/2 ||sum_k alpha_k p_t^k||^2 <= theta "
        r"\(\tfrac12 \lVert c_t \rVert^2 \le \theta \quad \forall\, t\)",
    )
    doc = r"(16) sum_k alpha_k <= C \(\sum_k \alpha_k \le C\)"
    model.weight = pyo.Constraint(expr=pyo.quicksum(alpha) <= model.C, doc=doc)
    gain = LinearExpression(linear_coefs=groups.q.tolist(), linear_vars=alpha)
    doc = r"(16) \(\sum_k \alpha_k q_k - \theta\)"
    model.objective = pyo.Objective(expr=gain - model.theta, sense=pyo.maximize, doc=doc)
    Facts().attach(model)
    return model


def _model(name: str, groups: Groups) -> tuple[pyo.ConcreteModel, list[tuple[int, str]]]:
    model = pyo.ConcreteModel(name=name)
    model.groups = pyo.Set(initialize=range(len(groups.groups)), doc="groups of features, t")
    model.cuts = pyo.Set(initialize=range(len(groups.q)), doc="labellings, k")
    weight = partial(positive, "C", meaning="C weighs the risk against the norm")
    model.C = changeable(weight, groups.C, "(15) weight of the risk")
    return model, [(t, j) for t, group in enumerate(groups.groups) for j in group]


def selection(
    model: pyo.ConcreteModel, pool: RowPool, put: Put, *, others: Sequence[Callable[[Any], None]] = (), **facts: Any
) -> Structure:
    """Return the facts of a model with sigma; all other variables, and all rows but ``switch``, are the subproblem.

    ``others``: repairs of a point for models with edited rows that ``put`` violates.
    """
    oracle = SelectionOracle(pool, model.budget, model.C, partial(put, model))
    sigma, w = list(model.sigma.values()), list(model.w.values())
    rows = list(model.component_objects(pyo.Constraint))
    return Structure(
        complicating=sigma,
        subproblem=[v for v in model.component_objects(pyo.Var) if v is not model.sigma],
        rows=[row for row in rows if row.local_name != "switch"],
        coupling=[row for row in rows if row.local_name == "switch"],
        switches=list(zip(sigma, w, strict=True)),
        oracle=oracle,
        relaxation=oracle.relax,
        detached=oracle.detached,
        floor=0.0,
        parameters=oracle.parameters,
        starts=[np.ones(len(sigma))],
        certificate=Certificate(
            [], None, partial(_repair, pool, put), partial(_trivial, pool, put), zero_bound, others=others
        ),
        default_solver="branch-and-cut",
        **facts,
    )


def chosen(model: Any) -> list[str]:
    """Return the features with sigma = 1, without the offset."""
    return [j for j, v in model.sigma.items() if v.value is not None and v.value > 0.5 and j != OFFSET]


def drop_idle(model: Any) -> None:
    """Set sigma to 0 for selected features without a weight, all or some of them, if the rows allow it.

    Sigma has no cost, so the best weights do not determine it.
    """
    idle = [v for j, v in model.sigma.items() if v.value and not v.fixed and v.lb == 0 and not model.w[j].value]
    for some in (idle, *([v] for v in idle)):
        for v in some:
            v.set_value(0)
        if all(_holds(row) for row in model.component_data_objects(pyo.Constraint, active=True)):
            if len(some) == len(idle):
                break
        else:
            for v in some:
                v.set_value(1)


def _holds(row: Any) -> bool:
    body, low, up = pyo.value(row.body), pyo.value(row.lower), pyo.value(row.upper)
    above = low is None or body >= low - ROW_TOLERANCE * max(1.0, abs(low))
    return above and (up is None or body <= up + ROW_TOLERANCE * max(1.0, abs(up)))


def composite(model: pyo.ConcreteModel, X: Any, worst: Callable[[FloatArray], RiskRow], **facts: Any) -> CompositeRisk:
    """Return the facts for the driver "two-layer"."""
    return CompositeRisk(
        matrix=X,
        worst=worst,
        budget=model.budget,
        weight=model.C,
        scale=1.0 / X.shape[0],
        shares=model.d,
        column=partial(_column, model.features),
        **facts,
    )


def _column(features: pyo.Set, j: str) -> int:
    return int(features.ord(j)) - 1


def load_lazy(
    model: pyo.ConcreteModel, names: tuple[str, ...], columns: NDArray[np.intp], w: FloatArray, d: FloatArray, xi: float
) -> None:
    """Write a solution to a lazy model; weights and shares outside ``columns`` are 0."""
    for v in (*model.w.values(), *model.d.values()):
        v.set_value(0.0, skip_validation=True)
    for j, weight, part in zip(columns.tolist(), w.tolist(), d.tolist(), strict=True):
        model.w[names[j]].set_value(weight, skip_validation=True)
        model.d[names[j]].set_value(part, skip_validation=True)
    model.omega.set_value(norm_at(w, d), skip_validation=True)
    model.xi.set_value(xi, skip_validation=True)


def put_lazy(model: Any, w: FloatArray, d: FloatArray, xi: float) -> None:
    """Write a solution to a lazy model with all weights."""
    load_lazy(model, tuple(model.features), np.arange(len(w)), w, d, xi)


def _repair(pool: RowPool, put: Put, model: Any) -> None:
    """Set the shares, the norm and the risk of the weights of the selected features; all other weights are 0."""
    w = values_of(model.w)
    w = np.where((values_of(model.sigma) > 0.5) & np.isfinite(w), w, 0.0)
    d = half_norm(w, int(pyo.value(model.budget)))[1]
    put(model, w, d, pool.at(pool.scores(w))[1])


def _trivial(pool: RowPool, put: Put, model: Any) -> None:
    """Set sigma and the weights to 0."""
    write(model.sigma, np.zeros(len(model.sigma)))
    _repair(pool, put, model)
