"""What a command was asked: data, parameters and side constraints as ``select`` takes them, the file to write."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fsmodels.cli import arguments
from fsmodels.cli.commands import option_of
from fsmodels.cli.output import ResultFile, complain, show
from fsmodels.datasets.checks import on_one_footing
from fsmodels.datasets.dataset import Dataset, DataWarning
from fsmodels.datasets.diagnose import look
from fsmodels.datasets.dialect import Dialect
from fsmodels.datasets.files import LIBSVM, is_svmlight
from fsmodels.datasets.instances import Embedding, embed
from fsmodels.datasets.shipped import list_bags, list_datasets, shipped_file
from fsmodels.errors import DataError, OptionError, ParameterError
from fsmodels.selection import report
from fsmodels.selection.parameters import PARAMETERS
from fsmodels.selection.recipes import MODELS
from fsmodels.selection.selection import Selection
from fsmodels.words import DEFAULT_SCALING
from solvers import interrupt, progress

BAG = "bag_id"
TABLE = [part.name for part in fields(Dialect)]  # options for reading a table
OF_SAMPLES = ["one_hot", "impute", "fair", "interactions", "sample_weight", "class_weight"]
OF_NAMES = ["target", "drop", "bags", "one_hot", "impute", "fair", "interactions", "sample_weight"]


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

    def content(self, found: Selection) -> dict[str, Any]:
        """Return what is written of a selection, with the facts of the data."""
        content = found.to_dict()
        return {**content, "data": {**self.facts, **content["data"]}}

    def announce(self, each: str = "", what: str = "") -> None:
        """Say what begins, and how to stop it; ``each``: what the time limit is for, if not for the whole run."""
        if self.shows and self.runs_solver:
            limit = self.given.get("time_limit")
            words = "" if limit is None else f", at most {limit:g} s for {each}"
            if limit is not None and not each:
                words = f" for at most {limit:g} s"
            kept = "what is done" if each else "the best so far"
            show(f"Solving {what or self.asked.model}{words}; Ctrl-C stops and keeps {kept}")


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
    budgets = [arguments.budget(text, data.features) for text in asked.budget]
    sides = {
        "budget": budgets if shares is None else [shares, *budgets] if budgets else shares,
        **{
            kind: [tuple(arguments.names(text, data.features, f"--{kind}", size=2)) for text in getattr(asked, kind)]
            for kind in ("requires", "excludes")
        },
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
        "rows": asked.rows,
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
            data, facts, embedding, notes = load(asked)
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
    inputs = [source(asked)[0], *arguments.files(asked)]
    return ResultFile(asked.json, inputs, force=asked.force)


def describe(data: Dataset) -> str:
    """Return the data in a line."""
    positives = int((data.y > 0).sum())
    return (
        f"{data.name}: {data.n_samples} samples x {data.n_features} features, scale {data.scale.method}; class +1 is "
        f"{data.positive_label} ({positives} samples){'' if data.weighting is None else f'; {data.weighting}'}"
        f"{'' if data.imputing is None else f'; filled in {data.imputing}'}"
    )


def load(asked: SimpleNamespace) -> tuple[Dataset, dict[str, Any], Embedding | None, list[str]]:
    """Return the data, the facts about them for the JSON file, the embedding where they are bags, and notes.

    Raises DataError, ParameterError: the file, or an option that does not go with it.
    """
    if asked.sigma is not None and asked.bags is None:
        raise ParameterError("--sigma is the width of the similarity to an instance: give --bags COL with it.")
    path, notes = source(asked)
    if is_svmlight(path):
        if os.path.isfile(path):
            _refuse(asked, TABLE, f'is about tables, and "{path}" is in libsvm format: leave it out.')
            why = f'needs columns with names, and the libsvm-format file "{path}" has none: the label is first in each '
            _refuse(asked, OF_NAMES, f"{why}line and features have numbers. Leave it out, or give a table.")
        data = Dataset.from_svmlight(path, asked.positive)
        data = data.weighted(class_weight=arguments.class_weight(asked.class_weight))
        return on_one_footing(data, asked.scale), {"path": str(path), "target": None, "dropped": []}, None, notes
    facts = {"path": str(path), "target": asked.target, "dropped": asked.drop}
    groups = list(dict.fromkeys(arguments.fair(text)[0] for text in asked.fair))
    if asked.keep_fair and not groups:
        raise ParameterError("--keep-fair keeps the columns of --fair as features: give --fair COL:LIMIT with it.")
    if asked.bags is not None:
        _refuse(asked, OF_SAMPLES, "is about samples, and the rows are instances of --bags: leave one of them out.")
        rows = Dataset.from_csv(path, asked.target, asked.positive, asked.drop, asked.bags, **dialect(asked))
        embedding = embed(rows.scaled(asked.scale or DEFAULT_SCALING), asked.sigma, bag=asked.bags)
        return embedding.data, {**facts, "bag": asked.bags, **embedding.facts()}, embedding, notes
    beside = [] if asked.keep_fair else groups
    made = {"one_hot": asked.one_hot, "impute": asked.impute}
    data = Dataset.from_csv(path, asked.target, asked.positive, asked.drop, beside, **dialect(asked), **made)
    data = data.weighted(asked.sample_weight, arguments.class_weight(asked.class_weight))
    data = on_one_footing(arguments.with_interactions(data, asked.interactions), asked.scale)
    data = data.set_aside(*groups, keep=True) if asked.keep_fair else data
    if BAG in data.features:
        notes.append(f'"{BAG}" is taken as a feature: give --bags {BAG} if the rows are instances of bags.')
    return data, facts, None, notes


def dialect(asked: SimpleNamespace) -> dict[str, Any]:
    """Return what the words say of how a table is read."""
    return {name: getattr(asked, name) for name in TABLE}


def source(asked: SimpleNamespace) -> tuple[Path, list[str]]:
    """Return the file that DATA names, here or shipped, and notes on it. Raises DataError if there is none."""
    of_bags = asked.bags is not None
    shipped = set((list_bags() if of_bags else list_datasets())["name"])
    path = Path(asked.data)
    if os.path.isfile(path):
        hides = asked.data in shipped
        return path, [f'reading the file "{asked.data}" here, not the shipped data set of that name.'] if hides else []
    if asked.data not in shipped and (path.suffix or os.path.exists(path) or len(path.parts) > 1):
        return path, []
    try:
        return shipped_file(asked.data, bags=of_bags), []
    except DataError as error:
        names = [f"{path}{suffix}{packed}" for suffix in (".csv", *LIBSVM) for packed in ("", ".gz")]
        beside = [name for name in names if os.path.isfile(name)]
        remedy = "Nor is there a file of that name: give the path of a CSV file."
        if beside:
            remedy = f'Did you mean the file "{beside[0]}" here?'
        reader = "A file of your own is read with Dataset.from_csv(path)."
        raise DataError(str(error).replace(reader, remedy)) from None


def _refuse(asked: SimpleNamespace, names: Sequence[str], why: str) -> None:
    """Refuse the first of some options that was typed."""
    for name in names:
        if name in asked.given:
            raise ParameterError(f"{option_of(name, asked)} {why}")
