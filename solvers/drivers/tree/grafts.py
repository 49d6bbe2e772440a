"""What processes have learnt, put together with what the run leaves to later ones.

A dealt node is a part of the tree (``parts``), and the first of the parts that a process makes of it. It may give some
of them back, which others go on with. Where a process is lost, its parts stay what they were when they were dealt.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solvers.drivers.tree.memory import Memory
from solvers.drivers.tree.parts import Parts
from solvers.facts.structure import Cut, Oracle, SubAnswer

HERE = -1  # the process that deals
TIGHT = 1e-7  # relative gap of answers at 0/1 points

Origin = tuple[int, int, int]  # process, part there, and by how many fixings it had been split
NOWHERE: Origin = (HERE, -1, 0)


@dataclass
class Learnt:
    """What a process has learnt: its parts with the origins of the first ones, cuts, and answers by point."""

    parts: Parts
    origins: dict[int, Origin]
    cuts: tuple[np.ndarray, np.ndarray]  # constants (K,) and slopes (K, n)
    answers: dict[bytes, tuple[float | None, float, Cut | None, np.ndarray | None]]

    @classmethod
    def of(cls, memory: Memory, origins: dict[int, Origin], before: int) -> Learnt | None:
        """Return what a memory holds besides the answers it began with; None where no tree is kept."""
        if memory.parts is None:
            return None
        answers = [(k, (a.value, a.bound, a.cut, a.prices)) for k, a in list(memory.answers.items())[before:]]
        return cls(memory.parts, origins, memory.cuts.stacked(memory.cuts.width), dict(answers))


def put_together(memory: Memory, learnt: dict[int, Learnt], oracle: Oracle) -> None:
    """Add what processes have learnt to a memory; ``oracle`` answers anew where an answer's point is to be loaded."""
    for one in learnt.values():
        for constant, slopes in zip(*one.cuts, strict=True):
            memory.cuts.add(Cut(float(constant), slopes.copy()))
        for key, (value, bound, cut, prices) in one.answers.items():
            memory.answers.setdefault(key, _answer(oracle, key, value, bound, cut, prices))
    if memory.parts is not None:
        _graft(memory.parts, learnt)


def _answer(
    oracle: Oracle, key: bytes, value: float | None, bound: float, cut: Cut | None, prices: np.ndarray | None
) -> SubAnswer:
    def load() -> None:
        oracle.solve(np.frombuffer(key).copy(), TIGHT, None).load()

    return SubAnswer(value, bound, cut, load, None, prices)


def _graft(parts: Parts, learnt: dict[int, Learnt]) -> None:
    """Grow the parts by those of the processes, each where it came from, as far as that is known."""
    place: dict[tuple[int, int], int] = {}
    left = [(k, first, origin) for k, one in learnt.items() for first, origin in one.origins.items()]
    while left:
        later = []
        for k, first, (owner, part, seen) in left:
            at = part if owner == HERE else place.get((owner, part), -1)
            if at >= 0:
                place |= {(k, local): here for local, here in parts.grow(at, learnt[k].parts, first).items()}
            else:
                later.append((k, first, (owner, part, seen)))
        if len(later) == len(left):
            return
        left = later
