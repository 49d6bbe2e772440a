"""Repeated solves of one model under temporary edits: their records, the edits, and the base class of answers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import pyomo.environ as pyo

from fsmodels.errors import ParameterError
from fsmodels.selection.catalogue import MODELS, find
from fsmodels.selection.report import BaseAnswer, as_json
from fsmodels.selection.selection import Selection
from fsmodels.text import listed
from solvers import Result, SolutionStatus, StopReason
from solvers.clock import Clock
from solvers.options import check_limits
from solvers.values import inactive

CLOSE = 5e-4  # smaller shares are not printed as numbers


@dataclass(frozen=True)
class Level:
    """Record of a solve: best ``objective``, proven ``bound``, ``status``, ``selected``, ``seconds``.

    ``objective`` is infinite if no selection was found; ``bound`` too if none is possible.
    """

    objective: float
    bound: float
    status: SolutionStatus
    selected: tuple[str, ...]
    seconds: float

    @classmethod
    def of(cls, found: Selection | Result) -> Level:
        """Return the record of a solve. Raises KeyboardInterrupt if Ctrl-C stopped it."""
        if found.status is SolutionStatus.INFEASIBLE:
            return cls(math.inf, math.inf, found.status, (), found.seconds)
        if found.stop_reason is StopReason.INTERRUPTED:
            raise KeyboardInterrupt
        objective = math.inf if found.objective is None else found.objective
        bound = -math.inf if found.bound is None else min(found.bound, objective)
        return cls(objective, bound, found.status, tuple(found.selected or ()), found.seconds)

    def to_dict(self) -> dict[str, Any]:
        """Return the content of a JSON file."""
        content: dict[str, Any] = as_json({**vars(self), "status": self.status.value})
        return content


class ProvenAnswer(BaseAnswer):
    """Base class of answers about the best selection of a model; ``within``: the relative distance in the question."""

    question: ClassVar[str]
    best: Selection
    within: float | None
    seconds: Any

    def to_dict(self) -> dict[str, Any]:
        """Return the content of a JSON file, with the sentence."""
        best = self.best.to_dict()
        about = {"question": self.question, "model": best["model"], "data": best["data"]["name"], "within": self.within}
        return {**about, "parameters": best["parameters"], "seconds": self.seconds, **super().to_dict()}

    def __str__(self) -> str:
        return f"{self.best.name} on {self.best.data.name}. {self.sentence}"

    def __repr__(self) -> str:
        return str(self)


@contextmanager
def fixed(variable: Any, value: float) -> Iterator[None]:
    """Fix a variable by its bounds, which drivers handle like the bounds of a node."""
    before = variable.bounds
    variable.bounds = (value, value)
    try:
        yield
    finally:
        variable.bounds = before


@contextmanager
def limited(row: Any, limit: float) -> Iterator[None]:
    """Replace a constraint ``... <= side`` by one with another limit."""
    block, name = row.parent_block(), f"{row.local_name}_at"
    with inactive(active(row)):
        block.add_component(name, pyo.Constraint(expr=row.body <= limit))
        try:
            yield
        finally:
            block.del_component(name)


def active(row: Any) -> list[Any]:
    """Return the active members of a constraint."""
    return [part for part in row.values() if part.active]


def clock_of(time_limit: float | None) -> Clock:
    """Return the clock of a run. Raises OptionError: ``time_limit`` is no number of at least 0."""
    check_limits({"time_limit": time_limit})
    return Clock.of_run(time_limit)


def bounded(model: str) -> str:
    """Return the name of a model with a proven bound. Raises ParameterError for any other."""
    spec = find(model)
    if not spec.proves_bound:
        able = listed(name for name, other in MODELS.items() if other.proves_bound)
        raise ParameterError(
            f'Model "{spec.name}" proves no bound, so there is no best selection to compare with: use one of {able}; '
            f'"{spec.exact_model}" is its exact model.'
        )
    return spec.name


def share_of(more: float, base: float) -> float:
    """Return the increase from ``base`` to ``more`` relative to the size of ``base``; 0 if both are nearly 0."""
    if abs(more - base) <= 1e-12 * max(abs(more), abs(base)):
        return 0.0
    return (more - base) / abs(base) if base else math.copysign(math.inf, more - base)


def about(share: float) -> str:
    """Return a share as text: "7.2%", "0%"."""
    if not math.isfinite(share):
        return "an unlimited share"
    return f"{100 * share:.3g}%" if abs(share) >= CLOSE else "0%" if abs(share) < 5e-7 else "less than 0.05%"


def at_most(share: float) -> str:
    """Return an upper limit on a share as text: "at most 7.2%", "less than 0.05%"."""
    text = about(share)
    return text if text.startswith("less") else f"at most {text}"


def share_interval(low: float, high: float) -> str:
    """Return an interval of shares as text: "3.65%", "1.2% to 3%", "at least 1.2%"."""
    if not math.isfinite(high):
        return f"at least {about(low)}" if low > 0 else "not known"
    return about(high) if about(low) == about(high) else f"{about(low)} to {about(high)}"
