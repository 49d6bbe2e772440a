"""Methods, grids and tasks of ``kernel_tables``: NDCC, the UCI sets and the rankings; one task is one log line."""

import collections
import functools
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the clone, not an installed package
import fsmodels as fs
from fsmodels import kernel, rankings, synthetic

EPS = 0.5
FIT_LIMIT = 120.0  # seconds of one fit; what stops there is counted
SVM_LIMIT = 10**6  # iterations of libsvm for the SVM on all or chosen features
SETS = {  # name in the table: shipped name or file below the shared folder, in the paper's order
    "Sonar": "sonar",
    "Ion": "ionosphere",
    "S.A. Heart": "data/saheart.csv",
    "Musk": "musk1",
    "Wdbc": "wdbc",
    "Aust. Credit": "data-extra/australian.csv",
    "German Credit": "german_numeric",
    "Madelon": "data-extra/madelon_train.csv.gz",
}
MADELON_TEST = "data-extra/madelon_valid.csv.gz"
SMALL = ("Sonar", "Ion", "S.A. Heart", "Wdbc")  # of a default run
SPLITS = 5
NDCC = "NDCC"
BUILD = {
    "GMKL": kernel.gmkl,
    "FULL-FS": functools.partial(kernel.full_fs, form="reduced"),
    "FULL-FS, (u, b, z)": kernel.full_fs,
    "AO simple": kernel.ao_simple,
    "AO margin": kernel.ao_margin,
    "AO-EFS": kernel.ao_efs,
}
SVM, SVM_TRUE = "SVM", "SVM, true features"
UCI_METHODS = [SVM, "GMKL", "FULL-FS", "AO simple", "AO margin", "AO-EFS"]
NDCC_METHODS = [SVM, SVM_TRUE, *BUILD]
TRUE_METHODS = ["AO margin", "AO-EFS"]
RANKERS = ["GMKL", "FULL-FS", "AO margin", "AO-EFS"]


# ---- grids, in the order in which ties are broken


def grid(method, part, size):
    """Return the points (C, mu), or (C, sigma) of the SVM: least C first, then the largest mu or sigma."""
    powers = POWERS[size][part, kind_of(method)]
    return [(2.0**c, 2.0**m) for c in sorted(powers[0]) for m in sorted(powers[1], reverse=True)]


def kind_of(method):
    """Return which grid a method has."""
    return SVM if method in (SVM, SVM_TRUE) else "AO-EFS" if method == "AO-EFS" else "weights"


PAPER = (range(-5, 16), range(-10, 11, 2))
EFS_PAPER = (range(-7, 3), range(-10, 11, 2))
POWERS = {
    "coarse": {
        ("ndcc", SVM): (range(-5, 10, 2), range(0, 7)),
        ("ndcc", "weights"): ((-2, 0, 2, 4), (-4, -2, 0)),
        ("ndcc", "AO-EFS"): ((-6, -4, -2, 0), (-8, -6, -4, -2, 0)),
        ("uci", SVM): (range(-5, 10, 2), range(0, 7)),
        ("uci", "weights"): ((-1, 2, 5), (-3, 0, 3)),
        ("uci", "AO-EFS"): ((-5, -3, -1), (-6, -3, 0)),
    },
    "paper": {
        (part, kind): EFS_PAPER if kind == "AO-EFS" else PAPER
        for part in ("ndcc", "uci")
        for kind in (SVM, "weights", "AO-EFS")
    },
}
RANKING_POWERS = {"coarse": (range(-1, 10, 2), range(-1, 6, 2)), "paper": PAPER}


# ---- data


@functools.lru_cache(maxsize=2)
def clusters(seed, concentration):
    """Return training, validation and test part, standardised on the first, and the relevant features."""
    drawn = synthetic.ndcc(seed=seed, concentration=concentration)
    train = drawn.train.scaled("standard")
    return train, train.apply_scale_to(drawn.validation), train.apply_scale_to(drawn.test), drawn.relevant


def real(name, shared):
    """Return a data set, or None where its file is not there."""
    if "/" not in SETS[name]:
        return fs.load_dataset(SETS[name])
    path = Path(shared) / SETS[name]
    return fs.Dataset.from_csv(path) if path.exists() else None


def parts_of(name, split, folds, shared):
    """Return pairs (train, held out) to choose by, and the pair to test, all standardised on what trains."""
    data = real(name, shared)
    train, _, test = data.split(2 / 3, 0.0, 1 / 3, seed=split)
    if name == "Madelon":  # the third left out chooses, the challenge's validation part tests
        return [scaled(train, test)], scaled(train, fs.Dataset.from_csv(Path(shared) / MADELON_TEST))
    return [scaled(fold.train, fold.held_out) for fold in train.folds(folds, seed=0)], scaled(train, test)


def scaled(train, other):
    """Return both, standardised on the first."""
    train = train.scaled("standard")
    return train, train.apply_scale_to(other)


# ---- one fit, and the choice of a point


def fit(method, data, point, start="default"):
    """Return (wrong labels of a Dataset as a function, z, facts) of a method at a point."""
    begin = time.process_time()
    if kind_of(method) == SVM:
        machine = SVC(C=point[0], gamma=point[1] ** -2, max_iter=SVM_LIMIT).fit(data.X, data.y)
        cut = int(machine.fit_status_)
        facts = {"reason": "iteration_limit" if cut else "converged", "status": "-", "cpu": time.process_time() - begin}
        return lambda other: int((machine.predict(other.X) != other.y).sum()), None, facts
    C, mu = point
    model = BUILD[method](data, C=C, penalty=mu, start=start)
    result = fs.solve(model, time_limit=FIT_LIMIT)
    found = kernel.classifier(model)
    z = np.where(kernel.used(found.z), found.z, 0.0)
    steps = result.details["steps"]
    facts = {
        "reason": result.stop_reason.value,
        "status": result.status.value,
        "cpu": time.process_time() - begin,
        "steps": len(steps),
        "raised": int((~steps["taken"].astype(bool)).sum()),
        "zero": bool(found.is_constant),
    }
    return lambda other: int((found.predict(other.X) != other.y).sum()), z, facts


def tried(method, data, point, others, start="default"):
    """Return the wrong labels in each of ``others``, z and facts; a fit that fails has every label wrong."""
    try:
        wrong, z, facts = fit(method, data, point, start)
        return [wrong(other) for other in others], z, facts
    except Exception as error:  # a benchmark reports it
        return [len(o) for o in others], None, {"reason": "error", "status": f"{type(error).__name__}: {error}"[:300]}


def summary(facts):
    """Return how many fits there were, how they stopped, and what went wrong."""
    count = collections.Counter(f["reason"] for f in facts)
    return {
        "fits": len(facts),
        "reasons": dict(count),
        "statuses": dict(collections.Counter(f["status"] for f in facts)),
        "raised": sum(f.get("raised", 0) for f in facts),
        "zero": sum(f.get("zero", False) for f in facts),
        "slowest": max((f.get("cpu", 0.0) for f in facts), default=0.0),
        "cpu_fits": sum(f.get("cpu", 0.0) for f in facts),
    }


# ---- tasks


def one_ndcc(spec):
    """Choose (C, mu) on the validation part, test; from the default start, or the true support."""
    train, validation, test, relevant = clusters(spec["seed"], spec["concentration"])
    method, start = spec["method"], "default"
    if method == SVM_TRUE:
        train, validation, test = (part.select_features(relevant) for part in (train, validation, test))
    true = np.isin(train.features, relevant)
    if spec["start"] == "true":
        start = np.where(true, min(1.0, 2 / np.sqrt(2 * len(relevant))), 0.0)
    rows, facts = [], []
    for point in grid(method, "ndcc", spec["grid"]):
        (wrong, wrong_test), z, fact = tried(method, train, point, [validation, test], start)
        row = {"point": point, "validation": wrong / len(validation), "test": wrong_test / len(test)}
        if z is not None:
            row |= {"right": int((z[true] > 0).sum()), "wrong": int((z[~true] > 0).sum()), "z": z.round(6).tolist()}
            row["omega"] = kernel.omega(train, z, C=point[0], penalty=point[1])
            row["reason"], row["zero"] = fact["reason"], fact["zero"]
        rows.append(row)
        facts.append(fact)
    best = min(rows, key=lambda row: row["validation"])  # min keeps the first of equals; "test" is only reported
    if "z" not in best:
        best |= {"right": len(relevant), "wrong": int((~true).sum())}
    at_points = [{name: value for name, value in row.items() if name != "z"} for row in rows]
    return {"chosen": best, "points": at_points, **summary(facts)}


def one_uci(spec):
    """Choose a point by cross-validation on the training part, fit all of it, test."""
    pairs, (train, test) = parts_of(spec["data"], spec["split"], spec["folds"], spec["shared"])
    method, facts, totals = spec["method"], [], []
    points = grid(method, "uci", spec["grid"])
    for point in points:
        results = [tried(method, fold, point, [held]) for fold, held in pairs]
        totals.append(sum(wrong for (wrong,), _, _ in results))
        facts += [fact for _, _, fact in results]
    best = int(np.argmin(totals))
    (wrong,), z, fact = tried(method, train, points[best], [test])
    return {
        "error": wrong / len(test),
        "features": train.n_features if z is None else int((z > 0).sum()),
        "point": points[best],
        "cv_error": totals[best] / sum(len(held) for _, held in pairs),
        "n": len(train),
        "d": train.n_features,
        "z": None if z is None else z.round(6).tolist(),
        "last": fact,
        **summary([*facts, fact]),
    }


def one_ranking(spec):
    """Test an RBF SVM on the k best features of one ranking, C and sigma chosen anew for each k."""
    if spec["data"] == NDCC:
        train, validation, test, _ = clusters(spec["split"], spec["concentration"])
        pairs, last = [(train, validation)], (train, test)
    else:
        pairs, last = parts_of(spec["data"], spec["split"], spec["folds"], spec["shared"])
    order, most = ranked(spec, last[0], pairs)
    powers = RANKING_POWERS[spec["grid"]]
    points = [(2.0**c, 2.0**s) for c in powers[0] for s in sorted(powers[1], reverse=True)]
    curve = []
    for k in [k for k in counts(last[0].n_features) if k <= most]:
        point = best_svm(order[:k], pairs, points)
        (wrong,), _, _ = tried(SVM, last[0].select_features(order[:k]), point, [last[1].select_features(order[:k])])
        curve.append([k, wrong / len(last[1])])
    return {"curve": curve, "ranked": most}


def counts(d):
    """Return numbers of features of a curve."""
    return [k for k in (1, 2, 3, 4, 6, 8, 11, 15, 20, 30, 45, 60, 90) if k < d] + [d]


def best_svm(names, pairs, points):
    """Return (C, sigma) of the least error on what is held out, the first of equals."""
    cut = [(train.select_features(names), held.select_features(names)) for train, held in pairs]
    totals = [sum(tried(SVM, train, point, [held])[0][0] for train, held in cut) for point in points]
    return points[int(np.argmin(totals))]


def ranked(spec, train, pairs):
    """Return feature names, best first, and how many of them are really ranked."""
    method, d = spec["method"], train.n_features
    if method in BUILD:
        z = np.array(spec["z"])
        return [train.features[k] for k in np.argsort(-z, kind="stable")], int((z > 0).sum())
    if method == "Mutual information":
        return list(rankings.mutual_information(train, seed=0).index), d
    if method == "Relief":
        return list(rankings.relief(train).index), d
    powers = RANKING_POWERS[spec["grid"]]
    points = [(2.0**c, 2.0**s) for c in powers[0] for s in sorted(powers[1], reverse=True)]
    C, sigma = best_svm(list(train.features), pairs, points)
    return list(rankings.kernel_rfe(train, C=C, width=sigma).index), d


PARTS = {"ndcc": one_ndcc, "uci": one_uci, "ranking": one_ranking}
FILTERS = ["Kernel RFE", "Mutual information", "Relief"]


def one_task(spec):
    """Run a task on one thread; return its spec, what it found and what it took."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # constant columns, libsvm's limit
        wall, cpu = time.perf_counter(), time.process_time()
        found = PARTS[spec["part"]](spec)
        spent = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    return {name: value for name, value in spec.items() if name not in ("shared", "z")} | found | spent
