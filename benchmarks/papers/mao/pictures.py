"""Picture of ``multivariate_tables``: figures 1 to 3 and 5 to 7 of Mao and Tsang 2013 with our data."""

import itertools

import pandas as pd

from benchmarks.papers.mao.records import ERRORS
from benchmarks.papers.mao.tasks import ALL, FGM, L1, LOSSES, MANY, OURS, RFE, SENSITIVE, TEXTS

COLOURS = {OURS: "C0", ERRORS: "C1", FGM: "C5", L1: "C2", RFE: "C4", "l1 for F1 (B = 1)": "C3"}


def draw(records, path):
    """Draw all panels; return the path."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    figure, axes = plt.subplots(3, 4, figsize=(17, 10), layout="constrained")
    panels = [(sensitivity, "hamming"), (sensitivity, "f1"), (seconds, SENSITIVE), (seconds, "dogs")]
    panels += [(accuracy, task) for task in TEXTS] + [(bags,)]
    panels += [(improvement, ERRORS), (improvement, ALL), (rivals,)]
    for ax, (panel, *which) in zip(axes.ravel(), panels, strict=True):
        panel(ax, records, *which)
        ax.grid(alpha=0.3)
        ax.set_visible(ax.has_data())
        for axis in (ax.xaxis, ax.yaxis):
            if axis.get_scale() == "log":
                axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
                axis.set_major_formatter(StrMethodFormatter("{x:g}"))
            axis.set_minor_formatter(NullFormatter())  # minor labels of a logarithmic axis overlap
        if ax.get_legend_handles_labels()[0]:
            ax.legend(fontsize=7)
    figure.savefig(path, dpi=80)
    plt.close(figure)
    return path


def titled(ax, title, x, y):
    ax.set_title(title, fontsize=10)
    ax.set_xlabel(x, fontsize=8)
    ax.set_ylabel(y, fontsize=8)


def named(p):
    """Return the name of the method of a point in the picture."""
    return ERRORS if p["method"] == OURS and p["loss"] == "hamming" else p["method"]


def sensitivity(ax, records, loss):
    """Figure 1: the measure against B, a line for each C."""
    for c in sorted({r["c"] for r in records["grid"]}):
        rows = sorted((r for r in records["grid"] if r["c"] == c and r["loss"] == loss), key=lambda r: r["B"])
        ax.plot([r["B"] for r in rows], [r["test"][loss] for r in rows], "o-", markersize=3, label=f"C = {c:g} n")
    ax.set_xscale("log")
    name = {"hamming": "accuracy, loss: errors", "f1": "F1, loss: F1"}[loss]
    titled(ax, f"Figure 1: {TEXTS[SENSITIVE]}", "B", f"test {name}, %")


def lines_by_method(ax, points, value):
    """Plot ``value`` of each point against its features, a line for each method."""
    for name in dict.fromkeys(map(named, points)):
        rows = sorted((p for p in points if named(p) == name and p["features"]), key=lambda p: p["features"])
        style = {"markersize": 3, "color": COLOURS[name], "label": name}
        ax.plot([p["features"] for p in rows], [value(p) for p in rows], "o-", **style)
    ax.set_xscale("log")


def seconds(ax, records, task):
    """Figure 2: seconds of a fit against features."""
    lines_by_method(ax, [p for p in records["points"] if p["task"] == task], lambda p: max(p["fit_cpu"], 0.01))
    ax.set_yscale("log")
    titled(ax, f"Figure 2: {TEXTS.get(task, 'Corel dogs (MILES)')}", "features", "CPU seconds")


def accuracy(ax, records, task):
    """Figure 3: accuracy against features."""
    here = [p for p in records["points"] if p["task"] == task and p["loss"] in ("hamming", None)]
    lines_by_method(ax, here, lambda p: p["test"]["hamming"])
    titled(ax, f"Figure 3: {TEXTS[task]}", "features", "test accuracy, %")


def bags(ax, records):
    """Figure 5: F1 of each set at B = 10, a point for each method."""
    rows = [r for r in records["bags"] if r["B"] == 10]
    sets = list(dict.fromkeys(r["task"] for r in rows))
    for name in dict.fromkeys(r["method"] for r in rows):
        here = [r for r in rows if r["method"] == name]
        colour = COLOURS.get(name, "C0")
        ax.plot([sets.index(r["task"]) for r in here], [r["f1"] for r in here], "o", markersize=5, color=colour)
        ax.plot([], [], "o", color=colour, label=name)
    ax.set_xticks(range(len(sets)), sets, rotation=60, fontsize=7)
    titled(ax, "Figure 5: bags (MILES), B = 10", "", "test F1, %")


def improvement(ax, records, rival):
    """Figure 6: FSmulti minus another method by B, mean over the classes of a collection."""
    here = [r for r in records["contests"] if r["rival"] == rival and r["group"] in MANY]
    for measure in LOSSES:
        line(ax, [r for r in here if r["measure"] == measure], measure)
    titled(ax, f"Figure 6: less {rival}", "B", "points, mean over classes")


def rivals(ax, records):
    """Figure 7: FSmulti for F1 minus l1 and minus RFE by B."""
    for rival, group in itertools.product((L1, RFE), MANY):
        here = [r for r in records["contests"] if r["rival"] == rival and r["group"] == group]
        line(ax, here, f"{rival}, {group}")
    titled(ax, "Figure 7: FSmulti for F1 less l1, RFE", "B", "points of F1, mean over classes")


def line(ax, rows, label):
    """Plot mean and standard error of differences against B."""
    if rows:
        by_B = pd.DataFrame(rows).groupby("B")["difference"].agg(["mean", "sem"]).fillna(0.0)
        ax.errorbar(by_B.index, by_B["mean"], by_B["sem"], fmt="o-", markersize=3, capsize=2, label=label)
        ax.set_xscale("log")
        ax.set_xlim(1.5, 350)
        ax.axhline(0.0, color="black", linewidth=0.6)
