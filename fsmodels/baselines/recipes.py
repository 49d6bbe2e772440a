"""The baselines by name: they run no solver, and nothing is proven about what they select."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from fsmodels import baselines
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import ParameterError
from fsmodels.models.classifier import LinearClassifier
from fsmodels.models.recipe import Given, Reading, Recipe
from fsmodels.words import listed
from solvers import Result, StopReason, interrupt
from solvers.result import UNPROVEN


@dataclass(frozen=True)
class OfBaseline(Recipe):
    """A baseline, whose ``build`` answers at once."""

    _: KW_ONLY
    rows: bool = True
    compared: tuple[str, ...] = ("fsp_objective",)

    runs_solver: ClassVar[bool] = False
    keeps_model: ClassVar[bool] = False

    @property
    def parameters(self) -> dict[str, bool]:
        """Parameters that ``build`` takes, without the rows, which the side constraints are."""
        return {name: required for name, required in super().parameters.items() if name != "rows"}

    def model(self, data: Dataset, parameters: Given) -> None:
        """There is none."""

    def answer(
        self, model: Any, data: Dataset, parameters: Given, solver: Any, options: Given
    ) -> tuple[Result, Reading]:
        """Run it; refuse what only a solver could use."""
        unused = [*(["solver"] if solver is not None else []), *options]
        if unused:
            raise ParameterError(
                f'Model "{self.name}" is a baseline of its own and runs no solver, so it does not use '
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
        return result, Reading(c, None, None, result.status, message, ranking=found.ranking)


def _recipe(name: str, title: str, build: Callable[..., Any], **facts: Any) -> OfBaseline:
    numbers = (f"``{build.__name__}``",)
    return OfBaseline(name, title, build, page="fsmodels.baselines", numbers=numbers, **facts)


RECIPES = [
    _recipe(
        "rfe",
        "recursive feature elimination, heuristic",
        baselines.rfe,
        weighs=True,
        aliases=("svm-rfe", "recursive", "recursive-feature-elimination"),
    ),
    _recipe(
        "information-gain",
        "filter by information gain, heuristic",
        baselines.information_gain,
        aliases=("entropy", "ig"),
    ),
    _recipe(
        "mutual-information",
        "filter by mutual information, heuristic",
        baselines.mutual_information,
        dense_only=True,
        aliases=("mrmr", "mi"),
    ),
    _recipe(
        "relief", "filter by Relief, heuristic", baselines.relief, dense_only=True, aliases=("relieff", "relief-f")
    ),
]
