"""Records of the pages of ``kernel_tables``: chosen points, Omega at equal points, curves, stop reasons of fits."""

import collections

from benchmarks.papers.tayal import choice as kernel_choice
from benchmarks.papers.tayal.tasks import COARSE_MU, EFS_C, NDCC, PAPER_C, SVM, SVM_TRUE

OF_ALPHA = ("alpha", "split", "method", "error")
KEPT = ("C", "mu", "features", "right", "wrong", "omega")


def of(entries):
    """Return the records of ``kernel_tables`` by name."""
    runs = kernel_choice.by_run(entries)
    return {
        "chosen": [r for run, rows in runs.items() for r in chosen(run, rows)],
        "omegas": [r for run, rows in runs.items() if run[0] == NDCC for r in omegas(run, rows)],
        "ends": ends(runs),
        "alphas": [{name: e[name] for name in OF_ALPHA} for e in entries if e["part"] == "alpha"],
    }


def known(run):
    """Return the fields that identify a run."""
    return dict(zip(("data", "split", "method", "way", "folds"), run, strict=True))


def chosen(run, rows):
    """Return the point chosen in a run on each finished grid."""
    found = []
    for grid in kernel_choice.GRIDS:
        point = kernel_choice.best(kernel_choice.points(rows, run[2], grid))
        if point is not None:
            more = {name: point.get(name) for name in KEPT}
            if run[2] == SVM and run[0] == NDCC:
                more |= {"right": 20, "wrong": 100}
            if run[2] == SVM_TRUE:
                more |= {"right": 20, "wrong": 0}
            rates = {"error": point["test"] / point["tested"], "held": point["held"] / point["held_out"]}
            found.append(known(run) | {"grid": grid} | rates | more)
    return found


def omegas(run, rows):
    """Return Omega at the points that all coarse grids contain."""
    if run[2] in (SVM, SVM_TRUE):
        return []
    shared = {c for c in PAPER_C if c % 2 and c in EFS_C}
    return [
        {"split": run[1], "method": run[2], "way": run[3], "C": c, "mu": point["mu"], "omega": point["omega"]}
        for (c, _), row in rows.items()
        for point in row["points"]
        if c in shared and point["mu"] in COARSE_MU and point.get("omega") is not None
    ]


def rankings(entries):
    """Return the points of the curves and the times of the rankings; the last of repeated runs."""
    last = {(e["data"], e["split"], e["method"], e["grid"]): e for e in entries if e["part"] == "ranking"}
    names = ("data", "split", "method", "grid")
    known = [(dict(zip(names, key, strict=True)), e) for key, e in last.items()]
    curves = [of | {"k": k, "error": error} for of, e in known for k, error in e["curve"]]
    return {"curves": curves, "costs": [of | {"cpu": e["cpu_seconds"]} for of, e in known]}


def ends(runs):
    """Return the stop reasons and times of the fits of each run."""
    found = []
    for run, rows in runs.items():
        points = [point for row in rows.values() for point in row["points"]]
        reasons = collections.Counter()
        for point in points:
            reasons.update(point["reasons"])
        fits, cpu = sum(p["fits"] for p in points), sum(p["cpu"] for p in points)
        counts = {"fits": fits, "limit": reasons["iteration_limit"], "failed": reasons["error"]}
        counts |= {"cut": sum(p.get("cut", 0) for p in points), "slowest": max(p["slowest"] for p in points)}
        found.append(known(run) | counts | {"cpu_a_fit": round(cpu / fits, 4)})
    return found
