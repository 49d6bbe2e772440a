"""FSmulti with at most B features: those of the largest weights in the convex model, fitted again on their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyomo.environ as pyo

from fsmodels._usage import column_sizes
from fsmodels.dataset import Dataset
from fsmodels.errors import ParameterError
from fsmodels.multivariate import classifier, risk, structural_svm
from solvers import Result, SolutionStatus, StopReason, facts_of, solve
from solvers.composite import CompositeRisk
from solvers.result import DEFAULT_GAP, relative_gap
from solvers.trace import Clock, one_clock

__all__ = ["run"]


@one_clock()
def run(model: pyo.ConcreteModel, data: Dataset, parameters: Mapping[str, Any], solver: Any, options: Any) -> Result:
    """Solve FSmulti; with ``strict``, keep the B features of largest ``|w_j| max_i |x_ij|`` and solve (2) on them.

    The bound of (5) also holds for the best w with at most B features (Lemma 2 and its relaxation), so the gap of a
    strict selection says how far it is from the best possible one.

    Raises
    ------
    ParameterError
        If ``strict`` is neither True nor False, or does not go with the form of the model.
    """
    strict = parameters.get("strict", False)
    if not isinstance(strict, bool):
        raise ParameterError(f"strict={strict!r} is not allowed: give True to select at most max_features, or False.")
    facts = facts_of(model)
    if strict and not isinstance(facts, CompositeRisk):
        raise ParameterError('strict=True fits a second model, which form="explicit" does not: leave form out.')
    clock = Clock.of_run(options.get("time_limit"))
    result = solve(model, solver, **options)
    if not isinstance(facts, CompositeRisk) or not strict or not result.has_solution:
        return result
    w_all, b = classifier(model)
    B = int(pyo.value(model.max_features))
    columns = np.flatnonzero(w_all)
    size = np.abs(w_all[columns]) * column_sizes(data.X[:, columns]) if len(columns) else np.empty(0)
    if b:  # the offset counts as one of the B, and is kept where that leaves room; it comes last
        w_all, columns = np.append(w_all, b), np.append(columns, data.n_features)
        size = np.append(size, np.inf if B > 1 else abs(b))
    kept = np.sort(columns[np.argsort(-size, kind="stable")[:B]])
    if len(kept) == 0:
        return result
    w = w_all[kept]
    alone = np.where(np.isin(np.arange(data.n_features), kept), w_all[: data.n_features], 0.0)
    xi = risk(data, alone, parameters["loss"], b=b if data.n_features in kept else 0.0)
    again, fitted, least = _fitted(data, kept, model, parameters["loss"], solver, options, clock)
    C = float(pyo.value(model.C))
    if again is not None and 0.5 * fitted @ fitted + C * least <= 0.5 * w @ w + C * xi:  # a limit may stop it before
        w, xi = fitted, least
    facts.load(kept[w != 0], w[w != 0], np.ones(np.count_nonzero(w)), xi)
    objective = float(pyo.value(model.objective))
    bound = result.bound
    gap = relative_gap(objective, bound)
    proven = gap is not None and gap <= options.get("gap", DEFAULT_GAP)
    words = (
        f"At most {B} features{', the offset counted' if b else ''}: those of the largest weights, fitted again. The "
        "bound is of the best such selection."
    )
    return replace(
        result,
        status=SolutionStatus.OPTIMAL if proven else SolutionStatus.FEASIBLE,
        stop_reason=again.stop_reason if again and result.stop_reason is StopReason.CONVERGED else result.stop_reason,
        objective=objective,
        selected=facts.selected(model) if facts.selected else None,
        seconds=clock.elapsed,
        message=" ".join(part for part in (words, result.message) if part),
    )


def _fitted(
    data: Dataset, kept: Any, model: pyo.ConcreteModel, loss: Any, solver: Any, options: Any, clock: Clock
) -> tuple[Result | None, Any, float]:
    """Solve (2) on the kept features; return the result, None without a point, with the weights and the risk."""
    m = data.n_features
    names = [data.features[j] for j in kept.tolist() if j < m]
    if not names:  # the offset alone
        return None, None, 0.0
    few = data.select_features(names)
    second = structural_svm(few, C=float(pyo.value(model.C)), loss=loss, offset=m in kept)
    again = solve(second, solver, **options)
    if not again.has_solution:
        return None, None, 0.0
    w, b = classifier(second)
    return again, np.append(w, b) if m in kept else w, float(pyo.value(second.xi))
