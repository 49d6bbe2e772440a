"""What the questions of this room have in common: models with a proven bound, and intervals told in words."""

from __future__ import annotations

import math
from typing import Any

from fsmodels.errors import ParameterError
from fsmodels.selection.recipes import MODELS, find
from fsmodels.words import listed
from solvers.clock import Clock
from solvers.options import check_limits

CLOSE = 5e-4  # shares below it are not told as numbers


def clock_of(time_limit: float | None) -> Clock:
    """Return the clock of a run. Raises OptionError: ``time_limit`` is no number of at least 0."""
    check_limits({"time_limit": time_limit})
    return Clock.of_run(time_limit)


def bounded(model: str) -> str:
    """Return the name of a model with a proven bound. Raises ParameterError for any other."""
    recipe = find(model)
    if not recipe.proves_bound:
        able = listed(name for name, other in MODELS.items() if other.proves_bound)
        raise ParameterError(
            f'Model "{recipe.name}" proves no bound, so nothing can be held against it: use one of {able}; '
            f'"{recipe.exact}" is exact for what it seeks.'
        )
    return recipe.name


def share_of(more: float, base: float) -> float:
    """Return how much ``more`` is above ``base``, as a share of the size of ``base``; 0 where both are nearly 0."""
    if abs(more - base) <= 1e-12 * max(abs(more), abs(base)):
        return 0.0
    return (more - base) / abs(base) if base else math.copysign(math.inf, more - base)


def about(share: float) -> str:
    """Return a share for people: "7.2%", "0%"."""
    if not math.isfinite(share):
        return "any number of times"
    return f"{100 * share:.3g}%" if abs(share) >= CLOSE else "0%" if abs(share) < 5e-7 else "less than 0.05%"


def plain(value: float | None) -> Any:
    """Return a number as JSON holds it."""
    return None if value is None or not math.isfinite(value) else float(value)
