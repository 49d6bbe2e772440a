"""Branch-and-cut with several processes, on a Dask cluster, and a replay of its tree with up to 100 workers (FSP-M).

    python -m benchmarks parallel_tree --jobs 1          # 60 s per run, on an idle machine: fifteen minutes
    python -m benchmarks parallel_tree --jobs 1 --full   # three repeats
    python -m benchmarks parallel_tree --page            # only the page, from the log

The Dask part needs ``pip install distributed``.
"""

import heapq
import os
import pickle
import signal
import threading
import time
from itertools import product
from unittest import mock

import joblib

import fsmodels as fs
from benchmarks.comparisons.ablation import CELL, problem
from benchmarks.comparisons.best_known import GAP, ROUNDING
from benchmarks.harness.log import facts_of_runs
from benchmarks.harness.page import Page
from benchmarks.harness.records import rows_of, with_reference
from benchmarks.methods.heuristics import warm_up
from solvers.drivers.branch_cut.coordinator import ENOUGH
from solvers.drivers.branch_cut.joblib_pool import JoblibPool
from solvers.drivers.branch_cut.node import NodeSearch

NAME, PROTOCOL = "parallel_tree", 1
LIMIT, REPEATS, KILLED_AFTER = 60.0, 3, 10.0
ONE, TWO, DASK, KILLED, REPLAY = "one process", "two processes", "Dask", "Dask, a worker is killed", "replay"
CELLS = [
    ("sonar", None, None, 7, 0.3), ("spambase", None, None, 8, 1.0), ("musk1", None, None, 5, 0.1),
    ("gaussian", 500, 1_000, 20, 0.01),
]  # fmt: skip
REPLAYED = [CELLS[0], CELLS[3]]
WORKERS, FACTORS = (2, 10, 30, 100), (1, 100)
ARRAYS = 11  # numbers per variable: bounds, choice and pseudo-costs to a worker, pseudo-costs back
PACKAGES = ("fsmodels", "pyomo", "numpy", "scipy", "joblib", "distributed")
FACTS = {"gap": GAP, "time limit (s)": LIMIT}


def tasks(full):
    runs = [(cell, how, k) for cell in CELLS for how in (ONE, TWO) for k in range(REPEATS if full else 1)]
    runs += [(CELLS[0], how, 0) for how in (DASK, KILLED)] + [(cell, REPLAY, 0) for cell in REPLAYED]
    return [
        dict(zip(CELL, cell, strict=True)) | {"how": how, "repeat": k, "limit": LIMIT, "protocol": PROTOCOL}
        for cell, how, k in runs
    ]


def work(data, n, p, M, C, how, repeat, limit, protocol):
    """Solve one cell, or replay its tree."""
    model = problem(data, n, p, M, C)
    warm_up(form="rmp")
    if how == REPLAY:
        return replays(model, limit)
    if how in (ONE, TWO):
        return solved(model, limit, threads=1 if how == ONE else 2)
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster), joblib.parallel_config("dask"):
        if how == KILLED:
            threading.Timer(KILLED_AFTER, os.kill, (cluster.workers[0].pid, signal.SIGKILL)).start()
        return solved(model, limit, threads=2)


def solved(model, limit, threads):
    """Solve a model, and return its record."""
    start = time.perf_counter()
    found = fs.solve(model, "branch-and-cut", gap=GAP, threads=threads, time_limit=limit)
    return {
        "wall": time.perf_counter() - start, "objective": found.objective, "bound": found.bound, "gap": found.gap,
        "status": found.status.value, "nodes": found.details.get("nodes"), "message": found.message,
    }  # fmt: skip


def replays(model, limit):
    """Record the tree of one process, and replay it for several numbers of workers."""
    nodes, process = {}, NodeSearch.__call__

    def recorded(search, node):
        before, start = search.tree._made, time.perf_counter()
        process(search, node)
        nodes[node.number] = node.bound, time.perf_counter() - start, range(1 - search.tree._made, 1 - before)
        sizes.update(node=len(pickle.dumps(node)), arrays=ARRAYS * search.lp.lower.nbytes)

    sizes = {}
    with mock.patch.object(NodeSearch, "__call__", recorded):
        found = solved(model, limit, threads=1)
    replayed = [
        {"workers": workers, "factor": factor} | replay(nodes, workers, factor, sizes)
        for workers, factor in product(WORKERS, FACTORS)
    ]
    return found | {"replays": replayed, "nodes": len(nodes)}


def replay(nodes, workers, factor, sizes):
    """Simulate the slices of ``JoblibPool`` on a recorded tree.

    ``nodes``: number -> (bound, seconds, numbers of the children). The seconds are multiplied by
    ``factor``. Before each slice all open nodes are assigned to the workers, evenly over their bounds; at its end they
    return them. A worker takes the open node with the least bound. Transfers take no time.
    """
    open_nodes, now, slices, transferred = [(nodes[0][0], 0)], 0.0, 0, 0
    busy = factor * sum(seconds for _, seconds, _ in nodes.values())
    while open_nodes and len(open_nodes) < ENOUGH:  # one process
        now += explore(open_nodes, nodes, factor, 0.0)
    alone = now
    while open_nodes:
        open_nodes.sort()
        parts = [open_nodes[k::workers] for k in range(workers)]
        transferred += 2 * sizes["node"] * len(open_nodes) + sizes["arrays"] * sum(map(bool, parts))
        took = [explore(part, nodes, factor, JoblibPool.longest) for part in parts]
        open_nodes = [node for part in parts for node in part]
        now, slices = now + max(took), slices + 1
    return {
        "seconds": now, "alone": alone, "speedup": busy / now, "idle": 1 - busy / (workers * now),
        "messages": 2 * workers * slices, "megabytes": transferred / 1e6,
    }  # fmt: skip


def explore(open_nodes, nodes, factor, seconds):
    """Process open nodes until a slice is over; at least one. Return the seconds that this takes."""
    heapq.heapify(open_nodes)
    used = 0.0
    while open_nodes:
        _, number = heapq.heappop(open_nodes)
        _, took, children = nodes[number]
        for child in children:
            if child in nodes:  # the others were pruned or still open
                heapq.heappush(open_nodes, (nodes[child][0], child))
        used += factor * took
        if used >= seconds:
            break
    return used


def page(log):
    """Return the page."""
    entries = log.entries(*CELL, "how", "repeat", "limit", "protocol")
    runs = [run for run in entries if run["how"] != REPLAY]
    for run, alone in with_reference(runs, (*CELL, "repeat"), how=ONE):
        run["speed"] = (run["nodes"] / run["wall"]) / (alone["nodes"] / alone["wall"])
        run["gap of one"] = alone["gap"]
    replayed = [
        {name: entry[name] for name in (*CELL, "nodes")} | row
        for entry in entries
        if entry["how"] == REPLAY
        for row in entry["replays"]
    ]
    page = Page(NAME, globals(), runs=runs, replays=replayed)
    page.key("runs", *CELL, "how", "repeat")
    page.part("runs", len(entries), len(tasks(False)))
    cells = rows_of([dict(zip(CELL, cell, strict=True)) for cell in CELLS], CELL)
    plans = [
        ([cell[0], workers, factor], {"data": cell[0], "workers": workers, "factor": factor})
        for cell, factor, workers in product(REPLAYED, FACTORS, WORKERS)
    ]
    clusters = [([how], {"how": how} | cells[0][1]) for how in (ONE, TWO, DASK, KILLED)]
    killed, alone = (
        next(run for run in runs if run["how"] == how and run["data"] == CELLS[0][0]) for how in (KILLED, ONE)
    )
    same = abs(killed["objective"] - alone["objective"]) <= GAP * alone["objective"]
    valid = killed["bound"] <= alone["objective"] * (1 + ROUNDING)
    wider = [
        f"on {run['data']} they end with a wider gap ({run['gap']:.2%} instead of {run['gap of one']:.2%})"
        for run in runs
        if run["how"] == TWO and run["gap"] > max(GAP, run["gap of one"])
    ]
    page.values(wider="; ".join(["", *wider]), left=killed["wall"] - KILLED_AFTER)
    page.values(load=facts_of_runs(log).get("load average at the start"))
    return page.values(cells=cells, plans=plans, clusters=clusters, same=same, valid=valid)
