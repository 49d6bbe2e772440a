"""Better 0/1 choices by exchanging elements, guided by cuts.

A cut's coefficients are a subgradient of the subproblem's value, so they price each switch. Blocks: the k elements with
the best prices join, and the k with the least worth there leave; k starts at a quarter of the choice and halves when no
block is better. Singles: drops, additions and exchanges, the cheapest few, until none is better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from solvers.facts.structure import Cut

TRIED = 20  # single moves evaluated at each choice, four times as many at each further level
ENDS = 8  # drops and additions that are paired, twice as many at each further level
BLOCKS = 4  # blocks tried at each size

Evaluate = Callable[[np.ndarray], tuple[float, Cut] | None]


@dataclass
class Incumbent:
    """A 0/1 choice, its objective, and a cut there whose coefficients price each switch."""

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

    ``evaluate``: choice -> (objective, cut), or None where the choice breaks a row or cannot be better. ``probe``:
    choice -> cut tight there, whether the rows hold or not, or None where there is none. ``movable``: array (n,) of
    bool. ``cost``: array (n,), the master's own cost of each element.
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
        better = _first_better(now, _singles(now, level, movable, cost), evaluate, stop)
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


def _blocks(
    now: Incumbent,
    size: int,
    probe: Callable[[np.ndarray], Cut | None],
    movable: np.ndarray,
    cost: np.ndarray,
) -> Iterator[np.ndarray]:
    choice = now.choice
    outside = np.flatnonzero((choice < 0.5) & movable)
    outside = outside[np.argsort((now.cut.coefficients + cost)[outside], kind="stable")]
    for start in range(0, min(len(outside), BLOCKS * size), size):
        candidate = choice.copy()
        candidate[outside[start : start + size]] = 1.0
        larger = probe(candidate)
        if larger is None:
            continue
        inside = np.flatnonzero((candidate > 0.5) & movable)
        worth = -(larger.coefficients + cost)[inside]
        candidate[inside[np.argsort(worth, kind="stable")[: int(candidate.sum() - choice.sum())]]] = 0.0
        if not np.array_equal(candidate, choice):
            yield candidate


def _singles(now: Incumbent, level: int, movable: np.ndarray, cost: np.ndarray) -> Iterator[np.ndarray]:
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
