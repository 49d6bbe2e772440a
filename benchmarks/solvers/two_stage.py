"""Two-stage models: the drivers that support them, compared with solvers of the whole model and other packages.

python -m benchmarks two_stage            # 10 to 1,000 scenarios, 20 CPU seconds per run: half an hour
python -m benchmarks two_stage --full     # 300 CPU seconds per run: hours
python -m benchmarks two_stage --page     # only the page, from the log

Every run has its own process. mpi-sppy is used if it is installed with an MPI library and gurobipy.
"""

import contextlib
import importlib.util
import resource
import shutil
import time
import traceback
import warnings

import pyomo.environ as pyo

import solvers
from benchmarks.comparisons.best_known import GUROBI_LICENCE
from benchmarks.harness import child_process
from benchmarks.harness.cpu_limit import cpu_limit
from benchmarks.harness.differences import listed
from benchmarks.harness.page import Cell, Page
from benchmarks.harness.records import grouped
from benchmarks.solvers import foreign_models
from benchmarks.solvers.two_stage_models import FAMILIES

NAME, PROTOCOL = "two_stage", 1
GAP, LIMIT, MORE_LIMIT, SCENARIOS = 1e-3, 20.0, 300.0, (10, 100, 1000)
DRIVERS = ("benders", "branch-and-cut", "single-tree", "cutting-plane")
WHOLE, OTHERS = ("highs", "scip", "gurobi"), ("mpi-sppy", "mindtpy")
COMMON = (*DRIVERS, *WHOLE[:2])  # without the methods that a licence limits
SIZE, LICENCE = 2000, "beyond the licence"
FOREIGN = [name for name in foreign_models.CASES if not name.startswith("farmer")]
INSTANCES = [(name, scenarios) for name in FAMILIES for scenarios in SCENARIOS]
OTHER_FIELDS = [(name, None) for name in FOREIGN]
PACKAGES = ("fsmodels", "pyomo", "highspy", "pyscipopt", "gurobipy", "mpi-sppy", "pounce-solver")
FACTS = {"gap": GAP, "CPU limit (s)": LIMIT}
TASK = ("model", "scenarios", "contender", "limit", "protocol")


def tasks(full):
    limit = MORE_LIMIT if full else LIMIT
    cells = [(name, scenarios) for scenarios in SCENARIOS[:-1] for name in FAMILIES] + OTHER_FIELDS
    cells += [(name, SCENARIOS[-1]) for name in FAMILIES]
    return [
        dict(zip(TASK, (*cell, contender, limit, PROTOCOL), strict=True))
        for cell in cells
        for contender in (*DRIVERS, *WHOLE, *OTHERS)
        if contender not in (OTHERS[1] if cell[1] else OTHERS[0],)  # mpi-sppy needs scenarios, MindtPy curved costs
        and (contender != OTHERS[1] or cell[0].startswith("unit"))
    ]


def built(model, scenarios):
    """Return a model and the variables of its first stage."""
    if scenarios is None:
        made, declared = foreign_models.CASES[model][0](0)
        return made, declared["complicating"]
    family = FAMILIES[model]
    made = family.model(family.draw(scenarios), list(range(scenarios)))
    return made, made.first


# ---- the methods; each returns status, objective and bound


def by_name(solver, model, scenarios):
    """Solve by a solver or driver of this package."""
    made, first = built(model, scenarios)
    if solver in ("gurobi", "single-tree") and importlib.util.find_spec("gurobipy") is None:
        return {"status": "not installed"}
    if solver == "gurobi" and max(made.nvariables(), made.nconstraints()) > SIZE:
        return {"status": LICENCE}
    words = {"complicating": first} if solver in DRIVERS and solver != "cutting-plane" else {}
    try:
        found = solvers.solve(made, solver, gap=GAP, threads=1, **words)
    except solvers.errors.Error as error:
        return {"status": "rejected", "message": str(error)[:200]}
    return {"status": found.status.value, "objective": found.objective, "bound": found.bound}


def by_mpi_sppy(model, scenarios):
    """Solve by the L-shaped method of mpi-sppy with Gurobi in its master and subproblems."""
    try:
        from mpisppy.opt.lshaped import LShapedMethod
        from mpisppy.utils.sputils import attach_root_node
    except (ImportError, RuntimeError):
        return {"status": "not installed"}
    family, names = FAMILIES[model], [f"s{k}" for k in range(scenarios)]
    if getattr(family, "integer", False):  # it would return the optimum of the relaxed recourse
        return {"status": "rejected"}
    data = family.draw(scenarios)

    def scenario(name, **_):
        made = family.model(data, [int(name[1:])])
        attach_root_node(made, made.now, made.first)
        made._mpisppy_probability = 1 / scenarios
        return made

    options = {"root_solver": "gurobi_persistent", "sp_solver": "gurobi_persistent", "max_iter": 500, "tol": 1e-7}
    options |= {"verbose": False, "root_solver_options": {"Threads": 1}, "sp_solver_options": {"Threads": 1}}
    options["valid_eta_lb"] = dict.fromkeys(names, family.lowest / scenarios)
    method = LShapedMethod(options, names, scenario)
    found = method.lshaped_algorithm()
    ended = pyo.check_optimal_termination(found) and method.iter < options["max_iter"] - 1
    objective = pyo.value(next(method.root.component_data_objects(pyo.Objective, active=True)))
    return {"status": "optimal" if ended else "feasible", "objective": objective, "bound": objective}


def by_mindtpy(model, scenarios):
    """Solve by outer approximation in MindtPy, with HiGHS and the Ipopt executable that all its strategies need."""
    if shutil.which("ipopt") is None:
        return {"status": "not installed"}
    made, _ = built(model, scenarios)
    options = {"strategy": "OA", "mip_solver": "appsi_highs", "nlp_solver": "ipopt", "iteration_limit": 500}
    found = pyo.SolverFactory("mindtpy").solve(made, relative_bound_tolerance=GAP, **options)
    ended = pyo.check_optimal_termination(found)
    low, high = found.problem.lower_bound, found.problem.upper_bound
    return {"status": "optimal" if ended else "feasible", "objective": high, "bound": low}


def one(model, scenarios, contender, limit):
    """Run one method in this process and return its record."""
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_CPU, (int(3 * limit) + 30,) * 2)
    if contender in (*DRIVERS, *WHOLE):  # loads packages, which are not measured
        with contextlib.suppress(solvers.errors.Error):
            made, declared = foreign_models.facility(0, 3, 4)
            solvers.solve(made, contender, **(declared if contender in DRIVERS[:3] else {}))
    elif contender == "mpi-sppy":
        by_mpi_sppy("farmer", 2)
    run = {"mpi-sppy": by_mpi_sppy, "mindtpy": by_mindtpy}.get(contender)
    before = time.process_time()
    try:
        with cpu_limit(limit) as reached:
            record = run(model, scenarios) if run else by_name(contender, model, scenarios)
    except KeyboardInterrupt:
        record = {"status": "limit"}
    except Exception as error:  # any error of a solver or package
        record = {"status": "failed", "message": "".join(traceback.format_exception_only(error))[:200]}
    record["cpu"] = time.process_time() - before
    record["stopped"] = reached.reached
    record["MB"] = child_process.peak_memory() / 1.048576
    return record


def work(model, scenarios, contender, limit, protocol):
    """Run one method in its own process."""
    found, ended = child_process.call(one, model=model, scenarios=scenarios, contender=contender, limit=limit)
    if found is None:
        found = {"status": "killed", "cpu": None, "stopped": True, "MB": None, "message": ended["message"][-200:]}
    return {"objective": None, "bound": None, "message": None} | found


# ---- the page


def evaluate_runs(runs):
    """Add to each run its gap to the best known objective, and whether its bound or proof contradicts another run.

    A model is "common" if all methods of ``COMMON`` were tried on it.
    """
    for group in grouped(runs, ("model", "scenarios")):
        found = [run["objective"] for run in group if run["contender"] != "mpi-sppy"]
        known = min((objective for objective in found if objective is not None), default=None)
        for run in group:
            evaluate_run(run, known)
        tried = {run["contender"] for run in group if run["tried"]}
        for run in group:
            run["common"] = run["contender"] in COMMON and tried >= set(COMMON)
    return runs


def evaluate_run(run, known):
    """Add the fields that depend on the best known objective of the model."""
    if "Model too large" in (run["message"] or ""):
        run["status"] = LICENCE
    size = None if known is None else max(abs(known), 1e-9)
    run["solved"] = run["status"] == "optimal"
    run["gap"] = None if known is None or run["bound"] is None else max(0.0, known - run["bound"]) / size
    run["above"] = None if known is None or run["objective"] is None else (run["objective"] - known) / size
    run["wrong"] = run["bound"] is not None and known is not None and run["bound"] > known + 1e-5 * size
    run["wrong"] |= bool(run["solved"] and run["above"] is not None and run["above"] > 2 * GAP)
    run["tried"] = run["status"] not in ("rejected", LICENCE, "not installed")
    run["rejected"], run["licence"] = run["status"] == "rejected", run["status"] == LICENCE
    run["proven"] = (run["solved"] and not run["wrong"]) if run["tried"] else None
    run["seconds"] = run["cpu"] if run["proven"] else None


def shown(run):
    """Return the text of a cell for a run without a proof."""
    if run is None:
        return ""
    if not run["tried"]:
        return {"rejected": "rejected", LICENCE: "licence"}.get(run["status"], run["status"])
    gap = "no bound" if run["gap"] is None else f"gap {run['gap']:.1%}" if run["gap"] < 10 else "gap > 1000%"
    return run["status"] if run["status"] in ("failed", "killed") else gap


def page(log):
    """Return the page."""
    runs = evaluate_runs([run for run in log.entries(*TASK) if run["limit"] == LIMIT])
    page = Page(NAME, globals(), runs=runs)
    page.key("runs", *TASK[:-1])
    page.part("runs", len(runs), len(tasks(False)))
    names = [name for name in (*DRIVERS, *WHOLE, *OTHERS) if any(run["contender"] == name for run in runs)]
    able = [name for name in names if any(run["contender"] == name and run["tried"] for run in runs)]
    proven = {name: page.number("proven", "{total:.0f}", contender=name, common=True) for name in COMMON}
    others = listed([f"{name} {proven[name]}" for name in COMMON[1:]]) if len(set(proven.values())) > 1 else "as many"
    means = [(page.number("cpu", "{gmean:.2f}", contender=name, common=True), name) for name in COMMON]
    means.sort(key=lambda mean: float(mean[0]))
    with_most = dict.fromkeys(run["model"] for run in runs if run["scenarios"] == SCENARIOS[-1])
    largest = "all models" if set(with_most) == set(FAMILIES) else f"only {listed(list(with_most))}"
    page.values(means=[*means[0], *means[-1]], largest=largest, licence=GUROBI_LICENCE)
    every = [
        f"{name} {page.number('proven', '{total:.0f} of {n}', contender=name)}"
        f" ({page.number('rejected', '{total:.0f}', contender=name)})"
        for name in COMMON
    ]
    page.values(rows=[([name], {"contender": name}) for name in able], others=others, every=listed(every))
    absent = dict.fromkeys(run["contender"] for run in runs if run["status"] == "not installed")
    page.values(absent=[name for name in (*WHOLE, *OTHERS) if name in absent])
    return page.values(names=names, wrong=sum(run["wrong"] for run in runs))


def by_contender(page, names, instances, entry):
    """Return a table of ``entry(run, where)`` for each method on each (model, scenarios)."""
    by = {(run["model"], run["scenarios"], run["contender"]): run for run in page.records["runs"]}
    some = [scenarios for _, scenarios in instances if scenarios is not None]
    rows = []
    for model, scenarios in instances:
        where = {"model": model, "scenarios": scenarios}
        entries = [entry(by.get((model, scenarios, name)), where | {"contender": name}) for name in names]
        rows.append([model, *([str(scenarios)] if some else []), *entries])
    return page.table(["model", *(["scenarios"] if some else []), *names], rows)


def seconds(run, where):
    """Return the cell with the seconds of a run, or a text for a run without a proof."""
    if run is None or run["seconds"] is None:
        return shown(run)
    return [Cell("runs", "seconds", "{mean:.2f}", where), "" if run["proven"] else f" ({shown(run)})"]


def megabytes(run, where):
    """Return the cell with the peak memory of a run."""
    return Cell("runs", "MB", "{mean:.0f}", where) if run and run["tried"] and run["MB"] else ""


def incumbents(page):
    """Return the table of the runs without a proof."""
    rows = [
        [
            run["model"],
            "" if run["scenarios"] is None else str(run["scenarios"]),
            run["contender"],
            run["status"],
            "none" if run["above"] is None else f"{run['above']:.1%}",
            shown(run),
        ]
        for run in page.records["runs"]
        if run["tried"] and not run["proven"]
    ]
    header = ["model", "scenarios", "contender", "status", "above the best", "bound"]
    return page.table(header, rows or [["none"] + [""] * 5])
