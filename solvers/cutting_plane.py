r"""Cutting planes for a convex function over a polyhedron, with in-out stabilisation.

    min { c.z + q(x) : z = (x, u) in P },  q convex, given by an oracle of values and cuts.

    0. Take a point of P as centre.
    1. Ask the oracle at the separation point: its cut joins the LP, its value may improve the centre.
    2. Solve the LP over all cuts: its optimum is a lower bound.
    3. Stop when centre and bound meet, or the bound has stalled.
    4. Separate next halfway between the LP's point and the centre (Ben-Ameur and Neto 2007), or at a point that the
       structure suggests, as long as its suggestions improve the centre.

Kelley's method is step 4 at the LP's own point; halfway it needs a third of the calls on SVM data. Cuts are valid
everywhere, so suggestions need not lie in P. Converges for any fixed step in (0, 1].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from solvers.lp import LpStatus
from solvers.master_lp import MasterLP, Relaxed
from solvers.structure import SubAnswer
from solvers.trace import Clock

STEP = 0.5
STALL = 30  # iterations, besides one for each variable, over which the bound must gain something
GAIN = 1e-5  # relative


@dataclass
class Root:
    """The relaxation solved: last LP, best point seen (master's variables) and its relaxed objective."""

    relaxed: Relaxed | None
    centre: np.ndarray
    value: float
    status: LpStatus = LpStatus.OPTIMAL


def solve_relaxation(
    lp: MasterLP,
    ask: Callable[[np.ndarray], SubAnswer | None],
    centre: np.ndarray,
    *,
    tolerance: float,
    iteration_limit: int,
    clock: Clock,
    suggest: Callable[[np.ndarray, SubAnswer], np.ndarray | None] | None = None,
    report: Callable[[float, float], None] = lambda bound, value: None,
) -> Root:
    """Minimise over the relaxed master.

    Parameters
    ----------
    lp : MasterLP
        Started here, with the scale of the first answer, if it holds no cut yet.
    ask : point of the complicating variables -> answer, or None when time is up
    centre : point of the master's variables
    tolerance : float
        Relative gap between centre and bound.
    suggest : (point, answer) -> next point, optional
    report : called with (bound, relaxed objective of the centre) after each LP
    """
    n = lp.n
    window = STALL + n
    root = Root(None, centre, np.inf)
    point, suggesting, history = centre, suggest is not None, [-np.inf]
    for _ in range(iteration_limit):
        answer = ask(point[:n])  # 1
        if answer is None or answer.cut is None:
            break
        if not lp.started:
            lp.start(1.0 if answer.value is None else answer.value)
        lp.add(answer)
        value = np.inf if answer.value is None else lp.value(point) + answer.value
        improved = value < root.value * (1 - GAIN) if np.isfinite(root.value) else np.isfinite(value)
        if value < root.value:
            root.value, root.centre = value, point
        relaxed = lp.solve(lp.lower, lp.upper, clock.left)  # 2
        if isinstance(relaxed, LpStatus):
            root.status = relaxed
            break
        root.relaxed = relaxed
        if np.isfinite(relaxed.bound):
            report(relaxed.bound, root.value)
        history.append(max(relaxed.bound, history[-1]))
        closed = root.value - relaxed.bound <= tolerance * max(abs(root.value), 1e-10)
        # Early on the bound may rest for long on the subproblem's floor: it has to have moved once to stall.
        moved = history[-1] > history[1]
        stalled = moved and len(history) > window and history[-1] - history[-window] <= GAIN * abs(history[-1])
        if closed or stalled or clock.over:  # 3
            break
        following = suggest(point[:n], answer) if suggesting and improved and suggest is not None else None  # 4
        point = relaxed.point if following is None else np.concatenate([following, relaxed.point[n:]])
        if following is None or not lp.within(point):
            suggesting = False
            point = STEP * relaxed.point + (1 - STEP) * root.centre
    return root
