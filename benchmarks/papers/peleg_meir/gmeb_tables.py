"""Peleg and Meir 2005, tables 3 and 4, figures 1 and 2: GMEB compared with linear SVM, 1-norm SVM and RFE.

    python -m benchmarks gmeb_tables          # two repetitions of the small sets: a minute or two
    python -m benchmarks gmeb_tables --full   # everything: about an hour of one core; repeat the command to continue
    python -m benchmarks gmeb_tables --page   # only the page from the log

One task is one data set, training part, scaling and method, on one thread. The protocol is on the page.
"""

from benchmarks.harness.provenance import PACKAGES
from benchmarks.papers.peleg_meir.page import NAME, page
from benchmarks.papers.peleg_meir.tasks import tasks_of as tasks
from benchmarks.papers.peleg_meir.tasks import work

__all__ = ["NAME", "PACKAGES", "page", "tasks", "work"]
