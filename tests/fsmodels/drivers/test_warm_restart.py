"""A run that begins with the memory of earlier ones, after edits of the master: compared with every support."""

import os
import pickle

import numpy as np
import pyomo.environ as pyo
import pytest

import fsmodels as fs
from solvers import Memory, SolutionStatus

SOAK = float(os.environ.get("FSMODELS_SOAK", "1"))


class Session:
    """A model that is edited and solved again and again with one memory, and what every support costs."""

    def __init__(self, data, values, seed, *, by_cuts=False):
        self.rng, self.data, self.values = np.random.default_rng(seed), data, values
        self.model = fs.fsp.fsp_lambda(data, penalty=0.0)
        if by_cuts:
            self.model.structure.relaxation = None
        self.memory, self.rows = Memory(), {}
        self.most(int(self.rng.integers(1, len(data.features) + 1)))

    def most(self, limit):
        self.state("most", np.ones(len(self.data.features)), limit)

    def state(self, name, weights, limit):
        self.rows[name] = (weights, limit)
        self.model.del_component(name)
        row = sum(float(w) * s for w, s in zip(weights, self.model.sigma.values(), strict=True))
        self.model.add_component(name, pyo.Constraint(expr=row <= float(limit)))

    def edit(self):
        rng, sigma, n = self.rng, list(self.model.sigma.values()), len(self.data.features)
        kind = rng.integers(6)
        if kind == 0:
            self.most(int(rng.integers(1, n + 1)))
        elif kind == 1:
            self.state(f"row{rng.integers(2)}", rng.integers(-2, 6, n), int(rng.integers(1, 9)))
        elif kind == 2 and len(self.rows) > 1:
            name = list(self.rows)[-1]
            self.model.del_component(name)
            del self.rows[name]
        elif kind == 3:
            sigma[rng.integers(n)].fix(int(rng.integers(2)))
        elif kind == 4:
            self.model.sigma.unfix()
        else:
            for price in self.model.penalty.values():
                price.set_value(float(rng.choice([0.0, 0.2, 1.0])))

    def allowed(self, s):
        held = all(not v.fixed or v.value == x for v, x in zip(self.model.sigma.values(), s, strict=True))
        return held and all(w @ s <= limit for w, limit in self.rows.values())

    def cost(self, s):
        return self.values[s] + float(np.array([p.value for p in self.model.penalty.values()]) @ s)

    def check(self, **options):
        """Solve, and compare the answer with every support."""
        allowed = [s for s in self.values if self.allowed(np.array(s))]
        found = fs.solve(self.model, "branch-and-cut", memory=self.memory, **options)
        if not allowed:
            assert found.status is SolutionStatus.INFEASIBLE
            return found
        best = min(map(self.cost, allowed))
        assert found.bound <= best * (1 + 1e-9)
        if not options:
            assert found.status is SolutionStatus.OPTIMAL
            assert found.objective == pytest.approx(best, rel=1e-4)
        return found


@pytest.fixture(scope="module")
def instances(make_data, values_of):
    """Instances of so many features, and the value of each support."""
    made = {}

    def instance(seed, n=6):
        if (seed, n) not in made:
            data = make_data(40, n, seed=seed)
            made[seed, n] = data, values_of(data)
        return made[seed, n]

    return instance


@pytest.mark.parametrize(("seed", "by_cuts"), [*((seed, False) for seed in range(4)), (0, True), (1, True)])
def test_each_answer_of_a_session_is_the_enumerated_optimum(instances, seed, by_cuts):
    session = Session(*instances(seed), seed, by_cuts=by_cuts)
    session.check()
    for _ in range(8):
        session.edit()
        session.check()


@pytest.mark.parametrize("seed", range(3))
def test_a_run_that_was_stopped_is_gone_on_with(instances, seed):
    session = Session(*instances(seed), 5)
    session.check(iteration_limit=1)
    session.check(iteration_limit=3)
    session.edit()
    session.check(iteration_limit=2)
    session.check()


def test_features_forced_in_and_out_by_turns(instances):
    session = Session(*instances(1, 7), 2)
    session.most(3)
    for j in range(7):
        for value in (1, 0):
            session.model.sigma.unfix()
            list(session.model.sigma.values())[(3 * j) % 7].fix(value)
            session.check()
    session.model.sigma.unfix()
    session.check()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(round(40 * SOAK)))
def test_long_sessions(instances, seed):
    session = Session(*instances(seed % 7, 7), seed, by_cuts=seed % 3 == 0)
    for _ in range(25):
        limited = {"iteration_limit": 2} if session.rng.random() < 0.2 else {}
        session.check(**limited)
        session.edit()


def larger(make_data):
    data = make_data(150, 8, seed=4)
    model = fs.fsp.fsp_m(data, max_features=4, C=0.1)
    memory = Memory()
    return model, memory, fs.solve(model, memory=memory)


def test_a_row_that_the_best_meets_keeps_the_optimum(make_data):
    model, memory, first = larger(make_data)
    model.budget = pyo.Constraint(expr=sum(model.sigma.values()) <= len(first.selected) + 0.5)
    again = fs.solve(model, memory=memory)
    assert again.status is SolutionStatus.OPTIMAL
    assert again.objective == pytest.approx(first.objective, rel=1e-9)
    count = again.details["memory"]
    assert min(count["cuts"], count["answers"]) > 0
    assert f"Reused of earlier runs: {count['cuts']} cuts and {count['answers']} answers." in again.message


def test_what_is_dropped_is_said(make_data):
    model, memory, _ = larger(make_data)
    model.C = 0.2
    again = fs.solve(model, memory=memory)
    assert "the subproblem's parameters are (0.2,), and were (0.1,)" in again.message
    assert again.details["memory"]["dropped"] in again.message
    assert again.details["memory"]["answers"] == 0 < again.details["memory"]["cuts"]
    other = fs.solve(fs.fsp.fsp_m(make_data(150, 8, seed=5), max_features=4, C=0.2), memory=memory)
    assert "it belongs to another model" in other.message
    assert other.details["memory"]["cuts"] == 0


@pytest.mark.parametrize("loss", ["hinge", "squared-hinge"])
def test_cuts_hold_under_another_C(instances, every_support, loss):
    data, _ = instances(2)
    for old, new in ((1.0, 3.0), (1.0, 1.05), (1.0, 0.2)):
        model, memory = fs.fsp.fsp_m(data, max_features=3, C=old, loss=loss), Memory()
        fs.solve(model, memory=memory)
        model.C = new
        memory.prepare(model.structure, [v.name for v in model.sigma.values()], kept=True)
        assert len(memory.cuts) > 0
        oracle = model.structure.oracle
        values = {tuple(s): oracle.solve(s, 1e-9, None).value for s in every_support(6)}
        for cut in memory.cuts:
            assert all(cut.at(np.array(s)) <= value * (1 + 1e-9) for s, value in values.items())
        found = fs.solve(model, memory=memory)
        assert found.status is SolutionStatus.OPTIMAL
        assert found.objective == pytest.approx(min(v for s, v in values.items() if sum(s) <= 3), rel=1e-4)


def test_a_model_built_anew_goes_on_from_a_pickled_memory(make_data):
    _, memory, first = larger(make_data)
    kept = pickle.loads(pickle.dumps(memory))
    assert len(kept.cuts) == len(memory.cuts)
    anew = fs.fsp.fsp_m(make_data(150, 8, seed=4), max_features=4, C=0.1)
    again = fs.solve(anew, memory=kept)
    assert again.details["memory"]["cuts"] > 0
    assert again.objective == pytest.approx(first.objective, rel=1e-9)
    assert again.selected == first.selected
    assert fs.solve(anew).selected == first.selected
    others = fs.solve(fs.fsp.fsp_m(make_data(150, 8, seed=6), max_features=4, C=0.1), memory=kept)
    assert "it belongs to another model" in others.message


def test_further_variables_of_the_master_keep_the_cuts(make_data):
    model, memory, first = larger(make_data)
    model.group = pyo.Var(domain=pyo.Binary)
    model.pays = pyo.Constraint(expr=model.sigma[first.selected[0]] <= model.group)
    model.objective.set_value(model.objective.expr + 0.01 * model.group)
    again = fs.solve(model, memory=memory)
    assert again.details["memory"]["cuts"] > 1
    assert again.objective == pytest.approx(fs.solve(model).objective, rel=1e-4)
    assert again.status is SolutionStatus.OPTIMAL


def test_runs_with_two_processes_and_with_one_share_a_memory(instances, monkeypatch):
    monkeypatch.setattr("solvers.drivers.branch_cut.coordinator.AFTER", 0.0)
    monkeypatch.setattr("solvers.drivers.branch_cut.coordinator.ENOUGH", 1)
    session = Session(*instances(3), 8)
    for _ in range(3):
        session.most(3)
        session.check(threads=2)
        session.edit()
        session.check()
