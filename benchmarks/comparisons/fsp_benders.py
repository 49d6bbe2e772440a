"""Benders and branch-and-cut on the model of Aytug 2015: every form, and a limit on the cost of the features.

python -m benchmarks fsp_benders            # five minutes
python -m benchmarks fsp_benders --full     # more limits on the cost: half an hour
python -m benchmarks fsp_benders --page     # only the page, from the log
"""

import statistics

import numpy as np

import fsmodels as fs
from benchmarks.harness.cpu_limit import limited_solve
from benchmarks.harness.page import Page
from benchmarks.harness.records import grouped, rows_of, with_reference
from benchmarks.methods.heuristics import warm_up

NAME, PROTOCOL = "fsp_benders", 1
GAP, LIMIT, REPEATS = 1e-4, 120.0, 5
TREE, BENDERS, PLAIN = "branch-and-cut", "benders", "benders, plain"
CONTENDERS = {TREE: {}, BENDERS: {}, PLAIN: {"in_out": False}}
SIZES = {"cleveland": 4, "wdbc": 3}
BUDGETS, MORE_BUDGETS, SEEDS = (20,), (10, 20, 40), range(3)
PACKAGES = ("fsmodels", "pyomo", "numpy", "scipy", "highspy")
FACTS = {"gap": GAP, "CPU limit (s)": LIMIT}
PROBLEM = ("data", "M", "budget", "seed")
TASK = (*PROBLEM, "form", "contender", "protocol")


def tasks(full):
    sizes = [(data, M, None, 0, form) for data, M in SIZES.items() for form in fs.fsp.FORMS]
    costs = [
        ("wdbc", None, budget, seed, "perspective") for budget in (MORE_BUDGETS if full else BUDGETS) for seed in SEEDS
    ]
    return [
        dict(zip(TASK, (*cell, contender, PROTOCOL), strict=True)) for cell in sizes + costs for contender in CONTENDERS
    ]


def model_of(data, M, budget, seed, form):
    """Return FSP-M with C = 1, and at most M features or a budget for the cost of the features."""
    record = fs.load_dataset(data).scaled("standard")
    model = fs.fsp.fsp_m(record, max_features=M or record.n_features, C=1.0, form=form)
    if budget is not None:
        costs = np.random.default_rng(seed).integers(1, 10, record.n_features).tolist()
        model.budget = fs.side_constraints.budget(model, dict(zip(record.features, costs, strict=True)), budget)
    return model


def work(data, M, budget, seed, form, contender, protocol):
    """Solve one model; short runs are repeated."""
    warm_up(TREE)
    warm_up(BENDERS)
    seconds = []
    while len(seconds) < REPEATS and sum(seconds) < 2.0:
        model = model_of(data, M, budget, seed, form)
        found, record = limited_solve(model, contender.split(",")[0], LIMIT, gap=GAP, **CONTENDERS[contender])
        seconds.append(record["cpu"])
    steps = found.details.get("nodes") or len(found.iterations)
    proven = found.status.value == "optimal"
    return record | {"cpu": statistics.median(seconds), "repeats": len(seconds), "proven": proven, "steps": steps}


def evaluate_runs(runs):
    """Add the ratio to the perspective form, and whether a bound or a proof contradicts another run."""
    for run, perspective in with_reference(runs, ("data", "M", "contender"), form="perspective"):
        run["ratio"] = run["cpu"] / perspective["cpu"] if run["M"] else None
    for group in grouped(runs, PROBLEM):
        least = min(run["objective"] for run in group)
        for run in group:
            false_proof = run["proven"] and run["objective"] > least * (1 + 2 * GAP)
            run["wrong"] = run["bound"] > least * (1 + 1e-6) or false_proof
    return runs


def page(log):
    """Return the page."""
    runs = evaluate_runs(log.entries(*TASK))
    page = Page(NAME, globals(), runs=runs)
    page.key("runs", *TASK[:-1])
    page.part("runs", len(runs), len(tasks(False)))
    fields = ("data", "M", "form")
    forms = [dict(zip(fields, (*size, form), strict=True)) for size in SIZES.items() for form in fs.fsp.FORMS]
    budgets = [run for run in runs if run["budget"] is not None]
    costs = rows_of(sorted(budgets, key=lambda run: (run["budget"], run["seed"])), ("data", "budget", "seed"))
    problems = grouped(runs, PROBLEM)
    faster = sum(all(map(tree_is_faster, grouped(problem, ["form"]))) for problem in problems)
    nodes = [{run["steps"] for run in problem if run["contender"] == TREE} for problem in problems]
    page.values(faster=f"{faster} of {len(problems)}", same=all(len(counts) == 1 for counts in nodes))
    page.values(tables=len({run["data"] for run in runs}), wrong=sum(run["wrong"] for run in runs))
    return page.values(forms=rows_of(forms, fields), costs=costs)


def tree_is_faster(runs):
    """Return True if branch-and-cut takes less time than Benders on one form of a problem."""
    seconds = {run["contender"]: run["cpu"] for run in runs}
    return seconds.get(TREE, np.inf) < seconds.get(BENDERS, 0.0)
