"""Figures of multivariate_tables.py, after figures 1, 2, 4, 5 to 7 of Mao and Tsang 2013."""

import itertools
import math
import statistics

import numpy as np

COLOURS = {
    "FSmulti F1": "C0",
    "FSmulti errors": "C1",
    "l1": "C2",
    "l1 balanced": "C3",
    "RFE": "C4",
    "structural SVM F1": "0.4",
}
OURS = {"FSmulti F1": "f1", "FSmulti errors": "hamming"}


def draw(records, tasks, out):
    """Draw what there are records for; return name and title of each file."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    table = [r for r in records if r["kind"] == "table"]
    sensitivity = [r for r in records if r["kind"] == "sensitivity"]
    jobs = {
        "f1": ("Test F1 against number of features (figures 5 and 7)", by_features, table),
        "time": ("Seconds of training against number of features (figure 2)", times, table),
        "improvement": ("FSmulti for the measure less other methods, mean over tasks (figure 6)", improvement, table),
        "nesting": ("Features of FSmulti for F1 at each B (figure 4)", nesting, table),
        "sensitivity": ("Measures and features against B and C (figure 1)", sensitivities, sensitivity),
    }
    made = {}
    for name, (title, work, rows) in jobs.items():
        figure = work(plt, rows, tasks)
        if figure is None:
            continue
        path = out.with_name(f"{out.name}_{name}.png")
        figure.suptitle(title, fontsize=11)
        figure.savefig(path, dpi=100)
        plt.close(figure)
        made[path.name] = title
    return made


def panels(plt, names, height=3.2):
    """Return a figure, and an axis for each name."""
    columns = min(4, len(names))
    rows = math.ceil(len(names) / columns)
    size = (4.2 * columns, height * rows + 0.4)
    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    for ax in axes.ravel()[len(names) :]:
        ax.set_visible(False)
    for ax, name in zip(axes.ravel(), names, strict=False):
        ax.set_title(name, fontsize=10)
        ax.grid(alpha=0.3)
    return figure, dict(zip(names, axes.ravel(), strict=False))


def lines(records, task):
    """Return the points (a row of a path or a fit) of each method on a task, by number of features."""
    here = [r for r in records if r["task"] == task]
    found = {
        name: sorted((r for r in here if (r["method"], r.get("loss")) == ("FSmulti", loss)), key=lambda r: r["B"])
        for name, loss in OURS.items()
    }
    for r in here:
        if "path" in r and r["method"] != "RFE":
            found[r["method"]] = [row for row in r["path"] if row["features"]]
        elif "path" in r:
            levels = itertools.groupby(sorted(r["path"], key=lambda row: row["features"]), lambda row: row["features"])
            found["RFE"] = [max(rows, key=lambda row: row["cv"]) for _, rows in levels]
        elif r["method"] == "structural SVM" and r["loss"] == "f1":
            found["structural SVM F1"] = [r]
    return {name: rows for name, rows in found.items() if rows}


def with_ours(records, tasks):
    """Return the tasks on which there is a fit of FSmulti."""
    return [t for t in tasks if any(r["task"] == t and r["method"] == "FSmulti" for r in records)]


def plotted(plt, records, tasks, value, label):
    """Plot a value of each point against its features."""
    names = with_ours(records, tasks)
    if not names:
        return None
    figure, axes = panels(plt, names)
    for name, ax in axes.items():
        for method, rows in lines(records, name).items():
            style = "o-" if method in OURS else "s" if len(rows) == 1 else "-"
            x, y = [row["features"] for row in rows], [value(row) for row in rows]
            ax.plot(x, y, style, color=COLOURS[method], markersize=4, linewidth=1, label=method)
        ax.set_xscale("log")
        ax.set_xlabel("features")
        ax.set_ylabel(label)
    next(iter(axes.values())).legend(fontsize=7)
    return figure


def by_features(plt, records, tasks):
    return plotted(plt, records, tasks, lambda row: row["test"]["f1"], "test F1, %")


def times(plt, records, tasks):
    figure = plotted(plt, records, tasks, lambda row: row["seconds"], "seconds (RFE: all so far)")
    for ax in figure.axes if figure else ():
        ax.set_yscale("log")
    return figure


def improvement(plt, records, tasks):
    """Plot the mean differences of each measure over the tasks with all its budgets."""
    fits = {(r["task"], r["method"], r["loss"], r["B"]): r for r in records if "path" not in r}
    budgets = sorted({B for (_, method, _, B) in fits if method == "FSmulti"})
    if not budgets:
        return None
    figure, axes = panels(plt, ["less FSmulti for errors", "less structural SVM for the measure"], height=3.6)
    rivals = dict(zip(axes, (lambda t, m, B: (t, "FSmulti", "hamming", B), structural), strict=True))
    for name, ax in axes.items():
        for measure in ("f1", "prbep", "rec@2p"):
            pairs = {B: [((t, "FSmulti", measure, B), rivals[name](t, measure, B)) for t in tasks] for B in budgets}
            both = {B: [p for p in found if p[0] in fits and p[1] in fits] for B, found in pairs.items()}
            most = max(map(len, both.values()))
            x = [B for B, found in both.items() if found and len(found) == most]
            y = [statistics.fmean(fits[a]["test"][measure] - fits[b]["test"][measure] for a, b in both[B]) for B in x]
            ax.plot(x, y, "o-", markersize=4, label=f"{measure} ({most} tasks)")
        ax.axhline(0.0, color="black", linewidth=0.6)
        ax.set_xlabel("B")
        ax.set_ylabel("percentage points")
        ax.legend(fontsize=8)
    return figure


def structural(task, measure, B):
    return task, "structural SVM", measure, None


def nesting(plt, records, tasks):
    """Draw the features of FSmulti for F1 at each B as a row, in the order of the least B that selects them."""
    names = with_ours(records, tasks)
    if not names:
        return None
    figure, axes = panels(plt, names, height=2.6)
    for name, ax in axes.items():
        rows = {r["B"]: r["selected"] for r in lines(records, name).get("FSmulti F1", [])}
        budgets = sorted(rows)
        order = list(dict.fromkeys(itertools.chain.from_iterable(rows[B] for B in budgets)))
        place = {j: k for k, j in enumerate(order)}
        image = np.full((len(budgets), max(1, len(order))), np.nan)
        for k, B in enumerate(budgets):
            image[k, [place[j] for j in rows[B]]] = k
        ax.imshow(image, aspect="auto", interpolation="nearest", cmap="tab10", vmin=0, vmax=9)
        ax.set_yticks(range(len(budgets)), [f"B = {B}" for B in budgets], fontsize=8)
        ax.set_xlabel("features, by the least B that selects them")
        ax.grid(visible=False)
    return figure


def sensitivities(plt, records, tasks):
    """Plot accuracy, F1 and features against B for each C, of FSmulti for errors and for F1."""
    if not records:
        return None
    shown = list(itertools.product(("hamming", "f1"), ("measure", "features")))
    titles = {("hamming", "measure"): "errors: test accuracy, %", ("f1", "measure"): "F1: test F1, %"}
    titles |= {("hamming", "features"): "errors: features", ("f1", "features"): "F1: features"}
    figure, axes = panels(plt, [titles[pair] for pair in shown])
    for (loss, what), c in itertools.product(shown, sorted({r["at"] for r in records})):
        rows = sorted((r for r in records if (r["loss"], r["at"]) == (loss, c)), key=lambda r: r["B"])
        ax = axes[titles[loss, what]]
        y = [r["features"] if what == "features" else r["test"][loss] for r in rows]
        ax.plot([r["B"] for r in rows], y, "o-", markersize=4, label=f"C = {c:g} n")
        ax.set_xscale("log")
        ax.set_xlabel(f"B ({records[0]['task']})")
        if what == "features":
            ax.set_yscale("log")
    next(iter(axes.values())).legend(fontsize=8)
    return figure
