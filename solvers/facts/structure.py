"""What a model tells a decomposition driver about itself.

A builder attaches a ``Structure`` to its model. The structure names the variables of the subproblem and the
complicating variables that, once fixed, make it easy. It may also offer short cuts (a fast oracle, a closed-form cut,
a proven big-M); those are facts about the model *as it was built*, so the structure remembers what the builder made
and ``drivers.benders.split`` compares it, by identity, with what the model holds when it is solved.

``stages_of`` reads the parts of a model without a builder from its Suffix ``stage``. ``EditedSub`` is an edited
subproblem in numbers, for a builder whose oracle may take more than it has built itself.
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
from solvers.reading import read

TINY = 1e-8  # HiGHS drops coefficients below 1e-9
FAINT = 1e-3  # of its coefficients: a cut that says less at its point may be overlooked by a tree to 1e-6


@dataclass(frozen=True)
class Cut:
    """The affine minorant ``constant + coefficients . x`` of the subproblem's value, x the complicating variables."""

    constant: float
    coefficients: np.ndarray

    def at(self, point: np.ndarray) -> float:
        """Return the cut's value at a point of shape (n,)."""
        return float(self.constant + self.coefficients @ point)

    def over(self, unit: float) -> Cut:
        """Return the cut on the value in these units."""
        return Cut(self.constant / unit, self.coefficients / unit)

    def lowered(self, floor: float, most: float) -> Cut:
        """Return the mean of the cut and the floor that says ``most`` where the cut says most over 0/1 points.

        What lies above ``most`` is no candidate for the optimum, however far above.
        """
        top = self.constant + float(np.maximum(self.coefficients, 0.0).sum())
        if top <= most:
            return self
        share = (most - floor) / (top - floor)
        return Cut(floor + share * (self.constant - floor), share * self.coefficients)

    def clipped(self, floor: float) -> Cut:
        """Return a cut that agrees at every 0/1 point where it is above ``floor``, with the least coefficients.

        With ``top = constant + sum of positive coefficients``, a coefficient below ``floor - top`` puts the cut under
        the floor wherever its variable is 1, and so does ``floor - top`` itself. Badly scaled data make coefficients
        of 1e8 and more, which LP solvers cannot tell from infinity. Not a minorant between the 0/1 points.
        """
        top = self.constant + float(np.maximum(self.coefficients, 0.0).sum())
        return Cut(self.constant, np.maximum(self.coefficients, min(0.0, floor - top)))

    def tightened(self, point: np.ndarray) -> Cut:
        """Return a feasibility cut, ``0 >= cut``, that forbids no further 0/1 point, and this one beyond tolerances.

        Where its value at the point is small beside its coefficients. With ``top`` as in
        ``clipped``, a coefficient beyond ``top`` in size, of either sign, decides the sign at 0/1 points alone, and so
        does one of size ``top``: coefficient tightening (Savelsbergh 1994). Half of the value is given away, lest
        errors of the cut, now large beside its coefficients, forbid a point where it is 0. Not for points between.
        """
        given, size = self.at(point), float(np.abs(self.coefficients).max(initial=0.0))
        if not 0.0 < given < FAINT * size:
            return self
        top = self.constant + float(np.maximum(self.coefficients, 0.0).sum())
        less = np.maximum(self.coefficients - top, 0.0)
        return Cut(self.constant + float(less.sum()) - 0.5 * given, np.maximum(self.coefficients - less, -top))

    def without_tiny(self, lower: np.ndarray, upper: np.ndarray) -> Cut:
        """Return a cut, weaker by next to nothing, without coefficients that solvers would drop.

        A solver that drops ``c x`` strengthens the cut; here the least value of ``c x`` over the bounds joins the
        constant instead. Coefficients of unbounded variables stay.
        """
        tiny = (np.abs(self.coefficients) <= TINY) & np.isfinite(lower) & np.isfinite(upper)
        small = np.where(tiny, self.coefficients, 0.0)
        least = np.minimum(small * np.where(tiny, lower, 0.0), small * np.where(tiny, upper, 0.0))
        return Cut(self.constant + float(least.sum()), np.where(tiny, 0.0, self.coefficients))


@dataclass(frozen=True)
class SubAnswer:
    """What a subproblem answers at one point of the complicating variables.

    ``value`` is attained by the values ``load`` puts on the model, ``bound`` is proven; ``value`` is None when the
    subproblem is infeasible there. ``prices`` (n,) estimate the slope of the value where the cut's coefficients say
    little: the order of exchanges follows them.
    """

    value: float | None
    bound: float
    cut: Cut | None
    load: Callable[[], None]
    values: Any = None
    prices: np.ndarray | None = None

    @property
    def guide(self) -> Cut | None:
        """The cut, by whose coefficients exchanges are chosen, with the prices in their place where there are some."""
        return self.cut if self.cut is None or self.prices is None else Cut(self.cut.constant, self.prices)


@dataclass(frozen=True)
class RelaxedAnswer:
    """The continuous relaxation of the master with the true subproblem, within bounds on the master's variables.

    ``bound`` is proven, ``reduced_costs`` are of the proof, ``point`` is near the optimum, and ``cut`` nearly tight
    there. ``choices`` are 0/1 points of the complicating variables worth a try as incumbents.
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
        """Return it to a relative gap of ``accuracy``, or any proof of ``enough``; None where it cannot, or may not."""


class Oracle(Protocol):
    """A fast replacement of the declarative subproblem, exact for the model as it was built."""

    def solve(self, point: np.ndarray, tolerance: float, time_limit: float | None) -> SubAnswer:
        """Answer at a point of shape (n,) to a relative gap of ``tolerance``."""


@dataclass
class Structure(Facts):
    """Facts about a model that a decomposition into master and subproblem may use.

    Parameters
    ----------
    complicating : list of Var data
        In the order of the coefficients of every ``Cut``.
    subproblem : list of Var components or data
        Variables solved while the complicating ones are fixed. Rows and objective terms without them go to the master.
    rows : list of Constraint components
        Rows known to hold subproblem variables only, so that nobody needs to walk them.
    coupling : list of components or None
        Rows, disjunctions or ordered sets that may hold both kinds; None allows every row (a textbook model without a
        builder).
    switches : list of (binary, variable)
        The variable is 0 while the binary is 0. With these variables fixed at 0 where the binary is 0, the coupling
        rows read at binary = 1 are the subproblem at any binary point.
    terms : list of named Expressions
        Parts of the objective known to hold subproblem variables only, so that nobody needs to walk them.
    oracle, cut, score : callables, optional
        Fast subproblem; cut from the rows of the subproblem and their multipliers (``row_cut.RowCut``); (model, data)
        -> validation error of the values that the model holds.
    suggest : callable, optional
        (fractional point, answer there) -> a point where the next cut is likely worth more.
    relaxation : Relaxation, optional
        Solves the continuous relaxation at once, for the model as built.
    floor : float, optional
        A bound below the subproblem's value at every point, for the model as built.
    parameters : callable, optional
        The values of the subproblem's mutable parameters now; while they stay, cuts of one run hold in the next.
    identity : callable, optional
        What else the subproblem's value depends on, as a value to be compared: two models with the same identity and
        parameters, of which neither is edited, have the same subproblem, and what is learnt of one holds of the other.
    carry : callable, optional
        (cut, parameters then, parameters now) -> a cut for the subproblem with the present parameters, or None.
    starts : list of arrays
        Points at which a first cut is worth having; they need not satisfy the master's rows.
    adapt : callable, optional
        An edited subproblem in numbers (``edited.EditedSub``) -> what answers for it (``edited.Adapted``); raises
        ``edited.Inexpressible`` where the oracle cannot take it.
    only_as_built : str
        What else holds for the model as built only (the proven big-M, say). Not empty: no solver may solve the model
        after an edit of its subproblem.
    instead : str
        What to do then, as a sentence.
    detached : callable, optional
        Returns an oracle with the method ``relax``, a ``Relaxation``, for the present values of mutable parameters. It
        does not know the model, so that it can be pickled; ``load`` of its answers does nothing useful.
    blocks : list of lists of Var components or data
        Parts of the subproblem that hang together by declaration, besides those that rows tie.
    told_by : str
        Who says all this, for ``explain_split``.
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
    told_by: str = field(default="the model's builder", kw_only=True)
    default_solver: str = field(default="benders", kw_only=True)
    built_coupling: AsBuilt | None = field(default=None, init=False)
    built_terms: list[Any] = field(default_factory=list, init=False)  # the objective's, of subproblem variables

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
        """Return the data of every subproblem variable, in order."""
        return data_of(self.subproblem)


def _coupling_constraints(structure: Structure) -> list[Any]:
    """Return the coupling row components; a disjunction's rows are those of its disjuncts."""
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
    """A subproblem as it stands: the builder's rows that are still there, and all else read off as numbers.

    - ``variables``: of the subproblem, the user's own that share rows with it last; ``complicating`` likewise.
    - ``kept``: the builder's rows, those of the coupling aside, that are active and as built.
    - ``rows``: all other linear rows, over the columns of ``variables`` and, after them, ``complicating``; its bounds
      are theirs, equal where a variable is fixed.
    - ``cost``: what is minimised of ``variables``.
    - ``edits``: what was edited, in words.
    """

    variables: Sequence[Any]
    complicating: Sequence[Any]
    kept: Sequence[Any]
    rows: LinearRows
    cost: Curve
    edits: Sequence[str]


@dataclass(frozen=True)
class Adapted:
    """What answers for an edited subproblem; ``detached`` as in ``Structure``."""

    oracle: Oracle
    relaxation: Relaxation
    detached: Callable[[], Any]


class Inexpressible(Exception):
    """What was edited is nothing that an oracle takes; the text names it."""


def stages_of(model: Any) -> tuple[list[Any], list[list[Any]]] | None:
    """Return the variables of stage 0, and those of each block in the order of their numbers; None without a Suffix.

    The Suffix ``stage`` of a model gives 0 to what is decided first (the master's), and k to block k:

        model.stage = pyo.Suffix()
        model.stage[model.acres] = 0  # a variable, an indexed one, one of its data,
        model.stage[model.scenario[1]] = 1  # or a block, and so every variable in it

    The nearest entry counts: of the data, its component, the block around it, that block's component, and so on
    outwards, then that of the key None, for all others. A Suffix is a component: ``clone()`` and pickle copy it.

    Raises
    ------
    ModelError
        If a stage is no whole number from 0 on, or is given to what is neither variable nor block.
    """
    reading = read(model)
    suffixes = [c for c in reading.components if c.ctype is pyo.Suffix and c.local_name == "stage"]
    if not suffixes:
        return None
    given: dict[int, int] = {}
    for suffix in suffixes:
        for component, stage in suffix.items():
            _check(suffix, component, stage)
            if component is not None:
                given.setdefault(id(component), int(stage))
    rest = {id(suffix.parent_block()): int(suffix[None]) for suffix in suffixes if None in suffix}
    around: dict[int, int | None] = {}  # by the component, what is said around it
    by_stage: dict[int, list[Any]] = {}
    for v in reading.variables:
        component = v.parent_component()
        if id(component) not in around:
            chain = list(_outwards(component))
            words = [given[id(c)] for c in chain if id(c) in given]
            words += [rest[id(c)] for c in chain if id(c) in rest]
            around[id(component)] = words[0] if words else None
        stage = given.get(id(v), around[id(component)])
        if stage is not None:
            by_stage.setdefault(stage, []).append(v)
    return by_stage.pop(0, []), [by_stage[k] for k in sorted(by_stage)]


def _check(suffix: Any, component: Any, stage: Any) -> None:
    """Refuse what is no stage, or no place for one."""
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


def _outwards(component: Any) -> Iterator[Any]:
    """Yield a component, the block data and block components around it, the model last."""
    yield component
    block = component.parent_block()
    while block is not None:
        yield block
        if (whole := block.parent_component()) is not block:
            yield whole
        block = block.parent_block()
