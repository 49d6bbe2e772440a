"""How a ``Dataset`` shows itself in a terminal and in Jupyter."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from fsmodels.words import listed

if TYPE_CHECKING:
    from fsmodels.datasets.dataset import Dataset


def line(data: Dataset) -> str:
    """Name, size, labels and scaling in one line."""
    negative, positives = data.negative_label, int((data.y > 0).sum())
    rest = f"labels {listed(negative, 5)}" if isinstance(negative, tuple) else f"label {negative}"
    return (
        f"Dataset({data.name!r}, {data.n_samples} samples x {data.n_features} features"
        f"{', sparse' if data.is_sparse else ''}, +1: {positives} (label {data.positive_label}), "
        f"-1: {data.n_samples - positives} ({rest}), scale {data.scale.method})"
    )


def html(data: Dataset) -> str:
    """Give the line and the first rows as a table."""
    head = data.take(range(min(5, data.n_samples))).to_frame()
    return f"<p>{escape(line(data))}</p>{head.to_html(max_cols=12)}"
