"""Selections by other methods: abess, FasterRisk, OKRidge, 1-norm SVM, stability selection, elimination by the SVM."""

import contextlib
import functools
import io

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.svm import LinearSVC, l1_min_c

import fsmodels as fs

USED = 1e-6  # relative to the largest weight: a feature with a smaller weight is not used


def abess(X, y, count, *, fit=None, **options):
    """Return the positions of the features that the logistic regression of abess selects."""
    from abess import LogisticRegression

    varies = np.flatnonzero(X.std(axis=0) > 0)  # abess rejects constant columns
    X = X if len(varies) == X.shape[1] else X[:, varies]
    found = LogisticRegression(support_size=count, **options).fit(X, (y > 0).astype(int), **(fit or {}))
    return varies[np.flatnonzero(found.coef_)]


def fasterrisk(X, y, most, found):
    """Append to ``found`` the positions of the best 1, 2, ..., ``most`` features of FasterRisk's logistic regression.

    Its beam search adds one feature in each step. If it is interrupted, ``found`` has the smaller selections.
    """
    from fasterrisk.sparseBeamSearch import sparseLogRegModel

    class Search(sparseLogRegModel):
        def beamSearch_multipleSupports_via_OMP_by_1(self, **sizes):  # noqa: N802
            super().beamSearch_multipleSupports_via_OMP_by_1(**sizes)
            found.append(np.flatnonzero(np.abs(self.betas_arr_parent[0]) > 1e-9))  # 1e-9 is its own tolerance

    Search(X, y).get_sparse_sol_via_OMP(most)


def okridge(X, y, count, limit, *, penalty=1.0, gap=1e-4):
    """Return the positions of the features of OKRidge's ridge regression on y, and True if it proves their optimality.

    The columns of ``X`` must be centred, because OKRidge has no intercept. ``limit``: seconds of branch and bound.
    """
    from okridge.tree import BNBTree

    with contextlib.redirect_stdout(io.StringIO()):
        tree = BNBTree(X, y, lambda2=penalty)
        # Otherwise version 0.1.1 calls a missing method (Node.lower_solve); with a negative limit it only searches.
        bounded = tree.data.rho_ADMM_is_finetuned
        _, weights, reached, *_ = tree.solve(count, gap_tol=gap, time_limit=limit if bounded else -1.0)
    return np.flatnonzero(weights), bool(reached <= gap and (bounded or count == 1))


def stability_selection(X, y, most, *, growth=1.2, seed=0):
    """Rank features by stability selection with the 1-norm SVM; return their positions, best first.

    The score is the largest share, over C, of 100 stratified halves of the samples whose SVM uses the feature; ties are
    ordered by the mean share. C grows until the SVMs use more than sqrt(0.8 d) features on average, the number of
    Meinshausen and Buehlmann (2010) for a threshold of 0.9, and at least ``most`` features are used by any SVM.
    """
    halves = list(StratifiedShuffleSplit(100, train_size=0.5, random_state=seed).split(X, y))
    C, shares, most = l1_min_c(X, y), [np.zeros(X.shape[1])], min(most, np.count_nonzero(np.ptp(X, axis=0)))
    while shares[-1].sum() <= np.sqrt(0.8 * X.shape[1]) or np.count_nonzero(np.max(shares, axis=0)) < most:
        C *= growth
        svms = [LinearSVC(penalty="l1", dual=False, C=C, random_state=seed).fit(X[half], y[half]) for half, _ in halves]
        shares.append(np.mean([svm.coef_[0] != 0 for svm in svms], axis=0))
    return np.lexsort((-np.mean(shares, axis=0), -np.max(shares, axis=0)))


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
