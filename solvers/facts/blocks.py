"""Facts for the driver ``alternating``: blocks of variables, and the penalty or the functions that solve them.

``Blocks`` are solved by solvers of their class. ``OracleBlocks`` are solved by functions of the point, for models too
large to state: the model contains variables and an objective that can be evaluated, and each block has a function that
improves it. Edits of the bounds and fixed values of the variables in ``boxed``, and linear rows on those in ``rowed``,
are supported. Other edits are rejected by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from solvers.box.minimise import Minimum
from solvers.box.polyhedron import Polyhedron
from solvers.errors import OptionError
from solvers.facts.base import Facts
from solvers.facts.snapshot import AsBuilt, data_of
from solvers.model.expressions import variables
from solvers.model.function import is_linear
from solvers.model_cache import cached
from solvers.values import bounds_of

FloatArray = NDArray[np.float64]


@dataclass
class Block:
    """Variables that are optimised together while all others are fixed.

    Parameters
    ----------
    variables : list of Var components or data
        Blocks may share some. Fixed variables are constants.
    solver : str or Pyomo solver, optional
        The default is the solver for the class of the block's problem.
    options : mapping, optional
        Options of the solver.
    objective : expression, optional
        Replaces the objective of the model, with the same sense.
    tidy : callable, optional
        model -> None; after each solve, moves to another optimum of the block, for uniqueness. It may set variables of
        the block only. A change that makes the objective worse or violates a row is undone.
    begin : callable, optional
        model -> None; before each solve, sets the variables of the block to a starting point, near which its solver
        stays.
    name : str
        For messages; by default the names of its variables.
    """

    variables: list[Any]
    solver: Any = None
    objective: Any = None
    tidy: Callable[[Any], None] | None = None
    begin: Callable[[Any], None] | None = None
    name: str = ""
    options: Mapping[str, Any] | None = None
    closed_form: InitVar[Any] = None

    def __post_init__(self, closed_form: Any) -> None:
        """Reject a removed option."""
        if closed_form is not None:
            raise OptionError("closed_form was removed: leave it out. The block is solved as a linear program.")


@dataclass
class PenaltyValues:
    """Values of the weight of an exact penalty, increased until ``measure`` is at most ``tolerance``.

    Parameters
    ----------
    parameter : scalar mutable Param
    values : ascending numbers
    measure : callable
        model -> violation of the condition that the penalty enforces, at least 0.
    """

    parameter: Any
    values: Sequence[float]
    measure: Callable[[Any], float]
    tolerance: float = 1e-6

    def check(self) -> None:
        """Raise OptionError for an unsuitable parameter, or values that do not ascend."""
        p, values = self.parameter, list(self.values)
        if getattr(p, "ctype", None) is not pyo.Param or p.is_indexed() or not p.mutable:
            raise OptionError(f'The penalty\'s parameter "{p}" must be a scalar Param with mutable=True.')
        if not values or any(b <= a for a, b in pairwise(values)):
            raise OptionError(f"The penalty's values {values} must be ascending numbers, at least one.")


@dataclass
class Blocks(Facts):
    """Blocks in the order in which they are solved, and rules of the algorithm.

    Parameters
    ----------
    blocks : list of Block
    penalty : PenaltyValues, optional
        The weight that is increased.
    warm : bool
        Start from the values of the model only, not from random points, unless options request others.
    watched, settled : list of Vars, callable
        (their values before a sweep, after it) -> True if the run has converged.
    sweeps : int, optional
        Default of ``iteration_limit``.
    keeps_last : bool
        Return the last point and not the best, for blocks with different objectives.
    """

    blocks: list[Block]
    penalty: PenaltyValues | None = None
    warm: bool = field(default=False, kw_only=True)
    watched: list[Any] = field(default_factory=list, kw_only=True)
    settled: Callable[[np.ndarray, np.ndarray], bool] | None = field(default=None, kw_only=True)
    sweeps: int | None = field(default=None, kw_only=True)
    keeps_last: bool = field(default=False, kw_only=True)
    default_solver: str = field(default="alternating", kw_only=True)


@dataclass(frozen=True)
class Inside:
    """Arguments of a step: bounds of the point, the method, and ``watch``: (point, value) -> True to stop.

    ``rows``: linear rows over the point, for structures with ``rowed`` variables.
    """

    lower: FloatArray
    upper: FloatArray
    method: str
    tolerance: float
    iteration_limit: int
    seed: int
    watch: Callable[[FloatArray, float], bool]
    rows: Polyhedron | None = None


@dataclass(frozen=True)
class Moved:
    """Result of a step: the whole point, and the objective of the block before and after the step."""

    point: FloatArray
    before: float
    after: float
    iterations: int = 1
    message: str = ""

    @classmethod
    def by(cls, found: Minimum, point: FloatArray, before: float) -> Moved:
        """Return the result of a method over a box."""
        return cls(point, before, found.value, found.iterations, found.message)


@dataclass(frozen=True)
class OracleBlock:
    """A block: its name, its step, and ``returns``: True if the point after the step is a solution."""

    name: str
    step: Callable[[FloatArray, Inside], Moved]
    returns: bool = True


# Defaults are functions of the module, because models are pickled.


def _never(*_: Any) -> bool:
    return False


def _no_support(point: FloatArray) -> int | None:
    return None


def _no_remark(point: FloatArray) -> str:
    return ""


def _no_time() -> float:
    return -math.inf


@dataclass
class OracleBlocks(Facts):
    """Blocks that are solved by functions of the point, an array over the data of ``components`` in order.

    Parameters
    ----------
    components : list of Var components
    blocks : list of OracleBlock
        One block, whose iterations are then those of the run, or several.
    value : callable
        point -> objective of the model.
    residual : callable
        (point, lower, upper) -> relative first-order residual of the objective, as ``box.minimise.residual``; the rows
        are a fourth argument if there are any.
    settled : callable
        (before, after, tolerance) -> True if a sweep has changed nothing relevant.
    begin, finish : callables, optional
        (point, inside) -> point: completes the starting point; solves the variables that the last block has not
        updated.
    trivial : callable, optional
        point -> a point without a solve, for a run that ends before it has a point.
    stuck : callable, optional
        point -> True if no sweep can change it.
    support : callable
        point -> number of used elements, for the table.
    remark : callable
        point -> a sentence about it, or "".
    boxed : list of Var components or data
        Variables whose present bounds and fixed values the steps respect; the others must be as built.
    rowed : list of Var components or data
        Those of ``boxed`` on which linear rows may be added.
    switches : list of pairs
        (binary, variable of ``rowed`` that is 0 unless the binary is 1): rows on the binaries may be added too.
    linked : list of components
        Further components that state the switches.
    least : float, optional
        A lower bound of the objective, for runs that reach a limit.
    seconds : callable, optional
        () -> longest time in which a step cannot be interrupted.
    method : str
        Default of the option ``method``.
    sweeps : int
        Default of ``iteration_limit``.
    carried : list of Var components or data
        The variables from which a sweep starts; its first block computes all others. With them the driver extrapolates
        the sweeps. Leave them out if a sweep may increase the objective.
    keeps_last : bool
        The result is the last point, not the one with the smallest objective.
    """

    components: list[Any]
    blocks: list[OracleBlock]
    value: Callable[[FloatArray], float]
    residual: Callable[..., float]
    settled: Callable[[FloatArray, FloatArray, float], bool] = _never
    begin: Callable[[FloatArray, Inside], FloatArray] | None = None
    finish: Callable[[FloatArray, Inside], FloatArray] | None = None
    trivial: Callable[[FloatArray], FloatArray] | None = None
    stuck: Callable[[FloatArray], bool] = _never
    support: Callable[[FloatArray], int | None] = _no_support
    remark: Callable[[FloatArray], str] = _no_remark
    boxed: list[Any] = field(default_factory=list)
    rowed: list[Any] = field(default_factory=list)
    linked: list[Any] = field(default_factory=list)
    least: float | None = None
    seconds: Callable[[], float] = _no_time
    method: str = "l-bfgs-b"
    sweeps: int = 100
    carried: list[Any] = field(default_factory=list)
    keeps_last: bool = False
    default_solver: str = field(default="alternating", kw_only=True)
    implicit: str = field(default="functions of its structure", kw_only=True)

    def remember(self, model: pyo.ConcreteModel) -> None:
        """Take the snapshot of the objective, the rows and the variables."""
        self.built = AsBuilt.of(model, variables=data_of([*self.components, *self.boxed]), named=(), others=())

    def variables(self) -> list[Any]:
        """Return the variables of a point, in order."""
        return data_of(self.components)

    def box(self) -> tuple[FloatArray, FloatArray]:
        """Return the present bounds of a point; those of a fixed variable are its value."""
        pairs = [(v.value, v.value) if v.fixed else bounds_of(v) for v in self.variables()]
        lower, upper = np.array(pairs, dtype=float).T
        return lower, upper

    def added(self, model: Any) -> list[Any]:
        """Return the active rows that were added to those of the builder."""
        assert self.built is not None
        return self.built.added(cached(model).rows)

    def on_point(self, model: Any) -> list[Any]:
        """Return the added rows with a variable of the point."""
        mine = {id(v) for v in self.variables()}
        return [row for row in self.added(model) if any(id(v) in mine for v in variables(row.body))]

    def edits(self, model: Any) -> list[str]:
        """Return the edits that the steps do not respect."""
        assert self.built is not None
        changed = self.built.variable_edits(self.built.variables, data_of(self.boxed))
        seen = {f'row "{row.name}" was added' for row in self.added(model) if self._is_supported(row)}
        return [*(edit for edit in self.built.additions(model) if edit not in seen), *changed]

    def _is_supported(self, row: Any) -> bool:
        """Return True if the steps, or the search over the switches, respect a row."""
        mine, rowed = {id(v) for v in self.variables()}, {id(v) for v in data_of(self.rowed)}
        held = list(variables(row.body))
        inside = [v for v in held if id(v) in mine]
        others = [v for v in held if id(v) not in mine and not v.fixed]
        free = bool(self.switches) and (not inside or all(v.is_integer() for v in others))
        return is_linear(row.body) and all(id(v) in rowed for v in inside) and (free or not others)
