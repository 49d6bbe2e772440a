"""The methods of all five papers and common methods, with the same data, splits and rule of choice.

    python -m benchmarks all_methods --minutes 20            # one split of every set; repeat the command to continue
    python -m benchmarks all_methods --full --minutes 20     # five splits
    python -m benchmarks all_methods --page                  # the three pages from the log alone

One log has three parts. "methods": each method with its parameter chosen on a third of the training part. "rules": the
same fits with a budget and a pair of features that may not both be selected. "k": selections of at most k features.
"""

from benchmarks.comparisons.all_methods import page, page_at_k, page_of_rules
from benchmarks.comparisons.all_methods.tasks import NAME, tasks, work
from benchmarks.harness.provenance import PACKAGES

__all__ = ["NAME", "PACKAGES", "PAGES", "tasks", "work"]
PAGES = tuple((each.page, (NAME,)) for each in (page, page_at_k, page_of_rules))
