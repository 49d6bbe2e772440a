"""Labels to -1 and +1."""

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fsmodels._messages import listed, suggestion
from fsmodels._reading import Origin, is_missing, number
from fsmodels.errors import DataError

FloatArray = NDArray[np.float64]
MANY_LABELS = 20


def signed_labels(
    labels: pd.Series, positive: object, column: str, origin: Origin
) -> tuple[FloatArray, object, object]:
    """Map labels to -1 and +1.

    With two labels and no ``positive`` the larger in sorted order is +1: numbers (and text that is all numbers) sort as
    numbers, anything else as text. With ``positive`` every other label is -1.

    Returns
    -------
    y : ndarray of shape (rows,)
        -1.0 and +1.0.
    negative, positive : object
        The labels behind -1 and +1; ``negative`` is a tuple when there are several.

    Raises
    ------
    DataError
        A label is missing, there is one label only, more than two without ``positive``, or ``positive`` is not one.
    """
    cells = labels.astype(object).to_numpy()
    texts = np.array([None if is_missing(c) else c.strip() if isinstance(c, str) else c for c in cells], dtype=object)
    codes, found = pd.factorize(np.array([None if isinstance(c, str) and not c else c for c in texts], dtype=object))
    if (codes < 0).any():
        row, many = int(np.argmax(codes < 0)), int((codes < 0).sum())
        raise DataError(
            f'Column "{column}" has no label in {origin.row(row)}{f" ({many} such rows)" if many > 1 else ""}: '
            "fill in the label or remove the row."
        )
    canonical = _canonical(list(found))
    ordered = sorted(set(canonical))
    if positive is None:
        if len(ordered) > 2:
            wrong = ", or another column with --target if this one is no label" if len(ordered) > MANY_LABELS else ""
            raise DataError(
                f'Column "{column}" has {len(ordered)} labels ({listed(ordered)}): name the one that becomes +1 with '
                f"--positive (Python: positive=); all others become -1{wrong}."
            )
        chosen = ordered[-1]
    else:
        matches = [label for label in ordered if _same(label, positive)]
        if not matches:
            raise DataError(
                f'positive="{positive}" is not a label of column "{column}". {suggestion(positive, ordered)}'
                f"Its labels are {listed(ordered)}: give one of them with --positive (Python: positive=)."
            )
        chosen = matches[0]
    if len(ordered) == 1:
        raise DataError(
            f'Column "{column}" has the one label {ordered[0]} in all {len(cells)} rows: '
            "a classifier needs samples of two classes; add samples of the other class or choose another label column."
        )
    rest = [label for label in ordered if label != chosen]
    sign = np.array([1.0 if label == chosen else -1.0 for label in canonical])
    return sign[codes], rest[0] if len(rest) == 1 else tuple(rest), chosen


def _canonical(found: list[Any]) -> list[Any]:
    """Labels of one kind: all bool, all numbers (integers where they are whole), or all text."""
    if all(isinstance(label, bool | np.bool_) for label in found):
        return [bool(label) for label in found]
    numbers = [number(str(label)) for label in found]
    if all(value is not None and math.isfinite(value) for value in numbers):
        return [int(value) if value == int(value) else value for value in numbers if value is not None]
    return [str(label) for label in found]


def _same(label: object, wanted: object) -> bool:
    text = str(wanted).strip()
    if isinstance(label, bool) and not isinstance(wanted, bool | np.bool_) and text.lower() in {"true", "false"}:
        return str(label).lower() == text.lower()
    if isinstance(label, str):
        return label == text
    return number(str(float(wanted)) if isinstance(wanted, bool | np.bool_) else text) == label
