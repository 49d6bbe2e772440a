"""Run a benchmark: run the tasks that are not in its log, then write its pages from the log.

A benchmark is a module with

- ``NAME``, the name of its log; optionally ``PACKAGES``, whose versions the log records, and ``FACTS``, settings;
- ``tasks(full)``: distinct dictionaries; their field "protocol" is increased when a task changes;
- ``work(**task)``: the result of a task, a dictionary; None or ModuleNotFoundError if it cannot be computed;
- ``page(log)``: the ``Page``, a pure function of the log. A benchmark with several pages has ``PAGES`` instead: pairs
  of such a function and the names of its logs.
"""

import argparse
import json
import time
import warnings
from functools import partial

from joblib import Parallel, delayed

from benchmarks.harness import provenance
from benchmarks.harness.log import RESULTS, Log


def main(module, words=None):
    """Run the command of a benchmark."""
    options, log = arguments(module.__doc__).parse_args(words), Log(module.NAME)
    if options.fresh:
        log.clear()
    if not options.page:
        facts = provenance.about(*getattr(module, "PACKAGES", provenance.PACKAGES), **getattr(module, "FACTS", {}))
        finish(log, module.tasks(options.full), module.work, options.minutes, options.jobs, facts)
    log.pack()
    write_pages(module)


def write_pages(module, folder=RESULTS):
    """Write the pages of a benchmark from the logs in ``folder/logs``."""
    for page, names in getattr(module, "PAGES", None) or ((module.page, (module.NAME,)),):
        logs = [Log(name, folder / "logs") for name in names]
        page(*logs).write(*logs, folder=folder)


def finish(log, tasks, work, minutes=None, jobs=1, facts=None):
    """Run the tasks that are not in the log, and add each with the result of ``work(**task)`` when it ends.

    ``facts`` are logged once, before the first task. A task remains unfinished if its result is None or a package is
    missing. Warnings are suppressed.
    """
    for task, found in ended(unfinished(log, tasks), partial(_both, work), minutes, jobs):
        if found is not None:
            log.begin(facts or provenance.about(*provenance.PACKAGES))
            log.add(task | found)
        print(*task.values(), found, flush=True)


def unfinished(log, tasks):
    """Return the tasks that are not in the log: no entry has the same values of all fields of the task."""
    done, entries = {}, log.entries()

    def known(task):
        fields = tuple(task)
        done.setdefault(fields, {json.dumps([entry.get(field) for field in fields]) for entry in entries})
        return json.dumps([task[field] for field in fields]) in done[fields]

    return [task for task in tasks if not known(task)]


def _both(work, task):
    """Return the task and its result; None if an optional package is missing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return task, work(**task)
        except ModuleNotFoundError as error:
            if (error.name or "").split(".")[0] in ("benchmarks", "fsmodels", "solvers"):
                raise
            print(error)
            return task, None


def arguments(description):
    """Return a parser with the options of all benchmarks."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="run all tasks instead of the small default")
    parser.add_argument("--minutes", type=float, help="start no task after this time; the same command continues later")
    parser.add_argument("--jobs", type=int, default=2, help="number of parallel tasks, each on one thread (default: 2)")
    parser.add_argument("--fresh", action="store_true", help="delete the log and start from the beginning")
    parser.add_argument("--page", action="store_true", help="only write the page from the log")
    return parser


def until(minutes, tasks):
    """Yield tasks until the time limit in minutes (None: no limit).

    ``joblib.Parallel`` with ``pre_dispatch=n_jobs`` takes a task only when a worker is free, so that no task starts
    after the limit. Tasks that have started are finished.
    """
    end = time.monotonic() + 60 * minutes if minutes is not None else float("inf")
    for task in tasks:
        if time.monotonic() > end:
            return
        yield task


def ended(tasks, work, minutes=None, jobs=1):
    """Yield the results of ``work(task)`` in the order in which tasks end; none starts after the limit in minutes."""
    parallel = Parallel(n_jobs=jobs, pre_dispatch=jobs, batch_size=1, return_as="generator_unordered")
    return parallel(delayed(work)(task) for task in until(minutes, tasks))
