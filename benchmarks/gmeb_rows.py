"""GMEB with a budget on what is selected: cutting planes over MILPs beside scip on the whole model, to the same gap.

Each feature has a random cost in 1..9; the limit is a share of what the features cost that GMEB uses without a budget.
Both solve the same Pyomo model, one after the other in the same process, and seconds are of the process's CPU: the load
of the machine weighs on both alike. The goal: proven, in at most a quarter of scip's time on each data set.

    python benchmarks/gmeb_rows.py             # three sets, one pair of (R+, R-), two limits: some minutes
    python benchmarks/gmeb_rows.py --full      # also a second pair and a third limit
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import report

import fsmodels as fs

SETS = ["wdbc", "ionosphere", "wpbc24"]
PAIRS, MORE_PAIRS = [(2.0, 2.0)], [(2.0, 2.0), (1.0, 3.0)]
SHARES, MORE_SHARES = [0.6, 0.3], [0.6, 0.45, 0.3]
SOLVERS = ["cutting-plane", "scip"]
GAP, LIMIT, GOAL, SEED = 1e-4, 300.0, 4.0, 1
PACKAGES = ("pyomo", "numpy", "scipy", "highspy", "pyscipopt", "fsmodels")


def build(data, pair, cost, limit):
    """Return the model with a budget."""
    model = fs.gmeb.primal(data, R_plus=pair[0], R_minus=pair[1], sigma=True)
    model.budget = fs.side_constraints.budget(model, cost, limit)
    return model


def run_one(name, pair, share):
    """Solve one instance by both; return what came out."""
    data = fs.load_dataset(name).scaled("standard")
    rng = np.random.default_rng(SEED)
    cost = dict(zip(data.features, rng.integers(1, 10, len(data.features)).tolist(), strict=True))
    free = fs.solve(fs.gmeb.primal(data, R_plus=pair[0], R_minus=pair[1]))
    limit = round(share * sum(cost[j] for j in free.selected))
    record = {"data": name, "R_plus": pair[0], "R_minus": pair[1], "limit": limit, "share": share}
    record["without a budget"] = {"objective": free.objective, "features": len(free.selected)}
    for solver in SOLVERS:
        model = build(data, pair, cost, limit)
        start, wall = time.process_time(), time.perf_counter()
        found = fs.solve(model, solver, gap=GAP, time_limit=LIMIT)
        record[solver] = {
            "cpu": time.process_time() - start,
            "seconds": time.perf_counter() - wall,
            "status": found.status.value,
            "objective": found.objective,
            "bound": found.bound,
            "features": len(found.selected or []),
        }
    record["ratio"] = record["scip"]["cpu"] / record["cutting-plane"]["cpu"]
    print(f"{name} {pair} limit {limit}: {record['ratio']:.1f} times", flush=True)
    return record


def page(records):
    """Return the tables."""
    rows = []
    for r in records:
        ours, other = (r[s] for s in SOLVERS)
        where = [r["data"], f"{r['R_plus']:g}, {r['R_minus']:g}", f"{r['limit']} ({r['share']:.0%})"]
        losses = [f"{one['objective']:.4f}" for one in (ours, other)]
        seconds = [f"{ours['cpu']:.2f}", f"{other['cpu']:.2f}", f"{r['ratio']:.1f}"]
        rows.append([*where, *losses, ours["status"], other["status"], *seconds])
    head = ["data", "R+, R-", "limit", "loss, ours", "loss, scip", "status", "scip's", "CPU s", "scip's", "ratio"]
    goals = []
    for name in dict.fromkeys(r["data"] for r in records):
        mine = [r for r in records if r["data"] == name]
        total = sum(r["scip"]["cpu"] for r in mine) / sum(r["cutting-plane"]["cpu"] for r in mine)
        proven = all(r["cutting-plane"]["status"] == "optimal" for r in mine)
        told = f"{total:.1f} times in all, {min(r['ratio'] for r in mine):.1f} to {max(r['ratio'] for r in mine):.1f}"
        met = "yes" if proven and total >= GOAL else "no"
        goals.append([f"{name}: proven in at most a quarter of scip's time", told, met])
    return "\n\n".join([report.table(["goal", "measured", "reached?"], goals), report.table(head, rows)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="more pairs and limits")
    parser.add_argument("--data", default=",".join(SETS), help="some of these, separated by commas")
    parser.add_argument("--out", type=Path, help="where to write: .json, .md")
    options = parser.parse_args()
    if unknown := set(options.data.split(",")) - set(SETS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; choose among {', '.join(SETS)}")
    warnings.simplefilter("ignore", fs.DataWarning)  # a constant column
    pairs, shares = (MORE_PAIRS, MORE_SHARES) if options.full else (PAIRS, SHARES)
    facts = report.about(*PACKAGES, gap=GAP, seed=SEED, **{"time limit (s)": LIMIT})
    records = [run_one(name, p, s) for name in options.data.split(",") for p in pairs for s in shares]
    name = "gmeb_rows" if options.full else "gmeb_rows_small"
    out = (options.out or Path(__file__).parent / "results" / name).with_suffix("")
    text = page(records)
    print(text)
    title = "GMEB with a budget: cutting planes beside scip"
    report.write(out, title, f"{__doc__.strip()}\n\n{text}", facts, records=records)


if __name__ == "__main__":
    main()
