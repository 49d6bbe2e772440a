"""Exact sparse classifiers compared with El0ps, and on instances of Bertsimas, Pauphilet and Van Parys, by CPU time.

    python -m benchmarks sparse_rivals            # both parts, 20 CPU s per run: a quarter of an hour
    python -m benchmarks sparse_rivals --full     # more sets and sizes, 300 and 60 CPU s per run
    python -m benchmarks sparse_rivals --page     # only the page, from the log

El0ps needs ``pip install el0ps mpich``, abess ``pip install abess``.
"""

import functools
import math
import time

import numpy as np
from sklearn.svm import LinearSVC

import fsmodels as fs
from benchmarks.comparisons.best_known import GAP, GUROBI_LICENCE, WHOLE_FORM, evaluate_runs
from benchmarks.harness.cpu_limit import cpu_limit, limited_solve
from benchmarks.harness.page import Cell, Page
from benchmarks.harness.records import rows_of
from benchmarks.methods import heuristics
from fsmodels.datasets.synthetic import bertsimas
from fsmodels.models.fsp.oracle import SvmOracle

NAME, PROTOCOL = "sparse_rivals", 2
BETA, LIMIT, FULL_LIMITS = 0.5, 20.0, (300.0, 60.0)  # CPU seconds; with --full, of both parts
C = 1 / (2 * BETA)
SETS, FULL_SETS = ["cleveland", "wpbc", "wdbc", "ionosphere"], ["sonar", "german_numeric"]
SHARES = (0.03, 0.01, 0.003)
SIZES, FULL_SIZES, RELEVANT = (500, 1000), (2000, 5000), (10, 30)


def clocked(solve):
    """Return CPU seconds, wall-clock seconds and the result of a call."""
    cpu, wall = time.process_time(), time.perf_counter()
    answer = solve()
    return time.process_time() - cpu, time.perf_counter() - wall, answer


def solved(model, solver, limit):
    found, record = limited_solve(model, solver, limit, gap=GAP)
    return record | {"size": len(found.selected or ())}


def ours_priced(data, price, limit):
    model = fs.fsp.fsp_lambda(data, penalty=price, C=C, loss="squared-hinge", intercept=False)
    return solved(model, "branch-and-cut", limit)


def el0ps(data, price, limit):
    from el0ps.datafit import Squaredhinge
    from el0ps.penalty import L2norm
    from el0ps.solver import BnbSolver

    solver, A = BnbSolver(relative_gap=GAP), np.asfortranarray(data.X)
    penalty, datafit, y = L2norm(BETA), Squaredhinge(data.y.copy()), data.y
    with cpu_limit(limit) as end:  # El0ps returns its incumbent after SIGINT, with the status "optimal"
        cpu, wall, found = clocked(lambda: solver.solve(datafit, penalty, A, price / C))
    x, used = found.x, np.flatnonzero(found.x)
    slacks = np.maximum(0.0, 1 - y * (A @ x))
    value = float(slacks @ slacks + price / C * used.size + BETA * x @ x)
    assert math.isclose(value, found.objective_value, rel_tol=1e-9), (value, found.objective_value)
    sigma = np.zeros(A.shape[1])
    sigma[used] = 1.0
    best = SvmOracle(A, y, C, "squared-hinge", free_b=False).solve(sigma, tolerance=1e-9).value + price * used.size
    # Both solvers must solve the same problem: on its support our optimum equals its objective up to its gap of 1e-4.
    closed = str(found.status) == "optimal" and not end.reached
    assert best <= C * value * (1 + 1e-9), (best, C * value)
    assert not closed or C * value <= best * (1 + 10 * GAP), (best, C * value)
    return {
        "cpu": cpu, "wall": wall, "objective": C * value, "bound": None, "size": int(used.size),
        "status": "optimal" if closed else "feasible", "nodes": found.iter_count,
    }  # fmt: skip


@functools.cache
def first(contender):
    """Return the CPU seconds of the first solve of a method in this process, which includes loading and compilation."""
    if contender == "El0ps":
        rng = np.random.default_rng(0)
        X = rng.normal(size=(30, 5))
        data = fs.Dataset.from_arrays(X, np.where(X[:, 0] + 0.1 > 0, 1.0, -1.0)).scaled("none")
        return clocked(lambda: el0ps(data, 1.0, 60))[0]
    model = fs.fsp.fsp_lambda(fs.load_dataset("wdbc").scaled("standard"), penalty=5.0, C=C, loss="squared-hinge")
    return clocked(lambda: fs.solve(model, time_limit=300))[0]


def ours_limited(data, k, price, limit):
    model = fs.fsp.fsp_m(data, max_features=k, C=price, intercept=False, form="rmp")
    return solved(model, "branch-and-cut", limit)


def scip(data, k, price, limit):
    return solved(fs.fsp.fsp_m(data, max_features=k, C=price, intercept=False, form="big-m"), "scip", limit)


def abess(data, k, price, limit, *, intercept=False):
    return proposed(data, price, lambda: heuristics.abess(data.X, data.y, k, fit_intercept=intercept), intercept)


def l1(data, k, price, limit):
    return proposed(data, price, lambda: l1_path(data.X, data.y, k, np.geomspace(1e-4, 1, 40), fit_intercept=False))


def l1_path(X, y, count, costs, *, fit_intercept=True):
    """Return the largest weights at the first cost of a path with enough weights."""
    for cost in costs:
        svm = LinearSVC(penalty="l1", dual=False, C=cost, fit_intercept=fit_intercept, tol=1e-3).fit(X, y)
        if np.count_nonzero(svm.coef_) >= count:
            break
    return np.argsort(-np.abs(svm.coef_.ravel()))[:count]


def proposed(data, price, select, intercept=False):
    """Measure a heuristic, and evaluate the support that it selects."""
    cpu, wall, support = clocked(select)
    oracle = SvmOracle(data.X[:, support], data.y, price, free_b=intercept)
    record = {"cpu": cpu, "wall": wall, "objective": oracle.solve(np.ones(len(support)), tolerance=1e-6).value}
    return record | {"bound": None, "size": len(support), "status": "heuristic"}


OURS, RIVAL, SCIP = "ours", "El0ps", "SCIP"
PRICED = {OURS: ours_priced, RIVAL: el0ps}
LIMITED = {OURS: ours_limited, SCIP: scip, "abess": abess, "l1": l1}
CELL = ("part", "data", "share", "n", "k")
PACKAGES = ("fsmodels", "pyomo", "numpy", "scipy", "el0ps", "pyscipopt", "abess", "scikit-learn")
FACTS = {"gap": GAP}


def tasks(full):
    sets, sizes = (SETS + FULL_SETS, SIZES + FULL_SIZES) if full else (SETS, SIZES)
    limits = FULL_LIMITS if full else (LIMIT, LIMIT)
    end = [{"limit": limit, "protocol": PROTOCOL} for limit in limits]
    one = [{"part": 1, "data": name, "share": share} for name in sets for share in SHARES]
    two = [{"part": 2, "n": n, "k": k} for n in sizes for k in RELEVANT]
    return [
        *({"part": 0, "contender": name, "protocol": PROTOCOL} for name in PRICED),
        *(cell | {"contender": name} | end[1] for cell in two for name in LIMITED),
        *(cell | {"contender": name} | end[0] for cell in one for name in PRICED),
    ]


def work(part, contender, protocol, limit=None, **cell):
    """Solve one problem by one method."""
    try:
        if part < 2 or contender == OURS:
            seconds = first(contender)
        if part == 0:
            return {"cpu": seconds}
        if part == 1:
            data = fs.load_dataset(cell["data"]).scaled("standard")
            return PRICED[contender](data, cell["share"] * C * data.n_samples, limit)
        n, k = cell["n"], cell["k"]
        train = bertsimas(n, n_relevant=k, seed=n + k).train.scaled("none")
        return LIMITED[contender](train, k, fs.datasets.synthetic.bertsimas_price(train, k), limit)
    except fs.errors.Error as error:
        return print(error)


def page(log):
    """Return the page."""
    entries = log.entries(*CELL, "contender", "limit", "protocol")
    firsts, runs = ([entry for entry in entries if bool(entry["part"]) == part] for part in (False, True))
    fields, pairs = (*CELL, "limit"), {}  # pairs: cell with a penalty -> method -> its run
    for run in runs:
        if run["part"] == 1:
            pairs.setdefault(tuple(run.get(name) for name in fields), {})[run["contender"]] = run
    both = [pair for pair in pairs.values() if RIVAL in pair]
    killed = {"contender": RIVAL, "cpu": None, "objective": None, "bound": None, "status": "killed"}
    runs += [dict(zip(fields, cell, strict=True)) | killed for cell, pair in pairs.items() if RIVAL not in pair]
    evaluate_runs(runs, fields)
    page = Page(NAME, globals(), runs=runs, first=firsts)
    page.key("runs", *CELL, "contender", "limit")
    page.part("runs", len(entries), len(tasks(False)))
    first, second = (
        sum(run["proven"] for run in runs if (run["part"], run["contender"]) == (1, name)) for name in PRICED
    )
    improved = [run["above"] for run in runs if run["status"] == "optimal" and not run["proven"]]
    page.values(whole_form=WHOLE_FORM, licence=GUROBI_LICENCE)
    return page.values(
        often="as often as" if first == second else "more often than" if first > second else "less often than",
        limited=page.number("proven", "in {total:.0f} of {n}", part=2, contender=OURS),
        faster=f"{sum(pair[OURS]['cpu'] < pair[RIVAL]['cpu'] for pair in both)} of {len(both)}",
        killed=len(pairs) - len(both),
        improved=improved,
    )


def cells(page, part, names, columns):
    """Return the table of a part; a + marks runs that ended at the limit, a * reported optima that are none."""
    forms = {"cpu": "{mean:.2f}", "gap": "{mean:.1%}", "above": "{mean:.2%}"}
    runs = [run for run in page.records["runs"] if run["part"] == part]
    rows = []
    for (limit, *texts), where in rows_of(runs, ("limit", *names)):
        row = [*texts, f"{limit:g}"]
        for contender, values in columns.items():
            here = where | {"part": part, "contender": contender}
            seconds, *rest = (Cell("runs", value, forms[value], here) for value in values)
            open_runs = [run for run in runs if here.items() <= run.items() and not run["proven"]]
            row += [[seconds, *({"feasible": "+", "optimal": "*"}.get(run["status"], "") for run in open_runs)], *rest]
        rows.append(row)
    heads = {"cpu": "{} s", "gap": "gap", "above": "above"}
    titles = [heads[value].format(contender) for contender, values in columns.items() for value in values]
    return page.table([*names, "limit s", *titles], rows)
