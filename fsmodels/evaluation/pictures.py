"""Pictures of held-out errors, by matplotlib, which is imported when one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from fsmodels.selection.pictures import axes, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_comparison", "draw_folds"]

MARKERS = "osD^v"


def draw_folds(found: Any, ax: Axes | None) -> Axes:
    """Draw what ``CrossValidated.plot`` says."""
    from matplotlib.ticker import MaxNLocator

    ax = axes(ax)
    runs = found.runs[found.runs["selected"].notna()]
    sizes = pd.to_numeric(runs["n_selected"])
    ax.plot(sizes, 100 * pd.to_numeric(runs["error"]), "o", color="C7", markersize=4, alpha=0.7, label="a fold")
    spread = 100 * (found.standard_error or 0.0)
    label = "mean, one standard error"
    ax.errorbar([sizes.mean()], [100 * found.error], yerr=[spread], fmt="s", color="C0", capsize=4, label=label)
    ax.set_xlabel("features selected")
    ax.set_ylabel("held-out error, %")
    ax.set_ylim(bottom=0)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_title(f"{found.model} on {found.data.name}", fontsize="medium")
    ax.legend(fontsize="small")
    return ax


def draw_comparison(found: Any, ax: Axes | None) -> Axes:
    """Draw what ``Comparison.plot`` says."""
    ax = axes(ax)
    frame = found.table()
    frame = frame[frame["error"].notna()]
    for k, (name, row) in enumerate(frame.iterrows()):
        spread = 100 * (0.0 if row["se"] != row["se"] else row["se"])
        marker, color = MARKERS[k // 10 % len(MARKERS)], f"C{k % 10}"
        at = {"fmt": marker, "color": color, "capsize": 4, "markersize": 5, "label": name}
        ax.errorbar([row["n_selected"]], [100 * row["error"]], yerr=[spread], **at)
    ax.set_xlabel("features selected, mean over folds")
    ax.set_ylabel("held-out error, %")
    ax.set_ylim(bottom=0)
    ax.set_title(f"{found.data.name}: error with one standard error", fontsize="medium", loc="left")
    if len(frame):
        legend(ax)
    return ax
