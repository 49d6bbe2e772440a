r"""Proofs from the data for GMEB: a bound from any multipliers of the margins, a classifier from any weights.

Problem
    X has the centred columns and n samples, and r_j(h) = (1 - h) v+_j / R+ + h v-_j / R-. By ``gmeb.norm`` weights
    satisfy (15) if and only if ``sum_j |w_j| sqrt(r_j(h)) <= 1`` for all h in [0, 1].
Bound
    Let 0 <= mu <= s (e where samples have no weights) with mu'y = 0, and q_j = sum_i mu_i y_i x_ij. For w of (15), any
    offset b and any h

    .. math::
        s^\top \xi \ge \textstyle\sum_i \mu_i (1 - y_i (w^\top x_i + b)) = e^\top \mu - q^\top w
        \ge e^\top \mu - k(h),\quad k(h) = \max_j |q_j| / \sqrt{r_j(h)}

    since ``q'w <= max_j (|q_j| / sqrt(r_j)) sum_j |w_j| sqrt(r_j)``. It holds for any multipliers of a solver, once
    they are clipped to [0, s] and one class is scaled down until mu'y = 0. The bound of t mu, t >= 0, is t times that
    of mu: the best t is 1 / max mu_i / s_i if the bound is positive, else 0.
Best h
    k is least where ``min_j r_j(h) / q_j^2`` is largest: a minimum of lines in h, concave. Its maximum is found by
    intersecting the two lines that attain the minimum at the ends of an interval around it, until no other line is
    below. A nonnegative concave function loses at most a share of 1e-16 if h is kept that far from 0 and 1, where
    r_j may be 0 for a q_j that is rounding.
The dual (16)
    Its objective at mu is ``e'mu - mu_1 - R+ mu_+ - R- mu_-`` with ``q_j^2 <= 4 mu_1 (mu_+ v+_j + mu_- v-_j)``. Any
    (mu_+, mu_-) is ``l ((1 - h) / R+, h / R-)``, l = R+ mu_+ + R- mu_-; then mu_1 = k(h)^2 / (4 l), and ``k^2 / (4 l) +
    l`` is least at l = k / 2: the value is e'mu - k(h), with mu_1 = R+ mu_+ + R- mu_- = k / 2.
Classifier
    Weights are divided by their worst ratio if it is above 1, or multiplied up to 1 if that is better. The best offset
    for given weights is a kink of the hinge losses. w = 0 is a candidate, so that the loss is at most twice the
    smaller class's sum of s. s follows from w by ``gmeb.norm``.
Rounding
    With ``unit`` of ``proofs.svm`` for sums over n samples, ``q_j`` is within unit ||x_j|| ||mu|| of that of the exact
    multipliers with mu'y = 0, and is raised by it; r_j is a sum of terms that are at least 0, so that k has the
    relative error unit, as e'mu has. The loss of a classifier is a sum of ``s_i (1 - y_i (w.x_i + b))``: where it is a
    bound, of (16), it is raised by unit (n samples, 2 d columns) times ``s'e (1 + |b|) + ||s|| sum_j |w_j| ||x_j||``.
    The 2 d are also for (15), whose norm is rounded too. Objectives are known to a few eps n.
Units
    Neither number changes if a column is multiplied by c: r_j and q_j^2 have c^2, w_j has 1/c. ``sizes``
    are sqrt(r_j(0) + r_j(1)), units of the feature: powers of two next to them make w_j and s_j free of units and of
    R, exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from fsmodels.models.gmeb.norm import Moments
from fsmodels.models.proofs.certified import values_of, write_free
from fsmodels.models.proofs.equilibration import SharedByClones
from fsmodels.models.proofs.svm import balanced, hinges, norms, repaired, unit
from fsmodels.weights import FloatArray
from solvers.facts import Certificate

__all__ = ["Attained", "MomentProof", "Proven", "of_dual", "of_nonconvex", "of_primal", "resolution"]


EPS = float(np.finfo(float).eps)
LAST_DIGITS = 1e-15  # relative: a norm smaller by this remains below 1 after rounding
INTERSECTIONS = 200  # at most; on 5000 columns fewer than 20 were needed
LEAST = 1e-16  # of the largest term of the norm: a smaller one is rounding, and its w^2 / s may underflow
SMALL = (1e-2, 1e-3, 1e-4, 1e-5)  # of the largest term: smaller weights are dropped if the loss allows it


class Proven(NamedTuple):
    """A bound, and a point of the dual (16) with that value to rounding."""

    value: float
    mu: FloatArray
    mu_1: float
    mu_plus: float
    mu_minus: float


class Attained(NamedTuple):
    """Weights that satisfy (15), for centred columns, with their best offset and loss."""

    loss: float
    w: FloatArray
    offset: float


@dataclass(frozen=True)
class MomentProof(SharedByClones):
    """The data of one instance.

    ``moments``: v+ and v-, shape (d,). ``X``: ndarray of shape (n, d), centred. ``y``, ``s``: ndarrays of
    shape (n,), labels and factors of the slacks.
    """

    moments: Moments
    X: FloatArray
    y: FloatArray
    s: FloatArray

    def bound(self, mu: FloatArray | None, R_plus: float, R_minus: float) -> Proven:
        """Return the best bound from multipliers of the margins, shape (n,), or without multipliers.

        >>> two, y = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
        >>> proof = MomentProof(Moments(np.ones(1), np.ones(1)), two, y, np.ones(2))
        >>> round(proof.bound(np.array([1.0, 1.0]), 0.25, 0.25).value, 9)  # |w| <= 0.5
        1.0
        """
        mu = repaired(balanced(self.y, self.s) if mu is None else np.nan_to_num(mu), self.y, self.s)
        if (largest := float((mu / self.s).max())) > 0:
            mu = np.minimum(mu / largest, self.s)
        share = unit(mu.size, 0)
        q = np.abs((mu * self.y) @ self.X) + share * norms(self.X) * float(np.linalg.norm(mu))
        h = _best_share(self.moments.v_plus / R_plus, self.moments.v_minus / R_minus, q)
        p = ((1.0 - h) / R_plus, h / R_minus)
        root = self.moments.coefficients(*p)
        k = float(np.divide(q, root, out=np.where(q > 0, np.inf, 0.0), where=root > 0).max(initial=0.0))
        value = (1.0 - share) * float(mu.sum()) - (1.0 + share) * k
        if not value > 0:
            return Proven(0.0, np.zeros_like(mu), 0.0, 0.0, 0.0)
        return Proven(value, mu, k / 2, k / 2 * p[0], k / 2 * p[1])

    def classifier(self, w: FloatArray, R_plus: float, R_minus: float) -> Attained:
        """Return the best of w (d,) scaled to satisfy (15) and w = 0; never worse than either.

        >>> two, y = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
        >>> proof = MomentProof(Moments(np.ones(1), np.ones(1)), two, y, np.ones(2))
        >>> round(proof.classifier(np.array([7.0]), 0.25, 0.25).loss, 9)
        1.0
        """
        w = np.where((self.moments.v_plus + self.moments.v_minus > 0) & np.isfinite(w), w, 0.0)
        terms = np.abs(w) * self.moments.coefficients(0.5 / R_plus, 0.5 / R_minus)
        w = np.where(terms > LEAST * terms.max(initial=0.0), w, 0.0)
        ratio = self.moments.worst(w, R_plus, R_minus).ratio
        ends = [0.0]
        if np.isfinite(ratio) and ratio > 0:
            most = 1.0 / (ratio * (1.0 + LAST_DIGITS))
            ends += [min(1.0, most), most]
        scores = self.X @ w if len(ends) > 1 else np.zeros(len(self.y))
        found = [(*hinges(t * scores, self.y, self.s), t) for t in ends if np.isfinite(t)]
        loss, offset, t = min(found, key=lambda one: one[0])
        return Attained(loss, t * w, offset)

    def sparse_classifier(self, w: FloatArray, R_plus: float, R_minus: float) -> Attained:
        """Return ``classifier(w)`` without its small weights, where the loss is no larger without them.

        Solvers stop within their gap. Interior-point solutions then have weights of up to 1e-2 of the largest on all
        features, so that the gap and not the data would select. Every weight that lowers the loss is kept.
        """
        best = self.classifier(w, R_plus, R_minus)
        terms = np.abs(best.w) * self.moments.coefficients(0.5 / R_plus, 0.5 / R_minus)
        for share in SMALL:
            kept = np.where(terms > share * terms.max(initial=0.0), best.w, 0.0)
            if np.count_nonzero(kept) < np.count_nonzero(best.w):
                found = self.classifier(kept, R_plus, R_minus)
                if found.loss <= best.loss:
                    return found
        return best

    def slacks(self, found: Attained) -> FloatArray:
        """Return the hinge losses of a classifier, shape (n,)."""
        return np.maximum(1.0 - self.y * (self.X @ found.w + found.offset), 0.0)

    def sizes(self, R_plus: float, R_minus: float) -> FloatArray:
        """Return sqrt(v+ / R+ + v- / R-), shape (d,)."""
        return self.moments.coefficients(1.0 / R_plus, 1.0 / R_minus)


def resolution(weight: float, model: Any = None) -> float:
    """Return the rounding error of the sum of slacks; ``weight``: the sum of the weights of the samples."""
    return 8 * EPS * weight


def of_primal(
    model: pyo.ConcreteModel, proof: MomentProof, floor: float = 0.0, *, selects: bool = False
) -> Certificate:
    """Return the certificate of (15); ``floor`` is the least ``(v+_j / R+ + v-_j / R-) s_j``.

    ``selects``: True if the model has ``sigma``. The proof without sigma is then a valid bound, but rarely the best.
    """
    part = _Primal(proof, floor, selects)
    return Certificate([] if selects else [model.margin], part.bound, part.repair, part.trivial, offsets=_offset)


def of_nonconvex(model: pyo.ConcreteModel, proof: MomentProof) -> Certificate:
    """Return the certificate of (11), which makes points feasible; its solvers are local, and prove nothing.

    The optimum is that of (15), whose bound without a solve is valid too.
    """
    part = _Nonconvex(proof)
    return Certificate([], None, part.repair, part.trivial, part.least, _offset)


def of_dual(model: pyo.ConcreteModel, proof: MomentProof) -> Certificate:
    """Return the certificate of (16): its multipliers are a classifier, whose loss is a bound."""
    part = _Dual(proof)
    return Certificate([model.weight], part.bound, part.repair, part.trivial)


@dataclass(frozen=True)
class _Primal:
    proof: MomentProof
    floor: float = 0.0
    selects: bool = False

    def bound(self, model: Any, multipliers: FloatArray | None) -> float:
        known = None if multipliers is None or not len(multipliers) else multipliers
        return self.proof.bound(known, *_limits(model)).value

    def repair(self, model: Any) -> None:
        w = values_of(model.w, 0.0)
        if self.selects:
            take = values_of(model.sigma) > 0.5
            write_free(model.sigma, take)
            w = np.where(take, w, 0.0)
        self._put(model, w)

    def trivial(self, model: Any) -> None:
        w = np.zeros(self.proof.X.shape[1])
        if self.selects:
            write_free(model.sigma, w)
        self._put(model, w)

    def _put(self, model: Any, w: FloatArray) -> None:
        """Write the best classifier of weights to the model; the floors reduce both R by the same factor."""
        moments, limits = self.proof.moments, _limits(model)
        sizes = self.proof.sizes(*limits)
        least = np.divide(self.floor, sizes**2, out=np.zeros_like(sizes), where=sizes > 0)
        taken = max(float(moments.v_plus @ least) / limits[0], float(moments.v_minus @ least) / limits[1])
        room = max(0.0, 1.0 - taken * (1.0 + LAST_DIGITS))  # sum w^2 / s <= room / room with both R times room
        found = self.proof.sparse_classifier(w if room else np.zeros_like(w), room * limits[0], room * limits[1])
        s = room * moments.scales(found.w, *limits) + least
        write_free(model.w, found.w)
        write_free(model.s, s)
        if model.component("t") is not None:
            write_free(model.t, np.divide(found.w**2, s, out=np.zeros_like(s), where=s > 0))
        _put_classifier(model, self.proof, found)


@dataclass(frozen=True)
class _Nonconvex:
    proof: MomentProof

    def least(self, model: Any) -> float:
        return self.proof.bound(None, *_limits(model)).value

    def repair(self, model: Any) -> None:
        self._put(model, self.proof.sparse_classifier(values_of(model.w, 0.0), *_limits(model)))

    def trivial(self, model: Any) -> None:
        self._put(model, self.proof.classifier(np.zeros(self.proof.X.shape[1]), *_limits(model)))

    def _put(self, model: Any, found: Attained) -> None:
        sigma = np.sqrt(self.proof.moments.scales(found.w, *_limits(model)))
        u = np.divide(found.w, sigma, out=np.zeros_like(sigma), where=sigma > 0)
        for variables, values in ((model.w, found.w), (model.u, u), (model.sigma, sigma)):
            write_free(variables, values)
        _put_classifier(model, self.proof, found)


@dataclass(frozen=True)
class _Dual:
    proof: MomentProof

    def bound(self, model: Any, multipliers: FloatArray | None) -> float:
        w = np.zeros(self.proof.X.shape[1])
        if multipliers is not None:
            w[self._varying] = multipliers
        found, proof = self.proof.classifier(w, *_limits(model)), self.proof
        if not found.w.any() and np.all(proof.s == np.round(proof.s)):
            return found.loss  # a sum of whole numbers
        size = float(np.abs(found.w) @ norms(proof.X)) * float(np.linalg.norm(proof.s))
        size += float(proof.s.sum()) * (1.0 + abs(found.offset))
        return found.loss + unit(proof.y.size, 2 * w.size) * size

    def repair(self, model: Any) -> None:
        self._put(model, values_of(model.mu, 0.0))

    def trivial(self, model: Any) -> None:
        self._put(model, None)

    @property
    def _varying(self) -> NDArray[np.bool_]:
        moments = self.proof.moments
        return np.asarray(moments.v_plus + moments.v_minus > 0)

    def _put(self, model: Any, mu: FloatArray | None) -> None:
        found, moments = self.proof.bound(mu, *_limits(model)), self.proof.moments
        v = np.where(self._varying, moments.v_plus + moments.v_minus, 1.0)
        write_free(model.mu, found.mu)
        write_free(model.q, ((found.mu * self.proof.y) @ self.proof.X) / np.sqrt(v))
        write_free(model.r, (found.mu_plus * moments.v_plus + found.mu_minus * moments.v_minus) / v)
        for variable, value in (
            (model.mu_1, found.mu_1), (model.mu_plus, found.mu_plus), (model.mu_minus, found.mu_minus)
        ):  # fmt: skip
            write_free(variable, [value])


def _best_share(plus: FloatArray, minus: FloatArray, q: FloatArray) -> float:
    """Return the h in [0, 1] with the largest ``min_j ((1 - h) plus_j + h minus_j) / q_j^2``."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        size = (q / q.max(initial=0.0)) ** 2
        start, end = plus / size, minus / size
    counts = np.isfinite(start) & np.isfinite(end)
    start, end = start[counts], end[counts]
    if not len(start):
        return 0.5
    near, far = EPS, 1.0 - EPS

    def lowest(h: float) -> int:
        return int(np.argmin((1.0 - h) * start + h * end))

    left, right = lowest(0.0), lowest(1.0)
    slope = end - start
    if slope[left] <= 0:
        return near
    if slope[right] >= 0:
        return far
    h = 0.5
    for _ in range(INTERSECTIONS):
        h = float((start[left] - start[right]) / (slope[right] - slope[left]))
        k = lowest(h)
        if k in (left, right) or slope[k] == 0:
            break
        left, right = (k, right) if slope[k] > 0 else (left, k)
    return min(max(h, near), far)


def _limits(model: Any) -> tuple[float, float]:
    return float(pyo.value(model.R_plus)), float(pyo.value(model.R_minus))


def _offset(model: Any) -> list[Any]:
    return [model.offset]


def _put_classifier(model: Any, proof: MomentProof, found: Attained) -> None:
    """Set the offset, unless it is fixed, and the slacks that follow from it."""
    write_free(model.offset, [found.offset])
    write_free(model.xi, proof.slacks(found._replace(offset=float(pyo.value(model.offset)))))
