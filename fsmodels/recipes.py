"""The table of named models: which builder, which parameters, how the objective follows from data.

``MODELS`` is the only table of names. Which parameters a model takes is read from its builder's signature, and which
solver it runs from the structure that the builder attaches. A new formulation is one new entry.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmodels import baselines, fsp, svm
from fsmodels._messages import listed
from fsmodels.errors import ParameterError

__all__ = ["MODELS", "PARAMETERS", "Recipe", "find", "used_parameters"]

FloatArray = NDArray[np.float64]

# Parameter -> (option of the command line, what it is).
PARAMETERS = {
    "max_features": ("--max-features", "the most features to select, a whole number"),
    "C": ("-C", "the weight of the sum of slacks, a number above 0"),
    "penalty": ("--penalty", "the price of a feature, one number or one for each"),
}


@dataclass(frozen=True)
class Recipe:
    """One model by name.

    Attributes
    ----------
    title : str
        One line for lists.
    build : callable
        ``build(data, *, parameters)`` returns a Pyomo model, or for a baseline a ``Baseline``.
    objective : callable, optional
        ``objective(w, loss, price, C)`` from the weights (n,), the sum of hinge losses and the summed penalty of the
        selected features; None for a baseline, which minimises nothing.
    selects : bool
        Whether the model has ``sigma``, so that side constraints can be stated.
    whole : mapping
        Parameters of ``build`` for a solver that takes the whole model, where the user gives none.
    large : mapping
        The same for a driver with an oracle, where the data have more than five million cells.
    """

    title: str
    build: Callable[..., Any]
    objective: Callable[[FloatArray, float, float, float], float] | None = None
    selects: bool = False
    whole: Mapping[str, Any] = field(default_factory=dict)
    large: Mapping[str, Any] = field(default_factory=dict)

    @property
    def parameters(self) -> dict[str, bool]:
        """Parameters that ``build`` takes besides the data, and whether each is required."""
        keyword = inspect.Parameter.KEYWORD_ONLY
        given = inspect.signature(self.build).parameters.values()
        return {p.name: p.default is p.empty for p in given if p.kind is keyword}


def _squares(w: FloatArray, loss: float, price: float, C: float) -> float:
    return 0.5 * float(w @ w) + C * loss + price


def _absolutes(w: FloatArray, loss: float, price: float, C: float) -> float:
    return float(np.abs(w).sum()) + C * loss + price


# Measured with scip on 60 instances of unscaled data: "perspective" left 15 with a gap above 1e-4 (up to 6%), because
# w^2 <= t sigma holds to 1e-6 only; "big-m" left none and was faster. Its bound is proven, and ``select`` adds rows on
# sigma only, so it holds.
_BIG_M = {"form": "big-m"}
_RMP = {"form": fsp.RMP}
LARGE = 5_000_000  # cells of X; half a million take 0.7 s to build as rows of a Pyomo model

MODELS: dict[str, Recipe] = {
    "svm": Recipe("soft-margin SVM on all features", svm.l2_svm, _squares),
    "one-norm-svm": Recipe("1-norm SVM, a linear program that uses few features", svm.one_norm_svm, _absolutes),
    "fsp-m": Recipe("best SVM on at most M features, exact", fsp.fsp_m, _squares, True, _BIG_M, _RMP),
    "fsp-lambda": Recipe("SVM that pays for each feature, exact", fsp.fsp_lambda, _squares, True, _BIG_M, _RMP),
    "rfe": Recipe("recursive feature elimination, heuristic", baselines.rfe),
    "information-gain": Recipe("filter by information gain, heuristic", baselines.information_gain),
    "mutual-information": Recipe("filter by mutual information, heuristic", baselines.mutual_information),
}


def find(name: str) -> Recipe:
    """Return the model of a name.

    Raises
    ------
    ParameterError
        With the nearest name and the list.
    """
    if name in MODELS:
        return MODELS[name]
    near = difflib.get_close_matches(str(name).lower(), MODELS, n=1, cutoff=0.5)
    hint = f'Did you mean "{near[0]}"? ' if near else ""
    raise ParameterError(f'Model "{name}" is not known. {hint}Models: {", ".join(MODELS)}.')


def used_parameters(model: str, recipe: Recipe, given: Mapping[str, Any], others: Iterable[str] = ()) -> dict[str, Any]:
    """Return the parameters for the builder; None counts as not given, and C defaults to 1.

    ``others`` are words that were given besides: a missing parameter may be among them, misspelt.

    Raises
    ------
    ParameterError
        One that the model does not use (naming those it does), or a missing one.
    """
    known = recipe.parameters
    for name, value in given.items():
        if value is not None and name not in known:
            users = [other for other, r in MODELS.items() if name in r.parameters]
            raise ParameterError(
                f'Model "{model}" does not use {name} ({_flag(name)}): it takes '
                f"{listed(f'{n} ({_flag(n)})' for n in known if n in PARAMETERS)}. "
                f"Models that use {name}: {', '.join(users)}."
            )
    for name, required in known.items():
        if required and given.get(name) is None:
            what = PARAMETERS[name][1] if name in PARAMETERS else "see its documentation"
            near = difflib.get_close_matches(name, list(others), n=1, cutoff=0.75)
            hint = f' "{near[0]}" is no parameter of it: did you mean {name}?' if near else ""
            raise ParameterError(f'Model "{model}" needs {name} ({_flag(name)}): {what}.{hint}')
    used = {name: given[name] for name in known if given.get(name) is not None}
    if "C" in known:
        used.setdefault("C", 1.0)
    return used


def _flag(name: str) -> str:
    return PARAMETERS[name][0] if name in PARAMETERS else f"--{name.replace('_', '-')}"
