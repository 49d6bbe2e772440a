"""Compare the runs of several methods on one problem with the best known objective of the problem."""

from benchmarks.harness.records import grouped

GAP = 1e-4  # relative, of all methods
ROUNDING = 1e-6  # relative: a bound that exceeds the best known objective by more is wrong
WHOLE_FORM = "which `fs.select` chooses for it: SCIP satisfies the conic rows of the perspective form to 1e-6 only."
GUROBI_LICENCE = (
    "Gurobi's restricted licence allows 2,000 variables and 2,000 rows, but 200 variables if a term is quadratic."
)


def evaluate_runs(runs, cell):
    """Add gap, excess, validity of the bound and of the proof to each run, relative to the best known objective.

    ``cell`` are the fields that identify a problem. "gap" is relative to the best known objective, "above" is the
    excess of the objective over it, "charged" are the CPU seconds, at least 0.01, for geometric means. A reported
    optimum is not "proven" if its bound is wrong, or if the objective of another run is less by more than ``GAP``.
    """
    for group in grouped(runs, cell):
        known = min((run["objective"] for run in group if run["objective"] is not None), default=None)
        for run in group:
            bound, objective = run["bound"], run["objective"]
            run["gap"] = None if known is None or bound is None else max(0.0, known - bound) / known
            run["above"] = None if objective is None else max(0.0, objective / known - 1)
            run["wrong"] = bound is not None and known is not None and bound > known * (1 + ROUNDING)
            run["proven"] = run["status"] == "optimal" and not run["wrong"] and run["above"] <= GAP + ROUNDING
            run["charged"] = None if run["cpu"] is None else max(0.01, run["cpu"])
    return runs
