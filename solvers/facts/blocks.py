"""What a model tells the driver that alternates: its blocks of variables, and the penalty that ties them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pyomo.environ as pyo

from solvers.errors import OptionError
from solvers.facts.base import Facts


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
