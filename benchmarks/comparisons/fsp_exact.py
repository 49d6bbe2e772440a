"""Exact feature selection for the linear SVM (FSP-M): time to prove optimality, or gap at the time limit.

    python -m benchmarks fsp_exact            # a few small instances, about ten minutes
    python -m benchmarks fsp_exact --full     # five groups, three seeds: about six hours
    python -m benchmarks fsp_exact --page     # only the page, from the log

Each method runs in its own process with one thread, which is killed after its limit; its peak memory is recorded. All
incumbents are evaluated from the data by the same code.
"""

import dataclasses
import math
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np

import fsmodels as fs
from benchmarks.harness import child_process, provenance
from benchmarks.harness.differences import listed
from benchmarks.harness.page import Cell, Page, at
from benchmarks.harness.records import with_reference
from benchmarks.methods import heuristics
from fsmodels import baselines, synthetic
from fsmodels.models.fsp.oracle import SvmOracle

NAME, PROTOCOL = "fsp_exact", 1
GAP, ROUNDING = 1e-4, 1e-6
SEEDS, HEURISTIC_LIMIT = (0, 1, 2), 600.0
OURS, LAZY, SCIP, RFE = "ours", "Gurobi lazy", "SCIP", "RFE"
EXACT, HEURISTICS = (OURS, "multi-tree", SCIP, LAZY), (RFE, "l1")
TASK = ("group", "samples", "n", "M", "C", "limit", "form", "seed", "contender", "protocol")
INSTANCE = TASK[:7]


@dataclasses.dataclass(frozen=True)
class Instance:
    """Sizes of an instance, C, limit in seconds and form of the model; a ``group`` has one number n of features."""

    group: int
    samples: int
    n: int
    M: int
    C: float
    limit: float
    form: str = "perspective"

    @property
    def contenders(self):
        """Return the methods that are run on the instance."""
        return EXACT + HEURISTICS if self.group < 5 else (OURS, *HEURISTICS)


INSTANCES = [Instance(1, size, 20, M, C, 30) for size in (500, 1000, 5000) for M in (4, 10) for C in (1, 10, 32)]
INSTANCES += [
    Instance(2, 500, 50, 10, 10, 60),
    Instance(2, 1000, 50, 10, 1, 60),
    Instance(2, 1000, 50, 25, 1, 60),
    Instance(2, 5000, 50, 10, 1, 60),
    Instance(2, 5000, 50, 10, 10, 60),
    Instance(3, 1000, 100, 20, 1, 60),
    Instance(4, 1000, 800, 20, 1, 60),
    Instance(4, 1000, 800, 400, 1, 60),
    Instance(4, 1000, 800, 20, 10, 120),
    Instance(4, 1000, 800, 400, 10, 120),
    Instance(5, 5000, 10_000, 20, 1, 60, form="rmp"),
    Instance(5, 5000, 10_000, 200, 1, 600, form="rmp"),
    Instance(5, 5000, 10_000, 20, 10, 600, form="rmp"),
]


def task(instance, seed, contender):
    """Return the task of a run, which identifies it in the log."""
    return dataclasses.asdict(instance) | {"seed": seed, "contender": contender, "protocol": PROTOCOL}


GRACE = 90.0  # seconds for imports, building and evaluation, in addition to 1.25 times the limit
MEMORY_LIMIT = 12_000  # MB; a process with more memory is killed
SMALL = [i for i in INSTANCES if (i.group, i.samples) in ((1, 500), (2, 500))]
PACKAGES = ("fsmodels", "pyomo", "numpy", "scipy", "scikit-learn", "highspy", "pyscipopt", "gurobipy")
FACTS = {"gap": GAP, "heuristics' limit (s)": HEURISTIC_LIMIT, "memory limit (MB)": MEMORY_LIMIT}


# ---- one contender, in its own process


def by_solver(data, spec, *, solver, **options):
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
    OURS: partial(by_solver, solver="branch-and-cut"),
    "multi-tree": partial(by_solver, solver="benders", in_out=False),
    "SCIP": partial(by_solver, solver="scip"),
    LAZY: partial(by_solver, solver="single-tree"),
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


# ---- evaluation of the runs


def evaluate_runs(entries):
    """Return the records of the runs for the page, evaluated with the best known objectives."""
    runs, best = [], {}
    for entry in entries:
        values = [entry[name] for name in ("value", "refit") if entry.get(name) is not None]
        found = min(values) if values and entry["features"] <= entry["M"] else None
        problem = tuple(entry[name] for name in ("samples", "n", "M", "C", "seed"))
        runs.append((entry, found, problem))
        if found is not None:
            best[problem] = min(best.get(problem, math.inf), found)
    evaluated = [verdict(entry, found, best.get(problem)) for entry, found, problem in runs]
    for run, own in with_reference(evaluated, (*INSTANCE, "seed"), contender=OURS):
        run["ratio"] = own["charged"] / run["charged"] if own and run["contender"] in EXACT else None
        run["ours"] = own and {name: own[name] for name in ("proven", "charged", "floored gap")}
    return evaluated


def place(run):
    """Return the instance and seed of a run."""
    return tuple(run[name] for name in (*INSTANCE, "seed"))


def verdict(entry, found, best):
    """Return the record of a run for the page."""
    bound, claimed, exact = entry.get("bound"), entry.get("objective"), entry["contender"] in EXACT
    own = entry.get("refit") if entry.get("value") is None else entry["value"]
    wrong = [
        bound is not None and best is not None and bound > best + ROUNDING * abs(best),
        entry.get("features", 0) > entry["M"],
        claimed is not None and own is not None and claimed < own - GAP * abs(own),
    ]
    gap = max(0.0, found - bound) / max(abs(found), 1e-10) if found is not None and bound is not None else 1.0
    proven = entry.get("status") == "optimal" and gap <= GAP + ROUNDING and not any(wrong)
    seconds = entry.get("seconds", entry["wall_seconds"])
    return {name: entry[name] for name in TASK[:-1]} | {
        "wrong": any(wrong),
        "proven": proven if exact else None,
        "seconds": seconds,
        "charged": max(0.01, seconds if proven or not exact else entry["limit"]),
        "gap": gap if exact else None,
        "floored gap": min(1.0, max(GAP, gap)) if exact else None,
        "above": None if found is None else found / best - 1,
        "memory": entry["peak_mb"],
        "overhead": entry.get("overhead"),
        "nodes": entry.get("nodes"),
    }


# ---- the page


def page(log):
    """Return the page."""
    there = evaluate_runs(log.entries(*TASK))
    runs = [run for run in there if run["ours"]]
    page = Page(NAME, globals(), runs=runs)
    page.key("runs", *TASK[:-1])
    alone = len(there) - len(runs)
    there = {(*place(run), run["contender"]) for run in there}
    for group in sorted({instance.group for instance in INSTANCES}):
        planned = [task(i, seed, c) for i in INSTANCES if i.group == group for seed in SEEDS for c in i.contenders]
        done = sum((*place(spec), spec["contender"]) in there for spec in planned)
        size = next(i.n for i in INSTANCES if i.group == group)
        page.part(f"n = {size:,}", done, len(planned), f"python -m benchmarks {NAME} --full")
    most = max(instance.n for instance in INSTANCES)
    page.values(largest_alone={run["contender"] for run in runs if run["n"] == most} <= {OURS})
    return page.values(**answer(page, runs), alone=alone)


def answer(page, runs):
    """Return the variables of the answer: lists by number of features."""
    form = "{gmean:.2f} ({least:.2f} to {most:.1f}, {n} runs)"
    sizes = sorted({run["n"] for run in runs if run["contender"] == LAZY})
    lazy = ", ".join(f"{page.number('ratio', form, contender=LAZY, n=n)} at n = {n}" for n in sizes)
    ours = [run for run in runs if run["contender"] == OURS]
    open_sizes = sorted({run["n"] for run in ours if not run["proven"]})
    gaps = [f"{page.number('gap', '{most:.1%}', contender=OURS, n=n)} at n = {n:,}" for n in open_sizes]
    largest = max(run["n"] for run in runs if run["n"] < min(open_sizes, default=math.inf))
    sizes = listed([f"n = {n}" for n in sorted({run["n"] for run in runs if run["contender"] == SCIP})])
    return {
        "lazy": lazy, "scip": page.number("ratio", form, contender=SCIP), "scip_sizes": sizes,
        "gaps": ", ".join(gaps) or "none", "largest": largest, "wrong": sum(run["wrong"] for run in runs),
    }  # fmt: skip


def by_size(page):
    """Return the table of sizes and contenders."""
    runs = page.records["runs"]
    forms = {
        "proven": "{total:.0f}", "ours.proven": "{total:.0f}", "charged": "{gmean:.3g}", "ours.charged": "{gmean:.3g}",
        "floored gap": "{gmean:.2%}", "ours.floored gap": "{gmean:.2%}", "above": "{mean:.2%}, {most:.1%}",
        "memory": "{most:.0f}", "wrong": "{total:.0f}",
    }  # fmt: skip
    rows = []
    for n in sorted({run["n"] for run in runs}):
        for name in EXACT + HEURISTICS:
            of = [run for run in runs if run["n"] == n and run["contender"] == name]
            here = {"n": n, "contender": name}
            if of:
                empty = {value for value in forms if at(of[0], value.removeprefix("ours.")) is None}
                empty |= {value for value in forms if name == OURS and value.startswith("ours.")}
                shown = ["" if v in empty else Cell("runs", v, form, here) for v, form in forms.items()]
                rows.append([n, name, Cell("runs", "charged", "{n}", here), *shown])
    head = ["proven", "ours", "mean s", "ours", "mean gap", "ours", "above", "most MB", "wrong"]
    return page.table(["n", "contender", "runs", *head], rows)


def instances(page):
    """Return texts and fields of the instances on which branch-and-cut was run."""
    there = {place(run)[:-1] for run in page.records["runs"] if run["contender"] == OURS}
    return [
        ([f"{i.samples} x {i.n}", i.M, f"{i.C:g}", f"{i.limit:g}"], dataclasses.asdict(i))
        for i in INSTANCES
        if dataclasses.astuple(i) in there
    ]
