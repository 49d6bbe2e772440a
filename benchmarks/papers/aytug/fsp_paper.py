"""Aytug 2015: tables 2 to 5 and figures 1 to 3, GBD-M beside the proven optimum and the paper's benchmarks.

    python -m benchmarks fsp_paper             # two instances of data set one, n = 20 and 50: some minutes
    python -m benchmarks fsp_paper --full      # all 90 + 25 triplets, and five divisions of each UCI set: hours
    python -m benchmarks fsp_paper --sets uci --full --shared DIR    # DIR has data/ and data-extra/

Writes ``fsp_paper`` (data sets one and two) and ``fsp_uci``. A stopped run is balanced: the first instance of every
size comes first, small ones before large.
"""

import warnings
from functools import cache, partial
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import fsmodels as fs
from benchmarks.harness.log import SHARED, Log, arguments, ended
from benchmarks.methods.fsp import grid
from benchmarks.papers.aytug import synthetic_page as fsp_page
from fsmodels import synthetic
from fsmodels.models.fsp.oracle import SvmOracle

SETS = ("one", "two", "uci")
PROTOCOL = 1  # another number: earlier entries of the log do not count
SEED = 0
FEATURES, SAMPLES, RELEVANT = (20, 50, 100), (500, 1000, 5000), (20, 100, 200, 400, 600)
TOLD = ("GBD-M", "FSP-M, proven", "RFE", "FSV", "ONSVM", "InfoGain")
TWO = ("ONSVM", "GBD-M", "FSP-M, proven", "RFE")  # the paper's, cheapest first
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

    At the end: FSV's linear programs on 5000 samples, and RFE from 7129 features.
    """
    found = []
    if "one" in sets:
        rounds, sizes = (10, SAMPLES) if full else (2, SAMPLES[:2])
        for k in range(rounds):
            cells = [(size, n) for size in sizes for n in (FEATURES if full else FEATURES[:2])]
            found += [
                (
                    k + (10 if m == "FSV" and size == SAMPLES[-1] else 0),
                    cost,
                    {"set": "one", "n": n, "l": size, "k": k, "instance": f"aytug1-n{n}-l{size}-{k}", "method": m},
                )
                for cost, (size, n) in enumerate(sorted(cells, key=lambda cell: cell[0] * cell[1]))
                for m in TOLD
            ]
    if "two" in sets and full:
        for k in range(5):
            found += [
                (k, 100 + cost, {"set": "two", "M": M, "k": k, "instance": f"aytug2-M{M}-{k}", "method": m})
                for cost, m in enumerate(TWO)
                for M in RELEVANT
            ]
    if "uci" in sets and full:
        for k in range(DIVISIONS):
            found += [
                (
                    k + 10 * ((name, m) == ("leukemia", "RFE")),
                    50 + cost,
                    {"set": "uci", "name": name, "k": k, "instance": f"{name}-{k}", "method": m},
                )
                for cost, name in enumerate([*SHIPPED, *FILES])
                for m in UCI_METHODS
            ]
    return [task for _, _, task in sorted(found, key=lambda entry: entry[:2])]


def triplet(task):
    """Return the triplet of a task on data set one or two."""
    k = task["k"]
    if task["set"] == "one":
        drawn = synthetic.data_set_one(SEED, [task["n"]], [task["l"]], k + 1)
    else:
        drawn = synthetic.data_set_two(SEED, [task["M"]], k + 1)
    return list(drawn)[-1]


def divided(task, shared):
    """Return the parts of a UCI set, standardised by the first: 60, 20 and 20 per cent of each class."""
    name = task["name"]
    data = fs.load_dataset(name) if name in SHIPPED else fs.Dataset.from_csv(shared / FILES[name], target="target")
    train, validation, test = data.split(seed=task["k"])  # 60, 20 and 20 per cent, stratified
    train = train.scaled("standard")
    return train, train.apply_scale_to(validation), train.apply_scale_to(test)


def run(task, shared=None):
    """Run one method on one instance; return the entry of the log."""
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        if task["set"] == "uci":
            parts, w_true = divided(task, shared), None
            l1, _ = grid("ONSVM", parts, None, SEED)
            M = max(1, chosen(l1)["features"])
        else:
            drawn = triplet(task)
            parts, w_true, M = (drawn.train, drawn.validation, drawn.test), drawn.w_true, drawn.n_relevant
        warm()
        records, seconds = grid(task["method"], parts, M, SEED, w_true)
    size = {"n": parts[0].n_features, "l": len(parts[0]), "M": M}
    return {"protocol": PROTOCOL, **task, **size, "cpu": seconds, "runs": records}


@cache
def warm():
    """Import the packages of the methods before their time is measured and Ctrl-C can interrupt them."""
    data = fs.load_dataset("wdbc").scaled("standard")
    oracle, sigma = SvmOracle(data.X, data.y, 1.0), np.arange(data.n_features) < 5
    oracle.solve(sigma.astype(float))
    fs.solve(fs.fsp.fsp_m(data, max_features=5), "branch-and-cut", threads=1)
    fs.solve(fs.fsp.fsp_m(data, max_features=1), "benders", threads=1)
    fs.select(data, "fsv", penalty=0.1, starts=1)


def chosen(runs):
    """Return the record of least validation error; of equals that of the least parameter."""
    return min(runs, key=lambda run: (run["validation_error"], run["value"]))


def main():
    parser = arguments(__doc__)
    parser.add_argument("--sets", default="one,two,uci", help="some of one, two, uci (default: all)")
    parser.add_argument("--shared", type=Path, default=SHARED, help="folder with data/ and data-extra/")
    asked = parser.parse_args()
    logs = {name: Log(f"fsp_{name}") for name in SETS}
    sets = asked.sets.split(",")
    if asked.fresh:
        for name in sets:
            logs[name].clear()
    if not asked.page:
        done = {key for name in sets for key in logs[name].done(*FIELDS)}
        left = [
            task
            for task in tasks(asked.full, sets)
            if (PROTOCOL, *(task[name] for name in FIELDS[1:])) not in done
            and (task.get("name") not in FILES or (asked.shared / FILES[task["name"]]).exists())
        ]
        for entry in ended(left, partial(run, shared=asked.shared), asked.minutes, asked.jobs):
            logs[entry["set"]].add(entry)
            print(entry["instance"], entry["method"], entry["cpu"], flush=True)
    for name in sets:
        logs[name].pack()
    entries = [entry for log in logs.values() for entry in log.entries() if entry["protocol"] == PROTOCOL]
    fsp_page.write([{**entry, "chosen": chosen(entry["runs"])} for entry in entries], tasks(True, SETS))
