"""How often FSV, FSS and FSB find the optimum of FS (7), on instances whose supports can all be tried.

    python -m benchmarks concave_optimum           # five instances: about a minute
    python -m benchmarks concave_optimum --full    # twenty

One task is one instance with eight standardised Gaussian features and 60 samples. Three features determine the label,
except for a tenth of the labels. scipy computes the optimum of (5) for each of the 256 supports from the data alone.
The selection of a method is evaluated by (7) after the refit.
"""

import itertools
import time

import numpy as np
import pandas as pd
from scipy.optimize import linprog

import fsmodels as fs
from benchmarks.harness.page import Page
from benchmarks.papers.bradley.tasks import selected_in

NAME, PROTOCOL, KEY = "concave_optimum", 1, ("protocol", "instance")
FEATURES, SAMPLES, STARTS = 8, 60, 5
PENALTIES = (0.02, 0.05, 0.1, 0.2)
SHARE, OVER_ALL = "{mean:.0%} ± {se:.0%}", {"lambda": "all"}
REACHED = 1e-7  # largest difference of equal values of (7)
AGREES = 1e-6  # largest difference between the optimum of scip and that of the enumeration


def drawn(seed):
    """Return the random instance of a seed."""
    random = np.random.default_rng([seed, FEATURES, SAMPLES])
    X = random.standard_normal((SAMPLES, FEATURES))
    side = X[:, :3] @ random.choice([-1.0, 1.0], 3) + 0.3 * random.standard_normal(SAMPLES)
    y = np.where(side > 0, 1.0, -1.0)
    y[random.random(SAMPLES) < 0.1] *= -1
    return fs.Dataset.from_arrays(X, y, name=f"small{seed}").scaled("standard")


def errors_of_supports(data):
    """Return the optimum of (5) for every set of features."""
    y, found = data.y, {}
    share = np.where(y > 0, 1 / (y > 0).sum(), 1 / (y < 0).sum())
    for size in range(len(data.features) + 1):
        for chosen in itertools.combinations(range(len(data.features)), size):
            side = np.column_stack([y[:, None] * data.X[:, chosen], -y])  # y (w.x - gamma) + slack >= 1
            answer = linprog(
                np.concatenate([np.zeros(size + 1), share]),
                A_ub=-np.hstack([side, np.eye(len(y))]),
                b_ub=-np.ones(len(y)),
                bounds=[(None, None)] * (size + 1) + [(0, None)] * len(y),
                method="highs",
            )
            if answer.status != 0:
                raise RuntimeError(answer.message)
            found[frozenset(data.features[k] for k in chosen)] = float(answer.fun)
    return found


def calls():
    """Return (method, start) -> builder, driver and options, for each random start."""
    table = {}
    for name, build in (("FSV", fs.concave.fsv), ("FSS", fs.concave.fss)):
        random = [(build, "sla", {"starts": 1, "linear_start": False, "seed": k}) for k in range(STARTS)]
        table[name, "LP start"] = [(build, "sla", {"starts": 0})]
        table[name, "one random start"] = random
        table[name, "default starts"] = [(build, "sla", {})]
    build = fs.concave.fsb
    table["FSB", "one random start"] = [(build, "alternating", {"starts": 1, "seed": k}) for k in range(STARTS)]
    table["FSB", "default starts"] = [(build, "alternating", {})]
    return table


def work(protocol, instance):
    """Run every method at every lambda on one instance; a run is (method, start, value of (7), number of features)."""
    begun, data = time.process_time(), drawn(instance)
    errors = errors_of_supports(data)
    exact, models, rows = fs.concave.fs(data, penalty=0.02), {}, []
    for penalty in PENALTIES:
        values = {s: (1 - penalty) * e + penalty * len(s) for s, e in errors.items()}
        best = min(values, key=values.get)
        exact.penalty.set_value(penalty)
        scip = fs.solve(exact, "scip", gap=1e-9, threads=1)
        runs = []
        for (method, start), group in calls().items():
            for build, driver, options in group:
                if method not in models:
                    models[method] = build(data, penalty=0.02)
                models[method].penalty.set_value(penalty)
                fs.solve(models[method], driver, **options)
                chosen = selected_in(models[method], data)
                runs.append([method, start, values[frozenset(chosen)], len(chosen)])
        record = {"penalty": penalty, "optimum": values[best], "features": len(best)}
        rows.append(record | {"scip": scip.objective, "scip_status": scip.status.value, "runs": runs})
    return {"rows": rows, "cpu_seconds": round(time.process_time() - begun, 2)}


def tasks(full):
    """Return one task for each instance."""
    return [{"protocol": PROTOCOL, "instance": k} for k in range(20 if full else 5)]


# ---- the page


def shares(entries):
    """Return the share of runs that reach the optimum, by instance, method, start and lambda ("all": over all)."""
    runs = [
        {"instance": entry["instance"], "method": method, "start": start, "lambda": penalty}
        | {"reached": value <= row["optimum"] + REACHED, "excess": value / row["optimum"] - 1}
        | {"below": row["optimum"] - value}
        for entry in entries
        for row in entry["rows"]
        for method, start, value, _ in row["runs"]
        for penalty in (f"{row['penalty']:g}", "all")
    ]
    below = [run for run in runs if run["below"] > REACHED]
    if below:
        raise RuntimeError(f"A run is below the optimum: {below[0]}.")
    groups = pd.DataFrame(runs).groupby(["instance", "method", "start", "lambda"], sort=False)
    means = groups.agg(runs=("reached", "size"), reached=("reached", "mean"), excess=("excess", "mean"))
    return means.reset_index().to_dict("records")


def page(log):
    """Return the page."""
    entries = [entry for entry in log.entries(*KEY) if entry.get("protocol") == PROTOCOL]
    proofs = [
        {"instance": entry["instance"], "lambda": row["penalty"], "features": row["features"]}
        | {"agrees": row["scip_status"] == "optimal" and abs(row["scip"] - row["optimum"]) <= AGREES}
        for entry in entries
        for row in entry["rows"]
    ]
    page = Page(NAME, globals(), runs=shares(entries), proofs=proofs)
    page.key("runs", "instance", "method", "start", "lambda")
    page.key("proofs", "instance", "lambda")
    page.part("instances", len(entries), len(tasks(full=True)), f"python -m benchmarks {NAME} --full")
    methods = [([method, start], {"method": method, "start": start}) for method, start in calls()]
    defaults = {"start": "default starts", **OVER_ALL}
    names = {method for method, _ in calls()}
    first = max(sorted(names), key=lambda name: page.number("reached", "{mean:.6f}", method=name, **defaults))
    page.values(defaults=defaults, first=first, others=sorted(names - {first}))
    return page.values(methods=methods, texts=[f"{penalty:g}" for penalty in PENALTIES])
