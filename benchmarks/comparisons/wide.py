"""Growth of branch-and-cut with features, samples, the limit M and C, compared with abess and the path of l1.

    python -m benchmarks wide            # 60 CPU s per run: half an hour
    python -m benchmarks wide --full     # larger sizes, 300 CPU s per run
    python -m benchmarks wide --page     # only the page, from the log

abess needs ``pip install abess``.
"""

import time
from pathlib import Path

import numpy as np

import fsmodels as fs
from benchmarks.comparisons import sparse_rivals
from benchmarks.comparisons.best_known import GAP, evaluate_runs
from benchmarks.harness.child_process import peak_memory
from benchmarks.harness.cpu_limit import limited_solve
from benchmarks.harness.page import Page
from benchmarks.methods.heuristics import warm_up
from fsmodels.datasets.synthetic import bertsimas

NAME, PROTOCOL = "wide", 2
LIMIT, FULL_LIMIT, RELEVANT = 60.0, 300.0, 10
OURS = "branch-and-cut"
MEMORY = Path("/proc/self/clear_refs")
HEURISTICS = {"abess": sparse_rivals.abess, "l1": sparse_rivals.l1}
CELL = ("data", "n", "p", "M", "C")
PACKAGES = ("fsmodels", "pyomo", "numpy", "scipy", "highspy", "scikit-learn", "abess")
FACTS = {"CPU limit (s)": LIMIT, "CPU limit with --full (s)": FULL_LIMIT}
CELLS = {  # varied quantity -> cells
    "features": [("gaussian", 500, p, 10, 0.01) for p in (1_000, 10_000, 100_000)],
    "C": [("gaussian", 500, 100_000, 10, C) for C in (0.001, 0.1)],
    "samples": [("bertsimas", n, 1_000, 10, None) for n in (500, 1_000, 2_000)],
    "features, correlated": [("bertsimas", 2_000, 10_000, 10, None)],
    "M": [("gaussian", 500, 1_000, M, 0.01) for M in (5, 20)],
    "long tables": [("gaussian", 200_000, 30, 5, 1.0)],
}
MORE = {
    "features, correlated": [("bertsimas", 2_000, 100_000, 10, None)],
    "long tables": [("gaussian", 1_000_000, 30, 5, 1.0)],
}


def tasks(full):
    cells = [cell for group in (CELLS, MORE)[: 1 + full] for part in group.values() for cell in part]
    end = {"limit": FULL_LIMIT if full else LIMIT, "protocol": PROTOCOL}
    return [
        dict(zip(CELL, cell, strict=True)) | {"contender": name} | end for cell in cells for name in (OURS, *HEURISTICS)
    ]


def data_of(data, n, p, M):
    """Return the training set: generated with M relevant features, or Gaussian with ten of them and noise."""
    if data == "bertsimas":
        return bertsimas(n, n_features=p, n_relevant=M, seed=n + M).train.scaled("none")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    noise = rng.normal(size=n)
    return fs.Dataset.from_arrays(X, np.where(X[:, :RELEVANT].sum(axis=1) + noise > 0, 1.0, -1.0)).scaled("none")


def work(data, n, p, M, C, contender, limit, protocol):
    """Run one method on one cell."""
    if MEMORY.exists():
        MEMORY.write_text("5")  # resets the peak memory of this process
    train = data_of(data, n, p, M)
    C = fs.datasets.synthetic.bertsimas_price(train, M) if C is None else C
    if contender != OURS:
        found = HEURISTICS[contender](train, M, C, limit)
        return {name: found[name] for name in ("cpu", "objective", "bound", "status")} | {"memory": peak()}
    warm_up(form="rmp")
    before = time.process_time()
    model = fs.fsp.fsp_m(train, max_features=M, C=C, intercept=False, form="rmp")
    built = time.process_time() - before
    _, record = limited_solve(model, OURS, limit, gap=GAP)
    return record | {"cpu": built + record["cpu"], "build": built, "memory": peak()}


def peak():
    """Return the peak memory of this process since the reset in GB; None if it cannot be reset."""
    return peak_memory() * 1e6 / 2**30 if MEMORY.exists() else None


def page(log):
    """Return the page."""
    runs = evaluate_runs(log.entries(*CELL, "contender", "limit", "protocol"), CELL)
    page = Page(NAME, globals(), runs=runs)
    page.key("runs", *CELL, "contender", "limit")
    page.part("runs", len(runs), len(tasks(False)))
    page.facts = {"gap": GAP}
    there = {tuple(run[name] for name in CELL) for run in runs}
    cells = [
        ([grows, *("" if value is None else str(value) for value in cell)], dict(zip(CELL, cell, strict=True)))
        for grows in CELLS
        for cell in [*CELLS[grows], *MORE.get(grows, [])]
        if cell in there
    ]
    return page.values(cells=cells, wrong=sum(run["wrong"] for run in runs))
