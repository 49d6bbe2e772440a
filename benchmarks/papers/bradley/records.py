"""Records of ``concave_tables`` for each division, and tests of their differences."""

import itertools
import math
import statistics

from benchmarks.harness.differences import difference, verdicts
from benchmarks.harness.page import Cell
from benchmarks.harness.records import grouped
from benchmarks.papers.bradley import tasks as protocol
from benchmarks.papers.bradley.tasks import DATA, GRIDS, METHODS, PAPER, SCALINGS, correct, key, tasks

DIVISION = ("data", "scaling", "method", "seed")

# ---- records


def read(entries):
    """Return the last entry of each task of this protocol, in order, and whether repeated tasks gave equal results."""
    order = {key(task): number for number, task in enumerate(tasks(full=True))}
    found, again = {}, []
    for entry in entries:
        which = key(entry)
        if entry.get("protocol") != protocol.PROTOCOL or which not in order:
            continue
        if which in found and entry.get("again"):
            again.append(all(found[which][name] == entry[name] for name in ("correct", "balanced", "features")))
            continue
        found[which] = entry
    return [found[which] for which in sorted(found, key=order.get)], again


def reductions(divisions, grids):
    """Return a record for each division with the largest reduction of the error relative to lambda = 0."""
    found, whole = [], sum(len(GRIDS[grid]) for grid in grids)
    for group in grouped([entry for entry in divisions if entry["grid"] in grids], DIVISION):
        curve = {
            penalty: {name: entry[name][k] for name in ("correct", "balanced", "features", "empty", "random")}
            for entry in group
            for k, penalty in enumerate(GRIDS[entry["grid"]])
        }
        if len(curve) == whole:
            found.append(reduction(group[0], dict(sorted(curve.items()))))
    return found


def reduction(division, curve):
    """Return the record of one division; ties go to fewer features."""
    none = curve[0.0]
    fewer = {penalty: 100 * (1 - at["features"] / none["features"]) for penalty, at in curve.items()}
    less = {penalty: 100 * (at["correct"] - none["correct"]) / (1 - none["correct"]) for penalty, at in curve.items()}
    allowed = [penalty for penalty, at in curve.items() if not at["empty"]]
    best = max(allowed, key=lambda penalty: (round(less[penalty], 9), fewer[penalty]))
    with_empty = [penalty for penalty, at in curve.items() if at["features"] >= 1]
    theirs = PAPER[division["data"]][METHODS[division["method"]].paper]
    return {name: division[name] for name in DIVISION} | {
        "lambda": best,
        "error": less[best],
        "gain": less[best] - max(less[penalty] for penalty in allowed if penalty in GRIDS["paper"]),
        "features": fewer[best],
        "left": curve[best]["features"],
        "balanced": 100 * curve[best]["balanced"],
        "error_apart": less[best] - theirs[0],
        "features_apart": fewer[best] - theirs[1],
        "error_some_empty": max(less[penalty] for penalty in with_empty),
        "random_typical": curve[protocol.TYPICAL]["random"],
        "random_gone": next((p for p in curve if all(curve[q]["random"] == 0 for q in curve if q >= p)), 1.0),
    }


def nested_folds(entries):
    """Return a record for each fold of each division, with lambda chosen on the training part."""
    return [
        {
            **{name: entry[name] for name in DIVISION},
            "fold": fold,
            "correct": 100 * correct(labels),
            "gain": 100 * (correct(labels) - correct(entry["plain_labels"][fold])),
            "left": entry["features"][fold],
            "lambda": entry["chosen"][fold],
        }
        for entry in entries
        if entry["kind"] == "nested"
        for fold, labels in enumerate(entry["labels"])
    ]


def references(divisions):
    """Return a record for each division: results with all features, and with none."""
    found = {}
    for entry in divisions:
        if entry["grid"] == "paper":
            names = ("plain", "plain_balanced", "majority", "majority_balanced")
            record = {name: 100 * entry[name] for name in names}
            record["reduction"] = 100 * (entry["majority"] - entry["plain"]) / (1 - entry["plain"])
            found[entry["data"], entry["scaling"], entry["seed"]] = record
    return [dict(zip(("data", "scaling", "seed"), which, strict=True)) | fields for which, fields in found.items()]


# ---- tests

RATIO = {"nested": 1 / (protocol.FOLDS - 1), "typical": 0.0}  # test samples over training samples of a fold; starts
ANOTHER = 1.0  # the variance of a mean minus one further value of the same distribution is s^2 (1/n + 1)


def outcome(cell, data, ratio=None):
    """Test the values of a cell; return None for fewer than three. The default ``ratio`` is that of its records."""
    if not known(cell, data):
        return None
    return difference(cell.values(data[cell.records]), RATIO[cell.records] if ratio is None else ratio)


def apart(data, records):
    """Return (data, scaling, method, "error" or "features") -> whether a reduction differs from the paper's."""
    keys = itertools.product(DATA, SCALINGS, METHODS, ("error", "features"))
    tests = {}
    for name, scaling, method, what in keys:
        cell = Cell(records, f"{what}_apart", "", {"data": name, "scaling": scaling, "method": method})
        tests[name, scaling, method, what] = outcome(cell, data, ANOTHER)
    return verdicts(tests, adjust=list)


def known(cell, data):
    """Return True if the value of the cell is not None in some record."""
    return any(record.get(cell.value) is not None for record in data[cell.records])


def of_mean(values):
    """Return the standard error of a mean."""
    return statistics.stdev(values) / math.sqrt(len(values))
