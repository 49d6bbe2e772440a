"""Commands ``certify``, ``near-optimal``, ``necessity``, ``price``, ``verify`` and ``report``."""

from __future__ import annotations

import os
import shlex
from types import SimpleNamespace
from typing import Any

from fsmodels.certificates.document import verify
from fsmodels.cli import arguments, request
from fsmodels.cli.output import ResultFile, show
from fsmodels.cli.request import Task
from fsmodels.datasets.tables import named
from fsmodels.errors import NoSelection, ParameterError
from fsmodels.insight.certify import certify
from fsmodels.insight.near_optimal import near_optimal
from fsmodels.insight.necessity import necessity
from fsmodels.insight.price import price_of
from fsmodels.page.report import Provenance, reported, without_folder
from fsmodels.page.stages import Plan
from fsmodels.selection.report import one_line
from fsmodels.selection.request import Request
from fsmodels.selection.rows import keywords_by_row
from fsmodels.text import check_known_features
from solvers import progress


def run(args: SimpleNamespace) -> None:
    """Answer a question, write the answer and report it."""
    if args.command in ("verify", "report"):
        (_verify if args.command == "verify" else _report)(args)
        return
    for text in args.rows if args.command == "price" else ():
        if not set(text) & set("<>="):
            raise ParameterError(f'--row "{text}" has no relation: to price a row of the model, write --only {text}.')
    task = request.read(args)
    task.announce()
    answer = _price(task) if args.command == "price" else _answered(task)
    task.write(answer.to_dict() | {"data_file": task.facts})
    sentence = answer.sentence
    for name, words in task.rows.items():  # keywords of ``select`` in place of rows of the model
        sentence = sentence.replace(f'"{name}"', words)
    show(sentence)
    if not args.quiet:
        table = answer.short()
        if table is not None:
            show("", table.rename(index=task.rows))
        task.show_files()


def _answered(task: Task) -> Any:
    """Answer a question about data, a model and a share of the best objective."""
    args = task.args
    words = {**task.given, "within": args.within, "progress": task.shows}
    if args.command == "certify":
        names = named([args.features], task.data.features)
        check_known_features(names, task.data.features, "--features")
        return certify(task.data, names, args.model, **words)
    if args.command == "necessity":
        return necessity(task.data, args.model, **words)
    return near_optimal(task.data, args.model, limit=args.limit, **words)


def _price(task: Task) -> Any:
    options = dict(task.given)
    limit = options.pop("time_limit", None)
    ready = Request.of(task.data, task.args.model, **options).build()
    task.rows = keywords_by_row({**ready.parameters, **(ready.stated or {})})
    names = {words: row for row, words in task.rows.items()}  # the names in the table
    return price_of(
        ready.model,
        [names.get(row, row) for row in task.args.only] or None,
        at=task.args.at or [],
        solver=ready.solver,
        time_limit=limit,
        progress=task.shows,
        **ready.options,
    )


def _verify(args: SimpleNamespace) -> None:
    """Check a certificate. Raises NoSelection: it does not hold."""
    file = None
    if args.json is not None:
        file = ResultFile(args.json, [request.source(args), args.certificate], force=True)
    data = request.loaded(args, signs=False)[0]
    found = verify(args.certificate, data)
    if file is not None:
        content = {
            "holds": found.holds, "objective": found.objective, "bound": found.bound, "parts": found.parts,
            "why": found.why, "problem": found.problem,
        }  # fmt: skip
        file.write(content, has_solution=True)
    if not found.holds:
        raise NoSelection(str(found))
    show(str(found).partition("\n")[0] if args.quiet else str(found))


def _report(args: SimpleNamespace) -> None:
    """Select and write the page of ``fs.report``."""
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
    folder = f"{files[0].parent}{os.sep}"
    origin = Provenance.read(
        shlex.join(["fsmodels", *map(without_folder, args.words)]), files, target=task.facts["target"],
        dropped=tuple(task.facts["dropped"]), notes=tuple(note.replace(folder, "") for note in task.notes),
        concepts=None if task.embedding is None else task.embedding.concepts,
    )  # fmt: skip
    if not args.quiet:
        words = "" if args.time_limit is None else f" It takes at most {args.time_limit:g} s."
        show(f"Writing a report.{words} Ctrl-C stops and writes the finished parts")
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
        show(*([one_line(done.found)] if args.quiet else ["", *done.findings.summary]))
    if not args.quiet:
        written = [args.html, *([args.json] if args.json else [])]
        show(f"\nWritten to {', '.join(map(str, written))}")
