"""A worker process: its task, its work in a slice of time, and its report.

The bounds that a worker proves are valid for the nodes of any other process. The coordinator evaluates its incumbents
again.
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
from solvers.drivers.branch_cut.branching import Node, Tree
from solvers.drivers.branch_cut.incumbents import IncumbentSearch
from solvers.drivers.branch_cut.master import MasterLP
from solvers.drivers.branch_cut.memory import Memory
from solvers.drivers.branch_cut.node import SEARCHES, NodeBounds, NodeSearch
from solvers.facts.structure import Oracle, Relaxation, SubAnswer
from solvers.result import StopReason

SLACK = 2e-7  # relative: the objective that another process computes at the same point may be larger by this


@dataclass
class TreeTask:
    """The tree search without the user's model.

    ``below``: only objectives below this are searched for. ``all_points``: whether points that are not better are
    reported, too. ``portable``: whether the task can be pickled.
    """

    oracle: Oracle
    relaxation: Relaxation | None
    lp: MasterLP
    memory: Memory
    centre: np.ndarray
    gap: float
    below: float
    all_points: bool
    portable: bool

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for another process: the memory has cuts and pseudo-costs only."""
        return self.__dict__ | {"memory": Memory(cuts=self.memory.cuts, costs=self.memory.costs)}


@dataclass
class Slice:
    """The next work of one worker.

    - ``nodes``: new nodes, in addition to those that it keeps.
    - ``lower``, ``upper``: bounds after fixing at the root.
    - ``best``, ``choice``: the incumbent.
    - ``costs``: pseudo-costs of the whole tree.
    - ``solved``, ``searched``: subproblems of the whole tree, and those for wider exchanges.
    - ``seconds``, ``limit``: length of the slice, and maximum number of nodes.
    - ``left``: remaining time of the run.
    - ``searches``: whether to search for incumbents by wider exchanges.
    - ``back``: shares of its open nodes to return at the end of the slice, and after an early stop.
    """

    nodes: list[Node]
    lower: np.ndarray
    upper: np.ndarray
    best: float
    choice: np.ndarray | None
    costs: np.ndarray
    solved: int
    searched: int
    seconds: float
    left: float | None
    limit: float
    searches: bool
    back: tuple[float, float]


@dataclass
class Report:
    """The result of a slice.

    ``bound``: least bound of the ``open`` nodes that the worker keeps. ``nodes``: returned nodes. ``left_out``: least
    bound of closed nodes. ``least``: least bound that was proven for an evaluated choice. ``points``: better
    incumbents with their objectives. ``costs``: changes of the pseudo-costs.
    """

    bound: float
    open: int
    nodes: list[Node]
    left_out: float
    least: float
    points: list[tuple[np.ndarray, float]]
    costs: np.ndarray
    visited: int
    solved: int
    searched: int
    seconds: dict[str, float]


class SharedIncumbent:
    """The incumbent of all workers in one worker; this class is for workers that exchange it between slices only."""

    def __init__(self) -> None:
        self._points: list[tuple[np.ndarray, float]] = []

    def best(self) -> float:
        """Return the least objective that any worker reported."""
        return np.inf

    def claim(self, point: np.ndarray, objective: float) -> None:
        """Report a point of the master and its objective."""
        self._points.append((point, objective))

    def points(self) -> list[tuple[np.ndarray, float]]:
        """Return the points since the last call."""
        points, self._points = self._points, []
        return points

    def halted(self) -> bool:
        """Return whether the slice must end now."""
        return False


class Worker:
    """Explores a part of the tree, slice by slice; a ``SearchContext``."""

    def __init__(self, task: TreeTask, incumbent: SharedIncumbent) -> None:
        self.config = DecompositionConfig(gap=task.gap, validation=True if task.all_points else None)
        self.clock, self.incumbent = Clock(None), incumbent
        self.seconds = {"master": 0.0, "subproblem": 0.0}
        self._oracle, self._best = task.oracle, np.inf
        self._until, self._most = np.inf, np.inf
        self.tree = Tree()
        self.incumbents = IncumbentSearch(self, copy(task.lp), replace(task.memory), below=task.below)
        bounds = NodeBounds(self, self.incumbents, task.relaxation)
        self.search = NodeSearch(self.incumbents, bounds, self.tree, fractional=True)
        self.search.centre = task.centre

    def explore(self, part: Slice) -> Report:
        """Process nodes until none is open, time is up, or another worker has no open node."""
        incumbents, tree, search = self.incumbents, self.tree, self.search
        self.clock, self._until = Clock(part.left), time.perf_counter() + part.seconds
        self._most = search.nodes + part.limit
        self._best = min(self._best, part.best)
        self.seconds = dict.fromkeys(self.seconds, 0.0)
        before = search.nodes
        incumbents.start_slice(part.lower, part.upper, part.solved, part.searched)
        search.costs.load(part.costs)
        tree.start_slice(part.nodes)
        try:
            if part.searches and part.choice is not None:
                incumbents.adopt(part.choice)
            while self.stopped() is None and search.step():
                if part.searches and search.nodes % SEARCHES == 0 and self.stopped() is None:
                    incumbents.exchange_more()
        except Ended as end:
            if end.stop is not StopReason.TIME_LIMIT:
                raise
        back = tree.take(part.back[1 if self.incumbent.halted() else 0])
        return Report(
            bound=tree.bound,
            open=len(tree),
            nodes=back,
            left_out=tree.left_out,
            least=incumbents.least,
            points=self.incumbent.points(),
            costs=search.costs.totals - part.costs,
            visited=search.nodes - before,
            solved=incumbents.solved - part.solved,
            searched=incumbents.searched - part.searched,
            seconds=self.seconds,
        )

    @property
    def best(self) -> float | None:
        """Least objective that any worker reported."""
        best = min(self._best, self.incumbent.best())
        return best if best < np.inf else None

    def solve_subproblem(self, point: np.ndarray, tolerance: float) -> SubAnswer | None:
        """Solve the subproblem at a point; return None when time is up."""
        with self.timing("subproblem"):
            return self._oracle.solve(point, tolerance, self.clock.left)

    def take(self, point: np.ndarray, objective: float, answer: SubAnswer) -> None:
        """Report a point, with a slightly larger objective, because the coordinator may compute a larger one."""
        gap = 0.0 if answer.value is None else answer.value - answer.bound
        claimed = objective + 2.0 * max(0.0, gap) + SLACK * abs(objective)
        better = claimed < min(self._best, self.incumbent.best())
        if better or self.config.validation is not None:
            self.incumbent.claim(point.copy(), claimed)
        self._best = min(self._best, claimed)

    def record(self, step: str, objective: float | None, *, cuts: int, support: int | None) -> None:
        """Do nothing: the coordinator writes the table."""

    def stopped(self) -> StopReason | None:
        """Return the reason to end the slice, or None."""
        over = self.clock.over or time.perf_counter() >= self._until or self.incumbent.halted()
        if over:
            return StopReason.TIME_LIMIT
        return StopReason.ITERATION_LIMIT if self.search.nodes >= self._most else None

    @contextmanager
    def timing(self, what: str) -> Iterator[None]:
        """Count the seconds of a block of code."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[what] += time.perf_counter() - start

    def find_floor(self) -> tuple[float, np.ndarray | None]:
        """Return no bound, because the root has looked for one."""
        return -np.inf, None
