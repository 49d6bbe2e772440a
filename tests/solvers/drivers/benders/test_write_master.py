"""The master with its cuts as an LP file: its optimum by HiGHS is the bound of the run."""

from pathlib import Path

import highspy
import pyomo.environ as pyo
import pytest

import solvers
from solvers import OptionError, SolutionStatus


def sites():
    """Open sites, and serve four customers."""
    m = pyo.ConcreteModel()
    m.open, m.share = pyo.Var([0, 1], domain=pyo.Binary), pyo.Var(range(4), [0, 1], bounds=(0, None))
    m.served = pyo.Constraint(range(4), rule=lambda m, i: m.share[i, 0] + m.share[i, 1] == 1)
    m.only_open = pyo.Constraint(range(4), [0, 1], rule=lambda m, i, j: m.share[i, j] <= m.open[j])
    way = sum((1 + abs(i - 3 * j)) * m.share[i, j] for i in range(4) for j in (0, 1))
    m.cost = pyo.Objective(expr=3 * m.open[0] + 4 * m.open[1] + way)
    return m


def newsvendor():
    m = pyo.ConcreteModel()
    m.order, m.sold = pyo.Var(bounds=(0, 200)), pyo.Var([60, 90, 120], bounds=lambda m, d: (0, d))
    m.supply = pyo.Constraint([60, 90, 120], rule=lambda m, d: m.sold[d] <= m.order)
    m.gain = pyo.Objective(expr=3 * sum(m.sold.values()) - 5 * m.order, sense=pyo.maximize)
    return m


def optimum(path):
    highs = highspy.Highs()
    highs.silent()
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    highs.run()
    return highs.getInfo().objective_function_value


@pytest.mark.parametrize("driver", ["benders", "single-tree"])
def test_the_optimum_of_the_file_is_the_bound(driver, tmp_path, need):
    if driver == "single-tree":
        need("gurobi")
    path = tmp_path / "master.lp"
    result = solvers.solve(sites(), driver, write_master=path, gap=1e-7)
    assert optimum(path) == pytest.approx(result.bound)
    m = newsvendor()
    result = solvers.solve(m, driver, complicating=m.order, write_master=str(path), gap=1e-7)
    assert -optimum(path) == pytest.approx(result.bound, rel=1e-6)  # maximised
    assert [p.name for p in tmp_path.iterdir()] == ["master.lp"]


@pytest.mark.parametrize("options", [{"iteration_limit": 1}, {"in_out": False, "iteration_limit": 2}])
def test_after_a_limit_the_optimum_of_the_file_lies_between_bound_and_objective(options, tmp_path):
    path = tmp_path / "master.lp"
    result = solvers.solve(sites(), "benders", write_master=path, **options)
    least = -float("inf") if result.bound is None else result.bound
    assert least - 1e-6 <= optimum(path) <= result.objective + 1e-6


def test_units_of_the_master_do_not_change_the_file(tmp_path):
    m, path = sites(), tmp_path / "master.lp"
    m.cost.expr *= 1e7
    result = solvers.solve(m, "benders", write_master=path, gap=1e-7)
    assert optimum(path) == pytest.approx(result.bound, rel=1e-6) == pytest.approx(13e7)


def test_variables_of_the_user_may_have_the_names_of_the_master(tmp_path):
    m, path = sites(), tmp_path / "master.lp"
    m.eta = pyo.Var(bounds=(0, 1))
    m.cuts = pyo.Constraint([1], rule=lambda m, k: m.eta >= m.open[0])
    m.cost.expr += 2 * m.eta
    result = solvers.solve(m, "benders", complicating=[m.open, m.eta], write_master=path, gap=1e-7)
    assert optimum(path) == pytest.approx(result.bound)
    assert "+2 eta" in path.read_text()
    assert "master_eta" in path.read_text()


def test_a_file_is_replaced_completely_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "master.lp"
    path.write_text("before")

    def full(self, name, **_):
        Path(name).write_text("half")
        raise OSError("No space left on device")

    monkeypatch.setattr(pyo.ConcreteModel, "write", full)
    result = solvers.solve(sites(), "benders", write_master=path)
    assert result.status is SolutionStatus.OPTIMAL
    assert "The master was not written" in result.message
    assert "No space left" in result.message
    assert path.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["master.lp"]


@pytest.mark.parametrize("name", ["master.mps", "none/master.lp", ""])
def test_a_name_that_cannot_be_written_is_refused(name, tmp_path):
    with pytest.raises(OptionError, match=r"write_master=.*is not allowed: give a name that ends in .lp"):
        solvers.solve(sites(), "benders", write_master=tmp_path / name if name else name)
