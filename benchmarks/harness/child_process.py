"""Call a function in a separate process with one thread, which is killed at its limits of time and memory.

``call`` starts ``python -m benchmarks.harness.child_process MODULE FUNCTION ARGUMENTS FILE``.
"""

import importlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.harness.log import ROOT
from benchmarks.harness.provenance import THREAD_VARIABLES

FINISHED = "finished"


def call(function, *, seconds=float("inf"), megabytes=float("inf"), **arguments):
    """Return the result of a function of a module (None if it has none), and a dictionary on the end of the process.

    The dictionary has "outcome" ("finished", "killed: time", "killed: memory" or "error"), the "message" of an error,
    "peak_mb" and "wall_seconds". ``seconds`` limits wall-clock time.
    """
    with tempfile.TemporaryDirectory() as folder:
        out, errors = Path(folder) / "out.json", Path(folder) / "errors.txt"
        called = [function.__module__, function.__name__, json.dumps(arguments), str(out)]
        start, peak, outcome = time.perf_counter(), 0.0, FINISHED
        with errors.open("w") as file:
            child = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.harness.child_process", *called],
                cwd=ROOT,
                env=os.environ | dict.fromkeys(THREAD_VARIABLES, "1"),
                stdout=subprocess.DEVNULL,
                stderr=file,
            )
            try:
                while child.poll() is None and outcome == FINISHED:
                    peak = max(peak, peak_memory(child.pid) or 0.0)
                    if time.perf_counter() - start > seconds:
                        outcome = "killed: time"
                    elif peak > megabytes:
                        outcome = "killed: memory"
                    else:
                        time.sleep(0.05)
            finally:
                child.kill()
                child.wait()
        ended = {"outcome": outcome, "peak_mb": peak or None, "wall_seconds": time.perf_counter() - start}
        if outcome != FINISHED:
            return None, ended
        if out.exists():
            return json.loads(out.read_text()), ended
        last = errors.read_text().strip().splitlines()[-1:] or [f"ended with code {child.returncode}"]
        return None, ended | {"outcome": "error", "message": last[0][:400]}


def peak_memory(process="self"):
    """Return the peak resident memory of a process in MB of 10^6 bytes, None if it cannot be read."""
    try:  # not ru_maxrss, which in a new process starts at the value of its parent
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
        return next((int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith("VmHWM")), None)
    except OSError:  # the process has ended, or the system is not Linux
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6 if process == "self" else None


if __name__ == "__main__":
    module, name, arguments, out = sys.argv[1:]
    result = getattr(importlib.import_module(module), name)(**json.loads(arguments))
    Path(out).write_text(json.dumps(result))
