"""Roles of features: proven bounds on the best model without each feature, and with it.

With v the best objective that was found, b <= optimum <= v, and a share eps:

* the bound without j is above (1 + eps) v: j is in every model within eps of the best;
* a model with j and an objective of at most (1 + eps) b was found: j is in some;
* the bound with j is above (1 + eps) v: j is in none.

The best model remains the best without a feature that it does not use, and with a feature that it uses. If the driver
can list all selections within eps of the best (``near_optimal``), the list determines most roles at once. Each other
feature needs one solve, which stops as soon as the role is proven and reuses the memory of the driver.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from fsmodels.checks import positive, switch
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import ModelError, ParameterError
from fsmodels.insight.what_if import Level, ProvenAnswer, about, bounded, clock_of, fixed, share_interval, share_of
from fsmodels.selection.pictures import MOST_BARS, axes
from fsmodels.selection.report import interval, number
from fsmodels.selection.request import Request
from fsmodels.selection.selection import Selection
from fsmodels.text import as_names, check_known_features, listed
from solvers import NearChoices, interrupt
from solvers import progress as watching
from solvers.clock import Clock, one_clock
from solvers.interrupt import Cancel
from solvers.pictures import clipped

DIGITS = 5  # of numbers in a table
EVERY, SOME, NONE, OPEN = "in every", "in some", "in none", "open"


@dataclass(frozen=True)
class Role:
    """Proven role of one feature.

    ``role``: "in every", "in some" or "in none" of the models within the share, or "open". ``without``, ``having``:
    (bound, objective) of the best model without it and with it; the objective is infinite if no model was found.
    """

    feature: str
    role: str
    selected: bool
    without: tuple[float, float]
    having: tuple[float, float]


@dataclass(frozen=True, eq=False, repr=False)
class Necessity(ProvenAnswer):
    """Roles of all features, with the best selection; ``within``: the share in the question."""

    question = "necessity"

    best: Selection
    within: float
    roles: tuple[Role, ...]
    seconds: float
    stopped: str = ""

    def __getitem__(self, feature: str) -> Role:
        for role in self.roles:
            if role.feature == feature:
                return role
        raise KeyError(feature)

    @property
    def forced(self) -> tuple[str, ...]:
        """The features of ``force_in``."""
        return tuple(self.best.parameters.get("force_in", ()))

    def features(self, role: str) -> list[str]:
        """Return the features with a role: "in every", "in some", "in none", "open"."""
        return [r.feature for r in self.roles if r.role == role]

    def price(self, feature: str) -> tuple[float, float]:
        """Return the proven interval of the increase of the objective without a feature."""
        bound, objective = self[feature].without
        assert self.best.objective is not None
        low = max(0.0, bound - self.best.objective)
        return low, max(low, objective - (self.best.bound if self.best.bound is not None else -math.inf))

    def table(self) -> pd.DataFrame:
        """Return a frame with a row for each feature: role, bounds and objectives without and with it, and the price.

        Shares are relative to the best objective.
        """
        base = self.best.objective
        lines = []
        for r in self.roles:
            low, high = self.price(r.feature)
            lines.append(
                {
                    "role": r.role,
                    "selected": r.selected,
                    "without_bound": r.without[0],
                    "without": r.without[1],
                    "with_bound": r.having[0],
                    "with": r.having[1],
                    "price_least": low,
                    "price_most": high,
                    "price_share": low / abs(base) if base else math.nan,
                }
            )
        return pd.DataFrame(lines, index=pd.Index([r.feature for r in self.roles], name="feature"))

    def plot(self, ax: Any = None) -> Any:
        """Draw the price of each feature relative to the best objective, the unproven part pale; return the Axes."""
        base = abs(self.best.objective or 1.0)
        order = sorted(self.roles, key=lambda r: -self.price(r.feature)[0])[:MOST_BARS]
        ax = axes(ax, 1 + 0.25 * len(order))
        low = [self.price(r.feature)[0] / base for r in order]
        high = [min(self.price(r.feature)[1] / base, 10 * max([*low, self.within])) for r in order]
        colours = {EVERY: "C3", SOME: "C0", NONE: "C7", OPEN: "C1"}
        ax.barh(range(len(order)), low, color=[colours[r.role] for r in order])
        ax.barh(range(len(order)), [h - x for x, h in zip(low, high, strict=True)], left=low, color="C7", alpha=0.2)
        ax.axvline(self.within, linestyle=":", color="black")
        ax.set_yticks(range(len(order)), [f"{clipped(r.feature)} ({r.role})" for r in order])
        ax.invert_yaxis()
        ax.margins(y=0.02)
        ax.set_xlabel(f"price of leaving it out, relative to the best objective\n(dotted: {about(self.within)})")
        return ax

    @property
    def sentence(self) -> str:
        """The answer without terms of duality."""
        most = self.best.parameters.get("max_features")
        what = "model" if most is None else f"model with at most {most} {self.best.parameters.get('count', 'features')}"
        share = about(self.within)
        parts = []
        forced = [name for name in self.features(EVERY) if name in self.forced]
        if every := [name for name in self.features(EVERY) if name not in forced]:
            are = "is" if len(every) == 1 else "are"
            best = number(self.best.objective)
            parts.append(f"{listed(every)} {are} in every {what} within {share} of the best ({best})")
        if some := self.features(SOME):
            parts.append(f"{len(some)} {_more(some, bool(every))} in some: {listed(some)}")
        if none := self.features(NONE):
            parts.append(f"{len(none)} {'is' if len(none) == 1 else 'are'} in none")
        if left := self.features(OPEN):
            parts.append(f"{listed(left)} {'is' if len(left) == 1 else 'are'} open")
        if forced:
            parts.append(f"{listed(forced)} {'is' if len(forced) == 1 else 'are'} forced in (force_in)")
        text = "; ".join(parts) + "."
        text = text[0].upper() + text[1:] if not every else text
        if every:
            dearest = max(every, key=lambda name: self.price(name)[0])
            short = share_of(self[dearest].without[0], self.best.objective or 0.0)
            text += f" Without {dearest} no {what} is within {about(short)} of the best."
        return text if not self.stopped else f"{text} {self.stopped}"

    def short(self) -> pd.DataFrame:
        """Return the roles, the optimum without and with each feature, and the increase without it as a share."""
        base = self.best.objective or 0.0
        rows = {}
        for r in self.roles:
            low, high = (share_of(base + price, base) for price in self.price(r.feature))
            rows[r.feature] = {
                "Role": r.role,
                "Objective without": interval(*r.without, DIGITS),
                "Objective with": interval(*r.having, DIGITS),
                "Price of leaving it out": share_interval(low, high) if r.selected else "",
            }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("Feature")

    def _content(self) -> dict[str, Any]:
        return {
            "objective": self.best.objective,
            "bound": self.best.bound,
            "selected": self.best.selected,
            "features": [
                {
                    "feature": r.feature,
                    "role": r.role,
                    "forced": r.feature in self.forced,
                    "without": dict(zip(("bound", "objective"), r.without, strict=True)),
                    "with": dict(zip(("bound", "objective"), r.having, strict=True)),
                    "price": self.price(r.feature),
                }
                for r in self.roles
            ],
        }


def necessity(
    data: Dataset,
    model: str = "fsp-m",
    *,
    within: float = 0.01,
    features: Iterable[str] | None = None,
    prices: bool = True,
    scale: str | None = None,
    time_limit: float | None = None,
    progress: bool = False,
    cancel: Cancel | None = None,
    **given: Any,
) -> Necessity:
    """Prove for each feature whether it is in every model within a share of the best, in some, or in none.

    Parameters
    ----------
    data : Dataset
        Scaled as by ``select``.
    model : str
        A model with a proven bound.
    within : float
        The share, 0.01 for 1%.
    features : names, optional
        The features whose roles are proven; by default all.
    prices : bool
        Solve for the price of each feature of the best model to the gap. If False, a solve stops as soon as the role
        is proven.
    scale, **given
        As in ``select``: parameters of the model, side constraints, ``solver``, options.
    time_limit : float, optional
        Seconds for all solves together; the remaining features are "open", with the proven bounds.
    progress : bool
        Show the current solve and its progress.
    cancel : Cancel, optional
        Token that ends the call from another thread, as Ctrl-C does.

    Returns
    -------
    Necessity

    Raises
    ------
    ParameterError
        The model proves no bound; ``within`` is not above 0.
    ModelError
        No selection is possible, or none was found in time.

    Examples
    --------
    >>> import fsmodels as fs
    >>> answer = fs.necessity(fs.load_dataset("bupa"), max_features=3, within=0.01)
    >>> answer.features("in every")
    ['sgpt', 'sgot']
    """
    name = bounded(model)
    if "callback" in given:
        raise ParameterError("callback is used by necessity itself: leave it out.")
    with interrupt.run(cancel), one_clock(), watching.shown(progress):
        clock = clock_of(time_limit)
        task = Request.of(data, name, scale=scale, **given).build()
        return necessity_of(task, clock, within=within, features=features, prices=prices)


def necessity_of(
    task: Request, clock: Clock, *, within: float, features: Iterable[str] | None, prices: bool
) -> Necessity:
    """Prove the role of each feature for a request with its model; ``clock``: has the time limit of all solves."""
    within = positive("within", within, "a share of the objective, 0.01 for 1%")
    prices = switch("prices", prices, "the prices of the features of the best model")
    name, names = task.spec.name, task.data.features
    requested = as_names(names if features is None else features, "features")
    check_known_features(requested, names, "features")
    if task.model is None or task.model.component("sigma") is None:
        raise ParameterError(f'necessity needs a model with sigma, and "{name}" has none here: add sigma=True.')
    if not task.takes("callback"):
        solver = getattr(task.solver, "name", task.solver)
        raise ParameterError(
            f'necessity stops each solve when its answer is known, which solver="{solver}" cannot: '
            'leave solver= out, or use a driver such as "branch-and-cut".',
            parameter="solver",
        )
    task = task if "memory" in task.options else task.with_memory()
    threads = task.options.get("threads")
    lists = task.takes("within") and (threads is None or (isinstance(threads, int) and threads <= 1))
    with watching.doing("the best selection"):
        best = task.changed(time_limit=clock.left, **({"within": within} if lists else {})).solve()
    if best.objective is None:
        raise ModelError(f"There is no selection to begin with: {best.message or best.status.value}")
    search = _Search(task, best, within, clock, prices)
    roles: dict[str, Role] = {}
    try:
        # The features of the best come first: the selections without them contain other features.
        order = sorted(requested, key=lambda name: name not in best.selected)
        for feature in watching.each(order, "feature", str):
            roles[feature] = search.role(feature)
    except KeyboardInterrupt:
        pass
    stopped = "Stopped early: the other roles are not known." if len(roles) < len(requested) else ""
    open_role = (search.known[0], math.inf)
    known = tuple(roles[f] if f in roles else search.role_of(f, OPEN, open_role) for f in requested)
    return Necessity(best, within, known, clock.elapsed, stopped)


@dataclass
class _Search:
    """Search for the roles, one feature after another.

    ``known``: (bound, objective) of the best. ``limits``: the objective up to which a model is proven to be within the
    share, and the one from which it is proven not to be.
    """

    task: Request
    best: Selection
    within: float
    clock: Clock
    prices: bool
    solves: list[Level] = field(default_factory=list)

    def __post_init__(self) -> None:
        assert self.best.objective is not None
        low, high = (-math.inf if self.best.bound is None else self.best.bound), self.best.objective
        self.known = low, high
        self.limits = low + self.within * abs(low), high + self.within * abs(high)
        self.near: NearChoices | None = self.best.result.details.get("near")

    def listed(self, feature: str) -> Role | None:
        """Return a role by the list of selections within the share; None if the list does not determine it."""
        if self.near is None:
            return None
        selected, j = feature in self.best.selected, self.task.data.features.index(feature)
        others = [c for c in self.near.choices if (c.choice[j] > 0.5) != selected]
        bound = max(self.known[0], min([self.near.below, *(c.bound for c in others)]))
        if others and others[0].objective <= self.limits[0]:
            role, other = SOME, (bound, others[0].objective)
        elif others or not self.near.complete or (selected and self.prices):
            return None
        else:
            role, other = EVERY if selected else NONE, (bound, math.inf)
        return self.role_of(feature, role, other)

    def role(self, feature: str) -> Role:
        """Return the role of a feature, after a solve without it if the best model uses it, otherwise with it."""
        if (known := self.listed(feature)) is not None:
            return known
        selected = feature in self.best.selected
        near, far = self.limits
        has = next((one for one in self.solves if feature in one.selected and one.objective <= near), None)
        if has is not None and not selected:
            return self.role_of(feature, SOME, (self.known[0], has.objective))
        if self.clock.over or interrupt.pressed():
            raise KeyboardInterrupt

        def is_decided(row: dict[str, Any]) -> bool:
            bound, incumbent = row["Bound"], row["Incumbent"]
            return (bound is not None and bound > far) or (incumbent is not None and incumbent <= near)

        assert self.task.model is not None
        stop = None if self.prices and selected else is_decided
        with fixed(self.task.model.sigma[feature], 0 if selected else 1):
            found = Level.of(self.task.changed(callback=stop, time_limit=self.clock.left).solve())
        self.solves.append(found)
        other = max(self.known[0], found.bound), found.objective  # the bound of the best holds with a further row too
        out = EVERY if selected else NONE
        role = out if other[0] > far else SOME if max(other[1], self.known[1]) <= near else OPEN
        return self.role_of(feature, role, other)

    def role_of(self, feature: str, role: str, other: tuple[float, float]) -> Role:
        """Return a role; ``other``: (bound, objective) of the models that differ from the best in this feature."""
        selected = feature in self.best.selected
        return Role(feature, role, selected, *((other, self.known) if selected else (self.known, other)))


def _more(names: list[str], after: bool) -> str:
    return "more is" if after and len(names) == 1 else "more are" if after else "is" if len(names) == 1 else "are"
