"""The clock and the iteration table."""

import logging

import pytest

from solvers.clock import Clock
from solvers.drivers.trace import COLUMNS, Trace, cells


def test_a_clock_without_a_limit_never_ends():
    clock = Clock(None)
    assert clock.left is None
    assert not clock.over
    assert clock.elapsed >= 0


@pytest.mark.parametrize(("limit", "over"), [(0, True), (1e6, False)])
def test_a_clock_with_a_limit(limit, over):
    clock = Clock(limit)
    assert clock.over is over
    assert 0 <= clock.left <= limit


def filled(**options):
    trace = Trace(Clock(None), minimize=True, tee=False, callback=None, **options)
    trace.row("first")
    trace.row("second", objective=12.0, bound=9.0, incumbent=10.0, cuts=3, support=2)
    return trace


def test_the_table_has_the_columns_that_all_drivers_share():
    table = filled().table()
    assert (
        list(table.columns)
        == COLUMNS
        == ["Iter", "Step", "Objective", "Bound", "Incumbent", "Gap", "Cuts", "|S|", "Time"]
    )
    assert table["Iter"].tolist() == [0, 1]
    assert table["Gap"].iloc[1] == pytest.approx(0.1)
    assert table["Time"].is_monotonic_increasing
    assert Trace(Clock(None), minimize=True, tee=False, callback=None).table().columns.tolist() == COLUMNS


def test_the_gap_has_the_sense_of_the_model():
    trace = Trace(Clock(None), minimize=False, tee=False, callback=None)
    trace.row("max", bound=11.0, incumbent=10.0)
    assert trace.rows[0]["Gap"] == pytest.approx(0.1)


def test_missing_numbers_are_dashes():
    first, second = (cells(row) for row in filled().rows)
    assert first[:8] == ["0", "first", "-", "-", "-", "-", "0", "-"]
    assert second[:8] == ["1", "second", "12", "9", "10", "10.00%", "3", "2"]


def test_a_callback_gets_a_copy_and_may_stop():
    seen = []

    def callback(row):
        row["Iter"] = "spoilt"
        seen.append(row)
        return len(seen) == 2

    trace = Trace(Clock(None), minimize=True, tee=False, callback=callback)
    trace.row("a")
    assert not trace.stopped_by_callback
    trace.row("b")
    assert trace.stopped_by_callback
    assert [row["Iter"] for row in trace.rows] == [0, 1]


def test_rows_are_logged(caplog):
    with caplog.at_level(logging.INFO, logger="solvers"):
        filled()
    assert ["second" in record.message for record in caplog.records] == [False, True]


def test_rows_are_written_to_standard_output(capsys):
    Trace(Clock(None), minimize=True, tee=True, callback=None).row("only", objective=1.5)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert lines[0].split() == COLUMNS
    assert lines[1].split()[:3] == ["0", "only", "1.5"]
