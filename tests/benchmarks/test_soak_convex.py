"""Soak of two-stage convex models: a few seeds of each kind; ``FSMODELS_SOAK`` runs more."""

import os

import pytest

import solvers
from benchmarks.solvers import soak_convex

SOAK = float(os.environ.get("FSMODELS_SOAK", "1"))


def test_a_model_is_that_of_its_seed():
    one, other = soak_convex.model_of(7), soak_convex.model_of(7)
    assert str(one.cost.expr) == str(other.cost.expr)
    assert len(one.rows) == len(other.rows)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_no_result_contradicts_the_truth():
    count = max(1, round(50 * SOAK))
    for seed in [*range(count), *range(soak_convex.FIRST_SMOOTH, soak_convex.FIRST_SMOOTH + count)]:
        runs = soak_convex.run(seed)["runs"]
        assert [found["wrong"] for found in runs.values() if found["wrong"]] == [], seed


def test_a_feasibility_cut_with_a_coefficient_near_1():
    """With 0.99999999956 in the cut of a cone program the presolve of HiGHS 1.16 removed the optimum of the master."""
    result = solvers.solve(soak_convex.model_of(4419), "benders", gap=1e-6)
    assert result.status is solvers.SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(2.9213675, abs=1e-6)
