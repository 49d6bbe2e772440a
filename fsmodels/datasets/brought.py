"""How data are brought: from a file, a frame or arrays, each checked and its labels mapped to -1 and +1."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import pandas as pd
from numpy.typing import ArrayLike

from fsmodels.datasets import intake, svmlight
from fsmodels.datasets.dialect import Dialect
from fsmodels.datasets.files import as_path, title
from fsmodels.words import as_names

__all__ = ["Brought"]


class Brought:
    """The constructors of ``Dataset`` that users call."""

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
        one_hot: Any = (),
        impute: str | None = None,
    ) -> Self:
        r"""Read a table with a header and one sample a row.

        A CSV file, plain or gzipped: the separator is the most frequent mark of the header, and a decimal comma is
        found unless commas separate the columns. Numbers with two readings are refused with the options for each. Also
        a workbook of Excel (.xlsx) or a Parquet file (``pip install "fsmodels[tables]"``).

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
            Columns to keep beside the features, numbers or text, such as the group of each sample.
        sep, decimal, thousands, encoding : str, optional
            Separator, decimal mark, mark between thousands (default: none), and encoding of text (default: UTF-8).
        sheet : str, optional
            Of a workbook in which several sheets have cells.
        one_hot : str, sequence of str or mapping, optional
            Columns of categories, numbers or text, to make 0/1 features of (``colour=red``) that are selected together;
            "colour:apart" of which each may be selected alone, "all" for all columns of text.
        impute : {"median", "mean", "most-frequent"}, optional
            Fill blanks in, by scikit-learn's SimpleImputer; of other rows anew, so in each fold. Without it a blank is
            refused.

        Raises
        ------
        DataError
            Anything that keeps the file from being numbers and two classes; the message names row, line and column.

        Warns
        -----
        DataWarning
            Constant columns, or columns equal to another; what was found of a file that is no plain CSV.

        Examples
        --------
        >>> import fsmodels as fs
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "patients.csv"
        >>> _ = path.write_text("id,age,dose,group\n7,61,0.5,ill\n8,48,0.25,well\n9,50,0,well\n")
        >>> fs.Dataset.from_csv(path, target="group", positive="ill", drop="id").features
        ('age', 'dose')
        """
        path = as_path(path)
        asked = Dialect(sep, decimal, thousands, encoding, sheet)
        dropped, kept = as_names(drop, "drop"), as_names(aside, "aside")
        return cls._of(intake.from_csv(path, target, positive, dropped, kept, asked, one_hot, impute), title(path))

    @classmethod
    def from_svmlight(
        cls,
        path: str | Path,
        positive: object = None,
        n_features: int | None = None,
        features: Sequence[str] | None = None,
    ) -> Self:
        r"""Read a libsvm-format file (SVMlight; plain or .gz), a sample a line: ``LABEL INDEX:VALUE INDEX:VALUE ...``.

        The data stay sparse. As in scikit-learn, whose reader this is, what follows a ``#`` is a comment, blank lines
        and a ``qid`` are skipped, indices ascend within a line, and the numbering counts from 0 where index 0 occurs
        and from 1 elsewhere.

        Parameters
        ----------
        path : str or Path
            The file.
        positive : object, optional
            As in ``from_csv``: the label that becomes +1. Without it there must be two labels, and the larger is +1.
        n_features : int, optional
            Number of columns, where the file's largest index is not the last: for test data, that of the training data.
        features : sequence of str, optional
            One name a column, which also says how many there are. By default names are the file's own indices:
            x1, x2, ..., or x0, x1, ... where it counts from 0.

        Raises
        ------
        DataError
            Missing or malformed file, values that are not finite, not two classes, an index above ``n_features``; the
            message names the line, or the sample counted from 1.
        ParameterError
            ``n_features`` is no number above 0.

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
        return cls._of(svmlight.read(path, positive, n_features, features), svmlight.title(path))

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
        """Take the columns of a DataFrame; a frame whose features all have a sparse dtype stays sparse.

        Parameters are those of ``from_csv``; column names become text, the index is ignored, and a categorical label is
        sorted by its values.

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
        dropped, kept = as_names(drop, "drop"), as_names(aside, "aside")
        return cls._of(intake.from_frame(df, str(target), positive, dropped, kept, one_hot, impute), name)

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
        """Take arrays: X of shape (n_samples, n_features), dense or scipy.sparse, and one label a row.

        Without ``features`` the names are those of the DataFrame X, else x1, x2, ..., as in the papers. ``impute`` is
        that of ``from_csv``.

        Examples
        --------
        >>> import fsmodels as fs
        >>> fs.Dataset.from_arrays([[1.0], [2.0]], [0, 1]).features
        ('x1',)
        """
        return cls._of(intake.from_arrays(X, y, features, positive, impute), name)

    @classmethod
    def _of(cls, data: intake.Intake, name: str) -> Self:
        raise NotImplementedError
