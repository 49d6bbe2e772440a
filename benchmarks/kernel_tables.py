"""Tayal, Coleman, Li: weights of features inside an RBF kernel; tables 1 to 3 and figures 5 to 14, beside the paper's.

    python benchmarks/kernel_tables.py                        # coarse grids, threefold validation: hours of one core
    python benchmarks/kernel_tables.py --full                 # the paper's grids, tenfold validation: days
    python benchmarks/kernel_tables.py --parts ndcc --minutes 20

What is in the log is not computed again; a coarse grid is part of the paper's. The methods of the paper's tables come
first, division by division.
"""

import os
from pathlib import Path

import kernel_page
import kernel_rankings_page
import log
import report
from kernel_plan import tasks_of
from kernel_tasks import SETS, found, one_task

PARTS = ("ndcc", "uci", "rankings")


def read_options():
    """Return the options."""
    parser = log.arguments(__doc__)
    parser.add_argument("--parts", default=",".join(PARTS), help="of ndcc, uci, rankings (which needs the others)")
    parser.add_argument("--sets", help="sets beside NDCC, separated by semicolons")
    shared = Path(__file__).resolve().parents[2] / "shared"
    parser.add_argument("--shared", type=Path, default=shared, help="folder with data/ and data-extra/")
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
    os.environ["KERNEL_TABLES_DATA"] = str(options.shared)  # the workers inherit it
    sets = [name for name in options.sets if found(name)]
    for part in [] if options.page else options.parts:
        tasks = tasks_of(part, options.full, sets, book.entries() if part == "rankings" else ())
        log.finish(book, tasks, one_task, options.minutes, options.jobs, report.about(*kernel_page.PACKAGES))
    book.pack()
    kernel_page.write(book)
    kernel_rankings_page.write(book)


if __name__ == "__main__":
    main()
