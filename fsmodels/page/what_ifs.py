"""What if: each selected feature left out, and each side constraint, answered one after the other from one memory.

Let v be the objective of the selection and b <= v its proven bound, v' and b' those of the question. Leaving a feature
out costs between b' - v and v' - b; a row costs between b - v' and v - b', where v', b' are without it. Both are at
least 0, as a row more cannot better the optimum. Without one of its features a selection is another one, so the
cheapest of these answers is the best other selection that has not all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fsmodels.datasets.dataset import Dataset
from fsmodels.insight.exact import BOUNDED, share_of
from fsmodels.insight.explore import Session, explore
from fsmodels.selection.recipes import find
from fsmodels.selection.selection import Selection
from fsmodels.selection.sides import FREE, KINDS, ONCE, words_of
from solvers import SolutionStatus, StopReason, interrupt
from solvers.clock import Clock, own_clock

__all__ = ["Cost", "Rule", "WhatIfs", "asked", "can_ask", "rules_of", "words_for"]

MOST_FEATURES = 12  # that are left out one by one


@dataclass(frozen=True)
class Rule:
    """One side constraint: its kind, and what of it a report tells."""

    kind: str
    told: Any


@dataclass(frozen=True)
class Cost:
    """What leaving something out costs, as a share of the objective, between two proven ends.

    ``what``: a feature, or a Rule. ``instead``: what is selected then; None where nothing is known, or possible
    (``possible``).
    """

    what: str | Rule
    least: float
    most: float
    instead: tuple[str, ...] | None
    possible: bool = True

    @property
    def settled(self) -> bool:
        """Whether both ends are the same to a tenth of a percent."""
        return self.most - self.least < 1e-3


@dataclass(frozen=True)
class WhatIfs:
    """Answers: of the selected features (``features``), of side constraints (``rules``); ``left``: not come to."""

    features: tuple[Cost, ...]
    rules: tuple[Cost, ...]
    left: int

    @property
    def next_best(self) -> Cost | None:
        """The cheapest other selection, where all features were asked about."""
        known = [cost for cost in self.features if cost.instead is not None]
        return min(known, key=lambda cost: (cost.most, cost.least)) if known and not self.left else None


def can_ask(found: Selection) -> bool:
    """Tell whether the model proves what such questions ask."""
    has_sigma = found.model is not None and found.model.component("sigma") is not None
    return found.name in BOUNDED and find(found.name).keeps_model and has_sigma and found.objective is not None


def rules_of(found: Selection) -> list[Rule]:
    """Return the side constraints one by one."""
    rules: list[Rule] = []
    for kind in (kind for kind in KINDS if kind in found.parameters):
        told = found.parameters[kind]
        if kind == "budget" and not isinstance(told, list):
            continue  # the number of fsmulti
        if kind == "signs":
            rules += [Rule(kind, {name: sign}) for name, sign in told.items()]
        elif kind in FREE:
            rules += [Rule(kind, [name]) for name in told]
        else:
            rules += [Rule(kind, told)] if kind in ONCE else [Rule(kind, part) for part in told]
    return rules


def words_for(rules: list[Rule]) -> dict[str, Any]:
    """Return what ``select`` takes for these rules."""
    told: dict[str, Any] = {}
    for rule in rules:
        if rule.kind == "signs":
            told.setdefault("signs", {}).update(rule.told)
        elif rule.kind in FREE:
            told.setdefault(rule.kind, []).extend(rule.told)
        elif rule.kind in ONCE:
            told[rule.kind] = rule.told
        else:
            told.setdefault(rule.kind, []).append(rule.told)
    return words_of(told)


def asked(data: Dataset, found: Selection, time_limit: float | None, given: Mapping[str, Any]) -> WhatIfs:
    """Ask about each selected feature and each rule, within seconds of all; what Ctrl-C or time leaves is counted.

    ``given``: the words of ``select``, with a memory from the first solve where the driver has one.
    """
    rules = rules_of(found)
    names = [name for name in found.table().index if name not in found.parameters.get("force_in", ())][:MOST_FEATURES]
    questions: list[tuple[str | Rule, dict[str, Any]]] = []
    out = list(found.parameters.get("force_out", ()))
    for name in names:
        questions.append((name, words_for(rules) | {"force_out": [*out, name]}))
    for rule in rules:
        rest = [other for other in rules if other is not rule]
        none = dict.fromkeys(["force_out", *(other.kind for other in rules)])  # a session keeps what is not named
        questions.append((rule, none | words_for(rest)))
    clock = Clock.of_run(time_limit)
    answers: dict[int, Cost] = {}
    # Every rule is stated by itself, those of categories too, so that each can be left out.
    data = replace(data, categories={name: replace(kind, together=False) for name, kind in data.categories.items()})
    words = {name: value for name, value in given.items() if name not in KINDS} | words_for(rules)
    for k, cost in _answers(data, found, questions, clock, words):
        answers[k] = cost
    costs = [answers.get(k) for k in range(len(questions))]
    left = sum(cost is None for cost in costs)
    known = [cost for cost in costs if cost is not None]
    return WhatIfs(
        tuple(cost for cost in known if isinstance(cost.what, str)),
        tuple(cost for cost in known if isinstance(cost.what, Rule)),
        left,
    )


def _answers(
    data: Dataset, found: Selection, questions: list[Any], clock: Clock, given: Mapping[str, Any]
) -> Iterator[tuple[int, Cost]]:
    """Ask until time or patience ends."""
    if not questions:
        return
    try:
        with interrupt.raising():
            session = explore(data, found.name, **{**given, "time_limit": clock.left})
        for k, (what, changes) in enumerate(questions):
            if clock.over or interrupt.pressed():
                return
            limit = None if clock.left is None else clock.left / (len(questions) - k)
            cost = _cost(session, found, what, changes, limit)
            if cost is None:
                return
            yield k, cost
    except KeyboardInterrupt:
        return


def _cost(session: Session, found: Selection, what: Any, changes: dict[str, Any], limit: float | None) -> Cost | None:
    with own_clock():
        other = session.ask(**changes, time_limit=limit).found
    if other.stop_reason is StopReason.INTERRUPTED:
        return None
    value, bound = found.objective, -math.inf if found.bound is None else found.bound
    assert value is not None
    if other.status is SolutionStatus.INFEASIBLE:
        return Cost(what, math.inf, math.inf, None, possible=False)
    low = -math.inf if other.bound is None else other.bound
    high = math.inf if other.objective is None else other.objective
    if isinstance(what, Rule):
        least, most = bound - high, value - low
    else:
        least, most = low - value, high - bound
    least, most = max(0.0, float(least)), max(0.0, float(least), float(most))
    instead = other.selected if other.has_solution else None
    return Cost(what, _share(least, value), _share(most, value), instead)


def _share(cost: float, value: float) -> float:
    return share_of(value + cost, value) if math.isfinite(cost) else cost
