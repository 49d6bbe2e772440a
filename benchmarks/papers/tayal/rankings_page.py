"""The page ``kernel_rankings``: figures 5 and 7 to 14 of Tayal, Coleman and Li, from the log of ``kernel_tables``."""

from benchmarks.harness import log
from benchmarks.harness.differences import difference, verdicts
from benchmarks.harness.page import Cell, Page
from benchmarks.papers.tayal import records as kernel_records
from benchmarks.papers.tayal.page import COARSE_COMMAND, COMMAND
from benchmarks.papers.tayal.rankings_picture import draw
from benchmarks.papers.tayal.tasks import EFS, FILES, FILTERS, FULL, GMKL, NDCC, RANKERS, SPLITS

NAME = "kernel_rankings"
FIGURES = {"Sonar": 7, "Ion": 8, "S.A. Heart": 9, "Musk": 10, "Wdbc": 11, "Aust. Credit": 12}
FIGURES |= {"German Credit": 13, "Madelon": 14}
ERROR = "{mean:.1f} ± {se:.1f}, {n}"
METHODS = (*RANKERS, *FILTERS)
LONG, SHORT = (1, 2, 4, 8, 15, 20, 30, 60), (1, 2, 3, 4, 6, 8, 11, 15, 20, 30)
AT = (15, 20)  # where figure 5 is read for the answer: all sets have weights up to 15, 20 features are informative


def write(book, folder=log.RESULTS):
    """Write page and picture from the log."""
    records = kernel_records.rankings(book.entries())
    page = Page(NAME, "Features ranked by weights inside an RBF kernel: Tayal, Coleman and Li", **records)
    page.key("curves", "data", "split", "method", "grid", "k")
    page.key("costs", "data", "split", "method", "grid")
    counted(page)
    page.answer(answer(page))
    if picture := draw(records["curves"], FIGURES, folder / f"{NAME}.png"):
        page.picture(picture, "Figures 5 and 7 to 14: test error by features")
    clusters(page)
    real(page)
    page.section(
        "Protocol",
        "The protocol is that of the paper. An SVM with an RBF kernel is fitted on the k best features of a ranking. "
        "Its C and width are chosen for each k by held-out samples (NDCC: the validation part; otherwise folds of the "
        "training part), on the grid of the paper with 231 points or a coarse one with 30. GMKL, FULL-FS and AO-EFS "
        "rank by the weights at the (C, mu) that [the tables](kernel_tables.md) choose on the same grid, by the trust "
        "region from z = 1. They rank only features whose weights are not 0, so that n decreases with k; if one set of "
        "several is left, its error is not a mean of all. Kernel RFE, mutual information (by nearest neighbours, not "
        "bins) and Relief rank all features. Relief is ReliefF's difference of distances to ten hits and ten misses; "
        "the paper has their ratio for the nearest ones. Test samples are not used for any choice.",
    )
    speed(page)
    page.write({}, folder, logs=["kernel_tables"])


def counted(page):
    """Say how many curves there are: of figure 5 the paper has one set."""
    there = {(r["grid"], r["data"], r["split"], r["method"]) for r in page.records["curves"]}
    every = len(FILTERS) + len(RANKERS)
    ndcc = [(grid, split) for grid, data, split, _ in there if data == NDCC]
    more = sum(grid == "paper" and split > 0 for grid, split in ndcc)
    page.part("figure 5", len(ndcc) - more, every * (SPLITS + 1), COMMAND)
    page.part("four sets more of figure 5 on the paper's grid", more, every * (SPLITS - 1), COMMAND)
    divisions = sum(1 if data == "Madelon" else SPLITS for data in FILES)
    for which, name, command in (("paper", "", COMMAND), ("coarse", ", coarse grids, threefold", COARSE_COMMAND)):
        here = sum(grid == which and data in FILES for grid, data, _, _ in there)
        page.part(f"figures 7 to 14{name}", here, every * divisions, command)


def answer(page):
    """Return two sentences: AO-EFS beside the others in figure 5, and the paper's order."""

    def at(method, k):
        return {"data": NDCC, "grid": "coarse", "method": method, "k": k}

    gaps = {}
    for k in AT:
        for other in (FULL, GMKL, min(FILTERS, key=lambda m: mean(page, at(m, k)))):
            form = "{mean:+.1f} ± {se:.1f} ({n})"
            gaps[k, other] = Cell("curves", "error", form, at(EFS, k), 100, at(other, k), ("split",))
    signs = verdicts({key: difference(gap.values(page.records["curves"])) for key, gap in gaps.items()})
    told = []
    for k in AT:
        here = {other: gap for (at_k, other), gap in gaps.items() if at_k == k}
        sure = [other for other in here if signs.get((k, other)) == -1]
        steps = [f"minus {other} {gap.text(page.records)}" for other, gap in here.items()]
        own = page.say("curves", "error", "{mean:.1f} ± {se:.1f} ({n})", at(EFS, k), 100)
        word = f"significant for {' and '.join(sure)}" if sure else "none significant"
        told.append(f"k = {k}: AO-EFS {own}, {', '.join(steps)}, {word}")
    return (
        "Test error in per cent of an SVM on the k best of 120 features, 20 of which are informative (figure 5; mean ± "
        f"standard error (n sets), differences on the same sets): {'; '.join(told)}. The order of the paper over "
        "figures 5 to 14 is AO-EFS, FULL-FS, GMKL, then the others."
    )


def mean(page, where):
    """Return the mean error of those records; infinity where there is none."""
    values = Cell("curves", "error", "", where).values(page.records["curves"])
    return sum(values) / len(values) if values else float("inf")


def rows_of(page, names, grid, counts):
    """Return the rows of a table, a ranking each."""
    rows = []
    for data, title in names.items():
        here = [r for r in page.records["curves"] if (r["data"], r["grid"]) == (data, grid)]
        for method in dict.fromkeys(r["method"] for r in here):
            where = {"data": data, "method": method, "grid": grid}
            every = max(r["k"] for r in here)  # the filters rank all
            cells = [Cell("curves", "error", ERROR, where | {"k": k}, times=100) for k in (*counts, every)]
            rows.append([title, method, *cells])
    return rows


def speed(page):
    """Say what a curve took."""
    page.section(
        "Speed", "CPU seconds of a curve with one thread, including its SVMs at each k; means over sets or divisions."
    )
    rows = [
        [data, grid, *(Cell("costs", "cpu", "{mean:.1f}", {"data": data, "grid": grid, "method": m}) for m in METHODS)]
        for data, grid in dict.fromkeys((r["data"], r["grid"]) for r in page.records["costs"])
    ]
    page.table(["set", "grid", *METHODS], rows)


def clusters(page):
    """Figure 5."""
    page.section(
        "Figure 5: NDCC",
        "Test error in per cent, mean ± standard error, n sets: five on the coarse grids; on the grid of the paper set "
        "0 (the paper has one set) and those of the others that are finished. The paper has a picture without numbers.",
    )
    rows = [row for grid in ("coarse", "paper") for row in rows_of(page, {NDCC: f"{grid} grid"}, grid, LONG)]
    page.table(["", "ranking", *(f"k = {k}" for k in LONG), "all"], rows)


def real(page):
    """Figures 7 to 14."""
    page.section(
        "Figures 7-14: UCI",
        "Test error in per cent, mean ± standard error, n divisions, with the coarse grids and threefold validation "
        "until --full has run. Missing sets are not finished.",
    )
    there = {(r["data"], r["grid"]) for r in page.records["curves"]}
    for grid in ("paper", "coarse"):
        names = {d: f"{n}: {d}" for d, n in FIGURES.items() if (d, grid) in there}
        names = {d: n for d, n in names.items() if grid == "paper" or (d, "paper") not in there}
        if names:
            page.table(
                [f"figure, {grid} grid", "ranking", *(f"k = {k}" for k in SHORT), "all"],
                rows_of(page, names, grid, SHORT),
            )
