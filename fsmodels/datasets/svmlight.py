"""Files in the format of SVMlight and libsvm, ``LABEL INDEX:VALUE INDEX:VALUE ...``.

scikit-learn reads them from a stream that counts its lines, so that an error names the line. Nothing is made dense.
"""

import gzip
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from fsmodels.datasets import decimals, intake, repeats
from fsmodels.datasets.files import available_memory, check_file, check_fits
from fsmodels.datasets.origin import Origin
from fsmodels.errors import DataError, ParameterError
from fsmodels.words import listed, short

SUFFIXES = (".svm", ".svmlight", ".libsvm")
NAMED = 5  # columns that a remark names; sets of words have thousands that are empty or equal
MOST_FEATURES = 50_000_000
FEATURE = 130  # bytes of memory for a feature without entries: most of them for its name
FORM = "each line is LABEL INDEX:VALUE INDEX:VALUE ..., all numbers, with the indices ascending"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def is_svmlight(path: Path) -> bool:
    """Tell by its name whether a file is in this format, plain or gzipped."""
    return path.name.lower().removesuffix(".gz").endswith(SUFFIXES)


def title(path: Path) -> str:
    """Name the data after their file."""
    name = path.name.removesuffix(".gz")
    return next((name.removesuffix(suffix) for suffix in SUFFIXES if name.endswith(suffix)), name)


class _CountedLines:
    """The lines of a file without a byte-order mark, and where the reader is.

    Raises DataError: the file holds more bytes than there are for its entries, which need about one for each.
    """

    def __init__(self, stream: IO[bytes], path: Path) -> None:
        self._stream, self._path, self._available = stream, path, available_memory()
        self.number, self.line = 0, b""

    def __iter__(self) -> Iterator[bytes]:
        size, most = 0, int(min(self._available, sys.maxsize - 1)) + 1
        while line := self._stream.readline(most):  # a line can be the whole file
            size += len(line)
            check_fits(self._path, size, self._available)
            self.number += 1
            self.line = line.removeprefix(BYTE_ORDER_MARK) if self.number == 1 else line
            yield self.line

    def read(self, size: int = -1) -> bytes:
        """Read bytes; scikit-learn takes what has this method for a stream, and then asks for the lines."""
        return self._stream.read(size)


def read(path: Path, positive: object, n_features: int | None, features: Sequence[str] | None) -> intake.Intake:
    """Read a file; arguments and errors are those of ``Dataset.from_svmlight``."""
    names, width = _wanted(n_features, features)
    X, labels = _parsed(path)
    if X.shape[0] == 0:
        raise DataError(f'File "{path}" has no samples: {FORM}.')
    _check_finite(X, labels, path)
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
    y, negative, chosen = _signed(labels, positive, path)
    narrow = np.int32 if max(width, len(X.data)) <= np.iinfo(np.int32).max else np.int64
    indices = (X.indices - first).astype(narrow)
    X = sparse.csr_array((X.data, indices, X.indptr.astype(narrow)), shape=(X.shape[0], width))
    X.eliminate_zeros()
    if names is None:
        names = tuple(f"x{j}" for j in range(first, first + width))
    remarks, guess = repeats.uninformative(X, names, NAMED), intake.is_guess(positive, negative, chosen)
    return intake.Intake(X, y, names, negative, chosen, remarks, guess)


def _wanted(n_features: int | None, features: Sequence[str] | None) -> tuple[tuple[str, ...] | None, int | None]:
    """Check names and number of the columns, where they are given."""
    if n_features is not None:
        whole = isinstance(n_features, int | np.integer) and not isinstance(n_features, bool)
        if not whole or not 1 <= n_features <= MOST_FEATURES:
            raise ParameterError(
                f"n_features={n_features!r} is not allowed: give a whole number in 1..{MOST_FEATURES}, or leave it out "
                "to take the largest index of the file."
            )
        n_features = int(n_features)
    if features is None:
        return None, n_features
    names = tuple(str(name) for name in ([features] if isinstance(features, str) else features))
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise DataError(f"Names stand twice in features: {listed(twice)}. Give each column a name of its own.")
    if not names or n_features not in (None, len(names)):
        columns = "the columns" if n_features is None else f"n_features={n_features} columns"
        raise DataError(f"features has {len(names)} names for {columns}: give one name a column.")
    return names, len(names)


def _parsed(path: Path) -> tuple[Any, NDArray[np.float64]]:
    """Let scikit-learn read the file; column numbers are those of the file, with column 0 empty where it has none."""
    check_file(path, "libsvm-format", lambda name: is_svmlight(Path(name)))
    # scikit-learn takes over a second to import and loading or building needs none of it
    from sklearn.datasets import load_svmlight_file

    try:
        with path.open("rb") as file:
            stream: Any = gzip.GzipFile(fileobj=file) if file.peek(2).startswith(b"\x1f\x8b") else file
            lines = _CountedLines(stream, path)
            try:
                X, labels = load_svmlight_file(lines, zero_based=True)
            except DataError:
                raise
            except (ValueError, OverflowError) as error:
                raise _malformed(path, lines, error) from None
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(
            f'File "{path}" cannot be read ({error}): check that it is complete and that you may read it.'
        ) from None
    return X, labels


def _malformed(path: Path, lines: _CountedLines, error: Exception) -> DataError:
    """Build the error for the line at which scikit-learn stopped."""
    shown, reason = short(repr(lines.line.strip())[2:-1]), str(error).rstrip(".")[:80]
    table = b"," in lines.line and b":" not in lines.line
    csv = ' If it is a CSV file, use Dataset.from_csv, and a name that ends in ".csv".' if table else ""
    return DataError(
        f'Line {lines.number} of file "{path}" is malformed ("{shown}": {reason}). In a libsvm-format file {FORM}.{csv}'
    )


def _check_finite(X: Any, labels: NDArray[np.float64], path: Path) -> None:
    bad = np.flatnonzero(~np.isfinite(labels))
    if len(bad):
        raise DataError(
            f'The label of sample {bad[0] + 1} of file "{path}" is {labels[bad[0]]}'
            f"{f' ({len(bad)} such samples)' if len(bad) > 1 else ''}: give a finite number or remove the sample."
        )
    bad = np.flatnonzero(~np.isfinite(X.data))
    if len(bad):
        rows = np.unique(np.searchsorted(X.indptr, bad, side="right"))
        many = f"; {len(bad)} such values in {len(rows)} sample{'s' if len(rows) > 1 else ''} in all"
        raise DataError(
            f'Sample {rows[0]} of file "{path}" has the value {X.data[bad[0]]} at index '
            f"{X.indices[bad[0]]}{many if len(bad) > 1 else ''}: give finite numbers, or remove the entry "
            "(which then counts as 0) or the sample."
        )


def _signed(labels: NDArray[np.float64], positive: object, path: Path) -> tuple[Any, object, object]:
    """Map labels to -1 and +1 as those of a CSV file; the errors are in the words of this format."""
    found = [int(value) if value == int(value) else value for value in np.unique(labels).tolist()]
    if positive is None and len(found) > 2:
        wrong = " (are they values to predict? That is regression)" if len(found) > intake.MANY_LABELS else ""
        raise DataError(
            f'File "{path}" has {len(found)} labels ({listed(found)}){wrong}: name the one that becomes +1 with '
            "--positive (Python: positive=); all others become -1."
        )
    if positive is not None:
        wanted = float(positive) if isinstance(positive, bool | np.bool_) else decimals.number(str(positive))
        if wanted not in found:
            raise DataError(
                f'positive="{positive}" is not a label of file "{path}". Its labels are {listed(found)}: give one of '
                "them with --positive (Python: positive=)."
            )
    if len(found) == 1:
        raise DataError(
            f'File "{path}" has the one label {found[0]} in all {len(labels)} lines: a classifier needs samples of two '
            "classes; add samples of the other class."
        )
    return intake.signed_labels(pd.Series(labels), positive, "label", Origin(f'file "{path}"'))
