"""Labellings other than the true labels: their contingency tables and rows, and samples ranked by score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsmodels.checks import number_array
from fsmodels.errors import ParameterError
from fsmodels.weights import FloatArray

Labels = NDArray[np.int8]


class Table(NamedTuple):
    """Contingency table: numbers of a (both +1), b (labelled +1 wrongly), c (-1 wrongly) and d (both -1)."""

    a: int
    b: int
    c: int
    d: int


@dataclass(frozen=True, eq=False)
class Worst:
    """The most violated row of a loss, that of the largest ``delta - coefficients.scores``.

    Attributes
    ----------
    coefficients : ndarray of shape (n,)
        y - y', int8 with the values -2, 0 and 2; for ``Auc`` any float.
    delta : float
        Delta(y, y'), not divided by n.
    value : float
        (18): the lower bound of the row on n xi.
    labelling : ndarray of shape (n,) or None
        y', int8; None for ``Auc``, which labels pairs.
    table : Table or None
        Of y and y'.
    """

    coefficients: NDArray[Any]
    delta: float
    value: float
    labelling: Labels | None = None
    table: Table | None = None

    @classmethod
    def of(cls, y: Labels, scores: FloatArray, labelling: Labels, delta: float) -> Worst:
        """Return the row of a labelling."""
        coefficients = (y - labelling).astype(np.int8)
        value = float(delta - coefficients.astype(float) @ scores)
        return cls(coefficients, float(delta), value, labelling, table_of(y, labelling))


class Ranked:
    """Samples of each class by decreasing score, and the sums for (18)."""

    def __init__(self, y: Labels, scores: FloatArray) -> None:
        self.y, self.scores = y, scores
        self.positives, self.negatives = (by_decreasing_score(np.flatnonzero(y == label), scores) for label in (1, -1))
        self.p, self.q = len(self.positives), len(self.negatives)
        # Cumulated from the lowest positive and the highest negative, so that sums of few flips are small.
        self._missed = np.concatenate([[0.0], np.cumsum(scores[self.positives[::-1]])])
        self._added = np.concatenate([[0.0], np.cumsum(scores[self.negatives])])

    def gain(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> FloatArray:
        """Return the largest -(y - y').v with the counts a and b."""
        return np.asarray(2.0 * (self._added[b] - self._missed[self.p - a]))

    def row(self, a: int, b: int, delta: float) -> Worst:
        """Return the row that labels the a highest positive and the b highest negative samples +1."""
        labelling = np.full(len(self.y), -1, dtype=np.int8)
        labelling[self.positives[:a]] = 1
        labelling[self.negatives[:b]] = 1
        return Worst.of(self.y, self.scores, labelling, delta)


def by_decreasing_score(samples: NDArray[np.int64], scores: FloatArray) -> NDArray[np.int64]:
    """Sort samples by decreasing score."""
    return samples[np.argsort(-scores[samples], kind="stable")]


def table_of(y: Labels, labelling: Labels) -> Table:
    """Return the contingency table of a labelling."""
    is_positive, labelled = y > 0, labelling > 0
    a = count_of(is_positive & labelled)
    b, c = count_of(labelled) - a, count_of(is_positive) - a
    return Table(a, b, c, len(y) - a - b - c)


def count_of(mask: NDArray[np.bool_]) -> int:
    """Return the number of true entries."""
    return int(np.count_nonzero(mask))


def signs(scores: FloatArray) -> Labels:
    """Return the label +1 where the score is positive, else -1."""
    return np.where(scores > 0, 1, -1).astype(np.int8)


def labels_of(y: ArrayLike, what: str = "y") -> Labels:
    """Return labels as int8. Raises ParameterError for other labels than -1 and +1."""
    labels = np.asarray(y)
    if labels.ndim != 1 or not labels.size:
        raise ParameterError(f"{what} has shape {labels.shape}: give one label, -1 or +1, per sample.")
    known = (labels == 1) | (labels == -1)
    if not np.all(known):
        first = int(np.argmin(known))
        raise ParameterError(
            f"{what} has the label {labels.tolist()[first]!r} at position {first}: use -1 and +1, as in Dataset.y."
        )
    return labels.astype(np.int8)


def scores_of(scores: ArrayLike) -> FloatArray:
    """Return scores as floats. Raises ParameterError if they are not finite numbers."""
    found = number_array("scores", scores)
    if found.ndim != 1 or not found.size:
        raise ParameterError(f"scores have shape {found.shape}: give w.x_i, one per sample.")
    finite = np.isfinite(found)
    if not np.all(finite):
        first = int(np.argmin(finite))
        raise ParameterError(f"scores have {found[first]} at position {first}: give finite numbers.")
    return found


def pair_of(y: ArrayLike, scores: ArrayLike) -> tuple[Labels, FloatArray]:
    """Return checked labels and scores. Raises ParameterError if their lengths differ."""
    labels, found = labels_of(y), scores_of(scores)
    check_same_length(labels, found, "scores")
    return labels, found


def check_same_length(y: Labels, other: NDArray[Any], what: str) -> None:
    """Raise ParameterError if there is not one entry per sample."""
    if len(y) != len(other):
        raise ParameterError(f"y has {len(y)} labels and there are {len(other)} {what}: give one per sample.")


def check_positives(p: int, name: str) -> None:
    """Raise ParameterError if a measure needs a positive sample and there is none."""
    if not p:
        raise ParameterError(f"{name} needs a positive sample and y has none: use other samples, or hamming.")


def pairs_of(p: int, q: int) -> int:
    """Return the number of pairs of a positive and a negative sample. Raises ParameterError if there is none."""
    if not p * q:
        raise ParameterError(
            f"y has {p} positive and {q} negative samples: this measure needs both. Use other samples, or hamming."
        )
    return p * q
