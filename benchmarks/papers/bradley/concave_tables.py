"""Bradley, Mangasarian and Street 1998, tables 1-3, figures 1-8: FSS, FSV, FSB and OBD on the two problems.

    python -m benchmarks concave_tables           # one division of the data, one start each: some five minutes
    python -m benchmarks concave_tables --full    # five divisions, all starts: about 25 minutes

Finished tasks are not computed again. The module ``tasks`` defines the protocol.
"""

import itertools
import statistics

from benchmarks.harness.differences import listed, power_of, verdicts
from benchmarks.harness.page import NOTHING, Cell, Page
from benchmarks.papers.bradley import tasks as protocol
from benchmarks.papers.bradley.records import (
    DIVISION,
    apart,
    known,
    nested_folds,
    of_mean,
    outcome,
    read,
    reductions,
    references,
)
from benchmarks.papers.bradley.tasks import DATA, METHODS, OBD, ONE, PAPER, PAPERS, SCALINGS, SHOWN, key, tasks, work

__all__ = ["NAME", "page", "tasks", "work"]
NAME = "concave_tables"
COMMAND = "python -m benchmarks concave_tables --full"

SHARE = "{mean:.1f} ± {se:.1f}"
REDUCES, FASTER = " reduces the error", " is faster than "
HOLDS = {1: "yes", 0: "not shown", -1: "no, the opposite", None: "not shown"}


def where(data, scaling, method):
    """Return the records of one method."""
    return {"data": data, "scaling": scaling, "method": method}


# ---- tables


def table_reductions(page, name):
    """Return table 1 or 2."""
    header = ["method", "data", "paper: error less by %", "features less by %", "ours: error less by %"]
    header += ["features less by %", "error: ours - paper", "features: ours - paper", "differs?", "lambda"]
    header += ["features left", "balanced %"]
    rows, signs = [], apart(page.records, "best")
    for scaling, method in itertools.product(SCALINGS, METHODS):
        these = where(name, scaling, method)
        rows.append(
            [
                method,
                SHOWN[scaling],
                *PAPER[name][METHODS[method].paper][:2],
                *(Cell("best", what, "{mean:.1f} ± {se:.1f}", these) for what in ("error", "features")),
                *(Cell("best", f"{what}_apart", "{mean:+.1f} ± {new:.1f}", these) for what in ("error", "features")),
                differs(signs, name, scaling, method),
                Cell("best", "lambda", "{least:.2f} to {most:.2f}", these),
                Cell("best", "left", "{mean:.1f}", these),
                Cell("best", "balanced", "{mean:.1f} ± {se:.1f}", these),
            ]
        )
    return page.table(header, rows)


def differs(signs, *which):
    """Return the measures in which our result differs significantly from that of the paper."""
    found = [signs.get((*which, what)) for what in ("error", "features")]
    if None in found:
        return "few divisions"
    words = zip(("error falls", "features fall"), found, strict=True)
    return ", ".join(f"{word} {'less' if sign < 0 else 'more'}" for word, sign in words if sign) or "no"


def complementary(divisions):
    """Return a sentence with the share of the runs of FSB on WPBC that end at a complementary point."""
    runs, shares = protocol.FOLDS * len(protocol.GRIDS["paper"]), []
    for scaling in SCALINGS:
        these = where("WPBC", scaling, ONE["FSB"]) | {"grid": "paper"}
        counts = [sum(e["complementary"]) for e in divisions if all(e[k] == wanted for k, wanted in these.items())]
        if counts:
            shares.append(f"{sum(counts) / (runs * len(counts)):.0%} ({SHOWN[scaling]})")
    return (
        f"The point of FSB is complementary in {listed(shares)} of its runs on WPBC (by fold and lambda). "
        "The other runs keep the point of the largest mu, at which the bilinear term is not 0: without complementary "
        "points a row of FSB is not a result of the method of the paper."
        if shares
        else ""
    )


def table_seconds(page):
    """Return table 3."""
    header = ["method"]
    for name in DATA:
        header.append(f"{name}: paper")
        header += [word for shown in SHOWN.values() for word in (f"{shown}: seconds", "LPs")]
    rows = []
    for method in METHODS:
        row = [method]
        for name in DATA:
            row.append(f"{PAPER[name][METHODS[method].paper][2]:.1f}")
            for scaling in SCALINGS:
                these = where(name, scaling, method)
                row.append(Cell("typical", "seconds", "{mean:.2f} ± {se:.2f}", these))
                programs = Cell("typical", "linear_programs", "{median:g}", these)
                row.append({OBD: "2", ONE["FSB"]: NOTHING}.get(method, programs))
        rows.append(row)
    return page.table(header, rows)


def claim_tests(page):
    """Return (claim, problem, scaling) -> test."""
    return {
        (text, name, scaling): outcome(cell, page.records)
        for text, name, _, cells, _ in claims()
        for scaling, cell in zip(SCALINGS, cells, strict=True)
    }


def power_of_reductions(tests):
    """Return a sentence on the reductions of the error that the tests would detect."""
    errors = {key: test for key, test in tests.items() if key[0].endswith(REDUCES)}
    return power_of(errors, "the tests against all features")


def table_claims(page, tests):
    """Return the table of the claims of the paper that compare two methods by errors or features."""
    header = ["claim of the paper", "problem", "paper, %", "ours, raw", "holds?", "ours, standardised", "holds?"]
    signs, rows = verdicts(tests), []
    for text, name, paper, cells, sign in claims():
        if text.endswith(REDUCES) or FASTER in text:
            continue  # in the next table, and in a sentence
        row = [text, name, paper]
        for scaling, cell in zip(SCALINGS, cells, strict=True):
            found = signs.get((text, name, scaling))
            row += [cell if known(cell, page.records) else NOTHING, HOLDS[found and sign * found]]
        rows.append(row)
    return page.table(header, rows)


def faster(tests):
    """Return a sentence on the claims that one method is faster than another."""
    shown = [
        f"{text} ({SHOWN[scaling]} {name})"
        for (text, name, scaling), sign in verdicts(tests).items()
        if FASTER in text and sign == -1
    ]
    count = sum(FASTER in text for text, *_ in claims()) * len(SCALINGS)
    return f"Of {count} claims that FSV and OBD are faster than FSS and FSB these are shown: {listed(shown) or 'none'}."


def claims():
    """Yield claim, problem, number of the paper, a cell for each scaling, and the sign that confirms the claim."""
    form = "{mean:+.1f} ± {se:.1f}"
    for method, name in itertools.product(PAPERS, DATA):
        paper = PAPER[name][METHODS[method].paper]
        cells = [Cell("nested", "gain", form, where(name, scaling, method)) for scaling in SCALINGS]
        yield f"{METHODS[method].paper}{REDUCES}", name, f"{paper[0]:+.1f}", cells, 1
    for name, what, better, worse in (
        ("WPBC", "error", "FSV", "FSS"),
        ("WPBC", "error", "FSV", "OBD"),
        ("WPBC", "error", "FSV", "FSB"),
        ("Ionosphere", "error", "FSS", "FSV"),
        ("Ionosphere", "error", "FSS", "FSB"),
        ("Ionosphere", "error", "FSS", "OBD"),
        ("Ionosphere", "error", "FSV", "OBD"),
        ("Ionosphere", "error", "FSB", "OBD"),
        ("Ionosphere", "features", "OBD", "FSS"),
        ("Ionosphere", "features", "OBD", "FSV"),
        ("Ionosphere", "features", "OBD", "FSB"),
    ):
        k, value, sign = {"error": (0, "correct", 1), "features": (1, "left", -1)}[what]
        one, other = (ONE.get(method, method) for method in (better, worse))
        cells = [
            Cell("nested", value, form, where(name, scaling, one), 1.0, where(name, scaling, other), ("seed", "fold"))
            for scaling in SCALINGS
        ]
        text = f"{better} reduces {'the error' if what == 'error' else 'features'} more than {worse}"
        yield text, name, f"{PAPER[name][better][k] - PAPER[name][worse][k]:+.1f}", cells, sign
    for method, slower, name in itertools.product(("FSV", "OBD"), ("FSS", "FSB"), DATA):
        one = ONE.get(method, method)
        form = "{mean:+.2f} ± {se:.2f}"
        cells = [
            Cell(
                "typical", "seconds", form, where(name, scaling, one), 1.0, where(name, scaling, ONE[slower]), ("seed",)
            )
            for scaling in SCALINGS
        ]
        gap = PAPER[name][method][2] - PAPER[name][slower][2]
        yield f"{method}{FASTER}{slower}", name, f"{gap:+.1f}", cells, -1


def table_nested(page, tests):
    """Return the table of the results if lambda is chosen on the training part."""
    header, rows, signs = ["problem", "method", "paper: error less by %"], [], verdicts(tests)
    for shown in SHOWN.values():
        header += [f"{shown}: correct %", "minus all features", "features left", "lambda"]
    for name, method in itertools.product(DATA, PAPERS):
        row = [name, method, PAPER[name][METHODS[method].paper][0]]
        for scaling in SCALINGS:
            these = where(name, scaling, method)
            star = " *" if signs.get((f"{METHODS[method].paper}{REDUCES}", name, scaling)) else ""
            row.append(Cell("nested", "correct", "{mean:.1f}", these))
            row.append([Cell("nested", "gain", "{mean:+.1f} ± {se:.1f}", these), star])
            row += [Cell("nested", "left", "{mean:.1f}", these), Cell("nested", "lambda", "{median:.2f}", these)]
        rows.append(row)
    return page.table(header, rows)


def random_columns():
    """Return the columns of the table on random features."""
    columns = []
    for name, scaling in itertools.product(DATA, SCALINGS):
        which = {"data": name, "scaling": scaling}
        columns.append((f"{name}, {SHOWN[scaling]}: folds", "random_typical", "{mean:.1f}", which))
        columns.append(("gone at lambda", "random_gone", "{mean:.2f} ± {se:.2f}", which))
    return columns


def gone(page):
    """Return a sentence on the lambdas from which on FSS, FSV and FSB drop all random features."""
    texts = []
    for name, scaling in itertools.product(DATA, SCALINGS):
        cells = [Cell("best", "random_gone", "{mean:.2f}", where(name, scaling, method)) for method in ONE.values()]
        slowest = max((cell.text(page.records) for cell in cells), default=NOTHING)
        texts.append(f"{slowest} on {name} ({SHOWN[scaling]})")
    return f"None of FSS, FSV and FSB keeps a random feature at or above lambda = {listed(texts)}."


def table_below(page):
    """Return the table on the effect of our smaller values of lambda."""
    header = ["problem", "method", "paper: error less by %"]
    for scaling in SCALINGS:
        header += [f"{SHOWN[scaling]}: error less by %", "with ours", "gain", "features less by %", "differs?"]
    rows, signs = [], apart(page.records, "below")
    for name, method in itertools.product(DATA, PAPERS):
        row = [name, method, PAPER[name][METHODS[method].paper][0]]
        for scaling in SCALINGS:
            these = where(name, scaling, method)
            row += [Cell(grid, "error", "{mean:.1f} ± {se:.1f}", these) for grid in ("best", "below")]
            row += [Cell("below", "gain", "{mean:.1f} ± {se:.1f}", these)]
            row += [Cell("below", "features", "{mean:.1f} ± {se:.1f}", these)]
            row.append(differs(signs, name, scaling, method))
        rows.append(row)
    return page.table(header, rows)


# ---- the page


def page(log):
    """Return the page."""
    done, again = read(log.entries())
    divisions = [entry for entry in done if entry["kind"] == "division"]
    page = Page(
        NAME,
        globals(),
        best=reductions(divisions, ("paper",)),
        below=reductions(divisions, tuple(protocol.GRIDS)),
        nested=nested_folds(done),
        typical=[entry for entry in done if entry["kind"] == "typical"],
        references=references(divisions),
        divisions=divisions,
    )
    parts = {"best": (), "below": (), "nested": ("fold",), "typical": (), "divisions": ("grid",)}
    for records, fields in parts.items():
        page.key(records, *DIVISION, *fields)
    page.key("references", "data", "scaling", "seed")
    count(page, done)
    measured = [entry["cpu_seconds"] for entry in done if entry.get("cpu_seconds") is not None]
    page.values(days=days(done), again=again, done=len(done), measured=len(measured), minutes=sum(measured) / 60)
    page.picture(f"{NAME}.png", draw, divisions)
    page.values(papers=[([method], {"method": method}) for method in PAPERS])
    page.values(problems=[([name], {"data": name, "scaling": "none"}) for name in DATA])
    return page.values(divisions=divisions, tests=claim_tests(page), **answer(page))


def count(page, entries):
    """Set the progress of each part of the page."""
    names = {"WPBC": "table 1", "Ionosphere": "table 2"}
    done = {key(entry) for entry in entries}
    parts = {}
    for task in tasks(full=True):
        if task["kind"] == "typical":
            belongs = ["table 3"]
        elif task["kind"] == "nested":
            belongs = ["nested choice"]
        elif task["grid"] == "below":
            belongs = ["smaller lambdas"]
        elif task["method"] == protocol.FSV_MANY:
            belongs = ["default starts"]  # the paper reports one start
        else:
            belongs = [names[task["data"]], *["figures 1-8"] * (task["method"] in PAPERS)]
        for name in belongs:
            part = parts.setdefault(name, [0, 0])
            part[0] += key(task) in done
            part[1] += 1
    for name in ("table 1", "table 2", "table 3", "figures 1-8", "nested choice", "smaller lambdas", "default starts"):
        page.part(name, *parts[name], COMMAND)


def answer(page):
    """Return the variables of the answer, which is about one start and OBD."""
    data, signs = page.records, apart(page.records, "best")
    shown, far = [], []
    for name in DATA:
        number = Cell("best", "error", "{mean:.0f} ± {se:.0f}", where(name, "none", ONE["FSV"])).text(data)
        shown.append(f"of {name} by {number}% (paper: {PAPER[name]['FSV'][0]:g})")
        sign = signs.get((name, "none", ONE["FSV"], "error"))
        far.append(f"{'significant' if sign else 'not significant'} for {name}")
    differ = [differing(data, "best", scaling) for scaling in SCALINGS]
    keys = list(itertools.product(SCALINGS, PAPERS, DATA))
    fair = verdicts({(s, m, n): outcome(Cell("nested", "gain", "", where(n, s, m)), data) for s, m, n in keys})
    kept = [f"{METHODS[m].paper} on {SHOWN[s]} {n}" for s, m, n in keys if fair.get((s, m, n)) == 1]
    left = Cell("best", "left", "{mean:.1f} ± {se:.1f}", where("WPBC", "standard", ONE["FSV"])).text(data)
    nothing = Cell("references", "reduction", "{mean:.0f} ± {se:.0f}", {"data": "WPBC", "scaling": "none"}).text(data)
    texts = {"shown": listed(shown), "far": listed(far), "kept": listed(kept)}
    return texts | {"nothing": nothing, "differ": differ, "left": left}


def differing(data, records, scaling):
    """Return the number of reductions by the methods of the paper that differ significantly from its numbers."""
    signs = apart(data, records).items()
    return sum(bool(sign) for (_, scaled, method, _), sign in signs if scaled == scaling and method in PAPERS)


def days(done):
    """Return the dates of the entries without times."""
    return listed(sorted({entry["date"] for entry in done if entry.get("cpu_seconds") is None}))


# ---- the picture


def draw(divisions, path):
    """Draw figures 1-8: share of correct labels by number of features, a panel for each method and problem."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    groups = {}
    for entry in divisions:
        if entry["grid"] == "paper":
            groups.setdefault((entry["data"], entry["scaling"], entry["method"]), []).append(entry)
    figure, axes = plt.subplots(len(DATA), len(PAPERS), figsize=(14, 6.5), sharex=True, sharey="row")
    for (i, name), (k, method) in itertools.product(enumerate(DATA), enumerate(PAPERS)):
        ax = axes[i][k]
        ax.set_title(f"{name}, {method}", fontsize=10)
        for scaling, colour in zip(SCALINGS, ("C1", "C0"), strict=True):
            group = groups.get((name, scaling, method))
            if group is None:
                continue
            x = [statistics.fmean(values) for values in zip(*(entry["features"] for entry in group), strict=True)]
            shares = list(zip(*(entry["correct"] for entry in group), strict=True))
            y = [100 * statistics.fmean(values) for values in shares]
            bars = [100 * of_mean(values) if len(values) > 1 else 0.0 for values in shares]
            style = {"color": colour, "markersize": 3, "linewidth": 1, "capsize": 2}
            ax.errorbar(x, y, bars, fmt="o-", label=SHOWN[scaling], **style)
            ax.axhline(100 * group[0]["majority"], color="grey", linewidth=0.8)
        ax.grid(alpha=0.3)
        if ax.has_data():
            ax.legend(fontsize=7)
        if i == len(DATA) - 1:
            ax.set_xlabel("features")
        if k == 0:
            ax.set_ylabel("tenfold correctness, %")
    figure.suptitle("Tenfold correctness against number of features, lambda = 0 ... 0.95; grey: the majority class")
    figure.tight_layout()
    figure.savefig(path, dpi=100)
    plt.close(figure)
