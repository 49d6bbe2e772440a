"""Proven distance of a given selection from the best one under the same limits."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fsmodels.checks import positive
from fsmodels.datasets.checks import apply_scaling
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import DataError, ParameterError
from fsmodels.insight.what_if import ProvenAnswer, about, bounded, clock_of, share_of
from fsmodels.selection.catalogue import find
from fsmodels.selection.report import number
from fsmodels.selection.request import data_and_words, driver_options
from fsmodels.selection.rows import able
from fsmodels.selection.select import select
from fsmodels.selection.selection import Selection
from fsmodels.text import as_names, check_known_features, listed
from solvers import StopReason, interrupt
from solvers import progress as watching
from solvers.clock import one_clock

SAME = 1e-6  # relative: objectives that are taken as equal


@dataclass(frozen=True, eq=False, repr=False)
class Certified(ProvenAnswer):
    """A selection from elsewhere, compared with the best.

    Attributes
    ----------
    model : str
    features : tuple of str
        The given selection.
    own : Selection
        The best classifier on exactly these features.
    best : Selection
        The best selection that was found under the same limits, with its proven bound.
    objective, bound : float
        Of the model, at ``features``; and the proven bound on all selections under the same limits.
    within : float or None
        The question: is the selection at most this share above the best?
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
        """``(objective - bound) / |objective|``, as of every result."""
        return max(0.0, self.objective - self.bound) / (abs(self.objective) or 1.0)

    @property
    def above(self) -> float:
        """The largest possible share above the best: ``(objective - bound) / |bound|``."""
        return max(0.0, share_of(self.objective, self.bound))

    @property
    def worse(self) -> float:
        """The share above the best selection that was found; 0 if that is no better."""
        met = self.best.objective
        return 0.0 if met is None else max(0.0, share_of(self.objective, met))

    @property
    def answer(self) -> bool | None:
        """Whether the selection is within ``within`` of the best; None if this is open, or ``within`` was not given."""
        if self.within is None:
            return None
        return _answer(self.objective, self.bound, self.best.objective, self.within)

    @property
    def seconds(self) -> float:
        """Wall-clock time of both solves."""
        return self.own.seconds + self.best.seconds

    @property
    def sentence(self) -> str:
        """The answer for a reader who does not know duality."""
        most = self.best.parameters.get("max_features")
        those = f"model of at most {most} features" if most is not None else "model under the same limits"
        words = f"The {len(self.features)} given features reach {number(self.objective)}; no {those} comes below "
        words += f"{number(self.bound)}: they are at most {about(self.above)} above the best possible."
        if self.worse > SAME:
            words += f" {listed(self.best.selected)} reach {number(self.best.objective)}, and the given are "
            words += f"{about(self.worse)} above that."
        if self.within is None:
            return words
        share = about(self.within)
        return {
            True: f"Yes, within {share} of the best. {words}",
            False: f"No, not within {share} of the best. {words}",
            None: f"Whether they are within {share} of the best is open: more time would tell. {words}",
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
    **given: Any,
) -> Certified:
    """Prove how far a selection from elsewhere can be from the best under the same limits.

    Parameters
    ----------
    data : Dataset
        Scaled here as by ``select``.
    features : names
        The selection: a clinician's, last year's, that of RFE.
    model : str
        One with a proven bound: fsp-m, fsp-lambda, fs, fsl, gmeb, fsmulti.
    within : float, optional
        The question "is it at most this share above the best?", 0.05 for 5%. The run stops as soon as it is answered.
    max_features : int, optional
        The largest number of features of the models that it is compared with; by default the number of ``features``,
        if the model has such a limit.
    force_in, force_out, scale, **given
        As in ``select``: parameters of the model, side constraints, ``solver``, options. The selection must meet the
        side constraints too.
    time_limit : float, optional
        Seconds for both solves. At the limit the bound that is proven by then is reported.
    progress : bool
        Show the current solve and its progress.

    Returns
    -------
    Certified

    Raises
    ------
    ParameterError
        The model proves no bound; ``within`` is not above 0; the selection breaks a side constraint.
    DataError
        A name is no feature, or is repeated.

    Examples
    --------
    >>> import fsmodels as fs
    >>> asked = fs.certify(fs.load_dataset("bupa"), ["mcv", "sgot"], C=1.0)
    >>> print(f"{asked.objective:.1f} {asked.bound:.1f}: at most {100 * asked.above:.1f}% above the best")
    290.0 275.8: at most 5.1% above the best
    """
    spec = find(bounded(model))
    names = as_names(features, "features")
    if within is not None:
        within = positive("within", within, "a share of the objective, 0.05 for 5%")
    if "callback" in given:
        raise ParameterError("callback is taken by certify itself: leave it out.")
    with interrupt.run(), one_clock(), watching.shown(progress):
        data, given = data_and_words(data, given)
        data = apply_scaling(data, scale)
        check_known_features(names, data.features, "features")
        if len(set(names)) < len(names):
            raise DataError(f"features names {listed(names)}: give each once.")
        inside, outside = as_names(force_in, "force_in"), as_names(force_out, "force_out")
        if max_features is None and spec.name != "fsp-lambda" and given.get("penalty") is None and able(spec):
            max_features = max(len(names), len(inside), 1)
        wrong = [name for name in inside if name not in names] + [name for name in outside if name in names]
        if wrong:
            held, why = ("lacks", "force_in demands") if wrong[0] in inside else ("has", "force_out forbids")
            raise ParameterError(
                f'The selection {listed(names)} breaks what the models are held to: it {held} "{wrong[0]}", which '
                f"{why}. Change one of them."
            )
        clock = clock_of(time_limit)

        def solve(what: str, **more: Any) -> Selection:
            with watching.doing(what):
                return select(data, spec.name, max_features=max_features, time_limit=clock.left, **given, **more)

        outsiders = [name for name in data.features if name not in set(names)]
        own = solve("the given selection", force_in=names, force_out=list(dict.fromkeys([*outsiders, *outside])))
        if own.objective is None:
            if own.stop_reason in (StopReason.TIME_LIMIT, StopReason.INTERRUPTED):
                raise ParameterError(f"time_limit={time_limit} is too short to evaluate the selection: give more.")
            raise ParameterError(
                f"The selection {listed(names)} breaks what the models are held to: {own.message or 'no solution'}"
            )

        early: dict[str, Any] = {}
        if within is not None and "callback" in driver_options(own.model, given.get("solver")):
            share = within

            def settled(row: dict[str, Any]) -> bool:
                return _answer(own.objective, row["Bound"], row["Incumbent"], share) is not None

            early["callback"] = settled
        best = solve("the best selection", force_in=inside, force_out=outside, **early)
        bound = -math.inf if best.bound is None else min(best.bound, own.objective)
        return Certified(spec.name, tuple(names), own, best, own.objective, bound, within)


def _answer(own: float | None, bound: float | None, met: float | None, within: float) -> bool | None:
    """Return whether the selection is at most this share above the best: by the bound, or by a better selection."""
    if own is None:
        return None
    if bound is not None and own - bound <= within * abs(bound):
        return True
    return False if met is not None and own - met > within * abs(met) else None
