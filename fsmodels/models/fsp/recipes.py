"""The models by name of Aytug 2015: the SVM, the 1-norm SVM, FSP-M and FSP-lambda."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyomo.environ as pyo

from fsmodels.checks import choosing
from fsmodels.datasets.dataset import Dataset
from fsmodels.models import svm
from fsmodels.models.classifier import LinearClassifier
from fsmodels.models.fsp import fsp_lambda, fsp_m, penalties
from fsmodels.models.fsp.forms import RMP
from fsmodels.models.proofs.svm import HINGE, SQUARED
from fsmodels.models.recipe import STEPS, Given, Linear
from solvers import DRIVERS

__all__ = ["RECIPES"]

LARGE = 5_000_000  # cells of X; half a million take 0.7 s to build as rows of a Pyomo model


@dataclass(frozen=True)
class Fsp(Linear):
    """An exact model, whose form follows the solver and the size of the data where none is given."""

    certifies: ClassVar[bool] = True

    def check(self, parameter: str, value: Any, data: Dataset) -> None:
        """Refuse a price too."""
        if parameter == "penalty":
            penalties(data, value)
        super().check(parameter, value, data)

    def suited(
        self, parameters: dict[str, Any], data: Dataset, solver: Any, options: Given, *, on_weights: bool = False
    ) -> dict[str, Any]:
        """Return the parameters with a form.

        Of solvers of the whole model, measured with scip on 60 instances of unscaled data: "perspective" left 15 with a
        gap above 1e-4 (up to 6%), because w^2 <= t sigma holds to 1e-6 only; "big-m" left none and was faster. Its
        bound is proven for the model as built and rows on sigma. Of a model with rows on weights, drivers and solvers
        take the form without a bound only.
        """
        if on_weights:
            return parameters
        if solver is not None and not (isinstance(solver, str) and solver in DRIVERS):
            return {"form": "big-m", **parameters}
        if data.X.shape[0] * data.X.shape[1] > LARGE and not {"oracle", "sub_solver"} & set(options):
            return {"form": RMP, **parameters}
        return parameters


def _price(c: LinearClassifier, given: Given) -> float:
    """Return the summed penalty of the selected features."""
    penalty = given.get("penalty")
    if isinstance(penalty, Mapping):
        return float(sum(penalty.get(name, 0.0) for name in c.selected))
    return float(penalty or 0.0) * len(c.selected)


def _squares(c: LinearClassifier, given: Given, model: Any) -> float:
    loss = c.squared_loss if given.get("loss") == SQUARED else c.loss
    return 0.5 * float(c.w @ c.w) + given["C"] * loss + _price(c, given)


def _absolutes(c: LinearClassifier, given: Given, model: Any) -> float:
    return float(np.abs(c.w).sum()) + given["C"] * c.loss


def _svm(data: Dataset, *, C: float = 1.0, loss: str = HINGE, sigma: bool = False) -> pyo.ConcreteModel:
    """Build the SVM (1), for rows on sigma as FSP-lambda without a price: the best SVM on what they allow.

    ``C``, ``loss`` as for ``fsp_lambda``. ``sigma``: Add binaries, for rows on features.
    """
    return fsp_lambda(data, penalty=0.0, C=C, loss=loss) if choosing(sigma) else svm.l2_svm(data, C=C, loss=loss)


_EXACT: dict[str, Any] = {"selects": True, "proves_bound": True, "page": "fsp", "numbers": ("(FSP-M)",)}

RECIPES = [
    Linear(
        "svm",
        "soft-margin SVM on all features",
        _svm,
        _squares,
        aliases=("l2", "l2-svm", "linear-svm", "svc", "linearsvc", "libsvm", "ridge"),
        page="svm",
        numbers=("(1)",),
    ),
    Linear(
        "one-norm-svm",
        "1-norm SVM, a linear program that uses few features",
        svm.one_norm_svm,
        _absolutes,
        compared=("fsp_objective",),
        ladder=(("C",), lambda data, C: np.geomspace(100.0, 1e-4, STEPS)),
        aliases=("lasso", "l1", "l1-svm", "1-norm", "1-norm-svm", "l1-norm", "sparse-svm"),
        page="svm",
        numbers=("(ONSVM)",),
    ),
    Fsp(
        "fsp-m",
        "best SVM on at most M features, exact",
        fsp_m,
        _squares,
        aliases=("l0", "best-subset", "exact", "cardinality", "mip"),
        **_EXACT,
    ),
    Fsp(
        "fsp-lambda",
        "SVM that pays for each feature, exact",
        fsp_lambda,
        _squares,
        defaults={"penalty": 1.0},
        ladder=(("penalty",), lambda data, C: C * data.n_samples * np.geomspace(1e-4, 1.0, STEPS)),
        **_EXACT,
    ),
]
