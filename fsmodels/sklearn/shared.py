"""One selection for all classes, each of which has a classifier of its own on it: ``multiclass="shared"``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyomo.environ as pyo

from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import ParameterError
from fsmodels.models.classifier import LinearClassifier
from fsmodels.models.fsp.several import one_selection
from fsmodels.models.recipe import AGREEMENT, Linear
from fsmodels.selection.recipes import find
from fsmodels.selection.selection import Selection
from fsmodels.selection.sides import ON_WEIGHTS, read_sides, state
from fsmodels.sklearn import constraints, running
from fsmodels.sklearn.asked import Asked
from fsmodels.sklearn.proven import FitCertificate
from fsmodels.words import listed
from solvers import DRIVERS, Result, SolutionStatus, interrupt, solve
from solvers.clock import own_clock
from solvers.garbage import put_off
from solvers.result import UNPROVEN, relative_gap, reread

__all__ = ["SHARING", "SharedFit", "built", "solved"]

SHARING = ("fsp-m", "fsp-lambda")
DEFAULT = "branch-and-cut"  # of the model


@dataclass(frozen=True)
class SharedFit:
    """A selection for each class, all of the same features, and what is proven about their sum."""

    found: list[Selection]
    certificate: FitCertificate


def built(problems: Sequence[Dataset], asked: Asked, rows: running.SideRows) -> pyo.ConcreteModel:
    """Build the model of all classes on scaled data, with its side constraints.

    Raises ParameterError: another model than these two, or constraints that are not on the selection.
    """
    recipe = asked.recipe
    if recipe.name not in SHARING:
        raise ParameterError(
            f'multiclass="shared" is for {" and ".join(SHARING)}, whose selections of all classes are one model. With '
            f'model="{recipe.name}" use multiclass="each", a selection for each class, or sklearn.multiclass.'
        )
    if idle := [kind for kind in rows.declared if kind in (*ON_WEIGHTS, "hierarchy")]:
        raise ParameterError(
            f'constraints: {listed(idle)} with multiclass="shared" would be of which class? Give a function of the '
            "model, whose weights are model.w[class, feature]."
        )
    words = dict(asked.words)
    if asked.solver is not None and not (isinstance(asked.solver, str) and asked.solver in DRIVERS):
        words.setdefault("form", "big-m")
    model = one_selection({str(data.positive_label): data for data in problems}, **words)
    state(model, read_sides(find("fsp-m"), rows.declared, problems[0]))
    constraints.apply(rows.functions, model)
    return model


def solved(
    problems: Sequence[running.TwoClasses],
    asked: Asked,
    rows: running.SideRows,
    time_limit: float | None,
    callback: running.Callback | None = None,
) -> SharedFit:
    """Build and solve; errors are those of ``running.solved``."""
    options = dict(asked.options)
    if time_limit is not None:
        options["time_limit"] = time_limit
    name = DEFAULT if asked.solver is None else asked.solver
    driver = DRIVERS.get(name) if isinstance(name, str) else None
    if callback is not None and driver is not None and "callback" in driver.options_type.__dataclass_fields__:
        options["callback"] = running.both(callback, options.get("callback"))
    with interrupt.run(), own_clock():
        with interrupt.raising(), put_off():
            data = [problem.footed(problem.data, asked.scale) for problem in problems]
            model = built(data, asked, rows)
        result = solve(model, asked.solver, **options)
        with interrupt.finishing():
            together = _read(model, data, asked, result)
    running.refuse_nothing(together.found[0])
    return together


def _read(model: pyo.ConcreteModel, problems: Sequence[Dataset], asked: Asked, result: Result) -> SharedFit:
    """Read the classifiers off the model, and recompute the objective from the data."""
    words = asked.words | {"multiclass": "shared"}
    if not result.has_solution:
        none = _selection(model, problems[0], words, None, None, result.status, result)
        return SharedFit([none], FitCertificate(None, result.bound, None, result.status.value, result.message))
    chosen = np.isin(problems[0].features, result.selected or [])
    names = tuple(np.array(problems[0].features, dtype=object)[chosen].tolist())
    machines, costs, recipe = [], [], cast(Linear, find("fsp-m"))
    for k, data in zip(model.classes, problems, strict=True):
        w = np.array([pyo.value(model.w[k, j]) for j in model.features])
        c = LinearClassifier(data, np.where(chosen, w, 0.0), float(pyo.value(model.b[k])), names)
        machines.append(c)
        costs.append(recipe.objective(c, {**words, "C": words.get("C", 1.0), "penalty": 0.0}, model))
    objective = sum(costs) + sum(float(pyo.value(model.penalty[j])) for j in names)
    doubt = ""
    if result.objective is not None and abs(result.objective - objective) > AGREEMENT * abs(objective):
        doubt = f"{result.solver} reports {result.objective:.9g}; its weights give {objective:.9g}."
    judged = reread(result, objective, doubt=doubt)
    gap = relative_gap(objective, judged.bound, minimize=True, resolution=result.resolution)
    said = " ".join(note for note in (doubt, judged.message, result.message) if note)
    whole = FitCertificate(objective, judged.bound, gap, judged.status.value, said)
    note = f"One selection for {len(problems)} classes. Of their sum: {whole.sentence}"
    status = UNPROVEN.status if judged.status is SolutionStatus.OPTIMAL else judged.status
    found = [
        _selection(model, data, words, c, cost, status, result, note)
        for data, c, cost in zip(problems, machines, costs, strict=True)
    ]
    return SharedFit(found, whole)


def _selection(
    model: pyo.ConcreteModel, data: Dataset, words: dict[str, Any], c: LinearClassifier | None, cost: float | None,
    status: SolutionStatus, result: Result, note: str = "",
) -> Selection:  # fmt: skip
    """Return one class's part, which proves nothing by itself."""
    selected = () if c is None else c.selected
    return Selection(
        "fsp-m", data, words, selected, c, cost, None, status, result.stop_reason, result, note or result.message,
        model=model,
    )  # fmt: skip
