"""Data, methods and tasks of ``gmeb_tables``: one task is one data set, training part, scaling and method."""

import itertools
import math
import time
from dataclasses import dataclass
from functools import cache

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

import fsmodels as fs
from benchmarks.harness.log import SHARED
from benchmarks.methods import gmeb as gmeb_methods
from benchmarks.methods.gmeb import METHODS
from benchmarks.papers.peleg_meir import paper as gmeb_paper
from fsmodels import synthetic
from fsmodels.models.gmeb.grid import selected

PROTOCOL = 1  # increase it if new entries cannot be combined with old ones
FOLDS = 5
TYPE_ONE_RUNS, PARTS = 30, 10  # repetitions of type 1, and default number of the others
SCALINGS = ("none", "standard")
NOISES = {"variance 20": math.sqrt(20.0), "sd 20": 20.0}  # of type 1: possible readings of N(0, 20)
TYPE_ONE = ("none, variance 20", "standard, variance 20")
DOUBT, DOUBT_RUNS = ("type 1", 50, "none, sd 20"), 5  # enough to decide which reading the paper uses
SIZES = (10, 20, 30, 40, 50)
FIGURE_VALUES = np.linspace(1.0, 10.0, 10)
KEY = ("protocol", "kind", "set", "scaling", "rep", "method")
SPEED_SETS = ("WDBC", "Colon")


@dataclass(frozen=True)
class Real:
    """Data set of table 2: file, number of training samples if there is one division, and ``tame`` for C = L."""

    file: str
    train: int | None = None
    tame: bool = False
    small: bool = False  # part of the default run
    parts: int = PARTS


REAL = {  # the fastest first
    "BUPA": Real("bupa", tame=True, small=True),
    "Cleveland": Real("cleveland", small=True),
    "Pima": Real("data/pima.csv", tame=True),
    "Ionosphere": Real("ionosphere", small=True),
    "WDBC": Real("wdbc", tame=True, small=True),
    "Digits": Real("mfeat", train=200),
    "Colon": Real("data-extra/colon.csv"),
    "Internet ads": Real("data-extra/internet_ads_subset.csv.gz", train=200, parts=5),
}


@cache
def real(name):
    """Return a data set; None if its file does not exist."""
    where = REAL[name].file
    if "/" not in where:
        return fs.load_dataset(where)
    path = SHARED / where
    return fs.Dataset.from_csv(path) if path.exists() else None


def parts_of(task):
    """Return the training and the test part of a task, and the relevant features if they are known."""
    kind, rep = task["kind"], task["rep"]
    if kind == "type 1":
        pair = synthetic.weston(task["set"], seed=rep, noise=NOISES[task["scaling"].split(", ")[1]])
        return pair.train, pair.test, pair.relevant
    if kind == "type 2":
        pair = synthetic.peleg_meir(100, 1000, 2, seed=rep)
        return pair.train, pair.test, pair.relevant
    entry, data = REAL[task["set"]], real(task["set"])
    if entry.train is None:
        rows, held = list(KFold(PARTS, shuffle=True, random_state=0).split(data.X))[rep]
        return data.take(rows), data.take(held), None
    share = entry.train / len(data)
    train, _, test = data.split(share, 0.0, 1.0 - share, seed=rep)
    return train, test, None


def fitted(method, data, points):
    """Return weights and offsets; those of a constant classifier if a fold has only one class."""
    if len(np.unique(data.y)) < 2:
        return np.zeros((len(points), data.n_features)), np.full(len(points), data.y[0])
    return METHODS[method].fit(data, points)


def errors(data, W, b):
    """Return the share of wrong labels of each classifier; a decision value of 0 is the class -1."""
    return np.mean(np.where(data.X @ W.T + b > 0, 1.0, -1.0) != data.y[:, None], axis=0)


def choice(train, test, method, scaling="none", tame=False, relevant=None):
    """Choose a method's point by cross-validation on the training part, and test its classifier."""
    points = METHODS[method].points(train.n_features, tame)
    wrong = np.zeros(len(points))
    for rows, held in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(train.X, train.y):
        fold = train.take(rows).scaled(scaling)
        wrong += len(held) * errors(fold.apply_scale_to(train.take(held)), *fitted(method, fold, points))
    wrong = np.round(wrong)  # counts of labels, so that ties are exact
    best = int(np.argmin(wrong))  # the first one in a tie
    scaled = train.scaled(scaling)
    W, b = fitted(method, scaled, [points[best]])
    counts = selected(W[0], train.features)
    return {
        "samples": {"train": len(train), "test": len(test)},
        "d": train.n_features,
        "error": float(errors(scaled.apply_scale_to(test), W, b)[0]),
        "features": len(counts),
        "relevant": None if relevant is None else len(set(relevant) & set(counts)),
        "point": [round(float(value), 6) for value in points[best]],
        "cv_error": float(wrong[best] / len(train)),
        "ties": int(np.sum(wrong == wrong[best])),
    }


def one_choice(task):
    """Run a task of table 3, table 4 or type 2."""
    train, test, relevant = parts_of(task)
    tame = task["kind"] == "real" and REAL[task["set"]].tame
    return choice(train, test, task["method"], task["scaling"].split(",")[0], tame, relevant)


def one_surface(task):
    """Return test error and features over the 10 x 10 grid of (R_plus, R_minus): 100 features, 200 samples."""
    pair = synthetic.peleg_meir(200, 100, gmeb_paper.FIGURE_ONE[task["set"]], seed=task["rep"])
    values = FIGURE_VALUES
    table = fs.gmeb.path(pair.train, R_plus=values, R_minus=values, validation=pair.test)
    error, features = table["validation_error"].to_numpy(), table["n_selected"].to_numpy()
    best = int(np.argmin(error))
    plus, minus = table.index[best]
    return {
        "least": float(error[best]),
        "most": float(error.max()),
        "R_plus": float(plus),
        "R_minus": float(minus),
        "features": int(features[best]),
        "fewest": int(features.min()),
        "features_most": int(features.max()),
        "bayes": pair.linear_error,
        "surface": [[round(float(e), 6) for e in error], features.tolist()],
    }


def one_timing(task):
    """Measure the path over 7 x 7 pairs, and one pair by Clarabel without a warm start, on standardised data."""
    data = real(task["set"]).scaled("standard")
    start = time.process_time()
    values = gmeb_methods.GMEB_VALUES
    table = fs.gmeb.path(data, R_plus=values, R_minus=values)
    path = time.process_time() - start
    model = fs.gmeb.primal(data, R_plus=4.0, R_minus=4.0)
    start = time.process_time()
    answer = fs.solve(model, "clarabel", threads=1)
    cold = time.process_time() - start
    known = float(table.loc[(4.0, 4.0), "objective"])
    return {
        "path": path,
        "cold": cold,
        "times": 49 * cold / path,
        "optimal": int((table["status"] == "optimal").sum()),
        "difference": abs(known - answer.objective) / max(1.0, abs(known)),
    }


KINDS = {"type 1": one_choice, "type 2": one_choice, "real": one_choice, "figure 1": one_surface, "speed": one_timing}


def work(**task):
    """Return the result of a task with its CPU seconds; None if its data are not available."""
    if task["set"] in REAL and real(task["set"]) is None:  # cached before the clock starts
        return None
    start = time.process_time()
    found = KINDS[task["kind"]](task)
    return found | {"cpu_seconds": round(time.process_time() - start, 3)}


def tasks(full):
    """Return all tasks, those of a repetition before the next one, so that a stopped run is balanced."""
    chosen = [{"kind": "speed", "set": name, "rep": 0} for name in SPEED_SETS if full]
    sets = [("real", name, entry.parts) for name, entry in REAL.items() if full or entry.small]
    sets.insert(5, ("type 2", "type 2", PARTS))  # by cost
    for rep in range(TYPE_ONE_RUNS if full else 2):
        groups = [("type 1", n, scaling) for n in SIZES for scaling in TYPE_ONE]
        groups += [DOUBT] * (rep < DOUBT_RUNS)
        groups += [(*which, scaling) for *which, parts in sets if rep < parts for scaling in SCALINGS]
        if rep < PARTS:
            chosen += [{"kind": "figure 1", "set": name, "rep": rep} for name in gmeb_paper.FIGURE_ONE]
        for (kind, name, scaling), method in itertools.product(groups, METHODS):
            chosen.append({"kind": kind, "set": name, "scaling": scaling, "rep": rep, "method": method})
    return [{"protocol": PROTOCOL} | task for task in chosen]
