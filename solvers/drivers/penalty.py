"""Increasing weights of an exact penalty, for all solvers and drivers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pyomo.environ as pyo

from solvers.clock import Clock
from solvers.facts.base import facts_of
from solvers.facts.blocks import Blocks, PenaltyValues
from solvers.options import check_limits
from solvers.result import Result, SolutionStatus, StopReason
from solvers.values import INSIDE, put_back


def penalty_of(model: Any) -> PenaltyValues | None:
    """Return the penalty of the model whose weight is free, None if there is none."""
    facts = facts_of(model)
    return facts.penalty if isinstance(facts, Blocks) else None


def by_values(model: Any, penalty: PenaltyValues, once: Callable[[], Result], options: dict[str, Any]) -> Result:
    """Solve for each value of the weight, until the penalised condition is satisfied.

    Each solve starts from the initial values of the model, not from the point for a smaller weight. That point is often
    feasible with a lower objective, and a solve returns no point that is worse than its start.

    The weight keeps the value of the returned point; without a point it is restored. ``once``: a solve within the
    common time limit. The tables of iterations and starts have the rows of all values.
    """
    penalty.check()
    check_limits(options)
    before, clock = pyo.value(penalty.parameter, exception=False), Clock.of_run(options.get("time_limit"))
    start = [(v, v.value) for v in model.component_data_objects(pyo.Var, descend_into=INSIDE)]
    runs: list[Result] = []
    rows: list[dict[str, Any]] = []
    last, values = -1, start  # the last run with a point, and its values
    for value in penalty.values:
        if runs and clock.over:
            break
        put_back(start)
        penalty.parameter.set_value(value)
        runs.append(run := once())
        measure = float(penalty.measure(model)) if run.has_solution else None
        satisfied = measure is not None and measure <= penalty.tolerance
        rows.append({"value": value, "measure": measure, "objective": run.objective, "satisfied": satisfied})
        if run.has_solution:
            last, values = len(runs) - 1, [(v, v.value) for v, _ in start]
        if satisfied or run.stop_reason is not StopReason.CONVERGED or run.status is SolutionStatus.INFEASIBLE:
            break
    result, row = runs[last], rows[last]
    put_back(values)
    penalty.parameter.set_value(row["value"] if result.has_solution else before)
    converged = result is runs[-1] and result.stop_reason is StopReason.CONVERGED
    result.stop_reason = runs[-1].stop_reason
    if result.has_solution and not row["satisfied"]:
        if converged and len(rows) < len(penalty.values):
            result.stop_reason = StopReason.TIME_LIMIT
        inexact = (
            f"At {penalty.parameter.local_name}={row['value']:g} the penalty is not exact: its condition is violated "
            f"by {row['measure']:.2g} (allowed {penalty.tolerance:g})."
        )
        result.message = f"{inexact} {result.message}".strip()
    _add_tables(result, runs, rows, penalty.parameter.local_name)
    summary = {key: row[key] for key in ("value", "measure", "satisfied")}
    result.details["penalty"] = {**summary, "table": pd.DataFrame(rows)}
    result.seconds = clock.elapsed
    return result


def _add_tables(result: Result, runs: list[Result], rows: list[dict[str, Any]], name: str) -> None:
    """Replace the tables of iterations and starts by those of the runs at all values."""
    iterations, starts = [], []
    for run, row in zip(runs, rows, strict=True):
        if not run.iterations.empty:
            iterations.append(run.iterations.assign(Step=f"{name}={row['value']:g} " + run.iterations["Step"]))
        if "starts" in run.details:
            starts.append(run.details["starts"])
            starts[-1].insert(1, "penalty", row["value"])
    if iterations:
        result.iterations = pd.concat(iterations, ignore_index=True)
        result.iterations["Iter"] = range(len(result.iterations))
    if starts:
        result.details["starts"] = pd.concat(starts, ignore_index=True)
