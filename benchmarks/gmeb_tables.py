"""Peleg and Meir 2005: GMEB beside linear SVM, 1-norm SVM and RFE; tables 3 and 4, figures 1 and 2, and our goals.

    python benchmarks/gmeb_tables.py                    # few repetitions, small sets: a few minutes on two cores
    python benchmarks/gmeb_tables.py --full             # everything: about two hours
    python benchmarks/gmeb_tables.py --full --resume    # goes on after an interruption
    python benchmarks/gmeb_tables.py --shared DIR       # has data/ and data-extra/; sets without a file are left out

One task is one data set, training part, scaling and method. Every task is a line of the .jsonl file beside the results,
and runs on one thread.

Protocol (section 6.2): each method has 49 points; fivefold cross-validation (stratified) on the training part chooses
one, the classifier of all training samples at it is tested. A feature counts when |w_j| or |w_j| / max |w| is at least
0.01.

- GMEB: 7 x 7 values of (R_plus, R_minus), linear from 1 to 10; on type 1 10 x 10, as the paper has it. By
  ``fs.gmeb.path``, relative gap 1e-7.
- Linear SVM, 1-norm SVM: C = L / (1 - L), L = 0.02, 0.04, ..., 0.98. RFE: 7 numbers of features, linear from 1 to d and
  rounded, times 7 values of C by L linear from 0.02 to 0.98. For WDBC, BUPA and Pima C = L in SVM and RFE, as the
  paper has it. RFE drops one feature at a time, from 200 features on 2% of them.
- SVM and RFE: ``sklearn.svm.SVC``; the 1-norm SVM: ``fs.svm.one_norm_svm``, of which C changes between solves.

What the paper leaves open, and is chosen here:

- Scaling. "standard": columns with mean 0 and deviation 1 on the samples that train, in cross-validation those of the
  fold. "none": as the file has them. GMEB's objective is the same for both; what counts as a feature is not, nor
  is the classifier where several have no loss. That the paper had to lower C for convergence, and its SVM's errors on
  type 1, speak for "none" there.
- Ties in cross-validation error go to the smallest C, in RFE first to the fewest features, in GMEB to the least
  R_plus + R_minus.
- n_p = 10: the samples are shuffled and cut into ten; each is the test part once.
- Digits: 0 against the rest, 200 samples for training, several random divisions with the classes in proportion; so for
  the advertisements, of which our file is a part (1966 of 3279 samples, without the 3 continuous columns).
- The noise of type 1: deviation 20, as the paper's text says ("sd 20"), and variance 20, which fits its table.
- Type 1 has 1000 test samples. Its table in the paper seems to give standard deviations: table 3 here does too.
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

import clarabel
import joblib
import numpy as np
import pandas as pd
import pyomo.environ as pyo
import report
from pyomo.contrib.appsi.solvers import Highs
from scipy import sparse
from sklearn.feature_selection import RFE
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the clone, not an installed package
import fsmodels as fs
from fsmodels import synthetic
from fsmodels.models.gmeb.columns import centred
from fsmodels.models.gmeb.grid import selected

SCALINGS = ("standard", "none")
FOLDS, PARTS = 5, 10
TYPE_ONE = (("standard", "sd 20"), ("none", "variance 20"), ("none", "sd 20"))  # standardised there is one noise
R = np.linspace(1.0, 10.0, 7)
PACKAGES = ("pyomo", "numpy", "scipy", "scikit-learn", "highspy", "clarabel", "pyomo-pounce", "joblib")
GOAL = 1e-6  # relative difference of objectives
SVM_LIMIT = 10**6  # iterations of libsvm at one C; only reached on data that are not scaled
NOISES = {"sd 20": 20.0, "variance 20": math.sqrt(20.0)}  # of type 1
MANY = 200  # features from which RFE drops 2% at a time


# ---- data


@dataclasses.dataclass(frozen=True)
class Real:
    """A data set of table 2: its number, its file, training samples if the paper has a test set, and where C = L."""

    number: int
    file: str
    train: int | None = None
    tame: bool = False
    small: bool = False  # part of the default run
    raw: bool = True  # cheap without scaling for every method; GMEB always is


REAL = {
    "WDBC": Real(1, "wdbc", tame=True, small=True, raw=False),
    "Digits": Real(2, "mfeat", train=200, raw=False),
    "Internet ads": Real(3, "data-extra/internet_ads_subset.csv.gz", train=200),
    "Colon": Real(4, "data-extra/colon.csv", raw=False),
    "BUPA": Real(5, "bupa", tame=True, small=True, raw=False),
    "Pima": Real(6, "data/pima.csv", tame=True, raw=False),
    "Cleveland": Real(7, "cleveland", small=True, raw=False),
    "Ionosphere": Real(8, "ionosphere", small=True),
}


def real(name, shared):
    """Return a data set, or None where its file is not there."""
    where = REAL[name].file
    if "/" not in where:
        return fs.load_dataset(where)
    path = Path(shared) / where
    return fs.Dataset.from_csv(path) if path.exists() else None


def parts_of(spec):
    """Return the training and the test part of a task, and what is known of them."""
    kind, rep = spec["kind"], spec["rep"]
    if kind == "type1":
        pair = synthetic.weston(spec["n"], seed=rep, noise=NOISES[spec["noise"]])
        return pair.train, pair.test, {"relevant": pair.relevant}
    if kind == "type2":
        pair = synthetic.peleg_meir(spec["n"], spec["d"], spec["k"], seed=rep)
        return pair.train, pair.test, {"relevant": pair.relevant, "bayes": pair.linear_error}
    entry, data = REAL[spec["data"]], real(spec["data"], spec["shared"])
    if entry.train is None:
        rows, held = list(KFold(PARTS, shuffle=True, random_state=0).split(data.X))[rep]
        return data.take(rows), data.take(held), {}
    share = entry.train / len(data)
    train, _, test = data.split(share, 0.0, 1.0 - share, seed=rep)
    return train, test, {}


# ---- methods: ``fit(data, points)`` returns W (points, features) and b (points)


def linear_svm(data, points):
    found = [SVC(kernel="linear", C=C, max_iter=SVM_LIMIT).fit(data.X, data.y) for (C,) in points]
    return np.vstack([svm.coef_ for svm in found]), np.array([svm.intercept_[0] for svm in found])


def one_norm_svm(data, points):
    model, highs = fs.svm.one_norm_svm(data), Highs()
    watch = highs.update_config  # C alone changes
    for name in ("constraints", "vars", "params"):
        setattr(watch, f"check_for_new_or_removed_{name}", False)
    for name in ("constraints", "vars", "named_expressions", "objective"):
        setattr(watch, f"update_{name}", False)
    highs.highs_options = {"threads": 1}
    W, b = np.zeros((len(points), data.n_features)), np.zeros(len(points))
    for k, (C,) in enumerate(points):
        model.C.set_value(C)
        highs.solve(model)
        W[k], b[k] = [pyo.value(weight) for weight in model.w.values()], pyo.value(model.b)
    return W, b


def rfe(data, points):
    W, b = np.zeros((len(points), data.n_features)), np.zeros(len(points))
    step = max(1, data.n_features // 50) if data.n_features >= MANY else 1
    for C in dict.fromkeys(C for _, C in points):
        left = np.arange(data.n_features)
        for k in sorted((k for k, point in enumerate(points) if point[1] == C), key=lambda k: -points[k][0]):
            svm = SVC(kernel="linear", C=C, max_iter=SVM_LIMIT)  # what is left goes on from one count to the next
            search = RFE(svm, n_features_to_select=points[k][0], step=step).fit(data.X[:, left], data.y)
            left = left[search.support_]
            W[k, left], b[k] = search.estimator_.coef_[0], search.estimator_.intercept_[0]
    return W, b


def gmeb(data, points):
    values = [sorted(set(column)) for column in zip(*points, strict=True)]
    table = fs.gmeb.path(data, R_plus=values[0], R_minus=values[1])
    rows = table.index.get_indexer(points)
    return np.array(table.attrs["weights"])[rows], np.array(table.attrs["bias"])[rows]


def prices(spec, number):
    share = np.linspace(0.02, 0.98, number)
    lower = spec["kind"] == "real" and REAL[spec["data"]].tame
    return (share if lower else share / (1 - share)).tolist()


def svm_points(spec, d):
    return [(C,) for C in prices(spec, 49)]


def one_norm_points(spec, d):
    return [(C,) for C in prices({"kind": "any"}, 49)]


def rfe_points(spec, d):
    counts = dict.fromkeys(np.rint(np.linspace(1, d, 7)).astype(int).tolist())
    return list(itertools.product(counts, prices(spec, 7)))


def gmeb_points(spec, d):
    values = np.linspace(1.0, 10.0, 10 if spec["kind"] == "type1" else 7).tolist()
    return sorted(itertools.product(values, values), key=lambda pair: (sum(pair), pair))


@dataclasses.dataclass(frozen=True)
class Method:
    """``points(spec, d)`` are in the order in which ties are broken."""

    fit: Callable
    points: Callable


METHODS = {
    "SVM": Method(linear_svm, svm_points),
    "1-norm SVM": Method(one_norm_svm, one_norm_points),
    "RFE": Method(rfe, rfe_points),
    "GMEB": Method(gmeb, gmeb_points),
}
PAPER_ONE = {  # test error, deviation, features, deviation
    10: ((46.2, 1.9, 197.1, 2.1), (49.6, 1.9, 77.7, 83.8), (46.1, 8.6, 38.0, 40.7), (33.8, 14.2, 3.7, 2.1)),
    20: ((44.9, 2.1, 196.8, 1.9), (38.5, 12.7, 10.7, 6.1), (30.3, 16.4, 13.3, 34.7), (13.9, 7.2, 4.8, 2.7)),
    30: ((43.6, 1.7, 196.7, 2.8), (27.4, 12.4, 14.5, 8.7), (22.9, 12.3, 9.9, 29.1), (7.1, 5.6, 5.1, 2.3)),
    40: ((41.8, 1.9, 197.2, 1.8), (19.2, 6.9, 16.2, 11.1), (19.4, 8.5, 6.6, 30.7), (5.0, 3.5, 5.5, 2.1)),
    50: ((41.9, 1.8, 196.6, 2.6), (16.0, 5.3, 18.4, 11.3), (16.9, 5.6, 1.0, 0.0), (3.1, 2.7, 5.1, 1.8)),
}
PAPER_TWO = ((30.1, 1.7, 922.9, 11.6), (10.8, 2.3, 6.6, 9.8), (17.8, 1.8, 1.0, 0.0), (11.3, 2.3, 2.8, 1.3))
PAPER_REAL = {
    "WDBC": ((5.3, 0.8, 27.3, 0.3), (4.9, 1.1, 16.4, 1.3), (6.5, 0.9, 17.6, 2.3), (4.2, 0.9, 6.0, 0.3)),
    "Digits": ((0.3, None, 616, None), (3.5, None, 15, None), (5.3, None, 30, None), (0.2, None, 32, None)),
    "Internet ads": ((5.3, None, 322, None), (4.7, None, 12, None), (5.5, None, 46, None), (5.5, None, 98, None)),
    "Colon": ((13.6, 5.9, 1941.8, 1.9), (10.7, 4.4, 23.3, 1.5), (15.2, 5.7, 500.7, 89.6), (10.7, 4.4, 59.1, 25.0)),
    "BUPA": ((33.1, 3.5, 6.0, 0.0), (33.6, 3.6, 5.9, 0.1), (34.2, 3.4, 5.9, 0.1), (34.2, 4.4, 5.4, 0.5)),
    "Pima": ((22.8, 1.5, 5.8, 0.2), (22.9, 1.4, 5.8, 0.2), (23.2, 1.6, 6.7, 0.3), (22.5, 1.8, 4.8, 0.2)),
    "Cleveland": ((17.5, 1.9, 11.6, 0.2), (16.8, 1.6, 10.7, 0.3), (16.8, 2.1, 8.8, 0.6), (15.5, 2.0, 9.1, 0.3)),
    "Ionosphere": ((11.7, 2.6, 32.8, 0.2), (12.0, 2.3, 27.9, 1.6), (14.0, 2.9, 18.8, 2.4), (10.0, 2.3, 12.1, 1.7)),
}


def fitted(method, data, points):
    if len(np.unique(data.y)) < 2:  # a fold of ten samples
        return np.zeros((len(points), data.n_features)), np.full(len(points), data.y[0])
    return METHODS[method].fit(data, points)


def errors(data, W, b):
    return np.mean(np.where(data.X @ W.T + b > 0, 1.0, -1.0) != data.y[:, None], axis=0)


def one_choice(spec):
    """Choose a method's point by cross-validation on the training part, and test its classifier."""
    train, test, known = parts_of(spec)
    method, relevant = spec["method"], known.pop("relevant", None)
    points = METHODS[method].points(spec, train.n_features)
    total = np.zeros(len(points))
    for rows, held in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(train.X, train.y):
        fold = train.take(rows).scaled(spec["scaling"])
        held_out = fold.apply_scale_to(train.take(held))
        total += len(held) * errors(held_out, *fitted(method, fold, points))
    best = int(np.argmin(np.round(total)))  # of equals the first; counts of wrong labels
    scaled = train.scaled(spec["scaling"])
    W, b = fitted(method, scaled, [points[best]])
    chosen = selected(W[0], train.features)
    found = {
        "error": float(errors(scaled.apply_scale_to(test), W, b)[0]),
        "features": len(chosen),
        "point": [round(float(value), 6) for value in points[best]],
        "cv_error": float(total[best] / len(train)),
        "ties": int(np.sum(np.round(total) == np.round(total[best]))),
        **known,
    }
    return found | ({"relevant": len(set(relevant) & set(chosen))} if relevant is not None else {})


# ---- figure 1


FIGURE_ONE = {"I": 2, "II": 10, "III": 20}


def one_surface(spec):
    """Return test error and features over the grid of (R_plus, R_minus), 100 features, 200 samples."""
    pair = synthetic.peleg_meir(200, 100, FIGURE_ONE[spec["data"]], seed=spec["rep"])
    table = fs.gmeb.path(pair.train, R_plus=R, R_minus=R, validation=pair.test, scale="none")
    return {"error": table["validation_error"].tolist(), "features": table["n_selected"].tolist()}


# ---- goals: three ways to the same optimum


class ConeProgram:
    """(15) for Clarabel by scipy, built once: columns w, s, t (features), offset, xi (samples)."""

    def __init__(self, data):
        columns = centred(data)
        keep = columns.v_plus + columns.v_minus > 0
        X, y = columns.X[:, keep], columns.y
        self.n, self.d = n, d = X.shape
        eye, none = sparse.eye_array(d), sparse.csr_array((d, d))
        empty = sparse.csr_array((1, d))
        rows = [
            [-sparse.csr_array(y[:, None] * X), None, None, -y[:, None], -sparse.eye_array(n)],
            [None, None, None, None, -sparse.eye_array(n)],
            [empty, empty, np.ones((1, d)), None, None],
            [empty, columns.v_plus[None, keep], empty, None, None],
            [empty, columns.v_minus[None, keep], empty, None, None],
        ]
        linear = sparse.block_array(rows, format="csr")
        # (s + t, s - t, 2 w) in the cone, feature after feature
        cone = sparse.block_array([[none, -eye, -eye], [none, -eye, eye], [-2 * eye, none, none]], format="csr")
        order = np.arange(3 * d).reshape(3, d).T.ravel()
        wide = sparse.hstack([cone[order], sparse.csr_array((3 * d, 1 + n))])
        self.A = sparse.csc_matrix(sparse.vstack([linear, wide]))
        self.b = np.concatenate([-np.ones(n), np.zeros(n), np.ones(3), np.zeros(3 * d)])
        self.q = np.concatenate([np.zeros(3 * d + 1), np.ones(n)])
        self.P = sparse.csc_matrix((len(self.q), len(self.q)))
        self.cones = [clarabel.NonnegativeConeT(2 * n + 3), *([clarabel.SecondOrderConeT(3)] * d)]

    def solve(self, R_plus, R_minus):
        """Solve from nothing, with Clarabel's own tolerances; return the objective."""
        self.b[2 * self.n + 1 : 2 * self.n + 3] = R_plus, R_minus
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_threads = False, 1
        solution = clarabel.DefaultSolver(self.P, self.q, self.A, self.b, self.cones, settings).solve()
        if str(solution.status) not in ("Solved", "AlmostSolved"):
            raise RuntimeError(f"Clarabel ended as {solution.status}")
        return float(solution.obj_val)


def grid_data(name, shared):
    if name == "synthetic 62 x 2000":
        return synthetic.peleg_meir(62, 2000, 2, seed=0).train.scaled("standard")
    data = real(name, shared)
    return None if data is None else data.scaled("standard")


COLD = ("Clarabel", "Clarabel through Pyomo")
GRID_SETS = ("WDBC", "synthetic 62 x 2000", "Colon")


def timed(call):
    wall, cpu = time.perf_counter(), time.process_time()
    value = call()
    return value, {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


def one_grid(spec):
    """Time the path over 49 pairs between cold solves by Clarabel: for each R_plus the path, then its pairs."""
    data = grid_data(spec["data"], spec["shared"])
    program, building = timed(lambda: ConeProgram(data))
    model, reading = timed(lambda: fs.gmeb.primal(data, R_plus=1.0, R_minus=1.0))
    times = {"path": [], **{name: [] for name in COLD}}
    values = {}
    for k, plus in enumerate(R):
        table, spent = timed(lambda: fs.gmeb.path(data, R_plus=R, R_minus=R))
        times["path"].append(spent)
        for minus in R if spec["every"] else [R[k]]:
            pair = (float(plus), float(minus))
            direct, spent = timed(lambda pair=pair: program.solve(*pair))
            times["Clarabel"].append(spent)
            values[pair] = {"path": float(table.loc[pair, "objective"]), "Clarabel": direct}
            model.R_plus, model.R_minus = pair
            answer, spent = timed(lambda: fs.solve(model, "clarabel", threads=1))
            times["Clarabel through Pyomo"].append(spent)
            values[pair]["Clarabel through Pyomo"] = answer.objective
    return {
        "shape": list(data.X.shape),
        "building": {"Clarabel": building, "Clarabel through Pyomo": reading},
        "times": times,
        "objectives": [[*pair, value] for pair, value in values.items()],
        "optimal": int((table["status"] == "optimal").sum()),
        "gap": float(table["gap"][table["objective"] > 1e-6].max()),
        "rows": int(table["rows"].max()),
        "lps": int(table["lps"].sum()),
    }


def relative(a, b):
    return abs(a - b) / max(1.0, abs(a), abs(b))


FORMS_AT = ((1.0, 1.0), (2.0, 5.0), (10.0, 10.0))
SLOW = ("mfeat", "spambase", "musk1", "german_numeric")  # of the shipped sets, for the conic forms


def one_agreement(spec):
    """Solve primal, dual and path of a shipped set, standardised."""
    data = fs.load_dataset(spec["data"]).scaled("standard")
    builders = {"primal": fs.gmeb.primal, "dual": fs.gmeb.dual}
    models = {name: build(data, R_plus=1.0, R_minus=1.0) for name, build in builders.items()}
    rows = []
    for plus, minus in FORMS_AT:
        row = {"R_plus": plus, "R_minus": minus}
        for name, model in models.items():
            model.R_plus, model.R_minus = plus, minus
            answer = fs.solve(model, "clarabel", threads=1)
            row[name], row[f"{name}_status"] = answer.objective, answer.status.value
        point = fs.gmeb.path(data, R_plus=plus, R_minus=minus).iloc[0]
        row["path"], row["path_status"] = float(point["objective"]), point["status"]
        rows.append(row)
    return {"shape": list(data.X.shape), "rows": rows}


def one_multistart(spec):
    """Run (11) from several starts and compare with (15)."""
    data = grid_data(spec["data"], spec["shared"])
    plus, minus = spec["R"]
    convex = fs.gmeb.path(data, R_plus=plus, R_minus=minus, gap=1e-9).iloc[0]
    model = fs.gmeb.nonconvex(data, R_plus=plus, R_minus=minus)
    result = fs.solve(model, "multi-start", starts=spec["starts"], seed=0, time_limit=spec["limit"])
    runs = result.details["starts"]
    return {
        "convex": float(convex["objective"]),
        "bound": float(convex["bound"]),
        "runs": json.loads(runs.to_json(orient="records", double_precision=12)),
        "message": result.message,
    }


BIG = {"n": 62, "d": 2000}


def one_fold(spec):
    """Run the 49 pairs on a fold of a set with 2000 features."""
    data = grid_data(spec["data"], spec["shared"])
    fold = data.folds(FOLDS, seed=0)[spec["rep"]]
    train = fold.train.scaled("standard")
    table = fs.gmeb.path(train, R_plus=R, R_minus=R, validation=train.apply_scale_to(fold.held_out))
    return {"points": len(table), "optimal": int((table["status"] == "optimal").sum())}


# ---- all runs

KINDS = {
    "type1": one_choice,
    "type2": one_choice,
    "real": one_choice,
    "figure1": one_surface,
    "grid": one_grid,
    "forms": one_agreement,
    "multistart": one_multistart,
    "fold": one_fold,
}
NAMES = ("kind", "data", "scaling", "noise", "method", "rep", "n", "d", "k", "every", "starts", "R")


def key(record):
    return tuple(str(record.get(name)) for name in NAMES)


def one_task(spec):
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # constant columns, few samples of a class, libsvm's limit
        wall, cpu = time.perf_counter(), time.process_time()
        found = KINDS[spec["kind"]](spec)
        spent = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    return {name: value for name, value in spec.items() if name != "shared"} | found | spent


def tasks_of(options):
    """Return all tasks; of one repetition before the next, so that a run that is cut short has whole comparisons."""
    full, methods = options.full, options.methods.split(",")
    sets = [name for name, entry in REAL.items() if full or entry.small]
    if options.data:
        sets = options.data.split(";")
    sets = [name for name in sets if real(name, options.shared) is not None]
    shared = {"shared": str(options.shared)}
    chosen = []
    for rep in range(options.repetitions or (30 if full else 2)):
        for n, (scaling, noise), method in itertools.product((10, 20, 30, 40, 50), TYPE_ONE, methods):
            if full or n in (10, 30, 50):
                spec = {"kind": "type1", "n": n, "scaling": scaling, "noise": noise}
                chosen.append(spec | {"method": method, "rep": rep})
        if rep < (10 if full else 2):
            chosen += [
                {"kind": "type2", "n": 100, "d": 1000, "k": 2, "scaling": scaling, "method": method, "rep": rep}
                for scaling, method in itertools.product(SCALINGS if full else SCALINGS[:1], methods)
            ]
            chosen += [{"kind": "figure1", "data": name, "rep": rep} for name in FIGURE_ONE]
        if rep < (PARTS if full else 2):
            chosen += [
                {"kind": "real", "data": name, "scaling": scaling, "method": method, "rep": rep, **shared}
                for name, method, scaling in itertools.product(sets, methods, SCALINGS)
                if scaling == "standard" or (full and (REAL[name].raw or method == "GMEB"))
            ]
    shipped = fs.list_datasets()["name"]
    chosen += [{"kind": "forms", "data": name} for name in shipped if full or name not in SLOW]
    chosen += [
        {"kind": "multistart", "data": name, "R": list(pair), "starts": 20 if full else 5, "limit": 600.0, **shared}
        for name, pair in itertools.product(("BUPA", "Cleveland", "Ionosphere", "WDBC"), ((1.0, 1.0), (4.0, 4.0)))
        if full or name != "WDBC"
    ]
    return [task for task in chosen if not options.kinds or task["kind"] in options.kinds.split(",")]


def timing_tasks(options):
    """Return what is timed alone, before anything else runs."""
    chosen = []
    for name in GRID_SETS:
        if grid_data(name, options.shared) is None:
            continue
        every = options.every_pair or name == "WDBC"
        chosen.append({"kind": "grid", "data": name, "every": every, "shared": str(options.shared)})
    return [task for task in chosen if not options.kinds or "grid" in options.kinds.split(",")]


def in_parallel(tasks, options, end):
    """Yield the records as they come; tasks whose turn comes after the limit are not started."""
    queue = (joblib.delayed(one_task)(task) for task in itertools.takewhile(lambda _: time.monotonic() < end, tasks))
    running = joblib.Parallel(n_jobs=options.jobs, return_as="generator_unordered", pre_dispatch="n_jobs", batch_size=1)
    yield from running(queue)


def fold_seconds(options):
    """Time the five folds of a set with 2000 features, from starting the workers on."""
    found = []
    for name in GRID_SETS[1:]:
        if grid_data(name, options.shared) is None:
            continue
        tasks = [{"kind": "fold", "data": name, "rep": k, "shared": str(options.shared)} for k in range(FOLDS)]
        load = report.load()
        records, spent = timed(
            lambda tasks=tasks: joblib.Parallel(n_jobs=2)(joblib.delayed(one_task)(task) for task in tasks)
        )
        found.append(
            {
                "data": name,
                "seconds": spent["wall"],
                "cpu_seconds": sum(r["cpu_seconds"] for r in records),
                "optimal": sum(r["optimal"] for r in records),
                "load": load,
            }
        )
    return found


def run_all(options, log):
    """Run what the log does not hold; append each record to it; return all that are wanted, and the tasks."""
    done = {key(record): record for record in report.read_log(log)} if options.resume else {}
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("".join(json.dumps(record) + "\n" for record in done.values()))
    end = math.inf if options.time_limit is None else time.monotonic() + options.time_limit
    start, finished = time.perf_counter(), 0
    alone, tasks = timing_tasks(options), tasks_of(options)
    folds = {"kind": "folds", "full": options.full}
    with log.open("a") as file:

        def keep(record):
            done[key(record)] = record
            file.write(json.dumps(record) + "\n")
            file.flush()

        if alone and key(folds) not in done:
            keep(folds | {"rows": fold_seconds(options)})
        for task in alone:
            if key(task) not in done and time.monotonic() < end:
                keep(one_task(task))
                print(f"timed {task['data']}, {time.perf_counter() - start:.0f} s", flush=True)
        left = [task for task in tasks if key(task) not in done]
        for record in in_parallel(left, options, end):
            keep(record)
            finished += 1
            if finished % 20 == 0 or finished == len(left):
                print(f"{finished}/{len(left)} tasks, {time.perf_counter() - start:.0f} s", flush=True)
    wanted = [*alone, *tasks]
    found = [done[key(task)] for task in wanted if key(task) in done]
    return found + ([done[key(folds)]] if key(folds) in done else []), len(wanted)


# ---- what the runs say


def pm(values, digits=1, error=False):
    """Return mean and standard deviation, or the standard error of the mean."""
    if len(values) == 0:
        return "-"
    mean = f"{statistics.fmean(values):.{digits}f}"
    if len(values) < 2:
        return mean
    return f"{mean} ± {statistics.stdev(values) / (math.sqrt(len(values)) if error else 1.0):.{digits}f}"


def stated(numbers):
    """Return the paper's cell."""
    if numbers[1] is None:
        return f"{numbers[0]:g} ({numbers[2]:g})"
    return f"{numbers[0]} ± {numbers[1]} ({numbers[2]} ± {numbers[3]})"


def cell(part, error=False):
    """Return error percentages and numbers of features."""
    return f"{pm(100 * part['error'], error=error)} ({pm(part['features'], error=error)})" if len(part) else "not run"


def table_type_one(frame):
    header = ["n", "", "runs", *METHODS]
    rows = []
    for n, numbers in PAPER_ONE.items():
        rows.append([f"**{n}**", "paper", "", *map(stated, numbers)])
        for scaling, noise in TYPE_ONE:
            part = frame[(frame["n"] == n) & (frame["scaling"] == scaling) & (frame["noise"] == noise)]
            own = [part[part["method"] == method] for method in METHODS]
            runs = "/".join(dict.fromkeys(str(len(p)) for p in own))
            rows.append([n, "standard" if scaling == "standard" else f"none, {noise}", runs, *map(cell, own)])
    return report.table(header, rows)


def table_relevant(frame, group):
    header = [group, "scaling", *METHODS]
    rows = []
    if "noise" in frame:
        plain = frame["scaling"] == "standard"
        frame = frame.assign(
            scaling=frame["scaling"].where(plain, frame["scaling"] + ", " + frame["noise"].astype(str))
        )
    for (value, scaling), part in frame.groupby([group, "scaling"], sort=True):
        means = part.groupby("method")["relevant"].mean()
        sizes = part.groupby("method")["features"].mean()
        texts = [f"{means[m]:.1f} of {sizes[m]:.1f}" if m in means else "not run" for m in METHODS]
        rows.append([int(value), scaling.removesuffix(", nan"), *texts])
    return report.table(header, rows)


def table_type_two(frame):
    rows = [["paper", 10, *map(stated, PAPER_TWO)]]
    for scaling in SCALINGS:
        part = frame[frame["scaling"] == scaling]
        own = [part[part["method"] == method] for method in METHODS]
        rows.append([f"here, {scaling}", "/".join(dict.fromkeys(str(len(p)) for p in own)), *map(cell, own)])
    return report.table(["", "data sets", *METHODS], rows)


def table_real(frame):
    rows = []
    for name, entry in REAL.items():
        rows.append([f"**{entry.number} {name}**", "paper", "", *map(stated, PAPER_REAL[name])])
        for scaling in SCALINGS:
            part = frame[(frame["data"] == name) & (frame["scaling"] == scaling)] if len(frame) else frame
            if not len(part) and scaling == "none":
                continue
            own = [part[part["method"] == method] if len(part) else part for method in METHODS]
            parts = "/".join(dict.fromkeys(str(len(p)) for p in own))
            rows.append([name, f"here, {scaling}", parts, *(cell(p, error=True) for p in own)])
    return report.table(["data", "", "parts", *METHODS], rows)


def table_seconds(frame):
    """Return mean CPU seconds of a task: five folds and the last fit."""
    frame = frame.assign(what=frame["data"].fillna(frame["kind"])) if "data" in frame else frame.assign(what="")
    means = frame.pivot_table(index=["what", "scaling"], columns="method", values="cpu_seconds", aggfunc="mean")
    rows = [
        [
            *where,
            *(f"{means.loc[where, m]:.1f}" if m in means and pd.notna(means.loc[where, m]) else "-" for m in METHODS),
        ]
        for where in means.index
    ]
    return report.table(["", "scaling", *METHODS], rows)


def grid_facts(record):
    """Return seconds of the path and, for 49 cold solves, of the others; the largest relative difference."""
    totals = {}
    for name, spent in record["times"].items():
        for what in ("wall", "cpu"):
            values = [row[what] for row in spent]
            if values:
                many = len(R) ** 2 * statistics.fmean(values)
                totals[name, what] = statistics.median(values) if name == "path" else many
    differences = [relative(v["path"], v[name]) for *_, v in record["objectives"] for name in v if name != "path"]
    return totals, max(differences)


def table_grid(records):
    header = ["data", "path: s", "Clarabel alone: s", "times", "Clarabel through Pyomo: s", "times", "by CPU: times"]
    header += ["pairs solved cold", "largest difference", "gap", "optimal", "LPs", "rows"]
    rows = []
    for record in records:
        totals, worst = grid_facts(record)
        path, alone = totals["path", "wall"], totals["Clarabel", "wall"]
        through = totals["Clarabel through Pyomo", "wall"]
        texts = [f"{through:.1f}", f"{through / path:.1f}"]
        cpu = [f"{totals[name, 'cpu'] / totals['path', 'cpu']:.1f}" for name in COLD]
        rows.append(
            [
                record["data"],
                f"{path:.2f}",
                f"{alone:.1f}",
                f"{alone / path:.1f}",
                *texts,
                ", ".join(cpu),
                len(record["objectives"]),
                f"{worst:.1e}",
                f"{record['gap']:.1e}",
                f"{record['optimal']} of 49",
                record["lps"],
                record["rows"],
            ]
        )
    return report.table(header, rows)


def forms_worst(record):
    return max(relative(row["path"], row[name]) for row in record["rows"] for name in ("primal", "dual"))


def table_forms(records):
    rows = []
    for record in records:
        worst = [max(relative(row[a], row[b]) for row in record["rows"]) for a, b in PAIRS_OF_FORMS]
        said = [
            f"{n}: {v}" for row in record["rows"] for n, v in row.items() if n.endswith("_status") and v != "optimal"
        ]
        rows.append([record["data"], "x".join(map(str, record["shape"])), *(f"{w:.1e}" for w in worst)])
        rows[-1].append("; ".join(sorted(set(said))) or "all optimal")
    return report.table(["data", "shape", *(f"{a}, {b}" for a, b in PAIRS_OF_FORMS), "status"], rows)


PAIRS_OF_FORMS = (("primal", "dual"), ("primal", "path"), ("dual", "path"))
NEAR = (1e-6, 1e-4, 1e-2)


def multistart_facts(record):
    """Return starts, and how many of them converged, reached (15) within each distance, and are below its bound."""
    values = [row["objective"] for row in record["runs"] if row["status"] in ("stationary", "optimal")]
    reached = [sum(v <= record["convex"] * (1 + near) + near * 1e-2 for v in values) for near in NEAR]
    below = sum(v < record["bound"] * (1 - GOAL) for v in values)
    excess = [value / record["convex"] - 1 for value in values]
    return len(record["runs"]), len(values), reached, below, excess


def table_multistart(records):
    header = ["data", "R+ = R-", "(15)", "starts", "converged", *(f"within {near:g}" for near in NEAR), "below (15)"]
    header += ["least excess", "median", "largest"]
    rows = []
    for record in records:
        starts, converged, reached, below, excess = multistart_facts(record)
        spread = [f"{x:.1e}" for x in (min(excess), statistics.median(excess), max(excess))] if excess else ["-"] * 3
        rows.append(
            [record["data"], record["R"][0], f"{record['convex']:.4f}", starts, converged, *reached, below, *spread]
        )
    return report.table(header, rows)


def goals(found):
    rows = []
    need = {"WDBC": 10, "synthetic 62 x 2000": 20, "Colon": 20}
    for record in found["grid"]:
        totals, worst = grid_facts(record)
        times = [totals[name, "wall"] / totals["path", "wall"] for name in COLD]
        told = f"{times[0]:.1f} times (Clarabel alone), {times[1]:.1f} times (through Pyomo)"
        told += "" if len(record["objectives"]) == 49 else f"; from {len(record['objectives'])} pairs"
        least = need[record["data"]]
        met = "yes" if min(times) >= least else "no"
        rows.append([f"49 pairs on {record['data']}: {least} times faster than cold Clarabel on (15)", told, met])
        rows.append([f"objectives on {record['data']} within 1e-6", f"{worst:.1e}", "yes" if worst <= GOAL else "no"])
    for row in found["folds"]:
        told = f"{row['seconds']:.1f} s (CPU {row['cpu_seconds']:.1f} s; load {row['load']} before), "
        told += f"{row['optimal']} of {49 * FOLDS} optimal"
        met = "yes" if row["seconds"] < 180 else "no"
        rows.append([f"2000 features ({row['data']}), 49 pairs, five folds, 2 cores: under 180 s", told, met])
    if found["forms"]:
        worst = {record["data"]: forms_worst(record) for record in found["forms"]}
        missed = [f"{name} {value:.1e}" for name, value in worst.items() if value > GOAL]
        told = f"largest {max(worst.values()):.1e}" + (f"; above: {', '.join(missed)}" if missed else "")
        names = fs.list_datasets()["name"]
        text = f"primal = dual = path to 1e-6 on every shipped set ({len(worst)} of {len(names)} run)"
        rows.append([text, told, "no" if missed else "yes"])
    if found["multistart"]:
        facts = [multistart_facts(record) for record in found["multistart"]]
        starts, converged, below = (sum(f[k] for f in facts) for k in (0, 1, 3))
        reached = [sum(f[2][k] for f in facts) for k in range(len(NEAR))]
        rows.append(["(11) by multi-start is never below (15)", f"{below} of {converged}", "no" if below else "yes"])
        shares = ", ".join(f"{r / starts:.0%} within {near:g}" for near, r in zip(NEAR, reached, strict=True))
        rows.append(["share of starts of (11) that reach (15)", f"{shares} ({starts} starts)", "-"])
    return report.table(["goal", "measured", "reached?"], rows)


def page(found, frame, picture):
    kinds = {kind: frame[frame["kind"] == kind] if len(frame) else frame for kind in ("type1", "type2", "real")}
    text = ["## Goals", goals(found)]
    if len(kinds["type1"]):
        text += [
            "## Table 3: type 1, test error % (features), mean ± standard deviation",
            table_type_one(kinds["type1"]),
        ]
        text += [
            "GMEB's objective is the same in the three rows; its classifier too where it is unique, which it is not "
            "where no sample has a loss; what counts as a feature is not. The paper's text says that 20 is the "
            "deviation of the noise; compare its SVM and 1-norm SVM with the rows of variance 20."
        ]
        text += ["Relevant features (of six) among those selected:", table_relevant(kinds["type1"], "n")]
    if len(kinds["type2"]):
        bayes = kinds["type2"].drop_duplicates("rep")["bayes"]
        text += ["## Type 2, 1000 features, 100 training samples, 2 relevant: test error % (features)"]
        text += [table_type_two(kinds["type2"])]
        text += [f"Bayes error here {pm(100 * bayes)}% (it depends on V); in the paper 9.6%."]
        text += ["Relevant features (of two) among those selected:", table_relevant(kinds["type2"], "k")]
    text += ["## Table 4: test error % (features), mean ± standard error", table_real(kinds["real"])]
    text += [
        "Errors of the parts of one division are not independent, as in the paper. Digits and ads: parts are random "
        "divisions, of which the paper has one. Where a run was cut short the methods may have other numbers of parts."
    ]
    if len(frame):
        text += ["## CPU seconds of one training part (49 points, five folds, the last fit)", table_seconds(frame)]
    if found["grid"]:
        text += ["## The path over 49 pairs beside cold Clarabel", table_grid(found["grid"])]
        text += [
            "Standardised. One thread each; the path runs once for each R_plus, between the cold solves (median of "
            "seven), so that all see the same load. Alone: the cone program built once by scipy, a new solver for "
            "each pair, Clarabel's default tolerances (1e-8). Through Pyomo: ``fs.solve`` on one model with changed R, "
            "whose tolerances are tighter. Building is not counted, in the path's time it is. Where fewer pairs were "
            "solved cold, 49 times their mean. Differences: relative to the larger of 1 and the objective."
        ]
    if found["forms"]:
        places = ", ".join(f"({a:g}, {b:g})" for a, b in FORMS_AT)
        text += ["## Primal, dual and path: largest relative difference", table_forms(found["forms"])]
        text += [f"Standardised; (R_plus, R_minus) in {places}; primal and dual by Clarabel."]
    if found["multistart"]:
        text += ["## (11) from several starts, beside (15)", table_multistart(found["multistart"])]
        text += ["Driver multi-start with pounce; the first start is the model's, the others are random. Standardised."]
    if picture:
        text += ["## Figures 1 and 2", f"![Error and features over the grid; GMEB beside RFE]({picture})"]
    return "\n\n".join(text)


def draw(found, frame, path):
    """Draw figure 1 (error and features over the grid) and figure 2 (GMEB beside RFE); False if there is nothing."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    surfaces = {name: [r for r in found["figure1"] if r["data"] == name] for name in FIGURE_ONE}
    standard = frame[(frame["kind"] == "real") & (frame["scaling"] == "standard")] if len(frame) else frame
    if not any(surfaces.values()) and not len(standard):
        return False
    figure = plt.figure(figsize=(15, 6.8), layout="constrained")
    places = figure.subplot_mosaic([["I e", "II e", "III e", "two", "two"], ["I f", "II f", "III f", "two", "two"]])
    for (name, records), (what, column, title) in itertools.product(
        surfaces.items(), (("e", "error", "test error, %"), ("f", "features", "features"))
    ):
        ax = places[f"{name} {what}"]
        if not records:
            ax.set_visible(False)
            continue
        values = np.mean([np.reshape(r[column], (len(R), len(R))) for r in records], axis=0)
        values = 100 * values if column == "error" else values
        image = ax.imshow(values, origin="lower", cmap="viridis_r", extent=(0.25, 10.75, 0.25, 10.75))
        error = np.mean([np.reshape(r["error"], (len(R), len(R))) for r in records], axis=0)
        row, place = np.unravel_index(np.argmin(error), error.shape)
        ax.plot(R[place], R[row], "*", color="red", markersize=12)
        ax.set_title(f"{name} ({FIGURE_ONE[name]} of 100 relevant): {title}", fontsize=9)
        ax.set_xlabel("R-")
        ax.set_ylabel("R+")
        figure.colorbar(image, ax=ax, shrink=0.8)
    ax = places["two"]
    sizes = {"WDBC": 30, "Digits": 649, "Internet ads": 1558, "Colon": 2000, "BUPA": 6, "Pima": 8, "Cleveland": 13}
    sizes["Ionosphere"] = 34
    shown = {"GMEB": ("C0", 3), "RFE": ("C1", 2)}
    for name, (method, (colour, k)) in itertools.product(REAL, shown.items()):
        paper = PAPER_REAL[name][k]
        told = 100 * paper[2] / sizes[name]
        ax.plot(told, paper[0], "o", markerfacecolor="none", color=colour)
        part = standard[(standard["data"] == name) & (standard["method"] == method)] if len(standard) else standard
        if len(part):
            share = 100 * part["features"].mean() / sizes[name]
            ax.plot(share, 100 * part["error"].mean(), "o", color=colour)
            ax.annotate(
                str(REAL[name].number),
                (share, 100 * part["error"].mean()),
                fontsize=9,
                xytext=(4, 3),
                textcoords="offset points",
            )
        ax.annotate(
            str(REAL[name].number),
            (told, paper[0]),
            fontsize=7,
            color="grey",
            xytext=(4, -7),
            textcoords="offset points",
        )
    for method, (colour, _) in shown.items():
        ax.plot([], [], "o", color=colour, label=f"{method}, here (standardised)")
        ax.plot([], [], "o", color=colour, markerfacecolor="none", label=f"{method}, paper")
    ax.legend(fontsize=8)
    ax.grid(alpha=0.3)
    ax.set_xlabel("features selected, %")
    ax.set_ylabel("test error, %")
    ax.set_title("Figure 2: the real data sets, numbered as in table 2", fontsize=10)
    runs = max(map(len, surfaces.values()))
    figure.suptitle(
        f"Figure 1 (left): GMEB over (R+, R-), mean of {runs} data sets; star: least test error", fontsize=11
    )
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="all sets, sizes, parts and repetitions")
    parser.add_argument("--kinds", help=f"some of {','.join(k for k in KINDS if k != 'fold')}")
    parser.add_argument(
        "--every-pair", action="store_true", help="solve all 49 pairs cold at 2000 features too, not 7: half an hour"
    )
    parser.add_argument("--data", help=f"some of {';'.join(REAL)}, separated by semicolons, for table 4")
    parser.add_argument("--methods", default=",".join(METHODS), help="some of these, separated by commas")
    parser.add_argument("--repetitions", type=int, help="data sets of type 1; 30, without --full 2")
    shared = Path(__file__).resolve().parents[2] / "shared"
    parser.add_argument("--shared", type=Path, default=shared, help="folder with data/ and data-extra/")
    parser.add_argument("--time-limit", type=float, help="seconds after which no task is started any more")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--resume", action="store_true", help="run only what the log beside --out (.jsonl) has not")
    parser.add_argument("--out", type=Path, help="where to write: .json, .md, .png, .jsonl")
    options = parser.parse_args()
    for given, known in ((options.kinds, KINDS), (options.data, REAL), (options.methods, METHODS)):
        separator = ";" if given == options.data else ","
        if given and (unknown := set(given.split(separator)) - set(known)):
            parser.error(f"unknown: {', '.join(sorted(unknown))}; choose among {', '.join(known)}")
    warnings.simplefilter("ignore", fs.DataWarning)  # constant columns
    name = "gmeb_tables" if options.full else "gmeb_tables_small"
    out = (options.out or Path(__file__).parent / "results" / name).with_suffix("")
    facts = report.about(*PACKAGES, jobs=options.jobs)
    start = time.perf_counter()
    records, wanted = run_all(options, out.with_suffix(".jsonl"))
    facts["seconds of this call"] = round(time.perf_counter() - start, 1)
    found = {kind: [r for r in records if r["kind"] == kind] for kind in ("grid", "forms", "multistart", "figure1")}
    found["folds"] = next((r["rows"] for r in records if r["kind"] == "folds"), [])
    frame = pd.DataFrame([r for r in records if r["kind"] in ("type1", "type2", "real")])
    tasks = len(records) - sum(r["kind"] == "folds" for r in records)
    facts["tasks"] = f"{tasks} of {wanted}"
    absent = [n for n in REAL if real(n, options.shared) is None]
    if absent:
        facts["not there"] = f"{', '.join(absent)}: no file below {options.shared}"
    picture = draw(found, frame, out.with_suffix(".png"))
    text = page(found, frame, out.with_suffix(".png").name if picture else None)
    if tasks < wanted:
        text = f"NOT COMPLETE: {tasks} of {wanted} tasks are done. Go on with --resume.\n\n{text}"
    print(text)
    listed = json.loads(frame.to_json(orient="records", double_precision=6)) if len(frame) else []
    title = "GMEB: the tables of Peleg and Meir 2005"
    report.write(out, title, f"{__doc__.strip()}\n\n{text}", facts, **found, choices=listed)


if __name__ == "__main__":
    main()
