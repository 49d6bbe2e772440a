r"""Continuous relaxation of exact selection by one interior point method in sigma, weights and multipliers.

Problem
    For a linear master with bounds lo <= x <= up (sigma first, then the variables of the user) and rows A x <= b, =:

    .. math::
        \min_x\ c^\top x + q(\sigma), \quad q(\sigma) = \max_\alpha \{ e^\top \alpha - \tfrac12 \sum_j \sigma_j v_j^2 :
        v = Z^\top \alpha,\ y^\top \alpha = 0,\ 0 \le \alpha \le C \},\ Z = \mathrm{diag}(y) X.

    q is convex in sigma and concave in alpha, so this is a saddle point; with theta for the rows (at least 0 for <=):

    .. math::
        \max_{\alpha, \theta}\ e^\top \alpha - b^\top \theta
        + \sum_j \min_{lo_j \le x_j \le up_j} (c_j + A_j^\top \theta - \tfrac12 v_j^2) x_j            && (*)

    Any feasible (alpha, theta) proves the bound (*), by weak duality, and its brackets are reduced costs. The cut of
    alpha is tight at the relaxation's optimum.
Method
    Mehrotra's predictor and corrector on the optimality conditions (products by component -> mu) ::

        v = Z' alpha     y' alpha = 0     w = sigma v     Z w + y b + xi - s = e     alpha + beta = C
        alpha s   beta xi                                                        (margins, as in SUB)
        r + 1/2 v^2 = c + A' theta + zeta     (x - lo) r   (up - x) zeta         (reduced costs of x)
        A x + kappa = b                       theta kappa                        (rows; kappa = 0 where =)

    With h = 1/(r/(x - lo) + zeta/(up - x)), the x block is diagonal and leaves, for the free sigma ::

        dx = h (v dv - A' dtheta + g)        dw = (sigma + h v^2) dv - h v A' dtheta + c'
        E = sigma + h v^2,    E^-1 dw = Z' da - P dtheta + E^-1 c',    P = E^-1 h v A'

    so the system for (da, dw, db) is that of SUB with E instead of sigma, bordered by a small one for dtheta.
    ``problem`` and ``iterates`` describe an edited SUB, with bounds on weights and further rows.
    With the squared hinge xi = alpha / (2C), and the pair beta, xi does not exist: Z w + y b + alpha/(2C) - s = e. The
    diagonal of da is s/alpha + 1/(2C) instead of s/alpha + xi/beta, and (*) contains e'alpha - sum alpha_i^2/(4C_i).

    An iteration costs as much as one of SUB, and the whole relaxation about as much as two subproblems; cutting planes
    need 30 to 150. Measured, to 1e-5, in numpy: 12 iterations and 13 ms at 1000 x 100, 0.3 s at 1000 x 800.

    A relaxation is first solved with few columns and samples (``neighbours`` and ``problem`` choose them by the nearest
    solved relaxation). The bound is proven on all of them. If some that were left out matter, it is solved again.

    There are two implementations. ``loop`` is compiled, for the many small nodes of a tree (on wdbc 30 us per
    iteration; numpy takes 500, mostly for calls). ``iterates`` is in numpy, for all other cases and as the reference.
    The bounds of both are computed from the data, by ``bounds`` and by ``problem``, which agree. The compiled modules
    are optional: without a C compiler the package installs without them and uses numpy.
"""

from __future__ import annotations

import logging
import math
import time
from functools import cache
from typing import NamedTuple

import numpy as np

from fsmodels.models.fsp.oracle.iterates import Iterates
from fsmodels.models.fsp.oracle.problem import JointProblem, Relaxed, Screened, lost
from fsmodels.models.proofs.svm import TINY, Array

try:
    import fsmodels.models.fsp.oracle.bounds as bounds
    import fsmodels.models.fsp.oracle.loop as loop
except ImportError:  # installed without a C compiler
    bounds = loop = None

ITERATION_LIMIT = 60
PATIENCE = 12  # iterations without a better gap
COMPILED = 200  # maximum number of columns of the compiled loop
PACE = 1e9  # its multiplications per second, a low estimate
AIM = 1e-9  # relative increase of ``enough`` for the loop
NOT_COMPILED = (
    "The compiled part of fsmodels is not installed: selections by fsp models take 3 to 20 times longer. "
    "Install a C compiler (Debian: apt install gcc), then fsmodels again with pip install --force-reinstall --no-deps."
)

logger = logging.getLogger("fsmodels")


class Goal(NamedTuple):
    """Stopping rule of a relaxation.

    ``accuracy``: relative gap to reach. ``enough``: a proven bound at which to stop. ``deadline``: in seconds of
    ``time.perf_counter``.
    """

    accuracy: float
    enough: float = math.inf
    deadline: float = math.inf


def minimise(
    problem: JointProblem, goal: Goal, part: Screened | None = None, among: Array | None = None
) -> Relaxed | None:
    """Minimise over x in numpy; return None if the interior point method fails.

    ``part``, ``among``: the samples and the columns (positions in ``problem.where``) to use; None for all. The bound is
    valid in any case; ``left_out`` of the result shows whether they were sufficient.
    """
    run = Iterates(problem, part, np.arange(problem.where.size) if among is None else among)
    smallest, patience = math.inf, PATIENCE
    for iteration in range(ITERATION_LIMIT):
        gap = run.gap()
        if not math.isfinite(gap):
            return None
        patience = PATIENCE if gap < 0.9 * smallest else patience - 1
        smallest = min(gap, smallest)
        if run.bound_estimate >= goal.enough or gap <= goal.accuracy:
            proven = run.proven(gap, iteration)
            if proven.bound >= goal.enough or gap <= goal.accuracy or max(proven.left_out) > goal.accuracy:
                return proven
        if patience == 0 or time.perf_counter() >= goal.deadline or not run.step():
            return None
    return None


@cache
def compiled() -> bool:
    """Return True if the compiled loop is installed; otherwise warn once."""
    if loop is None:
        logger.warning(NOT_COMPILED)
    return loop is not None


def most_iterations(samples: int, columns: int, left: float) -> int:
    """Return the number of iterations that fit into the time left; compiled iterations cannot be interrupted."""
    return int(max(0, min(ITERATION_LIMIT, left * PACE / (samples * (columns + 10) ** 2))))


def minimise_compiled(
    data: tuple[Array, Array],
    problem: JointProblem,
    goal: Goal,
    part: Screened | None = None,
    among: Array | None = None,
) -> Relaxed | None:
    """Do the same as ``minimise`` in compiled code; return None if it fails or the time does not suffice.

    ``data``: diag(y) times centred columns, transposed, and the rows of it that belong to ``problem.where``.
    """
    (Z, which), where, terms, left = data, problem.where, problem.terms, goal.deadline - time.perf_counter()
    y, rows, enough = terms.y, problem.rows, goal.enough
    whole = among is None or among.size == where.size
    among = np.arange(where.size) if among is None else among
    narrow = problem if whole else problem.among(among)
    stay = narrow.where
    if part is None:
        kept, far, start = np.arange(y.size), np.empty(0, dtype=np.int64), None
    else:
        kept, far, start = part.kept, part.at_bound, np.append(part.w[stay], part.offset)
    cost, lower, upper, most = (
        np.ascontiguousarray(a, dtype=float) for a in (problem.cost, problem.lower, problem.upper, narrow.upper)
    )
    used = which if whole else which[among]
    node = loop.Node(Z, used, stay, narrow.terms, cost, narrow.rows, lower, most, kept, far, start)
    # The second goal is needed if the bound of the iterate is sufficient but the proven bound is not.
    goals = (enough + AIM * abs(enough), math.inf) if math.isfinite(enough) else (math.inf,)
    for aim in goals:
        if not node.advance(goal.accuracy, aim, most_iterations(kept.size, stay.size, left)):
            return None
        alpha, x, own_w, theta, margins, gap = node.solution()
        if not terms.edited and rows.weights is None:
            bound, alpha, reduced_costs, v = bounds.relaxed(
                Z, which, where, y, terms.loss.C, cost, rows, lower, upper, alpha, theta, terms.loss.squared,
                terms.loss.free_b,
            )  # fmt: skip
        else:
            v = None
            bound, alpha, theta, reduced_costs = problem.proven(alpha, theta)
        scale = max(abs(node.value), TINY)
        left_out = (
            gap - (node.value - node.bound) / scale,
            (0.0 if whole else lost(reduced_costs, upper, where, stay) / scale),
        )
        if bound >= enough or not math.isfinite(aim) or node.bound < aim or max(left_out) > goal.accuracy:
            w = np.zeros(where.size)
            w[among] = own_w
            return Relaxed(
                bound, x, alpha, theta, reduced_costs, gap + left_out[1], left_out, node.iterations, margins, w,
                node.offset, terms.gained(alpha), v
            )  # fmt: skip
    return None
