"""``compare``: one model solved by several solvers and drivers, with one table and one plot."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyomo.environ as pyo

from solvers import html, interrupt
from solvers import progress as watching
from solvers.clock import own_clock
from solvers.drivers.catalogue import DRIVERS
from solvers.errors import Error, OptionError, SolverError, UnknownSolver
from solvers.interfaces.registry import find
from solvers.lazy import PREFIX
from solvers.pictures import axes
from solvers.result import DEFAULT_GAP, Result, SolutionStatus, StopReason, contradicts
from solvers.run import solve
from solvers.user_warnings import warn
from solvers.values import INSIDE, put_back

if TYPE_CHECKING:
    from matplotlib.axes import Axes


OPTIONAL = ["features", "iterations", "nodes", "message"]
COLUMNS = ["status", "stop_reason", "objective", "bound", "gap", "features", "seconds", *OPTIONAL[1:]]
SHOWN: dict[str, Any] = {"na_rep": "", "float_format": "{:.6g}".format}


@dataclass(frozen=True)
class SolverComparison:
    """Results of several solvers for one model.

    Attributes
    ----------
    results : dict of str to Result
        The result of each solver. If a solver failed, its status is ``no_solution``, its stop reason ``solver_error``,
        and its message that of the error.
    best : str or None
        The solver with the best objective, whose solution the model holds; None if no solver found one.
    """

    results: dict[str, Result]
    best: str | None

    @property
    def table(self) -> pd.DataFrame:
        """A row for each solver: status, stop reason, objective, bound, gap, seconds, iterations and nodes.

        The columns ``features``, ``iterations`` and ``nodes`` are present if a solver reports them, ``message`` if a
        solver has no solution.
        """
        rows = [_row(result) for result in self.results.values()]
        frame = pd.DataFrame(rows, pd.Index(self.results, name="solver"), COLUMNS)
        return frame.drop(columns=[name for name in OPTIONAL if frame[name].isna().all()])

    def plot(self, over: str = "seconds", ax: Axes | None = None) -> Axes:
        """Draw the incumbents and the proven bounds of all solvers on the same axes.

        Parameters
        ----------
        over : {"seconds", "iterations"}
            Horizontal axis; "iterations" leaves out the solvers without a table of iterations.
        ax : matplotlib.axes.Axes, optional
            The default is a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        known = [name for name, run in self.results.items() if run.has_solution or run.bound is not None]
        if over == "iterations":
            known = [name for name in known if len(self.results[name].iterations)]
        ax = axes(ax)
        for name in known or self.results:
            self.results[name].plot(over, ax, label=name)
        return ax

    def _parts(self) -> tuple[pd.DataFrame, str]:
        """Return the table with text for the gap, and the messages of the solvers without a solution."""
        frame = self.table.drop(columns="message", errors="ignore")
        notes = [f"{name}: {run.message}" for name, run in self.results.items() if not run.has_solution]
        return frame.assign(gap=frame["gap"].map("{:.2%}".format, na_action="ignore")), "\n".join(notes)

    def __repr__(self) -> str:
        frame, messages = self._parts()
        return f"{frame.to_string(**SHOWN)}\n{messages}".rstrip()

    def _repr_html_(self) -> str:
        frame, messages = self._parts()
        return html.frame(frame, **SHOWN) + html.paragraph(messages)


def compare(
    model: pyo.ConcreteModel,
    solvers: Iterable[str] | Mapping[str, Mapping[str, Any]],
    *,
    time_limit: float | None = None,
    gap: float | None = None,
    progress: bool = False,
    cancel: interrupt.Cancel | None = None,
) -> SolverComparison:
    """Solve one model with several solvers and drivers.

    Every solver starts at the values that the variables have before the call. Afterwards the model holds the best
    solution. If the bound of a solver contradicts the point of another one, a warning names both.

    Parameters
    ----------
    model : pyo.ConcreteModel
    solvers : list of str, or dict of str to dict
        Names as in ``solve``, or for each name the options of that solver. With the option ``solver`` the name is a
        label: ``{"benders, scip": {"solver": "benders", "master_solver": "scip"}}``.
    time_limit : float, optional
        Limit of each solver, in seconds.
    gap : float, optional
        Relative gap at which each solver stops; the default is 1e-4.
    progress, cancel
        As in ``solve``. After Ctrl-C, or when the token is set, the remaining solvers are left out.

    Returns
    -------
    SolverComparison
        With ``table``, ``plot()``, ``results`` and ``best``. A solver that fails, is not installed or does not support
        the model has a row with the message of its error.

    Raises
    ------
    SolverError
        If a name is unknown; nothing is solved.

    Examples
    --------
    >>> import pyomo.environ as pyo, solvers
    >>> model = pyo.ConcreteModel()
    >>> model.x = pyo.Var(range(3), domain=pyo.Binary)
    >>> model.weight = pyo.Constraint(expr=2 * model.x[0] + 3 * model.x[1] + 4 * model.x[2] <= 6)
    >>> model.value = pyo.Objective(expr=3 * model.x[0] + 4 * model.x[1] + 6 * model.x[2], sense=pyo.maximize)
    >>> found = solvers.compare(model, ["highs", "scip"], time_limit=10)
    >>> found.table["objective"].tolist(), found.best
    ([9.0, 9.0], 'highs')
    """
    common = {key: value for key, value in {"time_limit": time_limit, "gap": gap}.items() if value is not None}
    runs = _runs(solvers)
    variables = model.component_data_objects((pyo.Var, pyo.BooleanVar), descend_into=INSIDE)
    start = [(v, v.value) for v in variables]
    results: dict[str, Result] = {}
    best, least, solution = None, math.inf, start
    with interrupt.run(cancel), watching.shown(progress):
        try:
            for name in watching.each(runs, "solver", str):
                put_back(start)
                with own_clock():
                    result = results[name] = _result(model, {**common, **runs[name]})
                if result.objective is not None:
                    cost = result.objective if result.minimize else -result.objective
                    if cost < least:
                        best, least, solution = name, cost, [(v, v.value) for v, _ in start]
                if interrupt.pressed():
                    break
        except KeyboardInterrupt:
            if not results:
                raise
        finally:
            with interrupt.finishing():
                put_back(solution)
    for a, b in permutations(results, 2):
        if claim := _contradiction(results[a], results[b]):
            warn(f"{claim.format(a, b)} At least one of them is wrong: use neither as a proof.", UserWarning)
    return SolverComparison(results, best)


def _runs(solvers: Iterable[str] | Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the options of each run, the solver among them; raise an error for unknown names."""
    if isinstance(solvers, str):
        raise OptionError(f'solvers="{solvers}" is one name: give a list, as in ["{solvers}", "scip"].')
    runs: dict[str, dict[str, Any]] = {}
    for name in solvers:
        runs[name] = {"solver": name, **(solvers[name] if isinstance(solvers, Mapping) else {})}
        chosen = runs[name]["solver"]
        if isinstance(chosen, str) and chosen.removeprefix(PREFIX) not in DRIVERS:
            try:
                find(chosen, DRIVERS)
            except UnknownSolver:
                raise
            except SolverError:  # not installed: its row has the message
                continue
    return runs


def _result(model: pyo.ConcreteModel, options: dict[str, Any]) -> Result:
    """Return the result of one solver; an error is a result without a solution."""
    try:
        return solve(model, **options)
    except Error as error:
        return Result(SolutionStatus.NO_SOLUTION, StopReason.SOLVER_ERROR, message=str(error))


def _row(result: Result) -> dict[str, Any]:
    """Return a row of the table."""
    return {
        **result.summary(),
        "stop_reason": result.stop_reason.value,
        "iterations": len(result.iterations) or None,
        "nodes": result.details.get("nodes"),
        "message": None if result.has_solution else result.message or None,
    }


def _contradiction(result: Result, other: Result) -> str:
    """Return the contradiction between the claim of one solver and the point of another, "" if there is none."""
    if other.objective is None:
        return ""
    if result.status is SolutionStatus.INFEASIBLE:
        return '"{}" reports that the model is infeasible, but "{}" has a point.'
    gap = max(run.options.get("gap") or DEFAULT_GAP for run in (result, other))
    if not contradicts(other.objective, result.bound, gap, minimize=other.minimize, resolution=other.resolution):
        return ""
    side = "above" if other.minimize else "below"
    return f'The bound {result.bound:.9g} of "{{}}" is {side} the objective {other.objective:.9g} of "{{}}".'
