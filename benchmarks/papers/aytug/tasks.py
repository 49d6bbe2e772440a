"""Data and tasks of ``fsp_paper``: each method on each instance of data sets one and two, and on UCI sets."""

import math
from functools import cache
from itertools import product

import numpy as np

import fsmodels as fs
from benchmarks.harness.log import SHARED
from benchmarks.methods.fsp import grid
from fsmodels import synthetic
from fsmodels.models.fsp.oracle import SvmOracle

SETS = ("one", "two", "uci")
PROTOCOL = 1  # increase it to ignore the present entries of the log
SEED = 0
FEATURES, SAMPLES, RELEVANT = (20, 50, 100), (500, 1000, 5000), (20, 100, 200, 400, 600)
ONE_METHODS = ("GBD-M", "FSP-M, proven", "RFE", "FSV", "ONSVM", "InfoGain", "R2W2", "FSP-M, chosen", "GBD-M to the end")
R2W2_SAMPLES = 1000  # at most; with 5000 samples a kernel matrix has 25 million entries
END_TRIPLETS = {20: 10, 50: 1}  # features -> triplets of each size for GBD-M without a time limit, which takes hours
TWO_METHODS = ("ONSVM", "GBD-M", "FSP-M, proven", "RFE")  # those of the paper, the fastest first
UCI_METHODS = ("ONSVM", "GBD-M", "FSP-M, proven", "GBD-lambda", "RFE", "FSV")
SHIPPED = ("bupa", "cleveland", "wpbc", "ionosphere", "sonar", "wdbc", "german_numeric", "musk1", "spambase", "mfeat")
FILES = {
    "australian": "data-extra/australian.csv",
    "pima": "data/pima.csv",
    "leukemia": "data-extra/leukemia.csv.gz",
    "sylva": "data/sylva.csv.gz",
}
DIVISIONS = 5
FIELDS = ("protocol", "set", "instance", "method")


def tasks(full, sets):
    """Return all tasks, the first instance of every size first.

    The slowest ones are last: FSV on 5000 samples, and RFE on 7129 features.
    """
    found = []
    if "one" in sets:
        rounds, sizes, widths = (10, SAMPLES, FEATURES) if full else (2, SAMPLES[:2], FEATURES[:2])
        cells = sorted(product(sizes, widths), key=math.prod)
        for k, (cost, (size, n)), m in product(range(rounds), enumerate(cells), ONE_METHODS):
            if (m != "R2W2" or size <= R2W2_SAMPLES) and (m != "GBD-M to the end" or k < END_TRIPLETS.get(n, 0)):
                late = 10 if m == "FSV" and size == SAMPLES[-1] else 0
                task = {"set": "one", "n": n, "l": size, "k": k, "instance": f"aytug1-n{n}-l{size}-{k}", "method": m}
                found.append((k + late, cost, task))
    if "two" in sets and full:
        for k, (cost, m), M in product(range(5), enumerate(TWO_METHODS), RELEVANT):
            task = {"set": "two", "M": M, "k": k, "instance": f"aytug2-M{M}-{k}", "method": m}
            found.append((k, 100 + cost, task))
    if "uci" in sets and full:
        for k, (cost, name), m in product(range(DIVISIONS), enumerate([*SHIPPED, *FILES]), UCI_METHODS):
            late = 10 if (name, m) == ("leukemia", "RFE") else 0
            task = {"set": "uci", "name": name, "k": k, "instance": f"{name}-{k}", "method": m}
            found.append((k + late, 50 + cost, task))
    return [{"protocol": PROTOCOL} | task for _, _, task in sorted(found, key=lambda entry: entry[:2])]


def triplet(task):
    """Return the triplet of a task on data set one or two."""
    k = task["k"]
    if task["set"] == "one":
        drawn = synthetic.data_set_one(SEED, [task["n"]], [task["l"]], k + 1)
    else:
        drawn = synthetic.data_set_two(SEED, [task["M"]], k + 1)
    return list(drawn)[-1]


def divided(task):
    """Return training, validation and test part of a UCI set, standardised by the training part."""
    name = task["name"]
    data = fs.load_dataset(name) if name in SHIPPED else fs.Dataset.from_csv(SHARED / FILES[name], target="target")
    train, validation, test = data.split(seed=task["k"])  # 60, 20 and 20 per cent, stratified
    train = train.scaled("standard")
    return train, train.apply_scale_to(validation), train.apply_scale_to(test)


def work(**task):
    """Run one method on one instance; return None if its data are not available."""
    if task["set"] == "uci":
        if task["name"] in FILES and not (SHARED / FILES[task["name"]]).exists():
            return None
        parts, w_true = divided(task), None
        l1, _ = grid("ONSVM", parts, None, SEED)
        M = max(1, chosen(l1)["features"])
    else:
        drawn = triplet(task)
        parts, w_true, M = (drawn.train, drawn.validation, drawn.test), drawn.w_true, drawn.n_relevant
    warm()
    records, seconds = grid(task["method"], parts, M, SEED, w_true)
    return {"n": parts[0].n_features, "l": len(parts[0]), "M": M, "cpu": seconds, "runs": records}


@cache
def warm():
    """Import the packages of the methods, so that imports are neither measured nor interrupted."""
    data = fs.load_dataset("wdbc").scaled("standard")
    oracle, sigma = SvmOracle(data.X, data.y, 1.0), np.arange(data.n_features) < 5
    oracle.solve(sigma.astype(float))
    fs.solve(fs.fsp.fsp_m(data, max_features=5), "branch-and-cut", threads=1)
    fs.solve(fs.fsp.fsp_m(data, max_features=1), "benders", threads=1)
    fs.select(data, "fsv", penalty=0.1, starts=1)


def chosen(runs):
    """Return the record with the smallest validation error; in a tie that with the smallest parameter."""
    return min(runs, key=lambda run: (run["validation_error"], run["value"]))


def entries_of(*logs):
    """Return the entries of this protocol, each with the record that validation chooses."""
    entries = [entry for log in logs for entry in log.entries() if entry["protocol"] == PROTOCOL]
    return [{**entry, "chosen": chosen(entry["runs"])} for entry in entries]
