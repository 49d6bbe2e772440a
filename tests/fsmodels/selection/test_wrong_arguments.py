"""Every public function refuses the wrong kind of argument in words: (callable, wrong argument, words)."""

import inspect

import numpy as np
import pytest

import fsmodels as fs
from fsmodels.errors import Error

WRONG = {
    "nothing": None,
    "a number": 3,
    "a list": [1, 2],
    "text": "x",
    "an array": np.eye(3),
    "a mapping": {"a": 1},
    "nan": float("nan"),
    "a truth value": True,
}
BUILDERS = {
    "svm.l2_svm": {},
    "svm.l2_svm_dual": {},
    "svm.one_norm_svm": {},
    "svm.robust_lp": {},
    "fsp.fsp_m": {"max_features": 2},
    "fsp.fsp_lambda": {"penalty": 1.0},
    "concave.fs": {"penalty": 0.1},
    "concave.fss": {"penalty": 0.1},
    "concave.fsv": {"penalty": 0.1},
    "concave.fsl": {"penalty": 0.1},
    "concave.fsb": {"penalty": 0.1},
    "gmeb.primal": {"R_plus": 1, "R_minus": 1},
    "gmeb.dual": {"R_plus": 1, "R_minus": 1},
    "gmeb.nonconvex": {"R_plus": 1, "R_minus": 1},
    "multivariate.fsmulti": {"budget": 2},
    "kernel.full_fs": {"C": 1, "penalty": 1},
    "kernel.gmkl": {"C": 1, "penalty": 1},
    "baselines.rfe": {"max_features": 2},
    "baselines.information_gain": {"max_features": 2},
    "baselines.mutual_information": {"max_features": 2},
    "baselines.relief": {"max_features": 2},
}
SIDES = {
    "budget": ({"a": 1.0}, 1),
    "requires": ("a", "b"),
    "excludes": ("a", "b"),
    "all_or_none": (["a", "b"],),
    "at_most": (["a"], 1),
    "at_least": (["a"], 1),
    "force_in": ("a",),
    "force_out": ("a",),
    "at_most_of_group": ({"a": "x", "b": "x"}, 1),
    "hierarchy": ({"a": ("b", "c")}, "weak"),
    "signs": ({"a": "+"},),
}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """A text is a good name of a file."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(16, 3))
    return fs.Dataset.from_arrays(X, np.arange(16) % 2, features=["a", "b", "c"]).scaled("standard")


def calls(data):
    """Yield (words of the call, function of the wrong argument)."""
    found, kernel = fs.select(data, "svm"), fs.select(data, "ao-simple", C=1, penalty=0.01)
    model = fs.fsp.fsp_m(data, max_features=2)
    frame = data.to_frame()
    for name in ("decision", "predict", "error", "measure", "save"):
        yield f"found.{name}", getattr(found, name)
        yield f"kernel.{name}", getattr(kernel, name)
    yield "found.measure(names)", lambda x: found.measure(data, x)
    for p in ("data", "model", "max_features", "C", "penalty", "budget", "requires", "excludes", "force_in", "solver",
              "validation", "choose_by", "scale", "progress", "time_limit", "at_most_of_group", "hierarchy", "signs",
              "fair"):  # fmt: skip
        given = {"data": data, "model": "fsp-m", "max_features": 2}
        yield f"select({p})", lambda x, p=p, given=given: fs.select(**{**given, p: x})
    for p in ("data", "model", "max_features", "C", "penalty", "validation", "folds", "n_jobs", "fair"):
        given = {"data": data, "model": "fsp-m", "max_features": [1], **({"folds": 2} if p == "n_jobs" else {})}
        yield f"path({p})", lambda x, p=p, given=given: fs.path(**{**given, p: x})
    for p in ("data", "model", "folds", "bootstraps", "seed", "n_jobs", "level", "scale", "fair"):
        given = {"data": data, "model": "relief", "max_features": 1, **({} if p == "folds" else {"bootstraps": 2})}
        yield f"stability({p})", lambda x, p=p, given=given: fs.stability(**{**given, p: x})
    path = fs.path(data, "relief", max_features=[1, 2, 3], folds=2)
    for name in ("choose", "plot"):
        yield f"path.{name}", getattr(path, name)
    yield "path.knee", lambda x: path.knee(C=x)
    yield "path.plot(ax)", lambda x: path.plot("objective", x)
    yield "stability_index", fs.stability_index
    yield "stability_index(level)", lambda x: fs.stability_index([[0, 1], [1, 1]], x)
    yield "load_selection", fs.load_selection
    yield "solve", fs.solve
    yield "solve(solver)", lambda x: fs.solve(model, x)
    for name, given in BUILDERS.items():
        module, function = name.split(".")
        build = getattr(getattr(fs, module), function)
        yield name, lambda x, build=build, given=given: build(x, **given)
        for p, described in inspect.signature(build).parameters.items():
            if described.kind is inspect.Parameter.KEYWORD_ONLY:
                yield f"{name}({p})", lambda x, build=build, given=given, p=p: build(data, **{**given, p: x})
    for name, given in SIDES.items():
        state = getattr(fs.side_constraints, name)
        yield name, lambda x, state=state, given=given: state(x, *given)
        for k in range(len(given)):
            yield (
                f"{name}, argument {k + 2}",
                lambda x, state=state, given=given, k=k: state(model, *given[:k], x, *given[k + 1 :]),
            )
    for k in range(3):
        given = (data, [0, 1] * 8, 0.1)
        yield (
            f"fair, argument {k + 2}",
            lambda x, k=k, given=given: fs.side_constraints.fair(model, *given[:k], x, *given[k + 1 :]),
        )
    yield "data.with_interactions(pairs)", lambda x: data.with_interactions(pairs=x)
    yield "data.with_aside", lambda x: data.with_aside(g=x)
    for name in ("set_aside", "with_interactions", "correlated", "members"):
        yield f"data.{name}", getattr(data, name)
    for name in ("scaled", "take", "select_features", "folds", "apply_scale_to", "split"):
        yield f"data.{name}", getattr(data, name)
    yield "data.split(seed)", lambda x: data.split(seed=x)
    yield "data.folds(seed)", lambda x: data.folds(2, seed=x)
    yield "data.original_weights", lambda x: data.original_weights(x, x)
    for name in ("from_csv", "from_frame", "from_svmlight"):
        yield name, getattr(fs.Dataset, name)
    for p in ("target", "drop", "positive", "aside"):
        yield f"from_frame({p})", lambda x, p=p: fs.Dataset.from_frame(frame, **{p: x})
    yield "from_arrays", lambda x: fs.Dataset.from_arrays(x, [0, 1])
    yield "from_arrays(y)", lambda x: fs.Dataset.from_arrays([[1.0], [2.0]], x)
    yield "from_arrays(features)", lambda x: fs.Dataset.from_arrays([[1.0], [2.0]], [0, 1], features=x)
    yield "load_dataset", fs.load_dataset
    yield "read_costs", fs.read_costs
    yield "read_groups", fs.read_groups
    yield "load_bags", fs.instances.load_bags
    yield "embed", fs.instances.embed
    for name in ("information_gain", "mutual_information", "relief", "kernel_rfe"):
        yield f"rankings.{name}", getattr(fs.rankings, name)
    yield "measures.measure", lambda x: fs.measures.measure(x, x)
    yield "measures.measure(names)", lambda x: fs.measures.measure(data.y, data.y, x)
    yield "measures.loss", fs.measures.loss


def test_wrong_arguments_end_in_errors_of_our_own(data):
    raw, refused = [], 0
    for call, function in calls(data):
        for kind, wrong in WRONG.items():
            try:
                function(wrong)
            except Error as error:
                refused += 1
                if len(str(error)) > 1000:
                    raw.append(f"{call} with {kind}: {len(str(error))} letters")
            except Exception as error:
                raw.append(f"{call} with {kind}: {type(error).__name__}: {error}"[:200])
    assert not raw, "\n".join(raw)
    assert refused > 800


ROWS = [
    (
        lambda d: fs.select(d, "svm").predict([1, 2]),
        r"have shape \(2,\): give rows of 3 values, the features in this order",
    ),
    (lambda d: fs.select(d, "svm").predict("new"), "needs samples and got str"),
    (lambda d: fs.select(d, "svm").error(d.to_frame()), "needs a Dataset and got DataFrame"),
    (lambda d: fs.select(d, "svm", validation=d.to_frame()), "needs a Dataset and got DataFrame"),
    (lambda d: fs.solve(d), "needs a Pyomo ConcreteModel and got Dataset"),
    (lambda d: fs.select(d, "fsp-m", max_features=1, budget=3), "budget got int"),
    (lambda d: fs.select(d, "fsp-m", max_features=1, requires=["a", "b"]), "is no pair of features"),
    (lambda d: fs.Dataset.from_csv(3), "needs the path of a file and got int"),
    (lambda d: d.split(seed="x"), "seed='x' is not allowed"),
    (lambda d: d.folds("x"), "k='x' is not allowed"),
    (lambda d: d.select_features(3), "select_features got int"),
    (lambda d: fs.svm.l2_svm(d.to_frame()), "needs a Dataset and got DataFrame"),
    (lambda d: fs.multivariate.fsmulti([1], budget=1), "needs a Dataset and got list"),
    (lambda d: fs.select(d, {"a": 1}), "is not known"),
]


@pytest.mark.parametrize(("call", "words"), ROWS, ids=[words for _, words in ROWS])
def test_the_error_says_what_was_wrong(call, words, data):
    with pytest.raises(Error, match=words):
        call(data)


def test_nothing_is_no_side_constraint(data):
    words = {"budget": None, "requires": None, "excludes": None, "force_in": None}
    assert (
        fs.select(data, "fsp-m", max_features=1, **words).selected == fs.select(data, "fsp-m", max_features=1).selected
    )


def test_a_table_with_numbers_as_names_is_predicted(data):
    plain = fs.Dataset.from_arrays(data.X, data.y, features=["0", "1", "2"])
    found = fs.select(plain, "svm")
    table = plain.to_frame().drop(columns="target").set_axis([0, 1, 2], axis=1)
    assert np.array_equal(found.predict(table), found.predict(plain))
