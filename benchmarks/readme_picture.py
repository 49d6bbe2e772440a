"""Draw ``docs/certificate.png``: how the bound meets the incumbent, and the classifier that comes out.

Run ``python benchmarks/readme_picture.py [DATA] [MAX_FEATURES] [SOLVER]`` (by default wdbc, 2, benders). Everything in
the picture comes from this one run.
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import fsmodels as fs

FILE = Path(__file__).resolve().parents[1] / "docs" / "certificate.png"
INK, ACCENT, QUIET = "#1f2933", "#c2410c", "#2563a8"


def draw(data: str, max_features: int, solver: str) -> fs.Selection:
    """Solve FSP-M on standardised data and write the picture."""
    found = fs.select(fs.load_dataset(data).scaled("standard"), max_features=max_features, solver=solver)
    table = found.result.iterations
    with plt.rc_context({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "text.color": INK}):
        figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.3), width_ratios=[1.5, 1], layout="constrained")
        left.step(table["Iter"], table["Incumbent"], where="post", color=ACCENT, label="best classifier found")
        left.step(table["Iter"], table["Bound"], where="post", color=QUIET, label="proven lower bound")
        left.fill_between(table["Iter"], table["Bound"], table["Incumbent"], step="post", color=QUIET, alpha=0.08, lw=0)
        left.set(xlabel="iteration", ylabel="objective")
        title = f"{data}, at most {max_features} of {found.data.n_features} features: {found.status.value}"
        left.set_title(title, loc="left", fontsize=11)
        left.legend(frameon=False, loc="upper right")
        names = sorted(found.selected, key=lambda name: abs(found.weights[name]))
        bars = right.barh([n.replace("_", " ") for n in names], [found.weights[n] for n in names], color=ACCENT)
        right.bar_label(bars, fmt="%.2f", padding=3)
        right.margins(x=0.15, y=0.6)
        right.axvline(0, color=INK, lw=0.8)
        right.set(xlabel="weight, standardised feature")
        right.set_title("the selected classifier", loc="left", fontsize=11)
        FILE.parent.mkdir(exist_ok=True)
        figure.savefig(FILE, dpi=110)
        plt.close(figure)
    return found


if __name__ == "__main__":
    given = sys.argv[1:]
    print(draw(given[0] if given else "wdbc", int(given[1]) if given[1:] else 2, given[2] if given[2:] else "benders"))
    print(f"{FILE}: {FILE.stat().st_size / 1000:.0f} kB")
