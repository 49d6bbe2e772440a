"""Mao and Tsang 2013: FSmulti on 20,000 x 1,000,000, 400 entries a row, beside l1 LinearSVC and RFE.

    python benchmarks/multivariate_scale.py             # a tenth of the rows and columns: a minute or two
    python benchmarks/multivariate_scale.py --full      # the goals: about 20 minutes, most of them RFE
    python benchmarks/multivariate_scale.py --full --resume

The set is generated with the shape of News20.binary. The columns of a row are drawn from a Zipf law (exponent 1, a few
words in every row, most in none or one), again and again until 400 distinct ones have come; a value is
(1 + log times drawn) times idf, and rows have unit length. Labels are the sign of w.x plus noise about a threshold: w
has 200 features among the 20th to the 5000th in frequency, noise has 0.3 of the deviation of w.x. The threshold leaves
half of the rows positive ("balanced"), or a tenth of them ("rare"). A quarter as many rows again are for testing.

Each fit is a process of its own with one thread, which reads the arrays, builds its data set and model, solves, and
tells the largest memory that it has had, all of this included (``resource``). C = c n.

- FSmulti: ``fs.multivariate.fsmulti``, driver "two-layer". Its seconds are those of ``solve``; building is beside it.
- l1: ``LinearSVC(penalty="l1", dual=False)``, otherwise as scikit-learn has it (offset, squared hinge, tolerance 1e-4).
  C comes from a bisection on the number of features alone: the most, but no more than FSmulti for F1 at C = 0.1 n.
  Seconds of the fit at that C, and of all fits.
- RFE: ``LinearSVC()`` at C = 1, a tenth of what is left dropped at a time, down to the same number of features; columns
  without an entry are left out before. An own loop: scikit-learn's RFE takes sparse data, and drops a tenth of the
  first number of features each time.
"""

import argparse
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import report
from scipy import sparse
from sklearn.svm import LinearSVC

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the clone, not an installed package
import fsmodels as fs
from fsmodels.models.multivariate.measures import loss as loss_of
from solvers.drivers.two_layer.driver import TwoLayer

PACKAGES = ("pyomo", "numpy", "scipy", "scikit-learn", "clarabel")
BUDGET, DROP, TEST = 50, 0.1, 0.25
FULL, SMALL = (20_000, 1_000_000, 400), (2_000, 100_000, 400)
TRUE, RANKS, NOISE, RARE = 200, (20, 5000), 0.3, 0.1
LIMIT = 300.0  # seconds of a fit of FSmulti
LABELS = ("balanced", "rare")
MEASURES = ("hamming", "f1", "prbep", "rec@2p")
FITS = (
    # loss, c, gap, seconds to reach
    ("hamming", 0.1, 0.01, 20.0),
    ("f1", 0.1, 0.01, 90.0),
    ("f1", 1.0, 0.10, 180.0),
)
MEMORY = 1000.0  # MB


# ---- data


def text_like(total, m, entries, seed, true=TRUE, ranks=RANKS):
    """Return X (CSR), the noisy score of each row, and how many rows each column is in."""
    rng = np.random.default_rng(seed)
    frequency = np.cumsum(1.0 / np.arange(1, m + 1))
    frequency /= frequency[-1]
    indices = np.empty(total * entries, dtype=np.int32)
    counts = np.empty(total * entries)
    for i in range(total):
        drawn = np.empty(0, dtype=np.intp)
        first = np.empty(0, dtype=np.intp)
        while len(first) < entries:
            drawn = np.concatenate([drawn, np.searchsorted(frequency, rng.random(2 * entries))])
            _, first = np.unique(drawn, return_index=True)
        end = np.sort(first)[entries - 1] + 1  # where the last of them came
        columns, times = np.unique(drawn[:end], return_counts=True)
        indices[i * entries : (i + 1) * entries] = columns
        counts[i * entries : (i + 1) * entries] = times
    X = sparse.csr_array((1.0 + np.log(counts), indices, np.arange(total + 1, dtype=np.int32) * entries), (total, m))
    rows_with = np.bincount(X.indices, minlength=m)
    X.data *= (np.log((1 + total) / (1 + rows_with)) + 1.0)[X.indices]
    X.data /= np.repeat(np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1])), entries)
    w = np.zeros(m)
    w[rng.choice(np.arange(*ranks), true, replace=False)] = rng.standard_normal(true)
    score = X @ w
    score += NOISE * score.std() * rng.standard_normal(total)
    place = rng.permutation(m).astype(np.int32)  # the order of the columns says nothing
    X.indices = place[X.indices]
    X.sort_indices()
    return X, score, np.bincount(X.indices, minlength=m)


def generate(n, m, entries, seed, folder):
    """Write the arrays of a set, its rows for testing last."""
    X, score, rows_with = text_like(n + int(TEST * n), m, entries, seed)
    arrays = {"data": X.data, "indices": X.indices, "indptr": X.indptr}
    arrays["balanced"] = np.where(score > np.median(score), 1.0, -1.0)
    arrays["rare"] = np.where(score > np.quantile(score, 1 - RARE), 1.0, -1.0)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    return {
        "rows": n,
        "test rows": len(score) - n,
        "columns": m,
        "columns with an entry": int((rows_with > 0).sum()),
        "entries a row": sorted({int(k) for k in np.diff(X.indptr)}),
        "megabytes of the training matrix (CSR)": round(12e-6 * n * entries, 1),
        "largest column": int(rows_with.max()),
    }


def read(spec):
    """Return X and y of the training part, and those of the test part."""
    folder, (n, m, entries) = Path(spec["folder"]), spec["shape"]
    values, indices = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("data", "indices"))
    labels = np.load(folder / f"{spec['labels']}.npy")
    parts = []
    for first, last in ((0, n), (n, len(labels))):
        here = slice(first * entries, last * entries)
        indptr = np.arange(last - first + 1, dtype=np.int32) * entries
        X = sparse.csr_array((np.array(values[here]), np.array(indices[here]), indptr), (last - first, m))
        parts += [X, labels[first:last]]
    return parts


# ---- the fits


class Watch:
    """Seconds and calls of what it wraps."""

    def __init__(self, work):
        self.work, self.seconds, self.calls = work, 0.0, 0

    def __call__(self, *arguments):
        """Work, and add the seconds."""
        start = time.perf_counter()
        try:
            return self.work(*arguments)
        finally:
            self.seconds += time.perf_counter() - start
            self.calls += 1


class WatchedLoss(fs.measures.Loss):
    """A loss whose oracle is timed."""

    def __init__(self, name):
        self.loss = loss_of(name)
        self.most_violated = Watch(self.loss.most_violated)

    @property
    def name(self):
        """The name of the loss inside."""
        return self.loss.name

    def value(self, y, labelling):
        """Return the loss of a labelling."""
        return self.loss.value(y, labelling)

    def most_violated(self, y, scores):
        """Stand in for the object's own, which comes first."""
        raise NotImplementedError


def fsmulti(spec, X, y):
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.DataWarning)  # columns without an entry
        data = fs.Dataset.from_arrays(X, y, positive=1.0)
    loss = WatchedLoss(spec["loss"])
    C = spec["c"] * len(y)
    model = fs.multivariate.fsmulti(data, budget=BUDGET, C=C, loss=loss)
    driver = TwoLayer(model, gap=spec["gap asked"], time_limit=LIMIT)
    work = driver.work
    work.slopes, work.add_group = outer, columns = Watch(work.slopes), Watch(work.add_group)
    building = time.perf_counter() - start
    cpu = time.process_time()
    result = driver.solve()
    cpu = time.process_time() - cpu
    w, _ = fs.multivariate.classifier(model)
    again = fs.multivariate.objective(data, w, budget=BUDGET, C=C, loss=spec["loss"])
    master = result.details["seconds"]["master"]
    return w, 0.0, {
        "status": result.status.value,
        "stop": result.stop_reason.value,
        "objective": result.objective,
        "objective from the data": again,
        "bound": result.bound,
        "gap": result.gap,
        "features": len(result.selected),
        "building": building,
        "seconds": result.seconds,
        "cpu": cpu,
        "rounds": len(result.iterations),
        "oracle": loss.most_violated.seconds,
        "oracle calls": loss.most_violated.calls,
        "master": master,
        "outer": outer.seconds + columns.seconds,
        "outer calls": outer.calls,
        "rest": result.seconds - master - loss.most_violated.seconds - outer.seconds - columns.seconds,
        "cuts": int(result.iterations["Cuts"].iloc[-1]),
        "columns": int(result.iterations["|S|"].iloc[-1]),
    }  # fmt: skip


def l1(spec, X, y):
    """Bisect on C for the most features that are no more than asked; by their number alone."""
    low, high, kept, fits, cpu = 1e-2, 1e2, None, [], time.process_time()
    for _ in range(10):
        C = float(np.sqrt(low * high))
        start = time.perf_counter()
        svm = LinearSVC(penalty="l1", dual=False, C=C, random_state=0).fit(X, y)
        count = int(np.count_nonzero(svm.coef_))
        fits.append({"C": C, "features": count, "seconds": time.perf_counter() - start})
        if count > spec["most"]:
            high = C
        else:
            low = C
            if kept is None or count >= kept[2]["features"]:
                kept = svm.coef_.ravel(), float(svm.intercept_[0]), fits[-1]
        if count == spec["most"]:
            break
    w, b, fit = kept
    total = sum(f["seconds"] for f in fits)
    return w, b, fit | {"all seconds": total, "cpu": time.process_time() - cpu, "fits": fits}


def rfe(spec, X, y):
    """Drop a tenth of what is left at a time, the smallest |w_j|."""
    start, cpu = time.perf_counter(), time.process_time()
    X = sparse.csc_array(X)
    left = np.flatnonzero(np.diff(X.indptr))
    fits = 0
    while True:
        svm = LinearSVC(C=1.0, random_state=0).fit(sparse.csr_array(X[:, left]), y)
        fits += 1
        if len(left) <= spec["most"]:
            break
        keep = max(spec["most"], min(len(left) - 1, int((1 - DROP) * len(left))))
        left = left[np.sort(np.argsort(-np.abs(svm.coef_[0]), kind="stable")[:keep])]
    w = np.zeros(X.shape[1])
    w[left] = svm.coef_[0]
    spent = time.perf_counter() - start
    found = {"features": len(left), "seconds": spent, "cpu": time.process_time() - cpu, "fits": fits}
    return w, float(svm.intercept_[0]), found


METHODS = {"FSmulti": fsmulti, "l1": l1, "RFE": rfe}


def job(spec):
    """Do one task in this process; return its record."""
    if spec["method"] == "data":
        start = time.perf_counter()
        made = generate(*spec["shape"], seed=spec["seed"], folder=Path(spec["folder"]))
        return made | {"seconds": time.perf_counter() - start}
    X, y, X_test, y_test = read(spec)
    before, load = memory(), report.load()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        w, b, found = METHODS[spec["method"]](spec, X, y)
    scores = np.asarray(X_test @ w).ravel() + b
    measures = fs.measures.measure(y_test, scores, MEASURES)
    remarks = sorted({str(w.message).splitlines()[0] for w in said if "ConvergenceWarning" in w.category.__name__})
    return found | {
        "test": measures.round(3).to_dict(),
        "ties at 0": int((scores == 0).sum()),
        "positive share": float(np.mean(y > 0)),
        "memory": memory(),
        "memory with the arrays read": before,
        "load": load,
        "remarks": remarks,
    }


def memory():
    """Return the largest memory that this process has had, MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e3 if sys.platform == "linux" else 1e6)


# ---- all runs

NAMES = ("method", "labels", "loss", "c", "gap asked", "shape", "seed", "most")


def key(record):
    return tuple(str(record.get(name)) for name in NAMES)


def run(spec):
    """Run a task in a process of its own."""
    command = [sys.executable, __file__, "--job", json.dumps(spec)]
    threads = dict.fromkeys(report.THREAD_VARIABLES, "1")
    answer = subprocess.run(command, env=os.environ | threads, stdout=subprocess.PIPE, text=True, check=True)
    return {name: v for name, v in spec.items() if name != "folder"} | json.loads(answer.stdout.splitlines()[-1])


def run_all(options, shape, log):
    """Run what the log does not hold; append each record to it."""
    done = {key(record): record for record in report.read_log(log)} if options.resume else {}
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("".join(json.dumps(record) + "\n" for record in done.values()))
    with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
        base = {"shape": list(shape), "seed": options.seed, "folder": folder}
        made, found = [], []

        def have(**task):
            spec = base | task
            if key(spec) not in done:
                if not made and task["method"] != "data":
                    run(base | {"method": "data"})  # again, for a run that goes on
                    made.append(True)
                record = done[key(spec)] = run(spec)
                if task["method"] == "data":
                    made.append(True)
                with log.open("a") as file:
                    file.write(json.dumps(record) + "\n")
                print(*task.values(), f"{record['seconds']:.1f} s", flush=True)
            found.append(done[key(spec)])
            return found[-1]

        have(method="data")
        most = {}
        for labels, (loss, c, gap, target) in itertools.product(LABELS, FITS):
            record = have(**{"method": "FSmulti", "labels": labels, "loss": loss, "c": c, "gap asked": gap})
            record["target"] = target
            most.setdefault((labels, loss), record["features"])
        for method, labels in itertools.product(("l1", "RFE"), LABELS):
            have(method=method, labels=labels, most=most[labels, "f1"])
    return found


# ---- the page


def seconds(x):
    return f"{x:.1f}"


def table_goals(records):
    header = ["labels", "loss", "C / n", "gap asked", "gap", "seconds", "CPU", "of", "MB", "of", "load", "reached?"]
    rows = []
    for r in records:
        good = r["gap"] <= r["gap asked"] and r["seconds"] <= r["target"] and r["memory"] < MEMORY
        told = [r["labels"], r["loss"], r["c"], f"{r['gap asked']:.0%}", f"{r['gap']:.2%}", seconds(r["seconds"])]
        told += [seconds(r["cpu"]), f"{r['target']:.0f}", f"{r['memory']:.0f}", f"{MEMORY:.0f}", r["load"]]
        rows.append([*told, "yes" if good else "no"])
    return report.table(header, rows)


def table_parts(records):
    header = ["labels", "loss", "C / n", "building", "rounds", "oracle (calls)", "master", "outer (calls)", "rest"]
    header += ["rows", "columns", "objective", "bound"]
    rows = []
    for r in records:
        told = [r["labels"], r["loss"], r["c"], seconds(r["building"]), r["rounds"]]
        told += [f"{r['oracle']:.1f} ({r['oracle calls']})", seconds(r["master"])]
        told += [f"{r['outer']:.1f} ({r['outer calls']})", seconds(r["rest"]), r["cuts"], r["columns"]]
        rows.append([*told, f"{r['objective']:.3f}", f"{r['bound']:.3f}"])
    return report.table(header, rows)


def table_peers(records):
    header = ["labels", "method", "features", "fits", "seconds", "all fits", "CPU", "MB", "accuracy", "F1", "PRBEP"]
    rows = []
    for r in sorted(records, key=lambda r: LABELS.index(r["labels"])):
        name = f"FSmulti {r['loss']}, C = {r['c']:g} n" if r["method"] == "FSmulti" else r["method"]
        fits = len(r["fits"]) if r["method"] == "l1" else r.get("fits", 1)
        total = r.get("all seconds", r["seconds"])
        told = [r["labels"], name, r["features"], fits, seconds(r["seconds"]), seconds(total), seconds(r["cpu"])]
        told += [f"{r['memory']:.0f}", *(f"{r['test'][m]:.1f}" for m in ("hamming", "f1", "prbep", "rec@2p"))]
        rows.append(told)
    return report.table([*header, "Rec@2p"], rows)


def page(records):
    made = records[0]
    ours = [r for r in records if r["method"] == "FSmulti"]
    shape = f"{made['rows']} x {made['columns']}"
    full = tuple(made["shape"]) == FULL
    text = [] if full else [f"A SMALL SET ({shape}): the goals are for {FULL[0]} x {FULL[1]} (--full)."]
    text += ["## Goals", table_goals(ours)]
    text += [
        f"B = {BUDGET}. Seconds are wall clock, beside the CPU seconds of the same span: other programs ran on the "
        "machine (load average when the fit began). MB: the largest memory of the process, with Python, the arrays of "
        f"the training and test part, the data set and the model. The matrix: {shape}, {made['entries a row']} entries "
        f"in a row, {made['columns with an entry']} columns with an entry, the fullest with {made['largest column']}; "
        f"{made['megabytes of the training matrix (CSR)']} MB as CSR, as much again as CSC in the driver."
    ]
    text += ["## Where FSmulti's seconds go", table_parts(ours)]
    text += [
        "Oracle: the most violated labellings. Outer: slopes over all columns, and new groups. Rest: scores, the line "
        "search, reading the matrix by columns. Rows and columns: in the last group problem. The objective is "
        "computed again from data and weights by ``multivariate.objective``: largest relative difference "
        f"{max(abs(r['objective from the data'] / r['objective'] - 1) for r in ours):.0e}."
    ]
    text += ["## Beside l1 LinearSVC and RFE", table_peers([r for r in records if r["method"] != "data"])]
    remarks = sorted({f"{r['method']}, {r['labels']}: {m}" for r in records for m in r.get("remarks", [])})
    text += [
        "Measures on the test rows. l1: seconds of the fit kept, and of all fits of the bisection. On rows of unit "
        "length, Hamming at C = 0.1 n is next to trivial: nearly all margins are below 1, so that the first labelling "
        "decides, and w is a difference of class means."
    ]
    if remarks:
        text += ["scikit-learn said: " + "; ".join(remarks) + "."]
    return "\n\n".join(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="20,000 x 1,000,000")
    parser.add_argument("--seed", type=int, default=0, help="of the set")
    parser.add_argument("--resume", action="store_true", help="run only what the log beside --out (.jsonl) has not")
    parser.add_argument("--scratch", type=Path, help="folder for the arrays, 160 MB; a temporary one otherwise")
    parser.add_argument("--out", type=Path, help="where to write: .json, .md, .jsonl")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        print(json.dumps(job(json.loads(options.job))))
        return
    shape = FULL if options.full else SMALL
    name = "multivariate_scale" if options.full else "multivariate_scale_small"
    out = (options.out or Path(__file__).parent / "results" / name).with_suffix("")
    facts = report.about(*PACKAGES, seed=options.seed, **{"time limit of a fit": LIMIT})
    start = time.perf_counter()
    records = run_all(options, shape, out.with_suffix(".jsonl"))
    facts["seconds of this call"] = round(time.perf_counter() - start, 1)
    facts["load average at the end"] = report.load()
    text = page(records)
    print(text)
    title = "FSmulti on a wide sparse set: seconds and memory"
    report.write(out, title, f"{__doc__.strip()}\n\n{text}", facts, records=records)


if __name__ == "__main__":
    main()
