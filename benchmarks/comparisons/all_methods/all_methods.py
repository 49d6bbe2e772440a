"""The methods of all five papers and common methods on the same data, splits and rule of choice.

    python -m benchmarks all_methods --minutes 20            # one split of every set; the same command goes on
    python -m benchmarks all_methods --full --minutes 20     # five splits
    python -m benchmarks all_methods --page                  # the three pages from the log alone

Three parts, one log: "methods", each with its own parameter chosen on a third of the training part; "rules", the same
fits under a budget and a pair that may not be selected together; "k", what is selected at most k features.
"""

from benchmarks.comparisons.all_methods import page, page_at_k, page_of_rules
from benchmarks.comparisons.all_methods.tasks import NAME, tasks, work
from benchmarks.harness.provenance import PACKAGES

__all__ = ["NAME", "PACKAGES", "PAGES", "tasks", "work"]
PAGES = tuple((each.page, (NAME,)) for each in (page, page_at_k, page_of_rules))
