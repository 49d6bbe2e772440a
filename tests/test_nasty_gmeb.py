"""Small nasty instances of GMEB against bounds and attained values in rational arithmetic.

Nothing is shared with the package. By weak duality multipliers 0 <= mu <= 1 with mu'y = 0 and any mu_+, mu_- >= 0 prove
``e'mu - mu_1 - R+ mu_+ - R- mu_-`` with ``mu_1 = max_j q_j^2 / (4 r_j)``, which has no root: it is evaluated in
fractions, as is the loss of weights shrunk until they satisfy (15). Every test is against the side that is rigorous.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import clarabel
import numpy as np
import pyomo.environ as pyo
import pytest
from scipy import sparse

import fsmodels as fs
import solvers
from nasty_data import UNITS, put_in_units, two_classes
from solvers.interfaces.registry import SOLVERS

SOAK = float(os.environ.get("FSMODELS_SOAK", "1"))
EPS, GAP, LIMIT = 2.0**-52, 1e-4, 20.0
WAYS = {
    "conic": [None, "clarabel", "scip", "gurobi", "cutting-plane"],
    "quotient": [None, "pounce"],
    "dual": [None, "clarabel", "scip", "gurobi"],
    "nonconvex": [None, "pounce"],
}


@dataclass
class Instance:
    """Data, R+ and R-, the form and who solves it."""

    X: np.ndarray
    y: np.ndarray
    R: tuple[float, float]
    form: str
    solver: str | None
    options: dict[str, Any]

    @property
    def model(self) -> pyo.ConcreteModel:
        data, R = fs.Dataset.from_arrays(self.X, self.y), {"R_plus": self.R[0], "R_minus": self.R[1]}
        if self.form in ("conic", "quotient"):
            return fs.gmeb.primal(data, **R, form=self.form)
        return getattr(fs.gmeb, self.form)(data, **R)


def instance(seed: int) -> Instance:
    """Return the instance of a seed."""
    rng = np.random.default_rng([seed, 15])
    X, y = two_classes(rng, 4, 15)
    if rng.random() < 0.2:
        y[1:] = -1.0
    put_in_units(rng, X, UNITS[seed % len(UNITS)])
    both = 10.0 ** rng.choice([0.0, rng.uniform(-4, 6), rng.uniform(-4, 6)], 2)
    R = float(both[0]), float(both[int(rng.integers(2))])
    form = list(WAYS)[seed // len(UNITS) % len(WAYS)]
    able = [s for s in WAYS[form] if s not in SOLVERS or SOLVERS[s].found]
    options: dict[str, Any] = {"time_limit": float(rng.choice([0.0, 0.05])) if rng.random() < 0.1 else LIMIT}
    if rng.random() < 0.1:
        options["gap"] = float(rng.choice([1e-7, 1e-2]))
    return Instance(X, y, R, form, able[int(rng.integers(len(able)))], options)


class Truth:
    """``low`` <= optimum <= ``high``, both exact."""

    def __init__(self, made: Instance) -> None:
        self.y = [int(t) for t in made.y]
        exact = [[Fraction(float(x)) for x in row] for row in made.X]
        means = [sum(column, Fraction(0)) / len(column) for column in zip(*exact, strict=True)]
        self.X = [[x - m for x, m in zip(row, means, strict=True)] for row in exact]
        self.means, self.R = means, [Fraction(r) for r in made.R]
        self.v = [[self._square(column, k) for column in zip(*self.X, strict=True)] for k in (1, -1)]
        self.varying = [j for j in range(made.X.shape[1]) if self.v[0][j] + self.v[1][j] > 0]
        self.z = np.array([[float(x) for x in row] for row in self.X])
        self.low, self.high = Fraction(0), Fraction(2 * min(self.y.count(1), self.y.count(-1)))
        if not self.varying:
            self.low = self.high
            return
        w, s, mu = self._solved()
        self.low = max(self._bound(mu), self._bound(np.ones(len(mu))))
        self.high = min(self.high, self._attained(w, s))

    def _square(self, column: tuple[Fraction, ...], k: int) -> Fraction:
        mine = [x * x for x, t in zip(column, self.y, strict=True) if t == k]
        return sum(mine, Fraction(0)) / len(mine)

    def _solved(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return weights and s over the varying columns, and multipliers, as good as floating point gives them."""
        share = np.array([[float(v[j] / r) for j in self.varying] for v, r in zip(self.v, self.R, strict=True)])
        total = share.sum(axis=0)
        z = self.z[:, self.varying] / np.sqrt(total)
        rows, n = z.shape
        y = np.array(self.y, dtype=float)
        eye, tail = np.eye(n), np.zeros((n, 1 + rows))
        margins = np.hstack([z * y[:, None], np.zeros((rows, 2 * n)), y[:, None], np.eye(rows)])
        slack = np.hstack([np.zeros((rows, 3 * n + 1)), np.eye(rows)])
        sums = np.zeros((3, 3 * n + 1 + rows))
        sums[0, 2 * n : 3 * n] = -1.0
        sums[1:, n : 2 * n] = -share / total
        cones = [
            np.vstack(
                [np.hstack([p * eye[j] for p in part] + [tail[j]]) for part in ((0, 1, 1), (2, 0, 0), (0, 1, -1))]
            )
            for j in range(n)
        ]
        A = -np.vstack([margins, slack, sums, *cones])
        b = np.concatenate([-np.ones(rows), np.zeros(rows), np.ones(3), np.zeros(3 * n)])
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_threads = False, 1
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
        kinds = [clarabel.NonnegativeConeT(2 * rows + 3), *(clarabel.SecondOrderConeT(3) for _ in range(n))]
        cost = np.concatenate([np.zeros(3 * n + 1), np.ones(rows)])
        many = len(cost)
        answer = clarabel.DefaultSolver(
            sparse.csc_matrix((many, many)), cost, sparse.csc_matrix(A), b, kinds, settings
        ).solve()
        x = np.array(answer.x)
        return x[:n] / np.sqrt(total), x[n : 2 * n] / total, np.array(answer.z)[:rows]

    def _bound(self, mu: np.ndarray) -> Fraction:
        a = [min(max(Fraction(float(t)), Fraction(0)), Fraction(1)) for t in np.nan_to_num(mu)]
        sides = {k: sum((t for t, u in zip(a, self.y, strict=True) if u == k), Fraction(0)) for k in (1, -1)}
        least = min(sides.values())
        if not least:
            return Fraction(0)
        a = [t * least / sides[u] for t, u in zip(a, self.y, strict=True)]
        a = [t / max(a) for t in a]
        q = [
            sum((t * u * row[j] for t, u, row in zip(a, self.y, self.X, strict=True)), Fraction(0))
            for j in self.varying
        ]
        plus, minus = (np.array([float(v[j] / r) for j in self.varying]) for v, r in zip(self.v, self.R, strict=True))
        size = np.abs([float(t) for t in q])

        def norm(h: float) -> float:
            return float(np.max(size / np.sqrt((1 - h) * plus + h * minus)))

        inside = np.concatenate([np.geomspace(1e-9, 0.5, 200), 1 - np.geomspace(1e-9, 0.5, 200)])
        h = min(inside.tolist(), key=norm)
        step = 0.3 * min(h, 1 - h)
        while step > 1e-15:
            h = min([h, h - step, h + step], key=norm)
            step *= 0.7
        half = Fraction(norm(h)) / 2
        prices = half * (1 - Fraction(h)) / self.R[0], half * Fraction(h) / self.R[1]
        r = [prices[0] * self.v[0][j] + prices[1] * self.v[1][j] for j in self.varying]
        first = max((t * t / (4 * u) for t, u in zip(q, r, strict=True) if t), default=Fraction(0))
        return max(Fraction(0), sum(a, Fraction(0)) - first - prices[0] * self.R[0] - prices[1] * self.R[1])

    def _attained(self, w: np.ndarray, s: np.ndarray) -> Fraction:
        v = [Fraction(float(t)) for t in np.nan_to_num(w)]
        scaling = [max(Fraction(float(t)), Fraction(1, 10**300)) for t in np.nan_to_num(s)]
        used = max(
            sum((u[j] * t for t, j in zip(scaling, self.varying, strict=True)), Fraction(0)) / r
            for u, r in zip(self.v, self.R, strict=True)
        )
        ratio = sum((t * t * used / u for t, u in zip(v, scaling, strict=True)), Fraction(0))
        shrink = Fraction(1)
        if ratio:
            shrink = Fraction(1 / float(ratio) ** 0.5 * (1 - 4 * EPS))
            assert shrink * shrink * ratio <= 1
        return min(self.loss([c * t for t in v]) for c in {shrink, min(shrink, Fraction(1))})

    def loss(self, v: list[Fraction], b: Fraction | None = None) -> Fraction:
        """Return the loss of weights over the varying columns at an offset for centred columns, the best by default."""
        scores = [sum((t * row[j] for t, j in zip(v, self.varying, strict=True)), Fraction(0)) for row in self.X]

        def cost(b: Fraction) -> Fraction:
            return sum((max(Fraction(0), 1 - t * (u + b)) for t, u in zip(self.y, scores, strict=True)), Fraction(0))

        return cost(b) if b is not None else min(cost(t - u) for t, u in zip(self.y, scores, strict=True))

    def norm(self, w: list[float]) -> float:
        """Return max over h of (sum_j |w_j| sqrt(r_j(h)))^2: at most 1 for weights of (15)."""
        plus, minus = ([float(u / r) for u in v] for v, r in zip(self.v, self.R, strict=True))
        size = np.abs(np.asarray(w, dtype=float))
        grid = np.linspace(0, 1, 2001)[:, None]
        return float((np.sqrt((1 - grid) * plus + grid * minus) @ size).max() ** 2)


def findings(made: Instance, truth: Truth) -> list[str]:
    """Return what is wrong with an answer."""
    try:
        model = made.model
        result = fs.solve(model, made.solver, **made.options)
    except (solvers.Error, fs.DataError) as refusal:
        return [] if not truth.varying else [f"refused: {refusal}"]
    status, objective, bound = result.status.value, result.objective, result.bound
    low, high = float(truth.low), float(truth.high)
    tag = f"{status} ({result.stop_reason.value}), objective {objective}, bound {bound}; truth [{low!r}, {high!r}]"
    if objective is None:
        return [f"no point: {tag} {result.message}"]
    local = made.form == "nonconvex"
    gap, said = max(made.options.get("gap", GAP), 1e-9), []
    # columns around 1e8 are centred to 1e-8 of their spread; NLP solvers have the floor under s, and their tolerances
    floor = 1e-6 * high + 64 * EPS * len(truth.y) + (1e-5 * len(truth.y) if made.form == "quotient" else 0.0)
    if made.form == "dual":
        beyond, short, under = objective > high + floor, objective < low * (1 - gap) - floor, bound is not None
        under = under and bound < low - floor
    else:
        beyond, short = objective < low - floor, objective > high * (1 + gap) + floor
        under = bound is not None and bound > high + floor
        w, offset = [float(v) for v in pyo.value(model.w[:])], float(pyo.value(model.offset))
        v = [Fraction(w[j]) for j in truth.varying]
        at = float(truth.loss(v, Fraction(offset)))
        noise = 16 * EPS * float((1 + abs(offset) + np.abs(truth.z) @ np.abs(w)).sum())
        if objective < at - noise - 1e-9 * high - (floor if any(truth.means) else 0.0):
            said.append(f"dishonest: {tag}; exact {at!r} at the point")
        if truth.norm(w) > 1 + 1e-6:
            said.append(f"not allowed: norm {truth.norm(w)}; {tag}")
    if beyond:
        said.append(f"impossible: {tag}")
    if under:
        said.append(f"invalid: {tag}")
    if status == "optimal" and short:
        said.append(f"false: {tag}")
    if status == "optimal" and (local or result.gap is None or result.gap > gap):
        said.append(f"contradiction: {tag}")
    if not local and status == "feasible" and result.stop_reason.value == "converged":
        said.append(f"unproven: {tag} {result.message}")
    return said


def assert_right(seed: int) -> None:
    """Solve and compare."""
    made = instance(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrong = [f for f in findings(made, Truth(made)) if not f.startswith("unproven")]
    assert not wrong, (seed, made.form, made.solver, made.options, made.R, wrong)


@pytest.mark.parametrize("seed", range(0, 200, 9))
def test_a_nasty_instance(seed):
    assert_right(seed)


@pytest.mark.slow
def test_nasty_instances():
    """200 instances; FSMODELS_SOAK=10 makes 2,000."""
    for seed in range(1000, 1000 + max(1, round(200 * SOAK))):
        assert_right(seed)
