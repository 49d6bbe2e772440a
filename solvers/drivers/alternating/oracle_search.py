r"""Search over 0/1 choices; for each choice the driver ``alternating`` descends over the oracle blocks.

The model switches variables x_j on by binaries, x_j = 0 unless s_j = 1. The rows are on the binaries and on variables
of the user, and possibly also on x. For one choice of all of these the steps descend as always, with x_j = 0 where
s_j = 0 and the rows as rows on x.

    0. Descend with everything switched on and without rows -> x; the size of x_j is the worth of s_j.
    1. The first choice: the feasible selection of largest worth, a MILP over the rows without x.
    2. Descend at it, from x and from the model's own start, because small x may become and remain 0.
    3. Exchanges: for each of the most promising drops, additions and swaps, take the nearest feasible selection (a
       MILP again, so that pairs and groups move together). Evaluate it without a descent: at the model's own start,
       and with the mean weight for the added variables; ``finish`` completes both.
    4. Descend at the best of these, at most ``exchanges`` times in all. If one is better go to 3, otherwise to
       the next.
    5. Among the selections with the same x, take one of least sum.

A heuristic: each point satisfies all rows, nothing is proven about other points, and the status is "feasible".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyomo.environ as pyo

from solvers.drivers.alternating.oracle_descent import FloatArray, OracleConfig, OracleDescent
from solvers.drivers.base import End
from solvers.errors import OptionError, SolverFailure
from solvers.facts.base import facts_of
from solvers.facts.blocks import OracleBlocks
from solvers.interfaces.registry import find
from solvers.interfaces.runner import Runner, SolveOptions
from solvers.model.conflict import clashing_rows
from solvers.model.expressions import variables
from solvers.result import SolutionStatus, StopReason
from solvers.values import kept as values_kept
from solvers.values import put_back, values_of

LAST = 1.0  # s, at least, for a first selection after the time limit: without one there is no result
SCREENED = 20  # exchanges that are evaluated without a descent, at each choice
LITTLE = 1e-3  # of the largest worth: the cost of selecting a variable without worth
BETTER = 1e-6  # relative: the least gain of an exchange
GO_ON = (StopReason.CONVERGED, StopReason.ITERATION_LIMIT)


@dataclass
class OracleSearchConfig(OracleConfig):
    """Options of ``alternating`` for a model whose oracle blocks are switched by binaries.

    ``exchanges``: largest number of descents for exchanges.
    """

    exchanges: int = 5


class ChoiceRows:
    """The rows on choices only, as a small MILP."""

    def __init__(self, rows: Sequence[Any], held: Sequence[Any]) -> None:
        self.rows, self.held = list(rows), list(held)
        model = self._model = pyo.ConcreteModel(name="choices")
        model.held = pyo.Reference(dict(enumerate(self.held)), ctype=pyo.Var)
        model.rows = pyo.Reference(dict(enumerate(self.rows)), ctype=pyo.Constraint)
        model.worth = pyo.Objective(expr=0.0, sense=pyo.maximize)
        self._runner = Runner(find("highs"), SolveOptions(gap=0.0))

    def choose(self, switches: Sequence[Any], worth: FloatArray, time_limit: float | None) -> bool:
        """Set the choices to a feasible selection of largest worth; return True if there is one."""
        body = pyo.quicksum(float(c) * s for s, c in zip(switches, worth, strict=True) if c and not s.fixed)
        self._model.worth.set_value(body)
        before = [(v, v.value) for v in self.held]
        answer = self._runner.solve(self._model, time_limit=time_limit, integer=True)
        self.infeasible = answer.status is SolutionStatus.INFEASIBLE
        if not answer.has_point:
            put_back(before)
            return False
        for v in self.held:
            if v.value is None:
                v.set_value(max(0, v.lb or 0))
            elif v.is_integer():
                v.set_value(round(v.value))
        return True

    def clash(self) -> str:
        """Describe rows that have no common solution."""
        return clashing_rows(self.rows, self.held, Runner(find("highs"), SolveOptions()))


class OracleSearch(OracleDescent):
    """The search; ``details`` has the numbers of exchanges with a descent, and of improvements."""

    options_type = OracleSearchConfig
    config: OracleSearchConfig

    def sees(self, component: Any) -> bool:
        """Return True if a component declares the switches."""
        facts = facts_of(self.model)
        return isinstance(facts, OracleBlocks) and any(component is linked for linked in facts.linked)

    def prepare(self) -> None:
        """Split the rows into those on choices and those on the point."""
        super().prepare()
        c = self.config
        if c.exchanges < 0:
            raise OptionError(f"exchanges={c.exchanges!r} is not allowed: give a whole number of at least 0.")
        self._s = [s for s, _ in self.facts.switches]
        place = {id(v): k for k, v in enumerate(self.variables)}
        self._at = np.array([place[id(x)] for _, x in self.facts.switches])
        mine = set(place)
        rows = [row for row in self.cache.rows if not any(id(v) in mine for v in variables(row.body))]
        others = [v for row in self.stated for v in variables(row.body) if id(v) not in mine]
        held = {id(v): v for v in (*self._s, *(v for row in rows for v in variables(row.body)), *others)}
        self._choices = ChoiceRows(rows, list(held.values()))
        self._box = self.lower.copy(), self.upper.copy()
        self._free = True  # everything is on, without rows
        self._tried = self._gained = 0

    def why_infeasible(self) -> str:
        """Describe crossing bounds, or rows on the choices that have no common solution."""
        crossed = bool(np.any(self._box[0] > self._box[1]))
        return super().why_infeasible() if crossed else self._choices.clash()

    def loop(self) -> End:
        """Run the algorithm box; the numbers are its steps."""
        lower, upper = self._box
        if np.any(lower > upper):
            return StopReason.CONVERGED, SolutionStatus.INFEASIBLE
        given = np.clip(values_of(self.variables), lower, upper)
        try:
            stop, status = self._search(given)
            if stop is not StopReason.INTERRUPTED:
                with suppress(SolverFailure):  # the point found before is kept
                    self._complete(given)
            return stop, status
        finally:
            self._conclude()

    def _complete(self, given: FloatArray) -> None:
        """Find a selection for a run without a point, and the smallest selection for the point (5)."""
        if self._kept is None:
            left = None if self.clock.left is None else max(self.clock.left, LAST)
            if self._choices.choose(self._s, np.full(len(self._s), -1.0), left):
                self._offer_trivial_point(given)
        if self._kept is not None:
            self._settle_choice()

    def _search(self, given: FloatArray) -> End:
        stop, _ = self._descend(given)  # 0
        x = given if self._point is None else self._point
        if stop not in GO_ON:
            return stop, None
        self._worth = np.abs(x[self._at])
        if not self._choices.choose(self._s, self._priced(self._worth), self.clock.left):  # 1
            return (StopReason.CONVERGED, SolutionStatus.INFEASIBLE) if self._choices.infeasible else (self.stop, None)
        self._free = False
        start = self._apply(x, given)
        if start is None:
            self.message = "The rows have no solution at the selection that is worth most."
            return StopReason.CONVERGED, None
        stop, _ = self._descend(start)  # 2
        other = self._apply(given, given)
        if stop in GO_ON and other is not None and not np.array_equal(other, start):
            stop, _ = self._descend(other)
        while stop in GO_ON and self._tried < self.config.exchanges:  # 3
            better = False
            for values in self._screened(given):
                put_back(values[0])
                start = self._apply(values[1], given)
                if start is None or self._tried >= self.config.exchanges:
                    continue
                before, self._tried = self.best, self._tried + 1
                stop, _ = self._descend(start)  # 4
                better = self.best is not None and before is not None and self.best < before - BETTER * abs(before)
                self._gained += better
                if better or stop not in GO_ON:
                    break
            if not better:
                break
        return (StopReason.CONVERGED if stop in GO_ON else stop), None

    def _priced(self, worth: FloatArray) -> FloatArray:
        """Return the worth of each switch, negative where it has a cost."""
        least = LITTLE * max(float(worth.max(initial=0.0)), 1e-12)
        return np.where(worth > least, worth, -least / len(worth))

    def _apply(self, x: FloatArray, given: FloatArray) -> FloatArray | None:
        """Apply a choice, its bounds and its rows; return the nearest point, or None if there is none."""
        on = np.array([s.value > 0.5 for s in self._s])
        self.lower, self.upper = self._box[0].copy(), self._box[1].copy()
        off = self._at[~on]
        if np.any(self.lower[off] > 0):
            return None
        self.upper[off] = np.minimum(self.upper[off], 0.0)
        self.rows = self._rows_now()
        x = x.copy()
        if not np.any(x[self._at[on]]):  # all are 0, which the steps may not leave
            x[self._at[on]] = given[self._at[on]]
        return self._within(x)

    def _screened(self, given: FloatArray) -> list[tuple[list[tuple[Any, Any]], FloatArray]]:
        """Return exchanges of the incumbent, best first, as values of the choices and a point."""
        values = self._all_values()
        found: list[tuple[float, list[tuple[Any, Any]], FloatArray]] = []
        self._load()
        x = self._values()
        on = np.array([s.value > 0.5 for s in self._s])
        seen = {on.tobytes()}
        for wanted in self._neighbours(x, on):
            if self._before_step() is not None:
                break
            if not self._choices.choose(self._s, np.where(wanted, 1.0, -1.0), self.clock.left):
                continue
            chosen = np.array([s.value > 0.5 for s in self._s])
            if chosen.tobytes() in seen:
                continue
            seen.add(chosen.tobytes())
            trial, weights = x.copy(), x[self._at]
            usual = float(weights[weights > 0].mean()) if np.any(weights > 0) else 0.0
            joins = chosen & ~on
            trial[self._at[joins]] = np.maximum(usual, self._worth[joins])
            trial[self._at[~chosen]] = 0.0
            choice = [(v, v.value) for v in self._choices.held]
            evaluated = []
            for point in (trial, given):
                start = self._apply(point, given)
                if start is not None:
                    fitted = start if self.facts.finish is None else self.facts.finish(start, self._inside())
                    evaluated.append((self.facts.value(fitted), choice, fitted))
            found += sorted(evaluated, key=lambda three: three[0])[:1]
        put_back(values)
        found.sort(key=lambda three: three[0])
        return [(choice, point) for _, choice, point in found]

    def _neighbours(self, x: FloatArray, on: Any) -> Iterator[Any]:
        """Yield selections one drop, addition or swap away, the most promising first."""
        weights = np.abs(x[self._at])
        leaves = [None, *np.flatnonzero(on).tolist()]
        joins = [None, *np.flatnonzero(~on).tolist()]
        gain = {(i, j): (0 if j is None else self._worth[j]) - (0 if i is None else weights[i])
                for i in leaves for j in joins if not (i is None and j is None)}  # fmt: skip
        for i, j in sorted(gain, key=lambda pair: -gain[pair])[:SCREENED]:
            wanted = on.copy()
            if i is not None:
                wanted[i] = False
            if j is not None:
                wanted[j] = True
            yield wanted

    def _keep(self, step: str, x: FloatArray, *, returns: bool = True) -> None:
        """Record a point, and keep it if it satisfies the rows and the choice."""
        value = self.facts.value(x)
        self._point = x.copy()
        if not self._free and returns:
            put_back(zip(self.variables, x.tolist(), strict=True))
            self.offer(value, [*self.variables, *self._choices.held], lambda: None)
        self.record(f"{step}, all on" if self._free else step, value, cuts=0, support=self.facts.support(x))

    def _all_values(self) -> list[tuple[Any, Any]]:
        """Return the values of the point and the choices on the model."""
        return [(v, v.value) for v in (*self.variables, *self._choices.held)]

    def _offer_trivial_point(self, given: FloatArray) -> None:
        """Offer the trivial point at the smallest selection, for a run that ends before any other point."""
        start = self._apply(given, given)
        if start is None or self.facts.trivial is None:
            return
        self._free, self._trivial = False, True
        self._keep("trivial", self.facts.trivial(start))

    def _settle_choice(self) -> None:
        """Set the selection to one of least sum for the weights of the incumbent (5)."""
        before = [(v, v.value) for v in self.cache.variables]
        self._load()
        kept = self._all_values()
        x = self._values()
        if not self.stated:
            needed = x[self._at] != 0
            price = np.where(needed, float(len(self._s) + 1), -1.0)
            if self._choices.choose(self._s, price, self.clock.left) and all(
                s.value > 0.5 for s, n in zip(self._s, needed, strict=True) if n
            ):
                kept = self._all_values()
        put_back(before)
        self._load = partial(put_back, kept)

    def claim(self) -> SolutionStatus:
        """Return ``feasible``: only the rows are verified."""
        return SolutionStatus.FEASIBLE

    def _conclude(self) -> None:
        if self._kept is not None:
            with values_kept(self.cache.variables):
                self._load()
                x = self._values()
                self._apply(x, x)  # sets the bounds and rows for the residual
        super()._conclude()
        self.details["exchanges"] = {"descended": self._tried, "better": self._gained}
        if self._kept is not None:
            note = (
                f"A heuristic over selections: {self._gained} of {self._tried} exchanges improved the objective; "
                "nothing is proven about other selections."
            )
            self.message = f"{note} {self.message}".strip()
