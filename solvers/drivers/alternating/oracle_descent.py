r"""The driver ``alternating`` for models whose facts have a function that improves each block.

For models too large to write down: the model has variables and an objective that can be evaluated, and its facts
improve each block. The driver ``alternating`` runs this loop:

    0. Start at the values of the model, within the bounds; with rows at the nearest point that satisfies them.
       ``begin`` completes the start. A step that cannot be interrupted is left out if it would end after the limit; a
       run without a point returns the trivial one.
    1. For each block: let its step move the point. A step never raises the block's own objective. With ``carried`` the
       first block begins at an extrapolation of the last sweeps (``Extrapolation``) if the objective is no higher then.
    2. Record the model's objective, and keep the point if it is the best so far (with ``keeps_last``: the latest).
    3. Stop when ``settled`` reports that a sweep has not changed the point and the residual is within the tolerance
       (without ``keeps_last``), or after ``sweeps`` sweeps.
    4. ``finish`` the point.

Nothing is proven about other points. The status is "stationary" if the measured first-order residual of the model's
objective is within the tolerance at the point returned, and "feasible" otherwise. There is no bound, except at a limit
one that the facts include. Bounds and fixed values of the variables in ``boxed`` are those of the model now, and so
are linear rows on those in ``rowed``, onto which the methods of the blocks project (``solvers.box.polyhedron``). Other
edits are rejected by name.

``Extrapolation`` proposes where to begin the next sweep, from the last sweeps as steps of a fixed-point iteration.

A sweep maps the variables from which it begins, ``carried``, to new ones, g = T(z); its first block computes all
others. Near a stationary point T is nearly linear and contracts slowly. Anderson's mixing of the last sweeps,

.. math:: z = g_k - \sum_j \gamma_j (g_{j+1} - g_j),\quad \gamma = \arg\min \| r_k - \sum_j \gamma_j (r_{j+1} - r_j) \|,
    \quad r_j = g_j - z_j,

is exact if T is linear in few directions. If it fails, the last move is repeated, longer each time that this helps. The
driver accepts a point only if the objective after the first block is at most that at the end of the last sweep, so the
objective decreases in every sweep as without these points. A variable at a bound stays there, and no other is moved
to one, because a block may not leave a bound again.

Kernel weights of Sonar at (C, mu) = (32, 1), (128, 1/16), (8, 1/4), (1, 1/4): of the 16 runs of Algorithms 1 and 2 by
two methods, 10 reach 100 sweeps without extrapolation and one with it; all take 8.6 s of CPU in place of 12.3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from solvers.box.minimise import BY_PROJECTION, check_method
from solvers.box.polyhedron import Polyhedron
from solvers.drivers.base import Driver, End
from solvers.errors import ModelError, OptionError
from solvers.facts.base import facts_of
from solvers.facts.blocks import Inside, Moved, OracleBlock, OracleBlocks
from solvers.facts.snapshot import data_of
from solvers.interfaces.registry import find
from solvers.interfaces.runner import Runner, SolveOptions
from solvers.model.classes import violation
from solvers.model.conflict import clashing_rows
from solvers.model.expressions import variables
from solvers.model.linear import LinearRows
from solvers.options import Config
from solvers.result import ROUNDING, SolutionStatus, StopReason
from solvers.values import fixed, kept, put_back, values_of

FloatArray = NDArray[np.float64]

PATIENCE = 20  # sweeps without extrapolation: they choose the local minimum; longer steps mostly lead to a worse one
MEMORY = 5  # differences of sweeps
NEARER = 0.5  # of its distance to a bound: the least that remains for a variable
SHORTEST = 1.0  # times the last move
SINGULAR = 1e-8  # relative: directions of the sweeps that differ by less are equal


class Extrapolation:
    """Extrapolation of the last sweeps; ``places``: positions of the carried variables in a point."""

    def __init__(self, places: NDArray[np.intp], lower: FloatArray, upper: FloatArray) -> None:
        self.places, self.lower, self.upper = places, lower[places], upper[places]
        self._length, self._count = 1.0, 0
        self._sweeps: list[tuple[FloatArray, FloatArray]] = []

    def note(self, before: FloatArray, after: FloatArray) -> None:
        """Add a sweep."""
        self._count += 1
        self._sweeps = [*self._sweeps[-MEMORY:], (before[self.places].copy(), after[self.places].copy())]

    def points(self, x: FloatArray) -> Iterator[FloatArray]:
        """Yield points from which to sweep in place of x, the end of the last sweep; the first that helps is used.

        >>> sweeps = Extrapolation(np.array([0]), np.array([0.0]), np.array([np.inf]))
        >>> z = np.array([8.0])
        >>> for _ in range(PATIENCE):  # T(z) = 0.9 z + 0.1
        ...     before, z = z, 0.9 * z + 0.1
        ...     sweeps.note(before, z)
        >>> z.round(6).tolist(), next(sweeps.points(z)).round(6).tolist()
        ([1.851037], [1.0])
        """
        if self._count < PATIENCE:
            return
        ends = np.array([after for _, after in self._sweeps])
        moves = np.array([after - before for before, after in self._sweeps])
        inside = (ends[-1] > self.lower) & (ends[-1] < self.upper)
        if not moves[-1][inside].any():
            return
        if len(self._sweeps) > 1:
            bends = np.diff(moves, axis=0)[:, inside]
            weights = np.linalg.lstsq(bends.T, moves[-1][inside], rcond=SINGULAR)[0]
            yield self._at(x, inside, -weights @ np.diff(ends, axis=0)[:, inside])
        self._length *= 2.0
        yield self._at(x, inside, self._length / 2.0 * moves[-1][inside])
        self._length = max(self._length / 4.0, SHORTEST)

    def _at(self, x: FloatArray, inside: NDArray[np.bool_], step: FloatArray) -> FloatArray:
        end, point = x[self.places][inside], x.copy()
        least = end - (1.0 - NEARER) * (end - self.lower[inside])
        most = end + (1.0 - NEARER) * (self.upper[inside] - end)
        point[self.places[inside]] = np.clip(end + step, least, most)
        return point


SLACK = 1e-9  # relative: rounding by which a step may raise its own objective
ENDLESS = -1e20  # an objective below it is unbounded


@dataclass
class OracleConfig(Config):
    """Options of ``alternating`` for a model whose blocks are oracles; ``iteration_limit`` counts sweeps.

    For a model of one block it counts the iterations of the method. ``method``: of the blocks that are minimised over
    a box, one of ``solvers.box.minimise.METHODS``; by default that of the facts. ``tolerance``: for the residual of a
    stationary point and for the methods of the blocks.
    """

    renamed: ClassVar[dict[str, str]] = {
        "sub_solver": 'the method of its blocks is method="l-bfgs-b"',
        "blocks": "the blocks of this model are functions of its facts; leave blocks= out",
    }
    method: str | None = None
    tolerance: float = 1e-3


class OracleDescent(Driver):
    """Descent over oracle blocks; ``details`` has the residual, and the objectives of each step."""

    name = "alternating"
    title = "models whose blocks are solved by functions of their facts"
    options_type = OracleConfig
    facts_type = OracleBlocks
    config: OracleConfig

    def prepare(self) -> None:
        """Check the options, and that the steps cover the whole model."""
        c, structure = self.config, facts_of(self.model)
        assert isinstance(structure, OracleBlocks)
        self.facts = structure
        if not c.tolerance > 0:
            raise OptionError(f"tolerance={c.tolerance!r} is not allowed: give a number above 0.")
        self.sign = 1.0
        edits = structure.edits(self.model)
        if edits:
            editable = ", ".join(dict.fromkeys(v.parent_component().name for v in data_of(structure.boxed)))
            raise ModelError(
                f"The steps of this model solve it as it was built. Here {edits[0]}: only bounds and fixed values "
                f"of {editable} may change{_addable(structure)}. "
                f"{structure.remedy[:1].upper()}{structure.remedy[1:]} to edit it."
            )
        self.variables, self.stated = structure.variables(), structure.on_point(self.model)
        own = BY_PROJECTION[0] if self.stated and structure.method not in BY_PROJECTION else structure.method
        self.method = check_method(own if c.method is None else c.method, with_rows=bool(self.stated))
        self.rows = None if structure.switches else self._rows_now()
        self.lower, self.upper = structure.box()
        self.steps: list[dict[str, Any]] = []
        self._sweep = 0
        self._value = math.inf
        mine = {id(v) for v in data_of(structure.carried)}
        self._carried = np.flatnonzero([id(v) in mine for v in self.variables])
        self._ahead: Extrapolation | None = None
        self._point: FloatArray | None = None
        self._trivial = False  # True if the result is the trivial point of the model

    def _rows_now(self) -> Polyhedron | None:
        """Return the rows on the variables of the point; all other variables are constants."""
        if not self.stated:
            return None
        mine = {id(v) for v in self.variables}
        others = [v for row in self.stated for v in variables(row.body) if id(v) not in mine]
        with fixed([(v, v.value) for v in others]):
            r = LinearRows.of(self.stated, self.variables, [], 1.0)
        return Polyhedron(np.asarray(r.matrix.todense()), r.lower, r.upper)

    def why_infeasible(self) -> str:
        """Describe crossing bounds, or rows that have no common solution."""
        if self.stated and not np.any(self.lower > self.upper):
            return clashing_rows(self.stated, self.variables, Runner(find("highs"), SolveOptions()))
        k = int(np.argmax(self.lower > self.upper))
        return f'The bounds of "{self.variables[k].name}" cross: no value is between them.'

    def loop(self) -> End:
        """Run the algorithm and write the closing message; the numbers in comments are its steps."""
        if np.any(self.lower > self.upper):
            return StopReason.CONVERGED, SolutionStatus.INFEASIBLE
        given = values_of(self.variables)
        x = self._within(given)
        if x is None:
            return StopReason.CONVERGED, SolutionStatus.INFEASIBLE
        try:
            return self._descend(x)
        finally:
            if self._kept is None and self.facts.trivial is not None:
                self._trivial = True
                self._keep("trivial", np.clip(self.facts.trivial(x), self.lower, self.upper))
            self._conclude()

    def _within(self, x: FloatArray) -> FloatArray | None:
        """Return the nearest point that satisfies bounds and rows; None if there is none."""
        inside = np.clip(x, self.lower, self.upper)
        return inside if self.rows is None else self.rows.nearest(inside, self.lower, self.upper)

    def _descend(self, x: FloatArray) -> End:
        facts, c = self.facts, self.config
        self._ahead = Extrapolation(self._carried, self.lower, self.upper) if len(self._carried) else None
        if (stop := self._before_step()) is not None:
            return stop, None
        if facts.begin is not None:
            with self.timing("subproblem"):
                x = facts.begin(x, self._inside())  # 0
            self._keep("start", x)
        limit = facts.sweeps if c.iteration_limit is None else c.iteration_limit
        alone = len(facts.blocks) == 1
        for sweep in self.rounds(1 if alone else limit):
            before, self._sweep = x, sweep + 1
            for block in facts.blocks:
                if (stop := self._before_step()) is not None:
                    return stop, None
                ahead = self._step_ahead(block, x) if block is facts.blocks[0] else None  # 1, 2
                if ahead is not None:
                    before, x = ahead
                else:
                    x = self._step(block, x)
            if self._ahead is not None:
                self._ahead.note(before, x)
            if (stop := self._before_step()) is not None:
                return stop, None
            settled = self._settled(before, x)  # 3
            if settled:
                break
            if self.best is not None and self.best < ENDLESS:
                self.message = f"The objective falls below {ENDLESS:g}: bound the variables."
                return StopReason.CONVERGED, SolutionStatus.UNBOUNDED
        if self.stop not in (StopReason.CONVERGED, StopReason.ITERATION_LIMIT):
            return self.stop, None
        x = self._finished(x)  # 4
        if facts.finish is not None:
            self._sweep += 1
            self._keep("finish", x)
        cut = self.steps[-1]["iterations"] >= self._inner_limit() if alone else not settled
        return StopReason.ITERATION_LIMIT if cut and self._left(x) > c.tolerance else StopReason.CONVERGED, None

    def _before_step(self) -> StopReason | None:
        """Return the reason not to start a step that cannot be interrupted; None if there is none."""
        left = self.clock.left
        late = left is not None and self.facts.seconds() > left
        return self.stopped() or (StopReason.TIME_LIMIT if late else None)

    def _bound_at_hand(self) -> float | None:
        return self.facts.least

    def _settled(self, before: FloatArray, after: FloatArray) -> bool:
        facts = self.facts
        if len(facts.blocks) == 1 or facts.stuck(after) or np.array_equal(before, after):
            return True
        if not facts.settled(before, after, self.config.tolerance):
            return False
        return facts.keeps_last or self._left(self._finished(after)) <= self.config.tolerance

    def _left(self, x: FloatArray) -> float:
        rows = () if self.rows is None else (self.rows,)
        return float(self.facts.residual(x, self.lower, self.upper, *rows))

    def _finished(self, x: FloatArray) -> FloatArray:
        if self.facts.finish is None:
            return x
        with self.timing("subproblem"):
            return self.facts.finish(x, self._inside())

    def _step(self, block: OracleBlock, x: FloatArray) -> FloatArray:
        with self.timing("subproblem"):
            moved = block.step(x, self._inside(block))
        raised = moved.after - moved.before > SLACK * max(1.0, abs(moved.before))
        point = x if raised else moved.point
        self._note(block, moved, taken=not raised)
        if len(self.facts.blocks) > 1 or not self._same(point):
            self._keep(block.name, point, returns=block.returns)
        return point

    def _step_ahead(self, block: OracleBlock, x: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """Return an extrapolated point and the block's step from it, if that is no worse than x; otherwise None."""
        if self._ahead is None:
            return None
        for target in self._ahead.points(x):
            if (point := self._within(target)) is None:
                continue
            with self.timing("subproblem"):
                moved = block.step(point, self._inside(block))
            if self.facts.value(moved.point) <= self._value:
                self._note(block, moved, ahead=True)
                self._keep(block.name, moved.point, returns=block.returns)
                return point, moved.point
        return None

    def _note(self, block: OracleBlock, moved: Moved, *, taken: bool = True, ahead: bool = False) -> None:
        columns = {"sweep": self._sweep, "block": block.name, "before": moved.before, "after": moved.after}
        columns |= {"iterations": moved.iterations, "taken": taken, "ahead": ahead, "message": moved.message}
        self.steps.append(columns)

    def _same(self, x: FloatArray) -> bool:
        return self._point is not None and np.array_equal(self._point, x)

    def _inner_limit(self) -> int:
        given = self.config.iteration_limit
        return 1000 if given is None or len(self.facts.blocks) > 1 else given

    def _inside(self, block: OracleBlock | None = None) -> Inside:
        c, alone = self.config, len(self.facts.blocks) == 1

        def watch(point: FloatArray, value: float) -> bool:
            if alone and block is not None:
                self._keep(block.name, point)
            return self.stopped() is not None

        limit = self._inner_limit()
        return Inside(self.lower, self.upper, self.method, c.tolerance, limit, c.seed or 0, watch, self.rows)

    def _keep(self, step: str, x: FloatArray, *, returns: bool = True) -> None:
        """Record a point, and keep it if it is a candidate for the result."""
        value = self._value = self.facts.value(x)
        self._point = x.copy()
        if returns:
            put_back(zip(self.variables, x.tolist(), strict=True))
            self.offer(value, self.variables, lambda: None, latest=self.facts.keeps_last)
        self.record(step, value, cuts=0, support=self.facts.support(x))

    def start_value(self) -> float | None:
        """Return the objective of the start; None if a value is missing or a bound or row is violated."""
        if any(v.value is None for v in self.cache.variables) or violation(self.cache) > ROUNDING:
            return None
        return float(self.facts.value(self._values()))

    def _values(self) -> FloatArray:
        return np.array([v.value for v in self.variables], dtype=float)

    def inside(self) -> list[str]:
        """Return the libraries of the steps."""
        return ["scikit-learn", "scipy"]

    def claim(self) -> SolutionStatus:
        """Return the status of the incumbent by its residual, "stationary" or "feasible"."""
        good = not self._trivial and self.details["residual"] <= self.config.tolerance
        return SolutionStatus.STATIONARY if good else SolutionStatus.FEASIBLE

    def _conclude(self) -> None:
        """Measure the residual of the result, and write the closing message."""
        columns = ["sweep", "block", "before", "after", "iterations", "taken", "ahead", "message"]
        self.details["steps"] = pd.DataFrame(self.steps, columns=columns)
        if self._kept is None:
            return
        if self._trivial:
            self.message = "Stopped before the first step: the point is the trivial point of the model."
            return
        with kept(self.variables):
            self._load()
            x = self._values()
        left = self.details["residual"] = self._left(x)
        self.details["tolerance"] = self.config.tolerance
        sentences = [self.facts.remark(x), self.message]
        if left > self.config.tolerance:
            sentences.append(
                f"Not stationary: one unit of one variable lowers the objective by {left:.1e} to first order."
            )
            sentences.append(
                "Not every step of this algorithm minimises it: continue from here with another algorithm."
                if self.facts.keeps_last
                else "Solve again, which continues from here, with a larger iteration_limit= or another method=, or "
                "from the start with a smaller tolerance=, which makes the steps more exact."
            )
        self.message = " ".join(s for s in sentences if s)


def _addable(structure: OracleBlocks) -> str:
    if not structure.rowed:
        return ""
    binaries = structure.switches[0][0].parent_component().name if structure.switches else ""
    also = f", on {binaries} and on these with integers," if binaries else ""
    return f", and linear rows on it{also} may be added"
