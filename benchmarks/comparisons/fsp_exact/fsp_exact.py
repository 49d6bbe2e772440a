"""Exact feature selection for the linear SVM (FSP-M): time to prove optimality, or gap at the time limit.

    python -m benchmarks fsp_exact            # a few small instances, about ten minutes
    python -m benchmarks fsp_exact --full     # five groups, three seeds: about six hours
    python -m benchmarks fsp_exact --page     # only the page, from the log

Each method runs in its own process with one thread, which is killed after its limit; its peak memory is recorded. All
incumbents are evaluated from the data by the same code. The module ``page`` defines the instances.
"""

import math
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import fsmodels as fs
from benchmarks.comparisons.fsp_exact.page import (
    EXACT,
    GAP,
    HEURISTIC_LIMIT,
    INSTANCES,
    LAZY,
    NAME,
    OURS,
    RFE,
    SEEDS,
    page,
    task,
)
from benchmarks.harness import child_process, provenance
from benchmarks.methods import heuristics
from fsmodels import baselines, synthetic
from fsmodels.models.fsp.oracle import SvmOracle

GRACE = 90.0  # seconds for imports, building and evaluation, in addition to 1.25 times the limit
MEMORY_LIMIT = 12_000  # MB; a process with more memory is killed
SMALL = [i for i in INSTANCES if (i.group, i.samples) in ((1, 500), (2, 500))]
__all__ = ["NAME", "page", "tasks", "work"]
PACKAGES = ("fsmodels", "pyomo", "numpy", "scipy", "scikit-learn", "highspy", "pyscipopt", "gurobipy")
FACTS = {"gap": GAP, "heuristics' limit (s)": HEURISTIC_LIMIT, "memory limit (MB)": MEMORY_LIMIT}


# ---- one contender, in its own process


def by_solver(solver, **options):
    def run(data, spec):
        start = time.perf_counter()
        model = fs.fsp.fsp_m(data, max_features=spec["M"], C=spec["C"], form=spec["form"])
        built = time.perf_counter()
        result = fs.solve(model, solver, gap=GAP, time_limit=spec["limit"], threads=1, seed=spec["seed"], **options)
        end = time.perf_counter()
        inside = result.details.get("seconds")
        record = {
            "seconds": end - built,
            "build_seconds": built - start,
            "status": result.status.value,
            "stop": result.stop_reason.value,
            "objective": result.objective,
            "bound": result.bound if result.bound is not None and math.isfinite(result.bound) else None,
            "rows": len(result.iterations),
            "nodes": result.details.get("nodes"),
            "seconds_inside": inside,
            "message": result.message,
        }
        if inside:
            record["overhead"] = max(0.0, 1 - (inside["master"] + inside["subproblem"]) / result.seconds)
        if not result.has_solution:
            return record, None, None, None
        support = [k for k, j in enumerate(data.features) if model.sigma[j].value > 0.5]
        if model.component("w") is None:
            return record, support, None, None
        return record, support, np.array([model.w[data.features[k]].value for k in support]), model.b.value

    return run


def by_rfe(data, spec):
    found = baselines.rfe(data, max_features=spec["M"], C=spec["C"], step=0.05)
    return {"seconds": found.seconds}, [data.features.index(name) for name in found.selected], None, None


def by_l1(data, spec):
    start, found = time.perf_counter(), []
    for *_, used in heuristics.l1_bisection(data.X, data.y, spec["M"], (-6.0, 6.0), seed=spec["seed"]):
        found.append(used)
        if time.perf_counter() - start > HEURISTIC_LIMIT / 2:
            break
    record = {"seconds": time.perf_counter() - start, "rows": len(found)}
    return record, heuristics.largest(found, spec["M"]).tolist(), None, None


RUN = {
    OURS: by_solver("branch-and-cut"),
    "multi-tree": by_solver("benders", in_out=False),
    "SCIP": by_solver("scip"),
    LAZY: by_solver("single-tree"),
    RFE: by_rfe,
    "l1": by_l1,
}


def evaluate(data, C, support, w, b):
    """Return the objective of (w, b), where w is given on the support, and that of the SVM refitted on the support."""
    columns = support or [0]
    X = np.ascontiguousarray(data.X[:, columns])
    refit = SvmOracle(X, data.y, C).solve(np.full(len(columns), float(bool(support))), tolerance=1e-8).value
    if w is None:
        return None, refit
    if not support:
        X, w = X[:, :0], np.zeros(0)
    return 0.5 * float(w @ w) + C * float(np.maximum(0, 1 - data.y * (X @ w + b)).sum()), refit


def contend(spec):
    """Run one method on one instance; return its record."""
    warnings.simplefilter("ignore")  # about convergence: the objective is evaluated from the data
    run = RUN[spec["contender"]]
    with np.load(spec["data"]) as file:
        X, y = file["X"], file["y"]
    data = fs.Dataset(X, y, tuple(f"x{j + 1}" for j in range(X.shape[1])))
    run(synthetic.aytug(5, 40, 2, seed=0).train, spec | {"M": 2, "C": 1.0, "limit": 10})  # loads packages and solvers
    before = child_process.peak_memory()
    record, support, w, b = run(data, spec)
    record |= {"peak_mb": child_process.peak_memory(), "peak_mb_before": before}
    if support is not None:
        value, refit = evaluate(data, spec["C"], support, w, b)
        record |= {"value": value, "refit": refit, "features": len(support), "support": support}
    return record


def draw(spec):
    """Write an instance to a file, in a process whose memory is not measured."""
    part = synthetic.aytug(spec["n"], spec["samples"], spec["M"], seed=spec["seed"]).train
    np.savez(spec["data"], X=part.X, y=part.y)
    return {}


# ---- all runs


def tasks(full):
    instances, seeds = (INSTANCES, SEEDS) if full else (SMALL, SEEDS[:1])
    return [
        task(instance, seed, contender)
        for group in sorted({i.group for i in instances})
        for seed in seeds
        for instance in instances
        if instance.group == group
        for contender in instance.contenders
    ]


def work(**spec):
    """Generate the instance and run the method, each in a process; return None if the method failed."""
    load = provenance.load()
    with tempfile.TemporaryDirectory() as folder:
        file = {"data": str(Path(folder) / "instance.npz")}
        drawn = {name: spec[name] for name in ("n", "samples", "M", "seed")} | file
        _, made = child_process.call(draw, seconds=HEURISTIC_LIMIT, spec=drawn)
        if made["outcome"] != child_process.FINISHED:
            raise SystemExit(f"The instance {spec} could not be drawn: {made}")
        limit = 1.25 * spec["limit"] if spec["contender"] in EXACT else HEURISTIC_LIMIT
        record, ended = child_process.call(contend, seconds=limit + GRACE, megabytes=MEMORY_LIMIT, spec=spec | file)
    return {"load": load} | ended | (record or {}) if ended["outcome"] != "error" else print(ended["message"])
