"""Values that are not proven are not reported as proven."""

import math

import pytest

import fsmodels as fs
from fsmodels.evaluation.folds import HeldOut
from fsmodels.insight.price import Level, Price
from solvers import SolutionStatus


def level(objective: float, bound: float, status: SolutionStatus = SolutionStatus.FEASIBLE) -> Level:
    return Level(objective, bound, status, (), 0.0)


def test_a_missing_bound_with_the_row_proves_no_price():
    price = Price("row", level(12.0, -math.inf), level(10.0, 9.0), True)
    assert (price.least, price.most) == (0.0, 3.0)
    assert "at most 3" in price.sentence


def test_a_missing_bound_without_the_row_leaves_the_price_open():
    price = Price("row", level(12.0, 11.0), level(10.0, -math.inf), True)
    assert (price.least, price.most) == (1.0, math.inf)
    assert price.sentence == 'The price of "row" is not known within this time: at least 1 is proven.'
    impossible = Price("row", level(math.inf, math.inf, SolutionStatus.INFEASIBLE), level(10.0, -math.inf), False)
    assert impossible.least == math.inf
    assert "10 (no bound is proven)" in impossible.sentence


def test_a_share_of_a_best_near_zero_is_left_out():
    price = Price("row", level(3.0, 3.0), level(1e-9, 1e-9), True)
    assert price.sentence == '"row" costs 3 (without it 1e-09).'
    assert Price("row", level(3.0, 0.0), level(1e-9, 1e-9), True).sentence == '"row" costs at most 3; perhaps nothing.'
    assert "%" in Price("row", level(3.0, 3.0), level(1.0, 1.0), True).sentence


@pytest.mark.parametrize(("error", "low", "high"), [(0.0, 0.0, 0.1611), (1.0, 0.8389, 1.0)])
def test_no_wrong_sample_held_out_leaves_an_interval(error, low, high):
    """Wilson's interval of 0 of n is [0, z^2 / (n + z^2)] with z = 1.96."""
    held_out = HeldOut(80, 20, {"error": error})
    assert held_out.interval == pytest.approx((low, high), abs=1e-4)
    assert "standard error" not in held_out.sentence
    assert held_out.to_dict()["interval"] == pytest.approx([low, high], abs=1e-4)


def test_another_penalty_of_fs_is_solved_anew():
    """The objective of fs is not monotone in its penalty, so that no bound carries over."""
    data = fs.load_dataset("bupa")
    session = fs.explore(data, "fs", penalty=0.1)
    for penalty in (0.2, 0.05):
        answer = session.ask(penalty=penalty)
        assert answer.found.objective == pytest.approx(fs.select(data, "fs", penalty=penalty).objective, rel=1e-6)
