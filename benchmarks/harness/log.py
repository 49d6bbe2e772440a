"""The log of finished tasks of a benchmark: plain lines during a run, packed in the repository at its end.

A run that was stopped, here or on another machine, goes on where it was: what is in the log is not computed again.
Before the first task of a process stands a line on its run: when, where, with which versions.
"""

import argparse
import contextlib
import json
import lzma
import os
import time
from functools import partial
from pathlib import Path

from joblib import Parallel, delayed

from benchmarks.harness import provenance

try:
    import fcntl
except ImportError:  # Windows: one process at a time
    fcntl = None

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
SHARED = Path(os.environ.get("FSMODELS_SHARED", ROOT.parent / "shared"))  # data sets that the repository lacks
LOGS = RESULTS / "logs"
_BEGUN = set()  # the logs that this process has told of its run


class Log:
    """One JSON text for each finished task, in ``results/logs/NAME.jsonl.xz`` and, not packed yet, ``NAME.jsonl``."""

    def __init__(self, name, folder=LOGS):
        self.packed = Path(folder) / f"{name}.jsonl.xz"
        self.plain = Path(folder) / f"{name}.jsonl"

    def entries(self, *key):
        """Return the entries, oldest first; with a key (the identifying fields), only the last entry of each task."""
        entries = [line for line in self.lines() if not _is_run(line)]
        return list({tuple(_hashable(e.get(field)) for field in key): e for e in entries}.values()) if key else entries

    def done(self, *fields):
        """Return the values of some fields in every entry as tuples: the finished tasks."""
        return {tuple(_hashable(entry.get(field)) for field in fields) for entry in self.entries()}

    def begin(self, facts):
        """Write the facts of the run of this process once: machine, versions, limits."""
        if self.plain not in _BEGUN:
            _BEGUN.add(self.plain)
            self._append({"run": facts})

    def add(self, entry):
        """Append one entry; it is on the disk when this returns."""
        self.begin(provenance.about(*provenance.PACKAGES))
        self._append(entry)

    def pack(self):
        """Put all entries into the packed file, which belongs into the repository."""
        with self._alone():
            if not self.plain.exists():
                return
            text = "".join(json.dumps(line) + "\n" for line in self.lines())
            part = self.packed.with_suffix(".part")
            part.write_bytes(lzma.compress(text.encode()))
            os.replace(part, self.packed)
            self.plain.unlink()

    def clear(self):
        """Forget everything: the next run begins anew."""
        self.packed.unlink(missing_ok=True)
        self.plain.unlink(missing_ok=True)
        self.forget()

    def forget(self):
        """Write the facts of the run again with the next entry, as for another process."""
        _BEGUN.discard(self.plain)

    def lines(self):
        """Return entries and lines on runs; one cut off by a kill is dropped, one that is there twice comes once."""
        texts = []
        if self.packed.exists():
            texts += lzma.decompress(self.packed.read_bytes()).decode().splitlines()
        if self.plain.exists():
            texts += self.plain.read_text().splitlines()
        return [line for text in dict.fromkeys(texts) if (line := _parsed(text)) is not None]

    def _append(self, line):
        self.plain.parent.mkdir(parents=True, exist_ok=True)
        with self._alone(), self.plain.open("ab+") as file:
            if file.tell() and not _ends_a_line(file):
                file.write(b"\n")  # the line that a kill has cut off stays apart
            file.write(json.dumps(line).encode() + b"\n")

    @contextlib.contextmanager
    def _alone(self):
        """Lock the log while it is packed, so that another process adds no entries."""
        self.plain.parent.mkdir(parents=True, exist_ok=True)
        with self.plain.with_suffix(".lock").open("w") as file:
            if fcntl:
                fcntl.flock(file, fcntl.LOCK_EX)
            yield


def told(*logs):
    """Return the facts of the runs in the logs: each once, or all different values."""
    lines = [(log, line) for log in logs for line in log.lines()]
    runs = [line["run"] for _, line in lines if _is_run(line)]
    if not runs:
        return {}
    begun, before = set(), 0
    for log, line in lines:
        begun |= {log} if _is_run(line) else set()
        before += log not in begun
    tasks = f"{len(lines) - len(runs) - before} tasks of {len(runs)} run{'s' * (len(runs) > 1)}"
    facts = {"runs": tasks + (f", and {before} of runs without a record of machine and date" if before else "")}
    for key in dict.fromkeys(key for run in runs for key in run):
        facts[key] = _together(key, [run[key] for run in runs if key in run])
    return facts


def until(minutes, tasks):
    """Yield tasks until the time limit in minutes (None: no limit); started tasks are finished.

    For ``joblib.Parallel`` with ``pre_dispatch=n_jobs``: it takes tasks from here only as workers come free.
    """
    end = time.monotonic() + 60 * minutes if minutes is not None else float("inf")
    for task in tasks:
        if time.monotonic() > end:
            return
        yield task


def ended(tasks, work, minutes=None, jobs=1):
    """Yield the results of ``work(task)`` when tasks end; none starts after the limit in minutes."""
    parallel = Parallel(n_jobs=jobs, pre_dispatch=jobs, batch_size=1, return_as="generator_unordered")
    return parallel(delayed(work)(task) for task in until(minutes, tasks))


def script(name, description, tasks, work, page, *packages, **facts):
    """Run the command of a benchmark: do the tasks that are not in the log, then write the page from the log."""
    asked, log = arguments(description).parse_args(), Log(name)
    if asked.fresh:
        log.clear()
    if not asked.page:
        finish(log, tasks(asked.full), work, asked.minutes, asked.jobs, provenance.about(*packages, **facts))
    log.pack()
    page(log)


def finish(log, tasks, work, minutes=None, jobs=1, facts=None):
    """Do the tasks that are not in the log, and log each with the result of ``work(**task)`` when it ends.

    A task is a dictionary that tells it from all others, its "protocol" among them; ``facts`` are of this run. What
    cannot be done here, for want of a package, returns None and stays to be done.
    """
    done, entries = {}, log.entries()

    def known(task):
        fields = tuple(task)
        done.setdefault(fields, {json.dumps([entry.get(field) for field in fields]) for entry in entries})
        return json.dumps([task[field] for field in fields]) in done[fields]

    todo = [task for task in tasks if not known(task)]
    for task, found in ended(todo, partial(_both, work), minutes, jobs):
        if found is not None:
            log.begin(facts or provenance.about(*provenance.PACKAGES))
            log.add(task | found)
        print(*task.values(), found, flush=True)


def _both(work, task):
    return task, work(**task)


def arguments(description):
    """Return a parser with the options that every benchmark of tables has."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="everything of the paper, instead of the small default")
    parser.add_argument("--minutes", type=float, help="stop after so many minutes; the same command goes on later")
    parser.add_argument("--jobs", type=int, default=2, help="tasks at a time, each on one thread (default: 2)")
    parser.add_argument("--fresh", action="store_true", help="forget the log and begin anew")
    parser.add_argument("--page", action="store_true", help="only write the page from the log")
    return parser


def _is_run(line):
    return set(line) == {"run"}


def _together(key, values):
    """Return one value for those of several runs."""
    if key == "date":
        return f"{min(values)} to {max(values)}" if len(set(values)) > 1 else values[0]
    if all(isinstance(value, dict) for value in values):
        names = dict.fromkeys(name for value in values for name in value)
        return {name: _together(name, [value[name] for value in values if name in value]) for name in names}
    different = list({json.dumps(value): value for value in values}.values())
    if key.startswith("load") and len(different) > 1:
        known = [value for value in different if value is not None]
        return f"{min(known)} to {max(known)}"
    return different[0] if len(different) == 1 else " or ".join(str(value) for value in different)


def _parsed(text):
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return None


def _hashable(value):
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def _ends_a_line(file):
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"
