"""Algorithms 1-3, FULL-FS and GMKL on arrays: descent, stops, limits, z = 0, degenerate data, messages."""

import time

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.gdp import Disjunction
from pyomo.mpec import Complementarity, complements
from scipy import sparse

import fsmodels as fs
from fsmodels import kernel
from fsmodels.errors import DataWarning
from fsmodels.models.kernel.problem import MARGIN
from solvers import SolutionStatus, StopReason

BUILDS = {
    "full-fs": lambda data, **o: kernel.full_fs(data, **o),
    "reduced": lambda data, **o: kernel.full_fs(data, form="reduced", **o),
    "gmkl": lambda data, **o: kernel.gmkl(data, **o),
    "ao-simple": lambda data, **o: kernel.ao_simple(data, **o),
    "ao-margin": lambda data, **o: kernel.ao_margin(data, **o),
    "ao-efs": lambda data, **o: kernel.ao_efs(data, **o),
}
AO = ["ao-simple", "ao-margin", "ao-efs"]


@pytest.fixture(scope="module")
def chess():
    """60 samples, the first two of 6 features decide by the sign of their product."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 6))
    return fs.Dataset.from_arrays(X, np.where(X[:, 0] * X[:, 1] > 0, 1, -1), features=list("abcdef"))


def weights(model):
    return np.array([v.value for v in model.z.values()])


@pytest.mark.parametrize("name", BUILDS)
def test_every_algorithm_finds_the_two_features(chess, name):
    model = BUILDS[name](chess, C=0.5 if name == "ao-efs" else 2.0, penalty=0.5)
    result = fs.solve(model)
    assert {"a", "b"} <= set(result.selected)
    ranked = kernel.ranking(model)
    assert set(ranked.index[:2]) == {"a", "b"}
    assert ranked.is_monotonic_decreasing
    assert (result.bound, result.gap) == (None, None)
    assert result.status in (SolutionStatus.STATIONARY, SolutionStatus.FEASIBLE)
    assert result.stop_reason is StopReason.CONVERGED
    stationary = result.details["residual"] <= 1e-3
    assert (result.status is SolutionStatus.STATIONARY) == stationary
    assert ("Not stationary" in result.message) == (not stationary)
    assert stationary or name in AO


@pytest.mark.parametrize("name", BUILDS)
@pytest.mark.parametrize("method", ["l-bfgs-b", "trust-newton"])
def test_no_step_raises_its_own_objective(chess, name, method):
    if method == "trust-newton" and name in ("reduced", "gmkl"):
        with pytest.raises(fs.OptionError, match='"trust-newton" needs Hessian products'):
            fs.solve(BUILDS[name](chess, C=1.0, penalty=0.5), method=method)
        return
    model = BUILDS[name](chess, C=1.0, penalty=0.5)
    result = fs.solve(model, method=method)
    steps = result.details["steps"]
    assert steps["taken"].all()
    assert (steps["after"] <= steps["before"] + 1e-9 * steps["before"].abs()).all()
    if name != "ao-efs":  # Omega itself falls
        objective = result.iterations["Objective"].to_numpy(dtype=float)
        assert (np.diff(objective) <= 1e-6 * np.abs(objective[:-1])).all()
    assert result.objective == pytest.approx(
        kernel.omega(chess, weights(model), C=1.0, penalty=0.5, eps=0.0 if name == "gmkl" else 0.5), rel=1e-3
    )


def test_the_methods_agree_on_full_fs(chess):
    found = {
        method: fs.solve(kernel.full_fs(chess.take(range(25)), C=1.0, penalty=0.5), method=method, tolerance=1e-4)
        for method in ("l-bfgs-b", "trust-newton")
    }
    best = min(r.objective for r in found.values())
    for method, result in found.items():
        assert result.status is SolutionStatus.STATIONARY, method
        assert result.objective <= best * 1.1, method  # local minima may differ


def test_the_trust_region_binds_no_weight_before_the_others_have_settled():
    """A weight of 0 has slope mu and never leaves: steps projected onto z >= 0 ended at 40.9 here."""
    sonar = fs.load_dataset("sonar").scaled("standard").take(range(0, 208, 2))
    model = kernel.full_fs(sonar, C=2.0, penalty=1.0, start="ones")
    result = fs.solve(model, method="trust-newton")
    assert result.status is SolutionStatus.STATIONARY
    assert result.objective < 30
    assert (weights(model) >= 0).all()


def test_efs_starts_at_the_geometric_margin_and_keeps_lambda_within_its_bounds(chess):
    model = kernel.ao_efs(chess, C=0.5, penalty=0.5)
    problem = model.kernel_problem
    x = np.concatenate([np.zeros(61), weights(model), [1.0]])
    seen = []

    class Spy:
        lower, upper = np.full(68, -np.inf), np.full(68, np.inf)
        method, tolerance, iteration_limit, seed, rows = "l-bfgs-b", 1e-3, 100, 0, None

        def watch(self, point, value):
            seen.append(point[-1])
            return False

    Spy.lower[61:] = [0.0] * 6 + [MARGIN[0]]
    Spy.upper[-1] = MARGIN[1]
    solved = problem.fitted(x, Spy())
    moved = problem.select_explicit(solved, Spy())
    margin = 1 / np.sqrt(problem.objective.norm(solved))
    start = solved.copy()
    start[-1] = margin
    explicit = problem.objective.restricted(start, np.array([67]), explicit=True)
    assert moved.before == pytest.approx(explicit.value(np.array([margin]))[0])
    assert moved.after < moved.before
    assert all(MARGIN[0] <= m <= MARGIN[1] for m in seen)


def test_a_first_step_is_at_most_a_quarter_of_the_start(chess):
    model = kernel.full_fs(chess, C=1.0, penalty=0.5, form="reduced")
    z = weights(model)
    first = []
    driver_value = model.structure.value

    def spy(x):
        first.append(x[61:67].copy())
        return driver_value(x)

    model.structure.value = spy
    fs.solve(model, iteration_limit=1)
    moves = [np.linalg.norm(p - z) for p in first]
    assert max(moves) <= 0.25 * np.linalg.norm(z) * (1 + 1e-9)
    assert max(moves) > 0


def test_the_stop_of_algorithm_3(chess):
    loose, strict = (
        fs.solve(kernel.ao_efs(chess, C=0.5, penalty=0.5, stop=stop)).iterations for stop in ("support", "weights")
    )
    assert len(loose) <= len(strict)
    supports = loose.query("Step == 'efs'")["|S|"].tolist()
    assert supports[-1] == (supports[-2] if len(supports) > 1 else supports[-1])


@pytest.mark.parametrize("name", BUILDS)
def test_zero_weights_count_as_the_larger_class_and_say_so(chess, name):
    rows = np.r_[np.flatnonzero(chess.y > 0)[:9], np.flatnonzero(chess.y < 0)[:16]]
    data = chess.take(rows)
    model = BUILDS[name](data, C=0.1, penalty=100.0)
    result = fs.solve(model)
    assert not weights(model).any()
    assert result.selected == []
    assert "every sample gets the label of the larger class (-1: 16 of 25)" in result.message
    c = kernel.classifier(model)
    assert c.is_constant
    assert set(c.predict(data)) == {-1.0}
    assert c.error(data) == pytest.approx(9 / 25)
    again = fs.solve(model)  # 0 absorbs
    assert not weights(model).any()
    assert again.objective == pytest.approx(result.objective, rel=1e-6)


def test_a_start_of_zeros_is_refused_and_other_starts_are_taken(chess):
    with pytest.raises(fs.ParameterError, match="start is 0 for all features"):
        kernel.full_fs(chess, C=1.0, penalty=1.0, start=0.0)
    assert weights(kernel.gmkl(chess, C=1.0, penalty=1.0)) == pytest.approx([2 / np.sqrt(12)] * 6)
    assert weights(kernel.gmkl(chess, C=1.0, penalty=1.0, start="ones")).tolist() == [1.0] * 6
    model = kernel.ao_margin(chess, C=2.0, penalty=0.5, start={"a": 1.0, "b": 1.0})
    result = fs.solve(model)
    assert set(result.selected) == {"a", "b"}  # what is 0 stays 0


@pytest.mark.parametrize("name", BUILDS)
def test_bounds_and_fixed_weights_are_kept(chess, name):
    model = BUILDS[name](chess, C=1.0, penalty=0.3)
    model.z["a"].setub(0.4)
    model.z["b"].fix(0.7)
    model.z["c"].fix(0.0)
    fs.solve(model)
    assert model.z["a"].value <= 0.4
    assert (model.z["b"].value, model.z["c"].value) == (0.7, 0.0)


@pytest.mark.parametrize("name", BUILDS)
def test_limits_return_the_best_point_so_far(chess, name):
    limited = fs.solve(BUILDS[name](chess, C=1.0, penalty=0.5), iteration_limit=1)
    assert limited.stop_reason is StopReason.ITERATION_LIMIT
    assert limited.has_solution
    none = fs.solve(BUILDS[name](chess, C=1.0, penalty=0.5), time_limit=0)
    assert (none.status, none.stop_reason) == (SolutionStatus.FEASIBLE, StopReason.TIME_LIMIT)
    assert "trivial" in none.message
    assert 0.0 == none.bound < none.objective
    asked = fs.solve(BUILDS[name](chess, C=1.0, penalty=0.5), callback=lambda row: row["Iter"] == 1)
    assert (asked.stop_reason, len(asked.iterations)) == (StopReason.CALLBACK, 2)
    assert asked.has_solution


@pytest.mark.parametrize("name", BUILDS)
def test_an_interrupt_returns_the_best_point_so_far(chess, name):
    def interrupt(row):
        if row["Iter"] == 1:
            raise KeyboardInterrupt

    model = BUILDS[name](chess, C=1.0, penalty=0.5)
    result = fs.solve(model, callback=interrupt)
    assert result.stop_reason is StopReason.INTERRUPTED
    assert kernel.classifier(model).decision(chess).shape == (60,)


def test_a_time_limit_ends_within_a_step(monkeypatch):
    monkeypatch.setattr(time, "perf_counter", time.process_time)  # a busy machine is not slower
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 200))
    data = fs.Dataset.from_arrays(X, np.where(X[:, 0] * X[:, 1] > 0, 1, -1))
    result = fs.solve(kernel.full_fs(data, C=1.0, penalty=0.1), time_limit=0.5)
    assert result.stop_reason is StopReason.TIME_LIMIT
    assert result.has_solution
    assert result.seconds < 5


def test_one_seed_one_answer(chess):
    first, second = (
        fs.solve(kernel.ao_margin(chess, C=1.0, penalty=0.5), method="trust-newton", seed=3).objective for _ in range(2)
    )
    assert first == second


@pytest.mark.parametrize("name", BUILDS)
def test_constant_columns_and_duplicate_rows(name):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(30, 3))
    X = np.vstack([X, X[:10]])
    y = np.where(np.abs(X[:, 0]) > 0.7, 1, -1)
    y[35] = -y[35]  # the same sample with both labels
    X[:, 2] = 4.0
    with pytest.warns(DataWarning):
        data = fs.Dataset.from_arrays(X, y, features=["f", "g", "constant"])
    model = BUILDS[name](data, C=1.0, penalty=0.3)
    result = fs.solve(model)
    assert result.has_solution
    assert np.isfinite(result.objective)
    if name not in ("ao-efs",):
        assert "f" in result.selected
        assert model.z["constant"].value == pytest.approx(0, abs=1e-3)


def test_the_classifier_on_new_data(chess):
    model = kernel.ao_margin(chess, C=2.0, penalty=0.5)
    result = fs.solve(model)
    c = kernel.classifier(model)
    x = np.concatenate([[v.value for v in [*model.u.values(), model.b]], weights(model), [model.margin.value]])
    f = model.kernel_problem.objective._evaluated(x).f / x[-1]
    assert c.decision(chess) == pytest.approx(f, abs=1e-9)
    assert c.decision(chess.X) == pytest.approx(f, abs=1e-9)
    moved = chess.select_features(list("fedcba"))  # columns are taken by name
    assert c.decision(moved) == pytest.approx(f, abs=1e-9)
    assert c.predict(chess).tolist() == np.where(f > 0, 1.0, -1.0).tolist()
    assert c.vectors.shape == (len(c.rows), 6)
    assert c.decision(np.zeros((0, 6))).shape == (0,)
    with pytest.raises(fs.ModelError, match="The array has 2 columns for 6 features"):
        c.decision(np.zeros((1, 2)))
    assert result.objective == pytest.approx(model.kernel_problem.value(x))


def test_scaled_training_data_scale_new_data():
    data = fs.load_dataset("bupa")
    train, _, test = data.split(0.5, 0.0, 0.5, seed=0)
    scaled = train.scaled("standard")
    model = kernel.gmkl(scaled, C=1.0, penalty=0.5)
    fs.solve(model)
    c = kernel.classifier(model)
    assert c.decision(test) == pytest.approx(c.decision(scaled.apply_scale_to(test)))


def test_the_classifier_needs_a_solved_kernel_model(chess):
    with pytest.raises(fs.ModelError, match=r"is not one of fs\.kernel"):
        kernel.classifier(fs.svm.l2_svm(chess))
    with pytest.raises(fs.ModelError, match="has no solution loaded"):
        kernel.classifier(kernel.gmkl(chess, C=1.0, penalty=1.0))


BAD = [
    ({"C": 0}, "C=0 is not allowed"),
    ({"penalty": 0}, "penalty=0 is not allowed: mu is the price"),
    ({"eps": 0}, "eps=0 is not allowed"),
    ({"eps": -1.0}, "eps=-1.0 is not allowed"),
    ({"form": "rows"}, "form='rows' is not known: use one of oracle, algebra"),
    ({"start": "zeros"}, "start='zeros' is not known: use one of default, ones"),
    ({"start": [1.0]}, r"start must be weights of the 6 features"),
    ({"start": [np.nan] * 6}, r"start must be weights of the 6 features"),
    ({"start": "x"}, "start='x' is not known"),
    ({"svm": "primal"}, "ao_efs takes no svm: libsvm solves the SVM; leave svm= out"),
    ({"stop": "never"}, "stop='never' is not known: use one of support, weights"),
]


@pytest.mark.parametrize(("bad", "message"), BAD)
def test_bad_parameters_stop_at_the_door(chess, bad, message):
    with pytest.raises(fs.ParameterError, match=message):
        kernel.ao_efs(chess, **{"C": 1.0, "penalty": 1.0} | bad)


def test_other_refusals(chess):
    with pytest.raises(fs.DataError, match=r"Class -1 has no sample"):
        kernel.gmkl(chess.take(chess.y > 0), C=1.0, penalty=1.0)
    thin = fs.Dataset.from_arrays(sparse.csr_array(chess.X), chess.y)
    with pytest.raises(fs.DataError, match="kernel needs dense data"):
        kernel.gmkl(thin, C=1.0, penalty=1.0)
    with pytest.raises(fs.DataError, match="start"):
        kernel.gmkl(chess, C=1.0, penalty=1.0, start={"q": 1.0})
    with pytest.raises(fs.ModelError, match="functions of its kernel matrix"):
        fs.solve(kernel.gmkl(chess, C=1.0, penalty=1.0), "pounce")


def test_refusals_name_the_form_that_can(chess):
    model = kernel.full_fs(chess, C=1.0, penalty=1.0)
    with pytest.raises(fs.ModelError, match='build it with form="algebra" to edit or to solve it whole'):
        fs.solve(model, "scip")
    model.budget = pyo.Constraint(expr=model.z["a"] * model.z["b"] <= 1)
    with pytest.raises(fs.ModelError, match=r'row "budget" was added.*Build it with form="algebra" to edit it'):
        fs.solve(model)


def test_full_fs_stops_where_it_is_stationary():
    data = fs.load_dataset("wdbc").scaled("standard").take(range(60))
    result = fs.solve(kernel.full_fs(data, C=1.0, penalty=2.0))
    assert (result.stop_reason, result.status) == (StopReason.CONVERGED, SolutionStatus.STATIONARY)
    assert result.details["residual"] <= 1e-3
    assert result.details["steps"]["message"].tolist() == ["the residual is within the tolerance"]
    tight = fs.solve(kernel.full_fs(data, C=1.0, penalty=2.0), tolerance=1e-5)
    assert result.objective == pytest.approx(tight.objective, rel=1e-3)
    assert result.selected == tight.selected


@pytest.mark.parametrize("name", ["ao-simple", "ao-margin"])
def test_alternation_goes_on_to_a_stationary_point(name):
    data = fs.load_dataset("wdbc").scaled("standard").take(range(200))
    result = fs.solve(BUILDS[name](data, C=1.0, penalty=2.0))  # still weights, residual above 1e-3, after 27 sweeps
    assert (result.stop_reason, result.status) == (StopReason.CONVERGED, SolutionStatus.STATIONARY)
    assert result.details["residual"] <= 1e-3


@pytest.mark.parametrize("name", BUILDS)
def test_fixed_weights_give_the_plain_svm(chess, name):
    model = BUILDS[name](chess, C=1.0, penalty=0.5)
    model.z.fix(0.5)
    result = fs.solve(model)
    eps = 0.0 if name == "gmkl" else 0.5
    assert result.objective == pytest.approx(kernel.omega(chess, 0.5, C=1.0, penalty=0.5, eps=eps), rel=1e-6)
    assert result.status is SolutionStatus.STATIONARY


@pytest.mark.parametrize("name", BUILDS)
def test_the_polynomial_kernel_finds_the_two_features_too(chess, name):
    model = BUILDS[name](chess, C=1.0, penalty=0.3, kernel="polynomial", degree=2)
    result = fs.solve(model, iteration_limit=50)
    assert {"a", "b"} <= set(result.selected)
    assert kernel.classifier(model).error(chess) <= 0.1


UNSEEN = {
    "Disjunction": lambda m: m.add_component("own", Disjunction(expr=[[m.z["a"] == 0], [m.z["b"] == 0]])),
    "LogicalConstraint": lambda m: (
        m.add_component("flag", pyo.BooleanVar()),
        m.add_component("own", pyo.LogicalConstraint(expr=m.flag)),
    ),
    "Complementarity": lambda m: m.add_component(
        "own", Complementarity(expr=complements(m.z["a"] >= 0, m.z["b"] >= 0))
    ),
    "SOSConstraint": lambda m: m.add_component("own", pyo.SOSConstraint(var=m.z, sos=1)),
    "row": lambda m: m.add_component("own", pyo.Constraint(expr=m.z["a"] ** 2 <= 1)),
    "rows of a block": lambda m: (
        m.add_component("own", pyo.Block()),
        m.own.add_component("row", pyo.Constraint(expr=m.z["a"] + m.u[0] <= 1)),
    ),
    "sense": lambda m: setattr(m.objective, "sense", pyo.maximize),
    "second objective": lambda m: m.add_component("own", pyo.Objective(expr=m.z["a"])),
    "integer weights": lambda m: setattr(m.z["a"], "domain", pyo.Binary),
    "bounded offset": lambda m: m.b.setub(0),
}
NAMES = {"sense": "objective", "integer weights": r"z\[a\]", "bounded offset": '"b"'}


@pytest.mark.parametrize("build", BUILDS)
def test_a_linear_row_on_weights_in_a_block_is_kept(build, chess):
    model = BUILDS[build](chess, C=1.0, penalty=1.0)
    model.own = pyo.Block()
    model.own.row = pyo.Constraint(expr=model.z["a"] == 0)
    assert fs.solve(model, iteration_limit=5).has_solution
    assert model.z["a"].value == 0.0


@pytest.mark.parametrize("edit", UNSEEN)
@pytest.mark.parametrize("build", BUILDS)
def test_an_edit_that_no_step_sees_is_refused_by_name(build, edit, chess):
    model = BUILDS[build](chess, C=1.0, penalty=1.0)
    UNSEEN[edit](model)
    remedy = "Deactivate the others" if edit == "second objective" else 'uild it with form="algebra" to edit it'
    with pytest.raises(fs.ModelError, match=f"{NAMES.get(edit, 'own')}.*{remedy}"):
        fs.solve(model)
