"""Records of the pages of Aytug 2015: chosen classifiers, and runs of GBD-M and branch-and-cut."""

import statistics

from benchmarks.harness.page import NOTHING, Cell, summary
from benchmarks.methods.fsp import CPU_LIMIT

GBD, TREE, CHOSEN, END = "GBD-M", "FSP-M, branch-and-cut", "branch-and-cut, by validation", "GBD-M to the end"
CALLED = {"FSP-M, proven": TREE, "FSP-M, chosen": CHOSEN}  # name in the log -> name on the page
BINS = 5  # number of bins of M / n


def records_of(entries):
    """Return a record for each instance and method, with the excess test error of GBD-M, and one for each run."""
    base = {entry["instance"]: entry["chosen"]["test_error"] for entry in entries if entry["method"] == GBD}
    kept, runs = [], []
    for entry in entries:
        size = {name: entry.get(name) for name in ("set", "name", "instance", "k", "n", "l", "M")}
        size["method"] = CALLED.get(entry["method"], entry["method"])
        best, gbd = entry["chosen"], base.get(entry["instance"])
        less = None if gbd is None else round(gbd - best["test_error"], 10)
        record = size | {name: best.get(name) for name in ("test_error", "features", "overlap", "inner")}
        record |= {"cpu": entry["cpu"], "less": less, "percent": 100 * less / gbd if gbd and less is not None else None}
        record |= {"bin": max(1, -(-BINS * entry["M"] // entry["n"])), "C": best["value"]}
        record |= {"exact": None if best.get("overlap") is None else int(best["overlap"] == entry["n"])}
        proven = [run["proven"] for run in entry["runs"] if "proven" in run]
        record["all_proven"] = int(all(proven)) if proven else None
        if less is not None:
            record |= {"better": int(less < 0), "worse": int(less > 0), "equal": int(less == 0)}
        kept.append(record)
        for run in entry["runs"]:
            if "stop" not in run:
                break
            closed = run["proven"] if "proven" in run else run["stop"] == "converged"
            fields = {"C": run["value"], "closed": int(closed), "open_gap": None if closed else run["gap"]}
            fields |= {
                "at_limit": int(run["stop"] == CPU_LIMIT),
                "at_iterations": int(run["stop"] == "iteration_limit"),
            }
            runs.append(
                size | fields | {"iterations": run.get("iterations"), "nodes": run.get("nodes"), "cpu": run["cpu"]}
            )
    return kept, runs


def values(records, field, **where):
    """Return the values of a field of the records that match."""
    found = (r[field] for r in records if all(r[name] == value for name, value in where.items()))
    return [value for value in found if value is not None]


def share(found):
    """Return the mean of values that are 0 or 1, in per cent."""
    return f"{statistics.fmean(found):.0%}" if found else NOTHING


def gap_cell(runs, form, **where):
    """Return a cell over the gaps of the runs without a proof; a dash if there are none."""
    return Cell("runs", "open_gap", form, where) if values(runs, "open_gap", **where) else NOTHING


def difference(less, decimals=1):
    """Return a text with the mean and standard error of differences, in percentage points."""
    if not less:
        return NOTHING
    found = summary([100 * x for x in less])
    size, error = (f"{x:.{decimals}f}" for x in (abs(found["mean"]), found["se"]))
    return f"{size} ± {error} points {'more' if found['mean'] > 0 else 'less'}"
