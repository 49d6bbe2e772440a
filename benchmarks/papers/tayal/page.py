"""The page of ``kernel_tables``: tables 1 to 3 of the paper with our numbers."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from benchmarks.harness.differences import difference, in_words, listed, power_of, verdicts
from benchmarks.harness.page import Cell, Page, summary
from benchmarks.papers.tayal import plan as kernel_plan
from benchmarks.papers.tayal import records as kernel_records
from benchmarks.papers.tayal.tasks import (
    ALPHA,
    ALPHAS,
    DIGITS,
    EFS,
    FILES,
    FULL,
    GMKL,
    GROUPS,
    MARGIN,
    NDCC,
    NDCC_MORE,
    NDCC_RUNS,
    PAPER_FOUR,
    QUASI,
    SIMPLE,
    SPLITS,
    SVM,
    SVM_TRUE,
    TRAIN,
    TRUST,
    UCI_RUNS,
)

NAME = "kernel_tables"
NOT_SHOWN = "AO-EFS is not shown to differ from them"
GRADIENT = "projected gradient"
COARSE_COMMAND = "python -m benchmarks kernel_tables"
COMMAND = f"{COARSE_COMMAND} --full"
PAPER_ONE, PAPER_TWO, PAPER_THREE = json.loads(Path(__file__).with_name("paper.json").read_text("utf-8")).values()
ERROR = "{mean:.1f} ± {se:.1f}"
ONE_SET = (("error", "{mean:.1f}", 100), ("right", ", {mean:.0f}/", 1), ("wrong", "{mean:.0f}", 1))
SAID_FEATURES = " ({mean:.1f})"


def page(log):
    """Return the page."""
    page = Page(NAME, globals(), **kernel_records.of(log.entries()))
    page.key("chosen", "data", "split", "method", "way", "grid", "folds")
    page.key("omegas", "split", "method", "way", "C", "mu")
    page.key("alphas", *kernel_records.OF_ALPHA[:-1])
    counted(page, log)
    tests = {(a, b): difference(apart(page, a, b)) for a, b in PAIRS}
    two_step = [r for r in page.records["ends"] if r["method"] in (SIMPLE, MARGIN)]
    fits, limited = sum(r["fits"] for r in two_step), sum(r["limit"] for r in two_step)
    real = tests_three(page)
    page.values(tests=tests, power=power_of(tests), fits=fits, limited=limited)
    page.values(real=real, real_power=power_of(real), real_signs=significant_in_words(real, "AO-EFS makes", NOT_SHOWN))
    page.values(real_sets=len({data for (data, _), test in real.items() if test}))
    timed = [*NDCC_RUNS, *NDCC_MORE[:2]]
    page.values(
        splits=range(SPLITS),
        by_set=[([m, shown(m, w)], of(NDCC, m, w)) for m, w in NDCC_RUNS],
        ends_by_set=[([data], {"data": data}) for data in dict.fromkeys(r["data"] for r in page.records["ends"])],
        timed=[(name(m, w), "cpu_a_fit", "{mean:.2f}", {"method": m, "way": w}) for m, w in timed],
    )
    return page.values(**of_alpha(page), **answer(page, tests))


def counted(page, book):
    """Set the progress of each part of the page."""
    keys = kernel_plan.KEYS
    done = book.done(*keys)

    def part(name, tasks, command=COMMAND):
        here = sum(tuple(tuple(v) if isinstance(v := t.get(k), list) else v for k in keys) in done for t in tasks)
        page.part(name, here, len(tasks), command)

    every, coarse = (kernel_plan.tasks_of("ndcc", full) for full in (True, False))
    four = [t for t in every if (t["method"], t["way"]) in PAPER_FOUR]
    needed = [t for t in four if t["split"] == 0 or t in coarse]
    part("table 1", needed)
    part("four sets more of table 1 on the paper's grid", [t for t in four if t not in needed])
    part("further rows of table 1", [t for t in every if t not in four])
    page.part("alpha", len(page.records["alphas"]), len(kernel_plan.tasks_of("alpha", False)), COARSE_COMMAND)
    for name, sets in {"table 2": [DIGITS], **{f"table 3, {group}": sets for group, sets in GROUPS.items()}}.items():
        part(name, kernel_plan.tasks_of("uci", True, sets))
        part(f"{name}, coarse grids, threefold", kernel_plan.tasks_of("uci", False, sets), COARSE_COMMAND)


def of(data, method, way=TRUST, grid="coarse", folds=None):
    """Return the condition on the chosen points of a method."""
    where = {"data": data, "method": method, "way": "" if method in (SVM, SVM_TRUE) else way, "grid": grid}
    return where if folds is None else where | {"folds": folds}


def errors(page, method, way=TRUST):
    """Return the test errors of table 1 by set."""
    where = of(NDCC, method, way)
    return {r["split"]: r["error"] for r in chosen(page, where)}


def chosen(page, where):
    """Return the chosen points that match a condition."""
    return [r for r in page.records["chosen"] if all(r[k] == v for k, v in where.items())]


def apart(page, worse, better):
    """Test the difference of two runs in per cent, over the sets on which both have run; the sets are independent."""
    a, b = errors(page, *worse), errors(page, *better)
    return [100 * (a[s] - b[s]) for s in sorted(set(a) & set(b))]


def answer(page, tests):
    """Return the variables of the answer: errors on the sets on which all four methods have run, and Omega."""
    own = Cell("chosen", "omega", "{mean:+.1f} ± {se:.1f}", of(NDCC, EFS), minus=of(NDCC, FULL), pair=("split",))
    own = own.text(page.records)
    by_l_bfgs_b = [(m, QUASI if m in (FULL, EFS) else w) for m, w in PAPER_FOUR]
    ours, how = [sentence(page, runs) for runs in (PAPER_FOUR, by_l_bfgs_b)], {SVM: "an SVM on all features"}
    signs = {run[0]: -sign for (run, other), sign in verdicts(tests).items() if other == (EFS, TRUST)}
    fine = [
        page.say("chosen", "error", "{mean:.1f}", of(NDCC, m, w, "paper") | {"split": 0}, 100) for m, w in PAPER_FOUR
    ]
    paper = float(PAPER_ONE[EFS][0]) - float(PAPER_ONE[FULL][0])
    return {
        "beside": in_words({how.get(m, m): signs.get(m) for m, _ in PAPER_FOUR[:-1]}),
        "theirs": ", ".join(PAPER_ONE[m][1] for m, _ in PAPER_FOUR),
        "trust": ours[0],
        "quasi": ours[1],
        "fine": ", ".join(fine),
        "own": own,
        "paper": f"{paper:+.1f}",
        "gaps": gaps(page),
    }


def of_alpha(page):
    """Return the variables of the table over alpha; the paper has the errors on all and on the relevant features."""
    papers = {SVM: PAPER_ONE[SVM][1], SVM_TRUE: PAPER_ONE[EFS][1]}

    def apart(alpha):
        means = [mean_at(page, alpha, method) for method in papers]
        return sum(abs(mean - float(theirs)) for mean, theirs in zip(means, papers.values(), strict=True))

    measured = [a for a in ALPHAS if all(mean_at(page, a, method) is not None for method in papers)]
    named = {SVM: "all", SVM_TRUE: "relevant"}
    return {
        "papers_rows": [([name], {"method": method}) for method, name in named.items()],
        "papers_errors": {name: papers[method] for method, name in named.items()},
        "alpha": f"{ALPHA:g}",
        "nearest": f"{min(measured, key=apart):g}" if measured else "",
    }


def mean_at(page, alpha, method):
    """Return the mean test error of the SVM at alpha in per cent; None without a run."""
    values = Cell("alphas", "error", "", {"alpha": alpha, "method": method}, 100).values(page.records["alphas"])
    return sum(values) / len(values) if values else None


def sentence(page, runs):
    """Return the errors on the sets on which all runs are finished, and a text on their order."""
    every = [errors(page, *run) for run in runs]
    sets = sorted(set.intersection(*map(set, every)))
    if not sets:
        return "not known yet", "no set is finished"
    form = "{mean:.1f} ± {se:.1f}" if len(sets) > 1 else "{mean:.1f}"
    found = ", ".join(
        f"{run[0]} {form.format(**summary([100 * one[s] for s in sets]))}"
        for run, one in zip(runs, every, strict=True)
        if runs is PAPER_FOUR or run not in PAPER_FOUR  # not repeated in the second list
    )
    gaps = [apart(page, a, b) for a, b in pairwise(runs)]
    held = sum(sum(values) > 0 for values in gaps)
    sure = sum(sign > 0 for sign in verdicts(dict(enumerate(map(difference, gaps)))).values())
    few = f"{sure} significantly" if len(sets) > 2 else "too few sets for a test"
    return found, (
        f"{len(sets)} set{'s' * (len(sets) > 1)}; {held} of 3 differences between consecutive methods have the sign of "
        f"the paper, {few}"
    )


def gaps(page):
    """Return a text on the difference of Omega by both solvers, and whether it exceeds two standard errors."""
    text = []
    for way in (TRUST, QUASI):
        gap = Cell("omegas", "omega", ERROR.replace(":", ":+", 1), {"method": EFS, "way": way}, **beside(way))
        sets = sorted({r["split"] for r in page.records["omegas"]})
        means = [replace(gap, where=gap.where | {"split": s}).values(page.records["omegas"]) for s in sets]
        values = [sum(m) / len(m) for m in means if m]
        if len(values) > 1:
            found = summary(values)
            word = (
                "no different" if abs(found["mean"]) < 2 * found["se"] else "higher" if found["mean"] > 0 else "lower"
            )
            shown = ERROR.replace(":", ":+", 1).format(**found)
            text.append(f"{shown} ({word}) by {'the trust region' if way == TRUST else 'L-BFGS-B'}")
    return " and ".join(text) if text else "not compared yet"


def beside(way):
    """Return the arguments of a cell for Omega of AO-EFS minus that of FULL-FS."""
    return {"minus": {"method": FULL, "way": way}, "pair": ("split", "C", "mu")}


def table_one(page):
    """Return table 1."""
    rows = []
    for method, way in [*NDCC_RUNS, *NDCC_MORE]:
        own = of(NDCC, method, way)
        paper = PAPER_ONE.get(method, ("", "", "")) if way in ("", TRUST) else ("", "", "")
        features = [Cell("chosen", "right", "{mean:.1f}", own), "/", Cell("chosen", "wrong", "{mean:.1f}", own)]
        fine = of(NDCC, method, way, "paper")
        first = fine | {"split": 0}
        one = [Cell("chosen", k, form, first, t) for k, form, t in ONE_SET]
        rows.append(
            [
                method,
                shown(method, way),
                *paper,
                Cell("chosen", "error", "{n}", own),
                Cell("chosen", "omega", "{mean:.1f}", own),
                Cell("chosen", "error", ERROR, own, times=100),
                features if errors(page, method, way) else "–",
                one if chosen(page, first) else "–",
                Cell("chosen", "error", ERROR + ", {n}", fine, times=100),
            ]
        )
    header = ["method", "solved by", "paper: objective", "paper: error", "paper: features", "n", "objective", "error"]
    return page.table([*header, "features", "grid of the paper: set 0", "all sets, n"], rows)


PAIRS = list(pairwise(PAPER_FOUR))
PAIRS += [((SVM, ""), (EFS, TRUST)), ((GMKL, TRUST), (EFS, TRUST))]
PAIRS += [((m, QUASI), (m, TRUST)) for m in (FULL, EFS)] + [((SIMPLE, TRUST), (MARGIN, TRUST))]
PAIRS += [((MARGIN, TRUST), (FULL, TRUST)), ((EFS, TRUST), (SVM_TRUE, ""))]


def pairs(page, tests):
    """Return the table of pairs of methods in the order of table 1."""
    rows, bar, signs = [], {"pair": ("split",), "times": 100}, verdicts(tests)
    for a, b in PAIRS:
        test, sure = tests[a, b], signs.get((a, b))
        gap = Cell("chosen", "error", "{mean:+.1f} ± {se:.1f} ({n})", of(NDCC, *a), minus=of(NDCC, *b), **bar)
        rows.append([f"{name(*a)} minus {name(*b)}", gap, f"{test.p:.3f}{' *' if sure else ''}" if test else "–"])
    return page.table(["pair", "difference", "p"], rows)


def shown(method, way):
    """Return the solver and the start of a method."""
    return way.replace("trust region", GRADIENT).replace("L-BFGS-B", GRADIENT) if method == GMKL else way


def name(method, way):
    """Return the name of a method, with its solver if it is not that of the paper."""
    return method if way in ("", TRUST) else f"{method} by L-BFGS-B"


def omega_table(page):
    """Compare Omega at points that all coarse grids hold."""
    methods, rows = [(m, w) for m, w in NDCC_RUNS if m not in (SVM, SVM_TRUE)], []
    for c in sorted({r["C"] for r in page.records["omegas"]}):
        one = [Cell("omegas", "omega", "{mean:.2f} ({n})", {"method": m, "way": w, "C": c}) for m, w in methods]
        less = [
            Cell("omegas", "omega", "{mean:+.2f} ± {se:.2f} ({n})", {"method": EFS, "way": w, "C": c}, **beside(w))
            for w in (TRUST, QUASI)
        ]
        rows.append([f"2^{c}", *one, *less])
    return page.table(["C", *(name(m, w) for m, w in methods), "AO-EFS minus FULL-FS", "by L-BFGS-B"], rows)


def folds_of(page, data):
    """Return the number of folds of the runs; that of the paper if a run has it."""
    return max((r["folds"] for r in page.records["chosen"] if r["data"] == data), default=3)


def has_run(page, data):
    """Return True if a method has a chosen point on a set."""
    return bool(chosen(page, {"data": data}))


def ours(page, data, method, way):
    """Return error, features and n of a method on a set."""
    own = of(data, method, way, folds=folds_of(page, data))
    if not chosen(page, own):
        return "–"
    cells = [Cell("chosen", "error", ERROR, own, times=100), Cell("chosen", "features", SAID_FEATURES, own)]
    return [*cells, Cell("chosen", "error", ", {n}", own)]


def table_two(page):
    """Return the table of the digits, which replaces table 2."""
    runs = UCI_RUNS if has_run(page, DIGITS) else PAPER_FOUR
    rows = [[name(m, w), PAPER_TWO[m] if w in ("", TRUST) else "", ours(page, DIGITS, m, w)] for m, w in runs]
    return page.table(["method", "paper, faces", "ours, digits"], rows)


def tests_three(page):
    """Return the tests of AO-EFS minus each other method of the paper on the digits and the sets of table 3."""
    keys = [(data, method, way) for data in (DIGITS, *FILES) for method, way in PAPER_FOUR[:-1]]
    values = {key: gap(*key).values(page.records["chosen"]) for key in keys}
    return {(data, m): difference(values[data, m, w], 1 / TRAIN[data] - 1) for data, m, w in keys}


def gap(data, method, way):
    """Return the cell of the difference of AO-EFS to another method over the divisions of a set."""
    own, other = of(data, EFS), of(data, method, way)
    return Cell("chosen", "error", "{mean:+.1f}", own, 100, minus=other, pair=("split",))


def significant_in_words(tests, subject, neither):
    """Return a clause with the significant differences of ``tests``, (set, method) -> difference."""
    words = {-1: "fewer errors than", 1: "more errors than"}
    found = [f"{words[sign]} {m} on {data}" for (data, m), sign in verdicts(tests).items() if sign]
    return f"{subject} {listed(found)}" if found else neither


def differences_three(page, tests):
    """Return the table of the differences of AO-EFS to the other methods of the paper."""
    signs = verdicts(tests)
    rows = []
    for data in dict.fromkeys(data for (data, _), test in tests.items() if test):
        row = [data]
        for method, way in PAPER_FOUR[:-1]:
            test, sure = tests[data, method], " *" if signs.get((data, method)) else ""
            row.append([gap(data, method, way), f" ± {test.se:.1f}{sure} ({test.n})"] if test else "–")
        rows.append(row)
    return page.table(["AO-EFS minus", *(m for m, _ in PAPER_FOUR[:-1])], rows)


def table_three(page):
    """Return table 3."""
    rows = []
    for data in FILES:
        rows.append([data, "paper", *PAPER_THREE[data], ""])
        if has_run(page, data):
            rows.append(["", "ours", *(ours(page, data, m, w) for m, w in [*PAPER_FOUR, (EFS, QUASI)])])
    return page.table(["set", "", *(m for m, _ in PAPER_FOUR), "AO-EFS by L-BFGS-B"], rows)
