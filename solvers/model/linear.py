"""The linear rows of a model as matrices, in units that solvers distinguish from rounding.

**Known rows.** A builder keeps the numbers of dense rows as a matrix, and the terms of their expressions are created
when something reads them (``RowTerms``): 2000 rows of 10,000 terms are 20 million Python objects, which take 25 s and
2 GB. Solvers read the matrix. A row is known while it is active and its expression is the object that the builder
created.

**Units.** Rows are scaled by powers of two, which is exact. HiGHS rejects a row with a coefficient above 1e15, and
drops coefficients up to 1e-9; rows hold to about 1e-7 for any size. A row with coefficients outside SMALL..LARGE is
divided by its smallest coefficient above rounding. If the coefficients then span more than SPAN, no solver with double
precision can satisfy the row, and it is rejected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression
from scipy import sparse

from solvers.clarabel.rows import BoundProver, Bounds, Triplets
from solvers.errors import ModelError
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import either
from solvers.model.expressions import RowTerms
from solvers.values import values_of
from solvers.walker import Affine, Walker, stacked

KNOWN = "known rows of solvers"  # name of an attribute that is not an identifier; clone and pickle copy it


@dataclass
class KnownRows:
    """Rows whose bodies are ``matrix @ variables``, without a constant.

    They are parallel lists and not dictionaries by ``id``, because lists survive ``model.clone()`` and pickling.
    """

    rows: list[Any]
    expressions: list[Any]
    matrix: Any  # csr, shape (rows, variables), with an entry for every term, also if it is 0
    variables: list[Any]

    def __deepcopy__(self, memo: dict[int, Any]) -> KnownRows:
        """Return the known rows of a clone of the model; the numbers are shared."""
        rows, expressions, variables = (deepcopy(part, memo) for part in (self.rows, self.expressions, self.variables))
        return KnownRows(rows, expressions, self.matrix, variables)

    def intact(self) -> Iterator[tuple[int, Any]]:
        """Yield position and row of the active rows that are unchanged."""
        for k, (row, expression) in enumerate(zip(self.rows, self.expressions, strict=True)):
            if row.active and row.parent_component() is not None and row.expr is expression:
                yield k, row

    def changed(self) -> Iterator[str]:
        """Yield the names of active rows whose expression was changed; these are read as expressions."""
        for row, expression in zip(self.rows, self.expressions, strict=True):
            if row.active and row.parent_component() is not None and row.expr is not expression:
                yield row.name

    def values(self) -> np.ndarray:
        """Return all bodies at the values of the variables, nan if one of them has none."""
        x = np.array([np.nan if v.value is None else v.value for v in self.variables], dtype=float)
        with np.errstate(invalid="ignore", over="ignore"):
            return np.asarray(self.matrix @ x)

    def variables_of(self, at: Sequence[int]) -> list[Any]:
        """Return the variables of some rows, each once, in the order of their first term."""
        columns = self.matrix[np.asarray(at, dtype=int)].indices
        first = np.full(len(self.variables), len(columns))
        first[columns[::-1]] = np.arange(len(columns))[::-1]
        order = np.argsort(first, kind="stable")[: np.count_nonzero(first < len(columns))]
        return [self.variables[k] for k in order.tolist()]


def add_matrix_rows(
    model: Any,
    name: str,
    index: Any,
    matrix: Any,
    variables: Sequence[Any],
    relation: Callable[[Any], Any],
    doc: str = "",
) -> None:
    """Add the rows ``relation(matrix @ variables)`` as an indexed constraint; solvers read the matrix.

    ``index``: one entry for each row, not a tuple. ``matrix`` (m, n): dense or sparse; each stored number is a term.
    ``variables``: n variables. ``relation``: body of a row -> relational expression.

    >>> import pyomo.environ as pyo
    >>> m = pyo.ConcreteModel()
    >>> m.x = pyo.Var(["a", "b"])
    >>> add_matrix_rows(m, "rows", ["first"], np.array([[1.0, 2.0]]), list(m.x.values()), lambda body: body <= 3)
    >>> print(m.rows["first"].expr)
    x[a] + 2.0*x[b]  <=  3
    """
    matrix, variables = sparse.csr_array(matrix), list(variables)
    model.add_component(name, pyo.Constraint(index, doc=doc))
    component = model.component(name)
    for at, i in enumerate(index):
        body = LinearExpression()
        body._args_ = RowTerms(matrix, variables, at)
        body._nargs = len(body._args_)
        component[i] = relation(body)
    rows = list(component.values())
    known = KnownRows(rows, [row.expr for row in rows], matrix, variables)
    whole = model.model()
    setattr(whole, KNOWN, [*known_of(whole), known])


def known_of(model: Any) -> list[KnownRows]:
    """Return the known rows of a model."""
    return list(vars(model).get(KNOWN, ()))


def hand_over(model: Any, pace: float) -> float:
    """Return the seconds that an interface needs for the known rows; ``pace``: seconds per term."""
    return pace * sum(known.matrix.nnz for known in known_of(model))


def bodies_of(model: Any) -> dict[int, float]:
    """Return the values of the unchanged known rows, by the ``id`` of the row."""
    found: dict[int, float] = {}
    for known in known_of(model):
        values = known.values().tolist()
        found.update((id(row), values[k]) for k, row in known.intact())
    return found


def known_among(rows: Iterable[Any]) -> list[tuple[KnownRows, list[int], list[int]]]:
    """Return each matrix with the positions of its unchanged rows in ``rows`` and in the matrix."""
    where = {id(row): k for k, row in enumerate(rows)}
    components = {id(c): c for c in (row.parent_component() for row in rows) if c is not None}
    found = []
    for model in {id(m): m for m in (c.model() for c in components.values()) if m is not None}.values():
        for known in known_of(model):
            pairs = [(where[id(row)], k) for k, row in known.intact() if id(row) in where]
            if pairs:
                here, there = map(list, zip(*pairs, strict=True))
                found.append((known, here, there))
    return found


@dataclass(frozen=True)
class LinearRows:
    """``lower <= A x <= upper``, ``x`` in ``[x_lower, x_upper]``, objective ``constant + cost . x`` (to be minimised).

    - ``rows``, ``variables``: lists of Pyomo data, in the order of the rows and columns of A.
    - ``matrix``: csr_matrix, shape (rows, variables).
    - ``lower``, ``upper``: arrays over the rows.
    - ``x_lower``, ``x_upper``: arrays over the variables, equal for a fixed variable.
    - ``cost``: array over the variables.
    - ``units``: the divisors of the rows after ``scaled``.
    """

    rows: list[Any]
    variables: list[Any]
    matrix: Any
    lower: np.ndarray
    upper: np.ndarray
    x_lower: np.ndarray
    x_upper: np.ndarray
    cost: np.ndarray
    constant: float
    units: np.ndarray = field(default_factory=lambda: np.empty(0))

    @classmethod
    def of(cls, rows: Sequence[Any], variables: Sequence[Any], terms: Sequence[Any], sign: float) -> LinearRows:
        """Extract rows and objective terms; ``sign`` is -1 for a model that maximises.

        A fixed variable that is not among ``variables`` is a constant. Raises ModelError, naming a row or term that is
        not linear.
        """
        column = {id(v): k for k, v in enumerate(variables)}
        bounds = [(v.value, v.value) if v.fixed else v.bounds for v in variables]
        lower, upper, constants = (np.zeros(len(rows)) for _ in range(3))
        known = [(here, *_read(group, there, column)) for group, here, there in known_among(rows)]
        for here, _, constant_here in known:
            constants[here] = constant_here
        read = {k for here, _, _ in known for k in here}
        walked = [k for k in range(len(rows)) if k not in read]
        walker, bodies = Walker(), []
        for r, row in enumerate(rows):
            if r in read:
                low, up = row.lower, row.upper
            else:
                low, body, up = row.to_bounded_expression()  # a new tuple at each call
                bodies.append(_affine(walker, body, row, column))
            lower[r] = -np.inf if low is None else pyo.value(low)
            upper[r] = np.inf if up is None else pyo.value(up)
        matrix, constants[walked] = _arrays(walker, bodies, column)
        costs, cost_constants = _arrays(walker, [_affine(walker, term, None, column) for term in terms], column)
        if known:
            matrix = sparse.vstack([matrix, *(part for _, part, _ in known)], format="csr")
            order = np.concatenate([walked, *(here for here, _, _ in known)]).astype(int)
            matrix = sparse.csr_matrix(matrix[np.argsort(order)])
        matrix.sum_duplicates()
        return cls(
            list(rows),
            list(variables),
            matrix,
            lower - constants,
            upper - constants,
            np.array([-np.inf if lo is None else lo for lo, _ in bounds], dtype=float),
            np.array([np.inf if up is None else up for _, up in bounds], dtype=float),
            sign * (costs.T @ np.ones(len(terms))),
            sign * float(cost_constants.sum()),
        )

    def scaled(self) -> LinearRows:
        """Return the rows in units that solvers distinguish from rounding; variables and objective do not change.

        Raises ModelError, naming a row whose coefficients have too large a range.
        """
        matrix, lower, upper = self.matrix.copy(), self.lower, self.upper
        units = np.ones(len(self.rows))
        most = np.maximum(np.abs(self.x_lower), np.abs(self.x_upper))
        for r in range(len(self.rows)):
            here = slice(matrix.indptr[r], matrix.indptr[r + 1])
            sides = np.array([side for side in (lower[r], upper[r]) if np.isfinite(side)])
            size = np.abs(matrix.data[here])
            found = row_unit(size, sides, most[matrix.indices[here]])
            if found is None:
                k = matrix.indices[here][int(np.argmax(size))]
                raise ModelError(
                    f'Row "{self.rows[r].name}" has coefficients from {size[size > 0].min():.3g} to {size.max():.3g} '
                    f'(of "{self.variables[k].name}"): solvers cannot distinguish the small ones from rounding errors '
                    "of the large ones. Fix the variable in place of a prohibitive cost, or state the row in other "
                    "units."
                )
            units[r], noise = found
            matrix.data[here] = np.where(size <= noise, 0.0, matrix.data[here] / units[r])
        matrix.eliminate_zeros()
        return replace(self, matrix=matrix, lower=lower / units, upper=upper / units, units=units)


def _read(known: KnownRows, there: list[int], column: Mapping[int, int]) -> tuple[Any, np.ndarray]:
    """Return known rows over the columns, and the constants, which contain the variables without a column."""
    place = np.array([column.get(id(v), -1) for v in known.variables], dtype=int)
    rows = known.matrix[np.asarray(there)]
    constants, absent = np.zeros(len(there)), np.flatnonzero(place < 0)
    if len(absent):
        constants = np.asarray(rows[:, absent] @ values_of(known.variables)[absent])
        present = np.flatnonzero(place >= 0)
        rows, place = rows[:, present], place[present]
    parts = (rows.data, place[rows.indices], rows.indptr)
    return sparse.csr_matrix(parts, shape=(len(there), len(column))), constants


def _affine(walker: Walker, expression: Any, row: Any, column: Mapping[int, int]) -> Affine:
    """Return the linear form of the body of a row, or of an objective term if ``row`` is None.

    A factor that is a fixed variable without a column is a constant. Raises ModelError if the expression is not linear.
    """
    try:
        body, inputs = walker.walk(expression, "")
        if not body.is_linear and not body.quotients:
            absent = np.array([id(v) not in column for v in walker.variables], dtype=bool)
            body = body.substitute(absent, values_of(walker.variables))
        if body.is_linear and not any(id(v) in column for v, _ in inputs.fixed):
            return body.linear
    except ModelError:
        pass
    what = f'Objective term "{expression}"' if row is None else f'Row "{row.name}"'
    raise ModelError(
        f"{what} is not linear, and drivers support only linear rows and terms, except for declared couplings. "
        f"Solve the whole model by name: {either(C.MIQCP)}."
    )


def _arrays(walker: Walker, lines: Sequence[Affine], column: Mapping[int, int]) -> tuple[Any, np.ndarray]:
    """Return linear forms as the rows of a matrix over the columns, and constants, which include other variables."""
    index, cols, coefs, constants = stacked(lines)
    place = np.array([column.get(id(v), -1) for v in walker.variables], dtype=int)[cols]
    absent = place < 0
    if absent.any():
        values = coefs[absent] * values_of(walker.variables)[cols[absent]]
        constants += np.bincount(index[absent], values, len(lines))
        index, place, coefs = index[~absent], place[~absent], coefs[~absent]
    return sparse.csr_matrix((coefs, (index, place)), shape=(len(lines), len(column))), constants


SMALL, LARGE = 1e-4, 1e7  # range of coefficients in which a row keeps its unit (see the module)
SPAN = 1e12  # largest ratio of two coefficients of a row; rounding errors are 1e-16 of the larger one
NOISE = 1e-12  # rounding error of a sum that should be 0, relative to the smallest side


def power_of_two(size: float) -> float:
    """Return the power of two nearest to a positive number."""
    return float(2.0 ** np.clip(np.round(np.log2(size)), -1000, 1000))


def row_unit(coefficients: np.ndarray, sides: np.ndarray, most: np.ndarray) -> tuple[float, float] | None:
    """Return the divisor of a row, and the largest coefficient that is rounding; None if the range is too large.

    ``coefficients``: array (n,). ``sides``: its finite sides. ``most`` (n,): the largest absolute value of each
    variable; inf if it is unbounded.

    >>> row_unit(np.array([3.0, 1.0]), np.array([2.0]), np.ones(2))
    (1.0, 0.0)
    >>> row_unit(np.array([3.0, 1e15]), np.array([2.0]), np.ones(2)) is None
    True
    >>> row_unit(np.array([3e15, 1e15]), np.array([2e15]), np.ones(2))
    (1125899906842624.0, 0.0)
    """
    size = np.abs(coefficients)
    used = size > 0
    if not used.any() or (size[used].min() >= SMALL and size.max() <= LARGE):
        return 1.0, 0.0
    least = np.abs(sides[sides != 0]).min(initial=np.inf)
    rounding = NOISE * least if np.isfinite(least) else 1e-15 * float(size.max())
    noise = used & (size * np.where(used, most, 0.0) <= rounding)
    counts = size[used & ~noise]
    if not len(counts):
        return power_of_two(float(size.max())), 0.0
    if counts.max() > SPAN * counts.min():
        return None
    return power_of_two(float(counts.min())), float(size[noise].max(initial=0.0))


def prover_of(rows: LinearRows) -> BoundProver:
    """Return the prover of signs of linear expressions from linear rows and bounds."""
    free = np.zeros(len(rows.x_lower), dtype=bool)
    matrix = sparse.csr_array(rows.matrix)
    index = np.repeat(np.arange(len(rows.lower)), np.diff(matrix.indptr))
    constants = np.zeros(len(rows.lower))
    triplets = Triplets([], index, matrix.indices, matrix.data, constants, rows.lower, rows.upper)
    return BoundProver(Bounds(rows.x_lower, rows.x_upper, free, np.zeros(len(free))), triplets, rows.variables)
