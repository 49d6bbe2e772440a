"""Check that a solver has the capabilities that a driver role requires."""

from __future__ import annotations

from typing import Any

from solvers.errors import SolverError
from solvers.interfaces.registry import SOLVERS, Capability, SolverSpec, entry, names
from solvers.interfaces.spec import describe


def listed(solver: Any) -> SolverSpec:
    """Return the table's entry of a solver, by name or as an object. Raises SolverError if it has none."""
    spec = entry(solver)
    if not spec.ours:
        raise SolverError(
            f'Solver "{spec.name}" is not in the table of tested solvers, so it solves whole models only. Use one of '
            f"{', '.join(n for n, s in SOLVERS.items() if s.found)}, or add it: "
            f'solvers.register("{spec.name}", Capability.LP | Capability.LP_DUALS, qualify=True).'
        )
    return spec


def require(solver: Any, needed: Capability) -> SolverSpec:
    """Return an installed solver, by name or as an object, that can do what is needed.

    Raises SolverError, naming the missing capability and the installed solvers that have it.
    """
    spec = listed(solver)
    if needed in spec.capabilities:
        return spec
    missing = describe(needed & ~spec.capabilities)
    able = ", ".join(names(needed)) or "none; " + ", ".join(names(needed, installed=False)) + " could be installed"
    raise SolverError(f'Solver "{spec.name}" cannot do this: {missing} needed. Installed solvers that can: {able}.')


def require_proofs(solver: Any, needed: Capability) -> SolverSpec:
    """Return an installed solver whose bounds on mixed-integer programs count.

    Raises SolverError as ``require`` does, and for one that was measured to be wrong.
    """
    spec = require(solver, needed)
    if spec.misled:
        able = ", ".join(n for n in names(needed) if not SOLVERS[n].misled)
        raise SolverError(
            f'Solver "{spec.name}" cannot solve a master, whose bound is the run\'s: {spec.misled}. Use {able}.'
        )
    return spec
