r"""Blocks with integer variables after a first stage of 0/1 ones: integer L-shaped and combinatorial cuts.

q(x) is not convex then, and multipliers bound its linear relaxation only. At a 0/1 point x-bar, with S the variables at
1 there, F all those in the block's rows, and a proven L <= q(x) at every 0/1 point,

    q(x) >= L + (q(x-bar) - L) (sum_S x - sum_(F - S) x - |S| + 1):

tight at x-bar, where the bracket is 1, and at most L elsewhere, where it is at most 0 (Laporte and Louveaux 1993).
Where the block has no point at x-bar though its relaxation has, no multipliers say so; one of the variables D must
change,

    sum_(D and S) (1 - x) + sum_(D - S) x >= 1,

D any set whose values alone leave the block without a point: a smallest one, by leaving variables out one by one while
that stays so (Codato and Fischetti 2006). Finite: a cut of either kind settles its point.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo

from solvers.drivers.benders.blocks import SubBlock
from solvers.drivers.benders.named_blocks import NamedBlocks
from solvers.drivers.benders.split import SplitModel
from solvers.errors import ModelError, SolverFailure
from solvers.facts.structure import Cut
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import either
from solvers.interfaces.runner import Runner
from solvers.result import SolutionStatus, StopReason

TRIES = 40  # variables that are left out one by one, for a smaller set


@dataclass(frozen=True)
class IntegerAnswer:
    """What a block with integers answers at a 0/1 point: value, cut and variables; value None where it has no point."""

    value: float | None
    cut: Cut
    y: np.ndarray


class IntegerBlock:
    """One block with integers, solved by a mixed-integer solver."""

    def __init__(self, parts: SplitModel, block: SubBlock, runner: Runner) -> None:
        self._named, self._sign = NamedBlocks(parts, [block], runner), parts.sign
        self._first = np.array([k for k in block.first if not parts.structure.complicating[k].fixed], dtype=int)
        self._names = ", ".join(v.name for v in block.variables[:3])
        self._least: float | None = None

    @staticmethod
    def refusal(parts: SplitModel, block: SubBlock) -> str | None:
        """Return why a block with integers is refused, if it is."""
        first = [parts.structure.complicating[k] for k in block.first]
        integer = next((v for v in block.variables if not v.is_continuous()), None)
        other = next((v for v in first if not v.fixed and not v.is_binary()), None)
        if integer is None or other is None:
            return None
        return (
            f'Variable "{integer.name}" of the subproblem is integer, and "{other.name}" of the master is not 0/1, and '
            f"then no cut is known: make both complicating, or solve the whole model by name: {either(C.MIQCP)}."
        )

    def least(self, time_limit: float | None) -> float | None:
        """Return the proven L, found once; None when time is up.

        Raises
        ------
        ModelError
            If the block is not bounded below.
        """
        if self._least is None:
            point = np.zeros(len(self._named._complicating))
            answer, _ = self._named.solve(point, time_limit, free=self._first.tolist(), integer=True)
            if answer.status is SolutionStatus.INFEASIBLE:
                self._least = 0.0  # of no point: feasibility cuts say so
            elif answer.status is SolutionStatus.UNBOUNDED:
                raise ModelError(
                    f"The block of {self._names} has no lower bound, without which no cut is known: bound it."
                )
            elif answer.bound is None:
                if answer.stop_reason is StopReason.TIME_LIMIT:
                    return None
                raise self._failure(answer.message)
            else:
                self._least = answer.bound
        return self._least

    def solve(self, point: np.ndarray, time_limit: float | None) -> IntegerAnswer | None:
        """Answer at a 0/1 point; None when time is up."""
        end = None if time_limit is None else time.perf_counter() + time_limit
        least = self.least(time_limit)
        if least is None:
            return None
        answer, y = self._named.solve(point, _left(end), integer=True)
        on = point[self._first] > 0.5
        if answer.status is SolutionStatus.INFEASIBLE:
            return IntegerAnswer(None, self._away(point, end), y)
        if answer.stop_reason is StopReason.TIME_LIMIT:
            return None
        if not answer.has_point or answer.bound is None:
            raise self._failure(answer.message)
        value = float(pyo.value(self._named.model.objective))
        rise = max(0.0, min(answer.bound, value) - least)
        slope = np.zeros(len(point))
        slope[self._first] = np.where(on, rise, -rise)
        return IntegerAnswer(value, Cut(least + rise * (1.0 - on.sum()), slope), y)

    def _away(self, point: np.ndarray, end: float | None) -> Cut:
        """Return the cut that keeps a 0/1 point out, with all others that agree with it on a small set."""
        out: list[int] = []
        for k in self._first[:TRIES].tolist():
            left = _left(end)
            if left is not None and left <= 0:
                break
            answer, _ = self._named.solve(point, left, free=[*out, k], integer=True)
            if answer.status is SolutionStatus.INFEASIBLE:
                out.append(k)
        kept = np.setdiff1d(self._first, out)
        slope = np.zeros(len(point))
        slope[kept] = np.where(point[kept] > 0.5, 1.0, -1.0)
        return Cut(1.0 - float((point[kept] > 0.5).sum()), slope)

    def _failure(self, message: str) -> SolverFailure:
        name = self._named.runner.spec.name
        return SolverFailure(f'sub_solver="{name}" did not solve the block of {self._names} ({message}).', name)


def has_integers(block: SubBlock) -> bool:
    """Tell whether a block has a free integer variable."""
    return any(not v.is_continuous() for v in block.variables)


def _left(end: float | None) -> Any:
    return None if end is None else end - time.perf_counter()
