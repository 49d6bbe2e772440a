r"""FSmulti with binaries: which features may have a weight, with any rows on that, by the Benders drivers.

Problem
    .. math::
        \min_{\sigma \in \{0, 1\}^m}\ q(\sigma), \qquad
        q(\sigma) = \min_{d,\ w,\ \xi}\ \tfrac12 \textstyle\sum_j w_j^2 / d_j + C \xi
        \quad \text{s.t. the rows of (5)},\ \textstyle\sum_j d_j \le B,\ 0 \le d_j \le \sigma_j

    under whatever rows are stated on sigma. With ``sum sigma <= B`` among them (``max_features`` of ``fs.select``),
    d = sigma and this is (23), the best weights on at most B features; else B is the budget of (5) that those with
    sigma_j = 1 share.
Method
    sigma is complicating, q is known by its oracle (``solvers.drivers.two_layer.selection``, with the cut and the
    relaxation), and ``branch-and-cut`` is the default: nodes are bounded by the relaxation of (5) with the rows, which
    is that of Lemma 2, incumbents are found by rounding and by exchanges that satisfy the rows.
Certificate
    exact where the tree ends; the bound is that of the open nodes where a limit ends it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyomo.environ as pyo

from fsmodels.models.multivariate.groups import OFFSET
from fsmodels.models.multivariate.labellings import FloatArray
from fsmodels.models.proofs.certified import write
from solvers import RowPool, SelectionOracle
from solvers.facts import Certificate, Structure, half_norm

__all__ = ["chosen", "drop_idle", "put_lazy", "selection"]

Put = Callable[[Any, FloatArray, FloatArray, float], None]  # (model, w, d, xi): put a solution on the model

HOLDS = 1e-6  # of a row's side, or 1: what it may be missed by


def selection(
    model: pyo.ConcreteModel, pool: RowPool, put: Put, *, others: Sequence[Callable[[Any], None]] = (), **told: Any
) -> Structure:
    """Return the facts of a model with sigma: its other variables and all rows but ``switch`` are the subproblem.

    ``others``: repairs of a point after an edit of rows that ``put`` breaks.
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
            [], None, partial(_repair, pool, put), partial(_trivial, pool, put), _least, others=others
        ),
        default_solver="branch-and-cut",
        **told,
    )


def chosen(model: Any) -> list[str]:
    """Return the features with sigma = 1, an offset aside."""
    return [j for j, v in model.sigma.items() if v.value is not None and v.value > 0.5 and j != OFFSET]


def drop_idle(model: Any) -> None:
    """Put sigma to 0 where a selected feature has no weight and the rows hold without it: all of these, or some.

    Sigma costs nothing, so that the best weights say nothing of it.
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
    above = low is None or body >= low - HOLDS * max(1.0, abs(low))
    return above and (up is None or body <= up + HOLDS * max(1.0, abs(up)))


def put_lazy(model: Any, w: FloatArray, d: FloatArray, xi: float) -> None:
    """Put a solution on a lazy model."""
    used = w != 0
    write(model.w, w)
    write(model.d, d)
    model.omega.set_value(0.5 * float((w[used] ** 2 / d[used]).sum()), skip_validation=True)
    model.xi.set_value(xi, skip_validation=True)


def _repair(pool: RowPool, put: Put, model: Any) -> None:
    """Give the weights of the features selected the shares, norm and risk that they have; all others are 0."""
    w = np.array([0.0 if v.value is None else v.value for v in model.w.values()])
    on = np.array([bool(v.value is not None and v.value > 0.5) for v in model.sigma.values()])
    w = np.where(on & np.isfinite(w), w, 0.0)
    d = half_norm(w, int(pyo.value(model.budget)))[1]
    put(model, w, d, pool.at(pool.scores(w))[1])


def _trivial(pool: RowPool, put: Put, model: Any) -> None:
    """Select nothing."""
    write(model.sigma, np.zeros(len(model.sigma)))
    _repair(pool, put, model)


def _least(model: Any) -> float:
    """Return a bound for runs that end before they have one: neither part of the objective is below 0."""
    return 0.0
