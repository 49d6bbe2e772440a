"""Increasing weights of an exact penalty, for solvers and drivers without a penalty loop.

The driver ``alternating`` does the same within one run (step 4).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pyomo.environ as pyo

from solvers.clock import Clock
from solvers.facts.base import facts_of
from solvers.facts.blocks import Blocks, PenaltyValues
from solvers.options import check_limits
from solvers.result import Result, StopReason
from solvers.values import INSIDE, put_back


def penalty_of(model: Any) -> PenaltyValues | None:
    """Return the model's penalty with a free weight, None where there is none."""
    facts = facts_of(model)
    return facts.penalty if isinstance(facts, Blocks) else None


def by_values(model: Any, penalty: PenaltyValues, once: Callable[[], Result], options: dict[str, Any]) -> Result:
    """Solve for each value of the weight, until the penalised condition holds.

    Each solve begins at the values that the model had, not at the point for a smaller weight: that point is often
    feasible with a lower objective, and a solve returns no point that is worse than its start.

    The weight stays at the value of the point returned; without a point it is what it was. ``once``: solves, within the
    limit that all share.
    """
    penalty.check()
    check_limits(options)
    before, clock = pyo.value(penalty.parameter, exception=False), Clock.of_run(options.get("time_limit"))
    start = [(v, v.value) for v in model.component_data_objects(pyo.Var, descend_into=INSIDE)]
    rows: list[dict[str, Any]] = []
    held: tuple[Result, list[tuple[Any, float | None]], dict[str, Any]] | None = None
    stopped: Result | None = None
    for value in penalty.values:
        if stopped is not None and clock.over:
            break
        put_back(start)
        penalty.parameter.set_value(value)
        stopped = result = once()
        measure = float(penalty.measure(model)) if result.has_solution else None
        satisfied = measure is not None and measure <= penalty.tolerance
        rows.append({"value": value, "measure": measure, "objective": result.objective, "satisfied": satisfied})
        if result.has_solution:
            held = result, [(v, v.value) for v, _ in start], rows[-1]
        if satisfied or result.stop_reason is not StopReason.CONVERGED or not result.has_solution:
            break
    assert stopped is not None  # there is a value at least
    if held is None:
        penalty.parameter.set_value(before)
        return stopped
    result, values, row = held
    put_back(values)
    penalty.parameter.set_value(row["value"])
    result.stop_reason = stopped.stop_reason
    converged = stopped is result and result.stop_reason is StopReason.CONVERGED
    if converged and not row["satisfied"] and len(rows) < len(penalty.values):
        result.stop_reason = StopReason.TIME_LIMIT
    if not row["satisfied"]:
        result.message = f"{inexact(penalty, row)} {result.message}".strip()
    columns = ["value", "measure", "objective", "satisfied"]
    summary = {key: row[key] for key in ("value", "measure", "satisfied")}
    result.details["penalty"] = {**summary, "table": pd.DataFrame(rows, columns=columns)}
    result.seconds = clock.elapsed
    return result


def inexact(penalty: PenaltyValues, row: dict[str, Any]) -> str:
    """Return the violation of the penalised condition, in words."""
    return (
        f"At {penalty.parameter.local_name}={row['value']:g} the penalty is not exact: what it is to enforce is missed "
        f"by {row['measure']:.2g} (allowed {penalty.tolerance:g})."
    )
