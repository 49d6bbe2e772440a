r"""Stability of a selection: runs on resampled data, frequencies of features, and a stability index.

The index is that of Nogueira, Sechidis, Brown 2018, "On the stability of feature selection algorithms", JMLR 18(174).
With Z of M runs (rows) and d features, z_if = 1 where run i selects f, p_f the mean of column f, k_i the sum of row i
and k the mean of these:

.. math:: \hat\Phi = 1 - \frac{\frac1d \sum_f s_f^2}{\frac kd (1 - \frac kd)}, \qquad
    s_f^2 = \frac{M}{M - 1} p_f (1 - p_f),

1 if all runs agree, 0 in expectation if they select k_i features at random. Its asymptotic interval is
:math:`\hat\Phi \pm z_{1 - \alpha/2} \sqrt{v}` (their theorem 7) with

.. math:: v = \frac{4}{M^2} \sum_i (\hat\Phi_i - \bar\Phi)^2, \qquad
    \hat\Phi_i = \frac{1}{\frac kd (1 - \frac kd)} \Big[ \frac1d \sum_f z_{if} p_f - \frac{k_i k}{d^2}
    + \frac{\hat\Phi}{2} \Big( \frac{2 k k_i}{d^2} - \frac{k_i}{d} - \frac kd + 1 \Big) \Big],

which is the delta method: 2 (Phi_i - mean) is the influence of run i on Phi = 1 - A/B with A = (1/d) sum p_f (1 - p_f)
and B = (k/d)(1 - k/d), as dA = (1/d) sum (1 - 2 p_f) z_if and dB = (1/d)(1 - 2 k/d) k_i up to constants. The index is
not defined if every run selects all features or none. The interval assumes independent runs. Folds and bootstraps of
the same samples are not independent, so the interval describes only this kind of resampling of these data.
"""

from __future__ import annotations

import statistics
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from fsmodels.checks import share
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import DataError, ModelError, ParameterError
from fsmodels.evaluation.folds import FoldRun, Folds, check_repeatable, limitations
from fsmodels.selection.report import BaseAnswer, number
from fsmodels.selection.request import Request
from fsmodels.selection.resampling import bootstraps_of, folds_of
from fsmodels.selection.selection import Selection
from fsmodels.text import listed
from solvers import StopReason, interrupt
from solvers import progress as watching
from solvers.clock import own_clock
from solvers.interrupt import Cancel

if TYPE_CHECKING:
    from matplotlib.axes import Axes


BOOTSTRAPS = 20
COLUMNS = (
    "selected", "n_selected", "objective", "bound", "gap", "status", "training_error", "error", "seconds", "message",
)  # fmt: skip
GRADES = ((0.75, "excellent"), (0.4, "intermediate to good"), (-1.0, "poor"))  # section 6 there, after Fleiss


@dataclass(frozen=True, repr=False, eq=False)
class Stability(BaseAnswer):
    """Runs of a selection on resampled data.

    Attributes
    ----------
    found : Selection
        The selection on all data.
    runs : pandas.DataFrame
        A row for each run: ``selected``, ``n_selected``, ``objective``, ``bound``, ``gap``, ``status``,
        ``training_error``, ``held_out_error``, ``seconds``, ``message``. Summaries ignore runs without a solution.
    weights : pandas.DataFrame
        A row for each run with a solution, a column for each feature: its weight on the data as scaled in the run, NaN
        if it is not selected.
    index : float or None
        The index of Nogueira et al.; None if it is not defined.
    interval : (float, float) or None
        Interval of the index at ``level``.
    way : str
        Description of the runs.
    planned : int
        The number of requested runs; after Ctrl-C there are fewer.
    """

    found: Selection
    runs: pd.DataFrame
    weights: pd.DataFrame
    index: float | None
    interval: tuple[float, float] | None
    level: float
    way: str
    planned: int

    @property
    def frequency(self) -> pd.Series:
        """The share of the runs that select a feature, in the order of the data."""
        return self.weights.notna().mean(axis=0).rename("frequency")

    def table(self) -> pd.DataFrame:
        """Return a frame with a row for each feature, the most frequent first.

        ``frequency``: share of the runs that select it; ``positive``: share of these with a weight above 0;
        ``selected``, ``weight``: of the selection on all data, as scaled.
        """
        on_all, chosen = self.found.weights, set(self.found.selected)
        names = list(self.weights)
        frame = pd.DataFrame(
            {
                "frequency": self.frequency,
                "positive": (self.weights > 0).where(self.weights.notna()).astype(float).mean(axis=0),
                "selected": [name in chosen for name in names],
                "weight": [on_all.get(name, 0.0) for name in names],
            },
            index=pd.Index(names, name="feature"),
        )
        return frame.sort_values("frequency", ascending=False, kind="stable")

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the frequencies of all features that a run selects; return the Axes."""
        from fsmodels.selection.pictures import draw_frequencies

        return draw_frequencies(self.table(), len(self.weights), ax)

    @property
    def sentence(self) -> str:
        """The result in a few sentences."""
        runs, frequency = len(self.weights), self.frequency
        always = [name for name, share in frequency.items() if share == 1.0]
        text = f"{self.found.name} on {self.found.data.name}, {runs} {self.way}: "
        text += "1 feature is" if len(always) == 1 else f"{len(always)} features are"
        text += " in every selection" + (f" ({listed(always)})" if always else "")
        text += f", {int((frequency == 0).sum())} of {len(frequency)} in none. "
        if runs < 2:
            text = f"{self.found.name} on {self.found.data.name}: the stability index needs two runs with a solution."
        elif self.index is None or self.interval is None:
            text += "The stability index is not defined if every run selects all features or none."
        else:
            grade = next(grade for least, grade in GRADES if self.index >= least)
            low, high = self.interval
            text += f"Stability {self.index:.2f} ({100 * self.level:g}% interval {low:.2f} to {high:.2f}): {grade}."
        return text + limitations(self.found.name, self.runs, self.planned, "run")

    def _content(self) -> dict[str, Any]:
        return {
            "question": "stability",
            "way": self.way,
            "index": self.index,
            "interval": self.interval,
            "level": self.level,
            "features": self.table().reset_index().to_dict("records"),
            "runs": self.runs.to_dict("records"),
            "selection": self.found.to_dict(),
        }

    def short(self) -> pd.DataFrame:
        """Return the features that some run selects, with the shares of runs as text."""
        frame = self.table()
        frame = frame[frame["frequency"] > 0]
        return pd.DataFrame(
            {
                "Frequency": [f"{share:.0%}" for share in frame["frequency"]],
                "Positive weight": [f"{share:.0%}" for share in frame["positive"]],
                "On all samples": ["selected" if selected else "" for selected in frame["selected"]],
                "Weight": [number(weight, 4) if weight else "" for weight in frame["weight"]],
            },
            index=frame.index.rename("Feature"),
        )


@dataclass(frozen=True)
class _WithWeights(FoldRun):
    """A run whose row contains the weights of the selected features."""

    def select(self) -> tuple[Selection, dict[str, Any]]:
        found, _ = super().select()
        return found, {"weights": {name: found.weights.get(name, 0.0) for name in found.selected}}


def stability(
    data: Dataset,
    model: str = "fsp-m",
    *,
    folds: Any = None,
    bootstraps: int | None = None,
    seed: int = 0,
    n_jobs: int = 1,
    level: float = 0.95,
    fair: Any = (),
    scale: str | None = None,
    progress: bool = False,
    cancel: Cancel | None = None,
    **arguments: Any,
) -> Stability:
    """Select on folds or bootstrap samples, and measure how much the selection depends on the samples.

    Parameters
    ----------
    data : Dataset
        Each run scales its samples by the scaling of the data, or by ``scale``.
    model : str
        As in ``select``.
    folds : int or splitter of scikit-learn, optional
        Each run holds out one fold.
    bootstraps : int, optional
        The number of stratified bootstrap samples; 20 if neither is given.
    seed : int
        Of folds and bootstraps.
    n_jobs : int
        Workers, by joblib; the results do not depend on it.
    level : float
        Confidence level of the interval of the index.
    fair, scale, **arguments
        As in ``select``; ``time_limit`` is for each run.
    progress : bool
        Show the current run and its progress.
    cancel : Cancel, optional
        Token that ends the call from another thread, as Ctrl-C does.

    Returns
    -------
    Stability
        After Ctrl-C with the finished runs; with fewer than two, ``index`` is None.

    Raises
    ------
    ParameterError
        Both folds and bootstraps are given, or a number of them is not allowed.
    ModelError
        Fewer than two runs have a solution.
    DataError, SolverError, OptionError
        As ``select`` does.

    Examples
    --------
    >>> import fsmodels as fs
    >>> found = fs.stability(fs.load_dataset("bupa"), max_features=2, bootstraps=5)
    >>> len(found.runs), bool(found.frequency["sgot"] >= 0.4)
    (5, True)
    """
    if folds is not None and bootstraps is not None:
        raise ParameterError("stability: give folds or bootstraps, not both.")
    level = share("level", level, "the level of the interval, such as 0.95", open_below=True)
    check_repeatable("stability", arguments)
    request = Request.of(data, model, fair=fair, scale=scale, **arguments)
    data, bare = request.data, request.without_samples
    if folds is not None:
        parts, way = folds_of(data, folds, seed), "runs that each leave a fold out"
    else:
        parts, way = bootstraps_of(data, BOOTSTRAPS if bootstraps is None else bootstraps, seed), "bootstrap samples"
    with interrupt.run(cancel), watching.shown(progress):
        with own_clock(), watching.doing("all samples"):
            found = request.solve()
        rows: list[dict[str, Any] | None] = []
        if found.stop_reason is not StopReason.INTERRUPTED:
            with suppress(KeyboardInterrupt) if found.has_solution else nullcontext():  # no run was finished
                rows = Folds(n_jobs=n_jobs).rows([_WithWeights(bare, part) for part in parts], "run")
        elif not found.has_solution:
            raise KeyboardInterrupt
    finished = [row for row in rows if row is not None]
    solved = [row["weights"] for row in finished if row["selected"] is not None]
    weights = pd.DataFrame(solved, columns=list(data.features), dtype=float)
    if len(weights) < 2 and len(finished) == len(parts):
        raise ModelError(
            f"stability needs two runs with a solution, and {len(weights)} of {len(parts)} have one: give more time "
            "(time_limit=)."
        )
    index, interval = (None, None) if len(weights) < 2 else stability_index(weights.notna(), level)
    runs = pd.DataFrame(finished, columns=list(COLUMNS)).rename(columns={"error": "held_out_error"})
    return Stability(found, runs, weights, index, interval, level, way, len(parts))


def stability_index(chosen: ArrayLike, level: float = 0.95) -> tuple[float | None, tuple[float, float] | None]:
    """Return the index of Nogueira, Sechidis, Brown 2018 and its interval for a 0/1 matrix of runs and features.

    None if it is not defined: every run selects all features or none.

    Examples
    --------
    >>> round(stability_index([[1, 1, 0], [1, 0, 1]])[0], 12)
    -0.5
    """
    level = share("level", level, "the level of the interval, such as 0.95", open_below=True)
    try:
        Z = np.asarray(chosen, dtype=float)
    except (TypeError, ValueError):
        Z = np.empty(0)
    if Z.ndim != 2 or Z.shape[0] < 2 or not np.isin(Z, (0.0, 1.0)).all():
        raise DataError("stability_index needs a matrix of 0 and 1, with a row for each of at least two runs.")
    M, d = Z.shape
    p, sizes = Z.mean(axis=0), Z.sum(axis=1)
    k = float(sizes.mean())
    if Z.all() or not Z.any():
        return None, None
    scale = (k / d) * (1 - k / d)
    index = float(1 - M / (M - 1) * np.mean(p * (1 - p)) / scale)
    each = Z @ p / d - sizes * k / d**2 + index / 2 * (2 * k * sizes / d**2 - sizes / d - k / d + 1)
    each /= scale
    deviation = 2 / M * float(np.sqrt(np.sum((each - each.mean()) ** 2)))
    reach = statistics.NormalDist().inv_cdf(0.5 + level / 2) * deviation
    return index, (index - reach, index + reach)
