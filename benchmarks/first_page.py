"""Held-out error and training objective of small selections, beside RFE, l1, forward selection and abess.

    python benchmarks/first_page.py                # sets of at most 1,000 samples, 5 folds: some ten minutes
    python benchmarks/first_page.py --full         # all flat sets that are shipped, 5 folds x 5 repeats: some hours
    python benchmarks/first_page.py --full --resume    # goes on after an interruption

Every contender selects at most M features on the training part of a fold, standardised there; the soft-margin SVM with
C = 1 is then fitted on what it selected, by one and the same code, and errs on the held-out part. Nothing is tuned: M
and C are given, and no contender sees what it is judged by.

- fsp-m: ``fs.select(train, "fsp-m", max_features=M, C=1, time_limit=60)``, one thread, gap 1e-4.
- RFE: scikit-learn's, one feature a step, over the SVM with C = 1.
- l1: scikit-learn's LinearSVC(penalty="l1"), its C by bisection for the largest support of at most M.
- forward: scikit-learn's SequentialFeatureSelector, by the accuracy of the SVM over five inner folds.
- abess: abess's LogisticRegression with support_size = M, on the data as standardised (pip install abess).

"objective" is that of the soft-margin SVM on the selected features, 1/2 |w|^2 + C sum of slacks on the training part,
as the mean over folds of its excess over the least that any contender has there. "proven": folds in which fsp-m ended
with a proof that no selection has a lower one. Errors are means over folds, with their standard error over folds (folds
share training samples, so it is an optimistic one); differences to fsp-m with theirs over cells. "fewest errors" and
"least objective" count cells, ties each.
"""

import argparse
import json
import statistics
import time
import warnings
from pathlib import Path

import numpy as np
import report
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import RFE, SequentialFeatureSelector
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.svm import SVC, LinearSVC

import fsmodels as fs

RESULTS = Path(__file__).resolve().parent / "results"
SETS = ["bupa", "cleveland", "german_numeric", "ionosphere", "sonar", "wdbc", "wpbc", "wpbc24"]
LARGE = ["musk1", "spambase", "mfeat"]
SIZES, C, GAP, LIMIT, SEED = (3, 5), 1.0, 1e-4, 60.0, 0
PACKAGES = ("fsmodels", "pyomo", "numpy", "scipy", "scikit-learn", "abess", "numba")


def svm():
    return SVC(kernel="linear", C=C, tol=1e-4, cache_size=500)


def exact(train, M):
    found = fs.select(train, "fsp-m", max_features=M, C=C, gap=GAP, time_limit=LIMIT, threads=1)
    return found.selected, {"status": found.status.value, "gap": found.gap}


def rfe(train, M):
    return named(train, RFE(svm(), n_features_to_select=M).fit(train.X, train.y).get_support())


def forward(train, M):
    search = SequentialFeatureSelector(svm(), n_features_to_select=M, cv=5)
    return named(train, search.fit(train.X, train.y).get_support())


def l1(train, M):
    low, high, best = -5.0, 3.0, np.zeros(train.n_features, dtype=bool)  # powers of ten
    for _ in range(25):
        power = 0.5 * (low + high)
        svm = LinearSVC(penalty="l1", dual=False, C=10.0**power, random_state=SEED).fit(train.X, train.y)
        used = np.abs(svm.coef_[0]) > 1e-6
        low, high = (low, power) if used.sum() > M else (power, high)
        if best.sum() < used.sum() <= M:
            best = used
        if best.sum() == M:
            break
    return named(train, best)


def abess(train, M):
    from abess import LogisticRegression

    found = LogisticRegression(support_size=M).fit(train.X, (train.y > 0).astype(int), is_normal=False)
    return named(train, np.asarray(found.coef_).ravel() != 0)


def named(train, take):
    return tuple(np.array(train.features)[take]), {}


CONTENDERS = {"fsp-m": exact, "RFE": rfe, "l1": l1, "forward": forward, "abess": abess}


def judged(train, test, selected):
    """Return the objective of the SVM on a selection, and its share of wrong labels held out."""
    if not selected:
        return fs.fsp.value(train, (), C=C), float(np.mean(test.y != np.sign(train.y.sum() or 1.0)))
    machine = svm().fit(train.select_features(selected).X, train.y)
    wrong = machine.predict(test.select_features(selected).X) != test.y
    return fs.fsp.value(train, selected, C=C), float(np.mean(wrong))


def run(sets, repeats, log):
    """Do what the log has not; one line a contender, fold and M."""
    known = {key(entry) for entry in report.read_log(log)}
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=repeats, random_state=SEED)
    exact(fs.load_dataset("bupa").scaled("standard"), 2)  # compiled before the first cell
    with log.open("a") as file:
        for name in sets:
            data = fs.load_dataset(name)
            for fold, (learn, held) in enumerate(folds.split(data.X, data.y)):
                train = data.take(learn).scaled("standard")
                test = train.apply_scale_to(data.take(held))
                for M in SIZES:
                    for contender, select in CONTENDERS.items():
                        entry = {"set": name, "M": M, "fold": fold, "contender": contender}
                        if key(entry) in known:
                            continue
                        start = time.process_time()
                        selected, told = select(train, M)
                        entry |= {"cpu": time.process_time() - start, "selected": list(selected), **told}
                        entry["objective"], entry["error"] = judged(train, test, selected)
                        file.write(json.dumps(entry) + "\n")
                        file.flush()


def key(entry):
    return entry["set"], entry["M"], entry["fold"], entry["contender"]


def cells(entries):
    """Return (set, M) -> contender -> its entries by fold, of folds that all contenders have."""
    found = {}
    for e in entries:
        found.setdefault((e["set"], e["M"]), {}).setdefault(e["contender"], {})[e["fold"]] = e
    for of_cell in found.values():
        whole = set.intersection(*({*of_cell.get(name, {})} for name in CONTENDERS))
        for name in of_cell:
            of_cell[name] = {fold: e for fold, e in of_cell[name].items() if fold in whole}
    return {cell: by for cell, by in found.items() if len(by) == len(CONTENDERS) and by["fsp-m"]}


def summary(by):
    """Return what the page says about one cell: contender -> error, its standard error, excess of the objective."""
    told, folds = {}, sorted(by["fsp-m"])
    for name in CONTENDERS:
        errors = [by[name][fold]["error"] for fold in folds]
        least = [min(by[other][fold]["objective"] for other in CONTENDERS) for fold in folds]
        excess = [by[name][fold]["objective"] / low - 1 for fold, low in zip(folds, least, strict=True)]
        told[name] = {
            "error": statistics.fmean(errors),
            "se": statistics.stdev(errors) / len(errors) ** 0.5 if len(errors) > 1 else None,
            "excess": statistics.fmean(excess),
            "cpu": statistics.fmean(by[name][fold]["cpu"] for fold in folds),
        }
    told["fsp-m"]["proven"] = sum(by["fsp-m"][fold]["status"] == "optimal" for fold in folds)
    told["folds"] = len(folds)
    return told


def overall(told):
    """Return a row a contender: its error beside that of fsp-m, its objective, and in how many cells each is least."""
    rows = []
    for name in CONTENDERS:
        errors = [cell[name]["error"] for cell in told.values()]
        beside = [e - cell["fsp-m"]["error"] for e, cell in zip(errors, told.values(), strict=True)]
        spread = statistics.stdev(beside) / len(beside) ** 0.5 if len(beside) > 1 else 0.0
        fewest = sum(cell[name]["error"] <= min(cell[o]["error"] for o in CONTENDERS) + 1e-12 for cell in told.values())
        excess = [cell[name]["excess"] for cell in told.values()]
        least, seconds = sum(x < GAP for x in excess), statistics.fmean(cell[name]["cpu"] for cell in told.values())
        difference = "" if name == "fsp-m" else f"{100 * statistics.fmean(beside):+.1f} ± {100 * spread:.1f}"
        rows.append([name, percent(errors), difference, fewest, percent(excess), least, f"{seconds:.2f}"])
    return rows


def percent(values):
    return f"{statistics.fmean(values):.1%}"


def by_set(told):
    """Return a row a set, means over M: error and, after the stroke, the objective above the least of all."""
    rows = []
    for name in dict.fromkeys(name for name, _ in told):
        cells = [cell for (of, _), cell in told.items() if of == name]
        proven, folds = sum(c["fsp-m"]["proven"] for c in cells), sum(c["folds"] for c in cells)
        both = [
            f"{percent([c[n]['error'] for c in cells])} / {percent([c[n]['excess'] for c in cells])}"
            for n in CONTENDERS
        ]
        rows.append([name, *both, f"{proven} of {folds}"])
    every = [*told.values()]
    means = [
        f"{percent([c[n]['error'] for c in every])} / {percent([c[n]['excess'] for c in every])}" for n in CONTENDERS
    ]
    proven, folds = sum(c["fsp-m"]["proven"] for c in every), sum(c["folds"] for c in every)
    return [*rows, ["all", *means, f"{proven} of {folds}"]]


def page(told):
    """Return the text of the page."""
    few = ["contender", "mean error", "less that of fsp-m, points", "fewest errors", "mean excess", "least objective"]
    cells = [f"{name}, M={M}" for name, M in told]
    errors = [
        [cell, *(f"{by[n]['error']:.1%} ± {by[n]['se'] or 0:.1%}" for n in CONTENDERS)]
        for cell, by in zip(cells, told.values(), strict=True)
    ]
    excess = [
        [cell, *(f"{by[n]['excess']:.1%}" for n in CONTENDERS), f"{by['fsp-m']['proven']} of {by['folds']}"]
        for cell, by in zip(cells, told.values(), strict=True)
    ]
    return "\n\n".join(
        [
            "## By set",
            "Held-out error / training objective above the least of all, means over M.",
            report.table(["set", *CONTENDERS, "proven"], by_set(told)),
            f"## All {len(told)} cells",
            report.table([*few, "CPU s a fit"], overall(told)),
            "## Held-out error",
            report.table(["set", *CONTENDERS], errors),
            "## Objective above the least of all, and what is proven",
            report.table(["set", *CONTENDERS, "proven"], excess),
            "## How it was measured",
            __doc__.split("\n", 2)[2],
        ]
    )


def main():
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--full", action="store_true", help="all flat sets, five repeats")
    asked.add_argument("--resume", action="store_true", help="keep what the log has")
    asked.add_argument("--sets", help="these alone, with commas")
    asked.add_argument("--page", action="store_true", help="draw the page from the log alone")
    asked = asked.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)  # of l1: its support is what counts
    warnings.simplefilter("ignore", fs.DataWarning)
    out = RESULTS / ("first_page" if asked.full else "first_page_small")
    log = out.with_suffix(".jsonl")
    if not (asked.resume or asked.page):
        log.unlink(missing_ok=True)
    sets = asked.sets.split(",") if asked.sets else SETS + LARGE * asked.full
    facts = json.loads(out.with_suffix(".json").read_text())["about"] if asked.page else None
    facts = facts or report.about(*PACKAGES, C=C, gap=GAP, seconds_a_fit=LIMIT, seed=SEED, sets=", ".join(sets))
    if not asked.page:
        run(sets, 5 if asked.full else 1, log)
    told = {cell: summary(by) for cell, by in cells(report.read_log(log)).items()}
    report.write(
        out, __doc__.split("\n")[0], page(told), facts, cells=[{"set": s, "M": M, **by} for (s, M), by in told.items()]
    )


if __name__ == "__main__":
    main()
