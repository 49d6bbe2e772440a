"""Data, splits and tasks of ``all_methods``."""

import contextlib
import functools
import time
import warnings

import numpy as np
from sklearn.metrics import balanced_accuracy_score, f1_score

import fsmodels as fs
from benchmarks.harness.log import Log
from benchmarks.methods import catalogue as fits
from benchmarks.methods import heuristics
from benchmarks.methods.catalogue import LAST, METHODS, TRIAL, NoAnswer, select
from fsmodels.selection.catalogue import MODELS

NAME, PROTOCOL = "all_methods", 1
KEY = ("part", "set", "split", "method")
SLOW = 2  # the two largest sets take as long as all others together
SPLITS, SHIPPED = 5, 10
KS = range(1, 11)
MADE = {  # generated sets: name of the generator -> instance
    "Aytug": lambda: fs.synthetic.aytug(30, 300, 5, seed=0),
    "Weston": lambda: fs.synthetic.weston(75, seed=0),
    "NDCC": lambda: fs.synthetic.ndcc(300, seed=0),
}


@functools.cache
def sets():
    """Return the ten shipped flat sets with the fewest cells and the generated sets, the smallest first."""
    listed = fs.list_datasets().set_index("name")
    cells = (listed["samples"] * listed["features"]).sort_values(kind="stable")[:SHIPPED].to_dict()
    cells |= {name: loaded(name)[0].X.size for name in MADE}
    return sorted(cells, key=cells.get)


@functools.cache
def wide():
    """Return the sets with at least as many features as the largest k."""
    return [name for name in sets() if loaded(name)[0].n_features >= max(KS)]


@functools.lru_cache(maxsize=4)
def loaded(name):
    """Return the data to be divided, the test data (None for held-out data), and the relevant features."""
    if name not in MADE:
        return fs.load_dataset(name), None, None
    made = MADE[name]()
    return made.train, made.test, made.relevant


@functools.lru_cache(maxsize=4)
def parts(name, split):
    """Return training part, test part, and the two parts of the training part that choose points: fit, held out.

    Each pair is standardised on its first part.
    """
    data, test, _ = loaded(name)
    train, _, left = data.split(2 / 3, 0.0, 1 / 3, seed=split)
    learn, _, held = train.split(2 / 3, 0.0, 1 / 3, seed=0)
    return (*on_first(train, left if test is None else test), *on_first(learn, held))


def on_first(first, second):
    """Return both parts, standardised on the first one."""
    first = first.scaled("standard")
    return first, first.apply_scale_to(second)


# ---- one comparison


def compared(spec):
    """Choose a point on a third of the training part, fit on the whole training part, and test."""
    train, test, learn, held = parts(spec["set"], spec["split"])
    method = METHODS[spec["method"]]
    points = method.points(*learn.X.shape)
    begin, tried, late, reasons = time.process_time(), [], 0, []
    for place, point in enumerate(points):
        try:
            fit = method.fit(learn, point, TRIAL, {})
            tried.append((error_of(fit, held), len(fit.selected), place))
            late += fit.facts.get("late", False)
        except Exception as failed:  # the log records the reason
            reasons.append(reason_of(failed))
    # The point with the same position in the grid of the whole training part, because points may depend on n.
    final = method.points(*train.X.shape)
    point = final[min(tried)[2]] if tried else final[0]
    entry = {"point": point, "place": min(tried)[2] if tried else None, "trials": len(points), "late_trials": late}
    entry |= tested(method.fit, train, test, point, {})
    entry |= {"trial_error": min(tried)[0] if tried else None, "failed_trials": len(reasons)}
    if reasons and not entry["reason"]:
        entry["reason"] = reasons[0]
    return entry | {"cpu": time.process_time() - begin}


def tested(fit, train, test, point, rules):
    """Fit on the training part and return test measures and facts; without a result those of the majority class."""
    begin, reason, refused = time.process_time(), "", False
    try:
        found = fit(train, point, LAST, rules)
    except Exception as failed:
        found, reason = fits.majority(train, None, None, {}), reason_of(failed)
        refused = isinstance(failed, fs.ModelError | fs.ParameterError)
    return {
        "answer": not reason,
        "refused": refused,
        "reason": reason,
        "status": found.facts.get("status"),
        "gap": found.facts.get("gap"),
        "late": bool(found.facts.get("late", False)),
        **measured(found, test),
        "n": len(train),
        "d": train.n_features,
        "features": len(found.selected),
        "selected": [train.features.index(name) for name in found.selected],
        "last_cpu": time.process_time() - begin,
    }


def reason_of(failed):
    """Return the reason why a fit failed, for the log."""
    named = "" if isinstance(failed, NoAnswer | fs.ModelError | fs.ParameterError) else f"{type(failed).__name__}: "
    return f"{named}{failed}"[:300] or type(failed).__name__


def error_of(fit, data):
    """Return the share of wrong labels."""
    return float(np.mean(fit.predict(data) != data.y))


def measured(fit, test):
    """Return error, balanced error and F1 of class +1."""
    given = fit.predict(test)
    return {
        "error": float(np.mean(given != test.y)),
        "balanced_error": 1.0 - float(balanced_accuracy_score(test.y, given)),
        "f1": float(f1_score(test.y, given, pos_label=1.0, zero_division=0.0)),
    }


# ---- at k = 1 ... 10


def ladder(model, **always):
    """Return a function that selects at each k: by the weakest of 25 regularisations with at most k features."""
    names, values_of = MODELS[model].tuning_grid

    def at(train):
        found = {}
        for value in values_of(train, 1.0)[::-1]:  # strongest regularisation first
            words = dict.fromkeys(names, float(value))
            fit = select(model, lambda train, point, words=words: words, **always)
            try:
                chosen = fit(train, None, TRIAL, {})
            except NoAnswer:
                continue
            found |= {k: (chosen.selected, chosen.facts) for k in KS if len(chosen.selected) <= k}
            if len(chosen.selected) > 2 * max(KS):
                break
        return found

    return at


def ranking(how):
    """Return a function that selects the k best features of one ranking at each k."""

    def at(train):
        names, cut = fits.ranked(how, train, min(max(KS), train.n_features), 6 * TRIAL)
        return {k: (names[:k], {"late": cut and len(names) < k}) for k in KS}

    return at


def bisected(train):
    """Select at each k by liblinear's 1-norm SVM with squared hinge loss, for whose C a bisection finds at most k."""
    found = {}
    for k in KS:
        begin, supports, late = time.process_time(), [], False
        for *_, used in heuristics.l1_bisection(train.X, train.y, k, (-5.0, 3.0)):
            supports.append(used)
            late = time.process_time() - begin > TRIAL
            if late:
                break
        found[k] = [train.features[j] for j in heuristics.largest(supports, k)], {"late": late}
    return found


def risk_scores(train):
    """Select at each k by FasterRisk; one beam search serves all k."""
    found = []
    with contextlib.suppress(NoAnswer), fits.within(6 * TRIAL):
        heuristics.fasterrisk(train.X, train.y, min(max(KS), train.n_features), found)
    return {k: ([train.features[j] for j in found[:k][-1]], {"late": len(found) < k}) for k in KS if found}


def ridge(train):
    """Select at each k by OKRidge."""
    found = {}
    for k in KS:
        used, proven = heuristics.okridge(train.X, train.y, k, TRIAL)
        found[k] = [train.features[j] for j in used], {"status": "optimal" if proven else "feasible"}
    return found


def with_given_k(model, words, **always):
    """Return a function that selects at each k by a model with a given number of features."""
    fit = select(model, words, **always)

    def at(train):
        found = {}
        for k in KS:
            if k <= train.n_features:
                chosen = fit(train, (k,), TRIAL, {})
                found[k] = chosen.selected, chosen.facts
        return found

    return at


AT_K = {
    "FSP-M": with_given_k("fsp-m", fits.by_k, C=1.0, threads=1),
    "FSmulti strict": with_given_k(
        "fsmulti", lambda train, point: {"max_features": point[0], "C": 1.0 * len(train)}, loss="f1"
    ),
    "RFE": ranking("rfe"),
    "Relief": ranking("relief"),
    "forward": ranking("forward"),
    "stability selection": ranking("stability"),
    "FasterRisk": risk_scores,
    "OKRidge": ridge,
    "l1 SVM, bisected": bisected,
    "FSV, cut": ladder("fsv"),
    "OBD, cut": ladder("obd"),
    "GMEB, cut": ladder("gmeb"),
}


def by_number(spec):
    """Test the SVM with C = 1 on the selection of a method at each k."""
    train, test, _, _ = parts(spec["set"], spec["split"])
    begin, curve, reason = time.process_time(), [], ""
    try:
        found = AT_K[spec["method"]](train)
    except ModuleNotFoundError:
        raise
    except Exception as failed:
        found, reason = {}, reason_of(failed)
    cpu = time.process_time() - begin
    for k in KS:
        if k > train.n_features:
            break
        names, facts = found.get(k, ((), {}))
        taken = [name for name in train.features if name in set(names)]
        fit = fits.fit_svm(train, taken, LAST, kernel="linear", C=1.0) if taken else fits.majority(train, 0, 0, {})
        curve.append({"k": k, "features": len(taken), **measured(fit, test), **facts})
    return {"curve": curve, "reason": reason, "cpu": cpu}


# ---- under a budget and a rule


def rules_of(train, name):
    """Return a budget and a pair of features that may not both be selected, as options of ``fs.select``.

    Costs are integers from 1 to 9, with the name of the set as seed. The limit is 25, the mean cost of five features.
    The pair are the two features with the largest correlation with the label.
    """
    random = np.random.default_rng(sum(name.encode()))
    costs = dict(zip(train.features, map(int, random.integers(1, 10, train.n_features)), strict=True))
    strength = np.abs(train.y @ train.X)  # proportional to the correlation: columns are standardised
    first, second = (train.features[j] for j in np.argsort(-strength, kind="stable")[:2])
    return {"budget": (costs, 25.0), "excludes": [(first, second)]}


def ruled(spec):
    """Fit with rules at the point that was chosen without them, and check whether the selection satisfies them."""
    train, test, _, _ = parts(spec["set"], spec["split"])
    rules, method = rules_of(train, spec["set"]), METHODS[spec["method"]]
    begin = time.process_time()
    entry = tested(method.fit, train, test, tuple(spec["point"]), rules)
    taken = {train.features[j] for j in entry["selected"]}
    (costs, limit), (pair,) = rules["budget"], rules["excludes"]
    entry["cost"] = sum(costs[name] for name in taken)
    entry["honoured"] = entry["answer"] and entry["cost"] <= limit and not taken >= set(pair)
    return entry | {"cpu": time.process_time() - begin}


# ---- the log


TASKS = {"methods": compared, "k": by_number, "rules": ruled}


def tasks(full):
    """Return the tasks, one split after the other with the slow sets last, so that a stopped run is balanced."""
    found = []
    for split in range(SPLITS if full else 1):
        for names in (sets()[:-SLOW], sets()[-SLOW:]):
            found += [("methods", name, split, method) for name in names for method in METHODS]
            for name in names:
                found += [("rules", name, split, method) for method in METHODS]
                found += [("k", name, split, method) for method in AT_K if name in wide()]
    return [{"protocol": PROTOCOL} | dict(zip(KEY, task, strict=True)) for task in found]


def work(**task):
    """Run a task; return None for "rules" if the log lacks the task of "methods" that chooses its point."""
    with fits.cpu_clock(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # constant columns, limits of libsvm
        fits.ranked.cache_clear()  # the time of a task must not depend on earlier tasks
        warm()
        if task["part"] != "rules":
            return TASKS[task["part"]](task)
        point = chosen_point(task)
        return None if point is None else ruled(task | {"point": point})


def chosen_point(task):
    """Return the point chosen by the task of "methods" in the log; None without this task."""
    before = task | {"part": "methods"}
    for entry in Log(NAME).entries():
        if all(entry[name] == value for name, value in before.items()):
            return entry["point"]
    return None


@functools.cache
def warm():
    """Run every method once, so that imports and compilation are not part of the time of the first fit."""
    data = fs.load_dataset("bupa").take(np.arange(0, 345, 12)).scaled("standard")
    for method in METHODS.values():
        method.fit(data, method.points(*data.X.shape)[-1], TRIAL, {})
