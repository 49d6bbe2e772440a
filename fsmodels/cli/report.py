"""``fsmodels report``: a selection with its errors and its proof on one page."""

from __future__ import annotations

import shlex
from types import SimpleNamespace

from fsmodels.cli import arguments, request
from fsmodels.cli.output import BAD_INPUT, SOLVED, ResultFile, check_target, complain, show
from fsmodels.cli.request import Task
from fsmodels.errors import NoSelection
from fsmodels.page.report import Page, Provenance, reported
from fsmodels.page.stages import Plan
from fsmodels.selection import report
from fsmodels.selection.request import Request
from fsmodels.selection.selection import Selection
from solvers import progress


def run(asked: SimpleNamespace) -> int:
    """Write the page and return the exit code."""
    files = [request.source(asked)[0], *arguments.files(asked)]
    others = [*files, *([asked.json] if asked.json else [])]
    check_target("--html", asked.html, others)
    page = ResultFile(asked.html, others, force=True, option="--html")
    task = request.read(asked)
    given = dict(task.given)
    given.pop("time_limit", None)
    plan = Plan.of(
        Request.of(task.data, asked.model, scale=asked.scale, **given), cv=asked.cv, max_path=asked.max_path,
        what_ifs=asked.what_if, time_limit=asked.time_limit, n_jobs=asked.n_jobs,
    )  # fmt: skip
    origin = Provenance.read(
        shlex.join(["fsmodels", *asked.words]), files, of_shell=True, target=task.facts["target"],
        dropped=tuple(task.facts["dropped"]), notes=tuple(task.notes),
        concepts=None if task.embedding is None else task.embedding.concepts,
    )  # fmt: skip
    _announce(task, plan.longest)
    try:
        with progress.shown(task.shows):
            done = reported(plan, origin)
    except NoSelection as error:
        none = error.selection
        if task.file is not None and isinstance(none, Selection):
            trouble = task.file.write(task.content(none), has_solution=False)
            complain("Note", trouble or f"{asked.json} says so.")
        raise NoSelection(f"{error} No page was written.") from None
    trouble = page.put(done.html)
    if not trouble and task.file is not None:
        trouble = task.file.write(task.content(done.found), has_solution=True)
    _say(task, done)
    if trouble:
        complain("Error", trouble)
        return BAD_INPUT
    return SOLVED


def _announce(task: Task, longest: float | None) -> None:
    if not task.asked.quiet:
        words = "" if longest is None else f" Its solves take {_minutes(longest)} at most, often far less."
        show(f"Writing a report.{words} Ctrl-C stops and writes what is done")


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"


def _say(task: Task, done: Page) -> None:
    """Print the summary of the page."""
    if task.asked.quiet:
        show(report.one_line(done.found))
        return
    written = [task.asked.html, *([task.asked.json] if task.asked.json else [])]
    show("", *done.findings.summary, f"\nWritten to {', '.join(map(str, written))}")
