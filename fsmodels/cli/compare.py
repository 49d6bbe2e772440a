"""``fsmodels compare``: several models on the same folds, as a table, a sentence and a picture."""

from __future__ import annotations

from types import SimpleNamespace

from fsmodels.cli import asked as questions
from fsmodels.cli import repeated
from fsmodels.cli.codes import NO_SOLUTION, SOLVED, complain, show
from fsmodels.cli.commands import COMPARED
from fsmodels.errors import ParameterError
from fsmodels.evaluation.comparison import BUDGET, among
from fsmodels.selection.recipes import find
from solvers import progress

WIDTH = 160  # of a printed table


def run(asked: SimpleNamespace) -> int:
    """Compare, report, draw and write; return the exit code."""
    repeated.check(asked)
    if asked.bags is not None:
        raise ParameterError("--bags makes features of the instances of all bags, those held out too: leave it out.")
    task = questions.read(asked)
    models = [name.strip() for name in (asked.models or COMPARED).split(",") if name.strip()]
    given = dict(task.given)
    if not any(find(name).runs_solver for name in models) and "time_limit" not in asked.given:
        given.pop("time_limit", None)  # the default, which nobody takes
    most, C = given.pop("max_features"), given.pop("C")
    repeated.announce(task, "each fold of each model", f"{len(models)} models on {asked.cv} folds")
    with progress.shown(task.shows):
        found = among(
            task.data, models, given, max_features=min(BUDGET, task.data.n_features) if most is None else most,
            C=1.0 if C is None else C, cv=asked.cv, repeats=asked.repeats or 1, seed=asked.seed or 0,
            n_jobs=asked.n_jobs, memory=asked.memory,
        )  # fmt: skip
    solved = bool(found.table()["folds"].sum())
    if trouble := repeated.written(task, found.to_dict(), found if solved else None, solved):
        return trouble
    if not solved:
        complain("Error", found.sentence)
        return NO_SOLUTION
    show(found.sentence)
    if not asked.quiet:
        show(f"\n{found.short().to_string(line_width=WIDTH)}\n", *found.given)
        repeated.tell_files(task)
    return SOLVED
