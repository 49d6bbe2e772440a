"""Choice of parameters by held-out errors, and the error of this procedure by nested cross-validation.

For each point of a grid the inner folds give a held-out error; a rule chooses a point, and the selection on all samples
uses it. The inner error of the chosen point is biased, as it is the least of many errors. So outer folds evaluate the
whole procedure: inner folds choose again on the training samples of an outer fold, the selection on these uses the
result, and the held-out samples evaluate it. Held-out samples influence neither scaling nor features nor the choice.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fsmodels.checks import choice, each_once, renamed, switch
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import ModelError, ParameterError
from fsmodels.evaluation.cross_validate import CrossValidated, cross_validated
from fsmodels.evaluation.folds import FoldRun, Folds, check_repeatable, standard_error
from fsmodels.selection.curve import RULES, point_of, point_text
from fsmodels.selection.report import BaseAnswer
from fsmodels.selection.request import Request
from fsmodels.selection.resampling import Resample, folds_of
from fsmodels.selection.selection import Selection
from fsmodels.text import iterable, listed, short
from solvers import interrupt
from solvers import progress as watching
from solvers.clock import own_clock
from solvers.interrupt import Cancel

if TYPE_CHECKING:
    import joblib
    from matplotlib.axes import Axes


Point = dict[str, Any]
Row = dict[str, Any] | None  # of a run; None after Ctrl-C


@dataclass(frozen=True, repr=False, eq=False)
class Chosen(BaseAnswer):
    """Chosen parameters, the selection made with them, and the error of the procedure.

    Attributes
    ----------
    values : dict
        The chosen parameters.
    found : Selection
        The selection on all samples with these values.
    inner : pandas.DataFrame
        A row for each point: ``error``, ``se``, ``n_selected`` over the inner folds of all samples, ``chosen``. The
        error of the chosen point is biased.
    nested : CrossValidated or None
        The procedure on outer folds; the column ``chosen`` of its runs contains the choice of each fold.
    rule : str
    """

    values: Point
    found: Selection
    inner: pd.DataFrame
    nested: CrossValidated | None
    rule: str

    @property
    def error(self) -> float | None:
        """The held-out error of the procedure, choice included; None without ``nested``."""
        return None if self.nested is None else self.nested.error

    @property
    def standard_error(self) -> float | None:
        """Of ``error``."""
        return None if self.nested is None else self.nested.standard_error

    @property
    def inner_error(self) -> float:
        """The error of the chosen point; biased, as it is the least of many."""
        return float(self.inner.loc[self.inner["chosen"], "error"].iloc[0])

    def table(self) -> pd.DataFrame:
        """Return a frame with a row for each point."""
        return self.inner.copy()

    @property
    def sentence(self) -> str:
        """The result in a few sentences."""
        found, count, inner = self.found, len(self.inner), f"{100 * self.inner_error:.1f}%"
        values = point_text(self.values)
        text = f"{found.name} on {found.data.name}: {values}, by the rule {self.rule} among {count} points."
        if self.nested is None:
            text += f" Its inner error, {inner}, is the least of many, so it is biased: "
            return text + "nested=True estimates the error."
        counts = Counter(point_text(point) for point in self.nested.runs["chosen"] if point)
        often = "; ".join(f"{point} ({times})" for point, times in counts.most_common())
        text += f" Held-out error of the procedure, including the choice: {self.nested.in_words}, over "
        text += f"{len(self.nested.runs)} folds; the inner error, {inner}, is biased. "
        return text + f"Chosen in the folds: {often}." + self.nested.reservations

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the inner errors against the first parameter, and the error of the procedure as a band."""
        from fsmodels.selection.pictures import draw_chosen

        return draw_chosen(self, ax)

    def _content(self) -> dict[str, Any]:
        return {
            "question": "choose",
            "rule": self.rule,
            "values": self.values,
            "error": self.error,
            "standard_error": self.standard_error,
            "inner_error": self.inner_error,
            "points": self.inner.reset_index().astype(object).to_dict("records"),
            "nested": None if self.nested is None else self.nested.to_dict(),
            "selection": self.found.to_dict(),
        }

    def short(self) -> pd.DataFrame:
        """Return the points with rounded numbers."""
        return self.inner.round(4)


@renamed("checkpoint", "memory=DIR is a folder for the finished folds")
@renamed("search", "every value of over is tried; give fewer values, for example 1, 2, 4, 8")
def choose(
    data: Dataset,
    model: str = "fsp-m",
    over: Mapping[str, Iterable[Any]] | None = None,
    *,
    rule: str = "one-se",
    nested: bool = True,
    cv: Any = 5,
    inner: Any = None,
    repeats: int = 1,
    seed: int = 0,
    n_jobs: int | None = None,
    memory: str | Path | joblib.Memory | None = None,
    progress: bool = False,
    cancel: Cancel | None = None,
    **arguments: Any,
) -> Chosen:
    """Choose parameters by held-out errors, select with them, and estimate the error of this procedure.

    Parameters
    ----------
    data : Dataset
    model : str
        As in ``select``.
    over : mapping of parameters to values
        ``{"max_features": [1, 2, 5], "C": [0.1, 1, 10]}``; the grid is their product. Any parameter of ``select`` whose
        values are numbers or text.
    rule : {"one-se", "best"}
        "best": the least inner error; ties: the fewest features. "one-se": the fewest features among the points whose
        error is at most one standard error above the least; ties: the least error.
    nested : bool
        Estimate the error of the procedure by outer folds, which takes about ``cv`` times the time of the choice.
    cv, repeats, seed
        The outer folds, as in ``cross_validate``.
    inner : int, splitter of scikit-learn, or None
        The inner folds; as many as ``cv`` by default if that is a number, else 5.
    n_jobs, memory, progress, cancel
        As in ``cross_validate``; the memory keeps each point of each fold.
    **arguments
        As in ``select``; ``time_limit`` is for each solve.

    Returns
    -------
    Chosen
        After Ctrl-C with the outer folds finished by then.

    Raises
    ------
    ParameterError
        ``over`` has no grid, or a parameter is not allowed.
    ModelError
        No point has a solution in every inner fold.

    Examples
    --------
    >>> import fsmodels as fs
    >>> chosen = fs.choose(fs.load_dataset("cleveland"), "rfe", {"max_features": [1, 3, 6]}, rule="best", cv=3)
    >>> chosen.values, len(chosen.found.selected), chosen.nested.runs["chosen"].to_list()[0]
    ({'max_features': 6}, 6, {'max_features': 6})
    """
    choice("rule", rule, list(RULES))
    switch("nested", nested, "the error of the procedure by outer folds")
    if not nested and (not isinstance(repeats, int | np.integer) or repeats != 1):
        raise ParameterError("repeats: nested=False has no outer folds to repeat. Leave repeats out.")
    check_repeatable("choose", arguments)
    request, name = Request.of(data, model, **arguments), "inner"
    if inner is None:
        inner, name = (cv if isinstance(cv, int | np.integer) else 5), "cv"
    points, folds, bare = _points(over, request), Folds(cv, repeats, seed, n_jobs, memory), request.without_samples
    grid = _Grid(points, [bare.changed(**point) for point in points], rule, folds)
    own = folds_of(request.data, inner, seed, name)
    outer = folds.parts(request.data) if nested else []
    within = [
        [replace(part, methods=one.methods) for part in folds_of(one.learn, inner, seed, name)] for one in outer
    ]  # folds that are too small for inner folds raise an error before the choice, not after it
    with interrupt.run(cancel), watching.shown(progress):
        rows = grid.rows(own)
        if None in rows:
            raise KeyboardInterrupt
        frame = grid.errors(rows)
        values = points[_chosen(frame)]
        with own_clock(), watching.doing("all samples"):
            found = request.changed(**values).solve()
        numbers = isinstance(inner, int | np.integer) and isinstance(cv, int | np.integer)
        same = numbers and inner == cv and repeats == 1
        evaluated = grid.nested(outer, within, rows if same else None) if nested and not interrupt.pressed() else []
    whole = cross_validated(request, evaluated, folds) if any(evaluated) else None
    return Chosen(values, found, frame, whole, rule)


@dataclass(frozen=True)
class _Grid:
    """Points of a grid, the request of each, and the folds on which they are compared."""

    points: list[Point]
    requests: list[Request]
    rule: str
    folds: Folds

    def rows(self, parts: list[Resample]) -> list[Row]:
        """Return the rows of all points on each part in turn."""
        return self.folds.rows([FoldRun(request, part) for part in parts for request in self.requests], "run")

    def errors(self, rows: list[Row]) -> pd.DataFrame:
        """Return mean error, standard error and number of features of each point, and the choice.

        Raises ModelError: no point has a solution in every fold.
        """
        index = pd.MultiIndex.from_tuples([tuple(point.values()) for point in self.points], names=self.points[0])
        if index.nlevels == 1:
            index = index.get_level_values(0)
        runs, count = pd.DataFrame(rows, columns=["error", "n_selected"]).apply(pd.to_numeric), len(self.points)
        errors = runs["error"].to_numpy(dtype=float).reshape(-1, count).T.copy()  # by point and part
        se = np.array([standard_error(of_point, len(of_point)) for of_point in errors], dtype=float)
        sizes = runs["n_selected"].groupby(np.arange(len(runs)) % count).mean().to_numpy()
        frame = pd.DataFrame({"error": errors.mean(axis=1), "se": se, "n_selected": sizes}, index=index)
        best = point_of(frame["error"].to_numpy(), se, sizes, self.rule)
        if best is None:
            raise ModelError("choose: no point has a solution in every fold: give more time or fewer folds.")
        return frame.assign(chosen=np.arange(count) == best)

    def nested(self, outer: list[Resample], within: list[list[Resample]], known: list[Row] | None) -> list[Row]:
        """Return the row of each outer fold, with the choice made there; None for a fold after Ctrl-C.

        ``known``: rows of all points on the outer folds, if they were computed before.
        """
        count = len(self.points)
        try:
            inside = iter(self.rows([part for parts in within for part in parts]))
        except KeyboardInterrupt:
            return []
        rows: list[Row] = [None] * len(outer)
        chosen: dict[int, int] = {}
        for k, parts in enumerate(within):
            own = list(itertools.islice(inside, count * len(parts)))
            if None in own:
                continue
            try:
                chosen[k] = _chosen(self.errors(own))
            except ModelError as error:
                rows[k] = {"selected": None, "message": str(error), "chosen": None}
        found: list[Row] = []
        if known is not None:
            found = [known[k * count + at] for k, at in chosen.items()]
        elif chosen and not interrupt.pressed():
            with suppress(KeyboardInterrupt):
                found = self.folds.rows([FoldRun(self.requests[at], outer[k]) for k, at in chosen.items()], "run")
        for (k, at), row in zip(chosen.items(), found, strict=False):
            rows[k] = None if row is None else {**row, "chosen": self.points[at]}
        return rows


def _chosen(errors: pd.DataFrame) -> int:
    """Return the index of the chosen point."""
    return int(np.flatnonzero(errors["chosen"])[0])


def _points(over: Any, request: Request) -> list[Point]:
    """Return the points of the grid. Raises ParameterError: there is none, or a parameter is given twice."""
    example = 'over={"max_features": [1, 2, 5]}'
    if not isinstance(over, Mapping) or not over:
        raise ParameterError(f"choose needs values to choose among: give {example}.")
    grid = {}
    for name, values in over.items():
        if not iterable(values) or isinstance(values, str | Mapping):
            raise ParameterError(f"over: {name} is {short(repr(values))}: give several values, {example}.")
        grid[str(name)] = each_once(f"over: {name}", list(values))
    if twice := [name for name in grid if name in request.arguments]:
        raise ParameterError(f"{listed(twice)} is given twice, in over and as a parameter: keep one.")
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
