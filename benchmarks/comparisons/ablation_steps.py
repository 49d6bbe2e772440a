"""What the parts of the two-layer method and of the alternating method contribute, by CPU time and steps.

    python -m benchmarks ablation_steps          # some ten minutes
    python -m benchmarks ablation_steps --full   # also larger budgets and costs
    python -m benchmarks ablation_steps --page   # only the page, from the log

A variant replaces functions of the driver during its runs, or has an option of the driver.
"""

import functools
from itertools import product

import fsmodels as fs
from benchmarks.comparisons.ablation import nothing, replaced
from benchmarks.harness.cpu_limit import limited_solve
from benchmarks.harness.differences import listed
from benchmarks.harness.page import NOTHING, Page
from benchmarks.harness.records import rows_of, with_reference
from solvers.drivers.alternating.oracle_descent import Extrapolation
from solvers.drivers.two_layer import driver as two_layer
from solvers.drivers.two_layer import saddle_point

NAME, PROTOCOL, LIMIT, GAP, SEED = "ablation_steps", 2, 60.0, 1e-3, 0
CELL = ("part", "data", "model", "B", "C")
TABLES = ("wdbc", "spambase", "musk1")
KERNEL_TABLES = ("sonar", "ionosphere", "wdbc", "NDCC")
PACKAGES = ("fsmodels", "pyomo", "numpy", "scipy", "scikit-learn", "clarabel")
FACTS = {"gap": GAP, "CPU limit (s)": LIMIT}
COMPLETE, AS_PRINTED = "complete", "as printed in the paper"


def no_points(*arguments):
    """Replace a function that returns points."""
    return []


TWO_LAYER = {  # variant -> replaced functions and constants
    COMPLETE: [],
    AS_PRINTED: [],
    "without line search for points": [(two_layer.TwoLayer, "_line", no_points)],
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
    budgets, costs = ((5, 25), (0.1, 1.0, 10.0)) if full else ((5,), (1.0,))
    cells = [*product(["two-layer"], TABLES, ("f1", "hamming"), budgets, costs)]
    cells += product(["alternating"], KERNEL_TABLES, ("ao-margin", "ao-efs"), [None], [1.0])
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
    warm_up(part)
    built, driver = problem(part, data, model, B, C)
    options = OPTIONS.get(variant, {}) | ({"gap": GAP} if part == "two-layer" else {})
    with replaced(PARTS[part][variant]):
        found, record = limited_solve(built, driver, limit, seed=SEED, **options)
    return record | {"finished": found.stop_reason.value == "converged", "steps": len(found.iterations)}


@functools.cache
def warm_up(part):
    """Solve a small problem once, so that imports are not measured."""
    model, driver = problem(part, "bupa", "f1" if part == "two-layer" else "ao-efs", 3, 0.01)
    fs.solve(model, driver, iteration_limit=2)


def page(log):
    """Return the page."""
    runs = log.entries(*CELL, "variant", "limit", "protocol")
    for run, alone in with_reference(runs, CELL, variant=COMPLETE):
        both = run["finished"] and alone["finished"]
        run["ratio"] = run["cpu"] / alone["cpu"] if both else None
        run["more_steps"] = run["steps"] / alone["steps"] if both else None
        run["above"] = run["objective"] / alone["objective"] - 1 if run["objective"] is not None else None
    page = Page(NAME, globals(), runs=runs)
    page.key("runs", *CELL, "variant")
    page.part("runs", len(runs), len(tasks(False)))
    rows = {part: [([name], {"part": part, "variant": name}) for name in variants] for part, variants in PARTS.items()}
    without = {
        name: ratio(page, "two-layer", name, "{gmean:.2f} on {n}") for name in TWO_LAYER if name.startswith("without")
    }
    parts = listed([f"{text} ({name})" for name, text in without.items() if not text.startswith(NOTHING)])
    return page.values(rows=rows, cells=rows_of(runs, CELL), parts=parts)


def ratio(page, part, variant, form="{gmean:.2f}"):
    """Return the geometric mean of the ratios of a variant."""
    return page.number("ratio", form, part=part, variant=variant)


def less(page, part, variant):
    """Return "less" if the complete method takes less time than the variant, otherwise "more"."""
    text = ratio(page, part, variant, "{gmean}")
    return "not known" if text == NOTHING else "less" if float(text) > 1.0 else "more"
