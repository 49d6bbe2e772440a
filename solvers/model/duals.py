"""The suffix ``dual`` of the user: the multipliers of a solve of the whole model, or the reason why it is empty.

Pyomo's solvers load it in different ways: some with the sign of their Lagrangian, some not at all, some with values of
an earlier solve. Here it contains d objective / d right-hand side after a solve that has converged, and is empty
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
from solvers.model_cache import cached
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
    """Contents of the suffix ``dual`` of a user.

    - ``rows``: rows whose multipliers are requested from the solver.
    - ``constant``: rows without a free variable, which solvers leave out; their multipliers are 0.
    - ``why_not``: why the suffix stays empty, otherwise "".
    """

    suffix: Any
    rows: list[Any]
    constant: list[Any]
    why_not: str

    @classmethod
    def wanted(cls, model: Any, spec: SolverSpec, seen: Visible, needed: list[C]) -> Multipliers | None:
        """Return the requested multipliers, None without a suffix; ``needed``: class of the model of the solver."""
        suffix = dual_suffix(cached(model).model)
        if suffix is None:
            return None
        why_not = why_no_duals(spec, seen, needed)
        rows = [] if why_not else cached(model).rows
        constant = [row for row in rows if is_constant(row)]
        left_out = set(map(id, constant))
        return cls(suffix, [row for row in rows if id(row) not in left_out], constant, why_not)

    def fill(self, answer: Answer, result: Result) -> None:
        """Fill the suffix from a solve, and add missing multipliers to the message of the result."""
        self.suffix.clear()  # some interfaces write to it
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
            reason = f'{result.solver} returns no multiplier of row "{missing[0]}"{more}.'
            result.message = f"{result.message} {reason}".strip()


def is_constant(row: Any) -> bool:
    """Return True if a row has no free variable, so that solvers leave it out and its multiplier is 0."""
    return all(v.fixed for v in variables(row.body))


def why_no_duals(spec: SolverSpec, seen: Visible, needed: list[C]) -> str:
    """Return the reason why a solver returns no multipliers of the rows of the user, or ""."""
    if seen.pairs:
        return f"{' and '.join(seen.written)} was written as rows on a copy of the model, which has other multipliers"
    if has_integers(seen.cache):
        return "a model with integer variables has none"
    if unseen(seen.cache):
        return f"a model with {' and '.join(unseen(seen.cache))} has none"
    kind = C.LP_DUALS if C.LP in needed else C.QP_DUALS
    if kind in spec.capabilities:
        return ""
    able = [name for name in names(kind) if any(n in SOLVERS[name].capabilities for n in needed)]
    return f"{spec.name} returns none for {describe(needed[0])} (installed solvers that do: {', '.join(able)})"
