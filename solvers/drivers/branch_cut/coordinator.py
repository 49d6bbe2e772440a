"""Distribution of open nodes to worker processes.

    a. The driver processes nodes alone until a few are open.
    b. It assigns the nodes to the workers, evenly over their bounds. Each worker explores its part of the tree for a
       slice of time, by the steps of the driver.
    c. It collects the results: points, whose objective is computed again here, the least bound of closed nodes, and
       pseudo-costs. A worker without open nodes gets a share of the nodes of the others. Go to b.

The bound of the run is the least bound of the nodes that are open here, assigned to a worker, or pruned. The bound of
an assigned node is the one that its worker has reported, or the bound at the assignment. If a worker dies, its nodes
are open again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from solvers.drivers.branch_cut import joblib_pool, process_pool
from solvers.drivers.branch_cut.branching import Node
from solvers.drivers.branch_cut.incumbents import TIGHT, IncumbentSearch
from solvers.drivers.branch_cut.node import NodeSearch
from solvers.drivers.branch_cut.worker import Report, Slice, TreeTask

AFTER = 0.1  # s before workers start: many runs end earlier
ENOUGH = 8  # open nodes from which workers start
SHORT = 0.05  # s of a slice while a worker has no open node
GROWTH = 1.5  # of slices
FEW = 50  # nodes that are first assigned to a worker that returns the rest


WorkerPool = process_pool.ProcessPool | joblib_pool.JoblibPool


@dataclass
class Assigned:
    """Nodes of one worker: all ``nodes``, in case it dies, and the ``fresh`` ones, which it does not have yet.

    ``bound``, ``open``: least bound and number of its open nodes.
    """

    nodes: list[Node] = field(default_factory=list)
    fresh: list[Node] = field(default_factory=list)
    bound: float = math.inf
    open: int = 0


class Coordinator:
    """Assigns the open nodes of ``search.tree`` to at most ``threads`` worker processes.

    ``task``: returns the description of the tree search for a worker. ``started``: whether workers were started;
    ``lost``: number of workers that died. ``seconds``: total time of the workers.
    """

    def __init__(self, search: NodeSearch, threads: int, task: Callable[[], TreeTask]) -> None:
        self.search, self.tree, self.threads, self._task = search, search.tree, threads, task
        self.incumbents: IncumbentSearch = search.incumbents
        self._pool: WorkerPool | None = None
        self._assigned: dict[int, Assigned] = {}
        self._alone = False
        self._since, self._seconds, self._most = time.perf_counter(), 0.0, FEW
        self._why = ""
        self.started, self.lost, self.seconds = False, 0, {"master": 0.0, "subproblem": 0.0}

    @property
    def bound(self) -> float:
        """Least bound of the assigned nodes; infinite without any."""
        return min((part.bound for part in self._assigned.values()), default=math.inf)

    @property
    def open(self) -> int:
        """Number of assigned nodes that are open, as last reported."""
        return sum(part.open for part in list(self._assigned.values()))

    def is_due(self) -> bool:
        """Return whether the workers run the next step."""
        if self._alone:
            return False
        if self._pool is not None:
            return len(self.tree) > 0 or any(part.open for part in self._assigned.values())
        return len(self.tree) >= ENOUGH and time.perf_counter() - self._since >= AFTER

    def run_slice(self, limit: float) -> None:
        """Run the workers for one slice (b, c), with at most ``limit`` nodes."""
        if self._pool is None and not self._start():
            return
        pool, stopped = self._pool, self.incumbents.driver.stopped
        assert pool is not None
        self._assign_nodes(pool)
        parts = self._slices(pool, limit)
        reports = pool.run(parts, self._take, stopped)
        for k in parts:
            if k in reports:
                self._merge(k, reports[k])
            elif stopped() is None:
                self._lose(k)
        self._seconds = min(GROWTH * self._seconds, pool.longest)
        self.incumbents.row("tree")

    def _start(self) -> bool:
        """Start the workers; return False if that is impossible."""
        by_joblib = joblib_pool.configured()
        kind = joblib_pool.JoblibPool if by_joblib or not process_pool.possible() else process_pool.ProcessPool
        try:
            if not by_joblib:
                process_pool.check_allowed()
            found: WorkerPool = kind(self._task(), self.threads)
        except process_pool.Unavailable as error:
            self._alone, self._why = True, str(error)
            return False
        self._pool, self._seconds, self.started = found, found.first, True
        self._assigned = {k: Assigned() for k in range(self.threads)}
        return True

    def _assign_nodes(self, pool: WorkerPool) -> None:
        """Assign the open nodes to the workers without open nodes, otherwise to all.

        Workers that do not keep nodes get only as many as they can process in a slice.
        """
        nodes = self.tree.take()
        empty = [part for part in self._assigned.values() if not part.open]
        parts = empty or list(self._assigned.values())
        most = len(nodes) if pool.keeps else self._most * len(parts)
        self.tree.give(nodes[most:])
        for k, node in enumerate(nodes[:most]):
            part = parts[k % len(parts)]
            part.fresh.append(node)
            part.bound, part.open = min(part.bound, node.bound), part.open + 1

    def _slices(self, pool: WorkerPool, limit: float) -> dict[int, Slice]:
        """Return the next slice of each worker with open nodes."""
        incumbents = self.incumbents
        lp, driver = incumbents.lp, incumbents.driver
        busy = [k for k, part in self._assigned.items() if part.open]
        idle, share = len(busy) < len(self._assigned), 1.0 / len(self._assigned)
        back = (share if idle else 0.0, share) if pool.keeps else (1.0, 1.0)
        shares = [np.inf] * len(busy) if limit == math.inf else _split(int(limit), len(busy))
        slices: dict[int, Slice] = {}
        for k, most in zip(busy, shares, strict=True):
            part = self._assigned[k]
            if most > 0:
                slices[k] = Slice(
                    nodes=part.fresh,
                    lower=lp.lower,
                    upper=lp.upper,
                    best=math.inf if driver.best is None else driver.best,
                    choice=incumbents.choice,
                    costs=self.search.costs.totals,
                    solved=incumbents.solved,
                    searched=incumbents.searched,
                    seconds=SHORT if idle and pool.keeps else self._seconds,
                    left=driver.clock.left,
                    limit=most,
                    searches=not slices,
                    back=back,
                )
                part.nodes, part.fresh = part.nodes + part.fresh, []
        return slices

    def _take(self, point: np.ndarray) -> float:
        """Evaluate a point that a worker has found, and offer it as incumbent; return the incumbent's objective."""
        incumbents = self.incumbents
        answer = incumbents.solve_subproblem(point[: incumbents.lp.n], TIGHT)
        if answer is not None:
            incumbents.offer(point, answer)
        return math.inf if incumbents.driver.best is None else incumbents.driver.best

    def _merge(self, k: int, report: Report) -> None:
        part, incumbents, search = self._assigned[k], self.incumbents, self.search
        part.bound, part.open = report.bound, report.open
        if not part.open:
            part.nodes = []
        self.tree.leave_out(report.left_out)
        self.tree.give(report.nodes)
        incumbents.merge(report.least, report.solved, report.searched)
        search.merge(report.visited, report.costs)
        for what, seconds in report.seconds.items():
            self.seconds[what] += seconds
        self._most = max(self._most, 2 * report.visited)

    def _lose(self, k: int) -> None:
        """Open the nodes of a dead worker again."""
        part = self._assigned.pop(k)
        self.tree.give(part.nodes)
        self.lost += 1
        if self._pool is not None:
            self._why = self._pool.why
        if not self._assigned:
            self.end()
            self._alone = True

    @property
    def message(self) -> str:
        """A sentence if no worker could be started, or if some were lost."""
        if self._alone and not self.started:
            return f"threads={self.threads} were not used: {self._why}."
        if not self.lost:
            return ""
        rest = "the others" if self.lost < self.threads else "one process"
        lost = f"{self.lost} of {self.threads} processes ended unexpectedly ({self._why})"
        return f"{lost}: {rest} continued with their nodes."

    def end(self) -> None:
        """Release the workers and their resources."""
        if self._pool is not None:
            self._pool.end()
        self._pool = None


def _split(total: int, parts: int) -> list[float]:
    """Return whole numbers that sum to a total and differ by at most 1."""
    return [float(total // parts + (k < total % parts)) for k in range(parts)]
