"""Pictures of paths and of stability, by matplotlib, which is imported when one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fsmodels.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_frequencies", "draw_path"]

MOST_BARS = 40  # features shown
NAMES = {"max_features": "features allowed", "budget": "sum of shares", "C": "C", "penalty": "penalty"}


def axes(ax: Axes | None, height: float = 3.4) -> Axes:
    """Return the axes to draw on, a new figure's where none are given."""
    if ax is not None and not hasattr(ax, "errorbar"):
        raise ParameterError(f"ax is {type(ax).__name__}: give matplotlib's Axes, as in ax=plt.subplots()[1].")
    if ax is not None:
        return ax
    from matplotlib.figure import Figure

    try:
        import matplotlib.pyplot as plt

        return plt.subplots(figsize=(5.6, height), layout="constrained")[1]
    except ImportError:  # a backend that is not there: the figure can be saved all the same
        return Figure(figsize=(5.6, height), layout="constrained").subplots()


def draw_path(path: Any, y: str, ax: Axes | None) -> Axes:
    """Draw what ``SelectionPath.plot`` says."""
    ax = axes(ax)
    first, *others = path.index.names
    frame = path.table().reset_index()
    groups = list(frame.groupby(others[0] if len(others) == 1 else others, sort=False)) if others else [("", frame)]
    for k, (value, part) in enumerate(groups):
        color, tail = f"C{k % 10}", _named(others, value)
        x = _places(part[first])
        if y == "objective":
            ax.plot(x, _numbers(part["upper"]), "o-", color=color, label=f"best known objective{tail}", markersize=4)
            if part["lower"].notna().any():
                ax.plot(x, part["lower"], "_", color=color, label=f"proven bound{tail}")
                ax.fill_between(x, part["lower"], _numbers(part["upper"]), color=color, alpha=0.2, linewidth=0)
            continue
        ax.plot(x, 100 * _numbers(part["training_error"]), ":", color=color, label=f"training{tail}")
        if "cv_error" in part:
            mean, spread = 100 * _numbers(part["cv_error"]), 100 * _numbers(part["cv_se"])
            ax.errorbar(x, mean, yerr=spread, fmt="o-", color=color, capsize=3, markersize=4, label=f"held out{tail}")
        if "validation_error" in part:
            ax.plot(
                x, 100 * _numbers(part["validation_error"]), "s--", color=color, label=f"validation{tail}", markersize=4
            )
    ax.set_xlabel(NAMES.get(first, first))
    ax.set_ylabel("objective" if y == "objective" else "error, %")
    if any(isinstance(value, str) for value in frame[first]):
        ax.set_xticks(range(len(frame[first])), [str(value)[:16] for value in frame[first]])
    elif first in ("C", "penalty") and (frame[first] > 0).all():
        ax.set_xscale("log")
    else:
        from matplotlib.ticker import MaxNLocator

        ax.xaxis.set_major_locator(MaxNLocator(integer=first in ("max_features", "budget")))
    ax.legend(fontsize="small")
    return ax


def draw_frequencies(table: pd.DataFrame, runs: int, ax: Axes | None) -> Axes:
    """Draw how often each feature is selected, the most frequent on top."""
    shown = table[table["frequency"] > 0].sort_values("frequency", ascending=False, kind="stable")[:MOST_BARS][::-1]
    ax = axes(ax, height=max(1.6, 0.22 * len(shown) + 0.9))
    colors = ["C0" if chosen else "C7" for chosen in shown["selected"]]
    ax.barh(range(len(shown)), 100 * shown["frequency"], color=colors)
    ax.set_yticks(range(len(shown)), list(shown.index), fontsize="small")
    ax.set_xlim(0, 100)
    ax.set_xlabel(f"selected in % of {runs} runs (blue: on all data)")
    return ax


def _numbers(column: Any) -> np.ndarray:
    return pd.to_numeric(column).to_numpy(dtype=float)


def _places(column: Any) -> np.ndarray:
    return np.arange(len(column)) if column.map(lambda v: isinstance(v, str)).any() else _numbers(column)


def _named(names: list[str], value: Any) -> str:
    values = value if isinstance(value, tuple) else (value,) * len(names)
    told = (f"{v:g}" if isinstance(v, float | int) else str(v) for v in values)
    return "".join(f", {name}={text}" for name, text in zip(names, told, strict=True))
