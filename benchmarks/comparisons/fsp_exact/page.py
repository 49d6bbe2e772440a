"""Instances of ``fsp_exact``, evaluation of its runs, and its page."""

import dataclasses
import math

from benchmarks.harness.differences import listed
from benchmarks.harness.page import Cell, Page, at

NAME, PROTOCOL = "fsp_exact", 1
GAP, ROUNDING = 1e-4, 1e-6
SEEDS, HEURISTIC_LIMIT = (0, 1, 2), 600.0
OURS, LAZY, SCIP, RFE = "ours", "Gurobi lazy", "SCIP", "RFE"
EXACT, HEURISTICS = (OURS, "multi-tree", SCIP, LAZY), (RFE, "l1")
TASK = ("group", "samples", "n", "M", "C", "limit", "form", "seed", "contender", "protocol")
INSTANCE = TASK[:7]


@dataclasses.dataclass(frozen=True)
class Instance:
    """Sizes of an instance, C, limit in seconds and form of the model; a ``group`` has one number n of features."""

    group: int
    samples: int
    n: int
    M: int
    C: float
    limit: float
    form: str = "perspective"

    @property
    def contenders(self):
        """Return the methods that are run on the instance."""
        return EXACT + HEURISTICS if self.group < 5 else (OURS, *HEURISTICS)


INSTANCES = [Instance(1, size, 20, M, C, 30) for size in (500, 1000, 5000) for M in (4, 10) for C in (1, 10, 32)]
INSTANCES += [
    Instance(2, 500, 50, 10, 10, 60),
    Instance(2, 1000, 50, 10, 1, 60),
    Instance(2, 1000, 50, 25, 1, 60),
    Instance(2, 5000, 50, 10, 1, 60),
    Instance(2, 5000, 50, 10, 10, 60),
    Instance(3, 1000, 100, 20, 1, 60),
    Instance(4, 1000, 800, 20, 1, 60),
    Instance(4, 1000, 800, 400, 1, 60),
    Instance(4, 1000, 800, 20, 10, 120),
    Instance(4, 1000, 800, 400, 10, 120),
    Instance(5, 5000, 10_000, 20, 1, 60, form="rmp"),
    Instance(5, 5000, 10_000, 200, 1, 600, form="rmp"),
    Instance(5, 5000, 10_000, 20, 10, 600, form="rmp"),
]


def task(instance, seed, contender):
    """Return the task of a run, which identifies it in the log."""
    return dataclasses.asdict(instance) | {"seed": seed, "contender": contender, "protocol": PROTOCOL}


# ---- evaluation of the runs


def evaluate_runs(entries):
    """Return the records of the runs for the page, evaluated with the best known objectives."""
    runs, best = [], {}
    for entry in entries:
        values = [entry[name] for name in ("value", "refit") if entry.get(name) is not None]
        found = min(values) if values and entry["features"] <= entry["M"] else None
        problem = tuple(entry[name] for name in ("samples", "n", "M", "C", "seed"))
        runs.append((entry, found, problem))
        if found is not None:
            best[problem] = min(best.get(problem, math.inf), found)
    ours = {}
    evaluated = [verdict(entry, found, best.get(problem)) for entry, found, problem in runs]
    for run in evaluated:
        if run["contender"] == OURS:
            ours[place(run)] = run
    for run in evaluated:
        own = ours.get(place(run))
        run["ratio"] = own["charged"] / run["charged"] if own and run["contender"] in EXACT else None
        run["ours"] = own and {name: own[name] for name in ("proven", "charged", "floored gap")}
    return evaluated


def place(run):
    """Return the instance and seed of a run."""
    return tuple(run[name] for name in (*INSTANCE, "seed"))


def verdict(entry, found, best):
    """Return the record of a run for the page."""
    bound, claimed, exact = entry.get("bound"), entry.get("objective"), entry["contender"] in EXACT
    own = entry.get("refit") if entry.get("value") is None else entry["value"]
    wrong = [
        bound is not None and best is not None and bound > best + ROUNDING * abs(best),
        entry.get("features", 0) > entry["M"],
        claimed is not None and own is not None and claimed < own - GAP * abs(own),
    ]
    gap = max(0.0, found - bound) / max(abs(found), 1e-10) if found is not None and bound is not None else 1.0
    proven = entry.get("status") == "optimal" and gap <= GAP + ROUNDING and not any(wrong)
    seconds = entry.get("seconds", entry["wall_seconds"])
    return {name: entry[name] for name in TASK[:-1]} | {
        "wrong": any(wrong),
        "proven": proven if exact else None,
        "seconds": seconds,
        "charged": max(0.01, seconds if proven or not exact else entry["limit"]),
        "gap": gap if exact else None,
        "floored gap": min(1.0, max(GAP, gap)) if exact else None,
        "above": None if found is None else found / best - 1,
        "memory": entry["peak_mb"],
        "overhead": entry.get("overhead"),
        "nodes": entry.get("nodes"),
    }


# ---- the page


def page(log):
    """Return the page."""
    there = evaluate_runs(log.entries(*TASK))
    runs = [run for run in there if run["ours"]]
    page = Page(NAME, globals(), runs=runs)
    page.key("runs", *TASK[:-1])
    alone = len(there) - len(runs)
    there = {(*place(run), run["contender"]) for run in there}
    for group in sorted({instance.group for instance in INSTANCES}):
        planned = [task(i, seed, c) for i in INSTANCES if i.group == group for seed in SEEDS for c in i.contenders]
        done = sum((*place(spec), spec["contender"]) in there for spec in planned)
        size = next(i.n for i in INSTANCES if i.group == group)
        page.part(f"n = {size:,}", done, len(planned), f"python -m benchmarks {NAME} --full")
    most = max(instance.n for instance in INSTANCES)
    page.values(largest_alone={run["contender"] for run in runs if run["n"] == most} <= {OURS})
    return page.values(**answer(page, runs), alone=alone)


def answer(page, runs):
    """Return the variables of the answer: lists by number of features."""
    form = "{gmean:.2f} ({least:.2f} to {most:.1f}, {n} runs)"
    sizes = sorted({run["n"] for run in runs if run["contender"] == LAZY})
    lazy = ", ".join(f"{page.number('ratio', form, contender=LAZY, n=n)} at n = {n}" for n in sizes)
    ours = [run for run in runs if run["contender"] == OURS]
    open_sizes = sorted({run["n"] for run in ours if not run["proven"]})
    gaps = [f"{page.number('gap', '{most:.1%}', contender=OURS, n=n)} at n = {n:,}" for n in open_sizes]
    largest = max(run["n"] for run in runs if run["n"] < min(open_sizes, default=math.inf))
    sizes = listed([f"n = {n}" for n in sorted({run["n"] for run in runs if run["contender"] == SCIP})])
    return {
        "lazy": lazy, "scip": page.number("ratio", form, contender=SCIP), "scip_sizes": sizes,
        "gaps": ", ".join(gaps) or "none", "largest": largest, "wrong": sum(run["wrong"] for run in runs),
    }  # fmt: skip


def by_size(page):
    """Return the table of sizes and contenders."""
    runs = page.records["runs"]
    forms = {
        "proven": "{total:.0f}", "ours.proven": "{total:.0f}", "charged": "{gmean:.3g}", "ours.charged": "{gmean:.3g}",
        "floored gap": "{gmean:.2%}", "ours.floored gap": "{gmean:.2%}", "above": "{mean:.2%}, {most:.1%}",
        "memory": "{most:.0f}", "wrong": "{total:.0f}",
    }  # fmt: skip
    rows = []
    for n in sorted({run["n"] for run in runs}):
        for name in EXACT + HEURISTICS:
            of = [run for run in runs if run["n"] == n and run["contender"] == name]
            here = {"n": n, "contender": name}
            if of:
                empty = {value for value in forms if at(of[0], value.removeprefix("ours.")) is None}
                empty |= {value for value in forms if name == OURS and value.startswith("ours.")}
                shown = ["" if v in empty else Cell("runs", v, form, here) for v, form in forms.items()]
                rows.append([n, name, Cell("runs", "charged", "{n}", here), *shown])
    head = ["proven", "ours", "mean s", "ours", "mean gap", "ours", "above", "most MB", "wrong"]
    return page.table(["n", "contender", "runs", *head], rows)


def instances(page):
    """Return texts and fields of the instances on which branch-and-cut was run."""
    there = {place(run)[:-1] for run in page.records["runs"] if run["contender"] == OURS}
    return [
        ([f"{i.samples} x {i.n}", i.M, f"{i.C:g}", f"{i.limit:g}"], dataclasses.asdict(i))
        for i in INSTANCES
        if dataclasses.astuple(i) in there
    ]
