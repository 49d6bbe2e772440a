"""Products of two features as features of their own: their constants, and how they are made again from other rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsmodels.datasets.scaling import Scale, counted
from fsmodels.errors import DataError
from fsmodels.words import check_known_features, iterable

__all__ = ["Interaction", "made", "named_pairs", "sources"]

FloatArray = NDArray[np.float64]
MOST = 100_000  # products


@dataclass(frozen=True)
class Interaction:
    """``((a - shift_a) * factor_a) * ((b - shift_b) * factor_b)`` of two features in original units."""

    a: str
    b: str
    shift: tuple[float, float]
    factor: tuple[float, float]

    def of(self, original: Callable[[str], FloatArray]) -> FloatArray:
        """Return the column, of a function that gives features in original units."""
        one = (original(self.a) - self.shift[0]) * self.factor[0]
        other = (original(self.b) - self.shift[1]) * self.factor[1]
        return np.asarray(one * other)


def named_pairs(
    names: Sequence[str],
    pairs: Iterable[tuple[str, str]] | None,
    plain: Sequence[str],
) -> list[tuple[str, str]]:
    """Return the pairs to multiply: those given, and all of ``names``, where neither is given of all plain features.

    Raises DataError: what is no feature, a product, a feature with itself, or too many.
    """
    check_known_features(names, plain, "with_interactions")
    among = list(plain) if pairs is None and not names else list(names)
    if len(among) * (len(among) - 1) // 2 > MOST:
        raise DataError(
            f"{len(among)} features have {len(among) * (len(among) - 1) // 2} pairs: name the features or pairs to "
            'multiply, with_interactions("age", "dose").'
        )
    if pairs is not None and (isinstance(pairs, str) or not iterable(pairs)):
        raise DataError(f'with_interactions: pairs got {type(pairs).__name__}: give pairs=[("age", "dose")].')
    found = list(itertools.combinations(among, 2))
    for pair in () if pairs is None else pairs:
        if isinstance(pair, str) or not isinstance(pair, tuple | list) or len(pair) != 2:
            raise DataError(f'with_interactions: {pair!r} is no pair of features: give pairs=[("age", "dose")].')
        check_known_features(pair, plain, "with_interactions")
        found.append((pair[0], pair[1]))
    for a, b in found:
        if a == b:
            raise DataError(f'with_interactions: "{a}" stands on both sides: name two features.')
    if not found:
        raise DataError("with_interactions needs two features or more: name them, or give pairs=.")
    return list({frozenset(pair): pair for pair in reversed(found)}.values())[::-1]


def made(
    pairs: Iterable[tuple[str, str]],
    original: Callable[[str], FloatArray],
    taken: Collection[str],
    counts: FloatArray | None = None,
) -> dict[str, Interaction]:
    """Return the products of pairs of standardised columns by their names ``"a:b"``; constant columns have none.

    ``counts``: how often each row counts.
    """
    names = sorted({name for pair in pairs for name in pair})
    constants = {name: Scale.fit(original(name)[:, None], "standard", counts) for name in names}
    varied = {name for name in names if np.ptp(counted(original(name), counts)[0]) > 0}
    found: dict[str, Interaction] = {}
    for a, b in pairs:
        if not {a, b} <= varied:
            continue
        name = f"{a}:{b}"
        if name in taken or name in found:
            raise DataError(f'with_interactions: there is a column "{name}" already: rename it, or leave the pair out.')
        one, other = constants[a], constants[b]
        shift, factor = (one.shift[0], other.shift[0]), (one.factor[0], other.factor[0])
        found[name] = Interaction(a, b, (float(shift[0]), float(shift[1])), (float(factor[0]), float(factor[1])))
    return found


def sources(
    features: Iterable[str], products: Mapping[str, Interaction], there: Collection[str]
) -> tuple[list[str], list[str]]:
    """Return the columns by which features are known, of those that are ``there``, and those that are missing."""
    needed: dict[str, None] = {}
    for name in features:
        whole = name in there or name not in products
        needed |= dict.fromkeys([name] if whole else [products[name].a, products[name].b])
    return list(needed), [name for name in needed if name not in there]
