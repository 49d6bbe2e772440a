"""scikit-learn's own checks of an estimator, for every model, without an expected failure."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from fsmodels.selection.catalogue import MODELS
from fsmodels.sklearn import KernelSelectorClassifier, SelectorClassifier

pytestmark = pytest.mark.filterwarnings("ignore")  # the checks fit noise, without a limit on what that warns of
KERNELS = [name for name, spec in MODELS.items() if "kernel" in spec.parameters]
QUICK = ["fsp-m", "one-norm-svm", "gmeb", "rfe"]


def named(names, **words):
    return [(KernelSelectorClassifier if name in KERNELS else SelectorClassifier)(name, **words) for name in names]


@parametrize_with_checks(named(QUICK))
def test_checks_of_some_models(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(named([name for name in MODELS if name not in QUICK]))
def test_checks_of_all_other_models(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(named(["fsp-m", "one-norm-svm", "fsmulti", "rfe"], scale="none"))
def test_checks_with_sparse_data(estimator, check):
    check(estimator)
