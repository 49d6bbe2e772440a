"""The callback of a solver as an option of an estimator."""

import pytest

import fsmodels as fs
from fsmodels.sklearn import KernelSelectorClassifier, SelectorClassifier


def test_a_callback_that_stops_the_solver_keeps_the_selection_and_the_bound():
    sonar = fs.load_dataset("sonar")
    rows = []
    options = {"callback": lambda row: rows.append(row) or True}
    est = SelectorClassifier(max_features=5, solver_options=options).fit(sonar.X, sonar.y)
    assert rows
    assert est.selection_.stop_reason.value == "callback"
    assert est.bound_ < est.objective_


@pytest.mark.parametrize("est", [SelectorClassifier(), KernelSelectorClassifier()])
def test_set_callbacks_was_removed_with_an_error_that_names_the_option(est):
    assert not hasattr(est, "set_callbacks")
    with pytest.raises(AttributeError, match=r"set_callbacks was removed\. Use solver_options"):
        est.set_callbacks(print)
