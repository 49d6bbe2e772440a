"""Convex quadratic functions of some variables as matrices, for cuts that are formed from their multipliers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo
from scipy import sparse

from solvers.clarabel.body import Body
from solvers.clarabel.cones import expand
from solvers.errors import ModelError
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import either
from solvers.model.quadratic import Quadratic


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
