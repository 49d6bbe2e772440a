"""The subproblem in blocks: a value and a cut for each block at any point of the complicating variables.

Rows are read once. Linear blocks share a linear program, which keeps its basis between points, and convex blocks a cone
program. Blocks that are assumed to be convex, or that another named solver solves, are a linear program with tangents
(``CurvedLP``). If a block is infeasible, the cut of its distance from feasibility is a feasibility cut.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyomo.environ as pyo

from solvers.drivers.benders.block_cones import BlockCones, ConicProgram, conic_blocks
from solvers.drivers.benders.block_lp import BlockLP, CurvedLP
from solvers.drivers.benders.block_rows import BlockCuts, BlockRows, with_linking_rows
from solvers.drivers.benders.blocks import Curves, blocks_of, whole_model
from solvers.drivers.benders.cone_relaxation import ConeRelaxation
from solvers.drivers.benders.perspective import with_perspectives
from solvers.drivers.benders.relaxation import UnboundedSubproblem
from solvers.drivers.benders.split import SplitModel
from solvers.errors import ModelError, OptionError, SolverFailure
from solvers.facts.structure import Cut, Relaxation, SubAnswer
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import SolverSpec, default_solver, require
from solvers.interfaces.runner import Runner, SolveOptions
from solvers.lp.highs import FINEST, LpStatus
from solvers.lp.pyomo import linear_program
from solvers.model.classes import needs
from solvers.options import SolverObject
from solvers.result import StopReason
from solvers.values import bounds_of, fixed, give_values, put_back, values_of

APART = 1e-9  # distance from feasibility, in units of the complicating variables, that counts as 0
NEAR = 1e-8  # tolerance of the rows at such a point


@dataclass(frozen=True)
class BlockAnswer(SubAnswer):
    """Optimality cuts, one for each block, or feasibility cuts of the infeasible blocks."""

    cuts: BlockCuts | None = None
    infeasible: tuple[Cut, ...] = ()


class BlockSubproblem:
    """Blocks of any kind, solved by linear or cone programs, and by another solver for other curved blocks."""

    def __init__(
        self,
        parts: SplitModel,
        solver: str | SolverObject | None,
        options: SolveOptions,
        *,
        assume_convex: bool = False,
    ) -> None:
        self.parts, self.blocks = parts, blocks_of(parts)
        self.variables = [v for block in self.blocks for v in block.variables]
        here = {id(v) for v in self.variables}
        self._unused = [v for v in parts.structure.variables() if id(v) not in here]
        bounds = np.array([(v.value, v.value) if v.fixed else bounds_of(v) for v in parts.structure.complicating])
        low, up = bounds.reshape(-1, 2).T
        self.assumed: list[str] = []
        self.relaxation: Relaxation | None = None
        conic = conic_blocks(parts, self.blocks) if solver is None or solver == "clarabel" else None
        if conic is not None:
            self._lp: BlockLP | ConicProgram = self._new_cones(conic, (low, up), options)
            self.rows: BlockRows | BlockCones = self._lp.rows
            return
        curves = Curves.of(parts, self.blocks, assume_convex=assume_convex)
        for reason in curves.refused:
            raise ModelError(reason)
        self.assumed = curves.assumed
        curved = [curve.block for curve in curves.curves if curve.of_objective]
        rows = BlockRows.of(parts, self.blocks, curves.linear_rows, curves.terms, curved)
        if not curves.curves:
            first = parts.structure.complicating
            rows = with_linking_rows(rows, np.array([v.is_binary() and not v.fixed for v in first], dtype=bool))
        self.rows = rows
        self._lp = self._new_lp(rows, curves, (low, up), solver, options)

    def _new_cones(
        self, conic: BlockCones, bounds: tuple[np.ndarray, np.ndarray], options: SolveOptions
    ) -> ConicProgram:
        """Return the cone program of the blocks; set the relaxation, and the runner of the solver."""
        binary = np.array([v.is_binary() and not v.fixed for v in self.parts.structure.complicating], dtype=bool)
        conic = with_perspectives(conic.with_implied_bounds(*bounds).in_units_of_bounds(), binary)
        self.relaxation = ConeRelaxation(conic)
        self.runner = Runner(require("clarabel", C.QP | C.QCP), options)
        low, up = np.array([bounds_of(v) for v in self.variables]).reshape(-1, 2).T
        start = np.clip(values_of(self.variables), low, up)
        return ConicProgram(conic, start, bounds, {"threads": 1, **options.own})

    def _new_lp(
        self, rows: BlockRows, curves: Curves, bounds: tuple[np.ndarray, np.ndarray], solver: str | SolverObject | None,
        options: SolveOptions,
    ) -> BlockLP:  # fmt: skip
        """Return the linear programs of the blocks, over tangents if blocks are curved; set the runner of the solver.

        ``bounds``: of the complicating variables.
        """
        spec = self._spec(solver, curved=bool(curves.curves))
        linear = not curves.curves and not spec.local
        if options.own and curves.curves and solver is None:
            raise OptionError(
                f"sub_options={options.own} need the name of their solver, because curved blocks are solved by linear "
                f'programs and by another solver: sub_solver="{spec.name}".'
            )
        self.runner = Runner(spec, options if linear or solver is not None else SolveOptions())
        own = SolveOptions(threads=1, tee=options.tee, own=options.own) if linear else SolveOptions(threads=1)
        make = partial(linear_program, (solver or "highs") if linear else "highs", options=own, tolerance=FINEST)
        if linear:
            return BlockLP(rows, make, bounds)
        start, find_optimum = values_of(self.variables), partial(self._optimum, whole_model(self.parts, self.blocks))
        return CurvedLP(rows, make, bounds, curves.curves, start, find_optimum)

    def _spec(self, solver: str | SolverObject | None, *, curved: bool) -> SolverSpec:
        """Return the entry of the named solver; by default the LP solver, or that of the class of curved blocks."""
        if not curved:
            return require(solver or "highs", C.LP | C.LP_DUALS)
        needed = needs(whole_model(self.parts, self.blocks))
        return require(solver, needed[0]) if solver is not None else default_solver(needed)

    def _optimum(self, model: pyo.ConcreteModel, point: np.ndarray, time_limit: float | None) -> np.ndarray | None:
        """Return an optimum of the blocks at a point by the runner's solver; None if it finds none."""
        try:
            with fixed(list(zip(self.parts.structure.complicating, point.tolist(), strict=True))):
                answer = self.runner.solve(model, time_limit=time_limit)
        except SolverFailure:
            return None
        if answer.stop_reason is StopReason.INTERRUPTED:
            raise KeyboardInterrupt  # the solver has caught it
        give_values(self.variables)
        y, within = np.array([v.value for v in self.variables], dtype=float), slice(0, len(self.variables))
        return np.clip(y, self.rows.y_lower[within], self.rows.y_upper[within]) if answer.has_point else None

    @property
    def count(self) -> int:
        """The number of blocks."""
        return self.rows.count

    def solve(self, point: np.ndarray, tolerance: float, time_limit: float | None) -> BlockAnswer | None:
        """Solve at a point of shape (n,); return None when time is up."""
        return self._within(point, time_limit, 0.0)

    def _within(self, point: np.ndarray, time_limit: float | None, room: float) -> BlockAnswer | None:
        """Solve at a point that may violate the rows by ``room``."""
        found = self._lp.solve(point, time_limit, room)
        if found is LpStatus.LIMIT:
            return None
        if found is LpStatus.FAILED:
            raise self._failure("did not solve the subproblem")
        if isinstance(found, LpStatus):
            if room:  # the blocks have a point
                raise UnboundedSubproblem("The subproblem is unbounded below: no cut exists.")
            return self._apart(point, time_limit)
        cuts, total = found.cuts, found.cuts.total()
        if not np.all(np.isfinite(cuts.constants)):
            raise self._failure("returned multipliers that prove no bound")
        value = float(found.values.sum())
        return BlockAnswer(value, min(value, total.at(point)), total, self._load(found.y), cuts=cuts)

    def _apart(self, point: np.ndarray, time_limit: float | None) -> BlockAnswer | None:
        """Return the answer if a block is infeasible or unbounded."""
        found = self._lp.distance.solve(point, time_limit)
        if found is LpStatus.LIMIT:
            return None
        if found is LpStatus.INFEASIBLE:  # for any value of the complicating variables
            cuts = [Cut(1.0, np.zeros(len(point)))]
        elif isinstance(found, LpStatus):
            raise self._failure("did not solve the subproblem")
        else:
            cuts = [found.cuts.single(k) for k in np.flatnonzero(found.cuts.at(point) > APART).tolist()]
        if not cuts:  # it is unbounded, or infeasible by a rounding error of the master that is too small for a cut
            return self._within(point, time_limit, NEAR)
        return BlockAnswer(None, np.inf, cuts[0], lambda: None, infeasible=tuple(cuts))

    def _failure(self, what: str) -> SolverFailure:
        name = self.runner.spec.name
        other = "highs" if name != "highs" else "gurobi"
        return SolverFailure(f'sub_solver="{name}" {what}. Try {other}.', name)

    def _load(self, y: np.ndarray) -> Callable[[], None]:
        def load() -> None:
            put_back(zip(self.variables, y.tolist(), strict=True))
            give_values(self._unused)

        return load
