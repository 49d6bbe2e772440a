"""``fs.necessity``: the role of each feature is that of enumeration."""

import pytest

import fsmodels as fs
from tests.helpers.enumeration import every_support, instance
from tests.helpers.seeds import seeds


@pytest.mark.parametrize("seed", seeds(range(12), 4000, 500))
def test_roles_agree_with_enumeration(seed):
    within = (0.05, 0.001, 0.01, 0.3)[seed % 4]
    data, C, M, rows = instance(seed)
    asked = fs.necessity(data, max_features=M, C=C, within=within, gap=1e-6, **rows)
    supports = every_support(data, C, M, rows)
    best = supports[0][0]
    slack = 1e-5 * best
    for role in asked.roles:
        without = min(value for value, names in supports if role.feature not in names)
        having = min((value for value, names in supports if role.feature in names), default=float("inf"))
        assert role.without[0] <= without + slack
        assert role.without[1] >= without - slack
        assert role.having[0] <= having + slack
        assert role.having[1] >= having - slack
        low, high = asked.price(role.feature)
        assert low - slack <= without - best <= high + slack
        limit = (1 + within) * best
        if min(abs(without - limit), abs(having - limit)) > 1e-4 * best:
            expected = "in every" if without > limit else "in none" if having > limit else "in some"
            assert role.role == expected


def test_the_sentence_is_read_without_duality():
    asked = fs.necessity(fs.load_dataset("cleveland"), max_features=5)
    assert asked.features("in every") == ["cp", "exang", "ca", "thal"]
    assert "Without ca no model with at most 5 features is within 13.4% of the best." in asked.sentence
    assert asked.table().loc["ca", "role"] == "in every"
    assert asked.plot() is not None
    assert asked.to_dict()["features"][0]["feature"] == "age"


def test_some_features_and_no_prices_ask_less():
    asked = fs.necessity(fs.load_dataset("cleveland"), max_features=5, features=["ca", "age"], prices=False)
    assert [role.feature for role in asked.roles] == ["ca", "age"]
    assert asked["ca"].role == "in every"
    with pytest.raises(KeyError):
        asked["cp"]


def test_time_that_is_up_leaves_the_rest_open():
    asked = fs.necessity(fs.load_dataset("wdbc"), max_features=5, time_limit=1.5)
    assert len(asked.roles) == 30
    for role in asked.roles:
        assert role.role in ("in every", "in some", "in none", "open")
        assert role.without[0] <= role.without[1]


@pytest.mark.parametrize(("model", "given"), [("fsp-lambda", {"penalty": 5.0}), ("fs", {"penalty": 0.1})])
def test_other_families_have_roles_too(model, given):
    asked = fs.necessity(fs.load_dataset("bupa"), model, **given)
    assert {role.role for role in asked.roles} <= {"in every", "in some", "in none"}


def test_what_cannot_be_asked_is_refused():
    data = fs.load_dataset("bupa")
    with pytest.raises(fs.ParameterError, match="proves no bound"):
        fs.necessity(data, "rfe", max_features=2)
    with pytest.raises(fs.ParameterError, match="within"):
        fs.necessity(data, max_features=2, within=0)
    with pytest.raises(fs.DataError, match="nobody"):
        fs.necessity(data, max_features=2, features=["nobody"])
    with pytest.raises(fs.ModelError, match="no selection to begin with"):
        fs.necessity(data, max_features=1, force_in=["mcv", "sgot"])


def test_features_that_are_forced_in_are_told_as_forced():
    asked = fs.necessity(fs.load_dataset("bupa"), max_features=3, force_in=["mcv"])
    assert asked.forced == ("mcv",)
    assert "mcv is forced in (force_in)" in asked.sentence
    assert "Without mcv" not in asked.sentence
    assert [part["feature"] for part in asked.to_dict()["features"] if part["forced"]] == ["mcv"]


def test_a_solver_of_the_whole_model_is_refused():
    with pytest.raises(
        fs.ParameterError, match=r'which solver="highs" cannot: .* use a driver such as "branch-and-cut"'
    ):
        fs.necessity(fs.load_dataset("bupa"), max_features=2, solver="highs")
