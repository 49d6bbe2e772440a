"""Data for the formulations: a matrix, labels -1/+1, feature names, and the constants of its scaling."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from fsmodels.checks import number_array
from fsmodels.datasets import columns, prepare
from fsmodels.datasets.columns import Category
from fsmodels.datasets.diagnose import correlated
from fsmodels.datasets.dialect import Dialect
from fsmodels.datasets.prepare import Imputing, Interaction
from fsmodels.datasets.read import Constructors, check_parts, narrow
from fsmodels.datasets.scaling import Scale
from fsmodels.datasets.shipped import shipped_file
from fsmodels.datasets.splitting import fold_rows, row_index, split_rows
from fsmodels.datasets.weighting import Weighting, check_classes, weighting
from fsmodels.errors import DataError
from fsmodels.words import as_names, check_known_features, listed
from solvers import html

FloatArray = NDArray[np.float64]


class Split(NamedTuple):
    """Three parts of one data set; a part of size 0 has no rows."""

    train: "Dataset"
    validation: "Dataset"
    test: "Dataset"


class Fold(NamedTuple):
    """One fold of a cross-validation."""

    train: "Dataset"
    held_out: "Dataset"


@dataclass(frozen=True, eq=False, repr=False)
class Dataset(Constructors):
    """Samples with labels -1/+1.

    Build one with ``from_csv``, ``from_svmlight``, ``from_frame``, ``from_arrays`` or ``load_dataset``: these check the
    data and map the labels. The arrays are read-only; every method returns a new ``Dataset``.

    Attributes
    ----------
    X : ndarray or scipy.sparse.csr_array of shape (n_samples, n_features)
        float64, finite; in the units of the file until ``scaled``.
    y : ndarray of shape (n_samples,)
        float64, -1 or +1.
    features : tuple of str
        Column names, each once.
    name : str
        For messages and reports.
    negative_label, positive_label : object
        The labels behind -1 and +1; ``negative_label`` is a tuple where several labels became -1.
    scale : Scale
        ``X = (original - scale.shift) * scale.factor``.
    positive_guessed : bool
        Whether class +1 is the later of two labels only: nobody named it, and they are not -1 or 0 and 1.
    aside : mapping of str to array
        Columns that are no features, such as the group of each sample (``set_aside``), as text; they go with the rows.
    products : mapping of str to Interaction
        Features that are products of two others (``with_interactions``), with the constants by which other data have
        the same ones.
    weighting : Weighting or None
        How much each sample counts in a loss (``weighted``); ``sample_weight`` are the numbers.
    dialect : Dialect or None
        How its file was read: marks between columns and of numbers, encoding, sheet.
    categories : mapping of str to Category
        Columns of which 0/1 features were made (``one_hot=``).
    imputing : Imputing or None
        How blanks were filled in, and where there were any (``impute=``).
    looked_at : bool
        Whether what they show was warned of, if there was anything: each warning comes once. Of bags nothing is: there
        features outnumber samples always.

    Examples
    --------
    >>> data = Dataset.from_arrays([[0.0, 1.0], [2.0, 1.5], [4.0, 3.0]], ["no", "yes", "yes"], features=["dose", "age"])
    >>> data
    Dataset('data', 3 samples x 2 features, +1: 2 (label yes), -1: 1 (label no), scale none)
    >>> data.scaled("minmax").X[:, 0].tolist()
    [0.0, 0.5, 1.0]
    """

    X: Any
    y: FloatArray
    features: tuple[str, ...]
    name: str = "data"
    negative_label: object = -1
    positive_label: object = 1
    scale: Scale = field(default=None)  # type: ignore[assignment]
    positive_guessed: bool = False
    aside: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    products: Mapping[str, Interaction] = field(default_factory=dict)
    weighting: Weighting | None = None
    dialect: Dialect | None = None
    categories: Mapping[str, Category] = field(default_factory=dict)
    imputing: Imputing | None = None
    looked_at: bool = False

    def __post_init__(self) -> None:
        X = self.X
        X = narrow(X) if sparse.issparse(X) else number_array("X", X, DataError)
        y = number_array("y", self.y, DataError)
        features = tuple(as_names(self.features, "features"))
        check_parts(X, y, features)
        if not sparse.issparse(X):
            X = X.view()
            X.setflags(write=False)
        y = y.view()
        y.setflags(write=False)
        kept = columns.checked(self.aside, len(y))
        for key, value in {"X": X, "y": y, "features": features, "aside": kept}.items():
            object.__setattr__(self, key, value)
        if self.scale is None:
            object.__setattr__(self, "scale", Scale.none(X.shape[1]))

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])

    @property
    def is_sparse(self) -> bool:
        """Whether X is a CSR array."""
        return bool(sparse.issparse(self.X))

    @cached_property
    def sample_weight(self) -> FloatArray | None:
        """How much each sample counts in a loss, shape (n_samples,), at least 0 and read-only; None: all the same."""
        return None if self.weighting is None else self.weighting.of(self.y)

    @property
    def multiplicity(self) -> FloatArray | None:
        """How often each row counts wherever rows are counted: the weights given one by one, without the classes'."""
        return None if self.weighting is None else self.weighting.given

    @cached_property
    def counting(self) -> "Dataset":
        """These data without the samples of weight 0, which no loss sees.

        Raises DataError where none of a class is left.
        """
        weights = self.sample_weight
        if weights is None or weights.all():
            return self
        check_classes(weights, self.y)
        return self.take(np.flatnonzero(weights))

    def __len__(self) -> int:
        return self.n_samples

    def scaled(self, method: str) -> "Dataset":
        """Scale each feature by constants of these samples, and remember them in ``scale``.

        Parameters
        ----------
        method : {"none", "standard", "unit-ball", "minmax"}
            "none": as it is. "standard": mean 0 and standard deviation 1 (ddof 0) per feature. "minmax": onto [0, 1]
            per feature. "unit-ball": all values divided by the largest Euclidean norm of a row, so that every row lies
            in the unit ball (up to rounding) and directions stay. A constant feature is divided by 1.

        Raises
        ------
        ParameterError
            Unknown method.
        DataError
            A method that shifts zeros on sparse data; a value that overflows.

        Notes
        -----
        Scaling twice composes: ``data.scaled("standard").scaled("unit-ball")`` remembers both as one. "none" does not
        undo an earlier scaling; it says that ``select`` is to take these units as they are. Means, deviations and
        ranges are scikit-learn's. Weights given one by one (``weighted``) count as so many rows each, those of classes
        do not count.
        """
        step = Scale.fit(self.X, method, self.multiplicity)
        return replace(self, X=step.apply(self.X, self.features), scale=self.scale.then(step))

    def unscaled(self) -> "Dataset":
        """Return the data in original units, to rounding."""
        if self.scale.is_none:
            return replace(self, scale=Scale.none(self.n_features))
        back = Scale.none(self.n_features).after(self.scale)
        return replace(self, X=back.apply(self.X, self.features), scale=Scale.none(self.n_features))

    def apply_scale_to(self, other: "Dataset") -> "Dataset":
        """Scale other data (validation, test) with the constants of these.

        Columns of ``other`` are taken by name, in the order of these. Data that already carry a scaling are brought
        from theirs to this one, so that equal scalings change nothing.

        Raises
        ------
        DataError
            A feature of these is missing in ``other``, or a shift is needed on sparse data.

        Examples
        --------
        >>> train, _, test = load_dataset("wdbc").split(seed=1)
        >>> train = train.scaled("standard")
        >>> test = train.apply_scale_to(test)
        """
        if not isinstance(other, Dataset):
            raise DataError(
                f"This needs a Dataset and got {type(other).__name__}: use Dataset.from_csv, from_frame or from_arrays."
            )
        other = prepare.as_in(self, other)
        theirs = set(other.features)
        again = {
            name: product
            for name, product in self.products.items()
            if {product.a, product.b} <= theirs and (name not in theirs or other.products.get(name, product) != product)
        }
        if missing := prepare.sources([j for j in self.features if j not in again], self.products, theirs)[1]:
            raise DataError(f'Data "{other.name}" lack features ({listed(missing)}): give data with the same columns.')
        if again:
            rest = [name for name in other.features if name not in again]
            other = (other.select_features(rest) if len(rest) < len(theirs) else other)._with_products(again)
        if other.features != self.features:
            other = other.select_features(self.features)
        step = self.scale.after(other.scale)
        return replace(other, X=step.apply(other.X, other.features), scale=self.scale)

    def original_weights(self, w: ArrayLike | Mapping[str, float], b: float) -> tuple[FloatArray, float]:
        """Bring a classifier of the scaled data back to original units.

        Parameters
        ----------
        w : array_like of shape (n_features,), or mapping feature -> weight
            Weights on the scaled data; a mapping may leave out zeros.
        b : float
            Bias on the scaled data.

        Returns
        -------
        (w_original, b_original)
            With the same decision value for every sample: ``X @ w + b == X_original @ w_original + b_original``.

        Examples
        --------
        >>> data = Dataset.from_arrays([[0.0], [4.0]], [0, 1]).scaled("minmax")
        >>> data.original_weights([2.0], -1.0)
        (array([0.5]), -1.0)
        """
        if isinstance(w, Mapping):
            check_known_features(w, self.features, "weights")
            w = [w.get(name, 0.0) for name in self.features]
        bias = number_array("b", b, DataError)
        if bias.ndim > 0:
            raise DataError(f"b={b!r} is not allowed: give a number.", parameter="b")
        return self.scale.original_weights(number_array("w", w, DataError), float(bias))

    def take(self, rows: ArrayLike, name: str | None = None) -> "Dataset":
        """Keep some rows, by position (in the order given) or by a mask of n_samples booleans."""
        index = row_index(rows, self.n_samples)
        kept = {key: values[index] for key, values in self.aside.items()}
        weighting = None if self.weighting is None else self.weighting.take(index)
        imputing = None if self.imputing is None else self.imputing.take(index)
        named = self.name if name is None else name
        return replace(
            self, X=self.X[index], y=self.y[index], name=named, aside=kept, weighting=weighting, imputing=imputing
        )

    def weighted(self, sample_weight: Any = None, class_weight: Any = None) -> "Dataset":
        """Return these data with a weight for each sample, by which models multiply its slack; both multiply.

        Weights replace earlier ones; without any the data have none again. They go with the rows. Take them before
        ``scaled``, which counts those given one by one; what blanks were filled in with (``impute``) does not.

        Parameters
        ----------
        sample_weight : array_like of shape (n_samples,), or str, optional
            How often each row counts: 2 is as good as the row twice, 0 as leaving it out, of losses and of what is
            computed from the rows. Text names a feature, which is then none, or a column that lies aside.
        class_weight : "balanced" or mapping label -> number, optional
            What a mistake costs in a class; one that is not named costs 1. Labels are the data's own, or -1 and 1.
            "balanced": n / (2 n_c) in a class of n_c of the n samples, of whatever rows are taken.

        Raises
        ------
        DataError
            Weights that are not one finite number of at least 0 a sample, or leave nothing of a class.
        ParameterError
            Weights of classes that are neither "balanced" nor numbers above 0 by label.

        Examples
        --------
        >>> data = Dataset.from_arrays([[0.0], [1.0], [2.0]], ["no", "yes", "yes"])
        >>> data.weighted(class_weight="balanced").sample_weight.tolist()
        [1.5, 0.75, 0.75]
        >>> data.weighted([1, 1, 4], {"no": 10}).sample_weight.tolist()
        [10.0, 1.0, 4.0]
        """
        data = self
        if isinstance(sample_weight, str) and sample_weight not in self.aside:
            check_known_features([sample_weight], self.features, "sample_weight")
            data = self.set_aside(sample_weight)
        made = weighting(sample_weight, class_weight, data.y, data.aside, (data.negative_label, data.positive_label))
        return replace(data, weighting=made)

    def set_aside(self, *names: str, keep: bool = False) -> "Dataset":
        """Take features out and keep them aside as text, such as the group of each sample; ``keep``: in as well.

        Examples
        --------
        >>> data = load_dataset("cleveland").set_aside("sex")
        >>> "sex" in data.features, data.aside["sex"][:3].tolist()
        (False, ['1', '1', '1'])
        """
        check_known_features(names, self.features, "set_aside")
        kept = {**self.aside, **{name: self._original(name) for name in names}}
        rest = self.features if keep else [name for name in self.features if name not in names]
        if not rest:
            raise DataError("set_aside leaves no feature: keep one at least.")
        return replace(self if keep else self.select_features(rest), aside=kept)

    def _original(self, name: str) -> FloatArray:
        """Return a feature in original units."""
        j = self.features.index(name)
        x = self.X[:, [j]].toarray().ravel() if self.is_sparse else self.X[:, j]
        return np.asarray(x / self.scale.factor[j] + self.scale.shift[j])

    def members(self, groups: str | ArrayLike) -> dict[str, NDArray[np.intp]]:
        """Return the rows of each group of samples: a column that lies aside, or one value a sample.

        A group whose samples all have weight 0 is none.

        Examples
        --------
        >>> {sex: len(rows) for sex, rows in load_dataset("cleveland").set_aside("sex").members("sex").items()}
        {'0': 96, '1': 201}
        """
        found = columns.members(groups, self.aside, self.features, self.n_samples)
        counts = self.multiplicity
        return found if counts is None else {name: rows for name, rows in found.items() if counts[rows].any()}

    def with_aside(self, **columns: ArrayLike) -> "Dataset":
        """Keep columns that are no features, with one value for each sample.

        Examples
        --------
        >>> data = load_dataset("bupa").with_aside(half=[k % 2 for k in range(345)])
        >>> data.aside["half"][:3].tolist()
        ['0', '1', '0']
        """
        kept: dict[str, Any] = {**self.aside, **columns}
        return replace(self, aside=kept)

    def select_features(self, names: Sequence[str]) -> "Dataset":
        """Keep some features, in the order given, with their scaling constants."""
        names = as_names(names, "select_features")
        check_known_features(names, self.features, "select_features")
        if len(set(names)) < len(names) or not names:
            raise DataError(f"select_features got {listed(names) or 'no name'}: give one feature or more, each once.")
        position = {name: j for j, name in enumerate(self.features)}
        columns = np.array([position[name] for name in names], dtype=np.intp)
        X = self.X[:, columns] if self.is_sparse else np.ascontiguousarray(self.X[:, columns])
        kept = {name: product for name, product in self.products.items() if name in names}
        sources = {*names, *(part for product in kept.values() for part in (product.a, product.b))}
        categories = {key: each for key, each in self.categories.items() if not sources.isdisjoint(each.features)}
        imputing = None if self.imputing is None else self.imputing.of(names, sources)
        return replace(
            self, X=X, features=tuple(names), scale=self.scale.take(columns), products=kept, categories=categories,
            imputing=imputing,
        )  # fmt: skip

    def with_interactions(self, *features: str, pairs: Iterable[tuple[str, str]] | None = None) -> "Dataset":
        """Add products of two standardised features as features, named ``"a:b"``.

        The constants by which a and b are standardised are those of these samples, and are remembered: other data
        (``apply_scale_to``, ``predict``) have the same products without having the column. ``hierarchy=`` of ``select``
        states which products may be selected without their features.

        Parameters
        ----------
        *features : str
            All pairs of these; of all features where nothing is given. Constant columns and products have no products.
        pairs : pairs of features, optional
            These pairs, alone or besides.

        Raises
        ------
        DataError
            What is no feature, or a product itself; a column of the new name; sparse data; data scaled by another
            method than "standard" or "minmax".

        Examples
        --------
        >>> data = load_dataset("bupa").with_interactions("sgpt", "sgot", "drinks")
        >>> data.features[6:]
        ('sgpt:sgot', 'sgpt:drinks', 'sgot:drinks')
        >>> data.parents["sgpt:drinks"]
        ('sgpt', 'drinks')
        """
        self.require_dense("with_interactions")
        plain = [name for name in self.features if name not in self.products]
        wanted = prepare.named_pairs(features, pairs, plain)
        found = prepare.made(wanted, self._original, self.features, self.multiplicity)
        if not found:
            raise DataError("with_interactions: one of each pair is constant, so that no product says anything.")
        wide, method = self._with_products(found), self.scale.method
        if method == "none":
            return wide
        if method not in ("standard", "minmax"):
            raise DataError(f'Data "{self.name}" are scaled ("{method}"): take with_interactions before scaled.')
        new = Scale.fit(wide.X[:, self.n_features :], method, self.multiplicity)
        own = self.scale
        step = Scale(method, np.concatenate([own.shift, new.shift]), np.concatenate([own.factor, new.factor]))
        return replace(wide, X=step.after(wide.scale).apply(wide.X, wide.features), scale=step)

    @property
    def parents(self) -> dict[str, tuple[str, str]]:
        """The two features of each product."""
        return {name: (product.a, product.b) for name, product in self.products.items()}

    def refitted(self) -> "Dataset":
        """Return these data with values for blanks, and products, of these samples alone, for the part of a fold.

        Data that are scaled, or lack a feature of a product, are returned as they are.
        """
        if self.scale.chosen:
            return self
        data = self if self.imputing is None else prepare.imputed(self)
        parents = data.parents
        if not parents or not {name for pair in parents.values() for name in pair} <= set(data.features):
            return data
        plain = data.select_features([name for name in data.features if name not in parents])
        again = plain.with_interactions(pairs=list(parents.values()))
        return again.select_features([name for name in data.features if name in again.features])

    def _with_products(self, found: Mapping[str, Interaction]) -> "Dataset":
        """Append the columns of products, not scaled."""
        columns = {name: product.of(self._original) for name, product in found.items()}
        return replace(self._with_columns(columns), products={**self.products, **found})

    def _with_columns(self, columns: Mapping[str, FloatArray]) -> "Dataset":
        """Append features in original units, not scaled."""
        X = np.column_stack([self.require_dense("A computed feature").X, *columns.values()])
        own, none = self.scale, Scale.none(len(columns))
        shift, factor = np.concatenate([own.shift, none.shift]), np.concatenate([own.factor, none.factor])
        scale = replace(own, shift=shift, factor=factor)
        return replace(self, X=X, features=(*self.features, *columns), scale=scale)

    def split(self, train: float = 0.6, validation: float = 0.2, test: float = 0.2, seed: int = 0) -> Split:
        """Divide the rows at random into three parts with the classes in proportion.

        Parameters
        ----------
        train, validation, test : float
            Fractions that add up to 1; ``validation`` and ``test`` may be 0 and then have no rows.
        seed : int
            One seed, one split. Rows keep their order within a part.

        Raises
        ------
        ParameterError
            Fractions outside [0, 1] or that do not add up to 1.
        DataError
            A part would have no sample of a class.

        Examples
        --------
        >>> [len(part) for part in load_dataset("wdbc").split(0.6, 0.2, 0.2, seed=0)]
        [341, 114, 114]
        """
        rows = split_rows(self.y, train, validation, test, seed)
        return Split(*(self.take(part, f"{self.name}/{what}") for what, part in rows.items()))

    def folds(self, k: int = 5, seed: int = 0) -> list[Fold]:
        """Divide the rows at random into k parts with the classes in proportion; each is held out once.

        Raises
        ------
        ParameterError
            ``k`` below 2, or above the number of samples of the smaller class.
        """
        parts = fold_rows(self.y, k, seed)
        return [
            Fold(self.take(rows, f"{self.name}/fold{i + 1}"), self.take(held, f"{self.name}/fold{i + 1}-held-out"))
            for i, (rows, held) in enumerate(parts)
        ]

    def correlated(self, least: float = 0.95) -> dict[str, str]:
        """Return groups of features any two of which correlate by at least that much, up or down: feature -> group.

        A group is called by its first feature (complete linkage); features in no group are left out.

        Examples
        --------
        >>> groups = load_dataset("wdbc").correlated(0.98)
        >>> [name for name, group in groups.items() if group == "mean_radius"]
        ['mean_radius', 'mean_perimeter', 'mean_area']
        """
        return correlated(self.require_dense("correlated").X, self.features, least, self.multiplicity)

    def to_dense(self) -> "Dataset":
        """Hold X as a dense array of 8 * n_samples * n_features bytes."""
        return replace(self, X=self.X.toarray()) if self.is_sparse else self

    def require_dense(self, what: str) -> "Dataset":
        """Return these data, or say that ``what`` cannot take them sparse."""
        if self.is_sparse:
            megabytes = 8e-6 * self.n_samples * self.n_features
            raise DataError(
                f'{what} needs dense data and "{self.name}" is sparse: use data.to_dense() ({megabytes:.3g} MB), or on '
                "the command line the same data as a CSV file."
            )
        return self

    def to_frame(self) -> pd.DataFrame:
        """Return the (scaled) features and a column ``target`` of -1/+1."""
        dense = self.to_dense()
        target = "target" if "target" not in self.features else "target (-1/+1)"
        return pd.DataFrame(dense.X, columns=list(self.features)).assign(**{target: dense.y.astype(int)})

    def __repr__(self) -> str:
        negative, positives = self.negative_label, int((self.y > 0).sum())
        rest = f"labels {listed(negative, 5)}" if isinstance(negative, tuple) else f"label {negative}"
        return (
            f"Dataset({self.name!r}, {self.n_samples} samples x {self.n_features} features"
            f"{', sparse' if self.is_sparse else ''}, +1: {positives} (label {self.positive_label}), "
            f"-1: {self.n_samples - positives} ({rest}), scale {self.scale.method}"
            f"{'' if self.weighting is None else f', {self.weighting}'}"
            f"{'' if self.imputing is None else f', {self.imputing}'})"
        )

    def _repr_html_(self) -> str:
        head = self.take(range(min(5, self.n_samples))).to_frame()
        return html.paragraph(repr(self)) + html.frame(head, max_cols=12)


def load_dataset(name: str) -> Dataset:
    """Load a data set that ships with the package, as its source has it: not scaled, labels -1/+1.

    Parameters
    ----------
    name : str
        One of ``list_datasets()["name"]``, such as "wdbc".

    Raises
    ------
    DataError
        Unknown name, with the nearest one and the list; or bags of instances, which ``fsmodels.instances.load_bags``
        loads.

    Examples
    --------
    >>> load_dataset("sonar")
    Dataset('sonar', 208 samples x 60 features, +1: 111 (label 1), -1: 97 (label -1), scale none)
    """
    return Dataset.from_csv(shipped_file(name))
