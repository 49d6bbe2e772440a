"""Constructors of ``Dataset`` from a file, a frame or arrays, with checks and labels mapped to -1 and +1."""

from __future__ import annotations

import io
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from fsmodels.checks import choice, whole
from fsmodels.datasets import columns, diagnose, tables
from fsmodels.datasets.dialect import ARRAYS, FRAME, Dialect, Origin, is_missing, options, word
from fsmodels.datasets.files import LIBSVM, as_path, check_file, check_fits, content, title
from fsmodels.datasets.prepare import METHODS, filled
from fsmodels.errors import DataError, DataWarning
from fsmodels.text import as_names, listed, short, suggestion
from solvers.user_warnings import warn

MOST_FEATURES = 50_000_000
FEATURE = 130  # bytes of memory for a feature without entries, mostly for its name
FORM = "each line is LABEL INDEX:VALUE INDEX:VALUE ..., all numbers, with the indices ascending"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Constructors:
    """Public constructors of ``Dataset``."""

    @classmethod
    def from_csv(
        cls,
        path: str | Path,
        target: str = "target",
        positive: object = None,
        drop: str | Sequence[str] = (),
        aside: str | Sequence[str] = (),
        *,
        sep: str | None = None,
        decimal: str | None = None,
        thousands: str | None = None,
        encoding: str | None = None,
        sheet: str | None = None,
        header: int | None = None,
        one_hot: Any = (),
        impute: str | None = None,
    ) -> Self:
        r"""Read a table with a header and one sample per row.

        A CSV file, plain or gzipped: the separator is the most frequent mark of the header, and a decimal comma is
        found unless commas separate the columns. Numbers with two readings are rejected, with the options for each.
        Also a workbook of Excel (.xlsx) or a Parquet file (``pip install "fsmodels[tables]"``).

        Parameters
        ----------
        path : str or Path
            The file.
        target : str
            Column of the labels, numbers or text.
        positive : object, optional
            Label that becomes +1 (``"1"`` also means 1 and 1.0); all others become -1. Without it there must be two
            labels, and the larger in sorted order is +1.
        drop : str or sequence of str
            Columns to leave out.
        aside : str or sequence of str
            Columns that are kept but are not features, numbers or text, such as the group of each sample.
        sep, decimal, thousands, encoding : str, optional
            Separator, decimal mark, mark between thousands (default: none), and encoding of text (default: UTF-8 or
            cp1252).
        sheet : str, optional
            Sheet of a workbook in which several sheets have cells.
        header : int, optional
            Line, or row of the sheet, with the names of the columns, counted from 1; the lines above it are not read.
        one_hot : str, sequence of str or mapping, optional
            Columns of categories, numbers or text, that become 0/1 features (``colour=red``), selected together;
            "colour:apart" if each may be selected alone; "all" for all columns of text.
        impute : {"median", "mean", "most-frequent"}, optional
            Fill in blank cells by scikit-learn's SimpleImputer, which is fitted again in each fold. Without it a blank
            is an error.

        Raises
        ------
        DataError
            The file is not a table of numbers with two classes; the message names row, line and column.

        Warns
        -----
        DataWarning
            Constant columns, or columns equal to another; the options found for a file that is not plain CSV.

        Examples
        --------
        >>> import fsmodels as fs
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "patients.csv"
        >>> _ = path.write_text("id,age,dose,group\n7,61,0.5,ill\n8,48,0.25,well\n9,50,0,well\n")
        >>> fs.Dataset.from_csv(path, target="group", positive="ill", drop="id").features
        ('age', 'dose')
        """
        path, dropped = as_path(path), as_names(drop, "drop")
        requested = Dialect(sep, decimal, thousands, encoding, sheet, header)
        table, origin = tables.read_table(path, requested, unused=dropped)
        table = tables.without(table, dropped, target, origin)
        return cls._of_table(table, target, positive, title(path), aside, one_hot, impute, origin)

    @classmethod
    def from_svmlight(
        cls,
        path: str | Path,
        positive: object = None,
        n_features: int | None = None,
        features: Sequence[str] | None = None,
    ) -> Self:
        r"""Read a libsvm-format file (SVMlight; plain or .gz) with lines ``LABEL INDEX:VALUE INDEX:VALUE ...``.

        The data stay sparse. scikit-learn reads the file: text after ``#`` is a comment, blank lines and ``qid`` are
        skipped, and indices ascend within a line. They count from 0 if index 0 occurs, otherwise from 1.

        Parameters
        ----------
        path : str or Path
            The file.
        positive : object, optional
            As in ``from_csv``: the label that becomes +1. Without it there must be two labels, and the larger is +1.
        n_features : int, optional
            Number of columns, if the largest index of the file is not the last: for test data, that of the training
            data.
        features : sequence of str, optional
            A name for each column. By default the names are x1, x2, ..., or x0, x1, ... if indices count from 0.

        Raises
        ------
        DataError
            The file is missing or malformed, a value is not finite, there are not two classes, or an index is above
            ``n_features``; the message names the line, or the sample counted from 1.
        ParameterError
            ``n_features`` is not a number above 0.

        Warns
        -----
        DataWarning
            Constant columns, such as indices that do not occur, or columns equal to another.

        Examples
        --------
        >>> import fsmodels as fs
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "words.svm"
        >>> _ = path.write_text("+1 1:2 3:0.5\n-1 2:1 # a comment\n")
        >>> fs.Dataset.from_svmlight(path)
        Dataset('words', 2 samples x 3 features, sparse, +1: 1 (label 1), -1: 1 (label -1), scale none)
        """
        path = as_path(path)
        X, labels, names = _read_svmlight(path, n_features, features)
        what, origin = f'File "{path}"', Origin(f'file "{path}"')
        return cls._checked(X, names, pd.Series(labels), positive, what, title(path), origin)

    @classmethod
    def from_frame(
        cls,
        df: pd.DataFrame,
        target: str = "target",
        positive: object = None,
        drop: str | Sequence[str] = (),
        name: str = "data",
        aside: str | Sequence[str] = (),
        *,
        one_hot: Any = (),
        impute: str | None = None,
    ) -> Self:
        """Return the data of a DataFrame; they are sparse if all features have a sparse dtype.

        Parameters are those of ``from_csv``. Column names become text, the index is ignored, and labels of a
        categorical column are sorted by value.

        Examples
        --------
        >>> import fsmodels as fs
        >>> frame = pd.DataFrame({"age": [61, 48], "ill": [True, False]})
        >>> fs.Dataset.from_frame(frame, target="ill").y.tolist()
        [1.0, -1.0]
        >>> frame = frame.assign(colour=["red", "blue"], dose=[None, 2.5])
        >>> data = fs.Dataset.from_frame(frame, target="ill", one_hot="colour", impute="median")
        >>> data.features, data.X[0].tolist()
        (('age', 'colour=red', 'dose'), [61.0, 1.0, 2.5])
        """
        if not isinstance(df, pd.DataFrame):
            raise DataError(f"from_frame needs a DataFrame and got {type(df).__name__}: use from_arrays or from_csv.")
        table, target = df.set_axis([str(column) for column in df.columns], axis=1), str(target)
        table = tables.without(table, as_names(drop, "drop"), target, FRAME)
        return cls._of_table(table, target, positive, name, aside, one_hot, impute, FRAME)

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: ArrayLike,
        features: Sequence[str] | None = None,
        positive: object = None,
        name: str = "data",
        *,
        impute: str | None = None,
    ) -> Self:
        """Return the data of arrays: X of shape (n_samples, n_features), dense or scipy.sparse, and one label per row.

        By default the feature names are the columns of the DataFrame X, or x1, x2, ... as in the papers. ``impute`` is
        that of ``from_csv``.

        Examples
        --------
        >>> import fsmodels as fs
        >>> fs.Dataset.from_arrays([[1.0], [2.0]], [0, 1]).features
        ('x1',)
        """
        if isinstance(X, pd.DataFrame) and features is None:
            features = [str(column) for column in X.columns]
        if not sparse.issparse(X):
            try:
                X = np.asarray(X)
            except ValueError as error:
                raise DataError(f"X is not a matrix ({error}): give every row the same number of values.") from None
        if X.ndim != 2:
            raise DataError(
                f"X has shape {X.shape}: give samples x features; X.reshape(-1, 1) makes a single feature of a vector."
            )
        names = [f"x{j + 1}" for j in range(X.shape[1])] if features is None else as_names(features, "features")
        if len(names) != X.shape[1]:
            raise DataError(f"features has {len(names)} names for {X.shape[1]} columns of X: give one name per column.")
        labels = y.reset_index(drop=True) if isinstance(y, pd.Series) else np.asarray(y)
        if labels.ndim == 2 and labels.shape[1] == 1:
            labels = labels[:, 0]
        if labels.ndim != 1 or len(labels) != X.shape[0]:
            raise DataError(f"y has shape {labels.shape} for {X.shape[0]} rows of X: give one label per row.")
        if not sparse.issparse(X) and X.dtype.kind not in "fiub":
            X = pd.DataFrame(X, columns=names)
        return cls._checked(X, names, pd.Series(labels), positive, 'Column "y"', name, ARRAYS, impute)

    @classmethod
    def _of_table(
        cls, table: pd.DataFrame, target: str, positive: object, name: str, aside: str | Sequence[str], one_hot: Any,
        impute: str | None, origin: Origin,
    ) -> Self:  # fmt: skip
        """Return the data of a table; its features become CSR if all have a sparse dtype."""
        kept = columns.taken(table, as_names(aside, "aside"), target, origin)
        table = table.drop(columns=list(kept))
        names = [str(column) for column in table.columns]
        check_names(names, origin)
        if target not in names:
            what = origin.headless or (
                f" {_meant(table, target, origin)}Its columns are {listed(names)}: name the column of labels with "
                "--target (Python: target=)."
            )
            raise DataError(f'There is no column "{target}" for the labels in {origin.where}.{what}')
        X: Any
        X, categories = columns.expanded(table, target, one_hot, origin)
        for column in categories if impute is None else ():
            blank = np.flatnonzero([is_missing(cell) or not str(cell).strip() for cell in table[column]])
            if blank.size:
                columns.refuse_entry(math.nan, column, origin, blank, "levels")
        names = [str(column) for column in X.columns]
        if names and all(isinstance(dtype, pd.SparseDtype) for dtype in X.dtypes):
            X = X.sparse.to_coo()
        return cls._checked(
            X, names, table[target], positive, f'Column "{target}"', name, origin, impute, aside=kept,
            categories=categories, dialect=None if origin.path is None else origin.dialect,
        )  # fmt: skip

    @classmethod
    def _checked(
        cls, X: Any, features: list[str], labels: pd.Series, positive: object, what: str, name: str, origin: Origin,
        impute: str | None = None, **others: Any,
    ) -> Self:  # fmt: skip
        """Return the data of features and labels after checks; ``what``: the source of the labels, in messages."""
        check_names(features, origin)
        if X.shape[1] == 0:
            labels_of = what[:1].lower() + what[1:]
            raise DataError(f"There are no features in {origin.where}: add a numeric column to {labels_of}.")
        if X.shape[0] == 0:
            raise DataError(f"There are no rows in {origin.where}: give one row per sample.")
        if impute is not None:
            choice("impute", impute, list(METHODS))
        X = columns.feature_matrix(X, features, origin, blanks=impute is not None)
        if impute is not None:
            if sparse.issparse(X):
                raise DataError(f"{origin.where} is sparse, and impute= needs dense data: make it dense.")
            X, others["imputing"] = filled(X, features, impute, others.get("categories", {}), origin.where)
        y, negative, chosen = columns.signed_labels(labels, positive, what, origin)
        if remarks := diagnose.uninformative(X, features):
            warn(f'Data "{name}": {" ".join(remarks)} They can be left out.', DataWarning)
        make: Any = cls
        data: Self = make(
            X, y, tuple(features), name, negative, chosen,
            positive_guessed=columns.is_guess(positive, negative, chosen), **others,
        )  # fmt: skip
        return data


def _meant(table: pd.DataFrame, target: str, origin: Origin) -> str:
    """Return a suggestion for the column of labels: one with a similar name, or those with two values.

    The suggested options also treat the columns that are not numeric.
    """
    found = columns.label_columns(table)
    if near := suggestion(target, found or table.columns):
        return near
    if not found:
        return ""
    first = next(iter(found))
    by = columns.as_options(columns.treatments(table.drop(columns=first), origin))
    file = "" if origin.path is None else f"fsmodels init {word(origin.path)} writes the command to a file. "
    candidates = listed([f"{name} ({' / '.join(map(short, values))})" for name, values in found.items()], 5)
    return f"Columns with two values: {candidates}; for the first give {options({'target': first, **by})}. {file}"


def check_names(names: list[str], origin: Origin) -> None:
    """Raise DataError if two columns have the same name."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(
            f"Columns of {origin.where} have the same name: {listed(twice)}. Give each column another name."
        )


def narrow(X: Any) -> Any:
    """Return sparse data as CSR of float64, with 32-bit indices if they fit: libsvm accepts no others."""
    X = sparse.csr_array(X, dtype=np.float64)
    if X.indices.dtype == np.int32 or max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
        return X
    return sparse.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


def check_parts(X: Any, y: NDArray[np.float64], features: tuple[str, ...]) -> None:
    """Check that the parts of a ``Dataset`` fit together."""
    if X.ndim != 2 or y.shape != (X.shape[0],) or len(features) != X.shape[1]:
        raise DataError(
            f"X has shape {X.shape}, y {y.shape} and there are {len(features)} feature names: "
            "X must be samples x features, with one label per row and one name per column."
        )
    if not np.isin(y, (-1.0, 1.0)).all():
        raise DataError(
            f"y holds {listed(np.unique(y))}: Dataset(...) takes -1 and +1; Dataset.from_arrays maps other labels."
        )


def _read_svmlight(
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
                f"features has {len(features)} names for n_features={width} columns: give one name per column."
            )
        width = len(features)
    X, labels = _parsed_svmlight(path)
    if not len(labels):
        raise DataError(f'File "{path}" has no samples: {FORM}.')
    if not len(X.indices) and width is None:
        raise DataError(
            f'File "{path}" has labels and no INDEX:VALUE entry, so no features: add entries, or give the number of '
            "columns of zeros with n_features."
        )
    # As in scikit-learn, a file without index 0 counts from 1.
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
            "renumber the features that occur."
        )
    check_fits(path, FEATURE * width)
    names = [f"x{j}" for j in range(first, first + width)] if features is None else list(features)
    return sparse.csr_array((X.data, X.indices - first, X.indptr), shape=(len(labels), width)), labels, names


def _parsed_svmlight(path: Path) -> tuple[Any, NDArray[np.float64]]:
    """Read the file by scikit-learn; columns are numbered as in the file, and column 0 may be empty."""
    check_file(path, "libsvm-format", LIBSVM)
    # The import of scikit-learn takes more than a second.
    from sklearn.datasets import load_svmlight_file

    stream = io.BytesIO(content(path).removeprefix(BYTE_ORDER_MARK))
    try:
        X, labels = load_svmlight_file(stream, zero_based=True)
    except (ValueError, OverflowError) as error:  # in the line that ends at the position of the stream
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
