"""Several methods on the same folds: errors with paired differences, and every support judged by the same objective.

With d_i the error of a method less that of the best on fold i, the mean difference has the standard error
s_d / sqrt(k), as in ``cross_validation``: what the folds have in common cancels, so that it says more than two errors
with their own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fsmodels.checks import feature_count, positive, renamed
from fsmodels.datasets.dataset import Dataset
from fsmodels.evaluation.contender import Contender, contenders
from fsmodels.evaluation.cross_validation import standard_error
from fsmodels.evaluation.fold_run import FAILED, FoldRunner, parts_of, raw_and_words
from fsmodels.evaluation.stability import stability_index
from fsmodels.models.svm import C_MEANING
from fsmodels.selection.report import as_json, boundary_note
from fsmodels.words import listed
from solvers import SolutionStatus, html
from solvers import progress as watching

if TYPE_CHECKING:
    import joblib
    from matplotlib.axes import Axes


MODELS = ("fsp-m", "fsv", "gmeb", "rfe", "one-norm-svm", "relief")
BUDGET = 5  # features
MEANS = (
    "error",
    "balanced_error",
    "f1",
    "auc",
    "training_error",
    "n_selected",
    "fsp_objective",
    "fsp_error",
    "seconds",
)


@dataclass(frozen=True, repr=False, eq=False)
class Comparison:
    """Methods on the same folds.

    Attributes
    ----------
    data : Dataset
    settings : dict of str to str
        Name -> what the method was given, in words.
    runs : pandas.DataFrame
        A row a method and fold, as of ``fs.cross_validate``; besides ``method``; ``fsp_objective``, what fsp-m would
        pay for the selected features on the samples learnt from, at ``C``; ``fsp_error``, the held-out error of the
        linear SVM on these features; ``tuned``, the parameter that was turned to meet the budget; ``failed``, why there
        is nothing.
    max_features : int or None
        The budget of features.
    C : float
        At which supports are compared.
    folds, planned : int
        Folds of one repeat, and runs of all; after Ctrl-C there are fewer.
    note : str
        How many runs were read from ``memory``.
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
        """Return a frame with a row a method, the least held-out error first.

        ``error``, ``se``: mean over the folds and its standard error. ``difference``, ``difference_se``: to the first
        row, fold by fold. ``stability``: Nogueira's index. ``proven``: share of the folds that are proven optimal, each
        for the method's own objective; ``gap``: the median. ``folds``: with a solution. ``reason``: of those without.
        """
        rows = [self._row(name) for name in self.settings]
        frame = pd.DataFrame(rows, index=pd.Index(list(self.settings), name="model"))
        order = frame.assign(lost=self._whole(frame)).sort_values(["lost", "error", "n_selected"], kind="stable").index
        frame = frame.loc[order]
        best = frame.index[0] if frame["error"].notna().any() else None
        differences = [self._difference(name, best) for name in frame.index]
        frame.insert(2, "difference", [mean for mean, _ in differences])
        frame.insert(3, "difference_se", [spread for _, spread in differences])
        return frame

    def _whole(self, frame: pd.DataFrame) -> pd.Series:
        """Tell which methods lack folds: they are compared on fewer, and come after the others."""
        return frame["folds"] < frame["folds"].max()

    def _of(self, name: str) -> pd.DataFrame:
        mine = self.runs[self.runs["method"] == name]
        return mine[mine["selected"].notna()]

    def _row(self, name: str) -> dict[str, Any]:
        mine, all_ = self._of(name), self.runs[self.runs["method"] == name]
        means = {key: _mean(mine[key]) for key in MEANS}
        se = standard_error(mine["error"], self.folds)
        chosen = [[one in set(names) for one in self.data.features] for names in mine["selected"]]
        index = stability_index(chosen)[0] if len(chosen) > 1 else None
        gaps = pd.to_numeric(mine["gap"]).dropna()
        reasons = dict.fromkeys(all_[FAILED].dropna())
        reasons |= dict.fromkeys(all_["message"][all_["selected"].isna() & all_[FAILED].isna()].dropna())
        return {
            "error": means.pop("error"),
            "se": math.nan if se is None else se,
            **{key: means[key] for key in ("balanced_error", "f1", "auc", "training_error", "n_selected")},
            "stability": math.nan if index is None else index,
            "fsp_objective": means["fsp_objective"],
            "fsp_error": means["fsp_error"],
            "proven": _mean(mine["status"] == SolutionStatus.OPTIMAL.value),
            "gap": float(gaps.median()) if len(gaps) else math.nan,
            "seconds": means["seconds"],
            "folds": len(mine),
            "reason": " ".join(str(text) for text in reasons),
        }

    def _difference(self, name: str, best: Any) -> tuple[float, float]:
        """Return the mean difference to the best on the folds that both have, and its standard error."""
        if best is None or name == best:
            return (math.nan if best is None else 0.0), math.nan
        mine, other = (self._of(one).set_index(["repeat", "fold"])["error"] for one in (name, best))
        apart = (pd.to_numeric(mine) - pd.to_numeric(other)).dropna()
        if apart.nunique() == 1 < len(apart):
            return _mean(apart), 0.0  # the same difference in all folds, as of two methods that select the same
        spread = standard_error(apart, self.folds)
        return _mean(apart), math.nan if spread is None else spread

    def short(self) -> pd.DataFrame:
        """Return a frame that fits on a page: errors in percent."""
        full = self.table()
        names = {"error": "error %", "se": "se", "difference": "behind %", "difference_se": "se of it"}
        frame = full[list(names)].mul(100.0).rename(columns=names).map("{:.1f}".format)
        frame["balanced %"] = (100 * full["balanced_error"]).map("{:.1f}".format)
        frame["features"] = full["n_selected"].map("{:.1f}".format)
        frame["stability"] = full["stability"].map("{:.2f}".format)
        frame["FSP objective"] = full["fsp_objective"].map("{:.5g}".format)
        frame["SVM there %"] = (100 * full["fsp_error"]).map("{:.1f}".format)
        frame["proven"] = (100 * full["proven"]).map("{:.0f}%".format)
        frame["gap"] = [f"{100 * gap:.2g}%" if gap > 5e-7 else "0%" if gap == gap else "" for gap in full["gap"]]
        frame["s/fold"] = full["seconds"].map("{:.2f}".format)
        if full["folds"].nunique() > 1:
            frame["folds"] = full["folds"].astype(str)
        return frame.replace({"nan": "", "nan%": ""})

    @property
    def sentence(self) -> str:
        """What came out, in a few sentences."""
        frame = self.table()
        said = f"{len(frame)} models on {self.data.name}, over the same {self._splits}"
        if frame["error"].isna().all():
            return f"{said}: none has a solution. {self._reservations(frame)}".strip()
        first = frame.iloc[0]
        said += f": {frame.index[0]} has the least held-out error, {_percent(first['error'], first['se'])}"
        near = frame[(frame["difference"] <= frame["difference_se"]) & (frame.index != frame.index[0])]
        if len(near):
            said += f"; within one standard error of the difference: {listed(near.index)}"
        fitting = frame if self.max_features is None else frame[frame["n_selected"] <= self.max_features]
        values = fitting["fsp_objective"].dropna()
        if len(values) > 1:
            said += f". By the objective of fsp-m at C = {self.C:g} {values.idxmin()} has the best features"
        return f"{said}. {self._reservations(frame)}".strip()

    @property
    def _splits(self) -> str:
        count, repeats = self.planned // len(self.settings), self.planned // len(self.settings) // self.folds
        return f"{count} folds" + (f" of {repeats} repeats" if repeats > 1 else "")

    def _reservations(self, frame: pd.DataFrame) -> str:
        said = [f"Stopped by Ctrl-C after {len(self.runs)} of {self.planned} runs."] if self._is_cut else []
        over = [] if self.max_features is None else frame.index[frame["n_selected"] > self.max_features]
        if len(over):
            said.append(f"More than {self.max_features} features: {listed(over)}.")
        for name, row in frame.iterrows():
            count = int((self.runs["method"] == name).sum()) - int(row["folds"])
            if count:
                said.append(f"{name} has no answer on {count} fold{'' if count == 1 else 's'}: {row['reason']}")
            if note := boundary_note(int(self._of(str(name))["on_boundary"].sum())):
                said.append(f"{name}: {note}")
        return " ".join([*said, *([self.note] if self.note else [])])

    @property
    def _is_cut(self) -> bool:
        return len(self.runs) < self.planned

    @property
    def given(self) -> list[str]:
        """What each model was given, a line each."""
        return [f"{name}: {told}" for name, told in self.settings.items()]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the held-out error, with one standard error, against the number of features; a point a model."""
        from fsmodels.selection.pictures import draw_comparison

        return draw_comparison(self, ax)

    def to_dict(self) -> dict[str, Any]:
        """Return the content of a JSON file: the sentence, a row a model, and every fold."""
        told = {
            "question": "compare",
            "data": self.data.name,
            "sentence": self.sentence,
            "max_features": self.max_features,
            "C": self.C,
            "folds": self.folds,
            "planned": self.planned,
            "settings": self.settings,
            "models": self.table().reset_index().astype(object).to_dict("records"),
            "runs": self.runs.astype(object).where(self.runs.notna(), None).to_dict("records"),
        }
        plain: dict[str, Any] = as_json(told)
        return plain

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return "\n".join([self.sentence, self.short().to_string(), *self.given])

    def _repr_html_(self) -> str:
        given = html.paragraph("\n".join(self.given)) if self.given else ""
        return html.paragraph(self.sentence) + html.frame(self.short()) + given


@renamed("checkpoint", "memory=DIR is a folder for the finished folds")
def compare(
    data: Dataset,
    models: Iterable[str] | Mapping[str, Mapping[str, Any]] = MODELS,
    *,
    max_features: int | None = BUDGET,
    C: float = 1.0,
    cv: Any = 5,
    repeats: int = 1,
    seed: int = 0,
    n_jobs: int | None = None,
    memory: str | Path | joblib.Memory | None = None,
    progress: bool = False,
    **words: Any,
) -> Comparison:
    """Judge several models on the same folds, each on its own terms and all supports by one objective.

    Parameters
    ----------
    data : Dataset
    models : names, or mapping name -> words
        A mapping gives words of ``select`` to each: ``{"mine": {"model": "fsp-m", "max_features": 3}, "rfe": {}}``; the
        model is that of the name where no other is given.
    max_features : int or None
        The budget of features. Models with such a parameter get it. Of one-norm-svm C, of fs, fsl, fsv, fss, fsb, obd,
        fsp-lambda and the kernels the penalty, of the gmeb family R+ = R- is turned in each fold, on the samples learnt
        from, to the loosest value with no more features. svm and robust-lp use all. A model whose own words say
        otherwise is left alone; with None all are.
    C : float
        Given to the models that use it, and the one at which supports are compared.
    cv, repeats, seed, n_jobs, memory, progress
        As in ``cross_validate``.
    **words
        As in ``select``, for each model that takes them; ``time_limit`` is for each fold of each model.

    Returns
    -------
    Comparison
        A model that fails is a row with its reason. After Ctrl-C of the runs finished until then.

    Raises
    ------
    ParameterError
        The models, the folds, or a word that no model takes.

    Examples
    --------
    >>> import fsmodels as fs
    >>> found = fs.compare(fs.load_dataset("cleveland"), ["rfe", "information-gain"], max_features=3)
    >>> found.table()[["error", "n_selected"]].round(3).to_dict("index")["rfe"]
    {'error': 0.195, 'n_selected': 3.0}
    """
    with watching.shown(progress):
        return among(
            data, models, words, max_features=max_features, C=C, cv=cv, repeats=repeats, seed=seed, n_jobs=n_jobs,
            memory=memory,
        )  # fmt: skip


def among(
    data: Dataset,
    models: Iterable[str] | Mapping[str, Mapping[str, Any]],
    words: Mapping[str, Any],
    *,
    max_features: int | None,
    C: float = 1.0,
    cv: Any = 5,
    repeats: int = 1,
    seed: int = 0,
    n_jobs: int | None = None,
    memory: str | Path | joblib.Memory | None = None,
) -> Comparison:
    """Do what ``compare`` says; ``words`` may have a seed of the solvers."""
    raw, given = raw_and_words("compare", data, words)
    if max_features is not None:
        max_features = feature_count(max_features, raw.n_features)
    price = positive("C", C, C_MEANING)
    entrants = contenders(models, {"C": price, **given}, max_features)
    parts = parts_of(raw, cv, repeats, seed)
    runner = FoldRunner(n_jobs, memory)
    # fold by fold, so that Ctrl-C leaves all models with about as many
    rows = runner.rows([one.on(part, price) for part in parts for one in entrants], "run")
    return _put_together(raw, entrants, rows, max_features, price, len(parts) // repeats, runner.note)


def _put_together(
    data: Dataset,
    entrants: list[Contender],
    rows: list[dict[str, Any] | None],
    budget: int | None,
    C: float,
    folds: int,
    note: str,
) -> Comparison:
    told = []
    for k, row in enumerate(rows):
        if row is not None:
            fold, method = divmod(k, len(entrants))
            place = {"method": entrants[method].name, "repeat": fold // folds + 1, "fold": fold % folds + 1}
            told.append({**place, **dict.fromkeys(COLUMNS), **row})
    frame = pd.DataFrame(told)
    frame["selected"] = frame["selected"].astype(object).where(frame["selected"].notna(), None)
    settings = {one.name: one.settings for one in entrants}
    return Comparison(data, settings, frame, budget, C, folds, len(rows), note)


SOLVE = ("objective", "bound", "gap", "status", "stop_reason", "message")
COLUMNS = (*MEANS, "on_boundary", "selected", *SOLVE, "tuned", FAILED)


def _mean(values: Any) -> float:
    numbers = pd.to_numeric(values).dropna()
    return float(np.mean(numbers)) if len(numbers) else math.nan


def _percent(error: float, se: float) -> str:
    return f"{100 * error:.1f}%" + ("" if math.isnan(se) else f" (standard error {100 * se:.1f})")
