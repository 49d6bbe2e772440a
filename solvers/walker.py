r"""Pyomo expressions as arrays: a quadratic body, with squares, products and quotients that are not expanded.

    f(x) = a'x + alpha  +  sum_(ij) Q_ij x_i x_j  +  sum_k c_k (l_k'x + g_k)(m_k'x + h_k)
                        +  sum_k c_k p_k(x) / (d_k'x + e_k)

Pyomo's quadratic walker expands ``(l'x + g)**2`` term by term, and treats ``p(x) / d'x`` as nonlinear. Here the exit
handlers of these nodes keep them unexpanded: a square is a row of a cone (without n^2 terms, factorisation and
cancellation), and a quotient is a separate cone. All other nodes are handled by Pyomo's walker.

Fixed variables are walked as variables, so that fixing, unfixing and new values need no further walk. Only if the
expression is then not quadratic (``x * y * z`` with z fixed), it is walked again with the fixed values, which are
stored with the body, as are mutable parameters and named expressions (``Inputs``).

The arrays of linear rows, of quadratic functions and of cones are all built from these bodies. Other functions read
single expressions with Pyomo's ``generate_standard_repn``, which expands them and returns coefficients by variable and
the nonlinear rest as an expression. ``expressions.terms`` splits a sum into its terms as objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from pyomo.common.errors import InvalidValueError
from pyomo.common.numeric_types import native_types, value
from pyomo.core.expr.numeric_expr import DivisionExpression, LinearExpression, PowExpression, ProductExpression
from pyomo.repn import linear as pyomo_linear
from pyomo.repn import quadratic as pyomo_quadratic
from pyomo.repn import util as pyomo_util

from solvers.errors import ModelError

_CONSTANT, _FIXED = pyomo_util.ExprType.CONSTANT, pyomo_util.ExprType.FIXED
_LINEAR, _QUADRATIC = pyomo_util.ExprType.LINEAR, pyomo_util.ExprType.QUADRATIC


class Affine(NamedTuple):
    """``sum_k coefs[k] * x[cols[k]] + const``; a column may occur several times."""

    cols: np.ndarray
    coefs: np.ndarray
    const: float

    def times(self, factor: float) -> Affine:
        """Multiply by a number."""
        return Affine(self.cols, self.coefs * factor, self.const * factor)

    def plus(self, other: Affine, factor: float = 1.0) -> Affine:
        """Add ``factor * other``."""
        if not len(other.cols):
            return Affine(self.cols, self.coefs, self.const + factor * other.const)
        cols = np.concatenate((self.cols, other.cols))
        return Affine(cols, np.concatenate((self.coefs, factor * other.coefs)), self.const + factor * other.const)

    def merged(self) -> Affine:
        """Add the terms of repeated columns and drop zeros."""
        if not len(self.cols):
            return self
        cols, inverse = np.unique(self.cols, return_inverse=True)
        coefs = np.bincount(inverse, weights=self.coefs)
        keep = coefs != 0.0
        return Affine(cols[keep], coefs[keep], self.const)

    def substitute(self, pinned: np.ndarray, values: np.ndarray) -> Affine:
        """Replace the pinned columns by their values."""
        gone = pinned[self.cols]
        if not gone.any():
            return self
        const = self.const + float(self.coefs[gone] @ values[self.cols[gone]])
        return Affine(self.cols[~gone], self.coefs[~gone], const)


def affine(cols: Iterable[int] = (), coefs: Iterable[float] = (), const: float = 0.0) -> Affine:
    """Return an ``Affine`` from plain sequences."""
    return Affine(np.array(list(cols), dtype=np.intp), np.array(list(coefs), dtype=float), float(const))


def stacked(lines: Sequence[Affine]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the rows, columns and coefficients of the entries of some linear forms, and their constants."""
    sizes = [len(line.cols) for line in lines]
    cols = np.concatenate([np.empty(0, dtype=np.intp), *(line.cols for line in lines)])
    coefs = np.concatenate([np.empty(0), *(line.coefs for line in lines)])
    return np.repeat(np.arange(len(lines)), sizes), cols, coefs, np.array([line.const for line in lines], dtype=float)


_EMPTY = (np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0))


class Product(NamedTuple):
    """``coef * left * right``; both factors of a square are the same object."""

    coef: float
    left: Affine
    right: Affine


class Quotient(NamedTuple):
    """``coef * top / bottom``."""

    coef: float
    top: Body
    bottom: Affine


@dataclass(frozen=True)
class Body:
    """One expression: see the formula of the module. ``quad``: arrays (i, j, Q_ij) with each pair once."""

    linear: Affine
    quad: tuple[np.ndarray, np.ndarray, np.ndarray] = _EMPTY
    products: tuple[Product, ...] = ()
    quotients: tuple[Quotient, ...] = ()

    @property
    def is_linear(self) -> bool:
        """Whether the expression is linear."""
        return not len(self.quad[0]) and not self.products and not self.quotients

    def columns(self) -> np.ndarray:
        """Return the columns of the expression, sorted."""
        parts = [self.linear.cols, self.quad[0], self.quad[1]]
        parts += [side.cols for product in self.products for side in product[1:]]
        parts += [cols for quotient in self.quotients for cols in (quotient.top.columns(), quotient.bottom.cols)]
        return np.unique(np.concatenate(parts))

    def times(self, factor: float) -> Body:
        """Multiply by a number."""
        return Body(
            self.linear.times(factor),
            (self.quad[0], self.quad[1], self.quad[2] * factor),
            tuple(product._replace(coef=product.coef * factor) for product in self.products),
            tuple(quotient._replace(coef=quotient.coef * factor) for quotient in self.quotients),
        )

    def plus(self, other: Body, factor: float = 1.0) -> Body:
        """Add ``factor * other``."""
        other = other.times(factor)
        return Body(
            self.linear.plus(other.linear),
            tuple(np.concatenate(pair) for pair in zip(self.quad, other.quad, strict=True)),  # type: ignore[arg-type]
            self.products + other.products,
            self.quotients + other.quotients,
        )

    def renumbered(self, place: np.ndarray) -> Body:
        """Replace each column k by ``place[k]``."""

        def line(form: Affine) -> Affine:
            return form._replace(cols=place[form.cols])

        products = []
        for coef, left, right in self.products:
            a = line(left)
            products.append(Product(coef, a, a if right is left else line(right)))
        quotients = tuple(Quotient(q.coef, q.top.renumbered(place), line(q.bottom)) for q in self.quotients)
        quad = (place[self.quad[0]], place[self.quad[1]], self.quad[2])
        return Body(line(self.linear), quad, tuple(products), quotients)

    def substitute(self, pinned: np.ndarray, values: np.ndarray) -> Body:
        """Replace the pinned columns by their values; terms that become linear are added to the linear part."""
        line = self.linear.substitute(pinned, values)
        i, j, v = self.quad
        if len(i):
            first, second = pinned[i], pinned[j]
            both, one, other = first & second, first & ~second, second & ~first
            const = float(np.sum(v[both] * values[i[both]] * values[j[both]]))
            cols = np.concatenate((j[one], i[other]))
            coefs = np.concatenate((v[one] * values[i[one]], v[other] * values[j[other]]))
            line = line.plus(Affine(cols, coefs, const))
            i, j, v = (part[~first & ~second] for part in (i, j, v))
        products: list[Product] = []
        for coef, left, right in self.products:
            a = left.substitute(pinned, values)
            b = a if right is left else right.substitute(pinned, values)
            if not len(a.cols) or not len(b.cols):
                scale, rest = (a.const, b) if not len(a.cols) else (b.const, a)
                line = line.plus(rest, coef * scale)
            else:
                products.append(Product(coef, a, b))
        quotients = tuple(
            Quotient(q.coef, q.top.substitute(pinned, values), q.bottom.substitute(pinned, values))
            for q in self.quotients
        )
        return Body(line, (i, j, v), tuple(products), quotients)


@dataclass
class Inputs:
    """Inputs of a body other than its free variables; the body is valid while they are ``unchanged``."""

    numbers: list[tuple[Any, float]] = field(default_factory=list)
    named: list[tuple[Any, Any]] = field(default_factory=list)
    fixed: list[tuple[Any, float]] = field(default_factory=list)

    def __bool__(self) -> bool:
        """Return True if there are any inputs."""
        return bool(self.numbers or self.named or self.fixed)

    def unchanged(self) -> bool:
        """Return True if parameters, named expressions and replaced fixed variables are unchanged."""
        return (
            all(value(item, exception=False) == seen for item, seen in self.numbers)
            and all(item.expr is seen for item, seen in self.named)
            and all(item.fixed and item.value == seen for item, seen in self.fixed)
        )


class _Columns(pyomo_util.OrderedVarRecorder):
    """Numbers of the variables in the order of the walk, including fixed ones, which Pyomo's recorder leaves out."""

    def __init__(self) -> None:
        super().__init__({}, {}, None)
        self.variables: list[Any] = []

    def add(self, var: Any) -> None:
        self.var_order[id(var)] = len(self.variables)
        self.var_map[id(var)] = var
        self.variables.append(var)  # the reference keeps the id in use


class _BeforeChild(pyomo_linear.LinearBeforeChildDispatcher):
    """Dispatcher that records the inputs of a body."""

    @staticmethod
    def record_monomial(visitor: Any, result: Any, coef: float, var: Any) -> None:
        if visitor.fold and var.fixed:
            visitor.inputs.fixed.append((var, var.value))
            if coef:
                result.constant += coef * pyomo_util.check_constant(var.value, var, visitor)
            return
        key = id(var)
        if key not in visitor.var_map:
            visitor.var_recorder.add(var)
        if key in result.linear:
            result.linear[key] += coef
        elif coef:
            result.linear[key] = coef

    @staticmethod
    def _before_param(visitor: Any, child: Any) -> tuple:
        visitor.inputs.numbers.append((child, child.value))
        return False, (_CONSTANT, pyomo_util.check_constant(child.value, child, visitor))

    @staticmethod
    def _before_named_expression(visitor: Any, child: Any) -> tuple:
        visitor.inputs.named.append((child, child.expr))
        return pyomo_linear.LinearBeforeChildDispatcher._before_named_expression(visitor, child)


def _product(visitor: Any, node: Any, arg1: tuple, arg2: tuple) -> tuple:
    left, right = arg1[1], arg2[1]
    if visitor.holds_whole(left) or visitor.holds_whole(right):
        return pyomo_linear._handle_product_nonlinear(visitor, node, arg1, arg2)
    if _is_term(left) and _is_term(right):
        return pyomo_quadratic._handle_product_linear_linear(visitor, node, arg1, arg2)
    a, b = visitor.affine(left), visitor.affine(right)
    same = a.const == b.const and np.array_equal(a.cols, b.cols) and np.array_equal(a.coefs, b.coefs)
    return visitor.keep_whole(node, Product(1.0, a, a if same else b))


def _power(visitor: Any, node: Any, arg1: tuple, arg2: tuple) -> tuple:
    base = arg1[1]
    if arg2[1] == 2 and visitor.holds_whole(base):
        return pyomo_linear._handle_pow_nonlinear(visitor, node, arg1, arg2)
    if arg2[1] != 2 or _is_term(base):
        return pyomo_quadratic._handle_pow_linear_constant(visitor, node, arg1, arg2)
    a = visitor.affine(base)
    return visitor.keep_whole(node, Product(1.0, a, a))


def _quotient(visitor: Any, node: Any, arg1: tuple, arg2: tuple) -> tuple:
    if visitor.holds_whole(arg2[1]):
        return pyomo_linear._handle_division_nonlinear(visitor, node, arg1, arg2)
    top = Body(affine(const=arg1[1])) if arg1[0] <= _FIXED else visitor.body(arg1[1])
    return visitor.keep_whole(node, Quotient(1.0, top, visitor.affine(arg2[1])))


def _is_term(repn: Any) -> bool:
    return len(repn.linear) == 1 and not repn.constant


def _handlers() -> dict:
    handlers = pyomo_quadratic.define_exit_node_handlers()
    handlers[ProductExpression][_LINEAR, _LINEAR] = _product
    handlers[PowExpression][_LINEAR, _CONSTANT] = _power
    for top in (_CONSTANT, _FIXED, _LINEAR, _QUADRATIC):
        handlers[DivisionExpression][top, _LINEAR] = _quotient
    return handlers


class _Visitor(pyomo_quadratic.QuadraticRepnVisitor):
    before_child_dispatcher = _BeforeChild()
    exit_node_dispatcher = pyomo_linear.ExitNodeDispatcher(pyomo_util.initialize_exit_node_dispatcher(_handlers()))

    def __init__(self, columns: _Columns) -> None:
        super().__init__({}, var_recorder=columns)
        self.fold = False
        self.inputs = Inputs()
        self.whole: dict[int, Product | Quotient] = {}
        evaluate: Callable[[Any], float] = self._eval_expr_visitor.dfs_postorder_stack

        def watched(expr: Any) -> float:
            result = evaluate(expr)
            self.inputs.numbers.append((expr, result))
            return result

        self.evaluate = watched

    def keep_whole(self, node: Any, kept: Product | Quotient) -> tuple:
        """Represent the node by one variable in the enclosing expression, which gets its coefficient."""
        self.whole[id(node)] = kept
        self.var_map[id(node)] = node  # for text by Pyomo
        result = self.Result()
        result.linear[id(node)] = 1
        return _LINEAR, result

    def holds_whole(self, repn: Any) -> bool:
        return bool(self.whole) and any(key in self.whole for key in repn.linear)

    def affine(self, repn: Any) -> Affine:
        order, factor = self.var_recorder.var_order, repn.multiplier
        cols = np.fromiter((order[key] for key in repn.linear), np.intp, len(repn.linear))
        coefs = np.fromiter(repn.linear.values(), float, len(repn.linear))
        return Affine(cols, coefs if factor == 1 else coefs * factor, float(repn.constant) * factor)

    def body(self, repn: Any) -> Body:
        factor, order = repn.multiplier, self.var_recorder.var_order
        products: list[Product] = []
        quotients: list[Quotient] = []
        for key in [key for key in repn.linear if key in self.whole] if self.whole else ():
            item, coef = self.whole[key], repn.linear.pop(key)
            kind: list[Any] = products if isinstance(item, Product) else quotients
            kind.append(item._replace(coef=item.coef * coef * factor))
        quad = _EMPTY
        if repn.quadratic:
            size = len(repn.quadratic)
            quad = (
                np.fromiter((order[key[0]] for key in repn.quadratic), np.intp, size),
                np.fromiter((order[key[1]] for key in repn.quadratic), np.intp, size),
                np.fromiter(repn.quadratic.values(), float, size) * factor,
            )
        return Body(self.affine(repn), quad, tuple(products), tuple(quotients))


def is_conic(expression: Any) -> bool:
    """Return True if an expression is quadratic except for quotients by linear expressions; it may be nonconvex.

    >>> import pyomo.environ as pyo
    >>> m = pyo.ConcreteModel()
    >>> m.x, m.y = pyo.Var(), pyo.Var()
    >>> is_conic(m.x**2 / m.y + m.x * m.y), is_conic(pyo.exp(m.x))
    (True, False)
    """
    try:
        Walker().walk(expression, "")
    except ModelError:
        return False
    return True


class Walker:
    """Converter of Pyomo expressions to bodies with a common numbering of variables.

    >>> import pyomo.environ as pyo
    >>> m = pyo.ConcreteModel()
    >>> m.x, m.y = pyo.Var(), pyo.Var()
    >>> body, inputs = Walker().walk(3 * m.x + m.x**2 / m.y, "f")
    >>> body.linear.coefs, len(body.quotients)
    (array([3.]), 1)
    """

    def __init__(self) -> None:
        self._columns = _Columns()
        self._visitor = _Visitor(self._columns)

    @property
    def variables(self) -> list[Any]:
        """Pyomo variables by column."""
        return self._columns.variables

    def walk(self, expr: Any, label: str) -> tuple[Body, Inputs]:
        """Return the body of an expression and its inputs.

        ``expr``: a Pyomo expression or a number. ``label``: name of the expression in errors, such as ``constraint
        "c"``. Raises ModelError if it is not quadratic, or has a coefficient that is not a number.
        """
        if expr.__class__ is LinearExpression and (dense := self._dense(expr)) is not None:
            return Body(dense), Inputs()
        for fold in (False, True):
            body, inputs, rest = self._walk_once(expr, label, fold)
            if body is not None:
                return body, inputs
        raise ModelError(
            f"{label} has a term that is neither quadratic nor a quotient by a linear expression: {rest}. "
            "Write it with squares, products or quotients, or use an NLP solver such as pounce."
        )

    def _dense(self, expr: Any) -> Affine | None:
        """Return a linear expression whose coefficients are floats, without a walk; None if it has parameters.

        Measured on rows of 50 to 500 terms: 0.75 times the CPU time of a walk.
        """
        columns, linear = self._columns, {}
        order = columns.var_order
        for coef, var in zip(expr.linear_coefs, expr.linear_vars, strict=True):
            if coef.__class__ is not float or not coef:
                return None
            key = id(var)
            if key not in order:
                columns.add(var)
            linear[order[key]] = coef
        if len(linear) < len(expr.linear_vars) or expr.constant.__class__ not in native_types:
            return None
        return affine(linear, linear.values(), expr.constant)

    def _walk_once(self, expr: Any, label: str, fold: bool) -> tuple[Body | None, Inputs, str]:
        visitor = self._visitor
        visitor.fold, visitor.inputs, visitor.whole = fold, Inputs(), {}
        visitor.subexpression_cache.clear()
        try:
            if expr.__class__ in native_types:
                return Body(affine(const=expr)), visitor.inputs, ""
            repn = visitor.walk_expression(expr)
            if repn.nonlinear is not None:
                text = str(repn.nonlinear)
                return None, visitor.inputs, text if len(text) <= 120 else text[:117] + "..."
            body = visitor.body(repn)
        except InvalidValueError as error:
            raise ModelError(
                f"{label} has a coefficient that is not a number: {error}. Give its parameters finite values."
            ) from error
        finally:
            for key in visitor.whole:
                visitor.var_map.pop(key, None)
        return body, visitor.inputs, ""
