"""The data sets that ship with the package: their files, sizes, sources and licences."""

from pathlib import Path

import pandas as pd

from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import DataError
from fsmodels.text import short, suggestion

COLUMNS = ["name", "samples", "features", "positives", "source", "licence"]
BAG_COLUMNS = ["name", "bags", "instances", "attributes", "positives", "source", "licence"]


def data_folder() -> Path:
    """Return the folder of the data files: in the installed package, or next to it in a source tree."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "data", package.parent / "data"):
        if (folder / "sources.csv").is_file():
            return folder
    raise DataError(
        f'The data files of fsmodels are missing: there is no sources.csv in "{package / "data"}" or '
        f'"{package.parent / "data"}". Install the package again with pip install --force-reinstall fsmodels.'
    )


def sources() -> pd.DataFrame:
    """Read the record of each shipped data set (``data/sources.csv``)."""
    return pd.read_csv(data_folder() / "sources.csv", dtype={"name": str}, keep_default_na=False)


def list_datasets() -> pd.DataFrame:
    """Return the data sets that ship with the package; ``list_bags`` returns those with multiple instances.

    Returns
    -------
    pandas.DataFrame
        name, samples, features, positives (samples of class +1), source, licence.

    Examples
    --------
    >>> list_datasets().set_index("name").loc["wdbc", "positives"].item()
    212
    """
    return _of_kind(bags=False)[COLUMNS]


def list_bags() -> pd.DataFrame:
    """Return the sets of bags that ship with the package, for ``fsmodels.instances.load_bags``.

    Returns
    -------
    pandas.DataFrame
        name, bags, instances, attributes, positives (bags of class +1), source, licence.

    Examples
    --------
    >>> list_bags().set_index("name").loc["musk1_bags", "instances"].item()
    476
    """
    table = _of_kind(bags=True).rename(columns={"samples": "bags", "features": "attributes"})
    return table.astype({"instances": int})[BAG_COLUMNS]


def _of_kind(*, bags: bool) -> pd.DataFrame:
    """Return the rows of ``sources()`` for bags, which have a number of instances, or the others."""
    table = sources()
    return table[(table["instances"] != "") == bags].reset_index(drop=True)


def shipped_file(name: str, *, bags: bool = False) -> Path:
    """Return the file of a shipped data set or of bags. Raises DataError: an unknown name, with the nearest one."""
    files = dict(_of_kind(bags=bags)[["name", "file"]].itertuples(index=False))
    if isinstance(name, str) and name in files:
        return data_folder() / files[name]
    if isinstance(name, str) and name in set(_of_kind(bags=not bags)["name"]):
        what, instead = ("no bags", "load_dataset") if bags else ("bags of instances", "fsmodels.instances.load_bags")
        option = "without --bags" if bags else "with --bags bag_id"
        raise DataError(f'"{name}" contains {what}: load it with {instead}("{name}"), on the command line {option}.')
    one, all_of_them = ("is no set of bags", "Sets") if bags else ("is no data set", "Data sets")
    raise DataError(
        f'There {one} "{short(str(name))}". {suggestion(name, files)}{all_of_them}: {", ".join(files)}. '
        "A file of your own is read with Dataset.from_csv(path)."
    )


def with_class_names(data: Dataset, name: str) -> Dataset:
    """Return a shipped data set with the names of its classes, if they are known."""
    names = sources().set_index("name").loc[name, "classes"]
    return data.with_class_names(*str(names).split(",")) if names else data


def load_dataset(name: str) -> Dataset:
    """Load a data set that ships with the package: not scaled, labels -1/+1.

    Parameters
    ----------
    name : str
        One of ``list_datasets()["name"]``, such as "wdbc".

    Raises
    ------
    DataError
        The name is unknown, or is that of bags, which ``fsmodels.instances.load_bags`` loads.

    Examples
    --------
    >>> load_dataset("sonar")
    Dataset('sonar', 208 samples x 60 features, +1: 111 (mine), -1: 97 (rock), scale none)
    """
    return with_class_names(Dataset.from_csv(shipped_file(name)), name)
