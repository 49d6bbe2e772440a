"""Test whether two methods differ; all pages use these rules.

- Tasks on the same samples are not independent. The values of a test are means over all tasks of one source.
- Divisions of one data set share training samples. The variance of their mean is s^2 (1/n + test/train) instead of
  s^2 / n: Nadeau and Bengio 2003, "Inference for the generalization error", Machine Learning 52.
- The p-values of all tests of a table, or of a sentence, are adjusted together by Holm's method.
- A page reports the smallest true differences that its tests detect with probability ``POWER``.
"""

import math
import statistics
from dataclasses import dataclass

from scipy.stats import t as student

from benchmarks.harness.ranks import holm

LEVEL, POWER = 0.05, 0.8
MIN_VALUES = 3  # of a test
NOT_SHOWN = "is not shown to differ in errors from"
SAME_SAMPLES = {  # task -> another task with the same samples
    "wpbc24": "wpbc",
    "musk2": "musk1",  # most of its molecules are also in musk1
}


def source(task):
    """Return the source of the samples of a task; tasks of one source share samples, or are of one collection."""
    families = {"bird": "birdsong", "digits": "digits"}
    return families.get(task.split(" ")[0]) or SAME_SAMPLES.get(task, task)


def by_source(values):
    """Return source -> mean of the values of its tasks; ``values`` is task -> value."""
    found = {}
    for task, value in values.items():
        found.setdefault(source(task), []).append(value)
    return {name: statistics.fmean(of) for name, of in found.items()}


@dataclass(frozen=True)
class Difference:
    """Mean of ``n`` differences, its standard error ``se``, and the two-sided p-value ``p`` of Student's t-test."""

    n: int
    mean: float
    se: float
    p: float


def difference(values, ratio=0.0):
    """Test whether the mean of paired differences is 0; return None for fewer than ``MIN_VALUES``.

    ``ratio`` is the number of test samples divided by that of training samples if the values come from divisions of
    one data set.
    """
    n = len(values)
    if n < MIN_VALUES:
        return None
    mean, se = statistics.fmean(values), statistics.stdev(values) * math.sqrt(1 / n + ratio)
    p = 2 * float(student.sf(abs(mean) / se, n - 1)) if se else float(abs(mean) < 1e-12)
    return Difference(n, mean, se, p)


def verdicts(tests, adjust=holm):
    """Return key -> -1 (significantly below 0), 0 (not significant) or 1 (significantly above 0).

    ``tests`` is key -> ``Difference``, and ``adjust`` adjusts their p-values. ``adjust=list`` leaves them unchanged: in
    a comparison of our results with those of a paper, an adjustment would hide differences.
    """
    known = {key: test for key, test in tests.items() if test}
    ps = adjust([test.p for test in known.values()])
    signs = {key: (test.mean > 0) - (test.mean < 0) for key, test in known.items()}
    return {key: signs[key] * (p < LEVEL) for key, p in zip(known, ps, strict=True)}


def in_words(signs, less="makes fewer errors than", more="makes more errors than", neither=NOT_SHOWN):
    """Return a clause with the verdicts: "makes fewer errors than A, and is not shown to differ in errors from B".

    ``signs`` is name -> verdict; the words are those for verdicts below 0, above 0, and 0 or None.
    """
    groups = {
        words: [name for name, sign in signs.items() if (sign or 0) == value]
        for words, value in ((less, -1), (more, 1), (neither, 0))
    }
    return ", and ".join(f"{words} {listed(names)}" for words, names in groups.items() if names)


def listed(words):
    """Join words with commas and "and"."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def detectable(tests):
    """Return the smallest and largest of the true differences that the tests detect with probability ``POWER``.

    For each of m tests it is (t_(1 - level / 2m) + t_power) se: Holm's method tests the smallest p-value at level / m.
    Tests of equal values, with se = 0, are left out.
    """
    known = [test for test in tests.values() if test and test.se]
    level = 1 - LEVEL / (2 * len(known))
    sizes = [(student.ppf(level, test.n - 1) + student.ppf(POWER, test.n - 1)) * test.se for test in known]
    return float(min(sizes)), float(max(sizes))


def power_of(tests, which="these tests", unit="points"):
    """Return a sentence with the differences that the tests detect with probability ``POWER``."""
    if not any(test and test.se for test in tests.values()):
        return ""
    least, most = (f"{size:.1f}" for size in detectable(tests))
    size = least if least == most else f"{least} to {most}"
    return f"With a power of {POWER:.0%} {which} detect differences of {size} {unit}."
