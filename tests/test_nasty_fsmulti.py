"""Small nasty instances of FSmulti against every labelling written down, and every support, in rational arithmetic.

Nothing is shared with the package. Any alpha >= 0 with sum alpha <= C proves ``alpha.Delta / n - 1/2 (the B largest
c_j^2)``, any w and d attain ``1/2 sum w_j^2 / d_j + C R(w)``: both are evaluated in fractions. With at most K features
the optimum is the least over the supports of K, where Omega is 1/2 w.w. Tests are against the rigorous side.
"""

from __future__ import annotations

import itertools
import os
import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import clarabel
import numpy as np
import pytest
from scipy import sparse

import fsmodels as fs
import solvers
from nasty_data import UNITS, put_in_units, two_classes
from solvers.interfaces.registry import SOLVERS

SOAK = float(os.environ.get("FSMODELS_SOAK", "1"))
EPS, GAP, LIMIT = 2.0**-52, 1e-4, 20.0
LOSSES = ["hamming", "f1", "f0.5", "prbep", "rec@2", "prec@3", "rec@2p", "auc"]
WAYS = ["lazy", "extended", "select"]
WHOLE = [None, "clarabel", "scip", "gurobi", "pounce"]


@dataclass
class Instance:
    """Data, C, the budget (or the most features), the loss, how the model is written and who solves it."""

    X: np.ndarray
    y: np.ndarray
    C: float
    most: int
    loss: str
    offset: bool
    way: str
    solver: str | None
    options: dict[str, Any]

    @property
    def columns(self) -> np.ndarray:
        """The data's, and one of ones for the offset."""
        return np.hstack([self.X, np.ones((len(self.y), 1))]) if self.offset else self.X

    @property
    def used(self) -> list[tuple[int, ...]]:
        """The supports that are allowed: all columns on a budget, or the largest ones."""
        n = self.columns.shape[1]
        return list(itertools.combinations(range(n), self.most)) if self.way == "select" else [tuple(range(n))]


def instance(seed: int) -> Instance:
    """Return the instance of a seed."""
    rng = np.random.default_rng([seed, 5])
    X, y = two_classes(rng, 3, 7)
    rows, n = X.shape
    put_in_units(rng, X, UNITS[seed % len(UNITS)])
    way = WAYS[seed // len(UNITS) % len(WAYS)]
    loss = str(rng.choice(LOSSES))
    if loss == "rec@2p" and 2 * (y > 0).sum() > rows:
        loss = "f2"
    offset = bool(rng.random() < 0.3)
    C = float(10.0 ** rng.choice([rng.uniform(-6, 6), 0.0, -6.0, 6.0]))
    able = [s for s in WHOLE if s is None or SOLVERS[s].found] if way == "extended" else [None]
    options: dict[str, Any] = {"time_limit": float(rng.choice([0.0, 0.05])) if rng.random() < 0.1 else LIMIT}
    if rng.random() < 0.1:
        options["gap"] = float(rng.choice([1e-7, 1e-2]))
    most = int(rng.integers(1, n + offset + 1))
    return Instance(X, y, C, most, loss, offset, way, able[int(rng.integers(len(able)))], options)


def labellings(loss: str, y: list[int]) -> list[tuple[Fraction, list[Fraction]]]:
    """Return (Delta, coefficients of the samples) of every labelling, by the definitions."""
    p, hundred = y.count(1), Fraction(100)
    if loss == "auc":
        pairs = [(i, j) for i, t in enumerate(y) for j, u in enumerate(y) if t > u]
        found = []
        for swapped in itertools.product((0, 1), repeat=len(pairs)):
            row = [Fraction(0)] * len(y)
            for z, (i, j) in zip(swapped, pairs, strict=True):
                row[i] += 2 * hundred * z / len(pairs)
                row[j] -= 2 * hundred * z / len(pairs)
            found.append((hundred * sum(swapped) / len(pairs), row))
        return found
    k: int | None = None
    if loss == "prbep":
        k = p
    elif "@" in loss:
        k = 2 * p if loss.endswith("p") else int(loss[-1])
    found = []
    for said in itertools.product((1, -1), repeat=len(y)):
        a = sum(t == u == 1 for t, u in zip(said, y, strict=True))
        b = said.count(1) - a
        if k is not None and a + b != k:
            continue
        if loss == "hamming":
            delta = Fraction(2 * (b + p - a))
        elif k is None:
            square = Fraction(loss[1:]) ** 2
            delta = hundred * (1 - (1 + square) * a / (a + b + square * p))
        else:
            delta = hundred * (1 - Fraction(a, k if loss.startswith("prec") else p))
        found.append((delta, [Fraction(t - u) for t, u in zip(y, said, strict=True)]))
    return found


class Truth:
    """``low`` <= optimum <= ``high``, both exact."""

    def __init__(self, made: Instance) -> None:
        self.made, X = made, [[Fraction(float(x)) for x in row] for row in made.columns]
        self.y, self.C, n = [int(t) for t in made.y], Fraction(made.C), len(made.y)
        every = labellings(made.loss, self.y)
        self.sides = [delta / n for delta, _ in every]
        self.rows = [
            [sum((c * x for c, x in zip(row, column, strict=True)), Fraction(0)) / n for column in zip(*X, strict=True)]
            for _, row in every
        ]
        at = [self._at(list(columns)) for columns in made.used]
        self.low, self.high = min(low for low, _ in at), min(high for _, high in at)

    def risk(self, w: list[Fraction], columns: list[int]) -> Fraction:
        """Return the least slack of weights over some columns."""
        slacks = (s - sum((row[j] * t for t, j in zip(w, columns, strict=True)), Fraction(0)) for s, row in self._pairs)
        return max(Fraction(0), *slacks)

    @property
    def _pairs(self) -> list[tuple[Fraction, list[Fraction]]]:
        return list(zip(self.sides, self.rows, strict=True))

    def _at(self, columns: list[int]) -> tuple[Fraction, Fraction]:
        budget = min(self.made.most, len(columns))
        zero = self.C * max(Fraction(0), *self.sides)
        if not zero:
            return Fraction(0), Fraction(0)
        w, alpha = self._solved(columns, budget, float(zero))
        points = [[Fraction(float(t)) for t in np.nan_to_num(w)]]
        high = min([zero, *(self.omega(v, budget) + self.C * self.risk(v, columns) for v in points)])
        return max(Fraction(0), self._bound(alpha, columns, budget)), high

    @staticmethod
    def omega(w: list[Fraction], budget: int) -> Fraction:
        """Return 1/2 sum w_j^2 / d_j for d as good as floating point gives it."""
        size = np.abs([float(t) for t in w])
        if np.count_nonzero(size) <= budget:
            return sum((t * t for t in w), Fraction(0)) / 2
        # d_j = min(1, |w_j| / level) with the sum B: the k largest are 1, for the k at which that is consistent
        order = np.sort(size)[::-1]
        level = next(
            level
            for k in range(budget)
            if (level := order[k:].sum() / (budget - k)) >= order[k] * (1 - 1e-14) and (k == 0 or order[k - 1] >= level)
        )
        d = [min(Fraction(1), Fraction(float(t / level)) * (1 - Fraction(1, 2**50))) for t in size]
        assert sum(d) <= budget
        return sum((t * t / u for t, u in zip(w, d, strict=True) if t), Fraction(0)) / 2

    def _solved(self, columns: list[int], budget: int, zero: float) -> tuple[np.ndarray, np.ndarray]:
        """Return weights and multipliers as good as floating point gives them, in columns of one size."""
        rows = np.array([[float(row[j]) for j in columns] for row in self.rows])
        sides, C, n = np.array([float(s) for s in self.sides]), float(self.C), len(columns)
        size = np.abs(rows).max(axis=0)
        f = np.minimum(1 / np.where(size > 0, size, np.inf), np.sqrt(2 * zero)) if n else np.ones(0)
        f = np.where(f > 0, f, np.sqrt(2 * zero))
        most = sides.max()
        many = 3 * n + 1  # u = w / f, t / f^2, d, the slack over the largest side
        cost = np.concatenate([np.zeros(n), 0.5 * f**2 / zero, np.zeros(n), [C * most / zero]])
        margins = np.hstack([rows * f / most, np.zeros((len(rows), 2 * n)), np.ones((len(rows), 1))])
        box = np.zeros((2 * n + 2, many))
        box[:n, 2 * n : 3 * n], box[n : 2 * n, 2 * n : 3 * n] = np.eye(n), -np.eye(n)
        box[2 * n, 2 * n : 3 * n], box[2 * n + 1, -1] = -1.0, 1.0
        cones = np.zeros((3 * n, many))
        for j in range(n):
            cones[3 * j, [n + j, 2 * n + j]] = 1.0
            cones[3 * j + 1, j] = 2.0
            cones[3 * j + 2, [n + j, 2 * n + j]] = 1.0, -1.0
        right = np.concatenate([sides / most, np.zeros(n), -np.ones(n), [-float(budget), 0.0], np.zeros(3 * n)])
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_threads = False, 1
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
        kinds = [clarabel.NonnegativeConeT(len(rows) + 2 * n + 2), *(clarabel.SecondOrderConeT(3) for _ in range(n))]
        matrix = sparse.csc_matrix(-np.vstack([margins, box, cones]))
        answer = clarabel.DefaultSolver(sparse.csc_matrix((many, many)), cost, matrix, -right, kinds, settings).solve()
        return np.array(answer.x)[:n] * f, np.array(answer.z)[: len(rows)] * zero / most

    def _bound(self, alpha: np.ndarray, columns: list[int], budget: int) -> Fraction:
        a = [max(Fraction(float(t)), Fraction(0)) for t in np.nan_to_num(alpha)]
        total, gain = sum(a, Fraction(0)), sum((t * s for t, s in zip(a, self.sides, strict=True)), Fraction(0))
        if gain <= 0:
            return Fraction(0)
        c = [sum((t * row[j] for t, row in zip(a, self.rows, strict=True)), Fraction(0)) for j in columns]
        loss = sum(sorted((t * t for t in c), reverse=True)[:budget], Fraction(0)) / 2
        t = self.C / total if not loss else min(self.C / total, gain / (2 * loss))
        return t * gain - t * t * loss


def run(made: Instance) -> tuple[Any, np.ndarray]:
    """Return the result and all weights."""
    data, parameters = fs.Dataset.from_arrays(made.X, made.y), {"C": made.C, "loss": made.loss, "offset": made.offset}
    if made.way == "select":
        found = fs.select(data.scaled("none"), "fsmulti", max_features=made.most, **parameters, **made.options)
        model, result = found.model, found
    else:
        model = fs.multivariate.fsmulti(data, budget=made.most, form=made.way, **parameters)
        result = fs.solve(model, made.solver, **made.options)
    if result.objective is None:
        return result, np.zeros(0)
    w, b = fs.multivariate.classifier(model)
    return result, np.append(w, b) if made.offset else w


def findings(made: Instance, truth: Truth) -> list[str]:
    """Return what is wrong with an answer."""
    try:
        result, w = run(made)
    except (solvers.Error, fs.DataError) as refusal:
        return [f"refused: {refusal}"]
    status, objective, bound = result.status.value, result.objective, result.bound
    low, high = float(truth.low), float(truth.high)
    tag = f"{status} ({result.stop_reason.value}), objective {objective}, bound {bound}; truth [{low!r}, {high!r}]"
    if objective is None:
        return [f"no point: {tag} {result.message}"]
    gap, said = max(made.options.get("gap", GAP), 1e-9), []
    v = [Fraction(float(t)) for t in w]
    at = float(truth.omega(v, made.most) + truth.C * truth.risk(v, list(range(len(v)))))
    terms = 1 + np.abs(made.columns) @ np.abs(w)
    noise = 64 * EPS * made.C * 100 * float(terms.sum())
    floor = noise + 2e-9 * high + (1e-5 * high if made.way == "extended" else 0.0)
    if bound is not None and bound > high + floor:
        said.append(f"invalid: {tag}")
    if status == "optimal" and objective > high * (1 + gap) + floor:
        said.append(f"false: {tag}")
    if status == "optimal" and (result.gap is None or result.gap > gap):
        said.append(f"contradiction: {tag}")
    if objective < low - floor or objective < at - floor:
        said.append(f"dishonest: {tag}; exact {at!r} at the point")
    if made.way == "select" and np.count_nonzero(w) > made.most:
        said.append(f"not allowed: {w.tolist()}; {tag}")
    if status == "feasible" and result.stop_reason.value == "converged" and made.way != "select":
        said.append(f"unproven: {tag} {result.message}")
    return said


def assert_right(seed: int) -> None:
    """Solve and compare."""
    made = instance(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrong = [f for f in findings(made, Truth(made)) if not f.startswith("unproven")]
    assert not wrong, (seed, made.way, made.solver, made.loss, made.options, wrong)


# Once wrong: called optimal, or below what is possible, with C = 1e-6; no point at a limit; 60 times the optimum.
FOUND = [4, 14, 16, 19, 34, 41, 73, 105, 137, 164, 195]


@pytest.mark.parametrize("seed", [*range(0, 200, 9), *FOUND])
def test_a_nasty_instance(seed):
    assert_right(seed)


@pytest.mark.slow
def test_nasty_instances():
    """200 instances; FSMODELS_SOAK=10 makes 2,000."""
    for seed in range(1000, 1000 + max(1, round(200 * SOAK))):
        assert_right(seed)
