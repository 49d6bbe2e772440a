"""Specifications of the models of Bradley, Mangasarian, Street 1998: robust LP, FS, its approximations, and OBD."""

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
from fsmodels.models.shares import class_shares
from fsmodels.models.spec import GRID_SIZE, OBJECTIVE_TOLERANCE, LinearSpec, Objective, Parameters, TuningGrid
from fsmodels.weights import FloatArray
from solvers import Result

__all__ = ["SPECS"]

EQUAL = 1e-12  # relative: sums of shares that differ by rounding


@dataclass(frozen=True)
class FsSpec(LinearSpec):
    """Specification of a model of the family of FS: ``penalty`` is lambda in [0, 1), and (7) is reported."""

    _: KW_ONLY
    comparison_objectives: tuple[str, ...] = ("fs_objective",)
    defaults: Mapping[str, float] = field(default_factory=lambda: {"penalty": 0.05})
    tuning_grid: TuningGrid | None = (("penalty",), lambda data, C: np.geomspace(0.001, 0.95, GRID_SIZE))
    page: str = "concave"

    class_means: ClassVar[bool] = True
    exact_model: ClassVar[str] = "fs"
    # A higher lambda may cost less: it is also a factor (1 - lambda) of the error.
    objective_direction: ClassVar[Mapping[str, int]] = {"max_features": -1, "C": 1}

    def check_penalty(self, penalty: Any, data: Dataset) -> None:
        """Raise an error for a lambda outside [0, 1)."""
        share("penalty", penalty, MEANING)

    def selected_classifier(
        self, data: Dataset, parameters: Parameters, w: FloatArray, b: float, sizes: FloatArray, result: Result
    ) -> tuple[LinearClassifier, str]:
        """Set tiny weights to 0 if the error does not change; without weights, predict the larger class."""
        c, _ = super().selected_classifier(data, parameters, w, b, sizes, result)
        if not self.has_sigma(parameters):
            selected = set(c.selected)
            fewer = replace(c, w=np.array([x if j in selected else 0.0 for j, x in zip(data.features, w, strict=True)]))
            if abs(fewer.error - c.error) <= OBJECTIVE_TOLERANCE:
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
        remark = "No feature is used: every sample gets the label of the larger class."
        return replace(c, b=1.0 if plus >= minus else -1.0), remark

    def remark(self, c: LinearClassifier, parameters: Parameters, model: Any) -> str:
        """Add the note that the error is balanced already, if balanced weights were requested."""
        weighting = c.data.weighting
        if weighting is None or weighting.by_class != BALANCED:
            return ""
        return 'The error is a mean for each class, with equal weights: class_weight "balanced" has no effect.'

    def fs_objective(self, c: LinearClassifier, parameters: Parameters) -> float:
        """Return (7)."""
        return concave.fs_objective(c.w, c.error, _lambda(parameters))


@dataclass(frozen=True)
class ObdSpec(FsSpec):
    """Specification of the robust LP in two solves; ``penalty`` is nu."""

    def solve(self, model: Any, data: Dataset, parameters: Parameters, solver: Any, options: Parameters) -> Result:
        """Solve twice, and drop features in between."""
        delta = {"delta": parameters["delta"]} if "delta" in parameters else {}
        return obd.suppress(model, data, nu=parameters["penalty"], solver=solver, **delta, **options)


def _robust_lp(data: Dataset, *, penalty: float | None = None, sigma: bool = False) -> pyo.ConcreteModel:
    """Build the robust LP. Rows on sigma need FS with penalty 0.

    ``penalty``: lambda in [0, 1); only the report uses it, for (7). ``sigma``: Build FS, for rows on the selection.
    """
    if penalty is not None:
        share("penalty", penalty, MEANING)
    return concave.fs(data, penalty=0.0) if choosing(sigma) else svm.robust_lp(data)


def _lambda(parameters: Parameters) -> float:
    return float(parameters.get("penalty") or 0.0)


def _error(c: LinearClassifier, parameters: Parameters, model: Any) -> float:
    return c.error


def _weighted(steps: Objective) -> Objective:
    """Return (1 - lambda) E + lambda times a sum of steps."""
    return lambda c, given, model: (1 - _lambda(given)) * c.error + _lambda(given) * steps(c, given, model)


def _exponentials(c: LinearClassifier, parameters: Parameters, model: Any) -> float:
    return float((1 - np.exp(-parameters["alpha"] * np.abs(c.w))).sum())


def _sigmoids(c: LinearClassifier, parameters: Parameters, model: Any) -> float:
    return float((1 / (1 + np.exp(-parameters["alpha"] * np.abs(c.w)))).sum())


def _bilinear(c: LinearClassifier, parameters: Parameters, model: Any) -> float:
    """(14) with the best r for v = u = |w|."""
    mu, v = parameters["mu"], np.abs(c.w)
    steps = np.minimum(0.0, (1 - mu) * _lambda(parameters) - mu * v)
    return float((1 - mu) * (1 - _lambda(parameters)) * c.error + steps.sum() + mu * v.sum())


_FS = _weighted(lambda c, parameters, model: len(c.selected))
_EXACT: dict[str, Any] = {"selects": True, "proves_bound": True}
_REFIT: dict[str, Any] = {"refit": "robust-lp"}
_SMOOTH: dict[str, Any] = {**_REFIT, "reported_parameters": ("alpha",)}


def _family(
    name: str, title: str, build: Callable[..., Any], objective: Objective, number: str, **facts: Any
) -> FsSpec:
    return FsSpec(name, title, build, objective, equations=(number, "(5)"), **facts)


SPECS = [
    FsSpec(
        "robust-lp",
        "robust linear program, on all features",
        _robust_lp,
        _error,
        defaults={},
        tuning_grid=None,
        aliases=("lp",),
        page="svm",
        equations=("(5)",),
    ),
    _family("fs", "least error and fewest features, exact for few features", concave.fs, _FS, "(7)", **_EXACT),
    _family("fsl", "fs as a linear program with complementarity", concave.fsl, _FS, "(13)", **_REFIT, **_EXACT),
    _family("fsv", "fs with a concave exponential, local", concave.fsv, _weighted(_exponentials), "(11)", **_SMOOTH),
    _family("fss", "fs with a sigmoid, local", concave.fss, _weighted(_sigmoids), "(10)", **_SMOOTH),
    _family("fsb", "fs as a bilinear program", concave.fsb, _bilinear, "(14)", **_REFIT, reported_parameters=("mu",)),
    ObdSpec(
        "obd",
        "robust LP pruned by optimal brain damage, heuristic",
        obd.build,
        _error,
        aliases=("optimal-brain-damage",),
        page="obd",
    ),
]
