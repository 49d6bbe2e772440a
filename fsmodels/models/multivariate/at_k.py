"""Losses of labellings with k positive labels: PRBEP, Rec@k and Prec@k; ``measures`` has the table of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from fsmodels.errors import InfeasibleParameter, ParameterError
from fsmodels.models.multivariate.extended import Largest
from fsmodels.models.multivariate.labellings import (
    Labels,
    Ranked,
    Worst,
    check_positives,
    count_of,
    labels_of,
    pair_of,
    scores_of,
)
from fsmodels.models.multivariate.losses import Loss, contingency

MULTIPLE = re.compile(r"(\d*\.?\d*)p")  # "2p": twice the number of positive samples


class _AtK(Loss):
    """A loss of labellings with k positive labels: Delta = 100 (1 - a / m)."""

    def _k(self, p: int, n: int) -> int:
        """Return the number of samples that are labelled +1."""
        raise NotImplementedError

    def _m(self, p: int, k: int) -> int:
        """Return what a is divided by."""
        return p

    def value(self, y: ArrayLike, labelling: ArrayLike) -> float:
        """Return Delta of a labelling with k positive labels; any other number of them is an error."""
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
        """Return +1 for the k highest scores, of equal ones for those that come first, and -1 for the others.

        Parameters
        ----------
        scores : array of shape (n,)
        n_positive : int, optional
            Positive samples among them, known or expected: for ``prbep`` and k like "2p".

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
                f"{self.name} labels as many samples as p, the number of positive ones, tells: give n_positive=, the "
                "number known or expected among these samples, or use k as a number, such as rec@10."
            )
        n = len(scores)
        if n_positive is not None and not (isinstance(n_positive, int | np.integer) and 0 < n_positive <= n):
            raise ParameterError(f"n_positive={n_positive!r} does not fit {n} scores: use a whole number in 1..{n}.")
        labels = np.full(n, -1, dtype=np.int8)
        labels[np.argsort(-scores, kind="stable")[: self._k(n_positive or 0, n)]] = 1
        return labels

    def measure(self, y: ArrayLike, scores: ArrayLike) -> float:
        """Return 100 a / m for the k highest scores; where equal ones straddle place k, the mean over their orders."""
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
    """k as given: a number, or a multiple of p."""

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
        raise ParameterError(f"k={k!r} is no number of samples: {allowed}.")
    if k < 1:
        raise ParameterError(f"k={k} labels no sample positive: {allowed}.")
    return int(k)
