"""The terms of a Pyomo expression, and its variables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from typing import Any

from pyomo.common.numeric_types import native_types
from pyomo.core.expr.numeric_expr import (
    DivisionExpression,
    LinearExpression,
    MonomialTermExpression,
    NegationExpression,
    ProductExpression,
    SumExpression,
)
from pyomo.repn import generate_standard_repn

from solvers import per_thread  # noqa: F401 - Pyomo's visitors per thread


def terms(expression: Any, atoms: Sequence[Any] = ()) -> Iterator[Any]:
    """Yield the terms of a sum, through named expressions, negations and constant factors.

    ``atoms``: named expressions that are not split. A term that is an argument of the sum is yielded as the same
    object, so that it can be recognised later.
    """
    kind = type(expression)
    if kind in (SumExpression, LinearExpression):
        for term in expression.args:
            yield from terms(term, atoms)
    elif _is_named(expression):
        if any(expression is atom for atom in atoms):
            yield expression
        else:
            yield from terms(expression.expr, atoms)
    elif (split := _factor(expression, atoms)) is not None:
        factor, inner = split
        yield from (factor * term for term in terms(inner, atoms))
    else:
        yield expression


def _factor(expression: Any, atoms: Sequence[Any]) -> tuple[Any, Any] | None:
    """Split ``c * sum``, ``sum * c``, ``sum / c`` or ``-sum`` into factor and sum; None for other expressions."""
    kind = type(expression)
    if kind is NegationExpression:
        factor, inner = -1.0, expression.args[0]
    elif kind is ProductExpression:
        factor, inner = expression.args
        if _is_constant(inner):
            factor, inner = inner, factor
    elif kind is DivisionExpression:
        inner, divisor = expression.args
        factor = 1.0 / divisor if _is_constant(divisor) else divisor
    else:
        return None
    if not _is_constant(factor):
        return None
    while _is_named(inner):
        if any(inner is atom for atom in atoms):
            return None
        inner = inner.expr
    is_sum = type(inner) in (SumExpression, LinearExpression) or _factor(inner, atoms) is not None
    return (factor, inner) if is_sum else None


def _is_constant(expression: Any) -> bool:
    return not getattr(expression, "is_potentially_variable", lambda: False)()


class RowTerms:
    """The terms of a row of a CSR matrix, in place of the list of terms of a ``LinearExpression``.

    The terms are created when they are first read. The methods are those of a list that Pyomo uses.
    """

    __slots__ = ("_at", "_made", "_matrix", "_variables")

    def __init__(self, matrix: Any, variables: list[Any], at: int) -> None:
        self._matrix, self._variables, self._at = matrix, variables, at
        self._made: list[Any] | None = None

    @property
    def made(self) -> list[Any]:
        """The list of terms."""
        if self._made is None:
            here = slice(*self._matrix.indptr[self._at : self._at + 2].tolist())
            coefficients = self._matrix.data[here].tolist()
            self._made = list(map(MonomialTermExpression, zip(coefficients, self.variables, strict=True)))
        return self._made

    @property
    def variables(self) -> list[Any]:
        """The variables of the terms; none is created."""
        here = slice(*self._matrix.indptr[self._at : self._at + 2].tolist())
        return [self._variables[k] for k in self._matrix.indices[here].tolist()]

    def __len__(self) -> int:
        if self._made is None:
            return int(self._matrix.indptr[self._at + 1] - self._matrix.indptr[self._at])
        return len(self._made)

    def __getitem__(self, at: Any) -> Any:
        return self.made[at]

    def __setitem__(self, at: Any, term: Any) -> None:
        self.made[at] = term

    def __iter__(self) -> Iterator[Any]:
        return iter(self.made)

    def append(self, term: Any) -> None:
        """Append a term."""
        self.made.append(term)

    def extend(self, terms: Iterable[Any]) -> None:
        """Append terms."""
        self.made.extend(terms)

    def __deepcopy__(self, memo: dict[int, Any]) -> RowTerms:
        """Return the terms of a clone of the model; the numbers are shared."""
        return RowTerms(self._matrix, deepcopy(self._variables, memo), self._at)


def variables(expression: Any) -> Iterator[Any]:
    """Yield the variables of an expression, each once and including fixed ones, in the order of the terms.

    A stack takes a tenth of the time of Pyomo's visitor for rows with few terms.
    """
    seen: set[int] = set()
    stack = [expression]
    while stack:
        part = stack.pop()
        if type(part) is MonomialTermExpression:
            part = part.args[1]
        elif type(part) in native_types:
            continue
        elif part.is_expression_type():
            if _is_named(part):
                if id(part) in seen:
                    continue
                seen.add(id(part))
            whole = type(part) is LinearExpression and type(part._args_) is RowTerms
            stack.extend(reversed(part._args_.variables if whole else part.args))
            continue
        if part.is_variable_type() and id(part) not in seen:
            seen.add(id(part))
            yield part


def holds(expression: Any, inside: set[int]) -> bool:
    """Return True if an expression contains a variable whose id is in a set."""
    return any(id(v) in inside for v in variables(expression))


def largest_coefficient(expression: Any, *, within_bounds: bool = False) -> float:
    """Return the largest size of a coefficient; terms that are neither linear nor quadratic count as 1.

    ``within_bounds``: the size of ``c x y`` is c times the larger bound if bounds keep x and y below 1. This is the
    largest factor of an error in x or y, for example in (x / 1e-6)^2 with x up to 1e-6.
    """
    repn = generate_standard_repn(expression, compute_values=True, quadratic=True)
    sizes = [abs(c) for c in repn.linear_coefs]
    for c, pair in zip(repn.quadratic_coefs, repn.quadratic_vars, strict=True):
        ends = [abs(end) if end is not None else 1.0 for v in pair for end in v.bounds]
        sizes.append(abs(c) * (min(1.0, max(ends)) if within_bounds else 1.0))
    return max([*sizes, 1.0 if repn.nonlinear_expr is not None else 0.0])


def _is_named(expression: Any) -> bool:
    return getattr(expression, "is_named_expression_type", lambda: False)()
