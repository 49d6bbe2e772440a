"""The rounds of a driver's loop: what ends them, in which order, and what is said of it."""

import itertools

import pyomo.environ as pyo
import pytest

from solvers import StopReason
from solvers.drivers.base import Driver
from solvers.options import Config


class Counting(Driver):
    """Counts rounds: one row each."""

    name = "counting"
    title = "nothing"
    options_type = Config
    limit = done = None

    def prepare(self):
        self.sign, self.counted = 1.0, []

    def loop(self):
        for k in self.rounds(self.limit, self.done):
            self.counted.append(k)
            self.record("round", None, cuts=0, support=None)
            if len(self.counted) == 6:
                return StopReason.CONVERGED, None
        return self.stop, None


def counted(limit=None, done=None, **options):
    m = pyo.ConcreteModel()
    m.x = pyo.Var()
    m.cost = pyo.Objective(expr=m.x)
    driver = Counting(m, **options)
    driver.limit, driver.done = limit, done
    return driver.counted, driver.solve()


@pytest.mark.parametrize("limit", [1, 3])
def test_the_iteration_limit_ends_them(limit):
    assert counted(iteration_limit=limit)[0] == list(range(limit))
    assert counted(iteration_limit=limit)[1].stop_reason is StopReason.ITERATION_LIMIT


def test_without_a_limit_they_end_when_the_driver_says_so():
    rounds, result = counted()
    assert rounds == list(range(6))
    assert result.stop_reason is StopReason.CONVERGED


def test_a_driver_may_have_a_limit_of_its_own_and_count_something_else():
    assert counted(limit=2, iteration_limit=4)[0] == [0, 1]
    tens = itertools.count(0, 10)
    rounds, result = counted(done=lambda: next(tens), iteration_limit=30)
    assert rounds == [0, 1, 2]
    assert result.stop_reason is StopReason.ITERATION_LIMIT


def test_no_round_begins_after_the_time_limit():
    rounds, result = counted(time_limit=0)
    assert not rounds
    assert result.stop_reason is StopReason.TIME_LIMIT


@pytest.mark.parametrize("limit", [None, 2])
def test_a_callback_ends_them_and_is_named_at_the_last_round_too(limit):
    rounds, result = counted(iteration_limit=limit, callback=lambda row: row["Iter"] == 1)
    assert rounds == [0, 1]
    assert result.stop_reason is StopReason.CALLBACK


def test_ctrl_c_within_a_round_ends_them():
    def press(row):
        raise KeyboardInterrupt

    rounds, result = counted(callback=press)
    assert rounds == [0]
    assert result.stop_reason is StopReason.INTERRUPTED
