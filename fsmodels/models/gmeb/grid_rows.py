"""GMEB over a grid with rows on what is selected: one model, whose separator keeps the rows that it has found.

A row of ``gmeb.norm`` for (p, q) holds at every (R+, R-), with another side: the next point of the grid starts from
what the last one needed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import ModelError, ParameterError
from fsmodels.models.gmeb.norm import STARTS
from fsmodels.models.gmeb.primal import primal
from fsmodels.models.gmeb.solution import classifier
from solvers import SolutionStatus, SolverError, StopReason, solve
from solvers.facts import Separable, facts_of

__all__ = ["Found", "RowsLine"]


@dataclass
class Found:
    """A point of the grid: weights and offset for the data, loss, bound, and what it took."""

    w: NDArray[np.float64]
    b: float
    loss: float
    bound: float
    names: list[str]
    rows: int
    lps: int
    iterations: int | None = None


class RowsLine:
    """The primal with binaries and the user's rows, solved at one (R+, R-) after the other.

    ``state``: called with the model, to state rows on ``model.sigma``.
    """

    def __init__(
        self, data: Dataset, state: Callable[[pyo.ConcreteModel], Any], largest: tuple[float, float], lp_solver: str
    ) -> None:
        if not callable(state):
            raise ParameterError(
                f"rows is {type(state).__name__}: give a function of the model that states rows on model.sigma, "
                "for example def rows(model): model.budget = fs.side_constraints.budget(model, costs, 20)."
            )
        self.model, self._lp_solver = primal(data, R_plus=largest[0], R_minus=largest[1], sigma=True), lp_solver
        state(self.model)
        facts = facts_of(self.model)
        assert isinstance(facts, Separable)
        self._kept: list[tuple[float, float]] = []
        facts.separator.kept = self._kept  # type: ignore[attr-defined]

    def solve(self, R_plus: float, R_minus: float, gap: float, end: float | None) -> Found | None:
        """Return the optimum of a pair, or None at the time limit. Raises ModelError where no selection is allowed."""
        left = None if end is None else end - time.perf_counter()
        if left is not None and left <= 0:
            return None
        model = self.model
        model.R_plus, model.R_minus = R_plus, R_minus
        result = solve(model, "cutting-plane", gap=gap, time_limit=left, lp_solver=self._lp_solver)
        if result.stop_reason is StopReason.INTERRUPTED:
            raise KeyboardInterrupt
        if result.stop_reason is StopReason.TIME_LIMIT:
            return None
        if result.status is SolutionStatus.INFEASIBLE:
            raise ModelError(result.message)
        if result.objective is None or result.bound is None:
            raise SolverError(f"cutting-plane failed on a point of the path: {result.message}")
        w, b = classifier(model)
        names = result.selected or []
        return Found(w, b, result.objective, result.bound, names, len(STARTS) + len(self._kept), len(result.iterations))
