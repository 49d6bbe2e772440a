"""Losses of labellings: (18) by trying every labelling, its rows as cuts, measures beside scikit-learn's, and ties."""

import dataclasses
import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

import fsmodels as fs
from fsmodels import measures
from fsmodels.models.multivariate.labellings import Ranked, Table
from fsmodels.models.multivariate.measures import Auc, BreakEven, FBeta, Hamming, PrecisionAt, RecallAt, loss, measure

LABELLINGS = ["hamming", "f1", "f0.3", "f2", "prbep", "rec@1", "rec@3", "rec@2p", "prec@1", "prec@3", "prec@2p"]
RANKED = ["prbep", "rec@1", "rec@3", "rec@2p", "rec@0.5p", "prec@1", "prec@3", "prec@2p"]


def places(name, p):
    """How many labels must be +1, or None."""
    if name == "prbep":
        return p
    if "@" not in name:
        return None
    k = name.split("@")[1]
    return max(1, int(Fraction(k[:-1]) * p + Fraction(1, 2))) if k.endswith("p") else int(k)


def delta(name, y, labelling):
    """Delta from its definition, or None where the labelling is not allowed."""
    a = sum(1 for t, z in zip(y, labelling, strict=True) if t > 0 and z > 0)
    b = sum(1 for t, z in zip(y, labelling, strict=True) if t < 0 and z > 0)
    c = sum(1 for t, z in zip(y, labelling, strict=True) if t > 0 and z < 0)
    k = places(name, a + c)
    if k is not None and a + b != k:
        return None
    if name == "hamming":
        return 2 * (b + c)
    if name.startswith("f"):
        square = float(name[1:]) ** 2
        return 100 * (1 - (1 + square) * a / ((1 + square) * a + b + square * c))
    return 100 * (1 - a / (a + b)) if name.startswith("prec") else 100 * (1 - a / (a + c))


def by_trying(name, y, scores):
    """The largest value of (18) over all labellings, and every row (coefficients, Delta)."""
    rows = []
    for labelling in itertools.product((-1, 1), repeat=len(y)):
        cost = delta(name, y, labelling)
        if cost is not None:
            rows.append((y - np.array(labelling), cost))
    return max(cost - float(c @ scores) for c, cost in rows), rows


def by_trying_pairs(y, scores):
    """The same for AUC: every set of swapped pairs, each with its own term, so that each is decided by itself."""
    pairs = [(i, j) for i in np.flatnonzero(y > 0) for j in np.flatnonzero(y < 0)]
    gains = [1 - 2 * (scores[i] - scores[j]) for i, j in pairs]
    best = max(
        sum(g for g, z in zip(gains, swapped, strict=True) if z)
        for swapped in itertools.product((0, 1), repeat=len(pairs))
    )
    return 100 / len(pairs) * best


def check_row(name, y, scores, worst):
    """The parts of a row agree with one another."""
    assert worst.labelling.dtype == worst.coefficients.dtype == np.int8
    np.testing.assert_array_equal(worst.coefficients, y - worst.labelling)
    assert worst.delta == pytest.approx(delta(name, y, worst.labelling), abs=1e-9)
    assert worst.delta == pytest.approx(loss(name).value(y, worst.labelling), abs=1e-12)
    assert worst.value == pytest.approx(worst.delta - worst.coefficients.astype(float) @ scores, rel=1e-12, abs=1e-9)
    assert worst.table == measures.contingency(y, worst.labelling)


def close(x, scores):
    return pytest.approx(x, rel=1e-9, abs=1e-9 * max(1.0, np.abs(scores).sum()))


def fits(name, y):
    k = places(name, np.count_nonzero(y > 0))
    return k is None or k <= len(y)


KINDS = {
    "normal": lambda rng, n: rng.normal(size=n) * 10,
    "ties": lambda rng, n: rng.integers(-1, 2, n).astype(float),
    "zero": lambda rng, n: np.zeros(n),
    "margins": lambda rng, n: rng.choice([-1.0, -0.5, 0.5, 1.0], n),  # where a flip or a swap just pays nothing
    "extreme": lambda rng, n: rng.choice([-1e12, -1e3, -1e-12, 1e-12, 1.0, 1e12], n),
    "wide": lambda rng, n: rng.normal(size=n) * 10.0 ** rng.integers(-8, 3, n),
}


def sample(kind, seed, n=None):
    """Labels with one sample of a class for some seeds, and scores that agree with them for others."""
    rng = np.random.default_rng([seed, len(kind)])
    n = n or int(rng.integers(2, 9))
    y = np.where(rng.random(n) < 0.5, 1, -1)
    if seed % 3 < 2:
        y[:] = 2 * (seed % 3) - 1
        y[rng.integers(n)] *= -1
    if not (y > 0).any():
        y[0] = 1
    scores = KINDS[kind](rng, n)
    return y, np.abs(scores) * y if seed % 4 == 0 else scores


# (18)


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("name", LABELLINGS)
def test_the_most_violated_labelling_by_trying_all(name, kind):
    tried = 0
    for seed in range(12):
        y, scores = sample(kind, seed)
        if fits(name, y):
            worst = loss(name).most_violated(y, scores)
            check_row(name, y, scores, worst)
            assert worst.value == close(by_trying(name, y, scores)[0], scores), seed
            tried += 1
    assert tried >= 4


@pytest.mark.parametrize("name", LABELLINGS)
def test_ten_samples(name):
    y, scores = sample("wide", 2, n=10)
    worst = loss(name).most_violated(y, scores)
    check_row(name, y, scores, worst)
    assert worst.value == close(by_trying(name, y, scores)[0], scores)


@pytest.mark.parametrize("kind", list(KINDS))
def test_the_most_violated_pairs_by_trying_all(kind):
    for seed in range(12):
        y, scores = sample(kind, seed, n=6)
        worst = Auc().most_violated(y, scores)
        assert worst.value == close(by_trying_pairs(y, scores), scores)
        assert worst.value == close(worst.delta - worst.coefficients @ scores, scores)
        assert worst.coefficients.sum() == pytest.approx(0, abs=1e-9)
        assert worst.labelling is worst.table is None


@settings(max_examples=150)
@given(st.data())
def test_no_labelling_is_worse(data):
    name = data.draw(st.sampled_from(LABELLINGS))
    n = data.draw(st.integers(2, 6))
    y = np.array([1, *data.draw(st.lists(st.sampled_from([-1, 1]), min_size=n - 1, max_size=n - 1))])
    numbers = st.floats(-1e6, 1e6) | st.sampled_from([0.0, 1.0, -1.0, 25.0, -25.0])
    scores = np.array(data.draw(st.lists(numbers, min_size=n, max_size=n)))
    if fits(name, y):
        worst = loss(name).most_violated(y, scores)
        check_row(name, y, scores, worst)
        assert worst.value == close(by_trying(name, y, scores)[0], scores)


@pytest.mark.parametrize("beta", [0.1, 0.3, 0.5, 1, 2, 10])
@pytest.mark.parametrize("size", [0.05, 0.5, 5.0])
@pytest.mark.parametrize("share", [0.03, 0.5, 0.97])
def test_f_by_a_scan_of_all_counts(share, size, beta):
    """Also where beta < 1, for which the best b may fall as a grows."""
    rng = np.random.default_rng(7)
    y = np.where(np.arange(120) < 120 * share, 1, -1)
    scores = size * (0.5 * y + rng.normal(size=120))
    p, positives, negatives = (y > 0).sum(), np.sort(scores[y > 0]), np.sort(scores[y < 0])[::-1]
    best = max(
        100 * (1 - (1 + beta**2) * a / (a + b + beta**2 * p)) - 2 * positives[: p - a].sum() + 2 * negatives[:b].sum()
        for a in range(p + 1)
        for b in range(len(negatives) + 1)
    )
    assert FBeta(beta).most_violated(y, scores).value == pytest.approx(best, rel=1e-10)


@pytest.mark.parametrize(("score", "labels", "value"), [(-20.0, [1, -1], 0.0), (-16.0, [1, 1], 100 / 3 - 32)])
def test_a_step_of_f_is_worth_what_it_adds(score, labels, value):
    """From b = 0 to 1 at a = p = 1 Delta grows by 100/3: the next label pays above a score of -50/3."""
    worst = FBeta().most_violated([1, -1], [60.0, score])
    assert worst.labelling.tolist() == labels
    assert worst.value == pytest.approx(value)


def test_the_best_number_of_negatives_may_fall_where_beta_is_below_1():
    """So that a search that only moves b up would be wrong."""
    y = np.where(np.arange(100) < 50, 1, -1)
    scores = np.concatenate([np.zeros(50), np.linspace(0, -3, 50)])
    ranked = Ranked(y.astype(np.int8), scores)
    b = {beta: FBeta(beta)._best_b(np.arange(51), ranked) for beta in (0.3, 1.0, 2.0)}
    assert (np.diff(b[0.3]) < 0).any()
    assert (np.diff(b[1.0]) >= 0).all()
    assert (np.diff(b[2.0]) >= 0).all()


@pytest.mark.parametrize("beta", [0.3, 1.0, 2.0])
@pytest.mark.parametrize("rivals", [np.linspace(0, -3, 50), np.repeat([1.0, -1.5, -90.0], [2, 4, 44])])
def test_the_best_number_of_negatives_for_each_number_of_positives(rivals, beta):
    y, scores = np.where(np.arange(100) < 50, 1, -1), np.concatenate([np.zeros(50), rivals])
    found = FBeta(beta)._best_b(np.arange(51), Ranked(y.astype(np.int8), scores))
    b, sums = np.arange(51), np.concatenate([[0.0], 2 * np.cumsum(rivals)])
    for a in range(51):
        values = sums - 100 * (1 + beta**2) * a / (a + b + beta**2 * 50)
        assert values[found[a]] == pytest.approx(values.max(), abs=1e-9)


# Rows


@pytest.mark.parametrize("name", [*LABELLINGS, "auc"])
@pytest.mark.parametrize("seed", range(8))
def test_rows_are_cuts_of_a_convex_risk(name, seed):
    """The value is convex in the scores, with -coefficients as a subgradient, and at other scores the row is below."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(30) < 0.3, 1, -1)
    y[:2] = 1, -1
    here, there = rng.normal(size=(2, 30)) * rng.choice([0.1, 1.0, 20.0])
    worst, other = (loss(name).most_violated(y, v) for v in (here, there))
    assert other.value >= worst.delta - worst.coefficients.astype(float) @ there - 1e-9
    middle = loss(name).most_violated(y, (here + there) / 2).value
    assert middle <= (worst.value + other.value) / 2 + 1e-9


@pytest.mark.parametrize("name", ["hamming", "f1", "rec@2p", "prec@3", "prbep"])
def test_the_row_in_w_with_both_sides_divided_by_n(name):
    rng = np.random.default_rng(1)
    X, y, w = rng.normal(size=(7, 3)), np.array([1, -1, -1, 1, -1, -1, -1]), rng.normal(size=3)
    worst = loss(name).most_violated(y, X @ w)
    xi = worst.value / 7
    assert w @ (X.T @ worst.coefficients / 7) == pytest.approx(worst.delta / 7 - xi)
    for coefficients, cost in by_trying(name, y, X @ w)[1]:
        assert w @ (X.T @ coefficients) / 7 >= cost / 7 - xi - 1e-9


@pytest.mark.parametrize("name", ["hamming", "f1", "f2", "prbep", "auc"])
@pytest.mark.parametrize("seed", range(6))
def test_the_value_bounds_the_loss_of_the_prediction(name, seed):
    """Where y itself may be predicted; and it is 0 once all margins are wide."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(40) < 0.3, 1, -1)
    scores = y * rng.choice([0.0, 0.5, 60.0]) + rng.normal(size=40)
    found = loss(name)
    measured = found.value(y, scores if name == "auc" else found.predict(scores, n_positive=(y > 0).sum()))
    assert found.most_violated(y, scores).value >= measured - 1e-9
    assert found.most_violated(y, 1000.0 * y).value == 0
    assert not found.most_violated(y, 1000.0 * y).coefficients.any()


def test_hamming_is_twice_the_mean_hinge_loss():
    y, scores = sample("normal", 5, n=50)
    hinge = np.maximum(0, 1 - y * scores).mean()
    assert Hamming().most_violated(y, scores).value / 50 == pytest.approx(2 * hinge)


def test_auc_is_the_mean_hinge_loss_of_pairs():
    y, scores = sample("normal", 5, n=50)
    gaps = scores[y > 0][:, None] - scores[y < 0]
    assert Auc().most_violated(y, scores).value == pytest.approx(100 * np.maximum(0, 1 - 2 * gaps).mean())


@pytest.mark.parametrize("name", [*LABELLINGS, "auc"])
@pytest.mark.parametrize("kind", ["normal", "ties", "margins"])
def test_the_order_of_samples_does_not_matter(name, kind):
    rng = np.random.default_rng(3)
    y = np.where(rng.random(40) < 0.3, 1, -1)
    scores = KINDS[kind](rng, 40)
    order = rng.permutation(40)
    one, two = loss(name).most_violated(y, scores), loss(name).most_violated(y[order], scores[order])
    assert (two.delta, two.table) == (one.delta, one.table)
    assert two.value == pytest.approx(one.value)
    if kind == "normal":
        np.testing.assert_array_equal(two.coefficients, one.coefficients[order])


def test_with_all_scores_0_the_choice_is_as_documented():
    y = np.array([-1, 1, -1, 1, -1])
    zero = np.zeros(5)
    assert FBeta().most_violated(y, zero).labelling.tolist() == [-1] * 5  # a = 0, then the least b
    assert BreakEven().most_violated(y, zero).labelling.tolist() == [1, -1, 1, -1, -1]  # those that come first
    assert Hamming().most_violated(y, zero).labelling.tolist() == (-y).tolist()


def test_where_y_is_not_allowed_all_values_may_be_negative():
    y = np.array([1, 1, -1, -1])
    worst = RecallAt(3).most_violated(y, [90.0, 90.0, -80.0, -90.0])
    assert (worst.table, worst.delta, worst.value) == (Table(2, 1, 0, 1), 0.0, -160.0)
    assert RecallAt(3).most_violated(y, [90.0, 90.0, 10.0, -90.0]).value == 20.0  # Delta = 0, and yet violated


def test_inputs_are_left_alone_and_may_be_lists_series_or_datasets():
    data = fs.load_dataset("wdbc").scaled("standard").take(np.arange(300, 360))  # 15 of +1
    scores = np.asarray(data.X @ np.linspace(-1, 1, data.n_features))
    before = scores.copy(), np.array(data.y)
    for name in [*LABELLINGS, "auc"]:
        one = loss(name).most_violated(data.y, scores)
        two = loss(name).most_violated([int(t) for t in data.y], pd.Series(scores, index=np.arange(60) + 5))
        assert one.value == two.value
        np.testing.assert_array_equal(one.coefficients, two.coefficients)
    np.testing.assert_array_equal(scores, before[0])
    np.testing.assert_array_equal(data.y, before[1])


# Measures


@pytest.mark.parametrize("seed", range(10))
def test_values_and_measures_beside_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(30) < 0.4, 1, -1)
    y[:2] = 1, -1
    scores = 0.5 * y + rng.normal(size=30)
    z = np.where(scores > 0, 1, -1)
    p = int((y > 0).sum())
    found = measure(y, scores, ["error", "balanced-error", "hamming", "f1", "f0.5", "prbep", "rec@9", "prec@9", "auc"])
    top, even = loss("rec@9").predict(scores), loss("prbep").predict(scores, n_positive=p)
    expected = {
        "error": 1 - metrics.accuracy_score(y, z),
        "balanced-error": 1 - metrics.balanced_accuracy_score(y, z),
        "hamming": metrics.accuracy_score(y, z),
        "f1": metrics.f1_score(y, z),
        "f0.5": metrics.fbeta_score(y, z, beta=0.5),
        "prbep": metrics.precision_score(y, even),
        "rec@9": metrics.recall_score(y, top),
        "prec@9": metrics.precision_score(y, top),
        "auc": metrics.roc_auc_score(y, scores),
    }
    pd.testing.assert_series_equal(found, 100 * pd.Series(expected))
    assert metrics.recall_score(y, even) == metrics.precision_score(y, even)
    d, b, c, a = metrics.confusion_matrix(y, z).ravel()
    assert measures.contingency(y, z) == (a, b, c, d)
    assert Hamming().value(y, z) == pytest.approx(2 * 30 * metrics.hamming_loss(y, z))
    for name, labelling in (("f1", z), ("f0.5", z), ("prbep", even), ("rec@9", top), ("prec@9", top), ("auc", scores)):
        assert loss(name).value(y, labelling) == pytest.approx(100 - found[name])


@pytest.mark.parametrize("name", RANKED)
def test_a_measure_with_ties_is_the_mean_over_their_orders(name):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        y, scores = np.array([1, 1, -1, -1, -1, -1]), rng.integers(0, 2, 6).astype(float)
        rng.shuffle(y)
        found = []
        for order in itertools.permutations(range(6)):
            y_, s_ = y[list(order)], scores[list(order)]
            found.append(100 - loss(name).value(y_, loss(name).predict(s_, n_positive=2)))
        assert loss(name).measure(y, scores) == pytest.approx(np.mean(found))


def test_scores_of_0_do_not_look_good_on_sorted_data():
    y = np.array([1] * 5 + [-1] * 15)
    found = measure(y, np.zeros(20), ["error", "balanced-error", "f1", "prbep", "rec@2p", "prec@2p", "auc"])
    assert found.tolist() == [25, 50, 0, 25, 50, 25, 50]


def test_predictions():
    scores = [0.0, 2.0, -1.0, 2.0, 0.0, -0.0]
    for name in ("hamming", "f1", "f2", "auc"):
        labels = loss(name).predict(scores)
        assert labels.tolist() == [-1, 1, -1, 1, -1, -1]
        assert labels.dtype == np.int8
    assert loss("prec@1").predict(scores).tolist() == [-1, 1, -1, -1, -1, -1]
    assert loss("rec@3").predict(scores).tolist() == [1, 1, -1, 1, -1, -1]
    assert loss("rec@2p").predict(scores, n_positive=2).tolist() == [1, 1, -1, 1, 1, -1]
    assert loss("rec@1.5p").predict(scores, n_positive=2).sum() == 0  # three of six
    assert (loss("rec@0.5p").predict(scores, n_positive=3) > 0).sum() == 2
    assert loss("rec@0.1p").predict(scores, n_positive=2).tolist() == loss("rec@1").predict(scores).tolist()
    assert loss("prbep").predict(scores, n_positive=2).tolist() == [-1, 1, -1, 1, -1, -1]
    assert loss("rec@6").predict(scores).tolist() == [1] * 6


# Names and refusals


@pytest.mark.parametrize("name", [*LABELLINGS, "rec@0.5p", "f0.5", "f1.25", "auc"])
def test_names(name):
    found = loss(name)
    assert found.name == name
    assert loss(name.upper()) == found == loss(found)
    assert hash(loss(name)) == hash(found)
    assert eval(repr(found), vars(measures)) == found
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.beta = 3


def test_parameters_are_put_in_one_form():
    assert RecallAt("10") == RecallAt(np.int64(10)) == loss("rec@ 10")
    assert PrecisionAt("2.0P").name == "prec@2p"
    assert PrecisionAt("p").name == "prec@1p"
    assert RecallAt(3) != PrecisionAt(3)
    assert FBeta() == FBeta(1) == loss("f1.0")


Y, V = [1, -1, -1], [0.5, 0.0, -1.0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: loss("f"), 'Loss "f" is not known: use one of hamming, f1'),
        (lambda: loss("rec"), "not known"),
        (lambda: loss("roc@3"), "not known"),
        (lambda: loss("f0"), "beta=0.0 is not allowed"),
        (lambda: loss("rec@k"), "k='k' is not a number of samples: use a whole number from 1 on, or a multiple"),
        (lambda: loss("prec@"), "not a number of samples"),
        (lambda: loss("prec@.p"), "not a number of samples"),
        (lambda: loss("prec@0p"), "not a number of samples"),
        (lambda: RecallAt(2.5), "k=2.5 is not a number of samples"),
        (lambda: RecallAt(True), "k=True is not a number of samples"),
        (lambda: RecallAt(0), "k=0 labels no sample positive"),
        (lambda: RecallAt("-3"), "not a number of samples"),
        (lambda: FBeta(-1), "beta=-1 is not allowed"),
        (lambda: RecallAt(4).most_violated(Y, V), "k=4 is above the 3 samples: use 1..3\\."),
        (
            lambda: PrecisionAt("4p").measure(Y, V),
            'k=4 = 4p, with p=1 pos.*, is above the 3 samples: .*"3p"',
        ),
        (lambda: PrecisionAt(4).predict(V), "k=4 is above the 3 samples"),
        (lambda: RecallAt(2).value(Y, [1, -1, -1]), "has 1 positive labels and rec@2 is for 2 here"),
        (lambda: BreakEven().value(Y, [1, 1, -1]), "has 2 positive labels and prbep is for 1 here"),
        (lambda: BreakEven().predict(V), "prbep labels p samples .1.*give n_positive="),
        (lambda: RecallAt("2p").predict(V), "rec@2p labels p samples .1"),
        (
            lambda: BreakEven().predict(V, n_positive=4),
            "n_positive=4 does not fit 3 scores: use a whole",
        ),
        (lambda: BreakEven().predict(V, n_positive=0), "n_positive=0 does not fit"),
        (lambda: RecallAt("2p").predict(V, n_positive=1.5), "n_positive=1.5 does not fit"),
        (lambda: RecallAt("2p").predict(V, n_positive=-1), "n_positive=-1 does not fit"),
        (lambda: FBeta().most_violated([-1, -1, -1], V), "f1 needs a positive sample and y has none"),
        (lambda: FBeta().measure([-1, -1, -1], V), "f1 needs a positive sample"),
        (lambda: FBeta().value([-1, -1], [1, -1]), "f1 needs a positive sample"),
        (lambda: PrecisionAt(1).most_violated([-1, -1, -1], V), "prec@1 needs a positive sample"),
        (lambda: BreakEven().measure([-1, -1, -1], V), "prbep needs a positive sample"),
        (lambda: Auc().most_violated([1, 1, 1], V), "y has 3 positive and 0 negative samples"),
        (lambda: measure([1, 1, 1], V), "y has 3 positive and 0 negative samples"),
        (lambda: measure(Y, V, ["accuracy"]), 'Loss "accuracy" is not known'),
        (lambda: measure(Y, V, "f1"), 'names="f1" is one name: give a list'),
        (lambda: Hamming().most_violated([1, 0, -1], V), "y has the label 0 at position 1: use -1 and \\+1"),
        (lambda: Hamming().value(Y, [1.0, 0.5, -1]), "the labelling has the label 0.5 at position 1"),
        (lambda: Hamming().most_violated([[1, -1]], V), "y has shape \\(1, 2\\)"),
        (lambda: Hamming().most_violated([], []), "y has shape \\(0,\\)"),
        (lambda: Hamming().most_violated(["a", "b", "c"], V), "y has the label 'a' at position 0"),
        (lambda: Hamming().most_violated(Y, [1.0, np.nan, 2.0]), "scores have nan at position 1: give finite numbers"),
        (lambda: Hamming().predict([np.inf]), "scores have inf at position 0"),
        (lambda: Hamming().predict(["x"]), "scores=.* give an array of numbers"),
        (lambda: Hamming().predict([[1.0]]), "scores have shape \\(1, 1\\)"),
        (lambda: Hamming().most_violated(Y, [1.0]), "y has 3 labels and there are 1 scores: give one per sample"),
        (lambda: measures.contingency(Y, [1]), "y has 3 labels and there are 1 labels in the labelling"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(fs.ParameterError, match=message):
        call()


def test_hamming_needs_no_class_and_one_class_of_positives_is_enough_for_f():
    assert Hamming().most_violated([-1, -1], [0.0, 0.0]).value == 4.0
    worst = FBeta().most_violated([1, 1], [60.0, 0.0])
    assert (worst.table, round(worst.value, 4)) == (Table(1, 0, 1, 0), 33.3333)
    assert BreakEven().most_violated([1, 1], [-30.0, 0.0]).value == 0.0  # all are labelled +1
