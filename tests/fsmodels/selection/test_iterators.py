"""Words that are iterators count in every solve of a run, not in the first alone."""

import pytest

import fsmodels as fs
from uneven_columns import uneven_columns


@pytest.fixture(scope="module")
def data():
    return uneven_columns()


@pytest.mark.parametrize("words", [{"force_out": ["a"]}, {"at_most": [(["a", "b", "c"], 1)]}, {"force_in": ["e"]}])
def test_a_row_given_by_an_iterator_is_that_of_the_list(data, words):
    def once():
        return {
            name: (pair if isinstance(pair, str) else (iter(pair[0]), pair[1]) for pair in list(value))
            for name, value in words.items()
        }

    path, again = (fs.path(data, max_features=[1, 2], folds=3, **w) for w in (words, once()))
    assert path.errors.equals(again.errors)
    assert path.selected.to_list() == again.selected.to_list()
    runs, same = (fs.stability(data, max_features=2, folds=3, **w).runs["selected"].to_list() for w in (words, once()))
    assert runs == same
    first, second = fs.explore(data, max_features=1, **words), fs.explore(data, max_features=1, **once())
    for session in (first, second):
        session.ask(max_features=2)
    assert first.ask(C=2.0).found.selected == second.ask(C=2.0).found.selected


def test_a_budget_given_by_an_iterator_counts_at_every_point(data):
    rows = [({"a": 3.0, "b": 1.0, "c": 1.0}, 2.0)]
    path, again = (fs.path(data, max_features=[1, 2], budget=budget) for budget in (rows, iter(rows)))
    assert path.selected.to_list() == again.selected.to_list()
    assert not any("a" in names for names in again.selected)


def test_what_is_certified_is_held_to_rows_of_an_iterator_twice(data):
    listed, once = (fs.certify(data, ["b", "c"], force_out=out) for out in (["a"], iter(["a"])))
    assert listed.best.selected == once.best.selected
    rows = [("a", "c")]
    listed, once = (fs.certify(data, ["b", "c"], excludes=pairs) for pairs in (rows, iter(rows)))
    assert listed.best.selected == once.best.selected
