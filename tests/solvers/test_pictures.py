"""Plots of results: the numbers on the axes are those of the run."""

import warnings

import matplotlib as mpl
import numpy as np
import pandas as pd
import pyomo.environ as pyo
import pytest

from solvers import OptionError, Result, SolutionStatus, StopReason, solve
from solvers.drivers.trace import COLUMNS
from solvers.pictures import clipped

mpl.use("Agg")


def run(bounds=(1.0, 3.0), incumbents=(None, 6.0), end=(4.0, 4.0), status=SolutionStatus.OPTIMAL, **more):
    rows = [
        (k, "step", None, low, high, None, 0, None, 0.5 * (k + 1))
        for k, (low, high) in enumerate(zip(bounds, incumbents, strict=True))
    ]
    return Result(
        status,
        StopReason.CONVERGED,
        objective=end[0],
        bound=end[1],
        iterations=pd.DataFrame(rows, columns=COLUMNS),
        seconds=2.0,
        solver="benders",
        **more,
    )


def drawn(ax, gid):
    return [[line.get_xdata().tolist(), line.get_ydata().tolist()] for line in ax.get_lines() if line.get_gid() == gid]


@pytest.fixture
def axes():
    return mpl.figure.Figure().subplots()


def test_the_lines_are_the_table_and_the_end_of_the_run(axes):
    assert run().plot(ax=axes) is axes
    ((x, bound),) = drawn(axes, "bound")
    ((_, incumbent),) = drawn(axes, "incumbent")
    assert x == [0.5, 1.0, 2.0]
    assert bound == [1.0, 3.0, 4.0]
    assert np.isnan(incumbent[0])
    assert incumbent[1:] == [6.0, 4.0]
    assert axes.get_xlim()[0] == 0
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("seconds", "objective")
    assert axes.get_title() == "benders: optimal, gap 0%"


def test_the_end_is_drawn_at_the_last_iteration(axes):
    ((x, _),) = drawn(run().plot("iterations", axes), "bound")
    assert x == [0.0, 1.0, 1.0]
    assert axes.get_xlabel() == "iteration"


def test_several_runs_have_their_own_colours_and_names_and_all_are_seen(axes):
    run().plot(ax=axes, label="first")
    later = run(end=(5.0, 2.0))
    later.seconds = 9.0
    later.plot(ax=axes, label="second")
    colours = [line.get_color() for line in axes.get_lines()]
    assert colours == ["C0", "C0", "C1", "C1"]
    names = axes.get_legend_handles_labels()[1]
    assert names == [f"{who}: {what}" for who in ("first", "second") for what in ("best found", "proven bound")]
    assert axes.get_xlim()[1] > 9.0
    assert axes.get_title() == ""


def test_a_first_number_far_from_the_end_is_outside_the_picture(axes):
    run(bounds=(-1e9, 3.0), incumbents=(1e6, 6.0)).plot(ax=axes)
    low, high = axes.get_ylim()
    assert -10 < low < 3
    assert 6 < high < 12


@pytest.mark.parametrize("end", [(None, None), (None, 3.0), (4.0, None), (0.0, 0.0)])
def test_what_there_is_not_is_not_drawn(end, axes):
    status = SolutionStatus.NO_SOLUTION if end[0] is None else SolutionStatus.FEASIBLE
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run((None,), (None,), end, status).plot(ax=axes)
        axes.figure.savefig("/dev/null", format="png")
    assert bool(drawn(axes, "bound")) == (end[1] is not None)
    assert bool(axes.texts) == (end == (None, None))


def test_of_a_solver_without_iterations_the_end_is_drawn(axes):
    model = pyo.ConcreteModel()
    model.x = pyo.Var(domain=pyo.Integers, bounds=(0, 9))
    model.least = pyo.Objective(expr=model.x, sense=pyo.maximize)
    result = solve(model, "highs")
    ((x, y),) = drawn(result.plot(ax=axes), "incumbent")
    assert (x, y) == ([result.seconds], [9.0])
    with pytest.raises(OptionError, match='"highs" reports no iterations: draw over="seconds"'):
        result.plot("iterations")


def test_wrong_words_are_refused(axes):
    with pytest.raises(OptionError, match="over='minutes' is not allowed: use seconds or iterations"):
        run().plot("minutes")
    with pytest.raises(OptionError, match="ax is str: give matplotlib's Axes"):
        run().plot(ax="axes")


def test_names_are_cut_in_the_middle_and_begin_no_mathematics():
    assert clipped("a" * 28) == "a" * 28
    cut = clipped("begin" + "x" * 60 + "end$", 20)
    assert cut.startswith("begin")
    assert cut.endswith(r"end\$")
    assert len(cut) == 21
