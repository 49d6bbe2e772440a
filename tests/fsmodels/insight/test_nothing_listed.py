"""Results without a list, without sigma or without a deviation over the folds."""

import numpy as np
import pytest

import fsmodels as fs
from fsmodels.evaluation.folds import standard_error

rng = np.random.default_rng(1)
X = rng.normal(size=(24, 4))
DATA = fs.Dataset(X, np.where(X[:, 0] + 0.7 * rng.normal(size=24) > 0, 1.0, -1.0), ("a", "b", "c", "d"))


def test_near_optimal_with_a_tiny_limit_is_not_complete():
    found = fs.near_optimal(DATA, max_features=2, time_limit=1e-6)
    assert not found.complete
    assert f"{len(found.models)} model" in str(found)


def test_necessity_of_a_model_without_sigma():
    with pytest.raises(fs.ParameterError, match="sigma=True"):
        fs.necessity(DATA, "fsmulti", budget=2)


def test_equal_errors_in_all_folds_have_no_standard_error():
    assert standard_error([0.0, 0.0, 0.0], 3) is None
    assert standard_error([0.0, 0.3, 0.0], 3) == pytest.approx(0.1)
