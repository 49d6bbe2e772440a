"""Starting points of the drivers that find stationary points: options, values and results."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from solvers.errors import OptionError
from solvers.lp.pyomo import require_lp_solver
from solvers.options import Config, SolverObject, check_types
from solvers.values import bounds_of

SAME = 1e-6  # relative difference at which the objectives of two starts count as equal


@dataclass
class RandomStartsConfig(Config):
    """Options of the drivers with several starts, in addition to those of every driver.

    ``starts``: number of random starts (``seed`` 0 by default). ``start_range``: interval of the uniform random values;
    by default the bounds of each variable (length 1 from a single bound, [-1, 1] without bounds).
    """

    starts: int = 10
    start_range: tuple[float, float] | None = None

    def check(self, other: str) -> None:
        """Check the options; ``other`` is the option for another start. Raises OptionError."""
        check_types(type(self), vars(self))
        if self.starts < 0:
            raise OptionError(f"starts={self.starts!r} is not allowed: give a whole number of at least 0.")
        if self.starts == 0 and not getattr(self, other):
            raise OptionError(f"starts=0 leaves no start: give at least 1, or {other}=True.")
        if self.start_range is not None:
            pair = self.start_range
            if not isinstance(pair, tuple | list) or len(pair) != 2 or not -math.inf < pair[0] <= pair[1] < math.inf:
                raise OptionError(f"start_range={pair!r} is not allowed: give two numbers, the smaller first.")


@dataclass
class StartsConfig(RandomStartsConfig):
    """Options of the descent methods with several starts.

    ``tolerance``: least gain of a step, relative to max(1, abs(objective)). ``lp_solver``, ``lp_options``: solver of
    the linear programs, and its own options.
    """

    tolerance: float = 1e-9
    lp_solver: str | SolverObject = "highs"
    lp_options: Mapping[str, Any] | None = None

    def check(self, other: str) -> None:
        """Check the options.

        Raises OptionError. Raises SolverError if ``lp_solver`` is no LP solver.
        """
        super().check(other)
        if not self.tolerance >= 0:
            raise OptionError(f"tolerance={self.tolerance!r} is not allowed: give a number of at least 0.")
        require_lp_solver(self.lp_solver, self.own("lp"))


@dataclass
class Start:
    """The result of one start; ``objective`` is minimised. Drivers add further fields."""

    start: Any  # name or number
    objective: float | None = None
    failure: str = ""


def table(starts: Sequence[Start], sign: float, columns: Sequence[str]) -> pd.DataFrame:
    """Return a table with one row for each start; ``columns``: attributes. Objectives are in the sense of the model."""
    rows = pd.DataFrame([[getattr(run, name) for name in columns] for run in starts], columns=list(columns))
    rows["objective"] = sign * rows["objective"].astype(float)
    return rows


def random_points(
    base: np.ndarray,
    places: np.ndarray,
    variables: Sequence[Any],
    config: RandomStartsConfig,
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield a name and a point for each random start: ``base`` with random values of ``variables``, at ``places``."""
    random = np.random.default_rng(config.seed or 0)
    for k in range(config.starts):
        point = base.copy()
        point[places] = draw(variables, random, config.start_range)
        yield f"random {k + 1}", point


def draw(variables: Sequence[Any], random: np.random.Generator, within: tuple[float, float] | None) -> np.ndarray:
    """Return a value for each variable, uniform on ``within``, or between its bounds.

    With one bound the interval has length 1, and without bounds it is [-1, 1].

    >>> import pyomo.environ as pyo
    >>> model = pyo.ConcreteModel()
    >>> model.v = pyo.Var([0, 1], bounds=(0, None))
    >>> v = draw(list(model.v.values()), np.random.default_rng(0), None)
    >>> bool(v.min() >= 0 and v.max() <= 1)
    True
    """
    spans = [within or _span(*bounds_of(v)) for v in variables]
    low, high = np.array(spans, dtype=float).reshape(-1, 2).T
    return np.asarray(random.uniform(low, high))


def _span(low: float, high: float) -> tuple[float, float]:
    if math.isinf(low) and math.isinf(high):
        return -1.0, 1.0
    if math.isinf(high):
        return low, low + 1.0
    return (high - 1.0, high) if math.isinf(low) else (low, high)


def spread(ends: Sequence[float], sign: float) -> str:
    """Return a sentence on the spread of the final objectives of several starts; ``ends`` are minimised."""
    if len(ends) < 2:
        return ""
    low, high = min(ends), max(ends)
    best = sum(end <= low + SAME * max(1.0, abs(low)) for end in ends)
    if best == len(ends):
        return f"{len(ends)} starts ended at {sign * low:.6g}."
    low, high = sorted((sign * low, sign * high))
    found = "1 of them at the best: more starts may find better" if best == 1 else f"{best} of them at the best"
    return f"{len(ends)} starts ended between {low:.6g} and {high:.6g}; {found}."
