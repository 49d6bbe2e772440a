"""Named models end to end: the enumerated optimum, an objective recomputed from data, refusals by name."""

import json
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import fsmodels as fs
from fsmodels import fsp
from fsmodels.models.fsp.oracle import SvmOracle
from fsmodels.models.spec import LinearSpec
from fsmodels.selection.catalogue import FAMILIES, MODELS

N = 7
COSTS = {"x1": 4.0, "x2": 3.0, "x3": 2.0, "x4": 2.5, "x5": 1.0, "x6": 5.0}  # x7 is free
PENALTY = {f"x{j + 1}": 0.3 + 0.2 * j for j in range(N)}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(40, N)) * [1, 2, 0.5, 1, 3, 1, 1] + [0, 1, 0, -2, 0, 0, 5]
    y = np.where(X @ [1, -0.5, 1.5, 0.7, 0.1, 0, 0.3] + rng.normal(size=40) > 1.0, 1, -1)
    return fs.Dataset.from_arrays(X, y, name="seven").scaled("none")  # select takes it as it is


@pytest.fixture(scope="module")
def value_of(data):
    """Support -> optimum of the SVM on it with C = 0.5, for all 2^7."""
    oracle = SvmOracle(data.X, data.y, 0.5)
    values = {}
    for k in range(N + 1):
        for support in combinations(range(N), k):
            sigma = np.zeros(N)
            sigma[list(support)] = 1.0
            values[frozenset(data.features[j] for j in support)] = oracle.solve(sigma, 1e-9).value
    return values


def side(support):
    """The side constraints used throughout."""
    cheap = sum(COSTS.get(j, 0.0) for j in support) <= 7.0
    return cheap and ("x3" not in support or "x5" in support) and not {"x1", "x2"} <= support


SIDES = {"budget": (COSTS, 7.0), "requires": [("x3", "x5")], "excludes": [("x1", "x2")]}


@pytest.mark.parametrize("solver", [None, "benders", "scip"])
@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize("model", ["fsp-m", "fsp-lambda"])
def test_reaches_the_enumerated_optimum(model, constrained, solver, data, value_of):
    parameters = {"max_features": 3} if model == "fsp-m" else {"penalty": PENALTY}

    def cost(support):
        price = 0.0 if model == "fsp-m" else sum(PENALTY[j] for j in support)
        return value_of[support] + price

    choices = [s for s in value_of if (model == "fsp-lambda" or len(s) <= 3) and (not constrained or side(s))]
    best = min(choices, key=cost)
    found = fs.select(data, model, C=0.5, solver=solver, **parameters, **(SIDES if constrained else {}))
    assert found.status is fs.SolutionStatus.OPTIMAL
    assert found.objective == pytest.approx(cost(best), rel=1e-4)
    assert found.objective >= cost(best) * (1 - 1e-8)
    assert found.bound <= cost(best) * (1 + 1e-8)
    assert not constrained or side(frozenset(found.selected))
    assert found.result.objective == pytest.approx(found.objective, rel=1e-6)


def test_the_constraints_bind_in_these_tests(value_of):
    free = min((s for s in value_of if len(s) <= 3), key=value_of.get)
    assert not side(free)


def test_a_new_formulation_is_one_new_entry(monkeypatch, data):
    def half(data, *, max_features, C=1.0):
        return fsp.fsp_m(data, max_features=max_features, C=C / 2)

    def cost(c, given, model):
        return 0.5 * c.w @ c.w + given["C"] / 2 * c.loss

    entry = LinearSpec("fsp-half", "FSP-M at half C", half, cost, selects=True)
    monkeypatch.setitem(MODELS, "fsp-half", entry)
    half_c = fs.select(data, "fsp-half", max_features=2, C=1.0, requires=[("x1", "x2")])
    assert half_c.objective == pytest.approx(
        fs.select(data, "fsp-m", max_features=2, C=0.5, requires=[("x1", "x2")]).objective, rel=1e-4
    )


def test_no_name_is_declared_twice():
    assert [spec.name for family in FAMILIES for spec in family.SPECS] == list(MODELS)


def test_json_keys_are_those_of_the_contract(data):
    content = fs.select(data, "fsp-m", max_features=2, seed=4).to_dict()
    contract = (
        "model data parameters solver stop_reason status objective bound gap selected weights bias scale iterations "
        "seconds seed versions weights_original bias_original"
    )
    assert set(contract.split()) <= set(content)
    assert content["seed"] == 4
    assert content["iterations"] >= 1
    assert content["parameters"] == {"max_features": 2, "C": 1.0}
    assert {"fsmodels", "pyomo", "numpy", "highs"} <= set(content["versions"])
    assert content["scale"]["method"] == "none"


def test_the_live_model_holds_the_selection_and_the_side_constraints(data):
    found = fs.select(
        data, max_features=3, budget=[(COSTS, 9), ({"x1": 1.0}, 1)], requires=[("x1", "x2"), ("x1", "x2")]
    )
    rows = [found.model.component(name) for name in ("budget", "budget_2", "requires_x1_x2", "requires_x1_x2_2")]
    assert all(row is not None for row in rows)
    assert [j for j in found.model.features if found.model.sigma[j].value > 0.5] == list(found.selected)
    assert found.parameters["budget"][0] == {"costs": COSTS, "limit": 9.0}
    found.model.budget.deactivate()
    assert fs.solve(found.model).objective <= found.objective * (1 + 1e-4)


def test_infeasible_side_constraints_are_named(data):
    found = fs.select(data, max_features=1, force_in=["x1", "x2"])
    assert found.status is fs.SolutionStatus.INFEASIBLE
    assert "max_features=1" in found.message
    assert 'force_in=["x1"]' in found.message
    content = found.to_dict()
    assert content["selected"] is content["weights"] is content["bias"] is content["objective"] is None
    assert "Infeasible" in repr(found)
    with pytest.raises(fs.ModelError, match="no classifier"):
        found.predict(data)


@pytest.mark.parametrize("solver", [None, "benders", "scip"])
def test_validation_data_report_and_change_nothing(solver):
    train, validation, _ = fs.load_dataset("wdbc").select_features(FEW).split(0.5, 0.5, 0.0, seed=1)
    free = fs.select(train, max_features=2, solver=solver)
    told = fs.select(train, max_features=2, solver=solver, validation=validation)
    assert told.status is free.status is fs.SolutionStatus.OPTIMAL
    assert (told.selected, told.objective) == (free.selected, free.objective)
    assert told.validation_error == free.error(validation)
    assert told.chosen_by is told.to_dict()["chosen_by"] is None
    assert "chosen" not in repr(told)


FEW = ["mean_radius", "mean_texture", "mean_smoothness", "mean_concavity", "worst_symmetry", "area_error"]


@pytest.mark.parametrize("solver", [None, "benders"])
def test_the_papers_rule_is_asked_for_and_named(solver, data):
    """On these data the optimum is not the classifier of least validation error."""
    kept = []
    for seed in range(4):
        train, validation, _ = data.split(0.5, 0.5, 0.0, seed=seed)
        free = fs.select(train, max_features=2, validation=validation)
        kept.append(fs.select(train, max_features=2, solver=solver, validation=validation, choose_by="validation"))
        assert kept[-1].validation_error == kept[-1].error(validation) <= free.validation_error
        assert kept[-1].bound <= free.objective * (1 + 1e-9)
    assert any(found.status is fs.SolutionStatus.FEASIBLE for found in kept)
    for found in kept:
        assert found.chosen_by == found.to_dict()["chosen_by"] == "validation"
        for report in (repr(found), found._repr_html_()):
            assert "by which it was chosen: no estimate for new data" in report
            assert "Chosen by the validation error among all incumbents" in report
        if found.status is fs.SolutionStatus.FEASIBLE:
            assert "Done, chosen by validation error: " in repr(found)


def test_a_rule_that_cannot_be_followed_is_refused(data):
    for options, words in (
        ({}, "give validation="),
        ({"validation": data, "solver": "scip"}, "rule of benders, branch-and-cut, single-tree"),
        ({"validation": data, "model": "rfe"}, "rule of benders"),
    ):
        with pytest.raises(fs.ParameterError, match=words):
            fs.select(data, max_features=1, choose_by="validation", **options)
    with pytest.raises(fs.ParameterError, match=r"choose_by=.*error"):
        fs.select(data, max_features=1, choose_by="error")
    with pytest.raises(fs.ParameterError, match="choose_by is a rule of select"):
        fs.path(data, max_features=[1, 2], validation=data, choose_by="validation")
    with pytest.raises(fs.ParameterError, match="needs a Dataset"):
        fs.select(data, max_features=1, validation=data.to_frame())
    model = fs.fsp.fsp_m(data, max_features=1)
    for options in ({"validation": data}, {"choose_by": "validation"}, {"choose_by": "luck"}):
        with pytest.raises(fs.OptionError, match="choose_by="):
            fs.solve(model, **options)


def test_an_objective_that_does_not_recompute_is_not_called_optimal(monkeypatch, data):
    monkeypatch.setitem(MODELS, "fsp-m", LinearSpec("fsp-m", "wrong", fsp.fsp_m, lambda *_: 1.0, selects=True))
    found = fs.select(data, max_features=2)
    assert found.status is fs.SolutionStatus.FEASIBLE
    assert "its weights give 1" in found.message
    assert found.bound is None  # it lies above what is said to be attained


@pytest.mark.filterwarnings("ignore:Data")
def test_selected_features_without_weight_are_pointed_out():
    data = fs.Dataset.from_arrays(np.column_stack([[0, 1, 2, 3.0], [1, 1, 1, 1.0]]), [-1, -1, 1, 1], ["useful", "idle"])
    found = fs.select(data, max_features=2, force_in=["idle"])
    assert set(found.selected) >= {"idle"}
    assert "weight 0): idle" in found.message
    assert found.weights["idle"] == 0.0


def test_shows_itself_in_a_terminal_and_in_a_notebook(data):
    found = fs.select(data.scaled("standard"), max_features=2)
    shown = repr(found)
    assert all(name in shown for name in found.selected)
    assert "proven optimal" in shown
    assert max(map(len, shown.splitlines())) <= 100
    assert "<table>" in found._repr_html_()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"model": "fsp"}, fs.ParameterError, 'Did you mean "fsp-m".*svm, one-norm-svm'),
        ({"model": "fsp-m"}, fs.ParameterError, r"needs max_features: the most"),
        ({"max_feature": 2}, fs.ParameterError, r'needs max_features.*"max_feature" is no.*did you mean max_features'),
        ({"max_features": 2, "C": True}, fs.ParameterError, "C=True"),
        ({"model": "fsp-lambda"}, fs.ParameterError, r"needs penalty: the price"),
        ({"model": "fsp-lambda", "penalty": 1, "max_features": 8}, fs.ParameterError, r"use 1\.\.7"),
        (
            {"model": "svm", "penalty": 1},
            fs.ParameterError,
            "does not use penalty.*that use penalty: fsp-lambda",
        ),
        (
            {"model": "gmeb-dual", "R_plus": 1, "R_minus": 1, "requires": [("x1", "x2")]},
            fs.ParameterError,
            r'State them on the model "gmeb"',
        ),
        ({"model": "svm", "budget": (COSTS, -1)}, fs.ParameterError, "limit=-1 is below 0"),
        ({"model": "rfe", "max_features": 2, "solver": "scip"}, fs.ParameterError, "runs no solver.*solver"),
        ({"model": "rfe", "max_features": 2, "gap": 0.1}, fs.ParameterError, "does not use gap"),
        ({"max_features": 0}, fs.ParameterError, r"use 1\.\.7"),
        ({"max_features": 2, "C": 0}, fs.ParameterError, "C=0"),
        ({"max_features": 2, "C": -1.0}, fs.ParameterError, "C=-1"),
        ({"max_features": 2, "requires": ["x1"]}, fs.ParameterError, "no pair"),
        ({"max_features": 2, "requires": [("x1", "x9")]}, fs.DataError, '"x9" is not a feature'),
        ({"max_features": 2, "budget": ({"x1": 1.0}, -3)}, fs.ParameterError, "below 0"),
        ({"max_features": 2, "solver": "higs"}, fs.SolverError, 'Did you mean "highs"'),
        ({"max_features": 2, "solver": "highs"}, fs.SolverError, "cannot solve this model.*scip"),
        ({"max_features": 2, "time_limt": 3}, fs.OptionError, 'Did you mean "time_limit"'),
    ],
)
def test_refuses_by_name(arguments, error, message, data):
    with pytest.raises(error, match=message):
        fs.select(data, **arguments)


def test_all_weights_0_is_said_without_a_claim(data):
    for C, options in ((1e-9, {}), (50.0, {"time_limit": 0})):
        found = fs.select(data.scaled("standard"), "fsmulti", budget=2, C=C, **options)
        assert found.selected == ()
        assert "All weights are 0: every score is 0, predicted as class -1. A larger C" in found.message
        assert "best" not in found.message
        assert set(found.predict(data)) == {-1.0}


@pytest.mark.parametrize("at", ["rec", "prec"])
def test_a_risk_that_is_no_bound_on_its_loss_says_so(at, data):
    positives = int((data.y > 0).sum())
    said = f"The risk is no bound on what {at}@{{}} loses here, as the true labelling has {positives} positive samples"
    for k, outside in ((positives, False), ("1p", False), (positives - 3, True), ("2p", True)):
        found = fs.select(data.scaled("standard"), "fsmulti", budget=2, C=50.0, loss=f"{at}@{k}")
        name = fs.measures.loss(f"{at}@{k}").name
        assert (said.format(name.split("@")[1]) in found.message) == outside
        assert ("prbep bounds it" in found.message) == outside
    nothing = fs.select(data.scaled("standard"), "fsmulti", budget=2, C=1e-9, loss=f"{at}@2p")
    assert "All weights are 0" in nothing.message
    assert said.format("2p") in nothing.message
    for name in ("f1", "prbep", "hamming"):
        found = fs.select(data.scaled("standard"), "fsmulti", budget=2, C=50.0, loss=name)
        assert "no bound" not in found.message


@pytest.mark.parametrize("name", ["hamming", "f0.5", "prbep", "rec@2p", "prec@10", "auc"])
def test_a_loss_of_ones_own_is_written_by_its_name(name, data):
    loss = fs.measures.loss(name)
    assert str(loss) == name
    found = fs.select(data.scaled("standard"), "fsmulti", budget=1, C=10.0, loss=loss)
    assert json.loads(json.dumps(found.to_dict()))["parameters"]["loss"] == name


def test_wants_a_dataset():
    with pytest.raises(fs.ParameterError, match=r"DataFrame.*from_csv"):
        fs.select(pd.DataFrame({"a": [1.0]}), max_features=1)
