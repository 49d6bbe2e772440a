"""The models by name of Bradley, Mangasarian, Street 1998: the robust LP, FS and its smoothings, and brain damage."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pyomo.environ as pyo

from fsmodels.checks import choosing, share
from fsmodels.datasets.dataset import Dataset
from fsmodels.datasets.weighting import BALANCED
from fsmodels.models import concave, obd, svm
from fsmodels.models.classifier import LinearClassifier
from fsmodels.models.concave.forms import MEANING
from fsmodels.models.recipe import AGREEMENT, STEPS, FloatArray, Given, Ladder, Linear, Objective
from fsmodels.models.shares import class_shares
from solvers import Result

__all__ = ["RECIPES"]

EQUAL = 1e-12  # relative: sums of shares that differ by rounding


@dataclass(frozen=True)
class FsFamily(Linear):
    """A model of the family of FS: ``penalty`` is lambda in [0, 1), and (7) is reported with the objective."""

    _: KW_ONLY
    compared: tuple[str, ...] = ("fs_objective",)
    defaults: Mapping[str, float] = field(default_factory=lambda: {"penalty": 0.05})
    ladder: Ladder | None = (("penalty",), lambda data, C: np.geomspace(0.001, 0.95, STEPS))
    page: str = "concave"

    class_means: ClassVar[bool] = True
    exact: ClassVar[str] = "fs"
    # A higher lambda may cost less: it weighs the error down.
    direction: ClassVar[Mapping[str, int]] = {key: sign for key, sign in Linear.direction.items() if key != "penalty"}

    def refuse(self, words: Given) -> None:
        """Refuse a lambda outside [0, 1)."""
        if words.get("penalty") is not None:
            share("penalty", words["penalty"], MEANING)

    def check(self, parameter: str, value: Any, data: Dataset) -> None:
        """Refuse a lambda too."""
        if parameter == "penalty":
            share("penalty", value, MEANING)
        super().check(parameter, value, data)

    def chosen(
        self, data: Dataset, given: Given, w: FloatArray, b: float, sizes: FloatArray, result: Result
    ) -> tuple[LinearClassifier, str]:
        """Return the classifier without weights of rounding, unless they matter; without weights the larger class."""
        c, _ = super().chosen(data, given, w, b, sizes, result)
        if not self.has_sigma(given):
            selected = set(c.selected)
            fewer = replace(c, w=np.array([x if j in selected else 0.0 for j, x in zip(data.features, w, strict=True)]))
            if abs(fewer.error - c.error) <= AGREEMENT:
                c = fewer
            else:
                c = replace(c, selected=tuple(j for j, x in zip(data.features, w, strict=True) if x))
        if c.w.any():
            return c, ""
        positive, shares = data.y > 0, class_shares(data)
        plus, minus = float(shares[positive].sum()), float(shares[~positive].sum())
        if abs(plus - minus) <= EQUAL * (plus + minus):  # w = 0 costs the same with gamma in [-1, 1]
            counts = np.ones(len(data.y)) if data.multiplicity is None else data.multiplicity
            plus, minus = float(counts[positive].sum()), float(counts[~positive].sum())
        words = "No feature is used: every sample gets the label of the larger class."
        return replace(c, b=1.0 if plus >= minus else -1.0), words

    def remark(self, c: LinearClassifier, given: Given, model: Any) -> str:
        """Add the note that the error is balanced already, if balanced weights were requested."""
        weighting = c.data.weighting
        if weighting is None or weighting.by_class != BALANCED:
            return ""
        return (
            'The error is a mean class by class, which weighs both the same: class_weight "balanced" changes nothing.'
        )

    def fs_objective(self, c: LinearClassifier, given: Given) -> float:
        """Return (7)."""
        return concave.fs_objective(c.w, c.error, _lambda(given))


@dataclass(frozen=True)
class Obd(FsFamily):
    """The robust LP in two solves; ``penalty`` is nu."""

    def solve(self, model: Any, data: Dataset, parameters: Given, solver: Any, options: Given) -> Result:
        """Drop features between two solves."""
        return obd.run(model, data, parameters, solver, options)


def _robust_lp(data: Dataset, *, penalty: float | None = None, sigma: bool = False) -> pyo.ConcreteModel:
    """Build the robust LP, for rows on sigma as FS without a price.

    ``penalty``: lambda in [0, 1), which only the report needs, for (7). ``sigma``: Build FS, for rows on what is
    selected.
    """
    return concave.fs(data, penalty=0.0) if choosing(sigma) else svm.robust_lp(data)


def _lambda(given: Given) -> float:
    return float(given.get("penalty") or 0.0)


def _error(c: LinearClassifier, given: Given, model: Any) -> float:
    return c.error


def _weighed(steps: Objective) -> Objective:
    """Return (1 - lambda) E + lambda times a sum of steps."""
    return lambda c, given, model: (1 - _lambda(given)) * c.error + _lambda(given) * steps(c, given, model)


def _exponentials(c: LinearClassifier, given: Given, model: Any) -> float:
    return float((1 - np.exp(-given["alpha"] * np.abs(c.w))).sum())


def _sigmoids(c: LinearClassifier, given: Given, model: Any) -> float:
    return float((1 / (1 + np.exp(-given["alpha"] * np.abs(c.w)))).sum())


def _bilinear(c: LinearClassifier, given: Given, model: Any) -> float:
    """(14) with the best r for v = u = |w|."""
    mu, v = given["mu"], np.abs(c.w)
    steps = np.minimum(0.0, (1 - mu) * _lambda(given) - mu * v)
    return float((1 - mu) * (1 - _lambda(given)) * c.error + steps.sum() + mu * v.sum())


_FS = _weighed(lambda c, given, model: len(c.selected))
_EXACT: dict[str, Any] = {"selects": True, "proves_bound": True}
_SMOOTH: dict[str, Any] = {"refit": "robust-lp", "settled": ("alpha",)}


def _family(
    name: str, title: str, build: Callable[..., Any], objective: Objective, number: str, **facts: Any
) -> FsFamily:
    return FsFamily(name, title, build, objective, numbers=(number, "(5)"), **facts)


RECIPES = [
    FsFamily(
        "robust-lp",
        "robust linear program, on all features",
        _robust_lp,
        _error,
        defaults={},
        ladder=None,
        aliases=("lp",),
        page="svm",
        numbers=("(5)",),
    ),
    _family("fs", "least error and fewest features, exact for few features", concave.fs, _FS, "(7)", **_EXACT),
    _family(
        "fsl", "fs as a linear program with complementarity", concave.fsl, _FS, "(13)", refit="robust-lp", **_EXACT
    ),
    _family("fsv", "fs with a concave exponential, local", concave.fsv, _weighed(_exponentials), "(11)", **_SMOOTH),
    _family("fss", "fs with a sigmoid, local", concave.fss, _weighed(_sigmoids), "(10)", **_SMOOTH),
    _family("fsb", "fs as a bilinear program", concave.fsb, _bilinear, "(14)", refit="robust-lp", settled=("mu",)),
    Obd(
        "obd",
        "robust LP without the features it hardly needs, heuristic",
        obd.build,
        _error,
        aliases=("optimal-brain-damage",),
        page="obd",
    ),
]
