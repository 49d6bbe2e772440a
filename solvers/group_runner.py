"""Who solves the group problems (16): Clarabel on matrices, or any solver by name on the Pyomo model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from scipy.optimize import linprog

from solvers.driver import Config
from solvers.errors import OptionError
from solvers.group_problem import GroupAnswer, Groups, feasible, solve_groups
from solvers.interfaces import Runner, SolveOptions
from solvers.registry import find

FloatArray = NDArray[np.float64]

DIRECT = "clarabel"


class GroupSolver:
    """Solves (16) again and again."""

    def __init__(self, name: str, build: Callable[..., pyo.ConcreteModel] | None, words: Config) -> None:
        self.name, self.build, self._guess = name, build, 0.0
        if name == DIRECT:
            return
        if build is None:
            raise OptionError(f'sub_solver="{name}" needs the Pyomo model of (16), which this model does not bring.')
        self.spec = find(name)
        self.words = SolveOptions(threads=words.threads, seed=words.seed)

    def solve(
        self, P: FloatArray, q: FloatArray, groups: Groups, C: float, time_limit: float | None
    ) -> GroupAnswer | None:
        """Return multipliers and shares, None where the solver has no answer."""
        if self.name == DIRECT:
            found = solve_groups(P, q, groups, C, guess=self._guess, time_limit=time_limit)
            if found is not None:
                self._guess = float(found.alpha.sum())
            return found
        assert self.build is not None
        model = self.build(P, q, groups, C)
        answer = Runner(self.spec, SolveOptions(time_limit, threads=self.words.threads, seed=self.words.seed)).solve(
            model
        )
        if not answer.has_point:
            return None
        alpha = np.array([pyo.value(v) for v in model.alpha.values()])
        found = feasible(alpha, np.ones(len(groups)), C)
        return GroupAnswer(found.alpha, shares_of(found.alpha, P, q, groups, C))


def shares_of(alpha: FloatArray, P: FloatArray, q: FloatArray, groups: Groups, C: float) -> FloatArray:
    """Return the shares mu that go with an optimal alpha, for solvers without multipliers of quadratic rows.

    Of all w = -sum_t mu_t P_t' alpha, those of least value in (15): with ``||P_t' alpha||`` the same for all groups
    that count, a linear program in mu and xi.
    """
    along = -(alpha @ P)
    sizes = np.array([float(along[t] @ along[t]) for t in groups])
    slopes = np.column_stack([P[:, t] @ along[t] for t in groups])
    T = len(groups)
    answer = linprog(
        np.r_[0.5 * sizes, C],
        A_ub=np.hstack([slopes, -np.ones((len(q), 1))]),
        b_ub=-q,
        A_eq=np.r_[np.ones(T), 0.0][None],
        b_eq=[1.0],
        bounds=[(0, None)] * (T + 1),
        method="highs",
    )
    return np.asarray(answer.x[:T]) if answer.x is not None else np.full(T, 1.0 / T)
