r"""Nonlinear functions of a model: values, derivatives, convexity and linearisations.

A quadratic expression is read once as matrices; values, slopes and convexity are then computed with arrays.

    f(x) = alpha + a'x + x'T x + sum_k c_k (l_k'x + g_k)(m_k'x + h_k)

Products of linear forms are not expanded: a square needs one row in place of n^2 terms, and (x - 1e4)^2 loses no digits
where it is small. Any other expression is split into its linear part and a rest, which becomes a ``Tape``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.common.numeric_types import native_numeric_types
from pyomo.core.expr.numeric_expr import LinearExpression, MonomialTermExpression
from pyomo.core.expr.visitor import identify_variables
from pyomo.repn import generate_standard_repn
from scipy import sparse

from solvers.clarabel.cones import expand, is_convex_body
from solvers.clarabel.rows import BoundProver
from solvers.errors import ModelError
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import either
from solvers.model.convexity import curvature
from solvers.model.expressions import terms, variables
from solvers.model.linear import LinearRows, prover_of
from solvers.tape import Tape
from solvers.values import bounds_of
from solvers.walker import Affine, Body, Walker, affine, stacked

DENSE = 0.2  # share of entries above which a matrix is kept dense


class Quadratic:
    """One expression over columns.

    - ``constant``, ``linear`` (over all columns): of the linear terms.
    - ``columns``: columns of the nonlinear terms, sorted.
    - ``twice``: T + T' over ``columns``.
    - ``factor``, ``left``, ``shift``, ``right``, ``other_shift``: c, l, g, m, h of the products.
    - ``body``: the expression of the walker, with the numbers of the columns.
    """

    def __init__(self, body: Body, size: int) -> None:
        self.body = body
        self.constant, self.linear = body.linear.const, np.zeros(size)
        np.add.at(self.linear, body.linear.cols, body.linear.coefs)
        self.columns = Body(affine(), body.quad, body.products).columns()
        i, j, v = body.quad
        where = np.searchsorted(self.columns, i), np.searchsorted(self.columns, j)
        half = sparse.csr_array((v, where), shape=(len(self.columns), len(self.columns)))
        self.twice = _packed(half + half.T)
        self.factor = np.array([p.coef for p in body.products])
        self.left, self.shift = self._stacked([p.left for p in body.products])
        self.right, self.other_shift = self._stacked([p.right for p in body.products])

    @classmethod
    def read(
        cls, expression: Any, column: Mapping[int, int], size: int, *, keep_fixed: bool = False
    ) -> Quadratic | None:
        """Return an expression over ``size`` columns, None if it is not quadratic; ``column``: by the id of a variable.

        Parameters and fixed variables are replaced by their present values; with ``keep_fixed`` a fixed variable that
        has a column is a variable.
        """
        walker = Walker()
        try:
            body, inputs = walker.walk(expression, "")
        except ModelError:
            return None
        held = walker.variables
        if keep_fixed and any(id(v) in column for v, _ in inputs.fixed):
            return None
        pinned = np.array([v.fixed and not (keep_fixed and id(v) in column) for v in held], dtype=bool)
        if pinned.any():
            values = np.array([v.value if v.fixed else 0.0 for v in held], dtype=float)
            if not np.all(np.isfinite(values)):
                return None
            body = body.substitute(pinned, values)
        if body.quotients:
            return None
        place = [-1 if gone else column[id(v)] for v, gone in zip(held, pinned.tolist(), strict=True)]
        return cls(body.renumbered(np.array(place, dtype=np.intp)), size)

    def _stacked(self, lines: Sequence[Affine]) -> tuple[Any, np.ndarray]:
        """Return linear forms as the rows of a matrix over ``columns``, and their constants."""
        rows, cols, coefs, constants = stacked(lines)
        where = (rows, np.searchsorted(self.columns, cols))
        return _packed(sparse.csr_array((coefs, where), shape=(len(lines), len(self.columns)))), constants

    def value(self, x: np.ndarray) -> float:
        """Return f at a point."""
        y, found = x[self.columns], self.constant + self.linear @ x
        if len(self.factor):
            found += self.factor @ ((self.left @ y + self.shift) * (self.right @ y + self.other_shift))
        if len(self.body.quad[0]):
            found += 0.5 * (y @ (self.twice @ y))
        return float(found)

    def slope(self, x: np.ndarray) -> np.ndarray:
        """Return the derivatives of the nonlinear terms, over ``columns``."""
        y, found = x[self.columns], np.zeros(len(self.columns))
        if len(self.factor):
            found += self.left.T @ (self.factor * (self.right @ y + self.other_shift))
            found += self.right.T @ (self.factor * (self.left @ y + self.shift))
        if len(self.body.quad[0]):
            found += self.twice @ y
        return found

    def is_convex(self, sign: float) -> bool:
        """Return True if sign times f is convex."""
        return is_convex_body(self.body.times(sign))


def _packed(matrix: Any) -> Any:
    """Return a dense matrix if that is faster."""
    return matrix.toarray() if matrix.nnz >= DENSE * matrix.shape[0] * matrix.shape[1] else matrix


@dataclass(frozen=True)
class Curve:
    """The convex function ``1/2 y'Qy + slope . y + constant``; ``matrix`` is Q, symmetric, of shape (n, n)."""

    matrix: Any
    slope: np.ndarray
    constant: float

    @classmethod
    def of(
        cls, expression: Any, what: str, variables: Sequence[Any], sign: float = 1.0, *, keep_fixed: bool = False
    ) -> Curve:
        """Return ``sign`` times an expression, whose other variables are fixed.

        ``keep_fixed``: True if fixed variables among ``variables`` are not replaced by their values.
        Raises ModelError if it is not quadratic, or not convex; ``what`` is its name in the message.
        """
        column = {id(v): k for k, v in enumerate(variables)}
        size, whole = len(variables), f"Solve the whole model by name: {either(C.MIQCP)}."
        read = Quadratic.read(expression, column, size, keep_fixed=keep_fixed)
        if read is None:
            raise ModelError(f"{what} is neither linear nor quadratic, so there are no cuts for it. {whole}")
        if not read.is_convex(sign):
            raise ModelError(f"{what} is not convex, so multipliers give no cut. {whole}")
        body = Body(read.body.linear, read.body.quad).plus(expand(read.body.products)).times(sign)
        i, j, v = body.quad
        half = sparse.csr_matrix((v, (i, j)), shape=(size, size))
        slope = np.zeros(size)
        np.add.at(slope, body.linear.cols, body.linear.coefs)
        return cls(half + half.T, slope, float(body.linear.const))

    @classmethod
    def of_row(cls, row: Any, variables: Sequence[Any]) -> tuple[Curve, float]:
        """Return the function g of a row g <= 0, and the sign that converts the multiplier of the row to that of g.

        Raises ModelError, naming the row, if it is not convex quadratic, or has two sides.
        """
        what, lower, upper = f'Row "{row.name}"', pyo.value(row.lower), pyo.value(row.upper)
        if lower is not None and upper is not None:
            raise ModelError(
                f"{what} is not linear and has two sides, which is not convex: state one side only, or solve the whole "
                f"model by name: {either(C.MIQCP | C.NONCONVEX)}."
            )
        sign = 1.0 if lower is None else -1.0
        curve = cls.of(row.body, what, variables, sign)
        return cls(curve.matrix, curve.slope, curve.constant - sign * float(upper if lower is None else lower)), -sign

    def apart(self, columns: np.ndarray) -> tuple[np.ndarray, Curve]:
        """Return the weights h of 1/2 h y^2 for some columns, and the rest; h is 0 if y is in products."""
        diagonal = self.matrix.diagonal()
        products = abs(self.matrix - sparse.diags_array(diagonal, format="csr")).sum(axis=0)
        h = np.where(np.asarray(products).ravel() > 0, 0.0, diagonal)[columns]
        taken = sparse.csr_matrix((h, (columns, columns)), shape=self.matrix.shape)
        rest = sparse.csr_matrix(self.matrix - taken)
        rest.eliminate_zeros()
        return h, Curve(rest, self.slope, self.constant)

    def tangent(self, y: np.ndarray) -> tuple[np.ndarray, float]:
        """Return slope and constant of the linearisation at a point, a lower bound of the function."""
        bent = self.matrix @ y
        return self.slope + bent, self.constant - 0.5 * float(y @ bent)


INSIDE = (1e-2, 1e-4, 1e-6, 1e-8)  # distances from a bound of a linearisation, as shares of the range
BESIDE = 1e-9  # relative distance of a linearisation from a kink
TOWARDS = (1e-2, 0.1, 0.5, 0.9, 0.99, 0.9999, 1.0)  # steps to the last point in the domain, as shares
NEAR = (1e-6, 1e-12)  # distances from a bound for a limit of slopes, as shares of the range
SAME = 1e-3  # relative difference of slopes at the nearer of them that counts as equal


def curved_variables(expression: Any) -> Sequence[Any]:
    """Return the free variables in the nonlinear terms of an expression."""
    if is_linear(expression):
        return ()
    found: Sequence[Any] = generate_standard_repn(expression, compute_values=True, quadratic=False).nonlinear_vars
    return found


class SmoothFunction:
    """The objective, to be minimised, or g of a row g(x) <= 0: ``constant + linear . x + f(x)``.

    Parameters and fixed variables are replaced by their present values.

    - ``name``: for messages.
    - ``side``: of the row; ``sign``: 1, or -1 if the function is that of the model times -1.
    - ``linear``: array over the variables.
    - ``curved``: positions of the variables of f; empty for a linear function.
    - ``quadratic``: the function as matrices in the sense of the model, None if f is not quadratic.
    """

    def __init__(
        self, expression: Any, variables: Sequence[Any], sign: float, name: str = "The objective", side: float = 0.0
    ) -> None:
        self.name, self.side = name, side
        self._known: np.ndarray | None = None  # the last point with a linearisation
        column = {id(v): k for k, v in enumerate(variables)}
        self._expression, self._variables, self.sign = expression, variables, sign
        self.quadratic = Quadratic.read(expression, column, len(variables))
        if self.quadratic is not None:
            self.linear, self.curved = sign * self.quadratic.linear, self.quadratic.columns
            self._held = [variables[k] for k in self.curved.tolist()]
            return
        parts = generate_standard_repn(expression, compute_values=True, quadratic=False)
        self._constant = sign * float(parts.constant)
        self.linear = np.zeros(len(variables))
        for c, v in zip(parts.linear_coefs, parts.linear_vars, strict=True):
            self.linear[column[id(v)]] += sign * float(c)
        self.rest = parts.nonlinear_expr
        self._held = [] if self.rest is None else list(identify_variables(self.rest, include_fixed=False))
        self.curved = np.array([column[id(v)] for v in self._held], dtype=int)

    @classmethod
    def of_row(cls, row: Any, variables: Sequence[Any]) -> SmoothFunction | None:
        """Return g of a nonlinear row; None if the row has two sides, because one of the two is not convex."""
        lower, upper = pyo.value(row.lower), pyo.value(row.upper)
        if lower is not None and upper is not None:
            return None
        sign, side = (1.0, upper) if upper is not None else (-1.0, lower)
        return cls(row.body - side, variables, sign, f'Row "{row.name}"', float(side))

    @cached_property
    def rest(self) -> Any:
        """The expression f in the sense of the model, or None."""
        return generate_standard_repn(self._expression, compute_values=True, quadratic=False).nonlinear_expr

    def is_convex(self, prover: BoundProver | None = None) -> bool | None:
        """Return True if it is convex; None if it is not quadratic and not proven to be convex.

        ``prover``: of bounds and linear rows with a column for each variable; by default the bounds of the variables.
        """
        if self.quadratic is not None:
            return self.quadratic.is_convex(self.sign)
        prover = prover or prover_of(LinearRows.of([], self._variables, [], 1.0))
        return curvature(self._expression, self._variables, prover)[0 if self.sign > 0 else 1] or None

    @cached_property
    def _tape(self) -> Tape | None:
        """The function f as a tape, None if it has an operation without derivatives, such as a condition."""
        try:
            return Tape([self.rest], self._held, [self.name])
        except ModelError as error:
            self._refusal = error
            return None

    def value(self, x: np.ndarray) -> float:
        """Return the value at a point; if f has operations without derivatives, this changes its variables.

        Raises ModelError if the function has no value at the point.
        """
        if self.quadratic is not None:
            return self.sign * self.quadratic.value(x)
        total = self._constant + float(self.linear @ x)
        if self.rest is not None:
            total += self.sign * self._rest_at(x[self.curved])
        return total

    def _rest_at(self, y: np.ndarray) -> float:
        """Return f at values of its variables."""
        if self._tape is not None:
            found, why = float(self._tape.values(y)[0]), ""
            if not np.isfinite(found):
                why = self._tape.undefined() or "its value is not finite"
        else:
            for v, number in zip(self._held, y.tolist(), strict=True):
                v.set_value(number, skip_validation=True)
            try:
                found, why = float(pyo.value(self.rest, exception=False)), ""
            except (ArithmeticError, ValueError, TypeError) as error:
                why = str(error)
        if why:
            raise ModelError(f"{self.name} has no value at a point within the rows: {why}.")
        return found

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Return the gradient at a point.

        At a bound where f has no derivative, such as x**0.5 at 0, this is the limit from within the bounds, which may
        be infinite. Raises ModelError if f has no derivative at the point, or has an operation without derivatives.
        """
        slope = self.linear.copy()
        if self.quadratic is not None:
            slope[self.curved] += self.sign * self.quadratic.slope(x)
        elif self.rest is not None:
            try:
                slope[self.curved] += self._slope(x)
            except ModelError as error:
                limit = self._limit(x)
                if limit is None:
                    raise error
                slope[self.curved] += limit
        return slope

    def at(self, x: np.ndarray) -> float:
        """Return g divided by its side if that is above 1; infinite if g has no value."""
        try:
            return self.value(x) / max(1.0, abs(self.side))
        except ModelError:
            return np.inf

    def cut(self, x: np.ndarray, *, bounds_only: bool = False) -> tuple[np.ndarray, float]:
        """Return a and b of the linearisation a.z <= b of a convex function at a point.

        If the function has no derivative at the point, another point is used, because a linearisation at any point of
        the domain is valid: the first one of ``_near`` whose linearisation excludes x, which is the flattest. With
        ``bounds_only`` the linearisation need not exclude x, as for a bound on an objective.
        """
        try:
            return self._linearised(x)
        except ModelError as error:
            for points in self._near(x):
                found = None
                for near in points:
                    with suppress(ModelError):
                        found = self._linearised(near)
                        if float(found[0] @ x) > found[1]:
                            return found
                if found is not None and bounds_only:
                    return found
            raise ModelError(f"{error} Bound its variables to where it is smooth.") from error

    def _near(self, x: np.ndarray) -> Iterator[list[np.ndarray]]:
        """Yield lists of points near a point without a derivative; later lists are used if earlier ones do not help.

        1. If variables are at a bound: points inside the bounds, the farthest first.
        2. If the function has a kink at the point: a point at a small distance.
        3. If the point is outside the domain: points on the line to the last one in the domain, the nearest first.
        """
        inside = (self.inside(x, share) for share in INSIDE)
        yield [near for near in inside if near is not None]
        beside, at = x.copy(), x[self.curved]
        beside[self.curved] += BESIDE * np.maximum(1.0, np.abs(at)) * (1.0 + np.arange(len(at)) % 7)
        yield [beside]
        if self._known is not None:
            yield from ([x + share * (self._known - x)] for share in TOWARDS)

    def _linearised(self, x: np.ndarray) -> tuple[np.ndarray, float]:
        value, slope = self.value(x), self.gradient(x)
        if not np.all(np.isfinite(slope)):
            raise ModelError(f"{self.name} has an infinite slope at a point within the rows.")
        self._known = x.copy()
        return slope, float(slope @ x) - value

    def inside(self, x: np.ndarray, share: float, uneven: bool = False) -> np.ndarray | None:
        """Return the point with nonlinear variables at a bound moved inside; None if none is at a bound."""
        lower, upper = np.array([bounds_of(v) for v in self._held]).reshape(-1, 2).T
        at, width = x[self.curved], np.minimum(upper - lower, 1.0)
        low, up = at <= lower, at >= upper
        if not np.any((low | up) & (width > 0)):
            return None
        size = share * width * (1.0 + np.arange(len(at)) % 7 if uneven else 1.0)
        moved = x.copy()
        moved[self.curved] = np.where(low, lower + size, np.where(up, upper - size, at))
        return moved

    def _slope(self, x: np.ndarray) -> np.ndarray:
        """Return the derivatives of f, all finite."""
        if self._tape is None:
            raise self._refusal
        y = x[self.curved]
        slope = self.sign * self._tape.gradient(y, np.ones(1))
        if not np.isfinite(self._tape.values(y)[0]) or not np.all(np.isfinite(slope)):
            raise ModelError(f"{self.name} has an infinite slope at a point within the rows: it must be smooth.")
        if self._tape.at_kink():
            raise ModelError(f"{self.name} cannot be differentiated: abs has no derivative at 0. It must be smooth.")
        return slope

    def _limit(self, x: np.ndarray) -> np.ndarray | None:
        """Return the limit of the slope from within the bounds, or None.

        Entries that grow are infinite. The others must agree on two paths: the slopes of sqrt(x y) at 0 depend on the
        path, and a point that is stationary for one of them may not be stationary for f.
        """
        found = []
        for uneven in (False, True):
            for share in NEAR:
                point = self.inside(x, share, uneven)
                if point is None:
                    return None
                try:
                    found.append(self._slope(point))
                except ModelError:
                    return None
        far, near, other_far, other_near = found
        grows, other_grows = (np.abs(b) > 2 * np.abs(a) + 1 for a, b in ((far, near), (other_far, other_near)))
        agree = np.abs(near - other_near) <= SAME * np.maximum(1.0, np.abs(near))
        if np.any(grows != other_grows) or not np.all(grows | agree):
            return None
        return np.where(grows, np.sign(near) * np.inf, near)


def is_linear(expression: Any) -> bool:
    """Return True if an expression is affine in its free variables; a dense row is not walked."""
    return type(expression) is LinearExpression or all(map(_is_linear_term, terms(expression)))


def _is_linear_term(term: Any) -> bool:
    if type(term) is MonomialTermExpression or type(term) in native_numeric_types:
        return True
    degree = term.polynomial_degree()
    return degree is not None and degree <= 1


def is_convex(expression: Any, sign: float = 1.0) -> bool | None:
    """Return True if sign times an expression is convex; None if it is not quadratic."""
    held = list(variables(expression))
    found = Quadratic.read(expression, {id(v): k for k, v in enumerate(held)}, len(held))
    return None if found is None else found.is_convex(sign)
