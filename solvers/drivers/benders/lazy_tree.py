"""One branch-and-bound tree of a MILP solver that asks about each integer point it finds, and takes lazy constraints.

Through Pyomo's persistent interface to Gurobi. What was measured to go wrong in its callbacks (gurobipy 13, Pyomo
6.10.1), and is met here: an exception is printed and forgotten; Ctrl-C is the solver's until the callback has ended;
what is printed there disappears in the solver's log; a point on a ray of an unbounded model comes as one of 1e30; a
variable in no row and without cost is unknown to the solver.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from typing import Any

from solvers import interrupt
from solvers.errors import LicenceError
from solvers.interfaces.runner import Answer, Runner
from solvers.model.classes import used_variables
from solvers.result import SolutionStatus

HUGE = 1e20  # what solvers write for infinity


@dataclass(frozen=True)
class Judgement:
    """The verdict on an integer point.

    ``stop``: end the tree. ``row``: a row of the model that the point violates: it is not accepted. ``instead``: list
    of (variable, value) that make the point a solution.
    """

    stop: bool
    row: Any = None
    instead: list[tuple[Any, float]] | None = None


class LazyTree:
    """Runs branch-and-bound trees of a solver over one model.

    ``runner``: of a solver with lazy cuts. ``model``: pyo.ConcreteModel. ``candidate``: called with the tree's bound
    for each integer point, after its values are on the model; returns a ``Judgement``. ``progress``: called with the
    tree's bound (-inf: none yet) and the number of nodes many times a second; True ends the tree.
    """

    def __init__(
        self,
        runner: Runner,
        model: Any,
        candidate: Callable[[float], Judgement],
        progress: Callable[[float, float], bool],
    ) -> None:
        self.runner, self.model = runner, model
        self.candidate, self.progress = candidate, progress
        self._pressed = threading.Event()

    def run(self, time_limit: float | None) -> Answer:
        """Run a tree until it ends or a callable stops it; errors of the callables are raised.

        Raises LicenceError.
        """
        solver = self.runner.solver
        self._free = list({id(v): v for v in used_variables(self.model) if not v.fixed}.values())
        self._streams = sys.stdout, sys.stderr  # Pyomo captures them while the solver runs
        self._raised: BaseException | None = None
        self._over = False
        solver.set_callback(self._callback)
        try:
            with interrupt.noticing() as self._pressed:
                answer = self.runner.solve(self.model, time_limit=time_limit, integer=True)
        except LicenceError as error:
            raise LicenceError(
                f"{self.runner.spec.name} does not run here: {error.__cause__}. Install a licence that covers a master "
                'of this size (none: 2000 rows, 2000 columns), or use "branch-and-cut", which needs no licence.'
            ) from error
        finally:
            solver.set_callback(None)
        if self._raised is not None:
            raise self._raised
        if self._stopped():
            raise KeyboardInterrupt
        if answer.has_point and self._far():
            return replace(answer, has_point=False, status=SolutionStatus.UNBOUNDED, bound=None)
        return answer

    def _far(self) -> bool:
        """Return whether the values on the model lie on a ray, which the solver may report as optimal."""
        return max((abs(v.value) for v in self._free), default=0.0) > HUGE

    def _stopped(self) -> bool:
        return self._pressed.is_set() or interrupt.pressed()  # an exception may meet a destructor, and be lost there

    def _callback(self, model: Any, solver: Any, where: int) -> None:
        from gurobipy import GRB

        if where not in (GRB.Callback.MIP, GRB.Callback.MIPSOL):
            return
        if not self._over:
            try:
                with redirect_stdout(self._streams[0]), redirect_stderr(self._streams[1]):
                    if where == GRB.Callback.MIPSOL:
                        self._judge(solver, _finite(solver.cbGet(GRB.Callback.MIPSOL_OBJBND)))
                    else:
                        bound = _finite(solver.cbGet(GRB.Callback.MIP_OBJBND))
                        self._over = self.progress(bound, solver.cbGet(GRB.Callback.MIP_NODCNT))
            except BaseException as error:  # KeyboardInterrupt too
                self._raised, self._over = error, True
        if self._over or self._stopped():
            solver._solver_model.terminate()

    def _judge(self, solver: Any, bound: float) -> None:
        solver.cbGetSolution(self._free)
        if self._far():
            return
        interrupt.take_again()
        with interrupt.raising():  # what a verdict needs may take long
            verdict = self.candidate(bound)
        if verdict.row is not None:
            solver.cbLazy(verdict.row)
        if verdict.instead is not None:
            other = {id(v): x for v, x in verdict.instead}
            solver.cbSetSolution(self._free, [other.get(id(v), v.value) for v in self._free])
        self._over = verdict.stop


def _finite(bound: float) -> float:
    return bound if abs(bound) < HUGE else float("-inf")
