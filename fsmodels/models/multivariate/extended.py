r"""The risk of FSmulti by a polynomial number of rows in place of one row for each of the 2^n labellings.

Problem
    With the scores s_i = w.x_i, (5) has ``n xi >= max over y' in Y of Delta(y, y') - sum_i (y_i - y'_i) s_i``. Each
    maximum below is the value of a linear program. Its dual is a minimum on the larger side of a row, so that its
    variables and rows can be stated in the model.
Sum of the k largest
    The sum of the k largest of z_1, ..., z_r is ``max {z.v : 0 <= v <= 1, sum v = k}``. The vertices of this polytope
    are 0/1, and by duality the maximum is

    .. math:: \min_{t,\ u \ge 0}\ k t + \textstyle\sum_i u_i \quad \text{s.t.}\ u_i \ge z_i - t,

    attained where t is the k-th largest. Without the row ``sum v = k`` there is no t: the sum of max(0, z_i).
Losses by the contingency table
    Let c positive samples be labelled -1 and b negative ones +1. y_i - y'_i is 2 for the former, -2 for the latter and
    0 for all others. Delta depends on c and b only. The worst labelling of a table therefore flips the c largest -2 s_i
    of the positive samples, whose sum is P_c, and the b largest 2 s_i of the negative samples, whose sum is N_b:

    .. math::
        n \xi \ge \Delta(c, b) + P_c + N_b                          && \forall (c, b) \in Y \\
        P_c \ge c\, t_c + \textstyle\sum_i u_{ci},\quad u_{ci} \ge -2 s_i - t_c,\quad u \ge 0  && c = 1, \dots, p

    and the same for N_b with 2 s_i. P_0 = N_0 = 0. These are p^2 + q^2 + (p + 1)(q + 1) + p + q rows. ``FBeta`` and any
    ``Loss`` with ``delta`` are stated so.
k samples labelled +1 (PRBEP, Rec@k, Prec@k)
    With v_i = 1 where y'_i = 1, ``-sum_i (y_i - y'_i) s_i = -2 sum_pos s_i + 2 sum_i v_i s_i`` and
    ``Delta = 100 - 100/m sum_pos v_i``, m = p or k as in ``measures``. The maximum over ``sum v = k`` is one sum of k
    largest: n + 1 rows

    .. math::
        n \xi \ge 100 - 2 \textstyle\sum_{y_i = 1} s_i + k t + \sum_i u_i,\quad
        u_i \ge 2 s_i - [y_i = 1]\, 100/m - t,\quad u \ge 0

    y itself need not be in Y, so that xi >= 0 stays.
Sums over samples or pairs (Hamming, AUC)
    Each flip is independent: ``n xi >= sum_i u_i, u_i >= 2 - 2 y_i s_i`` (n + 1 rows), and for AUC
    ``n xi >= 100/(p q) sum_ij u_ij, u_ij >= 1 - 2 (s_i - s_j)`` (p q + 1 rows), u >= 0.
Bound
    Multipliers of the rows, divided by the sum of those of the labelling rows, are a mixture of tables and a v for
    each. Clipped to [0, 1] and with its sum corrected to k, v is in the polytope exactly. By the duality above a
    mixture is a row ``n xi >= delta + g.s`` that holds for all w, and one row with its best multiplier proves a bound
    (``proof.LabellingRows``) for any tolerance of the solver.
Symbols
    s -> ``s`` (samples; score), rows ``score``; u, t -> ``u``, ``threshold``, rows ``excess``; P, N -> ``P`` (0..p),
    ``N`` (0..q) with ``threshold_P``, ``u_P``, rows ``sum_P``, ``excess_P``, and the same for N; the rows on xi ->
    ``labelling``. All are in units of Delta.
Class
    SOCP with the cones and the budget of (5); MISOCP with ``sigma``.
Certificate
    exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression
from scipy import sparse

from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import ParameterError
from fsmodels.models.components import add_rows, rows_of
from fsmodels.models.multivariate.labellings import FloatArray, Labels, Table
from fsmodels.models.proofs.certified import write
from fsmodels.models.proofs.equilibration import SharedByClones

__all__ = ["Largest", "Program", "Tables", "add_scores", "program_of", "why_lazy"]

MOST_ROWS = 20_000  # of a complete model by default
MOST_CELLS = 5_000_000  # of its data; half a million take 0.7 s as rows of a Pyomo model
EXCESS = "(18) u is at least a term less the threshold"
METHODS = ("value", "most_violated", "largest", "delta")


@dataclass(frozen=True, eq=False)
class Largest(SharedByClones):
    """The maximum ``constant + linear.s + max over v of v.(sides + slopes s)``, 0 <= v <= weight, sum v = k weight.

    ``linear`` (n,), ``sides`` (R,), ``slopes`` (R, n) in CSR, ``index``: of the R terms. ``k`` None: no row on sum v.
    """

    constant: float
    linear: FloatArray
    sides: FloatArray
    slopes: Any
    index: Sequence[Any]
    k: int | None = None
    weight: float = 1.0

    def state(self, model: pyo.ConcreteModel) -> list[pyo.Constraint]:
        """Add the variables and rows to a model with ``s`` and ``xi``; return the rows that ``row`` reads."""
        s, terms = list(model.s.values()), list(range(len(self.sides)))
        model.u = pyo.Var(self.index, domain=pyo.NonNegativeReals, doc="(18) excess of a term over the threshold")
        u = list(model.u.values())
        shared = []
        if self.k is not None:
            model.threshold = pyo.Var(doc="(18) the k-th largest term")
            shared = [model.threshold]
        rows, place = rows_of(self.slopes), dict(zip(self.index, terms, strict=True))

        def excess(m: pyo.ConcreteModel, *index: Any) -> Any:
            r = place[index if len(index) > 1 else index[0]]
            values, at = rows[r]
            coefficients = [1.0, *(1.0 for _ in shared), *(-a for a in values)]
            return _linear(coefficients, [u[r], *shared, *(s[i] for i in at)]) >= float(self.sides[r])

        threshold = "" if self.k is None else r" - \mathrm{threshold}"
        doc = rf"{EXCESS} \(u_r \ge a_r + g_r^\top s{threshold} \quad \forall\, r\)"
        model.excess = pyo.Constraint(self.index, rule=excess, doc=doc)
        used = np.flatnonzero(self.linear)
        coefficients = [float(len(s)), *(-self.linear[used]).tolist(), *(-float(self.k or 0) for _ in shared)]
        held = [model.xi, *(s[i] for i in used.tolist()), *shared, *u]
        body = _linear([*coefficients, *[-self.weight] * len(u)], held)
        threshold = "" if self.k is None else rf" + {self.k} \, \mathrm{{threshold}}"
        weight = "" if self.weight == 1 else f"{self.weight:g} "
        doc = rf"(5) n xi is at least (18), for all y' \(n \xi \ge c + h^\top s{threshold} + {weight}\sum_r u_r\)"
        model.labelling = pyo.Constraint(expr=body >= self.constant, doc=doc)
        return [model.labelling, model.excess]

    def put(self, model: Any, s: FloatArray) -> None:
        """Set u and the threshold to their optimal values at scores s (n,)."""
        z = self.sides + self.slopes @ s
        t = 0.0
        if self.k is not None:
            t = float(np.partition(z, len(z) - self.k)[len(z) - self.k])
            model.threshold.set_value(t)
        write(model.u, np.maximum(0.0, z - t))

    def row(self, multipliers: FloatArray) -> tuple[float, FloatArray] | None:
        """Return delta and g (n,) of the combination ``n xi >= delta + g.s`` of the rows by multipliers."""
        if not multipliers[0] > 0:
            return None
        v = multipliers[1:] / multipliers[0]
        if self.k is None:
            v = np.clip(v, 0.0, self.weight)
        else:
            v = _with_total(v[None], np.array([[1.0]]), np.array([[float(self.k)]]))[0]
        return self.constant + float(v @ self.sides), self.linear + self.slopes.T @ v


@dataclass(frozen=True, eq=False)
class Tables(SharedByClones):
    """The maximum over contingency tables: ``delta`` (p + 1, q + 1) by c and b, nan for tables that are not in Y."""

    y: Labels
    delta: FloatArray

    def _classes(self) -> list[tuple[str, float, list[int]]]:
        """Return name, factor of s and samples of P and N."""
        return [(name, -2.0 * y, np.flatnonzero(self.y == y).tolist()) for name, y in (("P", 1), ("N", -1))]

    def state(self, model: pyo.ConcreteModel) -> list[pyo.Constraint]:
        """Add the variables and rows to a model with ``s`` and ``xi``; return the rows that ``row`` reads."""
        for part in self._classes():
            _add_sums(model, *part)
        n, (p, q) = float(len(self.y)), np.array(self.delta.shape) - 1
        P, N = list(model.P.values()), list(model.N.values())

        def labelling(m: pyo.ConcreteModel, c: int, b: int) -> Any:
            if np.isnan(self.delta[c, b]):
                return pyo.Constraint.Skip
            return _linear([n, -1.0, -1.0], [m.xi, P[c], N[b]]) >= float(self.delta[c, b])

        model.labelling = pyo.Constraint(
            range(p + 1),
            range(q + 1),
            rule=labelling,
            doc="(5) n xi is at least Delta(c, b) + P_c + N_b "
            r"\(n \xi \ge \Delta(c, b) + P_c + N_b \quad \forall\, c, b\)",
        )
        return [model.labelling, model.excess_P, model.excess_N]

    def put(self, model: Any, s: FloatArray) -> None:
        """Set the sums, excesses and thresholds to their optimal values at scores s (n,)."""
        for name, factor, samples in self._classes():
            z = factor * s[samples]
            t = -np.sort(-z)
            u = np.maximum(0.0, z - t[:, None])
            write(model.component(f"threshold_{name}"), t)
            write(model.component(f"u_{name}"), u.ravel())
            write(model.component(name), np.append(0.0, np.arange(1, len(z) + 1) * t + u.sum(axis=1)))

    def row(self, multipliers: FloatArray) -> tuple[float, FloatArray] | None:
        """Return delta and g (n,) of the combination ``n xi >= delta + g.s`` of the rows by multipliers."""
        allowed, share = ~np.isnan(self.delta), np.zeros(self.delta.shape)
        share[allowed] = np.maximum(0.0, multipliers[: allowed.sum()])
        total = float(share.sum())
        if not total > 0:
            return None
        share, rest, g = share / total, multipliers[allowed.sum() :] / total, np.zeros(len(self.y))
        for k, (_, factor, samples) in enumerate(self._classes()):
            r = len(samples)
            most = share.sum(axis=1 - k)[1:, None]
            v = _with_total(rest[: r * r].reshape(r, r), most, np.arange(1, r + 1)[:, None] * most)
            g[samples], rest = factor * v.sum(axis=0), rest[r * r :]
        return float((share[allowed] * self.delta[allowed]).sum()), g


Program = Largest | Tables


def defined_by(loss: Any) -> str:
    """Return the method by which a loss defines its rows, "largest" or "delta"; "" if it defines neither.

    An inherited method counts only if ``value`` and ``most_violated`` are inherited from the same class or above.
    """
    order = type(loss).__mro__
    depth = {name: next(k for k, c in enumerate(order) if name in vars(c)) for name in METHODS}
    own = min(depth["value"], depth["most_violated"])
    return next((name for name in ("largest", "delta") if depth[name] <= own), "")


def program_of(loss: Any, y: Labels) -> Program:
    """Return the rows of a loss. Raises ParameterError if it does not define them."""
    by = defined_by(loss)
    if not by:
        raise ParameterError(
            f'form="extended" states Delta by contingency tables, and loss "{loss.name}" has no such definition: '
            'give the class a method delta(table), or use form="stated" or "lazy", whose rows an oracle finds.'
        )
    if by == "largest":
        return loss.largest(y)
    p, q = int(np.count_nonzero(y > 0)), int(np.count_nonzero(y < 0))
    found = [[loss.delta(Table(p - c, b, c, q - b)) for b in range(q + 1)] for c in range(p + 1)]
    return Tables(y, np.array([[np.nan if x is None else float(x) for x in row] for row in found]))


def why_lazy(loss: Any, data: Dataset) -> str:
    """Return the reason why the complete model is not the default for a loss and data; "" if it is."""
    name = f'loss "{loss.name}"'
    if not defined_by(loss):
        return f"{name} does not define Delta by contingency tables"
    n, m = data.n_samples, data.n_features
    p = int(np.count_nonzero(data.y > 0))
    rows, cells = loss.n_rows(p, n - p) + n + m, data.X.nnz if sparse.issparse(data.X) else n * m
    if rows > MOST_ROWS:
        return f"{name} takes {rows:,} rows here, and the limit of the default is {MOST_ROWS:,}"
    return f"the data have {cells:,} cells, and the limit is {MOST_CELLS:,}" if cells > MOST_CELLS else ""


def add_scores(model: pyo.ConcreteModel, X: Any) -> None:
    """Add the scores ``s`` and their rows, X (n, m)."""
    model.s = pyo.Var(model.samples, doc="(5) score w.x_i of sample i")
    doc = r"(5) s_i = w.x_i \(s_i = w^\top x_i \quad \forall\, i\)"
    terms = [(-X, list(model.w.values())), (1.0, list(model.s.values()))]
    add_rows(model, "score", model.samples, terms, doc)


def _add_sums(model: pyo.ConcreteModel, name: str, factor: float, samples: list[int]) -> None:
    """Add the sums of the k largest ``factor s_i`` over samples of a class, for every k, under a name."""
    counts = range(1, len(samples) + 1)
    of = f"the k largest {factor:+g} s_i of class {'+1' if name == 'P' else '-1'}"
    sums = pyo.Var(range(len(samples) + 1), doc=f"(18) sum of {of}")
    threshold = pyo.Var(counts, doc=f"(18) the least of {of}")
    u = pyo.Var(counts, samples, domain=pyo.NonNegativeReals, doc=f"(18) excess of {factor:+g} s_i over the threshold")
    for component, part in ((name, sums), (f"threshold_{name}", threshold), (f"u_{name}", u)):
        model.add_component(component, part)
    sums[0].fix(0.0)

    def total(m: pyo.ConcreteModel, k: int) -> Any:
        excess = [u[k, i] for i in samples]
        return _linear([1.0, -float(k), *[-1.0] * len(samples)], [sums[k], threshold[k], *excess]) >= 0.0

    def excess(m: pyo.ConcreteModel, k: int, i: int) -> Any:
        return _linear([1.0, 1.0, -factor], [u[k, i], threshold[k], m.s[i]]) >= 0.0

    threshold_k, u_ki = rf"\mathrm{{threshold}}^{name}_k", f"u^{name}_{{ki}}"
    doc = rf"(18) {name} is at least that sum \({name}_k \ge k \, {threshold_k} + \sum_i {u_ki} \quad \forall\, k\)"
    model.add_component(f"sum_{name}", pyo.Constraint(counts, rule=total, doc=doc))
    doc = rf"{EXCESS} \({u_ki} \ge {factor:+g} s_i - {threshold_k} \quad \forall\, k, i\)"
    model.add_component(f"excess_{name}", pyo.Constraint(counts, samples, rule=excess, doc=doc))


def _linear(coefficients: list[float], held: list[Any]) -> LinearExpression:
    return LinearExpression(linear_coefs=coefficients, linear_vars=held)


def _with_total(v: FloatArray, most: FloatArray, total: FloatArray) -> FloatArray:
    """Move the rows of v (K, r) into 0 <= v <= most with the sum total; most and total are (K, 1)."""
    v = np.clip(v, 0.0, most)
    r, held = v.shape[1], v.sum(axis=1, keepdims=True)
    room = r * most - held
    less = v * np.divide(total, held, out=np.ones_like(held), where=held > total)
    more = most - (most - v) * np.divide(r * most - total, room, out=np.ones_like(held), where=room > 0)
    return np.where(held > total, less, np.clip(more, 0.0, most))
