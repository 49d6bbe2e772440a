"""``fs.report``: a selection with its errors and its proof on one self-contained page."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from fsmodels.datasets.checks import dataset
from fsmodels.datasets.dataset import Dataset
from fsmodels.datasets.diagnose import remarks
from fsmodels.page.page import Provenance, render, values_hash
from fsmodels.page.stages import Findings, Plan, work
from fsmodels.selection.selection import Selection, write_text
from solvers import interrupt
from solvers import progress as watching

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
        The answers: ``errors``, ``rivals``, ``path``, ``necessity``, ``prices``, ``certified``; ``missing`` has the
        reason of each part that is not there.
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
    """Select, and write one page: features, held-out errors, the proof, other numbers of features, what-ifs.

    The page is one HTML file without scripts and without links to other files. The run takes at most ``time_limit``
    for the selection, for each fold of each of two cross-validations, and for each path over the numbers of features.

    Parameters
    ----------
    data : Dataset
    model : str
        As in ``select``.
    cv : int
        Folds for the errors on samples held out, of the model, of the SVM on all features and of recursive
        elimination; 0 leaves them out.
    max_path : int, optional
        The largest number of features of the path; by default twice ``max_features``, 10 at most. 0 leaves the path
        out.
    what_ifs : float, optional
        Seconds for the costs of features and side constraints; by default ``time_limit``. 0 leaves them out.
    n_jobs : int
        Workers for the folds.
    time_limit : float, optional
        Seconds of each solve; None for no limit.
    scale : str, optional
        As in ``select``.
    source : str or Path, optional
        The file of the data, whose hash is on the page; by default the hash is that of the values.
    progress : bool
        Show which part is running.
    **given
        As in ``select``: parameters of the model, side constraints, ``solver``, options, ``seed``.

    Returns
    -------
    Page
        After Ctrl-C with the parts that were finished.

    Raises
    ------
    NoSelection
        No selection is possible, or none was found in time.
    ParameterError, DataError, ModelError, SolverError, OptionError
        As ``select``; a class has fewer than ``cv`` samples.

    Examples
    --------
    >>> import fsmodels as fs
    >>> page = fs.report(fs.load_dataset("bupa"), max_features=2, cv=3, max_path=3)
    >>> page.found.selected, page.html.startswith("<!DOCTYPE html>")
    (('sgpt', 'sgot'), True)
    """
    words: dict[str, Any] = {
        "cv": cv,
        "max_path": max_path,
        "what_ifs": what_ifs,
        "n_jobs": n_jobs,
        "time_limit": time_limit,
    }
    call = _call(model, {**given, **words, "scale": scale})
    values = values_hash(dataset(data)) if source is None else ""
    origin = Provenance.read(call, [] if source is None else [source], values=values, notes=tuple(remarks(data)))
    plan = Plan.of(dataset(data), model, given, **words, scale=scale)
    with watching.shown(progress):
        return reported(plan, origin)


def reported(plan: Plan, origin: Provenance) -> Page:
    """Run all parts and fill the template."""
    with interrupt.run():
        done = work(plan)
        with interrupt.finishing():
            return Page(done.found, render(done, origin), done)


def _call(model: str, words: dict[str, Any]) -> str:
    """Return the call in Python, with the data as ``data``."""
    empty = [name for name, value in words.items() if value is None or (isinstance(value, tuple) and not value)]
    told = [f"{name}={value!r}" for name, value in words.items() if name not in empty]
    return f"fs.report({', '.join(['data', repr(model), *told])})"
