"""Every solver by name: what it can solve, how it is found, how it is installed.

A name of this table leads to one Pyomo interface or one driver. Any other name goes to ``pyo.SolverFactory`` as it is.
The traps of the field that the entries guard against stand beside the code that does so, here and in ``interfaces``.
"""

from __future__ import annotations

import difflib
import enum
import importlib.metadata
import importlib.util
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pandas as pd
import pyomo.environ as pyo
from pyomo.contrib.solver.common.factory import SolverFactory as SolverFactoryV2

from solvers.errors import OptionError, SolverError


class Capability(enum.Flag):
    """Classes of model, and what a solver can report on them."""

    LP = enum.auto()
    MILP = enum.auto()
    QP = enum.auto()  # convex quadratic objective, linear rows
    MIQP = enum.auto()
    QCP = enum.auto()  # convex quadratic rows, second-order cones
    MIQCP = enum.auto()
    NONCONVEX = enum.auto()  # global optimum of a nonconvex quadratic model
    NLP = enum.auto()
    MINLP = enum.auto()
    LP_DUALS = enum.auto()
    QP_DUALS = enum.auto()
    LAZY_CUTS = enum.auto()


C = Capability
LABELS = {C.QP: "convex QP", C.QCP: "SOCP/QCQP", C.MIQCP: "MISOCP", C.LP_DUALS: "LP duals", C.QP_DUALS: "QP duals"}
LABELS |= {C.LAZY_CUTS: "lazy cuts", C.NONCONVEX: "nonconvex QCQP"}
_MIXED_INTEGER = C.LP | C.MILP | C.QP | C.MIQP | C.QCP | C.MIQCP


@dataclass(frozen=True)
class SolverSpec:
    """One solver: how to make it and what it can do.

    ``words`` maps the common option words (time_limit, gap, threads, seed) to the solver's own, for what its interface
    does not take itself; ``known_options`` lists the solver's own names where it would swallow an unknown one.
    """

    name: str
    capabilities: Capability
    install: str
    make: Callable[[], Any]
    version: Callable[[], str | None]  # None: not found
    words: dict[str, str] = field(default_factory=dict)
    known_options: Callable[[], list[str]] | None = None
    local: bool = False  # proves nothing about the optimum: its answer is stationary
    flip_duals: bool = False


def _package(module: str, distribution: str) -> Callable[[], str | None]:
    def version() -> str | None:
        return importlib.metadata.version(distribution) if importlib.util.find_spec(module) else None

    return version


def _executable(command: str, flag: str) -> Callable[[], str | None]:
    def version() -> str | None:
        path = shutil.which(command)
        if path is None:
            return None
        try:
            out = subprocess.run([path, flag], capture_output=True, text=True, timeout=10, stdin=subprocess.DEVNULL)
        except (OSError, subprocess.TimeoutExpired):
            return None
        digits = [word.strip(",;:") for word in out.stdout.split() if word[:1].isdigit() and "." in word]
        return digits[0] if digits else "unknown"

    return version


def _v2(name: str) -> Callable[[], Any]:
    return lambda: SolverFactoryV2(name)


def _pounce() -> Any:
    import pyomo_pounce  # noqa: F401  importing registers the solver

    return SolverFactoryV2("pounce")


def _clarabel() -> Any:
    import solvers.clarabel  # noqa: F401  importing registers the solver

    return pyo.SolverFactory("clarabel")


def _cyipopt_version() -> str | None:
    """Find cyipopt together with its ASL library: without the library Pyomo says available, and solving raises."""
    if importlib.util.find_spec("cyipopt") is None:
        return None
    from pyomo.contrib.pynumero.asl import AmplInterface

    return importlib.metadata.version("cyipopt") if AmplInterface.available() else None


def _ipopt_version() -> str | None:
    return _executable("ipopt", "-v")() or _cyipopt_version()


def _ipopt() -> Any:
    return SolverFactoryV2("ipopt") if shutil.which("ipopt") else pyo.SolverFactory("cyipopt")


@cache
def _scip_options() -> list[str]:
    import pyscipopt

    return list(pyscipopt.Model().getParams())


@cache
def _highs_options() -> list[str]:
    import io
    from contextlib import redirect_stdout
    from tempfile import NamedTemporaryFile

    import highspy

    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    with redirect_stdout(io.StringIO()), NamedTemporaryFile("r", suffix=".opt") as file:
        highs.writeOptions(file.name)
        return [line.split("=")[0].strip() for line in file if "=" in line and not line.startswith("#")]


_CYIPOPT = (
    "Debian: apt-get install coinor-libipopt-dev libamplsolver-dev, then pip install cyipopt and build Pyomo's ASL "
    "library; conda: conda install -c conda-forge cyipopt pynumero_libraries"
)

SOLVERS: dict[str, SolverSpec] = {
    spec.name: spec
    for spec in [
        # HiGHS stalls, aborts the process or finds false optima on quadratic models (DESIGN 4): LP and MILP only.
        SolverSpec(
            "highs",
            C.LP | C.MILP | C.LP_DUALS,
            "pip install highspy",
            _v2("highs"),
            _package("highspy", "highspy"),
            {"seed": "random_seed"},
            _highs_options,
        ),
        SolverSpec(
            "clarabel",
            C.LP | C.QP | C.QCP | C.LP_DUALS | C.QP_DUALS,
            "pip install clarabel",
            _clarabel,
            _package("clarabel", "clarabel"),
            {"time_limit": "time_limit"},
        ),
        SolverSpec(
            "pounce",
            C.LP | C.QP | C.QCP | C.NLP | C.LP_DUALS | C.QP_DUALS,
            "pip install pyomo-pounce",
            _pounce,
            _package("pyomo_pounce", "pyomo-pounce"),
            local=True,
        ),
        SolverSpec(
            "scip",
            _MIXED_INTEGER | C.NONCONVEX | C.NLP | C.MINLP,
            "pip install pyscipopt",
            _v2("scip_direct"),
            _package("pyscipopt", "pyscipopt"),
            {"seed": "randomization/randomseedshift"},
            _scip_options,
        ),
        SolverSpec(
            "gurobi",
            _MIXED_INTEGER | C.NONCONVEX | C.LP_DUALS | C.LAZY_CUTS,
            "pip install gurobipy (2000 rows and columns without a licence)",
            _v2("gurobi_persistent"),
            _package("gurobipy", "gurobipy"),
            {"seed": "Seed"},
        ),
        SolverSpec(
            "ipopt",
            C.LP | C.QP | C.QCP | C.NLP | C.LP_DUALS | C.QP_DUALS,
            "an ipopt executable on the PATH, or cyipopt. " + _CYIPOPT,
            _ipopt,
            _ipopt_version,
            {"time_limit": "max_wall_time"},
            local=True,
        ),
        SolverSpec(
            "cyipopt",
            C.LP | C.QP | C.QCP | C.NLP | C.LP_DUALS | C.QP_DUALS,
            _CYIPOPT,
            lambda: pyo.SolverFactory("cyipopt"),
            _cyipopt_version,
            {"time_limit": "max_wall_time"},
            local=True,
            flip_duals=True,
        ),
        # PyPI's cbcbox returns wrong LP duals: no cbc is trusted with them.
        SolverSpec(
            "cbc",
            C.LP | C.MILP,
            "Debian: apt-get install coinor-cbc; conda: coin-or-cbc",
            lambda: pyo.SolverFactory("cbc"),
            _executable("cbc", "-stop"),
            {"time_limit": "sec", "gap": "ratio", "threads": "threads", "seed": "randomCbcSeed"},
        ),
        SolverSpec(
            "glpk",
            C.LP | C.MILP | C.LP_DUALS,
            "Debian: apt-get install glpk-utils; conda: glpk",
            lambda: pyo.SolverFactory("glpk"),
            _executable("glpsol", "--version"),
            {"time_limit": "tmlim", "gap": "mipgap"},
        ),
    ]
}


def nearest(name: str, allowed: list[str]) -> str:
    """Return " Did you mean ...?" with the closest allowed name, or nothing."""
    close = difflib.get_close_matches(name, allowed, n=1, cutoff=0.5)
    return f' Did you mean "{close[0]}"?' if close else ""


def names(capability: Capability, *, installed: bool = True) -> list[str]:
    """Return the solvers with every part of a capability."""
    return [s.name for s in SOLVERS.values() if capability in s.capabilities and (s.version() or not installed)]


def find(name: str) -> SolverSpec:
    """Return the solver of a name, installed.

    Raises
    ------
    SolverError
        If the name is known neither here nor to Pyomo, or the solver is not installed; the message says what is.
    """
    spec = SOLVERS.get(name)
    if spec is None:
        factory = pyo.SolverFactory(name)
        if type(factory).__name__ == "UnknownSolver":
            from solvers.run import DRIVERS

            known = [*SOLVERS, *DRIVERS]
            here = ", ".join([*(s.name for s in SOLVERS.values() if s.version()), *DRIVERS])
            raise SolverError(f'Solver "{name}" is not known.{nearest(name, known)} Installed here: {here}.')
        every = ~(C.LAZY_CUTS | C.LP_DUALS | C.QP_DUALS)  # Pyomo's own: we know nothing against it
        return SolverSpec(name, every, "see Pyomo's documentation", lambda: pyo.SolverFactory(name), lambda: "unknown")
    if spec.version() is None:
        others = [n for n in names(C.LP) if n != name]
        raise SolverError(
            f'Solver "{name}" is not installed. To get it: {spec.install}. Installed here: {", ".join(others)}.'
        )
    return spec


def require(name: str, needed: Capability) -> SolverSpec:
    """Return an installed solver that can do what is needed.

    Raises
    ------
    SolverError
        Naming the missing capability and the installed solvers that have it.
    """
    spec = find(name)
    if needed in spec.capabilities:
        return spec
    missing = describe(needed & ~spec.capabilities)
    able = ", ".join(names(needed)) or "none; " + ", ".join(names(needed, installed=False)) + " could be installed"
    raise SolverError(f'Solver "{name}" cannot do this: {missing} needed. Installed solvers that can: {able}.')


def describe(capability: Capability) -> str:
    """Return a capability in words."""
    return ", ".join(LABELS.get(c, str(c.name)) for c in capability)


def check_options(spec: SolverSpec, options: dict[str, Any]) -> None:
    """Refuse an option that the solver would swallow or only log.

    Raises
    ------
    OptionError
        Naming the option and its nearest match.
    """
    if spec.known_options is None:
        return
    known = spec.known_options()
    for name in options:
        if name not in known:
            raise OptionError(f'Option "{name}" is not one of {spec.name}.{nearest(name, [*COMMON, *known])}')


COMMON = ["time_limit", "gap", "threads", "seed", "tee"]


def available() -> pd.DataFrame:
    """Return a table of all solvers and drivers: name, version, how to get it, what it can solve.

    Examples
    --------
    >>> "highs" in available()["name"].tolist()
    True
    """
    from solvers.run import DRIVERS

    rows = []
    for spec in SOLVERS.values():
        version = spec.version()
        rows.append(
            (spec.name, "solver", version is not None, version or "", spec.install, describe(spec.capabilities))
        )
    rows += [(name, "driver", True, "", "", driver.title) for name, driver in DRIVERS.items()]
    return pd.DataFrame(rows, columns=["name", "kind", "found", "version", "install", "solves"])
