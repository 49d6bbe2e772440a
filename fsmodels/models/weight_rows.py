"""What the weights of a classifier must also satisfy, as ordinary Pyomo constraints on ``model.w``.

``side_constraints`` shows them beside the rows on ``model.sigma``. w = 0 satisfies both kinds, so that no selection is
infeasible by them.
"""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyomo.environ as pyo

from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import DataError, InfeasibleParameter, ModelError, ParameterError
from fsmodels.models.shares import mean_of
from fsmodels.words import check_known_features

__all__ = ["fair", "signs"]

NO_DIFFERENCE = 1e-13  # of the sizes that are averaged: no difference of means


def signs(model: pyo.ConcreteModel, signs: Mapping[str, str]) -> pyo.Constraint:
    """Say in which direction features may speak: "+" for w_j >= 0, "-" for w_j <= 0.

    The sign of a weight is the same for the scaled data and in original units. A feature that is not selected has the
    weight 0, which satisfies both.

    Parameters
    ----------
    model : pyo.ConcreteModel
        A model with weights ``w`` over features.
    signs : mapping feature -> "+" or "-"

    Returns
    -------
    pyo.Constraint
        Indexed by the features that have a sign, to be assigned to the model.

    Raises
    ------
    DataError
        A sign for something that is no feature.
    ParameterError
        Another word than "+" or "-", or no sign at all.
    ModelError
        The model has no weights ``w``.

    Examples
    --------
    >>> import fsmodels as fs
    >>> model = fs.fsp.fsp_m(fs.load_dataset("bupa").scaled("standard"), max_features=3)
    >>> model.dose = fs.side_constraints.signs(model, {"drinks": "+"})
    >>> fs.solve(model).status.value, model.w["drinks"].value >= -1e-9
    ('optimal', True)
    """
    w = _weights(model)
    if not isinstance(signs, Mapping) or not signs:
        given = "no sign" if isinstance(signs, Mapping) else type(signs).__name__
        raise ParameterError(f'signs got {given}: give a mapping, such as {{"age": "+"}}.')
    check_known_features(signs, list(w), "signs")
    for name, sign in signs.items():
        if sign not in ("+", "-"):
            raise ParameterError(f'signs: "{name}" has {sign!r}: give "+" for a weight of at least 0, or "-".')
    return pyo.Constraint(
        list(signs), rule=lambda m, j: w[j] >= 0 if signs[j] == "+" else w[j] <= 0, doc="direction of the feature"
    )


def fair(model: pyo.ConcreteModel, data: Dataset, groups: Any, limit: float) -> pyo.Constraint:
    r"""Bound how far the mean scores of groups of samples may be apart.

    With the score :math:`w \cdot x_i + b` and the means :math:`\bar x_A, \bar x_B` of two groups

    .. math:: -\epsilon \le w \cdot (\bar x_A - \bar x_B) \le \epsilon,

    one row on w, as b cancels. Of more than two groups every pair has its row. Samples count as often as their weights
    say that were given one by one.

    Parameters
    ----------
    model : pyo.ConcreteModel
        A model with weights ``w`` over features.
    data : Dataset
        What it was built from, scaled as it was.
    groups : str, or one value a sample
        A column that lies aside in the data (``Dataset.set_aside``), or the group of each sample.
    limit : float
        At least 0, in the unit of scores, in which the margin is 1.

    Returns
    -------
    pyo.Constraint
        Indexed by pairs of groups, to be assigned to the model.

    Raises
    ------
    DataError
        No such column, not one value a sample, one group only or more than 20, or data of other features.
    ParameterError
        The limit is negative or no number.
    ModelError
        The model has no weights ``w``.

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("cleveland").scaled("standard").set_aside("sex")
    >>> model = fs.fsp.fsp_m(data, max_features=4)
    >>> model.fair = fs.side_constraints.fair(model, data, "sex", 0.1)
    >>> list(model.fair)
    [('0', '1')]
    """
    w = _weights(model)
    if not isinstance(data, Dataset) or any(name not in data.features for name in w):
        raise DataError("fair needs the data that the model was built from, with all of its features: give them.")
    if isinstance(limit, bool) or not isinstance(limit, numbers.Real) or not math.isfinite(limit):
        raise ParameterError(f"fair: limit={limit!r} is not allowed: give a number of at least 0.")
    if limit < 0:
        raise InfeasibleParameter(f"fair: limit={limit:g} is below 0, which no weights satisfy: give at least 0.")
    own = data.select_features(list(w)) if tuple(w) != data.features else data
    sizes = np.asarray(abs(own.X).mean(axis=0)).ravel()
    means = {name: np.asarray(mean_of(data, rows, own.X)).ravel() for name, rows in data.members(groups).items()}

    def row(m: pyo.ConcreteModel, one: str, other: str) -> Any:
        apart = means[one] - means[other]
        held = [(float(d), w[j]) for d, j, size in zip(apart, w, sizes, strict=True) if abs(d) > NO_DIFFERENCE * size]
        if not held:
            return pyo.Constraint.Skip
        return (-float(limit), pyo.quicksum(d * weight for d, weight in held), float(limit))

    return pyo.Constraint(list(itertools.combinations(means, 2)), rule=row, doc="mean scores of two groups")


def _weights(model: pyo.ConcreteModel) -> Any:
    w = model.component("w") if isinstance(model, pyo.ConcreteModel) else None
    if w is None:
        name = getattr(model, "name", type(model).__name__)
        raise ModelError(
            f'Model "{name}" has no weights w of features to constrain: use a linear model, such as fsp_m.'
        )
    return w
