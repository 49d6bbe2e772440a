"""Computation of the parts of a report in order, with time limits; Ctrl-C keeps the finished parts."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pyomo.environ as pyo

from fsmodels.checks import feature_count, number
from fsmodels.datasets.splitting import fold_rows
from fsmodels.errors import Error, NoSelection, ParameterError
from fsmodels.evaluation.cross_validate import CrossValidated, over_folds
from fsmodels.evaluation.folds import Folds
from fsmodels.insight.certify import Certified, certify
from fsmodels.insight.necessity import Necessity, necessity
from fsmodels.insight.price import Prices, price_of
from fsmodels.selection import report
from fsmodels.selection.curve import SelectionPath
from fsmodels.selection.path import path
from fsmodels.selection.request import Request
from fsmodels.selection.rows import rows_on_switches
from fsmodels.selection.selection import Selection
from fsmodels.selection.workers import worker_count
from fsmodels.text import listed
from solvers import StopReason, interrupt, progress
from solvers.clock import Clock, one_clock, own_clock

TITLES = {"errors": "Errors on new samples", "path": "Other numbers of features", "what_ifs": "What if"}
POINTS = 10  # of a path, at most, by default
SLOW = 300, 20_000  # features, samples: above these recursive elimination takes minutes
MOST_FEATURES = 12  # features that are left out one by one
SELECTION, ERRORS, PATH = 0.4, 0.4, 0.7  # largest shares of the time that is left; errors: of each of two models
FEW = 10  # samples of a class, below which errors are rough
OTHERS = ("validation", "choose_by", "callback", "memory")  # parameters of ``select`` that a report does not take
NO_TIME = "Not measured: no time was left. Give a longer time limit."
STOPPED = "Not measured: the report was stopped before."


@dataclass(frozen=True)
class Plan:
    """A request, with the further parts of a report.

    ``cv``: folds, 0 for none. ``most``: the largest number of features of the path, 0 for no path. ``what_ifs``:
    seconds for what-if questions, 0 for none; None without a limit. ``time_limit``: seconds of the whole report, None
    without a limit. ``seed``: of the folds.
    """

    request: Request
    cv: int
    most: int
    what_ifs: float | None
    time_limit: float | None
    n_jobs: int
    seed: int

    @classmethod
    def of(
        cls,
        request: Request,
        *,
        cv: int,
        max_path: int | None,
        what_ifs: float | None,
        time_limit: float | None,
        n_jobs: int,
    ) -> Plan:
        """Return the plan after checks of all parameters. Raises ParameterError, DataError."""
        spec, data = request.spec, request.data
        for word in OTHERS:
            if request.options.get(word) is not None:
                raise ParameterError(f"report does not take {word}, a parameter of one solve: leave it out.")
        if spec.runs_solver and time_limit is not None and not 0 < number(time_limit) < math.inf:
            raise ParameterError(f"time_limit={time_limit!r} is not allowed: give seconds above 0, or None.")
        seed = request.arguments.get("seed")
        if not spec.runs_solver and "seed" not in spec.parameters:
            options = {name: value for name, value in request.options.items() if name != "seed"}
            request = replace(request, options=options)  # the seed is only for the folds
        if cv != 0:
            try:
                fold_rows(data.y, cv, seed or 0, "cv")
            except ParameterError as error:
                raise ParameterError(f"{error} Or omit the held-out error with cv=0.") from None
        if what_ifs is not None and not 0 <= number(what_ifs) < math.inf:
            raise ParameterError(f"what_ifs={what_ifs!r} is not allowed: give seconds, 0 for none.")
        request = request.scaled()
        allowed = request.parameters.get("max_features")
        most = 0
        if isinstance(allowed, numbers.Integral) and max_path != 0:
            p, allowed = data.n_features, int(allowed)
            most = min(p, max(allowed, min(POINTS, max(2 * allowed, allowed + 3))))
            if max_path is not None:
                most = feature_count(max_path, p, name="max_path")
        return cls(request, cv, most, time_limit if what_ifs is None else what_ifs, time_limit, n_jobs, seed or 0)

    @property
    def sizes(self) -> list[int]:
        """The numbers of features of the path, including the requested number."""
        every = max(1, math.ceil(self.most / POINTS))
        allowed = int(self.request.parameters["max_features"])
        sizes = {*range(1, self.most + 1, every), self.most, allowed}
        return sorted(size for size in sizes if size <= max(self.most, allowed))

    @property
    def rounds(self) -> int:
        """The number of folds that are solved one after another."""
        return math.ceil(self.cv / worker_count(self.n_jobs, self.cv))

    def limited(self, seconds: float | None) -> dict[str, Any]:
        """Return the time limit as an option of the model, if it runs a solver."""
        return {"time_limit": seconds} if self.request.spec.runs_solver else {}


@dataclass
class Findings:
    """The results of a report.

    ``errors``: held-out errors of the model; ``rivals``: of other models. ``path``: objective and errors by number of
    features. ``necessity``, ``prices``: costs of features and side constraints. ``certified``: distance of a heuristic
    selection from the best. ``missing``: the reason for each missing part.
    """

    plan: Plan
    found: Selection
    errors: CrossValidated | None = None
    rivals: list[CrossValidated] = field(default_factory=list)
    path: SelectionPath | None = None
    necessity: Necessity | None = None
    prices: Prices | None = None
    certified: Certified | None = None
    missing: dict[str, str] = field(default_factory=dict)
    stopped: bool = False

    @property
    def summary(self) -> list[str]:
        """Sentences on the selection, its held-out error with warnings, and the missing parts."""
        found, held = self.found, self.errors
        lines = [report.headline(found), f"Selected: {listed(found.table().index) or 'none'}."]
        if held is not None:
            counts = int((found.data.y > 0).sum()), int((found.data.y < 0).sum())
            common = report.percent(min(counts) / sum(counts))
            lines.append(f"Held-out error {held.in_words}, over {held.folds} folds.")
            lines.append(f"Predicting the more frequent class for every sample has the error {common}.")
            balanced = held.summary().loc["balanced_error"].fillna(0.0)
            if balanced["mean"] + balanced["se"] >= 0.5:
                mean = report.percent(balanced["mean"])
                lines.append(f"The balanced error is {mean}, and guessing has 50%: do not use this classifier.")
            if min(counts) < FEW * held.folds / 2:
                lines.append(f"The smaller class has only {min(counts)} samples, so the errors are rough.")
        lines += [f"{TITLES.get(part, part)}: {why}" for part, why in self.missing.items()]
        return [*lines, "This report was stopped before it was complete."] if self.stopped else lines


def work(plan: Plan) -> Findings:
    """Compute all parts. Raises NoSelection: there is no selection; and as ``select``.

    Each part has a share of the time that is left, so that time that a part does not need is for the later ones.
    """
    with interrupt.run(), one_clock():
        clock = Clock.of_run(plan.time_limit)
        with progress.doing("", left=lambda: clock.left):
            return _work(plan, clock)


def _work(plan: Plan, clock: Clock) -> Findings:
    with progress.doing("selecting"):
        limit = None if plan.time_limit is None else min(SELECTION * plan.time_limit, clock.left or 0.0)
        task, found = _selected(plan, limit)
    if not found.has_solution:
        failed = NoSelection(report.headline(found))
        failed.selection = found
        raise failed
    done = Findings(plan, found, stopped=found.stop_reason is StopReason.INTERRUPTED)
    stages: dict[str, Callable[[], None]] = {
        "errors": lambda: _errors(done, clock),
        "path": lambda: _path(done, clock),
        "what_ifs": lambda: _what_ifs(done, task, clock),
    }
    for name, stage in stages.items():
        if done.stopped or interrupt.pressed():
            done.stopped = True
            done.missing.setdefault(name, STOPPED)
            continue
        if clock.over:
            done.missing[name] = NO_TIME
            continue
        try:
            with own_clock(), progress.doing(TITLES[name].lower()):
                stage()
        except KeyboardInterrupt:
            done.stopped = True
            done.missing.setdefault(name, STOPPED)
        except Error as error:
            done.missing[name] = f"Not measured. {error}"
    done.stopped = done.stopped or interrupt.pressed()
    return done


def _share(clock: Clock, share: float) -> float | None:
    """Return a share of the seconds that are left; None without a limit."""
    return None if clock.left is None else share * clock.left


def _selected(plan: Plan, time_limit: float | None) -> tuple[Request, Selection]:
    """Solve; return the request, whose memory later solves use, and the selection."""
    with own_clock():
        with interrupt.raising():
            task = plan.request.changed(**plan.limited(time_limit)).build().with_memory()
        return task, task.solve()


def _errors(done: Findings, clock: Clock) -> None:
    """Compute held-out errors of the model, of the SVM on all features and of recursive elimination."""
    plan = done.plan
    if not plan.cv:
        done.missing["errors"] = "Not measured: cv = 0."
        return
    done.errors = _held_out_errors(plan, plan.request.changed(**plan.limited(_share(clock, ERRORS / plan.rounds))))
    for rival in _rivals(done, _share(clock, ERRORS / plan.rounds)):
        if clock.over:
            done.missing[rival.spec.name] = NO_TIME
            continue
        try:
            done.rivals.append(_held_out_errors(plan, rival))
        except Error as error:
            done.missing[rival.spec.name] = str(error)


def _held_out_errors(plan: Plan, request: Request) -> CrossValidated:
    """Cross-validate a request. Raises KeyboardInterrupt if Ctrl-C left folds out."""
    with progress.doing(request.spec.name):
        held = over_folds(request, Folds(plan.cv, seed=plan.seed, n_jobs=plan.n_jobs))
    if len(held.runs) < held.planned:
        raise KeyboardInterrupt
    return held


def _rivals(done: Findings, time_limit: float | None) -> list[Request]:
    """Return the requests to compare with, which have the same C."""
    request, given = done.plan.request, done.found.parameters
    C, data = {"C": given["C"]} if "C" in given else {}, request.data
    rivals = []
    if request.spec.name != "svm":
        rivals.append(Request.of(data, "svm", **C, time_limit=time_limit))
    size, small = len(done.found.selected), data.n_features <= SLOW[0] and data.n_samples <= SLOW[1]
    if request.spec.name != "rfe" and small and not data.is_sparse and 0 < size < data.n_features:
        rivals.append(Request.of(data, "rfe", **C, max_features=size, **rows_on_switches(request.rows, data)))
    return rivals


def _path(done: Findings, clock: Clock) -> None:
    plan, request = done.plan, done.plan.request
    if not plan.most:
        known = request.parameters.get("max_features") is not None
        done.missing["path"] = f"Not measured: {'max_path = 0' if known else 'there is no max_features'}."
        return
    limit = _share(clock, PATH / (len(plan.sizes) * (1 + plan.rounds)))
    arguments = {**request.arguments, "max_features": plan.sizes, **plan.limited(limit)}
    folds = fold_rows(request.data.y, plan.cv, plan.seed) if plan.cv else None
    done.path = path(request.data, request.spec.name, folds=folds, n_jobs=plan.n_jobs, **arguments)


def _what_ifs(done: Findings, task: Request, clock: Clock) -> None:
    """Prove the costs of selected features and side constraints, or the distance of a heuristic from the best."""
    plan, found, request = done.plan, done.found, done.plan.request
    if plan.what_ifs == 0:
        done.missing["what_ifs"] = "Not measured: what_ifs = 0."
        return
    limits = [seconds for seconds in (plan.what_ifs, clock.left) if seconds is not None]
    own, model = Clock.of_run(min(limits, default=None)), task.model
    proven = task.spec.proves_bound and task.spec.reuses_model
    if proven and model is not None and model.component("sigma") is not None:
        names = [row.name for row in model.component_objects(pyo.Constraint, active=True)]
        rows = [name for name in names if name.startswith(tuple(task.stated or ()))]
        memory = {name: value for name, value in task.options.items() if name == "memory"}
        free = [name for name in found.table().index if name not in found.parameters.get("force_in", ())]
        if free:
            done.necessity = necessity(
                request.data, request.spec.name, features=free[:MOST_FEATURES],
                time_limit=_share(own, 0.5) if rows else own.left, **memory, **request.arguments,
            )  # fmt: skip
        if rows and not interrupt.pressed():
            options = {name: value for name, value in task.options.items() if name != "time_limit"}
            done.prices = price_of(model, rows, solver=task.solver, time_limit=own.left, **options)
        return
    if "fsp_objective" in task.spec.comparison_objectives and found.selected:
        done.certified = certify(
            request.data, found.selected, C=found.parameters["C"], time_limit=own.left, **request.rows
        )
    lack = "proves no bound" if found.bound is None else "has no binary variable for each feature"
    done.missing["what_ifs"] = f"Not measured: {request.spec.name} {lack}. Use a model with both, such as fsp-m."
