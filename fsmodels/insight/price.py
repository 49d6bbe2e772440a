"""Prices of side constraints: proven intervals of the objective with and without each of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyomo.environ as pyo
from pyomo.core.base.block import BlockData
from pyomo.core.expr.visitor import identify_variables

from fsmodels.errors import ModelError, ParameterError
from fsmodels.insight import what_if
from fsmodels.insight.what_if import Level, about, active, share_interval, share_of
from fsmodels.selection.pictures import axes
from fsmodels.selection.report import BaseAnswer, as_json, interval, number
from fsmodels.selection.request import driver_options
from fsmodels.text import listed
from solvers import Memory, SolutionStatus, facts_of, interrupt, solve
from solvers import progress as watching
from solvers.clock import one_clock
from solvers.facts.base import built_of
from solvers.interrupt import Cancel
from solvers.pictures import clipped
from solvers.values import inactive

LARGEST_SHARE = 100.0  # larger shares belong to a best objective near 0 and are not shown
DIGITS = 5  # of numbers in a table
TIGHT = 1e-6  # relative to the size of a row: the tolerance of a tight row


@dataclass(frozen=True)
class Price:
    """Price of one side constraint, which is proven to lie between ``least`` and ``most``.

    ``kept``, ``dropped``: the solve with the row and without it. ``slack``: distance of the row from its limit at the
    best selection, 0 for a tight row; None without a selection. ``along``: the solves at other limits, (limit, solve).
    """

    row: str
    kept: Level
    dropped: Level
    slack: float | None
    along: tuple[tuple[float, Level], ...] = ()

    @property
    def least(self) -> float:
        """Proven lower bound on the price; infinite only if no selection is possible with the row."""
        if self.kept.status is SolutionStatus.INFEASIBLE:
            return math.inf
        return max(0.0, self.kept.bound - self.dropped.objective)

    @property
    def most(self) -> float:
        """Proven upper bound on the price; infinite if no selection is possible with the row, or none was found."""
        return max(self.least, self.kept.objective - self.dropped.bound)

    @property
    def shares(self) -> tuple[float, float]:
        """``least`` and ``most`` as shares of the best objective without the row."""
        base = self.dropped.bound
        return share_of(base + self.least, base), share_of(base + self.most, base)

    @property
    def sentence(self) -> str:
        """The price without terms of duality, and the objective at the other limits."""
        levels = "; ".join(f"at {limit:g}: {interval(at.bound, at.objective)}" for limit, at in self.along)
        return f"{self._priced} Objective at other limits: {levels}." if levels else self._priced

    @property
    def _priced(self) -> str:
        if self.kept.status is SolutionStatus.INFEASIBLE:
            return f'With "{self.row}" no selection is possible; without it the best objective is {self._dropped}.'
        low, high = self.shares
        if self.most <= 1e-6 * abs(self.kept.objective):
            return f'"{self.row}" costs nothing: the best without it is no better.'
        shares = share_interval(low, high)
        if not math.isfinite(self.most):
            least = f": at least {number(self.least)} is proven" if self.least > 0 else ""
            return f'The price of "{self.row}" is not known within this time{least}.'
        if self.least <= 0:
            share = f" ({about(high)})" if high <= LARGEST_SHARE else ""
            return f'"{self.row}" costs at most {number(self.most)}{share}; perhaps nothing.'
        best = f"{shares} of the best without it, " if high <= LARGEST_SHARE else "without it "
        best += self._dropped
        return f'"{self.row}" costs {interval(self.least, self.most)} ({best}).'

    @property
    def _dropped(self) -> str:
        return interval(self.dropped.bound, self.dropped.objective)


@dataclass(frozen=True, repr=False)
class Prices(BaseAnswer, Sequence[Price]):
    """Prices of side constraints, the highest first."""

    prices: tuple[Price, ...]

    def __getitem__(self, k: Any) -> Any:
        return self.prices[k]

    def __len__(self) -> int:
        return len(self.prices)

    def table(self) -> pd.DataFrame:
        """Return a frame with a row for each side constraint: objectives and bounds with and without it, its price."""
        return pd.DataFrame(
            {
                "with": [p.kept.objective for p in self],
                "with_bound": [p.kept.bound for p in self],
                "without": [p.dropped.objective for p in self],
                "without_bound": [p.dropped.bound for p in self],
                "least": [p.least for p in self],
                "most": [p.most for p in self],
                "slack": [p.slack for p in self],
            },
            index=pd.Index([p.row for p in self], name="row"),
        )

    def along(self) -> pd.DataFrame:
        """Return a frame with the objective at other limits, by row and limit."""
        lines = [
            {"row": p.row, "limit": limit, "objective": at.objective, "bound": at.bound, "selected": list(at.selected)}
            for p in self
            for limit, at in p.along
        ]
        return pd.DataFrame(lines, columns=["row", "limit", "objective", "bound", "selected"]).set_index(
            ["row", "limit"]
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the interval of each price, or the objective over the limit of a single row; return the Axes."""
        ax = axes(ax)
        if len(self) == 1 and self[0].along:
            limits = [limit for limit, _ in self[0].along]
            low, high = ([getattr(at, what) for _, at in self[0].along] for what in ("bound", "objective"))
            ax.fill_between(limits, low, high, step="post", alpha=0.3)
            ax.step(limits, high, where="post", marker="o")
            ax.set_xlabel(f'limit of "{clipped(self[0].row)}"')
            ax.set_ylabel("objective")
            return ax
        places = range(len(self))
        cap = 1.2 * (max((x for p in self for x in (p.least, p.most) if math.isfinite(x)), default=0.0) or 1.0)
        least, most = ([min(getattr(p, what), cap) for p in self] for what in ("least", "most"))
        ax.barh(places, least)
        ax.barh(places, [high - low for low, high in zip(least, most, strict=True)], left=least, alpha=0.3)
        for place, p in enumerate(self):
            if not math.isfinite(p.most):
                ax.text(cap, place, "no bound ", ha="right", va="center")
        ax.set_yticks(places, [clipped(p.row) for p in self])
        ax.invert_yaxis()
        ax.set_xlabel("price in the objective (pale: not proven)")
        return ax

    @property
    def sentence(self) -> str:
        """The price of each side constraint, a line each."""
        return "\n".join(price.sentence for price in self)

    def to_dict(self) -> dict[str, Any]:
        """Return the content of a JSON file."""
        prices = [
            {
                "row": p.row,
                "with": p.kept.to_dict(),
                "without": p.dropped.to_dict(),
                "least": as_json(p.least),
                "most": as_json(p.most),
                "slack": p.slack,
                "along": [{"limit": limit, **at.to_dict()} for limit, at in p.along],
                "sentence": p.sentence,
            }
            for p in self
        ]
        return {"question": "price", "prices": prices}

    def short(self) -> pd.DataFrame:
        """Return the price of each row, also as a share of the optimum without it, both optima, and the slack."""
        rows = {}
        for p in self:
            low, high = p.shares
            rows[p.row] = {
                "Price": interval(p.least, p.most, DIGITS) if p.most > 0 else "0",
                "Share": share_interval(low, high) if high <= LARGEST_SHARE else "",
                "Objective with": interval(p.kept.bound, p.kept.objective, DIGITS),
                "Objective without": interval(p.dropped.bound, p.dropped.objective, DIGITS),
                "Slack": "" if p.slack is None else number(p.slack, DIGITS),
            }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("Row")

    def __repr__(self) -> str:
        return self.sentence


def price_of(
    model: pyo.ConcreteModel,
    rows: str | Iterable[str] | None = None,
    *,
    at: Iterable[float] | Mapping[str, Iterable[float]] = (),
    solver: Any = None,
    time_limit: float | None = None,
    progress: bool = False,
    cancel: Cancel | None = None,
    **options: Any,
) -> Prices:
    """Prove the prices of side constraints: solve the model with all of them, and without each one.

    Parameters
    ----------
    model : pyo.ConcreteModel
        Any model that minimises with a proven bound. It is restored, with the values of the solve with all rows.
    rows : name or names, optional
        Constraints of the model; an indexed constraint counts as one. By default all constraints on ``model.sigma``
        alone, and those that were added to the model of a builder.
    at : numbers, or mapping row -> numbers
        Other limits of a row ``... <= limit`` for which the model is solved too, such as other budgets.
    solver, **options
        As for ``fs.solve``. A driver with a memory reuses it in each solve.
    time_limit : float, optional
        Seconds for all solves together, in equal shares.
    progress : bool
        Show the current solve and its progress.
    cancel : Cancel, optional
        Token that ends the call from another thread, as Ctrl-C does.

    Returns
    -------
    Prices
        After Ctrl-C, the prices that are finished by then.

    Raises
    ------
    ParameterError
        A name is no active constraint; ``at`` for a row without an upper limit; the model maximises.
    ModelError
        There is no row on ``model.sigma`` alone.
    SolverError
        A solve proves no bound.

    Examples
    --------
    >>> import fsmodels as fs
    >>> model = fs.fsp.fsp_m(fs.load_dataset("bupa").scaled("standard"), max_features=3)
    >>> model.apart = fs.side_constraints.excludes(model, "sgpt", "sgot")
    >>> print(fs.price_of(model, "apart", gap=1e-8))
    "apart" costs 21.3072 (7.97% of the best without it, 267.501).
    """
    if not isinstance(model, BlockData):
        raise ParameterError(
            f"price_of needs a model and got {type(model).__name__}: give found.model, or the model of fs.fsp.fsp_m or "
            "another builder."
        )
    objectives = list(model.component_data_objects(pyo.Objective, active=True))
    if len(objectives) == 1 and not objectives[0].is_minimizing():
        raise ParameterError("price_of needs a model that minimises: change the sign of its objective.")
    named = [_row(model, name) for name in ([rows] if isinstance(rows, str) else rows or _side_rows(model))]
    limits = _limits(at, named)
    if "memory" in driver_options(model, solver):
        options.setdefault("memory", Memory())
    whole = 1 + len(named) + sum(map(len, limits.values()))
    prices: list[Price] = []
    with interrupt.run(cancel), one_clock(), watching.shown(progress):
        clock = what_if.clock_of(time_limit)

        def point(left: int, what: str) -> Level:
            limit = None if clock.left is None else max(clock.left / left, 0.0)
            with watching.doing(f"solve {whole - left + 1} of {whole} ({what})"):
                return Level.of(solve(model, solver, time_limit=limit, **options))

        values = [(v, v.value) for v in model.component_data_objects(pyo.Var)]
        try:
            count = whole
            kept = point(count, "with all rows")
            values = [(v, v.value) for v in model.component_data_objects(pyo.Var)]
            slacks = {row.name: _slack(row) if math.isfinite(kept.objective) else None for row in named}
            for row in named:
                count -= 1
                with inactive(active(row)):
                    dropped = point(count, f'without "{row.name}"')
                along = []
                for limit in limits.get(row.name, ()):
                    count -= 1
                    with what_if.limited(row, limit):
                        along.append((limit, point(count, f'"{row.name}" at {limit:g}')))
                prices.append(Price(row.name, kept, dropped, slacks[row.name], tuple(along)))
        except KeyboardInterrupt:
            if not prices:
                raise
        finally:
            for v, value in values:
                v.set_value(value, skip_validation=True)
    return Prices(tuple(sorted(prices, key=lambda p: (-p.least, -p.most))))


def _row(model: pyo.ConcreteModel, name: str) -> Any:
    row = model.find_component(name) if isinstance(name, str) else None
    if row is None or row.ctype is not pyo.Constraint or not row.active:
        have = [c.name for c in model.component_objects(pyo.Constraint, active=True)]
        raise ParameterError(f'"{name}" is no active constraint of the model: give one of {listed(have)}.')
    return row


def _side_rows(model: pyo.ConcreteModel) -> list[str]:
    """Return the names of the constraints on sigma alone, and of those that were added to a builder's model."""
    sigma = {id(v) for v in model.sigma.values()} if model.component("sigma") is not None else set()
    facts = facts_of(model)
    proven = facts is not None and facts.certificate is not None and facts.certificate.built is not None
    built = {id(row) for row in built_of(model).rows} if proven else None
    found = [
        c.name
        for c in model.component_objects(pyo.Constraint, active=True)
        if (parts := active(c))
        and (
            all({id(v) for v in identify_variables(part.body)} <= sigma for part in parts)
            or (built is not None and not any(id(part) in built for part in parts))
        )
    ]
    if not found:
        raise ModelError("The model has no active constraint on sigma alone: name the constraints to price.")
    return found


def _limits(at: Any, rows: list[Any]) -> dict[str, list[float]]:
    """Return the given limits by row."""
    given = dict(at) if isinstance(at, Mapping) else {rows[0].name: list(at)} if list(at) else {}
    if not isinstance(at, Mapping) and given and len(rows) > 1:
        raise ParameterError("at: there are several rows: give a mapping from rows to limits.")
    by_name = {row.name: row for row in rows}
    if unknown := [name for name in given if name not in by_name]:
        raise ParameterError(f"at names {listed(unknown)}: give priced rows, {listed(by_name)}.")
    for name in given:
        row = by_name[name]
        if row.is_indexed() or row.upper is None or row.lower is not None:
            raise ParameterError(f'at: "{name}" is not a single row with an upper limit only: leave it out.')
    return {name: sorted(float(x) for x in values) for name, values in given.items()}


def _slack(row: Any) -> float:
    """Return the least distance of a row from a limit at the values of the model, 0 within the tolerance."""
    distances = [math.inf]
    for part in active(row):
        body = pyo.value(part.body)
        for side in (part.lower, part.upper):
            if side is not None:
                limit = pyo.value(side)
                distance = max(0.0, limit - body if side is part.upper else body - limit)
                distances.append(0.0 if distance <= TIGHT * max(1.0, abs(limit)) else distance)
    return min(distances)
