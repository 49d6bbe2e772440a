"""The log of a benchmark loses nothing that was finished, whenever the run is stopped."""

import json
import threading
from types import SimpleNamespace

import pytest

from benchmarks.harness import log as logs
from benchmarks.harness import run
from benchmarks.harness.log import Log, facts_of_runs
from benchmarks.harness.run import finish, until


def test_packed_and_plain_entries_are_one_log(tmp_path):
    log = Log("runs", tmp_path)
    log.add({"set": "a", "split": 0, "error": 0.25})
    log.pack()
    log.add({"set": "a", "split": 1, "error": 0.5})
    assert Log("runs", tmp_path).done("set", "split") == {("a", 0), ("a", 1)}
    log.pack()
    assert not log.plain.exists()
    assert [entry["split"] for entry in log.entries()] == [0, 1]


def test_a_line_cut_off_by_a_kill_is_dropped_and_spoils_no_other(tmp_path):
    log = Log("runs", tmp_path)
    log.add({"split": 0})
    with log.plain.open("a") as file:
        file.write('{"split": 1, "err')
    log.add({"split": 2})
    assert [entry["split"] for entry in log.entries()] == [0, 2]


def test_a_cleared_log_is_empty(tmp_path):
    log = Log("runs", tmp_path)
    log.add({"split": 0})
    log.pack()
    log.clear()
    assert log.entries() == []


def test_no_task_begins_after_the_time(tmp_path):
    assert list(until(0, [1, 2, 3])) == []
    assert list(until(None, [1, 2, 3])) == [1, 2, 3]


def test_a_key_keeps_the_last_entry_of_a_task(tmp_path):
    log = Log("runs", tmp_path)
    for error in (0.25, 0.5):
        log.add({"split": [0, 1], "error": error})
    assert log.entries("split") == [{"split": [0, 1], "error": 0.5}]
    assert len(log.entries()) == 2


def test_a_run_tells_of_itself_once_and_is_no_entry(tmp_path):
    log = Log("runs", tmp_path)
    log.add({"split": 0})
    Log("runs", tmp_path).add({"split": 1})
    assert [list(line) for line in log.lines()] == [["run"], ["split"], ["split"]]
    assert facts_of_runs(log)["runs"] == "2 tasks of 1 run"


def test_tasks_from_before_runs_were_noted_are_counted(tmp_path):
    log = Log("runs", tmp_path)
    log.plain.write_text('{"split": 0}\n')
    assert facts_of_runs(log) == {}
    log.begin({"load average": 0.5, "versions": {"numpy": "2.0"}})
    log.forget()
    log.begin({"load average": 1.5, "versions": {"numpy": "2.1", "scipy": "1.0"}})
    log.add({"split": 1})
    assert facts_of_runs(log) == {
        "runs": "1 tasks of 2 runs, and 1 of runs without a record of machine and date",
        "load average": "0.5 to 1.5",
        "versions": {"numpy": "2.0 or 2.1", "scipy": "1.0"},
    }


def test_a_pack_that_was_killed_before_its_end_doubles_nothing(tmp_path):
    log = Log("runs", tmp_path)
    log.add({"split": 0})
    plain = log.plain.read_bytes()
    log.pack()
    log.plain.write_bytes(plain)
    assert log.entries() == [{"split": 0}]
    assert json.loads(plain.splitlines()[-1]) == {"split": 0}


def test_what_is_logged_is_not_done_again(tmp_path):
    log, worked = Log("runs", tmp_path), []

    def work(**task):
        worked.append(task)
        return {"error": 0.5}

    finish(log, [{"set": "a", "split": 0}, {"set": "a", "split": 1}], work, minutes=0)
    assert worked == []
    finish(log, [{"set": "a", "split": 0}], work)
    finish(log, [{"set": "a", "split": k} for k in range(2)] + [{"set": "a", "split": 0, "protocol": 2}], work)
    assert worked == [{"set": "a", "split": 0}, {"set": "a", "split": 1}, {"set": "a", "split": 0, "protocol": 2}]
    assert log.entries()[0] == {"set": "a", "split": 0, "error": 0.5}


def test_a_command_does_what_is_left_and_then_draws_the_page(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "Log", lambda name, folder=None: Log(name, tmp_path))
    worked, drawn = [], []

    class Drawn:
        def __init__(self, log):
            self.count = len(log.entries())

        def write(self, *logs, folder):
            drawn.append(self.count)

    benchmark = SimpleNamespace(
        __doc__="Doc.",
        NAME="runs",
        PACKAGES=("numpy",),
        FACTS={"gap": 1e-4},
        tasks=lambda full: [{"split": k} for k in range(3 if full else 2)],
        work=lambda split: worked.append(split) or ({"error": 0.5} if split else None),
        page=Drawn,
    )

    def command(*options):
        run.main(benchmark, ["--jobs", "1", *options])

    command("--page")
    assert (worked, drawn) == ([], [0])
    command()  # split 0 cannot be done here, and stays to be done
    assert (worked, drawn) == ([0, 1], [0, 1])
    command("--full")
    assert (worked, drawn) == ([0, 1, 0, 2], [0, 1, 2])
    assert facts_of_runs(Log("runs", tmp_path))["gap"] == 1e-4
    command("--fresh", "--minutes", "0")
    assert drawn[-1] == 0


@pytest.mark.skipif(logs.fcntl is None, reason="one process at a time, where files cannot be locked")
def test_what_is_added_while_another_process_packs_is_kept(tmp_path):
    def add():
        for k in range(40):
            Log("runs", tmp_path).add({"split": k})

    adding = threading.Thread(target=add)
    adding.start()
    while adding.is_alive():
        Log("runs", tmp_path).pack()
    adding.join()
    assert sorted(entry["split"] for entry in Log("runs", tmp_path).entries()) == [*range(40)]
