"""Compare several methods on several data sets by ranks (Demsar 2006).

"Statistical comparisons of classifiers over multiple data sets", JMLR 7. For k methods on N sets, R_j is the mean rank
of method j (1 is best, ties have their mean rank):

- Friedman: chi2 = 12 N / (k (k + 1)) (sum R_j^2 - k (k + 1)^2 / 4), and Iman and Davenport's
  F = (N - 1) chi2 / (N (k - 1) - chi2), with k - 1 and (k - 1)(N - 1) degrees of freedom.
- All methods against one control: z = (R_j - R_0) / sqrt(k (k + 1) / (6 N)), two-sided, with Holm's correction.
- All methods against one that was chosen by the results, such as the best: Nemenyi's test of all pairs, by the
  studentized range.
- Two methods: Wilcoxon's signed-rank test.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class Ranking:
    """Ranks (N, k) of methods, and ``F`` and ``p`` of the Friedman test in the form of Iman and Davenport."""

    names: tuple
    ranks: np.ndarray
    F: float
    p: float

    @property
    def mean(self):
        """Return name -> mean rank."""
        return dict(zip(self.names, self.ranks.mean(axis=0).tolist(), strict=True))

    def against(self, control):
        """Return name -> (mean rank minus that of the control, p-value after Holm) for all other methods."""
        N, k = self.ranks.shape
        mean = self.mean
        others = [name for name in self.names if name != control]
        z = [(mean[name] - mean[control]) / np.sqrt(k * (k + 1) / (6 * N)) for name in others]
        adjusted = holm([2 * float(stats.norm.sf(abs(value))) for value in z])
        return {name: (mean[name] - mean[control], p) for name, p in zip(others, adjusted, strict=True)}

    def critical(self, level=0.05):
        """Return the critical difference of mean ranks of Nemenyi's test."""
        N, k = self.ranks.shape
        return float(stats.studentized_range.ppf(1 - level, k, np.inf)) * np.sqrt(k * (k + 1) / (12 * N))

    def apart_from(self, name):
        """Return the p-values of Nemenyi's test of all other methods; ``name`` may have been chosen by its rank."""
        N, k = self.ranks.shape
        mean, unit = self.mean, np.sqrt(k * (k + 1) / (12 * N))
        return {
            other: float(stats.studentized_range.sf(abs(mean[other] - mean[name]) / unit, k, np.inf))
            for other in self.names
            if other != name
        }


def ranked(values, names):
    """Rank the columns of values (N, k), smallest first in each row, and test whether they differ."""
    ranks = np.array([stats.rankdata(np.round(row, 12)) for row in np.asarray(values, dtype=float)])
    N, k = ranks.shape
    R = ranks.mean(axis=0)
    chi2 = 12 * N / (k * (k + 1)) * (float(R @ R) - k * (k + 1) ** 2 / 4)
    left = N * (k - 1) - chi2
    F = (N - 1) * chi2 / left if left > 1e-9 else np.inf
    p = float(stats.f.sf(F, k - 1, (k - 1) * (N - 1))) if N > 1 else np.nan
    return Ranking(tuple(names), ranks, float(F), p)


def holm(ps):
    """Return p-values adjusted by Holm's step-down method, in the order given."""
    order, adjusted, least = np.argsort(ps, kind="stable"), [0.0] * len(ps), 0.0
    for place, index in enumerate(order):
        least = max(least, min(1.0, (len(ps) - place) * ps[index]))
        adjusted[index] = least
    return adjusted


def signed_ranks(first, second):
    """Return the p-value of Wilcoxon's signed-rank test of pairs; 1 if all pairs are equal."""
    apart = np.round(np.asarray(first, dtype=float) - np.asarray(second, dtype=float), 12)
    return 1.0 if not apart.any() else float(stats.wilcoxon(apart, zero_method="zsplit").pvalue)
