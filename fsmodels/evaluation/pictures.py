"""Pictures of held-out errors, by matplotlib, which is imported when one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fsmodels.selection.pictures import NAMES, axes, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_chosen", "draw_comparison", "draw_folds"]

MARKERS = "osD^v"
DODGE = 0.02  # of the width


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
    room = DODGE * float(np.ptp(frame["n_selected"]) or 1.0) if len(frame) else 0.0
    beside: dict[float, int] = {}  # models with as many features stand side by side
    for k, (name, row) in enumerate(frame.iterrows()):
        size = float(row["n_selected"])
        place = beside[size] = beside.get(size, -1) + 1
        x = size + room * (place - (int((frame["n_selected"] == size).sum()) - 1) / 2)
        spread = 100 * (0.0 if row["se"] != row["se"] else row["se"])
        at: dict[str, Any] = {"fmt": MARKERS[k // 10 % len(MARKERS)], "color": f"C{k % 10}", "label": name}
        ax.errorbar([x], [100 * row["error"]], yerr=[spread], capsize=3, markersize=5, **at)
    ax.set_xlabel("features selected, mean over folds")
    ax.set_ylabel("held-out error, %")
    ax.set_ylim(bottom=0)
    ax.set_title(f"{found.data.name}: error with one standard error", fontsize="medium", loc="left")
    if len(frame):
        legend(ax)
    return ax


def draw_chosen(found: Any, ax: Axes | None) -> Axes:
    """Draw what ``Chosen.plot`` says."""
    ax = axes(ax)
    first, *others = found.inner.index.names
    frame = found.inner.reset_index()
    numbers = pd.api.types.is_numeric_dtype(frame[first])
    places = dict(zip(frame[first].unique(), range(frame[first].nunique()), strict=True))
    groups = list(frame.groupby(others[0] if len(others) == 1 else others, sort=False)) if others else [("", frame)]
    for k, (value, part) in enumerate(groups):
        x = part[first] if numbers else part[first].map(places)
        values = value if isinstance(value, tuple) else (value,)
        label = ", ".join(f"{name}={one}" for name, one in zip(others, values, strict=False))
        ax.errorbar(
            x, 100 * part["error"], yerr=100 * part["se"].fillna(0.0), fmt="o-", color=f"C{k % 10}", capsize=3,
            markersize=4, label=f"inner folds{f', {label}' if label else ''}",
        )  # fmt: skip
    taken = frame[frame["chosen"]]
    at = taken[first] if numbers else taken[first].map(places)
    ax.plot(at, 100 * taken["error"], "o", color="black", markersize=10, fillstyle="none", label="chosen")
    if found.error is not None:
        spread, middle = 100 * (found.standard_error or 0.0), 100 * found.error
        ax.axhspan(middle - spread, middle + spread, color="C7", alpha=0.25, linewidth=0)
        ax.axhline(middle, color="C7", linestyle="--", label="the procedure, honest")
    if not numbers:
        ax.set_xticks(range(len(places)), [str(value)[:16] for value in places])
    elif first in ("C", "penalty", "R_plus", "R_minus") and (frame[first] > 0).all():
        ax.set_xscale("log")
    ax.set_xlabel(NAMES.get(first, first))
    ax.set_ylabel("held-out error, %")
    ax.set_ylim(bottom=0)
    legend(ax)
    return ax
