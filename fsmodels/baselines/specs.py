"""Specifications of the baselines: they run no solver, and their selection has no proof."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

from fsmodels import baselines
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import ParameterError
from fsmodels.models.classifier import LinearClassifier
from fsmodels.models.spec import ModelSolution, ModelSpec, Parameters
from fsmodels.text import listed
from solvers import Result, StopReason, interrupt
from solvers.result import UNPROVEN


@dataclass(frozen=True)
class BaselineSpec(ModelSpec):
    """Specification of a baseline; ``build`` returns the selection."""

    _: KW_ONLY
    selects: bool = True
    comparison_objectives: tuple[str, ...] = ("fsp_objective",)

    runs_solver = False
    reuses_model = False

    @property
    def parameters(self) -> dict[str, bool]:
        """Parameters that ``build`` takes, without ``rows``, the model of the side constraints."""
        return {name: required for name, required in super().parameters.items() if name != "rows"}

    def build_model(self, data: Dataset, parameters: Parameters) -> None:
        """Return None: a baseline has no model."""

    def solve_and_read(
        self, model: Any, data: Dataset, parameters: Parameters, solver: Any, options: Parameters
    ) -> tuple[Result, ModelSolution]:
        """Run the baseline; raise an error for options of a solver."""
        unused = [*(["solver"] if solver is not None else []), *options]
        if unused:
            raise ParameterError(
                f'Model "{self.name}" is a baseline and runs no solver, so it does not use '
                f"{listed(unused)}: it takes {listed(self.parameters)}."
            )
        with interrupt.raising():
            found = self.build(data, **parameters, rows=model)
        message = "A heuristic: nothing is proven about this selection."
        result = Result(
            UNPROVEN.status,
            StopReason.CONVERGED,
            selected=list(found.selected),
            seconds=found.seconds,
            solver=found.library,
            message=message,
        )
        c = LinearClassifier(data, found.weights, found.bias, tuple(found.selected))
        return result, ModelSolution(c, None, None, result.status, message, ranking=found.ranking)


def _spec(name: str, title: str, build: Callable[..., Any], **facts: Any) -> BaselineSpec:
    equations = (f"``{build.__name__}``",)
    return BaselineSpec(name, title, build, page="fsmodels.baselines", equations=equations, **facts)


SPECS = [
    _spec(
        "rfe",
        "recursive feature elimination, heuristic",
        baselines.rfe,
        takes_weights=True,
        aliases=("svm-rfe", "recursive", "recursive-feature-elimination"),
    ),
    _spec(
        "information-gain",
        "filter by information gain, heuristic",
        baselines.information_gain,
        aliases=("entropy", "ig"),
    ),
    _spec(
        "mutual-information",
        "filter by mutual information, heuristic",
        baselines.mutual_information,
        dense_only=True,
        aliases=("mrmr", "mi"),
    ),
    _spec("relief", "filter by Relief, heuristic", baselines.relief, dense_only=True, aliases=("relieff", "relief-f")),
]
