"""Dealing open nodes to processes: who explores what, and what comes home.

    a. The driver visits nodes alone until there are some for each process.
    b. Deal them, good and bad alike. Each process explores its part for a slice of time, by the steps of the driver.
    c. Take home what was found: points, whose objective is computed anew here, the least bound of what was closed, and
       pseudo-costs. A process that has nothing left gets its share of what the others have. Back to b.

The bound is the least of the nodes that are open, dealt, or left out. A dealt node counts with the bound that its
process has reported, or that it had when it was dealt. Where a process dies, its nodes are open again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from solvers.drivers.tree import cluster, forks
from solvers.drivers.tree.branching import Node
from solvers.drivers.tree.dealt import Job, Report, Slice
from solvers.drivers.tree.incumbents import TIGHT, IncumbentSearch
from solvers.drivers.tree.node import Visits

AFTER = 0.1  # s of the tree alone: many end before
ENOUGH = 4  # open nodes for each process
SHORT = 0.05  # s of a slice while a process has nothing to do
GROWTH = 1.5  # of slices
FEW = 50  # nodes that a process is dealt at first, where it gives back what is left


class Processes(Protocol):
    """Who explores: ``forks.Forks`` or ``cluster.Cluster``."""

    keeps: bool  # whether nodes stay there between slices
    first: float  # s, of slices
    longest: float
    why: str  # a process may be lost

    def run(
        self, parts: Mapping[int, Slice], take: Callable[[np.ndarray], None], stopped: Callable[[], Any]
    ) -> dict[int, Report]:
        """Explore; return the reports of those that live."""
        ...

    def confirm(self, objective: float) -> None:
        """Tell of the incumbent's objective."""
        ...

    def end(self) -> None:
        """Let them go."""
        ...


@dataclass
class Dealt:
    """What a process was dealt: ``nodes``, in case it dies, and ``fresh`` ones that it has not got yet.

    ``bound``, ``open``: least bound of what is left of them, and how many are open.
    """

    nodes: list[Node] = field(default_factory=list)
    fresh: list[Node] = field(default_factory=list)
    bound: float = math.inf
    open: int = 0


class Dealer:
    """Deals the open nodes of ``visits.tree`` to ``threads`` processes.

    ``job``: makes what they are told. ``started``: whether there were processes, of which so many were ``lost``.
    ``seconds``: what they took, all together.
    """

    def __init__(self, visits: Visits, threads: int, job: Callable[[], Job]) -> None:
        self.visits, self.tree, self.threads, self._job = visits, visits.tree, threads, job
        self.incumbents: IncumbentSearch = visits.incumbents
        self._processes: Processes | None = None
        self._hands: dict[int, Dealt] = {}
        self._alone = False
        self._since, self._seconds, self._most = time.perf_counter(), 0.0, FEW
        self._why = ""
        self.started, self.lost, self.seconds = False, 0, {"master": 0.0, "subproblem": 0.0}

    @property
    def bound(self) -> float:
        """Least bound of what was dealt; infinite where nothing is."""
        return min((hand.bound for hand in self._hands.values()), default=math.inf)

    @property
    def open(self) -> int:
        """How many nodes are dealt and open, as far as is known."""
        return sum(hand.open for hand in list(self._hands.values()))

    def takes(self) -> bool:
        """Tell whether it is the processes' turn."""
        if self._alone:
            return False
        if self._processes is not None:
            return len(self.tree) > 0 or any(hand.open for hand in self._hands.values())
        grown = len(self.tree) >= ENOUGH * self.threads
        return grown and time.perf_counter() - self._since >= AFTER

    def deal(self, limit: float) -> None:
        """Let the processes explore for a slice (b, c), and visit at most so many nodes."""
        if self._processes is None and not self._start():
            return
        processes, stopped = self._processes, self.incumbents.driver.stopped
        assert processes is not None
        self._hand_out(processes)
        parts = self._parts(processes, limit)
        reports = processes.run(parts, self._take, stopped)
        for k in parts:
            if k in reports:
                self._merge(k, reports[k])
            elif stopped() is None:
                self._lose(k)
        self._seconds = min(GROWTH * self._seconds, processes.longest)
        self.incumbents.row("tree")

    def _start(self) -> bool:
        """Start the processes; False where there can be none."""
        elsewhere = cluster.configured()
        kind = cluster.Cluster if elsewhere or not forks.possible() else forks.Forks
        try:
            if not elsewhere:
                forks.check_allowed()
            found: Processes = kind(self._job(), self.threads)
        except forks.Unavailable as error:
            self._alone, self._why = True, str(error)
            return False
        self._processes, self._seconds, self.started = found, found.first, True
        self._hands = {k: Dealt() for k in range(self.threads)}
        return True

    def _hand_out(self, processes: Processes) -> None:
        """Deal the open nodes to whoever has none, or to all; no more than they may visit, where all come back."""
        nodes = self.tree.take()
        empty = [hand for hand in self._hands.values() if not hand.open]
        hands = empty or list(self._hands.values())
        most = len(nodes) if processes.keeps else self._most * len(hands)
        self.tree.give(nodes[most:])
        for k, node in enumerate(nodes[:most]):
            hand = hands[k % len(hands)]
            hand.fresh.append(node)
            hand.bound, hand.open = min(hand.bound, node.bound), hand.open + 1

    def _parts(self, processes: Processes, limit: float) -> dict[int, Slice]:
        """Return what each process that has nodes is to do."""
        incumbents = self.incumbents
        lp, driver = incumbents.lp, incumbents.driver
        busy = [k for k, hand in self._hands.items() if hand.open]
        idle, share = len(busy) < len(self._hands), 1.0 / len(self._hands)
        back = (share if idle else 0.0, share) if processes.keeps else (1.0, 1.0)
        shares = [np.inf] * len(busy) if limit == math.inf else _split(int(limit), len(busy))
        parts: dict[int, Slice] = {}
        for k, most in zip(busy, shares, strict=True):
            hand = self._hands[k]
            if most > 0:
                parts[k] = Slice(
                    nodes=hand.fresh,
                    lower=lp.lower,
                    upper=lp.upper,
                    best=math.inf if driver.best is None else driver.best,
                    choice=incumbents.choice,
                    costs=self.visits.costs.learnt,
                    asks=incumbents.asks,
                    searched=incumbents.searched,
                    seconds=SHORT if idle and processes.keeps else self._seconds,
                    left=driver.clock.left,
                    limit=most,
                    searches=not parts,
                    back=back,
                )
                hand.nodes, hand.fresh = hand.nodes + hand.fresh, []
        return parts

    def _take(self, point: np.ndarray) -> None:
        """Compute anew what a process has found, and offer it."""
        incumbents = self.incumbents
        answer = incumbents.ask(point[: incumbents.lp.n], TIGHT)
        if answer is not None:
            incumbents.offer(point, answer)
        if incumbents.driver.best is not None and self._processes is not None:
            self._processes.confirm(incumbents.driver.best)

    def _merge(self, k: int, report: Report) -> None:
        hand, incumbents, visits = self._hands[k], self.incumbents, self.visits
        hand.bound, hand.open = report.bound, report.open
        if not hand.open:
            hand.nodes = []
        self.tree.leave_out(report.left_out)
        self.tree.give(report.nodes)
        incumbents.least = min(incumbents.least, report.least)
        incumbents.asks += report.asks
        incumbents.searched += report.searched
        visits.nodes += report.visited
        visits.costs.learnt = visits.costs.learnt + report.costs
        for what, seconds in report.seconds.items():
            self.seconds[what] += seconds
        self._most = max(self._most, 2 * report.visited)

    def _lose(self, k: int) -> None:
        """Open again what a dead process was dealt."""
        hand = self._hands.pop(k)
        self.tree.give(hand.nodes)
        self.lost += 1
        if self._processes is not None:
            self._why = self._processes.why
        if not self._hands:
            self.end()
            self._alone = True

    @property
    def told(self) -> str:
        """What has become of the processes, where not all is well."""
        if self._alone and not self.started:
            return f"threads={self.threads} were not used: {self._why}."
        if not self.lost:
            return ""
        rest = "the others" if self.lost < self.threads else "one process"
        lost = f"{self.lost} of {self.threads} processes ended before their time ({self._why})"
        return f"{lost}: {rest} went on with their nodes."

    def end(self) -> None:
        """Let the processes go, and forget what they hold."""
        if self._processes is not None:
            self._processes.end()
        self._processes = None


def _split(total: int, parts: int) -> list[float]:
    """Return whole numbers that sum to a total, as equal as can be."""
    return [float(total // parts + (k < total % parts)) for k in range(parts)]
