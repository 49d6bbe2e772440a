"""Date, machine and versions of a run."""

import datetime
import importlib.metadata
import os
import platform
import runpy
from pathlib import Path

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
PACKAGES = ("pyomo", "numpy", "scipy", "scikit-learn", "highspy", "clarabel", "pyscipopt", "gurobipy")


def about(*packages, **facts):
    """Return date, machine and versions of a run, and further facts such as seeds and limits."""
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "versions": versions(*packages),
        "machine": f"{platform.system()} {platform.machine()}, {_processor()}",
        "cores": os.cpu_count(),
        "load average at the start": load(),
        "threads": {name: os.environ.get(name) for name in THREAD_VARIABLES},
        **facts,
    }


def versions(*packages):
    """Return the version of each package, None if it is not installed; for fsmodels that of this repository."""
    found = {}
    for name in packages:
        if name == "fsmodels":
            found[name] = runpy.run_path(str(Path(__file__).parents[2] / "fsmodels" / "version.py"))["__version__"]
            continue
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return found


def load():
    """Return the load average of the last minute; None on Windows."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def _processor():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:  # not Linux
        return platform.processor() or "unknown processor"
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown processor")
