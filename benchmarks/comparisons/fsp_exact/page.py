"""The page of ``fsp_exact.py``, and its instances."""

import dataclasses
import math

from benchmarks.harness.page import Cell, Page

NAME, PROTOCOL = "fsp_exact", 1
GAP, ROUNDING = 1e-4, 1e-6
SEEDS, HEURISTIC_LIMIT = (0, 1, 2), 600.0
OURS, LAZY, SCIP, RFE = "ours", "Gurobi lazy", "SCIP", "RFE"
EXACT, HEURISTICS = (OURS, "multi-tree", SCIP, LAZY), (RFE, "l1")
TASK = ("group", "samples", "n", "M", "C", "limit", "form", "seed", "contender", "protocol")
INSTANCE = TASK[:7]


@dataclasses.dataclass(frozen=True)
class Instance:
    """Sizes, price, seconds."""

    group: int
    samples: int
    n: int
    M: int
    C: float
    limit: float
    form: str = "perspective"

    @property
    def contenders(self):
        """Who is tried on it."""
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
    """Return the key of a run."""
    return dataclasses.asdict(instance) | {"seed": seed, "contender": contender, "protocol": PROTOCOL}


# ---- what the runs say


def judged(entries):
    """Return the runs with incumbent, gap and errors, relative to the best known values."""
    runs, best = [], {}
    for entry in entries:
        values = [entry[name] for name in ("value", "refit") if entry.get(name) is not None]
        found = min(values) if values and entry["features"] <= entry["M"] else None
        problem = tuple(entry[name] for name in ("samples", "n", "M", "C", "seed"))
        runs.append((entry, found, problem))
        if found is not None:
            best[problem] = min(best.get(problem, math.inf), found)
    ours = {}
    judged = [verdict(entry, found, best.get(problem)) for entry, found, problem in runs]
    for run in judged:
        if run["contender"] == OURS:
            ours[place(run)] = run
    for run in judged:
        own = ours.get(place(run))
        run["ratio"] = own["charged"] / run["charged"] if own and run["contender"] in EXACT else None
    return judged


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


def write(log):
    """Write the page from the log."""
    runs = judged(log.entries(*TASK))
    title = "Exact feature selection for the linear SVM, compared with SCIP, Gurobi and heuristics"
    told = Page(NAME, title, runs=runs)
    told.key("runs", *TASK[:-1])
    told.answer(answer(told, runs))
    there = {(*place(run), run["contender"]) for run in runs}
    for group in sorted({instance.group for instance in INSTANCES}):
        planned = [task(i, seed, c) for i in INSTANCES if i.group == group for seed in SEEDS for c in i.contenders]
        done = sum((*place(spec), spec["contender"]) in there for spec in planned)
        size = next(i.n for i in INSTANCES if i.group == group)
        told.part(f"n = {size:,}", done, len(planned), f"python -m benchmarks {NAME} --full")
    groups(told, runs)
    instances(told, runs)
    protocol(told)
    told.write({})


def answer(told, runs):
    """Return the result in words."""

    def say(value, form, **where):
        return told.say("runs", value, form, where)

    form = "{gmean:.2f} ({least:.2f} to {most:.1f}, {n} runs)"
    sizes = sorted({run["n"] for run in runs if run["contender"] == LAZY})
    lazy = ", ".join(f"{say('ratio', form, contender=LAZY, n=n)} at n = {n}" for n in sizes)
    scip = say("ratio", form, contender=SCIP)
    wrong = sum(run["wrong"] for run in runs)
    left = {n: say("gap", "{most:.1%}", contender=OURS, n=n) for n in sorted({run["n"] for run in runs})}
    left = {n: gap for n, gap in left.items() if any(r["n"] == n and r["proven"] is False for r in ours_of(runs))}
    return (
        f"Branch-and-cut proves {say('proven', '{total:.0f} of {n}', contender=OURS)} runs within their limits (all "
        f"with up to {largest_proven(runs)} features), Gurobi with the same cuts "
        f"{say('proven', '{total:.0f} of {n}', contender=LAZY)}, SCIP on the whole model "
        f"{say('proven', '{total:.0f} of {n}', contender=SCIP)}. Its widest gaps are "
        f"{', '.join(f'{gap} at n = {n:,}' for n, gap in left.items()) or 'none'}. The ratio of its time to Gurobi's "
        f"is {lazy}, to SCIP's {scip}: geometric mean, minimum and maximum, an open run with its limit. "
        f"{wrong or 'No'} bounds are wrong."
    )


def ours_of(runs):
    """Return our runs."""
    return [run for run in runs if run["contender"] == OURS]


def largest_proven(runs):
    """Return the largest n up to which all of our runs are proven."""
    open_sizes = [run["n"] for run in ours_of(runs) if not run["proven"]]
    return max(run["n"] for run in runs if run["n"] < min(open_sizes, default=math.inf))


def groups(told, runs):
    """Add the table of sizes and contenders."""
    told.section(
        "By size",
        "Geometric means. An open run is counted with its limit. A gap is counted as at least 0.01%, and as 100% "
        "without a bound or incumbent. *Ours / its* is the ratio of our time to that of the other method for each run. "
        "*Above* is the distance of the incumbent above the best known objective, mean and maximum.",
    )
    forms = {
        "proven": "{total:.0f} of {n}", "charged": "{gmean:.3g}", "ratio": "{gmean:.3g}", "floored gap": "{gmean:.2%}",
        "above": "{mean:.2%}, {most:.1%}", "memory": "{most:.0f}", "wrong": "{total:.0f}",
    }  # fmt: skip
    rows = []
    for n in sorted({run["n"] for run in runs}):
        for name in EXACT + HEURISTICS:
            of = [run for run in runs if run["n"] == n and run["contender"] == name]
            here = {"n": n, "contender": name}
            if of:
                shown = [
                    "" if all(run[v] is None for run in of) else Cell("runs", v, f, here) for v, f in forms.items()
                ]
                rows.append([n, name, Cell("runs", "charged", "{n}", here), *shown])
    head = ["proven", "mean s", "ours / its", "mean gap", "above", "most MB", "wrong"]
    told.table(["n", "contender", "runs", *head], rows)


def instances(told, runs):
    """Add the table of instances."""
    told.section(
        "By instance",
        "Proven runs, median seconds and the widest gap of each method; median distance of RFE and l1 above the best "
        "known objective. The seconds of an open run are about its limit.",
    )
    rows = []
    for instance in INSTANCES:
        here = dataclasses.asdict(instance)
        if any(run["contender"] == OURS and place(run)[:-1] == tuple(here.values()) for run in runs):
            row = [f"{instance.samples} x {instance.n}", instance.M, f"{instance.C:g}", f"{instance.limit:g}"]
            for name in (OURS, SCIP, LAZY):
                forms = {"proven": "{total:.0f} of {n}", "seconds": "{median:.2f}", "gap": "{most:.2%}"}
                row += [Cell("runs", value, form, here | {"contender": name}) for value, form in forms.items()]
            row += [Cell("runs", "above", "{median:.2%}", here | {"contender": name}) for name in HEURISTICS]
            rows.append(row)
    head = [title for name in (OURS, SCIP, LAZY) for title in (name, "s", "gap")]
    told.table(["samples x features", "M", "C", "limit s", *head, *(f"{name} above" for name in HEURISTICS)], rows)


def protocol(told):
    """Add how it was done."""
    told.section(
        "Protocol",
        "The data are data set one of Aytug 2015, generated by `fs.synthetic`: l rows of unit length in n features, "
        "and labels without noise by a hyperplane with M coefficients uniform on [-1, 1]. M is also the maximum number "
        "of features.",
        '- ours: `fs.solve(model, "branch-and-cut")`; at n = 10,000 with `form="rmp"`, without rows for the samples.\n'
        '- multi-tree: `"benders"`, the algorithm of the paper. SCIP: the perspective form as a whole.\n'
        '- Gurobi lazy: `"single-tree"`, the same cuts as lazy constraints of Gurobi\'s tree, no work at the root.\n'
        '- RFE: the class of scikit-learn with SVC(kernel="linear"), a twentieth of the features per step.\n'
        '- l1: LinearSVC(penalty="l1"), with C by bisection for the largest support of at most M. No bounds.',
        "Each run has its own process with one thread. The limit of wall-clock time and the relative gap of 1e-4 are "
        f"the same for all (heuristics: {HEURISTIC_LIMIT:g} s). For n = 10,000 there are only ours and the heuristics. "
        "Seconds are those of the solve, without building the model, after a warm-up on 40 samples. The same code "
        "evaluates all incumbents from the data: the smaller of the SVM objective of the returned (w, b) and of the "
        "SVM refitted on its support. *Proven*: the method reports optimal, and the gap between its bound and this "
        "incumbent is at most 1e-4. *Wrong*: a bound above the best known objective of the instance, more than M "
        "features, or a reported objective that the returned (w, b) do not attain. Memory is that of the process, with "
        "libraries and data.",
    )
