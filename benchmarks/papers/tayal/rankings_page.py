"""The page ``kernel_rankings``: figures 5 to 14 of Tayal, Coleman and Li."""

import itertools

from benchmarks.harness.differences import difference, in_words, power_of, verdicts
from benchmarks.harness.page import Cell, Page
from benchmarks.papers.tayal import records as kernel_records
from benchmarks.papers.tayal.page import COARSE_COMMAND, COMMAND, significant_in_words
from benchmarks.papers.tayal.rankings_picture import draw
from benchmarks.papers.tayal.tasks import DIGITS, EFS, FILTERS, FULL, GMKL, GROUPS, NDCC, RANKERS, SPLITS, TRAIN

NAME = "kernel_rankings"
FIGURES = {DIGITS: 6, "Sonar": 7, "Ion": 8, "S.A. Heart": 9, "Musk": 10, "Wdbc": 11, "Aust. Credit": 12}
FIGURES |= {"German Credit": 13, "Madelon": 14}
ERROR = "{mean:.1f} ± {se:.1f}, {n}"
METHODS = (*RANKERS, *FILTERS)
LONG, SHORT = (1, 2, 4, 8, 15, 20, 30, 60), (1, 2, 3, 4, 6, 8, 11, 15, 20, 30)
AT_REAL = 4  # k of the tests on real sets
AT = (15, 20, 8)  # k of figure 5 in the answer: 20 features are informative, and all rankings have 8 features


def page(log):
    """Return the page."""
    records = kernel_records.rankings(log.entries())
    page = Page(NAME, globals(), **records)
    page.key("curves", "data", "split", "method", "grid", "k")
    page.key("costs", "data", "split", "method", "grid")
    counted(page)
    page.picture(f"{NAME}.png", draw, records["curves"], FIGURES)
    costs = dict.fromkeys((r["data"], r["grid"]) for r in records["costs"])
    page.values(costs=[([data, grid], {"data": data, "grid": grid}) for data, grid in costs])
    return page.values(**answer(page), **on_real_sets(page))


def counted(page):
    """Set the progress of the figures; figure 5 of the paper has one set."""
    there = {(r["grid"], r["data"], r["split"], r["method"]) for r in page.records["curves"]}
    every = len(FILTERS) + len(RANKERS)
    ndcc = [(grid, split) for grid, data, split, _ in there if data == NDCC]
    more = sum(grid == "paper" and split > 0 for grid, split in ndcc)
    page.part("figure 5", len(ndcc) - more, every * (SPLITS + 1), COMMAND)
    page.part("four sets more of figure 5 on the paper's grid", more, every * (SPLITS - 1), COMMAND)
    groups = {"figure 6": [DIGITS], **{f"figures 7 to 14, {group}": sets for group, sets in GROUPS.items()}}
    for name, sets in groups.items():
        divisions = sum(1 if data == "Madelon" else SPLITS for data in sets)
        for which, more, command in (("paper", "", COMMAND), ("coarse", ", coarse grids, threefold", COARSE_COMMAND)):
            here = sum(grid == which and data in sets for grid, data, _, _ in there)
            page.part(f"{name}{more}", here, every * divisions, command)


def answer(page):
    """Return the variables of the answer, the comparison of AO-EFS with the others in figure 5."""

    def at(method, k):
        return {"data": NDCC, "grid": "coarse", "method": method, "k": k}

    gaps = {}
    for k in AT:
        for other in (FULL, GMKL, min(FILTERS, key=lambda m: mean(page, at(m, k)))):
            form = "{mean:+.1f} ± {se:.1f} ({n})"
            gaps[k, other] = Cell("curves", "error", form, at(EFS, k), 100, at(other, k), ("split",))
    tests = {key: difference(gap.values(page.records["curves"])) for key, gap in gaps.items()}
    signs = verdicts(tests)
    texts = {}
    for k in AT:
        here = {other: gap for (at_k, other), gap in gaps.items() if at_k == k}
        sure = [other for other in here if signs.get((k, other)) == -1]
        steps = [f"{gap.text(page.records)} to {other}" for other, gap in here.items()]
        own = page.say("curves", "error", "{mean:.1f} ± {se:.1f} ({n})", at(EFS, k), 100)
        word = f"significant for {' and '.join(sure)}" if sure else "none significant"
        texts[k] = f"{own}, and the differences in points are {', '.join(steps)}, {word}"
    words = "gives fewer errors than", "gives more errors than"
    beside = {k: in_words({other: signs.get((k, other)) for at_k, other in gaps if at_k == k}, *words) for k in AT}
    sets = {m: page.say("curves", "error", "{n}", at(m, AT[0])) for m in (EFS, GMKL)}
    return {"beside": beside, "comparisons": texts, "sets": sets, "power": power_of(tests)}


def on_real_sets(page):
    """Return the variables of the tests of AO-EFS against the other rankings on digits and UCI."""
    found = {}
    for data, other in itertools.product(FIGURES, (m for m in METHODS if m != EFS)):
        own, rival = ({"data": data, "grid": "coarse", "method": m, "k": AT_REAL} for m in (EFS, other))
        gaps = Cell("curves", "error", "", own, 100, rival, ("split",)).values(page.records["curves"])
        found[data, other] = difference(gaps, 1 / TRAIN[data] - 1)
    signs = significant_in_words(
        found, "the ranking by AO-EFS gives", "AO-EFS is not shown to differ from any other ranking"
    )
    sets = len({data for (data, _), test in found.items() if test})
    return {"real_sets": sets, "real_signs": signs, "real_power": power_of(found)}


def mean(page, where):
    """Return the mean error of the matching records; infinity if there are none."""
    values = Cell("curves", "error", "", where).values(page.records["curves"])
    return sum(values) / len(values) if values else float("inf")


def rows_of(page, names, grid, counts):
    """Return the rows of a table, one for each ranking."""
    rows = []
    for data, title in names.items():
        here = [r for r in page.records["curves"] if (r["data"], r["grid"]) == (data, grid)]
        for method in dict.fromkeys(r["method"] for r in here):
            where = {"data": data, "method": method, "grid": grid}
            every = max(r["k"] for r in here)  # filters rank all features
            cells = [Cell("curves", "error", ERROR, where | {"k": k}, times=100) for k in (*counts, every)]
            rows.append([title, method, *cells])
    return rows


def clusters(page):
    """Return the table of figure 5."""
    rows = [row for grid in ("coarse", "paper") for row in rows_of(page, {NDCC: f"{grid} grid"}, grid, LONG)]
    return page.table(["", "ranking", *(f"k = {k}" for k in LONG), "all"], rows)


def real(page):
    """Return the tables of figures 6 to 14; a set has the grid of the paper if finished, otherwise the coarse one."""
    there = {(r["data"], r["grid"]) for r in page.records["curves"]}
    tables = []
    for grid in ("paper", "coarse"):
        names = {d: f"{n}: {d}" for d, n in FIGURES.items() if (d, grid) in there}
        names = {d: n for d, n in names.items() if grid == "paper" or (d, "paper") not in there}
        if names:
            header = [f"figure, {grid} grid", "ranking", *(f"k = {k}" for k in SHORT), "all"]
            tables.append(page.table(header, rows_of(page, names, grid, SHORT)))
    return "\n\n".join(tables)
