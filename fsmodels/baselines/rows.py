"""Selections that satisfy rows, for methods that rank features.

The model of the rows has a binary ``sigma`` over the features and any rows that a MILP solver accepts. A selection is
allowed if it satisfies the rows and has at most K features. Both rules solve small MILPs: is there an allowed selection
that contains these features and not those?

``best_first`` takes features in the order of the ranking, and skips a feature if no allowed selection contains it
together with those already taken. The result is the lexicographically first allowed selection. It is the selection of
the plain filter if that satisfies the rows.

``eliminated`` drops the worst feature, unless every allowed selection within the remaining features contains it. It
stops at an allowed selection; each step keeps at least one within the remaining features. Then it adds features again
as ``best_first`` does, those dropped last first. Without this step, a budget could leave few expensive features, or
none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import pyomo.environ as pyo
from pyomo.common.modeling import unique_component_name

from fsmodels.errors import ModelError, NoSelection, SolverError
from fsmodels.words import listed
from solvers import SolutionStatus, solve


class Allowed:
    """The selections of at most ``most`` features that the rows of a model on ``sigma`` allow.

    Raises NoSelection where there is none.
    """

    def __init__(self, features: Sequence[str], rows: pyo.ConcreteModel, most: int) -> None:
        sigma = rows.component("sigma") if isinstance(rows, pyo.ConcreteModel) else None
        if sigma is None or list(sigma) != list(features) or not all(s.is_binary() for s in sigma.values()):
            raise ModelError(
                "rows must be a Pyomo model with a binary sigma over the features of the data, in their order."
            )
        self.model = rows.clone()
        self.sigma = self.model.sigma
        names = [row.name for row in self.model.component_objects(pyo.Constraint, active=True)]
        number = pyo.quicksum(self.sigma.values())
        self.model.add_component(unique_component_name(self.model, "most"), pyo.Constraint(expr=number <= most))
        self.model.add_component(unique_component_name(self.model, "fewest"), pyo.Objective(expr=number))
        found = self._solved()
        if found is None:
            raise NoSelection(
                f"No selection of at most {most} features satisfies the rows {listed(names)}: allow more features, or "
                "relax one."
            )
        self.known = found  # an allowed selection with the fixed values

    def take(self, name: str) -> bool:
        """Fix a feature in if an allowed selection with the fixed values contains it; return True if it is fixed."""
        return self._fix(name, 1)

    def drop(self, name: str) -> bool:
        """Fix a feature out if an allowed selection with the fixed values omits it; return True if it is fixed."""
        return self._fix(name, 0)

    def allows(self, selection: set[str]) -> bool:
        """Return True if the selection, which has the fixed values, is allowed."""
        if selection == self.known:
            return True
        before = {j: s.fixed for j, s in self.sigma.items()}
        for j, s in self.sigma.items():
            s.fix(int(j in selection))
        allowed = self._solved() is not None
        for j, s in self.sigma.items():
            if not before[j]:
                s.unfix()
        return allowed

    def _fix(self, name: str, value: int) -> bool:
        self.sigma[name].fix(value)
        found = self.known if (name in self.known) == bool(value) else self._solved()
        if found is None:
            self.sigma[name].fix(1 - value)
            return False
        self.known = found
        return True

    def _solved(self) -> set[str] | None:
        result = solve(self.model)
        if result.status is SolutionStatus.INFEASIBLE:
            return None
        if not result.has_solution:
            raise SolverError(f"The rows on the selection could not be checked: {result.message}")
        return {j for j, s in self.sigma.items() if pyo.value(s) > 0.5}


def best_first(features: Sequence[str], ranking: Iterable[str], rows: pyo.ConcreteModel, most: int) -> set[str]:
    """Return the allowed selection of at most ``most`` features that is first in the order of a ranking, best first.

    >>> rows = pyo.ConcreteModel()
    >>> rows.sigma = pyo.Var(["a", "b", "c"], domain=pyo.Binary)
    >>> rows.not_both = pyo.Constraint(expr=rows.sigma["a"] + rows.sigma["b"] <= 1)
    >>> sorted(best_first(["a", "b", "c"], ["b", "c", "a"], rows, 2))
    ['b', 'c']
    """
    allowed, taken = Allowed(features, rows, most), set[str]()
    for name in ranking:
        if len(taken) == most:
            break
        if allowed.take(name):
            taken.add(name)
    return taken


def eliminated(
    features: Sequence[str],
    worst_first: Callable[[list[str]], list[str]],
    rows: pyo.ConcreteModel,
    most: int,
    step: int,
) -> tuple[list[str], dict[str, int]]:
    """Drop the ``step`` worst features in each round until an allowed selection of at most ``most`` features is left.

    Then add dropped features again, the last first, if an allowed selection contains them too.

    ``worst_first`` sorts the remaining features. Returns the selection, and the number of rounds that each feature
    survived.
    """
    allowed, left, rounds = Allowed(features, rows, most), list(features), 0
    survived, dropped = dict.fromkeys(features, 0), list[str]()
    while len(left) > most or not allowed.allows(set(left)):
        budget = step
        for name in worst_first(list(left)):
            if not budget or (len(left) <= most and allowed.allows(set(left))):
                break
            if allowed.drop(name):
                left.remove(name)
                dropped.append(name)
                survived[name] = rounds
                budget -= 1
        rounds += 1
    survived |= dict.fromkeys(left, rounds)
    return sorted(best_first(features, left + dropped[::-1], rows, most)), survived
