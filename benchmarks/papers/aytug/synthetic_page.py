"""The pages of Aytug 2015, drawn from the entries of the logs of ``fsp_paper``: ``fsp_paper`` and ``fsp_uci``."""

import statistics

from benchmarks.harness.log import RESULTS
from benchmarks.harness.page import NOTHING, Cell, Page
from benchmarks.methods.fsp import CPU_LIMIT, ITERATIONS, LAMBDAS, SECONDS
from benchmarks.papers.aytug.uci_page import GBD, TREE, difference, gap_cell, write_uci

CALLED = {"FSP-M, proven": TREE}  # in the log: what is proven of it, each table says
PEERS = [TREE, "RFE", "FSV", "ONSVM", "InfoGain"]
COMMAND = "python -m benchmarks fsp_paper --full --sets"
INNER = {GBD: "0.9966", "RFE": "0.9959", "FSV": "0.9928", "ONSVM": "0.9939"}  # the paper's
WINS = {"RFE": "32 / 23", "FSV": "45 / 39"}
DIFFERENCE = "{mean:+.4f} ± {se:.4f}"
BINS = 5
JUDGED = ("better", "worse", "equal")


def records_of(entries):
    """Return a record for each instance and method, with the excess test error of GBD-M, and one for each tree."""
    base = {entry["instance"]: entry["chosen"]["test_error"] for entry in entries if entry["method"] == GBD}
    kept, runs = [], []
    for entry in entries:
        size = {name: entry.get(name) for name in ("set", "name", "instance", "k", "n", "l", "M")}
        size["method"] = CALLED.get(entry["method"], entry["method"])
        best, gbd = entry["chosen"], base.get(entry["instance"])
        less = None if gbd is None else round(gbd - best["test_error"], 10)
        record = size | {name: best.get(name) for name in ("test_error", "features", "overlap", "inner")}
        record |= {"cpu": entry["cpu"], "less": less, "percent": 100 * less / gbd if gbd and less is not None else None}
        record |= {"bin": max(1, -(-BINS * entry["M"] // entry["n"])), "C": best["value"]}
        record |= {"exact": None if best.get("overlap") is None else int(best["overlap"] == entry["n"])}
        proven = [run["proven"] for run in entry["runs"] if "proven" in run]
        record["all_proven"] = int(all(proven)) if proven else None
        if less is not None:
            record |= {"better": int(less < 0), "worse": int(less > 0), "equal": int(less == 0)}
        kept.append(record)
        for run in entry["runs"]:
            if "stop" not in run:
                break
            closed = run["proven"] if "proven" in run else run["stop"] == "converged"
            told = {"C": run["value"], "closed": int(closed), "open_gap": None if closed else run["gap"]}
            told |= {
                "at_limit": int(run["stop"] == CPU_LIMIT),
                "at_iterations": int(run["stop"] == "iteration_limit"),
            }
            runs.append(
                size | told | {"iterations": run.get("iterations"), "nodes": run.get("nodes"), "cpu": run["cpu"]}
            )
    return kept, runs


def values(records, field, **where):
    """Return the values of a field of the records that match."""
    found = (r[field] for r in records if all(r[name] == value for name, value in where.items()))
    return [value for value in found if value is not None]


def sizes(kept, which, *fields):
    """Return the values of fields that occur, in order."""
    return sorted({tuple(r[name] for name in fields) for r in kept if r["set"] == which})


def kept_cell(field, form, **where):
    """Return a cell over the classifiers kept."""
    return Cell("kept", field, form, where)


def answer(page, kept, runs):
    """Write the result in two sentences."""
    done = len({r["instance"] for r in kept if r["set"] == "one" and r["method"] == GBD})
    one = {"set": "one"}
    errors = {m: values(kept, "test_error", method=m, **one) for m in (GBD, TREE, "RFE")}
    closed = {m: values(runs, "closed", method=m, **one) for m in (GBD, TREE)}
    if not all(errors.values()):
        return page.answer("Nothing is known yet.")
    less = {m: difference(values(kept, "less", method=m, **one), 2) for m in (TREE, "RFE")}
    sure = values(kept, "less", method=TREE, all_proven=1, **one)
    page.answer(
        f"GBD-M, {censored([r for r in runs if r['set'] == 'one'])}, has an error of "
        f"{100 * statistics.fmean(errors[GBD]):.2f}% on new samples over {done} triplets of data set one. In pairs "
        f"this is {less['RFE']} than RFE and {less[TREE]} than branch-and-cut on the same model "
        f"({difference(sure, 2)} on the {len(sure)} triplets for which all optima of that model are proven). Within "
        f"the limit branch-and-cut proves {statistics.fmean(closed[TREE]):.0%} of {len(closed[TREE])} optima and GBD-M "
        f"{statistics.fmean(closed[GBD]):.0%}."
    )


def table_two(page, kept):
    """Test errors by size."""
    page.section(
        "Table 2: test errors, data set one",
        "TE is the mean test error. Abs is the mean of TE_GBD - TE_x in pairs over instances ± standard error. Prcnt "
        "is the mean of 100 (TE_GBD - TE_x) / TE_GBD if TE_GBD > 0. A negative value favours GBD-M. Our copy of the "
        "paper does not contain the cells of this table. According to its text, GBD-M is better overall; it is "
        "slightly worse than RFE, FSV and ONSVM for large l, and never worse, more often better, for large n. The text "
        "also has the wins and losses below.",
    )
    header = ["l", "n", "instances", "GBD-M TE"]
    for peer in PEERS:
        header += [f"{peer} Abs", *([] if peer == TREE else ["Prcnt"])]
    rows = []

    def add(*head, **where):
        row = [*head, kept_cell("test_error", "{n}", method=GBD, **where)]
        row.append(kept_cell("test_error", "{mean:.4f}", method=GBD, **where))
        for peer in PEERS:
            row.append(kept_cell("less", DIFFERENCE, method=peer, **where))
            if peer != TREE:
                row.append(kept_cell("percent", "{mean:+.0f}", method=peer, **where))
        rows.append(row)

    cells = sizes(kept, "one", "l", "n")
    for size in sorted({size for size, _ in cells}):
        for n in [n for other, n in cells if other == size]:
            add(size, n, set="one", l=size, n=n)
        add(f"**{size}**", "**all**", set="one", l=size)
    add("**Total**", "", set="one")
    page.table(header, rows)
    page.text(
        "Wins and losses: instances for which the test error of GBD-M is lower / higher; those of the paper are of 90."
    )
    form = "{total:.0f}"
    rows = [
        [
            peer,
            WINS.get(peer, NOTHING),
            *(kept_cell(field, form, set="one", method=peer) for field in JUDGED),
        ]
        for peer in PEERS
    ]
    page.table(["GBD-M against", "paper", "better", "worse", "equal"], rows)


def table_three(page, kept):
    """Overlap with the true features."""
    methods = [GBD, *PEERS]
    page.section(
        "Table 3: overlap with the true features, data set one",
        "The table has the mean overlap (n minus the Hamming distance between supports). Below are the number of exact "
        "matches and the mean inner product of the normalised w with the true one, also that of the paper. The paper "
        "has the matches for each n and l, but our copy does not contain these cells.",
    )

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
    page.table(["n", "l", *methods], rows)


def figures(page, kept):
    """Figures 1 to 3 as tables."""
    page.section(
        "Figure 1: TE_GBD - TE_x by M/n, data set one",
        "A negative value favours GBD-M. A bin contains its upper end.",
    )
    rows = [
        [f"{(k - 1) / BINS:g} to {k / BINS:g}", kept_cell("test_error", "{n}", set="one", method=GBD, bin=k)]
        + [kept_cell("less", DIFFERENCE, set="one", method=peer, bin=k) for peer in PEERS]
        for k in range(1, BINS + 1)
    ]
    page.table(["M/n", "instances", *PEERS], rows)
    relevant = [M for (M,) in sizes(kept, "two", "M")]
    peers = [TREE, "RFE", "ONSVM"]
    page.section(
        "Figure 2: test errors by M, data set two",
        "TE_GBD - TE_x for n = 800, l = 1000; a negative value favours GBD-M. In the paper GBD-M is better than RFE "
        "almost everywhere except at M = 20.",
    )
    rows = [
        [M, kept_cell("test_error", "{n}", set="two", method=GBD, M=M),
         kept_cell("test_error", "{mean:.4f}", set="two", method=GBD, M=M),
         *(kept_cell("less", DIFFERENCE, set="two", method=peer, M=M) for peer in peers)]
        for M in relevant
    ]  # fmt: skip
    page.table(["M", "instances", "GBD-M TE", *peers], rows)
    page.section(
        "Figure 3: CPU seconds by M, data set two",
        f"CPU seconds for all eight C. The seconds of GBD-M and branch-and-cut are censored: their runs stop after "
        f"{SECONDS:g} CPU seconds for each C, and the columns *censored* have the share of the runs that ended there. "
        "In the paper GBD-M takes the longest at M = 400, which these seconds can neither confirm nor contradict.",
    )
    rows = []
    for M in relevant:
        where, row = {"set": "two", "M": M}, [M]
        for m in (GBD, TREE):
            row.append(kept_cell("cpu", "{mean:.1f}", method=m, **where))
            row.append(Cell("runs", "at_limit", "{mean:.0%}", where | {"method": m}))
        rows.append([*row, *(kept_cell("cpu", "{mean:.1f}", method=m, **where) for m in peers[1:])])
    page.table(["M", GBD, "censored", TREE, "censored", *peers[1:]], rows)


def censored(runs):
    """Return how the runs of GBD-M ended, compared with the limit of the paper."""
    ours = [r for r in runs if r["method"] == GBD]
    at_limit, at_paper = (statistics.fmean(r[field] for r in ours) for field in ("at_limit", "at_iterations"))
    return (
        f"stopped after {SECONDS:g} CPU seconds for each C in {at_limit:.0%} of its runs and after the {ITERATIONS} "
        f"iterations of the paper in {at_paper:.0%} (at most {max(r['iterations'] for r in ours)} were made)"
    )


def proofs(page, runs):
    """Add the proofs of the trees."""
    page.section(
        "What is proven",
        "There is one run for each instance and C. *Closed* means a relative gap of 1e-4. *Gap* is the median gap "
        "between the best objective and the proven bound of the other runs. In the paper about half of the problems "
        "with n = 20 converged within 250 iterations, and very few with n > 20.",
    )
    header = ["set", "n", "runs", "GBD-M: closed", "at CPU limit", "at 250", "iterations", "gap"]
    rows = []
    for which in ("one", "two"):
        for (n,) in sizes(runs, which, "n"):
            here = {"set": which, "n": n}
            shares = [("closed", GBD), ("at_limit", GBD), ("at_iterations", GBD)]
            row = [which, n, Cell("runs", "closed", "{n}", {**here, "method": GBD})]
            row += [Cell("runs", field, "{mean:.0%}", {**here, "method": m}) for field, m in shares]
            row.append(Cell("runs", "iterations", "{mean:.0f}", {**here, "method": GBD}))
            row.append(gap_cell(runs, "{median:.1%}", **here, method=GBD))
            row.append(Cell("runs", "closed", "{mean:.0%}", {**here, "method": TREE}))
            row.append(Cell("runs", "nodes", "{mean:.0f}", {**here, "method": TREE}))
            row.append(gap_cell(runs, "{median:.2%}", **here, method=TREE))
            rows.append(row)
    page.table([*header, "branch-and-cut: proven", "nodes", "its gap"], rows)


def write(entries, tasks, folder=RESULTS):
    """Write both pages."""
    kept, runs = records_of([e for e in entries if e["set"] != "uci"])
    page = Page("fsp_paper", "Aytug 2015, data sets one and two", kept=kept, runs=runs)
    answer(page, kept, runs)
    page.part("table 1", 1, 1, f"{COMMAND} one")
    for which in ("one", "two"):
        of = sum(task["set"] == which for task in tasks)
        page.part(f"data set {which}", sum(r["set"] == which for r in kept), of, f"{COMMAND} {which}")
    table_two(page, kept)
    table_three(page, kept)
    figures(page, kept)
    proofs(page, runs)
    page.section(
        "Table 1: the algorithm",
        "The algorithm is the driver `benders` on `fs.fsp.fsp_m`: [the formulation](../../docs/formulations/fsp.md).",
    )
    protocol(page)
    page.section("Speed", "CPU seconds of all eight values of the parameter, one thread, data set one.")
    rows = [
        [n, *(kept_cell("cpu", "{mean:.1f}", set="one", n=n, method=m) for m in [GBD, *PEERS])]
        for (n,) in sizes(kept, "one", "n")
    ]
    page.table(["n", GBD, *PEERS], rows)
    facts = {"GBD-M": f"{ITERATIONS} iterations, {SECONDS:g} CPU s for each C", "seed": 0}
    page.write(facts, folder, logs=("fsp_one", "fsp_two"))
    write_uci(*records_of([e for e in entries if e["set"] == "uci"]), tasks, facts, folder)


def protocol(page):
    """Write the protocol, and differences to the paper."""
    page.section(
        "Protocol",
        f"""- The data are triplets of `fs.synthetic` (which documents the choices that the paper does not specify).
  Each method is run at C = 2^-2 ... 2^5, FSV at lambda = {", ".join(map(str, LAMBDAS))}. The classifier
  with the smallest validation error is kept (among equals that with the smallest parameter); test errors are not used
  for any choice. All methods except FSV and ONSVM are given M; the paper states only of ONSVM that this is impossible.
- GBD-M keeps the smallest validation error over its iterations, at most {ITERATIONS} iterations. Our runs also have at
  most {SECONDS:g} CPU seconds for each C, because those of the paper took minutes on small problems and hours on large
  ones ("What is proven" has the number of runs that end there). HiGHS solves the masters; the paper has CPLEX 10.2.
- FSP-M, branch-and-cut: the same model in as many CPU seconds. It continues from the cuts and the tree of the previous
  C; GBD-M starts again. It has one classifier at each C, that with its smallest objective, proven or not; GBD-M
  chooses among all its iterates.
- RFE removes one feature at a time. Each SVM starts from the previous one and is proven to 1e-7, instead of by CPLEX.
  ONSVM is one linear program over all C, solved as its dual. FSV has one start, then the robust LP on its selection.
  The paper saw no difference between its lambdas and reports lambda = 1, at which the objective of Bradley et al. has
  no error term. InfoGain is WEKA's filter, then a linear SVM (the paper does not state the classifier).
- A weight counts if it is above 1e-6 of the largest.""",
    )
