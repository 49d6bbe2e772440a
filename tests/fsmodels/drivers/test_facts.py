"""A builder's facts stand where no user's name reaches, and go with a clone."""

import logging

import pyomo.environ as pyo
import pytest

import fsmodels as fs
import solvers
from solvers.facts.base import Facts, facts_of

DATA = fs.Dataset.from_arrays([[0.0, 1.0], [1.0, 0.5], [2.0, 2.0], [3.0, 2.5]], [-1, -1, 1, 1])


def builders():
    yield "fsp-m", fs.fsp.fsp_m(DATA, max_features=1, C=1.0)
    yield "fs", fs.concave.fs(DATA, penalty=0.1)
    yield "fsb", fs.concave.fsb(DATA, penalty=0.1)
    yield "gmeb", fs.gmeb.primal(DATA, R_plus=1.0, R_minus=1.0)
    yield "fsmulti", fs.multivariate.fsmulti(DATA, budget=1, C=1.0)
    yield "full-fs", fs.kernel.ao_simple(DATA, C=1.0, penalty=0.1)


@pytest.mark.parametrize(("name", "model"), [*builders()])
def test_facts_stay_when_the_user_takes_the_name(name, model):
    facts = facts_of(model)
    assert isinstance(facts, Facts)
    assert model.structure is facts  # to be read by whoever likes
    del model.structure
    model.structure = pyo.Constraint(expr=next(model.component_data_objects(pyo.Var)) <= 1e4)
    assert facts_of(model) is facts


def test_a_user_row_of_that_name_is_obeyed():
    model = fs.fsp.fsp_m(DATA, max_features=1, C=1.0)
    free = solvers.solve(model)
    first = free.selected[0]
    logging.getLogger("pyomo").setLevel(logging.ERROR)  # Pyomo warns of the attribute that the row takes the place of
    try:
        model.structure = pyo.Constraint(expr=model.sigma[first] == 0)
    finally:
        logging.getLogger("pyomo").setLevel(logging.WARNING)
    held = solvers.solve(model)
    assert held.status is solvers.SolutionStatus.OPTIMAL
    assert held.selected != free.selected
    assert held.objective > free.objective
    assert solvers.solve(model, "scip").objective == pytest.approx(held.objective, rel=1e-3)
