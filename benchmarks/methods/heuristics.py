"""Selections by common heuristics: abess, liblinear's 1-norm SVM, and elimination by the linear SVM."""

import functools

import numpy as np
from sklearn.svm import LinearSVC

import fsmodels as fs

USED = 1e-6  # relative to the largest weight: a feature with a smaller weight is not used


def abess(X, y, count, *, fit=None, **options):
    """Return the positions of the features that the logistic regression of abess selects."""
    from abess import LogisticRegression

    varies = np.flatnonzero(X.std(axis=0) > 0)  # abess rejects constant columns
    X = X if len(varies) == X.shape[1] else X[:, varies]
    found = LogisticRegression(support_size=count, **options).fit(X, (y > 0).astype(int), **(fit or {}))
    return varies[np.flatnonzero(found.coef_)]


def l1_bisection(X, y, most, powers, *, steps=25, seed=0):
    """Bisect on log10(C) for exactly ``most`` features; yield C, the 1-norm SVM and the positions of used features."""
    low, high = powers
    for _ in range(steps):
        power = 0.5 * (low + high)
        svm = LinearSVC(penalty="l1", dual=False, C=10.0**power, random_state=seed).fit(X, y)
        sizes = np.abs(svm.coef_[0])
        used = np.flatnonzero(sizes > USED * sizes.max())
        yield 10.0**power, svm, used
        if len(used) == most:
            return
        low, high = (low, power) if len(used) > most else (power, high)


def largest(supports, most):
    """Return the first of the largest supports with at most ``most`` features; an empty one if there is none."""
    return max((used for used in supports if len(used) <= most), key=len, default=np.zeros(0, dtype=int))


def elimination(X, y, C, left, *, fewest=0, drop=0.1):
    """Yield the remaining features and their SVM; each step drops a share of them, those with the smallest weights.

    ``X`` is dense or CSC. The last SVM has ``fewest`` features, but at least one.
    """
    while len(left):
        svm = LinearSVC(C=C, random_state=0).fit(X[:, left], y)
        yield left, svm
        if len(left) <= fewest:
            return
        keep = max(fewest, min(len(left) - 1, int((1 - drop) * len(left))))
        left = left[np.sort(np.argsort(-np.abs(svm.coef_[0]), kind="stable")[:keep])]


@functools.cache
def warm_up(solver="branch-and-cut", form="perspective"):
    """Solve a small FSP-M once per process, so that imports and compilation of the first solve are not measured."""
    data = fs.load_dataset("wdbc").scaled("standard")
    fs.solve(fs.fsp.fsp_m(data, max_features=5, C=1.0, form=form), solver, time_limit=100)
