"""What the solvers inside a driver are told: words of the run, options of their slot, whether to show a log."""

from __future__ import annotations

import logging
from typing import Any

from solvers.errors import OptionError
from solvers.interfaces.registry import SolverSpec
from solvers.interfaces.runner import SolveOptions
from solvers.options import Config

_logger = logging.getLogger("solvers")


def lp_words(config: Config) -> SolveOptions:
    """Return what the solver of the linear programs is told."""
    return SolveOptions(seed=config.seed or 0, tee=config.shows("lp"), own=config.own("lp"))


def slot_words(config: Config, slot: str, **words: Any) -> SolveOptions:
    """Return what the solver of a slot is told, beside the run's own ``words``."""
    return SolveOptions(**words, tee=config.shows(slot), own=config.own(slot))


def sub_words(config: Config, **words: Any) -> SolveOptions:
    """Return what the solver of the subproblems is told, beside the run's own ``words``."""
    return slot_words(config, "sub", **words)


def master_words(config: Config, spec: SolverSpec, needed: dict[str, Any] | None = None) -> SolveOptions:
    """Return what the solver of the master is told.

    Its bound is the run's: it solves to a tenth of the gap, and tightly unless its options say otherwise. ``needed``:
    options without which the driver does not work.

    Raises
    ------
    OptionError
        For another value of an option that the driver needs.
    """
    own, needed = config.own("master"), needed or {}
    if "gap" in spec.takes_no:
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
    told = {name.lower() for name in own}
    tight = {name: value for name, value in {**spec.tight, **needed}.items() if name.lower() not in told}
    return SolveOptions(
        gap=config.gap / 10,
        threads=config.threads,
        seed=config.seed,
        tee=config.shows("master"),
        own={**tight, **own},
    )
