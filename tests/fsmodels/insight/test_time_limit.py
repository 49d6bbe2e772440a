"""``time_limit`` of every question is checked before anything is solved."""

import math

import pytest

import fsmodels as fs
from fsmodels.errors import OptionError

ASKED = {
    "select": lambda data, limit: fs.select(data, max_features=1, time_limit=limit),
    "certify": lambda data, limit: fs.certify(data, ["mcv"], time_limit=limit),
    "necessity": lambda data, limit: fs.necessity(data, max_features=1, within=0.01, time_limit=limit),
    "near_optimal": lambda data, limit: fs.near_optimal(data, max_features=1, within=0.01, time_limit=limit),
    "explore": lambda data, limit: fs.explore(data, max_features=1, time_limit=limit),
    "price_of": lambda data, limit: fs.price_of(fs.fsp.fsp_m(data, max_features=1, C=1.0), time_limit=limit),
}


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("limit", [{}, [], "3", math.nan, -1, True, 10**400], ids=str)
@pytest.mark.filterwarnings("ignore::fsmodels.errors.DataWarning")
def test_a_time_limit_that_is_no_number_of_seconds_is_refused(name, limit):
    data = fs.load_dataset("bupa").scaled("standard").select_features(["mcv", "sgot", "sgpt"])
    with pytest.raises(OptionError, match="time_limit"):
        ASKED[name](data, limit)
