"""What the tests of this room share."""

import pytest

from fsmodels.evaluation import fold_run
from uneven_columns import uneven_columns


@pytest.fixture(scope="module")
def data():
    return uneven_columns()


@pytest.fixture
def counted(monkeypatch):
    """The folds that are made, by the names of their samples."""
    real, made = fold_run.FoldRun.found, []

    def found(one):
        made.append(one.part.learn.name)
        return real(one)

    monkeypatch.setattr(fold_run.FoldRun, "found", found)
    return made
