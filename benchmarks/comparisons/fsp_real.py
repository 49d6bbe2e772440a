"""Exact feature selection on real tables (FSP-M): proofs in CPU seconds, compared with SCIP and all supports.

python -m benchmarks fsp_real            # wdbc, ionosphere and cleveland at C = 1 and 10: fifteen minutes
python -m benchmarks fsp_real --full     # all sets of at most 60 features and C, also Gurobi's tree: hours
python -m benchmarks fsp_real --page     # only the page, from the log
"""

import itertools
import math
import time
import warnings
from functools import cache, partial

import numpy as np

import fsmodels as fs
from benchmarks.comparisons import sparse_rivals
from benchmarks.comparisons.best_known import GAP, GUROBI_LICENCE, WHOLE_FORM, evaluate_runs
from benchmarks.harness.cpu_limit import limited_solve
from benchmarks.harness.page import Page
from benchmarks.methods import heuristics
from fsmodels.models.fsp.oracle import SvmOracle

NAME, PROTOCOL = "fsp_real", 2
MOST, LIMIT = 200_000, 30.0
PART, MORE = ["cleveland", "ionosphere", "wdbc"], ["bupa", "german_numeric", "sonar", "spambase", "wpbc24"]
SIZES, PRICES, MORE_PRICES = (3, 5, 10), (1.0, 10.0), (0.1,)
PACKAGES = ("fsmodels", "pyomo", "numpy", "scipy", "highspy", "pyscipopt", "gurobipy", "abess")
FACTS = {"gap": GAP, "CPU limit (s)": LIMIT}
OURS, SCIP, LAZY, ALL, ABESS = "ours", "SCIP", "Gurobi lazy", "all supports", "abess"


def by_solver(data, C, M, *, solver, form):
    model = fs.fsp.fsp_m(data, max_features=M, C=C, form=form)
    try:
        return limited_solve(model, solver, LIMIT, gap=GAP)[1]
    except fs.errors.Error as error:  # not installed, or beyond its licence
        return print(error)


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


def by_abess(data, C, M):
    return sparse_rivals.abess(data, M, C, LIMIT, intercept=True)


CONTENDERS = {
    OURS: partial(by_solver, solver="branch-and-cut", form="perspective"),
    SCIP: partial(by_solver, solver="scip", form="big-m"),
    LAZY: partial(by_solver, solver="single-tree", form="perspective"),
    ALL: by_enumeration,
    ABESS: by_abess,
}


@cache
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


def work(data, C, M, contender, limit, protocol):
    """Solve one problem by one method."""
    heuristics.warm_up()
    return CONTENDERS[contender](fs.load_dataset(data).scaled("standard"), C, M)


def page(log):
    """Return the page."""
    cell = ("data", "C", "M")
    runs = evaluate_runs(log.entries(*cell, "contender", "limit", "protocol"), cell)
    few = {tuple(run[name] for name in cell) for run in runs if run["contender"] == ALL}
    for run in runs:
        run["few supports"] = tuple(run[name] for name in cell) in few
        if run["contender"] == ABESS:
            run["proven"] = run["wrong"] = None  # it has no bounds
    page = Page(NAME, globals(), runs=runs)
    page.key("runs", *cell, "contender")
    page.part("runs", len(runs), len(tasks(False)))
    names = [name for name in CONTENDERS if any(run["contender"] == name for run in runs)]
    cells = [
        ([data, f"{C:g}", M], {"data": data, "C": C, "M": M})
        for data, C, M in dict.fromkeys(tuple(run[name] for name in cell) for run in runs)
    ]
    sets = dict.fromkeys(run["data"] for run in runs)
    contenders = [([name], {"contender": name}) for name in names]
    page.values(sets=len(sets), widest=max(map(features, sets)), wrong=sum(bool(run["wrong"]) for run in runs))
    page.values(whole_form=WHOLE_FORM, licence=GUROBI_LICENCE)
    return page.values(names=names, contenders=contenders, cells=cells)
