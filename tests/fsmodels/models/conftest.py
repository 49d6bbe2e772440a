"""Data that several families of models are written out for by hand."""

import pytest

import fsmodels as fs


@pytest.fixture
def three():
    """(0, 2) and (3, 0) of class +1, (1, -1) of class -1."""
    return fs.Dataset.from_arrays([[0.0, 2.0], [1.0, -1.0], [3.0, 0.0]], [1, -1, 1], features=["f", "g"])
