r"""Feature selection by concave minimisation: FS, its approximations FSS and FSV, and its exact forms FSL and FSB.

Problem
    A contains the m rows of class +1, B the k rows of class -1. All models have the rows of the robust LP and the bound
    v on the size of w:

    .. math::
        & -A w + e \gamma + e \le y,\quad B w - e \gamma + e \le z,\quad y, z \ge 0,\quad -v \le w \le v && (5)

    With E = e'y/m + e'z/k, lambda in [0, 1) and the step function v_* (1 where v > 0, else 0):

    .. math::
        \text{FS:}\quad  & \min\ (1 - \lambda) E + \lambda\, e^\top v_*                                      && (7) \\
        \text{FSS:}\quad & \min\ (1 - \lambda) E + \lambda \sum_j 1 / (1 + e^{-\alpha v_j})                  && (10) \\
        \text{FSV:}\quad & \min\ (1 - \lambda) E + \lambda \sum_j (1 - e^{-\alpha v_j})                      && (11) \\
        \text{FSL:}\quad & \min\ (1 - \lambda) E + \lambda\, e^\top r,\quad
                           0 \le r \perp u - v \ge 0,\ 0 \le u \perp e - r \ge 0                             && (13) \\
        \text{FSB:}\quad & \min\ (1 - \mu) [(1 - \lambda) E + \lambda\, e^\top r] + \mu (-r^\top v + e^\top u),\quad
                           0 \le r \le e,\ u \ge v,\ u \ge 0                                                 && (14)

    With weights of samples e'y/m and e'z/k are weighted means, each times the cost of an error in its class
    (``models.shares``).
Why FSL is FS
    If v_j > 0 then u_j >= v_j > 0, so e - r = 0 there: r_j = 1, and u_j = v_j. If v_j = 0, then u_j = 0 and any r_j in
    [0, 1] are feasible, and the price makes r_j 0. So e'r = e'v_* at the optimum. -r'v + e'u is r'(u - v) + u'(e - r),
    the sum of the products that complementarity sets to 0, and at least 0: FSB is FSL with an exact penalty.
    If r_j < 1, u_j and v_j are 0, so rounding r down gives a point of FS that costs no more. Conversely u = v = |w|,
    r = sigma is a point of FSL. With the same data and lambda both have the same optimum, and the tree of FS solves and
    proves FSL. This remains true with user rows on r if rounding down does not violate them
    (``solvers.facts.equivalent``), as for ``side_constraints``.
Why FSV and FSS can be linearised
    For v >= 0, which all feasible points satisfy, 1 - e^(-alpha v) and the sigmoid are concave. A concave objective
    over a polyhedron without lines has a vertex solution. Successive linearisation moves from vertex to better vertex
    and stops after finitely many steps at a stationary one. At a vertex v_j = |w_j|: one of its two rows is tight.
Rows on features in FSV and FSS
    ``sigma=True`` adds sigma as in FS: w_j = 0 unless sigma_j = 1, without a price. The feasible set is then a union of
    polyhedra, one for each sigma that the rows allow. The same linearisation ends at a point that is stationary in each
    polyhedron that contains it, for any rows on sigma (``solvers.drivers.sla``). sigma is 1 for features with a weight
    and for features that the rows require. A row on the sum of steps, sum_j c_j (1 - e^(-alpha v_j)) <= B, needs no
    sigma: its linearisation is an inner approximation. It limits the smoothed cost of v, but not the cost of the
    features with a weight, which is larger, because 1 - e^(-alpha v) < 1.
The steps of FSB (Algorithm 2.3)
    For fixed v, (14) is linear in r over a box: r_j = 1 if mu v_j > (1 - mu) lambda, else 0. For fixed r it is a linear
    program in the other variables. If r_j = 1, v_j and u_j may grow together without a cost; the smallest optimum,
    v = u = |w|, is used.
FSB by solvers of the whole model
    No bound on u and v follows from the size of the data: for A = {1 + t}, B = {1 - t} the only plane without error has
    w = 1/t. No bound is needed: r is in no row, and (14) is affine in each r_j, so some optimum has r in {0, 1}, where
    u_j - r_j v_j is u_j or u_j - v_j; ``whole.ordered_products`` writes r_j v_j with a binary and ordered sets, and FSB
    is a MILP. At such an optimum u = v = |w|, and (14) is the capped l1 norm,

    .. math::
        \min\ (1 - \mu)(1 - \lambda) E + \sum_j \min \{ \mu |w_j|, (1 - \mu) \lambda \},

    so the cost of complementarity is at most (1 - mu) lambda per feature for any w. At every feasible point (14) is at
    least 0. If r_j of a solver is 1 + 1e-8, its objective is too small by 1e-8 v_j: values are moved to their bounds,
    and (14) is evaluated again before a status is reported.
Rows on features in FSB
    ``sigma=True`` makes r binary: otherwise rows on r would count fractions of a feature, and rounding r might violate
    them. The steps are those above with a MILP over r instead of the closed form. r_j = 0 prices w_j by mu |w_j| and
    does not forbid it, so the rows restrict the selection only if (14) is complementary. mu is increased until it is; a
    point that never becomes complementary violates the rows by its largest unselected weight. The whole model is the
    same MILP as above, with rows: it is proven at its mu, and at this mu there is no better selection.
FS as a MILP
    sigma_j in {0, 1}, and either v_j = 0 or 1 - sigma_j = 0: a special ordered set of type 1, which needs no bound on w
    (``form="sos1"``), or a disjunction of w_j = 0 and sigma_j = 1 (``form="indicator"``). For the big-M of the
    disjunction a solver of the whole model needs bounds on w, which do not follow from the data; set them yourself.
    "branch-and-cut", the default, needs neither: it searches over supports, and its bounds follow from the data
    (``concave.tree``).
FS and FSL by solvers of the whole model
    Their points are repaired, but their status is not a proof: on columns of 1e6, 1.9 was reported as optimal, and the
    optimum was 0.05. In the remaining time the tree proves a bound, and "optimal" is reported only if the point attains
    it. After an edit that the tree does not support, the bound is that of the model without the edit, or there is none,
    and the message reports it.
Scaling
    (7) does not change when a column is rescaled. The others do: alpha v_j and mu v_j compare weights. Standardise.
Symbols
    w -> ``w`` (features; 1/unit of the feature), gamma -> ``gamma``, ``b`` = -gamma, y -> ``y`` (A), z -> ``z`` (B),
    v -> ``v``, u -> ``u``, r -> ``r`` (features), lambda -> ``penalty``, alpha -> ``alpha`` (per unit of w), mu ->
    ``mu``, E -> ``error``, the sum with the price lambda -> ``features_used``; in FS, and
    on request in FSV and FSS: sigma -> ``sigma``, 1 - sigma_j -> ``unselected``.
Source
    Bradley, Mangasarian, Street 1998, "Feature selection via mathematical programming", INFORMS Journal on Computing
    10(2): (5), (7), (10), (11), (13), (14), Algorithms 2.1 and 2.3.
Deviations
    The paper calls FSS neither convex nor concave, which is true only for all of R, and solves it by MINOS. Its
    condition on mu prints u'(r + e) instead of u'(-r + e). FSS keeps the constant n/2 at v = 0.
Class
    FS: MILP with ordered sets. FSS, FSV: concave over a polyhedron (NLP). FSL: LP with complementarity. FSB: bilinear.
Certificate
    FS and FSL exact, proven from the data; edited beyond rows and costs on sigma feasible. FSV and FSS stationary; FSB
    stationary by its driver, exact by scip or gurobi.

May import ``fsmodels.models`` and ``fsmodels.models.proofs``, ``fsmodels.datasets``, the modules of ``fsmodels`` itself
and, from ``solvers``, facts, LPs and boxes; no other family.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.mpec import Complementarity, complements

from fsmodels.checks import choice, choosing, positive, share
from fsmodels.datasets.dataset import Dataset
from fsmodels.models.components import (
    by_disjunctions,
    by_ordered_sets,
    by_weight,
    changeable,
    latex_of,
    limit_features,
    plane_rows,
)
from fsmodels.models.concave.forms import (
    bounded_plane,
    certified,
    complementarity_of,
    price_features,
    put_point,
    selecting_component,
    smallest,
)
from fsmodels.models.concave.tree import Supports
from fsmodels.models.proofs.certified import Point, by_sigma, read_selection
from fsmodels.models.proofs.equilibration import Columns
from fsmodels.models.shares import class_shares
from fsmodels.weights import column_sizes
from solvers.facts import Block, Blocks, EquivalentModel, Facts, PenaltyValues, Structure

__all__ = ["FORMS", "MU", "fs", "fs_objective", "fsb", "fsl", "fss", "fsv"]
__dir__ = __all__.copy  # what <TAB> offers

FORMS = ["sos1", "indicator"]
MU = [round(0.05 + 0.1 * k, 2) for k in range(10)]  # 0.05, 0.15, ..., 0.95: Algorithm 2.3, comment
COMPLEMENTARY = 1e-6  # r'(u - v) + u'(e - r), in the units of w


def fs(data: Dataset, *, penalty: float, max_features: int | None = None, form: str = "sos1") -> pyo.ConcreteModel:
    """Build FS (7), the exact problem, as a MILP; for small numbers of features.

    Parameters
    ----------
    data : Dataset of shape (l, n)
    penalty : float
        lambda in [0, 1), the weight of the number of features; ``model.penalty`` can be changed between solves.
    max_features : int, optional
        The maximum number of features in addition, 1..n.
    form : {"sos1", "indicator"}
        Form of "w_j = 0 unless sigma_j = 1", for solvers of the whole model: "sos1" needs a solver with ordered sets
        (scip, gurobi), "indicator" needs your bounds on ``model.w``.

    Returns
    -------
    pyo.ConcreteModel
        ``sigma`` (features) selects, so that side constraints can be added. The default driver supports rows and costs
        on sigma and on your own variables; scip and gurobi support all other edits.

    Raises
    ------
    ParameterError
        A penalty outside [0, 1), or an unknown form.
    InfeasibleParameter
        ``max_features`` outside 1..n.
    DataError
        If a class has no sample.

    Examples
    --------
    >>> import fsmodels as fs
    >>> model = fs.concave.fs(fs.load_dataset("bupa").scaled("standard"), penalty=0.05)
    >>> fs.solve(model).status.value
    'optimal'
    """
    choice("form", form, FORMS)
    model = bounded_plane("FS", data, penalty)
    if form == "sos1":
        by_ordered_sets(model, model.v)
    else:
        by_disjunctions(model, "(7)")
    return _chosen_among(model, data, max_features, form)


def fsv(data: Dataset, *, penalty: float, alpha: float = 5.0, sigma: bool = False) -> pyo.ConcreteModel:
    """Build FSV (11): the step function by 1 - exp(-alpha v), concave on v >= 0.

    Parameters
    ----------
    data, penalty
        As for ``fs``; standardised, as alpha compares weights.
    alpha : float
        Steepness, above 0, per unit of w; ``model.alpha`` can be changed between solves.
    sigma : bool
        Add binaries ``sigma`` (features): w_j = 0 unless sigma_j = 1, for rows on the selection.

    Returns
    -------
    pyo.ConcreteModel
        ``step`` (features) is the price of each feature without lambda: edit ``model.features_used`` for different
        prices, or add a row on a sum of steps, which "sla" supports without sigma.

    Examples
    --------
    >>> import fsmodels as fs
    >>> model = fs.concave.fsv(fs.load_dataset("bupa").scaled("standard"), penalty=0.05)
    >>> fs.solve(model).status.value
    'stationary'
    """
    return _smoothed(
        "FSV", "(11)", lambda v, alpha: 1 - pyo.exp(-alpha * v), r"(1 - e^{-\alpha v_j})", data, penalty, alpha, sigma
    )


def fss(data: Dataset, *, penalty: float, alpha: float = 5.0, sigma: bool = False) -> pyo.ConcreteModel:
    """Build FSS (10): the step function by the sigmoid 1 / (1 + exp(-alpha v)), 1/2 at v = 0, concave on v >= 0.

    The price of a feature rises by lambda/2 in total, with the slope alpha/4 at 0; that of FSV rises by lambda with the
    slope alpha. At the same lambda FSS keeps more features. Parameters, components and errors as for ``fsv``.

    Examples
    --------
    >>> import fsmodels as fs
    >>> model = fs.concave.fss(fs.load_dataset("bupa").scaled("standard"), penalty=0.05)
    >>> fs.solve(model, "pounce").status.value  # any NLP solver; "sla" by default
    'stationary'
    """
    latex = r"\frac{1}{1 + e^{-\alpha v_j}}"
    return _smoothed("FSS", "(10)", lambda v, alpha: 1 / (1 + pyo.exp(-alpha * v)), latex, data, penalty, alpha, sigma)


def fsl(data: Dataset, *, penalty: float) -> pyo.ConcreteModel:
    """Build FSL (13), FS as a linear program with complementarity constraints.

    ``data``, ``penalty`` and errors as for ``fs``.

    Returns
    -------
    pyo.ConcreteModel
        ``sigma`` refers to ``r``, which is 1 if v_j > 0, so that side constraints can be added. By default the tree of
        FS, which has the same optimum, solves the model and proves the solution from the data. Solvers with ordered
        sets (scip, gurobi) support any edit; NLP solvers find local optima; others need bounds on u and v.

    Examples
    --------
    >>> import fsmodels as fs
    >>> model = fs.concave.fsl(fs.load_dataset("bupa").scaled("standard"), penalty=0.05)
    >>> fs.solve(model).status.value
    'optimal'
    """
    model = bounded_plane("FSL", data, penalty)
    model.r = pyo.Var(model.features, bounds=(0.0, 1.0), doc="(13) r = v_*")
    model.u = pyo.Var(model.features, domain=pyo.NonNegativeReals, doc="(13) u = v")
    doc = r"(13) 0 <= r _|_ u - v >= 0 \(0 \le r_j \;\perp\; u_j - v_j \ge 0 \quad \forall\, j\)"
    model.step_where_used = Complementarity(
        model.features, rule=lambda m, j: complements(m.r[j] >= 0, m.u[j] - m.v[j] >= 0), doc=doc
    )
    doc = r"(13) 0 <= u _|_ e - r >= 0 \(0 \le u_j \;\perp\; 1 - r_j \ge 0 \quad \forall\, j\)"
    model.used_where_step = Complementarity(
        model.features, rule=lambda m, j: complements(m.u[j] >= 0, 1 - m.r[j] >= 0), doc=doc
    )
    model.sigma = pyo.Reference(model.r)
    model.features_used = pyo.Expression(expr=pyo.quicksum(model.r.values()), doc=r"(13) e'r \(\sum_j r_j\)")
    price_features(model, "(13)")
    return certified(
        model, data, Facts(selected=by_sigma, default_solver="branch-and-cut", equivalent=_equivalent(data))
    )


def fsb(data: Dataset, *, penalty: float, mu: float | None = None, sigma: bool = False) -> pyo.ConcreteModel:
    """Build FSB (14), the bilinear program in which complementarity has a price.

    Parameters
    ----------
    data, penalty
        As for ``fs``; standardised, as mu compares weights.
    mu : float, optional
        The weight of complementarity, in (0, 1). By default every solver and driver uses the smallest of 0.05, 0.15,
        ..., 0.95 with a complementary solution, else 0.95 with a message; ``model.mu`` contains it afterwards.
    sigma : bool
        Make r binary, and let ``sigma`` refer to it, for rows on the selection. ``mu`` is then the first value to try:
        only a complementary solution satisfies such rows.

    Returns
    -------
    pyo.ConcreteModel
        ``r`` has the price, ``u`` >= ``v``; the blocks of the driver "alternating" are r and all other variables.

    Examples
    --------
    >>> import fsmodels as fs
    >>> model = fs.concave.fsb(fs.load_dataset("bupa").scaled("standard"), penalty=0.05)
    >>> fs.solve(model).status.value
    'stationary'
    """
    model = bounded_plane("FSB", data, penalty)
    weight = partial(share, "mu", meaning="mu is the weight of complementarity", open_below=True)
    model.mu = changeable(weight, MU[0] if mu is None else mu, "(14) weight of complementarity")
    domain = pyo.Binary if choosing(sigma) else pyo.UnitInterval
    model.r = pyo.Var(model.features, domain=domain, doc="(14) r = v_* where complementary")
    if sigma:
        model.sigma = pyo.Reference(model.r)
    model.u = pyo.Var(model.features, domain=pyo.NonNegativeReals, doc="(14) u >= v")
    doc = r"(14) u - v >= 0 \(v_j \le u_j \quad \forall\, j\)"
    model.above = pyo.Constraint(model.features, rule=lambda m, j: m.u[j] >= m.v[j], doc=doc)
    model.features_used = pyo.Expression(expr=pyo.quicksum(model.r.values()), doc="(14) e'r")
    product = pyo.quicksum(model.r[j] * model.v[j] for j in model.features)
    model.complementarity = pyo.Expression(expr=pyo.quicksum(model.u.values()) - product, doc="(14) -r'v + e'u")
    priced = (1 - model.penalty) * model.error + model.penalty * model.features_used
    model.objective = pyo.Objective(
        expr=(1 - model.mu) * priced + model.mu * model.complementarity,
        doc=r"(14) price and complementarity \((1 - \mu) \left[(1 - \lambda) "
        rf"\left({latex_of(model.error)}\right) + \lambda \sum_j r_j\right] + \mu \sum_j (u_j - r_j v_j)\)",
    )
    plane = [model.w, model.gamma, model.y, model.z, model.v, model.u]
    facts = Blocks(
        [
            Block([model.r], name="r"),
            Block(plane, tidy=smallest, name="plane"),
        ],
        _weights_of_complementarity(model, mu, sigma),
        selected=by_sigma if sigma else partial(by_weight, column_sizes(data.X)),
        violation=_unselected_weight if sigma else None,
    )
    return certified(model, data, facts)


def _weights_of_complementarity(model: pyo.ConcreteModel, mu: float | None, sigma: bool) -> PenaltyValues | None:
    """Return the values of mu to try; None for a given mu without rows on r."""
    if mu is not None and not sigma:
        return None
    values = MU if mu is None else [mu, *(value for value in MU if value > mu)]
    return PenaltyValues(model.mu, values, complementarity_of, COMPLEMENTARY)


def _unselected_weight(model: pyo.ConcreteModel) -> float:
    """Return the largest weight of an unselected feature."""
    pairs = zip(model.w.values(), model.sigma.values(), strict=True)
    return max((abs(w.value) for w, s in pairs if s.value is not None and s.value < 0.5), default=0.0)


def fs_objective(w: np.ndarray, error: float, penalty: float) -> float:
    """Return (7) at a point: (1 - lambda) E + lambda times the number of weights that are not 0.

    Examples
    --------
    >>> fs_objective(np.array([0.5, 0.0]), error=1.0, penalty=0.25)
    1.0
    """
    return (1.0 - penalty) * error + penalty * int(np.count_nonzero(w))


def _smoothed(
    name: str,
    number: str,
    step: Callable[[Any, Any], Any],
    latex: str,
    data: Dataset,
    penalty: float,
    alpha: float,
    sigma: bool,
) -> pyo.ConcreteModel:
    model = bounded_plane(name, data, penalty)
    if choosing(sigma):
        by_ordered_sets(model, model.v)
    steepness = partial(positive, "alpha", meaning="alpha is the steepness of the step")
    model.alpha = changeable(steepness, alpha, f"{number} alpha")
    model.step = pyo.Expression(
        model.features, rule=lambda m, j: step(m.v[j], m.alpha), doc=f"{number} smoothed step of feature j"
    )
    model.features_used = pyo.Expression(
        expr=pyo.quicksum(model.step.values()), doc=rf"{number} sum of steps \(\sum_j {latex}\)"
    )
    price_features(model, number)
    selected = by_sigma if sigma else partial(by_weight, column_sizes(data.X))
    switches = list(zip(model.sigma.values(), model.w.values(), strict=True)) if sigma else []
    return certified(model, data, Facts(selected=selected, switches=switches, default_solver="sla"))


def _chosen_among(model: pyo.ConcreteModel, data: Dataset, most: int | None, form: str) -> pyo.ConcreteModel:
    """Complete FS in a model with sigma: limit on the number of features, objective, and facts."""
    model.features_used = pyo.Expression(expr=pyo.quicksum(model.sigma.values()), doc=r"(7) e'v_* \(\sum_j \sigma_j\)")
    if most is not None:
        limit_features(model, most)
    price_features(model, "(7)")
    return certified(model, data, _structure(model, data, form))


def _structure(model: pyo.ConcreteModel, data: Dataset, form: str) -> Structure:
    """Return the structure of FS for drivers."""
    sigma, kept = list(model.sigma.values()), data.counting
    put = partial(put_point, selecting_component(model))
    sub = Supports(model, Columns.of(kept.X), kept.y, class_shares(kept), put)
    plain = [model.w, model.gamma, model.y, model.z, model.v]
    written = form == "sos1"
    return Structure(
        complicating=sigma,
        subproblem=[*plain, model.unselected] if written else plain,
        rows=[*plane_rows(model), model.v_above_w, model.v_above_minus_w],
        coupling=[model.complement, model.only_selected] if written else [model.only_selected],
        switches=list(zip(sigma, model.w.values(), strict=True)),
        terms=[model.error],
        oracle=sub,
        relaxation=sub.relax,
        detached=sub.detached,
        floor=0.0,
        parameters=sub.parameters,
        selected=by_sigma,
        equivalent=_equivalent(data),
        default_solver="branch-and-cut",
    )


def _equivalent(data: Dataset) -> EquivalentModel:
    """Return the functions that build FS for a model of FS or FSL and load its solution."""
    return EquivalentModel(partial(_as_fs, data), _sigma, _load)


def _sigma(model: pyo.ConcreteModel) -> list[Any]:
    return list(model.sigma.values())


def _as_fs(data: Dataset, model: pyo.ConcreteModel) -> pyo.ConcreteModel:
    """Return FS for drivers without the rows of the data, which the oracle contains and which take most of the time."""
    most = model.component("max_features")
    known = data if data.scale.chosen else data.scaled("none")  # without a second warning about units
    equivalent = bounded_plane("FS", known, pyo.value(model.penalty), stated=False)
    by_ordered_sets(equivalent, equivalent.v)
    return _chosen_among(equivalent, known, None if most is None else int(pyo.value(most)), FORMS[0])


def _load(model: pyo.ConcreteModel, equivalent: pyo.ConcreteModel) -> None:
    """Write the point of an equivalent model on FSL."""
    support = read_selection(equivalent)
    assert support is not None
    slacks = {i: slack.value for part in (equivalent.y, equivalent.z) for i, slack in part.items()}
    xi = np.array([slacks[i] for i in sorted(slacks)])
    put_point(selecting_component(model), model, Point(support[0], -equivalent.gamma.value, xi, support[1]))
