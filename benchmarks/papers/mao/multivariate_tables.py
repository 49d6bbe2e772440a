"""Mao and Tsang 2013: FSmulti for F1, Rec@2p, PRBEP and errors, compared with structural SVM, FGM, l1 and RFE.

    python -m benchmarks multivariate_tables           # three sets of bags, four of text, six classes: some minutes
    python -m benchmarks multivariate_tables --full    # all tables and figures: about an hour

Finished tasks are not computed again; ``tasks`` is the protocol, ``data`` tells where the data must be, ``page`` is the
page.
"""

from benchmarks.papers.mao.page import page
from benchmarks.papers.mao.tasks import NAME, tasks, work

__all__ = ["FACTS", "NAME", "PACKAGES", "page", "tasks", "work"]
PACKAGES, FACTS = ("pyomo", "numpy", "scipy", "scikit-learn", "clarabel"), {"seeds": "0; bags 0 to 2"}
