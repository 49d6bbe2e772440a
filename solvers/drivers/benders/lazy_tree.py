"""One branch-and-bound tree of a MILP solver with a callback for each integer point, which may add lazy constraints.

The tree uses Pyomo's persistent interface to Gurobi. Its callbacks have defects (gurobipy 13, Pyomo 6.10.1) that are
corrected here. An exception is printed and lost. The solver handles Ctrl-C until the callback ends. Output of the
callback goes to the log of the solver. A point on a ray of an unbounded model has values of 1e30. The solver
ignores a variable without rows and cost.
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

HUGE = 1e20  # infinity of solvers


@dataclass(frozen=True)
class CandidateReply:
    """The reply to the tree on an integer point.

    ``stop``: end the tree. ``row``: a row of the model that the point violates; the point is rejected. ``instead``:
    list of (variable, value) that turn the point into a solution.
    """

    stop: bool
    row: Any = None
    instead: list[tuple[Any, float]] | None = None


class LazyTree:
    """Branch-and-bound trees of a solver over one model.

    ``runner``: runner of a solver with lazy cuts. ``model``: pyo.ConcreteModel. ``candidate``: called with the bound of
    the tree for each integer point, with its values on the model; returns a ``CandidateReply``. ``progress``: called
    with the bound of the tree (-inf if there is none) and the number of nodes, many times a second; True ends the tree.
    """

    def __init__(
        self,
        runner: Runner,
        model: Any,
        candidate: Callable[[float], CandidateReply],
        progress: Callable[[float, float], bool],
    ) -> None:
        self.runner, self.model = runner, model
        self.candidate, self.progress = candidate, progress
        self._pressed = threading.Event()

    def run(self, time_limit: float | None) -> Answer:
        """Run a tree until it ends or a callback stops it. Exceptions of the callbacks are raised.

        Raises LicenceError.
        """
        solver = self.runner.solver
        self._free = list({id(v): v for v in used_variables(self.model) if not v.fixed}.values())
        self._streams = sys.stdout, sys.stderr  # Pyomo redirects them while the solver runs
        self._raised: BaseException | None = None
        self._over = False
        solver.set_callback(self._callback)
        try:
            with interrupt.setting_event() as self._pressed:
                answer = self.runner.solve(self.model, time_limit=time_limit, integer=True)
        except LicenceError as error:
            raise LicenceError(
                f"{self.runner.spec.name} has no licence for this: {error.__cause__}. Install a licence for a master "
                'of this size (without one: 2000 rows and columns), or use "branch-and-cut", which needs no licence.'
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
        """Return whether the values on the model are on a ray, which the solver may report as optimal."""
        return max((abs(v.value) for v in self._free), default=0.0) > HUGE

    def _stopped(self) -> bool:
        return self._pressed.is_set() or interrupt.pressed()  # an exception could be lost in a destructor

    def _callback(self, model: Any, solver: Any, where: int) -> None:
        from gurobipy import GRB

        if where not in (GRB.Callback.MIP, GRB.Callback.MIPSOL):
            return
        if not self._over:
            try:
                with redirect_stdout(self._streams[0]), redirect_stderr(self._streams[1]):
                    if where == GRB.Callback.MIPSOL:
                        self._reply(solver, _finite(solver.cbGet(GRB.Callback.MIPSOL_OBJBND)))
                    else:
                        bound = _finite(solver.cbGet(GRB.Callback.MIP_OBJBND))
                        self._over = self.progress(bound, solver.cbGet(GRB.Callback.MIP_NODCNT))
            except BaseException as error:  # KeyboardInterrupt too
                self._raised, self._over = error, True
        if self._over or self._stopped():
            solver._solver_model.terminate()

    def _reply(self, solver: Any, bound: float) -> None:
        solver.cbGetSolution(self._free)
        if self._far():
            return
        interrupt.take_again()
        with interrupt.raising():  # the evaluation of the point may take long
            reply = self.candidate(bound)
        if reply.row is not None:
            solver.cbLazy(reply.row)
        if reply.instead is not None:
            other = {id(v): x for v, x in reply.instead}
            solver.cbSetSolution(self._free, [other.get(id(v), v.value) for v in self._free])
        self._over = reply.stop


def _finite(bound: float) -> float:
    return bound if abs(bound) < HUGE else float("-inf")
