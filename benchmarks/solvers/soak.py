"""Random test of all solvers and drivers on small difficult data and edited models, compared with an oracle.

    python -m benchmarks soak --seed 17                                        # one case, with all details
    python -m benchmarks soak --from 0 --to 30000 --log /tmp/soak/soak.jsonl   # repeat to continue
    python -m benchmarks soak --table --log /tmp/soak/soak.jsonl

A case is drawn from its seed: a family of models, samples, at most three edits, and a solver with default options. Its
optimum is found by enumeration (``soak_oracle``). A case is wrong if a result contradicts the optimum: a status, an
objective, a bound, a row that is violated, an error that is not the package's own. The oracle's formulas are those of
the papers (Aytug 2015; Bradley, Mangasarian, Street 1998; Peleg, Meir 2005; Mao, Tsang 2013) with the scaling that the
builders' "Deviations" state.
"""

from __future__ import annotations

import itertools
import math
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyomo.environ as pyo
from scipy import optimize

import fsmodels as fs
import solvers
from benchmarks.harness import seeds
from benchmarks.solvers.soak_edits import Context, Edit, Key, draw
from benchmarks.solvers.soak_oracle import INF, Program, Row, Unsure, concave_optimum

LIMIT = 20.0  # s for one solve
GAP = 1e-4
TOLERANCE = 1e-6  # largest violation of a row at an optimal point, relative to its right-hand side or to 1
EXACT = 1e-9  # violation of a point that counts as none
CLOSE = 2e-6  # relative: rounding and the solvers' tolerances
MISSED = 1e-4  # relative: up to this, what the rows that the point of the oracle violates add to the tolerance
UNITS: dict[str, Callable[..., np.ndarray]] = {  # kind -> values of a column; before: the columns up to this one
    "plain": lambda x, before, rng: x,
    "scales": lambda x, before, rng: x * 10.0 ** rng.uniform(-6, 6),
    "far": lambda x, before, rng: 1e4 + np.round(3 * x),
    "twins": lambda x, before, rng: before[:, int(rng.integers(before.shape[1]))] * rng.choice([1.0, -1.0, 2.0]),
    "tiny": lambda x, before, rng: x * 1e-6,
    "huge": lambda x, before, rng: x * 1e6,
    "near": lambda x, before, rng: 1 + 1e-4 * x,
    "integers": lambda x, before, rng: np.round(x),
    "zeros": lambda x, before, rng: x * (rng.random(len(x)) < 0.3),
    "constant": lambda x, before, rng: np.full(len(x), rng.choice([0.0, 1.0, 1e3])) if rng.random() < 0.4 else x,
}
KINDS = ["plain", *UNITS, "mixed"]


def samples(rng: np.random.Generator, most: int, widest: int) -> tuple[np.ndarray, np.ndarray]:
    """Return X (l, n) with 4 <= l <= most and y (l,) of both classes."""
    rows, n = int(rng.integers(4, most + 1)), int(min(widest, rng.choice([2, 2, 3, 3, 4, 4, 5, 6])))
    X = rng.normal(size=(rows, n))
    y = np.where(X[:, 0] + rng.choice([0.0, 0.3, 3.0]) * rng.normal(size=rows) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    kind = str(rng.choice(KINDS))
    for j in range(n):
        unit = str(rng.choice(KINDS[:-1])) if kind == "mixed" else kind
        X[:, j] = UNITS[unit](X[:, j], X[:, : j + 1], rng)
    if rng.random() < 0.2:
        X[-1] = X[0]  # with the same label, or with the other
    return X, y


@dataclass
class Family:
    """A builder, its oracle, its edits, and its solvers.

    ``program``: the oracle's program but for the margins, which it returns with it by sample.
    """

    name: str
    build: Callable[[Any, dict[str, Any]], Any]
    parameters: Callable[[np.random.Generator, np.ndarray, np.ndarray], dict[str, Any]]
    program: Callable[[np.ndarray, np.ndarray, dict[str, Any]], tuple[Program, dict[int, Row]]]
    has: str
    who: list[str | None]
    most: int = 12  # samples
    widest: int = 6  # features
    one_norm: bool = False  # w = p - q
    exact: bool = True  # its optimum can be proven by a driver
    dual: bool = False  # the model is the dual of the program
    local: Callable[[np.ndarray, dict[str, Any]], np.ndarray] | None = None  # concave cost of |w|, by vertices
    box: str = ""  # expression of the model that bounds |w|

    @property
    def rigid(self) -> bool:
        """True if most edits except those of sigma are rejected."""
        return bool(self.box) or self.name in ("fs indicator", "fsmulti lazy sigma")


# ---------------------------------------------------------------------------------- oracles, from the papers


def hinge(p: Program, X: np.ndarray, y: np.ndarray, weights: Any, *, ridge: float = 0.0, squared: bool = False,
          offset: bool = True) -> dict[int, Row]:  # fmt: skip
    """Add w, b, xi with their cost to a program; return the margins y (w.x + b) + xi >= 1."""
    for j, size in enumerate(np.abs(X).max(axis=0)):
        p.add(("w", j), square=ridge)
        p.units["w", j] = 1 / size if size > 0 else 1.0
    p.scale = float(np.max(weights))
    p.add(("b",), *(() if offset else (0.0, 0.0)))
    for i, c in enumerate(np.broadcast_to(weights, len(y))):
        p.add(("xi", i), 0.0, cost=0.0 if squared else float(c), square=2 * float(c) if squared else 0.0)
    return {
        i: ({**{("w", j): y[i] * x for j, x in enumerate(X[i])}, ("b",): y[i], ("xi", i): 1.0}, 1.0, INF)
        for i in range(len(y))
    }


def shares(y: np.ndarray, g: dict[str, Any]) -> np.ndarray:
    """Return the weight of each sample."""
    return np.array(g.get("s", np.ones(len(y))))


def by_class(y: np.ndarray, g: dict[str, Any]) -> np.ndarray:
    """Bradley et al. (4): mean over each class."""
    s = shares(y, g)
    return s / np.where(y > 0, s[y > 0].sum(), s[y < 0].sum())


def select(p: Program, n: int, most: int | None, price: float = 0.0) -> None:
    """Add sigma: w_j = 0 unless sigma_j = 1."""
    for j in range(n):
        p.add(("sigma", j), 0, 1, cost=price, integer=True)
        p.switch(("sigma", j), ("w", j))
    if most is not None:
        p.rows.append(({("sigma", j): 1.0 for j in range(n)}, -INF, float(most)))


def svm(X: np.ndarray, y: np.ndarray, g: dict[str, Any]) -> tuple[Program, dict[int, Row]]:
    p = Program()
    squared, offset = g.get("loss") == "squared-hinge", g.get("intercept", True)
    margins = hinge(p, X, y, g["C"] * shares(y, g), ridge=1.0, squared=squared, offset=offset)
    if "max_features" in g or "penalty" in g:
        select(p, X.shape[1], g.get("max_features"), g.get("penalty", 0.0))
    if g.get("box", INF) < INF:
        p.rows += [({("w", j): 1.0}, -g["box"], g["box"]) for j in range(X.shape[1])]
    return p, margins


def one_norm(X: np.ndarray, y: np.ndarray, g: dict[str, Any]) -> tuple[Program, dict[int, Row]]:
    p, n = Program(), X.shape[1]
    s = shares(y, g)
    margins = hinge(p, X, y, g["C"] * s)
    for j in range(n):
        p.add(("p", j), 0.0, cost=1.0)
        p.add(("q", j), 0.0, cost=1.0)
        p.units["p", j] = p.units["q", j] = p.units["w", j]
        p.rows.append(({("w", j): 1.0, ("p", j): -1.0, ("q", j): 1.0}, 0.0, 0.0))
        if g["sigma"]:
            p.add(("sigma", j), 0, 1, integer=True)
            if g.get("box", INF) < INF:
                p.rows.append(({("p", j): 1.0, ("q", j): 1.0, ("sigma", j): -g["box"]}, -INF, 0.0))
            p.switch(("sigma", j), ("w", j), ("p", j), ("q", j))
    return p, margins


def robust(X: np.ndarray, y: np.ndarray, g: dict[str, Any]) -> tuple[Program, dict[int, Row]]:
    p = Program()
    return p, hinge(p, X, y, by_class(y, g))


def concave(X: np.ndarray, y: np.ndarray, g: dict[str, Any]) -> tuple[Program, dict[int, Row]]:
    """FS (7), and the linear part of FSV, FSS and FSB."""
    p = Program()
    factor = (1 - g["penalty"]) * (1 - g.get("mu", 0.0))
    margins = hinge(p, X, y, factor * by_class(y, g))
    if g["step"] == "exact":
        select(p, X.shape[1], g.get("max_features"), g["penalty"])
    if g["step"] == "complementarity":  # FSL: r = 1, or w = 0 and 0 <= r <= 1
        for j in range(X.shape[1]):
            p.add(("sigma", j), 0.0, 1.0, cost=g["penalty"])
            p.alternatives.append([[({("sigma", j): 1.0}, 1.0, 1.0)], [({("w", j): 1.0}, 0.0, 0.0)]])
    return p, margins


def moments(X: np.ndarray, y: np.ndarray, g: dict[str, Any]) -> tuple[Program, dict[int, Row]]:
    r"""GMEB (15) without its cones.

    Some s >= 0 with v+.s <= R+, v-.s <= R- and sum w_j^2 / s_j <= 1 exists if and only if
    ``sum_j |w_j| sqrt(k v+_j / R+ + (1 - k) v-_j / R-) <= 1`` for all k in [0, 1]: the least sum of quotients under one
    row ``c.s <= 1`` is ``(sum |w_j| sqrt(c_j))^2``, and the multipliers of the two rows weigh them (minimax). v are the
    mean squares of the class about the mean of all samples.
    """
    p, n = Program(), X.shape[1]
    s = shares(y, g)
    centred = X - np.average(X, axis=0, weights=s)
    flat = np.ptp(X, axis=0) <= 1e-12 * np.abs(X).max(axis=0)
    plus, minus = (np.average(centred[k] ** 2, axis=0, weights=s[k]) * ~flat for k in (y > 0, y < 0))
    margins = hinge(p, X, y, s)
    for j in range(n):
        p.add(("size", j), 0.0)
        p.units["size", j] = p.units["w", j]
        p.rows += [({("w", j): a, ("size", j): -1.0}, -INF, 0.0) for a in (1.0, -1.0)]
        if flat[j]:
            p.rows.append(({("w", j): 1.0}, 0.0, 0.0))
        if g.get("sigma"):
            p.add(("sigma", j), 0, 1, integer=True)
            p.switch(("sigma", j), ("w", j), ("size", j))

    def row(k: float) -> Row:
        slope = np.sqrt(k * plus / g["R_plus"] + (1 - k) * minus / g["R_minus"])
        return {("size", j): float(slope[j]) for j in range(n) if not flat[j]}, -INF, 1.0

    def worst(x: dict[Key, float]) -> Row:
        sizes = np.array([x["size", j] for j in range(n)])
        at = optimize.minimize_scalar(
            lambda k: -sizes @ np.sqrt(k * plus / g["R_plus"] + (1 - k) * minus / g["R_minus"]),
            bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-12},
        ).x  # fmt: skip
        return max((row(k) for k in (0.0, float(at), 1.0)), key=lambda r: sum(a * x[key] for key, a in r[0].items()))

    p.rows += [row(k) for k in (0.0, 0.5, 1.0) if not flat.all()]
    p.worst = None if flat.all() else worst
    p.retreat = [({("size", j): 1.0}, 0.0, 0.0) for j in range(n)]
    return p, margins


def delta(loss: str, c: int, b: int, pos: int, neg: int) -> float | None:
    """Mao, Tsang 5.4: loss of c false negatives and b false positives; None if the table is not in Y."""
    a = pos - c
    if loss == "hamming":
        return 2.0 * (b + c)
    if loss == "f1":
        return 100 * (1 - 2 * a / (2 * a + b + c))
    if loss == "prbep":
        return 100 * (1 - a / pos) if b == c else None
    name, k = loss.split("@")
    return 100 * (1 - a / (pos if name == "rec" else int(k))) if a + b == int(k) else None


def labellings(X: np.ndarray, y: np.ndarray, g: dict[str, Any]) -> tuple[Program, dict[int, Row]]:
    """FSmulti (5), a row for each labelling; Delta / n as in (18)."""
    p, (rows, n) = Program(), X.shape
    for j in range(n):
        p.add(("w", j))
        p.add(("d", j), 0.0, 1.0)
        p.add(("t", j), 0.0, cost=0.5)
        p.cones.append((("w", j), ("d", j), ("t", j)))
        p.units["w", j] = rows / (np.abs(X[:, j]).sum() or 1.0)
        if g["sigma"]:
            p.add(("sigma", j), 0, 1, integer=True)
            p.switch(("sigma", j), ("w", j), ("d", j))
    p.rows.append(({("d", j): 1.0 for j in range(n)}, -INF, float(g["budget"])))
    p.add(("risk",), 0.0, cost=g["C"])
    p.scale = g["C"]
    pos, neg = int(np.sum(y > 0)), int(np.sum(y < 0))
    if g["loss"] == "auc":  # pairs: hinge of 1 - 2 (s_i - s_k), mean over the pairs, times 100 / n
        pairs = [(i, k) for i in np.flatnonzero(y > 0) for k in np.flatnonzero(y < 0)]
        for i, k in pairs:
            p.add(("u", i, k), 0.0)
            p.rows.append(({("u", i, k): 1.0, **{("w", j): 2.0 * x for j, x in enumerate(X[i] - X[k])}}, 1.0, INF))
        p.rows.append(({("risk",): 1.0, **{("u", i, k): -100.0 / (pos * neg * rows) for i, k in pairs}}, 0.0, INF))
        return p, {}
    for other in itertools.product([-1.0, 1.0], repeat=rows):
        z = np.array(other)
        loss = delta(g["loss"], int(np.sum((y > 0) & (z < 0))), int(np.sum((y < 0) & (z > 0))), pos, neg)
        if loss is not None and (z != y).any():
            slope = (y - z) @ X / rows
            p.rows.append(({("risk",): 1.0, **{("w", j): float(x) for j, x in enumerate(slope)}}, loss / rows, INF))
    return p, {}


def generating(X: np.ndarray, y: np.ndarray, g: dict[str, Any]) -> tuple[Program, dict[int, Row]]:
    """Mao, Tsang (4) for the squared hinge loss, half of it, without an offset."""
    p = Program()
    margins = hinge(p, X, y, 0.5 * g["C"], squared=True, offset=False)
    for j in range(X.shape[1]):
        p.add(("d", j), 0.0, 1.0)
        p.add(("t", j), 0.0, cost=0.5)
        p.cones.append((("w", j), ("d", j), ("t", j)))
    p.rows.append(({("d", j): 1.0 for j in range(X.shape[1])}, -INF, float(g["budget"])))
    return p, margins


# -------------------------------------------------------------------------------------------------- families


def _weight(rng: np.random.Generator) -> float:
    """Return C."""
    return float(rng.choice([1.0, 0.1, 10.0, 1e3, 1e-3, 1e6, 1e-6], p=[0.4, 0.15, 0.15, 0.1, 0.1, 0.05, 0.05]))


def _svm(rng: np.random.Generator, X: np.ndarray, y: np.ndarray, *, max_features: bool = False, penalty: bool = False,
         loss: bool = False) -> dict[str, Any]:  # fmt: skip
    given: dict[str, Any] = {"C": _weight(rng)}
    if max_features:
        given["max_features"] = int(rng.integers(1, X.shape[1] + 1))
    if penalty:
        given["penalty"] = float(given["C"] * rng.choice([0.0, 0.1, 0.5, 2.0]))
    if loss:
        given["loss"] = str(rng.choice(["hinge", "hinge", "hinge", "squared-hinge"]))
    if max_features or penalty:
        given["intercept"] = bool(rng.random() < 0.9)
    return given


def _share(rng: np.random.Generator, X: np.ndarray, y: np.ndarray, *, step: str, **more: Any) -> dict[str, Any]:
    given = {"penalty": float(rng.choice([0.01, 0.05, 0.2, 0.4, 0.0])), "step": step, **more}
    if step == "exact" and rng.random() < 0.3:
        given["max_features"] = int(rng.integers(1, X.shape[1] + 1))
    return given


def _radii(rng: np.random.Generator, X: np.ndarray, y: np.ndarray, **more: Any) -> dict[str, Any]:
    R = rng.choice([0.05, 0.3, 1.0, 3.0, 30.0, 1e3], 2)
    return {"R_plus": float(R[0]), "R_minus": float(R[1]), **more}


def _multi(rng: np.random.Generator, X: np.ndarray, y: np.ndarray, *, sigma: bool = False) -> dict[str, Any]:
    k = int(rng.integers(1, len(y)))
    losses = ["f1", "f1", "prbep", "hamming", f"rec@{k}", f"prec@{k}", "auc"]
    loss = str(rng.choice(losses))
    return {"C": _weight(rng), "budget": int(rng.integers(1, X.shape[1] + 1)), "loss": loss, "sigma": sigma}


def _call(builder: Any, *names: str, **fixed: Any) -> Callable[[Any, dict[str, Any]], Any]:
    return lambda data, g: builder(data, **{k: g[k] for k in names if k in g}, **fixed)


TREES = [None, "branch-and-cut", "benders", "single-tree"]
FSP = ("C", "max_features", "penalty", "loss", "intercept")
W, S = "w wvar b xi margin parameter w square b square", "sigma"
LIMITED = partial(_svm, max_features=True, loss=True)


def _fsp(name: str, builder: Any, parameters: Callable[..., dict[str, Any]]) -> list[Family]:
    """Return the forms of FSP that state sigma and w."""
    return [
        Family(f"{name} {form}", _call(builder, *FSP, form=form), parameters, svm, f"{W} {S}",
               [*TREES, *TREES[:3], "scip", "gurobi"], box="" if form == "perspective" else "W")
        for form in ("perspective", "perspective", "big-m", "indicator", "bilinear")
    ]  # fmt: skip


FAMILIES = [
    Family("svm", _call(fs.svm.l2_svm, "C", "loss"), partial(_svm, loss=True), svm, W,
           [None, "clarabel", "scip", "cutting-plane", "gurobi", "pounce"]),
    Family("svm-dual", _call(fs.svm.l2_svm_dual, "C"), _svm, svm, "parameter",
           [None, "clarabel", "cutting-plane", "scip"], dual=True),
    Family("one-norm-svm", _call(fs.svm.one_norm_svm, "C"), lambda *a: {**_svm(*a), "sigma": False}, one_norm,
           "w b xi margin parameter b square", [None, "highs", "clarabel", "scip", "cutting-plane", "gurobi", "pounce"],
           one_norm=True),
    Family("one-norm-svm sigma", _call(fs.svm.one_norm_svm, "C", sigma=True), lambda *a: {**_svm(*a), "sigma": True},
           one_norm, "w b xi margin parameter b square sigma", [*TREES, "highs", "scip", "cutting-plane", "gurobi"],
           one_norm=True, box="M"),
    Family("robust-lp", _call(fs.svm.robust_lp), lambda *a: {}, robust, "w wvar b xi margin w square b square",
           [None, "highs", "clarabel", "scip", "cutting-plane", "gurobi", "pounce"]),
    *_fsp("fsp-m", fs.fsp.fsp_m, LIMITED),
    Family("fsp-m rmp", _call(fs.fsp.fsp_m, *FSP, form="rmp"), LIMITED, svm, S, TREES),
    *_fsp("fsp-lambda", fs.fsp.fsp_lambda, partial(_svm, penalty=True, loss=True)),
    *[Family(f"fs {form}", _call(fs.concave.fs, "penalty", "max_features", form=form), partial(_share, step="exact"),
             concave, "w wvar b xi margin parameter w square b square sigma", who)
      for form, who in (("sos1", [*TREES, "scip", "scip", "gurobi"]), ("indicator", TREES))],
    Family("fsl", _call(fs.concave.fsl, "penalty"), partial(_share, step="complementarity"), concave,
           "w wvar b xi margin parameter w square b square", [None, "branch-and-cut", "benders", "scip", "gurobi"]),
    Family("fsv", _call(fs.concave.fsv, "penalty"), partial(_share, step="exponential"), concave, "parameter",
           [None, "sla", "multi-start", "scip", "pounce"], most=9, widest=3, exact=False,
           local=lambda v, g: g["penalty"] * (1 - np.exp(-5 * v))),
    Family("fss", _call(fs.concave.fss, "penalty"), partial(_share, step="sigmoid"), concave, "parameter",
           [None, "sla", "multi-start", "scip", "pounce"], most=9, widest=3, exact=False,
           local=lambda v, g: g["penalty"] / (1 + np.exp(-5 * v))),
    Family("fsb", _call(fs.concave.fsb, "penalty", "mu"), partial(_share, step="bilinear", mu=0.5), concave,
           "parameter", [None, "alternating", "scip", "gurobi"], most=9, widest=3, exact=False,
           local=lambda v, g: np.minimum(g["mu"] * v, (1 - g["mu"]) * g["penalty"])),
    *[Family(f"gmeb {form}", _call(fs.gmeb.primal, "R_plus", "R_minus", form=form), _radii, moments, f"{W}",
             [None, None, "cutting-plane", "clarabel", "scip", "pounce", "gurobi"])
      for form in ("conic", "quotient")],
    Family("gmeb sigma", _call(fs.gmeb.primal, "R_plus", "R_minus", sigma=True), partial(_radii, sigma=True), moments,
           f"{W} {S}", [None, None, "branch-and-cut", "scip", "scip", "gurobi"]),
    Family("gmeb-dual", _call(fs.gmeb.dual, "R_plus", "R_minus"), _radii, moments, "parameter",
           [None, "clarabel", "scip", "gurobi"], dual=True),
    Family("gmeb-nonconvex", _call(fs.gmeb.nonconvex, "R_plus", "R_minus"), _radii, moments, f"{W}",
           [None, "multi-start", "pounce"], exact=False),
    *[Family(f"fsmulti {form}{' sigma' * sigma}",
             _call(fs.multivariate.fsmulti, "C", "budget", "loss", form=form, sigma=sigma),
             partial(_multi, sigma=sigma), labellings, f"w wvar w square parameter{' sigma' * sigma}", who, most=7)
      for form, sigma, who in (
          ("lazy", False, [None, "two-layer"]), ("lazy", True, [None, "branch-and-cut", "benders"]),
          ("stated", False, [None, "row-generation"]), ("stated", True, [None, "row-generation"]),
          ("extended", False, [None, "two-layer", "clarabel", "scip", "gurobi"]),
          ("extended", True, [None, "branch-and-cut", "scip", "gurobi"]))],
    Family("structural svm", _call(fs.multivariate.structural_svm, "C", "loss"),
           lambda rng, X, y: {**_multi(rng, X, y), "budget": X.shape[1]}, labellings, "parameter",
           [None, "two-layer"], most=7),
    Family("fgm", _call(fs.multivariate.fgm, "C", "budget"), _multi, generating,
           "w wvar xi margin parameter w square", [None, "clarabel", "scip", "gurobi"]),
]  # fmt: skip

# ------------------------------------------------------------------------------------------------------ cases


@dataclass
class Case:
    """The case of a seed."""

    seed: int
    family: Family
    X: np.ndarray
    y: np.ndarray
    given: dict[str, Any]
    edits: list[Edit]
    solver: str | None
    wrong: list[str] = field(default_factory=list)
    weak: list[str] = field(default_factory=list)  # a point that is better than possible by tolerances, and not proven

    @property
    def now(self) -> dict[str, Any]:
        """Return the parameters after the edits."""
        changed = {k: v for edit in self.edits for k, v in edit.changes.items()}
        return {**self.given, **changed}

    def program(self, box: float = INF) -> Program:
        """Return the oracle's program, with |w| <= box."""
        program, margins = self.family.program(self.X, self.y, {**self.now, "box": box})
        for edit in self.edits:
            edit.on_oracle(program, margins)
        program.rows += margins.values()
        return program

    def model(self) -> Any:
        """Return the edited Pyomo model."""
        data = fs.Dataset.from_arrays(self.X, self.y)
        data = data.weighted(self.given["s"]) if "s" in self.given else data
        model = self.family.build(data, self.given)
        for k, edit in enumerate(self.edits):
            edit.on_model(model, lambda key: self.part(model, key), lambda i: self.margin(model, i), f"user{k}")
        return model

    def margin(self, model: Any, i: int) -> Any:
        """Return the row of a sample."""
        if model.component("margin") is not None:
            return model.margin[i]
        return (model.plane_A if self.y[i] > 0 else model.plane_B)[i]

    def part(self, model: Any, key: Key) -> Any:
        """Return the Pyomo component of a key."""
        kind, j = key[0], key[1] if len(key) > 1 else None
        if kind in ("g", "k", "a"):
            return model.component(f"user_{kind}_{j}")
        if kind == "risk":
            return model.xi
        if kind == "xi" and model.component("xi") is None:
            return (model.y if self.y[j] > 0 else model.z)[j]
        if kind == "b" or kind == "xi":
            return model.b if kind == "b" else model.xi[j]
        if kind == "sigma" and model.component("sigma") is None:
            return model.r[f"x{j + 1}"]
        return getattr(model, kind)[f"x{j + 1}"]

    def truth(self) -> tuple[float, Program, float]:
        """Return the optimum, the program, and the size of the objective's terms there."""
        if self.family.local is not None:
            value = self._vertices()
            return value, self.program(), abs(value)
        program = self.program()
        value, point = program.solve()
        if any(e.endless(key) and point.get(key) == hi for e in self.edits for key, _, _, hi, _ in e.variables):
            raise Unsure("an integer without a bound is at the oracle's bound")
        return value, program, program.value(point)[1] if point else 0.0

    def _vertices(self) -> float:
        n, y = self.X.shape[1], self.y
        program = self.program()
        shares = np.array([program.cost["xi", i] for i in range(len(y))])
        X = self.X - self.X.mean(axis=0)  # moves b
        planes = np.vstack([np.hstack([X, np.ones((len(y), 1))]), np.eye(n, n + 1)])
        sides = np.concatenate([y, np.zeros(n)])
        step = self.family.local
        assert step is not None

        def value(points: np.ndarray) -> np.ndarray:
            hinges = np.maximum(0, 1 - y * (points[:, :n] @ X.T + points[:, n:]))
            return hinges @ shares + step(np.abs(points[:, :n]), self.now).sum(axis=1)

        units = np.append(np.where(X.any(axis=0), np.abs(X).max(axis=0), 1.0), 1.0)
        return concave_optimum(planes, sides, units, value)


def case_of(seed: int) -> Case:
    """Draw the case of a seed."""
    rng = np.random.default_rng([37, seed])
    family = FAMILIES[int(rng.integers(len(FAMILIES)))]
    X, y = samples(rng, family.most, family.widest)
    given, n = family.parameters(rng, X, y), X.shape[1]
    if "budget" not in given and rng.random() < 0.15:
        given["s"] = rng.choice([0.5, 1.0, 2.0, 10.0], len(y)).tolist()
    spread = X.std(axis=0)
    unit = 1 / np.where(spread > 1e-9 * np.abs(X).max(axis=0, initial=0.0), spread, 1.0)
    plain = Program()
    plain.rows = list(hinge(plain, X / (1 / unit), y, 1.0, ridge=1.0).values())
    try:
        at = plain.solve()[1]
    except Unsure:
        at = {}
    w = np.array([at.get(("w", j), 1.0) for j in range(n)]) * unit
    scale = given.get("C", 1.0) * (100 / len(y) if "loss" in given and "budget" in given else 1.0)
    has = frozenset(family.has.split())
    if not given.get("intercept", True):
        has -= {"b", "b square"}
    if family.name.startswith("gmeb") and (np.ptp(X, axis=0) <= 1e-12 * np.abs(X).max(axis=0)).any():
        has -= {"w", "wvar"}  # of a column that does not vary w is fixed, and an edit could free it
    if family.rigid and rng.random() < 0.85:
        has &= {"sigma"}
    context = Context(rng, n, len(y), w, at.get(("b",), 0.0), unit, scale, has, given)
    edits = draw(context, int(rng.choice([0, 1, 2, 3], p=[0.15, 0.4, 0.3, 0.15])))
    return Case(seed, family, X, y, given, edits, family.who[int(rng.integers(len(family.who)))])


# -------------------------------------------------------------------------------------------------- evaluation


def run(seed: int, *, verbose: bool = False) -> dict[str, Any]:
    """Solve a case and compare: the line of the log. A case that its solver rejects is solved by default as well."""
    case = case_of(seed)
    line: dict[str, Any] = {"seed": seed, "family": case.family.name, "solver": case.solver or "default"}
    line |= {"edits": [e.kind for e in case.edits], "outcome": "", "retried": ""}
    line |= {"wrong": case.wrong, "weak": case.weak}
    start = time.process_time()
    try:
        truth = case.truth()
        line |= {"truth": truth[0], "oracle_s": round(time.process_time() - start, 3)}
        start = time.process_time()
        line |= solved(case, truth, case.solver, verbose=verbose)
        if line["outcome"] == "refused" and case.solver is not None:
            again = solved(case, truth, None, verbose=verbose)
            line |= {**again, "retried": line["said"]}
    except Unsure as why:
        line |= {"outcome": "unsure", "said": str(why)[:200]}
    return {**line, "solve_s": round(time.process_time() - start, 3)}


def solved(case: Case, truth: tuple[float, Program, float], solver: str | None, *, verbose: bool) -> dict[str, Any]:
    """Build the model, solve it, and compare the result with the truth."""
    model = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = case.model()
            if case.family.box:
                truth = _boxed(case, model, *truth)
            result = fs.solve(model, solver, time_limit=LIMIT)
        if verbose:
            print(case.family.name, solver, case.given, *case.edits, sep="\n  ")
            print(np.c_[case.X, case.y], result, f"truth {truth[0]!r}", sep="\n")
        _judge(case, model, result, *truth)
        return {"outcome": result.status.value, "stop": result.stop_reason.value, "objective": result.objective,
                "bound": result.bound, "by": result.solver, "said": result.message[:160]}  # fmt: skip
    except (solvers.Error, fs.DataError) as refusal:
        if isinstance(refusal, fs.InfeasibleParameter) and truth[0] < INF and model is None:
            case.wrong.append("the builder rejects parameters that have an optimum")
        return {"outcome": "refused", "said": f"{type(refusal).__name__}: {refusal}"[:900]}
    except Unsure:
        raise
    except Exception as error:
        case.wrong.append(f"{type(error).__name__}: {error}"[:300])
        return {"outcome": "crash", "said": traceback.format_exc()[-1500:]}


def _boxed(case: Case, model: Any, truth: float, program: Program, size: float) -> tuple[float, Program, float]:
    """Return the optimum with the model's own |w| <= W, which must be the same for the model as built."""
    if model.component("unselected") is not None:
        return truth, program, size  # ordered sets replace the big-M
    most = pyo.value(getattr(model, case.family.box))
    point = program.solve()[1]
    if point and all(abs(point["w", j]) <= most for j in range(case.X.shape[1])):
        return truth, program, size  # the optimum of a relaxation
    boxed = case.program(most)
    value, point = boxed.solve()
    if value > truth + 1e-5 * abs(truth) and all(set(e.changes) >= {"C"} or _on_sigma(e) for e in case.edits):
        case.wrong.append(f"W excludes the optimum: {value!r} instead of {truth!r}")
    if math.isclose(value, truth, rel_tol=1e-7):
        return truth, program, size
    return value, boxed, boxed.value(point)[1] if point else 0.0


def _on_sigma(edit: Edit) -> bool:
    return edit.condition is not None or "sigma" in str([edit.rows, edit.product, edit.fixed, *edit.changes])


def _judge(case: Case, model: Any, result: Any, truth: float, program: Program, size: float) -> None:
    wrong, status, family = case.wrong, result.status.value, case.family
    whole = 1e-6 if result.solver in solvers.SOLVERS else 1e-9  # what the tolerances of others let them overstate
    price = case.now.get("C", 1.0) * max(case.now.get("s") or [1.0])  # of the slack of a sample
    room = CLOSE * abs(truth) + whole * size + 3e-9 * max(1.0, price) if abs(truth) < INF else 0.0
    room += min(program.missed, MISSED) * abs(truth) if abs(truth) < INF else 0.0
    objective, bound = result.objective, result.bound
    if family.dual:
        objective, bound = (-v if v is not None else None for v in (objective, bound))
        truth = -truth
    if status == "infeasible" and truth != INF:
        wrong.append(f"false infeasible: the optimum is {truth!r}")
    if status == "unbounded" and truth != -INF:
        wrong.append(f"false unbounded: the optimum is {truth!r}")
    if status == "optimal":
        if objective is None or not objective <= truth + 1.01 * GAP * abs(objective) + room:
            wrong.append(f"false optimal: {objective!r} instead of {truth!r}")
        elif objective < truth - room - 1e-6 * abs(truth):
            said = f"optimal below the optimum: {objective!r} instead of {truth!r}"
            near = objective > truth - GAP * abs(truth) - room
            weak = near or _within_tolerance(case, model, objective, program, said)
            (case.weak if weak else wrong).append(said)
    elif objective is not None and truth < INF and objective < truth - 10 * room - 1e-5 * abs(truth):
        said = f"{status} below the optimum: {objective!r} instead of {truth!r}"
        (wrong if family.local else case.weak).append(said)  # rows are checked below
    if bound is not None and bound > truth + room:
        wrong.append(f"bound above the optimum: {bound!r} instead of {truth!r}")
    if objective is not None and family.local is None and not family.dual:
        _rows(case, model, objective, program, status, result.message)


def _within_tolerance(case: Case, model: Any, objective: float, program: Program, said: str) -> bool:
    """Return True if the values of the model satisfy its rows to the documented tolerance and give its objective.

    Such a point may be better than any exact one: with a cone w^2 <= d t at d = t = 0, an error of 4e-8 in the row
    admits w = 2e-4.

    Raises
    ------
    Unsure
        If the values satisfy a program without cones exactly: the oracle has missed them.
    """
    if case.family.local is not None or case.family.dual:
        return False
    x = _values(case, model, program)
    missed = max((v for _, v in program.violations(x)), default=0.0)
    if missed > TOLERANCE or abs(program.value(x)[0] - objective) > 1e-6 * abs(objective) + EXACT:
        return False
    if missed <= EXACT and not program.cones:
        raise Unsure(f"the oracle has missed a point: {said}")
    return True


def _rows(case: Case, model: Any, objective: float, program: Program, status: str, said: str) -> None:
    """Check the rows and the objective at the values of the model."""
    x = _values(case, model, program)
    if any(x[key] > program.upper[key] + 0.5 for e in case.edits for key, *_ in e.variables if e.endless(key)):
        raise Unsure("an integer without a bound is above the oracle's bound")
    name, most = max(program.violations(x), key=lambda v: v[1], default=("", 0.0))
    doubted = "violates the rows" in said
    if most > 5e-6 * (1 if status == "optimal" else 200):
        (case.weak if doubted else case.wrong).append(f"{status} point misses {name[:120]} by {most:.1e}")
    value, terms = program.value(x)
    if abs(value - objective) > 1e-5 * abs(value) + 1e-6 * terms + 1e-8:
        (case.weak if doubted else case.wrong).append(f"objective {objective!r}, and the values give {value!r}")


def _values(case: Case, model: Any, program: Program) -> dict[Key, float]:
    """Return the values of the model by the oracle's keys."""
    x: dict[Key, float] = {}
    for key in program.lower:
        if case.family.name.endswith("rmp") and key[0] == "xi":
            continue
        if key[0] in ("t", "u", "size"):
            continue
        if key == ("b",) and model.component("b") is None:
            x[key] = 0.0
            continue
        value = pyo.value(case.part(model, key), exception=False)
        x[key] = 0.0 if value is None else float(value)
    n = case.X.shape[1]
    w = np.array([x["w", j] for j in range(n)])
    if case.family.name.endswith("rmp"):
        hinges = np.maximum(0, 1 - case.y * (case.X @ w + x[("b",)]))
        x |= {("xi", i): float(h) for i, h in enumerate(hinges)}
    for j in range(n):
        if ("t", j) in program.lower:
            x["t", j] = _t(model, j, w[j], x["d", j])
        if ("size", j) in program.lower:
            x["size", j] = abs(w[j])
    for key in program.lower:
        if key[0] == "u":
            x[key] = max(0.0, 1 - 2 * float(w @ (case.X[key[1]] - case.X[key[2]])))
    return x


def _t(model: Any, j: int, w: float, d: float) -> float:
    if model.component("t") is not None:
        return float(pyo.value(model.t[f"x{j + 1}"], exception=False) or 0.0)
    return 0.0 if abs(w) < 1e-9 else w**2 / max(d, 1e-300)


def table(records: list[dict[str, Any]]) -> str:
    """Return the cases by family and solver; "retried": solved by default after a rejection by the solver."""
    return seeds.outcomes(records, ["family", "solver"], ["wrong", "weak", "retried"])


def main():
    seeds.command(__doc__, run, table, last=30_000)
