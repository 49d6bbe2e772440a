"""Peleg and Meir 2005, tables 3 and 4, figures 1 and 2: GMEB compared with linear SVM, 1-norm SVM and RFE.

    python -m benchmarks gmeb_tables          # two repetitions of the small sets: a minute or two
    python -m benchmarks gmeb_tables --full   # everything: about an hour of one core; repeat the command to continue
    python -m benchmarks gmeb_tables --page   # only the page from the log

One task is one data set, training part, scaling and method, on one thread. The protocol is on the page.
"""

import itertools
from collections import Counter

import numpy as np

from benchmarks.harness.differences import difference, in_words, listed, power_of, verdicts
from benchmarks.harness.page import Cell, Page, summary
from benchmarks.methods.gmeb import METHODS
from benchmarks.papers.peleg_meir import paper
from benchmarks.papers.peleg_meir.tasks import KEY, tasks, work

__all__ = ["NAME", "page", "tasks", "work"]
NAME = "gmeb_tables"
COMMAND = "python -m benchmarks gmeb_tables --full"
MIN_PAIRS = 5  # of a test
OTHERS = [method for method in METHODS if method != "GMEB"]
CHOICE = ("kind", "set", "scaling", "rep", "method")
KEPT = (*CHOICE, "error", "features", "relevant", "samples", "d", "cpu_seconds")
TYPE_ONE_ROWS = {"none, variance 20": "as they are", "standard, variance 20": "standardised"}
ON_REAL = {  # GMEB has significantly fewer, and more errors than another method on some set -> words
    (False, False): "no difference is shown",
    (True, False): "it makes fewer errors in some comparisons",
    (False, True): "it makes more errors in some comparisons",
    (True, True): "it makes fewer errors in some comparisons and more in others",
}
SCALING_ROWS = {"none": "as they are", "standard": "standardised"}


def page(log):
    """Return the page."""
    planned = tasks(full=True)
    wanted = {tuple(task.get(name) for name in KEY) for task in planned}
    entries = [entry for entry in log.entries(*KEY) if tuple(entry.get(name) for name in KEY) in wanted]
    choices = [
        {name: e[name] for name in KEPT} | {"share": e["features"] / e["d"]}
        for e in entries
        if e["kind"] in paper.CHOICES
    ]
    surfaces = [{k: v for k, v in e.items() if k != "surface"} for e in entries if e["kind"] == "figure 1"]
    page = Page(NAME, globals(), choices=choices, surfaces=surfaces)
    page.records["timings"] = [e for e in entries if e["kind"] == "speed"]
    page.key("choices", *CHOICE)
    page.key("surfaces", "set", "rep")
    _parts(page, entries, planned)
    power = {
        words: power_of(_tests(page, scaling), f"the tests with columns {words}")
        for scaling, words in SCALING_ROWS.items()
    }
    page.picture(f"{NAME}.png", draw, entries)
    page.values(surfaces=[([name, relevant], {"set": name}) for name, relevant in paper.FIGURE_ONE.items()])
    return page.values(power=" ".join(power.values()), **_answer(page))


def _parts(page, entries, planned):
    """Set the progress of each table and figure."""

    def table(task):
        if task["kind"] == "real":
            return ["Table 4", "Figure 2"] if task["method"] in ("GMEB", "RFE") else ["Table 4"]
        return [{"type 1": "Table 3", "type 2": "Type 2", "figure 1": "Figure 1", "speed": "Speed"}[task["kind"]]]

    done = Counter(name for entry in entries for name in table(entry))
    for name, of in Counter(name for task in planned for name in table(task)).items():
        page.part(name, done[name], of, COMMAND)
    sets = {entry["set"] for entry in entries if entry["kind"] == "real"}
    page.part("Table 1", int(done["Table 3"] > 0), 1, COMMAND)  # tables 1 and 2 describe the data
    page.part("Table 2", len(sets), len(paper.REAL), COMMAND)


def _where(kind, name, scaling, method):
    return {"kind": kind, "set": name, "scaling": scaling, "method": method}


def less_gmeb(kind, name, scaling, other):
    """Return the cell of the error of GMEB minus that of another method, in pairs, in per cent."""
    ours, theirs = (_where(kind, name, scaling, method) for method in ("GMEB", other))
    return Cell("choices", "error", "{mean:+.1f} ± {se:.1f}", ours, 100, theirs, ("rep",))


def _measured(kind, name, scaling, method):
    """Return error (features) of a method; on generated data with standard deviations and relevant features."""
    where = _where(kind, name, scaling, method)
    features = "{mean:.1f} ± {se:.1f}" if kind == "real" else "{mean:.1f} [{sd:.1f}]"
    error = "{mean:.1f} ± {se:.1f}" if kind == "real" else "{mean:.1f} ± {se:.1f} [{sd:.1f}]"
    parts = [Cell("choices", "error", error, where, 100), " (", Cell("choices", "features", features, where)]
    if kind != "real":
        parts += ["; ", Cell("choices", "relevant", "{mean:.1f}", where)]
    return [*parts, ")"]


def _stated(kind, numbers):
    if numbers[1] is None:
        return f"{numbers[0]} ({numbers[2]})"
    form = "{} ± {} ({} ± {})" if kind == "real" else "{} [{}] ({} [{}])"
    return form.format(*numbers)


def _rows(kind, name, said, numbers):
    """Return the row of the paper and our row for each scaling."""
    rows = [["paper", "", *(_stated(kind, cell) for cell in numbers), *paper.differences(numbers)]]
    for scaling, words in said.items():
        runs = Cell("choices", "error", "{n}", _where(kind, name, scaling, "GMEB"))
        own = [_measured(kind, name, scaling, method) for method in METHODS]
        rows.append([words, runs, *own, *(less_gmeb(kind, name, scaling, other) for other in OTHERS)])
    return rows


HEADER = ["columns", "n", *METHODS, *(f"GMEB less {other}" for other in OTHERS)]


def _labelled(page, title, parts):
    """Return a table with the row of the paper and our rows for each label."""
    rows = []
    for label, (first, *ours) in parts.items():
        rows += [[f"**{label}**", *first], *([label, *row] for row in ours)]
    return page.table([title, *HEADER], rows)


def type_one_table(page):
    parts = {size: _rows("type 1", size, TYPE_ONE_ROWS, numbers) for size, numbers in paper.TYPE_ONE.items()}
    return _labelled(page, "samples", parts)


def type_two_table(page):
    return page.table(HEADER, _rows("type 2", "type 2", SCALING_ROWS, paper.TYPE_TWO))


def real_table(page):
    rows = {name: _rows("real", name, SCALING_ROWS, numbers) for name, numbers in paper.REAL.items()}
    return _labelled(page, "set", {f"{paper.PLACES[name]} {name}": of for name, of in rows.items()})


def shares(page):
    rows = []
    for name, numbers in paper.REAL.items():
        row = [f"{paper.PLACES[name]} {name}", f"{paper.SHAPES[name][0]} x {paper.SHAPES[name][1]}"]
        used = _where("real", name, "none", "GMEB")
        sizes = [Cell("choices", "samples.train", "{mean:.0f}", used), " x ", Cell("choices", "d", "{most:.0f}", used)]
        row += [sizes]
        for method, k in (("GMEB", 3), ("RFE", 2)):
            row.append(f"{100 * numbers[k][2] / paper.SHAPES[name][1]:.1f}")
            for scaling in SCALING_ROWS:
                where = _where("real", name, scaling, method)
                row.append(Cell("choices", "share", "{mean:.1f}", where, 100))
        rows.append(row)
    header = ["set", "paper: samples x features", "ours, training"]
    for method in ("GMEB", "RFE"):
        header += [f"{method}, paper", *(f"{method}, {words}" for words in SCALING_ROWS.values())]
    return page.table(header, rows)


def speed(page):
    """Return the table of CPU seconds."""
    rows = []
    for name in ("WDBC", "Colon"):
        seconds = [Cell("choices", "cpu_seconds", "{mean:.1f}", _where("real", name, "none", m)) for m in METHODS]
        both = (("path", "{mean:.2f}"), ("cold", "{mean:.2f}"), ("times", "{mean:.0f}"))
        rows.append([name, *seconds, *(Cell("timings", value, form, {"set": name}) for value, form in both)])
    return page.table(["set", *METHODS, "path, 49 pairs", "Clarabel, one pair", "49 of those over the path"], rows)


def _left_open(page):
    """Return the variables of the section on what the paper does not specify."""

    def mean(kind, name, scaling, method, value):
        found = _numbers(page, Cell("choices", value, "", _where(kind, name, scaling, method)))
        return f"{found['mean'] * (100 if value == 'error' else 1):.1f}" if found else "–"

    counts = []
    for name in ("WDBC", "Pima", "Digits", "Colon"):
        ours = [mean("real", name, scaling, "SVM", "features") for scaling in SCALING_ROWS]
        counts.append(f"{name} {paper.REAL[name][0][2]} ({' and '.join(ours)})")
    noises = [mean("type 1", 50, f"none, {noise}", "1-norm SVM", "error") for noise in ("variance 20", "sd 20")]
    return {"counts": ", ".join(counts), "noises": noises}


def _numbers(page, cell):
    values = cell.values(page.records[cell.records])
    return summary(values) if values else None


def _answer(page):
    """Return the variables of the answer: all methods on type 1, and GMEB compared with the others on real sets."""
    raw, standard = TYPE_ONE_ROWS
    texts = {}
    for k, method in enumerate(METHODS):
        where, theirs = _where("type 1", 50, raw, method), paper.TYPE_ONE[50][k]
        error = page.say("choices", "error", "{mean:.1f} ± {se:.1f}", where, 100)
        features = page.say("choices", "features", "{mean:.1f}", where)
        texts[method] = f"{error}% with {features} features (paper: {theirs[0]}, {theirs[2]})"
    less = {size: _numbers(page, less_gmeb("type 1", size, standard, "1-norm SVM")) for size in (50, 30)}
    cells = {other: less_gmeb("type 1", 50, raw, other) for other in OTHERS}
    signs = verdicts({other: difference(cell.values(page.records["choices"])) for other, cell in cells.items()})
    runs = page.say("choices", "error", "{n}", _where("type 1", 50, raw, "GMEB"))
    lowest, tested, every = [], [], [0, 0]
    for scaling, words in SCALING_ROWS.items():
        first, measured = _lowest(page, scaling)
        lowest.append(f"on {first} of {measured} with columns {words}")
        below, above, tests = _clear(page, scaling)
        every = [every[0] + len(below), every[1] + len(above)]
        tested.append(
            f"significantly lower in {len(below)}{_of(below)} and higher in {len(above)}{_of(above)} of {tests} tests "
            f"with columns {words}"
        )
    return {
        "type_one": texts,
        "runs": runs,
        "type_two": less_gmeb("type 2", "type 2", "none", "1-norm SVM").text(page.records),
        "less": less,
        "beside": in_words({other: signs.get(other) for other in OTHERS}),
        "lowest": " and ".join(lowest),
        "tested": ", ".join(tested),
        "on_real": ON_REAL[every[0] > 0, every[1] > 0],
        **_left_open(page),
    }


def _lowest(page, scaling):
    """Return the number of sets on which no mean error is lower than that of GMEB, and the number of all sets."""
    lowest = measured = 0
    for name in paper.REAL:
        found = {m: _numbers(page, Cell("choices", "error", "", _where("real", name, scaling, m))) for m in METHODS}
        if all(found.values()):
            measured += 1
            lowest += found["GMEB"]["mean"] <= min(n["mean"] for n in found.values()) + 1e-12
    return lowest, measured


def _tests(page, scaling, corrected=True):
    """Return (set, method) -> test of the difference between GMEB and the method, for divisions that share samples."""
    tests, ratios = {}, _ratios(page)
    for name, other in itertools.product(paper.REAL, OTHERS):
        values = less_gmeb("real", name, scaling, other).values(page.records["choices"])
        if len(values) >= MIN_PAIRS:
            tests[name, other] = difference(values, ratios[name] if corrected else 0.0)
    return tests


def _ratios(page):
    """Return real set -> number of its test samples over that of its training samples."""
    real = (r for r in page.records["choices"] if r["kind"] == "real")
    return {r["set"]: r["samples"]["test"] / r["samples"]["train"] for r in real}


def without_correction(page):
    """Return a sentence on the sets with more test than training samples, for which the correction is large."""
    wide = {name: ratio for name, ratio in _ratios(page).items() if ratio > 1}
    if not wide:
        return ""
    found = {}
    for scaling, words in SCALING_ROWS.items():
        signs = verdicts({key: test for key, test in _tests(page, scaling, corrected=False).items() if key[0] in wide})
        for (name, other), sign in signs.items():
            if sign:
                found.setdefault((name, words, "fewer" if sign < 0 else "more"), []).append(other)
    shown = [
        f"{more} errors than {listed(of)} on {name} with columns {words}" for (name, words, more), of in found.items()
    ]
    sizes = ", ".join(f"{name} ({ratio:.0f})" for name, ratio in wide.items())
    return (
        f"Their correction grows with the ratio of test to training samples, which is above 1 for {sizes}; there only "
        f"large differences can be shown. Without it GMEB makes {listed(shown) or 'neither fewer nor more errors'}."
    )


def _clear(page, scaling):
    """Return the sets on which GMEB is significantly better and worse than another method, and the number of tests."""
    tests = _tests(page, scaling)
    signs = verdicts(tests)
    below, above = ([name for (name, _), found in signs.items() if found == sign] for sign in (-1, 1))
    return below, above, len(tests)


def _of(names):
    """Return the names of sets in brackets."""
    return f" ({', '.join(dict.fromkeys(names))})" if names else ""


# ---- the picture


def draw(entries, path):
    """Draw figure 1 (error, features over the grid) and figure 2 (GMEB and RFE); None without records."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    surfaces = {name: [e["surface"] for e in entries if _is(e, "figure 1", name)] for name in paper.FIGURE_ONE}
    if not all(surfaces.values()):
        return None
    figure, axes = plt.subplots(3, 3, figsize=(13, 12), layout="constrained")
    for column, (name, found) in enumerate(surfaces.items()):
        error, features = (np.mean([np.reshape(s[k], (10, 10)) for s in found], axis=0) for k in (0, 1))
        row, place = np.unravel_index(np.argmin(error), error.shape)
        for ax, values, text in (
            (axes[0, column], 100 * error, "test error, %"),
            (axes[1, column], features, "features"),
        ):
            image = ax.imshow(values, origin="lower", cmap="viridis_r", extent=(0.5, 10.5, 0.5, 10.5))
            ax.plot(place + 1, row + 1, "*", color="red", markersize=12)
            ax.set(title=f"{name} ({paper.FIGURE_ONE[name]} of 100 relevant): {text}", xlabel="R-", ylabel="R+")
            figure.colorbar(image, ax=ax, shrink=0.8)
    for ax, source in zip(axes[2], ("paper", "none", "standard"), strict=True):
        for method, k, colour in (("GMEB", 3, "C0"), ("RFE", 2, "C1")):
            points = {name: _point(entries, name, method, k, source) for name in paper.REAL}
            points = {name: point for name, point in points.items() if point is not None}
            if points:
                ax.plot(*zip(*points.values(), strict=True), "o", color=colour, label=method)
            for name, point in points.items():
                ax.annotate(paper.PLACES[name], point, xytext=(4, 3), textcoords="offset points", fontsize=9)
        words = {"paper": "paper", "none": "here, columns as they are", "standard": "here, standardised"}[source]
        ax.set(title=f"Figure 2: {words}", xlabel="features selected, %", ylabel="test error, %")
        ax.set(xlim=(-3, 105), ylim=(-1, 40))
        ax.grid(alpha=0.3)
        ax.legend(fontsize=8)
    figure.savefig(path, dpi=80)
    plt.close(figure)
    return path


def _is(entry, kind, name):
    return entry["kind"] == kind and entry["set"] == name


def _point(entries, name, method, k, source):
    """Return share of features and error, both in per cent."""
    if source == "paper":
        error, _, features, _ = paper.REAL[name][k]
        return 100 * features / paper.SHAPES[name][1], error
    found = [e for e in entries if _is(e, "real", name) and (e["scaling"], e["method"]) == (source, method)]
    if not found:
        return None
    return 100 * np.mean([e["features"] / e["d"] for e in found]), 100 * np.mean([e["error"] for e in found])
