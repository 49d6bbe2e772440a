"""The page of tables 4 and 5 of Aytug 2015: UCI sets."""

import statistics

from scipy import stats

from benchmarks.harness.page import NOTHING, Cell, Page, summary
from benchmarks.methods.fsp import ITERATIONS, SECONDS

JUDGED = ("better", "worse", "equal")
GBD, TREE = "GBD-M", "FSP-M, branch-and-cut"
METHODS = [TREE, "GBD-lambda", "RFE", "FSV", "ONSVM"]
WINS = {"RFE": "7 / 1", "FSV": "17 / 1", "ONSVM": "11 / 2"}  # the paper's, of 25 sets


def sets_of(kept):
    """Return a record for each set and method: comparison with the mean error of GBD-M."""
    found = []
    for name in sorted({r["name"] for r in kept}):
        for method in METHODS:
            less = [r["less"] for r in kept if r["name"] == name and r["method"] == method and r["less"] is not None]
            if less:
                mean = round(statistics.fmean(less), 9)  # of rounded numbers: no difference is 0
                judged = {"better": int(mean < 0), "worse": int(mean > 0), "equal": int(mean == 0)}
                found.append({"name": name, "method": method, "less": mean, **judged})
    return found


def write_uci(kept, runs, tasks, facts, folder):
    """Write the page."""
    sets = sets_of(kept)
    page = Page("fsp_uci", "Aytug 2015, UCI sets", kept=kept, runs=runs, sets=sets)
    command = "python -m benchmarks fsp_paper --full --sets uci"
    page.part("UCI", len(kept), sum(task["set"] == "uci" for task in tasks), command)
    page.answer(answer(sets, runs))
    names = sorted({(r["n"] * r["l"], r["name"]) for r in kept})
    names = list(dict.fromkeys(name for _, name in names))
    page.section(
        "Table 4: test errors",
        "Values are in per cent, mean over divisions ± standard error (? for one division). The columns after GBD-M "
        "have TE_GBD - TE_x in pairs; a negative value favours GBD-M. M is the number of features of the 1-norm SVM, "
        "for each division. The paper has one division of 25 sets. Our copy does not contain the cells of its table, "
        "nor the names of its sets except Gina, Sylva and Leukemia.",
    )
    rows = [
        [name, *(cell(f, "{mean:.0f}", name, GBD) for f in ("M", "n", "l")), cell("less", "{n}", name, GBD),
         cell("test_error", "{mean:.1f} ± {se:.1f}", name, GBD, 100),
         *(cell("less", "{mean:+.1f} ± {se:.1f}", name, m, 100) for m in METHODS),
         cell("features", "{mean:.0f}", name, "GBD-lambda")]
        for name in names
    ]  # fmt: skip
    page.table(["set", "M", "n", "l", "divisions", "GBD-M TE", *METHODS, "features of GBD-lambda"], rows)
    page.text("Sets on which the mean test error of GBD-M is lower / higher / the same; the paper has 25 sets.")
    rows = [
        [
            m,
            WINS.get(m, NOTHING),
            *(Cell("sets", field, "{total:.0f}", {"method": m}) for field in JUDGED),
        ]
        for m in METHODS
    ]
    page.table(["GBD-M against", "paper", "better", "worse", "equal"], rows)
    page.section(
        "Table 5: run-times",
        "The table has CPU seconds for all eight C, mean over divisions, the share of the runs closed to a relative "
        "gap of 1e-4 within the limit, and the median gap of the others. The seconds of GBD-M, branch-and-cut and "
        f"GBD-lambda are censored: their runs stop after {SECONDS:g} CPU seconds for each C (GBD-M in "
        f"{at_limit(runs, GBD)} of its runs, never at the {ITERATIONS} iterations of the paper; branch-and-cut in "
        f"{at_limit(runs, TREE)}). Our copy does not contain the seconds of the paper.",
    )
    timed = [GBD, TREE, "GBD-lambda", "RFE", "ONSVM"]
    rows = []
    for name in names:
        row = [name, *(cell("cpu", "{mean:.1f}", name, m) for m in timed)]
        for m in (GBD, TREE):
            closed = Cell("runs", "closed", "{mean:.0%}", {"name": name, "method": m})
            row += [closed, gap_cell(runs, "{median:.1%}", name=name, method=m)]
        rows.append(row)
    page.table(["set", *timed, "GBD-M: closed", "gap", "branch-and-cut: proven", "its gap"], rows)
    page.section(
        "Protocol",
        """- Divisions are 60 / 20 / 20, stratified, standardised by the training part. C, limits and the choice are as
  on [data sets one and two](fsp_paper.md#protocol). M is the number of features of the 1-norm SVM whose C is chosen by
  validation.
- GBD-lambda uses lambda from the plain SVM at each C (`fs.baselines.svm_penalty`); the paper tries values by hand.
- Gina (agnostic track) is not available, and of Sylva only the training part. australian, pima, leukemia and sylva are
  not part of this project: `--shared DIR` reads them.""",
    )
    page.section("Speed", "The CPU seconds are those of Table 5, with one thread.")
    page.write(facts, folder)


def at_limit(runs, method):
    """Return the share of the runs of a method that the limit of CPU seconds stopped."""
    return f"{statistics.fmean([r['at_limit'] for r in runs if r['method'] == method] or [0]):.0%}"


def gap_cell(runs, form, **where):
    """Return a cell over the gaps of the runs that are not closed, if there are any."""
    mine = (run for run in runs if all(run[name] == value for name, value in where.items()))
    known = any(run["open_gap"] is not None for run in mine)
    return Cell("runs", "open_gap", form, where) if known else NOTHING


def cell(field, form, name, method, times=1.0):
    """Return a cell over the divisions of a set."""
    return Cell("kept", field, form, {"name": name, "method": method}, times=times)


def answer(sets, runs):
    """Return two sentences."""
    if not sets:
        return "Nothing is known yet. The run has not begun."
    wins = {
        m: [sum(r[f] for r in sets if r["method"] == m) for f in ("better", "worse")] for m in ("RFE", "ONSVM", "FSV")
    }
    tests = {m: stats.binomtest(better, better + worse).pvalue for m, (better, worse) in wins.items() if better + worse}
    told = ", ".join(f"{b} to {w} against {m} (sign test p = {tests.get(m, 1.0):.2g})" for m, (b, w) in wins.items())
    closed = {m: [r["closed"] for r in runs if r["method"] == m] for m in (GBD, TREE)}
    means = {m: f"{statistics.fmean(v):.0%}" if v else NOTHING for m, v in closed.items()}
    every = {r["name"]: r["less"] for r in sets if r["method"] == TREE}
    sure = [n for n in every if all(r["closed"] for r in runs if r["name"] == n and r["method"] == TREE)]
    over_all, over_sure = (difference([every[n] for n in names]) for names in (every, sure))
    return (
        f"On {len({r['name'] for r in sets})} sets, by mean test error, the wins and losses of GBD-M are: {told}. "
        f"Compared with branch-and-cut on the same model its error is {over_all} over all sets, and {over_sure} over "
        f"the {len(sure)} sets for which every optimum of the model is proven. Of the runs, one for each division and "
        f"C, branch-and-cut proves {means[TREE]} and GBD-M closes {means[GBD]} in the same CPU seconds."
    )


def difference(less, decimals=1):
    """Return the mean of differences in points, in words, with its standard error."""
    if not less:
        return NOTHING
    found = summary([100 * x for x in less])
    size, error = (f"{x:.{decimals}f}" for x in (abs(found["mean"]), found["se"]))
    return f"{size} ± {error} points {'more' if found['mean'] > 0 else 'less'}"
