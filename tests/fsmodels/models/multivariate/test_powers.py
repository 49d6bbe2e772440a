"""(3) and (4) for powers p other than 2, NMMKL and l1-bmrm: closed forms, enumerated labellings, several solvers."""

import itertools

import numpy as np
import pyomo.environ as pyo
import pytest
from scipy.optimize import LinearConstraint, differential_evolution, minimize
from sklearn.svm import SVC

import fsmodels as fs
from fsmodels.models import multivariate as mv
from fsmodels.models.multivariate.measures import loss as loss_of
from solvers.model.classes import violation

CONVEX, NONCONVEX = [2.5, 3.0, 4.0], [1.0, 1.5]


@pytest.fixture
def six(make_data):
    return make_data(6, 3, seed=4)


def all_rows(data, loss):
    """Slopes and sides of the rows of (5), one for each labelling."""
    measure, found = loss_of(loss), []
    for labels in itertools.product([-1, 1], repeat=data.n_samples):
        labels = np.array(labels)
        if np.any(labels != data.y):
            found.append((data.X.T @ (data.y - labels), measure.value(data.y, labels)))
    return np.array([a for a, _ in found]) / data.n_samples, np.array([b for _, b in found]) / data.n_samples


def least(data, budget, C, loss, p):
    """The optimum of (4), by the closed form of Omega and all labellings: from many starts, then with xi."""
    slopes, sides = all_rows(data, loss)

    def value(w):
        return mv.regulariser(w, budget, p) + C * max(0.0, float((sides - slopes @ w).max()))

    reach = (2 * value(np.zeros(3))) ** (1 / p)
    w = differential_evolution(value, [(-reach, reach)] * 3, seed=1, tol=1e-10, maxiter=600, polish=False).x
    best = value(w)
    if p >= 2:
        rows = LinearConstraint(np.column_stack([slopes, np.ones(len(sides))]), lb=sides)
        start = np.append(w, max(0.0, float((sides - slopes @ w).max())))
        found = minimize(
            lambda v: mv.regulariser(v[:3], budget, p) + C * v[3],
            start,
            constraints=rows,
            bounds=[(None, None)] * 3 + [(0, None)],
            method="SLSQP",
            options={"ftol": 1e-12, "maxiter": 500},
        )
        best = min(best, value(found.x[:3]))
    return best


# (3).


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0, 4.5])
@pytest.mark.parametrize("budget", [1, 2, 4])
def test_the_regulariser_is_the_least_sum_over_the_shares(p, budget):
    """No shares in D have a lower cost; for B = m and B = 1 there are formulas."""
    rng = np.random.default_rng(3)
    w = rng.normal(size=4)
    omega = mv.regulariser(w, budget, p)
    if budget == 4:
        assert omega == pytest.approx(0.5 * (np.abs(w) ** p).sum())
    if budget == 1:
        assert omega == pytest.approx(0.5 * (np.abs(w) ** (p / 2)).sum() ** 2)
    step = 0.02
    axis = np.arange(step, 1 + step / 2, step)
    d = np.array(np.meshgrid(axis, axis, axis)).reshape(3, -1).T
    d = np.column_stack([d, np.minimum(1.0, budget - d.sum(axis=1))])
    d = d[d[:, 3] > 0]
    costs = 0.5 * (np.abs(w) ** p / d).sum(axis=1)
    assert omega <= costs.min() * (1 + 1e-12)
    assert omega >= costs.min() * 0.98


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 2.5, 4.0])
def test_lemma_1_the_sum_is_convex_from_p_2_on(p):
    """At (w, d) = (1, 1) the Hessian of |w|^p / d has the determinant p (p - 2)."""
    h, f = 1e-4, lambda w, d: abs(w) ** p / d
    ww = (f(1 + h, 1) - 2 * f(1, 1) + f(1 - h, 1)) / h**2
    dd = (f(1, 1 + h) - 2 * f(1, 1) + f(1, 1 - h)) / h**2
    wd = (f(1 + h, 1 + h) - f(1 + h, 1 - h) - f(1 - h, 1 + h) + f(1 - h, 1 - h)) / (4 * h**2)
    assert ww * dd - wd**2 == pytest.approx(p * (p - 2), abs=1e-4)


def test_a_power_below_1_is_refused(six):
    for wrong in (0.5, 0, -2, float("nan"), float("inf"), "two", None, True):
        for build in (mv.fsmulti, mv.fgm):
            with pytest.raises(fs.ParameterError, match=r"p=.* is the power of \|w_j\| in \(4\)\. Give a number of at"):
                build(six, budget=2, p=wrong)
    for given in ({"form": "lazy"}, {"form": "stated"}, {"sigma": True}):
        with pytest.raises(fs.ParameterError, match='p=3 requires form="extended" and sigma=False'):
            mv.fsmulti(six, budget=2, p=3, **given)


def test_too_many_rows_for_a_power_are_an_error():
    """wdbc with F1 was built for 9 s, and the check of convexity passed the time limit."""
    data = fs.load_dataset("wdbc").scaled("standard")
    with pytest.raises(fs.ParameterError, match=r'p=3 requires the complete model, and loss "f1" takes 249,815 rows'):
        mv.fsmulti(data, budget=2, loss="f1", p=3)


# (4).


@pytest.mark.parametrize("p", CONVEX + NONCONVEX)
def test_the_rows_by_hand(p, six):
    """At exact values of size, root and t the objective is that of (4)."""
    model = mv.fsmulti(six, budget=2, C=3.0, loss="hamming", p=p)
    w = np.array([0.5, -2.0, 0.0])
    for v, value in zip(model.w.values(), w, strict=True):
        v.set_value(value)
    model.structure.certificate.repair(model)
    assert violation(model) <= 1e-9
    assert [v.value for v in model.size.values()] == [0.5, 2.0, 0.0]
    assert [v.value for v in model.root.values()] == pytest.approx([0.5 ** (p / 2), 2 ** (p / 2), 0.0])
    assert [v.value for v in model.t.values()] == pytest.approx([0.5**p, 2**p, 0.0])
    assert pyo.value(model.objective) == pytest.approx(mv.regulariser(w, 2, p) + 3 * mv.risk(six, w, "hamming"))


@pytest.mark.parametrize("solver", ["cutting-plane", "scip", "pounce"])
@pytest.mark.parametrize("p", CONVEX)
@pytest.mark.parametrize(("budget", "loss"), [(1, "hamming"), (2, "f1"), (3, "hamming")])
def test_a_convex_power_has_the_optimum_over_all_labellings(budget, loss, p, solver, six):
    C = 20.0 if loss == "hamming" else 0.5
    model = mv.fsmulti(six, budget=budget, C=C, loss=loss, p=p)
    result = fs.solve(model, solver, gap=1e-5)
    best = least(six, budget, C, loss, p)
    assert result.objective == pytest.approx(best, rel=1e-4)
    w, _ = mv.classifier(model)
    assert mv.regulariser(w, budget, p) + C * mv.risk(six, w, loss) == pytest.approx(result.objective, rel=1e-9)
    if solver == "pounce":
        assert (result.status.value, result.bound) == ("stationary", None)
        return
    assert result.status.value == "optimal"
    assert best * (1 - 1e-4) <= result.bound <= best * (1 + 1e-6)


@pytest.mark.parametrize("p", NONCONVEX)
@pytest.mark.parametrize(("budget", "loss"), [(1, "hamming"), (2, "f1")])
def test_a_nonconvex_power_has_the_best_of_many_starts(budget, loss, p, six):
    """Scip proves the optimum; drivers for convex models reject the model."""
    C = 8.0 if loss == "hamming" else 0.3
    model = mv.fsmulti(six, budget=budget, C=C, loss=loss, p=p)
    result = fs.solve(model, gap=1e-4)
    assert (result.solver, result.status.value) == ("scip", "optimal")
    best = least(six, budget, C, loss, p)
    assert result.objective == pytest.approx(best, rel=1e-3)
    assert result.bound <= best * (1 + 1e-6)
    with pytest.raises(fs.ModelError, match=r'Row "power\['):
        fs.solve(model, "cutting-plane")


@pytest.mark.parametrize("solver", ["cutting-plane", "scip"])
@pytest.mark.parametrize("p", [1.0, 3.0, 4.0])
def test_fgm_with_other_powers(p, solver, six):
    """The squared hinges are smooth, so that the optimum is found from many starts; for p < 2 by scip only."""
    if p < 2 and solver == "cutting-plane":
        return
    C, budget = 0.5, 2
    hinges = lambda w: 0.5 * C * (np.maximum(0, 1 - six.y * (six.X @ w)) ** 2).sum()  # noqa: E731
    value = lambda w: mv.regulariser(w, budget, p) + hinges(w)  # noqa: E731
    reach = (2 * value(np.zeros(3))) ** (1 / p)
    best = differential_evolution(value, [(-reach, reach)] * 3, seed=1, tol=1e-12, maxiter=1000).fun
    model = mv.fgm(six, budget=budget, C=C, p=p)
    result = fs.solve(model, solver, gap=1e-5)
    assert result.status.value == "optimal"
    assert result.objective == pytest.approx(best, rel=2e-4)
    assert result.bound <= best * (1 + 1e-6)
    assert result.objective == pytest.approx(value(mv.classifier(model)[0]), rel=1e-9)


def test_limits_and_edits_with_another_power(six):
    """A run with a time limit of 0 returns w = 0; a row on w is satisfied."""
    model = mv.fsmulti(six, budget=2, C=20.0, loss="hamming", p=3.0, offset=True)
    stopped = fs.solve(model, time_limit=0)
    assert stopped.objective == pytest.approx(20.0 * mv.risk(six, np.zeros(3), "hamming"))
    assert stopped.bound == 0.0
    free = fs.solve(model, gap=1e-6)
    j = max(six.features, key=lambda j: abs(model.w[j].value))
    model.small = pyo.Constraint(expr=model.w[j] ** 2 <= 0.25 * model.w[j].value ** 2)
    found = {who: fs.solve(model, who, gap=1e-6).objective for who in ("cutting-plane", "scip")}
    assert found["scip"] == pytest.approx(found["cutting-plane"], rel=1e-4)
    assert found["scip"] > free.objective * 1.001


# NMMKL.


@pytest.mark.parametrize("solver", ["clarabel", "scip"])
@pytest.mark.parametrize("budget", [1, 2, 4])
def test_nmmkl_is_the_relaxation_of_fsp_m(budget, solver, make_data):
    """The least over d in D of the optimum of the SVM with the kernel sum_j d_j x_j x_j'."""
    data = make_data(14, 4, seed=6)

    def svm(d):
        scaled = data.X * np.sqrt(np.maximum(d, 0.0))
        found = SVC(kernel="linear", C=0.7, tol=1e-6, max_iter=100_000).fit(scaled, data.y)
        w, b = found.coef_[0], found.intercept_[0]
        return 0.5 * w @ w + 0.7 * np.maximum(0, 1 - data.y * (scaled @ w + b)).sum()

    step = 1 / 12
    axis = np.arange(0, 1 + step / 2, step)
    grid = np.array(np.meshgrid(axis, axis, axis)).reshape(3, -1).T
    grid = np.column_stack([grid, budget - grid.sum(axis=1)])
    grid = grid[(grid[:, 3] >= 0) & (grid[:, 3] <= 1)]
    start = min(grid, key=svm)
    best = svm(start)
    model = fs.fsp.fsp_m(data, max_features=budget, C=0.7)
    pyo.TransformationFactory("core.relax_integer_vars").apply_to(model)
    result = fs.solve(model, solver)
    d = np.array([v.value for v in model.sigma.values()])
    assert result.objective <= best * (1 + 1e-6)
    assert result.objective >= best * 0.99
    assert svm(d) == pytest.approx(result.objective, rel=1e-4)


@pytest.mark.parametrize("budget", [1, 2])
def test_nmmkl_without_an_offset_is_fsmulti_with_the_loss_hamming(budget, make_data):
    data = make_data(14, 4, seed=7)
    relaxed = fs.fsp.fsp_m(data, max_features=budget, C=0.7, intercept=False)
    pyo.TransformationFactory("core.relax_integer_vars").apply_to(relaxed)
    ours = mv.fsmulti(data, budget=budget, C=14 * 0.7 / 2, loss="hamming")
    assert fs.solve(relaxed, "clarabel").objective == pytest.approx(fs.solve(ours).objective, rel=1e-5)
    assert [v.value for v in relaxed.w.values()] == pytest.approx(mv.classifier(ours)[0], abs=1e-3)


# l1-bmrm.


def l1_bmrm(data, price, loss, solver):
    """``min price ||w||_1 + R(w)`` as a linear program over all labellings."""
    slopes, sides = all_rows(data, loss)
    model = pyo.ConcreteModel()
    features = range(data.n_features)
    model.p, model.q = (pyo.Var(features, domain=pyo.NonNegativeReals) for _ in range(2))
    model.xi = pyo.Var(domain=pyo.NonNegativeReals)
    model.row = pyo.ConstraintList()
    for slope, side in zip(slopes, sides, strict=True):
        model.row.add(sum(float(a) * (model.p[j] - model.q[j]) for j, a in enumerate(slope)) + model.xi >= float(side))
    norm = pyo.quicksum([*model.p.values(), *model.q.values()])
    model.value = pyo.Objective(expr=price * norm + model.xi)
    result = fs.solve(model, solver)
    return result.objective, np.array([model.p[j].value - model.q[j].value for j in features])


@pytest.mark.parametrize("solver", ["highs", "clarabel"])
@pytest.mark.parametrize("loss", ["f1", "hamming"])
def test_l1_bmrm_has_the_solutions_of_a_budget_of_1(loss, solver, six):
    for C in (1.0, 5.0, 50.0) if loss == "hamming" else (0.02, 0.2, 2.0):
        model = mv.fsmulti(six, budget=1, C=C, loss=loss)
        fs.solve(model, gap=1e-8)
        w, _ = mv.classifier(model)
        norm = np.abs(w).sum()
        assert norm > 1e-3
        best, v = l1_bmrm(six, norm / C, loss, solver)
        assert norm**2 / C + mv.risk(six, w, loss) == pytest.approx(best, rel=1e-5)
        other = np.abs(v).sum()
        if other > 1e-3:  # and the other way round
            again = mv.fsmulti(six, budget=1, C=other * C / norm, loss=loss)
            value = 0.5 * other**2 + other * C / norm * mv.risk(six, v, loss)
            assert fs.solve(again, gap=1e-8).objective == pytest.approx(value, rel=1e-5)
