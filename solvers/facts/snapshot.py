"""Snapshots of models, for facts that hold only for the model as built."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyomo.environ as pyo

from solvers.model.classes import single_objective
from solvers.model.rewriting import UNSEEN
from solvers.model_cache import ModelCache, cached
from solvers.values import same, state

DOMAIN = 2  # its place in a variable's state


@dataclass
class AsBuilt:
    """The components of a builder and their contents, which are compared by identity in milliseconds.

    These are all active components, or those to which facts refer. They are parallel lists and not dictionaries by
    ``id``, because lists survive ``model.clone()`` and pickling.
    """

    objective: Any
    cost: Any
    sense: Any
    rows: list[Any]
    names: list[str]  # of the rows, if requested: a deleted row has no name
    expressions: list[Any]
    variables: list[Any]
    states: list[tuple[Any, ...]]
    named: list[Any]  # named expressions, whose content may be replaced
    contents: list[Any]
    others: list[Any]  # other components, such as ordered sets and disjunctions
    members: list[Any]  # of the ordered sets among them

    @classmethod
    def of(
        cls,
        model: Any,
        *,
        rows: Iterable[Any] | None = None,
        variables: Iterable[Any] | None = None,
        named: Iterable[Any] | None = None,
        others: Iterable[Any] | None = None,
        names: bool = False,
    ) -> AsBuilt:
        """Take the snapshot of all active components, or of the given ones of each kind."""
        model = cached(model)
        objective = single_objective(model)
        rows = model.data(pyo.Constraint) if rows is None else list(rows)
        variables = model.data(pyo.Var) if variables is None else list(variables)
        named = model.data(pyo.Expression) if named is None else list(named)
        others = model.data(*UNSEEN) if others is None else list(others)
        return cls(
            objective,
            objective.expr,
            objective.sense,
            rows,
            [row.name for row in rows] if names else [],
            [row.expr for row in rows],
            variables,
            [state(v) for v in variables],
            named,
            [e.expr for e in named],
            others,
            [_members(c) for c in others],
        )

    def untouched(self, model: Any) -> bool:
        """Return True if nothing in the model was added or changed except values of parameters."""
        model, kinds = cached(model), ([pyo.Constraint], [pyo.Var], [pyo.Expression], UNSEEN)
        counts = [len(model.data(*kind)) for kind in kinds]
        as_built = [len(parts) for parts in (self.rows, self.variables, self.named, self.others)]
        return not self.changed_variables() and counts == as_built and self.restricted(model)

    def restricted(self, model: Any) -> bool:
        """Return True if every point of the model is a point of the whole model as built with the same objective."""
        return next(self.loosened(model), None) is None

    def loosened(self, model: Any) -> Iterator[str]:
        """Yield the edits that may make other points feasible or change their objective."""
        model = cached(model)
        objectives = model.data(pyo.Objective)
        if len(objectives) != 1 or objectives[0] is not self.objective:
            yield f'the objective "{self.objective.name}" is not the only one'
        elif not self.same_cost():
            yield f'the objective "{self.objective.name}" was changed'
        yield from self.lost(model)
        for e, before in zip(self.named, self.contents, strict=True):
            if e.expr is not before:
                yield f'expression "{e.name}" was changed'
        now = {id(part) for part in model.data(*UNSEEN)}
        yield from (f'ordered set "{s.name}" was changed' for s in self.changed_sets(model) if id(s) in now)
        yield from (f'the bounds, domain or fixing of "{v.name}" were widened' for v in self._widened())

    def has_rows(self, model: Any) -> bool:
        """Return True if all rows and other components as built are in the model, unchanged."""
        return next(self.lost(cached(model)), None) is None

    def lost(self, model: ModelCache) -> Iterator[str]:
        """Yield the rows and other components that are no longer active in the model, and the changed rows, as text."""
        now = {id(part) for part in (*model.data(pyo.Constraint), *model.data(*UNSEEN))}
        names = self.names or [""] * len(self.rows)
        parts = [*zip(self.rows, names, strict=True), *((part, "") for part in self.others)]
        yield from (_gone(part, name) for part, name in parts if id(part) not in now)
        for row, before in zip(self.rows, self.expressions, strict=True):
            if row.expr is not before and id(row) in now:
                yield f'row "{row.name}" was changed'

    def narrowed(self) -> bool:
        """Return True if no variable can take a value that it could not take before."""
        return next(self._widened(), None) is None

    def _widened(self) -> Iterator[Any]:
        return (v for v, before in zip(self.variables, self.states, strict=True) if not _within(v, before))

    def same_cost(self) -> bool:
        """Return True if the expression and the sense of the objective are as built."""
        return self.objective.expr is self.cost and self.objective.sense == self.sense

    def same_named(self) -> list[Any]:
        """Return the named expressions whose content is as built."""
        return [e for e, before in zip(self.named, self.contents, strict=True) if e.expr is before]

    def stated_by_rows(self) -> dict[int, Any]:
        """Return the expressions of the rows by the id of the row."""
        return dict(zip(map(id, self.rows), self.expressions, strict=True))

    def changed_variables(self) -> list[Any]:
        """Return the variables whose bounds, domain or fixing are no longer as built."""
        return [v for v, before in zip(self.variables, self.states, strict=True) if not same(state(v), before)]

    def changed_sets(self, model: Any) -> list[Any]:
        """Return the ordered sets that were removed from the model or changed."""
        sets = [(c, before) for c, before in zip(self.others, self.members, strict=True) if before is not None]
        now = {id(s) for s in cached(model).data(pyo.SOSConstraint)} if sets else set()
        return [s for s, before in sets if id(s) not in now or not _same_set(_members(s), before)]

    def added(self, rows: Iterable[Any]) -> list[Any]:
        """Return those of some rows that are not in the snapshot."""
        known = {id(row) for row in self.rows}
        return [row for row in rows if id(row) not in known]

    def additions(self, model: Any) -> Iterator[str]:
        """Yield the added rows and the edits of the objective as text."""
        model = cached(model)
        yield from (f'row "{row.name}" was added' for row in self.added(model.rows))
        objectives = model.objectives
        if not any(o is self.objective for o in objectives):
            yield f'the objective "{self.objective.name}" was deactivated or deleted'
        yield from (f'the objective "{o.name}" was added' for o in objectives if o is not self.objective)
        if not self.same_cost():
            yield f'the objective "{self.objective.name}" was changed'

    def variable_edits(self, now: Iterable[Any], boxed: Collection[Any] = ()) -> Iterator[str]:
        """Yield the variables that are not as built, as text; bounds and fixing of ``boxed`` ones are not compared.

        A variable that was created later for a new index must be free, as the builder would have created it.
        """
        known = {id(v): before for v, before in zip(self.variables, self.states, strict=True)}
        loose = set(map(id, boxed))
        for v in now:
            if id(v) in loose:
                continue
            is_now, before = state(v), known.get(id(v))
            free = before is None and is_now[:2] == (None, None) and not v.fixed and v.domain is pyo.Reals
            if not free and (before is None or not same(is_now, before)):
                yield f'the bounds, domain or fixing of "{v.name}" were changed'
        for v in boxed:
            if v.domain is not known[id(v)][DOMAIN]:
                yield f'the domain of "{v.name}" was changed'


def data_of(components: Iterable[Any]) -> list[Any]:
    """Return the data of components, indexed or not, in order and each once; data are returned unchanged."""
    found = {id(d): d for c in components for d in (c.values() if c.is_indexed() else [c])}
    return list(found.values())


def _gone(part: Any, name: str) -> str:
    """Return a text for a row or component that is no longer active; ``name``: of a deleted row, if known."""
    if part.parent_component() is None or part.model() is None:
        return f'row "{name}" was deleted' if name else "a row or set was deleted"
    kind = "row" if part.ctype is pyo.Constraint else part.ctype.__name__
    return f'{kind} "{part.name}" was deactivated'


def _members(component: Any) -> tuple[int, list[Any], list[float]] | None:
    """Return the level, the variables and the weights of an ordered set; None for other components."""
    if component.ctype is not pyo.SOSConstraint:
        return None
    items = list(component.get_items())
    return component.level, [v for v, _ in items], [float(w) for _, w in items]


def _same_set(now: Any, before: tuple[int, list[Any], list[float]]) -> bool:
    alike = now[0] == before[0] and now[2] == before[2] and len(now[1]) == len(before[1])
    return alike and all(v is w for v, w in zip(now[1], before[1], strict=True))


def _within(v: Any, before: tuple[Any, ...]) -> bool:
    """Return True if a variable can take no value that it could not take before."""
    if same(state(v), before):
        return True
    lower, upper, domain, fixed, _ = before
    if fixed:
        return False
    least, most = pyo.value(lower), pyo.value(upper)
    above = least is None or (v.lb is not None and v.lb >= least) or (v.fixed and v.value >= least)
    below = most is None or (v.ub is not None and v.ub <= most) or (v.fixed and v.value <= most)
    return above and below and (v.domain is domain or domain in (pyo.Reals, pyo.NonNegativeReals))
