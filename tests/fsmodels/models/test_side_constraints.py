"""Every helper allows exactly the selections that its sentence says, on all 2^4 of them."""

from itertools import product

import numpy as np
import pyomo.environ as pyo
import pytest

import fsmodels as fs
from fsmodels import side_constraints as sides

FEATURES = ["a", "b", "c:d", "e f"]


@pytest.fixture
def data():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(20, 4))
    return fs.Dataset.from_arrays(X, np.where(X @ [1.0, -1.0, 0.5, 0.2] > 0, 1, -1), features=FEATURES)


@pytest.fixture
def model(data):
    return fs.fsp.fsp_m(data, max_features=4)


def allowed(model, constraint):
    """The selections, as sets of names, that satisfy a constraint once it is assigned."""
    model.added = constraint
    found = set()
    for values in product((0, 1), repeat=4):
        for name, value in zip(FEATURES, values, strict=True):
            model.sigma[name].set_value(value)
        rows = list(model.added.values())
        assert rows
        if all(
            (row.lower is None or pyo.value(row.body) >= pyo.value(row.lower) - 1e-9)
            and (row.upper is None or pyo.value(row.body) <= pyo.value(row.upper) + 1e-9)
            for row in rows
        ):
            found.add(frozenset(n for n, v in zip(FEATURES, values, strict=True) if v))
    return found


def selections(rule):
    every = [frozenset(n for n, v in zip(FEATURES, vs, strict=True) if v) for vs in product((0, 1), repeat=4)]
    return {s for s in every if rule(s)}


COSTS = {"a": 3, "b": 1.5, "c:d": 0}
CASES = {
    "budget": (lambda m: sides.budget(m, COSTS, 3.2), lambda s: sum(COSTS.get(j, 0) for j in s) <= 3.2),
    "budget 0": (lambda m: sides.budget(m, COSTS, 0), lambda s: not s & {"a", "b"}),
    "requires": (lambda m: sides.requires(m, "a", "c:d"), lambda s: "a" not in s or "c:d" in s),
    "excludes": (lambda m: sides.excludes(m, "a", "e f"), lambda s: not {"a", "e f"} <= s),
    "all_or_none": (lambda m: sides.all_or_none(m, ["a", "b", "e f"]), lambda s: len(s & {"a", "b", "e f"}) in (0, 3)),
    "at_most": (lambda m: sides.at_most(m, ["a", "b", "c:d"], 1), lambda s: len(s & {"a", "b", "c:d"}) <= 1),
    "at_least": (lambda m: sides.at_least(m, ["a", "b", "c:d"], 2), lambda s: len(s & {"a", "b", "c:d"}) >= 2),
    "force_in": (lambda m: sides.force_in(m, "a", "b"), lambda s: {"a", "b"} <= s),
    "force_in list": (lambda m: sides.force_in(m, ["a", "b"]), lambda s: {"a", "b"} <= s),
    "force_out": (lambda m: sides.force_out(m, "a", "e f"), lambda s: not s & {"a", "e f"}),
}


@pytest.mark.parametrize("case", CASES)
def test_allows_exactly_what_its_sentence_says(case, model):
    build, rule = CASES[case]
    constraint = build(model)
    assert isinstance(constraint, pyo.Constraint)
    assert constraint.parent_block() is None
    assert allowed(model, constraint) == selections(rule)


@pytest.mark.parametrize("solver", ["benders", "scip"])
@pytest.mark.parametrize("case", CASES)
def test_solvers_honour_every_helper(case, solver, data):
    build, rule = CASES[case]
    model = fs.fsp.fsp_lambda(data, penalty=0.05, form="big-m")
    model.added = build(model)
    result = fs.solve(model, solver)
    assert result.status is fs.SolutionStatus.OPTIMAL
    assert rule(frozenset(result.selected))


UNKNOWN = {
    "budget": lambda m: sides.budget(m, {"aa": 1}, 1),
    "requires": lambda m: sides.requires(m, "a", "c"),
    "excludes": lambda m: sides.excludes(m, "A", "b"),
    "all_or_none": lambda m: sides.all_or_none(m, ["a", "cd"]),
    "at_most": lambda m: sides.at_most(m, ["ef"], 1),
    "at_least": lambda m: sides.at_least(m, ["ef"], 1),
    "force_in": lambda m: sides.force_in(m, "ef"),
    "force_out": lambda m: sides.force_out(m, "ef"),
}


@pytest.mark.parametrize("helper", UNKNOWN)
def test_an_unknown_feature_is_named_with_the_known_ones(helper, model):
    with pytest.raises(fs.DataError, match=f"^{helper}: .*is not a feature of the data.*Features: a, b, c:d, e f"):
        UNKNOWN[helper](model)


def test_the_nearest_feature_is_offered(model):
    with pytest.raises(fs.DataError, match='Did you mean "e f"'):
        sides.force_in(model, "ef")


@pytest.mark.parametrize("helper", UNKNOWN)
def test_a_model_without_sigma_is_refused(helper, data):
    with pytest.raises(fs.ModelError, match=r"L2-SVM.*no sigma.*fsp_m"):
        UNKNOWN[helper](fs.svm.l2_svm(data))


SCALED = {
    "gmeb": lambda data: fs.gmeb.nonconvex(data, R_plus=2.0, R_minus=2.0),
    "relaxed": lambda data: pyo.TransformationFactory("core.relax_integer_vars").create_using(
        fs.fsp.fsp_m(data, max_features=2)
    ),
}


@pytest.mark.parametrize("helper", UNKNOWN)
@pytest.mark.parametrize("scaled", SCALED)
def test_a_sigma_that_is_no_choice_is_refused(helper, scaled, data):
    with pytest.raises(fs.ModelError, match=r"sigma of model .* is not binary .*fsp_m"):
        UNKNOWN[helper](SCALED[scaled](data))


@pytest.mark.parametrize("helper", UNKNOWN)
@pytest.mark.parametrize("build", [fs.concave.fs, fs.concave.fsl])
def test_binaries_and_the_step_of_fsl_are_taken(helper, build, data):
    with pytest.raises(fs.DataError, match="is not a feature of the data"):
        UNKNOWN[helper](build(data, penalty=0.1))


def test_the_step_of_fsl_counts_whole_features():
    """Three overlapping pairs need two features; fractions of 1/2 would do with 3/2."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 4))
    data = fs.Dataset.from_arrays(X, np.where(X[:, 0] > 0, 1, -1), features=["x", "a", "b", "c"])
    for build, stated, optimum in (
        (fs.concave.fs, True, 1.8),
        (fs.concave.fsl, True, 1.8),
        (fs.concave.fsl, False, 1.5),
    ):
        model = build(data, penalty=0.6)
        for k, pair in enumerate([("a", "b"), ("b", "c"), ("a", "c")]):
            own = pyo.Constraint(expr=sum(model.sigma[j] for j in pair) >= 1)
            model.add_component(f"pair{k}", sides.at_least(model, pair, 1) if stated else own)
        assert fs.solve(model, "scip").objective == pytest.approx(optimum, rel=1e-4)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda m: sides.budget(m, {"a": 1}, -1), "limit=-1 is below 0"),
        (lambda m: sides.budget(m, {"a": 1}, float("nan")), "limit=nan"),
        (lambda m: sides.budget(m, {"a": -1}, 1), 'cost -1 of "a"'),
        (lambda m: sides.budget(m, {"a": float("inf")}, 1), "cost inf"),
        (lambda m: sides.budget(m, {"a": 0}, 1), "no feature has a cost"),
        (lambda m: sides.at_most(m, ["a"], -1), "k=-1.*0..1"),
        (lambda m: sides.at_most(m, ["a"], 0.5), "k=0.5"),
        (lambda m: sides.at_least(m, ["a", "b"], 3), "k=3.*0..2"),
    ],
)
def test_numbers_that_mean_nothing_are_refused(build, message, model):
    with pytest.raises(fs.ParameterError, match=message):
        build(model)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda m: sides.requires(m, "a", "a"), "both sides"),
        (lambda m: sides.excludes(m, "a", "a"), "both sides"),
        (lambda m: sides.all_or_none(m, ["a"]), "at least 2"),
        (lambda m: sides.all_or_none(m, ["a", "b", "a"]), "repeated: a"),
        (lambda m: sides.at_most(m, "a", 1), r'the text "a".*\["a"\]'),
        (lambda m: sides.force_in(m), "got 0 features"),
    ],
)
def test_groups_that_mean_nothing_are_refused(build, message, model):
    with pytest.raises(fs.DataError, match=message):
        build(model)


def test_a_constraint_can_be_deactivated(data):
    model = fs.fsp.fsp_m(data, max_features=1)
    free = fs.solve(model).selected
    model.out = sides.force_out(model, *free)
    assert fs.solve(model).selected != free
    model.out.deactivate()
    assert fs.solve(model).selected == free


def test_clashing_helpers_are_reported_by_name(data):
    model = fs.fsp.fsp_m(data, max_features=4)
    model.wanted = sides.force_in(model, "a", "b")
    model.not_both = sides.excludes(model, "a", "b")
    model.harmless = sides.requires(model, "c:d", "e f")
    result = fs.solve(model)
    assert result.status is fs.SolutionStatus.INFEASIBLE
    assert '"not_both"' in result.message
    assert '"wanted[a]"' in result.message
    assert "harmless" not in result.message
