"""What a command was asked: data, parameters and side constraints as ``select`` takes them, the file to write."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from fsmodels.cli import arguments, loading
from fsmodels.cli.codes import complain, show
from fsmodels.cli.result_file import ResultFile
from fsmodels.datasets.dataset import Dataset, DataWarning
from fsmodels.datasets.diagnose import look
from fsmodels.datasets.instances import Embedding
from fsmodels.errors import OptionError
from fsmodels.selection import report
from fsmodels.selection.parameters import PARAMETERS
from fsmodels.selection.recipes import MODELS
from solvers import interrupt, progress


@dataclass
class Task:
    """A command's words, read.

    ``facts``: of the data, for the JSON file. ``given``: parameters, side constraints, solver and options, as
    ``select`` takes them. ``file``: where the answer is written, if anywhere. ``notes``: what was said of the data.
    ``rows``: components of the model, with the words of ``select`` for them.
    """

    asked: SimpleNamespace
    data: Dataset
    facts: dict[str, Any]
    embedding: Embedding | None
    given: dict[str, Any]
    file: ResultFile | None
    runs_solver: bool
    notes: list[str]
    rows: dict[str, str] = field(default_factory=dict)

    @property
    def shows(self) -> bool:
        """Whether to show what goes on."""
        return not self.asked.quiet


def read(asked: SimpleNamespace) -> Task:
    """Read the data and the words about a model; notes go to standard error at once."""
    file = _result_file(asked)
    data, facts, embedding, notes = loaded(asked, signs=not (asked.quiet and asked.json is None))
    if not asked.quiet:
        show(describe(data) if embedding is None else repr(embedding))
    parameters = {name: getattr(asked, p.name) for name, p in PARAMETERS.items()}
    grids = asked.command == "path"
    parameters["penalty"] = (arguments.penalties if grids else arguments.penalty)(parameters["penalty"], data.features)
    shares = parameters.pop("budget")
    sides = {
        "budget": arguments.budgets(asked.budget, shares, data.features),
        "requires": [arguments.pair(text, data.features, "--requires") for text in asked.requires],
        "excludes": [arguments.pair(text, data.features, "--excludes") for text in asked.excludes],
        **{
            kind: [arguments.group(text, data.features, f"--{kind.replace('_', '-')}") for text in getattr(asked, kind)]
            for kind in ("all_or_none", "at_most", "at_least")
        },
        "force_in": asked.force_in,
        "force_out": asked.force_out,
        "at_most_of_group": [arguments.grouped(text, data) for text in asked.at_most_of_group],
        "hierarchy": asked.hierarchy,
        "signs": arguments.signs(asked.signs, data.features),
        "fair": [arguments.fair(text) for text in asked.fair],
    }
    runs_solver = asked.model not in MODELS or MODELS[asked.model].runs_solver
    given = {**parameters, **sides, "solver": asked.solver, **_options(asked, runs_solver)}
    return Task(asked, data, facts, embedding, given, file, runs_solver, notes)


def loaded(asked: SimpleNamespace, *, signs: bool) -> tuple[Dataset, dict[str, Any], Embedding | None, list[str]]:
    """Return what ``loading.load`` returns, with all notes, which are written to standard error.

    ``signs``: whether any sign of a weight will be shown.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        with interrupt.raising(), progress.shown(not asked.quiet), progress.doing(f"reading {asked.data}"):
            data, facts, embedding, notes = loading.load(asked)
            look(data)
    notes += dict.fromkeys(str(one.message) for one in caught if issubclass(one.category, DataWarning))
    for note in [*notes, *([report.guess(data)] if data.positive_guessed and signs else [])]:
        complain("Note", note)
    return data, facts, embedding, notes


def _options(asked: SimpleNamespace, runs_solver: bool) -> dict[str, Any]:
    """Return the solver's options; those that were not given only where they make sense."""
    options = arguments.solver_options(asked)
    given = {"gap": asked.gap, "seed": asked.seed, "threads": asked.threads}
    limited = "time_limit" in asked.given
    if limited or runs_solver:
        given["time_limit"] = asked.time_limit
    for name, value in given.items():
        if value is not None and name in options and (name != "time_limit" or limited):
            raise OptionError(f"{name} is given twice, by --{name.replace('_', '-')} and --solver-option: keep one.")
        if value is not None:
            options.setdefault(name, value)
    return options


def _result_file(asked: SimpleNamespace) -> ResultFile | None:
    if asked.json is None:
        if asked.force:
            raise OptionError("--force lets the file of --json be replaced: give --json FILE with it.")
        return None
    inputs = [loading.source(asked)[0], *arguments.files(asked)]
    return ResultFile(asked.json, inputs, force=asked.force)


def describe(data: Dataset) -> str:
    """Return the data in a line."""
    positives = int((data.y > 0).sum())
    return (
        f"{data.name}: {data.n_samples} samples x {data.n_features} features, scale {data.scale.method}; class +1 is "
        f"{data.positive_label} ({positives} samples){'' if data.weighting is None else f'; {data.weighting}'}"
        f"{'' if data.imputing is None else f'; filled in {data.imputing}'}"
    )
