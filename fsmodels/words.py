"""Words that messages share: lists of names, the nearest known name, unknown features, the names of scalings."""

import difflib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from fsmodels.errors import DataError

SHOWN = 40  # characters of a cell or a value in a message
SCALINGS = ("none", "standard", "unit-ball", "minmax")  # what they do is in ``fsmodels.datasets.scaling``
SPARSE_SCALINGS = ("none", "unit-ball")
DEFAULT_SCALING = "standard"


def short(text: str) -> str:
    """Cut a cell or a value for a message."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def shown(value: Any) -> str:
    """Return a value for a message, cut; its type where it has no text, as an integer of 5000 digits."""
    try:
        return short(repr(value))
    except Exception:
        return f"an object of type {type(value).__name__}"


def iterable(value: Any) -> bool:
    """Return whether ``iter`` takes a value; an array of no dimension is an ``Iterable`` and fails there."""
    try:
        iter(value)
    except TypeError:
        return False
    return True


def listed(names: Iterable[Any], limit: int = 12) -> str:
    """Names in one line for a message, cut after ``limit``."""
    shown = [str(name) for name in names]
    return ", ".join(shown) if len(shown) <= limit else f"{', '.join(shown[:limit])}, ... ({len(shown)} in all)"


def lasting(value: Any) -> Any:
    """Return what can be gone through again and again: an iterator as a list, also inside lists and tuples."""
    if isinstance(value, Iterator):
        value = list(value)
    return type(value)(map(lasting, value)) if type(value) in (list, tuple) else value


def suggestion(name: object, known: Iterable[object]) -> str:
    """``Did you mean "...?" `` with a trailing space when a known name is near, else nothing."""
    by_lower = {str(option).lower(): str(option) for option in known}
    near = difflib.get_close_matches(str(name).lower(), by_lower, n=1, cutoff=0.6)
    return f'Did you mean "{by_lower[near[0]]}"? ' if near else ""


def built_model(given: Any) -> str:
    """Return the next step for a user who passes a built model in place of a name or data.

    Empty where it is none.
    """
    if not hasattr(given, "component_data_objects"):
        return ""
    return (
        'This builds the model itself, from data and a name such as "fsp-m", and takes no model that was built and '
        "edited: say the rows in words (force_in=, excludes=, budget=, ...). A model of your own is solved by "
        "fs.solve(model), with its proven bound; fs.price_of(model) asks what its rows cost, and "
        'fs.solve(model, "branch-and-cut", within=0.01).details["near"] lists every selection within 1% of its best.'
    )


def as_names(names: Any, where: str) -> list[str]:
    """Return one name, or several, as a list of text. Raises DataError: what is given is neither."""
    if isinstance(names, str):
        return [names]
    if isinstance(names, Mapping) or not iterable(names):
        raise DataError(f'{where} got {type(names).__name__}: give a list of names, for example ["age", "dose"].')
    return [str(name) for name in names]


def check_known_features(names: Iterable[str], features: Sequence[str], where: str) -> None:
    """Refuse names that are no features, such as a cost for a feature that the data do not have.

    ``names``: what the user wrote. ``features``: what the data have. ``where``: where the names stand, for the message
    (``"COSTS.csv"``, ``"requires"``). Raises DataError, naming the first unknown name, the nearest feature and the
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
