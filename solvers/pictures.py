"""Plots of bound and incumbent over a run. matplotlib is imported when something is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from solvers.errors import OptionError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["axes", "clipped", "draw_result", "numbers"]

OVER = {"seconds": ("Time", "seconds"), "iterations": ("Iter", "iteration")}
NAME = 28  # characters of a name at an axis
FAR = 1.5  # largest distance from the final objective inside the plot, as a multiple of it


def axes(ax: Axes | None, height: float = 3.4, error: type[Exception] = OptionError) -> Axes:
    """Return the axes to draw on, by default those of a new figure. Raises ``error`` if ``ax`` is not Axes."""
    if ax is not None and not hasattr(ax, "errorbar"):
        raise error(f"ax is {type(ax).__name__}: give matplotlib's Axes, as in ax=plt.subplots()[1].")
    if ax is not None:
        return ax
    from matplotlib.figure import Figure

    try:
        import matplotlib.pyplot as plt

        return plt.subplots(figsize=(5.6, height), layout="constrained")[1]
    except ImportError:  # without the backend, the figure can still be saved
        return Figure(figsize=(5.6, height), layout="constrained").subplots()


def clipped(name: Any, width: int = NAME) -> str:
    """Return a name that fits at an axis, shortened in the middle, with escaped dollar signs.

    >>> clipped("mean_texture"), clipped("serum concentration of the first marker", 17)
    ('mean_texture', 'serum c... marker')
    """
    text = " ".join(str(name).split())
    if len(text) > width:
        kept = width - 3
        text = f"{text[: kept - kept // 2]}...{text[-(kept // 2) :]}"
    return text.replace("$", r"\$")


def draw_result(result: Any, over: str, ax: Axes | None, label: str) -> Axes:
    """Draw the plot of ``Result.plot``."""
    if over not in OVER:
        raise OptionError(f"over={over!r} is not allowed: use {' or '.join(OVER)}.")
    table = result.iterations
    if over == "iterations" and not len(table):
        raise OptionError(f'"{result.solver}" reports no iterations: draw over="seconds", the end of its run.')
    ax = axes(ax)
    color = f"C{sum(line.get_gid() == 'incumbent' for line in ax.get_lines()) % 10}"
    lead = f"{label}: " if label else ""
    x, incumbent, bound = _steps(result, over)
    line: dict[str, Any] = {"color": color, "drawstyle": "steps-post", "marker": "o", "markersize": 4}
    line["markevery"] = [len(x) - 1]  # a dot at the end of the run
    ax.plot(x, incumbent, label=f"{lead}best found", gid="incumbent", **line)
    if np.isfinite(bound).any():
        ax.plot(x, bound, "--", label=f"{lead}proven bound", gid="bound", **line)
        ax.fill_between(x, bound, incumbent, step="post", color=color, alpha=0.12, linewidth=0)
    ax.set_xlabel(OVER[over][1])
    ax.set_ylabel("objective")
    _look_at(ax)
    if not label and not ax.get_title():
        ax.set_title(clipped(_title(result), 70), fontsize="medium")
    if ax.get_legend_handles_labels()[1] and (result.has_solution or result.bound is not None):
        ax.legend(fontsize="small")
    else:
        ax.text(0.5, 0.5, "no point and no bound", transform=ax.transAxes, ha="center")
    return ax


def _steps(result: Any, over: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return positions, incumbents and bounds: those of the table, and the verified ones at the end of the run."""
    table = result.iterations
    columns: list[Any] = [numbers(table[name]) if len(table) else [] for name in (OVER[over][0], "Incumbent", "Bound")]
    end: Sequence[Any] = [result.seconds, result.objective, result.bound]
    if over == "iterations":
        end = [columns[0][-1], *end[1:]]
    x, incumbent, bound = (
        np.append(column, np.nan if last is None else float(last)) for column, last in zip(columns, end, strict=True)
    )
    return x, incumbent, bound


def numbers(column: Any) -> np.ndarray:
    """Return a column of a table as numbers, NaN for missing values."""
    return pd.to_numeric(column).to_numpy(dtype=float)


def _look_at(ax: Axes) -> None:
    """Set limits that leave out values far from the ends of the runs: a first bound or point may be any number."""
    lines = [line for line in ax.get_lines() if line.get_gid() in ("incumbent", "bound")]
    values = [np.asarray(line.get_ydata(), dtype=float) for line in lines]
    finite = np.concatenate([v[np.isfinite(v)] for v in values]) if values else np.empty(0)
    ends = np.array([v[-1] for v in values if np.isfinite(v[-1])])
    if not len(ends):
        return
    size = FAR * (float(np.abs(ends).max()) or float(np.abs(finite).max()) or 1.0)
    low, high = max(finite.min(), ends.min() - size), min(finite.max(), ends.max() + size)
    far = max(float(np.max(line.get_xdata())) for line in lines)
    ax.set_xlim(0, 1.04 * far or 1.0)
    margin = 0.05 * (high - low) or 0.05 * (abs(high) or 1.0)
    ax.set_ylim(low - margin, high + margin)


def _title(result: Any) -> str:
    """Return solver, status and gap at the end."""
    end = f"{result.solver}: {result.status.value}"
    if result.gap is None:
        return f"{end}, no bound" if result.has_solution else end
    percent = 100 * result.gap
    digits = f"{percent:.0f}" if percent >= 10 else f"{percent:.2g}" if percent > 5e-5 else "0"
    return f"{end}, gap {digits}%"
