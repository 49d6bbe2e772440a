"""Mao and Tsang 2013: FSmulti, l1 LinearSVC and RFE on 20,000 x 1,000,000 sparse data, 400 entries per row.

    python -m benchmarks multivariate_scale             # a tenth of the rows and columns: a minute or two
    python -m benchmarks multivariate_scale --full      # about 20 minutes, most of them RFE
    python -m benchmarks multivariate_scale --page      # only the page, from the log

Each fit runs in its own process with one thread, which reads the arrays, builds data set and model, and solves. The
peak memory includes all of this. The module ``page`` defines the settings of the fits.
"""

import itertools
import json
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.metrics import precision_recall_curve

import fsmodels as fs
from benchmarks.comparisons.multivariate_scale.page import (
    BUDGET,
    FITS,
    FULL,
    LABELS,
    LIMIT,
    NAME,
    PROTOCOL,
    SMALL,
    TASK,
    page,
)
from benchmarks.harness import child_process, provenance
from benchmarks.harness.log import Log
from benchmarks.harness.run import arguments, until, write_pages
from benchmarks.methods import heuristics
from fsmodels.models.multivariate.measures import loss as loss_of
from solvers.drivers.two_layer.driver import TwoLayer

__all__ = ["NAME", "main", "page"]
PACKAGES = ("pyomo", "numpy", "scipy", "scikit-learn", "clarabel")
SEED, DROP, TEST = 0, 0.1, 0.25
TRUE, RANKS, NOISE, RARE = 200, (20, 5000), 0.3, 0.1
MEASURES = ("hamming", "f1", "prbep", "rec@2p")


# ---- data


def text_like(total, m, entries, seed, true=TRUE, ranks=RANKS):
    """Return X (CSR), the noisy score of each row, and the number of entries of each column."""
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
        end = np.sort(first)[entries - 1] + 1  # position of the draw that completes the row
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
    place = rng.permutation(m).astype(np.int32)  # the order of the columns has no information
    X.indices = place[X.indices]
    X.sort_indices()
    return X, score, np.bincount(X.indices, minlength=m)


def generate(n, m, entries, seed, folder):
    """Write the arrays of a generated set, with the test rows last; return a description."""
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
    """Return X and y of the training part, followed by X and y of the test part."""
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


class Timer:
    """Wrapper of a function that counts its calls and seconds."""

    def __init__(self, work):
        self.work, self.seconds, self.calls = work, 0.0, 0

    def __call__(self, *arguments):
        """Call the function and add its seconds."""
        start = time.perf_counter()
        try:
            return self.work(*arguments)
        finally:
            self.seconds += time.perf_counter() - start
            self.calls += 1


class TimedLoss(fs.measures.Loss):
    """Loss whose oracle is timed."""

    def __init__(self, name):
        self.loss = loss_of(name)
        self.most_violated = Timer(self.loss.most_violated)

    @property
    def name(self):
        """Return the name of the loss."""
        return self.loss.name

    def value(self, y, labelling):
        """Return the loss of a labelling."""
        return self.loss.value(y, labelling)

    def most_violated(self, y, scores):
        """Implement the abstract method; the timer that ``__init__`` sets hides it."""
        raise NotImplementedError


def fsmulti(spec, X, y):
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.DataWarning)  # columns without an entry
        data = fs.Dataset.from_arrays(X, y, positive=1.0)
    loss = TimedLoss(spec["loss"])
    C = spec["c"] * len(y)
    model = fs.multivariate.fsmulti(data, budget=BUDGET, C=C, loss=loss)
    driver = TwoLayer(model, gap=spec["gap asked"], time_limit=LIMIT)
    work = driver.work
    work.slopes, work.add_columns = outer, columns = Timer(work.slopes), Timer(work.add_columns)
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
    """Bisect on C for the largest number of features up to the requested one."""
    kept, fits, cpu, start = None, [], time.process_time(), time.perf_counter()
    for C, svm, used in heuristics.l1_bisection(X, y, spec["most"], (-2.0, 2.0), steps=10):
        fits.append({"C": C, "features": len(used), "seconds": time.perf_counter() - start})
        if len(used) <= spec["most"] and (kept is None or len(used) >= kept[2]["features"]):
            kept = svm.coef_.ravel(), float(svm.intercept_[0]), fits[-1]
        start = time.perf_counter()
    w, b, fit = kept
    total = sum(f["seconds"] for f in fits)
    return w, b, fit | {"all seconds": total, "cpu": time.process_time() - cpu, "fits": fits}


def rfe(spec, X, y):
    """Remove the tenth of the remaining features with the smallest weights at each step."""
    start, cpu = time.perf_counter(), time.process_time()
    X = sparse.csc_array(X)
    used, fits = np.flatnonzero(np.diff(X.indptr)), 0
    for left, svm in heuristics.elimination(X, y, 1.0, used, fewest=spec["most"], drop=DROP):  # noqa: B007, the last
        fits += 1
    w = np.zeros(X.shape[1])
    w[left] = svm.coef_[0]
    spent = time.perf_counter() - start
    found = {"features": len(left), "seconds": spent, "cpu": time.process_time() - cpu, "fits": fits}
    return w, float(svm.intercept_[0]), found


METHODS = {"FSmulti": fsmulti, "l1": l1, "RFE": rfe}


def job(spec):
    """Run one task in this process; return its record."""
    if spec["method"] == "data":
        start = time.perf_counter()
        made = generate(*spec["shape"], seed=spec["seed"], folder=Path(spec["folder"]))
        return made | {"seconds": time.perf_counter() - start}
    X, y, X_test, y_test = read(spec)
    before, load = child_process.peak_memory(), provenance.load()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        w, b, found = METHODS[spec["method"]](spec, X, y)
    scores = np.asarray(X_test @ w).ravel() + b
    best = scores - f1_threshold(y, np.asarray(X @ w).ravel() + b)
    remarks = sorted({str(w.message).splitlines()[0] for w in caught if "ConvergenceWarning" in w.category.__name__})
    return found | {
        "test": measured(y_test, scores),
        "test, tuned": measured(y_test, best),
        "true rows": packed(y_test > 0),
        "said rows": packed(scores > 0),
        "tuned rows": packed(best > 0),
        "ties at 0": int((scores == 0).sum()),
        "positive share": float(np.mean(y > 0)),
        "memory": child_process.peak_memory(),
        "memory with the arrays read": before,
        "load": load,
        "remarks": remarks,
    }


def f1_threshold(y, scores):
    """Return the threshold with the largest F1 on training rows, halfway to the next smaller score."""
    precision, recall, thresholds = precision_recall_curve(y > 0, scores)
    place = int(np.argmax(precision * recall / np.maximum(precision + recall, 1e-12)))
    below = scores[scores < thresholds[place]]
    return 0.5 * (thresholds[place] + below.max()) if len(below) else thresholds[place] - 1.0


def measured(y, scores):
    """Return the measures of ``MEASURES`` on test rows in per cent."""
    most = 2 * np.count_nonzero(y > 0)  # with more rows than the test part has, the recall is 100%
    named = [name for name in MEASURES if name != "rec@2p" or most <= len(y)]
    return {"rec@2p": 100.0} | fs.measures.measure(y, scores, named).round(3).to_dict()


def packed(truths):
    """Return truth values as hexadecimal digits, eight values in two digits."""
    return np.packbits(truths).tobytes().hex()


# ---- all runs


def run(spec):
    """Run a task in a new process."""
    found, ended = child_process.call(job, spec=spec)
    if found is None:
        raise SystemExit(f"{spec}: {ended['message']}")
    return {name: v for name, v in spec.items() if name != "folder"} | found


def run_all(shape, log, minutes):
    """Run the tasks that are not in the log one at a time, so that parallel runs do not disturb memory and time."""
    about = provenance.about(*PACKAGES, **{"time limit of a fit (s)": LIMIT})
    known = {key(record): record for record in log.entries(*TASK)}
    with tempfile.TemporaryDirectory() as folder:
        base = {"shape": list(shape), "seed": SEED, "protocol": PROTOCOL}

        def have(**task):
            spec = base | task
            if key(spec) not in known:
                if not any(Path(folder).iterdir()) and task["method"] != "data":
                    run(base | {"method": "data", "folder": folder})  # a continued run generates the data again
                record = known[key(spec)] = run(spec | {"folder": folder})
                log.begin(about)
                log.add(record)
                print(*task.values(), f"{record['seconds']:.1f} s", flush=True)
            return known[key(spec)]

        most = {}
        fits = [
            {"labels": y, "loss": loss, "c": c, "gap asked": gap}
            for y, (loss, c, gap) in itertools.product(LABELS, FITS)
        ]
        peers = [{"method": method, "labels": labels} for method, labels in itertools.product(("l1", "RFE"), LABELS)]
        for task in until(minutes, [{"method": "data"}, *({"method": "FSmulti"} | fit for fit in fits), *peers]):
            if task["method"] in METHODS and task["method"] != "FSmulti":
                task["most"] = most[task["labels"]]
            found = have(**task)
            if task.get("loss") == "f1":
                most.setdefault(task["labels"], found["features"])


def key(record):
    return json.dumps([record.get(name) for name in TASK])


def main():
    """Run the tasks that are not in the log one at a time, and write the page."""
    options, log = arguments(__doc__).parse_args(), Log(NAME)
    if options.fresh:
        log.clear()
    if not options.page:
        run_all(FULL if options.full else SMALL, log, options.minutes)
    log.pack()
    write_pages(sys.modules[__name__])
