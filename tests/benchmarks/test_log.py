"""The log of a benchmark loses nothing that was finished, whenever the run is stopped."""

from log import Log, until


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
