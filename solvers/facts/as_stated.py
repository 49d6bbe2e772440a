"""A model as its builder left it, for facts that hold of it only as it was built."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyomo.environ as pyo

from solvers.model.classes import single_objective
from solvers.values import same, state


@dataclass
class AsStated:
    """A model as its builder left it, compared by identity; lists survive ``model.clone()``.

    Where ``whole``, all its variables count, and those that are made later, of an index that had none, may be as a
    builder would have made them: free. ``boxed`` variables may change in bounds and fixing, not in domain.
    """

    objective: Any
    expression: Any
    sense: Any
    rows: list[Any]
    variables: list[Any]
    states: list[tuple[Any, ...]]
    boxed: list[Any]
    domains: list[Any]
    whole: bool

    @classmethod
    def of(cls, model: Any, variables: list[Any] | None = None, boxed: Sequence[Any] = ()) -> AsStated:
        """Take the snapshot; ``variables`` and ``boxed`` are those that matter, by default all the model's."""
        objective = single_objective(model)
        held = list(_all(model, pyo.Var)) if variables is None else variables
        rows, states = list(_all(model, pyo.Constraint)), [state(v) for v in held]
        domains = [v.domain for v in boxed]
        whole = variables is None
        return cls(objective, objective.expr, objective.sense, rows, held, states, list(boxed), domains, whole)

    def changes(self, model: Any) -> list[str]:
        """Name what differs now."""
        known = {id(row) for row in self.rows}
        found = [f'row "{row.name}" was added' for row in _all(model, pyo.Constraint) if id(row) not in known]
        objectives = list(_all(model, pyo.Objective))
        if not any(o is self.objective for o in objectives):
            found.append(f'the objective "{self.objective.name}" was deactivated or deleted')
        found += [f'the objective "{o.name}" was added' for o in objectives if o is not self.objective]
        if self.objective.expr is not self.expression or self.objective.sense != self.sense:
            found.append(f'the objective "{self.objective.name}" was changed')
        before = {id(v): s for v, s in zip(self.variables, self.states, strict=True)}
        for v in _all(model, pyo.Var) if self.whole else self.variables:
            now, then = state(v), before.get(id(v))
            free = then is None and now[:2] == (None, None) and not v.fixed and v.domain is pyo.Reals
            if not free and (then is None or not same(now, then)):
                found.append(f'the bounds, domain or fixing of "{v.name}" were changed')
        for v, domain in zip(self.boxed, self.domains, strict=True):
            if v.domain is not domain:
                found.append(f'the domain of "{v.name}" was changed')
        return found


def _all(model: Any, kind: Any) -> Any:
    return model.component_data_objects(kind, active=True)  # a disjunct's belong to its disjunction
