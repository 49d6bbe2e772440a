"""Benders and branch-and-cut on the model of the first paper: every form, and a limit on the cost of the features.

python -m benchmarks fsp_benders            # five minutes
python -m benchmarks fsp_benders --full     # more limits on the cost: half an hour
python -m benchmarks fsp_benders --page     # only the page, from the log
"""

import functools
import statistics
import time
import warnings

import numpy as np

import fsmodels as fs
from benchmarks.harness.cpu_limit import cpu_limit
from benchmarks.harness.log import script
from benchmarks.harness.page import Cell, Page

NAME, PROTOCOL = "fsp_benders", 1
GAP, LIMIT, REPEATS = 1e-4, 120.0, 5
TREE, BENDERS, PLAIN = "branch-and-cut", "benders", "benders, plain"
CONTENDERS = {TREE: {}, BENDERS: {}, PLAIN: {"in_out": False}}
SIZES = {"cleveland": 4, "wdbc": 3}
BUDGETS, MORE_BUDGETS, SEEDS = (20,), (10, 20, 40), range(3)
TASK = ("data", "M", "budget", "seed", "form", "contender", "protocol")


def tasks(full):
    sizes = [(data, M, None, 0, form) for data, M in SIZES.items() for form in fs.fsp.FORMS]
    costs = [
        ("wdbc", None, budget, seed, "perspective") for budget in (MORE_BUDGETS if full else BUDGETS) for seed in SEEDS
    ]
    return [
        dict(zip(TASK, (*cell, contender, PROTOCOL), strict=True)) for cell in sizes + costs for contender in CONTENDERS
    ]


def model_of(data, M, budget, seed, form):
    """Return FSP-M with C = 1 and at most M features, or any number of features within a budget."""
    told = fs.load_dataset(data).scaled("standard")
    model = fs.fsp.fsp_m(told, max_features=M or told.n_features, C=1.0, form=form)
    if budget is not None:
        costs = np.random.default_rng(seed).integers(1, 10, told.n_features).tolist()
        model.budget = fs.side_constraints.budget(model, dict(zip(told.features, costs, strict=True)), budget)
    return model


@functools.cache
def first():
    """Load what the first solve loads, before the clock runs."""
    for contender in (TREE, BENDERS):
        fs.solve(model_of("cleveland", 2, None, 0, "perspective"), contender)


def work(data, M, budget, seed, form, contender, protocol):
    """Solve one model; short runs are repeated."""
    warnings.simplefilter("ignore")
    first()
    seconds = []
    while len(seconds) < REPEATS and sum(seconds) < 2.0:
        model = model_of(data, M, budget, seed, form)
        before = time.process_time()
        with cpu_limit(LIMIT) as limit:
            found = fs.solve(model, contender.split(",")[0], gap=GAP, threads=1, **CONTENDERS[contender])
        seconds.append(time.process_time() - before)
    return {
        "cpu": statistics.median(seconds),
        "repeats": len(seconds),
        "proven": found.status.value == "optimal",
        "stopped": limit.reached,
        "objective": found.objective,
        "bound": found.bound,
        "gap": found.gap,
        "steps": found.details.get("nodes") or len(found.iterations),
    }


def page(log):
    """Write the page."""
    runs = log.entries(*TASK)
    plain = {(run["data"], run["contender"]): run["cpu"] for run in runs if run["form"] == "perspective" and run["M"]}
    best = {}
    for run in runs:
        run["ratio"] = run["cpu"] / plain[run["data"], run["contender"]] if run["M"] else None
        cell = (run["data"], run["M"], run["budget"], run["seed"])
        best[cell] = min(best.get(cell, np.inf), run["objective"])
    for run in runs:
        least = best[run["data"], run["M"], run["budget"], run["seed"]]
        run["wrong"] = run["bound"] > least * (1 + 1e-6) or (run["proven"] and run["objective"] > least * (1 + 2 * GAP))
    told = Page(NAME, "Benders and branch-and-cut on the model of the first paper", runs=runs)
    told.key("runs", *TASK[:-1])

    def say(value, shape, **where):
        return told.say("runs", value, shape, where)

    def seconds(contender):
        spent = [
            say("cpu", "{mean:.2f}", contender=contender, data=data, M=M, form="perspective")
            for data, M in SIZES.items()
        ]
        budgets = say("cpu", "{least:.1f} to {most:.1f}", contender=contender, M=None, budget=BUDGETS[0])
        return f"{spent[0]} s on cleveland (M = 4), {spent[1]} s on wdbc (M = 3) and {budgets} s on wdbc with a budget"

    wrong = sum(run["wrong"] for run in runs)
    told.answer(
        f"CPU seconds of branch-and-cut: {seconds(TREE)}; of Benders: {seconds(BENDERS)}. They prove "
        f"{say('proven', '{total:.0f} of {n}', contender=TREE)} and "
        f"{say('proven', '{total:.0f} of {n}', contender=BENDERS)} runs, the plain algorithm of the paper "
        f"{say('proven', '{total:.0f} of {n}', contender=PLAIN)}. By branch-and-cut no form takes more than "
        f"{say('ratio', '{most:.1f}', contender=TREE)} times the time of the perspective form. "
        f"{wrong or 'No'} bounds or proofs are wrong."
    )
    told.part("runs", len(runs), max(len(runs), len(tasks(False))), f"python -m benchmarks {NAME}")
    columns = [("cpu", "{mean:.2f}"), ("steps", "{mean:.0f}"), ("gap", "{mean:.2%}")]
    header = [title for name in CONTENDERS for title in (f"{name} s", "nodes" if name == TREE else "iterations", "gap")]
    told.section("At most M features", "CPU seconds, nodes or iterations, and the gap at the end.")

    def cells(where):
        return [Cell("runs", v, form, where | {"contender": name}) for name in CONTENDERS for v, form in columns]

    rows = [
        [data, M, form, *cells({"data": data, "M": M, "form": form})]
        for data, M in SIZES.items()
        for form in fs.fsp.FORMS
    ]
    told.table(["data", "M", "form", *header], rows)
    told.section(
        "A limit on the cost of the features",
        "The costs are whole numbers drawn from 1 to 9 for each seed; the features selected cost at most the budget.",
    )
    limits = dict.fromkeys((run["budget"], run["seed"]) for run in runs if run["budget"] is not None)
    rows = [["wdbc", b, str(seed), *cells({"data": "wdbc", "budget": b, "seed": seed})] for b, seed in sorted(limits)]
    told.table(["data", "budget", "seed", *header], rows)
    told.section(
        "Protocol",
        f"The model is FSP-M with C = 1 on standardised sets; gap {GAP:g}, one thread. Benders is "
        '`fs.solve(model, "benders")`; *plain* has `in_out=False`, cuts at the optima of the master only, as in Aytug '
        f"2015, but without its limit on iterations. Runs end after {LIMIT:g} CPU seconds with their incumbent and "
        f"bound. Seconds are CPU seconds of the process, all threads, without building the model: the median of at "
        f"most {REPEATS} repeats of short runs. Each driver has solved another model before. A bound is wrong if it is "
        "above the best known objective; a proof is wrong if another run has a lower objective.",
    )
    told.write({})


def main():
    packages = ("fsmodels", "pyomo", "numpy", "scipy", "highspy")
    script(NAME, __doc__, tasks, work, page, *packages, gap=GAP, **{"CPU limit (s)": LIMIT})
