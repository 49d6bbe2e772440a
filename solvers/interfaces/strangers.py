"""Solvers that Pyomo knows and the table does not: how the common words are passed to them, where they can be.

Pyomo's first generation has no words of its own for a gap, threads and a seed, and its direct interfaces ignore
``timelimit=``: there the options of the program behind the interface are used, as Pyomo hands them on. What cannot be
passed is refused, not ignored. Of what such a solver answers nothing is known here: ``probe`` tries it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pyomo.contrib.appsi.base import Solver as Appsi
from pyomo.contrib.solver.common.base import SolverBase
from pyomo.opt.solver import SystemCallSolver

from solvers.interfaces import quirks
from solvers.interfaces.spec import SOLVERS, SolverSpec
from solvers.interfaces.spec import Capability as C

UNTRIED = ~(C.LAZY_CUTS | C.SOS)  # what a solver may be tried on
NONE = C(0)
PASSED = ("time_limit", "gap", "threads", "seed")


@dataclass(frozen=True)
class _Program:
    """A program behind interfaces of Pyomo's.

    Its words, options that it would swallow, whether it needs no gap, and what it is not asked to solve.
    """

    words: dict[str, str] = field(default_factory=dict)
    option_names: Callable[[], list[str]] | None = None
    proves: bool = False  # without a gap it stops at a proof alone, which is within any gap
    never: C = NONE


_PROGRAMS = {
    "highs": _Program(  # its quadratic programs: see docs/decisions/highs-sees-no-qp.md
        {"gap": "mip_rel_gap", "threads": "threads", "seed": "random_seed"},
        quirks.highs_options,
        never=C.QP | C.QP_DUALS | C.MIQP | C.NONCONVEX,
    ),
    "gurobi": _Program({"gap": "MIPGap", "time_limit": "TimeLimit", "threads": "Threads", "seed": "Seed"}),
    "cplex": _Program(
        {"gap": "mip_tolerances_mipgap", "time_limit": "timelimit", "threads": "threads", "seed": "randomseed"}
    ),
    "xpress": _Program({"gap": "miprelstop", "time_limit": "timelimit", "threads": "threads", "seed": "randomseed"}),
    "mosek": _Program(
        {
            "gap": "dparam.mio_tol_rel_gap",
            "time_limit": "dparam.optimizer_max_time",
            "threads": "iparam.num_threads",
            "seed": "iparam.mio_seed",
        }
    ),
    "cbc": _Program({"threads": "threads", "seed": "randomCbcSeed"}, quirks.cbc_options, proves=True),
    "glpk": _Program({}, quirks.glpk_options, proves=True),
}


def stranger(name: str, make: Callable[[], Any], made: Any) -> SolverSpec:
    """Return an entry for a solver of Pyomo's own, of which we know nothing against it. ``made``: one of its kind.

    Another interface to a program of ours, such as ``appsi_highs``, has that program's options: where the program says
    nothing of an unknown one, or only prints a line, it is checked here.
    """
    program = _program(made)
    known = _PROGRAMS.get(program, _Program())
    same = SOLVERS.get(program)
    modern = isinstance(made, SolverBase)
    words = dict(known.words)
    if modern:  # its configuration has the others
        words = {"seed": words["seed"]} if "seed" in words else {}
        passed = {word for word in ("time_limit", "threads") if word in made.config} | set(words)
        if "rel_gap" in made.config:
            passed.add("gap")
    else:
        passed = set(words)
        if isinstance(made, SystemCallSolver | Appsi):
            words.pop("time_limit", None)
            passed.add("time_limit")
        if known.proves:
            passed.add("gap")
    return SolverSpec(
        name,
        UNTRIED & ~known.never,
        "see Pyomo's documentation",
        make,
        lambda: "unknown",
        words=words,
        option_names=known.option_names,
        checks_options=known.option_names is None,
        misled="" if same is None else same.misled,
        steep=SolverSpec.steep if same is None else same.steep,
        tight={} if same is None else same.tight,
        tell_apart={} if same is None else same.tell_apart,
        takes_no=frozenset(PASSED) - passed,
        around=quirks.highs if program == "highs" and isinstance(made, Appsi) else quirks.plain,
        alone=True,
        ours=False,
    )


def _program(made: Any) -> str:
    """Return the program behind an interface of Pyomo's, "" where it is none that is known."""
    for kind in type(made).__mro__:
        place = f"{kind.__module__}.{kind.__qualname__}".lower()
        found = next((p for p in _PROGRAMS if p in place), None) if place.startswith("pyomo.") else None
        if found:
            return found
    return ""
