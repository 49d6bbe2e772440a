"""The tasks behind the pages of Aytug 2015: the fields that the pages need, and ways that are faster and no others."""

import signal
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import fsmodels as fs
from benchmarks.harness.cpu_limit import cpu_limit
from benchmarks.harness.log import Log
from benchmarks.harness.run import finish
from benchmarks.methods import elimination
from benchmarks.methods import fsp as fsp_methods
from benchmarks.papers.aytug import synthetic_page, uci_page
from benchmarks.papers.aytug import tasks as fsp_tasks
from fsmodels import baselines, synthetic
from fsmodels.models.fsp.oracle import SvmOracle
from solvers import StopReason

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer of CPU seconds on this system")


@pytest.fixture(scope="module")
def drawn():
    return synthetic.aytug(n_features=12, n_samples=150, n_relevant=4, seed=3)


def test_a_task_returns_what_the_pages_need(tmp_path):
    one = {"set": "one", "n": 20, "l": 500, "k": 0, "instance": "aytug1-n20-l500-0"}
    uci = {"set": "uci", "name": "bupa", "k": 0, "instance": "bupa-0"}
    entries = []
    for task, page in ((one, synthetic_page.page), (uci, uci_page.page)):
        log = Log(f"fsp_{task['set']}", tmp_path)
        methods = ("GBD-M", "FSP-M, proven", "RFE")
        finish(log, [{"protocol": 1, **task, "method": method} for method in methods], fsp_tasks.work)
        entries += fsp_tasks.entries_of(log)
        page(log).write(log, folder=tmp_path)
    page = [" ".join(line.split()) for line in (tmp_path / "fsp_paper.md").read_text().splitlines()]
    gbd, proven = (entry["chosen"] for entry in entries[:2])
    less = gbd["test_error"] - proven["test_error"]
    assert any(line.startswith(f"| 500 | 20 | 1 | {gbd['test_error']:.4f} | {less:+.4f} ± ? |") for line in page)
    assert any(line.startswith(f"| 20 | 500 | {gbd['overlap']:.2f} |") for line in page)
    page = [" ".join(line.split()) for line in (tmp_path / "fsp_uci.md").read_text().splitlines()]
    gbd = entries[3]
    shown = f"| bupa | {gbd['M']} | 6 | {gbd['l']} | 1 | {100 * gbd['chosen']['test_error']:.1f} ± ? |"
    assert any(line.startswith(shown) for line in page)


def test_no_task_is_there_twice_and_the_small_ones_are_among_all():
    def keys(full):
        return [tuple(task[name] for name in ("set", "instance", "method")) for task in fsp_tasks.tasks(full, SETS)]

    SETS = fsp_tasks.SETS
    assert len(keys(True)) == len(set(keys(True)))
    assert set(keys(False)) < set(keys(True))


def test_r2w2_has_one_svm_on_m_features_for_each_price(drawn):
    fits = [(C, np.count_nonzero(w)) for C, w, _, _ in fsp_methods.r2w2(drawn.train, drawn.validation, 4, 0)]
    assert fits == [(C, 4) for C in fsp_methods.PRICES]


def test_elimination_by_the_oracle_is_that_of_scikit_learn(drawn):
    for C, w, _, _ in fsp_methods.rfe(drawn.train, drawn.validation, 4, 0):
        known = baselines.rfe(drawn.train, max_features=4, C=C)
        assert {name for name, x in zip(drawn.train.features, w, strict=True) if x} == set(known.selected)


def test_fsv_has_its_weights_in_the_units_of_the_training_part(drawn):
    """Data sets one and two come as they are, UCI sets standardised: FSV standardises both, and its scores are one."""
    raw = fs.Dataset.from_arrays(5.0 + 3.0 * drawn.train.X, drawn.train.y)
    scores = [
        [part.X @ w + b for _, w, b, _ in fsp_methods.fsv(part, part, 4, 0)] for part in (raw, raw.scaled("standard"))
    ]
    np.testing.assert_allclose(scores[1], scores[0], rtol=1e-6, atol=1e-9)
    assert np.ptp(scores[0][0]) > 1


@pytest.mark.parametrize(("C", "rounds"), [(0.05, 20), (1.0, 20), (1000.0, 20), (1.0, 2)])
def test_each_svm_of_an_elimination_is_the_optimum_whichever_way_it_comes(C, rounds, monkeypatch):
    """Classes that overlap go from multiplier to multiplier; hard margins, and what takes long, back to the oracle."""
    monkeypatch.setattr(elimination, "ROUNDS", rounds)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 60)), np.where(np.arange(120) % 3, 1.0, -1.0)
    X[:, 0] += 2 * y
    data = fs.Dataset.from_arrays(X + 2.0, y)
    machines, sigma = elimination.Elimination(data, C), np.ones(60)
    for j in rng.permutation(60)[:40]:
        known = SvmOracle(X + 2.0, y, C).solve(sigma, tolerance=1e-9)
        w, b = machines.solve()
        slacks = np.maximum(0.0, 1.0 - y * ((X + 2.0) @ w + b))
        assert 0.5 * w @ w + C * slacks.sum() == pytest.approx(known.value, rel=2e-7)
        assert set(np.flatnonzero(w)) <= set(machines.left) == set(np.flatnonzero(sigma))
        machines.drop(int(j))
        sigma[j] = 0.0
    assert machines.fast > 20 if C <= 1 and rounds > 2 else machines.fast < 20


@pytest.mark.parametrize(("gaps", "gap"), [([None], None), ([0.5, 0.25], 0.25), ([], None)])
def test_a_run_that_ends_without_a_gap_says_so(gaps, gap, drawn, monkeypatch):
    ended = SimpleNamespace(iterations=pd.DataFrame({"Gap": gaps}, dtype=object), has_solution=False)
    monkeypatch.setattr(fsp_methods, "within", lambda *_, **__: (ended, {}))
    w, b, facts = fsp_methods.benders(fs.fsp.fsp_m(drawn.train, max_features=4), drawn.train, drawn.validation, 1.0, 0)
    assert (w.any(), b, facts) == (False, 0.0, {"iterations": len(gaps), "gap": gap})


def test_rfe_drops_at_each_price_what_it_would_drop_there_alone(monkeypatch):
    """Where no multiplier is at C, the features that a larger C drops are known."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 30)), np.where(np.arange(40) % 2, 1.0, -1.0)
    X[:, :3] += 1.0 * y[:, None]
    data, solved = fs.Dataset.from_arrays(X, y), []
    solve = elimination.Elimination.solve
    monkeypatch.setattr(elimination.Elimination, "solve", lambda self: solved.append(0) or solve(self))
    together = list(fsp_methods.rfe(data, data, 4, 0))
    fewer, alone = len(solved), []
    for C in fsp_methods.PRICES:
        monkeypatch.setattr(fsp_methods, "PRICES", [C])
        alone += fsp_methods.rfe(data, data, 4, 0)
    for (C, w, b, _), (D, v, c, _) in zip(together, alone, strict=True):
        assert C == D
        np.testing.assert_allclose(w, v, rtol=1e-3, atol=1e-4)
        assert b == pytest.approx(c, abs=1e-3)
    assert fewer < 0.8 * len(alone) * 27  # 27 SVMs from 30 features to 4
    assert len({tuple(np.flatnonzero(w)) for _, w, _, _ in together}) > 1


def test_the_linear_program_that_goes_from_price_to_price_has_the_optimum_of_each(drawn):
    data = drawn.train
    for C, w, b, _ in fsp_methods.one_norm(data, drawn.validation, None, 0):
        known = baselines.one_norm_svm(data, C=C)

        def cost(w, b, C=C):
            return np.abs(w).sum() + C * np.maximum(0, 1 - data.y * (data.X @ w + b)).sum()

        assert cost(w, b) == pytest.approx(cost(known.weights, known.bias), rel=1e-6)


def test_going_on_from_the_price_before_proves_the_optimum_of_each(drawn):
    model = fs.fsp.fsp_m(drawn.train, max_features=4)
    for C, w, b, facts in fsp_methods.proven(drawn.train, drawn.validation, 4, 0):
        model.C = C
        margins = 1 - drawn.train.y * (drawn.train.X @ w + b)
        assert facts["proven"]
        cost = 0.5 * w @ w + C * np.maximum(0, margins).sum()
        assert cost == pytest.approx(fs.solve(model, "branch-and-cut").objective, rel=2e-4)


def test_a_solve_ends_at_its_cpu_seconds_with_what_it_has():
    fsp_tasks.warm()
    hard = synthetic.aytug(n_features=50, n_samples=300, n_relevant=25, seed=1)
    model = fs.fsp.fsp_m(hard.train, max_features=25, C=8.0)
    with cpu_limit(0.5) as limit:
        result = fs.solve(model, "benders")
    assert limit.reached
    assert result.stop_reason is StopReason.INTERRUPTED
    assert result.has_solution


def test_a_limit_that_is_not_reached_presses_nothing():
    with cpu_limit(60.0) as limit:
        sum(range(10))
    assert not limit.reached
