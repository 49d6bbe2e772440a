"""When does exact selection predict better than heuristics? By samples per feature, correlation, noise and data set.

    python -m benchmarks exact_pays          # three divisions or draws of each cell, 10 CPU seconds a proof
    python -m benchmarks exact_pays --full   # eight: an hour and a half of CPU time
    python -m benchmarks exact_pays --page   # only the page, from the log

abess needs ``pip install abess``.
"""

import time
from statistics import fmean

import numpy as np
from sklearn.datasets import load_digits, load_wine
from sklearn.feature_selection import f_classif
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.svm import SVC

import fsmodels as fs
from benchmarks.comparisons.sparse_rivals import l1_path
from benchmarks.harness.cpu_limit import limited_solve
from benchmarks.harness.differences import difference, power_of, source, verdicts
from benchmarks.harness.page import NOTHING, Page
from benchmarks.harness.records import grouped
from benchmarks.methods import heuristics
from fsmodels.datasets.synthetic import bertsimas
from fsmodels.models.fsp.oracle import SvmOracle

NAME, PROTOCOL = "exact_pays", 1
LIMIT, TRIAL, GAP, FEW, MANY = 10.0, 2.0, 1e-4, 3, 8  # CPU seconds of the last proof, and of one for the choice of C
SETS = ["bupa", "cleveland", "german_numeric", "ionosphere", "mfeat", "musk1", "sonar", "spambase", "wdbc", "wpbc"]
DIGITS = {"digits 3, 8": (3, 8), "digits 4, 9": (4, 9), "digits 1, 7": (1, 7), "digits 5, 6": (5, 6)}
REAL = [*SETS, *DIGITS, "wine"]
SHARES, TEST = (0.2, 0.6), 0.4  # of the samples
FEATURES, RELEVANT = 100, 5  # of the generator
SIZES, CORRELATIONS, SNRS = (50, 100, 200, 400), (0.0, 0.5, 0.9), (1.0, 6.0)
COSTS, FOLDS = (0.01, 0.1, 1.0), 3
EXACT, ALL = "exact", "all four"
CELL = ("data", "size", "correlation", "snr")
FIELDS = (*CELL, "M", "draw", "limit", "protocol")
KINDS = ("data sets", "generated")
BINS = [("the best", 1e-4), ("up to 2% above", 0.02), ("2% to 10% above", 0.1), ("more than 10% above", np.inf)]
PREDICTS = {1: "predicts better than", 0: "is not shown to predict better than", -1: "predicts worse than"}
RATIOS = [("up to 1", 1.0), ("1 to 5", 5.0), ("more than 5", np.inf)]
PACKAGES = ("fsmodels", "pyomo", "numpy", "scipy", "scikit-learn", "abess")
FACTS = {"CPU limit (s)": LIMIT, "CPU limit of a trial (s)": TRIAL}


def tasks(full):
    cells = [dict(zip(CELL, (name, share, None, None), strict=True)) for name in REAL for share in SHARES]
    cells += [
        dict(zip(CELL, ("Bertsimas", n, rho, snr), strict=True)) for n in SIZES for rho in CORRELATIONS for snr in SNRS
    ]
    return [
        cell | {"M": 3 if cell["data"] == "bupa" else 5, "draw": draw, "limit": LIMIT, "protocol": PROTOCOL}
        for draw in range(MANY if full else FEW)
        for cell in cells
    ]


# ---- data


def table(name):
    """Return the samples and labels of a data set."""
    if name in DIGITS:
        X, y = load_digits(return_X_y=True)
        first, second = DIGITS[name]
        used = (y == first) | (y == second)
        return X[used], np.where(y[used] == first, 1.0, -1.0)
    if name == "wine":
        X, y = load_wine(return_X_y=True)
        return X, np.where(y == 1, 1.0, -1.0)
    data = fs.load_dataset(name)
    return np.asarray(data.X), np.asarray(data.y)


def parts(data, size, correlation, snr, draw):
    """Return training and test set, standardised by the training set, without its constant columns."""
    if data == "Bertsimas":
        pair = bertsimas(size, FEATURES, RELEVANT, n_test=5000, seed=draw, correlation=correlation, snr=snr)
        (X, y), (T, t) = ((np.asarray(part.X), np.asarray(part.y)) for part in (pair.train, pair.test))
    else:
        X, y = table(data)
        split = StratifiedShuffleSplit(1, train_size=size, test_size=TEST, random_state=draw)
        learn, held = next(split.split(X, y))
        X, y, T, t = X[learn], y[learn], X[held], y[held]
    varies = np.ptp(X, axis=0) > 0
    mean, scale = X[:, varies].mean(axis=0), X[:, varies].std(axis=0)
    return (X[:, varies] - mean) / scale, y, (T[:, varies] - mean) / scale, t


# ---- selections of M features


def rfe(X, y, C, M, limit):
    """Drop the smallest weight, or a tenth of them, until M are left."""
    left = np.arange(X.shape[1])
    while left.size > M:
        w = SVC(kernel="linear", C=C).fit(X[:, left], y).coef_.ravel()
        drop = max(1, min(left.size // 10, left.size - M))
        left = np.delete(left, np.argsort(np.abs(w))[:drop])
    return left, {}


def l1(X, y, C, M, limit):
    return l1_path(X, y, M, np.geomspace(1e-4, 10, 60)), {}


def abess(X, y, C, M, limit):
    return heuristics.abess(X, y, M), {}


def univariate(X, y, C, M, limit):
    return np.argsort(-np.nan_to_num(f_classif(X, y)[0]))[:M], {}


def exact(X, y, C, M, limit):
    """Solve FSP-M; the incumbent at the limit."""
    model = fs.fsp.fsp_m(fs.Dataset.from_arrays(X, y).scaled("none"), max_features=M, C=C, form="rmp")
    found, _ = limited_solve(model, "branch-and-cut", limit, gap=GAP)
    names = list(model.sigma)
    support = np.array([names.index(name) for name in found.selected], dtype=int)
    return support, {"bound": found.bound, "proven": found.status.value == "optimal"}


HEURISTICS = {"RFE": rfe, "l1": l1, "abess": abess, "F-test": univariate}
METHODS = {EXACT: exact, **HEURISTICS}


def work(data, size, correlation, snr, M, draw, limit, protocol):
    """Choose C for each method by cross-validation, select, and test the SVM on the features."""
    X, y, T, t = parts(data, size, correlation, snr, draw)
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=draw).split(X, y))
    found = {}
    for name, select in METHODS.items():
        start = time.process_time()
        trials = {C: np.mean([trial(select, X[a], y[a], X[b], y[b], C, M) for a, b in folds]) for C in COSTS}
        C = min(trials, key=trials.get)  # the smallest of equals
        before = time.process_time()
        support, proof = select(X, y, C, M, limit)
        end = time.process_time()
        found[name] = proof | tested(X, y, T, t, support, C) | {"C": C, "cpu": end - before, "total_cpu": end - start}
    C = found[EXACT]["C"]  # at which the distance of each heuristic from the optimum is known
    for name, select in HEURISTICS.items():
        found[name]["same"] = tested(X, y, T, t, select(X, y, C, M, limit)[0], C)
    return {"n": len(y), "p": X.shape[1], "found": found}


def trial(select, X, y, T, t, C, M):
    """Return the error on the left-out part."""
    return tested(X, y, T, t, select(X, y, C, M, TRIAL)[0], C)["error"]


def tested(X, y, T, t, support, C):
    """Return the objective of the SVM on a support, and its errors on the test set in %."""
    fit = SvmOracle(X[:, support], y, C).solve(np.ones(len(support)), tolerance=1e-7)
    wrong = np.where(T[:, support] @ fit.w + fit.b > 0, 1.0, -1.0) != t
    balanced = np.mean([wrong[t == side].mean() for side in (-1.0, 1.0)])
    return {"objective": fit.value, "error": 100 * float(wrong.mean()), "balanced": 100 * float(balanced)}


# ---- page


def runs_of(log):
    """Return one record for each method of each task."""
    runs = []
    for entry in log.entries(*FIELDS):
        exact, real = entry["found"][EXACT], entry["data"] != "Bertsimas"
        same = {name: one.get("same", one) for name, one in entry["found"].items()}
        best = min(one["objective"] for one in same.values())
        facts = {name: entry[name] for name in (*FIELDS, "n", "p")}
        facts |= {"kind": "data sets" if real else "generated", "ratio": bin_of(entry["n"] / entry["p"], RATIOS)}
        for name, one in entry["found"].items():
            above = same[name]["objective"] / best - 1
            runs.append(facts | {
                "method": name, "error": one["error"], "less": one["error"] - exact["error"],
                "same_less": same[name]["error"] - exact["error"], "above": above, "distance": bin_of(above, BINS),
                "proven": exact["proven"], "cpu": one["total_cpu"],
            })  # fmt: skip
    return runs


def bin_of(value, bins):
    """Return the name of the bin of a value."""
    return next(name for name, most in bins if value <= most)


def tested_differences(runs, value, field, names):
    """Return (method, name) -> test of the mean over sources of the differences from the exact method."""
    tests = {}
    for method in (*HEURISTICS, ALL):
        for name in names:
            methods = HEURISTICS if method == ALL else (method,)
            used = [run for run in runs if run["method"] in methods and run[field] == name]
            tests[method, name] = difference(list(by_cell(used, value).values()))
    return tests


def by_cell(runs, value):
    """Return source -> mean: data sets by source, and all settings of the generator with one seed, which share X."""
    found = {}
    for run in runs:
        key = (source(run["data"]), *([] if run["kind"] == "data sets" else [run["draw"]]))
        found.setdefault(key, []).append(run[value])
    return {key: fmean(values) for key, values in found.items()}


def page(log):
    """Return the page."""
    runs = runs_of(log)
    page = Page(NAME, globals(), runs=runs)
    page.key("runs", *FIELDS, "method")
    page.part("tasks", len(runs) // len(METHODS), len(tasks(False)))
    bins = [name for name, _ in BINS]
    of_sets, made = ([run for run in runs if run["kind"] == kind] for kind in KINDS)
    tests = {
        "kind": tested_differences(runs, "less", "kind", KINDS),
        "ratio": tested_differences(runs, "less", "ratio", [name for name, _ in RATIOS]),
        "distance": tested_differences(runs, "same_less", "distance", bins),
        "real": tested_differences(of_sets, "same_less", "distance", bins),
        "made": tested_differences(made, "same_less", "distance", bins),
    }
    signs = {field: verdicts(found) for field, found in tests.items()}
    real, drawn = ([group[-1] for group in grouped(some, CELL)] for some in (of_sets, made))
    return page.values(
        tests=tests,
        power={field: power_of(found) for field, found in tests.items()},
        signs=signs,
        bins=[([name], {"distance": name}) for name in bins],
        real=[row(run, run["data"], run["n"], run["p"]) for run in real],
        drawn=[row(run, run["n"], f"{run['correlation']:g}", f"{run['snr']:g}") for run in drawn],
    )


def row(run, *texts):
    """Return the row of a cell of the design: texts and conditions."""
    return texts, {name: run[name] for name in CELL}


def in_words(test):
    """Return a difference in points with its standard error."""
    return f"{test.mean:+.1f} ± {test.se:.1f}" if test else NOTHING


def far_and_near(tests, signs, kind):
    """Return a clause on the heuristics that end far from the best known objective, and on those near to it."""
    far, near = (ALL, BINS[-1][0]), (ALL, BINS[1][0])
    shown = (
        f"{in_words(tests[kind][key])}{'' if signs[kind].get(key) else ' (not significant)'}" for key in (far, near)
    )
    return " and ".join(shown)


def larger(tests, signs, name):
    """Return a clause on the heuristics whose error differs significantly in one row of a table."""
    apart = [f"{method} ({in_words(tests[method, name])})" for method in HEURISTICS if signs.get((method, name))]
    same = [method for method in HEURISTICS if not signs.get((method, name))]
    clauses = [f"the error of {', '.join(apart)} differs from that of the exact selection"] if apart else []
    clauses += [f"no difference is shown for {', '.join(same)}"] if same else []
    return " and ".join(clauses)


def marked(page, field, names, tests, signs):
    """Return a table of differences from the exact method in points, with * where Holm's rule finds one."""
    rows = []
    for name in names:
        row = [name]
        for method in (*HEURISTICS, ALL):
            test, star = tests[field][method, name], "*" if signs[field].get((method, name)) else ""
            row.append(f"{in_words(test)}{star} ({test.n})" if test else NOTHING)
        rows.append(row)
    return page.table(["", *HEURISTICS, ALL], rows)
