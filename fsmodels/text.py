"""Text of messages: lists of names, suggestions for misspelt names, unknown features, names of scalings."""

import difflib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from fsmodels.errors import DataError

MOST_CHARACTERS = 40  # of a value in a message
SCALINGS = ("none", "standard", "unit-ball", "minmax")  # documented in ``fsmodels.datasets.scaling``
SPARSE_SCALINGS = ("none", "unit-ball")
DEFAULT_SCALING = "standard"


def short(text: str) -> str:
    """Shorten a text for a message."""
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}..."


def shown(value: Any) -> str:
    """Return the shortened text of a value, or its type if it has no text, as an integer of 5000 digits."""
    try:
        return short(repr(value))
    except Exception:
        return f"an object of type {type(value).__name__}"


def iterable(value: Any) -> bool:
    """Return True if ``iter`` accepts a value; it rejects an array of dimension 0, which is an ``Iterable``."""
    try:
        iter(value)
    except TypeError:
        return False
    return True


def listed(names: Iterable[Any], limit: int = 12) -> str:
    """Join names in one line for a message; only the first ``limit`` appear."""
    texts = [str(name) for name in names]
    return ", ".join(texts) if len(texts) <= limit else f"{', '.join(texts[:limit])}, ... ({len(texts)} in all)"


def lasting(value: Any) -> Any:
    """Return a value for repeated iteration: iterators become lists, also inside lists and tuples."""
    if isinstance(value, Iterator):
        value = list(value)
    return type(value)(map(lasting, value)) if type(value) in (list, tuple) else value


def suggestion(name: object, known: Iterable[object]) -> str:
    """Return ``Did you mean "..."? `` with a trailing space if a known name is similar, else ""."""
    by_lower = {str(option).lower(): str(option) for option in known}
    near = difflib.get_close_matches(str(name).lower(), by_lower, n=1, cutoff=0.6)
    return f'Did you mean "{by_lower[near[0]]}"? ' if near else ""


def built_model(given: Any) -> str:
    """Return advice for a user who passes a built model instead of a name or data; "" for other objects."""
    if not hasattr(given, "component_data_objects"):
        return ""
    return (
        'This function builds the model from data and a name such as "fsp-m", and does not accept a built model: give '
        "side constraints by keyword (force_in=, excludes=, budget=, ...). fs.solve(model) solves your own model, with "
        "its proven bound; fs.price_of(model) returns the cost of its rows, and "
        'fs.solve(model, "branch-and-cut", within=0.01).details["near"] lists every selection within 1% of its best.'
    )


def as_names(names: Any, where: str) -> list[str]:
    """Return one name or several names as a list of str. Raises DataError: other types."""
    if isinstance(names, str):
        return [names]
    if isinstance(names, Mapping) or not iterable(names):
        raise DataError(f'{where} got {type(names).__name__}: give a list of names, for example ["age", "dose"].')
    return [str(name) for name in names]


def check_known_features(names: Iterable[str], features: Sequence[str], where: str) -> None:
    """Reject names that are not features, such as a cost for an unknown feature.

    ``names``: names of the user. ``features``: names of the data. ``where``: source of the names, for the message
    (``"COSTS.csv"``, ``"requires"``). Raises DataError, with the first unknown name, the most similar feature and the
    features.

    >>> check_known_features(["age"], ("age", "weight"), "costs.csv")
    """
    if not iterable(names):
        raise DataError(f"{where} got {type(names).__name__}: give names of features.")
    known = set(features)
    unknown = [str(name) for name in names if not isinstance(name, Hashable) or name not in known]
    if unknown:
        more = f" (and {len(unknown) - 1} more)" if len(unknown) > 1 else ""
        raise DataError(
            f'{where}: "{unknown[0]}"{more} is not a feature of the data. {suggestion(unknown[0], features)}'
            f"Features: {listed(features)}."
        )
