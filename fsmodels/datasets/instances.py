r"""Multiple instances: bags become samples, and each instance of the training bags a feature (MILES).

Problem
    A bag is a set of instances with one label; it is unknown which instances caused the label. Every instance of the
    training bags is a candidate for the concept. With the instances of all training bags x^1, ..., x^n, bag i becomes
    the sample

    .. math::
        \hat x_i = [s(x^1, B_i), \ldots, s(x^n, B_i)]                                                     && (26) \\
        s(x^k, B_i) = \max_{j \in B_i} \exp\left(-\frac{\lVert x_{ij} - x^k \rVert^2}{2 \sigma^2}\right)  && (27)

    with the predicted label :math:`\operatorname{sign}(w \cdot \hat x_i + b)` (28). Each feature is an instance, so
    feature selection selects instances: those near to bags of one class and far from bags of the other.
Algorithm 3
    1. ``embedding = embed(train)``: (26) and (27) for every training bag.
    2. ``found = fsmodels.select(embedding.data, MODEL, ...)``: any model of the package. "one-norm-svm" gives MILES;
       "fsmulti" is the model of the paper, for F1 and other measures.
    3. ``embedding.concepts(found)`` returns bag and row of each selected feature, and
       ``found.predict(embedding.transform(test))`` labels other bags.
Properties of (27)
    - s is in [0, 1], and 1 for the bag of x^k. The closest instance attains the maximum, as s falls with the distance,
      so one matrix of closest distances is enough for all sigma (``Embedding.with_sigma``).
    - sigma to infinity: every s is 1 and all bags are equal. sigma to 0: s is 1 if the bag has an instance equal to
      x^k, else 0, and a bag without training instances has only 0.
    - An instance in two training bags gives two equal features; a model may use either or both.
    - Distances depend on the units of attributes: scale them first, ``data.scaled("standard")``.
Default of sigma
    The median of the distances from an instance to the closest instance of another bag, over all pairs of a training
    instance and a training bag that it is not in: the d of (27) without those that are 0 by construction. Half of the
    similarities to other bags are then below exp(-1/2) = 0.61. It depends on the training bags alone; choose between
    multiples of it by held-out bags.
Held-out bags
    Do not divide a bag, and take features from training bags only. Take folds of whole bags, for example by
    scikit-learn's ``StratifiedGroupKFold(5).split(data.X, data.y, data.aside["bag_id"])`` and ``data.take(rows)``; then
    ``embed`` the training part and ``transform`` the others, which get the scaling of the training part.
Symbols
    B_i -> ``embedding.bags.names``, x -> ``embedding.bags.instances.X`` (instances x attributes; the unit of the
    attribute, or none if scaled), sigma -> ``embedding.sigma`` (unit of the distance), s -> ``embedding.data.X`` (bags
    x training instances; none), w, b -> ``found.weights``, ``found.bias``.
Source
    Mao, Tsang, "A feature selection method for multivariate performance measures", section 7, (26)-(28), Algorithm 3;
    Chen, Bi, Wang 2006, "MILES: Multiple-instance learning via embedded instance selection", IEEE TPAMI 28(12).
Deviations
    MILES has exp(-d^2 / sigma^2): its sigma is sqrt(2) times the one here. Neither paper has a default for sigma.
    Algorithm 3 has no b, as the structural SVM has none; other models of the package have one.
Certificate
    That of the model. The embedding is exact: distances are sums of squared differences, not
    |x|^2 - 2 x.z + |z|^2, which loses digits if x and z are close.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fsmodels.checks import positive as positive_number
from fsmodels.datasets.checks import require_unweighted
from fsmodels.datasets.dataset import Dataset
from fsmodels.datasets.scaling import Scale
from fsmodels.datasets.shipped import list_bags, shipped_file, with_class_names
from fsmodels.errors import DataError, ParameterError
from fsmodels.text import check_known_features, listed
from fsmodels.weights import FloatArray

__all__ = ["Embedding", "closest", "embed", "list_bags", "load_bags"]
__dir__ = __all__.copy  # what <TAB> offers

Rows = NDArray[np.intp]


def __getattr__(name: str) -> Any:
    if name in ("Bags", "BagFold", "BagSplit"):
        raise AttributeError(
            f"instances.{name} was removed: read a Dataset with the column of bags aside, "
            'Dataset.from_csv(path, aside="bag_id"), call embed(data, bag="bag_id"), and take folds of whole bags by '
            "scikit-learn's GroupKFold."
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


BLOCK = 2**21  # distances in memory at once: 16 MB


class BagRows(NamedTuple):
    """Instances in the order of their bags.

    ``instances``: a sample for each instance, with the label of its bag. ``bag``: number of the bag of each instance,
    from 0. ``names``: of the bags. ``row``: row of each instance in the data, from 1.
    """

    instances: Dataset
    bag: Rows
    names: tuple[str, ...]
    row: Rows

    @property
    def starts(self) -> Rows:
        """The first instance of each bag."""
        return np.searchsorted(self.bag, np.arange(len(self.names)))

    @property
    def y(self) -> FloatArray:
        """The labels -1 or +1 of the bags."""
        return self.instances.y[self.starts]

    @property
    def row_in_bag(self) -> Rows:
        """The place of each instance in its bag, from 1."""
        return np.arange(len(self.bag)) - self.starts[self.bag] + 1

    @classmethod
    def of(cls, data: Any, column: str) -> BagRows:
        """Return the rows of a Dataset sorted by bags, in the order of the first rows.

        Raises DataError: no such column, no row, or a bag with two labels.
        """
        require_unweighted(data, "embed").require_dense("embed")
        if column not in data.aside:
            raise DataError(
                f'No column "{column}" of bags is set aside in data "{data.name}" (set aside: '
                f'{listed(data.aside) or "none"}): use Dataset.from_csv(path, aside="{column}").'
            )
        if not data.n_samples:
            raise DataError(f'There is no bag in "{data.name}": give data with bags.')
        codes, names = pd.factorize(data.aside[column])
        order = np.argsort(codes, kind="stable")
        found = cls(data.take(order), codes[order], tuple(names), order + 1)
        differs = found.instances.y != found.y[found.bag]
        if differs.any():
            k = int(np.argmax(differs))
            first = int(found.starts[found.bag[k]])
            raise DataError(
                f'Bag "{names[found.bag[k]]}" has class {found.instances.y[first]:+.0f} in row {found.row[first]} and '
                f"class {found.instances.y[k]:+.0f} in row {found.row[k]}: all rows of a bag need the same label. "
                "If the labels are those of instances, label every row of a bag +1 if one of them is +1."
            )
        return found


@dataclass(frozen=True, eq=False, repr=False)
class Embedding:
    """Training bags as samples whose features are the training instances; other bags by ``transform``.

    Attributes
    ----------
    bags : BagRows
        The training bags; each of their instances is a feature.
    column : str
        The column of bags.
    sigma : float
        Of (27), in the units of the distance between (scaled) instances.
    sigma_rule : str
        "given", or "median" for the default of ``embed``.
    distances : ndarray of shape (n_bags, n_instances)
        Distance from each instance to the closest instance of each bag.

    Examples
    --------
    >>> import fsmodels as fs
    >>> from sklearn.model_selection import StratifiedGroupKFold
    >>> data = load_bags("musk1_bags")
    >>> rows, held_out = next(StratifiedGroupKFold(5).split(data.X, data.y, data.aside["bag_id"]))
    >>> embedding = embed(data.take(rows, "train").scaled("standard"))
    >>> embedding
    Embedding('train', 76 bags x 381 instances, sigma 15.6 (median))
    >>> found = fs.select(embedding.data, "one-norm-svm", C=10.0)
    >>> embedding.concepts(found)[["feature", "bag", "row_in_bag", "row", "label"]].head(2)
       feature bag  row_in_bag  row  label
    0  bag53:7  53           7  188     -1
    1  bag12:4  12           4   25      1
    >>> test = embedding.transform(data.take(held_out))
    >>> int((found.predict(test) != test.y).sum()), len(test)
    (1, 16)
    """

    bags: BagRows
    column: str
    sigma: float
    sigma_rule: str
    distances: FloatArray

    @cached_property
    def features(self) -> tuple[str, ...]:
        """The name of each instance, ``BAG:ROW`` with its place in the bag; bags 1, 2 are written bag1, bag2."""
        names = self.bags.names
        prefix = "bag" if any(name[:1].isdigit() for name in names) else ""
        return tuple(
            f"{prefix}{names[i]}:{k}"
            for i, k in zip(self.bags.bag.tolist(), self.bags.row_in_bag.tolist(), strict=True)
        )

    @cached_property
    def data(self) -> Dataset:
        """The training bags as a plain Dataset of shape (n_bags, n_instances), for any model of the package."""
        return self._dataset(self.bags, self.distances)

    def transform(self, data: Dataset) -> Dataset:
        """Embed other bags by the instances of the training bags.

        Parameters
        ----------
        data : Dataset
            With the same column of bags and any scaling. The scaling of the training bags is applied. Attributes are
            found by name.

        Returns
        -------
        Dataset of shape (n_bags, n_instances)
            The features are those of ``data``.

        Raises
        ------
        ParameterError
            ``data`` is not a Dataset.
        DataError
            An attribute or the column is missing, there is no row, or a bag is divided between these and training data.
        """
        own, other = self.bags, BagRows.of(data, self.column)
        sizes, training = (dict(zip(part.names, np.bincount(part.bag), strict=True)) for part in (other, own))
        divided = [name for name, size in sizes.items() if training.get(name, size) != size]
        if divided:
            raise DataError(
                f"Bags are divided between the training rows and these ({listed(divided)}): take whole bags, for "
                "example by scikit-learn's GroupKFold."
            )
        other = other._replace(instances=own.instances.apply_scale_to(other.instances))
        return self._dataset(other, closest(other, own.instances.X))

    def with_sigma(self, sigma: float) -> Embedding:
        """Return the embedding for another sigma; distances are not computed again.

        Examples
        --------
        >>> embedding = embed(load_bags("musk1_bags").scaled("standard"))
        >>> wider = [embedding.with_sigma(factor * embedding.sigma) for factor in (0.5, 1, 2)]
        """
        return replace(self, sigma=positive_number("sigma", sigma, MEANING, any_size=True), sigma_rule="given")

    def concepts(self, selection: Any, attributes: bool = False) -> pd.DataFrame:
        """Return the instances of the selected features, the largest weights first.

        Parameters
        ----------
        selection : Selection, or mapping feature -> weight
            The result of ``fs.select(embedding.data, ...)``, or other weights; weights of 0 are left out.
        attributes : bool
            Add the values of the attributes, in original units up to rounding.

        Returns
        -------
        pandas.DataFrame
            ``feature``, ``bag`` (its name), ``row_in_bag`` and ``row`` (of the embedded data), counted from 1,
            ``label`` (-1 or +1, of the bag), ``weight`` on ``data``: above 0 if bags near to this instance tend to
            class +1. Every feature has the largest value 1, so that weights can be compared.

        Raises
        ------
        DataError
            A name is not a feature of ``data``.
        """
        if isinstance(selection, Mapping):
            weights = {name: float(weight) for name, weight in selection.items() if weight}
        else:
            weights = {name: selection.weights.get(name, 0.0) for name in selection.selected}
        check_known_features(weights, self.features, "concepts")
        place = {name: k for k, name in enumerate(self.features)}
        chosen = sorted(weights, key=lambda name: (-abs(weights[name]), place[name]))
        at, bags = np.array([place[name] for name in chosen], dtype=np.intp), self.bags
        table = pd.DataFrame(
            {
                "feature": chosen,
                "bag": [bags.names[i] for i in bags.bag[at].tolist()],
                "row_in_bag": bags.row_in_bag[at],
                "row": bags.row[at],
                "label": bags.instances.y[at].astype(int),
                "weight": [weights[name] for name in chosen],
            }
        )
        if not attributes:
            return table
        original = bags.instances.take(at).unscaled()
        columns = [f"{name} (attribute)" if name in table else name for name in original.features]
        return table.join(pd.DataFrame(original.X, columns=columns))

    def facts(self) -> dict[str, Any]:
        """Return sizes, sigma and its rule, and the scaling of the attributes, which determine (27)."""
        instances = self.bags.instances
        return {
            "bags": len(self.bags.names),
            "instances": instances.n_samples,
            "attributes": instances.n_features,
            "sigma": self.sigma,
            "sigma_rule": self.sigma_rule,
            "attribute_scale": instances.scale.as_dict(instances.features),
        }

    def _dataset(self, bags: BagRows, distances: FloatArray) -> Dataset:
        with np.errstate(over="ignore", under="ignore"):  # a distance far above sigma has similarity 0
            similarity = np.exp(-0.5 * (distances / self.sigma) ** 2)
        rows = bags.instances
        scale = Scale.none(len(self.features), chosen=True)  # similarities have one scale
        return Dataset(
            similarity, bags.y, self.features, rows.name, rows.negative_label, rows.positive_label, scale,
            rows.positive_guessed, looked_at=True, class_names=rows.class_names,
        )  # fmt: skip

    def __repr__(self) -> str:
        return (
            f"Embedding({self.bags.instances.name!r}, {len(self.bags.names)} bags x {len(self.bags.bag)} instances, "
            f"sigma {self.sigma:.3g} ({self.sigma_rule}))"
        )


MEANING = "it is the distance at which the similarity (27) has fallen to 0.61"


def embed(
    data: Dataset | pd.DataFrame,
    sigma: float | None = None,
    *,
    bag: str = "bag_id",
    target: str = "target",
    positive: object = None,
) -> Embedding:
    """Embed training bags by (26) and (27): one sample for each bag, one feature for each instance.

    Parameters
    ----------
    data : Dataset or DataFrame
        A row for each instance of the training bags, with the label of its bag; see "Held-out bags" above. A DataFrame
        is read by ``Dataset.from_frame``.
    sigma : float, optional
        Above 0, in the units of the distance. By default the median of the distances from an instance to the closest
        instance of another bag, over all pairs of an instance and a bag that it is not in.
    bag : str
        The column with the bag of each row. In a Dataset it is in ``aside``.
    target, positive
        Of a DataFrame: as in ``Dataset.from_frame``.

    Returns
    -------
    Embedding
        ``embedding.data`` is the Dataset.

    Raises
    ------
    ParameterError
        ``sigma`` is not a number above 0, or is missing and the median is 0 or there is one bag.
    DataError
        There is no such column, a bag has two labels, or distances overflow.

    Examples
    --------
    >>> frame = pd.DataFrame({"bag_id": ["a", "b", "a"], "size": [0.0, 1.0, 3.0], "target": [1, -1, 1]})
    >>> embedding = embed(frame, sigma=1.0)
    >>> embedding.data.features
    ('a:1', 'a:2', 'b:1')
    >>> embedding.data.X.round(3).tolist()
    [[1.0, 1.0, 0.607], [0.607, 0.135, 1.0]]
    """
    if sigma is not None:
        sigma = positive_number("sigma", sigma, MEANING, any_size=True)
    if isinstance(data, pd.DataFrame):
        data = Dataset.from_frame(data, target, positive, aside=[bag])
    bags = BagRows.of(data, bag)
    distances = closest(bags, bags.instances.X)
    rule = "given"
    if sigma is None:
        others = distances[bags.bag != np.arange(len(bags.names))[:, None]]
        sigma, rule = float(np.median(others)) if len(others) else 0.0, "median"
        if sigma == 0:
            what = "at least half of the distances between bags are 0" if len(others) else "there is one bag"
            raise ParameterError(f'"{data.name}" gives no default for sigma, as {what}: give sigma, a number above 0.')
    return Embedding(bags, bag, sigma, rule, distances)


def load_bags(name: str) -> Dataset:
    """Load bags that ship with the package: a row for each instance, with the name of its bag in ``aside["bag_id"]``.

    Parameters
    ----------
    name : str
        One of ``list_bags()["name"]``, such as "musk1_bags".

    Raises
    ------
    DataError
        The name is unknown.

    Examples
    --------
    >>> data = load_bags("musk1_bags")
    >>> data
    Dataset('musk1_bags', 476 samples x 166 features, +1: 207 (musk), -1: 269 (non-musk), scale none)
    >>> len(set(data.aside["bag_id"]))
    92
    """
    return with_class_names(Dataset.from_csv(shipped_file(name, bags=True), aside="bag_id"), name)


def closest(bags: BagRows, instances: FloatArray) -> FloatArray:
    """Return the distance from each of some instances to the closest instance of each bag.

    Parameters
    ----------
    bags : BagRows
    instances : ndarray of shape (n, n_attributes)

    Returns
    -------
    ndarray of shape (n_bags, n)
        The computation needs a further 16 MB, or the distances from one instance to all n if these are more.

    Raises
    ------
    DataError
        A distance is too large for a float.
    """
    from scipy.spatial.distance import cdist

    X = bags.instances.X
    squares = np.full((len(bags.names), len(instances)), np.inf)
    step = max(1, BLOCK // max(1, len(instances)))
    for start in range(0, len(X), step):
        here, first = np.unique(bags.bag[start : start + step], return_index=True)
        block = np.minimum.reduceat(cdist(X[start : start + step], instances, "sqeuclidean"), first, axis=0)
        squares[here] = np.minimum(squares[here], block)  # a bag may continue in the next block
    if not np.isfinite(squares).all():
        raise DataError(
            f'Distances between instances of "{bags.instances.name}" overflow: scale the attributes, for example with '
            'data.scaled("standard").'
        )
    return np.sqrt(squares)
