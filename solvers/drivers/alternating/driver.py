r"""Alternating minimisation over blocks of variables (block coordinate descent).

    min f(x_1, ..., x_B) over the model's rows, each x_b a block; the blocks are solved in turn.

    0. Set the variables to a start: seeded random values for those outside the first block that are nonlinear in f or
       in a coupling row, the values of the model for the others.
    1. For each block b: minimise f over x_b with all other variables fixed. Accept the solution if it is better than
       the old values by more than the tolerance (in the first sweep of a random start always, if it is feasible).
    2. The point is feasible after the first sweep. Keep it if it is the best so far.
    3. End the start when a whole sweep has moved no block (20); else go to 1.
    4. Next start, from 0.

Bennett and Mangasarian 1993, "Bilinear separation of two sets in n-space", algorithm 2.1, and Bradley, Mangasarian and
Street 1998, algorithm 2.3 with stop (20), are this method for two blocks and bilinear f, at each weight mu of an exact
penalty (``solvers.drivers.penalty``).

Convergence: after the first sweep f decreases by more than the tolerance in every sweep but the last, so a run ends
if f is bounded below. For bilinear f and blocks over disjoint polyhedra, with vertex solutions, it ends after
finitely many sweeps even with tolerance 0 (theorem 2.1 there, 2.4 here). It ends at a partial optimum: no single block
can be improved. If f is smooth, every block is convex or was solved to stationarity, and the rows separate over the
blocks, a partial optimum satisfies the first-order condition (21), and the status is "stationary". Nothing is proven
about better points elsewhere. With a row that couples two blocks, the method may stop at a point that is not
stationary. From there, from a start at which a block has no solution, and at the beginning of every second start, a
step over all blocks at once continues (``together``). A kink of f can also stop the method, and a block of integers has
no such condition: the status is then "feasible". (Without a tolerance the limits of two blocks are stationary for
smooth f and compact level sets, convex or not; three blocks may cycle in the limit: Grippo and Sciandrone 2000.) A
block with its own objective may increase f: its start ends when nothing changes or when f has not improved for a while,
and the best point is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyomo.environ as pyo

from solvers.drivers.alternating.oracle_descent import ENDLESS, OracleDescent
from solvers.drivers.alternating.oracle_search import OracleSearch
from solvers.drivers.alternating.partition import (
    BlockStart,
    Part,
    Partition,
    as_blocks,
    base_point,
    check_constants,
    has_kinks,
    starting_points,
)
from solvers.drivers.alternating.problems import (
    GAIN,
    BlockProblem,
    GeneralBlock,
    LinearBlock,
    Step,
    clash,
    is_linear_program,
    rest_holds,
    together,
)
from solvers.drivers.base import Driver, End
from solvers.drivers.solver_options import lp_solver_options
from solvers.drivers.starts import StartsConfig, spread, table
from solvers.errors import ModelError, OptionError
from solvers.facts.base import facts_of, facts_violation
from solvers.facts.blocks import Blocks, OracleBlocks
from solvers.facts.snapshot import data_of
from solvers.interfaces.registry import entry
from solvers.interfaces.runner import SolveOptions
from solvers.lp.pyomo import NEEDED
from solvers.model.classes import single_objective, violation
from solvers.model.function import SmoothFunction
from solvers.result import FEASIBLE, HOPELESS, SolutionStatus, StopReason
from solvers.values import INSIDE, is_fraction, kept, without_domains

STALLED = 50  # sweeps without a better objective, for blocks with their own objective


@dataclass
class AlternatingConfig(StartsConfig):
    """Options of ``alternating``; ``iteration_limit`` counts sweeps over all starts, ``gap`` is for integer blocks.

    Without nonlinear terms across blocks there is only one random start, because all would be equal.

    Attributes
    ----------
    blocks : list, optional
        A list of Vars, or a ``Block``, for each block, in the order in which they are solved; for a model without
        declared blocks.
    warm_start : bool
        Start first from the values of the model.
    together : bool
        If rows couple blocks: optimise over all blocks at once by a local NLP solver, at points where a block has no
        solution or no single block can be improved.
    """

    renamed: ClassVar[dict[str, str]] = {
        "sub_solver": 'each block has its own, Block([model.x], solver="pounce")',
        "method": 'its blocks are solved by solvers; give blocks=[Block([model.x], solver="pounce"), ...]',
    }
    blocks: Sequence[Any] | None = None
    warm_start: bool = False
    together: bool = True


class Alternating(Driver):
    """Block coordinate descent on a Pyomo model from several starts; ``partition`` shows the blocks.

    A model with oracles for its blocks (``OracleBlocks``) is solved by ``OracleDescent``.
    """

    name = "alternating"
    title = "models with declared blocks of variables (alternating minimisation, to a stationary point)"
    options_type = AlternatingConfig
    config: AlternatingConfig

    @classmethod
    def kind_for(cls, model: Any, options: dict[str, Any]) -> type[Driver]:
        """Return the driver for the model's kind of blocks."""
        facts = facts_of(model)
        if not isinstance(facts, OracleBlocks):
            return cls
        return OracleSearch if facts.switches else OracleDescent

    def prepare(self) -> None:
        """Sort rows by blocks, draw the starts, and choose a method for each block."""
        c, model = self.config, self.model
        c.check("warm_start")
        objective = single_objective(self.cache)
        self.sign = 1.0 if objective.sense == pyo.minimize else -1.0
        facts = facts_of(model)
        stated = facts if isinstance(facts, Blocks) else None
        if c.blocks is None and stated is None:
            raise OptionError(f"{self.name} needs blocks: give blocks=[[model.x], [model.y]].")
        blocks = as_blocks(c.blocks if c.blocks is not None or stated is None else stated.blocks, model)
        self._rules = Blocks([]) if c.blocks is not None or stated is None else stated
        warm = self._rules.warm and not {"starts", "warm_start"} & set(self.options)
        own = [b.objective for b in blocks if b.objective is not None]
        self.partition = Partition.of(model, blocks, [objective.expr, *own])
        self._clash = check_constants(self.partition)
        self._solver_options = SolveOptions(gap=c.gap, threads=c.threads, seed=c.seed)
        with kept(model.component_data_objects(pyo.Var, descend_into=INSIDE)):
            self.partition.write(base_point(self.partition))
            self._objective = self._smooth(objective.expr)
            every = [self._smooth(p.block.objective) for p in self.partition.parts]
            self._problems = [self._problem(p, f) for p, f in zip(self.partition.parts, every, strict=True)]
        self._points = list(
            starting_points(
                self.partition,
                [self._objective, *every],
                replace(c, starts=0) if warm else c,
                warm=warm or c.warm_start,
            )
        )
        self._kinks = self._objective.rest is not None and has_kinks(self._objective.rest)
        alone = not c.together or self._rules.settled is not None or self._kinks or self._own_objective()
        self._together = (
            None if alone else together(model, self.partition, objective, self._objective, self._solver_options)
        )
        self._runs: list[BlockStart] = []
        self._done = False  # True once every start was descended
        self._holder: BlockStart | None = None  # the start whose point is the incumbent

    def _problem(self, part: Part, objective: SmoothFunction) -> BlockProblem:
        """Return the problem of a block: one LP if its rows keep their numbers and its solver is one for LPs."""
        block, words = part.block, lp_solver_options(self.config)
        lp_solver: Any = self.config.lp_solver
        if block.solver is not None:
            spec = entry(block.solver)
            lp_solver = block.solver if NEEDED in spec.capabilities and not spec.local else None
            words = replace(words, own=dict(block.options or {}))
        elif block.options:
            lp_solver = None
        if lp_solver is not None and is_linear_program(part, objective):
            try:
                return LinearBlock(self.model, part, self.partition, objective, lp_solver, words)
            except ModelError as error:  # a row that is linear only while the other variables are fixed
                why = str(error).partition(", and")[0]
                self.dropped.add(f'one linear program for block "{part.name}"', [why[:1].lower() + why[1:]], quiet=True)
        whole = single_objective(self.cache)
        stated = whole.expr if block.objective is None else block.objective, whole.sense
        return GeneralBlock(self.model, part, self.partition, objective, stated, self._solver_options)

    def loop(self) -> End:
        """Run the algorithm and write the closing message."""
        constants = [*self.partition.constants, *self.partition.uncovered]
        with without_domains([v for v in constants if is_fraction(v)]):
            try:
                return self._search()
            finally:
                self._conclude()

    def _search(self) -> End:
        """Descend from each start."""
        if self._clash:
            return StopReason.CONVERGED, SolutionStatus.INFEASIBLE
        limit = self.config.iteration_limit
        self._sweeps = self.rounds(self._rules.sweeps if limit is None else limit)
        for number, (warm, point) in enumerate(self._points, 1):
            self._runs.append(BlockStart(number, warm=warm))
            ended = self._descend(self._runs[-1], point)
            if ended is not None:
                return ended
        self._done = True
        return StopReason.CONVERGED, None

    def _descend(self, run: BlockStart, point: np.ndarray) -> End | None:
        """Descend from one start; the numbers in comments are the steps of the algorithm."""
        self.partition.write(point)  # 0
        if run.warm and violation(self.cache) <= FEASIBLE:
            self._keep(run)
        elif run.start % 2 == 0 and self._leap(run):  # the blocks often lead to the same point from all starts
            run.sweeps = 1
            self._keep(run)
        stale = 0
        for _ in self._sweeps:
            before = self._watched()
            moved, ended = self._sweep(run)  # 1
            if ended is None and run.failure and not run.sweeps and self._leap(run):
                run.failure, run.sweeps = "", 1
                self._keep(run)
                continue
            if ended is not None or run.failure:
                if run.sweeps and not self._rules.keeps_last:  # the last point is that of a whole sweep
                    self._keep(run)
                return ended
            run.sweeps += 1
            stale = 0 if self._keep(run) else stale + 1  # 2
            self.record(f"start {run.start}", self._value(), cuts=0, support=None)
            if run.objective is not None and run.objective < ENDLESS:
                run.failure = f"start {run.start} fell below {ENDLESS:g}: bound the variables"
                return StopReason.CONVERGED, SolutionStatus.UNBOUNDED
            rule = self._rules.settled
            run.ruled = moved and rule is not None and rule(before, self._watched())
            if not moved and not run.ruled and self._leap(run):
                continue
            if run.ruled or not moved:  # 3
                run.settled = True
                return None
            if stale >= STALLED and self._own_objective():
                run.failure = f"start {run.start} did not settle: a block's own objective increases the model's"
                return None
        return self.stop, None

    def _leap(self, run: BlockStart) -> bool:
        """Optimise over all blocks at once if rows couple them; return True if that found a better point."""
        if self._together is None or self.stopped() is not None:
            return False
        with self.timing("subproblem"):
            before = self.partition.read()
            step = self._together.improve(free=False, tolerance=GAIN, time_limit=self.clock.left)
            moved = step.moved and violation(self.cache) <= FEASIBLE
        run.solves, run.joint = run.solves + 1, step.exact and step.still
        if moved:
            self.record(f"start {run.start} together", self._value(), cuts=0, support=None)
            return True
        self.partition.write(before)
        if run.failure:
            run.failure += f", and the step over all blocks found no point: {step.message}"
        return False

    def _watched(self) -> np.ndarray:
        return np.array([v.value for v in data_of(self._rules.watched)], dtype=float)

    def _sweep(self, run: BlockStart) -> tuple[bool, End | None]:
        """Improve each block in turn; return True if any changed, and the end of the run if it ends."""
        moved, run.inexact = False, ""
        for problem in self._problems:
            stop = self.stopped()
            if stop is not None:
                return moved, (stop, None)
            free = not run.sweeps and not run.warm  # a random start need not be improved on
            with self.timing("subproblem"):
                step = problem.improve(free=free, tolerance=self.config.tolerance, time_limit=self.clock.left)
            moved, run.solves = moved or step.moved, run.solves + step.solves
            if step.failure:
                run.failure = f"start {run.start} failed: {step.failure}"
                return moved, self._proof(run, problem.part, step)
            if step.stop is not None:
                return moved, (step.stop, None)
            if not step.exact:
                run.inexact = (
                    run.inexact or f'block "{problem.part.name}" was not solved to optimality ({step.message})'
                )
        return moved, None

    def _keep(self, run: BlockStart) -> bool:
        """Offer the feasible values of the model; return True if they are the best of the start."""
        objective = self._value()
        better = run.objective is None or objective < run.objective
        if better:
            run.objective = objective
        if self.offer(objective, self.partition.space, lambda: None, latest=self._rules.keeps_last):
            self._holder = run
        return better

    def _value(self) -> float:
        return self._objective.value(self.partition.read())

    def _proof(self, run: BlockStart, part: Part, step: Step) -> End | None:
        """Return the end of the run if the failure of a block proves the status of the model."""
        if step.status is SolutionStatus.INFEASIBLE and part.closed:
            self._clash = f'Block "{part.name}" has no solution for any values of the others. {clash(part)}'.strip()
            return StopReason.CONVERGED, SolutionStatus.INFEASIBLE
        unbounded = step.status is SolutionStatus.UNBOUNDED and part.block.objective is None
        if unbounded and (run.sweeps or rest_holds(self.model, part)):
            return StopReason.CONVERGED, SolutionStatus.UNBOUNDED
        return None

    def why_infeasible(self) -> str:
        """Describe rows that have no common solution."""
        return self._clash

    def _smooth(self, expression: Any) -> SmoothFunction:
        """Return an objective on arrays; by default that of the model."""
        if expression is None:
            return self._objective
        return SmoothFunction(expression, self.partition.space, self.sign)

    # The result.

    def start_value(self) -> float | None:
        """Return the objective of the start; None with a penalty, because it depends on the weight."""
        return None if self._rules.penalty is not None else super().start_value()

    def claim(self) -> SolutionStatus:
        """Return the status of the incumbent, "stationary" or "feasible"."""
        good = self._holder is not None and self._holder.settled and not self._only_partial(self._holder)
        return SolutionStatus.STATIONARY if good else SolutionStatus.FEASIBLE

    def _own_objective(self) -> str:
        return next((p.name for p in self.partition.parts if p.block.objective is not None), "")

    def _only_partial(self, run: BlockStart) -> str:
        """Return the reason why a partial optimum need not be stationary; "" if it is."""
        p = self.partition
        if self._own_objective():
            return f'block "{self._own_objective()}" has its own objective'
        integer = next((v.name for part in p.parts for v in part.variables if not v.is_continuous()), None)
        if integer is not None:
            return f'variable "{integer}" is integer'
        if p.uncovered:
            return f'variable "{p.uncovered[0].name}" is in no block and was not changed'
        if run.joint:
            return ""
        if p.coupling:
            return f'row "{p.coupling[0].name}" couples two blocks'
        if self._kinks:
            return "the objective has kinks (abs, min, max, a condition), at which blocks can stop"
        return run.inexact

    def _conclude(self) -> None:
        """Write the closing message and the table of the starts."""
        run = self._holder
        failures = [r.failure for r in self._runs if r.failure]
        sentences = [self.message, "" if run is None else self._rejected() or self._describe(run)]
        if failures:
            more = f" ({len(failures)} starts failed)" if len(failures) > 1 else ""
            sentences.append(f"{failures[0][:1].upper()}{failures[0][1:]}{more}.")
        self.message = " ".join(s for s in sentences if s)
        for run in self._runs:
            run.stationary = run.settled and not self._only_partial(run)
        columns = ["start", "objective", "sweeps", "solves", "stationary"]
        self.details["starts"] = table(self._runs, self.sign, columns)

    def _rejected(self) -> str:
        """Discard an incumbent that violates the rows of the model, unless a larger weight of a penalty follows."""
        self._load()
        error, penalty = facts_violation(self.model), self._rules.penalty
        if error <= HOPELESS or (penalty is not None and self._done and penalty.parameter.value < max(penalty.values)):
            return ""
        self._holder = None
        self.set_aside()
        why = (
            ""
            if penalty is None
            else f"At {penalty.parameter.local_name}={penalty.parameter.value:g} the penalty is not exact. "
        )
        return f"{why}Its best point violates the rows by {error:.1e} and is left out."

    def _describe(self, run: BlockStart) -> str:
        """Describe the start of the incumbent."""
        why = self._only_partial(run) if run.settled else ""
        how = "Ended by the rule of its algorithm" if run.ruled else "A partial optimum, which no single block improves"
        found = spread([r.objective for r in self._runs if r.settled and r.objective is not None], self.sign)
        return " ".join(s for s in (f"{how}: {why}." if why else "", found) if s)
