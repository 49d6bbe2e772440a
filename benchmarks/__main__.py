"""Run a benchmark by its name: ``python -m benchmarks NAME [options]``; without a name, list them."""

import importlib
import os
import re
import sys
from pathlib import Path

# numpy reads these variables when it is imported.
os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
FOLDER = Path(__file__).parent


def is_command(source):
    """Return True if the source of a module defines ``main``, or ``work`` and ``page``, or exports ``work``."""
    defined = [re.search(rf"^def {name}\(", source, re.MULTILINE) for name in ("work", "page")]
    other = re.search(r'^def main\((words=None)?\)|^__all__ = .*"work"', source, re.MULTILINE)
    return bool(other or all(defined))


def commands():
    """Return a dictionary from the name of each benchmark to its module path."""
    files = [path for path in sorted(FOLDER.glob("*/**/*.py")) if is_command(path.read_text("utf-8"))]
    return {path.stem: ".".join(path.relative_to(FOLDER.parent).with_suffix("").parts) for path in files}


if __name__ == "__main__":
    from benchmarks.harness import run  # imports numpy, so the variables above must be set before

    known = commands()
    name = sys.argv.pop(1).removesuffix(".py") if len(sys.argv) > 1 else ""
    if name not in known:
        sys.exit(f"Usage: python -m benchmarks NAME [options], NAME one of: {', '.join(known)}.")
    sys.argv[0] = f"python -m benchmarks {name}"
    module = importlib.import_module(known[name])
    module.main() if hasattr(module, "main") else run.main(module)
