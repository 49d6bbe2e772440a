r"""The certificate of an exact selection: a separate tree search that proves the objective that was found.

Problem
    f(sigma) = p.sigma + q(sigma) over A sigma <= b and boxes of {0, 1}^n, as in ``certificates.verify``; the objective
    v is known, and every leaf must prove v - gap |v|.
Method
    Depth-first search, with entries as in ``certificates.verify``. For each box, after the rows have fixed values:

    1. The pool: if multipliers of one of the last parts prove the cutoff here, they close the box.
    2. The joint relaxation gives alpha and theta. They close the box, or exclude the values whose reduced cost is too
       large.
    3. Branch on the column with the largest min(sigma_j, 1 - sigma_j) v_j^2. If all are fixed, SUB gives alpha.

    The proof does not depend on the tree of the driver, and ``certificates.verify`` checks it again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.visitor import identify_variables

from fsmodels.certificates.document import CertificateFile, write
from fsmodels.certificates.verify import BRANCH, CLOSED, EMPTY, GIVEN_UP, Entry, OneSided, narrow
from fsmodels.errors import ModelError
from fsmodels.models.fsp.oracle import SvmOracle
from fsmodels.models.fsp.oracle.problem import Rows
from fsmodels.models.shares import slack_weights
from fsmodels.selection.catalogue import MODELS
from fsmodels.selection.outcome import Outcome
from fsmodels.text import listed
from solvers.facts import LinearRows, facts_of
from solvers.facts.base import built_of
from solvers.result import DEFAULT_GAP, is_closed

USED = 0.9  # share of the gap; the rest is for the rounding of the file and of the check
POOL = 64  # multipliers of the last leaves
WHOLE = 1e-6  # distance from 0 or 1 below which a value is integral
TIGHT = 1e-8  # relative gap of SUB
Array = np.ndarray[Any, np.dtype[Any]]


def prove(found: Outcome) -> CertificateFile:
    """Return the certificate of a selection by fsp-m or fsp-lambda with rows on sigma.

    Raises ModelError: another model, an edit of its subproblem or costs, no selection, or one that is not proven.
    """
    model, data = found.model, found.data
    if not MODELS[found.name].certifies or model is None:
        able = listed(name for name, spec in MODELS.items() if spec.certifies)
        raise ModelError(f'A certificate exists for {able}, and this is "{found.name}".')
    if found.classifier is None or found.objective is None:
        raise ModelError("There is no selection, so there is no certificate.")
    gap = found.result.options.get("gap")
    gap = DEFAULT_GAP if gap is None else float(gap)
    if not is_closed(found.objective, found.bound, gap + 1e-6, found.result.resolution):
        raise ModelError(
            f"The selection is not proven yet (gap {found.gap or 1:.2g}): a certificate needs the gap closed."
        )
    rows = _rows_on_sigma(model)
    chosen = np.isin(data.features, found.selected).astype(float)
    if not narrow(chosen.copy(), chosen.copy(), OneSided.of(rows.matrix, rows.lower, rows.upper)):
        raise ModelError(
            "The selection violates rows of the model: they have changed, or hold only within the tolerance of a "
            "solver. Solve the model again."
        )
    price = np.zeros(data.n_features)
    if found.name == "fsp-lambda":
        price = np.array([pyo.value(model.penalty[j]) for j in model.features])
    loss = found.parameters.get("loss", "hinge")
    C = float(found.parameters["C"])
    free_b = bool(found.parameters.get("intercept", True))
    weights, kept = slack_weights(data), data.counting
    svm = SvmOracle(kept.X, kept.y, C * slack_weights(kept), loss, free_b=free_b)
    proof = _Proof(svm, price, rows, found.objective - USED * gap * abs(found.objective))
    proof.close()
    named = [
        {
            "name": name,
            "coefficients": {data.features[j]: float(a[j]) for j in np.flatnonzero(a)},
            "lower": None if math.isinf(low) else float(low),
            "upper": None if math.isinf(high) else float(high),
        }
        for name, a, low, high in zip(rows.names, rows.matrix, rows.lower, rows.upper, strict=True)
    ]
    taken, prices = set(found.selected), C * weights
    same = bool((prices == prices[0]).all())
    stated = {
        "model": found.name,
        "problem": {
            "price": price.tolist(),
            "C": float(prices[0]) if same else prices.tolist(),
            "loss": loss,
            "rows": named,
            **({} if free_b else {"intercept": 0.0}),
        },
        "incumbent": {
            "selected": [name for name in data.features if name in taken],
            "weights": {name: w for name, w in found.weights.items() if name in taken and w},
            "bias": found.bias,
        },
        "objective": found.objective,
        "gap": gap,
    }
    return write(data, stated, proof.tree, [_of_all(alpha, weights) for alpha in proof.alphas])


def _of_all(alpha: Array, weights: Array) -> Array:
    """Return multipliers of all samples, 0 for excluded samples."""
    if alpha.size == weights.size:
        return alpha
    whole = np.zeros(weights.size)
    whole[weights > 0] = alpha
    return whole


@dataclass(frozen=True)
class _SigmaRows:
    names: list[str]
    matrix: Array
    lower: Array
    upper: Array


def _rows_on_sigma(model: pyo.ConcreteModel) -> _SigmaRows:
    """Return the rows and bounds on sigma. Raises ModelError: other parts of the model were edited."""
    facts, sigma = facts_of(model), list(model.sigma.values())
    assert facts is not None
    built, own = built_of(model), {id(v) for v in sigma}
    stated = built.stated_by_rows()
    on_sigma, edits = [], [v.name for v in built.changed_variables() if id(v) not in own]
    for row in model.component_data_objects(pyo.Constraint, active=True):
        if all(id(v) in own for v in identify_variables(row.body)):
            on_sigma.append(row)
        elif stated.pop(id(row), None) is not row.expr:
            edits.append(row.name)
    edits += [
        row.name
        for row in built.rows
        if id(row) in stated and any(id(v) not in own for v in identify_variables(row.expr))
    ]
    if edits or not built.same_cost() or len(built.same_named()) < len(built.named):
        what = listed(edits) or "the objective"
        raise ModelError(f"A certificate needs edits on sigma only, and {what} was added, changed or deactivated.")
    linear = LinearRows.of(on_sigma, sigma, [], 1.0)
    names, matrix = [row.name for row in on_sigma], linear.matrix.toarray()
    lower, upper = linear.lower, linear.upper
    fixed = np.flatnonzero((linear.x_lower > 0) | (linear.x_upper < 1))
    unit = np.eye(len(sigma))[fixed]
    return _SigmaRows(
        [*names, *(f"bounds of {sigma[j].name}" for j in fixed)],
        np.vstack([matrix, unit]),
        np.append(lower, np.ceil(linear.x_lower[fixed] - WHOLE)),
        np.append(upper, np.floor(linear.x_upper[fixed] + WHOLE)),
    )


@dataclass
class _Proof:
    """Search that closes boxes at ``cutoff``; ``tree`` and ``alphas`` are the content of the certificate."""

    oracle: SvmOracle
    price: Array
    rows: _SigmaRows
    cutoff: float
    tree: list[Entry] = field(default_factory=list)
    alphas: list[Array] = field(default_factory=list)

    def __post_init__(self) -> None:
        rows = self.rows
        self._sided = OneSided.of(rows.matrix, rows.lower, rows.upper)
        equal = rows.lower == rows.upper
        above, below = np.isfinite(rows.upper), np.isfinite(rows.lower) & ~equal
        self._owner = np.append(np.flatnonzero(above), np.flatnonzero(below))
        self._sign = np.append(np.ones(above.sum()), -np.ones(below.sum()))
        matrix = self._sign[:, None] * rows.matrix[self._owner]
        sides = np.append(rows.upper[above], -rows.lower[below])
        self._rows = Rows(matrix, sides, np.append(equal[above], np.zeros(below.sum(), dtype=bool)))
        n = self.price.size
        self._number = np.zeros(POOL, dtype=int)
        self._constant, self._slopes = np.full(POOL, -np.inf), np.zeros((POOL, n))
        self._theta, self._kept = np.zeros((POOL, len(sides))), 0

    def close(self) -> None:
        """Close all boxes. Raises ModelError: a box cannot be closed."""
        n = self.price.size
        todo = [(np.zeros(n), np.ones(n))]
        while todo:
            lower, upper = todo.pop()
            if not narrow(lower, upper, self._sided):
                self.tree.append(Entry(EMPTY))
            elif not self._by_pool(lower, upper):
                todo += self._process(lower, upper)

    def _least(self, constant: Any, slopes: Array, theta: Array, lower: Array, upper: Array) -> tuple[Any, Array]:
        """Return the bounds of multipliers (rows) on a box, and the reduced costs."""
        d = self.price + slopes + theta @ self._rows.matrix
        return constant - theta @ self._rows.sides + np.minimum(d * lower, d * upper).sum(axis=-1), d

    def _by_pool(self, lower: Array, upper: Array) -> bool:
        """Close a box by multipliers of another box; return True if it is closed."""
        bounds, _ = self._least(self._constant, self._slopes, self._theta, lower, upper)
        k = int(np.argmax(bounds))
        if bounds[k] >= self.cutoff:
            self._enter(CLOSED, int(self._number[k]), self._theta[k])
        return bool(bounds[k] >= self.cutoff)

    def _enter(self, kind: int, number: int, theta: Array, columns: tuple[int, ...] = ()) -> None:
        multipliers = np.zeros(self.rows.lower.size)
        np.add.at(multipliers, self._owner, self._sign * theta)
        self.tree.append(Entry(kind, number, multipliers, columns))

    def _store(self, alpha: Array, constant: float, slopes: Array, theta: Array) -> int:
        """Store multipliers; return their number."""
        k = self._kept % POOL
        self._kept += 1
        self._number[k], self._constant[k] = len(self.alphas), constant
        self._slopes[k], self._theta[k] = slopes, theta
        self.alphas.append(alpha)
        return len(self.alphas) - 1

    def _process(self, lower: Array, upper: Array) -> list[tuple[Array, Array]]:
        """Close a box, exclude values, or branch; return the remaining boxes, the next one last."""
        free = lower < upper
        if not free.any():
            self._close_point(lower)
            return []
        enough = self.cutoff + 1e-6 * abs(self.cutoff)
        relaxed = self.oracle.relax(self.price, self._rows, lower, upper, accuracy=1e-4, enough=enough)
        if relaxed is None:
            return self._branch(lower, upper, int(np.flatnonzero(free)[0]))
        answer, v = relaxed
        slopes, theta = -0.5 * v**2, answer.theta
        bound, d = self._least(answer.constant, slopes, theta, lower, upper)
        costly = np.flatnonzero(free & (bound + np.abs(d) >= self.cutoff))
        if bound >= self.cutoff:
            self._enter(CLOSED, self._store(answer.alpha, answer.constant, slopes, theta), theta)
            return []
        if costly.size:
            number = self._store(answer.alpha, answer.constant, slopes, theta)
            signed = tuple(int(j) + 1 if d[j] > 0 else -int(j) - 1 for j in costly)
            self._enter(GIVEN_UP, number, theta, signed)
            lower[costly] = upper[costly] = np.where(d[costly] > 0, 0.0, 1.0)
            if not narrow(lower, upper, self._sided):
                self.tree.append(Entry(EMPTY))
                return []
            free = lower < upper
            if not free.any():
                self._close_point(lower)
                return []
        undecided = np.minimum(answer.x, 1.0 - answer.x) * v**2
        return self._branch(lower, upper, int(np.argmax(np.where(free, undecided, -1.0))))

    def _close_point(self, chosen: Array) -> None:
        """Close a single selection by the multipliers of SUB."""
        answer = self.oracle.solve(chosen, TIGHT)
        slopes, none = -0.5 * answer.v**2, np.zeros(self._rows.sides.size)
        constant = answer.bound - float(slopes @ chosen)
        bound, _ = self._least(constant, slopes, none, chosen, chosen)
        if bound < self.cutoff:
            raise ModelError(
                f"Features {np.flatnonzero(chosen).tolist()} have the objective {answer.value:.9g}, which is better "
                "than the selection by more than the gap: solve again with a smaller gap."
            )
        self._enter(CLOSED, self._store(answer.alpha, constant, slopes, none), none)

    def _branch(self, lower: Array, upper: Array, j: int) -> list[tuple[Array, Array]]:
        self.tree.append(Entry(BRANCH, columns=(j,)))
        down, up = upper.copy(), lower.copy()
        down[j], up[j] = 0.0, 1.0
        return [(up, upper), (lower.copy(), down)]
