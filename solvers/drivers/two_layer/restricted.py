r"""Who solves the restricted problems of "two-layer": over columns or groups, on matrices or by any solver's name.

``solve_groups`` solves the restricted problem (15), (16) of Mao and Tsang as a conic program that keeps its scale.

For K rows ``xi >= q_k + p_k.w`` and T groups of columns, each a set t with its share p_k restricted to it,

.. math::
    \min_{w_t, \xi \ge 0}\ \tfrac12 \Bigl(\textstyle\sum_t \lVert w_t \rVert\Bigr)^2 + C \xi \quad \text{s.t.} \quad
    \xi \ge q_k + \textstyle\sum_t p_{kt} \cdot w_t \ \ \forall k

with a cone for each group and their sum as one variable. With w in units of q_max / (largest ||p_k||), and an objective
in units of the smaller of its two parts there, all entries are of order 1. The multipliers of the rows are alpha; the
norms of the w_t over their sum are the shares mu of (16), where ``w_t = -mu_t P_t' alpha``.

The dual (16), scaled as ``||P_t' beta|| <= gamma``, is smaller, but where C is far above what alpha sums to (separable
data) Clarabel stopped at 1e-2 of it: measured on 80 such instances, 28 ended short of a gap of 1e-5, and none this way.

Source: Mao, Tsang 2013, "A feature selection method for multivariate performance measures", (15), (16).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
import scipy
from numpy.typing import NDArray
from scipy import sparse

from solvers.clarabel.engine import solve_qp
from solvers.drivers.two_layer.columns import Polytope, Restricted, largest_row, solve_columns, weighed, without_slopes
from solvers.drivers.two_layer.saddle_point import solve_saddle
from solvers.drivers.two_layer.working_set import WorkingSet
from solvers.errors import OptionError
from solvers.interfaces.registry import called, entry
from solvers.interfaces.runner import Runner, SolveOptions
from solvers.options import Config

FloatArray = NDArray[np.float64]
Groups = Sequence[NDArray[np.intp]]

ACCURACY = 1e-13  # relative, aimed at; the bounds are taken from data, so that a poor answer costs rounds, not truth
NOTHING = 1e-12  # of d


@dataclass(frozen=True)
class GroupAnswer:
    """``alpha`` (K,) >= 0 with a sum of at most C, and ``shares`` (T,) >= 0 with the sum 1."""

    alpha: FloatArray
    shares: FloatArray


def solve_groups(
    P: FloatArray, q: FloatArray, groups: Groups, C: float, *, time_limit: float | None = None
) -> GroupAnswer | None:
    """Solve (15); None where the solver finds no answer.

    ``P``, ``q`` and ``C`` as for ``columns.solve_columns``; ``groups``: columns of each group; ``time_limit``: seconds.

    One cut xi >= 1 - 2 w of one column, C = 1: w = 1/2.

    >>> answer = solve_groups(np.array([[-2.0]]), np.array([1.0]), [np.array([0])], C=1.0)
    >>> answer.alpha.round(6), answer.shares.round(6)
    (array([0.25]), array([1.]))
    """
    K, T = len(q), len(groups)
    size, top = largest_row(P), float(q.max(initial=0.0))
    if (alpha := without_slopes(q, C, size)) is not None:
        return GroupAnswer(alpha, np.full(T, 1.0 / T))
    tall = np.array([len(t) for t in groups])
    W = int(tall.sum())  # variables: w, the T norms, their sum, xi
    members = np.concatenate(groups)
    ones = np.ones(T)
    rows = np.hstack([P[:, members] / size, np.zeros((K, T + 1)), np.full((K, 1), -1.0)])
    start = np.concatenate([[0], np.cumsum(tall + 1)])[:-1]  # of each cone: its norm, then its weights
    places = np.delete(np.arange(W + T), start)
    cones = sparse.csr_array(
        (np.full(W + T, -1.0), (np.r_[start, places], np.r_[W + np.arange(T), np.arange(W)])), shape=(W + T, W + T + 2)
    )
    linear = [np.r_[np.zeros(W), ones, -1.0, 0.0][None], rows, np.r_[np.zeros(W + T + 1), -1.0][None]]
    A = sparse.vstack([sparse.csr_array(np.vstack(linear)), cones], format="csc")
    b = np.r_[0.0, -q / top, 0.0, np.zeros(W + T)]
    unit = (top / size) ** 2
    price = min(unit, C * top)
    n = W + T + 2
    hessian = sparse.csc_array((np.array([unit / price]), ([n - 2], [n - 2])), shape=(n, n))
    cost = np.r_[np.zeros(n - 1), C * top / price]
    kinds = [("zero", 1), ("nonnegative", K + 1), *(("second-order", int(k) + 1) for k in tall)]
    found = solve_qp(hessian, cost, A, b, kinds, accuracy=ACCURACY, time_limit=time_limit)
    if not found.finite:
        return None
    norms = np.sqrt(np.add.reduceat(found.x[:W] ** 2, np.concatenate([[0], np.cumsum(tall)])[:-1]))
    return feasible(found.z[1 : 1 + K] * (price / top), norms, C)


def refined(P: FloatArray, q: FloatArray, d: FloatArray, C: float, time_limit: float | None = None) -> FloatArray:
    """Return w (columns,) of least ``1/2 sum w_j^2 / d_j + C xi`` for given d: a quadratic program, solved to the end.

    The shares of (16) come with an error that the rows' price C magnifies. The value depends on d to second order only.

    >>> refined(np.array([[-2.0]]), np.array([1.0]), np.array([1.0]), C=1.0).round(9)
    array([0.5])
    """
    K, use = len(q), np.flatnonzero(d > NOTHING)
    root, w = np.sqrt(d[use]), np.zeros(len(d))
    slopes = P[:, use] * root  # of w_j / sqrt(d_j)
    size, top = largest_row(slopes), float(q.max(initial=0.0))
    if size == 0.0 or top <= 0.0:
        return w
    unit = top / size
    price = min(unit**2, C * top)  # the objective's, so that neither of its parts is lost
    F = len(use)
    A = sparse.csc_array(np.vstack([np.c_[slopes / size, np.full(K, -1.0)], np.r_[np.zeros(F), -1.0][None]]))
    hessian = sparse.dia_array((np.r_[np.full(F, unit**2 / price), 0.0][None], [0]), shape=(F + 1, F + 1)).tocsc()
    cost, b = np.r_[np.zeros(F), C * top / price], np.r_[-q / top, 0.0]
    found = solve_qp(hessian, cost, A, b, [("nonnegative", K + 1)], accuracy=ACCURACY, time_limit=time_limit)
    point = found.x[:F]
    if np.all(np.isfinite(point)):
        w[use] = root * point * unit
    return w


def feasible(alpha: FloatArray, shares: FloatArray, C: float) -> GroupAnswer:
    """Return a solver's multipliers projected onto alpha >= 0, sum alpha <= C, sum mu = 1."""
    shares = np.maximum(shares, 0.0)
    whole = float(shares.sum())
    return GroupAnswer(weighed(alpha, C), shares / whole if whole > 0 else np.full(len(shares), 1.0 / len(shares)))


DIRECT = "clarabel"


def solve_by_columns(
    work: WorkingSet, budget: int, C: float, accuracy: float, time_limit: float | None, within: Polytope | None = None
) -> Restricted | None:
    """Solve (5) over all columns in use by the own interior-point method, or by Clarabel where that fails.

    ``within``: restrictions of the shares other than the budget. Return None where both fail.
    """
    found = solve_saddle(work.P, work.q, budget, C, accuracy=accuracy, within=within)
    return found or solve_columns(work.P, work.q, budget, C, accuracy=accuracy, time_limit=time_limit, within=within)


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
        within: Polytope | None,
    ) -> Restricted | None:
        """Solve it as accurately as possible, with the budget as the only restriction."""
        if not hasattr(self, "spec"):
            answer = solve_groups(work.P, work.q, work.groups, C, time_limit=time_limit)
            return None if answer is None else _restricted(work, answer.alpha, answer.shares)
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
