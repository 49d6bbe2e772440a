"""The options of the Clarabel interface: the words every solver here takes, and Clarabel's own settings, checked."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from solvers.errors import OptionError

_WORDS = {"iteration_limit": "max_iter", "threads": "max_threads", "gap": "tol_gap_rel"}
# A gap of e leaves multipliers of cone rows wrong by sqrt(e): 3e-4 at Clarabel's 1e-8, measured. So the aim is a
# thousandth of the tolerance, for a tenth more iterations; what ends between the two (AlmostSolved) is solved.
_TOLERANCE = 1e-8
_AIM = {"tol_gap_abs": 1e-3, "tol_gap_rel": 1e-3, "tol_feas": 0.1}
_OURS = ("verbose", "presolve_enable", "input_sparse_dropzeros", "pardiso_iparm", "pardiso_verbose")


def settings_of(options: Mapping[str, Any]) -> tuple[dict[str, Any], float]:
    """Check options and return Clarabel's settings, and the time limit in seconds.

    Raises OptionError if an option is unknown (with the nearest match) or its value is not allowed.

    >>> settings, limit = settings_of({"iteration_limit": 50, "time_limit": 10})
    >>> settings["max_iter"], limit
    (50, 10.0)
    """
    import clarabel

    defaults = clarabel.DefaultSettings()
    own = {name for name in dir(defaults) if not name.startswith("_")} - {"default", *_OURS}
    known = sorted(own | set(_WORDS) | {"tolerance", "time_limit"})
    settings: dict[str, Any] = {}
    for name, aim in _AIM.items():
        settings[name], settings[f"reduced_{name}"] = aim * _TOLERANCE, _TOLERANCE
    for name in ("tol_infeas_abs", "tol_infeas_rel", "tol_ktratio"):
        settings[f"reduced_{name}"] = getattr(defaults, name)
    limit = math.inf
    for word, value in options.items():
        if word not in known:
            close = difflib.get_close_matches(str(word), known, n=1)
            hint = f'Did you mean "{close[0]}"? ' if close else ""
            msg = f'Clarabel has no option "{word}" (value {value!r}). {hint}It takes: {", ".join(known)}.'
            raise OptionError(msg)
        if value is None:
            continue
        if word == "time_limit":
            limit = _checked(word, value, 0.0)
            continue
        if word == "tolerance":
            accepted = _checked(word, value, _TOLERANCE)
            for name, aim in _AIM.items():
                settings[name], settings[f"reduced_{name}"] = aim * accepted, accepted
        else:
            name = _WORDS.get(word, word)
            settings[name] = _checked(word, value, getattr(defaults, name))
    return settings, limit


def accepted_as_aim(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings that aim at no more than what they accept."""
    return {**settings, **{name: max(settings[name], settings[f"reduced_{name}"]) for name in _AIM}}


def _checked(word: str, value: Any, default: Any) -> Any:
    kind = type(default)
    numeric = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if kind is float and numeric and value >= 0:
        return float(value)
    if kind is int and numeric and value == int(value) and value >= 0:
        return int(value)
    if kind in (bool, str) and isinstance(value, kind):
        return value
    allowed = {float: "a number from 0 on", int: "a whole number from 0 on", bool: "True or False"}.get(kind, "a name")
    msg = f"{word}={value!r} is not allowed: Clarabel takes {allowed} (default {default})."
    raise OptionError(msg)
