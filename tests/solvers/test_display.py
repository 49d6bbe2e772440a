"""What a real terminal and a notebook show: a line under a table while it runs, the table alone at the end."""

import os
import subprocess
import sys

import pytest

from solvers import display

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no pty")

PROGRAM = """
import sys
from solvers import progress
rows = [["1", "root"]]
with progress.shown(True), progress.doing("tree", facts=lambda: ["7 nodes open"], left=lambda: 5.0):
    with progress.table(lambda: (["Iter", "Step"], rows)):
        progress._scene.draw()
        print("a word of the user", flush=True)
        with progress.paused():
            progress._scene.draw()
print("done")
"""


def test_a_terminal_shows_a_line_while_it_runs_and_keeps_the_table():
    import pty

    here, there = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100", "LINES": "30"}
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=there, stderr=there, env=environment) as child:
        os.close(there)
        said = b""
        while True:
            try:
                part = os.read(here, 65536)
            except OSError:  # the end of a terminal
                break
            if not part:
                break
            said += part
    os.close(here)
    text = said.decode()
    assert child.returncode == 0, text
    assert "0 s, 5 s left | tree | 7 nodes open" in text
    assert "a word of the user" in text
    assert "root" in text.rpartition("nodes open")[2]  # the table is written once more, without the line
    assert text.rstrip().endswith("done")
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h")  # the cursor is back


def test_where_there_is_no_terminal_nothing_comes_before_its_time():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("a word of the user\ndone\n", "")


def test_a_notebook_keeps_the_table_and_not_the_line(monkeypatch):
    ipython = pytest.importorskip("IPython.display")
    shown = []

    class Handle:
        def update(self, what):
            shown.append(what.data)

    monkeypatch.setattr(ipython, "display", lambda *_, **__: Handle())
    notebook = display.Notebook()
    notebook.open()
    notebook.draw("7 nodes <open>", (["a"], [["1"]]))
    notebook.keep((["a"], [["2"]]))
    notebook.close()
    assert "7 nodes &lt;open&gt;" in shown[0]
    assert "<td>2</td>" in shown[-1]
    assert "nodes" not in shown[-1]
