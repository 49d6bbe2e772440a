"""Facts for the driver ``alternating``: blocks of variables, and the penalty or the functions that solve them.

``Blocks`` are solved by solvers of their class. ``OracleBlocks`` are solved by functions of the point, for models too
large to write down: the model holds variables and an objective that can be evaluated, and each block has a function
that improves it. Bounds and fixed values of the variables in ``boxed`` are those of the model now, and so are linear
rows on those in ``rowed``. Other edits are rejected by name.
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
from solvers.reading import read
from solvers.values import bounds_of

FloatArray = NDArray[np.float64]


@dataclass
class Block:
    """Variables that are solved for together while all others are fixed.

    Parameters
    ----------
    variables : list of Var components or data
        Blocks may share some. Fixed variables are constants.
    solver : str or Pyomo solver, optional
        By default the one for the class of the block's problem.
    options : mapping, optional
        Its own options.
    objective : expression, optional
        Taken in the model's sense in place of the model's objective.
    tidy : callable, optional
        model -> None; after each solve, moves to another point of the block's optima, for uniqueness. It may set the
        block's variables only; what makes the objective worse or leaves the rows is undone.
    begin : callable, optional
        model -> None; before each solve, sets the block's variables to where its solver starts, and stays near.
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
    """The values of an exact penalty's weight, tried in turn until ``measure`` is at most ``tolerance``.

    Parameters
    ----------
    parameter : scalar mutable Param
    values : ascending numbers
    measure : callable
        model -> how far its values are from what the penalty is to enforce, at least 0.
    """

    parameter: Any
    values: Sequence[float]
    measure: Callable[[Any], float]
    tolerance: float = 1e-6

    def check(self) -> None:
        """Refuse what cannot be searched.

        Raises
        ------
        OptionError
        """
        p, values = self.parameter, list(self.values)
        if getattr(p, "ctype", None) is not pyo.Param or p.is_indexed() or not p.mutable:
            raise OptionError(f'The penalty\'s parameter "{p}" must be a scalar Param with mutable=True.')
        if not values or any(b <= a for a, b in pairwise(values)):
            raise OptionError(f"The penalty's values {values} must be ascending numbers, at least one.")


@dataclass
class Blocks(Facts):
    """Blocks in the order in which they are solved, and the rules of an algorithm that has its own.

    Parameters
    ----------
    blocks : list of Block
    penalty : PenaltyValues, optional
        The weight that is increased.
    warm : bool
        The model's values are where it starts, and no random ones, unless options ask for others.
    watched, settled : list of Vars, callable
        (their values before a sweep, after it) -> whether the run has ended.
    sweeps : int, optional
        The most of them, where no ``iteration_limit`` is given.
    keeps_last : bool
        Whether the last point is returned, and not the best: for blocks with objectives of their own.
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
    """What a step may use: bounds of the point, the method, and ``watch`` (point, value) -> whether to stop.

    ``rows``: linear rows over the point, for steps of a structure that has ``rowed`` variables.
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
    """Where a step led: the whole point, and the block's own objective before (where the step began) and after."""

    point: FloatArray
    before: float
    after: float
    iterations: int = 1
    message: str = ""

    @classmethod
    def by(cls, found: Minimum, point: FloatArray, before: float) -> Moved:
        """Describe what a method over a box did."""
        return cls(point, before, found.value, found.iterations, found.message)


@dataclass(frozen=True)
class OracleBlock:
    """A block: its name, its step, and whether the point after it may be returned."""

    name: str
    step: Callable[[FloatArray, Inside], Moved]
    returns: bool = True


# Defaults are functions of the module, as models are pickled.


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
        One, whose iterations are then the run's, or several.
    value : callable
        point -> the model's objective.
    residual : callable
        (point, lower, upper) -> the first-order residual of the objective, relative, as ``box.minimise.residual``; with
        the rows as a fourth argument where there are any.
    settled : callable
        (before, after, tolerance) -> whether a sweep has changed nothing that counts.
    begin, finish : callables, optional
        (point, inside) -> point: completes the start; solves again what the last block left.
    trivial : callable, optional
        point -> one that costs no solve, for a run that ends before it has a point.
    stuck : callable, optional
        point -> whether no sweep can change it any more.
    support : callable
        point -> number of elements in use, for the table.
    remark : callable
        point -> a sentence about it, or "".
    boxed : list of Var components or data
        Variables whose bounds and fixed values the steps keep to; the others must be as built.
    rowed : list of Var components or data
        Those of them on which linear rows may be added.
    switches : list of pairs
        (binary, variable of ``rowed`` that is 0 unless it is 1): rows on the binaries may be added too.
    linked : list of components
        What else states that.
    least : float, optional
        A bound below the objective: for runs that a limit ends.
    seconds : callable, optional
        () -> what the longest piece of a step that nobody can break off may take.
    method : str
        Default of the option ``method``.
    sweeps : int
        Limit of sweeps where no ``iteration_limit`` is given.
    carried : list of Var components or data
        Those that a sweep begins from: all others its first block makes anew. The driver then looks where the sweeps
        lead to; leave them out where a sweep may raise the objective.
    keeps_last : bool
        The result is the latest point, not the one of least objective.
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
        """Return the bounds of a point as they are now, a fixed variable's at its value."""
        pairs = [(v.value, v.value) if v.fixed else bounds_of(v) for v in self.variables()]
        lower, upper = np.array(pairs, dtype=float).T
        return lower, upper

    def added(self, model: Any) -> list[Any]:
        """Return the active rows that are not the builder's."""
        assert self.built is not None
        known = {id(row) for row in self.built.rows}
        return [row for row in read(model).rows if id(row) not in known]

    def on_point(self, model: Any) -> list[Any]:
        """Return those of them that hold a variable of the point."""
        mine = {id(v) for v in self.variables()}
        return [row for row in self.added(model) if any(id(v) in mine for v in variables(row.body))]

    def edits(self, model: Any) -> list[str]:
        """Name what the steps would not see."""
        assert self.built is not None
        changed = self.built.variable_edits(self.built.variables, data_of(self.boxed))
        seen = {f'row "{row.name}" was added' for row in self.added(model) if self._is_kept(row)}
        return [*(edit for edit in self.built.additions(model) if edit not in seen), *changed]

    def _is_kept(self, row: Any) -> bool:
        """Return whether the steps, or the search over what is switched, keep to a row."""
        mine, rowed = {id(v) for v in self.variables()}, {id(v) for v in data_of(self.rowed)}
        held = list(variables(row.body))
        inside = [v for v in held if id(v) in mine]
        others = [v for v in held if id(v) not in mine and not v.fixed]
        free = bool(self.switches) and (not inside or all(v.is_integer() for v in others))
        return is_linear(row.body) and all(id(v) in rowed for v in inside) and (free or not others)
