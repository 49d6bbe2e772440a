"""Every solver by name: what it can solve, how it is found, how it is installed.

A name of this table leads to one Pyomo interface or one driver. Any other name goes to ``pyo.SolverFactory`` as it is.
The traps of the field that the entries guard against stand beside the code that does so: the facts here, what must be
done about them in ``quirks``, what holds for every solver in ``runner``.
"""

from __future__ import annotations

import difflib
import functools
import io
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import pyomo.environ as pyo
from pyomo.common.log import LoggingIntercept
from pyomo.contrib.solver.common.base import SolverBase
from pyomo.contrib.solver.common.factory import SolverFactory as SolverFactoryV2

from solvers.errors import OptionError, SolverError
from solvers.interfaces import quirks
from solvers.interfaces.spec import DUALS, SOLVERS, Capability, SolverSpec
from solvers.interfaces.strangers import stranger

C = Capability
_MIXED_INTEGER = C.LP | C.MILP | C.QP | C.MIQP | C.QCP | C.MIQCP | C.NONCONVEX | C.SOS
_LOCAL = C.LP | C.QP | C.QCP | C.NLP | DUALS
_DEFAULTS = [("highs", C.LP), ("highs", C.MILP), ("clarabel", C.QP), ("clarabel", C.QCP), ("scip", C.NONCONVEX)]
_DEFAULTS += [("scip", C.MIQP), ("scip", C.MIQCP), ("scip", C.MINLP), ("pounce", C.NLP), ("scip", C.SOS)]
COMMON = ["time_limit", "gap", "threads", "seed", "tee"]


_CYIPOPT = (
    "conda install -c conda-forge cyipopt pynumero_libraries; Debian: scripts/install_ipopt.sh of the source folder, "
    "because pip install cyipopt alone lacks Ipopt and Pyomo's ASL library"
)
_V2 = "pyomo.contrib.solver.solvers."


SOLVERS.update(
    (spec.name, spec)
    for spec in [
        # HiGHS stalls, aborts the process or finds false optima on quadratic models: LP and MILP only, see
        # docs/decisions/highs-sees-no-qp.md.
        SolverSpec(
            "highs",
            C.LP | C.MILP | C.LP_DUALS,
            "pip install highspy",
            quirks.highs_silent,
            quirks.package("highspy", "highspy"),
            words={"seed": "random_seed"},
            option_names=quirks.highs_options,
            around=quirks.highs,
            tight={
                "primal_feasibility_tolerance": 1e-9,
                "dual_feasibility_tolerance": 1e-9,
                "mip_feasibility_tolerance": 1e-9,
                "mip_abs_gap": 0.0,
            },
            tell_apart={"presolve": "off"},
            interface=_V2 + "highs.Highs",
        ),
        SolverSpec(
            "clarabel",
            C.LP | C.QP | C.QCP | DUALS,
            "pip install clarabel",
            quirks.clarabel,
            quirks.package("clarabel", "clarabel"),
            words={"iteration_limit": "iteration_limit"},
            option_names=quirks.clarabel_options,
            checks_options=True,
            pace=7e-7,
            interior=True,
            tell_apart={"tol_infeas_abs": 1e-14, "tol_infeas_rel": 1e-14},
            interface="solvers.clarabel.interface.Clarabel",
        ),
        SolverSpec(
            "pounce",
            _LOCAL,
            "pip install pyomo-pounce",
            quirks.pounce,
            quirks.package("pyomo_pounce", "pyomo-pounce"),
            words={"iteration_limit": "max_iter"},
            near={"mu_init": 1e-4},
            asked={"constr_viol_tol": 1e-7},
            option_names=quirks.ipopt_options,
            checks_options=True,
            local=True,
            interface="pyomo_pounce.v2.Pounce",
        ),
        # SCIP 10 cuts off optima by bound inequalities of ordered sets: wrong where rows x_j <= t hold for a variable t
        # and members x_j of several sets.
        SolverSpec(
            "scip",
            _MIXED_INTEGER | C.NLP | C.MINLP,
            "pip install pyscipopt",
            quirks.Scip,
            quirks.package("pyscipopt", "pyscipopt"),
            around=quirks.scip,
            words={"seed": "randomization/randomseedshift"},
            strict={"numerics/feastol": 1e-9},
            tight={"numerics/feastol": 1e-7, "numerics/dualfeastol": 1e-9},  # below, its LP solver complains on stdout
            pace=3e-6,
            sound={"constraints/SOS1/maxboundcuts": 0, "constraints/SOS1/maxboundcutsroot": 0},
            proves_at_poles=False,  # w^2 / s with s >= 0: 1005.9 "optimal" where 4.3 is, and "infeasible" for s >= 1e-9
            proves_with_sets=False,  # unbounded with sets without bounds: "infeasible" once, "optimal" once
            option_names=quirks.scip_options,
            interface=_V2 + "scip.scip_direct.ScipDirect",
        ),
        SolverSpec(
            "gurobi",
            _MIXED_INTEGER | C.LP_DUALS | C.LAZY_CUTS,
            "pip install gurobipy (without a licence: at most 2000 rows and columns, fewer with quadratic rows)",
            quirks.Gurobi,
            quirks.package("gurobipy", "gurobipy"),
            words={"seed": "Seed"},
            option_names=quirks.gurobi_options,
            checks_options=True,
            pace=3e-6,
            steep=1e5,  # at 5e5 it called 36532 optimal where 33846 is
            tight={"IntFeasTol": 1e-9, "FeasibilityTol": 1e-9, "OptimalityTol": 1e-9, "MIPGapAbs": 0.0},
            tell_apart={"DualReductions": 0},
            interface=_V2 + "gurobi.gurobi_persistent.GurobiPersistent",
            alone=True,
        ),
        SolverSpec(
            "ipopt",
            _LOCAL,
            f"an ipopt executable on the PATH (conda install -c conda-forge ipopt), or cyipopt ({_CYIPOPT})",
            quirks.modern("ipopt"),
            quirks.executable("ipopt", "-v", r"Ipopt (\S+)"),
            words={"iteration_limit": "max_iter"},
            near={"mu_init": 1e-4},
            asked={"constr_viol_tol": 1e-7, "bound_relax_factor": 1e-10},
            option_names=quirks.ipopt_options,
            checks_options=True,
            local=True,
            stand_in="cyipopt",
            interface=_V2 + "ipopt.Ipopt",
        ),
        SolverSpec(
            "cyipopt",
            _LOCAL,
            _CYIPOPT,
            quirks.classic("cyipopt"),
            quirks.cyipopt_version,
            words={"iteration_limit": "max_iter"},
            near={"mu_init": 1e-4},
            asked={"constr_viol_tol": 1e-7, "bound_relax_factor": 1e-10},
            option_names=quirks.ipopt_options,
            checks_options=True,
            accept=quirks.cyipopt_accepts,
            around=quirks.cyipopt,
            local=True,
            flip_duals=True,
            interface="pyomo.contrib.pynumero.algorithms.solvers.cyipopt_solver.PyomoCyIpoptSolver",
            alone=True,
        ),
        # PyPI's cbcbox returns wrong LP duals: no cbc is trusted with them. A gap would make its bound the LP
        # relaxation's, and when maximising of either sign: it always solves to its own proof. Version 2.10.8
        # was wrong on one of 2000 small mixed-integer models; without preprocessing it crashes on infeasible ones.
        SolverSpec(
            "cbc",
            C.LP | C.MILP,
            "Debian: apt-get install coinor-cbc; conda: conda install -c conda-forge coin-or-cbc",
            quirks.classic("cbc"),
            quirks.executable("cbc", "-stop", r"^(?:Version:|CBC) (\S+)"),
            words={"threads": "threads", "seed": "randomCbcSeed", "iteration_limit": "maxIterations"},
            option_names=quirks.cbc_options,
            misled="its integer preprocessing cuts off optima, and without that it crashes",
            confuses=C.MILP,
            proves_optimum=True,
            interface="pyomo.solvers.plugins.solvers.CBCplugin.CBCSHELL",
            alone=True,
        ),
        # A MIP gap ends in "feasible" without a bound: it always solves to its own proof.
        SolverSpec(
            "glpk",
            C.LP | C.MILP | C.LP_DUALS,
            "Debian: apt-get install glpk-utils; conda: conda install -c conda-forge glpk",
            quirks.Glpk,
            quirks.executable("glpsol", "--version", r"Solver,?\s+v?(\d\S*)"),
            option_names=quirks.glpk_options,
            seconds=math.ceil,
            proves_optimum=True,
            interface="pyomo.solvers.plugins.solvers.GLPK.GLPKSHELL",
            alone=True,
        ),
    ]
)


def nearest(name: str, allowed: list[str]) -> str:
    """Return " Did you mean ...?" with the closest allowed name, or nothing."""
    close = difflib.get_close_matches(name, allowed, n=1, cutoff=0.5)
    return f' Did you mean "{close[0]}"?' if close else ""


def names(capability: Capability, *, installed: bool = True) -> list[str]:
    """Return the solvers with every part of a capability."""
    return [s.name for s in SOLVERS.values() if capability in s.capabilities and (s.found or not installed)]


def either(capability: Capability) -> str:
    """Return the installed solvers with a capability in words: "scip or gurobi"."""
    return " or ".join(names(capability)) or "none installed"


def for_cones() -> str:
    """Return the installed solvers whose points satisfy cones at 0 too, in words: "clarabel or gurobi"."""
    able = [n for n in names(Capability.QCP) if not SOLVERS[n].local and not SOLVERS[n].strict]
    return " or ".join(able) or "none installed"


def find(name: str, besides: Iterable[str] = ()) -> SolverSpec:
    """Return the solver of a name, installed; messages name ``besides`` too, what else may stand there.

    Raises SolverError if the name is known neither here nor to Pyomo, or the solver is not installed; the message says
    what is.
    """
    spec = SOLVERS.get(name)
    if spec is not None and spec.version() is not None:
        return spec
    here = ", ".join([*(s.name for s in SOLVERS.values() if s.found is not None), *besides])
    if spec is None:
        with LoggingIntercept(io.StringIO(), "pyomo"):  # it logs a traceback for a name that is no executable
            factory = pyo.SolverFactory
            made = factory(name)
            if type(made).__name__ == "UnknownSolver" and name in SolverFactoryV2:
                factory = SolverFactoryV2
                made = factory(name)
        if type(made).__name__ == "UnknownSolver":
            close = nearest(name, [*SOLVERS, *besides])
            raise SolverError(f'Solver "{name}" is not known.{close} Installed here: {here}.')
        try:
            runs = made.available() if factory is SolverFactoryV2 else made.available(exception_flag=False)
        except Exception:  # what a program says is read as a version, and "cat" says nothing
            raise SolverError(
                f'"{name}" is a program here, but none that Pyomo knows as a solver. Installed here: {here}.'
            ) from None
        if not runs:
            raise SolverError(f'Pyomo knows "{name}", but does not find it here. Installed here: {here}.')
        return stranger(name, lambda: factory(name), made)
    if spec.found:
        return replace(SOLVERS[spec.stand_in], name=name)
    raise SolverError(f'Solver "{name}" is not installed. To get it: {spec.install}. Installed here: {here}.')


def default_solver(needed: list[Capability]) -> SolverSpec:
    """Return the solver for a class of model, as ``classes.needs`` gives it; another where it is not installed."""
    preferred, capability = next((name, c) for name, c in _DEFAULTS if c in needed)
    able = names(capability)
    return find(preferred if preferred in able or not able else able[0])


def recognise(solver: Any) -> SolverSpec:
    """Return the entry of a solver object: ours where its interface is one of the table's, so that its traps are met.

    One solve at a time: two threads may have given the same object, and Pyomo's own redirect the output.

    Raises SolverError if it is no solver.
    """
    if not callable(getattr(solver, "solve", None)):
        raise SolverError(f"solver={solver!r} is neither a name nor a Pyomo solver: use one of {', '.join(SOLVERS)}.")
    known = {spec.interface: spec for spec in SOLVERS.values()}
    for kind in type(solver).__mro__:
        spec = known.get(f"{kind.__module__}.{kind.__qualname__}")
        if spec is not None:
            return replace(spec, make=lambda: solver, shared=solver, alone=True)
    called = getattr(solver, "name", None) or next(
        kind.__name__ for kind in type(solver).__mro__ if not kind.__name__.startswith("Legacy")
    )
    return replace(stranger(str(called), lambda: solver, solver), shared=solver)


def entry(solver: Any) -> SolverSpec:
    """Return the entry of a solver by its name, or of a solver object. Raises SolverError as ``find`` does."""
    return find(solver) if isinstance(solver, str) else recognise(solver)


def called(solver: Any) -> str:
    """Return the name of a solver that is named or given as an object."""
    return solver if isinstance(solver, str) else recognise(solver).name


def declared(name: str, can: Capability, make: Callable[[], Any] | None, facts: Mapping[str, Any]) -> SolverSpec:
    """Return an entry by the word of a user."""
    made = (make or (lambda: pyo.SolverFactory(name)))()
    spec = stranger(name, make or (lambda: pyo.SolverFactory(name)), made)
    given = {"version": _version_of(spec.make), "capabilities": can, "misled": "", **facts}
    return replace(spec, ours=True, **given)


def _version_of(make: Callable[[], Any]) -> Callable[[], str | None]:
    """Return a function that tells the version of a solver, or None where it does not run here; asked once."""

    @functools.cache
    def version() -> str | None:
        solver = make()
        try:
            runs = solver.available() if isinstance(solver, SolverBase) else solver.available(exception_flag=False)
            said = solver.version() if runs else None
        except Exception:  # what a foreign program says of its version
            return None
        if not runs:
            return None
        return ".".join(map(str, said)) if isinstance(said, tuple) and said else "unknown"

    return version


def check_options(spec: SolverSpec, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options as the solver takes them; refuse one that it would swallow, or only print something about.

    Raises OptionError, naming the option and its nearest match.
    """
    if options and spec.option_names is not None and not spec.checks_options:
        lower = {n.lower() for n in spec.option_names()}
        for name in options:
            if name.lower() not in lower:
                raise refused_option(spec, name, options[name])
    for name, value in options.items():
        if name in spec.sound and value != spec.sound[name]:
            words = f"It must be {spec.sound[name]!r}: with another value {spec.name} was found to prove what is false."
            raise OptionError(f"{name}={value!r} is not allowed. {words} Leave it out.")
    return options if spec.accept is None else {name: _accepted(spec, name, options[name]) for name in options}


def _accepted(spec: SolverSpec, name: str, value: Any) -> Any:
    assert spec.accept is not None
    try:
        return spec.accept(name, value)
    except ValueError as error:
        raise refused_option(spec, name, value, str(error)) from None


def refuse_unpassed(spec: SolverSpec, options: Mapping[str, Any]) -> None:
    """Refuse common words that Pyomo cannot pass to a solver. Raises OptionError."""
    for word in sorted(spec.takes_no):
        if options.get(word) is not None:
            raise OptionError(
                f'Option "{word}" cannot be passed to {spec.name}, a solver of Pyomo\'s own: '
                "give the solver's own option for it by name."
            )


def refused_option(spec: SolverSpec, name: str, value: Any, words: str = "") -> OptionError:
    """Return the error for an option that a solver does not have, or whose value it refuses, with its own words."""
    known = spec.option_names() if spec.option_names else []
    said = f" It says: {words}" if words else ""
    if name in known:
        return OptionError(f"{name}={value!r} is not allowed by {spec.name}.{said}")
    return OptionError(f'Option "{name}" is not one of {spec.name}.{nearest(name, [*COMMON, *known])}{said}')
