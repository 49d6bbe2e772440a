"""Shared parts of the kernel models: checked parameters, variables, start, and the oracle form."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike

from fsmodels.checks import choice, choosing, number_array, positive
from fsmodels.datasets.checks import as_given, require_both_classes
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import ParameterError
from fsmodels.models.components import add_sets, by_ordered_sets, changeable
from fsmodels.models.kernel.kernels import FloatArray, Kernel
from fsmodels.models.kernel.problem import MARGIN, Problem
from fsmodels.text import check_known_features
from solvers.facts import OracleBlock, OracleBlocks

STARTS = ["default", "ones"]
MU_MEANING = "mu is the price of a unit of feature weight"


def base_model(
    name: str,
    data: Dataset,
    *,
    C: float,
    penalty: float,
    kernel: Kernel,
    eps: float = 0.5,
    start: Any = "default",
    hinge: bool = False,
) -> pyo.ConcreteModel:
    """Return a model with the sets, parameters and variables of the family and ``kernel_problem``, without objective.

    ``hinge`` permits eps = 0.
    """
    data = as_given(data, weights=True).require_dense("kernel")
    require_both_classes(data)
    if not (hinge and isinstance(eps, int | float) and not isinstance(eps, bool) and eps == 0):
        eps = positive("eps", eps, "eps smooths the hinge over [1 - 2 eps, 1]")
    z = start_weights(data, start)
    model = pyo.ConcreteModel(name=name)
    add_sets(model, data)
    model.C = changeable(partial(positive, "C", meaning="C weighs the sum of losses"), C, "(7) weight of the losses")
    price = partial(positive, "penalty", meaning=MU_MEANING)
    model.penalty = changeable(price, penalty, "(7) mu, price of the weights")
    model.eps = pyo.Param(initialize=float(eps), doc="(8) half the width of the smooth part of the hinge")
    model.u = pyo.Var(model.samples, initialize=0.0, doc="(2) coefficient of sample i, without its label's sign")
    model.b = pyo.Var(initialize=0.0, doc="(2) offset")
    model.z = pyo.Var(
        model.features,
        domain=pyo.NonNegativeReals,
        initialize=dict(zip(data.features, z.tolist(), strict=True)),
        doc="(4) weight of feature k, 1/unit of the feature",
    )
    model.margin = pyo.Var(initialize=1.0, doc="(10) lambda, functional margin")
    model.margin.fix(1.0)
    model.kernel_problem = Problem(model, data, kernel, float(eps))
    return model


def by_sigma(model: pyo.ConcreteModel) -> list[str]:
    """Return the features whose sigma is 1."""
    return [j for j in model.features if pyo.value(model.sigma[j]) > 0.5]


def check_form(form: str, forms: list[str], sigma: bool) -> None:
    """Raise an error for an unknown form, or for binaries in the algebraic form, which is for NLP solvers."""
    if choice("form", form, forms) == "algebra" and choosing(sigma):
        raise ParameterError(
            f'sigma=True is not for form="{form}", whose rows are for NLP solvers: use form="oracle", which searches '
            "over selections."
        )


def free_margin(model: pyo.ConcreteModel) -> None:
    """Unfix lambda."""
    model.margin.unfix()
    model.margin.setlb(MARGIN[0])
    model.margin.setub(MARGIN[1])


def start_weights(data: Dataset, start: Any) -> FloatArray:
    """Return the weights at the start, shape (d,), from a name, one number for all, or one number per feature.

    Raises ParameterError: weights that are negative, not finite or all 0, or a wrong number of weights.

    >>> start_weights(Dataset.from_arrays([[1.0, 2.0], [2.0, 1.0]], [0, 1]), "default")
    array([1., 1.])
    """
    d = len(data.features)
    if isinstance(start, str):
        return np.full(d, 1.0 if choice("start", start, STARTS) == "ones" else min(1.0, 2.0 / np.sqrt(2.0 * d)))
    z = weights(data, start, "start")
    if not z.any():
        raise ParameterError("start is 0 for all features, a strict local minimum: give a weight above 0.")
    return z


def weights(data: Dataset, values: ArrayLike | Mapping[str, float], name: str) -> FloatArray:
    """Return weights of shape (d,) from an array, a number or a mapping feature -> weight, by default 0.

    Raises ParameterError.
    """
    if isinstance(values, Mapping):
        check_known_features(values, data.features, name)
        values = [values.get(j, 0.0) for j in data.features]
    z = number_array(name, values)
    d = len(data.features)
    z = np.full(d, float(z)) if z.ndim == 0 else z
    if z.shape != (d,) or not np.isfinite(z).all() or (z < 0).any():
        raise ParameterError(
            f"{name} must be weights of the {d} features, numbers of at least 0: give an array of shape ({d},), a "
            "mapping feature -> weight, or one number for all."
        )
    return z


def attach_oracle(
    model: pyo.ConcreteModel, blocks: list[OracleBlock], sigma: bool = False, **facts: Any
) -> pyo.ConcreteModel:
    """Add the objective without algebra, attach the steps of the algorithm to the model, and return it."""
    problem: Problem = model.kernel_problem
    if choosing(sigma):
        by_ordered_sets(model, model.z, "(4)")
        pairs = list(zip(model.sigma.values(), model.z.values(), strict=True))
        facts |= {"switches": pairs, "linked": [model.only_selected]}
    parts = [model.u, model.b, model.z, model.margin]
    model.omega = pyo.ExternalFunction(fgh=problem.evaluated, doc="(11) Omega of u, b, z and lambda")
    every = [*model.u.values(), model.b, *model.z.values(), model.margin]
    doc = r"(11) margin, losses and price of the weights \(\Omega(u, b, z, \mathrm{margin})\)"
    model.objective = pyo.Objective(expr=model.omega(*every), doc=doc)
    OracleBlocks(
        parts,
        blocks,
        value=problem.value,
        residual=problem.residual,
        trivial=problem.trivial,
        stuck=problem.is_zero,
        support=problem.support,
        remark=problem.remark,
        least=0.0,  # a sum of nonnegative terms
        seconds=problem.seconds,
        boxed=[model.z],
        rowed=[model.z],
        implicit="functions of its kernel matrix",
        remedy='build it with form="algebra"' + (", which has no sigma," if sigma else ""),
        finish=problem.fitted,
        selected=by_sigma if sigma else problem.selected,
        **facts,
    ).attach(model)
    return model
