"""Which columns a relaxation may leave out: those that a neighbouring one has priced out.

At an optimum few sigma are above 0, nearly all others have reduced costs well above 0. Leaving the far ones out is to
fix them at 0: a smaller problem, whose multipliers prove a bound on the whole one all the same, by the reduced costs of
all columns. Where one of those left out turns out to be worth taking, it joins, and the question is asked again.
"""

from __future__ import annotations

import numpy as np

from fsmodels.models.fsp.oracle.neighbours import Solved
from fsmodels.models.proofs.svm import Array

LEAST = 12  # columns that stay in any case
SPARE, LOWEST, HIGHEST = 1.3, 1.1, 2.0  # columns that stay for each that is above 0 there: at first, and limits
NARROWER, WIDER = 0.98, 1.1  # after a right guess and after a wrong one
ABOVE = 0.01  # sigma from which on a column counts as above 0, which an interior point never leaves quite at 0
JOINING = 1.0  # columns that may join at once for each that stayed
ALL = 0.7  # of the columns: beyond, all stay


class Pricing:
    """How many columns stay for each that is above 0 in a neighbour."""

    def __init__(self) -> None:
        self._spare = SPARE

    def part(self, near: tuple[Solved, Array] | None, support: Array, needed: Array) -> Array:
        """Return a guess which columns stay, as positions in ``support``; all where nothing is known, or to be gained.

        ``support`` (k,): the features whose sigma may be above 0. ``needed`` (k,): which have to stay in any case.
        """
        if near is not None:
            stays = needed | (near[1][support] > ABOVE)
            most = int(max(LEAST, self._spare * np.count_nonzero(stays)))
            if most < ALL * support.size:
                stays[np.argpartition(near[0].costs[support], most)[:most]] = True
                if int(np.count_nonzero(stays)) < ALL * support.size:
                    return np.flatnonzero(stays)
        return np.arange(support.size)

    def joined(self, among: Array, costs: Array) -> Array:
        """Return ``among`` and those worth most of the other columns, by reduced costs (k,) of a relaxation."""
        others = np.setdiff1d(np.flatnonzero(costs < 0), among)
        most = max(LEAST, int(JOINING * among.size))
        return np.union1d(among, others[np.argsort(costs[others], kind="stable")[:most]])

    def adapt(self, *, right: bool) -> None:
        """Keep fewer columns after a right guess, and more after a wrong one."""
        self._spare = max(LOWEST, self._spare * NARROWER) if right else min(HIGHEST, self._spare * WIDER)
