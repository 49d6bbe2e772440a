"""The recipes of CONTRIBUTING.md are executed."""

import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyomo.environ as pyo
import pytest
from sklearn.metrics import matthews_corrcoef

import fsmodels as fs
import solvers
from benchmarks.harness.log import Log
from benchmarks.harness.run import finish
from fsmodels.cli import main
from fsmodels.evaluation.folds import MEASURES
from fsmodels.selection.rows import KEYWORDS
from fsmodels.sklearn import SelectorClassifier
from solvers import SolutionStatus
from solvers.drivers.catalogue import DRIVERS
from solvers.interfaces.registry import SOLVERS

PAGE = Path(__file__).resolve().parents[1] / "CONTRIBUTING.md"
TEXT = PAGE.read_text("utf-8") if PAGE.is_file() else ""
pytestmark = pytest.mark.skipif(not TEXT, reason="tests run without the source tree")


@pytest.fixture
def recipe():
    """Runs a block of the page by its first line; what it registers is gone after the test."""
    tables = [(table, dict(table)) for table in (DRIVERS, SOLVERS, MEASURES, KEYWORDS)]

    def run(name):
        (code,) = re.findall(rf"```python\n# {name}\n(.*?)```", TEXT, re.DOTALL)
        names = {"__name__": name}
        exec(compile(code, f"CONTRIBUTING.md ({name})", "exec", dont_inherit=True), names)
        return names

    yield run
    for table, before in tables:
        table.clear()
        table.update(before)


def cost(X, y, features, C, rate):
    """The elastic net SVM on some features, by an independent model."""
    m = pyo.ConcreteModel()
    m.p, m.q = pyo.Var(features, bounds=(0, None)), pyo.Var(features, bounds=(0, None))
    m.b, m.xi = pyo.Var(), pyo.Var(range(len(y)), bounds=(0, None))
    m.rows = pyo.ConstraintList()
    for i in m.xi:
        m.rows.add(y[i] * (sum((m.p[j] - m.q[j]) * X[i, j] for j in features) + m.b) + m.xi[i] >= 1)
    ridge = sum((m.p[j] - m.q[j]) ** 2 for j in features) / 2
    lasso = sum(m.p[j] + m.q[j] for j in features)
    m.cost = pyo.Objective(expr=ridge + rate * lasso + C * sum(m.xi.values()))
    return solvers.solve(m, "clarabel").objective


@pytest.mark.parametrize("solver", ["branch-and-cut", "benders", "scip"])
@pytest.mark.parametrize(("seed", "rate"), [(0, 0.3), (1, 1.0)])
def test_the_formulation_reaches_the_enumerated_optimum(recipe, solver, seed, rate):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(14, 5))
    y = np.where(X[:, 0] - X[:, 1] + 0.7 * rng.normal(size=14) > 0, 1.0, -1.0)
    data = fs.Dataset.from_arrays(X, y, features=list("abcde"))
    model = recipe("formulation")["elastic_net"](data, max_features=2, C=1.0, rate=rate)
    result = fs.solve(model, solver)
    best = min(cost(X, y, S, 1.0, rate) for S in itertools.combinations(range(5), 2))
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(best, rel=2e-4)
    assert result.bound <= best * (1 + 1e-6)
    assert 0 < len(result.selected) <= 2
    for j, w in model.w.items():
        assert j in result.selected or abs(w.value) < 1e-6


def test_a_kind_of_row_is_one_entry(recipe, tmp_path):
    recipe("kind of row")
    data = fs.load_dataset("bupa")
    chain = ["sgpt", "sgot", "drinks"]
    found = fs.select(data, max_features=2, chain=chain)
    same = fs.select(data, max_features=2, rows=["sgpt <= sgot", "sgot <= drinks"])
    assert found.selected == same.selected
    assert found.objective == pytest.approx(same.objective, rel=1e-6)
    found.save(tmp_path / "found.json")
    assert fs.load_selection(tmp_path / "found.json").rebuild(data).chain["sgpt"].active
    none = fs.select(data, max_features=1, chain=chain, force_in=["sgpt"])
    assert f"chain={chain}" in none.message
    fitted = SelectorClassifier(max_features=2, constraints={"chain": [4, 2]}).fit(data.X, data.y)
    assert not fitted.get_support()[4] or fitted.get_support()[2]
    with pytest.raises(fs.DataError, match='"sgpx" is not a feature of the data'):
        fs.select(data, max_features=2, chain=["sgpx", "sgot"])


PARAMETER = """
import fsmodels as fs
from fsmodels.cli import main
from fsmodels.sklearn import SelectorClassifier

data = fs.load_dataset("bupa")
for rate in (0.5, 20.0):
    found = fs.select(data, "elastic-net", max_features=2, rate=rate)
    fitted = SelectorClassifier("elastic-net", 2, rate=rate).fit(data.X, data.y)
    assert abs(fitted.objective_ - found.objective) < 1e-3 * found.objective, (fitted.objective_, found.objective)
    assert main(f"select bupa --model elastic-net --max-features 2 --rate {rate} --quiet".split()) == 0
"""


def test_a_parameter_is_one_of_select_of_the_estimator_and_of_the_command_line():
    blocks = re.findall(r"```python\n# (?:formulation|parameter)\n(.*?)```", TEXT, re.DOTALL)
    code = "\n".join([*blocks, PARAMETER])
    path = os.pathsep.join([str(PAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert run.returncode == 0, run.stderr
    objectives = re.findall(r"objective ([\d.]+)", run.stdout)
    assert len(objectives) == 2
    assert float(objectives[0]) < float(objectives[1])


def test_a_column_is_in_all_error_tables(recipe, tmp_path, capsys):
    recipe("column")
    data, words = fs.load_dataset("bupa"), {"max_features": 2, "cv": 3}
    found = fs.cross_validate(data, "rfe", **words)
    by_hand = []
    for fold in data.folds(3, seed=0):
        predicted = fs.select(fold.train, "rfe", max_features=2).decision(fold.held_out) > 0
        by_hand.append(matthews_corrcoef(fold.held_out.y > 0, predicted))
    assert found.runs["mcc"].to_list() == pytest.approx(by_hand)
    assert found.to_dict()["summary"]["mcc"]["mean"] == pytest.approx(np.mean(by_hand))
    compared = fs.compare(data, ["rfe", "svm"], **words)
    assert compared.table().loc["rfe", "mcc"] == pytest.approx(np.mean(by_hand))
    file = tmp_path / "r.json"
    select = ["select", "bupa", "--model", "rfe", "--max-features", "2"]
    assert main([*select, "--cv", "3"]) == 0
    assert "Matthews" in capsys.readouterr().out
    assert main([*select, "--test", "0.3", "--json", str(file)]) == 0
    assert "mcc" in json.loads(file.read_text())["held_out"]


@pytest.mark.parametrize("solver", ["branch-and-cut", "benders", "scip"])
def test_the_formulation_honours_an_edit(recipe, solver):
    data = fs.load_dataset("bupa").scaled("standard")
    data = data.take(range(0, data.n_samples, 12))
    build = recipe("formulation")["elastic_net"]
    free = fs.solve(build(data, max_features=2), "scip")
    model = build(data, max_features=2)
    model.without = pyo.Constraint(expr=model.sigma[free.selected[0]] == 0)
    result = fs.solve(model, solver)
    assert result.status is SolutionStatus.OPTIMAL
    assert free.selected[0] not in result.selected
    assert result.objective >= free.bound


@pytest.mark.parametrize("solver", ["branch-and-cut", "benders", "scip"])
def test_the_formulation_honours_a_row_on_the_weights(recipe, solver):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(14, 4))
    y = np.where(X[:, 0] - X[:, 1] + 0.7 * rng.normal(size=14) > 0, 1.0, -1.0)
    build, values = recipe("formulation")["elastic_net"], []

    def edited():
        model = build(fs.Dataset.from_arrays(X, y, features=list("abcd")), max_features=2, rate=0.3)
        model.mine = pyo.Constraint(expr=model.w["c"] + model.b >= model.w["a"] + 0.2)
        return model

    for pair in itertools.combinations("abcd", 2):
        model = edited()
        for j in "abcd":
            model.sigma[j].fix(float(j in pair))
        values.append(fs.solve(model, "clarabel").objective)
    free = fs.solve(build(fs.Dataset.from_arrays(X, y, features=list("abcd")), max_features=2, rate=0.3), "scip")
    assert min(values) > 1.01 * free.objective  # the row matters
    result = fs.solve(edited(), solver)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(min(values), rel=2e-4)
    assert result.bound <= min(values) * (1 + 1e-6)


def test_the_formulation_touches_one_room():
    """What it imports lies below the families of models, in ``fsmodels`` and in the facts."""
    (code,) = re.findall(r"```python\n# formulation\n(.*?)```", TEXT, re.DOTALL)
    taken = set(re.findall(r"^from ((?:fsmodels|solvers)\S*) import", code, re.MULTILINE))
    assert taken == {"fsmodels.checks", "fsmodels.datasets.dataset", "fsmodels.models.svm", "solvers.facts"}


def duran_grossmann():
    """The first example of Duran and Grossmann 1986; its optimum is 6.0098, at y = (0, 1, 0)."""
    m = pyo.ConcreteModel()
    m.x1, m.x2, m.x6 = pyo.Var(bounds=(0, 2)), pyo.Var(bounds=(0, 2)), pyo.Var(bounds=(0, 1))
    m.y = pyo.Var([1, 2, 3], domain=pyo.Binary)
    log = pyo.log
    m.first = pyo.Constraint(expr=0.8 * log(m.x2 + 1) + 0.96 * log(m.x1 - m.x2 + 1) - 0.8 * m.x6 >= 0)
    m.second = pyo.Constraint(expr=log(m.x2 + 1) + 1.2 * log(m.x1 - m.x2 + 1) - m.x6 - 2 * m.y[3] >= -2)
    m.order = pyo.Constraint(expr=m.x2 <= m.x1)
    m.on_1 = pyo.Constraint(expr=m.x2 <= 2 * m.y[1])
    m.on_2 = pyo.Constraint(expr=m.x1 - m.x2 <= 2 * m.y[2])
    m.one = pyo.Constraint(expr=m.y[1] + m.y[2] <= 1)
    fixed = 5 * m.y[1] + 6 * m.y[2] + 8 * m.y[3] + 10 * m.x1 - 7 * m.x6 + 10
    m.cost = pyo.Objective(expr=fixed - 18 * log(m.x2 + 1) - 19.2 * log(m.x1 - m.x2 + 1))
    return m


def test_the_driver_solves_the_textbook_example(recipe):
    recipe("driver")
    model = duran_grossmann()
    result = solvers.solve(model, "outer-approximation", gap=1e-6)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.bound == pytest.approx(6.0098, abs=1e-3)
    assert result.objective == pytest.approx(6.0098, abs=1e-3)
    assert [round(y.value) for y in model.y.values()] == [0, 1, 0]
    table = result.iterations
    assert (table["Bound"] <= result.objective + 1e-6).all()
    assert (table["Incumbent"].dropna() >= result.objective - 1e-6).all()
    assert "outer-approximation" in set(solvers.available()["name"])


@pytest.mark.parametrize("seed", range(4))
def test_the_driver_agrees_with_enumeration(recipe, seed):
    """Maximising, with choices that no x satisfies, and a row that cuts them off."""
    recipe("driver")
    rng = np.random.default_rng(seed)
    gain, need = rng.uniform(1, 3, 4), rng.uniform(0.4, 1.6, 4)

    def plan():
        m = pyo.ConcreteModel()
        m.x, m.y = pyo.Var(range(4), bounds=(0, 3)), pyo.Var(range(4), domain=pyo.Binary)
        m.on = pyo.Constraint(range(4), rule=lambda m, j: m.x[j] <= 3 * m.y[j])
        m.round = pyo.Constraint(expr=sum(x**2 for x in m.x.values()) <= 4)
        m.least = pyo.Constraint(range(4), rule=lambda m, j: pyo.exp(need[j] * m.y[j]) - 1 - m.x[j] <= 0)
        m.gain = pyo.Objective(expr=sum(gain[j] * m.x[j] - 0.6 * m.y[j] for j in range(4)), sense=pyo.maximize)
        return m

    best = -np.inf
    for y in itertools.product([0, 1], repeat=4):
        m = plan()
        for j in m.y:
            m.y[j].fix(y[j])
        value = solvers.solve(m, "pounce").objective
        best = best if value is None else max(best, value)
    result = solvers.solve(plan(), "outer-approximation", gap=1e-6)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(best, rel=1e-5)
    assert result.bound == pytest.approx(best, rel=1e-5)


def test_the_driver_leaves_the_model_and_takes_limits(recipe):
    recipe("driver")
    model = duran_grossmann()
    before = [(v.name, v.fixed, v.domain) for v in model.component_data_objects(pyo.Var)]
    result = solvers.solve(model, "outer-approximation", gap=1e-9, iteration_limit=1)
    assert result.status is SolutionStatus.FEASIBLE
    assert result.bound < result.objective
    assert before == [(v.name, v.fixed, v.domain) for v in model.component_data_objects(pyo.Var)]
    assert len(list(model.component_data_objects(pyo.Constraint))) == 6
    with pytest.raises(solvers.OptionError, match=r'"master_sover".*Did you mean "master_solver"'):
        solvers.solve(model, "outer-approximation", master_sover="highs")
    model.wave = pyo.Constraint(expr=pyo.sin(model.x1) <= 2)
    with pytest.raises(solvers.ModelError, match=r'"wave".*assume_convex=True'):
        solvers.solve(model, "outer-approximation")
    model.n = pyo.Var(domain=pyo.Integers, bounds=(0, 5))
    with pytest.raises(solvers.ModelError, match='"n" is integer'):
        solvers.solve(model, "outer-approximation", assume_convex=True)


def test_the_solver_is_found_by_name_and_by_its_object(recipe):
    recipe("solver")
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 3), domain=pyo.Integers)
    m.row = pyo.Constraint(expr=2 * m.x <= 5)
    m.cost = pyo.Objective(expr=-m.x)
    for solver in ("appsi_highs", pyo.SolverFactory("appsi_highs")):
        result = solvers.solve(m, solver, time_limit=600, gap=1e-6)
        assert (result.status, result.objective, result.solver) == (SolutionStatus.OPTIMAL, -2.0, "appsi_highs")
    with pytest.raises(solvers.OptionError, match=r'"presolv".*Did you mean "presolve"'):
        solvers.solve(m, "appsi_highs", presolv="off")
    m.cost.expr = (m.x - 1) ** 2
    with pytest.raises(solvers.SolverError, match='"appsi_highs" cannot solve this model, which needs MIQP'):
        solvers.solve(m, "appsi_highs")


def test_the_benchmark_goes_on_from_its_log_and_draws_its_page(recipe, tmp_path):
    names = recipe("benchmark") | {"__file__": str(tmp_path / "module")}
    names["page"].__globals__["__file__"] = names["__file__"]
    (template,) = re.findall(r"```jinja\n(.*?)```", TEXT, re.DOTALL)
    (tmp_path / "tried").with_suffix(".md.j2").write_text(template)
    log = Log("tried", tmp_path / "logs")

    def page():
        names["page"](log).write(log, folder=tmp_path)
        return (tmp_path / "tried").with_suffix(".md").read_text()

    finish(log, names["tasks"](False)[:1], names["work"])
    first = page()
    assert "Not finished: table has 1 of 2" in first
    assert "1 of 1 are proven." in first
    finish(log, names["tasks"](False), names["work"])
    assert "2 of 2 are proven." in page()
    assert len(log.entries()) == 2
