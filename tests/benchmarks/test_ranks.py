"""The tests by ranks are those of Demsar 2006, with his own example and scipy's."""

import numpy as np
import pytest
from scipy import stats

from benchmarks.harness import ranks

# his table 6: AUC of C4.5, with m, with cf and with both tuned, on 14 sets; sections 3.2.2 and 3.2.4 have the results
AUC = np.array([
    [0.763, 0.768, 0.771, 0.798], [0.599, 0.591, 0.590, 0.569], [0.954, 0.971, 0.968, 0.967],
    [0.628, 0.661, 0.654, 0.657], [0.882, 0.888, 0.886, 0.898], [0.936, 0.931, 0.916, 0.931],
    [0.661, 0.668, 0.609, 0.685], [0.583, 0.583, 0.563, 0.625], [0.775, 0.838, 0.866, 0.875],
    [1.000, 1.000, 1.000, 1.000], [0.940, 0.962, 0.965, 0.962], [0.619, 0.666, 0.614, 0.669],
    [0.972, 0.981, 0.9751, 0.975], [0.957, 0.978, 0.946, 0.970],
])  # fmt: skip
NAMES = ("C4.5", "m", "cf", "both")


def test_demsars_example():
    found = ranks.ranked(-AUC, NAMES)
    assert list(found.mean.values()) == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=6e-4)
    assert pytest.approx(3.69, abs=0.01) == found.F
    adjusted = {name: p for name, (_, p) in found.against("C4.5").items()}  # his p: 0.016, 0.019 and 0.607
    assert adjusted["m"] == adjusted["both"]  # 2 x 0.019 is less than 3 x 0.016, the p before it
    assert adjusted["both"] == pytest.approx(0.047, abs=0.002)
    assert adjusted["cf"] == pytest.approx(0.607, abs=0.01)


def test_nemenyis_critical_difference():
    found = ranks.Ranking(NAMES, np.repeat([[1.0, 1.0 + 1.2536, 4.0, 3.0]], 14, axis=0), F=0.0, p=1.0)
    assert found.apart_from("C4.5")["m"] == pytest.approx(0.05, abs=5e-4)  # 2.569 sqrt(4 5 / (6 14))


def test_without_ties_friedman_is_scipys():
    values = np.random.default_rng(0).normal(size=(9, 5))
    found = ranks.ranked(values, "abcde")
    chi2 = stats.friedmanchisquare(*values.T).statistic
    assert pytest.approx(8 * chi2 / (9 * 4 - chi2)) == found.F


def test_holm_steps_down_and_never_below_the_one_before():
    assert ranks.holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])


def test_equal_methods_do_not_differ():
    assert ranks.signed_ranks([1, 2, 3], [1, 2, 3]) == 1.0
    assert ranks.ranked(np.ones((4, 3)), "abc").F == 0.0
