"""Calls of Clarabel with checked options.

- ``Engine``: for compiled models. The solver object is kept for programs with one pattern of nonzeros. If an attempt is
  not decisive, others follow: from a fresh start, with other scaling, and with larger tolerances. A ray means
  unbounded only if there is a feasible point.
- ``solve_qp``, ``nearest_point``: for programs as arrays, with one thread, one attempt and no output.
"""

from __future__ import annotations

import difflib
import logging
import math
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, TextIO

import numpy as np
from scipy import sparse

from solvers import interrupt
from solvers.clarabel.program import StandardForm
from solvers.errors import OptionError

_WORDS = {"iteration_limit": "max_iter", "threads": "max_threads", "gap": "tol_gap_rel"}
# With a gap of e, multipliers of cone rows have errors of sqrt(e): measured 3e-4 at Clarabel's default 1e-8. Therefore
# the target is a thousandth of the tolerance, which takes a tenth more iterations; a result between the two
# (AlmostSolved) is accepted as solved.
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
            raise OptionError(f'Clarabel has no option "{word}" (value {value!r}). {hint}Options: {", ".join(known)}.')
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


def _checked(word: str, value: Any, default: Any) -> Any:
    kind = type(default)
    numeric = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if kind is float and numeric and value >= 0:
        return float(value)
    if kind is int and numeric and value == int(value) and value >= 0:
        return int(value)
    if kind in (bool, str) and isinstance(value, kind):
        return value
    allowed = {float: "a number of at least 0", int: "a whole number of at least 0", bool: "True or False"}
    raise OptionError(f"{word}={value!r} is not allowed: give {allowed.get(kind, 'a name')} (default {default}).")


logger = logging.getLogger(__name__)

_ALMOST = {  # the reduced tolerances are the requested ones, so these are full results
    "AlmostSolved": "Solved",
    "AlmostPrimalInfeasible": "PrimalInfeasible",
    "AlmostDualInfeasible": "DualInfeasible",
}
_DECISIVE = ("Solved", "PrimalInfeasible", "DualInfeasible", "MaxTime", "MaxIterations", "CallbackTerminated")


@dataclass
class Ending:
    """Result of Clarabel; the additional status ``Unbounded`` means a ray and a feasible point."""

    status: str
    x: np.ndarray
    z: np.ndarray
    iterations: int = 0
    seconds: float = 0.0

    @property
    def solved(self) -> bool:
        """Whether x and z are optimal to full accuracy."""
        return self.status == "Solved"

    @property
    def finite(self) -> bool:
        """Whether point and multipliers are finite."""
        return bool(np.all(np.isfinite(self.x)) and np.all(np.isfinite(self.z)))


def _ending(solution: Any) -> Ending:
    status, iterations = str(solution.status), int(solution.iterations)
    x, z = np.array(solution.x), np.array(solution.z)
    return Ending(_ALMOST.get(status, status), x, z, iterations, float(solution.solve_time))


def _nothing(program: StandardForm, status: str) -> Ending:
    return Ending(status, np.zeros(program.A.shape[1]), np.zeros(program.A.shape[0]))


class Engine:
    """One solver object of Clarabel, kept between solves.

    Attributes
    ----------
    setups, updates : int
        Number of created solver objects, and of solves that only replaced numbers.
    """

    def __init__(self) -> None:
        self.setups = self.updates = 0
        self._solver: Any = None
        self._program: StandardForm | None = None

    def forget(self) -> None:
        """Free the solver object."""
        self._solver = self._program = None

    def run(
        self, program: StandardForm, settings: dict[str, Any], deadline: float, shown: Sequence[TextIO] = ()
    ) -> Ending:
        """Solve; if the result is not decisive, repeat from a fresh start, with other scaling, and with larger targets.

        Beyond the accuracy of the arithmetic the iterates become worse, so the target is then the accepted tolerance.
        ``shown``: streams of the log. ``deadline``: a time of ``perf_counter``.
        """
        settings = {**settings, "verbose": bool(shown)}
        if program.contradiction:
            return _nothing(program, "PrimalInfeasible")
        if program.A.shape[1] == 0:  # nothing to decide
            wrong = bool(np.any(np.abs(program.b) > 1e-8)) if len(program.b) else False
            return _nothing(program, "PrimalInfeasible" if wrong else "Solved")
        run = self._attempt(program, settings, deadline, shown, keep=True)
        if run.status not in _DECISIVE:
            logger.debug("Clarabel ended with %s; solving again.", run.status)
            other = {**settings, "equilibrate_enable": not settings.get("equilibrate_enable", True)}
            accepted = {**settings, **{name: max(settings[name], settings[f"reduced_{name}"]) for name in _AIM}}
            for again in (settings, other, accepted):
                second = self._attempt(program, again, deadline, shown, keep=False)
                if second.status in _DECISIVE:
                    run = second
                    break
            self.forget()
        if run.status == "DualInfeasible":  # a ray; unbounded if there is a feasible point
            zero = copy(program)
            zero.P, zero.q = program.P * 0.0, program.q * 0.0
            start = self._attempt(zero, settings, deadline, shown, keep=False)
            run.status = {"Solved": "Unbounded", "PrimalInfeasible": "PrimalInfeasible"}.get(start.status, run.status)
            self.forget()
        return run

    def _attempt(
        self, program: StandardForm, settings: dict[str, Any], deadline: float, shown: Sequence[TextIO], *, keep: bool
    ) -> Ending:
        import clarabel

        left = deadline - time.perf_counter()
        if left <= 0:
            return _nothing(program, "MaxTime")
        chosen = clarabel.DefaultSettings()
        chosen.presolve_enable = False  # updates of data need the original rows
        for key, value in settings.items():
            setattr(chosen, key, value)
        chosen.time_limit = left
        before, solver = self._program, self._solver
        self.forget()  # after a failed update the solver has numbers of both programs
        if keep and before is not None and before.same_pattern(program) and _updated(solver, chosen, before, program):
            self.updates += 1
        else:
            cones = cones_of(program.cones)
            solver = clarabel.DefaultSolver(program.P, program.q, program.A, program.b, cones, chosen)
            self.setups += 1
        live = all(stream is sys.__stdout__ for stream in shown)  # the only stream to which Clarabel writes directly
        (solver.print_to_stdout if live else solver.print_to_buffer)()
        with interrupt.setting_event() as pressed:  # Ctrl-C is checked at each iteration
            solver.set_termination_callback(lambda _: pressed.is_set())
            solution = solver.solve()
        for stream in () if live else shown:
            stream.write(solver.get_print_buffer())
            stream.flush()
        if pressed.is_set():
            raise KeyboardInterrupt
        self._solver, self._program = solver, program
        return _ending(solution)


def _updated(solver: Any, settings: Any, before: StandardForm, program: StandardForm) -> bool:
    """Replace changed numbers and settings; return False if a setting cannot be changed, such as threads or scaling."""
    data = {"P": (before.P.data, program.P.data), "A": (before.A.data, program.A.data)}
    data |= {"q": (before.q, program.q), "b": (before.b, program.b)}
    try:
        solver.update(settings=settings, **{k: new for k, (old, new) in data.items() if not np.array_equal(old, new)})
    except Exception as refusal:  # the error of Rust has no class
        if "immutable setting" not in str(refusal):
            raise
        return False
    return True


KINDS = {"zero": "ZeroConeT", "nonnegative": "NonnegativeConeT", "second-order": "SecondOrderConeT"}
SOONEST = 1e-3  # seconds; Clarabel does not accept a limit of 0


def cones_of(cones: Iterable[tuple[str, int]]) -> list[Any]:
    """Return Clarabel's cones for pairs of kind and size."""
    import clarabel

    def cone(kind: str, size: int) -> Any:
        name, *exponent = kind.split()
        if name == "power":
            return clarabel.PowerConeT(float(exponent[0]))
        return clarabel.ExponentialConeT() if name == "exponential" else getattr(clarabel, KINDS[name])(size)

    return [cone(kind, size) for kind, size in cones]


def solve_qp(
    P: Any,
    q: np.ndarray,
    A: Any,
    b: np.ndarray,
    cones: Sequence[tuple[str, int]],
    *,
    accuracy: float,
    time_limit: float | None = None,
) -> Ending:
    """Solve ``min 1/2 x'P x + q'x, b - A x in the cones``.

    - ``P``, ``A``: sparse; P is an upper triangle, None for 0.
    - ``cones``: pairs of kind and size, in the order of the rows.
    - ``accuracy``: of gap and feasibility, absolute and relative.
    - ``time_limit``: seconds.

    >>> solve_qp(None, np.ones(1), sparse.csc_array([[-1.0]]), np.array([-2.0]), [("nonnegative", 1)], accuracy=1e-9).x
    array([2.])
    """
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads = False, 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = accuracy
    if time_limit is not None:
        settings.time_limit = max(time_limit, SOONEST)
    if P is None:
        P = sparse.csc_array((len(q), len(q)))
    solution = clarabel.DefaultSolver(P, q, A, b, cones_of(cones), settings).solve()
    return _ending(solution)


Block = tuple[sparse.csr_matrix, np.ndarray]  # A x <= b

ACCURACY = 1e-6  # of points at which cuts are separated, which may be any points


def nearest_point(
    target: np.ndarray,
    blocks: Sequence[Block],
    rows: tuple[sparse.csr_matrix, np.ndarray, np.ndarray],
    bounds: tuple[np.ndarray, np.ndarray],
) -> np.ndarray | None:
    """Return the point nearest to ``target`` (n,) that satisfies the blocks, the two-sided rows and the bounds.

    Return None if Clarabel finds none. Bounds hold exactly, rows to 1e-6.
    """
    matrix, below, above = rows
    lower, upper = bounds
    identity = sparse.identity(len(target), format="csc")
    equal = np.isfinite(below) & (below == above)
    at_most, at_least = np.isfinite(above) & ~equal, np.isfinite(below) & ~equal
    parts = [
        (matrix[equal], above[equal]),
        *blocks,
        (matrix[at_most], above[at_most]),
        (-matrix[at_least], -below[at_least]),
        (identity[np.isfinite(upper)], upper[np.isfinite(upper)]),
        (-identity[np.isfinite(lower)], -lower[np.isfinite(lower)]),
    ]
    stacked = sparse.vstack([part for part, _ in parts], format="csc")
    sides = np.concatenate([side for _, side in parts])
    first = int(equal.sum())
    cones = [("zero", first), ("nonnegative", len(sides) - first)][not first :]
    found = solve_qp(identity, -target, stacked, sides, cones, accuracy=ACCURACY)
    return np.clip(found.x, lower, upper) if found.solved and found.finite else None
