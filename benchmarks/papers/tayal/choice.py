"""Choice of the grid point of a method of ``kernel_tables`` by held-out samples."""

import collections

from benchmarks.papers.tayal.tasks import SVM, SVM_TRUE, protocol, rows

GRIDS = ("coarse", "paper")


def by_run(entries):
    """Return (data, split, method, way, folds) -> (C, mus) -> entry, for the entries of the current protocols."""
    found = collections.defaultdict(dict)
    for e in entries:
        if e["part"] == "grid" and e["protocol"] == protocol(e["method"], e["way"]):
            run = e["data"], e["split"], e["method"], e["way"], e["folds"]
            found[run][e["C"], tuple(e["mus"])] = e
    return found


def points(found, method, grid):
    """Return all points of a grid, smallest C and largest mu first; [] if a row is missing."""
    coarse, rest = rows(method)
    wanted = coarse + (rest if grid == "paper" else [])
    if any(row not in found for row in wanted):
        return []
    every = [
        {"C": c, "held_out": found[c, mus]["held_out"], "tested": found[c, mus]["tested"], **point}
        for c, mus in wanted
        for point in found[c, mus]["points"]
    ]
    return sorted(every, key=lambda point: (point["C"], -point["mu"]))


def best(every):
    """Return the point with the smallest held-out error; ties: smallest C, then largest mu."""
    return min(every, key=lambda point: point["held"]) if every else None


def choose(found, data, split, method, way, folds, grid):
    """Return the chosen point of a method, or None if its grid is not finished."""
    way = "" if method in (SVM, SVM_TRUE) else way
    return best(points(found.get((data, split, method, way, folds), {}), method, grid))
