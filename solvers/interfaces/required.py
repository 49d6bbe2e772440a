"""Who may stand in a slot of a driver: one of the table that claims what is needed, or one that a probe found so."""

from __future__ import annotations

from typing import Any

from solvers.errors import SolverError
from solvers.interfaces.probe import learned
from solvers.interfaces.registry import SOLVERS, Capability, SolverSpec, entry, names
from solvers.interfaces.spec import describe


def require(solver: Any, needed: Capability) -> SolverSpec:
    """Return an installed solver, by name or as an object, that can do what is needed.

    Raises SolverError, naming the missing capability and the installed solvers that have it.
    """
    spec = learned(entry(solver), needed)
    if needed in spec.capabilities:
        return spec
    missing = describe(needed & ~spec.capabilities)
    able = ", ".join(names(needed)) or "none; " + ", ".join(names(needed, installed=False)) + " could be installed"
    raise SolverError(f'Solver "{spec.name}" cannot do this: {missing} needed. Installed solvers that can: {able}.')


def require_proofs(solver: Any, needed: Capability) -> SolverSpec:
    """Return an installed solver whose word on mixed-integer programs a driver may build its bounds on.

    Raises SolverError as ``require`` does, and for one that was measured to be wrong.
    """
    spec = require(solver, needed)
    if spec.misled:
        able = ", ".join(n for n in names(needed) if not SOLVERS[n].misled)
        raise SolverError(
            f'Solver "{spec.name}" cannot solve a master, whose bound is the run\'s: {spec.misled}. Use {able}.'
        )
    return spec
