"""Dense rows whose numbers a builder keeps as a matrix, so that nobody reads them off a million expressions.

5000 rows of 800 terms are four million Python objects: to read them takes half a second each time, a product with the
matrix 10 ms. A row counts while its expression is the very object that the builder made and it is active.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

KNOWN = "known rows of solvers"  # an attribute that nobody can write after a dot; clone and pickle copy it


@dataclass
class KnownRows:
    """Rows whose bodies are ``matrix @ variables``, without a constant.

    Parallel lists and not dictionaries by ``id``: they survive ``model.clone()`` and pickling.
    """

    rows: list[Any]
    expressions: list[Any]
    matrix: Any  # csr, shape (rows, variables), with an entry for every term, be it 0
    variables: list[Any]

    def __deepcopy__(self, memo: dict[int, Any]) -> KnownRows:
        """Return what belongs to the model's clone; the numbers are shared."""
        rows, expressions, variables = (deepcopy(part, memo) for part in (self.rows, self.expressions, self.variables))
        return KnownRows(rows, expressions, self.matrix, variables)

    def intact(self) -> Iterator[tuple[int, Any]]:
        """Yield position and row of those that are as they were built, active and not deleted."""
        for k, (row, expression) in enumerate(zip(self.rows, self.expressions, strict=True)):
            if row.active and row.parent_component() is not None and row.expr is expression:
                yield k, row

    def changed(self) -> Iterator[str]:
        """Name the active rows that say something else than what was built: they are walked."""
        for row, expression in zip(self.rows, self.expressions, strict=True):
            if row.active and row.parent_component() is not None and row.expr is not expression:
                yield row.name

    def values(self) -> np.ndarray:
        """Return all bodies at the variables' values, nan where one of them has none."""
        x = np.array([np.nan if v.value is None else v.value for v in self.variables], dtype=float)
        with np.errstate(invalid="ignore", over="ignore"):
            return np.asarray(self.matrix @ x)

    def met(self, at: Sequence[int]) -> list[Any]:
        """Return the variables of some rows, each once, in the order in which these hold them."""
        columns = self.matrix[np.asarray(at, dtype=int)].indices
        first = np.full(len(self.variables), len(columns))
        first[columns[::-1]] = np.arange(len(columns))[::-1]
        order = np.argsort(first, kind="stable")[: np.count_nonzero(first < len(columns))]
        return [self.variables[k] for k in order.tolist()]


def keep(component: Any, matrix: Any, variables: Sequence[Any]) -> None:
    """Remember that the rows of a constraint are ``matrix @ variables``, between sides of their own."""
    rows = list(component.values())
    known = KnownRows(rows, [row.expr for row in rows], sparse.csr_array(matrix), list(variables))
    add(component.model(), known)


def add(model: Any, known: KnownRows) -> None:
    """Attach known rows to their model."""
    setattr(model, KNOWN, [*known_of(model), known])


def known_of(model: Any) -> list[KnownRows]:
    """Return what a model's builder has kept."""
    return list(vars(model).get(KNOWN, ()))


def hand_over(model: Any, pace: float) -> float:
    """Return the seconds that an interface takes for the known rows, which nobody can break off; ``pace`` s a term."""
    return pace * sum(known.matrix.nnz for known in known_of(model))


def bodies_of(model: Any) -> dict[int, float]:
    """Return the values of the known rows that are as built, by the row's ``id``."""
    found: dict[int, float] = {}
    for known in known_of(model):
        values = known.values().tolist()
        found.update((id(row), values[k]) for k, row in known.intact())
    return found


def among(rows: Iterable[Any]) -> list[tuple[KnownRows, list[int], list[int]]]:
    """Return for each matrix which of the rows, by their positions here and in the matrix, are as built."""
    where = {id(row): k for k, row in enumerate(rows)}
    models = {id(m): m for m in {id(c): c.model() for c in _components(rows)}.values() if m is not None}
    found = []
    for model in models.values():
        for known in known_of(model):
            pairs = [(where[id(row)], k) for k, row in known.intact() if id(row) in where]
            if pairs:
                here, there = map(list, zip(*pairs, strict=True))
                found.append((known, here, there))
    return found


def _components(rows: Iterable[Any]) -> list[Any]:
    found = {id(c): c for c in (row.parent_component() for row in rows)}
    return [c for c in found.values() if c is not None]
