"""Data that differ from others in one part."""

from fsmodels.datasets.dataset import Dataset


def changed(data, X=None, y=None, features=None):
    """Return the data with another matrix, other labels or other names."""
    return Dataset.from_arrays(
        data.X if X is None else X, data.y if y is None else y, features=list(features or data.features)
    )
