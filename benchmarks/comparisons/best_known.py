"""Runs of several contenders on the same cells, compared with the best known objective of the cell."""

import math

ROUNDING = 1e-6  # of the best known objective: a bound above it by more is wrong


def judged(runs, cell):
    """Add to the runs their gap to the best known objective of the cell, and whether a bound is above it."""
    best = {}
    for run in runs:
        key = tuple(run.get(name) for name in cell)
        if run["objective"] is not None:
            best[key] = min(best.get(key, math.inf), run["objective"])
    for run in runs:
        known, bound = best.get(tuple(run.get(name) for name in cell)), run["bound"]
        run["gap"] = None if known is None or bound is None else max(0.0, known - bound) / known
        run["above"] = None if known is None or run["objective"] is None else max(0.0, run["objective"] / known - 1)
        run["wrong"] = bound is not None and known is not None and bound > known * (1 + ROUNDING)
        run["proven"] = run["status"] == "optimal" and not run["wrong"]
        run["charged"] = None if run["cpu"] is None else max(0.01, run["cpu"])
    return runs
