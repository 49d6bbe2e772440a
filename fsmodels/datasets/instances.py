r"""Multiple instances: bags become samples, and each instance of the training bags a feature (MILES).

Problem
    A bag is a set of instances with one label; which instances made it so is unknown. Every instance of the training
    bags is a candidate for the concept behind the label. With the instances of all training bags written in one row,
    x^1, ..., x^n, bag i becomes the sample

    .. math::
        \hat x_i = [s(x^1, B_i), \ldots, s(x^n, B_i)]                                                     && (26) \\
        s(x^k, B_i) = \max_{j \in B_i} \exp\left(-\frac{\lVert x_{ij} - x^k \rVert^2}{2 \sigma^2}\right)  && (27)

    which is labelled :math:`\operatorname{sign}(w \cdot \hat x_i + b)` (28). A feature is an instance, so to select
    features is to select instances: those that are near to bags of one class and far from the other's.
Algorithm 3
    1. ``embedding = embed(train)``: (26) and (27) for every training bag.
    2. ``found = fsmodels.select(embedding.data, MODEL, ...)``: any model of the package. "one-norm-svm" is MILES,
       "fsmulti" the paper's, for F1 and other measures.
    3. ``embedding.concepts(found)`` says which bag and row each selected feature is, and
       ``found.predict(embedding.transform(test))`` labels other bags.
What follows from (27)
    - s is in [0, 1], and 1 for the bag that holds x^k. The maximum is that of the closest instance, as s falls with the
      distance: one matrix of closest distances serves every sigma (``Embedding.with_sigma``).
    - sigma to infinity: every s is 1 and all bags are alike. sigma to 0: s is 1 where the bag holds an instance equal
      to x^k, else 0, and a bag whose instances are not in training has all 0.
    - An instance in two training bags gives two equal features; a model may use either or both.
    - Distances compare attributes: ``bags.scaled("standard")`` puts them on one footing.
The default of sigma
    The median of the distances from an instance to the closest instance of another bag, over all pairs of a training
    instance and a training bag that it is not in: the d of (27) without those that are 0 by construction. Half of the
    similarities to other bags are then below exp(-1/2) = 0.61. It is a starting point, and depends on the training bags
    alone; bags held out decide between multiples of it.
No leak
    A bag must not be divided, and features come from training bags only: ``bags.split`` or ``bags.folds`` first, then
    ``embed`` the training part and ``transform`` the others. Their scaling too is that of the training part.
Symbols
    B_i -> ``bags.names`` (bags), x -> ``bags.X`` (instances x attributes; unit of the attribute, or none if scaled),
    sigma -> ``embedding.sigma`` (unit of the distance), s -> ``embedding.data.X`` (bags x training instances; none),
    w, b -> ``found.weights``, ``found.bias``.
Source
    Mao, Tsang, "A feature selection method for multivariate performance measures", section 7, (26)-(28), Algorithm 3;
    Chen, Bi, Wang 2006, "MILES: Multiple-instance learning via embedded instance selection", IEEE TPAMI 28(12).
Deviations
    MILES writes exp(-d^2 / sigma^2): its sigma is sqrt(2) times the one here. Neither paper has a default for sigma.
    Algorithm 3 leaves b out, as the structural SVM has none; with other models of the package b is theirs.
Certificate
    That of the model that selects. The embedding itself is exact: distances are sums of squared differences, without
    the shortcut |x|^2 - 2 x.z + |z|^2, which loses digits where x and z are close.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fsmodels.checks import positive
from fsmodels.datasets.bags import BagFold, Bags, BagSplit, check_bags, load_bags
from fsmodels.datasets.dataset import Dataset
from fsmodels.datasets.scaling import Scale
from fsmodels.datasets.shipped import list_bags
from fsmodels.errors import DataError, ParameterError
from fsmodels.words import check_known_features

__all__ = ["BagFold", "BagSplit", "Bags", "Embedding", "closest", "embed", "list_bags", "load_bags"]
__dir__ = __all__.copy  # what <TAB> offers

FloatArray = NDArray[np.float64]


class Selected(Protocol):
    """A Selection, as far as it is read here."""

    @property
    def selected(self) -> Sequence[str]:
        """Names of the selected features."""
        ...

    @property
    def weights(self) -> Mapping[str, float]:
        """Weights by name; what is not named has 0."""
        ...


BLOCK = 2**21  # distances held at once: 16 MB


@dataclass(frozen=True, eq=False, repr=False)
class Embedding:
    """Training bags as samples over their own instances, and the same for other bags; built by ``embed``.

    Attributes
    ----------
    bags : Bags
        The training bags; each of their instances is a feature.
    sigma : float
        Of (27), in the units of the distance between (scaled) instances.
    sigma_rule : str
        "given", or "median" where it is the default of ``embed``.
    distances : ndarray of shape (n_bags, n_instances)
        From each instance to the closest instance of each bag.

    Examples
    --------
    >>> import fsmodels as fs
    >>> train, _, test = load_bags("musk1_bags").split(0.8, 0, 0.2, seed=0)
    >>> embedding = embed(train.scaled("standard"))
    >>> embedding
    Embedding('musk1_bags/train', 74 bags x 397 instances, sigma 14.9 (median))
    >>> found = fs.select(embedding.data, "one-norm-svm", C=10.0)
    >>> embedding.concepts(found)[["feature", "bag", "row_in_bag", "row", "label"]].head(2)
      feature bag  row_in_bag  row  label
    0  bag3:2   3           2   10      1
    1  bag6:2   6           2   19      1
    >>> int((found.predict(embedding.transform(test)) != test.y).sum()), len(test)
    (1, 18)
    """

    bags: Bags
    sigma: float
    sigma_rule: str
    distances: FloatArray

    @cached_property
    def features(self) -> tuple[str, ...]:
        """One name an instance, ``BAG:ROW`` with its place in the bag; bags that are numbers are called bag1, bag2."""
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

    def transform(self, bags: Bags) -> Dataset:
        """Embed other bags by the instances of the training bags.

        Raises ``ParameterError`` for what are no Bags, ``DataError`` for a missing attribute or no bag.

        Parameters
        ----------
        bags : Bags
            Under any scaling: they are brought to that of the training bags. Attributes are found by name.

        Returns
        -------
        Dataset of shape (len(bags), n_instances)
            The features are those of ``data``.
        """
        bags = self.bags.apply_scale_to(check_bags(bags))
        return self._dataset(bags, closest(bags, self.bags.X))

    def with_sigma(self, sigma: float) -> Embedding:
        """Return the embedding for another sigma, without computing distances again.

        Examples
        --------
        >>> embedding = embed(load_bags("musk1_bags").scaled("standard"))
        >>> wider = [embedding.with_sigma(factor * embedding.sigma) for factor in (0.5, 1, 2)]
        """
        return replace(self, sigma=positive("sigma", sigma, MEANING, any_size=True), sigma_rule="given")

    def concepts(self, selection: Selected | Mapping[str, float], attributes: bool = False) -> pd.DataFrame:
        """Say which instances the selected features are, the largest weights first.

        Parameters
        ----------
        selection : Selection, or mapping feature -> weight
            What ``fs.select(embedding.data, ...)`` found, or weights from elsewhere; those of 0 are left out.
        attributes : bool
            Add the values of the attributes, in the units of the file up to rounding.

        Returns
        -------
        pandas.DataFrame
            ``feature``, ``bag`` (its name), ``row_in_bag`` and ``row`` (in the file), counted from 1 without the
            header, ``label`` (-1 or +1, the bag's), ``weight`` on ``data``: above 0, what is near to this instance is
            taken for class +1. Every feature has the same largest value, 1, so that weights can be compared.

        Raises
        ------
        DataError
            If a feature is not one of ``data``.
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
        original = Scale.none(bags.n_attributes).after(bags.scale).apply(bags.X[at], bags.attributes)
        columns = [f"{name} (attribute)" if name in table else name for name in bags.attributes]
        return table.join(pd.DataFrame(original, columns=columns))

    def facts(self) -> dict[str, Any]:
        """Return what is needed to compute (27) again: sizes, sigma and its rule, the scaling of the attributes."""
        bags = self.bags
        return {
            "bags": bags.n_bags,
            "instances": bags.n_instances,
            "attributes": bags.n_attributes,
            "sigma": self.sigma,
            "sigma_rule": self.sigma_rule,
            "attribute_scale": bags.scale.as_dict(bags.attributes),
        }

    def _dataset(self, bags: Bags, distances: FloatArray) -> Dataset:
        with np.errstate(over="ignore", under="ignore"):  # a distance far above sigma has similarity 0
            similarity = np.exp(-0.5 * (distances / self.sigma) ** 2)
        labels = bags.instances.negative_label, bags.instances.positive_label
        scale = Scale.none(len(self.features), chosen=True)  # similarities are on one footing
        guessed = bags.instances.positive_guessed
        return Dataset(similarity, bags.y, self.features, bags.name, *labels, scale, guessed, looked_at=True)

    def __repr__(self) -> str:
        return (
            f"Embedding({self.bags.name!r}, {self.bags.n_bags} bags x {self.bags.n_instances} instances, "
            f"sigma {self.sigma:.3g} ({self.sigma_rule}))"
        )


MEANING = "it is the distance at which the similarity (27) has fallen to 0.61"


def embed(bags: Bags, sigma: float | None = None) -> Embedding:
    """Embed training bags by (26) and (27): one sample a bag, one feature an instance.

    Parameters
    ----------
    bags : Bags
        The training bags alone, scaled or not; see "No leak" above.
    sigma : float, optional
        Above 0, in the units of the distance. By default the median of the distances from an instance to the closest
        instance of another bag, over all pairs of an instance and a bag that it is not in.

    Returns
    -------
    Embedding
        ``embedding.data`` is the Dataset.

    Raises
    ------
    ParameterError
        If ``sigma`` is no number above 0, or is left out where the median is 0 or there is one bag.
    DataError
        If there is no bag, or distances overflow.

    Examples
    --------
    >>> bags = Bags.from_arrays([[[0.0], [3.0]], [[1.0]]], [1, -1], names=["a", "b"])
    >>> embedding = embed(bags, sigma=1.0)
    >>> embedding.data.features
    ('a:1', 'a:2', 'b:1')
    >>> embedding.data.X.round(3).tolist()
    [[1.0, 1.0, 0.607], [0.607, 0.135, 1.0]]
    """
    bags = check_bags(bags)
    if sigma is not None:
        sigma = positive("sigma", sigma, MEANING, any_size=True)
    distances = closest(bags, bags.X)
    rule = "given"
    if sigma is None:
        others = distances[bags.bag != np.arange(bags.n_bags)[:, None]]
        sigma, rule = float(np.median(others)) if len(others) else 0.0, "median"
        if sigma == 0:
            what = "at least half of the distances between bags are 0" if len(others) else "there is one bag"
            raise ParameterError(f'"{bags.name}" gives no default for sigma, as {what}: give sigma, a number above 0.')
    return Embedding(bags, sigma, rule, distances)


def closest(bags: Bags, instances: FloatArray) -> FloatArray:
    """Distance from each of some instances to the closest instance of each bag.

    Parameters
    ----------
    bags : Bags
    instances : ndarray of shape (n, bags.n_attributes)

    Returns
    -------
    ndarray of shape (len(bags), n)
        At most 16 MB of distances are held besides, or those of one instance of the bags to all n.

    Raises
    ------
    DataError
        If a distance is too large for a float.

    Examples
    --------
    >>> closest(Bags.from_arrays([[[0.0], [3.0]], [[1.0]]], [1, -1]), np.array([[5.0]]))
    array([[2.],
           [4.]])
    """
    from scipy.spatial.distance import cdist

    squares = np.full((len(bags), len(instances)), np.inf)
    step = max(1, BLOCK // max(1, len(instances)))
    for start in range(0, bags.n_instances, step):
        here, first = np.unique(bags.bag[start : start + step], return_index=True)
        block = np.minimum.reduceat(cdist(bags.X[start : start + step], instances, "sqeuclidean"), first, axis=0)
        squares[here] = np.minimum(squares[here], block)  # a bag may go on in the next block
    if not np.isfinite(squares).all():
        raise DataError(
            f'Distances between instances of "{bags.name}" overflow: scale the attributes, for example with '
            'bags.scaled("standard").'
        )
    return np.sqrt(squares)
