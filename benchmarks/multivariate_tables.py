"""Mao and Tsang 2013: FSmulti for F1, Rec@2p, PRBEP and errors beside structural SVM, FGM, l1 and RFE.

    python benchmarks/multivariate_tables.py           # three sets of bags, four of text, six classes: some minutes
    python benchmarks/multivariate_tables.py --full    # all tables and figures: about an hour

What the log has already is not computed again; ``multivariate_tasks`` is the protocol, ``multivariate_data`` says where
the data must be, ``multivariate_page`` draws the page.
"""

import multivariate_page
import multivariate_tasks
from log import script

PACKAGES = ("pyomo", "numpy", "scipy", "scikit-learn", "clarabel")

if __name__ == "__main__":
    script(
        multivariate_tasks.NAME,
        __doc__,
        multivariate_tasks.tasks,
        multivariate_tasks.work,
        multivariate_page.write,
        *PACKAGES,
        seeds="0; bags 0 to 2",
    )
