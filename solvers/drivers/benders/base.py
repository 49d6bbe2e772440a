"""Base class of the Benders drivers: it splits the model and chooses the solver of the subproblem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo

from solvers.drivers.base import ENDLESS, Driver, End
from solvers.drivers.benders.block_subproblem import BlockSubproblem
from solvers.drivers.benders.declared import structure_of
from solvers.drivers.benders.master import with_linear_products, without_complements
from solvers.drivers.benders.relaxation import UnboundedProblem, relax_whole
from solvers.drivers.benders.split import SplitModel, adapted, floor_of, is_declared, split
from solvers.drivers.benders.switched import SwitchedSubproblem
from solvers.drivers.solver_options import slot_solver_options
from solvers.errors import ModelError, OptionError, SolverError
from solvers.facts.base import facts_of
from solvers.facts.structure import Oracle, Relaxation, Structure, SubAnswer
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import either, require
from solvers.interfaces.runner import Runner
from solvers.options import Config, SolverObject
from solvers.result import SolutionStatus, StopReason
from solvers.values import put_back


@dataclass
class DecompositionConfig(Config):
    """Options of every Benders driver, in addition to those of every driver.

    - ``sub_solver``, ``sub_options``: solver of the subproblem by its rows, and its own options; either of them implies
      ``oracle="pyomo"``.
    - ``oracle``: "pyomo" solves the subproblem by its rows even if the model has a fast oracle.
    - ``choose_by``: the point to keep, "objective" for the least objective or "validation" for the least error on
      ``validation``.
    - ``validation``: data that the structure of the model can score, for ``choose_by="validation"``.
    - ``complicating``, ``subproblem``, ``coupling``: for a model without a structure, the variables of the master,
      those of the subproblem, and the rows that may contain both. Defaults: the Suffix ``stage`` of the model, or its
      integers and the copies that rows declare to be equal (``copies``); all other variables; all rows.
    - ``blocks``: lists of variables, or Pyomo blocks, that are independent once the master is fixed. Other variables
      belong to the master unless ``complicating`` is given. Blocks without common rows are found automatically.
    - ``assume_convex``: assume that rows of the subproblem (g(y, x) <= upper, or g(y, x) >= lower with -g) and terms of
      its objective are convex if this is not proven and they are not quadratic. Then no bound and no infeasibility is
      proven: the status is ``feasible`` or ``no_solution``, and ``details["bound_if_convex"]`` is the bound under the
      assumption.
    """

    sub_solver: str | SolverObject | None = None
    sub_options: Mapping[str, Any] | None = None
    oracle: str = "auto"
    choose_by: str = "objective"
    validation: Any = None
    complicating: Any = None
    blocks: Any = None
    subproblem: Any = None
    coupling: Any = None
    assume_convex: bool = False


class DecompositionDriver(Driver):
    """A driver with a master and a subproblem; a subclass implements ``prepare_master`` and ``run``."""

    facts_type = Structure
    writes_logic = True
    config: DecompositionConfig
    parts: SplitModel

    def sees(self, component: Any) -> bool:
        """Return whether a component is a disjunction or ordered set that a builder declared as coupling."""
        facts = facts_of(self.model)
        by_options = self.config.complicating is not None or self.config.blocks is not None
        return not by_options and isinstance(facts, Structure) and is_declared(facts, component)

    def prepare(self) -> None:
        """Split the model, choose the subproblem and build the master."""
        c = self.config
        if c.oracle not in ("auto", "pyomo"):
            raise OptionError(f'oracle="{c.oracle}" is not known: use "auto" or "pyomo".')
        if c.choose_by not in ("objective", "validation"):
            raise OptionError(f'choose_by="{c.choose_by}" is not known: use "objective" or "validation".')
        if (c.choose_by == "validation") != (c.validation is not None):
            missing = "validation=DATA" if c.validation is None else 'choose_by="validation"'
            raise OptionError(
                'choose_by="validation" keeps the point with the least error on validation=DATA instead of the best '
                f"objective: give {missing} too, or neither."
            )
        structure = structure_of(
            self.cache,
            self.name,
            complicating=c.complicating,
            blocks=c.blocks,
            subproblem=c.subproblem,
            coupling=c.coupling,
        )
        if c.validation is not None and structure.score is None:
            raise OptionError("validation= needs a model whose structure can score data; this model has none.")
        self.parts = with_linear_products(without_complements(split(self.cache, structure)))
        self.parts, why_slow = adapted(self.parts)
        self.parts.check_facts()
        self.structure = self.parts.structure
        self.parts.check_separable()
        self._note_edits(why_slow)
        self._subproblem = self._choose_subproblem()
        if isinstance(self._subproblem, BlockSubproblem):
            self.assumed = self._subproblem.assumed
        self.prepare_master(floor_of(self.parts))

    def loop(self) -> End:
        """Run; if a problem inside is unbounded, claim that the model is: ``solve`` verifies the claim."""
        try:
            return self.run()
        except UnboundedProblem as error:
            if self._bound_at_hand() is not None:  # the data prove a bound
                self.message = f"{error} The data prove a bound: its solver failed."
                return StopReason.SOLVER_ERROR, None
            self.message = f"{error} {ENDLESS}"
        except SolverError as error:
            if self.best is None:
                raise
            self.message = str(error)
            return StopReason.SOLVER_ERROR, None
        self.forget()
        return StopReason.CONVERGED, SolutionStatus.UNBOUNDED

    def complete_point(self) -> None:
        """Set the binaries and the copies of variables that the master leaves out."""
        put_back([(z, 1.0 - round(x.value)) for x, z in self.parts.complements])
        copies = self.structure.copies
        put_back([] if copies is None else [(copy, x.value) for x, copy in copies.values])

    def run(self) -> End:
        """Run; return the reason to stop, and the status if the gap does not determine it."""
        raise NotImplementedError

    def find_floor(self) -> tuple[float, np.ndarray | None]:
        """Return a lower bound for an unbounded master, and a point, as ``relax_whole`` does.

        Raises
        ------
        UnboundedProblem
            If there is no bound.
        """
        inside = self._subproblem
        x, every = self.structure.complicating, self.parts.master_variables
        if not isinstance(inside, BlockSubproblem) and _boxed(x) and not _boxed(every):
            # Over bounded x one cut bounds the subproblem from below: the ray is in the master's other variables.
            raise UnboundedProblem("The master is unbounded.")
        if not isinstance(inside, BlockSubproblem | SwitchedSubproblem):
            return -np.inf, None
        with self.timing("master"):
            return relax_whole(self.parts, inside.runner, self.clock.left)

    def solve_subproblem(self, point: np.ndarray, tolerance: float) -> SubAnswer | None:
        """Solve the subproblem at a point of the complicating variables; return None when time is up."""
        with self.timing("subproblem"):
            return self._subproblem.solve(point, tolerance, self.clock.left)

    def score_of(self, answer: SubAnswer) -> float | None:
        """Load an answer and return its validation error; None without ``validation``."""
        if self.config.validation is None or self.structure.score is None:
            return None
        answer.load()
        return float(self.structure.score(self.model, self.config.validation))

    def prepare_master(self, floor: float | None) -> None:
        """Build the master; ``floor`` is a lower bound of the subproblem's value, if one is known."""
        raise NotImplementedError

    @property
    def subproblem(self) -> pyo.ConcreteModel | None:
        """The subproblem as a Pyomo model; None if an oracle or linear programs over arrays are used instead."""
        return self._subproblem.model if isinstance(self._subproblem, SwitchedSubproblem) else None

    @property
    def by_oracle(self) -> bool:
        """Whether the structure's oracle solves the subproblem."""
        return self._subproblem is self.structure.oracle

    @property
    def relaxation(self) -> Relaxation | None:
        """The function that solves the continuous relaxation of the model at once, if there is one."""
        if isinstance(self._subproblem, BlockSubproblem):
            return self._subproblem.relaxation
        return self.structure.relaxation if self.by_oracle else None

    def _note_edits(self, why_slow: str) -> None:
        """Record which facts of the builder do not hold after edits; ``why_slow``: the edit that no oracle handles."""
        structure, edits = self.structure, [*self.parts.edits, *self.parts.mixed]
        if structure.built is None:
            return
        if structure.oracle is not None and self.config.oracle == "auto" and not self.parts.taken:
            self.dropped.add("the builder's oracle, which is many times faster", [why_slow] if why_slow else edits)
        if structure.starts:
            self.dropped.add("the builder's starting points", edits, quiet=True)
        if structure.suggest is not None:
            self.dropped.add("the points that the builder suggests", edits, quiet=True)
        self.dropped.add("cuts and answers of earlier runs", edits, quiet=True)

    def _choose_subproblem(self) -> Oracle | SwitchedSubproblem | BlockSubproblem:
        c, structure = self.config, self.structure
        chosen = c.sub_solver is not None or c.sub_options is not None or c.shows("sub")
        by_oracle = self.parts.as_built or self.parts.taken
        if structure.oracle is not None and by_oracle and c.oracle == "auto" and not chosen:
            return structure.oracle
        edits = [*self.parts.edits, *self.parts.mixed]
        structure.check_stated(f"{edits[0]} is edited" if edits else "a subproblem by rows is requested")
        if structure.switches and structure.cut is None:
            edited = f" ({edits[0]} edits it)" if edits else ""
            on = structure.complicating[0].parent_component().name
            way = f"state your rows on {on} only and leave out sub_solver" if structure.oracle else "name no solver"
            raise ModelError(
                f'"{self.name}" needs a cut for the subproblem{edited}, and the model\'s builder gives none: {way}, or '
                f"solve the whole model by name: {either(C.SOS)}."
            )
        options = slot_solver_options(c, "sub", threads=c.threads)
        if structure.switches:
            spec = require(c.sub_solver or "clarabel", C.QP | C.QCP | C.QP_DUALS)
            switched = SwitchedSubproblem(self.parts, Runner(spec, options))
            switched.check_cut()
            return switched
        return BlockSubproblem(self.parts, c.sub_solver, options, assume_convex=c.assume_convex)


def _boxed(variables: list[Any]) -> bool:
    """Return whether all variables are bounded."""
    return all(v.fixed or None not in v.bounds for v in variables)
