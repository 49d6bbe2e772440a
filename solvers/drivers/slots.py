"""Options of the solvers inside a driver: those of the run, those of their slot, and whether to show a log."""

from __future__ import annotations

import logging
from typing import Any

from solvers.errors import OptionError
from solvers.interfaces.registry import SolverSpec
from solvers.interfaces.runner import SolveOptions
from solvers.options import Config

_logger = logging.getLogger("solvers")


def lp_words(config: Config) -> SolveOptions:
    """Return the options of the LP solver."""
    return SolveOptions(seed=config.seed or 0, tee=config.shows("lp"), own=config.own("lp"))


def slot_words(config: Config, slot: str, **words: Any) -> SolveOptions:
    """Return the options of the solver of a slot, with those of the run in ``words``."""
    return SolveOptions(**words, tee=config.shows(slot), own=config.own(slot))


def master_words(config: Config, spec: SolverSpec, needed: dict[str, Any] | None = None) -> SolveOptions:
    """Return the options of the master solver.

    Its bound is the bound of the run, so that it solves to a tenth of the gap and with tight tolerances, unless its
    options differ. ``needed``: options that the driver requires.

    Raises
    ------
    OptionError
        For another value of an option that the driver needs.
    """
    own, needed = config.own("master"), needed or {}
    if "gap" in spec.unsupported_options:
        _logger.warning(
            "Pyomo passes no gap to %s: it solves each master to its own. Give it by master_options where that is not "
            "enough.",
            spec.name,
        )
    for name in own:
        for held, value in needed.items():
            if name.lower() == held.lower() and own[name] != value:
                raise OptionError(
                    f"master_options {name}={own[name]!r} is not allowed: the driver needs {held}={value!r}. Leave it "
                    "out."
                )
    given = {name.lower() for name in own}
    tight = {name: value for name, value in {**spec.tight_options, **needed}.items() if name.lower() not in given}
    return SolveOptions(
        gap=config.gap / 10,
        threads=config.threads,
        seed=config.seed,
        tee=config.shows("master"),
        own={**tight, **own},
    )
