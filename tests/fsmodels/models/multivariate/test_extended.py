"""The complete cone program of FSmulti: equal to every labelling and to the two-layer method, by any solver."""

import itertools

import numpy as np
import pyomo.environ as pyo
import pytest
from scipy import sparse

import fsmodels as fs
import solvers
from fsmodels import multivariate as mv
from fsmodels import side_constraints as sides
from fsmodels.errors import ParameterError
from fsmodels.models.multivariate.extended import defined_by, program_of
from fsmodels.models.multivariate.labellings import Worst
from fsmodels.models.multivariate.measures import FBeta, Hamming, Loss, contingency
from fsmodels.models.multivariate.measures import loss as loss_of
from labellings import explicit
from solvers import SolutionStatus
from solvers.facts import facts_of

LOSSES = ["hamming", "f1", "f0.5", "f2", "prbep", "rec@3", "rec@2p", "prec@3", "prec@5", "auc"]
OF_SAMPLES = LOSSES[:-1]
GAP = 1e-6


@pytest.fixture(scope="module")
def small(make_data):
    data = make_data(8, 4, seed=4, noise=2.0)
    return fs.Dataset.from_arrays(np.asarray(data.X), [1, -1, 1, -1, -1, -1, 1, -1], features=list("abcd"))


def extended(data, **given):
    return mv.fsmulti(data, **{"budget": 2, "C": 30.0, "form": "extended", **given})


class Tabled(Loss):
    """Errors that cost 5 where a positive sample is missed, of labellings with at most three of them labelled +1."""

    name = "tabled"

    def delta(self, table):
        return table.b + 5.0 * table.c if table.a + table.b <= 3 else None

    def value(self, y, labelling):
        found = self.delta(contingency(y, labelling))
        if found is None:
            raise ParameterError("not in Y")
        return found

    def most_violated(self, y, scores):
        pairs = ((s, self.delta(contingency(y, s))) for s in itertools.product((-1, 1), repeat=len(y)))
        labellings = ((np.array(s), d) for s, d in pairs if d is not None)
        best = max(labellings, key=lambda pair: pair[1] - (y - pair[0]) @ scores)
        return Worst.of(y, scores, *best)


# The same problem.


@pytest.mark.parametrize("loss", OF_SAMPLES)
@pytest.mark.parametrize(("B", "C"), [(1, 4.0), (2, 30.0), (4, 200.0)])
def test_the_optimum_over_every_labelling(loss, B, C, small):
    expected = fs.solve(explicit(small, budget=B, C=C, loss=loss), "clarabel", gap=1e-8).objective
    result = fs.solve(extended(small, budget=B, C=C, loss=loss), "clarabel", gap=GAP)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(expected, rel=1e-6)
    assert result.bound <= expected * (1 + 1e-7)


@pytest.mark.parametrize("loss", [Tabled(), *LOSSES], ids=str)
def test_rows_and_their_multipliers_at_random_scores(loss, make_data):
    """The largest right side is (18), and any multipliers make a row that is never above it."""
    rng, measure = np.random.default_rng(0), loss_of(loss)
    for seed in range(6):
        data = make_data(int(rng.integers(5, 8)), 2, seed=seed)
        y = np.where(np.arange(data.n_samples) < rng.integers(2, 4), 1, -1).astype(np.int8)
        data = fs.Dataset.from_arrays(np.asarray(data.X), y)
        model = extended(data, budget=1, loss=loss)
        program, n = program_of(measure, y), len(y)
        rows = facts_of(model).certificate.row_data()
        for _ in range(10):
            s = rng.normal(size=n) * 10.0 ** rng.uniform(-1, 2)
            value = measure.most_violated(y, s).value
            for v, x in zip(model.s.values(), s, strict=True):
                v.set_value(x)
            program.put(model, s)
            model.xi.set_value(value / n)
            slack = [pyo.value(row.body) - pyo.value(row.lower) for row in model.labelling.values()]
            assert min(slack) == pytest.approx(0.0, abs=1e-9 * (1 + np.abs(s).max()) * n)
            delta, g = program.row(rng.exponential(size=len(rows)) * (rng.random(len(rows)) < 0.7) + 1e-9)
            assert delta + g @ s <= value + 1e-9 * (1 + abs(value))


@pytest.mark.parametrize("loss", [Tabled(), *LOSSES], ids=str)
def test_the_two_layer_method_solves_it_and_its_values_satisfy_all_rows(loss, small):
    model = extended(small, loss=loss)
    result, exact = fs.solve(model, "two-layer", gap=GAP), fs.solve(extended(small, loss=loss), "clarabel", gap=GAP)
    assert (result.solver, result.status) == ("two-layer", SolutionStatus.OPTIMAL)
    assert result.objective == pytest.approx(exact.objective, rel=2 * GAP)
    assert result.objective == pytest.approx(pyo.value(model.objective), rel=1e-12)
    assert result.details["violation"] <= 1e-9
    for row in model.component_data_objects(pyo.Constraint):
        assert row.lslack() >= -1e-9
        assert row.uslack() >= -1e-9
    w = np.array([v.value for v in model.w.values()])
    assert [v.value for v in model.s.values()] == pytest.approx(np.asarray(small.X) @ w)
    assert pyo.value(model.omega) == pytest.approx(mv.regulariser(w, 2), rel=1e-6)
    assert result.selected == exact.selected


@pytest.mark.parametrize("solver", ["clarabel", "scip", "pounce", "gurobi"])
@pytest.mark.parametrize("loss", ["f1", "prbep", "hamming", "auc"])
def test_solvers_by_name(solver, loss, small, need):
    """An NLP solver stops where w_j^2 <= t_j d_j holds to 1e-8, at |w_j| = 1e-4 where d_j = 0: it proves less."""
    expected = fs.solve(extended(small, loss=loss), "two-layer", gap=GAP).objective
    result = fs.solve(extended(small, loss=loss), need(solver))
    assert result.objective == pytest.approx(expected, rel=1e-3 if solver == "pounce" else 1e-5)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.bound <= expected * (1 + 2 * GAP)


@pytest.mark.parametrize("unit", [1e-4, 1.0, 1e5])
@pytest.mark.parametrize("loss", ["f1", "rec@3", "auc"])
def test_other_units(loss, unit, small):
    """Columns times s with C over s^2 cost 1 / s^2."""
    scaled = fs.Dataset.from_arrays(np.asarray(small.X) * unit, small.y, features=list("abcd"))
    expected = fs.solve(extended(small, loss=loss), "clarabel", gap=GAP).objective
    result = fs.solve(extended(scaled, loss=loss, C=30.0 / unit**2), "clarabel", gap=1e-5)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective * unit**2 == pytest.approx(expected, rel=2e-5)


def test_sparse_data(small):
    expected = fs.solve(extended(small), "clarabel", gap=GAP).objective
    thin = fs.Dataset.from_arrays(sparse.csr_array(np.asarray(small.X)), small.y, features=list("abcd"))
    for solver in (None, "clarabel"):
        assert fs.solve(extended(thin), solver, gap=GAP).objective == pytest.approx(expected, rel=1e-5)


# Which losses define their rows.


def test_a_loss_of_the_user_needs_delta_by_the_table(small):
    class Untabled(Tabled):
        name = "untabled"
        value, most_violated = Tabled.value, Tabled.most_violated  # its own: the inherited delta may not be theirs

    class Weighted(Hamming):
        def most_violated(self, y, scores):
            return super().most_violated(y, scores)

    for loss in (Untabled(), Weighted()):
        assert defined_by(loss) == ""
        with pytest.raises(ParameterError, match=r"method delta\(table\).*stated"):
            extended(small, loss=loss)
    assert defined_by(FBeta(3.0)) == "delta"


# The default, and its limits.


def test_the_default_states_all_rows_up_to_a_limit(small, make_data, monkeypatch):
    assert mv.fsmulti(small, budget=2).component("labelling") is not None
    assert mv.structural_svm(small).component("labelling") is not None
    assert mv.fsmulti(small, budget=2, sigma=True).component("labelling") is not None
    many = make_data(60, 3, seed=0)
    for loss, rows in (("prbep", 60 + 1 + 60 + 3), ("auc", None), ("f1", None)):
        p, n = int((many.y > 0).sum()), 60
        q = n - p
        rows = rows or (p * q + 1 if loss == "auc" else p * p + q * q + (p + 1) * (q + 1) + n) + n + 3
        for limit in (rows, rows - 1):
            monkeypatch.setattr("fsmodels.models.multivariate.extended.MOST_ROWS", limit)
            model = mv.fsmulti(many, budget=2, loss=loss)
            assert (model.component("labelling") is None) == (limit < rows)
        result = fs.solve(model)
        assert f"{rows:,} rows here, and the limit of the default is {limit:,}" in result.message
        assert "left to an oracle" in str(fs.show(model))
    if rows:
        model = mv.fsmulti(many, budget=2, loss=loss, form="extended")
        stated = sum(len(c) for c in model.component_objects(pyo.Constraint))
        assert stated == rows + 1  # the budget
        assert "oracle" not in fs.solve(model).message + str(fs.show(model))


def test_a_loss_without_a_table_is_lazy_by_default(small):
    class Own(Loss):
        name = "own"

        def value(self, y, labelling):
            return 2.0 * np.count_nonzero(np.asarray(y) != labelling)

        def most_violated(self, y, scores):
            return Hamming().most_violated(y, scores)

    model = mv.fsmulti(small, budget=2, C=30.0, loss=Own())
    result = fs.solve(model, gap=GAP)
    assert 'loss "own" does not define Delta by contingency tables' in result.message
    assert "left to an oracle" in str(fs.show(model))
    assert result.objective == pytest.approx(fs.solve(extended(small, loss="hamming"), gap=GAP).objective, rel=1e-5)


# Edits.


def one_score(m):
    m.first = pyo.Constraint(expr=m.s[1] >= 0.2)


def mean_scores(m):
    m.fair = pyo.Constraint(expr=(-0.1, sum(m.s[i] for i in range(4)) - sum(m.s[i] for i in range(4, 8)), 0.1))


def fixed_score(m):
    m.s[2].fix(0.3)


def ridge_on_scores(m):
    m.objective.set_value(m.objective.expr + 0.01 * sum(s**2 for s in m.s.values()))


@pytest.mark.parametrize("edit", [one_score, mean_scores, fixed_score, ridge_on_scores], ids=lambda e: e.__name__)
def test_rows_on_scores_are_ordinary_rows(edit, small):
    model, every = extended(small), explicit(small, budget=2, C=30.0)
    every.s = pyo.Var(range(8))
    X = np.asarray(small.X)
    every.score = pyo.Constraint(
        range(8), rule=lambda m, i: m.s[i] == sum(x * m.w[j] for x, j in zip(X[i].tolist(), "abcd", strict=True))
    )
    edit(model), edit(every)
    result, expected = fs.solve(model, gap=GAP), fs.solve(every, "clarabel", gap=1e-8).objective
    assert result.objective == pytest.approx(expected, rel=1e-5)
    assert result.status is SolutionStatus.OPTIMAL
    assert [v.value for v in model.s.values()] == pytest.approx(X @ [v.value for v in model.w.values()], abs=1e-6)
    for solver in ("two-layer", "benders", "row-generation"):
        with pytest.raises(solvers.Error):
            fs.solve(model, solver)


@pytest.mark.parametrize("name", ["score", "labelling", "excess_P", "sum_N", "cone"])
def test_a_row_that_is_switched_off_is_seen(name, small):
    """The two-layer method solves the problem with all rows, and no longer this one."""
    model = extended(small)
    next(iter(model.component(name).values())).deactivate()
    with pytest.raises(fs.ModelError, match=rf"{name}.*deactivated"):
        fs.solve(model, "two-layer")
    assert fs.solve(model).solver == "clarabel"


# Binaries.


@pytest.mark.parametrize("solver", [None, "benders", "scip"])
@pytest.mark.parametrize("loss", ["f1", "prec@3", "auc"])
def test_at_most_so_many_features_is_the_best_support(solver, loss, small):
    model = extended(small, loss=loss, sigma=True)
    model.few = sides.at_most(model, list("abcd"), 2)
    result = fs.solve(model, solver, gap=1e-5)
    supports = itertools.combinations("abcd", 2)
    parts = (small.select_features(list(support)) for support in supports)
    best = min(fs.solve(mv.structural_svm(part, C=30.0, loss=loss), "clarabel", gap=GAP).objective for part in parts)
    assert result.solver == (solver or "branch-and-cut")
    assert result.objective == pytest.approx(best, rel=1e-4)
    assert result.bound <= best * (1 + 1e-6)
    assert len(result.selected) == 2
    assert result.details["violation"] <= 1e-6


def weights_alike(m):
    m.alike = pyo.Constraint(expr=m.w["a"] == m.w["b"])


def fixed_share(m):
    m.d["b"].fix(0.0)
    m.d["c"].setub(0.2)


def ball(m):
    m.ball = pyo.Constraint(expr=sum(w**2 for w in m.w.values()) <= 0.002)


@pytest.mark.parametrize("edit", [weights_alike, one_score, fixed_share, ball], ids=lambda e: e.__name__)
def test_binaries_with_rows_on_weights_scores_and_shares(edit, small):
    model = extended(small, sigma=True)
    model.few = sides.at_most(model, list("abcd"), 2)
    edit(model)
    result = fs.solve(model, gap=1e-5)
    best = np.inf
    for support in itertools.combinations("abcd", 2):
        part = extended(small)
        edit(part)
        for j in set("abcd") - set(support):
            part.d[j].fix(0.0)
        found = fs.solve(part, "clarabel", gap=GAP)
        best = min(best, np.inf if found.objective is None else found.objective)
    assert result.solver == "scip"
    assert result.objective == pytest.approx(best, rel=1e-4)
    assert result.bound <= best * (1 + 1e-6)
    with pytest.raises(fs.ModelError, match="scip"):
        fs.solve(model, "branch-and-cut")


# By name, and on the bundled data.


def test_select_states_all_rows_only_where_a_row_or_a_solver_needs_it(small):
    given = {"C": 30.0, "loss": "prbep", "scale": "none", "gap": 1e-5}
    assert fs.select(small, "fsmulti", budget=2, **given).model.component("labelling") is None
    by_name = fs.select(small, "fsmulti", budget=2, solver="clarabel", **given)
    assert by_name.result.solver == "clarabel"
    assert by_name.objective == pytest.approx(fs.solve(extended(small, loss="prbep"), gap=GAP).objective, rel=1e-4)
    signed = fs.select(small, "fsmulti", budget=2, signs={"a": "-"}, **given)
    model = explicit(small, budget=2, C=30.0, loss="prbep")
    model.w["a"].setub(0.0)
    assert signed.objective == pytest.approx(fs.solve(model, "clarabel", gap=GAP).objective, rel=1e-4)
    few = fs.select(small, "fsmulti", max_features=2, signs={"a": "-"}, **given)
    assert few.status is SolutionStatus.OPTIMAL
    assert len(few.selected) <= 2
    assert few.weights.get("a", 0.0) <= 1e-9


SETS = ["bupa", "cleveland", "ionosphere", "sonar", "wdbc", "wpbc"]


def compared(name, loss, n):
    data = fs.load_dataset(name)
    data = (data if n is None else data.take(np.random.default_rng(0).permutation(data.n_samples)[:n])).scaled(
        "standard"
    )
    expected = fs.solve(mv.fsmulti(data, budget=2, C=10.0, loss=loss, form="lazy"), gap=1e-5)
    result = fs.solve(extended(data, C=10.0, loss=loss), "clarabel", gap=1e-5)
    assert result.status is expected.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(expected.objective, rel=2e-5)
    assert result.bound <= expected.objective * (1 + 1e-9)
    assert expected.bound <= result.objective * (1 + 1e-9)


@pytest.mark.filterwarnings("ignore::fsmodels.errors.DataWarning")
@pytest.mark.parametrize("loss", ["f1", "prbep", "rec@5", "prec@10", "hamming", "auc"])
@pytest.mark.parametrize("name", SETS)
def test_part_of_bundled_data(name, loss):
    compared(name, loss, 24)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["prbep", "rec@40", "prec@40", "hamming"])
@pytest.mark.parametrize("name", SETS)
def test_bundled_data(name, loss):
    compared(name, loss, None)
