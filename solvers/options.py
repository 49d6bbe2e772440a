"""The options of all solves, and the check of the types of options by the annotations of a ``Config``.

Without the check, a number as text, a list in place of a name, or a solver object in place of a name would fail inside
a run, or be misinterpreted, as ``root_limit="x"`` was.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import math
import numbers
import types
import typing
from collections.abc import Callable
from typing import Any, ClassVar, Protocol

import numpy as np

from solvers.errors import OptionError

__all__ = ["Config", "SolverObject", "check_limits", "check_types"]

LEAST = {"time_limit": 0, "gap": 0, "iteration_limit": 1, "threads": 1, "patience": 1, "root_limit": 0}
LARGEST_SEED = 2**31 - 1  # that all solvers accept
MOST_GAP = 1.0  # with this gap any point would be optimal


TIME_LIMITS = {"time_limit", "timelimit", "limits/time", "maxtime", "max_wall_time", "max_cpu_time", "sec", "tmlim"}
PROGRAMS = "In Python also: "  # options that are not available on the command line
TABLE = "table"  # the iteration table of a driver, which ``tee=True`` prints


class SolverObject(Protocol):
    """A Pyomo solver object, which is accepted in place of the name of a solver."""

    def solve(self, model: Any, **options: Any) -> Any:
        """Solve a model."""
        ...


def _is_number(x: Any) -> bool:
    if not isinstance(x, numbers.Real) or isinstance(x, bool):
        return False
    try:
        return not math.isnan(x)
    except OverflowError:  # an integer beyond floating point
        return False


# Annotation -> (predicate of a value, name of the type in messages).
_KINDS: dict[Any, tuple[Any, str]] = {
    bool: (lambda x: isinstance(x, bool | np.bool_), "True or False"),
    int: (lambda x: isinstance(x, numbers.Integral) and not isinstance(x, bool), "a whole number"),
    float: (_is_number, "a number"),
    str: (lambda x: isinstance(x, str), "a name in quotes"),
    collections.abc.Callable: (callable, "a function"),
    collections.abc.Sequence: (lambda x: isinstance(x, collections.abc.Sequence) and not isinstance(x, str), "a list"),
    collections.abc.Mapping: (lambda x: isinstance(x, collections.abc.Mapping), "a mapping from option to value"),
    SolverObject: (
        lambda x: callable(getattr(x, "solve", None)) and not isinstance(x, type),
        "a Pyomo solver object",
    ),
    tuple: (lambda x: isinstance(x, list | tuple) and len(x) == 2 and all(map(_is_number, x)), "a pair of numbers"),
}


def check_types(config: type, options: dict[str, Any]) -> None:
    """Reject options whose value is not of the type in a dataclass of options; None is allowed if it is the default.

    Raises OptionError, with the value and what is allowed.
    """
    hints = typing.get_type_hints(config)
    defaults = {f.name: f.default for f in dataclasses.fields(config)}
    for option, value in options.items():
        if option in hints and not (value is None and defaults[option] is None):
            _check(option, value, hints[option])


def _check(option: str, value: Any, hint: Any) -> None:
    parts = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    wanted = [part for part in parts if part is not types.NoneType]
    if Any in wanted:
        return
    allowed = []
    for part in wanted:
        kind = typing.get_origin(part) or part
        fits, what = _KINDS.get(kind) or (_instance(kind), f"a {kind.__module__.split('.')[0]}.{kind.__name__}")
        if fits(value):
            return
        allowed.append("the name of a solver" if kind is str and option.endswith("solver") else what)
    left_out = ", or leave it out" if types.NoneType in parts else ""
    raise _not_allowed(option, value, f"{' or '.join(allowed)}{left_out}")


def _instance(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kind)


def listed(config: type) -> str:
    """Return a text that lists the options of a dataclass: those of the command line, and those in Python only."""
    hints = typing.get_type_hints(config)
    names = [f.name for f in dataclasses.fields(config)]
    typed = [name for name in names if {bool, int, float, str} & set(typing.get_args(hints[name]) or (hints[name],))]
    rest = [name for name in names if name not in typed]
    return f"Its options: {', '.join(typed)}." + (f" {PROGRAMS}{', '.join(rest)}." if rest else "")


@dataclasses.dataclass
class Config:
    """Options of all drivers.

    - ``time_limit``: seconds for the whole run; each solve in it gets the time that is left.
    - ``gap``: relative gap at which to stop.
    - ``iteration_limit``: int.
    - ``threads``, ``seed``: for the solvers that the driver uses; with a fast oracle ``branch-and-cut`` explores its
      tree with ``threads`` processes.
    - ``tee``: True prints the iteration table while it grows; one or several of "table", "master", "sub" and "lp" print
      the table and the logs of the solvers in these slots.
    - ``callback``: called with each row of the table as a dict; returning True stops the run.
    - ``renamed``: removed names of options -> the alternative.
    """

    renamed: ClassVar[dict[str, str]] = {}
    time_limit: float | None = None
    gap: float = 1e-4
    iteration_limit: int | None = None
    threads: int | None = None
    seed: int | None = None
    tee: bool | str | collections.abc.Sequence[str] = False
    callback: Callable[[dict[str, Any]], Any] | None = None

    @classmethod
    def slots(cls) -> list[str]:
        """Return the names of the slots for solvers, such as "master" for the option ``master_solver``."""
        return [f.name.removesuffix("_solver") for f in dataclasses.fields(cls) if f.name.endswith("_solver")]

    def own(self, slot: str) -> dict[str, Any]:
        """Return the options for the solver in a slot, by the names of that solver."""
        return dict(getattr(self, f"{slot}_options", None) or {})

    def shows(self, what: str) -> bool:
        """Return True if the table, or the log of the solver in a slot, is to be printed."""
        shown = [self.tee] if isinstance(self.tee, str) else self.tee
        return what == TABLE and bool(shown) if isinstance(shown, bool | np.bool_) else what in shown

    def check_own(self) -> None:
        """Reject a time limit among the options of a slot: each solve gets the time that is left in the run.

        Raises OptionError.
        """
        for slot in self.slots():
            for name, value in self.own(slot).items():
                if name.lower() in TIME_LIMITS:
                    raise OptionError(f"{slot}_options {name}={value!r} is not allowed: give the driver's time_limit.")

    def check_tee(self) -> None:
        """Raise OptionError if ``tee`` names a slot that the driver does not have."""
        if isinstance(self.tee, bool | np.bool_):
            return
        allowed = [TABLE, *self.slots()]
        if any(name not in allowed for name in ([self.tee] if isinstance(self.tee, str) else self.tee)):
            raise OptionError(
                f"tee={self.tee!r} is not allowed: give True, False, or one or a list of {', '.join(allowed)}."
            )


def check_limits(options: dict[str, Any]) -> None:
    """Check the limits, the gap and the seed of drivers and of solvers of whole models. Raises OptionError."""
    check_types(Config, options)
    for option, least in LEAST.items():
        value = options.get(option)
        if isinstance(value, int | float) and not value >= least:
            raise _not_allowed(option, value, f"a number of at least {least}, or leave it out")
    gap = options.get("gap")
    if gap is not None and gap >= MOST_GAP:
        allowed = f"a share of at least 0 and below {MOST_GAP:g}, such as 0.01 for 1%, or leave it out (1e-4)"
        raise _not_allowed("gap", gap, allowed)
    seed = options.get("seed")
    if seed is not None and not 0 <= seed <= LARGEST_SEED:
        raise _not_allowed("seed", seed, f"a whole number in 0..{LARGEST_SEED}, or leave it out")


def _not_allowed(option: str, value: Any, allowed: str) -> OptionError:
    return OptionError(f"{option}={value!r} is not allowed: give {allowed}.", parameter=option)
