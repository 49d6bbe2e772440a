"""The kernel family's numbers: derivatives, the SVM step, the value function, the global shape, invariances."""

import itertools

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import fsmodels as fs
from fsmodels import kernel
from fsmodels.models.kernel.kernels import Polynomial, Rbf, as_kernel
from fsmodels.models.kernel.objective import Objective, hinge, hinge_curvature, hinge_slope, positions
from fsmodels.models.kernel.value_function import ValueFunction, libsvm, solve_svm
from solvers.box import minimise as box

KERNELS = {"rbf": Rbf(), "linear": Polynomial(1, 0.0), "quadratic": Polynomial(2, 1.0), "cubic": Polynomial(3, 0.5)}
STEP = 1e-6


def sample(seed, n=9, d=3):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return rng.normal(size=(n, d)), y, rng


def far_from_joints(objective, x, distance=1e-3):
    """Whether no margin is near 1 - 2 eps or 1, where V'' jumps."""
    o = Objective(objective.kernel, objective.X, objective.y, objective.C, objective.mu, objective.eps)
    m = o._evaluated(x).m
    return min(np.abs(m - 1).min(), np.abs(m - 1 + 2 * o.eps).min()) > distance


def by_newton(o, x):
    """Minimise the smoothed primal over (u, b) by Newton's method."""
    free, none = np.arange(o.n + 1), np.full(o.n + 1, np.inf)
    unit = np.append(o.C, 1.0)
    point, svm = x.copy(), o.restricted(x, free)
    point[free] = box.minimise(svm, x[free], -none, none, method="trust-newton", unit=unit, tolerance=1e-9).point
    return point


def direct(name, X, z):
    """The kernel matrix entry by entry, from its definition."""
    n = len(X)
    K = np.empty((n, n))
    for i, j in itertools.product(range(n), repeat=2):
        a, b = z * X[i], z * X[j]
        K[i, j] = {
            "rbf": np.exp(-((a - b) ** 2).sum()),
            "linear": a @ b,
            "quadratic": (1 + a @ b) ** 2,
            "cubic": (0.5 + a @ b) ** 3,
        }[name]
    return K


@pytest.mark.parametrize("name", KERNELS)
def test_the_kernel_matrix_is_its_definition(name):
    X, y, _ = sample(0)
    z = np.array([0.7, 0.0, 1.3])
    o = Objective(KERNELS[name], X, y, 1.0, 0.1)
    assert o.matrix(z) == pytest.approx(direct(name, X, z), rel=1e-12)


@pytest.mark.parametrize("explicit", [False, True])
@pytest.mark.parametrize("name", KERNELS)
def test_the_objective_is_its_definition(name, explicit):
    X, y, rng = sample(1)
    n, d = X.shape
    u, b, z, margin = rng.normal(size=n), 0.3, rng.random(d), 1.7
    K, a = direct(name, X, z), y * u
    square = 1.0 if explicit else a @ K @ a
    short = 1 - y * (K @ a + b) / margin
    loss = np.where(short > 1, short - 0.5, np.where(short > 0, short**2 / 2, 0))  # (8) with eps = 0.5
    value = square / (2 * margin**2) + 2.0 * loss.sum() + 0.3 * z.sum()
    o = Objective(KERNELS[name], X, y, 2.0, 0.3, 0.5, explicit)
    assert o.value(np.concatenate([u, [b], z, [margin]]))[0] == pytest.approx(value, rel=1e-12)


def test_the_smoothed_hinge_by_its_cases():
    m = np.array([-2.0, 0.1, 0.4, 0.7, 1.0, 3.0])
    assert hinge(m, 0.25) == pytest.approx([2.75, 0.65, 0.35, 0.09, 0, 0])
    assert hinge(m, 0.0) == pytest.approx([3, 0.9, 0.6, 0.3, 0, 0])
    assert hinge_slope(m, 0.25) == pytest.approx([-1, -1, -1, -0.6, 0, 0])
    assert hinge_curvature(m, 0.25) == pytest.approx([0, 0, 0, 2, 0, 0])


@settings(max_examples=60)
@given(
    name=st.sampled_from(sorted(KERNELS)),
    seed=st.integers(0, 10_000),
    explicit=st.booleans(),
    eps=st.sampled_from([0.1, 0.5]),
    sparse=st.booleans(),
    part=st.sampled_from(["all", "z", "z, margin", "u, b", "u, b, z"]),
)
def test_derivatives_are_central_differences_away_from_the_joints(name, seed, explicit, eps, sparse, part):
    X, y, rng = sample(seed)
    n, d = X.shape
    x = np.concatenate([0.3 * rng.normal(size=n), [0.1], rng.uniform(0.2, 0.9, d), [rng.uniform(0.7, 1.5)]])
    if sparse:
        x[[1, 4, n + 2]] = 0.0
    where = positions(n, d)
    free = {
        "all": np.arange(n + d + 2),
        "z": where["z"],
        "z, margin": np.append(where["z"], where["margin"]),
        "u, b": np.arange(n + 1),
        "u, b, z": np.arange(n + 1 + d),
    }[part]
    whole = Objective(KERNELS[name], X, y, 1.4, 0.2, eps)
    assume(far_from_joints(whole, x))
    o = whole.restricted(x, free, explicit)
    part_x, v = x[free], rng.normal(size=len(free))
    value, gradient = o.value(part_x)
    product = o.product(part_x, v)
    numeric = [(o.value(part_x + STEP * e)[0] - o.value(part_x - STEP * e)[0]) / (2 * STEP) for e in np.eye(len(free))]
    curved = (o.value(part_x + STEP * v)[1] - o.value(part_x - STEP * v)[1]) / (2 * STEP)
    size = max(1.0, abs(value))
    assert gradient == pytest.approx(numeric, rel=1e-5, abs=1e-6 * size)
    assert product == pytest.approx(curved, rel=1e-5, abs=1e-5 * max(size, float(np.abs(curved).max())))
    assert np.isclose(v @ o.product(part_x, np.roll(v, 1)), np.roll(v, 1) @ product)  # symmetric


def test_a_weight_of_0_has_the_slope_mu_and_a_strict_minimum_is_at_0():
    X, y, rng = sample(3)
    o = Objective(Rbf(), X, y, 1.0, 0.25)
    x = np.concatenate([rng.random(9), [0.1], np.zeros(3), [1.0]])
    assert o.value(x)[1][10:13] == pytest.approx([0.25] * 3)
    o = o.restricted(x, np.arange(10, 13))
    here = o.value(np.zeros(3))[0]
    assert all(o.value(1e-3 * e)[0] > here for e in np.eye(3))


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("C", [0.1, 1.0, 20.0])
@pytest.mark.parametrize("eps", [0.1, 0.5])
def test_libsvm_with_a_ridge_solves_the_smoothed_primal(name, C, eps):
    X, y, _ = sample(5, n=25)
    o = Objective(KERNELS[name], X, y, C, 0.1, eps)
    x = np.concatenate([np.zeros(26), [0.4, 0.5, 0.2], [1.0]])
    a, b = solve_svm(o, x, tolerance=1e-9), by_newton(o, x)
    assert o.value(a)[0] == pytest.approx(o.value(b)[0], rel=1e-7)
    K = o.matrix(o.parts(x)[2])
    f = [K @ (y * p[:25]) + p[25] for p in (a, b)]
    assert f[0] == pytest.approx(f[1], abs=1e-3)
    u = a[:25]  # the dual's value is the primal's: the formula of the module
    dual = u.sum() - 0.5 * (y * u) @ (K + 2 * eps / C * np.eye(25)) @ (y * u)
    assert dual == pytest.approx(o.value(a)[0] - 0.1 * x[26:29].sum(), rel=1e-6)
    assert (u >= 0).all()
    assert (u <= C * (1 + 1e-9)).all()
    assert u @ y == pytest.approx(0, abs=1e-6 * C)


def test_the_smoothed_primal_by_another_solver():
    X, y, _ = sample(6, n=15)
    o = Objective(Rbf(), X, y, 1.0, 0.1)
    x = np.concatenate([np.zeros(16), [0.4, 0.5, 0.2], [1.0]])
    svm = o.restricted(x, np.arange(16))
    found = minimize(lambda p: svm.value(p), x[:16], jac=True, method="BFGS", options={"gtol": 1e-8})
    assert o.value(solve_svm(o, x, tolerance=1e-9))[0] == pytest.approx(found.fun, rel=1e-9)


@pytest.mark.parametrize("eps", [0.0, 0.5])
def test_the_value_function_has_danskins_derivative(eps):
    X, y, _ = sample(7, n=20)
    o = Objective(Rbf(), X, y, 1.0, 0.1, eps)
    F = ValueFunction(o, np.concatenate([np.zeros(21), np.ones(3), [1.0]]), tolerance=1e-10)
    z, h = np.array([0.6, 0.9, 0.3]), 1e-4
    numeric = [(F.value(z + h * e)[0] - F.value(z - h * e)[0]) / (2 * h) for e in np.eye(3)]
    assert F.value(z)[1] == pytest.approx(numeric, rel=1e-3, abs=1e-5)


def test_the_hinge_is_the_limit_of_the_smoothed_one():
    X, y, _ = sample(8, n=20)
    z = np.array([0.6, 0.9, 0.3])
    K = Objective(Rbf(), X, y, 1.0, 0.1).matrix(z)
    u, b = libsvm(K, y, np.ones(20), 0.0)
    hinged = 0.5 * (y * u) @ K @ (y * u) + np.maximum(0, 1 - y * (K @ (y * u) + b)).sum()
    data = fs.Dataset.from_arrays(X, y)
    values = [kernel.omega(data, z, C=1.0, penalty=1.0, eps=e) - z.sum() for e in (0.0, 1e-3, 0.5)]
    assert values[0] == pytest.approx(hinged, rel=1e-4)  # libsvm's tolerance
    assert values[0] > values[1] > values[2]
    assert values[1] == pytest.approx(hinged, rel=1e-2)


def two_features(seed=0, n=24):
    """Feature f separates by |f|; g is noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return fs.Dataset.from_arrays(X, np.where(np.abs(X[:, 0]) > 0.7, 1, -1), features=["f", "g"])


def test_the_global_shape_by_a_grid():
    data, C, mu = two_features(), 1.0, 0.5
    grid = [np.array(z) for z in itertools.product(np.linspace(0, 3, 31), repeat=2)]
    values = np.array([kernel.omega(data, z, C=C, penalty=mu) for z in grid])
    best = values.min()
    found = {}
    for name, form in (("full_fs", "reduced"), ("full_fs", "oracle"), ("ao_simple", "oracle"), ("ao_margin", "oracle")):
        model = getattr(kernel, name)(data, C=C, penalty=mu, form=form)
        result = fs.solve(model, tolerance=1e-5)
        found[name, form] = result.objective
    assert min(found.values()) <= best + 1e-6
    assert max(found.values()) <= best + 0.05 * abs(best)  # the grid's step
    zero = values[0]
    assert zero > best + 1
    assert zero < min(kernel.omega(data, e, C=C, penalty=mu) for e in ([0.02, 0], [0, 0.02]))  # a strict local minimum


def test_a_shift_of_the_data_changes_nothing_for_rbf():
    data = two_features()
    far = fs.Dataset.from_arrays(data.X + 1e6, data.y, features=data.features)
    here, there = (kernel.omega(d, 0.7, C=1.0, penalty=0.5) for d in (data, far))
    assert there == pytest.approx(here, rel=1e-6)


def test_kernels_by_name_and_what_is_refused():
    assert as_kernel("linear") == Polynomial(1, 0.0)
    assert as_kernel(Rbf()) == Rbf()
    for bad, message in (
        ({"kernel": "gauss"}, "kernel='gauss' is not known: use one of rbf, linear, polynomial"),
        ({"kernel": "polynomial", "degree": 0}, "degree=0 is not allowed"),
        ({"kernel": "polynomial", "offset": -1}, "offset=-1 is not allowed"),
    ):
        with pytest.raises(fs.ParameterError, match=message):
            as_kernel(**bad)


@pytest.mark.parametrize("name", KERNELS)
def test_the_first_hessian_products_at_a_point_are_the_later_ones(name):
    """The matrix that crosses the columns is formed once it has cost as much in products."""
    X, y, rng = sample(3, n=30, d=12)
    x = np.concatenate([0.3 * rng.normal(size=30), [0.1], rng.uniform(0.0, 0.9, 12), [1.2]])
    x[[2, 33, 40]] = 0.0  # a sample without a coefficient, two features without a weight
    v = rng.normal(size=len(x))
    o = Objective(KERNELS[name], X, y, 1.4, 0.2)
    first, *later = (o.product(x, v) for _ in range(5))
    assert o._second.matrix is not None
    for product in later:
        assert product == pytest.approx(first, rel=1e-9, abs=1e-10)


@pytest.mark.parametrize("explicit", [False, True])
@pytest.mark.parametrize("name", KERNELS)
def test_products_where_u_stays_are_those_of_the_whole(name, explicit):
    """What leaves out samples without slopes, and the Hessian that is formed, against the one by all coordinates."""
    X, y, rng = sample(3, n=30, d=12)
    X[:12], y[:12] = X[12:24], y[12:24]  # without a coefficient, beyond the margin like their twins
    x = np.concatenate([rng.uniform(0.5, 2.0, 30), [0.1], rng.uniform(0.2, 0.6, 12), [0.7]])
    x[:12] = x[[33, 40]] = 0.0
    whole = Objective(KERNELS[name], X, y, 1.4, 0.2, 0.5, explicit)
    part = whole.restricted(x, np.arange(30, 44), explicit)
    v = np.concatenate([np.zeros(30), rng.normal(size=14)])
    assert part.value(x[30:])[1] == pytest.approx(whole.value(x)[1][30:])
    expected = whole.product(x, v)[30:]
    for _ in range(6):
        assert part.product(x[30:], v[30:]) == pytest.approx(expected, rel=1e-9, abs=1e-10)
    assert part._second.matrix is not None
    assert len(part._second.at.across) < 30


def test_the_hessian_stays_where_a_step_is_refused_and_is_formed_at_once_at_the_next_point():
    """A trust region comes back to the point it asked for products; the next point will ask for as many."""
    X, y, rng = sample(3, n=30, d=12)
    x = np.concatenate([0.3 * rng.normal(size=30), [0.1], rng.uniform(0.1, 0.9, 12), [1.2]])
    v = rng.normal(size=len(x))
    o = Objective(Rbf(), X, y, 1.4, 0.2)
    later = [o.product(x, v) for _ in range(5)][-1]
    formed = o._second.matrix
    o.value(x + 0.5)  # refused
    assert np.array_equal(o.product(x, v), later)
    assert o._second.matrix is formed
    o.value(x + 0.01)  # accepted
    once = o.product(x + 0.01, v)
    assert o._second.matrix is not None
    assert once == pytest.approx(Objective(Rbf(), X, y, 1.4, 0.2).product(x + 0.01, v), rel=1e-9, abs=1e-10)


@pytest.mark.parametrize("name", KERNELS)
def test_the_sums_of_a_kernel_are_their_definitions(name):
    rng = np.random.default_rng(5)
    A, B, W, v = rng.normal(size=(4, 3)), rng.normal(size=(6, 3)), rng.normal(size=(4, 6)), rng.normal(size=6)
    k = KERNELS[name]
    terms = np.array([[[k.term(A[i, f], B[j, f]) for f in range(3)] for j in range(6)] for i in range(4)])
    assert k.sums(W, A, B) == pytest.approx(np.einsum("ij,ijk->k", W, terms))
    assert k.by_row(W, v, A, B) == pytest.approx(np.einsum("ij,j,ijk->ik", W, v, terms))
    assert k.crossed(W, A, B) == pytest.approx(np.einsum("ij,ijk,ijl->kl", W, terms, terms))


def test_the_objective_of_the_model_is_the_oracle():
    data = two_features()
    model = kernel.ao_margin(data, C=1.0, penalty=0.5)
    fs.solve(model)
    x = np.array([v.value for v in [*model.u.values(), model.b, *model.z.values(), model.margin]])
    assert pyo.value(model.objective) == model.kernel_problem.value(x)
    value, _, hessian = model.kernel_problem.evaluated(x.tolist(), 2)
    k = len(x)
    assert len(hessian) == k * (k + 1) // 2
    matrix = np.zeros((k, k))
    for j in range(k):
        for i in range(j + 1):
            matrix[i, j] = matrix[j, i] = hessian[i + j * (j + 1) // 2]
    v = np.random.default_rng(0).normal(size=k)
    assert matrix @ v == pytest.approx(model.kernel_problem.objective.product(x, v), rel=1e-9, abs=1e-12)
    clone = model.clone()
    assert pyo.value(clone.objective) == pytest.approx(value)
    clone.C.set_value(2.0)
    assert pyo.value(clone.objective) > value
    assert pyo.value(model.objective) == value
