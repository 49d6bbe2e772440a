"""Kinds of edits of a model, each stated twice: for the oracle of ``soak_oracle`` and for a Pyomo model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.gdp import Disjunction

from benchmarks.solvers.soak_oracle import INF, Form, Program, Row

Key = tuple[Any, ...]
B: Key = ("b",)


@dataclass
class Context:
    """Data for drawing an edit: sizes, a reference classifier, components of the family, and its parameters."""

    rng: np.random.Generator
    n: int
    samples: int
    w: np.ndarray  # weights of a reference classifier
    b: float
    unit: np.ndarray  # size of a weight
    scale: float  # size of the objective
    has: frozenset[str]
    given: dict[str, Any]

    def feature(self) -> int:
        """Draw a feature."""
        return int(self.rng.integers(self.n))

    def pair(self) -> list[int]:
        """Draw two features."""
        return [int(j) for j in self.rng.choice(self.n, 2, replace=False)]

    def sign(self) -> float:
        """Draw -1 or 1."""
        return float(self.rng.choice([-1.0, 1.0]))

    def direction(self) -> np.ndarray:
        """Return coefficients of the weights in a row, in the units of the columns if these are extreme."""
        a = np.round(self.rng.normal(size=self.n), 2) * (self.rng.random(self.n) < 0.7)
        if not a.any():
            a[self.feature()] = 1.0
        common = self.unit.min() > 1e-2 and self.unit.max() < 1e2
        return a if common and self.rng.random() < 0.5 else a / self.unit


@dataclass
class Edit:
    """One edit: rows, costs, variables and more, in keys of the oracle; ``special`` is for the Pyomo model alone."""

    kind: str
    rows: list[Row] = field(default_factory=list)
    variables: list[tuple[Key, Any, float, float, float]] = field(default_factory=list)  # key, domain, bounds, cost
    cost: Form = field(default_factory=dict)
    square: Form = field(default_factory=dict)  # p: 1/2 p x^2
    product: dict[tuple[Key, Key], float] = field(default_factory=dict)
    bounds: list[tuple[Key, float, float]] = field(default_factory=list)
    fixed: list[tuple[Key, float]] = field(default_factory=list)
    drop: list[int] = field(default_factory=list)  # samples without a margin
    changes: dict[str, float] = field(default_factory=dict)  # parameters
    ball: tuple[list[Key], float] | None = None
    alternatives: list[list[Row]] | None = None
    condition: Callable[[dict[Key, float]], bool] | None = None
    special: Callable[[Any, Callable[[Key], Any], str], None] | None = None

    def endless(self, key: Key) -> bool:
        """Return True if a new variable is an integer without a bound on the model."""
        return any(k == key and domain is pyo.NonNegativeIntegers and hi >= 8 for k, domain, _, hi, _ in self.variables)

    def on_oracle(self, program: Program, margins: dict[int, Row]) -> None:
        """Add the edit to a program."""
        for key, domain, lo, up, cost in self.variables:
            program.add(key, lo, up, cost=cost, integer=domain is not pyo.Reals)
        program.rows += [*self.rows, *(({k: 1.0}, lo, up) for k, lo, up in self.bounds)]
        program.rows += [({k: 1.0}, v, v) for k, v in self.fixed]
        for key, a in self.cost.items():
            program.cost[key] += a
        for key, p in self.square.items():
            program.square[key] += p
        for pair, p in self.product.items():
            program.product[pair] = program.product.get(pair, 0.0) + p
        for i in self.drop:
            margins.pop(i, None)
        if self.ball is not None:
            program.balls.append(self.ball)
        if self.alternatives is not None:
            program.alternatives.append(self.alternatives)
        if self.condition is not None:
            program.conditions.append(self.condition)

    def on_model(self, model: Any, part: Callable[[Key], Any], margin: Callable[[int], Any], name: str) -> None:
        """Add the edit to a Pyomo model; ``name`` is a free name."""
        for p, value in self.changes.items():
            getattr(model, p).set_value(value)
        for key, domain, lo, up, _ in self.variables:
            bounds = (0, None) if self.endless(key) else tuple(None if abs(v) == INF else v for v in (lo, up))
            model.add_component(f"user_{key[0]}_{key[1]}", pyo.Var(domain=domain, bounds=bounds))
        rows = list(self.rows)
        for key, lo, up in self.bounds:
            target = part(key)
            if target.is_variable_type():
                if lo > -INF:
                    target.setlb(lo)
                if up < INF:
                    target.setub(up)
            else:
                rows.append(({key: 1.0}, lo, up))
        for key, value in self.fixed:
            target = part(key)
            if target.is_variable_type():
                target.fix(value)
            else:
                rows.append(({key: 1.0}, value, value))
        if rows:
            exprs = [_relation(row, part) for row in rows]
            model.add_component(f"{name}_row", pyo.Constraint(range(len(rows)), rule=lambda m, r: exprs[r]))
        terms = [a * part(k) for k, a in self.cost.items()] + [0.5 * p * part(k) ** 2 for k, p in self.square.items()]
        terms += [p * part(a) * part(b) for (a, b), p in self.product.items()]
        terms += [cost * part(key) for key, _, _, _, cost in self.variables if cost]
        if terms:
            model.objective.set_value(model.objective.expr + sum(terms))
        for i in self.drop:
            margin(i).deactivate()
        if self.ball is not None:
            keys, r = self.ball
            model.add_component(f"{name}_ball", pyo.Constraint(expr=sum(part(k) ** 2 / r for k in keys) <= 1))
        if self.special is not None:
            self.special(model, part, name)


def _relation(row: Row, part: Callable[[Key], Any]) -> Any:
    form, lo, up = row
    body = sum(float(a) * part(k) for k, a in form.items())
    if lo == up:
        return body == lo
    if up == INF:
        return body >= lo
    return body <= up if lo == -INF else pyo.inequality(lo, body, up)


def _w(a: np.ndarray) -> Form:
    return {("w", j): float(x) for j, x in enumerate(a) if x}


def _without_rounding(at: float, size: float) -> float:
    """Return the value, or 0 if it is a rounding error of the solver; ``size`` is the typical size of such a value."""
    return 0.0 if abs(at) < 1e-8 * size else at


def _row_w(c: Context) -> Edit:
    a = c.direction()
    at = float(a @ c.w) + c.rng.choice([0.3, 0.1, -0.3]) * float(np.abs(a) @ c.unit)
    return Edit("row on w", rows=[(_w(a), at, INF)] if c.rng.random() < 0.5 else [(_w(a), -INF, at)])


def _equal_w(c: Context) -> Edit:
    a = c.direction()
    at = _without_rounding(float(a @ c.w) * float(c.rng.choice([0.0, 0.5, 1.5])), float(np.abs(a) @ c.unit))
    return Edit("equation of w", rows=[(_w(a), at, at)])


def _range_w(c: Context) -> Edit:
    a = c.direction()
    half = 0.2 * float(np.abs(a) @ c.unit)
    centre = float(a @ c.w) + c.sign() * 2 * half
    return Edit("range of w", rows=[(_w(a), centre - half, centre + half)])


def _row_b(c: Context) -> Edit:
    at = c.b + c.sign() * 0.5
    return Edit("row on b", rows=[({B: 1.0}, at, INF) if at > c.b else ({B: 1.0}, -INF, at)])


def _row_wb(c: Context) -> Edit:
    a = c.direction()
    return Edit("row on w and b", rows=[({**_w(a), B: 1.0}, -INF, float(a @ c.w) + c.b - 0.3)])


def _row_xi(c: Context) -> Edit:
    some = [int(i) for i in c.rng.choice(c.samples, min(3, c.samples), replace=False)]
    return Edit("row on xi", rows=[({("xi", i): 1.0 for i in some}, -INF, float(c.rng.choice([0.0, 0.5, 2.0])))])


def _bound_w(c: Context) -> Edit:
    j = c.feature()
    to = 0.5 * abs(c.w[j]) + 0.01 * c.unit[j]
    return Edit("bound of w", bounds=[(("w", j), -to if c.rng.random() < 0.5 else -INF, float(to))])


def _bound_b(c: Context) -> Edit:
    return Edit("bound of b", bounds=[(B, c.b - 2.0, c.b - 0.3)])


def _bound_xi(c: Context) -> Edit:
    return Edit("bound of xi", bounds=[(("xi", int(c.rng.integers(c.samples))), 0.0, float(c.rng.choice([0.0, 0.4])))])


def _fix_w(c: Context) -> Edit:
    j = c.feature()
    at = c.w[j] * c.rng.choice([0.0, 0.5, -0.5]) + c.rng.choice([0.0, 0.1]) * c.unit[j]
    return Edit("fixed w", fixed=[(("w", j), _without_rounding(float(at), c.unit[j]))])


def _fix_sigma(c: Context) -> Edit:
    return Edit("fixed sigma", fixed=[(("sigma", c.feature()), float(c.rng.integers(2)))])


def _drop(c: Context) -> Edit:
    return Edit("dropped margins", drop=[int(i) for i in c.rng.choice(c.samples, 2, replace=False)])


def _parameter(c: Context) -> Edit | None:
    name = next((p for p in ("C", "penalty", "R_plus") if p in c.given), None)
    if name is None or (name == "penalty" and "C" in c.given) or isinstance(c.given[name], dict):
        return None
    factor = float(c.rng.choice([0.5, 0.1] if name == "penalty" else [10.0, 0.1, 3.0, 100.0]))
    return Edit(f"changed {name}", changes={name: c.given[name] * factor})


def _most(c: Context) -> Edit | None:
    if c.given.get("max_features") is None:
        return None
    return Edit("changed max_features", changes={"max_features": int(c.rng.integers(1, c.n + 1))})


def _budget(c: Context) -> Edit:
    costs = np.round(c.rng.uniform(0, 3, c.n), 1)
    most = float(np.round(0.6 * costs.sum(), 1))
    return Edit("budget", rows=[({("sigma", j): float(x) for j, x in enumerate(costs)}, -INF, most)])


def _requires(c: Context) -> Edit:
    i, j = c.pair()
    return Edit("requires", rows=[({("sigma", i): 1.0, ("sigma", j): -1.0}, -INF, 0.0)])


def _excludes(c: Context) -> Edit:
    i, j = c.pair()
    return Edit("excludes", rows=[({("sigma", i): 1.0, ("sigma", j): 1.0}, -INF, 1.0)])


def _at_least(c: Context) -> Edit:
    return Edit("at least", rows=[({("sigma", j): 1.0 for j in range(c.n)}, float(min(2, c.n)), INF)])


def _pair_price(c: Context) -> Edit:
    i, j = c.pair()
    return Edit("price of a pair", product={(("sigma", i), ("sigma", j)): float(c.rng.choice([0.2, -0.1]) * c.scale)})


def _charge(c: Context) -> Edit:
    j, g = c.feature(), ("g", int(c.rng.integers(1 << 30)))
    most = float(2 * c.unit[j])
    rows = [({("w", j): 1.0, g: -most}, -INF, 0.0), ({("w", j): -1.0, g: -most}, -INF, 0.0)]
    return Edit("fixed charge", rows=rows, variables=[(g, pyo.Binary, 0, 1, 0.1 * c.scale)])


def _integer_w(c: Context) -> Edit:
    j, k = c.feature(), ("k", int(c.rng.integers(1 << 30)))
    step = float(np.round(c.unit[j] * c.rng.choice([1.0, 0.5]), 3)) or 1.0
    rows = [({("w", j): 1.0, k: -step}, -INF, 0.0), ({("w", j): -1.0, k: -step}, -INF, 0.0)]
    top = float(c.rng.choice([3, 8]))  # 8: no bound on the model
    cost = float(c.rng.choice([0.05, 0.3]) * c.scale)
    return Edit("integer over w", rows=rows, variables=[(k, pyo.NonNegativeIntegers, 0, top, cost)])


def _integer_xi(c: Context) -> Edit:
    i, k = int(c.rng.integers(c.samples)), ("k", int(c.rng.integers(1 << 30)))
    rows = [({("xi", i): 1.0, k: -1.0}, -INF, 0.0)]
    return Edit("integer over xi", rows=rows, variables=[(k, pyo.NonNegativeIntegers, 0, 3, 0.05 * c.scale)])


def _integer_b(c: Context) -> Edit:
    k = ("k", int(c.rng.integers(1 << 30)))
    return Edit("whole b", rows=[({B: 1.0, k: -1.0}, -0.25, -0.25)], variables=[(k, pyo.Integers, -3, 3, 0.0)])


def _cost_b(c: Context) -> Edit:
    return Edit("cost of b", cost={B: float(c.rng.choice([0.2, -0.2, 0.05])) * c.scale})


def _square_b(c: Context) -> Edit:
    return Edit("cost of b^2", square={B: float(c.rng.choice([0.5, 0.01])) * c.scale})


def _cost_w(c: Context) -> Edit:
    return Edit("cost of w", cost=_w(np.round(c.rng.normal(size=c.n), 2) * 0.03 * c.scale / c.unit))


def _ridge(c: Context) -> Edit:
    return Edit("ridge", square={("w", j): float(0.1 * c.scale / c.unit[j] ** 2) for j in range(c.n)})


def _cost_xi(c: Context) -> Edit:
    return Edit("cost of xi", cost={("xi", int(c.rng.integers(c.samples))): 0.3 * c.scale})


def _again(c: Context) -> Edit:
    a = c.direction()
    row = (_w(a), -INF, float(a @ c.w))
    return Edit("duplicated rows", rows=[row, row, ({k: 2 * v for k, v in row[0].items()}, -INF, 2 * row[2])])


def _contradiction(c: Context) -> Edit:
    a = c.direction()
    at, far = float(a @ c.w), float(np.abs(a) @ c.unit)
    return Edit("contradiction", rows=[(_w(a), at + far, INF), (_w(a), -INF, at - far)])


def _tight(c: Context) -> Edit:
    rows = [({("xi", i): 1.0}, -INF, 0.0) for i in range(c.samples)]
    return Edit("no errors", rows=rows)  # infeasible unless the samples are separable


def _endless(c: Context) -> Edit:
    return Edit("freed objective", cost={B: 1e3 * c.scale * c.sign()})


def _ball(c: Context) -> Edit:
    return Edit("ball", ball=([("w", j) for j in range(c.n)], float(0.3 * (c.w @ c.w) + 1e-3 * (c.unit @ c.unit))))


def _sizes(c: Context) -> Edit:
    tag = int(c.rng.integers(1 << 30))
    sizes: list[Key] = [("a", tag + j) for j in range(c.n)]
    rows: list[Row] = []
    for j, a in enumerate(sizes):
        rows += [({("w", j): s, a: -float(c.unit[j])}, -INF, 0.0) for s in (1.0, -1.0)]
    rows.append((dict.fromkeys(sizes, 1.0), -INF, float(0.5 * np.abs(c.w / c.unit).sum() + 0.01)))
    return Edit("sizes", rows=rows, variables=[(a, pyo.Reals, 0.0, INF, 0.0) for a in sizes])


def _ordered(c: Context, sos: int) -> Edit | None:
    if c.n <= sos:
        return None
    zero: list[list[Row]] = []
    for k in range(c.n - sos + 1):
        zero.append([({("w", j): 1.0}, 0.0, 0.0) for j in range(c.n) if not k <= j < k + sos])

    def put(model: Any, part: Any, name: str) -> None:
        model.add_component(f"{name}_sos", pyo.SOSConstraint(var=model.w, sos=sos))

    return Edit(f"sos{sos}", alternatives=zero, special=put)


def _disjunction(c: Context) -> Edit:
    j = c.feature()
    far = float(0.4 * c.unit[j])
    sides: list[Row] = [({("w", j): 1.0}, far, INF), ({("w", j): 1.0}, -INF, -far)]

    def put(model: Any, part: Any, name: str) -> None:
        w = part(("w", j))
        model.add_component(f"{name}_or", Disjunction(expr=[[w >= far], [w <= -far]]))

    ends = 2 * c.unit[j] + far
    return Edit("disjunction", bounds=[(("w", j), -ends, ends)], alternatives=[[s] for s in sides], special=put)


def _logic(c: Context) -> Edit:
    i, j = c.pair()
    kinds = {  # condition of two binaries, for the oracle and for the model
        "implies": (lambda x, y: not x or y, lambda x, y: x.implies(y)),
        "xor": (lambda x, y: x != y, lambda x, y: pyo.exactly(1, x, y)),
        "atleast": (lambda x, y: x or y, lambda x, y: pyo.atleast(1, x, y)),
        "not both": (lambda x, y: not (x and y), lambda x, y: pyo.lnot(pyo.land(x, y))),
    }
    kind = str(c.rng.choice(list(kinds)))
    holds, row = kinds[kind]

    def put(model: Any, part: Any, name: str) -> None:
        Y = pyo.BooleanVar([0, 1])
        model.add_component(f"{name}_Y", Y)
        Y[0].associate_binary_var(part(("sigma", i)))
        Y[1].associate_binary_var(part(("sigma", j)))
        model.add_component(f"{name}_logic", pyo.LogicalConstraint(expr=row(Y[0], Y[1])))

    return Edit(f"logic: {kind}", special=put, condition=lambda x: holds(x["sigma", i] > 0.5, x["sigma", j] > 0.5))


KINDS: list[tuple[str, Callable[[Context], Edit | None]]] = [  # required components of the family, function that draws
    ("w", _row_w), ("w", _equal_w), ("w", _range_w), ("b", _row_b), ("w b", _row_wb), ("xi", _row_xi),
    ("w", _bound_w), ("b", _bound_b), ("xi", _bound_xi), ("w", _fix_w), ("sigma", _fix_sigma), ("margin", _drop),
    ("parameter", _parameter), ("sigma", _most), ("sigma", _budget), ("sigma", _requires), ("sigma", _excludes),
    ("sigma", _at_least), ("sigma", _pair_price), ("w", _charge), ("w", _integer_w), ("xi", _integer_xi),
    ("b", _integer_b), ("b", _cost_b), ("b square", _square_b), ("w", _cost_w), ("w square", _ridge),
    ("xi", _cost_xi), ("w", _again), ("w", _contradiction), ("xi", _tight), ("b", _endless), ("w square", _ball),
    ("w", _sizes), ("w wvar", lambda c: _ordered(c, 1)), ("w wvar", lambda c: _ordered(c, 2)), ("w", _disjunction),
    ("sigma", _logic),
]  # fmt: skip


def draw(context: Context, count: int) -> list[Edit]:
    """Draw some edits for which the family has the components."""
    fit = [make for needs, make in KINDS if set(needs.split()) <= context.has]
    edits: list[Edit] = []
    touched: set[Key] = set()
    for _ in range(8 * count):
        if len(edits) == count or not fit:
            break
        edit = fit[int(context.rng.integers(len(fit)))](context)
        if edit is None:
            continue
        keys = {k for k, *_ in [*edit.fixed, *edit.bounds]}
        if not keys & touched:  # a second value or bound would replace the first
            touched |= keys
            edits.append(edit)
    return edits
