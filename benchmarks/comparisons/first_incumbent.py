"""Incumbents of branch-and-cut after a CPU second, and at the end, compared with the selection of abess (FSP-M).

    python -m benchmarks first_incumbent          # 5 CPU seconds per run: ten minutes
    python -m benchmarks first_incumbent --full   # also 10,000 features, 40 CPU seconds per run
    python -m benchmarks first_incumbent --page   # only the page, from the log

abess needs ``pip install abess``.
"""

import time

import numpy as np

import fsmodels as fs
from benchmarks.comparisons import sparse_rivals
from benchmarks.harness.page import Page
from benchmarks.harness.records import rows_of
from benchmarks.methods.catalogue import cpu_clock
from benchmarks.methods.heuristics import warm_up
from fsmodels.datasets.synthetic import aytug, bertsimas, bertsimas_price

NAME, PROTOCOL = "first_incumbent", 2
LIMIT, WIDE_LIMIT, EARLY = 5.0, 40.0, 1.0
SETS = ["bupa", "cleveland", "german_numeric", "ionosphere", "mfeat", "musk1", "sonar", "spambase", "wdbc", "wpbc"]
SETS += ["wpbc24"]
CELL = ("data", "n", "p", "C", "M")
PACKAGES = ("fsmodels", "pyomo", "numpy", "scipy", "abess", "scikit-learn")


def tasks(full):
    real = [{"data": name, "n": None, "p": None, "C": C, "M": M} for name in SETS for C in (0.1, 10.0) for M in (5, 10)]
    real = [task for task in real if task["data"] != "bupa" or task["M"] < 6]
    sizes = [(n, 1000, M) for n in (500, 1000, 2000) for M in (10, 30)]
    sizes += [(500, 10_000, 30), (2000, 10_000, 10)] if full else []
    drawn = [{"data": "Bertsimas", "n": n, "p": p, "C": t, "M": M} for n, p, M in sizes for t in ("C_0", "C_3", "C_6")]
    drawn += [{"data": "Aytug", "n": 1000, "p": 800, "C": C, "M": 20} for C in (1.0, 10.0)]
    limits = {10_000: WIDE_LIMIT}
    return [task | {"limit": limits.get(task["p"], LIMIT), "protocol": PROTOCOL} for task in real + drawn]


def drawn(data, n, p, C, M):
    """Return the data and the C of a cell."""
    if data == "Bertsimas":
        train = bertsimas(n, p, M, n_test=2, seed=n + M).train.scaled("none")
        return train, bertsimas_price(train, M, t=int(C[2:]))
    pair = aytug(p, n, M).train if data == "Aytug" else fs.load_dataset(data)
    return pair.scaled("standard"), C


def work(data, n, p, C, M, limit, protocol):
    """Solve one cell, and record the incumbents by CPU seconds."""
    warm_up()
    data, C = drawn(data, n, p, C, M)
    theirs = sparse_rivals.abess(data, M, C, limit, intercept=True)
    rows, model = [], fs.fsp.fsp_m(data, max_features=M, C=C, form="rmp" if data.X.size > 5e6 else "perspective")

    def noted(row):
        rows.append((time.process_time() - start, row["Incumbent"]))

    start = time.process_time()
    with cpu_clock():
        found = fs.solve(model, "branch-and-cut", callback=noted, time_limit=limit)
    seen = [(used, value) for used, value in rows if value is not None and not np.isnan(value)]
    early = [value for used, value in seen if used <= EARLY]
    return {
        "abess": theirs["objective"], "abess_cpu": theirs["cpu"], "first_cpu": seen[0][0] if seen else None,
        "early": early[-1] if early else None, "end": found.objective, "bound": found.bound,
        "cpu": time.process_time() - start, "status": found.status.value,
    }  # fmt: skip


def page(log):
    """Return the page."""
    runs = log.entries(*CELL, "limit", "protocol")
    for run in runs:
        best = min(run["abess"], run["end"])
        for name in ("abess", "early", "end"):
            run[f"{name}_above"] = None if run[name] is None else max(0.0, run[name] / best - 1)
        run["early good"] = run["early"] is not None and run["early"] <= run["abess"] * (1 + 1e-6)
        run["worse"] = run["end"] > run["abess"] * (1 + 1e-6)
        run["better"] = run["end"] < run["abess"] * (1 - 1e-6)
        run["tie"] = not (run["worse"] or run["better"])
        run["without noise"] = run["data"] == "Bertsimas"
    page = Page(NAME, globals(), runs=runs)
    page.key("runs", *CELL, "limit")
    page.part("runs", len(runs), len(tasks(False)))
    page.values(farthest=max(runs, key=lambda run: run["end_above"]))
    return page.values(cells=rows_of(runs, CELL))
