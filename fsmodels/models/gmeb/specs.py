"""Specifications of the models of Peleg, Meir 2005."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
import pyomo.environ as pyo

from fsmodels.models import gmeb
from fsmodels.models.classifier import LinearClassifier
from fsmodels.models.spec import GRID_SIZE, LinearSpec, Parameters, TuningGrid
from fsmodels.weights import FloatArray

__all__ = ["SPECS"]


@dataclass(frozen=True)
class GmebSpec(LinearSpec):
    """Specification of a form of the primal."""

    _: KW_ONLY
    dense_only: bool = True
    defaults: Mapping[str, float] = field(default_factory=lambda: {"R_plus": 2.0, "R_minus": 2.0})
    tuning_grid: TuningGrid | None = (("R_plus", "R_minus"), lambda data, C: np.geomspace(100.0, 1e-3, GRID_SIZE))
    page: str = "gmeb"

    def weights(self, model: Any) -> tuple[FloatArray, float]:
        """Return (w, b) for the uncentred data; the model centres the columns."""
        return gmeb.classifier(model)


@dataclass(frozen=True)
class GmebDualSpec(GmebSpec):
    """Specification of the dual; its multipliers are the classifier."""

    takes_weight_rows = False

    def weights(self, model: Any) -> tuple[FloatArray, float]:
        """Return the multipliers, shrunk until they satisfy (15)."""
        return gmeb.feasible_classifier(model)

    def remark(self, c: LinearClassifier, parameters: Parameters, model: Any) -> str:
        """Report the loss of the classifier in the primal and the duality gap."""
        if not gmeb.has_multipliers(model):
            return "The classifier is the dual's multipliers, and there are none: its weights are 0."
        gap = gmeb.duality_gap(c.loss, _own(c, parameters, model))
        return f"The classifier is the dual's multipliers; its loss is {c.loss:.9g}, a duality gap of {gap:.2g}."


def _loss(c: LinearClassifier, parameters: Parameters, model: Any) -> float:
    return c.loss


def _own(c: LinearClassifier, parameters: Parameters, model: Any) -> float:
    """Return the dual objective, which does not follow from the classifier alone."""
    return float(pyo.value(model.objective))


SPECS = [
    GmebSpec(
        "gmeb",
        "least loss under bounds on both classes' scaled moments, exact",
        gmeb.primal,
        _loss,
        proves_bound=True,
        equations=("(15)",),
    ),
    GmebDualSpec("gmeb-dual", "gmeb by its conic dual, exact", gmeb.dual, _own, equations=("(16)",)),
    GmebSpec(
        "gmeb-nonconvex", "gmeb before its change of variables, local", gmeb.nonconvex, _loss, equations=("(11)",)
    ),
]
