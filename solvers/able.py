"""Who can solve a model: the drivers that can take it apart, and the solvers of its class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from solvers.drivers.catalogue import DRIVERS
from solvers.errors import Error
from solvers.facts.base import facts_of
from solvers.interfaces.registry import SOLVERS, default_solver, names
from solvers.interfaces.registry import Capability as C
from solvers.model.classes import needs
from solvers.model.convexity import is_convex
from solvers.model.unseen import unseen
from solvers.reading import read


@dataclass(frozen=True)
class Takers:
    """Who can solve a model, installed here or not.

    Attributes
    ----------
    default : str
        Who solves it where nobody is named.
    drivers : list of str
        That take it apart without being told how.
    whole : list of str
        Solvers of its class; none where the model leaves rows to a driver.
    local : list of str
        The same, without a proof of optimality.
    """

    default: str
    drivers: list[str]
    whole: list[str]
    local: list[str]


def takers(model: Any) -> Takers:
    """Return who can solve a model.

    Examples
    --------
    >>> import fsmodels as fs
    >>> found = takers(fs.fsp.fsp_m(fs.load_dataset("bupa").scaled("standard"), max_features=2))
    >>> found.default, found.drivers[:2]
    ('branch-and-cut', ['benders', 'branch-and-cut'])
    """
    facts = facts_of(model)
    drivers = [name for name in DRIVERS if _takes(name, model)]
    classes = [] if facts is not None and facts.implicit else _classes(model)
    able = list(dict.fromkeys(name for capability in classes for name in names(capability, installed=False)))
    default = facts.default_solver if facts is not None and facts.default_solver else default_solver(classes).name
    whole = [name for name in able if not SOLVERS[name].local]
    return Takers(default, drivers, whole, [name for name in able if SOLVERS[name].local])


def _takes(name: str, model: Any) -> bool:
    """Tell whether a driver takes a model apart; it solves nothing."""
    try:
        DRIVERS[name].kind_for(model, {})(model)
    except Error:
        return False
    return True


def _classes(model: Any) -> list[C]:
    """Return what a solver of the whole model must be able to do, as alternatives."""
    reading = read(model)
    hidden = unseen(reading)
    if hidden:
        return [C.SOS, C.NLP] if hidden == ["Complementarity"] else [C.SOS]
    needed = needs(reading)
    if needed == [C.QP] and not all(is_convex(o.expr, float(o.sense)) for o in reading.objectives):
        return [C.NONCONVEX, C.NLP]
    return needed
