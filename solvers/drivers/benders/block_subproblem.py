"""The subproblem of a model by its blocks: one value and one cut for each, at any point of the complicating variables.

Rows are read once; every block's linear program keeps its basis from point to point; blocks share a linear program, or
as many as there are threads. Where a block has no point, the cut on its distance from one is a feasibility cut.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse

from solvers.drivers.benders.block_lp import BlockLP, BlockSolution
from solvers.drivers.benders.block_rows import BlockCuts, BlockRows
from solvers.drivers.benders.blocks import blocks_of
from solvers.drivers.benders.refusals import refusals
from solvers.drivers.benders.relaxation import EndlessSubproblem
from solvers.drivers.benders.split import SplitModel
from solvers.errors import ModelError, SolverFailure
from solvers.facts.structure import Cut, SubAnswer
from solvers.interfaces.registry import SolverSpec
from solvers.interfaces.runner import Runner, SolveOptions
from solvers.lp.highs import FINEST, LpStatus
from solvers.lp.pyomo import linear_program
from solvers.options import SolverObject
from solvers.values import give_values

APART = 1e-9  # distance from feasible, in the complicating variables' units, that is none
WORTH = 20_000  # non-zeros of a linear program from which on a thread of its own pays


@dataclass(frozen=True)
class BlockAnswer(SubAnswer):
    """An answer by block: optimality cuts, one a block, or feasibility cuts of those that have no point."""

    cuts: BlockCuts | None = None
    infeasible: tuple[Cut, ...] = ()


class BlockSubproblem:
    """Linear blocks, answered by linear programs."""

    model = None
    fractional = True

    def __init__(self, parts: SplitModel, solver: str | SolverObject, spec: SolverSpec, words: SolveOptions) -> None:
        self.parts, self.runner = parts, Runner(spec, words)
        self.blocks = blocks_of(parts)
        for reason in refusals(parts, self.blocks):
            raise ModelError(reason)
        rows = [[*block.rows, *block.coupling] for block in self.blocks]
        self.rows = BlockRows.of(parts, self.blocks, rows, parts.subproblem_terms)
        self.variables = [v for block in self.blocks for v in block.variables]
        here = {id(v) for v in self.variables}
        self._idle = [v for v in parts.structure.variables() if id(v) not in here]
        seedless = SolveOptions(threads=1, tee=words.tee, own=words.own)
        make = partial(linear_program, solver, words=seedless, tolerance=FINEST)
        self._threads = words.threads or 1
        self._lps = [BlockLP(part, make) for part in self._shared()]

    @property
    def count(self) -> int:
        """The number of blocks."""
        return self.rows.count

    def _shared(self) -> list[BlockRows]:
        """Return the blocks, in as many parts as there are threads to pay for."""
        most = max(1, min(self._threads, self.count, self.rows.matrix.nnz // WORTH))
        if most == 1:
            return [self.rows]
        ends = np.linspace(0, self.count, most + 1).astype(int)
        return [self.rows.some(a, b) for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]

    def solve(self, point: np.ndarray, tolerance: float, time_limit: float | None) -> BlockAnswer | None:
        """Answer at a point of shape (n,); None when the time ran out before."""
        found = self._each(lambda lp: lp.solve(point, time_limit))
        statuses = {s for s in found if isinstance(s, LpStatus)}
        if LpStatus.LIMIT in statuses:
            return None
        if statuses:
            return self._apart(point, time_limit, statuses)
        solved = [s for s in found if isinstance(s, BlockSolution)]
        cuts = _stacked([s.cuts for s in solved])
        if not np.all(np.isfinite(cuts.constants)):
            raise self._failure("gave multipliers that prove nothing")
        value = float(sum(s.values.sum() for s in solved))
        total = cuts.total()
        y = np.concatenate([s.y for s in solved])
        return BlockAnswer(value, min(value, total.at(point)), total, self._load(y), cuts=cuts)

    def _apart(self, point: np.ndarray, time_limit: float | None, statuses: set[LpStatus]) -> BlockAnswer | None:
        """Answer where a block has no point, or no end."""
        if LpStatus.FAILED in statuses:
            raise self._failure("did not solve the subproblem")
        found = self._each(lambda lp: lp.distance.solve(point, time_limit))
        cuts: list[Cut] = []
        for s in found:
            if s is LpStatus.INFEASIBLE:  # for any value of the complicating variables
                cuts.append(Cut(1.0, np.zeros(len(point))))
            elif s is LpStatus.LIMIT:
                return None
            elif isinstance(s, LpStatus):
                raise self._failure("did not solve the subproblem")
            else:
                cuts += [s.cuts.single(k) for k in np.flatnonzero(s.cuts.at(point) > APART).tolist()]
        if not cuts:
            raise EndlessSubproblem("The subproblem is unbounded below: no cut exists.")
        return BlockAnswer(None, np.inf, cuts[0], lambda: None, infeasible=tuple(cuts))

    def _each(self, solve: Callable[[BlockLP], BlockSolution | LpStatus]) -> list[BlockSolution | LpStatus]:
        if len(self._lps) == 1:
            return [solve(self._lps[0])]
        return list(Parallel(n_jobs=len(self._lps), prefer="threads")(delayed(solve)(lp) for lp in self._lps))

    def _failure(self, what: str) -> SolverFailure:
        name = self.runner.spec.name
        other = "highs" if name != "highs" else "gurobi"
        return SolverFailure(f'sub_solver="{name}" {what}. Try {other}.', name)

    def _load(self, y: np.ndarray) -> Callable[[], None]:
        def load() -> None:
            for v, value in zip(self.variables, y.tolist(), strict=True):
                v.set_value(value, skip_validation=True)
            give_values(self._idle)

        return load


def _stacked(parts: list[BlockCuts]) -> BlockCuts:
    if len(parts) == 1:
        return parts[0]
    slopes: Any = sparse.vstack([part.slopes for part in parts], format="csr")
    return BlockCuts(np.concatenate([part.constants for part in parts]), slopes)
