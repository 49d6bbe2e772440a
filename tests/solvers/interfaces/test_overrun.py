"""Solvers in this process that ignore their time limit."""

import threading
import time

import pyomo.environ as pyo
import pytest

import solvers
from solvers import SolutionStatus, StopReason, interrupt


@pytest.fixture
def released():
    event = threading.Event()
    yield event
    event.set()


def test_work_that_exceeds_its_limit_is_left(released, monkeypatch):
    monkeypatch.setattr(interrupt, "OVERRUN", 0.1)
    stopped = []
    with pytest.raises(TimeoutError, match=r"does not stop at its time limit of 0\.1 s"):
        interrupt.attended(released.wait, lambda: stopped.append(True), limit=0.1)
    assert stopped == [True]


def test_work_without_a_limit_is_awaited(monkeypatch):
    monkeypatch.setattr(interrupt, "OVERRUN", 0.0)
    done = []
    interrupt.attended(lambda: (time.sleep(0.2), done.append(True)), lambda: None)
    assert done == [True]


def test_a_run_ends_at_its_limit_if_scip_does_not(released, need, monkeypatch):
    """Seed 8718976 of the soak: SCIP repeated an LP without end and did not check its clock."""
    need("scip")
    monkeypatch.setattr(interrupt, "OVERRUN", 0.1)
    attended = interrupt.attended
    monkeypatch.setattr(
        interrupt, "attended", lambda work, stop, event, meanwhile, start, limit: attended(
            released.wait, lambda: None, event, meanwhile, limit=limit
        )
    )  # fmt: skip
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 4), domain=pyo.Integers)
    m.row = pyo.Constraint(expr=m.x**2 <= 9)
    m.cost = pyo.Objective(expr=-m.x)
    result = solvers.solve(m, "scip", time_limit=0.3)
    assert result.stop_reason is StopReason.TIME_LIMIT
    assert result.status is SolutionStatus.NO_SOLUTION
    assert "does not stop at its time limit" in result.message
