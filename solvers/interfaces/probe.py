"""What a solver of Pyomo's own can be believed: found out once in a process, on the small programs of ``trials``.

Each class of model is tried when it is first asked for, LP, QP and MILP:

    1. Its optimum, minimised and maximised: point, objective, word, and the bound that is reported.
    2. Multipliers (LP, QP): with the sign that Pyomo means, or all with the other one; else it has none.
    3. Programs without a solution (LP, MILP): where "infeasible" or "unbounded" is wrong or not said, these are told
       apart by programs that have an optimum (``telling``).
    4. A mixed-integer program on which a known solver is wrong, and one that is stopped at a time limit, where its
       bound must still be one.

What it refuses, or solves without saying "optimal", it cannot; what it claims and is false is remembered as what it is
``misled`` about: then no driver builds on it. A solver that passes is believed as those of the table are. That is less
than a proof: a handful of programs, against thousands for those.
"""

from __future__ import annotations

import io
import math
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

import pandas as pd
import pyomo.environ as pyo
from pyomo.common.log import LoggingIntercept

from solvers import interrupt
from solvers.errors import SolverFailure
from solvers.interfaces import trials
from solvers.interfaces.runner import Answer, Runner, SolveOptions
from solvers.interfaces.spec import DUALS, SolverSpec, describe
from solvers.interfaces.spec import Capability as C
from solvers.interfaces.trials import DOWN, UP, Trial
from solvers.result import SolutionStatus, StopReason

TRIED = (C.LP, C.QP, C.MILP)
EXACT = 1e-4  # relative: objectives, bounds and multipliers of the trials
NONE = C(0)
FINE = 1e-7  # the gap that is asked for, where one can be
LIMIT = 0.3  # s
PATIENCE = 5.0  # s past a limit: a solver that needs them does not stop at it
_OVER = {C.LP: C.LP | C.LP_DUALS, C.QP: C.QP | C.QP_DUALS | C.NONCONVEX, C.MILP: C.MILP}  # what each class decides


@dataclass
class Probe:
    """What was found of one solver: ``spec`` with all that was learnt, and a row for each question asked."""

    spec: SolverSpec
    rows: list[tuple[str, str, str, bool]] = field(default_factory=list)
    tried: C = NONE

    @property
    def table(self) -> pd.DataFrame:
        """One row a question: the class of model, what was asked, what came, and whether that is right."""
        return pd.DataFrame(self.rows, columns=["class", "asked", "answered", "right"])

    @property
    def slots(self) -> list[str]:
        """Where it may stand: "lp_solver", "sub_solver", "master_solver"."""
        can, found = self.spec.capabilities & (self.tried | DUALS), []
        if C.LP | C.LP_DUALS in can:
            found.append("lp_solver")
        if C.LP | C.LP_DUALS in can or C.QP | C.QP_DUALS in can:
            found.append("sub_solver")
        if C.MILP in can and not self.spec.misled:
            found.append("master_solver")
        return found

    def __str__(self) -> str:
        can = describe(self.spec.capabilities & (self.tried | DUALS)) or "nothing that was tried"
        lines = [f"{self.spec.name} solves {can}; it may be {', '.join(self.slots) or 'in no slot'}."]
        if self.spec.misled:
            lines.append(f"It proves nothing on mixed-integer programs: {self.spec.misled}.")
        if self.spec.takes_no:
            lines.append(f"Pyomo passes no {', '.join(sorted(self.spec.takes_no))} to it.")
        return "\n".join([*lines, "", self.table.to_string(index=False)])

    __repr__ = __str__

    def note(self, kind: C, asked: str, answered: str, right: bool) -> None:
        """Add a row."""
        self.rows.append((describe(kind), asked, answered, right))

    def lacks(self, kind: C) -> None:
        """Take capabilities from the solver."""
        self.spec = replace(self.spec, capabilities=self.spec.capabilities & ~kind)


_by_name: dict[str, Probe] = {}
_by_object: WeakKeyDictionary[Any, Probe] = WeakKeyDictionary()


def learned(spec: SolverSpec, needed: C) -> SolverSpec:
    """Return an entry as far as a probe of the classes that are needed supports it; one of the table as it is."""
    if spec.ours:
        return spec
    try:
        return probed(spec, [kind for kind in TRIED if needed & _OVER[kind]]).spec
    except KeyboardInterrupt:
        if not interrupt.pressed():
            raise
        return spec  # whose run ends at once


def probed(spec: SolverSpec, kinds: Any = TRIED) -> Probe:
    """Return the probe of a solver, with these classes tried. Raises SolverError if it has no licence to run."""
    probe = _kept(spec)
    probe = replace(probe, spec=replace(probe.spec, make=spec.make, shared=spec.shared), rows=list(probe.rows))
    for kind in kinds:
        if kind not in probe.tried and kind in probe.spec.capabilities:
            noise = io.StringIO()  # of programs that are meant to be refused
            with LoggingIntercept(noise, "pyomo"), redirect_stdout(noise), redirect_stderr(noise):
                _TRY[kind](probe)
            probe.tried |= kind
    _keep(spec, probe)
    return probe


def forget(name: str) -> None:
    """Forget what was found of a solver."""
    _by_name.pop(name, None)


def _kept(spec: SolverSpec) -> Probe:
    found = _by_name.get(spec.name) if spec.shared is None else _by_object.get(spec.shared)
    return found or Probe(spec)


def _keep(spec: SolverSpec, probe: Probe) -> None:
    if spec.shared is None:
        _by_name[spec.name] = probe
    else:  # without the object by which it is kept, or neither would ever go
        _by_object[spec.shared] = replace(probe, spec=replace(probe.spec, make=object, shared=None))


# ------------------------------------------------------------------------------------------------------- the classes


def _linear(probe: Probe) -> None:
    if not _solves(probe, C.LP, trials.linear) or not _takes_limits(probe):
        return
    _multipliers(probe, C.LP_DUALS, trials.linear)
    _without_solution(probe, C.LP, [*trials.clashing(False), *(trials.endless(s, integer=False) for s in (DOWN, UP))])


def _quadratic(probe: Probe) -> None:
    if not _solves(probe, C.QP, trials.quadratic):
        return
    _multipliers(probe, C.QP_DUALS, trials.quadratic)
    trial = trials.saddle()
    answer, said = _ask(probe, trial)
    claims = answer is not None and answer.status is SolutionStatus.OPTIMAL
    false = claims and not _attained(trial)
    probe.note(C.NONCONVEX, "-2 at a corner, or no claim", said, not false)
    if false:  # what it solves is not known to be convex
        probe.lacks(_OVER[C.QP])
    elif not claims:
        probe.lacks(C.NONCONVEX)


def _mixed(probe: Probe) -> None:
    if not _solves(probe, C.MILP, trials.integer) or not _takes_limits(probe):
        return
    several = [*trials.clashing(True), *(trials.endless(s, integer=True) for s in (DOWN, UP))]
    _without_solution(probe, C.MILP, several)
    trial = trials.free_integers()
    answer, said = _ask(probe, trial, integer=True)
    claims = answer is not None and (answer.bound is not None or answer.status is not SolutionStatus.FEASIBLE)
    right = answer is not None and _bounds(answer, trial) and (_attained(trial) or not claims)
    probe.note(C.MILP, f"{trial.model.name}: {trial.optimum:g}", said, right)
    if not right:
        _mislead(probe, f"{said} is its word on a small program whose optimum is {trial.optimum:g}")
    elif answer is not None and answer.bound is None:
        _mislead(probe, "Pyomo reports no bound of it")
    if "time_limit" not in probe.spec.takes_no:
        _stopped(probe)


_TRY: dict[C, Callable[[Probe], None]] = {C.LP: _linear, C.QP: _quadratic, C.MILP: _mixed}


# ----------------------------------------------------------------------------------------------------- the questions


def _solves(probe: Probe, kind: C, of: Callable[[Any], Trial]) -> bool:
    """Ask for the optimum in both senses."""
    for sense in (DOWN, UP):
        trial = of(sense)
        answer, said = _ask(probe, trial, integer=kind is C.MILP)
        done = answer is not None and answer.status is SolutionStatus.OPTIMAL and _attained(trial)
        right = done and answer is not None and _bounds(answer, trial)
        probe.note(kind, f"optimum {trial.optimum:g}", said, right)
        if not right:
            probe.lacks(_OVER[kind])
            return False
    return True


def _multipliers(probe: Probe, kind: C, of: Callable[[Any], Trial]) -> None:
    """Ask for multipliers in both senses, and find their sign."""
    signs = []
    for sense in (DOWN, UP):
        trial = of(sense)
        answer, said = _ask(probe, trial, duals=True)
        found = {} if answer is None else answer.duals
        sign = next((s for s in (1.0, -1.0) if _agree(found, trial, s)), 0.0)
        words = ", ".join(f"{found[row]:.3g}" for row, _ in trial.multipliers if row in found) or said
        probe.note(kind, ", ".join(f"{slope:.3g}" for _, slope in trial.multipliers), words, bool(sign))
        signs.append(sign)
    if signs == [-1.0, 1.0]:
        probe.spec = replace(probe.spec, flip_duals=True)
    elif signs != [1.0, 1.0]:
        probe.lacks(kind)


def _agree(found: dict[Any, float], trial: Trial, sign: float) -> bool:
    return all(row in found and abs(sign * found[row] - slope) <= EXACT for row, slope in trial.multipliers)


def _without_solution(probe: Probe, kind: C, several: list[Trial]) -> None:
    """Ask for programs that have no solution; remember where its words are of no use."""
    for trial in several:
        answer, said = _ask(probe, trial, integer=kind is C.MILP)
        claim = None if answer is None else answer.status.value
        right = claim == trial.model.name or (answer is not None and answer.undecided)
        probe.note(kind, trial.model.name, said, right)
        if not right:
            probe.spec = replace(probe.spec, confuses=probe.spec.confuses | kind)
        if answer is not None and answer.has_point and claim == SolutionStatus.OPTIMAL.value:
            probe.lacks(kind)
            return


def _takes_limits(probe: Probe) -> bool:
    """Find out how it takes a time limit: some programs read whole seconds only."""
    spec, trial = probe.spec, trials.linear(DOWN) if C.LP in probe.spec.capabilities else trials.integer(DOWN)
    if "time_limit" in spec.takes_no or spec.seconds is not float:
        return True
    integer = trial.model.name == "milp"
    if _ask(probe, trial, integer=integer, limit=100.5)[0] is not None:
        return True
    probe.spec = replace(spec, seconds=math.ceil)
    if _ask(probe, trial, integer=integer, limit=100.5)[0] is None:
        probe.spec = replace(spec, takes_no=spec.takes_no | {"time_limit"})
    return True


def _stopped(probe: Probe) -> None:
    """Stop it at a limit: what it says then must hold, and it must stop."""
    for sense in (DOWN, UP):
        trial, start = trials.hard(sense), time.perf_counter()
        answer, said = _ask(probe, trial, integer=True, limit=LIMIT)
        late = time.perf_counter() - start > probe.spec.seconds(LIMIT) + PATIENCE
        false = answer is not None and answer.status in (SolutionStatus.INFEASIBLE, SolutionStatus.UNBOUNDED)
        false = false or (answer is not None and answer.status is SolutionStatus.OPTIMAL and not _attained(trial))
        right = answer is not None and not false and not late and _bounds(answer, trial)
        probe.note(C.MILP, f"stopped after {LIMIT} s, optimum {trial.optimum:g}", f"{said}{', late' * late}", right)
        if late:
            probe.spec = replace(probe.spec, takes_no=probe.spec.takes_no | {"time_limit"})
            return
        if answer is None:  # it fails at limits, and says so
            continue
        if not right:
            _mislead(probe, f"{said} is its word where it is stopped at a limit, and the optimum is {trial.optimum:g}")


# -------------------------------------------------------------------------------------------------------- one answer


def _ask(
    probe: Probe, trial: Trial, *, integer: bool = False, duals: bool = False, limit: float | None = None
) -> tuple[Answer | None, str]:
    """Return the answer, None where the solver fails, and the same in words."""
    for v in trial.model.component_data_objects(pyo.Var):
        v.set_value(min(max(0.0, v.lb if v.lb is not None else 0.0), v.ub if v.ub is not None else 0.0))
    plain = replace(probe.spec, misled="", confuses=NONE, tight={})
    rows = [row for row, _ in trial.multipliers] if duals else []
    try:
        answer = Runner(plain, SolveOptions(gap=FINE)).solve(trial.model, time_limit=limit, integer=integer, duals=rows)
    except SolverFailure as failure:
        return None, f"fails: {' '.join(str(failure).split())[:80]}"
    if answer.stop_reason is StopReason.INTERRUPTED:
        raise KeyboardInterrupt  # which the solver swallowed: nothing was found out
    words = answer.status.value
    if answer.has_point:
        words += f" {float(pyo.value(trial.model.cost)):.6g}"
    if answer.bound is not None and trial.optimum is not None:
        words += f", bound {answer.bound:.6g}"
    return answer, "infeasible or unbounded" if answer.undecided else words


def _attained(trial: Trial) -> bool:
    """Tell whether the values on the model are the optimum's."""
    assert trial.optimum is not None
    m = trial.model
    off = [abs(v.value - round(v.value)) for v in m.component_data_objects(pyo.Var) if not v.is_continuous()]
    off += [-min(row.lslack(), row.uslack()) for row in m.component_data_objects(pyo.Constraint)]
    off += [max((v.lb or -math.inf) - v.value, v.value - (v.ub or math.inf)) for v in m.component_data_objects(pyo.Var)]
    near = abs(float(pyo.value(m.cost)) - trial.optimum) <= EXACT * max(1.0, abs(trial.optimum))
    return near and max(off) <= 1e-5


def _bounds(answer: Answer, trial: Trial) -> bool:
    """Tell whether a bound, if there is one, is on its side of the optimum."""
    if answer.bound is None or trial.optimum is None:
        return True
    beyond = answer.bound - trial.optimum if trial.model.cost.sense == DOWN else trial.optimum - answer.bound
    return bool(beyond <= EXACT * max(1.0, abs(trial.optimum)))


def _mislead(probe: Probe, why: str) -> None:
    if not probe.spec.misled:
        probe.spec = replace(probe.spec, misled=why)
