"""The fractions that are best beside given weights."""

import numpy as np
import pytest

from fsmodels.models.fsp.sub import fill


@pytest.mark.parametrize("total", [1, 2, 3, 4])
def test_fill_minimises_the_weighted_sum_of_inverses(total):
    size = np.array([3.0, 0.5, 1.0, 0.1])
    sigma = fill(size, total)
    assert sigma.sum() == pytest.approx(total)
    rng = np.random.default_rng(1)
    for _ in range(200):
        other = np.clip(sigma + rng.normal(scale=0.1, size=4), 1e-9, 1)
        if other.sum() <= total:
            assert np.sum(size**2 / other) >= np.sum(size**2 / sigma) - 1e-9


def test_fill_with_fewer_weights_than_features_allowed():
    assert fill(np.array([0.0, 2.0, 0.0]), 2).tolist() == [0.0, 1.0, 0.0]
