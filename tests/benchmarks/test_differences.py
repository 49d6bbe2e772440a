"""One rule decides on all pages whether two methods differ."""

import numpy as np
import pytest
from scipy import stats

from benchmarks.harness import differences


def test_tasks_on_the_same_samples_are_one_value():
    found = differences.by_source({"wpbc": 1.0, "wpbc24": 3.0, "bird SWTH": 5.0, "bird PAWR": 6.0, "fox": 0.0})
    assert found == {"wpbc": 2.0, "birdsong": 5.5, "fox": 0.0}


def test_values_of_different_sources_have_the_usual_t_test():
    values = [0.5, 1.5, -0.25, 2.0]
    assert differences.difference(values).p == pytest.approx(stats.ttest_1samp(values, 0.0).pvalue)


def test_divisions_have_the_corrected_resampled_t_test():
    values = [1.0, 2.0, 3.0]
    found = differences.difference(values, ratio=1 / 9)
    assert found.se == pytest.approx(np.sqrt(1 / 3 + 1 / 9))
    assert found.p == pytest.approx(2 * stats.t.sf(2 / found.se, 2))


@pytest.mark.parametrize(
    ("signs", "words"),
    [
        ({"a": -1, "b": -1, "c": 0}, "makes fewer errors than a and b, and is not shown to differ in errors from c"),
        (
            {"a": 1, "b": None, "c": 0, "d": None},
            "makes more errors than a, and is not shown to differ in errors from b, c and d",
        ),
        ({"a": -1}, "makes fewer errors than a"),
    ],
)
def test_words_follow_from_the_verdicts(signs, words):
    assert differences.in_words(signs) == words


@pytest.mark.parametrize(("values", "p"), [([1.0, 1.0, 1.0], 0.0), ([0.0, 0.0, 0.0], 1.0)])
def test_equal_values_have_no_spread(values, p):
    assert differences.difference(values).p == p


def test_verdicts_are_adjusted_together():
    tests = {
        "alone": differences.difference([1.0, 1.2, 1.1, 0.9]),
        "weak": differences.difference([-1.0, -2.0, -0.3, -1.7]),
        "few": differences.difference([1.0, 1.1]),
    }
    assert 0.025 < tests["weak"].p < 0.05
    assert differences.verdicts(tests) == {"alone": 1, "weak": -1}
    more = {k: differences.difference([1.0, -1.0, 0.5]) for k in range(5)}
    assert differences.verdicts(tests | more)["weak"] == 0
    assert differences.verdicts(tests | more, adjust=list)["weak"] == -1


def test_the_detectable_difference_is_found_with_its_power():
    random = np.random.default_rng(0)
    test = differences.Difference(10, 0.0, 1 / np.sqrt(10), 1.0)
    least, most = differences.detectable({"one": test})
    assert least == most
    draws = random.normal(least, 1.0, size=(4000, 10))
    assert np.mean(stats.ttest_1samp(draws, 0.0, axis=1).pvalue < 0.05) == pytest.approx(0.8, abs=0.03)
