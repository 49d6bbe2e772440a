"""Held-out error and training objective of small selections, compared with RFE, l1, forward selection and abess.

python -m benchmarks first_page            # without the two largest sets, 5 folds: some twenty minutes
python -m benchmarks first_page --full     # all flat sets that are shipped, 5 folds x 5 repeats: some hours
python -m benchmarks first_page --page     # only the page, from the log
"""

import time
from itertools import product

import numpy as np
from sklearn.feature_selection import RFE, SequentialFeatureSelector
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.svm import SVC

import fsmodels as fs
from benchmarks.harness import differences
from benchmarks.harness.differences import source
from benchmarks.harness.page import Cell, Page
from benchmarks.harness.records import grouped
from benchmarks.methods import heuristics

NAME, OURS, PROTOCOL = "first_page", "fsp-m", 1
SETS = ["bupa", "cleveland", "german_numeric", "ionosphere", "musk1", "sonar", "wdbc", "wpbc", "wpbc24"]
LARGE = ["spambase", "mfeat"]
SIZES, C, GAP, NODES, SEED, FOLDS = (3, 5), 1.0, 1e-4, 3000, 0, 5
FACTS = {"C": C, "gap": GAP, "nodes": NODES, "seed": SEED}
PACKAGES = ("fsmodels", "pyomo", "numpy", "scipy", "scikit-learn", "abess")


def svm():
    return SVC(kernel="linear", C=C, tol=1e-4, cache_size=500)


def exact(train, M):
    found = fs.select(train, "fsp-m", max_features=M, C=C, gap=GAP, iteration_limit=NODES, threads=1)
    return found.selected, {"proven": found.status.value == "optimal", "gap": found.gap}


def rfe(train, M):
    return named(train, RFE(svm(), n_features_to_select=M).fit(train.X, train.y).get_support())


def forward(train, M):
    search = SequentialFeatureSelector(svm(), n_features_to_select=M, cv=5)
    return named(train, search.fit(train.X, train.y).get_support())


def l1(train, M):
    fits = heuristics.l1_bisection(train.X, train.y, M, (-5.0, 3.0), seed=SEED)
    return named(train, heuristics.largest((used for *_, used in fits), M))


def abess(train, M):
    return named(train, heuristics.abess(train.X, train.y, M, fit={"is_normal": False}))


def named(train, take):
    return tuple(np.array(train.features)[take]), {}


CONTENDERS = {OURS: exact, "RFE": rfe, "l1": l1, "forward": forward, "abess": abess}


def evaluate(train, test, selected):
    """Return the training objective of the SVM on a selection, and its held-out error."""
    if not selected:
        return fs.fsp.value(train, (), C=C), float(np.mean(test.y != np.sign(train.y.sum() or 1.0)))
    classifier = svm().fit(train.select_features(selected).X, train.y)
    wrong = classifier.predict(test.select_features(selected).X) != test.y
    return fs.fsp.value(train, selected, C=C), float(np.mean(wrong))


def tasks(full):
    names, repeats = (SETS + LARGE, 5) if full else (SETS, 1)
    return [
        {"set": name, "M": M, "fold": fold, "contender": contender, "protocol": PROTOCOL}
        for fold, name, M, contender in product(range(FOLDS * repeats), names, SIZES, CONTENDERS)
    ]


def work(set, M, fold, contender, protocol):
    """Run one method on one fold; return its selection and errors."""
    data = fs.load_dataset(set)
    folds = RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=1 + fold // FOLDS, random_state=SEED)
    learn, held = list(folds.split(data.X, data.y))[fold]
    train = data.take(learn).scaled("standard")
    test = train.apply_scale_to(data.take(held))
    if contender == OURS:
        heuristics.warm_up()
    start = time.process_time()
    selected, record = CONTENDERS[contender](train, M)
    record |= {"cpu": time.process_time() - start, "selected": list(selected)}
    return record | dict(zip(("objective", "error"), evaluate(train, test, selected), strict=True))


def evaluate_all(entries):
    """Return the folds on which all methods have run, with the excess of each objective over the best of the fold."""
    whole = [fold for fold in grouped(entries, ("set", "M", "fold")) if len(fold) == len(CONTENDERS)]
    for fold in whole:
        least = min(entry["objective"] for entry in fold)
        for entry in fold:
            entry["excess"] = entry["objective"] / least - 1
            entry["best"] = entry["excess"] < GAP
    return [entry for fold in whole for name in CONTENDERS for entry in fold if entry["contender"] == name]


def means(fits):
    """Return the mean error of each source and method over folds, sizes and sets of the source."""
    errors = {}
    for fit in fits:
        errors.setdefault((source(fit["set"]), fit["contender"]), []).append(fit["error"])
    return [{"source": name, "contender": c, "error": sum(of) / len(of)} for (name, c), of in errors.items()]


def difference(contender):
    """Return the cell of the error of a method minus that of fsp-m, in percentage points, over sources."""
    form, minus = "{mean:+.1f} ± {se:.1f}", {"contender": OURS}
    return Cell("sources", "error", form, {"contender": contender}, 100.0, minus, ("source",))


def page(log):
    """Return the page."""
    fits = evaluate_all(log.entries("set", "M", "fold", "contender", "protocol"))
    page = Page(NAME, globals(), fits=fits, sources=means(fits))
    page.key("fits", "set", "M", "fold", "contender")
    page.part("the table", len(fits), len(tasks(False)))
    rivals = [name for name in CONTENDERS if name != OURS]
    shares = sorted(int(page.number("excess", "{mean:.0%}", contender=name).rstrip("%")) for name in rivals)
    less = {name: difference(name) for name in rivals}
    tests = {name: differences.difference(cell.values(page.records["sources"])) for name, cell in less.items()}
    signs = differences.verdicts(tests)
    on_new = differences.in_words({name: -(signs.get(name) or 0) for name in rivals})
    sets = list(dict.fromkeys(fit["set"] for fit in fits))
    rows = [*(([name], {"set": name}) for name in sets), (["all"], {})]
    cells = [([f"{name}, M={M}"], {"set": name, "M": M}) for name in sets for M in SIZES]
    beside = ", ".join(f"{name} {cell.text(page.records)}" for name, cell in less.items())
    page.values(less={OURS: "", **less}, contenders=[([name], {"contender": name}) for name in CONTENDERS])
    page.values(not_run=[name for name in (*SETS, *LARGE) if name not in sets])
    return page.values(beside=beside, shares=shares, tests=tests, on_new=on_new, rows=rows, cells=cells)
