"""The models by name of Peleg, Meir 2005."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyomo.environ as pyo

from fsmodels.models import gmeb
from fsmodels.models.classifier import LinearClassifier
from fsmodels.models.recipe import STEPS, FloatArray, Given, Ladder, Linear

__all__ = ["RECIPES"]


@dataclass(frozen=True)
class Gmeb(Linear):
    """A form of the primal."""

    _: KW_ONLY
    dense_only: bool = True
    defaults: Mapping[str, float] = field(default_factory=lambda: {"R_plus": 2.0, "R_minus": 2.0})
    ladder: Ladder | None = (("R_plus", "R_minus"), lambda data, C: np.geomspace(100.0, 1e-3, STEPS))
    page: str = "gmeb"

    def weights(self, model: Any) -> tuple[FloatArray, float]:
        """Return (w, b) for the data as given, whose columns the model centres."""
        return gmeb.classifier(model)


@dataclass(frozen=True)
class GmebDual(Gmeb):
    """The dual, whose multipliers are the classifier."""

    weighed: ClassVar[bool] = False

    def weights(self, model: Any) -> tuple[FloatArray, float]:
        """Return the multipliers, shrunk until they satisfy (15)."""
        return gmeb.feasible_classifier(model)

    def remark(self, c: LinearClassifier, given: Given, model: Any) -> str:
        """Return what the classifier costs in the primal."""
        if not gmeb.has_multipliers(model):
            return "The classifier is the dual's multipliers, and there are none: its weights are 0."
        gap = gmeb.duality_gap(c.loss, _own(c, given, model))
        return f"The classifier is the dual's multipliers; its loss is {c.loss:.9g}, a duality gap of {gap:.2g}."


def _loss(c: LinearClassifier, given: Given, model: Any) -> float:
    return c.loss


def _own(c: LinearClassifier, given: Given, model: Any) -> float:
    """Return the dual's objective, which the classifier alone does not tell."""
    return float(pyo.value(model.objective))


RECIPES = [
    Gmeb(
        "gmeb",
        "least loss under bounds on both classes' scaled moments, exact",
        gmeb.primal,
        _loss,
        proves_bound=True,
        numbers=("(15)",),
    ),
    GmebDual("gmeb-dual", "gmeb by its conic dual, exact", gmeb.dual, _own, numbers=("(16)",)),
    Gmeb("gmeb-nonconvex", "gmeb before its change of variables, local", gmeb.nonconvex, _loss, numbers=("(11)",)),
]
