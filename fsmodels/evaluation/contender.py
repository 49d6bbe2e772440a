"""What a model among others is given, and its runs: what fails is told, and every support is judged alike.

A model whose parameter decides how many features it selects gets the loosest of a ladder of values, from loose to
tight, with which it selects no more than the budget. The ladder is fixed beforehand, the search is by halves and sees
the rows to learn from only, so that it belongs inside the folds. Numbers of features need not fall along the whole
ladder; what is taken meets the budget all the same.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import Error, ParameterError
from fsmodels.evaluation.fold_run import FAILED, FoldRun
from fsmodels.models import fsp
from fsmodels.models.recipe import STEPS
from fsmodels.selection.outcome import FSP_SECONDS
from fsmodels.selection.parameters import PARAMETERS
from fsmodels.selection.recipes import MODELS, find
from fsmodels.selection.resampling import Resample
from fsmodels.selection.select import select
from fsmodels.selection.selection import Selection
from fsmodels.words import iterable, listed, short, shown
from solvers import StopReason
from solvers.clock import own_clock

SOLVING = ("solver", "progress", "options")  # parameters of select that say how, and not what


@dataclass(frozen=True)
class Contender:
    """A model with its words. ``tuned``: parameters that are turned, in each fold, until the budget is met."""

    name: str
    model: str
    words: dict[str, Any]
    tuned: tuple[str, ...]
    budget: int | None

    @property
    def settings(self) -> str:
        """What it was given, in words."""
        said = [f"{name}={short(str(value))}" for name, value in self.words.items() if name in PARAMETERS]
        if self.tuned:
            many = f"{self.budget} feature{'' if self.budget == 1 else 's'}"
            said.append(f"{' = '.join(self.tuned)} turned in each fold until at most {many} are selected")
        return ", ".join(said) or "nothing"

    def on(self, part: Resample, C: float) -> ContenderRun:
        """Return the run on a fold; C: at which all supports are compared."""
        return ContenderRun(self.model, self.words, part, C, self.tuned, self.budget)


@dataclass(frozen=True)
class ContenderRun(FoldRun):
    """The run of a contender on a fold; C: at which all supports are compared."""

    C: float = 1.0
    tuned: tuple[str, ...] = ()
    budget: int | None = None

    def run(self) -> dict[str, Any]:
        """Return what came out, and what the support is worth to a linear SVM; a failure with its reason."""
        try:
            return super().run()
        except Exception as error:  # whatever befalls one of many
            named = "" if isinstance(error, Error) else f"{type(error).__name__}: "
            return {FAILED: f"{named}{error}"}

    def found(self) -> tuple[Selection, dict[str, Any]]:
        """Select, within the budget where the model has none of its own."""
        if not self.tuned or self.budget is None:
            found, more = super().found()
        else:
            found, more = within(self.part.train, self.model, self.words, self.budget)
        return found, {**more, **self._as_support(found)}

    def _as_support(self, found: Selection) -> dict[str, float | None]:
        """Return the objective of fsp-m at the selected features, and the held-out error of that SVM."""
        if not found.has_solution:
            return {"fsp_objective": None, "fsp_error": None}
        data, held_out, names = found.data, self.part.held_out, found.selected
        told: dict[str, float | None] = {"fsp_objective": fsp.value(data, names, C=self.C, time_limit=FSP_SECONDS)}
        if held_out is None:
            return {**told, "fsp_error": None}
        if not names:
            return {**told, "fsp_error": float(np.mean(held_out.y != (1.0 if data.y.sum() > 0 else -1.0)))}
        again = select(data.select_features(names), "svm", C=self.C, time_limit=FSP_SECONDS)
        return {**told, "fsp_error": again.error(held_out) if again.has_solution else None}


def contenders(
    models: Iterable[str] | Mapping[str, Mapping[str, Any]], common: Mapping[str, Any], budget: int | None
) -> list[Contender]:
    """Return the contenders with the words that each can take.

    Raises ParameterError: no models, one that is not known, twice the same name, or a word that none of them takes.
    """
    if isinstance(models, str):
        models = [models]
    if not iterable(models):
        raise ParameterError(f"models={shown(models)} is not allowed: give names of models.")
    own = models if isinstance(models, Mapping) else {}
    if wrong := [name for name, words in own.items() if not isinstance(words, Mapping)]:
        raise ParameterError(f"models: {shown(wrong[0])} has {shown(own[wrong[0]])}: give a mapping of its parameters.")
    own = {str(name): dict(words) for name, words in own.items()}
    names = [str(name) for name in models]
    if len(names) != len(set(names)):
        raise ParameterError(f"models names {listed(names)}: give each once, or a mapping of names to words.")
    if len(names) < 2:
        raise ParameterError(f"compare needs two models or more, and got {listed(names) or 'none'}.")
    made, taken = [], set()
    for name in names:
        words = own.get(name, {})
        model = find(words.pop("model", name)).name
        given = {word: value for word, value in common.items() if _takes(model, word)}
        taken |= set(given)
        tuned = () if budget is None else ladder(model, words)
        recipe = find(model)
        if budget is not None and not tuned and "max_features" in recipe.parameters:
            given["max_features"] = budget
        given = {word: value for word, value in given.items() if word not in tuned}
        given |= words
        made.append(Contender(name, model, given, tuned, budget))
    if lost := [word for word in common if word not in taken]:
        raise ParameterError(f"compare: none of {listed(names)} takes {listed(lost)}: leave it out.")
    return made


def _takes(model: str, word: str) -> bool:
    """Tell whether a word of all is one for this model: its parameter, or what any selection can be asked."""
    recipe = find(model)
    if word in recipe.parameters or word in PARAMETERS:
        return word in recipe.parameters
    named = inspect.signature(select).parameters
    return recipe.runs_solver or (word in named and word not in SOLVING)


def ladder(model: str, own: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the parameters by which a model is held to a budget; none where it is not, or ``own`` has one of them.

    ``own``: the words that were given for this model.
    """
    recipe = MODELS.get(model)
    names = recipe.ladder[0] if recipe is not None and recipe.ladder is not None else ()
    return () if "max_features" in own or any(name in own for name in names) else names


def within(data: Dataset, model: str, words: Mapping[str, Any], most: int) -> tuple[Selection, dict[str, Any]]:
    """Return the selection at the loosest value that meets the budget; that value, and the seconds of the search.

    Where none of them does, the tightest is taken. Each solve has an equal share of the time limit.
    """
    turned = find(model).ladder
    assert turned is not None
    names, values_of = turned
    values = [float(f"{value:.4g}") for value in values_of(data, words.get("C", 1.0))]
    limit = words.get("time_limit")
    share = {} if limit is None else {"time_limit": limit / (math.ceil(math.log2(STEPS)) + 1)}
    met: dict[int, Selection] = {}

    def at(place: int) -> Selection:
        if place not in met:
            with own_clock():
                met[place] = select(data, model, **{**words, **dict.fromkeys(names, values[place]), **share})
        return met[place]

    low, high = 0, STEPS - 1
    while low < high:
        middle = (low + high) // 2
        found = at(middle)
        if found.stop_reason is StopReason.INTERRUPTED:
            return found, {}
        low, high = (low, middle) if found.has_solution and len(found.selected) <= most else (middle + 1, high)
    found = at(low)
    return found, {"tuned": dict.fromkeys(names, values[low]), "seconds": sum(one.seconds for one in met.values())}
