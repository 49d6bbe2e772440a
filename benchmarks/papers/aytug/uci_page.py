"""The page of tables 4 and 5 of Aytug 2015: UCI sets."""

import statistics

from scipy import stats

from benchmarks.harness.differences import LEVEL, in_words
from benchmarks.harness.page import Cell, Page
from benchmarks.harness.ranks import holm
from benchmarks.methods.fsp import ITERATIONS, SECONDS
from benchmarks.papers.aytug.records import GBD, TREE, difference, gap_cell, records_of, share, values
from benchmarks.papers.aytug.tasks import entries_of, tasks

METHODS = [TREE, "GBD-lambda", "RFE", "FSV", "ONSVM"]
WINS = {"RFE": "7 / 1", "FSV": "17 / 1", "ONSVM": "11 / 2"}  # in the paper, of 25 sets


def sets_of(kept):
    """Return a record for each set and method, which compares its mean error with that of GBD-M."""
    found = []
    for name in sorted({r["name"] for r in kept}):
        for method in METHODS:
            if less := values(kept, "less", name=name, method=method):
                mean = round(statistics.fmean(less), 9)  # rounded, so that a tie is exactly 0
                outcome = {"better": int(mean < 0), "worse": int(mean > 0), "equal": int(mean == 0)}
                found.append({"name": name, "method": method, "less": mean, **outcome})
    return found


def page(log):
    """Return the page."""
    kept, runs = records_of(entries_of(log))
    sets = sets_of(kept)
    page = Page("fsp_uci", globals(), kept=kept, runs=runs, sets=sets)
    page.part("UCI", len(kept), len(tasks(True, ["uci"])), "python -m benchmarks fsp_paper --full --sets uci")
    page.facts = {"GBD-M": f"{ITERATIONS} iterations, {SECONDS:g} CPU s for each C", "seed": 0}
    names = list(dict.fromkeys(name for _, name in sorted({(r["n"] * r["l"], r["name"]) for r in kept})))
    rows = [([name], {"name": name}) for name in names]
    methods = [([method], {"method": method}) for method in METHODS]
    at_limit = {method: share(values(runs, "at_limit", method=method)) for method in (GBD, TREE)}
    page.values(names=names, rows=rows, methods=methods, seconds=f"{SECONDS:g}", at_limit=at_limit)
    return page.values(**answer(sets, runs))


def table_five(page, names):
    """Return table 5."""
    timed, runs = [GBD, TREE, "GBD-lambda", "RFE", "ONSVM"], page.records["runs"]
    rows = []
    for name in names:
        row = [name, *(Cell("kept", "cpu", "{mean:.1f}", {"name": name, "method": m}) for m in timed)]
        for m in (GBD, TREE):
            closed = Cell("runs", "closed", "{mean:.0%}", {"name": name, "method": m})
            row += [closed, gap_cell(runs, "{median:.1%}", name=name, method=m)]
        rows.append(row)
    return page.table(["set", *timed, "GBD-M: closed", "gap", "branch-and-cut: proven", "its gap"], rows)


def answer(sets, runs):
    """Return the values of the answer."""
    wins = {
        m: [sum(r[f] for r in sets if r["method"] == m) for f in ("better", "worse")] for m in ("RFE", "ONSVM", "FSV")
    }
    tests = {m: stats.binomtest(better, better + worse).pvalue for m, (better, worse) in wins.items() if better + worse}
    holms = dict(zip(tests, holm([*tests.values()]), strict=True))
    signs = {m: (w - b > 0) - (w - b < 0) if holms.get(m, 1.0) < LEVEL else 0 for m, (b, w) in wins.items()}
    against = ", ".join(f"{b} and {w} against {m} (paper: {WINS[m]})" for m, (b, w) in wins.items())
    ps = ", ".join(f"{p:.2g} against {m}" for m, p in tests.items())
    closed = {m: share(values(runs, "closed", method=m)) for m in (GBD, TREE)}
    every = {r["name"]: r["less"] for r in sets if r["method"] == TREE}
    sure = [n for n in every if all(values(runs, "closed", name=n, method=TREE))]
    over_all, over_sure = (difference([every[n] for n in names]) for names in (every, sure))
    return {
        "number": len({r["name"] for r in sets}),
        "beside": in_words(signs),
        "against": against,
        "ps": ps,
        "over_all": over_all,
        "over_sure": over_sure,
        "sure": len(sure),
        "closed": closed,
    }
