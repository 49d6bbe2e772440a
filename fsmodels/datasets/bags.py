"""Bags: samples that are sets of instances, with one label a bag; read, scaled and split as a ``Dataset`` is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from fsmodels.datasets import intake, tables
from fsmodels.datasets.dataset import Dataset
from fsmodels.datasets.decimals import is_missing
from fsmodels.datasets.dialect import Dialect
from fsmodels.datasets.files import as_path, title
from fsmodels.datasets.origin import ARRAYS, FRAME, Origin
from fsmodels.datasets.scaling import Scale
from fsmodels.datasets.shipped import shipped_file
from fsmodels.datasets.splitting import fold_rows, row_index, split_rows
from fsmodels.errors import DataError, ParameterError
from fsmodels.words import as_names, listed, suggestion

FloatArray = NDArray[np.float64]
Rows = NDArray[np.intp]


class BagSplit(NamedTuple):
    """Three parts of one set of bags; a part that was asked for with 0 has no bags."""

    train: Bags
    validation: Bags
    test: Bags


class BagFold(NamedTuple):
    """One fold of a cross-validation over bags."""

    train: Bags
    held_out: Bags


@dataclass(frozen=True, eq=False, repr=False)
class Bags:
    """Bags of instances, with one label -1/+1 a bag.

    Build one with ``from_csv``, ``from_frame``, ``from_arrays`` or ``load_bags``. The rows of a bag lie together, in
    the order of the file, and bags stand in the order of their first rows. Every method returns new ``Bags``; a bag is
    never divided.

    Attributes
    ----------
    instances : Dataset of shape (n_instances, n_attributes)
        One sample an instance, under the label of its bag, with the scaling and its constants.
    bag : ndarray of int of shape (n_instances,)
        Which bag each instance is in, counted from 0; ascending.
    names : tuple of str
        One a bag, each once.
    row : ndarray of int of shape (n_instances,)
        Which row of the file (or table) each instance is, counted from 1 without the header.

    Examples
    --------
    >>> frame = pd.DataFrame({"bag_id": ["a", "b", "a"], "size": [1.0, 4.0, 2.0], "target": [1, -1, 1]})
    >>> bags = Bags.from_frame(frame)
    >>> bags
    Bags('data', 2 bags, 3 instances x 1 attributes, +1: 1 (label 1), -1: 1 (label -1), scale none)
    >>> bags.X.ravel().tolist(), bags.bag.tolist(), bags.row.tolist(), bags.y.tolist()
    ([1.0, 2.0, 4.0], [0, 0, 1], [1, 3, 2], [1.0, -1.0])
    """

    instances: Dataset
    bag: Rows
    names: tuple[str, ...]
    row: Rows

    def __post_init__(self) -> None:
        self.instances.require_dense("Bags(...)")
        shape, steps = (self.instances.n_samples,), np.diff(self.bag, prepend=-1)
        if self.bag.shape != shape or self.row.shape != shape or self.bag.max(initial=-1) != len(self.names) - 1:
            raise DataError(
                f"There are {shape[0]} instances, bag has shape {self.bag.shape}, row {self.row.shape} and there are "
                f"{len(self.names)} names: give one bag and one row an instance, one name a bag, no bag without rows."
            )
        if not np.isin(steps, (0, 1)).all():
            raise DataError("bag must count 0, ..., 0, 1, ..., 1, 2, ...: Bags.from_frame puts rows in this order.")
        if len(set(self.names)) < len(self.names):
            raise DataError(f"A bag stands twice among {listed(self.names)}: take each bag once.")

    @classmethod
    def from_csv(
        cls,
        path: str | Path,
        bag: str = "bag_id",
        target: str = "target",
        positive: object = None,
        drop: str | Sequence[str] = (),
        *,
        sep: str | None = None,
        decimal: str | None = None,
        thousands: str | None = None,
        encoding: str | None = None,
        sheet: str | None = None,
    ) -> Bags:
        r"""Read a table with a header and one instance a row.

        Parameters
        ----------
        path, positive, drop, sep, decimal, thousands, encoding, sheet
            As for ``Dataset.from_csv``.
        target : str
            Column of the labels: the label of its bag on every row.
        bag : str
            Column that says which bag a row is in, numbers or text; it is no attribute.

        Raises
        ------
        DataError
            No such column, a row without a bag, a bag of two labels, and all that ``Dataset.from_csv`` refuses.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "shapes.csv"
        >>> _ = path.write_text("molecule,width,musk\nm1,61,yes\nm1,48,yes\nm2,50,no\n")
        >>> Bags.from_csv(path, bag="molecule", target="musk").names
        ('m1', 'm2')
        """
        path, drop = as_path(path), as_names(drop, "drop")
        table, origin = tables.read_table(path, Dialect(sep, decimal, thousands, encoding, sheet), drop)
        instances, ids = _parts(table, bag, target, positive, drop, origin)
        return cls._of(Dataset._of(instances, title(path)), ids, bag, origin)

    @classmethod
    def from_frame(
        cls,
        df: pd.DataFrame,
        bag: str = "bag_id",
        target: str = "target",
        positive: object = None,
        drop: str | Sequence[str] = (),
        name: str = "data",
    ) -> Bags:
        """Take a DataFrame with one instance a row; parameters and errors are those of ``from_csv``.

        Column names become text and the index is ignored.
        """
        if not isinstance(df, pd.DataFrame):
            raise DataError(f"from_frame needs a DataFrame and got {type(df).__name__}: use from_arrays or from_csv.")
        table = df.set_axis([str(column) for column in df.columns], axis=1)
        instances, ids = _parts(table, str(bag), str(target), positive, drop, FRAME)
        return cls._of(Dataset._of(instances, name), ids, str(bag), FRAME)

    @classmethod
    def from_arrays(
        cls,
        bags: Sequence[ArrayLike],
        y: ArrayLike,
        attributes: Sequence[str] | None = None,
        names: Sequence[str] | None = None,
        positive: object = None,
        name: str = "data",
    ) -> Bags:
        """Take one matrix a bag, of shape (instances in the bag, n_attributes), and one label a bag.

        Without ``attributes`` they are called x1, x2, ...; without ``names`` the bags are called 1, 2, ...

        Raises
        ------
        DataError
            A bag without rows, matrices of different widths, another number of labels or names than of bags, a name
            that stands twice, and all that ``Dataset.from_arrays`` refuses.

        Examples
        --------
        >>> Bags.from_arrays([[[0.0, 1.0], [2.0, 3.0]], [[4.0, 5.0]]], ["yes", "no"], names=["a", "b"])
        Bags('data', 2 bags, 3 instances x 2 attributes, +1: 1 (label yes), -1: 1 (label no), scale none)
        """
        try:
            parts = [np.asarray(part) for part in bags]
        except ValueError as error:
            raise DataError(f"A bag is no matrix ({error}): give every row the same number of values.") from None
        labels = np.asarray(y)
        called = [str(k + 1) for k in range(len(parts))] if names is None else [str(each) for each in names]
        if not parts or labels.shape != (len(parts),) or len(called) != len(parts):
            raise DataError(
                f"There are {len(parts)} bags, y has shape {labels.shape} and there are {len(called)} names: give at "
                "least one bag, and one label and one name a bag."
            )
        if twice := [each for k, each in enumerate(called) if each in called[:k]]:
            raise DataError(f"Names of bags stand twice: {listed(twice)}. Give each bag a name of its own.")
        for each, part in zip(called, parts, strict=True):
            if part.ndim != 2 or part.shape[1] != parts[0].shape[-1] or len(part) == 0:
                raise DataError(
                    f'Bag "{each}" has shape {part.shape}: give at least one row (instance) a bag, and the same number '
                    "of columns (attributes) in every bag."
                )
        sizes = [len(part) for part in parts]
        instances = intake.from_arrays(np.concatenate(parts), np.repeat(labels, sizes), attributes, positive)
        ids = pd.Series(np.repeat(np.array(called, dtype=object), sizes))
        return cls._of(Dataset._of(instances, name), ids, "names", ARRAYS)

    @classmethod
    def _of(cls, rows: Dataset, ids: pd.Series, column: str, origin: Origin) -> Bags:
        """Put the rows of a bag together and check that they have one label."""
        cells = ids.astype(object).to_numpy()
        texts = np.array([None if is_missing(cell) else _text(cell) or None for cell in cells], dtype=object)
        codes, names = pd.factorize(texts)
        if (codes < 0).any():
            first, many = int(np.argmax(codes < 0)), int((codes < 0).sum())
            raise DataError(
                f'Column "{column}" names no bag in {origin.row(first)}{f" ({many} such rows)" if many > 1 else ""}: '
                "fill in the bag of the row or remove the row."
            )
        order = np.argsort(codes, kind="stable")
        bag = codes[order].astype(np.intp)
        firsts = np.searchsorted(bag, np.arange(len(names)))
        differs = rows.y[order] != rows.y[order][firsts][bag]
        if differs.any():
            k = int(np.argmax(differs))
            first, other = int(order[firsts[bag[k]]]), int(order[k])
            raise DataError(
                f'Bag "{names[bag[k]]}" has class {rows.y[first]:+.0f} in {origin.row(first)} and class '
                f"{rows.y[other]:+.0f} in {origin.row(other)}: a bag has one label, the same on all its rows. Where "
                "the labels are those of instances, label every row of a bag +1 if one of them is +1."
            )
        return cls(rows.take(order), bag, tuple(names), order + 1)

    @property
    def X(self) -> FloatArray:  # noqa: N802
        """The instances, of shape (n_instances, n_attributes), scaled as ``scale`` says."""
        return np.asarray(self.instances.X)

    @property
    def attributes(self) -> tuple[str, ...]:
        """Names of the columns of X."""
        return self.instances.features

    @property
    def name(self) -> str:
        """What messages and reports call these bags."""
        return self.instances.name

    @property
    def scale(self) -> Scale:
        """The constants of the scaling of the attributes."""
        return self.instances.scale

    @property
    def starts(self) -> Rows:
        """The first instance of each bag, of shape (n_bags,)."""
        return np.searchsorted(self.bag, np.arange(self.n_bags))

    @property
    def y(self) -> FloatArray:
        """The labels -1 or +1 of the bags, of shape (n_bags,)."""
        return self.instances.y[self.starts]

    @cached_property
    def row_in_bag(self) -> Rows:
        """The place of each instance in its bag, counted from 1 in the order of the file; of shape (n_instances,)."""
        return np.arange(self.n_instances) - self.starts[self.bag] + 1

    @property
    def n_bags(self) -> int:
        """Number of bags."""
        return len(self.names)

    @property
    def n_instances(self) -> int:
        """Number of rows of X."""
        return self.instances.n_samples

    @property
    def n_attributes(self) -> int:
        """Number of columns of X."""
        return self.instances.n_features

    def __len__(self) -> int:
        return self.n_bags

    def scaled(self, method: str) -> Bags:
        """Scale each attribute by constants of all these instances, and remember them, as ``Dataset.scaled`` does."""
        return replace(self, instances=self.instances.scaled(method))

    def apply_scale_to(self, other: Bags) -> Bags:
        """Scale other bags with the constants of these; attributes are taken by name (``Dataset.apply_scale_to``)."""
        return replace(other, instances=self.instances.apply_scale_to(other.instances))

    def take(self, bags: ArrayLike, name: str | None = None) -> Bags:
        """Keep some bags whole, by position (in the order given) or by a mask of n_bags booleans."""
        chosen = row_index(bags, self.n_bags) % max(self.n_bags, 1)
        ends = np.append(self.starts, self.n_instances)
        rows = [np.arange(ends[k], ends[k + 1]) for k in chosen.tolist()]
        index = np.concatenate([np.zeros(0, dtype=np.intp), *rows])
        bag = np.repeat(np.arange(len(rows)), [len(part) for part in rows])
        names = tuple(self.names[k] for k in chosen.tolist())
        return Bags(self.instances.take(index, name), bag, names, self.row[index])

    def split(self, train: float = 0.6, validation: float = 0.2, test: float = 0.2, seed: int = 0) -> BagSplit:
        """Divide the bags at random into three parts with the classes in proportion.

        Parameters and errors are those of ``Dataset.split``, with bags for samples.

        Examples
        --------
        >>> [len(part) for part in load_bags("musk1_bags").split(0.8, 0, 0.2, seed=0)]
        [74, 0, 18]
        """
        parts = split_rows(self.y, train, validation, test, seed)
        return BagSplit(*(self.take(part, f"{self.name}/{what}") for what, part in parts.items()))

    def folds(self, k: int = 5, seed: int = 0) -> list[BagFold]:
        """Divide the bags at random into k parts with the classes in proportion; each is held out once.

        Raises
        ------
        ParameterError
            ``k`` below 2, or above the number of bags of the smaller class.
        """
        return [
            BagFold(self.take(rest, f"{self.name}/fold{i + 1}"), self.take(held, f"{self.name}/fold{i + 1}-held-out"))
            for i, (rest, held) in enumerate(fold_rows(self.y, k, seed))
        ]

    def __repr__(self) -> str:
        positives, negative = int((self.y > 0).sum()), self.instances.negative_label
        rest = f"labels {listed(negative, 5)}" if isinstance(negative, tuple) else f"label {negative}"
        return (
            f"Bags({self.name!r}, {self.n_bags} bags, {self.n_instances} instances x {self.n_attributes} attributes, "
            f"+1: {positives} (label {self.instances.positive_label}), -1: {self.n_bags - positives} ({rest}), "
            f"scale {self.scale.method})"
        )


def load_bags(name: str) -> Bags:
    """Load bags that ship with the package, as their source has them: not scaled, labels -1/+1.

    Parameters
    ----------
    name : str
        One of ``list_bags()["name"]``, such as "musk1_bags".

    Raises
    ------
    DataError
        Unknown name, with the nearest one and the list.

    Examples
    --------
    >>> load_bags("musk1_bags")
    Bags('musk1_bags', 92 bags, 476 instances x 166 attributes, +1: 47 (label 1), -1: 45 (label -1), scale none)
    """
    return Bags.from_csv(shipped_file(name, bags=True))


def check_bags(bags: Any) -> Bags:
    """Return bags that hold at least one bag.

    Raises ParameterError if they are something else. Raises DataError if there is none.
    """
    if not isinstance(bags, Bags):
        raise ParameterError(
            f"This needs Bags and got {type(bags).__name__}: use Bags.from_csv, from_frame or from_arrays."
        )
    if not len(bags):
        raise DataError(f'There is no bag in "{bags.name}": give a part that has some.')
    return bags


def _parts(
    table: pd.DataFrame, bag: str, target: str, positive: object, drop: str | Sequence[str], origin: Origin
) -> tuple[intake.Intake, pd.Series]:
    """Divide a table into instances and the column of bags."""
    names = [str(column) for column in table.columns]
    intake._check_names(names, origin)
    if bag not in names:
        raise DataError(
            f'There is no column "{bag}" for the bags in {origin.where}. {suggestion(bag, names)}'
            f"Its columns are {listed(names)}: name the column that says which bag a row is in with --bags "
            f"(Python: bag=).{origin.headless}"
        )
    if bag == target:
        raise DataError(
            f'Column "{bag}" is given for the bags and for the labels: name two columns, with --bags and --target '
            "(Python: bag=, target=)."
        )
    dropped = tables.named(as_names(drop, "drop"), names)
    if bag in dropped:
        raise DataError(f'Column "{bag}" says which bag a row is in and cannot be dropped: name another with --bags.')
    rest = tables.without(table, dropped, target, origin)
    instances = intake._from_table(rest.drop(columns=bag), target, positive, origin)
    return instances, table[bag]


def _text(cell: object) -> str:
    """Name a bag; 7.0 is bag 7, as pandas makes floats of a column of integers."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip()
