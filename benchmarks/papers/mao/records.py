"""Records of the page of ``multivariate_tables``: fits, comparisons of methods, tests of errors."""

import itertools
import statistics

import numpy as np
from scipy import stats

from benchmarks.harness.differences import source
from benchmarks.papers.mao import tasks as protocol
from benchmarks.papers.mao.data import BIRDS
from benchmarks.papers.mao.tasks import ALL, BAGS, COLLECTION, FGM, L1, OURS, RFE, TEXTS, WIDE

ERRORS, NO_OFFSET = "FSmulti for errors", "FSmulti without an offset"
RIVALS = (L1, RFE)
LOSS = {"text": "hamming", "bags": "f1"}  # l1 and RFE have no more features than FSmulti with this loss (classes: F1)
BAG_B = (50, 10, 2)
BOUND_FIELDS = ("task", "method", "loss", "B", "c", "rounds", "bound", "stop")
CHOICE_FIELDS = ("task", "seed", "method", "loss", "best", "late", "of", "cv", "cpu")  # without the folds


def group_of(task):
    """Return "bags", "text" or the collection of a task."""
    return "bags" if task in BAGS else "text" if task in TEXTS else COLLECTION[task]


def kind_of(bags):
    """Return the set of bags of a task; the labels of birdsong are tasks on the same set."""
    return f"birdsong, {len(BIRDS)} labels" if bags.startswith("bird ") else bags


def read(entries):
    """Return the entries of this protocol, and the lists of records of the page by name."""
    known = {str(protocol.task(**spec(e))): e for e in entries if e.get("protocol") == protocol.PROTOCOL}
    kinds = {kind: [e for e in known.values() if e["kind"] == kind] for kind in ("fit", "path", "bound", "c")}
    fits = [e for e in kinds["fit"] if e["c"] is None]
    points = [point(e) for e in fits]
    wrong = {id(p): e.get("wrong") for p, e in zip(points, fits, strict=True)}
    paths = {(e["task"], e["seed"], e["method"]): e["points"] for e in kinds["path"]}
    for ours in list(points):
        if ours["method"] == OURS and ours["loss"] == LOSS.get(ours["group"], "f1"):
            for rival in RIVALS:
                best = at_most(paths.get((ours["task"], ours["seed"], rival), ()), ours["features"])
                if best:
                    same = chosen_fields(ours, "group", "task", "seed", "loss", "B")
                    taken = {"features": best["features"], "test": best["test"], "fit_cpu": best["cpu"]}
                    points.append({**same, "method": rival, **taken})
                    wrong[id(points[-1])] = best.get("wrong")
    bags = means_of_bags(points)
    return list(known.values()), {
        "points": points,
        "contests": contests(points),
        "grid": [point(e) | {"c": e["c"]} for e in kinds["fit"] if e["c"] is not None],
        "bags": bags,
        "sources": means_of_sources(bags),
        "errors": tests_of_errors(points, wrong),
        "nested": nested(fits),
        "bounds": [chosen_fields(e, *BOUND_FIELDS) for e in kinds["bound"]],
        "choices": [chosen_fields(e, *CHOICE_FIELDS) for e in kinds["c"]],
    }


def chosen_fields(record, *names):
    """Return a record with some fields."""
    return {name: record[name] for name in names}


def spec(entry):
    """Return the arguments of ``tasks.task`` for the task of an entry."""
    return chosen_fields(entry, "kind", "method", "seed", "loss", "B", "c", "offset") | {"name": entry["task"]}


def point(entry):
    """Return the record of a fit."""
    method = entry["method"] if entry["offset"] or entry["method"] == FGM else NO_OFFSET
    same = chosen_fields(entry, "task", "seed", "loss", "B", "features", "test", "fit_cpu", "stop", "gap")
    same |= {"method": method, "group": group_of(entry["task"]), "used": entry["used"]}
    return same | {"rounds": entry["rounds"], "unclosed": int(entry["stop"] != "converged")}


def at_most(points, count):
    """Return the point of a path with the most features, at least 1 and at most ``count``; None without one."""
    rows = [row for row in points if 0 < row["features"] <= count]
    return max(rows, key=lambda row: row["features"], default=None)


def contests(points):
    """Return a record for each class, measure and other method: the difference of FSmulti to it, and its sign."""
    by = {(p["task"], p["method"], p["loss"], p["B"]): p for p in points if p["group"] in protocol.COLLECTIONS}
    found = []
    for (task, method, measure, B), ours in by.items():
        if method != OURS or measure == "hamming":
            continue
        rivals = {ERRORS: (OURS, "hamming", B), ALL: (ALL, measure, None)}
        if measure == "f1":
            rivals |= {rival: (rival, "f1", B) for rival in RIVALS}
            rivals |= {NO_OFFSET: (NO_OFFSET, "f1", B)} if B == WIDE else {}
        for rival, requested in rivals.items():
            if theirs := by.get((task, *requested)):
                apart = round(ours["test"][measure] - theirs["test"][measure], 4)
                record = {"group": ours["group"], "task": task, "rival": rival, "measure": measure, "B": B}
                found.append(record | {"difference": apart, "won": int(apart < 0), "lost": int(apart > 0)})
    return found


def means_of_bags(points):
    """Return F1 and features of each method on each set of bags: means over the splits that all methods have."""
    methods = {"FSmulti for F1": (OURS, "f1"), ERRORS: (OURS, "hamming"), L1: (L1, "f1"), RFE: (RFE, "f1")}
    by = {(p["task"], p["method"], p["loss"], p["B"], p["seed"]): p for p in points if p["group"] == "bags"}
    found = []
    for task in BAGS:
        for B in BAG_B:
            fits = {
                name: {s: by[key] for s in range(protocol.SPLITS) if (key := (task, *which, B, s)) in by}
                for name, which in methods.items()
            }
            fits["l1 for F1 (B = 1)"] = {
                s: by[key] for s in range(protocol.SPLITS) if (key := (task, OURS, "f1", 1, s)) in by
            }
            common = set.intersection(*(set(fits[name]) for name in methods))
            for name, here in fits.items():
                splits = sorted(common & set(here))
                if splits:
                    mean = statistics.fmean(here[s]["test"]["f1"] for s in splits)
                    count = statistics.fmean(here[s]["features"] for s in splits)
                    record = {"set": kind_of(task), "task": task, "B": B, "method": name, "splits": len(splits)}
                    found.append(record | {"f1": round(mean, 4), "features": round(count, 4)})
    return found


def means_of_sources(bags):
    """Return F1 of each method for each source of bags: the mean over its tasks, which share samples."""
    by = {}
    for record in bags:
        by.setdefault((source(record["task"]), record["B"], record["method"]), []).append(record["f1"])
    return [
        {"source": name, "B": B, "method": method, "tasks": len(f1), "f1": round(statistics.fmean(f1), 4)}
        for (name, B, method), f1 in by.items()
    ]


def tests_of_errors(points, wrong):
    """Compare the test errors of FSmulti for errors and of each other method on each text, by McNemar's test.

    "ours" and "theirs" are the numbers of test samples that only one of both methods labels correctly.
    """
    by = {
        (p["task"], p["method"], p["B"]): p for p in points if p["group"] == "text" and p["loss"] in ("hamming", None)
    }
    found = []
    for (task, method, B), theirs in by.items():
        ours = by.get((task, OURS, B))
        if method == OURS or not ours:
            continue
        a, b = (np.unpackbits(np.frombuffer(bytes.fromhex(wrong[id(p)]), np.uint8)) for p in (ours, theirs))
        only = {"ours": int(np.sum((a == 0) & (b == 1))), "theirs": int(np.sum((a == 1) & (b == 0)))}
        found.append({"task": task, "rival": method, "B": B} | only | {"p": mcnemar(*only.values())})
    return found


def mcnemar(one, other):
    """Return the exact p-value of McNemar's test."""
    return float(stats.binomtest(one, one + other).pvalue) if one + other else 1.0


def nested(fits):
    """Return the share of the features of FSmulti for errors at one B that are also selected at the next B, by text."""
    chosen = {
        (e["task"], e["B"]): set(e["selected"])
        for e in fits
        if "selected" in e and e["method"] == OURS and e["loss"] == "hamming"
    }
    order, found = sorted({B for _, B in chosen}), []
    for task in TEXTS:
        for B, more in itertools.pairwise(order):
            few, many = chosen.get((task, B)), chosen.get((task, more))
            if few and many is not None:
                share = len(few & many) / len(few)
                found.append({"task": task, "B": B, "next": more, "features": len(few), "kept": round(share, 6)})
    return found
