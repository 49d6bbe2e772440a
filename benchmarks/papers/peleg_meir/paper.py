"""Numbers of Peleg and Meir 2005, from ``paper.json``: test error in per cent and features, each with its spread.

In tables 3 and 4 the methods are in the order SVM, 1-norm SVM, RFE, GMEB.
"""

import json
from pathlib import Path

NUMBERS = json.loads(Path(__file__).with_name("paper.json").read_text("utf-8"))
CHOICES = ("type 1", "type 2", "real")  # kinds of data on which each method chooses a point
TYPE_ONE = {int(samples): cells for samples, cells in NUMBERS["type one"].items()}  # table 3
TYPE_TWO, REAL = NUMBERS["type two"], NUMBERS["real"]  # section 6.4.1; table 4
SHAPES = NUMBERS["shapes"]  # samples and features; table 2
PLACES = {name: place for place, name in enumerate(REAL, start=1)}  # in table 2
FIGURE_ONE = NUMBERS["figure 1"]  # relevant features of 100
LOWEST = sum(numbers[3][0] <= min(cell[0] for cell in numbers) for numbers in REAL.values())


def differences(numbers):
    """Return the error of GMEB minus that of each other method."""
    return [f"{numbers[3][0] - other[0]:+.1f}" for other in numbers[:3]]
