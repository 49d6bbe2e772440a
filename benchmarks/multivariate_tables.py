"""Mao and Tsang 2013: FSmulti for F1, PRBEP and Rec@2p beside FSmulti for errors, structural SVM, l1 SVM and RFE.

    python benchmarks/multivariate_tables.py                    # three tasks, B in {2, 10, 50}: some minutes
    python benchmarks/multivariate_tables.py --full             # everything: hours
    python benchmarks/multivariate_tables.py --full --resume    # goes on after an interruption
    python benchmarks/multivariate_tables.py --shared DIR       # has data/ and data-extra/; else tasks are left out

The set of 20,000 x 1,000,000 is in multivariate_scale.py. Every fit is a line of the .jsonl file beside the results;
all run one after the other, on one thread.

Tasks. Reuters grain and corn (word counts, own test part), acq (tf-idf, own test part), three pairs of newsgroups, a9a
(8000 of its training samples, its test part), hiva, digits of mfeat against the rest, and a generated sparse set of the
kind that multivariate_scale.py describes. Where there is no test part, 40% of the samples are it, the classes in
proportion (seed 0). Word counts become (1 + log count) idf with rows of unit length, mfeat is standardised; both with
the constants of the training part. Imbalanced: a quarter positive at most; the goal is about these. Rec@2p is left out
on the others, where 2p is n or more.

Methods and how their parameters are chosen, by threefold cross-validation on the training part alone:

- FSmulti per measure (F1, PRBEP, Rec@2p) and for errors (Hamming): C = c n, c in 0.01, 0.1, 1, 10, by the mean of the
  measure itself over the folds (for Hamming the accuracy); of equals the least. For B in 2, 5, 10, 50 each; a larger B
  takes the C of 50, as the paper finds it insensitive there. The paper has one C for all losses, at which Hamming may
  be trivial. Gap 1% and at most 60 s; in cross-validation 5% and 15 s.
- Structural SVM per measure: the same with all features.
- l1: ``LinearSVC(penalty="l1", dual=False)`` with and without class_weight="balanced"; its C on a path of 25 values,
  10^-2.5 to 10^1.5, is the one of most features that are no more than those of FSmulti for F1. By the number alone.
- RFE: ``LinearSVC()``, a tenth of what is left dropped at a time; the level of most features that are no more than
  those of FSmulti for F1; C in 0.01, 0.1, 1, 10 by cross-validated F1 at that level.

The LinearSVC have an offset, FSmulti and structural SVM none. Test measures are those of ``fs.measures.measure``: F1
and accuracy of signs (a score of 0 is -1), PRBEP and Rec@2p of ranks, ties by the mean over their orders.
"""

import argparse
import functools
import itertools
import json
import math
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import multivariate_figures as figures
import numpy as np
import pandas as pd
import report
from multivariate_scale import text_like
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.svm import LinearSVC

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the clone, not an installed package
import fsmodels as fs

PACKAGES = ("pyomo", "numpy", "scipy", "scikit-learn", "clarabel")
BUDGETS, SMALL_BUDGETS, TUNED = (2, 5, 10, 50, 100, 150, 200, 250), (2, 10, 50), (2, 5, 10, 50)
GRID = (0.01, 0.1, 1.0, 10.0)
FOLDS = 3
LOSSES = ("f1", "hamming", "prbep", "rec@2p")
TITLES = {"f1": "F1", "prbep": "PRBEP", "rec@2p": "Rec@2p", "hamming": "accuracy"}
FIT = {"gap": 0.01, "time_limit": 60.0}
TRIAL = {"gap": 0.05, "time_limit": 15.0}
PATH = np.logspace(-2.5, 1.5, 25)
DROP = 0.1
WEIGHTS = {"l1": None, "l1 balanced": "balanced"}


# ---- tasks


@dataclass(frozen=True)
class Task:
    """``load(shared)`` returns training and test part, or raises FileNotFoundError."""

    load: Callable
    imbalanced: bool
    small: bool = False


def at(shared, name):
    path = shared / name
    if not path.exists():
        raise FileNotFoundError(path)
    return path


def words(*parts):
    change = TfidfTransformer(sublinear_tf=True).fit(sparse.csr_array(parts[0].X))
    turned = [sparse.csr_array(change.transform(sparse.csr_array(part.X))) for part in parts]
    return [fs.Dataset.from_arrays(X, part.y, positive=1.0) for X, part in zip(turned, parts, strict=True)]


def halves(data):
    train, _, test = data.split(0.6, 0.0, 0.4, seed=0)
    return train, test


def reuters(topic, shared):
    frames = [pd.read_csv(at(shared, f"data/reuters_{topic}_{part}.csv.gz")) for part in ("train", "test")]
    return words(*map(fs.Dataset.from_frame, frames))


def acq(shared):
    paths = [at(shared, f"data-extra/reuters_acq_{part}.svm.gz") for part in ("train", "test")]
    return [fs.Dataset.from_svmlight(path, n_features=9947) for path in paths]


def news(pair, shared):
    return words(*halves(fs.Dataset.from_svmlight(at(shared, f"data-extra/news20_{pair}.svm.gz"))))


def a9a(shared):
    paths = [at(shared, f"data-extra/a9a_{part}.svm.gz") for part in ("train", "test")]
    train, test = (fs.Dataset.from_svmlight(path, n_features=123) for path in paths)
    share = 8000 / len(train)
    return train.split(share, 0.0, 1.0 - share, seed=0)[0], test


def hiva(shared):
    data = fs.Dataset.from_frame(pd.read_csv(at(shared, "data/hiva.csv.gz")))
    return halves(fs.Dataset.from_arrays(sparse.csr_array(data.X), data.y, positive=1.0))


def digit(which, shared):
    data = fs.load_dataset("mfeat")
    if which:
        digits = np.loadtxt(at(shared, "data/mfeat_digits.csv"), delimiter=",", skiprows=1, usecols=0)
        data = fs.Dataset.from_arrays(data.X, np.where(digits == which, 1.0, -1.0), data.features, positive=1.0)
    train, test = halves(data)
    train = train.scaled("standard")
    return train, train.apply_scale_to(test)


def generated(shared):
    X, score, _ = text_like(3000, 10_000, 80, seed=1, true=30, ranks=(10, 1000))
    y = np.where(score > np.quantile(score, 0.92), 1.0, -1.0)
    return [fs.Dataset.from_arrays(X[rows], y[rows], positive=1.0) for rows in (slice(0, 1500), slice(1500, 3000))]


TASKS = {
    "generated": Task(generated, True, small=True),
    "mfeat 0": Task(functools.partial(digit, 0), True, small=True),
    "grain": Task(functools.partial(reuters, "grain"), True, small=True),
    "corn": Task(functools.partial(reuters, "corn"), True),
    "mfeat 8": Task(functools.partial(digit, 8), True),
    "hiva": Task(hiva, True),
    "a9a": Task(a9a, True),
    "acq": Task(acq, False),
    "pcmac": Task(functools.partial(news, "pcmac"), False),
    "basehock": Task(functools.partial(news, "basehock"), False),
    "relathe": Task(functools.partial(news, "relathe"), False),
}


@functools.cache
def parts_of(name, shared):
    """Return training and test part of a task, or None where its file is not there."""
    try:
        return TASKS[name].load(Path(shared))
    except FileNotFoundError:
        return None


def measured(task, data, scores):
    names = LOSSES if TASKS[task].imbalanced else LOSSES[:3]
    return fs.measures.measure(data.y, scores, names).round(4).to_dict()


# ---- methods


def fit(data, spec, c, options):
    """Fit FSmulti, or the structural SVM where B is None; return w, the result, and the CPU seconds."""
    C, loss, cpu = c * len(data), spec["loss"], time.process_time()
    if spec["B"] is None:
        model = fs.multivariate.structural_svm(data, C=C, loss=loss)
    else:
        model = fs.multivariate.fsmulti(data, budget=spec["B"], C=C, loss=loss)
    result = fs.solve(model, **options)
    return fs.multivariate.classifier(model)[0], result, time.process_time() - cpu


def told(task, data, w, result, cpu):
    """Return what is kept of a fit."""
    return {
        "features": len(result.selected),
        "gap": result.gap,
        "stop": result.stop_reason.value,
        "rounds": len(result.iterations),
        "seconds": result.seconds,
        "cpu": cpu,
        "master": result.details["seconds"]["master"],
        "test": measured(task, data, data.X @ w),
        "selected": np.flatnonzero(w).tolist() if len(result.selected) <= 2000 else [],
    }


def cross_validated(data, spec):
    """Return the mean measure of each c over the folds, how many fits met the time limit, and the seconds."""
    start, late, means = time.perf_counter(), 0, []
    for c in GRID:
        found = []
        for fold in data.folds(FOLDS, seed=0):
            w, result, _ = fit(fold.train, spec, c, TRIAL)
            late += result.stop_reason.value == "time_limit"
            held = fold.held_out
            found.append(float(fs.measures.measure(held.y, held.X @ w, [spec["loss"]]).iloc[0]))
        means.append(statistics.fmean(found))
    return {"cv": means, "cv_late": late, "cv_seconds": time.perf_counter() - start}


def fsmulti(spec, done):
    train, test = parts_of(spec["task"], spec["shared"])
    known = {"cv_of": min(spec["B"], max(TUNED))} if spec["B"] else {"cv_of": None}
    if spec["B"] is not None and spec["B"] > max(TUNED):
        known |= {"cv": done[key(spec | {"B": max(TUNED)})]["cv"]}
    else:
        known |= cross_validated(train, spec)
    c = GRID[int(np.argmax(np.round(known["cv"], 9)))]
    w, result, cpu = fit(train, spec, c, FIT)
    return {"c": c, **known, **told(spec["task"], test, w, result, cpu)}


def one_sensitivity(spec, done):
    train, test = parts_of(spec["task"], spec["shared"])
    w, result, cpu = fit(train, spec, spec["at"], FIT | {"time_limit": 30.0})
    return told(spec["task"], test, w, result, cpu)


def l1(spec, done):
    train, test = parts_of(spec["task"], spec["shared"])
    rows = []
    for C in PATH.tolist():
        start, cpu = time.perf_counter(), time.process_time()
        svm = LinearSVC(penalty="l1", dual=False, C=C, class_weight=WEIGHTS[spec["method"]], random_state=0)
        svm.fit(train.X, train.y)
        row = {"C": C, "features": int(np.count_nonzero(svm.coef_))}
        row |= {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu}
        rows.append(row | {"test": measured(spec["task"], test, svm.decision_function(test.X))})
    return {"path": rows}


def eliminated(data, C):
    """Yield features, their SVM and the seconds so far, from all features on."""
    start, left = time.perf_counter(), np.arange(data.n_features)
    X = sparse.csc_array(data.X) if data.is_sparse else data.X
    while True:
        svm = LinearSVC(C=C, random_state=0).fit(X[:, left], data.y)
        yield left, svm, time.perf_counter() - start
        if len(left) == 1:
            return
        keep = min(len(left) - 1, math.floor((1 - DROP) * len(left)))
        left = left[np.sort(np.argsort(-np.abs(svm.coef_[0]), kind="stable")[:keep])]


def rfe(spec, done):
    train, test = parts_of(spec["task"], spec["shared"])
    folds = train.folds(FOLDS, seed=0)
    rows = []
    for C in GRID:
        held = []
        for fold in folds:
            y, X = fold.held_out.y, fold.held_out.X
            levels = eliminated(fold.train, C)
            held.append([fs.measures.measure(y, svm.decision_function(X[:, j]), ["f1"])["f1"] for j, svm, _ in levels])
        means = np.mean(held, axis=0).tolist()
        for (left, svm, seconds), mean in zip(eliminated(train, C), means, strict=True):
            scores = svm.decision_function(test.X[:, left])
            row = {"C": C, "features": len(left), "cv": mean, "seconds": seconds}
            rows.append(row | {"test": measured(spec["task"], test, scores)})
    return {"path": rows}


KINDS = {"FSmulti": fsmulti, "structural SVM": fsmulti, "l1": l1, "l1 balanced": l1, "RFE": rfe}


def at_most(record, count):
    """Return the point of a path with most features, no more than count; of RFE, at the C of best cross-validation."""
    rows = [row for row in record["path"] if row["features"] <= count]
    if not rows:
        return None
    most = max(row["features"] for row in rows)
    rows = [row for row in rows if row["features"] == most]
    return max(rows, key=lambda row: row.get("cv", 0.0))  # of equals the first, the smallest C


# ---- all runs

NAMES = ("kind", "task", "method", "loss", "B", "at")


def key(record):
    return tuple(str(record.get(name)) for name in NAMES)


def tasks_of(options):
    """Return all fits in the order of use, so that a run that is cut short has whole comparisons."""
    budgets = BUDGETS if options.full else SMALL_BUDGETS
    names = [name for name, task in TASKS.items() if options.full or task.small]
    names = options.tasks.split(",") if options.tasks else names
    shapes = {name: parts[0].X.shape for name in names if (parts := parts_of(name, str(options.shared)))}
    shared = {"kind": "table", "shared": str(options.shared)}
    chosen = []
    for name in shapes:
        chosen += [shared | {"task": name, "method": method} for method in ("l1", "l1 balanced")]

    def ours(losses, some):
        for name, B, loss in itertools.product(shapes, some, losses):
            if shapes[name][1] > B and (loss != "rec@2p" or TASKS[name].imbalanced):
                chosen.append(shared | {"task": name, "method": "FSmulti", "loss": loss, "B": B})

    first = [B for B in (50, 10, 2) if B in budgets]
    ours(LOSSES[:2], first)
    chosen += [shared | {"task": name, "method": "RFE"} for name in shapes]
    ours(LOSSES[2:], first)
    for loss, name in itertools.product(("f1", "prbep", "rec@2p"), shapes):
        if loss != "rec@2p" or TASKS[name].imbalanced:
            chosen.append(shared | {"task": name, "method": "structural SVM", "loss": loss, "B": None})
    name = "grain" if "grain" in shapes else next(iter(shapes))
    some = {"kind": "sensitivity", "task": name, "method": "FSmulti", "shared": str(options.shared)}
    grid = itertools.product(LOSSES[:2], GRID, budgets if options.full else first)
    chosen += [some | {"loss": loss, "at": c, "B": B} for loss, c, B in grid]
    ours(LOSSES[:2], [B for B in budgets if B not in first])
    ours(LOSSES[2:], [B for B in budgets if B not in first])
    return chosen, list(shapes), names


def run_all(options, log):
    """Run what the log does not hold; append each record to it; return all that are wanted, and the tasks."""
    done = {key(record): record for record in report.read_log(log)} if options.resume else {}
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("".join(json.dumps(record) + "\n" for record in done.values()))
    chosen, there, names = tasks_of(options)
    start = time.monotonic()
    with log.open("a") as file:
        for spec in chosen:
            if key(spec) in done:
                continue
            if options.time_limit is not None and time.monotonic() - start > options.time_limit:
                break
            load, begun = report.load(), time.perf_counter()
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                work = one_sensitivity if spec["kind"] == "sensitivity" else KINDS[spec["method"]]
                found = work(spec, done)
            late = sum("ConvergenceWarning" in w.category.__name__ for w in said)
            record = {name: value for name, value in spec.items() if name != "shared"} | found
            record |= {"load": load, "not converged": late, "all seconds": time.perf_counter() - begun}
            done[key(spec)] = record
            file.write(json.dumps(record) + "\n")
            file.flush()
            brief = [spec.get(name) for name in ("kind", "task", "method", "loss", "B", "at")]
            what = f"{found['features']} features, gap {found['gap']:.2%}" if "gap" in found else ""
            print(*brief, what, f"{record['all seconds']:.1f} s of {time.monotonic() - start:.0f}", flush=True)
    return [done[key(spec)] for spec in chosen if key(spec) in done], len(chosen), there, names


# ---- the page


def mean(values):
    return statistics.fmean(values) if values else None


def shown(x, digits=1):
    return "-" if x is None else f"{x:.{digits}f}"


class Found:
    """The records of the tables, and what each method reaches at a task, a measure and a B."""

    METHODS = ("FSmulti", "FSmulti errors", "structural SVM", "l1", "l1 balanced", "RFE")

    def __init__(self, records):
        self.records = {key(r): r for r in records if r["kind"] == "table"}
        self.tasks = list(dict.fromkeys(r["task"] for r in self.records.values()))

    def record(self, task, method, loss=None, B=None):
        """Return what was kept of a fit, or None."""
        return self.records.get(("table", task, method, str(loss), str(B), "None"))

    def point(self, task, method, measure, B):
        """Return the fit (or point of a path) that stands for a method, or None."""
        if method == "FSmulti":
            return self.record(task, method, measure, B)
        if method == "FSmulti errors":
            return self.record(task, "FSmulti", "hamming", B)
        if method == "structural SVM":
            return self.record(task, method, measure)
        path, ours = self.record(task, method), self.record(task, "FSmulti", "f1", B)
        return at_most(path, ours["features"]) if path and ours else None

    def score(self, task, method, measure, B):
        """Return the test measure of ``point``, or None."""
        found = self.point(task, method, measure, B)
        return None if found is None else found["test"].get(measure)

    def budgets(self, task):
        """Return the B of the fits of FSmulti."""
        return sorted({r["B"] for r in self.records.values() if r["task"] == task and r["method"] == "FSmulti"})


def table_f1(found, tasks, methods):
    """Show test F1 and features of each task and B; return the table and the F1 of the rows that have all."""
    rows, whole = [], []
    for name in tasks:
        for B in found.budgets(name):
            points = [found.point(name, method, "f1", B) for method in methods]
            cells = ["-" if p is None else f"{p['test']['f1']:.1f} ({p['features']})" for p in points]
            rows.append([name, B, *cells])
            if all(points):
                whole.append((name, B, [p["test"]["f1"] for p in points], [p["features"] for p in points]))
    return report.table(["task", "B", *methods], rows), whole


LINE = ("FSmulti", "FSmulti errors", "l1", "l1 balanced", "RFE")


def goal(found):
    """Show the mean test F1 over all imbalanced tasks, for each B and over all, and where FSmulti for F1 loses."""
    tasks = [name for name in found.tasks if TASKS[name].imbalanced]
    _, whole = table_f1(found, tasks, LINE)
    if not whole:
        return "No imbalanced task has all methods yet."
    rows = []
    for B in [*sorted({B for _, B, _, _ in whole}), None]:
        part = [row for row in whole if B is None or row[1] == B]
        cells = [
            f"{mean([row[2][k] for row in part]):.1f} ({mean([row[3][k] for row in part]):.0f})"
            for k in range(len(LINE))
        ]
        rows.append(["all" if B is None else B, len(part), *cells])
    text = [report.table(["B", "tasks x B", *LINE], rows)]
    for k, rival in enumerate(LINE[1:], 1):
        lost = [(name, B, row[k] - row[0]) for name, B, row, _ in whole if row[k] > row[0] + 1e-9]
        ours, theirs = mean([row[2][0] for row in whole]), mean([row[2][k] for row in whole])
        verdict = "higher" if ours > theirs else "NOT higher"
        told = f"Against {rival}: mean {verdict} ({ours:.1f}, {theirs:.1f}); it loses {len(lost)} of {len(whole)}"
        worst = sorted(lost, key=lambda t: -t[2])[:12]
        told += ": " + ", ".join(f"{name} at B = {B} by {by:.1f}" for name, B, by in worst) if worst else ""
        text.append("- " + told + (", ..." if len(lost) > len(worst) else "") + ".")
    return text[0] + "\n\n" + "\n".join(text[1:])


def table_macro(found):
    """Return a table like the paper's second: means over the imbalanced tasks at one B, won and lost in brackets."""
    tasks = [name for name in found.tasks if TASKS[name].imbalanced]
    measures = ("f1", "rec@2p", "prbep")
    sets = []
    for B in sorted({B for name in tasks for B in found.budgets(name)}):
        have = [n for n in tasks if all(found.point(n, "FSmulti", m, B) for m in (*measures, "hamming"))]
        if have:
            sets.append((B, have))
    rows = []
    for B, have in sets:
        for method in Found.METHODS:
            row, sizes = [B, len(have), method], []
            for measure in measures:
                points = [found.point(name, method, measure, B) for name in have]
                if not all(points):
                    row.append("-")
                    continue
                scores = [p["test"][measure] for p in points]
                ours = [found.score(name, "FSmulti", measure, B) for name in have]
                won = sum(a > b + 1e-9 for a, b in zip(scores, ours, strict=True))
                lost = sum(a < b - 1e-9 for a, b in zip(scores, ours, strict=True))
                row.append(f"{mean(scores):.1f}" + ("" if method == "FSmulti" else f" ({won}/{lost})"))
                sizes.append(f"{mean([p['features'] for p in points]):.0f}")
            rows.append([*row, " / ".join(dict.fromkeys(sizes)) if len(set(sizes)) == 1 else " / ".join(sizes)])
    return report.table(["B", "tasks", "method", "F1", "Rec@2p", "PRBEP", "features"], rows)


def table_fits(found):
    """Return what every fit of FSmulti and structural SVM reached."""
    header = ["task", "method", "loss", "B", "c", "features", "gap", "rounds", "seconds", "CPU", "master"]
    header += ["CV seconds (late)", "F1", "PRBEP", "Rec@2p", "accuracy", "load"]
    rows = []
    for r in found.records.values():
        if "path" in r:
            continue
        late = f"{r['cv_seconds']:.0f} ({r['cv_late']})" if "cv_seconds" in r else f"as B = {r['cv_of']}"
        stop = "" if r["stop"] == "converged" else " *"
        row = [
            r["task"],
            r["method"],
            r["loss"],
            r["B"] or "all",
            f"{r['c']:g}",
            r["features"],
            f"{r['gap']:.2%}{stop}",
        ]
        row += [r["rounds"], shown(r["seconds"]), shown(r["cpu"]), shown(r["master"]), late]
        row += [shown(r["test"].get(m)) for m in ("f1", "prbep", "rec@2p", "hamming")]
        rows.append([*row, r["load"]])
    order = {name: k for k, name in enumerate(TASKS)}
    rows.sort(key=lambda row: (order[row[0]], row[1], row[2], 10**9 if row[3] == "all" else row[3]))
    return report.table(header, rows)


def table_edges(found):
    """Return how often each c was chosen for each loss, and which fits met the limit."""
    ours = [r for r in found.records.values() if r["method"] == "FSmulti" and "cv_seconds" in r]
    rows = [[loss, *(sum(r["loss"] == loss and r["c"] == c for r in ours) for c in GRID)] for loss in LOSSES]
    return report.table(["loss", *(f"c = {c:g}" for c in GRID)], rows)


def table_sensitivity(records):
    rows = []
    for r in sorted(records, key=lambda r: (r["loss"], r["at"], r["B"])):
        row = [r["task"], r["loss"], f"{r['at']:g}", r["B"], r["features"], f"{r['gap']:.2%}", shown(r["seconds"])]
        rows.append([*row, shown(r["test"]["hamming"]), shown(r["test"]["f1"])])
    return report.table(["task", "loss", "c", "B", "features", "gap", "seconds", "accuracy", "F1"], rows)


def page(records, shapes, made):
    found = Found(records)
    fits = [r for r in found.records.values() if "path" not in r]
    text = ["## Mean test F1 on the imbalanced tasks (features)", goal(found)]
    text += [
        "Rows that have all methods. l1, balanced l1 and RFE have no more features than FSmulti for F1 there; FSmulti "
        "for errors has the same B, and its own number of features.",
        "## Test F1, % (features)",
        table_f1(found, found.tasks, Found.METHODS)[0],
        "Structural SVM: all features that are not 0.",
        "## Like table 2: means over the imbalanced tasks (won/lost against FSmulti for the measure)",
        table_macro(found),
        "FSmulti and structural SVM: a fit for each measure. The others have one fit for all; RFE's C is that of F1. "
        "Features in the order of the measures where they differ. There are too few tasks for the paper's t-test.",
    ]
    late = [r for r in fits if r["stop"] != "converged"]
    text += ["## Which c cross-validation chose", table_edges(found), "For B of 50 at most."]
    if made:
        text += ["## Figures", *(f"{title}\n\n![{title}]({name})" for name, title in made.items())]
    text += ["## The fits", table_fits(found)]
    text += [
        f"{len(late)} of {len(fits)} fits met the limit of {FIT['time_limit']:g} s (*). CV seconds: {FOLDS} folds, "
        f"{len(GRID)} values of C; late: how many of these {FOLDS * len(GRID)} fits met their limit of "
        f"{TRIAL['time_limit']:g} s. Limits are wall clock, so that what they cut depends on the load (last column)."
    ]
    sensitivity = [r for r in records if r["kind"] == "sensitivity"]
    if sensitivity:
        text += ["## Sensitivity to B and C", table_sensitivity(sensitivity), "Limit 30 s."]
    if said := [f"{r['method']} on {r['task']} {r['not converged']}" for r in records if r["not converged"]]:
        text += [f"Fits of LinearSVC that met its limit of 1000 iterations: {', '.join(said)}."]
    text += ["## Tasks", report.table(["task", "training", "features", "positive", "test", "positive"], shapes)]
    return "\n\n".join(text)


def facts_of(names, shared):
    rows = []
    for name in names:
        train, test = parts_of(name, shared)
        share = [f"{np.mean(part.y > 0):.1%}" for part in (train, test)]
        rows.append([name, len(train), train.n_features, share[0], len(test), share[1]])
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="all tasks and B")
    parser.add_argument("--tasks", help=f"some of {','.join(TASKS)}, separated by commas")
    shared = Path(__file__).resolve().parents[2] / "shared"
    parser.add_argument("--shared", type=Path, default=shared, help="folder with data/ and data-extra/")
    parser.add_argument("--time-limit", type=float, help="seconds after which no fit is started any more")
    parser.add_argument("--resume", action="store_true", help="run only what the log beside --out (.jsonl) has not")
    parser.add_argument("--out", type=Path, help="where to write: .json, .md, .png, .jsonl")
    options = parser.parse_args()
    if options.tasks and (unknown := set(options.tasks.split(",")) - set(TASKS)):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; choose among {', '.join(TASKS)}")
    warnings.simplefilter("ignore", fs.DataWarning)  # columns without an entry
    name = "multivariate_tables" if options.full else "multivariate_tables_small"
    out = (options.out or Path(__file__).parent / "results" / name).with_suffix("")
    facts = report.about(*PACKAGES, seeds="0; generated 1")
    start = time.perf_counter()
    records, wanted, there, names = run_all(options, out.with_suffix(".jsonl"))
    facts["seconds of this call"] = round(time.perf_counter() - start, 1)
    facts["seconds of all fits"] = round(sum(r["all seconds"] for r in records), 1)
    facts["load average of the fits"] = f"{min(r['load'] for r in records)} to {max(r['load'] for r in records)}"
    facts["tasks"] = f"{len(records)} of {wanted}"
    if absent := [name for name in names if name not in there]:
        facts["not there"] = f"{', '.join(absent)}: no file below {options.shared}"
    made = figures.draw(records, there, out)
    text = page(records, facts_of(there, str(options.shared)), made)
    if len(records) < wanted:
        text = f"NOT COMPLETE: {len(records)} of {wanted} fits are done. Go on with --resume.\n\n{text}"
    print(text)
    title = "FSmulti: the tables of Mao and Tsang 2013"
    report.write(out, title, f"{__doc__.strip()}\n\n{text}", facts, records=records)


if __name__ == "__main__":
    main()
