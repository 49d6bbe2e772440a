"""The model that the tests of several drivers share, and its optimum by enumeration."""

import pytest

import fsmodels as fs


@pytest.fixture(scope="module")
def eight(make_data):
    """40 samples, 8 features: several iterations, 256 supports."""
    return make_data(40, 8, seed=3)


@pytest.fixture(scope="module")
def optimum(eight, enumerated):
    return enumerated(eight, max_features=3)


@pytest.fixture
def model(eight):
    return fs.fsp.fsp_m(eight, max_features=3, C=1.0)
