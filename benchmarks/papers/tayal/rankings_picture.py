"""The picture of ``kernel_rankings``: test error by number of features, a panel for each figure."""

import numpy as np

from benchmarks.papers.tayal.tasks import EFS, FILTERS, FULL, GMKL, NDCC

COLOURS = dict(zip((EFS, FULL, GMKL, *FILTERS), ("C3", "C0", "C1", "0.35", "0.55", "0.75"), strict=True))


def draw(curves, figures, path):
    """Draw the available curves, those of the grid with more divisions; return None without curves."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    panels = {NDCC: 5} | figures
    panels = {data: number for data, number in panels.items() if any(r["data"] == data for r in curves)}
    if not panels:
        return None
    across = min(3, len(panels))
    down = -(-len(panels) // across)
    figure, axes = plt.subplots(down, across, figsize=(5.5 * across, 4 * down), layout="constrained", squeeze=False)
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    for ax, (data, number) in zip(axes.flat, panels.items(), strict=False):
        here = [r for r in curves if r["data"] == data]
        grid = max(("paper", "coarse"), key=lambda g: len({r["split"] for r in here if r["grid"] == g}))
        here = [r for r in here if r["grid"] == grid]
        every = {r["split"] for r in here}
        for method, colour in COLOURS.items():
            errors = {}
            for r in here:
                if r["method"] == method:
                    errors.setdefault(r["k"], []).append(100 * r["error"])
            k = sorted(k for k, values in errors.items() if len(values) == len(every))  # means over the same divisions
            mean = [np.mean(errors[i]) for i in k]
            se = [np.std(errors[i], ddof=1) / len(every) ** 0.5 if len(every) > 1 else 0.0 for i in k]
            ax.errorbar(k, mean, se, marker="o", markersize=3, linewidth=1.2, color=colour, label=method)
        ax.set(title=f"Figure {number}: {data}, n = {len(every)}", xlabel="features", ylabel="test error, %")
        ax.set_xscale("log")
        ax.grid(alpha=0.3)
    axes[0, 0].legend(fontsize=8)
    figure.savefig(path, dpi=80)
    plt.close(figure)
    return path
