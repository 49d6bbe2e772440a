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
    An edited SUB, with bounds on weights and rows of its own, is in ``problem`` and ``boxes``.
    With the squared hinge xi = alpha / (2C), so that the pair beta, xi is gone: Z w + y b + alpha/(2C) - s = e, and the
    diagonal of da is s/alpha + 1/(2C) in place of s/alpha + xi/beta; e'alpha is less sum alpha_i^2/(4C_i) in (*).

    An iteration costs what one of SUB costs: the whole relaxation about as much as two subproblems, where cutting
    planes need 30 to 150. Measured, to 1e-5, in numpy: 12 iterations and 13 ms at 1000 x 100, 0.3 s at 1000 x 800.

    A relaxation is asked with few columns and samples (``pricing``, ``screening``, both guessing from the nearest of
    ``neighbours``), proven on all of them, and asked again with those that it missed.

    The same loop stands twice: ``compiled`` for the many small questions of a tree (on wdbc 30 us an iteration, 500 in
    numpy, most of them calls), ``iterates`` in numpy for all else, and as its reference. What they end with is proven
    from the data, by ``certified`` and by ``problem``, which say the same.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np

from fsmodels.models.fsp.oracle.iterates import Iterates
from fsmodels.models.fsp.oracle.problem import JointProblem, Relaxed, Rows, Terms, lost, narrowed
from fsmodels.models.fsp.oracle.screening import Screened
from fsmodels.models.proofs.svm import TINY, Array
from solvers import interrupt, progress

__all__ = [
    "AtSupport",
    "Relaxed",
    "Rows",
    "Terms",
    "at_once",
    "at_support",
    "compiled_loop",
    "minimise",
    "most_iterations",
]

ITERATION_LIMIT = 60
PATIENCE = 12  # iterations without a better gap
COMPILED = 200  # most columns of the compiled loop
PACE = 1e9  # of its multiplications a second, on the slow side
COMPILING = 60.0  # s left from which on there is time to compile it, which takes 5 to 15 once
AIM = 1e-9  # by how much more than enough it aims

P = ParamSpec("P")
Said = TypeVar("Said")


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
def _loaded() -> Any:
    try:
        from fsmodels.models.fsp.oracle import compiled
    except (ImportError, RuntimeError):  # no numba, or nowhere that it may keep what it compiles
        return None
    return compiled


def compiled_loop(left: float) -> Any:
    """Return the compiled loop; None where there is no numba, or it would be compiled first and little time is left."""
    kernel = _loaded()
    return kernel if kernel is not None and (left > COMPILING or kernel.ready()) else None


def _tells(question: Callable[P, Said]) -> Callable[P, Said]:
    """Tell whoever watches where what is called will be compiled first, and let Ctrl-C wait for the first answer.

    Half of what numba loads or compiles cannot be completed: every later call in the process would fail.
    """
    loaded = False

    @wraps(question)
    def told(*words: P.args, **more: P.kwargs) -> Said:
        nonlocal loaded
        if loaded:
            return question(*words, **more)
        kernel = _loaded() if progress.watched() else None
        with interrupt.finishing():
            if kernel is None or kernel.ready():
                said = question(*words, **more)
            else:
                with progress.doing("compiling the inner loop, once on this machine"):
                    said = question(*words, **more)
        loaded = said is not None or _loaded() is None
        return said

    return told


class AtSupport(NamedTuple):
    """SUB at a support: value of w (k,) and its b, bound of alpha; v of all rows that the loop was given."""

    value: float
    b: float
    bound: float
    alpha: Array
    v: Array
    w: Array
    iterations: int


@_tells
def at_support(
    along: tuple[Array, Array], sigma: Array, terms: Terms, tolerance: float, left: float
) -> AtSupport | None:
    """Solve SUB as built at ``sigma`` > 0 of shape (k,); None where the compiled loop has no answer."""
    kernel = compiled_loop(left)
    if kernel is None:
        return None
    nothing, k, y, C = np.empty(0, dtype=np.int64), sigma.size, terms.y, terms.loss.C
    end, numbers, alpha, _, w, _, _ = next(
        kernel.node(
            *along, np.arange(k), y, C, np.zeros(k), np.empty((0, k)), np.empty(0), np.empty(0, dtype=bool), sigma,
            sigma, np.arange(y.size), nothing, False, np.zeros(k + 1), tolerance, (math.inf,),
            most_iterations(y.size, k, left), terms.need, np.empty((0, k)), np.empty(0), terms.slope, terms.least,
            terms.largest, terms.shift, terms.loss.squared,
        )
    )  # fmt: skip
    if end != kernel.DONE:
        return None
    value, b, bound, alpha, v = kernel.certified.supported(
        *along, sigma, y, C, alpha, w, terms.loss.squared, terms.loss.free_b
    )
    return AtSupport(value, b, bound, alpha, v, w, int(numbers[6]))


def most_iterations(samples: int, columns: int, left: float) -> int:
    """Return how many iterations may be run that nothing can break off."""
    return int(max(0, min(ITERATION_LIMIT, left * PACE / (samples * (columns + 10) ** 2))))


@_tells
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
    """Do what ``minimise`` does by the compiled loop; None where it cannot, or would not be in time.

    ``along``: diag(y) times centred columns, transposed, and which of its rows belong to ``where``.
    """
    left = deadline - time.perf_counter()
    kernel = compiled_loop(left)
    if kernel is None:
        return None
    y, C, plain = terms.y, terms.loss.C, not terms.edited and rows.weights is None
    whole = among is None or among.size == where.size
    among = np.arange(where.size) if among is None else among
    which, stay = along[1], where
    own, own_rows, most = terms, rows, upper
    if not whole:
        which, stay, own, own_rows = which[among], where[among], terms.of(among), rows.of(among)
        most = narrowed(upper, where, stay)
    if part is None:
        kept, far, start = np.arange(y.size), np.empty(0, dtype=np.int64), np.zeros(stay.size + 1)
    else:
        kept, far, start = part.kept, part.at_bound, np.append(part.w[stay], part.offset)
    cost, lower, upper, most = (np.ascontiguousarray(a, dtype=float) for a in (cost, lower, upper, most))
    # The second goal is for where what was enough by its own numbers is not by the proof.
    goals = (enough + AIM * abs(enough), math.inf) if math.isfinite(enough) else (math.inf,)
    for goal, (end, numbers, alpha, x, own_w, theta, margins) in zip(
        goals,
        kernel.node(
            along[0], which, stay, y, C, cost, *rows.arrays, lower, most, kept, far,
            part is not None, start, accuracy, goals, most_iterations(kept.size, stay.size, left), own.need,
            *own_rows.beside(stay.size), own.slope, own.least, own.largest, own.shift, own.loss.squared,
        ),
        strict=False,
    ):  # fmt: skip
        if end != kernel.DONE:
            return None
        if plain:
            bound, alpha, reduced_costs, v = kernel.certified.relaxed(
                *along, where, y, C, cost, *rows.arrays, lower, upper, alpha, theta, terms.loss.squared,
                terms.loss.free_b,
            )  # fmt: skip
        else:
            columns = (along[0][along[1]] * y).T
            problem, v = JointProblem(columns, where, terms, cost, rows, lower, upper), None
            bound, alpha, theta, reduced_costs = problem.proven(alpha, theta)
        offset, gap, value, own_bound, _, _, iterations = numbers.tolist()
        scale = max(abs(value), TINY)
        left_out = gap - (value - own_bound) / scale, 0.0 if whole else lost(reduced_costs, upper, where, stay) / scale
        if bound >= enough or not math.isfinite(goal) or own_bound < goal or max(left_out) > accuracy:
            w = np.zeros(where.size)
            w[among] = own_w
            gap, constant = gap + left_out[1], terms.gained(alpha)
            return Relaxed(
                bound, x, alpha, theta, reduced_costs, gap, left_out, int(iterations), margins, w, offset, constant, v
            )
    return None
