"""Aytug 2015, tables 2 to 5 and figures 1 to 3: GBD-M, the proven optimum and the other methods of the paper.

    python -m benchmarks fsp_paper             # two instances of data set one, n = 20 and 50: some minutes
    python -m benchmarks fsp_paper --full      # all 90 + 25 triplets, and five divisions of each UCI set: hours
    python -m benchmarks fsp_paper --sets uci --full

Writes the pages ``fsp_paper`` (data sets one and two) and ``fsp_uci``. The first instance of every size is run before
the second ones, small sizes first, so that a stopped run is balanced. UCI sets that are not in the repository are read
from ``FSMODELS_SHARED``.
"""

import sys

from benchmarks.harness.log import Log
from benchmarks.harness.run import arguments, finish, write_pages
from benchmarks.papers.aytug import synthetic_page, uci_page
from benchmarks.papers.aytug.tasks import SETS, tasks, work

PAGES = ((synthetic_page.page, ("fsp_one", "fsp_two")), (uci_page.page, ("fsp_uci",)))


def main(words=None):
    """Run the tasks that are not in the log of their set, and write the pages."""
    parser = arguments(__doc__)
    parser.add_argument("--sets", default=",".join(SETS), help="some of one, two, uci (default: all)")
    options = parser.parse_args(words)
    for name in options.sets.split(","):
        log = Log(f"fsp_{name}")
        if options.fresh:
            log.clear()
        if not options.page:
            finish(log, tasks(options.full, [name]), work, options.minutes, options.jobs)
        log.pack()
    write_pages(sys.modules[__name__])
