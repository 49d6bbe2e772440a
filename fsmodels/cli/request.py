"""Data, parameters and side constraints of a command as arguments of ``select``, and the file to write."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fsmodels.cli import arguments
from fsmodels.cli.commands import option_of
from fsmodels.cli.output import ResultFile, complain, show
from fsmodels.datasets.checks import apply_scaling
from fsmodels.datasets.dataset import Dataset
from fsmodels.datasets.diagnose import warn_once
from fsmodels.datasets.files import LIBSVM, is_svmlight
from fsmodels.datasets.instances import Embedding, embed
from fsmodels.datasets.shipped import list_bags, list_datasets, shipped_file, with_class_names
from fsmodels.datasets.tables import TABLE_OPTIONS
from fsmodels.errors import DataError, DataWarning, OptionError, ParameterError
from fsmodels.selection import report
from fsmodels.selection.catalogue import find
from fsmodels.selection.parameters import PARAMETERS
from fsmodels.selection.rows import first_features, read_rows
from fsmodels.selection.selection import Selection
from fsmodels.text import DEFAULT_SCALING
from solvers import interrupt, progress
from solvers.user_warnings import warn

BAG = "bag_id"
FEATURES = 5  # limit of the default model without --max-features
BY_DEFAULT = ("select", "report", "app")  # commands that have this limit
OF_SAMPLES = ["one_hot", "impute", "fair", "interactions", "sample_weight", "class_weight"]
OF_NAMES = ["target", "drop", "bags", "one_hot", "impute", "fair", "interactions", "sample_weight"]


@dataclass
class Task:
    """Data and arguments of a command.

    ``facts``: of the data, for the JSON file. ``given``: parameters, side constraints, solver and options as arguments
    of ``select``. ``file``: the file of the answer, if any. ``notes``: warnings about the data. ``rows``: components of
    the model, with their keywords of ``select``.
    """

    args: SimpleNamespace
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
        """True if progress is shown."""
        return not self.args.quiet

    def content(self, found: Selection) -> dict[str, Any]:
        """Return the JSON content of a selection, with the facts of the data."""
        content = found.to_dict()
        return {**content, "data": {**self.facts, **content["data"]}}

    def write(self, content: dict[str, Any], *, solved: bool = True) -> None:
        """Write an answer to the file of --json, if it is given; errors as ``ResultFile.write``."""
        if self.file is not None:
            self.file.write(content, has_solution=solved)

    def show_files(self) -> None:
        """Report the written files."""
        for file in (self.args.json, getattr(self.args, "picture", None)):
            if file is not None:
                show(f"\nWritten to {file}")

    def announce(self, each: str = "", what: str = "") -> None:
        """Announce a run and its time limit; ``each``: the unit of the time limit, if not the whole run."""
        if self.shows and self.runs_solver:
            limit = self.given.get("time_limit")
            words = "" if limit is None else f", at most {limit:g} s for {each}"
            if limit is not None and not each:
                words = f" for at most {limit:g} s"
            kept = "what is done" if each else "the best so far"
            show(f"Solving {what or self.args.model}{words}; Ctrl-C stops and keeps {kept}")


def read(args: SimpleNamespace) -> Task:
    """Read the data and the options of a model; warnings go to standard error at once."""
    spec = find(args.model)
    file = _result_file(args)
    data, facts, embedding, notes = loaded(args, signs=not (args.quiet and args.json is None))
    if not args.quiet:
        show(describe(data) if embedding is None else repr(embedding))
    parameters = {name: getattr(args, p.name) for name, p in PARAMETERS.items()}
    grids = args.command == "path"
    if parameters["max_features"] is None and args.command in BY_DEFAULT and "model" not in args.given:
        parameters["max_features"] = min(FEATURES, data.n_features)
        complain("Note", f"At most {parameters['max_features']} features are selected: --max-features gives the limit.")
    parameters["penalty"] = (arguments.penalties if grids else arguments.penalty)(parameters["penalty"], data.features)
    names = [*data.features, *first_features(data)]
    shares = parameters.pop("budget")
    budgets = [arguments.budget(text, names) for text in args.budget]
    sides = {
        "budget": budgets if shares is None else [shares, *budgets] if budgets else shares,
        **{
            kind: [tuple(arguments.names(text, names, f"--{kind}", size=2)) for text in getattr(args, kind)]
            for kind in ("requires", "excludes")
        },
        **{
            kind: [arguments.group(text, names, f"--{kind.replace('_', '-')}") for text in getattr(args, kind)]
            for kind in ("all_or_none", "at_most", "at_least")
        },
        "force_in": args.force_in,
        "force_out": args.force_out,
        "at_most_of_group": [arguments.grouped(text, data, names) for text in args.at_most_of_group],
        "hierarchy": args.hierarchy,
        "signs": arguments.signs(args.signs, data.features),
        "fair": [arguments.fair(text) for text in args.fair],
        "rows": args.rows,
    }
    named = {kind: value for kind, value in sides.items() if kind not in ("budget", "fair")}
    read_rows(spec, named, data, limited=True)  # errors come before a run is announced
    given = {**parameters, **sides, "solver": args.solver, **_options(args, spec.runs_solver)}
    return Task(args, data, facts, embedding, given, file, spec.runs_solver, notes)


def loaded(args: SimpleNamespace, *, signs: bool) -> tuple[Dataset, dict[str, Any], Embedding | None, list[str]]:
    """Return the result of ``load`` and the warnings about the data, which are written to standard error.

    ``signs``: True if a sign of a weight will be shown.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        with interrupt.raising(), progress.shown(not args.quiet), progress.doing(f"reading {args.data}"):
            data, facts, embedding = load(args)
            if args.class_names is not None:
                data = data.with_class_names(*arguments.class_names(args.class_names))
            elif is_shipped(args) and not args.given.intersection(("target", "positive")):
                data = with_class_names(data, args.data)
            facts["class_names"] = data.class_names
            warn_once(data)
    notes = list(dict.fromkeys(str(one.message) for one in caught if issubclass(one.category, DataWarning)))
    for note in [*notes, *([report.guess(data)] if data.positive_guessed and signs else [])]:
        complain("Note", note)
    return data, facts, embedding, notes


def _options(args: SimpleNamespace, runs_solver: bool) -> dict[str, Any]:
    """Return the options of the solver; defaults only for models that run a solver."""
    options = arguments.solver_options(args)
    given = {"gap": args.gap, "seed": args.seed, "threads": args.threads}
    limited = "time_limit" in args.given
    if limited or runs_solver:
        given["time_limit"] = args.time_limit
    for name, value in given.items():
        if value is not None and name in options and (name != "time_limit" or limited):
            raise OptionError(f"{name} is given twice, by --{name.replace('_', '-')} and --solver-option: keep one.")
        if value is not None:
            options.setdefault(name, value)
    return options


def _result_file(args: SimpleNamespace) -> ResultFile | None:
    if args.json is None:
        if args.force:
            raise OptionError("--force replaces the file of --json: give --json FILE with it.")
        return None
    return ResultFile(args.json, [source(args), *arguments.files(args)], force=args.force)


def describe(data: Dataset) -> str:
    """Return a line about the data."""
    positives = int((data.y > 0).sum())
    return (
        f"{data.name}: {data.n_samples} samples x {data.n_features} features, scale {data.scale.method}; class +1 is "
        f"{data.classes[0]} ({positives} samples){'' if data.weighting is None else f'; {data.weighting}'}"
        f"{'' if data.imputing is None else f'; imputed {data.imputing}'}"
    )


def load(args: SimpleNamespace) -> tuple[Dataset, dict[str, Any], Embedding | None]:
    """Return the data, their facts for the JSON file, and the embedding of bags.

    Raises DataError, ParameterError: the file, or an option that does not apply to it.
    """
    if args.sigma is not None and args.bags is None:
        raise ParameterError("--sigma is the width of the similarity of a bag: give --bags COL with it.")
    path = source(args)
    if args.data in _shipped(args) and not is_shipped(args):
        warn(f'reading the local file "{args.data}", not the shipped data set of that name.', DataWarning)
    if is_svmlight(path):
        if os.path.isfile(path):
            _refuse(args, TABLE_OPTIONS, f'is for tables, and "{path}" is in libsvm format: leave it out.')
            why = f'needs columns with names, and the libsvm-format file "{path}" has none: the label is first in each '
            _refuse(args, OF_NAMES, f"{why}line and features have numbers. Leave it out, or give a table.")
        data = Dataset.from_svmlight(path, args.positive)
        data = data.weighted(class_weight=arguments.class_weight(args.class_weight))
        return apply_scaling(data, args.scale), {"path": str(path), "target": None, "dropped": []}, None
    facts = {"path": str(path), "target": args.target, "dropped": args.drop}
    groups = list(dict.fromkeys(arguments.fair(text)[0] for text in args.fair))
    if args.keep_fair and not groups:
        raise ParameterError("--keep-fair keeps the columns of --fair as features: give --fair COL:LIMIT with it.")
    if args.bags is not None:
        _refuse(args, OF_SAMPLES, "is for samples, and the rows are instances of --bags: leave one of them out.")
        rows = Dataset.from_csv(path, args.target, args.positive, args.drop, args.bags, **dialect(args))
        embedding = embed(rows.scaled(args.scale or DEFAULT_SCALING), args.sigma, bag=args.bags)
        return embedding.data, {**facts, "bag": args.bags, **embedding.facts()}, embedding
    aside = [] if args.keep_fair else groups
    made = {"one_hot": args.one_hot, "impute": args.impute}
    data = Dataset.from_csv(path, args.target, args.positive, args.drop, aside, **dialect(args), **made)
    data = data.weighted(args.sample_weight, arguments.class_weight(args.class_weight))
    data = apply_scaling(arguments.with_interactions(data, args.interactions), args.scale)
    data = data.set_aside(*groups, keep=True) if args.keep_fair else data
    if BAG in data.features:
        warn(f'"{BAG}" is used as a feature: give --bags {BAG} if the rows are instances of bags.', DataWarning)
    return data, facts, None


def dialect(args: SimpleNamespace) -> dict[str, Any]:
    """Return the options for reading a table."""
    return {name: getattr(args, name) for name in TABLE_OPTIONS}


def _shipped(args: SimpleNamespace) -> set[str]:
    """Return the names of the shipped data sets, or of the bags for ``--bags``."""
    return set((list_datasets() if args.bags is None else list_bags())["name"])


def is_shipped(args: SimpleNamespace) -> bool:
    """Return True if DATA is the name of a shipped data set and not of a local file."""
    return args.data in _shipped(args) and not os.path.isfile(args.data)


def source(args: SimpleNamespace) -> Path:
    """Return the local or shipped file of DATA. Raises DataError: there is none."""
    path = Path(args.data)
    if os.path.isfile(path):
        return path
    if args.data not in _shipped(args) and (path.suffix or os.path.exists(path) or len(path.parts) > 1):
        return path
    try:
        return shipped_file(args.data, bags=args.bags is not None)
    except DataError as error:
        names = [f"{path}{suffix}{packed}" for suffix in (".csv", *LIBSVM) for packed in ("", ".gz")]
        similar = [name for name in names if os.path.isfile(name)]
        remedy = "There is no file of that name either: give the path of a CSV file."
        if similar:
            remedy = f'Did you mean the local file "{similar[0]}"?'
        reader = "A file of your own is read with Dataset.from_csv(path)."
        raise DataError(str(error).replace(reader, remedy)) from None


def _refuse(args: SimpleNamespace, names: Sequence[str], why: str) -> None:
    """Raise ParameterError for the first of some options that is given."""
    for name in names:
        if name in args.given:
            raise ParameterError(f"{option_of(name, args)} {why}")
