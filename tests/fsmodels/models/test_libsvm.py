"""libsvm with a limit."""

import warnings

import numpy as np

from fsmodels.models.libsvm import svc


def test_a_fit_that_ends_at_its_limit_does_not_warn_and_changes_no_filter_of_the_process(recwarn, monkeypatch):
    rng = np.random.default_rng(0)
    changed = []
    monkeypatch.setattr(warnings, "simplefilter", lambda *given, **words: changed.append(given))
    machine = svc(1e3, strict=False, kernel="linear", max_iter=3)
    machine.fit(rng.normal(size=(60, 3)), np.where(rng.uniform(size=60) > 0.5, 1, -1))
    assert machine.n_iter_.max() == 3
    assert not [given for given in changed if "ConvergenceWarning" in str(given)]
    assert not [warning for warning in recwarn if "terminated early" in str(warning.message)]
