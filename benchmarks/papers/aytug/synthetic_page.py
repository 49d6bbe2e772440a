"""The page ``fsp_paper``: data sets one and two of Aytug 2015."""

import statistics

from benchmarks.harness import differences
from benchmarks.harness.page import NOTHING, Cell, Page
from benchmarks.methods.fsp import ITERATIONS, LAMBDAS, SECONDS
from benchmarks.papers.aytug.records import (
    BINS,
    CHOSEN,
    END,
    GBD,
    TREE,
    difference,
    gap_cell,
    records_of,
    share,
    values,
)
from benchmarks.papers.aytug.tasks import END_TRIPLETS, R2W2_SAMPLES, SETS, entries_of, tasks

PEERS = [TREE, CHOSEN, "RFE", "FSV", "ONSVM", "InfoGain", "R2W2"]
COMMAND = "python -m benchmarks fsp_paper --full --sets"
INNER = {GBD: "0.9966", "RFE": "0.9959", "FSV": "0.9928", "ONSVM": "0.9939"}  # in the paper
WINS = {"RFE": "32 / 23", "FSV": "45 / 39"}
SLIGHT = 0.01  # a smaller difference of the errors is called slight
DIFFERENCE = "{mean:+.4f} ± {se:.4f}"


def sizes(kept, which, *fields):
    """Return the distinct values of some fields, sorted."""
    return sorted({tuple(r[name] for name in fields) for r in kept if r["set"] == which})


def kept_cell(field, form, **where):
    """Return a cell over the chosen classifiers."""
    return Cell("kept", field, form, where)


def page(*logs):
    """Return the page of data sets one and two from their logs."""
    kept, runs = records_of(entries_of(*logs))
    page = Page("fsp_paper", globals(), kept=kept, runs=runs)
    page.part("table 1", 1, 1, f"{COMMAND} one")
    planned = tasks(True, SETS)
    for which in ("one", "two"):
        of = sum(task["set"] == which for task in planned)
        page.part(f"data set {which}", sum(r["set"] == which for r in kept), of, f"{COMMAND} {which}")
    page.facts = {"GBD-M": f"{ITERATIONS} iterations, {SECONDS:g} CPU s for each C", "seed": 0}
    page.values(bins=[([f"{(k - 1) / BINS:g} to {k / BINS:g}"], {"set": "one", "bin": k}) for k in range(1, BINS + 1)])
    page.values(sizes_two=[([M], {"set": "two", "M": M}) for (M,) in sizes(kept, "two", "M")])
    page.values(features=[([n], {"set": "one", "n": n}) for (n,) in sizes(kept, "one", "n")])
    page.values(peers=[([peer], {"set": "one", "method": peer}) for peer in PEERS])
    page.values(r2w2_samples=f"{R2W2_SAMPLES:,}", seconds=f"{SECONDS:g}", lambdas=", ".join(map(str, LAMBDAS)))
    return page.values(kept=kept, runs=runs, **answer(kept, runs))


def span(found):
    """Return the range of some values as text."""
    return f"{min(found):.0f} to {max(found):.0f}" if found else NOTHING


def answer(kept, runs):
    """Return the variables of the answer, which is about data set one."""
    one = {"set": "one"}
    errors = values(kept, "test_error", method=GBD, **one)
    closed = {m: values(runs, "closed", method=m, **one) for m in (GBD, TREE)}
    less = {m: values(kept, "less", method=m, **one) for m in PEERS}
    less |= {
        "sure": values(kept, "less", method=TREE, all_proven=1, **one),
        "two": values(kept, "less", method="RFE", set="two"),
    }
    less["same choice"] = [a - b for a, b in zip(less["RFE"], less[TREE], strict=False)]  # branch-and-cut minus RFE
    tests = {name: differences.difference([100 * x for x in of]) for name, of in less.items()}
    signs = differences.verdicts(tests)
    slightly = "slightly " if less["RFE"] and abs(statistics.fmean(less["RFE"])) < SLIGHT else ""
    return {
        "beside_rfe": differences.in_words(
            {"RFE": signs.get("RFE")}, f"makes {slightly}fewer errors than", f"makes {slightly}more errors than"
        ),
        "shown": {name: "" if signs.get(name) else " (not significant)" for name in less},
        "stopped": share(values(runs, "at_limit", method=GBD, **one)),
        "to_the_end": share(values(runs, "at_iterations", method=GBD, **one)),
        "most": max(values(runs, "iterations", method=GBD, **one), default=0),
        "beside_others": differences.in_words({m: signs.get(m) for m in ("FSV", "ONSVM", "InfoGain", "R2W2")}),
        "power": differences.power_of(tests),
        "triplets": len({r["instance"] for r in kept if r["set"] == "one" and r["method"] == GBD}),
        "error": f"{100 * statistics.fmean(errors):.2f}" if errors else NOTHING,
        "less": {name: difference(of, 2) for name, of in less.items()},
        "pairs": {name: len(of) for name, of in less.items()},
        "ended": {n: share(values(runs, "closed", method=END, n=n, **one)) for n in END_TRIPLETS},
        "end_minutes": span([seconds / 60 for seconds in values(kept, "cpu", method=END, n=50, **one)]),
        "optima": len(closed[TREE]),
        "proven": share(closed[TREE]),
        "closed": share(closed[GBD]),
    }


def by_size(kept):
    """Return the rows of table 2: for each l and n, for each l, and for all."""
    rows, cells = [], sizes(kept, "one", "l", "n")
    for size in sorted({size for size, _ in cells}):
        rows += [([size, n], {"set": "one", "l": size, "n": n}) for other, n in cells if other == size]
        rows.append(([f"**{size}**", "**all**"], {"set": "one", "l": size}))
    return [*rows, (["**Total**", ""], {"set": "one"})]


def beside_gbd():
    """Return the columns of table 2: differences between GBD-M and each other method, absolute and in per cent."""
    columns = [("instances", "test_error", "{n}", {"method": GBD})]
    columns += [("GBD-M TE", "test_error", "{mean:.4f}", {"method": GBD})]
    for peer in PEERS:
        columns.append((f"{peer} Abs", "less", DIFFERENCE, {"method": peer}))
        columns += [("Prcnt", "percent", "{mean:+.0f}", {"method": peer})] if peer not in (TREE, CHOSEN) else []
    return columns


def table_three(page, kept):
    """Return table 3: overlap with the true features."""
    methods = [GBD, *PEERS]

    def row(*head, **where):
        return [*head, *(kept_cell("overlap", "{mean:.2f}", method=m, **where) for m in methods)]

    rows, cells = [], sizes(kept, "one", "n", "l")
    for n in sorted({n for n, _ in cells}):
        rows += [row(n, size, set="one", n=n, l=size) for other, size in cells if other == n]
        rows.append(row(f"**{n}**", "**all**", set="one", n=n))
    for title, field, form in (
        ("exact matches", "exact", "{total:.0f} ({n})"), ("inner product", "inner", "{mean:.4f} ± {se:.4f}"),
        ("features", "features", "{mean:.1f}"),
    ):  # fmt: skip
        rows.append([f"**{title}**", "**all**", *(kept_cell(field, form, set="one", method=m) for m in methods)])
    rows.append(["inner product", "paper", *(INNER.get(m, NOTHING) for m in methods)])
    return page.table(["n", "l", *methods], rows)


def figure_three(page, kept):
    """Return figure 3 as a table."""
    rows, peers = [], ["RFE", "ONSVM"]
    for (M,) in sizes(kept, "two", "M"):
        where, row = {"set": "two", "M": M}, [M]
        for m in (GBD, TREE):
            row.append(kept_cell("cpu", "{mean:.1f}", method=m, **where))
            row.append(Cell("runs", "at_limit", "{mean:.0%}", where | {"method": m}))
        rows.append([*row, *(kept_cell("cpu", "{mean:.1f}", method=m, **where) for m in peers)])
    return page.table(["M", GBD, "censored", TREE, "censored", *peers], rows)


def proofs(page, runs):
    """Return the table of proofs by GBD-M and branch-and-cut."""
    header = ["set", "n", "runs", "GBD-M: closed", "at CPU limit", "at 250", "iterations", "gap"]
    cells = [(which, which, n, GBD) for which in ("one", "two") for (n,) in sizes(runs, which, "n")]
    cells += [("one, no CPU limit", "one", n, END) for n in sorted({run["n"] for run in runs if run["method"] == END})]
    counts = [("closed", "{n}"), *((name, "{mean:.0%}") for name in ("closed", "at_limit", "at_iterations"))]
    rows = []
    for title, which, n, method in cells:
        gbd, tree = ({"set": which, "n": n, "method": name} for name in (method, TREE))
        row = [title, n, *(Cell("runs", field, form, gbd) for field, form in [*counts, ("iterations", "{mean:.0f}")])]
        row.append(gap_cell(runs, "{median:.1%}", **gbd))
        row += [Cell("runs", field, form, tree) for field, form in (("closed", "{mean:.0%}"), ("nodes", "{mean:.0f}"))]
        rows.append([*row, gap_cell(runs, "{median:.2%}", **tree)])
    return page.table([*header, "branch-and-cut: proven", "nodes", "its gap"], rows)
