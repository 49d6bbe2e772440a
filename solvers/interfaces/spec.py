"""The description of a solver: capabilities, construction, detection, and known defects."""

from __future__ import annotations

import enum
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from solvers.interfaces import adapters


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
    SOS = enum.auto()  # special ordered sets, in addition to any of these classes
    LP_DUALS = enum.auto()
    QP_DUALS = enum.auto()
    LAZY_CUTS = enum.auto()


C = Capability
LABELS = {C.QP: "convex QP", C.QCP: "SOCP/QCQP", C.MIQCP: "MISOCP", C.NONCONVEX: "nonconvex QCQP"}
LABELS |= {C.LP_DUALS: "LP duals", C.QP_DUALS: "QP duals", C.LAZY_CUTS: "lazy cuts"}
DUALS = C.LP_DUALS | C.QP_DUALS


@dataclass(frozen=True)
class SolverSpec:
    """One solver: its construction, capabilities and known defects.

    - ``version``: returns the installed version, or None.
    - ``common_options``: the solver's names of the common options ``time_limit``, ``gap``, ``threads``, ``seed`` and
      ``iteration_limit``, if Pyomo's interface does not pass them. A common option without a meaning for a solver has
      no effect, such as the seed of a deterministic solver or the gap of a solver without a bound.
    - ``option_names``: returns the solver's own options, for suggestions. Unless ``checks_options``, other names are
      rejected.
    - ``checks_options``: the solver itself rejects unknown options.
    - ``convert_option``: sets one option on the solver and returns its value in the solver's type, or raises
      ``ValueError`` with the solver's message.
    - ``context``: a context manager around each solve (see ``adapters``).
    - ``seconds``: converts a time limit to the solver's type.
    - ``seconds_per_term``: seconds for a term of a dense row, from a change of variables to the first step of the
      solver, measured on 2000 rows of 400 terms. A run with a shorter time limit ends at once.
    - ``max_big_m``: the largest big-M, in units of the variable that it bounds, for which the solver's bound is used.
      Above it, the tolerance on integers allows any weight, or presolve cuts off optima.
    - ``retry_options``: options of a second solve with tighter rows, if the recomputed point is not proven optimal.
    - ``tight_options``: options with which rows, integrality and reduced costs hold to about 1e-9, as masters need.
    - ``certificate_options``: options of a second solve that distinguishes infeasible from unbounded, or whose
      certificates hold to rounding.
    - ``untrusted``: the reason why its status and its bounds are not used for models with integers. Drivers do not use
      such a solver for a master problem.
    - ``interior``: its certificate of infeasibility holds to relative tolerances and is checked: see ``infeasibility``.
    - ``proves_at_poles``: False if its bound and its "infeasible" are not used for models whose divisors can be 0.
    - ``proves_with_sets``: False if they are not used for models with ordered sets whose objective may be unbounded
      without these sets.
    - ``least_curvature``: the smallest ratio of two curvatures of the objective for which its bound is used in models
      with ordered sets or integers.
    - ``least_coefficient``: the smallest ratio of two coefficients of the objective for which its bound is used in
      models with integers without ``retry_options``.
    - ``warm_start_options``: options with which it stays near its starting point; the usual barrier of 0.1 leaves it.
    - ``default_options``: options of each solve unless the user gives another value. Ipopt relaxes bounds by 1e-8 of
      their size, and a point that is moved back to bounds of 300 violates rows by 3e-6 (in 3.11.9 with any tolerance).
    - ``required_options``: options of each solve without which false proofs were measured. Other values are rejected.
    - ``local``: a local solver without a bound; its optima are reported as stationary.
    - ``proves_optimum``: its interface reports no reliable bound, but its "optimal" is a proof, because no gap is
      passed.
    - ``flip_duals``: it returns the multipliers of its Lagrangian, f + y'g with f negated to maximise. They have the
      opposite sign of Pyomo's when minimising, and the same sign when maximising.
    - ``fallback``: the entry that is used under this name if this solver is not installed: the same program with
      another interface.
    - ``serialised``: its interface redirects the output of the process, or keeps a list of files of the process. Only
      one thread solves at a time.
    - ``interface``: qualified name of the class of its interface, by which a solver object is recognised.
    - ``unsupported_options``: common options that Pyomo cannot pass; they are rejected.
    - ``instance``: the solver object of the user, which ``make`` returns each time.
    - ``in_table``: True for a tested solver. Other solvers solve whole models only: see ``registry.unlisted``.
    """

    name: str
    capabilities: Capability
    install: str
    make: Callable[[], Any]
    version: Callable[[], str | None]
    common_options: dict[str, str] = field(default_factory=dict)
    option_names: Callable[[], list[str]] | None = None
    checks_options: bool = False
    convert_option: Callable[[str, Any], Any] | None = None
    context: Callable[..., AbstractContextManager[adapters.Attempt]] = adapters.plain
    seconds: Callable[[float], float] = float
    seconds_per_term: float = 2e-6
    max_big_m: float = 1e8
    tight_options: dict[str, Any] = field(default_factory=dict)
    certificate_options: dict[str, Any] = field(default_factory=dict)
    untrusted: str = ""
    proves_at_poles: bool = True
    proves_with_sets: bool = True
    least_curvature: float = 0.0
    least_coefficient: float = 0.0
    interior: bool = False
    retry_options: dict[str, Any] = field(default_factory=dict)
    required_options: dict[str, Any] = field(default_factory=dict)
    warm_start_options: dict[str, Any] = field(default_factory=dict)
    default_options: dict[str, Any] = field(default_factory=dict)
    local: bool = False
    proves_optimum: bool = False
    flip_duals: bool = False
    fallback: str = ""
    serialised: bool = False
    interface: str = ""
    unsupported_options: frozenset[str] = frozenset()
    instance: Any = None
    in_table: bool = True

    @property
    def found(self) -> str | None:
        """The installed version of this solver or of its fallback; None if neither is installed."""
        version = self.version()
        return version if version or not self.fallback else SOLVERS[self.fallback].found


SOLVERS: dict[str, SolverSpec] = {}  # by name; ``table`` fills it


def describe(capability: Capability) -> str:
    """Return a capability as text."""
    return ", ".join(LABELS.get(c, str(c.name)) for c in capability)
