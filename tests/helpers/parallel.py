"""Runs of every model by every solver and driver, for tests that compare runs at the same time with runs in turn."""

from __future__ import annotations

import asyncio
import math
import multiprocessing
from collections.abc import Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyomo.environ as pyo

import fsmodels as fs
import solvers
from families import FAMILIES
from fsmodels.selection.catalogue import MODELS, used_parameters
from solvers.interfaces.registry import SOLVERS
from solvers.model.classes import violation
from solvers.run import takers

MODES = ("threads", "fork", "spawn", "forkserver", "asyncio", "dask threads", "dask processes")
WORKERS = 3
CLOSE = 1e-4  # of objectives of runs that prove nothing: a local solver's last digits
OTHERS = ("linear", "knapsack", "quadratic", "nonlinear", "convex rows")
SLOW = {("gmeb-nonconvex", "gurobi")}  # half a minute


@dataclass(frozen=True)
class Job:
    """A model by its name, the seed of its data, and a solver."""

    model: str
    seed: int
    solver: str


@dataclass(frozen=True)
class Answer:
    """What a run returned, and how far the values on its model are from the rows; ``error``: what it raised.

    ``message``: not compared, but shown when a test fails.
    """

    status: str = ""
    objective: float | None = None
    selected: tuple[str, ...] | None = None
    missed: float = 0.0
    error: str = ""
    message: str = ""

    def agrees(self, other: Answer) -> bool:
        """Return True if status, selection and objective equal those of a serial run, where both runs have them."""
        same = (self.status, self.selected, self.error) == (other.status, other.selected, other.error)
        if not same or self.missed > 1e-6 + other.missed:
            return False
        if self.objective is None or other.objective is None:
            return self.objective is other.objective
        return math.isclose(self.objective, other.objective, rel_tol=CLOSE, abs_tol=1e-6)


@cache
def data(seed: int) -> fs.Dataset:
    """Return 24 samples of two classes that overlap, with five features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(24, 5))
    y = np.where(X @ rng.uniform(-1, 1, 5) + 0.5 * rng.normal(size=24) > 0, 1, -1)
    y[:2] = 1, -1
    return fs.Dataset.from_arrays(X, y).scaled("standard")


def build(name: str, seed: int) -> Any:
    """Build a model of this package, or another of a class of problems."""
    if name in OTHERS:
        return other(name, seed)
    family = next(f for f in FAMILIES if f.name == name)
    return MODELS[name].build_model(data(seed), used_parameters(MODELS[name], family.given))


def other(name: str, seed: int) -> pyo.ConcreteModel:
    """Build a model that has nothing to do with support vector machines, of sums and products of Pyomo's."""
    rng = np.random.default_rng(seed)
    n, m = 12, 8
    A, c = rng.normal(size=(m, n)), rng.normal(size=n)
    b = A @ rng.integers(0, 2, n) + rng.uniform(size=m)
    model = pyo.ConcreteModel(name=name)
    integers = pyo.Binary if name == "knapsack" else pyo.Reals
    model.x = pyo.Var(range(n), bounds=(0, 1), domain=integers, initialize=0)
    model.rows = pyo.Constraint(
        range(m), rule=lambda g, i: sum(float(A[i, j]) * g.x[j] for j in range(n)) <= float(b[i])
    )
    cost = sum(float(c[j]) * model.x[j] for j in range(n))
    if name == "quadratic":
        cost += sum((model.x[j] - float(c[j])) ** 2 + 0.1 * model.x[j] * model.x[j - 1] for j in range(1, n))
    if name == "nonlinear":
        cost += sum(pyo.exp(model.x[j]) for j in range(n))
    if name == "convex rows":
        model.ball = pyo.Constraint(expr=sum(model.x[j] ** 2 for j in range(n)) <= 3)
    model.cost = pyo.Objective(expr=cost)
    return model


@cache
def jobs() -> list[Job]:
    """Return each model by each solver and driver that is installed and takes it."""
    found = []
    for name in [*(f.name for f in FAMILIES if MODELS[f.name].runs_solver), *OTHERS]:
        model = build(name, 0)
        if model is None:
            continue
        able = takers(model)
        names = dict.fromkeys([able.default, *able.drivers, *able.whole, *able.local])
        installed = [solver for solver in names if solver not in SOLVERS or SOLVERS[solver].found]
        found += [Job(name, 0, solver) for solver in installed if (name, solver) not in SLOW]
    return found


def run(job: Job) -> Answer:
    """Build and solve, without a limit of time: on a busy machine it would change the status.

    Steps of ``sla`` on a curved objective come closer to the optimum as 1 / their number, so that they are limited.
    """
    model = build(job.model, job.seed)
    limit = {"iteration_limit": 200} if job.solver == "sla" else {}
    try:
        result = solvers.solve(model, job.solver, **limit)
    except solvers.Error as error:
        return Answer(error=f"{type(error).__name__}: {error}")
    except Exception as error:
        return Answer(error=f"unexpected {type(error).__name__}: {error}")
    missed = violation(model) if result.has_solution else 0.0
    selected = None if result.selected is None else tuple(result.selected)
    return Answer(result.status.value, result.objective, selected, missed, message=result.message)


def answers(mode: str, asked: Sequence[Job]) -> list[Answer]:
    """Return the answers of runs at the same time."""
    if mode == "asyncio":
        return asyncio.run(_gathered(asked))
    if mode.startswith("dask"):
        return _by_dask(asked, processes=mode == "dask processes")
    with _executor(mode) as executor:
        return list(executor.map(run, asked))


def _executor(mode: str) -> Executor:
    if mode == "threads":
        return ThreadPoolExecutor(WORKERS)
    return ProcessPoolExecutor(WORKERS, mp_context=multiprocessing.get_context(mode))


async def _gathered(asked: Sequence[Job]) -> list[Answer]:
    """Run every third job in the thread of the event loop, the others in threads."""

    async def in_loop(job: Job) -> Answer:
        await asyncio.sleep(0)
        return run(job)

    runs = (asyncio.to_thread(run, job) if k % 3 else in_loop(job) for k, job in enumerate(asked))
    return await asyncio.gather(*runs)


def _by_dask(asked: Sequence[Job], *, processes: bool) -> list[Answer]:
    from distributed import Client, LocalCluster

    shape = {"n_workers": WORKERS, "threads_per_worker": 1} if processes else {"threads_per_worker": WORKERS}
    cluster = LocalCluster(processes=processes, dashboard_address=None, **shape)
    with cluster, Client(cluster) as client:
        return client.gather(client.map(run, asked, pure=False))


def wrong(asked: Sequence[Job], expected: Sequence[Answer], found: Sequence[Answer]) -> list[str]:
    """Return a line for each answer that is not the expected one."""
    rows = zip(asked, expected, found, strict=True)
    return [f"{job}: {now}, alone {then}" for job, then, now in rows if not now.agrees(then)]
