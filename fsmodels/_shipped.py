"""The data sets that ship with the package: where their files are and where they come from."""

from pathlib import Path

import pandas as pd

from fsmodels._messages import suggestion
from fsmodels.errors import DataError

COLUMNS = ["name", "samples", "features", "positives", "source", "licence"]


def data_folder() -> Path:
    """Find the data files: inside the installed package, or beside it in a source tree."""
    package = Path(__file__).resolve().parent
    for folder in (package / "data", package.parent / "data"):
        if (folder / "sources.csv").is_file():
            return folder
    raise DataError(
        f'The data files of fsmodels are missing: looked for sources.csv in "{package / "data"}" and '
        f'"{package.parent / "data"}". Install the package again with pip install --force-reinstall fsmodels.'
    )


def sources() -> pd.DataFrame:
    """Read all that is recorded about each shipped data set (``data/sources.csv``)."""
    return pd.read_csv(data_folder() / "sources.csv", dtype={"name": str}, keep_default_na=False)


def list_datasets() -> pd.DataFrame:
    """List the data sets that ship with the package.

    Returns
    -------
    pandas.DataFrame
        name, samples, features, positives (samples of class +1), source, licence.

    Examples
    --------
    >>> list_datasets().set_index("name").loc["wdbc", "positives"].item()
    212
    """
    return sources()[COLUMNS]


def shipped_file(name: str) -> Path:
    """Path of a shipped data set by name; an unknown name is refused with the nearest one."""
    files = dict(sources()[["name", "file"]].itertuples(index=False))
    if name not in files:
        raise DataError(
            f'There is no data set "{name}". {suggestion(name, files)}Data sets: {", ".join(files)}. '
            "A file of your own is read with Dataset.from_csv(path)."
        )
    return data_folder() / files[name]
