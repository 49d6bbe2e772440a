"""Ipopt and pounce as local solvers: smooth models with known optima, from several starts.

python -m benchmarks nlp_solvers            # two minutes
python -m benchmarks nlp_solvers --full     # ten starts, three for kernel models: half an hour
python -m benchmarks nlp_solvers --page     # only the page, from the log
"""

import math
import resource
import shutil
import time
import warnings

import numpy as np
import pyomo.environ as pyo

import solvers
from benchmarks.harness.log import script
from benchmarks.harness.page import Cell, Page
from benchmarks.solvers.nlp_models import INFEASIBLE, MODELS, UNBOUNDED
from solvers.interfaces.registry import find
from solvers.values import bounds_of

NAME, PROTOCOL = "nlp_solvers", 1
SMALL = ("Hock and Schittkowski", "Pyomo's tests")
LIMIT, EQUAL, LONG = 60.0, 1e-4, 10.0
POUNCE, CYIPOPT, PROGRAM = "pounce", "cyipopt", "ipopt"
ENDS = {"solved": ("stationary", "optimal"), INFEASIBLE: ("infeasible", "no_solution")}
ENDS[UNBOUNDED] = ("unbounded", "no_solution", "feasible")
TASK = ("group", "model", "start", "solver", "protocol")


def contenders():
    """Return the solvers: the program, with the ASL library, only if it is on the PATH."""
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
    """Return the CPU seconds of this process and of the programs that it has run."""
    return time.process_time() + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def built(group, model, start):
    """Return the model; a start above 0 is drawn around the given one, inside the bounds."""
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
    try:
        found = spec.make().solve(
            model,
            time_limit=LIMIT,
            load_solutions=False,
            raise_exception_on_nonoptimal_result=False,
            solver_options=dict(spec.default_options),
        )
    except Exception as error:  # of the other program
        return print(solver, error)
    return found.extra_info.get("iteration_count").value() if "iteration_count" in found.extra_info else None


def first(solver):
    """Load what the first solve of a process loads, before the clock runs."""
    solvers.solve(built(SMALL[0], "HS6", 0), solver)


def work(group, model, start, solver, protocol):
    """Solve one model from one start."""
    warnings.simplefilter("ignore")
    first(solver)
    made = built(group, model, start)
    before = cpu()
    try:
        found = solvers.solve(made, solver, time_limit=LIMIT)
        seconds = cpu() - before
        record = {
            "status": found.status.value,
            "objective": found.objective,
            "violation": found.details.get("violation"),
        }
    except solvers.errors.Error as error:
        seconds, record = cpu() - before, {"status": type(error).__name__, "objective": None}
    return record | {"cpu": seconds, "iterations": iterations(built(group, model, start), solver)}


def judged(runs):
    """Add whether a run ends with the right status, and whether at the best known objective.

    A run without a solution after LONG CPU seconds ended at the limit of wall-clock time, and is not counted.
    """
    least = {}
    for run in runs:
        known = MODELS[run["group"]][run["model"]][1]
        run["known"] = known if isinstance(known, str) else "solved"
        place = (run["group"], run["model"])
        if run["objective"] is not None and run["known"] == "solved":
            best = [run["objective"], least.get(place, math.inf), *([] if known is None else [known])]
            least[place] = min(best)
    for run in runs:
        best = least.get((run["group"], run["model"]))
        run["limited"] = run["status"] == "no_solution" and run["cpu"] > LONG
        run["right"] = None if run["limited"] else run["status"] in ENDS[run["known"]]
        off = None if best is None or run["objective"] is None else (run["objective"] - best) / max(1.0, abs(best))
        counted = run["known"] == "solved" and not run["limited"]
        run["best"] = (off is not None and off <= EQUAL) if counted else None
    return runs


def page(log):
    """Write the page."""
    runs = judged(log.entries(*TASK))
    told = Page(NAME, "Ipopt and pounce as local solvers of smooth models", runs=runs)
    told.key("runs", *TASK[:-1])
    names = [name for name in (POUNCE, CYIPOPT, PROGRAM) if any(run["solver"] == name for run in runs)]
    place = ("group", "model", "start")
    pairs = {}
    for run in runs:
        pairs.setdefault(tuple(run[field] for field in place), {})[run["solver"]] = run
    pairs = {key: pair for key, pair in pairs.items() if {POUNCE, CYIPOPT} <= set(pair)}
    pairs = {key: pair for key, pair in pairs.items() if not any(run["limited"] for run in pair.values())}
    for pair in pairs.values():
        pair[CYIPOPT]["ratio"] = max(pair[CYIPOPT]["cpu"], 1e-3) / max(pair[POUNCE]["cpu"], 1e-3)

    def only(field, ours, theirs):
        return sum(bool(pair[ours][field]) > bool(pair[theirs][field]) for pair in pairs.values())

    def say(value, form, **where):
        return told.say("runs", value, form, where)

    total = "{total:.0f} of {n}"
    ended = {name: sum(run["limited"] for run in runs if run["solver"] == name) for name in (POUNCE, CYIPOPT)}
    times = say("ratio", "{gmean:.2f}", solver=CYIPOPT)
    told.answer(
        f"Ipopt (cyipopt) ends at the best known objective in {say('best', total, solver=CYIPOPT)} runs and pounce in "
        f"{say('best', total, solver=POUNCE)}; only Ipopt in {only('best', CYIPOPT, POUNCE)}, only pounce in "
        f"{only('best', POUNCE, CYIPOPT)}. The status is right in {say('right', total, solver=CYIPOPT)} and "
        f"{say('right', total, solver=POUNCE)} runs. Ipopt takes {times} times the CPU time of pounce (geometric mean)."
    )
    told.part("runs", len(runs), max(len(runs), len(tasks(False))), f"python -m benchmarks {NAME}")
    columns = [("best", total), ("right", total), ("iterations", "{mean:.0f}"), ("cpu", "{gmean:.3f}")]
    header = [f"{name}: best known" if k == 0 else title for name in names
              for k, title in enumerate(("", "status right", "iterations", "CPU s"))]  # fmt: skip
    told.section(
        "By group",
        "*Best known*: runs with the best known objective, of those of models with a solution. *Status right*: runs "
        "whose status is not a wrong claim and not a missed solution. Means of iterations, geometric means of CPU "
        "seconds. The last column is the ratio of the time of Ipopt to that of pounce for each run: geometric mean, "
        "minimum and maximum.",
    )
    groups = [group for group in MODELS if any(run["group"] == group for run in runs)]
    rows = []
    for group in groups:
        models = str(len({run["model"] for run in runs if run["group"] == group}))
        cells = [
            "" if v == "best" and group == "without a solution" else
            Cell("runs", v, form, {"group": group, "solver": name}) for name in names for v, form in columns
        ]  # fmt: skip
        ratio = Cell("runs", "ratio", "{gmean:.2f} ({least:.2f} to {most:.2f})", {"group": group, "solver": CYIPOPT})
        rows.append([group, models, *cells, ratio])
    told.table(["group", "models", *header, "Ipopt / pounce"], rows)
    told.section(
        "Runs in which one of them fails",
        "Runs in which the solvers differ in status or in reaching the best known objective.",
    )
    differ = [
        (*key, [f"{pair[n]['status']}, {_number(pair[n]['objective'])}" for n in (POUNCE, CYIPOPT)])
        for key, pair in pairs.items()
        if any(pair[POUNCE][field] != pair[CYIPOPT][field] for field in ("best", "right"))
    ]
    shown = [[model, str(start), *texts] for _, model, start, texts in differ[:60]]
    if shown:
        told.table(["model", "start", POUNCE, CYIPOPT], shown)
        if len(differ) > 60:
            told.text(f"{len(differ) - 60} further runs are in the log.")
    else:
        told.text("There are none.")
    missing = "" if PROGRAM in names else (
        "The Ipopt executable with the ASL library was not on this machine: no pip package contains it."
    )  # fmt: skip
    told.section(
        "Protocol",
        "Each model is solved by `solvers.solve(model, name)` from the start of its source (start 0) and from starts "
        "drawn around it with normal deviates of the size of the start, at least 1, inside the bounds. The best known "
        f"objective is the least of the published optimum and of all runs; a run reaches it within {EQUAL:g} relative. "
        "The status is right if it is stationary or optimal for a model with a solution, and if no solution is claimed "
        "for a model without one. Seconds are CPU seconds of the process and of its programs, all threads. The "
        f"limit is {LIMIT:g} s of wall-clock time, which was few CPU seconds on a busy machine. Runs that it ended are "
        f"not counted: {ended[POUNCE]} of pounce and {ended[CYIPOPT]} of Ipopt, each after more than {LONG:g} CPU "
        "seconds; as failures they would not change the numbers of successes. Iterations are those of the solver's own "
        f"interface. {missing}",
        "The models are those of Hock and Schittkowski (1981); those of the tests of MindtPy in Pyomo, with integers "
        'fixed at the optimum and relaxed; kernel models as rows (`form="algebra"`) on 40 samples of bupa and '
        "cleveland; GMEB on cleveland and wdbc; and models of the first group with a row that makes them infeasible.",
    )
    told.write({})


def _number(value):
    return "none" if value is None else f"{value:.6g}"


def main():
    packages = ("fsmodels", "pyomo", "numpy", "scipy", "cyipopt-wheels", "pounce-solver", "pyomo-pounce")
    script(NAME, __doc__, tasks, work, page, *packages, **{"time limit (s)": LIMIT})
