"""Incumbents of a tree search over 0/1 choices: subproblems, rounding, exchanges, earlier runs.

``SearchContext`` is the interface between a tree search and its owner: the driver, or a worker with a part of the tree.
The search does not access the user's model. ``SolutionPool`` collects all near-optimal choices; the cutoff of the tree
is then above the incumbent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from solvers.clock import Clock
from solvers.drivers.benders.base import DecompositionConfig
from solvers.drivers.branch_cut.master import MasterLP
from solvers.drivers.branch_cut.memory import Memory
from solvers.drivers.dive import dive
from solvers.drivers.exchange import ENDS, Incumbent, exchange, exchange_blocks, renew
from solvers.facts.structure import Cut, SubAnswer
from solvers.lp.highs import LpStatus
from solvers.result import StopReason
from solvers.values import put_back


@dataclass(frozen=True)
class NearChoice:
    """A choice of the complicating variables (n,), its objective and its proven bound.

    ``load`` puts the choice and the solution of its subproblem on the model.
    """

    choice: np.ndarray
    objective: float
    bound: float
    load: Callable[[], None]


@dataclass(frozen=True)
class NearChoices:
    """The choices whose objective is within a share of the best, best first.

    Attributes
    ----------
    choices : tuple of NearChoice
    below : float
        All choices with a better objective than this are included.
    complete : bool
        Whether all choices within the share are included, up to the accuracy of the objective of a choice.
    open : int
        Number of open nodes of the tree, which may contain more choices.
    """

    choices: tuple[NearChoice, ...]
    below: float
    complete: bool
    open: int


class SolutionPool:
    """Collects at most ``most`` evaluated choices within a share of the best. Objectives are minimised here."""

    def __init__(self, within: float, most: int) -> None:
        self.within, self.most = within, most
        self._found: dict[bytes, tuple[float, float, Callable[[], None]]] = {}
        self._worst_kept = np.inf  # finite once a choice was dropped

    def limit(self, best: float) -> float:
        """Return the objective up to which choices are kept."""
        return min(self._share(best), self._worst_kept)

    def _share(self, best: float) -> float:
        return best + self.within * abs(best)

    def cutoff(self, best: float) -> float:
        """Return the least bound that excludes a choice."""
        return float(np.nextafter(self.limit(best), np.inf))

    def add(self, choice: np.ndarray, objective: float, bound: float, load: Callable[[], None], best: float) -> None:
        """Keep a choice within the limit; keep the best of several completions of a choice."""
        key = (np.round(choice) + 0.0).tobytes()
        if objective <= self.limit(best) and objective < self._found.get(key, (np.inf,))[0]:
            self._found[key] = objective, bound, load
        if len(self._found) > self.most:
            worst = max(self._found, key=lambda k: self._found[k][0])
            self._worst_kept = self._found.pop(worst)[0]

    def contains(self, choice: np.ndarray) -> bool:
        """Return whether a choice is in the pool."""
        return (np.round(choice) + 0.0).tobytes() in self._found

    def result(self, best: float | None, open_bound: float, n_open: int, sign: float) -> NearChoices:
        """Return the choices in the sense of the model's objective; ``open_bound``: least bound of the open nodes."""
        if best is None:
            return NearChoices((), -sign * np.inf, False, n_open)
        limit = self.limit(best)
        near = sorted((item for item in self._found.items() if item[1][0] <= limit), key=lambda item: item[1][0])
        choices = tuple(NearChoice(np.frombuffer(k), sign * v, sign * bound, load) for k, (v, bound, load) in near)
        complete = open_bound > limit and self._share(best) < self._worst_kept
        return NearChoices(choices, sign * min(open_bound, limit), complete, 0 if open_bound > limit else n_open)


class SearchContext(Protocol):
    """The owner of a tree search: incumbent, clock, subproblem, table."""

    clock: Clock

    @property
    def config(self) -> DecompositionConfig:
        """The options of the run."""

    @property
    def best(self) -> float | None:
        """The least objective so far."""

    def solve_subproblem(self, point: np.ndarray, tolerance: float) -> SubAnswer | None:
        """Solve the subproblem at a point of the complicating variables; return None when time is up."""

    def take(self, point: np.ndarray, objective: float, answer: SubAnswer) -> None:
        """Accept a point of the master as incumbent, or as the point with the least validation error."""

    def record(self, step: str, objective: float | None, *, cuts: int, support: int | None) -> Any:
        """Add a row to the table."""

    def stopped(self) -> StopReason | None:
        """Return the reason to stop now, or None."""

    def timing(self, what: str) -> AbstractContextManager[None]:
        """Add the time of a block of code to that of a step."""

    def find_floor(self) -> tuple[float, np.ndarray | None]:
        """Return a lower bound for an unbounded master, and a point of the complicating variables."""


TIGHT = 1e-7  # relative gap of answers at 0/1 points
LOOSE = 1e-5  # relative gap of answers at fractional points, where cuts need not be tight
START_SHARE = 0.2  # of the time limit, at which the exchanges before the relaxation end
EXCHANGE_SHARE = 0.75  # of the time limit, at which the first exchanges end
SMALL_PART = 20  # elements for each chosen one, from which the first exchanges precede the relaxation
SEARCH = 0.2  # share of all subproblems for wider exchanges during the tree search
EARLIER = 3  # number of best choices of earlier runs that are tried at the root
TRIED = 5  # number of evaluated points of earlier runs that are tried, the best for the costs of this master


class IncumbentSearch:
    """Finds incumbents for a driver: solves its subproblem, and offers the points.

    - ``memory``: prepared for this run.
    - ``improved``: called after each better incumbent.
    - ``choice``: the complicating variables of the incumbent.
    - ``least``: least bound that was proven for an evaluated choice.
    - ``pool``: cuts of all answers.
    - ``solved``, ``searched``: number of solved subproblems, and of those for wider exchanges.
    - ``near``: pool of near-optimal choices.
    - ``below``: only objectives below this are searched for.
    """

    def __init__(
        self,
        driver: SearchContext,
        lp: MasterLP,
        memory: Memory,
        *,
        near: SolutionPool | None = None,
        below: float = np.inf,
    ) -> None:
        self.driver, self.lp, self.memory, self.near, self.below = driver, lp, memory, near, below
        self.pool, self._answers = self.memory.cuts, self.memory.answers
        self._earlier, self._has_answers = self.memory.choices[-EARLIER:], len(self._answers) > 0
        self.improved: Callable[[], None] = lambda: None
        self._offered: set[bytes] = set()
        self.choice: np.ndarray | None = None
        self._exchanged = np.empty(0)  # the result of the exchanges before the relaxation
        self.least = np.inf
        self.solved = 0
        self._level, self.searched = 1, 0  # of the exchanges during the tree search: width, and subproblems

    def start_slice(self, lower: np.ndarray, upper: np.ndarray, solved: int, searched: int) -> None:
        """Set the bounds of the master's variables and the counts of all workers, for one slice of a worker."""
        self.lp.lower, self.lp.upper = lower, upper
        self.least, self.solved, self.searched = np.inf, solved, searched

    def merge(self, least: float, solved: int, searched: int) -> None:
        """Add the least bound and the counts of a worker."""
        self.least = min(self.least, least)
        self.solved += solved
        self.searched += searched

    def count_solved(self) -> None:
        """Count a subproblem that was solved elsewhere."""
        self.solved += 1

    @property
    def cutoff(self) -> float:
        """Bound from which a node contains no objective that is better by more than the gap, and no near choice."""
        best = self.driver.best
        if best is None:
            return self.below
        limit = best - self.driver.config.gap * abs(best) if self.near is None else self.near.cutoff(best)
        return min(limit, self.below)

    def solve_subproblem(self, point: np.ndarray, tolerance: float) -> SubAnswer | None:
        """Solve the subproblem at a point; answers at integral points are kept."""
        integral = bool(np.all(point == np.round(point)))
        key = point.tobytes()
        if integral and key in self._answers:
            return self._answers[key]
        tolerance = min(tolerance, TIGHT) if integral else tolerance  # it may be the incumbent, or close a node
        self.solved += 1
        answer = self.driver.solve_subproblem(point, tolerance)
        if answer is None:
            return None
        if integral and not self.driver.clock.over:  # an answer that the time limit interrupted is not kept
            self._answers[key] = answer
        if answer.cut is not None and answer.value is not None:
            self.pool.add(answer.cut)
        return answer

    def has_answer(self, choice: np.ndarray) -> bool:
        """Return whether the answer at a choice is kept."""
        return choice.tobytes() in self._answers

    def has_offered(self, choice: np.ndarray) -> bool:
        """Return whether a choice was offered in this run and determines all variables of the master."""
        return self.lp.size == self.lp.n and choice.tobytes() in self._offered

    def offer(self, point: np.ndarray, answer: SubAnswer) -> float | None:
        """Offer an integral point of the master as incumbent; return its objective."""
        if answer.value is None:
            return None
        self._offered.add(point.tobytes())
        objective = self.lp.value(point) + answer.value
        self.least = min(self.least, self.lp.value(point) + answer.bound)
        if self.near is not None:
            best = objective if self.driver.best is None else min(objective, self.driver.best)
            load = partial(_load, self.lp.variables, point.copy(), answer)
            self.near.add(point[: self.lp.n], objective, self.lp.value(point) + answer.bound, load, best)
        improves = self.driver.best is None or objective < self.driver.best
        if not improves and self.driver.config.validation is None:
            return objective
        self.driver.take(point, objective, answer)
        if improves:
            self.memory.remember(point[: self.lp.n].copy(), first=self.choice is None)
            self.choice, self._level = point[: self.lp.n].copy(), 1
            self.row("incumbent", objective)
            self.improved()
        return objective

    def adopt(self, choice: np.ndarray) -> None:
        """Continue the search around an incumbent of another process."""
        if self.choice is None or not np.array_equal(choice, self.choice):
            self.solve_subproblem(choice, TIGHT)
            self.choice, self._level = choice.copy(), 1

    def evaluate(self, choice: np.ndarray) -> tuple[float, Cut] | None:
        """Evaluate a 0/1 choice; return None if it violates a row, is infeasible, or time is up."""
        point = self.lp.complete(choice, self.driver.clock.left)
        if point is None or not self._promising(point):
            return None
        answer = self.solve_subproblem(point[: self.lp.n], TIGHT)
        objective = None if answer is None else self.offer(point, answer)
        if answer is None or answer.guide is None or objective is None:
            return None
        return objective, answer.guide

    def _probe(self, choice: np.ndarray) -> Cut | None:
        """Return the cut at a choice that may violate the master's rows."""
        answer = self.solve_subproblem(choice, TIGHT)
        return None if answer is None or answer.value is None else answer.guide

    def _promising(self, point: np.ndarray) -> bool:
        """Return whether the cuts allow a point to be better than the incumbent; always True with ``validation``."""
        if self.driver.config.validation is not None or point.tobytes() in self._answers:
            return True
        return self.lp.value(point) + self.pool.at(point[: self.lp.n]) < self.cutoff

    def round(self, point: np.ndarray) -> None:
        """Try roundings of a fractional point: to the nearest integers, greedily by size, and ``dive`` if both fail."""
        x = point[: self.lp.n]
        order = np.argsort(-x, kind="stable")
        nearest = np.where(self.lp.integer[: self.lp.n], np.round(x), x)
        for choice in (nearest, self.lp.greedy(order[x[order] > 0.01])):
            if choice.tobytes() not in self._answers:
                self.evaluate(choice)
        if self.driver.best is None:
            found = dive(point, self.lp.lower, self.lp.upper, self.lp.integer, self._optimum)
            if found is not None:
                self.evaluate(found[: self.lp.n])

    def _optimum(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray | None:
        """Return the optimum of the LP within bounds, None if there is none."""
        found = self.lp.solve(lower, upper, self.driver.clock.left)
        return None if isinstance(found, LpStatus) else found.point

    def row(self, step: str, objective: float | None = None) -> None:
        """Add a row to the table, with the size of the incumbent."""
        support = None if self.choice is None else int(np.sum(self.choice > 0.5))
        self.driver.record(step, objective, cuts=self.lp.added, support=support)

    def recall(self, centre: np.ndarray) -> None:
        """Try the best choices of earlier runs, and their largest parts that satisfy the rows."""
        for choice in self._earlier:
            order = np.argsort(-(choice * (1.0 + centre[: self.lp.n])), kind="stable")
            self.evaluate(choice)
            self.evaluate(self.lp.greedy(order[choice[order] > 0.5]))

    def recall_best(self) -> None:
        """Try the best points that were evaluated in earlier runs."""
        if self._has_answers:
            for choice in self._best_known():
                self.evaluate(choice)

    def _best_known(self) -> Iterator[np.ndarray]:
        """Yield the best points of earlier runs that satisfy the rows on the complicating variables.

        This is one point if the master has no other variables, a few otherwise, and every point below the cutoff if the
        run collects near-optimal choices.
        """
        lp, near = self.lp, self.near
        known = [(key, a.value) for key, a in self._answers.items() if a.value is not None]
        points = np.array([np.frombuffer(key) for key, _ in known])
        cost = points @ lp.cost[: lp.n] + np.array([value for _, value in known])
        most = len(known) if near is not None else TRIED if lp.size > lp.n else 1
        for k in np.argsort(cost, kind="stable"):
            if most == 0 or cost[k] + lp.constant >= self.cutoff:
                return
            if lp.size > lp.n or lp.satisfies(points[k]):
                yield points[k].copy()
                most -= 1

    def start(self) -> None:
        """Find an incumbent before the relaxation is solved, by the prices of the smallest choice.

        Exchanges follow if the choice is a small part of all: the relaxation then takes longer than they do.
        """
        lp = self.lp
        guide = self._probe(np.clip(np.zeros(lp.n), lp.lower[: lp.n], lp.upper[: lp.n]))
        if guide is None:
            return
        lp.start(guide.constant)
        price = guide.coefficients + lp.cost[: lp.n]
        order = np.argsort(price, kind="stable")
        order = order[price[order] < 0]
        choice, size, best = lp.greedy(order), len(order), np.inf
        if choice[order].all():  # no row limits the choice, only the costs do
            choice, size = lp.greedy(order[:1]), 1
        while (found := self.evaluate(choice)) is not None and found[0] <= best and size < len(order):
            size, best = 2 * size, found[0]
            choice = lp.greedy(order[:size])
        if self.choice is not None and SMALL_PART * self.choice.sum() <= lp.n:
            self._exchange_and_renew()

    def _exchange_and_renew(self) -> None:
        """Improve the incumbent by exchanges, which start again from other choices while that pays."""
        now, best = self._incumbent(), np.inf
        movable, cost = self._movable()
        stop = partial(self._enough_searched, START_SHARE)
        while now is not None:
            now = exchange_blocks(now, self.evaluate, self._probe, movable, cost, stop)
            now = exchange(now, self.evaluate, movable, cost, stop)
            if now.objective >= best or stop():
                break
            best = now.objective
            now = renew(now, self.evaluate, self._probe, movable, cost)
        if self.choice is not None:
            self._exchanged = self.choice

    def exchange(self) -> None:
        """Improve the incumbent by exchanges of single elements, and of blocks, unless it is a result of exchanges."""
        now = self._incumbent()
        if now is not None and not np.array_equal(now.choice, self._exchanged):
            movable, cost = self._movable()
            stop = self._enough_searched
            exchange(now, self.evaluate, movable, cost, stop)
            after = exchange_blocks(now, self.evaluate, self._probe, movable, cost, stop)  # from the same start
            if after is not now:
                exchange(after, self.evaluate, movable, cost, stop)

    def _enough_searched(self, share: float = EXCHANGE_SHARE) -> bool:
        return self.driver.stopped() is not None or self.driver.clock.left_of(share) == 0.0

    def exchange_more(self) -> None:
        """Try wider exchanges, for a share of all subproblems; points that were evaluated before do not count.

        The share counts subproblems instead of seconds, so that runs are reproducible.
        """
        now, before = self._incumbent(), self.solved
        left = SEARCH * before - self.searched
        if now is None or left < 1 or ENDS * 2**self._level >= 2 * self.lp.n:
            return
        movable, cost = self._movable()

        def over() -> bool:
            return self.driver.stopped() is not None or self.solved - before >= left

        found = exchange(now, self.evaluate, movable, cost, over, self._level)
        self.searched += self.solved - before
        if found is now and not over():
            self._level += 1

    def _incumbent(self) -> Incumbent | None:
        if self.choice is None or self.driver.best is None:
            return None
        answer = self._answers.get(self.choice.tobytes())
        guide = None if answer is None else answer.guide
        return None if guide is None else Incumbent(self.choice, self.driver.best, guide)

    def _movable(self) -> tuple[np.ndarray, np.ndarray]:
        """Return a mask of the variables that may be switched, and the costs of the master."""
        lp = self.lp
        return (lp.lower[: lp.n] == 0) & (lp.upper[: lp.n] == 1) & lp.integer[: lp.n], lp.cost[: lp.n]


def _load(variables: list[Any], point: np.ndarray, answer: SubAnswer) -> None:
    put_back(zip(variables, point.tolist(), strict=True))
    answer.load()
