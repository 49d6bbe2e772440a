"""``fs.near_optimal``: the list is that of enumeration, and says where it ends."""

import pytest

import fsmodels as fs
from tests.helpers.enumeration import every_support, instance
from tests.helpers.seeds import seeds


@pytest.mark.parametrize("seed", seeds(range(12), 6000, 500))
def test_the_list_is_that_of_enumeration(seed):
    within, limit = (0.05, 0.001, 0.01, 0.3)[seed % 4], 3 if seed % 7 == 3 else 1000
    data, C, M, rows = instance(seed)
    price = {"model": "fsp-lambda", "penalty": 0.1 * C} if seed % 3 == 0 else {}
    near = fs.near_optimal(data, max_features=M, C=C, within=within, limit=limit, **price, **rows)
    each = price.get("penalty", 0.0)
    supports = every_support(data, C, M, rows, each)
    values = {names: value for value, names in supports}
    edge = 1e-5 * supports[0][0]
    assert near[0].objective == pytest.approx(supports[0][0], rel=1e-4 if near.idle else 1e-5)
    assert [m.objective for m in near] == sorted(m.objective for m in near)
    for m in near:
        assert m.objective == pytest.approx(values[frozenset(m.features)], rel=1e-5)
        assert m.bound <= values[frozenset(m.features)] * (1 + 1e-6)
    found = {frozenset(m.features) for m in near}
    top = near.below if near.complete is False else (1 + within) * supports[0][0]
    missing = {names for names, value in values.items() if value < top - edge} - found
    assert len(missing) <= near.idle
    gap = 1e-4
    for names in missing:
        assert any(other < names and values[other] <= values[names] * (1 + gap) + edge for other in found)
    for names in found:
        assert not any(other < names and values[other] <= values[names] * (1 + gap) - edge for other in found)
    assert all(values[names] <= (1 + within) * supports[0][0] + edge for names in found)
    assert near.complete or len(near) + near.idle == limit


def test_a_feature_that_changes_the_objective_by_less_than_the_gap_is_in_no_selection():
    """It is listed if a side constraint requires it."""
    bupa = fs.load_dataset("bupa")
    rows = {"max_features": 3, "within": 0.05, "excludes": [("sgpt", "sgot")], "requires": [("drinks", "mcv")]}
    near = fs.near_optimal(bupa, **rows)
    assert [m.features for m in near if set(m.features) <= {"alkphos", "gammagt"}] == [()]
    assert f"{near.idle} larger selections are left out" in near.sentence
    assert ("alkphos", "gammagt") in [
        m.features for m in fs.near_optimal(bupa, **rows, at_least=[(["alkphos", "gammagt"], 2)])
    ]


def test_what_is_told_of_a_small_set():
    near = fs.near_optimal(fs.load_dataset("cleveland"), max_features=5)
    assert near.sentence.startswith(
        "2 models with at most 5 features lie within 1% of the best (114.335); there is no "
    )
    assert "in all of them, 2 more in some." in near.sentence
    assert near.table().loc[1, "features"] == "cp, exang, oldpeak, ca, thal"
    assert near.table()["above"].iloc[0] == 0.0
    importance = near.importance()
    assert importance.loc["ca", "models"] == 2
    assert importance.loc["ca", "least"] <= importance.loc["ca", "most"]
    assert importance.loc["slope", "share"] == 0.5
    assert (importance["sign"] == 1).all()
    assert near.plot() is not None
    assert near.to_dict()["complete"] is True
    best = fs.select(fs.load_dataset("cleveland"), max_features=5)
    assert near[0].features == best.selected == near.best.selected
    assert near[0].weights == pytest.approx({name: best.weights[name] for name in best.selected}, abs=1e-3)


def test_a_set_that_is_cut_off_says_so():
    data = fs.load_dataset("cleveland")
    few = fs.near_optimal(data, max_features=5, within=0.05, limit=3)
    assert len(few) == 3
    assert not few.complete
    assert "there are more with objectives from" in few.sentence
    stopped = fs.near_optimal(data, max_features=5, within=0.2, iteration_limit=3)
    assert not stopped.complete
    assert "there may be more with objectives from" in stopped.sentence
    assert stopped.open > 0


def test_fs_has_near_optimal_sets_too():
    data = fs.load_dataset("bupa")
    near = fs.near_optimal(data, "fs", penalty=0.1, within=0.05)
    assert near.complete
    best = fs.select(data, "fs", penalty=0.1).objective
    assert near[0].objective == pytest.approx(best, rel=1e-4)
    for k in range(len(data.features)):  # what is not listed is not near
        without = fs.select(data, "fs", penalty=0.1, force_out=[data.features[k]])
        listed = [m.objective for m in near if data.features[k] not in m.features]
        assert min(listed, default=1.05 * best) <= without.objective * (1 + 1e-4)


def test_rows_on_weights_are_kept():
    data = fs.load_dataset("cleveland")
    near = fs.near_optimal(data, max_features=3, within=0.05, signs={"thal": "-"})
    assert near.complete
    assert all(m.weights.get("thal", 0.0) <= 1e-6 for m in near)


def test_what_cannot_be_listed_is_refused():
    data = fs.load_dataset("bupa")
    with pytest.raises(fs.ParameterError, match="proves no bound"):
        fs.near_optimal(data, "rfe", max_features=2)
    with pytest.raises(fs.ParameterError, match="within"):
        fs.near_optimal(data, max_features=2, within=0)
    with pytest.raises(fs.ParameterError, match='listed by "branch-and-cut"'):
        fs.near_optimal(data, max_features=2, solver="scip")
    with pytest.raises(fs.ParameterError, match='listed by "branch-and-cut"'):
        fs.near_optimal(data, "fsmulti", max_features=2)
    with pytest.raises(fs.ModelError, match="no selection to begin with"):
        fs.near_optimal(data, max_features=1, force_in=["mcv", "sgot"])


def test_groups_of_fair_are_given_as_to_select():
    data = fs.load_dataset("cleveland")
    best = fs.select(data, max_features=2, fair=("sex", 0.05))
    near = fs.near_optimal(data, max_features=2, fair=("sex", 0.05), within=0.001)
    assert near[0].objective == pytest.approx(best.objective, rel=2e-4)
    asked = fs.necessity(data, max_features=2, fair=[("sex", 0.05)], features=[best.selected[0]])
    assert asked.best.objective == pytest.approx(best.objective, rel=2e-4)
    own = fs.certify(data, best.selected, fair=("sex", 0.05))
    assert own.objective == pytest.approx(best.objective, rel=2e-4)
    session = fs.explore(data, max_features=2, fair=("sex", 0.05))
    assert session.found.objective == pytest.approx(best.objective, rel=2e-4)
