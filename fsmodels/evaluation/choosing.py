"""Values chosen by held-out errors, and the honest error of the whole procedure, choice included.

For each point of a grid the inner folds give a held-out error; a rule takes a point, and the selection on all samples
is made with it. The inner error of the point that was taken is no estimate: it is the least of many, and the more
points there are, the luckier it is. So the procedure itself is judged by outer folds: on the samples that an outer fold
learns from, inner folds choose anew, the selection is made with what they chose, and the samples left out judge it. No
sample judges what it had a part in, be it scaling, features or the choice.
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

from fsmodels.checks import choice, renamed, switch
from fsmodels.datasets.checks import on_one_footing
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import ModelError, ParameterError
from fsmodels.evaluation.cross_validation import CrossValidated, standard_error, summed_up
from fsmodels.evaluation.fold_run import FoldRun, FoldRunner, parts_of, raw_and_words
from fsmodels.selection.curve import RULES, point_of
from fsmodels.selection.recipes import find
from fsmodels.selection.report import as_json
from fsmodels.selection.resampling import Resample
from fsmodels.selection.select import select
from fsmodels.selection.selection import Selection
from fsmodels.words import iterable, listed, short
from solvers import html, interrupt
from solvers import progress as watching
from solvers.clock import own_clock

if TYPE_CHECKING:
    import joblib
    from matplotlib.axes import Axes


Point = dict[str, Any]


@dataclass(frozen=True, repr=False, eq=False)
class Chosen:
    """Values that were chosen, the selection made with them, and the honest error of the procedure.

    Attributes
    ----------
    values : dict
        What was chosen.
    found : Selection
        On all samples, with these values.
    inner : pandas.DataFrame
        A row a point: ``error``, ``se``, ``n_selected`` over the inner folds of all samples, ``chosen``. The error of
        the row that was taken is too small an estimate.
    nested : CrossValidated or None
        The procedure on outer folds; the column ``chosen`` of its runs has what was chosen there.
    rule : str
    """

    values: Point
    found: Selection
    inner: pd.DataFrame
    nested: CrossValidated | None
    rule: str

    @property
    def error(self) -> float | None:
        """The honest error of the procedure, choice included; None without ``nested``."""
        return None if self.nested is None else self.nested.error

    @property
    def standard_error(self) -> float | None:
        """Of ``error``."""
        return None if self.nested is None else self.nested.standard_error

    @property
    def inner_error(self) -> float:
        """The error by which the values were chosen: biased, as it is the least of many."""
        return float(self.inner.loc[self.inner["chosen"], "error"].iloc[0])

    def table(self) -> pd.DataFrame:
        """Return a frame with a row a point."""
        return self.inner.copy()

    @property
    def sentence(self) -> str:
        """What came out, in a few sentences."""
        found, count = self.found, len(self.inner)
        said = (
            f"{found.name} on {found.data.name}: {_told(self.values)}, by the rule {self.rule} among {count} points. "
        )
        if self.nested is None:
            said += f"The error that chose it, {100 * self.inner_error:.1f}%, is the least of many and no estimate: "
            return said + "nested=True gives the honest one."
        said += f"Honest error of the procedure, choice included: {self.nested.in_words}, over "
        said += f"{len(self.nested.runs)} folds; the error that chose it was {100 * self.inner_error:.1f}%, and is no "
        said += "estimate. Chosen in the folds: "
        counts = Counter(_told(point) for point in self.nested.runs["chosen"] if point)
        said += "; ".join(f"{told} ({times})" for told, times in counts.most_common()) + "."
        return said + self.nested.reservations

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the inner errors over the first parameter, and the honest error of the procedure as a band."""
        from fsmodels.selection.pictures import draw_chosen

        return draw_chosen(self, ax)

    def to_dict(self) -> dict[str, Any]:
        """Return the content of a JSON file: the values, both errors, the points, and the selection."""
        told = {
            "question": "choose",
            "sentence": self.sentence,
            "rule": self.rule,
            "values": self.values,
            "error": self.error,
            "standard_error": self.standard_error,
            "inner_error": self.inner_error,
            "points": self.inner.reset_index().astype(object).to_dict("records"),
            "nested": None if self.nested is None else self.nested.to_dict(),
            "selection": self.found.to_dict(),
        }
        plain: dict[str, Any] = as_json(told)
        return plain

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return f"{self.sentence}\n{self.inner.round(4).to_string()}"

    def _repr_html_(self) -> str:
        return html.paragraph(self.sentence) + html.frame(self.inner.round(4))


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
    **words: Any,
) -> Chosen:
    """Choose values of parameters by held-out errors, select with them, and say how wrong that procedure is.

    Parameters
    ----------
    data : Dataset
    model : str
        As in ``select``.
    over : mapping of words to values
        ``{"max_features": [1, 2, 5], "C": [0.1, 1, 10]}``; their product is the grid. Any words of ``select`` whose
        values are numbers or text, such as R_plus and R_minus of gmeb.
    rule : {"one-se", "best"}
        "best": the least inner error; of equals the fewest features. "one-se": the fewest features among the points
        whose error is at most one standard error above the least; of equals the least error.
    nested : bool
        Judge the procedure by outer folds, which takes about ``cv`` times as long as the choice. Without it there is no
        honest error.
    cv, repeats, seed
        The outer folds, as in ``cross_validate``.
    inner : int, splitter of scikit-learn, or None
        The inner folds; as many as ``cv`` by default, where that is a number, else 5.
    n_jobs, memory, progress
        As in ``cross_validate``; the memory keeps each point of each fold.
    **words
        As in ``select``; ``time_limit`` is for each solve.

    Returns
    -------
    Chosen
        After Ctrl-C with the outer folds that are known by then.

    Raises
    ------
    ParameterError
        ``over`` has no grid, the folds, or a word.
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
        raise ParameterError("repeats: the outer folds are repeated, and nested=False has none. Leave repeats out.")
    find(model)
    raw, given = raw_and_words("choose", data, words)
    name = "inner"
    if inner is None:
        inner, name = (cv if isinstance(cv, int | np.integer) else 5), "cv"
    points = _points(over, given)
    grid = _Grid(model, given, points, rule, FoldRunner(n_jobs, memory))
    own = parts_of(raw, inner, 1, seed, name)
    outer = parts_of(raw, cv, repeats, seed) if nested else []
    within = [
        [replace(part, methods=one.methods) for part in parts_of(one.learn, inner, 1, seed, name)] for one in outer
    ]  # refused here, where folds are too small for their own
    with interrupt.run(), watching.shown(progress):
        rows = grid.tried([own])
        if None in rows:
            raise KeyboardInterrupt
        frame = grid.judged(rows)
        values = grid.points[int(np.flatnonzero(frame["chosen"])[0])]
        with own_clock(), watching.doing("all samples"):
            found = select(on_one_footing(raw, given.get("scale")), model, **{**given, **values})
        numbers = isinstance(inner, int | np.integer) and isinstance(cv, int | np.integer)
        same = numbers and inner == cv and repeats == 1
        judged = grid.nested(outer, within, rows if same else None) if nested and not interrupt.pressed() else []
    folds = len(outer) // repeats
    whole = summed_up(model, raw, given, judged, folds, grid.runner.note) if any(judged) else None
    return Chosen(values, found, frame, whole, rule)


@dataclass(frozen=True)
class _Grid:
    """A grid of points, tried on folds."""

    model: str
    words: dict[str, Any]
    points: list[Point]
    rule: str
    runner: FoldRunner

    def tried(self, groups: list[list[Resample]]) -> list[dict[str, Any] | None]:
        """Return the rows of all points on each part of each group in turn; None from where Ctrl-C was pressed."""
        return self._run([self._one(part, point) for parts in groups for part in parts for point in self.points])

    def _one(self, part: Resample, point: Point) -> FoldRun:
        return FoldRun(self.model, {**self.words, **point}, part)

    def _run(self, runs: list[FoldRun]) -> list[dict[str, Any] | None]:
        return self.runner.rows(runs, "run")

    def judged(self, rows: list[dict[str, Any] | None]) -> pd.DataFrame:
        """Return the errors of the points over folds, and which is taken. Raises ModelError: none."""
        each, frame = len(self.points), self.summary(rows)
        error, se, sizes = (frame[name].to_numpy() for name in ("error", "se", "n_selected"))
        best = point_of(error, se, sizes, self.rule)
        if best is None:
            raise ModelError("choose: no point has a solution in every fold: give more time or fewer folds.")
        return frame.assign(chosen=[k == best for k in range(each)])

    def summary(self, rows: list[dict[str, Any] | None]) -> pd.DataFrame:
        """Return the mean error, its standard error and the mean number of features of each point over folds."""
        each, names = len(self.points), list(self.points[0])
        frames = pd.DataFrame(rows, columns=["error", "n_selected"])
        told = []
        for k in range(each):
            error, sizes = (pd.to_numeric(frames[name].iloc[k::each]) for name in ("error", "n_selected"))
            se = standard_error(error, len(error))
            told.append((error.mean(skipna=False), np.nan if se is None else se, sizes.mean()))
        index = pd.MultiIndex.from_tuples([tuple(point.values()) for point in self.points], names=names)
        if len(names) == 1:
            index = index.get_level_values(0)
        return pd.DataFrame(told, columns=["error", "se", "n_selected"], index=index)

    def nested(
        self, outer: list[Resample], within: list[list[Resample]], known: list[dict[str, Any] | None] | None
    ) -> list[dict[str, Any] | None]:
        """Return the row of each outer fold, with what was chosen there; None where Ctrl-C came first.

        ``known``: rows of all points on the outer folds themselves, where these were tried before.
        """
        each = len(self.points)
        try:
            inside = self.tried(within)
        except KeyboardInterrupt:
            return []
        chosen: dict[int, int] = {}
        rows: list[dict[str, Any] | None] = [None] * len(outer)
        for k in range(len(outer)):
            first = each * sum(map(len, within[:k]))
            mine = inside[first : first + each * len(within[k])]
            if None in mine:
                continue
            try:
                chosen[k] = int(np.flatnonzero(self.judged(mine)["chosen"])[0])
            except ModelError as error:
                rows[k] = {"selected": None, "message": str(error), "chosen": None}
        if known is None and chosen and not interrupt.pressed():
            with suppress(KeyboardInterrupt):
                again = self._run([self._one(outer[k], self.points[at]) for k, at in chosen.items()])
                rows = [again.pop(0) if k in chosen else row for k, row in enumerate(rows)]
        elif known is not None:
            rows = [known[k * each + chosen[k]] if k in chosen else row for k, row in enumerate(rows)]
        for k, at in chosen.items():
            row = rows[k]
            rows[k] = None if row is None else {**row, "chosen": self.points[at]}
        return rows


def _points(over: Any, words: Mapping[str, Any]) -> list[Point]:
    """Return the points of the grid. Raises ParameterError: there is none, or a word is given twice."""
    example = 'over={"max_features": [1, 2, 5]}'
    if not isinstance(over, Mapping) or not over:
        raise ParameterError(f"choose needs values to choose among: give {example}.")
    grid = {}
    for name, values in over.items():
        if not iterable(values) or isinstance(values, str | Mapping):
            raise ParameterError(f"over: {name} is {short(repr(values))}: give several values, {example}.")
        grid[str(name)] = list(values)
        if not grid[str(name)] or any(grid[str(name)].count(value) > 1 for value in grid[str(name)]):
            raise ParameterError(f"over: {name} is {short(repr(grid[str(name)]))}: give each value once, {example}.")
    if twice := [name for name in grid if name in words]:
        raise ParameterError(f"{listed(twice)} is given twice, in over and as a word: keep one.")
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def _told(point: Point) -> str:
    said = {name: f"{value:g}" if isinstance(value, float) else value for name, value in point.items()}
    return ", ".join(f"{name}={value}" for name, value in said.items())
