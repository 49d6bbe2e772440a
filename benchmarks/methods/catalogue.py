"""Methods of ``all_methods``: their parameter grids, and a fit at one point with a limit of CPU seconds.

Every method has up to six points, the strongest regularisation first. Methods with a given number k of features have
k = 1, 2, 4, 8, 16, 32 (at most the number of features, without repetition) and C = 1.
"""

import functools
import time
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

import fsmodels as fs
from benchmarks.harness.cpu_limit import cpu_limit
from benchmarks.methods import heuristics
from fsmodels.selection.catalogue import find

SIZES = (1, 2, 4, 8, 16, 32)
TRIAL, LAST = 1.0, 6.0  # limits in CPU seconds: of the fits that choose a point, and of the final fit
SVM_ITERATIONS = 2 * 10**5  # of libsvm
FOLDS = 3  # of the cross-validation in forward selection
GRACE = 1.0  # a solve that exceeds its limit is interrupted after (1 + GRACE) times the limit
AT_ONCE = ("one-norm-svm", "obd", "rfe", "relief")  # without a CPU limit of their own; that of HiGHS is wall-clock time
ENDED = ("time_limit", "interrupted", "iteration_limit")


class NoAnswer(Exception):
    """Raised by a fit without a result; the message is the reason."""


@dataclass
class Fit:
    """Result of a fit: the function ``predict``, the names of the selected features, and facts (status, gap)."""

    predict: object
    selected: tuple
    facts: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Method:
    """Method of the comparison: ``fit(train, point, limit, rules)`` returns a Fit, ``points(n, d)`` the grid.

    ``family``: "all" (no selection), "heuristic", "linear" or "kernel". ``given_k``: True if a point is k itself.
    """

    name: str
    family: str
    points: object
    fit: object
    given_k: bool = False


# ---- limits


@contextmanager
def cpu_clock():
    """Make the time limits of fsmodels and OKRidge count CPU seconds; wall-clock time depends on the load."""
    clocks = time.perf_counter, time.time
    time.perf_counter = time.time = time.process_time
    try:
        yield
    finally:
        time.perf_counter, time.time = clocks


@contextmanager
def within(seconds):
    """Interrupt a block after some CPU seconds, as Ctrl-C does. Raises NoAnswer if the block has no result."""
    with cpu_limit(seconds) as limit:
        try:
            yield limit
        except KeyboardInterrupt:
            if not limit.reached:
                raise
            raise NoAnswer(f"nothing within {seconds:g} CPU s") from None


# ---- methods of scikit-learn


def majority(train, point, limit, rules):
    """Predict the larger class for every sample."""
    refuse(rules)
    label = 1.0 if train.y.sum() > 0 else -1.0
    return Fit(lambda other: np.full(len(other), label), ())


def svm(train, point, limit, rules):
    """Fit the linear SVM on all features; with rules, on the features that ``fs.select`` selects."""
    if rules:
        return select("svm", lambda train, point: {"C": point[0]})(train, point, limit, rules)
    return fit_svm(train, train.features, limit, kernel="linear", C=point[0])


def rbf(train, point, limit, rules):
    """Fit the SVM with the kernel exp(-|x - x'|^2 share / d); a point is (C, share)."""
    refuse(rules)
    return fit_svm(train, train.features, limit, C=point[0], gamma=point[1] / train.n_features)


def fit_svm(train, names, limit, **words):
    """Fit the SVM of libsvm on some features."""
    with within(limit):
        fitted = SVC(max_iter=SVM_ITERATIONS, cache_size=500, **words).fit(train.select_features(names).X, train.y)
    late = bool(fitted.fit_status_)
    return Fit(lambda other: fitted.predict(other.select_features(names).X), tuple(names), {"late": late})


def refuse(rules):
    """Raise ModelError if there are rules, which the method does not support."""
    if rules:
        raise fs.ModelError("the method does not support rules on features")


# ---- rankings; one ranking serves all k


@functools.lru_cache(maxsize=4)
def ranked(how, train, most, limit):
    """Return feature names, best first, and True if the limit ended the ranking early."""
    with within((1 + GRACE) * limit):
        if how == "relief":
            return tuple(fs.rankings.relief(train).index), False
        if how == "rfe":
            return tuple(fs.baselines.rfe(train, max_features=1).ranking.index), False
        if how == "stability":
            order = heuristics.stability_selection(train.X, train.y, most)
            return tuple(train.features[j] for j in order), False
        return forward(train, most, limit)


def forward(train, most, limit):
    """Add the feature with the smallest cross-validation error of the SVM; the first one in a tie."""
    end = time.process_time() + limit
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(train.X, train.y))
    taken = []
    while len(taken) < most:
        errors = {}
        for j in range(train.n_features):
            if j not in taken:
                columns = [*taken, j]
                errors[j] = sum(wrong(train, columns, learn, held) for learn, held in folds)
                if time.process_time() > end:
                    return tuple(train.features[j] for j in taken), True
        taken.append(min(errors, key=errors.get))
    return tuple(train.features[j] for j in taken), False


def wrong(train, columns, learn, held):
    """Return the number of held-out errors of the SVM on some columns."""
    fitted = SVC(kernel="linear", C=1.0, max_iter=SVM_ITERATIONS).fit(train.X[np.ix_(learn, columns)], train.y[learn])
    return int((fitted.predict(train.X[np.ix_(held, columns)]) != train.y[held]).sum())


def best(how):
    """Return the ``fit`` function of the SVM with C = 1 on the k best features of a ranking."""

    def fit(train, point, limit, rules):
        if rules:
            if how == "forward":
                refuse(rules)
            return select(how, lambda train, point: {"max_features": point[0]})(train, point, limit, rules)
        # One ranking serves all trials and may take their time together; that of the final fit ends at its k.
        most, seconds = (point[0], limit) if limit == LAST else (min(max(SIZES), train.n_features), len(SIZES) * limit)
        names, cut = ranked(how, train, most, seconds)
        if not names:
            raise NoAnswer(f"no feature within {seconds:g} CPU s")
        names = set(names[: point[0]])
        found = fit_svm(train, [name for name in train.features if name in names], limit, kernel="linear", C=1.0)
        found.facts["late"] |= cut and len(names) < point[0]
        return found

    return fit


# ---- methods of fs.select


def select(model, words, **always):
    """Return the ``fit`` function of a model by name; a model with a refit on the selected features predicts by it."""

    def fit(train, point, limit, rules):
        given = {**words(train, point), **always, **rules}
        if rules and model == "fsmulti" and "budget" in (own := words(train, point)):
            given["budget"] = [own["budget"], rules["budget"]]
        if model not in AT_ONCE:
            given["time_limit"] = limit
        with within(limit if model in AT_ONCE else (1 + GRACE) * limit) as interrupt:
            found = fs.select(train, model, **given)
        if found.stop_reason.value == "interrupted" and not interrupt.reached:
            raise KeyboardInterrupt
        if not found.has_solution:
            raise NoAnswer(found.message or found.status.value)
        decides = found if find(model).refit == "" else found.refit or refitted(found, find(model).refit, limit)
        gap = None if found.gap is None or found.gap >= 1.0 else found.gap  # the bound of 0 is trivial
        facts = {"status": found.status.value, "gap": gap, "late": found.stop_reason.value in ENDED}
        return Fit(lambda other: np.where(decides.decision(other) > 0, 1.0, -1.0), found.selected, facts)

    return fit


def refitted(found, model, limit):
    """Refit on the selected features, if the limit ended the method before its own refit."""
    if not found.selected:
        return found
    try:
        with within(limit):
            again = fs.select(found.data.select_features(found.selected), model)
    except NoAnswer:
        return found
    return again if again.status.value == "optimal" else found


# ---- points, the strongest regularisation first


def sizes(n, d):
    """Return the grid of methods with a given number of features."""
    return [(k,) for k in dict.fromkeys(min(k, d) for k in SIZES)]


def listed(*values):
    """Return the same points for all data."""
    return lambda n, d: [value if isinstance(value, tuple) else (value,) for value in values]


def per_sample(*values):
    """Return points divided by the number of samples."""
    return lambda n, d: [(value / n,) for value in values]


def times_samples(*values):
    """Return points multiplied by the number of samples."""
    return lambda n, d: [(value * n,) for value in values]


def shared(*costs):
    """Return pairs (budget, C) of FSmulti."""
    return lambda n, d: [(B, c * n) for B in dict.fromkeys(min(B, d) for B in (2, 8, 32)) for c in costs]


def product(first, second):
    """Return all pairs, ordered by the first and then the second value."""
    return listed(*((a, b) for a in first for b in second))


CONCAVE = listed(0.6, 0.3, 0.1, 0.03, 0.01, 0.003)
WEIGHTS = product((1.0, 8.0), (8.0, 1.0, 0.125))  # C and mu
FUNCTIONAL = product((0.0625, 0.5), (1.0, 0.125, 0.015625))  # of AO-EFS, where C weighs another function
RISK = {"hamming": (0.05, 0.5), "f1": (0.1, 1.0)}  # c of C = c n; the units of the losses differ


def by_k(train, point):
    return {"max_features": point[0]}


def by_penalty(train, point):
    return {"penalty": point[0]}


def by_both(train, point):
    return {"C": point[0], "penalty": point[1]}


def by_budget(word):
    return lambda train, point: {word: point[0], "C": point[1], "offset": True}


def kernel(name, model, points):
    return Method(name, "kernel", points, select(model, by_both))


def concave(name, model):
    return Method(name, "linear", CONCAVE, select(model, by_penalty))


METHODS = {
    method.name: method
    for method in [
        Method("majority", "all", listed(0), majority),
        Method("SVM", "all", listed(0.001, 0.01, 0.1, 1.0, 10.0, 100.0), svm),
        Method("RBF SVM", "all", product((1.0, 16.0), (0.125, 0.5, 2.0)), rbf),
        Method(
            "1-norm SVM",
            "heuristic",
            per_sample(3.0, 10.0, 30.0, 100.0, 300.0, 1000.0),
            select("one-norm-svm", lambda train, point: {"C": point[0]}),
        ),
        Method("RFE", "heuristic", sizes, best("rfe"), given_k=True),
        Method("Relief", "heuristic", sizes, best("relief"), given_k=True),
        Method("forward", "heuristic", sizes, best("forward"), given_k=True),
        Method("FSP-M", "linear", sizes, select("fsp-m", by_k, C=1.0, threads=1), given_k=True),
        Method(
            "FSP-lambda",
            "linear",
            times_samples(0.1, 0.03, 0.01, 0.003, 0.001, 0.0003),
            select("fsp-lambda", by_penalty, C=1.0, threads=1),
        ),
        concave("FSV", "fsv"),
        concave("FSS", "fss"),
        concave("FSB", "fsb"),
        Method("OBD", "linear", listed(0.8, 0.6, 0.4, 0.2, 0.1, 0.05), select("obd", by_penalty)),
        Method(
            "GMEB",
            "linear",
            listed(0.3, 1.0, 2.0, 4.0, 8.0, 16.0),
            select("gmeb", lambda train, point: {"R_plus": point[0], "R_minus": point[0]}),
        ),
        Method(
            "FSmulti errors", "linear", shared(*RISK["hamming"]), select("fsmulti", by_budget("budget"), loss="hamming")
        ),
        Method("FSmulti F1", "linear", shared(*RISK["f1"]), select("fsmulti", by_budget("budget"), loss="f1")),
        Method(
            "FSmulti strict", "linear", shared(*RISK["f1"]), select("fsmulti", by_budget("max_features"), loss="f1")
        ),
        kernel("FULL-FS", "full-fs", WEIGHTS),
        kernel("AO-margin", "ao-margin", WEIGHTS),
        kernel("AO-EFS", "ao-efs", FUNCTIONAL),
        kernel("GMKL", "gmkl", WEIGHTS),
    ]
}
