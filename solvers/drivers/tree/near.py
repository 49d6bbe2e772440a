"""All choices near to the best: the tree goes on past the incumbent, with a raised cutoff."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class NearChoice:
    """A choice of the complicating variables (n,), its objective, and the bound that is proven of it.

    ``load`` puts it on the model, with the subproblem's answer.
    """

    choice: np.ndarray
    objective: float
    bound: float
    load: Callable[[], None]


@dataclass(frozen=True)
class NearChoices:
    """The choices within a share of the best, the best first.

    Attributes
    ----------
    choices : tuple of NearChoice
    below : float
        Every choice whose objective is better than this one is among them.
    complete : bool
        Whether these are all within the share, to the accuracy of a choice's objective.
    open : int
        Nodes of the tree that are left, in which more of them may be.
    """

    choices: tuple[NearChoice, ...]
    below: float
    complete: bool
    open: int


class NearSearch:
    """Collects evaluated choices within a share of the best, at most so many; inside, everything is minimised."""

    def __init__(self, within: float, most: int) -> None:
        self.within, self.most = within, most
        self._found: dict[bytes, tuple[float, float, Callable[[], None]]] = {}
        self._worst_kept = np.inf  # once there were too many

    def limit(self, best: float) -> float:
        """Return the objective up to which choices are kept."""
        return min(self._share(best), self._worst_kept)

    def _share(self, best: float) -> float:
        return best + self.within * abs(best)

    def cutoff(self, best: float) -> float:
        """Return the least bound that rules choices out."""
        return float(np.nextafter(self.limit(best), np.inf))

    def add(self, choice: np.ndarray, objective: float, bound: float, load: Callable[[], None], best: float) -> None:
        """Keep a choice that is near enough; of several completions of one, the best."""
        key = (np.round(choice) + 0.0).tobytes()
        if objective <= self.limit(best) and objective < self._found.get(key, (np.inf,))[0]:
            self._found[key] = objective, bound, load
        if len(self._found) > self.most:
            worst = max(self._found, key=lambda k: self._found[k][0])
            self._worst_kept = self._found.pop(worst)[0]

    def holds(self, choice: np.ndarray) -> bool:
        """Tell whether a choice is kept."""
        return (np.round(choice) + 0.0).tobytes() in self._found

    def result(self, best: float | None, open_bound: float, n_open: int, sign: float) -> NearChoices:
        """Return what was found, in the model's sense; ``open_bound`` is the least bound of the open nodes."""
        if best is None:
            return NearChoices((), -sign * np.inf, False, n_open)
        limit = self.limit(best)
        near = sorted((item for item in self._found.items() if item[1][0] <= limit), key=lambda item: item[1][0])
        choices = tuple(NearChoice(np.frombuffer(k), sign * v, sign * bound, load) for k, (v, bound, load) in near)
        complete = open_bound > limit and self._share(best) < self._worst_kept
        return NearChoices(choices, sign * min(open_bound, limit), complete, 0 if open_bound > limit else n_open)
