"""Fixtures of the tests of evaluation."""

from contextlib import contextmanager

import pytest

from fsmodels.evaluation import folds
from uneven_columns import uneven_columns


@pytest.fixture(scope="module")
def data():
    return uneven_columns()


@pytest.fixture
def counted(monkeypatch):
    """The names of the samples of each run that is computed."""
    real, names = folds.FoldRun.select, []

    def select(run):
        names.append(run.part.learn.name)
        return real(run)

    monkeypatch.setattr(folds.FoldRun, "select", select)
    return names


@pytest.fixture
def stopped_after(monkeypatch):
    """A context in which every run after the first ``count`` raises KeyboardInterrupt."""

    @contextmanager
    def context(count):
        real, left = folds.FoldRun.select, iter(range(count))

        def select(run):
            if next(left, None) is None:
                raise KeyboardInterrupt
            return real(run)

        with monkeypatch.context() as patch:
            patch.setattr(folds.FoldRun, "select", select)
            yield

    return context
