r"""Kelley's cutting planes for a convex model: linear programs over more and more rows.

For min { c.x : A x in [l, u], g_k(x) <= 0 }, g_k convex; a convex objective f becomes min eta, f(x) - eta <= 0:

    0. Linearise every g_k at the model's values, and take the rows that a separator starts from.
    1. Solve the LP over all rows so far -> x. Its optimum is a lower bound.
    2. Separate: the row g_k(x) + g_k'(x)(z - x) <= 0 for each violated g_k, and the rows that a separator returns.
    3. Stop when the incumbent meets the bound, or no row is violated. Else add the rows and go to 1.

A linearisation of a convex function lies below it, so every row is valid and the bound proven; x converges to the
optimum over a bounded set (Kelley 1960, "The cutting-plane method for solving convex programs"). A point within
``tolerance`` of all rows is an incumbent; a separator may repair any point to one. An LP's optimum is as good as its
tolerances: where the model tells how answers are proven from its data, its multipliers are made a bound, and points are
put on the rows, in that way.

Convexity is proven for quadratic rows, by the eigenvalues of their Hessians; of other smooth rows the user says it
(``assume_convex``), and the message repeats it. It is the function g_k that must be convex, not the set alone: a cone
w^2 <= s t is not of this form.

An LP without an end is solved in a box that grows, for rows alone; its bound counts once the box has gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyomo.environ as pyo
from scipy import sparse

from solvers.drivers.base import Driver
from solvers.errors import ModelError, OptionError, SolverFailure
from solvers.facts.as_built import data_of
from solvers.facts.base import facts_of
from solvers.facts.certificate import Certificate
from solvers.facts.separable import Cuts, Separable, no_cuts, stacked
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import either, find, for_cones
from solvers.interfaces.runner import Runner, SolveOptions
from solvers.lp.highs import FINEST, LpAnswer, LpStatus
from solvers.lp.pyomo import linear_program, require_lp_solver
from solvers.model.classes import refuse_integers, single_objective, used_variables
from solvers.model.conflict import clashing_rows
from solvers.model.convexity import ConvexFunction, is_convex, is_linear
from solvers.model.linear import LinearRows
from solvers.model.smooth import SmoothObjective
from solvers.options import Config
from solvers.result import FEASIBLE, SolutionStatus, StopReason

BOXES = [1e2, 1e4, 1e6]
IN_BOX = 20  # rounds in one box, besides two for each column
SAME = 1e-12  # relative distance of two points that are one


@dataclass
class CuttingPlaneConfig(Config):
    """Options of ``cutting-plane``, besides those of every driver; ``iteration_limit`` counts linear programs.

    Attributes
    ----------
    tolerance : float
        By how much a point may violate a row, relative to its side, or to 1.
    assume_convex : bool
        You know that the rows (g(x) <= upper, or g(x) >= lower with -g) and the objective are convex, where that is
        not proven here.
    separable : Separable, optional
        What a separator stands for; by default the model's structure.
    lp_solver : str
        Of the linear programs.
    """

    gap: float = 1e-6
    tolerance: float = 1e-8
    assume_convex: bool = False
    separable: Separable | None = None
    lp_solver: str = "highs"

    def check(self) -> None:
        """Refuse options that mean nothing.

        Raises
        ------
        OptionError
        SolverError
            If ``lp_solver`` is not one for LPs.
        """
        if not 0 < self.tolerance <= FEASIBLE:
            raise OptionError(
                f"tolerance={self.tolerance!r} is not allowed: give a number above 0, at most {FEASIBLE}."
            )
        require_lp_solver(self.lp_solver)


class CuttingPlane(Driver):
    """Kelley's cutting planes."""

    name = "cutting-plane"
    title = "convex rows and objectives over linear programs (Kelley's cutting planes)"
    options_type = CuttingPlaneConfig
    config: CuttingPlaneConfig

    def prepare(self) -> None:
        """Sort the rows, prove what is convex, and set the LP up."""
        c, model = self.config, self.model
        c.check()
        objective = single_objective(model)
        self.sign = 1.0 if objective.sense == pyo.minimize else -1.0
        refuse_integers(model, self.name, C.MIQCP)
        self.facts = self._facts()
        covered = set() if self.facts is None else {id(row) for row in data_of(self.facts.rows)}
        self.hidden = [] if self.facts is None else data_of(self.facts.hidden)
        self.assumed: list[str] = []
        self.go_on()
        rows = [r for r in model.component_data_objects(pyo.Constraint, active=True) if id(r) not in covered]
        curved = [row for row in rows if not is_linear(row.body)]
        skipped = {id(row) for row in curved}
        self._space()
        self.rows = LinearRows.of([row for row in rows if id(row) not in skipped], self.variables, [], 1.0)
        self.convex = [self._row(row) for row in curved]
        self.objective = SmoothObjective(objective.expr, self.variables, self.sign)
        if len(self.objective.curved):
            self._prove(objective.expr, self.sign, f'Objective "{objective.name}"')
        self.go_on()
        self._linear_program()
        self._solved = 0
        self._worst = np.inf  # violation at the last point

    def _facts(self) -> Separable | None:
        """Return the separator's facts, if the model is as it was built."""
        facts = self.config.separable or facts_of(self.model)
        if not isinstance(facts, Separable):
            return None
        edits = facts.edits(self.model)
        if not edits:
            return facts
        if self.config.assume_convex:
            return None
        names = ", ".join(dict.fromkeys(v.parent_component().name for v in data_of(facts.hidden)))
        raise ModelError(
            f'"{self.name}" does not see {names}: rows of its own stand for them, as the model was built. Here '
            f"{edits[0]}. Solve the model whole by name: {for_cones()}."
        )

    def _space(self) -> None:
        """Set the variables and what they are in columns of the LP."""
        visible = [] if self.facts is None else data_of(self.facts.visible)
        known = {id(v) for v in [*visible, *self.hidden]}
        others = {id(v): v for v in used_variables(self.model) if not v.fixed and id(v) not in known}
        self.variables = [*visible, *others.values()]
        extra = sparse.eye_array(len(others), format="csr")
        if self.facts is None:
            self.lift, self._lower, self._lifted = extra, np.full(len(others), -np.inf), 0
            return
        lift, lower = self.facts.columns()
        self.lift = sparse.block_diag([lift, extra], format="csr")
        self._lower = np.concatenate([lower, np.full(len(others), -np.inf)])
        self._lifted = lift.shape[1]

    def _row(self, row: Any) -> ConvexFunction:
        """Return a nonlinear row as g <= 0, if it can be convex."""
        name = f'Row "{row.name}"'
        lower, upper = pyo.value(row.lower), pyo.value(row.upper)
        if lower is not None and upper is not None:
            raise ModelError(
                f"{name} is nonlinear with two sides, which is not convex: solve the model whole by name, for example "
                f"with {either(C.NONCONVEX)} (global), or {either(C.NLP)} (a local optimum)."
            )
        sign, side = (1.0, upper) if upper is not None else (-1.0, lower)
        self._prove(row.body, sign, name)
        return ConvexFunction(name, SmoothObjective(row.body - side, self.variables, sign), float(side))

    def _prove(self, expression: Any, sign: float, name: str) -> None:
        """Refuse what is not convex, or not known to be."""
        proven = is_convex(expression, sign)
        if proven is False:
            raise ModelError(
                f"{name} is quadratic and not convex: solve the model whole by name, for example with "
                f"{for_cones()} (cones), {either(C.NONCONVEX)} (global), or {either(C.NLP)} (a local optimum)."
            )
        if proven is None:
            if not self.config.assume_convex:
                raise ModelError(
                    f"{name} is not quadratic, and its convexity is not proven here: pass assume_convex=True if you "
                    f"know it, or solve the model whole by name, for example with {either(C.NLP)} (a local optimum) "
                    f"or {either(C.MINLP)} (global)."
                )
            self.assumed.append(name)

    def _linear_program(self) -> None:
        """Set up the LP over the linear rows; its last column is eta, where the objective is not linear."""
        c, columns = self.config, self.lift.shape[1]
        self.columns = columns + bool(len(self.objective.curved))
        cost = np.concatenate([self.lift.T @ self.objective.linear, np.ones(self.columns - columns)])
        self.lower = np.concatenate([self._lower, np.full(self.columns - columns, -np.inf)])
        self.upper = np.full(self.columns, np.inf)
        alone = []  # variables whose bounds are those of a column
        for k in range(len(self.variables)):
            here = slice(self.lift.indptr[k], self.lift.indptr[k + 1])
            if here.stop - here.start == 1 and self.lift.data[here.start] == 1.0:
                j = self.lift.indices[here.start]
                self.lower[j] = max(self.lower[j], self.rows.x_lower[k])
                self.upper[j] = min(self.upper[j], self.rows.x_upper[k])
            elif np.isfinite(self.rows.x_lower[k]) or np.isfinite(self.rows.x_upper[k]):
                alone.append(k)
        self.lp = linear_program(c.lp_solver, cost, self.lower, self.upper, seed=c.seed or 0, tolerance=FINEST)
        self._add(self.rows.matrix @ self.lift, self.rows.lower, self.rows.upper)
        self._add(self.lift[alone], self.rows.x_lower[alone], self.rows.x_upper[alone])
        self.constant = self.objective.value(np.zeros(len(self.variables))) if self.columns == columns else 0.0

    def _add(self, matrix: Any, lower: np.ndarray, upper: np.ndarray) -> None:
        matrix = sparse.csr_matrix(matrix)
        if matrix.shape[0]:
            wide = sparse.csr_matrix((matrix.data, matrix.indices, matrix.indptr), (matrix.shape[0], self.columns))
            self.lp.add_rows(wide, lower, upper)

    def loop(self) -> tuple[StopReason, SolutionStatus | None]:
        """Run; the numbers are the steps of the algorithm box."""
        self._start()  # 0
        self._last = no_cuts(self.columns)
        previous = np.full(self.columns, np.inf)
        while (stop := self.stopped()) is None:
            if self._spent:
                return StopReason.ITERATION_LIMIT, None
            answer = self._timed("master", self._solve)  # 1
            if answer.status is LpStatus.UNBOUNDED and self._has_rows:
                answer = self._timed("master", self._in_boxes)
            if answer.status is not LpStatus.OPTIMAL:
                return self._ended(answer)
            self.raise_bound(self._proven(answer))
            cuts = self._timed("subproblem", partial(self._separate, answer.point))  # 2
            stalled = self._stalled(answer.point, previous, cuts)
            self._offer(answer.point, FEASIBLE if stalled else self.config.tolerance)
            rows = cuts.matrix.shape[0]
            self._cuts += rows
            self.record("cuts", answer.objective + self.constant, cuts=rows, support=None)
            if self.closed(self.config.gap) or not rows or stalled:  # 3
                self.message = self._words(stalled)
                return StopReason.CONVERGED, None
            self._add(cuts.matrix, cuts.lower, cuts.upper)
            previous, self._last = answer.point, cuts
        return stop, None

    def _proven(self, answer: LpAnswer) -> float | None:
        """Return the bound of an LP: its optimum, or what its multipliers prove, where the model says how."""
        said = answer.objective + self.constant
        if self.certificate is None:
            return said
        own = self.sign * answer.multipliers[: len(self.rows.rows)]  # the first rows of the LP
        duals = dict(zip(self.rows.rows, own.tolist(), strict=True))
        return self._signed(self.certificate.bound_with(self.model, duals, self._signed(said), minimize=self.sign > 0))

    @property
    def certificate(self) -> Certificate | None:
        """How the data prove an answer, where the model says so."""
        facts = facts_of(self.model)
        return None if facts is None else facts.certificate

    @property
    def _spent(self) -> bool:
        limit = self.config.iteration_limit
        return limit is not None and self._solved >= limit

    @property
    def _has_rows(self) -> bool:
        return bool(self.convex or self.facts is not None or len(self.objective.curved))

    def _start(self) -> None:
        """Linearise at the model's values, put within the bounds (0)."""
        self._cuts = 0
        x = np.array([0.0 if v.value is None else v.value for v in self.variables], dtype=float)
        x = np.clip(x, self.rows.x_lower, self.rows.x_upper)
        cuts = [self._over_columns([g.cut(x)]) for g in self.convex if self._defined(g, x)]
        if self.facts is not None:
            first = self.facts.separator.start()
            cuts.append(first)
        if len(self.objective.curved):
            cuts.append(self._over_columns([self._objective_cut(x)], eta=True))
        for c in cuts:
            self._cuts += c.matrix.shape[0]
            self._add(c.matrix, c.lower, c.upper)

    def _defined(self, g: ConvexFunction, x: np.ndarray) -> bool:
        """Tell whether a row can be linearised at the start: elsewhere that is an error."""
        try:
            return bool(np.isfinite(g.cut(x)[1]))
        except ModelError:
            return False

    def _objective_cut(self, x: np.ndarray) -> tuple[np.ndarray, float]:
        """Return a and b of a.x - eta <= b for the objective without its linear part."""
        f = ConvexFunction("The objective", self.objective)
        slope, side = f.cut(x, bounds_only=True)
        return slope - self.objective.linear, side

    def _over_columns(self, cuts: Sequence[tuple[np.ndarray, float]], *, eta: bool = False) -> Cuts:
        matrix = sparse.csr_array(np.array([a for a, _ in cuts]) @ self.lift)
        if eta:
            matrix = sparse.hstack([matrix, sparse.csr_array(np.full((len(cuts), 1), -1.0))], format="csr")
        else:
            matrix = sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), (len(cuts), self.columns))
        return Cuts(matrix, np.full(len(cuts), -np.inf), np.array([b for _, b in cuts]))

    def _solve(self) -> LpAnswer:
        self._solved += 1
        return self.lp.solve(self.clock.left)

    def _in_boxes(self) -> LpAnswer:
        """Add rows at optima over boxes that grow, until the LP without a box has an end; return its answer."""
        free = np.flatnonzero(np.isinf(self.lower) | np.isinf(self.upper))
        far: list[str] = []
        for size in BOXES:
            low = np.where(np.isinf(self.lower), np.minimum(-size, self.upper), self.lower)
            up = np.where(np.isinf(self.upper), np.maximum(size, self.lower), self.upper)
            for _ in range(IN_BOX + 2 * self.columns):
                self.lp.set_bounds(free, low[free], up[free])
                try:
                    answer = self._solve()
                finally:
                    self.lp.set_bounds(free, self.lower[free], self.upper[free])
                if answer.status is LpStatus.LIMIT or self.clock.over or self._spent:
                    return replace(answer, status=LpStatus.LIMIT)
                if answer.status is not LpStatus.OPTIMAL:  # the box may be too small to hold a point
                    break
                x = np.abs(self.lift @ answer.point[: self.lift.shape[1]]).tolist()
                far = [v.name for v, value in zip(self.variables, x, strict=True) if value >= 0.99 * size]
                cuts = self._separate(answer.point)
                if not cuts.matrix.shape[0]:
                    break
                self._cuts += cuts.matrix.shape[0]
                self._add(cuts.matrix, cuts.lower, cuts.upper)
                answer = self._solve()
                if answer.status is not LpStatus.UNBOUNDED:
                    return answer
        raise ModelError(
            f"The linear programs have no end: the objective falls for ever as far as the rows so far tell. Bound the "
            f"variables that grow: {', '.join(far[:5]) or 'those of the objective'}."
        )

    def _separate(self, point: np.ndarray) -> Cuts:
        """Return the rows that cut a point off, and how far it is from satisfying the model's (2)."""
        x = self.lift @ point[: self.lift.shape[1]]
        found: list[Cuts] = []
        values = [g.at(x) for g in self.convex]
        self._worst = max([0.0, *values])
        violated = [g.cut(x) for g, value in zip(self.convex, values, strict=True) if value > self.config.tolerance]
        if violated:
            found.append(self._over_columns(violated))
        if self.facts is not None:
            cuts = self.facts.separator.separate(x[: self.facts.columns()[0].shape[0]])
            self._worst = max(self._worst, cuts.violation)
            if cuts.matrix.shape[0]:
                wide = sparse.csr_array(cuts.matrix)
                wide = sparse.csr_array((wide.data, wide.indices, wide.indptr), (wide.shape[0], self.columns))
                found.append(Cuts(wide, cuts.lower, cuts.upper, cuts.violation))
        if len(self.objective.curved):
            slope, side = self._objective_cut(x)
            missed = float(slope @ x) - side - point[-1]
            if missed > 1e-12 * max(1.0, abs(side)):
                found.append(self._over_columns([(slope, side)], eta=True))
        return stacked(found, self.columns)

    def _stalled(self, point: np.ndarray, previous: np.ndarray, cuts: Cuts) -> bool:
        """Tell whether the LP's own tolerance is all that is left: its last rows miss the point as the new ones do."""
        if not cuts.matrix.shape[0]:
            return False
        if np.all(np.abs(point - previous) <= SAME * np.maximum(1.0, np.abs(point))):
            return True
        new, old = cuts.matrix @ point - cuts.upper, self._last.matrix @ point - self._last.upper
        return bool(np.max(new) <= FEASIBLE and np.max(old, initial=-np.inf) >= 0.5 * np.max(new))

    def _offer(self, point: np.ndarray, tolerance: float) -> None:
        """Offer a point that satisfies the model, or what the separator makes of it."""
        x = self.lift @ point[: self.lift.shape[1]]
        repaired = None if self.facts is None else self._repaired(x)
        if repaired is not None:
            x = repaired
        elif self._worst > tolerance:
            return
        value = ConvexFunction("The objective", self.objective).at(x)
        if not np.isfinite(value):
            return
        if self.certificate is None and self.best is not None and value >= self.best:
            return
        for v, number in zip(self.variables, x.tolist(), strict=True):
            if not v.fixed:
                v.set_value(number, skip_validation=True)
        if self.facts is not None:
            self.facts.separator.load(x[: self.facts.columns()[0].shape[0]])
        if self.certificate is not None and self.certificate.settle(self.model, has_point=True) is not None:
            value = self.sign * float(pyo.value(single_objective(self.model)))
        self.offer(value, [*self.variables, *self.hidden], lambda: None)

    def _repaired(self, x: np.ndarray) -> np.ndarray | None:
        """Return what the separator makes of a point, if that satisfies all other rows."""
        assert self.facts is not None
        n = self.facts.columns()[0].shape[0]
        repaired = self.facts.separator.repair(x[:n])
        if repaired is None:
            return None
        whole = np.concatenate([repaired, x[n:]])
        return whole if self._satisfied(whole) else None

    def _satisfied(self, x: np.ndarray) -> bool:
        """Tell whether a repaired point satisfies the rows that the separator does not know."""
        r, slack = self.rows, self.config.tolerance
        body = r.matrix @ x
        for values, low, up in ((body, r.lower, r.upper), (x, r.x_lower, r.x_upper)):
            room = slack * np.maximum(1.0, np.abs(values))
            if np.any(values < low - room) or np.any(values > up + room):
                return False
        return all(g.at(x) <= slack for g in self.convex)

    def _ended(self, answer: LpAnswer) -> tuple[StopReason, SolutionStatus | None]:
        """Say what an LP without an optimum means."""
        if answer.status is LpStatus.LIMIT or self.clock.over:
            over = self._spent and not self.clock.over
            return StopReason.ITERATION_LIMIT if over else StopReason.TIME_LIMIT, None
        if answer.status is LpStatus.INFEASIBLE:
            return StopReason.CONVERGED, SolutionStatus.INFEASIBLE
        if answer.status is LpStatus.UNBOUNDED:
            self.message = "The objective has no end: a bound or a row is missing."
            return StopReason.CONVERGED, SolutionStatus.UNBOUNDED
        name = self.config.lp_solver
        raise SolverFailure(f"{name} failed on linear program {self._solved}.", name)

    def why_infeasible(self) -> str:
        """Name the rows that clash, the convex ones together."""
        alone = linear_program(
            self.config.lp_solver, np.zeros(len(self.variables)), self.rows.x_lower, self.rows.x_upper
        )
        if self.rows.rows:
            alone.add_rows(self.rows.matrix, self.rows.lower, self.rows.upper)
        if alone.solve(self.clock.left).status is LpStatus.INFEASIBLE:
            return clashing_rows(self.rows.rows, self.variables, Runner(find("highs"), SolveOptions()))
        convex = ", ".join([g.name for g in self.convex])
        if self.facts is not None:
            names = [c.name for c in self.facts.rows]
            convex = ", ".join([*([convex] if convex else []), f"rows {', '.join(names)}"])
        return f"No point satisfies the linear rows together with {convex}. Relax or deactivate one of them."

    def _words(self, stalled: bool) -> str:
        words = []
        if self.assumed:
            words.append(f"Optimal if convex, as assumed: {', '.join(self.assumed)}.")
        if stalled and not self.closed(self.config.gap):
            words.append(f"{self.config.lp_solver} resolves its rows no finer: the gap cannot be closed further.")
        return " ".join(words)
