"""Ipopt and pounce as local solvers: smooth models with known optima, from several starts.

python -m benchmarks nlp_solvers            # two minutes
python -m benchmarks nlp_solvers --full     # ten starts, three for kernel models: half an hour
python -m benchmarks nlp_solvers --page     # only the page, from the log
"""

import resource
import shutil
import time
from statistics import fmean

import numpy as np
import pyomo.environ as pyo

import solvers
from benchmarks.harness.differences import LEVEL, difference, power_of
from benchmarks.harness.page import Cell, Page, over
from benchmarks.harness.records import grouped
from benchmarks.solvers.nlp_models import INFEASIBLE, MODELS, UNBOUNDED
from solvers.interfaces.registry import find
from solvers.values import bounds_of

NAME, PROTOCOL = "nlp_solvers", 1
SMALL = ("Hock and Schittkowski", "Pyomo's tests")
LIMIT, EQUAL, LONG = 60.0, 1e-4, 10.0
POUNCE, CYIPOPT, PROGRAM = "pounce", "cyipopt", "ipopt"
ENDS = {"solved": ("stationary", "optimal"), INFEASIBLE: ("infeasible", "no_solution")}
ENDS[UNBOUNDED] = ("unbounded", "no_solution", "feasible")
PACKAGES = ("fsmodels", "pyomo", "numpy", "scipy", "cyipopt-wheels", "pounce-solver", "pyomo-pounce")
FACTS = {"time limit (s)": LIMIT}
TOTAL, LISTED = "{total:.0f} of {n}", 60
TASK = ("group", "model", "start", "solver", "protocol")


def contenders():
    """Return the solvers; the Ipopt executable only if it is on the PATH."""
    return [POUNCE, CYIPOPT, *[PROGRAM] * bool(shutil.which(PROGRAM))]


def tasks(full):
    return [
        dict(zip(TASK, (group, model, start, solver, PROTOCOL), strict=True))
        for group, models in MODELS.items()
        for model in models
        for start in range((10 if group in SMALL else 3) if full else (3 if group in SMALL else 1))
        for solver in contenders()
    ]


def cpu():
    """Return the CPU seconds of this process and of its child processes."""
    return time.process_time() + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def built(group, model, start):
    """Return the model with its start; for ``start`` above 0 it is drawn at random around the original one."""
    made = MODELS[group][model][0]()
    rng = np.random.default_rng(start)
    for v in made.component_data_objects(pyo.Var) if start else ():
        if not v.fixed:
            centre = v.value or 0.0
            drawn = centre + rng.normal() * max(1.0, abs(centre))
            v.set_value(float(np.clip(drawn, *bounds_of(v))))
    return made


def iterations(model, solver):
    """Return the iterations of the solver's own interface with the same options, or None without a result."""
    spec = find(solver)
    options = {"time_limit": LIMIT, "solver_options": dict(spec.default_options)}
    options |= {"load_solutions": False, "raise_exception_on_nonoptimal_result": False}
    try:
        found = spec.make().solve(model, **options)
    except Exception as error:  # any error of the other interface
        return print(solver, error)
    return found.extra_info.get("iteration_count").value() if "iteration_count" in found.extra_info else None


def work(group, model, start, solver, protocol):
    """Solve one model from one start."""
    solvers.solve(built(SMALL[0], "HS6", 0), solver)  # loads the solver, which is not measured
    made = built(group, model, start)
    before = cpu()
    try:
        found = solvers.solve(made, solver, time_limit=LIMIT)
        record = {"status": found.status.value, "objective": found.objective}
        record["violation"] = found.details.get("violation")
    except solvers.errors.Error as error:
        record = {"status": type(error).__name__, "objective": None}
    record["cpu"] = cpu() - before
    return record | {"iterations": iterations(built(group, model, start), solver)}


def evaluate_runs(runs):
    """Add to each run whether its status is right and whether it reaches the best known objective.

    A run without a solution after ``LONG`` CPU seconds ended at the limit of wall-clock time; it is not counted.
    """
    for group in grouped(runs, ("group", "model")):
        known = MODELS[group[0]["group"]][group[0]["model"]][1]
        kind = known if isinstance(known, str) else "solved"
        found = [known, *(run["objective"] for run in group)] if kind == "solved" else []
        best = min((objective for objective in found if objective is not None), default=None)
        for run in group:
            run["known"] = kind
            run["limited"] = run["status"] == "no_solution" and run["cpu"] > LONG
            run["right"] = None if run["limited"] else run["status"] in ENDS[kind]
            off = None if best is None or run["objective"] is None else (run["objective"] - best) / max(1.0, abs(best))
            counted = kind == "solved" and not run["limited"]
            run["best"] = (off is not None and off <= EQUAL) if counted else None
    return runs


def paired(runs):
    """Return the runs of pounce and Ipopt by the same start, if both did not end at the limit."""
    pairs = []
    for group in grouped(runs, ("group", "model", "start")):
        by_solver = {run["solver"]: run for run in group}
        if {POUNCE, CYIPOPT} <= set(by_solver) and not any(run["limited"] for run in group):
            pounce, ipopt = by_solver[POUNCE], by_solver[CYIPOPT]
            ipopt["ratio"] = max(ipopt["cpu"], 1e-3) / max(pounce["cpu"], 1e-3)
            pairs.append((pounce, ipopt))
    return pairs


def page(log):
    """Return the page."""
    runs = evaluate_runs(log.entries(*TASK))
    pairs = paired(runs)
    page = Page(NAME, globals(), runs=runs)
    page.key("runs", *TASK[:-1])
    planned = [task for task in tasks(False) if task["solver"] != PROGRAM]  # which is not installed everywhere
    page.part("runs", len(runs), len(planned))
    points = {}  # model -> for each start, the points by which Ipopt reaches the best known objective more often
    for pounce, ipopt in pairs:
        if pounce["best"] is not None:
            points.setdefault((pounce["group"], pounce["model"]), []).append(100.0 * (ipopt["best"] - pounce["best"]))
    points = list(map(fmean, points.values()))
    test = difference(points)
    differ = [
        [pair[0]["model"], pair[0]["start"], *(f"{run['status']}, {_number(run['objective'])}" for run in pair)]
        for pair in pairs
        if any(pair[0][field] != pair[1][field] for field in ("best", "right"))
    ]
    ratios = {
        group: page.number("ratio", "{gmean:.2f}", solver=CYIPOPT, group=group)
        for group in dict.fromkeys(run["group"] for run in runs)
    }
    extremes = [f"{ratios[group]} ({group})" for group in sorted(ratios, key=lambda group: float(ratios[group]))]
    page.values(differ=differ, points=points, test=test, fastest=extremes[0], slowest=extremes[-1])
    page.values(power=power_of({"": test}, "tests like this") if test.p >= LEVEL else "")
    names = [name for name in (POUNCE, CYIPOPT, PROGRAM) if any(run["solver"] == name for run in runs)]
    ended = {name: sum(run["limited"] for run in runs if run["solver"] == name) for name in (POUNCE, CYIPOPT)}
    return page.values(names=names, ended=ended)


def by_group(page, names):
    """Return the table of the groups of models."""
    runs = page.records["runs"]
    columns = [("{}: best known", "best", TOTAL), ("status right", "right", TOTAL)]
    columns += [("iterations", "iterations", "{mean:.0f}"), ("CPU s", "cpu", "{gmean:.3f}")]
    columns, rows = over("solver", names, columns), []
    for group in dict.fromkeys(group for group in MODELS if any(run["group"] == group for run in runs)):
        models = str(len({run["model"] for run in runs if run["group"] == group}))
        empty = "best" if group == "without a solution" else None
        cells = ["" if c.value == empty else c.entry("runs", [], {"group": group}) for c in columns]
        ratio = Cell("runs", "ratio", "{gmean:.2f} ({least:.2f} to {most:.2f})", {"group": group, "solver": CYIPOPT})
        rows.append([group, models, *cells, ratio])
    return page.table(["group", "models", *(column.title for column in columns), "Ipopt / pounce"], rows)


def _number(value):
    return "none" if value is None else f"{value:.6g}"
