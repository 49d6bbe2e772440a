"""Forged certificates: each makes a false claim, by enumeration with Clarabel and the file alone, and is rejected.

Nothing here uses the code of the check. ``is_true`` reads a file as its format is documented and evaluates every
selection directly; ``FORGERIES`` changes a genuine certificate until that is false.
"""

import copy
import hashlib
import json
import math
from functools import cache
from itertools import combinations

import clarabel
import numpy as np
import pytest
from scipy import sparse

import fsmodels as fs
from fsmodels.certificates.document import CertificateFile

NAN, INF = math.nan, math.inf
L = 345  # samples of bupa


@cache
def data():
    return fs.load_dataset("bupa").scaled("standard")


@cache
def genuine():
    found = fs.select(data(), max_features=2, C=1.0, excludes=[("mcv", "alkphos")], scale="none")
    return found.certificate


@cache
def machine(support, C):
    """Return (w, b) and the objective of the SVM on a support by Clarabel; ``C`` as bytes, one price a sample."""
    prices, columns, y, k = np.frombuffer(C), data().X[:, list(support)], data().y, len(support)
    P = sparse.diags(np.append(np.ones(k), np.zeros(L + 1))).tocsc()
    margins = np.hstack([-y[:, None] * columns, -y[:, None]])
    eye = -sparse.eye(L)
    A = sparse.bmat([[margins, eye], [None, eye]]).tocsc()
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    cost, sides = np.append(np.zeros(k + 1), prices), np.append(-np.ones(L), np.zeros(L))
    solution = clarabel.DefaultSolver(P, cost, A, sides, [clarabel.NonnegativeConeT(2 * L)], settings).solve()
    w, b = np.array(solution.x[:k]), float(solution.x[k])
    return w, b, 0.5 * w @ w + prices @ np.maximum(0.0, 1.0 - y * (columns @ w + b))


def meets(rows, chosen):
    """Tell whether a set of names meets the rows of a file, to 1e-13 of their terms."""
    for row in rows:
        terms = [value for name, value in row["coefficients"].items() if name in chosen]
        slack = 1e-13 * math.fsum(abs(term) for term in terms)
        if row["lower"] is not None and not math.fsum(terms) >= row["lower"] - slack:
            return False
        if row["upper"] is not None and not math.fsum(terms) <= row["upper"] + slack:
            return False
    return True


def each(given, size):
    return np.array(given if isinstance(given, list) else [given] * size, dtype=float)


def is_true(content):
    """Tell whether what a file states is true of the data: its problem, incumbent, objective, bound and gap."""
    told, problem, incumbent = content["data"], content["problem"], content["incumbent"]
    n = data().n_features
    X, y, names = data().X, data().y, data().features
    if content["model"] not in ("fsp-m", "fsp-lambda") or set(problem) - {"price", "C", "loss", "rows", "intercept"}:
        return False
    price, C = each(problem["price"], n), each(problem["C"], L)
    if price.shape != (n,) or C.shape != (L,) or not ((price >= 0).all() and (C >= 0).all()):
        return False
    if (content["model"] == "fsp-m" and price.any()) or problem["loss"] not in ("hinge", "squared-hinge"):
        return False
    sums = np.append(y @ X, (X**2).sum(axis=0))
    stated = np.array([*told["shift"], *told["factor"], *told["column_sums"]], dtype=float)
    actual = np.array([*data().scale.shift, *data().scale.factor, *sums])
    if stated.shape != actual.shape or not np.allclose(stated, actual, rtol=1e-10, atol=1e-9):
        return False
    if tuple(told["features"]) != names or (told["samples"], told["positive_samples"]) != (L, int((y > 0).sum())):
        return False
    if told["scale"] not in ("none", "standard", "minmax", "unit-ball"):
        return False
    chosen = set(incumbent["selected"])
    w = np.array([incumbent["weights"].get(name, 0.0) for name in names], dtype=float)
    if not (chosen <= set(names) and set(incumbent["weights"]) <= chosen and meets(problem["rows"], chosen)):
        return False
    if problem.get("intercept") is not None and incumbent["bias"] != problem["intercept"]:
        return False
    slacks = np.maximum(0.0, 1.0 - y * (X @ w + incumbent["bias"]))
    cost = price @ np.isin(names, list(chosen)) + 0.5 * w @ w
    objective = cost + C @ (slacks**2 if problem["loss"] == "squared-hinge" else slacks)
    stated, bound, gap = content["objective"], content["bound"], content["gap"]
    if not (abs(stated - objective) <= 1e-10 * objective and 0 <= gap < 1 and stated - bound <= gap * stated):
        return False
    assert problem["loss"] == "hinge"
    assert problem.get("intercept") is None
    best = min(
        price[list(support)].sum() + machine(support, C.tobytes())[2]
        for k in range(n + 1)
        for support in combinations(range(n), k)
        if meets(problem["rows"], {names[j] for j in support})
    )
    return bound <= best * (1 + 1e-12)


def worse(content):
    """State the third best pair as the optimum, with a bound within the gap of it."""
    names, C = data().features, np.ones(data().n_samples).tobytes()
    rows = content["problem"]["rows"]
    pairs = [pair for pair in combinations(range(len(names)), 2) if meets(rows, {names[j] for j in pair})]
    pair = sorted(pairs, key=lambda pair: machine(pair, C)[2])[2]
    w, b, objective = machine(pair, C)
    content["incumbent"] = {
        "selected": [names[j] for j in pair],
        "weights": {names[j]: float(x) for j, x in zip(pair, w, strict=True)},
        "bias": b,
    }
    content["objective"], content["bound"] = float(objective), float(objective) * (1 - 0.5e-4)


def best_features():
    return [data().features.index(name) for name in genuine().content["incumbent"]["selected"]]


def put(*path, value=None, change=None):
    """Return a mutation: the part at ``path`` becomes ``value``, or what ``change`` makes of it."""

    def mutate(content):
        place = content
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value if change is None else change(place[path[-1]])

    return mutate


def both(*mutations):
    def mutate(content):
        for mutation in mutations:
            mutation(content)

    return mutate


def closed(content, theta=(), tree=None, alpha=None):
    """Close everything at once, by the given multipliers and theta."""
    content["multipliers"] = [alpha if alpha is not None else [list(range(L)), [], []]]
    content["tree"] = [[1, 0, [list(pair) for pair in theta]]] if tree is None else tree


def by(**given):
    return both(worse, lambda content: closed(content, **given))


def every(*path, change):
    """Return a mutation of all parts of a list."""
    return put(*path, change=lambda parts: [change(part) for part in parts])


def leaves(change):
    """Return a mutation of all parts of the tree that multipliers close."""
    return every("tree", change=lambda entry: change(entry) if entry[0] in (1, 2) else entry)


def row(lower, upper, **coefficients):
    """Return a mutation that adds a row."""
    stated = {"name": "added", "coefficients": coefficients, "lower": lower, "upper": upper}
    return put("problem", "rows", change=lambda rows: [*rows, stated])


FORGERIES = {
    # numbers that are stated
    "objective 0.1% lower": put("objective", change=lambda v: 0.999 * v),
    "objective 1e-9 lower": put("objective", change=lambda v: (1 - 1e-9) * v),
    "objective 0": put("objective", value=0.0),
    "objective negative": put("objective", change=lambda v: -v),
    "objective NaN": put("objective", value=NAN),
    "objective infinite": both(put("objective", value=INF), put("bound", value=INF)),
    "bound above the objective": put("bound", change=lambda v: 1.01 * v),
    "bound a little above the objective": both(lambda c: c.update(bound=(1 + 1e-9) * c["objective"])),
    "bound huge": put("bound", value=1e300),
    "bound NaN": put("bound", value=NAN),
    "bound infinite": put("bound", value=INF),
    "bound -infinite": put("bound", value=-INF),
    "bound lower than the gap allows": put("bound", change=lambda v: 0.9 * v),
    "gap 1e300": put("gap", value=1e300),
    "gap 1": put("gap", value=1.0),
    "gap infinite": put("gap", value=INF),
    "gap NaN": put("gap", value=NAN),
    "gap negative": put("gap", value=-1e-4),
    "gap that is not reached": both(worse, lambda c: c.update(gap=1e-12, bound=c["objective"] * (1 - 1e-13))),
    "gap 1e300 and a worse selection": both(worse, put("gap", value=1e300)),
    "gap 0.9 and a bound in between": both(worse, put("gap", value=0.9)),
    # the problem
    "C larger": put("problem", "C", value=1.01),
    "C negative": put("problem", "C", value=-1.0),
    "C NaN": put("problem", "C", value=NAN),
    "C 0": put("problem", "C", value=0.0),
    "C of one sample 0": put("problem", "C", value=[0.0] + [1.0] * (L - 1)),
    "C of one sample negative": put("problem", "C", value=[-1.0] + [1.0] * (L - 1)),
    "C of too few samples": put("problem", "C", value=[1.0] * (L - 1)),
    "ridge -1": put("problem", "ridge", value=-1.0),
    "ridge -1 and the objective of it": both(
        put("problem", "ridge", value=-1.0),
        lambda c: c.update(objective=c["objective"] - sum(w * w for w in c["incumbent"]["weights"].values())),
        put("bound", value=1.0),
        put("gap", value=0.999),
    ),
    "ridge larger": put("problem", "ridge", value=2.0),
    "weights within bounds": put("problem", "most", value=0.0),
    "another loss": put("problem", "loss", value="squared-hinge"),
    "a loss that is not convex": put("problem", "loss", value="zero-one"),
    "without an intercept": put("problem", "intercept", value=0.0),
    "a price of the selected": put("problem", "price", value=[1.0] * 6),
    "a price below 0 elsewhere": both(
        put("model", value="fsp-lambda"),
        lambda c: c["problem"].update(price=[0.0 if j in best_features() else -50.0 for j in range(6)]),
    ),
    "a price NaN": put("problem", "price", value=[NAN] * 6),
    "prices of fsp-m": put("problem", "price", value=[0.0 if k else 1.0 for k in range(6)]),
    "model gmeb": put("model", value="gmeb"),
    "model unknown": put("model", value=""),
    # rows
    "limit of 3": put("problem", "rows", 0, "upper", value=3),
    "limit of 1": put("problem", "rows", 0, "upper", value=1),
    "limit NaN": put("problem", "rows", 0, "upper", value=NAN),
    "limit gone": put("problem", "rows", 0, "upper", value=None),
    "no rows": put("problem", "rows", value=[]),
    "coefficient NaN": put("problem", "rows", 0, "coefficients", change=lambda names: dict.fromkeys(names, NAN)),
    "coefficients 0": put("problem", "rows", 0, "coefficients", change=lambda names: dict.fromkeys(names, 0.0)),
    "at least 3": put("problem", "rows", 0, "lower", value=3.0),
    "at most one, scaled by 1e-12": lambda c: c["problem"]["rows"][0].update(
        coefficients=dict.fromkeys(data().features, 1e-12), upper=1e-12
    ),
    "a row of nothing that fails by 1e-10": both(worse, row(None, -1e-10), put("tree", value=[[0]])),
    "a row that excludes the selection": lambda c: row(
        None, 1.0, **dict.fromkeys(c["incumbent"]["selected"], 1.0)
    )(c),
    # the selection
    "a weight on another feature": lambda c: c["incumbent"]["weights"].update(
        {next(k for k in data().features if k not in c["incumbent"]["selected"]): 0.1}
    ),
    "a selection of all": put("incumbent", "selected", value=list(data().features)),
    "an excluded pair": put("incumbent", "selected", value=["mcv", "alkphos"]),
    "an unknown feature": put("incumbent", "selected", change=lambda names: [*names, "weight"]),
    "another bias": put("incumbent", "bias", change=lambda b: b + 1e-3),
    "a bias NaN": put("incumbent", "bias", value=NAN),
    "weights NaN": lambda c: c["incumbent"].update(weights=dict.fromkeys(c["incumbent"]["weights"], NAN)),
    "a worse selection, the objective of the best": lambda c: (
        objective := c["objective"], bound := c["bound"], worse(c), c.update(objective=objective, bound=bound)
    ),
    # the data
    "column sums NaN, no hash": both(put("data", "column_sums", value=[NAN] * 12), put("data", "sha256", value="")),
    "column sums NaN": put("data", "column_sums", value=[NAN] * 12),
    "column sums of other data": every("data", "column_sums", change=lambda v: 1.001 * v + 1.0),
    "column sums missing": put("data", "column_sums", value=[]),
    "another number of samples": put("data", "samples", value=300),
    "another number of class +1": put("data", "positive_samples", value=100),
    "features in another order": put("data", "features", change=lambda names: names[::-1]),
    "another shift": every("data", "shift", change=lambda v: v + 1.0),
    "a shift NaN": every("data", "shift", change=lambda v: NAN),
    "another factor": every("data", "factor", change=lambda v: 2.0 * v),
    "a factor 0": every("data", "factor", change=lambda v: 0.0),
    "an unknown scaling": put("data", "scale", value="ranks"),
    # proofs of a worse selection
    "a worse selection with the old proof": worse,
    "the whole box said to be empty": both(worse, put("tree", value=[[0]])),
    "no tree": both(worse, put("tree", value=[]), put("multipliers", value=[])),
    "leaves said to be empty": both(worse, leaves(lambda entry: [0])),
    "both values given up": by(tree=[[2, 0, [], [1, -1]], [0]]),
    "one value given up twice": by(tree=[[2, 0, [], [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]], [0]]),
    "every feature given up": by(tree=[[2, 0, [], [-1, -2, -3, -4, -5, -6]], [0]]),
    "a branch on the same feature again": by(tree=[[3, 0], [3, 0], [0], [0], [0]]),
    "all multipliers at C": by(),
    "multipliers of one class only": by(alpha=[np.flatnonzero(data().y > 0).tolist(), [], []]),
    "multipliers above C": by(alpha=[[], list(range(L)), [5.0] * L]),
    "multipliers huge": by(alpha=[[], list(range(L)), [1e300] * L]),
    "multipliers below 0": by(alpha=[[], list(range(L)), [-5.0] * L]),
    "multipliers NaN": by(alpha=[[], list(range(L)), [NAN] * L]),
    "multipliers infinite": by(alpha=[[], list(range(L)), [INF] * L]),
    "multipliers of one sample": by(alpha=[[], [0] * L, [1.0] * L]),
    "theta of the wrong sign": by(theta=[(0, -1e6)]),
    "theta large": by(theta=[(0, 1e6)]),
    "theta huge": by(theta=[(0, 1e308), (1, 1e308)]),
    "theta NaN": by(theta=[(0, NAN)]),
    "theta -infinite": by(theta=[(0, -INF)]),
    "theta in every leaf": both(worse, leaves(lambda entry: [*entry[:2], [[0, -400.0]], *entry[3:]])),
    "one multiplier for every leaf": both(worse, leaves(lambda entry: [entry[0], 0, *entry[2:]])),
}  # fmt: skip


def written(content, path):
    """Write a file as ``CertificateFile.save`` does, with its checksum, whatever its content is."""
    text = json.dumps(content, separators=(",", ":"))[:-1]
    path.write_text(f'{text},\n"checksum":"{hashlib.sha256(text.encode()).hexdigest()}"}}\n')
    return path


def holds(certificate):
    """Tell whether the check accepts; rejecting is False or a DataError."""
    try:
        return fs.verify(certificate, data()).holds
    except fs.DataError:
        return False


def test_the_genuine_certificate_is_true_and_accepted(tmp_path):
    assert is_true(genuine().content)
    assert holds(genuine())
    assert holds(written(genuine().content, tmp_path / "c.json"))
    assert len(FORGERIES) >= 60


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_is_rejected(name, tmp_path):
    content = copy.deepcopy(genuine().content)
    FORGERIES[name](content)
    try:
        true = is_true(content)
    except (KeyError, TypeError):  # parts that are missing or of another type
        true = False
    assert not true
    assert not holds(CertificateFile(content))
    assert not holds(written(content, tmp_path / "c.json"))


def test_the_report_states_what_was_verified(tmp_path):
    """The report is of the data and arrays that were checked, whatever the file calls them."""
    content = copy.deepcopy(genuine().content)
    content["data"].update(name="another study", positive="healthy", scale="minmax")
    found = fs.verify(CertificateFile(content), fs.load_dataset("bupa"))
    assert found.holds
    problem = found.problem
    X = np.ascontiguousarray(data().X, dtype="<f8")
    assert problem["sha256"] == hashlib.sha256(X.tobytes() + data().y.tobytes()).hexdigest()
    assert (problem["data"], problem["samples"], problem["C"], problem["weights"]) == ("bupa", 345, 1.0, "none")
    assert problem["scale"] == "constants of the certificate, which names them minmax"
    assert problem["rows"][1] == "mcv + alkphos <= 1"


def test_data_of_the_same_column_sums_are_not_taken_for_those_of_the_certificate():
    """Moving two samples of one class in opposite directions keeps y'X, and nearly the squares."""
    X = data().X.copy()
    X[[0, 1]] = X[[1, 0]]
    X[:, 3] = X[::-1, 3]
    other = fs.Dataset.from_arrays(X, data().y, data().features)
    with pytest.raises(fs.DataError, match="other data"):
        fs.verify(genuine(), other)
