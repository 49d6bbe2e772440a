"""The families of the command line as the matrix of edits needs them, and their optima by every support."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import clarabel
import numpy as np
from scipy import sparse

import fsmodels as fs
from edits import FEATURES, HALF, Edit, N, X, Y
from fsmodels.datasets.prepare import Interaction

SOLVED = (clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved)
ENDLESS = (clarabel.SolverStatus.DualInfeasible, clarabel.SolverStatus.AlmostDualInfeasible)


@cache
def data() -> fs.Dataset:
    """The samples of ``edits``, with the half that each belongs to, and ``d`` called the product of ``a`` and ``b``."""
    made = fs.Dataset.from_arrays(X, Y, features=list(FEATURES)).scaled("none").with_aside(half=HALF)
    return replace(made, products={"d": Interaction("a", "b", (0.0, 0.0), (1.0, 1.0))})


@dataclass(frozen=True)
class Hinge:
    """A family that minimises ``l2 |w|^2 / 2 + l1 |w|_1``, prices, and weighted hinge losses over supports."""

    l2: float = 0.0
    l1: float = 0.0
    by_class: bool = False
    price: bool = False
    most: int = N
    step: Callable[[np.ndarray], np.ndarray] | None = None  # priced in place of the support

    def shares(self, given: Mapping[str, float]) -> np.ndarray:
        """The weight of each sample's slack."""
        y = data().y
        if not self.by_class:
            return np.full(len(y), given.get("C", 1.0))
        share = np.where(y > 0, 1.0 / np.sum(y > 0), 1.0 / np.sum(y < 0))
        return share * (1.0 - given["penalty"] if self.price else 1.0)

    def value(self, w: np.ndarray, b: float, used: frozenset[str], given: Mapping[str, float], edit: Edit) -> float:
        """The objective at a classifier, from the data, with what the edit adds."""
        hinge = np.maximum(0.0, 1.0 - data().y * (data().X @ w + b))
        hinge[list(edit.off)] = 0.0
        price = given.get("penalty", 0.0) if self.price else 0.0
        steps = len(used) if self.step is None else float(self.step(np.abs(w)).sum())
        own = 0.5 * self.l2 * (w @ w) + self.l1 * np.abs(w).sum() + self.shares(given) @ hinge + price * steps
        return float(own) + edit.cost(w, used)

    def optimum(self, given: Mapping[str, float], edit: Edit) -> float:
        """The least over all supports that the edit allows."""
        most = int(given.get("max_features", self.most))
        supports = (frozenset(s) for k in range(most + 1) for s in itertools.combinations(FEATURES, k))
        return min(self._at(s, given, edit) for s in supports if edit.allowed(s))

    def _at(self, used: frozenset[str], given: Mapping[str, float], edit: Edit) -> float:
        X, y = data().X, data().y
        m, size = len(y), 2 * N + 1 + len(y)  # w, b, xi, |w|
        eye = np.eye(size)
        w, b, xi, big = eye[:N], eye[N], eye[N + 1 : N + 1 + m], eye[N + 1 + m :]
        P = sparse.diags((self.l2 + 2 * edit.ridge) * w.sum(axis=0)).tocsc()
        q = np.array(edit.slope) @ w + self.shares(given) @ xi + self.l1 * big.sum(axis=0)
        zero = [(w[j], 0.0) for j, name in enumerate(FEATURES) if name not in used]
        rows = [(y[i] * (X[i] @ w + b) + xi[i], 1.0) for i in range(m) if i not in edit.off]
        rows += [(v, 0.0) for v in (*xi, *(big - w), *(big + w))]
        for a, lo, up in edit.rows:
            line = np.array(a) @ w
            if lo == up:
                zero.append((line, lo))
            else:
                rows += [(line, lo)] if np.isfinite(lo) else []
                rows += [(-line, -up)] if np.isfinite(up) else []
        if np.isfinite(edit.sizes):
            rows.append((-big.sum(axis=0), -edit.sizes))
        cones = [clarabel.ZeroConeT(len(zero)), clarabel.NonnegativeConeT(len(rows))]
        lines = [(-v, -side) for v, side in (*zero, *rows)]
        if np.isfinite(edit.ball):
            lines += [(np.zeros(size), edit.ball**0.5), *((-v, 0.0) for v in w)]
            cones.append(clarabel.SecondOrderConeT(N + 1))
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        A = sparse.csc_matrix(np.array([v for v, _ in lines]))
        answer = clarabel.DefaultSolver(P, q, A, np.array([side for _, side in lines]), cones, settings).solve()
        if answer.status in ENDLESS:
            return -np.inf
        if answer.status not in SOLVED:
            return np.inf
        price = given.get("penalty", 0.0) * len(used) if self.price else 0.0
        return answer.obj_val + price + edit.price(used)


@dataclass(frozen=True)
class Family:
    """One name of the command line. ``changed``: the parameter that an edit changes, and how; ``exact``: it proves.

    ``hinge``: what it minimises, where that is one of these.
    """

    name: str
    given: Mapping[str, Any] = field(default_factory=dict)
    hinge: Hinge | None = None
    exact: bool = False
    changed: tuple[str, float] | None = None


_C, _MOST, _SHARE = ("C", 2.0), {"max_features": 2}, {"penalty": 0.1}
_KERNEL = {"C": 1.0, "penalty": 0.1}
_RADII = {"R_plus": 2.0, "R_minus": 2.0}

FAMILIES = [
    Family("svm", {}, Hinge(l2=1.0), True, _C),
    Family("one-norm-svm", {}, Hinge(l1=1.0), True, _C),
    Family("robust-lp", {}, Hinge(by_class=True), True),
    Family("fsp-m", _MOST, Hinge(l2=1.0), True, _C),
    Family("fsp-lambda", {"penalty": 0.5}, Hinge(l2=1.0, price=True), True, _C),
    Family("fs", _SHARE, Hinge(by_class=True, price=True), True, ("penalty", 0.15)),
    Family("fsl", _SHARE, Hinge(by_class=True, price=True), True, ("penalty", 0.15)),
    Family("fsv", _SHARE, Hinge(by_class=True, price=True, step=lambda v: 1 - np.exp(-5 * v)), False,
           ("penalty", 0.15)),
    Family("fss", _SHARE, Hinge(by_class=True, price=True, step=lambda v: 1 / (1 + np.exp(-5 * v))), False,
           ("penalty", 0.15)),
    Family("fsb", _SHARE, None, False, ("penalty", 0.15)),
    Family("obd", _SHARE, Hinge(by_class=True), False),
    Family("gmeb", _RADII),
    Family("gmeb-dual", _RADII),
    Family("gmeb-nonconvex", _RADII),
    Family("fsmulti", _MOST, None, False, _C),
    Family("full-fs", _KERNEL),
    Family("ao-simple", _KERNEL),
    Family("ao-margin", _KERNEL),
    Family("ao-efs", _KERNEL),
    Family("gmkl", _KERNEL),
    Family("rfe", _MOST),
    Family("information-gain", _MOST),
    Family("mutual-information", _MOST),
    Family("relief", _MOST),
]  # fmt: skip
