"""Every solver by name: what it can solve, how it is found, how it is installed.

A name of this table leads to one Pyomo interface or one driver. Any other name goes to ``pyo.SolverFactory`` as it is.
The traps of the field that the entries guard against stand beside the code that does so: the facts here, what must be
done about them in ``quirks``, what holds for every solver in ``runner``.
"""

from __future__ import annotations

import difflib
import enum
import io
import math
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any

import pyomo.environ as pyo
from pyomo.common.log import LoggingIntercept

from solvers.errors import OptionError, SolverError
from solvers.interfaces import quirks


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
    SOS = enum.auto()  # special ordered sets, beside any of these
    LP_DUALS = enum.auto()
    QP_DUALS = enum.auto()
    LAZY_CUTS = enum.auto()


C = Capability
LABELS = {C.QP: "convex QP", C.QCP: "SOCP/QCQP", C.MIQCP: "MISOCP", C.NONCONVEX: "nonconvex QCQP"}
LABELS |= {C.LP_DUALS: "LP duals", C.QP_DUALS: "QP duals", C.LAZY_CUTS: "lazy cuts"}
DUALS = C.LP_DUALS | C.QP_DUALS
_MIXED_INTEGER = C.LP | C.MILP | C.QP | C.MIQP | C.QCP | C.MIQCP | C.NONCONVEX | C.SOS
_LOCAL = C.LP | C.QP | C.QCP | C.NLP | DUALS
_DEFAULTS = [("highs", C.LP), ("highs", C.MILP), ("clarabel", C.QP), ("clarabel", C.QCP), ("scip", C.NONCONVEX)]
_DEFAULTS += [("scip", C.MIQP), ("scip", C.MIQCP), ("scip", C.MINLP), ("pounce", C.NLP), ("scip", C.SOS)]
COMMON = ["time_limit", "gap", "threads", "seed", "tee"]


@dataclass(frozen=True)
class SolverSpec:
    """One solver: how to make it, what it can do, and what is particular about it.

    - ``version``: returns the version found, or None.
    - ``words``: the common option words (``time_limit``, ``gap``, ``threads``, ``seed``, ``iteration_limit``) in the
      solver's own language, for what its interface does not take itself. A word without meaning for a registered solver
      (the seed of a solver that draws nothing, the gap of one without a bound) has no effect.
    - ``option_names``: the solver's own options: for the nearest match, and, unless ``checks_options``, to refuse what
      it would swallow.
    - ``checks_options``: the solver refuses unknown options itself.
    - ``accept``: tries one option on the solver itself: returns its value as the solver takes it, or raises
      ``ValueError`` with the solver's words.
    - ``around``: a context around each solve (see ``quirks``).
    - ``seconds``: a time limit as it takes it.
    - ``pace``: seconds a term of a dense row, from writing it in other variables to the solver's first step: measured
      on 2000 rows of 400 terms. A limit that ends before that ends the run at once.
    - ``steep``: the largest big-M, in units of what it bounds, with which its bound counts: beyond, its tolerances on
      integers let any weight pass, or its presolve cuts off optima.
    - ``strict``: what makes it solve again with tighter rows, where its point lost its proof when it was recomputed.
    - ``tight``: what makes it hold rows, integrality and reduced costs to about 1e-9, as the masters of cut loops need.
    - ``tell_apart``: options with which it tells infeasible from unbounded when its presolve could not.
    - ``misled``: why its optimum of a mixed-integer program may be none: neither its word nor its bound counts there,
      and no driver builds on it.
    - ``blurs``: it says infeasible of a mixed-integer model that is unbounded.
    - ``near``: options with which it stays near the point it starts from: a barrier of the usual 0.1 throws it away.
    - ``sound``: options without which it was measured to prove what is false: they go with every solve, and another
      value for one of them is refused.
    - ``local``: it proves nothing about the optimum: its answer is stationary, its bound none.
    - ``proves_optimum``: its interface reports no trustworthy bound, but its "optimal" is a proof, because no gap is
      passed to it.
    - ``flip_duals``: it returns the multipliers of its Lagrangian, f + y'g with f negated to maximise: Pyomo's with the
      opposite sign when minimising, with the same when maximising.
    - ``stand_in``: the entry that serves under this name where this one is not found: the same program by another way.
    - ``alone``: its interface redirects the output of the whole process, or keeps files in a list of the process's: one
      solve at a time.
    - ``interface``: qualified name of its interface's class, by which a solver object is recognised.
    - ``ours``: in this table. Of any other solver we know nothing, and refuse words that we cannot pass on.
    """

    name: str
    capabilities: Capability
    install: str
    make: Callable[[], Any]
    version: Callable[[], str | None]
    words: dict[str, str] = field(default_factory=dict)
    option_names: Callable[[], list[str]] | None = None
    checks_options: bool = False
    accept: Callable[[str, Any], Any] | None = None
    around: Callable[..., AbstractContextManager[quirks.Attempt]] = quirks.plain
    seconds: Callable[[float], float] = float
    pace: float = 2e-6
    steep: float = 1e8
    tight: dict[str, Any] = field(default_factory=dict)
    tell_apart: dict[str, Any] = field(default_factory=dict)
    misled: str = ""
    blurs: bool = False
    strict: dict[str, Any] = field(default_factory=dict)
    sound: dict[str, Any] = field(default_factory=dict)
    near: dict[str, Any] = field(default_factory=dict)
    local: bool = False
    proves_optimum: bool = False
    flip_duals: bool = False
    stand_in: str = ""
    alone: bool = False
    interface: str = ""
    ours: bool = True

    @property
    def found(self) -> str | None:
        """The version found here, under this entry or its stand-in; None where there is none."""
        version = self.version()
        return version if version or not self.stand_in else SOLVERS[self.stand_in].found


_CYIPOPT = (
    "conda install -c conda-forge cyipopt pynumero_libraries; Debian: scripts/install_ipopt.sh of the source folder, "
    "because pip install cyipopt alone lacks Ipopt and Pyomo's ASL library"
)
_V2 = "pyomo.contrib.solver.solvers."


SOLVERS: dict[str, SolverSpec] = {
    spec.name: spec
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
            blurs=True,
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
}


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
            made = pyo.SolverFactory(name)
        if type(made).__name__ == "UnknownSolver":
            close = nearest(name, [*SOLVERS, *besides])
            raise SolverError(f'Solver "{name}" is not known.{close} Installed here: {here}.')
        try:
            runs = made.available(exception_flag=False)
        except Exception:  # what a program says is read as a version, and "cat" says nothing
            raise SolverError(
                f'"{name}" is a program here, but none that Pyomo knows as a solver. Installed here: {here}.'
            ) from None
        if not runs:
            raise SolverError(f'Pyomo knows "{name}", but does not find it here. Installed here: {here}.')
        return _stranger(name, lambda: pyo.SolverFactory(name))
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

    Raises SolverError if it is no solver.
    """
    if not callable(getattr(solver, "solve", None)):
        raise SolverError(f"solver={solver!r} is neither a name nor a Pyomo solver: use one of {', '.join(SOLVERS)}.")
    known = {spec.interface: spec for spec in SOLVERS.values()}
    for kind in type(solver).__mro__:
        spec = known.get(f"{kind.__module__}.{kind.__qualname__}")
        if spec is not None:
            pyomos = type(solver).__module__.startswith("pyomo.")  # it redirects the output, where ours does not
            return replace(spec, make=lambda: solver, alone=spec.alone or pyomos)
    called = getattr(solver, "name", None) or next(
        kind.__name__ for kind in type(solver).__mro__ if not kind.__name__.startswith("Legacy")
    )
    return _stranger(str(called), lambda: solver)


def entry(solver: Any) -> SolverSpec:
    """Return the entry of a solver by its name, or of a solver object. Raises SolverError as ``find`` does."""
    return find(solver) if isinstance(solver, str) else recognise(solver)


def called(solver: Any) -> str:
    """Return the name of a solver that is named or given as an object."""
    return solver if isinstance(solver, str) else recognise(solver).name


def _stranger(name: str, make: Callable[[], Any]) -> SolverSpec:
    """Return an entry for a solver of Pyomo's own, of which we know nothing against it.

    Another interface to a program of ours, such as ``appsi_highs``, has that program's options: where the program says
    nothing of an unknown one, or only prints a line, it is checked here.
    """
    can = ~(C.LAZY_CUTS | DUALS | C.SOS)
    same = next((SOLVERS[word] for word in name.lower().split("_") if word in SOLVERS), None)
    swallows = same is not None and not same.checks_options
    return SolverSpec(
        name,
        can,
        "see Pyomo's documentation",
        make,
        lambda: "unknown",
        option_names=same.option_names if same is not None and swallows else None,
        checks_options=not swallows,
        misled="" if same is None else same.misled,
        steep=SolverSpec.steep if same is None else same.steep,
        alone=True,
        ours=False,
    )


def require(solver: Any, needed: Capability) -> SolverSpec:
    """Return an installed solver, by name or as an object, that can do what is needed.

    Raises SolverError, naming the missing capability and the installed solvers that have it.
    """
    spec = entry(solver)
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


def describe(capability: Capability) -> str:
    """Return a capability in words."""
    return ", ".join(LABELS.get(c, str(c.name)) for c in capability)


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


def refused_option(spec: SolverSpec, name: str, value: Any, words: str = "") -> OptionError:
    """Return the error for an option that a solver does not have, or whose value it refuses, with its own words."""
    known = spec.option_names() if spec.option_names else []
    said = f" It says: {words}" if words else ""
    if name in known:
        return OptionError(f"{name}={value!r} is not allowed by {spec.name}.{said}")
    return OptionError(f'Option "{name}" is not one of {spec.name}.{nearest(name, [*COMMON, *known])}{said}')
