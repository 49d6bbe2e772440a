"""Edits of an analyst, each stated twice: on a Pyomo model, and as arrays for an independent reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyomo.environ as pyo

FEATURES = ("a", "b", "c", "d")
N = len(FEATURES)


def table() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Twelve samples of two noisy classes, in units in which every edit matters, and the half that each is in."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(12, N))
    return X, np.where(X @ [1.0, 0.7, 0.6, 0.4] + 0.8 * rng.normal(size=12) > 0, 1, -1), X[:, 0] > np.median(X[:, 0])


class Missing(Exception):
    """The model has nothing that the edit could be stated on."""


@dataclass
class View:
    """The parts of a family's model by the names that edits use.

    ``changed``: the parameter that an edit may change, and its new value.
    """

    model: Any
    selects: bool
    changed: tuple[str, float] | None = None

    def sigma(self, j: str) -> Any:
        """The variable that selects a feature."""
        if not self.selects:
            raise Missing("no sigma")
        return self.model.sigma[j]

    def w(self, j: str) -> Any:
        """The weight of a feature, of its column in the data or of its kernel."""
        for name in ("w", "z"):
            held = self.model.component(name)
            if held is not None and j in held.index_set():
                return held[j]
        raise Missing("no weights")

    def rows(self) -> list[Any]:
        """The rows of the samples, in the order of the data."""
        m = self.model
        if m.component("plane_A") is not None:
            by_sample = {i: row for rows in (m.plane_A, m.plane_B) for i, row in rows.items()}
            return [by_sample[i] for i in sorted(by_sample)]
        rows = [] if m.component("margin") is None else list(m.margin.values())
        if len(rows) < 12:
            raise Missing("no rows of samples")
        return rows

    def cost(self, term: Any) -> None:
        """Add a term to what is minimised."""
        objective = next(self.model.component_data_objects(pyo.Objective, active=True), None)
        if objective is None:
            raise Missing("no objective")
        objective.set_value(objective.expr + (term if objective.sense == pyo.minimize else -term))


@dataclass(frozen=True)
class Edit:
    """One kind of edit.

    ``words``: for ``fs.select``, where it is one of its words. ``on_weights``, ``on_sigma``: state its parts on a view.
    ``allowed``, ``price``: of a set of selected features. ``rows``: (coefficients of w, lower, upper). ``slope``: cost
    of w; ``ridge``: of its squares; ``sizes``: the most that |w| may add up to; ``ball``: w'w at most; ``off``: samples
    without a row; ``changes``: whether a parameter is changed.
    """

    name: str
    what: str
    words: Mapping[str, Any] = field(default_factory=dict)
    on_weights: Callable[[View], None] | None = None
    on_sigma: Callable[[View], None] | None = None
    allowed: Callable[[frozenset[str]], bool] = lambda used: True
    price: Callable[[frozenset[str]], float] = lambda used: 0.0
    rows: tuple[tuple[tuple[float, ...], float, float], ...] = ()
    slope: tuple[float, ...] = (0.0,) * N
    ridge: float = 0.0
    sizes: float = np.inf
    ball: float = np.inf
    off: tuple[int, ...] = ()
    changes: bool = False

    def missed(self, w: np.ndarray) -> float:
        """By how much weights miss what is said of them."""
        off = [w @ w - self.ball, np.abs(w).sum() - self.sizes]
        off += [x for a, lo, up in self.rows for x in (lo - np.dot(a, w), np.dot(a, w) - up)]
        return float(max([0.0, *off]))

    def cost(self, w: np.ndarray, used: frozenset[str]) -> float:
        """What it adds to the objective."""
        return float(np.dot(self.slope, w) + self.ridge * (w @ w)) + self.price(used)


COSTS = {"a": 3.0, "b": 2.0, "c": 2.0, "d": 1.0}


X, Y, HALF = table()
APART = tuple((X[HALF].mean(axis=0) - X[~HALF].mean(axis=0)).tolist())


def _bound(view: View) -> None:
    w = view.w("a")
    if w.is_variable_type():
        w.setub(0.15)
    else:
        view.model.little = pyo.Constraint(expr=w <= 0.15)


def _equal(view: View) -> None:
    view.model.alike = pyo.Constraint(expr=view.w("a") - view.w("c") == 0.1)


def _slope(view: View) -> None:
    view.cost(0.05 * view.w("a") + 0.05 * view.w("b"))


def _ridge(view: View) -> None:
    view.cost(0.7 * sum(view.w(j) ** 2 for j in FEATURES))


def _sizes(view: View) -> None:
    m, w = view.model, {j: view.w(j) for j in FEATURES}
    m.size = pyo.Var(FEATURES, domain=pyo.NonNegativeReals)
    m.size_above = pyo.Constraint(FEATURES, rule=lambda m, j: w[j] <= m.size[j])
    m.size_below = pyo.Constraint(FEATURES, rule=lambda m, j: -w[j] <= m.size[j])
    m.small = pyo.Constraint(expr=pyo.quicksum(m.size.values()) <= 0.4)


def _ball(view: View) -> None:
    view.model.ball = pyo.Constraint(expr=sum(view.w(j) ** 2 for j in FEATURES) <= 0.08)


def _switched_off(view: View) -> None:
    rows = view.rows()
    for i in (1, 4, 7):
        rows[i].deactivate()
    if view.changed is not None:
        name, value = view.changed
        getattr(view.model, name).set_value(value)


def _product(view: View) -> None:
    view.cost(3.0 * view.sigma("a") * view.sigma("b"))


def _logic(view: View) -> None:
    sigma = {j: view.sigma(j) for j in FEATURES}
    m = view.model
    m.uses = pyo.BooleanVar(FEATURES)
    for j in FEATURES:
        m.uses[j].associate_binary_var(sigma[j])
    m.one = pyo.LogicalConstraint(expr=pyo.exactly(1, m.uses["a"], m.uses["b"]))
    m.brings = pyo.LogicalConstraint(expr=m.uses["a"].implies(m.uses["d"]))


EDITS = [
    Edit("budget", "a limit on the costs of the selected features", {"budget": (COSTS, 3.0)},
         allowed=lambda s: sum(COSTS[j] for j in s) <= 3),
    Edit("pair", "one feature only together with another, or not with another",
         {"requires": [("a", "d")], "excludes": [("b", "d")]},
         allowed=lambda s: ("a" not in s or "d" in s) and not {"b", "d"} <= s),
    Edit("group", "all features of a group or none; at most a number of another group",
         {"all_or_none": [["a", "c"]], "at_most": [(["b", "c"], 1)]},
         allowed=lambda s: ("a" in s) == ("c" in s) and not {"b", "c"} <= s),
    Edit("hierarchy", "a product of two features only together with both features, one of which is excluded",
         {"hierarchy": "strong", "force_out": ["b"]}, allowed=lambda s: "d" not in s and "b" not in s),
    Edit("fix", "features that are forced in or forced out", {"force_in": ["d"], "force_out": ["a"]},
         allowed=lambda s: "d" in s and "a" not in s),
    Edit("sign", "the sign of a weight", {"signs": {"a": "-"}}, rows=(((1, 0, 0, 0), -np.inf, 0.0),)),
    Edit("fair", "a limit on the difference of mean scores between groups", {"fair": ("half", 0.2)},
         rows=((APART, -0.2, 0.2),)),
    Edit("bound", "a bound on a weight", on_weights=_bound, rows=(((1, 0, 0, 0), -np.inf, 0.15),)),
    Edit("equality", "an equation between two weights", on_weights=_equal, rows=(((1, 0, -1, 0), 0.1, 0.1),)),
    Edit("cost", "a linear cost of weights", on_weights=_slope, slope=(0.05, 0.05, 0, 0)),
    Edit("ridge", "a cost of squared weights", on_weights=_ridge, ridge=0.7),
    Edit("product", "a cost if two features are selected together", on_sigma=_product,
         price=lambda s: 3.0 * ({"a", "b"} <= s)),
    Edit("new variable", "additional variables in constraints with the weights", on_weights=_sizes, sizes=0.4),
    Edit("switched off", "deactivated constraints of samples, and another value of a parameter",
         on_weights=_switched_off, off=(1, 4, 7),
         changes=True),
    Edit("ball", "an upper limit on w'w", on_weights=_ball, ball=0.08),
    Edit("logic", "exactly one of two features, where one of them requires a third", on_sigma=_logic,
         allowed=lambda s: ("a" in s) != ("b" in s) and ("a" not in s or "d" in s)),
]  # fmt: skip
