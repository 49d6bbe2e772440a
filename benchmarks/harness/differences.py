"""Is a difference of two methods more than chance? One rule for all pages.

- Tasks on the same samples are no evidence of each other: the values of a test are means by source of the samples.
- Divisions of one data set share training samples. The variance of their mean is s^2 (1/n + test/train) instead of
  s^2 / n: Nadeau and Bengio 2003, "Inference for the generalization error", Machine Learning 52.
- All tests of a table, or of a sentence, are adjusted together by Holm's rule.
- A page without significant differences reports which difference it could have detected.
"""

import math
import statistics
from dataclasses import dataclass

from scipy.stats import t as student

from benchmarks.harness.ranks import holm

LEVEL, POWER = 0.05, 0.8
FEWEST = 3  # values of a test
SAME = {  # tasks with the samples of another task
    "wpbc24": "wpbc",
    "musk2": "musk1",  # most of its molecules are also in musk1
}


def source(task):
    """Return the source of the samples of a task."""
    return "birdsong" if task.startswith("bird ") else SAME.get(task, task)


def by_source(values):
    """Return source -> mean over its tasks, of task -> value."""
    found = {}
    for task, value in values.items():
        found.setdefault(source(task), []).append(value)
    return {name: statistics.fmean(of) for name, of in found.items()}


@dataclass(frozen=True)
class Difference:
    """``n`` values with their ``mean``, its standard error ``se``, and the two-sided ``p`` of Student's t."""

    n: int
    mean: float
    se: float
    p: float


def difference(values, ratio=0.0):
    """Test the mean of differences in pairs; None below ``FEWEST``.

    ``ratio`` is test samples by training samples if the values are from divisions of one data set.
    """
    n = len(values)
    if n < FEWEST:
        return None
    mean, se = statistics.fmean(values), statistics.stdev(values) * math.sqrt(1 / n + ratio)
    p = 2 * float(student.sf(abs(mean) / se, n - 1)) if se else float(abs(mean) < 1e-12)
    return Difference(n, mean, se, p)


def verdicts(tests, adjust=holm):
    """Return key -> -1, 0 or 1 of key -> difference: below 0, not significant, above 0, by Holm's rule over all.

    ``adjust=list`` is for differences between our results and those of a paper, which an adjustment would hide.
    """
    known = {key: test for key, test in tests.items() if test}
    ps = adjust([test.p for test in known.values()])
    signs = {key: (test.mean > 0) - (test.mean < 0) for key, test in known.items()}
    return {key: signs[key] * (p < LEVEL) for key, p in zip(known, ps, strict=True)}


def detectable(tests):
    """Return the least and the most of the true differences that the tests would detect with probability ``POWER``.

    Each is (t_(1 - level / 2m) + t_power) se for m tests, which Holm's rule requires of the largest one.
    """
    known = [test for test in tests.values() if test]
    level = 1 - LEVEL / (2 * len(known))
    sizes = [(student.ppf(level, test.n - 1) + student.ppf(POWER, test.n - 1)) * test.se for test in known]
    return float(min(sizes)), float(max(sizes))


def power_of(tests, which="these tests", unit="points"):
    """Return a sentence on the differences that the tests would detect."""
    if not any(tests.values()):
        return ""
    least, most = (f"{size:.1f}" for size in detectable(tests))
    size = least if least == most else f"{least} to {most}"
    return f"With a power of {POWER:.0%} {which} detect differences of {size} {unit}."
