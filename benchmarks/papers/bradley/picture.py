"""The picture of ``concave_tables``: figures 1-8."""

import itertools
import statistics

import matplotlib

from benchmarks.papers.bradley.records import of_mean
from benchmarks.papers.bradley.tasks import DATA, PAPERS, SCALINGS, SHOWN

matplotlib.use("Agg")
import matplotlib.pyplot as plt


def draw(divisions, path):
    """Draw figures 1-8: share of correct labels by number of features, a panel for each method and problem."""
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
