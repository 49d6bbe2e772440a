"""The selected features as a table and as a rule to use by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from fsmodels.page import told
from fsmodels.page.told import legible, name, points
from fsmodels.selection.report import number, weighs_kernel
from fsmodels.selection.selection import Selection

__all__ = ["concepts", "digits", "section"]

SHOWN = 60  # rows of a table
WIDE = 1e7  # from where on numbers have an exponent
TERMS = 20  # of a rule to use by hand
DIGITS = 4  # significant, of a weight to read; the rule to use has six


def section(found: Selection) -> dict[str, Any]:
    """Return the table: direction, weight per unit, share in the decision, averages of both classes."""
    kernel, names = weighs_kernel(found), list(found.table().index)
    one, other = told.label(found.data), told.other_label(found.data)
    heads = [_head("Share in the decision")]
    if not kernel:
        heads = [_head("Higher values speak for"), _head("Weight per unit", number=True), *heads]
    heads += [_head(Markup("Average if {}").format(label), number=True) for label in (one, other)]
    lead = Markup(
        "The weight is per unit of the feature, in the unit that the data are in. The share says how much of the "
        "differences between scores comes from the feature."
    )
    if kernel:
        lead = Markup("The rule is curved: no feature speaks in one direction for all samples.")
    if not names:
        lead = Markup("No feature was selected: every sample gets the same answer.")
    remarks = []
    if names and not kernel:
        remarks.append(
            Markup("Directions hold while the other selected features stay as they are. They are no proof of a cause.")
        )
    if len(names) > SHOWN:
        remarks.append(Markup("The table shows the {} features of the largest share.").format(SHOWN))
    return {
        "lead": [lead],
        "caption": "The selected features, the largest weight first",
        "heads": heads,
        "rows": _rows(found, names, kernel),
        "remarks": remarks,
        "rule": _rule(found),
    }


def _rows(found: Selection, names: list[str], kernel: bool) -> list[dict[str, Any]]:
    data, original = found.data, found.weights_original or {}
    one, other = told.label(data), told.other_label(data)
    places, raw = {feature: k for k, feature in enumerate(data.features)}, data.unscaled()
    sizes = {j: abs(found.weights.get(j, 0.0)) * float(_column(data.X, places[j]).std()) for j in names}
    total = sum(sizes.values()) or 1.0
    rows = []
    for feature in names[:SHOWN]:
        weight, share = found.weights.get(feature, 0.0), sizes[feature] / total
        cells = [_cell(points(share), "share", bar=round(100 * share, 1))]
        if not kernel:
            towards = one if weight > 0 else other if weight < 0 else "neither (weight 0)"
            cells = [_cell(towards), _cell(digits(original.get(feature)), "number"), *cells]
        column = _column(raw.X, places[feature])
        cells += [_cell(digits(float(column[data.y * side > 0].mean()), 3), "number") for side in (1, -1)]
        rows.append({"name": name(feature), "cells": cells})
    return rows


def _rule(found: Selection) -> dict[str, Any] | None:
    """Return the rule as terms to add up; None where it is too long, or no sum."""
    data, original, bias = found.data, found.weights_original, found.bias_original
    if weighs_kernel(found) or original is None or bias is None:
        return None
    selected = list(found.table().index)
    names = [j for j in [*selected, *(j for j in original if j not in set(selected))] if original.get(j)]
    if not 0 < len(names) <= TERMS:
        return None
    terms = [Markup("{} {} × {}").format(_sign(original[j]), number(abs(original[j])), name(j)) for j in names]
    if bias:
        terms.append(Markup("{} {}").format(_sign(bias), number(abs(bias))))
    reading = Markup("Above 0: {}. Otherwise: {}.").format(told.label(data), told.other_label(data))
    if any(j in data.products for j in names):
        reading += Markup(
            " A name with a colon is the product of two features, each brought to mean 0 and deviation 1 before."
        )
    return {"terms": terms, "reading": reading}


def concepts(table: pd.DataFrame) -> dict[str, Any]:
    """Return the selected instances, where samples are bags."""
    rows = [
        [digits(x) if isinstance(x, float) else name(x) for x in row]
        for row in table.head(SHOWN).to_numpy(dtype=object)
    ]
    return {"heads": [legible(head) for head in table.columns], "rows": rows}


def digits(x: float | None, count: int = DIGITS) -> str:
    """Return a number with so many significant digits, at least those before the point, and a true minus."""
    if x is None:
        return "–"
    return (f"{x:,.0f}" if 10**count <= abs(x) < WIDE else f"{x:.{count}g}").replace("-", "−")


def _sign(x: float) -> str:
    return "−" if x < 0 else "+"


def _head(text: Any, *, number: bool = False) -> dict[str, Any]:
    return {"text": text, "number": number}


def _cell(text: Any, kind: str = "", bar: float | None = None) -> dict[str, Any]:
    return {"text": text, "kind": kind, "bar": bar}


def _column(X: Any, j: int) -> np.ndarray:
    column = X[:, [j]]
    return np.asarray(column.toarray() if hasattr(column, "toarray") else column).ravel()
