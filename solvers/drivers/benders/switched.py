r"""The subproblem of a structure with switches: a variable is 0 while its binary is 0.

In the coupling rows the binaries are fixed at 1, and the switched variables are fixed at 0 where the binary is 0, so
that the compiled rows never change. In the user's rows with variables of both parts, the point is a parameter. Rows and
terms may be linear or convex quadratic. The cut follows from their multipliers by ``structure.cut``
(``facts.row_cut``); multipliers of fixings are not used, because they are worthless at the apex of a cone.

If a point x-bar is infeasible, the least total violation of the linear rows gives a cut. With its multipliers r,
d = -A'r, and h_j the least value of d_j w_j over the bounds of w_j (-inf if it is unbounded),

.. math:: \ell^\top r^+ - u^\top r^- - r^\top B x + \sum_{z_k} \min_{z_k} d_k z_k + \sum_j x_j h_j

is positive at x-bar and at most 0 at every feasible point. A coefficient of -inf can be replaced by one below the
negative of the largest value of the other terms; over binaries any large coefficient can be reduced in this way. If no
row of the user has variables of both parts, selecting more features keeps a feasible point feasible, and x-bar is cut
off together with all of its subsets. After the first infeasible point the choice of all features is tried; if it is
infeasible, every choice is infeasible.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr import replace_expressions
from scipy import sparse

from solvers.clock import Clock
from solvers.drivers.benders.blocks import integers
from solvers.drivers.benders.relaxation import UnboundedSubproblem
from solvers.drivers.benders.split import SplitModel, floor_of
from solvers.errors import ModelError, SolverError, SolverFailure
from solvers.facts.change import Changed
from solvers.facts.structure import Cut, SubAnswer
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import either, names
from solvers.interfaces.runner import Answer, Runner
from solvers.lp.highs import HighsLP, LpStatus
from solvers.model.classes import violation
from solvers.model.function import Curve, is_linear
from solvers.model.linear import LinearRows
from solvers.result import FEASIBLE, SolutionStatus, StopReason
from solvers.values import INSIDE, fixed, give_values, may_be_zero, put_back

TRIAL = 0.1  # of the time that is left, for the choice of all features
TIGHT = 1e-5  # relative tolerance of a cut at its own point
APART = 1e-7  # total violation from which the linear rows are infeasible


@dataclass(frozen=True)
class _Arrays:
    """The subproblem as arrays: the linear rows, and the curved rows in their order.

    ``links``: B, None if no row has variables of both parts. ``curves``: (curved row, function, multiplier sign).
    """

    rows: LinearRows
    links: Any
    curves: list[tuple[Any, Curve, float]]
    cost: Curve | None


class SwitchedSubproblem:
    """The subproblem of a structure with switches: a Pyomo model of references, solved by a named solver."""

    def __init__(self, parts: SplitModel, runner: Runner) -> None:
        self.parts, self.runner = parts, runner
        self.variables = parts.structure.variables()
        for reason in integers(self.variables, parts):
            raise ModelError(reason)
        if parts.coupling_edits:
            raise ModelError(
                f"{parts.coupling_edits[0]} changes how selection is written, which no cut covers: state the condition "
                f"in other rows, or solve the whole model by name: {', '.join(names(C.MIQCP))}."
            )
        model, complicating = pyo.ConcreteModel(name="subproblem"), parts.structure.complicating
        self.model = model
        model.variables = pyo.Reference(dict(enumerate(self.variables)), ctype=pyo.Var)
        model.rows = pyo.Reference(dict(enumerate(parts.subproblem_rows)), ctype=pyo.Constraint)
        model.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
        model.coupling = pyo.Reference(dict(enumerate(parts.coupling_rows)), ctype=pyo.Constraint)
        model.level = pyo.Param(range(len(complicating)), initialize=0.0, mutable=True)
        levels = {id(v): model.level[k] for k, v in enumerate(complicating)}
        model.linking = pyo.Constraint(range(len(parts.linking_rows)), doc="rows with variables of both parts")
        for k, row in enumerate(parts.linking_rows):  # as tuples: Pyomo would move the parameters to the other side
            body = replace_expressions(row.body, levels)
            model.linking[k] = (body, row.upper) if row.equality else (row.lower, body, row.upper)
        model.objective = pyo.Objective(expr=parts.sign * pyo.quicksum(parts.subproblem_terms))
        self._never_off = {id(v) for _, v in parts.structure.switches if not may_be_zero(v)}
        self._floor = floor_of(parts)
        self._at = np.zeros(0)  # the last point
        self._tried_all = False  # whether the choice of all features was tried after an infeasible point

    def check_cut(self) -> None:
        """Raise ModelError for rows and terms without a known cut."""
        _ = self._arrays

    @cached_property
    def _arrays(self) -> _Arrays:
        """The rows and terms as arrays."""
        parts = self.parts
        linear = [row for row in parts.subproblem_rows if is_linear(row.body)]
        curved = [row for row in parts.subproblem_rows if not is_linear(row.body)]
        linear_terms = [term for term in parts.subproblem_terms if is_linear(term)]
        curved_terms = [term for term in parts.subproblem_terms if not is_linear(term)]
        both = [*self.variables, *parts.structure.complicating]
        rows = LinearRows.of([*linear, *parts.linking_rows], both, linear_terms, parts.sign)
        n, links = len(self.variables), rows.matrix[:, len(self.variables) :]
        rows = replace(
            rows, variables=self.variables, matrix=rows.matrix[:, :n], x_lower=rows.x_lower[:n],
            x_upper=rows.x_upper[:n], cost=rows.cost[:n],
        )  # fmt: skip
        curves = [(row, *Curve.of_row(row, self.variables)) for row in curved]
        cost = None
        if curved_terms:
            first = curved_terms[0]
            name = (
                f"Objective term {first}" if len(curved_terms) == 1 else f"The sum of the objective's terms {[first]}"
            )
            cost = Curve.of(pyo.quicksum(curved_terms), name, self.variables, parts.sign)
        return _Arrays(rows, links if parts.linking_rows else None, curves, cost)

    def solve(self, point: np.ndarray, tolerance: float, time_limit: float | None) -> SubAnswer | None:
        """Solve at a binary point of shape (n,)."""
        known, structure = self._arrays, self.parts.structure
        assert structure.cut is not None
        count = len(known.rows.rows) - len(self.parts.linking_rows)
        wanted = [*known.rows.rows[:count], *self.model.linking.values(), *(row for row, _, _ in known.curves)]
        answer = self.evaluate(point, time_limit, duals=wanted)
        if answer is None or answer.value is None:
            return answer
        linear = len(known.rows.rows)
        prices = [sign * mu for (_, _, sign), mu in zip(known.curves, answer.values[linear:], strict=True)]
        curves = [(max(0.0, mu), curve) for mu, (_, curve, _) in zip(prices, known.curves, strict=True)]
        curves += [] if known.cost is None else [(1.0, known.cost)]
        cut = self._finite(structure.cut(known.rows, answer.values[:linear], curves, self._at, known.links), point)
        slack = answer.value - cut.at(point)
        if slack > TIGHT * max(1.0, abs(answer.value)):
            name = self.runner.spec.name
            raise SolverFailure(
                f'sub_solver="{name}" returned multipliers of low accuracy: their cut misses the '
                f"subproblem's value {answer.value:.6g} by {slack:.1e}. Try {self._others()}.",
                name,
            )
        return SubAnswer(answer.value, min(answer.value, cut.at(point)), cut, answer.load, answer.values)

    def _finite(self, cut: Cut, point: np.ndarray) -> Cut:
        """Return the cut with infinite coefficients replaced by finite ones that reach the floor."""
        infinite = ~np.isfinite(cut.coefficients)
        if not infinite.any():
            return cut
        top = self._top(cut)
        if self._floor is None or np.any(infinite & (point > 0.5)) or not np.isfinite(top):
            k = int(np.argmax(infinite))
            raise ModelError(
                f"No cut is known where {self._switched_by(k)} has no square in the objective and no bound: bound it, "
                f"or solve the whole model by name: {either(C.MIQCP)}."
            )
        return Cut(cut.constant, np.where(infinite, min(0.0, self._floor - top), cut.coefficients))

    def _switched_by(self, k: int) -> str:
        binary = self.parts.structure.complicating[k]
        return next((f'"{v.name}"' for b, v in self.parts.structure.switches if b is binary), f'"{binary.name}"')

    def _top(self, cut: Cut) -> float:
        """Return the largest value of a cut over the bounds of the complicating variables, without infinite terms."""
        c = np.where(np.isfinite(cut.coefficients), cut.coefficients, 0.0)
        bounds = [(v.value, v.value) if v.fixed else v.bounds for v in self.parts.structure.complicating]
        low = np.array([-np.inf if lo is None else lo for lo, _ in bounds])
        up = np.array([np.inf if hi is None else hi for _, hi in bounds])
        end = np.where(c > 0, up, np.where(c < 0, low, 0.0))
        return cut.constant + float(c @ end)

    def evaluate(self, point: np.ndarray, time_limit: float | None, duals: Sequence[Any] = ()) -> SubAnswer | None:
        """Return the value at a binary point without a cut; ``values`` are the multipliers of the rows ``duals``."""
        structure, nothing, clock = self.parts.structure, lambda: None, Clock(time_limit)
        index = {id(v): k for k, v in enumerate(structure.complicating)}
        off = [(v, index[id(binary)]) for binary, v in structure.switches if point[index[id(binary)]] < 0.5]
        for v, k in off:
            if id(v) in self._never_off:  # infeasible at every point with this binary at 0
                return SubAnswer(None, np.inf, Cut(1.0, -1.0 * (np.arange(len(point)) == k)), nothing)
        for k, x in enumerate(point.tolist()):
            self.model.level[k] = x
        with fixed([(v, 1.0) for v in structure.complicating]), fixed([(v, 0.0) for v, _ in off]):
            answer = self._in_units(time_limit, list(duals))
            if answer.stop_reason is StopReason.INTERRUPTED:
                raise KeyboardInterrupt  # the solver has caught it
            if answer.stop_reason is StopReason.TIME_LIMIT:
                return None
            if answer.status is not SolutionStatus.INFEASIBLE:
                give_values(self.variables)
                if not answer.has_point or (duals and not answer.duals):
                    raise self._failure(answer)
                self._repair()
                value = float(pyo.value(self.model.objective))
                self._at = np.array([v.value for v in self.variables], dtype=float)
                # The solver does not see a row with fixed variables only: its multiplier is 0.
                multipliers = np.array([answer.duals.get(row, 0.0) for row in duals])
                values = [(v, v.value) for v in self.variables]
                return SubAnswer(value, -np.inf, None, partial(put_back, values), multipliers)
            if self._has_trivial_point():
                raise self._failure(replace(answer, message="reported as infeasible, although it has a point"))
        # The bounds of the model hold again.
        return SubAnswer(None, np.inf, self._feasibility_cut(point, clock.left), nothing)

    def _failure(self, answer: Answer) -> SolverError:
        if answer.status is SolutionStatus.UNBOUNDED and not self.runner.spec.local:
            return UnboundedSubproblem("The subproblem is unbounded below: no cut exists.")
        name = self.runner.spec.name
        message = f'sub_solver="{name}" did not solve the subproblem ({answer.message}). Try {self._others()}.'
        return SolverFailure(message, name)

    def _others(self) -> str:
        return " or ".join(n for n in names(C.QP | C.QP_DUALS) if n != self.runner.spec.name)

    def _in_units(self, time_limit: float | None, rows: list[Any]) -> Answer:
        """Solve in the units of the structure's change of variables, in which no column is below the tolerances."""
        change = self.parts.structure.change
        if change is None:
            return self.runner.solve(self.model, time_limit=time_limit, duals=rows)
        view = Changed(self.model, change)
        return view.loaded(self.runner.solve(view.model, time_limit=time_limit, duals=view.rows_of(rows)), rows)

    def _repair(self) -> None:
        """Repair the point to satisfy its rows exactly, where the builder supports it."""
        certificate = self.parts.structure.certificate
        if certificate is None:
            return
        own = {id(v) for v in self.variables}
        others = [(v, x) for v, x in self._values() if id(v) not in own]
        certificate.repair_within(self._whole, self.model, tempting=False)  # the choice is fixed
        put_back(others)

    def _has_trivial_point(self) -> bool:
        """Return whether the builder's trivial point satisfies the subproblem."""
        certificate, before = self.parts.structure.certificate, self._values()
        if certificate is None:
            return False
        certificate.trivial(self._whole)
        put_back((v, x) for v, x in before if v.fixed)
        found = violation(self.model) <= FEASIBLE
        put_back(before)
        return found

    @property
    def _whole(self) -> Any:
        return self.parts.structure.complicating[0].model()

    def _values(self) -> list[tuple[Any, float | None]]:
        return [(v, v.value) for v in self._whole.component_data_objects(pyo.Var, descend_into=INSIDE)]

    def _feasibility_cut(self, point: np.ndarray, left: float | None) -> Cut:
        """Return a feasibility cut: valid where the subproblem is feasible, and violated here; ``left``: seconds."""
        if not self.parts.linking_rows:  # subsets of the choice are infeasible, too: they fix more variables at 0
            if not self._tried_all and point.min() < 0.5:
                self._tried_all = True
                with suppress(SolverError, UnboundedSubproblem):  # without a result the cut below is used
                    everything = self.evaluate(np.ones(len(point)), None if left is None else TRIAL * left)
                    if everything is not None and everything.cut is not None:  # every choice is infeasible
                        return everything.cut
            return Cut(1.0, np.where(point < 0.5, -1.0, 0.0))
        cut = self._by_linear_rows(point)
        if cut is None and not all(v.is_binary() for v in self.parts.structure.complicating):
            raise ModelError(
                f'Row "{self.parts.linking_rows[0].name}" holds variables of both parts, and no cut is known if '
                f"the curved rows are infeasible. Solve the whole model by name: {either(C.MIQCP)}."
            )
        return cut or Cut(1.0 - float(np.sum(point > 0.5)), np.where(point > 0.5, 1.0, -1.0))

    def _by_linear_rows(self, point: np.ndarray) -> Cut | None:
        """Return the feasibility cut of the linear rows (module docstring); None if these are feasible."""
        known, structure = self._arrays, self.parts.structure
        assert structure.cut is not None
        rows, count = known.rows, len(known.rows.rows)
        column = {id(v): k for k, v in enumerate(self.variables)}
        off = [column[id(v)] for k, (_, v) in enumerate(structure.switches) if point[k] < 0.5]
        lower, upper = rows.x_lower.copy(), rows.x_upper.copy()
        lower[off] = upper[off] = 0.0
        one = sparse.identity(count, format="csr")
        short = np.append(np.zeros(len(lower)), np.ones(2 * count))
        lp = HighsLP(short, np.append(lower, np.zeros(2 * count)), np.append(upper, np.full(2 * count, np.inf)))
        moved = known.links @ point
        lp.add_rows(sparse.hstack([rows.matrix, one, -one]).tocsr(), rows.lower - moved, rows.upper - moved)
        answer = lp.solve()
        if answer.status is not LpStatus.OPTIMAL or answer.objective <= APART:
            return None
        nothing = replace(rows, cost=np.zeros(len(lower)), constant=0.0)
        try:
            cut = structure.cut(nothing, answer.multipliers, (), None, known.links)
        except ModelError:
            return None
        infinite = ~np.isfinite(cut.coefficients)
        top = self._top(cut)
        if not np.isfinite(top) and infinite.any():
            return None
        if all(v.is_binary() for v in structure.complicating):  # a large coefficient could hide the violation
            up, size = cut.coefficients > 0, np.minimum(np.abs(cut.coefficients), max(top, 0.0))
            cut = Cut(top - float(size[up].sum()), np.where(up, size, -size))
        elif infinite.any():
            cut = Cut(cut.constant, np.where(infinite, -max(top, 0.0), cut.coefficients))
        return cut if cut.at(point) > 0.5 * answer.objective else None
