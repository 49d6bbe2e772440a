"""Proven distance of a given selection from the best one under the same limits."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fsmodels.checks import positive
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import DataError, ParameterError
from fsmodels.insight.what_if import ProvenAnswer, about, at_most, bounded, clock_of, share_of
from fsmodels.selection.catalogue import find
from fsmodels.selection.report import number
from fsmodels.selection.request import Request, driver_options
from fsmodels.selection.rows import accepts_rows
from fsmodels.selection.selection import Selection
from fsmodels.text import as_names, check_known_features, listed
from solvers import StopReason, interrupt
from solvers import progress as watching
from solvers.clock import one_clock
from solvers.interrupt import Cancel

SAME = 1e-6  # relative: objectives that are taken as equal


@dataclass(frozen=True, eq=False, repr=False)
class Certified(ProvenAnswer):
    """Comparison of a given selection with the best one.

    Attributes
    ----------
    model : str
    features : tuple of str
        The given selection.
    own : Selection
        The best classifier on exactly these features.
    best : Selection
        The best selection found under the same limits, with its proven bound.
    objective, bound : float
        The objective of the model at ``features``, and the proven bound on all selections under the same limits.
    within : float or None
        The share in the question "is the selection at most this share above the best?".
    """

    question = "certify"

    model: str
    features: tuple[str, ...]
    own: Selection
    best: Selection
    objective: float
    bound: float
    within: float | None = None

    @property
    def gap(self) -> float:
        """``(objective - bound) / |objective|``, as in other results."""
        return max(0.0, self.objective - self.bound) / (abs(self.objective) or 1.0)

    @property
    def above(self) -> float:
        """The largest possible share above the best: ``(objective - bound) / |bound|``."""
        return max(0.0, share_of(self.objective, self.bound))

    @property
    def worse(self) -> float:
        """The share above the best selection that was found; 0 if that is no better."""
        best = self.best.objective
        return 0.0 if best is None else max(0.0, share_of(self.objective, best))

    @property
    def answer(self) -> bool | None:
        """True if the selection is proven within ``within`` of the best, False if it is proven not to be; else None."""
        if self.within is None:
            return None
        return _answer(self.objective, self.bound, self.best.objective, self.within)

    @property
    def seconds(self) -> float:
        """Wall-clock time of both solves."""
        return self.own.seconds + self.best.seconds

    @property
    def sentence(self) -> str:
        """The answer without terms of duality."""
        most = self.best.parameters.get("max_features")
        those = (
            f"model with at most {most} {self.best.parameters.get('count', 'features')}"
            if most is not None
            else "model under the same limits"
        )
        text = (
            f"The {len(self.features)} given features have the objective {number(self.objective)}. The objective of "
            f"every {those} is at least {number(self.bound)}, so they are {at_most(self.above)} above the best "
            "possible."
        )
        if self.worse > SAME:
            text += (
                f" {listed(self.best.selected)} have the objective {number(self.best.objective)}, and the given "
                f"features are {about(self.worse)} above that."
            )
        if self.within is None:
            return text
        share = about(self.within)
        return {
            True: f"Yes, within {share} of the best. {text}",
            False: f"No, not within {share} of the best. {text}",
            None: f"It is not decided yet whether they are within {share} of the best: give more time. {text}",
        }[self.answer]

    def _content(self) -> dict[str, Any]:
        return {
            "features": self.features,
            "objective": self.objective,
            "bound": self.bound,
            "gap": self.gap,
            "above": self.above,
            "answer": self.answer,
            "best": {"selected": self.best.selected, "objective": self.best.objective},
            "status": self.best.status.value,
            "stop_reason": self.best.stop_reason.value,
        }


def certify(
    data: Dataset,
    features: Iterable[str],
    model: str = "fsp-m",
    *,
    within: float | None = None,
    max_features: int | None = None,
    force_in: Iterable[str] = (),
    force_out: Iterable[str] = (),
    scale: str | None = None,
    time_limit: float | None = None,
    progress: bool = False,
    cancel: Cancel | None = None,
    **given: Any,
) -> Certified:
    """Prove how far a given selection can be from the best under the same limits.

    Parameters
    ----------
    data : Dataset
        Scaled as by ``select``.
    features : names
        The selection, for example of an expert or of RFE.
    model : str
        A model with a proven bound: fsp-m, fsp-lambda, fs, fsl, gmeb, fsmulti.
    within : float, optional
        Decide whether the selection is at most this share above the best, 0.05 for 5%, and stop as soon as it is
        decided.
    max_features : int, optional
        The largest number of features of the other selections; by default the number of ``features``, if the model has
        such a limit.
    force_in, force_out, scale, **given
        As in ``select``: parameters of the model, side constraints, ``solver``, options. The selection must meet the
        side constraints too.
    time_limit : float, optional
        Seconds for both solves. The bound at the time limit is reported.
    progress : bool
        Show the current solve and its progress.
    cancel : Cancel, optional
        Token that ends the call from another thread, as Ctrl-C does.

    Returns
    -------
    Certified

    Raises
    ------
    ParameterError
        The model proves no bound; ``within`` is not above 0; the selection violates a side constraint.
    DataError
        A name is no feature, or is repeated.

    Examples
    --------
    >>> import fsmodels as fs
    >>> answer = fs.certify(fs.load_dataset("bupa"), ["mcv", "sgot"], C=1.0)
    >>> print(f"{answer.objective:.1f} {answer.bound:.1f}: at most {100 * answer.above:.1f}% above the best")
    290.0 275.8: at most 5.1% above the best
    """
    spec = find(bounded(model))
    names = as_names(features, "features")
    if within is not None:
        within = positive("within", within, "a share of the objective, 0.05 for 5%")
    if "callback" in given:
        raise ParameterError("callback is used by certify itself: leave it out.")
    with interrupt.run(cancel), one_clock(), watching.shown(progress):
        request = Request.of(data, spec.name, scale=scale, **given).scaled()
        check_known_features(names, request.data.features, "features")
        if len(set(names)) < len(names):
            raise DataError(f"features names {listed(names)}: give each once.")
        inside, outside = as_names(force_in, "force_in"), as_names(force_out, "force_out")
        priced = spec.name == "fsp-lambda" or request.parameters.get("penalty") is not None
        if max_features is None and not priced and accepts_rows(spec):
            max_features = max(len(names), len(inside), 1)
        wrong = [name for name in inside if name not in names] + [name for name in outside if name in names]
        if wrong:
            verb, why = ("lacks", "force_in requires") if wrong[0] in inside else ("has", "force_out forbids")
            raise ParameterError(
                f'The selection {listed(names)} violates a side constraint: it {verb} "{wrong[0]}", which {why}. '
                "Change one of them."
            )
        clock = clock_of(time_limit)

        def solve(what: str, **more: Any) -> Selection:
            with watching.doing(what):
                return request.changed(max_features=max_features, time_limit=clock.left, **more).solve()

        others = [name for name in request.data.features if name not in set(names)]
        own = solve("the given selection", force_in=names, force_out=list(dict.fromkeys([*others, *outside])))
        if own.objective is None:
            if own.stop_reason in (StopReason.TIME_LIMIT, StopReason.INTERRUPTED):
                raise ParameterError(f"time_limit={time_limit} is too short to evaluate the selection: give more.")
            raise ParameterError(
                f"The selection {listed(names)} violates the side constraints: {own.message or 'no solution'}"
            )

        early: dict[str, Any] = {}
        if within is not None and "callback" in driver_options(own.model, request.solver):
            share = within
            early["callback"] = lambda row: _answer(own.objective, row["Bound"], row["Incumbent"], share) is not None
        best = solve("the best selection", force_in=inside, force_out=outside, **early)
        bound = -math.inf if best.bound is None else min(best.bound, own.objective)
        return Certified(spec.name, tuple(names), own, best, own.objective, bound, within)


def _answer(own: float | None, bound: float | None, best: float | None, within: float) -> bool | None:
    """Return True or False if the bound or a better selection decides that ``own`` is within the share of the best."""
    if own is None:
        return None
    if bound is not None and own - bound <= within * abs(bound):
        return True
    return False if best is not None and own - best > within * abs(best) else None
