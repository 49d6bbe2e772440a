"""The tree that a run leaves to the next: what is proven of each of its parts, and how it is proven anew.

A part is the set of integral points that meet its own changes and those of the parts above it. Parts that were branched
on are covered by those below; what reduced costs fixed away is a part of its own, and what an incumbent fixed away
everywhere is one without a part above. The leaves so cover all points, whatever the master allows of them.

With a part goes a cut, a minorant of the subproblem's value, whose least value over the part proves its bound. The cut
holds under every master, so that for another one (other rows, costs, bounds) only this least value is to be found anew,
without asking the subproblem (``boxes``). Where a master is narrower and costs the same, old bounds also hold as they
are. A part whose bound is below the cutoff then is open again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from solvers.drivers.tree.boxes import least, narrowed, one_sided
from solvers.facts.structure import Cut
from solvers.model.linear import LinearRows

CELLS = 5_000_000  # most parts times columns
LEAST_KEPT = 1000  # parts that are kept whatever their columns
WORTH = 0.2  # share of the leaves below a part that must be closed for it to be begun in pieces
ROUNDS = 3  # of looking for a cut of the pool that proves more
TOPS = 4  # most parts without one above that wider bounds may part: each time they may be twice as many
SAME = 1e-12  # relative: sides that rounding alone tells apart

Change = tuple[int, float, float]  # column, least, most


@dataclass(frozen=True)
class MasterData:
    """Rows, costs and bounds of one run, without the model."""

    rows: dict[bytes, tuple[float, float]]  # divided by their largest coefficient -> sides
    lower: np.ndarray
    upper: np.ndarray
    cost: np.ndarray
    constant: float

    @classmethod
    def of(cls, linear: LinearRows, lower: np.ndarray, upper: np.ndarray) -> MasterData:
        """Return those of the linear rows; ``lower`` and ``upper`` are the variables' bounds."""
        rows: dict[bytes, tuple[float, float]] = {}
        for a, least_side, most in zip(linear.matrix.toarray(), linear.lower, linear.upper, strict=True):
            unit = float(np.abs(a).max(initial=0.0)) or 1.0
            unit = -unit if a[np.flatnonzero(a)[:1]].sum() < 0 else unit
            sides = (least_side / unit, most / unit) if unit > 0 else (most / unit, least_side / unit)
            key = (a / unit + 0.0).tobytes()
            known = rows.get(key, (-np.inf, np.inf))
            rows[key] = max(known[0], sides[0]), min(known[1], sides[1])
        return cls(rows, lower.copy(), upper.copy(), linear.cost.copy(), linear.constant)

    def stricter(self, other: MasterData) -> bool:
        """Tell whether every point of this one meets the other's rows, bounds aside, and costs the same there."""
        if self.constant != other.constant or not np.array_equal(self.cost, other.cost):
            return False
        return all(
            key in self.rows
            and self.rows[key][0] >= sides[0] - SAME * abs(sides[0])
            and self.rows[key][1] <= sides[1] + SAME * abs(sides[1])
            for key, sides in other.rows.items()
        )


@dataclass(frozen=True)
class Fixing:
    """A variable fixed everywhere: the points given up for it, those kept, and what is proven of those given up."""

    away: Change
    kept: Change
    bound: float
    cut: Cut | None


@dataclass
class Frontier:
    """What a run begins with: open parts as (bound, changes, part), and the least bound and number of those closed."""

    open: list[tuple[float, tuple[Change, ...], int]]
    closed: float
    n_closed: int
    n_again: int


class Parts:
    """The parts of a tree over named columns, those above before those below.

    Once there is no room for more, what is branched on stays one part.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.size = len(self.names)
        self.master: MasterData | None = None
        self._above: list[int] = []
        self._changes: list[tuple[Change, ...]] = []
        self._cut: list[int] = []
        self._bounds: list[float] = []
        self._branched: list[bool] = []
        self._cuts: list[Cut] = []
        self.start()

    def __len__(self) -> int:
        return len(self._above)

    @property
    def leaves(self) -> int:
        """Number of parts that nothing below covers."""
        return len(self) - sum(self._branched)

    @property
    def most(self) -> int:
        """Number of parts from which on no more are added."""
        return max(LEAST_KEPT, CELLS // max(1, self.size))

    def start(self) -> None:
        """Begin a run, in which nothing is fixed yet."""
        self._fixed: list[Fixing] = []
        self._seen = [0] * len(self)  # how many of these a part, or one above it, has been split by

    def begin(self, cut: Cut | None, bound: float, linear: LinearRows, lower: np.ndarray, upper: np.ndarray) -> int:
        """Return the part that is all there is."""
        self.master = MasterData.of(linear, lower, upper)
        return self._add(-1, (), bound, cut)

    def visited(self, part: int, bound: float, cut: Cut | None) -> None:
        """Note what is proven of a part; without a cut the one it has stays."""
        if part >= 0:
            self._bounds[part] = max(self._bounds[part], bound)
            if cut is not None:
                self._cut[part] = self._number(cut)

    def branch(self, part: int, below: Sequence[tuple[tuple[Change, ...], float]]) -> list[int]:
        """Cover a part by parts with these changes and bounds; return them, -1 for each where there is no room."""
        if part < 0 or len(self) + len(below) > self.most:
            return [-1] * len(below)
        self._branched[part] = True
        return [self._add(part, *one) for one in below]

    def fix(self, fixing: Fixing) -> None:
        """Note what is fixed everywhere from now on."""
        self._fixed.append(fixing)

    def enter(self, part: int, changes: Sequence[Change]) -> int:
        """Return what fixing has left of a part with all these changes; what was fixed away are parts beside it."""
        if part < 0 or self._seen[part] == len(self._fixed):
            return part
        kept: list[Change] = []
        away: list[tuple[tuple[Change, ...], float, Cut | None]] = []
        for fixing in self._fixed[self._seen[part] :]:
            column, least_value, most = fixing.away
            among = [(lo, up) for c, lo, up in changes if c == column]
            if max([least_value, *(lo for lo, _ in among)]) <= min([most, *(up for _, up in among)]):
                away.append(((*kept, fixing.away), fixing.bound, fixing.cut))
                kept.append(fixing.kept)
        if len(self) + len(away) + 1 > self.most:
            return -1
        if away:
            self._branched[part] = True
            left = self._add(part, tuple(kept), self._bounds[part])
            for one in away:
                self._add(part, *one)
            part = left
        self._seen[part] = len(self._fixed)
        return part

    def fixed_since(self, number: int) -> list[Fixing]:
        """Return what was fixed everywhere, after so many times."""
        return self._fixed[number:]

    def seen(self, part: int) -> int:
        """Return by how many of these a part has been split."""
        return self._seen[part]

    def adopt(self, changes: tuple[Change, ...], bound: float, seen: int) -> int:
        """Return a part without one above it, for a node that another process had; -1 where there is no room."""
        if len(self) >= self.most:
            return -1
        part = self._add(-1, changes, bound)
        self._seen[part] = seen
        return part

    def grow(self, part: int, other: Parts, first: int) -> dict[int, int]:
        """Take over from another tree, in which this part is the one called ``first``; return what is now what."""
        below: dict[int, list[int]] = {}
        for k, above in enumerate(other._above):
            below.setdefault(above, []).append(k)
        place, left = {first: part}, [] if self._branched[part] else [first]
        while left:
            k = left.pop()
            cut = other._cut[k]
            self.visited(place[k], other._bounds[k], other._cuts[cut] if cut >= 0 else None)
            fresh = below.get(k, [])
            if fresh and len(self) + len(fresh) <= self.most:
                self._branched[place[k]] = True
                place |= {n: self._add(place[k], other._changes[n], other._bounds[n]) for n in fresh}
                left += fresh
        return place

    def _add(self, above: int, changes: tuple[Change, ...], bound: float, cut: Cut | None = None) -> int:
        self._above.append(above)
        self._changes.append(changes)
        self._cut.append(self._cut[above] if cut is None and above >= 0 else self._number(cut))
        self._bounds.append(bound)
        self._branched.append(False)
        self._seen.append(self._seen[above] if above >= 0 else 0)
        return len(self) - 1

    def _number(self, cut: Cut | None) -> int:
        if cut is None:
            return -1
        if not self._cuts or self._cuts[-1] is not cut:
            self._cuts.append(cut)
        return len(self._cuts) - 1

    def changes_of(self, part: int) -> tuple[Change, ...]:
        """Return all changes that make up a part."""
        found: list[tuple[Change, ...]] = []
        while part >= 0:
            found.append(self._changes[part])
            part = self._above[part]
        return tuple(change for changes in reversed(found) for change in changes)

    def carry(self, carried: Callable[[Cut, float], Cut | None]) -> None:
        """Replace the cuts by what is left of them for another subproblem, of which no bound is known."""
        value = dict(zip(reversed(self._cut), reversed(self._bounds), strict=True))
        found = [carried(cut, value.get(k, -np.inf)) for k, cut in enumerate(self._cuts)]
        place = np.cumsum([cut is not None for cut in found]) - 1
        self._cut = [-1 if k < 0 or found[k] is None else int(place[k]) for k in self._cut]
        self._cuts = [cut for cut in found if cut is not None]
        self._bounds, self.master = [-np.inf] * len(self), None

    def moved(self, names: Sequence[str]) -> Parts | None:
        """Return the parts over other columns; None where one that is branched on is not among them."""
        place = {name: k for k, name in enumerate(names)}
        used = {self.names[column] for changes in self._changes for column, _, _ in changes}
        if not used <= place.keys():
            return None
        parts = Parts(names)
        parts.__dict__.update({k: v for k, v in self.__dict__.items() if k not in ("names", "size", "master")})
        columns = [place.get(name, -1) for name in self.names]
        parts._changes = [tuple((columns[c], lo, up) for c, lo, up in changes) for changes in self._changes]
        parts._bounds = [-np.inf] * len(self)
        return parts

    def take_up(
        self,
        linear: LinearRows,
        integer: np.ndarray,
        lower: np.ndarray,
        upper: np.ndarray,
        cutoff: float,
        known: Callable[[np.ndarray], float | None],
        pool: Any,
    ) -> Frontier:
        """Prove the bounds anew for a master; return what is open below the cutoff.

        ``lower``, ``upper``: of its columns. ``known``: the proven value of the subproblem at an integral point of all
        columns, the master's cost included, where it was asked there. ``pool``: further cuts.
        """
        master, rows, old = MasterData.of(linear, lower, upper), one_sided(linear), self.master
        if old is not None:
            self._widen(integer, old, master)
        lo, up = self._clear_up()
        self._seen = [0] * len(self)
        lo, up = np.maximum(lo, lower), np.minimum(up, upper)
        boxes = narrowed(lo, up, rows, integer)
        bounds = self._least(np.arange(len(self)), boxes, linear, rows)
        if old is not None and master.stricter(old):
            inside = (lo >= old.lower).all(axis=1) & (up <= old.upper).all(axis=1)
            bounds = np.where(inside, np.maximum(bounds, self._bounds), bounds)
        for k in np.flatnonzero((boxes[0] == boxes[1]).all(axis=1) & (bounds < cutoff)):
            value = known(boxes[0][k])
            bounds[k] = bounds[k] if value is None else max(bounds[k], value)
        for part, above in enumerate(self._above):
            if above >= 0 and bounds[above] > bounds[part]:
                bounds[part] = bounds[above]
        open_ = np.flatnonzero((bounds < cutoff) & ~np.array(self._branched, dtype=bool))
        bounds[open_] = self._by_pool(bounds[open_], (boxes[0][open_], boxes[1][open_]), linear, rows, pool, cutoff)
        self.master, self._bounds = master, bounds.tolist()
        return self._frontier(bounds, cutoff)

    def _widen(self, integer: np.ndarray, old: MasterData, new: MasterData) -> None:
        """Part what is new between wider bounds from what is known between the old ones, while the parts are few.

        Where they are not parted, their old bounds do not hold, and are found anew from the cuts.
        """
        for column in np.flatnonzero(integer & ((new.lower < old.lower) | (new.upper > old.upper))).tolist():
            low, high = float(old.lower[column]), float(old.upper[column])
            tops = [part for part, above in enumerate(self._above) if above < 0 and self._branched[part]]
            for part in tops if len(tops) <= TOPS else []:
                among = [(lo, up) for c, lo, up in self._changes[part] if c == column]
                lo, up = max([-np.inf, *(a for a, _ in among)]), min([np.inf, *(b for _, b in among)])
                inside, outside = (column, low, high), [(column, -np.inf, low - 1.0), (column, high + 1.0, np.inf)]
                if lo >= low and up <= high:
                    continue
                if max(lo, low) <= min(up, high):
                    before, self._changes[part] = self._changes[part], (*self._changes[part], inside)
                    for change in outside:
                        if max(lo, change[1]) <= min(up, change[2]):
                            cut = self._cut[part]
                            self._add(-1, (*before, change), -np.inf, self._cuts[cut] if cut >= 0 else None)

    def _clear_up(self) -> tuple[np.ndarray, np.ndarray]:
        """Drop leaves without a point, the deepest parts where there are too many, and cuts that no part has.

        Returns the bounds (parts, columns) that the changes of those left make.
        """
        lo, up = self._boxes()
        keep = ~(lo > up).any(axis=1) | np.array(self._branched, dtype=bool)
        keep &= self._shallow(int(keep.sum()))
        place = np.cumsum(keep) - 1
        which = np.flatnonzero(keep)
        branched = np.zeros(len(self), dtype=bool)
        branched[[self._above[k] for k in which if self._above[k] >= 0]] = True
        self._branched = branched[which].tolist()
        self._above = [int(place[self._above[k]]) if self._above[k] >= 0 else -1 for k in which]
        self._changes, self._bounds = [self._changes[k] for k in which], [self._bounds[k] for k in which]
        used = sorted({self._cut[k] for k in which} - {-1})
        number = {k: new for new, k in enumerate(used)} | {-1: -1}
        self._cuts, self._cut = [self._cuts[k] for k in used], [number[self._cut[k]] for k in which]
        return lo[which], up[which]

    def _shallow(self, count: int) -> np.ndarray:
        """Return which parts are above the depth at which half the room is taken; all where there is room.

        Those without a part above stay in any case: nothing else covers their points.
        """
        if count <= 0.75 * self.most:
            return np.ones(len(self), dtype=bool)
        depth = self._depths()
        ranked = np.sort(depth)
        return depth < max(1, ranked[self.most // 2])

    def _depths(self) -> np.ndarray:
        depth = [0] * len(self)
        for k, above in enumerate(self._above):
            depth[k] = 0 if above < 0 else depth[above] + 1
        return np.array(depth, dtype=int)

    def _boxes(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the bounds (parts, columns) that the changes make."""
        lo, up = np.full((len(self), self.size), -np.inf), np.full((len(self), self.size), np.inf)
        owner = np.repeat(np.arange(len(self)), [len(changes) for changes in self._changes])
        changes = np.array([change for changes in self._changes for change in changes]).reshape(-1, 3)
        at = owner, changes[:, 0].astype(int)
        np.maximum.at(lo, at, changes[:, 1])
        np.minimum.at(up, at, changes[:, 2])
        depth, above = self._depths(), np.array(self._above, dtype=int)
        for level in range(1, int(depth.max(initial=0)) + 1):
            here = np.flatnonzero(depth == level)
            lo[here], up[here] = np.maximum(lo[here], lo[above[here]]), np.minimum(up[here], up[above[here]])
        return lo, up

    def _least(
        self, which: np.ndarray, boxes: tuple[np.ndarray, np.ndarray], linear: LinearRows, rows: Any
    ) -> np.ndarray:
        """Return what the parts' own cuts prove."""
        number = np.array(self._cut, dtype=int)[which]
        constants, slopes = _stacked(self._cuts, self.size)
        has = np.flatnonzero(number >= 0)
        bounds = np.where((boxes[0] > boxes[1]).any(axis=1), np.inf, -np.inf)
        if len(has):
            at = number[has]
            bounds[has], _ = least(
                linear.constant + constants[at], linear.cost + slopes[at], boxes[0][has], boxes[1][has], rows
            )
        return bounds

    def _by_pool(
        self,
        bounds: np.ndarray,
        boxes: tuple[np.ndarray, np.ndarray],
        linear: LinearRows,
        rows: Any,
        pool: Any,
        cutoff: float,
    ) -> np.ndarray:
        """Raise bounds by cuts of the pool: each time by that which says most where the last one had its least."""
        constants, slopes = pool.stacked(self.size)
        left = np.flatnonzero(bounds < cutoff)
        if not len(constants) or not len(left):
            return bounds
        bounds, points = bounds.copy(), np.clip(np.zeros(self.size), boxes[0], boxes[1])[left]
        for _ in range(ROUNDS):
            best = (constants[:, None] + slopes @ points.T).argmax(axis=0)
            found, points = least(
                linear.constant + constants[best], linear.cost + slopes[best], boxes[0][left], boxes[1][left], rows
            )
            bounds[left] = np.maximum(bounds[left], found)
            stay = bounds[left] < cutoff
            left, points = left[stay], points[stay]
            if not len(left):
                break
        return bounds

    def _frontier(self, bounds: np.ndarray, cutoff: float) -> Frontier:
        """Return the highest parts that are closed, and those that are open and not worth to be begun in pieces."""
        frontier, begun = Frontier([], np.inf, 0, 0), np.zeros(len(self), dtype=bool)
        closed, leaves = np.zeros(len(self)), np.zeros(len(self))
        for k in range(len(self) - 1, -1, -1):
            if not self._branched[k]:
                leaves[k] = 1.0
            closed[k] = leaves[k] if bounds[k] >= cutoff else closed[k]
            if self._above[k] >= 0:
                leaves[self._above[k]] += leaves[k]
                closed[self._above[k]] += closed[k]
        for k, above in enumerate(self._above):
            begun[k] = above >= 0 and begun[above]
            if begun[k]:
                continue
            if bounds[k] >= cutoff:
                begun[k] = True
                frontier.closed, frontier.n_closed = min(frontier.closed, bounds[k]), frontier.n_closed + int(leaves[k])
            elif closed[k] < WORTH * leaves[k] or not self._branched[k]:
                begun[k] = True
                frontier.open.append((float(bounds[k]), self.changes_of(k), k))
                frontier.n_again += int(leaves[k])
        return frontier


def _stacked(cuts: Sequence[Cut], size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return constants (K,) and slopes (K, size) of cuts, 0 on columns that they know nothing of."""
    slopes = np.zeros((len(cuts), size))
    for k, cut in enumerate(cuts):
        slopes[k, : len(cut.coefficients)] = cut.coefficients
    return np.array([cut.constant for cut in cuts]), slopes
