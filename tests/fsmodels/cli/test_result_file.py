"""Result files are replaced whole or not at all, and no result is lost for want of a reader."""

import errno
import io
import json
import os
import resource
import stat
import subprocess
import sys
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest

from fsmodels import cli

MAIN = "import sys; from fsmodels.cli import main; sys.exit(main())"
SOLVES = ["select", "data.csv", "--model", "rfe", "--max-features", "1", "--json", "out.json"]
FAILS = ["select", "data.csv", "--model", "fsp-m", "--max-features", "1", "--force-in", "a", "--force-in", "b"]
OLD = json.dumps({"status": "optimal", "selected": ["a"], "weights": {"a": 1.0}})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(12, 3)), columns=["a", "b", "c"])
    frame.assign(target=np.arange(12) % 2).to_csv("data.csv", index=False)
    (tmp_path / "costs.csv").write_text("feature,cost\na,1\n")
    return tmp_path


def started(words, **streams):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    environment |= streams.pop("env", {})
    return subprocess.Popen([sys.executable, "-c", MAIN, *words], env=environment, **streams)


def left_over(folder):
    return [name for name in os.listdir(folder) if "part" in name]


@pytest.mark.parametrize("stop", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()], ids=repr)
def test_a_write_that_fails_leaves_the_old_result(stop, folder, capsys, monkeypatch):
    (folder / "out.json").write_text(OLD)

    def fail(_):
        raise stop

    monkeypatch.setattr(os, "fsync", fail)
    code = cli.main(SOLVES)
    out, err = capsys.readouterr()
    assert code == (3 if isinstance(stop, KeyboardInterrupt) else 2)
    assert (folder / "out.json").read_text() == OLD
    assert not left_over(folder)
    if isinstance(stop, OSError):
        assert "No space left" in err
        assert "its content is unchanged" in err
        assert "Feature" in out  # the report is not lost with the file


def test_a_limit_on_the_size_of_files_leaves_the_old_result(folder):
    (folder / "out.json").write_text(OLD)
    run = started(
        SOLVES,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512)),
    )
    _, err = run.communicate(timeout=300)
    assert run.returncode == 2
    assert b"File too large" in err
    assert b"Traceback" not in err
    assert (folder / "out.json").read_text() == OLD
    assert not left_over(folder)


def test_a_run_without_a_solution_replaces_none(folder, capsys):
    words = [*FAILS, "--json", "out.json"]
    path = folder / "out.json"
    assert cli.main(words) == 3  # no file before: what is known is written
    assert json.loads(path.read_text())["selected"] is None
    assert cli.main(words) == 3
    assert "not replaced" not in capsys.readouterr().err
    for before in (OLD, "notes of mine"):
        path.write_text(before)
        assert cli.main(words) == 3
        assert "not replaced" in capsys.readouterr().err
        assert path.read_text() == before
    assert cli.main([*words, "--force"]) == 3
    assert json.loads(path.read_text())["status"] == "infeasible"
    assert cli.main(SOLVES) == 0
    assert json.loads(path.read_text())["selected"]


def test_force_alone_is_refused(folder, capsys):
    assert cli.main([*FAILS, "--force"]) == 2
    assert "--json" in capsys.readouterr().err


@pytest.mark.parametrize("link", [None, os.symlink, os.link])
@pytest.mark.parametrize("read", ["data.csv", "costs.csv"])
def test_json_onto_what_the_run_reads_is_refused(read, link, folder, capsys):
    before = (folder / read).read_bytes()
    name = read
    if link is not None:
        name = "other.json"
        link(read, name)
    words = ["select", "data.csv", "--model", "fsp-m", "--max-features", "1", "--budget", "costs.csv:1", "--json", name]
    assert cli.main([*words, "--force"]) == 2
    out, err = capsys.readouterr()
    assert err == f'Error: --json "{name}" is the file "{read}" of this run: give another file.\n'
    assert "Solving" not in out
    assert (folder / read).read_bytes() == before


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("n" * 300 + ".json", "File name too long"),
        ("no/such/out.json", "no such folder"),
        (".", "it is a folder"),
        ("data.csv/out.json", "no such folder"),
        ("a\0b", "null"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_the_run(name, words, folder, capsys):
    assert cli.main([*SOLVES[:-1], name]) == 2
    out, err = capsys.readouterr()
    assert words in err
    assert "--json" in err
    assert "features" not in out


def test_a_result_follows_links_and_keeps_rights(folder):
    (folder / "real").mkdir()
    target = folder / "real" / "out.json"
    target.write_text(OLD)
    target.chmod(0o640)
    (folder / "out.json").symlink_to(target)
    assert cli.main(SOLVES) == 0
    assert (folder / "out.json").is_symlink()
    assert json.loads(target.read_text())["model"] == "rfe"
    assert target.stat().st_mode & 0o777 == 0o640


def test_the_longest_name_is_written(folder):
    name = "n" * 250 + ".json"
    assert cli.main([*SOLVES[:-1], name]) == 0
    assert json.loads((folder / name).read_text())["selected"]


def without_reader():
    reader, writer = os.pipe()
    os.close(reader)
    return open(writer, "w")


def full():
    return open("/dev/full", "w")


STREAMS = {
    "none": (lambda: None, 0),
    "full": (full, 2),
    "no reader": (without_reader, 0),
    "ascii": (lambda: io.TextIOWrapper(io.BytesIO(), encoding="ascii"), 0),
}


@pytest.mark.parametrize("kind", STREAMS)
def test_a_stream_that_takes_nothing_loses_no_result(kind, folder, capsys, monkeypatch):
    make, expected = STREAMS[kind]
    name = b"d\xff\xc3\xa4.csv"  # no UTF-8
    os.rename("data.csv", name)
    broken = make()
    monkeypatch.setattr(sys, "stdout", broken)
    code = cli.main([SOLVES[0], os.fsdecode(name), *SOLVES[2:]])
    assert sys.stdout is broken
    err = capsys.readouterr().err
    assert (code, "cannot be written" in err) == (expected, expected == 2)
    if kind == "ascii":
        broken.flush()
        assert (
            rb"rfe on d\udcff\xe4" in broken.buffer.getvalue()
            or rb"d\udcff\xe4: 12 samples" in broken.buffer.getvalue()
        )
    with suppress(OSError):
        if broken is not None:
            broken.close()
    content = json.loads((folder / "out.json").read_text("utf-8"))
    assert content["selected"]
    assert os.fsencode(content["data"]["path"]) == name


def test_processes_with_broken_streams_end_quietly_with_their_result(folder):
    """What only a process shows: numbers of closed streams, and the interpreter's own last flush."""
    taken = os.open("/dev/full", os.O_WRONLY)
    cases = {
        "closed": ({"stderr": taken, "preexec_fn": lambda: os.closerange(0, 3)}, 0),
        "full": ({"stdout": taken, "stderr": subprocess.PIPE}, 2),
    }
    runs = {name: started([*SOLVES[:-1], f"{name}.json"], **streams) for name, (streams, _) in cases.items()}
    for name, run in runs.items():
        err = (run.communicate(timeout=120)[1] or b"").decode()
        assert "Traceback" not in err, name
        assert "Exception ignored" not in err, name
        assert run.returncode == cases[name][1], name
        assert json.loads((folder / f"{name}.json").read_text("utf-8"))["selected"], name
    os.close(taken)


WRITERS = {
    "certificate": ["select", "data.csv", "--model", "fsp-m", "--max-features", "1", "--certificate"],
    "picture": ["path", "data.csv", "--model", "rfe", "--max-features", "1,2", "--picture"],
    "predict": ["predict", "found.json", "data.csv", "--out"],
    "json of path": ["path", "data.csv", "--model", "rfe", "--max-features", "1,2", "--json"],
    "html": ["report", "data.csv", "--model", "rfe", "--max-features", "1", "--cv", "0", "--max-path", "0", "--html"],
}


@pytest.mark.parametrize("kind", WRITERS)
def test_every_file_is_replaced_completely_or_not_at_all(kind, folder, capsys, monkeypatch):
    assert cli.main([*SOLVES[:-1], "found.json"]) == 0
    target = folder / f"old{'.png' if kind == 'picture' else '.out'}"
    target.write_text("old")
    target.chmod(0o640)

    def fail(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", fail)
        assert cli.main([*WRITERS[kind], target.name]) == 2
    err = capsys.readouterr().err
    assert "No space left" in err
    assert target.name in err
    assert target.read_text() == "old"
    assert cli.main([*WRITERS[kind], target.name]) == 0
    assert len(target.read_bytes()) > 100
    assert target.stat().st_mode & 0o777 == 0o640
    assert not left_over(folder)


def test_pipes_and_standard_output_are_written_directly(folder):
    """Standard output that is a file keeps what was written to it before."""
    os.mkfifo("pipe")
    with started([*SOLVES[:-1], "pipe"], stdout=subprocess.DEVNULL) as run:
        content = json.loads((folder / "pipe").read_text())
        assert run.wait(60) == 0
    assert content["selected"]
    assert stat.S_ISFIFO(os.stat("pipe").st_mode)
    with open("log.txt", "wb") as log:
        log.write(b"first\n")
        log.flush()
        assert started([*SOLVES[:-1], "/dev/stdout", "--quiet"], stdout=log).wait(60) == 0
    first, text = (folder / "log.txt").read_text().split("\n", 1)
    assert first == "first"
    assert json.JSONDecoder().raw_decode(text)[0]["selected"] == content["selected"]


@pytest.mark.parametrize("model", ["rfe", "relief"])
def test_a_baseline_with_clashing_rows_writes_what_became_of_it(tmp_path, capsys, model):
    file = tmp_path / "none.json"
    rows = ["--force-in", "sgpt", "--force-in", "sgot", "--max-features", "1"]
    assert cli.main(["select", "bupa", "--model", model, *rows, "--json", str(file)]) == 3
    content = json.loads(file.read_text())
    assert (content["status"], content["selected"], content["objective"]) == ("infeasible", None, None)
    assert "force_in" in capsys.readouterr().err


WRITER = """
import json, sys
from fsmodels.datasets.files import write_file
for k in range(50):
    write_file("shared.json", json.dumps({"writer": int(sys.argv[1]), "values": [k] * 5000}))
"""


def test_processes_that_write_one_file_leave_one_result_whole_at_any_time(folder):
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(k)]) for k in range(6)]
    read = 0
    while any(one.poll() is None for one in writers) or not read:
        with suppress(FileNotFoundError):
            content = json.loads((folder / "shared.json").read_text())
            assert len(content["values"]) == 5000
            assert len(set(content["values"])) == 1
            read += 1
    assert [one.wait() for one in writers] == [0] * 6
    assert not list(folder.glob(".fsmodels-*"))  # of parts
