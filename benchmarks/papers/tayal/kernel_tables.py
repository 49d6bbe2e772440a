"""Tayal, Coleman, Li, tables 1 to 3 and figures 5 to 14: weights of features inside an RBF kernel.

    python -m benchmarks kernel_tables                        # coarse grids, threefold validation: hours of one core
    python -m benchmarks kernel_tables --full                 # the paper's grids, tenfold validation: days
    python -m benchmarks kernel_tables --parts ndcc --minutes 20

Tasks in the log are not computed again; the coarse grid is part of the paper's grid. The methods of the paper's tables
are run first, one division after the other.
"""

import sys

from benchmarks.harness import provenance
from benchmarks.harness.log import Log
from benchmarks.harness.run import arguments, finish, write_pages
from benchmarks.papers.tayal import page, rankings_page
from benchmarks.papers.tayal.plan import tasks_of
from benchmarks.papers.tayal.tasks import SETS, found, work

NAME, PARTS = page.NAME, ("ndcc", "alpha", "uci", "rankings")
PACKAGES = ("pyomo", "numpy", "scipy", "scikit-learn", "skrebate", "joblib")
PAGES = ((page.page, (NAME,)), (rankings_page.page, (NAME,)))


def main(words=None):
    """Run the parts in order, because the rankings need the others, and write the pages."""
    parser = arguments(__doc__)
    parser.add_argument(
        "--parts",
        default=",".join(PARTS),
        help="some of ndcc, alpha, uci, rankings (rankings needs the others; default: all)",
    )
    parser.add_argument(
        "--sets", default=";".join(SETS), help="sets other than NDCC, separated by semicolons (default: all)"
    )
    options, log = parser.parse_args(words), Log(NAME)
    parts, sets = options.parts.split(","), options.sets.split(";")
    for given, known in ((parts, PARTS), (sets, SETS)):
        if unknown := set(given) - set(known):
            parser.error(f"unknown: {', '.join(sorted(unknown))}; choose among {', '.join(known)}")
    if options.fresh:
        log.clear()
    sets = [name for name in sets if found(name)]
    for part in [] if options.page else parts:
        tasks = tasks_of(part, options.full, sets, log.entries() if part == "rankings" else ())
        finish(log, tasks, work, options.minutes, options.jobs, provenance.about(*PACKAGES))
    log.pack()
    write_pages(sys.modules[__name__])
