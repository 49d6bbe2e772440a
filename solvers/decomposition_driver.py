"""What the Benders drivers share: the model in two parts, and the subproblem by oracle or by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyomo.environ as pyo

from solvers.decomposition import Split, implied_structure, is_declared, split
from solvers.driver import Config, Driver
from solvers.errors import OptionError
from solvers.interfaces import Runner, SolveOptions
from solvers.registry import Capability as C
from solvers.registry import either, require
from solvers.structure import Structure, facts_of
from solvers.subproblem import FixingSubproblem, OracleSubproblem, Subproblem, SwitchedSubproblem


@dataclass
class DecompositionConfig(Config):
    """Options of every Benders driver, besides those of every driver.

    Attributes
    ----------
    sub_solver : str
        Solver of the declarative subproblem; naming one means ``oracle="pyomo"``.
    oracle : "auto" or "pyomo"
        "pyomo" runs the declarative subproblem even where a fast oracle is at hand.
    choose_by : "objective" or "validation"
        What is kept of the points met: that of least objective, or that of least error on ``validation``.
    validation : object, optional
        Data the model's structure can score, for ``choose_by="validation"``.
    complicating, subproblem, coupling : lists, optional
        For a model without a structure: which variables the master has, which the subproblem, and which rows may hold
        both (default: everything else, and any row).
    """

    sub_solver: str | None = None
    oracle: str = "auto"
    choose_by: str = "objective"
    validation: Any = None
    complicating: Any = None
    subproblem: Any = None
    coupling: Any = None


class DecompositionDriver(Driver):
    """A driver over a master and a subproblem; a subclass builds its master in ``prepare_master``."""

    asks = Structure
    config: DecompositionConfig
    parts: Split

    def sees(self, component: Any) -> bool:
        """Take the disjunctions that a builder declared as the coupling."""
        facts = facts_of(self.model)
        return self.config.complicating is None and isinstance(facts, Structure) and is_declared(facts, component)

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
                'choose_by="validation" keeps what errs least on validation=DATA and not the best objective: give '
                f"{missing} too, or neither."
            )
        structure = self.structure = self._structure()
        if c.validation is not None and structure.score is None:
            raise OptionError("validation= needs a model that can score data; this one has no structure that does.")
        self.parts = split(self.model, structure)
        self.sign = self.parts.sign
        self.parts.check_separable(either(C.MIQCP))
        self._subproblem = self._choose_subproblem()
        self.prepare_master(structure.floor if self.parts.as_built else None)

    def prepare_master(self, floor: float | None) -> None:
        """Build the master; ``floor`` is a bound below the subproblem's value, where one is known."""
        raise NotImplementedError

    @property
    def subproblem(self) -> pyo.ConcreteModel | None:
        """The declarative subproblem; None where a fast oracle answers instead."""
        return self._subproblem.model

    def _structure(self) -> Structure:
        c = self.config
        told = facts_of(self.model)
        structure = told if isinstance(told, Structure) else None
        if c.complicating is None:
            if structure is None:
                raise OptionError(f"{self.name} needs to know the complicating variables: give complicating=[model.x].")
            return structure
        if structure is not None:
            structure.check_stated("complicating= is given")
        implied = implied_structure(self.model, _listed(c.complicating), _listed(c.subproblem))
        implied.coupling = _listed(c.coupling)
        return implied

    def _choose_subproblem(self) -> Subproblem:
        c, structure = self.config, self.structure
        if structure.oracle is not None and self.parts.as_built and c.oracle == "auto" and c.sub_solver is None:
            return OracleSubproblem(self.parts)
        edits = [*self.parts.edits, *self.parts.mixed]
        structure.check_stated(f"{edits[0]} is edited" if edits else "a declarative subproblem is asked for")
        options = SolveOptions(threads=c.threads)
        if structure.switches:
            spec = require(c.sub_solver or "clarabel", C.QP | C.QCP | C.QP_DUALS)
            switched = SwitchedSubproblem(self.parts, Runner(spec, options))
            switched.check_cut()
            return switched
        needed = C.LP | C.LP_DUALS if _linear(self.parts) else C.QP | C.QP_DUALS
        default = "highs" if _linear(self.parts) else "clarabel"
        return FixingSubproblem(self.parts, Runner(require(c.sub_solver or default, needed), options))


def _linear(parts: Split) -> bool:
    return all(t.polynomial_degree() in (0, 1) for t in parts.subproblem_terms if hasattr(t, "polynomial_degree"))


def _listed(components: Any) -> Any:
    return components if components is None or isinstance(components, list | tuple) else [components]
