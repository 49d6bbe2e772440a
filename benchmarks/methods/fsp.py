"""Methods of Aytug 2015, each over its whole grid; a fit starts from the state that the previous one leaves.

A method is a generator function of (train, validation, M, seed). For each value of its parameter it yields the value,
w, b and facts of the run.

- GBD-M: the paper's algorithm (``benders``), the point with the least validation error of at most 250 iterations.
- GBD-M to the end: the same without a time limit, as in the paper.
- FSP-M, proven: the incumbent of ``branch-and-cut`` on the same model; one memory for all C.
- FSP-M, chosen: the same, but the evaluated selection with the least validation error, as GBD-M chooses.
- GBD-lambda: FSP-lambda by ``benders``; lambda comes from the plain SVM, so that the first master selects M features.
- RFE: one feature at a time; each SVM starts from the previous one (``elimination``) and is proven to 1e-7.
- ONSVM: the dual of its linear program, started from the basis of the previous C; at 1000 x 800 it takes a tenth of the
  time of the primal.
- FSV: successive linear programs from one start, as in SPIDER, then the robust LP on the selected features.
- InfoGain: one ranking, then the plain SVM on the M best features.
- R2W2: one ranking for each C, half of the features dropped at a time, then the plain SVM on the M best features.
"""

import logging
import time
from functools import partial

import numpy as np
import pandas as pd

import fsmodels as fs
from benchmarks.harness.cpu_limit import cpu_limit
from benchmarks.methods.elimination import TOLERANCE, Elimination
from fsmodels import baselines
from fsmodels.baselines import rankings
from fsmodels.models.fsp.oracle import SvmOracle
from solvers import SolutionStatus, StopReason
from solvers.drivers.branch_cut.memory import Memory
from solvers.lp.highs import HighsLP

PRICES = [2.0**k for k in range(-2, 6)]
LAMBDAS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8]  # of FSV; as many values as of C
ITERATIONS, SECONDS = 250, 3.0  # limits of GBD at one C; SECONDS also limits the proof
NONZERO = 1e-6  # relative to the largest weight: a feature with a larger weight is used
CPU_LIMIT = "cpu limit"
NO_LIMIT = 1e6  # CPU seconds
MASTER = {"mip_allow_restart": False}  # restarts of HiGHS take most of the time of small masters

logging.getLogger("pyomo").setLevel(logging.ERROR)  # no warnings about solves that end at a limit


def within(model, driver, *, seconds=SECONDS, **options):
    """Solve with a limit of CPU seconds; return the result (None without one) and facts of the run."""
    start = time.process_time()
    try:
        with cpu_limit(seconds) as limit:
            result = fs.solve(model, driver, threads=1, **options)
    except KeyboardInterrupt:  # the limit was reached before the driver had a result
        if not limit.reached:
            raise
        return None, {"stop": CPU_LIMIT, "cpu": time.process_time() - start}
    at_limit = result.stop_reason is StopReason.INTERRUPTED
    if at_limit and not limit.reached:
        raise KeyboardInterrupt
    return result, {"stop": CPU_LIMIT if at_limit else result.stop_reason.value, "cpu": time.process_time() - start}


def weights(model, result, train):
    """Return w and b of a model; zeros if the run has found no classifier."""
    if result is None or not result.has_solution:
        return np.zeros(train.n_features), 0.0
    return np.array([model.w[name].value for name in train.features]), model.b.value


def benders(model, train, validation, C, seed, **limit):
    """Run the paper's algorithm."""
    model.C = C
    result, facts = within(
        model, "benders", iteration_limit=ITERATIONS, choose_by="validation", validation=validation, seed=seed,
        master_options=MASTER, in_out=False, **limit,
    )  # fmt: skip
    table = [] if result is None else result.iterations
    last = table["Gap"].iloc[-1] if len(table) else None  # of the incumbent, not of the point that validation chooses
    gap = None if pd.isna(last) else float(last)
    return *weights(model, result, train), facts | {"iterations": len(table), "gap": gap}


def gbd_m(train, validation, M, seed, **limit):
    """Solve FSP-M by the paper's algorithm."""
    model = fs.fsp.fsp_m(train, max_features=M)
    for C in PRICES:
        yield C, *benders(model, train, validation, C, seed, **limit)


def gbd_lambda(train, validation, M, seed):
    """Solve FSP-lambda by the paper's algorithm."""
    model = fs.fsp.fsp_lambda(train, penalty=0.0)
    for C in PRICES:
        penalty = baselines.svm_penalty(train, max_features=M, C=C)
        for name in train.features:
            model.penalty[name] = penalty
        yield C, *benders(model, train, validation, C, seed)


def proven(train, validation, M, seed, choose=False):
    """Solve FSP-M by branch-and-cut; ``choose``: return the evaluated selection with the least validation error."""
    choice = {"choose_by": "validation", "validation": validation} if choose else {}
    model, memory = fs.fsp.fsp_m(train, max_features=M), Memory()
    for C in PRICES:
        model.C = C
        result, facts = within(model, "branch-and-cut", memory=memory, **choice)
        facts |= {"gap": None, "proven": False, "nodes": 0}
        if result is not None:
            gap = None if result.gap is None else float(result.gap)
            facts |= {
                "gap": gap,
                "proven": result.status is SolutionStatus.OPTIMAL,
                "nodes": result.details.get("nodes", 0),
            }
        yield C, *weights(model, result, train), facts


def rfe(train, validation, M, seed):
    """Drop the feature with the smallest weight, one at a time.

    While no multiplier is at C, the SVM is the same for larger C, which therefore drop the same features (``same``).
    """
    same = []
    for C in PRICES:
        svm, inside = Elimination(train, C), True
        for feature in same:
            svm.drop(feature)
        while True:
            (w, b), left = svm.solve(), svm.left
            inside = inside and svm.inside
            if len(left) <= M:
                break
            least = left[np.argmin(w[left] ** 2)]
            svm.drop(least)
            same += [least] if inside else []
        yield C, w, b, {}


def one_norm(train, validation, M, seed):
    """Solve (ONSVM), min e'(p + q) + C e'xi, by its dual: max e'a, -e <= A'a <= e, y'a = 0, 0 <= a <= C.

    (w, b) are the multipliers of the rows of the dual.
    """
    n, lp = train.n_features, HighsLP(-np.ones(len(train)), np.zeros(len(train)), np.ones(len(train)))
    sides = np.append(np.ones(n), 0.0)
    lp.add_rows(np.vstack([(train.y[:, None] * train.X).T, train.y]), -sides, sides)
    for C in PRICES:
        lp.set_bounds(np.arange(len(train)), np.zeros(len(train)), np.full(len(train), C))
        price = lp.solve().multipliers
        yield C, -price[:n], -float(price[n]), {}


def fsv(train, validation, M, seed):
    """Run FSV on standardised features; the weights are returned in the units of ``train``."""
    scaled = train.scaled("standard")
    for penalty in LAMBDAS:
        found = fs.select(scaled, "fsv", penalty=penalty, seed=seed, starts=1, linear_start=False)
        classifier = found.refit or found  # there is no refit without features
        w = np.array([classifier.weights_original.get(name, 0.0) for name in scaled.features])
        yield penalty, w / train.scale.factor, classifier.bias_original + float(w @ train.scale.shift), {}


def information_gain(train, validation, M, seed):
    """Fit the SVM on the M features with the largest information gain."""
    best = rankings.information_gain(train).index[:M]
    for C in PRICES:
        yield C, *svm_on(best, train, C), {}


def r2w2(train, validation, M, seed):
    """Fit the SVM on the M features with the largest scales for which radius over margin is least."""
    for C in PRICES:
        yield C, *svm_on(rankings.r2w2(train, C=C, step=0.5).index[:M], train, C), {}


def svm_on(features, train, C):
    """Return w and b of the SVM on some features."""
    sigma = np.isin(train.features, features).astype(float)
    found = SvmOracle(train.X, train.y, C).solve(sigma, tolerance=TOLERANCE)
    return found.w, found.b


METHODS = {
    "GBD-M": gbd_m, "GBD-M to the end": partial(gbd_m, seconds=NO_LIMIT), "FSP-M, proven": proven,
    "FSP-M, chosen": partial(proven, choose=True), "RFE": rfe, "FSV": fsv, "ONSVM": one_norm,
    "InfoGain": information_gain, "R2W2": r2w2, "GBD-lambda": gbd_lambda,
}  # fmt: skip


def error(data, w, b):
    """Return the share of misclassified samples."""
    return float(np.mean(np.where(data.X @ w + b > 0, 1.0, -1.0) != data.y))


def grid(method, parts, M, seed, w_true=None):
    """Run a method over its grid; return a record for each value of its parameter, and the total CPU seconds."""
    train, validation, test = parts
    records, begun = [], time.process_time()
    start = begun
    for value, w, b, facts in METHODS[method](train, validation, M, seed):
        seconds, start = time.process_time() - start, time.process_time()
        used = np.abs(w) > NONZERO * np.abs(w).max(initial=0.0)
        record = {
            "value": value,
            "validation_error": error(validation, w, b),
            "test_error": error(test, w, b),
            "features": int(used.sum()),
            **{k: float(f"{v:.4g}") if isinstance(v, float) else v for k, v in (facts | {"cpu": seconds}).items()},
        }
        if w_true is not None:
            size = np.linalg.norm(w) * np.linalg.norm(w_true)
            record |= {"overlap": int(np.sum(used == (w_true != 0))), "inner": float(w @ w_true / (size or 1.0))}
        records.append(record)
    return records, round(time.process_time() - begun, 2)
