"""A quadratic expression as matrices, read once; values, slopes and convexity are then arithmetic on arrays.

    f(x) = alpha + a'x + x'T x + sum_k c_k (l_k'x + g_k)(m_k'x + h_k)

Products of linear forms stay whole, as they are written: a square costs its row and not its n^2 terms, and loses no
digits where (x - 1e4)^2 is small.

Convex quadratic functions of some variables as matrices, for cuts that are formed from their multipliers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo
from scipy import sparse

from solvers.clarabel.body import Affine, Body, Walker
from solvers.clarabel.cones import expand, is_psd, squares_of
from solvers.errors import ModelError
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import either

DENSE = 0.2  # share of entries above which a matrix is kept dense


@dataclass(frozen=True)
class Quadratic:
    """One expression over columns; ``columns``: those in its nonlinear terms, sorted.

    ``constant``, ``linear`` (over all columns): of the terms that are linear as written. ``twice``: T + T' over
    ``columns``. ``factor``, ``left``, ``shift``, ``right``, ``other_shift``: c, l, g, m, h of the products.
    """

    constant: float
    linear: np.ndarray
    columns: np.ndarray
    twice: Any
    factor: np.ndarray
    left: Any
    shift: np.ndarray
    right: Any
    other_shift: np.ndarray
    body: Body

    @classmethod
    def read(cls, expression: Any, column: Mapping[int, int], size: int) -> Quadratic | None:
        """Return an expression over ``size`` columns, by the id of the variable; None where it is not quadratic.

        Fixed variables count with their values now, and so do parameters.
        """
        walker = Walker()
        try:
            body, _ = walker.walk(expression, "")
        except ModelError:
            return None
        held = walker.variables
        pinned = np.array([v.fixed for v in held], dtype=bool)
        if pinned.any():
            values = np.array([v.value if v.fixed else 0.0 for v in held], dtype=float)
            if not np.all(np.isfinite(values)):
                return None
            body = body.substitute(pinned, values)
        if body.quotients:
            return None
        place = np.array([-1 if v.fixed else column[id(v)] for v in held], dtype=int)
        return cls._of(_moved(body, place), size)

    @classmethod
    def _of(cls, body: Body, size: int) -> Quadratic:
        linear = np.zeros(size)
        np.add.at(linear, body.linear.cols, body.linear.coefs)
        curved = Body(body.linear.times(0.0)._replace(cols=_NONE, coefs=np.empty(0)), body.quad, body.products)
        columns = curved.columns()
        i, j, v = body.quad
        shape = (len(columns), len(columns))
        half = sparse.csr_array((v, (np.searchsorted(columns, i), np.searchsorted(columns, j))), shape=shape)
        left = [p.left for p in body.products]
        right = [p.right for p in body.products]
        return cls(
            body.linear.const,
            linear,
            columns,
            _packed(half + half.T),
            np.array([p.coef for p in body.products]),
            _stacked(left, columns),
            np.array([a.const for a in left]),
            _stacked(right, columns),
            np.array([a.const for a in right]),
            body,
        )

    def value(self, x: np.ndarray) -> float:
        """Return f at a point."""
        y, found = x[self.columns], self.constant + self.linear @ x
        if len(self.factor):
            found += self.factor @ ((self.left @ y + self.shift) * (self.right @ y + self.other_shift))
        if len(self.body.quad[0]):
            found += 0.5 * (y @ (self.twice @ y))
        return float(found)

    def slope(self, x: np.ndarray) -> np.ndarray:
        """Return the derivatives of what is not linear, over ``columns``."""
        y, found = x[self.columns], np.zeros(len(self.columns))
        if len(self.factor):
            found += self.left.T @ (self.factor * (self.right @ y + self.other_shift))
            found += self.right.T @ (self.factor * (self.left @ y + self.shift))
        if len(self.body.quad[0]):
            found += self.twice @ y
        return found

    def is_convex(self, sign: float) -> bool:
        """Return whether sign times f is convex; products are multiplied out only where they are no squares of it."""
        body = self.body.times(sign)
        squares = tuple(p for p in body.products if squares_of(p) is not None)
        others = tuple(p for p in body.products if squares_of(p) is None)
        rest = Body(body.linear, body.quad).plus(expand(others))
        return is_psd(rest.quad) or (bool(squares) and is_psd(rest.plus(expand(squares)).quad))


_NONE = np.empty(0, dtype=np.intp)


def _moved(body: Body, place: np.ndarray) -> Body:
    """Return a body whose columns are renumbered."""

    def line(a: Affine) -> Affine:
        return Affine(place[a.cols], a.coefs, a.const)

    def product(p: Any) -> Any:
        left = line(p.left)
        return p._replace(left=left, right=left if p.right is p.left else line(p.right))

    i, j, v = body.quad
    return Body(line(body.linear), (place[i], place[j], v), tuple(map(product, body.products)))


def _stacked(lines: Sequence[Affine], columns: np.ndarray) -> Any:
    """Return linear forms as the rows of a matrix over some columns."""
    sizes = [len(a.cols) for a in lines]
    cols = np.concatenate([_NONE, *(a.cols for a in lines)])
    coefs = np.concatenate([np.empty(0), *(a.coefs for a in lines)])
    where = (np.repeat(np.arange(len(lines)), sizes), np.searchsorted(columns, cols))
    return _packed(sparse.csr_array((coefs, where), shape=(len(lines), len(columns))))


def _packed(matrix: Any) -> Any:
    """Return a matrix dense where that is faster."""
    return matrix.toarray() if matrix.nnz >= DENSE * matrix.shape[0] * matrix.shape[1] else matrix


@dataclass(frozen=True)
class Curve:
    """The convex function ``1/2 y'Qy + slope . y + constant``; ``matrix`` is Q, symmetric, of shape (n, n)."""

    matrix: Any
    slope: np.ndarray
    constant: float

    @classmethod
    def of(cls, expression: Any, what: str, variables: Sequence[Any], sign: float = 1.0) -> Curve:
        """Read ``sign`` times an expression, whose other variables are fixed.

        Raises
        ------
        ModelError
            If it is not quadratic, or not convex; ``what`` names it.
        """
        column = {id(v): k for k, v in enumerate(variables)}
        size, whole = len(variables), f"Solve the whole model by name: {either(C.MIQCP)}."
        read = Quadratic.read(expression, column, size)
        if read is None:
            raise ModelError(f"{what} is neither linear nor quadratic, and no cut is known of it. {whole}")
        if not read.is_convex(sign):
            raise ModelError(f"{what} is not convex, and then no multipliers give a cut. {whole}")
        body = Body(read.body.linear, read.body.quad).plus(expand(read.body.products)).times(sign)
        i, j, v = body.quad
        half = sparse.csr_matrix((v, (i, j)), shape=(size, size))
        slope = np.zeros(size)
        np.add.at(slope, body.linear.cols, body.linear.coefs)
        return cls(half + half.T, slope, float(body.linear.const))

    @classmethod
    def of_row(cls, row: Any, variables: Sequence[Any]) -> tuple[Curve, float]:
        """Return the function that a row keeps at most 0, and -1 or 1: what turns the row's multiplier into its.

        Raises
        ------
        ModelError
            If it is not convex quadratic, or has two sides; the row is named.
        """
        what, lower, upper = f'Row "{row.name}"', pyo.value(row.lower), pyo.value(row.upper)
        if lower is not None and upper is not None:
            raise ModelError(
                f"{what} is not linear and has two sides, which is not convex: state the side that you mean, or solve "
                f"the whole model by name: {either(C.MIQCP | C.NONCONVEX)}."
            )
        sign = 1.0 if lower is None else -1.0
        curve = cls.of(row.body, what, variables, sign)
        return cls(curve.matrix, curve.slope, curve.constant - sign * float(upper if lower is None else lower)), -sign

    def apart(self, columns: np.ndarray) -> tuple[np.ndarray, Curve]:
        """Return the weights h of 1/2 h y^2 for some columns, and the rest; h is 0 where y is in products."""
        diagonal = self.matrix.diagonal()
        products = abs(self.matrix - sparse.diags_array(diagonal, format="csr")).sum(axis=0)
        h = np.where(np.asarray(products).ravel() > 0, 0.0, diagonal)[columns]
        taken = sparse.csr_matrix((h, (columns, columns)), shape=self.matrix.shape)
        rest = sparse.csr_matrix(self.matrix - taken)
        rest.eliminate_zeros()
        return h, Curve(rest, self.slope, self.constant)

    def tangent(self, y: np.ndarray) -> tuple[np.ndarray, float]:
        """Return slope and constant of the linearisation at a point, which is nowhere above it."""
        bent = self.matrix @ y
        return self.slope + bent, self.constant - 0.5 * float(y @ bent)
