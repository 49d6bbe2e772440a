"""Incumbents of a tree search over 0/1 choices: asking the subproblem, rounding, exchanges, earlier runs."""

from __future__ import annotations

import numpy as np

from solvers.drivers.benders.base import DecompositionDriver
from solvers.drivers.tree.exchange import ENDS, Incumbent, exchange, exchange_blocks
from solvers.drivers.tree.master import MasterLP
from solvers.drivers.tree.memory import Memory
from solvers.facts.structure import Cut, SubAnswer

TIGHT = 1e-7  # relative gap of answers at 0/1 points
EXCHANGE_SHARE = 0.75  # of the time limit, by which the first exchanges must end
SEARCH = 0.2  # of all questions to the subproblem, for wider exchanges during the tree
EARLIER = 3  # best choices of the last runs that are tried at the root


class IncumbentSearch(DecompositionDriver):
    """The part of a driver that finds incumbents; a subclass has ``_lp``, ``_centre`` and ``_fix``."""

    _lp: MasterLP
    _centre: np.ndarray  # the root's solution

    def prepare_search(self, memory: Memory | None) -> None:
        """Start with what earlier runs learnt."""
        # An edited subproblem has other values under the same parameters.
        self._memory = (memory if self.parts.as_built else None) or Memory()
        self._memory.prepare(self.structure, self._lp.size)
        self._pool, self._asked = self._memory.cuts, self._memory.answers
        self._earlier = self._memory.choices[-EARLIER:]
        self._best_choice: np.ndarray | None = None
        self._asks = 0
        self._level, self._searched = 1, 0  # of the exchanges during the tree: width, and questions

    def _fix(self) -> None:
        """Use a better incumbent."""
        raise NotImplementedError

    @property
    def _cutoff(self) -> float:
        """Nodes from this bound on hold nothing that is better by more than the gap."""
        return np.inf if self.best is None else self.best - self.config.gap * abs(self.best)

    def _left(self, share: float) -> float | None:
        """Return the seconds left until a share of the time limit has passed."""
        limit = self.clock.limit
        return None if limit is None else max(0.0, share * limit - self.clock.elapsed)

    def _ask(self, point: np.ndarray, tolerance: float) -> SubAnswer | None:
        """Ask the subproblem; integral points are remembered."""
        integral = bool(np.all(point == np.round(point)))
        key = point.tobytes()
        if integral and key in self._asked:
            return self._asked[key]
        tolerance = min(tolerance, TIGHT) if integral else tolerance  # it may become the incumbent, or close a node
        self._asks += 1
        with self.timing("subproblem"):
            answer = self._subproblem.solve(point, tolerance, self.clock.left)
        if answer is None:
            return None
        if integral and not self.clock.over:  # what time cut short is not for the next run
            self._asked[key] = answer
        if answer.cut is not None and answer.value is not None:
            self._pool.add(answer.cut)
        return answer

    def _offer(self, point: np.ndarray, answer: SubAnswer) -> float | None:
        """Offer an integral point of the master as incumbent; return its objective."""
        if answer.value is None:
            return None
        objective = self._lp.value(point) + answer.value
        improves = self.best is None or objective < self.best
        if not improves and self.config.validation is None:
            return objective
        for v, x in zip(self._lp.variables, point.tolist(), strict=True):
            v.set_value(x, skip_validation=True)
        score = None
        if self.config.validation is not None and self.structure.score is not None:
            answer.load()
            score = self.structure.score(self.model, self.config.validation)
        self.offer(objective, self._lp.variables, answer.load, score)
        if improves:
            self._memory.remember(point[: self._lp.n].copy(), first=self._best_choice is None)
            self._best_choice, self._level = point[: self._lp.n].copy(), 1
            self._row("incumbent", objective)
            self._fix()
        return objective

    def _evaluate(self, choice: np.ndarray) -> tuple[float, Cut] | None:
        """Evaluate a 0/1 choice for real; None where it breaks a row, has no value, or time is up."""
        point = self._lp.complete(choice, self.clock.left)
        if point is None or not self._promising(point):
            return None
        answer = self._ask(point[: self._lp.n], TIGHT)
        objective = None if answer is None else self._offer(point, answer)
        if answer is None or answer.guide is None or objective is None:
            return None
        return objective, answer.guide

    def _probe(self, choice: np.ndarray) -> Cut | None:
        """Return the cut at a choice that need not meet the master's rows."""
        answer = self._ask(choice, TIGHT)
        return None if answer is None or answer.value is None else answer.guide

    def _promising(self, point: np.ndarray) -> bool:
        """Tell whether the cuts let a point beat the incumbent; with ``validation``, any may have the least error."""
        if self.config.validation is not None or point.tobytes() in self._asked:
            return True
        return self._lp.value(point) + self._pool.at(point[: self._lp.n]) < self._cutoff

    def _round(self, point: np.ndarray) -> None:
        """Try two roundings of a fractional point: to the nearest, and greedily by size."""
        x = point[: self._lp.n]
        order = np.argsort(-x, kind="stable")
        nearest = np.where(self._lp.integer[: self._lp.n], np.round(x), x)
        for choice in (nearest, self._lp.greedy(order[x[order] > 0.01])):
            if choice.tobytes() not in self._asked:
                self._evaluate(choice)

    def _row(self, step: str, objective: float | None = None) -> None:
        support = None if self._best_choice is None else int(np.sum(self._best_choice > 0.5))
        self.record(step, objective, cuts=self._lp.added, support=support)

    def _recall(self) -> None:
        """Try what was best in earlier runs, or what the rows allow of it."""
        for choice in self._earlier:
            order = np.argsort(-(choice * (1.0 + self._centre[: self._lp.n])), kind="stable")
            self._evaluate(choice)
            self._evaluate(self._lp.greedy(order[choice[order] > 0.5]))

    def _exchange(self) -> None:
        """Improve the incumbent by exchanges of single elements, and of blocks."""
        now = self._incumbent()
        if now is not None:
            movable, cost = self._movable()
            stop = self._enough_searched
            exchange(now, self._evaluate, movable, cost, stop)
            after = exchange_blocks(now, self._evaluate, self._probe, movable, cost, stop)  # from the same start
            if after is not now:
                exchange(after, self._evaluate, movable, cost, stop)

    def _enough_searched(self) -> bool:
        return self.stopped() is not None or self._left(EXCHANGE_SHARE) == 0.0

    def _exchange_more(self) -> None:
        """Widen the exchanges for a share of the questions; what was asked before costs nothing.

        Counted in questions and not in seconds, so that runs repeat.
        """
        now, asks = self._incumbent(), self._asks
        left = SEARCH * asks - self._searched
        if now is None or left < 1 or ENDS * 2**self._level >= 2 * self._lp.n:
            return
        movable, cost = self._movable()

        def over() -> bool:
            return self.stopped() is not None or self._asks - asks >= left

        found = exchange(now, self._evaluate, movable, cost, over, self._level)
        self._searched += self._asks - asks
        if found is now and not over():
            self._level += 1

    def _incumbent(self) -> Incumbent | None:
        if self._best_choice is None or self.best is None:
            return None
        answer = self._asked.get(self._best_choice.tobytes())
        guide = None if answer is None else answer.guide
        return None if guide is None else Incumbent(self._best_choice, self.best, guide)

    def _movable(self) -> tuple[np.ndarray, np.ndarray]:
        """Return which choices may be switched, and the master's cost of each."""
        lp = self._lp
        return (lp.lower[: lp.n] == 0) & (lp.upper[: lp.n] == 1) & lp.integer[: lp.n], lp.cost[: lp.n]
