"""Bradley, Mangasarian and Street 1998: FSS, FSV, FSB and OBD on the paper's two problems, tables 1-3, figures 1-8.

    python benchmarks/concave_tables.py                     # one fold seed, one start each: about eight minutes
    python benchmarks/concave_tables.py --full              # five fold seeds, all starts: about two hours
    python benchmarks/concave_tables.py --full --resume     # goes on after an interruption, or with another method
    python benchmarks/concave_tables.py --backend dask      # any backend of joblib that is installed

One task is one data set, scaling, method, fold seed and fold: it builds the model once and changes ``model.penalty``
over the grid. Every task is a line of the .jsonl file beside the results, and runs on one thread.

Data, each with six random features rnd1..rnd6 (seeded):

- WPBC: shipped as "wpbc24", 28 patients whose cancer recurred within 24 months against 127 who were followed for
  longer without recurrence, 32 features; the paper has 28/119 and does not say which are left out. Random features
  are whole numbers floor(3500 U) + 1.
- Ionosphere: 225/126, 34 features; random features are uniform on [-1, 1].

Each raw ("none", as the paper seems to have it) and standardised by the training part of each fold.

Protocol: tenfold stratified cross-validation over lambda in {0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.10, ..., 0.95}; for
OBD delta_1 = 0.01 and delta_2 = nu max D with nu over the same grid. The classifier is always the robust LP (5)
refitted on the selected features; where none is selected it is the majority class of the training part. "Correctness"
is the mean of the folds' shares of correct labels, "balanced" the mean of the two classes' shares over all folds
together. Means and standard errors are over fold seeds, each a division of the data into ten parts: the errors tell
how much the division matters, not how other patients would fare.

A feature is selected where |w_j| max_i |x_ij| is above 1e-6 of the largest and above 1e-6: a margin is 1, so less than
that is rounding, and a model with w of 1e-14 is empty.

"One start" is one random start, as in the paper (v in [0, 1]; its [-1, 1] is infeasible), another one for every fold.
FSV also runs from the LP start alone, and with --full from the default starts of "sla" (the LP and random ones), of
which the least objective counts. FSS and FSV by successive linearization (FSS in the paper: MINOS).
"""

import argparse
import dataclasses
import itertools
import json
import math
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import highspy
import joblib
import numpy as np
import pyomo.environ as pyo
import report
from scipy.optimize import linprog
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the clone, not an installed package
import fsmodels as fs
from solvers.drivers.catalogue import DRIVERS
from solvers.drivers.sla import SuccessiveLinearization

GRID = [0.0, 0.005, 0.01, 0.02, 0.03, *(round(0.05 * k, 2) for k in range(1, 20))]
FOLDS, RANDOM = 10, 6
SEEDS = (0, 1, 2, 3, 4)
SCALINGS = ("none", "standard")
LP = "sla"  # on a linear objective it is the linear program itself, and passes it to HiGHS without a file
PACKAGES = ("pyomo", "numpy", "scipy", "scikit-learn", "highspy", "pyscipopt", "joblib")
USED = 1e-6
NEAR = (5.0, 15.0)  # percentage points of error and feature reduction that count as the paper's
SETTLED = 1e-7  # two values of (7) that are the same


# ---- data


def with_random_features(name, low_to_high, draw):
    def load(seed=0):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Ionosphere's second column is constant
            data = fs.load_dataset(name)
        extra = draw(np.random.default_rng(seed), (len(data), RANDOM))
        names = (*data.features, *(f"rnd{k}" for k in range(1, RANDOM + 1)))
        return dataclasses.replace(data, X=np.hstack([data.X, extra]), features=names, scale=None)

    load.what = low_to_high
    return load


DATA = {
    "WPBC": with_random_features("wpbc24", "1..3500", lambda random, size: np.floor(3500 * random.random(size)) + 1),
    "Ionosphere": with_random_features("ionosphere", "[-1, 1]", lambda random, size: random.uniform(-1, 1, size)),
}


# ---- methods


@dataclasses.dataclass(frozen=True)
class Method:
    """``prepare(data, seed)`` builds the model once and returns what solves it at a lambda; ``paper`` is its column."""

    prepare: Callable
    paper: str | None
    driver: str
    small: bool = True  # part of the default run

    @property
    def works(self):
        """Whether its driver is there."""
        return self.driver in DRIVERS


def by_driver(build, driver, **options):
    def prepare(data, seed):
        model = build(data, penalty=0.0)

        def at(penalty):
            model.penalty.set_value(penalty)
            result = fs.solve(model, driver, seed=seed, **options)
            result.selected = selected_in(model, data)
            return result

        return at

    return prepare


def by_suppression(data, seed):
    model = fs.svm.robust_lp(data)

    def at(nu):
        result = fs.obd.suppress(model, data, nu=nu, delta=0.01, solver=LP, seed=seed)
        result.selected = selected_in(model, data)
        return result

    return at


FSV_LP, OBD = "FSV, LP start", "OBD"
FSV_MANY = "FSV, default starts"
ONE = {name: f"{name}, one start" for name in ("FSS", "FSV", "FSB")}
METHODS = {
    ONE["FSS"]: Method(by_driver(fs.concave.fss, "sla", starts=1, linear_start=False), "FSS", "sla"),
    ONE["FSV"]: Method(by_driver(fs.concave.fsv, "sla", starts=1, linear_start=False), "FSV", "sla"),
    FSV_LP: Method(by_driver(fs.concave.fsv, "sla", starts=0), "FSV", "sla"),
    ONE["FSB"]: Method(by_driver(fs.concave.fsb, "alternating", starts=1), "FSB", "alternating"),
    OBD: Method(by_suppression, "OBD", LP),
    FSV_MANY: Method(by_driver(fs.concave.fsv, "sla"), "FSV", "sla", small=False),
}
PAPER = {  # error reduction, feature reduction (percent, tables 1 and 2), seconds (table 3)
    "WPBC": {
        "FSS": (33.7, 87.6, 3.578),
        "FSV": (35.4, 88.2, 3.298),
        "FSB": (8.5, 4.4, 25.965),
        "OBD": (22.9, 80.8, 2.423),
    },
    "Ionosphere": {
        "FSS": (19.1, 50.2, 38.571),
        "FSV": (11.2, 64.4, 11.895),
        "FSB": (15.1, 42.6, 23.630),
        "OBD": (9.2, 65.5, 15.946),
    },
}


def selected_in(model, data):
    """Return the features that the point on the model uses, by the rule above."""
    effects = np.abs([weight.value for weight in model.w.values()]) * np.abs(data.X).max(axis=0)
    return [
        name for name, effect in zip(data.features, effects, strict=True) if effect > USED * max(1.0, effects.max())
    ]


class Refit:
    """The robust LP (5) on a part of the features: one model, the other weights fixed to 0."""

    def __init__(self, data):
        self.data, self.model, self._known = data, fs.svm.robust_lp(data), {}

    def __call__(self, selected):
        """Return (w, b); without features that of the larger class."""
        key = frozenset(selected)
        if key not in self._known:
            self._known[key] = self._solve(key)
        return self._known[key]

    def _solve(self, selected):
        if not selected:
            return np.zeros(len(self.data.features)), 1.0 if self.data.y.sum() >= 0 else -1.0
        for name, weight in self.model.w.items():
            if name in selected:
                weight.unfix()
            else:
                weight.fix(0.0)
        result = fs.solve(self.model, LP)
        if result.status.value != "optimal":
            raise RuntimeError(f"The robust LP on {sorted(selected)} ended as {result.status.value}: {result.message}")
        return np.array([weight.value for weight in self.model.w.values()]), pyo.value(self.model.b)


def is_random(name):
    return name.startswith("rnd")


def counts(data, w, b):
    """Return right and wrong labels of class +1, then of class -1."""
    positive, right = data.y > 0, np.where(data.X @ w + b > 0, 1.0, -1.0) == data.y
    return [int((side & answer).sum()) for side in (positive, ~positive) for answer in (right, ~right)]


def one_fold(spec):
    """Run one method over the grid on one fold; lists in the record are over the grid."""
    with threadpool_limits(1):
        start, cpu = time.perf_counter(), time.process_time()
        fold = DATA[spec["data"]]().folds(FOLDS, seed=spec["seed"])[spec["fold"]]
        train = fold.train.scaled(spec["scaling"])
        held_out = train.apply_scale_to(fold.held_out)
        at, refit = METHODS[spec["method"]].prepare(train, FOLDS * spec["seed"] + spec["fold"]), Refit(train)
        rows = {name: [] for name in ("features", "random", "labels", "linear_programs", "starts", "solve_seconds")}
        notes = {}
        for penalty in GRID:
            result = at(penalty)
            selected = result.selected
            rows["features"].append(len(selected))
            rows["random"].append(sum(map(is_random, selected)))
            rows["labels"].append(counts(held_out, *refit(selected)))
            rows["linear_programs"].append(result.details.get("linear_programs"))
            rows["starts"].append(len(result.details["starts"]) if "starts" in result.details else None)
            rows["solve_seconds"].append(round(result.seconds, 4))
            if "penalty" in result.details:  # mu of FSB, and whether its point is complementary
                told = result.details["penalty"]
                notes.setdefault("mu", []).append(told["value"])
                notes.setdefault("complementary", []).append(bool(told["satisfied"]))
        plain = counts(held_out, *refit(train.features))
        return rows | notes | {
            "plain": plain,
            "majority": counts(held_out, *refit(())),
            "seconds": round(time.perf_counter() - start, 3),
            "cpu_seconds": round(time.process_time() - cpu, 3),
        }  # fmt: skip


# ---- goal (a): the SLA beside its LPs alone

SPEED_GRID = (0.01, 0.05, 0.1, 0.2, 0.4)
BARE = {"default options": {}, "our options": {"presolve": "off", "simplex_strategy": 0, "threads": 1}}


def recorded(model, **options):
    """Return a finished driver and the costs of all its linear programs."""
    driver, costs = SuccessiveLinearization(model, **options), []
    passed = driver.lp.set_cost
    driver.lp.set_cost = lambda cost: (costs.append(np.array(cost)), passed(cost))[1]
    result = driver.solve()
    return driver, costs, result


def solved_bare(driver, costs, options):
    """Solve the same linear programs by highspy alone; return seconds of passing the rows, and of the solves."""
    rows, columns = driver.rows, len(driver.variables)
    start = time.perf_counter()
    highs = highspy.Highs()
    for name, value in {"output_flag": False, **options}.items():
        highs.setOptionValue(name, value)
    infinity = highspy.kHighsInf
    highs.addVars(columns, np.clip(rows.x_lower, -infinity, infinity), np.clip(rows.x_upper, -infinity, infinity))
    matrix = rows.matrix.tocsr()
    highs.addRows(
        matrix.shape[0],
        np.clip(rows.lower, -infinity, infinity),
        np.clip(rows.upper, -infinity, infinity),
        matrix.nnz,
        matrix.indptr[:-1].astype(np.int32),
        matrix.indices.astype(np.int32),
        matrix.data.astype(float),
    )
    passed, index, iterations = time.perf_counter(), np.arange(columns, dtype=np.int32), 0
    for cost in costs:
        highs.changeColsCost(columns, index, cost)
        highs.run()
        if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            raise RuntimeError(f"HiGHS alone ended as {highs.getModelStatus()}")
        np.array(highs.getSolution().col_value)
        iterations += int(highs.getInfo().simplex_iteration_count)
    return passed - start, time.perf_counter() - passed, iterations


def speed(repeats):
    """Time FSV runs at Ionosphere's size against the bare LPs, repeats interleaved, the fastest of each."""
    found = []
    with threadpool_limits(1):
        for scaling in SCALINGS:
            data = DATA["Ionosphere"]().scaled(scaling)
            model = fs.concave.fsv(data, penalty=0.05)
            kinds = [("LP start", {"starts": 0})]
            kinds += [(f"random start {k}", {"starts": 1, "linear_start": False, "seed": k}) for k in range(2)]
            for (kind, options), penalty in itertools.product(kinds, SPEED_GRID):
                model.penalty.set_value(penalty)
                driver, costs, result = recorded(model, **options)
                times = {name: [] for name in ("sla", "loop", *BARE, *(f"{name}, solves" for name in BARE))}
                pivots = {}
                for _ in range(repeats):
                    start = time.perf_counter()
                    again = fs.solve(model, "sla", **options)
                    times["sla"].append(time.perf_counter() - start)
                    times["loop"].append(again.details["seconds"]["subproblem"])
                    for name, settings in BARE.items():
                        passing, solving, pivots[name] = solved_bare(driver, costs, settings)
                        times[name].append(passing + solving)
                        times[f"{name}, solves"].append(solving)
                least = {name: round(min(values), 5) for name, values in times.items()}
                found.append(
                    {
                        "scaling": scaling,
                        "start": kind,
                        "penalty": penalty,
                        "linear_programs": result.details["linear_programs"],
                        "features": len(result.selected),
                        "seconds": least,
                        "ratio": {name: least["sla"] / least[name] for name in BARE},
                        "loop_ratio": {name: least["loop"] / least[f"{name}, solves"] for name in BARE},
                        "simplex_iterations": pivots,
                    }
                )
    return found


# ---- goal (c): small instances whose optimum of (7) is known

SMALL = {"n": 8, "l": 60, "penalties": (0.02, 0.05, 0.1, 0.2), "starts": 5}


def small_instance(seed):
    """Draw Gaussian features, three of which decide the label but for one label in ten; standardised."""
    random = np.random.default_rng([seed, SMALL["n"], SMALL["l"]])
    X = random.standard_normal((SMALL["l"], SMALL["n"]))
    side = X[:, :3] @ random.choice([-1.0, 1.0], 3) + 0.3 * random.standard_normal(SMALL["l"])
    y = np.where(side > 0, 1.0, -1.0)
    y[random.random(SMALL["l"]) < 0.1] *= -1
    return fs.Dataset.from_arrays(X, y, name=f"small{seed}").scaled("standard")


def errors_of_supports(data):
    """Return the optimum of (5) for every set of features, by scipy from the data alone."""
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


def small_methods():
    starts = range(SMALL["starts"])
    table = {}
    for name, build in (("FSV", fs.concave.fsv), ("FSS", fs.concave.fss)):
        table[name, "LP start"] = [(build, "sla", {"starts": 0})]
        table[name, "one random start"] = [
            (build, "sla", {"starts": 1, "linear_start": False, "seed": k}) for k in starts
        ]
        table[name, "default starts"] = [(build, "sla", {})]
    if METHODS[ONE["FSB"]].works:
        table["FSB", "one random start"] = [(fs.concave.fsb, "alternating", {"starts": 1, "seed": k}) for k in starts]
        table["FSB", "default starts"] = [(fs.concave.fsb, "alternating", {})]
    return table


def one_small(spec):
    """Run every method at every lambda on one small instance; values are those of (7) after the refit."""
    with threadpool_limits(1):
        begun, data = time.perf_counter(), small_instance(spec["instance"])
        errors = errors_of_supports(data)
        exact, models, rows = fs.concave.fs(data, penalty=0.02), {}, []
        for penalty in SMALL["penalties"]:
            values = {s: (1 - penalty) * e + penalty * len(s) for s, e in errors.items()}
            best = min(values, key=values.get)
            exact.penalty.set_value(penalty)
            scip = fs.solve(exact, "scip", gap=1e-9, threads=1)
            runs = []
            for (method, start), calls in small_methods().items():
                for build, driver, options in calls:
                    if method not in models:
                        models[method] = build(data, penalty=0.02)
                    models[method].penalty.set_value(penalty)
                    fs.solve(models[method], driver, **options)
                    chosen = selected_in(models[method], data)
                    runs.append([method, start, values[frozenset(chosen)], len(chosen)])
            rows.append(
                {
                    "penalty": penalty,
                    "optimum": values[best],
                    "features": len(best),
                    "scip": scip.objective,
                    "scip_status": scip.status.value,
                    "runs": runs,
                }
            )
        return {"rows": rows, "seconds": round(time.perf_counter() - begun, 2)}


# ---- table 3


def seconds_at(repeats, methods):
    """Time one solve at lambda = 0.05 on all samples: building, solving, refit; the fastest of the repeats."""
    found = []
    with threadpool_limits(1):
        for name, scaling, method in itertools.product(DATA, SCALINGS, methods):
            data, times = DATA[name]().scaled(scaling), []
            for _ in range(repeats):
                start = time.perf_counter()
                result = METHODS[method].prepare(data, 0)(0.05)
                Refit(data)(result.selected)
                times.append(time.perf_counter() - start)
            row = {"data": name, "scaling": scaling, "method": method, "seconds": round(min(times), 4)}
            found.append(row | {"features": len(result.selected)})
    return found


# ---- all runs

KINDS = {"fold": one_fold, "small": one_small}


def key(record):
    return tuple(record.get(name) for name in ("kind", "data", "scaling", "method", "seed", "fold", "instance"))


def one_task(spec):
    return spec | KINDS[spec["kind"]](spec)


def fold_tasks(data, scalings, methods, seeds):
    """All of one seed before the next, so that a run that is cut short has whole divisions."""
    names = ("seed", "data", "scaling", "method", "fold")
    grid = itertools.product(seeds, data, scalings, methods, range(FOLDS))
    return [{"kind": "fold", **dict(zip(names, values, strict=True))} for values in grid]


def in_parallel(tasks, options):
    """Yield the records as they come; tasks whose turn comes after the limit are not started."""
    end = math.inf if options.time_limit is None else time.monotonic() + options.time_limit
    queue = (joblib.delayed(one_task)(task) for task in itertools.takewhile(lambda _: time.monotonic() < end, tasks))
    with joblib.parallel_config(backend=options.backend, n_jobs=options.jobs):
        streams = joblib.parallel.get_active_backend()[0].supports_return_generator  # else all come in the end
        yield from joblib.Parallel(
            return_as="generator_unordered" if streams else "list", pre_dispatch="n_jobs", batch_size=1
        )(queue)


def run_all(tasks, options, log, known):
    """Run what neither the log has nor is known; append each record to it; return all."""
    done = {key(r): r for r in known} | ({key(r): r for r in report.read_log(log)} if options.resume else {})
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("".join(json.dumps(record) + "\n" for record in done.values()))
    left = [task for task in tasks if key(task) not in done]
    start, total = time.perf_counter(), 0
    with log.open("a") as file:
        for record in in_parallel(left, options):
            done[key(record)] = record
            file.write(json.dumps(record) + "\n")
            file.flush()
            total += 1
            if total % 20 == 0 or total == len(left):
                print(f"{total}/{len(left)} tasks, {time.perf_counter() - start:.0f} s", flush=True)
    wanted = {key(task) for task in tasks}
    return [record for k, record in done.items() if k in wanted]


def grid_seconds(scaling, options):
    """Time goal (b) with workers that have loaded nothing yet, if the backend starts them afresh."""
    tasks = fold_tasks(DATA, [scaling], [FSV_LP], [0])
    start, load = time.perf_counter(), report.load()
    with joblib.parallel_config(backend=options.backend, n_jobs=options.jobs):
        records = joblib.Parallel()(joblib.delayed(one_task)(task) for task in tasks)
    return {
        "scaling": scaling,
        "seconds": round(time.perf_counter() - start, 2),
        "cpu_seconds": round(sum(record["cpu_seconds"] for record in records), 2),
        "load": load,
        "records": records,
    }


# ---- what the runs say


def standard_error(values):
    return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None


def curve_of(records):
    """Return what one method does on one data set and scaling: lists over the grid, of lists over the seeds."""
    by_seed = {}
    for record in records:
        by_seed.setdefault(record["seed"], []).append(record)
    seeds = sorted(seed for seed, folds in by_seed.items() if len(folds) == FOLDS)
    if not seeds:
        return None
    curve = {"seeds": seeds, "penalty": GRID}
    for name in ("correctness", "balanced", "features", "empty", "random"):
        curve[name] = [[MEASURES[name](by_seed[seed], k) for seed in seeds] for k in range(len(GRID))]
    for name in ("plain", "majority"):
        curve[name] = [statistics.fmean(map(correct, (r[name] for r in by_seed[seed]))) for seed in seeds]
        curve[f"{name}_balanced"] = [balanced(r[name] for r in by_seed[seed]) for seed in seeds]
    of_seeds = [r for seed in seeds for r in by_seed[seed]]
    curve["cpu_seconds"] = sum(r["cpu_seconds"] for r in of_seeds)
    if all(number is not None for r in of_seeds for number in r["linear_programs"]):
        runs = [(r["linear_programs"][k], r["starts"][k]) for r in of_seeds for k in range(1, len(GRID))]
        curve["linear_programs_a_start"] = [number / starts for number, starts in runs if starts]
    if all("mu" in r for r in of_seeds):
        curve["complementary"] = [sum(r["complementary"][k] for r in of_seeds) for k in range(len(GRID))]
        curve["mu"] = [statistics.median(r["mu"][k] for r in of_seeds) for k in range(len(GRID))]
    return curve


def correct(labels):
    return (labels[0] + labels[2]) / sum(labels)


def balanced(folds):
    total = np.sum(list(folds), axis=0)
    return float(0.5 * (total[0] / (total[0] + total[1]) + total[2] / (total[2] + total[3])))


MEASURES = {
    "correctness": lambda folds, k: statistics.fmean(correct(r["labels"][k]) for r in folds),
    "balanced": lambda folds, k: balanced(r["labels"][k] for r in folds),
    "features": lambda folds, k: statistics.fmean(r["features"][k] for r in folds),
    "empty": lambda folds, k: sum(r["features"][k] == 0 for r in folds),
    "random": lambda folds, k: sum(r["random"][k] > 0 for r in folds),
}


def curves_of(records):
    groups = {}
    for record in records:
        if record["kind"] == "fold":
            groups.setdefault((record["data"], record["scaling"], record["method"]), []).append(record)
    found = {group: curve_of(part) for group, part in groups.items()}
    order = {name: k for k, name in enumerate([*DATA, *SCALINGS, *METHODS])}
    return {g: found[g] for g in sorted(found, key=lambda g: [order[name] for name in g]) if found[g]}


def reductions(curve, allowed):
    """Return for each seed the largest reductions (%) against lambda = 0, and the lambda; ties: fewest features."""
    found = []
    for s in range(len(curve["seeds"])):
        wrong = [1 - values[s] for values in curve["correctness"]]
        features = [values[s] for values in curve["features"]]
        ks = [k for k in range(len(GRID)) if k == 0 or allowed(curve, k, s)]
        best = min(ks, key=lambda k: (round(wrong[k], 12), features[k]))
        found.append(
            {
                "error": 100 * (wrong[0] - wrong[best]) / wrong[0],
                "features": 100 * (features[0] - features[best]) / features[0],
                "left": features[best],
                "lambda": GRID[best],
                "balanced": 100 * curve["balanced"][best][s],
                "balanced at 0": 100 * curve["balanced"][0][s],
            }
        )
    return found


def one_lambda(curve):
    """Return the reduction of the mean error at the best single lambda for all seeds, no fold empty."""
    wrong = [1 - statistics.fmean(values) for values in curve["correctness"]]
    ks = [k for k in range(len(GRID)) if k == 0 or not any(curve["empty"][k])]
    best = min(ks, key=lambda k: (round(wrong[k], 12), statistics.fmean(curve["features"][k])))
    return 100 * (wrong[0] - wrong[best]) / wrong[0], GRID[best]


def never_empty(curve, k, s):
    return curve["empty"][k][s] == 0


def not_all_empty(curve, k, s):
    return curve["features"][k][s] >= 1


def pm(values, digits=1):
    """Mean and standard error of values over seeds."""
    error = standard_error(values)
    mean = f"{statistics.fmean(values):.{digits}f}"
    return mean if error is None else f"{mean} ± {error:.{digits}f}"


def percent(values):
    return pm([100 * value for value in values])


def span(values):
    low, high = min(values), max(values)
    return f"{low:g}" if low == high else f"{low:g}..{high:g}"


def table_reductions(curves, name):
    header = ["method", "scaling", "seeds", "paper: error", "features", "error reduction %", "feature reduction %"]
    header += ["as there?", "features left", "lambda", "one lambda for all", "balanced there (at 0)"]
    header += ["some folds empty: error", "features %"]
    rows = []
    for (data, scaling, method), curve in curves.items():
        if data != name:
            continue
        best, some = reductions(curve, never_empty), reductions(curve, not_all_empty)
        paper = PAPER[name][METHODS[method].paper]
        single, where = one_lambda(curve)
        means = [statistics.fmean(r[what] for r in best) for what in ("error", "features")]
        near = abs(means[0] - paper[0]) <= NEAR[0] and abs(means[1] - paper[1]) <= NEAR[1]
        rows.append(
            [
                method,
                scaling,
                len(curve["seeds"]),
                paper[0],
                paper[1],
                *(pm([r[what] for r in best]) for what in ("error", "features")),
                "yes" if near else "no",
                pm([r["left"] for r in best]),
                span([r["lambda"] for r in best]),
                f"{single:.1f} at {where:g}",
                f"{pm([r['balanced'] for r in best])} ({statistics.fmean(r['balanced at 0'] for r in best):.1f})",
                *(pm([r[what] for r in some]) for what in ("error", "features")),
            ]
        )
    return report.table(header, rows)


def table_references(curves):
    """No selection and the majority class, and what the majority class would "reduce"."""
    header = ["data", "scaling", "LP (5), all features: correct %", "balanced %", "majority class: correct %"]
    header += ["balanced %", "error reduction by the majority class %", "by one sample more that is right"]
    rows = []
    for name, scaling in itertools.product(DATA, SCALINGS):
        curve = next((c for g, c in curves.items() if g[:2] == (name, scaling)), None)
        if curve is None:
            continue
        pairs = zip(curve["plain"], curve["majority"], strict=True)
        gain = [100 * (top - plain) / (1 - plain) for plain, top in pairs]
        facts = [percent(curve[what]) for what in ("plain", "plain_balanced", "majority", "majority_balanced")]
        one = 100 / (len(DATA[name]()) * (1 - statistics.fmean(curve["plain"])))
        rows.append([name, scaling, *facts, pm(gain), f"{one:.1f}"])
    return report.table(header, rows)


def gone(curve):
    """Return the smallest lambda without a random feature in any fold, and the one from which on there is none."""
    clean = [not any(values) for values in curve["random"]]
    first = next((GRID[k] for k in range(len(GRID)) if clean[k]), None)
    good = next((GRID[k] for k in range(len(GRID)) if all(clean[k:])), None)
    left = None if first is None else statistics.fmean(curve["features"][GRID.index(first)])
    return first, good, left


def table_random(curves):
    header = ["data", "scaling", "method", "folds", *(f"{x:g}" for x in GRID[:12]), "all gone at", "from then on"]
    header += ["features left there"]
    rows = []
    for (name, scaling, method), curve in curves.items():
        first, good, left = gone(curve)
        kept = [sum(values) for values in curve["random"]]
        ends = ["never" if x is None else f"{x:g}" for x in (first, good)]
        rows.append([name, scaling, method, FOLDS * len(curve["seeds"]), *kept[:12], *ends])
        rows[-1].append("-" if left is None else f"{left:.1f}")
    return report.table(header, rows)


def table_curve(curves, name, scaling):
    methods = {g[2]: curve for g, curve in curves.items() if g[:2] == (name, scaling)}
    rows = []
    for k, penalty in enumerate(GRID):
        cells = []
        for curve in methods.values():
            mark = f" ({sum(curve['empty'][k])} empty)" if any(curve["empty"][k]) else ""
            right, even = percent(curve["correctness"][k]), statistics.fmean(curve["balanced"][k])
            cells.append(f"{statistics.fmean(curve['features'][k]):.1f}: {right}, {100 * even:.1f}{mark}")
        rows.append([f"{penalty:g}", *cells])
    return report.table(["lambda", *methods], rows)


def table_three(rows):
    header = ["method", *(f"{name}, {what}" for name in DATA for what in ("paper", *SCALINGS))]
    text = []
    for method in dict.fromkeys(row["method"] for row in rows):
        cells = [method]
        for name in DATA:
            cells.append(PAPER[name][METHODS[method].paper][2])
            for scaling in SCALINGS:
                own = [r for r in rows if (r["data"], r["scaling"], r["method"]) == (name, scaling, method)]
                cells += [f"{r['seconds']:.3f} ({r['features']})" for r in own]
        text.append(cells)
    return report.table(header, text)


def median_of(rows, what, name):
    return statistics.median(row[what][name] for row in rows)


def table_speed(rows):
    header = ["start", "scaling", "LPs, median (range)", *(f"SLA / bare, {name}" for name in BARE)]
    header += [f"loop / solves, {name}" for name in BARE]
    header += ["SLA ms", "bare ms, default", "worst ratio, default"]
    text = []
    for start, scaling in itertools.product(("LP start", "random start"), SCALINGS):
        part = [row for row in rows if row["start"].startswith(start) and row["scaling"] == scaling]
        programs = [row["linear_programs"] for row in part]
        text.append(
            [start, scaling, f"{statistics.median(programs):g} ({min(programs)}..{max(programs)})"]
            + [f"{median_of(part, 'ratio', name):.2f}" for name in BARE]
            + [f"{median_of(part, 'loop_ratio', name):.2f}" for name in BARE]
            + [f"{1e3 * median_of(part, 'seconds', what):.0f}" for what in ("sla", "default options")]
            + [f"{max(row['ratio']['default options'] for row in part):.2f}"]
        )
    return report.table(header, text)


def small_shares(records):
    """Return (method, start) -> lambda -> [reached, runs, mean excess over the optimum]."""
    shares = {}
    for record in records:
        for row in record["rows"]:
            for method, start, value, _ in row["runs"]:
                cell = shares.setdefault((method, start), {}).setdefault(row["penalty"], [0, 0, 0.0])
                cell[0] += value <= row["optimum"] + SETTLED
                cell[1] += 1
                cell[2] += value / row["optimum"] - 1
    return shares


def table_small(records):
    shares = small_shares(records)
    rows = []
    for (method, start), cells in shares.items():
        reached, runs, excess = (sum(cell[k] for cell in cells.values()) for k in range(3))
        each = [f"{cell[0] / cell[1]:.0%}" for cell in cells.values()]
        rows.append([method, start, runs, *each, f"{reached / runs:.0%}", f"{excess / runs:.1%}"])
    header = ["method", "start", "runs", *(f"lambda {p:g}" for p in SMALL["penalties"]), "all", "mean excess"]
    return report.table(header, rows)


def checks_small(records):
    """Say whether scip agrees with enumeration, and whether a run went below the optimum."""
    rows = [row for record in records for row in record["rows"]]
    agree = sum(row["scip_status"] == "optimal" and abs(row["scip"] - row["optimum"]) <= 1e-6 for row in rows)
    below = sum(value < row["optimum"] - SETTLED for row in rows for _, _, value, _ in row["runs"])
    sizes = [statistics.fmean(r["features"] for r in rows if r["penalty"] == p) for p in SMALL["penalties"]]
    return agree, len(rows), below, sizes


def goals(data):
    """Return the rows of the table of goals."""
    rows = []
    if data["speed"]:
        for start in ("LP start", "random start"):
            part = [row for row in data["speed"] if row["start"].startswith(start)]
            ratios = {name: median_of(part, "ratio", name) for name in BARE}
            measured = ", ".join(f"{ratio:.2f} ({name})" for name, ratio in ratios.items())
            programs = [row["linear_programs"] for row in part]
            low, middle, high = np.percentile(programs, [25, 50, 75])
            text = f"(a) FSV at Ionosphere's size, {start}: SLA run at most 1.5 times its LPs bare"
            rows.append([text, measured, ", ".join("yes" if ratio <= 1.5 else "no" for ratio in ratios.values())])
            expected = "6-9" if start == "LP start" else "3-6"
            shown = f"median {middle:g}, quartiles {low:g} and {high:g}, {min(programs)}..{max(programs)}"
            rows.append([f"(a) LPs of a run, {start}: {expected} expected", shown, "-"])
    for row in data["grid"]:
        text = f"(b) FSV, whole grid x tenfold, both sets, LP start, scaling {row['scaling']}: under 60 s on 2 cores"
        measured = f"{row['seconds']:.0f} s (CPU {row['cpu_seconds']:.0f} s, load {row['load']} before)"
        rows.append([text, measured, "yes" if row["seconds"] < 60 else "no"])
    if data["small"]:
        agree, total, below, _ = checks_small(data["small"])
        met = "yes" if agree == total else "no"
        rows.append(["(c) FS by scip is the enumerated optimum", f"{agree} of {total}", met])
        rows.append(["(c) no run below FS's optimum in (7)", f"{below} below", "no" if below else "yes"])
    return report.table(["goal", "measured", "reached?"], rows)


def page(data, curves, picture):
    text = ["## Goals", goals(data), "## No selection, and no features", table_references(curves)]
    text += [
        "On WPBC the empty model (majority class) beats the LP on all features in correctness, though not in balanced "
        'correctness: any method whose model shrinks to nothing "reduces the error" that much. The best lambda is '
        "therefore taken among those that leave at least one feature in every fold."
    ]
    for number, name in ((1, "WPBC"), (2, "Ionosphere")):
        text += [f"## Table {number}: {name}, largest reduction of cross-validation error"]
        text += [table_reductions(curves, name)]
    text += [
        "Reductions are against the same method at lambda = 0, per fold seed, then averaged. The best lambda is the "
        "one of least cross-validation error, which is then reported, as in the paper: optimistic, the best of "
        f'{len(GRID)} noisy ones. "One lambda for all" takes the lambda that is best on average over the fold seeds. '
        f'"As there?": error within {NEAR[0]:g} and features within {NEAR[1]:g} percentage points of the paper\'s. '
        '"Some folds empty": lambdas with at least one feature on average are admitted, so that empty folds may help.'
    ]
    text += ["## Random features", "Folds that keep any of the six at each lambda (nu for OBD).", table_random(curves)]
    if data["seconds"]:
        text += ["## Table 3: seconds at lambda = 0.05 on all samples (features selected)"]
        text += [table_three(data["seconds"])]
        text += ["Building, solving and refit on one thread, the fastest of three. The paper: GAMS, SparcStation 20."]
    if data["speed"]:
        text += ["## (a) An SLA run and its linear programs alone", table_speed(data["speed"])]
        text += [
            f"FSV on all of Ionosphere with its random features, lambda in {', '.join(map(str, SPEED_GRID))}; the "
            "fastest of several interleaved runs, then medians over lambda. SLA: ``fs.solve``, which reads the model. "
            "Bare: highspy gets the rows and solves the same objectives in turn, each from the last basis; by its "
            "default options, and by ours (no presolve, HiGHS chooses the simplex). Loop / solves: without reading the "
            "model, without passing the rows."
        ]
    if data["small"]:
        agree, of_all, below, sizes = checks_small(data["small"])
        text += ["## (c) How often the global optimum of (7) is found", table_small(data["small"])]
        text += [
            f"{len(data['small'])} instances, n = {SMALL['n']}, l = {SMALL['l']}, Gaussian, three features decide but "
            "for a tenth of the labels, standardised; all 256 supports enumerated. A run counts if (7) after the refit "
            f"is within {SETTLED:g} of the optimum; excess: by how much it is above. Features at the optimum: "
            f"{', '.join(f'{size:.1f}' for size in sizes)} on average. FS by scip agrees on {agree} of {of_all}; "
            f"{below} runs below."
        ]
    if picture:
        text += ["## Figures 1-8", f"![Correctness against number of features]({picture})"]
    text += ["## Curves", "Cells: mean features: correctness % ± standard error, balanced % (folds without a feature)."]
    for name, scaling in dict.fromkeys(group[:2] for group in curves):
        text += [f"### {name}, scaling {scaling}", table_curve(curves, name, scaling)]
    mu = [(group, curve) for group, curve in curves.items() if "mu" in curve]
    if mu:
        text += ["### FSB: folds whose point is complementary at each lambda, and the median mu", table_mu(mu)]
    return "\n\n".join(text)


def table_mu(curves):
    header = ["data", "scaling", "method", "folds", *(f"{x:g}" for x in GRID)]
    rows = []
    for group, curve in curves:
        cells = [f"{n} ({m:g})" for n, m in zip(curve["complementary"], curve["mu"], strict=True)]
        rows.append([*group, FOLDS * len(curve["seeds"]), *cells])
    return report.table(header, rows)


def draw(curves, path):
    """Draw figures 1-8: correctness against number of features, a panel for each method and data set."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    columns = ["FSS", "FSV", "FSB", OBD]
    figure, axes = plt.subplots(len(DATA), len(columns), figsize=(14, 6.5), sharex=True, sharey="row")
    for (i, name), (k, method) in itertools.product(enumerate(DATA), enumerate(columns)):
        ax = axes[i][k]
        ax.set_title(f"{name}, {method}", fontsize=10)
        lines = [(ONE.get(method, method), "-"), *([(FSV_MANY, ":")] if method == "FSV" else [])]
        for (which, style), (scaling, colour) in itertools.product(lines, zip(SCALINGS, ("C1", "C0"), strict=True)):
            curve = curves.get((name, scaling, which))
            if curve is None:
                continue
            x = [statistics.fmean(values) for values in curve["features"]]
            y = [100 * statistics.fmean(values) for values in curve["correctness"]]
            bars = [100 * (standard_error(values) or 0.0) for values in curve["correctness"]]
            label = {"none": "raw", "standard": "standardised"}[scaling] + (", default starts" if style == ":" else "")
            ax.errorbar(x, y, bars, fmt="o" + style, color=colour, markersize=3, linewidth=1, capsize=2, label=label)
            ax.axhline(100 * statistics.fmean(curve["majority"]), color="grey", linewidth=0.8, linestyle="--")
        ax.grid(alpha=0.3)
        if ax.has_data():
            ax.legend(fontsize=7)
        if i == len(DATA) - 1:
            ax.set_xlabel("features")
        if k == 0:
            ax.set_ylabel("tenfold correctness, %")
    figure.suptitle("Tenfold correctness against number of features; dashed: the majority class", fontsize=11)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="five fold seeds, every method")
    parser.add_argument("--seeds", help="fold seeds such as 0,1,2")
    parser.add_argument("--methods", help=f"some of {'; '.join(METHODS)}, separated by semicolons")
    parser.add_argument("--scalings", default=",".join(SCALINGS), help="some of none,standard")
    parser.add_argument("--instances", type=int, help="small instances for (c); 20, by default 6 without --full")
    parser.add_argument("--skip-goals", action="store_true", help="leave out the timings (a), (b) and table 3")
    parser.add_argument("--time-limit", type=float, help="seconds after which no task is started any more")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--backend", default="loky", help="of joblib: loky, multiprocessing, dask, ray")
    parser.add_argument("--resume", action="store_true", help="run only what the log beside --out (.jsonl) has not")
    parser.add_argument("--out", type=Path, help="where to write: .json, .md, .png, .jsonl")
    options = parser.parse_args()
    prepare_backend(options.backend)
    seeds = [int(seed) for seed in options.seeds.split(",")] if options.seeds else SEEDS if options.full else SEEDS[:1]
    usual = [name for name, method in METHODS.items() if options.full or method.small]
    wanted = options.methods.split(";") if options.methods else usual
    if unknown := set(wanted) - set(METHODS):
        parser.error(f"no method {', '.join(sorted(unknown))}: choose among {'; '.join(METHODS)}")
    methods = [name for name in wanted if METHODS[name].works]
    name = "concave_tables" if options.full else "concave_tables_small"
    out = (options.out or Path(__file__).parent / "results" / name).with_suffix("")
    instances = options.instances if options.instances is not None else 20 if options.full else 6
    facts = report.about(*PACKAGES, fold_seeds=list(seeds), jobs=options.jobs, backend=options.backend)
    start = time.perf_counter()
    timings = timed(options, methods, out.with_suffix(".timings.jsonl"))
    scalings = options.scalings.split(",")
    first, others = ([m for m in methods if METHODS[m].small is small] for small in (True, False))
    tasks = fold_tasks(DATA, scalings, first, seeds[:1])  # in the order of use, should the time end
    tasks += [{"kind": "small", "instance": k, "method": small_kind()} for k in range(instances)]
    tasks += fold_tasks(DATA, scalings, others, seeds[:1])
    tasks += fold_tasks(DATA, scalings, first, seeds[1:]) + fold_tasks(DATA, scalings, others, seeds[1:])
    records = run_all(tasks, options, out.with_suffix(".jsonl"), timings.pop("records"))
    facts["seconds of this call"] = round(time.perf_counter() - start, 1)
    facts["tasks"] = f"{len(records)} of {len(tasks)}"
    facts["CPU seconds of the folds"] = round(sum(r["cpu_seconds"] for r in records if r["kind"] == "fold"), 1)
    if missing := [name for name in wanted if name not in methods]:
        facts["not run"] = f"{', '.join(missing)}: the driver is not there"
    curves = curves_of(records)
    small = sorted((r for r in records if r["kind"] == "small"), key=lambda r: r["instance"])
    data = timings | {"small": small}
    draw(curves, out.with_suffix(".png"))
    text = page(data, curves, out.with_suffix(".png").name)
    if len(records) < len(tasks):
        text = (
            f"NOT COMPLETE: {len(records)} of {len(tasks)} tasks are done. Only whole divisions count below (column "
            "seeds); where that is one, there is no standard error. Go on with --resume.\n\n" + text
        )
    print(text)
    listed = [dict(zip(("data", "scaling", "method"), group, strict=True)) | rounded(c) for group, c in curves.items()]
    title = "Feature selection by concave minimisation: the tables of Bradley, Mangasarian and Street 1998"
    report.write(out, title, f"{__doc__.strip()}\n\n{text}", facts, **data, curves=listed)


def timed(options, methods, log):
    """Return (a), (b) and table 3, measured one after the other before anything else runs, and the records of (b)."""
    if options.skip_goals:
        return {"speed": [], "grid": [], "seconds": [], "records": []}
    known = report.read_log(log) if options.resume else []
    if known and known[-1]["methods"] == methods:
        return known[-1]["found"] | {"records": []}
    grid = [grid_seconds(scaling, options) for scaling in SCALINGS[::-1]]
    records = [record for row in grid for record in row.pop("records")]
    found = {"grid": grid, "speed": speed(5 if options.full else 3), "seconds": seconds_at(3, methods)}
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(json.dumps({"methods": methods, "found": found}) + "\n")
    return found | {"records": records}


def small_kind():
    """Name the methods of (c), so that the log tells runs with FSB from runs without."""
    return "+".join(dict.fromkeys(method for method, _ in small_methods()))


def rounded(curve):
    def shorter(x):
        return round(x, 5) if isinstance(x, float) else [shorter(y) for y in x] if isinstance(x, list) else x

    kept = {name: value for name, value in curve.items() if name not in ("penalty", "linear_programs_a_start")}
    if programs := curve.get("linear_programs_a_start"):
        kept["linear_programs_a_start"] = statistics.fmean(programs)
    return {name: shorter(value) for name, value in kept.items()}


def prepare_backend(name):
    """Let joblib know the backend; dask and ray bring their own."""
    if name == "dask":
        from distributed import Client

        Client(processes=True, threads_per_worker=1)
    elif name == "ray":
        from ray.util.joblib import register_ray

        register_ray()


if __name__ == "__main__":
    main()
