"""``Dataset``: a matrix, labels -1/+1, feature names, and the constants of the scaling."""

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
from fsmodels.datasets.splitting import fold_rows, row_index, split_rows
from fsmodels.datasets.weighting import Weighting, check_classes, weighting
from fsmodels.errors import DataError, ParameterError
from fsmodels.text import as_names, check_known_features, listed, shown
from fsmodels.weights import FloatArray
from solvers import html


class Split(NamedTuple):
    """Three parts of a data set; a part of size 0 has no rows."""

    train: "Dataset"
    validation: "Dataset"
    test: "Dataset"


class Fold(NamedTuple):
    """Fold of a cross-validation."""

    train: "Dataset"
    held_out: "Dataset"


@dataclass(frozen=True, eq=False, repr=False)
class Dataset(Constructors):
    """Samples with labels -1/+1.

    Use ``from_csv``, ``from_svmlight``, ``from_frame``, ``from_arrays`` or ``load_dataset``, which check the data and
    map the labels. The arrays are read-only; every method returns a new ``Dataset``.

    Attributes
    ----------
    X : ndarray or scipy.sparse.csr_array of shape (n_samples, n_features)
        float64, finite; in the units of the file until ``scaled``.
    y : ndarray of shape (n_samples,)
        float64, -1 or +1.
    features : tuple of str
        Unique column names.
    name : str
        For messages and reports.
    negative_label, positive_label : object
        The original labels of -1 and +1; ``negative_label`` is a tuple if several labels were mapped to -1.
    class_names : tuple of str or None
        Names of class +1 and class -1 for people (``with_class_names``), None if these are the labels.
    scale : Scale
        ``X = (original - scale.shift) * scale.factor``.
    positive_guessed : bool
        True if class +1 is the later of two labels because no label was named, and the labels are not -1 or 0 and 1.
    aside : mapping of str to array
        Columns of text that are not features, such as the group of each sample (``set_aside``).
    products : mapping of str to Interaction
        Features that are products of two others (``with_interactions``), with the constants to compute them.
    weighting : Weighting or None
        Weights of samples and classes in a loss (``weighted``); ``sample_weight`` is their product.
    dialect : Dialect or None
        Options with which the file was read: separator, decimal mark, encoding, sheet.
    categories : mapping of str to Category
        Columns that were replaced by 0/1 features (``one_hot=``).
    imputing : Imputing or None
        The blank cells and the values that replaced them (``impute=``).
    looked_at : bool
        True if warnings about the data were issued already, or do not apply (bags always have more features than
        samples).

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
    class_names: tuple[str, str] | None = None

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

    @property
    def classes(self) -> tuple[str, str]:
        """Names of class +1 and class -1: ``class_names`` or the labels; several merged labels are "not <label>"."""
        positive, negative = self.positive_label, self.negative_label
        return self.class_names or (str(positive), f"not {positive}" if isinstance(negative, tuple) else str(negative))

    @cached_property
    def sample_weight(self) -> FloatArray | None:
        """Weight of each sample in a loss, shape (n_samples,), at least 0 and read-only; None if all are equal."""
        return None if self.weighting is None else self.weighting.of(self.y)

    @property
    def multiplicity(self) -> FloatArray | None:
        """Weight of each row as a number of copies: the sample weights without the class weights."""
        return None if self.weighting is None else self.weighting.given

    @cached_property
    def counting(self) -> "Dataset":
        """The samples whose weight is not 0. Raises DataError if a class has none."""
        weights = self.sample_weight
        if weights is None or weights.all():
            return self
        check_classes(weights, self.y)
        return self.take(np.flatnonzero(weights))

    def __len__(self) -> int:
        return self.n_samples

    def scaled(self, method: str) -> "Dataset":
        """Scale each feature by constants of these samples, which ``scale`` then contains.

        Parameters
        ----------
        method : {"none", "standard", "unit-ball", "minmax"}
            "none": unchanged. "standard": mean 0 and standard deviation 1 (ddof 0) per feature. "minmax": onto [0, 1]
            per feature. "unit-ball": all values divided by the largest Euclidean norm of a row, so that every row is
            in the unit ball (up to rounding) and directions are kept. A constant feature is divided by 1.

        Raises
        ------
        ParameterError
            Unknown method.
        DataError
            A method that shifts zeros on sparse data; a value that overflows.

        Notes
        -----
        Two scalings compose: ``data.scaled("standard").scaled("unit-ball")`` has the constants of both. "none" does not
        undo an earlier scaling; with it ``select`` uses the data as they are. Means, deviations and ranges equal those
        of scikit-learn. A sample weight counts as a number of rows; class weights do not count.
        """
        step = Scale.fit(self.X, method, self.multiplicity)
        return replace(self, X=step.apply(self.X, self.features), scale=self.scale.then(step))

    def unscaled(self) -> "Dataset":
        """Return the data in original units, up to rounding."""
        if self.scale.is_none:
            return replace(self, scale=Scale.none(self.n_features))
        back = Scale.none(self.n_features).after(self.scale)
        return replace(self, X=back.apply(self.X, self.features), scale=Scale.none(self.n_features))

    def apply_scale_to(self, other: "Dataset") -> "Dataset":
        """Scale other data (validation, test) with the constants of these data.

        Columns are matched by name. Data that are scaled already are converted from their scaling to this one.

        Raises
        ------
        DataError
            ``other`` lacks a feature, or sparse data would be shifted.

        Examples
        --------
        >>> import fsmodels as fs
        >>> train, _, test = fs.load_dataset("wdbc").split(seed=1)
        >>> train = train.scaled("standard")
        >>> test = train.apply_scale_to(test)
        """
        if not isinstance(other, Dataset):
            raise DataError(
                f"This needs a Dataset and got {type(other).__name__}: use Dataset.from_csv, from_frame or from_arrays."
            )
        other = prepare.as_in(self, other)
        step = self.scale.after(other.scale)
        return replace(other, X=step.apply(other.X, other.features), scale=self.scale)

    def original_weights(self, w: ArrayLike | Mapping[str, float], b: float) -> tuple[FloatArray, float]:
        """Return the weights and the bias of a linear classifier for data in original units.

        Parameters
        ----------
        w : array_like of shape (n_features,), or mapping feature -> weight
            Weights on the scaled data; a mapping may omit zeros.
        b : float
            Bias on the scaled data.

        Returns
        -------
        (w_original, b_original)
            ``X @ w + b == X_original @ w_original + b_original`` for every sample.

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
        """Return some rows, by position (in the given order) or by a mask of n_samples booleans."""
        index = row_index(rows, self.n_samples)
        kept = {key: values[index] for key, values in self.aside.items()}
        weighting = None if self.weighting is None else self.weighting.take(index)
        imputing = None if self.imputing is None else self.imputing.take(index)
        named = self.name if name is None else name
        return replace(
            self, X=self.X[index], y=self.y[index], name=named, aside=kept, weighting=weighting, imputing=imputing
        )

    def weighted(self, sample_weight: Any = None, class_weight: Any = None) -> "Dataset":
        """Return the data with a weight for each sample, by which models multiply its slack.

        The weight is the product of sample weight and class weight. It replaces earlier weights; a call without
        arguments removes them. Call it before ``scaled``, whose constants count the sample weights; imputed values do
        not.

        Parameters
        ----------
        sample_weight : array_like of shape (n_samples,), or str, optional
            Weight of each row: 2 is equivalent to the row twice, 0 excludes it. Or the name of a feature, which is then
            removed from the features, or of a column in ``aside``.
        class_weight : "balanced" or mapping label -> number, optional
            Cost of an error in a class; 1 for a class that is not named. Labels are those of the data, or -1 and 1.
            "balanced": n / (2 n_c) for a class with n_c of the n samples, computed again for any subset of the rows.

        Raises
        ------
        DataError
            Not one finite number of at least 0 for each sample, or all weights of a class are 0.
        ParameterError
            Class weights are neither "balanced" nor numbers above 0 by label.

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

    def with_class_names(self, positive: str, negative: str) -> "Dataset":
        """Return the data with names of class +1 and class -1, which reports show in place of the labels.

        Raises
        ------
        ParameterError
            A name is not a text, is empty, or both are the same.

        Examples
        --------
        >>> data = Dataset.from_arrays([[0.0], [1.0]], [0, 1]).with_class_names("ill", "well")
        >>> data.classes, data.positive_label
        (('ill', 'well'), 1)
        """
        names = positive, negative
        if not all(isinstance(name, str) and name.strip() for name in names) or positive == negative:
            raise ParameterError(
                f"The class names {listed(map(shown, names))} are not allowed: give two different texts, for class +1 "
                "and class -1.",
                parameter="class_names",
            )
        return replace(self, class_names=names)

    def set_aside(self, *names: str, keep: bool = False) -> "Dataset":
        """Move features to ``aside`` as text, such as the group of each sample; ``keep``: keep them as features too.

        Examples
        --------
        >>> import fsmodels as fs
        >>> data = fs.load_dataset("cleveland").set_aside("sex")
        >>> "sex" in data.features, data.aside["sex"][:3].tolist()
        (False, ['1', '1', '1'])
        """
        check_known_features(names, self.features, "set_aside")
        kept = {**self.aside, **{name: self.original(name) for name in names}}
        rest = self.features if keep else [name for name in self.features if name not in names]
        if not rest:
            raise DataError("set_aside leaves no feature: keep at least one.")
        return replace(self if keep else self.select_features(rest), aside=kept)

    def original(self, name: str) -> FloatArray:
        """Return the values of a feature in original units."""
        j = self.features.index(name)
        x = self.X[:, [j]].toarray().ravel() if self.is_sparse else self.X[:, j]
        return np.asarray(x / self.scale.factor[j] + self.scale.shift[j])

    def members(self, groups: str | ArrayLike) -> dict[str, NDArray[np.intp]]:
        """Return the rows of each group: by a column in ``aside``, or by one value for each sample.

        Groups whose samples all have weight 0 are left out.

        Examples
        --------
        >>> import fsmodels as fs
        >>> {sex: len(rows) for sex, rows in fs.load_dataset("cleveland").set_aside("sex").members("sex").items()}
        {'0': 96, '1': 201}
        """
        found = columns.members(groups, self.aside, self.features, self.n_samples)
        counts = self.multiplicity
        return found if counts is None else {name: rows for name, rows in found.items() if counts[rows].any()}

    def with_aside(self, **columns: ArrayLike) -> "Dataset":
        """Add columns to ``aside``, with one value for each sample.

        Examples
        --------
        >>> import fsmodels as fs
        >>> data = fs.load_dataset("bupa").with_aside(half=[k % 2 for k in range(345)])
        >>> data.aside["half"][:3].tolist()
        ['0', '1', '0']
        """
        kept: dict[str, Any] = {**self.aside, **columns}
        return replace(self, aside=kept)

    def select_features(self, names: Sequence[str]) -> "Dataset":
        """Return some features, in the given order, with their scaling constants."""
        names = as_names(names, "select_features")
        check_known_features(names, self.features, "select_features")
        if len(set(names)) < len(names) or not names:
            raise DataError(f"select_features got {listed(names) or 'no name'}: give at least one feature, each once.")
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

        The features are standardised by constants of these samples, which are stored: ``apply_scale_to`` and
        ``predict`` compute the same products for other data. ``hierarchy=`` of ``select`` restricts the selection of
        products without their features.

        Parameters
        ----------
        *features : str
            All pairs of these features; by default of all features. Constant columns and products are left out.
        pairs : pairs of features, optional
            These pairs, alone or in addition.

        Raises
        ------
        DataError
            A name is not a feature, or is a product; a column of the new name exists; the data are sparse, or scaled by
            another method than "standard" or "minmax".

        Examples
        --------
        >>> import fsmodels as fs
        >>> data = fs.load_dataset("bupa").with_interactions("sgpt", "sgot", "drinks")
        >>> data.features[6:]
        ('sgpt:sgot', 'sgpt:drinks', 'sgot:drinks')
        >>> data.parents["sgpt:drinks"]
        ('sgpt', 'drinks')
        """
        made: Dataset = prepare.with_interactions(self.require_dense("with_interactions"), features, pairs)
        return made

    @property
    def parents(self) -> dict[str, tuple[str, str]]:
        """The two features of each product."""
        return {name: (product.a, product.b) for name, product in self.products.items()}

    @property
    def columns(self) -> dict[str, list[str]]:
        """The features of each column of the table: several for a category, one for any other feature."""
        of = {name: column for column, category in self.categories.items() for name in category.features}
        found: dict[str, list[str]] = {}
        for name in self.features:
            found.setdefault(of.get(name, name), []).append(name)
        return found

    def columns_of(self, features: Iterable[str]) -> list[str]:
        """Return the columns of the table to which features belong."""
        wanted = set(features)
        return [column for column, names in self.columns.items() if not wanted.isdisjoint(names)]

    def refitted(self) -> "Dataset":
        """Return the data with imputed values and products that are computed from these samples, such as a fold.

        Data that are scaled, or lack a feature of a product, are unchanged.
        """
        made: Dataset = self if self.scale.chosen else prepare.refitted(self)
        return made

    def split(self, train: float = 0.6, validation: float = 0.2, test: float = 0.2, seed: int = 0) -> Split:
        """Divide the rows at random into three stratified parts, each in the order of the data.

        Parameters
        ----------
        train, validation, test : float
            Fractions that add up to 1; ``validation`` and ``test`` may be 0.
        seed : int
            Of the random split.

        Raises
        ------
        ParameterError
            A fraction is outside [0, 1], or they do not add up to 1.
        DataError
            A part would have no sample of a class.

        Examples
        --------
        >>> import fsmodels as fs
        >>> [len(part) for part in fs.load_dataset("wdbc").split(0.6, 0.2, 0.2, seed=0)]
        [341, 114, 114]
        """
        rows = split_rows(self.y, train, validation, test, seed)
        return Split(*(self.take(part, f"{self.name}/{what}") for what, part in rows.items()))

    def folds(self, k: int = 5, seed: int = 0) -> list[Fold]:
        """Divide the rows at random into k stratified parts, each of which is held out once.

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
        """Return groups of features with absolute pairwise correlations of at least ``least``: feature -> group.

        Groups are found by complete linkage and named by their first feature; single features are left out.

        Examples
        --------
        >>> import fsmodels as fs
        >>> groups = fs.load_dataset("wdbc").correlated(0.98)
        >>> [name for name, group in groups.items() if group == "mean_radius"]
        ['mean_radius', 'mean_perimeter', 'mean_area']
        """
        return correlated(self.require_dense("correlated").X, self.features, least, self.multiplicity)

    def to_dense(self) -> "Dataset":
        """Return the data with dense X, of 8 * n_samples * n_features bytes."""
        return replace(self, X=self.X.toarray()) if self.is_sparse else self

    def require_dense(self, what: str) -> "Dataset":
        """Return the data. Raises DataError if they are sparse, because ``what`` needs dense data."""
        if self.is_sparse:
            megabytes = 8e-6 * self.n_samples * self.n_features
            raise DataError(
                f'{what} needs dense data, and "{self.name}" is sparse: use data.to_dense() ({megabytes:.3g} MB), or '
                "on the command line the same data as a CSV file."
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
        one, other = self.class_names or (f"label {self.positive_label}", rest)
        return (
            f"Dataset({self.name!r}, {self.n_samples} samples x {self.n_features} features"
            f"{', sparse' if self.is_sparse else ''}, +1: {positives} ({one}), "
            f"-1: {self.n_samples - positives} ({other}), scale {self.scale.method}"
            f"{'' if self.weighting is None else f', {self.weighting}'}"
            f"{'' if self.imputing is None else f', {self.imputing}'})"
        )

    def _repr_html_(self) -> str:
        head = self.take(range(min(5, self.n_samples))).to_frame()
        return html.paragraph(repr(self)) + html.frame(head, max_cols=12)
