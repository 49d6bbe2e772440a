"""The page of ``multivariate_tables``, drawn from its log."""

import itertools

from benchmarks.harness.differences import difference, power_of, verdicts
from benchmarks.harness.log import RESULTS
from benchmarks.harness.page import NOTHING, Cell, Page
from benchmarks.papers.mao import pictures as figures
from benchmarks.papers.mao import tasks as protocol
from benchmarks.papers.mao.records import BAG_B, ERRORS, NO_OFFSET, kind_of, mcnemar, read
from benchmarks.papers.mao.tasks import ALL, BAGS, COLLECTIONS, FGM, GRID, L1, LOSSES, MANY, OURS, RFE, TEXTS, WIDE

NAME = protocol.NAME
COMMAND = f"python -m benchmarks {NAME} --full"
TITLES = {"f1": "F1", "rec@2p": "Rec@2p", "prbep": "PRBEP", "hamming": "accuracy"}
B4 = (2, 10, 50, 250)
PAPER = [  # table 2: set, method, three measures with won/lost, features
    ("Sector", OURS, "92.07", "95.77", "93.25", "788 / 659 / 508"),
    ("Sector", ERRORS, "84.99 (12/91) *", "90.01 (0/71) *", "85.54 (0/86) *", "689"),
    ("Sector", ALL, "33.35 (1/104) *", "95.52 (11/19)", "91.24 (11/47) *", "55,197"),
    ("News20", OURS, "77.56", "91.21", "81.46", "1301 / 1186 / 931"),
    ("News20", ERRORS, "49.61 (0/20) *", "66.32 (0/20) *", "52.14 (0/20) *", "485"),
    ("News20", ALL, "55.53 (0/20) *", "93.08 (16/2)", "80.83 (6/11)", "62,061"),
]
CLASSES = {"Sector": 105, "News20": 20}
GAINED = "+7.1 and +28.0"  # of F1, in the paper
STANDS = [  # table 1: the paper's set, its size, what stands in for it here
    (
        "News20.binary, URL1",
        "1,355,191 and 3,231,961 / 11,997 and 20,000 / 7999 and 20,000",
        "three pairs of newsgroups, Reuters acq",
        "3289 to 9947 / 856 to 2000 / 571 to 797",
    ),
    (
        "Image, 5 classes",
        "10,800 / 1200 / 800",
        "Corel dogs, birdsong with 5 labels, and five more",
        "229 to 4755 / 55 to 1200 / 37 to 800",
    ),
    ("Sector, 105 classes", "55,197 / 6412 / 3207", "mfeat, 10 digits (dense)", "649 / 1200 / 800"),
    (
        "News20, 20 classes",
        "62,061 / 15,935 / 3993",
        "generated, 10 topics; Reuters grain, corn",
        "10,000 / 1000 / 1000",
    ),
]
POINTS = "points"


def write(log, folder=RESULTS):
    """Write the page and its picture."""
    found = read(log.entries())
    page = Page(NAME, "FSmulti: the tables and figures of Mao and Tsang 2013", **found.lists())
    page.key("points", "task", "seed", "method", "loss", "B")
    page.key("grid", "task", "loss", "B", "c")
    page.key("contests", "task", "rival", "measure", "B")
    page.key("bags", "task", "B", "method")
    page.key("sources", "source", "B", "method")
    page.key("errors", "task", "rival", "B")
    parts(page, found)
    page.answer(answer(page, found))
    page.picture(figures.draw(found, folder / f"{NAME}.png"), "Figures 1 to 3 and 5 to 7 of the paper, on our data")
    for section in (table_1, table_2, figure_1, figure_2, figure_3, figure_4, figure_5, figure_6, figure_7):
        section(page, found)
    about(page, found)
    page.write({}, folder)


def parts(page, found):
    """Count the fits and paths of each table and figure in the full protocol."""
    done, of = {}, {}
    there = {str(protocol.task(**{"name": e["task"]} | {k: e[k] for k in KEY})) for e in found.entries}
    for task in protocol.wanted(True):
        for name in belongs(task):
            of[name] = of.get(name, 0) + 1
            done[name] = done.get(name, 0) + (str(task) in there)
    for name in sorted(of):
        page.part(name, done[name], of[name], COMMAND)


KEY = ("kind", "method", "seed", "loss", "B", "c", "offset")


def belongs(task):
    """Return the tables and figures that a task is for."""
    name, B, method = task["task"], task["B"], task["method"]
    if task["kind"] == "c":
        return []
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


VERDICT = {1: "above", 0: "not shown to differ from", -1: "below", None: "not yet compared with"}


def tested(page, cells):
    """Return key -> test over the values, of key -> cell."""
    return {key: difference(cell.values(page.records[cell.records])) for key, cell in cells.items()}


def against(rival, measure="f1", group=None, B=WIDE):
    """Return the cell of FSmulti less a rival."""
    where = {"rival": rival, "measure": measure, "B": B} | ({"group": group} if group else {})
    return Cell("contests", "difference", "{mean:+.1f} ± {se:.1f}", where)


def answer(page, found):
    """Return two sentences on F1: classes at the B of table 2, and bags."""
    classes = {(group, m): against(m, group=group) for group in MANY for m in (ERRORS, L1, RFE, ALL)}
    pairs = [(min(BAG_B), ERRORS), *((10, rival) for rival in (ERRORS, L1, RFE))]
    bags = {(B, rival): bag_difference(rival, B) for B, rival in pairs}
    signs = verdicts(tested(page, classes | bags))
    classes = [f"on {group} {told(page, classes, signs, group)}" for group in MANY]
    bags = [f"at B = {B} {told(page, bags, signs, B)}" for B in (min(BAG_B), 10)]
    return (
        f"In test F1 (points, B = {WIDE}) FSmulti for F1 is {'; '.join(classes)} (paper, Sector and "
        f"News20: {GAINED} over FSmulti for errors). With bags (MILES) it is {'; '.join(bags)}."
    )


def told(page, cells, signs, at):
    """Write the comparison of FSmulti for F1 with each rival in points; repeated verdicts are left out."""
    said, before = [], None
    for key in sorted([key for key in cells if key[0] == at], key=lambda key: not signs.get(key)):
        rival, cell = key[1], cells[key]
        here = VERDICT[signs.get(key)]
        mean = cell.text(page.records) if cell.values(page.records[cell.records]) else "not run"
        name = f"the {rival}" if rival == ALL else rival
        said.append(("" if here == before else f"{here} ") + f"{name} ({mean})")
        before = here
    return " and ".join([", ".join(said[:-1]), said[-1]] if said[1:] else said)


def bag_difference(rival, B, form="{mean:+.1f} ± {se:.1f}"):
    """Return the cell of FSmulti for F1 less another method on bags, over sources."""
    ours, theirs = ({"method": name, "B": B} for name in ("FSmulti for F1", rival))
    return Cell("sources", "f1", form, ours, minus=theirs, pair=("source",))


# ---- tables and figures


def table_1(page, found):
    page.section(
        "Table 1: data sets",
        "None of the sets of the paper is available here. They are replaced by much smaller sets, to which all results "
        "below refer.",
    )
    page.table(["set of the paper", "features / training / test", "our set", "features / training / test"], STANDS)


ADJUSTED = (
    ", which our rows adjust for the number of tests in the table (Holm). The classes of a set share its samples."
)


def table_2(page, found):
    methods = {group: (OURS, ERRORS, ALL, *[NO_OFFSET] * (group in MANY)) for group in COLLECTIONS}
    apart = {
        (group, method, m): Cell("contests", "difference", "", contest(group, method, m))
        for group, those in methods.items()
        for method in those[1:]
        for m in (LOSSES if method != NO_OFFSET else ("f1",))
    }
    tests = tested(page, apart)
    signs = verdicts(tests)
    page.section(
        f"Table 2: means over classes at B = {WIDE}",
        "Test measures in %, ours with their standard error over classes. The brackets have the numbers of classes for "
        "which the row is better and worse than FSmulti for the measure; * means a difference from it at 95% by a "
        f"paired t-test over classes{ADJUSTED} {power_of(tests)}",
    )
    rows = [[f"{name} (paper)", CLASSES[name], method, *rest] for name, method, *rest in PAPER]
    for group in COLLECTIONS:
        for method in methods[group]:
            n = Cell(POINTS, "test.f1", "{n}", at_b(asked(group, method, "f1")))
            cells = [measured(group, method, m, signs.get((group, method, m))) for m in LOSSES]
            rows.append([group, n, method, *cells, counted(group, method)])
    page.table(["set", "classes", "method", *(TITLES[m] for m in LOSSES), "features"], rows)


def asked(group, method, measure, B=WIDE):
    """Return which points a method's are in table 2."""
    name = OURS if method == ERRORS else method
    loss = "hamming" if method == ERRORS else measure
    return {"group": group, "method": name, "loss": loss, "B": None if method == ALL else B}


def star(sign):
    """Return the mark of a significant difference."""
    return " *" if sign else ""


def contest(group, method, measure):
    """Return which contests a method's are in table 2."""
    return {"group": group, "rival": method, "measure": measure, "B": WIDE}


def measured(group, method, measure, sign):
    if method == NO_OFFSET and measure != "f1":
        return NOTHING
    value = Cell(POINTS, f"test.{measure}", "{mean:.1f} ± {se:.1f}", at_b(asked(group, method, measure)))
    if method == OURS:
        return value
    won, lost = (Cell("contests", name, "{total:.0f}", contest(group, method, measure)) for name in ("won", "lost"))
    return [value, " (", won, "/", lost, f"){star(sign)}"]


def at_b(where):
    """Leave out a B that is None: of the structural SVM, which has all features."""
    return {name: value for name, value in where.items() if value is not None}


def counted(group, method):
    names = LOSSES if method in (OURS, ALL) else ("f1",)
    cells = [Cell(POINTS, "features", "{mean:.0f}", at_b(asked(group, method, m))) for m in names]
    return [part for cell in cells for part in (" / ", cell)][1:]


def figure_1(page, found):
    page.section(
        "Figure 1: sensitivity to C and B",
        f"The set is newsgroups {TEXTS[protocol.SENSITIVE]} instead of News20.binary. Values are in %, with features "
        f"in brackets; the other B are in the picture. {sensitive(found)}",
    )
    rows = []
    for c in GRID[OURS]:
        wheres = [{"loss": loss, "c": c, "B": B} for loss in ("hamming", "f1") for B in B4]
        rows.append([f"{c:g} n", *(with_features("grid", f"test.{w['loss']}", w) for w in wheres)])
    names = ("accuracy, loss of errors", "F1, loss of F1")
    page.table(["C", *(f"{name}: B = {B}" for name in names for B in B4)], rows)


def with_features(records, value, where, form="{mean:.1f}"):
    """Return a cell with the mean number of features in brackets."""
    return [Cell(records, value, form, where), " (", Cell(records, "features", "{mean:.0f}", where), ")"]


def sensitive(found):
    """Write the effect of C for a small and a large B."""
    said = []
    for loss in ("hamming", "f1"):
        for B in (2, WIDE):
            values = [r["test"][loss] for r in found.grid if r["loss"] == loss and r["B"] == B]
            if len(values) == len(GRID[OURS]):
                said.append(f"{TITLES[loss]} by {max(values) - min(values):.1f} at B = {B}")
    words = f"The best and the worst of the four C differ in {', '.join(said)}. " if said else ""
    return words + "In the paper C is important only for small B, and the number of features is proportional to B."


def figure_2(page, found):
    page.section(
        "Figure 2: seconds of training",
        "CPU seconds of one thread for a fit, and the number of features. RFE starts from all features, and l1 has one "
        "C, with no more features than FSmulti for errors (dogs: for F1). In the paper FSmulti is slower than l1, and "
        "much faster than RFE and, on Image, than l1-bmrm-F1, which did not end in two days on News20.binary.",
    )
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
    page.table(["method", *heads], rows)


def figure_3(page, found):
    page.section(
        "Figure 3: test accuracy on text, compared with FGM, RFE and l1",
        "Values are in %, mean and standard error over texts, with features in brackets. l1 and RFE have no more "
        "features than FSmulti for errors; FGM has its own features at this B. The last columns have McNemar's test on "
        "the test parts together: the numbers of samples that only FSmulti / only the other method labels correctly, "
        "and the exact p. In the paper the methods are comparable; FSmulti and FGM are better than RFE below 20 "
        "features, and FSmulti is better than l1 on News20.binary at most numbers of features.",
    )
    rows = []
    for B in B4:
        row = [B, Cell(POINTS, "features", "{n}", {"group": "text", "method": OURS, "loss": "hamming", "B": B})]
        for method in (OURS, FGM, RFE, L1):
            where = {"group": "text", "method": method, "B": B} | ({} if method == FGM else {"loss": "hamming"})
            row.append(with_features(POINTS, "test.hamming", where, "{mean:.1f} ± {se:.1f}"))
        for method in (FGM, RFE, L1):
            only = [Cell("errors", who, "{total:.0f}", {"rival": method, "B": B}) for who in ("ours", "theirs")]
            counts = [round(sum(cell.values(found.errors))) for cell in only]
            row.append([only[0], " / ", only[1], f", {shown_p(mcnemar(*counts))}" if any(counts) else ""])
        rows.append(row)
    names = [ERRORS, FGM, RFE, L1, *(f"only correct, compared with {rival}" for rival in (FGM, RFE, L1))]
    page.table(["B", "texts", *names], rows)


def shown_p(p):
    return f"p = {p:.3f}" if p >= 0.001 else "p < 0.001"


def figure_4(page, found):
    page.section(
        "Figure 4: are the features of a small B among those of a larger one?",
        "The table has, for FSmulti for errors, the share of features that are also selected with the next B, and "
        "their number. In the paper most are, but not all.",
    )
    rows = []
    for B, more in itertools.pairwise(B4):
        wheres = [{"task": task, "B": B} for task in TEXTS]
        cells = [
            [Cell("nested", "kept", "{mean:.0%}", w), " of ", Cell("nested", "features", "{mean:.0f}", w)]
            for w in wheres
        ]
        rows.append([f"B = {B} in {more}", *cells])
    page.table(["", *TEXTS.values()], rows)


def figure_5(page, found):
    methods = ("FSmulti for F1", ERRORS, "l1 for F1 (B = 1)", L1, RFE)
    cells = {(B, method): bag_difference(method, B) for B in sorted(BAG_B) for method in methods[1:]}
    tests = tested(page, cells)
    signs = verdicts(tests)
    page.section(
        "Figure 5: test F1 with bags of instances (MILES)",
        "Values are in %, at B = 10, with features in brackets; means over splits. l1 and RFE have no more features "
        "than FSmulti for F1. With B = 1 the regulariser is half the squared 1-norm; this replaces l1-bmrm-F1. The "
        "last rows have FSmulti for F1 minus the method, mean and standard error over sources: the five labels of "
        "birdsong share their bags, and musk1 and musk2 share molecules. * means a difference at 95%, adjusted for the "
        f"number of tests in the table (Holm). {power_of(tests)} In the paper it is better than FSmulti for "
        "errors and RFE on four of five categories, and far better than l1 below 100 features.",
    )
    rows = []
    for kind in dict.fromkeys(map(kind_of, BAGS)):
        wheres = [{"set": kind, "method": method, "B": 10} for method in methods]
        splits = Cell("bags", "splits", "{total:.0f}", wheres[0])
        rows.append([kind, splits, *(with_features("bags", "f1", where) for where in wheres)])
    for B in sorted(BAG_B):
        count = Cell("sources", "f1", "{n}", {"B": B, "method": methods[0]})
        row = [[cells[B, method], star(signs.get((B, method)))] for method in methods[1:]]
        rows.append([[f"difference, B = {B}, of ", count, " sources"], "", "", *row])
    page.table(["set", "splits", *methods], rows)


def figure_6(page, found):
    page.section(
        "Figure 6: FSmulti minus FSmulti for errors, and minus the structural SVM",
        "Points of the measure, mean and standard error over classes. In the paper it is above FSmulti for errors at "
        "every B, above the structural SVM in F1 at every B, and equal to it in Rec@2p and PRBEP for large B.",
    )
    rows = []
    for group in MANY:
        for B in B4:
            n = Cell("contests", "difference", "{n}", {"rival": ERRORS, "measure": "f1", "B": B, "group": group})
            cells = [against(rival, m, group, B) for rival in (ERRORS, ALL) for m in LOSSES]
            rows.append([group, B, n, *cells])
    names = [f"{TITLES[m]}, {rival}" for rival in ("errors", "structural") for m in LOSSES]
    page.table(["set", "B", "classes", *names], rows)


def figure_7(page, found):
    cells = {(group, rival, B): against(rival, "f1", group, B) for group in MANY for rival in (L1, RFE) for B in B4}
    tests = tested(page, cells)
    signs = verdicts(tests)
    page.section(
        "Figure 7: F1 compared with l1 and RFE",
        "FSmulti for F1 minus the other method with no more features, in points of F1: mean and standard error over "
        f"classes, with their number in brackets; * means a difference at 95% by a paired t-test{ADJUSTED} "
        f"{power_of(tests)} In the paper it is better than l1 and at least as good as RFE.",
    )
    rows = []
    for group in MANY:
        row = [group]
        for key in [key for key in cells if key[0] == group]:
            count = Cell("contests", "difference", "{n}", cells[key].where)
            row.append([cells[key], f"{star(signs.get(key))} (", count, ")"])
        rows.append(row)
    page.table(["set", *(f"{rival}, B = {B}" for rival in (L1, RFE) for B in B4)], rows)


# ---- protocol and speed


def about(page, found):
    chosen = [r for r in found.choices if r["method"] == OURS]
    edges = [sum(r["best"] == c for r in chosen) for c in GRID[OURS]]
    grid = ", ".join(f"{c:g} ({k} times)" for c, k in zip(GRID[OURS], edges, strict=True))
    page.section(
        "Protocol",
        "FSmulti and the structural SVM have an offset; those of the paper have none. Without an offset the signs have "
        f"little meaning on dense columns ({NO_OFFSET}, table 2). C = c n. The paper fixes c for each set after figure "
        "1, at 0.1 to 10, because a large C takes more iterations, and does not state the measure. Here c is the best "
        "value for its own loss over three folds of the training part (for a collection one fold of each of its first "
        f"three classes; at B = {protocol.TRIED}, used for all B): {grid} for FSmulti, "
        f"{', '.join(f'{c:g}' for c in GRID[ALL])} for the structural SVM. For the latter the paper uses the best C of "
        "2^-6, ..., 2^6 for each measure, and does not state on which samples. RFE removes a tenth of the remaining "
        "features at a time; its C is the best of four over three folds for all features. l1 is that of liblinear, at "
        "the one of 25 C with the most features that are no more than those of FSmulti. FGM has "
        f"C = {protocol.FGM_C:g}, which the paper chose for FGM and RFE. "
        "Text is tf-idf with rows of unit length, and digits are standardised, both by the training part; 40% are for "
        "testing if there is no test part. Bags are embedded as in MILES: a feature is the similarity to one training "
        "instance, and sigma is the median distance to the nearest instance of another bag. The generated topics have "
        "documents of Zipf's law with 15% words of their own topic and 10% of another.",
    )
    fits = [p for p in found.points if p["method"] in (OURS, ALL, NO_OFFSET)] + found.grid
    late = {name: [p["unclosed"] for p in fits if p["method"] == name] for name in (OURS, ALL, NO_OFFSET)}
    limits = "; ".join(f"{name} {sum(v)} of {len(v)} fits" for name, v in late.items() if v)
    tried = sum(r["late"] for r in found.choices), sum(r["of"] for r in found.choices)
    seconds = [
        f"{name} " + Cell(POINTS, "fit_cpu", "{median:.1f} s (most {most:.0f} s)", {"method": name}).text(page.records)
        for name in (OURS, ALL, FGM)
    ]
    page.section(
        "Speed",
        f"The median CPU seconds of one thread for a fit are: {', '.join(seconds)}. FSmulti stops at a gap of 1% or "
        f"after {protocol.ROUNDS[OURS]} rounds, the structural SVM after {protocol.ROUNDS[ALL]}. At this limit ended: "
        f"{limits}. In cross-validation (gap 5%, 50 rounds) {tried[0]} of {tried[1]} did. "
        "[multivariate_scale](multivariate_scale.md) has a million features.",
    )
