"""Protocol of ``multivariate_tables``: its tasks, the fast ones and complete comparisons first.

C = c n in all fits. A task of ``kind`` "c" chooses c. A task that needs a choice that is not in the log makes it.
"""

import functools
import itertools
import statistics
import time
import warnings

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from benchmarks.harness.log import Log
from benchmarks.methods.heuristics import elimination
from benchmarks.papers.mao import data as source
from benchmarks.papers.mao.data import BAGS, COLLECTIONS, TEXTS, fs

NAME, PROTOCOL = "multivariate_tables", 1
GRID = {"FSmulti": (0.1, 1.0, 10.0, 100.0), "structural SVM": (0.01, 0.1, 1.0, 10.0)}  # c; FSmulti: as in the paper
COSTS = (0.01, 0.1, 1.0, 10.0)  # C of RFE
FOLDS, TRIED = 3, 10  # number of folds, and B, in cross-validation
ROUNDS = {"FSmulti": 200, "structural SVM": 100}  # limit of iterations; the gap is 1%
TRIAL = {"gap": 0.05, "iteration_limit": 50}
PATH = np.logspace(-2.5, 1.5, 25)  # C of l1
DROP = 0.1  # share of the remaining features that RFE removes in a step
FGM_C = 5.0  # as in the paper
WIDE, BUDGETS, SPLITS = 250, (250, 50, 10, 2), 3
GRID_B = (2, 10, 50, 250, 5, 100, 150, 200)  # of figure 1, as in the paper
LOSSES = ("f1", "rec@2p", "prbep")
MEASURES = ("f1", "rec@2p", "prbep", "hamming")
BOUND = {"classes": 3, "c": (0.1, 1.0), "risk_tolerance": 0.01}  # fits for Theorem 1
OURS, ALL, FGM, L1, RFE = "FSmulti", "structural SVM", "FGM", "l1", "RFE"
MANY = ("topics", "digits")  # the collections of more than two classes
SENSITIVE = "pcmac"  # in place of News20.binary
COLLECTION = {name: collection for collection, names in COLLECTIONS.items() for name in names}


# ---- the tasks


def task(kind, name, method, *, seed=0, loss=None, B=None, c=None, offset=True):
    """Return a task in the form of the log."""
    record = {"protocol": PROTOCOL, "kind": kind, "task": name, "seed": seed, "method": method}
    return record | {"loss": loss, "B": B, "c": c, "offset": offset}


def tasks(full):
    """Return the tasks whose files exist, in the order in which they are run."""
    return [each for each in wanted(full) if all(map(source.there, COLLECTIONS.get(each["task"], (each["task"],))))]


def wanted(full):
    """Return all tasks: bags for F1, text for errors, collections for each measure; then those with several B and C."""
    found = []
    classes = [name for names in COLLECTIONS.values() for name in (names if full else names[:2])]
    splits = [(name, seed) for seed in range(SPLITS) for name in BAGS[:-1]] + [(BAGS[-1], 0)]
    splits = splits if full else [(name, 0) for name in ("musk1", "elephant", "bird SWTH")]
    texts, budgets = (TEXTS, BUDGETS) if full else ((SENSITIVE,), BUDGETS[:2])

    def chosen(name, method, losses, seed=0):
        of = COLLECTION.get(name, name)
        return [task("c", of, method, seed=seed, loss=loss) for loss in losses]

    def fits(name, losses, budgets, seed=0):
        more = chosen(name, OURS, losses, seed)
        return more + [task("fit", name, OURS, seed=seed, loss=loss, B=B) for B in budgets for loss in losses]

    def paths(name, seed=0):
        return [task("path", name, method, seed=seed) for method in (L1, RFE)]

    first = [name for name, seed in splits if seed == 0 and name != "dogs"]
    for name in first:  # figure 5
        found += paths(name) + fits(name, ("f1", "hamming"), (10,))
    for name in texts:  # figures 3 and 4
        found += paths(name) + fits(name, ("hamming",), (10, 2, 50)) + [task("fit", name, FGM, B=10, offset=False)]
    for name in classes:  # table 2 and figure 7
        found += fits(name, MEASURES, (WIDE,)) + chosen(name, ALL, LOSSES)
        found += [task("fit", name, ALL, loss=loss) for loss in LOSSES] + paths(name)
    found += figure_1(GRID_B[: 3 if full else 1])
    found += fits(SENSITIVE, ("f1",), (10, 50, 2))  # figure 2
    for name in first:
        found += fits(name, ("f1", "hamming"), (50, 2))
    for name in texts:
        found += fits(name, ("hamming",), (250,))
        found += [task("fit", name, FGM, B=B, offset=False) for B in (2, 50, 250)]
    found += fits(SENSITIVE, ("f1",), (250,))
    for B in budgets[1:]:  # figure 6
        for name in classes:
            found += [task("fit", name, OURS, loss=loss, B=B) for loss in MEASURES]
    for name, seed in splits:
        found += paths(name, seed) + fits(name, ("f1", "hamming"), (50, 10, 2), seed)
    if full:  # B = 1, the squared 1-norm, instead of l1-bmrm; and FSmulti as in the paper, without an offset
        found += [task("fit", name, OURS, seed=seed, loss="f1", B=1) for name, seed in splits]
        for name in classes:
            found += [task("fit", name, OURS, loss="f1", B=WIDE, offset=False)]
        found += figure_1(GRID_B[3:])
        classes = COLLECTIONS["digits"][: BOUND["classes"]]
        grid = itertools.product(classes, ("f1", "hamming"), BOUND["c"], ((ALL, None), (OURS, WIDE)))
        found += [task("bound", name, method, loss=loss, B=B, c=c) for name, loss, c, (method, B) in grid]
    return list({str(each): each for each in found}.values())


def figure_1(budgets):
    grid = itertools.product(budgets, GRID[OURS], ("hamming", "f1"))
    return [task("fit", SENSITIVE, OURS, loss=loss, B=B, c=c) for B, c, loss in grid]


def work(**spec):
    """Run a task; return its record with its CPU seconds."""
    start = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        known = {"c": choice, "fit": fit, "path": path, "bound": iterations}[spec["kind"]](spec)
    late = sum(issubclass(w.category, ConvergenceWarning) for w in caught)
    return known | {"late": known.get("late", 0) + late, "cpu": round(time.process_time() - start, 2)}


# ---- FSmulti, structural SVM, FGM


def solved(data, spec, c, limits):
    """Fit a model; return ((weights, offset), result)."""
    if spec["method"] == FGM:
        model = fs.multivariate.fgm(data, budget=spec["B"], C=FGM_C)
        return weights(data, model, fs.solve(model))
    shape = {"C": c * len(data), "loss": spec["loss"], "offset": spec["offset"]}
    if spec["method"] == ALL:
        model = fs.multivariate.structural_svm(data, **shape)
    else:
        model = fs.multivariate.fsmulti(data, budget=min(spec["B"], data.n_features), **shape)
    return weights(data, model, fs.solve(model, **limits))


def weights(data, model, result):
    """Return ((weights, offset), result); weights of features that are not selected are set to 0."""
    w, b = fs.multivariate.classifier(model)
    place = {name: j for j, name in enumerate(data.features)}
    kept = np.zeros(len(w), dtype=bool)
    kept[[place[name] for name in result.selected]] = True
    return (np.where(kept, w, 0.0), b), result


def choice(spec):
    """Choose c by the loss of the method over three folds of the training part; the smallest one in a tie.

    A collection has one c for all classes, as in the paper; its folds are one fold of each of its first three classes.
    """
    names = COLLECTIONS.get(spec["task"], (spec["task"],))
    method = spec | {"B": TRIED if spec["method"] == OURS else None}
    means, late = [], 0
    grid = GRID[spec["method"]]
    for c in grid:
        found = []
        for k in range(FOLDS):
            train, held = fold(names[k % len(names)], spec["seed"], k)
            (w, b), result = solved(train, method, c, TRIAL)
            late += result.stop_reason.value != "converged"
            found.append(float(fs.measures.measure(held.y, held.X @ w + b, [spec["loss"]]).iloc[0]))
        means.append(round(statistics.fmean(found), 6))
    return {"cv": means, "best": grid[int(np.argmax(means))], "late": late, "of": FOLDS * len(grid)}


@functools.lru_cache(maxsize=FOLDS)
def fold(name, seed, k):
    """Return one of three folds of the training part; bags are embedded by the training bags of the fold."""
    if name not in BAGS:
        return source.parts_of(name, seed)[0].folds(FOLDS, seed=0)[k]
    return source.embedded(*source.fold_of_bags(source.split_bags(name, seed)[0], k, FOLDS))


def chosen(spec):
    """Return the c that the task of ``kind`` "c" chooses, from the log if it contains this task."""
    of = COLLECTION.get(spec["task"], spec["task"])
    return _chosen(of, spec["seed"], spec["method"], spec["loss"])


@functools.cache
def _chosen(of, seed, method, loss):
    requested = task("c", of, method, seed=seed, loss=loss)
    for entry in Log(NAME).entries():
        if all(entry.get(name) == value for name, value in requested.items()):
            return entry["best"]
    return choice(requested)["best"]


def fit(spec):
    """Fit on the training part, and measure on the test part."""
    train, test = source.parts_of(spec["task"], spec["seed"])
    c = spec["c"] or (None if spec["method"] == FGM else chosen(spec))
    start = time.process_time()
    (w, b), result = solved(train, spec, c, {"gap": 0.01, "iteration_limit": ROUNDS.get(spec["method"])})
    record = {"used": c, "features": int(np.count_nonzero(w)), "gap": result.gap, "stop": result.stop_reason.value}
    record |= {"rounds": len(result.iterations), "fit_cpu": round(time.process_time() - start, 2)}
    if spec["task"] in TEXTS and spec["loss"] in ("hamming", None):
        record["selected"] = np.flatnonzero(w).tolist()
    return record | measured(spec, test, test.X @ w + b)


def measured(spec, test, scores):
    """Return the measures of test scores; for text also the misclassified samples, as hexadecimal digits."""
    names = [name for name in MEASURES if name != "rec@2p" or 2 * np.sum(test.y > 0) < len(test)]
    found = {"test": fs.measures.measure(test.y, scores, names).round(4).to_dict()}
    if spec["task"] in TEXTS:
        wrong = np.where(np.asarray(scores) > 0, 1.0, -1.0) != test.y
        found["wrong"] = np.packbits(wrong).tobytes().hex()
    return found


def iterations(spec):
    """Return the number of iterations of the algorithm as printed, and the bound of Theorem 1."""
    train, _ = source.parts_of(spec["task"], spec["seed"])
    epsilon = BOUND["risk_tolerance"]
    shape = {"C": spec["c"] * len(train), "loss": spec["loss"], "offset": spec["offset"]}
    _, result = solved(train, spec, spec["c"], {"risk_tolerance": epsilon, "gap": 1e-9, "stabilised": False})
    groups = spec["B"] or train.n_features + spec["offset"]
    most = fs.multivariate.iteration_bound(train, budget=groups, risk_tolerance=epsilon, **shape)
    return {"rounds": len(result.iterations), "bound": most, "stop": result.stop_reason.value}


# ---- other methods


def path(spec):
    """Return the points of l1 for all C, or those of RFE for all numbers of features."""
    train, test = source.parts_of(spec["task"], spec["seed"])
    return {"points": list((by_l1 if spec["method"] == L1 else by_rfe)(spec, train, test))}


def by_l1(spec, train, test):
    for C in PATH.tolist():
        start = time.process_time()
        svm = LinearSVC(penalty="l1", dual=False, C=C, random_state=0).fit(train.X, train.y)
        seconds = round(time.process_time() - start, 2)
        count = int(np.count_nonzero(svm.coef_))
        yield {"C": C, "features": count, "cpu": seconds} | measured(spec, test, svm.decision_function(test.X))


def by_rfe(spec, train, test):
    """Remove a tenth of the features at each step; C is the best one for all features over three folds."""
    X = sparse.csc_array(train.X) if train.is_sparse else train.X
    C = best_svm(spec, train)
    start = time.process_time()
    for left, svm in elimination(X, train.y, C, np.arange(train.n_features), drop=DROP):
        seconds = round(time.process_time() - start, 2)  # since the start with all features
        if len(left) <= 1000:
            scores = svm.decision_function(test.X[:, left])
            yield {"C": C, "features": len(left), "cpu": seconds} | measured(spec, test, scores)


def best_svm(spec, train):
    """Return the C of ``COSTS`` with the best error (bags, classes: F1) of the SVM on all features over three folds."""
    loss = "hamming" if spec["task"] in TEXTS else "f1"
    means = []
    for C in COSTS:
        found = []
        for k in range(FOLDS):
            inner, held = fold(spec["task"], spec["seed"], k)
            scores = LinearSVC(C=C, random_state=0).fit(inner.X, inner.y).decision_function(held.X)
            found.append(float(fs.measures.measure(held.y, scores, [loss]).iloc[0]))
        means.append(round(statistics.fmean(found), 6))
    return COSTS[int(np.argmax(means))]
