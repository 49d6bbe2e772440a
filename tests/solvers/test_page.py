"""The examples of docs/solvers.md run, and its table of slots is that of the drivers."""

import re
from pathlib import Path

import pytest

from solvers import DRIVERS

PAGE = next((p / "docs" / "solvers.md" for p in Path(__file__).parents if (p / "docs" / "solvers.md").is_file()), None)
pytestmark = pytest.mark.skipif(PAGE is None, reason="tests run without the source tree")


def test_the_examples_run_in_their_order(capsys):
    names = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(blocks) >= 4
    for code in blocks:
        exec(code, names)
    assert names["result"].status.value == "optimal"
    shown = capsys.readouterr().out
    assert "HiGHS" in shown  # the master's log
    assert "Incumbent" in shown


def test_every_slot_of_every_driver_is_in_the_table():
    rows = [line.split("|")[1:3] for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `")]
    shown = {
        (d, s)
        for drivers, slots in rows
        for d in re.findall(r"`([\w-]+)`", drivers)
        for s in re.findall(r"`(\w+)_solver`", slots)
    }
    assert shown == {(name, slot) for name, driver in DRIVERS.items() for slot in driver.options_type.slots()}
