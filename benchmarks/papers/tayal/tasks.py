"""Methods, grids, data and tasks of ``kernel_tables``; a task is one C of one method on one division."""

import collections
import functools
import time
import warnings

import numpy as np
from sklearn.svm import SVC

import fsmodels as fs
from benchmarks.harness.log import SHARED
from fsmodels import kernel, rankings, synthetic

PROTOCOL = 1
AO_PROTOCOL = 4  # of AO simple and AO margin, since their sweeps are accelerated
TRUST_PROTOCOL = 3  # of the trust region, since its variables are scaled; before, its steps were projected
EPS = 0.5
SVM_LIMIT = 10**6  # iterations of libsvm for the SVM on all or chosen features
INNER_LIMIT = 1000  # iterations within a step, the default of the driver
SPLITS = 5
NDCC, DIGITS = "NDCC", "Digits 3, 8"
ALPHA, ALPHAS = 1.0, (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)  # of the shares of the centres of NDCC: used, and compared
FILES = {  # name in the table: shipped name or file below the shared folder, in the order of cost
    "S.A. Heart": "data/saheart.csv",
    "Sonar": "sonar",
    "Wdbc": "wdbc",
    "Ion": "ionosphere",
    "Aust. Credit": "data-extra/australian.csv",
    "Musk": "musk1",
    "German Credit": "german_numeric",
    "Madelon": "data-extra/madelon_train.csv.gz",
}
MADELON_TEST = "data-extra/madelon_valid.csv.gz"
SETS = [*FILES, DIGITS]
FIRST = ("S.A. Heart", "Sonar", "Ion")
GROUPS = {"three sets": list(FIRST), "five sets more": [name for name in FILES if name not in FIRST]}  # of table 3
TRAIN = dict.fromkeys(FILES, 2 / 3) | {DIGITS: 167 / 200}  # share of the training part; of the digits as for the faces

TRUST, QUASI = "trust region, z = 1", "L-BFGS-B, scaled start"
WAYS = {TRUST: ("trust-newton", "ones"), QUASI: ("l-bfgs-b", "default")}
SVM, SVM_TRUE = "SVM", "SVM, true features"
GMKL, FULL, SIMPLE, MARGIN, EFS = "GMKL", "FULL-FS", "AO simple", "AO margin", "AO-EFS"
PAPER_FOUR = [(SVM, ""), (GMKL, TRUST), (FULL, TRUST), (EFS, TRUST)]
NDCC_RUNS = [*PAPER_FOUR, (SVM_TRUE, ""), (FULL, QUASI), (EFS, QUASI)]
NDCC_MORE = [(SIMPLE, TRUST), (MARGIN, TRUST), (GMKL, QUASI), (SIMPLE, QUASI), (MARGIN, QUASI)]
UCI_RUNS = [*PAPER_FOUR, (FULL, QUASI), (EFS, QUASI)]
FILTERS = ["Kernel RFE", "Mutual information", "Relief"]
RANKERS = [GMKL, FULL, EFS]


def protocol(method, way):
    """Return the current protocol number of a method."""
    if method in (SIMPLE, MARGIN):
        return AO_PROTOCOL
    return TRUST_PROTOCOL if way == TRUST and method != GMKL else PROTOCOL


# ---- grids, in powers of 2

PAPER_C, PAPER_MU = range(-5, 16), range(-10, 11, 2)  # mu, or the SVM's width sigma
EFS_C = range(-7, 3)  # suits (12), where overfitting has nearly no cost for C >= 1; the paper's C are used as well
COARSE_MU = range(-8, 9, 4)


def rows(method):
    """Return two lists of pairs (C, mus): the coarse grid, with every second value, and the rest of the paper's grid.

    For the SVM, whose fits are fast, the first list is the paper's grid. The coarse grid of AO-EFS has its own C.
    """
    if method in (SVM, SVM_TRUE):
        return [(c, tuple(PAPER_MU)) for c in PAPER_C], []
    coarse = [c for c in (EFS_C if method == EFS else PAPER_C) if c % 2]
    every = sorted({*PAPER_C, *EFS_C}) if method == EFS else PAPER_C
    first = [(c, tuple(COARSE_MU)) for c in coarse]
    late = [(c, tuple(COARSE_MU)) for c in every if c % 2 and c not in coarse]
    return first, late + [(c, tuple(m for m in PAPER_MU if not (c % 2 and m in COARSE_MU))) for c in every]


# ---- data


@functools.lru_cache(maxsize=2)
def clusters(seed, alpha=ALPHA):
    """Return training, validation and test part, standardised on the training part, and the relevant features."""
    drawn = synthetic.ndcc(seed=seed, concentration=alpha)
    train = drawn.train.scaled("standard")
    return train, train.apply_scale_to(drawn.validation), train.apply_scale_to(drawn.test), drawn.relevant


def found(name):
    """Return True if the file of a set exists."""
    file = "data/mfeat.csv.gz" if name == DIGITS else FILES[name]
    return "/" not in file or (SHARED / file).exists()


@functools.lru_cache(maxsize=2)
def real(name):
    """Return a data set."""
    if name == DIGITS:
        return digits()
    return fs.load_dataset(FILES[name]) if "/" not in FILES[name] else fs.Dataset.from_csv(SHARED / FILES[name])


def digits():
    """Return the 240 pixels of the first hundred threes and eights: 200 images, as many as there are faces."""
    import pandas as pd

    pixels = pd.read_csv(SHARED / "data/mfeat.csv.gz").filter(regex=r"^pix\d+$")
    digit = pd.read_csv(SHARED / "data/mfeat_digits.csv")["digit"]
    kept = np.concatenate([np.flatnonzero(digit == d)[:100] for d in (3, 8)])
    X = pixels.iloc[kept].to_numpy(dtype=float)
    kept_columns = np.flatnonzero(X.std(axis=0) > 0)
    names = [pixels.columns[k] for k in kept_columns]
    return fs.Dataset.from_arrays(X[:, kept_columns], digit.iloc[kept].to_numpy(), features=names)


@functools.lru_cache(maxsize=2)
def parts_of(name, split, folds):
    """Return pairs (train, held out) for the choice, and (train, test); parts are standardised on their train part."""
    if name == NDCC:
        train, validation, test, _ = clusters(split)
        return [(train, validation)], (train, test)
    data = real(name)
    train, _, test = data.split(TRAIN[name], 0.0, 1 - TRAIN[name], seed=split)
    if name == "Madelon":
        # Chosen by the third that is not for training, tested by the validation part of the challenge.
        train, chooses = scaled(train, test)
        return [(train, chooses)], (train, train.apply_scale_to(fs.Dataset.from_csv(SHARED / MADELON_TEST)))
    return [scaled(fold.train, fold.held_out) for fold in train.folds(folds, seed=0)], scaled(train, test)


def scaled(train, other):
    """Return both parts, standardised on the first one."""
    train = train.scaled("standard")
    return train, train.apply_scale_to(other)


# ---- one fit


def build(method, way, data, C, mu):
    """Return a method's model."""
    start = WAYS[way][1]
    if method == FULL:  # L-BFGS-B uses the reduced form in z alone, which has the same local minima
        form = "oracle" if way == TRUST else "reduced"
        return kernel.full_fs(data, C=C, penalty=mu, start=start, eps=EPS, form=form)
    makers = {GMKL: kernel.gmkl, SIMPLE: kernel.ao_simple, MARGIN: kernel.ao_margin, EFS: kernel.ao_efs}
    stop = {"stop": "weights"} if (method, way) == (EFS, TRUST) else {}  # the stopping rule of Algorithm 3
    return makers[method](data, C=C, penalty=mu, start=start, **stop)


def fit(method, way, data, C, mu):
    """Fit a method at a point; return a function for the number of wrong labels of a Dataset, z, and facts."""
    begin = time.process_time()
    if method in (SVM, SVM_TRUE):
        classifier = SVC(C=C, gamma=mu**-2, max_iter=SVM_LIMIT).fit(data.X, data.y)
        facts = {"reason": "iteration_limit" if classifier.fit_status_ else "converged", "status": "-"}
        facts |= {"cpu": time.process_time() - begin, "steps": 0}
        return lambda other: int((classifier.predict(other.X) != other.y).sum()), None, facts
    model = build(method, way, data, C, mu)
    method_option = {} if method == GMKL else {"method": WAYS[way][0]}  # GMKL is a projected gradient method
    result = fs.solve(model, **method_option)
    classifier = kernel.classifier(model)
    z = np.where(kernel.used(classifier.z), classifier.z, 0.0)
    facts = {
        "reason": result.stop_reason.value,
        "status": result.status.value,
        "cpu": time.process_time() - begin,
        "steps": len(result.details["steps"]),
        "cut": int((result.details["steps"]["iterations"] >= INNER_LIMIT).sum()),
    }
    return lambda other: int((classifier.predict(other.X) != other.y).sum()), z, facts


def tried(method, way, train, others, C, mu):
    """Return the numbers of wrong labels in ``others``, z and facts; if a fit fails, all labels count as wrong."""
    try:
        wrong, z, facts = fit(method, way, train, C, mu)
        return [wrong(other) for other in others], z, facts
    except Exception as error:  # the log records it
        failed = {"reason": "error", "status": f"{type(error).__name__}: {error}"[:200], "cpu": 0.0, "steps": 0}
        return [len(o) for o in others], None, failed


# ---- tasks


def one_row(spec):
    """Fit a method at one C and several mu; count the wrong labels of the held-out and of the test part."""
    method, way = spec["method"], spec["way"]
    pairs, (train, test) = parts_of(spec["data"], spec["split"], spec["folds"])
    single, true = pairs[0][0] is train, None  # single: the same fit is used for choice and test
    if spec["data"] == NDCC:
        relevant = clusters(spec["split"])[3]
        if method == SVM_TRUE:
            pairs = [tuple(part.select_features(relevant) for part in pair) for pair in pairs]
            train, test = (part.select_features(relevant) for part in (train, test))
        true = np.isin(train.features, relevant)
    points = []
    for power in spec["mus"]:
        C, mu = 2.0 ** spec["C"], 2.0**power
        others = [pairs[0][1], test] if single else [test]
        wrong, z, facts = tried(method, way, train, others, C, mu)
        every, held = [facts], wrong[0] if single else 0
        for fold, out in [] if single else pairs:
            (missed,), _, more = tried(method, way, fold, [out], C, mu)
            held += missed
            every.append(more)
        point = {"mu": power, "held": held, "test": wrong[-1], **ends(every)}
        if z is None:
            point["features"] = train.n_features
        else:
            ranked = np.argsort(-z, kind="stable")[: int((z > 0).sum())]
            point |= {"features": len(ranked), "order": ranked.tolist()}
            if true is not None:
                point |= {"right": int((z[true] > 0).sum()), "wrong": int((z[~true] > 0).sum())}
                point["omega"] = round(kernel.omega(train, z, C=C, penalty=mu), 4)
        points.append(point)
    return {"held_out": sum(len(out) for _, out in pairs), "tested": len(test), "points": points}


def ends(facts):
    """Return the number, the stop reasons and the times of the fits."""
    return {
        "fits": len(facts),
        "reasons": dict(collections.Counter(f["reason"] for f in facts)),
        "statuses": dict(collections.Counter(f["status"] for f in facts)),
        "steps": sum(f["steps"] for f in facts),
        "cut": sum(f.get("cut", 0) for f in facts),
        "cpu": round(sum(f["cpu"] for f in facts), 3),
        "slowest": round(max(f["cpu"] for f in facts), 3),
    }


def one_ranking(spec):
    """Test an RBF SVM on the k best features of one ranking; C and sigma are chosen for each k."""
    pairs, last = parts_of(spec["data"], spec["split"], spec["folds"])
    names = list(last[0].features)
    if spec["order"] is not None:
        order, most = [names[k] for k in spec["order"]], len(spec["order"])
    else:
        order, most = filtered(spec["method"], last[0], pairs, spec), len(names)
    curve = []
    for k in [k for k in counts(len(names)) if k <= most]:
        C, sigma = best_svm(order[:k], pairs, spec)
        train, test = (part.select_features(order[:k]) for part in last)
        (wrong,), _, _ = tried(SVM, "", train, [test], C, sigma)
        curve.append([k, wrong / len(test)])
    return {"curve": curve, "ranked": most}


def one_alpha(spec):
    """Return the test error of the SVM on NDCC data with alpha; C and sigma are chosen as for alpha = 1."""
    train, validation, test, relevant = clusters(spec["split"], spec["alpha"])
    names = list(relevant if spec["method"] == SVM_TRUE else train.features)
    C, sigma = best_svm(names, [(train, validation)], spec)
    (wrong,), _, _ = tried(SVM, "", train.select_features(names), [test.select_features(names)], C, sigma)
    return {"error": wrong / len(test), "chosen": [C, sigma]}


def counts(d):
    """Return the numbers of features k of a curve."""
    return [k for k in (1, 2, 3, 4, 6, 8, 11, 15, 20, 30, 45, 60, 90) if k < d] + [d]


def svm_points(grid):
    """Return (C, sigma) of an SVM on selected features, the smallest C and the widest kernel first."""
    powers = (PAPER_C, PAPER_MU) if grid == "paper" else (range(-3, 14, 4), range(-4, 7, 2))
    return [(2.0**c, 2.0**s) for c in powers[0] for s in sorted(powers[1], reverse=True)]


def best_svm(names, pairs, spec):
    """Return (C, sigma) with the smallest held-out error; the first one in a tie."""
    points = svm_points(spec["grid"])
    cut = [(train.select_features(names), held.select_features(names)) for train, held in pairs]
    totals = [sum(tried(SVM, "", train, [held], *point)[0][0] for train, held in cut) for point in points]
    return points[int(np.argmin(totals))]


def filtered(method, train, pairs, spec):
    """Return the feature names in the order of a ranking, best first."""
    if method == "Mutual information":
        return list(rankings.mutual_information(train, seed=0).index)
    if method == "Relief":
        return list(rankings.relief(train).index)
    C, sigma = best_svm(list(train.features), pairs, spec)
    return list(rankings.kernel_rfe(train, C=C, width=sigma).index)


def work(**spec):
    """Run a task; return its result and its times."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # constant columns, libsvm's limit
        begin = time.process_time()
        result = {"grid": one_row, "ranking": one_ranking, "alpha": one_alpha}[spec["part"]](spec)
    return result | {"cpu_seconds": round(time.process_time() - begin, 3)}
