"""``cutting-plane`` on 60 quadratic rows against Clarabel on the whole model, by CPU time.

python benchmarks/kelley_quadratic.py            # two minutes
python benchmarks/kelley_quadratic.py --full     # ten seeds for five
python benchmarks/kelley_quadratic.py --page     # only the page, from the log
"""

import sys
import time
from pathlib import Path

import numpy as np
import pyomo.environ as pyo
from log import script
from page import Cell, Page

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the clone, not an installed package
import solvers

NAME = "kelley_quadratic"
ROWS, AGREE, PROTOCOL = 60, 1e-6, 1
SIZES = [("dense", 20), ("dense", 40), ("dense", 60), ("squares", 40), ("squares", 100)]
SEEDS, MORE_SEEDS = range(5), range(10)


MOST = {"rounds": "{most:.0f}", "off": "{most:.0e}"}


def instance(kind, n, seed):
    """60 quadratic rows on n variables."""
    rng = np.random.default_rng(seed)
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(n), bounds=(-10, 10))
    x = list(m.x.values())
    m.rows = pyo.ConstraintList()
    for _ in range(ROWS):
        F, c = rng.normal(size=(n if kind == "dense" else 3, n)) / np.sqrt(n), rng.normal(size=n).tolist()
        if kind == "dense":
            Q = (F.T @ F).tolist()
            square = pyo.quicksum(Q[i][j] * x[i] * x[j] for i in range(n) for j in range(n))
        else:
            square = sum(pyo.quicksum(f * v for f, v in zip(line, x, strict=True)) ** 2 for line in F.tolist())
        m.rows.add(square + pyo.quicksum(a * v for a, v in zip(c, x, strict=True)) <= n / 4)
    m.cost = pyo.Objective(expr=pyo.quicksum(d * v for d, v in zip(rng.normal(size=n).tolist(), x, strict=True)))
    return m


def seconds(model, solver):
    """Return the CPU seconds of a solve, and its result."""
    start = time.process_time()
    result = solvers.solve(model, solver)
    return time.process_time() - start, result


def tasks(full):
    seeds = MORE_SEEDS if full else SEEDS
    return [{"kind": kind, "n": n, "seed": seed, "protocol": PROTOCOL} for kind, n in SIZES for seed in seeds]


def work(kind, n, seed, protocol):
    """Solve one instance by both."""
    for solver in ("clarabel", "cutting-plane"):  # what is loaded at the first solve is not measured
        solvers.solve(instance("squares", 3, 0), solver)
    whole, truth = seconds(instance(kind, n, seed), "clarabel")
    cuts, result = seconds(instance(kind, n, seed), "cutting-plane")
    return {
        "clarabel": whole,
        "cutting-plane": cuts,
        "ratio": cuts / whole,
        "rounds": len(result.iterations),
        "proven": result.status is solvers.SolutionStatus.OPTIMAL,
        "off": abs(result.objective - truth.objective) / abs(truth.objective),
    }


def page(log):
    """Write the page."""
    runs = log.entries("kind", "n", "seed", "protocol")
    told = Page(NAME, "Quadratic rows by cutting planes, beside Clarabel on the whole model", runs=runs)
    told.key("runs", "kind", "n", "seed")
    ratio = {kind: told.say("runs", "ratio", "{gmean:.2f}", {"kind": kind}) for kind in ("dense", "squares")}
    spread = {kind: told.say("runs", "ratio", "{least:.2f} to {most:.2f}", {"kind": kind}) for kind in ratio}
    agreed = sum(run["proven"] and run["off"] <= AGREE for run in runs)
    told.answer(
        f"Where the 60 rows are dense, cutting planes take {ratio['dense']} of Clarabel's CPU time (geometric mean; "
        f"{spread['dense']} over sizes and seeds), where each is a sum of three squares {ratio['squares']} times it "
        f"({spread['squares']}). In {agreed} of {len(runs)} instances they prove their optimum, and it is Clarabel's "
        f"to {AGREE:.0e}."
    )
    told.part("seconds", len(runs), max(len(runs), len(tasks(False))), f"python benchmarks/{NAME}.py")
    told.section("Seconds", "Means of CPU seconds; the ratio is cutting-plane's over Clarabel's, seed by seed.")
    rows = []
    for kind, n in SIZES:
        where = {"kind": kind, "n": n}
        show = {name: Cell("runs", name, "{mean:.2f}", where) for name in ("clarabel", "cutting-plane")}
        shown = [f"{ROWS} {kind}", n, Cell("runs", "ratio", "{n}", where), *show.values()]
        shown += [Cell("runs", "ratio", "{gmean:.2f} ({least:.2f} to {most:.2f})", where)]
        rows.append([*shown, *(Cell("runs", name, form, where) for name, form in MOST.items())])
    header = ["rows", "variables", "seeds", "Clarabel s", "cutting-plane s", "ratio (range)", "most LPs"]
    told.table([*header, "objectives differ by at most"], rows)
    told.section(
        "Protocol",
        "min d.x over 60 rows x'Q_k x + c_k.x <= n/4 in a box, Q_k = F_k'F_k, all drawn anew from each seed. Dense: "
        "F_k is n x n, and the row is written out term by term; squares: F_k has three rows, and the row is written as "
        "squares of sums. Seconds are of the process, from the Pyomo model to the verdict; building the model is left "
        "out, and each solver has seen another model before.",
    )
    told.write({})


if __name__ == "__main__":
    script(NAME, __doc__, tasks, work, page, "pyomo", "highspy", "clarabel", "numpy", "scipy")
