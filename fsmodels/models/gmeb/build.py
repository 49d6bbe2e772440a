r"""The convex primal of GMEB, and the parts that all its forms share: sets, moments, classifier, changes of units.

The convex primal (15) has two forms, with ``sigma`` also binaries and rows by which sigma_j = 0 implies w_j = 0.

Problem
    .. math::
        |w_j| \le M_j \sigma_j,\quad v^+_j s_j \le R_+ \sigma_j,\quad v^-_j s_j \le R_- \sigma_j,\quad
        \sigma_j \in \{0, 1\}
Why M_j is a bound
    All terms of the rows of (15) are at least 0. So ``w_j^2 / s_j <= 1``, which is ``w_j^2 <= s_j t_j`` with t_j <= 1,
    and ``v+_j s_j <= R+``, ``v-_j s_j <= R-``, the rows above at sigma_j = 1. Together ``w_j^2 <= s_j <= min(R+ / v+_j,
    R- / v-_j) = M_j^2``, of classes with v_j > 0; columns that do not vary have w_j = 0. It is attained, at s_j = w_j^2
    = M_j^2 with all other weights 0, so no smaller number is valid. It follows from the rows and not from the optimum,
    so it is valid with any further rows, and M is an expression of R+ and R-, which may change.
Form
    ``min(1 / a, 1 / b)`` is ``2 / (a + b + |a - b|)`` for a = v+_j / R+ and b = v-_j / R-, which the writers of solvers
    evaluate. The rows on s are for the conic form: a cone ``w_j^2 <= s_j t_j`` at s_j = 0 is a tighter relaxation
    than a big-M. The form of quotients keeps s_j > 0.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression

from fsmodels.checks import choice, choosing, positive
from fsmodels.datasets.checks import as_given
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import ParameterError
from fsmodels.models.components import add_rows, add_sets, by_weight, changeable, latex_of, slack_sum, weighted_sum
from fsmodels.models.gmeb.columns import Centred, centred
from fsmodels.models.gmeb.norm import Moments, separable
from fsmodels.models.gmeb.proof import MomentProof, of_primal, resolution
from fsmodels.models.gmeb.solution import norm_violation
from fsmodels.models.proofs.certified import by_sigma
from fsmodels.models.proofs.equilibration import powers
from fsmodels.weights import FloatArray
from solvers.facts import Change, Facts

FORMS = ["conic", "quotient"]
DEFAULT = {("conic", False): "clarabel", ("quotient", False): "pounce"}  # (form, sigma)
DEFAULT |= {("conic", True): "cutting-plane", ("quotient", True): "scip"}
FLOOR = 1e-7  # of (v+_j / R+ + v-_j / R-) s_j; NLP solvers relax bounds by 1e-8, and s_j < 0 would allow any w


def moment_proof(columns: Centred) -> MomentProof:
    """Return the proof of bounds and points for these columns."""
    return MomentProof(Moments(columns.v_plus, columns.v_minus), columns.X, columns.y, columns.s)


def centred_model(name: str, data: Dataset) -> tuple[pyo.ConcreteModel, Centred]:
    """Return a model with the index sets, means and second moments, and the centred columns."""
    data = as_given(data, weights=True)
    columns = centred(data)
    model = pyo.ConcreteModel(name=name)
    add_sets(model, data)
    moments = {
        "mean": (columns.mean, "mean of feature j, subtracted"),
        "v_plus": (columns.v_plus, "(8) mean square of centred feature j over class +1"),
        "v_minus": (columns.v_minus, "(8) mean square of centred feature j over class -1"),
    }
    for label, (values, doc) in moments.items():
        numbers = dict(zip(columns.features, values.tolist(), strict=True))
        model.add_component(label, pyo.Param(model.features, initialize=numbers, within=pyo.Reals, doc=doc))
    return model, columns


def positive_parameter(name: str, number: float, meaning: str, doc: str) -> pyo.Param:
    """Return a positive parameter that can be changed between solves."""
    return changeable(partial(positive, name, meaning=meaning), number, doc)


def bounds_on_moments(model: pyo.ConcreteModel, R_plus: float, R_minus: float) -> tuple[float, float]:
    """Add R+ and R-; return them as floats."""
    model.R_plus = positive_parameter("R_plus", R_plus, "R_plus bounds the second moments of class +1", "(11) R+")
    model.R_minus = positive_parameter("R_minus", R_minus, "R_minus bounds the second moments of class -1", "(11) R-")
    return float(pyo.value(model.R_plus)), float(pyo.value(model.R_minus))


def add_classifier(model: pyo.ConcreteModel, columns: Centred, number: str) -> None:
    """Add w, offset, b, xi, the margin rows and the loss."""
    model.w = pyo.Var(model.features, initialize=0.0, doc=f"{number} effective weight of feature j")
    model.offset = pyo.Var(initialize=0.0, doc=f"{number} offset for centred columns")
    shift = LinearExpression(
        linear_coefs=[1.0, *(-columns.mean).tolist()], linear_vars=[model.offset, *model.w.values()]
    )
    model.b = pyo.Expression(expr=shift, doc="offset for the data as given: class +1 where w.x + b > 0")
    model.xi = pyo.Var(model.samples, domain=pyo.NonNegativeReals, initialize=1.0, doc=f"{number} slack of sample i")
    varying, slacks = set(columns.varying()), list(model.xi.values())
    weights = [model.w[j] for j in columns.features if j in varying]
    matrix = (columns.y[:, None] * columns.X)[:, [j in varying for j in columns.features]]
    doc = rf"{number} margin of sample i \(y_i (w^\top x_i + \mathrm{{offset}}) \ge 1 - \xi_i \quad \forall\, i\)"
    terms = [(matrix, weights), (columns.y, model.offset), (1.0, slacks)]
    add_rows(model, "margin", model.samples, terms, doc, at_least=1.0)
    model.loss = pyo.Expression(expr=weighted_sum(columns.s, slacks), doc=rf"{number} e'xi \({slack_sum(columns.s)}\)")


def add_scaled_classifier(model: pyo.ConcreteModel, columns: Centred, s: float, number: str) -> None:
    """Add the classifier whose weights are products; it starts along the difference of the class means."""
    add_classifier(model, columns, number)
    plus, minus = (
        np.average(columns.X[rows], axis=0, weights=columns.s[rows]) for rows in (columns.y > 0, columns.y < 0)
    )
    difference = plus - minus
    spread = np.sqrt(columns.v_plus + columns.v_minus)
    direction = np.divide(difference, spread, out=np.ones_like(difference), where=spread > 0)
    direction = direction / max(float(np.linalg.norm(direction)), 1e-10)
    start = dict(zip(columns.features, direction.tolist(), strict=True))
    model.u = pyo.Var(model.features, bounds=(-1.0, 1.0), initialize=start, doc=f"{number} w_j")
    model.sigma = pyo.Var(
        model.features, domain=pyo.NonNegativeReals, initialize=float(np.sqrt(s)), doc=f"{number} scale of feature j"
    )
    for j in columns.features:
        model.w[j].set_value(start[j] * np.sqrt(s))
    fix_constant(columns, model.w, model.u, model.sigma)
    varying = columns.varying()
    doc = r"(14) effective weight \(w_j = \sigma_j u_j \quad \forall\, j\)"
    model.effective = pyo.Constraint(varying, rule=lambda m, j: m.w[j] == m.u[j] * m.sigma[j], doc=doc)
    doc = rf"{number} w'w <= 1 \(\sum_j u_j^2 \le 1\)"
    model.unit = pyo.Constraint(expr=pyo.quicksum(model.u[j] ** 2 for j in varying) <= 1, doc=doc)


def second_moments(model: pyo.ConcreteModel, columns: Centred, s: Any, number: str, latex: str) -> None:
    """Add the rows that bound the second moments by R+ and R-; ``latex`` is the text for s_j."""
    moment_rows(model, columns, s, model.R_plus, model.R_minus, number, latex + r" \le R_{}")


def moment_rows(
    model: pyo.ConcreteModel, columns: Centred, s: Any, plus: Any, minus: Any, number: str, latex: str
) -> None:
    """Add sum_j v+_j s_j <= plus and sum_j v-_j s_j <= minus; ``latex`` is the text for s_j <= plus, {} the sign."""
    varying = columns.varying()
    for label, v, bound in (("plus", model.v_plus, plus), ("minus", model.v_minus, minus)):
        held = [(pyo.value(v[j]), s[j]) for j in varying if pyo.value(v[j]) > 0]
        row: Any = pyo.Constraint.Feasible  # a class whose samples all lie on the mean
        if held:
            row = pyo.quicksum(c * x for c, x in held) <= bound
        sign = "+" if label == "plus" else "-"
        doc = rf"{number} second moments of class {sign}1 \(\sum_j v^{sign}_j {latex.format(sign)}\)"
        model.add_component(f"second_{label}", pyo.Constraint(expr=row, doc=doc))


def fix_constant(columns: Centred, *variables: Any) -> None:
    """Fix the variables of columns that do not vary at 0."""
    for j in set(columns.features) - set(columns.varying()):
        for part in variables:
            part[j].fix(0.0)


def primal_change(
    model: pyo.ConcreteModel, columns: Centred, factor: FloatArray, R: tuple[float, float]
) -> Change | None:
    """Return the change w = f w', s = f^2 s' and rows of one size; None if they already are."""
    sides = powers(np.array(R))
    if np.all(factor == 1.0) and np.all(sides == 1.0):
        return None
    factors = [(model.w[j], f) for j, f in zip(columns.features, factor.tolist(), strict=True)]
    factors += [(model.s[j], f * f) for j, f in zip(columns.features, factor.tolist(), strict=True)]
    rows = [(row, side) for row, side in zip((model.second_plus, model.second_minus), sides.tolist(), strict=True)]
    if model.component("cone") is not None:
        sizes = powers((columns.v_plus + columns.v_minus) * factor**2)
        rows += [(model.cone[j], f) for j, f in zip(columns.features, sizes.tolist(), strict=True) if j in model.cone]
    if model.component("M") is not None:
        inverse = dict(zip(columns.features, (1.0 / factor).tolist(), strict=True))
        rows += [
            (row, inverse[j]) for part in (model.only_selected, model.only_selected_below) for j, row in part.items()
        ]
    if model.component("cap_plus") is not None:
        for part, side in zip((model.cap_plus, model.cap_minus), sides.tolist(), strict=True):
            rows += [(row, side) for row in part.values()]
    return Change(factors, rows=rows)


def nonconvex_change(
    model: pyo.ConcreteModel, columns: Centred, factor: FloatArray, R: tuple[float, float]
) -> Change | None:
    """Return the change w = f w', sigma = f sigma' and rows of one size; None if they already are.

    The rows ``effective`` become w' = u sigma', and those on second moments sum_j v_j f_j^2 sigma'_j^2 / R <= 1.
    """
    sides = powers(np.array(R))
    if np.all(factor == 1.0) and np.all(sides == 1.0):
        return None
    by_feature = dict(zip(columns.features, factor.tolist(), strict=True))
    factors = [(part[j], f) for part in (model.w, model.sigma) for j, f in by_feature.items()]
    rows = [(row, 1.0 / by_feature[j]) for j, row in model.effective.items()]
    rows += list(zip((model.second_plus, model.second_minus), sides.tolist(), strict=True))
    return Change(factors, rows=rows)


def root_size(R_plus: float, R_minus: float) -> float:
    """Return a power of two near sqrt(R), 1 / R = 1 / R+ + 1 / R-; 1 if that is within a factor of 8 of 1."""
    return 1.0 / float(powers(np.array([1.0 / R_plus + 1.0 / R_minus]) ** -0.5)[0])


def dual_change(model: pyo.ConcreteModel, columns: Centred, R_plus: float, R_minus: float) -> Change | None:
    """Return the change to multipliers and rows of one size; None if they already are.

    k of ``gmeb.proof`` is at most of the order of n sqrt(R), mu_1 and R+ mu_+ of k, and r_j of k / R.
    """
    g = root_size(R_plus, R_minus)
    of_plus, of_minus = (1.0 / powers(g / np.array([R_plus, R_minus]))).tolist()
    size = powers(np.sqrt(columns.v_plus + columns.v_minus))
    if g == of_plus == of_minus == 1.0 and np.all(size == 1.0):
        return None
    factors = [(model.mu_1, g), (model.mu_plus, of_plus), (model.mu_minus, of_minus)]
    factors += [(r, 1.0 / g) for r in model.r.values()]
    rows = []
    for j, f in zip(columns.features, size.tolist(), strict=True):
        if j in model.weight:
            rows += [(model.weight[j], f), (model.moment[j], f * f * g)]
    return Change(factors, rows=rows)


def add_choice(model: pyo.ConcreteModel, columns: Centred, *, cones: bool) -> None:
    """Add sigma, M and the rows that link them to w, and with ``cones`` to s."""
    varying = columns.varying()
    model.sigma = pyo.Var(model.features, domain=pyo.Binary, initialize=1, doc="1 if feature j may have a weight")

    def most(m: pyo.ConcreteModel, j: str) -> Any:
        a, b = pyo.value(m.v_plus[j]) / m.R_plus, pyo.value(m.v_minus[j]) / m.R_minus
        return (2.0 / (a + b + ((a - b) ** 2) ** 0.5)) ** 0.5  # Pyomo's interface to SCIP does not support abs

    M = {j: most(model, j) for j in varying}
    model.M = pyo.Expression(varying, rule=lambda m, j: M[j], doc="(15) |w_j| <= M_j; 1/unit of feature j")
    doc = r"w_j = 0 unless sigma_j = 1 \(w_j \le M_j \sigma_j \quad \forall\, j\)"
    model.only_selected = pyo.Constraint(varying, rule=lambda m, j: m.w[j] - M[j] * m.sigma[j] <= 0, doc=doc)
    doc = r"w_j = 0 unless sigma_j = 1 \(-M_j \sigma_j \le w_j \quad \forall\, j\)"
    model.only_selected_below = pyo.Constraint(varying, rule=lambda m, j: m.w[j] + M[j] * m.sigma[j] >= 0, doc=doc)
    if not cones:
        return

    def cap(label: str) -> pyo.Constraint:
        v, R = getattr(model, f"v_{label}"), getattr(model, f"R_{label}")

        def row(m: pyo.ConcreteModel, j: str) -> Any:
            return pyo.value(v[j]) * m.s[j] - R * m.sigma[j] <= 0

        sign = "+" if label == "plus" else "-"
        doc = rf"s_j = 0 unless sigma_j = 1 \(v^{sign}_j s_j \le R_{sign} \sigma_j \quad \forall\, j\)"
        return pyo.Constraint([j for j in varying if pyo.value(v[j]) > 0], rule=row, doc=doc)

    model.cap_plus, model.cap_minus = cap("plus"), cap("minus")


def refuse_binaries(form: str, sigma: bool, why: str) -> None:
    """Raise an error if ``sigma=True`` is given for a form without binaries."""
    if choosing(sigma):
        raise ParameterError(
            f"Rows on the selection (sigma=True) are not allowed by gmeb.{form}: {why}. State them on the model "
            '"gmeb", which is gmeb.primal(data, R_plus=, R_minus=, sigma=True); without rows its optimum is the same.'
        )


def primal(
    data: Dataset, *, R_plus: float, R_minus: float, form: str = "conic", sigma: bool = False
) -> pyo.ConcreteModel:
    """Build the convex primal (15) of Theorem 15.

    Parameters
    ----------
    data : Dataset of shape (n, d)
        Dense; the builder centres the columns.
    R_plus, R_minus : float
        Bounds on the second moments of the scaled columns over class +1 and -1, above 0, unitless; ``model.R_plus``
        and ``model.R_minus`` can be changed between solves.
    form : {"conic", "quotient"}
        Form of ``sum w_j**2 / s_j <= 1``: cones for conic solvers, or the sum itself, with s_j > 0 by the rows
        ``floor``, for NLP solvers.
    sigma : bool
        Add the binaries ``sigma`` (features), where sigma_j = 0 implies w_j = 0, for rows on the selection.

    Returns
    -------
    pyo.ConcreteModel
        ``w``, ``s`` (features), ``offset``, ``b``, ``xi`` (samples), rows ``margin``. With ``sigma=True`` also
        ``sigma``, ``M`` and the rows ``only_selected`` and ``only_selected_below``, in the conic form ``cap_plus`` and
        ``cap_minus``; the default solver is then "cutting-plane", for quotients scip.

    Raises
    ------
    ParameterError
        R_plus or R_minus not above 0, or an unknown form.
    DataError
        If a class has no sample, no column varies, or the data are sparse.

    Warns
    -----
    DataWarning
        Columns that do not vary are excluded.

    Examples
    --------
    >>> import fsmodels as fs
    >>> model = fs.gmeb.primal(fs.load_dataset("bupa").scaled("standard"), R_plus=2.0, R_minus=2.0)
    >>> fs.solve(model).status.value
    'optimal'
    """
    choice("form", form, FORMS)
    sigma = choosing(sigma)
    model, columns = centred_model("GMEB primal", data)
    R_plus, R_minus = bounds_on_moments(model, R_plus, R_minus)
    model.s = pyo.Var(
        model.features, domain=pyo.NonNegativeReals, initialize=columns.even(R_plus, R_minus), doc="(15) sigma_j^2"
    )
    add_classifier(model, columns, "(15)")
    fix_constant(columns, model.w, model.s)
    varying = columns.varying()
    if form == "conic":
        model.t = pyo.Var(model.features, domain=pyo.NonNegativeReals, doc="(15) bound on w_j^2 / s_j")
        fix_constant(columns, model.t)

        def cone(m: pyo.ConcreteModel, j: str) -> Any:  # times v_j: both sides have no unit
            v = pyo.value(m.v_plus[j]) + pyo.value(m.v_minus[j])
            return v * m.w[j] ** 2 <= v * m.s[j] * m.t[j]

        doc = r"(15) w_j^2 / s_j <= t_j \(w_j^2 \le s_j t_j \quad \forall\, j\)"
        model.cone = pyo.Constraint(varying, rule=cone, doc=doc)
        total = pyo.quicksum(model.t[j] for j in varying)
    else:
        model.floor = pyo.Constraint(
            varying,
            rule=lambda m, j: (
                (pyo.value(m.v_plus[j]) / m.R_plus + pyo.value(m.v_minus[j]) / m.R_minus) * m.s[j] >= FLOOR
            ),
            doc="keeps s_j > 0 in spite of a solver's tolerance "
            r"\((v^+_j / R_+ + v^-_j / R_-) s_j \ge 10^{-7} \quad \forall\, j\)",
        )
        total = pyo.quicksum(model.w[j] ** 2 / model.s[j] for j in varying)
    latex = r"\sum_j t_j" if form == "conic" else r"\sum_j w_j^2 / s_j"
    model.unit = pyo.Constraint(expr=total <= 1, doc=rf"(15) sum_j w_j^2 / s_j <= 1 \({latex} \le 1\)")
    second_moments(model, columns, model.s, "(15)", "s_j")
    if sigma:
        add_choice(model, columns, cones=form == "conic")
    model.objective = pyo.Objective(expr=model.loss, doc=rf"(15) sum of slacks \({latex_of(model.loss)}\)")
    proof = moment_proof(columns)
    factor = powers(proof.sizes(R_plus, R_minus))
    facts: dict[str, Any] = {
        "selected": by_sigma if sigma else partial(by_weight, columns.sizes),
        "violation": norm_violation,
        "resolution": partial(resolution, float(columns.s.sum())),
        "certificate": of_primal(model, proof, FLOOR if form == "quotient" else 0.0, selects=sigma),
        "change": primal_change(model, columns, factor, (R_plus, R_minus)),
        "switches": [(model.sigma[j], model.w[j]) for j in varying] if sigma else [],
        "default_solver": DEFAULT[form, sigma],
    }
    (separable(model, columns, proof.moments, factor, **facts) if form == "conic" else Facts(**facts)).attach(model)
    return model
