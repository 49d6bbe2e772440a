"""Every model is solved by several threads at once, in a process of its own, so that a deadlock fails and not hangs."""

import os
import subprocess
import sys
import textwrap

import pytest

from fsmodels.selection.catalogue import MODELS
from solvers.interfaces.registry import SOLVERS

THREADS, SOLVES = 4, 12
GIVEN = {"max_features": 2, "C": 1.0, "penalty": 0.1, "R_plus": 1.0, "R_minus": 1.0}
PROGRAM = """
    import sys
    from concurrent.futures import ThreadPoolExecutor
    import numpy as np
    import fsmodels as fs

    given, THREADS, SOLVES = {given}, {threads}, {solves}
    rng = np.random.default_rng(0)
    X = rng.normal(size=(16, 4))
    data = fs.Dataset.from_arrays(X, np.where(X[:, 0] + 0.3 * rng.normal(size=16) > 0, 1, -1))

    def solve(task):
        name, solver = task
        limits = {{}} if not MODELS[name].runs_solver else {{"time_limit": 600}}
        found = fs.select(data, name, solver=solver, **given[name], **limits)
        return None if found.objective is None else round(found.objective, 4)

    from fsmodels.selection.catalogue import MODELS
    for task in {tasks}:
        with ThreadPoolExecutor(THREADS) as pool:
            values = set(pool.map(solve, [task] * SOLVES))
        assert len(values) == 1, (task, values)
        print(task, flush=True)
"""


def ended(tasks, timeout):
    """Solve each task twelve times by four threads; return standard output and error."""
    wanted = {
        name: {p: GIVEN[p] for p, needed in MODELS[name].parameters.items() if needed and p in GIVEN}
        for name, _ in tasks
    }
    program = textwrap.dedent(PROGRAM).format(given=wanted, threads=THREADS, solves=SOLVES, tasks=tasks)
    command = [sys.executable, "-P", "-W", "ignore", "-c", program]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}  # the same packages as in this process
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment)
    except subprocess.TimeoutExpired as late:
        pytest.fail(f"no end after {late.stdout!r}")
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines(), done.stderr


def test_four_threads_solve_the_same_model_and_print_nothing():
    tasks = [("one-norm-svm", None), ("robust-lp", None), ("fs", None), ("fsv", None), ("fsp-m", "benders")]
    assert ended(tasks, timeout=600) == ([str(task) for task in tasks], "")


@pytest.mark.slow
def test_four_threads_solve_every_model():
    """At its full size whatever FSMODELS_SOAK is: half a minute of CPU."""
    tasks = [(name, None) for name in MODELS]
    tasks += [
        ("fsp-m", "benders"),
        ("fsp-m", "scip"),
        ("fsl", "scip"),
        ("robust-lp", "clarabel"),
        ("robust-lp", "glpk"),
    ]
    tasks = [(name, solver) for name, solver in tasks if solver not in SOLVERS or SOLVERS[solver].found]
    assert ended(tasks, timeout=600) == ([str(task) for task in tasks], "")


def test_scip_does_not_count_more_threads_than_it_has_room_for():
    """SCIP's CppAD numbers the threads of a process and crashes past 48 of them."""
    program = """
        import threading
        import pyomo.environ as pyo
        import solvers

        values = set()

        def solve():
            m = pyo.ConcreteModel()
            m.x, m.y = pyo.Var(bounds=(0.1, 3)), pyo.Var(bounds=(0.1, 3))
            m.row = pyo.Constraint(expr=m.x * m.y >= 1)
            m.cost = pyo.Objective(expr=pyo.exp(m.x) + m.y**2)
            values.add(round(solvers.solve(m, "scip").objective, 4))

        for _ in range(60):
            thread = threading.Thread(target=solve)
            thread.start()
            thread.join()
        print(len(values))
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr[-500:]
