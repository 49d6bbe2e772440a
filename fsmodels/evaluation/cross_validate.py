r"""Held-out error of a selection method by cross-validation, with every step inside the folds.

With e_1, ..., e_n the errors of the n folds (k of them a repeat), their mean estimates the error of the method trained
on 1 - 1/k of the samples, and

.. math:: se = \frac{s}{\sqrt k}, \qquad s^2 = \frac1{n-1} \sum_i (e_i - \bar e)^2,

is its standard error. Repeats divide the same samples again: they make the mean more stable, but add no samples, so k
is the number of folds of one repeat. Folds share most of their training samples, so se is approximate: an unbiased
estimate does not exist (Bengio, Grandvalet 2004, JMLR 5).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fsmodels.checks import renamed
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import ModelError
from fsmodels.evaluation.folds import (
    MEASURES,
    FoldRun,
    Folds,
    check_repeatable,
    confusion_table,
    incidence,
    limitations,
    standard_error,
)
from fsmodels.evaluation.stability import stability_index
from fsmodels.selection.report import BaseAnswer, boundary_note, number, percent
from fsmodels.selection.request import Request
from fsmodels.text import listed
from solvers import interrupt
from solvers import progress as watching
from solvers.interrupt import Cancel

if TYPE_CHECKING:
    import joblib
    from matplotlib.axes import Axes


@dataclass(frozen=True, repr=False, eq=False)
class CrossValidated(BaseAnswer):
    """Held-out errors of a selection method.

    Attributes
    ----------
    model : str
    data : Dataset
        All samples.
    words : dict
        The other parameters of ``select``.
    runs : pandas.DataFrame
        A row for each fold: ``repeat``, ``fold``, ``n_train``, ``n_held_out``, ``error``, ``balanced_error``, ``f1``,
        ``auc``, ``on_boundary`` (held-out samples with a decision of 0, which count as class -1), ``confusion``
        (held-out samples by true class, rows, and predicted class, columns; class +1 first), ``training_error``,
        ``n_selected``, ``selected``, ``objective``, ``bound``, ``gap``, ``status``, ``stop_reason``, ``seconds``,
        ``message``. Summaries ignore folds without a solution.
    index : float or None
        Nogueira's index of stability over the folds, as in ``fs.stability``; None if it is not defined.
    interval : (float, float) or None
        Of the index, at 95%.
    folds, planned : int
        Number of folds of one repeat, and of all; after Ctrl-C there are fewer.
    note : str
        The number of folds that were read from ``memory``.
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
        """The mean share of wrong labels of held-out samples."""
        return float(self.summary().loc["error", "mean"])

    @property
    def standard_error(self) -> float | None:
        """The standard deviation of ``error`` over the folds, divided by the root of their number in one repeat."""
        return standard_error(self._solved["error"], self.folds)

    @property
    def _solved(self) -> pd.DataFrame:
        return self.runs[self.runs["selected"].notna()]

    @property
    def frequency(self) -> pd.Series:
        """The share of the folds that select a feature, in the order of the data."""
        return incidence(self._solved["selected"], self.data.features).mean().rename("frequency")

    @property
    def confusion(self) -> pd.DataFrame:
        """The number of held-out samples in all folds, by true class (rows) and predicted class (columns)."""
        return confusion_table(np.sum(self._solved["confusion"].dropna().tolist(), axis=0), self.data.classes)

    def table(self) -> pd.DataFrame:
        """Return a frame with a row for each fold."""
        if self.planned > self.folds:
            return self.runs.set_index(["repeat", "fold"])
        return self.runs.set_index("fold").drop(columns="repeat")

    def summary(self) -> pd.DataFrame:
        """Return a frame with a row for each measure: mean, standard error ``se``, least and most over the folds."""
        names = [*MEASURES, "training_error", "gap", "n_selected", "seconds"]
        values = self._solved[names].apply(pd.to_numeric).astype(float)
        errors = [standard_error(values[name], self.folds) for name in names]
        frame = pd.DataFrame({"mean": values.mean(), "se": errors, "least": values.min(), "most": values.max()})
        return frame.astype(float).rename_axis("measure")

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the error of each fold against the number of features there, and the mean with one standard error."""
        from fsmodels.selection.pictures import draw_folds

        return draw_folds(self, ax)

    @property
    def sentence(self) -> str:
        """The result in a few sentences."""
        solved, repeats = self._solved, -(-self.planned // self.folds)
        over = f"{len(solved)} folds" if repeats == 1 else f"{len(solved)} folds of {repeats} repeats"
        text = f"{self.model} on {self.data.name}: held-out error {self.in_words}, over {over}"
        text += f"; training error {percent(float(pd.to_numeric(solved['training_error']).mean()))}. "
        sizes = sorted(set(solved["n_selected"].astype(int)))
        many = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
        text += f"{many} feature{'' if sizes[-1] == 1 else 's'} per fold"
        always = [name for name, share in self.frequency.items() if share == 1.0]
        if len(solved) > 1:
            text += f"; in every fold: {listed(always)}" if always else "; none in every fold"
        text += "." if self.index is None else f". Stability {self.index:.2f}."
        return text + self.reservations

    @property
    def in_words(self) -> str:
        """The held-out error with its standard error."""
        return error_in_words(self.error, self.standard_error)

    @property
    def reservations(self) -> str:
        """Sentences on the decision boundary, and on folds that are missing, have no solution or no proof."""
        note = boundary_note(int(self._solved["on_boundary"].sum()))
        text = limitations(self.model, self.runs, self.planned, "fold") + (f" Held out: {note}" if note else "")
        return text + (f" {self.note}" if self.note else "")

    def _content(self) -> dict[str, Any]:
        return {
            "question": "cross-validate",
            "model": self.model,
            "data": self.data.name,
            "words": self.words,
            "error": self.error,
            "standard_error": self.standard_error,
            "folds": self.folds,
            "planned": self.planned,
            "summary": self.summary().to_dict("index"),
            "stability": {"index": self.index, "interval": self.interval, "level": 0.95},
            "frequency": self.frequency[self.frequency > 0].to_dict(),
            "runs": self.runs.astype(object).to_dict("records"),
        }

    def short(self) -> pd.DataFrame:
        """Return the summary with numbers as text."""
        frame = self.summary().map(lambda x: "" if math.isnan(x) else number(x, 4))
        frame.index = pd.Index([name.replace("_", " ") for name in frame.index], name="Measure")
        return frame.set_axis(["Mean", "Standard error", "Least", "Most"], axis=1)


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
    cancel: Cancel | None = None,
    **arguments: Any,
) -> CrossValidated:
    """Select on the training samples of each fold, and report the errors on the held-out samples.

    Scaling, products of features and every other step that uses samples are computed inside each fold. If you tried
    several values of a parameter and kept the best, this error is too small; ``fs.choose`` includes the choice.

    Parameters
    ----------
    data : Dataset
    model : str
        As in ``select``.
    cv : int, splitter of scikit-learn, or pairs of rows
        A number means random stratified folds.
    repeats : int
        The number of times that the samples are divided into ``cv`` folds, with the seeds ``seed``, ``seed + 1``, ...
    seed : int
        Of the folds.
    n_jobs : int, optional
        Workers, by joblib; the results do not depend on it. By default one, or those of ``joblib.parallel_config``,
        such as a Dask or Ray cluster.
    memory : str, Path or joblib.Memory, optional
        A folder for the finished folds. The same call after an interruption reads them and computes the others. Folds
        of other data, parameters or versions in the folder are not used. joblib unpickles the files of the folder, so
        use a folder that only you can write to.
    progress : bool
        Show the current fold and its progress.
    cancel : Cancel, optional
        Token that ends the call from another thread, as Ctrl-C does.
    **arguments
        As in ``select``; ``time_limit`` is for each fold.

    Returns
    -------
    CrossValidated
        After Ctrl-C with the folds finished by then.

    Raises
    ------
    ParameterError
        The folds, ``n_jobs`` or ``memory`` are not allowed, or a parameter has no meaning for several runs.
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
    with interrupt.run(cancel), watching.shown(progress):
        check_repeatable("cross_validate", arguments)
        return over_folds(Request.of(data, model, **arguments), Folds(cv, repeats, seed, n_jobs, memory))


def over_folds(request: Request, folds: Folds) -> CrossValidated:
    """Cross-validate a request, which may contain the seed of the solver."""
    bare = request.without_samples
    return cross_validated(request, folds.rows([FoldRun(bare, part) for part in folds.parts(request.data)]), folds)


def cross_validated(request: Request, rows: list[dict[str, Any] | None], folds: Folds) -> CrossValidated:
    """Combine the rows of the folds, of which some may be missing. Raises ModelError: no fold has a solution."""
    size = len(rows) // folds.repeats
    runs = pd.DataFrame(
        [{"repeat": k // size + 1, "fold": k % size + 1, **row} for k, row in enumerate(rows) if row is not None]
    )
    selected = runs["selected"].dropna()
    if not len(selected):
        raise ModelError(f"No fold has a solution: {next(iter(runs['message']), '') or 'give more time (time_limit=)'}")
    index, interval = None, None
    if len(selected) > 1:
        index, interval = stability_index(incidence(selected, request.data.features))
    words = request.arguments if request.scale is None else {**request.arguments, "scale": request.scale}
    return CrossValidated(request.spec.name, request.data, words, runs, index, interval, size, len(rows), folds.note)


def error_in_words(error: float, se: float | None) -> str:
    """Return an error in percent, with its standard error if there is one."""
    return f"{100 * error:.1f}%" + ("" if se is None or math.isnan(se) else f" (standard error {100 * se:.1f})")
