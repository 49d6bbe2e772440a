"""``fs.report``: everything about a selection on one self-contained page, for whoever decides by it."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from fsmodels.datasets.checks import dataset
from fsmodels.datasets.dataset import Dataset
from fsmodels.datasets.looks import remarks
from fsmodels.page.page import render
from fsmodels.page.provenance import Provenance, values_hash
from fsmodels.page.stages import Findings, Plan, work
from fsmodels.selection.file import write_text
from fsmodels.selection.selection import Selection
from solvers import interrupt
from solvers import progress as watching

__all__ = ["Page", "plan", "report", "reported"]

TIME_LIMIT = 30.0  # s, of each solve


@dataclass(frozen=True, eq=False, repr=False)
class Page:
    """A page about a selection.

    Attributes
    ----------
    found : Selection
    html : str
        The page, self-contained.
    findings : Findings
        What was found besides: held-out errors, the path, what-ifs; in ``missing`` what was not, and why.
    """

    found: Selection
    html: str
    findings: Findings

    def save(self, path: str | Path) -> None:
        """Write the page; an old file is replaced completely or not at all.

        Raises
        ------
        ParameterError
            The file cannot be written.
        """
        write_text(self.html, path)

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self.html)}" style="width: 100%; height: 40rem; border: 0"></iframe>'

    def __repr__(self) -> str:
        return f"Page({self.found.name} on {self.found.data.name}, {len(self.html) // 1024} KB of HTML: save(path))"


def report(
    data: Dataset,
    model: str = "fsp-m",
    *,
    cv: int = 5,
    max_path: int | None = None,
    what_ifs: float | None = None,
    n_jobs: int = 1,
    time_limit: float | None = TIME_LIMIT,
    scale: str | None = None,
    source: str | Path | None = None,
    progress: bool = False,
    **given: Any,
) -> Page:
    """Select, and tell it on one page: features with units, errors on samples not seen, what is proven, what-ifs.

    The page is one HTML file without scripts or anything from elsewhere, for somebody who knows the data and not the
    mathematics; what an expert asks stands at the end of each section. It takes at most ``time_limit`` for the
    selection, for each fold of each of two cross-validations, and for each walk along the numbers of features.

    Parameters
    ----------
    data : Dataset
    model : str
        As in ``select``.
    cv : int
        Folds for the errors on samples not seen, and beside them those of the SVM on all features, of recursive
        elimination and of the more frequent class; 0 leaves them out.
    max_path : int, optional
        The largest number of features for which objective and error are told; by default twice ``max_features``, 10 at
        most. 0 leaves this out.
    what_ifs : float, optional
        Seconds for the questions what a feature or a side constraint costs; by default ``time_limit``. 0 leaves them
        out.
    n_jobs : int
        Workers for the folds.
    time_limit : float, optional
        Seconds of each solve; None for no limit.
    scale : str, optional
        As in ``select``.
    source : str or Path, optional
        The file that the data are of, whose hash the page tells; without it, it is that of the values.
    progress : bool
        Show which part is on, and how it stands.
    **given
        As in ``select``: parameters of the model, side constraints, ``solver``, options, ``seed``.

    Returns
    -------
    Page
        After Ctrl-C with what was done until then, which the page says.

    Raises
    ------
    NoSelection
        No selection is possible, or none was found in time.
    ParameterError, DataError, ModelError, SolverError, OptionError
        As ``select``; ``cv`` does not go with the classes.

    Examples
    --------
    >>> import fsmodels as fs
    >>> page = fs.report(fs.load_dataset("bupa"), max_features=2, cv=3, max_path=3)
    >>> page.found.selected, page.html.startswith("<!DOCTYPE html>")
    (('sgpt', 'sgot'), True)
    """
    words = {"cv": cv, "max_path": max_path, "what_ifs": what_ifs, "n_jobs": n_jobs, "time_limit": time_limit}
    call = _call(model, {**given, **words, "scale": scale})
    values = values_hash(dataset(data)) if source is None else ""
    origin = Provenance.read(call, [] if source is None else [source], values=values, notes=tuple(remarks(data)))
    made = plan(data, model, given, **words, scale=scale)
    with watching.shown(progress):
        return reported(made, origin)


def plan(data: Dataset, model: str, given: dict[str, Any], **words: Any) -> Plan:
    """Return what a report will do, checked; see ``Plan.of``."""
    return Plan.of(dataset(data), model, given, **words)


def reported(made: Plan, origin: Provenance) -> Page:
    """Do it, and fill the page."""
    with interrupt.run():
        done = work(made)
        with interrupt.finishing():
            return Page(done.found, render(done, origin), done)


def _call(model: str, words: dict[str, Any]) -> str:
    """Return the call in Python; data are not named in it."""
    empty = [name for name, value in words.items() if value is None or (isinstance(value, tuple) and not value)]
    told = [f"{name}={value!r}" for name, value in words.items() if name not in empty]
    return f"fs.report({', '.join(['data', repr(model), *told])})"
