"""Progress of a run: text, numbers, time; its stream, and no output unless requested."""

import os
import threading
from types import SimpleNamespace

import pytest

from solvers import clock, progress
from solvers.errors import OptionError


class Recorder:
    """A display that keeps what it is given."""

    def __init__(self):
        self.drawn, self.opened, self.closed = [], 0, 0

    def open(self):
        self.opened += 1

    def draw(self, line):
        self.drawn.append(line)

    def close(self):
        self.closed += 1


@pytest.fixture
def watched():
    recorder = Recorder()
    with progress.shown(True, lambda: recorder):
        yield recorder


def line():
    return progress._scene.line()


def words():
    return line().partition(" | ")[2]


def test_nothing_is_shown_without_request(capsys):
    with progress.shown(False), progress.doing("a"), progress.counted(2, "fold") as count:
        count.one()
        assert [*progress.each([1, 2], "point")] == [1, 2]
        assert not progress.watched()
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("wanted", ["yes", 1, None])
def test_progress_is_true_or_false(wanted):
    with pytest.raises(OptionError, match="give True or False"), progress.shown(wanted):
        pass


def test_what_goes_on_is_told_from_the_outside_in(watched):
    for size in progress.each([3, 4], "point", lambda k: f"max_features={k}"):
        with progress.doing("root"):
            assert words() == f"point {size - 2} of 2 (max_features={size}) > root"
    assert words() == ""


def test_numbers_are_of_the_innermost_and_the_time_left_is_of_the_outermost_that_has_them(watched):
    with (
        progress.doing("", left=lambda: None),
        progress.doing("path", facts=lambda: ["outer"], left=lambda: 90.0),
        progress.doing("tree", facts=lambda: ["best 3", "7 open"], left=lambda: 42.9),
        progress.doing("compiling"),
    ):
        assert line() == "0 s, 90 s left | best 3 | 7 open | path > tree > compiling"


def test_the_time_left_of_several_items_is_that_of_all(watched, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(clock, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    seen = []
    for _ in progress.each("abc", "fold", seconds=10.0):
        with progress.doing("fsp-m", left=lambda: 1.0):
            seen.append(line().partition(" | ")[0])
            now[0] += 4.0
    assert seen == ["0 s, 30 s left", "0 s, 20 s left", "0 s, 10 s left"]
    with progress.counted(5, "fold", workers=2, seconds=10.0) as count:
        assert line().startswith("0 s, 30 s left")
        now[0] += 8.0
        assert line().startswith("0 s, 22 s left")
        count.one()
        assert line().startswith("0 s, 20 s left")
    for _ in progress.each("a", "fold"):  # without a limit the time left is that of the solver
        with progress.doing("fsp-m", left=lambda: 1.0):
            assert line().startswith("0 s, 1 s left")


def test_results_of_workers_are_counted(watched):
    with progress.counted(3, "fold", workers=2) as count:
        told = [words()]
        for _ in range(3):
            count.one()
            told.append(words())
    assert told == [
        "0 of 3 folds done, 2 at work", "1 of 3 folds done, 2 at work", "2 of 3 folds done, 1 at work",
        "3 of 3 folds done",
    ]  # fmt: skip


def test_the_outermost_shows(watched):
    with progress.shown(True, pytest.fail), progress.doing("inner"):
        assert words() == "inner"
    assert progress.watched()


def test_progress_of_another_thread_is_not_shown(watched):
    seen = []

    def work():
        with progress.doing("elsewhere"):
            seen.append((progress.watched(), words()))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(False, "")]


def test_an_error_leaves_nothing_behind():
    recorder = Recorder()

    def pressed():
        for _ in progress.each([1, 2], "point"):
            with progress.doing("deep"):
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), progress.shown(True, lambda: recorder):
        pressed()
    assert (recorder.opened, recorder.closed) == (1, 1)
    assert not progress.watched()


def test_the_status_line_is_hidden_during_the_log_of_a_solver(watched):
    with progress.paused():
        before = len(watched.drawn)
        progress._scene.draw()
        assert len(watched.drawn) == before
    progress._scene.draw()
    assert len(watched.drawn) > before


def test_a_display_that_fails_harms_nothing():
    class Broken(Recorder):
        def open(self):
            raise OSError("gone")

        draw = close = lambda self, *_: self.open()

    with (
        progress.shown(True, Broken),
        progress.doing("work"),
        progress.paused(),
    ):
        pass
    assert not progress.watched()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_shows_nothing(watched):
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(there, b"1" if progress.watched() else b"0")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(here, 1) == b"0"
    assert progress.watched()
    os.close(here)
    os.close(there)


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.9, "0 s"), (99, "99 s"), (200, "3 min 20 s"), (6000, "1 h 40 min"), (9e4, "25 h 00 min")]
)
def test_durations_are_for_people(seconds, said):
    assert progress.duration(seconds) == said
