"""The master's rows as the joint relaxation takes them."""

from __future__ import annotations

import numpy as np

from fsmodels.models.fsp.oracle.problem import Rows
from solvers.facts import LinearRows

BORDER = 200  # rows of the master beside which the joint relaxation is still fast


def one_sided(master: LinearRows) -> Rows | None:
    """Return the master's rows as <= and =; None where there are too many to border a system with."""
    lower, upper = master.lower, master.upper
    equal = lower == upper
    below, above = np.isfinite(lower) & ~equal, np.isfinite(upper)
    if int(below.sum() + above.sum()) > BORDER:
        return None
    matrix = np.vstack([master.matrix[above].toarray(), -master.matrix[below].toarray()])
    return Rows(
        matrix, np.append(upper[above], -lower[below]), np.append(equal[above], np.zeros(int(below.sum()), bool))
    )
