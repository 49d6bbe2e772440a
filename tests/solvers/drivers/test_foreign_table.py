"""Textbook models by every driver that takes them: the answer of the whole model, and a bound on its side of it."""

import pytest

import solvers
from foreign_models import FOREIGN
from solvers import SolutionStatus
from solvers.model.classes import violation

RELATIVE = 1e-5
EXACT = [(name, driver) for name, foreign in FOREIGN.items() for driver in foreign.exact]
SEARCH = [(name, driver) for name, foreign in FOREIGN.items() for driver in foreign.search]


def test_there_are_enough_of_them_and_each_driver_has_one():
    assert len(FOREIGN) >= 14
    taken = {driver for _, driver in (*EXACT, *SEARCH)}
    assert set(solvers.drivers.catalogue.DRIVERS) - taken == {"two-layer", "row-generation"}  # which need facts


@pytest.mark.parametrize("name", FOREIGN)
def test_the_whole_model(name, need):
    foreign = FOREIGN[name]
    result = solvers.solve(foreign.build(), need(foreign.whole))
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(foreign.optimum, rel=RELATIVE)


@pytest.mark.parametrize(("name", "driver"), EXACT)
def test_drivers_with_a_bound_end_at_the_optimum(name, driver):
    foreign, model = FOREIGN[name], FOREIGN[name].build()
    result = solvers.solve(model, driver, **foreign.exact[driver](model))
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(foreign.optimum, rel=2e-4)
    sign = 1.0 if result.minimize else -1.0
    room = RELATIVE * abs(foreign.optimum)
    assert (sign * (result.iterations["Bound"].dropna().astype(float) - foreign.optimum) <= room).all()
    assert sign * (result.objective - foreign.optimum) >= -room
    assert violation(model) <= 1e-6


@pytest.mark.parametrize(("name", "driver"), SEARCH)
def test_drivers_that_search_end_at_it_too_and_do_not_call_it_optimal(name, driver):
    foreign, model = FOREIGN[name], FOREIGN[name].build()
    result = solvers.solve(model, driver, **foreign.search[driver](model))
    assert result.status in (SolutionStatus.STATIONARY, SolutionStatus.FEASIBLE)
    assert result.objective == pytest.approx(foreign.optimum, rel=RELATIVE)
    assert violation(model) <= 1e-6
