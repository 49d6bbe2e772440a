"""Mao and Tsang 2013: FSmulti for F1, Rec@2p, PRBEP and errors, compared with structural SVM, FGM, l1 and RFE.

    python -m benchmarks multivariate_tables           # three sets of bags, four of text, six classes: some minutes
    python -m benchmarks multivariate_tables --full    # all tables and figures: about an hour

Finished tasks are not computed again. The module ``tasks`` is the protocol, and ``data`` states where the data must be.
"""

import itertools
import json
from pathlib import Path

from benchmarks.harness.differences import difference, in_words, listed, power_of, verdicts
from benchmarks.harness.page import NOTHING, Cell, Page
from benchmarks.harness.ranks import holm
from benchmarks.papers.mao import pictures
from benchmarks.papers.mao import tasks as protocol
from benchmarks.papers.mao.records import BAG_B, ERRORS, NO_OFFSET, kind_of, mcnemar, read, spec
from benchmarks.papers.mao.tasks import ALL, BAGS, FGM, L1, LOSSES, MANY, OURS, RFE, TEXTS, WIDE, tasks, work

__all__ = ["FACTS", "NAME", "PACKAGES", "page", "tasks", "work"]
NAME = protocol.NAME
PACKAGES, FACTS = ("pyomo", "numpy", "scipy", "scikit-learn", "clarabel"), {"seeds": "0; bags 0 to 2"}
COMMAND = f"python -m benchmarks {NAME} --full"
TITLES = {"f1": "F1", "rec@2p": "Rec@2p", "prbep": "PRBEP", "hamming": "accuracy"}
B4 = (2, 10, 50, 250)
STANDS, PAPER, CLASSES = json.loads(Path(__file__).with_name("paper.json").read_text("utf-8")).values()
GAINED = "+7.1 and +28.0"  # of F1, in the paper
POINTS = "points"


def page(log):
    """Return the page."""
    entries, records = read(log.entries())
    page = Page(NAME, globals(), **records)
    page.key("points", "task", "seed", "method", "loss", "B")
    page.key("grid", "task", "loss", "B", "c")
    page.key("contests", "task", "rival", "measure", "B")
    page.key("bags", "task", "B", "method")
    page.key("sources", "source", "B", "method")
    page.key("errors", "task", "rival", "B")
    page.key("bounds", "task", "method", "loss", "c")
    parts(page, entries)
    page.picture(f"{NAME}.png", pictures.draw, records)
    page.values(B=WIDE, sensitive_set=TEXTS[protocol.SENSITIVE])
    page.values(
        costs_rows=[([f"{c:g} n"], {"c": c}) for c in protocol.GRID[OURS]],
        budgets=[([f"B = {B} in {more}"], {"B": B}) for B, more in itertools.pairwise(B4)],
        bound_rows=[([title], {"loss": loss}) for loss, title in (("f1", "F1"), ("hamming", "errors"))],
        bounds=len({r["task"] for r in records["bounds"]}),
    )
    return page.values(**answer(page), **fits_of(page))


def parts(page, entries):
    """Set the progress of each table and figure: fits and paths of the full protocol."""
    done, of = {}, {}
    there = {str(protocol.task(**spec(entry))) for entry in entries}
    for task in protocol.wanted(True):
        for name in belongs(task):
            of[name] = of.get(name, 0) + 1
            done[name] = done.get(name, 0) + (str(task) in there)
    for name in sorted(of):
        page.part(name, done[name], of[name], COMMAND)


def belongs(task):
    """Return the tables and figures that use a task."""
    name, B, method = task["task"], task["B"], task["method"]
    if task["kind"] == "c":
        return []
    if task["kind"] == "bound":
        return ["theorem 1"]
    if task["c"] is not None:
        return ["figure 1"]
    if name in BAGS:
        return ["figure 5"]
    if name in TEXTS:
        return ["figure 2"] if task["loss"] == "f1" else ["figure 3", *["figure 4"] * (method == OURS)]
    if task["kind"] == "path":
        return ["figure 7"]
    if method == ALL or (method == OURS and B == WIDE):
        return ["table 2"]
    return ["figure 6"]


# ---- sentences


def power(page, cells):
    """Return a sentence with the differences that the tests of the cells detect."""
    return power_of(tested(page, cells))


def tested(page, cells):
    """Return key -> test of the values of the cell; ``cells`` is key -> cell."""
    return {key: difference(cell.values(page.records[cell.records])) for key, cell in cells.items()}


def against(rival, measure="f1", group=None, B=WIDE):
    """Return the cell of the difference between FSmulti and another method."""
    where = {"rival": rival, "measure": measure, "B": B} | ({"group": group} if group else {})
    return Cell("contests", "difference", "{mean:+.1f} ± {se:.1f}", where)


def answer(page):
    """Return the variables of the answer: comparisons of F1 on classes at the B of table 2, and on bags."""
    classes = {(group, m): against(m, group=group) for group in MANY for m in (ERRORS, L1, RFE, ALL)}
    pairs = [(min(BAG_B), ERRORS), *((10, rival) for rival in (ERRORS, L1, RFE))]
    bags = {(B, rival): bag_difference(rival, B) for B, rival in pairs}
    every = tested(page, classes | bags)
    goal, rivals = ({key: test for key, test in every.items() if (key[1] == ERRORS) == own} for own in (True, False))
    signs = verdicts(goal) | verdicts(rivals)  # two sentences, two families of tests

    def shown(cells, of):
        return {key: cell.text(page.records) for key, cell in cells.items() if of(key)}

    words = ("gives a lower F1 on", "gives a higher F1 on", "is not shown to change its F1 on")
    goals = {"bags" if group == 10 else group: signs.get((group, ERRORS)) for group in (*MANY, 10)}
    others = [
        f"{'above' if sign > 0 else 'below'} {rival} on {'bags' if group == 10 else group} ({text})"
        for (group, rival), text in shown(classes | bags, lambda key: key[1] != ERRORS).items()
        if (sign := signs.get((group, rival)))
    ]
    return {
        "goal": in_words(goals, *words),
        "classes": ", ".join(
            f"{group} {text}" for (group, _), text in shown(classes, lambda k: k[1] == ERRORS).items()
        ),
        "bags": ", ".join(f"{text} at B = {B}" for (B, _), text in shown(bags, lambda k: k[1] == ERRORS).items()),
        "others": listed(others),
        "families": [len([test for test in of.values() if test]) for of in (goal, rivals)],
        "powers": [power_of(goal, "the first ones"), power_of(rivals, "the others")],
    }


def bag_difference(rival, B, form="{mean:+.1f} ± {se:.1f}"):
    """Return the cell of FSmulti for F1 minus another method on bags, over sources."""
    ours, theirs = ({"method": name, "B": B} for name in ("FSmulti for F1", rival))
    return Cell("sources", "f1", form, ours, minus=theirs, pair=("source",))


# ---- tables and figures


def table_2_methods(group):
    """Return the methods of a set in table 2."""
    return (OURS, ERRORS, ALL, *[NO_OFFSET] * (group in MANY))


def table_2_cells():
    """Return (set, method, measure) -> cell of the difference between FSmulti and the method."""
    return {
        (group, method, m): Cell("contests", "difference", "", contest(group, method, m))
        for group in protocol.COLLECTIONS
        for method in table_2_methods(group)[1:]
        for m in (LOSSES if method != NO_OFFSET else ("f1",))
    }


def table_2(page):
    """Return table 2 with the numbers of the paper and ours."""
    signs = verdicts(tested(page, table_2_cells()))
    rows = [[f"{name} (paper)", CLASSES[name], method, *rest] for name, method, *rest in PAPER]
    for group in protocol.COLLECTIONS:
        for method in table_2_methods(group):
            n = Cell(POINTS, "test.f1", "{n}", at_b(points_of(group, method, "f1")))
            cells = [measured(group, method, m, signs.get((group, method, m))) for m in LOSSES]
            rows.append([group, n, method, *cells, counted(group, method)])
    return page.table(["set", "classes", "method", *(TITLES[m] for m in LOSSES), "features"], rows)


def points_of(group, method, measure, B=WIDE):
    """Return the condition on the points of a method in table 2."""
    name = OURS if method == ERRORS else method
    loss = "hamming" if method == ERRORS else measure
    return {"group": group, "method": name, "loss": loss, "B": None if method == ALL else B}


def star(sign):
    """Return the mark of a significant difference."""
    return " *" if sign else ""


def contest(group, method, measure):
    """Return the condition on the comparisons of a method in table 2."""
    return {"group": group, "rival": method, "measure": measure, "B": WIDE}


def measured(group, method, measure, sign):
    if method == NO_OFFSET and measure != "f1":
        return NOTHING
    value = Cell(POINTS, f"test.{measure}", "{mean:.1f} ± {se:.1f}", at_b(points_of(group, method, measure)))
    if method == OURS:
        return value
    won, lost = (Cell("contests", name, "{total:.0f}", contest(group, method, measure)) for name in ("won", "lost"))
    return [value, " (", won, "/", lost, f"){star(sign)}"]


def at_b(where):
    """Remove a B of None from a condition: the structural SVM has no B."""
    return {name: value for name, value in where.items() if value is not None}


def counted(group, method):
    names = LOSSES if method in (OURS, ALL) else ("f1",)
    cells = [Cell(POINTS, "features", "{mean:.0f}", at_b(points_of(group, method, m))) for m in names]
    return [part for cell in cells for part in (" / ", cell)][1:]


def with_features(records, value, where, form="{mean:.1f}"):
    """Return a cell with the mean number of features in brackets."""
    return [Cell(records, value, form, where), " (", Cell(records, "features", "{mean:.0f}", where), ")"]


def sensitive(page):
    """Return the effect of C for a small and a large B."""
    text = []
    for loss in ("hamming", "f1"):
        for B in (2, WIDE):
            values = [r["test"][loss] for r in page.records["grid"] if r["loss"] == loss and r["B"] == B]
            if len(values) == len(protocol.GRID[OURS]):
                text.append(f"{max(values) - min(values):.1f} in {TITLES[loss]} at B = {B}")
    return ", ".join(text)


def text_columns():
    """Return a column of figure 4 for each text."""
    parts = [("kept", "{mean:.0%}"), " of ", ("features", "{mean:.0f}")]
    return [(title, parts, "", {"task": task}) for task, title in TEXTS.items()]


def figure_6_cells():
    """Return (set, B, rival, measure) -> difference to FSmulti over classes."""
    return {
        (group, B, rival, m): against(rival, m, group, B)
        for group, B, rival, m in itertools.product(MANY, B4, (ERRORS, ALL), LOSSES)
    }


def shown_in_figure_6(page):
    """Return a clause with the numbers of significant differences of figure 6."""
    signs = [*verdicts(tested(page, figure_6_cells())).values()]
    return f"{signs.count(1)} of {len(signs)} are significantly above 0 and {signs.count(-1)} below"


def figure_6(page):
    """Return the table of figure 6."""
    cells = figure_6_cells()
    signs, rows = verdicts(tested(page, cells)), []
    for group, B in itertools.product(MANY, B4):
        row = [group, B, Cell("contests", "difference", "{n}", cells[group, B, ERRORS, "f1"].where)]
        rows.append(row + [[cell, star(signs.get(key))] for key, cell in cells.items() if key[:2] == (group, B)])
    titles = [f"{TITLES[m]}, {title}" for title in ("errors", "structural") for m in LOSSES]
    return page.table(["set", "B", "classes", *titles], rows)


def figure_2(page):
    """Return the table of figure 2."""
    kinds = {"FSmulti for F1": (OURS, "f1"), ERRORS: (OURS, "hamming"), FGM: (FGM, None), L1: (L1, None)}
    rows = []
    for shown, (method, loss) in (kinds | {RFE: (RFE, None)}).items():
        wheres = [{"task": protocol.SENSITIVE, "method": method, "B": B} for B in B4]
        wheres += [{"task": "dogs", "method": method, "B": B} for B in sorted(BAG_B)]
        wheres = [where | ({"loss": loss} if loss else {}) for where in wheres]
        bare = [where["task"] == "dogs" and shown == FGM for where in wheres]
        cells = [with_features(POINTS, "fit_cpu", where, "{mean:.2f}") for where in wheres]
        rows.append([shown, *(NOTHING if no else cell for no, cell in zip(bare, cells, strict=True))])
    heads = [f"{TEXTS[protocol.SENSITIVE]}: B = {B}" for B in B4] + [f"dogs: B = {B}" for B in sorted(BAG_B)]
    return page.table(["method", *heads], rows)


def figure_3(page):
    """Return the table of figure 3; the p-values are adjusted together."""
    keys = [(B, rival) for B in B4 for rival in (FGM, RFE, L1)]
    only = {
        (B, m): [Cell("errors", who, "{total:.0f}", {"rival": m, "B": B}) for who in ("ours", "theirs")]
        for B, m in keys
    }
    counts = {key: [round(sum(cell.values(page.records["errors"]))) for cell in cells] for key, cells in only.items()}
    known = [key for key in keys if any(counts[key])]
    ps = dict(zip(known, holm([mcnemar(*counts[key]) for key in known]), strict=True))
    rows = []
    for B in B4:
        row = [B, Cell(POINTS, "features", "{n}", {"group": "text", "method": OURS, "loss": "hamming", "B": B})]
        for method in (OURS, FGM, RFE, L1):
            where = {"group": "text", "method": method, "B": B} | ({} if method == FGM else {"loss": "hamming"})
            row.append(with_features(POINTS, "test.hamming", where, "{mean:.1f} ± {se:.1f}"))
        for key in [key for key in keys if key[0] == B]:
            ours, theirs = only[key]
            row.append([ours, " / ", theirs, f", {shown_p(ps[key])}" if key in ps else ""])
        rows.append(row)
    names = [ERRORS, FGM, RFE, L1, *(f"only correct, compared with {rival}" for rival in (FGM, RFE, L1))]
    return page.table(["B", "texts", *names], rows)


def shown_p(p):
    return f"p = {p:.3f}" if p >= 0.001 else "p < 0.001"


BAG_RIVALS = (ERRORS, "l1 for F1 (B = 1)", L1, RFE)


def figure_5_cells():
    """Return (B, method) -> difference to FSmulti for F1 over sources."""
    return {(B, method): bag_difference(method, B) for B in sorted(BAG_B) for method in BAG_RIVALS}


def figure_5(page):
    """Return the table of figure 5."""
    methods, cells = ("FSmulti for F1", *BAG_RIVALS), figure_5_cells()
    signs = verdicts(tested(page, cells))
    rows = []
    for kind in dict.fromkeys(map(kind_of, BAGS)):
        wheres = [{"set": kind, "method": method, "B": 10} for method in methods]
        splits = Cell("bags", "splits", "{total:.0f}", wheres[0])
        rows.append([kind, splits, *(with_features("bags", "f1", where) for where in wheres)])
    for B in sorted(BAG_B):
        count = Cell("sources", "f1", "{n}", {"B": B, "method": methods[0]})
        row = [[cells[B, method], star(signs.get((B, method)))] for method in methods[1:]]
        rows.append([[f"difference, B = {B}, of ", count, " sources"], "", "", *row])
    return page.table(["set", "splits", *methods], rows)


def figure_7_cells():
    """Return (set, rival, B) -> difference to FSmulti for F1 over classes."""
    return {(group, rival, B): against(rival, "f1", group, B) for group in MANY for rival in (L1, RFE) for B in B4}


def figure_7(page):
    """Return the table of figure 7."""
    cells = figure_7_cells()
    signs = verdicts(tested(page, cells))
    rows = []
    for group in MANY:
        row = [group]
        for key in [key for key in cells if key[0] == group]:
            count = Cell("contests", "difference", "{n}", cells[key].where)
            row.append([cells[key], f"{star(signs.get(key))} (", count, ")"])
        rows.append(row)
    return page.table(["set", *(f"{rival}, B = {B}" for rival in (L1, RFE) for B in B4)], rows)


def bound_columns():
    """Return the columns with the iterations of both methods and the bound of Theorem 1."""
    columns = []
    for c, (method, B) in itertools.product(protocol.BOUND["c"], ((ALL, "B = m"), (OURS, f"B = {WIDE}"))):
        where = {"c": c, "method": method}
        columns.append((f"C = {c:g} n, {B}", "rounds", "{mean:.0f} ({most:.0f})", where))
        columns.append(("bound", "bound", "{mean:.1e}", where))
    return columns


def fits_of(page):
    """Return the variables of the sections on protocol and speed."""
    choices, points, tried = (page.records[name] for name in ("choices", POINTS, "grid"))
    chosen = [r for r in choices if r["method"] == OURS]
    edges = [sum(r["best"] == c for r in chosen) for c in protocol.GRID[OURS]]
    grid = ", ".join(f"{c:g} ({k} times)" for c, k in zip(protocol.GRID[OURS], edges, strict=True))
    fits = [p for p in points if p["method"] in (OURS, ALL, NO_OFFSET)] + tried
    late = {name: [p["unclosed"] for p in fits if p["method"] == name] for name in (OURS, ALL, NO_OFFSET)}
    limits = "; ".join(f"{name} {sum(v)} of {len(v)} fits" for name, v in late.items() if v)
    ended = sum(r["late"] for r in choices), sum(r["of"] for r in choices)
    seconds = [
        f"{name} " + Cell(POINTS, "fit_cpu", "{median:.1f} s (most {most:.0f} s)", {"method": name}).text(page.records)
        for name in (OURS, ALL, FGM)
    ]
    return {
        "grid_chosen": grid,
        "limits": limits,
        "tried": ended,
        "seconds": ", ".join(seconds),
        "costs": ", ".join(f"{c:g}" for c in protocol.GRID[ALL]),
    }
