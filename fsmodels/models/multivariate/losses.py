"""Losses by the contingency table or by pairs, each with its most violated row; ``measures`` lists them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from fsmodels.checks import positive
from fsmodels.models.multivariate.extended import Largest
from fsmodels.models.multivariate.labellings import (
    Labels,
    Ranked,
    Table,
    Worst,
    check_positives,
    check_same_length,
    count_of,
    labels_of,
    pair_of,
    pairs_of,
    scores_of,
    signs,
    table_of,
)


class Loss(ABC):
    """A loss of whole labellings; objects with the same parameters are equal.

    A user-defined loss derives from this class and defines ``name``, ``value`` and ``most_violated``, which returns
    ``Worst`` with any coefficients; ``predict`` labels by the sign of the score by default. With
    ``delta``, Delta by the contingency table, ``fsmulti`` can state its rows (``form="extended"``).

    Examples
    --------
    Errors that cost 5 where a positive sample is missed:

    >>> import numpy as np
    >>> from fsmodels.models.multivariate.measures import Loss, Worst, contingency
    >>> class Costly(Loss):
    ...     name = "costly"
    ...
    ...     def delta(self, table):
    ...         return table.b + 5.0 * table.c
    ...
    ...     def value(self, y, labelling):
    ...         return self.delta(contingency(y, labelling))
    ...
    ...     def most_violated(self, y, scores):
    ...         cost = np.where(y > 0, 5.0, 1.0)
    ...         labelling = np.where(cost - 2 * y * scores > 0, -y, y)
    ...         return Worst.of(y, scores, labelling, self.value(y, labelling))
    >>> Costly().most_violated(np.array([1, -1, -1]), np.array([2.0, 0.2, -2.0])).value
    2.4
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """Name for the option ``loss``."""

    def __str__(self) -> str:
        return self.name

    @abstractmethod
    def value(self, y: ArrayLike, labelling: ArrayLike) -> float:
        """Return Delta(y, y') of a labelling of shape (n,)."""

    @abstractmethod
    def most_violated(self, y: ArrayLike, scores: ArrayLike) -> Worst:
        """Return the row with the largest value of (18), for scores w.x_i of shape (n,).

        Raises
        ------
        ParameterError
            Labels other than -1 and +1, scores that are not finite or of another length, an unsuitable class or k.
        """

    def delta(self, table: Table) -> float | None:
        """Return Delta of the labellings with a contingency table, None if they are not in Y; optional."""
        raise NotImplementedError(f'Loss "{self.name}" is not defined by the contingency table.')

    def largest(self, y: ArrayLike) -> Largest:
        """Return (18) as one sum of largest terms, which needs fewer rows than the tables; optional."""
        raise NotImplementedError(f'Loss "{self.name}" is not a sum of largest terms.')

    def n_rows(self, p: int, q: int) -> int:
        """Return the number of rows of (18) for p positive and q negative samples; by default that of the tables."""
        return p * p + q * q + (p + 1) * (q + 1) + p + q

    def predict(self, scores: ArrayLike, *, n_positive: int | None = None) -> Labels:
        """Return the labels that the measure evaluates, shape (n,): +1 for scores above 0, else -1.

        Parameters
        ----------
        scores : array of shape (n,)
        n_positive : int, optional
            Known or expected number of positive samples; used by ``prbep`` and by k such as "2p" only. These label the
            k highest scores; of equal scores those of the first samples.

        Examples
        --------
        >>> from fsmodels.models.multivariate.measures import loss
        >>> loss("f1").predict([0.3, 0.0, -0.1]).tolist()
        [1, -1, -1]
        """
        return signs(scores_of(scores))

    def measure(self, y: ArrayLike, scores: ArrayLike) -> float:
        """Return the measure of a prediction in percent, 100 at best.

        Notes
        -----
        With ties at the k-th place, it is the mean over all orders of the tied samples. ``value`` of ``predict``
        would depend on the order of the samples there: with all scores 0, sorted data would look perfect.
        """
        scores, y = scores_of(scores), labels_of(y)
        return 100.0 - self.value(y, self.predict(scores))


@dataclass(frozen=True)
class Hamming(Loss):
    """Delta = 2 (b + c): the risk is twice the mean hinge loss. ``measure`` is the accuracy.

    Examples
    --------
    >>> from fsmodels.models.multivariate.measures import Hamming
    >>> worst = Hamming().most_violated([1, 1, -1], [3.0, 0.5, -0.2])
    >>> worst.labelling.tolist(), worst.delta, worst.value
    ([1, -1, 1], 4.0, 2.6)
    """

    name = "hamming"

    def value(self, y: ArrayLike, labelling: ArrayLike) -> float:
        """Return 2 (b + c), twice the number of errors."""
        table = contingency(y, labelling)
        return 2.0 * (table.b + table.c)

    def most_violated(self, y: ArrayLike, scores: ArrayLike) -> Worst:
        """Return the row that flips all samples with a margin below 1."""
        y, scores = pair_of(y, scores)
        labelling = np.where(y * scores < 1.0, -y, y)
        return Worst.of(y, scores, labelling, 2.0 * count_of(labelling != y))

    def largest(self, y: ArrayLike) -> Largest:
        """Return the sum of max(0, 2 - 2 y_i s_i)."""
        y = labels_of(y)
        n = len(y)
        slopes = sparse.diags_array(-2.0 * y, format="csr")
        return Largest(0.0, np.zeros(n), np.full(n, 2.0), slopes, range(n))

    def n_rows(self, p: int, q: int) -> int:
        """Return one row per sample and one for xi."""
        return p + q + 1

    def measure(self, y: ArrayLike, scores: ArrayLike) -> float:
        """Return the accuracy in percent."""
        from sklearn.metrics import accuracy_score  # imported here because it takes half a second

        y, scores = pair_of(y, scores)
        return 100.0 * float(accuracy_score(y, signs(scores)))


@dataclass(frozen=True)
class FBeta(Loss):
    """Delta = 100 (1 - F_beta); beta above 1 emphasises recall, below 1 precision.

    Notes
    -----
    For given a, F_beta has b in its denominator only, so that Delta is concave in b, and so is the sum of the b highest
    scores. The step from b to b + 1 adds ``100 (1 + beta^2) a / (s (s + 1)) + 2 v``, s = a + b + beta^2 p and v the
    next score. This decreases with b, and the best b is where it becomes nonpositive: one bisection for all a at once.
    (The best b also grows with a where beta >= 1, but not for all beta.)

    Examples
    --------
    >>> from fsmodels.models.multivariate.measures import FBeta, loss
    >>> worst = FBeta().most_violated([1, 1, -1, -1], [30.0, 10.0, -1.0, -40.0])
    >>> worst.labelling.tolist(), worst.table, round(worst.delta, 4), round(worst.value, 4)
    ([1, -1, 1, -1], Table(a=1, b=1, c=1, d=1), 50.0, 28.0)
    >>> loss("f2") == FBeta(2)
    True
    """

    beta: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", positive("beta", self.beta, "beta is the weight of recall against precision"))

    @property
    def name(self) -> str:
        """``f1``, ``f0.5``."""
        return f"f{self.beta:g}"

    def delta(self, table: Table) -> float:
        """Return 100 (1 - F_beta)."""
        p = table.a + table.c
        check_positives(p, self.name)
        return float(self._delta(table.a, table.b, p))

    def _delta(self, a: Any, b: Any, p: int) -> Any:
        return 100.0 * (1.0 - (1.0 + self.beta**2) * a / (a + b + self.beta**2 * p))

    def value(self, y: ArrayLike, labelling: ArrayLike) -> float:
        """Return 100 (1 - F_beta)."""
        return self.delta(contingency(y, labelling))

    def most_violated(self, y: ArrayLike, scores: ArrayLike) -> Worst:
        """Return the most violated row: the best b for each a, and the best of those."""
        y, scores = pair_of(y, scores)
        ranked = Ranked(y, scores)
        check_positives(ranked.p, self.name)
        a = np.arange(ranked.p + 1)
        b = self._best_b(a, ranked)
        best = int(np.argmax(self._delta(a, b, ranked.p) + ranked.gain(a, b)))
        return ranked.row(best, int(b[best]), float(self._delta(best, b[best], ranked.p)))

    def _best_b(self, a: NDArray[np.int64], ranked: Ranked) -> NDArray[np.int64]:
        next_score = np.append(2.0 * ranked.scores[ranked.negatives], -np.inf)  # a step past the last is never taken
        weight, start = 100.0 * (1.0 + self.beta**2) * a, a + self.beta**2 * ranked.p
        steps = weight / (start * (start + 1.0))  # the largest for each a, as b = 0
        low = np.full_like(a, count_of(next_score > 0))
        high = np.full_like(a, count_of(steps.max() + next_score > 0))
        while np.any(low < high):
            middle = (low + high) // 2
            s = start + middle
            rises = weight / (s * (s + 1.0)) + next_score[middle] > 0
            low, high = np.where(rises, middle + 1, low), np.where(rises, high, middle)
        return low

    def measure(self, y: ArrayLike, scores: ArrayLike) -> float:
        """Return F_beta in percent; 0 if no positive sample is found."""
        from sklearn.metrics import fbeta_score

        y, scores = pair_of(y, scores)
        check_positives(count_of(y > 0), self.name)
        return 100.0 * float(fbeta_score(y, signs(scores), beta=self.beta, zero_division=0.0))


@dataclass(frozen=True)
class Auc(Loss):
    """Delta = 100 (1 - AUC), the percentage of pairs of a positive and a negative sample in the wrong order.

    Notes
    -----
    Here y' labels the p q pairs: z_ij = 1 where the negative sample j comes before the positive one i. The row is
    Joachims' times 100 / (p q): ``coefficients.v = 100 / (p q) sum_ij 2 z_ij (v_i - v_j)``, so that (18) is a sum over
    pairs, ``100 / (p q) sum_ij z_ij (1 - 2 (v_i - v_j))``, and the swapped ones are those with v_i - v_j < 1/2. They
    are counted after sorting; the result is exact. 1/n is before the row as everywhere. Mao and Tsang name this loss
    without details.

    Examples
    --------
    >>> from fsmodels.models.multivariate.measures import Auc
    >>> worst = Auc().most_violated([1, 1, -1], [2.0, 0.2, 0.0])
    >>> worst.coefficients.tolist(), worst.delta, worst.value
    ([0.0, 100.0, -100.0], 50.0, 30.0)
    """

    name = "auc"

    def value(self, y: ArrayLike, labelling: ArrayLike) -> float:
        """Return 100 (1 - AUC) of any scores, for which ties count half; labels are scores with many ties."""
        return 100.0 - self.measure(y, labelling)

    def most_violated(self, y: ArrayLike, scores: ArrayLike) -> Worst:
        """Return the row that swaps all pairs whose scores differ by less than 1/2."""
        y, scores = pair_of(y, scores)
        is_positive = y > 0
        reach, rivals = scores[is_positive] - 0.5, scores[~is_positive]  # swapped where reach < rival
        pairs = pairs_of(len(reach), len(rivals))
        swapped = np.empty(len(y))
        swapped[is_positive] = len(rivals) - np.searchsorted(np.sort(rivals), reach, side="right")
        swapped[~is_positive] = -np.searchsorted(np.sort(reach), rivals, side="left")
        delta = 100.0 * float(swapped[is_positive].sum()) / pairs
        coefficients = 200.0 / pairs * swapped
        return Worst(coefficients, delta, delta - float(coefficients @ scores))

    def largest(self, y: ArrayLike) -> Largest:
        """Return 100 / (p q) times the sum over pairs of max(0, 1 - 2 (s_i - s_j))."""
        y = labels_of(y)
        above, below = np.flatnonzero(y > 0), np.flatnonzero(y < 0)
        pairs = pairs_of(len(above), len(below))
        i, j = np.repeat(above, len(below)), np.tile(below, len(above))
        columns, starts = np.column_stack([i, j]).ravel(), 2 * np.arange(pairs + 1)
        slopes = sparse.csr_array((np.tile([-2.0, 2.0], pairs), columns, starts), shape=(pairs, len(y)))
        index = list(zip(i.tolist(), j.tolist(), strict=True))
        return Largest(0.0, np.zeros(len(y)), np.ones(pairs), slopes, index, weight=100.0 / pairs)

    def n_rows(self, p: int, q: int) -> int:
        """Return one row per pair and one for xi."""
        return p * q + 1

    def measure(self, y: ArrayLike, scores: ArrayLike) -> float:
        """Return the area under the ROC curve in percent."""
        from sklearn.metrics import roc_auc_score

        y, scores = pair_of(y, scores)
        pairs_of(count_of(y > 0), count_of(y < 0))
        return 100.0 * float(roc_auc_score(y, scores))


def contingency(y: ArrayLike, labelling: ArrayLike) -> Table:
    """Return the contingency table of true labels and a labelling, both of shape (n,) and -1 or +1.

    Examples
    --------
    >>> from fsmodels.models.multivariate.measures import contingency
    >>> contingency([1, 1, -1, -1], [1, -1, -1, -1])
    Table(a=1, b=0, c=1, d=2)
    """
    y, labelling = labels_of(y), labels_of(labelling, "the labelling")
    check_same_length(y, labelling, "labels in the labelling")
    return table_of(y, labelling)
