r"""Quadratic rows as cones, and multipliers of rows from the dual vectors of cones.

Rows ``f(x) <= 0`` with f as in ``body``; L is the second-order cone ``{(v0, v): v0 >= ||v||}``.

====================================  ==============================================  =======
row as written                        in L                                            kappa
====================================  ==============================================  =======
``||Fx+g||^2 + r <= a(x) b(x)``       (a + b, 2(Fx+g), 2 sqrt(r), a - b)              1/4
``||Fx+g||^2 + r <= a(x)^2``          (a, Fx+g, sqrt(r))                              1
``||Fx+g||^2 <= l(x)``                (l/k + 1, 2(Fx+g)/sqrt(k), l/k - 1)             k/4
``||Fx+g||^2 <= r``, r > 0            (sqrt(r), Fx+g)                                 1
``||Fx+g||^2 <= 0``                   none: the rows Fx + g = 0                       none
====================================  ==============================================  =======

with a, b >= 0, r >= 0, k the largest coefficient of l (it keeps ``w^2 <= s t`` in scale for any fixed s > 0). In each
case ``f = kappa (||v||^2 - v0^2)``.

**Multiplier of the row as written.** Let lambda in L be the cone's dual vector: at the optimum x minimises
``objective - lambda0 v0(x) - lambda'v(x)``. The multiplier mu >= 0 of the scalar row makes x stationary for
``objective + mu f``. Both gradients agree when ``lambda0 = 2 mu kappa v0`` and ``lambda = -2 mu kappa v``;
complementarity in L makes the second follow from the first. So

    mu = lambda0 / (2 kappa v0(x)),

for instance ``2 lambda0 / (y + z)`` for ``x'x <= y z``. At the apex v0 = 0 the gradient of f vanishes, mu may not
exist, and none is reported. Rows ``Fx + g = 0`` have no multiplier: the optimum changes like the square root of the
right-hand side. ``apex`` tests this with the accuracy of an interior point: v0 is rounding, or it is below the smaller
eigenvalue of lambda (lambda is in the interior of L only at an apex).

**Quotients.** ``c p(x) / d(x)`` with c p a sum of squares and d >= 0 is replaced by an auxiliary variable t of the
conic form (not of the user's model), where ``c p(x) <= t d(x)`` is the first row of the table. If d is fixed, the
quotient is a plain quadratic; if it is fixed at 0, its closure p(x) = 0 is used, as in the cone at d = 0.

**Convexity** is decided numerically. Squares with a positive factor are rows of F. The rest of Q splits into blocks of
connected variables; each must have a pivoted Cholesky factor. The size of a block relative to others is irrelevant,
because they may be in other units. A row with one negative direction is a cone if the squares can be completed with
r >= 0. It is then one of two nappes: bounds, or a linear row, must imply a, b >= 0 (or a, b <= 0).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh, lapack
from scipy.sparse.csgraph import connected_components

from solvers.clarabel.rows import BoundProver
from solvers.errors import ModelError
from solvers.walker import Affine, Body, Product, affine

_NOTHING = 1e-12  # a sum of squares with at most this right-hand side is 0: Fx + g = 0


@dataclass(frozen=True)
class Cone:
    """``entries`` in L; ``kappa`` as in the table of the module, None for a cone without a row of the user."""

    entries: tuple[Affine, ...]
    kappa: float | None = None


@dataclass
class ConicRows:
    """A row ``f(x) <= 0`` as cones; auxiliary variable number t has the column ``-1 - t``."""

    inequality: Affine | None = None  # <= 0; its multiplier is that of the row
    cone: Cone | None = None  # or this one gives the multiplier
    zeros: list[Affine] = field(default_factory=list)
    quotients: list[Cone] = field(default_factory=list)  # each has an auxiliary variable


def apex(v: np.ndarray, dual: np.ndarray) -> bool:
    """Return True if a cone is at its apex, to the accuracy of an interior point (see the module)."""
    return v[0] <= 1e-9 or (v[0] <= 1e-4 and dual[0] - float(np.linalg.norm(dual[1:])) > v[0])


def squares_of(product: Product) -> Affine | None:
    """Return ``l`` with ``product = l^2``, or None."""
    return product.left.times(product.coef**0.5) if product.left is product.right and product.coef > 0 else None


def expand(products: Sequence[Product]) -> Body:
    """Return the sum of products, expanded."""
    total = Body(affine())
    for coef, a, b in products:
        i, j = np.repeat(a.cols, len(b.cols)), np.tile(b.cols, len(a.cols))
        quad = (np.minimum(i, j), np.maximum(i, j), coef * np.outer(a.coefs, b.coefs).ravel())
        line = b.times(coef * a.const).plus(Affine(a.cols, a.coefs, 0.0), coef * b.const)
        total = total.plus(Body(line, quad))
    return total


def split_squares(body: Body) -> tuple[list[Affine], Body]:
    """Return the squares of a body without quotients, and the rest with its other products expanded."""
    squares = [(product, squares_of(product)) for product in body.products]
    rest = Body(body.linear, body.quad).plus(expand([product for product, square in squares if square is None]))
    return [square for _, square in squares if square is not None], rest


def conic_rows(body: Body, prover: BoundProver, label: str) -> ConicRows:
    """Return ``body <= 0`` as cones.

    ``body``: without fixed variables. ``prover``: decides the nappe of a cone. ``label``: name of the row in errors.
    Raises ModelError if the row is not convex, or if bounds and rows do not imply that it is.
    """
    rows = ConicRows()
    body = take_quotients(body, rows, prover, label)
    squares, heads, indefinite = _sort(body)
    rest = body.linear.merged()
    if heads or indefinite:
        direct = None
        if len(heads) == 1 and not indefinite and not len(rest.cols) and rest.const >= 0.0:
            direct = _direct_cone(squares, *heads[0], rest.const, prover)
        if direct is None:
            squares, rest, direct = _complete(body, prover, label)
        if direct is not None:
            rows.cone = direct
            return rows
    _convex(squares, rest.times(-1.0), rows)
    return rows


def take_quotients(body: Body, rows: ConicRows, prover: BoundProver, label: str) -> Body:
    """Replace the quotients of ``body`` by auxiliary variables, and add their cones to ``rows``."""
    plain = Body(body.linear, body.quad, body.products)
    for coef, top, bottom in body.quotients:
        top = top.times(coef)
        bottom = bottom.merged()
        if not len(bottom.cols):
            if bottom.const != 0.0:
                plain = take_quotients(plain.plus(top, 1.0 / bottom.const), rows, prover, label)
            else:
                rows.zeros += sum_of_squares(top, rows, prover, label)
            continue
        if not prover.nonnegative(bottom):
            if not prover.nonnegative(bottom.times(-1.0)):
                shown = prover.show(bottom)
                raise ModelError(
                    f"{label} divides by {shown}, and the model does not imply {shown} >= 0: add a lower bound of 0."
                )
            top, bottom = top.times(-1.0), bottom.times(-1.0)
        entries = sum_of_squares(top, rows, prover, label)
        if not entries:
            continue
        t = affine([-1 - len(rows.quotients)], [1.0])
        sides = [entry.times(2.0) for entry in entries]
        rows.quotients.append(Cone((t.plus(bottom), *sides, t.plus(bottom, -1.0))))
        plain = plain.plus(Body(t))
    return plain


def sum_of_squares(top: Body, rows: ConicRows, prover: BoundProver, label: str) -> list[Affine]:
    """Return affine functions of which a function is the sum of squares. Raises ModelError if there are none."""
    msg = f"{label} is not convex: the numerator of a quotient is not a sum of squares (with its sign)."
    if top.quotients:
        raise ModelError(msg)
    squares, heads, indefinite = _sort(top)
    rest = top.linear.merged()
    if heads or indefinite or len(rest.cols):
        squares, rest, cone = _complete(top, prover, label, square_only=True)
        if cone is not None or len(rest.cols):
            raise ModelError(msg)
    if rest.const < -_NOTHING:
        raise ModelError(msg)
    return squares + ([affine(const=rest.const**0.5)] if rest.const > 0.0 else [])


def _sort(body: Body) -> tuple[list[Affine], list[tuple[Affine, Affine]], bool]:
    """Return the squares and the products (a, b) of ``sum of squares - sum of a b``, and True if a rest remains."""
    squares: list[Affine] = []
    heads: list[tuple[Affine, Affine]] = []
    indefinite = False
    for product in body.products:
        square = squares_of(product)
        if square is not None:
            squares.append(square)
        elif product.left is product.right:
            root = product.left.times((-product.coef) ** 0.5)
            heads.append((root, root))
        else:
            heads.append((product.left.times(-product.coef), product.right))
    for cols, matrix in blocks(body.quad):
        if len(cols) == 1:
            line = affine(cols, [abs(matrix[0, 0]) ** 0.5])
            if matrix[0, 0] > 0:
                squares.append(line)
            else:
                heads.append((line, line))
        elif len(cols) == 2 and matrix[0, 0] == matrix[1, 1] == 0.0:
            heads.append((affine(cols[:1], [-2.0 * matrix[0, 1]]), affine(cols[1:], [1.0])))
        else:
            factor = psd_factor(matrix)
            if factor is None:
                indefinite = True
            else:
                squares += [Affine(cols, row, 0.0) for row in factor]
    return squares, heads, indefinite


def _direct_cone(squares: list[Affine], a: Affine, b: Affine, r: float, prover: BoundProver) -> Cone | None:
    """Return the cone of ``sum of squares + r <= a b`` if the model implies a, b >= 0 or a, b <= 0.

    Its entries are those of ``(k a) (b / k)`` with k such that both factors have the same largest value.
    """
    for sign in (1.0, -1.0):
        if prover.nonnegative(a.times(sign)) and (a is b or prover.nonnegative(b.times(sign))):
            tail = [*squares, affine(const=r**0.5)] if r > 0.0 else squares
            if a is b:
                return Cone((a.times(sign), *tail), 1.0)
            k = 2.0 ** round(0.5 * np.log2(prover.size(b) / prover.size(a)))
            a, b = a.times(sign * k), b.times(sign / k)
            return Cone((a.plus(b), *(entry.times(2.0) for entry in tail), a.plus(b, -1.0)), 0.25)
    return None


def _complete(
    body: Body, prover: BoundProver, label: str, *, square_only: bool = False
) -> tuple[list[Affine], Affine, Cone | None]:
    """Return a convex row (squares, linear rest), or one cone by completing the square; by eigenvalues."""
    whole = Body(body.linear, body.quad).plus(expand(body.products))
    line = whole.linear.merged()
    cols = np.unique(np.concatenate((whole.quad[0], whole.quad[1])))
    place = {int(col): k for k, col in enumerate(cols)}
    matrix = np.zeros((len(cols), len(cols)))
    for i, j, v in zip(*whole.quad, strict=True):
        matrix[place[int(i)], place[int(j)]] += 0.5 * v
        matrix[place[int(j)], place[int(i)]] += 0.5 * v
    values, vectors = eigh(matrix)
    size = float(np.abs(values).max(initial=0.0))
    up, down = values > EIGEN_ROUNDING * size, values < -EIGEN_ROUNDING * size
    factor = np.sqrt(values[up])[:, None] * vectors[:, up].T
    if not down.any() and not square_only:
        return [Affine(cols, row, 0.0) for row in factor], line, None
    if down.sum() <= 1:
        # x'Qx + q'x + c = ||Fx+g||^2 - (u'x+beta)^2 + r with M = [F; u], M'[g; -beta] = q/2
        heads = np.sqrt(-values[down])[:, None] * vectors[:, down].T
        q = np.zeros(len(cols))
        outside = [(col, coef) for col, coef in zip(line.cols, line.coefs, strict=True) if int(col) not in place]
        for col, coef in zip(line.cols, line.coefs, strict=True):
            if int(col) in place:
                q[place[int(col)]] = coef
        both = np.vstack((factor, heads))
        shift = np.linalg.lstsq(both.T, q / 2.0, rcond=None)[0]
        missed = float(np.abs(both.T @ shift - q / 2.0).max(initial=0.0))
        g, beta = shift[: len(factor)], -shift[len(factor) :]
        r = line.const - float(g @ g) + float(beta @ beta)
        scale = max(1.0, abs(line.const), float(shift @ shift))
        if not outside and missed <= 1e-9 * max(1.0, float(np.abs(q).max(initial=0.0))) and r >= -1e-9 * scale:
            squares = [Affine(cols, row, shift_) for row, shift_ in zip(factor, g, strict=True)]
            if not down.any():
                return squares, affine(const=max(r, 0.0)), None
            a = Affine(cols, heads[0], float(beta[0]))
            small = np.abs(heads[0]) > 1e-14 * np.abs(heads[0]).max()
            a = Affine(cols[small], heads[0][small], a.const)
            cone = _direct_cone(squares, a, a, max(r, 0.0), prover)
            if cone is not None:
                return squares, line, cone
            raise ModelError(
                f"{label} is a second-order cone only if its right-hand side has one sign, which the model does not "
                f"imply: add lower bounds of 0 on the factors, or a linear row {prover.show(a)} >= 0."
            )
    if not down.any():
        raise ModelError(f"{label} is not convex: the numerator of a quotient is not a sum of squares.")
    raise ModelError(
        f"{label} is not convex: the smallest eigenvalue of its quadratic part is "
        f"{values.min(initial=0.0):.3g}. Clarabel needs convex rows; use a global solver such as scip."
    )


def _convex(squares: list[Affine], limit: Affine, rows: ConicRows) -> None:
    """Add ``sum of squares <= limit`` to ``rows``."""
    constant = sum(entry.const**2 for entry in squares if not len(entry.cols))
    squares, lost = _projected([entry for entry in squares if len(entry.cols)])
    limit = limit._replace(const=limit.const - constant - lost)
    nothing = _NOTHING * max(1.0, constant + lost)
    if not squares:
        rows.inequality = limit.times(-1.0)
    elif len(limit.cols):
        k = float(np.abs(limit.coefs).max())
        one, ratio = affine(const=1.0), limit.times(1.0 / k)
        sides = [entry.times(2.0 / k**0.5) for entry in squares]
        rows.cone = Cone((ratio.plus(one), *sides, ratio.plus(one, -1.0)), k / 4.0)
    elif limit.const > nothing:
        rows.cone = Cone((affine(const=limit.const**0.5), *squares), 1.0)
    elif limit.const >= -nothing:
        rows.zeros += squares
    else:
        rows.inequality = limit.times(-1.0)  # 0 < -limit: infeasible for any squares


def _projected(squares: list[Affine]) -> tuple[list[Affine], float]:
    """Return ``||Fx + g||^2`` as ``||Fx + h||^2 + lost`` with h in the range of F.

    With more squares than variables a row may have no interior: (x-1)^2 + (x+1)^2 <= 2 means x = 0.
    """
    cols = np.unique(np.concatenate([entry.cols for entry in squares])) if squares else np.empty(0, dtype=np.intp)
    if len(squares) <= len(cols) or len(squares) * len(cols) > 10**6 or not any(entry.const for entry in squares):
        return squares, 0.0
    factor, g = np.zeros((len(squares), len(cols))), np.array([entry.const for entry in squares])
    for line, entry in zip(factor, squares, strict=True):
        np.add.at(line, np.searchsorted(cols, entry.cols), entry.coefs)
    h = factor @ np.linalg.lstsq(factor, g, rcond=None)[0]
    projected = [entry._replace(const=float(const)) for entry, const in zip(squares, h, strict=True)]
    return projected, float((g - h) @ (g - h))


def objective_parts(body: Body, rows: ConicRows, prover: BoundProver, label: str) -> tuple[Affine, tuple, list[Affine]]:
    """Return the linear part, the quadratic part (i, j, v) and the squares of a convex objective.

    Cones of quotients are added to ``rows``. Raises ``ModelError`` if the objective is not convex.
    """
    body = take_quotients(body, rows, prover, label)
    squares, rest = split_squares(body)
    least = _least_eigenvalue(rest.quad)
    if least < 0.0 and squares:  # the squares may compensate for it, as in (x + y)**2 - 2 * x * y
        rest = rest.plus(expand([Product(1.0, s, s) for s in squares]))
        squares = []
        least = _least_eigenvalue(rest.quad)
    if least < 0.0:
        raise ModelError(
            f"{label} is not convex for its sense (a curvature of {2 * least:.3g}). "
            "Check its sign and sense, or use a global solver such as scip."
        )
    return rest.linear, rest.quad, squares


def _least_eigenvalue(quad: QuadraticForm) -> float:
    """Return 0 if Q is positive semidefinite, else its least eigenvalue."""
    least = 0.0
    for _, matrix in blocks(quad):
        if len(matrix) == 1:
            least = min(least, float(matrix[0, 0]))
        elif psd_factor(matrix) is None:
            values = eigh(matrix, eigvals_only=True)
            if values[0] < -EIGEN_ROUNDING * np.abs(values).max():
                least = min(least, float(values[0]))
    return least


QuadraticForm = tuple[np.ndarray, np.ndarray, np.ndarray]  # (i, j, v) stands for the terms v x_i x_j

# relative size of an eigenvalue or a residual that is rounding, far below any solver's tolerance
EIGEN_ROUNDING = 1e-10


def is_psd(quad: QuadraticForm) -> bool:
    """Return True if a quadratic form is convex."""
    return all(psd_factor(matrix) is not None for _, matrix in blocks(quad))


def is_convex_body(body: Body) -> bool:
    """Return True if an expression without quotients is convex; squares are expanded only if the rest is not."""
    squares, rest = split_squares(body)
    if is_psd(rest.quad):
        return True
    return bool(squares) and is_psd(rest.plus(expand([Product(1.0, s, s) for s in squares])).quad)


def psd_factor(q: np.ndarray) -> np.ndarray | None:
    """Return F (rank, n) with ``q = F'F`` for a symmetric (n, n) matrix, or None if q is not positive semidefinite.

    >>> psd_factor(np.array([[4.0, 2.0], [2.0, 1.0]]))
    array([[2., 1.]])
    >>> psd_factor(np.array([[1.0, 2.0], [2.0, 1.0]])) is None
    True
    """
    diagonal = np.diag(q)
    scale = float(np.abs(diagonal).max(initial=0.0))
    if diagonal.min(initial=0.0) < -EIGEN_ROUNDING * scale:
        return None
    lower, pivots, rank, _ = lapack.dpstrf(q, lower=1, tol=EIGEN_ROUNDING * scale)
    factor = np.zeros((rank, len(q)))
    factor[:, pivots - 1] = np.tril(lower)[:, :rank].T
    if np.abs(q - factor.T @ factor).max(initial=0.0) > 100 * EIGEN_ROUNDING * max(scale, np.finfo(float).tiny):
        return None
    return factor


def blocks(quad: QuadraticForm) -> list[tuple[np.ndarray, np.ndarray]]:
    """Split Q into (columns, dense symmetric matrix) by connected variables."""
    i, j, v = quad
    if not len(i):
        return []
    cols, inverse = np.unique(np.concatenate((i, j)), return_inverse=True)
    a, b = inverse[: len(i)], inverse[len(i) :]
    half = sp.csr_matrix((v, (a, b)), shape=(len(cols), len(cols)))
    matrix = ((half + half.T) * 0.5).tocsr()
    matrix.eliminate_zeros()
    if matrix.nnz == 0:
        return []
    _, part = connected_components(matrix, directed=False)
    order = np.argsort(part, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(part[order])) + 1)
    dense = [(cols[m], matrix[m][:, m].toarray()) for m in members if len(m) > 1]
    diagonal = matrix.diagonal()
    return dense + [(cols[m], diagonal[m].reshape(1, 1)) for m in members if len(m) == 1 and diagonal[m[0]] != 0.0]
