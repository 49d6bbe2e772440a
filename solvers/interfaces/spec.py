"""What is known of a solver: its capabilities, how it is made and found, and what is particular about it."""

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
    SOS = enum.auto()  # special ordered sets, beside any of these
    LP_DUALS = enum.auto()
    QP_DUALS = enum.auto()
    LAZY_CUTS = enum.auto()


C = Capability
LABELS = {C.QP: "convex QP", C.QCP: "SOCP/QCQP", C.MIQCP: "MISOCP", C.NONCONVEX: "nonconvex QCQP"}
LABELS |= {C.LP_DUALS: "LP duals", C.QP_DUALS: "QP duals", C.LAZY_CUTS: "lazy cuts"}
DUALS = C.LP_DUALS | C.QP_DUALS


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
    - ``around``: a context around each solve (see ``adapters``).
    - ``seconds``: a time limit as it takes it.
    - ``pace``: seconds a term of a dense row, from writing it in other variables to the solver's first step: measured
      on 2000 rows of 400 terms. A limit that ends before that ends the run at once.
    - ``steep``: the largest big-M, in units of what it bounds, with which its bound counts: beyond, its tolerances on
      integers let any weight pass, or its presolve cuts off optima.
    - ``strict``: what makes it solve again with tighter rows, where its point lost its proof when it was recomputed.
    - ``tight``: what makes it hold rows, integrality and reduced costs to about 1e-9, as the masters of cut loops need.
    - ``tell_apart``: options with which it tells infeasible from unbounded when its presolve could not, or with which
      its certificates hold to less than rounding.
    - ``misled``: why neither its claims nor its bounds count on models with integers; no driver uses it for a master
      whose bound counts.
    - ``interior``: its certificate of infeasibility holds to relative tolerances and is checked: see ``infeasibility``.
    - ``proves_at_poles``: whether its bound and its "infeasible" count where a divisor can be 0.
    - ``proves_with_sets``: whether they count with ordered sets where the objective may fall without end.
    - ``least_curvature``: the smallest ratio of two curvatures of the objective with which its bound counts beside
      ordered sets.
    - ``near``: options with which it stays near the point it starts from: a barrier of the usual 0.1 throws it away.
    - ``asked``: options that go with every solve, unless another value is given: Ipopt moves bounds by 1e-8 of their
      size, and a point put back onto bounds of 300 misses its rows by 3e-6 (3.11.9 whatever it is told of rows).
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
    - ``takes_no``: common words that Pyomo cannot pass to it: refused where they are given.
    - ``shared``: the solver object that ``make`` returns each time, where it was given as one.
    - ``ours``: in the table. Any other solver takes whole models only: see ``registry.unlisted``.
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
    around: Callable[..., AbstractContextManager[adapters.Attempt]] = adapters.plain
    seconds: Callable[[float], float] = float
    pace: float = 2e-6
    steep: float = 1e8
    tight: dict[str, Any] = field(default_factory=dict)
    tell_apart: dict[str, Any] = field(default_factory=dict)
    misled: str = ""
    proves_at_poles: bool = True
    proves_with_sets: bool = True
    least_curvature: float = 0.0
    interior: bool = False
    strict: dict[str, Any] = field(default_factory=dict)
    sound: dict[str, Any] = field(default_factory=dict)
    near: dict[str, Any] = field(default_factory=dict)
    asked: dict[str, Any] = field(default_factory=dict)
    local: bool = False
    proves_optimum: bool = False
    flip_duals: bool = False
    stand_in: str = ""
    alone: bool = False
    interface: str = ""
    takes_no: frozenset[str] = frozenset()
    shared: Any = None
    ours: bool = True

    @property
    def found(self) -> str | None:
        """The version found here, under this entry or its stand-in; None where there is none."""
        version = self.version()
        return version if version or not self.stand_in else SOLVERS[self.stand_in].found


SOLVERS: dict[str, SolverSpec] = {}  # by name; ``table`` fills it


def describe(capability: Capability) -> str:
    """Return a capability in words."""
    return ", ".join(LABELS.get(c, str(c.name)) for c in capability)
