"""Specifications of the models of Aytug 2015: the SVM, the 1-norm SVM, FSP-M and FSP-lambda."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo

from fsmodels.checks import choosing
from fsmodels.datasets.dataset import Dataset
from fsmodels.models import svm
from fsmodels.models.classifier import LinearClassifier
from fsmodels.models.fsp import fsp_lambda, fsp_m, penalties
from fsmodels.models.fsp.forms import RMP
from fsmodels.models.proofs.svm import HINGE, SQUARED
from fsmodels.models.spec import GRID_SIZE, LinearSpec, Parameters
from solvers import DRIVERS

__all__ = ["SPECS"]

LARGE = 5_000_000  # cells of X; half a million take 0.7 s to build as rows of a Pyomo model


@dataclass(frozen=True)
class FspSpec(LinearSpec):
    """Specification of an exact model; the default form depends on the solver and on the size of the data."""

    certifies = True

    def check_penalty(self, penalty: Any, data: Dataset) -> None:
        """Raise an error for a negative penalty or an unknown feature."""
        penalties(data, penalty)

    def choose_form(
        self, parameters: dict[str, Any], data: Dataset, solver: Any, options: Parameters, *, on_weights: bool = False
    ) -> dict[str, Any]:
        """Return the parameters with a form.

        Solvers of the whole model get "big-m". SCIP on 60 instances of unscaled data: "perspective" left 15 with a gap
        above 1e-4 (up to 6%), because w^2 <= t sigma holds to 1e-6 only; "big-m" left none and was faster. The bound of
        "big-m" is proven for the model as built and for rows on sigma. With rows on weights, only the form without a
        bound is valid.
        """
        if on_weights:
            return parameters
        if solver is not None and not (isinstance(solver, str) and solver in DRIVERS):
            return {"form": "big-m", **parameters}
        if data.X.shape[0] * data.X.shape[1] > LARGE and not {"oracle", "sub_solver"} & set(options):
            return {"form": RMP, **parameters}
        return parameters


def _price(c: LinearClassifier, parameters: Parameters) -> float:
    """Return the summed penalty of the selected features."""
    penalty = parameters.get("penalty")
    if isinstance(penalty, Mapping):
        return float(sum(penalty.get(name, 0.0) for name in c.selected))
    return float(penalty or 0.0) * len(c.selected)


def _squares(c: LinearClassifier, parameters: Parameters, model: Any) -> float:
    loss = c.squared_loss if parameters.get("loss") == SQUARED else c.loss
    return 0.5 * float(c.w @ c.w) + parameters["C"] * loss + _price(c, parameters)


def _absolutes(c: LinearClassifier, parameters: Parameters, model: Any) -> float:
    return float(np.abs(c.w).sum()) + parameters["C"] * c.loss


def _svm(data: Dataset, *, C: float = 1.0, loss: str = HINGE, sigma: bool = False) -> pyo.ConcreteModel:
    """Build the SVM (1). Rows on sigma need FSP-lambda with penalty 0: the best SVM on the features that they allow.

    ``C``, ``loss`` as for ``fsp_lambda``. ``sigma``: Add binaries, for rows on features.
    """
    return fsp_lambda(data, penalty=0.0, C=C, loss=loss) if choosing(sigma) else svm.l2_svm(data, C=C, loss=loss)


_EXACT: dict[str, Any] = {"selects": True, "proves_bound": True, "page": "fsp", "equations": ("(FSP-M)",)}

SPECS = [
    LinearSpec(
        "svm",
        "soft-margin SVM on all features",
        _svm,
        _squares,
        aliases=("l2", "l2-svm", "linear-svm", "svc", "linearsvc", "libsvm", "ridge"),
        page="svm",
        equations=("(1)",),
    ),
    LinearSpec(
        "one-norm-svm",
        "1-norm SVM, a linear program that uses few features",
        svm.one_norm_svm,
        _absolutes,
        comparison_objectives=("fsp_objective",),
        tuning_grid=(("C",), lambda data, C: np.geomspace(100.0, 1e-4, GRID_SIZE)),
        aliases=("lasso", "l1", "l1-svm", "1-norm", "1-norm-svm", "l1-norm", "sparse-svm"),
        page="svm",
        equations=("(ONSVM)",),
    ),
    FspSpec(
        "fsp-m",
        "best SVM on at most M features, exact",
        fsp_m,
        _squares,
        aliases=("l0", "best-subset", "exact", "cardinality", "mip"),
        **_EXACT,
    ),
    FspSpec(
        "fsp-lambda",
        "SVM that pays for each feature, exact",
        fsp_lambda,
        _squares,
        defaults={"penalty": 1.0},
        tuning_grid=(("penalty",), lambda data, C: C * data.n_samples * np.geomspace(1e-4, 1.0, GRID_SIZE)),
        **_EXACT,
    ),
]
