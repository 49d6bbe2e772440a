"""Draw ``docs/certificate.png``: bound and incumbent over the run, and the resulting classifier.

Run ``python -m benchmarks readme_picture [DATA] [MAX_FEATURES] [SOLVER]`` (by default wdbc, 3, branch-and-cut).
Everything in the picture comes from this one run.
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import fsmodels as fs

FILE = Path(__file__).resolve().parents[2] / "docs" / "certificate.png"


def draw(data: str, max_features: int, solver: str) -> fs.Selection:
    """Solve FSP-M on standardised data and write the picture."""
    found = fs.select(fs.load_dataset(data), max_features=max_features, solver=solver)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.3), width_ratios=[1.25, 1], layout="constrained")
    found.result.plot("iterations", left)
    found.plot(right)
    FILE.parent.mkdir(exist_ok=True)
    figure.savefig(FILE, dpi=110)
    plt.close(figure)
    return found


def main():
    given = sys.argv[1:]
    data, most, solver = [*given, *("wdbc", "3", "branch-and-cut")[len(given) :]]
    print(draw(data, int(most), solver))
    print(f"{FILE}: {FILE.stat().st_size / 1000:.0f} kB")
