"""Which samples a relaxation may leave out: those far from the margin of a neighbouring one.

At an optimum a sample inside its margin has alpha = C, one well outside has alpha = 0, and few lie on it. Fixing the
far ones there leaves a smaller dual, whose solution is feasible for the whole one: what it proves holds, whether the
guess was right or not. Whether it was is seen on all samples, and a wrong guess is widened. With the squared hinge
alpha = 2 C xi has no upper bound: only those outside may go.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fsmodels.models.proofs.svm import Array

SMALLEST, MOST = 0.02, 0.6  # of all samples; beyond, all stay, once
LEAST = 60  # samples that stay in any case
NARROWER, WIDER = 0.95, 1.2  # the share of samples that stays, after a right guess and after a wrong one


@dataclass(frozen=True)
class Screened:
    """Positions of the samples that stay, and of those with alpha = C; the others have alpha = 0. And a start."""

    kept: Array
    at_bound: Array
    w: Array  # (n,)
    offset: float


@dataclass(frozen=True)
class Guide:
    """A neighbouring solution: margins y (w.x + b) of all samples, the weights over all features, the offset."""

    margins: Array  # (l,)
    w: Array  # (n,)
    offset: float


class Screen:
    """The share of samples, of those nearest to a margin of 1, that has to stay."""

    def __init__(self, *, bounded: bool = True) -> None:
        self._bounded = bounded  # whether multipliers have an upper bound
        self._share = 0.4

    def part(self, start: Guide, y: Array, at_most: int, also: Array) -> Screened | None:
        """Return a guess of at most so many samples, and those besides; None where there is nothing to gain.

        ``also`` (l,): which samples have to stay.
        """
        margins = start.margins
        most = min(max(LEAST, int(self._share * y.size)), at_most)
        if at_most >= y.size and ((self._share > MOST and not also.any()) or most >= y.size):
            return None
        stays = also.copy()
        stays[np.argpartition(np.abs(1 - margins) if self._bounded else margins, most)[:most]] = True
        kept, far = np.flatnonzero(stays), np.flatnonzero(~stays)
        if abs(float(y[kept].sum())) == kept.size or not far.size or (not self._bounded and margins[far].min() < 1):
            return None
        return Screened(kept, far[margins[far] < 1], start.w, start.offset)

    def wrong(self, part: Screened, margins: Array) -> Array:
        """Return which samples (l,) a part left out at the wrong end of alpha, or had; all to stay from now on."""
        wrong = margins < 1
        wrong[part.at_bound] = margins[part.at_bound] > 1
        wrong[part.kept] = True
        return wrong

    def adapt(self, *, right: bool) -> None:
        """Keep fewer samples after a right guess, or a solution without one, and more after a wrong one."""
        self._share = max(SMALLEST, min(self._share, MOST) * NARROWER) if right else min(1.0, self._share * WIDER)
