"""What an equivalent model proves of it: the bound that stands in place of a solver's word."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyomo.environ as pyo

from solvers.drivers.catalogue import DRIVERS
from solvers.errors import Error
from solvers.facts.base import AsBuilt, Facts, built_of
from solvers.facts.structure import Structure
from solvers.result import Result, relative_gap
from solvers.shared_state import put_off
from solvers.values import INSIDE, kept


@dataclass(frozen=True)
class Proof:
    """A bound on the model's optimum, None where there is none, and what to say where it proves too little."""

    bound: float | None
    lacks: str


def prove(model: Any, facts: Facts, *, gap: float, time_limit: float | None, in_time: bool) -> Proof:
    """Prove what can be within a time limit, which counts as the whole run's does; values stay as they are."""
    equivalent, built = facts.equivalent, built_of(model)
    assert equivalent is not None
    restricted = built.restricted(model)
    floor = equivalent.floor if restricted else None
    if not in_time:
        return Proof(floor, f"but no time was left for {equivalent.driver} to prove it from the data.")

    driver = DRIVERS[equivalent.driver]

    def solved(build: Callable[[Any, AsBuilt], Any] | None) -> Result:
        with kept(model.component_data_objects(pyo.Var, descend_into=INSIDE)), put_off():
            target = model if build is None else build(model, built)
            return driver(target, gap=gap, time_limit=time_limit).solve()

    try:
        result = solved(None if isinstance(facts, Structure) else equivalent.exact)
    except Error as refusal:
        why = f"Not by {equivalent.driver}: {refusal}"
        if not restricted:
            return Proof(None, f"which is not proven from the data. {why}")
        result = solved(equivalent.relaxed)
        rest = equivalent.floor if result.bound is None else max(equivalent.floor, result.bound)
        return Proof(rest, f"but from the data only the bound without that edit is proven. {why}")
    bound = result.bound if floor is None else max(floor, result.bound or floor)
    distance = relative_gap(result.objective, bound, resolution=result.resolution)
    if result.objective is None or distance is None:
        return Proof(bound, f"but {equivalent.driver} does not prove it from the data. {result.message}".strip())
    return Proof(
        bound, f"but {equivalent.driver} finds {result.objective:.9g}, proven from the data to {distance:.1e}."
    )
