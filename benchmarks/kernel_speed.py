"""The timings of ``kernel_tables``: each fit in a process of its own, and derivatives against finite differences.

python benchmarks/kernel_speed.py '{"kind": "fit", "method": "AO-EFS", "size": "400 x 120", ...}'    # one line of JSON
"""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import report
from kernel_tasks import BUILD, SETS, fs, kernel, synthetic

SIZES = {"400 x 120": (400, 120), "1300 x 500": (1300, 500)}
MU = 0.5
ORDER = ["AO-EFS", "AO margin", "AO simple", "FULL-FS", "GMKL", "FULL-FS, (u, b, z)"]
GOALS = {"400 x 120": (20.0, None), "1300 x 500": (120.0, 1000.0)}  # seconds, megabytes, of AO-EFS
FASTER = 50.0
REPEATS = 5


def training(size, shared):
    """Return standardised data of a size: NDCC, and for 1300 samples Madelon where its file is there."""
    n, d = SIZES[size]
    path = Path(shared) / SETS["Madelon"]
    if size == "1300 x 500" and path.exists():
        return fs.Dataset.from_csv(path).take(range(n)).scaled("standard"), "Madelon, the first 1300 samples"
    return synthetic.ndcc(n_samples=n, n_features=d, seed=0).train.scaled("standard"), "NDCC, seed 0"


def point_of(method, n):
    """Return (C, mu) of a timing: C = n^(-1/3) for AO-EFS, 1 for the others."""
    return (n ** (-1 / 3) if method == "AO-EFS" else 1.0), MU


def peak():
    """Return the most memory that this process has held, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def fit_once(spec):
    """Time one fit, from building the model on."""
    data, what = training(spec["size"], spec["shared"])
    C, mu = point_of(spec["method"], len(data)) if spec.get("C") is None else (spec["C"], MU)
    before = peak()
    wall, cpu = time.perf_counter(), time.process_time()
    model = BUILD[spec["method"]](data, C=C, penalty=mu)
    result = fs.solve(model, time_limit=spec["limit"])
    spent = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    z = kernel.classifier(model).z
    steps = result.details["steps"]
    return {
        "data": what,
        "C": C,
        "mu": mu,
        **spent,
        "peak_mb": peak(),
        "before_mb": before,
        "status": result.status.value,
        "reason": result.stop_reason.value,
        "features": int(kernel.used(z).sum()),
        "steps": len(steps),
        "raised": int((~steps["taken"].astype(bool)).sum()),
        "omega": kernel.omega(data, z, C=C, penalty=mu),
    }


def median(work, repeats=REPEATS):
    """Return the median seconds of ``work(k)``."""
    found = []
    for k in range(repeats):
        start = time.perf_counter()
        work(k)
        found.append(time.perf_counter() - start)
    return float(np.median(found))


def derivatives(spec):
    """Time one analytic gradient, and forward differences by as many values as they need."""
    data, what = training(spec["size"], spec["shared"])
    n, d = data.X.shape
    problem = kernel.full_fs(data, C=1.0, penalty=MU).kernel_problem
    start = np.concatenate([np.zeros(n + 1), np.full(d, 2 / np.sqrt(2 * d)), [1.0]])
    point = problem.fitted(start, None)
    rows, rng, objective = [], np.random.default_rng(0), problem.objective
    moves = [point.copy() for _ in range(REPEATS + 1)]
    for x in moves:  # the objective keeps its last point: each evaluation needs another one
        x[n + 1 : n + 1 + d] *= 1 + 1e-3 * rng.random(d)
    z, margin, every = problem.places["z"], problem.places["margin"], np.arange(n + 1 + d)
    for name, free in (("z, (u, b) fixed", z), ("u, b and z", every)):
        function = objective.restricted(point, free)
        function.value(moves[-1][free])
        gradient = median(lambda k, f=function, free=free: f.value(moves[k][free]))
        # a value alone: nothing but lambda is free, so that no slope by u or z is formed
        value = median(lambda k: objective.restricted(moves[k], margin).value(np.ones(1)))
        at, step = moves[0][free], 1e-6
        slopes = function.value(at)[1]
        some = rng.choice(len(free), 5, replace=False)
        central = [
            (function.value(at + step * e)[0] - function.value(at - step * e)[0]) / (2 * step)
            for e in np.eye(len(free))[some]
        ]
        rows.append(
            {
                "by": name,
                "variables": len(free),
                "gradient": gradient,
                "value": value,
                "differences": (len(free) + 1) * value,
                "times": (len(free) + 1) * value / gradient,
                "worst": float(np.max(np.abs(np.array(central) - slopes[some])) / max(1.0, np.abs(slopes).max())),
            }
        )
    return {"data": what, "rows": rows}


def tasks(options):
    """Return what is timed; the full-space run comes last."""
    shared, limit = str(options.shared), 600.0 if options.full else 150.0
    chosen = [{"part": "speed", "kind": "derivatives", "size": size, "shared": shared} for size in SIZES]
    for method in ORDER:
        for size in SIZES:
            chosen.append({"part": "speed", "kind": "fit", "method": method, "size": size, "limit": limit})
            chosen[-1]["shared"] = shared
    return chosen


def alone(spec):
    """Measure in a new process, so that the memory is the task's own; return the record."""
    begin = report.load()
    command = [sys.executable, __file__, json.dumps(spec)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=10 * spec.get("limit", 60.0), check=False)
    spec = {name: value for name, value in spec.items() if name != "shared"}
    if run.returncode:
        return spec | {"failed": run.stderr[-500:], "load": begin}
    return spec | json.loads(run.stdout.splitlines()[-1]) | {"load": begin}


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    print(json.dumps(derivatives(asked) if asked["kind"] == "derivatives" else fit_once(asked)))
