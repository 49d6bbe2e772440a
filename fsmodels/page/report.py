"""``fs.report``: a self-contained page with a selection, its errors, its proof and the origin of its data."""

from __future__ import annotations

import base64
import datetime
import hashlib
import importlib.metadata
import io
import platform
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fsmodels.certificates.document import described
from fsmodels.datasets.checks import dataset
from fsmodels.datasets.dataset import Dataset
from fsmodels.datasets.diagnose import remarks
from fsmodels.errors import ParameterError
from fsmodels.evaluation.folds import incidence, resampled_t_test
from fsmodels.page.stages import TITLES, Findings, Plan, work
from fsmodels.selection.catalogue import find
from fsmodels.selection.parameters import REPORT_LIMIT
from fsmodels.selection.pictures import draw_scores
from fsmodels.selection.report import INTERNAL, facts, number, percent, rows_of_weights, versions, weight_label
from fsmodels.selection.request import Request
from fsmodels.selection.rows import with_keywords
from fsmodels.selection.selection import Selection, write_text
from fsmodels.text import listed
from fsmodels.version import __version__
from solvers import interrupt
from solvers import progress as watching
from solvers.interrupt import Cancel

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class Page:
    """HTML page about a selection.

    Attributes
    ----------
    found : Selection
    html : str
        The self-contained page.
    findings : Findings
        The results: ``errors``, ``rivals``, ``path``, ``necessity``, ``prices``, ``certified``; ``missing`` has the
        reason for each missing part.
    """

    found: Selection
    html: str
    findings: Findings

    def save(self, path: str | Path) -> None:
        """Write the page; an existing file is replaced completely or not at all.

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
    time_limit: float | None = REPORT_LIMIT,
    scale: str | None = None,
    source: str | Path | None = None,
    progress: bool = False,
    cancel: Cancel | None = None,
    **given: Any,
) -> Page:
    """Select, and write one page: features, held-out errors, proof, other numbers of features, what-if questions.

    The page is one HTML file without scripts and without links to other files.

    Parameters
    ----------
    data : Dataset
    model : str
        As in ``select``.
    cv : int
        Folds for the held-out errors of the model, of the SVM on all features and of recursive elimination; 0 for no
        errors.
    max_path : int, optional
        The largest number of features of the path; by default twice ``max_features``, at most 10. 0 for no path.
    what_ifs : float, optional
        Seconds for the costs of features and side constraints, at most those that are left; 0 for no costs.
    n_jobs : int
        Workers for the folds.
    time_limit : float, optional
        Seconds for the whole report; None for no limit. Each part has a share of the seconds that are left: the
        selection 40% of all, then the held-out errors of the model and of the SVM 40% each, then the path 70%.
    scale : str, optional
        As in ``select``.
    source : str or Path, optional
        The file of the data, whose hash is on the page; by default the hash is that of the values.
    progress : bool
        Show the current part.
    cancel : Cancel, optional
        Token that ends the call from another thread, as Ctrl-C does.
    **given
        As in ``select``: parameters of the model, side constraints, ``solver``, options, ``seed``.

    Returns
    -------
    Page
        After Ctrl-C with the parts finished by then.

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
    plan = Plan.of(Request.of(data, model, scale=scale, **given), **words)
    with interrupt.run(cancel), watching.shown(progress):
        return reported(plan, origin)


def reported(plan: Plan, origin: Provenance) -> Page:
    """Compute all parts and render the page."""
    with interrupt.run():
        done = work(plan)
        with interrupt.finishing():
            return Page(done.found, render(done, origin), done)


def _call(model: str, words: dict[str, Any]) -> str:
    """Return the call in Python, with the data as ``data``."""
    empty = [name for name, value in words.items() if value is None or (isinstance(value, tuple) and not value)]
    arguments = [f"{name}={value!r}" for name, value in words.items() if name not in empty]
    return f"fs.report({', '.join(['data', repr(model), *arguments])})"


SHOWN = 60  # rows of a table
SIZE = 4.3, 3.1  # inches of a figure, so that text is legible on a telephone
VISIBLE = "\n\t\u200c\u200d"  # control characters that are kept: the last two join letters
FACTS = ["fact", "value"]  # columns
TEST = "p is the p-value of the corrected resampled t-test (Nadeau and Bengio 2003) on the folds, for the difference to"
LONG = 32  # characters of a word that may break in a table


@dataclass
class Section:
    """Section of the page. ``tables``: captions and frames; ``figures``: descriptions and sources of images."""

    key: str
    title: str
    sentences: list[str] = field(default_factory=list)
    tables: list[tuple[str, pd.DataFrame]] = field(default_factory=list)
    figures: list[tuple[str, str]] = field(default_factory=list)
    code: str = ""


def render(done: Findings, origin: Provenance) -> str:
    """Return the page as HTML; all text is escaped."""
    import jinja2

    page = jinja2.Environment(
        loader=jinja2.PackageLoader("fsmodels.page"), autoescape=True, undefined=jinja2.StrictUndefined
    )
    page.filters |= {"cell": _cell, "fit": _fit}
    found = done.found
    title = f"{len(found.selected)} of {found.data.n_features} features selected for {found.data.name}"
    sections = [_features(done, origin), _errors(done), _proof(done), _path(done), _what_ifs(done)]
    sections += [_data(done, origin), _provenance(done, origin)]
    made = datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z").strip()
    template = page.get_template("report.html")
    return legible(template.render(title=title, version=__version__, made=made, done=done, sections=sections))


def legible(text: str) -> str:
    """Return text without control characters, including those that change the direction of text."""
    hidden = {c for c in set(text) - set(VISIBLE) if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co")}
    return text.translate(dict.fromkeys(map(ord, hidden), "\ufffd"))


def _cell(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return listed(value)
    if isinstance(value, float):
        return number(value) if np.isfinite(value) else "–"
    return "–" if value is None else value


def _fit(value: Any) -> str:
    """Return the class of a cell: its text is not broken, is broken between words, or anywhere."""
    text = str(value)
    return "unbroken" if len(text) < 12 else "words" if max(map(len, text.split()), default=0) < LONG else "long"


def _share(value: float) -> str:
    return "–" if not np.isfinite(value) else percent(value)


def _p_value(differences: Any, folds: int) -> str:
    """Return the p-value of ``resampled_t_test`` on the differences of the errors in stratified folds."""
    p = resampled_t_test(differences, 1 / (folds - 1))
    return "–" if not np.isfinite(p) else f"{p:.3f}" if p >= 0.001 else "< 0.001"


def _image(draw: Callable[[Axes], Any], height: float = SIZE[1]) -> str:
    """Return a drawing as the source of an image: SVG with its text as outlines."""
    import matplotlib.style
    from matplotlib.figure import Figure

    file = io.StringIO()
    with matplotlib.style.context("default"), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # characters that the font lacks
        figure = Figure(figsize=(SIZE[0], height), layout="constrained")
        ax = figure.subplots()
        draw(ax)
        for place in ("left", "center"):
            ax.set_title("", loc=place)
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    return "data:image/svg+xml;base64," + base64.b64encode(legible(file.getvalue()).encode()).decode()


def _frame(rows: Iterable[Iterable[Any]], columns: list[str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=columns).set_index(columns[0])


def _features(done: Findings, origin: Provenance) -> Section:
    found, word = done.found, weight_label(done.found)
    rows = rows_of_weights(found)
    rows = rows if len(rows) <= SHOWN else [*rows[: SHOWN - 1], rows[-1]]
    caption = "The largest weights" if len(rows) < SHOWN else f"The {SHOWN - 1} largest weights"
    section = Section("features", "Selected features")
    table = _frame(rows, ["feature", f"{word}, original units", f"{word}, as scaled"])
    if done.errors is not None:
        chosen = incidence(done.errors.runs["selected"].dropna(), found.data.features)
        table["chosen in"] = [
            f"{chosen[name].sum():.0f} of {len(chosen)} folds" if name in chosen else None for name in table.index
        ]
    section.tables.append((f"{caption} as scaled first", table))
    if origin.concepts is not None:
        section.tables.append(("Instances of the selected features", origin.concepts(found).head(SHOWN)))
    if found.selected:
        height = max(SIZE[1], 1.5 + 0.27 * min(len(rows), 40))
        section.figures.append(("Weights of the selected features", _image(found.plot, height)))
        section.figures.append(("Scores of the training samples by class", _image(partial(draw_scores, found))))
    return section


def _errors(done: Findings) -> Section:
    section, held = Section("errors", TITLES["errors"]), done.errors
    if held is None:
        return section
    section.sentences.append(held.sentence)
    rows = []
    for run in [held, *done.rivals]:
        means = run.summary()
        least, most = means.loc["n_selected", ["least", "most"]]
        sizes = f"{least:.0f}" if least == most else f"{least:.0f} to {most:.0f}"
        title = f"{run.model}: {find(run.model).title}"
        balanced, auc = means["mean"][["balanced_error", "auc"]]
        apart = pd.to_numeric(run.runs["error"]) - pd.to_numeric(held.runs["error"])
        against = ["–", "–"] if run is held else [f"{100 * apart.mean():+.1f}%", _p_value(apart, done.plan.cv)]
        rows.append([title, run.in_words, *against, _share(balanced), round(float(auc), 3), sizes])
    caption = f"Errors on samples held out, over {held.folds} folds"
    columns = ["model", "error", "difference to the first", "p", "balanced error", "AUC", "features"]
    section.tables.append((caption, _frame(rows, columns)))
    section.sentences.append(f"{TEST} the first model.")
    section.tables.append(("Confusion matrix of the samples held out", held.confusion))
    return section


def _proof(done: Findings) -> Section:
    found = done.found
    section = Section("proof", "Proof", [found.message] if found.message else [])
    if found.gap is not None:
        section.sentences.append(
            "No selection under the same limits has an objective beyond the proven bound on these samples. This says "
            "nothing about the error on new samples."
        )
    if done.certified is not None:
        section.sentences.append(done.certified.sentence)
    section.tables.append(("", _frame(facts(found), FACTS)))
    if find(found.name).runs_solver and found.bound is not None and len(found.result.iterations):
        image = _image(partial(found.result.plot, "seconds"))
        section.figures.append(("Best objective found and proven bound over time", image))
    return section


def _path(done: Findings) -> Section:
    section, walk = Section("path", TITLES["path"]), done.path
    if walk is None:
        return section
    table = walk.short().drop(columns="Seconds")
    solved = walk["objective"].notna().any()
    if walk.errors is not None and walk["cv_error"].notna().any():
        n, size, best = done.found.data.n_features, done.found.parameters["max_features"], walk["cv_error"].idxmin()
        values = [_p_value(row, done.plan.cv) for _, row in (walk.errors - walk.errors.loc[size]).iterrows()]
        table.insert(table.columns.get_loc("Selected"), "p", values)
        section.sentences.append(f"{TEST} {size} features.")
        if walk.index.max() == best < n:
            section.sentences.append(
                f"The held-out error is least at the largest number of features, {best}. More features may be better: "
                f"--max-path {min(2 * best, n)} (Python: max_path=)."
            )
    section.tables.append((walk.title, table))
    if len(table) > 1:
        for what in ["objective", "error"] if solved else ["error"]:
            caption = f"{what.capitalize()} by number of features"
            section.figures.append((caption, _image(partial(walk.plot, what))))
    return section


def _what_ifs(done: Findings) -> Section:
    section, answer = Section("what-ifs", TITLES["what_ifs"]), done.necessity
    if answer is not None:
        section.sentences.append(answer.sentence)
        section.tables.append(("What leaving out each feature costs in the objective", answer.short()))
    if done.prices is not None:
        section.sentences += [with_keywords(price.sentence, done.found.parameters) for price in done.prices]
    return section


def _data(done: Findings, origin: Provenance) -> Section:
    found, data = done.found, done.found.data
    rows = {
        "data": repr(data), "target": origin.target, "columns left out": origin.dropped,
        "columns set aside": tuple(data.aside), "categories": tuple(data.categories), "products": tuple(data.products),
        "model": f"{found.name}: {find(found.name).title}", **found.parameters,
    }  # fmt: skip
    known = [(name, value) for name, value in rows.items() if value is not None and value != ()]
    return Section("data", "Data and model", list(origin.notes), [("", _frame(known, FACTS))])


def _provenance(done: Findings, origin: Provenance) -> Section:
    options = {k: v for k, v in done.found.result.options.items() if k not in INTERNAL and v is not None}
    solver = ", ".join([done.found.result.solver, *(f"{k} = {v}" for k, v in options.items())])
    versions = ", ".join(f"{what} {version}" for what, version in software(done.found).items())
    files = origin.files or [("values and labels in memory", None, origin.values)]
    what = "command, in a folder with the same files," if origin.command.startswith("fsmodels ") else "call"
    sentences = [f"This {what} makes the same report again."]
    if done.plan.time_limit is not None:
        sentences.append("A solve that stops at its time limit may have another result then.")
    return Section(
        "provenance", "Provenance", sentences,
        [
            ("", _frame([("solver", solver), ("versions", versions)], FACTS)),
            ("Files that were read", _frame(files, ["file", "bytes", "SHA-256"])),
        ],
        code=origin.command,
    )  # fmt: skip


ALWAYS = ("scipy", "pandas", "scikit-learn", "matplotlib")  # packages that every report uses


@dataclass(frozen=True)
class Provenance:
    """Origin of a report.

    ``command``: the command or call that makes the same report again. ``files``: name, size in bytes and SHA-256 of
    the files that were read; without files, ``values`` is the hash of the data in memory. ``target``, ``dropped``:
    columns. ``notes``: remarks on the data. ``concepts``: returns the selected instances if samples are bags.
    """

    command: str
    files: tuple[tuple[str, int, str], ...] = ()
    values: str = ""
    target: str | None = None
    dropped: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    concepts: Callable[[Selection], pd.DataFrame] | None = None

    @classmethod
    def read(cls, command: str, paths: Iterable[str | Path], **facts: Any) -> Provenance:
        """Return the origin with the hashes of files. Raises ParameterError: a file cannot be read."""
        return cls(command, files=tuple(map(_hashed, dict.fromkeys(paths))), **facts)


def without_folder(text: str) -> str:
    """Return an absolute path, or an option with one, without the folder; other texts are unchanged."""
    return re.sub(r"(^|=)(?:[A-Za-z]:)?[/\\](?:[^/\\]*[/\\])*", r"\1", text)


def _hashed(path: str | Path) -> tuple[str, int, str]:
    """Return the name, size and hash of a file. Raises ParameterError: it cannot be read."""
    try:
        content = Path(path).read_bytes()
    except (OSError, TypeError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ParameterError(f'source "{path}" cannot be read ({why}): give the file of the data.') from None
    return without_folder(str(path)), len(content), hashlib.sha256(content).hexdigest()


def values_hash(data: Dataset) -> str:
    """Return the hash of values and labels, as in certificates; for sparse data that of the CSR arrays."""
    if not data.is_sparse:
        return str(described(data)["sha256"])
    hashed = hashlib.sha256()
    for part, kind in ((data.X.indptr, "<i8"), (data.X.indices, "<i8"), (data.X.data, "<f8"), (data.y, "<f8")):
        hashed.update(np.ascontiguousarray(part, dtype=kind).tobytes())
    return hashed.hexdigest()


def software(found: Selection) -> dict[str, str]:
    """Return the versions of packages and solvers, and the system."""
    known = {name: version for name, version in versions(found).items() if version}
    for name in ALWAYS:
        known.setdefault(name, importlib.metadata.version(name))
    return {**known, "fsmodels": __version__, "system": platform.platform()}
