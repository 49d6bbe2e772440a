"""Exact sparse classifiers beside El0ps, and on the instances of Bertsimas, Pauphilet and Van Parys, in one run.

    python benchmarks/sparse_rivals.py                # both parts, 20 s a run: a quarter of an hour
    python benchmarks/sparse_rivals.py --full         # more sets and sizes, 300 s a run
    python benchmarks/sparse_rivals.py --resume       # goes on after an interruption

Part 1, ``pip install el0ps mpich``: standardised sets, no intercept, squared hinge. El0ps minimises ``sum_i max(0, 1 -
y_i x_i.w)^2 + lambda |w|_0 + beta w.w``, which times C is FSP-lambda with C = 1 / (2 beta) and the price lambda C; the
objectives of both answers are held against each other on El0ps's support. beta = 1/2, so C = 1; lambda is a share of
what w = 0 costs. Relative gap 1e-4 for both, objectives in our units.

Part 2: the generator without noise, correlation 0.3, p = 1000; hinge, no intercept, at most k features, the paper's
C_0; ours with form="rmp". SCIP solves the big-M form as a whole. abess (its logistic regression of k features) and l1
(liblinear, the first C of a path with k features) propose a support, whose cost is the hinge's, by the oracle:
heuristics, without a bound. Gurobi's restricted licence takes 200 variables of a quadratic model, and is left out.

Seconds are CPU seconds of the process, building left out. El0ps compiles anew in each process (its first solve, of 30
samples, is timed apart); ours is on disk before the first cell. Limits are of wall-clock time, which on a busy machine
is fewer CPU seconds. "gap": between the bound and the best objective known of the cell; El0ps tells no bound.
"""

import argparse
import json
import math
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import report

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the clone, not an installed package
import fsmodels as fs
from fsmodels.datasets.synthetic import bertsimas
from fsmodels.models.fsp.oracle import SvmOracle

GAP, ROUNDING, BETA = 1e-4, 1e-6, 0.5
C = 1 / (2 * BETA)
SETS, FULL_SETS = ["cleveland", "wpbc", "wdbc", "ionosphere"], ["sonar", "german_numeric"]
SHARES = (0.03, 0.01, 0.003)
SIZES, FULL_SIZES, RELEVANT = (500, 1000), (2000, 5000), (10, 30)
PACKAGES = ("fsmodels", "pyomo", "numpy", "scipy", "numba", "el0ps", "pyscipopt", "abess", "scikit-learn")


def clocked(solve):
    """Return CPU seconds, wall-clock seconds and the answer."""
    cpu, wall = time.process_time(), time.perf_counter()
    answer = solve()
    return time.process_time() - cpu, time.perf_counter() - wall, answer


def solved(model, solver, limit):
    cpu, wall, found = clocked(lambda: fs.solve(model, solver, gap=GAP, time_limit=limit))
    return {
        "cpu": cpu, "wall": wall, "objective": found.objective, "bound": found.bound, "size": len(found.selected or ()),
        "status": found.status.value, "nodes": found.details.get("nodes"),
    }  # fmt: skip


def ours_priced(data, price, limit):
    model = fs.fsp.fsp_lambda(data, penalty=price, C=C, loss="squared-hinge", intercept=False)
    return solved(model, "branch-and-cut", limit)


def el0ps(data, price, limit):
    from el0ps.datafit import Squaredhinge
    from el0ps.penalty import L2norm
    from el0ps.solver import BnbSolver

    solver, A = BnbSolver(relative_gap=GAP, time_limit=limit), np.asfortranarray(data.X)
    penalty, datafit, y = L2norm(BETA), Squaredhinge(data.y.copy()), data.y
    cpu, wall, found = clocked(lambda: solver.solve(datafit, penalty, A, price / C))
    x, used = found.x, np.flatnonzero(found.x)
    slacks = np.maximum(0.0, 1 - y * (A @ x))
    said = float(slacks @ slacks + price / C * used.size + BETA * x @ x)
    assert math.isclose(said, found.objective_value, rel_tol=1e-9), (said, found.objective_value)
    sigma = np.zeros(A.shape[1])
    sigma[used] = 1.0
    best = SvmOracle(A, y, C, "squared-hinge", free_b=False).solve(sigma, tolerance=1e-9).value + price * used.size
    # The same problem: on its support our optimum is its objective, as far as its accuracy of 1e-4 goes.
    closed = str(found.status) == "optimal"
    assert best <= C * said * (1 + 1e-9), (best, C * said)
    assert not closed or C * said <= best * (1 + 10 * GAP), (best, C * said)
    return {
        "cpu": cpu, "wall": wall, "objective": C * said, "bound": None, "size": int(used.size),
        "status": "optimal" if closed else "feasible", "nodes": found.iter_count,
    }  # fmt: skip


def compiled():
    """Return the CPU seconds of the first solves: of El0ps, and of ours in this process."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 5))
    data = fs.Dataset.from_arrays(X, np.where(X[:, 0] + 0.1 > 0, 1.0, -1.0)).scaled("none")
    model = fs.fsp.fsp_lambda(fs.load_dataset("wdbc").scaled("standard"), penalty=5.0, C=C, loss="squared-hinge")
    seconds = {"ours": clocked(lambda: fs.solve(model, time_limit=300))[0]}
    try:
        seconds["El0ps"] = clocked(lambda: el0ps(data, 1.0, 60))[0]
    except ImportError:
        seconds["El0ps"] = None
    return seconds


def ours_limited(data, k, price, limit):
    model = fs.fsp.fsp_m(data, max_features=k, C=price, intercept=False, form="rmp")
    return solved(model, "branch-and-cut", limit)


def scip(data, k, price, limit):
    return solved(fs.fsp.fsp_m(data, max_features=k, C=price, intercept=False, form="big-m"), "scip", limit)


def abess(data, k, price, limit):
    from abess import LogisticRegression

    cpu, wall, found = clocked(lambda: LogisticRegression(support_size=k, fit_intercept=False).fit(data.X, data.y > 0))
    return proposed(data, np.flatnonzero(found.coef_), price, cpu, wall)


def l1(data, k, price, limit):
    from sklearn.svm import LinearSVC

    def path():
        for weight in np.geomspace(1e-4, 1, 40):
            w = LinearSVC(penalty="l1", dual=False, C=weight, fit_intercept=False, tol=1e-3).fit(data.X, data.y).coef_
            if np.count_nonzero(w) >= k:
                break
        return np.argsort(-np.abs(w.ravel()))[:k]

    cpu, wall, support = clocked(path)
    return proposed(data, support, price, cpu, wall)


def proposed(data, support, price, cpu, wall):
    """Evaluate a heuristic's support."""
    found = SvmOracle(data.X[:, support], data.y, price, free_b=False).solve(np.ones(len(support)), tolerance=1e-6)
    return {
        "cpu": cpu, "wall": wall, "objective": found.value, "bound": None, "size": len(support), "status": "heuristic",
    }  # fmt: skip


PRICED = {"ours": ours_priced, "El0ps": el0ps}
LIMITED = {"ours": ours_limited, "SCIP": scip, "abess": abess, "l1": l1}


def run(log, known, cell, contenders, words, limit):
    for name, contender in contenders.items():
        key = {**cell, "contender": name, "limit": limit}
        if tuple(key.items()) in known:
            continue
        try:
            found = contender(*words, limit)
        except (ImportError, fs.errors.Error) as error:
            found = {"cpu": None, "objective": None, "bound": None, "status": f"not run: {error}"[:200]}
        log.write(json.dumps({**key, **found}) + "\n")
        log.flush()
        print({**key, **found}, flush=True)


def run_all(path, sets, sizes, limit, resume):
    known = (
        {tuple((k, r[k]) for k in list(r)[: list(r).index("limit") + 1]) for r in report.read_log(path)}
        if resume
        else set()
    )
    with path.open("a" if resume else "w") as log:
        for name in sets:
            data = fs.load_dataset(name).scaled("standard")
            for share in SHARES:
                cell = {"part": 1, "data": name, "share": share}
                run(log, known, cell, PRICED, (data, share * C * data.n_samples), limit)
        for n in sizes:
            for k in RELEVANT:
                train = bertsimas(n, n_relevant=k, seed=n + k).train.scaled("none")
                price = fs.datasets.synthetic.bertsimas_price(train, k)
                run(log, known, {"part": 2, "n": n, "k": k}, LIMITED, (train, k, price), limit)


def judged(runs):
    """Return the runs with their gap to the best objective known of the cell, and whether a bound is above it."""

    def cell(r):
        return (r["part"], r.get("data"), r.get("share"), r.get("n"), r.get("k"))

    best = {}
    for r in runs:
        if r["objective"] is not None:
            best[cell(r)] = min(best.get(cell(r), math.inf), r["objective"])
    for r in runs:
        known, bound = best.get(cell(r)), r["bound"]
        r["gap"] = None if known is None or bound is None else max(0.0, known - bound) / known
        r["above"] = None if known is None or r["objective"] is None else r["objective"] / known - 1
        r["wrong"] = bound is not None and bound > known * (1 + ROUNDING)
        r["proven"] = r["status"] == "optimal" and not r["wrong"]
    return runs


def shown(r):
    if r is None or r["cpu"] is None:
        return "-" if r is None else "not run"
    gap = "" if r["proven"] else " @ ?" if r["gap"] is None else f" @ {r['gap']:.1%}"
    gap = "" if r["status"] == "heuristic" else gap
    above = f" (+{r['above']:.2%})" if r["above"] > GAP else ""
    return f"{r['cpu']:.2f}{gap}{above}" + (" WRONG" if r["wrong"] else "")


def table(runs, keys, contenders):
    cells = list(dict.fromkeys(tuple(r[k] for k in keys) for r in runs))
    by = {(*(r[k] for k in keys), r["contender"]): r for r in runs}
    rows = [[*cell, *(shown(by.get((*cell, c))) for c in contenders)] for cell in cells]
    return report.table([*keys, *contenders], rows)


def page(runs, first, limit, load):
    """Return the Markdown."""
    one, two = ([r for r in runs if r["part"] == part] for part in (1, 2))
    by = {(r["data"], r["share"], r["contender"]): r for r in one}
    closed = [r for r in one if r["contender"] == "El0ps" and r["proven"]]
    faster = [r for r in closed if by[r["data"], r["share"], "ours"]["cpu"] < r["cpu"]]
    ours = sum(r["proven"] for r in one if r["contender"] == "ours")
    words = f"El0ps closes {len(closed)} of {len(by) // 2} cells, ours {ours}; of those that El0ps closes, "
    words += f"ours takes less CPU time in {len(faster)}. First solve of a process, CPU s: "
    words += ", ".join(f"{name} {'-' if s is None else f'{s:.1f}'}" for name, s in first.items()) + "."
    text = [
        __doc__.split("\n\n", 1)[0],
        "\n".join(__doc__.strip().splitlines()[2:]),
        f"CPU seconds where proven within {limit:g} s, else seconds @ gap; (+) by how much the answer is above the "
        "best known.",
        f"The machine was shared: load average {load:g} on {os.cpu_count()} cores. CPU seconds bear it, limits do not."
        if load is not None and load > os.cpu_count()
        else "The machine was idle but for this run.",
        "## Beside El0ps",
        words,
        table(one, ["data", "share"], list(PRICED)),
    ]
    if two:
        text += ["## The generator, p = 1000", table(two, ["n", "k"], list(LIMITED))]
    return "\n\n".join(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="more sets and sizes, 300 s a run")
    parser.add_argument("--resume", action="store_true", help="keep what the log has")
    parser.add_argument("--limit", type=float, help="seconds a run")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    sets, sizes = (SETS + FULL_SETS, SIZES + FULL_SIZES) if asked.full else (SETS, SIZES)
    limit = asked.limit or (300.0 if asked.full else 20.0)
    path = Path(__file__).parent / "results" / ("sparse_rivals_full" if asked.full else "sparse_rivals")
    path.parent.mkdir(parents=True, exist_ok=True)
    log, load, first = path.with_suffix(".jsonl"), report.load(), compiled()
    run_all(log, sets, sizes, limit, asked.resume)
    runs = judged(report.read_log(log))
    facts = report.about(*PACKAGES, **{"time limit (s)": limit, "gap": GAP, "load average when it began": load})
    report.write(
        path, "Beside El0ps, and on generated sparse classification", page(runs, first, limit, load), facts, runs=runs
    )


if __name__ == "__main__":
    main()
