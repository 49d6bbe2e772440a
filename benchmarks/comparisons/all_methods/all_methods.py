"""The methods of all five papers and common methods on the same data, splits and rule of choice.

    python -m benchmarks all_methods --minutes 20            # one split of every set; the same command goes on
    python -m benchmarks all_methods --full --minutes 20     # five splits
    python -m benchmarks all_methods --page                  # the three pages from the log alone

Three parts, one log: "methods", each with its own parameter chosen on a third of the training part; "rules", the same
fits under a budget and a pair that may not be selected together; "k", what is selected at most k features.
"""

import argparse

from benchmarks.comparisons.all_methods import tasks
from benchmarks.harness.log import Log, arguments, ended

DEAR = 2  # sets that take as long as all others together


def everything(splits):
    """Yield (part, set, split, method): split by split, the two dear sets last, so that a stopped run is balanced."""
    for split in range(splits):
        for names in (tasks.sets()[:-DEAR], tasks.sets()[-DEAR:]):
            yield from (("methods", name, split, method) for name in names for method in tasks.METHODS)
            for name in names:
                yield from (("rules", name, split, method) for method in tasks.METHODS)
                if name in tasks.wide():
                    yield from (("k", name, split, method) for method in tasks.AT_K)


def planned(splits, known):
    """Yield the tasks that are not known yet; "rules" are fitted at the point of "methods", which ended before."""
    for part, name, split, method in everything(splits):
        if (tasks.PROTOCOL, part, name, split, method) in known:
            continue
        spec = {"part": part, "set": name, "split": split, "method": method}
        if part == "rules":
            before = known.get((tasks.PROTOCOL, "methods", name, split, method))
            if before is None:  # other workers still have it
                continue
            spec["point"] = before["point"]
        yield spec


def key_of(entry):
    """Return the key of a task."""
    return entry["protocol"], entry["part"], entry["set"], entry["split"], entry["method"]


def run(asked, log):
    """Run the tasks that are not in the log, and write each when it ends."""
    known = {key_of(entry): entry for entry in log.entries()}
    todo = planned(tasks.SPLITS if asked.full else 1, known)
    for entry in ended(todo, tasks.one_task, asked.minutes, asked.jobs):
        log.add(entry)
        known[key_of(entry)] = entry
        print(entry["part"], entry["set"], entry["split"], entry["method"], f"{entry['cpu']:.1f} s", flush=True)


def main():
    """Run and write the pages."""
    parser = arguments(__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    asked = parser.parse_args()
    log = Log("all_methods")
    if asked.fresh:
        log.clear()
    if not asked.page:
        run(asked, log)
    from benchmarks.comparisons.all_methods import (
        page as all_methods_page,  # which reads the log that is written by now
    )

    all_methods_page.write(log)
