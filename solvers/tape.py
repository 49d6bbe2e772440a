r"""Functions of a model as arrays: values, gradients, sparse Jacobians and Hessians.

A tape lists the operations of some Pyomo expressions f_1, ..., f_m over n variables. Its nodes are the variables, the
constants, affine nodes and elementary nodes, which are functions of one or two earlier nodes:

    v_i = x_i,    v_i = c_i + sum_j A_ij v_j,    v_i = phi_i(v_a, v_b)        a, b, j < i                          (1)

The level of a node is one more than the largest level of its operands. numpy evaluates all nodes with the same level
and the same function in one call, so the costs of a call do not depend on the number of terms.

**Gradient**, by reverse accumulation: the adjoint w_i = d (sum_k y_k f_k) / d v_i starts with the weights y at the
outputs. From the last level to the first, each node i passes to its operands

    w_j <- w_j + d_ij w_i,    d_ij = d phi_i / d v_j or A_ij                                                       (2)

**Jacobian**, by forward accumulation of the rows J_i = d v_i / d x, which are sparse and whose patterns are known:

    J_i = sum_j d_ij J_j,    J_i = e_i for a variable                                                              (3)

The rows of a node whose d are constant in all levels below are computed once.

**Hessian of a weighted sum**, forward over reverse. The derivative of (2) in the direction of a variable is the sum of
a term with the derivative of d_ij and a term that is passed on as in (2). Summed over all nodes,

    H = sum_i w_i (phi_aa J_a'J_a + phi_ab (J_a'J_b + J_b'J_a) + phi_bb J_b'J_b)                                   (4)

over the elementary nodes, with second derivatives of phi_i at (v_a, v_b). Only the lower triangle is computed. The
products of entries of J in (4) and the sums in (3) are index arrays that are made once.

A named expression, or any expression object that occurs several times, is one node. Mutable parameters, and variables
that are not among the n, are constants that ``load`` reads again.

Source: Griewank, Walther 2008, "Evaluating Derivatives", 2nd ed., chapters 3, 5 and 7.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from pyomo.common.numeric_types import native_numeric_types, value
from pyomo.core.expr.numeric_expr import (
    DivisionExpression,
    ExternalFunctionExpression,
    MonomialTermExpression,
    NegationExpression,
    PowExpression,
    ProductExpression,
    SumExpression,
    UnaryFunctionExpression,
)

from solvers.errors import ModelError

Function = Callable[..., Any]


class Elementary(NamedTuple):
    """Elementary function phi(x, z), its derivatives and second derivatives as functions of x, z and the value y."""

    phi: Function
    first: tuple[Function, ...]
    second: dict[tuple[int, int], Function]


def _unary(phi: Function, first: Function, second: Function) -> Elementary:
    return Elementary(lambda x, z: phi(x), (lambda x, z, y: first(x, y),), {(0, 0): lambda x, z, y: second(x, y)})


def _log(x: Any, power: Any) -> Any:
    """Return log(x), and 0 where x = 0 and its factor x**power is 0."""
    return np.where((x == 0) & (power > 0), 0.0, np.log(x))


def _term(factor: Any, x: Any, power: Any) -> Any:
    """Return factor * x**power, and 0 where the factor is 0."""
    return np.where(factor == 0, 0.0, factor * x**power)


LOG10 = np.log(10.0)
OPERATIONS = {
    "product": Elementary(
        lambda x, z: x * z, (lambda x, z, y: z, lambda x, z, y: x), {(0, 1): lambda x, z, y: np.ones(len(x))}
    ),
    "quotient": Elementary(
        lambda x, z: x / z,
        (lambda x, z, y: 1 / z, lambda x, z, y: -y / z),
        {(0, 1): lambda x, z, y: -1 / z**2, (1, 1): lambda x, z, y: 2 * y / z**2},
    ),
    "power": Elementary(
        lambda x, z: x**z,
        (lambda x, z, y: _term(z, x, z - 1), lambda x, z, y: y * _log(x, z)),
        {
            (0, 0): lambda x, z, y: _term(z * (z - 1), x, z - 2),
            (0, 1): lambda x, z, y: x ** (z - 1) * (1 + z * _log(x, z - 1)),
            (1, 1): lambda x, z, y: y * _log(x, z) ** 2,
        },
    ),
    "abs": _unary(np.abs, lambda x, y: np.sign(x), lambda x, y: np.zeros(len(x))),
    "exp": _unary(np.exp, lambda x, y: y, lambda x, y: y),
    "log": _unary(np.log, lambda x, y: 1 / x, lambda x, y: -1 / x**2),
    "log10": _unary(np.log10, lambda x, y: 1 / (LOG10 * x), lambda x, y: -1 / (LOG10 * x**2)),
    "sqrt": _unary(np.sqrt, lambda x, y: 0.5 / y, lambda x, y: -0.25 / (x * y)),
    "sin": _unary(np.sin, lambda x, y: np.cos(x), lambda x, y: -y),
    "cos": _unary(np.cos, lambda x, y: -np.sin(x), lambda x, y: -y),
    "tan": _unary(np.tan, lambda x, y: 1 + y**2, lambda x, y: 2 * y * (1 + y**2)),
    "asin": _unary(np.arcsin, lambda x, y: (1 - x**2) ** -0.5, lambda x, y: x * (1 - x**2) ** -1.5),
    "acos": _unary(np.arccos, lambda x, y: -((1 - x**2) ** -0.5), lambda x, y: -x * (1 - x**2) ** -1.5),
    "atan": _unary(np.arctan, lambda x, y: 1 / (1 + x**2), lambda x, y: -2 * x / (1 + x**2) ** 2),
    "sinh": _unary(np.sinh, lambda x, y: np.cosh(x), lambda x, y: y),
    "cosh": _unary(np.cosh, lambda x, y: np.sinh(x), lambda x, y: y),
    "tanh": _unary(np.tanh, lambda x, y: 1 - y**2, lambda x, y: -2 * y * (1 - y**2)),
    "asinh": _unary(np.arcsinh, lambda x, y: (1 + x**2) ** -0.5, lambda x, y: -x * (1 + x**2) ** -1.5),
    "acosh": _unary(np.arccosh, lambda x, y: (x**2 - 1) ** -0.5, lambda x, y: -x * (x**2 - 1) ** -1.5),
    "atanh": _unary(np.arctanh, lambda x, y: 1 / (1 - x**2), lambda x, y: 2 * x / (1 - x**2) ** 2),
}
VARIABLE, CONSTANT, AFFINE = "variable", "constant", "affine"
CODES = {op: code for code, op in enumerate([VARIABLE, CONSTANT, AFFINE, *OPERATIONS])}


ARITHMETIC = (SumExpression, NegationExpression, ProductExpression, DivisionExpression, PowExpression)


def _refuse(expression: Any) -> None:
    """Raise ModelError, with its name, for an operation that is not supported."""
    if isinstance(expression, ARITHMETIC) or expression.is_named_expression_type():
        return
    if not isinstance(expression, UnaryFunctionExpression) or expression.getname() not in OPERATIONS:
        external = isinstance(expression, ExternalFunctionExpression)
        raise ModelError(f'"{expression.getname()}" is {"an external" if external else "not a smooth"} function')


class _Form(NamedTuple):
    """``constant + sum_k coefs[k] * v[nodes[k]]``."""

    constant: float
    nodes: list[int]
    coefs: list[float]

    def times(self, factor: float) -> _Form:
        if factor == 0:
            return _Form(0.0, [], [])
        return _Form(factor * self.constant, self.nodes, [factor * c for c in self.coefs])


class TapeReader:
    """Reader of Pyomo expressions; the lists ``op``, ``args``, ``form``, ``level`` and ``fixed`` are over the nodes."""

    def __init__(self, variables: Sequence[Any] | None) -> None:
        self.op: list[str] = []
        self.args: list[tuple[int, ...]] = []
        self.form: list[_Form | None] = []
        self.level: list[int] = []
        self.fixed: list[bool] = []
        self.variables: list[Any] = []
        self.constants: list[tuple[int, Any]] = []  # node, number or object with a value
        self._kept: list[Any] = []  # objects whose ids are keys
        self._known: dict[int, _Form] = {}
        self._made: dict[Any, int] = {}
        self._takes_free = variables is None
        for v in variables or ():
            self._column(v)

    def read(self, root: Any) -> int:
        """Return the node of an expression. Raises ModelError for an operation that is not smooth."""
        stack = [root]
        while stack:
            expression = stack.pop()
            if self._lookup(expression) is not None:
                continue
            self._kept.append(expression)
            if expression.is_variable_type() and self._takes_free and not expression.fixed:
                self._column(expression)
                continue
            if not expression.is_potentially_variable() or expression.is_variable_type():
                self._known[id(expression)] = _Form(0.0, [self._constant(expression)], [1.0])
                continue
            _refuse(expression)
            parts = expression.args
            forms = [self._lookup(part) for part in parts]
            waiting = [part for part, form in zip(parts, forms, strict=True) if form is None]
            if waiting:
                stack += [expression, *waiting]
            else:
                self._known[id(expression)] = self._combine(expression, forms)
        form = self._lookup(root)
        assert form is not None
        return self._node(form)

    def _lookup(self, expression: Any) -> _Form | None:
        """Return the form of a number or of an expression that was read; a linear term is read here."""
        kind = expression.__class__
        if kind in native_numeric_types:
            return _Form(float(expression), [], [])
        form = self._known.get(id(expression))
        if form is None and kind is MonomialTermExpression:
            coef, variable = expression.args
            inner = self._known.get(id(variable))
            if inner is not None and coef.__class__ in native_numeric_types:
                return inner.times(float(coef))
        return form

    def _combine(self, expression: Any, forms: Sequence[Any]) -> _Form:
        """Return the form of an expression from those of its arguments."""
        if isinstance(expression, SumExpression):
            nodes = [node for form in forms for node in form.nodes]
            return _Form(sum(form.constant for form in forms), nodes, [c for form in forms for c in form.coefs])
        if isinstance(expression, NegationExpression):
            return forms[0].times(-1.0)
        if isinstance(expression, ProductExpression):
            for factor, other in (forms, forms[::-1]):
                if not factor.nodes:
                    return other.times(factor.constant)
            return self._apply("product", forms)
        if isinstance(expression, DivisionExpression):
            if not forms[1].nodes and forms[1].constant:
                return forms[0].times(1 / forms[1].constant)
            return self._apply("quotient", forms)
        if isinstance(expression, PowExpression):
            return forms[0] if forms[1] == (1.0, [], []) else self._apply("power", forms)
        if expression.is_named_expression_type():
            return _Form(0.0, [self._node(forms[0])], [1.0])
        return self._apply(expression.getname(), forms)

    def _apply(self, op: str, forms: Sequence[_Form]) -> _Form:
        args = tuple(map(self._node, forms))
        if (op, args) not in self._made:
            self._made[op, args] = self._add(op, args)
        return _Form(0.0, [self._made[op, args]], [1.0])

    def _node(self, form: _Form) -> int:
        """Return the node of a form."""
        if not form.nodes:
            return self._constant(form.constant)
        if len(form.nodes) == 1 and form.coefs[0] == 1 and not form.constant:
            return form.nodes[0]
        key = (form.constant, *form.nodes, *form.coefs) if len(form.nodes) == 1 else id(form)
        if key not in self._made:
            self._kept.append(form)
            self._made[key] = self._add(AFFINE, tuple(form.nodes), form)
        return self._made[key]

    def _column(self, variable: Any) -> None:
        self._known[id(variable)] = _Form(0.0, [self._add(VARIABLE, ())], [1.0])
        self.variables.append(variable)
        self.fixed[-1] = False

    def _constant(self, item: Any) -> int:
        self.constants.append((len(self.op), item))
        return self._add(CONSTANT, ())

    def _add(self, op: str, args: tuple[int, ...], form: _Form | None = None) -> int:
        self.op.append(op)
        self.args.append(args)
        self.form.append(form)
        self.level.append(1 + max((self.level[k] for k in args), default=-1))
        self.fixed.append(all(self.fixed[k] for k in args))
        return len(self.op) - 1


class _Group(NamedTuple):
    """All elementary nodes with one operation: ``edges[s]`` and ``at[s]`` are the edges to argument s, and its nodes.

    ``curved``: the entries of the list of second derivatives, and their nodes, for each pair of arguments.
    """

    operation: str
    nodes: np.ndarray
    x: np.ndarray
    z: np.ndarray
    edges: list[tuple[np.ndarray, np.ndarray]]
    curved: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]]


class Tape:
    """Functions over variables, as arrays; see the module.

    Parameters
    ----------
    expressions : sequence
        Pyomo expressions or numbers, m of them.
    variables : sequence, optional
        The n variables; others are constants. The default is all variables in the expressions that are not fixed.
    names : sequence of str
        Names of the expressions for messages, m of them.

    Attributes
    ----------
    variables : list
        The n variables.
    outputs : array
        Nodes of the functions, shape (m,).
    nonlinear, fixed : array
        True for elementary nodes, and for nodes without a variable.
    curved : array
        The second derivatives of the elementary nodes: node, two operands, 1 if these are different arguments.

    Raises
    ------
    ModelError
        If an operation is not smooth, such as ``ceil`` or ``Expr_if``, or a constant has no value.

    Examples
    --------
    >>> import pyomo.environ as pyo
    >>> m = pyo.ConcreteModel()
    >>> m.x, m.y = pyo.Var(), pyo.Var()
    >>> tape, point = Tape([m.x * pyo.exp(m.y)], [m.x, m.y], ["f"]), np.array([2.0, 0.0])
    >>> tape.values(point), tape.gradient(point, np.ones(1))
    (array([2.]), array([1., 2.]))
    """

    def __init__(self, expressions: Sequence[Any], variables: Sequence[Any] | None, names: Sequence[str]) -> None:
        reader, outputs = TapeReader(variables), []
        for expression, name in zip(expressions, names, strict=True):
            try:
                outputs.append(reader.read(expression))
            except ModelError as error:
                raise ModelError(f"{name} cannot be differentiated: {error}. It must be smooth.") from error
        self.variables, self.size = reader.variables, len(reader.variables)
        self._arrange(reader, outputs)
        self._v = np.zeros(len(reader.op))
        self.load()

    def _arrange(self, reader: TapeReader, outputs: Sequence[int]) -> None:
        """Sort the nodes by level and operation, and make the arrays of nodes and edges."""
        ops, levels = np.array([CODES[op] for op in reader.op]), np.array(reader.level)
        order = np.lexsort((ops, levels))  # the variables are first
        place = np.empty(len(order), dtype=np.intp)
        place[order] = np.arange(len(order))
        ops, levels, self.fixed = ops[order], levels[order], np.array(reader.fixed)[order]
        self.outputs = place[outputs]
        self._constants = [(place[node], item) for node, item in reader.constants]
        args = [place[list(reader.args[k])] for k in order.tolist()]
        widths = np.array([len(a) for a in args])
        self._to = np.repeat(np.arange(len(order)), widths)  # of each edge, in the order of the nodes
        self._from = np.concatenate([np.empty(0, dtype=np.intp), *args])
        first = np.cumsum(widths) - widths
        self._d = np.zeros(len(self._to))
        self._steps: list[tuple[str, slice, Any, Any]] = []
        bounds = np.flatnonzero(np.diff(levels * len(CODES) + ops, prepend=-1))
        for start, end in zip(bounds.tolist(), [*bounds.tolist()[1:], len(order)], strict=True):
            op, nodes = list(CODES)[ops[start]], slice(start, end)
            if op == AFFINE:
                forms: list[Any] = [reader.form[k] for k in order[nodes].tolist()]
                edges = slice(first[start], first[start] + widths[nodes].sum())
                self._d[edges] = np.concatenate([form.coefs for form in forms])
                constants = np.array([form.constant for form in forms])
                self._steps.append((op, nodes, (edges, first[nodes] - first[start]), constants))
            elif op in OPERATIONS:
                x = self._from[first[nodes]]
                z = self._from[first[nodes] + widths[nodes] - 1]  # x again if there is one argument
                self._steps.append((op, nodes, x, z))
        self._groups, self.curved = self._grouped(ops, first)
        live = np.flatnonzero(~self.fixed[self._from])
        self._levels = [live[levels[self._to[live]] == k] for k in range(1, int(levels.max(initial=0)) + 1)]
        self.nonlinear = ops > CODES[AFFINE]

    def _grouped(self, ops: np.ndarray, first: np.ndarray) -> tuple[list[_Group], np.ndarray]:
        """Return the groups, and the second derivatives as rows (node, argument, argument, 1 if they differ)."""
        groups, curved, size = [], [np.empty((0, 4), dtype=np.intp)], 0
        for op, operation in OPERATIONS.items():
            nodes = np.flatnonzero((ops == CODES[op]) & ~self.fixed)
            if not len(nodes):
                continue
            edges, second = [], {}
            for s in range(len(operation.first)):
                at = np.flatnonzero(~self.fixed[self._from[first[nodes] + s]])
                edges.append((first[nodes[at]] + s, at))
            for s, t in operation.second:
                at = np.intersect1d(edges[s][1], edges[t][1])
                second[s, t] = np.arange(size, size + len(at)), at
                size += len(at)
                here = nodes[at]
                ends = self._from[first[here] + s], self._from[first[here] + t]
                curved.append(np.stack([here, *ends, np.full(len(at), s != t)], axis=1))
            x, z = self._from[first[nodes]], self._from[first[nodes] + len(operation.first) - 1]
            groups.append(_Group(op, nodes, x, z, edges, second))
        return groups, np.concatenate(curved)

    def load(self) -> None:
        """Read the values of parameters and other constants again. Raises ModelError if one has none."""
        for node, item in self._constants:
            number = item if item.__class__ is float else value(item, exception=False)
            if number is None:
                raise ModelError(f'"{item}" has no value. Give it a value first.')
            self._v[node] = number
        self._x: np.ndarray | None = None

    def _evaluate(self, x: np.ndarray) -> None:
        """Compute all nodes at a point."""
        if self._x is not None and np.array_equal(self._x, x):
            return
        v = self._v
        v[: self.size] = x
        with np.errstate(all="ignore"):
            for op, nodes, a, b in self._steps:
                if op == AFFINE:
                    edges, first = a
                    v[nodes] = b + np.add.reduceat(self._d[edges] * v[self._from[edges]], first)
                else:
                    v[nodes] = OPERATIONS[op].phi(v[a], v[b])
        self._x, self._has_slopes = np.array(x, dtype=float), False

    def _slopes(self, x: np.ndarray) -> None:
        """Compute the derivatives of all elementary nodes at a point."""
        self._evaluate(x)
        if self._has_slopes:
            return
        with np.errstate(all="ignore"):
            for group in self._groups:
                a, b, y = self._v[group.x], self._v[group.z], self._v[group.nodes]
                for slope, (edges, at) in zip(OPERATIONS[group.operation].first, group.edges, strict=True):
                    if len(at):
                        self._d[edges] = slope(a[at], b[at], y[at])
        self._has_slopes = True

    def _adjoints(self, weights: np.ndarray) -> np.ndarray:
        """Return the derivatives of the weighted sum of the outputs with respect to all nodes; see (2)."""
        w = np.zeros(len(self._v))
        np.add.at(w, self.outputs, weights)
        with np.errstate(all="ignore"):
            for edges in self._levels[::-1]:
                np.add.at(w, self._from[edges], self._d[edges] * w[self._to[edges]])
        return w

    def values(self, x: np.ndarray) -> np.ndarray:
        """Return the functions at a point; a value that does not exist is nan or infinite."""
        self._evaluate(x)
        return self._v[self.outputs]

    def gradient(self, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the gradient of the sum of the functions with some weights."""
        self._slopes(x)
        return self._adjoints(weights)[: self.size]

    def second(self, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the second derivatives in ``curved``, times the adjoints of their nodes."""
        self._slopes(x)
        h = np.empty(len(self.curved))
        with np.errstate(all="ignore"):
            for group in self._groups:
                a, b, y = self._v[group.x], self._v[group.z], self._v[group.nodes]
                for pair, (rows, at) in group.curved.items():
                    h[rows] = OPERATIONS[group.operation].second[pair](a[at], b[at], y[at])
            w = self._adjoints(weights)[self.curved[:, 0]]
            return np.where(w == 0, 0.0, w * h)

    def undefined(self) -> str:
        """Return the first operation without a finite value at the last point, such as "log(-1)", or ""."""
        for op, nodes, a, b in self._steps:
            if op != AFFINE:
                x, z = self._v[a], self._v[b]
                wrong = np.flatnonzero(~np.isfinite(self._v[nodes]) & np.isfinite(x) & np.isfinite(z))
                if len(wrong):
                    symbol = {"product": "*", "quotient": "/", "power": "**"}.get(op)
                    left, right = x[wrong[0]], z[wrong[0]]
                    return f"{left:.6g} {symbol} {right:.6g}" if symbol else f"{op}({left:.6g})"
        return ""

    def at_kink(self) -> bool:
        """Return True if the argument of an ``abs`` is 0 at the last point."""
        return any(op == "abs" and not np.all(self._v[a]) for op, _, a, _ in self._steps)


class SparseDerivatives:
    """Jacobian of some functions of a tape, and Hessian of a weighted sum of all, with fixed patterns.

    Parameters
    ----------
    tape : Tape
        The functions.
    rows : array
        Positions of the functions in the Jacobian.

    Attributes
    ----------
    jacobian_pattern, hessian_pattern : tuple of arrays
        Rows and columns of the entries, each entry once; of the Hessian the lower triangle.
    """

    def __init__(self, tape: Tape, rows: np.ndarray) -> None:
        self.tape = tape
        self._at: np.ndarray | None = None  # the point of the entries
        size = len(tape._v)
        self._start, self._count = np.zeros(size, dtype=np.intp), np.zeros(size, dtype=np.intp)
        self._start[: tape.size], self._count[: tape.size] = np.arange(tape.size), 1
        self._columns = np.arange(tape.size)  # of the entries of J
        self._j = np.ones(tape.size)
        self._program: list[tuple[slice, np.ndarray, np.ndarray, np.ndarray]] = []
        needed, constant = np.zeros(size, dtype=bool), ~tape.nonlinear
        needed[tape.outputs[rows]] = True
        needed[tape.curved[:, 1:3].ravel()] = True
        for edges in tape._levels[::-1]:
            needed[tape._from[edges[needed[tape._to[edges]]]]] = True
        for edges in tape._levels:
            below = tape._from[edges]
            constant[tape._to[edges[~constant[below]]]] = False
            edges = edges[needed[tape._to[edges]]]
            is_constant = constant[tape._to[edges]]
            self._extend(edges[is_constant], constant=True)
            self._extend(edges[~is_constant], constant=False)
        nodes = tape.outputs[rows]
        self._entries = _ranges(self._start[nodes], self._count[nodes])
        self.jacobian_pattern = np.repeat(np.arange(len(nodes)), self._count[nodes]), self._columns[self._entries]

    def _extend(self, edges: np.ndarray, *, constant: bool) -> None:
        """Add the rows of J of the nodes of one level that some edges end at; see (3)."""
        tape, offset = self.tape, len(self._columns)
        if not len(edges):
            return
        counts = self._count[tape._from[edges]]
        source, edge = _ranges(self._start[tape._from[edges]], counts), np.repeat(edges, counts)
        keys, target = np.unique(tape._to[edge] * tape.size + self._columns[source], return_inverse=True)
        nodes, first, widths = np.unique(keys // tape.size, return_index=True, return_counts=True)
        self._start[nodes], self._count[nodes] = offset + first, widths
        self._columns = np.concatenate([self._columns, keys % tape.size])
        self._j = np.concatenate([self._j, np.zeros(len(keys))])
        step = slice(offset, offset + len(keys)), target, source, edge
        if constant:
            self._run(step)
        else:
            self._program.append(step)

    def _run(self, step: tuple[slice, np.ndarray, np.ndarray, np.ndarray]) -> None:
        entries, target, source, edge = step
        weights = self.tape._d[edge] * self._j[source]
        self._j[entries] = np.bincount(target, weights, entries.stop - entries.start)

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """Return the entries of the Jacobian at a point."""
        self.tape._slopes(x)
        if self._at is not self.tape._x:
            with np.errstate(all="ignore"):
                for step in self._program:
                    self._run(step)
            self._at = self.tape._x  # a new array for each point
        return self._j[self._entries]

    @cached_property
    def _pairs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The terms of (4): second derivative, two entries of J, entry of H; then the entries of H as keys."""
        curved = self.tape.curved
        mixed = np.flatnonzero(curved[:, 3])  # these count in both orders
        term = np.concatenate([np.arange(len(curved)), mixed])
        a, b = np.concatenate([curved[:, 1:3], curved[mixed][:, [2, 1]]]).T
        sizes = self._count[a] * self._count[b]
        term, a, b = (np.repeat(part, sizes) for part in (term, a, b))
        at = _ranges(np.zeros(len(sizes), dtype=np.intp), sizes)
        p, q = self._start[a] + at // self._count[b], self._start[b] + at % self._count[b]
        lower = self._columns[p] >= self._columns[q]
        term, p, q = term[lower], p[lower], q[lower]
        keys, target = np.unique(self._columns[p] * self.tape.size + self._columns[q], return_inverse=True)
        return term, p, q, target, keys

    @property
    def hessian_pattern(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the entries of the Hessian."""
        keys = self._pairs[4]
        return keys // self.tape.size, keys % self.tape.size

    def hessian(self, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the entries of the Hessian of the sum of all functions with some weights."""
        term, p, q, target, keys = self._pairs
        self.jacobian(x)
        terms = self.tape.second(x, weights)[term] * self._j[p] * self._j[q]
        return np.bincount(target, terms, len(keys))


def _ranges(start: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Return start[0], ..., start[0] + count[0] - 1, start[1], ..."""
    ends = np.cumsum(count)
    return np.repeat(start - ends + count, count) + np.arange(ends[-1] if len(ends) else 0)
