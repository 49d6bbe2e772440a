"""SUB at one support: CPU time of the interior-point oracle, libsvm, liblinear and QP solvers.

python -m benchmarks sub_oracle            # some minutes
python -m benchmarks sub_oracle --full     # also C = 10, and five seeds
python -m benchmarks sub_oracle --page     # only the page, from the log
"""

import statistics
import time
from functools import partial
from itertools import product

import numpy as np
import scipy.sparse as sp
from sklearn.svm import SVC, LinearSVC

from benchmarks.harness.page import Page
from benchmarks.harness.records import with_reference
from fsmodels.models.fsp.oracle import SvmOracle

try:
    import qpsolvers

    INSTALLED = qpsolvers.available_solvers
except ImportError:  # pip install qpsolvers clarabel piqp qpalm proxsuite; only this comparison uses it
    INSTALLED = ()

NAME, OURS, PROTOCOL, REPEATS = "sub_oracle", "oracle", 2, 3
PACKAGES = ("fsmodels", "numpy", "scipy", "scikit-learn", "qpsolvers", "clarabel", "piqp", "qpalm")
FACTS = {"repeats": REPEATS}
SIZES = [(500, 10), (1000, 20), (5000, 50), (5000, 100)]
TIME_LIMIT = 120.0  # seconds of one solve by the oracle or Clarabel
LIBSVM_ITERATIONS = 10_000_000  # libsvm has no time limit
LIBLINEAR_ITERATIONS = 1_000_000
QP_SOLVERS = {  # of qpsolvers, with its default tolerances, or about the accuracy of Clarabel
    "Clarabel": {"solver": "clarabel", "time_limit": TIME_LIMIT, "max_threads": 1},
    "PIQP": {"solver": "piqp", "eps_abs": 1e-8, "eps_rel": 1e-8},
    "QPALM": {"solver": "qpalm", "eps_abs": 1e-6, "eps_rel": 1e-6, "time_limit": TIME_LIMIT},
}


def planted(rows, k, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 2 * k))
    X /= np.linalg.norm(X, axis=1)[:, None]
    truth = rng.choice(2 * k, k, replace=False)
    y = np.where(X[:, truth] @ rng.uniform(-1, 1, k) > 0, 1.0, -1.0)
    return X, y, {"planted": np.sort(truth), "mixed": np.sort(rng.choice(2 * k, k, replace=False))}


def run_oracle(X, y, C):
    answer = SvmOracle(X, y, C).solve(np.ones(X.shape[1]), tolerance=1e-7, time_limit=TIME_LIMIT)
    return answer.w, answer.b, answer.iterations


def run_libsvm(X, y, C, *, tolerance):
    svc = SVC(kernel="linear", C=C, tol=tolerance, cache_size=1000, max_iter=LIBSVM_ITERATIONS).fit(X, y)
    return svc.coef_[0], float(svc.intercept_[0]), int(svc.n_iter_.sum())


def run_liblinear(X, y, C):
    """Fit by dual coordinate descent; liblinear adds b^2 / 2 to the objective, so that its solution is another one."""
    svc = LinearSVC(loss="hinge", dual=True, C=C, tol=1e-5, max_iter=LIBLINEAR_ITERATIONS, random_state=0).fit(X, y)
    return svc.coef_[0], float(svc.intercept_[0]), int(svc.n_iter_)


def run_qp(X, y, C, *, solver, **options):
    """Solve the QP of the SVM, with bounds on the slacks, by a solver of qpsolvers."""
    rows, k = X.shape
    P = sp.block_diag([sp.eye(k), sp.csc_matrix((rows + 1, rows + 1))], format="csc")
    q = np.concatenate([np.zeros(k + 1), np.full(rows, C)])
    G = sp.hstack([sp.csc_matrix(-y[:, None] * X), sp.csc_matrix(-y[:, None]), -sp.eye(rows)], format="csc")
    least = np.concatenate([np.full(k + 1, -np.inf), np.zeros(rows)])
    problem = qpsolvers.Problem(P, q, G, -np.ones(rows), lb=least)
    x = qpsolvers.solve_problem(problem, solver, verbose=False, **options).x
    return (np.full(k, np.nan), np.nan, None) if x is None else (x[:k], float(x[k]), None)


CONTENDERS = {
    OURS: run_oracle,
    "libsvm 1e-3": partial(run_libsvm, tolerance=1e-3),
    "libsvm 1e-5": partial(run_libsvm, tolerance=1e-5),
    "liblinear": run_liblinear,
    **{name: partial(run_qp, **options) for name, options in QP_SOLVERS.items() if options["solver"] in INSTALLED},
}


def measure(run, X, y, C, bound):
    """Return median CPU seconds, the relative gap of (w, b), and iterations."""
    seconds = []
    for _ in range(REPEATS):
        start = time.process_time()
        w, b, iterations = run(X, y, C)
        seconds.append(time.process_time() - start)
        if seconds[0] > 20:  # slow runs are not repeated
            break
    value = 0.5 * w @ w + C * np.maximum(0, 1 - y * (X @ w + b)).sum()
    accuracy = float((value - bound) / value) if np.isfinite(value) else None
    return {"seconds": statistics.median(seconds), "accuracy": accuracy, "iterations": iterations}


def tasks(full):
    prices, seeds = ((1, 10, 32), range(5)) if full else ((1, 32), range(3))
    return [
        {"samples": size, "features": k, "C": C, "support": kind, "seed": seed, "contender": name, "protocol": PROTOCOL}
        for seed, (size, k), C, kind, name in product(seeds, SIZES, prices, ("mixed", "planted"), CONTENDERS)
    ]


def work(samples, features, C, support, seed, contender, protocol):
    """Solve one instance by one method."""
    X, y, supports = planted(samples, features, seed)
    X = X[:, supports[support]]
    bound = SvmOracle(X, y, C).solve(np.ones(features), tolerance=1e-10).bound
    return measure(CONTENDERS[contender], X, y, C, bound)


def page(log):
    """Return the page."""
    names = ("samples", "features", "C", "support", "seed")
    runs = log.entries(*names, "contender", "protocol")
    for run, ours in with_reference(runs, names, contender=OURS):
        run["times"] = run["seconds"] / ours["seconds"] if ours else None
    page = Page(NAME, globals(), runs=runs)
    page.key("runs", *names, "contender")
    page.part("seconds", len(runs), sum(task["contender"] not in QP_SOLVERS for task in tasks(False)))  # not everywhere
    peers = [name for name in dict.fromkeys(run["contender"] for run in runs) if name != OURS]
    beside = [run["times"] for run in runs if run["contender"] != OURS and run["times"]]
    kinds = list(dict.fromkeys(tuple(run[name] for name in names[:-1]) for run in runs))
    kinds.sort(key=lambda kind: (SIZES.index(kind[:2]), kind[2:]))
    kinds = [
        ([f"{kind[0]} x {kind[1]}", f"{kind[2]:g}", kind[3]], dict(zip(names, kind, strict=False))) for kind in kinds
    ]
    others = [name for name in QP_SOLVERS if name in peers]
    form = "{gmean:.1f} ({least:.1f} to {most:.1f})"
    slower = ", ".join(f"{peer} {page.number('times', form, contender=peer)}" for peer in peers)
    page.values(faster=sum(times > 1 for times in beside), comparisons=len(beside))
    return page.values(others=others, slower=slower, peers=peers, kinds=kinds)
