"""What a run takes over from earlier ones: points worth a try, and the parts of their tree that are still open."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from solvers.drivers.benders.base import DecompositionDriver
from solvers.drivers.tree.branching import Tree
from solvers.drivers.tree.incumbents import IncumbentSearch
from solvers.drivers.tree.master import MasterOptimum
from solvers.drivers.tree.parts import Frontier

TRIED = 5  # points that were asked earlier, the best under this master's costs


class Earlier:
    """Begins the tree of a run where earlier runs left it; with nothing remembered, at the root.

    ``dropped``: what of them could not be kept, and why, "" where all was.
    """

    def __init__(self, driver: DecompositionDriver, incumbents: IncumbentSearch, tree: Tree, dropped: str) -> None:
        self.driver, self.incumbents, self.tree, self.lp = driver, incumbents, tree, incumbents.lp
        self._lower, self._upper = self.lp.lower.copy(), self.lp.upper.copy()  # before incumbents fix any
        self._frontier: Frontier | None = None
        memory = incumbents.memory
        parts = 0 if memory.parts is None else memory.parts.leaves
        self.told = {"cuts": len(memory.cuts), "answers": len(memory.answers), "parts": parts}
        self._dropped = dropped

    def recall(self) -> None:
        """Try the best of the points that were asked earlier."""
        if self.told["answers"]:
            for choice in self._best_known():
                self.incumbents.evaluate(choice)

    def _best_known(self) -> Iterator[np.ndarray]:
        """Yield the best points that the rows allow, as far as the complicating variables alone can tell.

        One where that is all there is to tell; all that are near enough where those are asked for.
        """
        lp, near = self.lp, self.incumbents.near
        known = [(key, a.value) for key, a in self.incumbents.memory.answers.items() if a.value is not None]
        points = np.array([np.frombuffer(key) for key, _ in known])
        cost = points @ lp.cost[: lp.n] + np.array([value for _, value in known])
        most = len(known) if near is not None else TRIED if lp.size > lp.n else 1
        for k in np.argsort(cost, kind="stable"):
            if most == 0 or cost[k] + lp.constant >= self.incumbents.cutoff:
                return
            if lp.size > lp.n or lp.satisfies(points[k]):
                yield points[k].copy()
                most -= 1

    def closes(self) -> bool:
        """Prove the earlier tree's bounds anew; tell whether nothing of it is open."""
        memory, lp = self.incumbents.memory, self.lp
        if memory.parts is None or not self.told["parts"]:
            return False
        self._frontier = memory.parts.take_up(
            lp.linear, lp.integer, self._lower, self._upper, self.incumbents.cutoff, self._known, memory.cuts
        )
        return not self._frontier.open

    def _known(self, point: np.ndarray) -> float | None:
        answer = self.incumbents.memory.answers.get(point[: self.lp.n].tobytes())
        if answer is None:
            return None
        return np.inf if answer.value is None else self.lp.value(point) + answer.bound

    def open(self, relaxed: MasterOptimum) -> None:
        """Add the open nodes to the tree."""
        parts, frontier = self.incumbents.memory.parts, self._frontier
        if frontier is not None:
            for bound, changes, part in frontier.open:
                self.tree.add(max(bound, relaxed.bound), changes, part)
            self.tree.leave_out(frontier.closed)
        else:
            part = -1
            if parts is not None:
                part = parts.begin(relaxed.cut, relaxed.bound, self.lp.linear, self._lower, self._upper)
            self.tree.add(relaxed.bound, part=part)
        self._tell()

    def _tell(self) -> None:
        """Say what was of use."""
        frontier, told = self._frontier, self.told
        said = []
        if frontier is not None:
            told |= {"closed": told["parts"] - len(frontier.open), "open": len(frontier.open)}
            said.append(
                f"Reused of earlier runs: {told['parts']} parts of the tree, {told['closed']} of them closed without a "
                f"solve; {told['cuts']} cuts and {told['answers']} answers."
            )
        if self._dropped:
            said.append(f"Dropped: {self._dropped}.")
        if said or told["cuts"]:
            self.driver.details["memory"] = told | {"dropped": self._dropped}
        self.driver.message = " ".join([*filter(None, [self.driver.message]), *said])
