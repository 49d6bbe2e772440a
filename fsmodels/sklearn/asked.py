"""From the parameters of an estimator to the words of ``select``: what a model does not use is refused by name."""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Mapping
from typing import Any

from fsmodels.checks import choice, positive, whole
from fsmodels.datasets.scaling import METHODS
from fsmodels.errors import ParameterError
from fsmodels.models.recipe import Recipe
from fsmodels.selection.recipes import MODELS, find
from fsmodels.words import listed, short

__all__ = ["AUTO", "MULTICLASS", "Asked", "asked", "names_of_models", "recipe_of"]

AUTO = "auto"
FEATURES = 5  # what "auto" selects, of models that need a number
MULTICLASS = ["each"]

# Parameters of an estimator that are none of the builder's.
OF_ESTIMATOR = (
    "model", "max_features", "scale", "constraints", "class_weight", "multiclass", "solver", "time_limit", "gap",
    "seed", "solver_options",
)  # fmt: skip


class Asked:
    """What an estimator asks of ``select``.

    ``recipe``: the model. ``words``: its parameters. ``options``: the solver's, without the time limit.
    """

    def __init__(self, recipe: Recipe, words: dict[str, Any], options: dict[str, Any], estimator: Any) -> None:
        self.recipe, self.words, self.options = recipe, words, options
        self.solver, self.scale = estimator.solver, estimator.scale
        self.time_limit: float | None = estimator.time_limit


def names_of_models(*, kernels: bool) -> list[str]:
    """Return the models that work on a kernel, or those that do not."""
    return [name for name, recipe in MODELS.items() if ("kernel" in recipe.parameters) == kernels]


def recipe_of(estimator: Any, *, kernels: bool) -> Recipe:
    """Return the model of an estimator. Raises ParameterError: unknown, or one of the other class."""
    recipe = find(estimator.model)
    allowed = names_of_models(kernels=kernels)
    if recipe.name not in allowed:
        other = "KernelSelectorClassifier" if not kernels else "SelectorClassifier"
        raise ParameterError(
            f'{type(estimator).__name__} does not take model="{recipe.name}": use {other} for it, or one of '
            f"{', '.join(allowed)}."
        )
    return recipe


def asked(estimator: Any, recipe: Recipe, n_features: int) -> Asked:
    """Return what an estimator asks of ``select``, checked; data of so many features.

    Raises ParameterError: a parameter that the model does not use, or a value that is not allowed.
    """
    who = f'{type(estimator).__name__}(model="{recipe.name}")'
    defaults = {name: p.default for name, p in inspect.signature(type(estimator).__init__).parameters.items()}
    words: dict[str, Any] = {}
    for name in [name for name in defaults if name != "self" and name not in OF_ESTIMATOR]:
        value = getattr(estimator, name)
        if name in recipe.parameters:
            if value is not None:
                words[name] = value
        elif not _same(value, defaults[name]):
            peers = names_of_models(kernels="kernel" in recipe.parameters)
            users = [other for other in peers if name in MODELS[other].parameters]
            takes = [own for own in recipe.parameters if own in defaults]
            also = f"Models that use it: {', '.join(users)}. " if users else ""
            raise ParameterError(
                f"{who} does not use {name}={short(repr(value))}. {also}This one takes {listed(takes)}: "
                f"set {name}={defaults[name]!r}."
            )
    words = {**recipe.defaults, **words}
    if (most := _most(estimator.max_features, recipe, words, n_features)) is not None:
        words["max_features"] = most
    choice("scale", estimator.scale, list(METHODS))
    return Asked(recipe, words, _options(estimator, recipe, words, who), estimator)


def _same(value: Any, default: Any) -> bool:
    return value is default or (isinstance(value, str | numbers.Number) and value == default)


def _most(given: Any, recipe: Recipe, words: Mapping[str, Any], n_features: int) -> int | None:
    """Return the most features; "auto" is a number only where the model needs one."""
    if given is None or (isinstance(given, str) and given == AUTO):
        other = recipe.instead.get("max_features")
        needed = recipe.parameters.get("max_features", False) and (other is None or other not in words)
        return min(FEATURES, n_features) if needed and given == AUTO else None
    if isinstance(given, str):
        raise ParameterError(f'max_features="{short(given)}" is not allowed: give a whole number, None or "{AUTO}".')
    return whole("max_features", given, 1, n_features, f"the data have {n_features} features to select from")


def _options(estimator: Any, recipe: Recipe, words: dict[str, Any], who: str) -> dict[str, Any]:
    """Return the options of the solver; a seed goes to the model where that draws at random itself."""
    given = {} if estimator.solver_options is None else estimator.solver_options
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise ParameterError(
            f'solver_options={short(repr(given))} is not allowed: give a mapping, such as {{"threads": 2}}.'
        )
    options = dict(given)
    for name in ("gap", "seed"):
        value = getattr(estimator, name)
        if value is None:
            continue
        if name in recipe.parameters:
            words[name] = value
        elif name in options:
            raise ParameterError(f"{name} is given twice, as {name}={value!r} and in solver_options: leave one out.")
        else:
            options[name] = value
    if estimator.time_limit is not None:
        positive("time_limit", estimator.time_limit, "it is the seconds that a fit may take", any_size=True)
    limited = {**options, **({} if estimator.time_limit is None else {"time_limit": estimator.time_limit})}
    idle = [*(["solver"] if estimator.solver is not None else []), *limited]
    if idle and not recipe.runs_solver:
        raise ParameterError(f"{who} runs no solver, so it does not use {listed(idle)}: leave it out.")
    return options
