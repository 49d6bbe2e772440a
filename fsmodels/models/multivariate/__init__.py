r"""FSmulti: few features for a loss of the whole labelling, F1, PRBEP, recall at k, errors, ...

Problem
    n samples x_i with m features and labels y_i; Delta(y, y') the loss of a labelling y' in Y (``measures``). The
    structural SVM with one slack, on all features, and FSmulti, whose weights share a budget B of features:

    .. math::
        \min_{w, \xi \ge 0}\ & \tfrac12 \lVert w \rVert^2 + C \xi                                              && (2) \\
        \min_{d \in D}\ \min_{w, \xi \ge 0}\ & \tfrac12 \textstyle\sum_j w_j^2 / d_j + C \xi, \qquad
            D = \{d : \textstyle\sum_j d_j = B,\ 0 \le d \le 1\}                                               && (5) \\
        \text{s.t.}\ & w \cdot \tfrac1n \textstyle\sum_i (y_i - y'_i) x_i \ge \tfrac1n \Delta(y, y') - \xi
            \quad \forall y' \in Y                                                                             && (2, 5)

    The least slack of w is the risk ``R(w) = max(0, max over y' of Delta(y, y') - sum_i (y_i - y'_i) w.x_i) / n``, and
    the least ``1/2 sum w_j^2 / d_j`` is Omega(w) of (3) for p = 2, half the squared k-support norm with k = B, which
    sorting gives (``solvers.facts.k_support``): (5) is ``min Omega(w) + C R(w)``.
Dual and bounds
    With multipliers alpha >= 0 of the rows, the Lagrangian in xi gives sum alpha <= C, and in w, with
    ``c_j = 1/n sum_k alpha_k sum_i (y_i - y_i^k) x_ij`` (the paper's c_j over n), w_j = d_j c_j. There remains
    ``1/n sum_k alpha_k Delta^k - 1/2 sum_j d_j c_j^2``, least over D where d takes the B largest c_j^2. So

    - any alpha >= 0 with sum alpha <= C gives the lower bound ``1/n alpha.Delta - 1/2 (the B largest c_j^2)``,
    - any w gives the upper bound ``Omega(w) + C R(w)``,

    both from the data alone. The iteration table shows them, and the result is optimal where they meet.
    The bound also holds for the best w with at most B features, where Omega(w) = 1/2 w.w: (5) is a relaxation of that
    problem (Lemma 2), so it bounds the distance of a selection with ``max_features`` (``specs``) from the best one.
Rows on d
    With linear rows R on d and on variables of the user, the first bound takes the largest ``1/2 sum d_j c_j^2``
    over D and R, a linear program, and the second ``1/2 sum w_j^2 / d_j`` at the d of the point
    (``drivers.two_layer.shares``).
Powers other than 2
    The regulariser of (3) and the problem (4) have |w_j|^p for w_j^2:

    .. math::
        \Omega_p(w) = \min_{d \in D} \tfrac12 \textstyle\sum_j |w_j|^p / d_j                                && (3) \\
        \min_{d \in D}\ \min_w\ \tfrac12 \textstyle\sum_j |w_j|^p / d_j + C \ell(w)                           && (4)

    With z_j = |w_j|^(p/2), Omega_p(w) is Omega_2(z), so that the closed form for p = 2 gives its value and d. It is
    ``1/2 sum |w_j|^p`` for B = m, and ``1/2 (sum |w_j|^(p/2))^2`` for B = 1. The rows are ``z_j^2 <= d_j t_j``,
    ``|w_j| <= s_j`` and ``s_j^(p/2) <= z_j``, with s -> ``size`` and z -> ``root``. The determinant of the Hessian of
    ``|w|^p / d`` is ``p (p - 2) |w|^(2p - 2) / d^4``, so (4) is convex for p >= 2 only (Lemma 1), and all these rows
    are convex then. For 1 <= p < 2 the last row is written ``s_j <= z_j^(2/p)``, the only one that is not convex.
NMMKL
    The relaxation of Xu et al. 2009, ``min over d in D of the optimum of the SVM with the kernel sum_j d_j x_j x_j'``,
    is (4) for p = 2 with the hinge loss and a free offset: for given d, the SVM with this kernel has the primal
    ``1/2 sum w_j^2 / d_j + C sum xi_i``. It is the continuous relaxation of ``fsp.fsp_m(form="perspective")``, with
    d -> ``sigma`` and ``max_features`` for B; NMMKL selects the B features of largest d. Without an offset it is
    ``fsmulti`` with the loss hamming, whose risk is ``2/n sum max(0, 1 - y_i w.x_i)``, and C of NMMKL is 2 C / n.
l1-bmrm
    The method of section 8.4, ``min lambda ||w||_1 + R(w)`` (Teo et al. 2010), has the solutions of B = 1, where Omega
    is ``1/2 ||w||_1^2``. Let phi(t) be the least R(w) with ``||w||_1 <= t``, a convex function. The minimum of ``1/2
    t^2 + C phi(t)`` has ``-t/C`` among the slopes of phi at t, and that of ``lambda t + phi(t)`` has ``-lambda``. So
    the optimum for C is one of l1-bmrm for ``lambda = ||w||_1 / C``, and each solution of l1-bmrm that is not 0 is one
    for ``C = ||w||_1 / lambda``.
Algorithm
    Two-layer cutting planes (``drivers.two_layer``) over the restricted problems (15) and (16).
Iterations (Theorem 1)
    Algorithm 1, cutting planes for the rows over fixed groups, ends with rows violated by at most epsilon after

    .. math::
        \left\lceil \log_2 \frac{\Delta}{4 R^2 C} \right\rceil
            + \left\lceil \frac{16 R^2 C}{\varepsilon} \right\rceil,\quad \varepsilon \le 4 R^2 C,\quad
        \Delta = \max_{y'} \tfrac1n \Delta(y, y'),\quad
        R^2 = \max_{d, y'} \lVert \tfrac1n \textstyle\sum_i (y_i - y'_i) \sqrt{d} \circ x_i \rVert^2

    iterations at most. If the gap of the dual is G, at first at most C Delta, the next row is violated by gamma >= G /
    C. A step along this row increases the dual by at least ``min(C gamma / 2, gamma^2 / (8 R^2))``. While gamma > 4 R^2
    C, each step halves G. After that each step increases 1/G by 1 / (8 R^2 C^2), and the last C epsilon of the gap take
    8 R^2 C / epsilon steps of epsilon^2 / (8 R^2). The proof needs only an upper bound of R^2; ``iteration_bound`` uses
    the sum of the B largest squares of ``max over all y' of |1/n sum_i (y_i - y'_i) x_ij|``, which is R^2 for B = 1 if
    Y contains all labellings. Epsilon has the unit of xi: it is ``risk_tolerance`` of the driver, whose steps are those
    of the paper with ``stabilised=False``.
Symbols
    w -> ``w`` (features; only those with a value exist in form "lazy"; 1/unit of the feature), d -> ``d`` (features),
    xi -> ``xi`` (units of Delta / n), Omega -> ``omega``, B -> ``budget``, C -> ``C``; the rest in ``extended``.
    There is no offset b, unless ``offset=True`` adds a feature ``(offset)`` that is 1 everywhere; its weight is b.
Source
    Mao, Tsang 2013, "A feature selection method for multivariate performance measures", IEEE PAMI 35(9): (2)-(5),
    sections 4 to 6; Theorem 1 after Joachims, Finley, Yu 2009, "Cutting-plane training of structural SVMs"; FGM: Tan,
    Wang, Tsang 2010, "Learning sparse SVM for feature selection on very high dimensional datasets"; NMMKL: Xu, Jin, Ye,
    Lyu, King 2009, "Non-monotonic feature selection", ICML; l1-bmrm: Teo, Vishwanathan, Smola, Le 2010, "Bundle methods
    for regularized risk minimization".
Deviations
    - (2) and (5) print Delta where their duals have Delta / n; the latter is used, see ``measures``. (2) prints the sum
      without 1/n, which is a C n times as large; here both have 1/n. C is not divided by n; the paper's runs have
      C = c n.
    - B bounds sum d, not the number of features: w_j != 0 needs d_j > 0 only. B = 1 is half the squared 1-norm and may
      keep many; text data at B = 50 keep 100 to 300. A fit reports both numbers.
    - Section 6.3 takes (5) for the problem with at most B features (23). Its d are in {0, 1}; over D it is the convex
      (perspective) relaxation, and at large C its optimum can be a fifth of the other's (tested by enumeration).
    - (5) has sum d = B. Any smaller sum costs more, so that here it is B at most: d of unused features may be 0, and
      the rows on d may exclude a sum of B.
    - (3) and (4) have p > 0; here p is at least 1.
    - Theorem 1 has Delta instead of Delta / n. It calls epsilon a gap of the objective; in the proof epsilon is a
      violation, which is this gap divided by C. For several groups the proof uses the smallest of their derivatives
      along the step, which need not be positive. The number is therefore proven for one group, B = m, only.
    - FGM has a margin rho with a reward in place of the 1 of ``fgm``, which is (4) with the squared hinge loss.
Class
    (2) convex QP, (5) and ``fgm`` SOCP; 2^n - 1 rows as printed, a polynomial number in ``extended``. (4) is a convex
    NLP for p > 2 (SOCP for p = 4) and a nonconvex NLP for p < 2.
Certificate
    exact, by the two bounds. For p other than 2 points are evaluated from the data, and the bound is that of the
    solver: exact with "cutting-plane" for p > 2, and with scip.

May import ``fsmodels.models`` and ``fsmodels.models.proofs``, ``fsmodels.datasets``, the ground files and, of
``solvers``, its facts, LPs and boxes; no other family.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pyomo.environ as pyo
from scipy import sparse

from fsmodels.checks import choice, choosing, feature_count, positive, renamed, switch, whole
from fsmodels.datasets.checks import as_given, dataset, require_unweighted
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import DataError, ParameterError
from fsmodels.models.components import add_rows, changeable, few_enough, signed
from fsmodels.models.multivariate.extended import Program, add_scores, program_of, why_lazy
from fsmodels.models.multivariate.groups import (
    OFFSET,
    Groups,
    chosen,
    composite,
    group_dual,
    group_primal,
    groups_of,
    load_lazy,
    put_lazy,
    selection,
)
from fsmodels.models.multivariate.labellings import Worst
from fsmodels.models.multivariate.measures import Loss
from fsmodels.models.multivariate.measures import loss as loss_of
from fsmodels.models.multivariate.proof import (
    OF_FIVE,
    FloatArray,
    MarginRows,
    at_zero,
    classifier,
    objective,
    power,
    regulariser,
    resolution,
    risk,
    used_features,
)
from fsmodels.models.multivariate.stated import Labellings, certificate, change, load, put, repair_whole, separable
from fsmodels.models.proofs.certified import zero_bound
from fsmodels.weights import column_sizes
from solvers import RowPool
from solvers.facts import Certificate, Facts, RiskRow, half_conjugate

__all__ = [
    "FORMS",
    "Groups",
    "classifier",
    "fgm",
    "fsmulti",
    "group_dual",
    "group_primal",
    "groups_of",
    "iteration_bound",
    "objective",
    "regulariser",
    "risk",
    "structural_svm",
]
__dir__ = __all__.copy  # for completion

FORMS = ["auto", "extended", "lazy", "stated"]
NEAR = 1000.0  # units of w within this factor of 1 need no change of variables
RISK = "(5) Omega and C times the risk"
SIGMA = "(23) 1 if feature j may have a weight"


@renamed("max_features", OF_FIVE)
def fsmulti(
    data: Dataset,
    *,
    budget: int,
    C: float = 1.0,
    loss: str | Loss = "f1",
    offset: bool = False,
    form: str = "auto",
    sigma: bool = False,
    p: float = 2.0,
) -> pyo.ConcreteModel:
    r"""Build FSmulti (5): least regularised loss of the whole labelling, with weights on a budget of features.

    Parameters
    ----------
    data : Dataset of shape (n, m)
        Dense or sparse; never made dense.
    budget : int
        B, 1..m: the sum of d. More than B features may have a weight; ``max_features`` of ``fs.select`` limits their
        number.
    C : float
        Weight of the risk, above 0; not divided by n. Losses in percentage points (all but hamming) have risks up to
        100 / n. ``model.C`` and ``model.budget`` can be changed between solves.
    loss : str or Loss
        ``hamming``, ``f1`` (or another beta, f0.5), ``prbep``, ``rec@10``, ``rec@2p``, ``prec@10``, ``auc``, or a
        user-defined ``measures.Loss``.
    offset : bool
        Add a column of ones, ``(offset)``, which is a feature as any other, with a share of the budget; its weight
        is b. For unequal classes and centred columns the signs of scores are not meaningful without it.
    form : {"auto", "extended", "lazy", "stated"}
        "extended" states all rows (``extended``), for any edit and any conic solver by name. The default is still the
        driver "two-layer", with an oracle and without these rows; for edits that it does not represent it is clarabel
        or scip. A user-defined loss needs ``delta``. "lazy" states no row on labellings, and weights exist only for
        the features in use: the oracle of "two-layer" finds the rows; linear rows, bounds and values of ``d`` are
        honoured. "stated" states all but those rows, which "row-generation" finds, and honours any edit. "auto" is
        "extended" up to 20,000 rows and five million cells, and "lazy" beyond; the message reports it.
    sigma : bool
        Add binaries ``sigma`` (features); sigma_j = 0 implies w_j = 0. "branch-and-cut", the default, and the other
        Benders drivers honour rows on it, such as those of ``fs.side_constraints``; other rows are honoured by scip
        with form "extended", and with form "stated". At most 500,000 features. With
        the row ``sum sigma <= budget`` the extended form is the exact problem with at most that many features (23).
    p : float
        Power of \|w_j\| in (4), at least 1. Values other than 2 require the form "extended" without ``sigma``: if d_j
        = 0, the tolerance of a solver, 1e-6, allows weights of up to 1e-6^(1/p) in the rows. The default solver is
        "cutting-plane" for p > 2, and scip for p < 2, where the problem is not convex.

    Returns
    -------
    pyo.ConcreteModel
        ``w``, ``d`` (features), ``xi``; form "lazy" also ``omega``, the others ``t`` (features), rows ``cone`` and
        ``shares``, form "extended" ``s`` (samples), rows ``score`` and those of ``extended``.

    Raises
    ------
    ParameterError
        Invalid C, loss or form, or a form that this loss does not have.
    InfeasibleParameter
        budget or k (of rec@k) exceeds the data.

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("wdbc").scaled("standard")
    >>> model = fs.multivariate.fsmulti(data, budget=2, C=10.0, loss="f1")
    >>> result = fs.solve(model)
    >>> result.status.value, len(result.selected)  # the sum of d is 2
    ('optimal', 12)
    """
    B = feature_count(budget, dataset(data).n_features + switch("offset", offset, "a column of ones"), name="budget")
    return _built("FSmulti", data, B, C, loss, offset, form, sigma=choosing(sigma), p=power(p))


def structural_svm(
    data: Dataset, *, C: float = 1.0, loss: str | Loss = "f1", offset: bool = False, form: str = "auto"
) -> pyo.ConcreteModel:
    """Build the structural SVM (2), Joachims' SVM-perf: all features, the baseline of FSmulti.

    This is ``fsmulti`` with B = m, where Omega(w) = 1/2 w.w; parameters and errors are the same.

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("wdbc").scaled("standard")
    >>> fs.solve(fs.multivariate.structural_svm(data, C=10.0, loss="prbep")).status.value
    'optimal'
    """
    B = dataset(data).n_features + switch("offset", offset, "a column of ones")
    return _built("structural SVM", data, B, C, loss, offset, form)


@renamed("max_features", OF_FIVE)
def fgm(data: Dataset, *, budget: int, C: float = 1.0, p: float = 2.0) -> pyo.ConcreteModel:
    """Build (4) with the squared hinge loss, for p = 2 the feature generating machine (section 6.3; Tan et al. 2010).

    All rows are stated. ``data``, ``budget``, ``C``, here the weight of ``1/2 sum_i xi_i^2``, ``p`` and errors as for
    ``fsmulti``.

    Returns
    -------
    pyo.ConcreteModel
        ``w``, ``d``, ``t`` (features), ``xi`` (samples), rows ``cone``, ``shares``, ``margin``.

    Examples
    --------
    >>> import fsmodels as fs
    >>> model = fs.multivariate.fgm(fs.load_dataset("bupa").scaled("standard"), budget=2, C=1.0)
    >>> fs.solve(model).status.value
    'optimal'
    """
    B = feature_count(budget, dataset(data).n_features, name="budget")
    model = pyo.ConcreteModel(name="FGM")
    _parameters(model, data, B, C)
    _weights(model, p=power(p))
    model.xi = pyo.Var(model.samples, domain=pyo.NonNegativeReals, doc="(4) slack of sample i")
    doc = r"(4) margin of sample i \(y_i \, w^\top x_i \ge 1 - \xi_i \quad \forall\, i\)"
    terms = [(signed(data), list(model.w.values())), (1.0, list(model.xi.values()))]
    add_rows(model, "margin", model.samples, terms, doc, at_least=1.0)
    loss = pyo.quicksum(x**2 for x in model.xi.values())
    doc = r"(4) Omega and the squared hinge loss \(\tfrac12 \sum_j t_j + \tfrac{C}{2} \sum_i \xi_i^2\)"
    model.objective = pyo.Objective(expr=0.5 * pyo.quicksum(model.t.values()) + 0.5 * model.C * loss, doc=doc)
    hinges = MarginRows(signed(data))
    if p != 2:
        _attach_power_facts(model, hinges.repair, selected=partial(used_features, data), resolution=hinges.resolution)
        return model
    Facts(
        selected=partial(used_features, data),
        default_solver="clarabel",
        resolution=hinges.resolution,
        certificate=hinges.certificate(model),
        change=hinges.change(model),
    ).attach(model)
    return model


def iteration_bound(
    data: Dataset, *, budget: int, risk_tolerance: float, C: float = 1.0, loss: str | Loss = "f1", offset: bool = False
) -> int:
    """Return the bound of Theorem 1 on the number of iterations, for comparison with the measured number.

    Parameters
    ----------
    data, budget, C, loss, offset
        As for ``fsmulti``.
    risk_tolerance : float
        Epsilon, in the unit of xi: above 0, and at most 4 R^2 C.

    Raises
    ------
    ParameterError
        If ``risk_tolerance`` is outside this range, or as for ``fsmulti``.

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("wdbc").scaled("standard")
    >>> fs.multivariate.iteration_bound(data, budget=30, C=10.0, loss="f1", risk_tolerance=0.01)
    727654
    >>> model = fs.multivariate.structural_svm(data, C=10.0, loss="f1")
    >>> result = fs.solve(model, stabilised=False, risk_tolerance=0.01)
    >>> len(result.iterations) < 100
    True
    """
    require_unweighted(data, "iteration_bound")
    B = feature_count(budget, data.n_features + switch("offset", offset, "a column of ones"), name="budget")
    epsilon = positive("risk_tolerance", risk_tolerance, "epsilon is the largest violation of a row at the end")
    weight, X, n = positive("C", C, "C weighs the risk against the norm"), _matrix(data, offset), data.n_samples
    first = loss_of(loss).most_violated(data.y, np.zeros(n))
    differences = np.maximum(2.0, np.abs(first.coefficients))  # largest |y_i - y'_i|; auc has other coefficients
    # The terms of sum_i (y_i - y'_i) x_ij that can be positive, or those that can be negative: the larger sum.
    slopes = 0.5 / n * (np.abs(X).T @ differences + np.abs(X.T @ (data.y * differences)))
    largest = 4.0 * weight * 2.0 * half_conjugate(slopes, B)
    if not epsilon <= largest:
        raise ParameterError(
            f"risk_tolerance={epsilon:g} exceeds 4 R^2 C = {largest:g}, the largest in Theorem 1: use a smaller one.",
            parameter="risk_tolerance",
        )
    return max(0, int(np.ceil(np.log2(first.delta / n / largest)))) + int(np.ceil(4.0 * largest / epsilon))


# Shared parts of the builders.


def _built(
    name: str,
    data: Dataset,
    B: int,
    C: float,
    loss: str | Loss,
    offset: bool,
    form: str,
    *,
    sigma: bool = False,
    p: float = 2.0,
) -> pyo.ConcreteModel:
    if isinstance(form, str) and form == "explicit":
        raise ParameterError('form="explicit" was removed: form="extended" states the same problem, of any size.')
    measure, note = loss_of(loss), ""
    if p != 2 and (sigma or choice("form", form, FORMS) not in ("auto", "extended")):
        raise ParameterError(
            f'p={p:g} requires form="extended" and sigma=False. Use these, or p=2 with sigma and other forms.'
        )
    if choice("form", form, FORMS) == "auto":
        why = why_lazy(measure, data)
        if why and p != 2:
            raise ParameterError(
                f'p={p:g} requires the complete model, and {why}. Use p=2, a loss with fewer rows such as "hamming", '
                'or form="extended", whose solution can take hours.',
                parameter="p",
            )
        form = "lazy" if why else "extended"
        note = f"An oracle finds the rows on labellings: {why}." if why else ""
    X = _matrix(data, offset)
    first = measure.most_violated(data.y, np.zeros(data.n_samples))  # rejects a k beyond the data
    if sigma or form != "lazy":
        few_enough("FSmulti with sigma" if form == "lazy" else "FSmulti", data)
    model = pyo.ConcreteModel(name=f"{name}, {measure.name}{', but for its labellings' if form == 'stated' else ''}")
    rows = Labellings(X, data.y.astype(np.int8), measure)
    program = program_of(measure, rows.y) if form == "extended" else None
    _parameters(model, data, B, C, offset)
    facts = {"selected": chosen if sigma else partial(used_features, data), "resolution": _resolution(X, first)}
    if program is not None:
        _extended(model, rows, program, facts, sigma=sigma, p=p)
    else:
        (_lazy if form == "lazy" else _stated)(model, rows, facts, sigma=sigma)
    model.structure.note = note
    return model


def _matrix(data: Dataset, offset: bool) -> Any:
    """Return the columns, with a column of ones if there is an offset."""
    if not offset:
        return data.X
    ones = np.ones((data.n_samples, 1))
    return sparse.hstack([data.X, ones], format="csr") if sparse.issparse(data.X) else np.hstack([data.X, ones])


def _parameters(model: pyo.ConcreteModel, data: Dataset, B: int, C: float, offset: bool = False) -> None:
    features = as_given(data, who="fsmulti").features
    if OFFSET in features:
        raise DataError(f'Data "{data.name}" have a column "{OFFSET}", the name of the column of ones here: rename it.')
    names = [*features, OFFSET] if offset else features
    model.features = pyo.Set(initialize=names, doc="features, in the order of the data, and the offset if there is one")
    model.samples = pyo.Set(initialize=range(data.n_samples), doc="samples")
    weight = partial(positive, "C", meaning="C weighs the risk against the norm")
    model.C = changeable(weight, C, "(5) weight of the risk")
    shares = partial(whole, "budget", least=1, most=None, meaning="B is the sum of the shares; beyond n all are 1")
    model.budget = changeable(shares, B, "(5) B, the sum of d")


def _weights(model: pyo.ConcreteModel, *, sigma: bool = False, p: float = 2.0) -> None:
    """State w, d in D and t_j >= |w_j|^p / d_j; with ``sigma`` d_j <= sigma_j too."""
    model.w = pyo.Var(model.features, doc="(5) weight of feature j")
    model.d = pyo.Var(model.features, bounds=(0, 1), doc="(5) share of feature j in the budget")
    equation, ratio, latex = "(5)", "w_j^2 / d_j", "w_j^2"
    if p != 2:
        equation, ratio, latex = "(4)", "|w_j|^p / d_j", r"\mathrm{root}_j^2"
    model.t = pyo.Var(model.features, domain=pyo.NonNegativeReals, doc=f"{equation} bound on {ratio}")
    root = model.w if p == 2 else _roots(model, p)
    doc = rf"{equation} {ratio} <= t_j \({latex} \le d_j t_j \quad \forall\, j\)"
    model.cone = pyo.Constraint(model.features, rule=lambda m, j: root[j] ** 2 <= m.d[j] * m.t[j], doc=doc)
    doc = r"(5) sum d = B at most \(\sum_j d_j \le \mathrm{budget}\)"
    model.shares = pyo.Constraint(expr=pyo.quicksum(model.d.values()) <= model.budget, doc=doc)
    if sigma:
        model.sigma = pyo.Var(model.features, domain=pyo.Binary, doc=SIGMA)
        doc = r"(23) d_j = 0 unless sigma_j = 1 \(d_j \le \sigma_j \quad \forall\, j\)"
        model.switch = pyo.Constraint(model.features, rule=lambda m, j: m.d[j] <= m.sigma[j], doc=doc)


def _roots(model: pyo.ConcreteModel, p: float) -> pyo.Var:
    """State root_j >= |w_j|^(p/2) by rows that are convex for p > 2; return root."""
    model.p = pyo.Param(initialize=p, doc="(4) power of |w_j|")
    model.size = pyo.Var(model.features, domain=pyo.NonNegativeReals, initialize=1.0, doc="(4) bound on |w_j|")
    model.root = pyo.Var(model.features, domain=pyo.NonNegativeReals, initialize=1.0, doc="(4) bound on |w_j|^(p/2)")
    doc = r"(4) w_j <= size_j \(w_j \le \mathrm{size}_j \quad \forall\, j\)"
    model.above = pyo.Constraint(model.features, rule=lambda m, j: m.w[j] <= m.size[j], doc=doc)
    doc = r"(4) -w_j <= size_j \(-w_j \le \mathrm{size}_j \quad \forall\, j\)"
    model.below = pyo.Constraint(model.features, rule=lambda m, j: -m.w[j] <= m.size[j], doc=doc)

    def power_row(m: pyo.ConcreteModel, j: str) -> Any:
        return m.size[j] ** (p / 2) <= m.root[j] if p > 2 else m.size[j] <= m.root[j] ** (2 / p)

    left, right = ("^{p/2}", "") if p > 2 else ("", "^{2/p}")
    doc = rf"(4) |w_j|^(p/2) <= root_j \(\mathrm{{size}}_j{left} \le \mathrm{{root}}_j{right} \quad \forall\, j\)"
    model.power = pyo.Constraint(model.features, rule=power_row, doc=doc)
    return model.root


def _attach_power_facts(model: pyo.ConcreteModel, repair: Any, **facts: Any) -> None:
    """Attach the facts of a model with p other than 2: points are repaired, and the bound is that of the solver."""
    certificate = Certificate([], None, repair, partial(at_zero, repair), zero_bound)
    default = "cutting-plane" if pyo.value(model.p) > 2 else "scip"
    Facts(certificate=certificate, default_solver=default, **facts).attach(model)


def _lazy(model: pyo.ConcreteModel, rows: Labellings, facts: dict[str, Any], *, sigma: bool) -> None:
    """State w, d, Omega and xi; the driver finds the rows."""
    if sigma:
        model.sigma = pyo.Var(model.features, domain=pyo.Binary, doc=SIGMA)
    model.w = pyo.Var(model.features, dense=sigma, doc="(5) weight of feature j; 0 where it does not exist")
    model.d = pyo.Var(
        model.features, dense=sigma, doc="(5) share of feature j in the budget; 0 where it does not exist"
    )
    model.omega = pyo.Var(domain=pyo.NonNegativeReals, doc="(3) Omega(w) = least 1/2 sum_j w_j^2 / d_j over D")
    model.xi = pyo.Var(domain=pyo.NonNegativeReals, doc="(5) slack: the risk R(w)")
    model.objective = pyo.Objective(expr=model.omega + model.C * model.xi, doc=rf"{RISK} \(\Omega(w) + C \xi\)")
    worst = partial(_worst, rows.loss, rows.y.astype(float))
    if sigma:
        facts["implicit"] = "an oracle for labellings, by sigma=True"
        facts["remedy"] = 'build it with form="extended" or "stated", and sigma=True'
        selection(model, RowPool(rows.X, worst, 1.0 / len(rows.y)), put_lazy, **facts).attach(model)
        return
    facts["implicit"] = 'an oracle for labellings, by form="lazy"'
    facts["remedy"] = 'build it with form="extended" or form="stated"'
    composite(model, rows.X, worst, load=partial(load_lazy, model, tuple(model.features)), **facts).attach(model)


def _worst(measure: Loss, y: FloatArray, scores: FloatArray) -> RiskRow:
    found = measure.most_violated(y, scores)
    return RiskRow(found.coefficients, found.delta)


def _stated(model: pyo.ConcreteModel, rows: Labellings, facts: dict[str, Any], *, sigma: bool) -> None:
    """State the conic program without its rows on labellings, which the driver separates."""
    _weights(model, sigma=sigma)
    model.xi = pyo.Var(domain=pyo.NonNegativeReals, doc="(5) slack: the risk")
    model.objective = pyo.Objective(
        expr=0.5 * pyo.quicksum(model.t.values()) + model.C * model.xi, doc=rf"{RISK} \(\tfrac12 \sum_j t_j + C \xi\)"
    )
    facts["switches"] = [(model.sigma[j], w) for j, w in model.w.items()] if sigma else []
    separable(model, rows, **facts).attach(model)


def _extended(
    model: pyo.ConcreteModel, rows: Labellings, program: Program, facts: dict[str, Any], *, sigma: bool, p: float
) -> None:
    """State the complete conic program, with the rows of ``extended``."""
    _weights(model, sigma=sigma, p=p)
    model.xi = pyo.Var(domain=pyo.NonNegativeReals, doc="(5) slack: the risk R(w)")
    model.omega = pyo.Expression(expr=0.5 * pyo.quicksum(model.t.values()), doc="(3) Omega(w)")
    model.objective = pyo.Objective(
        expr=model.omega + model.C * model.xi, doc=rf"{RISK} \(\tfrac12 \sum_j t_j + C \xi\)"
    )
    add_scores(model, rows.X)
    proving = program.state(model)
    if p != 2:
        _attach_power_facts(model, partial(repair_whole, rows, program), **facts)
        return
    facts |= {"change": change(model, rows, near=NEAR), "remedy": "solve it whole by name, such as clarabel or scip,"}
    worst = partial(_worst, rows.loss, rows.y.astype(float))
    if sigma:
        pool, others = RowPool(rows.X, worst, 1.0 / len(rows.y)), [partial(repair_whole, rows, program)]
        selection(model, pool, partial(put, rows, program), others=others, terms=[model.omega], **facts).attach(model)
        return
    facts |= {"load": partial(load, rows, program, model), "certificate": certificate(rows, program, proving)}
    composite(model, rows.X, worst, implicit="", **facts).attach(model)


def _resolution(X: Any, first: Worst) -> Any:
    """Return the rounding error of the risk; the largest coefficients of its rows are at w = 0, or 2 per sample."""
    n = len(first.coefficients)
    slope = max(2.0, float(np.abs(first.coefficients.astype(float)).sum()) / n)
    return partial(resolution, column_sizes(X), abs(first.delta) / n, slope)
