"""The drivers by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pandas as pd

from solvers.drivers.alternating.driver import Alternating
from solvers.drivers.base import Driver
from solvers.drivers.benders.multi_tree import Benders
from solvers.drivers.benders.single_tree import SingleTree
from solvers.drivers.branch_cut.branch_and_cut import BranchAndCut
from solvers.drivers.cutting_plane.integer import MixedCuttingPlane
from solvers.drivers.cutting_plane.row_generation import RowGeneration
from solvers.drivers.multi_start import MultiStart
from solvers.drivers.sla.driver import SuccessiveLinearization
from solvers.drivers.two_layer.driver import TwoLayer
from solvers.errors import OptionError, SolverError
from solvers.interfaces.qualification import qualify as check_trials
from solvers.interfaces.registry import SOLVERS, Capability, SolverSpec, declared, nearest
from solvers.interfaces.spec import describe
from solvers.user_warnings import warn

# ``solvers.lazy`` lists the same names without importing the drivers. To add a driver: ``DRIVERS["name"] = Class``.
DRIVERS: dict[str, type[Driver]] = {
    "benders": Benders,
    "branch-and-cut": BranchAndCut,
    "single-tree": SingleTree,
    "sla": SuccessiveLinearization,
    "alternating": Alternating,
    "multi-start": MultiStart,
    "cutting-plane": MixedCuttingPlane,
    "two-layer": TwoLayer,
    "row-generation": RowGeneration,
}
RENAMED = {"words": "common_options", "tight": "tight_options"}  # fields of ``SolverSpec``, for one version


def register(
    name: str,
    capabilities: Capability,
    *,
    make: Callable[[], Any] | None = None,
    qualify: bool = False,
    **facts: Any,
) -> SolverSpec:
    """Add a solver to the table, with the given capabilities.

    Parameters
    ----------
    name : str
        Name for ``solve`` and for the solver options of drivers.
    capabilities : Capability
        All its capabilities, for example ``Capability.LP | Capability.LP_DUALS | Capability.MILP``.
    make : callable, optional
        Returns a new Pyomo solver; by default ``pyo.SolverFactory(name)``.
    qualify : bool
        Solve trial problems first, with a few variables and known answers: linear, convex quadratic and mixed-integer
        programs, their multipliers, and the status without a solution and at a time limit. This takes about a second.
    **facts
        Fields of ``SolverSpec``, for example ``common_options={"gap": "mipgap"}``, ``option_names``,
        ``tight_options``, ``local=True``, ``flip_duals=True``, ``version``, ``install``.

    Raises
    ------
    OptionError
        If the name is in use, or a fact is not a field of ``SolverSpec``.
    SolverError
        If an answer to a trial problem is wrong; then the solver is not added.

    Examples
    --------
    >>> import pyomo.environ as pyo, solvers
    >>> from solvers import Capability
    >>> spec = solvers.register("my-highs", Capability.LP, make=lambda: pyo.SolverFactory("appsi_highs"))
    >>> "my-highs" in solvers.available()["name"].tolist()
    True
    >>> spec = solvers.forget("my-highs")
    """
    if name in DRIVERS or name in SOLVERS:
        kind = "driver" if name in DRIVERS else "solver"
        raise OptionError(f'"{name}" is the name of a {kind}: choose another, or call solvers.forget("{name}") first.')
    if not isinstance(capabilities, Capability):
        raise OptionError(f"capabilities={capabilities!r} are not allowed: give a solvers.Capability, or several by |.")
    for old in RENAMED.keys() & facts.keys():
        warn(f"{old}= is now {RENAMED[old]}=", DeprecationWarning)
        facts[RENAMED[old]] = facts.pop(old)
    known = [f.name for f in dataclasses.fields(SolverSpec)]
    for fact in facts:
        if fact not in known or fact in ("instance", "in_table"):
            raise OptionError(f'"{fact}" is not a field of SolverSpec.{nearest(fact, known)}')
    spec = declared(name, capabilities, make, facts)
    if qualify:
        check_trials(spec)
    SOLVERS[name] = spec
    return spec


def forget(name: str) -> SolverSpec:
    """Remove a solver from the table, and return its entry.

    Raises SolverError if it is not in the table.
    """
    if name not in SOLVERS:
        hint = nearest(name, list(SOLVERS))
        raise SolverError(f'"{name}" is not in the table.{hint} The table has: {", ".join(SOLVERS)}.')
    return SOLVERS.pop(name)


def available() -> pd.DataFrame:
    """Return a table of all solvers and drivers: name, kind, found, version, installation, and problem classes.

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
