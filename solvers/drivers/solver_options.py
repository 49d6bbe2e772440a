"""Options of the solvers inside a driver, for each role ("slot"): "master", "sub" and "lp"."""

from __future__ import annotations

import logging
from typing import Any

from solvers.errors import OptionError
from solvers.interfaces.registry import SolverSpec
from solvers.interfaces.runner import SolveOptions
from solvers.options import Config

_logger = logging.getLogger("solvers")


def lp_solver_options(config: Config) -> SolveOptions:
    """Return the options of the LP solver."""
    return SolveOptions(seed=config.seed or 0, tee=config.shows("lp"), own=config.own("lp"))


def slot_solver_options(config: Config, slot: str, **common: Any) -> SolveOptions:
    """Return the options of the solver in a slot; ``common``: options of the run."""
    return SolveOptions(**common, tee=config.shows(slot), own=config.own(slot))


def master_solver_options(config: Config, spec: SolverSpec, needed: dict[str, Any] | None = None) -> SolveOptions:
    """Return the options of the master solver.

    Its bound is the bound of the run. Therefore it solves to a tenth of the gap and with tight tolerances, unless its
    options differ. ``needed``: options that the driver requires.

    Raises
    ------
    OptionError
        For another value of an option that the driver needs.
    """
    own, needed = config.own("master"), needed or {}
    if "gap" in spec.unsupported_options:
        _logger.warning(
            "Pyomo passes no gap to %s, which solves each master to its default gap. If necessary, set the gap in "
            "master_options.",
            spec.name,
        )
    for name in own:
        for held, value in needed.items():
            if name.lower() == held.lower() and own[name] != value:
                raise OptionError(
                    f"master_options {name}={own[name]!r} is not allowed: the driver needs {held}={value!r}. Leave it "
                    "out."
                )
    set_by_user = {name.lower() for name in own}
    tight = {name: value for name, value in {**spec.tight_options, **needed}.items() if name.lower() not in set_by_user}
    return SolveOptions(
        gap=config.gap / 10,
        threads=config.threads,
        seed=config.seed,
        tee=config.shows("master"),
        own={**tight, **own},
    )
