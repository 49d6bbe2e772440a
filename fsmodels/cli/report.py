"""``fsmodels report``: a selection and all that is to be said about it, on one page."""

from __future__ import annotations

import argparse
import shlex
import warnings
from typing import Any

from fsmodels.cli import arguments, loading
from fsmodels.cli import asked as questions
from fsmodels.cli.asked import Task
from fsmodels.cli.codes import BAD_INPUT, SOLVED, complain
from fsmodels.cli.result_file import ResultFile, check_target
from fsmodels.errors import NoSelection
from fsmodels.page import told
from fsmodels.page.provenance import Provenance
from fsmodels.page.report import Page, plan, reported
from fsmodels.selection import report
from fsmodels.selection.selection import Selection
from solvers import progress


def run(asked: argparse.Namespace, words: list[str], caught: list[warnings.WarningMessage]) -> int:
    """Do all of it, write the page, and return the exit code."""
    files = [loading.source(asked)[0], *arguments.files(asked)]
    others = [*files, *([asked.json] if asked.json else [])]
    check_target("--html", asked.html, others)
    page = ResultFile(asked.html, others, force=True, option="--html")
    task = questions.read(asked, words, caught)
    given = dict(task.given)
    given.pop("time_limit", None)
    made = plan(
        task.data, asked.model, given, cv=asked.cv, max_path=asked.max_path, what_ifs=asked.what_if,
        time_limit=asked.time_limit, n_jobs=asked.n_jobs, scale=asked.scale,
    )  # fmt: skip
    origin = Provenance.read(
        shlex.join(["fsmodels", *words]), files, of_shell=True, target=task.facts["target"],
        dropped=tuple(task.facts["dropped"]), notes=tuple(task.notes),
        concepts=None if task.embedding is None else task.embedding.concepts,
    )  # fmt: skip
    _announce(task, made.longest)
    try:
        with progress.shown(task.shows):
            done = reported(made, origin)
    except NoSelection as error:
        none = error.selection
        if task.file is not None and isinstance(none, Selection):
            trouble = task.file.write(_content(task, none), has_solution=False)
            complain("Note", trouble or f"{asked.json} says so.")
        raise NoSelection(f"{error} No page was written.") from None
    questions.show_warnings(caught)
    trouble = page.put(done.html)
    if not trouble and task.file is not None:
        trouble = task.file.write(_content(task, done.found), has_solution=True)
    _say(task, done)
    if trouble:
        complain("Error", trouble)
        return BAD_INPUT
    return SOLVED


def _content(task: Task, found: Selection) -> dict[str, Any]:
    """Return what ``select`` writes to its JSON file."""
    content = found.to_dict()
    return {**content, "data": {**task.facts, **content["data"]}}


def _announce(task: Task, longest: float | None) -> None:
    if not task.asked.quiet:
        words = "" if longest is None else f" Its solves take {_minutes(longest)} at most, often far less."
        task.console.print(f"Writing a report.{words} Ctrl-C stops and writes what is done", soft_wrap=True)


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"


def _say(task: Task, done: Page) -> None:
    """Print what stands at the head of the page."""
    if task.asked.quiet:
        task.console.print(report.one_line(done.found), soft_wrap=True)
        return
    lines = ["", report.one_line(done.found), *(line.striptags() for line in told.verdict_on_errors(done.findings))]
    lines += [f"{what} {done.findings.missing[part]}" for part, what in PARTS.items() if part in done.findings.missing]
    task.console.print("\n".join(lines), soft_wrap=True)
    written = [task.asked.html, *([task.asked.json] if task.asked.json else [])]
    task.console.print(f"\nWritten to {', '.join(map(str, written))}", soft_wrap=True)


PARTS = {"errors": "Error on samples not seen:", "path": "More features, or fewer:", "what_ifs": "What if:"}
