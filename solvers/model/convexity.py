r"""Recognition of convex functions by rules of composition.

Each node of a tape (``solvers.tape``) gets the properties convex, concave, log-convex and log-concave that the rules
prove, and an interval of its values. The rules are sufficient, not necessary. They are those of disciplined convex
programming (Grant, Boyd, Ye 2006) and of log-log convex programming (Agrawal, Diamond, Boyd 2019).

==========================  =====================================================================================
operation                   rules
==========================  =====================================================================================
``c_0 + sum c_k u_k``       convex: the quadratic terms together by their Hessian, any other by u_k and the sign of
                            c_k. log-convex: c >= 0 and all u_k log-convex
``u v``                     as a quadratic function for affine u, v. log-convex (log-concave): both are
``u / v``                   convex: u a sum of squares of affine functions, and v >= 0 concave.
                            log-convex: u log-convex and v log-concave; log-concave: the reverse
``u^p``                     convex: p > 1 and u >= 0 convex, or p < 0 and u >= 0 concave; concave: 0 < p < 1 and u
                            concave. log-convex (log-concave): as u if p > 0, the reverse if p < 0
``abs(u)``                  convex: u affine; otherwise as u or -u if the sign of u is known; ``u^p = abs(u)^p``, p even
``sqrt(u)``, u quadratic    convex: u a sum of squares of affine functions. concave: t^2 <= u is a second-order cone
``exp(u)``                  log-convex: u convex. log-concave: u concave. ``c^u`` is ``exp(u log c)``
``log(u)``                  concave: u concave or log-concave. convex: u log-convex, such as a sum of exponentials
``u sum_k c_k log(v_k)``    entropy, for affine u and v_k (see below)
==========================  =====================================================================================

A log-convex function is convex, and a nonnegative concave function is log-concave. Points at which a function has no
value are not feasible, and need no rule where the domain is convex: log(u), sqrt(u) and u^p, p < 1, have increasing (or
decreasing) extensions by infinite values.

**Entropy.** u log(a u + b) is convex for a > 0, b >= 0, because it is (w log w - b log w) / a with w = a u + b. The
relative entropy u log(u / v) is convex for u, v > 0. So the sum is convex if each v_k with c_k > 0 is a u + b, and the
terms with b = 0 have at least the sum of the absolute values of all negative c_k. Then u >= 0 must follow from bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from pyomo.common.errors import InfeasibleConstraintException, IntervalException
from pyomo.common.numeric_types import value
from pyomo.contrib.fbbt import interval

from solvers.clarabel.cones import ConicRows, conic_rows, is_convex_body, sum_of_squares
from solvers.clarabel.rows import BoundProver
from solvers.errors import ModelError
from solvers.tape import AFFINE, CONSTANT, LOG10, VARIABLE, TapeReader
from solvers.walker import Affine, Body, Product, affine

Interval = tuple[float, float]
EVERYWHERE = (-np.inf, np.inf)
EQUAL = 1e-9  # relative difference of coefficients that are equal


@dataclass(frozen=True)
class Logs:
    """``sum_k c_k log(v_k) + const``: pairs of c_k and affine v_k."""

    parts: tuple[tuple[float, Affine], ...]
    const: float = 0.0

    def times(self, factor: float) -> Logs:
        """Multiply by a number."""
        return Logs(tuple((factor * c, v) for c, v in self.parts), factor * self.const)


@dataclass(frozen=True)
class Shape:
    """Properties of a node.

    - ``within``: interval of its values.
    - ``body``: of an affine or quadratic function. ``ratio``: u and v of a quotient of affine functions.
    - ``logs``: of a constant or a sum of logarithms. ``entropy``: u and v of a product of an affine u and such a sum v.
    """

    convex: bool = False
    concave: bool = False
    log_convex: bool = False
    log_concave: bool = False
    within: Interval = EVERYWHERE
    body: Body | None = None
    ratio: tuple[Affine, Affine] | None = None
    logs: Logs | None = None
    entropy: tuple[Affine, Logs] | None = None

    @property
    def line(self) -> Affine | None:
        """The affine function of the node, if it is one."""
        return self.body.linear if self.body is not None and self.body.is_linear else None

    @property
    def number(self) -> float | None:
        """The value of a constant node."""
        return self.line.const if self.line is not None and not len(self.line.cols) else None


def curvature(expression: Any, variables: Sequence[Any], prover: BoundProver) -> tuple[bool, bool]:
    """Return whether an expression is proven to be convex, and whether it is proven to be concave.

    Parameters
    ----------
    expression : Pyomo expression
        The function.
    variables : sequence
        Pyomo variables; others are constants.
    prover : BoundProver
        Bounds and linear rows of all points, with a column for each variable.

    Returns
    -------
    tuple of bool
        Both are False for an operation without rules.

    Examples
    --------
    >>> import pyomo.environ as pyo
    >>> from solvers.model.linear import LinearRows, prover_of
    >>> m = pyo.ConcreteModel()
    >>> m.x, m.y = pyo.Var(bounds=(0, 9)), pyo.Var(bounds=(0, 9))
    >>> prover = prover_of(LinearRows.of([], [m.x, m.y], [], 1.0))
    >>> curvature(pyo.log(pyo.exp(m.x) + pyo.exp(m.y)), [m.x, m.y], prover)
    (True, False)
    >>> curvature(pyo.sqrt(m.x * m.y), [m.x, m.y], prover)
    (False, True)
    """
    try:
        _, nodes, root = shapes(expression, variables, prover)
    except ModelError:
        return False, False
    return nodes[root].convex, nodes[root].concave


def shapes(expression: Any, variables: Sequence[Any], prover: BoundProver) -> tuple[TapeReader, list[Shape], int]:
    """Return the tape of an expression, the properties of its nodes, and the node of the expression.

    The parameters are those of ``curvature``. Raises ModelError if the expression is not smooth, or has no value.
    """
    reader, rules, nodes = TapeReader(variables), Rules(prover), list[Shape]()
    root = reader.read(expression)
    constants = dict(reader.constants)
    for k, (op, args, form) in enumerate(zip(reader.op, reader.args, reader.form, strict=True)):
        operands = [nodes[a] for a in args]
        if op == VARIABLE:
            node = rules.polynomial(Body(affine([k], [1.0])))
        elif op == CONSTANT:
            number = value(constants[k], exception=False)
            if number is None:
                raise ModelError("A constant has no value.")
            node = rules.constant(float(number))
        elif op == AFFINE:
            assert form is not None
            node = rules.sum(form.constant, form.coefs, operands)
        else:
            rule: Callable[..., Shape] = getattr(rules, op, lambda *_: Shape())
            node = rule(*operands)
        nonnegative = node.concave and node.within[0] >= 0
        nodes.append(replace(node, log_concave=node.log_concave or nonnegative))
    return reader, nodes, root


class Rules:
    """The rules; a method has the name of an operation of the tape and takes the nodes of the operands."""

    def __init__(self, prover: BoundProver) -> None:
        self._prover = prover

    def constant(self, number: float) -> Shape:
        """Return the node of a number."""
        positive = number > 0
        return Shape(
            True, True, positive, positive, (number, number), Body(affine(const=number)), logs=Logs((), number)
        )

    def polynomial(self, body: Body, within: Interval = EVERYWHERE) -> Shape:
        """Return the node of an affine or quadratic function; ``within``: interval of a quadratic one."""
        if not body.is_linear:
            return Shape(is_convex_body(body), is_convex_body(body.times(-1.0)), within=within, body=body)
        line = body.linear.merged()
        return (
            Shape(True, True, within=self._ends(line), body=Body(line)) if len(line.cols) else self.constant(line.const)
        )

    def _ends(self, line: Affine) -> Interval:
        """Return an interval of an affine function."""
        lower, upper, rising = self._prover.lower[line.cols], self._prover.upper[line.cols], line.coefs > 0
        least = line.const + float(line.coefs @ np.where(rising, lower, upper))
        most = line.const + float(line.coefs @ np.where(rising, upper, lower))
        if self._prover.nonnegative(line):
            least = max(least, 0.0)
        return least, min(most, 0.0) if self._prover.nonnegative(line.times(-1.0)) else most

    def sum(self, constant: float, coefs: Sequence[float], nodes: Sequence[Shape]) -> Shape:
        """Return the node of ``c_0 + sum c_k u_k``."""
        low, up = constant, constant
        for c, u in zip(coefs, nodes, strict=True):
            low, up = interval.add(low, up, *interval.mul(c, c, *u.within))
        bodies = [(c, u.body) for c, u in zip(coefs, nodes, strict=True) if u.body is not None]
        others = [_times(u, c) for c, u in zip(coefs, nodes, strict=True) if u.body is None]
        rest = self.polynomial(combined(constant, bodies), (low, up))
        if not others:
            return rest
        terms = [rest, *(u for u in others if u.entropy is None)]
        terms += [self._entropy(u, logs) for u, logs in by_factor(u.entropy for u in others if u.entropy is not None)]
        logs = [u.logs for u in terms if u.logs is not None]
        together = Logs(tuple(part for each in logs for part in each.parts), sum(each.const for each in logs))
        return Shape(
            all(u.convex for u in terms),
            all(u.concave for u in terms),
            all(u.log_convex or u.number == 0 for u in terms),
            within=(low, up),
            logs=together if len(logs) == len(terms) else None,
            entropy=terms[1].entropy if len(terms) == 2 and rest.number == 0 else None,
        )

    def _negative(self, u: Shape) -> Shape:
        return self.sum(0.0, [-1.0], [u])

    def product(self, u: Shape, v: Shape) -> Shape:
        """Return the node of ``u v``."""
        if u is v:
            return self.power(u, self.constant(2.0))
        within = interval.mul(*u.within, *v.within)
        for a, b in ((u, v), (v, u)):
            if a.number is not None:
                return self.sum(0.0, [a.number], [b])
            if a.line is not None and b.line is not None:
                node = self.polynomial(Body(affine(), products=(Product(1.0, a.line, b.line),)), within)
                return replace(node, log_concave=u.log_concave and v.log_concave)
            if a.line is not None and b.logs is not None:
                return replace(self._entropy(a.line, b.logs), within=within)
        return _by_logarithm(u.log_convex and v.log_convex, u.log_concave and v.log_concave, within)

    def quotient(self, u: Shape, v: Shape) -> Shape:
        """Return the node of ``u / v``."""
        if v.number:
            return self.sum(0.0, [1.0 / v.number], [u])
        if u.number is not None and u.number < 0:
            return self._negative(self.quotient(self._negative(u), v))
        if v.within[0] < 0 and v.within[1] <= 0:
            return self._negative(self.quotient(u, self._negative(v)))
        within = _safe(interval.div, *u.within, *v.within, 0.0)
        node = _by_logarithm(u.log_convex and v.log_concave, u.log_concave and v.log_convex, within)
        if u.body is not None and v.concave and v.within[0] >= 0:
            node = replace(node, convex=node.convex or self._is_sum_of_squares(u.body))
            node = replace(node, concave=self._is_sum_of_squares(u.body.times(-1.0)))
        return replace(node, ratio=None if u.line is None or v.line is None else (u.line, v.line))

    def power(self, u: Shape, exponent: Shape) -> Shape:
        """Return the node of ``u^p`` or ``c^u``."""
        p, base = exponent.number, u.number
        if p is None:
            return self.exp(self.sum(0.0, [np.log(base)], [exponent])) if base is not None and base > 0 else Shape()
        if p in (0.0, 1.0):
            return u if p else self.constant(1.0)
        within = _safe(interval.power, *u.within, p, p, 0.0)
        if p == 2 and u.line is not None:
            square = Body(affine(), products=(Product(1.0, u.line, u.line),))
            return self.polynomial(square, (max(within[0], 0.0), within[1]))
        if p == 0.5 and u.body is not None and u.line is None:
            return self._root(u.body, within)
        if p % 2 == 0:
            u = self.abs(u)
        elif p % 2 == 1 and u.within[0] < 0 and u.within[1] <= 0:
            return self._negative(self.power(self._negative(u), exponent))
        node = _by_logarithm(*((u.log_convex, u.log_concave) if p > 0 else (u.log_concave, u.log_convex)), within)
        limited = p % 1 != 0  # the domain is u >= 0
        if p > 1 and u.convex and (u.within[0] >= 0 or (limited and u.line is not None)):
            return replace(node, convex=True)
        if p < 0 and u.concave and (u.within[0] >= 0 or limited):
            return replace(node, convex=True)
        return replace(node, concave=0 < p < 1 and u.concave)

    def sqrt(self, u: Shape) -> Shape:
        """Return the node of ``sqrt(u)``."""
        return self.power(u, self.constant(0.5))

    def _root(self, body: Body, within: Interval) -> Shape:
        """Return the node of the root of a quadratic function."""
        t = affine([len(self._prover.lower)], [1.0])  # a further column
        above = body.times(-1.0).plus(Body(affine(), products=(Product(1.0, t, t),)))  # t^2 <= body
        try:
            concave = conic_rows(above, self._prover, "").cone is not None
        except ModelError:
            concave = False
        return Shape(self._is_sum_of_squares(body), concave, within=within)

    def _is_sum_of_squares(self, body: Body) -> bool:
        """Return whether a quadratic function is a sum of squares of affine functions."""
        try:
            sum_of_squares(body, ConicRows(), self._prover, "")
        except ModelError:
            return False
        return True

    def exp(self, u: Shape) -> Shape:
        """Return the node of ``exp(u)``."""
        return _by_logarithm(u.convex, u.concave, _safe(interval.exp, *u.within))

    def log(self, u: Shape) -> Shape:
        """Return the node of ``log(u)``."""
        lines = u.ratio or (() if u.line is None else (u.line,))
        parts = tuple(zip((1.0, -1.0), lines, strict=False))
        within = _safe(interval.log, max(u.within[0], 0.0), u.within[1])
        return Shape(u.log_convex, u.concave or u.log_concave, within=within, logs=Logs(parts) if parts else None)

    def log10(self, u: Shape) -> Shape:
        """Return the node of ``log(u) / log(10)``."""
        return self.sum(0.0, [1.0 / LOG10], [self.log(u)])

    def abs(self, u: Shape) -> Shape:
        """Return the node of ``abs(u)``."""
        if u.within[0] >= 0:
            return u
        if u.within[1] <= 0:
            return self._negative(u)
        return Shape(u.line is not None, within=(0.0, max(-u.within[0], u.within[1])))

    def _entropy(self, u: Affine, logs: Logs) -> Shape:
        """Return the node of ``u v`` for a sum v of logarithms."""
        convex, concave = self._is_entropy(u, logs), self._is_entropy(u, logs.times(-1.0))
        return Shape(convex, concave, entropy=(u, logs))

    def _is_entropy(self, u: Affine, logs: Logs) -> bool:
        """Return whether ``u sum_k c_k log(v_k)`` is a convex entropy (see the module)."""
        available, needed = 0.0, 0.0
        for c, v in logs.parts:
            ratio, shift = proportion(v, u)
            if c > 0 and (ratio <= 0 or shift < 0):
                return False
            available += c if c > 0 and shift == 0 else 0.0
            needed += max(-c, 0.0)
        enough = needed <= available * (1.0 + EQUAL)
        return enough and (needed == 0 or self._ends(u)[0] >= 0)


def _by_logarithm(log_convex: bool, log_concave: bool, within: Interval) -> Shape:
    """Return a positive function with a convex or concave logarithm."""
    return Shape(convex=log_convex, log_convex=log_convex, log_concave=log_concave, within=within)


def _times(u: Shape, c: float) -> Shape:
    """Return the node of c u without its interval."""
    convex, concave = (u.convex, u.concave) if c >= 0 else (u.concave, u.convex)
    logs = None if u.logs is None else u.logs.times(c)
    entropy = None if u.entropy is None else (u.entropy[0], u.entropy[1].times(c))
    return Shape(convex, concave, u.log_convex and c > 0, u.log_concave and c > 0, logs=logs, entropy=entropy)


def combined(constant: float, bodies: Sequence[tuple[float, Body]]) -> Body:
    """Return ``constant + sum_k c_k f_k`` for pairs of c_k and f_k; the sum is built once, not term by term."""
    lines = [body.linear.times(c) for c, body in bodies]
    cols = np.concatenate([np.empty(0, dtype=np.intp), *(line.cols for line in lines)])
    coefs = np.concatenate([np.empty(0), *(line.coefs for line in lines)])
    line = Affine(cols, coefs, constant + sum(line.const for line in lines)).merged()
    products = tuple(p._replace(coef=c * p.coef) for c, body in bodies for p in body.products)
    return Body(line, products=products)


def by_factor(entropies: Iterable[tuple[Affine, Logs]]) -> list[tuple[Affine, Logs]]:
    """Return sums of entropies with the same factor u as one."""
    found: dict[Any, tuple[Affine, Logs]] = {}
    for u, logs in entropies:
        key = u.cols.tobytes(), u.coefs.tobytes(), u.const
        before = found[key][1] if key in found else Logs(())
        found[key] = u, Logs(before.parts + logs.parts, before.const + logs.const)
    return list(found.values())


def proportion(v: Affine, u: Affine) -> tuple[float, float]:
    """Return a and b with ``v = a u + b``; a is 0 if there are none."""
    if not np.array_equal(v.cols, u.cols):
        return 0.0, 0.0
    ratio = float(v.coefs[0] / u.coefs[0])
    if not np.allclose(v.coefs, ratio * u.coefs, rtol=EQUAL, atol=0.0):
        return 0.0, 0.0
    shift = v.const - ratio * u.const
    return ratio, 0.0 if abs(shift) <= EQUAL * abs(v.const) else shift


def _safe(rule: Callable[..., Interval], *ends: float) -> Interval:
    """Return the interval of an operation, all numbers if it is not defined."""
    try:
        return rule(*ends)
    except (InfeasibleConstraintException, IntervalException, ArithmeticError):
        return EVERYWHERE
