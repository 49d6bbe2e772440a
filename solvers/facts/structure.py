"""Facts for decomposition drivers.

A builder attaches a ``Structure`` to its model. It contains the variables of the subproblem and the complicating
variables, for fixed values of which the subproblem is easy. It may also contain a fast oracle, a closed-form cut or a
proven big-M. These hold for the model *as built*, so the structure takes a snapshot, and ``drivers.benders.split``
compares it by identity with the model at each solve.

``stages_of`` reads the decomposition of a model without a builder from its Suffix ``stage``. ``EditedSub`` contains an
edited subproblem as arrays, for oracles that support edits.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Protocol

import numpy as np
import pyomo.environ as pyo
from pyomo.gdp import Disjunction

from solvers.errors import ModelError
from solvers.facts.base import Facts
from solvers.facts.snapshot import AsBuilt, data_of
from solvers.model.expressions import holds, terms
from solvers.model.function import Curve
from solvers.model.linear import LinearRows
from solvers.model_cache import cached

TINY = 1e-8  # HiGHS drops coefficients below 1e-9
FAINT = 1e-3  # share of the coefficients: a tree with tolerance 1e-6 may miss a cut with a smaller value at its point


@dataclass(frozen=True)
class Cut:
    """Affine minorant ``constant + sum(coefficients * x)`` of the subproblem's value, x the complicating variables."""

    constant: float
    coefficients: np.ndarray

    def at(self, point: np.ndarray) -> float:
        """Return the cut's value at a point of shape (n,)."""
        return float(self.constant + self.coefficients @ point)

    def over(self, unit: float) -> Cut:
        """Return the cut on the value divided by a unit."""
        return Cut(self.constant / unit, self.coefficients / unit)

    def lowered(self, floor: float, most: float) -> Cut:
        """Return a convex combination of the cut and the floor whose largest value over 0/1 points is ``most``.

        Points with a value above ``most`` are not optimal, so larger values of the cut are not needed.
        """
        top = self.constant + float(np.maximum(self.coefficients, 0.0).sum())
        if top <= most:
            return self
        share = (most - floor) / (top - floor)
        return Cut(floor + share * (self.constant - floor), share * self.coefficients)

    def clipped(self, floor: float) -> Cut:
        """Return a cut that agrees at every 0/1 point where it is above ``floor``, with the least coefficients.

        With ``top = constant + sum of positive coefficients``, a coefficient below ``floor - top`` makes the cut at
        most the floor at all points where its variable is 1, and so does ``floor - top`` itself. Badly scaled data lead
        to coefficients of 1e8 and more, which LP solvers treat as infinite. Not a minorant between the 0/1 points.
        """
        top = self.constant + float(np.maximum(self.coefficients, 0.0).sum())
        return Cut(self.constant, np.maximum(self.coefficients, min(0.0, floor - top)))

    def tightened(self, point: np.ndarray) -> Cut:
        """Return a feasibility cut, ``0 >= cut``, that excludes a point beyond tolerances and no further 0/1 point.

        The cut is changed if its value at the point is small relative to its coefficients. With ``top`` as in
        ``clipped``, a coefficient larger than ``top`` in size, of either sign, determines the sign at 0/1 points, and
        so does one of size ``top``: coefficient tightening (Savelsbergh 1994). The cut is lowered by half of the value,
        because its error, now large relative to the coefficients, could exclude a point where it is 0. Not a valid cut
        between the 0/1 points.
        """
        value, size = self.at(point), float(np.abs(self.coefficients).max(initial=0.0))
        if not 0.0 < value < FAINT * size:
            return self
        top = self.constant + float(np.maximum(self.coefficients, 0.0).sum())
        less = np.maximum(self.coefficients - top, 0.0)
        return Cut(self.constant + float(less.sum()) - 0.5 * value, np.maximum(self.coefficients - less, -top))

    def without_tiny(self, lower: np.ndarray, upper: np.ndarray) -> Cut:
        """Return a slightly weaker cut without coefficients that solvers would drop.

        A solver that drops ``c x`` strengthens the cut. Here the least value of ``c x`` over the bounds is added to the
        constant instead. Coefficients of unbounded variables are kept.
        """
        tiny = (np.abs(self.coefficients) <= TINY) & np.isfinite(lower) & np.isfinite(upper)
        small = np.where(tiny, self.coefficients, 0.0)
        least = np.minimum(small * np.where(tiny, lower, 0.0), small * np.where(tiny, upper, 0.0))
        return Cut(self.constant + float(least.sum()), np.where(tiny, 0.0, self.coefficients))


@dataclass(frozen=True)
class SubAnswer:
    """Solution of a subproblem at one point of the complicating variables.

    ``value`` is attained by the values that ``load`` copies to the model, and ``bound`` is proven; ``value`` is None if
    the subproblem is infeasible. ``prices`` (n,) estimate the slope of the value if the coefficients of the cut are a
    poor estimate; the order of exchanges follows them.
    """

    value: float | None
    bound: float
    cut: Cut | None
    load: Callable[[], None]
    values: Any = None
    prices: np.ndarray | None = None

    @property
    def guide(self) -> Cut | None:
        """The cut whose coefficients order the exchanges; the prices replace its coefficients if there are any."""
        return self.cut if self.cut is None or self.prices is None else Cut(self.cut.constant, self.prices)


@dataclass(frozen=True)
class RelaxedAnswer:
    """Solution of the continuous relaxation of the master with the true subproblem, within bounds.

    ``bound`` is proven, and infinite if infeasibility is proven; the other parts are then not used. ``reduced_costs``
    are those of the proof, ``point`` is near the optimum, and ``cut`` is nearly tight at it. ``choices`` are 0/1 points
    of the complicating variables that may be good incumbents.
    """

    bound: float
    point: np.ndarray
    reduced_costs: np.ndarray
    cut: Cut
    choices: Sequence[np.ndarray] = ()


class Relaxation(Protocol):
    """Solves the continuous relaxation of the master with the true subproblem at once."""

    def __call__(
        self,
        master: LinearRows,
        lower: np.ndarray,
        upper: np.ndarray,
        *,
        accuracy: float,
        enough: float,
        time_limit: float | None,
    ) -> RelaxedAnswer | None:
        """Return a solution to a relative gap of ``accuracy``, or with a bound of ``enough``; None without one."""


class Oracle(Protocol):
    """A fast replacement of the stated subproblem, exact for the model as built."""

    def solve(self, point: np.ndarray, tolerance: float, time_limit: float | None) -> SubAnswer:
        """Solve the subproblem at a point of shape (n,) to a relative gap of ``tolerance``."""


@dataclass
class Structure(Facts):
    """Facts for a decomposition into master and subproblem.

    Parameters
    ----------
    complicating : list of Var data
        In the order of the coefficients of every ``Cut``.
    subproblem : list of Var components or data
        Variables that are optimised for fixed complicating ones. Rows and objective terms without them are in the
        master.
    rows : list of Constraint components
        Rows that contain variables of the subproblem only, so that they need not be walked.
    coupling : list of components or None
        Rows, disjunctions or ordered sets that may contain both kinds; None allows every row, for a model without a
        builder.
    switches : list of (binary, variable)
        The variable is 0 if the binary is 0. With these variables fixed at 0, the coupling rows at binary = 1 are those
        of the subproblem at any binary point.
    terms : list of named Expressions
        Parts of the objective that contain variables of the subproblem only, so that they need not be walked.
    oracle, cut, score : callables, optional
        Fast subproblem; cut from the rows of the subproblem and their multipliers (``row_cut.RowCut``); (model, data)
        -> validation error at the values of the model.
    suggest : callable, optional
        (fractional point, solution at it) -> a point at which the next cut is probably stronger.
    relaxation : Relaxation, optional
        Solves the continuous relaxation of the whole model as built.
    floor : float, optional
        A lower bound of the value of the subproblem at every point, for the model as built.
    parameters : callable, optional
        Returns the present values of the mutable parameters of the subproblem; cuts of one run hold in the next if they
        are equal.
    identity : callable, optional
        Returns the other data of the subproblem as a value for comparison: two models with the same identity and
        parameters and without edits have the same subproblem, so they can share cuts and solutions.
    carry : callable, optional
        (cut, earlier parameters, present parameters) -> a cut for the subproblem with the present parameters, or None.
    starts : list of arrays
        Points for the first cuts; they need not satisfy the rows of the master.
    adapt : callable, optional
        ``EditedSub`` -> ``Adapted``, an oracle for the edited subproblem; raises ``Inexpressible`` if the oracle does
        not support the edit.
    only_as_built : str
        Further facts that hold for the model as built only, such as a proven big-M. If it is not empty, no solver
        solves the model after an edit of its subproblem.
    instead : str
        The alternative in that case, as a sentence.
    detached : callable, optional
        Returns an oracle with the method ``relax``, a ``Relaxation``, for the present values of mutable parameters. It
        has no reference to the model, so that it can be pickled; ``load`` of its solutions has no effect.
    blocks : list of lists of Var components or data
        Declared blocks of the subproblem, in addition to those that follow from the rows.
    source : str
        Source of the decomposition, for ``explain_split``.
    """

    complicating: list[Any]
    subproblem: list[Any]
    rows: list[Any] = field(default_factory=list)
    coupling: list[Any] | None = None
    terms: list[Any] = field(default_factory=list)
    oracle: Oracle | None = None
    cut: Callable[..., Cut] | None = None
    score: Callable[[Any, Any], float] | None = None
    suggest: Callable[[np.ndarray, SubAnswer], np.ndarray | None] | None = None
    relaxation: Relaxation | None = None
    floor: float | None = None
    parameters: Callable[[], Hashable] | None = None
    identity: Callable[[], Hashable] | None = field(default=None, kw_only=True)
    carry: Callable[[Cut, Any, Any], Cut | None] | None = field(default=None, kw_only=True)
    starts: list[np.ndarray] = field(default_factory=list)
    adapt: Callable[[Any], Any] | None = None
    only_as_built: str = ""
    instead: str = 'Build it with form="perspective" and edit that.'
    detached: Callable[[], Any] | None = field(default=None, kw_only=True)
    blocks: list[list[Any]] = field(default_factory=list, kw_only=True)
    source: str = field(default="the model's builder", kw_only=True)
    default_solver: str = field(default="benders", kw_only=True)
    copies: Any = field(default=None, kw_only=True)  # drivers.benders.copies, of a model without a builder
    built_coupling: AsBuilt | None = field(default=None, init=False)
    built_terms: list[Any] = field(default_factory=list, init=False)  # objective terms of subproblem variables

    def remember(self, model: pyo.ConcreteModel) -> None:
        """Take the snapshots of the subproblem and of the coupling."""
        variables = self.variables()
        sets = [s for c in self.coupling or () if c.ctype is pyo.SOSConstraint for s in c.values()]
        self.built = AsBuilt.of(model, rows=data_of(self.rows), variables=variables, named=self.terms, others=())
        coupling = data_of(_coupling_constraints(self))
        self.built_coupling = AsBuilt.of(model, rows=coupling, variables=(), named=(), others=sets)
        inside = {id(v) for v in variables}
        self.built_terms = [t for t in terms(self.built.cost, self.terms) if holds(t, inside)]

    def variables(self) -> list[Any]:
        """Return the data of the variables of the subproblem, in order."""
        return data_of(self.subproblem)


def _coupling_constraints(structure: Structure) -> list[Any]:
    """Return the components of coupling rows; the rows of a disjunction are those of its disjuncts."""
    components = []
    for component in structure.coupling or ():
        if component.ctype is pyo.Constraint:
            components.append(component)
        elif component.ctype is Disjunction:
            blocks = {id(d): d for choice in component.values() for d in choice.disjuncts}
            components += [c for d in blocks.values() for c in d.component_objects(pyo.Constraint, descend_into=True)]
    return components


@dataclass(frozen=True)
class EditedSub:
    """An edited subproblem: the unchanged rows of the builder, and all other rows as arrays.

    - ``variables``: of the subproblem, followed by variables of the user that share rows with it; ``complicating``
      likewise.
    - ``kept``: the active and unchanged rows of the builder, without the coupling.
    - ``rows``: all other linear rows, over the columns ``variables`` and ``complicating``, with their bounds, which are
      equal for a fixed variable.
    - ``cost``: the objective over ``variables``.
    - ``edits``: the edits as text.
    """

    variables: Sequence[Any]
    complicating: Sequence[Any]
    kept: Sequence[Any]
    rows: LinearRows
    cost: Curve
    edits: Sequence[str]


@dataclass(frozen=True)
class Adapted:
    """Oracles for an edited subproblem; ``detached`` as in ``Structure``."""

    oracle: Oracle
    relaxation: Relaxation
    detached: Callable[[], Any]


class Inexpressible(Exception):
    """The oracle does not support an edit; the message names the edit."""


def stages_of(model: Any) -> tuple[list[Any], list[list[Any]]] | None:
    """Return the variables of stage 0, and those of each block in the order of their numbers; None without a Suffix.

    The Suffix ``stage`` of a model is 0 for the variables of the master, and k for those of block k:

        model.stage = pyo.Suffix()
        model.stage[model.acres] = 0  # a variable, an indexed one, one of its data,
        model.stage[model.scenario[1]] = 1  # or a block, and so every variable in it

    The nearest entry applies: that of the data, of its component, of the block that contains it, of the component of
    that block, and so on, then that of the key None for all others. ``clone()`` and pickle copy the Suffix.

    Raises
    ------
    ModelError
        If a stage is not a whole number of at least 0, or is assigned to a component other than variables and blocks.
    """
    cache = cached(model)
    suffixes = [c for c in cache.components if c.ctype is pyo.Suffix and c.local_name == "stage"]
    if not suffixes:
        return None
    given: dict[int, int] = {}
    for suffix in suffixes:
        for component, stage in suffix.items():
            _check(suffix, component, stage)
            if component is not None:
                given.setdefault(id(component), int(stage))
    rest = {id(suffix.parent_block()): int(suffix[None]) for suffix in suffixes if None in suffix}
    around: dict[int, int | None] = {}  # component -> the nearest stage
    by_stage: dict[int, list[Any]] = {}
    for v in cache.variables:
        component = v.parent_component()
        if id(component) not in around:
            chain = list(_containers(component))
            stages = [given[id(c)] for c in chain if id(c) in given]
            stages += [rest[id(c)] for c in chain if id(c) in rest]
            around[id(component)] = stages[0] if stages else None
        stage = given.get(id(v), around[id(component)])
        if stage is not None:
            by_stage.setdefault(stage, []).append(v)
    return by_stage.pop(0, []), [by_stage[k] for k in sorted(by_stage)]


def _check(suffix: Any, component: Any, stage: Any) -> None:
    """Raise ModelError for an invalid stage, or a component that cannot have one."""
    where = "all others (None)" if component is None else f'"{component.name}"'
    if component is not None and component.ctype not in (pyo.Var, pyo.Block):
        raise ModelError(
            f'Suffix "{suffix.name}" gives {where} a stage, which is neither a variable nor a block: give stages to '
            "variables; rows and terms follow them."
        )
    if isinstance(stage, bool) or not isinstance(stage, Integral) or stage < 0:
        raise ModelError(
            f'Suffix "{suffix.name}" has the value {stage!r} for {where}: give 0 for the variables of the master, and '
            "1, 2, ... for those of the blocks."
        )


def _containers(component: Any) -> Iterator[Any]:
    """Yield a component and the block data and block components that contain it, the model last."""
    yield component
    block = component.parent_block()
    while block is not None:
        yield block
        if (whole := block.parent_component()) is not block:
            yield whole
        block = block.parent_block()
