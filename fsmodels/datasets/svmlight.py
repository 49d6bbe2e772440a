"""Files in the format of SVMlight and libsvm, ``LABEL INDEX:VALUE INDEX:VALUE ...``, which scikit-learn reads."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fsmodels.checks import whole
from fsmodels.datasets.files import LIBSVM, check_file, check_fits, content
from fsmodels.errors import DataError
from fsmodels.words import as_names, short

MOST_FEATURES = 50_000_000
FEATURE = 130  # bytes of memory for a feature without entries: most of them for its name
FORM = "each line is LABEL INDEX:VALUE INDEX:VALUE ..., all numbers, with the indices ascending"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read(
    path: Path, n_features: int | None, features: Sequence[str] | None
) -> tuple[Any, NDArray[np.float64], list[str]]:
    """Return matrix, labels and names of a file; arguments and errors are those of ``Dataset.from_svmlight``."""
    width = None
    if n_features is not None:
        width = whole("n_features", n_features, 1, MOST_FEATURES, "it is the number of columns")
    if features is not None:
        features = as_names(features, "features")
        if width not in (None, len(features)):
            raise DataError(
                f"features has {len(features)} names for n_features={width} columns: give one name a column."
            )
        width = len(features)
    X, labels = _parsed(path)
    if not len(labels):
        raise DataError(f'File "{path}" has no samples: {FORM}.')
    if not len(X.indices) and width is None:
        raise DataError(
            f'File "{path}" has labels and no INDEX:VALUE entry, so no features: add entries, or say how many columns '
            "of zeros there are with n_features."
        )
    # As scikit-learn has it: no index 0 in the file means that it counts from 1.
    first = int(X.indices.min(initial=1) > 0)
    largest = int(X.indices.max(initial=0))
    needed = largest - first + 1
    if width is None:
        width = needed
    elif needed > width:
        row = int(np.searchsorted(X.indptr, np.argmax(X.indices), side="right"))
        given = f"n_features={width}" if features is None else f"features, with {width} names,"
        raise DataError(
            f'Sample {row} of file "{path}" has index {largest}, and {given} allows {first}..{width - 1 + first}: '
            f"give {needed} or more, or leave it out."
        )
    if width > MOST_FEATURES:
        raise DataError(
            f'File "{path}" has index {largest} and so {width} features, above the {MOST_FEATURES} that are allowed: '
            "number the features that occur anew."
        )
    check_fits(path, FEATURE * width)
    names = [f"x{j}" for j in range(first, first + width)] if features is None else list(features)
    return sparse.csr_array((X.data, X.indices - first, X.indptr), shape=(len(labels), width)), labels, names


def _parsed(path: Path) -> tuple[Any, NDArray[np.float64]]:
    """Let scikit-learn read the file; column numbers are those of the file, with column 0 empty where it has none."""
    check_file(path, "libsvm-format", LIBSVM)
    # scikit-learn takes over a second to import and loading or building needs none of it
    from sklearn.datasets import load_svmlight_file

    stream = io.BytesIO(content(path).removeprefix(BYTE_ORDER_MARK))
    try:
        X, labels = load_svmlight_file(stream, zero_based=True)
    except (ValueError, OverflowError) as error:  # at the line that ends where the stream is
        lines = stream.getvalue()[: stream.tell()].split(b"\n")
        line = lines[-1] or lines[-2]
        shown, reason = short(repr(line.strip())[2:-1]), str(error).rstrip(".")[:80]
        table = b"," in line and b":" not in line
        csv = ' If it is a CSV file, use Dataset.from_csv, and a name that ends in ".csv".' if table else ""
        raise DataError(
            f'Line {len(lines) - (not lines[-1])} of file "{path}" is malformed ("{shown}": {reason}). In a '
            f"libsvm-format file {FORM}.{csv}"
        ) from None
    wrong = np.flatnonzero(~np.isfinite(labels))
    if len(wrong):
        raise DataError(
            f'The label of sample {wrong[0] + 1} of file "{path}" is {labels[wrong[0]]}: give a finite number or '
            "remove the sample."
        )
    return X, labels
