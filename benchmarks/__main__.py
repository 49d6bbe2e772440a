"""Run a benchmark by its name: ``python -m benchmarks NAME [options]``; without a name, list them."""

import importlib
import os
import sys
from pathlib import Path

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")  # read once, by numpy
FOLDER = Path(__file__).parent


def commands():
    """Return the name of each module with a function ``main``, and its path as a module."""
    files = [path for path in FOLDER.glob("*/**/*.py") if "\ndef main(" in path.read_text("utf-8")]
    return {path.stem: ".".join(path.relative_to(FOLDER.parent).with_suffix("").parts) for path in sorted(files)}


if __name__ == "__main__":
    known = commands()
    name = sys.argv.pop(1).removesuffix(".py") if len(sys.argv) > 1 else ""
    if name not in known:
        sys.exit(f"Usage: python -m benchmarks NAME [options], NAME one of: {', '.join(known)}.")
    sys.argv[0] = f"python -m benchmarks {name}"
    importlib.import_module(known[name]).main()
