"""The drivers by name."""

from __future__ import annotations

import pandas as pd

from solvers.drivers.alternating.driver import Alternating
from solvers.drivers.base import Driver
from solvers.drivers.benders.multi_tree import Benders
from solvers.drivers.benders.single_tree import SingleTree
from solvers.drivers.cutting_plane import CuttingPlane
from solvers.drivers.multistart import MultiStart
from solvers.drivers.row_generation import RowGeneration
from solvers.drivers.sla import SuccessiveLinearization
from solvers.drivers.tree.branch_and_cut import BranchAndCut
from solvers.drivers.two_layer.driver import TwoLayer
from solvers.interfaces.registry import SOLVERS, describe

# A driver of one's own is entered here: ``DRIVERS["its-name"] = ItsClass``.
DRIVERS: dict[str, type[Driver]] = {
    "benders": Benders,
    "branch-and-cut": BranchAndCut,
    "single-tree": SingleTree,
    "sla": SuccessiveLinearization,
    "alternating": Alternating,
    "multi-start": MultiStart,
    "cutting-plane": CuttingPlane,
    "two-layer": TwoLayer,
    "row-generation": RowGeneration,
}


def available() -> pd.DataFrame:
    """Return a table of all solvers and drivers: name, kind, found, version, how to get it, what it can solve.

    Examples
    --------
    >>> "highs" in available()["name"].tolist()
    True
    """
    rows = []
    for spec in SOLVERS.values():
        version = spec.found
        can = describe(spec.capabilities)
        rows.append((spec.name, "solver", version is not None, version or "", spec.install, can))
    for name, driver in DRIVERS.items():
        master = SOLVERS.get(getattr(driver.options_type, "master_solver", ""))
        found = master is None or master.found is not None
        rows.append((name, "driver", found, "", "" if found or master is None else master.install, driver.title))
    return pd.DataFrame(rows, columns=["name", "kind", "found", "version", "install", "solves"])
