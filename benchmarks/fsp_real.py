"""Exact feature selection on real tables (FSP-M): what is proven in CPU seconds, beside peers, in one run.

    python benchmarks/fsp_real.py                # sets of at most 60 features, ours and SCIP, 30 s each: two hours
    python benchmarks/fsp_real.py --part         # wdbc, ionosphere and cleveland at C = 1 and 10: fifteen minutes
    python benchmarks/fsp_real.py --full         # all sets and contenders, 300 s each
    python benchmarks/fsp_real.py --resume       # goes on after an interruption

Cells: the shipped sets, standardised; M = 3, 5, 10 features and C = 0.1, 1, 10; relative gap 1e-4; one thread each.

- ours: ``fs.solve(model, "branch-and-cut")``. SCIP: the big-M form as a whole. Gurobi lazy: ``"single-tree"``.
- all supports: the fast subproblem at each of them, where there are fewer than 200,000.

Seconds are CPU seconds of the process, building left out; what numba compiles is on disk before the first cell. "gap"
is that between the bound and the best objective known of the cell. WRONG: a bound above it. Limits are of wall-clock
time, which on a busy machine is fewer CPU seconds.
"""

import argparse
import itertools
import json
import math
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import report

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the clone, not an installed package
import fsmodels as fs
from fsmodels.models.fsp.oracle import SvmOracle

GAP, ROUNDING, MOST = 1e-4, 1e-6, 200_000
SMALL = ["bupa", "cleveland", "german_numeric", "ionosphere", "sonar", "spambase", "wdbc", "wpbc24"]
PART = ["cleveland", "ionosphere", "wdbc"]
PACKAGES = ("fsmodels", "pyomo", "numpy", "scipy", "numba", "highspy", "pyscipopt", "gurobipy")
OURS, ALL = "ours", "all supports"


def by_solver(solver, form):
    def run(data, C, M, limit):
        model = fs.fsp.fsp_m(data, max_features=M, C=C, form=form)
        start = time.process_time()
        found = fs.solve(model, solver, gap=GAP, time_limit=limit, threads=1)
        used = time.process_time() - start
        return {
            "cpu": used, "wall": found.seconds, "objective": found.objective, "bound": found.bound,
            "status": found.status.value, "nodes": found.details.get("nodes"),
        }  # fmt: skip

    return run


def by_enumeration(data, C, M, limit):
    if math.comb(data.n_features, M) >= MOST:
        return None
    oracle, best = SvmOracle(data.X, data.y, C), math.inf
    start, wall = time.process_time(), time.perf_counter()
    for support in itertools.combinations(range(data.n_features), M):
        sigma = np.zeros(data.n_features)
        sigma[list(support)] = 1.0
        best = min(best, oracle.solve(sigma, tolerance=GAP / 10).value)
        if time.process_time() - start > limit:
            return {"cpu": limit, "objective": best, "bound": None, "status": "feasible"}
    used = time.process_time() - start
    return {"cpu": used, "wall": time.perf_counter() - wall, "objective": best, "bound": best, "status": "optimal"}


CONTENDERS = {
    OURS: by_solver("branch-and-cut", "perspective"),
    "SCIP": by_solver("scip", "big-m"),
    "Gurobi lazy": by_solver("single-tree", "perspective"),
    ALL: by_enumeration,
}


def run_all(cells, contenders, limit, log, resume):
    """Append a line to the log for each run that it does not have."""
    known = {(r["data"], r["C"], r["M"], r["contender"], r["limit"]) for r in report.read_log(log)} if resume else set()
    log.parent.mkdir(parents=True, exist_ok=True)
    warm = fs.load_dataset("wdbc").scaled("standard")
    fs.solve(fs.fsp.fsp_m(warm, max_features=5, C=1.0), time_limit=100)
    with log.open("a" if resume else "w") as file:
        for name, C, M in cells:
            data = fs.load_dataset(name).scaled("standard")
            if data.n_features <= M:
                continue
            for contender in contenders:
                if (name, C, M, contender, limit) in known:
                    continue
                try:
                    found = CONTENDERS[contender](data, C, M, limit)
                except fs.errors.Error as error:  # not installed, or beyond its licence
                    found = {"cpu": None, "objective": None, "bound": None, "status": str(error)[:200]}
                if found is not None:
                    record = {"data": name, "C": C, "M": M, "contender": contender, "limit": limit, **found}
                    file.write(json.dumps(record) + "\n")
                    file.flush()
                    print(record, flush=True)


def judged(runs):
    """Return the runs with their gap to the best objective known, and whether a bound is above it."""
    best = {}
    for run in runs:
        cell = run["data"], run["C"], run["M"]
        if run["objective"] is not None:
            best[cell] = min(best.get(cell, math.inf), run["objective"])
    for run in runs:
        known, bound = best.get((run["data"], run["C"], run["M"])), run["bound"]
        run["gap"] = None if known is None or bound is None else max(0.0, known - bound) / known
        run["above"] = None if known is None or run["objective"] is None else run["objective"] / known - 1
        run["wrong"] = bound is not None and known is not None and bound > known * (1 + ROUNDING)
        run["proven"] = run["status"] == "optimal" and not run["wrong"]
    return runs


def shown(run):
    if run is None:
        return "-"
    if run["cpu"] is None:
        return "not run"
    gap = "-" if run["gap"] is None else f"{run['gap']:.1%}"
    text = f"{run['cpu']:.2f}" if run["proven"] else f"{run['cpu']:.0f} @ {gap}"
    text += f" (+{run['above']:.2%})" if run["above"] and run["above"] > GAP else ""
    return text + (" WRONG" if run["wrong"] else "")


def page(runs, contenders, limit):
    """Return the Markdown: a summary, and a line for each cell."""
    cells = sorted({(r["data"], r["C"], r["M"]) for r in runs})
    by = {(r["data"], r["C"], r["M"], r["contender"]): r for r in runs}
    summary = []
    for contender in contenders:
        own = [r for r in runs if r["contender"] == contender and r["cpu"] is not None]
        if own:
            charged = [max(0.01, r["cpu"] if r["proven"] else limit) for r in own]
            mean = math.exp(sum(map(math.log, charged)) / len(charged))
            summary.append(
                [contender, len(own), sum(r["proven"] for r in own), f"{mean:.2f}", sum(r["wrong"] for r in own)]
            )
    rows = [[*cell, *(shown(by.get((*cell, contender))) for contender in contenders)] for cell in cells]
    return "\n\n".join(
        [
            __doc__.split("\n\n", 1)[0],
            "\n".join(__doc__.strip().splitlines()[2:]),
            report.table(["contender", "cells", "proven", f"mean CPU s ({limit:g} where open)", "WRONG"], summary),
            "CPU seconds where proven, else seconds @ gap; (+) by how much the incumbent is above the best known.",
            report.table(["data", "C", "M", *contenders], rows),
        ]
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="all sets and contenders, 300 s each")
    parser.add_argument("--part", action="store_true", help="three sets, two C")
    parser.add_argument("--resume", action="store_true", help="keep what the log has")
    parser.add_argument("--contenders", help="some of " + ", ".join(CONTENDERS))
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    names = list(fs.list_datasets().name) if asked.full else PART if asked.part else SMALL
    names = [name for name in names if name in set(fs.list_datasets().name)]
    prices = (1.0, 10.0) if asked.part else (0.1, 1.0, 10.0)
    limit = 300.0 if asked.full else 30.0
    contenders = (
        asked.contenders.split(",") if asked.contenders else list(CONTENDERS) if asked.full else [OURS, "SCIP", ALL]
    )
    name = "fsp_real" + ("_full" if asked.full else "_part" if asked.part else "")
    path = Path(__file__).parent / "results" / name
    log = path.with_suffix(".jsonl")
    run_all(itertools.product(names, prices, (3, 5, 10)), contenders, limit, log, asked.resume)
    runs = judged(report.read_log(log))
    facts = report.about(*PACKAGES, **{"time limit (s)": limit, "gap": GAP})
    report.write(path, "Exact selection on real tables", page(runs, contenders, limit), facts, runs=runs)


if __name__ == "__main__":
    main()
