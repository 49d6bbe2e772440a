"""``cutting-plane`` on 60 quadratic rows against Clarabel on the whole model, in one run.

    OMP_NUM_THREADS=1 python benchmarks/kelley_quadratic.py            # a minute

Instances: min d.x over 60 rows x'Q_k x + c_k.x <= n/4 in a box, Q_k = F_k'F_k. "dense": F_k (n, n), written out term by
term; "squares": three rows of F_k, written as squares of sums. CPU seconds of the process, building the model left out;
each solver has seen another model before. "x" is the median of cutting-plane's over Clarabel's.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import pyomo.environ as pyo
import report

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the clone, not an installed package
import solvers

ROWS = 60
SIZES = [("dense", 20), ("dense", 40), ("dense", 60), ("squares", 40), ("squares", 100)]


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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "kelley_quadratic.json")
    options = parser.parse_args()
    facts = report.about("pyomo", "highspy", "clarabel", "numpy", "scipy", seeds=options.seeds)
    for solver in ("clarabel", "cutting-plane"):
        solvers.solve(instance("squares", 3, 0), solver)
    rows = []
    for kind, n in SIZES:
        whole, cuts, rounds = [], [], []
        for seed in range(options.seeds):
            spent, truth = seconds(instance(kind, n, seed), "clarabel")
            whole.append(spent)
            spent, result = seconds(instance(kind, n, seed), "cutting-plane")
            cuts.append(spent)
            rounds.append(len(result.iterations))
            assert result.status is solvers.SolutionStatus.OPTIMAL
            assert abs(result.objective - truth.objective) <= 1e-6 * abs(truth.objective)
        ratio = statistics.median(a / b for a, b in zip(cuts, whole, strict=True))
        found = [f"{statistics.median(times):.2f}" for times in (whole, cuts)]
        rows.append([f"{ROWS} {kind}", n, *found, f"{ratio:.2f}", max(rounds)])
        print(report.line(rows[-1]), flush=True)
    header = ["rows", "variables", "clarabel s", "cutting-plane s", "x", "linear programs"]
    text = f"{__doc__}\n{report.table(header, rows)}"
    report.write(options.out, "Quadratic rows by cutting planes", text, facts, header=header, rows=rows)


if __name__ == "__main__":
    main()
