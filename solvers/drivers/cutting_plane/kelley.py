r"""Kelley's cutting planes for a convex model: linear programs over more and more rows.

For min { c.x : A x in [l, u], g_k(x) <= 0 }, g_k convex; a convex objective f becomes min eta, f(x) - eta <= 0:

    0. Linearise every g_k at the model's values, and take the initial rows of a separator.
    1. Solve the LP over all rows so far -> x. Its optimum is a lower bound.
    2. Separate: the row g_k(x) + g_k'(x)(z - x) <= 0 for each violated g_k, and the rows that a separator returns.
    3. Stop if the incumbent meets the bound, or if no row is violated. Otherwise add the rows and go to 1.

A linearisation of a convex function is nowhere above it, so that every row is valid and the bound is proven. Over a
bounded set x converges to the optimum (Kelley 1960, "The cutting-plane method for solving convex programs"). A point
within ``tolerance`` of all rows is an incumbent; a separator may repair a point. The optimum of an LP is exact only to
the tolerances of its solver. Therefore the bound is the Lagrangian bound of its multipliers (``facts.row_cut``), or the
bound that the certificate of the model computes from them.

Convexity of quadratic rows is proven by their Hessians, and that of other rows by rules of composition
(``model.convexity``). Where the rules do not apply, it is an assumption of the user (``assume_convex``): the status is
``feasible``, and the message names the rows. A second-order cone such as w^2 <= s t with s, t >= 0 has a convex
function with the same set (``model.cone_function``).

The number of rounds grows with the number of variables in which a row is curved. A convex quadratic model without
integers is faster with Clarabel, the default solver of that class.

If an LP is unbounded, and the model has no ray (``drivers.unbounded``), LPs within growing boxes provide rows; only
bounds of the LP without a box are used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from solvers.drivers.base import Driver, End
from solvers.drivers.cutting_plane.column_lp import ColumnLP, ConvexParts, sized
from solvers.drivers.solver_options import lp_solver_options
from solvers.drivers.unbounded import may_fall
from solvers.errors import ModelError, OptionError, SolverFailure
from solvers.facts.base import facts_of
from solvers.facts.separable import Cuts, Separable, no_cuts, stacked
from solvers.facts.snapshot import data_of
from solvers.interfaces.registry import called, for_cones
from solvers.lp.highs import LpAnswer, LpStatus
from solvers.lp.pyomo import linear_program, require_lp_solver
from solvers.model.classes import used_variables
from solvers.model.cone_function import ConeFunction
from solvers.model.conflict import clashing_rows
from solvers.model.function import SmoothFunction
from solvers.options import Config, SolverObject
from solvers.result import FEASIBLE, SolutionStatus, StopReason
from solvers.values import bounds_of, put_back, values_of

BOXES = [1e2, 1e4, 1e6]
IN_BOX = 20  # rounds in one box, plus two for each column
SAME = 1e-12  # relative distance at which two points are equal


@dataclass
class CuttingPlaneConfig(Config):
    """Options of ``cutting-plane``, in addition to those of every driver; ``iteration_limit`` counts linear programs.

    Attributes
    ----------
    tolerance : float
        Largest violation of a row, relative to its side or to 1.
    assume_convex : bool
        Assume that rows (g(x) <= upper, or g(x) >= lower with -g) and an objective are convex if this is not proven
        and they are not quadratic. Then no bound and no infeasibility is proven: the status is ``feasible`` or
        ``no_solution``, and ``details["bound_if_convex"]`` is the bound under the assumption.
    separable : Separable, optional
        A separator and the rows that it replaces; by default the model's structure.
    lp_solver : str
        Solver of the linear programs.
    master_solver : str, optional
        Solver of the mixed-integer programs if the model has integers, with reliable bounds (not cbc). By default
        ``lp_solver`` if it is such a solver, otherwise "highs".
    lp_options, master_options : mapping, optional
        Their own options.
    """

    gap: float = 1e-6
    tolerance: float = 1e-8
    assume_convex: bool = False
    separable: Separable | None = None
    lp_solver: str | SolverObject = "highs"
    lp_options: Mapping[str, Any] | None = None
    master_solver: str | SolverObject | None = None
    master_options: Mapping[str, Any] | None = None

    def check(self) -> None:
        """Check the options.

        Raises OptionError. Raises SolverError if ``lp_solver`` is no LP solver.
        """
        if not 0 < self.tolerance <= FEASIBLE:
            raise OptionError(
                f"tolerance={self.tolerance!r} is not allowed: give a number above 0, at most {FEASIBLE}."
            )
        require_lp_solver(self.lp_solver, self.own("lp"))


class CuttingPlane(Driver):
    """Kelley's cutting planes for continuous models; "cutting-plane" runs its subclass ``MixedCuttingPlane``."""

    name = "cutting-plane"
    title = "convex rows and objectives over linear programs (Kelley's cutting planes)"
    options_type = CuttingPlaneConfig
    config: CuttingPlaneConfig
    writes_logic = True

    def prepare(self) -> None:
        """Sort the rows, prove convexity, and build the LP."""
        c = self.config
        c.check()
        self.facts = self._facts()
        covered = set() if self.facts is None else {id(row) for row in data_of(self.facts.rows)}
        self.hidden = [] if self.facts is None else data_of(self.facts.hidden)
        self.check_time()
        rows = [r for r in self.cache.rows if id(r) not in covered]
        variables, lift, lower = self._space()
        self.parts = ConvexParts(self.cache, rows, variables, assume_convex=c.assume_convex)
        self.assumed = self.parts.assumed
        self.check_time()
        self.lp = ColumnLP(self.parts, lift, lower, lp_solver=c.lp_solver, options=lp_solver_options(c))
        self._solved = 0
        self._worst = np.inf  # violation at the last point
        self._stalled = False  # whether this is within the tolerance of the LP solver

    def _facts(self) -> Separable | None:
        """Return the separator's facts, if the model is unchanged since it was built."""
        facts = self.config.separable or facts_of(self.model)
        if not isinstance(facts, Separable):
            return None
        edits = facts.edits(self.model)
        if not edits:
            return facts
        if self.config.assume_convex:
            self.dropped.add("the separator", edits)
            return None
        names = ", ".join(dict.fromkeys(v.parent_component().name for v in data_of(facts.hidden)))
        raise ModelError(
            f'"{self.name}" does not support edits of {names}, for which it generates rows of the model as built. Here '
            f"{edits[0]}. Solve the model whole by name: {for_cones()}."
        )

    def _space(self) -> tuple[list[Any], sparse.csr_array, np.ndarray]:
        """Return the variables, the matrix that maps columns of the LP to them, and lower bounds of the columns."""
        visible = [] if self.facts is None else data_of(self.facts.visible)
        known = {id(v) for v in [*visible, *self.hidden]}
        others = {id(v): v for v in used_variables(self.cache) if not v.fixed and id(v) not in known}
        units = [_unit(v) for v in others.values()]  # scales of the columns by their bounds
        lift = sparse.csr_array(sparse.diags_array(units, shape=(len(units), len(units)), dtype=float))
        lower = np.full(len(others), -np.inf)
        if self.facts is not None:
            ours, least = self.facts.columns()
            lift, lower = sparse.block_diag([ours, lift], format="csr"), np.concatenate([least, lower])
        return [*visible, *others.values()], lift, lower

    def loop(self) -> End:
        """Run the algorithm; the numbers in comments are its steps."""
        self._start()  # 0
        if (ended := self._cut("cuts")) is not None:
            return ended
        if self._stalled:
            name = called(self.config.lp_solver)
            self.message = f"The accuracy of {name} is exhausted: the gap cannot be closed further."
        return StopReason.CONVERGED, None

    def _cut(self, step: str, *, enough: Callable[[float], bool] | None = None) -> End | None:
        """Solve LPs and add the rows that cut off their optima (1 to 3); return the end of the run, if it has ended.

        ``enough``: (value of an LP) -> whether further rows are not worth their time.
        """
        previous, last = np.full(self.lp.columns, np.inf), no_cuts(self.lp.columns)
        for _ in self.rounds(done=lambda: self._solved):
            with self.timing("master"):
                answer = self._solve()  # 1
            if answer.status is not LpStatus.OPTIMAL:
                return self._ended(answer)
            value = answer.objective + self.lp.constant
            self._take_bound(answer)
            with self.timing("subproblem"):
                cuts = self._separate(answer.point)  # 2
            self._stalled = self._has_stalled(answer.point, previous, cuts, last)
            self._offer(answer.point, FEASIBLE if self._stalled else self.config.tolerance)
            rows = cuts.matrix.shape[0]
            self.record(step, value, cuts=rows, support=None)
            if self.closed(self.config.gap):  # 3
                return StopReason.CONVERGED, None
            if not rows or self._stalled:
                return None
            self.lp.add(cuts)
            if enough is not None and enough(value):
                return None
            previous, last = answer.point, cuts
        return self.stop, None

    def _take_bound(self, answer: LpAnswer) -> None:
        """Raise the bound by that of an LP."""
        self.raise_bound(self._proven(answer))

    def _proven(self, answer: LpAnswer) -> float | None:
        """Return the bound that the LP's multipliers prove, by the model's certificate if it has one."""
        rows = self.parts.linear.rows
        duals = self.sign * answer.multipliers[: len(rows)]  # of the first rows of the LP
        return self.bound_with_data(self.lp.bound(answer), dict(zip(rows, duals.tolist(), strict=True)))

    @property
    def _spent(self) -> bool:
        limit = self.config.iteration_limit
        return limit is not None and self._solved >= limit

    def _start(self) -> None:
        """Linearise at the model's values, moved within the bounds (0)."""
        x = values_of(self.parts.variables)
        x = np.clip(x, self.parts.linear.x_lower, self.parts.linear.x_upper)
        cuts = [self.lp.over_columns([g.cut(x)]) for g in self.parts.convex if self._defined(g, x)]
        if self.facts is not None:
            cuts.append(self.facts.separator.start())
        if len(self.parts.objective.curved):
            cuts.append(self.lp.over_columns([self._objective_cut(x)], eta=True))
        for c in cuts:
            self.lp.add(c)

    def _defined(self, g: SmoothFunction | ConeFunction, x: np.ndarray) -> bool:
        """Return whether a row can be linearised at the start; if not, it is left out there."""
        try:
            return bool(np.isfinite(g.cut(x)[1]))
        except ModelError:
            return False

    def _objective_cut(self, x: np.ndarray) -> tuple[np.ndarray, float]:
        """Return a and b of a.x - eta <= b for the objective without its linear part."""
        slope, side = self.parts.objective.cut(x, bounds_only=True)
        return slope - self.parts.objective.linear, side

    def _solve(self) -> LpAnswer:
        """Solve the LP (1); if it is unbounded and the model is not, add rows within boxes first."""
        self._solved += 1
        answer = self.lp.solve(self.clock.left)
        if answer.status is not LpStatus.UNBOUNDED or may_fall(self.cache, self.clock.left):
            return answer
        return self._in_boxes()

    def _in_boxes(self) -> LpAnswer:
        """Add rows at optima within growing boxes, until the LP without a box is bounded; return its answer."""
        far: list[str] = []
        for size in BOXES:
            for _ in range(IN_BOX + 2 * self.lp.columns):
                self._solved += 1
                answer = self.lp.solve_in_box(size, self.clock.left)
                if answer.status is LpStatus.LIMIT or self.clock.over or self._spent:
                    return replace(answer, status=LpStatus.LIMIT)
                if answer.status is not LpStatus.OPTIMAL:  # the box may be too small to contain a point
                    break
                x = np.abs(self.lp.x(answer.point)).tolist()
                far = [v.name for v, value in zip(self.parts.variables, x, strict=True) if value >= 0.99 * size]
                cuts = self._separate(answer.point)
                if not cuts.matrix.shape[0]:
                    break
                self.lp.add(cuts)
                self._solved += 1
                answer = self.lp.solve(self.clock.left)
                if answer.status is not LpStatus.UNBOUNDED:
                    return answer
        raise ModelError(
            "The linear programs are unbounded with the rows so far. Bound the variables that grow: "
            f"{', '.join(far[:5]) or 'those of the objective'}."
        )

    def _separate(self, point: np.ndarray) -> Cuts:
        """Return the rows that cut off a point (2); set the violation at the point."""
        x, convex = self.lp.x(point), self.parts.convex
        found: list[Cuts] = []
        values = [g.at(x) for g in convex]
        self._worst = max([0.0, *values])
        violated = [g.cut(x) for g, value in zip(convex, values, strict=True) if value > self.config.tolerance]
        if violated:
            found.append(self.lp.over_columns(violated))
        if self.facts is not None:
            cuts = self.facts.separator.separate(x[: self.facts.columns()[0].shape[0]])
            self._worst = max(self._worst, cuts.violation)
            if cuts.matrix.shape[0]:
                found.append(self.lp.wide(cuts))
        if len(self.parts.objective.curved):
            slope, side = self._objective_cut(x)
            missed = float(slope @ x) - side - point[-1]
            if missed > 1e-12 * max(1.0, abs(side)):
                found.append(self.lp.over_columns([(slope, side)], eta=True))
        return stacked(found, self.lp.columns)

    def _has_stalled(self, point: np.ndarray, previous: np.ndarray, cuts: Cuts, last: Cuts) -> bool:
        """Return whether the violation is within the LP's tolerance: its last rows are violated like the new ones."""
        if not cuts.matrix.shape[0]:
            return False
        if np.all(np.abs(point - previous) <= SAME * np.maximum(1.0, np.abs(point))):
            return True
        new, old = cuts.matrix @ point - cuts.upper, last.matrix @ point - last.upper
        return bool(np.max(new) <= FEASIBLE and np.max(old, initial=-np.inf) >= 0.5 * np.max(new))

    def _offer(self, point: np.ndarray, tolerance: float) -> None:
        """Offer a feasible point, or the separator's repaired point."""
        x = self.lp.x(point)
        repaired = None if self.facts is None else self._repaired(x)
        if repaired is not None:
            x = repaired
        elif self._worst > tolerance:
            return
        self._offer_feasible(x)

    def _offer_feasible(self, x: np.ndarray) -> None:
        """Offer a point that satisfies the model."""
        admissible = self._admissible(x)
        if admissible is None or not np.isfinite(value := self.parts.objective.at(x := admissible)):
            return
        if self.certificate is None and self.best is not None and value >= self.best:
            return
        put_back((v, value) for v, value in zip(self.parts.variables, x.tolist(), strict=True) if not v.fixed)
        if self.facts is not None:
            self.facts.separator.load(x[: self.facts.columns()[0].shape[0]])
        if self.certificate is not None and self.certificate.repair_point(self.cache, has_point=True) is not None:
            value = self._objective_value()
        self.offer(value, [*self.parts.variables, *self.hidden], lambda: None)

    def _admissible(self, x: np.ndarray) -> np.ndarray | None:
        """Return the point, or an equivalent one, as incumbent; None if it is not admissible."""
        return x

    def _repaired(self, x: np.ndarray) -> np.ndarray | None:
        """Return the separator's repaired point, if it satisfies all other rows."""
        assert self.facts is not None
        n = self.facts.columns()[0].shape[0]
        repaired = self.facts.separator.repair(x[:n])
        if repaired is None:
            return None
        repaired = np.concatenate([repaired, x[n:]])
        return repaired if self._satisfied(repaired) else None

    def _satisfied(self, x: np.ndarray) -> bool:
        """Return whether a repaired point satisfies the rows that are not the separator's."""
        r, slack = self.parts.linear, self.config.tolerance
        body = r.matrix @ x
        for values, low, up in ((body, r.lower, r.upper), (x, r.x_lower, r.x_upper)):
            room = slack * np.maximum(1.0, np.abs(values))
            if np.any(values < low - room) or np.any(values > up + room):
                return False
        return all(g.at(x) <= slack for g in self.parts.convex)

    def _ended(self, answer: LpAnswer) -> End:
        """Return the end of the run if an LP has no optimum."""
        if answer.status is LpStatus.LIMIT or self.clock.over:
            over = self._spent and not self.clock.over
            return StopReason.ITERATION_LIMIT if over else StopReason.TIME_LIMIT, None
        if answer.status in (LpStatus.INFEASIBLE, LpStatus.UNBOUNDED):
            infeasible = answer.status is LpStatus.INFEASIBLE
            return StopReason.CONVERGED, SolutionStatus.INFEASIBLE if infeasible else SolutionStatus.UNBOUNDED
        name = called(self.config.lp_solver)
        raise SolverFailure(f"{name} failed on linear program {self._solved}.", name)

    def why_infeasible(self) -> str:
        """Return a sentence with rows that have no common solution; all convex rows count as one."""
        r, variables = self.parts.linear, self.parts.variables
        alone = linear_program(self.config.lp_solver, np.zeros(len(variables)), r.x_lower, r.x_upper)
        if r.rows:
            alone.add_rows(r.matrix, r.lower, r.upper)
        if alone.solve(self.clock.left).status is LpStatus.INFEASIBLE:
            return clashing_rows(r.rows, variables)
        convex = ", ".join([g.name for g in self.parts.convex])
        if self.facts is not None:
            names = [c.name for c in self.facts.rows]
            convex = ", ".join([*([convex] if convex else []), f"rows {', '.join(names)}"])
        return f"No point satisfies the linear rows together with {convex}. Relax or deactivate one of them."


def _unit(v: Any) -> float:
    """Return a power of two near the larger bound of a continuous variable that has both."""
    return sized(max(map(abs, bounds_of(v)))) if v.is_continuous() else 1.0
