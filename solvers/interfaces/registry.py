"""Find a solver by its name or by a Pyomo object, and check its capabilities.

Names in ``table`` have an entry. Any other name is passed to ``pyo.SolverFactory``; such a solver solves whole models
only, see ``unlisted``.
"""

from __future__ import annotations

import difflib
import functools
import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import pyomo.environ as pyo
from pyomo.common.log import LoggingIntercept
from pyomo.contrib.appsi.base import Solver as Appsi
from pyomo.contrib.solver.common.base import SolverBase
from pyomo.contrib.solver.common.factory import SolverFactory as SolverFactoryV2
from pyomo.opt.solver import SystemCallSolver

from solvers.errors import OptionError, SolverError, UnknownSolver
from solvers.interfaces import table  # noqa: F401 - fills SOLVERS
from solvers.interfaces.spec import DUALS, SOLVERS, Capability, SolverSpec, describe

C = Capability
_DEFAULTS = [("highs", C.LP), ("highs", C.MILP), ("clarabel", C.QP), ("clarabel", C.QCP), ("scip", C.NONCONVEX)]
_DEFAULTS += [("scip", C.MIQP), ("scip", C.MIQCP), ("scip", C.MINLP), ("pounce", C.NLP), ("scip", C.SOS)]
_DEFAULTS += [("ipopt", C.NLP)]
COMMON = ["time_limit", "gap", "threads", "seed", "tee"]


def nearest(name: str, allowed: list[str]) -> str:
    """Return " Did you mean ...?" with the closest allowed name, or nothing."""
    by_lower = {option.lower(): option for option in allowed}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.5)
    return f' Did you mean "{by_lower[close[0]]}"?' if close else ""


def names(capability: Capability, *, installed: bool = True) -> list[str]:
    """Return the names of the solvers that have all of some capabilities."""
    return [s.name for s in SOLVERS.values() if capability in s.capabilities and (s.found or not installed)]


def either(capability: Capability) -> str:
    """Return the installed solvers with a capability as text, such as "scip or gurobi"."""
    return " or ".join(names(capability)) or "none installed"


def for_cones() -> str:
    """Return the installed solvers whose points satisfy cones at their apex as text, such as "clarabel or gurobi"."""
    able = [n for n in names(Capability.QCP) if not SOLVERS[n].local and not SOLVERS[n].retry_options]
    return " or ".join(able) or "none installed"


def find(name: str, besides: Iterable[str] = ()) -> SolverSpec:
    """Return the entry of an installed solver; messages also list ``besides``, other names that are allowed.

    Raises SolverError if the name is neither in the table nor in Pyomo, or if the solver is not installed; the message
    lists the installed solvers.
    """
    spec = SOLVERS.get(name)
    if spec is not None and spec.version() is not None:
        return spec
    here = ", ".join([*(s.name for s in SOLVERS.values() if s.found is not None), *besides])
    if spec is None:
        with LoggingIntercept(io.StringIO(), "pyomo"):  # Pyomo logs a traceback for an unknown name
            factory = pyo.SolverFactory
            made = factory(name)
            if type(made).__name__ == "UnknownSolver" and name in SolverFactoryV2:
                factory = SolverFactoryV2
                made = factory(name)
        if type(made).__name__ == "UnknownSolver":
            close = nearest(name, [*SOLVERS, *besides])
            raise UnknownSolver(f'Solver "{name}" is not known.{close} Installed: {here}.')
        try:
            runs = made.available() if factory is SolverFactoryV2 else made.available(exception_flag=False)
        except Exception:  # Pyomo parses the output of any program as a version; "cat" has none
            raise UnknownSolver(f'The program "{name}" is not a solver. Installed: {here}.') from None
        if not runs:
            raise SolverError(f'Solver "{name}" of Pyomo is not installed. Installed: {here}.')
        return replace(_listed(made) or unlisted(name, made), name=name, make=lambda: factory(name), serialised=True)
    if spec.found:
        return replace(SOLVERS[spec.fallback], name=name)
    raise SolverError(f'Solver "{name}" is not installed. To get it: {spec.install}. Installed: {here}.')


def default_solver(needed: list[Capability]) -> SolverSpec:
    """Return the first installed default solver of a class of model (``classes.needs``), or another able one."""
    capability = next(c for _, c in _DEFAULTS if c in needed)
    preferred = [name for name, c in _DEFAULTS if c == capability]
    able = names(capability)
    return find(next((name for name in preferred if name in able), (able or preferred)[0]))


def recognise(solver: Any) -> SolverSpec:
    """Return the entry of a solver object: that of the table if its interface is listed there.

    Only one thread solves at a time: two threads may share the object, and Pyomo's interfaces redirect the output.

    Raises SolverError if it is not a solver.
    """
    if not callable(getattr(solver, "solve", None)):
        raise SolverError(f"solver={solver!r} is neither a name nor a Pyomo solver: use one of {', '.join(SOLVERS)}.")
    called = getattr(solver, "name", None) or next(
        kind.__name__ for kind in type(solver).__mro__ if not kind.__name__.startswith("Legacy")
    )
    spec = _listed(solver) or unlisted(str(called), solver)
    return replace(spec, make=lambda: solver, instance=solver, serialised=True)


def _listed(solver: Any) -> SolverSpec | None:
    """Return the table's entry for the interface of a solver object, or None."""
    known = {spec.interface: spec for spec in SOLVERS.values()}
    found = (known.get(f"{kind.__module__}.{kind.__qualname__}") for kind in type(solver).__mro__)
    return next((spec for spec in found if spec is not None), None)


def unlisted(name: str, made: Any) -> SolverSpec:
    """Return an entry for a solver that is not in the table.

    It solves whole models, its points are verified, and its bounds are used for continuous linear models only. Common
    options that Pyomo cannot pass to it are rejected. ``made``: a solver object of this kind.
    """
    if isinstance(made, SolverBase):
        names_of = {"time_limit": "time_limit", "gap": "rel_gap", "threads": "threads"}
        passed = {option for option, name in names_of.items() if name in made.config}
    else:
        passed = {"time_limit"} if isinstance(made, SystemCallSolver | Appsi) else set()
    return SolverSpec(
        name,
        ~(C.LAZY_CUTS | C.SOS | DUALS),
        "see Pyomo's documentation",
        type(made),
        lambda: "unknown",
        checks_options=True,
        untrusted="it is not in the table of tested solvers (see solvers.register)",
        unsupported_options=frozenset({"time_limit", "gap", "threads", "seed"}) - passed,
        serialised=True,
        in_table=False,
    )


def entry(solver: Any) -> SolverSpec:
    """Return the entry of a solver by its name, or of a solver object. Raises SolverError as ``find`` does."""
    return find(solver) if isinstance(solver, str) else recognise(solver)


def called(solver: Any) -> str:
    """Return the name of a solver, given by name or as an object."""
    return solver if isinstance(solver, str) else recognise(solver).name


def declared(name: str, can: Capability, make: Callable[[], Any] | None, facts: Mapping[str, Any]) -> SolverSpec:
    """Return the entry of a solver that a user registers."""
    make = make or (lambda: pyo.SolverFactory(name))
    made = make()
    spec = replace(_listed(made) or unlisted(name, made), untrusted="")
    fields = {"version": _version_of(make), "capabilities": can, "interface": "", **facts}
    return replace(spec, name=name, make=make, in_table=True, **fields)


def _version_of(make: Callable[[], Any]) -> Callable[[], str | None]:
    """Return a cached function that returns the version of a solver, or None if it does not run."""

    @functools.cache
    def version() -> str | None:
        solver = make()
        try:
            runs = solver.available() if isinstance(solver, SolverBase) else solver.available(exception_flag=False)
            version = solver.version() if runs else None
        except Exception:  # errors of the other program
            return None
        if not runs:
            return None
        return ".".join(map(str, version)) if isinstance(version, tuple) and version else "unknown"

    return version


def check_options(spec: SolverSpec, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options in the types of the solver, and reject options that the solver would ignore.

    Raises OptionError with the option and the most similar name.
    """
    if options and spec.option_names is not None and not spec.checks_options:
        lower = {n.lower() for n in spec.option_names()}
        for name in options:
            if name.lower() not in lower:
                raise refused_option(spec, name, options[name])
    for name, value in options.items():
        if name in spec.required_options and value != spec.required_options[name]:
            must = spec.required_options[name]
            why = f"It must be {must!r}, because {spec.name} has reported false proofs with other values."
            raise OptionError(f"{name}={value!r} is not allowed. {why} Leave it out.")
    accepted = dict(options)
    for name, value in options.items() if spec.convert_option is not None else ():
        try:
            accepted[name] = spec.convert_option(name, value)  # type: ignore[misc]
        except ValueError as error:
            raise refused_option(spec, name, value, str(error)) from None
    return accepted


def refuse_unpassed(spec: SolverSpec, options: Mapping[str, Any]) -> None:
    """Reject common options that Pyomo cannot pass to a solver. Raises OptionError."""
    for option in sorted(spec.unsupported_options):
        if options.get(option) is not None:
            raise OptionError(
                f'Option "{option}" cannot be passed to {spec.name} by Pyomo: give the option of {spec.name} itself.'
            )


def refused_option(spec: SolverSpec, name: str, value: Any, message: str = "") -> OptionError:
    """Return the error for an unknown option or a rejected value, with the message of the solver."""
    known = spec.option_names() if spec.option_names else []
    reply = f" Its message: {message}" if message else ""
    if name in known:
        return OptionError(f"{name}={value!r} is not allowed by {spec.name}.{reply}")
    return OptionError(f'Option "{name}" is not one of {spec.name}.{nearest(name, [*COMMON, *known])}{reply}')


def listed(solver: Any) -> SolverSpec:
    """Return the entry of a solver in the table, by name or as an object. Raises SolverError if it has none."""
    spec = entry(solver)
    if not spec.in_table:
        raise SolverError(
            f'Solver "{spec.name}" is not in the table of tested solvers and can solve whole models only. Use one of '
            f"{', '.join(n for n, s in SOLVERS.items() if s.found)}, or add it: "
            f'solvers.register("{spec.name}", Capability.LP | Capability.LP_DUALS, qualify=True).'
        )
    return spec


def require(solver: Any, needed: Capability) -> SolverSpec:
    """Return the entry of an installed solver, by name or as an object, that has the needed capabilities.

    Raises SolverError, naming the missing capability and the installed solvers that have it.
    """
    spec = listed(solver)
    if needed in spec.capabilities:
        return spec
    missing = describe(needed & ~spec.capabilities)
    able = ", ".join(names(needed)) or "none"
    if able == "none" and (others := names(needed, installed=False)):
        able = f"none; {', '.join(others)} could be installed"
    raise SolverError(f'Solver "{spec.name}" does not support {missing}. Installed solvers that do: {able}.')


def require_proofs(solver: Any, needed: Capability) -> SolverSpec:
    """Return the entry of an installed solver whose bounds on mixed-integer programs are trusted.

    Raises SolverError as ``require`` does, and for a solver with known wrong bounds.
    """
    spec = require(solver, needed)
    if spec.untrusted:
        able = ", ".join(n for n in names(needed) if not SOLVERS[n].untrusted)
        raise SolverError(
            f'The bounds of solver "{spec.name}" are not trusted for a master problem: {spec.untrusted}. Use {able}.'
        )
    return spec
