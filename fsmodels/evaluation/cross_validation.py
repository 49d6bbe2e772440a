r"""The error of a selection method on samples that it has not seen, by folds, with everything inside the folds.

With e_1, ..., e_n the errors of the n folds (k of them a repeat), their mean estimates the error of the method learnt
from 1 - 1/k of the samples, and

.. math:: se = \frac{s}{\sqrt k}, \qquad s^2 = \frac1{n-1} \sum_i (e_i - \bar e)^2,

is its standard error. Repeats divide the same samples anew: they make the mean steadier, but there is not more to learn
from, so k is the number of folds of one repeat. Folds share most of the samples they learn from, so that se is a guide
and no guarantee: an estimate without bias does not exist (Bengio, Grandvalet 2004, JMLR 5).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fsmodels.checks import renamed
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import ModelError
from fsmodels.evaluation.fold_run import MEASURES, FoldRun, FoldRunner, parts_of, raw_and_words
from fsmodels.evaluation.stability import stability_index
from fsmodels.selection.recipes import find
from fsmodels.selection.report import as_json, boundary_note, percent
from fsmodels.words import listed
from solvers import SolutionStatus, html
from solvers import progress as watching

if TYPE_CHECKING:
    import joblib
    from matplotlib.axes import Axes


SUMMARY = (*MEASURES, "training_error", "gap", "n_selected", "seconds")


@dataclass(frozen=True, repr=False, eq=False)
class CrossValidated:
    """Held-out errors of a selection method.

    Attributes
    ----------
    model : str
    data : Dataset
        All samples, of which each fold leaves some out.
    words : dict
        What ``select`` was given besides.
    runs : pandas.DataFrame
        A row a fold: ``repeat``, ``fold``, ``n_train``, ``n_held_out``, ``error``, ``balanced_error``, ``f1``, ``auc``,
        ``on_boundary`` (samples held out with a decision of 0, which count as class -1), ``confusion`` (samples held
        out by true class, rows, and predicted class, columns; class +1 first), ``training_error``,
        ``n_selected``, ``selected``, ``objective``, ``bound``, ``gap``, ``status``, ``stop_reason``, ``seconds``,
        ``message``. Folds without a solution have no say in what follows.
    index : float or None
        Nogueira's index of stability over the folds, as in ``fs.stability``; None where it is not defined.
    interval : (float, float) or None
        That of the index, at 95%.
    folds, planned : int
        Folds of one repeat, and of all; after Ctrl-C there are fewer.
    note : str
        How many folds were read from ``memory``.
    """

    model: str
    data: Dataset
    words: dict[str, Any]
    runs: pd.DataFrame
    index: float | None
    interval: tuple[float, float] | None
    folds: int
    planned: int
    note: str = ""

    @property
    def error(self) -> float:
        """The mean share of wrong labels on samples held out."""
        return float(self.summary().loc["error", "mean"])

    @property
    def standard_error(self) -> float | None:
        """Of ``error``: the deviation over the folds, divided by the root of their number in one repeat."""
        return standard_error(self._solved["error"], self.folds)

    @property
    def _solved(self) -> pd.DataFrame:
        return self.runs[self.runs["selected"].notna()]

    @property
    def frequency(self) -> pd.Series:
        """The share of the folds that select a feature, in the order of the data."""
        chosen = [set(names) for names in self._solved["selected"]]
        shares = [float(np.mean([name in names for names in chosen])) for name in self.data.features]
        return pd.Series(shares, pd.Index(self.data.features, name="feature"), name="frequency")

    @property
    def confusion(self) -> pd.DataFrame:
        """The number of samples held out in all folds, by true class (rows) and predicted class (columns)."""
        positive, negative = self.data.positive_label, self.data.negative_label
        labels = [str(positive), f"not {positive}" if isinstance(negative, tuple) else str(negative)]
        counts = np.sum(self._solved["confusion"].dropna().tolist(), axis=0)
        columns = [f"predicted {label}" for label in labels]
        return pd.DataFrame(counts, index=pd.Index(labels, name="true class"), columns=columns)

    def table(self) -> pd.DataFrame:
        """Return a frame with a row a fold."""
        return self.runs.set_index(["repeat", "fold"] if self.planned > self.folds else "fold").drop(
            columns=["repeat"] if self.planned == self.folds else []
        )

    def summary(self) -> pd.DataFrame:
        """Return a frame with a row a measure: mean, standard error ``se``, least and most over the folds."""
        rows = {}
        for name in SUMMARY:
            values = pd.to_numeric(self._solved[name]).dropna()
            se = standard_error(values, self.folds)
            nothing = not len(values)
            rows[name] = {
                "mean": math.nan if nothing else float(values.mean()),
                "se": math.nan if se is None else se,
                "least": math.nan if nothing else float(values.min()),
                "most": math.nan if nothing else float(values.max()),
            }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("measure")

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the error of each fold against the number of features there, and the mean with one standard error."""
        from fsmodels.selection.pictures import draw_folds

        return draw_folds(self, ax)

    @property
    def sentence(self) -> str:
        """What came out, in a few sentences."""
        solved = self._solved
        said = f"{self.model} on {self.data.name}: held-out error {self.in_words}, over {self._over}"
        training = pd.to_numeric(solved["training_error"]).mean()
        said += f"; on the samples learnt from {percent(float(training))}. "
        sizes = sorted(set(solved["n_selected"].astype(int)))
        many = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
        said += f"{many} feature{'' if sizes[-1] == 1 else 's'} a fold"
        always = [name for name, share in self.frequency.items() if share == 1.0]
        if len(solved) > 1:
            said += f"; in every fold: {listed(always)}" if always else "; none in every fold"
        said += "." if self.index is None else f". Stability {self.index:.2f}."
        return said + self.reservations

    @property
    def in_words(self) -> str:
        """The held-out error with its standard error."""
        se = self.standard_error
        return f"{100 * self.error:.1f}%" + ("" if se is None else f" (standard error {100 * se:.1f})")

    @property
    def _over(self) -> str:
        count, repeats = len(self._solved), -(-self.planned // self.folds)
        return f"{count} folds" if repeats == 1 else f"{count} folds of {repeats} repeats"

    @property
    def reservations(self) -> str:
        """Words on folds that are missing, have no solution, or no proof; nothing where all is well."""
        said = f" Stopped by Ctrl-C after {len(self.runs)} of {self.planned} folds." if self._is_cut else ""
        note = boundary_note(int(self._solved["on_boundary"].sum()))
        said += f" Held out: {note}" if note else ""
        lost = len(self.runs) - len(self._solved)
        if lost:
            reasons = listed(dict.fromkeys(str(text) for text in self.runs["message"][self.runs["selected"].isna()]), 2)
            folds = "1 fold ended without a solution and does" if lost == 1 else f"{lost} folds without a solution do"
            said += f" {folds} not count: {reasons or 'no time was left.'}"
        if find(self.model).runs_solver:
            open_ = self._solved[self._solved["status"] != SolutionStatus.OPTIMAL.value]
            gaps = pd.to_numeric(open_["gap"]).dropna()
            worst = f", with gaps up to {percent(float(gaps.max()))}" if len(gaps) else ""
            some = "1 fold is" if len(open_) == 1 else f"{len(open_)} folds are"
            said += f" {some} not proven optimal{worst}." if len(open_) else ""
        return said + (f" {self.note}" if self.note else "")

    @property
    def _is_cut(self) -> bool:
        return len(self.runs) < self.planned

    def to_dict(self) -> dict[str, Any]:
        """Return the content of a JSON file: the sentence, the summary, features with their frequency, folds."""
        told = {
            "question": "cross-validate",
            "model": self.model,
            "data": self.data.name,
            "words": self.words,
            "sentence": self.sentence,
            "error": self.error,
            "standard_error": self.standard_error,
            "folds": self.folds,
            "planned": self.planned,
            "summary": self.summary().to_dict("index"),
            "stability": {"index": self.index, "interval": self.interval, "level": 0.95},
            "frequency": self.frequency[self.frequency > 0].to_dict(),
            "runs": self.runs.astype(object).to_dict("records"),
        }
        plain: dict[str, Any] = as_json(told)
        return plain

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return f"{self.sentence}\n{self.summary().round(4).to_string()}"

    def _repr_html_(self) -> str:
        return html.paragraph(self.sentence) + html.frame(self.summary().round(4))


@renamed("checkpoint", "memory=DIR is a folder for the finished folds")
def cross_validate(
    data: Dataset,
    model: str = "fsp-m",
    *,
    cv: Any = 5,
    repeats: int = 1,
    seed: int = 0,
    n_jobs: int | None = None,
    memory: str | Path | joblib.Memory | None = None,
    progress: bool = False,
    **words: Any,
) -> CrossValidated:
    """Select on folds, and report what the selections decide about the samples that each fold leaves out.

    Scaling, products of features and whatever else is learnt from samples is learnt inside each fold. If you tried
    several values of a parameter and kept the best, this error is too small: ``fs.choose`` has the choice inside.

    Parameters
    ----------
    data : Dataset
    model : str
        As in ``select``.
    cv : int, splitter of scikit-learn, or pairs of rows
        A number is of folds drawn at random with the classes in proportion.
    repeats : int
        How often the samples are divided into ``cv`` folds anew, with the seeds ``seed``, ``seed + 1``, ...
    seed : int
        Of the folds.
    n_jobs : int, optional
        Workers, by joblib; the answers do not depend on it. By default one, or those of ``joblib.parallel_config``,
        such as a Dask or Ray cluster.
    memory : str, Path or joblib.Memory, optional
        A folder for the finished folds. The same call after an interruption reads them and computes the others. Folds
        of other data, parameters or versions in the folder are not used. joblib unpickles the files of the folder: use
        a folder of your own.
    progress : bool
        Show which fold is on, and how it stands.
    **words
        As in ``select``; ``time_limit`` is for each fold.

    Returns
    -------
    CrossValidated
        After Ctrl-C of the folds finished until then.

    Raises
    ------
    ParameterError
        The folds, ``n_jobs`` or ``memory``; a word that has no meaning in many runs.
    ModelError
        No fold has a solution.
    DataError, SolverError, OptionError
        As ``select`` does.

    Examples
    --------
    >>> import fsmodels as fs
    >>> found = fs.cross_validate(fs.load_dataset("wdbc"), "rfe", max_features=3)
    >>> print(f"{found.error:.3f}, standard error {found.standard_error:.3f}")
    0.067, standard error 0.022
    """
    with watching.shown(progress):
        return over_folds(data, model, words, cv=cv, repeats=repeats, seed=seed, n_jobs=n_jobs, memory=memory)


def over_folds(
    data: Dataset,
    model: str,
    words: Mapping[str, Any],
    *,
    cv: Any,
    repeats: int = 1,
    seed: int = 0,
    n_jobs: int | None = None,
    memory: str | Path | joblib.Memory | None = None,
) -> CrossValidated:
    """Do what ``cross_validate`` says; ``words`` may have a seed of the solver."""
    find(model)
    raw, given = raw_and_words("cross_validate", data, words)
    parts = parts_of(raw, cv, repeats, seed)
    runner = FoldRunner(n_jobs, memory)
    rows = runner.rows([FoldRun(model, given, part) for part in parts])
    return summed_up(model, raw, given, rows, len(parts) // repeats, runner.note)


def summed_up(
    model: str, data: Dataset, words: dict[str, Any], rows: list[dict[str, Any] | None], folds: int, note: str
) -> CrossValidated:
    """Put the folds together, of which some may be missing."""
    runs = pd.DataFrame(
        [{"repeat": k // folds + 1, "fold": k % folds + 1, **row} for k, row in enumerate(rows) if row is not None]
    )
    chosen = [set(names) for names in runs["selected"] if names is not None]
    if not chosen:
        raise ModelError(f"No fold has a solution: {next(iter(runs['message']), '') or 'give more time (time_limit=)'}")
    index, interval = None, None
    if len(chosen) > 1:
        index, interval = stability_index([[name in names for name in data.features] for names in chosen])
    return CrossValidated(model, data, words, runs, index, interval, folds, len(rows), note)


def standard_error(values: Any, folds: int) -> float | None:
    """Return the standard error of a mean over folds of which ``folds`` are one repeat.

    None of fewer than two, and where all are equal: a deviation of 0 is no estimate of the error.
    """
    numbers = pd.to_numeric(pd.Series(values)).dropna()
    if numbers.nunique() < 2:
        return None
    return float(numbers.std(ddof=1) / math.sqrt(min(folds, len(numbers))))
