"""Comparison of methods on the same folds: errors with paired differences, and one objective for all selections.

With d_i the error of a method minus that of the best on fold i, the mean difference has the standard error
s_d / sqrt(k), as in ``cross_validate``. The common variation of the folds cancels, so a difference is more precise than
the errors.

If a parameter of a model determines the number of features, each fold uses the loosest value of a fixed ladder with
which the model selects at most ``max_features``. The bisection over the ladder uses training samples only. The result
meets the budget even if the number of features does not fall along the whole ladder.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from fsmodels.checks import feature_count, positive, renamed
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import ParameterError
from fsmodels.evaluation.cross_validate import error_in_words
from fsmodels.evaluation.folds import (
    FAILED,
    MEASURES,
    FoldRun,
    Folds,
    check_repeatable,
    incidence,
    standard_error,
)
from fsmodels.evaluation.stability import stability_index
from fsmodels.models import fsp
from fsmodels.models.spec import GRID_SIZE, ModelSpec
from fsmodels.models.svm import C_MEANING
from fsmodels.selection.catalogue import find
from fsmodels.selection.outcome import FSP_SECONDS
from fsmodels.selection.parameters import PARAMETERS
from fsmodels.selection.report import BaseAnswer, boundary_note
from fsmodels.selection.request import WEIGHTS, Request, is_default
from fsmodels.selection.select import select
from fsmodels.selection.selection import Selection
from fsmodels.text import iterable, listed, short, shown
from solvers import SolutionStatus, StopReason, html, interrupt
from solvers import progress as watching
from solvers.clock import own_clock
from solvers.interrupt import Cancel

if TYPE_CHECKING:
    import joblib
    from matplotlib.axes import Axes


COMPARED = ("fsp-m", "fsv", "gmeb", "rfe", "one-norm-svm", "relief")
BUDGET = 5  # features
SOLVING = ("solver", "progress", "options")  # parameters of ``select`` that do not change the problem
MEANS = ("training_error", "n_selected", "fsp_objective", "fsp_error", "seconds")  # columns with means, and measures
COLUMNS = (
    *MEANS, "on_boundary", "selected", "objective", "bound", "gap", "status", "stop_reason", "message", "tuned", FAILED,
)  # fmt: skip


TIE = 1e-6  # relative difference of equal objectives
SHORT = (  # column, title and format in ``short``
    ("n_selected", "Features", "{:.1f}"), ("stability", "Stability", "{:.2f}"),
    ("fsp_objective", "FSP objective", "{:.5g}"),
)  # fmt: skip

Models = Iterable[str] | Mapping[str, Mapping[str, Any]]  # names, or the parameters of each


@dataclass(frozen=True)
class Candidate(FoldRun):
    """A request of a comparison on a part of the samples.

    ``tuned``: parameters that each fold adjusts to the ``budget`` of features. ``C``: for ``fsp_objective``.
    """

    tuned: tuple[str, ...]
    budget: int | None
    C: float

    keeps_errors: ClassVar[bool] = True

    def select(self) -> tuple[Selection, dict[str, Any]]:
        """Select within the budget; return also the fsp-m objective of the features and the error of their SVM."""
        if self.tuned and self.budget is not None:
            found, more = tune(self.request.on(self.part.train), self.budget)
        else:
            found, more = super().select()
        names, held_out = found.selected, self.part.held_out
        more |= {"fsp_objective": None, "fsp_error": None}
        if not found.has_solution:
            return found, more
        more["fsp_objective"] = fsp.value(found.data, names, C=self.C, time_limit=FSP_SECONDS)
        if held_out is not None and not names:
            more["fsp_error"] = float(np.mean(held_out.y != (1.0 if found.data.y.sum() > 0 else -1.0)))
        elif held_out is not None:
            again = select(found.data.select_features(names), "svm", C=self.C, time_limit=FSP_SECONDS)
            more["fsp_error"] = again.error(held_out) if again.has_solution else None
        return found, more


def tune(request: Request, budget: int) -> tuple[Selection, dict[str, Any]]:
    """Return the selection at the loosest value that meets the budget, with this value and the seconds of the search.

    If no value meets the budget, the tightest is used. Each solve has an equal share of the time limit.
    """
    ladder = request.spec.tuning_grid
    assert ladder is not None
    names, values_of = ladder
    values = [float(f"{value:.4g}") for value in values_of(request.data, request.parameters.get("C", 1.0))]
    limit = request.options.get("time_limit")
    share = {} if limit is None else {"time_limit": limit / (math.ceil(math.log2(GRID_SIZE)) + 1)}
    solved: dict[int, Selection] = {}

    def at(place: int) -> Selection:
        if place not in solved:
            with own_clock():
                solved[place] = request.changed(**dict.fromkeys(names, values[place]), **share).solve()
        return solved[place]

    low, high = 0, GRID_SIZE - 1
    while low < high:
        middle = (low + high) // 2
        found = at(middle)
        if found.stop_reason is StopReason.INTERRUPTED:
            return found, {}
        low, high = (low, middle) if found.has_solution and len(found.selected) <= budget else (middle + 1, high)
    found = at(low)
    return found, {"tuned": dict.fromkeys(names, values[low]), "seconds": sum(one.seconds for one in solved.values())}


def candidates(
    models: Models, common: Mapping[str, Any], budget: int | None, bare: Dataset
) -> dict[str, tuple[Request, tuple[str, ...]]]:
    """Return a request for each name, with the common parameters that its model uses, and the parameters to tune.

    ``bare``: the data without samples.

    Raises ParameterError: fewer than two models, an unknown one, a name twice, or a parameter that no model uses.
    """
    if isinstance(models, str):
        models = [models]
    if not iterable(models):
        raise ParameterError(f"models={shown(models)} is not allowed: give names of models.")
    own: Mapping[str, Mapping[str, Any]] = models if isinstance(models, Mapping) else {}
    if wrong := [name for name, arguments in own.items() if not isinstance(arguments, Mapping)]:
        raise ParameterError(f"models: {shown(wrong[0])} has {shown(own[wrong[0]])}: give a mapping of its parameters.")
    own = {str(name): arguments for name, arguments in own.items()}
    names = [str(name) for name in models]
    if len(names) != len(set(names)):
        raise ParameterError(f"models names {listed(names)}: give each once, or a mapping of names to parameters.")
    if len(names) < 2:
        raise ParameterError(f"compare needs at least two models and got {listed(names) or 'none'}.")
    made: dict[str, tuple[Request, tuple[str, ...]]] = {}
    taken: set[str] = set()
    for name in names:
        arguments = dict(own.get(name, {}))
        spec = find(arguments.pop("model", name))
        given = {word: value for word, value in common.items() if _takes(spec, word)}
        taken |= set(given)
        ladder = spec.tuning_grid[0] if spec.tuning_grid is not None else ()
        tuned = () if budget is None or arguments.keys() & {"max_features", *ladder} else ladder
        if budget is not None and not tuned and "max_features" in spec.parameters:
            given["max_features"] = budget
        given = {word: value for word, value in given.items() if word not in tuned}
        made[name] = Request(bare, spec).changed(**given | arguments), tuned
    if lost := [word for word in common if word not in taken]:
        raise ParameterError(f"compare: none of {listed(names)} uses {listed(lost)}: leave it out.")
    return made


def _settings(request: Request, tuned: tuple[str, ...], budget: int | None) -> str:
    """Return the parameters of a candidate as text."""
    given = [f"{name}={short(str(value))}" for name, value in request.arguments.items() if name in PARAMETERS]
    if tuned:
        many = f"{budget} feature{'' if budget == 1 else 's'}"
        given.append(f"{' = '.join(tuned)} tuned in each fold until at most {many} are selected")
    return ", ".join(given) or "nothing"


def _takes(spec: ModelSpec, word: str) -> bool:
    """Return True if a model uses a parameter of its builder or of ``select``."""
    if word in spec.parameters or word in PARAMETERS:
        return word in spec.parameters
    return spec.runs_solver or (word in inspect.signature(select).parameters and word not in SOLVING)


@dataclass(frozen=True, repr=False, eq=False)
class Comparison(BaseAnswer):
    """Results of several methods on the same folds.

    Attributes
    ----------
    data : Dataset
    settings : dict of str to str
        Name -> parameters of the method, as text.
    runs : pandas.DataFrame
        A row for each method and fold, as in ``fs.cross_validate``; also ``method``; ``fsp_objective``, the objective
        of fsp-m at the selected features on the training samples, with ``C``; ``fsp_error``, the held-out error of the
        linear SVM on these features; ``tuned``, the parameter that was adjusted to the budget; ``failed``, the error of
        a run without a result.
    max_features : int or None
        The budget of features.
    C : float
        Used to compare the selected features.
    folds, planned : int
        Number of folds of one repeat, and of all runs; after Ctrl-C there are fewer.
    note : str
        The number of runs that were read from ``memory``.
    """

    data: Dataset
    settings: dict[str, str]
    runs: pd.DataFrame
    max_features: int | None
    C: float
    folds: int
    planned: int
    note: str = ""

    def table(self) -> pd.DataFrame:
        """Return a frame with a row for each method, the least held-out error first.

        ``error``, ``se``: mean over the folds and its standard error. ``difference``, ``difference_se``: to the first
        row, fold by fold. ``stability``: Nogueira's index. ``proven``: share of the folds that are proven optimal for
        the objective of the method; ``gap``: the median. ``folds``: number with a solution; ``reason``: why others have
        none.
        """
        frame = pd.DataFrame([self._row(name) for name in self.settings], index=pd.Index(self.settings, name="model"))
        fewer = frame["folds"] < frame["folds"].max()  # sorted after methods with all folds
        frame = frame.loc[frame.assign(fewer=fewer).sort_values(["fewer", "error", "n_selected"], kind="stable").index]
        best = frame.index[0] if frame["error"].notna().any() else None
        differences = [self._difference(name, best) for name in frame.index]
        frame.insert(2, "difference", [mean for mean, _ in differences])
        frame.insert(3, "difference_se", [spread for _, spread in differences])
        return frame

    def _of(self, name: str) -> pd.DataFrame:
        """Return the folds of a method with a solution."""
        return self.runs[(self.runs["method"] == name) & self.runs["selected"].notna()]

    def _row(self, name: str) -> dict[str, Any]:
        solved, lost = self._of(name), self.runs[(self.runs["method"] == name) & self.runs["selected"].isna()]
        means = solved[[*MEASURES, *MEANS]].apply(pd.to_numeric).astype(float).mean()
        se = standard_error(solved["error"], self.folds)
        index = stability_index(incidence(solved["selected"], self.data.features))[0] if len(solved) > 1 else None
        reasons = [*lost[FAILED].dropna(), *lost["message"][lost[FAILED].isna()].dropna()]
        return {
            "error": means["error"],
            "se": math.nan if se is None else se,
            **means[[*MEASURES, "training_error", "n_selected"]],
            "stability": math.nan if index is None else index,
            **means[["fsp_objective", "fsp_error"]],
            "proven": (solved["status"] == SolutionStatus.OPTIMAL.value).mean(),
            "gap": pd.to_numeric(solved["gap"]).astype(float).median(),
            "seconds": means["seconds"],
            "folds": len(solved),
            "reason": " ".join(dict.fromkeys(map(str, reasons))),
        }

    def _difference(self, name: str, best: str | None) -> tuple[float, float]:
        """Return the mean difference to the best on the folds that both have, and its standard error."""
        if best is None or name == best:
            return (math.nan if best is None else 0.0), math.nan
        mine, other = (pd.to_numeric(self._of(one).set_index(["repeat", "fold"])["error"]) for one in (name, best))
        apart = (mine - other).dropna()
        mean = float(apart.mean()) if len(apart) else math.nan
        if apart.nunique() == 1 < len(apart):
            return mean, 0.0  # the same difference in all folds, such as 0 for equal selections
        spread = standard_error(apart, self.folds)
        return mean, math.nan if spread is None else spread

    def short(self) -> pd.DataFrame:
        """Return the main columns as text: shares in percent, with standard error or gap in parentheses."""
        full = self.table()
        frame = pd.DataFrame(
            {
                "Error % (se)": map(_percents, full["error"], full["se"]),
                "Behind % (se)": map(_percents, full["difference"], full["difference_se"]),
                **{title: ["" if pd.isna(x) else form.format(x) for x in full[name]] for name, title, form in SHORT},
                "Proven % (gap)": map(_percents, full["proven"], full["gap"].where(full["proven"] < 1)),
            },
            index=full.index.rename("Model"),
        )
        return frame.assign(Folds=full["folds"].astype(str)) if full["folds"].nunique() > 1 else frame

    @property
    def sentence(self) -> str:
        """The result in a few sentences."""
        frame = self.table()
        count = self.planned // len(self.settings)
        splits = f"{count} folds" + (f" of {count // self.folds} repeats" if count > self.folds else "")
        text = f"{len(frame)} models on {self.data.name}, over the same {splits}"
        if frame["error"].isna().all():
            return f"{text}: none has a solution. {self._reservations(frame)}".strip()
        first = frame.iloc[0]
        text += f": {frame.index[0]} has the least held-out error, {error_in_words(first['error'], first['se'])}"
        near = frame[(frame["difference"] <= frame["difference_se"]) & (frame.index != frame.index[0])]
        if len(near):
            text += f"; within one standard error of the difference: {listed(near.index)}"
        fitting = frame if self.max_features is None else frame[frame["n_selected"] <= self.max_features]
        values = fitting["fsp_objective"].dropna()
        if len(values) > 1:
            equal = values[values <= values.min() + TIE * abs(values.min())].index
            best = fitting.loc[equal, "proven"].idxmax()  # of several, one with proofs
            text += f". By the objective of fsp-m at C = {self.C:g} {best} has the best features"
            if others := [name for name in equal if name != best]:
                text += f", and {listed(others)} equal ones"
        return f"{text}. {self._reservations(frame)}".strip()

    def _reservations(self, frame: pd.DataFrame) -> str:
        cut = len(self.runs) < self.planned
        texts = [f"Interrupted after {len(self.runs)} of {self.planned} runs."] if cut else []
        over = [] if self.max_features is None else frame.index[frame["n_selected"] > self.max_features]
        if len(over):
            texts.append(f"More than {self.max_features} features: {listed(over)}.")
        for name, row in frame.iterrows():
            count = int((self.runs["method"] == name).sum()) - int(row["folds"])
            if count:
                texts.append(f"{name} has no result on {count} fold{'' if count == 1 else 's'}: {row['reason']}")
            if note := boundary_note(int(self._of(str(name))["on_boundary"].sum())):
                texts.append(f"{name}: {note}")
        return " ".join([*texts, *([self.note] if self.note else [])])

    @property
    def given(self) -> list[str]:
        """The parameters of each model, one line per model."""
        return [f"{name}: {settings}" for name, settings in self.settings.items()]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the held-out error of each model, with one standard error, against the number of features."""
        from fsmodels.selection.pictures import draw_comparison

        return draw_comparison(self, ax)

    def _content(self) -> dict[str, Any]:
        return {
            "question": "compare",
            "data": self.data.name,
            "max_features": self.max_features,
            "C": self.C,
            "folds": self.folds,
            "planned": self.planned,
            "settings": self.settings,
            "models": self.table().reset_index().astype(object).to_dict("records"),
            "runs": self.runs.astype(object).where(self.runs.notna(), None).to_dict("records"),
        }

    def __repr__(self) -> str:
        return "\n".join([super().__repr__(), *self.given])

    def _repr_html_(self) -> str:
        return super()._repr_html_() + html.paragraph("\n".join(self.given))


@renamed("checkpoint", "memory=DIR is a folder for the finished folds")
def compare(
    data: Dataset,
    models: Iterable[str] | Mapping[str, Mapping[str, Any]] = COMPARED,
    *,
    max_features: int | None = BUDGET,
    C: float = 1.0,
    cv: Any = 5,
    repeats: int = 1,
    seed: int = 0,
    n_jobs: int | None = None,
    memory: str | Path | joblib.Memory | None = None,
    progress: bool = False,
    cancel: Cancel | None = None,
    **arguments: Any,
) -> Comparison:
    """Compare several models on the same folds, and evaluate all selected sets of features by one objective.

    Parameters
    ----------
    data : Dataset
    models : names, or mapping name -> parameters
        A mapping gives parameters of ``select``: ``{"mine": {"model": "fsp-m", "max_features": 3}, "rfe": {}}``; the
        name is the model if no other is given.
    max_features : int or None
        The budget of features, passed to models with such a parameter. Others are tuned in each fold, on the training
        samples, to the loosest value with no more features: C of one-norm-svm, the penalty of fs, fsl, fsv, fss, fsb,
        obd, fsp-lambda and the kernel models, R+ = R- of the gmeb family. svm and robust-lp use all features. A model
        for which this parameter is given is not tuned; with None no model is.
    C : float
        Passed to the models that use it, and used to compare the selected features.
    cv, repeats, seed, n_jobs, memory, progress, cancel
        As in ``cross_validate``.
    **arguments
        As in ``select``, for each model that uses them; ``time_limit`` is for each fold of each model.

    Returns
    -------
    Comparison
        A model that fails is a row with a reason. After Ctrl-C with the runs finished by then.

    Raises
    ------
    ParameterError
        The models, the folds, or a parameter that no model uses.

    Examples
    --------
    >>> import fsmodels as fs
    >>> found = fs.compare(fs.load_dataset("cleveland"), ["rfe", "information-gain"], max_features=3)
    >>> found.table()[["error", "n_selected"]].round(3).to_dict("index")["rfe"]
    {'error': 0.195, 'n_selected': 3.0}
    """
    with interrupt.run(cancel), watching.shown(progress):
        folds = Folds(cv, repeats, seed, n_jobs, memory)
        return compare_on(data, models, arguments, folds, max_features=max_features, C=C)


def compare_on(
    data: Dataset,
    models: Iterable[str] | Mapping[str, Mapping[str, Any]],
    arguments: Mapping[str, Any],
    folds: Folds,
    *,
    max_features: int | None,
    C: float = 1.0,
) -> Comparison:
    """Compare models on folds; ``arguments`` are parameters of ``select`` and may contain the seed of the solvers."""
    check_repeatable("compare", arguments)
    of_samples = {name: arguments[name] for name in (*WEIGHTS, "fair") if name in arguments}
    whole = Request.of(data, **of_samples)
    raw, common = whole.data, {**arguments, **whole.rows}
    if max_features is not None:
        max_features = feature_count(max_features, raw.n_features)
    C = positive("C", C, C_MEANING)
    common = {name: value for name, value in common.items() if not is_default(name, value) and name not in WEIGHTS}
    methods = candidates(models, {"C": C, **common}, max_features, whole.without_samples.data)
    parts = folds.parts(raw)
    # Fold by fold, so that after Ctrl-C all models have about the same number of folds.
    runs = [Candidate(request, part, tuned, max_features, C) for part in parts for request, tuned in methods.values()]
    rows = folds.rows(runs, "run")
    size = len(parts) // folds.repeats
    places = [(name, k // size + 1, k % size + 1) for k in range(len(parts)) for name in methods]
    empty = dict.fromkeys((*MEASURES, *COLUMNS))
    pairs = [(place, row) for place, row in zip(places, rows, strict=True) if row is not None]
    frame = pd.DataFrame([{"method": m, "repeat": r, "fold": f, **empty, **row} for (m, r, f), row in pairs])
    frame["selected"] = frame["selected"].astype(object).where(frame["selected"].notna(), None)
    settings = {name: _settings(*method, max_features) for name, method in methods.items()}
    return Comparison(raw, settings, frame, max_features, C, size, len(rows), folds.note)


def _percents(share: float, other: float) -> str:
    """Return a share in percent, with another one in parentheses; without those that are nan."""
    return ("" if math.isnan(share) else f"{100 * share:.1f}") + ("" if math.isnan(other) else f" ({100 * other:.1f})")
