"""The schema of a certificate: forms of its parts, and the search for a part that does not have its form.

The multipliers of a large proof are millions of numbers, so a short recursion checks the schema, not a library.
``document`` checks the values.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any

from fsmodels.certificates.verify import BRANCH, CLOSED, EMPTY, GIVEN_UP
from fsmodels.errors import DataError
from fsmodels.text import short

FORMAT, VERSION = "fsmodels-certificate", 2
WHOLE = 2**53  # whole numbers of a file are smaller, so that floating point is exact


@dataclass(frozen=True)
class OneOf:
    """Alternative forms of one value in ``FORM``."""

    forms: tuple[Any, ...]


# Forms of values: a type; a value; None; ``[form]`` a list of any length, a tuple a list of its length; ``{str: form}``
# any names, else exactly these keys, with "?" optional. ``float`` is any finite number, ``int`` a whole number.
EACH, SIDE = OneOf((float, [float])), OneOf((float, None))
THETA = [(int, float)]
FORM: dict[Any, Any] = {
    "format": FORMAT,
    "version": VERSION,
    "model": str,
    "data": {
        "name": str, "samples": int, "features": [str], "positive": str, "positive_samples": int, "scale": str,
        "shift": [float], "factor": [float], "sha256": str, "column_sums": [float],
    },
    "problem": {
        "price": EACH, "C": EACH, "loss": str, "intercept?": SIDE,
        "rows": [{"name": str, "coefficients": {str: float}, "lower": SIDE, "upper": SIDE}],
    },
    "incumbent": {"selected": [str], "weights": {str: float}, "bias": float},
    "objective": float,
    "bound": float,
    "gap": float,
    "multipliers": [([int], [int], [float])],
    "tree": [OneOf(((EMPTY,), (CLOSED, int, THETA), (GIVEN_UP, int, THETA, [int]), (BRANCH, int)))],
}  # fmt: skip


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object. Raises ValueError: it has a key twice."""
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("an object has a key twice")
    return content


def no_number(name: str) -> float:
    """Raise ValueError for NaN and infinity, which are not allowed in JSON."""
    raise ValueError(f"{name} is no number of JSON")


def check_form(content: Any) -> None:
    """Raise DataError for the first part of a content that does not have the form of ``FORM``."""
    if found := _misfit(content, FORM, "content"):
        raise DataError(f"The certificate is malformed: {found[0]} {found[1]}. Write it again from the data.")


def _misfit(value: Any, form: Any, place: str) -> tuple[str, str] | None:
    """Return the first place that does not have its form and the reason; of alternatives the deepest place."""
    if isinstance(form, OneOf):
        found = [_misfit(value, one, place) for one in form.forms]
        return None if None in found else max(filter(None, found), key=lambda each: len(each[0]))
    if isinstance(form, dict):
        keys = {key: key.rstrip("?") for key in form if key is not str}
        if not isinstance(value, dict):
            return place, f"is {_kind(value)} and must be an object"
        if missing := [key for key, name in keys.items() if name == key and name not in value]:
            return place, f'has no "{missing[0]}"'
        if str not in form and (more := [key for key in value if key not in keys.values()]):
            return place, f"has an unknown part {short(repr(more[0]))}"
        forms = {name: form[key] for key, name in keys.items()}
        parts = [(key, part, forms.get(key, form.get(str))) for key, part in value.items()]
    elif isinstance(form, list | tuple):
        if not isinstance(value, list):
            return place, f"is {_kind(value)} and must be a list"
        if isinstance(form, tuple) and len(value) != len(form):
            return place, f"has {len(value)} parts"
        each = form if isinstance(form, tuple) else form * len(value)
        parts = [(k, part, one) for k, (part, one) in enumerate(zip(value, each, strict=True)) if not _fits(part, one)]
    else:
        return None if _fits(value, form) else (place, f"is {_kind(value)} and must be {_NAMES.get(form, repr(form))}")
    nested = (_misfit(part, one, f"{place}[{short(repr(key))}]") for key, part, one in parts)
    return next(filter(None, nested), None)


_NAMES = {str: "text", int: f"a whole number below {WHOLE}", float: "a finite number", None: "null"}


def _fits(value: Any, form: Any) -> bool:
    """Return True if a value has a type, is null, or equals a value; False for forms with parts."""
    if form is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
    if form is str:
        return isinstance(value, str) and (value.isascii() or not any("\ud800" <= c <= "\udfff" for c in value))
    if form is None:
        return value is None
    if form is int:
        return type(value) is int and abs(value) < WHOLE
    return type(value) is type(form) and bool(value == form)


def _kind(value: Any) -> str:
    """Return a JSON value for a message, a list or an object by the name of its type."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    if isinstance(value, int) and abs(value) >= WHOLE:
        return "a huge number"
    return short(json.dumps(value, default=repr))
