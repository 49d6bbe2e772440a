"""Growth of branch-and-cut with features, samples, the limit M and C, compared with abess and the path of l1.

    python -m benchmarks wide            # 60 CPU s a run: half an hour
    python -m benchmarks wide --full     # larger sizes, 300 CPU s a run
    python -m benchmarks wide --page     # only the page, from the log

abess needs ``pip install abess``.
"""

import time
import warnings
from pathlib import Path

import numpy as np

import fsmodels as fs
from benchmarks.comparisons import sparse_rivals
from benchmarks.comparisons.fsp_real import judged
from benchmarks.harness.cpu_limit import cpu_limit
from benchmarks.harness.log import script
from benchmarks.harness.page import Cell, Page
from fsmodels.datasets.synthetic import bertsimas

NAME, PROTOCOL = "wide", 1
GAP, LIMIT, FULL_LIMIT, RELEVANT = 1e-4, 60.0, 300.0, 10
OURS = "branch-and-cut"
MEMORY = Path("/proc/self/clear_refs")
HEURISTICS = {"abess": sparse_rivals.abess, "l1": sparse_rivals.l1}
CELL = ("data", "n", "p", "M", "C")
CELLS = {  # what grows: the cells
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
    """Run one contender on one cell; None without its package."""
    warnings.simplefilter("ignore")
    reset_peak()
    train = data_of(data, n, p, M)
    C = fs.datasets.synthetic.bertsimas_price(train, M) if C is None else C
    if contender != OURS:
        try:
            found = HEURISTICS[contender](train, M, C, limit)
        except ImportError as error:
            return print(error)
        return {name: found[name] for name in ("cpu", "objective", "bound", "status")} | {"memory": peak()}
    fs.solve(
        fs.fsp.fsp_m(fs.load_dataset("wdbc").scaled("standard"), max_features=2, form="rmp")
    )  # loads what is needed
    before = time.process_time()
    model = fs.fsp.fsp_m(train, max_features=M, C=C, intercept=False, form="rmp")
    built = time.process_time() - before
    with cpu_limit(limit):
        found = fs.solve(model, OURS, gap=GAP, threads=1)
    return {
        "cpu": time.process_time() - before,
        "build": built,
        "objective": found.objective,
        "bound": found.bound,
        "gap": found.gap,
        "status": found.status.value,
        "nodes": found.details.get("nodes"),
        "memory": peak(),
    }


def reset_peak():
    """Let the peak memory of this process begin anew (Linux)."""
    if MEMORY.exists():
        MEMORY.write_text("5")


def peak():
    """Return the peak memory of this process since the reset in GB; None if it cannot be reset."""
    if not MEMORY.exists():
        return None
    lines = MEMORY.with_name("status").read_text().splitlines()
    return next(int(line.split()[1]) / 2**20 for line in lines if line.startswith("VmHWM"))


def page(log):
    """Write the page."""
    runs = judged(log.entries(*CELL, "contender", "limit", "protocol"), CELL)
    told = Page(NAME, "Wide and tall data", runs=runs)
    told.key("runs", *CELL, "contender", "limit")

    def say(value, form, **where):
        return told.say("runs", value, form, where)

    wrong = sum(run["wrong"] for run in runs)
    told.answer(
        f"Branch-and-cut proves {say('proven', '{total:.0f} of {n}', contender=OURS)} cells with up to 100,000 "
        f"features or 200,000 samples; the largest gap of the others is {say('gap', '{most:.0%}', contender=OURS)}. "
        f"Its selection costs at most {say('above', '{most:.1%}', contender=OURS)} more than the best known; that of "
        f"abess {say('above', '{most:.0%}', contender='abess')}, and that of l1 "
        f"{say('above', '{most:.0%}', contender='l1')}. {wrong or 'No'} bounds are wrong."
    )
    told.part("runs", len(runs), max(len(runs), len(tasks(False))), f"python -m benchmarks {NAME}")
    told.section(
        "What grows",
        "CPU seconds with the building of the model, nodes, gap, peak memory of the process in GB with the data, and "
        "the distance of the objective above the best known. C is that of Bertsimas et al. where none is given.",
    )
    columns = [("cpu", "{mean:.1f}"), ("nodes", "{mean:.0f}"), ("gap", "{mean:.1%}"), ("memory", "{mean:.1f}")]
    columns += [("above", "{mean:.1%}")]
    header = ["cpu s", "nodes", "gap", "GB", "above"]
    header += [f"{name} {what}" for name in HEURISTICS for what in ("cpu s", "above")]
    rows = []
    for grows in CELLS:
        for cell in [*CELLS[grows], *MORE.get(grows, [])]:
            where = dict(zip(CELL, cell, strict=True))
            if not any(all(run[name] == value for name, value in where.items()) for run in runs):
                continue
            ours = [Cell("runs", value, form, where | {"contender": OURS}) for value, form in columns]
            theirs = [
                Cell("runs", value, form, where | {"contender": name})
                for name in HEURISTICS
                for value, form in (("cpu", "{mean:.1f}"), ("above", "{mean:.1%}"))
            ]
            rows.append([grows, *("" if value is None else str(value) for value in cell), *ours, *theirs])
    told.table(["what grows", *CELL, *header], rows)
    told.section(
        "Protocol",
        "The model is FSP-M without an intercept, with the hinge loss and rows in reduced form (rmp); gap 1e-4, one "
        f"thread. A run ends after {LIMIT:g} CPU seconds ({FULL_LIMIT:g} with --full) with its incumbent and bound. "
        "*gaussian*: independent normal features, labels by the sum of ten of them and normal noise. *bertsimas*: "
        "the generator of the package. abess is its logistic regression with M features, l1 the first C of a "
        "path of liblinear with M features; the hinge loss of their features is evaluated by our oracle.",
    )
    told.write({"gap": GAP})


def main():
    script(NAME, __doc__, tasks, work, page, "fsmodels", "pyomo", "numpy", "scipy", "highspy", "scikit-learn", "abess",
           **{"CPU limit (s)": LIMIT, "CPU limit with --full (s)": FULL_LIMIT})  # fmt: skip
