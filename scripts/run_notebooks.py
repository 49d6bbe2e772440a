"""Execute every notebook from top to bottom; a failing cell, such as an assertion, fails the run.

    python scripts/run_notebooks.py [--write] [notebooks/NAME.ipynb ...]

With ``--write`` the outputs are stored in the notebooks, pictures included: tests/test_notebooks.py looks. Cells of
assertions are tagged ``remove-cell``, long code of a picture ``hide-input``; JupyterLab folds both.
"""

import argparse
import os
import re
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

FOLDER = Path(__file__).parents[1] / "notebooks"
CELL_SECONDS = 600


def main() -> int:
    """Run the notebooks named, or all; return 1 when one fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("notebooks", nargs="*", type=Path)
    parser.add_argument("--write", action="store_true", help="store the outputs")
    arguments = parser.parse_args()
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"  # with Agg no picture would be stored
    failed = 0
    for path in arguments.notebooks or sorted(FOLDER.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        start = time.perf_counter()
        try:
            NotebookClient(notebook, timeout=CELL_SECONDS, resources={"metadata": {"path": str(path.parent)}}).execute()
        except CellExecutionError as error:
            failed += 1
            print(f"{path.name}: FAILED\n{error}", file=sys.stderr)
            continue
        print(f"{path.name}: {time.perf_counter() - start:.0f} s")
        if arguments.write:
            for cell in notebook.cells:
                cell.metadata.pop("execution", None)  # times of the run: noise in a diff
                for output in cell.get("outputs", ()):
                    if "text/plain" in output.get("data", {}):  # so are addresses
                        output["data"]["text/plain"] = re.sub(r" at 0x[0-9a-f]+", "", output["data"]["text/plain"])
            nbformat.write(notebook, path)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
