"""Ctrl-C in runs by workers: what is finished is kept, the workers end, and nothing is said of what they leave."""

import json
import os
import subprocess
import sys
import time

import pytest

import fsmodels as fs
from fsmodels.evaluation import folds, stability
from fsmodels.selection.request import Request
from solvers import StopReason

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX signals")

# The second of four runs presses Ctrl-C, once for this process alone or once for all of a terminal; two would take
# minutes. A shell's background job ignores Ctrl-C, and its children would.
PROGRAM = """
import os, signal, sys, time
import numpy as np
signal.signal(signal.SIGINT, signal.default_int_handler)
import fsmodels as fs
from fsmodels.selection.workers import each
from solvers import progress

quick = 3 if "starting" in sys.argv else 2

def slowly(k):
    from pyomo.common.dependencies import multiprocessing
    multiprocessing.Lock  # Pyomo creates a semaphore
    with open(os.environ["PIDS"], "a") as file:
        print(os.getpid(), file=file)
    while len(pids := open(os.environ["PIDS"]).read().split()) < 2 or pids[0] != str(os.getpid()):
        time.sleep(0.1)
    return k

class Slow:
    # A number that only the first worker unpickles
    def __init__(self, k):
        self.k = k
    def __reduce__(self):
        return slowly, (self.k,)

def run(k):
    with open(os.environ["PIDS"], "a") as file:
        print(os.getpid(), file=file)
    if k < quick:
        return k
    rng = np.random.default_rng(k)
    X = rng.normal(size=(300, 60))
    data = fs.Dataset.from_arrays(X, np.where(X @ rng.uniform(-1, 1, 60) + 3 * rng.normal(size=300) > 0, 1, -1))
    return fs.select(data, max_features=8, gap=1e-9, time_limit=1000).selected

def one(count):
    count.done += 1
    if count.done == 2:
        (os.kill if sys.argv[1] == "one" else os.killpg)(os.getpid(), signal.SIGINT)

if __name__ == "__main__":
    progress.Count.one = one
    kept = {}
    items = [Slow(k) for k in range(4)] if "starting" in sys.argv else range(4)
    print(each(run, items, 2, kept.__setitem__), sorted(kept))
"""


@pytest.mark.parametrize("pressed", ["one", "group", "one starting"])
def test_ctrl_c_keeps_what_is_finished_and_ends_the_workers(tmp_path, pressed):
    script, pids = tmp_path / "program.py", tmp_path / "pids"
    script.write_text(PROGRAM)
    words, pipes = (
        [sys.executable, str(script), *pressed.split()],
        {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE},
    )
    environment = os.environ | {"PIDS": str(pids)}
    with subprocess.Popen(words, **pipes, text=True, env=environment, start_new_session=True) as child:
        out, err = child.communicate(timeout=600)
    assert (child.returncode, out.split(maxsplit=1)[0], err) == (0, "False", "")
    assert len(json.loads(out.split(maxsplit=1)[1])) == 1
    workers = {int(pid) for pid in pids.read_text().split()}
    assert workers
    assert child.pid not in workers
    for _ in range(200):  # they are reaped by another process
        if not any(_alive(pid) for pid in workers):
            break
        time.sleep(0.05)
    assert not [pid for pid in workers if _alive(pid)]


def _alive(pid):
    try:
        os.kill(pid, 0)
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_ctrl_c_in_the_first_solve_ends_all_of_them(monkeypatch):
    class Stopped:
        stop_reason = StopReason.INTERRUPTED
        has_solution = False

    monkeypatch.setattr(Request, "solve", lambda _: Stopped())
    monkeypatch.setattr(stability, "Folds", lambda *_: pytest.fail("went on"))
    with pytest.raises(KeyboardInterrupt):
        fs.stability(fs.load_dataset("bupa"), max_features=2, bootstraps=2)


def test_an_interrupted_run_does_not_count(monkeypatch):
    monkeypatch.setattr(folds.FoldRun, "run", lambda _: {"stop_reason": StopReason.INTERRUPTED.value})
    with pytest.raises(KeyboardInterrupt):
        fs.cross_validate(fs.load_dataset("bupa"), "rfe", max_features=2, cv=2)


def test_a_path_is_kept_where_ctrl_c_comes_in_its_folds(monkeypatch):
    def pressed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("fsmodels.selection.path._of_fold", pressed)
    found = fs.path(fs.load_dataset("bupa"), max_features=[1, 2], folds=3)
    assert len(found) == 2
    assert found.errors is None
