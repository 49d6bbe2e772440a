"""``fsmodels report``: a selection with its errors and its proof on one page."""

from __future__ import annotations

import shlex
from types import SimpleNamespace

from fsmodels.cli import arguments, request
from fsmodels.cli.output import ResultFile, show
from fsmodels.errors import NoSelection
from fsmodels.page.report import Provenance, reported
from fsmodels.page.stages import Plan
from fsmodels.selection import report
from fsmodels.selection.request import Request
from solvers import progress


def run(args: SimpleNamespace) -> None:
    """Select and write the page."""
    files = [request.source(args), *arguments.files(args)]
    others = [*files, *([args.json] if args.json else [])]
    page = ResultFile(args.html, others, option="--html")
    task = request.read(args)
    given = dict(task.given)
    given.pop("time_limit", None)
    plan = Plan.of(
        Request.of(task.data, args.model, scale=args.scale, **given), cv=args.cv, max_path=args.max_path,
        what_ifs=args.what_if, time_limit=args.time_limit, n_jobs=args.n_jobs,
    )  # fmt: skip
    origin = Provenance.read(
        shlex.join(["fsmodels", *args.words]), files, of_shell=True, target=task.facts["target"],
        dropped=tuple(task.facts["dropped"]), notes=tuple(task.notes),
        concepts=None if task.embedding is None else task.embedding.concepts,
    )  # fmt: skip
    if not args.quiet:
        longest = plan.longest or 0.0
        limit = f"{longest:.0f} s" if longest < 120 else f"{longest / 60:.0f} minutes"
        words = "" if plan.longest is None else f" Its solves take {limit} at most, often far less."
        show(f"Writing a report.{words} Ctrl-C stops and writes what is done")
    try:
        with progress.shown(task.shows):
            done = reported(plan, origin)
    except NoSelection as error:
        if error.selection is not None:
            task.write(task.content(error.selection), solved=False)
        raise NoSelection(f"{error} No page was written.") from None
    try:
        page.put(done.html)
        task.write(task.content(done.found))
    finally:
        show(*([report.one_line(done.found)] if args.quiet else ["", *done.findings.summary]))
    if not args.quiet:
        written = [args.html, *([args.json] if args.json else [])]
        show(f"\nWritten to {', '.join(map(str, written))}")
