"""``SelectionPath``: the table of ``fs.path``, with proven intervals, rules that choose a point, and pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fsmodels.checks import choice
from fsmodels.errors import ModelError, ParameterError
from fsmodels.selection.report import as_json, number, percent
from fsmodels.selection.selection import Selection
from fsmodels.text import listed
from solvers import SolutionStatus, html

if TYPE_CHECKING:
    from matplotlib.axes import Axes


RULES = ("one-se", "best")  # by held-out errors

SIZES = ("max_features", "budget")  # parameters of a grid that are numbers of features
SHOWN = 200  # characters of a list of features
TITLES = {  # of the columns of ``short``, in its order
    "objective": "Objective", "upper": "Least known", "gap": "Gap", "status": "Status", "n_selected": "Features",
    "training_error": "Training error", "validation_error": "Validation error", "cv_error": "Held-out error",
    "cv_se": "Standard error", "fsp_objective": "FSP objective", "fs_objective": "FS objective",
    "refit_training_error": "Refit, training error", "refit_validation_error": "Refit, validation error",
    "seconds": "Seconds", "selected": "Selected",
}  # fmt: skip
KNEE = 2.0  # ratio of the mean decreases of the objective per feature before and after a knee
INSTEAD = 'Choose by held-out errors, folds=5 and choose("one-se"), or give more values.'


def point_of(error: Any, spread: Any, sizes: Any, rule: str) -> int | None:
    """Return the index of the point that a rule of ``SelectionPath.choose`` chooses; None if no error is finite."""
    usable = np.flatnonzero(np.isfinite(error))
    if not len(usable):
        return None
    best = min(usable, key=lambda k: (error[k], sizes[k], k))
    if rule == "one-se":
        limit = error[best] + (0.0 if np.isnan(spread[best]) else float(spread[best]))
        best = min((k for k in usable if error[k] <= limit), key=lambda k: (sizes[k], error[k], k))
    return int(best)


def point_text(point: Mapping[str, Any]) -> str:
    """Return the parameters of a point as text."""
    values = {name: f"{value:g}" if isinstance(value, float) else value for name, value in point.items()}
    return ", ".join(f"{name}={'prices' if isinstance(v, Mapping) else v}" for name, v in values.items())


class SelectionPath(pd.DataFrame):
    """Table of ``fs.path``; its slices are plain frames.

    Attributes
    ----------
    points : list of Selection
        The selection of each row, without the live model, which all points share.
    errors : pandas.DataFrame or None
        With ``folds``: held-out errors by point (rows) and fold (columns).
    frequencies : pandas.DataFrame or None
        With ``folds``: the share of the folds that select a feature, by point (rows) and feature (columns).
    intervals : pandas.DataFrame
        ``lower`` and ``upper``: the proven interval of the optimum of each point.
    title : str
        Model, data and parameters of the path.
    """

    _metadata: ClassVar[list[str]] = ["points", "errors", "frequencies", "intervals", "title"]

    @property
    def _constructor(self) -> Any:
        return pd.DataFrame

    @classmethod
    def of(
        cls,
        rows: list[dict[str, Any]],
        grid: Sequence[str],
        points: list[Selection],
        not_less: NDArray[np.bool_],
        folds: list[list[tuple[float | None, tuple[str, ...]]]] | None,
    ) -> SelectionPath:
        """Return the path of points.

        ``not_less``: True if the optimum of the second point (columns) is at least that of the first (rows).
        ``folds``: error and features of each fold at each point.
        """
        made = cls(pd.DataFrame(rows).set_index(list(grid)))
        made.points = points
        objectives = pd.Series([row["objective"] for row in rows], dtype=float)
        upper = [objectives[above].min() for above in not_less]
        lower = [row["bound"] for row in rows]
        made.intervals = pd.DataFrame({"lower": lower, "upper": upper}, index=made.index, dtype=float)
        made.errors = made.frequencies = None
        if folds is not None:
            names = list(points[0].data.features)
            shares = [[np.mean([name in chosen for _, chosen in runs]) for name in names] for runs in folds]
            made.frequencies = pd.DataFrame(shares, index=made.index, columns=names)
            errors = [[error for error, _ in runs] for runs in folds]
            columns = [f"fold {k + 1}" for k in range(len(folds[0]))]
            made.errors = pd.DataFrame(errors, index=made.index, columns=columns, dtype=float)
            made.insert(made.columns.get_loc("seconds"), "cv_error", made.errors.mean(axis=1, skipna=False))
            spread = made.errors.std(axis=1, ddof=1, skipna=False) / np.sqrt(made.errors.shape[1])
            made.insert(made.columns.get_loc("seconds"), "cv_se", spread)
        first = points[0]
        made.title = f"{first.name} on {first.data.name}, {len(rows)} points by {listed(grid)}"
        return made

    def table(self) -> pd.DataFrame:
        """Return the points as a plain frame, with the proven interval of each optimum (``intervals``)."""
        return pd.DataFrame(self).assign(lower=self.intervals["lower"], upper=self.intervals["upper"])

    def to_dict(self) -> dict[str, Any]:
        """Return the content of a JSON file: each point with its parameters and its interval."""
        rows = self.table().reset_index().astype(object)
        content = {"path": self.title, "parameters": list(self.index.names), "points": rows.to_dict("records")}
        if self.errors is not None:
            content["held_out_errors"] = self.errors.to_numpy().tolist()
        plain: dict[str, Any] = as_json(content)
        return plain

    def choose(self, rule: str = "one-se") -> Selection:
        """Return the selection of the point that a rule chooses by held-out errors.

        Parameters
        ----------
        rule : {"one-se", "best"}
            "best": the least held-out error, by ``folds`` if the path has them, else by ``validation``; ties: the
            fewest features. "one-se": the fewest features among the points whose error is at most one standard error
            (the deviation over the folds divided by the root of their number) above the least; ties: the least error.
            Further ties: the first point of the table.

        Raises
        ------
        ParameterError
            The rule is unknown, or the path has no ``folds`` (for "best" also no ``validation``).

        Examples
        --------
        >>> import fsmodels as fs
        >>> path = fs.path(fs.load_dataset("cleveland"), max_features=range(1, 5), C=0.1, folds=5)
        >>> len(path.choose("one-se").selected) <= len(path.choose("best").selected)
        True
        """
        choice("rule", rule, list(RULES))
        by_folds = self.errors is not None
        if not by_folds and (rule == "one-se" or "validation_error" not in self.columns):
            also = ", or validation= for its error on other data" if rule == "best" else ""
            raise ParameterError(
                f'choose("{rule}") needs held-out errors, and this path has none: give folds=5 to fs.path{also}.'
            )
        error = pd.to_numeric(self["cv_error" if by_folds else "validation_error"]).to_numpy(dtype=float)
        spread = self["cv_se"].to_numpy(dtype=float) if by_folds else np.zeros(len(self))
        best = point_of(error, spread, self["n_selected"].to_numpy(dtype=float), rule)
        if best is None:
            raise ModelError("choose: no point has a solution in every fold: give more time or fewer folds.")
        return self.points[best]

    def knee(self, **fixed: Any) -> Selection:
        """Return the selection at the knee of the objective as a function of the number of features.

        With the first and last number of features of the path at (0, 1) and (1, 0), the knee is the point farthest
        below the straight line between these two; ties: the fewest features. On average, a feature before it must lower
        the objective at least twice as much as a feature after it.

        Parameters
        ----------
        **fixed
            Values of the other parameters of a grid: ``knee(C=1.0)``.

        Raises
        ------
        ParameterError
            The grid has no number of features, another parameter is not fixed, or there are fewer than three points.
        ModelError
            The curve has no knee: it does not fall, or is nearly straight.

        Examples
        --------
        >>> import fsmodels as fs
        >>> fs.path(fs.load_dataset("wdbc"), max_features=range(1, 6)).knee().selected
        ('worst_texture', 'worst_perimeter', 'worst_smoothness')
        """
        size = next((name for name in self.index.names if name in SIZES), None)
        if size is None:
            raise ParameterError(f"knee needs a path over max_features: this one is over {listed(self.index.names)}.")
        others = [name for name in self.index.names if name != size]
        if unknown := [name for name in fixed if name not in others]:
            raise ParameterError(f"knee: {listed(unknown)} cannot be fixed: give {listed(others) or 'nothing'}.")
        if lacking := [name for name in others if name not in fixed]:
            raise ParameterError(f"knee: give one value of {listed(lacking)}, as in knee({lacking[0]}=...).")
        at = self.index.to_frame(index=False)
        chosen = np.ones(len(self), dtype=bool)
        for name, value in fixed.items():
            chosen &= (at[name] == value).to_numpy()
        objective = pd.to_numeric(self["objective"]).to_numpy(dtype=float)
        kept = [int(k) for k in np.flatnonzero(chosen & np.isfinite(objective))]
        if len(kept) < 3:
            raise ParameterError(f"knee needs three points with a solution, and has {len(kept)}: give more values.")
        kept.sort(key=lambda k: at[size][k])
        x, y = at[size].to_numpy(dtype=float)[kept], objective[kept]
        span = f"from {x[0]:g} to {x[-1]:g} features"
        if y[0] <= y[-1]:
            raise ModelError(f"knee: the objective does not fall {span}, so there is no knee. {INSTEAD}")
        right, down = (x - x[0]) / (x[-1] - x[0]), (y[0] - y) / (y[0] - y[-1])
        k = int(np.argmax(down - right))
        if down[k] * (1.0 - right[k]) < KNEE * right[k] * (1.0 - down[k]) or right[k] in (0.0, 1.0):
            raise ModelError(
                f"knee: the objective falls too evenly {span} to have one: at no point is the mean decrease per "
                f"feature before it {KNEE:g} times that after it. {INSTEAD}"
            )
        return self.points[kept[k]]

    def plot(self, y: str = "objective", ax: Axes | None = None) -> Axes:
        """Draw the path over its first parameter, a line for each value of the others.

        Parameters
        ----------
        y : {"objective", "error", "features"}
            The objective with the proven interval of the optimum as a band; or errors in percent: on training data,
            held out with one standard error (with ``folds``), and on ``validation``; or features against points: their
            weights, or with ``folds`` the share of the folds that select them.
        ax : matplotlib.axes.Axes, optional
            By default a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from fsmodels.selection.pictures import draw_features, draw_path

        choice("y", y, ["objective", "error", "features"])
        return draw_features(self, ax) if y == "features" else draw_path(self, y, ax)

    def __repr__(self) -> str:
        return f"{self.title}\n{self.short().to_string()}" if hasattr(self, "points") else super().__repr__()

    def _repr_html_(self) -> str:
        return html.paragraph(self.title) + html.frame(self.short())

    def short(self) -> pd.DataFrame:
        """Return the points as text: ``Status`` if not all are optimal, ``Least known`` if another point is better."""
        full = self.table()
        left_out = {"upper"} if (full["upper"] == full["objective"]).all() else set()
        left_out |= {"status"} if (full["status"] == SolutionStatus.OPTIMAL.value).all() else set()
        frame = full[[name for name in TITLES if name in full and name not in left_out]].copy()
        for name in ("objective", "upper", "fsp_objective", "fs_objective"):
            if name in frame:
                frame[name] = [number(x) if pd.notna(x) else "" for x in pd.to_numeric(frame[name])]
        for name in [name for name in frame if name == "gap" or "error" in str(name) or name == "cv_se"]:
            frame[name] = ["" if pd.isna(share) else percent(share) for share in frame[name]]
        lists = [", ".join(names) for names in frame["selected"]]
        frame["selected"] = [text if len(text) <= SHOWN else f"{text[:SHOWN]}..." for text in lists]
        frame["seconds"] = frame["seconds"].map("{:.2f}".format)
        used = (frame != "").any() | (frame.columns == "selected")
        return frame.loc[:, used].rename(columns=TITLES)
