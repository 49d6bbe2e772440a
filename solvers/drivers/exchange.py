"""Local search over 0/1 choices by exchanges of elements, guided by cuts.

The coefficients of a cut are a subgradient of the subproblem's value and so the price of each switch. Blocks: add the k
elements with the best prices, then remove the k elements with the least value; k starts at a quarter of the choice and
is halved if no block gives a better choice. Singles: try the few cheapest removals, additions and exchanges until none
is better. ``renew`` gives another choice from which both can start again.

Source: Zhu, Wen, Zhu, Zhang and Wang 2020 (abess) for exchanges of blocks by their prices ("splicing").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from solvers.facts.structure import Cut

TRIED = 20  # number of single moves at each choice, four times as many at each further level
ENDS = 8  # number of removals and of additions that are paired, twice as many at each further level
BLOCKS = 4  # number of blocks of each size
RENEWED = 2.0  # elements that ``renew`` adds, for each chosen one

Evaluate = Callable[[np.ndarray], tuple[float, Cut] | None]


@dataclass
class Incumbent:
    """A 0/1 choice, its objective, and a cut there whose coefficients are the prices of switches."""

    choice: np.ndarray
    objective: float
    cut: Cut


def exchange_blocks(
    now: Incumbent,
    evaluate: Evaluate,
    probe: Callable[[np.ndarray], Cut | None],
    movable: np.ndarray,
    cost: np.ndarray,
    stop: Callable[[], bool],
) -> Incumbent:
    """Exchange blocks until none is better; return the best choice.

    - ``evaluate``: choice -> (objective, cut), or None if the choice violates a row or cannot be better.
    - ``probe``: choice -> cut that is tight there, whether the rows are satisfied or not, or None.
    - ``movable``: array (n,) of bool.
    - ``cost``: array (n,), the master's cost of each element.
    """
    size = int(np.sum((now.choice > 0.5) & movable)) // 4
    while size > 1 and not stop():
        better = _first_better(now, _blocks(now, size, probe, movable, cost), evaluate, stop)
        now, size = (now, size // 2) if better is None else (better, size)
    return now


def exchange(
    now: Incumbent,
    evaluate: Evaluate,
    movable: np.ndarray,
    cost: np.ndarray,
    stop: Callable[[], bool],
    level: int = 0,
) -> Incumbent:
    """Exchange single elements until none is better; return the best choice. Arguments as in ``exchange_blocks``."""
    while not stop():
        better = _first_better(now, singles(now, level, movable, cost), evaluate, stop)
        if better is None:
            break
        now = better
    return now


def _first_better(
    now: Incumbent, candidates: Iterator[np.ndarray], evaluate: Evaluate, stop: Callable[[], bool]
) -> Incumbent | None:
    for candidate in candidates:
        found = evaluate(candidate)
        if found is not None and found[0] < now.objective - 1e-9 * abs(now.objective):
            return Incumbent(candidate, *found)
        if stop():
            break
    return None


def renew(
    now: Incumbent,
    evaluate: Evaluate,
    probe: Callable[[np.ndarray], Cut | None],
    movable: np.ndarray,
    cost: np.ndarray,
) -> Incumbent | None:
    """Return another choice, by a block of twice the size of the choice; None if that gives no other one.

    It is usually worse, and exchanges from there may end at a better choice. Arguments as in ``exchange_blocks``.
    """
    block = _outside(now, movable, cost)[: int(RENEWED * np.sum((now.choice > 0.5) & movable))]
    candidate = _replaced(now.choice, block, probe, movable, cost)
    found = None if candidate is None else evaluate(candidate)
    return None if candidate is None or found is None else Incumbent(candidate, *found)


def _blocks(
    now: Incumbent,
    size: int,
    probe: Callable[[np.ndarray], Cut | None],
    movable: np.ndarray,
    cost: np.ndarray,
) -> Iterator[np.ndarray]:
    outside = _outside(now, movable, cost)
    for start in range(0, min(len(outside), BLOCKS * size), size):
        candidate = _replaced(now.choice, outside[start : start + size], probe, movable, cost)
        if candidate is not None:
            yield candidate


def _outside(now: Incumbent, movable: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """Return the elements that may be added, the best prices first."""
    outside = np.flatnonzero((now.choice < 0.5) & movable)
    return outside[np.argsort((now.cut.coefficients + cost)[outside], kind="stable")]


def _replaced(
    choice: np.ndarray,
    block: np.ndarray,
    probe: Callable[[np.ndarray], Cut | None],
    movable: np.ndarray,
    cost: np.ndarray,
) -> np.ndarray | None:
    """Add a block and remove the elements with the least value, at most half of all at a time; None if none changes."""
    candidate = choice.copy()
    candidate[block] = 1.0
    while (excess := int(candidate.sum() - choice.sum())) > 0:
        larger = probe(candidate)
        if larger is None:
            return None
        inside = np.flatnonzero((candidate > 0.5) & movable)
        worth = -(larger.coefficients + cost)[inside]
        candidate[inside[np.argsort(worth, kind="stable")[: min(excess, (len(inside) + 1) // 2)]]] = 0.0
    return None if np.array_equal(candidate, choice) else candidate


def singles(now: Incumbent, level: int, movable: np.ndarray, cost: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the choices that differ by one removal, one addition or both, in the order of their prices."""
    choice, price, ends = now.choice, now.cut.coefficients + cost, ENDS * 2**level
    drops = _cheapest(-price, (choice > 0.5) & movable, ends)
    adds = _cheapest(price, (choice < 0.5) & movable, ends)
    moves: list[tuple[float, tuple[int, ...]]] = [(price[k] - price[j], (j, k)) for j in drops for k in adds]
    moves += [(-price[j], (j,)) for j in drops] + [(price[k], (k,)) for k in adds]
    for _, switched in sorted(moves, key=lambda move: move[0])[: TRIED * 4**level]:
        candidate = choice.copy()
        candidate[list(switched)] = 1.0 - candidate[list(switched)]
        yield candidate


def _cheapest(price: np.ndarray, allowed: np.ndarray, ends: int) -> list[int]:
    where = np.flatnonzero(allowed)
    return [int(k) for k in where[np.argsort(price[where], kind="stable")[:ends]]]
