"""The tree on several processes: the answer and the proof of one, whatever becomes of the processes."""

import contextlib
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time
from types import SimpleNamespace

import joblib
import numpy as np
import pyomo.environ as pyo
import pytest

import fsmodels as fs
import solvers
from solvers import SolutionStatus, StopReason
from solvers.drivers.branch_cut import coordinator, joblib_pool, process_pool, worker
from solvers.errors import SolverFailure
from solvers.facts.base import facts_of

DRIVER = "branch-and-cut"
SOAK = float(os.environ.get("FSMODELS_SOAK", "1"))
needs_fork = pytest.mark.skipif(not process_pool.possible(), reason="processes are forked on Linux only")


def alike(rows=120, n=14, seed=0):
    """Features that can stand for one another, so that the tree has some nodes."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(rows, 3))
    X = common @ rng.normal(size=(3, n)) + 0.7 * rng.normal(size=(rows, n))
    y = np.where(X @ rng.normal(size=n) + 2 * rng.normal(size=rows) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return fs.Dataset.from_arrays(X, y, features=[f"f{j}" for j in range(n)]).scaled("standard")


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Assign nodes as soon as there are any."""
    monkeypatch.setattr(coordinator, "AFTER", 0.0)
    monkeypatch.setattr(coordinator, "ENOUGH", 1)
    yield
    assert not processes()


def processes():
    """The children that the driver has started: other tests may have left joblib's workers waiting."""
    return [child for child in multiprocessing.active_children() if "Loky" not in child.name]


def plain(m):
    pass


def rows_on_sigma(m):
    m.pair = pyo.Constraint(expr=m.sigma["f0"] <= m.sigma["f1"])
    m.not_both = pyo.Constraint(expr=m.sigma["f2"] + m.sigma["f3"] <= 1)
    m.budget = pyo.Constraint(expr=sum((1 + k % 3) * v for k, v in enumerate(m.sigma.values())) <= 8)


def equation(m):
    m.three = pyo.Constraint(expr=sum(m.sigma.values()) == 3)


def at_most_three(m):
    m.three = pyo.Constraint(expr=sum(m.sigma.values()) <= 3)
    m.pair = pyo.Constraint(expr=m.sigma["f0"] <= m.sigma["f1"])


def own_binaries(m):
    m.group = pyo.Var(range(3), domain=pyo.Binary)
    m.opens = pyo.Constraint(range(14), rule=lambda m, j: list(m.sigma.values())[j] <= m.group[j % 3])
    m.objective.set_value(m.objective.expr + 2 * sum(m.group.values()))


def own_continuous(m):
    m.spent = pyo.Var(bounds=(0, 20))
    m.cost = pyo.Constraint(expr=m.spent == sum((1 + k % 3) * v for k, v in enumerate(m.sigma.values())))
    m.objective.set_value(m.objective.expr + 0.5 * m.spent)


def fsp_m(data, **options):
    return fs.fsp.fsp_m(data, max_features=5, C=1.0, **options)


MODELS = {
    "fsp-m": fsp_m,
    "fsp-m, large C": lambda data: fs.fsp.fsp_m(data, max_features=4, C=30.0),
    "fsp-m, rmp": lambda data: fsp_m(data, form="rmp"),
    "fsp-m, indicator": lambda data: fsp_m(data, form="indicator"),
    "fsp-lambda": lambda data: fs.fsp.fsp_lambda(data, penalty=1.0),
    "fsmulti": lambda data: fs.multivariate.fsmulti(data, budget=2, C=20.0, sigma=True),
    "fs": lambda data: fs.concave.fs(data, penalty=0.05),
    "fs, at most": lambda data: fs.concave.fs(data, penalty=0.01, max_features=3),
}
CASES = [(name, plain) for name in MODELS if name != "fsmulti"] + [
    ("fsp-m", rows_on_sigma),
    ("fsp-m", equation),
    ("fsp-m", own_binaries),
    ("fsp-m", own_continuous),
    ("fsp-lambda", rows_on_sigma),
    ("fs", rows_on_sigma),
    ("fsmulti", at_most_three),
]


def solved(model, **options):
    return fs.solve(model, DRIVER, **{"threads": 2, "gap": 1e-5} | options)


@needs_fork
@pytest.mark.parametrize(("name", "edit"), CASES, ids=[f"{name}, {edit.__name__}" for name, edit in CASES])
def test_two_processes_prove_what_one_does(name, edit):
    data = alike(50, 8) if name == "fsmulti" else alike(60, seed=len(name))
    answers = []
    for threads in (1, 2):
        model = MODELS[name](data)
        edit(model)
        answers.append(solved(model, threads=threads))
    one, two = answers
    assert two.status is SolutionStatus.OPTIMAL
    assert two.details["processes"] == 2
    assert two.objective == pytest.approx(one.objective, rel=2e-5)
    assert max(one.bound, two.bound) <= min(one.objective, two.objective) * (1 + 1e-7)
    table = two.iterations
    assert table["Bound"].dropna().is_monotonic_increasing
    assert table["Incumbent"].dropna().is_monotonic_decreasing
    assert (table["Bound"].dropna() <= one.objective * (1 + 1e-7)).all()


@needs_fork
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(round(20 * SOAK)))
def test_random_instances_solved_again_with_a_row_end_where_one_process_does(seed, monkeypatch):
    monkeypatch.setattr(process_pool.ProcessPool, "first", 0.01)
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 16))
    data, weights, side = (
        alike(int(rng.integers(30, 90)), n, seed=seed),
        rng.integers(-2, 4, n),
        int(rng.integers(1, 7)),
    )
    C, M, kind = float(10 ** rng.uniform(-1, 1.5)), int(rng.integers(2, 6)), rng.integers(3)
    found = []
    for words in ({"threads": 1}, {"threads": int(rng.integers(2, 4)), "memory": solvers.Memory()}):
        if kind == 0:
            model = fs.fsp.fsp_m(data, max_features=M, C=C)
        elif kind == 1:
            model = fs.fsp.fsp_lambda(data, penalty=0.3 * C, C=C)
        else:
            model = fs.concave.fs(data, penalty=0.03, max_features=M)
        found.append(solved(model, **words))
        row = sum(int(a) * v for a, v in zip(weights, model.sigma.values(), strict=True))
        model.row = pyo.Constraint(expr=row <= side)
        found.append(solved(model, **words))
    for one, several in zip(found[:2], found[2:], strict=True):
        assert several.status is one.status
        if one.objective is not None:
            assert several.objective == pytest.approx(one.objective, rel=3e-5, abs=1e-9)
            assert max(one.bound, several.bound) <= min(one.objective, several.objective) * (1 + 1e-7) + 1e-9


@pytest.fixture(scope="module")
def some_hundred_nodes():
    return fs.fsp.fsp_m(alike(120, 24), max_features=8, C=10.0)


@pytest.fixture(scope="module")
def optimum(some_hundred_nodes):
    return solved(some_hundred_nodes, threads=1).objective


def test_one_process_is_the_default_and_repeats_itself():
    runs = [fs.solve(fsp_m(alike()), DRIVER, **words) for words in ({}, {"threads": 1}, {})]
    columns = ["Step", "Objective", "Bound", "Incumbent", "Cuts", "|S|"]
    assert "processes" not in runs[0].details
    assert all(run.iterations[columns].equals(runs[0].iterations[columns]) for run in runs)


@needs_fork
def test_three_processes_share_the_tree(some_hundred_nodes, optimum):
    result = solved(some_hundred_nodes, threads=3)
    assert (result.status, result.details["processes"]) == (SolutionStatus.OPTIMAL, 3)
    assert result.objective == pytest.approx(optimum, rel=1e-6)


def test_rows_that_clash_are_infeasible():
    model = fsp_m(alike())
    model.many = pyo.Constraint(expr=sum(model.sigma.values()) >= 6)
    assert solved(model).status is SolutionStatus.INFEASIBLE


@needs_fork
def test_each_limit_and_a_callback_bring_home_what_there_is(some_hundred_nodes, optimum):
    asked = []

    def stop(row):
        asked.append(row["Step"])
        return row["Step"] == "tree"

    for words, reason in (
        ({"time_limit": 0.0}, StopReason.TIME_LIMIT),
        ({"time_limit": 0.05}, StopReason.TIME_LIMIT),
        ({"iteration_limit": 40}, StopReason.ITERATION_LIMIT),
        ({"callback": stop}, StopReason.CALLBACK),
    ):
        result = solved(some_hundred_nodes, gap=0.0, **words)
        assert result.stop_reason is reason
        assert result.details.get("nodes", 0) <= words.get("iteration_limit", np.inf)
        if result.objective is not None:
            assert result.bound <= optimum * (1 + 1e-7) <= result.objective * (1 + 2e-7)
    assert asked[-1] == "tree"


def first_processes(kill):
    """A callback that kills so many processes at the first row of the tree."""
    left = [kill]

    def callback(row):
        while row["Step"] == "tree" and left[0]:
            left[0] -= 1
            os.kill(processes()[left[0]].pid, signal.SIGKILL)

    return callback


@needs_fork
@pytest.mark.parametrize("killed", [1, 2])
def test_the_nodes_of_a_killed_process_are_explored_by_others(killed, some_hundred_nodes, optimum, monkeypatch):
    monkeypatch.setattr(process_pool.ProcessPool, "first", 0.02)
    result = solved(some_hundred_nodes, callback=first_processes(killed))
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(optimum, rel=1e-6)
    assert f"{killed} of 2 processes" in result.message


@needs_fork
@pytest.mark.parametrize("error", [ValueError("no such node"), SolverFailure("it gave up", "highs")])
def test_what_a_process_meets_ends_the_run_with_what_there_is(error, some_hundred_nodes, optimum, monkeypatch):
    def fail(self, part):
        raise error

    monkeypatch.setattr(worker.Worker, "explore", fail)
    result = solved(some_hundred_nodes)
    assert (result.status, result.stop_reason) == (SolutionStatus.FEASIBLE, StopReason.SOLVER_ERROR)
    assert str(error) in result.message
    assert result.bound <= optimum <= result.objective * (1 + 1e-7)


@needs_fork
def test_an_error_of_a_callback_leaves_no_process(some_hundred_nodes):
    def callback(row):
        if row["Step"] == "tree":
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        solved(some_hundred_nodes, callback=callback)


@pytest.fixture
def run_elsewhere():
    """A run in a process group of its own that has come to its tree."""
    script = """
        import importlib.util, multiprocessing, sys
        spec = importlib.util.spec_from_file_location("here", sys.argv[1])
        here = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(here)
        here.coordinator.AFTER, here.coordinator.ENOUGH = 0.0, 1
        model = here.fs.fsp.fsp_m(here.alike(200, 60), max_features=12, C=10.0)
        result = here.solved(model, gap=0.0, callback=lambda row: print(row["Step"], flush=True))
        print(result.stop_reason.value, result.bound < result.objective, len(multiprocessing.active_children()))
    """
    command = [sys.executable, "-c", textwrap.dedent(script), __file__]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert any(line.strip() == "tree" for line in run.stdout)
        yield run
        for _ in range(100):
            try:
                os.killpg(run.pid, 0)
            except ProcessLookupError:
                return
            time.sleep(0.05)
        pytest.fail("workers go on without their coordinator")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        run.stdout.close()


@needs_fork
def test_ctrl_c_brings_home_what_there_is_and_leaves_no_process(run_elsewhere):
    os.killpg(run_elsewhere.pid, signal.SIGINT)  # as a terminal does: to all of them
    said, _ = run_elsewhere.communicate(timeout=60)
    assert said.split()[-3:] == ["interrupted", "True", "0"]


@needs_fork
def test_workers_end_with_their_coordinator(run_elsewhere):
    run_elsewhere.kill()
    run_elsewhere.wait()


@needs_fork
def test_the_choice_by_validation_sees_what_all_processes_meet():
    data, other = alike(80), alike(80, seed=5)
    model = fsp_m(data)
    result = solved(model, choose_by="validation", validation=other)
    assert result.details["processes"] == 2
    w = np.array([v.value for v in model.w.values()])
    wrong = np.mean(np.where(other.X @ w + model.b.value > 0, 1.0, -1.0) != other.y)
    assert result.details["validation_error"] == pytest.approx(wrong)


@needs_fork
def test_linear_programs_of_several_threads_before_do_not_hang_the_processes():
    milp = pyo.ConcreteModel()
    milp.x = pyo.Var(range(12), domain=pyo.Binary)
    milp.row = pyo.Constraint(expr=sum((3 + k % 5) * milp.x[k] for k in milp.x) <= 20)
    milp.worth = pyo.Objective(expr=sum((5 + k % 7) * milp.x[k] for k in milp.x), sense=pyo.maximize)
    assert solvers.solve(milp, "highs", threads=2).status is SolutionStatus.OPTIMAL
    model = MODELS["fs"](alike(60))
    assert solved(model, time_limit=60.0).details["processes"] == 2


def test_a_subproblem_without_an_oracle_says_where_the_threads_went():
    model = pyo.ConcreteModel()
    model.open = pyo.Var(range(3), domain=pyo.Binary)
    model.serve = pyo.Var(range(3), range(3), bounds=(0, None))
    model.demand = pyo.Constraint(range(3), rule=lambda m, k: sum(m.serve[j, k] for j in range(3)) == 1)
    model.only = pyo.Constraint(range(3), range(3), rule=lambda m, j, k: m.serve[j, k] <= m.open[j])
    price = sum((1 + abs(j - k)) * model.serve[j, k] for j, k in model.serve)
    model.cost = pyo.Objective(expr=2 * sum(model.open.values()) + price)
    result = solvers.solve(model, DRIVER, complicating=[model.open], threads=2)
    assert result.status is SolutionStatus.OPTIMAL
    assert "threads=2 went to the solver of the subproblem" in result.message


# By joblib.


@pytest.mark.parametrize("name", ["fsp-m", "fsp-m, rmp", "fsp-lambda", "fs", "fsmulti"])
def test_what_a_process_is_told_can_be_pickled(name):
    data = alike(50, 8) if name == "fsmulti" else alike(60)
    model = MODELS[name](data)
    driver = solvers.BranchAndCut(model, gap=1e-5, iteration_limit=1)
    driver.solve()
    job = pickle.loads(pickle.dumps(driver._task()))
    explorer, lp = worker.Worker(job, worker.SharedIncumbent()), driver._lp
    nodes = [worker.Node(-np.inf, 0)]
    part = worker.Slice(
        nodes=nodes, lower=lp.lower, upper=lp.upper, best=np.inf, choice=None, costs=driver.search.costs.totals,
        solved=0, searched=0, seconds=60.0, left=None, limit=np.inf, searches=True, back=(1.0, 1.0),
    )  # fmt: skip
    report = explorer.explore(part)
    whole = fs.solve(MODELS[name](data), DRIVER, gap=1e-5)
    assert not report.nodes
    assert report.bound == np.inf
    assert min(value for _, value in report.points) == pytest.approx(whole.objective, rel=1e-5)
    assert min(report.left_out, report.least) <= whole.objective * (1 + 1e-7)
    assert min(report.left_out, report.least) >= whole.bound * (1 - 2e-5)


def test_threads_of_joblib_are_no_processes_elsewhere():
    for backend in ("threading", "sequential"):
        with joblib.parallel_config(backend):
            assert not joblib_pool.configured()
    assert not joblib_pool.configured()
    with joblib.parallel_config("loky"):
        assert joblib_pool.configured()


@needs_fork
def test_processes_of_joblib_explore_the_tree(some_hundred_nodes, optimum):
    with joblib.parallel_config("multiprocessing"):
        result = solved(some_hundred_nodes)
    assert (result.status, result.details["processes"]) == (SolutionStatus.OPTIMAL, 2)
    assert result.objective == pytest.approx(optimum, rel=1e-6)


def test_a_backend_that_fails_leaves_the_tree_to_one_process(some_hundred_nodes, optimum, monkeypatch):
    monkeypatch.setattr(joblib_pool, "explore", "no function")
    with joblib.parallel_config("loky"):  # the pool of multiprocessing hung once when it was terminated
        result = solved(some_hundred_nodes)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(optimum, rel=1e-6)
    assert "2 of 2 processes" in result.message
    assert "not callable" in result.message


@needs_fork
def test_a_model_that_cannot_be_sent_is_explored_by_one_process_and_that_is_said():
    model = fsp_m(alike())
    facts_of(model).detached = None
    with joblib.parallel_config("multiprocessing"):
        result = solved(model)
    assert result.status is SolutionStatus.OPTIMAL
    assert "threads=2 were not used: this model's oracle cannot be sent" in result.message


@needs_fork
def test_a_system_that_starts_no_process_leaves_the_tree_to_one(monkeypatch):
    def start(self):
        raise OSError("no memory")

    monkeypatch.setattr("multiprocessing.context.ForkProcess.start", start)
    result = solved(fsp_m(alike()))
    assert result.status is SolutionStatus.OPTIMAL
    assert "threads=2 were not used: the system cannot start another process (no memory)." in result.message


def in_a_pool(_):
    result = solved(fsp_m(alike()))
    return result.status, result.message


@needs_fork
def test_a_process_of_a_pool_explores_alone_and_says_so():
    with multiprocessing.get_context("fork").Pool(1) as pool:
        [(status, message)] = pool.map(in_a_pool, [0])
        pool.close()
        pool.join()
    assert status is SolutionStatus.OPTIMAL
    assert message == "threads=2 were not used: a daemonic process may not start others."


@needs_fork
def test_what_a_process_of_joblib_meets_ends_the_run_with_what_there_is(some_hundred_nodes, monkeypatch):
    def fail(self, part):
        raise ValueError("no such node")

    monkeypatch.setattr(worker.Worker, "explore", fail)
    with joblib.parallel_config("multiprocessing"):
        result = solved(some_hundred_nodes)
    assert (result.status, result.stop_reason) == (SolutionStatus.FEASIBLE, StopReason.SOLVER_ERROR)
    assert "no such node" in result.message


@pytest.mark.parametrize("processes", [False, pytest.param(True, marks=pytest.mark.slow)])  # that import it all
def test_a_cluster_explores_the_tree(processes, some_hundred_nodes, optimum):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(2, threads_per_worker=1, processes=processes, dashboard_address=None) as local,
        distributed.Client(local),
        joblib.parallel_config("dask"),
    ):
        result = solved(some_hundred_nodes)
    assert (result.status, result.details["processes"]) == (SolutionStatus.OPTIMAL, 2)
    assert result.objective == pytest.approx(optimum, rel=1e-6)
    assert not result.message


@pytest.mark.slow  # the processes import everything
def test_a_cluster_continues_after_a_killed_worker(some_hundred_nodes, optimum, monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(joblib_pool.JoblibPool, "first", 0.05)
    monkeypatch.setattr(joblib_pool.JoblibPool, "longest", 0.05)
    with (
        distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as local,
        distributed.Client(local),
        joblib.parallel_config("dask"),
    ):
        slices = []

        def kill(self, *arguments):
            slices.append(len(slices))
            if len(slices) == 2:
                for process in list(local.workers.values()):
                    os.kill(process.pid, signal.SIGKILL)
            return run(self, *arguments)

        run = joblib_pool.JoblibPool.run
        monkeypatch.setattr(joblib_pool.JoblibPool, "run", kill)
        result = solved(some_hundred_nodes)
    assert len(slices) > 2
    assert (result.status, result.message) == (SolutionStatus.OPTIMAL, "")
    assert result.objective == pytest.approx(optimum, rel=1e-6)


def test_a_process_of_joblib_without_its_task_is_lost(monkeypatch):
    """The task cannot be sent to a process that has lost it: the processes that answer count, the other is lost."""
    pool = joblib_pool.JoblibPool.__new__(joblib_pool.JoblibPool)
    pool._task = np.zeros(3, dtype=np.uint8)
    report = worker.Report(0.0, 0, [], 0.0, 0.0, [], np.zeros(1), 0, 0, 0, {})
    replies = [{0: "unknown", 1: report}, {}, {}]
    monkeypatch.setattr(pool, "_explore", lambda task, parts: replies.pop(0))
    assert pool.run({0: None, 1: None}, None, None) == {1: report}


def test_many_processes_start_as_soon_as_a_few_nodes_are_open(monkeypatch):
    """100 processes do not wait for hundreds of open nodes, which one process would have to make."""
    monkeypatch.setattr(coordinator, "ENOUGH", 8)
    nodes = [None] * 7
    many = coordinator.Coordinator(SimpleNamespace(tree=nodes, incumbents=None), 100, task=None)
    assert not many.is_due()
    nodes.append(None)
    assert many.is_due()
