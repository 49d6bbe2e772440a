"""What all models of the kernel family share: checked parameters, variables, start, and the oracle form."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike

from fsmodels.checks import choice, choosing, number_array, positive
from fsmodels.datasets.checks import as_given
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import DataError, ParameterError
from fsmodels.models.components import by_ordered_sets, changeable
from fsmodels.models.kernel.kernels import FloatArray, as_kernel
from fsmodels.models.kernel.problem import MARGIN, Problem
from fsmodels.models.shares import slack_weights
from fsmodels.words import check_known_features
from solvers.facts import OracleBlock, OracleBlocks

STARTS = ["default", "ones"]
MU_MEANING = "mu is the price of a unit of feature weight"
SVMS = ["libsvm", "primal"]


def built(
    name: str,
    data: Dataset,
    *,
    C: float,
    penalty: float,
    kernel: Any = "rbf",
    degree: int = 2,
    offset: float = 1.0,
    eps: float = 0.5,
    start: Any = "default",
    svm: str = "libsvm",
    hinge: bool = False,
) -> pyo.ConcreteModel:
    """Return a model with the family's sets, parameters and variables, and ``kernel_problem``; no objective yet.

    ``hinge`` allows eps = 0.
    """
    data = as_given(data, weights=True).require_dense("kernel")
    for sign in (1, -1):
        if not (data.y == sign).any():
            raise DataError(f"Class {sign:+d} has no sample: both classes need at least one.")
    if not (hinge and isinstance(eps, int | float) and not isinstance(eps, bool) and eps == 0):
        eps = positive("eps", eps, "eps smooths the hinge over [1 - 2 eps, 1]")
    choice("svm", svm, SVMS)
    if svm == "primal" and eps == 0:
        raise ParameterError('svm="primal" needs a smoothed hinge, and eps=0: give eps=0.5, or svm="libsvm".')
    z = started(data, start)
    model = pyo.ConcreteModel(name=name)
    model.features = pyo.Set(initialize=list(data.features), doc="features, in the order of the data's columns")
    rows = range(data.n_samples) if data.counting is data else np.flatnonzero(slack_weights(data)).tolist()
    model.samples = pyo.Set(initialize=rows, doc="samples, in the order of the data's rows")
    model.C = changeable(partial(positive, "C", meaning="C weighs the sum of losses"), C, "(7) weight of the losses")
    price = partial(positive, "penalty", meaning="mu is the price of a unit of feature weight")
    model.penalty = changeable(price, penalty, "(7) mu, price of the weights")
    model.eps = pyo.Param(initialize=float(eps), doc="(8) half the width of the hinge's smooth part")
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
    model.kernel_problem = Problem(model, data, as_kernel(kernel, degree, offset), float(eps), svm)
    return model


def by_sigma(model: pyo.ConcreteModel) -> list[str]:
    """Return the features whose sigma is 1."""
    return [j for j in model.features if pyo.value(model.sigma[j]) > 0.5]


def without_sigma(form: str, sigma: bool) -> None:
    """Reject binaries in the algebraic form, which is for NLP solvers."""
    if choosing(sigma):
        raise ParameterError(
            f'sigma=True is not for form="{form}", whose rows are for NLP solvers: use form="oracle", which searches '
            "over selections."
        )


def share(model: pyo.ConcreteModel) -> None:
    """Free lambda."""
    model.margin.unfix()
    model.margin.setlb(MARGIN[0])
    model.margin.setub(MARGIN[1])


def started(data: Dataset, start: Any) -> FloatArray:
    """Return the first weights, shape (d,): by name, one number for all, or one for each feature.

    Raises ParameterError: weights that are negative, not finite, of another number than the features, or all 0.

    >>> started(Dataset.from_arrays([[1.0, 2.0], [2.0, 1.0]], [0, 1]), "default")
    array([1., 1.])
    """
    d = len(data.features)
    if isinstance(start, str):
        return np.full(d, 1.0 if choice("start", start, STARTS) == "ones" else min(1.0, 2.0 / np.sqrt(2.0 * d)))
    z = weights(data, start, "start")
    if not z.any():
        raise ParameterError("start is 0 for all features, a strict local minimum: give a weight above 0.")
    return z


def weights(data: Dataset, given: ArrayLike | Mapping[str, float], name: str) -> FloatArray:
    """Return weights of shape (d,) of an array, a number or a mapping feature -> weight, which may leave out zeros.

    Raises ParameterError.
    """
    if isinstance(given, Mapping):
        check_known_features(given, data.features, name)
        given = [given.get(j, 0.0) for j in data.features]
    z = number_array(name, given)
    d = len(data.features)
    z = np.full(d, float(z)) if z.ndim == 0 else z
    if z.shape != (d,) or not np.isfinite(z).all() or (z < 0).any():
        raise ParameterError(
            f"{name} must be weights of the {d} features, numbers of at least 0: give an array of shape ({d},), a "
            "mapping feature -> weight, or one number for all."
        )
    return z


def by_oracle(
    model: pyo.ConcreteModel, blocks: list[OracleBlock], sigma: bool = False, **facts: Any
) -> pyo.ConcreteModel:
    """Give a model its objective without algebra, and the steps of its algorithm; a builder's end."""
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
        stuck=problem.absorbed,
        support=problem.support,
        remark=problem.remark,
        least=0.0,  # a sum of what is at least 0
        seconds=problem.seconds,
        boxed=[model.z],
        rowed=[model.z],
        implicit="functions of its kernel matrix",
        remedy='build it with form="algebra"' + (", which has no sigma," if sigma else ""),
        selected=by_sigma if sigma else problem.selected,
        **facts,
    ).seal(model)
    return model
