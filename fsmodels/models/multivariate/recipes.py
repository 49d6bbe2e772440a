"""The model by name of Mao, Tsang 2013."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyomo.environ as pyo

from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import ParameterError
from fsmodels.models import multivariate
from fsmodels.models.classifier import LinearClassifier, linear_decision
from fsmodels.models.multivariate import measures, strict
from fsmodels.models.multivariate.extended import why_lazy
from fsmodels.models.recipe import FloatArray, Given, Linear
from solvers import Result

__all__ = ["RECIPES"]

ORACLES = ("two-layer", "branch-and-cut", "benders", "single-tree")  # drivers that the lazy form is for


@dataclass(frozen=True)
class FsMulti(Linear):
    """FSmulti on a budget, or with at most K features."""

    instead: ClassVar[Mapping[str, str]] = {"max_features": "budget"}
    always_reported: ClassVar[tuple[str, ...]] = ("loss",)

    def refuse(self, words: Given) -> None:
        """Refuse a word that is gone."""
        if "strict" in words:
            raise ParameterError(
                f'Model "{self.name}" takes no strict: max_features=K (--max-features) selects at most K features; '
                "budget=B (--budget-features) is B of (5)."
            )

    def suited(
        self, parameters: dict[str, Any], data: Dataset, solver: Any, options: Given, *, on_weights: bool = False
    ) -> dict[str, Any]:
        """Return the parameters with the form that rows on weights or the solver need; of others it stays lazy.

        Exchanges take no rows on weights, and sigma takes their place.
        """
        by_oracle = solver is None or (isinstance(solver, str) and solver in ORACLES)
        if "form" in parameters or (by_oracle and not on_weights):
            return parameters
        stated = solver == "row-generation" or (by_oracle and why_lazy(measures.loss(parameters["loss"]), data) != "")
        chosen: dict[str, Any] = {"form": "stated" if stated else "extended"}
        if on_weights and "max_features" in parameters:
            chosen["sigma"] = True
        return {**chosen, **parameters}

    def solve(self, model: Any, data: Dataset, parameters: Given, solver: Any, options: Given) -> Result:
        """Solve (5), and go on to a selection where ``max_features`` asks for one."""
        return strict.run(model, data, parameters, solver, options)

    def weights(self, model: Any) -> tuple[FloatArray, float]:
        """Return (w, b), of which a lazy model holds those that are used."""
        return multivariate.classifier(model)

    def remark(self, c: LinearClassifier, given: Given, model: Any) -> str:
        """Say what the measure is, how many features share the budget, what a score of 0 means, what is no bound."""
        measure, B = measures.loss(given["loss"]), _budget(model)
        scores = linear_decision(c.data.X, c.w, c.b)
        said = [f"{measure.name} on these data: {measure.measure(c.data.y, scores):.2f}%."]
        if not c.w.any():
            said = [f"All weights are 0: every score is {c.b:g}, predicted as class {1 if c.b > 0 else -1}. "]
            said[0] += "A larger C makes features pay."
        if len(c.selected) > B:
            said.append(f"{len(c.selected)} features share the budget of {B} (sum of d); max_features={B} selects {B}.")
        positives = int((c.data.y > 0).sum())
        if not np.array_equal(measure.predict(c.data.y, n_positive=positives), c.data.y):  # y is not in Y
            said.append(
                f"The risk is no bound on what {measure.name} loses here, as the true labelling has {positives} "
                "positive samples and not k; prbep bounds it."
            )
        return " ".join(said)


def _budget(model: Any) -> int:
    return int(pyo.value(model.budget))


def _regularised_risk(c: LinearClassifier, given: Given, model: Any) -> float:
    known = {name: given[name] for name in ("C", "loss") if name in given}
    return multivariate.objective(c.data, c.w, b=c.b, budget=_budget(model), **known)


RECIPES = [
    FsMulti(
        "fsmulti",
        "least loss of a whole labelling (F1, PRBEP, recall at k, ...) on a budget of features, exact",
        strict.build,
        _regularised_risk,
        page="multivariate",
        numbers=("(5)",),
        weighs=False,
        proves_bound=True,
    )
]
