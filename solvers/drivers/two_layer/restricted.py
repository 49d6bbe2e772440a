"""Who solves the restricted problems of "two-layer": over columns or groups, on matrices or by any solver's name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import pyomo.environ as pyo
import scipy
from numpy.typing import NDArray

from solvers.drivers.two_layer.columns import Polytope, Restricted, solve_columns, weighed
from solvers.drivers.two_layer.groups import Groups, solve_groups
from solvers.drivers.two_layer.saddle_point import solve_saddle
from solvers.drivers.two_layer.working_set import WorkingSet
from solvers.errors import OptionError
from solvers.interfaces.registry import called, entry
from solvers.interfaces.runner import Runner, SolveOptions
from solvers.options import Config

FloatArray = NDArray[np.float64]

DIRECT = "clarabel"


class RestrictedSolver(Protocol):
    """Solves the restricted problem of a working set, for a budget B and a weight C."""

    def solve(
        self,
        work: WorkingSet,
        budget: int,
        C: float,
        accuracy: float,
        time_limit: float | None,
        within: Polytope | None = None,
    ) -> Restricted | None:
        """Return multipliers of the rows and the point that goes with them, None where the solver has no answer.

        ``within``: what restricts the shares of the columns, where that is not the budget alone.
        """
        ...


class ByColumns:
    """(5) over all columns in use."""

    def solve(
        self,
        work: WorkingSet,
        budget: int,
        C: float,
        accuracy: float,
        time_limit: float | None,
        within: Polytope | None = None,
    ) -> Restricted | None:
        """Solve it by the interior point of its own, or, where that does not get there, by Clarabel."""
        found = solve_saddle(work.P, work.q, budget, C, accuracy=accuracy, within=within)
        return found or solve_columns(
            work.P, work.q, budget, C, accuracy=accuracy, time_limit=time_limit, within=within
        )


class ByGroups:
    """(16) over the groups: by Clarabel on matrices, or by any solver on the Pyomo model that ``build`` makes."""

    def __init__(self, solver: Any, build: Callable[..., pyo.ConcreteModel] | None, words: Config) -> None:
        self.name, self.build = called(solver), build
        if solver == DIRECT:
            return
        if build is None:
            raise OptionError(
                f'master_solver="{self.name}" needs the Pyomo model of (16), which this model does not bring.'
            )
        self.spec = entry(solver)
        own, tee = words.own("master"), words.shows("master")
        self.words = SolveOptions(threads=words.threads, seed=words.seed, tee=tee, own=own)

    def solve(
        self,
        work: WorkingSet,
        budget: int,
        C: float,
        accuracy: float,
        time_limit: float | None,
        within: Polytope | None = None,
    ) -> Restricted | None:
        """Solve it, always as accurately as can be; of restrictions it knows the budget alone."""
        if not hasattr(self, "spec"):
            answer = solve_groups(work.P, work.q, work.groups, C, time_limit=time_limit)
            if answer is None:
                return None
            return _restricted(work, answer.alpha, answer.shares)
        assert self.build is not None
        model = self.build(work.P, work.q, work.groups, C)
        said = Runner(self.spec, replace(self.words, time_limit=time_limit)).solve(model)
        if not said.has_point:
            return None
        alpha = weighed(np.array([pyo.value(v) for v in model.alpha.values()]), C)
        return _restricted(work, alpha, shares_of(alpha, work.P, work.q, work.groups, C))


def _restricted(work: WorkingSet, alpha: FloatArray, shares: FloatArray) -> Restricted:
    """Return the point of (15): w = -d o P'alpha, with d the shares of each column's groups."""
    d = np.zeros(len(work.columns))
    for mu, t in zip(shares.tolist(), work.groups, strict=True):
        d[t] += mu
    return Restricted(alpha, -d * (alpha @ work.P), d, shares)


def shares_of(alpha: FloatArray, P: FloatArray, q: FloatArray, groups: Groups, C: float) -> FloatArray:
    """Return the shares mu that go with an optimal alpha, for solvers without multipliers of quadratic rows.

    Of all w = -sum_t mu_t P_t' alpha, those of least value in (15): with ``||P_t' alpha||`` the same for all groups
    that count, a linear program in mu and xi.
    """
    along = -(alpha @ P)
    sizes = np.array([float(along[t] @ along[t]) for t in groups])
    slopes = np.column_stack([P[:, t] @ along[t] for t in groups])
    T = len(groups)
    answer = scipy.optimize.linprog(
        np.r_[0.5 * sizes, C],
        A_ub=np.hstack([slopes, -np.ones((len(q), 1))]),
        b_ub=-q,
        A_eq=np.r_[np.ones(T), 0.0][None],
        b_eq=[1.0],
        bounds=[(0, None)] * (T + 1),
        method="highs",
    )
    return np.asarray(answer.x[:T]) if answer.x is not None else np.full(T, 1.0 / T)
