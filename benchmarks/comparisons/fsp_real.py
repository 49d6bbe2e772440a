"""Exact feature selection on real tables (FSP-M): proofs in CPU seconds, compared with SCIP and all supports.

python -m benchmarks fsp_real            # wdbc, ionosphere and cleveland at C = 1 and 10: fifteen minutes
python -m benchmarks fsp_real --full     # all sets of at most 60 features and C, also Gurobi's tree: hours
python -m benchmarks fsp_real --page     # only the page, from the log
"""

import functools
import itertools
import math
import time
import warnings

import numpy as np

import fsmodels as fs
from benchmarks.harness.log import script
from benchmarks.harness.page import Cell, Page
from fsmodels.models.fsp.oracle import SvmOracle

NAME, PROTOCOL = "fsp_real", 1
GAP, ROUNDING, MOST, LIMIT = 1e-4, 1e-6, 200_000, 30.0
PART, MORE = ["cleveland", "ionosphere", "wdbc"], ["bupa", "german_numeric", "sonar", "spambase", "wpbc24"]
SIZES, PRICES, MORE_PRICES = (3, 5, 10), (1.0, 10.0), (0.1,)
PACKAGES = ("fsmodels", "pyomo", "numpy", "scipy", "highspy", "pyscipopt", "gurobipy")
OURS, SCIP, LAZY, ALL = "ours", "SCIP", "Gurobi lazy", "all supports"


def by_solver(solver, form):
    def run(data, C, M):
        model = fs.fsp.fsp_m(data, max_features=M, C=C, form=form)
        start = time.process_time()
        try:
            found = fs.solve(model, solver, gap=GAP, time_limit=LIMIT, threads=1)
        except fs.errors.Error as error:  # not installed, or beyond its licence
            return print(error)
        used = time.process_time() - start
        return {
            "cpu": used, "wall": found.seconds, "objective": found.objective, "bound": found.bound,
            "status": found.status.value, "nodes": found.details.get("nodes"),
        }  # fmt: skip

    return run


def by_enumeration(data, C, M):
    oracle, best = SvmOracle(data.X, data.y, C), math.inf
    start, wall = time.process_time(), time.perf_counter()
    for support in itertools.combinations(range(data.n_features), M):
        sigma = np.zeros(data.n_features)
        sigma[list(support)] = 1.0
        best = min(best, oracle.solve(sigma, tolerance=GAP / 10).value)
        if time.process_time() - start > LIMIT:
            return {"cpu": LIMIT, "objective": best, "bound": None, "status": "feasible"}
    used = time.process_time() - start
    return {"cpu": used, "wall": time.perf_counter() - wall, "objective": best, "bound": best, "status": "optimal"}


CONTENDERS = {
    OURS: by_solver("branch-and-cut", "perspective"),
    SCIP: by_solver("scip", "big-m"),
    LAZY: by_solver("single-tree", "perspective"),
    ALL: by_enumeration,
}


@functools.cache
def features(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.DataWarning)  # a constant column
        return fs.load_dataset(name).n_features


def tasks(full):
    names, prices = (PART + MORE, MORE_PRICES + PRICES) if full else (PART, PRICES)
    return [
        {"data": name, "C": C, "M": M, "contender": contender, "limit": LIMIT, "protocol": PROTOCOL}
        for name, C, M in itertools.product(names, prices, SIZES)
        for contender in CONTENDERS
        if features(name) > M
        and (contender != LAZY or full)
        and (contender != ALL or math.comb(features(name), M) < MOST)
    ]


@functools.cache
def compiled():
    """Compile, or read from disk, before the clock runs."""
    fs.solve(fs.fsp.fsp_m(fs.load_dataset("wdbc").scaled("standard"), max_features=5, C=1.0), time_limit=100)


def work(data, C, M, contender, limit, protocol):
    """Let one contender solve one cell."""
    warnings.simplefilter("ignore")
    compiled()
    return CONTENDERS[contender](fs.load_dataset(data).scaled("standard"), C, M)


def judged(runs, cell=("data", "C", "M")):
    """Add to the runs their gap to the best known objective of the cell, and whether a bound is above it."""
    best = {}
    for run in runs:
        key = tuple(run.get(name) for name in cell)
        if run["objective"] is not None:
            best[key] = min(best.get(key, math.inf), run["objective"])
    for run in runs:
        known, bound = best.get(tuple(run.get(name) for name in cell)), run["bound"]
        run["gap"] = None if known is None or bound is None else max(0.0, known - bound) / known
        run["above"] = None if known is None or run["objective"] is None else max(0.0, run["objective"] / known - 1)
        run["wrong"] = bound is not None and known is not None and bound > known * (1 + ROUNDING)
        run["proven"] = run["status"] == "optimal" and not run["wrong"]
        run["charged"] = None if run["cpu"] is None else max(0.01, run["cpu"])
    return runs


def page(log):
    """Write the page."""
    runs = judged(log.entries("data", "C", "M", "contender", "limit", "protocol"))
    told = Page(
        NAME, "Exact selection on real tables, compared with SCIP and the enumeration of all supports", runs=runs
    )
    told.key("runs", "data", "C", "M", "contender")
    names = [name for name in CONTENDERS if any(run["contender"] == name for run in runs)]
    proven = {name: told.say("runs", "proven", "{total:.0f} of {n}", {"contender": name}) for name in names}
    wrong, widest = sum(run["wrong"] for run in runs), told.say("runs", "gap", "{most:.0%}", {"contender": SCIP})
    ours = told.say("runs", "cpu", "{least:.2f} to {most:.1f}", {"contender": OURS, "proven": True})
    spent = told.say("runs", "cpu", "{least:.0f} to {most:.0f} s", {"contender": SCIP, "proven": False})
    told.answer(
        f"Branch-and-cut proves {proven[OURS]} cells in {ours} CPU seconds. SCIP on the whole model proves "
        f"{proven[SCIP]}; on the other cells it ends at {LIMIT:g} s of wall-clock time ({spent} of CPU) with gaps of "
        f"up to {widest}. The enumeration of all supports, if there are fewer than {MOST:,}, proves {proven[ALL]}. "
        f"{'No bound' if not wrong else f'{wrong} bounds'} of any method turned out wrong."
    )
    told.part("cells", len(runs), max(len(runs), len(tasks(False))), f"python -m benchmarks {NAME}")
    told.section(
        "Summary",
        "Geometric means of CPU seconds. A run without a proof is counted with the seconds that it used, although a "
        "proof would take longer. *Wrong* is a bound above the best known objective.",
    )
    summary = [("proven", "{total:.0f} of {n}"), ("charged", "{gmean:.2f}"), ("wrong", "{total:.0f}")]
    rows = [[name, *(Cell("runs", v, form, {"contender": name}) for v, form in summary)] for name in names]
    told.table(["contender", "proven", "mean CPU s", "wrong"], rows)
    told.section(
        "Cells",
        "The columns are: CPU seconds; the gap between the bound and the best known objective of the cell (the "
        "enumeration has no bound before its end); the distance of the incumbent above this objective.",
    )
    shown = [("cpu", "{mean:.2f}"), ("gap", "{mean:.2%}"), ("above", "{mean:.1%}")]
    rows = []
    for data, C, M in dict.fromkeys((run["data"], run["C"], run["M"]) for run in runs):
        here = {"data": data, "C": C, "M": M}
        there = [Cell("runs", v, form, here | {"contender": name}) for name in names for v, form in shown]
        rows.append([data, f"{C:g}", M, *there])
    told.table(["data", "C", "M", *(title for name in names for title in (f"{name} s", "gap", "above"))], rows)
    lazy = """Gurobi lazy: `"single-tree"`, the same cuts as lazy constraints of Gurobi's tree; """ * (LAZY in names)
    told.section(
        "Protocol",
        "The model is FSP-M, the soft-margin SVM on at most M features, on standardised sets, with a relative gap of "
        f'1e-4 and one thread. Ours: `fs.solve(model, "branch-and-cut")`; SCIP: the big-M form as a whole; {lazy}'
        "all supports: our subproblem at each support. Seconds are CPU seconds of the process without building the "
        f"model; the oracle is loaded before. The limit is wall-clock time ({LIMIT:g} s, which is fewer CPU seconds on "
        "a busy machine); for all supports it is CPU time.",
    )
    told.write({})


def main():
    script(NAME, __doc__, tasks, work, page, *PACKAGES, gap=GAP, **{"time limit (s)": LIMIT})
