"""Random test of the drivers on small two-stage convex models with integers, compared with enumeration.

    python -m benchmarks soak_convex --seed 17      # one model, with all details
    python -m benchmarks soak_convex --from 0 --to 3000 --log /tmp/soak/soak_convex.jsonl   # repeat to continue
    python -m benchmarks soak_convex --table --log /tmp/soak/soak_convex.jsonl

A model is drawn from its seed: one to four integers x, one to three blocks with continuous y, linear rows that couple
them, and by its kind quadratic terms, balls, second-order cones or rotated cones; some columns are free, some models
are maximised, and some are infeasible or unbounded. The truth is the optimum by enumeration of x with Clarabel,
confirmed by SCIP on the whole model; if the two differ, the model is unsure and the drivers are not run. Seeds from
100,000 on have convex functions that are not quadratic, such as exponentials; for these the truth is the optimum of
SCIP if its gap is closed.
A run is wrong if its status, objective or bound contradicts the truth.
"""

from __future__ import annotations

import itertools
import math
import time
from typing import Any

import numpy as np
import pyomo.environ as pyo

import solvers
from benchmarks.harness import seeds
from solvers.model.classes import violation
from solvers.values import fixed

DRIVERS = ["benders", "branch-and-cut", "single-tree", "cutting-plane"]
KINDS = ["linear", "quadratic", "balls", "second-order", "rotated"]
SMOOTH, FIRST_SMOOTH = ["exp", "log-sum-exp", "log", "entropy", "power", "quotient"], 100_000
LIMIT = 20.0  # s for one solve
CLOSE = 2e-5  # relative; the default gap of the drivers is at most 1e-4
GAP = 1e-6
FEASIBLE = 1e-6


def kind_of(seed: int) -> str:
    """Return the kind of the model of a seed."""
    return KINDS[seed % len(KINDS)] if seed < FIRST_SMOOTH else SMOOTH[seed % len(SMOOTH)]


def smooth(kind: str, y: list[Any], rng: np.random.Generator) -> Any:
    """Return a convex function of variables >= 0 that is not quadratic."""
    weights = [float(c) for c in rng.uniform(0.3, 2, len(y))]
    lines = [sum(float(c) * v for c, v in zip(rng.normal(size=len(y)).round(2), y, strict=True)) for _ in range(3)]
    if kind == "exp":
        return sum(pyo.exp(0.5 * line) for line in lines)
    if kind == "log-sum-exp":
        return 2 * pyo.log(sum(pyo.exp(line) for line in lines) + 1)
    shift = 0.5 if rng.random() < 0.3 else 0.0
    powers = rng.choice([1.5, 2.5, 3.0, 4.0], len(y)).tolist()
    terms = {
        "log": lambda c, v, p: c * v - c * pyo.log(v + 0.1),
        "entropy": lambda c, v, p: c * v * pyo.log(v + shift),
        "power": lambda c, v, p: c * v**p,
        "quotient": lambda c, v, p: c * v + c / (v + 0.2),
    }
    return sum(terms[kind](c, v, p) for c, v, p in zip(weights, y, powers, strict=True))


def model_of(seed: int) -> pyo.ConcreteModel:
    """Return the model of a seed."""
    rng = np.random.default_rng(seed)
    kind = kind_of(seed)
    m = pyo.ConcreteModel(name=f"{kind} {seed}")
    count, blocks = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    largest = [1 if count > 2 or rng.random() < 0.6 else int(rng.integers(2, 5)) for _ in range(count)]
    m.x = pyo.Var(range(count), domain=pyo.Integers, bounds=lambda m, k: (0, largest[k]))
    m.rows = pyo.ConstraintList()
    sense = pyo.maximize if rng.random() < 0.4 else pyo.minimize
    cost = sum(float(c) * x for c, x in zip(rng.integers(-3, 5, count), m.x.values(), strict=True))
    if rng.random() < 0.4:
        m.rows.add(sum(m.x.values()) >= int(rng.integers(0, 3)))
    free, unbounded, infeasible = rng.random() < 0.5, bool(rng.random() < 0.15), rng.random() < 0.12
    m.y = pyo.Var(range(blocks), range(int(rng.integers(2, 5))))
    width = len(m.y) // blocks
    for b in range(blocks):
        y = [m.y[b, j] for j in range(width)]
        for v in y:
            low, up = (None, None) if free and rng.random() < 0.7 else (0.0, float(rng.integers(2, 9)))
            low = 0.0 if kind in SMOOTH else low
            v.setlb(low)
            v.setub(up if rng.random() < 0.7 else None)
        center = np.round(rng.normal(0, 1.5, width), 2)
        for _ in range(int(rng.integers(1, 4))):  # rows that a point near the center satisfies for some x
            a, t = np.round(rng.normal(size=width), 2), np.round(rng.normal(size=count), 2)
            slack = float(rng.uniform(-0.3, 1.5))
            body = sum(float(c) * v for c, v in zip(a, y, strict=True))
            shift = sum(float(c) * x for c, x in zip(t, m.x.values(), strict=True))
            m.rows.add(body + shift <= float(a @ np.abs(center)) + slack + 0.5 * float(t.sum()))
        slope = [float(c) for c in np.round(rng.normal(size=width), 2)]
        cost += sum(c * v for c, v in zip(slope, y, strict=True))
        if not unbounded or kind != "linear":  # |y| is in the objective, or bounded by a row
            size = float(rng.uniform(1, 4))
            F = np.round(rng.normal(size=(width, width)), 2) + 0.5 * np.eye(width)
            if unbounded:
                F[:, 0] = 0.0  # except that of the first column
            lines = [sum(float(f) * v for f, v in zip(row, y, strict=True)) for row in F]
            x = m.x[int(rng.integers(count))]
            if kind == "linear":
                for v in y:
                    m.rows.add(v <= size + x)
                    m.rows.add(v >= -size)
            elif kind in SMOOTH:
                m.rows.add(smooth(kind, y, rng) <= float(rng.uniform(2, 12)) * width + 3 * x)
                cost += smooth(kind, y, rng) + sum((v - 1.0) ** 2 for v in y[unbounded:])
            elif kind == "quadratic":
                cost += sum((line - float(c)) ** 2 for line, c in zip(lines, center, strict=True))
            elif kind == "balls":
                m.rows.add(sum(v**2 for v in y[unbounded:]) <= size**2 + 2 * x)
                m.rows.add(sum(line**2 for line in lines) + y[unbounded] <= 4 * size**2)
            else:
                t = pyo.Var(bounds=(0, None))
                m.add_component(f"t{b}", t)
                cost += float(rng.uniform(0.5, 4)) * t
                if kind == "second-order":
                    m.rows.add(sum(line**2 for line in lines) <= (t + x) ** 2)
                else:
                    m.rows.add(sum(line**2 for line in lines) <= t * (x if rng.random() < 0.5 else x + 1))
                    m.rows.add(sum(v**2 for v in y[unbounded:]) <= 30)
                if sum(abs(c) for c in slope) > 1 or rng.random() < 0.5:
                    m.rows.add(t <= 6)
        if infeasible and b == 0:
            m.rows.add(y[0] + y[1] >= 60)
            m.rows.add(y[0] - y[1] <= -1)
            m.rows.add(y[1] <= 12 - sum(m.x.values()))
    m.cost = pyo.Objective(expr=cost if sense == pyo.minimize else -cost, sense=sense)
    return m


def truth_of(model: pyo.ConcreteModel, *, smooth_kind: bool) -> tuple[str, float | None]:
    """Return the status and the optimum by enumeration, "unsure" if SCIP or an unclear choice contradicts it."""
    sign = float(model.cost.sense)
    if smooth_kind:
        whole = solvers.solve(model, "scip", time_limit=LIMIT, gap=GAP)
        closed = whole.gap is not None and whole.gap <= 0.5 * CLOSE
        if closed:
            return "optimal", whole.objective
        return "infeasible" if whole.status.value == "infeasible" else "unsure", None
    found: list[tuple[str, float]] = []
    for choice in itertools.product(*(range(int(v.ub) + 1) for v in model.x.values())):
        with fixed(list(zip(model.x.values(), map(float, choice), strict=True))):
            answer = solvers.solve(model, "clarabel", time_limit=LIMIT)
        status = str(answer.status.value)
        if status not in ("optimal", "infeasible", "unbounded"):
            return "unsure", None
        found.append((status, sign * answer.objective if status == "optimal" else math.inf))
    if any(status == "unbounded" for status, _ in found):
        return "unbounded", None  # SCIP reports an infinite objective in several ways
    best = min(value for _, value in found)
    whole = solvers.solve(model, "scip", time_limit=LIMIT)
    said = str(whole.status.value)
    if best == math.inf:
        return ("infeasible", None) if said == "infeasible" else ("unsure", None)
    if whole.objective is None or abs(sign * whole.objective - best) > 1e-4 * max(1.0, abs(best)):
        return "unsure", None
    return "optimal", sign * best


def run(seed: int, *, verbose: bool = False) -> dict[str, Any]:
    """Return the log entry of a model: the status and optimum by enumeration, and the outcome of each driver."""
    if verbose:
        model_of(seed).pprint()
    line: dict[str, Any] = {"seed": seed, "kind": kind_of(seed), "runs": {}}
    try:
        line["truth"], line["optimum"] = truth_of(model_of(seed), smooth_kind=seed >= FIRST_SMOOTH)
    except solvers.SolverError as error:
        line["truth"], line["why"] = "unsure", str(error)
    if line["truth"] == "unsure":
        return line
    for driver in DRIVERS:
        model, start = model_of(seed), time.process_time()
        try:
            result = solvers.solve(model, driver, gap=GAP, time_limit=LIMIT)
        except Exception as error:  # the outcome is the name of the error
            line["runs"][driver] = {"outcome": type(error).__name__, "message": str(error), "wrong": ""}
            continue
        wrong = _wrong(model, result, line["truth"], line["optimum"])
        line["runs"][driver] = {
            "outcome": str(result.status.value),
            "stop": str(result.stop_reason.value),
            "message": result.message,
            "wrong": wrong,
            "violation": violation(model) if result.has_solution else None,
            "seconds": round(time.process_time() - start, 3),
        }
    return line


def _wrong(model: pyo.ConcreteModel, result: Any, truth: str, optimum: float | None) -> str:
    """Return the contradiction between a result and the enumeration; an empty string if there is none."""
    status, sign = str(result.status.value), float(model.cost.sense)
    if status in ("infeasible", "unbounded") and status != truth:
        return f"{status} for {truth}"
    if truth == "infeasible" and result.has_solution:
        return "a point of an infeasible model"
    if truth == "unbounded" and (status == "optimal" or result.bound is not None):
        return f"{status} with bound {result.bound} for unbounded"
    if truth != "optimal" or optimum is None:
        return ""
    slack = CLOSE * max(1.0, abs(optimum))
    if result.bound is not None and sign * (result.bound - optimum) > slack:
        return f"bound {result.bound} beyond {optimum}"
    if status == "optimal" and abs(result.objective - optimum) > slack:
        return f"optimal {result.objective} for {optimum}"
    if result.has_solution and violation(model) <= FEASIBLE and sign * (result.objective - optimum) < -slack:
        return f"objective {result.objective} better than {optimum}"
    return ""


def table(records: list[dict[str, Any]]) -> str:
    """Return the outcomes by truth and driver; models that are unsure are not solved by the drivers."""
    runs = [
        {"truth": record.get("truth"), "driver": driver, **found}
        for record in records
        for driver, found in (record.get("runs") or {"none": {"outcome": "unsure"} | record}).items()
    ]
    return seeds.outcomes(runs, ["truth", "driver"], ["wrong"])


def main():
    seeds.command(__doc__, run, table, last=3000)
