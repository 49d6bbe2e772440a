r"""Convex functions as cones: each function of a model by a linear bound in new variables.

A row or term that is not quadratic is replaced by linear and quadratic rows and by cones of three linear expressions:

==============  =============================================
exponential     ``v exp(u / v) <= w``, v > 0, and its closure
power of p      ``u^p v^(1 - p) >= |w|``, u, v >= 0
==============  =============================================

For each node f of the tape that is convex (see ``convexity``), ``bound(f, 1)`` is a linear expression that is at least
f, and equal to f for some values of the new variables; for a concave f, ``bound(f, -1)`` is at most f. ``log_bound`` is
the same for log(f). Both follow the rules of composition:

==========================  ==============================================================================
quadratic f                 the row f <= t
``c_0 + sum c_k u_k``       sum of the bounds of c_k u_k
convex f, log-convex        exp(log_bound(f)) <= t
``log(u)``                  log_bound(u)
``u^p``, p > 1              the power of 1 / p of t is at least \|u\|
``u^p``, 0 < p < 1          the power of p of u is at least t
``u / v``                   the row u <= t w with w <= v, if u is a sum of squares
``sqrt(u)``, u quadratic    the rows u <= t^2, or t^2 <= u, with t >= 0
``sum u log(u / v)``        u exp(-t / u) <= v
log(f), f concave           exp(t) <= bound(f)
log(exp(u))                 bound(u); products, quotients and powers: sums of log_bounds
log(sum c_k u_k)            exp(log_bound(u_k) + log(c_k) - t) <= s_k, sum s_k <= 1
==========================  ==============================================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression

from solvers.errors import ModelError
from solvers.model.convexity import Logs, Shape, by_factor, combined, proportion, shapes
from solvers.model.expressions import terms, variables
from solvers.model.function import is_linear
from solvers.model.linear import LinearRows, prover_of
from solvers.tape import AFFINE, LOG10
from solvers.walker import Affine, Body, Walker

EXPONENTIAL, POWER = "exponential", "power"
Cone = tuple[str, tuple[Any, Any, Any]]  # kind, for a power with the exponent after a space; linear expressions


class GraphForm:
    """A model with a linear or quadratic objective and rows, and cones.

    ``whole``: pyo.ConcreteModel with ``rows`` and ``objective``. Raises ModelError if a function has no such form.
    """

    def __init__(self, whole: pyo.ConcreteModel) -> None:
        self.cones: list[Cone] = []
        self.model = pyo.ConcreteModel(name=whole.name)
        self.model.new, self.model.definitions = pyo.VarList(), pyo.ConstraintList()
        kept = []
        for row in whole.rows.values():
            lower, body, upper = row.to_bounded_expression()
            if _is_quadratic(body):
                kept.append(row)
            else:
                graph = _Graph(self, body)
                for side, sign in ((upper, 1.0), (lower, -1.0)):
                    if side is not None:
                        self.add(sign * (graph.bound(sign) - side) <= 0)
        self.model.rows = pyo.Reference(dict(enumerate(kept)), ctype=pyo.Constraint)
        costs: list[Any] = []
        curved: list[Any] = []
        for term in terms(whole.objective.expr):
            (costs if _is_quadratic(term) else curved).append(term)
        if curved:
            costs.append(_Graph(self, pyo.quicksum(curved)).bound(1.0))
        self.model.objective = pyo.Objective(expr=pyo.quicksum(costs))

    def variable(self, lower: float | None = None) -> Any:
        """Return a new variable."""
        new = self.model.new.add()
        new.setlb(lower)
        return new

    def add(self, row: Any) -> None:
        """Add a linear or quadratic row."""
        self.model.definitions.add(row)

    def exponential(self, u: Any, v: Any, w: Any) -> None:
        """Add the cone ``v exp(u / v) <= w``."""
        self.cones.append((EXPONENTIAL, (u, v, w)))

    def power(self, p: float, u: Any, w: Any) -> None:
        """Add the cone ``u^p >= |w|``."""
        self.cones.append((f"{POWER} {p!r}", (u, 1.0, w)))


def _is_quadratic(expression: Any) -> bool:
    """Return True if the conic compiler reads an expression: it is linear, quadratic, or has quotients."""
    try:
        return is_linear(expression) or not Walker().walk(expression, "")[0].is_linear
    except ModelError:
        return False


class _Graph:
    """One function; nodes are those of its tape."""

    def __init__(self, form: GraphForm, expression: Any) -> None:
        self._form, self._variables = form, [v for v in variables(expression) if not v.fixed]
        prover = prover_of(LinearRows.of([], self._variables, [], 1.0))
        self._tape, self._shapes, self._root = shapes(expression, self._variables, prover)
        self._known: dict[tuple[int, float, bool], Any] = {}

    def bound(self, sign: float) -> Any:
        """Return a linear bound of the function, from above if the sign is positive."""
        return self._bound(self._root, sign)

    def _bound(self, k: int, sign: float, *, log: bool = False) -> Any:
        """Return a linear bound of node k or of its logarithm, from above if the sign is positive."""
        key = k, sign, log
        if key not in self._known:
            shape, op, args = self._shapes[k], self._tape.op[k], self._tape.args[k]
            found = (self._new_log if log else self._new)(k, shape, op, args, sign)
            if found is None:
                raise ModelError(f"There is no cone for {op}.")
            self._known[key] = found
        return self._known[key]

    def _new(self, k: int, shape: Shape, op: str, args: tuple[int, ...], sign: float) -> Any:
        form, above = self._form, sign > 0
        if not (shape.convex if above else shape.concave):
            return None
        if shape.body is not None:
            return self._polynomial(shape.body, sign)
        if op == AFFINE:
            return self._sum(k, sign)
        if shape.entropy is not None:
            return sign * self._entropy(shape.entropy[0], shape.entropy[1].times(sign))
        p = 0.5 if op == "sqrt" else self._shapes[args[1]].number if op == "power" else None
        if above and (shape.log_convex or (p is not None and p < 0)):
            t = form.variable()
            form.exponential(self._bound(k, sign, log=True), 1.0, t)
            return t
        if op in ("log", "log10"):
            return self._bound(args[0], sign, log=True) / (1.0 if op == "log" else LOG10)
        u = self._shapes[args[0]]
        if op == "abs" and above:
            t, line = form.variable(), self._bound(args[0], sign)
            form.add(line <= t)
            form.add(-line <= t)
            return t
        if op == "quotient" and u.body is not None and self._shapes[args[1]].within[0] >= 0:
            t, w = form.variable(0.0), form.variable(0.0)
            form.add(w <= self._bound(args[1], -1.0))
            form.add(sign * self._quadratic(u.body) <= t * w)
            return sign * t
        if p == 0.5 and u.body is not None and u.line is None:
            t = form.variable(0.0)
            form.add(sign * (self._quadratic(u.body) - t * t) <= 0)
            return t
        return None if p is None else self._power(args[0], p, sign)

    def _power(self, k: int, p: float, sign: float) -> Any:
        """Return a bound of u^p for node u."""
        form, signed = self._form, self._shapes[k].within[0] < 0
        if not (p > 1 if sign > 0 else 0 < p < 1) or (p % 2 == 1 and signed):
            return None
        inner, t = self._bound(k, sign), form.variable()
        if sign < 0:
            form.power(p, inner, t)
        else:
            form.power(1.0 / p, t, inner)
        if p % 1 and signed:
            form.add(inner >= 0)  # the domain
        return t

    def _new_log(self, k: int, shape: Shape, op: str, args: tuple[int, ...], sign: float) -> Any:
        form = self._form
        if shape.number is not None and shape.number > 0:
            return float(np.log(shape.number))
        if op == "exp":
            return self._bound(args[0], sign)
        if sign < 0 and shape.concave:
            t = form.variable()
            form.exponential(t, 1.0, self._bound(k, sign))
            return t
        if op == "power":
            u, p = (self._shapes[a] for a in args)
            if p.number is None and u.number is not None and u.number > 0:
                rate = float(np.log(u.number))
                return rate * self._bound(args[1], sign * np.sign(rate))
            if p.number is None or (u.within[0] < 0 and p.number % 1 == 0):
                return None
            return p.number * self._bound(args[0], sign * np.sign(p.number), log=True)
        if not (shape.log_convex if sign > 0 else shape.log_concave):
            return None
        if op == "sqrt":
            return 0.5 * self._bound(args[0], sign, log=True)
        if op in ("product", "quotient"):
            other = 1.0 if op == "product" else -1.0
            return self._bound(args[0], sign, log=True) + other * self._bound(args[1], sign * other, log=True)
        return self._log_sum(k) if op == AFFINE and sign > 0 else None

    def _log_sum(self, k: int) -> Any:
        """Return a bound of the logarithm of a sum with positive coefficients."""
        form, t, line = self._form, self._form.variable(), self._tape.form[k]
        assert line is not None
        parts = [(c, self._bound(a, 1.0, log=True)) for c, a in zip(line.coefs, line.nodes, strict=True)]
        parts += [(line.constant, 0.0)] if line.constant else []
        shares = [form.variable() for _ in parts]
        for (c, log), share in zip(parts, shares, strict=True):
            form.exponential(log + float(np.log(c)) - t, 1.0, share)
        form.add(pyo.quicksum(shares) <= 1)
        return t

    def _sum(self, k: int, sign: float) -> Any:
        """Return a bound of a sum; its quadratic terms are one function, as are entropies with the same factor."""
        form, found, bodies, entropies = self._tape.form[k], [], [], []
        assert form is not None
        for c, a in zip(form.coefs, form.nodes, strict=True):
            shape = self._shapes[a]
            if shape.body is not None:
                bodies.append((c, shape.body))
            elif shape.entropy is not None:
                entropies.append((shape.entropy[0], shape.entropy[1].times(sign * c)))
            else:
                found.append(c * self._bound(a, sign * np.sign(c)))
        found += [sign * self._entropy(u, logs) for u, logs in by_factor(entropies)]
        return pyo.quicksum([self._polynomial(combined(form.constant, bodies), sign), *found])

    def _polynomial(self, body: Body, sign: float) -> Any:
        """Return a bound of an affine or quadratic function."""
        if body.is_linear:
            return self._line(body.linear)
        t = self._form.variable()
        self._form.add(sign * (self._quadratic(body) - t) <= 0)
        return t

    def _entropy(self, u: Affine, logs: Logs) -> Any:
        """Return a bound from above of a convex ``u sum_k c_k log(v_k)``.

        With w = v_k = a u + b, c u log(w) = c / a (w log w - b log w). Terms with b = 0 are a multiple of u log(u), of
        which c u log(u / v_k) takes a part for each c_k = -c < 0.
        """
        form, line = self._form, self._line(u)
        found, available = [logs.const * line], 0.0
        for c, v in logs.parts:
            ratio, shift = proportion(v, u)
            w, t = self._line(v), form.variable()
            if c < 0:
                form.exponential(-t, line, w)
                found.append(-c * t)
                available += c
            elif shift == 0:
                found.append(c * float(np.log(ratio)) * line)
                available += c
            else:
                log = form.variable()
                form.exponential(-t, w, 1.0)
                form.exponential(log, 1.0, w)
                found.append(c / ratio * (t - shift * log))
        if available > 0:
            t = form.variable()
            form.exponential(-t, line, 1.0)
            found.append(available * t)
        return pyo.quicksum(found)

    def _line(self, line: Affine) -> Any:
        held = [self._variables[c] for c in line.cols.tolist()]
        return LinearExpression(constant=line.const, linear_coefs=line.coefs.tolist(), linear_vars=held)

    def _quadratic(self, body: Body) -> Any:
        v = self._variables
        i, j, c = (part.tolist() for part in body.quad)
        found = [self._line(body.linear), *(c * v[i] * v[j] for i, j, c in zip(i, j, c, strict=True))]
        for product in body.products:
            left = self._line(product.left)
            square = product.left is product.right
            found.append(product.coef * (left**2 if square else left * self._line(product.right)))
        return pyo.quicksum(found)
