r"""The kernel family as algebra, for some 60 samples of 20 features and any NLP solver; ``kernel`` has the formulas.

    .. math::
        \min\ & \tfrac{1}{2 \lambda^2} \sum_{ij} y_i y_j u_i u_j K_{ij} + C \sum_i (\xi_i + \tfrac{t_i^2}{4 \epsilon})
                + \mu \sum_k z_k                                                                        && (10) \\
        \text{s.t.}\ & y_i (\textstyle\sum_j y_j u_j K_{ij} + b) \ge \lambda (1 - \xi_i - t_i),\ \xi, t \ge 0 && (10) \\
                     & q_k = z_k^2,\quad K_{ij} = \kappa(\textstyle\sum_k q_k d_k(x_i, x_j))              && (13)

The exponents are linear in q. The least ``xi + t^2 / (4 eps)`` with xi + t >= 1 - m is the smoothed hinge (8): t is
min(1 - m, 2 eps), since its slope t / (2 eps) reaches that of xi at 2 eps, and xi is the rest; without t, the hinge.

The blocks for the driver "alternating" share the slacks: each block sets them again. (11) does not change under
(u, b, lambda) -> t (u, b, lambda), so the step lambda <- 1 of Algorithm 2 before the SVM is left out. In
Algorithm 3, where it matters, the SVM has its own rows at lambda = 1, and (12) another set with ``explicit_margin``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike
from pyomo.core.expr.numeric_expr import LinearExpression

from fsmodels.checks import number, number_array
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import ParameterError
from fsmodels.models.components import latex_of, slack_sum, weighted_sum
from fsmodels.models.kernel.build import base_model, free_margin, weights
from fsmodels.models.kernel.kernels import as_kernel
from fsmodels.models.kernel.problem import MARGIN, Problem
from fsmodels.models.proofs.certified import zero_bound
from solvers.facts import Block, Blocks, Certificate, Facts

DECISION = r"y_i (\sum_j y_j u_j K_{ij} + b)"
OBJECTIVE = "(10) margin, losses and price of the weights"
Settled = Callable[[np.ndarray, np.ndarray], bool]  # (weights before a sweep, after it) -> True after the last sweep


def svm(data: Dataset, z: ArrayLike | Mapping[str, float], *, C: float, **shared: Any) -> pyo.ConcreteModel:
    """Build (SVM): the primal kernel SVM (2) for fixed weights, a convex QP, with its hinge smoothed (8).

    ``data`` are dense; ``z``, at least 0: array of shape (d,), mapping feature -> weight, or one number. ``C``, ``eps``
    (0 is the hinge), ``kernel``, ``degree``, ``offset`` and errors as for ``full_fs``.

    Returns
    -------
    pyo.ConcreteModel
        ``u`` (samples), ``b``, slacks ``xi``, ``t`` (samples), rows ``margins``; ``z`` is fixed.

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("bupa").scaled("standard").take(range(40))
    >>> fs.solve(fs.kernel.svm(data, 0.5, C=1.0)).status.value
    'optimal'
    """
    model = _base("SVM", data, C=C, penalty=1.0, hinge=True, **shared)
    fixed = weights(data, z, "z")
    for v, value in zip(model.z.values(), fixed.tolist(), strict=True):
        v.fix(value)
    model.penalty.set_value(1.0)
    _state(model, numbers=model.kernel_problem.objective.matrix(fixed))
    model.objective.set_value(model.norm + model.C * model.loss)
    model.objective.doc = rf"(2) margin and losses \({latex_of(model.norm)} + C {latex_of(model.loss)}\)"
    Facts().attach(model)
    return model


def fs(data: Dataset, *, u: ArrayLike, b: float, C: float, penalty: float, **shared: Any) -> pyo.ConcreteModel:
    """Build (FS), step 5 of Algorithm 1: the weights for a fixed classifier; a nonconvex NLP.

    ``u`` is an array of shape (n,), ``b`` a float; all other parameters as for ``full_fs``. Raises ParameterError if
    the number of coefficients is not that of the samples.

    Returns
    -------
    pyo.ConcreteModel
        ``z``, ``q`` (features), slacks ``xi``, ``t`` (samples); ``u`` and ``b`` are fixed.

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("bupa").scaled("standard").take(range(12))
    >>> model = fs.kernel.fs(data, u=[0.5] * 12, b=0.0, C=1.0, penalty=1.0)
    >>> fs.solve(model).status.value
    'stationary'
    """
    return _selection(_base("FS", data, C=C, penalty=penalty, **shared), u, b)


def xfs(data: Dataset, *, u: ArrayLike, b: float, C: float, penalty: float, **shared: Any) -> pyo.ConcreteModel:
    """Build (XFS) (11), step 6 of Algorithm 2: weights and functional margin for a fixed classifier.

    As ``fs``; ``margin`` is lambda, from 1.

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("bupa").scaled("standard").take(range(12))
    >>> model = fs.kernel.xfs(data, u=[0.5] * 12, b=0.0, C=1.0, penalty=1.0)
    >>> fs.solve(model).status.value
    'stationary'
    """
    return _selection(_base("XFS", data, C=C, penalty=penalty, **shared), u, b, sharing=True)


def efs(data: Dataset, *, u: ArrayLike, b: float, C: float, penalty: float, **shared: Any) -> pyo.ConcreteModel:
    """Build (EFS) (12), step 6 of Algorithm 3: weights and explicit margin for a fixed classifier.

    As ``fs``; ``margin`` is lambda, from the geometric margin.

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("bupa").scaled("standard").take(range(12))
    >>> model = fs.kernel.efs(data, u=[0.5] * 12, b=0.0, C=1.0, penalty=1.0)
    >>> fs.solve(model).status.value
    'stationary'
    """
    return _selection(_base("EFS", data, C=C, penalty=penalty, **shared), u, b, sharing=True, explicit=True)


def _base(
    name: str, data: Dataset, *, kernel: Any = "rbf", degree: int = 2, offset: float = 1.0, **shared: Any
) -> pyo.ConcreteModel:
    """Return the model of the family for the parameters of ``full_fs``."""
    return base_model(name, data, kernel=as_kernel(kernel, degree, offset), **shared)


def _selection(
    model: pyo.ConcreteModel, u: ArrayLike, b: float, *, sharing: bool = False, explicit: bool = False
) -> pyo.ConcreteModel:
    """State the weights of the features for a fixed classifier."""
    problem: Problem = model.kernel_problem
    coefficients, b = number_array("u", u), number(b)
    if coefficients.shape != (problem.n,) or not np.isfinite([*coefficients.flat, b]).all():
        which = "" if problem.data.sample_weight is None else " of a weight above 0"
        raise ParameterError(f"u and b must be finite, u one number for each of the {problem.n} samples{which}.")
    for v, value in zip(model.u.values(), coefficients.tolist(), strict=True):
        v.fix(value)
    model.b.fix(b)
    if sharing:
        free_margin(model)
    _state(model)
    if explicit:
        start = np.concatenate([coefficients, [b], [v.value for v in model.z.values()], [1.0]])
        model.margin.set_value(float(np.clip(1.0 / np.sqrt(max(problem.objective.norm(start), 1e-300)), *MARGIN)))
        model.objective.set_value(1.0 / (2.0 * model.margin**2) + model.C * model.loss + model.penalty * model.size)
        latex = r"\frac{1}{2 \, \mathrm{margin}^2} + C " + latex_of(model.loss)
        model.objective.doc = rf"{OBJECTIVE} \({latex} + \mu \sum_j z_j\)"
    return _attach_facts(model)


def joint(model: pyo.ConcreteModel) -> pyo.ConcreteModel:
    """State (7) in all variables, for NLP solvers."""
    _state(model)
    return _attach_facts(model)


def _attach_facts(model: pyo.ConcreteModel) -> pyo.ConcreteModel:
    """Attach the facts of a model that an NLP solver takes as a whole; return the model."""
    certificate = Certificate([], None, None, _trivial, zero_bound)
    Facts(selected=model.kernel_problem.selected, default_solver="pounce", certificate=certificate).attach(model)
    return model


def _trivial(model: pyo.ConcreteModel) -> None:
    """Set u = 0, the best offset unless it is fixed, z as it is, and the slacks."""
    for v in model.u.values():
        if not v.fixed:
            v.set_value(0.0)
    if not model.b.fixed:
        model.b.set_value(model.kernel_problem.offset)
    for j, v in model.z.items():
        v.set_value(max(0.0, v.value or 0.0), skip_validation=True)
        model.q[j].set_value(v.value**2)
    if model.margin.value is None:
        model.margin.set_value(1.0)
    _put_slacks(model, model.margin.value, _slacks(model))


def alternating(
    model: pyo.ConcreteModel, algorithm: int, settled: Settled | None = None, sweeps: int | None = None
) -> pyo.ConcreteModel:
    """State the blocks of Algorithm 1, 2 or 3, started at the model's weights; ``settled`` compares weights."""
    if algorithm == 2:
        free_margin(model)
    _state(model)
    slacks = _slacks(model)
    weight_block = [model.z, model.q]
    if algorithm == 2:
        weight_block.append(model.margin)
    explicit = None
    if algorithm == 3:
        explicit = _explicit(model)
        slacks += [model.explicit_xi, model.explicit_t]
        weight_block.append(model.explicit_margin)
    blocks = [
        Block([model.u, model.b, *slacks], name="svm"),
        Block(
            [*weight_block, *slacks],
            objective=explicit,
            begin=_geometric_margin if algorithm == 3 else None,
            name=["fs", "xfs", "efs"][algorithm - 1],
        ),
    ]
    if algorithm == 3:  # the objective is Omega with the SVM solved again
        blocks.append(Block([model.u, model.b, *slacks], name="svm again"))
    Blocks(
        blocks,
        selected=model.kernel_problem.selected,
        warm=True,
        watched=[model.z],
        settled=settled,
        sweeps=sweeps,
        keeps_last=algorithm == 3,
    ).attach(model)
    return model


def _geometric_margin(model: pyo.ConcreteModel) -> None:
    """Start (12) at lambda = 1 / sqrt(u'Ku), with its slacks."""
    margin = float(np.clip(1.0 / np.sqrt(max(2.0 * pyo.value(model.norm), 1e-300)), *MARGIN))
    model.explicit_margin.set_value(margin)
    _put_slacks(model, margin, [model.explicit_xi, model.explicit_t])


def _put_slacks(model: pyo.ConcreteModel, margin: float, slacks: list[Any]) -> None:
    """Set the slacks xi, and t if there is one, to the values of least cost."""
    width = 2.0 * pyo.value(model.eps)
    for i, label in zip(model.samples, model.kernel_problem.y.tolist(), strict=True):
        miss = max(0.0, 1.0 - label * pyo.value(model.decision[i]) / margin)
        slacks[0][i].set_value(max(0.0, miss - width))
        for t in slacks[1:]:
            t[i].set_value(min(miss, width))


def _slacks(model: pyo.ConcreteModel) -> list[Any]:
    return [model.xi, model.t] if pyo.value(model.eps) > 0 else [model.xi]


def _state(model: pyo.ConcreteModel, numbers: Any = None) -> None:
    """Add kernel, margins and objective; ``numbers`` is the kernel matrix if all weights are fixed."""
    problem: Problem = model.kernel_problem
    _add_kernel(model, numbers)
    smoothed, fixed_margin = pyo.value(model.eps) > 0, model.margin.fixed
    slacks = _add_slacks(model, "", "(10)", smoothed)
    latex, least = slack_sum(problem.s), r"1 - \xi_i"
    if smoothed:
        least += " - t_i"
        latex += " + " + slack_sum(problem.s, squared=True).replace(r"\xi", "t") + rf" / {4 * pyo.value(model.eps):g}"
        latex = rf"\left({latex}\right)"
    model.loss = pyo.Expression(expr=_loss(model, slacks), doc=rf"(8) sum of losses \({latex}\)")
    model.size = pyo.Expression(expr=pyo.quicksum(model.z.values()), doc="(7) ||z||_1")
    least = least if fixed_margin else rf"\mathrm{{margin}} ({least})"
    doc = rf"(10) margin of sample i \({DECISION} \ge {least} \quad \forall\, i\)"
    model.margins = _margin_rows(model, slacks, 1.0 if fixed_margin else model.margin, doc)
    norm = model.norm if fixed_margin else model.norm / model.margin**2
    latex = latex_of(model.norm) + ("" if fixed_margin else r" / \mathrm{margin}^2")
    doc = rf"{OBJECTIVE} \({latex} + C {latex_of(model.loss)} + \mu \sum_j z_j\)"
    model.objective = pyo.Objective(expr=norm + model.C * model.loss + model.penalty * model.size, doc=doc)


def _add_kernel(model: pyo.ConcreteModel, numbers: Any) -> None:
    """Add the kernel, from ``numbers`` or from the squared weights, the decision values and the norm."""
    problem: Problem = model.kernel_problem
    n, kernel = problem.n, problem.kernel
    if numbers is None:
        _squares(model)
        q, X = list(model.q.values()), problem.X.tolist()

        def entry(m: pyo.ConcreteModel, i: int, j: int) -> Any:
            terms = [kernel.term(x, other) for x, other in zip(X[i], X[j], strict=True)]
            return kernel.expression(LinearExpression(linear_coefs=terms, linear_vars=q))

        free_diagonal = not kernel.shift_invariant
        pairs = [(i, j) for i in range(n) for j in range(i + (not free_diagonal), n)]
        model.pairs = pyo.Set(initialize=pairs, dimen=2, doc="pairs of samples, the first no later than the second")
        model.K = pyo.Expression(model.pairs, rule=entry, doc="(13) kernel entry")
    else:
        entries = {(i, j): float(numbers[i, j]) for i in range(n) for j in range(n)}
        model.K = pyo.Param(range(n), range(n), initialize=entries, doc="(2) kernel entry")

    def entry_of(i: int, j: int) -> Any:
        pair = (min(i, j), max(i, j))
        return model.K[pair] if pair in model.K else 1.0  # noqa: SIM401

    a = [sign * u for sign, u in zip(problem.y.tolist(), model.u.values(), strict=True)]
    position = {i: k for k, i in enumerate(model.samples)}
    model.decision = pyo.Expression(
        model.samples,
        rule=lambda m, i: pyo.quicksum(a[j] * entry_of(position[i], j) for j in range(n)) + m.b,
        doc="(2) decision value of sample i",
    )
    model.norm = pyo.Expression(
        expr=0.5 * pyo.quicksum(a[i] ** 2 * entry_of(i, i) for i in range(n))
        + pyo.quicksum(a[i] * a[j] * entry_of(i, j) for i in range(n) for j in range(i + 1, n)),
        doc=r"(2) half the squared norm \(\tfrac12 \sum_{ij} y_i y_j u_i u_j K_{ij}\)",
    )


def _add_slacks(model: pyo.ConcreteModel, prefix: str, number: str, smoothed: bool) -> list[Any]:
    """Add the slacks xi, and t for the smoothed hinge; return them."""
    docs = {"xi": f"{number} slack of sample i", "t": "(8) slack at a rising price"}
    for name, start in (("xi", 1.0), ("t", 0.0))[: 1 + smoothed]:
        slack = pyo.Var(model.samples, domain=pyo.NonNegativeReals, initialize=start, doc=docs[name])
        model.add_component(prefix + name, slack)
    return [model.component(prefix + name) for name in ("xi", "t")[: 1 + smoothed]]


def _margin_rows(model: pyo.ConcreteModel, slacks: list[Any], margin: Any, doc: str) -> pyo.Constraint:
    """Return the rows ``y_i f_i >= margin (1 - slacks)``."""
    label = dict(zip(model.samples, model.kernel_problem.y.tolist(), strict=True))

    def row(m: pyo.ConcreteModel, i: int) -> Any:
        return label[i] * m.decision[i] >= margin * (1.0 - pyo.quicksum(part[i] for part in slacks))

    return pyo.Constraint(model.samples, rule=row, doc=doc)


def _squares(model: pyo.ConcreteModel) -> None:
    model.q = pyo.Var(
        model.features,
        domain=pyo.NonNegativeReals,
        initialize={j: v.value**2 for j, v in model.z.items()},
        doc="(13) squared weight",
    )
    doc = r"(13) q_k = z_k^2 \(q_k = z_k^2 \quad \forall\, k,\quad K_{ij} = \kappa(\sum_k q_k d_k(x_i, x_j))\)"
    model.square = pyo.Constraint(model.features, rule=lambda m, j: m.q[j] == m.z[j] ** 2, doc=doc)


def _explicit(model: pyo.ConcreteModel) -> Any:
    """Add lambda and its rows for Algorithm 3; return (12)."""
    model.explicit_margin = pyo.Var(bounds=MARGIN, initialize=1.0, doc="(12) lambda")
    slacks = _add_slacks(model, "explicit_", "(12)", smoothed=True)
    doc = rf"(12) margin of sample i \({DECISION} \ge \mathrm{{explicit\_margin}} "
    doc += r"(1 - \mathrm{explicit\_xi}_i - \mathrm{explicit\_t}_i) \quad \forall\, i\)"
    model.explicit_margins = _margin_rows(model, slacks, model.explicit_margin, doc)
    loss = _loss(model, slacks)
    return 1.0 / (2.0 * model.explicit_margin**2) + model.C * loss + model.penalty * model.size


def _loss(model: pyo.ConcreteModel, slacks: list[Any]) -> Any:
    s = model.kernel_problem.s
    total = weighted_sum(s, list(slacks[0].values()))
    if len(slacks) == 1:
        return total
    return total + weighted_sum(s, list(slacks[1].values()), squared=True) / (4.0 * pyo.value(model.eps))
