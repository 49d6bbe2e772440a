"""Ctrl-C once and twice, and SIGTERM, at random moments of the command line: incumbent, bound and exit code."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress

import numpy as np
import pyomo.environ as pyo
import pytest

import fsmodels as fs
from fsmodels.cli import main
from solvers import StopReason, interrupt

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX signals")

# A shell's background job ignores Ctrl-C, and its children would.
PROGRAM = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from fsmodels.cli import main
sys.exit(main())
"""
HARD = {  # minutes each: the run is never over before the signal
    "fsp-m": ["--max-features", "8", "--gap", "1e-9"],
    "fsp-lambda": ["--penalty", "1", "--gap", "1e-9", "--solver", "benders"],
    "fsmulti": ["--max-features", "5", "--gap", "1e-12", "-C", "100"],
}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 60))
    y = np.where(X @ rng.uniform(-1, 1, 60) + 3 * rng.normal(size=300) > 0, 1, -1)
    path = tmp_path_factory.mktemp("data") / "table.csv"
    names = [f"x{j}" for j in range(60)]
    rows = [",".join([*map(repr, map(float, row)), str(label)]) for row, label in zip(X, y, strict=True)]
    path.write_text("\n".join([",".join([*names, "target"]), *rows]) + "\n", "utf-8")
    return path


def interrupted(table, tmp_path, model, signals, after):
    """Run a model; send each (seconds later, signal) once the table shows an incumbent; return exit code and result."""
    out = tmp_path / "out.json"
    command = [sys.executable, "-u", "-c", PROGRAM, "select", str(table), "--model", model, *HARD[model]]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*command, "--json", str(out)], **pipes) as child:
        for line in child.stdout:
            cells = line.split()
            if len(cells) >= 9 and cells[0].isdigit() and cells[-5] != "-":  # Incumbent
                break
        time.sleep(after)
        for pause, number in signals:
            time.sleep(pause)
            child.send_signal(number)
        _, err = child.communicate(timeout=600)
    assert "Traceback" not in err, err
    return child.returncode, json.loads(out.read_text("utf-8"))


def assert_kept(code, result):
    assert code == 0
    assert result["stop_reason"] == "interrupted"
    assert result["status"] == "feasible"
    assert result["selected"]
    assert 0 < result["bound"] <= result["objective"]


ONCE, TERM = [(0, signal.SIGINT)], [(0, signal.SIGTERM)]


def twice(pause):
    return [(0, signal.SIGINT), (pause, signal.SIGINT)]


@pytest.mark.parametrize(("model", "signals"), [("fsp-m", twice(0.2)), ("fsmulti", TERM)], ids=["fsp-m", "fsmulti"])
def test_a_run_of_the_command_line_keeps_what_it_has(table, tmp_path, model, signals):
    assert_kept(*interrupted(table, tmp_path, model, signals, 0.3))


@pytest.mark.slow
def test_at_any_moment(table, tmp_path):
    """FSMODELS_SOAK=5 sends the signals in 60 runs."""
    draw = random.Random(0)
    for k in range(max(3, round(12 * float(os.environ.get("FSMODELS_SOAK", "1"))))):
        model = list(HARD)[k % len(HARD)]
        signals = draw.choice([ONCE, TERM, twice(draw.uniform(0.1, 0.5)), twice(draw.uniform(0.1, 0.5))])
        assert_kept(*interrupted(table, tmp_path, model, signals, draw.uniform(0, 1.5)))


PRESSED = """
import os, signal, sys, threading, time
import numpy as np
signal.signal(signal.SIGINT, signal.default_int_handler)
import fsmodels as fs
import solvers.interfaces.highs, solvers.lp.highs
rng = np.random.default_rng(0)
X = rng.normal(size=(1500, 200))
data = fs.Dataset.from_arrays(X, np.where(X @ rng.normal(size=200) + 20 * rng.normal(size=1500) > 0, 1, -1))
inside, pressed = solvers.interfaces.highs.run, []
def press():
    pressed.append(time.process_time())  # a busy machine is not slower
    os.kill(os.getpid(), signal.SIGINT)
def run(highs, *arguments):
    if not pressed:
        pressed.append(0.0)
        threading.Timer(0.5, press).start()
    inside(highs, *arguments)
solvers.interfaces.highs.run = solvers.lp.highs.run = run
found = fs.select(data, sys.argv[1], penalty=0.05, time_limit=1000)
print(found.stop_reason.value, time.process_time() - pressed[-1])
"""


@pytest.mark.parametrize("model", ["fsv", "fss", "robust-lp"])
def test_a_long_linear_program_inside_stops_at_once(model):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PRESSED, model], capture_output=True, text=True, timeout=600
    )
    assert done.stdout, done.stderr
    stop, seconds = done.stdout.split()
    assert stop == "interrupted"
    assert float(seconds) < 5  # a tenth of a second alone; the LP takes ten


def stopped(*_, **__):
    signal.raise_signal(signal.SIGINT)
    raise ImportError("half of it")  # what an import makes of an exception inside it


@pytest.mark.parametrize(
    ("words", "where", "said"),
    [
        (["list"], "fsmodels.cli.commands.parse", "stopped by Ctrl-C."),
        (["list"], "fsmodels.cli.listing.run", "stopped by Ctrl-C."),
        (["predict", "a.json", "b.csv"], "fsmodels.cli.predict.load_selection", "stopped by Ctrl-C."),
        (["select", "bupa", "--model", "rfe"], "fsmodels.cli.request.load", "stopped by Ctrl-C before there was a sol"),
    ],
)
def test_ctrl_c_before_anything_was_done_is_a_line_and_an_exit_code(monkeypatch, capsys, words, where, said):
    monkeypatch.setattr(where, stopped)
    with signals_back():
        assert main(words) == 3
    err = capsys.readouterr().err
    assert err.startswith(f"Error: {said}")
    assert err.count("\n") == 1


@contextmanager
def signals_back():
    """Whoever started the tests may ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


COMMAND = """
import os, runpy, signal, sys
inside = signal.signal
inside(signal.SIGINT, signal.default_int_handler)
def told(*words):
    before = inside(*words)
    print(flush=True)
    return before
signal.signal = told  # until the package has the signal, Python prints its own traceback
sys.argv[0] = "bin/fsmodels"
from fsmodels.cli import main
sys.exit(main())
"""


@pytest.mark.parametrize("seconds", [0.0, 0.03, 0.06, 0.1, 0.2])
def test_ctrl_c_while_imports_run_prints_no_traceback(seconds):
    run = subprocess.Popen([sys.executable, "-c", COMMAND, "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    run.stdout.readline()
    time.sleep(seconds)
    run.send_signal(signal.SIGINT)
    assert b"Traceback" not in run.communicate(timeout=300)[1]
    assert run.returncode in (0, 3, -signal.SIGINT)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_pipe_without_a_reader_can_be_given_up(number, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    words = ["select", "bupa", "--model", "rfe", "--max-features", "1", "--json", str(tmp_path / "pipe")]
    program = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)" + PROGRAM.replace(
        "sys.exit", "from fsmodels.cli import output as f; old = f.write_file\n"
        "def write(*a): print('writing', flush=True); old(*a)\nf.write_file = write\nsys.exit"
    )  # fmt: skip
    run = subprocess.Popen([sys.executable, "-c", program, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert any(b"writing" in line for line in run.stdout)
    time.sleep(0.3)
    run.send_signal(number)
    _, err = run.communicate(timeout=300)
    assert b"before it was read" in err
    assert b"Traceback" not in err
    assert run.returncode == 2


def test_sighup_stays_ignored_where_it_was(capsys):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # nohup
    try:
        main(["list"])
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


WORKERS = """
import os, time
from fsmodels.selection.workers import each
def work(seconds):
    print(os.getpid(), flush=True)
    time.sleep(seconds)
each(work, [60, 60], 2, print)
"""


def test_workers_end_with_a_parent_that_is_killed():
    run = subprocess.Popen([sys.executable, "-c", WORKERS], stdout=subprocess.PIPE)
    workers = [int(run.stdout.readline()) for _ in range(2)]
    run.kill()
    run.wait()
    until = time.monotonic() + 120
    while any(os.path.exists(f"/proc/{pid}/fd/0") for pid in workers) and time.monotonic() < until:
        time.sleep(0.1)
    assert not any(os.path.exists(f"/proc/{pid}/fd/0") for pid in workers)


# ------------------------------------------------------------------------------------------------------ the mechanism


def press():
    signal.raise_signal(signal.SIGINT)


def test_a_press_waits_while_the_result_is_brought_home():
    with interrupt.run():
        with interrupt.finishing(), interrupt.raising():
            press()
        assert interrupt.pressed()
        with pytest.raises(KeyboardInterrupt), interrupt.raising():
            pass
        press()  # the second of two in a hurry
        with interrupt.raising():
            press()


def test_a_later_press_breaks_off(monkeypatch):
    monkeypatch.setattr(interrupt, "GRACE", 0.0)
    with interrupt.run(), interrupt.finishing():
        press()
        with pytest.raises(KeyboardInterrupt):
            press()


def test_tests_hear_ctrl_c_in_the_background_of_a_script_too():
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", __file__, "-k", "a_later_press_breaks_off"]
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # which a child inherits
    try:
        run = subprocess.run(command, capture_output=True, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
    assert "1 passed" in run.stdout, run.stdout


def test_what_c_makes_of_a_press_is_still_a_press():
    """An exception of Python code that C called can come out as SystemError."""

    def compiled(says):
        try:
            press() if says is KeyboardInterrupt else {}[0]
        except says as error:
            raise SystemError("a function returned a result with an exception set") from error

    with interrupt.run():
        with pytest.raises(SystemError), interrupt.raising():
            compiled(KeyError)
        with pytest.raises(KeyboardInterrupt) as found, interrupt.raising():
            compiled(KeyboardInterrupt)
        assert isinstance(found.value.__cause__, SystemError)


@pytest.mark.parametrize(("stops", "logged"), [(KeyboardInterrupt, 0), (ZeroDivisionError, 1)])
def test_pyomo_logs_no_error_of_a_press_while_it_evaluates(stops, logged, caplog):
    class Expression:
        name = "e"

        def is_numeric_type(self):
            return True

        def is_component_type(self):
            return False

        def __call__(self, exception):
            raise stops

    with pytest.raises(stops), interrupt.run(), interrupt.raising():
        pyo.value(Expression())
    assert len([r for r in caplog.records if "evaluating object" in r.message]) == logged


def test_a_solver_that_asks_hears_of_it():
    before = signal.getsignal(signal.SIGINT)
    with interrupt.setting_event() as pressed:
        press()
        assert pressed.is_set()
    assert signal.getsignal(signal.SIGINT) is before


def test_what_was_pressed_before_a_solver_ran_stops_it():
    with interrupt.run():
        press()
        with interrupt.setting_event() as pressed:
            assert pressed.is_set()


def test_ignored_stays_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupt.run(), interrupt.raising():
            press()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_press_that_was_lost_in_a_callback_ends_the_run_all_the_same():
    data = fs.load_dataset("wdbc").scaled("standard")

    def lost(row):
        if row["Iter"] == 2:
            with suppress(KeyboardInterrupt):  # as a destructor would
                press()

    found = fs.select(data, "fsp-m", solver="benders", max_features=5, callback=lost)
    assert found.stop_reason is StopReason.INTERRUPTED
    assert found.has_solution
