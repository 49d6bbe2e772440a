"""GMEB with a budget of features: cutting planes with MILPs and SCIP on the whole model, by CPU time.

python -m benchmarks gmeb_rows             # three sets, one pair of (R+, R-), two limits: some minutes
python -m benchmarks gmeb_rows --full      # also a second pair and a third limit
python -m benchmarks gmeb_rows --page      # only the page, from the log
"""

import time
from itertools import product

import numpy as np

import fsmodels as fs
from benchmarks.harness.page import Cell, Page

NAME, PROTOCOL = "gmeb_rows", 1
SETS = ["wdbc", "ionosphere", "wpbc24"]
PAIRS, MORE_PAIRS = [(2.0, 2.0)], [(2.0, 2.0), (1.0, 3.0)]
SHARES, MORE_SHARES = [0.6, 0.3], [0.6, 0.45, 0.3]
OURS, PEER = "cutting-plane", "scip"
GAP, LIMIT, SEED = 1e-4, 300.0, 1
PACKAGES = ("pyomo", "numpy", "scipy", "highspy", "pyscipopt", "fsmodels")
FACTS = {"gap": GAP, "seed": SEED, "time limit (s)": LIMIT}


def build(data, pair, cost, limit):
    """Return the model with a budget."""
    model = fs.gmeb.primal(data, R_plus=pair[0], R_minus=pair[1], sigma=True)
    model.budget = fs.side_constraints.budget(model, cost, limit)
    return model


def tasks(full):
    pairs, shares = (MORE_PAIRS, MORE_SHARES) if full else (PAIRS, SHARES)
    return [
        {"data": name, "R_plus": plus, "R_minus": minus, "share": share, "protocol": PROTOCOL}
        for name, (plus, minus), share in product(SETS, pairs, shares)
    ]


def work(data, R_plus, R_minus, share, protocol):
    """Solve one instance by both solvers."""
    data = fs.load_dataset(data).scaled("standard")
    rng = np.random.default_rng(SEED)
    cost = dict(zip(data.features, rng.integers(1, 10, len(data.features)).tolist(), strict=True))
    free = fs.solve(fs.gmeb.primal(data, R_plus=R_plus, R_minus=R_minus))
    limit = round(share * sum(cost[j] for j in free.selected))
    record = {"limit": limit, "without a budget": {"objective": free.objective, "features": len(free.selected)}}
    for solver in (OURS, PEER):
        model = build(data, (R_plus, R_minus), cost, limit)
        start, wall = time.process_time(), time.perf_counter()
        found = fs.solve(model, solver, gap=GAP, time_limit=LIMIT)
        seconds = {"cpu": time.process_time() - start, "seconds": time.perf_counter() - wall}
        value = {"status": found.status.value, "objective": found.objective, "bound": found.bound}
        record[solver] = seconds | value | {"features": len(found.selected or [])}
    return record


def page(log):
    """Return the page."""
    names = ("data", "R_plus", "R_minus", "share")
    runs = log.entries(*names, "protocol")
    for run in runs:
        run["ratio"] = run[PEER]["cpu"] / run[OURS]["cpu"]
        for solver in (OURS, PEER):
            run[solver]["proven"] = run[solver]["status"] == "optimal"
    page = Page(NAME, globals(), runs=runs)
    page.key("runs", *names)
    page.part("seconds", len(runs), len(tasks(False)))
    rows = []
    for run in runs:
        here = {name: run[name] for name in names}
        whole = ("limit", "without a budget.features")
        limit, without = (Cell("runs", value, "{mean:.0f}", here) for value in whole)
        pair, ratio = f"{run['R_plus']:g}, {run['R_minus']:g}", Cell("runs", "ratio", "{mean:.1f}", here)
        both = [
            Cell("runs", f"{solver}.{value}", form, here)
            for value, form in (("objective", "{mean:.4f}"), ("cpu", "{mean:.2f}"), ("features", "{mean:.0f}"))
            for solver in (OURS, PEER)
        ]
        rows.append([run["data"], pair, [limit, f" ({run['share']:.0%})"], *both, without, ratio])
    rows += [["all", "", "", *[""] * 7, Cell("runs", "ratio", "{gmean:.1f}")]]
    return page.values(rows=rows, runs=len(runs), sets=len({run["data"] for run in runs}))
