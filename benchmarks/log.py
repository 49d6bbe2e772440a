"""The finished tasks of a benchmark: plain lines while a run goes on, packed in the repository when it ends.

A run that was stopped, here or on another machine, goes on where it was: what is in the log is not computed again.
"""

import argparse
import json
import lzma
import os
import time
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "results"


class Log:
    """One JSON text for each finished task, in ``results/logs/NAME.jsonl.xz`` and, not packed yet, ``NAME.jsonl``."""

    def __init__(self, name, folder=RESULTS / "logs"):
        self.packed = Path(folder) / f"{name}.jsonl.xz"
        self.plain = Path(folder) / f"{name}.jsonl"

    def entries(self):
        """Return the entries, oldest first; a line cut off by a kill is dropped."""
        texts = []
        if self.packed.exists():
            texts += lzma.decompress(self.packed.read_bytes()).decode().splitlines()
        if self.plain.exists():
            texts += self.plain.read_text().splitlines()
        return [entry for text in texts if (entry := _parsed(text)) is not None]

    def done(self, *fields):
        """Return the values of these fields in every entry, as tuples: what a run need not do again."""
        return {tuple(_hashable(entry.get(field)) for field in fields) for entry in self.entries()}

    def add(self, entry):
        """Append one entry; it is on the disk when this returns."""
        self.plain.parent.mkdir(parents=True, exist_ok=True)
        with self.plain.open("ab+") as file:
            if file.tell() and not _ends_a_line(file):
                file.write(b"\n")  # the line that a kill has cut off stays apart
            file.write(json.dumps(entry).encode() + b"\n")

    def pack(self):
        """Put all entries into the packed file, which belongs into the repository."""
        if not self.plain.exists():
            return
        text = "".join(json.dumps(entry) + "\n" for entry in self.entries())
        partial = self.packed.with_suffix(".part")
        partial.write_bytes(lzma.compress(text.encode(), preset=9))
        os.replace(partial, self.packed)
        self.plain.unlink()

    def clear(self):
        """Forget everything: the next run begins anew."""
        self.packed.unlink(missing_ok=True)
        self.plain.unlink(missing_ok=True)


def until(minutes, tasks):
    """Yield tasks until the minutes are over (None: no limit); what has begun is finished.

    For ``joblib.Parallel`` with ``pre_dispatch=n_jobs``: it takes tasks from here only as workers come free.
    """
    end = time.monotonic() + 60 * minutes if minutes is not None else float("inf")
    for task in tasks:
        if time.monotonic() > end:
            return
        yield task


def arguments(description):
    """Return a parser with the options that every benchmark of tables has."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="everything of the paper, instead of the small default")
    parser.add_argument("--minutes", type=float, help="stop after so many minutes; the same command goes on later")
    parser.add_argument("--jobs", type=int, default=2, help="tasks at a time, each on one thread (default: 2)")
    parser.add_argument("--fresh", action="store_true", help="forget the log and begin anew")
    parser.add_argument("--page", action="store_true", help="only write the page from the log")
    return parser


def _parsed(text):
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return None


def _hashable(value):
    return tuple(value) if isinstance(value, list) else value


def _ends_a_line(file):
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"
