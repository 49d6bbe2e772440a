"""A part of the tree in another process: what it is told, what it does in a slice of time, and what it reports.

What a process proves holds wherever the nodes came from; the incumbents it claims are computed anew by whoever dealt.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from solvers.clock import Clock
from solvers.drivers.base import Ended
from solvers.drivers.benders.base import DecompositionConfig
from solvers.drivers.benders.relaxation import WholeRelaxation
from solvers.drivers.tree.branching import Node, Tree
from solvers.drivers.tree.incumbents import IncumbentSearch
from solvers.drivers.tree.master import MasterLP
from solvers.drivers.tree.memory import Memory
from solvers.drivers.tree.node import SEARCHES, Visits
from solvers.drivers.tree.node_bounds import NodeBounds
from solvers.facts.structure import Oracle, Relaxation, SubAnswer
from solvers.result import SolutionStatus, StopReason

SLACK = 2e-7  # relative: another process may find the same point worth so much more


@dataclass
class Job:
    """The tree's problem without the user's model.

    ``below``: what is not better than it is not sought. ``whole``: whether points that are no better count too.
    ``portable``: whether it can be pickled.
    """

    oracle: Oracle
    relaxation: Relaxation | None
    lp: MasterLP
    memory: Memory
    centre: np.ndarray
    gap: float
    below: float
    whole: bool
    portable: bool

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process needs: cuts and pseudo-costs of the memory, not its answers."""
        return self.__dict__ | {"memory": Memory(cuts=self.memory.cuts, costs=self.memory.costs)}


@dataclass
class Slice:
    """What a process is to do next.

    ``nodes``: to begin with, besides what it keeps. ``lower``, ``upper``: what the root has fixed by now. ``best``,
    ``choice``: the incumbent. ``costs``: pseudo-costs of all. ``asks``, ``searched``: questions of all, and those for
    wider exchanges. ``seconds``: how long. ``left``: of the run's time. ``limit``: of nodes. ``searches``: whether to
    search for incumbents in wider exchanges. ``back``: the share of its nodes that it gives back at the end, and where
    it is stopped early.
    """

    nodes: list[Node]
    lower: np.ndarray
    upper: np.ndarray
    best: float
    choice: np.ndarray | None
    costs: np.ndarray
    asks: int
    searched: int
    seconds: float
    left: float | None
    limit: float
    searches: bool
    back: tuple[float, float]


@dataclass
class Report:
    """What a slice came to.

    ``bound``: least of the nodes that the process keeps, ``open`` of them. ``nodes``: given back. ``left_out``: least
    bound of what was closed. ``least``: least of what is proven of the choices asked. ``points``: better incumbents,
    with what they are worth. ``costs``: what was learnt.
    """

    bound: float
    open: int
    nodes: list[Node]
    left_out: float
    least: float
    points: list[tuple[np.ndarray, float]]
    costs: np.ndarray
    visited: int
    asks: int
    searched: int
    seconds: dict[str, float]


class Board:
    """Where a process reads, during a slice, what the others have found, and tells what it finds.

    This one is for processes that hear of one another between slices only.
    """

    def __init__(self) -> None:
        self._points: list[tuple[np.ndarray, float]] = []

    def best(self) -> float:
        """Return the least objective that was claimed."""
        return np.inf

    def claim(self, point: np.ndarray, objective: float) -> None:
        """Tell of a point of the master."""
        self._points.append((point, objective))

    def points(self) -> list[tuple[np.ndarray, float]]:
        """Return the points that nobody was told of yet."""
        points, self._points = self._points, []
        return points

    def halted(self) -> bool:
        """Tell whether the slice is to end now."""
        return False


class Explorer:
    """Explores parts of a tree, slice by slice; a ``Host``."""

    def __init__(self, job: Job, board: Board) -> None:
        self.config = DecompositionConfig(gap=job.gap, validation=True if job.whole else None)
        self.clock, self.board = Clock(None), board
        self.seconds = {"master": 0.0, "subproblem": 0.0}
        self._oracle, self._best = job.oracle, np.inf
        self._until, self._most = np.inf, np.inf
        self.tree = Tree()
        self.incumbents = IncumbentSearch(self, copy(job.lp), replace(job.memory), below=job.below)
        bounds = NodeBounds(self, self.incumbents, job.relaxation)
        self.visits = Visits(self.incumbents, bounds, self.tree, fractional=True)
        self.visits.centre = job.centre

    def explore(self, part: Slice) -> Report:
        """Visit nodes until none is left, the time is over, or the board says so."""
        incumbents, tree, visits = self.incumbents, self.tree, self.visits
        self.clock, self._until = Clock(part.left), time.perf_counter() + part.seconds
        self._most = visits.nodes + part.limit
        self._best = min(self._best, part.best)
        self.seconds = dict.fromkeys(self.seconds, 0.0)
        before, tree.left_out, incumbents.least = visits.nodes, np.inf, np.inf
        incumbents.lp.lower, incumbents.lp.upper = part.lower, part.upper
        incumbents.asks, incumbents.searched = part.asks, part.searched
        visits.costs.learnt = part.costs
        tree.give(part.nodes)
        try:
            if part.searches and part.choice is not None:
                incumbents.adopt(part.choice)
            while self.stopped() is None and visits.step():
                if part.searches and visits.nodes % SEARCHES == 0 and self.stopped() is None:
                    incumbents.exchange_more()
        except Ended as end:
            if end.stop is not StopReason.TIME_LIMIT:
                raise
        back = tree.take(part.back[1 if self.board.halted() else 0])
        return Report(
            bound=tree.bound,
            open=len(tree),
            nodes=back,
            left_out=tree.left_out,
            least=incumbents.least,
            points=self.board.points(),
            costs=visits.costs.learnt - part.costs,
            visited=visits.nodes - before,
            asks=incumbents.asks - part.asks,
            searched=incumbents.searched - part.searched,
            seconds=self.seconds,
        )

    @property
    def best(self) -> float | None:
        """Least objective that any process claims."""
        best = min(self._best, self.board.best())
        return best if best < np.inf else None

    def ask(self, point: np.ndarray, tolerance: float) -> SubAnswer | None:
        """Ask the subproblem."""
        with self.timing("subproblem"):
            return self._oracle.solve(point, tolerance, self.clock.left)

    def take(self, point: np.ndarray, objective: float, answer: SubAnswer) -> None:
        """Claim a point; a little worse than it is, as the one who deals computes it anew, and prunes by it."""
        resolved = 0.0 if answer.value is None else answer.value - answer.bound
        claimed = objective + 2.0 * max(0.0, resolved) + SLACK * abs(objective)
        better = claimed < min(self._best, self.board.best())
        if better or self.config.validation is not None:
            self.board.claim(point.copy(), claimed)
        self._best = min(self._best, claimed)

    def record(self, step: str, objective: float | None, *, cuts: int, support: int | None) -> None:
        """Leave the table to the one who deals."""

    def stopped(self) -> StopReason | None:
        """Return whether the slice is over."""
        over = self.clock.over or time.perf_counter() >= self._until or self.board.halted()
        if over:
            return StopReason.TIME_LIMIT
        return StopReason.ITERATION_LIMIT if self.visits.nodes >= self._most else None

    @contextmanager
    def timing(self, what: str) -> Iterator[None]:
        """Count the seconds of a block of code."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[what] += time.perf_counter() - start

    def find_floor(self) -> WholeRelaxation:
        """Return that nothing is known to bound the master: the root would have found it."""
        return WholeRelaxation(SolutionStatus.NO_SOLUTION)
