"""The seeds of a test: a few by default, many with ``-m slow``."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest

SOAK = float(os.environ.get("FSMODELS_SOAK", "1"))


def seeds(few: Iterable[int], first: int, count: int) -> list[Any]:
    """Return the few seeds, and ``count`` times FSMODELS_SOAK slow ones from ``first`` on."""
    many = range(first, first + max(1, round(count * SOAK)))
    return [*few, *(pytest.param(seed, marks=pytest.mark.slow) for seed in many)]
