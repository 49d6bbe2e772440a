"""Log of the finished tasks of a benchmark: lines of JSON during a run, compressed at its end for the repository.

A stopped run can be continued, also on another machine: tasks in the log are not computed again. Before its first
task, each process writes a line with the date, machine and versions of its run.
"""

import contextlib
import json
import lzma
import os
from pathlib import Path

from benchmarks.harness import provenance

try:
    import fcntl
except ImportError:  # Windows: one process at a time
    fcntl = None

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
SHARED = Path(os.environ.get("FSMODELS_SHARED", ROOT.parent / "shared"))  # data sets that are not in the repository
LOGS = RESULTS / "logs"
_BEGUN = set()  # logs to which this process has written the facts of its run


class Log:
    """One line of JSON per finished task: compressed in ``results/logs/NAME.jsonl.xz``, new ones in ``NAME.jsonl``."""

    def __init__(self, name, folder=LOGS):
        self.packed = Path(folder) / f"{name}.jsonl.xz"
        self.plain = Path(folder) / f"{name}.jsonl"

    def entries(self, *key):
        """Return the entries, oldest first; if key fields are given, only the last entry for each value of them."""
        entries = [line for line in self.lines() if not _is_run(line)]
        return list({tuple(_hashable(e.get(field)) for field in key): e for e in entries}.values()) if key else entries

    def done(self, *fields):
        """Return the finished tasks: a tuple of the values of some fields for each entry."""
        return {tuple(_hashable(entry.get(field)) for field in fields) for entry in self.entries()}

    def begin(self, facts):
        """Write the machine, versions and limits of this process, once per process."""
        if self.plain not in _BEGUN:
            _BEGUN.add(self.plain)
            self._append({"run": facts})

    def add(self, entry):
        """Append one entry and close the file."""
        self.begin(provenance.about(*provenance.PACKAGES))
        self._append(entry)

    def pack(self):
        """Move all entries to the compressed file, which is part of the repository."""
        with self._alone():
            if not self.plain.exists():
                return
            text = "".join(json.dumps(line) + "\n" for line in self.lines())
            part = self.packed.with_suffix(".part")
            part.write_bytes(lzma.compress(text.encode()))
            os.replace(part, self.packed)
            self.plain.unlink()

    def clear(self):
        """Delete all entries; the next run starts from the beginning."""
        self.packed.unlink(missing_ok=True)
        self.plain.unlink(missing_ok=True)
        self.forget()

    def forget(self):
        """Write the facts of the run again before the next entry, as a new process does."""
        _BEGUN.discard(self.plain)

    def lines(self):
        """Return all entries and facts of runs, without duplicates and without lines cut off by a killed process."""
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
                file.write(b"\n")  # separates a line that was cut off by a killed process
            file.write(json.dumps(line).encode() + b"\n")

    @contextlib.contextmanager
    def _alone(self):
        """Lock the log, so that no other process adds entries while it is packed."""
        self.plain.parent.mkdir(parents=True, exist_ok=True)
        with self.plain.with_suffix(".lock").open("w") as file:
            if fcntl:
                fcntl.flock(file, fcntl.LOCK_EX)
            yield


def facts_of_runs(*logs):
    """Return the facts of all runs in the logs; facts with different values are combined."""
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


def _is_run(line):
    return set(line) == {"run"}


def _together(key, values):
    """Return one value of a fact for several runs: a range of dates or loads, otherwise all different values."""
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
