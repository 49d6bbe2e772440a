"""The user's suffix ``dual``: the multipliers of a solve of the whole model, or nothing and the reason.

Pyomo's solvers load it each in its own way, some with the sign of their Lagrangian, some not at all, some with what an
earlier solve has left. Here it holds d objective / d right-hand side after a solve that converged, and is empty
otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyomo.environ as pyo

from solvers.interfaces.registry import SOLVERS, SolverSpec, names
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.runner import Answer
from solvers.interfaces.spec import describe
from solvers.model.classes import has_integers
from solvers.model.expressions import variables
from solvers.model.rewriting import Visible, unseen
from solvers.reading import read
from solvers.result import Result, SolutionStatus

_CONVERGED = (SolutionStatus.OPTIMAL, SolutionStatus.STATIONARY)


def dual_suffix(model: Any) -> Any | None:
    """Return the model's active import suffix named ``dual``, or None."""
    suffix = model.component("dual")
    if suffix is None or suffix.ctype is not pyo.Suffix or not suffix.active or not suffix.import_enabled():
        return None
    return suffix


@dataclass
class Multipliers:
    """What a user's suffix ``dual`` is to be filled with.

    ``rows``: to ask the solver for; none where there is a reason not to. ``constant``: rows without a free variable,
    which solvers leave out; nothing depends on their right-hand sides. ``why_not``: why the suffix stays empty; ""
    where it does not.
    """

    suffix: Any
    rows: list[Any]
    constant: list[Any]
    why_not: str

    @classmethod
    def wanted(cls, model: Any, spec: SolverSpec, seen: Visible, needed: list[C]) -> Multipliers | None:
        """Return what the user wants to know, None without a suffix; ``needed`` is the class of what is solved."""
        suffix = dual_suffix(read(model).model)
        if suffix is None:
            return None
        why_not = why_no_duals(spec, seen, needed)
        rows = [] if why_not else read(model).rows
        constant = [row for row in rows if is_constant(row)]
        left_out = set(map(id, constant))
        return cls(suffix, [row for row in rows if id(row) not in left_out], constant, why_not)

    def fill(self, answer: Answer, result: Result) -> None:
        """Fill the suffix from a solve, and add to the result's message what is missing from it."""
        self.suffix.clear()  # some interfaces have written into it
        if not result.has_solution:
            return
        reason = self.why_not
        if not reason and answer.status not in _CONVERGED:
            reason = f"{result.solver} has not converged"
        if reason:
            result.message = f"{result.message} No multipliers in model.dual: {reason}.".strip()
            return
        for row in self.constant:
            self.suffix[row] = 0.0
        for row, multiplier in answer.duals.items():
            self.suffix[row] = multiplier
        missing = [row.name for row in self.rows if row not in answer.duals]
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            reason = f'{result.solver} gives no multiplier of row "{missing[0]}"{more}.'
            result.message = f"{result.message} {reason}".strip()


def is_constant(row: Any) -> bool:
    """Return whether a row has no free variable: solvers leave it out, and nothing depends on its right-hand side."""
    return all(v.fixed for v in variables(row.body))


def why_no_duals(spec: SolverSpec, seen: Visible, needed: list[C]) -> str:
    """Say why a solver gives no multipliers of the user's rows; "" where it does."""
    if seen.pairs:
        return f"{' and '.join(seen.written)} was written as rows on a copy of the model, whose multipliers stay there"
    if has_integers(seen.reading):
        return "a model with integer variables has none"
    if unseen(seen.reading):
        return f"a model with {' and '.join(unseen(seen.reading))} has none"
    kind = C.LP_DUALS if C.LP in needed else C.QP_DUALS
    if kind in spec.capabilities:
        return ""
    able = [name for name in names(kind) if any(n in SOLVERS[name].capabilities for n in needed)]
    return f"none are known of {spec.name} for {describe(needed[0])} (installed solvers with them: {', '.join(able)})"
