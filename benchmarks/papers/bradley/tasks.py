"""Data, methods and tasks of ``concave_tables``: the protocol of Bradley, Mangasarian and Street 1998.

A division is one data set, scaling and method, cross-validated over one grid with one seed of the folds: each fold
builds the model once and changes ``model.penalty``. A feature is selected if |w_j| max_i |x_ij| is above 1e-6 and above
1e-6 times the largest value; smaller values are rounding errors, because margins are 1. The classifier is always the
robust LP (5) refitted on the selected features; without features it is the majority class of the training part.
"""

import dataclasses
import functools
import itertools
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyomo.environ as pyo

import fsmodels as fs

PROTOCOL = 1  # increased when the meaning of the entries of the log changes
GRIDS = {"paper": [round(0.05 * k, 2) for k in range(20)], "below": [0.005, 0.01, 0.02, 0.03]}
FOLDS, INNER, RANDOM = 10, 5, 6
SEEDS = (0, 1, 2, 3, 4)
NESTED = 3  # seeds with a nested choice of lambda, which takes five times as long
SCALINGS = ("none", "standard")
SHOWN = {"none": "raw", "standard": "standardised"}
LP = "sla"  # with a linear objective it solves one linear program, and passes it to HiGHS in memory
USED = 1e-6
TYPICAL = 0.05  # lambda of table 3
DIGITS = 5  # decimals of the shares in the log


# ---- data


def with_random_features(name, draw):
    """Return a loader of a shipped set with the same features rnd1..rnd6 each time."""

    @functools.cache
    def load():
        data = fs.load_dataset(name)
        extra = draw(np.random.default_rng(0), (len(data), RANDOM))
        names = (*data.features, *(f"rnd{k}" for k in range(1, RANDOM + 1)))
        return dataclasses.replace(data, X=np.hstack([data.X, extra]), features=names, scale=None)

    return load


DATA = {
    "WPBC": with_random_features("wpbc24", lambda random, size: np.floor(3500 * random.random(size)) + 1),
    "Ionosphere": with_random_features("ionosphere", lambda random, size: random.uniform(-1, 1, size)),
}


# ---- methods


@dataclasses.dataclass(frozen=True)
class Method:
    """Method: ``prepare(data, seed)`` returns a function of lambda that solves; ``paper``: its column in the paper."""

    prepare: Callable
    paper: str
    small: bool = True  # part of the default run


def by_driver(build, driver, **options):
    """Return the ``prepare`` function of a method that builds a model and solves it by a driver."""

    def prepare(data, seed):
        model = build(data, penalty=0.0)

        def at(penalty):
            model.penalty.set_value(penalty)
            return fs.solve(model, driver, seed=seed, **options), selected_in(model, data)

        return at

    return prepare


def by_suppression(data, seed):
    """Prepare OBD, whose nu has the role of lambda."""
    model = fs.svm.robust_lp(data)

    def at(nu):
        result = fs.obd.suppress(model, data, nu=nu, delta=0.01, solver=LP, seed=seed)
        return result, selected_in(model, data)

    return at


OBD, FSV_LP, FSV_MANY = "OBD", "FSV, LP start", "FSV, default starts"
ONE = {name: f"{name}, one start" for name in ("FSS", "FSV", "FSB")}
METHODS = {
    ONE["FSS"]: Method(by_driver(fs.concave.fss, "sla", starts=1, linear_start=False), "FSS"),
    ONE["FSV"]: Method(by_driver(fs.concave.fsv, "sla", starts=1, linear_start=False), "FSV"),
    ONE["FSB"]: Method(by_driver(fs.concave.fsb, "alternating", starts=1), "FSB"),
    OBD: Method(by_suppression, "OBD"),
    FSV_LP: Method(by_driver(fs.concave.fsv, "sla", starts=0), "FSV", small=False),
    FSV_MANY: Method(by_driver(fs.concave.fsv, "sla"), "FSV", small=False),
}
PAPERS = [ONE["FSS"], ONE["FSV"], ONE["FSB"], OBD]  # with the starts of the paper
# Error reduction and feature reduction in per cent (tables 1 and 2), seconds (table 3).
PAPER = json.loads(Path(__file__).with_name("paper.json").read_text("utf-8"))


def selected_in(model, data):
    """Return the features used at the point of the model, by the rule in the module docstring."""
    effects = np.abs([weight.value for weight in model.w.values()]) * np.abs(data.X).max(axis=0)
    return [
        name for name, effect in zip(data.features, effects, strict=True) if effect > USED * max(1.0, effects.max())
    ]


class Refit:
    """Robust LP (5) on subsets of the features: one model in which the other weights are fixed to 0."""

    def __init__(self, data):
        self.data, self.model, self._known = data, fs.svm.robust_lp(data), {}

    def __call__(self, selected):
        """Return (w, b); without features the classifier that predicts the larger class."""
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


# ---- tasks


def division(task):
    """Cross-validate one method with one seed over one grid; the lists have one value per point of the grid."""
    parts = [one_fold(task, fold) for fold in range(FOLDS)]
    found = {
        "correct": [statistics.fmean(map(correct, labels)) for labels in turned(parts, "labels")],
        "balanced": [balanced(labels) for labels in turned(parts, "labels")],
        "features": [statistics.fmean(sizes) for sizes in turned(parts, "features")],
        "empty": [sum(size == 0 for size in sizes) for sizes in turned(parts, "features")],
        "random": [sum(size > 0 for size in sizes) for sizes in turned(parts, "random")],
    }
    if task["method"] == ONE["FSB"]:
        found["complementary"] = [sum(of_fold) for of_fold in turned(parts, "complementary")]
        found["mu"] = [statistics.median(values) for values in turned(parts, "mu")]
    for name in ("plain", "majority"):
        labels = [part[name] for part in parts]
        found |= {name: statistics.fmean(map(correct, labels)), f"{name}_balanced": balanced(labels)}
    return {name: rounded(values) for name, values in found.items()}


def one_fold(task, number):
    """Run the method over the grid on one fold."""
    fold = DATA[task["data"]]().folds(FOLDS, seed=task["seed"])[number]
    return on_fold(task, fold, FOLDS * task["seed"] + number, GRIDS[task["grid"]])


def on_fold(task, fold, start, penalties):
    """Run the method with some lambdas on the training part of a fold; ``start``: the seed of the method."""
    train = fold.train.scaled(task["scaling"])
    held_out = train.apply_scale_to(fold.held_out)
    at, refit = METHODS[task["method"]].prepare(train, start), Refit(train)
    rows = {name: [] for name in ("features", "random", "labels", "mu", "complementary")}
    for penalty in penalties:
        result, selected = at(penalty)
        rows["features"].append(len(selected))
        rows["random"].append(sum(name.startswith("rnd") for name in selected))
        rows["labels"].append(counts(held_out, *refit(selected)))
        if "penalty" in result.details:  # mu of FSB, and whether its point is complementary
            rows["mu"].append(result.details["penalty"]["value"])
            rows["complementary"].append(bool(result.details["penalty"]["satisfied"]))
    return rows | {"plain": counts(held_out, *refit(train.features)), "majority": counts(held_out, *refit(()))}


def nested(task):
    """Cross-validate one method whose lambda is chosen by cross-validation of each training part."""
    found = {"labels": [], "plain_labels": [], "features": [], "chosen": []}  # a value for each fold
    for number, fold in enumerate(DATA[task["data"]]().folds(FOLDS, seed=task["seed"])):
        start = FOLDS * task["seed"] + number
        inner = [on_fold(task, part, start, GRIDS[task["grid"]]) for part in fold.train.folds(INNER, seed=task["seed"])]
        penalty = choice(GRIDS[task["grid"]], inner)
        rows = on_fold(task, fold, start, [penalty])
        for name, value in zip(found, (rows["labels"][0], rows["plain"], rows["features"][0], penalty), strict=True):
            found[name].append(value)
    return found


def choice(penalties, parts):
    """Return the lambda with the largest share of right labels over some folds, in a tie that with fewer features.

    Lambdas that leave a fold without features are excluded.
    """
    shares = [round(statistics.fmean(map(correct, labels)), 9) for labels in turned(parts, "labels")]
    sizes = turned(parts, "features")
    allowed = [k for k, size in enumerate(sizes) if min(size) > 0]
    return penalties[max(allowed, key=lambda k: (shares[k], -sum(sizes[k])))]


def typical(task):
    """Measure building, solving and refitting on all samples at the lambda of table 3; the minimum of three runs."""
    data, seconds = DATA[task["data"]]().scaled(task["scaling"]), []
    for _ in range(3):  # the first run includes imports
        start = time.process_time()
        result, selected = METHODS[task["method"]].prepare(data, task["seed"])(TYPICAL)
        Refit(data)(selected)
        seconds.append(time.process_time() - start)
    found = {"seconds": round(min(seconds), 4), "features": len(selected)}
    if "linear_programs" in result.details and task["method"] != OBD:
        found["linear_programs"] = result.details["linear_programs"]
    return found


def turned(parts, name):
    """Return a tuple of the values of all folds for each point of the grid."""
    return list(zip(*(part[name] for part in parts), strict=True))


def counts(data, w, b):
    """Return the numbers of right and wrong labels of class +1, then those of class -1."""
    positive, right = data.y > 0, np.where(data.X @ w + b > 0, 1.0, -1.0) == data.y
    return [int((side & answer).sum()) for side in (positive, ~positive) for answer in (right, ~right)]


def correct(labels):
    """Return the share of right labels."""
    return (labels[0] + labels[2]) / sum(labels)


def balanced(folds):
    """Return the mean of the shares of right labels of both classes, over all folds together."""
    total = np.sum(list(folds), axis=0)
    return float(0.5 * (total[0] / (total[0] + total[1]) + total[2] / (total[2] + total[3])))


def rounded(values):
    """Round a share, or a list of shares, for the log."""
    return [round(value, DIGITS) for value in values] if isinstance(values, list) else round(values, DIGITS)


KINDS = {"division": division, "nested": nested, "typical": typical}
KEY = ("protocol", "kind", "data", "scaling", "method", "grid", "seed")


def key(entry):
    """Return the values of the fields that identify a task."""
    return tuple(entry.get(name) for name in KEY)


def work(**task):
    """Run a task; return its result with its CPU seconds."""
    start = time.process_time()
    found = KINDS[task["kind"]](task)
    return found | {"cpu_seconds": round(time.process_time() - start, 2)}


def tasks(full):
    """Return the tasks: all tasks of a seed before the next seed, and one start before many starts."""
    methods = [name for name, method in METHODS.items() if full or method.small]
    few = [name for name in methods if name != FSV_MANY]
    seeds = SEEDS if full else SEEDS[:1]
    parts = [("typical", None, methods), ("division", "paper", few), ("division", "below", PAPERS)]
    parts += [("nested", "paper", PAPERS)] if full else []
    parts += [("division", "paper", [name for name in methods if name not in few])]
    found = []
    for kind, grid, those in parts:
        some = seeds[:NESTED] if kind == "nested" else seeds
        for seed, data, scaling, method in itertools.product(some, DATA, SCALINGS, those):
            record = {"data": data, "scaling": scaling, "method": method, "grid": grid, "seed": seed}
            found.append({"protocol": PROTOCOL, "kind": kind, **record})
    return found
