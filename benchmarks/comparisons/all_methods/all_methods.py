"""The methods of all five papers and common methods, with the same data, splits and rule of choice.

    python -m benchmarks all_methods --minutes 20            # one split of every set; repeat the command to continue
    python -m benchmarks all_methods --full --minutes 20     # five splits
    python -m benchmarks all_methods --page                  # the three pages from the log alone

One log has three parts. "methods": each method with its parameter chosen on a third of the training part. "rules": the
same fits with a budget and a pair of features that may not both be selected. "k": selections of at most k features.

FasterRisk and OKRidge are optional and require numpy < 2; the parts that are used here run with later versions:
``pip install --no-deps fasterrisk okridge``, and ``pip install psutil requests``.
"""

from benchmarks.comparisons.all_methods import page, page_at_k, page_of_rules
from benchmarks.comparisons.all_methods.tasks import NAME, tasks, work
from benchmarks.harness import provenance

__all__ = ["NAME", "PACKAGES", "PAGES", "tasks", "work"]
PACKAGES = (*provenance.PACKAGES, "fasterrisk", "okridge")
PAGES = tuple((each.page, (NAME,)) for each in (page, page_at_k, page_of_rules))
