"""Status lines in a terminal, a notebook and a pipe: shown during a call, and removed at its end."""

import io
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from solvers import progress

PROGRAM = """
import sys
import pyomo.environ as pyo
import solvers
from solvers import progress
m = pyo.ConcreteModel()
m.x = pyo.Var(bounds=(-1, 1))
m.o = pyo.Objective(expr=(m.x - 0.3) ** 2)
with progress.shown(True), progress.doing("tree", facts=lambda: ["7 nodes open"], left=lambda: 5.0):
    progress._scene.draw()
    solvers.solve(m, "cutting-plane", tee=True)
    progress._scene.draw()
print("done")
"""


@pytest.mark.skipif(os.name == "nt", reason="no pty")
def test_a_terminal_shows_the_line_between_the_rows_of_the_log():
    import pty

    here, there = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100", "LINES": "30"}
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=there, stderr=there, env=environment) as child:
        os.close(there)
        written = b""
        while True:
            try:
                part = os.read(here, 65536)
            except OSError:  # the end of a terminal
                break
            if not part:
                break
            written += part
    os.close(here)
    assert child.returncode == 0, written.decode()
    lines = [line.rpartition("\r")[2] for line in written.decode().replace("\r\n", "\n").strip("\n").split("\n")]
    assert "0 s, 5 s left | 7 nodes open | tree" in written.decode()
    assert lines[0].split() == ["Iter", "Step", "Objective", "Bound", "Incumbent", "Gap", "Cuts", "|S|", "Time"]
    assert lines[1].split()[:2] == ["0", "cuts"]
    assert lines[-1] == "done"


def test_a_pipe_gets_no_line_in_the_first_seconds():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60)
    assert (done.stdout.splitlines()[-1], done.stderr) == ("done", "")
    assert "nodes" not in done.stdout


def test_a_notebook_shows_one_line_and_removes_it(monkeypatch):
    running = SimpleNamespace(IPKernelApp=SimpleNamespace(initialized=lambda: True))
    monkeypatch.setitem(sys.modules, "ipykernel.kernelapp", running)
    monkeypatch.setattr(sys, "stdout", out := io.StringIO())
    line = progress.StatusLine()
    line.open()
    line.draw("7 nodes open")
    line.draw("8 nodes open")
    line.close()
    assert [part.strip() for part in out.getvalue().split("\r")] == ["", "7 nodes open", "8 nodes open", "", ""]


def test_a_script_that_imports_ipykernel_is_no_notebook():
    pytest.importorskip("ipykernel")
    program = f"import ipykernel.kernelapp\n{PROGRAM}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "done"
    assert "\r" not in done.stdout


def test_lines_of_a_pipe_are_ten_seconds_apart(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("sys.stderr", out := io.StringIO())
    line = progress.StatusLine(now=lambda: now[0])
    line.open()
    for second in range(31):
        now[0] = float(second)
        line.draw(f"at {second}")
    line.close()
    assert out.getvalue().splitlines() == ["at 10", "at 20", "at 30"]
