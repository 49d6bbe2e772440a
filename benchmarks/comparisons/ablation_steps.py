"""What the parts of the two-layer method and of the alternating method contribute, by CPU time and steps.

    python -m benchmarks ablation_steps          # some ten minutes
    python -m benchmarks ablation_steps --full   # also larger budgets and costs
    python -m benchmarks ablation_steps --page   # only the page, from the log

A variant replaces functions of the driver during its runs, or has an option of the driver.
"""

import contextlib
import functools
import time
import warnings
from statistics import geometric_mean
from unittest import mock

import fsmodels as fs
from benchmarks.harness.cpu_limit import cpu_limit
from benchmarks.harness.differences import listed
from benchmarks.harness.page import Page
from solvers.drivers.alternating.oracle_descent import Extrapolation
from solvers.drivers.two_layer import driver as two_layer
from solvers.drivers.two_layer import saddle_point

NAME, PROTOCOL, LIMIT, GAP, SEED = "ablation_steps", 1, 60.0, 1e-3, 0
CELL = ("part", "data", "model", "B", "C")
TABLES = ("wdbc", "spambase", "musk1")
KERNEL_TABLES = ("sonar", "ionosphere", "wdbc", "NDCC")
PACKAGES = ("fsmodels", "pyomo", "numpy", "scipy", "scikit-learn", "clarabel")
FACTS = {"gap": GAP, "CPU limit (s)": LIMIT}
COMPLETE, AS_PRINTED = "complete", "as printed in the paper"


def nothing(*arguments, **options):
    """Replace a function that has no result."""


def no_points(*arguments):
    """Replace a function that returns points."""
    return []


TWO_LAYER = {  # variant -> replaced functions and constants
    COMPLETE: [],
    AS_PRINTED: [],
    "without line search for points": [(two_layer.TwoLayer, "_line", no_points)],
    "without rows and columns ahead": [(two_layer, "AHEAD", 0.0)],
    "without early columns": [(two_layer, "LAG", float("inf"))],
    "without removal of rows and columns": [(two_layer.TwoLayer, "_drop", nothing)],
    "Clarabel for step 1": [(saddle_point, "solve_saddle", nothing)],
}
ALTERNATING = {
    COMPLETE: [],
    "without extrapolation": [(Extrapolation, "points", no_points)],
    "steps by the trust region": [],
}
OPTIONS = {AS_PRINTED: {"stabilised": False}, "steps by the trust region": {"method": "trust-newton"}}
PARTS = {"two-layer": TWO_LAYER, "alternating": ALTERNATING}


def tasks(full):
    cells = [
        ("two-layer", data, loss, B, C)
        for data in TABLES
        for loss in ("f1", "hamming")
        for B in ((5, 25) if full else (5,))
        for C in ((0.1, 1.0, 10.0) if full else (1.0,))
    ]
    cells += [("alternating", data, model, None, 1.0) for data in KERNEL_TABLES for model in ("ao-margin", "ao-efs")]
    return [
        dict(zip(CELL, cell, strict=True)) | {"variant": variant, "limit": LIMIT, "protocol": PROTOCOL}
        for cell in cells
        for variant in PARTS[cell[0]]
    ]


def problem(part, data, model, B, C):
    """Return the model of a cell, and the name of its driver."""
    train = fs.synthetic.ndcc(300, seed=SEED).train if data == "NDCC" else fs.load_dataset(data)
    train = train.scaled("standard")
    if part == "two-layer":
        return fs.multivariate.fsmulti(train, budget=B, C=C * len(train), loss=model), "two-layer"
    build = {"ao-margin": fs.kernel.ao_margin, "ao-efs": fs.kernel.ao_efs}[model]
    return build(train, C=C, penalty=0.01), "alternating"


def work(part, data, model, B, C, variant, limit, protocol):
    """Solve one cell by one variant."""
    warnings.simplefilter("ignore")
    warm_up(part)
    built, driver = problem(part, data, model, B, C)
    options = OPTIONS.get(variant, {}) | ({"gap": GAP} if part == "two-layer" else {})
    with contextlib.ExitStack() as stack:
        for owner, name, replacement in PARTS[part][variant]:
            stack.enter_context(mock.patch.object(owner, name, replacement))
        start = time.process_time()
        with cpu_limit(limit):
            found = fs.solve(built, driver, threads=1, seed=SEED, **options)
    return {
        "cpu": time.process_time() - start, "objective": found.objective, "bound": found.bound,
        "finished": found.stop_reason.value == "converged", "steps": len(found.iterations),
    }  # fmt: skip


@functools.cache
def warm_up(part):
    """Solve a small problem once, so that imports are not measured."""
    model, driver = problem(part, "bupa", "f1" if part == "two-layer" else "ao-efs", 3, 0.01)
    fs.solve(model, driver, iteration_limit=2)


def page(log):
    """Return the page."""
    runs = log.entries(*CELL, "variant", "limit", "protocol")
    complete = {tuple(run[name] for name in CELL): run for run in runs if run["variant"] == COMPLETE}
    for run in runs:
        alone = complete[tuple(run[name] for name in CELL)]
        both = run["finished"] and alone["finished"]
        run["ratio"] = run["cpu"] / alone["cpu"] if both else None
        run["more_steps"] = run["steps"] / alone["steps"] if both else None
        run["above"] = run["objective"] / alone["objective"] - 1 if run["objective"] is not None else None
    page = Page(NAME, globals(), runs=runs)
    page.key("runs", *CELL, "variant")
    page.part("runs", len(runs), len(tasks(False)))
    rows = {part: [([name], {"part": part, "variant": name}) for name in variants] for part, variants in PARTS.items()}
    cells = [run for run in runs if run["variant"] == COMPLETE]
    cells = [([run[name] for name in CELL], {name: run[name] for name in CELL}) for run in cells]
    parts = listed(
        [
            f"{ratio_of(runs, 'two-layer', name):.2f} ({name})"
            for name in TWO_LAYER
            if name.startswith("without") and any(run["variant"] == name for run in runs)
        ]
    )
    return page.values(runs=runs, rows=rows, cells=cells, parts=parts)


def columns():
    """Return the columns of the tables of variants."""
    form = "{gmean:.2f} ({least:.2f} to {most:.2f})"
    return [
        ("finished", "finished", "{total:.0f} of {n}"),
        ("CPU time", "ratio", form),
        ("steps", "more_steps", form),
        ("objective above", "above", "{most:.1e}"),
    ]


def less(runs, part, variant):
    """Return "less" if the complete method takes less time than the variant, otherwise "more"."""
    return "less" if ratio_of(runs, part, variant) > 1.0 else "more"


def ratio_of(runs, part, variant):
    """Return the geometric mean of the ratios of a variant; 0 if there are none."""
    found = [run["ratio"] for run in runs if (run["part"], run["variant"]) == (part, variant) and run["ratio"]]
    return geometric_mean(found) if found else 0.0
