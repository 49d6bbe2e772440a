"""Sparse data whose indices have 64 bits, which libraries inside do not take."""

import numpy as np
import pytest
from scipy import sparse

import fsmodels as fs


@pytest.mark.parametrize("model", ["rfe", "information-gain", "fsp-m"])
def test_wide_indices_are_as_good_as_narrow_ones(model):
    rng = np.random.default_rng(0)
    X = sparse.random_array((40, 6), density=0.5, rng=rng, format="csr")
    y = np.where(np.asarray(X[:, [1]].toarray()).ravel() + 0.1 * rng.normal(size=40) > 0.2, 1.0, -1.0)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    wide = X.copy()
    wide.indices, wide.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    features = [f"x{j}" for j in range(6)]
    narrow, other = (fs.Dataset.from_arrays(part, y, features=features).scaled("none") for part in (X, wide))
    assert wide.indices.dtype == np.int64  # of the user's own
    assert other.X.indices.dtype == np.int32
    assert fs.select(other, model, max_features=2).selected == fs.select(narrow, model, max_features=2).selected
