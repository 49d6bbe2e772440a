r"""The continuous relaxation of exact selection in one interior point: sigma, weights and multipliers together.

Problem
    For a linear master with bounds lo <= x <= up (sigma first, then whatever the user added) and rows A x <= b, =:

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

    so that the system for (da, dw, db) is that of SUB with E in place of sigma, and a small one for dtheta borders it.
    An edited SUB, with bounds on weights and rows of its own, is in ``problem`` and ``iterates``.
    With the squared hinge xi = alpha / (2C), so that the pair beta, xi is gone: Z w + y b + alpha/(2C) - s = e, and the
    diagonal of da is s/alpha + 1/(2C) in place of s/alpha + xi/beta; e'alpha is less sum alpha_i^2/(4C_i) in (*).

    An iteration costs what one of SUB costs: the whole relaxation about as much as two subproblems, where cutting
    planes need 30 to 150. Measured, to 1e-5, in numpy: 12 iterations and 13 ms at 1000 x 100, 0.3 s at 1000 x 800.

    A relaxation is asked with few columns and samples (``neighbours``, ``problem``, both guessing from the nearest of
    ``neighbours``), proven on all of them, and asked again with those that it missed.

    The same loop exists twice: ``loop`` is compiled, for the many small nodes of a tree (on wdbc 30 us an iteration,
    500 in numpy, most of them calls); ``iterates`` is in numpy, for everything else and as the reference. Their results
    are proven from the data, by ``bounds`` and by ``problem``, which agree. The compiled modules are optional: without
    a C compiler the package installs without them, and numpy answers.
"""

from __future__ import annotations

import logging
import math
import time
from functools import cache

import numpy as np

from fsmodels.models.fsp.oracle.iterates import Iterates
from fsmodels.models.fsp.oracle.problem import JointProblem, Relaxed, Rows, Screened, Terms, lost, narrowed
from fsmodels.models.proofs.svm import TINY, Array

try:
    import fsmodels.models.fsp.oracle.bounds as bounds
    import fsmodels.models.fsp.oracle.loop as loop
except ImportError:  # installed without a C compiler
    bounds = loop = None

__all__ = [
    "Relaxed",
    "Rows",
    "Terms",
    "at_once",
    "compiled",
    "minimise",
    "most_iterations",
]

ITERATION_LIMIT = 60
PATIENCE = 12  # iterations without a better gap
COMPILED = 200  # most columns of the compiled loop
PACE = 1e9  # of its multiplications a second, on the slow side
AIM = 1e-9  # by how much more than enough it aims
NOT_COMPILED = (
    "The compiled part of fsmodels is not installed: selections by fsp models take 3 to 20 times longer. "
    "Install a C compiler (Debian: apt install gcc), then fsmodels again with pip install --force-reinstall --no-deps."
)

logger = logging.getLogger("fsmodels")


def minimise(
    columns: Array,
    where: Array,
    terms: Terms,
    cost: Array,
    rows: Rows,
    lower: Array,
    upper: Array,
    *,
    accuracy: float,
    enough: float,
    deadline: float,
    part: Screened | None = None,
    among: Array | None = None,
) -> Relaxed | None:
    """Minimise over x in numpy; None where the interior point breaks down or does not converge.

    - ``columns``: centred columns of X for the sigma that may be above 0.
    - ``where`` (k,): their positions in x.
    - ``terms``: what SUB says of samples and of these columns' weights.
    - ``cost``, ``lower``, ``upper`` (m,): of x; bounds finite.
    - ``accuracy``: relative gap to reach.
    - ``enough``: a proven bound at which to stop.
    - ``deadline``: in ``time.perf_counter``'s seconds.
    - ``part``, ``among``: the samples and the columns (positions in ``where``) to work with, all where None. The bound
      is proven all the same; ``left_out`` tells whether they were enough.
    """
    problem = JointProblem(columns, where, terms, cost, rows, lower, upper)
    run = Iterates(problem, part, np.arange(where.size) if among is None else among)
    smallest, patience = math.inf, PATIENCE
    for iteration in range(ITERATION_LIMIT):
        gap = run.gap()
        if not math.isfinite(gap):
            return None
        patience = PATIENCE if gap < 0.9 * smallest else patience - 1
        smallest = min(gap, smallest)
        if run.bound_estimate >= enough or gap <= accuracy:
            proven = run.proven(gap, iteration)
            if proven.bound >= enough or gap <= accuracy or max(proven.left_out) > accuracy:
                return proven
        if patience == 0 or time.perf_counter() >= deadline or not run.step():
            return None
    return None


@cache
def compiled() -> bool:
    """Return whether the compiled loop is installed; warn once where it is not."""
    if loop is None:
        logger.warning(NOT_COMPILED)
    return loop is not None


def most_iterations(samples: int, columns: int, left: float) -> int:
    """Return how many iterations may be run that nothing can break off."""
    return int(max(0, min(ITERATION_LIMIT, left * PACE / (samples * (columns + 10) ** 2))))


def at_once(
    along: tuple[Array, Array],
    where: Array,
    terms: Terms,
    cost: Array,
    rows: Rows,
    lower: Array,
    upper: Array,
    *,
    accuracy: float,
    enough: float,
    deadline: float,
    part: Screened | None = None,
    among: Array | None = None,
) -> Relaxed | None:
    """Do what ``minimise`` does by the compiled loop; None where it breaks down, or would not be in time.

    ``along``: diag(y) times centred columns, transposed, and which of its rows belong to ``where``.
    """
    left = deadline - time.perf_counter()
    y, plain = terms.y, not terms.edited and rows.weights is None
    whole = among is None or among.size == where.size
    among = np.arange(where.size) if among is None else among
    which, stay = along[1], where
    own, own_rows, most = terms, rows, upper
    if not whole:
        which, stay, own, own_rows = which[among], where[among], terms.of(among), rows.of(among)
        most = narrowed(upper, where, stay)
    if part is None:
        kept, far, start = np.arange(y.size), np.empty(0, dtype=np.int64), None
    else:
        kept, far, start = part.kept, part.at_bound, np.append(part.w[stay], part.offset)
    cost, lower, upper, most = (np.ascontiguousarray(a, dtype=float) for a in (cost, lower, upper, most))
    node = loop.Node(along[0], which, stay, own, cost, own_rows, lower, most, kept, far, start)
    # The second goal is for where what was enough by its own numbers is not by the proof.
    goals = (enough + AIM * abs(enough), math.inf) if math.isfinite(enough) else (math.inf,)
    for goal in goals:
        if not node.advance(accuracy, goal, most_iterations(kept.size, stay.size, left)):
            return None
        alpha, x, own_w, theta, margins, gap = node.solution()
        if plain:
            bound, alpha, reduced_costs, v = bounds.relaxed(
                *along, where, y, terms.loss.C, cost, rows, lower, upper, alpha, theta, terms.loss.squared,
                terms.loss.free_b,
            )  # fmt: skip
        else:
            columns = (along[0][along[1]] * y).T
            problem, v = JointProblem(columns, where, terms, cost, rows, lower, upper), None
            bound, alpha, theta, reduced_costs = problem.proven(alpha, theta)
        scale = max(abs(node.value), TINY)
        left_out = (
            gap - (node.value - node.bound) / scale,
            (0.0 if whole else lost(reduced_costs, upper, where, stay) / scale),
        )
        if bound >= enough or not math.isfinite(goal) or node.bound < goal or max(left_out) > accuracy:
            w = np.zeros(where.size)
            w[among] = own_w
            return Relaxed(
                bound, x, alpha, theta, reduced_costs, gap + left_out[1], left_out, node.iterations, margins, w,
                node.offset, terms.gained(alpha), v
            )  # fmt: skip
    return None
