"""Figures 1 and 2 of Peleg and Meir 2005 with our numbers."""

import numpy as np

from benchmarks.papers.peleg_meir import paper


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
