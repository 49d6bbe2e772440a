"""Picture of ``multivariate_tables``: figures 1 to 3 and 5 to 7 of Mao and Tsang 2013 with our data."""

import itertools
import math
import statistics

from benchmarks.papers.mao.records import ERRORS
from benchmarks.papers.mao.tasks import ALL, FGM, L1, LOSSES, MANY, OURS, RFE, SENSITIVE, TEXTS

COLOURS = {OURS: "C0", ERRORS: "C1", FGM: "C5", L1: "C2", RFE: "C4", "l1 for F1 (B = 1)": "C3"}
BOTH = ((ERRORS, "FSmulti for errors"), (ALL, "structural SVM"))


def draw(found, path):
    """Draw all panels; return the path."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    figure, axes = plt.subplots(3, 4, figsize=(17, 10), layout="constrained")
    work = [lambda ax, loss=loss: sensitivity(ax, found, loss) for loss in ("hamming", "f1")]
    work += [lambda ax, name=name: seconds(ax, found, name) for name in (SENSITIVE, "dogs")]
    work += [lambda ax, task=task: accuracy(ax, found, task) for task in TEXTS]
    work += [lambda ax: bags(ax, found)]
    work += [lambda ax, rival=rival, title=title: improvement(ax, found, rival, title) for rival, title in BOTH]
    work += [lambda ax: rivals(ax, found)]
    for ax, each in zip(axes.ravel(), work, strict=True):
        each(ax)
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


def sensitivity(ax, found, loss):
    """Figure 1: the measure against B, a line for each C."""
    for c in sorted({r["c"] for r in found.grid}):
        rows = sorted((r for r in found.grid if r["c"] == c and r["loss"] == loss), key=lambda r: r["B"])
        ax.plot([r["B"] for r in rows], [r["test"][loss] for r in rows], "o-", markersize=3, label=f"C = {c:g} n")
    ax.set_xscale("log")
    name = {"hamming": "accuracy, loss: errors", "f1": "F1, loss: F1"}[loss]
    titled(ax, f"Figure 1: {TEXTS[SENSITIVE]}", "B", f"test {name}, %")


def seconds(ax, found, task):
    """Figure 2: seconds of a fit against features."""
    here = [p for p in found.points if p["task"] == task]
    for name in dict.fromkeys(map(named, here)):
        rows = sorted((p for p in here if named(p) == name), key=lambda p: p["features"])
        xy = [(p["features"], max(p["fit_cpu"], 0.01)) for p in rows if p["features"]]
        ax.loglog(*zip(*xy, strict=True), "o-", markersize=3, color=COLOURS[name], label=name)
    titled(ax, f"Figure 2: {TEXTS.get(task, 'Corel dogs (MILES)')}", "features", "CPU seconds")


def accuracy(ax, found, task):
    """Figure 3: accuracy against features."""
    here = [p for p in found.points if p["task"] == task and p["loss"] in ("hamming", None)]
    for name in dict.fromkeys(map(named, here)):
        rows = sorted((p for p in here if named(p) == name), key=lambda p: p["features"])
        ax.plot(
            [p["features"] for p in rows],
            [p["test"]["hamming"] for p in rows],
            "o-",
            markersize=3,
            color=COLOURS[name],
            label=name,
        )
    ax.set_xscale("log")
    titled(ax, f"Figure 3: {TEXTS[task]}", "features", "test accuracy, %")


def bags(ax, found):
    """Figure 5: F1 of each set at B = 10, a point for each method."""
    rows = [r for r in found.bags if r["B"] == 10]
    sets = list(dict.fromkeys(r["task"] for r in rows))
    for name in dict.fromkeys(r["method"] for r in rows):
        here = [r for r in rows if r["method"] == name]
        colour = COLOURS.get(name, "C0")
        ax.plot([sets.index(r["task"]) for r in here], [r["f1"] for r in here], "o", markersize=5, color=colour)
        ax.plot([], [], "o", color=colour, label=name)
    ax.set_xticks(range(len(sets)), sets, rotation=60, fontsize=7)
    titled(ax, "Figure 5: bags (MILES), B = 10", "", "test F1, %")


def improvement(ax, found, rival, title):
    """Figure 6: FSmulti minus another method by B, mean over the classes of a collection."""
    for measure in LOSSES:
        here = [r for r in found.contests if r["rival"] == rival and r["measure"] == measure and r["group"] in MANY]
        line(ax, here, measure)
    titled(ax, f"Figure 6: less {title}", "B", "points, mean over classes")


def rivals(ax, found):
    """Figure 7: FSmulti for F1 minus l1 and minus RFE by B."""
    for rival, group in itertools.product((L1, RFE), MANY):
        line(ax, [r for r in found.contests if r["rival"] == rival and r["group"] == group], f"{rival}, {group}")
    titled(ax, "Figure 7: FSmulti for F1 less l1, RFE", "B", "points of F1, mean over classes")


def line(ax, rows, label):
    """Plot mean and standard error of differences against B."""
    order = sorted({r["B"] for r in rows})
    values = [[r["difference"] for r in rows if r["B"] == B] for B in order]
    error = [statistics.stdev(v) / math.sqrt(len(v)) if len(v) > 1 else 0.0 for v in values]
    if order:
        ax.errorbar(order, list(map(statistics.fmean, values)), error, fmt="o-", markersize=3, capsize=2, label=label)
        ax.set_xscale("log")
        ax.set_xlim(1.5, 350)
        ax.axhline(0.0, color="black", linewidth=0.6)
