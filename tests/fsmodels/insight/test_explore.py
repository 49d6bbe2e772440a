"""``fs.explore``: each answer of a session is that of enumeration, whatever was asked before."""

import weakref

import numpy as np
import pytest

import fsmodels as fs
from tests.helpers.enumeration import every_support, instance
from tests.helpers.seeds import seeds


@pytest.mark.parametrize("seed", seeds(range(8), 3000, 100))
def test_a_session_agrees_with_enumeration(seed):
    data, C, M, rows = instance(seed)
    rng = np.random.default_rng(seed)
    session = fs.explore(data, max_features=M, C=C, gap=1e-6, **rows)
    now = dict(rows)
    names = list(data.features)
    for _ in range(5):
        change = {}
        kind = rng.integers(6)
        a, b = rng.choice(names, 2, replace=False).tolist()
        if kind == 0:
            M = change["max_features"] = int(rng.integers(1, len(names) + 1))
        elif kind == 1:
            C = change["C"] = float(C * rng.choice([0.5, 2.0]))
        elif kind == 2:
            change["excludes"] = now["excludes"] = [(a, b)]
        elif kind == 3:
            change["force_out"] = now["force_out"] = [a]
        elif kind == 4 and now:
            gone = rng.choice(list(now))
            del now[gone]
            change[gone] = ()
        else:
            costs = dict.fromkeys(names, 1.0)
            change["budget"] = now["budget"] = (costs, float(rng.integers(1, len(names))))
        answer = session.ask(**change)
        best = every_support(data, C, M, now)[0][0]
        assert answer.found.objective == pytest.approx(best, rel=3e-6)
        assert answer.found.bound <= best * (1 + 1e-7)
        assert answer.found.status.value == "optimal"
    assert len(session.history()) == 6


@pytest.fixture
def session():
    return fs.explore(fs.load_dataset("bupa"), max_features=2)


def test_a_row_that_the_best_selection_satisfies_leaves_the_optimum(session):
    first = session.found
    answer = session.ask(excludes=[("mcv", "drinks")])
    assert answer.how == "Solved with the memory of earlier solves."
    assert answer.found.selected == first.selected
    assert answer.found.objective == pytest.approx(first.objective, rel=1e-6)
    assert answer.found.parameters["excludes"] == [["mcv", "drinks"]]


def test_an_identical_question_is_not_solved_again(session, monkeypatch):
    excluded = session.ask(excludes=[("mcv", "drinks")], max_features=3)
    nothing = session.ask(force_in=["mcv", "drinks"])
    monkeypatch.setattr(type(session.task), "solve", None)
    back = session.ask(excludes=(), force_in=(), max_features=2)
    assert back.found is session.answers[0].found
    assert back.how == 'The question is that of "to begin with".'
    again = session.ask(excludes=[("mcv", "drinks")], max_features=3)
    assert again.found is excluded.found
    assert session.ask(force_in=["mcv", "drinks"]).found is nothing.found
    with pytest.raises(TypeError):
        session.ask(gap=1e-9)


def test_a_question_without_a_proof_is_solved_again():
    session = fs.explore(fs.load_dataset("sonar"), max_features=5, iteration_limit=1)
    assert session.found.status is not fs.SolutionStatus.OPTIMAL
    assert session.ask().found is not session.answers[0].found


def test_objectives_of_another_C_are_not_held_against_one_another(session):
    assert "above the answer before" not in (said := session.ask(C=10.0).sentence)
    assert "C changed, so the objective cannot be compared" in said
    assert "the answer before" in session.ask(max_features=1).sentence
    prices = fs.explore(fs.load_dataset("bupa"), "fsp-lambda", penalty=1.0)
    assert "penalty changed" in prices.ask(penalty=2.0).sentence


def test_rows_of_ones_own_are_added_and_dropped(session):
    first = session.found.objective
    apart = session.ask(add={"apart": lambda m: m.sigma["sgpt"] + m.sigma["sgot"] <= 1})
    assert not {"sgpt", "sgot"} <= set(apart.found.selected)
    assert apart.found.objective > first
    assert session.ask(drop="apart").found.objective == first
    assert session.model.component("apart") is None


def test_rows_of_ones_own_on_weights_are_not_taken_for_met(session):
    first = session.found
    name = first.selected[0]
    limit = 0.5 * abs(first.weights[name])
    answer = session.ask(add={"small": lambda m: m.w[name] <= limit, "small_too": lambda m: m.w[name] >= -limit})
    assert abs(answer.found.weights.get(name, 0.0)) <= limit * (1 + 1e-6)
    assert answer.found.objective > first.objective


def test_what_leaves_nothing_is_answered_and_the_session_goes_on(session):
    nothing = session.ask(force_in=["mcv", "drinks", "sgpt"])
    assert nothing.found.status is fs.SolutionStatus.INFEASIBLE
    assert session.ask(force_in=()).found.has_solution


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"penalty": 1.0}, "does not use penalty"),
        ({"loss": "squared-hinge"}, "a session cannot change"),
        ({"maxfeatures": 2}, "a session cannot change"),
        ({"solver": "scip"}, "a session cannot change"),
        ({"C": -1}, "C"),
        ({"max_features": 99}, "max_features"),
        ({"excludes": [("mcv", "nobody")]}, "nobody"),
        ({"drop": "nobody"}, "no row"),
        ({"add": {"margin": lambda m: m.sigma["mcv"] == 1}}, "another name"),
    ],
)
def test_a_question_that_cannot_be_put_leaves_the_session_as_it_was(session, change, words):
    with pytest.raises(fs.ParameterError.__mro__[1], match=words):
        session.ask(**change)
    assert len(session.answers) == 1
    assert session.ask(max_features=3).found.has_solution
    assert session.ask(max_features=2).found.objective == session.answers[0].found.objective


def test_models_without_a_bound_are_refused():
    with pytest.raises(fs.ParameterError, match="proves no bound"):
        fs.explore(fs.load_dataset("bupa"), "rfe", max_features=2)


def test_other_families_are_explored_too():
    session = fs.explore(fs.load_dataset("bupa"), "fsp-lambda", penalty=5.0)
    dearer = session.ask(penalty=10.0)
    assert dearer.found.objective >= session.answers[0].found.objective
    assert session.ask(max_features=1).found.objective >= dearer.found.objective
    assert session.ask(max_features=None).found.objective == pytest.approx(dearer.found.objective)
    assert fs.explore(fs.load_dataset("bupa"), "fs", penalty=0.1).ask(force_out=["sgot"]).found.bound is not None


def test_rows_that_were_dropped_keep_their_identity(session):
    def row(model):
        return sum(model.sigma.values()) >= 0

    kept = weakref.ref(row)
    session.ask(add={"row": row})
    del row
    session.ask(drop="row")
    assert kept() is not None, "a later row may have its id"


def test_a_session_answers_further_questions_under_its_own_rows(session):
    session.ask(add={"apart": lambda m: m.sigma["sgpt"] + m.sigma["sgot"] <= 1})
    assert session.rows() == {"cardinality": "max_features=2", "apart": "sigma[sgpt] + sigma[sgot]  <=  1"}
    near = session.near_optimal(within=0.02)
    assert near.complete
    assert all(not {"sgpt", "sgot"} <= set(model.features) for model in near)
    assert session.necessity().best.objective == pytest.approx(session.found.objective)
    for method in (session.cross_validate, session.to_python):
        with pytest.raises(fs.ParameterError, match="apart"):
            method()
    expected = fs.near_optimal(fs.load_dataset("bupa"), max_features=2, within=0.02, excludes=[("sgpt", "sgot")])
    assert [model.features for model in near] == [model.features for model in expected]


def test_the_code_of_a_session_makes_the_same_selection():
    data = fs.load_dataset("bupa")
    session = fs.explore(data, max_features=3, scale="minmax", loss="squared-hinge", excludes=[("sgpt", "sgot")])
    session.ask(budget=({"mcv": 2.0, "drinks": 1.5}, 3), C=2.0)
    variables = {"data": data}
    exec(session.to_python(), variables)
    assert variables["found"].selected == session.found.selected
    assert variables["found"].objective == pytest.approx(session.found.objective)
    assert (
        session.cross_validate(cv=3).error == fs.cross_validate(data, cv=3, scale="minmax", **session.arguments).error
    )
