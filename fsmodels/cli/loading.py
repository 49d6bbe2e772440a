"""What the command line reads: a CSV or libsvm-format file, a shipped data set, or bags of instances; scaled."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fsmodels.cli.arguments import class_weight, fair, with_interactions
from fsmodels.datasets.checks import on_one_footing
from fsmodels.datasets.dataset import Dataset
from fsmodels.datasets.dialect import Dialect
from fsmodels.datasets.files import LIBSVM, exists, is_file
from fsmodels.datasets.instances import Embedding, embed
from fsmodels.datasets.shipped import list_bags, list_datasets, shipped_file
from fsmodels.datasets.svmlight import is_svmlight
from fsmodels.errors import DataError, ParameterError
from fsmodels.words import DEFAULT_SCALING

_NO_FILE = "Nor is there a file of that name: give the path of a CSV file"
BAG = "bag_id"


def load(asked: SimpleNamespace) -> tuple[Dataset, dict[str, Any], Embedding | None, list[str]]:
    """Return the data, the facts about them for the JSON file, the embedding where they are bags, and notes.

    Raises DataError, ParameterError: the file, or an option that does not go with it.
    """
    if asked.sigma is not None and asked.bags is None:
        raise ParameterError("--sigma is the width of the similarity to an instance: give --bags COL with it.")
    path, notes = source(asked)
    if is_svmlight(path):
        if is_file(path):
            _check_sparse(asked, path)
        data = Dataset.from_svmlight(path, asked.positive).weighted(class_weight=class_weight(asked.class_weight))
        data = on_one_footing(data, asked.scale)
        return data, {"path": str(path), "target": None, "dropped": []}, None, notes
    facts = {"path": str(path), "target": asked.target, "dropped": asked.drop}
    groups = list(dict.fromkeys(fair(text)[0] for text in asked.fair))
    if asked.keep_fair and not groups:
        raise ParameterError("--keep-fair keeps the columns of --fair as features: give --fair COL:LIMIT with it.")
    if asked.bags is not None:
        if asked.interactions:
            raise ParameterError("--interactions multiplies columns of samples, and --bags has none: leave one out.")
        if asked.one_hot or asked.impute is not None:
            option = "--one-hot" if asked.one_hot else "--impute"
            raise ParameterError(f"{option} makes columns of samples, and rows are instances of --bags: leave one out.")
        if groups:
            raise ParameterError("--fair is about groups of samples, and rows are instances of --bags: leave one out.")
        if asked.sample_weight is not None or asked.class_weight:
            raise ParameterError(
                "--class-weight and --sample-weight are about samples, and rows are instances of --bags, whose model "
                "weighs none: leave them out."
            )
        rows = Dataset.from_csv(path, asked.target, asked.positive, asked.drop, asked.bags, **dialect(asked))
        embedding = embed(rows.scaled(asked.scale or DEFAULT_SCALING), asked.sigma, bag=asked.bags)
        return embedding.data, {**facts, "bag": asked.bags, **embedding.facts()}, embedding, notes
    beside = [] if asked.keep_fair else groups
    data = Dataset.from_csv(path, asked.target, asked.positive, asked.drop, beside, **dialect(asked), **making(asked))
    data = data.weighted(asked.sample_weight, class_weight(asked.class_weight))
    data = on_one_footing(with_interactions(data, asked.interactions), asked.scale)
    data = data.set_aside(*groups, keep=True) if asked.keep_fair else data
    if BAG in data.features:
        notes.append(f'"{BAG}" is taken as a feature: give --bags {BAG} if the rows are instances of bags.')
    return data, facts, None, notes


def dialect(asked: SimpleNamespace) -> dict[str, Any]:
    """Return what the words say of how a table is read."""
    return {part.name: getattr(asked, part.name) for part in fields(Dialect)}


def making(asked: SimpleNamespace) -> dict[str, Any]:
    """Return what the words say of columns that are made."""
    return {"one_hot": asked.one_hot, "impute": asked.impute}


def source(asked: SimpleNamespace) -> tuple[Path, list[str]]:
    """Return the file that DATA names, here or shipped, and notes on it. Raises DataError if there is none."""
    of_bags = asked.bags is not None
    shipped = set((list_bags() if of_bags else list_datasets())["name"])
    path = Path(asked.data)
    if is_file(path):
        hides = asked.data in shipped
        return path, [f'reading the file "{asked.data}" here, not the shipped data set of that name.'] if hides else []
    if asked.data not in shipped and (path.suffix or exists(path) or len(path.parts) > 1):
        return path, []
    try:
        return shipped_file(asked.data, bags=of_bags), []
    except DataError as error:
        names = [f"{path}{suffix}{packed}" for suffix in (".csv", *LIBSVM) for packed in ("", ".gz")]
        beside = [name for name in names if is_file(Path(name))]
        remedy = f'Did you mean the file "{beside[0]}" here?' if beside else f"{_NO_FILE}."
        reader = "A file of your own is read with Dataset.from_csv(path)."
        raise DataError(str(error).replace(reader, remedy)) from None


def _check_sparse(asked: SimpleNamespace, path: Path) -> None:
    """Refuse what needs columns with names."""
    if said := Dialect(**dialect(asked)).told:
        raise ParameterError(
            f'--{next(iter(said))} says how a table is read, and "{path}" is in libsvm format: leave it out.'
        )
    given = {
        "--fair": asked.fair, "--interactions": asked.interactions, "--bags": asked.bags is not None,
        "--drop": asked.drop, "--one-hot": asked.one_hot, "--impute": asked.impute,
        "--sample-weight": asked.sample_weight is not None,
        "--target": asked.target != "target",
    }  # fmt: skip
    if option := next((name for name, value in given.items() if value), ""):
        raise ParameterError(
            f'{option} needs columns with names, and the libsvm-format file "{path}" has none: the label is '
            f"first in each line and features have numbers. Leave {option} out"
            f"{', or give a file without these features' if asked.drop else ''}."
        )
