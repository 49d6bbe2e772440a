"""Options of a slot on a model with an oracle."""

import pytest

from solvers import solve
from solvers.interfaces.runner import Runner


def test_options_of_a_subproblem_that_an_oracle_would_answer_ask_for_the_declarative_one(build, monkeypatch):
    told, original = [], Runner.solve
    monkeypatch.setattr(
        Runner, "solve", lambda self, *args, **more: told.append(self.options.own) or original(self, *args, **more)
    )
    result = solve(build(), "benders", sub_options={"max_iter": 150})
    assert {"max_iter": 150} in told
    monkeypatch.undo()
    assert result.objective == pytest.approx(solve(build(), "benders").objective, rel=1e-4)
