"""Exact feature selection for the linear SVM (FSP-M): how fast proven, or how near when time is up; one run for all.

    python benchmarks/fsp_exact.py                          # a few small instances, about five minutes
    python benchmarks/fsp_exact.py --full                   # five groups, three seeds: about six hours
    python benchmarks/fsp_exact.py --full --resume          # goes on after an interruption
    python benchmarks/fsp_exact.py --groups 2,3 --seeds 0 --contenders ours,SCIP    # a part of the full run

Every run is a line of the .jsonl file beside the results; a part that is run again replaces its old lines, and the
page is drawn from all lines. The full run and its parts write fsp_exact, the small one fsp_exact_small.

Instances: data set one of Aytug 2015 by ``fs.synthetic``: l rows of unit length in n features, noise-free labels
by a hyperplane with M coefficients uniform on [-1, 1]; M is also the cardinality. Groups: (1) n = 20, (2) n = 50,
(3) n = 100, (4) n = 800, (5) n = 10,000.

Contenders, each in a process of its own, on one thread, with the same time limit and relative gap 1e-4:

- ours: ``fs.solve(model, "branch-and-cut")``; in group 5 on ``form="rmp"``, the model without rows for the samples.
- multi-tree: ``"benders"``, the paper's algorithm. SCIP: the perspective form as a whole.
- Gurobi lazy: ``"single-tree"``, the same cuts as lazy constraints of Gurobi's tree, without work at the root.
- RFE: scikit-learn's RFE over SVC(kernel="linear"), a twentieth of the features a step. l1: scikit-learn's
  LinearSVC(penalty="l1"), its C by bisection for the largest support of at most M. Both give incumbents, no bounds.

Group 5 has ours and the two heuristics only. Heuristics are stopped after ten minutes.

How to read: seconds are those of the solve (model building apart, after a warm-up on 40 samples), gaps those between
the claimed bound and the incumbent. An incumbent is evaluated from the data by the same code for all: the lesser of
the SVM objective of the (w, b) that came back and of the SVM refitted on its support. "proven": the contender says
optimal, and that gap is at most 1e-4. WRONG: a bound above the best objective known of the instance, more than M
features, or an objective claimed that its own (w, b) miss. "above best": the incumbent over the best known of all.
Peak memory is that of the process, libraries and data included. Overhead: share of the seconds outside the subproblem
and the LPs (or the master). Table cells are medians over the seeds. A process that outlives its limit is killed and
counts as unproven; a contender that cannot run has "-" and the reason below the table. Goals are judged at the worst
seed; "open" means that a run is missing or its limit was cut.
"""

import argparse
import dataclasses
import datetime
import json
import math
import operator
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import report

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the clone, not an installed package
import fsmodels as fs
from fsmodels import baselines, synthetic
from fsmodels.models.fsp.oracle import SvmOracle

GAP, ROUNDING = 1e-4, 1e-6
SEEDS = (0, 1, 2)
HEURISTIC_LIMIT = 600.0
GRACE = 90.0  # seconds for loading, building and evaluating, besides a quarter of the limit
MEMORY_LIMIT = 12_000  # MB: a process beyond is killed
OURS, RFE, LAZY = "ours", "RFE", "Gurobi lazy"
PACKAGES = ("pyomo", "numpy", "scipy", "scikit-learn", "highspy", "pyscipopt", "gurobipy")


@dataclasses.dataclass(frozen=True)
class Instance:
    """Sizes, price and time limit, and what is expected of ours within it."""

    group: int
    samples: int
    n: int
    M: int
    C: float
    limit: float
    gap: float | None = None  # the goal; None: proven
    ahead: float | None = None  # goal: by how much the incumbent is better than RFE's
    form: str = "perspective"

    @property
    def name(self):
        """What the tables call it."""
        return f"l={self.samples} n={self.n} M={self.M} C={self.C:g}"

    @property
    def goal(self):
        """What ours should reach."""
        what = "proven" if self.gap is None else f"gap <= {self.gap:.1%}"
        return f"{what} in {self.limit:g} s"

    @property
    def contenders(self):
        """Who is tried on it."""
        return [name for name in CONTENDERS if self.group < 5 or name in (OURS, *HEURISTICS)]


INSTANCES = [Instance(1, size, 20, M, C, 30) for size in (500, 1000, 5000) for M in (4, 10) for C in (1, 10, 32)]
INSTANCES += [
    Instance(2, 500, 50, 10, 10, 60),
    Instance(2, 1000, 50, 10, 1, 60),
    Instance(2, 1000, 50, 25, 1, 60),
    Instance(2, 5000, 50, 10, 1, 60),
    Instance(2, 5000, 50, 10, 10, 60),
    Instance(3, 1000, 100, 20, 1, 60, gap=0.006),
    Instance(4, 1000, 800, 20, 1, 60, ahead=0.0),
    Instance(4, 1000, 800, 400, 1, 60, gap=0.004, ahead=0.0),
    Instance(4, 1000, 800, 20, 10, 120, gap=0.10, ahead=0.005),
    Instance(4, 1000, 800, 400, 10, 120, gap=0.09, ahead=0.005),
    Instance(5, 5000, 10_000, 20, 1, 60, form="rmp"),
    Instance(5, 5000, 10_000, 200, 1, 600, form="rmp"),
    Instance(5, 5000, 10_000, 20, 10, 600, gap=0.01, form="rmp"),
]
problem = operator.attrgetter("group", "samples", "n", "M", "C")
GOALS = {problem(instance): instance for instance in INSTANCES}
SMALL = [dataclasses.replace(i, limit=30) for i in INSTANCES if (i.group, i.samples) in ((1, 500), (2, 500))]
SMALL += [dataclasses.replace(INSTANCES[19], limit=30)]
MEMORY = {4: 2000, 5: 4000}  # MB
OVERHEAD = 0.10
RATIOS = [(1, "charged", LAZY, 0.7), (3, "gap_here", LAZY, 1 / 3), (3, "gap_here", "SCIP", 1 / 7)]
TOO_HARD = INSTANCES[18:20]  # for SCIP


# ---- one contender, in its own process


def by_solver(solver):
    def run(data, spec):
        start = time.perf_counter()
        model = fs.fsp.fsp_m(data, max_features=spec["M"], C=spec["C"], form=spec["form"])
        built = time.perf_counter()
        result = fs.solve(model, solver, gap=GAP, time_limit=spec["limit"], threads=1, seed=spec["seed"])
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
    from sklearn.svm import LinearSVC

    start = time.perf_counter()
    low, high, best = -6.0, 6.0, np.zeros(0, dtype=int)  # powers of ten
    steps = 0
    while steps < 25 and len(best) < spec["M"] and time.perf_counter() - start < HEURISTIC_LIMIT / 2:
        power, steps = 0.5 * (low + high), steps + 1
        svm = LinearSVC(penalty="l1", dual=False, C=10.0**power, random_state=spec["seed"]).fit(data.X, data.y)
        size = np.abs(svm.coef_[0])
        used = np.flatnonzero(size > 1e-6 * size.max())
        if len(used) > spec["M"]:
            high = power
            continue
        low = power
        if len(used) > len(best):
            best = used
    return {"seconds": time.perf_counter() - start, "rows": steps}, best.tolist(), None, None


EXACT = {
    OURS: by_solver("branch-and-cut"),
    "multi-tree": by_solver("benders"),
    "SCIP": by_solver("scip"),
    LAZY: by_solver("single-tree"),
}
HEURISTICS = {RFE: by_rfe, "l1": by_l1}
CONTENDERS = EXACT | HEURISTICS


def evaluate(data, C, support, w, b):
    """Return the objective of (w, b), w on the support only, and of the SVM refitted there."""
    columns = support or [0]
    X = np.ascontiguousarray(data.X[:, columns])
    refit = SvmOracle(X, data.y, C).solve(np.full(len(columns), float(bool(support))), tolerance=1e-8).value
    if w is None:
        return None, refit
    if not support:
        X, w = X[:, :0], np.zeros(0)
    return 0.5 * float(w @ w) + C * float(np.maximum(0, 1 - data.y * (X @ w + b)).sum()), refit


def contend(spec):
    """Run one contender on one instance; return its record."""
    warnings.simplefilter("ignore")  # of convergence: the objective tells
    run = CONTENDERS[spec["contender"]]
    with np.load(spec["data"]) as file:
        X, y = file["X"], file["y"]
    data = fs.Dataset(X, y, tuple(f"x{j + 1}" for j in range(X.shape[1])))
    run(synthetic.aytug(5, 40, 2, seed=0).train, spec | {"M": 2, "C": 1.0, "limit": 10})  # imports, solvers' libraries
    before = memory("self")
    record, support, w, b = run(data, spec)
    record |= {"peak_mb": memory("self"), "peak_mb_before": before}
    if support is not None:
        value, refit = evaluate(data, spec["C"], support, w, b)
        record |= {"value": value, "refit": refit, "features": len(support), "support": support}
    return record


def draw(spec):
    """Write an instance to a file, apart from the contenders, whose memory is measured."""
    part = synthetic.aytug(spec["n"], spec["samples"], spec["M"], seed=spec["seed"]).train
    np.savez(spec["data"], X=part.X, y=part.y)
    return {}


def memory(process):
    """Return the peak resident memory of a process in MB, None where it cannot be read."""
    try:  # ru_maxrss of a new process starts at what its parent had
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
        return next((int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith("VmHWM")), None)
    except OSError:  # ended, or not Linux
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6 if process == "self" else None


def in_process(spec, limit):
    """Run ``draw`` or ``contend`` in a process of its own, killed at the limits; return its record."""
    with tempfile.TemporaryDirectory() as folder:
        out, errors = Path(folder) / "out.json", Path(folder) / "errors.txt"
        command = [sys.executable, __file__, "--child", json.dumps(spec | {"out": str(out)})]
        environment = os.environ | dict.fromkeys(report.THREAD_VARIABLES, "1")
        start, peak, ended = time.perf_counter(), 0.0, "finished"
        with errors.open("w") as file:
            child = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=file)
            try:
                while child.poll() is None:
                    peak = max(peak, memory(child.pid) or 0.0)
                    if time.perf_counter() - start > limit:
                        ended = "killed: time"
                    elif peak > MEMORY_LIMIT:
                        ended = "killed: memory"
                    if ended != "finished":
                        break
                    time.sleep(0.05)
            finally:
                child.kill()
                child.wait()
        record = {"outcome": ended, "peak_mb": peak or None, "wall_seconds": time.perf_counter() - start}
        if ended != "finished":
            return record
        if out.exists():
            return record | json.loads(out.read_text())
        last = errors.read_text().strip().splitlines()[-1:] or [f"ended with code {child.returncode}"]
        return record | {"outcome": "error", "message": last[0][:400]}


def child(spec):
    record = draw(spec) if "contender" not in spec else contend(spec)
    Path(spec["out"]).write_text(json.dumps(record))


# ---- all runs


def key(record):
    names = ("group", "samples", "n", "M", "C", "limit", "form", "seed", "contender")
    return tuple(record[name] for name in names)


def run_all(instances, seeds, contenders, log, resume):
    """Run what was asked for, group by group and seed by seed; append each record to the log."""
    known = {key(r) for r in report.read_log(log) if r["outcome"] != "error"} if resume else set()
    todo = [
        dataclasses.asdict(instance) | {"seed": seed, "contender": contender}
        for group in sorted({i.group for i in instances})
        for seed in seeds
        for instance in instances
        for contender in instance.contenders
        if instance.group == group and contender in contenders
    ]
    todo = [spec for spec in todo if key(spec) not in known]
    log.parent.mkdir(parents=True, exist_ok=True)
    if log.exists() and not log.read_bytes().endswith(b"\n"):  # a kill cut the last line off
        log.write_bytes(log.read_bytes() + b"\n")
    stamp = {"code": code(), "versions": report.versions(*PACKAGES)}
    drawn = None
    with tempfile.TemporaryDirectory() as folder, log.open("a") as file:
        data = Path(folder) / "instance.npz"
        for k, spec in enumerate(todo, start=1):
            what = {name: spec[name] for name in ("n", "samples", "M", "seed")}
            if drawn != what:
                made = in_process(what | {"data": str(data)}, HEURISTIC_LIMIT)
                if made["outcome"] != "finished":
                    raise SystemExit(f"The instance {what} could not be drawn: {made}")
                drawn = what
            stamp |= {"date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"), "load": report.load()}
            limit = 1.25 * spec["limit"] if spec["contender"] in EXACT else HEURISTIC_LIMIT
            record = spec | stamp | in_process(spec | {"data": str(data)}, limit + GRACE)
            file.write(json.dumps(record) + "\n")
            file.flush()
            facts = [record.get(name) for name in ("outcome", "status", "objective", "bound", "refit", "seconds")]
            print(f"{k}/{len(todo)}", instance_of(record).name, record["seed"], record["contender"], *facts, flush=True)


def code():
    """Return the commit of the clone, with a mark where files differ from it; None without git."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


# ---- what the runs say


def instance_of(record):
    return Instance(**{f.name: record[f.name] for f in dataclasses.fields(Instance)})


def judged(log):
    """Return the last record of every run in the log, with its incumbent, gap and what is wrong with it."""
    runs = list({key(record): record for record in report.read_log(log)}.values())
    best = {}
    for run in runs:
        run["instance"] = instance_of(run)
        run["problem"] = (*problem(run["instance"])[1:], run["seed"])
        run["ran"] = run["outcome"] != "error"
        values = [run[name] for name in ("value", "refit") if run.get(name) is not None]
        run["incumbent"] = min(values) if values and run["features"] <= run["M"] else None
        if run["incumbent"] is not None:
            best[run["problem"]] = min(best.get(run["problem"], math.inf), run["incumbent"])
    for run in runs:
        judge(run, best.get(run["problem"]))
    return sorted(runs, key=lambda run: (run["group"], run["problem"][:-1], run["limit"], run["seed"]))


def judge(run, best):
    found, bound, claimed = run["incumbent"], run.get("bound"), run.get("objective")
    own = run.get("refit") if run.get("value") is None else run["value"]
    checks = {
        "bound": bound is not None and best is not None and bound > best + ROUNDING * abs(best),
        "features": run.get("features", 0) > run["M"],
        "objective": claimed is not None and own is not None and claimed < own - GAP * abs(own),
    }
    run["wrong"] = [what for what, is_wrong in checks.items() if is_wrong]
    run["above"] = None if found is None else found / best - 1
    run["gap_here"] = None
    if run["contender"] in EXACT and run["ran"]:
        known = found is not None and bound is not None
        run["gap_here"] = max(0.0, found - bound) / max(abs(found), 1e-10) if known else math.inf
    near = run["gap_here"] is not None and run["gap_here"] <= GAP + ROUNDING
    run["proven"] = run.get("status") == "optimal" and near and not run["wrong"]
    run["seconds"] = run.get("seconds", run["wall_seconds"])
    run["charged"] = run["seconds"] if run["proven"] else run["limit"]  # in geometric means


def of(runs, **facts):
    return [run for run in runs if all(run[name] == value for name, value in facts.items())]


def middle(runs, name):
    values = [run[name] for run in runs if run.get(name) is not None]
    return statistics.median(values) if values else None


def shown(value, form="{:.3g}"):
    if value is None:
        return "-"
    return "none" if math.isinf(value) else form.format(value)


def pairs(runs, peer):
    """Return our runs and those of a peer on the same instance, where both ran."""
    theirs = {key(run)[:-1]: run for run in of(runs, contender=peer, ran=True)}
    ours = of(runs, contender=OURS, ran=True)
    return [(run, theirs[key(run)[:-1]]) for run in ours if key(run)[:-1] in theirs]


def geometric_mean(runs, what):
    """Average seconds from 0.01 on, or gaps between the one asked for and 1 (which the bound 0 has)."""
    least, most = (0.01, math.inf) if what == "charged" else (GAP, 1.0)
    return math.exp(statistics.fmean(math.log(min(max(run[what], least), most)) for run in runs)) if runs else None


def ratio(both, what):
    return geometric_mean([a for a, _ in both], what) / geometric_mean([b for _, b in both], what) if both else None


def reached(run):
    """Tell whether our run met its instance's goal; None where its limit was too short to tell."""
    goal = GOALS[problem(run["instance"])]
    if not run["ran"] or run["wrong"]:
        return False
    in_time = run["proven"] and run["seconds"] <= goal.limit
    met = in_time if goal.gap is None else run["gap_here"] <= goal.gap
    return None if not met and run["limit"] < goal.limit else met


def verdict(answers, planned):
    if False in answers:
        return "no"
    return "yes" if len(answers) >= planned and None not in answers else "open"


def goal_proof(instances, runs):
    """All of our runs on these instances reach the goal that they share."""
    runs = [run for run in runs if problem(run["instance"]) in map(problem, instances)]
    ran = of(runs, ran=True)
    name = f"all {len(instances)} instances" if len(instances) > 1 else instances[0].name
    measured = f"{sum(run['proven'] for run in runs)} of {len(runs)} runs proven"
    if ran:
        measured += f", slowest {max(run['charged'] for run in ran):.1f} s"
        measured += f", widest gap {shown(max(run['gap_here'] for run in ran), '{:.2%}')}"
    return [f"{name}: {instances[0].goal}", measured, verdict([reached(r) for r in runs], len(instances) * len(SEEDS))]


def goal_ratio(runs, what, peer, most, planned):
    both = pairs(runs, peer)
    share = ratio(both, what)
    whole = len(both) >= planned and all(a["limit"] == GOALS[problem(a["instance"])].limit for a, _ in both)
    name = "time" if what == "charged" else "gap"
    return [
        f"geometric mean {name} at most {most:.2f} of {peer}'s",
        "none on both" if share is None else f"{share:.3f} over {len(both)} runs",
        ("yes" if share <= most else "no") if whole else "open",
    ]


def goal_ahead(instance, runs):
    leads, answers = [], []
    for ours, theirs in pairs([run for run in runs if problem(run["instance"]) == problem(instance)], RFE):
        if theirs["incumbent"] is None:
            answers.append(None)
            continue
        leads.append(-math.inf if ours["incumbent"] is None else 1 - ours["incumbent"] / theirs["incumbent"])
        met = leads[-1] >= instance.ahead - ROUNDING
        answers.append(None if not met and ours["limit"] < instance.limit else met)
    what = f"at least {instance.ahead:.1%} better than" if instance.ahead else "as good as"
    measured = f"better by {min(leads):.2%} to {max(leads):.2%}" if leads else "no run with both"
    return [f"{instance.name}: incumbent {what} RFE's", measured, verdict(answers, len(SEEDS))]


def goals(runs):
    """Return the rows of the table of goals: group, goal, measured, reached."""
    rows = []
    for group in sorted({run["group"] for run in runs}):
        part, members = of(runs, group=group), [i for i in INSTANCES if i.group == group]
        ours, planned = of(part, contender=OURS), len(members) * len(SEEDS)
        found = [goal_proof(some, ours) for some in ([members] if group == 1 else [[m] for m in members])]
        found += [goal_ratio(part, what, peer, most, planned) for g, what, peer, most in RATIOS if g == group]
        found += [goal_ahead(instance, part) for instance in members if instance.ahead is not None]
        if group == 2:
            scip = [r for r in of(part, contender="SCIP", ran=True) if problem(r["instance"]) in map(problem, TOO_HARD)]
            proofs = [None if r["limit"] < 60 and not r["proven"] else not r["proven"] for r in scip]
            names = " nor ".join(i.name for i in TOO_HARD)
            measured = f"{sum(run['proven'] for run in scip)} of {len(scip)} runs proven"
            found.append([f"SCIP proves neither {names} in 60 s", measured, verdict(proofs, 2 * len(SEEDS))])
        if group in MEMORY:
            peaks = [run["peak_mb"] for run in of(ours, ran=True) if run["peak_mb"]]
            measured = f"{max(peaks):.0f} MB" if peaks else "-"
            within = verdict([peak < MEMORY[group] for peak in peaks], planned)
            found.append([f"peak memory under {MEMORY[group]} MB", measured, within])
        timed = [run for run in ours if run.get("overhead") is not None]
        if timed:
            whole = sum(run["seconds"] for run in timed)
            share = sum(run["seconds"] * run["overhead"] for run in timed) / whole
            measured = f"{share:.1%} of {whole:.0f} s; worst run {max(run['overhead'] for run in timed):.1%}"
            within = verdict([share < OVERHEAD] * len(timed), planned)
            found.append([f"overhead under {OVERHEAD:.0%} of the group's seconds", measured, within])
        rows += [[group, *row] for row in found]
    return rows


def table_means(runs):
    header = ["contender", "runs", "proven", "mean s", "ours / its", "mean gap", "mean above best", "WRONG"]
    rows = []
    for name in runs[0]["instance"].contenders:
        ran = of(runs, contender=name, ran=True)
        exact, above = name in EXACT, [run["above"] for run in ran if run["above"] is not None]
        rows.append(
            [
                name,
                len(ran),
                sum(run["proven"] for run in ran) if exact else "-",
                shown(geometric_mean(ran, "charged" if exact else "seconds")),
                shown(ratio(pairs(runs, name), "charged") if exact else None),
                shown(geometric_mean(ran, "gap_here") if exact else None, "{:.2%}"),
                shown(statistics.fmean(above) if above else None, "{:.3%}"),
                sum(bool(run["wrong"]) for run in ran),
            ]
        )
    return report.table(header, rows)


def table_runs(runs):
    header = [
        "instance",
        "limit",
        "contender",
        "proven",
        "seconds",
        "gap",
        "above best",
        "peak MB",
        "overhead",
        "nodes",
    ]
    header += ["goal", "notes"]
    rows, notes = [], []
    for instance in dict.fromkeys(run["instance"] for run in runs):
        for name in instance.contenders:
            all_of_it = of(runs, instance=instance, contender=name)
            ran, exact = of(all_of_it, ran=True), name in EXACT
            remarks = [f"WRONG: {what}" for what in sorted({what for run in ran for what in run["wrong"]})]
            for run in all_of_it:
                if run["outcome"] != "finished":
                    why = f"{name}, {run['outcome']} {run.get('message', '')}".strip()
                    if why not in notes:
                        notes.append(why)
                    remarks.append(f"({notes.index(why) + 1})")
            if not all_of_it:
                remarks.append("not run")
            goal = ""
            if name == OURS and all_of_it:
                goal = f"{GOALS[problem(instance)].goal}: {verdict([reached(r) for r in all_of_it], len(all_of_it))}"
            rows.append(
                [
                    instance.name,
                    f"{instance.limit:g}" if exact else f"{HEURISTIC_LIMIT:g}",
                    name,
                    f"{sum(run['proven'] for run in ran)}/{len(ran)}" if exact and ran else "-",
                    shown(middle(ran, "seconds"), "{:.2f}"),
                    shown(middle(ran, "gap_here"), "{:.2%}"),
                    shown(middle(ran, "above"), "{:.3%}"),
                    shown(middle(ran, "peak_mb"), "{:.0f}"),
                    shown(middle(ran, "overhead"), "{:.0%}"),
                    shown(middle(ran, "nodes"), "{:.0f}"),
                    goal,
                    " ".join(dict.fromkeys(remarks)),
                ]
            )
    return "\n".join([report.table(header, rows), "", *(f"({k}) {why}" for k, why in enumerate(notes, start=1))])


def page(runs):
    """Return the text of all tables."""
    text = ["## Goals", report.table(["group", "goal of ours", "measured", "reached?"], goals(runs))]
    for group in sorted({run["group"] for run in runs}):
        part = of(runs, group=group)
        seeds = ", ".join(str(seed) for seed in sorted({run["seed"] for run in part}))
        text += [f"## Group {group}: n = {part[0]['n']}, seeds {seeds}"]
        text += [
            "Means are geometric but for above best; a run without proof counts with its limit, a gap from 0.01% on.",
            table_means(part),
        ]
        text += [table_runs(part)]
    return "\n\n".join(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="all groups")
    parser.add_argument("--groups", help="those of the full run, such as 1,2")
    parser.add_argument("--seeds", help="such as 0,1,2, which is the default of the full run; 0 of the small one")
    parser.add_argument("--contenders", help=f"some of {','.join(CONTENDERS)}")
    parser.add_argument("--limit", type=float, help="cut every time limit to these seconds, to try it out")
    parser.add_argument("--resume", action="store_true", help="run only what the log beside --out (.jsonl) has not")
    parser.add_argument("--out", type=Path, help="where to write: .json, .md, .jsonl")
    parser.add_argument("--child", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child is not None:
        return child(options.child)
    whole = options.full or options.groups is not None
    groups = [int(group) for group in options.groups.split(",")] if options.groups else range(1, 6)
    instances = [i for i in INSTANCES if i.group in groups] if whole else SMALL
    if options.limit:
        instances = [dataclasses.replace(i, limit=min(i.limit, options.limit)) for i in instances]
    seeds = [int(seed) for seed in options.seeds.split(",")] if options.seeds else SEEDS if whole else SEEDS[:1]
    contenders = options.contenders.split(",") if options.contenders else list(CONTENDERS)
    if unknown := set(contenders) - set(CONTENDERS):
        parser.error(f"no contender {', '.join(sorted(unknown))}: choose among {', '.join(CONTENDERS)}")
    name = "fsp_exact" if whole and not options.limit else "fsp_exact_small"
    out = options.out or Path(__file__).parent / "results" / name
    log = out.with_suffix(".jsonl")
    facts = report.about(
        *PACKAGES, threads_of_each_run=1, gap=GAP, heuristics_limit=HEURISTIC_LIMIT, memory_limit_mb=MEMORY_LIMIT
    )
    run_all(instances, seeds, contenders, log, options.resume)
    runs = judged(log)
    loads = [run["load"] for run in runs if run["load"] is not None]
    facts["runs"] = f"{len(runs)}, from {min(r['date'] for r in runs)} to {max(r['date'] for r in runs)}"
    facts["seeds"] = sorted({run["seed"] for run in runs})
    facts["limits"] = sorted({run["limit"] for run in runs})
    facts["code"] = sorted({str(run["code"]) for run in runs})
    facts["versions of the runs"] = sorted({json.dumps(run["versions"]) for run in runs})
    if loads:
        facts["load when runs began"] = f"{min(loads)} to {max(loads)}, median {statistics.median(loads)}"
    text = page(runs)
    print(text)
    kept = [{name: value for name, value in run.items() if name not in ("instance", "problem")} for run in runs]
    for run in kept:  # infinity is not JSON
        run["gap_here"] = None if run["gap_here"] == math.inf else run["gap_here"]
    report.write(out, "Exact feature selection for the linear SVM", f"{__doc__.strip()}\n\n{text}", facts, runs=kept)


if __name__ == "__main__":
    main()
