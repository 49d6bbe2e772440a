"""The near-optimal set: every selection within a share of the best, with a proof that there is no other.

One tree search finds all of them: it continues after the optimum, and prunes a node only if no selection in it is near
enough (``within`` of ``branch-and-cut``).

A selection is listed if no proper subset of it is listed with an objective that is at most as large, within the
relative gap of the solver (1e-4 by default). So a feature whose removal changes the objective by less than the gap is
in no selection of the list, and every selection left out contains a listed one that is as good within the gap. A
subset that violates a side constraint is not listed and replaces no selection. The best selection is left out in the
same way; the shares are still relative to its objective.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from fsmodels.checks import positive, whole
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import ModelError, ParameterError
from fsmodels.insight.what_if import ProvenAnswer, about, bounded, share_of
from fsmodels.selection.pictures import MOST_BARS, MOST_POINTS, axes, heat_map
from fsmodels.selection.report import number
from fsmodels.selection.request import Request
from fsmodels.selection.selection import Selection
from fsmodels.text import listed
from solvers import interrupt
from solvers import progress as watching
from solvers.clock import one_clock
from solvers.interrupt import Cancel
from solvers.options import Config

MOST_DRAWN = 60  # models in a picture


@dataclass(frozen=True)
class NearModel:
    """Near-optimal selection: features, objective, proven bound, and its classifier on the scaled data."""

    features: tuple[str, ...]
    objective: float
    bound: float
    weights: dict[str, float]
    bias: float


@dataclass(frozen=True, eq=False, repr=False)
class NearOptimal(ProvenAnswer, Sequence[NearModel]):
    """The selections within a share of the best, the best first.

    Attributes
    ----------
    best : Selection
    within : float
    models : tuple of NearModel
    complete : bool
        True if there is no other. Otherwise all selections with an objective below ``below`` are listed.
    below : float
    open : int
        Open nodes of the search, which may contain further selections.
    idle : int
        Selections that were left out because a listed subset of them is as good within the gap.
    seconds : float
    """

    question = "near-optimal"

    best: Selection
    within: float
    models: tuple[NearModel, ...]
    complete: bool
    below: float
    open: int
    idle: int
    seconds: float

    def __len__(self) -> int:
        return len(self.models)

    def __getitem__(self, k: Any) -> Any:
        return self.models[k]

    @property
    def _best(self) -> float:
        """The least objective, which may be that of a selection that was left out."""
        return min(x for x in (self.best.objective, *(m.objective for m in self.models)) if x is not None)

    def table(self) -> pd.DataFrame:
        """Return a frame with a row for each model: objective, the share above the best, and the features."""
        base = self._best
        lines = [
            {
                "objective": m.objective,
                "bound": m.bound,
                "above": share_of(m.objective, base),
                "n_features": len(m.features),
                "features": ", ".join(m.features),
            }
            for m in self.models
        ]
        return pd.DataFrame(lines, index=pd.RangeIndex(1, len(lines) + 1, name="model"))

    def importance(self) -> pd.DataFrame:
        r"""Return a frame with a row for each feature of some model: number of models, and range of its weight.

        ``share``: of the models with the feature. ``least``, ``most``: range of \|w_j\| on the scaled data in these.
        ``sign``: of w_j if all models agree, otherwise 0.
        """
        count = len(self.models)
        lines = {}
        for name in self.best.data.features:
            weights = [m.weights[name] for m in self.models if name in m.weights]
            if weights:
                signs = {int(np.sign(w)) for w in weights}
                size = np.abs(weights)
                lines[name] = {
                    "models": len(weights),
                    "share": len(weights) / count,
                    "least": float(size.min()),
                    "most": float(size.max()),
                    "sign": signs.pop() if len(signs) == 1 else 0,
                }
        columns = ["models", "share", "least", "most", "sign"]
        frame = pd.DataFrame.from_dict(lines, orient="index", columns=columns).rename_axis("feature")
        return frame.sort_values(["models", "most"], ascending=False, kind="stable")

    def plot(self, ax: Any = None) -> Any:
        """Draw the weights of features (rows) in models (columns, the best on the left); return the Axes."""
        models, names = self.models[:MOST_DRAWN], list(self.importance().index)[:MOST_BARS]
        cut = len(models) < len(self.models)
        weights = np.array([[m.weights.get(name, math.nan) for m in models] for name in names]).reshape(-1, len(models))
        ax = axes(ax, height=max(1.8, 0.22 * len(names) + 0.9))
        heat_map(ax, weights, names, "weight")
        step = -(-len(models) // MOST_POINTS)
        ax.set_xticks(range(0, len(models), step), range(1, len(models) + 1, step))
        ax.set_xlabel(f"models within {about(self.within)} of the best" + (" (the best of them)" if cut else ""))
        return ax

    @property
    def sentence(self) -> str:
        """The answer without terms of duality."""
        most = self.best.parameters.get("max_features")
        count, share = len(self.models), about(self.within)
        what, lie = ("model", "lies") if count == 1 else ("models", "lie")
        of = "" if most is None else f" with at most {most} {self.best.parameters.get('count', 'features')}"
        text = f"{count} {what}{of} {lie} within {share} of the best ({number(self._best)})"
        if self.complete:
            text += "; there is no other."
        elif self.open:
            text += f" so far; there may be more with objectives from {number(self.below)}, in {self.open} open nodes."
        else:
            text += f"; there are more with objectives from {number(self.below)}."
        if self.idle:
            many = "1 larger selection is" if self.idle == 1 else f"{self.idle} larger selections are"
            text += f" {many} left out, because a listed subset is as good within the gap."
        roles = self.importance()
        every = [name for name in roles.index if roles.loc[name, "models"] == count]
        if every and count > 1:
            text += f" {listed(every)} {'is' if len(every) == 1 else 'are'} in all of them"
            text += f", {len(roles) - len(every)} more in some." if len(roles) > len(every) else "."
        return text

    def short(self) -> pd.DataFrame:
        """Return the objective of each model, its distance above the best, and the features."""
        table = self.table()
        return pd.DataFrame(
            {
                "Objective": [number(x) for x in table["objective"]],
                "Above best": [about(x) for x in table["above"]],
                "Features": [names or "none" for names in table["features"]],
            },
            index=table.index.rename("Model"),
        )

    def _content(self) -> dict[str, Any]:
        return {
            "complete": self.complete,
            "below": self.below,
            "open": self.open,
            "idle": self.idle,
            "models": [vars(m) for m in self.models],
            "importance": self.importance().reset_index().to_dict(orient="records"),
        }


def near_optimal(
    data: Dataset,
    model: str = "fsp-m",
    *,
    within: float = 0.01,
    limit: int = 1000,
    scale: str | None = None,
    progress: bool = False,
    cancel: Cancel | None = None,
    **given: Any,
) -> NearOptimal:
    """Find every selection within a share of the best, with a proof that there is no other.

    Parameters
    ----------
    data : Dataset
        Scaled as by ``select``.
    model : str
        A model that ``branch-and-cut`` solves: fsp-m, fsp-lambda, fs.
    within : float
        The share, 0.01 for 1%.
    limit : int
        The largest number of selections to keep; the best are kept.
    scale, **given
        As in ``select``: parameters of the model, side constraints, ``time_limit``, options. At the time limit the
        selections found by then are returned, with the objective from which there may be more.
    progress : bool
        Show the current solve and its progress.
    cancel : Cancel, optional
        Token that ends the call from another thread, as Ctrl-C does.

    Returns
    -------
    NearOptimal

    Raises
    ------
    ParameterError
        Another model or solver; ``within`` is not above 0.
    ModelError
        No selection is possible, or none was found in time.

    Examples
    --------
    >>> import fsmodels as fs
    >>> near = fs.near_optimal(fs.load_dataset("cleveland"), max_features=5)
    >>> print(len(near), near.complete, [len(m.features) for m in near])
    2 True [5, 5]
    >>> sorted(set(near[0].features) & set(near[1].features))
    ['ca', 'cp', 'exang', 'thal']
    """
    name = bounded(model)
    with interrupt.run(cancel), one_clock(), watching.shown(progress):
        return near_optimal_of(Request.of(data, name, scale=scale, **given).build(), within, limit)


def near_optimal_of(task: Request, within: float, limit: int) -> NearOptimal:
    """Find every selection within a share of the best for a request with its model."""
    within = positive("within", within, "a share of the objective, 0.01 for 1%")
    limit = whole("limit", limit, 1, None, "the largest number of sets")
    if not task.takes("within"):
        raise ParameterError(
            f'Near-optimal sets are listed by "branch-and-cut", which does not solve {task.spec.name} here: leave '
            "solver= out, and use fsp-m, fsp-lambda or fs."
        )
    task = task.changed(within=within, most_choices=limit)
    best = task.solve()
    if best.objective is None:
        raise ModelError(f"There is no selection to begin with: {best.message or best.status.value}")
    with interrupt.finishing(), watching.doing("reading the selections found"):
        return _read(task, best, within)


def _read(task: Request, best: Selection, within: float) -> NearOptimal:
    """Return the answer with the classifier of each choice; the model then has the values of the best one."""
    near = best.result.details["near"]
    found: list[NearModel] = []
    for choice in near.choices:
        choice.load()
        found.append(_model(task, best, choice))
    if near.choices:
        near.choices[0].load()
    elif best.classifier is not None and best.objective is not None:  # the run ended before the list began
        used_weights = {name: best.classifier.weights[name] for name in best.selected}
        bound = -math.inf if best.bound is None else best.bound
        found.append(NearModel(best.selected, best.objective, bound, used_weights, float(best.classifier.b)))
    kept = _without_unneeded(found, task.options.get("gap", Config.gap))
    return NearOptimal(best, within, kept, near.complete, near.below, near.open, len(found) - len(kept), best.seconds)


def _without_unneeded(found: list[NearModel], gap: float) -> tuple[NearModel, ...]:
    """Return the selections of which no proper subset is returned that is as good within the gap."""
    kept: list[NearModel] = []
    for m in sorted(found, key=lambda m: len(m.features)):
        worst = m.objective + gap * abs(m.objective)
        if not any(set(other.features) < set(m.features) and other.objective <= worst for other in kept):
            kept.append(m)
    return tuple(m for m in found if m in kept)


def _model(task: Request, best: Selection, choice: Any) -> NearModel:
    """Return the selection and classifier of the current values of the model."""
    assert task.model is not None
    features = [name for name, x in zip(task.data.features, choice.choice, strict=True) if x > 0.5]
    held = replace(best.result, objective=choice.objective, bound=choice.bound, selected=features)
    solution = task.spec.read(task.model, task.data, {**task.parameters, **task.spec.reported_values(task.model)}, held)
    classifier = solution.classifier
    weights = dict(zip(task.data.features, np.asarray(classifier.w).tolist(), strict=True))
    objective = choice.objective if solution.objective is None else solution.objective
    return NearModel(
        tuple(features), objective, min(choice.bound, objective), {name: weights[name] for name in features},
        float(classifier.b),
    )  # fmt: skip
