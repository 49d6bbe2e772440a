"""Bradley, Mangasarian and Street 1998, tables 1-3, figures 1-8: FSS, FSV, FSB and OBD on the two problems.

    python -m benchmarks concave_tables           # one division of the data, one start each: some five minutes
    python -m benchmarks concave_tables --full    # five divisions, all starts: about 25 minutes

Finished tasks are not computed again. The module ``tasks`` defines the protocol, ``page`` the page.
"""

from benchmarks.harness.provenance import PACKAGES
from benchmarks.papers.bradley.page import NAME, page
from benchmarks.papers.bradley.tasks import tasks, work

__all__ = ["NAME", "PACKAGES", "page", "tasks", "work"]
