r"""Row generation: a model with too many rows to state, which a separator generates when they are violated.

For ``min { f(x) : x in X, a_k.x >= b_k for all k }``, X the stated model with the user's rows, and a separator that
returns the most violated row k at a point (``facts.separable``):

    0. Take the initial rows of the separator.
    1. Solve the model with the rows so far, by a solver of its class -> x, and a bound.
    2. Separate at x, and at a point between the best point and x. Let the separator repair x (raise a slack to its
       largest row), and offer it if it satisfies the stated rows.
    3. Stop if the best point meets the bound, or if x violates no row. Otherwise add the rows and go to 1.

Every problem of step 1 is a relaxation, so that the bound of its solver is a bound of the model. If the user has only
added restrictions, the bound that the builder proves from the multipliers of the rows is used, too
(``Separable.proof``). With integers step 1 is a mixed-integer program: the problem with its integers fixed is then
solved by a continuous solver, and that point is offered.

Convergence is finite for finitely many rows. A row is added once. If step 2 finds known rows only, the accuracy of the
solver is exhausted, and the remaining gap is reported. Rows are never dropped.

Sources: Kelley 1960; Joachims, Finley, Yu 2009, "Cutting-plane training of structural SVMs"; Franc and Sonnenburg 2009
for the row between the best point and x.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression
from scipy import sparse

from solvers.drivers.base import Driver, End
from solvers.drivers.solver_options import slot_solver_options
from solvers.errors import ModelError
from solvers.facts.base import facts_of, worst_violation
from solvers.facts.change import Change, Changed
from solvers.facts.separable import Cuts, Separable
from solvers.facts.snapshot import data_of
from solvers.interfaces.registry import SolverSpec, default_solver, listed, names
from solvers.interfaces.runner import Answer, Runner, SolveOptions
from solvers.interfaces.spec import describe
from solvers.model.classes import has_integers, needs, single_objective
from solvers.options import Config, SolverObject
from solvers.result import FEASIBLE, SolutionStatus, StopReason
from solvers.values import fixed, put_back, values_of

AHEAD = 0.1  # position of the second separation point between the best point and x
MISSED = 1e-8  # tolerance of a row, relative to its side or to 1
FINER = 0.1  # gap of a mixed-integer problem, as a share of the gap of the run


@dataclass
class RowGenerationConfig(Config):
    """Options of ``row-generation``, in addition to those of every driver; ``iteration_limit`` counts step 1.

    Attributes
    ----------
    master_solver : str, optional
        Solver of step 1; by default one for the class of the model with its rows (clarabel, or scip with integers).
    master_options : mapping, optional
        Its own options.
    """

    master_solver: str | SolverObject | None = None
    master_options: Mapping[str, Any] | None = None


class RowGeneration(Driver):
    """Row generation for a model with a separator."""

    name = "row-generation"
    title = "models with rows that a separator generates (row generation)"
    options_type = RowGenerationConfig
    facts_type = Separable
    config: RowGenerationConfig

    def prepare(self) -> None:
        """Build the model that the solver sees, without rows of the separator."""
        facts = facts_of(self.model)
        if not isinstance(facts, Separable) or data_of(facts.rows) or data_of(facts.hidden):
            raise ModelError(
                f'"{self.name}" needs a model whose structure is a solvers.Separable for rows that the model does not '
                "state: solve the model without naming a solver."
            )
        self.facts, c = facts, self.config
        self.visible = data_of(facts.visible)
        self.check_time()
        change = facts.change or Change([])
        scaled = {id(v) for v, _ in change.factors}
        kept = [(v, 1.0) for v in self.visible if id(v) not in scaled]  # also variables without a row so far
        self.view = Changed(self._stated(), replace(change, factors=[*change.factors, *kept]))
        self.view.model.generated = self.generated = pyo.ConstraintList()
        self._matrix: list[Any] = []
        self._lower: list[float] = []
        self._known: set[tuple[float, bytes]] = set()
        self.integer = has_integers(self.cache)
        self.spec = self._spec(c.master_solver)
        gap = FINER * c.gap if self.integer else None
        self.runner = Runner(self.spec, slot_solver_options(c, "master", gap=gap, threads=c.threads, seed=c.seed))
        self._rest: Runner | None = None
        self._best_point: np.ndarray | None = None

    def _stated(self) -> pyo.ConcreteModel:
        """Return the stated model, without rows of disjuncts whose disjunction is deactivated."""
        objective, stated = single_objective(self.cache), pyo.ConcreteModel(name=self.model.name)
        stated.variables = pyo.Reference(dict(enumerate(self.cache.variables)), ctype=pyo.Var)
        stated.rows = pyo.Reference(dict(enumerate(self.cache.rows)), ctype=pyo.Constraint)
        stated.objective = pyo.Objective(expr=objective.expr, sense=objective.sense)
        return stated

    def _spec(self, solver: Any) -> SolverSpec:
        """Return the solver of step 1. Raises ModelError if the named solver does not support this class."""
        needed = needs(self.view.model)
        spec = default_solver(needed) if solver is None else listed(solver)
        if not any(n in spec.capabilities for n in needed):
            able = ", ".join(sorted({n for kind in needed for n in names(kind)}))
            raise ModelError(
                f'master_solver="{spec.name}" cannot solve this model, which needs {describe(needed[0])}: use {able}.'
            )
        return spec

    def inside(self) -> list[str]:
        """Return the name of the solver of step 1."""
        return [self.spec.name] if hasattr(self, "spec") else []

    def loop(self) -> End:
        """Run the algorithm; the numbers in comments are its steps."""
        self._add(self.facts.separator.start())  # 0
        for _ in self.rounds():
            with self.timing("master"):
                answer = self._solve(self.runner)  # 1
            if answer.status in (SolutionStatus.INFEASIBLE, SolutionStatus.UNBOUNDED):
                return self._ended(answer)
            self._raise_bound(answer)
            if not answer.has_point:
                return self._unsolved(answer)
            with self.timing("subproblem"):
                points = list(self._points())
                found = [cuts for point in points for cuts in self._separated(point)]  # 2
                worst = self._missed(points[0])
                value = self._offer()
            new = [self._add(cuts) for cuts in found]
            if self.integer:
                new.append(self._with_integers_fixed())
            self.record("rows", value, cuts=len(self._lower), support=None)
            if self.closed(self.config.gap) or worst <= MISSED:  # 3
                return StopReason.CONVERGED, None
            if not any(new):
                self.message = f"The accuracy of {self.spec.name} is exhausted: the gap cannot be closed further."
                return StopReason.CONVERGED, None
        return self.stop, None

    def _solve(self, runner: Runner) -> Answer:
        rows = list(self.generated.values()) if not self.integer else []
        answer = runner.solve(self.view.model, time_limit=self.clock.left, integer=self.integer, duals=rows)
        return replace(self.view.loaded(answer), duals=answer.duals)  # of rows of the copy

    def _raise_bound(self, answer: Answer) -> None:
        """Raise the bound by that of the solver, and by that of the builder from the multipliers of the rows."""
        self.raise_bound(self._signed(answer.bound))
        certificate, proof = self.certificate, self.facts.proof
        if certificate is None or proof is None or certificate.built is None:
            return
        if not certificate.built.restricted(self.cache) or self.sign < 0:
            return
        rows = list(self.generated.values())
        if rows and all(row in answer.duals for row in rows):
            multipliers = np.array([self.view.multiplier(row, answer.duals[row]) for row in rows])
            self.raise_bound(proof(self.model, np.array(self._matrix), np.array(self._lower), multipliers))

    def _ended(self, answer: Answer) -> End:
        """Return the end of the run if step 1 is infeasible or unbounded."""
        if answer.status is SolutionStatus.INFEASIBLE:
            return StopReason.CONVERGED, SolutionStatus.INFEASIBLE
        if self._bound_at_hand() is not None:  # the data prove a bound
            return self._unsolved(answer)
        raise ModelError(
            "The objective is unbounded with the rows so far: bound the variables in whose direction it decreases."
        )

    def _unsolved(self, answer: Answer) -> End:
        """Return the end of the run if step 1 has no point."""
        if self.clock.over:
            return StopReason.TIME_LIMIT, None
        if answer.stop_reason is StopReason.INTERRUPTED:
            raise KeyboardInterrupt
        self.message = f"{self.spec.name} did not solve the problem over {len(self._lower)} rows: {answer.message}."
        stop = answer.stop_reason
        return StopReason.SOLVER_ERROR if stop is StopReason.CONVERGED else stop, None

    def why_infeasible(self) -> str:
        """Return a sentence on the rows that have no common solution."""
        return "No point satisfies the model's rows together with those of the separator. Relax one of them."

    def _points(self) -> Iterator[np.ndarray]:
        """Yield the point on the model, and a point between the best point and this one."""
        here = values_of(self.visible)
        yield here
        if self._best_point is not None:
            yield self._best_point + AHEAD * (here - self._best_point)

    def _separated(self, point: np.ndarray) -> Iterator[Cuts]:
        cuts = self.facts.separator.separate(point)
        if cuts.matrix.shape[0]:
            yield cuts

    def _missed(self, point: np.ndarray) -> float:
        """Return the largest violation at a point of the rows that the separator finds there."""
        return max([cuts.violation for cuts in self._separated(point)], default=0.0)

    def _offer(self) -> float | None:
        """Repair the point on the model by the separator, and offer it if it satisfies the stated rows.

        First integers are rounded and the variables that they switch off are set to 0: at sigma = d = 1e-7 a cone
        w^2 <= d t allows a weight of 3e-4.
        """
        put_back((v, round(v.value)) for v in self._integers())
        put_back((v, 0.0) for v in self._switched_off())
        point = np.array([v.value for v in self.visible], dtype=float)
        repaired = self.facts.separator.repair(point)
        if repaired is not None:
            put_back((v, x) for v, x in zip(self.visible, repaired.tolist(), strict=True) if not v.fixed)
        if self.certificate is not None and self.certificate.repair_point(self.cache, has_point=True) is None:
            return None
        point = np.array([v.value for v in self.visible], dtype=float)
        if worst_violation(self.cache) > FEASIBLE or self._missed(point) > MISSED:
            return None
        value = self._objective_value()
        if self.best is None or value < self.best:
            self._best_point = point
        self.offer(value, self.cache.variables, lambda: None)
        return value

    def _integers(self) -> list[Any]:
        """Return the integer variables that are not fixed and have a value."""
        return [v for v in self.cache.variables if not v.is_continuous() and not v.fixed and v.value is not None]

    def _switched_off(self) -> list[Any]:
        """Return the variables that the integers on the model switch off, if the rows are as built."""
        built = None if self.certificate is None else self.certificate.built
        if built is None or not self.facts.switches or not built.has_rows(self.cache):
            return []
        off = [v for s, v in self.facts.switches if s.is_integer() and s.value is not None and s.value < 0.5]
        return [v for v in off if not v.fixed]

    def _with_integers_fixed(self) -> bool:
        """Solve with the integers on the model fixed; offer the point, and return True if a row is new."""
        integers = self._integers()
        copies, off = self.view.seen_of(integers), self.view.seen_of(self._switched_off())
        choice = [(s, float(round(v.value))) for s, v in zip(copies, integers, strict=True)]
        with fixed([*choice, *((s, 0.0) for s in off)]):
            needed = needs(self.view.model)
            if self._rest is None:
                self._rest = Runner(default_solver(needed), SolveOptions())
            answer = self._rest.solve(self.view.model, time_limit=self.clock.left)
            if not answer.has_point:
                return False
            self.view.bring_back()
            point = next(self._points())
            new = [self._add(cuts) for cuts in self._separated(point)]
            self._offer()
        return any(new)

    def _add(self, cuts: Cuts) -> bool:
        """Add new rows; return True if there are any."""
        matrix = sparse.csr_array(cuts.matrix)
        new = False
        for k in range(matrix.shape[0]):
            slopes = matrix[[k]].toarray().ravel()
            for sign, side in ((1.0, float(cuts.lower[k])), (-1.0, -float(cuts.upper[k]))):
                if np.isfinite(side):  # each finite side is a row with a lower side
                    new |= self._add_row(sign * slopes, side)
        return new

    def _add_row(self, slopes: np.ndarray, lower: float) -> bool:
        """Add the row ``slopes . x >= lower`` if it is new; return True if it is."""
        key = (lower, (slopes + 0.0).tobytes())  # no -0.0
        if key in self._known:
            return False
        self._known.add(key)
        self._matrix.append(slopes)
        self._lower.append(lower)
        held = np.flatnonzero(slopes)
        body = LinearExpression(
            linear_coefs=slopes[held].tolist(), linear_vars=[self.visible[j] for j in held.tolist()]
        )
        self.view.add(self.generated, body, lower)
        return True
