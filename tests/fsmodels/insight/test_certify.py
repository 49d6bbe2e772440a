"""``fs.certify``: a selection from elsewhere is held against the best, as enumeration finds it."""

import numpy as np
import pytest

import fsmodels as fs
from tests.helpers.enumeration import allowed, every_support, instance
from tests.helpers.seeds import seeds


@pytest.mark.parametrize("seed", seeds(range(12), 1000, 500))
def test_certify_agrees_with_enumeration(seed):
    data, C, M, rows = instance(seed)
    rng = np.random.default_rng(seed)
    names = rng.choice(data.features, int(rng.integers(1, M + 1)), replace=False).tolist()
    if not allowed(set(names), rows):
        with pytest.raises(fs.ParameterError, match="violates"):
            fs.certify(data, names, C=C, max_features=M, **rows)
        return
    asked = fs.certify(data, names, C=C, max_features=M, gap=1e-8, **rows)
    best = every_support(data, C, M, rows)[0][0]
    own = fs.fsp.value(data, names, C=C)
    assert asked.objective == pytest.approx(own, rel=1e-6)
    assert asked.bound <= best * (1 + 1e-7)
    assert asked.bound == pytest.approx(best, rel=1e-5)
    assert asked.above == pytest.approx((own - best) / best, abs=2e-5)
    for within in (0.5 * asked.above, 2 * asked.above + 1e-3):
        if within > 1e-5:
            settled = fs.certify(data, names, C=C, max_features=M, within=within, gap=1e-8, **rows)
            assert settled.answer == (within > asked.above)
            assert settled.bound <= best * (1 + 1e-7)


@pytest.mark.parametrize(
    ("model", "given"),
    [
        ("fsp-lambda", {"penalty": 5.0}),
        ("fs", {"penalty": 0.1}),
        ("gmeb", {"R_plus": 1, "R_minus": 1}),
        ("fsmulti", {}),
    ],
)
def test_every_family_with_a_bound_certifies(model, given):
    asked = fs.certify(fs.load_dataset("bupa"), ["mcv", "sgot"], model, **given)
    assert asked.bound <= asked.objective
    assert asked.best.objective <= asked.objective * (1 + 1e-9)
    assert asked.worse == pytest.approx(asked.above, abs=0.1)
    assert asked.sentence in repr(asked)


def test_the_best_selection_itself_is_certified_as_such():
    data = fs.load_dataset("bupa")
    best = fs.select(data, max_features=2)
    asked = fs.certify(data, best.selected, within=0.01)
    assert asked.answer is True
    assert asked.above < 0.01
    assert asked.sentence.startswith("Yes, within 1% of the best. The 2 given features have the objective 275.843")


def test_within_stops_early_with_a_better_selection_as_witness():
    data = fs.load_dataset("wdbc")
    names = ["mean_radius", "area_error"]
    asked = fs.certify(data, names, within=0.05)
    assert asked.answer is False
    assert asked.best.stop_reason in (fs.StopReason.CALLBACK, fs.StopReason.CONVERGED)
    assert asked.worse > 0.05
    assert set(asked.to_dict()) >= {"objective", "bound", "gap", "answer", "sentence"}


def test_a_limit_leaves_the_question_open_with_a_bound():
    asked = fs.certify(
        fs.load_dataset("wdbc"), ["mean_radius", "area_error", "worst_area"], time_limit=0.7, within=1e-9
    )
    assert asked.bound <= asked.objective
    assert "It is not decided yet whether they are within" in asked.sentence or asked.answer is not None


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda d: fs.certify(d, ["mcv"], "rfe"), "proves no bound"),
        (lambda d: fs.certify(d, ["mcv"], within=-1), "within"),
        (lambda d: fs.certify(d, ["mcv", "mcv"]), "each once"),
        (lambda d: fs.certify(d, ["nobody"]), "nobody"),
        (lambda d: fs.certify(d, ["mcv"], callback=print), "callback"),
        (lambda d: fs.certify(d, ["mcv", "sgot"], max_features=1), "violates"),
    ],
)
def test_what_cannot_be_asked_is_refused(call, words):
    with pytest.raises(fs.ParameterError.__mro__[1], match=words):
        call(fs.load_dataset("bupa"))


@pytest.mark.parametrize("within", [None, 0.05])
def test_a_solver_of_the_whole_model_certifies_too(within):
    data = fs.load_dataset("bupa")
    names, words = ["mcv", "sgot"], {"C": 1.0, "within": within}
    ours, theirs = fs.certify(data, names, **words), fs.certify(data, names, solver="scip", **words)
    assert theirs.objective == pytest.approx(ours.objective, rel=1e-5)
    assert theirs.bound <= theirs.best.objective * (1 + 1e-6)
    assert ours.best.objective >= theirs.bound * (1 - 1e-6)
