"""Better 0/1 choices by exchanging elements, guided by the cut at the present choice.

The cut's coefficients are a subgradient of the subproblem's value, so they price each switch; the cheapest few drops,
additions and exchanges are tried for real, and the first that is better is taken.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from solvers.structure import Cut

TRIED = 20  # moves evaluated at each choice
ENDS = 8  # drops and additions that are paired


def improve(
    choice: np.ndarray,
    objective: float,
    cut: Cut,
    evaluate: Callable[[np.ndarray], tuple[float, Cut] | None],
    movable: np.ndarray,
    cost: np.ndarray,
    stop: Callable[[], bool],
) -> None:
    """Exchange until no tried move is better; ``evaluate`` keeps the incumbents it sees.

    Parameters
    ----------
    choice : array (n,) of 0/1
    objective : its value
    cut : tight at ``choice``
    evaluate : choice -> (objective, cut), or None where the choice breaks a row
    movable : array (n,) of bool
    cost : array (n,), the master's own cost of each element
    """
    while not stop():
        price = cut.coefficients + cost
        drops = _cheapest(-price, (choice > 0.5) & movable)
        adds = _cheapest(price, (choice < 0.5) & movable)
        moves: list[tuple[float, tuple[int, ...]]] = [(price[k] - price[j], (j, k)) for j in drops for k in adds]
        moves += [(-price[j], (j,)) for j in drops] + [(price[k], (k,)) for k in adds]
        for _, switched in sorted(moves, key=lambda move: move[0])[:TRIED]:
            candidate = choice.copy()
            candidate[list(switched)] = 1.0 - candidate[list(switched)]
            found = evaluate(candidate)
            if found is not None and found[0] < objective - 1e-9 * abs(objective):
                choice, (objective, cut) = candidate, found
                break
            if stop():
                return
        else:
            return


def _cheapest(price: np.ndarray, allowed: np.ndarray) -> list[int]:
    where = np.flatnonzero(allowed)
    return [int(k) for k in where[np.argsort(price[where], kind="stable")[:ENDS]]]
