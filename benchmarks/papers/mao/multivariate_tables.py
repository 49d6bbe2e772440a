"""Mao and Tsang 2013: FSmulti for F1, Rec@2p, PRBEP and errors beside structural SVM, FGM, l1 and RFE.

    python -m benchmarks multivariate_tables           # three sets of bags, four of text, six classes: some minutes
    python -m benchmarks multivariate_tables --full    # all tables and figures: about an hour

What the log has already is not computed again; ``multivariate_tasks`` is the protocol, ``multivariate_data`` says where
the data must be, ``multivariate_page`` draws the page.
"""

from benchmarks.harness.log import script
from benchmarks.papers.mao import page as multivariate_page
from benchmarks.papers.mao import tasks as multivariate_tasks

PACKAGES = ("pyomo", "numpy", "scipy", "scikit-learn", "clarabel")


def main():
    script(
        multivariate_tasks.NAME,
        __doc__,
        multivariate_tasks.tasks,
        multivariate_tasks.work,
        multivariate_page.write,
        *PACKAGES,
        seeds="0; bags 0 to 2",
    )
