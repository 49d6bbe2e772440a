"""Cutting planes for a convex model with integers: mixed-integer linear programs over more and more rows.

For min { c.x : A x in [l, u], g_k(x) <= 0, x_j integer for j in J }, g_k convex, with the LP of ``cutting_plane``:

    0. Apply Kelley's cutting planes to the LP without integrality, until its optimum rises slowly.
    1. Solve the MILP over all rows so far -> x; its dual bound is a lower bound. Its point is no incumbent.
    2. Fix x_J, and solve for the other variables by cutting planes on the LP -> an incumbent, and rows that are valid
       for every choice. Stop if the LP's optimum is not below the incumbent, or if it is infeasible.
    3. Stop if the incumbent meets the bound. Cut off a choice that is repeated although its value is known and the MILP
       is solved to the full gap. Go to 1.

All rows are linearisations or rows of a separator, and valid for every point of the model, so that the MILP is a
relaxation (Duran and Grossmann 1986; the extended cutting planes of Westerlund and Pettersson 1995 with step 2 added).
Each choice occurs once, or a second time because of tolerances, so that the method is finite for finitely many choices.
A choice of binaries is cut off by sum_{x_j = 0} x_j + sum_{x_j = 1} (1 - x_j) >= 1; the bound of its LP remains part of
the bound. The tolerances of the solver are subtracted from its bounds. Bounds that the model proves from its data are
used as well.

Integers that are not needed are set to 0, since a solver may leave a binary at 1 for a weight of 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import sparse

from solvers.drivers.base import End
from solvers.drivers.cutting_plane.kelley import CuttingPlane
from solvers.drivers.solver_options import master_solver_options
from solvers.errors import ModelError, SolverFailure
from solvers.facts.separable import Cuts
from solvers.interfaces.runner import Runner, SolveOptions
from solvers.lp.highs import LpAnswer
from solvers.lp.mixed import MixedAnswer, MixedProgram, mixed_solver
from solvers.model.conflict import clashing_rows
from solvers.model.linear import power_of_two
from solvers.result import BELOW_TOLERANCES, ROUNDING, SolutionStatus, StopReason, relative_gap

SLOW = 1e-3  # relative rise of the LP's optimum in PATIENCE rounds, below which the MILP is solved
PATIENCE = 3  # rounds
FIRST_GAP = 1e-2  # largest gap of a MILP, while rows are missing
SHARE = 0.1  # gap of a MILP, as a share of the present gap, and least gap as a share of the required gap
ENOUGH = 0.5  # share of the required gap to which the LPs of a choice are solved


class MixedCuttingPlane(CuttingPlane):
    """Kelley's cutting planes, over mixed-integer linear programs if the model has integers."""

    title = "convex rows and objectives, with integers too, over linear programs (Kelley's cutting planes)"

    def prepare(self) -> None:
        """Split the model, find the columns of its integers, and choose the solver of the mixed-integer programs."""
        super().prepare()
        variables, lift, c = self.parts.variables, self.lp.lift, self.config
        self._at = np.array([k for k, v in enumerate(variables) if not v.is_continuous() and not v.fixed], dtype=int)
        for k in self._at.tolist():
            here = slice(lift.indptr[k], lift.indptr[k + 1])
            if not variables[k].is_integer() or here.stop - here.start != 1 or lift.data[here.start] != 1.0:
                raise ModelError(
                    f'"{self.name}" supports integer variables that are columns of its programs, but '
                    f'"{variables[k].name}" is in {variables[k].domain}: write it as a sum of binaries.'
                )
        self._columns = lift.indices[lift.indptr[self._at]]
        self._binary = bool(all(variables[k].is_binary() for k in self._at))
        if len(self._at):
            self._spec = mixed_solver(c.master_solver, c.lp_solver)
            c.master_solver = c.master_solver or self._spec.name
            self._solver_options = master_solver_options(c, self._spec)
        self._cheap = self._idle_candidates()
        self._step = "relaxation"
        self._values = list[float]()  # of the LPs of step 0
        self._full_gap = False  # whether the next MILP is solved to the full gap
        self._proved = -math.inf  # bound of the present choice
        self._start_at: np.ndarray | None = None  # choice of the incumbent
        self._known: dict[bytes, float] = {}  # choice -> bound of its LP
        self._excluded = math.inf  # least bound of the choices that were cut off

    def loop(self) -> End:
        """Run the algorithm; the numbers in comments are its steps."""
        if not len(self._at):
            return super().loop()
        self._start()
        if (ended := self._cut(self._step, enough=self._slow)) is not None:  # 0
            return ended
        self._full_gap = self._worst <= self.config.tolerance
        lp, c, sent = self.lp, self.config, 0
        unit = power_of_two(float(np.abs(lp.cost).max(initial=0.0)) or 1.0)
        program = MixedProgram(self._spec, self._solver_options, lp.cost, lp.lower, lp.upper, self._columns, unit=unit)
        for _ in self.rounds(done=lambda: self._solved):
            rows = lp.rows
            program.add_rows(rows.matrix[sent:], rows.lower[sent:], rows.upper[sent:])
            sent = len(rows.lower)
            with self.timing("master"):
                found = program.solve_to(self._milp_gap(), self.clock.left, self._start_at)  # 1
            self._solved += 1
            self._take_milp_bound(found)
            if self.closed(c.gap):  # 3
                return StopReason.CONVERGED, None
            if found.point is None:
                return self._without_point(found)
            with self.timing("subproblem"):
                self._separate(found.point)
            self._offer(found.point, c.tolerance)
            ended = self._solve_choice(found.point, found.objective) or self._ended_early(found)  # 2
            if ended is not None:
                return ended
        return self.stop, None

    def _slow(self, value: float) -> bool:
        """Return whether the optimum of the relaxation increases slowly (0)."""
        self._values.append(value)
        if len(self._values) <= PATIENCE:
            return False
        before = self._values[-1 - PATIENCE]
        return value - before <= SLOW * max(abs(value), abs(before))

    def _take_bound(self, answer: LpAnswer) -> None:
        """Raise the bound of the model, or of the choice if the integers are fixed, by that of an LP."""
        if self._step == "relaxation":
            super()._take_bound(answer)
        else:
            self._proved = max(self._proved, self.lp.bound(answer))

    def _milp_gap(self) -> float:
        """Return the relative gap of the next MILP (1)."""
        full = SHARE * self.config.gap
        gap = relative_gap(self.best, self.bound, resolution=self.resolution)
        return full if self._full_gap else max(full, FIRST_GAP if gap is None else min(FIRST_GAP, SHARE * gap))

    def _take_milp_bound(self, found: MixedAnswer) -> None:
        """Raise the bound by a MILP and by the choices that were cut off."""
        bound = None if found.bound is None else found.bound + self.lp.constant
        if found.answer.status is SolutionStatus.INFEASIBLE:
            bound = math.inf  # all remaining choices were cut off
        if bound is not None and (bound := min(bound, self._excluded)) < math.inf:
            self.raise_bound(self.bound_with_data(bound, {}))
        objective = None if found.objective is None else found.objective + self.lp.constant
        self.record("milp", objective, cuts=0, support=None)

    def _solve_choice(self, point: np.ndarray, value: float | None) -> End | None:
        """Solve with the integers of a point fixed (2), or cut off a repeated choice; return an end of the run.

        ``value``: the value of the choice in the MILP.
        """
        choice = point[self._columns] + 0.0  # of -0.0 too
        key = choice.tobytes()
        if key in self._known:
            return self._repeated(choice)
        self._step, self._proved = "choice", -math.inf
        before = self.best
        with self.lp.bounded(self._columns, choice, choice):
            ended = self._cut(self._step, enough=self._not_better)
        if self.best != before:
            self._start_at = choice
        if ended is not None and ended[1] is SolutionStatus.INFEASIBLE:
            self._proved, ended = math.inf, None
        self._known[key] = self._proved
        if value is not None:
            missed = self._proved - self.lp.constant - value
            self._full_gap = missed <= SHARE * self.config.gap * abs(self._proved)
        return ended

    def _not_better(self, value: float) -> bool:
        """Return whether a choice cannot be better than the incumbent by a relevant part of the gap."""
        return self.best is not None and value >= self.best - ENOUGH * self.config.gap * abs(self.best)

    def _repeated(self, choice: np.ndarray) -> End | None:
        """Require the full gap of MILPs after a choice is repeated; cut it off if it is repeated again."""
        if not self._full_gap:
            self._full_gap = True
            return None
        if not self._binary:
            self.message = BELOW_TOLERANCES
            return StopReason.CONVERGED, None
        self._excluded = min(self._excluded, self._known[choice.tobytes()])
        row = sparse.csr_array(
            (1.0 - 2.0 * choice, (np.zeros(len(choice), dtype=int), self._columns)), shape=(1, self.lp.columns)
        )
        self.lp.add(Cuts(row, np.array([1.0 - choice.sum()]), np.array([np.inf])))
        return None

    def _ended_early(self, found: MixedAnswer) -> End | None:
        """Return the end of the run if a MILP ended early for another reason than the limits of the run."""
        stop = found.answer.stop_reason
        if stop is StopReason.CONVERGED or self.stopped() is not None:
            return None
        if stop is StopReason.SOLVER_ERROR:
            raise SolverFailure(f"{self._spec.name}: {found.answer.message}.", self._spec.name)
        return stop, None

    def _without_point(self, found: MixedAnswer) -> End:
        """Return the end of the run if a MILP has no point."""
        answer = found.answer
        if answer.status is SolutionStatus.INFEASIBLE:
            return StopReason.CONVERGED, SolutionStatus.INFEASIBLE if self.best is None else None
        if answer.stop_reason in (StopReason.CONVERGED, StopReason.SOLVER_ERROR):
            raise SolverFailure(
                f"{self._spec.name} failed on a mixed-integer program: {answer.message}.", self._spec.name
            )
        return answer.stop_reason, None

    def _admissible(self, x: np.ndarray) -> np.ndarray | None:
        """Return the point with rounded integers, at 0 if they are not needed; None if they are not integral."""
        whole = np.round(x[self._at])
        if np.any(np.abs(x[self._at] - whole) > ROUNDING):
            return None
        x = x.copy()
        x[self._at] = whole
        return self._without_idle(x)

    def _idle_candidates(self) -> np.ndarray:
        """Return the integers without cost that are in no curved row."""
        parts = self.parts
        held = [parts.objective.curved, *(g.curved for g in parts.convex)]
        held += [np.flatnonzero(g.linear) for g in parts.convex]
        busy = np.zeros(len(parts.variables), dtype=bool)
        busy[np.concatenate([*held, np.flatnonzero(parts.objective.linear)]).astype(int)] = True
        self._by_column = sparse.csc_array(parts.linear.matrix)
        continuous = np.ones(len(parts.variables))
        continuous[self._at] = 0.0
        self._mixed_rows = abs(parts.linear.matrix) @ continuous > 0
        return np.array([k for k in self._at.tolist() if not busy[k]], dtype=int)

    def _without_idle(self, x: np.ndarray) -> np.ndarray:
        """Set unneeded integers to 0: first all that no mixed row needs together, else one after the other."""
        r = self.parts.linear
        body = r.matrix @ x

        def allowed(places: Sequence[int], among: np.ndarray | None = None) -> bool:
            new = body.copy()
            touched = np.zeros(len(body), dtype=bool)
            for k in places:
                here = slice(self._by_column.indptr[k], self._by_column.indptr[k + 1])
                new[self._by_column.indices[here]] -= self._by_column.data[here] * x[k]
                touched[self._by_column.indices[here]] = True
            if among is not None:
                touched &= among
            return bool(np.all(new[touched] >= r.lower[touched]) and np.all(new[touched] <= r.upper[touched]))

        able = [k for k in self._cheap.tolist() if x[k] != 0 and r.x_lower[k] <= 0 <= r.x_upper[k]]
        alone = [k for k in able if allowed([k], self._mixed_rows)]
        for group in [alone, *([k] for k in alone)]:
            if group and all(x[k] != 0 for k in group) and allowed(group):
                for k in group:
                    here = slice(self._by_column.indptr[k], self._by_column.indptr[k + 1])
                    body[self._by_column.indices[here]] -= self._by_column.data[here] * x[k]
                    x[k] = 0.0
        return x

    def why_infeasible(self) -> str:
        """Return a sentence with linear rows without a common integer solution, else that of the continuous model."""
        rows, reason = self.parts.linear.rows, ""
        if len(self._at) and rows:
            reason = clashing_rows(rows, self.parts.variables, Runner(self._spec, SolveOptions()), otherwise="")
        return reason or super().why_infeasible()
