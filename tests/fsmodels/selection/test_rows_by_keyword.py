"""Side constraints by keyword of ``select``, in models with a sigma and in baselines, against enumeration."""

import itertools

import numpy as np
import pyomo.environ as pyo
import pytest

import fsmodels as fs
from fsmodels.cli import arguments, main
from fsmodels.sklearn import SelectorClassifier

RNG = np.random.default_rng(3)
X = RNG.normal(size=(24, 5))
Y = np.where(X @ [1.0, -0.7, 0.6, 0.4, 0.0] + 0.6 * RNG.normal(size=24) > 0, 1, -1)
NAMES = ("a", "b", "c", "d", "e")
DATA = fs.Dataset.from_arrays(X, Y, features=NAMES).scaled("standard")
COSTS = {"a": 3.0, "b": 1.0, "c": 2.0}

KINDS = {
    "budget": ({"budget": (COSTS, 3)}, lambda s: sum(COSTS.get(j, 0) for j in s) <= 3),
    "requires": ({"requires": [("a", "e")]}, lambda s: "a" not in s or "e" in s),
    "excludes": ({"excludes": [("a", "b")]}, lambda s: not {"a", "b"} <= s),
    "force_in": ({"force_in": ["e"]}, lambda s: "e" in s),
    "force_out": ({"force_out": ["a", "c"]}, lambda s: not {"a", "c"} & s),
    "all_or_none": (
        {"all_or_none": [["a", "d"], ["b", "e"]]},
        lambda s: len({"a", "d"} & s) != 1 != len({"b", "e"} & s),
    ),
    "one group": ({"all_or_none": ["a", "d"]}, lambda s: len({"a", "d"} & s) != 1),
    "rows": (
        {"rows": ["a + b <= 1", "d <= e + c"]},
        lambda s: not {"a", "b"} <= s and ("d" not in s or {"c", "e"} & s),
    ),
    "one row": ({"rows": "2 a + b + c <= 2"}, lambda s: 2 * ("a" in s) + ("b" in s) + ("c" in s) <= 2),
    "at_most": ({"at_most": [(["a", "b", "c"], 1)]}, lambda s: len({"a", "b", "c"} & s) <= 1),
    "at_least": ({"at_least": [(["d", "e"], 1)]}, lambda s: bool({"d", "e"} & s)),
    "two at once": (
        {"excludes": [("a", "c")], "requires": [("b", "e")], "force_out": "d"},
        lambda s: not {"a", "c"} <= s and ("b" not in s or "e" in s) and "d" not in s,
    ),
}


def supports(allowed, most):
    sets = (set(s) for k in range(most + 1) for s in itertools.combinations(NAMES, k))
    return [s for s in sets if allowed(s)]


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_on_fsp(kind):
    words, allowed = KINDS[kind]
    found = fs.select(DATA, "fsp-m", max_features=3, **words)
    assert found.status.value == "optimal"
    assert allowed(set(found.selected))
    best = min(fs.fsp.value(DATA, sorted(s), C=1.0) for s in supports(allowed, 3))
    assert found.objective == pytest.approx(best, rel=1e-4)
    name = next(iter(words))
    assert name in found.parameters


@pytest.mark.parametrize("model", ["fsp-lambda", "fs"])
def test_max_features_is_a_row_where_it_is_no_parameter(model):
    penalty = {"fsp-lambda": 0.1, "fs": 0.01}[model]
    free = fs.select(DATA, model, penalty=penalty)
    found = fs.select(DATA, model, penalty=penalty, max_features=2)
    assert len(free.selected) > 2 >= len(found.selected)
    assert found.parameters["max_features"] == 2
    assert found.objective > free.objective
    table = fs.path(DATA, model, penalty=penalty, max_features=[1, 2, 5])
    assert table["objective"].to_list() == pytest.approx(
        [fs.select(DATA, model, penalty=penalty, max_features=k).objective for k in (1, 2, 5)], rel=2e-4
    )
    with pytest.raises(fs.ParameterError, match=r"max_features=9 is above the 5 features"):
        found.model.max_features = 9


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", ["information-gain", "relief"])
def test_filters_take_the_first_allowed_selection_in_the_order_of_the_ranking(model, kind):
    words, allowed = KINDS[kind]
    found = fs.select(DATA, model, max_features=3, **words)
    order = list(found.ranking.index)
    first = max(supports(allowed, 3), key=lambda s: [name in s for name in order])
    assert set(found.selected) == first
    assert found.status.value == "feasible"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("most", [1, 2, 3, 5])
def test_elimination_ends_at_an_allowed_selection(kind, most):
    words, allowed = KINDS[kind]
    if not supports(allowed, most):
        pytest.skip("nothing is allowed")
    found = fs.select(DATA, "rfe", max_features=most, **words)
    assert allowed(set(found.selected))
    assert len(found.selected) <= most
    free = fs.select(DATA, "rfe", max_features=most)
    if allowed(set(free.selected)):
        path = [fs.select(DATA, "rfe", max_features=k).selected for k in range(5, most - 1, -1)]
        if all(any(s <= set(left) for s in supports(allowed, most)) for left in path):
            assert found.selected == free.selected


def test_elimination_with_rows_that_forbid_nothing_is_plain_elimination():
    for most, step in itertools.product([1, 2, 4], [1, 2]):
        rows = fs.baselines.rfe(DATA, max_features=most, step=step)
        model = pyo.ConcreteModel()
        model.sigma = pyo.Var(NAMES, domain=pyo.Binary)
        assert fs.baselines.rfe(DATA, max_features=most, step=step, rows=model).selected == rows.selected


def test_elimination_takes_up_again_what_a_budget_has_room_for():
    words = {"budget": ({"a": 5, "b": 5, "c": 5, "d": 5}, 9), "requires": [(name, "e") for name in "abcd"]}
    selected = fs.select(DATA, "rfe", max_features=5, **words).selected
    assert len(selected) == 2  # e is free, and one more is within the budget
    assert "e" in selected


def test_a_baseline_without_an_allowed_selection_names_the_rows():
    with pytest.raises(fs.NoSelection, match="No selection with at most 1 features satisfies the rows force_in"):
        fs.select(DATA, "rfe", max_features=1, force_in=["a", "b"])


def test_a_baseline_that_may_take_nothing_is_constant():
    found = fs.select(DATA, "relief", max_features=2, force_out=NAMES)
    assert found.selected == ()
    assert found.training_error == min((DATA.y > 0).mean(), (DATA.y < 0).mean())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"at_most": [("a", 1)]}, "no pair of a group and a number"),
        ({"at_most": [(1, ["a", "b"])]}, "no pair of a group and a number"),
        ({"at_most": [(["a", "b"], 1.5)]}, "k=1.5 is not allowed"),
        ({"at_least": [(["a", "b"], 3)]}, r"k=3 is not allowed: use 0\.\.2"),
        ({"all_or_none": [["a", "z"]]}, '"z" is not a feature'),
        ({"force_out": {"a": 1}}, "force_out got dict"),
        ({"at_least": 3}, "at_least got int"),
    ],
)
def test_bad_words_are_refused_by_name(words, message):
    with pytest.raises(fs.errors.Error, match=message):
        fs.select(DATA, "fsp-m", max_features=2, **words)


# Each keyword and the rows as text that it is short for.
SHORT = [
    ({"budget": (COSTS, 3)}, ["3 a + b + 2 c <= 3"]),
    ({"requires": [("a", "e")]}, ["a <= e"]),
    ({"excludes": [("a", "b")]}, ["a + b <= 1"]),
    ({"force_in": ["e"], "force_out": ["a", "c"]}, ["e == 1", "a == 0", "c == 0"]),
    ({"all_or_none": ["a", "d", "e"]}, ["d == a", "e == a"]),
    ({"at_most": [(["a", "b", "c"], 1)]}, ["a + b + c <= 1"]),
    ({"at_least": [(["d", "e"], 1)]}, ["d + e >= 1"]),
    ({"at_most_of_group": ({"a": "x", "b": "x", "d": "y", "e": "y"}, 1)}, ["a + b <= 1", "d + e <= 1"]),
    ({"signs": {"a": "-", "b": "+"}}, ["w[a] <= 0", "w[b] >= 0"]),
]


@pytest.mark.parametrize(("words", "rows"), SHORT, ids=lambda value: next(iter(value)))
def test_a_keyword_is_short_for_rows(words, rows):
    short, long = (fs.select(DATA, max_features=3, gap=1e-8, **given) for given in (words, {"rows": rows}))
    assert long.selected == short.selected
    assert long.objective == pytest.approx(short.objective, rel=1e-7)
    assert long.parameters["rows"] == rows


def test_rows_are_reported_priced_explored_saved_and_fitted(tmp_path):
    rows = ["a + b <= 1", "w[c] <= 0"]
    found = fs.select(DATA, max_features=2, rows=rows)
    assert found.to_dict()["parameters"]["rows"] == rows
    assert "a + b <= 1; w[c] <= 0" in str(found)
    found.save(tmp_path / "found.json")
    model = fs.load_selection(tmp_path / "found.json").rebuild(DATA)
    assert str(model.rows.expr) == str(found.model.rows.expr)
    assert str(model.rows_2.expr) == str(found.model.rows_2.expr)
    assert set(fs.price_of(found.model).table().index) == {"cardinality", "rows", "rows_2"}
    session = fs.explore(DATA, max_features=2, rows=rows)
    assert session.ask(rows=rows[:1]).found.objective == fs.select(DATA, max_features=2, rows=rows[:1]).objective
    table = fs.path(DATA, max_features=[1, 2], rows=rows)
    assert table["objective"].iloc[1] == pytest.approx(found.objective, rel=2e-4)
    assert not {"a", "b"} <= set(fs.cross_validate(DATA, cv=3, max_features=2, rows=rows).runs["selected"][0])
    fitted = SelectorClassifier(max_features=2, rows=rows).fit(DATA.to_frame()[list(NAMES)], DATA.y)
    assert set(fitted.get_feature_names_out()) == set(found.selected)


def test_rows_of_the_command_line(tmp_path, capsys):
    words = [
        "select",
        "bupa",
        "--model",
        "fsp-m",
        "--max-features",
        "2",
        "--row",
        "sgpt + sgot <= 1",
        "--row",
        "w[drinks] >= 0",
    ]
    assert main([*words, "--json", str(tmp_path / "found.json")]) == 0
    assert fs.load_selection(tmp_path / "found.json").parameters["rows"] == ["sgpt + sgot <= 1", "w[drinks] >= 0"]
    assert "sgpt + sgot <= 1; w[drinks] >= 0" in capsys.readouterr().out
    assert main(["select", "bupa", "--model", "fsp-m", "--max-features", "2", "--row", "sgpt + sgott <= 1"]) == 2
    assert 'Row "sgpt + sgott <= 1", position 8: "sgott" is not a feature' in capsys.readouterr().err


def test_rows_on_weights_are_refused_by_name_and_kept_in_the_second_step():
    with pytest.raises(fs.ModelError, match='"relief" takes no rows on weights, so it cannot take rows'):
        fs.select(DATA, "relief", max_features=2, rows=["w[a] >= 0"])
    with pytest.raises(fs.ParameterError, match="position 3: strict"):
        fs.select(DATA, rows=["a < b"], max_features=2)
    found = fs.select(DATA, "fs", penalty=0.05, rows=["w[a] <= 0.1 b", "w[d] + w[e] <= 3"])
    assert found.classifier.w[NAMES.index("a")] <= 0.1 * ("b" in found.selected) + 1e-6
    clash = fs.select(DATA, max_features=1, rows=["a + b == 2"])
    assert 'max_features=1, rows=["a + b == 2"]' in clash.message


@pytest.mark.parametrize(
    ("text", "features", "read"),
    [
        ("a:b", ("a", "b"), ["a", "b"]),
        ("a:b:c", ("a", "b", "c"), ["a", "b", "c"]),
        ("x:y:z", ("x:y", "z", "x"), ["x:y", "z"]),
        ("a", ("a", "b"), ["a"]),
    ],
)
def test_groups_of_the_command_line(text, features, read):
    assert arguments.names(text, features, "--all-or-none") == read
    assert arguments.group(f"1:{text}", features, "--at-most") == (read, 1)


@pytest.mark.parametrize(
    ("text", "option", "message"),
    [
        ("a:q", "--all-or-none", '"q" is not a feature'),
        ("a:b", "--at-most", "not a number and a group: write K:A:B"),
        ("2", "--at-least", "not a number and a group"),
        ("1:x:y", "--at-most", "can be read as"),
    ],
)
def test_groups_that_are_none(text, option, message):
    with pytest.raises(fs.errors.Error, match=message):
        arguments.group(text, ("a", "b", "x", "y", "x:y"), option)
