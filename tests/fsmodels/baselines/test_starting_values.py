"""M from the 1-norm SVM and lambda from the plain SVM, each against its definition."""

import numpy as np
import pytest
from sklearn.svm import SVC

import fsmodels as fs
from fsmodels.baselines import one_norm_size, one_norm_svm, svm_penalty


@pytest.fixture(scope="module")
def wdbc():
    return fs.load_dataset("wdbc").scaled("standard")


@pytest.mark.parametrize("C", [0.25, 4.0])
@pytest.mark.parametrize("M", [1, 7, 29])
def test_the_price_keeps_m_weights_of_the_plain_svm(wdbc, M, C):
    w = SVC(kernel="linear", C=C, tol=1e-6).fit(wdbc.X, wdbc.y).coef_.ravel()
    assert np.count_nonzero(0.5 * w**2 > svm_penalty(wdbc, max_features=M, C=C)) == M


def test_the_first_master_at_that_price_has_m_features(wdbc):
    """(15) with the one cut of the plain SVM's alpha."""
    machine = SVC(kernel="linear", C=1.0, tol=1e-9).fit(wdbc.X, wdbc.y)
    alpha = np.zeros(len(wdbc))
    alpha[machine.support_] = np.clip(np.abs(machine.dual_coef_.ravel()), 0.0, 1.0)
    master = fs.fsp.rmp(wdbc, alpha=alpha, C=1.0, penalty=svm_penalty(wdbc, max_features=6))
    assert fs.solve(master, "highs").status.value == "optimal"
    assert sum(round(sigma.value) for sigma in master.sigma.values()) == 6


def test_a_price_at_which_all_features_stay_is_above_0_and_below_the_least(wdbc):
    few = wdbc.select_features(wdbc.features[:4])
    w = SVC(kernel="linear", C=1.0, tol=1e-6).fit(few.X, few.y).coef_.ravel()
    assert svm_penalty(few, max_features=4) == pytest.approx(0.25 * (w**2).min(), rel=1e-3)


def test_the_price_of_weighted_samples_is_that_of_the_samples_repeated(wdbc):
    rows = np.arange(100)
    twice = wdbc.take(np.append(rows, rows[:40]))
    weighted = wdbc.take(rows).weighted(np.where(rows < 40, 2.0, 1.0))
    prices = [svm_penalty(data, max_features=4) for data in (twice, weighted)]
    assert prices[0] == pytest.approx(prices[1], rel=1e-4)


@pytest.mark.parametrize("words", [{"max_features": 0}, {"max_features": 31}, {"max_features": 3, "C": 0.0}])
def test_values_without_meaning_are_refused(wdbc, words):
    with pytest.raises(fs.ParameterError):
        svm_penalty(wdbc, **words)


def test_the_size_is_that_of_the_one_norm_svm_and_at_least_1(wdbc):
    assert one_norm_size(wdbc, C=0.1) == len(one_norm_svm(wdbc, C=0.1).selected)
    assert one_norm_svm(wdbc, C=1e-5).selected == ()
    assert one_norm_size(wdbc, C=1e-5) == 1
