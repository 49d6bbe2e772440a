"""Random parts: rows with the classes in proportion, by scikit-learn."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsmodels.checks import number, whole
from fsmodels.errors import DataError, ParameterError
from fsmodels.text import shown
from fsmodels.weights import FloatArray

Rows = NDArray[np.intp]


def split_rows(y: FloatArray, train: float, validation: float, test: float, seed: int) -> dict[str, Rows]:
    """Return the rows of three parts by name, in the order of the data; sizes are rounded, and train has the rest."""
    fractions = {what: number(part) for what, part in (("train", train), ("validation", validation), ("test", test))}
    check_seed(seed)
    if not all(0 <= part <= 1 for part in fractions.values()) or abs(sum(fractions.values()) - 1) > 1e-9:
        raise ParameterError(
            f"train={shown(train)}, validation={shown(validation)}, test={shown(test)} add up to "
            f"{sum(fractions.values()):g}: give fractions from 0 to 1 that add up to 1."
        )
    if train == 0:
        raise ParameterError("train=0 leaves no sample to learn from: give a fraction above 0.")
    parts = {"train": np.arange(len(y))}
    for what in ("test", "validation"):
        parts["train"], parts[what] = _stratified(parts["train"], y, round(fractions[what] * len(y)), seed)
    for what, fraction in fractions.items():
        if fraction and len(np.unique(y[parts[what]])) < 2:
            raise DataError(
                f"{what}={fraction} is too small for a sample of each class: the smaller class has "
                f"{smaller_class(y)} of {len(y)} samples. Give larger fractions or more samples."
            )
    return {what: parts[what] for what in fractions}


def fold_rows(y: FloatArray, k: int, seed: int, name: str = "k") -> list[tuple[Rows, Rows]]:
    """Return (training rows, held-out rows) of each of k folds; ``name``: the parameter in messages."""
    from sklearn.model_selection import StratifiedKFold  # the import takes more than a second

    check_seed(seed)
    fewest = smaller_class(y)
    if fewest < 2:
        raise ParameterError(
            f"{name}={shown(k)} is not allowed: folds need 2 samples of each class, and one class has {fewest}. "
            "Add samples."
        )
    whole(name, k, 2, fewest, f"each fold needs both classes, and the smaller class has {fewest} samples")
    return list(StratifiedKFold(k, shuffle=True, random_state=seed).split(np.zeros(len(y)), y))


def check_seed(seed: object) -> None:
    """Raise ParameterError for a value that scikit-learn does not accept as a seed."""
    whole("seed", seed, 0, 2**32 - 1, "it determines which samples are drawn")


def smaller_class(y: FloatArray) -> int:
    """Return the number of samples of the smaller class."""
    return int(min((y > 0).sum(), (y < 0).sum()))


def _stratified(rows: Rows, y: FloatArray, size: int, seed: int) -> tuple[Rows, Rows]:
    """Draw ``size`` stratified rows; return the other rows and these."""
    from sklearn.model_selection import train_test_split

    if size == 0:
        return rows, rows[:0]
    try:
        others, drawn = train_test_split(rows, test_size=size, stratify=y[rows], random_state=seed)
    except ValueError:  # too few of a class; the caller raises the error with its numbers
        return rows, rows[:0]
    return np.sort(others), np.sort(drawn)


def row_index(rows: ArrayLike, n_samples: int) -> Rows:
    """Return checked row positions, from positions or from a mask."""
    index = np.asarray(rows)
    if index.dtype == bool:
        if index.shape != (n_samples,):
            raise DataError(f"The mask has shape {index.shape}: give {n_samples} booleans, one for each row.")
        return np.flatnonzero(index)
    if index.size == 0:
        return np.zeros(0, dtype=np.intp)
    if index.ndim != 1 or index.dtype.kind not in "iu":
        raise DataError(f"Rows {index!r} are not whole numbers: give row positions or a mask of booleans.")
    outside = index[(index < -n_samples) | (index >= n_samples)]
    if outside.size:
        raise DataError(f"There is no row {outside[0]}: rows are numbered 0..{n_samples - 1}.")
    return index.astype(np.intp)
