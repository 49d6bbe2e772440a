r"""An expression as a sum of products: a coefficient, and letters with places for their indices.

``0.5 * sum(w[j]**2) + C * loss`` is read as terms :math:`\tfrac12 w_\cdot^2` at ``"a"``, ``"b"``, ... and
:math:`C \xi_\cdot` at 0, 1, ...: terms of one shape differ in coefficient and indices only, and are written as one sum.
Named expressions are read through, products of sums kept as they stand.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pyomo.environ as pyo
from pyomo.common.numeric_types import native_numeric_types
from pyomo.core.expr import numeric_expr as e

from solvers.shown.symbols import number, symbol

SLOT = "\x01"  # in a shape: the place of an index
JOINT = "\x02"  # in a shape: between its factors
TIMES = r" \, "
FEW = 3  # terms of a shape that are written one by one
MOST = 40_000  # terms of an expression that are read; what is longer is cut

NUMBER = None  # in a place: it holds a number of a function, not an index

Place = tuple[Any, int, Any]  # (indexed component, which of its indices, value), or (NUMBER, 0, value)


@dataclass(frozen=True)
class Term:
    """A product: a coefficient, its LaTeX with a slot for each index, and what stands in the slots."""

    coefficient: float
    shape: str
    places: tuple[Place, ...]


@dataclass(frozen=True)
class _Factor:
    """Part of a product; ``rank`` orders them: parameters, variables, functions."""

    rank: int
    latex: str
    places: tuple[Place, ...]
    power: int = 1

    def raised(self) -> str:
        return self.latex if self.power == 1 else f"{self.latex}^{{{self.power}}}"


_Product = tuple[float, tuple[_Factor, ...]]


@dataclass(frozen=True)
class TermReader:
    """Reads expressions; ``alias``: (component, index) by which a variable goes, by its ``id``."""

    alias: dict[int, tuple[Any, Any]] = field(default_factory=dict)

    def terms(self, expression: Any) -> list[Term]:
        """Read an expression."""
        return [_term(product) for product in self._expand(expression, 1.0)]

    def _expand(self, x: Any, scale: float) -> list[_Product]:
        """Return an expression as products, times a number."""
        if type(x) in native_numeric_types:
            return [(scale * float(x), ())] if x else []
        if not x.is_expression_type():
            if x.is_variable_type():
                return [(scale, (self._leaf(x, 1),))]
            return [(scale, (self._leaf(x, 0),))] if x.is_parameter_type() else [(scale * float(pyo.value(x)), ())]
        if x.is_named_expression_type():
            return self._expand(x.arg(0), scale)
        if isinstance(x, e.SumExpression | e.NPV_SumExpression | e.LinearExpression):
            found: list[_Product] = []
            for part in x.args:
                found += self._expand(part, scale)
                if len(found) > MOST:
                    return [*found, (1.0, (_Factor(3, r"\cdots", ()),))]
            return found
        if isinstance(x, e.NegationExpression | e.NPV_NegationExpression):
            return self._expand(x.arg(0), -scale)
        if isinstance(x, e.ProductExpression | e.NPV_ProductExpression | e.MonomialTermExpression):
            return self._product(x.arg(0), x.arg(1), scale)
        if isinstance(x, e.DivisionExpression | e.NPV_DivisionExpression):
            return self._quotient(x.arg(0), x.arg(1), scale)
        if isinstance(x, e.PowExpression | e.NPV_PowExpression):
            return [(scale, (self._power(x.arg(0), x.arg(1)),))]
        return [(scale, (self._function(x),))]

    def _product(self, a: Any, b: Any, scale: float) -> list[_Product]:
        left, right = self._expand(a, 1.0), self._expand(b, 1.0)
        if len(left) > 1 and len(right) > 1:
            left = [(1.0, (_bracket(left),))]
            if _holds_variables(right) and len(right) <= 2 * FEW:
                right = [(1.0, (_bracket(right),))]
        return [(scale * c * d, (*f, *g)) for c, f in left for d, g in right]

    def _quotient(self, a: Any, b: Any, scale: float) -> list[_Product]:
        below = self._expand(b, 1.0)
        if len(below) == 1 and not below[0][1]:
            return self._expand(a, scale / below[0][0])
        latex, places = _written(below)
        under = _Factor(2 if _holds_variables(below) else 0, rf"\frac{{1}}{{{latex}}}", places)
        return [(scale * c, (*f, under)) for c, f in self._expand(a, 1.0)]

    def _power(self, base: Any, exponent: Any) -> _Factor:
        inside, up = self._expand(base, 1.0), self._expand(exponent, 1.0)
        number_up = up[0][0] if len(up) == 1 and not up[0][1] else None
        plain = len(inside) == 1 and inside[0][0] == 1.0 and len(inside[0][1]) == 1 and inside[0][1][0].power == 1
        if number_up == 0.5:
            latex, places = _written(inside)
            return _Factor(2 if _holds_variables(inside) else 0, rf"\sqrt{{{latex}}}", places)
        factor = inside[0][1][0] if plain else _bracket(inside)
        if number_up is not None and number_up == int(number_up) and number_up > 0:
            return _Factor(factor.rank, factor.latex, factor.places, int(number_up))
        latex, places = _written(up)
        return _Factor(factor.rank, f"{factor.latex}^{{{latex}}}", (*factor.places, *places))

    def _function(self, x: Any) -> _Factor:
        """Return a function of expressions as one factor; of many arguments only the letters."""
        arguments = [part for part in x.args if not isinstance(part, str)]
        name = str(x.getname()) if hasattr(x, "getname") else type(x).__name__
        named = rf"\{name}" if name in ("exp", "log", "sin", "cos", "tan", "tanh") else rf"\operatorname{{{name}}}"
        if len(arguments) > 2 * FEW:
            kinds = (self._expand(part, 1.0) for part in arguments)
            letters = dict.fromkeys(f.latex.split("_{" + SLOT)[0] for each in kinds for _, fs in each for f in fs)
            return _Factor(2, rf"{named}\left({', '.join(letters)}\right)", ())
        parts = [_written(self._expand(part, 1.0)) for part in arguments]
        inside, places = ", ".join(latex for latex, _ in parts), tuple(p for _, each in parts for p in each)
        if name == "sqrt":
            return _Factor(2, rf"\sqrt{{{inside}}}", places)
        if name == "abs":
            return _Factor(2, rf"\left|{inside}\right|", places)
        return _Factor(2, rf"{named}\left({inside}\right)", places)

    def _leaf(self, x: Any, rank: int) -> _Factor:
        """Return a variable or parameter as a letter with places for its indices, those of its blocks first."""
        if id(x) in self.alias:
            component, value = self.alias[id(x)]
            places = _places(component, value)
        else:
            component, places, part = x.parent_component(), [], x
            while part is not None:
                home = part.parent_component()
                if home.is_indexed():
                    places[:0] = _places(home, part.index())
                part = part.parent_block()
        letter = symbol(component.local_name)
        return _Factor(rank, indexed(letter, [SLOT] * len(places)), tuple(places))


def _places(component: Any, value: Any) -> list[Place]:
    return [(component, k, v) for k, v in enumerate(value if isinstance(value, tuple) else (value,))]


def indexed(letter: str, indices: list[str]) -> str:
    """Return a letter with indices, which may have a subscript of its own."""
    if not indices:
        return letter
    return f"{{{letter}}}_{{{','.join(indices)}}}" if "_" in letter else f"{letter}_{{{','.join(indices)}}}"


def _term(product: _Product) -> Term:
    coefficient, factors = product
    ordered = sorted(factors, key=lambda f: (f.rank, f.latex, tuple(str(p[2]) for p in f.places)))
    merged: list[_Factor] = []
    for f in ordered:
        if merged and (merged[-1].latex, merged[-1].places) == (f.latex, f.places):
            f = _Factor(f.rank, f.latex, f.places, merged.pop().power + f.power)
        merged.append(f)
    shape = JOINT.join(f.raised() for f in merged)
    return Term(coefficient, shape, tuple(place for f in merged for place in f.places))


def _bracket(products: list[_Product]) -> _Factor:
    latex, places = _written(products)
    return _Factor(2 if _holds_variables(products) else 0, rf"\left({latex}\right)", places)


def _holds_variables(products: Iterable[_Product]) -> bool:
    return any(f.rank > 0 for _, factors in products for f in factors)


def _written(products: list[_Product]) -> tuple[str, tuple[Place, ...]]:
    """Return products as LaTeX in one piece; of long sums a sum sign and no places."""
    by_shape: dict[str, list[Term]] = {}
    for term in map(_term, products):
        by_shape.setdefault(term.shape, []).append(term)
    written, places = "", list[Place]()
    for shape, found in by_shape.items():
        if len(found) > FEW and shape:
            told = number(abs(found[0].coefficient)) if len({t.coefficient for t in found}) == 1 else "a"
            written += rf" + \textstyle\sum {times(told, shape.replace(SLOT, chr(92) + 'cdot'))}"
            continue
        for term in found:
            value = term.coefficient
            if shape and value != round(value):  # may differ from one function to the next
                written += f" + {times(SLOT, shape)}"
                places.append((NUMBER, 0, value))
            else:
                written += (" - " if value < 0 else " + ") + times(number(abs(value)), shape)
            places += term.places
    written = written.removeprefix(" + ").replace(JOINT, TIMES)
    return (f"-{written[3:]}" if written.startswith(" - ") else written) or "0", tuple(places)


def times(coefficient: str, shape: str) -> str:
    """Return a product; a coefficient of 1 is not written."""
    return coefficient if not shape else shape if coefficient in ("", "1") else f"{coefficient}{TIMES}{shape}"


def filled(shape: str, indices: Iterable[str]) -> str:
    """Return a shape with its slots filled, in order."""
    for told in indices:
        shape = shape.replace(SLOT, told, 1)
    return shape.replace(JOINT, TIMES).replace("+ -", "- ")
