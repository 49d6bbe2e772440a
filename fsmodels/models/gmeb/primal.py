"""The convex primal of GMEB (15) in two forms, with binaries on demand; ``fsmodels.models.gmeb`` has the maths."""

from __future__ import annotations

from functools import partial
from typing import Any

import pyomo.environ as pyo

from fsmodels.checks import choice, choosing
from fsmodels.datasets.dataset import Dataset
from fsmodels.models.components import latex_of
from fsmodels.models.gmeb.build import (
    add_choice,
    add_classifier,
    bounds_on_moments,
    centred_model,
    leave_out,
    primal_change,
    proof_of,
    second_moments,
)
from fsmodels.models.gmeb.norm import separable
from fsmodels.models.gmeb.proof import of_primal, resolution
from fsmodels.models.gmeb.solution import by_weight, norm_violation
from fsmodels.models.proofs.certified import by_sigma
from fsmodels.models.proofs.equilibration import powers
from solvers.facts import Facts

__all__ = ["FORMS", "primal"]

FORMS = ["conic", "quotient"]
DEFAULT = {("conic", False): "clarabel", ("quotient", False): "pounce"}  # (form, sigma)
DEFAULT |= {("conic", True): "cutting-plane", ("quotient", True): "scip"}
FLOOR = 1e-7  # of (v+_j / R+ + v-_j / R-) s_j; NLP solvers relax bounds by 1e-8, and s_j < 0 makes room for any w


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
        How ``sum w_j**2 / s_j <= 1`` is written: as cones for conic solvers, or as it stands, with s_j kept above 0 by
        the rows ``floor``, for NLP solvers.
    sigma : bool
        Whether to add the binaries ``sigma`` (features), sigma_j = 0 forcing w_j = 0, for rows on what is selected.

    Returns
    -------
    pyo.ConcreteModel
        ``w``, ``s`` (features), ``offset``, ``b``, ``xi`` (samples), rows ``margin``. With ``sigma=True`` also
        ``sigma``, ``M`` and the rows ``only_selected`` and ``only_selected_below``, in the conic form ``cap_plus`` and
        ``cap_minus``; the default solver is then "cutting-plane", of quotients scip.

    Raises
    ------
    ParameterError
        R_plus or R_minus not above 0, or an unknown form.
    DataError
        If a class has no sample, no column varies, or the data are sparse.

    Warns
    -----
    DataWarning
        Columns that do not vary are left out.

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
    leave_out(columns, model.w, model.s)
    varying = columns.varying()
    if form == "conic":
        model.t = pyo.Var(model.features, domain=pyo.NonNegativeReals, doc="(15) bound on w_j^2 / s_j")
        leave_out(columns, model.t)

        def cone(m: pyo.ConcreteModel, j: str) -> Any:  # times v_j: all sides unitless, whatever the unit of the column
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
            doc="keeps s_j > 0, beyond the reach of a solver's tolerance "
            r"\((v^+_j / R_+ + v^-_j / R_-) s_j \ge 10^{-7} \quad \forall\, j\)",
        )
        total = pyo.quicksum(model.w[j] ** 2 / model.s[j] for j in varying)
    latex = r"\sum_j t_j" if form == "conic" else r"\sum_j w_j^2 / s_j"
    model.unit = pyo.Constraint(expr=total <= 1, doc=rf"(15) sum_j w_j^2 / s_j <= 1 \({latex} \le 1\)")
    second_moments(model, columns, model.s, "(15)", "s_j")
    if sigma:
        add_choice(model, columns, cones=form == "conic")
    model.objective = pyo.Objective(expr=model.loss, doc=rf"(15) sum of slacks \({latex_of(model.loss)}\)")
    proof = proof_of(columns)
    factor = powers(proof.sizes(R_plus, R_minus))
    facts = Facts(
        selected=by_sigma if sigma else partial(by_weight, columns.sizes),
        violation=norm_violation,
        resolution=partial(resolution, float(columns.s.sum())),
        certificate=of_primal(model, proof, FLOOR if form == "quotient" else 0.0, selects=sigma),
        change=primal_change(model, columns, factor, (R_plus, R_minus)),
        switches=[(model.sigma[j], model.w[j]) for j in varying] if sigma else [],
        default_solver=DEFAULT[form, sigma],
    )
    if form == "conic":
        facts = separable(model, facts, columns, proof.moments, factor)
    facts.seal(model)
    return model
