"""Tayal, Coleman, Li: weights of features inside an RBF kernel; tables 1 to 3 and figures 5 to 14, beside the paper's.

    python -m benchmarks kernel_tables                        # coarse grids, threefold validation: hours of one core
    python -m benchmarks kernel_tables --full                 # the paper's grids, tenfold validation: days
    python -m benchmarks kernel_tables --parts ndcc --minutes 20

What is in the log is not computed again; a coarse grid is part of the paper's. The methods of the paper's tables come
first, division by division.
"""

import os
from pathlib import Path

from benchmarks.harness import log, provenance
from benchmarks.papers.tayal import page as kernel_page
from benchmarks.papers.tayal import rankings_page as kernel_rankings_page
from benchmarks.papers.tayal.plan import tasks_of
from benchmarks.papers.tayal.tasks import SETS, found, one_task

PARTS = ("ndcc", "uci", "rankings")


def read_options():
    """Return the options."""
    parser = log.arguments(__doc__)
    parser.add_argument("--parts", default=",".join(PARTS), help="of ndcc, uci, rankings (which needs the others)")
    parser.add_argument("--sets", help="sets beside NDCC, separated by semicolons")
    parser.add_argument("--shared", type=Path, default=log.SHARED, help="folder with data/ and data-extra/")
    options = parser.parse_args()
    options.parts = options.parts.split(",")
    options.sets = options.sets.split(";") if options.sets else SETS
    for given, known in ((options.parts, PARTS), (options.sets, SETS)):
        if unknown := set(given) - set(known):
            parser.error(f"unknown: {', '.join(sorted(unknown))}; choose among {', '.join(known)}")
    return options


def main():
    """Run the parts, write the pages of all that the log holds."""
    options, book = read_options(), log.Log("kernel_tables")
    if options.fresh:
        book.clear()
    os.environ["FSMODELS_SHARED"] = str(options.shared)  # the workers inherit it
    sets = [name for name in options.sets if found(name)]
    for part in [] if options.page else options.parts:
        tasks = tasks_of(part, options.full, sets, book.entries() if part == "rankings" else ())
        log.finish(book, tasks, one_task, options.minutes, options.jobs, provenance.about(*kernel_page.PACKAGES))
    book.pack()
    kernel_page.write(book)
    kernel_rankings_page.write(book)
