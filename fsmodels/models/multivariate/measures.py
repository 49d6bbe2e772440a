r"""Losses of a whole labelling (F1, PRBEP, Rec@k, Prec@k, Hamming, AUC) and the labelling whose row is violated most.

Problem
    A classifier w labels all n samples at once, and the loss Delta(y, y') of the labelling y' need not be a sum over
    samples. The structural SVM has one slack and one row for each y' in a set Y of labellings:

    .. math::
        w \cdot \tfrac1n \textstyle\sum_i (y_i - y'_i) x_i \ge \tfrac1n \Delta(y, y') - \xi \quad y' \in Y

    With v_i = w.x_i, the rows bound xi below by ``1/n max over y' of Delta(y, y') - sum_i (y_i - y'_i) v_i``. The
    maximum over y' is (18). Its labelling gives the row that w violates most; 1/n multiplies both terms, so that n is
    not part of it. The risk of w, its least slack, is ``R(w) = max(0, value) / n``; ``most_violated`` returns value.

    From the contingency table, with p = a + c positive samples and q = b + d negative ones,

    =========  =====  ======       ===========  ===============================================  ==============
    ..         y = 1  y = -1       loss         Delta                                            Y
    =========  =====  ======       ===========  ===============================================  ==============
    y' = 1     a      b            Hamming      2 (b + c)                                        all
    y' = -1    c      d            F_beta       100 (1 - (1 + beta^2) a / (a + b + beta^2 p))    all
    ..                             PRBEP        100 (1 - a / p)                                  a + b = p
    ..                             Rec@k        100 (1 - a / p)                                  a + b = k
    ..                             Prec@k       100 (1 - a / k)                                  a + b = k
    =========  =====  ======       ===========  ===============================================  ==============

    For given a and b, (18) is largest where the a highest positive and b highest negative samples are labelled +1.
    There remains a search over (a, b): along the line a + b = k, or as described in ``FBeta``; O(n log n) with the
    sorting.

    ``Auc`` labels pairs instead of samples. ``Loss`` describes how to define further losses with a row of this form.
Symbols
    y -> ``y`` (n), -1 or +1; y' -> ``labelling`` (n); v -> ``scores`` (n), w.x_i without an offset; y - y' ->
    ``coefficients`` (n); Delta -> ``delta``, percentage points except for Hamming; (18) -> ``value``, in the same
    units; a, b, c, d -> ``Table``. Of a cut, p^k = -1/n X'coefficients (columns times sqrt(d)), q^k = delta / n.
Source
    Mao, Tsang 2013, "A feature selection method for multivariate performance measures", section 5.4 and (18), after
    Joachims 2005, "A support vector method for multivariate performance measures".
Deviations
    (5) prints Delta where b_y' below (6) and q^k below (18) have Delta / n. Only the latter goes with (18), and it is
    the one used: with Delta undivided, (18) would need 1/n before its sum, and other labellings would be the worst.
    q^k is printed with a sum over i, n times too large. Hamming is printed as b + c; 2 (b + c) makes of the risk twice
    the mean hinge loss (that of b + c is the mean hinge loss of 2 w). (18) leaves y itself out of Y; its value is 0 and
    its row xi >= 0, so that it may remain; a value of 0 means that no row is violated. Where y is not in Y (Rec@k and
    Prec@k with k other than p), all values may be below 0, or above it with Delta = 0. The search is
    O(n log n) for the page's O(n^2).
Class
    Sorting and a bisection; no model.
Certificate
    exact: no labelling in Y has a larger value, up to rounding. Among several, Hamming and AUC flip only what
    increases the value; the others take the least a, then the least b, and among equal scores of a class the first
    samples.

Examples
--------
>>> import fsmodels as fs
>>> from fsmodels import measures
>>> data = fs.load_dataset("wdbc").scaled("standard")
>>> scores = data.X.sum(axis=1) / 100
>>> worst = measures.loss("f1").most_violated(data.y, scores)
>>> worst.table, round(worst.delta, 2), round(worst.value, 2)
(Table(a=90, b=90, c=122, d=267), 54.08, 39.55)
>>> cut = data.X.T @ worst.coefficients / len(data.y)  # the row is w.cut >= worst.delta / n - xi
>>> measures.measure(data.y, scores).round(1)
error             10.7
balanced-error    10.9
f1                86.0
prbep             85.8
dtype: float64
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import sparse

from fsmodels.errors import InfeasibleParameter, ParameterError
from fsmodels.models.multivariate.extended import Largest
from fsmodels.models.multivariate.labellings import (
    Labels,
    Ranked,
    Table,
    Worst,
    check_positives,
    count_of,
    labels_of,
    pair_of,
    pairs_of,
    scores_of,
    signs,
)
from fsmodels.models.multivariate.losses import Auc, FBeta, Hamming, Loss, contingency
from fsmodels.text import iterable

MULTIPLE = re.compile(r"(\d*\.?\d*)p")  # "2p": twice the number of positive samples


class _AtK(Loss):
    """A loss of labellings with k positive labels: Delta = 100 (1 - a / m)."""

    def _k(self, p: int, n: int) -> int:
        """Return the number of samples to be labelled +1."""
        raise NotImplementedError

    def _m(self, p: int, k: int) -> int:
        """Return the divisor of a."""
        return p

    def value(self, y: ArrayLike, labelling: ArrayLike) -> float:
        """Return Delta of a labelling. Raises ParameterError if it does not have k positive labels."""
        table = contingency(y, labelling)
        p = table.a + table.c
        check_positives(p, self.name)
        k = self._k(p, sum(table))
        if table.a + table.b != k:
            raise ParameterError(
                f"The labelling has {table.a + table.b} positive labels and {self.name} is for {k} here: label the {k} "
                "highest scores (predict), or use f1, which takes any number."
            )
        return 100.0 * (1.0 - table.a / self._m(p, k))

    def most_violated(self, y: ArrayLike, scores: ArrayLike) -> Worst:
        """Return the most violated row: the best a, with b = k - a."""
        y, scores = pair_of(y, scores)
        ranked = Ranked(y, scores)
        check_positives(ranked.p, self.name)
        k = self._k(ranked.p, len(y))
        m = self._m(ranked.p, k)
        a = np.arange(max(0, k - ranked.q), min(ranked.p, k) + 1)
        best = int(a[np.argmax(100.0 * (1.0 - a / m) + ranked.gain(a, k - a))])
        return ranked.row(best, k - best, 100.0 * (1.0 - best / m))

    def largest(self, y: ArrayLike) -> Largest:
        """Return 100 - 2 sum_pos s_i and the k largest of 2 s_i - [y_i = 1] 100 / m."""
        is_positive = labels_of(y) > 0
        n, p = len(is_positive), count_of(is_positive)
        check_positives(p, self.name)
        k = self._k(p, n)
        sides, slopes = np.where(is_positive, -100.0 / self._m(p, k), 0.0), sparse.diags_array(np.full(n, 2.0))
        return Largest(100.0, np.where(is_positive, -2.0, 0.0), sides, slopes.tocsr(), range(n), k)

    def n_rows(self, p: int, q: int) -> int:
        """Return one row a sample and one for xi."""
        return p + q + 1

    def predict(self, scores: ArrayLike, *, n_positive: int | None = None) -> Labels:
        """Return +1 for the k highest scores, among equal scores for the first samples, and -1 for the others.

        Parameters
        ----------
        scores : array of shape (n,)
        n_positive : int, optional
            Known or expected number of positive samples, for ``prbep`` and k such as "2p".

        Raises
        ------
        ParameterError
            n_positive is needed and missing, or k is above n.

        Examples
        --------
        >>> from fsmodels.models.multivariate.measures import loss
        >>> loss("rec@2").predict([0.1, 0.7, 0.1, -3.0]).tolist()
        [1, 1, -1, -1]
        >>> loss("prbep").predict([0.1, 0.7, 0.1, -3.0], n_positive=1).tolist()
        [-1, 1, -1, -1]
        """
        scores = scores_of(scores)
        if n_positive is None and not isinstance(getattr(self, "k", None), int):
            raise ParameterError(
                f"{self.name} labels p samples +1, the number of positive ones: give n_positive=, their known or "
                "expected number, or use k as a number, such as rec@10."
            )
        n = len(scores)
        if n_positive is not None and not (isinstance(n_positive, int | np.integer) and 0 < n_positive <= n):
            raise ParameterError(f"n_positive={n_positive!r} does not fit {n} scores: use a whole number in 1..{n}.")
        labels = np.full(n, -1, dtype=np.int8)
        labels[np.argsort(-scores, kind="stable")[: self._k(n_positive or 0, n)]] = 1
        return labels

    def measure(self, y: ArrayLike, scores: ArrayLike) -> float:
        """Return 100 a / m for the k highest scores; with ties at the k-th place the mean over their orders."""
        y, scores = pair_of(y, scores)
        p = count_of(y > 0)
        check_positives(p, self.name)
        k = self._k(p, len(y))
        last = np.partition(scores, len(y) - k)[len(y) - k]
        above, tied = scores > last, scores == last
        a = count_of(above & (y > 0)) + (k - above.sum()) * np.mean(y[tied] > 0)
        return 100.0 * float(a) / self._m(p, k)


@dataclass(frozen=True)
class BreakEven(_AtK):
    """PRBEP, precision where it equals recall: k = p, Delta = 100 (1 - a / p).

    Examples
    --------
    >>> from fsmodels.models.multivariate.measures import BreakEven
    >>> worst = BreakEven().most_violated([1, 1, -1, -1], [30.0, 10.0, -1.0, -40.0])
    >>> worst.labelling.tolist(), worst.delta, worst.value
    ([1, -1, 1, -1], 50.0, 28.0)
    """

    name = "prbep"

    def _k(self, p: int, n: int) -> int:
        return p


@dataclass(frozen=True)
class AtGivenK(_AtK):
    """A loss with fixed k: a number, or a multiple of p."""

    k: int | str

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", _parse_k(self.k))

    def _k(self, p: int, n: int) -> int:
        if isinstance(self.k, str):
            k, what = max(1, int(float(self.k[:-1]) * p + 0.5)), f" = {self.k}, with p={p} positive samples,"
            instead = f', or "{n // p}p" at most'
        else:
            k, what, instead = self.k, "", ""
        if k > n:
            raise InfeasibleParameter(f"k={k}{what} is above the {n} samples: use 1..{n}{instead}.")
        return k


@dataclass(frozen=True)
class RecallAt(AtGivenK):
    """Rec@k, the share of the positive samples among the k highest: Delta = 100 (1 - a / p), at least 100 (1 - k / p).

    Attributes
    ----------
    k : int or str
        At least 1, or a multiple of the number of positive samples, "2p" (rounded, at least 1).

    Examples
    --------
    >>> from fsmodels.models.multivariate.measures import RecallAt
    >>> worst = RecallAt("2p").most_violated([1, -1, -1, -1], [1.0, 0.5, -0.5, -2.0])
    >>> worst.labelling.tolist(), worst.delta, worst.value
    ([-1, 1, 1, -1], 100.0, 98.0)
    """

    @property
    def name(self) -> str:
        """``rec@10``, ``rec@2p``."""
        return f"rec@{self.k}"


@dataclass(frozen=True)
class PrecisionAt(AtGivenK):
    """Prec@k, the share of positive samples in the k highest: Delta = 100 (1 - a / k), at least 100 (1 - p / k).

    k as for ``RecallAt``.

    Examples
    --------
    >>> from fsmodels.models.multivariate.measures import PrecisionAt
    >>> PrecisionAt(2).measure([1, -1, -1, 1], [1.0, 0.5, 0.5, -2.0])
    50.0
    """

    @property
    def name(self) -> str:
        """``prec@10``, ``prec@2p``."""
        return f"prec@{self.k}"

    def _m(self, p: int, k: int) -> int:
        return k


def _parse_k(k: Any) -> int | str:
    """Return k as a whole number of at least 1, or as a multiple such as "2p"."""
    allowed = 'use a whole number from 1 on, or a multiple of the number of positive samples, such as "2p"'
    if isinstance(k, str):
        word = k.strip().lower()
        match = MULTIPLE.fullmatch(word)
        if match and word != ".p":
            factor = float(match[1] or 1)
            if factor > 0:
                return f"{factor:g}p"
        if word.isdecimal():
            k = int(word)
    if isinstance(k, str | bool) or not isinstance(k, int | np.integer):
        raise ParameterError(f"k={k!r} is not a number of samples: {allowed}.")
    if k < 1:
        raise ParameterError(f"k={k} labels no sample positive: {allowed}.")
    return int(k)


__all__ = [
    "Auc",
    "BreakEven",
    "FBeta",
    "Hamming",
    "Loss",
    "PrecisionAt",
    "RecallAt",
    "Table",
    "Worst",
    "contingency",
    "loss",
    "measure",
]
__dir__ = __all__.copy  # for completion

NAMES = "hamming, f1 (or another beta, f0.5, f2), prbep, rec@10, rec@2p, prec@10, prec@2p, auc"


PLAIN: dict[str, Loss] = {"hamming": Hamming(), "prbep": BreakEven(), "auc": Auc()}
AT: dict[str, type[AtGivenK]] = {"rec": RecallAt, "prec": PrecisionAt}


def loss(name: str | Loss) -> Loss:
    """Return the loss of a name; a loss is returned unchanged.

    Parameters
    ----------
    name : str or Loss
        ``hamming``, ``f1`` (or ``f`` with another beta), ``prbep``, ``rec@`` or ``prec@`` with k, ``auc``.

    Raises
    ------
    ParameterError
        For an unknown name, with the known ones.

    Examples
    --------
    >>> from fsmodels.models.multivariate.measures import loss
    >>> loss("rec@2p")
    RecallAt(k='2p')
    >>> loss("f0.5").value([1, 1, -1], [1, -1, -1])
    16.666666666666664
    """
    if isinstance(name, Loss):
        return name
    word = str(name).strip().lower()
    if word in PLAIN:
        return PLAIN[word]
    kind, at, k = word.partition("@")
    if at and kind in AT:
        return AT[kind](k)
    if re.fullmatch(r"f(\d+\.?\d*|\.\d+)", word):
        return FBeta(float(word[1:]))
    raise ParameterError(f'Loss "{name}" is not known: use one of {NAMES}.')


def measure(
    y: ArrayLike, scores: ArrayLike, names: Sequence[str | Loss] = ("error", "balanced-error", "f1", "prbep")
) -> pd.Series:
    """Return measures of a prediction in percent.

    Parameters
    ----------
    y : array of shape (n,)
        -1 and +1.
    scores : array of shape (n,)
        w.x_i, plus the offset if there is one.
    names : sequence of str
        As for ``loss``, and ``error`` and ``balanced-error`` (the mean of both classes' errors).

    Returns
    -------
    pd.Series
        Indexed by name. ``hamming`` is the accuracy; the best value is 0 for errors, and 100 for all others.

    Raises
    ------
    ParameterError
        An unknown name, or samples for which a measure is not defined.

    Notes
    -----
    Errors, accuracy and F use the signs of scores, with 0 as -1. The others rank; for ties see ``Loss.measure``.

    Examples
    --------
    >>> from fsmodels.models.multivariate.measures import measure
    >>> measure([1, 1, -1, -1, -1], [2.0, -0.5, 0.0, 0.1, -1.0], ["error", "balanced-error", "f1", "rec@2p"]).round(2)
    error              40.00
    balanced-error     41.67
    f1                 50.00
    rec@2p            100.00
    dtype: float64
    """
    from sklearn.metrics import balanced_accuracy_score

    if isinstance(names, str):
        raise ParameterError(f'names="{names}" is one name: give a list of names, such as ["{names}"].')
    if not iterable(names) or not all(isinstance(name, str | Loss) for name in names):
        raise ParameterError('names must be a list of names of measures, such as ["error", "f1"].')
    y, scores = pair_of(y, scores)
    found = {}
    for name in names:
        if name == "error":
            found[name] = 100.0 * float(np.mean(signs(scores) != y))
        elif name == "balanced-error":
            pairs_of(count_of(y > 0), count_of(y < 0))
            found[name] = 100.0 * (1.0 - float(balanced_accuracy_score(y, signs(scores))))
        else:
            measured = loss(name)
            found[measured.name] = measured.measure(y, scores)
    return pd.Series(found, dtype=float)
