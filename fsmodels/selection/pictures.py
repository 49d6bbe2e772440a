"""Pictures of selections, paths, stability and held-out errors by matplotlib, which is imported on demand.

Each function draws on the given Axes, or on those of a new figure, and returns them.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import solvers.pictures
from fsmodels.errors import ParameterError
from fsmodels.selection.outcome import Outcome
from fsmodels.selection.report import has_kernel_weights, headline, number, percent, weight_label
from solvers.pictures import clipped, numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MOST_BARS = 40  # features shown
CHARACTER = 0.075  # inches of a small character
LOGARITHMIC = ("C", "penalty", "R_plus", "R_minus")  # parameters on a logarithmic axis
MOST_POINTS = 20  # values named below a heat map
NAMES = {"max_features": "features allowed", "budget": "sum of shares", "C": "C", "penalty": "penalty"}


def axes(ax: Axes | None, height: float = 3.4) -> Axes:
    """Return the given axes, or those of a new figure."""
    return solvers.pictures.axes(ax, height, ParameterError)


def draw_weights(found: Outcome, ax: Axes | None) -> Axes:
    """Draw the weights of a selection as described in ``Selection.plot``."""
    table = found.table()[:MOST_BARS][::-1]
    left_out = len(found.selected) - len(table)
    ax = axes(ax, height=max(2.0, 0.27 * len(table) + 1.5))
    title = clipped(f"{found.name} on {found.data.name}: {len(found.selected)} of {found.data.n_features} features", 64)
    ax.set_title(f"{title}\n{proof(found)}", fontsize="medium", loc="left")
    if not len(table):
        ax.set_axis_off()
        label = headline(found) if not found.has_solution else "No feature is selected."
        ax.text(0.0, 0.9, textwrap.fill(clipped(label, 400), 68), transform=ax.transAxes, va="top")
        return ax
    scaled, inside = table["weight"].to_numpy(), has_kernel_weights(found)
    ax.barh(range(len(table)), scaled, color=["C0" if w >= 0 else "C3" for w in scaled], height=0.7)
    ax.set_yticks(range(len(table)), [clipped(name) for name in table.index], fontsize="small")
    if found.data.scale.is_none:
        labels = [number(w, 3) for w in scaled]
    else:
        labels = [f"{number(w, 3)} ({number(v, 3)})" for w, v in zip(scaled, table["weight_original"], strict=True)]
    for k, (w, label) in enumerate(zip(scaled, labels, strict=True)):  # to the right of the bar, or of 0
        ax.annotate(label, (max(w, 0.0), k), (3, 0), textcoords="offset points", va="center", fontsize="small")
    ax.axvline(0.0, color="black", linewidth=0.8)
    low, high = min(scaled.min(), 0.0), max(scaled.max(), 0.0)
    longest, wide = (CHARACTER * max(map(len, texts)) for texts in (map(clipped, table.index), labels))
    space = max(1.0, 1.2 * ax.bbox.width / ax.figure.dpi - longest)  # width of the axes, in inches, without the names
    share = min(0.7, (wide + 0.1) / space)
    span = high - low or 1.0
    ax.set_xlim(low - 0.05 * span * (low < 0), high + span * share / (1 - share))
    ax.set_ylim(-0.7, len(table) - 0.3)
    under = [
        *_units(found),
        *([] if inside else _colour_legend(found)),
        *([f"{left_out} smaller weights not shown"] if left_out else []),
    ]
    ax.set_xlabel("\n".join(under), fontsize="small")
    return ax


def proof(found: Outcome) -> str:
    """Return the proof of a selection for a title, in two lines because axes may be narrow."""
    label = found.status.value
    if found.objective is None:
        return label
    label += f", objective {number(found.objective, 5)}"
    return label if found.gap is None else f"{label}\nbound {number(found.bound, 5)}, gap {percent(found.gap)}"


def _units(found: Outcome) -> list[str]:
    """Return the units of the weights."""
    word, method = weight_label(found), found.data.scale.method
    if found.data.scale.is_none:
        return [f"{word} per unit of the feature"]
    per = {"standard": "standard deviation", "minmax": "range"}.get(method, f"unit of the {method} scale")
    return [f"{word} per {per}", "(in brackets: per unit of the feature)"]


def _colour_legend(found: Outcome) -> list[str]:
    """Return the meaning of the colours."""
    positive, negative = map(clipped, found.data.classes)
    return [f"blue: larger values favour class {positive}", f"red: {negative}"]


def draw_scores(found: Outcome, ax: Axes | None) -> Axes:
    """Draw a histogram of the decisions on the training samples for each class."""
    ax = axes(ax)
    scores, positive = found.decision(found.data), found.data.y > 0
    edges = np.histogram_bin_edges(scores, 30).tolist()
    for rows, color, name in zip((positive, ~positive), ("C0", "C3"), found.data.classes, strict=True):
        ax.hist(scores[rows], edges, color=color, alpha=0.6, label=clipped(name))
    ax.axvline(0.0, color="black", linewidth=0.8)
    ax.set_xlabel(f"score, above 0: class {clipped(found.data.classes[0])}")
    ax.set_ylabel("training samples")
    legend(ax)
    return ax


def draw_path(path: Any, y: str, ax: Axes | None) -> Axes:
    """Draw a path as described in ``SelectionPath.plot``."""
    ax = axes(ax)
    first, *others = path.index.names
    frame = _placed(ax, path.table().reset_index(), first)
    for k, (tail, part) in enumerate(_groups(frame, others)):
        x, color = part["place"], f"C{k % 10}"
        if y == "objective":
            ax.plot(x, numbers(part["upper"]), "o-", color=color, label=f"best known objective{tail}", markersize=4)
            if part["lower"].notna().any():
                ax.plot(x, part["lower"], "_", color=color, label=f"proven bound{tail}")
                ax.fill_between(x, part["lower"], numbers(part["upper"]), color=color, alpha=0.2, linewidth=0)
            continue
        ax.plot(x, 100 * numbers(part["training_error"]), ":", color=color, label=f"training{tail}")
        if "cv_error" in part:
            mean, spread = 100 * numbers(part["cv_error"]), 100 * numbers(part["cv_se"])
            ax.errorbar(x, mean, yerr=spread, fmt="o-", color=color, capsize=3, markersize=4, label=f"held out{tail}")
        if "validation_error" in part:
            error = 100 * numbers(part["validation_error"])
            ax.plot(x, error, "s--", color=color, label=f"validation{tail}", markersize=4)
    ax.set_ylabel("objective" if y == "objective" else "error, %")
    legend(ax)
    return ax


def _placed(ax: Axes, frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """Prepare the axis of a parameter, and return the table with the positions of its values in column ``place``."""
    values = frame[name]
    ax.set_xlabel(NAMES.get(name, name))
    if not pd.api.types.is_numeric_dtype(values):
        places, texts = pd.factorize(values)
        ax.set_xticks(range(len(texts)), [str(text)[:16] for text in texts])
        return frame.assign(place=places)
    if name in LOGARITHMIC and (values > 0).all():
        ax.set_xscale("log")
    else:
        from matplotlib.ticker import MaxNLocator

        ax.xaxis.set_major_locator(MaxNLocator(6, integer=name in ("max_features", "budget")))
    return frame.assign(place=numbers(values))


def _groups(frame: pd.DataFrame, names: list[str]) -> list[tuple[str, pd.DataFrame]]:
    """Return the rows for each combination of parameter values, with a text for the legend."""
    if not names:
        return [("", frame)]
    groups = frame.groupby(names, sort=False)
    return [
        ("".join(f", {name}={_value(v)}" for name, v in zip(names, values, strict=True)), part)
        for values, part in groups
    ]


def legend(ax: Axes) -> None:
    """Add a legend, next to the picture if it has many lines."""
    many = len(ax.get_legend_handles_labels()[1]) > 5
    outside: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)} if many else {}
    ax.legend(fontsize="small", **outside)


def draw_features(path: Any, ax: Axes | None) -> Axes:
    """Draw features against the points of a path: weights, or the share of the folds that select them."""
    weights = pd.DataFrame([{n: one.weights.get(n, 0.0) for n in one.selected} for one in path.points])
    by_folds = path.frequencies is not None
    shown = path.frequencies.reset_index(drop=True) if by_folds else weights
    order = shown.abs().gt(0).mean().sort_values(ascending=False, kind="stable")
    names = [str(name) for name in order[order > 0].index][:MOST_BARS]
    held = shown.reindex(columns=names).T.to_numpy(dtype=float)
    ax = axes(ax, height=max(1.9, 0.22 * len(names) + 1.2))
    if by_folds:
        heat_map(ax, 100 * held, names, f"selected in % of {path.errors.shape[1]} folds", share=True)
        chosen = weights.reindex(columns=names).notna().T.to_numpy()
        ax.plot(*np.nonzero(chosen)[::-1], "o", color="C1", markersize=4, label="selected on all data")
        ax.legend(fontsize="small", loc="lower left", bbox_to_anchor=(0.0, 1.0), frameon=False)
    else:
        heat_map(ax, held, names, "weight as scaled")
    _name_points(ax, path.index)
    return ax


def heat_map(ax: Axes, values: np.ndarray, names: list[str], label: str, *, share: bool = False) -> None:
    """Draw values by feature (rows): shares from 0 to 100, or signed weights."""
    largest = 100.0 if share else float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
    colors: dict[str, Any] = {"cmap": "Blues" if share else "RdBu", "vmin": 0.0 if share else -largest, "vmax": largest}
    drawn = ax.imshow(values, aspect="auto", interpolation="nearest", **colors)
    ax.figure.colorbar(drawn, ax=ax, label=label)
    ax.set_yticks(range(len(names)), [clipped(name) for name in names], fontsize="small")


def _name_points(ax: Axes, index: pd.Index) -> None:
    """Label at most 20 points of a path below a heat map."""
    labels = [", ".join(_value(v) for v in (at if isinstance(at, tuple) else (at,))) for at in index]
    step = -(-len(labels) // MOST_POINTS)
    turned: dict[str, Any] = (
        {"rotation": 60, "ha": "right"} if max(map(len, labels), default=0) * len(labels[::step]) > 50 else {}
    )
    ax.set_xticks(
        range(0, len(labels), step), [clipped(text, 16) for text in labels[::step]], fontsize="small", **turned
    )
    ax.set_xlabel(", ".join(NAMES.get(name, name) for name in index.names))


def _value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float | int) else str(value)


def draw_frequencies(table: pd.DataFrame, runs: int, ax: Axes | None) -> Axes:
    """Draw the frequency of each feature, the most frequent on top."""
    shown = table[table["frequency"] > 0].sort_values("frequency", ascending=False, kind="stable")[:MOST_BARS][::-1]
    ax = axes(ax, height=max(1.6, 0.22 * len(shown) + 0.9))
    colors = ["C0" if chosen else "C7" for chosen in shown["selected"]]
    ax.barh(range(len(shown)), 100 * shown["frequency"], color=colors)
    ax.set_yticks(range(len(shown)), [clipped(name) for name in shown.index], fontsize="small")
    ax.set_xlim(0, 100)
    ax.set_xlabel(f"selected in % of {runs} runs (blue: on all data)")
    return ax


MARKERS = "osD^v"
DODGE = 0.02  # of the width, between models with the same number of features


def draw_folds(found: Any, ax: Axes | None) -> Axes:
    """Draw the errors of the folds as described in ``CrossValidated.plot``."""
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
    """Draw a comparison as described in ``Comparison.plot``."""
    ax = axes(ax)
    frame = found.table()
    frame = frame[frame["error"].notna()]
    room = DODGE * float(np.ptp(frame["n_selected"]) or 1.0) if len(frame) else 0.0
    counts: dict[float, int] = {}  # of models with the same number of features, which are drawn side by side
    for k, (name, row) in enumerate(frame.iterrows()):
        size = float(row["n_selected"])
        place = counts[size] = counts.get(size, -1) + 1
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
    """Draw inner errors and the choice as described in ``Chosen.plot``."""
    ax = axes(ax)
    first, *others = found.inner.index.names
    frame = _placed(ax, found.inner.reset_index(), first)
    for k, (tail, part) in enumerate(_groups(frame, others)):
        ax.errorbar(
            part["place"], 100 * part["error"], yerr=100 * part["se"].fillna(0.0), fmt="o-", color=f"C{k % 10}",
            capsize=3, markersize=4, label=f"inner folds{tail}",
        )  # fmt: skip
    taken = frame[frame["chosen"]]
    ax.plot(taken["place"], 100 * taken["error"], "o", color="black", markersize=10, fillstyle="none", label="chosen")
    if found.error is not None:
        spread, middle = 100 * (found.standard_error or 0.0), 100 * found.error
        ax.axhspan(middle - spread, middle + spread, color="C7", alpha=0.25, linewidth=0)
        ax.axhline(middle, color="C7", linestyle="--", label="procedure, held out")
    ax.set_ylabel("held-out error, %")
    ax.set_ylim(bottom=0)
    legend(ax)
    return ax
