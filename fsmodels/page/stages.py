"""What a report is made of, part after part: each has its share of the time, and Ctrl-C keeps those that are done."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fsmodels.checks import feature_count
from fsmodels.datasets.dataset import Dataset
from fsmodels.datasets.splitting import fold_rows
from fsmodels.errors import Error, NoSelection, ParameterError
from fsmodels.evaluation.cross_validation import CrossValidated, cross_validate
from fsmodels.insight.certify import Certified, certify
from fsmodels.insight.exact import ready
from fsmodels.page.errors import Held, majority
from fsmodels.page.what_ifs import WhatIfs, asked, can_ask, rules_of, words_for
from fsmodels.selection import report
from fsmodels.selection.curve import SelectionPath
from fsmodels.selection.path import path
from fsmodels.selection.recipes import find
from fsmodels.selection.select import prepared
from fsmodels.selection.selection import Selection
from fsmodels.selection.sides import KINDS, ON_WEIGHTS
from solvers import Memory, StopReason, interrupt, progress
from solvers.clock import own_clock

__all__ = ["Findings", "Plan", "work"]

POINTS = 10  # of a path, at most, where nobody says how many
SLOW = 300, 20_000  # features, samples: from there on recursive elimination would take minutes
OTHERS = ("validation", "choose_by", "callback", "memory")  # words of select that no report can take
STOPPED = "Not measured: the report was stopped before."


@dataclass(frozen=True)
class Plan:
    """What is asked: a model, its words as ``select`` takes them, and how much else is to be found out.

    ``cv``: folds, 0 for none. ``most``: the largest number of features of the path, 0 for none. ``what_ifs``: seconds
    for these questions, 0 for none; None without a limit. ``time_limit``: seconds of each solve, None without.
    ``seed``: of the folds.
    """

    data: Dataset
    model: str
    words: Mapping[str, Any]
    cv: int
    most: int
    what_ifs: float | None
    time_limit: float | None
    n_jobs: int
    seed: int

    @classmethod
    def of(
        cls,
        data: Dataset,
        model: str,
        given: dict[str, Any],
        *,
        cv: int,
        max_path: int | None,
        what_ifs: float | None,
        time_limit: float | None,
        n_jobs: int,
        scale: str | None,
    ) -> Plan:
        """Return the plan, checked before anything takes time. Raises ParameterError, DataError."""
        recipe = find(model)
        for word in OTHERS:
            if given.pop(word, None) is not None:
                raise ParameterError(f"report does not take {word}, a word of one solve: leave it out.")
        if recipe.runs_solver and time_limit is not None and not (_is_number(time_limit) and time_limit > 0):
            raise ParameterError(f"time_limit={time_limit!r} is not allowed: give seconds above 0, or None.")
        seed = given.get("seed") or 0
        if not recipe.runs_solver and "seed" not in recipe.parameters:
            given.pop("seed", None)  # it is of the folds alone
        if cv != 0:
            try:
                fold_rows(data.y, cv, seed, "cv")
            except ParameterError as error:
                raise ParameterError(f"{error} Or leave the held-out error out with cv=0.") from None
        ask = time_limit if what_ifs is None else what_ifs
        if ask is not None and not (_is_number(ask) and ask >= 0):
            raise ParameterError(f"what_ifs={what_ifs!r} is not allowed: give seconds, 0 for none.")
        scaled = ready(data, scale, given)
        allowed = given.get("max_features")
        most = 0
        if isinstance(allowed, numbers.Integral) and max_path != 0:
            p, allowed = scaled.n_features, int(allowed)
            most = min(p, max(allowed, min(POINTS, max(2 * allowed, allowed + 3))))
            if max_path is not None:
                most = feature_count(max_path, p, name="max_path")
        return cls(scaled, recipe.name, given, cv, most, ask, time_limit, n_jobs, seed)

    @property
    def sizes(self) -> list[int]:
        """The numbers of features of the path, that of the question among them."""
        every = max(1, math.ceil(self.most / POINTS))
        sizes = {*range(1, self.most + 1, every), self.most, int(self.words["max_features"])}
        return sorted(size for size in sizes if size <= max(self.most, self.words["max_features"]))

    @property
    def longest(self) -> float | None:
        """Seconds that all solves may take together; None without a limit."""
        if self.time_limit is None or self.what_ifs is None:
            return None
        if not find(self.model).runs_solver:
            return None
        rounds = math.ceil(self.cv / max(1, self.n_jobs))
        walks = (1 + rounds) if self.most else 0
        return self.time_limit * (1 + 2 * rounds + walks) + self.what_ifs


@dataclass
class Findings:
    """What was found, and in words what was not.

    ``model``: held-out errors of the question's model; ``rivals``: of others, ``lost``: why not of some. ``path``:
    objective and errors by number of features. ``certified``: how far a selection of a rule of thumb is from the best.
    ``missing``: why a part is not there.
    """

    plan: Plan
    found: Selection
    model: Held | None = None
    rivals: list[tuple[str, Held]] = field(default_factory=list)
    lost: dict[str, str] = field(default_factory=dict)
    path: SelectionPath | None = None
    what_ifs: WhatIfs | None = None
    certified: Certified | None = None
    missing: dict[str, str] = field(default_factory=dict)
    stopped: bool = False


def work(plan: Plan) -> Findings:
    """Do everything. Raises NoSelection: there is nothing to tell of; and as select."""
    with interrupt.run():
        with progress.doing("selecting"):
            memory, found = _selected(plan)
        if not found.has_solution:
            failed = NoSelection(report.headline(found))
            failed.selection = found
            raise failed
        done = Findings(plan, found, stopped=found.stop_reason is StopReason.INTERRUPTED)
        for name, words, stage in (
            ("errors", "errors held out", _errors),
            ("path", "other numbers of features", _path),
            ("what_ifs", "what if", lambda done: _what_ifs(done, memory)),
        ):
            if done.stopped or interrupt.pressed():
                done.stopped = True
                done.missing.setdefault(name, STOPPED)
                continue
            try:
                with own_clock(), progress.doing(words):
                    stage(done)
            except KeyboardInterrupt:
                done.stopped = True
                done.missing.setdefault(name, STOPPED)
            except Error as error:
                done.missing[name] = f"Not measured. {error}"
        done.stopped = done.stopped or interrupt.pressed()
        return done


def _limits(plan: Plan, seconds: float | None) -> dict[str, Any]:
    return {"time_limit": seconds} if find(plan.model).runs_solver else {}


def _selected(plan: Plan) -> tuple[dict[str, Any], Selection]:
    """Solve the question; return the memory that later questions go on from, too."""
    with own_clock():
        with interrupt.raising():
            task = prepared(plan.data, plan.model, **plan.words, **_limits(plan, plan.time_limit))
            memory = {"memory": Memory()} if task.takes("memory") and "memory" not in plan.words else {}
            task.options = {**task.options, **memory}
        found = task.run()
    options = {name: value for name, value in found.result.options.items() if name not in memory}
    return memory, replace(found, result=replace(found.result, options=options))


def _errors(done: Findings) -> None:
    """Measure the model, the SVM on all features, recursive elimination and the more frequent class."""
    plan = done.plan
    if not plan.cv:
        done.missing["errors"] = "Not measured, as the report was asked to leave it out (cv = 0)."
        return
    how: dict[str, Any] = {"cv": plan.cv, "seed": plan.seed}
    done.rivals.append(("majority", majority(plan.data, **how)))
    done.model = Held.of(_judged(plan, plan.model, {**plan.words, **_limits(plan, plan.time_limit)}, how))
    for name, words in _rivals(done):
        try:
            done.rivals.append((name, Held.of(_judged(plan, name, words, how))))
        except Error as error:
            done.lost[name] = str(error)


def _judged(plan: Plan, model: str, words: Mapping[str, Any], how: Mapping[str, Any]) -> CrossValidated:
    """Cross-validate a model; a part that Ctrl-C left is none."""
    with progress.doing(model):
        held = cross_validate(plan.data, model, n_jobs=plan.n_jobs, **how, **words)
    if len(held.runs) < held.planned:
        raise KeyboardInterrupt
    return held


def _rivals(done: Findings) -> list[tuple[str, dict[str, Any]]]:
    """Return models to compare with, and their words: with the same C where that is theirs too."""
    plan, given = done.plan, done.found.parameters
    C = {"C": given["C"]} if "C" in given else {}
    rivals: list[tuple[str, dict[str, Any]]] = []
    if plan.model != "svm":
        rivals.append(("svm", {**C, "time_limit": plan.time_limit}))
    size, small = len(done.found.selected), plan.data.n_features <= SLOW[0] and plan.data.n_samples <= SLOW[1]
    if plan.model != "rfe" and small and not plan.data.is_sparse and 0 < size < plan.data.n_features:
        rows = words_for([rule for rule in rules_of(done.found) if rule.kind not in ON_WEIGHTS])
        rivals.append(("rfe", {**C, "max_features": size, **rows}))
    return rivals


def _path(done: Findings) -> None:
    plan = done.plan
    if not plan.most:
        known = "max_features" in plan.words and plan.words["max_features"] is not None
        why = "the report was asked to leave it out" if known else "no largest number of features was given"
        done.missing["path"] = f"Not measured, as {why}."
        return
    limit = None if plan.time_limit is None else plan.time_limit / len(plan.sizes)
    words = {name: value for name, value in plan.words.items() if name != "max_features"}
    folds = fold_rows(plan.data.y, plan.cv, plan.seed) if plan.cv else None
    done.path = path(
        plan.data, plan.model, max_features=plan.sizes, folds=folds, n_jobs=plan.n_jobs,
        **words, **_limits(plan, limit),
    )  # fmt: skip


def _what_ifs(done: Findings, memory: dict[str, Any]) -> None:
    plan = done.plan
    if plan.what_ifs == 0:
        done.missing["what_ifs"] = "Not asked, as the report was asked to leave it out."
        return
    if can_ask(done.found):
        done.what_ifs = asked(plan.data, done.found, plan.what_ifs, {**plan.words, **memory})
        return
    if "fsp_objective" in find(plan.model).compared and done.found.selected:
        rows = {kind: plan.words[kind] for kind in KINDS if plan.words.get(kind)}
        done.certified = certify(
            plan.data, done.found.selected, C=done.found.parameters["C"], time_limit=plan.what_ifs, **rows
        )
    why = "this method proves nothing that the answers could rest on"
    if done.found.bound is not None:
        why = "such questions are answered for methods that choose features with a proof, one by one, such as fsp-m"
    done.missing["what_ifs"] = f"Not asked, as {why}."


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
